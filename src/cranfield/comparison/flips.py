"""Sign flips: the signs of queries, all or drawn by chance, and sums of scores with them.

Where queries depend on one another, as those of one user, whole clusters of queries are flipped: a
unit is a query, or such a cluster.

All pairs of systems share the flips: sums over the queries of each system's scores, with their
signs, are computed once, and the difference of two of these is the pair's.

The signs of eight queries are a byte. What eight scores add under each of the 256 bytes is computed
once and looked up for every flip (the method of four Russians: Arlazarov, Dinic, Kronrod &
Faradzhev 1970). That takes a fraction of a matrix product's time, and none of the threads of a
library for linear algebra, which wait busily where other programs have the cores. The scores are
always added in the same order, so that a sum has the same bits on every machine, in however many
parts and threads the flips are gone through.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.lazy import cached_property, kept_while_small
from cranfield.progress import stage

ALL_UP_TO = 20  # queries: up to this many, all flips are tried
MANY = 7_000  # queries: with more, p is a bound, or flips are drawn until p is known
FLIPS = 100_000
SEED = 42
MOST_FLIPS = 10_000_000  # intervals keep some numbers for each
_CELLS = 131_072  # of the sums of a part: 1 MB, most of which stays in a core's cache
_FEWEST = 8_192  # flips of a part: many more than the 256 sums of a table, made for each part
_OCTETS = 16_000_000  # of the signs of a part: 16 MB
_TABLES = 131_072  # numbers in the tables that are made at once

Words = NDArray[np.uint64]
Part = tuple[int, int]  # the number of the first flip, and of the one after the last


@dataclass(frozen=True, eq=False)
class Paired:
    """Several systems' scores for the same units, and which systems are to be compared.

    The difference of a pair is that of the system `left` minus that of `right`. The score of a
    cluster is the sum of its queries' scores.
    """

    values: Floats  # (n_units, n_systems)
    left: Ints  # (n_pairs,) columns of values
    right: Ints  # (n_pairs,)
    # (n_units,) queries of each cluster, or each query's weight, 1 on average; None: all 1.
    sizes: Floats | None = None

    @classmethod
    def of(cls, differences: Floats) -> "Paired":
        """Return pairs of which the differences (n_units, n_pairs) are known."""
        n, m = differences.shape
        values = np.concatenate((differences, np.zeros((n, 1))), axis=1)
        return cls(values, np.arange(m), np.full(m, m))

    def summed(self, cluster: Ints) -> "Paired":
        """Return the same pairs with a unit for each cluster: (n_units,) each unit's cluster.

        Clusters are numbered from 0; each has a query.
        """
        sizes = np.bincount(cluster).astype(np.float64)
        return replace(self, values=by_cluster(self.values, cluster), sizes=sizes)

    @property
    def n_units(self) -> int:
        """The number of queries, or of clusters."""
        return len(self.values)

    @property
    def n_queries(self) -> float:
        """The number of queries."""
        return self.n_units if self.sizes is None else float(self.sizes.sum())

    def __len__(self) -> int:
        """Return how many differences there are: of each pair on each unit."""
        return self.n_units * len(self.left)

    @kept_while_small
    def differences(self) -> Floats:
        """Each unit's differences, 0 where scores are equal up to rounding.

        (n_units, n_pairs)
        """
        # A pair's differences are adjacent in memory: that is the order in which they are added.
        scores = np.ascontiguousarray(self.values.T)
        found = np.empty((len(self.left), self.n_units))
        step = max(1, _CELLS // (4 * max(1, self.n_units)))  # pairs that fit in a core's cache
        for begin in range(0, len(found), step):
            some = slice(begin, begin + step)
            left, right = scores[self.left[some]], scores[self.right[some]]
            of_some = np.subtract(left, right, out=found[some])
            of_some[np.abs(of_some) <= 1e-14 * (np.abs(left) + np.abs(right))] = 0.0
        return found.T

    @cached_property
    def totals(self) -> Floats:
        """The sums of the differences: (n_pairs,)."""
        found: Floats = self.differences.sum(axis=0)
        return found

    @cached_property
    def means(self) -> Floats:
        """The mean differences of the queries, 0 where they are only rounding: (n_pairs,)."""
        found: Floats = self.totals / self.n_queries
        found[np.abs(self.totals) <= self.slack] = 0.0
        return found

    @cached_property
    def centred(self) -> Floats:
        """What each unit adds to its pair's variance: (n_units, n_pairs).

        Of queries, the differences minus their mean. Of clusters, their sums minus what the mean
        gives so many queries, in the unit of a mean (Liang & Zeger, Biometrika 1986).
        """
        if self.sizes is None:
            of_queries: Floats = self.differences - self.means
            return of_queries
        found: Floats = self.differences - np.outer(self.sizes, self.means)
        found *= self.n_units / self.n_queries
        return found

    @cached_property
    def slack(self) -> Floats:
        """The difference up to which two sums are equal, given rounding: (n_pairs,)."""
        found: Floats = 1e-12 * np.abs(self.differences).sum(axis=0)
        return found

    @cached_property
    def alone(self) -> Bools:
        """Whether each pair's differences are added up directly: (n_pairs,).

        They are where they are much smaller than the scores: the difference of two large sums would
        be mostly rounding error. All are if there are no more pairs than systems.
        """
        size = np.abs(self.values).sum(axis=0)
        found: Bools = self.slack < 1e-14 * (size[self.left] + size[self.right])
        return found if len(found) > self.values.shape[1] else np.ones(len(found), np.bool_)

    @cached_property
    def _basis(self) -> tuple[Floats, Ints, Ints]:
        return self.basis(self.alone)

    def basis(self, alone: Bools) -> tuple[Floats, Ints, Ints]:
        """Return columns (n_units, n_columns), and the two whose difference each pair is.

        A pair that is `alone` (n_pairs,) has its own column, and -1 for the second one.
        """
        m = len(self.left)
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
        """Return the columns' sums under flips, of which a pair takes two: (width, n_flips)."""
        return signed_sums(self._basis[0], words)

    def sums(self, columns: Floats, order: Iterable[int] | None = None) -> Iterator[Floats]:
        """Yield the sum of each pair's differences under each flip: (n_flips,).

        `columns` are what `columns` returned; `order` the pairs' numbers, all in their order unless
        given. What is yielded may be written to.
        """
        _, left, right = self._basis
        for pair in range(len(left)) if order is None else order:
            minuend = columns[left[pair]]
            yield minuend - columns[right[pair]] if right[pair] >= 0 else minuend.copy()


def by_cluster(values: Floats, cluster: Ints) -> Floats:
    """Return the sums of the values (n_queries, n_columns) of each cluster.

    `cluster` (n_queries,) numbers the clusters from 0: (n_clusters, n_columns).
    """
    found = np.zeros((int(cluster.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(found, cluster, values)  # in the order of the queries
    return found


def signed_sums(values: Floats, words: Words) -> Floats:
    """Return the sums of each column's values, with the signs of each flip: (n_columns, n_flips).

    `values` is (n_units, n_columns), `words` what `Flips.words` returns for as many units.
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
            # A byte is never beyond the table: "clip" skips the check.
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
    """Signs for n units: all there are, if there are few units, or `drawn` by chance.

    The signs of a flip depend on the seed, its number and the number of units, and on nothing
    else. Where all are tried, only those that keep the first unit's sign are looked at: the others
    are their negatives.
    """

    n_units: int
    drawn: int = FLIPS
    seed: int = SEED

    @property
    def exact(self) -> bool:
        """Whether all flips are tried."""
        return self.n_units <= ALL_UP_TO

    @property
    def looked_at(self) -> int:
        """How many flips `signs` goes through."""
        return 2 ** max(self.n_units - 1, 0) if self.exact else self.drawn

    def parts(self, width: int = 1) -> Iterator[Part]:
        """Yield the flips in parts: the number of a first one, and of the one after the last.

        `width`: how many sums the caller holds for each flip.
        """
        step = max(_FEWEST, _CELLS // max(1, width))
        step = max(1, min(step, _OCTETS // (8 * self._n_words)))
        with stage("flips", self.looked_at, "flips") as done:
            for begin in range(0, self.looked_at, step):
                end = min(begin + step, self.looked_at)
                yield begin, end
                done(end - begin)

    @property
    def _n_words(self) -> int:
        return _n_words(self.n_units)

    def words(self, begin: int, end: int) -> Words:
        """Return the signs of the flips from number `begin` to before `end`: (n_words, n_flips).

        Each unit has a bit, 1 for plus: eight to a byte, the first one the highest, and eight
        bytes to a word of 64 bits, in the order of memory. Unused bits of the last word are 0.
        """
        n = self.n_units
        if self.exact:
            drawn = np.arange(begin, end, dtype=np.uint64)
            if n:
                drawn |= np.uint64(1 << (n - 1))
                drawn <<= np.uint64(64 - n)
            return drawn.astype(">u8").view(np.uint64)[None]
        return random_words(n, begin, end, self.seed)

    def share(self, counts: Ints) -> Floats:
        """Return counts of flips looked at as p-values.

        Where flips are drawn by chance, the observed signs count as one more (Phipson & Smyth
        2010).
        """
        if self.exact:
            return counts / self.looked_at
        return (counts + 1) / (self.drawn + 1)

    def needed(self, alpha: float) -> int:
        """Return the least count whose share is above alpha."""
        least = int(alpha * self.looked_at)
        while self.share(np.array(least)) > alpha and least > 0:
            least -= 1
        while self.share(np.array(least)) <= alpha:
            least += 1
        return least


def _n_words(n_units: int) -> int:
    return max(1, -(-n_units // 64))


def random_words(n_units: int, begin: int, end: int, seed: int, stream: int = 0) -> Words:
    """Return signs drawn by chance, as `Flips.words` does: (n_words, n_flips).

    They depend on these five numbers alone; streams of one seed share no signs.
    """
    each = _n_words(n_units)
    source = np.random.PCG64(seed).jumped(stream).advance(begin * each)
    drawn = source.random_raw((end - begin) * each).astype("<u8", copy=False)
    words = np.ascontiguousarray(drawn.reshape(end - begin, each).T).view(np.uint64)
    octets = words[-1:].view(np.uint8).reshape(-1, 8)
    octets &= np.packbits(np.arange(64 * (each - 1), 64 * each) < n_units)
    return words


def n_kept(words: Words, sizes: Floats | None = None) -> Floats:
    """Return how many queries keep their sign under each flip, or their weights: (n_flips,).

    `sizes` are the queries, or the weight, of each unit: (n_units,). None: one each. What is only
    rounding is 0.
    """
    if sizes is None:
        queries: Floats = np.bitwise_count(words).sum(axis=0, dtype=np.float64)
        return queries
    every = sizes.sum()
    kept: Floats = (every + signed_sums(sizes[:, None], words)[0]) / 2
    kept[kept <= 1e-12 * every] = 0.0
    kept[kept >= (1 - 1e-12) * every] = every
    return kept
