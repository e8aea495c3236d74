"""Lists of rows: tuples, dicts, and objects with named fields, for judgments and runs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Cells, Errors, Role, Rows
from cranfield.formats.columns import COLUMNS, ColumnsLike, Side, roles_of
from cranfield.formats.fields import Fields, choose_row_fields, read_cells
from cranfield.formats.frames import list_to_arrow, make_table_rows, read_each_row
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.list_cells import holds_lists
from cranfield.formats.shapes import kind_of, list_fields, refuse_lists_of_ids
from cranfield.formats.stated_columns import states_numbers

if TYPE_CHECKING:
    import pyarrow as pa


def list_rows(
    data: Iterable[Any], side: Side, user_columns: ColumnsLike | None, errors: Errors
) -> Rows:
    """Return the rows in a list of tuples (query, document, number), dicts, or other objects.

    A run's rows of two values, (query, document), are in the order of the ranking.
    """
    rows = list(data)
    if not user_columns:
        refuse_lists_of_ids(rows, side)
    if not rows:
        raise side.error("holds no rows")
    names, are_plain = _list_names(rows[0], side, user_columns), kind_of(rows[0]) in _SEQUENCES
    fields, columns, notes = choose_row_fields(names, lambda: rows, side, user_columns)
    names = list(fields)
    object_rows = ObjectRows(rows, fields, side, columns)
    object_rows.notes, object_rows.user_columns = notes, user_columns
    if object_rows.list_columns and holds_lists(object_rows, side, user_columns):
        return object_rows
    if are_plain:
        n = len(names)

        def check_row(row: Any) -> Any:
            if isinstance(row, tuple | list) and len(row) == n:
                return row
            raise InputError(f"expected {n} values, as in the first row, got {row!r:.80}")

        rows = read_each_row(rows, check_row, [None] * n, "columns", side, errors)

    def convert_column(role: Role, position: int, errors: Errors) -> "pa.Array":
        name = names[position]
        read_row = fields[name].read_row

        def read_field(row: Any) -> Any:
            if type(row) is dict and name in row:
                return row[name]  # as most often
            cell = read_row(row)
            if cell is None and name not in list_fields(row) and not hasattr(row, name):
                raise InputError(f"has no {name!r}: {row!r:.80}")
            return cell

        read = itemgetter(position) if are_plain else read_field
        cells = read_each_row(rows, read, None, "columns", side, errors)
        return list_to_arrow(cells, name, role, side, errors)

    is_ranking = are_plain and len(names) == 2
    table_rows = make_table_rows(names, convert_column, side, columns, errors, "rows", is_ranking)
    table_rows.notes = (*notes, *table_rows.notes)
    return table_rows


class ObjectRows(Rows):
    """The rows of dicts, or of objects with named fields, whose cells may hold several documents.

    `fields` are all columns by name.
    """

    def __init__(
        self, rows: Sequence[Any], fields: Fields, side: Side, user_columns: ColumnsLike | None
    ) -> None:
        self._objects, self._fields, self.column_names = rows, fields, list(fields)
        self.user_columns = user_columns
        first_cell = [
            [] if field.name else field.read_row(rows[0]) for field in fields.values()
        ].__getitem__
        names, source = self.column_names, side.name_in_errors
        positions = take_columns(names, side, user_columns, source, first_cell)
        self.list_columns = list_columns(names, positions, side, user_columns, first_cell)
        self.description, self.name = "rows with lists", side.name_in_errors

    def cells(self) -> Iterator[Cells]:
        """Yield the cells of `list_columns`; None for a field that a row lacks."""

        def find_line(first_row: int, row: int) -> tuple[None, str]:
            """Return no line number, and the text of the row."""
            return None, f"row {first_row + row}: {self._objects[first_row + row]!r:.120}"

        fields = [self._fields[name] for name in self.list_columns.values()]
        for begin in range(0, len(self._objects), SIZES.lists):
            rows = self._objects[begin : begin + SIZES.lists]
            cells = [read_cells(fields, row) for row in rows]
            yield Cells.from_rows(self.list_columns, cells, partial(find_line, begin))

    def read_side(self, side: Side, user_columns: ColumnsLike) -> Rows:
        """Return the rows of the same objects as judgments, or as a run, with stated columns."""
        return list_rows(self._objects, side, user_columns, "skip")


_SEQUENCES = ("tuple", "list")  # kinds of rows that are read by position


def _list_names(row: Any, side: Side, user_columns: ColumnsLike | None) -> list[str]:
    """Return the names of a row's fields, of their columns by position; InputError for no row."""
    default_names = ["query_id", "doc_id", side.number_name]
    kind = kind_of(row)
    if kind == "dict" and not all(isinstance(name, str) for name in row):
        raise side.error(
            f"row 0: expected the names of columns, got {dict(row)!r:.80}",
            hint="Documents of queries: {query: {document: number}, ...}.",
            kind="columns",
        )
    if kind == "row" and not (
        hasattr(row, "_fields") or hasattr(row, "keys")
    ):  # which may have properties
        names = [COLUMNS[role].public for role in roles_of(side)]
        return [name for name in names if hasattr(row, name)]
    if kind in ("dict", "row", "object"):
        return list_fields(row)
    if kind in _SEQUENCES:
        if states_numbers(user_columns):
            return [f"column {i}" for i in range(1, len(row) + 1)]
        return default_names[: len(row)]
    raise side.error(
        f"row 0: expected ({', '.join(default_names)}), got {row!r:.80}", kind="columns"
    )
