"""Shapes: tells what an object is, by its type and its first element. No other file asks so."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cranfield.formats.columns import COLUMNS, NAMES, ColumnsLike, Side, plain_name
from cranfield.options import is_whole_number

READ_ONCE_HINT = "Was it read already? An iterator is read once: give list(...) of it, or a table."
Kind = str  # what an object is: a name in `_KINDS`


class ArrowTable(Protocol):
    """A table that exports Arrow data by the PyCapsule interface: pandas, polars, pyarrow, ..."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an Arrow stream."""


class LazyTable(Protocol):
    """A table that is not computed yet: a polars LazyFrame."""

    def collect(self) -> Any:
        """Return the table."""


class Sparse(Protocol):
    """One of scipy's sparse matrices or arrays."""

    def tocoo(self) -> Any:
        """Return the entries by row and column."""


#: {module: name of the method that returns the table of an object from it}.
_TABLE_METHODS = {
    "polars.lazyframe": "collect",
    "dask.dataframe": "compute",
    "pyarrow._dataset": "to_table",
}


def is_table(data: object) -> TypeGuard[ArrowTable]:
    """Tell whether the object exports Arrow data, or will once it is collected."""
    if hasattr(data, "__arrow_c_stream__") or find_table_method(data) is not None:
        return True
    is_hugging_face = type(data).__module__.startswith("datasets.")  # and no stream of rows
    return is_hugging_face and hasattr(data, "with_format") and hasattr(data, "__len__")


def is_stream(data: object) -> TypeGuard[ArrowTable]:
    """Tell whether the object gives Arrow data once, as a RecordBatchReader: without length."""
    is_one_way = hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_reader")  # of a Scanner
    return is_one_way and not hasattr(data, "__len__")


def find_table_method(data: object) -> Callable[[], Any] | None:
    """Return the method that returns the table of a lazy frame, a Scanner or a Dataset; or None."""
    module = type(data).__module__
    names = (name for prefix, name in _TABLE_METHODS.items() if module.startswith(prefix))
    return getattr(data, next(names, ""), None)


def is_sparse(data: object) -> TypeGuard[Sparse]:
    """Tell whether the object is one of scipy's sparse matrices or arrays."""
    return type(data).__module__.startswith("scipy.sparse") and hasattr(data, "tocoo")


def _is_series(candidate: Any) -> bool:
    """Tell whether an object is one column: a Series of pandas or polars, an array of Arrow."""
    is_arrow = hasattr(candidate, "to_pylist") and not hasattr(candidate, "column_names")
    return is_arrow or hasattr(candidate, "to_frame")


def _is_tensor(candidate: Any) -> bool:
    """Tell whether an object is a tensor: of PyTorch, TensorFlow, JAX and others."""
    exports_numbers = callable(getattr(candidate, "__dlpack__", getattr(candidate, "__array__", 0)))
    return exports_numbers and not hasattr(candidate, "iloc") and getattr(candidate, "ndim", 0) > 0


ROW_METHODS = {Side.QRELS: "qrels_iter", Side.RUN: "scoreddocs_iter"}  # of data sets of ir_datasets
_KINDS: Sequence[tuple[Kind, Callable[[Any], bool]]] = (  # the first that is true
    ("text", lambda candidate: isinstance(candidate, str | bytes)),
    ("whole number", is_whole_number),
    ("fraction", lambda candidate: isinstance(candidate, float | np.floating)),
    ("flag", lambda candidate: isinstance(candidate, bool | np.bool_)),
    (
        "number",
        lambda candidate: hasattr(candidate, "__float__") and not hasattr(candidate, "ndim"),
    ),
    ("scalar", lambda candidate: hasattr(candidate, "__float__") and candidate.ndim == 0),
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
    (
        "collection",
        lambda candidate: any(hasattr(candidate, name) for name in ROW_METHODS.values()),
    ),
    ("row", lambda row: any(hasattr(row, name) for name in ("_fields", "query_id", "keys"))),
    ("tuple", lambda candidate: isinstance(candidate, tuple)),
    ("list", lambda candidate: isinstance(candidate, list)),
    ("file", lambda candidate: hasattr(candidate, "read")),
    ("iterator", lambda candidate: isinstance(candidate, Iterator)),
    (
        "object",
        lambda candidate: bool(list_fields(candidate)) and not isinstance(candidate, Collection),
    ),
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
    whole_kinds = ("text", "dict", "set", "table", "file", "sparse", "scalar")
    if kind_of(elements) in whole_kinds or not isinstance(elements, Iterable):
        return {"other"}
    example_of_type = {type(element): element for element in elements}
    return {*map(kind_of, example_of_type.values())}


def is_object(value: Any) -> bool:
    """Tell whether a value has named fields, as keys or attributes: it is no id, list or array."""
    return kind_of(value) in ("dict", "row", "object")


def holds_objects(value: Any) -> bool:
    """Tell whether a value is a list of objects, by its first element."""
    return kind_of(value) in ("list", "tuple") and len(value) > 0 and is_object(value[0])


def first_of(container: Any) -> Any:
    """Return the first element of a list, or value of a dict, that is not empty; else None."""
    for member in container.values() if kind_of(container) == "dict" else container:
        if type(member) is dict and member:
            return member  # as most often
        if kind_of(member) in ("sparse", "scalar") or getattr(member, "__len__", lambda: 1)():
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


def to_python(value: Any) -> Any:
    """Return an array or a tensor as a list, or as a number; any other value unchanged.

    Masked cells of numpy's masked arrays (n,) are left out: there is nothing.
    """
    array = as_array(value)
    return value if array is None else to_list(getattr(array, "compressed", lambda: array)())


def list_fields(row: Any) -> list[str]:
    """Return the names of the fields of an object: keys, or attributes of its own."""
    attributes = getattr(row, "_fields", None) or getattr(row, "__dict__", None)
    names: Any = attributes or getattr(row, "__slots__", ())
    return [*map(str, row.keys() if hasattr(row, "keys") else names)]


def as_array(data: Any) -> NDArray[Any] | None:
    """Return an array or a tensor as an array of numpy of the same shape; None for other objects.

    Gradients stay behind; bfloat16, which numpy lacks, becomes float32, exactly.
    """
    if isinstance(data, np.ndarray) or kind_of(data) not in ("tensor", "scalar"):
        return data if isinstance(data, np.ndarray) else None
    for step in ("detach", "cpu"):
        data = getattr(data, step, lambda tensor=data: tensor)()
    if str(getattr(data, "dtype", "")) == "torch.bfloat16":
        data = data.float()
    return np.asarray(data)


def find_form(data: Any) -> tuple[int, str] | None:
    """Return the dimensions, 1 or 2, of numbers in an array or lists, and their kind as in numpy.

    The kind is "f" where a number is a fraction or None, "b" where all are truth values, else "i".
    None for what is empty, has other dimensions, or holds anything else.
    """
    array = as_array(data)
    if array is not None and array.dtype != object:
        is_form = array.ndim in (1, 2) and array.dtype.kind in "biuf" and array.size > 0
        return (array.ndim, array.dtype.kind.replace("u", "i")) if is_form else None
    is_nested = isinstance(data, list) and kinds_in(data) <= {"list", "array"}
    rows = data if is_nested else [data]
    if not isinstance(data, list) or kind_of(next(chain(*rows[:1]), None)) == "text":
        return None  # for ids, of which there may be many
    kinds = kinds_in(chain.from_iterable(rows))
    if not set() < kinds <= {"fraction", "null", "flag", "whole number"}:
        return None
    has_fractions = kinds & {"fraction", "null"}
    return 1 + is_nested, "f" if has_fractions else "b" if kinds == {"flag"} else "i"


def read_path(owner: Any, path: str) -> Any:
    """Return the value at a path of keys and attributes, `metadata.source`; None without one.

    A key of exactly that name comes first. `*` is every element of a list, or every value of a
    dict: the value is a list then.
    """
    if isinstance(owner, Mapping) and path in owner:
        return owner[path]
    step, _, inner_path = path.partition(".")
    if step == "*":
        if not isinstance(owner, Mapping | list | tuple):
            return None
        members = owner.values() if isinstance(owner, Mapping) else owner
        return [read_path(member, inner_path) if inner_path else member for member in members]
    if isinstance(owner, Mapping) or hasattr(owner, "keys"):  # some responses are no Mapping
        value = owner[step] if step in owner.keys() else None  # noqa: SIM118
    else:
        value = getattr(owner, step, None)
    if callable(value):
        return None
    return read_path(value, inner_path) if inner_path else value


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
    numbers = {"fraction", "number", "scalar"}
    are_cells = kinds <= {"text", "whole number", "flag", *numbers} and not kinds <= numbers
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
    query_names = {*NAMES["query"], (columns or {}).get("query_id")}
    names_of_row = [*list_fields(row), *(["query_id"] if hasattr(row, "query_id") else [])]
    field = next((name for name in names_of_row if {name, plain_name(name)} & query_names), None)
    queries = set() if field is None else {str(read_path(row, field)) for row in rows}
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
        data = [*data]
    if not isinstance(data, list):
        return None
    lists = [*map(to_python, data)]
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
    raise side.error(
        f"lists with only {kind}s, as {lists[0]!r:.60}: is each one a row, or the "
        "documents of one query?",
        hint=f"Write lists of ids with their queries: {{{examples}{ellipsis}}}; rows are tuples: "
        f"(query_id, doc_id, {side.number_name}). If qrels and run are both such lists, or both "
        "JSON files of them, they are read as lists of ids.",
        kind="columns",
    )


_N_EXAMPLES = 2  # lists that the hint above shows
