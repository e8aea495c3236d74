"""Sequential: p-values of many queries, by a bound, or by flips drawn until p is known.

Where a difference is clear, no flip is drawn: Hoeffding's inequality bounds p (Journal of the
American Statistical Association 58, 1963).

Else flips are drawn until STOP of them have a sum as large as the observed one. If that is the l-th
flip, p is STOP / l; if it does not happen, p is the p-value of all flips. Under the null
hypothesis, such a p is at most any number a with a chance of at most a (Besag & Clifford,
Biometrika 78, 1991). Its standard error is p * sqrt((1 - p) / STOP): 3 % of p at most. Where p is
below STOP divided by the number of flips, 0.01 by default, all of them are drawn.

The signs of a query are the same under all measures, and in each slice that it is in. So queries
that are in the same slices form a group, and the groups of a slice add up to its sums. A slice that
would leave groups of very few queries has signs of its own instead.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.comparison.flips import (
    DEFAULT_FLIPS,
    DEFAULT_SEED,
    Basis,
    FlipRange,
    PairedScores,
    draw_sign_words,
    sum_with_signs,
)
from cranfield.progress import stage

STOP = 1_000  # with this number of flips whose sum is as large, p is known well enough
CLEAR = 1e-6  # a bound of p below this takes the place of p
_FLIPS = 4_096  # of a range: many more than the 256 sums of a table, made for each range
_QUERIES = 16_384  # of a group, at most: signs of a range of flips take 8 MB
_FEW = 512  # least mean number of queries of a group: with fewer, overhead takes most of the time
_GROUPS = 64  # this many groups may be smaller


class SequentialTests(NamedTuple):
    """p-values of pairs, their numbers of flips, and whether drawing stopped early: (n_pairs,)."""

    p: Floats
    n_flips: Ints
    is_stopped_early: Bools

    @classmethod
    def empty(cls, n_pairs: int) -> "SequentialTests":
        """Return tests of pairs for which no flips are drawn yet: p is NaN."""
        return cls(np.full(n_pairs, np.nan), np.zeros(n_pairs, np.int64), np.zeros(n_pairs, bool))


def bound_p_values(paired_scores: PairedScores) -> Floats:
    """Return an upper bound of each pair's two-sided p-value by all sign flips: (n_pairs,).

    2 exp(-T^2 / (2 sum d^2)), of differences d whose sum is T; at most 1, and never 0.

    >>> import numpy as np
    >>> (p,) = bound_p_values(PairedScores.from_differences(np.ones((20, 1))))
    >>> round(float(p), 9)  # which is 2 exp(-10)
    9.08e-05
    """
    squares = (paired_scores.differences**2).sum(axis=0)
    exponent = np.divide(
        paired_scores.totals**2, 2 * squares, out=np.zeros_like(squares), where=squares > 0
    )
    p_bound: Floats = np.clip(2 * np.exp(-exponent), np.finfo(np.float64).tiny, 1.0)
    return p_bound


def run_sequential_tests(
    slices: Sequence[Bools],
    scores: Sequence[Sequence[PairedScores]],
    is_requested: Sequence[Sequence[Bools]],
    *,
    n_drawn: int = DEFAULT_FLIPS,
    seed: int = DEFAULT_SEED,
    n_large_to_stop: int = STOP,
) -> list[list[SequentialTests]]:
    """Return the two-sided p-values of mean differences, of each slice and measure.

    Args:
        slices: whether a query is in each slice, (n_queries,) each; the first slice has all
            queries that are in any.
        scores: the scores of each slice's queries, measure after measure.
        is_requested: whether to find p of a pair, (n_pairs,), in the same order; else p is NaN.
        n_drawn: the most flips to draw.
        seed: the same seed draws the same.
        n_large_to_stop: the number of flips with as large a sum that is enough.

    """
    # The columns of a slice are rows of the columns of all queries.
    n_measures = len(scores[0])
    needs_column = [
        [slice_scores[m].has_own_column for slice_scores in scores] for m in range(n_measures)
    ]
    bases = [
        all_scores.build_basis(np.logical_or.reduce(masks))
        for all_scores, masks in zip(scores[0], needs_column, strict=True)
    ]
    starts = np.cumsum([0, *(basis.columns.shape[1] for basis in bases)]).tolist()
    counts_by_slice = [
        [
            _PairCounts(measure_scores, is_open, basis, start)
            for measure_scores, is_open, basis, start in zip(
                *slice_rows, bases, starts[:-1], strict=True
            )
        ]
        for slice_rows in zip(scores, is_requested, strict=True)
    ]
    columns = np.concatenate([basis.columns for basis in bases], axis=1)
    groups = list(_group_queries(slices, columns))
    with stage("flips", n_drawn, "flips") as report_done:
        for begin in range(0, n_drawn, _FLIPS):
            all_counts = chain(*counts_by_slice)
            used_columns = sorted({c for counts in all_counts for c in counts.needed_columns()})
            open_slices = {
                i
                for i, slice_counts in enumerate(counts_by_slice)
                if any(counts.open_pairs for counts in slice_counts)
            }
            if not open_slices:
                break
            flips = FlipRange(begin, min(begin + _FLIPS, n_drawn))
            open_groups = [group for group in groups if open_slices & group.slices]
            sums = _sum_slices(flips, open_groups, used_columns, seed, open_slices)
            row_of_column = np.zeros(columns.shape[1], np.int64)
            row_of_column[used_columns] = np.arange(len(used_columns))
            for i in open_slices:
                for counts in counts_by_slice[i]:
                    counts.count_sums(sums[i], row_of_column, begin, n_large_to_stop)
            report_done(flips.end - begin)
    return [[counts.finish(n_drawn) for counts in row] for row in counts_by_slice]


class _PairCounts:
    """The pairs of one measure in one slice, and the counts of flips with as large a sum so far.

    The sums of a pair are those of its left column of the basis, less those of its right column, if
    any. The basis' columns are numbered from `first_column` among the columns of all measures.
    """

    def __init__(
        self, scores: PairedScores, is_requested: Bools, basis: Basis, first_column: int
    ) -> None:
        right_column = basis.right_column
        self.tests = SequentialTests.empty(len(is_requested))
        # The numbers of the pairs whose p is not known yet.
        self.open_pairs = np.flatnonzero(is_requested).tolist()
        self._left_column = basis.left_column + first_column
        self._right_column = np.where(right_column < 0, -1, right_column + first_column)
        self._counts = np.zeros(len(is_requested), np.int64)
        self._thresholds = np.abs(scores.totals) - scores.slack

    def needed_columns(self) -> set[int]:
        """Return the numbers of the columns that open pairs need."""
        sides = self._left_column[self.open_pairs], self._right_column[self.open_pairs]
        return {*np.concatenate(sides).tolist()} - {-1}

    def count_sums(
        self, sums: Floats, row_of_column: Ints, begin: int, n_large_to_stop: int
    ) -> None:
        """Count the large sums of the open pairs under the flips from number `begin` on.

        `sums` is (n_used_columns, n_flips); `row_of_column` (n_columns,) has the row of each used
        column. A pair with `n_large_to_stop` large sums has its p, and is no longer open.
        """
        still_open = []
        for pair in self.open_pairs:
            pair_sums = sums[row_of_column[self._left_column[pair]]]
            if self._right_column[pair] >= 0:
                pair_sums = pair_sums - sums[row_of_column[self._right_column[pair]]]
            large_flips = np.flatnonzero(np.abs(pair_sums) >= self._thresholds[pair])
            n_left = n_large_to_stop - int(self._counts[pair])
            self._counts[pair] += len(large_flips)
            if len(large_flips) < n_left:
                still_open.append(pair)
                continue
            n_flips = begin + int(large_flips[n_left - 1]) + 1
            self.tests.p[pair], self.tests.n_flips[pair] = n_large_to_stop / n_flips, n_flips
            self.tests.is_stopped_early[pair] = True
        self.open_pairs = still_open

    def finish(self, n_drawn: int) -> SequentialTests:
        """Return the tests; open pairs have the p-value of all flips (Phipson & Smyth 2010)."""
        self.tests.p[self.open_pairs] = (self._counts[self.open_pairs] + 1) / (n_drawn + 1)
        self.tests.n_flips[self.open_pairs] = n_drawn
        return self.tests


class _QueryGroup(NamedTuple):
    """Queries that are in the same slices, whose signs are drawn together."""

    stream: int  # the number of their stream of signs
    slices: frozenset[int]  # the numbers of the slices whose sums they add to
    columns: Floats  # (n_queries, n_columns)


def _group_queries(slices: Sequence[Bools], columns: Floats) -> Iterator[_QueryGroup]:
    """Yield groups of queries; `columns` (n_rows, n_columns) has the queries of the first slice."""
    codes, shared = _code_slices(slices, max(_GROUPS, len(columns) // _FEW))
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order], append=-1)) + 1
    grouped_queries = [
        (frozenset(i for i in shared if slices[i][slices[0]][order[begin]]), order[begin:end])
        for begin, end in pairwise([0, *ends.tolist()])
    ]
    lone_slices = [
        (frozenset((i,)), np.flatnonzero(slice_mask[slices[0]]))
        for i, slice_mask in enumerate(slices)
        if i not in shared
    ]
    stream = 0
    for group_slices, query_rows in chain(grouped_queries, lone_slices):
        for first_row in range(0, len(query_rows), _QUERIES):
            yield _QueryGroup(
                stream, group_slices, columns[query_rows[first_row : first_row + _QUERIES]]
            )
            stream += 1


def _code_slices(slices: Sequence[Bools], max_codes: int) -> tuple[Ints, Set[int]]:
    """Return a code for each query of the first slice, and the slices that the codes stand for.

    Queries with the same code are in the same of these slices. A slice that would make more than
    `max_codes` codes is left out.
    """
    codes, n_codes = np.zeros(np.count_nonzero(slices[0]), np.int64), 1
    shared: set[int] = set()
    for i, slice_mask in enumerate(slices):
        finer_codes = 2 * codes + slice_mask[slices[0]]
        is_used = np.bincount(finer_codes, minlength=2 * n_codes) > 0
        if np.count_nonzero(is_used) <= max_codes:
            codes, n_codes = (np.cumsum(is_used) - 1)[finer_codes], int(np.count_nonzero(is_used))
            shared.add(i)
    return codes, shared


def _sum_slices(
    flip_range: FlipRange,
    groups: Sequence[_QueryGroup],
    used_columns: Sequence[int],
    seed: int,
    requested_slices: Set[int],
) -> dict[int, Floats]:
    """Return {slice: sums (n_used_columns, n_flips)} of the requested slices."""

    def sum_group(group: _QueryGroup) -> tuple[_QueryGroup, Floats]:
        words = draw_sign_words(len(group.columns), *flip_range, seed, group.stream)
        return group, sum_with_signs(group.columns[:, used_columns], words)

    slice_sums = {
        i: np.zeros((len(used_columns), flip_range[1] - flip_range[0])) for i in requested_slices
    }
    for group, sums in map_in_threads(sum_group, groups):
        for i in group.slices & requested_slices:
            slice_sums[i] += sums
    return slice_sums
