"""Preferences: pairs of documents of which one was judged better, and whether a run agrees.

Judgments of one group (a user, or an information need) prefer a document to another if they give
it a higher level; in one query, several groups may agree or contradict each other. A group may
come in subgroups, each a partial order; what follows from them together is preferred, too.

A preference is *retrieved* if the run has both documents, *implied* if it has one (which then
stands above the other), and fulfilled if the better document stands above.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cranfield.errors import InputError
from cranfield.ranked import Bools, Floats, Ints, Numbers

_ROWS = 512  # of a matrix of documents by documents, looked at in one go


Over = Literal["all", "implied", "retrieved"]


@dataclass(frozen=True, eq=False)
class Counted:
    """Preferences fulfilled and possible, by group or by query (n, ...).

    The columns of `fulfilled` are the retrieved ones, and these with the implied; those of
    `possible` are the same, and these with preferences between documents both not retrieved.
    """

    fulfilled: Numbers  # (n, 2)
    possible: Numbers  # (n, 3)

    def of(self, over: Over) -> tuple[Numbers, Numbers]:
        """Return how many are fulfilled and how many possible, as columns (n, 1)."""
        fulfilled, possible = {"retrieved": (0, 0), "implied": (1, 1), "all": (1, 2)}[over]
        return self.fulfilled[:, [fulfilled]], self.possible[:, [possible]]


@dataclass(frozen=True, eq=False)
class Preferences:
    """A run seen through preferences: what a measure of them receives. It holds no identifier.

    Columns of groups have n_groups rows, query after query; `query` (n_groups,) says whose.
    """

    n_queries: int
    query: Ints
    counted: Counted  # by group
    fewer: Counted  # by group, with only the first R nonrelevant documents, R = the relevant ones
    fewer_retrieved: Counted  # the same of retrieved documents only
    # By query, of pairs of documents: the sum of the shares of groups that the run agrees with.
    pairs: Counted
    n_relevant: Ints  # by group: documents with a level above 0
    n_relevant_retrieved: Ints
    n_nonrelevant: Ints
    n_nonrelevant_retrieved: Ints
    is_ordered: Ints  # by group: 1 if all its documents stand in one order, 0 for subgroups

    @property
    def n_groups(self) -> Ints:
        """The number of groups of each query: (n_queries, 1)."""
        return np.bincount(self.query, minlength=self.n_queries)[:, None]

    def total(self, column: Numbers) -> Floats:
        """Add up the groups of each query: (n_groups, 1) -> (n_queries, 1)."""
        return np.bincount(self.query, column[:, 0], self.n_queries)[:, None]


@dataclass(frozen=True, eq=False)
class Levels:
    """Judgments in groups, sorted by group; groups query after query."""

    query: Ints  # (n_groups,)
    group: Ints  # (rows,)
    subgroup: Ints  # (rows,) numbered within the group
    row: Ints  # (rows,) which document: of one query, in the order of the ids
    level: Floats  # (rows,)

    def of_queries(self, keep: Bools) -> "Levels":
        """Return the judgments of the queries where `keep` (n_queries,) is true."""
        groups = keep[self.query]
        rows = groups[self.group]
        number, group = np.cumsum(keep) - 1, np.cumsum(groups) - 1
        return Levels(
            number[self.query[groups]],
            group[self.group[rows]],
            self.subgroup[rows],
            self.row[rows],
            self.level[rows],
        )


def preferences(n_queries: int, judgments: Levels, rank: Ints) -> Preferences:
    """Look at a run through judgments; `rank` (rows,) is the documents' rank, 0: not retrieved.

    Documents of a negative level are not judged. Raises InputError for preferences in circles.
    """
    kept = judgments.level >= 0
    group, subgroup = judgments.group[kept], judgments.subgroup[kept]
    row, level, rank = judgments.row[kept], judgments.level[kept], rank[kept]
    bounds = np.searchsorted(group, np.arange(len(judgments.query) + 1))
    first = np.searchsorted(judgments.query, np.arange(n_queries + 1))
    by_group, by_query = [], []
    for query in range(n_queries):
        begin, end = first[query], first[query + 1]
        rows = slice(bounds[begin], bounds[end])
        position, n_docs, n_retrieved = _positions(row[rows], rank[rows])
        agree = np.zeros((n_docs, n_docs) if end - begin > 1 else (0, 0), np.int32)
        sheets = []
        for number in range(begin, end):
            own = slice(bounds[number] - rows.start, bounds[number + 1] - rows.start)
            order = _Order(position[own], subgroup[rows][own], level[rows][own], n_retrieved)
            sheets.append(order.sheet())
            if len(agree):
                agree[np.ix_(order.positions, order.positions)] += order.prefers()
        by_group += sheets
        # In a single group a pair is a preference, and agreed with or not.
        by_query.append(sheets[0]["all"] if len(sheets) == 1 else _pairs(agree, n_retrieved))

    def counted(rows: Iterable[list[float]]) -> Counted:
        columns = np.array(list(rows)).reshape(-1, 5)
        return Counted(columns[:, :2], columns[:, 2:])

    return Preferences(
        n_queries,
        judgments.query,
        counted(sheet["all"] for sheet in by_group),
        counted(sheet["fewer"] for sheet in by_group),
        counted(sheet["fewer found"] for sheet in by_group),
        counted(by_query),
        *(np.array([[sheet["numbers"][i]] for sheet in by_group]) for i in range(5)),
    )


def _positions(row: Ints, rank: Ints) -> tuple[Ints, int, int]:
    """Give a query's documents positions: those retrieved by rank, then the others by id.

    Returns the position of each row, the number of documents, and of those retrieved.
    """
    deepest = int(rank.max(initial=0)) + 1
    key = np.where(rank > 0, rank, deepest + row)
    order = np.argsort(key)
    new = np.append(True, key[order][1:] != key[order][:-1])[: len(key)]
    position = np.empty(len(key), np.int64)
    position[order] = np.cumsum(new) - 1
    return position, int(np.count_nonzero(new)), int(np.count_nonzero(new & (rank[order] > 0)))


_Some = slice | Ints  # which of the documents


class _Order:
    """What one group prefers, over its own documents from the highest position down."""

    def __init__(self, position: Ints, subgroup: Ints, level: Floats, n_retrieved: int) -> None:
        by_position = np.argsort(position, kind="stable")
        places = position[by_position]
        new = np.append(True, places[1:] != places[:-1])[: len(places)]
        self.positions = places[new]
        doc = np.empty(len(position), np.int64)
        doc[by_position] = np.cumsum(new) - 1
        self.n_retrieved = int(np.searchsorted(self.positions, n_retrieved))
        self.level = np.zeros(len(self.positions))
        self.level[doc] = level
        self._partial: Bools | None = None
        if len(subgroup) and (subgroup != subgroup[0]).any():
            if ((self.level[doc] > 0) != (level > 0)).any():
                raise InputError(
                    "the preferences: a document has both level 0 and another one in subgroups of "
                    "one group; a group is of one mind"
                )
            self._partial = _closed(doc, subgroup, level, len(self.positions))

    def prefers(
        self, rows: slice | Ints = slice(None), columns: slice | Ints = slice(None)
    ) -> Bools:
        """Tell whether each document of `rows` is preferred to each of `columns`."""
        if self._partial is not None:
            partial: Bools = self._partial[rows][:, columns]
            return partial
        better: Bools = self.level[rows][:, None] > self.level[columns]
        return better

    def sheet(self) -> dict[str, list[float]]:
        """Return the group's counts and numbers of documents, as Preferences has them."""
        relevant = self.level > 0
        n, found = len(relevant), self.n_retrieved
        n_relevant, n_found = int(relevant.sum()), int(relevant[:found].sum())
        nonrelevant_so_far = np.cumsum(~relevant)
        first = np.flatnonzero(relevant | (nonrelevant_so_far <= n_relevant))
        # trec_eval: of the relevant documents retrieved, but for subgroups, of all of them.
        limit = n_found if self._partial is None else n_relevant
        first_found = np.flatnonzero((relevant | (nonrelevant_so_far <= limit))[:found])
        numbers = [n_relevant, n_found, n - n_relevant, found - n_found, self._partial is None]
        return {
            "all": self._counted(np.arange(n)),
            "fewer": self._counted(first),
            "fewer found": self._counted(first_found),
            "numbers": list(map(int, numbers)),
        }

    def _counted(self, docs: Ints) -> list[float]:
        """Count the preferences among some of the documents, in the order of Counted's columns."""
        n_retrieved = int(np.searchsorted(docs, self.n_retrieved))
        counts = np.zeros(5, np.int64)
        for begin in range(0, len(docs), _ROWS):
            block = self.prefers(docs[begin : begin + _ROWS], docs)
            n_above = min(max(n_retrieved - begin, 0), len(block))
            found, missed = block[:n_above], block[n_above:]
            fulfilled = np.count_nonzero(np.triu(found[:, :n_retrieved], begin + 1))
            implied = np.count_nonzero(found[:, n_retrieved:])
            retrieved = np.count_nonzero(found[:, :n_retrieved])
            one_retrieved = implied + np.count_nonzero(missed[:, :n_retrieved])
            neither = np.count_nonzero(missed[:, n_retrieved:])
            counts += [
                fulfilled,
                fulfilled + implied,
                retrieved,
                retrieved + one_retrieved,
                retrieved + one_retrieved + neither,
            ]
        return list(map(float, counts))


def _closed(doc: Ints, subgroup: Ints, level: Floats, n: int) -> Bools:
    """Return which document is preferred to which, (n, n), with all that follows."""
    better = np.zeros((n, n), np.bool_)
    for number in range(int(subgroup.max()) + 1):
        own = subgroup == number
        docs, levels = doc[own], level[own]
        better[np.ix_(docs, docs)] |= levels[:, None] > levels
    for middle in range(n):  # Warshall, JACM 1962
        better |= better[:, middle, None] & better[middle]
    if better.diagonal().any():
        raise InputError(
            "the preferences: the subgroups of one group prefer documents in a circle; a group is "
            "of one mind"
        )
    return better


def _pairs(agree: Ints, n_retrieved: int) -> list[float]:
    """Count pairs of documents that have any preference, and add up the shares fulfilled.

    `agree` counts the groups that prefer the row's document to the column's. Shares are added
    row by row, the retrieved pairs first, as trec_eval does.
    """

    def shares(rows: slice, columns: slice) -> tuple[int, Floats]:
        fulfilled, violated = agree[rows, columns], agree.T[rows, columns]
        any_order = fulfilled + violated > 0
        if rows == columns:
            any_order = np.triu(any_order, 1)
        share = fulfilled[any_order] / (fulfilled + violated)[any_order]
        return int(np.count_nonzero(any_order)), share

    found, missed = slice(0, n_retrieved), slice(n_retrieved, None)
    n_found, share_found = shares(found, found)
    n_implied, share_implied = shares(found, missed)
    n_missed, _ = shares(missed, missed)
    sums = np.cumsum(np.concatenate(([0.0], share_found, share_implied)))
    n_any = n_found + n_implied
    return [float(x) for x in (sums[n_found], sums[-1], n_found, n_any, n_any + n_missed)]
