"""Stated columns: which column has which role, as the user states it, for one side or for both."""

import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Role
from cranfield.formats.columns import (
    COLUMNS,
    NO_COLUMN,
    ColumnsLike,
    ColumnsOfBoth,
    ContainedTexts,
    Side,
    SideColumns,
    describe_names,
    plain_name,
    roles_of,
)
from cranfield.options import is_whole_number

_MOST_COLUMNS = 10_000  # the highest number that a column may have
TEXTS_HINT = "Texts need one table of both: --columns reference_contexts=...,retrieved_contexts=..."
SIDES = {side.word: side for side in (Side.QRELS, Side.RUN)}


@cache
def _roles_by_name(side: Side) -> Mapping[str, Role]:
    """Return {name: role} for every name that a column of one side may have.

    Where roles share a name, it means the role whose public name it is, else the first of them.
    """
    roles = roles_of(side)
    role_of_name = {COLUMNS[role].public: role for role in roles}
    for role in roles:
        for name in COLUMNS[role].names_for(side):
            role_of_name.setdefault(name, role)
    return role_of_name


def _is_public(name: object, side: Side) -> bool:
    """Tell whether a column of one side has this name for users."""
    return any(COLUMNS[role].public == name for role in roles_of(side))


def resolve_roles(
    user_columns: ColumnsLike | None, side: Side, names: Sequence[str] | None = None
) -> dict[Role, str | int | None]:
    """Return {role: column} from {name: column} as the user states it; OptionError for a mistake.

    A role may have any known name of its column. A swapped statement, {"similarity": "score"}, is
    swapped back; `names` are those of the table's columns, if known, and show what is swapped.
    """
    column_of_role: dict[Role, str | int | None] = {}
    roles = _roles_by_name(side)
    other_names = ("rows", find_doc_field(user_columns, side, names))
    for name, column in (user_columns or {}).items():
        if name in other_names:
            continue
        if _is_swapped(name, column, side, names):
            name, column = str(column), name
        role = roles.get(name if _is_public(name, side) else plain_name(name))
        if role is None:
            public_names = [COLUMNS[side_role].public for side_role in roles_of(side)]
            raise _unknown_name_error(name, public_names)
        may_lack = role == "grade" or (side is Side.QRELS and not COLUMNS[role].is_required)
        is_none = column is NO_COLUMN and may_lack
        number = operator.index(column) if is_whole_number(column) else 0  # type: ignore[arg-type] # it is
        if not isinstance(column, str) and not is_none and not 0 < number <= _MOST_COLUMNS:
            raise OptionError(
                f"columns: {name}={column!r:.40}: expected a column's name, or its number, from 1"
            )
        if role == "system" and isinstance(column, str):
            column, _, _ = column.partition("=")  # the system itself counts where rows are read
        if role in column_of_role:
            raise OptionError(f"columns: {COLUMNS[role].public} is stated twice")
        for first_role, first_column in column_of_role.items():
            if first_column == column is not NO_COLUMN:
                raise two_roles_error(column, first_role, role)
        column_of_role[role] = column
    return column_of_role


def find_doc_field(
    user_columns: ColumnsLike | None, side: Side, names: Sequence[str] | None
) -> str | None:
    """Return the name, as doc_id, stated for a field beside a column of lists of objects; or None.

    It is none if the table has a column called so: `names` are those of its columns, if known.
    """
    list_names, roles = COLUMNS["doc"].list_names[side], _roles_by_name(side)
    doc_names = [name for name in user_columns or {} if roles.get(plain_name(name)) == "doc"]
    field_names = [name for name in doc_names if plain_name(name) not in list_names]
    is_field = 0 < len(field_names) < len(doc_names)
    is_field = is_field and (user_columns or {})[field_names[0]] not in (names or ())
    return field_names[0] if is_field else None


def _is_swapped(name: str, column: object, side: Side, names: Sequence[str] | None) -> bool:
    """Tell whether {name: column} is swapped: the user gives the column as a role."""
    roles = _roles_by_name(side)
    if _is_public(name, side) or not isinstance(column, str) or plain_name(column) not in roles:
        return False
    if names is None:
        return plain_name(name) not in roles or _is_public(column, side)
    return name in names and column not in names


def select_side_columns(columns: ColumnsOfBoth | None, side: Side) -> ColumnsLike | None:
    """Return the columns stated for one side of a table that holds both sides.

    A column that is stated for one side alone has no role in the other side.
    """
    side_columns = select_columns(columns, side, holds_both=True)
    other_columns = select_columns(columns, side.other_side)
    return SideColumns(side_columns or {}, other_columns) if other_columns else side_columns


def select_columns(
    columns: ColumnsOfBoth | None, side: Side, *, holds_both: bool = False
) -> ColumnsLike | None:
    """Return the columns stated for one side, from the columns stated for both sides.

    Judgments have a column of systems only in a table that `holds_both` sides.

    `columns` is one mapping for both, or {"qrels": {...}, "run": {...}}. Raises OptionError for a
    column that neither side has, and for a mixture of the two forms.
    """
    if isinstance(columns, ContainedTexts) and side is not Side.EXCLUDED:
        raise OptionError(f"texts='contain' compares the texts of one table. {TEXTS_HINT}")
    if not columns:
        return None
    if any(isinstance(column, Mapping) for column in columns.values()):
        if not all(
            name in SIDES and isinstance(column, Mapping) for name, column in columns.items()
        ):
            raise OptionError(
                f"columns={columns!r:.80}: expected the columns of both, "
                "{'query_id': ..., 'doc_id': ...}, or {'qrels': {...}, 'run': {...}}"
            )
        columns_of_side: Any = columns.get(side.word)
        return columns_of_side or None
    sides = (*SIDES.values(), Side.EXCLUDED)
    column_of_name: dict[str, Any] = {}
    for name, column in columns.items():
        sides_of_name = _sides_with_role(name, column)
        if not sides_of_name:
            roles = dict.fromkeys(role for table_side in sides for role in roles_of(table_side))
            list_names = [COLUMNS["doc"].list_names[table_side][0] for table_side in sides]
            raise _unknown_name_error(
                name, [*(COLUMNS[role].public for role in roles), *list_names]
            )
        is_of_run = side is Side.RUN or holds_both or plain_name(name) != "system"
        if side in sides_of_name and is_of_run:
            column_of_name[name] = column
    return column_of_name or None


def expand_systems(columns: ColumnsOfBoth | None) -> dict[str | None, ColumnsOfBoth | None]:
    """Return {system: columns} where a NAME has a list of columns, a system each.

    {None: columns} without lists. The first such NAME's columns name the systems. Raises
    OptionError for a NAME that has one column alone, and for lists of several lengths.
    """
    pairs = [*(columns or {}).items()]
    for _, side_columns in [*pairs]:
        pairs += side_columns.items() if isinstance(side_columns, Mapping) else []
    lists: dict[str, Any] = {
        name: column for name, column in pairs if isinstance(column, list | tuple)
    }
    for name in lists:
        is_list = plain_name(name) in COLUMNS["doc"].list_names[Side.RUN]
        if not is_list and _roles_by_name(Side.RUN).get(name) not in ("score", "distance", "rank"):
            raise OptionError(f"columns: {name} is stated twice")
    if not lists:
        return {None: columns}
    first_list = next(iter(lists.values()))
    if any(len({*columns}) < len(first_list) for columns in lists.values()):
        raise OptionError(f"columns={columns!r:.80}: each system has one column of each NAME")
    return {str(system): _take_columns(columns, i) for i, system in enumerate(first_list)}


def _take_columns(columns: Any, system_number: int) -> Any:
    """Return the columns of a system: of each list, that at its number."""
    if isinstance(columns, Mapping):
        own = {name: _take_columns(column, system_number) for name, column in columns.items()}
        return ContainedTexts(own) if isinstance(columns, ContainedTexts) else own
    return columns[system_number] if isinstance(columns, list | tuple) else columns


def _sides_with_role(name: str, column: object) -> list[Side]:
    """Return the sides that {name: column} is stated for: by public name, swapped, by any name."""
    sides = (*SIDES.values(), Side.EXCLUDED)
    if name == "rows":
        return [*SIDES.values()]
    sides_by_name = [side for side in sides if plain_name(name) in _roles_by_name(side)]
    swapped_sides = [
        side for side in sides if side not in sides_by_name and _is_public(column, side)
    ]
    return [side for side in sides if _is_public(name, side)] or swapped_sides or sides_by_name


def _unknown_name_error(name: str, public_names: Sequence[str]) -> OptionError:
    """Return the error that no column is called `name`, with the nearest name as a guess."""
    from difflib import get_close_matches

    matches = get_close_matches(plain_name(name), public_names, 1)
    guess = f" (did you mean {matches[0]!r}?)" if matches else ""
    choices = ", ".join(map(repr, public_names))
    return OptionError(f"columns: {name!r} is not known{guess}; choose one of {choices}")


def _other_table_hint(side: Side, user_columns: ColumnsLike) -> str:
    """Return how to state columns that some tables of an evaluation have, and this table lacks."""
    option = ",".join(
        f"{name}={'-' if column is None else column}" for name, column in user_columns.items()
    )
    literal = ", ".join(f"{name!r}: {column!r}" for name, column in user_columns.items())
    owner = "the run alone has" if side is Side.QRELS else "the judgments alone have"
    other_word = side.other_side.word
    hint = (
        f"If {owner} such columns: columns={{{other_word!r}: {{{literal}, ...}}}}, "
        f"--{other_word}-columns {option},... "
    )
    if side is Side.RUN:
        if side.number_name in user_columns:  # judgments have no score
            hint = ""
        hint += (
            f"If another run has them, Run(data, columns={{{literal}}}) reads that one alone, "
            f"and `cranfield convert IN OUT --columns {option}` gives it the usual names. "
        )
    return f"{hint}To state each side separately: columns={{'qrels': {{...}}, 'run': {{...}}}}."


def two_roles_error(column: str | int | None, *roles: Role) -> OptionError:
    """Return the error that the user states a column for two roles."""
    first, second = (COLUMNS[role].public for role in roles)
    hint = "; relevance=None if every row is relevant" if "grade" in roles else ""
    return OptionError(
        f"columns: {column!r:.40} is stated as {first} and as {second}, but can have one role "
        f"only{hint}"
    )


def find_stated_column(
    names: Sequence[str], column: str | int | None, side: Side, user_columns: ColumnsLike | None
) -> int:
    """Return the position, from 0, of a column stated by name or number, from 1; or InputError."""
    if isinstance(column, int):
        if column > len(names):
            raise InputError(f"has {len(names)} columns, no column {column}", kind="columns")
        return column - 1
    if names.count(str(column)) != 1:
        problem = "has two columns" if column in names else "has no column"
        raise InputError(
            f"{problem} {column!r}; {describe_names(names)}",
            hint=None if side is Side.EXCLUDED else _other_table_hint(side, user_columns or {}),
            kind="columns",
        )
    return names.index(str(column))
