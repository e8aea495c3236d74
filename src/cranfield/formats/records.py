"""Records: small tables with named columns, from files, tables in memory and lists of rows.

For what is read whole and needs no speed of a run's: scores, labels, nuggets.
"""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columnar import columnar_form, whole_table
from cranfield.formats.frames import arrow_table, is_table
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK, refuse_binary

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[int, Sequence[str], Sequence[Any]]  # number, names, values


class Origin:
    """Where something was read: a name, as errors show it, and the lines, if it has any."""

    def __init__(self, name: str, lines: Sequence[str] | None = None) -> None:
        self.name = name
        self.lines = lines

    def error(
        self,
        at: int | None,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error that says where: in a line, from 1; without lines in a row, from 0."""
        if at is None:
            return kind(problem, source=self.name, hint=hint)
        if self.lines is None:
            return kind(problem, source=f"{self.name}: row {at}", hint=hint)
        text = self.lines[at - 1].rstrip() if at <= len(self.lines) else None
        return kind(problem, source=self.name, line=at, text=text, hint=hint)


class Records(Origin, Iterable[Row]):
    """Rows: each has its number (its line's or, without lines, its own), its names and its values.

    Rows of the same names have the same object as names, as a rule. They can be read once.
    """

    def __init__(self, name: str, rows: Iterable[Row], lines: Sequence[str] | None = None) -> None:
        super().__init__(name, lines)
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


class Text(Origin):
    """A text file of fields with a separator between them, which may have names in a first line.

    The first line that is not blank says what separates: a tab, a comma, a semicolon or a bar, the
    first of these that it holds; else white space.
    """

    def __init__(self, name: str, text: str) -> None:
        self.lines: list[str] = list(io.StringIO(text, newline=""))
        super().__init__(name, self.lines)
        first = next((line for line in self.lines if line.strip()), "")
        self.separator = next((one for one in "\t,;|" if one in first), None)

    def plain(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each line, with its number; quotation marks are like any others."""
        for number, line in enumerate(self.lines, 1):
            if line.strip():
                yield number, line.rstrip("\r\n").split(self.separator)

    def quoted(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each line, with its number; fields may be quoted."""
        if self.separator is None:
            yield from self.plain()
            return
        reader = csv.reader(self.lines, delimiter=self.separator, strict=True)
        number = 1
        try:
            for fields in reader:
                if len(fields) > 1 or (fields and fields[0].strip()):
                    yield number, fields
                number = reader.line_num + 1
        except csv.Error as error:
            raise self.error(number, f"a field is not as it should be: {error}") from None

    def first(self) -> list[str]:
        """Return the fields of the first line that is not blank."""
        try:
            return next((fields for _, fields in self.quoted()), [])
        except InputError:  # what looks like a quotation is none
            return next((fields for _, fields in self.plain()), [])

    def records(self) -> Records:
        """Return the lines below the first as records with its names."""
        return Records(self.name, self._named(), self.lines)

    def _named(self) -> Iterator[Row]:
        lines = self.quoted()
        number, names = next(lines, (1, []))
        if len(set(names)) < len(names):
            raise self.error(number, f"has several columns named {repeated(names)!r:.80}")
        width = len(names)
        for number, fields in lines:
            if len(fields) != width:
                shown = ", ".join(names)
                raise self.error(
                    number, f"expected {width} columns, {shown:.200}; got {len(fields)}"
                )
            yield number, names, fields


class Document(Origin):
    """A dict, or an object of JSON: a row, or data that are nested."""

    def __init__(
        self, name: str, value: Mapping[Any, Any], lines: Sequence[str] | None = None
    ) -> None:
        super().__init__(name, lines)
        self.value = value

    @property
    def is_plain(self) -> bool:
        """Whether some value is neither an object nor a list, as in a row."""
        return any(not isinstance(one, Mapping | list) for one in self.value.values())

    @property
    def names(self) -> Sequence[str]:
        """The names that it has, as text."""
        return _fields(self.value)[0]

    def records(self) -> Records:
        """Return the object as one row."""
        return Records(self.name, [(1, *_fields(self.value))], self.lines)


def read_records(data: Any, what: str, names: Sequence[str]) -> Records | Text | Document:
    """Return what a file, a table or a list of rows holds; `what` is its name in errors.

    `names` are those of the values of a row that has none, a tuple. Text without JSON is left as
    Text: whether its first line holds names, the caller knows. So is what a JSON object or a dict
    means.
    """
    if isinstance(data, str | os.PathLike):
        return _file(Source(data))
    if isinstance(data, Mapping):
        return Document(what, data)
    if is_table(data):
        return _of_table(arrow_table(data, what), what)
    if not isinstance(data, Iterable) or isinstance(data, bytes | bytearray):
        expected = f"expected {what.removeprefix('the ')} as a file, a table or rows"
        raise InputError(f"{expected}, got {type(data).__name__}")
    return Records(what, _of_list(data, what, names))


def _of_list(data: Iterable[Any], what: str, names: Sequence[str]) -> Iterator[Row]:
    for i, row in enumerate(data):
        if isinstance(row, Mapping):
            yield i, *_fields(row)
        elif hasattr(row, "_fields"):
            yield i, row._fields, row
        elif isinstance(row, tuple | list) and len(row) == len(names):
            yield i, names, row
        else:
            expected = f"expected ({', '.join(names)}) or a dict"
            raise InputError(f"{expected}, got {row!r:.80}", source=f"{what}: row {i}")


def _of_table(table: "pa.Table", name: str) -> Records:
    names = table.column_names
    if len(set(names)) < len(names):
        raise InputError(f"has several columns named {repeated(names)!r:.80}", source=name)

    def rows() -> Iterator[Row]:
        number = count()
        for batch in table.to_batches(1 << 16):
            try:
                columns = [_values(column) for column in batch.columns]
            except ValueError as error:  # a text that is none, a time that Python has not
                raise InputError(f"cannot be read: {error}", source=name) from None
            for row in zip(*columns, strict=True):
                yield next(number), names, row

    return Records(name, rows())


def _values(column: "pa.Array") -> list[Any]:
    """Return a column's values: the same as to_pylist(), sooner."""
    import pyarrow as pa

    if column.null_count == 0:
        if pa.types.is_float64(column.type) or pa.types.is_int64(column.type):
            kind = np.float64 if pa.types.is_float64(column.type) else np.int64
            numbers = np.frombuffer(column.buffers()[1], kind, len(column), 8 * column.offset)
            return list(numbers.tolist())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            coded = column.dictionary_encode()
            words = coded.dictionary.to_pylist()
            codes = np.frombuffer(coded.indices.buffers()[1], np.int32, len(column))
            return [words[code] for code in codes.tolist()]
    values: list[Any] = column.to_pylist()
    return values


def _file(source: Source) -> Records | Text | Document:
    start = source.start(4096)
    form = columnar_form(source, start)
    if form is not None:
        return _of_table(whole_table(source, form), source.name)
    refuse_binary(source, start)
    with source.open() as stream:
        raw = stream.read().removeprefix(BYTE_ORDER_MARK)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8", source=source.name) from None
    if text.lstrip()[:1] not in ("{", "["):
        return Text(source.name, text)
    lines = list(io.StringIO(text, newline=""))
    try:
        value = _json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return Records(source.name, _json_lines(source.name, lines), lines)
        raise Origin(source.name, lines).error(error.lineno, f"is no JSON: {error}") from None
    except InputError as error:
        raise error.at(source.name) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", source=source.name) from None
    if isinstance(value, Mapping):
        return Document(source.name, value, lines)
    for i, row in enumerate(value):
        if not isinstance(row, Mapping):
            raise InputError(
                f"element {i}: expected a JSON object, got {row!r:.80}", source=source.name
            )
    return Records(source.name, ((i, *_fields(row)) for i, row in enumerate(value)))


def _fields(row: Mapping[Any, Any]) -> tuple[Sequence[str], Sequence[Any]]:
    return tuple(map(str, row)), tuple(row.values())


def _json_lines(name: str, lines: Sequence[str]) -> Iterator[Row]:
    origin = Origin(name, lines)
    decode = json.JSONDecoder().decode
    names: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = decode(line)
            if not isinstance(row, dict):
                raise InputError("expected a JSON object")
            if line.count(":") != len(row):  # a name may stand there twice
                row = _json(line)
        except InputError as error:
            raise origin.error(number, error.problem, kind=type(error)) from None
        except (ValueError, RecursionError) as error:
            raise origin.error(number, f"is no JSON: {error}") from None
        if tuple(row) != names:
            names = tuple(row)
        yield number, names, tuple(row.values())


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = repeated([name for name, _ in pairs])
        raise DuplicateError(f"a JSON object has the name {twice!r:.80} twice")
    return found


def repeated(names: Iterable[str]) -> str:
    """Return the name that stands there more than once."""
    return Counter(names).most_common(1)[0][0]
