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

from cranfield.arrays.ids import IdList, Ids, Packed, decode, encode, ids_of
from cranfield.arrays.memory import give_back
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.counts import Counts
from cranfield.data.fingerprint import hash_of_digest
from cranfield.data.judge import check_met, judge_all
from cranfield.data.judging import Judging
from cranfield.data.meeting import Meeting, Met, Seen
from cranfield.data.order import refused
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import bucket_of
from cranfield.data.run import Run
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.collection import Held, KnownJudgments, Spilt, of_collection
from cranfield.extensions.scale.deal import Dealt
from cranfield.extensions.scale.spill import Spill
from cranfield.formats.block import LeftOut, Role
from cranfield.formats.objects import NestedRows
from cranfield.lazy import cached_property
from cranfield.measures import Measure, Plan, plan_of
from cranfield.notes import Note
from cranfield.progress import of_files, steps
from cranfield.render.numbers import bytes_of, number_of
from cranfield.scoring.assembly import Assembly
from cranfield.scoring.ends import NO_ENDS, Ends, EndsOptions
from cranfield.scoring.job import Job, Scored
from cranfield.scoring.scores import Systems


def score_in_buckets(job: Job, n_buckets: int, folder: str | None = None) -> Scored:
    """Score runs bucket by bucket: the scores by each way, as `score_job` returns them.

    `folder` is where the temporary file is.
    """
    judgments, runs, ends = job.judgments, job.runs, job.ends
    if ends is not None:
        for asked in job.ways:
            ends.check(asked.measures, asked.judging)
    ways = [_PlannedWay(way.measures, way.judging, plan_of(way.measures)) for way in job.ways]
    with Spill(folder) as spill:
        judged: Held | Spilt
        files = () if isinstance(judgments, Qrels) else judgments.rows.sources
        with of_files([*files, *chain.from_iterable(run.sources for run in runs.values())]):
            if isinstance(judgments, Qrels) or judgments.is_held:
                judged = Held(judgments if isinstance(judgments, Qrels) else judgments.read())
            else:
                judged = Spilt(judgments, n_buckets, spill)
            dealt = [
                _Run(run, _roles(run, ways, has_spans=judged.has_spans), n_buckets, spill)
                for run in runs.values()
            ]
        parts = _Parts(judged, n_buckets)
        pieces = parts.evaluated(ways, dealt, ends, digests=job.digests)
        give_back()
        text = (
            f"Evaluated in {number_of(n_buckets, 'bucket')}, one after the other: rows were "
            f"split by query into {bytes_of(spill.size)} of temporary files in {spill.folder}."
        )
        note = Note("buckets", "info", text, count=n_buckets)
        systems = []
        for way, of_runs in zip(ways, pieces, strict=True):
            assembly = Assembly(way.measures, parts.whole, way.judging, job.slices)
            every = []
            for name, run, its in zip(runs, dealt, of_runs, strict=True):
                met = _Meetings(parts, run, way.judging, its)
                check_met(met, met.sample)
                values = met.take_values()
                ids, counts = met.query_ids, met.counts
                found = assembly.scores(name, met, ids, values, counts, met.ends)
                every.append(replace(found, notes=(*found.notes, note)))
            systems.append(Systems(every))
    digest = hash_of_digest(parts.digest, parts.whole.top_grade) if job.digests else None
    return Scored(systems, digest)


def _in_order(pieces: Sequence[Packed]) -> tuple[Ints, IdList]:
    """Return the order of the bytes of identifiers that are in pieces, and their texts in it."""
    ids = Ids.joined([Ids.of_packed(piece) for piece in pieces])
    order = ids.numbers().argsort()
    return order, IdList(ids.take(order).compact())


class _PlannedWay(NamedTuple):
    """Measures that are evaluated together, and how runs are judged for them."""

    measures: tuple[Measure, ...]
    judging: Judging
    plan: Plan


class _Parts:
    """The parts of the judgments, and what is known of all of them once they were evaluated.

    A part is one bucket, or several if one alone has no judgments.
    """

    whole: Qrels  # where they are not held: what is known of all, and their queries
    digest: int

    def __init__(self, judged: Held | Spilt, n_buckets: int) -> None:
        self.judged = judged
        ends = (np.flatnonzero(judged.sizes(n_buckets)) + 1).tolist() or [n_buckets]
        ends[-1] = n_buckets
        self.ranges = [range(*pair) for pair in pairwise([0, *ends])]

    def evaluated(
        self,
        ways: Sequence[_PlannedWay],
        runs: Sequence["_Run"],
        ends: EndsOptions | None,
        *,
        digests: bool,
    ) -> list[list[list["_Piece"]]]:
        """Return what is found of each part, for each way and run.

        The highest grade of all rows may be one of a row that is not kept, as one of two of a
        document. This is known in the end; then all is done again.
        """
        judged = self.judged
        known: tuple[float, bool] | None = None
        if isinstance(judged, Spilt):
            known = judged.dealt.top_grade, judged.dealt.whole_grades
        while True:
            found: list[list[list[_Piece]]] = [[[] for _ in runs] for _ in ways]
            seen = KnownJudgments()
            for buckets in steps(self.ranges, "buckets"):
                qrels = judged.part(buckets)
                seen.add(qrels, digests=digests)
                if known is not None:
                    qrels = of_collection(qrels, *known)
                part = [run.part(buckets) for run in runs]
                for way, of_runs in zip(ways, found, strict=True):
                    judged_runs = judge_all(
                        qrels, part, way.judging, costs=way.plan.takes_cost, part=True
                    )
                    try:
                        for pieces, met in zip(of_runs, judged_runs, strict=True):
                            pieces.append(_Piece.of(met, way, ends))
                    except DuplicateError as error:
                        raise self._twice(error, runs, way.judging) from None
            if known is None or known == (seen.top, seen.are_whole):
                break
            known = seen.top, seen.are_whole
        self.digest = seen.digest
        self.order, self.query_ids = _in_order(seen.ids)
        self.whole = judged.whole if isinstance(judged, Held) else self._known(seen, judged)
        return found

    def _twice(self, error: DuplicateError, runs: Sequence["_Run"], judging: Judging) -> Exception:
        """Return the error of the first row whose document another has, and how many there are."""
        for buckets in self.ranges:  # what is wrong with the judgments comes first
            self.judged.part(buckets)
        if judging.duplicates == "refuse":
            for run in (one for one in runs if one.dealt is not None):
                repeated = sum((run.part(one).repeated() for one in self.ranges), LeftOut())
                if repeated.count:
                    return refused(repeated)
        return error

    def _known(self, seen: "KnownJudgments", judged: Spilt) -> Qrels:
        assert seen.first is not None  # noqa: S101 - there is a part
        return seen.first.replaced(
            query_ids=self.query_ids,
            starts=np.zeros(len(self.query_ids) + 1, np.int64),
            grade=np.array([seen.lowest, seen.highest]),
            top_of_all=int(seen.top) if seen.are_whole else seen.top,
            left_out=judged.dealt.left_out + seen.left_out,
            repeated=seen.repeated,
            chunks=seen.chunks,
        )

    def of_queries(self, queries: set[str]) -> Qrels:
        """Return the documents that are judged for some of the queries, which there must be."""
        found: dict[str, dict[str, Any]] = {}
        for buckets in self.ranges:
            qrels = self.judged.part(buckets)
            if some := queries.intersection(qrels.query_ids):
                its = qrels.of(some)
                found |= {
                    query: dict.fromkeys(docs, 0)
                    for query, docs in zip(its.query_ids, its.doc_lists, strict=True)
                }
        return Qrels(found)


# ---- the runs -------------------------------------------------------------------------------


def _roles(run: Run, ways: Iterable[_PlannedWay], *, has_spans: bool) -> tuple[Role, ...]:
    """Return the columns of a run that any of the evaluations takes."""
    each = [run.roles(way.judging.order, costs=way.plan.takes_cost) for way in ways]
    spans: tuple[Role, ...] = ("start", "end") if has_spans else ()
    its = [role for role in spans if role in run.numbers]
    return tuple(dict.fromkeys([*chain.from_iterable(each), *its]))


class _Run:
    """A run whose rows were dealt to buckets; a dict stays in memory."""

    def __init__(self, run: Run, roles: Sequence[Role], n_buckets: int, spill: Spill) -> None:
        self.run, self.dealt, self.left_out = run, None, run.left_out
        self._queries: list[list[str]] = []
        if run.nested is None:
            self.dealt = Dealt(run.rows, roles, run.errors, n_buckets, spill)
            self.left_out = self.dealt.left_out
            return
        self._queries = [[] for _ in range(n_buckets)]
        queries = list(run.nested)
        for query, bucket in zip(
            queries, bucket_of(Ids.of_texts(queries), n_buckets).tolist(), strict=True
        ):
            self._queries[bucket].append(query)

    def part(self, buckets: range) -> Run:
        """Return the run of some buckets."""
        run = self.run
        if self.dealt is not None:
            return run.over(self.dealt.part(buckets, in_whole_queries=True))
        assert run.nested is not None and isinstance(run.rows, NestedRows)  # noqa: S101, PT018
        some = chain.from_iterable(self._queries[bucket] for bucket in buckets)
        return run.over(run.rows.over({query: run.nested[query] for query in some}))


@dataclass
class _Piece:
    """What is found of a part of the queries, and kept."""

    ids: Packed | None  # of the averaged queries; None: they are those of the judgments
    values: Floats
    ends: Ends
    answered: Bools  # for these two see Met
    has_relevant: Bools
    counts: Counts
    seen: Seen
    not_averaged: Mapping[str, int]
    missing: Packed
    unknown: Packed
    are_whole: bool

    @classmethod
    def of(cls, met: Meeting, way: _PlannedWay, ends: EndsOptions | None) -> "_Piece":
        """Return what is kept of a part; it may average no query."""
        values, found = np.zeros((0, len(way.measures))), NO_ENDS
        if len(met.query_ids):
            values = way.plan.values(met.judged)
            if ends is not None:
                found = ends.find_ends(way.measures, met.judged)
        unknown = [one if isinstance(one, bytes) else encode(one) for one in met.unknown]
        return cls(
            None if met.averaged.place is None else ids_of(met.query_ids).packed(),
            *(values, found, met.answered, met.has_relevant, met.counts, met.seen),
            *(met.not_averaged, ids_of(met.missing).packed(), Ids.of(unknown).packed()),
            met.are_whole,
        )


class _Meetings(Met):
    """A run that has met the judgments part by part."""

    def __init__(
        self, parts: _Parts, run: _Run, judging: Judging, pieces: Sequence[_Piece]
    ) -> None:
        self._parts, self._pieces, self._run = parts, pieces, run
        self.qrels, self.judging, self.whole = parts.whole, judging, True
        self.run = run.run.against({} if parts.judged.has_spans else None, judging.overlap)
        if pieces[0].ids is None:
            self.query_ids, self._order = parts.query_ids, parts.order
        else:
            ids = [piece.ids for piece in pieces if piece.ids is not None]
            self._order, self.query_ids = _in_order(ids)
        self.n_queries, self.n_hits = self.seen.n_queries, self.seen.n_hits

    def _column(self, columns: Iterable[Any]) -> Any:
        """Put the rows of the pieces together, in the order of the queries."""
        return np.concatenate(list(columns))[self._order]

    def take_values(self) -> Floats:
        """Return the values, (n_queries, n_measures), and keep none of the pieces': once only."""
        kind = np.result_type(*(piece.values for piece in self._pieces))
        found = np.empty((len(self._order), self._pieces[0].values.shape[1]), kind)
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        begin = 0
        for piece in self._pieces:
            end = begin + len(piece.values)
            found[place[begin:end]] = piece.values
            begin, piece.values = end, piece.values[:0]
        return found

    @property
    def ends(self) -> Ends:
        """What was found beside the values."""
        found: list[Any] = [one.ends for one in self._pieces if one.ends is not NO_ENDS]
        return found[0].joined(found, self._column) if found else NO_ENDS

    @cached_property
    def answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        found: Bools = self._column(piece.answered for piece in self._pieces)
        return found

    @cached_property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        found: Bools = self._column(piece.has_relevant for piece in self._pieces)
        return found

    @cached_property
    def seen(self) -> Seen:
        """What notes depend on."""
        found = reduce(Seen.together, [piece.seen for piece in self._pieces])
        # The rows of every part were put together, whether they were apart or not.
        return found._replace(left_out=self._run.left_out + found.left_out, regrouped=False)

    @property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        found = reduce(add, [piece.counts for piece in self._pieces])
        left_out = self.seen.left_out.count + self.qrels.left_out.count
        return replace(found, rows_left_out=left_out)

    @cached_property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers."""
        return all(piece.are_whole for piece in self._pieces)

    @cached_property
    def not_averaged(self) -> Mapping[str, int]:
        """How many queries of the qrels are not averaged, by a key of WHY."""
        names = self._pieces[0].not_averaged
        return {name: sum(one.not_averaged[name] for one in self._pieces) for name in names}

    @cached_property
    def unknown(self) -> Collection[bytes]:
        """The queries of the run that have no judgments."""
        every = (Ids.of_packed(piece.unknown) for piece in self._pieces)
        return [query for ids in every for query in ids.to_list()]

    @cached_property
    def missing(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return _in_order([piece.missing for piece in self._pieces])[1]

    @cached_property
    def sample(self) -> Qrels | None:
        """The judged documents of the first queries of the run, where ids are to be compared."""
        if self.seen.n_hits or not self.seen.n_shared:
            return None
        judged = set(self.query_ids if self._pieces[0].ids is None else self._parts.query_ids)
        for load in self.run.every_row(()):
            block = load()
            queries = block.query.take(block.query.begins()).to_list()
            if shared := judged.intersection(map(decode, queries)):
                return self._parts.of_queries(shared)
        return None

    @property
    def affix(self) -> str | None:
        """What the documents' ids of one side have before or behind those of the other, in words.

        None if there is no such thing, or documents are spans.
        """
        if self._parts.judged.has_spans:
            return None
        from cranfield.data.spelling import affix_of

        return affix_of(self.sample or self.qrels, self.run)
