"""Sign flips: what mean differences would be if it did not matter which system is which.

If two systems do not differ, each query's difference might as well have the other sign. So the
signs are flipped, query by query, in every way, or in many ways drawn by chance, and one counts how
often the mean difference is as large as the one that was seen (Fisher, The Design of Experiments,
1935; Smucker, Allan & Carterette, CIKM 2007). All pairs of systems share the flips: sums over the
queries of each system's scores, with their signs, are computed once, and the difference of two of
these is the pair's.

The signs of eight queries are a byte. What eight scores add under each of the 256 bytes is computed
once and looked up for every flip (the method of four Russians: Arlazarov, Dinic, Kronrod &
Faradzhev 1970). That takes a fraction of a matrix product's time, and none of the threads of a
library for linear algebra, which wait busily where other programs have the cores. The scores are
always added in the same order, so that a sum has the same bits on every machine, in however many
parts and threads the flips are gone through.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.threads import in_threads
from cranfield.lazy import cached_property

ALL_UP_TO = 20  # queries: so many have all their flips tried
FLIPS = 100_000
SEED = 42
MOST_FLIPS = 10_000_000  # intervals hold some numbers for each
_CELLS = 131_072  # of the sums of a part: 1 MB, most of which stays in a core's cache
_FEWEST = 8_192  # flips of a part: many more than the 256 sums of a table, made for each part
_OCTETS = 16_000_000  # of the signs of a part: 16 MB
_TABLES = 131_072  # numbers in the tables that are made at once
_AT_ONCE = 32_000_000  # of the sums under all flips: 256 MB
_MEANS = 4_000_000  # of the means under all flips, for one-sided tests

Words = NDArray[np.uint64]
_Part = tuple[int, int]  # the first of some flips, and the first that is none of them


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

        A pair that differs by much less than its systems score has a column of its own: the
        difference of two large sums would be but rounding. It has -1 for the second one.
        """
        m = len(self.left)
        size = np.abs(self.values).sum(axis=0)
        alone = self.slack < 1e-14 * (size[self.left] + size[self.right])
        if m <= self.values.shape[1]:
            alone = np.ones(m, np.bool_)
        own = self.differences[:, alone]
        kept = np.unique(np.concatenate((self.left[~alone], self.right[~alone])))
        columns = np.concatenate((self.values[:, kept], own), axis=1)
        left, right = np.empty(m, np.int64), np.full(m, -1)
        left[alone] = len(kept) + np.arange(own.shape[1])
        left[~alone] = np.searchsorted(kept, self.left[~alone])
        right[~alone] = np.searchsorted(kept, self.right[~alone])
        return columns, left, right

    @property
    def width(self) -> int:
        """How many rows `columns` returns."""
        return int(self._basis[0].shape[1])

    def columns(self, words: Words) -> Floats:
        """Return what pairs' sums under flips are differences of: (width, n_flips)."""
        return signed_sums(self._basis[0], words)

    def sums(self, columns: Floats, order: Iterable[int] | None = None) -> Iterator[Floats]:
        """Yield the sum of each pair's differences under each flip: (n_flips,).

        `columns` are what `columns` returned; `order` the pairs' numbers, all as they stand unless
        given. What is yielded may be written to.
        """
        _, left, right = self._basis
        for pair in range(len(left)) if order is None else order:
            minuend = columns[left[pair]]
            yield minuend - columns[right[pair]] if right[pair] >= 0 else minuend.copy()


def signed_sums(values: Floats, words: Words) -> Floats:
    """Return the sums of each column's values, with the signs of each flip: (n_columns, n_flips).

    `values` is (n_queries, n_columns), `words` what `Flips.words` returns for as many queries.
    """
    n, width = values.shape
    n_octets = -(-n // 8)
    padded = np.zeros((8 * n_octets, width))
    padded[:n] = values
    by_octet = padded.reshape(n_octets, 8, width)
    n_flips = words.shape[1]
    octets = words.view(np.uint8).reshape(len(words), n_flips, 8)
    found, added = np.zeros((n_flips, width)), np.empty((n_flips, width))
    at_once = max(1, _TABLES // (256 * max(1, width)))
    for begin in range(0, n_octets, at_once):
        for i, table in enumerate(_tables(by_octet[begin : begin + at_once]), begin):
            # A byte is no index beyond a table: "clip" leaves out the test for one.
            table.take(octets[i // 8, :, i % 8], axis=0, out=added, mode="clip")
            found += added
    return np.ascontiguousarray(found.T)


def _tables(values: Floats) -> Floats:
    """Return what eight values add under each byte of signs: (n_octets, 256, width).

    `values` is (n_octets, 8, width); the highest bit is the sign of the first.
    """
    n_octets, _, width = values.shape
    tables = np.zeros((n_octets, 1, width))
    for eighth in range(8):
        one = values[:, eighth, :]
        tables = tables[:, :, None] + np.stack((-one, one), axis=1)[:, None]
        tables = tables.reshape(n_octets, 2 ** (eighth + 1), width)
    return tables


@dataclass(frozen=True)
class Flips:
    """Signs for n queries: all there are, if these are few, or `drawn` by chance.

    The signs of a flip depend on the seed, its number and the number of queries, and on nothing
    else. Where all are tried, only those are looked at that leave the first query's sign: the
    others are their negatives.
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

    def parts(self, width: int = 1) -> Iterator[_Part]:
        """Yield the flips in parts: the number of a first one, and of the one after the last.

        `width`: how many sums the caller holds for each flip.
        """
        step = max(_FEWEST, _CELLS // max(1, width))
        step = max(1, min(step, _OCTETS // (8 * self._n_words)))
        for begin in range(0, self.looked_at, step):
            yield begin, min(begin + step, self.looked_at)

    @property
    def _n_words(self) -> int:
        return max(1, -(-self.n_queries // 64))

    def words(self, begin: int, end: int) -> Words:
        """Return the signs of the flips from number `begin` to before `end`: (n_words, n_flips).

        Each query has a bit, 1 for plus: eight to a byte, the first one the highest, and eight
        bytes to a word of 64 bits, in the order of memory. What is left of the last word is 0.
        """
        n, each = self.n_queries, self._n_words
        if self.exact:
            drawn = np.arange(begin, end, dtype=np.uint64)
            if n:
                drawn |= np.uint64(1 << (n - 1))
                drawn <<= np.uint64(64 - n)
            return drawn.astype(">u8").view(np.uint64)[None]
        source = np.random.PCG64(self.seed).advance(begin * each)
        drawn = source.random_raw((end - begin) * each).astype("<u8", copy=False)
        words = np.ascontiguousarray(drawn.reshape(end - begin, each).T).view(np.uint64)
        octets = words[-1:].view(np.uint8).reshape(-1, 8)
        octets &= np.packbits(np.arange(64 * (each - 1), 64 * each) < n)
        return words

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


def n_kept(words: Words) -> Ints:
    """Return how many queries keep their sign under each flip: (n_flips,)."""
    found: Ints = np.bitwise_count(words).sum(axis=0, dtype=np.int64)
    return found


def sign_flip(paired: Paired, flips: Flips) -> Floats:
    """Return the two-sided p-value of each pair's mean difference: (n_pairs,)."""
    least = np.abs(paired.totals) - paired.slack

    def counted(part: _Part) -> Ints:
        columns = paired.columns(flips.words(*part))
        every = zip(paired.sums(columns), least.tolist(), strict=True)
        return np.array([_as_large(sums, limit) for sums, limit in every], np.int64)

    none = np.zeros(len(paired.left), np.int64)
    return flips.share(sum(in_threads(counted, flips.parts(paired.width)), none))


def _as_large(sums: Floats, least: float) -> int:
    """Return how many sums are at least so large, to either side. Their signs are lost."""
    return int(np.count_nonzero(np.abs(sums, out=sums) >= least))


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
    rising = order[::-1].tolist()

    def counted(part: _Part) -> Ints:
        # Each pair against the greatest of itself and of those with a smaller t.
        counts, greatest = np.zeros(len(order), np.int64), np.zeros(part[1] - part[0])
        columns = paired.columns(flips.words(*part))
        for pair, sums in zip(rising, paired.sums(columns, rising), strict=True):
            np.abs(sums, out=sums)
            sums *= scale[pair]
            np.maximum(greatest, sums, out=greatest)
            counts[pair] = np.count_nonzero(greatest >= least[pair])
        return counts

    none = np.zeros(len(order), np.int64)
    p = flips.share(sum(in_threads(counted, flips.parts(paired.width)), none))
    p[order] = np.maximum.accumulate(p[order])
    return p


def inverted(paired: Paired, flips: Flips, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return the p-value of `sign_flip`, and the ends of the interval that goes with it.

    The interval of a mean difference holds the shifts that the test does not reject. A flip counts
    against a shift if the shift lies between the mean of the differences whose signs it flips and
    the mean of the others; the observed mean always does. So the ends are two of these means: the
    upper one, that of which just more than alpha of the flips have a greater one. 0 lies outside if
    and only if the p-value is at most alpha.

    Returns p, the lower and the upper ends, (n_pairs,) each; ends are infinite where no shift is
    far enough away to be rejected. All come from the same sums.
    """
    needed = flips.needed(alpha)
    found: list[tuple[int, float, float]] = []
    for some in _blocks(paired, flips):
        part = Paired(paired.values, paired.left[some], paired.right[some])
        found += _each_inverted(part, flips, needed)
    counts, low, high = np.array(found, float).reshape(-1, 3).T.copy()
    return flips.share(counts), low, high


def _each_inverted(paired: Paired, flips: Flips, needed: int) -> Iterator[tuple[int, float, float]]:
    """Yield of each pair how many flips have a sum as large, and the ends of its interval.

    `needed`: how many flips count against no shift outside of the ends, at least.
    """
    n_kept, columns = _under_all(paired, flips)
    n_flipped = paired.n_queries - n_kept
    # Where all signs are kept, or all flipped, no shift is far enough away.
    none = np.flatnonzero(n_kept * n_flipped == 0)
    n_kept[none] = n_flipped[none] = 1

    def of_pair(pair: int) -> tuple[int, float, float]:
        (sums,) = paired.sums(columns, [pair])
        total, slack = float(paired.totals[pair]), float(paired.slack[pair])
        low, high = -np.inf, np.inf
        if 1 <= needed <= flips.looked_at:  # else no shift is far enough away
            kept = (sums + total) / 2
            flipped = total - kept
            kept /= n_kept
            flipped /= n_flipped
            kept[none], flipped[none] = np.inf, -np.inf
            low = -_greatest(-np.minimum(kept, flipped), needed)
            high = _greatest(np.maximum(kept, flipped), needed)
        near_zero = slack / (2 * paired.n_queries)  # no difference but rounding's
        low, high = (0.0 if abs(end) <= near_zero else end for end in (low, high))
        return _as_large(sums, abs(total) - slack), low, high

    return in_threads(of_pair, range(len(paired.left)))


def _under_all(paired: Paired, flips: Flips) -> tuple[Ints, Floats]:
    """Return how many signs each flip keeps, (n_flips,), and `Paired.columns` of all flips."""

    def of_part(part: _Part) -> tuple[_Part, Ints, Floats]:
        words = flips.words(*part)
        return part, n_kept(words), paired.columns(words)

    kept = np.empty(flips.looked_at, np.int64)
    columns = np.empty((paired.width, flips.looked_at))
    for (begin, end), counts, found in in_threads(of_part, flips.parts(paired.width)):
        kept[begin:end], columns[:, begin:end] = counts, found
    return kept, columns


def _blocks(paired: Paired, flips: Flips) -> Iterator[Ints]:
    """Yield the numbers of the pairs of which the sums under all flips can be held at once."""
    m = len(paired.left)
    size = max(1, _AT_ONCE // (2 * flips.looked_at))  # a pair has two columns at most
    if paired.width * flips.looked_at <= _AT_ONCE:
        size = max(1, m)
    for begin in range(0, m, size):
        yield np.arange(begin, min(begin + size, m))


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
    slack = 1e-12 * (np.abs(differences).sum(axis=0) + n * np.abs(bounds))
    above, below = np.zeros((2, *bounds.shape), np.int64)
    lower, upper = np.full(m, -np.inf), np.full(m, np.inf)
    at_once = max(1, _MEANS // flips.looked_at)
    for begin in range(0, m, at_once):
        part = slice(begin, begin + at_once)
        above[:, part], below[:, part], means = _held(
            differences[:, part], bounds[:, part], slack[:, part], flips, weights
        )
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


def _held(
    differences: Floats, bounds: Floats, slack: Floats, flips: Flips, weights: Floats | None
) -> tuple[Ints, Ints, Floats]:
    """Return how many flips count against each bound, from above and from below, and their means.

    Two (n_bounds, n_pairs); and the mean of the differences whose signs each flip flips, NaN where
    it flips none: (n_pairs, n_flips), where all flips are tried twice as many as are looked at.
    """
    n, m = differences.shape
    paired = Paired.of(differences)
    weighing = 0.0 if weights is None else float(weights.sum())
    none = 1e-12 * np.abs(differences).sum(axis=0)[:, None]  # a sum that is 0 but for rounding
    sides = (1, -1) if flips.exact else (1,)
    means = np.empty((m, len(sides) * flips.looked_at))

    def of_part(part: _Part) -> Ints:
        words = flips.words(*part)
        kept, columns = n_kept(words), paired.columns(words)
        sums = np.array(list(paired.sums(columns)))
        counts = np.zeros((2, *bounds.shape), np.int64)
        for place, side in enumerate(sides):
            total = (paired.totals[:, None] - side * sums) / 2
            if weights is None:
                size = n - kept if side == 1 else kept
            else:
                size = (weighing - side * signed_sums(weights[:, None], words)[0]) / 2
                size[size <= 1e-12 * n] = 0.0
            for b, bound in enumerate(bounds):
                over = total - size * bound[:, None]
                counts[0, b] += np.count_nonzero(over <= slack[b, :, None], axis=1)
                counts[1, b] += np.count_nonzero(over >= -slack[b, :, None], axis=1)
            unflipped = np.full_like(total, np.nan)
            found = np.divide(total, size, out=unflipped, where=size > 0)
            if weights is not None:  # without weight, a sum that is not 0 is beyond any bound
                left = total[:, size == 0]
                beyond = np.copysign(np.inf, left)
                found[:, size == 0] = np.where(np.abs(left) <= none, np.nan, beyond)
            means[:, place * flips.looked_at :][:, slice(*part)] = found
        return counts

    above, below = sum(in_threads(of_part, flips.parts(m)), np.zeros((2, *bounds.shape), np.int64))
    return above, below, means
