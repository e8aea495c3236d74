"""Buckets: an evaluation of some queries at a time, whose results are put together.

Rows of judgments and of runs are dealt to buckets by the hash of their query (`deal.py`), and each
bucket is evaluated alone. What belongs to the collection, the highest grade and whether all
grades are whole numbers, is known once all judgments are dealt, and handed to every part; whether
the two sides have anything in common is looked at once all parts have met. So the scores, counts
and notes are those of one evaluation in memory, to the last bit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import IdList, Ids, PackedIds, decode, encode, encode_ids
from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.counts import Counts
from cranfield.data.fingerprint import hash_digest
from cranfield.data.judge import check_judged_run, judge_all
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun, JudgedRun, RunFacts
from cranfield.data.order import repeats_error
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import assign_buckets
from cranfield.data.run import Run
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.collection import HeldJudgments, JudgmentFacts, SpilledJudgments, apply_grade_facts
from cranfield.extensions.scale.deal import BucketStore
from cranfield.extensions.scale.spill import Spill
from cranfield.formats.block import FaultyRows, Role
from cranfield.formats.objects import NestedRows
from cranfield.lazy import cached_property
from cranfield.measures import Measure, Plan, find_plan
from cranfield.notes import Note
from cranfield.progress import watch_files, watch_steps
from cranfield.render.numbers import format_bytes, format_count
from cranfield.scoring.assembly import Assembly
from cranfield.scoring.ends import NO_ENDS, Ends, EndsOptions
from cranfield.scoring.job import Job, JobScores
from cranfield.scoring.scores import Systems


def score_in_buckets(job: Job, n_buckets: int, folder: str | None = None) -> JobScores:
    """Score runs bucket by bucket: the scores by each way, as `score_job` returns them.

    `folder` is where the temporary file is.
    """
    judgments, runs, ends = job.judgments, job.runs, job.ends
    if ends is not None:
        for asked in job.measure_groups:
            ends.check(asked.measures, asked.judging)
    ways = [_PlannedGroup(way.measures, way.judging, find_plan(way.measures)) for way in job.measure_groups]
    with Spill(folder) as spill:
        judged: HeldJudgments | SpilledJudgments
        files = () if isinstance(judgments, Qrels) else judgments.rows.sources
        with watch_files([*files, *chain.from_iterable(run.sources for run in runs.values())]):
            if isinstance(judgments, Qrels) or judgments.is_in_memory:
                judged = HeldJudgments(judgments if isinstance(judgments, Qrels) else judgments.read())
            else:
                judged = SpilledJudgments(judgments, n_buckets, spill)
            dealt = [
                _BucketedRun(run, _needed_roles(run, ways, has_spans=judged.has_spans), n_buckets, spill)
                for run in runs.values()
            ]
        parts = _JudgedParts(judged, n_buckets)
        pieces = parts.evaluate_parts(ways, dealt, ends, with_digest=job.wants_digest)
        release_free_memory()
        text = (
            f"Evaluated in {format_count(n_buckets, 'bucket')}, one after the other: rows were "
            f"split by query into {format_bytes(spill.size)} of temporary files in {spill.folder}."
        )
        note = Note("buckets", "info", text, count=n_buckets)
        systems = []
        for way, of_runs in zip(ways, pieces, strict=True):
            assembly = Assembly(way.measures, parts.qrels, way.judging, job.slices)
            every = []
            for name, run, its in zip(runs, dealt, of_runs, strict=True):
                met = _JoinedRun(parts, run, way.judging, its)
                check_judged_run(met, met.sample)
                values = met.take_scores()
                ids, counts = met.query_ids, met.counts
                found = assembly.build_scores(name, met, ids, values, counts, met.ends)
                every.append(replace(found, notes=(*found.notes, note)))
            systems.append(Systems(every))
    digest = hash_digest(parts.digest, parts.qrels.top_grade) if job.wants_digest else None
    return JobScores(systems, digest)


def _sort_ids(packed_ids: Sequence[PackedIds]) -> tuple[Ints, IdList]:
    """Return the order of the bytes of identifiers that are in pieces, and their texts in it."""
    ids = Ids.concatenate([Ids.of_packed(piece) for piece in packed_ids])
    order = ids.sort_keys().argsort()
    return order, IdList(ids.take(order).compact())


class _PlannedGroup(NamedTuple):
    """Measures that are evaluated together, and how runs are judged for them."""

    measures: tuple[Measure, ...]
    judging: Judging
    plan: Plan


class _JudgedParts:
    """The parts of the judgments, and what is known of all of them once they were evaluated.

    A part is one bucket, or several if one alone has no judgments.
    """

    qrels: Qrels  # where they are not held: what is known of all, and their queries
    digest: int

    def __init__(self, judged: HeldJudgments | SpilledJudgments, n_buckets: int) -> None:
        self.source = judged
        ends = (np.flatnonzero(judged.count_per_bucket(n_buckets)) + 1).tolist() or [n_buckets]
        ends[-1] = n_buckets
        self.bucket_ranges = [range(*pair) for pair in pairwise([0, *ends])]

    def evaluate_parts(
        self,
        planned_groups: Sequence[_PlannedGroup],
        runs: Sequence["_BucketedRun"],
        ends: EndsOptions | None,
        *,
        with_digest: bool,
    ) -> list[list[list["_PartScores"]]]:
        """Return what is found of each part, for each way and run.

        The highest grade of all rows may be one of a row that is not kept, as one of two of a
        document. This is known in the end; then all is done again.
        """
        judged = self.source
        known: tuple[float, bool] | None = None
        if isinstance(judged, SpilledJudgments):
            known = judged.store.top_grade, judged.store.has_whole_grades
        while True:
            found: list[list[list[_PartScores]]] = [[[] for _ in runs] for _ in planned_groups]
            seen = JudgmentFacts()
            for buckets in watch_steps(self.bucket_ranges, "buckets"):
                qrels = judged.select_buckets(buckets)
                seen.add(qrels, with_digest=with_digest)
                if known is not None:
                    qrels = apply_grade_facts(qrels, *known)
                part = [run.select_buckets(buckets) for run in runs]
                for way, of_runs in zip(planned_groups, found, strict=True):
                    judged_runs = judge_all(
                        qrels, part, way.judging, costs=way.plan.takes_cost, defer_check=True
                    )
                    try:
                        for pieces, met in zip(of_runs, judged_runs, strict=True):
                            pieces.append(_PartScores.score_part(met, way, ends))
                    except DuplicateError as error:
                        raise self._first_repeat_error(error, runs, way.judging) from None
            if known is None or known == (seen.top_grade, seen.has_whole_grades):
                break
            known = seen.top_grade, seen.has_whole_grades
        self.digest = seen.digest
        self.order, self.query_ids = _sort_ids(seen.packed_query_ids)
        self.qrels = judged.qrels if isinstance(judged, HeldJudgments) else self._summarize_judgments(seen, judged)
        return found

    def _first_repeat_error(self, error: DuplicateError, runs: Sequence["_BucketedRun"], judging: Judging) -> Exception:
        """Return the error of the first row whose document another has, and how many there are."""
        for buckets in self.bucket_ranges:  # what is wrong with the judgments comes first
            self.source.select_buckets(buckets)
        if judging.duplicates == "refuse":
            for run in (one for one in runs if one.store is not None):
                repeated = sum((run.select_buckets(one).find_repeats() for one in self.bucket_ranges), FaultyRows())
                if repeated.count:
                    return repeats_error(repeated)
        return error

    def _summarize_judgments(self, facts: "JudgmentFacts", judgments: SpilledJudgments) -> Qrels:
        assert facts.template is not None  # noqa: S101 - there is a part
        return facts.template.replace_fields(
            query_ids=self.query_ids,
            starts=np.zeros(len(self.query_ids) + 1, np.int64),
            grade=np.array([facts.lowest_grade, facts.highest_grade]),
            top_of_all=int(facts.top_grade) if facts.has_whole_grades else facts.top_grade,
            left_out=judgments.store.left_out + facts.left_out,
            repeated=facts.repeats,
            chunks=facts.chunk_counts,
        )

    def select_queries(self, queries: set[str]) -> Qrels:
        """Return the documents that are judged for some of the queries, which there must be."""
        found: dict[str, dict[str, Any]] = {}
        for buckets in self.bucket_ranges:
            qrels = self.source.select_buckets(buckets)
            if some := queries.intersection(qrels.query_ids):
                its = qrels.select_queries(some)
                found |= {
                    query: dict.fromkeys(docs, 0)
                    for query, docs in zip(its.query_ids, its.doc_lists, strict=True)
                }
        return Qrels(found)


# ---- the runs -------------------------------------------------------------------------------


def _needed_roles(run: Run, planned_groups: Iterable[_PlannedGroup], *, has_spans: bool) -> tuple[Role, ...]:
    """Return the columns of a run that any of the evaluations takes."""
    each = [run.roles(way.judging.order, costs=way.plan.takes_cost) for way in planned_groups]
    spans: tuple[Role, ...] = ("start", "end") if has_spans else ()
    its = [role for role in spans if role in run.extra_roles]
    return tuple(dict.fromkeys([*chain.from_iterable(each), *its]))


class _BucketedRun:
    """A run whose rows were dealt to buckets; a dict stays in memory."""

    def __init__(self, run: Run, roles: Sequence[Role], n_buckets: int, spill: Spill) -> None:
        self.run, self.store, self.left_out = run, None, run.left_out
        self._queries_of_bucket: list[list[str]] = []
        if run.docs_of_query is None:
            self.store = BucketStore(run.rows, roles, run.errors, n_buckets, spill)
            self.left_out = self.store.left_out
            return
        self._queries_of_bucket = [[] for _ in range(n_buckets)]
        queries = list(run.docs_of_query)
        for query, bucket in zip(
            queries, assign_buckets(Ids.of_texts(queries), n_buckets).tolist(), strict=True
        ):
            self._queries_of_bucket[bucket].append(query)

    def select_buckets(self, buckets: range) -> Run:
        """Return the run of some buckets."""
        run = self.run
        if self.store is not None:
            return run.replace_rows(self.store.select_buckets(buckets, whole_queries=True))
        assert run.docs_of_query is not None and isinstance(run.rows, NestedRows)  # noqa: S101, PT018
        some = chain.from_iterable(self._queries_of_bucket[bucket] for bucket in buckets)
        return run.replace_rows(run.rows.with_data({query: run.docs_of_query[query] for query in some}))


@dataclass
class _PartScores:
    """What is found of a part of the queries, and kept."""

    packed_ids: PackedIds | None  # of the averaged queries; None: they are those of the judgments
    scores: Floats
    ends: Ends
    is_answered: Bools  # for these two see Met
    has_relevant: Bools
    counts: Counts
    facts: RunFacts
    left_out_counts: Mapping[str, int]
    missing_queries: PackedIds
    unjudged_queries: PackedIds
    has_whole_grades: bool

    @classmethod
    def score_part(cls, matched_run: MatchedRun, group: _PlannedGroup, ends: EndsOptions | None) -> "_PartScores":
        """Return what is kept of a part; it may average no query."""
        values, found = np.zeros((0, len(group.measures))), NO_ENDS
        if len(matched_run.query_ids):
            values = group.plan.values(matched_run.judged)
            if ends is not None:
                found = ends.find_ends(group.measures, matched_run.judged)
        unknown = [one if isinstance(one, bytes) else encode(one) for one in matched_run.unjudged_queries]
        return cls(
            None if matched_run.averaging.position is None else encode_ids(matched_run.query_ids).pack(),
            *(values, found, matched_run.is_answered, matched_run.has_relevant, matched_run.counts, matched_run.facts),
            *(matched_run.left_out_counts, encode_ids(matched_run.missing_queries).pack(), Ids.of(unknown).pack()),
            matched_run.has_whole_grades,
        )


class _JoinedRun(JudgedRun):
    """A run that has met the judgments part by part."""

    def __init__(
        self, judged_parts: _JudgedParts, run: _BucketedRun, judging: Judging, part_scores: Sequence[_PartScores]
    ) -> None:
        self._judged_parts, self._part_scores, self._run = judged_parts, part_scores, run
        self.qrels, self.judging, self.all_queries = judged_parts.qrels, judging, True
        self.run = run.run.resolve_spans({} if judged_parts.source.has_spans else None, judging.overlap)
        if part_scores[0].packed_ids is None:
            self.query_ids, self._order = judged_parts.query_ids, judged_parts.order
        else:
            ids = [piece.packed_ids for piece in part_scores if piece.packed_ids is not None]
            self._order, self.query_ids = _sort_ids(ids)
        self.n_queries, self.n_hits = self.facts.n_queries, self.facts.n_hits

    def _join_rows(self, columns: Iterable[Any]) -> Any:
        """Put the rows of the pieces together, in the order of the queries."""
        return np.concatenate(list(columns))[self._order]

    def take_scores(self) -> Floats:
        """Return the values, (n_queries, n_measures), and keep none of the pieces': once only."""
        kind = np.result_type(*(piece.scores for piece in self._part_scores))
        found = np.empty((len(self._order), self._part_scores[0].scores.shape[1]), kind)
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        begin = 0
        for piece in self._part_scores:
            end = begin + len(piece.scores)
            found[place[begin:end]] = piece.scores
            begin, piece.scores = end, piece.scores[:0]
        return found

    @property
    def ends(self) -> Ends:
        """What was found beside the values."""
        found: list[Any] = [one.ends for one in self._part_scores if one.ends is not NO_ENDS]
        return found[0].joined(found, self._join_rows) if found else NO_ENDS

    @cached_property
    def is_answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        found: Bools = self._join_rows(piece.is_answered for piece in self._part_scores)
        return found

    @cached_property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        found: Bools = self._join_rows(piece.has_relevant for piece in self._part_scores)
        return found

    @cached_property
    def facts(self) -> RunFacts:
        """What notes depend on."""
        found = reduce(RunFacts.add, [piece.facts for piece in self._part_scores])
        # The rows of every part were put together, whether they were apart or not.
        return found._replace(left_out=self._run.left_out + found.left_out, regrouped=False)

    @property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        found = reduce(add, [piece.counts for piece in self._part_scores])
        left_out = self.facts.left_out.count + self.qrels.left_out.count
        return replace(found, rows_left_out=left_out)

    @cached_property
    def has_whole_grades(self) -> bool:
        """Whether all grades are whole numbers."""
        return all(piece.has_whole_grades for piece in self._part_scores)

    @cached_property
    def left_out_counts(self) -> Mapping[str, int]:
        """How many queries of the qrels are not averaged, by a key of WHY."""
        names = self._part_scores[0].left_out_counts
        return {name: sum(one.left_out_counts[name] for one in self._part_scores) for name in names}

    @cached_property
    def unjudged_queries(self) -> Collection[bytes]:
        """The queries of the run that have no judgments."""
        every = (Ids.of_packed(piece.unjudged_queries) for piece in self._part_scores)
        return [query for ids in every for query in ids.to_list()]

    @cached_property
    def missing_queries(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return _sort_ids([piece.missing_queries for piece in self._part_scores])[1]

    @cached_property
    def sample(self) -> Qrels | None:
        """The judged documents of the first queries of the run, where ids are to be compared."""
        if self.facts.n_hits or not self.facts.n_shared:
            return None
        judged = set(self.query_ids if self._part_scores[0].packed_ids is None else self._judged_parts.query_ids)
        for load in self.run.read_columns(()):
            block = load()
            queries = block.query.take(block.query.find_changes()).to_list()
            if shared := judged.intersection(map(decode, queries)):
                return self._judged_parts.select_queries(shared)
        return None

    @property
    def affix(self) -> str | None:
        """What the documents' ids of one side have before or behind those of the other, in words.

        None if there is no such thing, or documents are spans.
        """
        if self._judged_parts.source.has_spans:
            return None
        from cranfield.data.spelling import find_affix

        return find_affix(self.sample or self.qrels, self.run)
