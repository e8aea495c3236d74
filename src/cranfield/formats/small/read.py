"""The reader of small tables: columns of values from files, tables in memory, rows and dicts.

Arrow reads separated text, Parquet, Arrow files and tables in memory. JSON and rows in memory, of
which a column may hold values of several types, become the same columns. On which line a row
stands is looked for only when there is something wrong with it.
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
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columnar import columnar_form, whole_table
from cranfield.formats.columns import plain_name
from cranfield.formats.frames import arrow_table, is_table
from cranfield.formats.identifiers import as_text
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK, read_csv, refuse_binary

if TYPE_CHECKING:
    import pyarrow as pa

Where = Callable[[int], tuple[int, str]]  # a row's line, from 1, and its text
Names = Sequence[str]
IsHeader = Callable[[Names], bool]

# The column in which pandas keeps a table's index, and what a file then has instead of a name.
INDEX = ("", "__index_level_0__", "Unnamed: 0")
_SEPARATORS = "\t,;|"


@dataclass(frozen=True)
class Bare:
    """What the lines of a text hold: so many columns, as errors expect them.

    The separator is the first of `separators` that the first line holds, else white space; where
    there is none to choose of, lines that begin with # are comments. A field between `quoted`
    separators may be quoted. The columns have `names`, if any.
    """

    n_columns: int
    expected: str
    names: Names = ()
    hint: str | None = None
    separators: str = _SEPARATORS
    quoted: str = _SEPARATORS


class Origin:
    """Where something was read: a name, as errors show it, and the lines of its rows, if any.

    `where` returns a row's line; it is None for what has no lines.
    """

    def __init__(self, name: str, where: Where | None = None) -> None:
        self.name = name
        self.where = where

    def error(
        self,
        row: int | None,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error that says where: the line of a row, or the row, from 0."""
        if row is None:
            return kind(problem, source=self.name, hint=hint)
        if self.where is None:
            return kind(problem, source=f"{self.name}: row {row}", hint=hint)
        line, text = self.where(row)
        return kind(problem, source=self.name, line=line, text=text.rstrip(), hint=hint)

    def id_of(self, row: int | None, value: Any) -> str:
        """Return an id as text; InputError for what may be none."""
        try:
            return as_text(value, "")
        except InputError as error:
            raise self.error(row, error.problem.removeprefix(": ")) from None


class Table(Origin):
    """Columns of as many values each, and their names; the columns of bare text may have none."""

    def __init__(
        self, name: str, names: Names, columns: Sequence[Sequence[Any]], where: Where | None = None
    ) -> None:
        super().__init__(name, where)
        self.names = names
        self.columns = columns
        self.n_rows = len(columns[0]) if columns else 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each row."""
        return zip(*self.columns, strict=True)

    def place(self, known: Names) -> int | None:
        """Return the number of the first of some columns, by their plain names."""
        plain = [plain_name(name) for name in self.names]
        return next((plain.index(name) for name in known if name in plain), None)

    def no_queries(self, row: int, known: Names) -> InputError:
        """Return the error of a row without a query, of which a column is to have a known name."""
        return self.error(
            row,
            f"has no column of queries; it has {', '.join(self.names):.200}",
            f"It is called {known[0]!r}, or one of {', '.join(known[1:])}.",
        )


class Document(Origin):
    """A dict, or a file of one JSON object: a row, or data that are nested."""

    def __init__(self, name: str, value: Mapping[Any, Any], where: Where | None = None) -> None:
        super().__init__(name, where)
        self.value = value

    def as_row(self, known: Names = ()) -> Table | None:
        """Return the object as a table of one row; None if it is nested.

        A row has a value that is neither an object nor a list, and a column that is called as one
        of the `known`, if there are such.
        """
        row = _table_of([self.value], self.name, self.where)
        if all(isinstance(one, Mapping | list) for one in self.value.values()):
            return None
        return row if not known or row.place(known) is not None else None


def read_table(
    data: Any,
    what: str,
    names: Names,
    bare: Bare | None = None,
    is_header: IsHeader | None = None,
) -> Table | Document:
    """Return what a file, a table, a dict or rows hold; `what` is its name in errors.

    `names` are those of the values of a row that has none, a tuple. `is_header` tells whether the
    fields of a text's first line are names, or refuses them; if not, the lines are as `bare` says.
    What a JSON object or a dict means, the caller knows.
    """
    if isinstance(data, str | os.PathLike):
        return _file(Source(data), bare, is_header)
    if isinstance(data, Mapping):
        return Document(what, data)
    if is_table(data):
        return _of_arrow(arrow_table(data, what), what)
    if not isinstance(data, Iterable) or isinstance(data, bytes | bytearray):
        expected = f"expected {what.removeprefix('the ')} as a file, a table or rows"
        raise InputError(f"{expected}, got {type(data).__name__}")
    return _table_of([_named(row, i, what, names) for i, row in enumerate(data)], what)


def text_of(source: Source) -> str:
    """Return all of a text file; InputError if it is none in UTF-8."""
    refuse_binary(source, source.start(4096))
    with source.open() as stream:
        raw = stream.read().removeprefix(BYTE_ORDER_MARK)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8", source=source.name) from None


def number_of(value: Any) -> float | None:
    """Return the number that a cell holds or a text spells; None if it is none."""
    if isinstance(value, str):
        if "_" in value or not value.isascii():
            return None
    elif isinstance(value, bool | bytes | bytearray):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _file(source: Source, bare: Bare | None, is_header: IsHeader | None) -> Table | Document:
    form = columnar_form(source, source.start(4096))
    if form is not None:
        return _of_arrow(whole_table(source, form), source.name)
    text = text_of(source)
    if text.lstrip()[:1] in ("{", "["):
        return _of_json(source.name, text)
    return text_table(source.name, text, bare, is_header)


# ---- rows and Arrow data ------------------------------------------------------------------------


def _named(row: Any, number: int, what: str, names: Names) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_fields"):
        return dict(zip(row._fields, row, strict=True))
    if isinstance(row, tuple | list) and len(row) == len(names):
        return dict(zip(names, row, strict=True))
    expected = f"expected ({', '.join(names)}) or a dict"
    raise InputError(f"{expected}, got {row!r:.80}", source=f"{what}: row {number}")


def _table_of(rows: Sequence[Mapping[Any, Any]], name: str, where: Where | None = None) -> Table:
    """Return rows with names as columns; what a row has not is None."""
    keys = list(dict.fromkeys(chain.from_iterable(rows)))
    columns = [[row.get(key) for row in rows] for key in keys]
    return Table(name, [str(key) for key in keys], columns, where)


def _of_arrow(table: "pa.Table", name: str) -> Table:
    names = table.column_names
    if len(set(names)) < len(names):
        raise InputError(f"has several columns named {_repeated(names)!r:.80}", source=name)
    try:
        columns = [column.to_pylist() for column in table.columns]
    except ValueError as error:  # a text that is none, a time that Python has not
        raise InputError(f"cannot be read: {error}", source=name) from None
    return Table(name, names, columns)


def _repeated(names: Iterable[str]) -> str:
    """Return the name that stands there more than once."""
    return Counter(names).most_common(1)[0][0]


# ---- text ---------------------------------------------------------------------------------------


def text_table(name: str, text: str, bare: Bare | None, is_header: IsHeader | None = None) -> Table:
    """Return the lines of a text as rows; see `read_table`.

    Where `is_header` does not say it, text has a header unless it is `bare`.
    """
    separators = _SEPARATORS if bare is None else bare.separators
    return _Text(name, text, separators).table(bare, is_header)


class _Text(Origin):
    """Lines of fields with a separator between them, or white space; errors take their number."""

    def __init__(self, name: str, text: str, separators: str) -> None:
        super().__init__(name, lambda line: (line, self._lines[line - 1]))
        self._lines = self._fields = io.StringIO(text, newline="").readlines()
        first = next(filter(str.strip, self._lines), "")
        self._separator = next((one for one in separators if one in first), "")
        self._quoted = bool(self._separator)
        if not self._separator:
            self._separator = "\t"
            self._fields = ["\t".join(_split(line)) + "\n" for line in self._lines]
            if not separators:
                self._fields = [line if line[0] != "#" else "\n" for line in self._fields]

    def table(self, bare: Bare | None, is_header: IsHeader | None) -> Table:
        """Return the lines as rows; a header names the columns, unless the text is `bare`."""
        names: Names
        try:
            line, names = next(self._records(), (None, []))
        except InputError:  # what looks like a quotation may be none
            line, names = 1, []
        try:
            has_header = bare is None if is_header is None else is_header(names)
        except InputError as error:
            raise self.error(line, error.problem, error.hint) from None
        if bare is None or has_header:
            bare = Bare(len(names), f"{len(names)} columns, {', '.join(names):.200};", names)
            if len(set(names)) < len(names):
                raise self.error(line, f"has several columns named {_repeated(names)!r:.80}")
        self._quoted = self._quoted and self._separator in bare.quoted
        columns = self._columns(bare, has_header)

        def where(row: int) -> tuple[int, str]:
            line, _ = next(islice(self._records(), row + has_header, None))
            return line, self._lines[line - 1]

        return Table(self.name, bare.names, columns, where)

    def _columns(self, bare: Bare, begin: int) -> Sequence[Sequence[str]]:
        """Return the columns below a header, if any: as Arrow reads them, or line by line."""
        columns = self._by_arrow(bare.n_columns, begin)
        if columns is not None:
            return columns
        rows = []
        for line, fields in islice(self._records(), begin, None):
            if len(fields) != bare.n_columns:
                raise self.error(
                    line, f"expected {bare.expected} got {len(fields)} columns", bare.hint
                )
            rows.append(fields)
        return list(zip(*rows, strict=True)) or [()] * bare.n_columns

    def _by_arrow(self, n_columns: int, begin: int) -> Sequence[Sequence[str]] | None:
        """Return the columns of clean text, below a header; None of any other."""
        import pyarrow as pa

        text = "".join(self._fields)
        if n_columns == 0 or (self._quoted and '"' in text):
            return None
        texts = dict.fromkeys(range(n_columns), pa.string())
        raw = np.frombuffer(text.encode(), np.uint8)
        found = read_csv(raw, self._separator, n_columns, texts)
        return None if found is None else [column.slice(begin).to_pylist() for column in found]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each line that is not blank, with its number."""
        how: Any = csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE
        reader = csv.reader(self._fields, delimiter=self._separator, quoting=how, strict=True)
        line = 1
        try:
            for fields in reader:
                if len(fields) > 1 or (fields and fields[0].strip()):
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            raise self.error(line, f"a field is not as it should be: {error}") from None


_split = re.compile(r"[^ \t\n\r\f\v]+").findall


# ---- JSON ---------------------------------------------------------------------------------------


def _of_json(name: str, text: str) -> Table | Document:
    lines = list(enumerate([*io.StringIO(text, newline=""), ""], 1))
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            lines = [one for one in lines if one[1].strip()]
            origin = Origin(name, lines.__getitem__)
            return _table_of([_row(origin, i) for i in range(len(lines))], name, origin.where)
        problem = f"is no JSON: {error}"
        raise Origin(name, lines.__getitem__).error(error.lineno - 1, problem) from None
    except InputError as error:
        raise error.at(name) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", source=name) from None
    if isinstance(value, Mapping):
        return Document(name, value, lines.__getitem__)
    for i, row in enumerate(value):
        if not isinstance(row, Mapping):
            problem = f"element {i}: expected a JSON object, got {row!r:.80}"
            raise InputError(problem, source=name)
    return _table_of(value, name)


def _row(lines: Origin, i: int) -> dict[str, Any]:
    """Return the object of a line of JSON lines."""
    assert lines.where is not None  # noqa: S101 - as it was made
    line = lines.where(i)[1]
    try:
        row = _plainly(line)
        if not isinstance(row, dict) or line.count(":") != len(row):
            row = _decode(line)  # a name may stand there twice
    except InputError as error:
        raise lines.error(i, error.problem, kind=type(error)) from None
    except (ValueError, RecursionError) as error:
        raise lines.error(i, f"is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise lines.error(i, "expected a JSON object")
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = _repeated(name for name, _ in pairs)
        raise DuplicateError(f"a JSON object has the name {twice!r:.80} twice")
    return found


_decode = json.JSONDecoder(object_pairs_hook=_object).decode
_plainly = json.JSONDecoder().decode  # in half the time
