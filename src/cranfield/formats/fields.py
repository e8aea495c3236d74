"""Fields of objects in lists: a cell may hold [{"item": "d1", "score": 0.5}, ...].

Search engines and vector stores answer so, and Spark's recommendForAllUsers writes such a list of
structs for each user. Each field that is needed is read as a separate list.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import InputError
from cranfield.formats.block import Role
from cranfield.formats.columns import (
    COLUMNS,
    IDS,
    NAMES,
    ColumnsLike,
    SideColumns,
    Side,
    plain_name,
)
from cranfield.formats.stated_columns import resolve_roles


class Field(NamedTuple):
    """A field of the objects in a column of lists."""

    column: str
    name: str

    @property
    def public(self) -> str:
        """Its name for users."""
        return f"{self.column}.{self.name}"

    def read_cell(self, cell: Any) -> Any:
        """Return the list of this field of the objects in a cell; another cell is unchanged.

        Raises InputError for an element that is no object.
        """
        if not isinstance(cell, list | tuple):
            return cell
        for one in cell:
            if not isinstance(one, Mapping):
                raise InputError(
                    f"expected an object with {self.name!r} in column {self.column!r}, got "
                    f"{one!r:.80}",
                    kind="columns",
                )
        return [one.get(self.name) for one in cell]


Fields = Mapping[str, Field]  # by the public name


def find_objects(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the columns whose cells are lists of objects, and the fields of these.

    A column whose list is empty in the first row is looked for in the next ones.
    """
    found: dict[str, list[str]] = {}
    unknown: set[str] | None = None  # the columns with empty lists so far
    for row in rows:
        names = row if unknown is None else unknown & row.keys()
        lists = {name: row[name] for name in names if isinstance(row[name], list | tuple)}
        for name, cell in lists.items():
            if len(cell) and isinstance(cell[0], Mapping):
                found[name] = list(map(str, cell[0]))
        filled = {name for name, cell in lists.items() if len(cell)}
        unknown = ({*lists} if unknown is None else unknown) - filled
        if not unknown:
            break
    return found


def query_row(query: Any, documents: Any) -> dict[str, Any]:
    """Return a query and its list of objects as a row of a table of runs."""
    return {"query_id": query, "retrieved": documents}


def choose_fields(
    column_names: Sequence[str], fields_of_column: Mapping[str, list[str]], side: Side, user_columns: ColumnsLike | None
) -> tuple[Fields, ColumnsLike | None]:
    """Return the fields to read from lists of objects, and the role of each, as if stated.

    `names` are those of all columns, `several` has the fields of those that hold such lists. They
    belong to the column that is stated for the documents, or has a usual name for several
    documents, as `recommendations`; or else to the only such column of a table without documents.
    """
    if not fields_of_column:
        return {}, user_columns
    given = resolve_roles(user_columns, side, column_names)
    column = _choose_column(column_names, fields_of_column, given.get("doc"), side)
    if column is None:
        return {}, user_columns
    found: dict[str, Field] = {}
    roles: dict[str, str | int | None] = {}
    field_of_role = {  # a field may be stated by the name under which it is read
        role: name.removeprefix(f"{column}.") if isinstance(name, str) else name
        for role, name in given.items()
    }
    free_fields = [name for name in fields_of_column[column] if name not in field_of_role.values()]
    numbers: list[Role] = ["score", "rank", "cost"] if side is Side.RUN else ["grade"]
    if "distance" in given:  # a field of that name alone may hold similarities
        numbers[0] = "distance"
    for role in ("doc", *numbers):
        name = field_of_role.get(role)
        if name not in fields_of_column[column] and (role not in given or name == column):
            name = _find_usual_field(free_fields, role, side)
        if name in fields_of_column[column]:  # else it is a separate column, or there is none
            field = Field(column, str(name))
            found[field.public], roles[COLUMNS[role].public] = field, field.public
    if COLUMNS["doc"].public not in roles:
        return {}, user_columns
    others = {COLUMNS[role].public: its for role, its in given.items()}
    return found, SideColumns({**others, **roles}, getattr(user_columns, "other_side", {}))


def _choose_column(
    names: Sequence[str], several: Mapping[str, list[str]], wanted: str | int | None, what: Side
) -> str | None:
    """Return the column of objects with documents and their numbers as fields; None without one."""
    if isinstance(wanted, int):
        wanted = names[wanted - 1] if wanted <= len(names) else None
    if wanted is not None:
        if wanted in several:
            return wanted
        holding = [name for name, fields in several.items() if wanted in fields]
        return holding[0] if len(holding) == 1 and wanted not in names else None
    own = COLUMNS["doc"].list_names[what]
    called = [name for name in several if plain_name(name) in own]
    if called:
        return called[0] if len(called) == 1 else None
    plain = {plain_name(name) for name in names}
    only = list(several)
    return only[0] if len(only) == 1 and plain.isdisjoint(NAMES["doc"]) else None


def _find_usual_field(fields: list[str], role: Role, what: Side) -> str | None:
    """Return the field with a usual name of the role; for a run, a rating is a score, too."""
    known = [*COLUMNS[role].names, *COLUMNS[role].list_names.get(what, ())]
    known += ["id", "_id"] if role in IDS else ["rating"] if role == "score" else []
    plain = {plain_name(field): field for field in fields}
    return next((plain[name] for name in known if name in plain), None)
