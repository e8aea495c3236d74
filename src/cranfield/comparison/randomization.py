"""Randomization: what mean differences would be if it did not matter which system is which.

If two systems do not differ, each query's difference might as well have the other sign. So the
signs are flipped, query by query, in every way, or in many ways drawn by chance, and one counts how
often the mean difference is as large as the observed one (Fisher, The Design of Experiments, 1935;
Smucker, Allan & Carterette, CIKM 2007).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cranfield.arrays.products import BLOCK_CELLS, block_slices
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.comparison.flips import Flips, PairedScores, FlipRange, count_kept_signs, sum_with_signs

_TIMES = 32  # blocks whose memory the sums under all flips may take: 256 MB


def sign_flip_p_values(paired_scores: PairedScores, flips: Flips) -> Floats:
    """Return the two-sided p-value of each pair's mean difference: (n_pairs,)."""
    least = np.abs(paired_scores.totals) - paired_scores.slack

    def counted(part: FlipRange) -> Ints:
        columns = paired_scores.sum_columns(flips.sign_words(*part))
        every = zip(paired_scores.sum_pairs(columns), least.tolist(), strict=True)
        return np.array([_count_large(sums, limit) for sums, limit in every], np.int64)

    none = np.zeros(len(paired_scores.left_column), np.int64)
    return flips.p_values(sum(map_in_threads(counted, flips.split(paired_scores.n_columns)), none))


def _count_large(sums: Floats, least: float) -> int:
    """Return how many absolute sums are at least `least`. Overwrites the sums."""
    return int(np.count_nonzero(np.abs(sums, out=sums) >= least))


def step_down_p_values(paired_scores: PairedScores, flips: Flips) -> Floats:
    """Return p-values corrected for all pairs by the greatest t of each flip: (n_pairs,).

    The step-down maxT procedure of Westfall & Young, Resampling-Based Multiple Testing, 1993; for
    retrieval, Boytsov, Belova & Westfall, SIGIR 2013. A flip does not change the sum of squares, so
    that t is greater where the absolute sum, divided by its root, is.
    """
    squares = np.sqrt((paired_scores.differences**2).sum(axis=0))
    scale = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
    observed = np.abs(paired_scores.totals) * scale
    order = np.argsort(-observed, kind="stable")
    least = observed - paired_scores.slack * scale
    rising = order[::-1].tolist()

    def counted(part: FlipRange) -> Ints:
        # Each pair is compared with the greatest of its own t and all smaller ones.
        counts, greatest = np.zeros(len(order), np.int64), np.zeros(part[1] - part[0])
        columns = paired_scores.sum_columns(flips.sign_words(*part))
        for pair, sums in zip(rising, paired_scores.sum_pairs(columns, rising), strict=True):
            np.abs(sums, out=sums)
            sums *= scale[pair]
            np.maximum(greatest, sums, out=greatest)
            counts[pair] = np.count_nonzero(greatest >= least[pair])
        return counts

    none = np.zeros(len(order), np.int64)
    p = flips.p_values(sum(map_in_threads(counted, flips.split(paired_scores.n_columns)), none))
    p[order] = np.maximum.accumulate(p[order])
    return p


def invert_sign_flips(paired_scores: PairedScores, flips: Flips, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return the p-value of `sign_flip`, and the ends of the matching interval.

    The interval of a mean difference holds the shifts that the test does not reject. A flip counts
    against a shift if the shift lies between the mean of the differences whose signs it flips and
    the mean of the others; the observed mean always does. So the ends are two of these means: the
    upper end is the largest that more than alpha of the flips reach. 0 lies outside if and only if
    the p-value is at most alpha.

    Returns p, the lower and the upper ends, (n_pairs,) each; ends are infinite where no shift is
    far enough away to be rejected. All come from the same sums.
    """
    needed = flips.least_count(alpha)
    found: list[tuple[int, float, float]] = []
    m = len(paired_scores.left_column)
    fits = paired_scores.n_columns * flips.n_flips <= _TIMES * BLOCK_CELLS
    # Where not all sums can be held, a pair has two columns at most.
    for some in [slice(0, m)] if fits else block_slices(m, 2 * flips.n_flips, _TIMES):
        part = replace(paired_scores, left=paired_scores.left_column[some], right=paired_scores.right_column[some])
        found += _invert_pairs(part, flips, needed)
    counts, low, high = np.array(found, float).reshape(-1, 3).T.copy()
    return flips.p_values(counts), low, high


def _invert_pairs(paired: PairedScores, flips: Flips, needed: int) -> Iterator[tuple[int, float, float]]:
    """Yield for each pair how many flips have a sum as large, and the ends of its interval.

    `needed`: how many flips count against no shift outside of the ends, at least.
    """
    n_kept, columns = _sum_all_flips(paired, flips)
    n_flipped = paired.n_queries - n_kept
    # Where all signs are kept, or all flipped, no shift is far enough away.
    none = np.flatnonzero(n_kept * n_flipped == 0)
    n_kept[none] = n_flipped[none] = 1.0

    def of_pair(pair: int) -> tuple[int, float, float]:
        (sums,) = paired.sum_pairs(columns, [pair])
        total, slack = float(paired.totals[pair]), float(paired.slack[pair])
        low, high = -np.inf, np.inf
        if 1 <= needed <= flips.n_flips:  # else no shift is far enough away
            kept = (sums + total) / 2
            flipped = total - kept
            kept /= n_kept
            flipped /= n_flipped
            kept[none], flipped[none] = np.inf, -np.inf
            low = -_find_greatest(-np.minimum(kept, flipped), needed)
            high = _find_greatest(np.maximum(kept, flipped), needed)
        near_zero = slack / (2 * paired.n_queries)  # below this, only rounding
        low, high = (0.0 if abs(end) <= near_zero else end for end in (low, high))
        return _count_large(sums, abs(total) - slack), low, high

    return map_in_threads(of_pair, range(len(paired.left_column)))


def _sum_all_flips(paired: PairedScores, flips: Flips) -> tuple[Floats, Floats]:
    """Return how many queries keep their sign under each flip, (n_flips,), and the columns.

    These are `Paired.columns` of all flips.
    """

    def of_part(part: FlipRange) -> tuple[FlipRange, Floats, Floats]:
        words = flips.sign_words(*part)
        return part, count_kept_signs(words, paired.unit_size), paired.sum_columns(words)

    kept = np.empty(flips.n_flips)
    columns = np.empty((paired.n_columns, flips.n_flips))
    for (begin, end), counts, found in map_in_threads(of_part, flips.split(paired.n_columns)):
        kept[begin:end], columns[:, begin:end] = counts, found
    return kept, columns


def _find_greatest(values: Floats, k: int) -> float:
    """Return the k-th greatest of (n,) values.

    Values below a bound that is estimated from a sample are set aside first.
    """
    sample = values[:4096]
    place = len(sample) - 1 - min(2 * k * len(sample) // len(values) + 10, len(sample) - 1)
    some = values[values >= np.partition(sample, place)[place]]
    some = some if len(some) >= k else values
    return float(np.partition(some, len(some) - k)[len(some) - k])


def one_sided_tests(
    differences: Floats, bounds: Floats, flips: Flips, alpha: float, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Test mean differences against bounds from either side.

    A flip counts against a bound from above if the mean of the differences whose signs it flips is
    at most the bound; the observed signs always do. So the lower limit of the mean difference is
    one of these means, and every bound below it is rejected; the upper limit is found in the same
    way.

    `differences` is (n_queries, n_pairs), `bounds` (n_bounds, n_pairs). Returns the limits, each at
    level 1 - alpha, (n_pairs,), infinite where no bound is far enough away; and the p-values of
    means of at most the bounds, and of at least the bounds, (n_bounds, n_pairs). A bound is below
    the lower limit, or above the upper one, if and only if its p-value is at most alpha.

    With `weights` (n_queries,), none below 0 and 1 on average, a bound applies to each query in
    proportion to its weight, and a mean is a sum of differences divided by the sum of their
    weights.
    """
    n, m = differences.shape
    sides = 2 if flips.is_exact else 1  # with all flips, negatives count, too
    needed = flips.least_count(alpha * sides)
    some = 1 <= needed <= flips.n_flips * sides
    slack = 1e-12 * (np.abs(differences).sum(axis=0) + n * np.abs(bounds))
    above, below = np.zeros((2, *bounds.shape), np.int64)
    lower, upper = np.full(m, -np.inf), np.full(m, np.inf)
    for part in block_slices(m, flips.n_flips, n_blocks=4):
        above[:, part], below[:, part], means = _count_against(
            differences[:, part], bounds[:, part], slack[:, part], flips, weights
        )
        if some:
            unflipped = np.isnan(means)
            means[unflipped] = -np.inf
            lower[part] = np.partition(means, needed - 1, axis=1)[:, needed - 1]
            means[unflipped] = np.inf
            upper[part] = np.partition(means, -needed, axis=1)[:, -needed]
    p_above, p_below = flips.p_values(above) / sides, flips.p_values(below) / sides
    # Rounding must not put a limit on the wrong side of a bound.
    lower = np.where(p_above > alpha, np.minimum(lower, bounds), lower).min(axis=0)
    upper = np.where(p_below > alpha, np.maximum(upper, bounds), upper).max(axis=0)
    return lower + 0.0, upper + 0.0, p_above, p_below


def _count_against(
    differences: Floats, bounds: Floats, slack: Floats, flips: Flips, weights: Floats | None
) -> tuple[Ints, Ints, Floats]:
    """Return how many flips count against each bound, from above and from below, and their means.

    Two (n_bounds, n_pairs); and the mean of the differences whose signs each flip flips, NaN where
    it flips none: (n_pairs, n_flips), where all flips are tried twice as many as are looked at.
    """
    n, m = differences.shape
    paired = PairedScores.from_differences(differences)
    weighing = 0.0 if weights is None else float(weights.sum())
    none = 1e-12 * np.abs(differences).sum(axis=0)[:, None]  # sums up to this are 0, given rounding
    sides = (1, -1) if flips.is_exact else (1,)
    means = np.empty((m, len(sides) * flips.n_flips))

    def of_part(part: FlipRange) -> Ints:
        words = flips.sign_words(*part)
        kept, columns = count_kept_signs(words), paired.sum_columns(words)
        sums = np.array(list(paired.sum_pairs(columns)))
        counts = np.zeros((2, *bounds.shape), np.int64)
        for place, side in enumerate(sides):
            total = (paired.totals[:, None] - side * sums) / 2
            if weights is None:
                size = n - kept if side == 1 else kept
            else:
                size = (weighing - side * sum_with_signs(weights[:, None], words)[0]) / 2
                size[size <= 1e-12 * n] = 0.0
            for b, bound in enumerate(bounds):
                over = total - size * bound[:, None]
                counts[0, b] += np.count_nonzero(over <= slack[b, :, None], axis=1)
                counts[1, b] += np.count_nonzero(over >= -slack[b, :, None], axis=1)
            unflipped = np.full_like(total, np.nan)
            found = np.divide(total, size, out=unflipped, where=size > 0)
            if weights is not None:  # if the weights are 0, a sum that is not 0 is beyond any bound
                left = total[:, size == 0]
                beyond = np.copysign(np.inf, left)
                found[:, size == 0] = np.where(np.abs(left) <= none, np.nan, beyond)
            means[:, place * flips.n_flips :][:, slice(*part)] = found
        return counts

    above, below = sum(map_in_threads(of_part, flips.split(m)), np.zeros((2, *bounds.shape), np.int64))
    return above, below, means
