"""check: finds what silently makes scores wrong, before scoring."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, Unpack

import numpy as np

from cranfield.data.qrels import Qrels, QrelsLike, make_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import InputError, escape_unprintable
from cranfield.formats.columns import Side
from cranfield.formats.frames import hold_stream
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import select_columns
from cranfield.measures import parse
from cranfield.notes import Note, sort_by_severity
from cranfield.options import check_option, keywords, refuse_unknown_options, takes, whole_check
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_shortest
from cranfield.render.plain import fold_line
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.findings import CHECK_JUDGING, error_finding, find_in_qrels, find_in_run
from cranfield.scoring.measure_notes import compare_lengths
from cranfield.scoring.sides import find_two_sided_tables

_MANY_GRADES = 20  # distinct grades; more are not shown one by one


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """What `check` found: `findings`, the gravest first, and `facts` of each file.

    `facts` is {file: {name: value}}, in words and numbers. `unreadable` are the files that could
    not be read at all.

    >>> check({"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 0.5, "d2": 0.1}}).ok
    True
    """

    header = ("file", "severity", "code", "finding", "queries", "count", "line", "row", "query_id")
    notes = ()  # the findings are its rows

    findings: Sequence[Note]
    facts: Mapping[str, Mapping[str, Any]]
    unreadable: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no error among the findings."""
        return not any(finding.severity == "error" for finding in self.findings)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each finding; `query_id` is that of its example."""
        names = ("source", "severity", "code", "text", *self.header[4:])
        return self._rows_as_dicts(map(attrgetter(*names), self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts and findings as JSON may have them."""
        return {
            "ok": self.ok,
            "facts": {file: dict(facts) for file, facts in self.facts.items()},
            "unreadable": list(self.unreadable),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def tables(self) -> list[Table]:
        """Return a table of the findings of each file, its facts above it."""
        header = ["severity", "finding", "example"]
        if any(finding.query_id is not None for finding in self.findings):
            header.append("query_id")
        tables = []
        for file, facts in self.facts.items():
            cells = [
                [finding.severity, finding.text, _format_example(finding), finding.query_id or ""]
                for finding in self.findings
                if finding.source == file
            ]
            rows = [row[: len(header)] for row in cells]
            tables.append(Table(header, rows, (), len(header), title=[_format_title(file, facts)]))
        return [*tables[:-1], replace(tables[-1], notes=[self._counts])]

    def _draw_table(self, table: Table, width: int | None, color: bool) -> str:
        """Return a file's facts, and below them its findings: lines, as sentences need the width.

        The query of an example has a line only with its text beside it: the sentence names it.
        """

        def fold_lines(lines: Iterable[str]) -> list[str]:
            folded_lines = (fold_line(escape_unprintable(line), width, "  ") for line in lines)
            return list(chain.from_iterable(folded_lines))

        lines = fold_lines(table.title)
        for severity, finding, example, *query_cells in table.rows:
            has_query_text = len(query_cells) > 1 and all(query_cells[1:])
            texts = [example, ": ".join(query_cells) if has_query_text else ""]
            lines += fold_line(f"  {severity:7}  {escape_unprintable(finding)}", width, " " * 11)
            for text in filter(None, texts):
                lines += fold_line(f"           {escape_unprintable(text)}", width, " " * 11)
        notes = fold_lines(table.notes)
        return "\n".join([*lines, *([""] if notes else []), *notes, ""])

    @property
    def _counts(self) -> str:
        """How many errors and warnings there are, in words."""
        severities: list[str] = [finding.severity for finding in self.findings]
        words = ("error", "warning")
        return ", ".join(format_count(severities.count(word), word) for word in words) + "."


_SINGULAR = {"queries": "query", "rows": "row", "judgments": "judgment"}


def _format_title(file: str, facts: Mapping[str, Any]) -> str:
    """Return the name of a file with its facts, in words."""
    words = []
    for name, value in facts.items():
        if isinstance(value, str):
            words.append(value)
        else:
            noun = _SINGULAR.get(name, name) if value == 1 else name
            words.append(f"{value:{',' if isinstance(value, int) else '.4f'}} {noun}")
    return f"{file}: {', '.join(words)}"


def _format_example(finding: Note) -> str:
    """Return the line number and the row of a finding's example, as far as known."""
    line = "" if finding.line is None else f"line {finding.line:,}"
    row = "" if finding.row is None else escape_unprintable(finding.row, 120)
    return f"{line}: {row}" if line and row else line or row


@add_progress
@takes(Reading, Watching)
def check(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns | None = None,
    *,
    k: int = 10,
    **reading: "Unpack[keywords.Check]",
) -> Check:
    """Find what silently makes scores wrong in judgments and runs.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        runs: a run, or several, as `evaluate` takes them. None: a table that holds both sides, or
            judgments alone.
        k: the depth at which ties and unjudged documents are counted.
        **reading: each option of `Reading` and `Watching`.

    Returns:
        A Check: findings of severity "error" (rows that cannot be used, ids that do not match),
        "warning" (numbers that may not mean what they seem to) and "info". Files are read as with
        errors="skip", to the end.

    Raises:
        InputError: judgments that cannot be read at all, or an argument out of place. A run that
            cannot be read is a finding.

    >>> report = check({"q1": {"d1": 1}}, {"q1": {"d1": 0.5, "d2": 0.5, "d3": 0.1}})
    >>> report.ok, [finding.code for finding in report.findings]
    (True, ['ties', 'unjudged', 'one-grade'])

    """
    k = check_option("k", k, whole_check(1))
    refuse_unknown_options(check, reading)
    judgments, run_or_runs = _read_judgments_and_runs(qrels, runs, Reading.of(reading))
    qrels_name = _name_in_table(judgments.sources, "qrels")
    grades, counts = np.unique(judgments.grade, return_counts=True)
    pairs = zip(map(format_shortest, grades.tolist()), counts.tolist(), strict=True)
    grade_counts = " ".join(f"{grade}:{n:,}" for grade, n in pairs)
    if len(grades) > _MANY_GRADES:
        grade_counts = f"{judgments.grade_range}, {len(grades):,} of them"
    facts: dict[str, dict[str, Any]] = {
        qrels_name: {
            "read as": judgments.description,
            "queries": len(judgments.query_ids),
            "judgments": len(judgments),
            "grades": f"grades {grade_counts}",
        }
    }
    findings = [finding.add_source(qrels_name) for finding in find_in_qrels(judgments)]
    unreadable: list[str] = []
    run_of_name = {run_or_runs.name: run_or_runs} if isinstance(run_or_runs, Run) else run_or_runs
    opened_runs = [run.skip_faults() for run in run_of_name.values()]
    for run, name in zip(opened_runs, run_of_name, strict=True):
        run.name = name
    names = [_name_in_table(run.sources, run.name) for run in opened_runs]
    for run, name in zip(opened_runs, names, strict=True):
        if names.count(name) > 1:
            name = f"{name} ({run.name})"
        if name in facts:
            run_name = f"{name} (run)"  # of a file that holds both sides
            name = run_name if run_name not in facts else f"{name} ({len(facts)})"
        facts[name] = {}
        try:
            run = run.resolve_spans(judgments.spans, CHECK_JUDGING.overlap)
            run_findings = find_in_run(run, judgments, k, facts[name])
            findings.extend(finding.add_source(name) for finding in run_findings)
            if run.rows.holds_texts:
                findings = [finding for finding in findings if finding.code != "odd-ids"]
        except InputError as error:
            unreadable.append(name)
            facts[name].setdefault("read as", "not read")
            findings.append(error_finding(error, "unreadable").add_source(name))
    lengths = {name: fact.get("documents in most lists", 0) for name, fact in facts.items()}
    length_notes = compare_lengths([parse(f"R@{max(lengths.values()) or 1}")], lengths)
    findings.extend(note.add_source(max(lengths, key=lengths.__getitem__)) for note in length_notes)
    return Check(sort_by_severity(findings), facts, unreadable)


def _read_judgments_and_runs(
    qrels: Any, runs: Any, reading: Reading
) -> tuple[Qrels, Run | Mapping[str, Run]]:
    """Return the judgments, and the run or {name: run}, which may be empty."""
    if runs is None:
        sides, qrels = None, hold_stream(qrels, "the judgments")
        with contextlib.suppress(InputError):  # then they are judgments alone
            sides = find_two_sided_tables(qrels, reading.columns, "skip")
        if sides is not None:
            judgments, run_or_runs = sides.read("skip", CHECK_JUDGING.duplicates)
            return judgments, reading.leave_out(run_or_runs)
        qrels_columns = select_columns(reading.columns, Side.QRELS)
        judgments = make_qrels(qrels, "skip", qrels_columns, CHECK_JUDGING.duplicates)
        return judgments, reading.leave_out({})
    judgments, run_or_runs, _ = arrange_arguments(
        qrels,
        runs,
        (),
        None,
        reading=reading,
        duplicates=CHECK_JUDGING.duplicates,
        errors="skip",
        verb=check,
    )
    return judgments, run_or_runs


def unreadable_check(name: str, error: InputError) -> Check:
    """Return a Check with the only finding that judgments cannot be read at all."""
    finding = error_finding(error, "unreadable").add_source(name)
    return Check([finding], {name: {"read as": "not read"}}, [name])


def _name_in_table(sources: Sequence[Source], name: str) -> str:
    """Return the name of the only file, or `name` if there is not one file."""
    return sources[0].name if len(sources) == 1 else name
