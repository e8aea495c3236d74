"""JSON: a dict of dicts, {query: {document: number}}, or a list of objects."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import IO, Any

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import Side
from cranfield.formats.format import InputFile, Format, Capacity, OutputFile
from cranfield.formats.identifiers import are_ids, encode_id
from cranfield.formats.json_text import DuplicatePairs, Window, NumberText
from cranfield.formats.jsonl import JsonLines, JsonList, JsonOfObjects, looks_like_lines
from cranfield.formats.objects import LIST_DESCRIPTIONS, MOST_COLUMNS, may_be_columns, refuse_columns
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.formats.values import to_numbers

_TABLE_HINT = "CSV, JSON lines, Parquet, Arrow; or pandas' to_json(path, orient='records')"
# An object with a name, or a list of objects or lists; or one that is empty, and nothing after it:
# a line of another format may begin with the id {}.
_BEGINNING = re.compile(rb'\{\s*(?:"|\Z|\}\s*\Z)|\[\s*(?:[{\[]|\]\s*\Z)')
_LIST_IN_LIST = re.compile(rb"\[\s*\[")
# An object with a list as its first value.
_FIRST_LIST = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[', re.DOTALL)
# An object with a list of objects as its first value that is not an empty list.
_OBJECTS_IN_LIST = re.compile(
    rb'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\]\s*,\s*)*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\{', re.DOTALL
)


Member = tuple[int, str, Any]  # the number of its line, the query, and its value
# The number of rows of each query, their documents, and their numbers if there are any.
DocumentLists = tuple[list[int], list[str], Floats | Ints | None]


class JsonDictRows(Rows):
    """A file with one JSON object: {query: {document: number}}, or {query: [document, ...]}."""

    def __init__(self, source: Source, side: Side, sample: bytes) -> None:
        self.source = source
        self.side = side
        first = _FIRST_LIST.match(sample.removeprefix(BYTE_ORDER_MARK))
        self.is_ranking = first is not None and side is Side.RUN
        self.extra_roles = frozenset([] if self.is_ranking else [side.role])
        self.has_grades = first is None
        form = "[document, ...]" if self.is_ranking else f"{{document: {side.role}}}"
        self.description = f"JSON: {{query: {form}}}"

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        role = next(iter(roles), None)
        queries: list[Member] = []
        n_rows, empty = 0, True
        names: list[str] = []  # of the first queries: are they columns?
        for line, query, docs in self._read_members():
            empty = False
            if len(names) <= MOST_COLUMNS:
                names.append(query)
            queries.append((line, query, docs))
            n_rows += len(docs) if isinstance(docs, dict | list) else 1
            if n_rows >= SIZES.rows and not may_be_columns(names):
                yield partial(self._build_block, queries, role, errors)
                queries, n_rows = [], 0
        refuse_columns(names, self.source.name, _TABLE_HINT)
        if queries or empty:
            if empty:
                raise InputError("holds no query", source=self.source.name)
            yield partial(self._build_block, queries, role, errors)

    def _read_members(self) -> Iterator[Member]:
        """Yield (number of the line, query, value), one after the other."""
        with self.source.open(heard=True) as stream:
            text = Window(stream, self.source)
            for line in text.read_members("{}"):
                query = text.read_value()
                if not isinstance(query, str) or isinstance(query, NumberText):
                    raise text.syntax_error("expected a query's id in quotation marks")
                text.skip(":")
                yield line, query, text.read_value()

    def _build_block(self, queries: list[Member], role: Role | None, errors: Errors) -> Block:
        faults = FaultLog(errors)
        rows = self._check_all_at_once(queries, role) or self._check_one_by_one(queries, role, faults)
        lengths, docs, value = rows
        of = np.repeat(np.arange(len(queries)), lengths)  # the query of each row
        names = [encode_id(query) for _, query, _ in queries]
        said = [one for _, _, one in queries]
        empty = [name for name, one in zip(names, said, strict=True) if name and one in ({}, [])]

        def where(row: int) -> tuple[int | None, str | None]:
            line, query, _ = queries[of[row]]
            above = docs[int(np.searchsorted(of, of[row])) : row]
            return self._locate_document(line, query, docs[row], above.count(docs[row]))

        return Block(
            Ids.of([name or b"?" for name in names]).take(of),  # a query with a fault has no rows
            Ids.of_texts(docs),
            {} if role is None else {role: value},
            self.source.name,
            where,
            faults.left_out,
            empty,
        )

    def _check_all_at_once(self, queries: list[Member], role: Role | None) -> DocumentLists | None:
        """Return each query's number of rows, their documents and numbers; None for any fault."""
        kind = list if self.is_ranking else dict
        if not all(type(said) is kind for _, _, said in queries):
            return None
        docs = list(chain.from_iterable(said for _, _, said in queries))
        if not are_ids(docs) or not are_ids([query for _, query, _ in queries]):
            return None
        lengths = [len(said) for _, _, said in queries]
        if role is None:
            return lengths, docs, None
        numbers = list(chain.from_iterable(said.values() for _, _, said in queries))
        value = to_numbers(role, numbers)
        return None if value is None else (lengths, docs, value)

    def _check_one_by_one(self, queries: list[Member], role: Role | None, faults: FaultLog) -> DocumentLists:
        """Return the same for the rows without a fault; others raise an error or are left out."""
        good = [self._check_pairs(*member, role, faults) for member in queries]
        docs = [doc for pairs in good for doc, _ in pairs]
        numbers = [number for pairs in good for _, number in pairs]
        value = None if role is None else to_numbers(role, numbers)
        return [len(pairs) for pairs in good], docs, value

    def _check_pairs(
        self, line: int, query: str, query_docs: Any, role: Role | None, faults: FaultLog
    ) -> list[tuple[str, Any]]:
        """Return a query's documents and their numbers, without faults."""

        def fault(kind: str, problem: str, doc: str | None = None) -> None:
            def error() -> InputError:
                at, text = self._locate_document(line, query, doc)
                return InputError(problem, source=self.source.name, line=at, text=text, kind=kind)

            faults.add(kind, error)

        if encode_id(query) is None:
            fault("id", f"the query's id {query!r} is empty, not text, or holds a null byte")
            return []
        pairs: list[tuple[Any, Any]]
        if isinstance(query_docs, dict | DuplicatePairs) and not self.is_ranking:
            pairs = list(query_docs.items()) if isinstance(query_docs, dict) else query_docs
        elif type(query_docs) is list and role != "score":
            pairs = [(str(doc) if type(doc) is int else doc, 1) for doc in query_docs]
        else:
            expected = "a list of documents" if self.is_ranking else "{document: number}"
            fault("columns", f"query {query!r}: expected {expected}, got {query_docs!r:.80}")
            return []
        good = []
        for doc, number in pairs:
            named = f"query {query!r}, document {doc!r:.80}"
            if encode_id(doc) is None:
                problem = f"{named}: the id is empty, not text, or holds a null byte"
                fault("id", problem, doc if isinstance(doc, str) else None)
            elif role is not None and to_numbers(role, [number]) is None:
                expected = f"expected a {self.side.expected_number}"
                fault("number", f"{named}: {expected}, got {number!r:.80}", doc)
            else:
                good.append((doc, number))
        return good

    def _locate_document(self, line: int, query: str, doc: str | None, n_above: int = 0) -> tuple[int, str]:
        """Return the number and the text of the line that holds a document of a query.

        `line` is the query's line, which is returned if the document is not found; `above` is the
        number of earlier occurrences of the document in the query.
        """
        with self.source.open() as stream:
            text = Window(stream, self.source)
            for at in text.read_members("{}"):
                shown = text.text_around()
                name = text.read_value()
                text.skip(":")
                text.read_value()
                if (at, name) == (line, query):
                    found = None if doc is None else text.find_name(doc, n_above)
                    return found or (line, shown)
        raise self.source.changed_error()


class JsonIdLists(JsonDictRows):
    """A file with one JSON list, [[document, ...], ...]: one list per query, numbered from 1."""

    def __init__(self, source: Source, side: Side, sample: bytes) -> None:
        super().__init__(source, side, sample)
        self.is_ranking = side is Side.RUN
        self.extra_roles = frozenset([] if self.is_ranking else [side.role])
        self.list_kind, self.description = "ids", LIST_DESCRIPTIONS["ids"]

    def _read_members(self) -> Iterator[Member]:
        with self.source.open(heard=True) as stream:
            text = Window(stream, self.source)
            for number, line in enumerate(text.read_members("[]"), 1):
                yield line, str(number), text.read_value()

    def _check_pairs(
        self, line: int, query: str, query_docs: Any, role: Role | None, faults: FaultLog
    ) -> list[tuple[str, Any]]:
        kinds = {type(doc) for doc in query_docs} if isinstance(query_docs, list) else set()
        if (isinstance(query_docs, list) and kinds <= {str}) or kinds == {int}:
            return super()._check_pairs(line, query, query_docs, role, faults)

        def error() -> InputError:
            return InputError(
                f"list {query}: expected the ids of its documents, all texts or all whole numbers, "
                f"got {query_docs!r:.80}",
                source=self.source.name,
                line=line,
                hint="Write rows as objects with the names of columns: "
                f'[{{"query_id": ..., "doc_id": ..., "{self.side.number_name}": ...}}, ...].',
                kind="columns",
            )

        faults.add("columns", error)
        return []

    def _locate_document(self, line: int, query: str, doc: str | None, n_above: int = 0) -> tuple[int, str]:
        with self.source.open() as stream:
            text = Window(stream, self.source)
            for number, at in enumerate(text.read_members("[]"), 1):
                shown = text.text_around()
                text.read_value()
                if (at, str(number)) == (line, query):
                    return line, shown
        raise self.source.changed_error()


def _write(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    separator = b"{\n"
    for block in blocks:
        none: Any = [] if block.score_or_grade is None else {}
        for query, docs in (*_list_members(block), *((decode(name), none) for name in block.empty_queries)):
            stream.write(separator + f"{json.dumps(query)}: {json.dumps(docs)}".encode())
            separator = b",\n"
    stream.write((b"{" if separator == b"{\n" else b"") + b"\n}\n")


def _list_members(block: Block) -> Iterator[tuple[str, Any]]:
    """Yield each query, and its documents: with their numbers, or best first without."""
    docs = list(map(decode, block.doc.to_list()))
    begins = block.query.find_changes().tolist()
    values = None if block.score_or_grade is None else block.score_or_grade.tolist()
    for begin, end in pairwise([*begins, len(block)]):
        query, some = decode(block.query[begin]), docs[begin:end]
        if values is not None:
            numbers = dict(zip(some, values[begin:end], strict=True))
            if len(numbers) < len(some):
                twice = next(doc for doc in numbers if some.count(doc) > 1)
                problem = f"the document {twice!r} occurs twice for query {json.dumps(query)}"
                raise InputError(f"{problem}: JSON cannot hold both", kind="duplicate")
            yield query, numbers
        elif block.rank is not None:
            order = np.argsort(block.rank[begin:end], kind="stable").tolist()
            yield query, [some[i] for i in order]
        else:
            yield query, some


def _read(file: InputFile) -> Rows:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if looks_like_lines(file.sample):  # some tools write JSON lines to a .json file
        file.refuse_long_line()
        return JsonLines(file.source, file.side, file.sample, file.user_columns)
    if file.side is Side.RUN and _OBJECTS_IN_LIST.match(text):
        return JsonOfObjects(file.source, file.side, file.sample, file.user_columns)
    if _LIST_IN_LIST.match(text):
        return JsonIdLists(file.source, file.side, file.sample)
    if text.startswith(b"["):
        return JsonList(file.source, file.side, file.sample, file.user_columns)
    return JsonDictRows(file.source, file.side, file.sample)


def _sniff(file: InputFile) -> Rows | None:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    return _read(file) if _BEGINNING.match(text) else None


FORMATS = (
    Format(
        "json",
        "JSON",
        _write,
        read=_read,
        sniff=_sniff,
        suffixes=(".json",),
        qrels=Capacity(
            "`{query: {document: grade}}`, `[[document, ...], ...]`, or a list of objects",
            ("grade",),
        ),
        runs=Capacity(
            "`{query: {document: score}}`, `{query: [document, ...]}`, `[[document, ...], ...]`, "
            "a list of objects, or `{query: [object, ...]}`",
            ("score", "rank"),
            is_first_role_only=True,
        ),
        holds_empty_queries=True,
    ),
)
