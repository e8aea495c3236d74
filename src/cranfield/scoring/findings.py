"""Findings: what silently makes scores wrong, each with its sentence, its count and an example."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import Meeting, own_judgments
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import distance_note, level_scores, list_notes, mostly, nothing_judged
from cranfield.data.spelling import affix_of, queries_spelt_otherwise
from cranfield.errors import InputError
from cranfield.formats.block import LeftOut
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity
from cranfield.render.numbers import plain, queries_of
from cranfield.scoring.scan import Scan, is_odd, is_odd_query, scan_of

_FEW_RETURNED = 0.05
_FEW_JUDGED = 0.5
_HIGH_GRADE = 10
KEPT = Judging(duplicates="first")  # of a document that is twice, which is a finding


def of_error(error: InputError, code: str, count: int = 1) -> Note:
    """Return the finding of rows, or of a file, that cannot be used."""
    message = error.problem
    if count > 1:
        message = f"{count:,} rows cannot be used, the first: {message}"
    if error.hint:
        message += f". {error.hint}"
    found = Note(code, "error", message, count=count, line=error.line, row=error.text)
    return replace(found, query_id=error.query_id)


def _left_out(left_out: LeftOut) -> Iterator[Note]:
    for kind, (count, _) in left_out.faults.items():
        yield of_error(left_out.first(kind), kind, count)


def about_qrels(qrels: Qrels) -> Iterator[Note]:
    """Yield what is found in judgments alone."""
    yield from _left_out(qrels.left_out + qrels.repeated)
    relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    without = [query for query, n in zip(qrels.query_ids, relevant.tolist(), strict=True) if n == 0]
    if without:
        text = (
            f"{queries_of(len(without))} without a relevant document (no grade above 0): "
            f"every system scores 0 there, and they count in the mean; for instance {without[0]!r}"
        )
        yield Note("no-relevant", "warning", text, count=len(without), query_id=without[0])
    yield from _some_grades(
        qrels,
        qrels.grade != np.floor(qrels.grade),
        "info",
        "fractions",
        "judgments have a grade that is not a whole number: measures of relevant documents need "
        "the lowest grade that counts as relevant, as in AP(rel=0.5)",
    )
    yield from _some_grades(
        qrels, qrels.grade < 0, "info", "negative-grades", "judgments have a negative grade"
    )
    yield from _some_grades(
        qrels,
        qrels.grade > _HIGH_GRADE,
        "warning",
        "high-grades",
        f"judgments have a grade above {_HIGH_GRADE}: is this the scale that you expect? "
        "Gains of 2^grade - 1 become extremely large",
    )
    if len(qrels) and qrels.grade.min() == qrels.grade.max():
        text = (
            f"all judgments have the grade {plain(qrels.grade[0])}: measures that compare relevant "
            "with judged nonrelevant documents (Bpref, infAP) mean little"
        )
        yield Note("one-grade", "info", text, count=1)
    yield from list_notes(qrels.notes)
    queries = filter(is_odd_query, qrels.query_ids)
    yield from _odd_ids(chain(queries, filter(is_odd, chain(*qrels.doc_lists))))
    for source in qrels.sources if qrels.is_text else ():
        yield from _about_text(source)


def _some_grades(
    qrels: Qrels, rows: Bools, severity: Severity, code: str, text: str
) -> Iterator[Note]:
    """Yield how many judgments these are, with the first of them, if there are any."""
    if rows.any():
        row, n = int(np.argmax(rows)), int(np.count_nonzero(rows))
        code_of_query = int(qrels.query[row])
        query = qrels.query_ids[code_of_query]
        doc = qrels.doc_lists[code_of_query][row - int(qrels.starts[code_of_query])]
        first = f"for instance {plain(qrels.grade[row])} for query {query!r}, document {doc!r}"
        yield Note(code, severity, f"{n:,} {text}; {first}", count=n, query_id=query)


def _odd_ids(ids: Iterable[str]) -> Iterator[Note]:
    odd = list(dict.fromkeys(ids))
    if odd:
        text = (
            f"{len(odd):,} ids hold white space, invisible characters or bytes that are not UTF-8: "
            f"two that look alike may differ; for instance {odd[0]!a}"
        )
        yield Note("odd-ids", "warning", text, count=len(odd))


def _about_text(source: Source) -> Iterator[Note]:
    """Look at a text's bytes: its mark, its line ends, its end."""
    start, last = b"", b""
    n_both = n_line = n_return = 0
    with source.open() as stream:
        while piece := stream.read(1 << 20):
            start = start or piece[:3]
            n_line += piece.count(b"\n")
            n_both += piece.count(b"\r\n") + (last == b"\r" and piece.startswith(b"\n"))
            n_return += piece.count(b"\r")
            last = piece[-1:]
    if start == BYTE_ORDER_MARK:
        text = "begins with a byte order mark, which other tools take for a part of the first id"
        yield Note("bom", "info", text, count=1, line=1)
    ends = {"CR LF": n_both, "LF": n_line - n_both, "CR alone": n_return - n_both}
    kinds = [f"{n:,} {name}" for name, n in ends.items() if n > 0]
    if len(kinds) > 1:
        text = f"its lines end in several ways: {', '.join(kinds)}"
        yield Note("line-ends", "warning", text, count=1)
    if last and last not in b"\r\n":
        text = "its last line has no line end: was the file cut off?"
        yield Note("no-last-line-end", "warning", text, count=1)


# ---- runs ---------------------------------------------------------------------------------------


def about_run(run: Run, qrels: Qrels, k: int, facts: dict[str, Any]) -> Iterator[Note]:
    """Yield what is found in a run; add to its `facts`."""
    scan = scan_of(run, k)
    facts |= {"read as": run.form, "queries": len(scan.queries), "rows": scan.rows}
    yield from _left_out(scan.left_out)
    if scan.rows:
        yield from _about_rows(run, scan, k)
    for source in run.sources if run.is_text else ():
        yield from _about_text(source)
    try:
        meeting = judge(qrels, run, KEPT)
    except InputError as error:
        yield of_error(error, "ids" if error.kind == "other" else error.kind)
        return
    yield from _about_both(qrels, run, meeting, k, scan, facts)


def _about_rows(run: Run, scan: Scan, k: int) -> Iterator[Note]:
    if "score" not in run.numbers and _is_ranked(run) and not run.has_lists:
        by = "its rank column" if "rank" in run.numbers else "the order of its rows"
        yield Note("no-scores", "info", f"has no scores: it is ranked by {by}", count=1)
    yield from list_notes(run.rows.notes)
    if run.rows.distance is not None:
        yield distance_note(run.rows.distance)
    line, row, query = scan.tied_at() if scan.tied_at else (None, None, None)
    if mostly(scan.level, scan.look.several):
        level = level_scores(scan.level, scan.look.several, "error")
        yield replace(level, line=line, row=row, query_id=query)
    elif scan.tied:
        share = scan.tied / scan.rows
        severity: Severity = "warning" if scan.tied_top * 10 > len(scan.queries) else "info"
        text = (
            f"{scan.tied:,} of {scan.rows:,} documents ({share:.1%}) are tied, in "
            f"{queries_of(scan.tied_top)} within the first {k}: document ids decide"
        )
        if scan.level:
            text += f"; in {queries_of(scan.level)} all scores are equal"
        yield Note("ties", severity, text, count=scan.tied, line=line, row=row, query_id=query)
    line, row, query = scan.against_at() if scan.against_at else (None, None, None)
    for note in scan.look.notes(run.rows, severity="error"):
        yield replace(note, line=line, row=row, query_id=query)
    if scan.infinite:
        text = f"{scan.infinite:,} scores are infinite"
        yield Note("infinite-scores", "warning", text, count=scan.infinite)
    if scan.apart:
        text = "a query's rows are not together: to be evaluated, the run is read whole into memory"
        yield Note("interleaved", "info", text, count=scan.apart)
    yield from _odd_ids(scan.odd)


def _is_ranked(run: Run) -> bool:
    """Tell whether a run without scores can still be ranked."""
    try:
        return run.ranked_by("score") != "score"
    except InputError:
        return False


def _about_both(
    qrels: Qrels, run: Run, meeting: Meeting, k: int, scan: Scan, facts: dict[str, Any]
) -> Iterator[Note]:
    """Yield what is found in a run with the judgments; add to the facts of the run."""
    judged, judged_at = meeting.judged, 1.0
    n_hits = facts["judged documents returned"] = len(judged.hits.rank)
    if qrels.graded and not qrels.in_groups:
        shares = Plan((parse(f"Judged@{k}"),)).values(judged)[:, 0]
        judged_at = facts[f"Judged@{k}"] = float(mean(shares[meeting.in_run]))
    yield from own_judgments(meeting, "error")
    yield from _about_queries(meeting)
    if n_hits == 0:
        yield nothing_judged(affix_of(qrels, run), "error")
        return
    possible = int(np.minimum(np.diff(qrels.starts), judged.n_retrieved[:, 0]).sum())
    if n_hits / possible < _FEW_RETURNED:
        text = (
            f"only {n_hits / possible:.1%} of the judged documents that the lists have room for "
            f"were retrieved ({n_hits:,} of {possible:,}): were documents split or numbered "
            "differently when they were judged?"
        )
        yield Note("few-judged-returned", "warning", text, count=n_hits)
    if judged_at < _FEW_JUDGED and qrels.graded:
        text = (
            f"{1 - judged_at:.1%} of the first {k} documents are not judged, and count as not "
            "relevant: scores may be too low"
        )
        yield Note("unjudged", "warning", text, count=1)


def _about_queries(meeting: Meeting) -> Iterator[Note]:
    """Yield which queries only one of the two has."""
    without_results = meeting.counts.without_results
    without_judgments = meeting.counts.without_judgments
    if without_results:
        there = zip(meeting.query_ids, meeting.in_run.tolist(), strict=True)
        missing = next((query for query, is_there in there if not is_there), None)
        example = "" if missing is None else f"; for instance {missing!r}"
        text = f"{queries_of(without_results)} of the qrels without results: they score 0{example}"
        yield Note(
            "queries-without-results", "warning", text, count=without_results, query_id=missing
        )
    yield from queries_spelt_otherwise(meeting.missing, meeting.unknown)
    if without_judgments:
        text = f"{queries_of(without_judgments)} of the run without judgments: not scored"
        yield Note("queries-without-judgments", "info", text, count=without_judgments)
