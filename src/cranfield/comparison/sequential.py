"""Sequential: p-values of many queries, by a bound, or by flips drawn until p is known.

Where a difference is clear, no flip is drawn: Hoeffding's inequality bounds p (Journal of the
American Statistical Association 58, 1963).

Else flips are drawn until STOP of them have a sum as large as the observed one. If that is the l-th
flip, p is STOP / l; if it does not happen, p is that of all flips. Under the null hypothesis, such
a p is at most any number a with a chance of at most a (Besag & Clifford, Biometrika 78, 1991). Its
standard error is p * sqrt((1 - p) / STOP): 3 % of p at most. Where p is below STOP divided by the
number of flips, 0.01 by default, all of them are drawn.

The signs of a query are the same under all measures, and in each slice that it is in. So queries
are put into groups that are in the same slices; the sums of a slice are those of its groups. A
slice that would leave groups of very few queries has signs of its own instead.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.comparison.flips import DEFAULT_FLIPS, DEFAULT_SEED, PairedScores, FlipRange, draw_sign_words, sum_with_signs
from cranfield.progress import stage

STOP = 1_000  # flips with as large a sum: then p is known well enough
CLEAR = 1e-6  # a bound below this is shown in the place of p
_FLIPS = 4_096  # of a part: many more than the 256 sums of a table, made for each part
_QUERIES = 16_384  # of a group, at most: signs of a part take 8 MB
_FEW = 512  # queries of a group on average: with fewer, overhead would take most of the time
_GROUPS = 64  # this many groups may be smaller


class SequentialTests(NamedTuple):
    """p-values of pairs, by how many flips, and whether drawing stopped early: (n_pairs,) each."""

    p: Floats
    n_flips: Ints
    is_stopped_early: Bools

    @classmethod
    def empty(cls, n_pairs: int) -> "SequentialTests":
        """Return pairs for which no flips are drawn: p is NaN."""
        return cls(np.full(n_pairs, np.nan), np.zeros(n_pairs, np.int64), np.zeros(n_pairs, bool))


def bound_p_values(paired_scores: PairedScores) -> Floats:
    """Return an upper bound of each pair's two-sided p-value by all sign flips: (n_pairs,).

    2 exp(-T^2 / (2 sum d^2)), of differences d whose sum is T; at most 1, and never 0.

    >>> import numpy as np
    >>> round(float(bound_of(Paired.of(np.ones((20, 1))))[0]), 9)  # which is 2 exp(-10)
    9.08e-05
    """
    squares = (paired_scores.differences**2).sum(axis=0)
    far = np.divide(paired_scores.totals**2, 2 * squares, out=np.zeros_like(squares), where=squares > 0)
    found: Floats = np.clip(2 * np.exp(-far), np.finfo(np.float64).tiny, 1.0)
    return found


def run_sequential_tests(
    slices: Sequence[Bools],
    paired_scores: Sequence[Sequence[PairedScores]],
    is_requested: Sequence[Sequence[Bools]],
    *,
    n_drawn: int = DEFAULT_FLIPS,
    seed: int = DEFAULT_SEED,
    n_large_to_stop: int = STOP,
) -> list[list[SequentialTests]]:
    """Return the two-sided p-values of mean differences: for each slice, those of each measure.

    Args:
        slices: which queries are in each slice, (n_queries,) each; the first has all that are in
            any.
        paired: the scores of each slice's queries, measure after measure.
        wanted: the pairs whose p is wanted, (n_pairs,), in the same order.
        drawn: the most flips to draw.
        seed: the same seed draws the same.
        stop: how many flips with as large a sum are enough.

    """
    # The columns of a slice are rows of those of all queries.
    bases = [
        of_all.build_basis(np.logical_or.reduce([of_slice[m].has_own_column for of_slice in paired_scores]))
        for m, of_all in enumerate(paired_scores[0])
    ]
    starts = np.cumsum([0, *(columns.shape[1] for columns, _, _ in bases)]).tolist()
    every = [
        [
            _PairCounts(one, some, left + start, np.where(right < 0, -1, right + start))
            for one, some, (_, left, right), start in zip(
                of_slice, asked, bases, starts[:-1], strict=True
            )
        ]
        for of_slice, asked in zip(paired_scores, is_requested, strict=True)
    ]
    columns = np.concatenate([columns for columns, _, _ in bases], axis=1)
    groups = list(_group_queries(slices, columns))
    with stage("flips", n_drawn, "flips") as done:
        for begin in range(0, n_drawn, _FLIPS):
            used = sorted({column for one in chain(*every) for column in one.needed_columns()})
            still = {i for i, of_slice in enumerate(every) if any(one.open_pairs for one in of_slice)}
            if not still:
                break
            part = begin, min(begin + _FLIPS, n_drawn)
            sums = _sum_slices(part, [one for one in groups if still & one.slices], used, seed, still)
            row = np.zeros(columns.shape[1], np.int64)
            row[used] = np.arange(len(used))
            for i in still:
                for one in every[i]:
                    one.count_sums(sums[i], row, begin, n_large_to_stop)
            done(part[1] - begin)
    return [[one.finish(n_drawn) for one in of_slice] for of_slice in every]


class _PairCounts:
    """One measure's pairs on the queries of one slice, and how many flips were as large so far.

    `left` and `right` are the columns that each pair's sums are differences of; -1 for none.
    """

    def __init__(self, paired_scores: PairedScores, is_requested: Bools, left_column: Ints, right_column: Ints) -> None:
        self.tests = SequentialTests.empty(len(is_requested))
        self.open_pairs = np.flatnonzero(is_requested).tolist()  # pairs of which p is not known yet
        self._left_column, self._right_column = left_column, right_column
        self._counts = np.zeros(len(is_requested), np.int64)
        self._thresholds = np.abs(paired_scores.totals) - paired_scores.slack

    def needed_columns(self) -> set[int]:
        """Return the columns that the open pairs need."""
        found = {*self._left_column[self.open_pairs].tolist(), *self._right_column[self.open_pairs].tolist()}
        return found - {-1}

    def count_sums(self, sums: Floats, row_of_column: Ints, begin: int, n_large_to_stop: int) -> None:
        """Count the sums of the open pairs under the flips from number `begin` on.

        `sums` is (n_used, n_flips), and `row` says which of its rows a column is.
        """
        still = []
        for pair in self.open_pairs:
            of_pair = sums[row_of_column[self._left_column[pair]]]
            if self._right_column[pair] >= 0:
                of_pair = of_pair - sums[row_of_column[self._right_column[pair]]]
            large = np.flatnonzero(np.abs(of_pair) >= self._thresholds[pair])
            left = n_large_to_stop - int(self._counts[pair])
            self._counts[pair] += len(large)
            if len(large) < left:
                still.append(pair)
                continue
            flips = begin + int(large[left - 1]) + 1
            self.tests.p[pair], self.tests.n_flips[pair] = n_large_to_stop / flips, flips
            self.tests.is_stopped_early[pair] = True
        self.open_pairs = still

    def finish(self, n_drawn: int) -> SequentialTests:
        """Return the p-values; those of open pairs by all flips (Phipson & Smyth 2010)."""
        self.tests.p[self.open_pairs] = (self._counts[self.open_pairs] + 1) / (n_drawn + 1)
        self.tests.n_flips[self.open_pairs] = n_drawn
        return self.tests


class _QueryGroup(NamedTuple):
    """Some queries that are in the same slices, whose signs are drawn together."""

    stream: int
    slices: frozenset[int]
    columns: Floats  # (n_queries, n_columns)


def _group_queries(slices: Sequence[Bools], columns: Floats) -> Iterator[_QueryGroup]:
    """Yield groups of queries; `columns` are those of the first slice: (n_rows, n_columns)."""
    codes, shared = _code_slices(slices, max(_GROUPS, len(columns) // _FEW))
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order], append=-1)) + 1
    together = [
        (frozenset(i for i in shared if slices[i][slices[0]][order[begin]]), order[begin:end])
        for begin, end in pairwise([0, *ends.tolist()])
    ]
    alone = [
        (frozenset((i,)), np.flatnonzero(one[slices[0]]))
        for i, one in enumerate(slices)
        if i not in shared
    ]
    stream = 0
    for inside, rows in chain(together, alone):
        for first in range(0, len(rows), _QUERIES):
            yield _QueryGroup(stream, inside, columns[rows[first : first + _QUERIES]])
            stream += 1


def _code_slices(slices: Sequence[Bools], most: int) -> tuple[Ints, Set[int]]:
    """Return which of the slices each query of the first is in, as a number, and of which slices.

    Slices that would make more than `most` numbers are left out.
    """
    codes, n = np.zeros(np.count_nonzero(slices[0]), np.int64), 1
    shared: set[int] = set()
    for i, one in enumerate(slices):
        finer = 2 * codes + one[slices[0]]
        there = np.bincount(finer, minlength=2 * n) > 0
        if np.count_nonzero(there) <= most:
            codes, n = (np.cumsum(there) - 1)[finer], int(np.count_nonzero(there))
            shared.add(i)
    return codes, shared


def _sum_slices(
    part: FlipRange, groups: Sequence[_QueryGroup], used: Sequence[int], seed: int, wanted: Set[int]
) -> dict[int, Floats]:
    """Return the sums of the used columns in each wanted slice: (n_used, n_flips) each."""

    def of_group(group: _QueryGroup) -> tuple[_QueryGroup, Floats]:
        words = draw_sign_words(len(group.columns), *part, seed, group.stream)
        return group, sum_with_signs(group.columns[:, used], words)

    found = {i: np.zeros((len(used), part[1] - part[0])) for i in wanted}
    for group, sums in map_in_threads(of_group, groups):
        for i in group.slices & wanted:
            found[i] += sums
    return found
