"""What a worksheet consists of, and the order in which it is to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.arrays.trace import Recording
from cranfield.explanation.words import IN_ORDER, is_ideal, is_reordered


@dataclass(frozen=True)
class Column:
    """A number for each row; `made` says of what, where the header does not."""

    header: str
    values: Sequence[Any]
    made: str = ""


@dataclass(frozen=True)
class Total:
    """What becomes of a column: its sum, or its first or its highest value; or a count of rows."""

    symbol: str
    words: str
    values: Sequence[float | str]  # one, or one for each group
    column: str = ""  # the header
    running: Sequence[float] | None = None  # of a sum: how it adds up, row by row


@dataclass
class Sheet:
    """Rows of a ranking, or the groups of a query, with the columns that matter."""

    title: str
    labels: dict[str, Sequence[Any]]
    columns: list[Column] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    is_ideal: bool = False  # whether it is an ideal ranking, of which more is used than a count


@dataclass(frozen=True)
class Line:
    """A number and how it comes of others: in words or symbols, then in numbers."""

    symbol: str
    words: str
    numbers: str
    value: float | str


@dataclass(frozen=True)
class Worksheet:
    """What a value was made of, in the order in which it is to be read.

    `result` is the last line: the value itself. `lost` says that the measure lost some of it.
    """

    entries: Sequence[Sheet | Line]
    result: Line
    lost: bool = False
    is_deep: bool = False  # and so all of it is left out: it takes too many steps to be written
    divided_by_nothing: tuple[str, ...] = ()  # the columns and lines where 0/0 counted as 0


class Ordered(dict[Any, Any]):
    """A set that keeps the order."""

    def add(self, one: Any) -> None:
        """Add one, at the end if it is new."""
        self[one] = one


@dataclass
class Entries:
    """The tables and lines of a worksheet, and which refers to which."""

    entries: dict[str, Sheet | Line] = field(default_factory=dict)  # by symbol
    # What an entry refers to: symbols, or sheets. A sheet by its id, as a line.
    needs: dict[int, Any] = field(default_factory=dict)
    # Of each sheet of rows, by its id: the sheet, its rows, and what its title refers to.
    titles: dict[int, tuple[Sheet, Recording, dict[Any, Any]]] = field(default_factory=dict)
    rankings: set[int] = field(default_factory=set)  # sheets of which more is used than a count

    def ordered(self, refers: Mapping[Any, Any]) -> list[Sheet | Line]:
        """Return the entries so that what one refers to stands above it, where that can be."""
        found: list[Sheet | Line] = []
        met: set[int] = set()

        def visit(needed: Mapping[Any, Any]) -> None:
            for one in needed.values():
                entry = self.entries[one] if isinstance(one, str) else one
                if id(entry) not in met:
                    met.add(id(entry))
                    visit(self.needs.get(id(entry), {}))
                    found.append(entry)

        visit(refers)
        return found

    def title(self) -> None:
        """Say of the tables of an ideal ranking that they are; a count alone has no order."""
        for sheet, rows, _ in self.titles.values():
            if is_ideal(rows) or is_reordered(rows):
                sheet.is_ideal = id(sheet) in self.rankings
                if sheet.is_ideal:
                    sheet.title = f"the ideal ranking: {sheet.title}"
                else:
                    sheet.title = sheet.title.replace(IN_ORDER, "")

    def part(self) -> None:
        """Give what a title refers to a table of its own, if its table needs that of the title.

        Else each would have to stand above the other.
        """
        for titled, _, refers in list(self.titles.values()):
            for symbol in refers:
                whole = self.entries[symbol] if isinstance(symbol, str) else None
                if isinstance(whole, Sheet) and self._is_needed(titled, whole, set()):
                    self._part(whole, symbol)

    def _part(self, whole: Sheet, symbol: str) -> None:
        """Move a total to a table of its own."""
        total = next(one for one in whole.totals if one.symbol == symbol)
        headers = [one.header for one in whole.columns]
        last = headers.index(total.column) + 1 if total.column in headers else 0
        own = Sheet(whole.title, whole.labels, whole.columns[:last], [total])
        whole.totals.remove(total)
        _, rows, refers = self.titles[id(whole)]
        self.entries[symbol] = own
        self.titles[id(own)] = own, rows, refers
        self.needs[id(own)] = Ordered(refers)
        if id(whole) in self.rankings:
            self.rankings.add(id(own))

    def _is_needed(self, one: Sheet, by: Sheet | Line, met: set[int]) -> bool:
        """Tell whether an entry refers to a table, or to one that does."""
        met.add(id(by))
        needed = self.needs.get(id(by), {})
        entries = [
            self.entries[name] if isinstance(name, str) else name for name in needed.values()
        ]
        return any(
            entry is one or (id(entry) not in met and self._is_needed(one, entry, met))
            for entry in entries
        )
