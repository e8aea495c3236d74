"""JSON: reads and writes {query: {document: number}}, or lists; has `jsonl` read other objects."""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import IO, Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import Side
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.identifiers import are_ids, encode_id
from cranfield.formats.json_text import DuplicatePairs, NumberText, Window
from cranfield.formats.jsonl import JsonList, looks_like_lines, read_lines, write_lines
from cranfield.formats.list_elements import padding_note, strip_fillers
from cranfield.formats.objects import (
    LIST_DESCRIPTIONS,
    MOST_COLUMNS,
    may_be_columns,
    refuse_columns,
)
from cranfield.formats.rewrite import HEADS, NumberedResponses, begin_rows, open_envelope, plain
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK
from cranfield.formats.values import to_numbers

_TABLE_HINT = "CSV, JSON lines, Parquet, Arrow; or pandas' to_json(path, orient='records')"
# An object with a name, or a list of objects or lists; or an empty object or list, and nothing
# after it: a line of another format may begin with the id {}.
_BEGINNING = re.compile(rb'\{\s*(?:"|\Z|\}\s*\Z)|\[\s*(?:[{\[]|\]\s*\Z)')
_LIST_IN_LIST = re.compile(rb"\[\s*\[")
# An object with a list as its first value.
_FIRST_LIST = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[', re.DOTALL)
# An object with a list of objects as its first value that is not an empty list.
_OBJECTS_IN_LIST = re.compile(
    rb'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\]\s*,\s*)*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\{', re.DOTALL
)


# A key of an envelope; or a list of lists that is a value, or of lists of objects.
_FOREIGN = re.compile(
    rb'"(?:%b)"\s*:|:\s*\[\s*\[|\[(?:\s*\[\s*\]\s*,)*\s*\[\s*\{' % "|".join(sorted(HEADS)).encode()
)
_SAVED_SCORES = re.compile(rb'\{\s*"recipe"\s*:\s*\{\s*"cranfield"\s*:')
_N_SAMPLE_BYTES = 1 << 16

Member = tuple[int, str, Any]  # the number of the line, the query, and its documents


class DocumentLists(NamedTuple):
    """The documents of some queries: how many each query has, and all of them, query after query.

    `numbers` are their scores or grades, (documents,), if these were requested.
    """

    n_docs: list[int]
    docs: list[str]
    numbers: Floats | Ints | None = None


class JsonDictRows(Rows):
    """The rows of a JSON object, {query: {document: number}}, or {query: [document, ...]}."""

    brackets = "{}"  # around the members

    def __init__(self, source: Source, side: Side, sample: bytes) -> None:
        self.source = source
        self.side = side
        first_list = _FIRST_LIST.match(sample.removeprefix(BYTE_ORDER_MARK))
        self.is_ranking = first_list is not None and side is Side.RUN
        self.extra_roles = frozenset([] if self.is_ranking else [side.role])
        self.has_grades = first_list is None
        shape = "[document, ...]" if self.is_ranking else f"{{document: {side.role}}}"
        self.description = f"JSON: {{query: {shape}}}"

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        role = next(iter(roles), None)
        members: list[Member] = []
        n_rows = n_fillers = 0
        names: list[str] = []  # of the first queries: are they columns?
        for line, query, docs in self._read_members():
            if type(docs) is list:
                n_fillers += len(docs)
                docs = strip_fillers(docs, self.source.name)
                n_fillers -= len(docs)
            if len(names) <= MOST_COLUMNS:
                names.append(query)
            members.append((line, query, docs))
            n_rows += len(docs) if isinstance(docs, dict | list) else 1
            if n_rows >= SIZES.rows and not may_be_columns(names):
                yield partial(self._build_block, members, role, errors)
                members, n_rows = [], 0
        if not names:
            raise InputError("holds no query", source=self.source.name)
        refuse_columns(names, self.source.name, _TABLE_HINT)
        if members:
            yield partial(self._build_block, members, role, errors)
        self.notes = (padding_note(self.side, n_fillers),) if n_fillers else ()

    def _read_members(self) -> Iterator[Member]:
        """Yield (number of the line, query, documents) of each member of the object."""
        with self.source.open(reports_progress=True) as stream:
            text = Window(stream, self.source)
            for number, line in enumerate(text.read_members(self.brackets), 1):
                yield line, self.read_query(text, number), text.read_value()

    def read_query(self, text: Window, number: int) -> str:
        """Return the query that is next in a text, of the member of this number, from 1."""
        query = text.read_value()
        if not isinstance(query, str) or isinstance(query, NumberText):
            raise text.syntax_error("expected a query's id in quotation marks")
        text.skip(":")
        return query

    def _build_block(self, members: list[Member], role: Role | None, errors: Errors) -> Block:
        """Return the block of the documents of some queries."""
        faults = FaultLog(errors)
        lists = self._check_all_at_once(members, role)
        if lists is None:
            lists = self._check_one_by_one(members, role, faults)
        n_docs, docs, numbers = lists
        position = np.repeat(np.arange(len(members)), n_docs)  # (rows,) of each row's query
        query_ids = [encode_id(query) for _, query, _ in members]
        empty_queries = [
            query_id
            for query_id, (_, _, query_docs) in zip(query_ids, members, strict=True)
            if query_id and query_docs in ({}, [])
        ]

        def find_line(row: int) -> tuple[int | None, str | None]:
            line, query, _ = members[position[row]]
            docs_above = docs[int(np.searchsorted(position, position[row])) : row]
            return self._locate_document(line, query, docs[row], docs_above.count(docs[row]))

        return Block(
            # A query with a fault has no rows.
            Ids.of([query_id or b"?" for query_id in query_ids]).take(position),
            Ids.of_texts(docs),
            {} if role is None else {role: numbers},
            self.source.name,
            find_line,
            faults.left_out,
            empty_queries,
        )

    def _check_all_at_once(self, members: list[Member], role: Role | None) -> DocumentLists | None:
        """Return the documents of some queries, and their numbers; None for a fault or lists."""
        expected_type = list if self.is_ranking else dict
        docs_of_queries = [query_docs for _, _, query_docs in members]
        if not all(type(query_docs) is expected_type for query_docs in docs_of_queries):
            return None
        docs = list(chain.from_iterable(docs_of_queries))
        if not are_ids(docs) or not are_ids([query for _, query, _ in members]):
            return None
        n_docs = list(map(len, docs_of_queries))
        if role is None:
            return DocumentLists(n_docs, docs)
        raw_numbers = chain.from_iterable(query_docs.values() for query_docs in docs_of_queries)
        numbers = to_numbers(role, list(raw_numbers))
        return None if numbers is None else DocumentLists(n_docs, docs, numbers)

    def _check_one_by_one(
        self, members: list[Member], role: Role | None, faults: FaultLog
    ) -> DocumentLists:
        """Return the documents without a fault; those with a fault are raised, or counted."""
        pairs_of_queries = [
            self._check_pairs(line, query, query_docs, role, faults)
            for line, query, query_docs in members
        ]
        pairs = list(chain.from_iterable(pairs_of_queries))
        numbers = None if role is None else to_numbers(role, [number for _, number in pairs])
        n_docs = list(map(len, pairs_of_queries))
        return DocumentLists(n_docs, [doc for doc, _ in pairs], numbers)

    def _check_pairs(
        self, line: int, query: str, query_docs: Any, role: Role | None, faults: FaultLog
    ) -> list[tuple[str, Any]]:
        """Return (document, number) of a query's documents without a fault; take the faults."""

        def add_fault(kind: str, problem: str, doc: str | None = None) -> None:
            def make_error() -> InputError:
                line_number, text = self._locate_document(line, query, doc)
                return InputError(problem, kind=kind).locate(self.source.name, line_number, text)

            faults.add(kind, make_error)

        if encode_id(query) is None:
            add_fault("id", f"the query's id {query!r} is empty, not text, or holds a null byte")
            return []
        pairs: list[tuple[Any, Any]]
        if isinstance(query_docs, dict | DuplicatePairs) and not self.is_ranking:
            pairs = list(query_docs.items()) if isinstance(query_docs, dict) else query_docs
        elif type(query_docs) is list and role != "score":
            pairs = [(str(doc) if type(doc) is int else doc, 1) for doc in query_docs]
        else:
            expected = "a list of documents" if self.is_ranking else "{document: number}"
            add_fault("columns", f"query {query!r}: expected {expected}, got {query_docs!r:.80}")
            return []
        good_pairs = []
        for doc, number in pairs:
            subject = f"query {query!r}, document {doc!r:.80}"
            if encode_id(doc) is None:
                problem = f"{subject}: the id is empty, not text, or holds a null byte"
                if isinstance(doc, list):
                    number_name = self.side.role
                    problem = f"{subject}: which is the document, which the {number_name}? "
                    problem += f"{{document: {number_name}}}"
                add_fault("id", problem, doc if isinstance(doc, str) else None)
            elif role is not None and to_numbers(role, [number]) is None:
                expected = f"expected a {self.side.expected_number}"
                add_fault("number", f"{subject}: {expected}, got {number!r:.80}", doc)
            else:
                good_pairs.append((doc, number))
        return good_pairs

    def _locate_document(
        self, line: int, query: str, doc: str | None, n_above: int = 0
    ) -> tuple[int, str]:
        """Return the number and the text of the line that holds a document of a query.

        `line` is the query's line, which is returned if the document is not found; `n_above` is the
        number of earlier occurrences of the document in the query.
        """
        with self.source.open() as stream:
            text = Window(stream, self.source)
            for number, member_line in enumerate(text.read_members(self.brackets), 1):
                excerpt = text.text_around()
                name = self.read_query(text, number)
                text.read_value()
                if (member_line, name) == (line, query):
                    location = None if doc is None else text.find_name(doc, n_above)
                    return location or (line, excerpt)
        raise self.source.changed_error()


class JsonIdLists(JsonDictRows):
    """The rows of a JSON list, [[document, ...], ...]: a list for each query, numbered from 1."""

    brackets = "[]"

    def __init__(self, source: Source, side: Side, sample: bytes) -> None:
        super().__init__(source, side, sample)
        self.is_ranking = side is Side.RUN
        self.extra_roles = frozenset([] if self.is_ranking else [side.role])
        self.list_kind, self.description = "ids", LIST_DESCRIPTIONS["ids"]

    def read_query(self, text: Window, number: int) -> str:
        """Return the number of the list: it is the query."""
        return str(number)

    def _check_pairs(
        self, line: int, query: str, query_docs: Any, role: Role | None, faults: FaultLog
    ) -> list[tuple[str, Any]]:
        types = {type(doc) for doc in query_docs} if isinstance(query_docs, list) else set()
        if (isinstance(query_docs, list) and types <= {str}) or types == {int}:
            return super()._check_pairs(line, query, query_docs, role, faults)

        def make_error() -> InputError:
            return InputError(
                f"list {query}: expected the ids of its documents, all texts or all whole numbers, "
                f"got {query_docs!r:.80}",
                source=self.source.name,
                line=line,
                hint="Write rows as objects with the names of columns: "
                f'[{{"query_id": ..., "doc_id": ..., "{self.side.number_name}": ...}}, ...].',
                kind="columns",
            )

        faults.add("columns", make_error)
        return []


def _write(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    separator = b"{\n"
    for block in blocks:
        empty_docs: Any = [] if block.score_or_grade is None else {}
        for query, docs in (
            *_list_members(block),
            *((decode(name), empty_docs) for name in block.empty_queries),
        ):
            stream.write(separator + f"{json.dumps(query)}: {json.dumps(docs)}".encode())
            separator = b",\n"
    stream.write((b"{" if separator == b"{\n" else b"") + b"\n}\n")


def _list_members(block: Block) -> Iterator[tuple[str, Any]]:
    """Yield each query with {document: number}, or with its documents, by rank if they have one.

    Raises InputError for a document that occurs twice with numbers.
    """
    docs = list(map(decode, block.doc.to_list()))
    first_row = block.query.find_changes().tolist()
    numbers = None if block.score_or_grade is None else block.score_or_grade.tolist()
    for begin, end in pairwise([*first_row, len(block)]):
        query, query_docs = decode(block.query[begin]), docs[begin:end]
        if numbers is not None:
            number_of_doc = dict(zip(query_docs, numbers[begin:end], strict=True))
            if len(number_of_doc) < len(query_docs):
                repeated_doc = next(doc for doc in number_of_doc if query_docs.count(doc) > 1)
                problem = f"document {repeated_doc!r} occurs twice for query {json.dumps(query)}"
                raise InputError(f"the {problem}: JSON cannot hold both", kind="duplicate")
            yield query, number_of_doc
        elif block.rank is not None:
            order = np.argsort(block.rank[begin:end], kind="stable").tolist()
            yield query, [query_docs[i] for i in order]
        else:
            yield query, query_docs


def _dump(docs: Any) -> str:
    """Return documents as JSON: pairs with a document twice as an object."""
    if not isinstance(docs, DuplicatePairs):
        return json.dumps(docs)
    members = (f"{json.dumps(str(doc))}: {json.dumps(number)}" for doc, number in docs)
    return f"{{{', '.join(members)}}}"


def _read(read_plain: Callable[[InputFile], Rows], file: InputFile) -> Rows:
    """Return the rows of a file; one that may have another shape is loaded whole.

    JSON lines are, where the first is a response without a query: then all are numbered.
    """
    if "rows" not in (file.user_columns or {}) and not _FOREIGN.search(file.sample):
        return read_plain(file)
    try:
        with file.source.open() as stream:
            text = Window(stream, file.source)
            value = text.read_value()
            if text.next_character() or read_plain is read_lines:
                value = [value]
                if open_envelope(value, file.side) is value:
                    return read_plain(file)
                while text.next_character():
                    value.append(text.read_value())
    except InputError:
        return read_plain(file)  # which says what is wrong
    try:
        rows = plain(begin_rows(value, file.side, file.user_columns), file.side)
    except InputError as error:
        raise error.replace(source=file.source.name) from None
    if rows is value:
        return read_plain(file)
    content = json.dumps(rows)
    if isinstance(rows, dict):
        members = (f"{json.dumps(str(query))}: {_dump(docs)}" for query, docs in rows.items())
        content = "{" + ",\n".join(members) + "}"
    source = Source(io.BytesIO(content.encode()))
    source.name = f"{file.source.name}, rewritten"  # whose lines errors show
    plain_file = replace(file, source=source, sample=source.read_start(_N_SAMPLE_BYTES))
    plain_rows = _read_plain(plain_file)
    plain_rows.is_numbered = isinstance(rows, NumberedResponses)
    return plain_rows


def _read_plain(file: InputFile) -> Rows:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if _SAVED_SCORES.match(text):
        raise InputError(
            "holds saved scores, neither judgments nor a run",
            source=file.source.name,
            hint="compare, gate and trend take them with --saved.",
        )
    if looks_like_lines(file.sample):  # some tools write JSON lines to a .json file
        return read_lines(file)
    if _LIST_IN_LIST.match(text):
        return JsonIdLists(file.source, file.side, file.sample)
    if text.startswith(b"[") or _OBJECTS_IN_LIST.match(text):
        return JsonList(file.source, file.side, file.sample, file.user_columns)
    return JsonDictRows(file.source, file.side, file.sample)


def _sniff(file: InputFile) -> Rows | None:
    text = file.sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    return _read(_read_plain, file) if _BEGINNING.match(text) else None


FORMATS = (
    Format(
        "jsonl",
        "JSON lines",
        write_lines,
        read=partial(_read, read_lines),
        suffixes=(".jsonl", ".ndjson"),
        qrels=Capacity("an object for each row"),
        runs=Capacity("an object for each row"),
    ),
    Format(
        "json",
        "JSON",
        _write,
        read=partial(_read, _read_plain),
        sniff=_sniff,
        suffixes=(".json",),
        qrels=Capacity(
            "`{query: {document: grade}}`, `[[document, ...], ...]`, a list of objects, or "
            "`{query: [object, ...]}`",
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
