"""Preferences: pairs of documents of which one was judged better, and whether a run agrees.

Judgments of one group (a user, or an information need) prefer a document to another if they give
it a higher level; in one query, several groups may agree or contradict each other. A group may
come in subgroups, each a partial order; what follows from them together is preferred, too.

A preference is *retrieved* if the run has both documents, *implied* if it has one (which then
is above the other), and fulfilled if the better document is above.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers
from cranfield.arrays.trace import Recordable, step_method
from cranfield.lazy import cached_property

_BLOCK_ROWS = 512  # of a matrix of documents by documents, at a time


# Of which preferences: all, the retrieved and implied ones, or the retrieved ones.
PreferenceSet = Literal["all", "implied", "retrieved"]


@dataclass(eq=False, repr=False)
class PreferenceCounts(Recordable):
    """Counts of fulfilled and of possible preferences, for each group or query: (n, 5).

    The columns of `counts` are the fulfilled preferences, retrieved, and retrieved or implied;
    then the possible preferences, retrieved, retrieved or implied, and all.
    """

    counts: Numbers  # (n, 5)

    @step_method()
    def count_fulfilled(self, over: PreferenceSet = "all") -> Numbers:
        """Count the fulfilled preferences: (n, 1)."""
        return self.counts[:, [{"retrieved": 0, "implied": 1, "all": 1}[over]]]

    @step_method()
    def count_possible(self, over: PreferenceSet = "all") -> Numbers:
        """Count the possible preferences: (n, 1)."""
        return self.counts[:, [{"retrieved": 2, "implied": 3, "all": 4}[over]]]


@dataclass(eq=False, repr=False)
class Preferences(Recordable):
    """A run seen through preferences: what a measure of them receives. It holds no identifier.

    Columns of groups have n_groups rows, query after query; `query` (n_groups,) says whose.
    """

    level = "group"  # for traces: see `Recordable`

    n_queries: int
    query: Ints
    group_counts: PreferenceCounts  # by group
    first_counts: PreferenceCounts  # by group, of the R relevant and the first R other documents
    first_retrieved_counts: PreferenceCounts  # by group: see `select_first_retrieved`
    count_pairs: Callable[[], PreferenceCounts]  # by query; takes documents by documents in memory
    n_relevant: Ints  # by group: documents with a level above 0
    n_relevant_retrieved: Ints
    n_nonrelevant: Ints
    n_nonrelevant_retrieved: Ints
    is_ordered: Ints  # by group: 1 if all its documents are in one order, 0 for subgroups

    @cached_property
    def _pair_counts(self) -> PreferenceCounts:
        return self.count_pairs()

    @step_method("query")
    def pairs(self) -> PreferenceCounts:
        """Count each query's pairs of documents; fulfilled is the share of groups that agree."""
        return self._pair_counts

    @step_method("query")
    def count(self) -> Ints:
        """Count each query's groups: (n_queries, 1)."""
        return np.bincount(self.query, minlength=self.n_queries)[:, None]

    @step_method("query")
    def total(self, column: Numbers) -> Floats:
        """Add up the groups of each query: (n_groups, 1) -> (n_queries, 1)."""
        return np.bincount(self.query, column[:, 0], self.n_queries)[:, None]


@dataclass(eq=False, repr=False)
class Levels:
    """Judgments in groups, sorted by group; groups query after query."""

    query: Ints  # (n_groups,)
    group: Ints  # (rows,)
    subgroup: Ints  # (rows,) numbered within the group
    row: Ints  # (rows,) of the document in the qrels: of one query, in the order of the ids
    level: Floats  # (rows,)
    names: Sequence[str]  # (n_groups,)
    weight: Floats | None = None  # (n_groups,) of subtopics, adding up to 1 in each query

    def select_queries(self, position: Ints) -> "Levels":
        """Return the judgments of the queries whose new position, (n_queries,), is not -1."""
        is_selected = position[self.query] >= 0  # (n_groups,)
        rows = is_selected[self.group]
        new_group = np.cumsum(is_selected) - 1
        return Levels(
            position[self.query[is_selected]],
            new_group[self.group[rows]],
            self.subgroup[rows],
            self.row[rows],
            self.level[rows],
            [self.names[i] for i in np.flatnonzero(is_selected).tolist()],
            None if self.weight is None else self.weight[is_selected],
        )

    def repeat(self, n: int, n_documents: int) -> "Levels":
        """Repeat the judgments of one query, with `n_documents` documents, as n queries."""
        query, n_groups = np.arange(n), len(self.query)
        return Levels(
            np.repeat(query, n_groups),
            np.add.outer(query * n_groups, self.group).ravel(),
            np.tile(self.subgroup, n),
            np.add.outer(query * n_documents, self.row).ravel(),
            np.tile(self.level, n),
            [*self.names] * n,
            None if self.weight is None else np.tile(self.weight, n),
        )


class Contradiction(Exception):  # noqa: N818 - the word for it
    """Subgroups of one group that contradict each other: the group, and a document's row."""


def match_preferences(n_queries: int, levels: Levels, rank: Ints) -> Preferences:
    """Return a run's preferences; `rank` (rows of levels,) is a document's rank, 0: not retrieved.

    Documents of a negative level are not judged. Raises Contradiction if a group's subgroups
    contradict each other.
    """
    orders = [*chain.from_iterable(_split_queries(n_queries, levels, rank))]
    document_counts = np.array([order.count_documents() for order in orders]).reshape(-1, 5)

    def make_counts(rows: Iterable[list[float]]) -> PreferenceCounts:
        return PreferenceCounts(np.array(list(rows)).reshape(-1, 5))

    return Preferences(
        n_queries,
        levels.query,
        make_counts(order.all_counts for order in orders),
        make_counts(order.count_among(order.select_first_nonrelevant()) for order in orders),
        make_counts(order.count_among(order.select_first_retrieved()) for order in orders),
        lambda: make_counts(map(_count_pairs, _split_queries(n_queries, levels, rank))),
        *document_counts.T[:, :, None],
    )


def _split_queries(n_queries: int, judgments: Levels, rank: Ints) -> Iterator[list["_GroupOrder"]]:
    """Yield each query's groups, which share the positions of their documents."""
    is_judged = judgments.level >= 0
    group, subgroup = judgments.group[is_judged], judgments.subgroup[is_judged]
    row, level, rank = judgments.row[is_judged], judgments.level[is_judged], rank[is_judged]
    bounds = np.searchsorted(group, np.arange(len(judgments.query) + 1))
    first_group = np.searchsorted(judgments.query, np.arange(n_queries + 1))
    for query in range(n_queries):
        rows = slice(bounds[first_group[query]], bounds[first_group[query + 1]])
        position, n_retrieved = _assign_positions(row[rows], rank[rows])
        orders = []
        for number in range(first_group[query], first_group[query + 1]):
            group_rows = slice(bounds[number], bounds[number + 1])
            group_position = position[group_rows.start - rows.start : group_rows.stop - rows.start]
            group_level = level[group_rows]
            try:
                order = _GroupOrder(group_position, subgroup[group_rows], group_level, n_retrieved)
                orders.append(order)
            except _CircleError as circle:
                doc = row[group_rows][group_position == circle.args[0]][0]
                raise Contradiction(number, int(doc)) from None
        yield orders


def _assign_positions(row: Ints, rank: Ints) -> tuple[Ints, int]:
    """Give a query's documents positions: retrieved documents by rank, then the others by id.

    Returns the position of each row, and the number of documents retrieved.
    """
    n_ranks = int(rank.max(initial=0)) + 1
    key = np.where(rank > 0, rank, n_ranks + row)
    distinct_keys, position = np.unique(key, return_inverse=True)
    return position, int(distinct_keys.searchsorted(n_ranks))


_DocIndex = slice | Ints  # which of the documents


class _CircleError(Exception):
    """A document that is preferred to itself, or has level 0 and another; by its position."""


class _GroupOrder:
    """The preferences of one group, over its own documents, from position 0, the best rank, on."""

    def __init__(self, position: Ints, subgroup: Ints, level: Floats, n_retrieved: int) -> None:
        self.positions, doc = np.unique(position, return_inverse=True)
        self.n_retrieved = int(np.searchsorted(self.positions, n_retrieved))
        self.n_retrieved_of_query = n_retrieved
        self.level = np.zeros(len(self.positions))
        self.level[doc] = level
        self.is_relevant = self.level > 0
        self._is_preferred: Bools | None = None
        if len(subgroup) and (subgroup != subgroup[0]).any():
            contradicting_rows = np.flatnonzero(self.is_relevant[doc] != (level > 0))
            if len(contradicting_rows):
                raise _CircleError(position[contradicting_rows[0]])
            self._is_preferred = _close_transitively(doc, subgroup, level, len(self.positions))
            circular_docs = np.flatnonzero(self._is_preferred.diagonal())
            if len(circular_docs):
                raise _CircleError(self.positions[circular_docs[0]])

    def prefers(self, rows: _DocIndex = slice(None), columns: _DocIndex = slice(None)) -> Bools:
        """Tell whether each document of `rows` is preferred to each of `columns`."""
        if self._is_preferred is not None:
            is_preferred: Bools = self._is_preferred[rows][:, columns]
            return is_preferred
        is_better: Bools = self.level[rows][:, None] > self.level[columns]
        return is_better

    def count_documents(self) -> tuple[int, int, int, int, int]:
        """Count the documents, as the last fields of Preferences do."""
        n_docs, n_retrieved = len(self.is_relevant), self.n_retrieved
        n_relevant = int(self.is_relevant.sum())
        n_relevant_retrieved = int(self.is_relevant[:n_retrieved].sum())
        is_ordered = int(self._is_preferred is None)
        return (
            n_relevant,
            n_relevant_retrieved,
            n_docs - n_relevant,
            n_retrieved - n_relevant_retrieved,
            is_ordered,
        )

    def select_first_nonrelevant(self) -> Ints:
        """Return the R relevant documents, and the first R others."""
        return self._select_first(int(self.is_relevant.sum()))

    def select_first_retrieved(self) -> Ints:
        """Return the retrieved relevant documents, and the first other retrieved documents."""
        # trec_eval: as many as relevant documents retrieved; for subgroups, as all relevant ones.
        n_candidates = self.n_retrieved if self._is_preferred is None else None
        docs = self._select_first(int(self.is_relevant[:n_candidates].sum()))
        return docs[docs < self.n_retrieved]

    def _select_first(self, n: int) -> Ints:
        """Return the relevant documents, and the first n others."""
        return np.flatnonzero(self.is_relevant | (np.cumsum(~self.is_relevant) <= n))

    @cached_property
    def all_counts(self) -> list[float]:
        """The counts of `count_among` for all documents."""
        return self._count_among(np.arange(len(self.level)))

    def count_among(self, docs: Ints) -> list[float]:
        """Count the preferences among `docs`, in the order of PreferenceCounts' columns."""
        return self.all_counts if len(docs) == len(self.level) else self._count_among(docs)

    def _count_among(self, docs: Ints) -> list[float]:
        n_retrieved = int(np.searchsorted(docs, self.n_retrieved))
        counts = np.zeros(5, np.int64)
        for begin in range(0, len(docs), _BLOCK_ROWS):
            block = self.prefers(docs[begin : begin + _BLOCK_ROWS], docs)
            n_above = min(max(n_retrieved - begin, 0), len(block))
            retrieved_rows, missed_rows = block[:n_above], block[n_above:]
            n_fulfilled = np.count_nonzero(np.triu(retrieved_rows[:, :n_retrieved], begin + 1))
            n_implied = np.count_nonzero(retrieved_rows[:, n_retrieved:])
            n_retrieved_pairs = np.count_nonzero(retrieved_rows[:, :n_retrieved])
            n_one_retrieved = n_implied + np.count_nonzero(missed_rows[:, :n_retrieved])
            n_neither = np.count_nonzero(missed_rows[:, n_retrieved:])
            counts += [
                n_fulfilled,
                n_fulfilled + n_implied,
                n_retrieved_pairs,
                n_retrieved_pairs + n_one_retrieved,
                n_retrieved_pairs + n_one_retrieved + n_neither,
            ]
        return list(map(float, counts))


def _close_transitively(doc: Ints, subgroup: Ints, level: Floats, n: int) -> Bools:
    """Return whether a row's document is preferred to a column's, (n, n), by transitive closure."""
    is_better = np.zeros((n, n), np.bool_)
    for number in range(int(subgroup.max()) + 1):
        in_subgroup = subgroup == number
        docs, levels = doc[in_subgroup], level[in_subgroup]
        is_better[np.ix_(docs, docs)] |= levels[:, None] > levels
    # Warshall, JACM 1962. A subgroup alone is closed: what is new goes by way of documents
    # that are in several. Eight documents to the byte.
    packed_bits = np.packbits(is_better, axis=1)
    for middle in np.flatnonzero(np.bincount(doc, minlength=n) > 1).tolist():
        preferring_docs = np.flatnonzero(packed_bits[:, middle // 8] & (128 >> middle % 8))
        packed_bits[preferring_docs] |= packed_bits[middle]
    return np.unpackbits(packed_bits, axis=1, count=n).astype(np.bool_)


def _count_pairs(orders: Sequence[_GroupOrder]) -> list[float]:
    """Count a query's pairs of documents with a preference; add up the shares that are fulfilled.

    The counts are in the order of PreferenceCounts' columns. Shares are added row by row, the
    retrieved pairs first, as trec_eval does.
    """
    if len(orders) == 1:  # a pair is a preference, and agreed with or not
        return orders[0].all_counts
    n = max((int(order.positions[-1]) + 1 for order in orders if len(order.positions)), default=0)
    n_agreeing = np.zeros((n, n), np.uint16)  # how many groups prefer the row's document
    for order in orders:
        n_agreeing[np.ix_(order.positions, order.positions)] += order.prefers()
    n_retrieved = orders[0].n_retrieved_of_query if orders else 0

    def count_shares(rows: slice, columns: slice) -> tuple[int, Floats]:
        n_fulfilled, n_violated = n_agreeing[rows, columns], n_agreeing.T[rows, columns]
        has_order = n_fulfilled + n_violated > 0
        if rows == columns:
            has_order = np.triu(has_order, 1)
        share = n_fulfilled[has_order] / (n_fulfilled + n_violated)[has_order]
        return int(np.count_nonzero(has_order)), share

    retrieved_slice, unretrieved_slice = slice(0, n_retrieved), slice(n_retrieved, None)
    n_retrieved_pairs, retrieved_shares = count_shares(retrieved_slice, retrieved_slice)
    n_implied, implied_shares = count_shares(retrieved_slice, unretrieved_slice)
    n_unretrieved_pairs, _ = count_shares(unretrieved_slice, unretrieved_slice)
    sums = np.cumsum(np.concatenate(([0.0], retrieved_shares, implied_shares)))
    n_any_retrieved = n_retrieved_pairs + n_implied
    return [
        float(count)
        for count in (
            sums[n_retrieved_pairs],
            sums[-1],
            n_retrieved_pairs,
            n_any_retrieved,
            n_any_retrieved + n_unretrieved_pairs,
        )
    ]
