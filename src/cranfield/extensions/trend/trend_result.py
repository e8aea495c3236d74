"""Trend: the result of `trend`, as tables, rows and plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from cranfield.comparison.judged_share import name_documents
from cranfield.comparison.method import describe_test
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.score_columns import find_result
from cranfield.comparison.settings import Settings
from cranfield.comparison.tables import count_column, list_test_columns
from cranfield.explanation.pointer import compare_hint
from cranfield.measures import Measure
from cranfield.notes import Note, lines_below_table, merge_notes
from cranfield.render.numbers import format_number, format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table, put_lines_last, select_shown

BreakKind = Literal["judgments", "options", "queries"]
# The columns of rows: of an entry, and of its step.
_ENTRY_FIELDS = ("name", "queries", "mean", "judged", "judged_moved", "break_kind")
_STEP_FIELDS = [name for name in Pair.names() if name not in ("system", "mean", "changes")]


@dataclass(frozen=True)
class TrendEntry:
    """An entry of a trend under one measure.

    `step` compares it with the entry before it, on the queries that both have; None of the first
    entry, and behind a break: `break_kind` says what is another than before.
    """

    name: str
    queries: int
    mean: float
    judged: float | None  # share of the documents that the measure looks at; None: not known
    judged_moved: bool  # by more than 0.05 since the entry before
    step: Pair | None
    break_kind: BreakKind | None


@dataclass(frozen=True, eq=False)
class MeasureTrend:
    """The entries under one measure, and the last of them against the best before it.

    `against` has p_adjusted and a verdict by maxT over all entries since the last break; it is None
    where fewer than two come before the last. With a stated baseline, it is against that.
    """

    measure: str
    entries: Sequence[TrendEntry]
    against: Pair | None
    results: Sequence[Result]  # of the steps: one for each set of shared queries
    notes: tuple[Note, ...]

    def make_table(self, settings: Settings) -> Table:
        """Return the table of the entries, with the legend of its columns below."""
        counts = sorted({entry.queries for entry in self.entries})
        queries_text = f"{counts[0]:,} to " * (len(counts) > 1) + format_query_count(counts[-1])
        title = [f"{self.measure} of {queries_text}, each entry against the one before it"]
        step_columns, sentences = [Column("step", str)], []
        if self.results:
            title.append(f"{describe_test(self.results, settings)}; alpha {settings.alpha:g}")
            step_columns = select_shown(list_test_columns(self.results, settings, "step"))
            step_columns.append(count_column("before"))
            marks = f"^ better, v worse: p at most {settings.alpha:g}, uncorrected."
            sentences = [f"{marks} No mark: not shown to differ."]
            if not self.results[0].higher_is_better:
                sentences.insert(0, f"{self.measure}: less is better.")
            if self.against and settings.baseline is None:
                sentences.append("p maxT: p of the last entry, corrected for choosing the best.")

        def show_step(column: Column, entry: TrendEntry) -> str:
            if entry.step is None:  # the first column says what a break is of
                return entry.break_kind or "" if column is step_columns[0] else ""
            return column.cell(entry.step)

        columns = [
            Column("entry", lambda entry: entry.name),
            Column("mean", lambda entry: format_number(entry.mean)),
            *(replace(column, cell=partial(show_step, column)) for column in step_columns),
            Column(
                "Judged",
                lambda e: f"{format_number(e.judged, 2)} {'!' if e.judged_moved else ' '}",
                f"Judged: share of its {name_documents(self.measure)} that is judged; "
                "! moved by over 0.05 in a step.",
                any(entry.judged is not None for entry in self.entries),
            ),
        ]
        return make_table(self.entries, columns, sentences=sentences, title=title, n_labels=2)


@dataclass(frozen=True, eq=False, repr=False)
class Trend(Shown):
    """Runs, or saved scores, in an order, each against the one before it: see `trend`.

    `history["nDCG@10"]` is the MeasureTrend: its `entries`, and `against`, the last entry against
    the best before it.

    >>> from cranfield import trend
    >>> week = {f"q{i}": 0.1 * i for i in range(10)}
    >>> history = trend({"w1": week, "w2": week})
    >>> [(row["entry"], row["difference"]) for row in history.rows()], history["score"].against
    ([('w1', None), ('w2', 0.0)], None)
    """

    header = ("measure", "entry", *_ENTRY_FIELDS[1:], *_STEP_FIELDS)

    results: Sequence[MeasureTrend]
    settings: Settings  # the baseline is the entry that the last one is compared with, if stated
    notes: Sequence[Note]  # on the measures, the last entry's comparison first, and on the data

    def __getitem__(self, measure: str | Measure) -> MeasureTrend:
        """Return the trend of one measure; KeyError, with the measures that there are."""
        return find_result(measure, self.results)

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return [result.measure for result in self.results]

    def tables(self) -> list[Table]:
        """Return a table for each measure; the lines that explain all are below the last."""
        tables = [result.make_table(self.settings) for result in self.results]
        lines = [str(note) for note in self.notes if not note.is_grave]
        hints = [
            compare_hint(
                result.measure,
                [pair.other, pair.system],
                is_partial=any(entry.queries > pair.n for entry in result.entries),
            )
            for result in self.results
            if (pair := result.against) is not None
        ]
        legend_notes = [
            (result.measure, Note("legend", "info", line))
            for result, table in zip(self.results, tables, strict=True)
            for line in table.notes
        ]
        legend = map(str, merge_notes(legend_notes, len(tables)))
        grave_notes = [note for note in self.notes if note.is_grave]
        return put_lines_last(tables, lines_below_table([*lines, *hints[:1], *legend], grave_notes))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure and entry, with the values of its step; None without."""
        return self._rows_as_dicts(
            (
                result.measure,
                *(getattr(entry, name) for name in _ENTRY_FIELDS),
                *(entry.step and getattr(entry.step, name) for name in _STEP_FIELDS),
            )
            for result in self.results
            for entry in result.entries
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON."""
        return {
            "settings": self.settings.to_dict(),
            "entries": self.rows(),
            "against": {r.measure: r.against and r.against.to_dict() for r in self.results},
            "against_correction": "maxt" if self.settings.baseline is None else "none",
            "notes": [note.to_dict() for note in self.notes],
        }
