"""JSON: a dict of dicts, {query: {document: number}}."""

import contextlib
import json
import re
import struct
from collections.abc import Iterable, Iterator
from functools import partial
from typing import IO, Any

import numpy as np

from cranfield.errors import InputError
from cranfield.formats.block import Block, Errors, Faults, Load, Number, Progress
from cranfield.formats.columns import BLOCK_ROWS, What
from cranfield.formats.lines import BYTE_ORDER_MARK, LONGEST_LINE
from cranfield.formats.objects import (
    MOST_COLUMNS,
    grades_of,
    is_number,
    may_be_columns,
    refuse_columns,
)
from cranfield.formats.source import Source
from cranfield.ids import Ids, encode
from cranfield.ranked import Floats, Ints

_PIECE = 1 << 20
_AROUND = 100  # bytes of a line that are shown before a name, and behind it
_BLANK = re.compile(r"[ \t\n\r]*")
_AS_TABLE = "CSV, JSON lines, Parquet, Arrow; or pandas' to_json(path, orient='records')"
# An object whose first value is a list.
_FIRST_LIST = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[', re.DOTALL)


class WrittenNumber(str):
    """A number as it is written."""


class Repeated(list[tuple[str, Any]]):
    """An object's (name, value), of which a name stands twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Repeated:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeated(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
# The same, with numbers as they are written.
RECORDS = json.JSONDecoder(
    parse_float=WrittenNumber,
    parse_int=WrittenNumber,
    parse_constant=WrittenNumber,
    object_pairs_hook=_object,
)


class JsonNested:
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
        names: list[str] = []  # of the first queries: are they columns?
        for line, query, docs in self._queries(progress):
            empty = False
            if len(names) <= MOST_COLUMNS:
                names.append(query)
            queries.append((line, query, docs))
            n_rows += len(docs) if isinstance(docs, dict | list) else 1
            if n_rows >= BLOCK_ROWS and not may_be_columns(names):
                yield partial(self._block, queries, role, errors)
                queries, n_rows = [], 0
        refuse_columns(names, self.source.name, _AS_TABLE)
        if queries or empty:
            if empty:
                raise InputError("holds no query", source=self.source.name)
            yield partial(self._block, queries, role, errors)

    def _queries(self, progress: Progress | None) -> Iterator[tuple[int, str, Any]]:
        """Yield (number of the line, query, what is said of it), one after the other."""
        with self.source.open(progress) as stream:
            text = Window(stream, self.source)
            text.take("{")
            if text.next() == "}":
                text.take("}")
                text.end()
                return
            while True:
                text.next()  # the line is that of the id, not of the comma above
                line = text.line
                query = text.value()
                if not isinstance(query, str) or isinstance(query, WrittenNumber):
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
            query_ids = Ids.of([id_bytes(query) or b"?" for _, query, _ in queries])

        def where(row: int) -> tuple[int | None, str | None]:
            line, query, _ = queries[rows[row]]
            above = docs[int(np.searchsorted(rows, rows[row])) : row]
            return self._find(line, query, docs[row], above.count(docs[row]))

        empty = [id_bytes(query) for _, query, said in queries if said in ({}, [])]
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

        if id_bytes(query) is None:
            fault("id", f"the query's id {query!r} is empty, no text, or holds a null byte")
            return []
        pairs: list[tuple[Any, Any]]
        if isinstance(said, dict) and not self.is_ranking:
            pairs = list(said.items())
        elif isinstance(said, Repeated) and not self.is_ranking:
            pairs = said
        elif isinstance(said, list) and not isinstance(said, Repeated) and role != "score":
            pairs = [(str(doc) if type(doc) is int else doc, 1) for doc in said]
        else:
            expected = "a list of documents" if self.is_ranking else "{document: number}"
            fault("columns", f"query {query!r}: expected {expected}, got {said!r:.80}")
            return []
        good = []
        for doc, number in pairs:
            named = f"query {query!r}, document {doc!r:.80}"
            if id_bytes(doc) is None:
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


def id_bytes(text: Any) -> bytes | None:
    """Return an id's bytes, None if it can be none."""
    if not isinstance(text, str) or not text or "\0" in text:
        return None
    try:
        return encode(text)
    except InputError:
        return None


class Window:
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
            raise self.error(
                "goes on after the end of its JSON object",
                hint="If each line is an object, these are JSON lines: name the file .jsonl, or "
                "say format='jsonl' (--run-format jsonl, --qrels-format jsonl).",
            )

    def value(self) -> Any:
        """Return the value that is next."""
        self.next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                # What is cut off by the window's end is at fault there, or a text before it is.
                cut_off = isinstance(error, json.JSONDecodeError) and (
                    len(self._text) - error.pos <= LONGEST_LINE
                    or error.msg.startswith("Unterminated string")
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

    def error(self, problem: str, hint: str | None = None) -> InputError:
        """Return an error that names the place."""
        begin = self._text.rfind("\n", 0, self._at) + 1
        end = self._text.find("\n", self._at)
        line = self._text[max(begin, self._at - 60) : end if end >= 0 else None]
        return InputError(
            f"is no JSON: {problem}",
            source=self._source.name,
            line=self.line,
            text=line[:200],
            hint=hint,
            kind="text",
        )
