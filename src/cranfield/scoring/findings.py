"""Findings: what silently makes scores wrong, each with its sentence, its count and an example."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun, find_own_judgments
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    distance_note,
    equal_scores_note,
    holds_mostly,
    no_judged_doc_note,
    select_list_notes,
)
from cranfield.data.spelling import find_affix, query_spelling_notes
from cranfield.errors import InputError
from cranfield.formats.block import FaultyRows
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_query_count, format_shortest
from cranfield.scoring.scan import Scan, is_odd_id, is_odd_query, scan_run

_MIN_JUDGED_SHARE = 0.05
_MIN_JUDGED_AT_K = 0.5
_HIGH_GRADE = 10
CHECK_JUDGING = Judging(duplicates="first")  # of a document that is twice, which is a finding


def error_finding(error: InputError, code: str, count: int = 1) -> Note:
    """Return the finding of rows, or of a file, that cannot be used."""
    message = error.problem
    if count > 1:
        message = f"{count:,} rows cannot be used, the first: {message}"
    if error.hint:
        message += f". {error.hint}"
    finding = Note(code, "error", message, count=count, line=error.line, row=error.text)
    return replace(finding, query_id=error.query_id)


def _faulty_row_findings(left_out: FaultyRows) -> Iterator[Note]:
    for kind, (count, _) in left_out.faults.items():
        yield error_finding(left_out.first_error(kind), kind, count)


def find_in_qrels(qrels: Qrels) -> Iterator[Note]:
    """Yield what is found in judgments alone."""
    yield from _faulty_row_findings(qrels.left_out + qrels.repeats)
    n_relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    queries_without_relevant = [
        query for query, n in zip(qrels.query_ids, n_relevant.tolist(), strict=True) if n == 0
    ]
    if queries_without_relevant:
        text = (
            f"{format_query_count(len(queries_without_relevant))} without a relevant document (no grade above 0): "
            f"every system scores 0 there, and they count in the mean; for instance {queries_without_relevant[0]!r}"
        )
        yield Note(
            "no-relevant",
            "warning",
            text,
            count=len(queries_without_relevant),
            query_id=queries_without_relevant[0],
        )
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
            f"all judgments have the grade {format_shortest(qrels.grade[0])}: measures that compare relevant "
            "with judged nonrelevant documents (Bpref, infAP) mean little"
        )
        yield Note("one-grade", "info", text, count=1)
    yield from select_list_notes(qrels.notes)
    queries = filter(is_odd_query, qrels.query_ids)
    yield from _odd_id_findings(chain(queries, filter(is_odd_id, chain(*qrels.doc_lists))))
    for source in qrels.sources if qrels.is_text else ():
        yield from _text_findings(source)


def _grade_findings(
    qrels: Qrels, is_counted: Bools, severity: Severity, code: str, text: str
) -> Iterator[Note]:
    """Yield how many judgments these are, with the first of them, if there are any."""
    if is_counted.any():
        row, n = int(np.argmax(is_counted)), int(np.count_nonzero(is_counted))
        code_of_query = int(qrels.query[row])
        query = qrels.query_ids[code_of_query]
        doc = qrels.doc_lists[code_of_query][row - int(qrels.starts[code_of_query])]
        example = f"for instance {format_shortest(qrels.grade[row])} for query {query!r}, document {doc!r}"
        yield Note(code, severity, f"{n:,} {text}; {example}", count=n, query_id=query)


def _odd_id_findings(ids: Iterable[str]) -> Iterator[Note]:
    odd = list(dict.fromkeys(ids))
    if odd:
        text = (
            f"{len(odd):,} ids hold white space, invisible characters or bytes that are not UTF-8: "
            f"two that look alike may differ; for instance {odd[0]!a}"
        )
        yield Note("odd-ids", "warning", text, count=len(odd))


def _text_findings(source: Source) -> Iterator[Note]:
    """Look at a text's bytes: its mark, its line ends, its end."""
    start, last_byte = b"", b""
    n_line_with_return = n_line = n_return = 0
    with source.open() as stream:
        while piece := stream.read(1 << 20):
            start = start or piece[:3]
            n_line += piece.count(b"\n")
            n_line_with_return += piece.count(b"\r\n") + (
                last_byte == b"\r" and piece.startswith(b"\n")
            )
            n_return += piece.count(b"\r")
            last_byte = piece[-1:]
    if start == BYTE_ORDER_MARK:
        text = "begins with a byte order mark, which other tools take for a part of the first id"
        yield Note("bom", "info", text, count=1, line=1)
    ends = {
        "CR LF": n_line_with_return,
        "LF": n_line - n_line_with_return,
        "CR alone": n_return - n_line_with_return,
    }
    kinds = [f"{n:,} {name}" for name, n in ends.items() if n > 0]
    if len(kinds) > 1:
        text = f"its lines end in several ways: {', '.join(kinds)}"
        yield Note("line-ends", "warning", text, count=1)
    if last_byte and last_byte not in b"\r\n":
        text = "its last line has no line end: was the file cut off?"
        yield Note("no-last-line-end", "warning", text, count=1)


# ---- runs ---------------------------------------------------------------------------------------


def find_in_run(run: Run, qrels: Qrels, k: int, facts: dict[str, Any]) -> Iterator[Note]:
    """Yield what is found in a run; add to its `facts`."""
    scan = scan_run(run, k)
    facts |= {"read as": run.description, "queries": len(scan.queries), "rows": scan.n_rows}
    yield from _faulty_row_findings(scan.left_out)
    if scan.n_rows:
        yield from _row_findings(run, scan, k)
    for source in run.sources if run.is_text else ():
        yield from _text_findings(source)
    try:
        meeting = judge(qrels, run, CHECK_JUDGING)
    except InputError as error:
        yield error_finding(error, "ids" if error.kind == "other" else error.kind)
        return
    yield from _judged_findings(qrels, run, meeting, k, scan, facts)


def _row_findings(run: Run, scan: Scan, k: int) -> Iterator[Note]:
    if "score" not in run.extra_roles and _is_ranked(run) and not run.has_lists:
        ranking = "its rank column" if "rank" in run.extra_roles else "the order of its rows"
        yield Note("no-scores", "info", f"has no scores: it is ranked by {ranking}", count=1)
    yield from select_list_notes(run.rows.notes)
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
        yield Note("ties", severity, text, count=scan.n_tied, line=line, row=row, query_id=query)
    line, row, query = (
        scan.locate_contradiction() if scan.locate_contradiction else (None, None, None)
    )
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
    qrels: Qrels, run: Run, meeting: MatchedRun, k: int, scan: Scan, facts: dict[str, Any]
) -> Iterator[Note]:
    """Yield what is found in a run with the judgments; add to the facts of the run."""
    judged, judged_at = meeting.judged, 1.0
    n_hits = facts["judged documents returned"] = len(judged.hits.rank)
    if qrels.graded and not qrels.has_groups:
        judged_share = Plan((parse(f"Judged@{k}"),)).values(judged)[:, 0]
        judged_at = facts[f"Judged@{k}"] = float(mean(judged_share[meeting.is_in_run]))
    yield from find_own_judgments(meeting, "error")
    yield from _query_findings(meeting)
    if n_hits == 0:
        yield no_judged_doc_note(find_affix(qrels, run), "error")
        return
    possible = int(np.minimum(np.diff(qrels.starts), judged.n_retrieved[:, 0]).sum())
    if n_hits / possible < _MIN_JUDGED_SHARE:
        text = (
            f"only {n_hits / possible:.1%} of the judged documents that the lists have room for "
            f"were retrieved ({n_hits:,} of {possible:,}): were documents split or numbered "
            "differently when they were judged?"
        )
        yield Note("few-judged-returned", "warning", text, count=n_hits)
    if judged_at < _MIN_JUDGED_AT_K and qrels.graded:
        text = (
            f"{1 - judged_at:.1%} of the first {k} documents are not judged, and count as not "
            "relevant: scores may be too low"
        )
        yield Note("unjudged", "warning", text, count=1)


def _query_findings(meeting: MatchedRun) -> Iterator[Note]:
    """Yield which queries only one of the two has."""
    without_results = meeting.counts.without_results
    without_judgments = meeting.counts.without_judgments
    if without_results:
        presence = zip(meeting.query_ids, meeting.is_in_run.tolist(), strict=True)
        missing_query = next((query for query, is_present in presence if not is_present), None)
        example = "" if missing_query is None else f"; for instance {missing_query!r}"
        text = f"{format_query_count(without_results)} of the qrels without results: they score 0{example}"
        yield Note(
            "queries-without-results",
            "warning",
            text,
            count=without_results,
            query_id=missing_query,
        )
    yield from query_spelling_notes(meeting.missing_queries, meeting.unjudged_queries)
    if without_judgments:
        text = f"{format_query_count(without_judgments)} of the run without judgments: not scored"
        yield Note("queries-without-judgments", "info", text, count=without_judgments)
