"""Columns by name: which name means what, and columns of Arrow data as ids and numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError, OptionError
from cranfield.formats.block import (
    FRACTIONS,
    LARGEST_GRADE,
    Block,
    Errors,
    Faults,
    Load,
    Number,
    sampling_in,
)
from cranfield.ids import Ids, decode
from cranfield.ranked import Bools, Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS = 131_072

What = Literal["a run", "qrels"]
Role = Literal[
    "query",
    "doc",
    "score",
    "rank",
    "grade",
    "group",
    "weight",
    "stratum",
    "probability",
    "cost",
]

# What columns are called elsewhere: the first of these that a table has is taken.
NAMES: Mapping[Role, Sequence[str]] = {
    "query": (
        *("query_id", "qid", "q_id", "queryid", "user_id", "userid", "topic_id"),
        *("query", "user", "topic"),
    ),
    "doc": (
        *("doc_id", "docno", "docid", "corpus_id", "document_id", "item_id", "itemid"),
        *("passage_id", "pid", "doc", "document", "item"),
    ),
    "score": ("score",),
    "rank": ("rank",),
    "cost": ("cost",),
    "grade": ("relevance", "label", "rel", "grade", "score", "rating"),
    "group": ("subtopic", "subtopic_id", "intent", "intent_id", "aspect", "group"),
    "weight": ("weight", "subtopic_weight", "intent_weight"),
    "stratum": ("stratum", "stratum_id"),
    "probability": ("inclusion_probability", "probability", "inclusion_prob", "iprob"),
}
IDS: Sequence[Role] = ("query", "doc", "group")
_OF: Mapping[What, Sequence[Role]] = {
    "a run": ("query", "doc", "score", "rank", "cost"),
    "qrels": ("query", "doc", "grade", "group", "weight", "stratum", "probability"),
}
# What the user calls the roles.
PUBLIC = {"query": "query_id", "doc": "doc_id", "grade": "relevance", "group": "subtopic"}
_MOST_COLUMNS = 10_000
ColumnsLike = Mapping[str, str | int]


def plain_name(name: str) -> str:
    """Return a column's name as it is compared."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def find_columns(names: Sequence[str], what: What, stated: ColumnsLike | None) -> dict[Role, int]:
    """Return where each role stands among a table's column names; roles may be missing.

    A column that is stated for one role is not taken for another by its name. Raises InputError
    if a stated column is not there, or two have the name that is looked for, OptionError if a
    column is stated for two roles.
    """
    given = stated_roles(stated, what)
    claimed: dict[int, Role] = {}
    for role, column in given.items():
        at = _stated_column(names, column)
        if at in claimed:
            raise _two_roles(names[at], claimed[at], role)
        claimed[at] = role
    found = {role: at for at, role in claimed.items()}
    free: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if at not in claimed:
            free.setdefault(plain_name(name), []).append(at)
    for role in _OF[what]:
        usual = next((name for name in NAMES[role] if name in free), None)
        if role in found or usual is None:
            continue
        if len(free[usual]) > 1:
            raise InputError(
                f"has {len(free[usual])} columns named {usual!r}",
                hint=state_columns(what),
                kind="columns",
            )
        found[role] = free[usual][0]
    found = {role: found[role] for role in _OF[what] if role in found}
    if "weight" in found and "group" not in found:
        if "weight" in given:
            raise OptionError("columns: a weight is a subtopic's: state the column subtopic, too")
        del found["weight"]  # of something else
    return found


def stated_roles(stated: ColumnsLike | None, what: What) -> dict[Role, str | int]:
    """Return {role: column} of what the user stated; OptionError for what is no role."""
    found: dict[Role, str | int] = {}
    roles = {PUBLIC.get(role, role): role for role in _OF[what]}
    for name, column in (stated or {}).items():
        if name not in roles:
            known = ", ".join(map(repr, roles))
            raise OptionError(f"columns: {name!r} is not known; choose of {known}")
        whole = isinstance(column, int) and not isinstance(column, bool)
        whole = whole and 0 < column <= _MOST_COLUMNS  # type: ignore[operator] # it is an int
        if not whole and not isinstance(column, str):
            raise OptionError(
                f"columns: {name}={column!r:.40}: expected a column's name, or its number, from 1"
            )
        for other, taken in found.items():
            if taken == column:
                raise _two_roles(column, other, roles[name])
        found[roles[name]] = column
    return found


def _two_roles(column: str | int, *roles: Role) -> OptionError:
    first, second = (PUBLIC.get(role, role) for role in roles)
    shown = f"{column!r:.40}"
    return OptionError(f"columns: {shown} is stated as {first} and as {second}, and has one role")


def _stated_column(names: Sequence[str], column: str | int) -> int:
    if isinstance(column, int):
        if column > len(names):
            raise InputError(f"has {len(names)} columns, no column {column}", kind="columns")
        return column - 1
    if names.count(column) != 1:
        problem = "has two columns" if column in names else "has no column"
        raise InputError(f"{problem} {column!r}; {_listed(names)}", kind="columns")
    return names.index(column)


def take_columns(
    names: Sequence[str], what: What, stated: ColumnsLike | None, source: str
) -> dict[Role, int]:
    """Return where each role stands; InputError if a column is missing that there must be."""
    try:
        found = find_columns(names, what, stated)
        _need_columns(found, names, what)
    except InputError as error:
        raise error.at(source) from None
    return found


def _need_columns(found: Mapping[Role, int], names: Sequence[str], what: What) -> None:
    needed: tuple[Role, ...] = ("query", "doc", "grade") if what == "qrels" else ("query", "doc")
    for role in needed:
        if role not in found:
            name = PUBLIC.get(role, role)
            missing = f"has no column {name!r}"
            for other, at in found.items():
                if plain_name(names[at]) in NAMES[role]:  # it would have been taken by its name
                    as_other = f"{names[at]!r:.40} is stated as {PUBLIC.get(other, other)}"
                    missing = f"has no column for {name!r}: {as_other}"
            raise InputError(
                f"{missing}; {_listed(names)}",
                hint="A run has query_id, doc_id and score (or rank), qrels have query_id, doc_id "
                f"and relevance, or what other tools call them. {state_columns(what)}",
                kind="columns",
            )


def state_columns(what: What) -> str:
    """Return how to say which column is which."""
    value = "score" if what == "a run" else "relevance"
    option = "run" if what == "a run" else "qrels"
    return (
        f"To say which is which: columns={{'query_id': ..., 'doc_id': ..., {value!r}: ...}}, "
        f"--{option}-columns query_id=...,doc_id=...,{value}=..."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.60}" for name in names[:20])
    return f"its columns are {shown}" + (", ..." if len(names) > 20 else "")


def numbers_in(found: Mapping[Role, int]) -> frozenset[Number]:
    """Return which roles among these are numbers."""
    every: tuple[Number, ...] = get_args(Number)
    return frozenset(role for role in every if role in found)


def understood(names: Sequence[str], found: Mapping[Role, int]) -> str:
    """Return which columns were taken, in words."""
    return ", ".join(names[at] for at in found.values())


# ---- Arrow data -----------------------------------------------------------------------------


class NamedColumns:
    """The named columns of Arrow data, of which some are ids and numbers."""

    is_ranking = False

    def __init__(
        self, schema: "pa.Schema", what: What, stated: ColumnsLike | None, source: str, form: str
    ) -> None:
        self.name = source
        self._names = list(schema.names)
        self._found = take_columns(self._names, what, stated, source)
        _check_types(schema, self._found, source)
        self.form = f"{form} with columns {understood(self._names, self._found)}"
        self.numbers = numbers_in(self._found)

    def places(self, wanted: Iterable[Number]) -> list[int]:
        """Return where the ids stand, and the numbers that are wanted."""
        roles: tuple[Role, ...] = ("query", "doc", *wanted)
        return [self._found[role] for role in roles]

    def loads(
        self, batches: "Iterable[pa.RecordBatch]", wanted: Sequence[Number], errors: Errors
    ) -> Iterator[Load]:
        """Yield loads of the rows that come in batches of these columns."""
        names = [self._names[at] for at in self.places(wanted)]
        return Batches(self.name, names, wanted, errors).loads(batches)


class Batches:
    """Loads of rows that come in Arrow batches, each query's rows together if they stand so.

    `names` are the columns of the batches: the ids of query and document, and what is wanted.
    """

    def __init__(
        self, source: str, names: Sequence[str], wanted: Sequence[Number], errors: Errors
    ) -> None:
        self._source = source
        n_ids = 2 + (tuple(wanted[:1]) == ("group",))
        self._names = names[:n_ids]
        self._numbers = list(zip(wanted[n_ids - 2 :], names[n_ids:], strict=True))
        self._errors: Errors = errors

    def loads(self, batches: "Iterable[pa.RecordBatch]") -> Iterator[Load]:
        """Yield loads of at most about BLOCK_ROWS rows, none of which begins within a query's.

        The rows of a query that goes on in the next piece are a load of their own: so only these
        have to be copied together.
        """
        held: list[_Piece] = []  # adjacent rows of one query, which may go on
        first = 0
        for batch in batches:
            for begin in range(0, len(batch), BLOCK_ROWS):
                piece = _Piece(first + begin, batch.slice(begin, BLOCK_ROWS))
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
        texts: list[Ids] = []
        for which, name in enumerate(self._names):
            columns = [ids_of(piece.rows.column(which)) for piece in pieces]
            ids = columns[0][0] if len(columns) == 1 else Ids.joined([one for one, _ in columns])
            texts.append(ids)
            spoilt = ids.spoilt()
            if any(missing is not None for _, missing in columns):
                none = [np.zeros(len(one)) if at is None else at for one, at in columns]
                nulls = np.concatenate(none).astype(np.bool_)
                spoilt = nulls if spoilt is None else nulls | spoilt
            if spoilt is not None:
                problem = f"the id in column {name!r} is empty or missing, or holds a null byte"
                bad = self._fault(faults, "id", spoilt, bad, pieces, problem)
        found: dict[str, Any] = {}
        for at, (role, name) in enumerate(self._numbers, len(self._names)):
            parts = [numbers_of(piece.rows.column(at), role) for piece in pieces]
            values = [values for values, _ in parts]
            found[role] = values[0] if len(values) == 1 else np.concatenate(values)
            if any(none is not None for _, none in parts):
                none = [np.zeros(len(one)) if at is None else at for one, at in parts]
                wrong = np.concatenate(none).astype(np.bool_)
                kind = "number" if role in FRACTIONS else "whole number"
                value = _value(pieces, at, int(np.argmax(wrong if bad is None else wrong & ~bad)))
                problem = f"expected a {kind} in column {name!r}, got {value!r:.80}"
                bad = self._fault(faults, "number", wrong, bad, pieces, problem)
        query, doc, *group = texts
        numbers = [(piece.first, len(piece.rows)) for piece in pieces]
        value = found.get("score", found.get("grade"))
        where = partial(_row_text, numbers, query, doc)
        block = Block(
            query,
            doc,
            value,
            self._source,
            where,
            found.get("rank"),
            group=next(iter(group), None),
            weight=found.get("weight"),
            sampling=sampling_in(found),
            cost=found.get("cost"),
        )
        if bad is not None:
            block = block.take(np.flatnonzero(~bad))
        return replace(block, left_out=faults.left_out)

    def _fault(
        self,
        faults: Faults,
        kind: str,
        wrong: Bools,
        bad: Bools | None,
        pieces: "list[_Piece]",
        problem: str,
    ) -> Bools:
        """Count the rows that are wrong and were not found bad before; return all bad ones."""
        new = wrong if bad is None else wrong & ~bad
        count = int(np.count_nonzero(new))
        if count:
            numbers = [(piece.first, len(piece.rows)) for piece in pieces]
            text = f"row {_row_number(numbers, int(np.argmax(new)))}: {problem}"
            faults.add(kind, partial(InputError, text, source=self._source, kind=kind), count)
        return wrong if bad is None else wrong | bad


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


def numbers_of(column: "pa.Array", role: Number) -> tuple[Floats | Ints, Bools | None]:
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
        bad = ~((values <= LARGEST_GRADE) & (values >= -LARGEST_GRADE))
        if as_float:
            bad |= values != np.floor(values)
        numbers = np.where(bad, 0, values).astype(np.int64)
    if missing is not None:
        bad |= missing
    return numbers, bad if bad.any() else None


def whole_numbers(values: NDArray[Any]) -> Ints | None:
    """Return grades as 64-bit integers if nothing is lost by it and none is absurd, else None."""
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        return None
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        values = values.astype(np.float64)  # LARGEST_GRADE is no number of 16 or 32 bits
    fits = (values <= LARGEST_GRADE) & (values >= -LARGEST_GRADE)  # not-a-number does not
    if not fits.all() or (values.dtype.kind == "f" and (values != np.floor(values)).any()):
        return None
    return values.astype(np.int64, copy=False)
