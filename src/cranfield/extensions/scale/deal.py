"""Deal: rows are written to the buckets of a file, by the hash of their query, and read again."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import Ids, PackedIds
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.threads import map_in_threads
from cranfield.data.regroup import assign_buckets, fixed_hashes, gather_queries
from cranfield.extensions.scale.spill import ByteSpan, Spill
from cranfield.formats.block import SIZES, Block, Errors, FaultyRows, Load, Role, Rows, join_blocks

_BLOCKS_PER_PIECE = 2  # of a source: the parts of a single block would be small


class _StoredColumn(NamedTuple):
    """How the rows of a column of a piece lie in the bytes of a bucket."""

    number_type: str  # the dtype of its numbers; "" for identifiers
    row_bytes: int  # of a number; 0 for identifiers
    length_type: str  # the dtype of the lengths of identifiers
    byte_starts: Ints | None  # of identifiers: (n_buckets + 1,) the first byte of each bucket


class _Piece(NamedTuple):
    """Some blocks of a source, divided into buckets. A group is adjacent rows of one query."""

    first_row: int  # its number in the source
    group_starts: Ints  # (n_buckets + 1,) the first group of each bucket, and the end
    row_starts: Ints  # (n_buckets + 1,) the first row of each bucket, and the end
    columns: Mapping[str, _StoredColumn]
    spans: list[ByteSpan]  # of the buckets' bytes in the file; empty buckets take up nothing


class GradeFacts(NamedTuple):
    """What measures need to know of the grades of a whole collection."""

    top_grade: float = 0.0  # 0 if no grade is above 0
    has_whole_grades: bool = True  # whether all grades are whole numbers


@dataclass(frozen=True)
class _UnwrittenPiece:
    """A piece with the bytes of its buckets, and the facts of its rows."""

    piece: _Piece
    bucket_bytes: list[bytes]
    n_rows: int
    has_scattered_queries: bool  # whether a query comes back after others
    left_out: FaultyRows
    empty_queries: list[bytes]  # queries without rows
    grade_facts: GradeFacts


class BucketStore:
    """The rows of a source, divided by the hash of their query into the buckets of a file.

    The source is read once; `select_buckets` returns the rows of some buckets, one bucket after the
    other. `drop_unusable` loads a block, in which rows that cannot be used are refused or left out.
    """

    def __init__(
        self,
        rows: Rows,
        roles: Sequence[Role],
        errors: Errors,
        n_buckets: int,
        spill: Spill,
        drop_unusable: Callable[[Load, Errors], Block] | None = None,
    ) -> None:
        self.source_rows, self.roles, self.errors = rows, tuple(roles), errors
        self._drop_unusable = drop_unusable
        self.spill, self.n_buckets = spill, n_buckets
        self.left_out = FaultyRows()  # by errors="skip", as they were read
        self.has_scattered_queries = False
        self.grade_facts = GradeFacts()
        self.bucket_sizes = np.zeros(n_buckets, np.int64)  # rows of each bucket
        self.empty_queries: dict[int, list[bytes]] = {}
        self._pieces: list[_Piece] = []
        self._last_block: tuple[int, Block] | None = None  # its first row; read again by locate_row
        loads = self._read_source()
        load_groups = iter(lambda: list(islice(loads, _BLOCKS_PER_PIECE)), [])
        first_row = 0
        for piece in map_in_threads(partial(_split_blocks, n_buckets=n_buckets), load_groups):
            self._write_piece(piece, first_row)
            first_row += piece.n_rows

    def _read_source(self) -> Iterator[Load]:
        """Yield a load for each block of the source, by `drop_unusable` if it is stated."""
        loads = self.source_rows.blocks(self.roles, self.errors)
        if self._drop_unusable is None:
            return loads
        return (partial(self._drop_unusable, load, self.errors) for load in loads)

    def _write_piece(self, unwritten: _UnwrittenPiece, first_row: int) -> None:
        """Write the bytes of a piece to the file, and add its facts to those of the others."""
        spans = [self.spill.write(chunk) if chunk else (0, 0) for chunk in unwritten.bucket_bytes]
        self._pieces.append(unwritten.piece._replace(first_row=first_row, spans=spans))
        self.left_out += unwritten.left_out
        self.has_scattered_queries |= unwritten.has_scattered_queries
        self.grade_facts = GradeFacts(
            max(self.grade_facts.top_grade, unwritten.grade_facts.top_grade),
            self.grade_facts.has_whole_grades and unwritten.grade_facts.has_whole_grades,
        )
        self.bucket_sizes += np.diff(unwritten.piece.row_starts)
        if unwritten.empty_queries:
            buckets = assign_buckets(Ids.of(unwritten.empty_queries), self.n_buckets).tolist()
            for query, bucket in zip(unwritten.empty_queries, buckets, strict=True):
                self.empty_queries.setdefault(bucket, []).append(query)

    def select_buckets(self, buckets: range, *, whole_queries: bool = False) -> "BucketRows":
        """Return the rows of some buckets; `whole_queries` gathers those of scattered queries."""
        return BucketRows(self, buckets, whole_queries=whole_queries and self.has_scattered_queries)

    def read_buckets(self, buckets: range) -> Iterator[Load]:
        """Yield the rows of some buckets in blocks of at least `SIZES.rows`, except the last."""
        slices: list[tuple[_Piece, int]] = []  # of the next block: buckets of pieces
        n_rows = 0
        for bucket in buckets:
            for piece in self._pieces:
                n_slice_rows = int(piece.row_starts[bucket + 1] - piece.row_starts[bucket])
                if n_slice_rows:
                    slices.append((piece, bucket))
                    n_rows += n_slice_rows
                if n_rows >= SIZES.rows:
                    yield partial(self._join_slices, slices)
                    slices, n_rows = [], 0
        if slices:
            yield partial(self._join_slices, slices)

    def _join_slices(self, slices: Sequence[tuple[_Piece, int]]) -> Block:
        """Return the rows of some buckets of pieces as one block."""
        tables = [_read_bucket(self.spill, piece, bucket) for piece, bucket in slices]
        first_row = np.concatenate([table.pop(_FIRST_ROW_COLUMN) for table in tables])
        n_rows = np.concatenate([table.pop(_COUNT_COLUMN) for table in tables])
        columns: dict[Role, Any] = {}
        for name, column in tables[0].items():
            join = Ids.concatenate if isinstance(column, Ids) else np.concatenate
            columns[name] = join([table[name] for table in tables])
        queries: Ids = columns.pop(_QUERY_COLUMN)
        query = queries.take(np.repeat(np.arange(len(n_rows)), n_rows))
        input_row = consecutive_numbers(first_row, n_rows)

        def find_source(row: int) -> str | None:
            return self.locate_row(int(input_row[row]))[0]

        def find_line(row: int) -> tuple[int | None, str | None]:
            return self.locate_row(int(input_row[row]))[1:]

        return Block(
            query, columns.pop(_DOC_COLUMN), columns, find_source, find_line, input_row=input_row
        )

    def locate_row(self, row: int) -> tuple[str | None, int | None, str | None]:
        """Return the file, line and text of a row of the source, which is read again."""
        first_row, block = self._last_block or (0, None)
        if block is None or not first_row <= row < first_row + len(block):
            first_row = 0
            for load in self._read_source():
                block = load()
                if row < first_row + len(block):
                    break
                first_row += len(block)
            assert block is not None  # noqa: S101 - the row was there
            self._last_block = first_row, block
        return block.locate_row(row - first_row)


class BucketRows(Rows):
    """The rows of some buckets."""

    def __init__(self, store: BucketStore, buckets: range, *, whole_queries: bool) -> None:
        self._store, self._buckets, self._has_whole_queries = store, buckets, whole_queries
        self.source_rows = rows = store.source_rows  # see `refuse_mixture`
        self.description, self.sources, self.is_text = rows.description, rows.sources, rows.is_text
        self.extra_roles, self.name_of_role = rows.extra_roles, rows.name_of_role
        self.list_kind, self.list_columns = rows.list_kind, rows.list_columns
        self.is_ranking, self.has_grades = rows.is_ranking, rows.has_grades
        self.column_names, self.duplicate_reason = rows.column_names, rows.duplicate_reason

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield queries without rows, then rows, with the columns of `roles` that were written."""
        role_list = tuple(roles)
        empty_queries = [
            query for bucket in self._buckets for query in self._store.empty_queries.get(bucket, ())
        ]
        if empty_queries:
            no_ids = Ids.of([])
            columns = {role: np.zeros(0) for role in role_list}
            yield partial(Block, no_ids, no_ids, columns, empty_queries=empty_queries)
        loads = self._store.read_buckets(self._buckets)
        if self._has_whole_queries:
            loads = _regroup_blocks(loads)
        for load in loads:
            yield partial(_select_columns, load, role_list)


def _select_columns(load: Load, roles: Sequence[Role]) -> Block:
    """Load a block, and return it with some of its columns."""
    block = load()
    columns = {role: block.columns[role] for role in roles if role in block.columns}
    return replace(block, columns=columns)


def _call_load(load: Load) -> Block:
    return load()


def _regroup_blocks(loads: Iterator[Load]) -> Iterator[Load]:
    """Yield the same rows in blocks of whole queries, query after query."""
    blocks = [*map_in_threads(_call_load, loads)]
    if not blocks:
        return
    block = gather_queries(join_blocks(blocks))
    query_starts = block.query.find_changes()
    start = 0
    while start < len(block):
        next_query = int(np.searchsorted(query_starts, start + SIZES.rows))
        end = int(query_starts[next_query]) if next_query < len(query_starts) else len(block)
        yield partial(block.take, slice(start, end))
        start = end


# ---- the bytes of a bucket: the columns of its groups of rows, then those of its rows ----------
# (Not `Records`, whose rows are compressed to twice the bytes: they are to be moved in memory.)

# No role has such a name.
_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN = " query", " first", " count"
_DOC_COLUMN = " doc"
_GROUP_COLUMNS = (_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN)


def _split_blocks(loads: Sequence[Load], n_buckets: int) -> _UnwrittenPiece:
    """Load some blocks, and divide their rows into buckets. Runs in a thread of its own."""
    blocks = [load() for load in loads]
    left_out = sum((block.left_out for block in blocks), FaultyRows())
    empty_queries = [query for block in blocks for query in block.empty_queries]
    filled_blocks = [block for block in blocks if len(block)]
    if not filled_blocks:
        zeros = np.zeros(n_buckets + 1, np.int64)
        empty_piece = _Piece(0, zeros, zeros, {}, [])
        return _UnwrittenPiece(empty_piece, [], 0, False, left_out, empty_queries, GradeFacts())
    rows = join_blocks(filled_blocks) if len(filled_blocks) > 1 else filled_blocks[0]
    first_row = rows.query.find_changes()  # of each group of adjacent rows: (n_groups,)
    query = rows.query.take(first_row)
    n_rows = np.diff(first_row, append=len(rows))
    bucket = assign_buckets(query, n_buckets)
    order = bucket.argsort(kind="stable")
    group_starts = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    group_columns = {
        _QUERY_COLUMN: query.take(order),
        _FIRST_ROW_COLUMN: first_row[order],
        _COUNT_COLUMN: n_rows[order],
    }
    row_ends = np.append(0, np.cumsum(n_rows[order]))
    row_order = consecutive_numbers(first_row[order], n_rows[order])
    row_columns = {_DOC_COLUMN: rows.doc.take(row_order)}
    for role, column in rows.columns.items():
        row_columns[role] = column.take(row_order) if isinstance(column, Ids) else column[row_order]
    bucket_chunks: list[list[bytes | memoryview]] = [[] for _ in range(n_buckets)]
    columns = {}
    for name, column in chain(group_columns.items(), row_columns.items()):
        bucket_starts = group_starts if name in _GROUP_COLUMNS else row_ends[group_starts]
        columns[name] = _append_column(column, bucket_starts, bucket_chunks)
    piece = _Piece(0, group_starts, row_ends[group_starts], columns, [])
    hashes = fixed_hashes(query)
    grade = rows.columns.get("grade", rows.columns.get("level"))
    grade_facts = GradeFacts()
    if grade is not None:
        has_whole_grades = bool((grade == np.floor(grade)).all())
        grade_facts = GradeFacts(float(grade.max(initial=0)), has_whole_grades)
    return _UnwrittenPiece(
        piece,
        bucket_bytes=[_compress(chunks) for chunks in bucket_chunks],
        n_rows=len(rows),
        has_scattered_queries=len(np.unique(hashes)) < len(hashes),
        left_out=left_out,
        empty_queries=empty_queries,
        grade_facts=grade_facts,
    )


def _append_column(
    column: Any, bucket_starts: Ints, bucket_chunks: list[list[bytes | memoryview]]
) -> _StoredColumn:
    """Add the rows of a column, sorted by bucket, to the chunks of bytes of each bucket.

    Returns how they lie there. `bucket_starts` is (n_buckets + 1,), the first row of each bucket.
    """
    if not isinstance(column, Ids):
        numbers = np.ascontiguousarray(column)
        _append_slices(numbers, bucket_starts, bucket_chunks)
        return _StoredColumn(numbers.dtype.str, numbers.itemsize, "", None)
    id_bytes, length = column.pack()
    byte_starts = np.append(0, np.cumsum(length, dtype=np.int64))[bucket_starts]
    _append_slices(id_bytes, byte_starts, bucket_chunks)
    _append_slices(length, bucket_starts, bucket_chunks)
    return _StoredColumn("", 0, length.dtype.str, byte_starts)


def _append_slices(
    column: NDArray[Any], bucket_starts: Ints, bucket_chunks: list[list[bytes | memoryview]]
) -> None:
    """Add the bytes of an array, sorted by bucket, to the chunks of each bucket."""
    column_bytes = column.data.cast("B")
    bounds = (bucket_starts * column.itemsize).tolist()
    for chunks, start, end in zip(bucket_chunks, bounds, bounds[1:], strict=False):
        if end > start:
            chunks.append(column_bytes[start:end])


def _make_codec() -> Any:
    import pyarrow as pa

    return pa.Codec("lz4")


def _compress(chunks: Sequence[bytes | memoryview]) -> bytes:
    if not chunks:
        return b""
    payload = b"".join(chunks)
    size = len(payload).to_bytes(8, "little")
    stored_bytes: bytes = size + _make_codec().compress(payload, asbytes=True)
    return stored_bytes


def _read_bucket(spill: Spill, piece: _Piece, bucket: int) -> dict[str, Any]:
    """Return the columns of a bucket of a piece, by name."""
    stored_bytes = spill.read(piece.spans[bucket])
    size = int.from_bytes(stored_bytes[:8], "little")
    payload = np.frombuffer(_make_codec().decompress(memoryview(stored_bytes)[8:], size), np.uint8)
    columns: dict[str, Any] = {}
    offset = 0
    for name, column in piece.columns.items():
        starts = piece.group_starts if name in _GROUP_COLUMNS else piece.row_starts
        n_rows = int(starts[bucket + 1] - starts[bucket])
        n_bytes = n_rows * column.row_bytes
        if column.byte_starts is not None:
            n_bytes = int(column.byte_starts[bucket + 1] - column.byte_starts[bucket])
        column_bytes, offset = payload[offset : offset + n_bytes], offset + n_bytes
        if column.number_type:
            columns[name] = column_bytes.view(column.number_type)
        else:
            length_type = np.dtype(column.length_type)
            length = payload[offset : offset + n_rows * length_type.itemsize].view(length_type)
            offset += n_rows * length_type.itemsize
            columns[name] = Ids.of_packed(PackedIds(column_bytes, length))
    columns[_FIRST_ROW_COLUMN] = columns[_FIRST_ROW_COLUMN] + piece.first_row
    return columns
