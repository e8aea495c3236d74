"""Batches: reads columns of Arrow data as blocks of ids and numbers."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.rows import mark_changes
from cranfield.errors import InputError
from cranfield.formats.arrow_lists import extract_field, is_list_type, flatten_lists, find_structs
from cranfield.formats.block import SIZES, Block, Cells, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import (
    COLUMNS,
    FRACTIONS,
    IDS,
    ColumnsLike,
    Side,
    select_extra_roles,
    describe_columns,
)
from cranfield.formats.fields import choose_fields
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.identifiers import STATE_LISTS_HINT
from cranfield.formats.values import unify_grades, is_bad_number, to_whole_numbers

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRows(Rows):
    """The named columns of Arrow data; some of them are ids and numbers."""

    def __init__(
        self, schema: "pa.Schema", side: Side, user_columns: ColumnsLike | None, source: str, form: str
    ) -> None:
        self.name = source
        self._fields, user_columns = choose_fields(schema.names, find_structs(schema), side, user_columns)
        self.column_names = names = [*schema.names, *self._fields]
        kinds: list[object] = [[] if is_list_type(kind) else None for kind in schema.types]
        kinds += [[] for _ in self._fields]
        self._position_of_role = take_columns(names, side, user_columns, source, kinds.__getitem__)
        self.name_of_role = {role: names[at] for role, at in self._position_of_role.items()}
        self.list_columns = list_columns(names, self._position_of_role, side, user_columns, kinds.__getitem__)
        if not self.list_columns:
            _check_types(schema, self._position_of_role, source)
        self._ids_are_text = not BYTES_METADATA.items() <= (schema.metadata or {}).items()
        self.description = f"{form} with columns {describe_columns(names, self._position_of_role)}"
        self.extra_roles = select_extra_roles(self._position_of_role)

    @abstractmethod
    def read_batches(self, positions: Sequence[int]) -> "Iterator[pa.RecordBatch]":
        """Yield the columns at these places, in this order, in batches."""

    def cells(self) -> Iterator[Cells]:
        """Yield the columns of `lists` as Arrow arrays."""

        def where(first: int, queries: "pa.Array", row: int) -> tuple[None, str]:
            return None, f"row {first + row}: query {queries[row].as_py()!r:.80}"

        n_rows = 0
        fields = {role: self._fields.get(name) for role, name in self.list_columns.items()}
        held = {role: one.column if one else self.list_columns[role] for role, one in fields.items()}
        names = list(dict.fromkeys(held.values()))
        batches = self.read_batches(list(map(self.column_names.index, names)))
        for piece in _combine_batches(batches, SIZES.lists):
            whole = dict(zip(names, map(_join_chunks, piece.columns), strict=True))
            columns = {
                role: extract_field(whole[held[role]], one.name) if one else whole[held[role]]
                for role, one in fields.items()
            }
            for begin, end in _cut_by_documents(columns["doc"]):
                some = {role: one.slice(begin, end - begin) for role, one in columns.items()}
                yield Cells(some, partial(where, n_rows + begin, some["query"]))
            n_rows += len(piece)
        if not n_rows:
            raise InputError("holds no rows", source=self.name)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of at most about SIZES.rows rows, to be converted in any thread.

        No block begins within a query's rows. The rows of a query that continues in the next piece
        are a separate block, so that only these are copied together. Small batches are combined.
        """
        import pyarrow as pa

        roles = ("query", "doc", *roles)
        load = partial(self._load, roles, errors)
        held = None  # adjacent rows of one query, which may continue
        first = row = 0  # the number of the first row held, and of the first after them
        places = [self._position_of_role[role] for role in roles]
        for piece in _combine_batches(self.read_batches(places), SIZES.rows):
            head = 0 if held is None else _count_continuing(held.column(0), piece.column(0))
            if head and held is not None:
                held = pa.concat_tables([held, piece.slice(0, head)])
            if head < len(piece):
                if held is not None:
                    yield partial(load, first, held)
                rest = piece.slice(head)
                last = _find_last_query(rest.column(0))
                if last:
                    yield partial(load, row + head, rest.slice(0, last))
                held, first = rest.slice(last), row + head + last
            row += len(piece)
        if held is None:
            raise InputError("holds no rows", source=self.name)
        yield partial(load, first, held)

    def _load(self, roles: Sequence[Role], errors: Errors, first: int, rows: "pa.Table") -> Block:
        """Return adjacent rows; `first` is the number of the first one."""
        columns = list(map(_join_chunks, rows.columns))
        faults = FaultLog(errors)
        bad = np.zeros(len(columns[0]), np.bool_)  # rows with a fault
        found: dict[Role, Any] = {}
        for role, column in zip(roles, columns, strict=True):
            name = self.name_of_role[role]
            if role in IDS:
                if self._ids_are_text:
                    refuse_bytes(column, name, self.name)
                found[role], missing = read_ids(column)
                kind, wrongs = "id", [missing, found[role].spoilt()]
                problem = f"the id in column {name!r} is empty or missing, or holds a null byte"
            else:
                found[role], wrong = read_numbers(column, role)
                kind, wrongs = "number", [wrong]
                problem = f"expected a {COLUMNS[role].kind} in column {name!r}"
            for wrong in wrongs:
                if wrong is None or not (new := wrong & ~bad).any():
                    continue
                row = int(np.argmax(new))
                cell = "" if role in IDS else f", got {column[row].as_py()!r:.80}"
                query, doc = (f"{column[row].as_py()!r:.80}" for column in columns[:2])
                text = f"row {first + row}: {problem}{cell} (query {query}, document {doc})"
                fault = partial(InputError, text, source=self.name, kind=kind)
                faults.add(kind, fault, int(np.count_nonzero(new)))
                bad |= new
        query_ids, doc_ids = found.pop("query"), found.pop("doc")

        def where(row: int) -> tuple[None, str]:
            named = f"query {decode(query_ids[row])!r}, document {decode(doc_ids[row])!r}"
            return None, f"row {first + row}: {named}"

        block = Block(query_ids, doc_ids, found, self.name, where)
        if bad.any():
            block = block.take(np.flatnonzero(~bad))
        return replace(block, left_out=faults.left_out)


def _combine_batches(batches: "Iterable[pa.RecordBatch]", size: int) -> "Iterator[pa.Table]":
    """Yield the rows of batches, small or large, in pieces of about `size` rows."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    room = size
    for batch in batches:
        if len(batch) > room and 2 * room <= size:  # enough, without copying a part of this one
            yield pa.Table.from_batches(held)
            held, room = [], size
        at = 0
        while at < len(batch):
            held.append(batch.slice(at, room))
            at, room = at + len(held[-1]), room - len(held[-1])
            if not room:
                yield pa.Table.from_batches(held)
                held, room = [], size
    if held:
        yield pa.Table.from_batches(held)


def _join_chunks(column: "pa.ChunkedArray") -> "pa.Array":
    """Return a column in one piece; its dictionary has the entries of all pieces."""
    import pyarrow as pa

    chunks = column.chunks
    if len(chunks) == 1:
        return chunks[0]
    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(one.indices.cast(pa.int64()), one.dictionary)
            for one in chunks
        ]
    return pa.concat_arrays(chunks)


def _cut_by_documents(lists: "pa.Array") -> Iterator[tuple[int, int]]:
    """Yield begin and end of adjacent rows whose lists hold about SIZES.rows; at least one row."""
    found = flatten_lists(lists)
    ends = np.arange(len(lists)) if found is None else np.cumsum(found[1])
    begin = 0
    while begin < len(lists):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SIZES.rows, side="right")))
        yield begin, end
        begin = end


def _window_sizes(n: int) -> Iterator[int]:
    """Yield lengths up to n: the end of a query's rows is first searched for among few rows."""
    size = 1024
    while size < n:
        yield size
        size *= 8
    yield n


def _count_continuing(above: "pa.ChunkedArray", queries: "pa.ChunkedArray") -> int:
    """Return how many of the first rows have the query of the last row above."""
    last = _read_chunked_ids(above.slice(len(above) - 1))[0]
    if _read_chunked_ids(queries.slice(0, 1))[0] != last:
        return 0
    for size in _window_sizes(len(queries)):
        begins = _read_chunked_ids(queries.slice(0, size)).find_changes()
        if len(begins) > 1:
            return int(begins[1])
    return len(queries)


def _find_last_query(queries: "pa.ChunkedArray") -> int:
    """Return where the rows of the last query begin."""
    for size in _window_sizes(len(queries)):
        begins = _read_chunked_ids(queries.slice(len(queries) - size)).find_changes()
        if len(begins) > 1:
            break
    return len(queries) - size + int(begins[-1])


def _read_chunked_ids(column: "pa.ChunkedArray") -> Ids:
    return read_ids(_join_chunks(column))[0]


_TEXT_TYPES = r"(large_)?(string|binary)(_view)?|fixed_size_binary\[\d+\]"
_INTEGER_TYPES = r"u?int(8|16|32|64)"
ID_TYPE = re.compile(rf"{_TEXT_TYPES}|{_INTEGER_TYPES}|decimal\d*\(\d+, 0\)")
NUMBER_TYPE = re.compile(_INTEGER_TYPES + r"|halffloat|float|double|bool|decimal\d*\(.*\)")


def _check_types(schema: "pa.Schema", found: Mapping[Role, int], source: str) -> None:
    """Raise InputError unless ids are texts or whole numbers, and other columns are numbers."""
    import pyarrow as pa

    for role, at in found.items():
        name, kind = schema.field(at).name, schema.field(at).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        fit, expected = (
            (ID_TYPE, "text or whole numbers") if role in IDS else (NUMBER_TYPE, "numbers")
        )
        if not fit.fullmatch(str(kind)):
            problem = f"column {name!r} holds {kind}, expected {expected}"
            hint = None
            if role in IDS and NUMBER_TYPE.fullmatch(str(kind)):
                hint = (
                    "pandas turns whole numbers with gaps into fractions. To get ids back: "
                    f"frame[{name!r}].astype('Int64'), without the rows that have no id."
                )
            elif role == "doc" and is_list_type(kind):
                hint = STATE_LISTS_HINT
            raise InputError(problem, source=source, hint=hint, kind="columns")


#: Metadata that cranfield writes beside ids that are not text in UTF-8.
BYTES_METADATA = {b"cranfield": b"bytes"}


def refuse_bytes(ids: "pa.Array", name: str, source: str) -> None:
    """Raise InputError if ids are bytes that are not text, such as those of a UUID."""
    import pyarrow as pa

    entries = ids.dictionary if pa.types.is_dictionary(ids.type) else ids
    if "binary" not in str(entries.type):
        return
    try:
        entries.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} holds bytes that are not text",
            source=source,
            hint=f"To write the digits, as of a UUID: frame[{name!r}].map(bytes.hex).",
            kind="columns",
        ) from None


def read_ids(column: "pa.Array") -> tuple[Ids, Bools | None]:
    """Return a column as ids, and which of them are missing; None if all are there.

    The texts are not copied where Arrow stores them as `Ids` does.
    """
    import pyarrow as pa

    kind = column.type
    missing = _find_nulls(column) if column.null_count else None
    if pa.types.is_dictionary(kind):
        codes = column.indices.fill_null(0) if column.null_count else column.indices
        entries = column.dictionary
        if len(entries) == 0:
            return Ids.of([b""] * len(column)), missing
        rows = np.from_dlpack(codes.cast(pa.int64()))
        if len(entries) > len(column):  # which many blocks may share
            ids, none = read_ids(_take_entries(entries, rows))
        else:
            ids, none = read_ids(entries)
            ids, none = _take_ids(ids, rows), None if none is None else none[rows]
        return ids, missing if none is None else none if missing is None else none | missing
    if pa.types.is_integer(kind) and not column.null_count and len(column):
        size = kind.bit_width // 8
        bits = np.frombuffer(column.buffers()[1], f"u{size}", len(column), size * column.offset)
        new = mark_changes(bits)
        if 4 * np.count_nonzero(new) < len(column):  # as for queries: each text is stored once
            once = _take_entries(column, np.flatnonzero(new)).cast(pa.large_string())
            return _take_ids(Ids.of_arrow(once), np.cumsum(new) - 1), None
    if kind in (pa.string_view(), pa.binary_view()):
        short = Ids.of_views(column)
        if short is not None:
            return short, missing
        column = column.cast(pa.large_string() if kind != pa.binary_view() else pa.large_binary())
    elif pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_binary())
    return Ids.of_arrow(column), missing


def _take_ids(ids: Ids, rows: Ints) -> Ids:
    """Return ids at `rows`, where most ids are repeated."""
    ids.mark_invalid()  # remembered: if all are good, rows are not checked again
    return ids.take(rows)


def _take_entries(entries: "pa.Array", rows: Ints) -> "pa.Array":
    """Return the entries of a dictionary at `rows`."""
    import pyarrow as pa

    places = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    if entries.type in (pa.string_view(), pa.binary_view()):  # Arrow's take() lacks these
        wide = pa.large_binary() if entries.type == pa.binary_view() else pa.large_string()
        entries = entries.cast(wide)
    return entries.take(places)


def _find_nulls(column: "pa.Array") -> Bools:
    import pyarrow as pa

    nulls = column.is_null().cast(pa.uint8())
    return np.frombuffer(nulls.buffers()[1], np.uint8, len(column), nulls.offset).astype(np.bool_)


def read_numbers(column: "pa.Array", role: Role) -> tuple[Floats | Ints, Bools | None]:
    """Return a column as numbers of its role, and which are not numbers; None if all are."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):  # through their text, the only way to the nearest double
        column = column.cast(pa.string()).cast(pa.float64())
    kind = column.type
    missing = None
    if column.null_count:
        missing = _find_nulls(column)
        column = column.fill_null(False if pa.types.is_boolean(kind) else 0)
    as_float = role in FRACTIONS or pa.types.is_floating(kind)
    wide = pa.float64() if as_float else pa.uint64() if kind == pa.uint64() else pa.int64()
    if kind != wide:
        # A whole number beyond 2^53 becomes the nearest double, as a score in a dict does.
        column = column.cast(wide, safe=False)
    dtype = {pa.float64(): np.float64, pa.uint64(): np.uint64}.get(wide, np.int64)
    values: NDArray[Any] = np.zeros(0, dtype)
    if len(column):
        values = np.frombuffer(column.buffers()[1], dtype, len(column), 8 * column.offset)
    if role in FRACTIONS:
        bad = np.isnan(values)
    else:
        or_whole = COLUMNS[role].whole_if_possible
        if (found := unify_grades(values) if or_whole else to_whole_numbers(values)) is not None:
            return found, missing
        bad = is_bad_number(values, refuses_fractions=not or_whole)
        values = np.where(bad, 0, values).astype(np.float64 if or_whole else np.int64)
    if missing is not None:
        bad |= missing
    return values, bad if bad.any() else None
