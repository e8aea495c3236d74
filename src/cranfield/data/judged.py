"""Judged: a run seen through the judgments, query by query, group by group, pair by pair.

`judge` makes a `Judged`, and a measure receives it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.arrays.grades import SMALLEST_POSITIVE, are_whole_grades
from cranfield.arrays.ids import decode
from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked, ratio
from cranfield.arrays.rows import consecutive_numbers, mark_changes
from cranfield.arrays.trace import Recordable, step_method
from cranfield.data.judging import Ties
from cranfield.data.preferences import Contradiction, Levels, Preferences, match_preferences
from cranfield.data.qrels import Qrels
from cranfield.errors import ContradictionError, MeasureError
from cranfield.formats.values import unify_grades
from cranfield.lazy import cached_property

NO_CUTOFF = 2**62  # the cutoff of a measure without one, beside others that have one
MAX_ROWS = 1 << 18  # documents, or ranks, that measures look at together, on average
MAX_DEPTH = 1_000_000  # ranks that have a row each, at most


def _refuse_levels() -> "RankedLevels":
    raise TypeError("groups and preferences are known of what `judge` returns")


@dataclass(eq=False, repr=False)
class Judged(Recordable):
    """A run seen through the judgments: what a measure receives. It holds no identifier.

    `hits` are the retrieved documents that carry a judgment, at the rank where the run has them.
    `ideal` are all judged documents of the query, highest grade first: the perfect ranking.
    `n_retrieved` (n_queries, 1) counts what the run retrieved. (`Judging` may have dropped some, as
    by `judged_only`, and renumbered the others, or added some.) `top_grade` is the highest grade of
    the whole collection, not only of these queries.

    >>> hits = Ranked(1, np.array([0]), np.array([3]), np.array([1]))
    >>> ideal = Ranked(1, np.array([0, 0]), np.array([1, 2]), np.array([1, 0]))
    >>> judged = Judged(hits, ideal, n_retrieved=np.array([[4]]), top_grade=1)
    >>> ratio(judged.hits.relevant(1).count(), judged.n_relevant(1))
    array([[1.]])
    """

    hits: Ranked
    ideal: Ranked
    n_retrieved: Ints
    top_grade: float
    has_groups: bool = False  # then a grade in hits and ideal is the document's best in any group
    # The levels of groups and preferences; `judge` states the function.
    _rank_levels: Callable[[], "RankedLevels"] = _refuse_levels
    cost: Floats | None = None  # of every retrieved document, query after query, best rank first
    ties: Ties = "document"  # how ties were ranked; "expected": hits have tie_first, tie_size
    is_cut: bool = False  # whether the documents of each query were cut at a depth

    @cached_property
    def has_whole_grades(self) -> bool:
        """Whether the grades are whole numbers, by the type of their columns."""
        return are_whole_grades(self.hits.grade)

    @property
    def above_zero(self) -> float:
        """The lowest possible grade above 0: 1 where grades are whole numbers."""
        return 1 if self.has_whole_grades else SMALLEST_POSITIVE

    def n_relevant(self, rel: float = 1) -> Ints:
        """Count each query's documents with grade >= rel in the judgments: (n_queries, 1)."""
        return self.ideal.relevant(rel).count()

    def queries_at_once(self, depth: int) -> int:
        """Return how many queries measures look at together, at most all: see `split_queries`.

        `depth`: the number of ranks of each query that some measure looks at, retrieved or not.
        """
        n_queries = len(self.n_retrieved)
        if n_queries <= 1:
            return n_queries
        n_rows = max(len(self.ideal.query), int(self.n_retrieved.sum()), n_queries * depth)
        return min(n_queries, max(1, n_queries * MAX_ROWS // max(1, n_rows)))

    def split_queries(self, step: int) -> "Iterator[tuple[slice, Judged]]":
        """Yield (slice, judged) for `step` queries at a time; not for judgments in groups.

        The columns that a measure computes then have the rows of some queries, not of all.
        """
        n_queries = len(self.n_retrieved)
        ends = np.append(0, np.cumsum(self.n_retrieved))
        for begin in range(0, n_queries, step):
            query_slice = slice(begin, begin + step)
            hits, ideal = (
                ranked.queries(begin, begin + step) for ranked in (self.hits, self.ideal)
            )
            n_retrieved, cost = self.n_retrieved[query_slice], self.cost
            if cost is not None:
                cost = cost[ends[begin] : ends[begin] + int(n_retrieved.sum())]
            yield (
                query_slice,
                replace(self, hits=hits, ideal=ideal, n_retrieved=n_retrieved, cost=cost),
            )

    @step_method()
    def every(self, k: Ints | None = None, *, padded: bool = False) -> Ranked:
        """Return every retrieved document of rank <= k, judged or not: see `Ranked.judged`.

        `padded`: each query has k rows, and what is beyond the last document is not judged.
        """
        n_rows = self.n_retrieved[:, 0]
        if k is not None:
            max_k = k.max(axis=1)
            n_rows = np.broadcast_to(max_k, n_rows.shape) if padded else np.minimum(n_rows, max_k)
        hits = self.hits.where(self.hits.rank <= n_rows[self.hits.query])
        query, rank = _number_rows(n_rows)
        first_row = np.cumsum(n_rows) - n_rows
        grade = np.zeros(len(query), self.hits.grade.dtype)
        has_judgment = np.zeros(len(query), np.bool_)
        rows = first_row[hits.query] + hits.rank - 1
        grade[rows], has_judgment[rows] = hits.grade, True
        columns: dict[str, Numbers] = {"known": has_judgment}
        if self.cost is not None:  # 1 beyond the last document
            ends = np.cumsum(self.n_retrieved)
            row = (ends - self.n_retrieved[:, 0])[query] + rank - 1
            columns["cost"] = np.append(self.cost, 1.0)[np.where(row < ends[query], row, -1)]
        return Ranked(len(n_rows), query, rank, grade, columns=columns).top(k)

    @step_method()
    def tie_places(self, worth: Numbers, k: Ints | None = None) -> "TiePlaces":
        """Return the ranks <= k that a document of worth may have: see `TiePlaces`.

        `worth` is (rows of hits,), such as gains. For ties="expected" alone.
        """
        hits = self.hits
        tie_first, tie_size = hits.columns["tie_first"], hits.columns["tie_size"]
        begins_tie = mark_changes(hits.query, tie_first)
        tie_worth = np.bincount(np.cumsum(begins_tie) - 1, worth)  # (ties,)
        ties = hits.where(begins_tie)
        worth_above = ties.running(tie_worth) - tie_worth
        last_rank = self.n_retrieved[:, 0]
        if k is not None:
            last_rank = np.minimum(last_rank, k.max(axis=1)).astype(np.int64)
        first_rank, n_ranks = tie_first[begins_tie], tie_size[begins_tie]
        n_places = np.clip(
            last_rank[ties.query] - first_rank + 1, 0, np.where(tie_worth == 0, 0, n_ranks)
        )
        tie, nth = _number_rows(n_places)
        ranked = Ranked(ties.n_queries, ties.query[tie], first_rank[tie] + nth - 1, nth)
        return TiePlaces(ranked.top(k), nth, n_ranks[tie], tie_worth[tie], worth_above[tie])

    @step_method()
    def fill_ranks(self, k: Ints) -> Ranked:
        """Return a ranking with the top grade down to the largest k; MeasureError if it is huge."""
        max_k = k.max(axis=1)
        if int(max_k.max(initial=0)) > MAX_DEPTH:
            raise MeasureError(f"a cutoff beyond {MAX_DEPTH:,}: every rank above it is looked at")
        n_rows = np.broadcast_to(max_k, len(self.n_retrieved))
        query, rank = _number_rows(n_rows)
        grade = np.full(len(query), self.top_grade)
        return Ranked(len(n_rows), query, rank, grade)

    @step_method()
    def effective_cutoffs(self, k: Ints | None) -> Ints:
        """Return the cutoffs; the number of retrieved documents in place of a missing cutoff."""
        if k is None:
            return self.n_retrieved
        return k if k.max() < NO_CUTOFF else np.where(k >= NO_CUTOFF, self.n_retrieved, k)

    @cached_property
    def groups(self) -> "Groups":
        """The judgment groups, each a query of its own; plain judgments are one group."""
        if not self.has_groups:
            return Groups(self, np.arange(len(self.n_retrieved)))
        return self._rank_levels().judge_groups(self)

    @cached_property
    def subtopics(self) -> "Groups":
        """The groups as subtopics: those of a query share one ranking.

        They differ from `groups` where only judged documents count: a document that is judged for
        one of the subtopics keeps its rank in all of them.
        """
        if not self.has_groups:
            return self.groups
        return self._rank_levels().judge_subtopics(self)

    @cached_property
    def preferences(self) -> Preferences:
        """The run seen through preferences between documents."""
        return self._rank_levels().count_preferences()


@dataclass(eq=False, repr=False)
class TiePlaces(Recordable):
    """The places of ties with documents of worth, best rank first: a row is a rank of a tie.

    Each order of tied documents is as likely as any other, so that each document has each rank of
    its tie equally often. The rows of `ranked` are the places; its grades mean nothing. The columns
    are (rows,): the place is the `nth` of `size` ranks of its tie; `worth` is the worth of all
    documents of the tie, `worth_above` that of all documents with higher scores.
    """

    level = "row"  # for traces: see `Recordable`

    ranked: Ranked
    nth: Ints
    size: Ints
    worth: Numbers
    worth_above: Numbers

    def expected_worth(self) -> Floats:
        """Return the mean worth, over all orders, down to each cutoff: (n_queries, n_cutoffs)."""
        average_so_far = self.worth_above + self.worth * self.nth / self.size
        return self.ranked.maximum(average_so_far)

    def miss_chances(self) -> tuple[Floats, Floats]:
        """Return the probabilities of no document of worth at a place, and of one: (rows,) each.

        Given that no such document of the tie is above: then this place and the places below it
        are left for the `worth` documents, worth 1 each.
        """
        places_left = self.size - self.nth + 1
        missed_here = np.maximum(places_left - self.worth, 0) / places_left
        met_here = np.minimum(self.worth / places_left, 1)
        return missed_here, met_here


def _number_rows(counts: Ints) -> tuple[Ints, Ints]:
    """Return the group of each row, and its number in it, 1, 2, ..., of groups of `counts` rows."""
    return np.repeat(np.arange(len(counts)), counts), consecutive_numbers(1, counts)


@dataclass(eq=False, repr=False)
class Groups(Recordable):
    """A run seen through each judgment group alone.

    In `judged` a group is what a query is elsewhere; `query` (n_groups,) is the query of each.
    `weight` (n_groups,) is the weight of a group in its query, None if that is not known.
    """

    level = "group"  # for traces: see `Recordable`

    judged: Judged
    query: Ints
    weight: Floats | None = None
    # Ranks documents by a function of `subtopics`; None: one group for a query, ranked by grades.
    _best_ranking: Callable[..., Ranked] | None = None

    @step_method()
    def novel_first(self, alpha: float, rel: float) -> Ranked:
        """Return the ranking of each group, greedily by gain: see `subtopics.novel_first`."""
        from cranfield.data import subtopics

        return self._best_relevant(rel, subtopics.novel_first, alpha, rel)

    @step_method()
    def most_first(self) -> Ranked:
        """Return the ranking, for each group, by a document's gain in all groups of the query."""
        from cranfield.data import subtopics

        return self._best_relevant(self.judged.above_zero, subtopics.most_first)

    def _best_relevant(self, rel: float, *order: Any) -> Ranked:
        """Return the documents of grade >= rel by `order`, a function and its parameters."""
        ideal, best = self.judged.ideal, self._best_ranking
        ranking = ideal if best is None else ideal.once(order, lambda: best(*order))
        return ranking.relevant(rel)

    @step_method()
    def spread(self, k: Any) -> Any:
        """Give each group the cutoffs of its query: (1 or n_queries, n_cutoffs), or None."""
        return k if k is None or len(k) == 1 else k[self.query]

    @step_method("query")
    def total(self, values: Numbers) -> Floats:
        """Add up each query's groups: (n_groups, n_cutoffs) -> (n_queries, n_cutoffs)."""
        return np.column_stack([np.bincount(self.query, column) for column in values.T])

    @step_method("query")
    def count(self) -> Ints:
        """Count each query's groups: (n_queries, 1)."""
        return np.bincount(self.query)[:, None]

    def weighted_mean(self, values: Floats, rel: float = 1) -> Floats:
        """Average over each query's groups by weight: (n_groups, n) -> (n_queries, n).

        Without weights, every group with a document of grade >= rel counts the same, and no other.
        """
        weight = self.judged.n_relevant(rel) > 0 if self.weight is None else self.weight[:, None]
        return ratio(self.total(weight * values), self.total(weight))

    def mean(self, values: Floats) -> Floats:
        """Average over each query's groups: (n_groups, n_cutoffs) -> (n_queries, n_cutoffs)."""
        return ratio(self.total(values), self.count())


@dataclass(eq=False, repr=False)
class RankedLevels:
    """The levels of judgment groups with the ranks of a run: makes groups and preferences.

    `levels` may repeat the judgments of the qrels, for variants of one query.
    """

    n_queries: int
    levels: Levels  # of these queries
    rank: Ints  # (rows of levels,) 0: not retrieved
    judged_only: bool
    qrels: Qrels

    @property
    def _document_row(self) -> Ints:
        """The row in the qrels of the document of each row of `levels`."""
        return self.levels.row % max(len(self.qrels), 1)

    def judge_groups(self, judged: Judged) -> Groups:
        """Return each group as a query of its own; MeasureError if it has subgroups."""
        levels = self.levels
        if levels.subgroup.any():
            raise MeasureError(
                "a measure of judgment groups takes one grade for each document of a group, and "
                "these groups have subgroups; measures of preferences (Prefs) take them"
            )
        grade = unify_grades(levels.level)
        assert grade is not None  # noqa: S101 - they were checked as they were read
        n_groups = len(levels.query)

        def sort_by_rank(rank: Ints) -> Ranked:
            rows = np.flatnonzero(rank)
            rows = rows[np.lexsort((rank[rows], levels.group[rows]))]
            return Ranked(n_groups, levels.group[rows], rank[rows], grade[rows])

        hits = sort_by_rank(self.rank)
        ideal_order = np.lexsort((-grade, levels.group))
        all_rows = Ranked(
            n_groups,
            levels.group[ideal_order],
            np.zeros(len(ideal_order), np.int64),
            grade[ideal_order],
        )
        n_retrieved = judged.n_retrieved[levels.query]
        if self.judged_only:
            hits = hits.relevant(0)
            hits = replace(hits, rank=hits.ordinal)
            n_retrieved = hits.count()
        ideal = replace(all_rows, rank=all_rows.ordinal)
        judged_groups = Judged(hits, ideal, n_retrieved, judged.top_grade)

        def rank_by(order: Callable[..., Ints], *parameters: float) -> Ranked:
            ranks = self.qrels.ideal.once(
                (order, *parameters),
                lambda: order(self.qrels.levels, self.qrels.query, *parameters),
            )
            return sort_by_rank(ranks[self._document_row])

        return Groups(judged_groups, levels.query, levels.weight, rank_by)

    def judge_subtopics(self, judged: Judged) -> Groups:
        """Return each group as a query of its own, with the ranks of the query's ranking.

        With `judged_only`, that ranks the documents that are judged in any group.
        """
        if not self.judged_only:
            return judged.groups
        levels = self.levels
        query, rank = np.zeros((2, int(levels.row.max(initial=-1)) + 1), np.int64)
        query[levels.row] = levels.query[levels.group]
        is_judged = self.qrels.grade[self._document_row] >= 0
        rank[levels.row] = np.where(is_judged, self.rank, 0)
        ranked_rows = np.flatnonzero(rank)
        ranked_rows = ranked_rows[np.lexsort((rank[ranked_rows], query[ranked_rows]))]
        hits = Ranked(
            self.n_queries, query[ranked_rows], rank[ranked_rows], np.zeros_like(ranked_rows)
        )
        rank[ranked_rows] = hits.ordinal
        return replace(self, rank=rank[levels.row], judged_only=False).judge_groups(judged)

    def count_preferences(self) -> Preferences:
        """Count the preferences; ContradictionError names the group that contradicts itself."""
        try:
            return match_preferences(self.n_queries, self.levels, self.rank)
        except Contradiction as contradiction:
            group, row = contradiction.args
            row %= len(self.qrels)
            query = self.qrels.query_ids[self.qrels.query[row]]
            doc = decode(self.qrels.docs[row])
            raise ContradictionError(
                f"the qrels: query {query!r}, group {self.levels.names[group]!r}: its subgroups "
                f"contradict each other about the document {doc!r}: it is preferred to itself in "
                "a circle, or has level 0 and another one",
                source=self.qrels.source,
                hint="The judgments of one group must not contradict each other: make another "
                "group of those that do.",
            ) from None
