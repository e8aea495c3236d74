"""Python objects: dicts, and anything that hands out Arrow data (pandas, polars, pyarrow, ...)."""

import math
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.formats.block import LARGEST_GRADE, Block, Load
from cranfield.ids import Ids, decode
from cranfield.ranked import Floats, Ints

BLOCK_ROWS = 131_072

Nested = dict[str, dict[str, Any]]
# {query: {group: [{document: level}, ...]}}, a dict for each subgroup
Grouping = dict[str, dict[str, list[dict[str, float]]]]


class ArrowTable(Protocol):
    """A table that hands out Arrow data by the PyCapsule interface: pandas, polars, pyarrow, ..."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an Arrow stream."""


def is_table(data: object) -> TypeGuard[ArrowTable]:
    """Tell whether the object hands out Arrow data."""
    return hasattr(data, "__arrow_c_stream__")


# ---- dicts ----------------------------------------------------------------------------------


def nested_run(data: Mapping[Any, Any]) -> Nested:
    """Return {query: {document: score}} with text ids.

    A query's documents are a dict of scores, or a list, best first. A dict of dicts whose ids
    are text already is returned as it is, not copied.
    """
    if all(isinstance(ranking, Mapping) for ranking in data.values()):
        return _text_ids(data, "the run")
    ranked = {query: by_position(query, ranking) for query, ranking in data.items()}
    return _text_ids(ranked, "the run")


def nested_qrels(data: Mapping[Any, Any]) -> Nested:
    """Return {query: {document: grade}} with text ids; a query may have a set of documents."""
    graded = {
        query: docs if isinstance(docs, Mapping) else graded_one(docs)
        for query, docs in data.items()
    }
    return _text_ids(graded, "the qrels")


def judgment_groups(data: Mapping[Any, Any]) -> Grouping | None:
    """Return judgments in groups with text ids; None if the data are plain judgments."""
    if not any(map(_has_groups, data.values())):
        return None
    found: Grouping = {}
    for query, groups in _with_text_ids(data, "the qrels").items():
        if not _has_groups(groups):
            raise InputError(
                f"the qrels: query {query!r} has no groups, and others have",
                hint="Either every query has {group: {document: level}}, or {document: grade}.",
            )
        where = f"the qrels: query {query!r}"
        found[query] = {
            name: [
                _levels(part, f"{where}, group {name!r}")
                for part in (parts if isinstance(parts, list | tuple) else [parts])
            ]
            for name, parts in _with_text_ids(groups, where).items()
        }
    return found


def _has_groups(docs: object) -> bool:
    first = next(iter(docs.values()), None) if isinstance(docs, Mapping) else None
    return isinstance(first[0] if isinstance(first, list | tuple) and first else first, Mapping)


def _levels(part: object, where: str) -> dict[str, float]:
    if not isinstance(part, Mapping):
        raise InputError(f"{where}: expected {{document: level}}, got {part!r:.80}")
    if not part:
        raise InputError(f"{where}: holds no judgment")
    levels = _with_text_ids(part, where)
    for doc, level in levels.items():
        if not _is_number(level) or abs(level) > LARGEST_GRADE:
            raise InputError(f"{where}, document {doc!r}: expected a level, got {level!r:.80}")
    return levels


def graded_one(docs: object) -> dict[Any, int]:
    """Return {document: 1} of a set or list of relevant documents."""
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise InputError(
            f"expected {{document: grade}} or a set of relevant documents, got {docs!r:.80}"
        )
    listed = list(docs)
    try:
        graded = dict.fromkeys(listed, 1)
    except TypeError:
        raise InputError(f"a document's id is a text or a whole number, in {docs!r:.80}") from None
    if len(graded) < len(listed):
        raise InputError(f"a relevant document stands twice in {docs!r:.80}")
    return graded


def by_position(query: object, ranking: object) -> dict[Any, float]:
    """Return {document: score} that keeps the order of a list, best first."""
    if isinstance(ranking, Set | str | bytes | Mapping) or not isinstance(ranking, Iterable):
        raise InputError(
            f"query {query!r}: expected a list of documents, best first, got {ranking!r:.80}",
            hint="Either every query has a dict {document: score}, or every query has a list.",
        )
    docs = list(ranking)
    try:
        scores = {doc: -float(i) for i, doc in enumerate(docs)}
    except TypeError:
        raise InputError(
            f"query {query!r}: a document's id is a text or a whole number, in {ranking!r:.80}"
        ) from None
    if len(scores) < len(docs):
        seen: set[Any] = set()
        twice = next(doc for doc in docs if doc in seen or seen.add(doc))  # type: ignore[func-returns-value] # add() is None
        raise InputError(f"query {query!r}: the document {twice!r} stands twice in the ranking")
    return scores


def _text_ids(data: Mapping[Any, Mapping[Any, Any]], what: str) -> Nested:
    """Return the dict of dicts with text ids; whole numbers are their decimal text."""
    if _are_ids(data) and all(map(_are_ids, data.values())):
        return data  # type: ignore[return-value] # every key was seen to be a text
    return {
        query: _with_text_ids(docs, f"{what}: query {query!r}")
        for query, docs in _with_text_ids(data, what).items()
    }


def _are_ids(keys: Mapping[Any, Any]) -> bool:
    """Tell whether all keys are texts that an id may be."""
    try:
        return "" not in keys and "\0" not in "".join(keys)  # the quickest way to see it
    except TypeError:
        return False


def _with_text_ids(data: Mapping[Any, Any], where: str) -> dict[str, Any]:
    texts = {_as_text(key, where): value for key, value in data.items()}
    if len(texts) < len(data):
        raise InputError(f"{where}: two ids have the same text, as 1 and '1' do")
    return texts


def _as_text(key: Any, where: str) -> str:
    if isinstance(key, str):
        if not key or "\0" in key:
            raise InputError(f"{where}: the id {key!r} is empty or holds a null byte")
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(int(key))
    raise InputError(f"{where}: an id is a text or a whole number, got {key!r:.80}")


def scores_of(query: str, ranking: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return one query's scores as doubles, in the dict's order and lowest first: (documents,)."""
    try:
        # Twice as quick as numpy's own way, and does not take a text for a number.
        scores = np.frombuffer(struct.pack(f"{len(ranking)}d", *ranking.values()))
    except (struct.error, TypeError, OverflowError):
        scores = np.array([np.nan])
    in_order = scores.copy()
    in_order.sort()
    if in_order[-1] != in_order[-1]:  # not-a-number sorts last
        doc, score = next((d, s) for d, s in ranking.items() if not _is_number(s))
        raise InputError(
            f"query {query!r}, document {doc!r}: expected a number as the score, got {score!r:.80}"
        )
    return scores, in_order


def _is_number(value: Any) -> bool:
    try:
        struct.pack("d", value)
        return not math.isnan(value)
    except (struct.error, TypeError, OverflowError):
        return False


def grades_of(values: Iterable[Any]) -> Ints | None:
    """Return grades as whole numbers; None if one of them is none."""
    listed = list(values)
    grades: NDArray[Any]
    try:
        grades = np.frombuffer(array("q", listed), np.int64)  # quick; takes whole numbers only
    except (TypeError, OverflowError):
        try:
            grades = np.array(listed)
        except (ValueError, OverflowError):
            return None
    return whole_numbers(grades)


def whole_numbers(values: NDArray[Any]) -> Ints | None:
    """Return grades as 64-bit integers if nothing is lost by it and none is absurd, else None."""
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        return None
    fits = (values <= LARGEST_GRADE) & (values >= -LARGEST_GRADE)  # not-a-number does not
    if not fits.all() or (values.dtype.kind == "f" and (values != np.floor(values)).any()):
        return None
    return values.astype(np.int64, copy=False)


# ---- Arrow data -----------------------------------------------------------------------------


class TableRows:
    """The rows of Arrow data with columns query_id and doc_id, and values in another.

    `what` is "run" or "qrels". Raises InputError for what cannot be read.
    """

    def __init__(self, data: ArrowTable, what: str) -> None:
        import pyarrow as pa

        self._what = what
        try:
            # Not pa.table(), which imports pandas wherever it is installed.
            self._table = pa.RecordBatchReader.from_stream(data).read_all()
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise self._unreadable(error) from None
        self._query, self._doc = self._column("query_id", _ids), self._column("doc_id", _ids)
        if len(self._query) == 0:
            raise InputError(f"the {what}: holds no rows")

    def blocks(self, value_name: str, *, required: bool = True) -> Iterator[Load]:
        """Yield blocks with the values of a column; without values if it need not be there."""
        value = None
        if required or value_name in self._table.column_names:
            value = self._column(value_name, _values)
        begins = self._query.begins()
        begin = 0
        while begin < len(self._query):
            after = np.searchsorted(begins, begin + BLOCK_ROWS)
            end = int(begins[after]) if after < len(begins) else len(self._query)
            yield partial(_slice, self._query, self._doc, value, begin, end)
            begin = end

    def _column(self, name: str, read: Callable[[Any, str, str], Any]) -> Any:
        """Read a column that must be there, once."""
        import pyarrow as pa

        names = self._table.column_names
        if names.count(name) != 1:
            problem = "has two columns" if name in names else "has no column"
            raise InputError(
                f"the {self._what}: {problem} {name!r}; "
                f"its columns are {', '.join(map(repr, names))}",
                hint="A run has query_id, doc_id and score (or rank), qrels have query_id, doc_id "
                "and relevance.",
            )
        try:
            return read(self._table.column(name), name, self._what)
        except pa.ArrowException as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"the {self._what}: cannot be read as a table: {error}")


def _slice(query: Ids, doc: Ids, value: Floats | Ints | None, begin: int, end: int) -> Block:
    def where(row: int) -> tuple[None, str]:
        q, d = (decode(column[begin + row]) for column in (query, doc))
        return None, f"row {begin + row}: query {q!r}, document {d!r}"

    rows = slice(begin, end)
    values = None if value is None else value[rows]
    return Block(query.take(rows), doc.take(rows), values, None, where)


def _refuse_missing(column: Any, name: str, what: str) -> None:
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        count = f"{column.null_count} missing values, the first in row {row}"
        raise InputError(f"the {what}: column {name!r} has {count}")


def _ids(column: Any, name: str, what: str) -> Ids:
    import pyarrow as pa

    coded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if coded else column.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    data = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view()
    if not (texts or data or pa.types.is_integer(kind)):
        raise InputError(
            f"the {what}: column {name!r} holds {kind}, expected text or whole numbers"
        )
    _refuse_missing(column, name, what)

    def read(chunk: Any) -> Ids:
        if pa.types.is_integer(kind):
            chunk = chunk.cast(pa.large_string())
        return Ids.of_arrow(chunk.cast(pa.large_binary()))

    parts = [
        read(chunk.dictionary).take(np.from_dlpack(chunk.indices.cast(pa.int64())))
        if coded
        else read(chunk)
        for chunk in column.chunks
    ]
    ids = Ids.joined(parts or [Ids.of([])])
    spoilt = ids.find_spoilt()
    if spoilt is not None:
        raise InputError(
            f"the {what}: column {name!r}, row {spoilt}: the id {decode(ids[spoilt])!r} is empty "
            "or holds a null byte"
        )
    return ids


def _values(column: Any, name: str, what: str) -> Floats | Ints:
    import pyarrow as pa

    kind = column.type
    _refuse_missing(column, name, what)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"the {what}: column {name!r} holds {kind}, expected numbers")
    as_float = name == "score" or pa.types.is_floating(kind)
    # A whole number beyond 2^53 becomes the nearest double, as a score in a dict does.
    column = column.cast(pa.float64() if as_float else pa.int64(), safe=not as_float)
    dtype = np.float64 if as_float else np.int64
    chunks = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), 8 * chunk.offset)
        for chunk in column.chunks
        if len(chunk)
    ]
    values = np.concatenate([*chunks, np.zeros(0, dtype)])
    if name == "score":
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise InputError(f"the {what}: row {row} has no number (NaN) as its score")
        return values
    numbers = whole_numbers(values)
    if numbers is None:
        row = next(i for i in range(len(values)) if whole_numbers(values[i : i + 1]) is None)
        raise InputError(
            f"the {what}: row {row}: expected a whole number as the {name}, got {values[row]}"
        )
    return numbers
