"""check: what silently ruins numbers, found before scoring."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import Meeting
from cranfield.data.qrels import Qrels, QrelsLike, as_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.data.run_notes import level_scores, mostly, nothing_judged
from cranfield.data.spelling import affix_of
from cranfield.errors import InputError, printable
from cranfield.formats.block import LeftOut, Progress
from cranfield.formats.columns import ColumnsOfBoth, What
from cranfield.formats.header import columns_for
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity, gravest_first
from cranfield.options import checked, function_or_none, refuse_others, takes, whole
from cranfield.render.numbers import number_of, plain, queries_of
from cranfield.render.plain import folded
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, ReadingOptions, arranged
from cranfield.scoring.scan import Scan, is_odd, is_odd_query, scan_of
from cranfield.scoring.sides import sides_of

_FEW_RETURNED = 0.05
_FEW_JUDGED = 0.5
_HIGH_GRADE = 10
_MANY_GRADES = 20  # are not shown one by one
_KEPT = Judging(duplicates="first")  # of a document that is twice, which is a finding


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
        names = ("source", "severity", "code", "text", "queries", "count", "line", "row")
        return self._dicts(map(attrgetter(*names), self.findings))

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
            lines += folded(printable(_title(file, facts)), width, "  ")
            for finding in self._about(file):
                said = f"  {finding.severity:7}  {printable(finding.text)}"
                lines += folded(said, width, " " * 11)
                if example := _example(finding):
                    lines += folded(f"           {example}", width, " " * 11)
            lines.append("")
        return "\n".join([*lines, *folded(self._counts, width, "  "), ""])

    def tables(self) -> list[Table]:
        """Return a table of the findings of each file, its facts above it."""
        found = []
        for file, facts in self.facts.items():
            rows = [[one.severity, one.text, _example(one)] for one in self._about(file)]
            header = ["severity", "finding", "example"]
            found.append(Table(header, rows, (), 3, title=[_title(file, facts)]))
        return [*found[:-1], replace(found[-1], notes=[self._counts])]

    def _about(self, file: str) -> list[Note]:
        return [finding for finding in self.findings if finding.source == file]

    @property
    def _counts(self) -> str:
        """How many errors and warnings there are, in words."""
        severities = [finding.severity for finding in self.findings]
        return (
            ", ".join(number_of(severities.count(one), one) for one in ("error", "warning")) + "."
        )


def _title(file: str, facts: Mapping[str, Any]) -> str:
    """Return the name of a file and its facts, in words."""
    words = []
    for name, value in facts.items():
        if isinstance(value, str):
            words.append(value)
        else:
            words.append(f"{value:{',' if isinstance(value, int) else '.4f'}} {name}")
    return f"{file}: {', '.join(words)}"


def _example(finding: Note) -> str:
    """Return the number of the line and what is written there, as far as known."""
    line = "" if finding.line is None else f"line {finding.line:,}"
    row = "" if finding.row is None else printable(finding.row, 120)
    return f"{line}: {row}" if line and row else line or row


@takes(Reading)
def check(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns | None = None,
    *,
    k: int = 10,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Check:
    """Look for what silently ruins numbers in judgments and runs.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        runs: a run, or several, as `evaluate` takes them. None: a table that holds both sides, or
            judgments alone.
        k: the depth at which ties and unjudged documents are counted.
        progress: called with the number of bytes whenever some of a run file were read.
        **reading: each option of `Reading`.

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
    checked("progress", progress, function_or_none)
    refuse_others(check, reading)
    judgments, opened = _both(qrels, runs, Reading.of(reading).columns)
    named = _name_of(judgments.sources, "qrels")
    grades, counts = np.unique(judgments.grade, return_counts=True)
    pairs = zip(map(plain, grades.tolist()), counts.tolist(), strict=True)
    each = " ".join(f"{grade}:{n:,}" for grade, n in pairs)
    if len(grades) > _MANY_GRADES:
        each = f"{judgments.range_of_grades}, {len(grades):,} of them"
    facts: dict[str, dict[str, Any]] = {
        named: {
            "read as": judgments.form,
            "queries": len(judgments.query_ids),
            "judgments": len(judgments),
            "grades": f"grades {each}",
        }
    }
    findings = [one.of(named) for one in _about_qrels(judgments)]
    unreadable: list[str] = []
    for run in _opened(opened):
        name = _name_of(run.sources, run.name)
        if name in facts:
            both = f"{name} (run)"  # of a file that holds both sides
            name = both if both not in facts else f"{name} ({len(facts)})"
        facts[name] = {}
        try:
            run = run.against(judgments.spans, _KEPT.overlap)
            found = _about_run(run, judgments, k, facts[name], progress)
            findings.extend(one.of(name) for one in found)
        except InputError as error:
            unreadable.append(name)
            facts[name].setdefault("read as", "not read")
            findings.append(_of_error(error, "unreadable").of(name))
    return Check(gravest_first(findings), facts, unreadable)


def _both(
    qrels: Any, runs: Any, columns: ColumnsOfBoth | None
) -> tuple[Qrels, Run | Mapping[str, Run]]:
    """Return the judgments, and the runs that there are."""
    if runs is None:
        sides = None
        with contextlib.suppress(InputError):  # then they are judgments alone
            sides = sides_of(qrels, columns, "skip")
        if sides is not None:
            return sides.read("skip", _KEPT.duplicates)
        return as_qrels(qrels, "skip", columns_for(columns, What.QRELS), _KEPT.duplicates), {}
    how: Any = {"errors": "skip", "duplicates": _KEPT.duplicates, "verb": check}
    return arranged(qrels, runs, (), None, columns=columns, **how)[:2]


def unreadable(name: str, error: InputError) -> Check:
    """Return the finding that judgments cannot be read at all."""
    finding = _of_error(error, "unreadable").of(name)
    return Check([finding], {name: {"read as": "not read"}}, [name])


def _name_of(sources: Sequence[Source], name: str) -> str:
    """Return the name of the only file, or this name."""
    return sources[0].name if len(sources) == 1 else name


def _opened(runs: Run | Mapping[str, Run]) -> list[Run]:
    """Return runs as they are to be looked at: rows with a fault are left out, and counted."""
    found = []
    for name, run in ({runs.name: runs} if isinstance(runs, Run) else runs).items():
        found.append(run.skipping())
        found[-1].name = name
    return found


# ---- findings ---------------------------------------------------------------------------------


def _of_error(error: InputError, code: str, count: int = 1) -> Note:
    message = error.problem
    if count > 1:
        message = f"{count:,} rows cannot be used, the first: {message}"
    if error.hint:
        message += f". {error.hint}"
    return Note(code, "error", message, count=count, line=error.line, row=error.text)


def _left_out(left_out: LeftOut) -> Iterator[Note]:
    for kind, (count, _) in left_out.faults.items():
        yield _of_error(left_out.first(kind), kind, count)


def _about_qrels(qrels: Qrels) -> Iterator[Note]:
    yield from _left_out(qrels.left_out + qrels.repeated)
    relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    without = [query for query, n in zip(qrels.query_ids, relevant.tolist(), strict=True) if n == 0]
    if without:
        text = (
            f"{queries_of(len(without))} without a relevant document (no grade above 0): "
            f"every system scores 0 there, and they count in the mean; for instance {without[0]!r}"
        )
        yield Note("no-relevant", "warning", text, count=len(without))
    yield from _some_grades(
        qrels,
        qrels.grade != np.floor(qrels.grade),
        "info",
        "fractions",
        "judgments have a grade that is no whole number: measures that tell relevant documents "
        "from others need to know from which grade on, as in AP(rel=0.5)",
    )
    yield from _some_grades(
        qrels, qrels.grade < 0, "info", "negative-grades", "judgments have a negative grade"
    )
    yield from _some_grades(
        qrels,
        qrels.grade > _HIGH_GRADE,
        "warning",
        "high-grades",
        f"judgments have a grade above {_HIGH_GRADE}: are they on the scale that you mean? "
        "Gains of 2^grade - 1 grow beyond measure",
    )
    if len(qrels) and qrels.grade.min() == qrels.grade.max():
        text = (
            f"all judgments have the grade {plain(qrels.grade[0])}: measures of judged nonrelevant "
            "documents (Bpref, infAP) have nothing to go by"
        )
        yield Note("one-grade", "info", text, count=1)
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
        query = int(qrels.query[row])
        doc = qrels.doc_lists[query][row - int(qrels.starts[query])]
        where = f"for query {qrels.query_ids[query]!r}, document {doc!r}"
        first = f"for instance {plain(qrels.grade[row])} {where}"
        yield Note(code, severity, f"{n:,} {text}; {first}", count=n)


def _odd_ids(ids: Iterable[str]) -> Iterator[Note]:
    odd = list(dict.fromkeys(ids))
    if odd:
        text = (
            f"{len(odd):,} ids hold white space, invisible characters or bytes that are no UTF-8: "
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


# ---- runs -----------------------------------------------------------------------------------


def _about_run(
    run: Run, qrels: Qrels, k: int, facts: dict[str, Any], progress: Progress | None
) -> Iterator[Note]:
    """Yield what is found in a run; add to its `facts`."""
    scan = scan_of(run, k, progress)
    facts |= {"read as": run.form, "queries": len(scan.queries), "rows": scan.rows}
    yield from _left_out(scan.left_out)
    if scan.rows:
        yield from _about_rows(run, scan, k)
    for source in run.sources if run.is_text else ():
        yield from _about_text(source)
    try:
        meeting = judge(qrels, run, _KEPT)
    except InputError as error:
        yield _of_error(error, "ids" if error.kind == "other" else error.kind)
        return
    yield from _about_both(qrels, run, meeting, k, scan, facts)


def _about_rows(run: Run, scan: Scan, k: int) -> Iterator[Note]:
    if "score" not in run.numbers and _is_ranked(run) and not run.has_lists:
        by = "its rank column" if "rank" in run.numbers else "the order of its rows"
        yield Note("no-scores", "info", f"has no scores: it is ranked by {by}", count=1)
    line, row = scan.tied_at() if scan.tied_at else (None, None)
    if mostly(scan.level, scan.look.several):
        level = level_scores(scan.level, scan.look.several, "error")
        yield replace(level, line=line, row=row)
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
        yield Note("ties", severity, text, count=scan.tied, line=line, row=row)
    line, row = scan.against_at() if scan.against_at else (None, None)
    for note in scan.look.notes():
        yield replace(note, line=line, row=row)
    if scan.infinite:
        text = f"{scan.infinite:,} scores are infinite"
        yield Note("infinite-scores", "warning", text, count=scan.infinite)
    if scan.apart:
        text = "a query's rows are not together: to be evaluated, the run is read whole into memory"
        yield Note("interleaved", "info", text, count=scan.apart)
    yield from _odd_ids(scan.odd)


def _is_ranked(run: Run) -> bool:
    """Tell whether a run without scores can be ranked all the same."""
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
    if n_hits == scan.rows == len(qrels) and scan.like_grades(qrels):
        text = (
            "the judgments seem to be given as a run: its documents are the same, its numbers "
            "grades"
        )
        yield Note("qrels-as-run", "error", text, count=scan.rows)
    yield from _about_queries(meeting)
    if n_hits == 0:
        yield nothing_judged(affix_of(qrels, run), "error")
        return
    possible = int(np.minimum(np.diff(qrels.starts), judged.n_retrieved[:, 0]).sum())
    if n_hits / possible < _FEW_RETURNED:
        text = (
            f"of the judged documents that could be in the lists, {n_hits / possible:.1%} do "
            f"({n_hits:,} of {possible:,}): were documents cut or numbered anew since they were "
            "judged?"
        )
        yield Note("few-judged-returned", "warning", text, count=n_hits)
    if judged_at < _FEW_JUDGED and qrels.graded:
        text = (
            f"{1 - judged_at:.1%} of the first {k} documents carry no judgment, and count as not "
            "relevant: the numbers are lower bounds, more or less"
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
        yield Note("queries-without-results", "warning", text, count=without_results)
    if without_judgments:
        text = f"{queries_of(without_judgments)} of the run without judgments: not scored"
        yield Note("queries-without-judgments", "info", text, count=without_judgments)
