"""Meeting: a run that has met the judgments, with counts of its queries and what to know of it."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools
from cranfield.data.averaged import Averaged
from cranfield.data.counts import Counts
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.match import Match
from cranfield.data.order import Dropped
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    Look,
    distance_note,
    duplicates_of,
    level_scores,
    mostly,
    nothing_judged,
)
from cranfield.formats.block import Duplicates, HeldRows, LeftOut, Order, Role
from cranfield.formats.objects import Nested
from cranfield.lazy import cached_property
from cranfield.notes import Note, Severity
from cranfield.progress import unwatched
from cranfield.render.numbers import number_of, queries_of, short


class Seen(NamedTuple):
    """What was seen of a run as it met the judgments, as far as notes depend on it."""

    n_queries: int  # averaged
    n_shared: int  # queries of the qrels that the run has
    n_some: int  # and for which it has a document
    n_several: int  # and several of them
    n_hits: int
    n_tied: int  # for these three see `Placed`
    n_level: int
    n_unsorted: int
    n_below: int  # documents that were not retrieved, and are ranked below those that were
    n_copied: int  # documents of the run, if these and their scores are the judgments; else 0
    lists: tuple[int, int]  # queries of several judged documents; those with just these as rows
    n_unjudged: int  # documents that were dropped as unjudged, or of a negative grade
    left_out: LeftOut  # for these see `Match`
    repeated: LeftOut
    made: tuple[int, int]
    dropped: Dropped
    regrouped: bool

    def together(self, other: "Seen") -> "Seen":
        """Return what was seen of two parts of the queries."""
        both = zip(self, other, strict=True)
        return Seen(*(_both(one, another) for one, another in both))


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(map(sum, zip(one, other, strict=True)))
    return one or other if isinstance(one, bool) else one + other


class Met:
    """A run that has met the judgments, and what to know of it: base class of `Meeting`.

    `whole`: whether these are all queries of the run, and not one of them.
    """

    qrels: Qrels
    run: Run
    judging: Judging
    whole: bool
    n_queries: int  # that are averaged
    n_hits: int  # judged documents that were retrieved
    seen: Seen  # what notes depend on
    are_whole: bool  # whether all grades are whole numbers
    unknown: Collection[Any]  # the queries of the run without judgments, as texts or bytes
    missing: Sequence[str]  # the queries of the qrels that the run lacks
    not_averaged: Mapping[str, int]  # how many queries of the qrels are not, by a key of WHY
    answered: Bools  # for which of the averaged queries something was retrieved: (n_queries,)
    has_relevant: Bools  # which of these have a document of a grade above 0: (n_queries,)
    #: For a query of a run: what `order_notes` says of the whole run; None: this is the whole run.
    order_notes: Callable[[], Iterable[Note]] | None = None

    def counts_of(self, rows: Bools) -> Counts:
        """Return the number of some of the queries, and of those without results or relevance."""
        n = int(np.count_nonzero(rows))
        answered, has_relevant = self.answered[rows], self.has_relevant[rows]
        return Counts(
            queries=n,
            without_results=n - int(np.count_nonzero(answered)),
            without_relevant=n - int(np.count_nonzero(has_relevant)),
            without_judgments=0,
        )

    @property
    def affix(self) -> str | None:
        """What the documents' ids of one side have before or behind those of the other, in words.

        None if there is no such thing, or documents are spans.
        """
        if self.qrels.spans is not None:
            return None
        from cranfield.data.spelling import affix_of

        return affix_of(self.qrels, self.run)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What else to know of the run and the judgments."""
        by = _ranked_by(self)
        return (*map(_hinting, _suspicions(self, by)), *_notes(self, by))


@dataclass(eq=False, repr=False)
class Meeting(Met):
    """What judge returns: the judged run, the queries that are averaged, and where they came from.

    Of its queries, or of a part of them.
    """

    judged: Judged
    averaged: Averaged
    qrels: Qrels
    run: Run
    match: Match
    judging: Judging
    whole: bool
    n_below: int = 0
    n_unjudged: int = 0

    def __post_init__(self) -> None:
        self.query_ids, self.in_run = self.averaged.query_ids, self.averaged.in_run
        self.n_queries, self.n_hits = len(self.query_ids), len(self.match.row)
        self.unknown, self.not_averaged = self.match.unknown, self.averaged.left_out

    @cached_property
    def answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        found: Bools = self.averaged.n_retrieved > 0
        return found

    @cached_property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        return self.judged.n_relevant(self.judged.above_zero)[:, 0] > 0

    @cached_property
    def missing(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return [self.qrels.query_ids[i] for i in np.flatnonzero(~self.match.in_run).tolist()]

    @cached_property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers."""
        return self.judged.are_whole

    @cached_property
    def seen(self) -> Seen:
        """What notes depend on."""
        match, placed = self.match, self.match.placed
        return Seen(
            self.n_queries,
            int(np.count_nonzero(match.in_run)),
            int(np.count_nonzero(match.n_retrieved)),
            int(np.count_nonzero(match.n_retrieved > 1)),
            self.n_hits,
            *(placed.n_tied, placed.n_level, placed.n_unsorted, self.n_below),
            *(self._count_copied(), self._count_lists(), self.n_unjudged),
            match.left_out,
            match.repeated,
            match.made,
            match.dropped,
            match.regrouped,
        )

    def _count_copied(self) -> int:
        """Return the number of judged documents, if the run has these with their grades; else 0."""
        qrels, run, match, hits = self.qrels, self.run, self.match, self.judged.hits
        has_others = match.unknown or match.repeated.count or not run.has_scores
        if has_others or not self.n_hits == len(qrels) == match.n_retrieved.sum():
            return 0
        is_below = (hits.query[1:] == hits.query[:-1]) & (hits.grade[1:] > hits.grade[:-1])
        with unwatched():  # it was read before
            is_copy = not is_below.any() and run.skipping().to_dict() == qrels.to_dict()
        return self.n_hits if is_copy else 0

    def _count_lists(self) -> tuple[int, int]:
        """Return how many queries have several judged documents, and how many just these as rows.

        (0, 0) unless the run or the judgments are lists.
        """
        qrels, match = self.qrels, self.match
        if qrels.graded and not self.run.rows.is_ranking:
            return 0, 0
        n_judged = np.diff(qrels.starts)
        n_hits = np.bincount(qrels.query[match.row], minlength=len(n_judged))
        is_same = (match.n_retrieved == n_judged) & (n_hits == n_judged) & (n_judged > 1)
        return int(np.count_nonzero(n_judged > 1)), int(np.count_nonzero(is_same))

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        over, match, judged = self.averaged, self.match, self.judged
        return Counts(
            queries=self.n_queries,
            without_results=self.n_queries - int(np.count_nonzero(over.n_retrieved)),
            without_relevant=int(np.count_nonzero(judged.n_relevant(judged.above_zero) == 0)),
            without_judgments=len(match.unknown) - over.n_unjudged,
            without_run=over.left_out.get("both", 0),
            none_retrieved=over.left_out.get("retrieved", 0),
            none_relevant=over.left_out.get("relevant", 0),
            unjudged_queries=over.n_unjudged,
            rows_left_out=match.left_out.count + self.qrels.left_out.count,
            tied=match.placed.n_tied,
        )


def own_judgments(met: Met, severity: Severity = "warning") -> Iterator[Note]:
    """Say that the judgments seem to be the run: its scores are the grades, or its lists theirs."""
    qrels, seen = met.qrels, met.seen
    if not seen.n_hits or qrels.in_groups or qrels.lists_of == "grades":
        return
    n, n_same = seen.lists
    is_long = seen.n_hits >= _FEWEST and seen.n_several > 0
    if seen.n_copied == seen.n_hits and _ranked_by(met) == "score":
        if is_long or qrels.grade.min() < qrels.grade.max():
            text = "its documents are the same, its numbers grades"
            yield Note("qrels-as-run", severity, f"{_AS_RUN}: {text}", count=seen.n_hits)
    elif n >= _FEWEST and 20 * n_same >= 19 * n and qrels.grade.min() == qrels.grade.max():
        text = f"in {n_same:,} of {queries_of(n)} with several expected documents, just these were "
        yield Note("qrels-as-run", severity, f"{_AS_RUN}: {text}retrieved", n_same, count=n_same)


_AS_RUN = "the judgments seem to be given as a run"
_FEWEST = 5  # lists, or rows of one grade: fewer may be so by chance


def _hinting(note: Note) -> Note:
    if not note.is_grave:
        return note
    sign = "" if note.text.endswith(("?", ".")) else "."
    return replace(note, text=f"{note.text}{sign} `cranfield check` shows more.")


def _suspicions(met: Met, by: Order) -> Iterator[Note]:
    """Say what looks as if the run were read in another way than it was meant."""
    qrels, run, seen = met.qrels, met.run, met.seen
    if by == "score":
        n_level = seen.n_level
        if n_level and met.judging.in_one_order and met.judging.ties != "given":
            rarely = 2 * seen.n_several < seen.n_some  # most have one document
            if mostly(n_level, seen.n_several) and not rarely:
                yield level_scores(n_level, seen.n_several)
        if not met.are_whole and _scores_are_grades(run):
            text = "The judgments are fractions and the run's scores grades: are they swapped?"
            yield Note("swapped", "warning", text, 1)
        if run.nested is not None or seen.n_unsorted:
            notes_of_run = met.order_notes
            yield from notes_of_run() if notes_of_run else order_notes(qrels, run)
    yield from own_judgments(met)
    if met.unknown and (missing := met.missing):
        from cranfield.data.spelling import queries_spelt_otherwise

        yield from queries_spelt_otherwise(missing, met.unknown)
    if not seen.n_hits and seen.n_some:
        whole = met.whole and qrels.lists_of != "grades"
        yield nothing_judged(met.affix, whole=whole)


def _ranked_by(met: Met) -> Order:
    order = met.judging.order
    return order if met.run.nested is not None else met.run.ranked_by(order)


def _notes(met: Met, by: Order) -> Iterator[Note]:
    qrels, run, seen = met.qrels, met.run, met.seen
    yield from notes_on(qrels)
    if not met.are_whole:
        text = f"Grades are fractions, from {qrels.range_of_grades}: taken as they are."
        yield Note("fractions", "info", text)
    if run.lists_of == "ids":
        rows = "" if run.sources else "; rows are tuples"
        text = f"Read as lists of ids, one for each query, numbered from 1{rows}."
        yield Note("lists", "info", text, seen.n_queries)
    yield from _left_out("the run", seen.left_out, seen.repeated, met.judging.duplicates)
    if run.made_of is not None:
        yield run.made_of.note(*seen.made)
    is_told = run.nested is not None or run.has_lists or run.lists_of  # by what it is ranked
    if not is_told and met.judging.order == "score" and by != "score":
        how = "by its rank column" if by == "rank" else "in the order of its rows"
        yield Note("no-scores", "info", f"The run has no scores: ranked {how}.")
    if run.rows.distance is not None and by == "score":
        yield distance_note(run.rows.distance)
    if n_tied := seen.n_tied:
        what = " in rank" if by == "rank" else ""
        text = f"{n_tied:,} documents are tied{what}: {met.judging.tie_rule}."
        yield Note("ties", "info", text, count=n_tied)
    if met.judging.drops or seen.n_below or seen.n_unjudged:
        yield from _changed(met)
    if run.rows.lists or isinstance(run.rows, HeldRows):
        yield from run.rows.notes
    if seen.regrouped:
        text = "The run's queries are not in one piece: it was read into memory whole."
        yield Note("apart", "info", text)
    if not met.whole and not seen.n_hits:
        from cranfield.data.spelling import other_spelling

        other = other_spelling(qrels, run)
        if other is not None:
            yield Note("spelling", "warning", f"{other.problem}.", 1)


def notes_on(qrels: Qrels) -> Iterator[Note]:
    """Yield notes on judgments that apply to every run."""
    yield from qrels.notes
    if not (qrels.graded or qrels.listed):
        yield NO_GRADES
    yield from _left_out("the qrels", qrels.left_out, qrels.repeated, qrels.duplicates)
    if qrels.chunks is not None:
        from cranfield.data.chunks import merged_note

        yield merged_note(*qrels.chunks, None)


def _left_out(name: str, left_out: LeftOut, repeated: LeftOut, kept: Duplicates) -> Iterator[Note]:
    """Yield how many rows could not be used, and how many had a document that another one has."""
    if left_out.count:
        yield Note("left-out", "info", left_out.said(name), count=left_out.count)
    if repeated.count:
        yield duplicates_of(name, repeated, kept)


def _changed(met: Met) -> Iterator[Note]:
    """Say what was dropped of the run before it was ranked, and what was put below it."""
    seen = met.seen
    n_own, n_low = seen.dropped
    least = short(met.judging.scores_above or 0)
    for code, n, why in (
        ("identical-ids", n_own, " before ranking: their ids are those of the queries"),
        ("scores-above", n_low, f" before ranking: their scores are not above {least}"),
        ("judged-only", seen.n_unjudged, ": unjudged, or of a negative grade"),
    ):
        if n:
            text = f"{number_of(n, 'document')} of the run dropped{why}."
            yield Note(code, "info", text, count=n)
    if n := seen.n_below:
        were = f"{number_of(n, 'judged document')} not retrieved, put below all that were"
        text = f"{were}, as if of one score: {met.judging.tie_rule}."
        yield Note("below", "info", text, count=n)


NO_GRADES = Note(
    "no-grades", "info", "No grades: every document of the judgments is relevant, grade 1."
)
_BLOCKS_LOOKED_AT = 2
_DICTS_LOOKED_AT = 20  # queries of three documents or more


def _look_at_dict(nested: Nested, query_ids: Iterable[str]) -> Look | None:
    """Look at the scores of a dict; None if its first queries show that they are in no such order.

    The scores of other queries are not looked at: without judgments, nobody has checked them.
    """
    rankings = [docs.values() for docs in map(nested.get, query_ids) if docs]
    n_odd = n_first = 0
    for scores in islice((scores for scores in rankings if len(scores) > 2), _DICTS_LOOKED_AT):
        n_first, n = n_first + 1, len(scores)
        first, last = float(next(iter(scores))), float(next(reversed(scores)))
        may_be_ranks = first.is_integer() and 0 <= min(first, last) <= max(first, last) <= n
        n_odd += may_be_ranks or (first < last and len(rankings) > 1)
    if 5 * n_odd < 4 * max(n_first, 1):
        return None
    column = np.array([*chain.from_iterable(rankings)], np.float64)
    return Look.at(np.cumsum([0, *map(len, rankings)]), column, None)


_HIGH_GRADE = 10


def _scores_are_grades(run: Run) -> bool:
    """Tell whether the first scores of a run look like grades: small whole numbers."""
    if run.nested is not None:
        every = chain.from_iterable(docs.values() for docs in run.nested.values())
        scores = np.array([*islice(every, 1000)], np.float64)
    else:
        with unwatched():
            first = next(iter(run.skipping().every_row(["score"])))().value
        scores = np.zeros(0) if first is None else first
    small = (scores >= 0) & (scores <= _HIGH_GRADE) & (scores == np.floor(scores))
    return bool(small.all() and scores.any())  # lists have scores from 0 down


def notes_on_order(runs: Iterable[Run]) -> list[Note]:
    """Return what is odd about the order of runs, for verbs whose results do not say it."""
    return [note.of(run.name) for run in runs if run.has_scores for note in order_notes(None, run)]


def order_notes(qrels: Qrels | None, run: Run) -> Iterator[Note]:
    """Say whether the scores of a run look like ranks or distances, or its ranks contradict them.

    Of a run that is no dict, the first blocks are looked at. Faults of the rank column itself do
    not matter: the run is ranked by its scores.
    """
    if run.nested is not None:
        with contextlib.suppress(TypeError, ValueError):  # where one query is explained, of others
            query_ids = run.nested if qrels is None else qrels.query_ids
            if look_at_all := _look_at_dict(run.nested, query_ids):
                yield from look_at_all.notes(run.rows)
        return
    from cranfield.data.regroup import together

    wanted: list[Role] = ["score", "rank"] if "rank" in run.numbers else ["score"]
    with unwatched():  # it was read before
        loads = list(islice(run.skipping().every_row(wanted), _BLOCKS_LOOKED_AT + 1))
    look = Look()
    for load in loads[:_BLOCKS_LOOKED_AT]:
        block = together(load())
        if block.value is not None:
            look += Look.at(np.append(block.query.begins(), len(block)), block.value, block.rank)
    yield from look.notes(run.rows, whole=len(loads) <= _BLOCKS_LOOKED_AT)
