"""Scene: one query, the run's ranking and the judgments, with the names of the documents."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Numbers
from cranfield.data.judge import grade_sort_keys, judge
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Ranking
from cranfield.data.run import Run
from cranfield.data.run_notes import find_order_notes
from cranfield.data.unretrieved import append_docs, unretrieved_rows
from cranfield.errors import InputError, nearest_words
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.render.numbers import format_query_count


class SceneRankings(NamedTuple):
    """A query's ranking as a measure sees it, and before documents were dropped: see `Scene`."""

    measured_ranking: Ranking
    ranking: Ranking
    full_ranking: Ranking
    grades: Mapping[str, float]
    unretrieved_docs: frozenset[str]

    @classmethod
    def of(cls, query_qrels: Qrels, full_ranking: Ranking, judging: Judging) -> "SceneRankings":
        """Judge a ranking that is not cut; `query_qrels` are the judgments of its query alone."""
        docs, depth = query_qrels.doc_lists[0], judging.depth
        unretrieved_docs: list[str] = []
        grades = dict(zip(docs, query_qrels.grade[query_qrels.starts[0] :].tolist(), strict=True))
        if judging.unretrieved == "below":
            full_ranking, depth = full_ranking.take(slice(depth)), None
            is_retrieved = np.array([*map({*full_ranking.docs}.__contains__, docs)], np.bool_)
            rows = unretrieved_rows(query_qrels, is_retrieved, judging).tolist()
            unretrieved_docs = [docs[row] for row in rows]
            full_ranking = append_docs(full_ranking, unretrieved_docs)
        if not judging.has_one_tie_order and judging.ties != "expected":
            doc_grades = grade_documents(grades, full_ranking.docs)
            sort_keys = grade_sort_keys(judging.ties, full_ranking.tie_first, doc_grades)
            full_ranking = full_ranking.take(sort_keys.argsort(kind="stable"))
        ranking = full_ranking if depth is None else full_ranking.take(slice(depth))
        measured_ranking = ranking
        if judging.judged_only:
            is_judged = [grades.get(doc, -1) >= 0 for doc in ranking.docs]
            measured_ranking = ranking.take(np.flatnonzero(is_judged))
        return cls(measured_ranking, ranking, full_ranking, grades, frozenset(unretrieved_docs))


@dataclass(frozen=True, eq=False)
class Scene:
    """One query of a run, as a measure sees it, and the documents' names, which it does not see.

    `docs` are the documents retrieved, best rank first, without those that were dropped.
    `ideal_docs` are the judged ones, the highest grade first; equal grades by document id,
    descending. `grades` are the judgments ({document: grade}; of judgments in groups,
    the best of any).
    """

    query: str
    run_name: str
    qrels: Qrels  # of this query alone
    judging: Judging
    matched_run: MatchedRun
    measured_ranking: Ranking  # as a measure sees it
    ranking: Ranking  # as retrieved, before anything was dropped; cut at `depth`
    full_ranking: Ranking  # not cut, except where `unretrieved_docs` come after the cut
    grades: Mapping[str, float]
    unretrieved_docs: frozenset[str] = frozenset()  # of `full_ranking`

    @property
    def docs(self) -> Sequence[str]:
        """The documents of `measured_ranking`."""
        return self.measured_ranking.docs

    @property
    def judged(self) -> Judged:
        """What a measure receives: the query is the only one."""
        return self.matched_run.judged

    def value(self, measure: Measure) -> float:
        """Return the query's value, a number."""
        return float(measure.values(self.judged)[0, 0])

    @cached_property
    def ideal_docs(self) -> Sequence[str]:
        """The judged documents, in the order of `judged.ideal`."""
        # Of a sample, a document's stratum is beside its grade: there the order is the file's.
        docs = list(self.grades) if self.qrels.sampling else sorted(self.grades, reverse=True)
        return sorted(docs, key=lambda doc: -self.grades[doc])

    @property
    def group_names(self) -> Sequence[str]:
        """The judgment groups, in their order."""
        return self.qrels.levels.names

    @cached_property
    def group_ideal_docs(self) -> Sequence[str]:
        """The judged documents group by group, the highest grade first: as Judged.groups has it."""
        levels, docs = self.qrels.levels, self.qrels.doc_lists[0]
        if not self.qrels.has_groups:
            return self.ideal_docs
        order = np.lexsort((-levels.level, levels.group))
        return [docs[row] for row in levels.row[order].tolist()]

    @classmethod
    def of(
        cls, qrels: Qrels, run: Run, query: str, judging: Judging, *, costs: bool = False
    ) -> "Scene":
        """Judge one query of a run: see `of_queries`."""
        (scene,) = cls.of_queries(qrels, run, [query], judging, costs=costs)
        return scene

    @classmethod
    def of_queries(
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
                    hint=known_queries_hint(query, qrels),
                )
        if "ids" in (qrels.list_kind, run.list_kind):
            judge(qrels, run, judging)  # which refuses lists that are not as many on both sides
        run = run.resolve_spans(qrels.spans, judging.overlap)
        runs = run.select_queries(queries, judging.order, costs=costs).split_queries()
        notes_of_run = cache(lambda: tuple(find_order_notes(qrels, run)))
        judge_run = cache(lambda: judge(qrels, run, judging, all_queries=False))
        for query in queries:
            query_qrels, query_run = qrels.select_queries([query]), runs[query]
            # A query without judged documents is accepted: other queries may have some.
            matched_run = judge(query_qrels, query_run, judging, costs=costs, all_queries=False)
            matched_run.find_order_notes = notes_of_run
            matched_run.judge_run = judge_run
            ranking = query_run.read_ranking(judging, costs=costs)
            rankings = SceneRankings.of(query_qrels, ranking, judging)
            yield cls(query, run.name, query_qrels, judging, matched_run, *rankings)

    def relevance_level(self, measure: Measure) -> float:
        """Return the lowest grade that the measure counts as relevant; by default, any above 0."""
        states_level = self.judged.has_whole_grades or measure.fractions == "level"
        level: float = measure.parameters.get("rel", 1) if states_level else self.judged.above_zero
        return level


def known_queries_hint(query: str, qrels: Qrels) -> str:
    """Return a hint at a query that the judgments do not have: near ids, and the first one."""
    ids = qrels.query_ids
    near_ids = _find_spellings(query, ids) or _find_by_words(query, ids)
    near_ids = near_ids or nearest_words(query, ids)
    guess = f"Did you mean {' or '.join(map(repr, near_ids))}? " if near_ids else ""
    n = len(qrels.query_ids)
    return f"{guess}They have {format_query_count(n)}, the first is {qrels.query_ids[0]!r}."


def _find_by_words(query: str, query_ids: Sequence[str]) -> list[str]:
    """Return the first three questions in which each word of a query occurs, or is a part."""
    words = query.casefold().split()
    if not words or len(query) < _MIN_LENGTH:  # of "1", too many ids are a part
        return []
    texts = ((query_id, query_id.casefold()) for query_id in query_ids)
    return [query_id for query_id, text in texts if all(word in text for word in words)][:3]


_MIN_LENGTH = 3  # characters of a part of a question


def grade_documents(grades: Mapping[str, float], docs: Sequence[str]) -> Numbers:
    """Return the grades of documents, (n_documents,); unjudged ones have one below all others."""
    lowest = min([*grades.values(), 0]) - 1
    doc_grades = [grades.get(doc, lowest) for doc in docs]
    return np.array(doc_grades, np.float64 if float in set(map(type, doc_grades)) else np.int64)


def _find_spellings(query: str, query_ids: Sequence[str]) -> list[str]:
    """Return the first three ids that differ only in blanks, capitals or leading zeros."""

    def normalize(text: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", text.strip().casefold())

    return [query_id for query_id in query_ids if normalize(query_id) == normalize(query)][:3]
