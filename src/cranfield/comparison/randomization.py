"""Randomization: what mean differences would be if it did not matter which system is which.

If two systems do not differ, each query's difference might as well have the other sign. So the
signs are flipped, query by query, in every way, or in many ways drawn by chance, and one counts how
often the mean difference is as large as the observed one (Fisher, The Design of Experiments, 1935;
Smucker, Allan & Carterette, CIKM 2007).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.products import BLOCK_CELLS, block_slices
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.comparison.flips import (
    FlipRange,
    Flips,
    PairedScores,
    count_kept_signs,
    sum_with_signs,
)
from cranfield.comparison.gate_tests import Limits

_PAIRS_OF_TASK = 8  # to hand over each alone takes longer
_TIMES = 32  # blocks of memory that the sums under all flips may take: 256 MB


def sign_flip_p_values(pairs: PairedScores, flips: Flips) -> Floats:
    """Return the two-sided p-value of each pair's mean difference by sign flips: (n_pairs,)."""
    threshold = np.abs(pairs.totals) - pairs.slack

    def count_part(flip_range: FlipRange) -> Ints:
        columns = pairs.sum_columns(flips.sign_words(*flip_range))
        rows = zip(pairs.sum_pairs(columns), threshold.tolist(), strict=True)
        return np.array([_count_large(sums, limit) for sums, limit in rows], np.int64)

    counts = map_in_threads(count_part, flips.split(pairs.n_columns))
    return flips.p_values(sum(counts, np.zeros(len(pairs.left_column), np.int64)))


def _count_large(sums: Floats, threshold: float) -> int:
    """Return the number of absolute sums that are at least `threshold`; overwrites the sums."""
    return int(np.count_nonzero(np.abs(sums, out=sums) >= threshold))


def step_down_p_values(pairs: PairedScores, flips: Flips) -> Floats:
    """Return p-values (n_pairs,) corrected for all pairs by the greatest t of each flip.

    The step-down maxT procedure of Westfall & Young, Resampling-Based Multiple Testing, 1993; for
    retrieval, Boytsov, Belova & Westfall, SIGIR 2013. A flip does not change the sum of squares, so
    that t is greater where the absolute sum, divided by its root, is.
    """
    scale = inverse_norms(pairs)
    scaled_total = np.abs(pairs.totals) * scale
    order = np.argsort(-scaled_total, kind="stable")
    threshold = scaled_total - pairs.slack * scale
    rising = order[::-1].tolist()

    def count_part(flip_range: FlipRange) -> Ints:
        # Each pair is compared with the greatest t of itself and of all pairs with a smaller t.
        counts = np.zeros(len(order), np.int64)
        greatest = np.zeros(flip_range.end - flip_range.begin)
        columns = pairs.sum_columns(flips.sign_words(*flip_range))
        for pair, sums in zip(rising, pairs.sum_pairs(columns, rising), strict=True):
            np.abs(sums, out=sums)
            sums *= scale[pair]
            np.maximum(greatest, sums, out=greatest)
            counts[pair] = np.count_nonzero(greatest >= threshold[pair])
        return counts

    part_counts = map_in_threads(count_part, flips.split(pairs.n_columns))
    p = flips.p_values(sum(part_counts, np.zeros(len(order), np.int64)))
    p[order] = np.maximum.accumulate(p[order])
    return p


def inverse_norms(pairs: PairedScores) -> Floats:
    """Return 1 / the root of the sum of squares of each pair's differences, or 0: (n_pairs,)."""
    norm = np.sqrt((pairs.differences**2).sum(axis=0))
    inverse_norm: Floats = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    return inverse_norm


def invert_sign_flips(
    pairs: PairedScores, flips: Flips, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Return the p-values of `sign_flip_p_values`, and the ends of the matching intervals.

    The interval of a mean difference holds the shifts that the test does not reject. At a shift, a
    flip is as extreme as the observed signs if the shift lies between the mean of the differences
    whose signs it flips and the mean of the others; the observed mean always does. So the ends are
    two of these means: the upper end is the largest that more than alpha of the flips reach. 0 lies
    outside if and only if the p-value is at most alpha.

    Returns p, the lower and the upper ends, (n_pairs,) each, all from the same sums; an end is
    infinite where no shift is far enough away to be rejected.
    """
    n_needed = flips.least_count(alpha)
    numbers: list[tuple[int, float, float]] = []
    n_pairs = len(pairs.left_column)
    all_fit = pairs.n_columns * flips.n_flips <= _TIMES * BLOCK_CELLS
    # Where not all sums can be held, a pair has two columns at most.
    slices = [slice(0, n_pairs)] if all_fit else block_slices(n_pairs, 2 * flips.n_flips, _TIMES)
    for block in slices:
        left_column, right_column = pairs.left_column[block], pairs.right_column[block]
        block_pairs = replace(pairs, left_column=left_column, right_column=right_column)
        numbers += _invert_pairs(block_pairs, flips, n_needed)
    counts, low, high = np.array(numbers, float).reshape(-1, 3).T.copy()
    return flips.p_values(counts), low, high


def _invert_pairs(
    pairs: PairedScores, flips: Flips, n_needed: int
) -> Iterator[tuple[int, float, float]]:
    """Yield for each pair the count of flips with a sum as large, and the ends of its interval.

    `n_needed`: at each end, at least this number of flips is as extreme as the observed signs.
    """
    unflipped_size, columns = _sum_all_flips(pairs, flips)
    flipped_size = pairs.n_queries - unflipped_size
    # Where all signs are kept, or all flipped, no shift is far enough away.
    uniform_flips = np.flatnonzero(unflipped_size * flipped_size == 0)
    unflipped_size[uniform_flips] = flipped_size[uniform_flips] = 1.0
    kept_share = 1 - 2 * unflipped_size / pairs.n_queries
    inverse_size = 0.5 / np.minimum(unflipped_size, flipped_size)
    spreads, scale = _spread_columns(columns, pairs.column_totals, kept_share, inverse_size)
    precision = 2.0**-21 * scale * float(np.abs(spreads).max(initial=0))

    def find_ends(sums: Floats, total: float, rows: Ints | slice) -> tuple[float, float]:
        """Return the ends of an interval if they are among the means of some flips, the rows."""
        unflipped_means = (sums + total) / 2
        flipped_means = total - unflipped_means
        unflipped_means /= unflipped_size[rows]
        flipped_means /= flipped_size[rows]
        if len(uniform_flips):
            is_unchanged = np.isin(np.arange(flips.n_flips)[rows], uniform_flips)
            unflipped_means[is_unchanged], flipped_means[is_unchanged] = np.inf, -np.inf
        low = np.partition(np.minimum(unflipped_means, flipped_means), n_needed - 1)[n_needed - 1]
        high = np.partition(np.maximum(unflipped_means, flipped_means), -n_needed)[-n_needed]
        return float(low), float(high)

    def invert_pair(pair: int) -> tuple[int, float, float]:
        total, slack = float(pairs.totals[pair]), float(pairs.slack[pair])
        rows: Ints | slice = slice(None)
        low, high = -np.inf, np.inf
        if 1 <= n_needed <= flips.n_flips:  # else no shift is far enough away
            (distances,) = pairs.sum_pairs(spreads, [pair])
            np.abs(distances, out=distances)[uniform_flips] = np.inf
            reach = _estimate_greatest(distances, 8 * n_needed // 5)
            mean = total / pairs.n_queries
            farthest = scale * float(reach) + precision + slack  # of other rows
            low = high = mean
            if pairs.unit_size is None:
                rows = np.flatnonzero(distances >= reach)
                (sums,) = pairs.sum_pairs(columns, [pair], rows)
                if len(rows) >= n_needed:
                    low, high = find_ends(sums, total, rows)
            # Else a mean may be missing, or a flip with a sum as large: not each is that far away.
            is_complete = low + farthest < mean < high - farthest
            if not (is_complete and farthest < abs(mean)):
                (sums,) = pairs.sum_pairs(columns, [pair])
            if not is_complete:
                low, high = find_ends(sums, total, slice(None))
        else:
            (sums,) = pairs.sum_pairs(columns, [pair])
        near_zero = slack / (2 * pairs.n_queries)  # below this, only rounding
        low, high = (0.0 if abs(end) <= near_zero else end for end in (low, high))
        return _count_large(sums, abs(total) - slack), low, high

    def invert_slice(pair_slice: slice) -> list[tuple[int, float, float]]:
        return [invert_pair(pair) for pair in range(pair_slice.start, pair_slice.stop)]

    slices = block_slices(len(pairs.left_column), BLOCK_CELLS // _PAIRS_OF_TASK)
    for slice_numbers in map_in_threads(invert_slice, slices):
        yield from slice_numbers


def _spread_columns(
    columns: Floats, column_totals: Floats, kept_share: Floats, inverse_size: Floats
) -> tuple[NDArray[np.float32], float]:
    """Return the spread of each column's sums under all flips, (n_columns, n_flips), and its unit.

    Of a flip's two means, neither is farther from the observed mean than the difference of two
    columns' spreads. It only says which flips are far: 32 bits are enough, of numbers near 1.
    """
    greatest = max(columns.max(initial=0), -columns.min(initial=0))
    scale = 2.0 ** (math.frexp(greatest)[1] - 1)
    spreads = np.empty(columns.shape, np.float32)
    for spread, column, column_total in zip(spreads, columns, column_totals, strict=True):
        spread[:] = (kept_share * (column_total / scale) + column / scale) * inverse_size
    return spreads, scale


def _sum_all_flips(pairs: PairedScores, flips: Flips) -> tuple[Floats, Floats]:
    """Return the number, or weight, (n_flips,) of queries that keep their sign, and columns' sums.

    The sums are `PairedScores.sum_columns` of all flips: (n_columns, n_flips).
    """

    def sum_part(flip_range: FlipRange) -> tuple[FlipRange, Floats, Floats]:
        words = flips.sign_words(*flip_range)
        return flip_range, count_kept_signs(words, pairs.unit_size), pairs.sum_columns(words)

    unflipped_size = np.empty(flips.n_flips)
    columns = np.empty((pairs.n_columns, flips.n_flips))
    for (begin, end), sizes, sums in map_in_threads(sum_part, flips.split(pairs.n_columns)):
        unflipped_size[begin:end], columns[:, begin:end] = sizes, sums
    return unflipped_size, columns


def _estimate_greatest(numbers: Floats, k: int) -> float:
    """Return a number that is at most the k-th greatest of numbers (n,), as a sample says."""
    sample = numbers[:4096]
    last = len(sample) - 1
    position = last - min(5 * k * len(sample) // (4 * len(numbers)) + 10, last)
    return float(np.partition(sample, position)[position])


def one_sided_tests(
    differences: Floats, bounds: Floats, flips: Flips, alpha: float, weights: Floats | None = None
) -> Limits:
    """Test mean differences against bounds from either side.

    For a bound from above, a flip is as extreme as the observed signs if the mean of the
    differences whose signs it flips is at most the bound; a flip of no sign always is. So the lower
    limit of the mean difference is the mean of one flip, and every bound below it is rejected; the
    upper limit is found in the same way.

    `differences` is (n_queries, n_pairs), `bounds` (n_bounds, n_pairs). Returns the limits, each at
    level 1 - alpha, (n_pairs,), infinite where no bound is far enough away; and the p-values of
    means of at most the bounds, and of at least the bounds, (n_bounds, n_pairs). A bound is below
    the lower limit, or above the upper one, if and only if its p-value is at most alpha.

    With `weights` (n_queries,), none below 0 and 1 on average, a bound applies to each query in
    proportion to its weight, and a mean is a sum of differences divided by the sum of their
    weights.
    """
    n_queries, n_pairs = differences.shape
    sides = 2 if flips.is_exact else 1  # with all flips, negatives count, too
    n_needed = flips.least_count(alpha * sides)
    has_limits = 1 <= n_needed <= flips.n_flips * sides
    slack = 1e-12 * (np.abs(differences).sum(axis=0) + n_queries * np.abs(bounds))
    n_above, n_below = np.zeros((2, *bounds.shape), np.int64)
    lower, upper = np.full(n_pairs, -np.inf), np.full(n_pairs, np.inf)
    for pair_slice in block_slices(n_pairs, flips.n_flips, n_blocks=4):
        n_above[:, pair_slice], n_below[:, pair_slice], means = _count_extreme(
            differences[:, pair_slice], bounds[:, pair_slice], slack[:, pair_slice], flips, weights
        )
        if has_limits:
            is_unflipped = np.isnan(means)
            means[is_unflipped] = -np.inf
            lower[pair_slice] = np.partition(means, n_needed - 1, axis=1)[:, n_needed - 1]
            means[is_unflipped] = np.inf
            upper[pair_slice] = np.partition(means, -n_needed, axis=1)[:, -n_needed]
    p_above, p_below = flips.p_values(n_above) / sides, flips.p_values(n_below) / sides
    # Rounding must not put a limit on the wrong side of a bound.
    lower = np.where(p_above > alpha, np.minimum(lower, bounds), lower).min(axis=0)
    upper = np.where(p_below > alpha, np.maximum(upper, bounds), upper).max(axis=0)
    return Limits(lower + 0.0, upper + 0.0, p_above, p_below)


def _count_extreme(
    differences: Floats, bounds: Floats, slack: Floats, flips: Flips, weights: Floats | None
) -> tuple[Ints, Ints, Floats]:
    """Return the counts of flips as extreme at each bound, from above and below, and their means.

    Both counts are (n_bounds, n_pairs), as is `slack`, by which sums may differ by rounding. The
    means (n_pairs, n_flips) belong to differences whose signs a flip flips, NaN where it flips
    none; with all flips, the means of their negatives follow: (n_pairs, 2 n_flips). Where the
    weights of these differences are 0, the mean is infinite, or NaN if their sum is 0.
    """
    n_queries, n_pairs = differences.shape
    pairs = PairedScores.from_differences(differences)
    weight_sum = 0.0 if weights is None else float(weights.sum())
    negligible = 1e-12 * np.abs(differences).sum(axis=0)[:, None]  # smaller sums are rounding
    sides = (1, -1) if flips.is_exact else (1,)
    means = np.empty((n_pairs, len(sides) * flips.n_flips))

    def count_part(flip_range: FlipRange) -> Ints:
        words = flips.sign_words(*flip_range)
        unflipped_size, columns = count_kept_signs(words), pairs.sum_columns(words)
        sums = np.array(list(pairs.sum_pairs(columns)))
        counts = np.zeros((2, *bounds.shape), np.int64)
        for side_index, side in enumerate(sides):
            total = (pairs.totals[:, None] - side * sums) / 2
            if weights is None:
                size = n_queries - unflipped_size if side == 1 else unflipped_size
            else:
                size = (weight_sum - side * sum_with_signs(weights[:, None], words)[0]) / 2
                size[size <= 1e-12 * n_queries] = 0.0
            for b, bound in enumerate(bounds):
                excess = total - size * bound[:, None]
                counts[0, b] += np.count_nonzero(excess <= slack[b, :, None], axis=1)
                counts[1, b] += np.count_nonzero(excess >= -slack[b, :, None], axis=1)
            unknown_means = np.full_like(total, np.nan)
            flipped_means = np.divide(total, size, out=unknown_means, where=size > 0)
            if weights is not None:  # if the weights are 0, a sum that is not 0 is beyond any bound
                weightless = total[:, size == 0]
                beyond = np.copysign(np.inf, weightless)
                is_zero = np.abs(weightless) <= negligible
                flipped_means[:, size == 0] = np.where(is_zero, np.nan, beyond)
            means[:, side_index * flips.n_flips :][:, slice(*flip_range)] = flipped_means
        return counts

    counts = map_in_threads(count_part, flips.split(n_pairs))
    n_above, n_below = sum(counts, np.zeros((2, *bounds.shape), np.int64))
    return n_above, n_below, means
