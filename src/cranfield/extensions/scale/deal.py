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
        self._drop_unusable = drop_unusable  # refuses rows, or leaves them out; None: all can be used
        self.spill, self.n_buckets = spill, n_buckets
        self.left_out = FaultyRows()  # by errors="skip", as they were read
        self.has_scattered_queries = False
        self.top_grade, self.has_whole_grades = 0.0, True
        self.bucket_sizes = np.zeros(n_buckets, np.int64)  # rows of each bucket
        self.empty_queries: dict[int, list[bytes]] = {}
        self._pieces: list[_Piece] = []
        self._last_block: tuple[int, Block] | None = None  # a block of the source that was read again
        loads = self._read_source()
        several = iter(lambda: list(islice(loads, _BLOCKS_PER_PIECE)), [])
        begin = 0
        for ready in map_in_threads(partial(_split_blocks, n_buckets=n_buckets), several):
            self._write_piece(ready, begin)
            begin += ready.n_rows

    def _read_source(self) -> Iterator[Load]:
        """Yield the rows as they come."""
        loads = self.source_rows.blocks(self.roles, self.errors)
        if self._drop_unusable is None:
            return loads
        return (partial(self._drop_unusable, load, self.errors) for load in loads)

    def _write_piece(self, unwritten_piece: _UnwrittenPiece, first_row: int) -> None:
        places = [self.spill.write(part) if part else (0, 0) for part in unwritten_piece.bucket_bytes]
        self._pieces.append(unwritten_piece.piece._replace(begin=first_row, places=places))
        self.left_out += unwritten_piece.left_out
        self.has_scattered_queries |= unwritten_piece.has_scattered_queries
        self.top_grade = max(self.top_grade, unwritten_piece.grade_facts[0])
        self.has_whole_grades &= unwritten_piece.grade_facts[1]
        self.bucket_sizes += np.diff(unwritten_piece.piece.row_starts)
        if unwritten_piece.empty_queries:
            for query, bucket in zip(
                unwritten_piece.empty_queries, assign_buckets(Ids.of(unwritten_piece.empty_queries), self.n_buckets).tolist(), strict=True
            ):
                self.empty_queries.setdefault(bucket, []).append(query)

    def select_buckets(self, buckets: range, *, whole_queries: bool = False) -> "BucketRows":
        """Return the rows of some buckets; `in_whole_queries`: no block begins within a query."""
        return BucketRows(self, buckets, whole_queries=whole_queries and self.has_scattered_queries)

    def read_buckets(self, buckets: range) -> Iterator[Load]:
        """Yield the rows of some buckets in blocks that are neither small nor large."""
        some: list[tuple[_Piece, int]] = []
        n_rows = 0
        for bucket in buckets:
            for piece in self._pieces:
                n = int(piece.row_starts[bucket + 1] - piece.row_starts[bucket])
                if n:
                    some.append((piece, bucket))
                    n_rows += n
                if n_rows >= SIZES.rows:
                    yield partial(self._join_slices, some)
                    some, n_rows = [], 0
        if some:
            yield partial(self._join_slices, some)

    def _join_slices(self, slices: Sequence[tuple[_Piece, int]]) -> Block:
        read = [_read_bucket(self.spill, piece, bucket) for piece, bucket in slices]
        first = np.concatenate([one.pop(_FIRST_ROW_COLUMN) for one in read])
        count = np.concatenate([one.pop(_COUNT_COLUMN) for one in read])
        columns: dict[Role, Any] = {}
        for name, column in read[0].items():
            every = [one[name] for one in read]
            columns[name] = Ids.concatenate(every) if isinstance(column, Ids) else np.concatenate(every)
        queries: Ids = columns.pop(_QUERY_COLUMN)
        query = queries.take(np.repeat(np.arange(len(count)), count))
        given = consecutive_numbers(first, count)

        def source(row: int) -> str | None:
            return self.locate_row(int(given[row]))[0]

        def where(row: int) -> tuple[int | None, str | None]:
            return self.locate_row(int(given[row]))[1:]

        return Block(query, columns.pop(_DOC_COLUMN), columns, source, where, input_row=given)

    def locate_row(self, row: int) -> tuple[str | None, int | None, str | None]:
        """Return the file, line and text of the row of this number: the source is read again."""
        begin, block = self._last_block or (0, None)
        if block is None or not begin <= row < begin + len(block):
            begin = 0
            for load in self._read_source():
                block = load()
                if row < begin + len(block):
                    break
                begin += len(block)
            assert block is not None  # noqa: S101 - the row was there
            self._last_block = begin, block
        return block.locate_row(row - begin)


class BucketRows(Rows):
    """The rows of some buckets."""

    def __init__(self, store: BucketStore, buckets: range, *, whole_queries: bool) -> None:
        self._store, self._buckets, self._has_whole_queries = store, buckets, whole_queries
        self.source_rows = of = store.source_rows
        self.description, self.extra_roles, self.is_ranking = of.description, of.extra_roles, of.is_ranking
        self.sources, self.is_text, self.has_grades = of.sources, of.is_text, of.has_grades
        self.list_kind, self.column_names = of.list_kind, of.column_names
        self.name_of_role, self.list_columns, self.duplicate_reason = of.name_of_role, of.list_columns, of.duplicate_reason

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows with those of the `wanted` columns that were dealt."""
        role_list = tuple(roles)
        empty = [query for one in self._buckets for query in self._store.empty_queries.get(one, ())]
        if empty:
            none = Ids.of([])
            columns = {role: np.zeros(0) for role in role_list}
            yield partial(Block, none, none, columns, empty=empty)
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
    parts = [*map_in_threads(_call_load, loads)]
    if not parts:
        return
    whole = gather_queries(join_blocks(parts))
    begins = whole.query.find_changes()
    begin = 0
    while begin < len(whole):
        at = int(np.searchsorted(begins, begin + SIZES.rows))
        end = int(begins[at]) if at < len(begins) else len(whole)
        yield partial(whole.take, slice(begin, end))
        begin = end


# ---- the bytes of a bucket: the columns of its runs, and those of its rows -------------------
# (Not `Records`, whose rows are compressed to twice the bytes: they are to be moved in memory.)

_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN, _DOC_COLUMN = " query", " first", " count", " doc"  # no column has such a name
_GROUP_COLUMNS = (_QUERY_COLUMN, _FIRST_ROW_COLUMN, _COUNT_COLUMN)


def _split_blocks(loads: Sequence[Load], n_buckets: int) -> _UnwrittenPiece:
    """Deal some blocks to buckets. Runs in a thread of its own."""
    blocks = [load() for load in loads]
    left_out = sum((block.left_out for block in blocks), FaultyRows())
    empty = [query for block in blocks for query in block.empty_queries]
    full = [block for block in blocks if len(block)]
    if not full:
        zeros = np.zeros(n_buckets + 1, np.int64)
        nothing = _Piece(0, zeros, zeros, {}, [])
        return _UnwrittenPiece(nothing, [], 0, False, left_out, empty, (0.0, True))
    whole = join_blocks(full) if len(full) > 1 else full[0]
    begins = whole.query.find_changes()
    queries = whole.query.take(begins)
    counts = np.diff(begins, append=len(whole))
    bucket = assign_buckets(queries, n_buckets)
    order = bucket.argsort(kind="stable")
    runs = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    of_runs = {_QUERY_COLUMN: queries.take(order), _FIRST_ROW_COLUMN: begins[order], _COUNT_COLUMN: counts[order]}
    row_ends = np.append(0, np.cumsum(counts[order]))
    rows = consecutive_numbers(begins[order], counts[order])
    of_rows = {_DOC_COLUMN: whole.doc.take(rows)}
    for role, column in whole.columns.items():
        of_rows[role] = column.take(rows) if isinstance(column, Ids) else column[rows]
    written: list[list[bytes | memoryview]] = [[] for _ in range(n_buckets)]
    columns = {}
    for name, column in chain(of_runs.items(), of_rows.items()):
        at = runs if name in _GROUP_COLUMNS else row_ends[runs]
        columns[name] = _append_column(column, at, written)
    piece = _Piece(0, runs, row_ends[runs], columns, [])
    hashes = fixed_hashes(queries)
    grade = whole.columns.get("grade", whole.columns.get("level"))
    grades = (0.0, True)
    if grade is not None:
        grades = float(grade.max(initial=0)), bool((grade == np.floor(grade)).all())
    return _UnwrittenPiece(
        piece,
        [_compress(parts) for parts in written],
        len(whole),
        len(np.unique(hashes)) < len(hashes),
        left_out,
        empty,
        grades,
    )


def _append_column(column: Any, at: Ints, written: list[list[bytes | memoryview]]) -> _StoredColumn:
    """Add a column's rows to the bytes of the buckets, which begin `at` them."""
    if not isinstance(column, Ids):
        numbers = np.ascontiguousarray(column)
        _append_slices(numbers, at, written)
        return _StoredColumn(numbers.dtype.str, numbers.itemsize, "", None)
    data, length = column.pack()
    ends = np.append(0, np.cumsum(length, dtype=np.int64))[at]
    _append_slices(data, ends, written)
    _append_slices(length, at, written)
    return _StoredColumn("", 0, length.dtype.str, ends)


def _append_slices(column: NDArray[Any], at: Ints, written: list[list[bytes | memoryview]]) -> None:
    data = column.data.cast("B")
    bounds = (at * column.itemsize).tolist()
    for parts, begin, end in zip(written, bounds, bounds[1:], strict=False):
        if end > begin:
            parts.append(data[begin:end])


def _make_codec() -> Any:
    import pyarrow as pa

    return pa.Codec("lz4")


def _compress(parts: Sequence[bytes | memoryview]) -> bytes:
    if not parts:
        return b""
    data = b"".join(parts)
    size = len(data).to_bytes(8, "little")
    found: bytes = size + _make_codec().compress(data, asbytes=True)
    return found


def _read_bucket(spill: Spill, piece: _Piece, bucket: int) -> dict[str, Any]:
    """Return the columns of a bucket of a piece, by name."""
    stored = spill.read(piece.spans[bucket])
    size = int.from_bytes(stored[:8], "little")
    data = np.frombuffer(_make_codec().decompress(memoryview(stored)[8:], size), np.uint8)
    found: dict[str, Any] = {}
    at = 0
    for name, column in piece.columns.items():
        begins = piece.group_starts if name in _GROUP_COLUMNS else piece.row_starts
        n = int(begins[bucket + 1] - begins[bucket])
        n_bytes = n * column.row_bytes
        if column.byte_ends is not None:
            n_bytes = int(column.byte_ends[bucket + 1] - column.byte_ends[bucket])
        content, at = data[at : at + n_bytes], at + n_bytes
        if column.number_type:
            found[name] = content.view(column.number_type)
        else:
            kind = np.dtype(column.length_type)
            length = data[at : at + n * kind.itemsize].view(kind)
            at += n * kind.itemsize
            found[name] = Ids.of_packed(PackedIds(content, length))
    found[_FIRST_ROW_COLUMN] = found[_FIRST_ROW_COLUMN] + piece.first_row
    return found
