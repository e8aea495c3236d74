"""Plain text: draws a table in aligned lines, within the width of a terminal where possible."""

import re
from collections.abc import Sequence
from dataclasses import replace

from cranfield.errors import escape_unprintable
from cranfield.render.table import Table, text_width

_MIN_LABEL_WIDTH = 16  # columns of a terminal: labels are not folded below this width
_MIN_SENTENCE_WIDTH = 36  # nor sentences below this one
_MAX_HEADING_LINES = 3
_COLUMN_GAP = 2  # blanks between columns
_LINE_INDENT = "  "  # before the second and further lines of a folded text
_SENTENCE_INDENT = "      "  # before sentences below their row


def to_text(
    table: Table, *, width: int | None = None, color: bool = False, signs: bool = False
) -> str:
    """Return an aligned table for a terminal, ending in a line break.

    With `color`, headings and cells are bold, or cells underlined; with `signs` cells are written
    *so* and _so_.

    Nothing is cut off. If it is wider than `width` (characters), the first of these is done that
    makes it fit: headings and long texts are folded at blanks; sentences are put below their row; a
    table with one label column and no sentences is turned on its side; the columns are put one
    group below the other, each with the labels. Lines above and below it are folded at blanks.
    """
    lines = _table_lines(_write_signs(table) if signs else table, width, color)
    title, notes = (
        [
            part
            for text in texts
            for part in fold_line(escape_unprintable(text), width, _LINE_INDENT)
        ]
        for texts in (table.title, table.notes)
    )
    lines_above = [*title, ""] if title else []
    return "\n".join([*lines_above, *lines, *(["", *notes] if notes else []), ""])


def _write_signs(table: Table) -> Table:
    """Return a table with signs around bold and underlined numbers, and blanks around others."""
    signs = {**dict.fromkeys(table.bold_cells, "*"), **dict.fromkeys(table.underlined_cells, "_")}
    rows = [list(row) for row in table.rows]
    for r, row in enumerate(rows):
        for c in range(table.n_labels, table.first_sentence_column):
            sign = signs.get((r, c), " ")
            row[c] = f"{sign}{row[c]}{sign}" if row[c] else ""
    return replace(table, rows=rows)


def fold_line(line: str, width: int | None, indent: str = "") -> list[str]:
    """Return a line in parts that are no wider than `width`, broken at blanks only.

    Each part but the first has the `indent` before it; a word that is too wide is not broken.

    >>> fold_line("one two three", 9, "  ")
    ['one two', '  three']
    """
    if width is None or text_width(line) <= width:
        return [line]
    first, *words = re.split(r"(?<=[^ ]) +(?=[^ ])", line)
    blanks = re.findall(r"(?<=[^ ]) +(?=[^ ])", line)
    parts = [first]
    for blank, word in zip(blanks, words, strict=True):
        if text_width(parts[-1]) + len(blank) + text_width(word) <= width:
            parts[-1] += blank + word
        else:
            parts.append(indent + word)
    return parts


def _table_lines(table: Table, width: int | None, color: bool) -> list[str]:
    """Return the lines of a table: the header, a rule, the rows; within the width if they fit."""
    cells = _cell_texts(table)
    if width is None:
        return _draw_table(table, cells, _column_widths(cells), color)
    n_columns = len(table.header)
    widths = _fit_widths(table, cells, range(n_columns), width)
    if widths is not None:
        return _draw_table(table, cells, widths, color)
    if table.n_sentences:
        return _draw_sentences_below(table, cells, width, color)
    if table.n_labels == 1:
        transposed = table.transpose()
        new_cells = _cell_texts(transposed)
        widths = _fit_widths(transposed, new_cells, range(len(new_cells[0])), width)
        if widths is not None:
            return _draw_table(transposed, new_cells, widths, color)
    return _draw_column_groups(table, cells, width, color)


def _draw_sentences_below(
    table: Table, cells: Sequence[Sequence[str]], width: int, color: bool
) -> list[str]:
    """Return the lines of a table, each row followed by its sentences; in groups if too wide."""
    n_columns = table.first_sentence_column
    subtable = table.select_columns(range(n_columns))
    widths = _fit_widths(subtable, cells, range(n_columns), width)
    if widths is None:
        return _draw_column_groups(table, cells, width, color)
    sentence_lines = [
        [
            part
            for cell in row[n_columns:]
            if cell
            for part in fold_line(_SENTENCE_INDENT + cell, width, _SENTENCE_INDENT)
        ]
        for row in cells
    ]
    sentence_lines[0] = []  # the headings
    return _draw_table(subtable, cells, widths, color, sentence_lines)


def _draw_column_groups(
    table: Table, cells: Sequence[Sequence[str]], width: int, color: bool
) -> list[str]:
    """Return the lines of a table in groups of columns, a group below another, each with labels."""
    labels = [*range(table.n_labels)]
    other_columns = [*range(table.n_labels, len(table.header))]
    lines: list[str] = []
    while other_columns or not lines:
        for n in range(len(other_columns), -1, -1):
            columns = [*labels, *other_columns[:n]]
            widths = _fit_widths(table, cells, columns, width)
            if widths is not None or n <= 1:
                break
        other_columns = other_columns[n:]
        widths = widths or _smallest_widths(table, cells, columns, 1)
        subtable = table.select_columns(columns)
        subtable_cells = [[row[c] for c in columns] for row in cells]
        lines += [*([""] if lines else []), *_draw_table(subtable, subtable_cells, widths, color)]
    return lines


def _cell_texts(table: Table) -> list[list[str]]:
    """Return the texts of the header and the rows, with superscripts after a space."""
    cells = [[escape_unprintable(cell) for cell in row] for row in (table.header, *table.rows)]
    marks = {
        (r + 1, c): f" {escape_unprintable(mark)}"
        for (r, c), mark in table.superscripts.items()
        if mark
    }
    for column in {c for _, c in marks}:
        max_width = max(text_width(mark) for (_, c), mark in marks.items() if c == column)
        for r, row in enumerate(cells[1:], 1):
            mark = marks.get((r, column), "")
            row[column] += mark + " " * (max_width - text_width(mark))
    return cells


# ---- how wide columns are -----------------------------------------------------------------------


def _column_widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of the widest cell of each column."""
    return [max(map(text_width, column)) for column in zip(*cells, strict=True)]


def _smallest_widths(
    table: Table, cells: Sequence[Sequence[str]], columns: Sequence[int], n_lines: int
) -> list[int]:
    """Return the smallest widths of columns, with headings in at most `n_lines` lines.

    Texts may be folded to the least width of a label or a sentence, or to that of a longer word;
    numbers are not folded.
    """
    widths = []
    for c in columns:
        header, *body = (row[c] for row in cells)
        body_width = max([0, *map(text_width, body)])
        if table.is_text(c):
            word_widths = (text_width(word) for text in body for word in text.split(" "))
            min_width = _MIN_LABEL_WIDTH if c < table.n_labels else _MIN_SENTENCE_WIDTH
            body_width = min(body_width, max([min_width, *word_widths]))
        heading_widths = range(max(map(text_width, header.split(" "))), text_width(header))
        narrow_widths = (n for n in heading_widths if len(fold_line(header, n)) <= n_lines)
        widths.append(max(body_width, next(narrow_widths, text_width(header))))
    return widths


def _fit_widths(
    table: Table, cells: Sequence[Sequence[str]], columns: Sequence[int], width: int
) -> list[int] | None:
    """Return the widths of columns that fit into `width`; None if they cannot be so narrow.

    Headings have as few lines as possible; texts have the room that is left.
    """
    for n_lines in range(1, _MAX_HEADING_LINES + 1):
        widths = _smallest_widths(table, cells, columns, n_lines)
        spare_width = width - 1 - sum(widths) - _COLUMN_GAP * (len(widths) - 1)
        if spare_width >= 0:
            break
    else:
        return None
    full_widths = _column_widths([[row[c] for c in columns] for row in cells])
    for i, c in enumerate(columns):
        if table.is_text(c):
            extra_width = min(spare_width, full_widths[i] - widths[i])
            widths[i] += extra_width
            spare_width -= extra_width
    # What is left of a column once its texts are folded is not needed.
    cell_lines = [
        [fold_line(row[c], column_width) for row in cells]
        for c, column_width in zip(columns, widths, strict=True)
    ]
    return [max(text_width(line) for lines in column for line in lines) for column in cell_lines]


# ---- drawing ------------------------------------------------------------------------------------


def _draw_table(
    table: Table,
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    color: bool,
    lines_below: Sequence[Sequence[str]] = (),
) -> list[str]:
    """Return the lines of an aligned table; `lines_below` follow each row of `cells`."""
    # {(row, column): number of a terminal's style}: 1 is bold, 4 underlined.
    styles = {(row + 1, column): 1 for row, column in table.bold_cells}
    styles |= {(row + 1, column): 4 for row, column in table.underlined_cells}
    styles |= {(0, column): 1 for column in range(len(widths))}
    widths = _widen_groups(table, widths)
    rule = " " + "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (
        sum(widths) + _COLUMN_GAP * (len(widths) - 1)
    )
    lines = _draw_group_headings(table, widths)
    for r, row in enumerate(cells):
        cell_lines = [
            fold_line(cell, column_width) for cell, column_width in zip(row, widths, strict=False)
        ]
        height = max(map(len, cell_lines))
        # Headings end at the rule, cells begin at the row's top.
        for c, text_lines in enumerate(cell_lines):
            blank_lines = [""] * (height - len(text_lines))
            cell_lines[c] = [*blank_lines, *text_lines] if r == 0 else [*text_lines, *blank_lines]
        if r == 1 or r - 1 in table.ruled_rows - {0}:
            lines.append(rule)
        for line_cells in zip(*cell_lines, strict=True):
            line_texts = []
            for c, cell in enumerate(line_cells):
                padding = " " * (widths[c] - text_width(cell))
                styled_text = cell
                if color and cell and (r, c) in styles:
                    n_styled = len(cell.split(" ")[0]) if table.superscripts and r else len(cell)
                    styled_text = f"\x1b[{styles[r, c]}m{cell[:n_styled]}\x1b[0m{cell[n_styled:]}"
                line_texts.append(
                    styled_text + padding if table.is_text(c) else padding + styled_text
                )
            lines.append(" " + (" " * _COLUMN_GAP).join(line_texts).rstrip())
        lines += lines_below[r] if lines_below else ()
    return lines if len(cells) > 1 else [*lines, rule]


def _widen_groups(table: Table, widths: Sequence[int]) -> Sequence[int]:
    """Return the widths of columns; the last of a group is wider if its heading needs it."""
    new_widths, first = list(widths), 0
    for name, n in table.group_spans():
        if name:
            span = sum(new_widths[first : first + n]) + _COLUMN_GAP * (n - 1)
            new_widths[first + n - 1] += max(0, text_width(escape_unprintable(name)) - span)
        first += n
    return new_widths


def _draw_group_headings(table: Table, widths: Sequence[int]) -> list[str]:
    """Return the line of the groups' headings, each across its columns; none without groups."""
    span_texts, first = [], 0
    for name, n in table.group_spans():
        span = sum(widths[first : first + n]) + _COLUMN_GAP * (n - 1)
        heading = escape_unprintable(name)
        sign = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" if name else " "
        heading = f" {heading} " if name and text_width(heading) + 1 < span else heading
        n_left = (span - text_width(heading)) // 2
        span_texts.append(sign * n_left + heading + sign * (span - text_width(heading) - n_left))
        first += n
    return (
        [(" " + (" " * _COLUMN_GAP).join(span_texts)).rstrip()] if any(table.group_headings) else []
    )
