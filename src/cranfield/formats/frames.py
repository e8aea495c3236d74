"""Tables in memory as rows: objects that export Arrow data, and numpy and scipy arrays."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import Ids, decode, deduplicate_texts
from cranfield.errors import InputError
from cranfield.formats.batches import BYTES_METADATA, ArrowRows, refuse_bytes
from cranfield.formats.block import Errors, Role
from cranfield.formats.columns import COLUMNS, IDS, NO_COLUMN, TEXTS, ColumnsLike, Side, plain_name
from cranfield.formats.header import take_columns
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import (
    READ_ONCE_HINT,
    ArrowTable,
    Sparse,
    find_table_method,
    is_stream,
)
from cranfield.formats.source import Source, is_pipe
from cranfield.formats.stated_columns import take_statements
from cranfield.formats.systems import SYSTEMS
from cranfield.formats.values import is_number
from cranfield.formats.write import number_column

if TYPE_CHECKING:
    import pyarrow as pa


class TableRows(ArrowRows):
    """The rows of Arrow data, or of data converted to Arrow."""

    def __init__(
        self,
        table: "pa.Table",
        side: Side,
        user_columns: ColumnsLike | None,
        title: str,
        is_ranking: bool = False,
    ) -> None:
        if len(table) == 0:
            raise side.error("holds no rows")
        self._table = table
        super().__init__(table.schema, side, user_columns, side.name_in_errors, title)
        self.is_ranking = is_ranking
        self.n_rows = len(table)

    def read_side(self, side: Side, user_columns: ColumnsLike) -> "TableRows":
        """Return the rows of the same table as judgments, or as a run, with stated columns."""
        return TableRows(self._table, side, user_columns, self.description)

    def read_batches(self, positions: Sequence[int]) -> "Iterator[pa.RecordBatch]":
        """Yield the columns at these positions in batches, which share the table's memory."""
        yield from self._table.select(list(positions)).to_batches()


def arrow_table(data: ArrowTable, name: str) -> "pa.Table":
    """Return the table that an object exports as Arrow data; `name` is its name in errors."""
    import pyarrow as pa

    if (compute := find_table_method(data)) is not None:
        try:
            data = compute()
        except Exception as error:  # each library has error classes of its own
            raise InputError(f"cannot be collected: {error!s:.300}", source=name) from error
    elif not hasattr(data, "__arrow_c_stream__"):
        data = data.with_format("arrow")[:]  # type: ignore[attr-defined] # of Hugging Face, select()ed
    try:
        # Not pa.table(), which imports pandas wherever it is installed.
        table = pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        # Arrow's message includes the traceback of a Python error.
        messages = "; ".join(map(str, error.args))  # with the column's name
        message = messages.partition(". Detail: ")[0]
        problem = f"cannot be read as a table: {message:.300}"
        hint = None
        if any(word in message.lower() for word in ("mix", "expected bytes", "conver")):
            hint = "A column holds values of several types: ids are all texts or all whole numbers."
        raise InputError(problem, source=name, hint=hint) from None
    if len(table) == 0 and is_stream(data):
        raise InputError("holds no rows", source=name, hint=READ_ONCE_HINT)
    return table


def hold_stream(data: Any, name: str) -> Any:
    """Return the table of a stream, or the source of a pipe, to read it again; else the data."""
    if is_stream(data):
        return arrow_table(data, name)
    return Source(data) if is_pipe(data) else data


def make_table_rows(
    names: Sequence[str],
    convert_column: "Callable[[Role, int, Errors], pa.Array]",
    side: Side,
    user_columns: ColumnsLike | None,
    errors: Errors,
    title: str,
    is_ranking: bool = False,
) -> TableRows:
    """Return the rows of the columns that have a role; columns that may name systems stay, too.

    `convert_column` makes the Arrow column of a role from its position; `title` is as in ArrowRows.
    """
    import pyarrow as pa

    user_columns = take_statements(user_columns, names)
    positions = take_columns(names, side, user_columns, side.name_in_errors)
    columns = {
        names[position]: convert_column(role, position, errors)
        for role, position in positions.items()
    }
    # By name, since the positions of columns change below.
    stated_columns: dict[str, str | None] = {
        COLUMNS[role].public: names[position] for role, position in positions.items()
    }
    for name, column in (user_columns or {}).items():
        if column is NO_COLUMN:
            stated_columns[name] = None
    for position, name in enumerate(names):
        if plain_name(name) in SYSTEMS and name not in columns:
            with suppress(InputError):  # a field of dates
                columns[name] = convert_column("group", position, "skip")
    table = pa.table(columns, metadata=BYTES_METADATA)
    return TableRows(table, side, stated_columns, title, is_ranking)


def array_rows(
    data: NDArray[Any], side: Side, user_columns: ColumnsLike | None, errors: Errors
) -> TableRows:
    """Return the rows of a numpy structured array, whose fields are the columns."""
    names = [str(name) for name in data.dtype.names or ()]
    flat = data.ravel()

    def convert_column(role: Role, position: int, errors: Errors) -> "pa.Array":
        return _to_arrow_column(flat[names[position]], names[position], role, side, errors)

    return make_table_rows(names, convert_column, side, user_columns, errors, "structured array")


def _to_arrow_column(
    values: NDArray[Any], name: str, role: Role, side: Side, errors: Errors
) -> "pa.Array":
    """Return an array, (rows,), as an Arrow column; InputError for one of another shape or type.

    pa.array() of it would import pandas.
    """
    import pyarrow as pa

    kind = values.dtype.kind
    is_id = role in IDS
    if values.ndim > 1 or kind not in ("iufbSUO" if is_id else "iufbO"):
        shape = f"{values.shape[1:]} of " if values.ndim > 1 else ""
        expected = "text or whole numbers" if is_id else "numbers"
        raise side.error(
            f"field {name!r} holds {shape}{values.dtype}, expected {expected}", kind="columns"
        )
    if kind == "b":
        values = values.astype(np.int8)
    if values.dtype.kind in "iuf":
        contiguous = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        if kind == "f":
            return number_column(contiguous)
        arrow_type = getattr(pa, contiguous.dtype.name)()
        return pa.Array.from_buffers(arrow_type, len(contiguous), [None, pa.py_buffer(contiguous)])
    if kind == "S":
        refuse_bytes(pa.array(values.tolist(), pa.binary()), name, side.name_in_errors)
        return _texts_to_arrow(list(map(decode, values.tolist())))
    return list_to_arrow(values.tolist(), name, role, side, errors)


def read_each_row(
    rows: Iterable[Any],
    read: Callable[[Any], Any],
    placeholder: Any,
    kind: str,
    side: Side,
    errors: Errors,
) -> list[Any]:
    """Return the cells that `read` finds in the rows; `placeholder` for rows with a fault.

    With errors="strict", a fault is an InputError that names the row; `kind` is the kind of fault.
    """
    cells = []
    for i, row in enumerate(rows):
        try:
            cells.append(read(row))
        except InputError as error:
            if errors == "strict":
                problem, source = f"row {i}: {error.problem}", side.name_in_errors
                raise InputError(problem, source=source, hint=error.hint, kind=kind) from None
            cells.append(placeholder)
    return cells


def list_to_arrow(
    cells: Sequence[Any], name: str, role: Role, side: Side, errors: Errors
) -> "pa.Array":
    """Return ids or numbers as an Arrow column; faults raise, or become empty or NaN."""

    def check_number(cell: Any) -> Any:
        if is_number(cell):
            return cell
        raise InputError(f"expected a number in column {name!r}, got {cell!r:.80}")

    def check_id(cell: Any) -> str:
        is_empty = role in TEXTS and (cell in (None, "") or cell != cell)
        return "" if is_empty else to_id_text(cell, f"column {name!r}")

    if role in IDS:
        return _texts_to_arrow(read_each_row(cells, check_id, "", "id", side, errors))
    numbers = read_each_row(cells, check_number, np.nan, "number", side, errors)
    return number_column(np.array(numbers, np.float64))


def _texts_to_arrow(texts: Sequence[str]) -> "pa.Array":
    """Return texts as an Arrow column, with a dictionary if most texts have several rows."""
    import pyarrow as pa

    distinct_texts = deduplicate_texts(texts, sum(map(len, texts)))
    if distinct_texts is None:
        return Ids.of_texts(texts).to_arrow()
    rows = pa.Array.from_buffers(pa.int64(), len(texts), [None, pa.py_buffer(distinct_texts[1])])
    return pa.DictionaryArray.from_arrays(rows, _texts_to_arrow(distinct_texts[0]))


def sparse_rows(data: Sparse, side: Side) -> TableRows:
    """Return the rows of the entries of a sparse matrix, whose rows are queries, columns documents.

    The ids are the numbers of rows and columns, from 0. Stored zeros count, too.
    """
    entries = data.tocoo()
    row, column = (np.asarray(array, np.int64) for array in (entries.row, entries.col))
    order = slice(None) if (row[1:] >= row[:-1]).all() else np.argsort(row, kind="stable")
    if entries.data.dtype.kind not in "biuf":
        raise side.error(f"a sparse matrix of {entries.data.dtype}, expected real numbers")
    columns = {"query": row[order], "doc": column[order], side.role: entries.data[order]}
    names = [COLUMNS[role].public for role in columns]

    def convert_column(role: Role, position: int, errors: Errors) -> "pa.Array":
        return _to_arrow_column(columns[role], names[position], role, side, errors)

    return make_table_rows(names, convert_column, side, None, "strict", "sparse matrix")
