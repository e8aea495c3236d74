"""Lists in Arrow's columns, flattened; and lists of structs."""

from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.ranked import Bools, Ints

if TYPE_CHECKING:
    import pyarrow as pa


def find_structs(schema: "pa.Schema") -> dict[str, list[str]]:
    """Return the columns of lists of structs, and the fields of these."""
    return {
        column.name: [field.name for field in column.type.value_type]
        for column in schema
        if is_list_type(column.type) and str(column.type.value_type).startswith("struct<")
    }


def is_list_type(kind: "pa.DataType") -> bool:
    """Tell whether a column of this type holds lists."""
    import pyarrow as pa

    tests = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def flatten_lists(column: "pa.Array") -> "tuple[pa.Array, Ints, Bools | None] | None":
    """Return the elements of all lists, the length of each list, and which lists are null.

    A null list has length 0; the third value is None if no list is null. None for a column that
    does not hold lists.
    """
    import pyarrow as pa

    kind = column.type
    if not is_list_type(kind):
        return None
    if pa.types.is_fixed_size_list(kind):
        lengths = np.full(len(column), kind.list_size, np.int64)
    elif "view" in str(kind).partition("<")[0]:
        lengths = np.array(np.from_dlpack(column.sizes.cast(pa.int64())))
    else:
        lengths = np.diff(np.from_dlpack(column.offsets.cast(pa.int64())))
    is_null = None
    if column.null_count:
        nulls = column.is_null().cast(pa.uint8())
        is_null = np.from_dlpack(nulls).astype(np.bool_)
        lengths[is_null] = 0
    return column.flatten(), lengths, is_null


def extract_field(column: "pa.Array", name: str) -> "pa.Array":
    """Return lists of one field of lists of structs."""
    import pyarrow as pa

    flat_lists = flatten_lists(column)
    assert flat_lists is not None  # noqa: S101 - `fields_of` has looked at its type
    elements, lengths, is_null = flat_lists
    position = [field.name for field in elements.type].index(name)
    ends = np.append(0, np.cumsum(lengths))
    offsets = pa.Array.from_buffers(pa.int64(), len(ends), [None, pa.py_buffer(ends)])
    mask = None if is_null is None else column.is_null()
    return pa.LargeListArray.from_arrays(offsets, elements.flatten()[position], mask=mask)
