"""Arrow's columns of lists: flattens them, and extracts fields of lists of structs."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Ints

if TYPE_CHECKING:
    import pyarrow as pa


class FlatLists(NamedTuple):
    """A column of lists as its elements, (elements,), list after list.

    `n_elements` is the length of each list, (rows,), 0 of a null list; `is_null` is a mask of the
    null lists, (rows,), None if there is none.
    """

    elements: "pa.Array"
    n_elements: Ints
    is_null: Bools | None


def find_structs(schema: "pa.Schema") -> dict[str, list[str]]:
    """Return {column: names of its fields, and paths} for the columns of lists of structs."""
    return {
        column.name: _list_fields(column.type.value_type)
        for column in schema
        if is_list_type(column.type) and str(column.type.value_type).startswith("struct<")
    }


def _list_fields(struct: "pa.DataType") -> list[str]:
    """Return the names of a struct's fields; of a struct in it, the paths to its fields."""
    return [
        f"{field.name}.{name}" if name else field.name
        for field in struct
        for name in (_list_fields(field.type) if str(field.type).startswith("struct<") else [""])
    ]


def is_list_type(kind: "pa.DataType") -> bool:
    """Tell whether a column of this type holds lists."""
    import pyarrow as pa

    tests = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def flatten_lists(column: "pa.Array") -> FlatLists | None:
    """Return the lists in a column as one array of elements; None if it does not hold lists."""
    import pyarrow as pa

    kind = column.type
    if not is_list_type(kind):
        return None
    if pa.types.is_fixed_size_list(kind):
        n_elements = np.full(len(column), kind.list_size, np.int64)
    elif "view" in str(kind).partition("<")[0]:
        n_elements = np.array(np.from_dlpack(column.sizes.cast(pa.int64())))
    else:
        n_elements = np.diff(np.from_dlpack(column.offsets.cast(pa.int64())))
    is_null = None
    if column.null_count:
        nulls = column.is_null().cast(pa.uint8())
        is_null = np.from_dlpack(nulls).astype(np.bool_)
        n_elements[is_null] = 0
    return FlatLists(column.flatten(), n_elements, is_null)


def extract_field(column: "pa.Array", name: str) -> "pa.Array":
    """Return a column of lists of structs as lists of their field, by its name or its path."""
    import pyarrow as pa

    flat_lists = flatten_lists(column)
    assert flat_lists is not None  # noqa: S101 - `choose_fields` has looked at its type
    elements, n_elements, is_null = flat_lists
    while name:
        names = [field.name for field in elements.type]
        step = name if name in names else name.partition(".")[0]
        elements, name = elements.flatten()[names.index(step)], name[len(step) + 1 :]
    ends = np.append(0, np.cumsum(n_elements))
    offsets = pa.Array.from_buffers(pa.int64(), len(ends), [None, pa.py_buffer(ends)])
    mask = None if is_null is None else column.is_null()
    return pa.LargeListArray.from_arrays(offsets, elements, mask=mask)
