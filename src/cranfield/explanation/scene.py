"""Scene: one query, the run's ranking and the judgments, with the names of the documents."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Numbers
from cranfield.data.judge import by_grade, judge
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.meeting import Meeting, order_notes
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Ranking
from cranfield.data.run import Run
from cranfield.data.unretrieved import rows_below, with_more
from cranfield.errors import InputError, nearest
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.render.numbers import queries_of


class Seen(NamedTuple):
    """One query's ranking as a measure sees it, and before documents were dropped: see `Scene`."""

    kept: Ranking
    ranking: Ranking
    whole: Ranking
    grades: Mapping[str, float]
    below: frozenset[str]

    @classmethod
    def of(cls, alone: Qrels, whole: Ranking, judging: Judging) -> "Seen":
        """Judge a whole ranking; `alone` are the judgments of its query alone."""
        docs, depth = alone.doc_lists[0], judging.depth
        below: list[str] = []
        grades = dict(zip(docs, alone.grade[alone.starts[0] :].tolist(), strict=True))
        if judging.unretrieved == "below":
            whole, depth = whole.take(slice(depth)), None
            retrieved = np.array([*map({*whole.docs}.__contains__, docs)], np.bool_)
            below = [docs[row] for row in rows_below(alone, retrieved, judging).tolist()]
            whole = with_more(whole, below)
        if not judging.in_one_order and judging.ties != "expected":
            keys = by_grade(judging.ties, whole.tie_first, graded(grades, whole.docs))
            whole = whole.take(keys.argsort(kind="stable"))
        kept = ranking = whole if depth is None else whole.take(slice(depth))
        if judging.judged_only:
            kept = ranking.take(np.flatnonzero([grades.get(doc, -1) >= 0 for doc in ranking.docs]))
        return cls(kept, ranking, whole, grades, frozenset(below))


@dataclass(frozen=True, eq=False)
class Scene:
    """One query of a run, as a measure sees it, and the documents' names, which it does not see.

    `docs` are those retrieved, best rank first, as they were ranked; where unjudged documents were
    dropped, without these. `ideal` are the judged ones, the highest grade first; equal grades by
    document id, descending. `grades` are the judgments ({document: grade}; of judgments in groups,
    the best of any).
    """

    query: str
    run: str
    qrels: Qrels  # of this query alone
    judging: Judging
    meeting: Meeting
    kept: Ranking  # as a measure sees it
    ranking: Ranking  # as retrieved, before anything was dropped; cut at `depth`
    whole: Ranking  # not cut, but where the documents `below` come after that
    grades: Mapping[str, float]
    below: frozenset[str] = frozenset()  # of `whole`: those that were not retrieved

    @property
    def docs(self) -> Sequence[str]:
        """The documents of `kept`."""
        return self.kept.docs

    @property
    def judged(self) -> Judged:
        """What a measure receives: the query is the only one."""
        return self.meeting.judged

    def value(self, measure: Measure) -> float:
        """Return the query's value, a number."""
        return float(measure.values(self.judged)[0, 0])

    @cached_property
    def ideal(self) -> Sequence[str]:
        """The judged documents, in the order of `judged.ideal`."""
        # Of a sample, a document's stratum is beside its grade: there the order is the file's.
        docs = list(self.grades) if self.qrels.sampling else sorted(self.grades, reverse=True)
        return sorted(docs, key=lambda doc: -self.grades[doc])

    @property
    def group_names(self) -> Sequence[str]:
        """The judgment groups, in their order."""
        return self.qrels.levels.names

    @cached_property
    def ideal_of_groups(self) -> Sequence[str]:
        """The judged documents group by group, the highest grade first: as Judged.groups has it."""
        levels, docs = self.qrels.levels, self.qrels.doc_lists[0]
        if not self.qrels.in_groups:
            return self.ideal
        best = np.lexsort((-levels.level, levels.group))
        return [docs[row] for row in levels.row[best].tolist()]

    @classmethod
    def of(
        cls, qrels: Qrels, run: Run, query: str, judging: Judging, *, costs: bool = False
    ) -> "Scene":
        """Judge one query of a run: see `each`."""
        (found,) = cls.each(qrels, run, [query], judging, costs=costs)
        return found

    @classmethod
    def each(
        cls,
        qrels: Qrels,
        run: Run,
        queries: Collection[str],
        judging: Judging,
        *,
        costs: bool = False,
    ) -> "Iterator[Scene]":
        """Judge some queries of a run, which is read once, each as if it were alone.

        `costs`: whether the measure takes those of the run. Raises InputError if the judgments do
        not have a query, or if the two sides have different numbers of lists of ids.
        """
        for query in queries:
            if query not in qrels.query_ids:
                raise InputError(
                    f"the qrels have no query {query!r:.80}",
                    source=qrels.source,
                    hint=queries_like(query, qrels),
                )
        if "ids" in (qrels.lists_of, run.lists_of):
            judge(qrels, run, judging)  # which refuses lists that are not as many on both sides
        run = run.against(qrels.spans, judging.overlap)
        runs = run.held(queries, judging.order, costs=costs).apart()
        notes_of_run = cache(lambda: tuple(order_notes(qrels, run)))
        for query in queries:
            alone, its = qrels.of([query]), runs[query]
            # Others may have judged documents: that this one lacks them is accepted.
            meeting = judge(alone, its, judging, costs=costs, whole=False)
            meeting.order_notes = notes_of_run
            seen = Seen.of(alone, its.ranking(judging, costs=costs), judging)
            yield cls(query, run.name, alone, judging, meeting, *seen)

    def least_relevant(self, measure: Measure) -> float:
        """Return the lowest grade that the measure counts as relevant; by default, any above 0."""
        known = self.judged.are_whole or measure.fractions == "level"
        least: float = measure.parameters.get("rel", 1) if known else self.judged.above_zero
        return least


def queries_like(query: str, qrels: Qrels) -> str:
    """Return what to say of a query that the judgments do not have: which ones they have."""
    ids = qrels.query_ids
    near = _alike(query, ids) or _with_words(query, ids) or nearest(query, ids)
    guess = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    n = len(qrels.query_ids)
    return f"{guess}They have {queries_of(n)}, the first is {qrels.query_ids[0]!r}."


def _with_words(query: str, others: Sequence[str]) -> list[str]:
    """Return the first questions in which each word of a query occurs, or a part of a word does."""
    words = query.casefold().split()
    if not words or len(query) < _SHORTEST:  # of "1", too many ids are a part
        return []
    return [other for other in others if all(word in other.casefold() for word in words)][:3]


_SHORTEST = 3  # characters of a part of a question


def graded(grades: Mapping[str, float], docs: Sequence[str]) -> Numbers:
    """Return the documents' grades; unjudged ones have one below all: (n_documents,)."""
    lowest = min([*grades.values(), 0]) - 1
    of_docs = [grades.get(doc, lowest) for doc in docs]
    return np.array(of_docs, np.float64 if float in set(map(type, of_docs)) else np.int64)


def _alike(query: str, others: Sequence[str]) -> list[str]:
    """Return the first ids that differ only in blanks, capitals or leading zeros."""

    def bare(text: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", text.strip().casefold())

    return [other for other in others if bare(other) == bare(query)][:3]
