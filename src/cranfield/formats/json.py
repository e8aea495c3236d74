"""JSON: a dict of dicts, {query: {document: number}}, and rows: JSON lines, a list of objects."""

import contextlib
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import InputError
from cranfield.formats.block import Block, Errors, Faults, Load, Number, Progress
from cranfield.formats.columns import (
    BLOCK_ROWS,
    ColumnsLike,
    Role,
    What,
    take_columns,
    understood,
)
from cranfield.formats.lines import BYTE_ORDER_MARK, LONGEST_LINE, Bytes, Lines, Record
from cranfield.formats.objects import grades_of, is_number
from cranfield.formats.source import Source
from cranfield.ids import Ids, encode
from cranfield.ranked import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 1 << 20
_AROUND = 100  # bytes of a line that are shown before a name, and behind it
_BLANK = re.compile(r"[ \t\n\r]*")
# An object whose first value is a list.
_FIRST_LIST = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[', re.DOTALL)


class _Number(str):
    """A number as it is written."""


class _Repeated(list[tuple[str, Any]]):
    """An object's (name, value), of which a name stands twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Repeated(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
# The same, with numbers as they are written.
_RECORDS = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_object
)


class JsonRows:
    """A file with one JSON object: {query: {document: number}}, or {query: [document, ...]}."""

    def __init__(self, source: Source, what: What, sample: bytes) -> None:
        self.source = source
        self.what = what
        first = _FIRST_LIST.match(sample.removeprefix(BYTE_ORDER_MARK))
        lists = first is not None and what == "a run"
        self.numbers: frozenset[Number] = frozenset(
            () if lists else ("score",) if what == "a run" else ("grade",)
        )
        number = "score" if what == "a run" else "grade"
        self.is_ranking = lists
        form = "[document, ...]" if lists else f"{{document: {number}}}"
        self.form = f"JSON: {{query: {form}}}"

    def blocks(
        self, wanted: Iterable[Number], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        role = next(iter(wanted), None)
        queries: list[tuple[int, str, Any]] = []
        n_rows, empty = 0, True
        for line, query, docs in self._queries(progress):
            empty = False
            queries.append((line, query, docs))
            n_rows += len(docs) if isinstance(docs, dict | list) else 1
            if n_rows >= BLOCK_ROWS:
                yield partial(self._block, queries, role, errors)
                queries, n_rows = [], 0
        if queries or empty:
            if empty:
                raise InputError("holds no query", source=self.source.name)
            yield partial(self._block, queries, role, errors)

    def _queries(self, progress: Progress | None) -> Iterator[tuple[int, str, Any]]:
        """Yield (number of the line, query, what is said of it), one after the other."""
        with self.source.open(progress) as stream:
            text = _Window(stream, self.source)
            text.take("{")
            if text.next() == "}":
                text.take("}")
                text.end()
                return
            while True:
                text.next()  # the line is that of the id, not of the comma above
                line = text.line
                query = text.value()
                if not isinstance(query, str) or isinstance(query, _Number):
                    raise text.error("expected a query's id in quotation marks")
                text.take(":")
                yield line, query, text.value()
                if text.next() == "}":
                    text.take("}")
                    text.end()
                    return
                text.take(",")

    def _block(
        self, queries: list[tuple[int, str, Any]], role: Number | None, errors: Errors
    ) -> Block:
        faults = Faults(errors)
        try:
            rows, docs, value = self._quickly(queries, role)
            ids, query_ids = Ids.of_texts(docs), Ids.of_texts([query for _, query, _ in queries])
        except (InputError, TypeError, ValueError, struct.error, OverflowError):
            rows, docs, value = self._carefully(queries, role, faults)
            ids = Ids.of_texts(docs)
            query_ids = Ids.of([_bytes(query) or b"?" for _, query, _ in queries])

        def where(row: int) -> tuple[int | None, str | None]:
            line, query, _ = queries[rows[row]]
            above = docs[int(np.searchsorted(rows, rows[row])) : row]
            return self._find(line, query, docs[row], above.count(docs[row]))

        empty = [_bytes(query) for _, query, said in queries if said in ({}, [])]
        return Block(
            query_ids.take(rows),
            ids,
            value,
            self.source.name,
            where,
            left_out=faults.left_out,
            empty=[query for query in empty if query],
        )

    def _quickly(
        self, queries: list[tuple[int, str, Any]], role: Number | None
    ) -> tuple[Ints, list[str], Floats | Ints | None]:
        """Return rows that have no fault; ValueError or TypeError if one may have one."""
        docs: list[str] = []
        numbers: list[Any] = []
        for _, query, said in queries:
            if not query or "\0" in query:
                raise ValueError
            if role is not None and isinstance(said, dict):
                numbers += said.values()
            elif role is not None or not isinstance(said, list):
                raise ValueError
            docs += said
        if "" in docs or "\0" in "".join(docs):
            raise ValueError
        rows = np.repeat(np.arange(len(queries)), [len(said) for _, _, said in queries])
        if role is None:
            return rows, docs, None
        value: Floats | Ints | None
        if role == "score":
            value = np.frombuffer(struct.pack(f"{len(numbers)}d", *numbers))
            if np.isnan(value).any():
                raise ValueError
        elif (value := grades_of(numbers)) is None:
            raise ValueError
        return rows, docs, value

    def _carefully(
        self, queries: list[tuple[int, str, Any]], role: Number | None, faults: Faults
    ) -> tuple[Ints, list[str], Floats | Ints | None]:
        """Return rows, and refuse or leave out those with a fault."""
        rows: list[int] = []
        docs: list[str] = []
        numbers: list[Any] = []
        for i, (line, query, said) in enumerate(queries):
            pairs = self._pairs(line, query, said, role, faults)
            rows += [i] * len(pairs)
            docs += [doc for doc, _ in pairs]
            numbers += [number for _, number in pairs]
        dtype = np.float64 if role == "score" else np.int64
        value = None if role is None else np.array(numbers, dtype)
        return np.array(rows, np.int64), docs, value

    def _pairs(
        self, line: int, query: str, said: Any, role: Number | None, faults: Faults
    ) -> list[tuple[str, Any]]:
        """Return a query's documents and their numbers, without those that are none."""

        def fault(kind: str, problem: str, doc: str | None = None) -> None:
            def error() -> InputError:
                at, text = self._find(line, query, doc)
                return InputError(problem, source=self.source.name, line=at, text=text, kind=kind)

            faults.add(kind, error)

        if _bytes(query) is None:
            fault("id", f"the query's id {query!r} is empty, no text, or holds a null byte")
            return []
        pairs: list[tuple[Any, Any]]
        if isinstance(said, dict) and not self.is_ranking:
            pairs = list(said.items())
        elif isinstance(said, _Repeated) and not self.is_ranking:
            pairs = said
        elif isinstance(said, list) and not isinstance(said, _Repeated) and role != "score":
            pairs = [(str(doc) if type(doc) is int else doc, 1) for doc in said]
        else:
            expected = "a list of documents" if self.is_ranking else "{document: number}"
            fault("columns", f"query {query!r}: expected {expected}, got {said!r:.80}")
            return []
        good = []
        for doc, number in pairs:
            named = f"query {query!r}, document {doc!r:.80}"
            if _bytes(doc) is None:
                problem = f"{named}: the id is empty, no text, or holds a null byte"
                fault("id", problem, doc if isinstance(doc, str) else None)
            elif role == "score" and not is_number(number):
                fault("number", f"{named}: expected a number as the score, got {number!r:.80}", doc)
            elif role == "grade" and grades_of([number]) is None:
                problem = f"{named}: expected a whole number as the grade, got {number!r:.80}"
                fault("number", problem, doc)
            else:
                good.append((doc, number))
        return good

    def _find(self, line: int, query: str, doc: str | None, above: int = 0) -> tuple[int, str]:
        """Return the number and the text of the line where a document of a query stands.

        `line` is the query's; `above` says how often the document stands there before.
        """
        queries, docs = _spellings(query), _spellings(doc) if doc is not None else set()
        first = None
        with self.source.open() as stream:
            for number, name, text in _occurrences(stream, queries | docs):
                if first is None:
                    if number == line and name in queries:
                        first = text
                        if doc is None:
                            break
                elif name in docs:
                    if above == 0:
                        return number, text
                    above -= 1
        return line, first or ""


def _spellings(text: str) -> set[bytes]:
    """Return how a text may stand in a JSON file."""
    spellings = {json.dumps(text).encode()}
    with contextlib.suppress(UnicodeEncodeError):  # half of a surrogate pair stands escaped
        spellings.add(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape"))
    return spellings


def _occurrences(stream: IO[bytes], names: set[bytes]) -> Iterator[tuple[int, bytes, str]]:
    """Yield (number of the line, name, text around) wherever one of the names stands."""
    any_name = re.compile(b"|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    margin = max(map(len, names)) + _AROUND
    window, line, begin = b"", 1, 0
    while True:
        piece = stream.read(_PIECE)
        window += piece
        whole = max(0, len(window) - margin) if piece else len(window)  # a name may be cut off
        for found in any_name.finditer(window, begin):
            if found.start() >= whole:
                break
            begin = found.start()
            above = window[max(0, begin - _AROUND) : begin].rpartition(b"\n")[2]
            text = above + window[begin : begin + margin].partition(b"\n")[0]
            shown = text[: len(above) + _AROUND].decode("utf-8", "replace").strip()
            yield line + window.count(b"\n", 0, begin), found[0], shown
            begin = found.end()
        if not piece:
            return
        cut = max(0, whole - _AROUND)
        line += window.count(b"\n", 0, cut)
        window, begin = window[cut:], max(begin, whole) - cut


def _bytes(text: Any) -> bytes | None:
    """Return an id's bytes, None if it can be none."""
    if not isinstance(text, str) or not text or "\0" in text:
        return None
    try:
        return encode(text)
    except InputError:
        return None


class _Window:
    """A piece of a JSON text, from which values are taken one after the other."""

    def __init__(self, stream: Any, source: Source, decoder: json.JSONDecoder = _DECODER) -> None:
        self._decoder = decoder
        self._stream = stream
        self._source = source
        self._raw = b""
        self._text = ""
        self._at = 0
        self._ended = False
        self.line = 1
        self._more()
        self._text = self._text.removeprefix("\ufeff")

    def _more(self) -> None:
        """Read as much again as is held, at least a piece."""
        size = max(_PIECE, len(self._text) - self._at)
        raw = self._raw + (self._stream.read(size) or b"")
        self._ended = len(raw) == len(self._raw)
        # A character may be cut in two at the end.
        cut = len(raw)
        if not self._ended:
            while cut and len(raw) - cut < 4 and raw[cut - 1] & 0xC0 == 0x80:
                cut -= 1
            if cut and raw[cut - 1] >= 0xC0:
                cut -= 1
            else:
                cut = len(raw)
        self._text = self._text[self._at :] + raw[:cut].decode("utf-8", "surrogateescape")
        self._raw = raw[cut:]
        self._at = 0

    def next(self) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr] # it always matches
            self.line += self._text.count("\n", self._at, at)
            self._at = at
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._more()

    def take(self, character: str) -> None:
        """Pass over a character that must be next."""
        if self.next() != character:
            raise self.error(f"expected {character!r}, got {self.next() or 'the end'!r}")
        self._at += 1

    def end(self) -> None:
        """Make sure that there is nothing more."""
        if self.next():
            raise self.error("goes on after the end of its JSON object")

    def value(self) -> Any:
        """Return the value that is next."""
        self.next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                # What is cut off by the window's end is at fault there, or a text before it is.
                cut_off = (
                    isinstance(error, json.JSONDecodeError)
                    and len(self._text) - error.pos <= LONGEST_LINE
                )
                if self._ended or not cut_off:
                    raise self._broken(error) from None
                self._more()
                continue
            if end == len(self._text) and not self._ended:  # a number may go on
                self._more()
                continue
            self.line += self._text.count("\n", self._at, end)
            self._at = end
            return value

    def _broken(self, error: Exception) -> InputError:
        if isinstance(error, json.JSONDecodeError):
            self.line += self._text.count("\n", self._at, error.pos)
            self._at = error.pos
            return self.error(error.msg[:1].lower() + error.msg[1:])
        return self.error(
            "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        )

    def error(self, problem: str) -> InputError:
        """Return an error that names the place."""
        begin = self._text.rfind("\n", 0, self._at) + 1
        end = self._text.find("\n", self._at)
        line = self._text[max(begin, self._at - 60) : end if end >= 0 else None]
        return InputError(
            f"is no JSON: {problem}",
            source=self._source.name,
            line=self.line,
            text=line[:200],
            kind="text",
        )


# ---- rows -----------------------------------------------------------------------------------


class JsonLines(Lines):
    """Lines of which each is a JSON object with the names of columns."""

    decimals = True
    kind = "JSON lines"

    def __init__(
        self, source: Source, what: What, sample: bytes, stated: ColumnsLike | None
    ) -> None:
        begin = 3 if sample.startswith(BYTE_ORDER_MARK) else 0
        number, text, first = self.first(source, sample[begin:])
        names = list(first)
        try:
            found = take_columns(names, what, stated, source.name)
        except InputError as error:
            raise error.at(source.name, number, text) from None
        self._names = {role: names[at] for role, at in found.items()}
        # Ids that are numbers in the first line are expected to be numbers in all.
        self._whole = {name for name, value in first.items() if isinstance(value, _Number)}
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

    def place(self, role: Role) -> str:
        """Return where a role stands, in words."""
        return repr(self._names[role])

    def query_of(self, line: bytes) -> bytes | None:
        """Return the line's query, None for a line that is no data."""
        if not line.strip():
            return None
        try:
            return _id_of(dict(_record_of(line)).get(self._names["query"]), "")
        except InputError:
            return line

    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, and what is wrong with their columns."""
        for i, line in enumerate(raw.split(b"\n")):
            text = line.rstrip(b"\r")
            if text.strip():
                try:
                    yield self.record(i, text, _record_of(text))
                except InputError as error:
                    yield Record(i, text, (), error)

    def record(self, line: int, text: bytes, pairs: Iterable[tuple[str, Any]]) -> Record:
        """Return an object as a record of the columns that are wanted."""
        fields: list[bytes] = []
        try:
            for role, wanted in self._names.items():
                values = [value for name, value in pairs if name == wanted]
                if len(values) != 1:
                    number = "no" if not values else "more than one"
                    raise InputError(f"has {number} {wanted!r}", kind="columns")
                read = _id_of if role in ("query", "doc") else _number_of
                fields.append(read(values[0], wanted))
        except InputError as error:
            return Record(line, text, (), error)
        return Record(line, text, fields)

    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns with Arrow; None if the block is not clean."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        names, roles = list(self._names.values()), list(self._names)
        fields = []
        for at in columns:
            kind = pa.float64() if roles[at] == "score" else pa.int64()
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
        if len(table) != n_lines:  # Arrow takes several objects on a line
            return
        arrays = []
        for i, (name, kind) in enumerate(fields):
            column = table.column(name)
            if column.num_chunks != 1 or column.null_count:
                return
            array = column.chunk(0)
            if kind == pa.int64():
                array = array.cast(pa.string())  # ids, or whole numbers still to be looked at
            elif i < 2 and Ids.of_arrow(array).spoilt() is not None:
                return
            arrays.append(array)
        yield arrays


class JsonList(JsonLines):
    """A JSON list of objects with the names of columns."""

    kind = "JSON list with objects"

    def first(self, source: Source, sample: bytes) -> tuple[int, str, dict[str, Any]]:
        """Return the first row: the number of its line, its text, and its values."""
        for line, text, value in _elements(source, None):
            if isinstance(value, dict):
                return line, text, value
            raise InputError("expected a JSON object", source=source.name, line=line, text=text)
        raise InputError("holds no rows", source=source.name)

    def blocks(
        self, wanted: Iterable[Number], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows in blocks."""
        roles = tuple(wanted)
        held: list[Record] = []
        for line, text, value in _elements(self.source, progress):
            raw = text.encode("utf-8", "replace")
            if not isinstance(value, dict | _Repeated):
                fault = InputError("expected a JSON object", kind="columns")
                record = Record(line, raw, (), fault)
            else:
                pairs = list(value.items()) if isinstance(value, dict) else value
                record = self.record(line, raw, pairs)
            at = self.columns["query"]
            ends = held and record.columns and held[-1].columns[at:] != record.columns[at:]
            if len(held) >= BLOCK_ROWS and ends:
                yield partial(self._by_line, held, roles, _where_in(held), errors)
                held = []
            held.append(record)
        yield partial(self._by_line, held, roles, _where_in(held), errors)


def _where_in(records: list[Record]) -> Callable[..., tuple[int | None, str | None]]:
    def where(row: int, kept: list[int] | None = None) -> tuple[int, str]:
        record = records[row if kept is None else kept[row]]
        return record.line, record.text.decode("utf-8", "replace")

    return where


def _elements(source: Source, progress: Progress | None) -> Iterator[tuple[int, str, Any]]:
    """Yield (number of the line, text, value) of a JSON list's elements."""
    with source.open(progress) as stream:
        text = _Window(stream, source, _RECORDS)
        text.take("[")
        if text.next() == "]":
            text.take("]")
        else:
            while True:
                text.next()
                line = text.line
                value = text.value()
                yield line, f"{dict(value) if isinstance(value, dict) else value!r:.200}", value
                if text.next() == "]":
                    text.take("]")
                    break
                text.take(",")
        text.end()


def _record_of(line: bytes) -> list[tuple[str, Any]]:
    try:
        value = _RECORDS.decode(line.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        problem = f"is no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(problem, kind="text") from None
    except (RecursionError, ValueError):
        raise InputError("is no JSON: nested too deeply", kind="text") from None
    if not isinstance(value, dict | _Repeated):
        raise InputError("expected a JSON object", kind="text")
    return list(value.items()) if isinstance(value, dict) else value


def _id_of(value: Any, name: str) -> bytes:
    """Return an id's bytes: a text's, or those of a whole number as it is written."""
    whole = not isinstance(value, _Number) or _INTEGER.fullmatch(value)
    found = _bytes(value) if whole else None
    if found is None:
        shown = str(value) if isinstance(value, _Number) else repr(value)
        raise InputError(
            f"expected a text or a whole number as {name!r}, got {shown:.80}", kind="id"
        )
    return found


_INTEGER = re.compile(r"-?\d+")


def _number_of(value: Any, name: str) -> bytes:
    """Return a number as it is written; of what is none, what is no number either."""
    if isinstance(value, _Number):
        return value.encode()
    return f"{value!r:.80}".encode("utf-8", "replace")
