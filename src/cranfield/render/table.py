"""Table: texts in rows and columns, and what writes it as Markdown, HTML or delimited values.

Cells may hold any text from a file; none of it becomes markup.
"""

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, get_args

from cranfield.errors import check_choice, escape_unprintable
from cranfield.notes import Note, lines_below_table


@dataclass(frozen=True)
class Table:
    """A header, rows of texts, and lines below (`notes`) and above (`title`).

    The first `n_labels` columns are text, the last `n_sentences` are sentences, and those between
    are numbers, set flush right (but see `is_left`). `bold_cells` and `underlined_cells` are places
    (row, column); `superscripts` are behind cells, {(row, column): text}; `ruled_rows` have a line
    above them. `group_headings` has for each column the heading above its own, or "": columns side
    by side share a heading that is the same. `label` and `wide` are for LaTeX: a name to refer to
    the table by, and whether it goes across both columns of a page; so is `upright`: headings of
    numbers are turned, and the text is small, so that many columns have room.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    n_labels: int = 1
    bold_cells: frozenset[tuple[int, int]] = frozenset()
    ruled_rows: frozenset[int] = frozenset()
    title: Sequence[str] = ()
    n_sentences: int = 0
    underlined_cells: frozenset[tuple[int, int]] = frozenset()
    superscripts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    group_headings: Sequence[str] = ()
    label: str = ""
    wide: bool = False
    upright: bool = False

    @property
    def first_sentence_column(self) -> int:
        """The position of the first column of sentences; the number of columns if there is none."""
        return len(self.header) - self.n_sentences

    def is_text(self, column: int) -> bool:
        """Tell whether a column holds texts, set flush left."""
        return column < self.n_labels or column >= self.first_sentence_column

    def select_columns(self, columns: Sequence[int]) -> "Table":
        """Return the table of some columns, by position: all labels, and some of the others."""
        new_position = {column: position for position, column in enumerate(columns)}
        return replace(
            self,
            header=[self.header[c] for c in columns],
            rows=[[row[c] for c in columns] for row in self.rows],
            bold_cells=_move_cells(self.bold_cells, new_position),
            underlined_cells=_move_cells(self.underlined_cells, new_position),
            superscripts={
                (r, new_position[c]): mark
                for (r, c), mark in self.superscripts.items()
                if c in new_position
            },
            n_sentences=sum(column >= self.first_sentence_column for column in columns),
            group_headings=[self.group_headings[c] for c in columns] if self.group_headings else (),
        )

    def transpose(self) -> "Table":
        """Return a table of one label column on its side: its columns become rows."""
        columns = list(zip(self.headings, *self.rows, strict=True))
        return Table(
            ["", *columns[0][1:]],
            columns[1:],
            self.notes,
            1,
            frozenset((column - 1, row + 1) for row, column in self.bold_cells),
            title=self.title,
            underlined_cells=frozenset(
                (column - 1, row + 1) for row, column in self.underlined_cells
            ),
            superscripts={
                (column - 1, row + 1): mark for (row, column), mark in self.superscripts.items()
            },
        )

    @property
    def headings(self) -> Sequence[str]:
        """The heading of each column, behind that of its group."""
        if not self.group_headings:
            return self.header
        pairs = zip(self.group_headings, self.header, strict=True)
        return [" ".join(filter(None, pair)) for pair in pairs]

    def group_spans(self) -> list[tuple[str, int]]:
        """Return (heading, number of columns below it) of each group of columns.

        >>> Table(["a", "b", "c", "d"], [], group_headings=["", "x", "x", "y"]).group_spans()
        [('', 1), ('x', 2), ('y', 1)]
        """
        if not any(self.group_headings):
            return []
        return [(name, len([*columns])) for name, columns in groupby(self.group_headings)]

    def cell_indents(self) -> list[list[int]]:
        """Return by how many digits each cell is shorter than the longest cell of its column.

        A column of numbers with superscripts is set flush left: behind that many blanks, the digits
        of its cells line up. 0 for texts, for cells that do not end in a digit, and for every cell
        of a table without superscripts.
        """
        max_lengths = [
            0 if self.is_text(c) or not self.superscripts else max(map(len, column), default=0)
            for c, column in enumerate(zip(*self.rows, strict=True))
        ]
        return [
            [
                max(0, max_length - len(cell)) * cell[-1:].isdigit()
                for max_length, cell in zip(max_lengths, row, strict=True)
            ]
            for row in self.rows
        ]

    def is_left(self, column: int) -> bool:
        """Tell whether a column is set flush left, where superscripts can be set."""
        return bool(self.superscripts) or self.is_text(column)


def _move_cells(
    cells: frozenset[tuple[int, int]], new_position: Mapping[int, int]
) -> frozenset[tuple[int, int]]:
    """Return the (row, column) of cells whose columns have a new position."""
    return frozenset((r, new_position[c]) for r, c in cells if c in new_position)


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, its cells, and the sentence that explains it.

    `cell` returns the text of a record, from which a row is made. `meaning` is shown below the
    table, in one line or several; with `same_line`, on the line of the sentence before it. Without
    `is_shown`, the column is left out, with its sentence. `group` is a heading above its own.
    """

    heading: str
    cell: Callable[..., str]
    meaning: str = ""
    is_shown: bool = True
    same_line: bool = False
    group: str = field(default="", kw_only=True)


def select_shown(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that are not left out."""
    return [column for column in columns if column.is_shown]


def legend(columns: Iterable[Column]) -> list[str]:
    """Return the lines that explain some columns.

    >>> legend([Column("a", str, "a: one."), Column("b", str, "b: two.", same_line=True)])
    ['a: one. b: two.']
    """
    lines: list[str] = []
    for column in columns:
        if column.meaning and column.same_line and lines:
            lines[-1] += f" {column.meaning}"
        elif column.meaning:
            lines += column.meaning.split("\n")
    return lines


def put_lines_last(tables: Sequence[Table], lines: Sequence[str]) -> list[Table]:
    """Return tables with no lines below, but these lines below the last."""
    plain_tables = [replace(table, notes=()) for table in tables]
    return [*plain_tables[:-1], replace(plain_tables[-1], notes=lines)]


def make_table(
    records: Iterable[object],
    columns: Iterable[Column],
    *,
    sentences: Iterable[str] = (),
    notes: Iterable[Note] = (),
    title: Sequence[str] = (),
    n_labels: int = 1,
    rules: Iterable[int] = (),
) -> Table:
    """Return a table with a row for each record, of the columns that are shown.

    Below it are errors and warnings among the notes, the sentences of its columns, further
    `sentences`, and the other notes. `rules` are the rows with a line above them.

    >>> columns = [Column("n", str), Column("half", lambda n: f"{n / 2}", "n / 2.")]
    >>> table = make_table([1, 2], columns)
    >>> table.header, table.rows, table.notes
    (['n', 'half'], [['1', '0.5'], ['2', '1.0']], ['n / 2.'])
    """
    visible_columns = select_shown(columns)
    rows = [[column.cell(record) for column in visible_columns] for record in records]
    lines_below = lines_below_table([*legend(visible_columns), *sentences], notes)
    header = [column.heading for column in visible_columns]
    return Table(header, rows, lines_below, n_labels, ruled_rows=frozenset(rules), title=title)


_FIRST_WIDE = "\u0300"  # below it, a character that can be printed takes one column of a terminal


def text_width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii() or max(text) < _FIRST_WIDE:
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def to_html(table: Table) -> str:
    """Return a table for a notebook or a page."""
    import html

    indents = table.cell_indents()

    def cell_html(tag: str, text: str, row: int, column: int) -> str:
        side = "left" if table.is_left(column) else "right"
        rule = "; border-top: 1px solid" if row in table.ruled_rows else ""
        markup = html.escape(escape_unprintable(text))
        markup = f"<strong>{markup}</strong>" if (row, column) in table.bold_cells else markup
        markup = f"<u>{markup}</u>" if (row, column) in table.underlined_cells else markup
        if row >= 0:
            markup = "\N{FIGURE SPACE}" * indents[row][column] + markup
        if mark := table.superscripts.get((row, column)):
            markup += f'<sup style="line-height: 0">{html.escape(escape_unprintable(mark))}</sup>'
        rule = "; border-bottom: 1px solid" if tag == "th" else rule
        style = f"text-align: {side}; padding: 0.2em 0.7em{rule}"
        return f'<{tag} style="{style}">{markup}</{tag}>'

    def group_heading(name: str, n_columns: int) -> str:
        heading = html.escape(escape_unprintable(name))
        heading_html = f'<div style="border-bottom: 1px solid">{heading}</div>' if name else ""
        style = "text-align: center; padding: 0.2em 0.7em"
        return f'<th colspan="{n_columns}" style="{style}">{heading_html}</th>'

    groups = "".join(group_heading(name, n) for name, n in table.group_spans())
    head = "".join(cell_html("th", name, -1, c) for c, name in enumerate(table.header))
    body = "".join(
        "<tr>" + "".join(cell_html("td", text, r, c) for c, text in enumerate(row)) + "</tr>\n"
        for r, row in enumerate(table.rows)
    )
    return (
        f"{to_paragraphs(table.title, 1.4)}<table>\n<thead>{f'<tr>{groups}</tr>' if groups else ''}"
        f'<tr>{head}</tr></thead>\n<tbody style="font-variant-numeric: tabular-nums">\n{body}'
        f"</tbody>\n</table>\n{to_paragraphs(table.notes)}"
    )


_PAGE_STYLE = (
    ":root { color-scheme: light dark } body { font-family: sans-serif; margin: 2em } "
    "table { border-collapse: collapse }"
)


def to_page(title: str, body: str) -> str:
    """Return a whole HTML document in UTF-8; the title is text, the body HTML."""
    import html

    title_text = html.escape(escape_unprintable(title))
    head = f'<meta charset="utf-8">\n<title>{title_text}</title>\n<style>{_PAGE_STYLE}</style>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n"


def to_paragraphs(lines: Iterable[str], top_margin: float = 0.4) -> str:
    """Return lines as HTML paragraphs; `top_margin` of the first is in em, a letter's height."""
    import html

    markup = ""
    for line in lines:
        style = f"white-space: pre-wrap; margin: {top_margin}em 0 0.4em"
        markup += f'<p style="{style}">{html.escape(escape_unprintable(line))}</p>\n'
        top_margin = 0.4
    return markup


def to_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown, the title above it and the notes as a list below.

    Rules are left out: these tables have none.
    """
    rows = [
        [_escape_markdown(cell.strip(" ")) for cell in row] for row in (table.header, *table.rows)
    ]
    for r, c in table.bold_cells:
        rows[r + 1][c] = f"**{rows[r + 1][c]}**" if rows[r + 1][c] else ""
    for r, c in table.underlined_cells:
        rows[r + 1][c] = f"<u>{rows[r + 1][c]}</u>"
    for r, indents in enumerate(table.cell_indents(), 1):
        blanks = ["\N{FIGURE SPACE}" * n for n in indents]
        rows[r] = [blank + cell for blank, cell in zip(blanks, rows[r], strict=True)]
    for (r, c), mark in table.superscripts.items():
        rows[r + 1][c] += f"<sup>{_escape_markdown(mark)}</sup>"
    for c, name in enumerate(table.group_headings):  # there are no headings above others
        rows[0][c] = f"{_escape_markdown(name)}<br>{rows[0][c]}" if name else rows[0][c]
    widths = [max(3, *map(text_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for c, cell in enumerate(row):
            padding = " " * (widths[c] - text_width(cell))
            cells.append(cell + padding if table.is_left(c) else padding + cell)
        lines.append(f"| {' | '.join(cells)} |")
    dashes = [
        ":" + "-" * (width - 1) if table.is_left(c) else "-" * (width - 1) + ":"
        for c, width in enumerate(widths)
    ]
    lines.insert(1, f"| {' | '.join(dashes)} |")
    titles = (re.sub(" {2,}", " &emsp; ", _escape_paragraph(line)) for line in table.title)
    title = "".join(f"{paragraph}\n\n" for paragraph in titles)
    notes = "".join(f"- {_escape_paragraph(note)}\n" for note in table.notes)
    return title + "\n".join(lines) + "\n" + "\n" * bool(notes) + notes


def _escape_markdown(text: str) -> str:
    r"""Return text escaped for Markdown, within a line.

    GitHub looks for names and numbers of issues in the text that it will show, where a backslash
    before them is gone; not in code. So only the sign is code: the text is shown, and copied, as
    it is.

    >>> print(_escape_markdown("a|b *c* <d> www.e.org"))
    a\|b \*c\* \<d\> www\.e.org
    >>> print(_escape_markdown("@someone #1 mailto:a@b.c nDCG@10"))
    `@`someone `#`1 mailto:a`@`b.c nDCG@10
    """
    parts = re.split(_MENTION_SIGNS, escape_unprintable(text))
    markdown_parts = [re.sub(r"[\\`*_\[\]<>|#~&$]", r"\\\g<0>", part) for part in parts]
    markdown_parts[1::2] = [f"`{sign}`" for sign in parts[1::2]]
    return re.sub(r"(?<=www)\.|:(?=//)", r"\\\g<0>", "".join(markdown_parts), flags=re.IGNORECASE)


# The signs that make a mention (no letter or digit before them), an address of e-mail (a dot
# behind), or the number of an issue.
_MENTION_SIGNS = r"((?<![A-Za-z0-9_@])@+|(?<!@)@+(?=[^\s@]*\.)|(?<!#)#+(?=[0-9]))"


def _escape_paragraph(line: str) -> str:
    """Return a line that begins neither a list nor a rule nor an underlined heading."""
    return re.sub(r"^(?:\d+(?=[.)])|(?=[-+=]))", r"\g<0>\\", _escape_markdown(line.strip(" ")))


Formulas = Literal["plain", "quoted"]
# What a spreadsheet may take for the start of a formula: the list of OWASP's page on "CSV
# injection". A signed number is not a formula.
_FORMULA = (
    "[=+\\-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)
_SIGNED_NUMBER = r"[+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def to_delimited(
    rows: Iterable[Sequence[object]], delimiter: str, formulas: Formulas = "plain"
) -> str:
    r"""Return rows as separated values; cells that need it are quoted, or all if any holds a \r.

    With formulas="plain" every cell is unchanged, for programs. "quoted" is for
    spreadsheets: all texts are in quotation marks, and one that a spreadsheet may take for a
    formula (it begins with =, +, -, @, a tab or a line end, and is not a number) has an apostrophe
    before it. Raises OptionError for another word.

    >>> print(to_delimited([("=1+1", "-0.5", -0.5)], ","), end="")
    =1+1,-0.5,-0.5
    >>> print(to_delimited([("=1+1", "-0.5", -0.5)], ",", "quoted"), end="")
    "'=1+1","-0.5",-0.5
    """
    import csv

    check_choice("formulas", formulas, get_args(Formulas))
    rows = list(rows)
    page = io.StringIO()
    # The writer's own rule, to quote what needs it, overlooks a carriage return.
    returns = any("\r" in cell for row in rows for cell in row if isinstance(cell, str))
    quoting: Literal[0, 1, 2] = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    if formulas == "quoted":
        # Otherwise, another country's separator within a text would begin a new cell.
        quoting = csv.QUOTE_NONNUMERIC
        rows = [list(map(_escape_formula, row)) for row in rows]
    writer = csv.writer(page, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writerows(rows)
    return page.getvalue()


def _escape_formula(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if (
        not isinstance(cell, str)
        or not re.match(_FORMULA, cell)
        or re.fullmatch(_SIGNED_NUMBER, cell)
    ):
        return cell
    return f"'{cell}"
