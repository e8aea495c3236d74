"""Rows dealt to buckets by the hash of their query, in a file: some queries at a time are held."""

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

MAX_BUCKETS = 1 << 14  # buckets
_BLOCKS_PER_PIECE = 2  # of a source, which are dealt together: the parts of one would be small


class _StoredColumn(NamedTuple):
    """What is known of a column of a piece: how its rows lie in the bytes of a bucket."""

    number_type: str  # of its numbers; "": these are identifiers
    row_bytes: int  # bytes of a row; 0: these are identifiers
    length_type: str  # of identifiers: of the numbers that are their lengths
    byte_ends: Ints | None  # of identifiers: (buckets + 1,) where the bytes of each end


class _Piece(NamedTuple):
    """Some rows of a source, dealt. A run is adjacent rows of one query."""

    first_row: int  # the number of its first row in the source
    group_starts: Ints  # (buckets + 1,) where the runs of each begin
    row_starts: Ints  # (buckets + 1,) where their rows begin
    columns: Mapping[str, _StoredColumn]
    spans: list[ByteSpan]  # of the buckets' bytes in the file; empty ones take up nothing


@dataclass(frozen=True)
class _UnwrittenPiece:
    """A piece that is still to be written, and what else its rows said."""

    piece: _Piece
    bucket_bytes: list[bytes]  # of the buckets
    n_rows: int
    has_scattered_queries: bool  # whether a query comes back after others
    left_out: FaultyRows
    empty_queries: list[bytes]
    grade_facts: tuple[float, bool]  # the highest, 0 if there is none; whether all are whole


class BucketStore:
    """The rows of others, dealt by the hash of their query to the buckets of a file.

    They are read once; `part` returns the rows of some of the buckets, in the order of the source.
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
        self._drop_unusable = (
            drop_unusable  # refuses rows, or leaves them out; None: all can be used
        )
        self.spill, self.n_buckets = spill, n_buckets
        self.left_out = FaultyRows()  # by errors="skip", as they were read
        self.has_scattered_queries = False
        self.top_grade, self.has_whole_grades = 0.0, True
        self.bucket_sizes = np.zeros(n_buckets, np.int64)  # rows of each bucket
        self.empty_queries: dict[int, list[bytes]] = {}
        self._pieces: list[_Piece] = []
        self._last_block: tuple[int, Block] | None = (
            None  # a block of the source that was read again
        )
        loads = self._read_source()
        load_groups = iter(lambda: list(islice(loads, _BLOCKS_PER_PIECE)), [])
        first_row = 0
        for unwritten_piece in map_in_threads(
            partial(_split_blocks, n_buckets=n_buckets), load_groups
        ):
            self._write_piece(unwritten_piece, first_row)
            first_row += unwritten_piece.n_rows

    def _read_source(self) -> Iterator[Load]:
        """Yield the rows as they come."""
        loads = self.source_rows.blocks(self.roles, self.errors)
        if self._drop_unusable is None:
            return loads
        return (partial(self._drop_unusable, load, self.errors) for load in loads)

    def _write_piece(self, unwritten_piece: _UnwrittenPiece, first_row: int) -> None:
        spans = [
            self.spill.write(chunk) if chunk else (0, 0) for chunk in unwritten_piece.bucket_bytes
        ]
        self._pieces.append(unwritten_piece.piece._replace(first_row=first_row, spans=spans))
        self.left_out += unwritten_piece.left_out
        self.has_scattered_queries |= unwritten_piece.has_scattered_queries
        self.top_grade = max(self.top_grade, unwritten_piece.grade_facts[0])
        self.has_whole_grades &= unwritten_piece.grade_facts[1]
        self.bucket_sizes += np.diff(unwritten_piece.piece.row_starts)
        if unwritten_piece.empty_queries:
            for query, bucket in zip(
                unwritten_piece.empty_queries,
                assign_buckets(Ids.of(unwritten_piece.empty_queries), self.n_buckets).tolist(),
                strict=True,
            ):
                self.empty_queries.setdefault(bucket, []).append(query)

    def select_buckets(self, buckets: range, *, whole_queries: bool = False) -> "BucketRows":
        """Return the rows of some buckets; `in_whole_queries`: no block begins within a query."""
        return BucketRows(self, buckets, whole_queries=whole_queries and self.has_scattered_queries)

    def read_buckets(self, buckets: range) -> Iterator[Load]:
        """Yield the rows of some buckets in blocks that are neither small nor large."""
        slices: list[tuple[_Piece, int]] = []
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
        slice_columns = [_read_bucket(self.spill, piece, bucket) for piece, bucket in slices]
        first_row = np.concatenate(
            [columns_of_slice.pop(_FIRST_ROW_COLUMN) for columns_of_slice in slice_columns]
        )
        n_rows = np.concatenate(
            [columns_of_slice.pop(_COUNT_COLUMN) for columns_of_slice in slice_columns]
        )
        columns: dict[Role, Any] = {}
        for name, column in slice_columns[0].items():
            column_slices = [columns_of_slice[name] for columns_of_slice in slice_columns]
            columns[name] = (
                Ids.concatenate(column_slices)
                if isinstance(column, Ids)
                else np.concatenate(column_slices)
            )
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
        """Return the file, line and text of the row of this number: the source is read again."""
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
        self.source_rows = source_rows = store.source_rows
        self.description, self.extra_roles, self.is_ranking = (
            source_rows.description,
            source_rows.extra_roles,
            source_rows.is_ranking,
        )
        self.sources, self.is_text, self.has_grades = (
            source_rows.sources,
            source_rows.is_text,
            source_rows.has_grades,
        )
        self.list_kind, self.column_names = source_rows.list_kind, source_rows.column_names
        self.name_of_role, self.list_columns, self.duplicate_reason = (
            source_rows.name_of_role,
            source_rows.list_columns,
            source_rows.duplicate_reason,
        )

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows with those of the `wanted` columns that were dealt."""
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
    block = load()
    return replace(
        block, columns={role: block.columns[role] for role in roles if role in block.columns}
    )


def _call_load(load: Load) -> Block:
    return load()


def _regroup_blocks(loads: Iterator[Load]) -> Iterator[Load]:
    """Yield the same rows, each query's together, in blocks of whole queries."""
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


# ---- the bytes of a bucket: the columns of its runs, and those of its rows -------------------
# (Not `Records`, whose rows are compressed to twice the bytes: they are to be moved in memory.)

_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN, _DOC_COLUMN = (
    " query",
    " first",
    " count",
    " doc",
)  # no column has such a name
_GROUP_COLUMNS = (_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN)


def _split_blocks(loads: Sequence[Load], n_buckets: int) -> _UnwrittenPiece:
    """Deal some blocks to buckets. Runs in a thread of its own."""
    blocks = [load() for load in loads]
    left_out = sum((block.left_out for block in blocks), FaultyRows())
    empty_queries = [query for block in blocks for query in block.empty_queries]
    filled_blocks = [block for block in blocks if len(block)]
    if not filled_blocks:
        zeros = np.zeros(n_buckets + 1, np.int64)
        empty_piece = _Piece(0, zeros, zeros, {}, [])
        return _UnwrittenPiece(empty_piece, [], 0, False, left_out, empty_queries, (0.0, True))
    piece_block = join_blocks(filled_blocks) if len(filled_blocks) > 1 else filled_blocks[0]
    first_row = piece_block.query.find_changes()
    query = piece_block.query.take(first_row)
    n_rows = np.diff(first_row, append=len(piece_block))
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
    row_columns = {_DOC_COLUMN: piece_block.doc.take(row_order)}
    for role, column in piece_block.columns.items():
        row_columns[role] = column.take(row_order) if isinstance(column, Ids) else column[row_order]
    bucket_chunks: list[list[bytes | memoryview]] = [[] for _ in range(n_buckets)]
    columns = {}
    for name, column in chain(group_columns.items(), row_columns.items()):
        bucket_starts = group_starts if name in _GROUP_COLUMNS else row_ends[group_starts]
        columns[name] = _append_column(column, bucket_starts, bucket_chunks)
    piece = _Piece(0, group_starts, row_ends[group_starts], columns, [])
    hashes = fixed_hashes(query)
    grade = piece_block.columns.get("grade", piece_block.columns.get("level"))
    grade_facts = (0.0, True)
    if grade is not None:
        grade_facts = float(grade.max(initial=0)), bool((grade == np.floor(grade)).all())
    return _UnwrittenPiece(
        piece,
        [_compress(chunks) for chunks in bucket_chunks],
        len(piece_block),
        len(np.unique(hashes)) < len(hashes),
        left_out,
        empty_queries,
        grade_facts,
    )


def _append_column(
    column: Any, bucket_starts: Ints, bucket_chunks: list[list[bytes | memoryview]]
) -> _StoredColumn:
    """Add a column's rows to the bytes of the buckets, which begin `at` them."""
    if not isinstance(column, Ids):
        numbers = np.ascontiguousarray(column)
        _append_slices(numbers, bucket_starts, bucket_chunks)
        return _StoredColumn(numbers.dtype.str, numbers.itemsize, "", None)
    id_bytes, length = column.pack()
    byte_ends = np.append(0, np.cumsum(length, dtype=np.int64))[bucket_starts]
    _append_slices(id_bytes, byte_ends, bucket_chunks)
    _append_slices(length, bucket_starts, bucket_chunks)
    return _StoredColumn("", 0, length.dtype.str, byte_ends)


def _append_slices(
    column: NDArray[Any], bucket_starts: Ints, bucket_chunks: list[list[bytes | memoryview]]
) -> None:
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
        if column.byte_ends is not None:
            n_bytes = int(column.byte_ends[bucket + 1] - column.byte_ends[bucket])
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
