"""JSON: a dict of dicts, {query: {document: number}}, or a list of objects."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import IO, Any

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Errors, Faults, Load, Progress, Role, Rows
from cranfield.formats.columns import What
from cranfield.formats.format import Beginning, Format, Holds, Target
from cranfield.formats.identifiers import are_ids, id_bytes
from cranfield.formats.json_text import Repeated, Window, WrittenNumber, occurrences, spellings
from cranfield.formats.jsonl import JsonLines, JsonList, looks_like_lines
from cranfield.formats.objects import MOST_COLUMNS, may_be_columns, refuse_columns
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.formats.values import grades_of, is_number, packed

_AS_TABLE = "CSV, JSON lines, Parquet, Arrow; or pandas' to_json(path, orient='records')"
# An object whose first value is a list.
_FIRST_LIST = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[', re.DOTALL)


class JsonNested(Rows):
    """A file with one JSON object: {query: {document: number}}, or {query: [document, ...]}."""

    def __init__(self, source: Source, what: What, sample: bytes) -> None:
        self.source = source
        self.what = what
        first = _FIRST_LIST.match(sample.removeprefix(BYTE_ORDER_MARK))
        self.is_ranking = first is not None and what is What.RUN
        self.numbers = frozenset([] if self.is_ranking else [what.role])
        form = "[document, ...]" if self.is_ranking else f"{{document: {what.role}}}"
        self.form = f"JSON: {{query: {form}}}"

    def blocks(
        self, wanted: Iterable[Role], errors: Errors, progress: Progress | None = None
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
            if n_rows >= SIZES.rows and not may_be_columns(names):
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
            for line in text.members("{}"):
                query = text.value()
                if not isinstance(query, str) or isinstance(query, WrittenNumber):
                    raise text.error("expected a query's id in quotation marks")
                text.take(":")
                yield line, query, text.value()

    def _block(
        self, queries: list[tuple[int, str, Any]], role: Role | None, errors: Errors
    ) -> Block:
        faults = Faults(errors)
        try:
            rows, docs, value = self._quickly(queries, role)
            ids, query_ids = Ids.of_texts(docs), Ids.of_texts([query for _, query, _ in queries])
        except (InputError, TypeError, ValueError, OverflowError):
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
            {} if role is None else {role: value},
            self.source.name,
            where,
            faults.left_out,
            [query for query in empty if query],
        )

    def _quickly(
        self, queries: list[tuple[int, str, Any]], role: Role | None
    ) -> tuple[Ints, list[str], Floats | Ints | None]:
        """Return rows that have no fault; ValueError or TypeError if one may have one."""
        docs: list[str] = []
        numbers: list[Any] = []
        for _, _, said in queries:
            if role is not None and isinstance(said, dict):
                numbers += said.values()
            elif role is not None or not isinstance(said, list):
                raise ValueError
            docs += said
        if not are_ids(docs) or not are_ids([query for _, query, _ in queries]):
            raise ValueError
        rows = np.repeat(np.arange(len(queries)), [len(said) for _, _, said in queries])
        if role is None:
            return rows, docs, None
        value: Floats | Ints | None
        if role == "score":
            value = packed(numbers, len(numbers))
            if value is None or np.isnan(value).any():
                raise ValueError
        elif (value := grades_of(numbers)) is None:
            raise ValueError
        return rows, docs, value

    def _carefully(
        self, queries: list[tuple[int, str, Any]], role: Role | None, faults: Faults
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
        self, line: int, query: str, said: Any, role: Role | None, faults: Faults
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
            elif role is not None and not self._is_value(number):
                expected = f"expected a {self.what.expected}"
                fault("number", f"{named}: {expected}, got {number!r:.80}", doc)
            else:
                good.append((doc, number))
        return good

    def _is_value(self, number: Any) -> bool:
        if self.what is What.RUN:
            return is_number(number)
        return grades_of([number]) is not None

    def _find(self, line: int, query: str, doc: str | None, above: int = 0) -> tuple[int, str]:
        """Return the number and the text of the line where a document of a query stands.

        `line` is the query's; `above` says how often the document stands there before.
        """
        queries, docs = spellings(query), spellings(doc) if doc is not None else set()
        first = None
        with self.source.open() as stream:
            for number, name, text in occurrences(stream, queries | docs):
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


def _write(stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    separator = b"{\n"
    for block in blocks:
        docs = list(map(decode, block.doc.to_list()))
        begins = block.query.begins().tolist()
        values = None if block.value is None else block.value.tolist()
        for begin, end in pairwise([*begins, len(block)]):
            query = json.dumps(decode(block.query[begin]))
            some: Any = docs[begin:end]
            if values is not None:
                some = dict(zip(some, values[begin:end], strict=True))
            elif block.rank is not None:
                order = np.argsort(block.rank[begin:end], kind="stable").tolist()
                some = [some[i] for i in order]
            if values is not None and len(some) < end - begin:
                twice = next(doc for doc in some if docs[begin:end].count(doc) > 1)
                raise InputError(
                    f"the document {twice!r} stands twice for query {query}: JSON cannot hold both",
                    kind="duplicate",
                )
            stream.write(separator + f"{query}: {json.dumps(some)}".encode())
            separator = b",\n"
        for nothing in block.empty:
            some = [] if block.value is None else {}
            stream.write(separator + f"{json.dumps(decode(nothing))}: {some}".encode())
            separator = b",\n"
    stream.write((b"{" if separator == b"{\n" else b"") + b"\n}\n")


def _rows(file: Beginning) -> Rows:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if looks_like_lines(file.sample):  # some tools write lines under this name
        file.refuse_long_line()
        return JsonLines(file.source, file.what, file.sample, file.columns)
    if text.startswith(b"["):
        return JsonList(file.source, file.what, file.sample, file.columns)
    return JsonNested(file.source, file.what, file.sample)


def _sniffed(file: Beginning) -> Rows | None:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    is_object = text.startswith(b"{") and text[1:].lstrip()[:1] in (b'"', b"}", b"")
    return _rows(file) if is_object or re.match(rb"\[\s*[{\]]", text) else None


FORMATS = (
    Format(
        "json",
        "JSON",
        _write,
        read=_rows,
        sniff=_sniffed,
        suffixes=(".json",),
        qrels=Holds("`{query: {document: grade}}`, or a list of objects", ("grade",)),
        runs=Holds(
            "`{query: {document: score}}`, `{query: [document, ...]}`, or a list of objects",
            ("score", "rank"),
            one_number=True,
        ),
        has_empty=True,
    ),
)
