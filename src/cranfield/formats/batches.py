"""Batches: reads columns of Arrow data, from files or memory, as blocks of ids and numbers."""

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
from cranfield.formats.arrow_lists import extract_field, find_structs, flatten_lists, is_list_type
from cranfield.formats.block import SIZES, Block, Cells, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import (
    COLUMNS,
    FRACTIONS,
    IDS,
    TEXTS,
    ColumnsLike,
    Side,
    describe_columns,
    select_extra_roles,
)
from cranfield.formats.fields import choose_fields, note_paths
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.identifiers import STATE_LISTS_HINT
from cranfield.formats.values import is_bad_number, to_whole_numbers, unify_grades

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRows(Rows):
    """The rows of Arrow data: columns that are found by their names in a schema.

    A subclass reads the columns in batches. `user_columns` are the columns that the user states,
    `source` is the name of the data in errors, `title` their form in `description`.
    """

    def __init__(
        self,
        schema: "pa.Schema",
        side: Side,
        user_columns: ColumnsLike | None,
        source: str,
        title: str,
    ) -> None:
        self.name, self.user_columns = source, user_columns
        self.column_names, structs = schema.names, find_structs(schema)

        def read_rows() -> Iterator[dict[str, Any]]:
            """Yield the lists of structs of each row."""
            for batch in self.read_batches([*map(schema.names.index, structs)]):
                for cells in zip(*batch.columns, strict=True):
                    yield {name: cell.as_py() for name, cell in zip(structs, cells, strict=True)}

        self._fields, user_columns = choose_fields(
            schema.names, structs, side, user_columns, read_rows
        )
        self.notes = note_paths(self._fields, user_columns)
        self.column_names = names = [*schema.names, *self._fields]

        def first_cell(position: int) -> object:
            if position >= len(schema.types) or is_list_type(schema.types[position]):
                return []
            is_text = "string" in str(schema.types[position])
            return next(self.read_batches([position]))[0][0].as_py() if is_text else None

        positions = take_columns(names, side, user_columns, source, first_cell)
        self._position_of_role = positions
        self.name_of_role = {role: names[position] for role, position in positions.items()}
        self.list_columns = list_columns(names, positions, side, user_columns, first_cell)
        if not self.list_columns:
            _check_types(schema, positions, source)
        self._ids_are_text = not BYTES_METADATA.items() <= (schema.metadata or {}).items()
        self.description = f"{title} with columns {describe_columns(names, positions)}"
        self.extra_roles = select_extra_roles(positions)

    @abstractmethod
    def read_batches(self, positions: Sequence[int]) -> "Iterator[pa.RecordBatch]":
        """Yield the columns at these positions, in this order, in batches."""

    def cells(self) -> Iterator[Cells]:
        """Yield the cells of `list_columns` as Arrow arrays, some rows at a time."""

        def find_line(first_row: int, queries: "pa.Array", row: int) -> tuple[None, str]:
            return None, f"row {first_row + row}: query {queries[row].as_py()!r:.80}"

        n_rows = 0
        field_of_role = {role: self._fields.get(name) for role, name in self.list_columns.items()}
        column_of_role = {
            role: field.column if field else self.list_columns[role]
            for role, field in field_of_role.items()
        }
        names = list(dict.fromkeys(column_of_role.values()))
        batches = self.read_batches(list(map(self.column_names.index, names)))
        for piece in _combine_batches(batches, SIZES.lists):
            column_of_name = dict(zip(names, map(_join_chunks, piece.columns), strict=True))
            columns = {}
            for role, field in field_of_role.items():
                column = column_of_name[column_of_role[role]]
                columns[role] = extract_field(column, field.name) if field else column
            for begin, end in _cut_by_documents(columns["doc"]):
                cut_columns = {
                    role: column.slice(begin, end - begin) for role, column in columns.items()
                }
                yield Cells(cut_columns, partial(find_line, n_rows + begin, cut_columns["query"]))
            n_rows += len(piece)
        if not n_rows:
            raise InputError("holds no rows", source=self.name)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of about SIZES.rows rows at most, to be converted in any thread.

        No block begins within a query's rows: one with more is one block. The last query of a piece
        is a separate block, as it may continue in the next: only its rows are copied together.
        """
        import pyarrow as pa

        roles = ("query", "doc", *roles)
        load = partial(self._load, roles, errors)
        pending = None  # adjacent rows of one query, which may continue
        first_row = row = 0  # the numbers of the first pending row, and of the piece's first row
        positions = [self._position_of_role[role] for role in roles]
        for piece in _combine_batches(self.read_batches(positions), SIZES.rows):
            n_continuing = 0  # rows of the piece that continue the pending query
            if pending is not None:
                n_continuing = _count_continuing(pending.column(0), piece.column(0))
            if n_continuing:
                pending = pa.concat_tables([pending, piece.slice(0, n_continuing)])
            if n_continuing < len(piece):
                if pending is not None:
                    yield partial(load, first_row, pending)
                rest = piece.slice(n_continuing)
                last_begin = _find_last_query(rest.column(0))
                if last_begin:
                    yield partial(load, row + n_continuing, rest.slice(0, last_begin))
                pending, first_row = rest.slice(last_begin), row + n_continuing + last_begin
            row += len(piece)
        if pending is None:
            raise InputError("holds no rows", source=self.name)
        yield partial(load, first_row, pending)

    def _load(
        self, roles: Sequence[Role], errors: Errors, first_row: int, table: "pa.Table"
    ) -> Block:
        """Return the block of a table of adjacent rows; the first has the number `first_row`.

        The table has a column for each role, "query" and "doc" first.
        """
        arrow_columns = list(map(_join_chunks, table.columns))
        faults = FaultLog(errors)
        is_bad = np.zeros(len(arrow_columns[0]), np.bool_)  # rows with a fault
        columns: dict[Role, Any] = {}
        for role, column in zip(roles, arrow_columns, strict=True):
            name = self.name_of_role[role]
            if role in IDS:
                if self._ids_are_text:
                    refuse_bytes(column, name, self.name)
                if role in TEXTS and column.null_count:
                    column = column.cast("large_string").fill_null("")
                columns[role], is_missing = read_ids(column)
                kind, masks = "id", [is_missing, columns[role].mark_invalid()]
                masks = [] if role in TEXTS else masks
                problem = f"the id in column {name!r} is empty or missing, or holds a null byte"
            else:
                columns[role], is_wrong = read_numbers(column, role)
                kind, masks = "number", [is_wrong]
                problem = f"expected a {COLUMNS[role].kind} in column {name!r}"
            for is_wrong in masks:
                if is_wrong is None or not (is_new := is_wrong & ~is_bad).any():
                    continue
                row = int(np.argmax(is_new))
                cell = "" if role in IDS else f", got {column[row].as_py()!r:.80}"
                query, doc = (f"{column[row].as_py()!r:.80}" for column in arrow_columns[:2])
                text = f"row {first_row + row}: {problem}{cell} (query {query}, document {doc})"
                make_error = partial(InputError, text, source=self.name, kind=kind)
                faults.add(kind, make_error, int(np.count_nonzero(is_new)))
                is_bad |= is_new
        query_ids, doc_ids = columns.pop("query"), columns.pop("doc")

        def find_line(row: int) -> tuple[None, str]:
            subject = f"query {decode(query_ids[row])!r}, document {decode(doc_ids[row])!r}"
            return None, f"row {first_row + row}: {subject}"

        block = Block(query_ids, doc_ids, columns, self.name, find_line)
        if is_bad.any():
            block = block.take(np.flatnonzero(~is_bad))
        return replace(block, left_out=faults.left_out)


def _combine_batches(batches: "Iterable[pa.RecordBatch]", size: int) -> "Iterator[pa.Table]":
    """Yield the rows of batches, small or large, as tables of about `size` rows."""
    import pyarrow as pa

    slices: list[pa.RecordBatch] = []
    room = size
    for batch in batches:
        if len(batch) > room and 2 * room <= size:  # enough, without copying a part of this batch
            yield pa.Table.from_batches(slices)
            slices, room = [], size
        position = 0
        while position < len(batch):
            slices.append(batch.slice(position, room))
            position, room = position + len(slices[-1]), room - len(slices[-1])
            if not room:
                yield pa.Table.from_batches(slices)
                slices, room = [], size
    if slices:
        yield pa.Table.from_batches(slices)


def _join_chunks(column: "pa.ChunkedArray") -> "pa.Array":
    """Return the chunks of a column as one array, with one dictionary if they have several."""
    import pyarrow as pa

    chunks = column.chunks
    if len(chunks) == 1:
        return chunks[0]
    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int64()), chunk.dictionary)
            for chunk in chunks
        ]
    return pa.concat_arrays(chunks)


def _cut_by_documents(lists: "pa.Array") -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of adjacent rows: one, or more whose lists hold about SIZES.rows ids."""
    flat_lists = flatten_lists(lists)
    ends = np.arange(len(lists)) if flat_lists is None else np.cumsum(flat_lists.n_elements)
    begin = 0
    while begin < len(lists):
        n_above = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, n_above + SIZES.rows, side="right")))
        yield begin, end
        begin = end


def _window_sizes(n: int) -> Iterator[int]:
    """Yield numbers of rows up to n: the end of a query is searched for among few rows first."""
    size = 1024
    while size < n:
        yield size
        size *= 8
    yield n


def _count_continuing(above: "pa.ChunkedArray", queries: "pa.ChunkedArray") -> int:
    """Return how many of the first `queries` are the last query `above` them."""
    last_query = _read_chunked_ids(above.slice(len(above) - 1))[0]
    if _read_chunked_ids(queries.slice(0, 1))[0] != last_query:
        return 0
    for size in _window_sizes(len(queries)):
        first_row = _read_chunked_ids(queries.slice(0, size)).find_changes()
        if len(first_row) > 1:
            return int(first_row[1])
    return len(queries)


def _find_last_query(queries: "pa.ChunkedArray") -> int:
    """Return where the rows of the last query begin."""
    for size in _window_sizes(len(queries)):
        first_row = _read_chunked_ids(queries.slice(len(queries) - size)).find_changes()
        if len(first_row) > 1:
            break
    return len(queries) - size + int(first_row[-1])


def _read_chunked_ids(column: "pa.ChunkedArray") -> Ids:
    """Return a column in chunks as ids, missing ids included."""
    return read_ids(_join_chunks(column))[0]


_TEXT_TYPES = r"(large_)?(string|binary)(_view)?|fixed_size_binary\[\d+\]"
_INTEGER_TYPES = r"u?int(8|16|32|64)"
ID_TYPE = re.compile(rf"{_TEXT_TYPES}|{_INTEGER_TYPES}|decimal\d*\(\d+, 0\)")
NUMBER_TYPE = re.compile(_INTEGER_TYPES + r"|halffloat|float|double|bool|decimal\d*\(.*\)")


def _check_types(schema: "pa.Schema", positions: Mapping[Role, int], source: str) -> None:
    """Raise InputError unless ids are texts, bytes or whole numbers, and other columns numbers."""
    import pyarrow as pa

    for role, position in positions.items():
        name, kind = schema.field(position).name, schema.field(position).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        type_pattern, expected = (
            (ID_TYPE, "text or whole numbers") if role in IDS else (NUMBER_TYPE, "numbers")
        )
        if not type_pattern.fullmatch(str(kind)):
            problem = f"column {name!r} holds {kind}, expected {expected}"
            hint = None
            if role in IDS and NUMBER_TYPE.fullmatch(str(kind)):
                hint = (
                    "pandas turns whole numbers with gaps into fractions. To get ids back: "
                    f"frame[{name!r}].astype('Int64'), CAST({name} AS BIGINT), without the rows "
                    "that have no id."
                )
            elif "uuid" in str(kind):
                hint = f"Write UUIDs as texts: frame[{name!r}].map(str), CAST({name} AS VARCHAR)."
            elif role == "doc" and is_list_type(kind):
                hint = STATE_LISTS_HINT
            elif role not in IDS and ID_TYPE.fullmatch(str(kind)):
                hint = f"As numbers: frame[{name!r}].astype(float), CAST({name} AS DOUBLE)."
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
    """Return a column as ids, (rows,), and a mask of the missing ids; None if all are there.

    The texts are not copied where Arrow stores them as `Ids` does.
    """
    import pyarrow as pa

    kind = column.type
    is_missing = _find_nulls(column) if column.null_count else None
    if pa.types.is_dictionary(kind):
        codes = column.indices.fill_null(0) if column.null_count else column.indices
        entries = column.dictionary
        if len(entries) == 0:
            return Ids.of([b""] * len(column)), is_missing
        rows = np.from_dlpack(codes.cast(pa.int64()))
        if len(entries) > len(column):  # which many blocks may share
            ids, is_null = read_ids(_take_entries(entries, rows))
        else:
            ids, is_null = read_ids(entries)
            ids, is_null = _take_ids(ids, rows), None if is_null is None else is_null[rows]
        if is_null is None or is_missing is None:
            return ids, is_missing if is_null is None else is_null
        return ids, is_null | is_missing
    if pa.types.is_integer(kind) and not column.null_count and len(column):
        size = kind.bit_width // 8
        bits = np.frombuffer(column.buffers()[1], f"u{size}", len(column), size * column.offset)
        begins_id = mark_changes(bits)
        # Of ids with several rows each, as of queries, the text is stored once.
        if 4 * np.count_nonzero(begins_id) < len(column):
            distinct_ids = _take_entries(column, np.flatnonzero(begins_id)).cast(pa.large_string())
            return _take_ids(Ids.of_arrow(distinct_ids), np.cumsum(begins_id) - 1), None
    if kind in (pa.string_view(), pa.binary_view()):
        short_ids = Ids.of_views(column)
        if short_ids is not None:
            return short_ids, is_missing
        column = column.cast(pa.large_string() if kind != pa.binary_view() else pa.large_binary())
    elif pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_binary())
    return Ids.of_arrow(column), is_missing


def _take_ids(ids: Ids, rows: Ints) -> Ids:
    """Return the ids at `rows`, most of which have several rows."""
    ids.mark_invalid()  # remembered: if all are good, rows are not checked again
    return ids.take(rows)


def _take_entries(entries: "pa.Array", rows: Ints) -> "pa.Array":
    """Return the entries of a dictionary, or of a column, at `rows`."""
    import pyarrow as pa

    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    if entries.type in (pa.string_view(), pa.binary_view()):  # Arrow's take() lacks views
        wide_type = pa.large_binary() if entries.type == pa.binary_view() else pa.large_string()
        entries = entries.cast(wide_type)
    return entries.take(indices)


def _find_nulls(column: "pa.Array") -> Bools:
    """Return a mask, (rows,), of the nulls in a column."""
    import pyarrow as pa

    nulls = column.is_null().cast(pa.uint8())
    return np.frombuffer(nulls.buffers()[1], np.uint8, len(column), nulls.offset).astype(np.bool_)


def read_numbers(column: "pa.Array", role: Role) -> tuple[Floats | Ints, Bools | None]:
    """Return a column as numbers of its role, (rows,), and a mask of the cells that are none.

    The mask is None if all cells are numbers.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):  # through their text, the only way to the nearest double
        column = column.cast(pa.string()).cast(pa.float64())
    kind = column.type
    is_missing = None
    if column.null_count:
        is_missing = _find_nulls(column)
        column = column.fill_null(False if pa.types.is_boolean(kind) else 0)
    as_float = role in FRACTIONS or pa.types.is_floating(kind)
    wide_type = pa.float64() if as_float else pa.uint64() if kind == pa.uint64() else pa.int64()
    if kind != wide_type:
        # A whole number beyond 2^53 becomes the nearest double, as a score in a dict does.
        column = column.cast(wide_type, safe=False)
    dtype = {pa.float64(): np.float64, pa.uint64(): np.uint64}.get(wide_type, np.int64)
    numbers: NDArray[Any] = np.zeros(0, dtype)
    if len(column):
        numbers = np.frombuffer(column.buffers()[1], dtype, len(column), 8 * column.offset)
    if role in FRACTIONS:
        is_bad = np.isnan(numbers)
    else:
        allows_fractions = COLUMNS[role].whole_if_possible
        convert = unify_grades if allows_fractions else to_whole_numbers
        if (good_numbers := convert(numbers)) is not None:
            return good_numbers, is_missing
        is_bad = is_bad_number(numbers, refuses_fractions=not allows_fractions)
        numbers = np.where(is_bad, 0, numbers).astype(np.float64 if allows_fractions else np.int64)
    if is_missing is not None:
        is_bad |= is_missing
    return numbers, is_bad if is_bad.any() else None
