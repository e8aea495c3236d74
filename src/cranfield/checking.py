"""check: what silently ruins numbers, found before scoring."""

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.arguments import check_judged
from cranfield.errors import InputError, printable
from cranfield.formats.block import LeftOut, Load, Progress
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.ids import Ids, decode
from cranfield.judge import Meeting, judge
from cranfield.measures import Plan, parse
from cranfield.notes import Note, Severity, gravest_first
from cranfield.options import checked, whole
from cranfield.qrels import Qrels, QrelsLike, as_qrels
from cranfield.ranked import mean
from cranfield.ranking import Grouped, grouped, in_threads, ranks, regrouped, sorting_scores
from cranfield.render.numbers import number_of, queries_of
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.run_notes import (
    against_ranks,
    are_ranks,
    contradicted,
    level_scores,
    mostly,
    nothing_judged,
    ranks_as_scores,
    varied,
)
from cranfield.runs import Run, RunLike, SeveralRuns, as_run, several_runs
from cranfield.spelling import affix_of

_FEW_RETURNED = 0.05
_FEW_JUDGED = 0.5
_HIGH_GRADE = 10
_MANY = 10_000
Where = Callable[[], tuple[int | None, str | None]]


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
            scan = _scan(run, k, progress)
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
    lists = qrels.doc_lists
    relevant = np.bincount(qrels.query, qrels.grade > 0, len(qrels.query_ids))
    without = [query for query, n in zip(qrels.query_ids, relevant.tolist(), strict=True) if n == 0]
    if without:
        yield _finding(
            "warning",
            "no-relevant",
            file,
            f"{queries_of(len(without))} without a relevant document (no grade of 1 or more): "
            f"every system scores 0 there, and they count in the mean; for instance {without[0]!r}",
            len(without),
        )
    for code, rows, severity, text in (
        ("negative-grades", qrels.grade < 0, "info", "judgments have a negative grade"),
        (
            "high-grades",
            qrels.grade > _HIGH_GRADE,
            "warning",
            f"judgments have a grade above {_HIGH_GRADE}: are they on the scale that you mean? "
            "Gains of 2^grade - 1 grow beyond measure",
        ),
    ):
        count = int(np.count_nonzero(rows))
        if count:
            row = int(np.argmax(rows))
            query = int(qrels.query[row])
            doc = lists[query][row - int(qrels.starts[query])]
            yield _finding(
                severity,  # type: ignore[arg-type] # one of them
                code,
                file,
                f"{count:,} {text}; for instance {int(qrels.grade[row])} for query "
                f"{qrels.query_ids[query]!r}, document {doc!r}",
                count,
            )
    if len(qrels) and int(qrels.grade.min()) == int(qrels.grade.max()):
        yield _finding(
            "info",
            "one-grade",
            file,
            f"all judgments have the grade {int(qrels.grade[0])}: measures of judged nonrelevant "
            "documents (Bpref, infAP) have nothing to go by",
        )
    odd = dict.fromkeys(query for query in qrels.query_ids if _is_odd(query))
    for docs in lists:
        odd |= dict.fromkeys(doc for doc in docs if _is_odd(doc))
    if odd:
        yield _odd_ids(file, list(odd))


def _is_odd(text: str) -> bool:
    """Tell whether an id holds white space, or what the eye cannot see."""
    if text.isascii() and text.isprintable() and " " not in text:
        return False
    return any(one.isspace() or unicodedata.category(one) in _UNSEEN for one in text)


_UNSEEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}


def _odd_ids(file: str, odd: Sequence[str]) -> Note:
    return _finding(
        "warning",
        "odd-ids",
        file,
        f"{len(odd):,} ids hold white space, invisible characters or bytes that are no UTF-8: two "
        f"that look alike may differ; for instance {odd[0]!a}",
        len(odd),
    )


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
        yield _finding(
            "info",
            "bom",
            file,
            "begins with a byte order mark, which other tools take for a part of the first id",
            line=1,
        )
    kinds = [
        f"{n:,} {name}"
        for n, name in ((n_both, "CR LF"), (alone[0], "LF"), (alone[1], "CR alone"))
        if n > 0
    ]
    if len(kinds) > 1:
        yield _finding(
            "warning", "line-ends", file, f"its lines end in several ways: {', '.join(kinds)}"
        )
    if last and last not in b"\r\n":
        yield _finding(
            "warning",
            "no-last-line-end",
            file,
            "its last line has no line end: was the file cut off?",
        )


# ---- runs -----------------------------------------------------------------------------------


@dataclass
class _Scan:
    """What was seen of a run's rows, some or all."""

    rows: int = 0
    queries: dict[bytes, None] = field(default_factory=dict)
    apart: int = 0  # queries whose rows stand apart
    left_out: LeftOut = field(default_factory=LeftOut)
    tied: int = 0  # rows whose score another of the query has
    tied_top: int = 0  # queries with such rows in the first k ranks, or across them
    tied_row: str | None = None
    tied_at: Where | None = None
    several: int = 0  # queries of several documents
    level: int = 0  # queries of several documents, all of the same score
    like_ranks: int = 0  # queries of several documents, whose scores are 1, 2, 3, ...
    longest: int = 0  # documents of a query
    has_ranks: bool = False  # whether the rank column tells documents apart
    infinite: int = 0
    low: float = math.inf  # of the scores, or the ranks
    high: float = -math.inf
    whole: bool = True  # whether all of these are whole numbers
    against: int = 0  # queries whose ranks contradict their scores
    against_at: Where | None = None
    odd: dict[str, None] = field(default_factory=dict)  # some of them, if there are many

    def add(self, other: "_Scan") -> None:
        """Take what was seen of more rows."""
        self.rows += other.rows
        self.apart += other.apart + len(self.queries.keys() & other.queries.keys())
        self.queries |= other.queries
        self.left_out += other.left_out
        self.tied += other.tied
        self.tied_top += other.tied_top
        if self.tied_row is None:
            self.tied_row, self.tied_at = other.tied_row, other.tied_at
        self.several += other.several
        self.level += other.level
        self.like_ranks += other.like_ranks
        self.longest = max(self.longest, other.longest)
        self.has_ranks = self.has_ranks or other.has_ranks
        self.infinite += other.infinite
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole = self.whole and other.whole
        self.against_at = self.against_at or other.against_at
        self.against += other.against
        if len(self.odd) < _MANY:
            self.odd |= other.odd

    def like_grades(self, qrels: Qrels) -> bool:
        """Tell whether the numbers may be the grades of the judgments."""
        grades = qrels.grade
        return self.whole and (self.low, self.high) == (int(grades.min()), int(grades.max()))


def _scan(run: Run, k: int, progress: Progress | None) -> _Scan:
    scan = _scan_of(run.every_row(sorted(run.numbers), progress), k)
    scan.left_out += run.left_out
    if not scan.apart:
        return scan
    whole = _scan_of(regrouped(run.every_row(sorted(run.numbers))), k)
    whole.apart = scan.apart
    return whole


def _scan_of(loads: Iterable[Load], k: int) -> _Scan:
    scan = _Scan()
    for part in in_threads(partial(_scanned, k=k), loads):
        scan.add(part)
    return scan


def _scanned(load: Load, k: int) -> _Scan:
    whole = grouped(load(), "skip")
    block = whole.block
    scan = _Scan(rows=len(block), queries=dict.fromkeys(whole.queries), left_out=block.left_out)
    scan.apart = len(whole.queries) - len(scan.queries)
    for ids in (block.query.take(whole.starts[:-1]), block.doc):
        scan.odd |= dict.fromkeys(filter(_is_odd, map(decode, _suspicious(ids))))
    numbers = block.value if block.value is not None else block.rank
    if numbers is not None and len(block):
        scan.low, scan.high = float(numbers.min()), float(numbers.max())
        scan.whole = bool((numbers == np.floor(numbers)).all())
    if block.value is None or len(block) == 0:
        return scan
    scores = sorting_scores(block)
    assert scores is not None  # noqa: S101 - there is a value
    counts = np.diff(whole.starts)
    scan.several, scan.longest = int(np.count_nonzero(counts > 1)), int(counts.max())
    ends = whole.starts.tolist()
    scan.like_ranks = sum(
        end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in pairwise(ends)
    )
    scan.infinite = int(np.count_nonzero(np.isinf(scores)))
    _look_for_ties(scan, whole, scores, k)
    if block.rank is not None:
        scan.has_ranks = varied(whole.group, block.rank)
        wrong = contradicted(whole.group, block.rank, scores)
        scan.against = len(set(whole.group[wrong].tolist()))
        if scan.against:
            scan.against_at = partial(block.where, int(wrong[0]))
    return scan


def _look_for_ties(scan: _Scan, whole: Grouped, scores: Any, k: int) -> None:
    block = whole.block
    every = np.arange(len(block))
    rank = ranks(whole, scores, every)
    order = np.empty(len(block), np.int64)
    order[whole.starts[whole.group] + rank - 1] = every
    ranked = scores[order]
    equal = (ranked[1:] == ranked[:-1]) & (whole.group[1:] == whole.group[:-1])
    if not equal.any():
        return
    tied = np.append(False, equal) | np.append(equal, False)
    scan.tied = int(np.count_nonzero(tied))
    upper = np.flatnonzero(equal)  # the upper of a pair
    top = upper[upper - whole.starts[whole.group[upper]] < k]
    scan.tied_top = len(set(whole.group[top].tolist()))
    row = int(top[0] if len(top) else upper[0])
    query, first, second = (
        decode(one) for one in (block.query[row], block.doc[order[row]], block.doc[order[row + 1]])
    )
    scan.tied_at = partial(block.where, int(order[row + 1]))
    scan.tied_row = f"query {query!r}: {first!r} and {second!r} have {ranked[row]:g}"
    n_equal = np.bincount(whole.group[upper], minlength=len(whole.queries))
    scan.level = int(np.count_nonzero(n_equal == np.diff(whole.starts) - 1) if len(upper) else 0)
    scan.level -= int(np.count_nonzero(np.diff(whole.starts) == 1))


def _suspicious(ids: Ids) -> Iterable[bytes]:
    """Return the ids, if among their bytes is one that is no visible character of ASCII."""
    return () if ids.are_visible() else dict.fromkeys(ids.to_list())


def _about_run(file: str, run: Run, scan: _Scan, k: int) -> Iterator[Note]:
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
        yield _finding(
            "warning",
            "infinite-scores",
            file,
            f"{scan.infinite:,} scores are infinite",
            scan.infinite,
        )
    if scan.apart:
        yield _finding(
            "info",
            "interleaved",
            file,
            "the rows of a query stand apart: to be evaluated, the run is read into memory whole",
            scan.apart,
        )
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
    file: str, qrels: Qrels, run: Run, k: int, scan: _Scan, facts: dict[str, Any]
) -> Iterator[Note]:
    try:
        meeting = judge(qrels, run)
    except InputError as error:
        yield _of_error(file, error, "ids" if error.kind == "other" else error.kind)
        return
    counts = meeting.counts
    hits = meeting.judged.hits
    n_judged = np.diff(qrels.starts)
    possible = int(np.minimum(n_judged, meeting.judged.n_retrieved[:, 0]).sum())
    facts["judged documents returned"] = len(hits.rank)
    judged_at = 1.0
    if not qrels.in_groups:
        judged_at = facts[f"Judged@{k}"] = _judged_at(meeting, k)
    if len(hits.rank) == scan.rows == len(qrels) and scan.like_grades(qrels):
        yield _finding(
            "error",
            "qrels-as-run",
            file,
            "the judgments seem to be given as a run: its documents are the same, its numbers "
            "grades",
            scan.rows,
        )
    if counts.without_results:
        missing = [
            query
            for query, there in zip(meeting.query_ids, meeting.in_run.tolist(), strict=True)
            if not there
        ]
        example = f"; for instance {missing[0]!r}" if missing else ""
        yield _finding(
            "warning",
            "queries-without-results",
            file,
            f"{queries_of(counts.without_results)} of the qrels without results: they score 0"
            + example,
            counts.without_results,
        )
    if counts.without_judgments:
        yield _finding(
            "info",
            "queries-without-judgments",
            file,
            f"{queries_of(counts.without_judgments)} of the run without judgments: not scored",
            counts.without_judgments,
        )
    share = len(hits.rank) / possible if possible else 0.0
    if len(hits.rank) == 0:
        yield nothing_judged(affix_of(qrels, run), "error", file)
    elif share < _FEW_RETURNED:
        yield _finding(
            "warning",
            "few-judged-returned",
            file,
            f"of the judged documents that could stand in the lists, {share:.1%} do "
            f"({len(hits.rank):,} of {possible:,}): were documents cut or numbered anew since they "
            "were judged?",
            len(hits.rank),
        )
    if len(hits.rank) and judged_at < _FEW_JUDGED:
        yield _finding(
            "warning",
            "unjudged",
            file,
            f"{1 - judged_at:.1%} of the first {k} documents carry no "
            "judgment, and count as not relevant: the numbers are lower bounds, more or less",
        )


def _judged_at(meeting: Meeting, k: int) -> float:
    """Return the mean share of judged documents in the first k, over the queries with results."""
    values = Plan((parse(f"Judged@{k}"),)).values(meeting.judged)[:, 0]
    return float(mean(values[meeting.in_run]))
