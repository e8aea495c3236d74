"""Sign flips: the signs of queries, all or drawn by chance, and sums of scores with them.

A unit is a query or, where queries depend on one another, as the queries of one user do, a cluster
of queries, which is flipped as a whole.

All pairs of systems share the flips: sums over the units of each system's scores, with their signs,
are computed once, and the sum of a pair's differences is the difference of two of these sums.

The signs of eight queries are a byte. What eight scores add under each of the 256 bytes is computed
once and looked up for every flip (the method of four Russians: Arlazarov, Dinic, Kronrod &
Faradzhev 1970). That takes a fraction of a matrix product's time, and none of the threads of a
library for linear algebra, which wait busily where other programs have the cores. The scores are
always added in the same order, so that a sum has the same bits on every machine, for any number of
ranges and threads that the flips are split into.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.lazy import cached_if_small, cached_property
from cranfield.progress import stage

MAX_EXACT_UNITS = 20  # up to this number of units, all flips are tried
MANY_UNITS = 7_000  # with more units, p is a bound, or flips are drawn until p is known
DEFAULT_FLIPS = 100_000
DEFAULT_SEED = 42
MAX_FLIPS = 10_000_000  # intervals keep some numbers for each
_CELLS = 131_072  # sums of a range of flips: 1 MB, most of which stays in a core's cache
_FEWEST = 8_192  # flips of a range: many more than the 256 sums of a table, made for each range
_OCTETS = 16_000_000  # of the signs of a range of flips: 16 MB
_TABLES = 131_072  # numbers in the tables that are made at once

SignWords = NDArray[np.uint64]


class FlipRange(NamedTuple):
    """The numbers of consecutive flips, from `begin` to before `end`."""

    begin: int
    end: int


class Basis(NamedTuple):
    """Columns to sum under flips; each pair is one of them, or the difference of two."""

    columns: Floats  # (n_units, n_columns)
    left_column: Ints  # (n_pairs,)
    right_column: Ints  # (n_pairs,); -1: the left column is the pair's difference already


@dataclass(frozen=True, eq=False)
class PairedScores:
    """Several systems' scores for the same units, and the pairs of systems to compare.

    The difference of a pair is the score in its `left_column` minus the score in its
    `right_column`. The score of a cluster is the sum of its queries' scores.
    """

    scores: Floats  # (n_units, n_systems)
    left_column: Ints  # (n_pairs,) columns of scores
    right_column: Ints  # (n_pairs,)
    # (n_units,) queries of each cluster, or weight of each query, 1 on average; None: all 1.
    unit_size: Floats | None = None

    @classmethod
    def from_differences(cls, differences: Floats) -> "PairedScores":
        """Return pairs that have these differences (n_units, n_pairs)."""
        n_units, n_pairs = differences.shape
        scores = np.concatenate((differences, np.zeros((n_units, 1))), axis=1)
        return cls(scores, np.arange(n_pairs), np.full(n_pairs, n_pairs))

    def sum_clusters(self, cluster_of_unit: Ints) -> "PairedScores":
        """Return the same pairs with a unit for each cluster.

        `cluster_of_unit` (n_units,) numbers the clusters from 0; each cluster has a query.
        """
        unit_size = np.bincount(cluster_of_unit).astype(np.float64)
        return replace(
            self, scores=sum_by_cluster(self.scores, cluster_of_unit), unit_size=unit_size
        )

    @property
    def n_units(self) -> int:
        """The number of queries, or of clusters."""
        return len(self.scores)

    @property
    def n_queries(self) -> float:
        """The number of queries."""
        return self.n_units if self.unit_size is None else float(self.unit_size.sum())

    def __len__(self) -> int:
        """Return the number of differences: units times pairs."""
        return self.n_units * len(self.left_column)

    @cached_if_small
    def differences(self) -> Floats:
        """Return the differences, 0 where only rounding is left: (n_units, n_pairs)."""
        # A pair's differences are adjacent in memory: sums add them in that order.
        system_scores = np.ascontiguousarray(self.scores.T)
        differences = np.empty((len(self.left_column), self.n_units))
        step = max(1, _CELLS // (4 * max(1, self.n_units)))  # pairs that fit in a core's cache
        for begin in range(0, len(differences), step):
            pair_slice = slice(begin, begin + step)
            left_scores = system_scores[self.left_column[pair_slice]]
            right_scores = system_scores[self.right_column[pair_slice]]
            slice_differences = np.subtract(left_scores, right_scores, out=differences[pair_slice])
            slice_differences[
                np.abs(slice_differences) <= 1e-14 * (np.abs(left_scores) + np.abs(right_scores))
            ] = 0.0
        return differences.T

    @cached_property
    def totals(self) -> Floats:
        """The sums of the differences: (n_pairs,)."""
        totals: Floats = self.differences.sum(axis=0)
        return totals

    @cached_property
    def means(self) -> Floats:
        """The mean differences of the queries, 0 where only rounding is left: (n_pairs,)."""
        means: Floats = self.totals / self.n_queries
        means[np.abs(self.totals) <= self.slack] = 0.0
        return means

    @cached_property
    def deviations(self) -> Floats:
        """The deviations from the means, whose squares make the variances: (n_units, n_pairs).

        Of a query, its difference minus the mean. Of a unit with a size, its difference minus the
        mean times its size, in the unit of a mean (Liang & Zeger, Biometrika 1986).
        """
        if self.unit_size is None:
            deviations: Floats = self.differences - self.means
            return deviations
        unit_deviations: Floats = self.differences - np.outer(self.unit_size, self.means)
        unit_deviations *= self.n_units / self.n_queries
        return unit_deviations

    @cached_property
    def slack(self) -> Floats:
        """How far two equal sums may differ by rounding: (n_pairs,)."""
        slack: Floats = 1e-12 * np.abs(self.differences).sum(axis=0)
        return slack

    @cached_property
    def has_own_column(self) -> Bools:
        """Whether each pair's differences are added up directly: (n_pairs,).

        That is so where differences are much smaller than the scores: the difference of two large
        sums would be mostly rounding error. It is so for all pairs if there are no more pairs than
        systems.
        """
        n_pairs, size = len(self.left_column), np.abs(self.scores).sum(axis=0)
        if n_pairs <= self.scores.shape[1]:
            return np.ones(n_pairs, np.bool_)
        is_small: Bools = self.slack < 1e-14 * (size[self.left_column] + size[self.right_column])
        return is_small

    @cached_property
    def _basis(self) -> "Basis":
        return self.build_basis(self.has_own_column)

    def build_basis(self, has_own_column: Bools) -> "Basis":
        """Return the columns to sum under flips, and the columns that make each pair.

        `has_own_column` (n_pairs,): a column of the basis holds the pair's differences.
        """
        n_pairs, is_shared = len(self.left_column), ~has_own_column
        left_system, right_system = self.left_column[is_shared], self.right_column[is_shared]
        systems = np.unique(np.concatenate((left_system, right_system)))
        own_columns = self.differences[:, has_own_column]
        columns = np.concatenate((self.scores[:, systems], own_columns), axis=1)
        left_column, right_column = np.empty(n_pairs, np.int64), np.full(n_pairs, -1)
        left_column[has_own_column] = len(systems) + np.arange(own_columns.shape[1])
        left_column[is_shared] = np.searchsorted(systems, left_system)
        right_column[is_shared] = np.searchsorted(systems, right_system)
        return Basis(columns, left_column, right_column)

    @property
    def n_columns(self) -> int:
        """The number of columns of the basis, whose sums are computed."""
        return int(self._basis.columns.shape[1])

    @property
    def column_totals(self) -> Floats:
        """The sums of the basis' columns, no sign flipped: (n_columns,)."""
        column_totals: Floats = self._basis.columns.sum(axis=0)
        return column_totals

    def sum_columns(self, sign_words: SignWords) -> Floats:
        """Return the sums of the basis' columns under flips: (n_columns, n_flips)."""
        return sum_with_signs(self._basis.columns, sign_words)

    def sum_pairs(
        self,
        column_sums: Floats,
        pair_order: Iterable[int] | None = None,
        rows: Ints | slice = slice(None),
    ) -> Iterator[Floats]:
        """Yield the sum of each pair's differences under each flip, or some rows: (n_flips,).

        `column_sums` are what `sum_columns` returned; `pair_order` are the numbers of the pairs, by
        default all pairs in their order. The caller may write to the arrays.
        """
        _, left_column, right_column = self._basis
        for i in range(len(left_column)) if pair_order is None else pair_order:
            minuend = column_sums[left_column[i]][rows]
            has_two = right_column[i] >= 0
            yield minuend - column_sums[right_column[i]][rows] if has_two else minuend.copy()


def sum_by_cluster(query_values: Floats, cluster_of_query: Ints) -> Floats:
    """Return the sums of the values of each cluster's queries: (n_clusters, n_columns).

    `query_values` is (n_queries, n_columns); `cluster_of_query` (n_queries,) counts from 0.
    """
    cluster_sums = np.zeros((int(cluster_of_query.max(initial=-1)) + 1, query_values.shape[1]))
    np.add.at(cluster_sums, cluster_of_query, query_values)  # in the order of the queries
    return cluster_sums


def sum_with_signs(unit_values: Floats, sign_words: SignWords) -> Floats:
    """Return the sum of each column with the signs of each flip: (n_columns, n_flips).

    `unit_values` is (n_units, n_columns); `sign_words` are what `Flips.sign_words` returns for the
    same number of units.
    """
    n_units, n_columns = unit_values.shape
    n_octets = -(-n_units // 8)
    padded_values = np.zeros((8 * n_octets, n_columns))
    padded_values[:n_units] = unit_values
    octet_values = padded_values.reshape(n_octets, 8, n_columns)
    n_flips = sign_words.shape[1]
    octets = sign_words.view(np.uint8).reshape(len(sign_words), n_flips, 8)
    flip_sums, octet_sums = np.zeros((n_flips, n_columns)), np.empty((n_flips, n_columns))
    n_tables = max(1, _TABLES // (256 * max(1, n_columns)))
    for begin in range(0, n_octets, n_tables):
        for i, table in enumerate(_tabulate_octets(octet_values[begin : begin + n_tables]), begin):
            # A byte is never beyond the table: "clip" skips the check.
            table.take(octets[i // 8, :, i % 8], axis=0, out=octet_sums, mode="clip")
            flip_sums += octet_sums
    return np.ascontiguousarray(flip_sums.T)


def _tabulate_octets(values: Floats) -> Floats:
    """Return the sum of eight values under each byte of signs: (n_octets, 256, n_columns).

    `values` is (n_octets, 8, n_columns); the highest bit is the sign of the first value.
    """
    n_octets, _, width = values.shape
    tables = np.zeros((n_octets, 1, width))
    for unit_index in range(8):
        unit_values = values[:, unit_index, :]
        tables = tables[:, :, None] + np.stack((-unit_values, unit_values), axis=1)[:, None]
        tables = tables.reshape(n_octets, 2 ** (unit_index + 1), width)
    return tables


@dataclass(frozen=True)
class Flips:
    """Signs for n units: all flips if there are few units, else `n_drawn` flips by chance.

    The signs of a flip depend on the seed, its number and the number of units, and on nothing else.
    Where all flips are tried, only the flips that keep the first unit's sign are computed: the
    other flips are their negatives.
    """

    n_units: int
    n_drawn: int = DEFAULT_FLIPS
    seed: int = DEFAULT_SEED

    @property
    def is_exact(self) -> bool:
        """Whether all flips are tried."""
        return self.n_units <= MAX_EXACT_UNITS

    @property
    def n_flips(self) -> int:
        """The number of flips that are computed."""
        return 2 ** max(self.n_units - 1, 0) if self.is_exact else self.n_drawn

    def split(self, n_sums: int = 1) -> Iterator[FlipRange]:
        """Yield ranges of flips that together are all flips.

        `n_sums`: the number of sums that the caller holds for each flip.
        """
        step = max(_FEWEST, _CELLS // max(1, n_sums))
        step = max(1, min(step, _OCTETS // (8 * self._n_words)))
        with stage("flips", self.n_flips, "flips") as report_done:
            for begin in range(0, self.n_flips, step):
                end = min(begin + step, self.n_flips)
                yield FlipRange(begin, end)
                report_done(end - begin)

    @property
    def _n_words(self) -> int:
        return _n_words(self.n_units)

    def sign_words(self, begin: int, end: int) -> SignWords:
        """Return the signs of the flips from number `begin` to before `end`: (n_words, n_flips).

        Each unit has a bit, 1 for plus: eight to a byte, the first unit the highest, and eight
        bytes to a word of 64 bits, in the order of memory. Unused bits of the last word are 0.
        """
        n_units = self.n_units
        if self.is_exact:
            flip_words = np.arange(begin, end, dtype=np.uint64)
            if n_units:
                flip_words |= np.uint64(1 << (n_units - 1))
                flip_words <<= np.uint64(64 - n_units)
            return flip_words.astype(">u8").view(np.uint64)[None]
        return draw_sign_words(n_units, begin, end, self.seed)

    def p_values(self, counts: Ints) -> Floats:
        """Return p-values, given counts of flips that are as extreme as the observed signs.

        Where flips are drawn by chance, the observed signs count as one more flip (Phipson & Smyth
        2010).
        """
        if self.is_exact:
            return counts / self.n_flips
        return (counts + 1) / (self.n_drawn + 1)

    def least_count(self, alpha: float) -> int:
        """Return the least count of flips whose p-value is above alpha."""
        count = int(alpha * self.n_flips)
        while self.p_values(np.array(count)) > alpha and count > 0:
            count -= 1
        while self.p_values(np.array(count)) <= alpha:
            count += 1
        return count


def _n_words(n_units: int) -> int:
    return max(1, -(-n_units // 64))


def draw_sign_words(n_units: int, begin: int, end: int, seed: int, stream: int = 0) -> SignWords:
    """Return signs drawn by chance, as `Flips.sign_words` does: (n_words, n_flips).

    Signs depend on these five numbers alone; streams of one seed share no signs.
    """
    n_words = _n_words(n_units)
    generator = np.random.PCG64(seed).jumped(stream).advance(begin * n_words)
    random_numbers = generator.random_raw((end - begin) * n_words).astype("<u8", copy=False)
    words = np.ascontiguousarray(random_numbers.reshape(end - begin, n_words).T).view(np.uint64)
    last_octets = words[-1:].view(np.uint8).reshape(-1, 8)
    last_octets &= np.packbits(np.arange(64 * (n_words - 1), 64 * n_words) < n_units)
    return words


def count_kept_signs(sign_words: SignWords, unit_size: Floats | None = None) -> Floats:
    """Return the number, or weight, of queries that keep their sign under each flip: (n_flips,).

    `unit_size` (n_units,) is the number of queries, or the weight, of each unit; None: 1. A sum
    that is only rounding is 0, and one that lacks only rounding is the sum of all.
    """
    if unit_size is None:
        unflipped_counts: Floats = np.bitwise_count(sign_words).sum(axis=0, dtype=np.float64)
        return unflipped_counts
    total_size = unit_size.sum()
    unflipped_size: Floats = (total_size + sum_with_signs(unit_size[:, None], sign_words)[0]) / 2
    unflipped_size[unflipped_size <= 1e-12 * total_size] = 0.0
    unflipped_size[unflipped_size >= (1 - 1e-12) * total_size] = total_size
    return unflipped_size
