"""Writing: turns columns of ids and numbers into lines of text, for the formats that write rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import InputError
from cranfield.formats.block import Block, Role
from cranfield.formats.columns import COLUMNS, sort_roles
from cranfield.formats.text import BYTE_ORDER_MARK

if TYPE_CHECKING:
    import pyarrow as pa


class NotTextError(Exception):
    """Some identifiers are not UTF-8, and columns of text cannot hold them."""


WHITE_SPACE = (b" ", b"\t", b"\n", b"\r", b"\v", b"\f")


def find_special_ids(ids: Ids, special_bytes: Sequence[bytes]) -> Iterable[bytes]:
    """Return the distinct ids if one of them may hold a special byte; else no id."""
    text = bytes(ids.to_arrow().buffers()[2] or b"")
    return dict.fromkeys(ids.to_list()) if any(byte in text for byte in special_bytes) else ()


def write_blank_separated(
    stream: IO[bytes],
    blocks: Iterable[Block],
    list_columns: Callable[[Block], list[Any]],
    separator: bytes,
) -> None:
    """Write blocks as lines of fields; InputError for an id that such lines cannot hold.

    `list_columns` returns the columns to write of a block: ids, numbers, or bytes that are the same
    in all rows.
    """
    is_first = True
    for block in blocks:
        if len(block) == 0:
            continue
        block_columns = (block.query, block.doc, *block.columns.values())
        for ids in (column for column in block_columns if isinstance(column, Ids)):
            for field in find_special_ids(ids, (*WHITE_SPACE, b"#")):
                if field.split() != [field]:
                    problem = "it holds white space"
                elif ids is block.query and field.startswith(b"#"):
                    problem = "a line that begins with # is a comment"
                else:
                    continue
                raise InputError(
                    f"the id {decode(field)!r} cannot be written in columns of text: {problem}",
                    hint="Write CSV, JSON, Parquet or Arrow instead.",
                    kind="id",
                ).locate(*block.locate_row(ids.to_list().index(field)))
        if is_first and block.query[0].startswith(BYTE_ORDER_MARK):
            stream.write(BYTE_ORDER_MARK)  # the first mark is read as the file's own
        is_first = False
        stream.write(join_columns(list_columns(block), separator))


def join_columns(columns: Sequence[Any], separator: bytes) -> memoryview:
    """Return lines of fields of columns: ids, numbers, or bytes that are the same in all lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = [
        pa.scalar(column, pa.large_binary())
        if isinstance(column, bytes)
        else column.to_arrow()
        if isinstance(column, Ids)
        else number_column(column).cast(pa.large_string()).view(pa.large_binary())
        for column in columns
    ]
    bare_lines = pc.binary_join_element_wise(*fields, pa.scalar(separator, pa.large_binary()))
    line_end = [pa.scalar(text, bare_lines.type) for text in (b"", b"\n")]  # a field, a separator
    lines = pc.binary_join_element_wise(bare_lines, *line_end)
    _, offsets, data = lines.buffers()
    bounds = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def number_column(numbers: Any) -> "pa.Array":
    """Return an array of numbers, (rows,), as an Arrow column of doubles or of whole numbers."""
    import pyarrow as pa

    kind = pa.float64() if numbers.dtype.kind == "f" else pa.int64()
    contiguous = np.ascontiguousarray(numbers, np.float64 if kind == pa.float64() else np.int64)
    return pa.Array.from_buffers(kind, len(contiguous), [None, pa.py_buffer(contiguous)])


def columns_by_name(block: Block) -> dict[str, Any]:
    """Return {name in a table: column} of a block, in the order in which columns are written."""
    ids: dict[Role, Any] = {"query": block.query}
    if "group" in block.columns:
        ids["group"] = block.columns["group"]  # as an id
    ids["doc"] = block.doc
    column_of_role = ids | {role: block.columns[role] for role in sort_roles(block.columns)}
    return {COLUMNS[role].public: column for role, column in column_of_role.items()}
