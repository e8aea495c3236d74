"""The reader of small tables for this folder: makes columns of files, tables, rows and dicts.

Arrow reads Parquet, Arrow files and tables in memory. Text, JSON and rows in memory, which may have
several types in a column, become the same columns. If a row has a fault, a text file is read again
to find its line.
"""

import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columnar import detect_columnar_format, read_columnar_file
from cranfield.formats.columns import plain_name
from cranfield.formats.frames import arrow_table
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import is_table
from cranfield.formats.small.text_lines import read_utf8_lines
from cranfield.formats.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

FindLine = Callable[[int], tuple[int, str]]  # a row's line, from 1, and its text
ReadLines = Callable[[], Iterable[tuple[int, str]]]  # a text's lines, each with its number, from 1
Names = Sequence[str]

# The names of the column with pandas' index, in tables and in files.
INDEX = ("", "__index_level_0__", "Unnamed: 0")
_SEPARATORS = "\t,;|"


@dataclass(frozen=True)
class TableForm:
    """A kind of small table: its columns, and how text and rows without names are read.

    `title` is its name in errors. `names` are the names of a tuple's cells; `required_names` must
    be in the first line of a text. `header_names` are the names of the column by which a first line
    of names, or an object that is a row, is recognised.

    `bare_description` is, in errors, what lines without names should be; `hint` follows; such lines
    have as many fields as there are `names`. Without a description, the first line of a text always
    holds names. The separator is the first of `separators` in the first line, else white space; if
    `separators` is empty, lines that begin with # are comments. Without names, only a field between
    `quoted_separators` may be quoted.
    """

    title: str
    names: Names
    header_names: Names = ()
    required_names: Names = ()
    bare_description: str | None = None
    hint: str | None = None
    separators: str = _SEPARATORS
    quoted_separators: str = _SEPARATORS

    def is_header(self, fields: Names) -> bool:
        """Tell whether the fields of a text's first line are names."""
        if self.bare_description is None:
            return True
        if not self.header_names:
            return False
        has_equal_length = len(fields) == len(self.names)
        has_numbers = any(parse_number(field) is not None for field in fields)
        if any(field in INDEX or plain_name(field) in self.header_names for field in fields):
            return not (has_equal_length and has_numbers)
        return bool(fields) and not (has_equal_length or has_numbers)

    def find_missing_names(self, names: Names) -> str | None:
        """Return what an error says of a table without the required names; None with them."""
        required_names = self.required_names
        if {*required_names} <= {*map(plain_name, names)}:
            return None
        return f"expected the columns {', '.join(required_names[:-1])} and {required_names[-1]}"


def white_space_form(title: str, *names: str) -> TableForm:
    """Return the form of lines of fields with white space between them, and comments."""
    return TableForm(
        title, names, bare_description=f"{len(names)} columns: {' '.join(names)};", separators=""
    )


class Origin:
    """The source of a small table: its name in errors, and how to find the line of a row.

    `find_line` is None for a source without lines.
    """

    def __init__(self, name: str, find_line: FindLine | None = None) -> None:
        self.name = name
        self.find_line = find_line

    def row_error(
        self,
        row: int | None,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error with the line of a row, or its number, from 0; without if it is None."""
        if row is None:
            return kind(problem, source=self.name, hint=hint)
        if self.find_line is None:
            return kind(problem, source=f"{self.name}: row {row}", hint=hint)
        line, text = self.find_line(row)
        return kind(problem, source=self.name, line=line, text=text.rstrip(), hint=hint)

    def read_id(self, row: int | None, cell: Any) -> str:
        """Return an id as text; InputError, with the row's line, for a cell that is no id."""
        try:
            return to_id_text(cell, "")
        except InputError as error:
            raise self.row_error(row, error.problem.removeprefix(": ")) from None


class Table(Origin):
    """Columns of equal length, and their names; `is_headless`: a text without names."""

    def __init__(
        self,
        name: str,
        names: Names,
        columns: Sequence[Sequence[Any]],
        find_line: FindLine | None = None,
        is_headless: bool = False,
    ) -> None:
        super().__init__(name, find_line)
        self.names = names
        self.columns = columns
        self.is_headless = is_headless
        self.n_rows = len(columns[0]) if columns else 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the cells of each row."""
        return zip(*self.columns, strict=True)

    def find_column(self, plain_names: Names) -> int | None:
        """Return the position of the column with the first of these names; None without any."""
        names = [plain_name(name) for name in self.names]
        return next((names.index(name) for name in plain_names if name in names), None)

    def find_query_column(self, plain_names: Names) -> int:
        """Return the position of the column of queries, or of pandas' index instead.

        Raises InputError for the first row that has no query.
        """
        positions = [i for i, name in enumerate(self.names) if name in INDEX]
        if (position := self.find_column(plain_names)) is not None:
            positions = [position]
        queries = self.columns[positions[0]] if positions else [None]
        if None in queries:
            raise self.row_error(
                queries.index(None),
                f"has no column of queries; it has {', '.join(self.names):.200}",
                f"Name it {plain_names[0]!r}, or one of {', '.join(plain_names[1:])}.",
            )
        return positions[0]

    def other_columns(self, positions: Iterable[int]) -> list[tuple[int, str]]:
        """Return the position and name of each column that is no index, without these positions."""
        skipped_positions = set(positions)
        columns = [(i, name.strip()) for i, name in enumerate(self.names) if name not in INDEX]
        return [(i, name) for i, name in columns if i not in skipped_positions]


class NestedObject(Origin):
    """A dict, mostly of dicts, or a JSON object in a file: its `members`, {key: member}."""

    def __init__(
        self, name: str, members: Mapping[Any, Any], find_line: FindLine | None = None
    ) -> None:
        super().__init__(name, find_line)
        self.members = members

    def read_leaves(self, depth: int) -> Iterator[tuple[Any, ...]]:
        """Yield (key, ..., leaf) of `depth` dicts within each other; InputError for other data."""
        if depth == 1:
            yield from self.members.items()
            return
        for key, inner in self.members.items():
            if not isinstance(inner, Mapping):
                raise self.row_error(None, f"expected a dict for {key!r:.80}, got {inner!r:.80}")
            for keys in NestedObject(self.name, inner).read_leaves(depth - 1):
                yield (key, *keys)


def read_table(data: Any, form: TableForm, *, keeps_arrow: bool = False) -> Table | NestedObject:
    """Return the table, or the nested object, in a file, a table, a dict or rows.

    `keeps_arrow`: the columns of an Arrow table, or of one that becomes it, stay Arrow's.
    A single object is a row if a member is neither an object nor a list, and if a name is among the
    form's `header_names`, where there are any. The caller interprets other objects.
    """
    if isinstance(data, str | os.PathLike):
        source = Source(data)
        columnar_format = detect_columnar_format(source, source.read_start(4096))
        if columnar_format is None:
            return read_text_rows(source.name, partial(read_utf8_lines, source), form)
        arrow = read_columnar_file(source, columnar_format)
        return _from_arrow_table(arrow, source.name, keeps_arrow=keeps_arrow)
    if isinstance(data, Mapping):
        return _read_object(form.title, data, form)
    if getattr(data, "ndim", 0) == 1 and hasattr(data, "index") and hasattr(data, "items"):
        series = dict(data.items())  # a pandas Series with queries as its index
        return NestedObject(form.title, series if data.name is None else {data.name: series})
    if is_table(data):
        arrow = arrow_table(data, form.title)
        return _from_arrow_table(arrow, form.title, keeps_arrow=keeps_arrow)
    if not isinstance(data, Iterable) or isinstance(data, bytes | bytearray):
        raise not_a_table_error(form, data)
    return _make_table([_to_mapping(row, i, form) for i, row in enumerate(data)], form.title)


def not_a_table_error(form: TableForm, data: Any) -> InputError:
    """Return the error for data that are not a small table."""
    expected = f"expected {form.title.removeprefix('the ')} as a file, a table or rows"
    return InputError(f"{expected}, got {type(data).__name__}")


def parse_number(cell: Any) -> float | None:
    """Return the number in a cell, which may be a text; None if it holds none."""
    if isinstance(cell, str):
        if "_" in cell or not cell.isascii():
            return None
    elif isinstance(cell, bool | bytes | bytearray):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # a whole number with hundreds of digits
        return math.inf


def read_text_rows(name: str, read_lines: ReadLines, form: TableForm) -> Table | NestedObject:
    """Return the table, or the nested object, in a text of JSON or of lines."""
    if first_character(read_lines) in ("{", "["):
        return _read_json(name, read_lines, form)
    return _TextReader(name, read_lines, form).read_table()


def first_character(read_lines: ReadLines) -> str:
    """Return the first character of a text that is not white space; empty if there is none."""
    return next((line.strip()[0] for _, line in read_lines() if line.strip()), "")


def _to_mapping(row: Any, number: int, form: TableForm) -> Mapping[Any, Any]:
    """Return a row in memory as {name: cell}; InputError, with its `number`, for other objects."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_fields"):
        return dict(zip(row._fields, row, strict=True))
    if isinstance(row, tuple | list) and len(row) == len(form.names):
        return dict(zip(form.names, row, strict=True))
    expected = f"expected ({', '.join(form.names)}) or a dict"
    raise InputError(f"{expected}, got {row!r:.80}", source=f"{form.title}: row {number}")


def _make_table(
    rows: Sequence[Mapping[Any, Any]], name: str, find_line: FindLine | None = None
) -> Table:
    """Return rows, {name: cell}, as a table of columns; None for a cell that a row lacks."""
    keys = list(dict.fromkeys(chain.from_iterable(rows)))
    columns = [[row.get(key) for row in rows] for key in keys]
    return Table(name, [str(key) for key in keys], columns, find_line)


def _read_object(
    name: str, members: Mapping[Any, Any], form: TableForm, find_line: FindLine | None = None
) -> Table | NestedObject:
    """Return a single object as a table of one row, or else as a nested object."""
    row = _make_table([members], name, find_line)
    is_row = not all(isinstance(member, Mapping | list) for member in members.values())
    if form.header_names:
        is_row &= row.find_column(form.header_names) is not None
    return row if is_row else NestedObject(name, members, find_line)


def _from_arrow_table(table: "pa.Table", name: str, *, keeps_arrow: bool) -> Table:
    """Return an Arrow table, with its cells as Python objects unless it `keeps_arrow`."""
    names = table.column_names
    if repeated_name := _find_repeated(names):
        raise InputError(f"has several columns named {repeated_name!r:.80}", source=name)
    try:
        columns = table.columns if keeps_arrow else [c.to_pylist() for c in table.columns]
    except ValueError as error:  # not a valid text, or a time that Python lacks
        raise InputError(f"cannot be read: {error}", source=name) from None
    return Table(name, names, columns)


def _find_repeated(names: Iterable[str]) -> str | None:
    """Return a name that occurs more than once, None without one."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


def read_text_table(name: str, text: str, form: TableForm) -> Table:
    """Return the lines of a text as the rows of a table: see `TableForm`."""
    return _TextReader(name, lambda: enumerate(io.StringIO(text, newline=""), 1), form).read_table()


def find_line(read_lines: ReadLines, number: int) -> tuple[int, str]:
    """Return a line's number and text; the text is empty if there is no such line."""
    return number, next((line for n, line in read_lines() if n == number), "")


class _TextReader(Origin):
    """Reads lines of fields with a separator or white space between them, as a form says.

    Its `row_error` takes a line's number, from 1, for a row.
    """

    def __init__(self, name: str, read_lines: ReadLines, form: TableForm) -> None:
        super().__init__(name, partial(find_line, read_lines))
        self._form, self._read_lines = form, read_lines
        first_line = next((line for _, line in read_lines() if line.strip()), "")
        separators = (separator for separator in form.separators if separator in first_line)
        self._separator = next(separators, "")
        self._has_quotes = bool(self._separator)

    def read_table(self) -> Table:
        """Return the lines as the rows of a table; the first line names the columns if it can."""
        form, names = self._form, self._form.names
        header: list[str]
        try:
            line, header = next(self._read_records(), (None, []))
        except InputError:  # a field that looks like a quotation may not be one
            line, header = 1, []
        has_header = form.is_header(header)
        expected = form.bare_description
        if has_header:
            if problem := form.find_missing_names(header):
                raise self.row_error(line, f"{problem} in its first line")
            if repeated_name := _find_repeated(header):
                raise self.row_error(line, f"has several columns named {repeated_name!r:.80}")
            names, expected = header, f"{len(header)} columns, {', '.join(header):.200};"
        elif self._separator not in form.quoted_separators:
            self._has_quotes = False
        columns: list[list[str]] = [[] for _ in names]
        for line, fields in islice(self._read_records(), has_header, None):
            if len(fields) != len(names):
                problem = f"expected {expected} got {len(fields)} columns"
                raise self.row_error(line, problem, None if has_header else form.hint)
            for column, field in zip(columns, fields, strict=True):
                column.append(field)

        def find_row_line(row: int) -> tuple[int, str]:
            line, _ = next(islice(self._read_records(), row + has_header, None))
            return find_line(self._read_lines, line)

        return Table(self.name, names, columns, find_row_line, is_headless=not has_header)

    def _read_records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the fields of each line that is neither blank nor a comment.

        A field between quotation marks may go on in the next lines. InputError if it never ends.
        """
        lines = iter(self._read_lines())
        for number, line in lines:
            if not self._separator:
                fields = _split_fields(line)
                if not self._form.separators and fields and fields[0].startswith("#"):
                    continue
            elif self._has_quotes and '"' in line:
                next_lines = chain([line], (line for _, line in lines))
                try:
                    fields = next(csv.reader(next_lines, delimiter=self._separator, strict=True))
                except csv.Error as error:
                    raise self.row_error(number, f"a field is malformed: {error}") from None
            else:
                fields = line.rstrip("\r\n").split(self._separator)
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield number, fields


_split_fields = re.compile(r"[^ \t\n\r\f\v]+").findall


def _read_json(name: str, read_lines: ReadLines, form: TableForm) -> Table | NestedObject:
    """Return the rows, or the object, in a JSON text, or in a text of JSON lines."""
    origin = Origin(name, lambda row: find_line(read_lines, row + 1))
    try:
        root = decode_json("".join(line for _, line in read_lines()))
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise origin.row_error(error.lineno - 1, f"is not valid JSON: {error}") from None
        lines = [(number, line) for number, line in read_lines() if line.strip()]
        origin = Origin(name, lines.__getitem__)
        rows = [_parse_object(line, origin, i) for i, (_, line) in enumerate(lines)]
        return _make_table(rows, name, origin.find_line)
    except InputError as error:
        raise error.locate(name) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", source=name) from None
    if isinstance(root, Mapping):
        return _read_object(name, root, form, origin.find_line)
    if len(form.names) == 1 and form.bare_description is not None:  # as of lines without names
        root = [row if isinstance(row, Mapping) else {form.names[0]: row} for row in root]
    for i, row in enumerate(root):
        if not isinstance(row, Mapping):
            problem = f"element {i}: expected a JSON object, got {row!r:.80}"
            raise InputError(problem, source=name)
    return _make_table(root, name)


def _parse_object(line: str, origin: Origin, i: int) -> dict[str, Any]:
    """Return the object in the i-th of some JSON lines; InputError for anything else."""
    try:
        row = decode_json(line)
    except InputError as error:
        raise origin.row_error(i, error.problem, kind=type(error)) from None
    except (ValueError, RecursionError) as error:
        raise origin.row_error(i, f"is not valid JSON: {error}") from None
    if not isinstance(row, dict):
        raise origin.row_error(i, "expected a JSON object")
    return row


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return {name: value} of a JSON object; DuplicateError for a name that occurs twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        repeated_name = _find_repeated(name for name, _ in pairs)
        raise DuplicateError(f"a JSON object has the name {repeated_name!r:.80} twice")
    return members


decode_json = json.JSONDecoder(object_pairs_hook=_refuse_repeated_names).decode
