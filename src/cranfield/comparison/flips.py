"""Sign flips: what mean differences would be if it did not matter which system is which.

If two systems do not differ, each query's difference might as well have the other sign. So the
signs are flipped, query by query, in every way, or in many ways drawn by chance, and one counts how
often the mean difference is as large as the one that was seen (Fisher, The Design of Experiments,
1935; Smucker, Allan & Carterette, CIKM 2007). All pairs of systems share the flips: sums over the
queries of each system's scores, with their signs, are one matrix product, and the difference of two
of these is the pair's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.ranked import Floats, Ints

ALL_UP_TO = 20  # queries: so many have all their flips tried
FLIPS = 100_000
SEED = 42
MOST_FLIPS = 10_000_000  # intervals hold some numbers for each
_CELLS = 1_000_000  # of a matrix at once: 8 MB
_AT_ONCE = 32_000_000  # of the sums under all flips: 256 MB


@dataclass(frozen=True, eq=False)
class Paired:
    """Several systems' scores for the same queries, and which systems are to be compared.

    The difference of a pair is that of the system `left` minus that of `right`.
    """

    values: Floats  # (n_queries, n_systems)
    left: Ints  # (n_pairs,) columns of values
    right: Ints  # (n_pairs,)

    @classmethod
    def of(cls, differences: Floats) -> "Paired":
        """Return pairs of which the differences (n_queries, n_pairs) are known."""
        n, m = differences.shape
        values = np.concatenate((differences, np.zeros((n, 1))), axis=1)
        return cls(values, np.arange(m), np.full(m, m))

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.values)

    @cached_property
    def differences(self) -> Floats:
        """Each query's differences, 0 where scores are the same but for rounding.

        (n_queries, n_pairs)
        """
        found: Floats = self.values[:, self.left] - self.values[:, self.right]
        size = np.abs(self.values)
        found[np.abs(found) <= 1e-14 * (size[:, self.left] + size[:, self.right])] = 0.0
        return found

    @cached_property
    def totals(self) -> Floats:
        """The sums of the differences: (n_pairs,)."""
        found: Floats = self.differences.sum(axis=0)
        return found

    @cached_property
    def slack(self) -> Floats:
        """By how much two sums may differ and are the same but for rounding: (n_pairs,)."""
        found: Floats = 1e-12 * np.abs(self.differences).sum(axis=0)
        return found

    @cached_property
    def _basis(self) -> tuple[Floats, Ints, Ints]:
        """Return columns (n_queries, n_columns), and of which two each pair is the difference.

        The last column is 0. A pair that differs by much less than its systems score has a column
        of its own: the difference of two large sums would be but rounding.
        """
        n, m = self.n_queries, len(self.left)
        size = np.abs(self.values).sum(axis=0)
        alone = self.slack < 1e-14 * (size[self.left] + size[self.right])
        if m <= self.values.shape[1]:
            alone = np.ones(m, np.bool_)
        own = self.differences[:, alone]
        kept = np.unique(np.concatenate((self.left[~alone], self.right[~alone])))
        columns = np.concatenate((self.values[:, kept], own, np.zeros((n, 1))), axis=1)
        left, right = np.empty(m, np.int64), np.full(m, columns.shape[1] - 1)
        left[alone] = len(kept) + np.arange(own.shape[1])
        left[~alone] = np.searchsorted(kept, self.left[~alone])
        right[~alone] = np.searchsorted(kept, self.right[~alone])
        return columns, left, right

    @property
    def width(self) -> int:
        """How many rows `columns` returns."""
        return int(self._basis[0].shape[1])

    def columns(self, signs: Floats) -> Floats:
        """Return what pairs' sums under signs are differences of: (width, n_flips).

        `signs` is (n_flips, n_queries), 0 or 1 for minus and plus.
        """
        columns, _, _ = self._basis
        found: Floats = (2 * columns).T @ signs.T
        found -= columns.sum(axis=0)[:, None]
        return found

    def sums(self, columns: Floats, order: Iterable[int] | None = None) -> Iterator[Floats]:
        """Yield the sum of each pair's differences under each flip: (n_flips,).

        `columns` are what `columns` returned; `order` the pairs' numbers, all as they stand unless
        given. What is yielded may be written to.
        """
        _, left, right = self._basis
        for pair in range(len(left)) if order is None else order:
            yield columns[left[pair]] - columns[right[pair]]


@dataclass(frozen=True)
class Flips:
    """Signs for n queries: all there are, if these are few, or `drawn` by chance.

    The signs of a flip depend on the seed, its number and the number of queries, and on nothing
    else. Where all are tried, only those are looked at that leave the last query's sign: the others
    are their negatives.
    """

    n_queries: int
    drawn: int = FLIPS
    seed: int = SEED

    @property
    def exact(self) -> bool:
        """Whether all flips are tried."""
        return self.n_queries <= ALL_UP_TO

    @property
    def looked_at(self) -> int:
        """How many flips `signs` goes through."""
        return 2 ** max(self.n_queries - 1, 0) if self.exact else self.drawn

    def signs(self, width: int = 0) -> Iterator[Floats]:
        """Yield signs, 0 for minus and 1 for plus: (n_flips, n_queries) in parts.

        `width`: how many sums the caller holds for each flip.
        """
        step = max(1, min(_CELLS // max(1, self.n_queries), 8 * _CELLS // max(1, width)))
        for begin in range(0, self.looked_at, step):
            yield self._part(begin, min(begin + step, self.looked_at))

    def _part(self, begin: int, end: int) -> Floats:
        n = self.n_queries
        if self.exact:
            words = np.arange(begin, end, dtype="<u4")
            kept = np.uint32(1 << (n - 1)) if n else np.uint32(0)
            octets = (words | kept).view(np.uint8).reshape(end - begin, 4)
            return np.unpackbits(octets, axis=1, count=n, bitorder="little").astype(np.float64)
        each = -(-n // 64)  # words
        source = np.random.PCG64(self.seed).advance(begin * each)
        drawn = source.random_raw((end - begin) * each).astype("<u8")
        octets = drawn.view(np.uint8).reshape(end - begin, each * 8)
        return np.unpackbits(octets, axis=1, count=n).astype(np.float64)

    def share(self, counts: Ints) -> Floats:
        """Return counts of flips looked at as p-values.

        Of flips drawn by chance, the one that was seen is one more (Phipson & Smyth 2010).
        """
        if self.exact:
            return counts / self.looked_at
        return (counts + 1) / (self.drawn + 1)

    def needed(self, alpha: float) -> int:
        """Return the least count of which the share is above alpha."""
        least = int(alpha * self.looked_at)
        while self.share(np.array(least)) > alpha and least > 0:
            least -= 1
        while self.share(np.array(least)) <= alpha:
            least += 1
        return least


def sign_flip(paired: Paired, flips: Flips) -> Floats:
    """Return the two-sided p-value of each pair's mean difference: (n_pairs,)."""
    counts = np.zeros(len(paired.left), np.int64)
    least = np.abs(paired.totals) - paired.slack
    for signs in flips.signs(paired.width):
        for pair, sums in enumerate(paired.sums(paired.columns(signs))):
            counts[pair] += np.count_nonzero(np.abs(sums, out=sums) >= least[pair])
    return flips.share(counts)


def step_down(paired: Paired, flips: Flips) -> Floats:
    """Return p-values corrected for all pairs by the greatest t of each flip: (n_pairs,).

    The step-down maxT procedure of Westfall & Young, Resampling-Based Multiple Testing, 1993; for
    retrieval, Boytsov, Belova & Westfall, SIGIR 2013. A flip does not change the sum of squares, so
    that t is greater where the absolute sum, divided by its root, is.
    """
    squares = np.sqrt((paired.differences**2).sum(axis=0))
    scale = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
    observed = np.abs(paired.totals) * scale
    order = np.argsort(-observed, kind="stable")
    least = observed - paired.slack * scale
    counts = np.zeros(len(order), np.int64)
    rising = order[::-1].tolist()
    for signs in flips.signs(paired.width):
        # Each pair against the greatest of itself and of those with a smaller t.
        greatest = np.zeros(len(signs))
        for pair, sums in zip(rising, paired.sums(paired.columns(signs), rising), strict=True):
            np.abs(sums, out=sums)
            sums *= scale[pair]
            np.maximum(greatest, sums, out=greatest)
            counts[pair] += np.count_nonzero(greatest >= least[pair])
    p = flips.share(counts)
    p[order] = np.maximum.accumulate(p[order])
    return p


def inverted(paired: Paired, flips: Flips, alpha: float) -> tuple[Floats, Floats]:
    """Return the ends of each pair's interval: the shifts that the test does not reject.

    A flip counts against a shift of the mean difference if the shift lies between the mean of the
    differences whose signs it flips and the mean of the others; the observed mean always does. So
    the ends are two of these means: the upper one, that of which just more than alpha of the flips
    have a greater one. Returns two arrays (n_pairs,). 0 lies outside if and only if the p-value of
    `sign_flip` is at most alpha.
    """
    m, n = len(paired.left), paired.n_queries
    needed = flips.needed(alpha)
    if not 1 <= needed <= flips.looked_at:  # no shift is far enough away
        return np.full(m, -np.inf), np.full(m, np.inf)
    low, high = np.empty(m), np.empty(m)
    near_zero = paired.slack / (2 * n)  # no difference but rounding's
    for some in _blocks(paired, flips):
        part = Paired(paired.values, paired.left[some], paired.right[some])
        every = [(signs.sum(axis=1), part.columns(signs)) for signs in flips.signs(part.width)]
        n_kept = np.concatenate([kept for kept, _ in every])
        n_flipped = n - n_kept
        # Where all signs are kept, or all flipped, no shift is far enough away.
        none = np.flatnonzero(n_kept * n_flipped == 0)
        n_kept[none] = n_flipped[none] = 1
        columns = np.concatenate([found for _, found in every], axis=1)
        for pair, sums in zip(some, part.sums(columns), strict=True):
            kept = (sums + paired.totals[pair]) / 2
            flipped = paired.totals[pair] - kept
            kept /= n_kept
            flipped /= n_flipped
            kept[none], flipped[none] = np.inf, -np.inf
            ends = (
                -_greatest(-np.minimum(kept, flipped), needed),
                _greatest(np.maximum(kept, flipped), needed),
            )
            low[pair], high[pair] = (0.0 if abs(end) <= near_zero[pair] else end for end in ends)
    return low, high


def _blocks(paired: Paired, flips: Flips) -> list[list[int]]:
    """Return the pairs in blocks of which the sums under all flips can be held at once."""
    every = list(range(len(paired.left)))
    if paired.width * flips.looked_at <= _AT_ONCE:
        return [every]
    size = max(1, _AT_ONCE // (2 * flips.looked_at))  # a pair has two columns at most
    return [every[begin : begin + size] for begin in range(0, len(every), size)]


def _greatest(values: Floats, k: int) -> float:
    """Return the k-th greatest of (n,) values.

    Most are put aside first, as less than a value that is likely to be less than it.
    """
    sample = values[:4096]
    place = len(sample) - 1 - min(2 * k * len(sample) // len(values) + 10, len(sample) - 1)
    some = values[values >= np.partition(sample, place)[place]]
    some = some if len(some) >= k else values
    return float(np.partition(some, len(some) - k)[len(some) - k])


def one_sided(
    differences: Floats,
    bounds: Floats,
    flips: Flips,
    alpha: float,
    weights: Floats | None = None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Hold mean differences against bounds from either side.

    A flip counts against a bound from above if the mean of the differences whose signs it flips is
    at most the bound; the observed signs always do. So the lower limit of the mean difference is
    one of these means, and every bound below it is rejected; the upper limit likewise.

    `differences` is (n_queries, n_pairs), `bounds` (n_bounds, n_pairs). Returns the limits, each at
    level 1 - alpha, (n_pairs,), infinite where no bound is far enough away; and the p-values of
    means of at most the bounds, and of at least the bounds, (n_bounds, n_pairs). A bound is below
    the lower limit, or above the upper one, if and only if its p-value is at most alpha.

    With `weights` (n_queries,), none below 0 and 1 on average, a bound is held against each query
    in proportion to its weight, and a mean is a sum of differences by the sum of their weights.
    """
    n, m = differences.shape
    sides = 2 if flips.exact else 1  # of those looked at; the negatives of all of them count, too
    needed = flips.needed(alpha * sides)
    some = 1 <= needed <= flips.looked_at * sides
    sizes = np.abs(differences).sum(axis=0)
    slack = 1e-12 * (sizes + n * np.abs(bounds))
    above, below = np.zeros((2, *bounds.shape), np.int64)
    lower, upper = np.full(m, -np.inf), np.full(m, np.inf)
    at_once = max(1, 4 * _CELLS // flips.looked_at)
    counting = np.ones(n) if weights is None else weights
    for begin in range(0, m, at_once):
        part = slice(begin, begin + at_once)
        # The last column adds up the weights of those whose signs are kept.
        paired = Paired.of(np.concatenate((differences[:, part], counting[:, None]), axis=1))
        width = paired.values.shape[1] - 2
        means = np.empty((width, sides * flips.looked_at))
        none = 1e-12 * sizes[part, None]  # a sum that is 0 but for rounding
        done = 0
        for signs in flips.signs(8 * width):
            sums = np.array(list(paired.sums(paired.columns(signs))))
            for side in (1, -1)[:sides]:
                total = (paired.totals[:, None] - side * sums) / 2
                size = np.rint(total[-1]) if weights is None else total[-1]
                empty = size <= 1e-12 * n
                size[empty] = 0.0
                total = total[:-1]
                for b, bound in enumerate(bounds[:, part]):
                    over = total - size * bound[:, None]
                    above[b, part] += np.count_nonzero(over <= slack[b, part, None], axis=1)
                    below[b, part] += np.count_nonzero(over >= -slack[b, part, None], axis=1)
                found = np.divide(total, size, out=np.full_like(total, np.nan), where=~empty)
                if weights is not None:  # without weight, a sum that is not 0 is beyond any bound
                    left = total[:, empty]
                    signed = np.copysign(np.inf, left)
                    found[:, empty] = np.where(np.abs(left) <= none, np.nan, signed)
                means[:, done : done + len(signs)] = found
                done += len(signs)
        if some:
            unflipped = np.isnan(means)
            means[unflipped] = -np.inf
            lower[part] = np.partition(means, needed - 1, axis=1)[:, needed - 1]
            means[unflipped] = np.inf
            upper[part] = np.partition(means, -needed, axis=1)[:, -needed]
    p_above, p_below = flips.share(above) / sides, flips.share(below) / sides
    # But for rounding.
    lower = np.where(p_above > alpha, np.minimum(lower, bounds), lower).min(axis=0)
    upper = np.where(p_below > alpha, np.maximum(upper, bounds), upper).max(axis=0)
    return lower + 0.0, upper + 0.0, p_above, p_below
