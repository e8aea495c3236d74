"""Fields of objects in lists: a cell may hold [{"item": "d1", "score": 0.5}, ...].

Search engines and vector stores answer so, and Spark's recommendForAllUsers writes such a list of
structs for each user. Each field that is needed is read as a separate list.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cranfield.errors import InputError
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, IDS, NAMES, ColumnsLike, Side, plain_name
from cranfield.formats.stated_columns import SideColumns, resolve_roles, take_statements


class Field(NamedTuple):
    """A field of the objects in a column of lists, which is read as a column of its own."""

    column: str
    name: str

    @property
    def public(self) -> str:
        """The field's name for users."""
        return f"{self.column}.{self.name}"

    def read_cell(self, cell: Any) -> Any:
        """Return the list of this field's values in a list of objects; any other cell unchanged.

        Raises InputError for an element that is no object.
        """
        if not isinstance(cell, list | tuple):
            return cell
        for document in cell:
            if not isinstance(document, Mapping):
                raise InputError(
                    f"expected an object with {self.name!r} in column {self.column!r}, got "
                    f"{document!r:.80}",
                    kind="columns",
                )
        return [document.get(self.name) for document in cell]


Fields = Mapping[str, Field]  # by the public name


def find_objects(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return {column: names of its fields} for the columns whose cells are lists of objects.

    A column whose list is empty in the first row is looked for in the next rows.
    """
    fields_of_column: dict[str, list[str]] = {}
    unknown_names: set[str] | None = None  # the columns with empty lists so far
    for row in rows:
        names = row if unknown_names is None else unknown_names & row.keys()
        lists = {name: row[name] for name in names if isinstance(row[name], list | tuple)}
        for name, cell in lists.items():
            if len(cell) and isinstance(cell[0], Mapping):
                fields_of_column[name] = list(map(str, cell[0]))
        filled_names = {name for name, cell in lists.items() if len(cell)}
        unknown_names = ({*lists} if unknown_names is None else unknown_names) - filled_names
        if not unknown_names:
            break
    return fields_of_column


def query_row(query: Any, documents: Any) -> dict[str, Any]:
    """Return a query and its list of objects as a row of a table."""
    return {"query_id": query, "retrieved": documents}


def choose_fields(
    column_names: Sequence[str],
    fields_of_column: Mapping[str, list[str]],
    side: Side,
    user_columns: ColumnsLike | None,
) -> tuple[Fields, ColumnsLike | None]:
    """Return {public name: field} to read from lists of objects, and the columns as if stated.

    `column_names` are the names of all columns, `fields_of_column` has the fields of the columns of
    objects. The fields belong to the column that is stated for the documents, or whose field is; or
    has a usual name for several documents, as `recommendations`; or else to the only column of
    objects in a table without documents. Without a field for the documents, no field is read.
    """
    field_names = chain.from_iterable(fields_of_column.values())
    user_columns = take_statements(user_columns, [*column_names, *field_names])
    if not fields_of_column:
        return {}, user_columns
    column_of_role = resolve_roles(user_columns, side, column_names)
    column = _choose_column(column_names, fields_of_column, column_of_role.get("doc"), side)
    if column is None:
        return {}, user_columns
    field_of_name: dict[str, Field] = {}
    column_of_name: dict[str, str | int | None] = {}
    field_of_role = {  # a field may be stated by the name under which it is read
        role: name.removeprefix(f"{column}.") if isinstance(name, str) else name
        for role, name in column_of_role.items()
    }
    free_fields = [name for name in fields_of_column[column] if name not in field_of_role.values()]
    number_roles: list[Role] = ["score", "rank", "cost"] if side is Side.RUN else ["grade"]
    if "distance" in column_of_role:  # a field of that name alone may hold similarities
        number_roles[0] = "distance"
    for role in ("doc", *number_roles):
        name = field_of_role.get(role)
        if name not in fields_of_column[column] and (role not in column_of_role or name == column):
            name = _find_usual_field(free_fields, role, side)
        if name in fields_of_column[column]:  # else it is a separate column, or there is none
            field = Field(column, str(name))
            field_of_name[field.public], column_of_name[COLUMNS[role].public] = field, field.public
    if COLUMNS["doc"].public not in column_of_name:
        return {}, user_columns
    stated_columns = {COLUMNS[role].public: column for role, column in column_of_role.items()}
    all_columns = SideColumns({**stated_columns, **column_of_name})
    all_columns.other_side = getattr(user_columns, "other_side", {})
    return field_of_name, all_columns


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
        owners = [name for name, fields in fields_of_column.items() if doc_column in fields]
        return owners[0] if len(owners) == 1 and doc_column not in names else None
    list_names = COLUMNS["doc"].list_names[side]
    matches = [name for name in fields_of_column if plain_name(name) in list_names]
    if matches:
        return matches[0] if len(matches) == 1 else None
    plain_names = {plain_name(name) for name in names}
    candidates = list(fields_of_column)
    return candidates[0] if len(candidates) == 1 and plain_names.isdisjoint(NAMES["doc"]) else None


def _find_usual_field(fields: list[str], role: Role, side: Side) -> str | None:
    """Return the field with a usual name of `role`; for a run, a rating is a score, too."""
    role_names = [*COLUMNS[role].names, *COLUMNS[role].list_names.get(side, ())]
    role_names += ["id", "_id"] if role in IDS else ["rating"] if role == "score" else []
    field_of_name = {plain_name(field): field for field in fields}
    return next((field_of_name[name] for name in role_names if name in field_of_name), None)
