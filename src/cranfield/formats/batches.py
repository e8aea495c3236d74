"""Batches: columns of Arrow data as blocks of ids and numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Errors, Faults, Load, Role, Rows
from cranfield.formats.columns import (
    COLUMNS,
    FRACTIONS,
    IDS,
    ColumnsLike,
    What,
    numbers_in,
    take_columns,
    understood,
)
from cranfield.formats.values import spoilt, whole_numbers

if TYPE_CHECKING:
    import pyarrow as pa


class NamedColumns(Rows):
    """The named columns of Arrow data, of which some are ids and numbers."""

    def __init__(
        self, schema: "pa.Schema", what: What, stated: ColumnsLike | None, source: str, form: str
    ) -> None:
        self.name = source
        self._names = list(schema.names)
        self._found = take_columns(self._names, what, stated, source)
        _check_types(schema, self._found, source)
        self.form = f"{form} with columns {understood(self._names, self._found)}"
        self.numbers = numbers_in(self._found)

    def places(self, wanted: Iterable[Role]) -> list[int]:
        """Return where the ids stand, and the numbers that are wanted."""
        roles: Sequence[Role] = ("query", "doc", *wanted)
        return [self._found[role] for role in roles]

    def loads(
        self, batches: "Iterable[pa.RecordBatch]", wanted: Sequence[Role], errors: Errors
    ) -> Iterator[Load]:
        """Yield loads of the rows that come in batches of these columns."""
        names = [self._names[at] for at in self.places(wanted)]
        return Batches(self.name, names, wanted, errors).loads(batches)


class Batches:
    """Loads of rows that come in Arrow batches, each query's rows together if they stand so.

    `names` are the columns of the batches: the ids of query and document, and what is wanted.
    """

    def __init__(
        self, source: str, names: Sequence[str], wanted: Sequence[Role], errors: Errors
    ) -> None:
        self._source = source
        self._columns = list(zip(("query", "doc", *wanted), names, strict=True))
        self._errors: Errors = errors

    def loads(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Load]:
        """Yield loads of at most about SIZES.rows rows, none of which begins within a query's.

        The rows of a query that goes on in the next piece are a load of their own: so only these
        have to be copied together.
        """
        held: list[_Piece] = []  # adjacent rows of one query, which may go on
        first = 0
        for batch in batches:
            for begin in range(0, len(batch), SIZES.rows):
                piece = _Piece(first + begin, batch.slice(begin, SIZES.rows))
                if held and (head := piece.first_query(held[-1])):
                    held.append(piece.part(0, head))
                    piece = piece.part(head, len(piece.rows))
                if len(piece.rows) == 0:
                    continue
                if held:
                    yield partial(self._load, held)
                last = piece.last_query()
                if last:
                    yield partial(self._load, [piece.part(0, last)])
                held = [piece.part(last, len(piece.rows))]
            first += len(batch)
        if held:
            yield partial(self._load, held)

    def _load(self, pieces: "list[_Piece]") -> Block:
        faults = Faults(self._errors)
        bad: Bools | None = None  # rows with a fault
        found: dict[Role, Any] = {}
        for at, (role, name) in enumerate(self._columns):
            read = ids_of if role in IDS else partial(numbers_of, role=role)
            parts = [read(piece.rows.column(at)) for piece in pieces]
            values: list[Any] = [values for values, _ in parts]
            found[role], wrong = values[0], parts[0][1]
            if len(parts) > 1:
                found[role] = Ids.joined(values) if role in IDS else np.concatenate(values)
                none = [np.zeros(len(one)) if bad is None else bad for one, bad in parts]
                wrong = np.concatenate(none).astype(np.bool_)
            if role in IDS:
                spoilt = found[role].spoilt()
                wrong = spoilt if wrong is None else wrong if spoilt is None else wrong | spoilt
            if wrong is None or not (new := wrong if bad is None else wrong & ~bad).any():
                continue
            row = int(np.argmax(new))
            problem = f"the id in column {name!r} is empty or missing, or holds a null byte"
            if role not in IDS:
                value = _value(pieces, at, row)
                problem = f"expected a {COLUMNS[role].kind} in column {name!r}, got {value!r:.80}"
            numbers = [(piece.first, len(piece.rows)) for piece in pieces]
            text = f"row {_row_number(numbers, row)}: {problem}"
            kind = "id" if role in IDS else "number"
            fault = partial(InputError, text, source=self._source, kind=kind)
            faults.add(kind, fault, int(np.count_nonzero(new)))
            bad = wrong if bad is None else wrong | bad
        query, doc = found.pop("query"), found.pop("doc")
        numbers = [(piece.first, len(piece.rows)) for piece in pieces]
        block = Block(query, doc, found, self._source, partial(_row_text, numbers, query, doc))
        if bad is not None:
            block = block.take(np.flatnonzero(~bad))
        return replace(block, left_out=faults.left_out)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some rows of Arrow data, the query's column first, and the number of the first of them."""

    first: int
    rows: "pa.RecordBatch"

    def part(self, begin: int, end: int) -> "_Piece":
        return _Piece(self.first + begin, self.rows.slice(begin, end - begin))

    def first_query(self, above: "_Piece") -> int:
        """Return how many of the first rows are of the query of the last row of `above`."""
        column = self.rows.column(0)
        last = ids_of(above.rows.column(0).slice(len(above.rows) - 1))[0][0]
        size = 1024
        while True:
            ids = ids_of(column.slice(0, size))[0]
            begins = ids.begins()
            if ids[0] != last:
                return 0
            if len(begins) > 1 or size >= len(column):
                return int(begins[1]) if len(begins) > 1 else len(column)
            size *= 8

    def last_query(self) -> int:
        """Return where the rows of the last query begin."""
        column = self.rows.column(0)
        size = 1024
        while True:
            tail = column.slice(max(0, len(column) - size))
            begins = ids_of(tail)[0].begins()
            if len(begins) > 1 or size >= len(column):
                return len(column) - len(tail) + int(begins[-1])
            size *= 8


def _row_number(pieces: Sequence[tuple[int, int]], row: int) -> int:
    for first, length in pieces:
        if row < length:
            return first + row
        row -= length
    raise IndexError(row)


def _value(pieces: "list[_Piece]", column: int, row: int) -> Any:
    for piece in pieces:
        if row < len(piece.rows):
            return piece.rows.column(column)[row].as_py()
        row -= len(piece.rows)
    raise IndexError(row)


def _row_text(
    pieces: Sequence[tuple[int, int]], query: Ids, doc: Ids, row: int
) -> tuple[None, str]:
    q, d = decode(query[row]), decode(doc[row])
    return None, f"row {_row_number(pieces, row)}: query {q!r}, document {d!r}"


def _check_types(schema: "pa.Schema", found: Mapping[Role, int], source: str) -> None:
    """Raise InputError unless ids are texts or whole numbers, and numbers numbers."""
    import pyarrow as pa

    for role, at in found.items():
        kind = schema.field(at).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if role in IDS:
            good = is_text(kind) or pa.types.is_integer(kind)
            expected = "text or whole numbers"
        else:
            good = (
                pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            ) or pa.types.is_decimal(kind)
            expected = "numbers"
        if not good:
            raise InputError(
                f"column {schema.field(at).name!r} holds {kind}, expected {expected}",
                source=source,
                kind="columns",
            )


def is_text(kind: "pa.DataType") -> bool:
    """Tell whether a column of this type holds texts."""
    import pyarrow as pa

    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    more = (pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in (*texts, *more)) or kind in (
        pa.string_view(),
        pa.binary_view(),
    )


def ids_of(column: "pa.Array") -> tuple[Ids, Bools | None]:
    """Return a column as ids, and which of them are missing, None if none is.

    The texts are not copied, where Arrow holds them as ids do.
    """
    import pyarrow as pa

    kind = column.type
    missing = None
    if column.null_count:
        missing = _missing(column)
    if pa.types.is_dictionary(kind):
        codes = column.indices.fill_null(0) if column.null_count else column.indices
        entries = column.dictionary
        if len(entries) == 0:
            return Ids.of([b""] * len(column)), missing
        rows = np.from_dlpack(codes.cast(pa.int64()))
        if len(entries) > len(column):  # which many small batches may share
            used, rows = np.unique(rows, return_inverse=True)
            entries = _taken(entries, used)
        ids, none = ids_of(entries)
        if none is not None:
            missing = none[rows] if missing is None else none[rows] | missing
        return ids.take(rows), missing
    if kind in (pa.string_view(), pa.binary_view()):
        short = Ids.of_views(column)
        if short is not None:
            return short, missing
        column = column.cast(pa.large_string() if kind != pa.binary_view() else pa.large_binary())
    elif pa.types.is_integer(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_binary())
    return Ids.of_arrow(column), missing


def _taken(entries: "pa.Array", rows: Ints) -> "pa.Array":
    """Return the entries of a dictionary at `rows`."""
    import pyarrow as pa

    places = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    if entries.type in (pa.string_view(), pa.binary_view()):  # Arrow cannot take these
        wide = pa.large_binary() if entries.type == pa.binary_view() else pa.large_string()
        entries = entries.cast(wide)
    return entries.take(places)


def _missing(column: "pa.Array") -> Bools:
    import pyarrow as pa

    nulls = column.is_null().cast(pa.uint8())
    return np.frombuffer(nulls.buffers()[1], np.uint8, len(column), nulls.offset).astype(np.bool_)


def numbers_of(column: "pa.Array", role: Role) -> tuple[Floats | Ints, Bools | None]:
    """Return a column as scores, or as whole numbers, and which are none, None if all are."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):  # by their text, which alone leads to the nearest double
        column = column.cast(pa.string()).cast(pa.float64())
    kind = column.type
    missing = None
    if column.null_count:
        missing = _missing(column)
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
    numbers: Floats | Ints | None
    if role in FRACTIONS:
        bad = np.isnan(values)
        numbers = values
    else:
        numbers = whole_numbers(values)
        if numbers is not None:
            return numbers, missing
        bad = spoilt(values)
        numbers = np.where(bad, 0, values).astype(np.int64)
    if missing is not None:
        bad |= missing
    return numbers, bad if bad.any() else None
