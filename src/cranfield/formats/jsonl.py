"""JSON rows: JSON lines, and a list of objects, with the names of columns."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Cells, Errors, Load, Role
from cranfield.formats.columns import FRACTIONS, IDS, ColumnsLike, What, understood
from cranfield.formats.fields import as_row, fields_of, objects_in
from cranfield.formats.format import Beginning, Format, Holds, Target
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.identifiers import STATE_LISTS, id_bytes
from cranfield.formats.json_text import RECORDS, Repeated, Window, WrittenNumber
from cranfield.formats.lines import Lines, Record
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK, Bytes
from cranfield.formats.write import named_columns

if TYPE_CHECKING:
    import pyarrow as pa


_TRIED = 1000  # rows in which a list that is not empty is looked for


class JsonLines(Lines):
    """Lines, each a JSON object with the names of columns."""

    decimals = True
    kind = "JSON lines"

    def __init__(
        self, source: Source, what: What, sample: bytes, stated: ColumnsLike | None
    ) -> None:
        begin = 3 if sample.startswith(BYTE_ORDER_MARK) else 0
        number, text, first = self.first(source, sample[begin:])
        rows = chain([first], self.following(source, sample[begin:]))
        self._fields, stated = fields_of(
            list(first), objects_in(islice(rows, _TRIED)), what, stated
        )
        names = [*first, *self._fields]
        try:
            values = [*first.values(), *([] for _ in self._fields)]
            found = take_columns(names, what, stated, source.name, values.__getitem__)
        except InputError as error:
            raise error.at(source.name, number, text) from None
        self._names = self.taken = {role: names[at] for role, at in found.items()}
        self.lists = list_columns(names, found, what, stated, values.__getitem__)
        self.names = names
        # Ids that are numbers in the first line are expected to be numbers in all.
        self._whole = {name for name, value in first.items() if isinstance(value, WrittenNumber)}
        order = {role: i for i, role in enumerate(self._names)}
        super().__init__(source, what, begin, order, f"{self.kind} with {understood(names, found)}")

    def first(self, source: Source, sample: bytes) -> tuple[int, str, dict[str, Any]]:
        """Return the first row: the number of its line, its text, and its values."""
        lines = sample.split(b"\n")
        number, line = next((i, line) for i, line in enumerate(lines, 1) if line.strip())
        text = line.decode("utf-8", "replace")
        try:
            return number, text, dict(_record_of(line))
        except InputError as error:
            raise error.at(source.name, number, text) from None

    def following(self, source: Source, sample: bytes) -> Iterator[dict[str, Any]]:
        """Yield the rows of the sample, as far as they can be read."""
        for line in sample.split(b"\n")[:-1]:
            with contextlib.suppress(InputError):
                if line.strip():
                    yield dict(_record_of(line))

    def place(self, role: Role) -> str:
        """Return the column of a role, in words."""
        return repr(self._names[role])

    def query_of(self, line: bytes) -> bytes | None:
        """Return the line's query, None for a line without data."""
        if not line.strip():
            return None
        try:
            return _id_of(dict(_record_of(line)).get(self._names["query"]), "")
        except InputError:
            return line

    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, with the faults of their columns."""
        for i, line in enumerate(raw.split(b"\n")):
            text = line.rstrip(b"\r")
            if text.strip():
                try:
                    yield self.record(i, text, _record_of(text))
                except InputError as error:
                    yield Record(i, text, (), error)

    def record(self, line: int, text: bytes, pairs: Iterable[tuple[str, Any]]) -> Record:
        """Return an object as a record of the wanted columns."""
        fields: list[bytes] = []
        try:
            for role, wanted in self._names.items():
                values = [value for name, value in pairs if name == wanted]
                if len(values) != 1:
                    number = "no" if not values else "more than one"
                    raise InputError(f"has {number} {wanted!r}", kind="columns")
                read = _id_of if role in IDS else _number_of
                fields.append(read(values[0], wanted))
        except InputError as error:
            return Record(line, text, (), error)
        return Record(line, text, fields)

    def cells_of(self, raw: bytes, first: int) -> Cells:
        """Return the columns of `lists` in a block of lines."""
        lines = [(i, line) for i, line in enumerate(raw.split(b"\n"), first) if line.strip()]

        def where(row: int) -> tuple[int, str]:
            number, line = lines[row]
            return number, line.rstrip(b"\r").decode("utf-8", "replace")

        rows: list[Sequence[Any] | InputError] = []
        for _, line in lines:
            try:
                rows.append(self.held(_object_of(line.rstrip(b"\r"))))
            except InputError as error:
                rows.append(error)
        return Cells.of(self.lists, rows, where)

    def held(self, value: Any) -> Sequence[Any] | InputError:
        """Return an object's values of the columns of `lists`; None for a missing one."""
        if isinstance(value, dict):
            fields = [(self._fields.get(name), name) for name in self.lists.values()]
            try:
                return [
                    value.get(name) if field is None else field.each(value.get(field.column))
                    for field, name in fields
                ]
            except InputError as error:
                return error
        if not isinstance(value, Repeated):
            return InputError("expected a JSON object", kind="columns")
        names = [name for name, _ in value]
        for wanted in self.lists.values():
            wanted = self._fields[wanted].column if wanted in self._fields else wanted
            if names.count(wanted) > 1:
                return InputError(f"has more than one {wanted!r}", kind="columns")
        return self.held(dict(value))

    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns with Arrow; None if the block is not clean."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        names, roles = list(self._names.values()), list(self._names)
        fields = []
        for at in columns:
            kind = pa.float64() if roles[at] in FRACTIONS else pa.int64()
            if roles[at] in ("query", "doc") and names[at] not in self._whole:
                kind = pa.string()
            fields.append((names[at], kind))
        if len(raw) == 0 or (raw == 0).any():
            return
        try:
            table = arrow_json.read_json(
                pa.BufferReader(pa.py_buffer(raw)),
                arrow_json.ReadOptions(use_threads=False, block_size=len(raw) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
                ),
            )
        except (pa.ArrowException, ValueError):
            return
        n_lines = sum(map(bool, map(bytes.strip, raw.tobytes().split(b"\n"))))
        if len(table) != n_lines:  # Arrow accepts several objects on one line
            return
        arrays = []
        for i, (name, kind) in enumerate(fields):
            column = table.column(name)
            if column.num_chunks != 1 or column.null_count:
                return
            array = column.chunk(0)
            if kind == pa.int64():
                array = array.cast(pa.string())  # ids, or whole numbers, which are checked later
            elif i < 2 and Ids.of_arrow(array).spoilt() is not None:
                return
            arrays.append(array)
        yield arrays


class JsonList(JsonLines):
    """A JSON list of objects with the names of columns."""

    kind = "JSON list with objects"
    is_text = False  # how its lines end does not matter

    def first(self, source: Source, sample: bytes) -> tuple[int, str, dict[str, Any]]:
        """Return the first row: the number of its line, its text, and its values."""
        for line, value in self._elements(source, heard=False):
            if isinstance(value, dict):
                return line, _shown(value), value
            problem, hint = "expected a JSON object", None
            if not isinstance(value, Repeated | list):
                hint = "Put a single query's list of ids into a list: [[1, 3, 5]]."
            if isinstance(value, Repeated):
                names = [name for name, _ in value]
                twice = next(name for name in names if names.count(name) > 1)
                problem = f"has more than one {twice!r}"
            raise InputError(problem, source=source.name, line=line, text=_shown(value), hint=hint)
        raise InputError("holds no rows", source=source.name)

    def following(self, source: Source, sample: bytes) -> Iterator[dict[str, Any]]:
        """Yield the rows, as far as they can be read."""
        with contextlib.suppress(InputError):
            for _, value in self._elements(source, heard=False):
                if isinstance(value, dict):
                    yield value

    def _elements(self, source: Source, *, heard: bool = True) -> Iterator[tuple[int, Any]]:
        """Yield (number of the line, value) of the list's elements."""
        with source.open(heard=heard) as stream:
            text = Window(stream, source, RECORDS)
            for line in text.members("[]"):
                yield line, text.value()

    def cells(self) -> Iterator[Cells]:
        """Yield the columns of `lists`."""

        def where(held: list[tuple[int, Any]], row: int) -> tuple[int, str]:
            line, value = held[row]
            return line, _shown(value)

        elements = self._elements(self.source)
        while held := list(islice(elements, SIZES.lists)):
            rows = [self.held(value) for _, value in held]
            yield Cells.of(self.lists, rows, partial(where, held))

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks."""
        roles = tuple(wanted)
        held: list[Record] = []
        for line, value in self._elements(self.source):
            raw = _shown(value).encode("utf-8", "replace")
            if not isinstance(value, dict | Repeated):
                fault = InputError("expected a JSON object", kind="columns")
                record = Record(line, raw, (), fault)
            else:
                pairs = list(value.items()) if isinstance(value, dict) else value
                record = self.record(line, raw, pairs)
            at = self.columns["query"]
            ends = held and record.columns and held[-1].columns[at:] != record.columns[at:]
            if len(held) >= SIZES.rows and ends:
                yield partial(self._by_line, held, roles, _where_in(held), errors)
                held = []
            held.append(record)
        yield partial(self._by_line, held, roles, _where_in(held), errors)


class JsonOfObjects(JsonList):
    """A JSON object with a query's documents as objects: {query: [{"doc_id": ...}, ...]}."""

    kind = "JSON object of lists"

    def __init__(
        self, source: Source, what: What, sample: bytes, stated: ColumnsLike | None
    ) -> None:
        super().__init__(source, what, sample, stated)
        self.names = ()  # it is no table that may hold both sides

    def _elements(self, source: Source, *, heard: bool = True) -> Iterator[tuple[int, Any]]:
        with source.open(heard=heard) as stream:
            text = Window(stream, source, RECORDS)
            for line in text.members("{}"):
                query = text.value()
                text.take(":")
                yield line, as_row(query, text.value())


def _where_in(records: list[Record]) -> Callable[..., tuple[int | None, str | None]]:
    def where(row: int, kept: list[int] | None = None) -> tuple[int, str]:
        record = records[row if kept is None else kept[row]]
        return record.line, record.text.decode("utf-8", "replace")

    return where


def _shown(value: Any) -> str:
    """Return an element of a JSON list as text for errors."""
    return f"{dict(value) if isinstance(value, dict) else value!r:.200}"


def _record_of(line: bytes) -> list[tuple[str, Any]]:
    value = _object_of(line)
    return list(value.items()) if isinstance(value, dict) else value


def _object_of(line: bytes) -> dict[str, Any] | Repeated:
    try:
        value = RECORDS.decode(line.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(problem, kind="text") from None
    except (RecursionError, ValueError):
        raise InputError("is not valid JSON: nested too deeply", kind="text") from None
    if not isinstance(value, dict | Repeated):
        raise InputError("expected a JSON object", kind="text")
    return value


def _id_of(value: Any, name: str) -> bytes:
    """Return an id's bytes, from a string or from the digits of a whole number."""
    whole = not isinstance(value, WrittenNumber) or _INTEGER.fullmatch(value)
    found = id_bytes(value) if whole else None
    if found is None:
        shown = str(value) if isinstance(value, WrittenNumber) else repr(value)
        raise InputError(
            f"expected a string or a whole number as {name!r}, got {shown:.80}",
            hint=STATE_LISTS if isinstance(value, list) else None,
            kind="id",
        )
    return found


_INTEGER = re.compile(r"-?\d+")


def _number_of(value: Any, name: str) -> bytes:
    """Return the text of a number; for any other value, a string that is not a number."""
    if isinstance(value, WrittenNumber):
        return value.encode()
    return f"{value!r:.80}".encode("utf-8", "replace")


def looks_like_lines(sample: bytes) -> bool:
    """Recognise JSON lines: the first line is an object that has a plain value."""
    text = sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if not text.startswith(b"{"):
        return False
    try:  # a line that the sample cuts off is not JSON
        first = json.loads(text.split(b"\n", 1)[0].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return any(not isinstance(value, dict | list) for value in first.values())


def _write(stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    for block in blocks:
        named = named_columns(block)
        names = list(map(json.dumps, named))
        columns = [
            [json.dumps(decode(one)) for one in column.to_list()]
            if isinstance(column, Ids)
            else list(map(json.dumps, column.tolist()))
            for column in named.values()
        ]
        lines = (
            ", ".join([f"{name}: {field}" for name, field in zip(names, row, strict=True)])
            for row in zip(*columns, strict=True)
        )
        stream.write("".join([f"{{{line}}}\n" for line in lines]).encode())


def _rows(file: Beginning) -> JsonLines:
    file.refuse_long_line()
    return JsonLines(file.source, file.what, file.sample, file.columns)


FORMATS = (
    Format(
        "jsonl",
        "JSON lines",
        _write,
        read=_rows,
        suffixes=(".jsonl", ".ndjson"),
        qrels=Holds("an object for each row"),
        runs=Holds("an object for each row"),
    ),
)
