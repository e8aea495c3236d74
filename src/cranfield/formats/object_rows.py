"""Lists of rows: tuples, dicts, and objects with named fields, for judgments and runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
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
    names, make_reader = _find_fields(rows[0], side, user_columns)
    are_plain = make_reader is itemgetter and not isinstance(rows[0], Mapping)  # read by position
    fields, columns, notes = choose_row_fields(names, lambda: rows, side, user_columns)
    n_columns_of_row, names = len(names), list(fields)
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
        read = make_reader(position if are_plain else name)
        is_path = position >= n_columns_of_row
        read_field = fields[name].read_row if is_path else _make_field_reader(read, name)
        cells = read_each_row(rows, read_field, None, "columns", side, errors)
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


def _find_fields(
    row: Any, side: Side, user_columns: ColumnsLike | None
) -> tuple[list[str], Callable[[Any], Callable[[Any], Any]]]:
    """Return the names of a row's fields, and what makes a reader of a field; or InputError."""
    default_names = ["query_id", "doc_id", side.number_name]
    kind = kind_of(row)
    if kind == "dict":
        if not all(isinstance(name, str) for name in row):
            raise side.error(
                f"row 0: expected the names of columns, got {dict(row)!r:.80}",
                hint="Documents of queries: {query: {document: number}, ...}.",
                kind="columns",
            )
        return list(row), itemgetter
    if kind == "row":
        names = [COLUMNS[role].public for role in roles_of(side)]
        own_names = getattr(row, "_fields", None) or [name for name in names if hasattr(row, name)]
        return [*own_names], attrgetter
    if kind == "object":
        return list_fields(row), attrgetter
    if kind in ("tuple", "list"):
        if states_numbers(user_columns):
            return [f"column {i}" for i in range(1, len(row) + 1)], itemgetter
        return default_names[: len(row)], itemgetter
    raise side.error(
        f"row 0: expected ({', '.join(default_names)}), got {row!r:.80}", kind="columns"
    )


def _make_field_reader(read: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Return a reader of a field that raises InputError for a row without the field."""

    def read_field(row: Any) -> Any:
        try:
            return read(row)
        except (AttributeError, KeyError, TypeError):
            raise InputError(f"has no {name!r}: {row!r:.80}") from None

    return read_field
