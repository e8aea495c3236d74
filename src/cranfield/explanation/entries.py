"""What a worksheet consists of, and the order in which it is to be read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cranfield.explanation.expressions import to_six_decimals
from cranfield.explanation.words import IN_ORDER
from cranfield.render.numbers import format_short
from cranfield.render.table import Table

_N_LAST_ROWS = 2  # rows at the end, of a table that is cut
EMPTY = "(empty)"  # an empty string
_LABELS = ("group", "rank", "document", "grade", "rank in run")


@dataclass(frozen=True)
class Column:
    """A number for each row; `made` says of what, where the header does not."""

    header: str
    values: Sequence[Any]
    formula: str = ""


@dataclass(frozen=True)
class Total:
    """What is computed from a column: its sum, first or highest value; or a count of rows."""

    symbol: str
    words: str
    values: Sequence[float | str]  # one, or one for each group
    column: str = ""  # the header
    running: Sequence[float] | None = None  # of a sum: how it adds up, row by row

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.symbol} = {self.words} = {to_six_decimals(self.values[0])}"
        return f"{self.symbol} = {self.words}, of each group"


@dataclass(eq=False)
class Sheet:
    """Rows of a ranking, or the groups of a query, with the columns that matter."""

    title: str
    labels: dict[str, Sequence[Any]]
    columns: list[Column] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    is_sorted: bool = False  # whether its rows are in an order that no run made
    is_ideal: bool = False  # whether it is an ideal ranking, of which more is used than a count
    is_used: bool = False  # whether more is used of it than a count
    references: "References" = field(default_factory=dict)  # what it refers to
    title_references: "References" = field(default_factory=dict)  # what its title refers to

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return len(next(iter(self.labels.values())))

    @property
    def column_names(self) -> set[str]:
        """What its columns are called."""
        return {*self.labels, *(column.header for column in self.columns)}

    @property
    def formula_lines(self) -> list[str]:
        """How the columns are computed, and what is computed from them."""
        formulas = [
            f"{column.header} = {column.formula}" for column in self.columns if column.formula
        ]
        return [*formulas, *map(str, self.totals)]

    @property
    def shown_numbers(self) -> Iterator[Any]:
        """All numbers that it shows, except the labels."""
        for column in self.columns:
            yield from column.values
        for total in self.totals:
            yield from (*total.values, *(total.running or ()))

    def to_table(self, limit: int | None, title: Sequence[str], notes: Sequence[str]) -> Table:
        """Return it as a table; a row in the middle says how many are left out by the limit."""
        columns = [
            (name, _grade_texts(cells) if name == "grade" else cells)
            for name, cells in self._visible_columns()
        ]
        header = [name for name, _ in columns]
        rows: list[Sequence[Any]] = list(zip(*(values for _, values in columns), strict=True))
        if limit is not None and len(rows) > limit + 1:
            n_last = min(_N_LAST_ROWS, limit // 2)
            label = "document" if "document" in header else header[0]
            hidden_text = f"({len(rows) - limit:,} more)"
            gap = [hidden_text if name == label else "..." for name in header]
            rows[limit - n_last : len(rows) - n_last] = [gap]
        cells = [["-" if cell is None else to_six_decimals(cell) for cell in row] for row in rows]
        n_texts = sum(name in self.labels for name in _LABELS[:3])
        return Table(header, cells, notes, n_texts, title=title)

    def _visible_columns(self) -> list[tuple[str, Sequence[Any]]]:
        """Return what is shown of each row: labels, columns, how they add up."""
        columns = [(name, self.labels[name]) for name in _LABELS if name in self.labels]
        columns += [(column.header, column.values) for column in self.columns]
        running_totals = [
            (total.symbol, total.running) for total in self.totals if total.running is not None
        ]
        for symbol, running in running_totals:
            columns.append(
                (f"sum so far, {symbol}" if len(running_totals) > 1 else "sum so far", running)
            )
        return columns

    def rows(self, reserved_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return {name: value} of each row; a column called as one of `taken` is renamed."""
        values_of_name = {
            f"{name} of this step"
            if name in reserved_names and name not in self.labels
            else name: values
            for name, values in self._visible_columns()
        }
        return [
            dict(zip(values_of_name, row, strict=True))
            for row in zip(*values_of_name.values(), strict=True)
        ]

    def complete_title(self) -> None:
        """Add to the title of an ideal ranking that it is ideal; a count alone has no order."""
        self.is_ideal = self.is_sorted and self.is_used
        if self.is_ideal:
            self.title = f"the ideal ranking: {self.title}"
        elif self.is_sorted:
            self.title = self.title.replace(IN_ORDER, "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "table": self.title,
            **{name: list(column) for name, column in self.labels.items()},
            "columns": [
                {
                    "name": column.header,
                    "made": column.formula or column.header,
                    "values": list(column.values),
                }
                for column in self.columns
            ],
            "totals": [asdict(total) for total in self.totals],
        }


@dataclass(frozen=True)
class Line:
    """A number and how it is computed from others: in words or symbols, then in numbers."""

    symbol: str
    words: str
    numbers: str
    value: float | str
    # What it refers to.
    references: "References" = field(default_factory=dict, compare=False, repr=False)

    def text(self, *, digits: bool = False) -> str:
        """Return it as it is shown: A = words = numbers = value, with all `digits` or with six."""
        value = (str(self.value) or EMPTY) if digits else to_six_decimals(self.value)
        numbers = self.numbers if len(self.words) > 1 else ""  # A, which is above
        parts = [self.symbol, self.words, numbers, value]
        return " = ".join(dict.fromkeys(part for part in parts if part))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {name: getattr(self, name) for name in ("symbol", "words", "numbers", "value")}


def _grade_texts(grades: Sequence[float | None]) -> list[str | None]:
    return [grade if grade is None else format_short(grade) for grade in grades]


Entry = Sheet | Line
References = dict[str | Sheet, None]  # in order: the symbols of lines and totals; sheets


@dataclass(frozen=True)
class Worksheet:
    """What a value was made of, in the order in which it is to be read.

    `result` is the last line: the value itself. `lost` says that the measure lost some of it.
    """

    entries: Sequence[Entry]
    value_line: Line
    is_incomplete: bool = False
    is_deep: bool = False  # and so all of it is left out: it takes too many steps to be written
    zero_divisions: tuple[str, ...] = ()  # the columns and lines where 0/0 counted as 0


def order_entries(
    entry_of_symbol: dict[str, Entry], sheets: Iterable[Sheet], needs: References
) -> list[Entry]:
    """Return what is needed so that what one refers to is above it, where that can be.

    `of` has the entries by their symbols, `sheets` are the rankings' tables.
    """
    # What a title refers to gets a table of its own, if its table needs that of the title: else
    # each would have to be above the other.
    for sheet in sheets:
        for symbol in map(str, sheet.title_references):
            total_sheet = entry_of_symbol[symbol]
            if isinstance(total_sheet, Sheet) and sheet in _collect_entries(
                entry_of_symbol, total_sheet.references
            ):
                (total,) = (
                    candidate for candidate in total_sheet.totals if candidate.symbol == symbol
                )
                headers = [column.header for column in total_sheet.columns]
                n_columns = headers.index(total.column) + 1 if total.column in headers else 0
                columns, own_references = (
                    total_sheet.columns[:n_columns],
                    dict(total_sheet.title_references),
                )
                entry_of_symbol[symbol] = replace(
                    total_sheet, columns=columns, totals=[total], references=own_references
                )
                total_sheet.totals.remove(total)
    entries = _collect_entries(entry_of_symbol, needs)
    for entry in entries:
        if isinstance(entry, Sheet):
            entry.complete_title()
    return entries


def _collect_entries(of: Mapping[str, Entry], needs: References) -> list[Entry]:
    entries: list[Entry] = []
    visited: set[Entry] = set()

    def visit(needs: References) -> None:
        for reference in needs:
            entry = of[reference] if isinstance(reference, str) else reference
            if entry not in visited:
                visited.add(entry)
                visit(entry.references)
                entries.append(entry)

    visit(needs)
    return entries
