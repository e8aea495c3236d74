"""Meeting: a run that has met the judgments, with counts of its queries and what to know of it."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools
from cranfield.data.averaged import Averaging
from cranfield.data.counts import Counts
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.match import Match
from cranfield.data.order import DroppedCounts
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    ScoreOrder,
    distance_note,
    duplicates_note,
    equal_scores_note,
    holds_mostly,
    no_judged_doc_note,
)
from cranfield.formats.block import Duplicates, FaultyRows, MemoryRows, Order, Role
from cranfield.formats.objects import Nested
from cranfield.lazy import cached_property
from cranfield.notes import Note, Severity
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_count, format_query_count, format_short


class RunFacts(NamedTuple):
    """What was seen of a run as it met the judgments, as far as notes depend on it."""

    n_queries: int  # averaged
    n_shared: int  # queries of the qrels that the run has
    n_answered: int  # and for which it has a document
    n_multi_doc: int  # and several of them
    n_hits: int
    n_tied: int  # for these three see `Placed`
    n_all_tied: int
    n_unsorted: int
    n_appended: int  # documents that were not retrieved, and are ranked below those that were
    n_copied: int  # documents of the run, if these and their scores are the judgments; else 0
    list_counts: tuple[
        int, int
    ]  # queries of several judged documents; those with just these as rows
    n_unjudged: int  # documents that were dropped as unjudged, or of a negative grade
    left_out: FaultyRows  # for these see `Match`
    repeats: FaultyRows
    conversion_counts: tuple[int, int]
    dropped_counts: DroppedCounts
    is_regrouped: bool

    def add(self, other_facts: "RunFacts") -> "RunFacts":
        """Return what was seen of two parts of the queries."""
        pairs = zip(self, other_facts, strict=True)
        return RunFacts(*(_add_facts(fact, other_fact) for fact, other_fact in pairs))


def _add_facts(fact: Any, other_fact: Any) -> Any:
    if isinstance(fact, tuple):
        return tuple(map(sum, zip(fact, other_fact, strict=True)))
    return fact or other_fact if isinstance(fact, bool) else fact + other_fact


class JudgedRun:
    """A run that has met the judgments, and what to know of it: base class of `Meeting`.

    `whole`: whether these are all queries of the run, and not one of them.
    """

    qrels: Qrels
    run: Run
    judging: Judging
    all_queries: bool
    n_queries: int  # that are averaged
    n_hits: int  # judged documents that were retrieved
    facts: RunFacts  # what notes depend on
    has_whole_grades: bool  # whether all grades are whole numbers
    unjudged_queries: Collection[Any]  # the queries of the run without judgments, as texts or bytes
    missing_queries: Sequence[str]  # the queries of the qrels that the run lacks
    left_out_counts: Mapping[str, int]  # how many queries of the qrels are not, by a key of WHY
    is_answered: Bools  # for which of the averaged queries something was retrieved: (n_queries,)
    has_relevant: Bools  # which of these have a document of a grade above 0: (n_queries,)
    #: For a query of a run: what `order_notes` says of the whole run; None: this is the whole run.
    find_order_notes: Callable[[], Iterable[Note]] | None = None

    def count_queries(self, is_selected: Bools) -> Counts:
        """Return the number of some of the queries, and of those without results or relevance."""
        n = int(np.count_nonzero(is_selected))
        is_answered, has_relevant = self.is_answered[is_selected], self.has_relevant[is_selected]
        return Counts(
            queries=n,
            without_results=n - int(np.count_nonzero(is_answered)),
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
        from cranfield.data.spelling import find_affix

        return find_affix(self.qrels, self.run)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What else to know of the run and the judgments."""
        order = _ranking_order(self)
        return (*map(_add_hint, _suspect_misreading(self, order)), *_describe_run(self, order))


@dataclass(eq=False, repr=False)
class MatchedRun(JudgedRun):
    """What judge returns: the judged run, the queries that are averaged, and where they came from.

    Of its queries, or of a part of them.
    """

    judged: Judged
    averaging: Averaging
    qrels: Qrels
    run: Run
    match: Match
    judging: Judging
    all_queries: bool
    n_appended: int = 0
    n_unjudged: int = 0

    def __post_init__(self) -> None:
        self.query_ids, self.is_in_run = self.averaging.query_ids, self.averaging.is_in_run
        self.n_queries, self.n_hits = len(self.query_ids), len(self.match.row)
        self.unjudged_queries, self.left_out_counts = (
            self.match.unjudged_queries,
            self.averaging.left_out_counts,
        )

    @cached_property
    def is_answered(self) -> Bools:
        """For which of the averaged queries something was retrieved: (n_queries,)."""
        is_answered: Bools = self.averaging.n_retrieved > 0
        return is_answered

    @cached_property
    def has_relevant(self) -> Bools:
        """Which of the averaged queries have a document of a grade above 0: (n_queries,)."""
        return self.judged.n_relevant(self.judged.above_zero)[:, 0] > 0

    @cached_property
    def missing_queries(self) -> Sequence[str]:
        """The queries of the qrels that the run lacks."""
        return [self.qrels.query_ids[i] for i in np.flatnonzero(~self.match.is_in_run).tolist()]

    @cached_property
    def has_whole_grades(self) -> bool:
        """Whether all grades are whole numbers."""
        return self.judged.has_whole_grades

    @cached_property
    def facts(self) -> RunFacts:
        """What notes depend on."""
        match, placement = self.match, self.match.placement
        return RunFacts(
            self.n_queries,
            int(np.count_nonzero(match.is_in_run)),
            int(np.count_nonzero(match.n_retrieved)),
            int(np.count_nonzero(match.n_retrieved > 1)),
            self.n_hits,
            *(placement.n_tied, placement.n_all_tied, placement.n_unsorted, self.n_appended),
            *(self._count_copied(), self._count_lists(), self.n_unjudged),
            match.left_out,
            match.repeats,
            match.conversion_counts,
            match.dropped_counts,
            match.is_regrouped,
        )

    def _count_copied(self) -> int:
        """Return the number of judged documents, if the run has these with their grades; else 0."""
        qrels, run, match, hits = self.qrels, self.run, self.match, self.judged.hits
        is_no_copy = match.unjudged_queries or match.repeats.count or not run.has_scores
        if is_no_copy or not self.n_hits == len(qrels) == match.n_retrieved.sum():
            return 0
        is_below = (hits.query[1:] == hits.query[:-1]) & (hits.grade[1:] > hits.grade[:-1])
        with hide_progress():  # it was read before
            is_copy = not is_below.any() and run.skip_faults().to_dict() == qrels.to_dict()
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
        has_judged_rows = (match.n_retrieved == n_judged) & (n_hits == n_judged) & (n_judged > 1)
        return int(np.count_nonzero(n_judged > 1)), int(np.count_nonzero(has_judged_rows))

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        averaging, match, judged = self.averaging, self.match, self.judged
        return Counts(
            queries=self.n_queries,
            without_results=self.n_queries - int(np.count_nonzero(averaging.n_retrieved)),
            without_relevant=int(np.count_nonzero(judged.n_relevant(judged.above_zero) == 0)),
            without_judgments=len(match.unjudged_queries) - averaging.n_unjudged,
            without_run=averaging.left_out_counts.get("both", 0),
            none_retrieved=averaging.left_out_counts.get("retrieved", 0),
            none_relevant=averaging.left_out_counts.get("relevant", 0),
            unjudged_queries=averaging.n_unjudged,
            rows_left_out=match.left_out.count + self.qrels.left_out.count,
            tied=match.placement.n_tied,
        )


def find_own_judgments(judged_run: JudgedRun, severity: Severity = "warning") -> Iterator[Note]:
    """Say that the judgments seem to be the run: its scores are the grades, or its lists theirs."""
    qrels, facts = judged_run.qrels, judged_run.facts
    if not facts.n_hits or qrels.has_groups or qrels.list_kind == "grades":
        return
    n_lists, n_copied_lists = facts.list_counts
    is_long = facts.n_hits >= _MIN_LISTS and facts.n_multi_doc > 0
    if facts.n_copied == facts.n_hits and _ranking_order(judged_run) == "score":
        if is_long or qrels.grade.min() < qrels.grade.max():
            text = "its documents are the same, its numbers grades"
            yield Note("qrels-as-run", severity, f"{_JUDGMENTS_AS_RUN}: {text}", count=facts.n_hits)
    elif (
        n_lists >= _MIN_LISTS
        and 20 * n_copied_lists >= 19 * n_lists
        and qrels.grade.min() == qrels.grade.max()
    ):
        text = f"in {n_copied_lists:,} of {format_query_count(n_lists)} with several expected documents, just these were "
        yield Note(
            "qrels-as-run",
            severity,
            f"{_JUDGMENTS_AS_RUN}: {text}retrieved",
            n_copied_lists,
            count=n_copied_lists,
        )


_JUDGMENTS_AS_RUN = "the judgments seem to be given as a run"
_MIN_LISTS = 5  # lists, or rows of one grade: fewer may be so by chance


def _add_hint(note: Note) -> Note:
    if not note.is_grave:
        return note
    sign = "" if note.text.endswith(("?", ".")) else "."
    return replace(note, text=f"{note.text}{sign} `cranfield check` shows more.")


def _suspect_misreading(judged_run: JudgedRun, order: Order) -> Iterator[Note]:
    """Say what looks as if the run were read in another way than it was meant."""
    qrels, run, facts = judged_run.qrels, judged_run.run, judged_run.facts
    if order == "score":
        n_level = facts.n_all_tied
        if n_level and judged_run.judging.has_one_tie_order and judged_run.judging.ties != "given":
            mostly_single = 2 * facts.n_multi_doc < facts.n_answered  # most have one document
            if holds_mostly(n_level, facts.n_multi_doc) and not mostly_single:
                yield equal_scores_note(n_level, facts.n_multi_doc)
        if not judged_run.has_whole_grades and _scores_are_grades(run):
            text = "The judgments are fractions and the run's scores grades: are they swapped?"
            yield Note("swapped", "warning", text, 1)
        if run.docs_of_query is not None or facts.n_unsorted:
            list_notes_of_run = judged_run.find_order_notes
            yield from list_notes_of_run() if list_notes_of_run else find_order_notes(qrels, run)
    yield from find_own_judgments(judged_run)
    if judged_run.unjudged_queries and (missing_queries := judged_run.missing_queries):
        from cranfield.data.spelling import query_spelling_notes

        yield from query_spelling_notes(missing_queries, judged_run.unjudged_queries)
    if not facts.n_hits and facts.n_answered:
        all_queries = judged_run.all_queries and qrels.list_kind != "grades"
        yield no_judged_doc_note(judged_run.affix, all_queries=all_queries)


def _ranking_order(judged_run: JudgedRun) -> Order:
    order = judged_run.judging.order
    return (
        order if judged_run.run.docs_of_query is not None else judged_run.run.resolve_order(order)
    )


def _describe_run(judged_run: JudgedRun, order: Order) -> Iterator[Note]:
    qrels, run, facts = judged_run.qrels, judged_run.run, judged_run.facts
    yield from list_qrels_notes(qrels)
    if not judged_run.has_whole_grades:
        text = f"Grades are fractions, from {qrels.grade_range}: taken as they are."
        yield Note("fractions", "info", text)
    if run.list_kind == "ids":
        rows = "" if run.sources else "; rows are tuples"
        text = f"Read as lists of ids, one for each query, numbered from 1{rows}."
        yield Note("lists", "info", text, facts.n_queries)
    yield from _describe_left_out(
        "the run", facts.left_out, facts.repeats, judged_run.judging.duplicates
    )
    if run.conversion is not None:
        yield run.conversion.make_note(*facts.conversion_counts)
    states_order = (
        run.docs_of_query is not None or run.has_lists or run.list_kind
    )  # by what it is ranked
    if not states_order and judged_run.judging.order == "score" and order != "score":
        order_words = "by its rank column" if order == "rank" else "in the order of its rows"
        yield Note("no-scores", "info", f"The run has no scores: ranked {order_words}.")
    if run.rows.distance_column is not None and order == "score":
        yield distance_note(run.rows.distance_column)
    if n_tied := facts.n_tied:
        by_rank = " in rank" if order == "rank" else ""
        text = f"{n_tied:,} documents are tied{by_rank}: {judged_run.judging.tie_rule}."
        yield Note("ties", "info", text, count=n_tied)
    if judged_run.judging.drops_documents or facts.n_appended or facts.n_unjudged:
        yield from _describe_changes(judged_run)
    if run.rows.list_columns or isinstance(run.rows, MemoryRows):
        yield from run.rows.notes
    if facts.is_regrouped:
        text = "The run's queries are not in one piece: it was read into memory whole."
        yield Note("apart", "info", text)
    if not judged_run.all_queries and not facts.n_hits:
        from cranfield.data.spelling import other_spelling_error

        spelling_error = other_spelling_error(qrels, run)
        if spelling_error is not None:
            yield Note("spelling", "warning", f"{spelling_error.problem}.", 1)


def list_qrels_notes(qrels: Qrels) -> Iterator[Note]:
    """Yield notes on judgments that apply to every run."""
    yield from qrels.notes
    if not (qrels.graded or qrels.is_listed):
        yield NO_GRADES
    yield from _describe_left_out("the qrels", qrels.left_out, qrels.repeats, qrels.duplicates)
    if qrels.chunk_counts is not None:
        from cranfield.data.chunks import chunks_note

        yield chunks_note(*qrels.chunk_counts, None)


def _describe_left_out(
    side: str, left_out: FaultyRows, repeats: FaultyRows, duplicates: Duplicates
) -> Iterator[Note]:
    """Yield how many rows could not be used, and how many had a document that another one has."""
    if left_out.count:
        yield Note("left-out", "info", left_out.describe(side), count=left_out.count)
    if repeats.count:
        yield duplicates_note(side, repeats, duplicates)


def _describe_changes(judged_run: JudgedRun) -> Iterator[Note]:
    """Say what was dropped of the run before it was ranked, and what was put below it."""
    facts = judged_run.facts
    n_identical, n_low = facts.dropped_counts
    threshold = format_short(judged_run.judging.scores_above or 0)
    for code, n, reason in (
        ("identical-ids", n_identical, " before ranking: their ids are those of the queries"),
        ("scores-above", n_low, f" before ranking: their scores are not above {threshold}"),
        ("judged-only", facts.n_unjudged, ": unjudged, or of a negative grade"),
    ):
        if n:
            text = f"{format_count(n, 'document')} of the run dropped{reason}."
            yield Note(code, "info", text, count=n)
    if n := facts.n_appended:
        subject = f"{format_count(n, 'judged document')} not retrieved, put below all that were"
        text = f"{subject}, as if of one score: {judged_run.judging.tie_rule}."
        yield Note("below", "info", text, count=n)


NO_GRADES = Note(
    "no-grades", "info", "No grades: every document of the judgments is relevant, grade 1."
)
_MAX_BLOCKS = 2
_MAX_DICTS = 20  # queries of three documents or more


def _read_score_order(docs_of_query: Nested, query_ids: Iterable[str]) -> ScoreOrder | None:
    """Look at the scores of a dict; None if its first queries show that they are in no such order.

    The scores of other queries are not looked at: without judgments, nobody has checked them.
    """
    rankings = [docs.values() for docs in map(docs_of_query.get, query_ids) if docs]
    n_odd = n_first = 0
    for doc_scores in islice((scores for scores in rankings if len(scores) > 2), _MAX_DICTS):
        n_first, n_docs = n_first + 1, len(doc_scores)
        first, last = float(next(iter(doc_scores))), float(next(reversed(doc_scores)))
        may_be_ranks = first.is_integer() and 0 <= min(first, last) <= max(first, last) <= n_docs
        n_odd += may_be_ranks or (first < last and len(rankings) > 1)
    if 5 * n_odd < 4 * max(n_first, 1):
        return None
    column = np.array([*chain.from_iterable(rankings)], np.float64)
    return ScoreOrder.of_rows(np.cumsum([0, *map(len, rankings)]), column, None)


_HIGH_GRADE = 10


def _scores_are_grades(run: Run) -> bool:
    """Tell whether the first scores of a run look like grades: small whole numbers."""
    if run.docs_of_query is not None:
        all_scores = chain.from_iterable(docs.values() for docs in run.docs_of_query.values())
        scores = np.array([*islice(all_scores, 1000)], np.float64)
    else:
        with hide_progress():
            score_column = next(iter(run.skip_faults().read_columns(["score"])))().score_or_grade
        scores = np.zeros(0) if score_column is None else score_column
    is_small = (scores >= 0) & (scores <= _HIGH_GRADE) & (scores == np.floor(scores))
    return bool(is_small.all() and scores.any())  # lists have scores from 0 down


def list_order_notes(runs: Iterable[Run]) -> list[Note]:
    """Return what is odd about the order of runs, for verbs whose results do not say it."""
    return [
        note.add_source(run.name)
        for run in runs
        if run.has_scores
        for note in find_order_notes(None, run)
    ]


def find_order_notes(qrels: Qrels | None, run: Run) -> Iterator[Note]:
    """Say whether the scores of a run look like ranks or distances, or its ranks contradict them.

    Of a run that is no dict, the first blocks are looked at. Faults of the rank column itself do
    not matter: the run is ranked by its scores.
    """
    if run.docs_of_query is not None:
        with contextlib.suppress(TypeError, ValueError):  # where one query is explained, of others
            query_ids = run.docs_of_query if qrels is None else qrels.query_ids
            if dict_order := _read_score_order(run.docs_of_query, query_ids):
                yield from dict_order.notes(run.rows)
        return
    from cranfield.data.regroup import gather_queries

    roles: list[Role] = ["score", "rank"] if "rank" in run.extra_roles else ["score"]
    with hide_progress():  # it was read before
        loads = list(islice(run.skip_faults().read_columns(roles), _MAX_BLOCKS + 1))
    score_order = ScoreOrder()
    for load in loads[:_MAX_BLOCKS]:
        block = gather_queries(load())
        if block.score_or_grade is not None:
            score_order += ScoreOrder.of_rows(
                np.append(block.query.find_changes(), len(block)), block.score_or_grade, block.rank
            )
    yield from score_order.notes(run.rows, is_whole_run=len(loads) <= _MAX_BLOCKS)
