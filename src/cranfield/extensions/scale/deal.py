"""Rows dealt to buckets by the hash of their query, in a file: some queries at a time are held."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import Ids, Packed
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import spans
from cranfield.arrays.threads import in_threads
from cranfield.data.regroup import bucket_of, fixed_hashes, together
from cranfield.extensions.scale.spill import Place, Spill
from cranfield.formats.block import SIZES, Block, Errors, LeftOut, Load, Role, Rows, joined

MOST = 1 << 14  # buckets
_BLOCKS = 2  # of a source, which are dealt together: the parts of one would be small


class _Column(NamedTuple):
    """What is known of a column of a piece: how its rows lie in the bytes of a bucket."""

    kind: str  # of its numbers; "": these are identifiers
    width: int  # bytes of a row; 0: these are identifiers
    length: str  # of identifiers: of the numbers that are their lengths
    ends: Ints | None  # of identifiers: (buckets + 1,) where the bytes of each end


class _Piece(NamedTuple):
    """Some rows of a source, dealt. A run is adjacent rows of one query."""

    begin: int  # the number of its first row in the source
    runs: Ints  # (buckets + 1,) where the runs of each begin
    rows: Ints  # (buckets + 1,) where their rows begin
    columns: Mapping[str, _Column]
    places: list[Place]  # of the buckets' bytes in the file; empty ones take up nothing


@dataclass(frozen=True)
class _Ready:
    """A piece that is still to be written, and what else its rows said."""

    piece: _Piece
    content: list[bytes]  # of the buckets
    n_rows: int
    apart: bool  # whether a query comes back after others
    left_out: LeftOut
    empty: list[bytes]
    grades: tuple[float, bool]  # the highest, 0 if there is none; whether all are whole


class Dealt:
    """The rows of others, dealt by the hash of their query to the buckets of a file.

    They are read once; `part` returns the rows of some of the buckets, in the order of the source.
    """

    def __init__(
        self,
        rows: Rows,
        wanted: Sequence[Role],
        errors: Errors,
        n_buckets: int,
        spill: Spill,
        usable: Callable[[Load, Errors], Block] | None = None,
    ) -> None:
        self.of, self.wanted, self.errors = rows, tuple(wanted), errors
        self._usable = usable  # refuses rows, or leaves them out; None: all can be used
        self.spill, self.n_buckets = spill, n_buckets
        self.left_out = LeftOut()  # by errors="skip", as they were read
        self.apart = False
        self.top_grade, self.whole_grades = 0.0, True
        self.sizes = np.zeros(n_buckets, np.int64)  # rows of each bucket
        self.empty: dict[int, list[bytes]] = {}
        self._pieces: list[_Piece] = []
        self._last: tuple[int, Block] | None = None  # a block of the source that was read again
        loads = self._given()
        several = iter(lambda: list(islice(loads, _BLOCKS)), [])
        begin = 0
        for ready in in_threads(partial(_ready, n_buckets=n_buckets), several):
            self._add(ready, begin)
            begin += ready.n_rows

    def _given(self) -> Iterator[Load]:
        """Yield the rows as they come."""
        loads = self.of.blocks(self.wanted, self.errors)
        if self._usable is None:
            return loads
        return (partial(self._usable, load, self.errors) for load in loads)

    def _add(self, ready: _Ready, begin: int) -> None:
        places = [self.spill.write(part) if part else (0, 0) for part in ready.content]
        self._pieces.append(ready.piece._replace(begin=begin, places=places))
        self.left_out += ready.left_out
        self.apart |= ready.apart
        self.top_grade = max(self.top_grade, ready.grades[0])
        self.whole_grades &= ready.grades[1]
        self.sizes += np.diff(ready.piece.rows)
        if ready.empty:
            for query, bucket in zip(
                ready.empty, bucket_of(Ids.of(ready.empty), self.n_buckets).tolist(), strict=True
            ):
                self.empty.setdefault(bucket, []).append(query)

    def part(self, buckets: range, *, in_whole_queries: bool = False) -> "Part":
        """Return the rows of some buckets; `in_whole_queries`: no block begins within a query."""
        return Part(self, buckets, in_whole_queries=in_whole_queries and self.apart)

    def loads(self, buckets: range) -> Iterator[Load]:
        """Yield the rows of some buckets in blocks that are neither small nor large."""
        some: list[tuple[_Piece, int]] = []
        n_rows = 0
        for bucket in buckets:
            for piece in self._pieces:
                n = int(piece.rows[bucket + 1] - piece.rows[bucket])
                if n:
                    some.append((piece, bucket))
                    n_rows += n
                if n_rows >= SIZES.rows:
                    yield partial(self._block, some)
                    some, n_rows = [], 0
        if some:
            yield partial(self._block, some)

    def _block(self, some: Sequence[tuple[_Piece, int]]) -> Block:
        read = [_read(self.spill, piece, bucket) for piece, bucket in some]
        first = np.concatenate([one.pop(_FIRST) for one in read])
        count = np.concatenate([one.pop(_COUNT) for one in read])
        columns: dict[Role, Any] = {}
        for name, column in read[0].items():
            every = [one[name] for one in read]
            columns[name] = Ids.joined(every) if isinstance(column, Ids) else np.concatenate(every)
        queries: Ids = columns.pop(_QUERY)
        query = queries.take(np.repeat(np.arange(len(count)), count))
        given = spans(first, count)

        def source(row: int) -> str | None:
            return self.place(int(given[row]))[0]

        def where(row: int) -> tuple[int | None, str | None]:
            return self.place(int(given[row]))[1:]

        return Block(query, columns.pop(_DOC), columns, source, where, given=given)

    def place(self, number: int) -> tuple[str | None, int | None, str | None]:
        """Return the file, line and text of the row of this number: the source is read again."""
        begin, block = self._last or (0, None)
        if block is None or not begin <= number < begin + len(block):
            begin = 0
            for load in self._given():
                block = load()
                if number < begin + len(block):
                    break
                begin += len(block)
            assert block is not None  # noqa: S101 - the row was there
            self._last = begin, block
        return block.place(number - begin)


class Part(Rows):
    """The rows of some buckets."""

    def __init__(self, dealt: Dealt, buckets: range, *, in_whole_queries: bool) -> None:
        self._dealt, self._buckets, self._in_whole_queries = dealt, buckets, in_whole_queries
        self.of = of = dealt.of
        self.form, self.numbers, self.is_ranking = of.form, of.numbers, of.is_ranking
        self.sources, self.is_text, self.graded = of.sources, of.is_text, of.graded
        self.lists_of, self.names = of.lists_of, of.names
        self.taken, self.lists, self.twice = of.taken, of.lists, of.twice

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows with those of the `wanted` columns that were dealt."""
        roles = tuple(wanted)
        empty = [query for one in self._buckets for query in self._dealt.empty.get(one, ())]
        if empty:
            none = Ids.of([])
            columns = {role: np.zeros(0) for role in roles}
            yield partial(Block, none, none, columns, empty=empty)
        loads = self._dealt.loads(self._buckets)
        if self._in_whole_queries:
            loads = _in_whole_queries(loads)
        for load in loads:
            yield partial(_with_columns, load, roles)


def _with_columns(load: Load, roles: Sequence[Role]) -> Block:
    block = load()
    return replace(
        block, columns={role: block.columns[role] for role in roles if role in block.columns}
    )


def _loaded(load: Load) -> Block:
    return load()


def _in_whole_queries(loads: Iterator[Load]) -> Iterator[Load]:
    """Yield the same rows, each query's together, in blocks of whole queries."""
    parts = [*in_threads(_loaded, loads)]
    if not parts:
        return
    whole = together(joined(parts))
    begins = whole.query.begins()
    begin = 0
    while begin < len(whole):
        at = int(np.searchsorted(begins, begin + SIZES.rows))
        end = int(begins[at]) if at < len(begins) else len(whole)
        yield partial(whole.take, slice(begin, end))
        begin = end


# ---- the bytes of a bucket: the columns of its runs, and those of its rows -------------------
# (Not `Records`, whose rows are compressed to twice the bytes: they are to be moved in memory.)

_QUERY, _FIRST, _COUNT, _DOC = " query", " first", " count", " doc"  # no column has such a name
_OF_RUNS = (_QUERY, _FIRST, _COUNT)


def _ready(loads: Sequence[Load], n_buckets: int) -> _Ready:
    """Deal some blocks to buckets. Runs in a thread of its own."""
    blocks = [load() for load in loads]
    left_out = sum((block.left_out for block in blocks), LeftOut())
    empty = [query for block in blocks for query in block.empty]
    full = [block for block in blocks if len(block)]
    if not full:
        zeros = np.zeros(n_buckets + 1, np.int64)
        nothing = _Piece(0, zeros, zeros, {}, [])
        return _Ready(nothing, [], 0, False, left_out, empty, (0.0, True))
    whole = joined(full) if len(full) > 1 else full[0]
    begins = whole.query.begins()
    queries = whole.query.take(begins)
    counts = np.diff(begins, append=len(whole))
    bucket = bucket_of(queries, n_buckets)
    order = bucket.argsort(kind="stable")
    runs = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    of_runs = {_QUERY: queries.take(order), _FIRST: begins[order], _COUNT: counts[order]}
    row_ends = np.append(0, np.cumsum(counts[order]))
    rows = spans(begins[order], counts[order])
    of_rows = {_DOC: whole.doc.take(rows)}
    for role, column in whole.columns.items():
        of_rows[role] = column.take(rows) if isinstance(column, Ids) else column[rows]
    written: list[list[bytes | memoryview]] = [[] for _ in range(n_buckets)]
    columns = {}
    for name, column in chain(of_runs.items(), of_rows.items()):
        at = runs if name in _OF_RUNS else row_ends[runs]
        columns[name] = _put(column, at, written)
    piece = _Piece(0, runs, row_ends[runs], columns, [])
    hashes = fixed_hashes(queries)
    grade = whole.columns.get("grade", whole.columns.get("level"))
    grades = (0.0, True)
    if grade is not None:
        grades = float(grade.max(initial=0)), bool((grade == np.floor(grade)).all())
    return _Ready(
        piece,
        [_packed(parts) for parts in written],
        len(whole),
        len(np.unique(hashes)) < len(hashes),
        left_out,
        empty,
        grades,
    )


def _put(column: Any, at: Ints, written: list[list[bytes | memoryview]]) -> _Column:
    """Add a column's rows to the bytes of the buckets, which begin `at` them."""
    if not isinstance(column, Ids):
        numbers = np.ascontiguousarray(column)
        _cut(numbers, at, written)
        return _Column(numbers.dtype.str, numbers.itemsize, "", None)
    data, length = column.packed()
    ends = np.append(0, np.cumsum(length, dtype=np.int64))[at]
    _cut(data, ends, written)
    _cut(length, at, written)
    return _Column("", 0, length.dtype.str, ends)


def _cut(column: NDArray[Any], at: Ints, written: list[list[bytes | memoryview]]) -> None:
    data = column.data.cast("B")
    bounds = (at * column.itemsize).tolist()
    for parts, begin, end in zip(written, bounds, bounds[1:], strict=False):
        if end > begin:
            parts.append(data[begin:end])


def _codec() -> Any:
    import pyarrow as pa

    return pa.Codec("lz4")


def _packed(parts: Sequence[bytes | memoryview]) -> bytes:
    if not parts:
        return b""
    data = b"".join(parts)
    size = len(data).to_bytes(8, "little")
    found: bytes = size + _codec().compress(data, asbytes=True)
    return found


def _read(spill: Spill, piece: _Piece, bucket: int) -> dict[str, Any]:
    """Return the columns of a bucket of a piece, by name."""
    stored = spill.read(piece.places[bucket])
    size = int.from_bytes(stored[:8], "little")
    data = np.frombuffer(_codec().decompress(memoryview(stored)[8:], size), np.uint8)
    found: dict[str, Any] = {}
    at = 0
    for name, column in piece.columns.items():
        begins = piece.runs if name in _OF_RUNS else piece.rows
        n = int(begins[bucket + 1] - begins[bucket])
        n_bytes = n * column.width
        if column.ends is not None:
            n_bytes = int(column.ends[bucket + 1] - column.ends[bucket])
        content, at = data[at : at + n_bytes], at + n_bytes
        if column.kind:
            found[name] = content.view(column.kind)
        else:
            kind = np.dtype(column.length)
            length = data[at : at + n * kind.itemsize].view(kind)
            at += n * kind.itemsize
            found[name] = Ids.of_packed(Packed(content, length))
    found[_FIRST] = found[_FIRST] + piece.begin
    return found
