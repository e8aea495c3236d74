"""Meeting: a run that has met the judgments, with counts of its queries and what to know of it."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import gt, le, lt
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.grades import are_whole
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
    are_ranks,
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
    n_unlike: int  # 0 if the rows may be the judgments: all documents, by falling grades
    n_lists: int  # queries of several judged documents, where the run or the judgments are lists
    n_same_lists: int  # of these: whose retrieved documents are the judged ones
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
    #: For a query of a run: what `order_notes` says of the whole run; None: this is the whole run.
    order_notes: Callable[[], Iterable[Note]] | None = None

    @property
    def seen(self) -> Seen:
        """What notes depend on."""
        raise NotImplementedError

    @property
    def n_queries(self) -> int:
        """How many queries are averaged."""
        return self.seen.n_queries

    @property
    def n_hits(self) -> int:
        """How many judged documents were retrieved."""
        return self.seen.n_hits

    @property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers."""
        raise NotImplementedError

    @property
    def unknown(self) -> Collection[Any]:
        """The queries of the run that have no judgments, as texts or bytes."""
        raise NotImplementedError

    @property
    def missing(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        raise NotImplementedError

    @property
    def not_averaged(self) -> Mapping[str, int]:
        """How many queries of the qrels are not averaged, by a key of WHY."""
        raise NotImplementedError

    @property
    def answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        raise NotImplementedError

    @property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        raise NotImplementedError

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
    order_notes: Callable[[], Iterable[Note]] | None = None

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries of `judged`."""
        return self.averaged.query_ids

    @property
    def in_run(self) -> Bools:
        """Which of the queries the run has: (n_queries,)."""
        return self.averaged.in_run

    @property
    def answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        found: Bools = self.averaged.n_retrieved > 0
        return found

    @property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        return self.judged.n_relevant(self.judged.above_zero)[:, 0] > 0

    @property
    def missing(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return [self.qrels.query_ids[i] for i in np.flatnonzero(~self.match.in_run).tolist()]

    @property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers."""
        return self.judged.are_whole

    @property
    def unknown(self) -> Collection[Any]:
        """The queries of the run that have no judgments, as texts or bytes."""
        return self.match.unknown

    @property
    def not_averaged(self) -> Mapping[str, int]:
        """How many queries of the qrels are not averaged, by a key of WHY."""
        return self.averaged.left_out

    @property
    def n_queries(self) -> int:
        """How many queries are averaged."""
        return len(self.averaged.query_ids)

    @property
    def n_hits(self) -> int:
        """How many judged documents were retrieved."""
        return len(self.match.row)

    @cached_property
    def seen(self) -> Seen:
        """What notes depend on."""
        match, placed = self.match, self.match.placed
        n_lists, n_same_lists = self._count_lists()
        return Seen(
            self.n_queries,
            int(np.count_nonzero(match.in_run)),
            int(np.count_nonzero(match.n_retrieved)),
            int(np.count_nonzero(match.n_retrieved > 1)),
            self.n_hits,
            *(placed.n_tied, placed.n_level, placed.n_unsorted, self.n_below),
            *(self._count_unlike(), n_lists, n_same_lists, self.n_unjudged),
            match.left_out,
            match.repeated,
            match.made,
            match.dropped,
            match.regrouped,
        )

    def _count_unlike(self) -> int:
        """Return how many rows show that the run is not the judgments, ranked by their grades."""
        match, hits = self.match, self.judged.hits
        if self.n_hits != len(self.qrels.grade):
            return 1
        is_inverted = (hits.query[1:] == hits.query[:-1]) & (hits.grade[1:] > hits.grade[:-1])
        n_rows = int(match.n_retrieved.sum()) + sum(match.unknown.values())
        return n_rows - self.n_hits + int(np.count_nonzero(is_inverted))

    def _count_lists(self) -> tuple[int, int]:
        """Return how many queries have several judged documents, and how many just these as rows.

        (0, 0) unless the run has no scores, or the judgments no grades.
        """
        qrels, match = self.qrels, self.match
        if self.run.has_scores and qrels.graded:
            return 0, 0
        n_judged = np.diff(qrels.starts)
        n_hits = np.bincount(qrels.query[match.row], minlength=len(n_judged))
        is_same = (match.n_retrieved == n_judged) & (n_hits == n_judged) & (n_judged > 1)
        return int(np.count_nonzero(n_judged > 1)), int(np.count_nonzero(is_same))

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        over, match, judged = self.averaged, self.match, self.judged
        n_queries = len(over.query_ids)
        return Counts(
            queries=n_queries,
            without_results=n_queries - int(np.count_nonzero(over.n_retrieved)),
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
    qrels, run, seen = met.qrels, met.run, met.seen
    if not seen.n_hits or qrels.in_groups or qrels.lists_of == "grades":
        return
    n, n_same, grades = seen.n_lists, seen.n_same_lists, qrels.grade
    text = "the judgments seem to be given as a run: "
    may_be_copy = not seen.n_unlike and run.has_scores and _ranked_by(met) == "score"
    is_long = seen.n_hits >= _FEWEST or (may_be_copy and grades.min() < grades.max())
    is_beside = n >= _FEWEST and any(note.code == "judged-retrieved" for note in qrels.notes)
    if may_be_copy and is_long and _has_grades(run, qrels):
        text += "its documents are the same, its numbers grades"
        yield Note("qrels-as-run", severity, text, count=seen.n_hits)
    elif n >= _FEWEST and 20 * n_same >= 19 * n and not is_beside and grades.min() == grades.max():
        text += f"in {n_same:,} of {queries_of(n)} with several expected documents, just these "
        text += "were retrieved"
        yield Note("qrels-as-run", severity, text, n_same, count=n_same)


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
            yield from notes_of_run() if notes_of_run else order_notes(qrels, run, seen.regrouped)
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
        ("identical-ids", n_own, "their ids are those of the queries"),
        ("scores-above", n_low, f"their scores are not above {least}"),
    ):
        if n:
            text = f"{number_of(n, 'document')} of the run dropped before ranking: {why}."
            yield Note(code, "info", text, count=n)
    if n := seen.n_unjudged:
        text = f"{number_of(n, 'document')} of the run dropped: unjudged, or of a negative grade."
        yield Note("judged-only", "info", text, count=n)
    if n := seen.n_below:
        were = f"{number_of(n, 'judged document')} not retrieved, put below all that were"
        text = f"{were}, as if of one score: {met.judging.tie_rule}."
        yield Note("below", "info", text, count=n)


NO_GRADES = Note(
    "no-grades", "info", "No grades: every document of the judgments is relevant, grade 1."
)
_BLOCKS_LOOKED_AT = 2
_DICTS_LOOKED_AT = 10  # queries of several documents, of which few have three


def _look_at_dict(nested: Nested, qrels: Qrels) -> Look:
    """Look whether the scores of a dict are ranks, or rise: its first queries show that not.

    The scores of queries without judgments are not looked at: nobody has checked them.
    """
    look = Look()
    for docs in map(nested.get, qrels.query_ids):
        if docs is None or len(docs) < 2:
            continue
        n, scores, lower = len(docs), docs.values(), islice(docs.values(), 1, None)
        look.several, look.longest = look.several + 1, max(look.longest, n)
        first, last = float(next(iter(scores))), float(next(reversed(scores)))
        if max(first, last) <= n and first.is_integer() and are_ranks(np.array([*scores], float)):
            look.like_ranks += 1
            look.n_falling += first > last and all(map(gt, scores, lower))
        if n > 2:
            look.n_long += 1
            look.n_rising += first < last and all(map(le, scores, lower))
            look.n_strict += first < last and all(map(lt, scores, islice(scores, 1, None)))
        may_rise = look.n_long - look.n_rising <= 2 or mostly(look.n_rising, look.n_long)
        if look.several >= _DICTS_LOOKED_AT:
            may_rise = mostly(look.n_rising, look.several)
        n_others = look.several - look.like_ranks + look.n_falling
        if not may_rise and n_others > 2 and not look.mostly_ranks:
            break
    return look


_HIGH_GRADE = 10


def _has_grades(run: Run, qrels: Qrels) -> bool:
    """Tell whether the scores of a run are from the lowest to the highest grade, and as whole."""
    grades = qrels.grade
    if run.nested is not None:
        rankings = run.nested.values()
        scores = np.array([score for docs in rankings for score in docs.values()], np.float64)
    else:
        with unwatched():  # it was read before
            blocks = [load() for load in run.skipping().every_row(["score"])]
        scores = np.concatenate([block.value for block in blocks])
    if (scores.min(), scores.max()) != (grades.min(), grades.max()):
        return False
    return bool((scores == np.floor(scores)).all()) == are_whole(grades)


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


def order_notes(qrels: Qrels, run: Run, is_apart: bool = False) -> Iterator[Note]:
    """Say whether the scores of a run look like ranks or distances, or its ranks contradict them.

    Of a run that is no dict, the first blocks are looked at. Faults of the rank column itself do
    not matter: the run is ranked by its scores. `is_apart`: whether queries come back after others;
    then whole numbers, which may be ranks, are looked at in whole queries.
    """
    if run.nested is not None:
        with contextlib.suppress(TypeError, ValueError):  # where one query is explained, of others
            yield from _look_at_dict(run.nested, qrels).notes()
        return
    from cranfield.data.regroup import regrouped, together

    wanted: list[Role] = ["score", "rank"] if "rank" in run.numbers else ["score"]
    rows = run.skipping()
    with unwatched():  # it was read before
        loads = list(islice(rows.every_row(wanted), _BLOCKS_LOOKED_AT + 1))
        blocks = [together(load()) for load in loads[:_BLOCKS_LOOKED_AT]]
        columns = [block.value for block in blocks if block.value is not None]
        if (
            is_apart
            and len(loads) > 1
            and all((column == np.floor(column)).all() for column in columns)
        ):
            loads = list(islice(regrouped(rows.every_row(wanted)), _BLOCKS_LOOKED_AT + 1))
            blocks = [load() for load in loads[:_BLOCKS_LOOKED_AT]]
    look = Look()
    for block in blocks:
        if block.value is not None:
            look += Look.at(np.append(block.query.begins(), len(block)), block.value, block.rank)
    is_whole = len(loads) <= _BLOCKS_LOOKED_AT
    yield from look.notes(run.rows, whole=is_whole)
