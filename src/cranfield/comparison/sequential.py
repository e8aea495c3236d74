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
from cranfield.arrays.threads import in_threads
from cranfield.comparison.flips import FLIPS, SEED, Paired, Part, random_words, signed_sums
from cranfield.progress import stage

STOP = 1_000  # flips with as large a sum: then p is known well enough
CLEAR = 1e-6  # a bound below this is shown in the place of p
_FLIPS = 4_096  # of a part: many more than the 256 sums of a table, made for each part
_QUERIES = 16_384  # of a group, at most: signs of a part take 8 MB
_FEW = 512  # queries of a group on average: with fewer, overhead would take most of the time
_GROUPS = 64  # this many groups may be smaller


class Drawn(NamedTuple):
    """p-values of pairs, by how many flips, and whether drawing stopped early: (n_pairs,) each."""

    p: Floats
    flips: Ints
    stopped: Bools

    @classmethod
    def none(cls, n_pairs: int) -> "Drawn":
        """Return pairs for which no flips are drawn: p is NaN."""
        return cls(np.full(n_pairs, np.nan), np.zeros(n_pairs, np.int64), np.zeros(n_pairs, bool))


def bound_of(paired: Paired) -> Floats:
    """Return an upper bound of each pair's two-sided p-value by all sign flips: (n_pairs,).

    2 exp(-T^2 / (2 sum d^2)), of differences d whose sum is T; at most 1, and never 0.

    >>> import numpy as np
    >>> round(float(bound_of(Paired.of(np.ones((20, 1))))[0]), 9)  # which is 2 exp(-10)
    9.08e-05
    """
    squares = (paired.differences**2).sum(axis=0)
    far = np.divide(paired.totals**2, 2 * squares, out=np.zeros_like(squares), where=squares > 0)
    found: Floats = np.clip(2 * np.exp(-far), np.finfo(np.float64).tiny, 1.0)
    return found


def sequential(
    slices: Sequence[Bools],
    paired: Sequence[Sequence[Paired]],
    wanted: Sequence[Sequence[Bools]],
    *,
    drawn: int = FLIPS,
    seed: int = SEED,
    stop: int = STOP,
) -> list[list[Drawn]]:
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
        of_all.basis(np.logical_or.reduce([of_slice[m].alone for of_slice in paired]))
        for m, of_all in enumerate(paired[0])
    ]
    starts = np.cumsum([0, *(columns.shape[1] for columns, _, _ in bases)]).tolist()
    every = [
        [
            _Counts(one, some, left + start, np.where(right < 0, -1, right + start))
            for one, some, (_, left, right), start in zip(
                of_slice, asked, bases, starts[:-1], strict=True
            )
        ]
        for of_slice, asked in zip(paired, wanted, strict=True)
    ]
    columns = np.concatenate([columns for columns, _, _ in bases], axis=1)
    groups = list(_groups(slices, columns))
    with stage("flips", drawn, "flips") as done:
        for begin in range(0, drawn, _FLIPS):
            used = sorted({column for one in chain(*every) for column in one.columns()})
            still = {i for i, of_slice in enumerate(every) if any(one.open for one in of_slice)}
            if not still:
                break
            part = begin, min(begin + _FLIPS, drawn)
            sums = _sums(part, [one for one in groups if still & one.slices], used, seed, still)
            row = np.zeros(columns.shape[1], np.int64)
            row[used] = np.arange(len(used))
            for i in still:
                for one in every[i]:
                    one.add(sums[i], row, begin, stop)
            done(part[1] - begin)
    return [[one.close(drawn) for one in of_slice] for of_slice in every]


class _Counts:
    """One measure's pairs on the queries of one slice, and how many flips were as large so far.

    `left` and `right` are the columns that each pair's sums are differences of; -1 for none.
    """

    def __init__(self, paired: Paired, wanted: Bools, left: Ints, right: Ints) -> None:
        self.found = Drawn.none(len(wanted))
        self.open = np.flatnonzero(wanted).tolist()  # pairs of which p is not known yet
        self._left, self._right = left, right
        self._counts = np.zeros(len(wanted), np.int64)
        self._least = np.abs(paired.totals) - paired.slack

    def columns(self) -> set[int]:
        """Return the columns that the open pairs need."""
        found = {*self._left[self.open].tolist(), *self._right[self.open].tolist()}
        return found - {-1}

    def add(self, sums: Floats, row: Ints, begin: int, stop: int) -> None:
        """Count the sums of the open pairs under the flips from number `begin` on.

        `sums` is (n_used, n_flips), and `row` says which of its rows a column is.
        """
        still = []
        for pair in self.open:
            of_pair = sums[row[self._left[pair]]]
            if self._right[pair] >= 0:
                of_pair = of_pair - sums[row[self._right[pair]]]
            large = np.flatnonzero(np.abs(of_pair) >= self._least[pair])
            left = stop - int(self._counts[pair])
            self._counts[pair] += len(large)
            if len(large) < left:
                still.append(pair)
                continue
            flips = begin + int(large[left - 1]) + 1
            self.found.p[pair], self.found.flips[pair] = stop / flips, flips
            self.found.stopped[pair] = True
        self.open = still

    def close(self, drawn: int) -> Drawn:
        """Return the p-values; those of open pairs by all flips (Phipson & Smyth 2010)."""
        self.found.p[self.open] = (self._counts[self.open] + 1) / (drawn + 1)
        self.found.flips[self.open] = drawn
        return self.found


class _Group(NamedTuple):
    """Some queries that are in the same slices, whose signs are drawn together."""

    stream: int
    slices: frozenset[int]
    columns: Floats  # (n_queries, n_columns)


def _groups(slices: Sequence[Bools], columns: Floats) -> Iterator[_Group]:
    """Yield groups of queries; `columns` are those of the first slice: (n_rows, n_columns)."""
    codes, shared = _codes(slices, max(_GROUPS, len(columns) // _FEW))
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
            yield _Group(stream, inside, columns[rows[first : first + _QUERIES]])
            stream += 1


def _codes(slices: Sequence[Bools], most: int) -> tuple[Ints, Set[int]]:
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


def _sums(
    part: Part, groups: Sequence[_Group], used: Sequence[int], seed: int, wanted: Set[int]
) -> dict[int, Floats]:
    """Return the sums of the used columns in each wanted slice: (n_used, n_flips) each."""

    def of_group(group: _Group) -> tuple[_Group, Floats]:
        words = random_words(len(group.columns), *part, seed, group.stream)
        return group, signed_sums(group.columns[:, used], words)

    found = {i: np.zeros((len(used), part[1] - part[0])) for i in wanted}
    for group, sums in in_threads(of_group, groups):
        for i in group.slices & wanted:
            found[i] += sums
    return found
