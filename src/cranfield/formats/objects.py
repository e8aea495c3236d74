"""Python objects: dicts, and anything that hands out Arrow data (pandas, polars, pyarrow, ...)."""

import math
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.formats.block import Block, Load
from cranfield.ids import Ids, decode
from cranfield.ranked import Bools, Floats, Ints

BLOCK_ROWS = 131_072

Nested = dict[str, dict[str, Any]]


class ArrowTable(Protocol):
    """A table that hands out Arrow data by the PyCapsule interface: pandas, polars, pyarrow, ..."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an Arrow stream."""


def is_table(data: object) -> TypeGuard[ArrowTable]:
    """Tell whether the object hands out Arrow data."""
    return hasattr(data, "__arrow_c_stream__")


# ---- dicts ----------------------------------------------------------------------------------


def nested_run(data: Mapping[Any, Any]) -> tuple[Nested, bool]:
    """Return {query: {document: score}} with text ids, and whether scores were given.

    A query's documents are a dict of scores, or a list, best first. A dict of dicts whose ids
    are text already is returned as it is, not copied.
    """
    scored = all(isinstance(ranking, Mapping) for ranking in data.values())
    if scored:
        return _text_ids(data, "the run"), True
    ranked = {query: by_position(query, ranking) for query, ranking in data.items()}
    return _text_ids(ranked, "the run"), False


def nested_qrels(data: Mapping[Any, Any]) -> Nested:
    """Return {query: {document: grade}} with text ids; a query may have a set of documents."""
    graded = {
        query: docs if isinstance(docs, Mapping) else graded_one(docs)
        for query, docs in data.items()
    }
    return _text_ids(graded, "the qrels")


def graded_one(docs: object) -> dict[Any, int]:
    """Return {document: 1} of a set or list of relevant documents."""
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise InputError(
            f"expected {{document: grade}} or a set of relevant documents, got {docs!r:.80}"
        )
    return dict.fromkeys(docs, 1)


def by_position(query: object, ranking: object) -> dict[Any, float]:
    """Return {document: score} that keeps the order of a list, best first."""
    if isinstance(ranking, Set | str | bytes | Mapping) or not isinstance(ranking, Iterable):
        raise InputError(
            f"query {query!r}: expected a list of documents, best first, got {ranking!r:.80}",
            hint="Either every query has a dict {document: score}, or every query has a list.",
        )
    docs = list(ranking)
    scores = {doc: -float(i) for i, doc in enumerate(docs)}
    if len(scores) < len(docs):
        seen: set[Any] = set()
        twice = next(doc for doc in docs if doc in seen or seen.add(doc))  # type: ignore[func-returns-value] # add() is None
        raise InputError(f"query {query!r}: the document {twice!r} stands twice in the ranking")
    return scores


def _text_ids(data: Mapping[Any, Mapping[Any, Any]], what: str) -> Nested:
    """Return the dict of dicts with text ids; whole numbers are their decimal text."""
    try:
        "".join(data)
        for query, docs in data.items():
            "".join(docs)  # the quickest way to learn that every key is a text
            if "" in docs:
                raise InputError(f"{what}: query {query!r} holds a document with an empty id")
    except TypeError:
        return {
            _as_text(query, what): _unique(
                {_as_text(doc, what): value for doc, value in docs.items()}, docs, query, what
            )
            for query, docs in _unique(
                {_as_text(query, what): docs for query, docs in data.items()}, data, None, what
            ).items()
        }
    if "" in data:
        raise InputError(f"{what}: holds a query with an empty id")
    return data  # type: ignore[return-value] # every key was seen to be a text


def _unique(texts: dict[str, Any], ids: Mapping[Any, Any], query: Any, what: str) -> dict[str, Any]:
    if len(texts) < len(ids):
        of = "" if query is None else f" of query {query!r}"
        raise InputError(f"{what}: two ids{of} have the same text, as 1 and '1' do")
    return texts


def _as_text(value: Any, what: str) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"{what}: an id is a text or a whole number, got {value!r:.80}")


def scores_of(query: str, ranking: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return one query's scores as doubles, in the dict's order and lowest first: (documents,)."""
    try:
        # Twice as quick as numpy's own way, and does not take a text for a number.
        scores = np.frombuffer(struct.pack(f"{len(ranking)}d", *ranking.values()))
    except (struct.error, TypeError, OverflowError):
        scores = np.array([np.nan])
    in_order = np.sort(scores)
    if np.isnan(in_order[-1]):  # not-a-number sorts last
        doc, score = next((d, s) for d, s in ranking.items() if not _is_number(s))
        raise InputError(
            f"query {query!r}, document {doc!r}: expected a number as the score, got {score!r:.80}"
        )
    return scores, in_order


def _is_number(value: Any) -> bool:
    try:
        return not math.isnan(struct.unpack("d", struct.pack("d", value))[0])
    except (struct.error, TypeError, OverflowError):
        return False


def grades_of(values: Iterable[Any]) -> Ints | None:
    """Return grades as whole numbers; None if one of them is none."""
    listed = list(values)
    try:
        return np.frombuffer(array("q", listed), np.int64)  # quick, and takes whole numbers only
    except (TypeError, OverflowError):
        pass
    try:
        grades = np.array(listed)
    except (ValueError, OverflowError):
        return None
    return whole_numbers(grades) if grades.size else np.zeros(0, np.int64)


def whole_numbers(values: NDArray[Any]) -> Ints | None:
    """Return the array as 64-bit integers if nothing is lost by it, else None."""
    if values.dtype.kind in "bi" and values.ndim == 1:
        return values.astype(np.int64)
    if values.dtype.kind in "fu" and values.ndim == 1:
        fits: Bools = np.abs(values) < 2**62  # not a number fails, too
        if bool(fits.all()) and bool((values == np.floor(values)).all()):
            return values.astype(np.int64)
    return None


# ---- Arrow data -----------------------------------------------------------------------------


def table_blocks(data: Any, what: str) -> Iterator[Load]:
    """Yield the blocks of Arrow data with columns query_id, doc_id and score or relevance."""
    import pyarrow as pa

    table = pa.table(data)
    value_name = "score" if what == "run" else "relevance"
    names = ["query_id", "doc_id", value_name]
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(
            f"the {what}: has no column {' and no column '.join(map(repr, missing))}; "
            f"its columns are {', '.join(map(repr, table.column_names))}",
            hint=f"Name the columns {', '.join(names)}.",
        )
    query, doc = (_id_column(table.column(name), name, what) for name in names[:2])
    value = _value_column(table.column(value_name), value_name, what)
    if len(query) == 0:
        raise InputError(f"the {what}: holds no rows")
    begins = query.changes()
    begin = 0
    while begin < len(query):
        after = np.searchsorted(begins, begin + BLOCK_ROWS)
        end = int(begins[after]) if after < len(begins) else len(query)
        yield partial(_slice, query, doc, value, begin, end)
        begin = end


def _slice(query: Ids, doc: Ids, value: Floats | Ints, begin: int, end: int) -> Block:
    def where(row: int) -> tuple[None, str]:
        q, d = (decode(column[begin + row]) for column in (query, doc))
        return None, f"row {begin + row}: query {q!r}, document {d!r}"

    rows = slice(begin, end)
    return Block(query.take(rows), doc.take(rows), value[rows], None, where)


def _id_column(column: Any, name: str, what: str) -> Ids:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    if pa.types.is_integer(kind):
        column = column.cast(pa.large_string())
    elif not (texts or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(
            f"the {what}: column {name!r} holds {kind}, expected text or whole numbers"
        )
    if column.null_count:
        raise InputError(f"the {what}: column {name!r} has {column.null_count} missing values")
    chunks = column.cast(pa.large_binary()).chunks
    ids = Ids.joined([Ids.of_arrow(chunk) for chunk in chunks] or [Ids.of([])])
    if not ids.length.all():
        raise InputError(f"the {what}: column {name!r} holds an empty id")
    return ids


def _value_column(column: Any, name: str, what: str) -> Floats | Ints:
    import pyarrow as pa

    kind = column.type
    if column.null_count:
        raise InputError(f"the {what}: column {name!r} has {column.null_count} missing values")
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"the {what}: column {name!r} holds {kind}, expected numbers")
    target = pa.float64() if name == "score" or pa.types.is_floating(kind) else pa.int64()
    chunks = [
        np.frombuffer(chunk.buffers()[1], target.to_pandas_dtype(), len(chunk), 8 * chunk.offset)
        for chunk in column.cast(target).chunks
        if len(chunk)
    ]
    values = np.concatenate(chunks) if chunks else np.zeros(0, target.to_pandas_dtype())
    if name == "score":
        if np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values))[0])
            raise InputError(f"the {what}: row {row} has no number (NaN) as its score")
        return values
    grades = whole_numbers(values)
    if grades is None:
        bad = next(v for v in values.tolist() if v != np.floor(v) or abs(v) >= 2**62)
        raise InputError(f"the {what}: expected whole numbers as grades, got {bad!r}")
    return grades
