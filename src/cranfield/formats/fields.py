"""Fields of objects in lists: a cell may hold [{"item": "d1", "score": 0.5}, ...].

Search engines and vector stores answer so, and Spark's recommendForAllUsers writes such a list of
structs for each user. Each field that is needed is read as a separate list, also one within another
object, as `metadata.source`. Within a row, such a path is a column.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from cranfield.errors import InputError
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, NAMES, NO_COLUMN, ColumnsLike, Side, plain_name
from cranfield.formats.header import NON_GRADE_NAMES
from cranfield.formats.rewrite import RESPONSES
from cranfield.formats.shapes import holds_objects, is_object, read_path
from cranfield.formats.stated_columns import (
    TEXTS_HINT,
    SideColumns,
    find_doc_field,
    list_pairs,
    resolve_roles,
    take_statements,
)
from cranfield.notes import Note

_SCORES = (
    "_score hit._score _additional.score _additional.certainty rating _rankingscore text_match"
)
# Fields that have a role where no field has a usual name; within other objects, too.
_FIELDS: Mapping[Role, Sequence[str]] = {
    "doc": (
        *("id", "_id", "id_", "node.node_id", "node.id_", "hit._id", "_additional.id"),
        *("metadata.doc_id", "metadata.source", "document.id"),
    ),
    "score": _SCORES.split(),
}
_NO_GRADES = {*NAMES["doc"], *_FIELDS["doc"], *NON_GRADE_NAMES, "metadata", "page_content"}
_KNOWN_FIELDS = [
    path
    for role in ("doc", "score", "rank", "grade")
    for path in (*COLUMNS[role].names, *_FIELDS.get(role, ()))
]
_N_SAMPLE_ROWS = 1000  # in which fields are looked for, and compared


class Field(NamedTuple):
    """A field of the objects in a column of lists, or a path in rows; read as a separate column.

    `column` may be a path, too; `name` is empty for a path.
    """

    column: str
    name: str = ""

    @property
    def public(self) -> str:
        """The field's name for users."""
        return f"{self.column}.{self.name}" if self.name else self.column

    def read_row(self, row: Any) -> Any:
        """Return the cell of this field in a row; None without one."""
        cell = read_path(row, self.column)
        return self.read_cell(cell) if self.name else cell

    def read_cell(self, cell: Any) -> Any:
        """Return the list of this field's values in a list of objects; any other cell unchanged.

        Raises InputError for an element that is no object.
        """
        if not isinstance(cell, list | tuple):
            return cell
        if "." not in self.name and {*map(type, cell)} == {dict}:  # the usual case
            return [document.get(self.name) for document in cell]
        for document in cell:
            if not is_object(document):
                raise InputError(
                    f"expected an object with {self.name!r} in column {self.column!r}, got "
                    f"{document!r:.80}",
                    kind="columns",
                )
        return [read_path(document, self.name) for document in cell]


def read_cells(fields: Iterable[Field], row: Any) -> list[Any] | InputError:
    """Return the cells of some fields in a row, or the error of the first that fails."""
    try:
        return [field.read_row(row) for field in fields]
    except InputError as error:
        return error


Fields = Mapping[str, Field]  # by the public name
ReadRows = Callable[[], Iterable[Any]]  # reads rows from the first on, whenever it is called


def choose_row_fields(
    names: Sequence[str], read_rows: ReadRows, side: Side, user_columns: ColumnsLike | None
) -> tuple[Fields, ColumnsLike | None, tuple[Note, ...]]:
    """Return {column: field} of rows, the columns as if stated, and a note on paths that are read.

    `names` are those in the first row. Columns are these, the fields of `choose_fields`, and paths
    in the first row that are stated, or usual: to the documents of a response, to a query's id.
    """
    first_row = next(iter(read_rows()), None)
    stated_paths = [path for _, path in list_pairs(user_columns or {}) if isinstance(path, str)]
    paths = []
    for path in (*COLUMNS["query"].names, *RESPONSES, *stated_paths):
        list_path = path.partition(".*.")[0]
        if holds_objects(read_path(first_row, list_path)):
            paths.append(list_path)
        elif "." in path and read_path(first_row, path) is not None:
            paths.append(path)
    paths = [path for path in dict.fromkeys(paths) if path not in names]
    fields_of_column = _find_fields(read_rows(), [*names, *paths], stated_paths)
    names = [*names, *paths]
    fields, columns = choose_fields(names, fields_of_column, side, user_columns, read_rows)
    all_fields = {**{name: Field(name) for name in names}, **fields}
    return all_fields, columns, note_paths(fields, columns)


def note_paths(fields: Fields, columns: ColumnsLike | None) -> tuple[Note, ...]:
    """Return a note on the path to the documents, if they are read by one."""
    doc_field = fields.get(str((columns or {}).get(COLUMNS["doc"].public)))
    if doc_field is None or "." not in doc_field.column + doc_field.name:
        return ()
    return (Note("paths", "info", f"Documents: {doc_field.column}, by {doc_field.name}."),)


def _find_fields(
    rows: Iterable[Any], names: Sequence[str], stated_paths: Sequence[str]
) -> dict[str, list[str]]:
    """Return {column: fields} for the columns, of names or paths, whose cells are lists of objects.

    A column whose list is empty in the first row is looked for in the next rows. Fields are the
    names in the first object, and the known and stated paths in it.
    """
    fields_of_column: dict[str, list[str]] = {}
    for row in islice(rows, _N_SAMPLE_ROWS):
        cells = {name: read_path(row, name) for name in names}
        for name, cell in cells.items():
            if holds_objects(cell):
                paths = (*_KNOWN_FIELDS, *(_strip_column(path, name) for path in stated_paths))
                fields = map(str, cell[0] if isinstance(cell[0], Mapping) else ())
                known_fields = (path for path in paths if read_path(cell[0], path) is not None)
                fields_of_column[name] = list(dict.fromkeys([*fields, *known_fields]))
        names = [
            name for name in names if isinstance(cells[name], list | tuple) and not cells[name]
        ]
        if not names:
            break
    return fields_of_column


def _strip_column(path: str, column: str) -> str:
    """Return a path in rows as a path in the objects of a column, where it begins with that."""
    return path.removeprefix(f"{column}.").removeprefix("*.")


def choose_fields(
    column_names: Sequence[str],
    fields_of_column: Mapping[str, list[str]],
    side: Side,
    user_columns: ColumnsLike | None,
    read_rows: ReadRows = list,
) -> tuple[Fields, ColumnsLike | None]:
    """Return {public name: field} to read from lists of objects, and the columns as if stated.

    `column_names` are the names of all columns, `fields_of_column` has the fields of the columns of
    objects. The fields belong to the column that is stated for the documents, or whose field is; or
    has a usual name for several documents, as `recommendations`; or else to the only column of
    objects in a table without documents. Without a field for the documents, no field is read.
    `read_rows` are those whose values decide between fields. Raises InputError for two fields.
    """
    field_names = chain.from_iterable(fields_of_column.values())
    user_columns = take_statements(user_columns, [*column_names, *field_names])
    if not fields_of_column:
        return {}, user_columns
    column_of_role = resolve_roles(user_columns, side, column_names)
    column = _choose_column(column_names, fields_of_column, column_of_role.get("doc"), side)
    if column is None:
        return {}, user_columns
    doc_column, stated_columns = column_of_role.get("doc"), dict(user_columns or {})
    is_on_other_side = plain_name(column) in COLUMNS["doc"].list_names[side.other_side]
    if is_on_other_side and isinstance(doc_column, str) and doc_column != column:
        pairs = stated_columns.items()
        other_columns = {name: path for name, path in pairs if path != doc_column}
        return {}, SideColumns(other_columns, user_columns)
    field_of_name: dict[str, Field] = {}
    column_of_name: dict[str, str | int | None] = {}
    field_of_role = {  # a field may be stated by the name under which it is read
        role: _strip_column(name, column) if isinstance(name, str) else name
        for role, name in column_of_role.items()
    }
    doc_field_name = find_doc_field(user_columns, side, column_names)
    if doc_field_name is not None and column_of_role["doc"] == column:
        field_of_role["doc"] = _strip_column(str(stated_columns[doc_field_name]), column)
    fields = fields_of_column[column]
    free_fields = [name for name in fields if name not in field_of_role.values()]
    number_roles: list[Role] = ["score", "rank", "cost"] if side is Side.RUN else ["grade"]
    if "distance" in column_of_role:  # a field of that name alone may hold similarities
        number_roles[0] = "distance"
    for role in ("doc", *number_roles):
        name = field_of_role.get(role)
        if name not in fields and (role not in column_of_role or name == column):
            name = _find_usual_field(column, free_fields, role, side, read_rows)
        if name in fields:  # else it is a separate column, or there is none
            field = Field(column, str(name))
            field_of_name[field.public], column_of_name[COLUMNS[role].public] = field, field.public
    if COLUMNS["doc"].public not in column_of_name:
        if doc_column is None and plain_name(column) in COLUMNS["doc"].text_names[side]:
            raise InputError(f"column {column!r} holds objects", hint=TEXTS_HINT, kind="columns")
        return {}, user_columns
    names = {*column_of_role, *column_of_name, *map(plain_name, column_names)}
    has_grade = not names.isdisjoint(("grade", *COLUMNS["grade"].names_for(side)))
    if side is Side.QRELS and not has_grade and _NO_GRADES.issuperset(map(plain_name, fields)):
        column_of_name[COLUMNS["grade"].public] = NO_COLUMN  # all are relevant
    stated_columns = {COLUMNS[role].public: column for role, column in column_of_role.items()}
    return field_of_name, SideColumns({**stated_columns, **column_of_name}, user_columns)


def _choose_column(
    names: Sequence[str],
    fields_of_column: Mapping[str, list[str]],
    doc_column: str | int | None,
    side: Side,
) -> str | None:
    """Return the column whose objects are documents with their numbers; None if not just one."""
    if isinstance(doc_column, int):
        doc_column = names[doc_column - 1] if doc_column <= len(names) else None
    if doc_column is not None:
        if doc_column in fields_of_column:
            return doc_column
        owners = [
            name
            for name, fields in fields_of_column.items()
            if _strip_column(doc_column, name) in fields
        ]
        return owners[0] if len(owners) == 1 and doc_column not in names else None
    list_names = COLUMNS["doc"].list_names[side]
    matches = [name for name in fields_of_column if plain_name(name) in list_names]
    if matches:
        return matches[0] if len(matches) == 1 else None
    plain_names = {plain_name(name) for name in names}
    candidates = list(fields_of_column)
    return candidates[0] if len(candidates) == 1 and plain_names.isdisjoint(NAMES["doc"]) else None


def _find_usual_field(
    column: str, fields: Sequence[str], role: Role, side: Side, read_rows: ReadRows
) -> str | None:
    """Return the field with a usual name of `role` that has a value in the first rows, else None.

    Names of columns count before others, such as `id` and paths, which need values everywhere.
    Raises InputError for two of these others that have ids, and not the same.
    """
    other_names = _FIELDS.get(role, ())
    field_of_name = {plain_name(field): field for field in fields}
    usual_names = (*COLUMNS[role].names, *COLUMNS[role].list_names.get(side, ()), *other_names)
    names = [field_of_name[name] for name in dict.fromkeys(usual_names) if name in field_of_name]
    is_doc = role == "doc"
    if len(names) < 1 + is_doc or next(iter(read_rows()), None) is None:  # only types are known
        return next(iter(names), None)

    def read_values(name: str) -> Iterator[Any]:
        for row in islice(read_rows(), _N_SAMPLE_ROWS):
            cell = read_path(row, column)
            for document in cell if isinstance(cell, list | tuple) else ():
                value = read_path(document, name)
                yield None if isinstance(value, Mapping | list) or value == "" else value

    def is_filled(name: str) -> bool:
        is_null = (value is None for value in read_values(name))
        return not (any(is_null) if is_doc and plain_name(name) in other_names else all(is_null))

    filled_names = filter(is_filled, names)
    first = next(filled_names, names[0] if is_doc else None)
    for rival in filled_names if is_doc and plain_name(str(first)) in other_names else ():
        for first_id, rival_id in zip(read_values(str(first)), read_values(rival), strict=True):
            if str(first_id) != str(rival_id):
                raise InputError(
                    f"the fields {first!r} and {rival!r} of {column!r} may both be the doc_id, and "
                    f"differ, as {first_id!r:.60} and {rival_id!r:.60}: which one is meant?",
                    hint=f"--columns doc_id={rival}, or doc_id={first}.",
                    kind="columns",
                )
    return first
