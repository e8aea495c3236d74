"""Rows of cells to text, HTML and delimited values. It knows nothing of evaluation.

Cells may hold anything that stood in somebody's file; nothing of it is taken for markup.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cranfield.errors import printable


@dataclass(frozen=True)
class Table:
    """A header, rows of texts, and lines to say below.

    The first `n_labels` columns are text, the others numbers, set flush right. `strong` are the
    (row, column) of cells to stand out, `rules` the rows with a line above them.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    n_labels: int = 1
    strong: frozenset[tuple[int, int]] = frozenset()
    rules: frozenset[int] = frozenset()

    def turned(self) -> "Table":
        """Turn a table with one label column on its side."""
        columns = list(zip(self.header, *self.rows, strict=True))
        return Table(
            ["", *columns[0][1:]],
            columns[1:],
            self.notes,
            1,
            frozenset((column - 1, row + 1) for row, column in self.strong),
        )


def text(table: Table, *, width: int | None = None, color: bool = False) -> str:
    """Return an aligned table for a terminal, ending in a line break.

    Nothing is cut off. If `width` (characters) is too small for the columns, a table with one
    label column is turned on its side, any other is as wide as it has to be.
    """
    lines = _drawn(table, color)
    if width is not None and _width(lines[1]) > width and table.n_labels == 1:
        lines = _drawn(table.turned(), color)
    return "\n".join([*lines, "", *map(printable, table.notes), ""])


def _drawn(table: Table, color: bool) -> list[str]:
    """Return the lines of an aligned table: the header, a rule, the rows."""
    cells = [[printable(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    strong = {(row + 1, column) for row, column in table.strong}
    strong |= {(0, column) for column in range(len(widths))}
    lines = []
    for r, row in enumerate(cells):
        shown = []
        for c, cell in enumerate(row):
            blank = " " * (widths[c] - _width(cell))
            bold = f"\x1b[1m{cell}\x1b[0m" if color and (r, c) in strong else cell
            shown.append(bold + blank if c < table.n_labels else blank + bold)
        lines.append(" " + "   ".join(shown).rstrip())
    rule = " " + "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (sum(widths) + 3 * (len(widths) - 1))
    for r in sorted({0, *table.rules}, reverse=True):
        lines.insert(r + 1, rule)
    return lines


def _width(cell: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return cell_len(cell)


def to_html(table: Table) -> str:
    """Return a table for a notebook or a page."""
    import html

    def cell(tag: str, content: str, column: int, strong: bool = False) -> str:
        align = "left" if column < table.n_labels else "right"
        shown = html.escape(printable(content))
        shown = f"<strong>{shown}</strong>" if strong else shown
        return f'<{tag} style="text-align: {align}; padding: 0.2em 0.7em">{shown}</{tag}>'

    head = "".join(cell("th", name, c) for c, name in enumerate(table.header))
    body = "".join(
        "<tr>"
        + "".join(cell("td", value, c, (r, c) in table.strong) for c, value in enumerate(row))
        + "</tr>\n"
        for r, row in enumerate(table.rows)
    )
    notes = "".join(f"<p>{html.escape(printable(note))}</p>\n" for note in table.notes)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{notes}"


def delimited(rows: Iterable[Sequence[object]], delimiter: str) -> str:
    """Return rows as separated values; a cell that holds the separator or a quote is quoted."""
    import csv

    rows = list(rows)
    page = io.StringIO()
    # The writer's own rule, to quote what needs it, overlooks a carriage return.
    returns = any("\r" in cell for row in rows for cell in row if isinstance(cell, str))
    writer = csv.writer(
        page,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
    )
    writer.writerows(rows)
    return page.getvalue()
