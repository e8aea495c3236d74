"""MatchedRun: a run after it was judged, with its counts, and the notes that results carry."""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats
from cranfield.data.averaged import Averaging
from cranfield.data.counts import Counts
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.match import Match, RowCounts
from cranfield.data.named_ids import count_relevant
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    distance_note,
    duplicates_note,
    equal_scores_note,
    find_order_notes,
    holds_mostly,
    self_retrieval_notes,
)
from cranfield.data.sketch import QuerySketch, sketch_queries
from cranfield.formats.block import NO_FAULTY_ROWS, Duplicates, FaultyRows, Order
from cranfield.lazy import cached_property
from cranfield.notes import RANK_ORDERS_TIES, Note, Severity
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_count, format_query_count, format_short


class RunFacts(NamedTuple):
    """Facts of a judged run that its notes depend on; facts of parts can be added up."""

    n_queries: int  # averaged
    n_shared: int  # queries of the qrels that the run has
    n_answered: int  # of the shared queries: the run has a document
    n_multi_doc: int  # of the shared queries: the run has several documents
    n_hits: int
    n_missed: int  # judged documents that were not retrieved
    n_retrieved: int  # documents, of the shared queries
    n_tied: int  # n_all_tied and n_unsorted as in `Placement`
    n_all_tied: int
    n_unsorted: int
    n_appended: int  # documents that were not retrieved, and are ranked below those that were
    n_copied: int  # documents of the run, if these and their scores are the judgments; else 0
    # Queries of several judged documents; of these: with just these rows.
    list_counts: tuple[int, int]
    n_unjudged: int  # documents that were dropped as unjudged, or of a negative grade
    rows: RowCounts
    n_queries_of_length: Counter[int]  # {ranked documents: averaged queries}
    n_excluded: int  # relevant documents that were left out of the run
    query_sketches: list[QuerySketch]  # of some shared queries with an answer
    tie_effects: Floats = np.zeros(())  # of a run in parts: see `weigh_ties`


class JudgedRun:
    """A run that was judged, held in memory or in parts, and its notes: base class of `MatchedRun`.

    `all_queries`: the run has all queries of its system, not one query.
    """

    qrels: Qrels
    run: Run
    judging: Judging
    all_queries: bool
    n_queries: int  # averaged queries
    n_hits: int  # judged documents that were retrieved
    facts: RunFacts  # what notes depend on
    has_whole_grades: bool  # whether all grades are whole numbers
    unjudged_queries: Collection[Any]  # the queries of the run without judgments, as texts or bytes
    missing_queries: Sequence[str]  # the queries of the qrels that the run lacks
    left_out_counts: Mapping[str, int]  # {condition: number of queries of the qrels}
    is_answered: Bools  # (n_queries,) whether a document was retrieved, for each averaged query
    has_relevant: Bools  # (n_queries,) whether a document has a grade above 0
    #: For one query: returns the notes of `find_order_notes` on the whole run; None: all queries.
    find_order_notes: Callable[[], Iterable[Note]] | None = None
    #: For one query: judges the whole run; None: all queries.
    judge_run: Callable[[], "JudgedRun"] | None = None

    def count_queries(self, is_selected: Bools) -> Counts:
        """Count the selected queries, and how many have no results or no relevant document."""
        n = int(np.count_nonzero(is_selected))
        is_answered, has_relevant = self.is_answered[is_selected], self.has_relevant[is_selected]
        return Counts(
            queries=n,
            without_results=n - int(np.count_nonzero(is_answered)),
            without_relevant=n - int(np.count_nonzero(has_relevant)),
            without_judgments=0,
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """The notes on the run and the judgments."""
        order = _ranking_order(self)
        return (*map(_add_hint, _suspect_misreading(self, order)), *_describe_run(self, order))


@dataclass(eq=False, repr=False)
class MatchedRun(JudgedRun):
    """What judge returns: a `Judged`, the averaged queries, and the data and match they came from.

    It may hold a part of the run's queries.
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
        self.unjudged_queries = self.match.unjudged_queries
        self.left_out_counts = self.averaging.left_out_counts

    @cached_property
    def is_answered(self) -> Bools:
        """Whether a document was retrieved, for each averaged query: (n_queries,)."""
        is_answered: Bools = self.averaging.n_retrieved > 0
        return is_answered

    @cached_property
    def has_relevant(self) -> Bools:
        """Whether a document has a grade above 0, for each averaged query: (n_queries,)."""
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
        """The facts that notes depend on."""
        match, placement = self.match, self.match.placement
        lengths = self.judged.n_retrieved[:, 0]
        return RunFacts(
            self.n_queries,
            int(np.count_nonzero(match.is_in_run)),
            int(np.count_nonzero(match.n_retrieved)),
            int(np.count_nonzero(match.n_retrieved > 1)),
            self.n_hits,
            len(self.qrels) - self.n_hits,
            int(match.n_retrieved.sum()),
            int(placement.n_tied_of_rank.sum()),
            placement.n_all_tied,
            placement.n_unsorted,
            self.n_appended,
            self._count_copied(),
            self._count_lists(),
            self.n_unjudged,
            match.counts,
            Counter(lengths[lengths > 0].tolist()),
            count_relevant(self.run.exclusions, self.qrels) if self.run.exclusions else 0,
            sketch_queries(self.qrels, match.row, match.unjudged_docs),
        )

    def _count_copied(self) -> int:
        """Return the number of hits if the run is a copy of the judgments with grades; else 0."""
        qrels, run, match, hits = self.qrels, self.run, self.match, self.judged.hits
        is_no_copy = match.unjudged_queries or match.counts.repeats.count or not run.has_scores
        if is_no_copy or not self.n_hits == len(qrels) == match.n_retrieved.sum():
            return 0
        is_below = (hits.query[1:] == hits.query[:-1]) & (hits.grade[1:] > hits.grade[:-1])
        with hide_progress():  # it was read before
            is_copy = not is_below.any() and run.skip_faults().to_dict() == qrels.to_dict()
        return self.n_hits if is_copy else 0

    def _count_lists(self) -> tuple[int, int]:
        """Count the queries with several judged documents, and those of them with just these rows.

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
        """The numbers of queries that are averaged and left out."""
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
            rows_left_out=match.counts.left_out.count + self.qrels.left_out.count,
            tied=self.facts.n_tied,
        )


def find_own_judgments(judged_run: JudgedRun, severity: Severity = "warning") -> Iterator[Note]:
    """Yield a note if the run seems to be the judgments, with grades as scores, or their lists."""
    qrels, facts = judged_run.qrels, judged_run.facts
    if not facts.n_hits or qrels.has_groups or qrels.list_kind == "grades":
        return
    n_lists, n_same_lists = facts.list_counts
    are_copied = n_lists >= _MIN_LISTS and 20 * n_same_lists >= 19 * n_lists
    is_long = facts.n_hits >= _MIN_LISTS and facts.n_multi_doc > 0
    if facts.n_copied == facts.n_hits and _ranking_order(judged_run) == "score":
        if is_long or qrels.grade.min() < qrels.grade.max():
            text = "its documents are the same, its numbers grades"
            yield Note("qrels-as-run", severity, f"{_JUDGMENTS_AS_RUN}: {text}", count=facts.n_hits)
    elif are_copied and qrels.grade.min() == qrels.grade.max():
        queries = f"in {n_same_lists:,} of {format_query_count(n_lists)}"
        text = f"{queries} with several expected documents, just these were retrieved"
        text = f"{_JUDGMENTS_AS_RUN}: {text}"
        yield Note("qrels-as-run", severity, text, n_same_lists, count=n_same_lists)


_JUDGMENTS_AS_RUN = "the judgments seem to be given as a run"
_MIN_LISTS = 5  # lists, or rows of one grade: fewer may be so by chance


def _add_hint(note: Note) -> Note:
    if not note.is_grave:
        return note
    sign = "" if note.text.endswith(("?", ".")) else "."
    return replace(note, text=f"{note.text}{sign} `cranfield check` shows more.")


def _suspect_misreading(judged_run: JudgedRun, order: Order) -> Iterator[Note]:
    """Yield notes if the run seems to be read in another way than it was meant."""
    qrels, run, facts = judged_run.qrels, judged_run.run, judged_run.facts
    judging, n_all_tied = judged_run.judging, facts.n_all_tied
    if order == "score":
        if n_all_tied and judging.has_one_tie_order and judging.ties != "given":
            is_single_doc = 2 * facts.n_multi_doc < facts.n_answered  # most queries
            if holds_mostly(n_all_tied, facts.n_multi_doc) and not is_single_doc:
                yield equal_scores_note(n_all_tied, facts.n_multi_doc)
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
    yield from find_other_ids(judged_run)


def find_other_ids(
    judged_run: JudgedRun, severity: Severity = "warning", n_examples: int = 2
) -> Iterator[Note]:
    """Yield notes if documents seem to have other ids on both sides, or the ids of queries.

    `severity`: of the note that no judged document was retrieved.
    """
    facts, sketches = judged_run.facts, judged_run.facts.query_sketches
    if facts.n_hits and not sketches:
        return
    if judged_run.run.rows.holds_texts and facts.rows.conversion_counts[0]:
        return  # another note says that texts contain one another
    from cranfield.data.spelling import find_lookalikes, lookalike_notes, no_judged_doc_note

    if not facts.n_hits and facts.n_answered:
        all_queries = judged_run.all_queries and judged_run.qrels.list_kind != "grades"
        yield no_judged_doc_note(sketches, severity, all_queries=all_queries)
    if judged_run.judge_run is not None:
        missed_sketches = [sketch._replace(hits=[]) for sketch in sketches]
        if not (facts.rows.n_own_ids or find_lookalikes(missed_sketches)):
            return
        facts = judged_run.judge_run().facts
    if facts.n_hits:
        yield from lookalike_notes(facts.query_sketches, facts.n_answered, n_examples)
    yield from self_retrieval_notes(facts.query_sketches, facts.rows.n_own_ids, facts.n_answered)


def _ranking_order(judged_run: JudgedRun) -> Order:
    order, run = judged_run.judging.order, judged_run.run
    return order if run.docs_of_query is not None else run.resolve_order(order)


def _describe_run(judged_run: JudgedRun, order: Order) -> Iterator[Note]:
    qrels, run, facts = judged_run.qrels, judged_run.run, judged_run.facts
    judging = judged_run.judging
    yield from list_qrels_notes(qrels)
    if not judged_run.has_whole_grades:
        text = f"Grades are fractions, from {qrels.grade_range}: taken as they are."
        yield Note("fractions", "info", text)
    if run.list_kind == "ids":
        rows = "" if run.sources else "; rows are tuples"
        text = f"Read as lists of ids, one for each query, numbered from 1{rows}."
        yield Note("lists", "info", text, facts.n_queries)
    if run.rows.is_numbered:
        yield Note("lists", "info", "Responses without queries: numbered from 1.", facts.n_queries)
    yield from describe_left_out(
        "the run", facts.rows.left_out, facts.rows.repeats, judging.duplicates
    )
    if run.conversion is not None:
        yield run.conversion.make_note(*facts.rows.conversion_counts)
    # A dict and lists state what ranks the run.
    states_order = run.docs_of_query is not None or run.has_lists or run.list_kind
    if not states_order and judging.order == "score" and order != "score":
        order_words = "by its rank column" if order == "rank" else "in the order of its rows"
        yield Note("no-scores", "info", f"The run has no scores: ranked {order_words}.")
    if n := facts.rows.n_rank_gaps:
        text = f"Ranks of {format_query_count(n)} have gaps, which close: 2, 5, 9 count as 1, 2, 3."
        yield Note("rank-gaps", "info", text, n)
    if run.rows.distance_column is not None and order == "score":
        yield distance_note(run.rows.distance_column)
    if n_tied := facts.n_tied:
        by_rank = " in rank" if order == "rank" else ""
        text = f"{n_tied:,} documents are tied{by_rank}: {judging.tie_rule}."
        if order == "score" and "rank" in run.extra_roles and 10 * n_tied > facts.n_retrieved:
            text += f" {RANK_ORDERS_TIES}"
        yield Note("ties", "info", text, count=n_tied)
    if judging.drops_documents or facts.n_appended or facts.n_unjudged:
        yield from _describe_changes(judged_run)
    yield from (*run.rows.statement_notes, *run.rows.notes, *run.notes)
    if n := facts.n_excluded:
        text = f"{format_count(n, 'relevant document')} left out of the run: still counted."
        yield Note("without", "info", text, count=n)
    if qrels.exclusions is not None:
        with contextlib.suppress(ValueError), hide_progress():
            note = run._select_part(None, Run(qrels.exclusions), {}).rows.notes[-1]
            if note.count:
                column, count = qrels.exclusions.name_of_role["doc"], note.count
                text = f"Not applied: column {column!r:.60} of the judgments, of which the run has "
                text += f"{format_count(count, 'document')}. without= (--without) leaves them out."
                yield Note("excluded", "info", text, note.queries, count=count)
    if facts.rows.is_regrouped:
        text = "The run's queries are not in one piece: it was read into memory whole."
        yield Note("apart", "info", text)


def list_qrels_notes(qrels: Qrels) -> Iterator[Note]:
    """Yield notes on judgments that apply to every run."""
    yield from qrels.notes
    yield from qrels.judges.notes()
    if not (qrels.graded or qrels.is_listed):
        yield NO_GRADES
    yield from describe_left_out("the qrels", qrels.left_out, qrels.repeats, qrels.duplicates)
    if qrels.chunk_counts is not None:
        from cranfield.data.chunks import chunks_note

        yield chunks_note(*qrels.chunk_counts, None)


def describe_left_out(
    side: str,
    left_out: FaultyRows,
    repeats: FaultyRows = NO_FAULTY_ROWS,
    duplicates: Duplicates = "refuse",
) -> Iterator[Note]:
    """Yield notes on the rows that could not be used, and on rows that repeat a document."""
    if left_out.count:
        yield Note("left-out", "info", left_out.describe(side), count=left_out.count)
    if repeats.count:
        yield duplicates_note(side, repeats, duplicates)


def _describe_changes(judged_run: JudgedRun) -> Iterator[Note]:
    """Yield notes that count the documents dropped from the run, and those ranked below it."""
    facts = judged_run.facts
    n_identical, n_low = facts.rows.dropped_counts
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
