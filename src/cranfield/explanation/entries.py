"""Sections of a worksheet, tables and lines, and the order in which they are to be read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cranfield.explanation.expressions import to_six_decimals
from cranfield.explanation.words import IN_ORDER
from cranfield.render.numbers import format_short
from cranfield.render.table import Table

_N_LAST_ROWS = 2  # most rows at the end, of a table that is cut
EMPTY = "(empty)"  # the text for an empty string
_LABELS = ("group", "rank", "document", "grade", "rank in run")  # in the order of the table


@dataclass(frozen=True)
class Column:
    """A value for each row; `formula` says how it is made, where the header does not."""

    header: str
    values: Sequence[Any]
    formula: str = ""


@dataclass(frozen=True)
class Total:
    """What is computed from a column, such as its sum or highest value; or a count of rows."""

    symbol: str
    words: str
    values: Sequence[float | str]  # a single one, or one for each group
    column: str = ""  # the header; of a count of all rows, empty
    running: Sequence[float] | None = None  # of a sum: how it adds up, row by row

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.symbol} = {self.words} = {to_six_decimals(self.values[0])}"
        return f"{self.symbol} = {self.words}, of each group"


@dataclass(eq=False)
class Sheet:
    """Rows of a ranking, or the groups of a query, with the columns that matter."""

    title: str
    labels: dict[str, Sequence[Any]]  # {name, of `_LABELS`: what names each row}
    columns: list[Column] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    is_sorted: bool = False  # whether its rows are in an order that no run made
    is_ideal: bool = False  # whether it is sorted and used, as `complete_title` finds
    is_used: bool = False  # whether more of it is used than a count
    references: "References" = field(default_factory=dict)  # what it refers to
    title_references: "References" = field(default_factory=dict)  # what its title refers to

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return len(next(iter(self.labels.values())))

    @property
    def column_names(self) -> set[str]:
        """The names of the labels and the headers of the columns."""
        return {*self.labels, *(column.header for column in self.columns)}

    @property
    def formula_lines(self) -> list[str]:
        """How the columns are computed, and what is computed from them."""
        columns = (column for column in self.columns if column.formula)
        formulas = [f"{column.header} = {column.formula}" for column in columns]
        return [*formulas, *map(str, self.totals)]

    @property
    def shown_numbers(self) -> Iterator[Any]:
        """All values of the columns and the totals, sums so far included."""
        for column in self.columns:
            yield from column.values
        for total in self.totals:
            yield from (*total.values, *(total.running or ()))

    def to_table(self, limit: int | None, title: Sequence[str], notes: Sequence[str]) -> Table:
        """Return the sheet as a table: of over `limit` + 1 rows, `limit` and one on the others."""
        columns = [
            (name, _grade_texts(cells) if name == "grade" else cells)
            for name, cells in self._visible_columns()
        ]
        header = [name for name, _ in columns]
        rows: list[Sequence[Any]] = list(zip(*(cells for _, cells in columns), strict=True))
        if limit is not None and len(rows) > limit + 1:
            n_last = min(_N_LAST_ROWS, limit // 2)
            label = "document" if "document" in header else header[0]
            hidden_text = f"({len(rows) - limit:,} more)"
            gap = [hidden_text if name == label else "..." for name in header]
            rows[limit - n_last : len(rows) - n_last] = [gap]
        cells = [["-" if cell is None else to_six_decimals(cell) for cell in row] for row in rows]
        n_labels = sum(name in self.labels for name in _LABELS[:3])
        return Table(header, cells, notes, n_labels, title=title)

    def _visible_columns(self) -> list[tuple[str, Sequence[Any]]]:
        """Return (name, values) of the labels, the columns, and the sums so far of the totals."""
        columns = [(name, self.labels[name]) for name in _LABELS if name in self.labels]
        columns += [(column.header, column.values) for column in self.columns]
        sums = [total for total in self.totals if total.running is not None]
        for total in sums:
            name = f"sum so far, {total.symbol}" if len(sums) > 1 else "sum so far"
            columns.append((name, total.running or ()))
        return columns

    def rows(self, reserved_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return {name: value} of each row; a reserved name of what is no label is changed."""
        columns = {}
        for name, column in self._visible_columns():
            is_renamed = name in reserved_names and name not in self.labels
            columns[f"{name} of this step" if is_renamed else name] = column
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def complete_title(self) -> None:
        """Say in the title that a sorted sheet is ideal; if only counted, drop its order."""
        self.is_ideal = self.is_sorted and self.is_used
        if self.is_ideal:
            self.title = f"the ideal ranking: {self.title}"
        elif self.is_sorted:
            self.title = self.title.replace(IN_ORDER, "")

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as plain values."""
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
    """A value and how it is computed from others: in words or symbols, then in numbers."""

    symbol: str
    words: str
    numbers: str
    value: float | str
    # What it refers to.
    references: "References" = field(default_factory=dict, compare=False, repr=False)

    def text(self, *, digits: bool = False) -> str:
        """Return A = words = numbers = value, no part empty or twice; `digits`: value in full."""
        value_text = (str(self.value) or EMPTY) if digits else to_six_decimals(self.value)
        numbers = self.numbers if len(self.words) > 1 else ""  # a symbol alone: its line is above
        parts = [self.symbol, self.words, numbers, value_text]
        return " = ".join(dict.fromkeys(part for part in parts if part))

    def to_dict(self) -> dict[str, Any]:
        """Return the line as plain values."""
        return {name: getattr(self, name) for name in ("symbol", "words", "numbers", "value")}


def _grade_texts(grades: Sequence[float | None]) -> list[str | None]:
    """Return the texts of grades, None for unjudged documents."""
    return [grade if grade is None else format_short(grade) for grade in grades]


Section = Sheet | Line
References = dict[str | Sheet, None]  # symbols of lines and totals, and sheets, first used first


@dataclass(frozen=True)
class Worksheet:
    """What a value was made of, in the order in which it is to be read.

    `value_line` is the last line. `is_incomplete` says that the measure lost some of the steps.
    """

    sections: Sequence[Section]
    value_line: Line
    is_incomplete: bool = False
    is_deep: bool = False  # and so all of it is left out: it takes too many steps to be written
    zero_divisions: tuple[str, ...] = ()  # names of the columns and lines that divide by 0


def order_sections(
    section_of_symbol: dict[str, Section], sheets: Iterable[Sheet], references: References
) -> list[Section]:
    """Return the sections that the value refers to, each below those that it refers to itself.

    `sheets` are all that were written; `references` are those of the value. Titles are completed.
    """
    # A total that a title refers to gets a table of its own if its table refers to that of the
    # title: else each would have to be above the other.
    for sheet in sheets:
        for symbol in map(str, sheet.title_references):
            total_sheet = section_of_symbol[symbol]
            if not isinstance(total_sheet, Sheet):
                continue
            if sheet in _collect_sections(section_of_symbol, total_sheet.references):
                section_of_symbol[symbol] = _split_total(total_sheet, symbol)
    sections = _collect_sections(section_of_symbol, references)
    for section in sections:
        if isinstance(section, Sheet):
            section.complete_title()
    return sections


def _split_total(sheet: Sheet, symbol: str) -> Sheet:
    """Take a total out of a sheet; return a sheet of it, with the columns up to its own."""
    total = next(total for total in sheet.totals if total.symbol == symbol)
    headers = [column.header for column in sheet.columns]
    n_columns = headers.index(total.column) + 1 if total.column in headers else 0
    columns, references = sheet.columns[:n_columns], dict(sheet.title_references)
    sheet.totals.remove(total)
    return replace(sheet, columns=columns, totals=[total], references=references)


def _collect_sections(
    section_of_symbol: Mapping[str, Section], references: References
) -> list[Section]:
    """Return the sections that some references lead to, each below those that it refers to."""
    sections: list[Section] = []
    done: set[Section] = set()

    def visit(references: References) -> None:
        for reference in references:
            section = section_of_symbol[reference] if isinstance(reference, str) else reference
            if section not in done:
                done.add(section)
                visit(section.references)
                sections.append(section)

    visit(references)
    return sections
