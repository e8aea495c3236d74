"""Trend: the result of `trend`, as tables, rows and plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.comparison.method import describe_test
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.score_columns import canonical_name
from cranfield.comparison.settings import Settings
from cranfield.comparison.tables import test_columns
from cranfield.explanation.pointer import compare_hint
from cranfield.extensions.trend.options import TrendSettings
from cranfield.measures import Measure
from cranfield.notes import Note, lines_below_table, merge_notes
from cranfield.render.numbers import format_number, format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, legend, put_lines_last, select_shown
from cranfield.version import __version__

BreakKind = Literal["judgments", "options", "queries"]
# The columns of rows: of an entry, and of its step.
_ENTRY_FIELDS = ("name", "queries", "mean", "judged", "judged_moved", "break_kind")
_STEP_FIELDS: tuple[str, ...] = (
    "other",
    "n",
    "scale",
    "difference",
    "low",
    "high",
    "ratio",
    "ratio_low",
)
_STEP_FIELDS += ("ratio_high", "p", "verdict", "wins", "ties", "losses")


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

    `against` compares the last entry with the best since the last break; its `p_adjusted` and its
    verdict are corrected by maxT over all entries since then. It is None where fewer than two come
    before the last. With a stated baseline, it compares with that, uncorrected.
    """

    measure: str
    entries: Sequence[TrendEntry]
    against: Pair | None
    results: Sequence[Result]  # of the steps: one for each set of shared queries
    notes: tuple[Note, ...]

    def make_table(self, settings: Settings) -> Table:
        """Return the table of the entries, with the legend of its columns below."""
        counts = sorted({entry.queries for entry in self.entries})
        range_words = f"{counts[0]:,} to " if len(counts) > 1 else ""
        heading = f"{self.measure} of {range_words}{format_query_count(counts[-1])}"
        title = [f"{heading}, each entry against the one before it"]
        columns: list[Column] = []
        if self.results:
            test = describe_test(self.results, settings)
            title.append(f"{test}; alpha {settings.alpha:g}")
            columns = select_shown([*test_columns(self.results, settings), _count_column(settings)])
        rows = []
        for entry in self.entries:
            cells = [column.cell(entry.step) if entry.step else "" for column in columns]
            cells[:1] = [entry.break_kind or "".join(cells[:1])]
            judged = f"{format_number(entry.judged, 2)} {'!' if entry.judged_moved else ' '}"
            rows.append([entry.name, format_number(entry.mean), *cells, judged])
        headings = [column.heading.replace("diff", "step") for column in columns] or ["step"]
        has_shares = any(entry.judged is not None for entry in self.entries)
        table = Table(
            ["entry", "mean", *headings, "Judged"],
            rows,
            [line.replace("diff: ", "step: ") for line in legend(columns)] + [_JUDGED] * has_shares,
            2,
            title=title,
        )
        return table if has_shares else table.select_columns(range(len(table.header) - 1))


_JUDGED = "Judged: share of its documents, to the cutoff, that is judged; ! moved by over 0.05."


def _count_column(settings: Settings) -> Column:
    """Return the column of wins, ties and losses, whose legend explains the marks, too."""
    return Column(
        "W/T/L",
        lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}",
        "W/T/L: queries on which it is better, the same, worse than before.\n"
        f"^ better, v worse (p at most {settings.alpha:g}). No mark: not shown to differ.",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Trend(Shown):
    """Runs, or saved scores, in an order, each against the one before it: see `trend`.

    `found["nDCG@10"]` is the MeasureTrend: its `entries`, and `against`, the last entry against the
    best before it.

    >>> from cranfield import trend
    >>> week = {f"q{i}": 0.1 * i for i in range(10)}
    >>> found = trend({"w1": week, "w2": week})
    >>> [(row["entry"], row["difference"]) for row in found.rows()], found["score"].against
    ([('w1', None), ('w2', 0.0)], None)
    """

    header = ("measure", "entry", *_ENTRY_FIELDS[1:], *_STEP_FIELDS)

    results: Sequence[MeasureTrend]
    settings: TrendSettings
    baseline: str | None  # the entry that the last one is compared with, if one was stated
    data_notes: tuple[Note, ...]

    def __getitem__(self, measure: str | Measure) -> MeasureTrend:
        """Return the trend of one measure; KeyError, with the measures that there are."""
        name = canonical_name(measure, self.measures)
        for result in self.results:
            if result.measure == name:
                return result
        raise KeyError(f"{measure}: there are {', '.join(self.measures)}")

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return [result.measure for result in self.results]

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on the measures, the last entry's comparison first, and on the data."""
        return (*self._merge_measure_notes(), *self.data_notes)

    def _merge_measure_notes(self) -> list[Note]:
        """Return each note on measures once, with the measures that it applies to unless to all."""
        named_notes = [(result.measure, note) for result in self.results for note in result.notes]
        return merge_notes(named_notes, len(self.results))

    def tables(self) -> list[Table]:
        """Return a table for each measure; the lines that explain all are below the last."""
        tables = [result.make_table(self.settings.correct_by("none")) for result in self.results]
        notes = self._merge_measure_notes()
        lines = [str(note) for note in notes if not note.is_grave]
        lines += [
            compare_hint(result.measure, [result.against.other, result.against.system])
            for result in self.results
            if result.against is not None
        ][:1]
        legend_lines = [
            (result.measure, Note("legend", "info", line))
            for result, table in zip(self.results, tables, strict=True)
            for line in table.notes
        ]
        lines += map(str, merge_notes(legend_lines, len(tables)))
        grave_notes = [note for note in notes if note.is_grave]
        return put_lines_last(tables, lines_below_table(lines, [*grave_notes, *self.data_notes]))

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
        results = [
            {
                "measure": result.measure,
                "entries": [
                    {**vars(entry), "step": entry.step and entry.step.to_dict()}
                    for entry in result.entries
                ],
                "against": result.against and result.against.to_dict(),
            }
            for result in self.results
        ]
        settings = {**vars(self.settings), "baseline": self.baseline, "cranfield": __version__}
        notes = [note.to_dict() for note in self.notes]
        return {"settings": settings, "results": results, "notes": notes}
