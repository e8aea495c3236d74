"""Buckets: an evaluation of some queries at a time, whose results are put together.

Rows of judgments and of runs are dealt to buckets by the hash of their query (`deal.py`), and each
bucket is evaluated alone. The highest grade of the collection, and whether all of its grades are
whole numbers, are known once all judgments are dealt, and handed to every part; whether judgments
and run share documents is checked once all parts are judged. So the scores, counts and notes are
those of one evaluation in memory, to the last bit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from operator import add
from typing import Any

import numpy as np

from cranfield.arrays.ids import IdList, Ids, PackedIds, encode, encode_ids
from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.counts import Counts
from cranfield.data.fingerprint import hash_digest
from cranfield.data.judge import check_judged_run, judge_all
from cranfield.data.judges import join_judges
from cranfield.data.judging import Judging
from cranfield.data.match import add_facts
from cranfield.data.meeting import JudgedRun, MatchedRun, RunFacts
from cranfield.data.order import repeats_error
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import assign_buckets
from cranfield.data.run import Run
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.collection import (
    HeldJudgments,
    JudgmentFacts,
    SpilledJudgments,
    apply_grade_facts,
)
from cranfield.extensions.scale.deal import BucketStore, GradeFacts
from cranfield.extensions.scale.spill import Spill
from cranfield.formats.block import FaultyRows, Role
from cranfield.formats.dict_rows import NestedRows
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.progress import watch_files, watch_steps
from cranfield.render.numbers import format_bytes, format_count
from cranfield.scoring.assembly import Assembly
from cranfield.scoring.ends import NO_ENDS, Ends, EndsOptions
from cranfield.scoring.job import Job, JobScores, MeasureGroup
from cranfield.scoring.measure_notes import weigh_ties


def score_in_buckets(job: Job, n_buckets: int, folder: str | None = None) -> JobScores:
    """Score runs bucket by bucket: the scores of each measure group, as `score_job` returns them.

    The temporary file is in `folder`.
    """
    judgments, runs, ends, groups = job.judgments, job.runs, job.ends, job.measure_groups
    if ends is not None:
        for group in groups:
            ends.check(group.measures, group.judging)
    with Spill(folder) as spill:
        source: HeldJudgments | SpilledJudgments
        files = () if isinstance(judgments, Qrels) else judgments.rows.sources
        with watch_files([*files, *chain.from_iterable(run.sources for run in runs.values())]):
            if isinstance(judgments, Qrels) or judgments.is_in_memory:
                source = HeldJudgments(
                    judgments if isinstance(judgments, Qrels) else judgments.read()
                )
            else:
                source = SpilledJudgments(judgments, n_buckets, spill)
            bucketed_runs = [
                _BucketedRun(run, _needed_roles(run, groups, source.has_spans), n_buckets, spill)
                for run in runs.values()
            ]
        parts = _Parts(source, n_buckets)
        scores_of_groups = parts.evaluate(groups, bucketed_runs, ends, with_digest=job.wants_digest)
        release_free_memory()
        text = (
            f"Evaluated in {format_count(n_buckets, 'bucket')}, one after the other: rows were "
            f"split by query into {format_bytes(spill.size)} of temporary files in {spill.folder}."
        )
        note = Note("buckets", "info", text, count=n_buckets)
        systems = []
        for group, scores_of_runs in zip(groups, scores_of_groups, strict=True):
            assembly = Assembly(group.measures, parts.qrels, group.judging, job.slices)
            system_scores = []
            for name, run, part_scores in zip(runs, bucketed_runs, scores_of_runs, strict=True):
                judged_run = _JoinedRun(parts, run, group.judging, part_scores)
                check_judged_run(judged_run)
                columns, counts = judged_run.take_scores(), judged_run.counts
                scores = assembly.build_scores(
                    name, judged_run, judged_run.query_ids, columns, counts, judged_run.ends
                )
                system_scores.append(replace(scores, notes=(*scores.notes, note)))
            systems.append(assembly.build_systems(system_scores))
    digest = hash_digest(parts.digest, parts.qrels.top_grade) if job.wants_digest else None
    return JobScores(systems, digest)


def _sort_ids(packed_ids: Sequence[PackedIds]) -> tuple[Ints, IdList]:
    """Return the order of the identifiers of all parts by their bytes, and their texts in it."""
    ids = Ids.concatenate([Ids.of_packed(part_ids) for part_ids in packed_ids])
    order = ids.sort_keys().argsort()
    return order, IdList(ids.take(order).compact())


class _Parts:
    """The parts of the judgments, and the facts of all of them once they were evaluated.

    A part is one bucket, or several if one alone has no judgments.
    """

    qrels: Qrels  # of all parts; where they are not in memory: their queries and facts, no rows
    digest: int

    def __init__(self, source: HeldJudgments | SpilledJudgments, n_buckets: int) -> None:
        self.source = source
        stops = (np.flatnonzero(source.count_per_bucket(n_buckets)) + 1).tolist() or [n_buckets]
        stops[-1] = n_buckets
        self.bucket_ranges = [range(start, stop) for start, stop in pairwise([0, *stops])]

    def evaluate(
        self,
        groups: Sequence[MeasureGroup],
        runs: Sequence["_BucketedRun"],
        ends: EndsOptions | None,
        *,
        with_digest: bool,
    ) -> list[list[list["_PartScores"]]]:
        """Return the scores of each part, for each measure group and run.

        The highest grade of all rows may be that of a row that is left out, the second one of a
        document. This is known once all parts were evaluated; they are then evaluated again.
        """
        source = self.source
        grade_facts: GradeFacts | None = None
        if isinstance(source, SpilledJudgments):
            grade_facts = source.store.grade_facts
        while True:
            scores_of_groups: list[list[list[_PartScores]]] = [[[] for _ in runs] for _ in groups]
            facts = JudgmentFacts()
            for buckets in watch_steps(self.bucket_ranges, "buckets"):
                qrels = source.select_buckets(buckets)
                facts.add(qrels, with_digest=with_digest)
                if grade_facts is not None:
                    qrels = apply_grade_facts(qrels, grade_facts)
                part_runs = [run.select_buckets(buckets) for run in runs]
                for group, scores_of_runs in zip(groups, scores_of_groups, strict=True):
                    costs = group.plan.takes_cost
                    matched_runs = judge_all(
                        qrels, part_runs, group.judging, costs=costs, defer_check=True
                    )
                    try:
                        for part_scores, run in zip(scores_of_runs, matched_runs, strict=True):
                            part_scores.append(_PartScores.from_run(run, group, ends))
                    except DuplicateError as error:
                        raise self._first_repeat_error(error, runs, group.judging) from None
            if grade_facts is None or grade_facts == facts.grade_facts:
                break
            grade_facts = facts.grade_facts
        self.digest = facts.digest
        self.order, self.query_ids = _sort_ids(facts.packed_query_ids)
        if isinstance(source, HeldJudgments):
            self.qrels = source.qrels
        else:
            self.qrels = self._summarize_judgments(facts, source)
        return scores_of_groups

    def _first_repeat_error(
        self, error: DuplicateError, runs: Sequence["_BucketedRun"], judging: Judging
    ) -> Exception:
        """Return the error of the first row whose document another has, and how many there are."""
        for buckets in self.bucket_ranges:  # what is wrong with the judgments comes first
            self.source.select_buckets(buckets)
        if judging.duplicates == "refuse":
            for run in runs:
                if run.store is None:
                    continue
                part_runs = map(run.select_buckets, self.bucket_ranges)
                repeats = sum((part_run.find_repeats() for part_run in part_runs), FaultyRows())
                if repeats.count:
                    return repeats_error(repeats, run.run.rows)
        return error

    def _summarize_judgments(self, facts: JudgmentFacts, judgments: SpilledJudgments) -> Qrels:
        """Return judgments with the queries and the facts of all parts, and no rows."""
        top_grade, has_whole_grades = facts.grade_facts
        assert facts.template is not None  # noqa: S101 - there is a part
        return facts.template.replace_fields(
            query_ids=self.query_ids,
            starts=np.zeros(len(self.query_ids) + 1, np.int64),
            grade=np.array([facts.lowest_grade, facts.highest_grade]),
            stated_top_grade=int(top_grade) if has_whole_grades else top_grade,
            left_out=judgments.store.left_out + facts.left_out,
            repeats=facts.repeats,
            chunk_counts=facts.chunk_counts,
            judges=join_judges(facts.judges),
        )


# ---- the runs -------------------------------------------------------------------------------


def _needed_roles(run: Run, groups: Iterable[MeasureGroup], has_spans: bool) -> tuple[Role, ...]:
    """Return the columns of a run that any of the measure groups takes."""
    role_lists = [run.roles(group.judging.order, costs=group.plan.takes_cost) for group in groups]
    spans: tuple[Role, ...] = ("start", "end") if has_spans else ()
    span_roles = [role for role in spans if role in run.extra_roles]
    return tuple(dict.fromkeys([*chain.from_iterable(role_lists), *span_roles]))


class _BucketedRun:
    """A run whose rows were written to buckets; a run that is a dict stays in memory."""

    def __init__(self, run: Run, roles: Sequence[Role], n_buckets: int, spill: Spill) -> None:
        self.run, self.store, self.left_out = run, None, run.left_out
        self._queries_of_bucket: list[list[str]] = []
        if run.docs_of_query is None:
            self.store = BucketStore(run.rows, roles, run.errors, n_buckets, spill)
            self.left_out = self.store.left_out
            return
        self._queries_of_bucket = [[] for _ in range(n_buckets)]
        queries = list(run.docs_of_query)
        buckets = assign_buckets(Ids.of_texts(queries), n_buckets).tolist()
        for query, bucket in zip(queries, buckets, strict=True):
            self._queries_of_bucket[bucket].append(query)

    def select_buckets(self, buckets: range) -> Run:
        """Return the run with the queries of some buckets."""
        run = self.run
        if self.store is not None:
            return run.replace_rows(self.store.select_buckets(buckets, whole_queries=True))
        assert run.docs_of_query is not None and isinstance(run.rows, NestedRows)  # noqa: S101, PT018
        part_queries = chain.from_iterable(self._queries_of_bucket[bucket] for bucket in buckets)
        return run.replace_rows(
            run.rows.with_data({query: run.docs_of_query[query] for query in part_queries})
        )


_MAX_SKETCHES = 100  # of a part


@dataclass
class _PartScores:
    """The scores of a run on a part of the queries, and the facts of the run that notes need."""

    packed_ids: PackedIds | None  # of the averaged queries; None: those of the judgments
    scores: Floats
    ends: Ends
    is_answered: Bools  # for these two see JudgedRun
    has_relevant: Bools
    counts: Counts
    facts: RunFacts
    left_out_counts: Mapping[str, int]
    missing_queries: PackedIds
    unjudged_queries: PackedIds
    has_whole_grades: bool

    @classmethod
    def from_run(
        cls, run: MatchedRun, group: MeasureGroup, ends: EndsOptions | None
    ) -> "_PartScores":
        """Return the scores of a run on a part of the queries, of which it may average none."""
        scores, part_ends = np.zeros((0, len(group.measures))), NO_ENDS
        if len(run.query_ids):
            scores = group.plan.values(run.judged)
            if ends is not None:
                part_ends = ends.find_ends(group.measures, run.judged)
        all_averaged = run.averaging.position is None
        unjudged_queries = [
            query if isinstance(query, bytes) else encode(query) for query in run.unjudged_queries
        ]
        return cls(
            packed_ids=None if all_averaged else encode_ids(run.query_ids).pack(),
            scores=scores,
            ends=part_ends,
            is_answered=run.is_answered,
            has_relevant=run.has_relevant,
            counts=run.counts,
            facts=run.facts._replace(
                tie_effects=weigh_ties(run, group.measures, scores, 0),
                query_sketches=run.facts.query_sketches[:_MAX_SKETCHES],
            ),
            left_out_counts=run.left_out_counts,
            missing_queries=encode_ids(run.missing_queries).pack(),
            unjudged_queries=Ids.of(unjudged_queries).pack(),
            has_whole_grades=run.has_whole_grades,
        )


class _JoinedRun(JudgedRun):
    """A run that was judged part by part: the scores and facts of its parts, put together."""

    def __init__(
        self, parts: _Parts, run: _BucketedRun, judging: Judging, part_scores: Sequence[_PartScores]
    ) -> None:
        self._parts, self._part_scores, self._run = parts, part_scores, run
        self.qrels, self.judging, self.all_queries = parts.qrels, judging, True
        self.run = run.run.resolve_spans({} if parts.source.has_spans else None, judging.overlap)
        if part_scores[0].packed_ids is None:
            self.query_ids, self._order = parts.query_ids, parts.order
        else:
            packed_ids = [part.packed_ids for part in part_scores if part.packed_ids is not None]
            self._order, self.query_ids = _sort_ids(packed_ids)
        self.n_queries, self.n_hits = self.facts.n_queries, self.facts.n_hits

    def _join_rows(self, columns: Iterable[Any]) -> Any:
        """Return the rows of the columns of all parts, in the order of the queries."""
        return np.concatenate(list(columns))[self._order]

    def take_scores(self) -> Floats:
        """Return the scores, (n_queries, n_measures); those of the parts are deleted: call once."""
        score_type = np.result_type(*(part.scores for part in self._part_scores))
        scores = np.empty((len(self._order), self._part_scores[0].scores.shape[1]), score_type)
        position = np.empty_like(self._order)
        position[self._order] = np.arange(len(position))
        first_row = 0
        for part in self._part_scores:
            end_row = first_row + len(part.scores)
            scores[position[first_row:end_row]] = part.scores
            first_row, part.scores = end_row, part.scores[:0]
        return scores

    @property
    def ends(self) -> Ends:
        """The ends of intervals of the scores."""
        part_ends: list[Any] = [part.ends for part in self._part_scores if part.ends is not NO_ENDS]
        return part_ends[0].joined(part_ends, self._join_rows) if part_ends else NO_ENDS

    @cached_property
    def is_answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        is_answered: Bools = self._join_rows(part.is_answered for part in self._part_scores)
        return is_answered

    @cached_property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        has_relevant: Bools = self._join_rows(part.has_relevant for part in self._part_scores)
        return has_relevant

    @cached_property
    def facts(self) -> RunFacts:
        """What notes depend on."""
        facts = reduce(add_facts, [part.facts for part in self._part_scores])
        # The rows of every part were put together, whether they were apart or not.
        left_out, sketches = self._run.left_out + facts.rows.left_out, sorted(facts.query_sketches)
        rows = facts.rows._replace(left_out=left_out, is_regrouped=False)
        return facts._replace(rows=rows, query_sketches=sketches)

    @property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        counts = reduce(add, [part.counts for part in self._part_scores])
        left_out = self.facts.rows.left_out.count + self.qrels.left_out.count
        return replace(counts, rows_left_out=left_out)

    @cached_property
    def has_whole_grades(self) -> bool:
        """Whether all grades are whole numbers."""
        return all(part.has_whole_grades for part in self._part_scores)

    @cached_property
    def left_out_counts(self) -> Mapping[str, int]:
        """How many queries of the qrels are not averaged, by a key of LEFT_OUT_REASONS."""
        reasons = self._part_scores[0].left_out_counts
        return {
            reason: sum(part.left_out_counts[reason] for part in self._part_scores)
            for reason in reasons
        }

    @cached_property
    def unjudged_queries(self) -> Collection[bytes]:
        """The queries of the run that have no judgments."""
        id_lists = (Ids.of_packed(part.unjudged_queries) for part in self._part_scores)
        return [query for ids in id_lists for query in ids.to_list()]

    @cached_property
    def missing_queries(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return _sort_ids([part.missing_queries for part in self._part_scores])[1]
