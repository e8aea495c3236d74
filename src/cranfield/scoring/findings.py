"""Findings: yields what silently makes scores wrong, each with its count and an example."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun, find_other_ids, find_own_judgments
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    distance_note,
    equal_scores_note,
    holds_mostly,
    select_list_notes,
)
from cranfield.data.spelling import query_spelling_notes
from cranfield.errors import InputError
from cranfield.formats.block import FaultyRows
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_query_count, format_shortest
from cranfield.scoring.measure_notes import find_common_length, tie_remedies
from cranfield.scoring.scan import Scan, is_odd_id, is_odd_query, scan_run

_MIN_HIT_SHARE = 0.05  # of the judged documents that a run's lists have room for
_MIN_JUDGED_SHARE = 0.5  # of the first k documents
_HIGH_GRADE = 10
_MAX_EXAMPLES = 10  # documents that have other ids on both sides
CHECK_JUDGING = Judging(duplicates="first")  # that a document occurs twice is a finding


def error_finding(error: InputError, code: str, count: int = 1) -> Note:
    """Return the finding of rows, or of a file, that cannot be used."""
    message = error.problem
    if count > 1:
        message = f"{count:,} rows cannot be used, the first: {message}"
    if error.hint:
        message += f"{'' if message.endswith('?') else '.'} {error.hint}"
    finding = Note(code, "error", message, count=count, line=error.line, row=error.text)
    return replace(finding, query_id=error.query_id)


def _faulty_row_findings(left_out: FaultyRows) -> Iterator[Note]:
    """Yield a finding for each kind of fault, with the error of its first row."""
    for kind, (count, _) in left_out.faults.items():
        yield error_finding(left_out.first_error(kind), kind, count)


def find_in_qrels(qrels: Qrels) -> Iterator[Note]:
    """Yield the findings in judgments alone."""
    yield from _faulty_row_findings(qrels.left_out + qrels.repeats)
    n_relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    pairs = zip(qrels.query_ids, n_relevant.tolist(), strict=True)
    queries = [query for query, n in pairs if n == 0]
    if queries:
        text = (
            f"{format_query_count(len(queries))} without a relevant document (no grade above 0): "
            "every system scores 0 there, and they count in the mean; for instance "
            f"{queries[0]!r}"
        )
        yield Note("no-relevant", "warning", text, count=len(queries), query_id=queries[0])
    yield from _grade_findings(
        qrels,
        qrels.grade != np.floor(qrels.grade),
        "info",
        "fractions",
        "judgments have a grade that is not a whole number: measures of relevant documents need "
        "the lowest grade that counts as relevant, as in AP(rel=0.5)",
    )
    yield from _grade_findings(
        qrels, qrels.grade < 0, "info", "negative-grades", "judgments have a negative grade"
    )
    yield from _grade_findings(
        qrels,
        qrels.grade > _HIGH_GRADE,
        "warning",
        "high-grades",
        f"judgments have a grade above {_HIGH_GRADE}: is this the scale that you expect? "
        "Gains of 2^grade - 1 become extremely large",
    )
    if len(qrels) and qrels.grade.min() == qrels.grade.max():
        text = (
            f"all judgments have the grade {format_shortest(qrels.grade[0])}: measures that "
            "compare relevant with judged nonrelevant documents (Bpref, infAP) mean little"
        )
        yield Note("one-grade", "info", text, count=1)
    yield from select_list_notes(qrels.notes)
    yield from qrels.judges.notes()
    odd_queries = filter(is_odd_query, qrels.query_ids)
    yield from _odd_id_findings(chain(odd_queries, filter(is_odd_id, chain(*qrels.doc_lists))))
    for source in qrels.sources if qrels.is_text else ():
        yield from _text_findings(source)


def _grade_findings(
    qrels: Qrels, is_counted: Bools, severity: Severity, code: str, text: str
) -> Iterator[Note]:
    """Yield the number of judgments in a mask, (judgments,), with the first, if there are any."""
    if is_counted.any():
        row, n = int(np.argmax(is_counted)), int(np.count_nonzero(is_counted))
        position = int(qrels.query[row])
        query = qrels.query_ids[position]
        doc = qrels.doc_lists[position][row - int(qrels.starts[position])]
        grade = format_shortest(qrels.grade[row])
        example = f"for instance {grade} for query {query!r}, document {doc!r}"
        yield Note(code, severity, f"{n:,} {text}; {example}", count=n, query_id=query)


def _odd_id_findings(ids: Iterable[str]) -> Iterator[Note]:
    """Yield the number of distinct ids that are odd, with the first, if there are any."""
    odd_ids = list(dict.fromkeys(ids))
    if odd_ids:
        text = (
            f"{len(odd_ids):,} ids hold white space, invisible characters or bytes that are not "
            f"UTF-8: two that look alike may differ; for instance {odd_ids[0]!a}"
        )
        yield Note("odd-ids", "warning", text, count=len(odd_ids))


def _text_findings(source: Source) -> Iterator[Note]:
    """Yield the findings in a text's bytes: a byte order mark, several line ends, no last one."""
    start, last_byte = b"", b""
    n_pairs = n_line_feeds = n_returns = 0  # \r\n, \n, \r
    with source.open() as stream:
        while piece := stream.read(1 << 20):
            start = start or piece[:3]
            n_line_feeds += piece.count(b"\n")
            n_pairs += piece.count(b"\r\n") + (last_byte == b"\r" and piece.startswith(b"\n"))
            n_returns += piece.count(b"\r")
            last_byte = piece[-1:]
    if start == BYTE_ORDER_MARK:
        text = "begins with a byte order mark, which other tools take for a part of the first id"
        yield Note("bom", "info", text, count=1, line=1)
    counts = {"CR LF": n_pairs, "LF": n_line_feeds - n_pairs, "CR alone": n_returns - n_pairs}
    kinds = [f"{n:,} {name}" for name, n in counts.items() if n > 0]
    if len(kinds) > 1:
        text = f"its lines end in several ways: {', '.join(kinds)}"
        yield Note("line-ends", "warning", text, count=1)
    if last_byte and last_byte not in b"\r\n":
        text = "its last line has no line end: was the file cut off?"
        yield Note("no-last-line-end", "warning", text, count=1)


def find_in_run(run: Run, qrels: Qrels, k: int, facts: dict[str, Any]) -> Iterator[Note]:
    """Yield the findings in a run, alone and with the judgments; add to the run's `facts`."""
    scan = scan_run(run, k)
    facts |= {"read as": run.description, "queries": len(scan.queries), "rows": scan.n_rows}
    yield from _faulty_row_findings(scan.left_out)
    if scan.n_rows:
        yield from _row_findings(run, scan, k)
    for source in run.sources if run.is_text else ():
        yield from _text_findings(source)
    try:
        matched_run = judge(qrels, run, CHECK_JUDGING)
    except InputError as error:
        yield error_finding(error, "ids" if error.kind == "other" else error.kind)
        return
    yield from _judged_findings(qrels, run, matched_run, k, facts)


def _row_findings(run: Run, scan: Scan, k: int) -> Iterator[Note]:
    """Yield the findings in the rows of a run, from their scan."""
    if "score" not in run.extra_roles and _is_ranked(run) and not run.has_lists:
        ranking = "its rank column" if "rank" in run.extra_roles else "the order of its rows"
        yield Note("no-scores", "info", f"has no scores: it is ranked by {ranking}", count=1)
    yield from select_list_notes((*run.rows.statement_notes, *run.rows.notes))
    yield from run.notes
    if run.rows.distance_column is not None:
        yield distance_note(run.rows.distance_column)
    line, row, query = scan.locate_tie() if scan.locate_tie else (None, None, None)
    if holds_mostly(scan.n_all_tied, scan.score_order.n_multi_doc):
        equal_note = equal_scores_note(scan.n_all_tied, scan.score_order.n_multi_doc, "error")
        yield replace(equal_note, line=line, row=row, query_id=query)
    elif scan.n_tied:
        share = scan.n_tied / scan.n_rows
        severity: Severity = "warning" if scan.n_tied_at_top * 10 > len(scan.queries) else "info"
        text = (
            f"{scan.n_tied:,} of {scan.n_rows:,} documents ({share:.1%}) are tied, in "
            f"{format_query_count(scan.n_tied_at_top)} within the first {k}: document ids decide"
        )
        if scan.n_all_tied:
            text += f"; in {format_query_count(scan.n_all_tied)} all scores are equal"
        text += f".{tie_remedies(run)}" if severity == "warning" else ""
        yield Note("ties", severity, text, count=scan.n_tied, line=line, row=row, query_id=query)
    locate = scan.locate_contradiction
    line, row, query = (None, None, None) if locate is None else locate()
    for note in scan.score_order.notes(run.rows, severity="error"):
        yield replace(note, line=line, row=row, query_id=query)
    if scan.n_infinite:
        text = f"{scan.n_infinite:,} scores are infinite"
        yield Note("infinite-scores", "warning", text, count=scan.n_infinite)
    if scan.n_split_queries:
        text = "a query's rows are not together: to be evaluated, the run is read whole into memory"
        yield Note("interleaved", "info", text, count=scan.n_split_queries)
    yield from _odd_id_findings(scan.odd_ids)


def _is_ranked(run: Run) -> bool:
    """Tell whether a run without scores can still be ranked."""
    try:
        return run.resolve_order("score") != "score"
    except InputError:
        return False


def _judged_findings(
    qrels: Qrels, run: Run, matched_run: MatchedRun, k: int, facts: dict[str, Any]
) -> Iterator[Note]:
    """Yield the findings in a run with the judgments; add to the run's `facts`."""
    judged, judged_share = matched_run.judged, 1.0
    n_hits = facts["judged documents returned"] = len(judged.hits.rank)
    if qrels.graded and not qrels.has_groups:
        shares = Plan((parse(f"Judged@{k}"),)).values(judged)[:, 0]  # (n_queries,)
        judged_share = facts[f"Judged@{k}"] = float(mean(shares[matched_run.is_in_run]))
    if length := find_common_length(matched_run):
        facts["documents in most lists"] = length
    codes = "rank-gaps", "without", "excluded", "texts-contain"
    yield from (note for note in matched_run.notes if note.code in codes)
    yield from find_own_judgments(matched_run, "error")
    yield from _query_findings(matched_run)
    yield from find_other_ids(matched_run, "error", n_examples=_MAX_EXAMPLES)
    if n_hits == 0:
        return
    n_possible = int(np.minimum(np.diff(qrels.starts), judged.n_retrieved[:, 0]).sum())
    if n_hits / n_possible < _MIN_HIT_SHARE:
        text = (
            f"only {n_hits / n_possible:.1%} of the judged documents that the lists have room for "
            f"were retrieved ({n_hits:,} of {n_possible:,}): were documents split or numbered "
            "differently when they were judged?"
        )
        yield Note("few-judged-returned", "warning", text, count=n_hits)
    if judged_share < _MIN_JUDGED_SHARE and qrels.graded:
        text = (
            f"{1 - judged_share:.1%} of the first {k} documents are not judged, and count as not "
            "relevant: scores may be too low"
        )
        yield Note("unjudged", "warning", text, count=1)


def _query_findings(matched_run: MatchedRun) -> Iterator[Note]:
    """Yield the findings of queries that only the run, or only the judgments, have."""
    n_without_results = matched_run.counts.without_results
    n_without_judgments = matched_run.counts.without_judgments
    if n_without_results:
        presence = zip(matched_run.query_ids, matched_run.is_in_run.tolist(), strict=True)
        query = next((query for query, is_present in presence if not is_present), None)
        example = "" if query is None else f"; for instance {query!r}"
        text = (
            f"{format_query_count(n_without_results)} of the qrels without results: they score 0"
            f"{example}"
        )
        code = "queries-without-results"
        yield Note(code, "warning", text, count=n_without_results, query_id=query)
    yield from query_spelling_notes(matched_run.missing_queries, matched_run.unjudged_queries)
    if n_without_judgments:
        text = f"{format_query_count(n_without_judgments)} of the run without judgments: not scored"
        yield Note("queries-without-judgments", "info", text, count=n_without_judgments)
