"""Shapes: tells what an object is, by its type and its first element, and rewrites it plainly.

No other file asks so. A shape that no reader takes is rewritten into one that is read: `plain`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.formats.columns import COLUMNS, NAMES, ColumnsLike, Side, plain_name, roles_of
from cranfield.formats.envelopes import HEADS, is_object, open_envelope, read_path
from cranfield.formats.frames import READ_ONCE_HINT, is_sparse, is_table
from cranfield.formats.json_text import DuplicatePairs
from cranfield.options import is_whole_number

Kind = str  # what an object is: a name in `_KINDS`, or "other"


def _is_series(candidate: Any) -> bool:
    """Tell whether an object is one column: a Series of pandas or polars, an array of Arrow."""
    is_arrow = hasattr(candidate, "to_pylist") and not hasattr(candidate, "column_names")
    return is_arrow or hasattr(candidate, "to_frame")


def _is_tensor(candidate: Any) -> bool:
    """Tell whether an object is a tensor: of PyTorch, TensorFlow, JAX and others."""
    exports_numbers = callable(getattr(candidate, "__dlpack__", getattr(candidate, "__array__", 0)))
    return exports_numbers and not hasattr(candidate, "iloc") and getattr(candidate, "ndim", 0) > 0


_METHODS = {Side.QRELS: "qrels_iter", Side.RUN: "scoreddocs_iter"}  # of data sets of ir_datasets
_KINDS: Sequence[tuple[Kind, Callable[[Any], bool]]] = (  # the first that is true
    ("text", lambda candidate: isinstance(candidate, str | bytes)),
    ("whole number", is_whole_number),
    ("fraction", lambda candidate: isinstance(candidate, float | np.floating)),
    ("flag", lambda candidate: isinstance(candidate, bool | np.bool_)),
    ("null", lambda candidate: candidate is None),
    ("path", lambda candidate: isinstance(candidate, os.PathLike)),
    ("sparse", is_sparse),  # some are dicts
    ("dict", lambda candidate: isinstance(candidate, Mapping)),
    ("set", lambda candidate: isinstance(candidate, Set)),
    ("records", lambda candidate: bool(getattr(getattr(candidate, "dtype", 0), "names", 0))),
    ("array", lambda candidate: isinstance(candidate, np.ndarray)),
    ("series", _is_series),
    ("table", is_table),
    ("tensor", _is_tensor),
    ("collection", lambda candidate: any(hasattr(candidate, name) for name in _METHODS.values())),
    ("row", lambda candidate: hasattr(candidate, "_fields") or hasattr(candidate, "query_id")),
    ("tuple", lambda candidate: isinstance(candidate, tuple)),
    ("list", lambda candidate: isinstance(candidate, list)),
    ("file", lambda candidate: hasattr(candidate, "read")),
    ("iterator", lambda candidate: isinstance(candidate, Iterator)),
    ("other", lambda candidate: True),
)
_KIND_OF_TYPE: Mapping[type, Kind] = {  # of most objects, at once
    usual_type: next(kind for kind, is_kind in _KINDS if is_kind(usual_type()))
    for usual_type in (dict, list, tuple, str, int, float, bool)
} | {type(None): "null"}


def kind_of(candidate: object) -> Kind:
    """Return what an object is: a container by its type, a number, a text, a row, or "other"."""
    kind = _KIND_OF_TYPE.get(type(candidate))
    return kind or next(kind for kind, is_kind in _KINDS if is_kind(candidate))


def kinds_in(elements: Any) -> set[Kind]:
    """Return the kinds of all elements, one of each type is looked at; {"other"} if it has none."""
    whole_kinds = ("text", "dict", "set", "table", "file", "sparse")
    if kind_of(elements) in whole_kinds or not isinstance(elements, Iterable):
        return {"other"}
    example_of_type = {type(element): element for element in elements}
    return {*map(kind_of, example_of_type.values())}


def first_of(container: Any) -> Any:
    """Return the first element of a list, or value of a dict, that is not empty; else None."""
    for member in container.values() if kind_of(container) == "dict" else container:
        if type(member) is dict and member:
            return member  # as most often
        if is_sparse(member) or getattr(member, "__len__", lambda: 1)():
            return member
    return None


def are_files(data: Any) -> bool:
    """Tell whether the data are a list of paths and open files."""
    is_list = kind_of(data) in ("list", "tuple") and len(data) > 0
    return is_list and kinds_in(data) <= {"text", "path", "file"}


def is_sequence(candidate: object) -> bool:
    """Tell whether an object has elements in order, as a list has: not a string, dict or set."""
    if kind_of(candidate) in ("text", "dict", "set") or getattr(candidate, "ndim", 1) == 0:
        return False  # an array without dimensions is a number
    return isinstance(candidate, Iterable)


def to_list(column: Any) -> list[Any]:
    """Return the elements of a list, array or column as Python objects."""
    names = ("to_pylist", "tolist", "to_list")  # of Arrow; numpy and pandas; polars
    read = next((getattr(column, name) for name in names if hasattr(column, name)), None)
    elements: list[Any] = list(column) if read is None else read()
    return elements


def as_array(data: Any) -> NDArray[Any] | None:
    """Return an array or a tensor as an array of numpy of the same shape; None for other objects.

    Gradients stay behind; bfloat16, which numpy lacks, becomes float32, exactly.
    """
    if kind_of(data) != "tensor":
        return data if isinstance(data, np.ndarray) else None
    for step in ("detach", "cpu"):
        data = getattr(data, step, lambda tensor=data: tensor)()
    if str(getattr(data, "dtype", "")) == "torch.bfloat16":
        data = data.float()
    return np.asarray(data)


# ---- rows, tables and lists of ids ---------------------------------------------------------------


def is_row(candidate: Any) -> bool:
    """Tell whether the object is a row: two or three ids and numbers, or cells with names."""
    kind = kind_of(candidate)
    if kind == "dict":
        query_paths = (path for path in NAMES["query"] if "." in path)
        if any(read_path(candidate, path) is not None for path in query_paths):
            return True
        has_cells = kinds_in(candidate.values()) - {"dict", "list", "tuple", "set"}
        column = COLUMNS["doc"]
        has_lists = all(
            not candidate.keys().isdisjoint([*column.list_names[side], column.name_if_lists[side]])
            for side in (Side.QRELS, Side.RUN)
        )
        return bool(has_cells or has_lists) and all(isinstance(name, str) for name in candidate)
    if kind not in ("list", "tuple"):
        return kind == "row"
    kinds = kinds_in(candidate)
    are_cells = kinds <= {"text", "whole number", "fraction", "flag"} and kinds != {"fraction"}
    return len(candidate) in (2, 3) and are_cells


def hold_queries(rows: Any, names: Iterable[Any], columns: ColumnsLike | None) -> bool:
    """Tell whether rows say their queries, so that {name: rows} are runs; `names` are all names.

    They are tuples (query, document, number), or have a field of queries. Dicts which repeat the
    name, or the text of a query, are documents of one query.
    """
    row: Any = first_of(rows) if kind_of(rows) in ("list", "tuple") else None
    if kind_of(row) in ("list", "tuple"):
        *ids, number = map(kind_of, row)
        are_ids = len(ids) == 2 and {*ids} <= {"text", "whole number"}
        queries = {str(row[0]) for row in rows}
        is_query_of_name = len(queries) == 1 and not queries.isdisjoint(map(str, names))
        return are_ids and number in ("whole number", "fraction") and not is_query_of_name
    if kind_of(row) != "dict":
        return hasattr(row, "query_id")
    query_names = {*NAMES["query"], (columns or {}).get("query_id")}
    field = next((name for name in row if {name, plain_name(str(name))} & query_names), None)
    queries = {str(row.get(field)) for row in rows if field is not None}
    return len(queries) > 1 or (str(field).endswith("id") and queries.isdisjoint(map(str, names)))


def has_columns(data: Any) -> bool:
    """Tell whether the data may be a table of named columns: a file, a frame, a list of dicts."""
    if kind_of(data) != "list":
        return kind_of(data) in ("text", "path", "file", "table", "records")
    has_names = len(data) > 0 and (isinstance(data[0], Mapping) or hasattr(data[0], "_fields"))
    return has_names and is_row(data[0])


def list_tables(data: Any) -> list[tuple[str | None, Any]] | None:
    """Return (name, table) of each table of a dict, or (None, table) of a list; else None."""
    if isinstance(data, dict) and data and all(map(has_columns, data.values())):
        return [(str(name), table) for name, table in data.items()]
    if isinstance(data, list | tuple) and data and all(map(has_columns, data)):
        return [(None, table) for table in data]
    return None


def list_ids(data: Any) -> list[Any] | None:
    """Return the elements of a list if all are lists of ids, None for any other data.

    Lists of ids are lists, sets or arrays, not tuples, all of whole numbers or all of texts; or the
    rows of a NumPy array of two dimensions. Arrays become lists.

    >>> list_ids([[1, 3], []]), list_ids([("q1", "d1", 1)])
    ([[1, 3], []], None)
    """
    if isinstance(data, np.ndarray) and (data.ndim == 2 or data.dtype == object):
        data = data.tolist()
    if not isinstance(data, list):
        return None
    lists = [ids.tolist() if isinstance(ids, np.ndarray) and ids.ndim else ids for ids in data]
    if not set() < kinds_in(lists) <= {"list", "set"}:
        return None
    kinds = kinds_in(chain.from_iterable(lists))
    return lists if not kinds or kinds in ({"text"}, {"whole number"}) else None


def refuse_lists_of_ids(data: Any, side: Side) -> None:
    """Raise InputError for lists that may be rows or rankings.

    Each of `list_ids` may be a row (query, document, number) with numbers as ids, or the
    documents of one query. If both sides are lists of ids, they are documents.
    """
    lists = list_ids(data)
    if lists is None or not any(lists):
        return
    (kind,) = kinds_in(chain.from_iterable(lists))
    examples = ", ".join(f"'{i}': {ids!r:.40}" for i, ids in enumerate(lists[:_N_EXAMPLES], 1))
    ellipsis = ", ..." if len(lists) > _N_EXAMPLES else ""
    raise InputError(
        f"lists with only {kind}s, as {lists[0]!r:.60}: is each one a row, or the "
        "documents of one query?",
        source=side.name_in_errors,
        hint=f"Write lists of ids with their queries: {{{examples}{ellipsis}}}; rows are tuples: "
        f"(query_id, doc_id, {side.number_name}). If qrels and run are both such lists, or both "
        "JSON files of them, they are read as lists of ids.",
        kind="columns",
    )


_N_EXAMPLES = 2  # lists that the hint above shows


# ---- shapes rewritten into plain ones -----------------------------------------------------------


def plain(data: Any, side: Side) -> Any:
    """Return the data in a shape that is read: rewritten until no rewriting changes it.

    Raises InputError for an iterator without rows, and where a shape has two readings.
    """
    if type(data) is dict:  # what is given most often, and must cost least
        first_docs = next(iter(data.values()), None)
        if type(first_docs) is dict and type(next(iter(first_docs.values()), 0)) in (float, int):
            names = data.keys(), first_docs.keys()
            if names[0].isdisjoint(HEADS) and names[1].isdisjoint(HEADS):
                return data
    for _ in range(_MOST_ROUNDS):
        rewritings = _REWRITINGS.get(kind_of(data), ())
        shapes = (shape for rewrite in rewritings if (shape := rewrite(data, side)) is not data)
        data_above, data = data, next(shapes, data)
        if data is data_above:
            break
    return data


def _read_series(series: Any, side: Side) -> Any:
    """Return a Series as {index: cell}; two index levels as a table; numbers as a list.

    A Series without an index, as those of polars and Arrow, is a list.
    """
    index: Any = getattr(series, "index", None)
    n_levels = getattr(index, "nlevels", 0)
    if n_levels > 1:
        column_names = {name for role in roles_of(side) for name in COLUMNS[role].names_for(side)}
        plain_names = [plain_name(str(name)) for name in (*index.names, series.name)]
        begins_with_doc = plain_names[0] in NAMES["doc"] or plain_names[1] in NAMES["query"]
        usual_names = ["doc_id", "query_id"] if begins_with_doc else ["query_id", "doc_id"]
        usual_names = [*(usual_names if n_levels == 2 else index.names), side.number_name]
        *level_names, number_name = (
            name if name in column_names else usual_name
            for name, usual_name in zip(plain_names, usual_names, strict=True)
        )
        return series.rename_axis(level_names).reset_index(name=number_name)
    cells = to_list(series)
    if not n_levels or kinds_in(cells) <= {"whole number", "fraction", "flag"}:
        return cells
    if index.is_unique:
        return dict(zip(to_list(index), cells, strict=True))
    raise InputError(
        f"the Series has {index[index.duplicated()][0]!r:.80} twice in its index",
        source=side.name_in_errors,
        hint="A query has one list. Rows are a table: series.reset_index().",
    )


def _hold_iterator(iterator: Iterator[Any], side: Side) -> list[Any]:
    """Return the rows of an iterator as a list; InputError for one without rows, or of tables."""
    rows, hint = list(iterator), READ_ONCE_HINT
    if rows and kind_of(rows[0]) != "table":
        return rows
    problem = "holds no rows"
    if rows:
        problem = "an iterator of tables: parts of one table, or several tables?"
        hint = "Parts: pandas.concat(tables), polars.concat(tables); several: list(tables)."
    raise InputError(problem, source=side.name_in_errors, hint=hint)


def _spell_docs_of_queries(docs_of_query: Mapping[Any, Any], side: Side) -> Mapping[Any, Any]:
    """Return {query: documents} with {index: number} for Series of numbers, lists for iterators.

    Raises InputError if no document is left of iterators.
    """
    kinds = kinds_in(docs_of_query.values())
    if kinds.isdisjoint(("series", "iterator")):
        return docs_of_query
    new_docs = {query: _spell_docs(docs, side) for query, docs in docs_of_query.items()}
    if "iterator" in kinds and first_of(new_docs) is None:
        raise InputError("holds no documents", source=side.name_in_errors, hint=READ_ONCE_HINT)
    return new_docs


def _spell_docs(docs: Any, side: Side) -> Any:
    """Return the documents of a query, an iterator as a list, and a Series of numbers as a dict.

    The index of the Series has to say the documents. Raises InputError where its cells may, too.
    """
    if kind_of(docs) != "series":
        return list(docs) if kind_of(docs) == "iterator" else docs
    cells, index = to_list(docs), to_list(getattr(docs, "index", ()))
    kinds = kinds_in(cells)
    if not kinds <= {"whole number", "fraction"} or index in ([], [*range(len(cells))]):
        return docs
    if kinds_in(index) == {"tuple"}:  # of several levels: a run
        return docs
    if kinds == {"whole number"} and kinds_in(index) == {"whole number"}:
        raise InputError(
            f"a Series of whole numbers, whose index is {index[0]!r}, ...: which are the ids?",
            source=side.name_in_errors,
            hint="Its index: series.to_dict(); its cells: series.tolist().",
        )
    return dict(zip(index, cells, strict=True))


def _spell_pairs(pairs_of_query: Mapping[Any, Any], side: Side) -> Mapping[Any, Any]:
    """Return {query: {document: number}} of {query: [(document, number), ...]}, in either order.

    Of (object, number), as vector stores return them, the objects are kept, in their order. Lists
    of two whole numbers, which may be ids, and other dicts are returned unchanged. Raises
    InputError for tuples of two whole numbers.
    """
    lists, first_list = pairs_of_query.values(), first_of(pairs_of_query)
    list_kinds = {"list", "tuple", "set"}
    first_pair = next(iter(first_list)) if kind_of(first_list) in list_kinds else None
    if not isinstance(first_pair, list | tuple) or not kinds_in(lists) <= list_kinds:
        return pairs_of_query
    pairs = [*chain.from_iterable(lists)]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        return pairs_of_query
    kinds = [*map(kinds_in, zip(*pairs, strict=True))]
    for id_kind in ("text", "whole number"):
        if (kinds[0] == {id_kind}) != (kinds[1] == {id_kind}):
            doc = 0 if kinds[0] == {id_kind} else 1
            return {
                query: _to_unique([(pair[doc], pair[1 - doc]) for pair in query_pairs])
                for query, query_pairs in pairs_of_query.items()
            }
    if is_object(first_pair[0]) and kinds[1] <= {"whole number", "fraction"}:
        # As stores of vectors return them, where the number may be a distance: the order counts.
        return {query: [pair[0] for pair in pairs] for query, pairs in pairs_of_query.items()}
    if isinstance(first_pair, tuple) and kinds[0] == {"whole number"}:
        raise InputError(
            f"pairs of whole numbers, as {first_pair}: which is the document, which the "
            f"{side.role}?",
            source=side.name_in_errors,
            hint=f"Write {{query: {{document: {side.role}}}}}.",
        )
    return pairs_of_query


def _to_unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any] | DuplicatePairs:
    """Return pairs as a dict, or as they are if a document occurs twice."""
    number_of_doc = dict(pairs)
    return number_of_doc if len(number_of_doc) == len(pairs) else DuplicatePairs(pairs)


def _refuse_pairs_of_lists(pairs: Sequence[Any], side: Side) -> Sequence[Any]:
    """Return a list; InputError for pairs of lists, which may be ranked and relevant documents."""
    first = pairs[0] if pairs else None
    if not isinstance(first, tuple) or len(first) != 2 or not kinds_in(first) <= {"list", "array"}:
        return pairs
    calls = [
        f"evaluate([labels for {order} in pairs], [ranked for {order} in pairs], ...)"
        for order in ("ranked, labels", "labels, ranked")
    ]
    raise InputError(
        f"pairs of lists, as {first!r:.60}: which comes first?",
        source=side.name_in_errors,
        hint=f"What was ranked, as in Spark: {calls[0]}; the labels: {calls[1]}.",
    )


# What returns another shape, or the same object where it does not apply; the first one counts.
_REWRITINGS: Mapping[Kind, Sequence[Callable[[Any, Side], Any]]] = {
    "tensor": [lambda tensor, side: as_array(tensor)],
    "series": [_read_series],
    "collection": [lambda data, side: getattr(data, _METHODS.get(side, ""), lambda: data)()],
    "iterator": [_hold_iterator],
    "dict": [_spell_docs_of_queries, open_envelope, _spell_pairs],
    "list": [open_envelope, _refuse_pairs_of_lists],
}
_MOST_ROUNDS = 4
