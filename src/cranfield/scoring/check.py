"""check: what silently ruins numbers, found before scoring."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.data.judge import Meeting, judge
from cranfield.data.qrels import Qrels, QrelsLike, as_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns, as_run, several_runs
from cranfield.data.run_notes import (
    against_ranks,
    level_scores,
    mostly,
    nothing_judged,
    ranks_as_scores,
)
from cranfield.data.spelling import affix_of
from cranfield.errors import InputError, printable
from cranfield.formats.block import LeftOut, Progress
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity, gravest_first
from cranfield.options import checked, whole
from cranfield.render.numbers import number_of, queries_of
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import check_judged
from cranfield.scoring.scan import Scan, is_odd, scan_of

_FEW_RETURNED = 0.05
_FEW_JUDGED = 0.5
_HIGH_GRADE = 10


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """What `check` found: `findings`, the gravest first, and `facts` of each file.

    `facts` is {file: {name: value}}, in words and numbers. `unreadable` are the files that could
    not be read at all.

    >>> check({"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 0.5, "d2": 0.1}}).ok
    True
    """

    header = ("file", "severity", "code", "finding", "queries", "count", "line", "row")
    notes = ()  # the findings are its rows

    findings: Sequence[Note]
    facts: Mapping[str, Mapping[str, Any]]
    unreadable: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no error among the findings."""
        return not any(finding.severity == "error" for finding in self.findings)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each finding."""
        return self._dicts(
            (
                one.source,
                one.severity,
                one.code,
                one.text,
                one.queries,
                one.count,
                one.line,
                one.row,
            )
            for one in self.findings
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts and findings as JSON may have them."""
        return {
            "ok": self.ok,
            "facts": {file: dict(facts) for file, facts in self.facts.items()},
            "unreadable": list(self.unreadable),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_text(  # type: ignore[override] # its tables take no options
        self, width: int | None = None, *, color: bool = False
    ) -> str:
        """Return each file's facts, and below them its findings: a line each, not a table."""
        lines: list[str] = []
        for file, facts in self.facts.items():
            lines += [printable(f"{file}: {_in_words(facts)}")]
            for finding in self.findings:
                if finding.source == file:
                    lines += _shown(finding)
            lines.append("")
        return "\n".join([*lines, self._counts, ""])

    def tables(self) -> list[Table]:
        """Return a table of the findings of each file, its facts above it."""
        found = []
        for file, facts in self.facts.items():
            rows = [
                [one.severity, one.text, _example(one)]
                for one in self.findings
                if one.source == file
            ]
            title = [f"{file}: {_in_words(facts)}"]
            found.append(Table(["severity", "finding", "example"], rows, (), 3, title=title))
        return [*found[:-1], replace(found[-1], notes=[self._counts])]

    @property
    def _counts(self) -> str:
        """How many errors and warnings there are, in words."""
        numbers = [
            number_of(sum(one.severity == severity for one in self.findings), severity)
            for severity in ("error", "warning")
        ]
        return f"{', '.join(numbers)}."


def _in_words(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{value} {name}" if name else str(value) for name, value in _said(facts))


def _said(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, float):
            yield name, f"{value:.4f}"
        elif isinstance(value, int):
            yield name, f"{value:,}"
        else:
            yield "", str(value)


def _shown(finding: Note) -> list[str]:
    lines = [f"  {finding.severity:7}  {printable(finding.text)}"]
    example = _example(finding)
    return [*lines, f"           {example}"] if example else lines


def _example(finding: Note) -> str:
    """Return the number of the line and what stands there, as far as known."""
    line = "" if finding.line is None else f"line {finding.line:,}"
    if finding.row is None:
        return line
    return f"{line}: {printable(finding.row, 120)}" if line else printable(finding.row, 120)


def check(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns = (),
    *,
    k: int = 10,
    progress: Progress | None = None,
) -> Check:
    """Look for what silently ruins numbers in judgments and runs.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        runs: a run, or several, as `evaluate` takes them.
        k: the depth at which ties and unjudged documents are counted.
        progress: called with the number of bytes whenever some of a run file were read.

    Returns:
        A Check: findings of severity "error" (rows that cannot be used, ids that do not match),
        "warning" (numbers that may not mean what they seem to) and "info". Files are read as with
        errors="skip", to the end.

    Raises:
        InputError: judgments that cannot be read at all. A run that cannot is a finding.

    >>> report = check({"q1": {"d1": 1}}, {"q1": {"d1": 0.5, "d2": 0.5, "d3": 0.1}})
    >>> report.ok, [finding.code for finding in report.findings]
    (True, ['ties', 'unjudged', 'one-grade'])

    """
    k = checked("k", k, whole(1))
    check_judged(qrels, runs)
    judgments = as_qrels(qrels, "skip")
    named = judgments.sources[0].name if len(judgments.sources) == 1 else "qrels"
    findings: list[Note] = []
    facts: dict[str, dict[str, Any]] = {named: _facts(judgments)}
    unreadable: list[str] = []
    findings += _about_qrels(named, judgments)
    for source in judgments.sources if judgments.is_text else ():
        findings += _about_text(named, source)
    for run in _opened(runs):
        name = run.sources[0].name if len(run.sources) == 1 else run.name
        name = name if name not in facts else f"{name} ({len(facts)})"
        facts[name] = {}
        try:
            scan = scan_of(run, k, progress)
            facts[name] |= {"read as": run.form, "queries": len(scan.queries), "rows": scan.rows}
            findings += _about_run(name, run, scan, k)
            for source in run.sources if run.is_text else ():
                findings += _about_text(name, source)
            findings += _about_both(name, judgments, run, k, scan, facts[name])
        except InputError as error:
            unreadable.append(name)
            facts[name].setdefault("read as", "not read")
            findings.append(_of_error(name, error, "unreadable"))
    return Check(gravest_first(findings), facts, unreadable)


def _finding(
    severity: Severity,
    code: str,
    file: str,
    text: str,
    count: int = 1,
    line: int | None = None,
    row: str | None = None,
) -> Note:
    return Note(code, severity, text, source=file, count=count, line=line, row=row)


def unreadable(name: str, error: InputError) -> Check:
    """Return what is to be said of judgments that cannot be read at all."""
    return Check([_of_error(name, error, "unreadable")], {name: {"read as": "not read"}}, [name])


def _opened(runs: Any) -> list[Run]:
    """Return runs as they are to be looked at: rows with a fault are left out, and counted."""
    several = several_runs(runs, "skip")
    if several is None:
        return [as_run(runs, "skip").skipping()]
    found = []
    for name, run in several.items():
        found.append(run.skipping())
        found[-1].name = name
    return found


def _of_error(file: str, error: InputError, code: str, count: int = 1) -> Note:
    message = error.problem
    if count > 1:
        message = f"{count:,} rows cannot be used, the first: {message}"
    if error.hint:
        message += f". {error.hint}"
    return _finding("error", code, file, message, count, error.line, error.text)


def _left_out(file: str, left_out: LeftOut) -> Iterator[Note]:
    for kind, (count, _) in left_out.faults.items():
        yield _of_error(file, left_out.first(kind), kind, count)


# ---- judgments ------------------------------------------------------------------------------


def _facts(qrels: Qrels) -> dict[str, Any]:
    grades, counts = np.unique(qrels.grade, return_counts=True)
    said = " ".join(f"{g}:{n:,}" for g, n in zip(grades.tolist(), counts.tolist(), strict=True))
    return {
        "read as": qrels.form,
        "queries": len(qrels.query_ids),
        "judgments": len(qrels),
        "grades": f"grades {said}",
    }


def _about_qrels(file: str, qrels: Qrels) -> Iterator[Note]:
    yield from _left_out(file, qrels.left_out)
    relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    without = [query for query, n in zip(qrels.query_ids, relevant.tolist(), strict=True) if n == 0]
    if without:
        text = (
            f"{queries_of(len(without))} without a relevant document (no grade of 1 or more): "
            f"every system scores 0 there, and they count in the mean; for instance {without[0]!r}"
        )
        yield _finding("warning", "no-relevant", file, text, len(without))
    negative, high = qrels.grade < 0, qrels.grade > _HIGH_GRADE
    if negative.any():
        said = f"judgments have a negative grade; {_instance(qrels, negative)}"
        n = int(np.count_nonzero(negative))
        yield _finding("info", "negative-grades", file, f"{n:,} {said}", n)
    if high.any():
        said = (
            f"judgments have a grade above {_HIGH_GRADE}: are they on the scale that you mean? "
            f"Gains of 2^grade - 1 grow beyond measure; {_instance(qrels, high)}"
        )
        n = int(np.count_nonzero(high))
        yield _finding("warning", "high-grades", file, f"{n:,} {said}", n)
    if len(qrels) and int(qrels.grade.min()) == int(qrels.grade.max()):
        text = (
            f"all judgments have the grade {int(qrels.grade[0])}: measures of judged nonrelevant "
            "documents (Bpref, infAP) have nothing to go by"
        )
        yield _finding("info", "one-grade", file, text)
    odd = dict.fromkeys(query for query in qrels.query_ids if is_odd(query))
    for docs in qrels.doc_lists:
        odd |= dict.fromkeys(doc for doc in docs if is_odd(doc))
    if odd:
        yield _odd_ids(file, list(odd))


def _instance(qrels: Qrels, rows: Bools) -> str:
    """Return the first of some judgments, in words."""
    row = int(np.argmax(rows))
    query = int(qrels.query[row])
    doc = qrels.doc_lists[query][row - int(qrels.starts[query])]
    where = f"for query {qrels.query_ids[query]!r}, document {doc!r}"
    return f"for instance {int(qrels.grade[row])} {where}"


def _odd_ids(file: str, odd: Sequence[str]) -> Note:
    text = (
        f"{len(odd):,} ids hold white space, invisible characters or bytes that are no UTF-8: two "
        f"that look alike may differ; for instance {odd[0]!a}"
    )
    return _finding("warning", "odd-ids", file, text, len(odd))


# ---- text -----------------------------------------------------------------------------------


def _about_text(file: str, source: Source) -> Iterator[Note]:
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
    alone = n_line - n_both, n_return - n_both
    if start == BYTE_ORDER_MARK:
        text = "begins with a byte order mark, which other tools take for a part of the first id"
        yield _finding("info", "bom", file, text, line=1)
    kinds = [
        f"{n:,} {name}"
        for n, name in ((n_both, "CR LF"), (alone[0], "LF"), (alone[1], "CR alone"))
        if n > 0
    ]
    if len(kinds) > 1:
        text = f"its lines end in several ways: {', '.join(kinds)}"
        yield _finding("warning", "line-ends", file, text)
    if last and last not in b"\r\n":
        text = "its last line has no line end: was the file cut off?"
        yield _finding("warning", "no-last-line-end", file, text)


# ---- runs -----------------------------------------------------------------------------------


def _about_run(file: str, run: Run, scan: Scan, k: int) -> Iterator[Note]:
    yield from _left_out(file, scan.left_out)
    if scan.rows == 0:
        return
    if "score" not in run.numbers and _is_ranked(run):
        by = "its rank column" if "rank" in run.numbers else "the order of its rows"
        yield _finding("info", "no-scores", file, f"has no scores: it is ranked by {by}")
    tied_line = scan.tied_at()[0] if scan.tied_at else None
    if mostly(scan.level, scan.several):
        level = level_scores(scan.level, scan.several, "error", file)
        yield replace(level, line=tied_line, row=scan.tied_row)
    elif scan.tied:
        share = scan.tied / scan.rows
        severity: Severity = "warning" if scan.tied_top * 10 > len(scan.queries) else "info"
        text = (
            f"{scan.tied:,} of {scan.rows:,} documents ({share:.1%}) share their score with "
            f"another of the query, in {queries_of(scan.tied_top)} within the first {k}: document "
            "ids decide"
        )
        if scan.level:
            text += f"; in {queries_of(scan.level)} all scores are equal"
        yield _finding(severity, "ties", file, text, scan.tied, tied_line, scan.tied_row)
    if scan.against:
        line, text_of = scan.against_at() if scan.against_at else (None, None)
        against = against_ranks(scan.against, scan.several, whole=True, source=file)
        yield replace(against, line=line, row=text_of)
    elif not scan.has_ranks:
        yield from ranks_as_scores(scan.like_ranks, scan.several, scan.longest, file)
    if scan.infinite:
        text = f"{scan.infinite:,} scores are infinite"
        yield _finding("warning", "infinite-scores", file, text, scan.infinite)
    if scan.apart:
        text = "the rows of a query stand apart: to be evaluated, the run is read into memory whole"
        yield _finding("info", "interleaved", file, text, scan.apart)
    if scan.odd:
        yield _odd_ids(file, list(scan.odd))


# ---- both -----------------------------------------------------------------------------------


def _is_ranked(run: Run) -> bool:
    """Tell whether a run without scores can be ranked all the same."""
    try:
        return run.ranked_by("score") != "score"
    except InputError:
        return False


def _about_both(
    file: str, qrels: Qrels, run: Run, k: int, scan: Scan, facts: dict[str, Any]
) -> Iterator[Note]:
    """Yield what there is to say of a run with the judgments; add to the facts of the run."""
    try:
        meeting = judge(qrels, run)
    except InputError as error:
        yield _of_error(file, error, "ids" if error.kind == "other" else error.kind)
        return
    n_hits = facts["judged documents returned"] = len(meeting.judged.hits.rank)
    if not qrels.in_groups:
        facts[f"Judged@{k}"] = _judged_at(meeting, k)
    if n_hits == scan.rows == len(qrels) and scan.like_grades(qrels):
        text = (
            "the judgments seem to be given as a run: its documents are the same, its numbers "
            "grades"
        )
        yield _finding("error", "qrels-as-run", file, text, scan.rows)
    yield from _about_queries(file, meeting)
    if n_hits == 0:
        yield nothing_judged(affix_of(qrels, run), "error", file)
        return
    n_retrieved = meeting.judged.n_retrieved[:, 0]
    possible = int(np.minimum(np.diff(qrels.starts), n_retrieved).sum())
    if n_hits / possible < _FEW_RETURNED:
        text = (
            f"of the judged documents that could stand in the lists, {n_hits / possible:.1%} do "
            f"({n_hits:,} of {possible:,}): were documents cut or numbered anew since they were "
            "judged?"
        )
        yield _finding("warning", "few-judged-returned", file, text, n_hits)
    judged_at = facts.get(f"Judged@{k}", 1.0)
    if judged_at < _FEW_JUDGED:
        text = (
            f"{1 - judged_at:.1%} of the first {k} documents carry no judgment, and count as not "
            "relevant: the numbers are lower bounds, more or less"
        )
        yield _finding("warning", "unjudged", file, text)


def _about_queries(file: str, meeting: Meeting) -> Iterator[Note]:
    """Yield which queries only one of the two has."""
    without_results = meeting.counts.without_results
    without_judgments = meeting.counts.without_judgments
    if without_results:
        there = meeting.in_run.tolist()
        missing = [
            query for query, is_there in zip(meeting.query_ids, there, strict=True) if not is_there
        ]
        example = f"; for instance {missing[0]!r}" if missing else ""
        text = f"{queries_of(without_results)} of the qrels without results: they score 0{example}"
        yield _finding("warning", "queries-without-results", file, text, without_results)
    if without_judgments:
        text = f"{queries_of(without_judgments)} of the run without judgments: not scored"
        yield _finding("info", "queries-without-judgments", file, text, without_judgments)


def _judged_at(meeting: Meeting, k: int) -> float:
    """Return the mean share of judged documents in the first k, over the queries with results."""
    values = Plan((parse(f"Judged@{k}"),)).values(meeting.judged)[:, 0]
    return float(mean(values[meeting.in_run]))
