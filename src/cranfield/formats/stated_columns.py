"""Stated columns: which column has which role, as the user states it, for one side or for both."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from cranfield.errors import InputError, OptionError, nearest_words
from cranfield.formats.block import Role, Rows
from cranfield.formats.columns import (
    COLUMNS,
    NO_COLUMN,
    ColumnsLike,
    ColumnsOfBoth,
    Side,
    describe_names,
    plain_name,
    roles_of,
)
from cranfield.formats.source import describe_sources
from cranfield.notes import Note
from cranfield.options import is_whole_number

_MOST_COLUMNS = 10_000  # the highest number that a column may have
SIDES = {side.word: side for side in (Side.QRELS, Side.RUN)}
_ALL_SIDES = (*SIDES.values(), Side.EXCLUDED)


class Statements(dict[str, Any]):
    """The columns that a user states for several files, each of which takes those that it has."""

    def __init__(self, columns: ColumnsOfBoth) -> None:
        super().__init__(columns)
        self.names_of_file: dict[str, Sequence[str]] = {}
        self.read_statements: set[tuple[Side, str, Any]] = set()
        self.has_faults = False  # whether a file cannot be opened, which raises its own error

    @property
    def stated_side(self) -> Side | None:
        """The side that alone has some of the stated names; None if that is not just one."""
        lone_sides = {sides[0] for sides, _, _ in _list_statements(self) if len(sides) == 1}
        lone_sides.discard(Side.EXCLUDED)
        return lone_sides.pop() if len(lone_sides) == 1 else None


class SideColumns(dict[str, Any]):
    """The columns stated for one side of some data.

    `other_side` are those of the other side, where one table holds both. With `statements`, which
    are those of several files, `unread` are the columns that this file does not have.
    """

    def __init__(
        self,
        columns: ColumnsLike,
        other_side: ColumnsLike | None = None,
        statements: Statements | None = None,
        unread: ColumnsLike | None = None,
    ) -> None:
        super().__init__(columns)
        self.other_side, self.statements, self.unread = other_side or {}, statements, unread or {}


def take_statements(columns: ColumnsLike | None, names: Sequence[str]) -> ColumnsLike | None:
    """Return the stated columns that a table with these names has, if stated for several files.

    A column may also be a path, whose first step is a name, or a field, with which a name ends.
    """
    if not isinstance(columns, SideColumns) or columns.statements is None:
        return columns
    is_read = {
        (name, column): not isinstance(column, str)
        or column.partition(".")[0] in names
        or any(column == table_name or table_name.endswith(f".{column}") for table_name in names)
        or any(_is_swapped(name, column, side, names) for side in SIDES.values())
        for name, column in list_pairs(columns)
    }
    read_columns = group_pairs(pair for pair in is_read if is_read[pair])
    unread_columns = group_pairs(pair for pair in is_read if not is_read[pair])
    other_columns = take_statements(columns.other_side, names)
    return SideColumns(read_columns, other_columns, columns.statements, unread_columns)


def record_rows(rows: Rows, side: Side, columns: ColumnsLike | None) -> Rows:
    """Return rows, opened and with a note on what they lack if columns are for several files."""
    if not isinstance(columns, SideColumns) or columns.statements is None:
        return rows
    statements, source = columns.statements, describe_sources(rows.sources) or side.name_in_errors
    try:
        names = statements.names_of_file[source] = rows.column_names
    except InputError:
        statements.has_faults = True
        return rows
    file_columns = take_statements(columns, names)
    assert isinstance(file_columns, SideColumns)  # noqa: S101 - as `columns` are
    statements.read_statements |= {(side, *pair) for pair in list_pairs(file_columns)}
    gaps = [f"no {column}: {name}" for name, column in list_pairs(file_columns.unread)]
    if gaps:
        text = f"{source} has {', '.join(gaps)}."
        rows.statement_notes = (Note("columns", "info", text, count=len(gaps)),)
    return rows


def refuse_unread(columns: ColumnsOfBoth | None) -> None:
    """Raise InputError for a stated column that no file has, once all files are opened."""
    if not isinstance(columns, Statements) or columns.has_faults:
        return
    for sides, name, column in _list_statements(columns):
        if columns.read_statements.isdisjoint((side, name, column) for side in sides):
            names_of_file = columns.names_of_file
            guess = _describe_guess(column, chain.from_iterable(names_of_file.values()))
            problem = f"{name}={column}: no file has a column {column!r}{guess}"
            file_list = [
                f"{file}: {describe_names(names_of_file[file])}." for file in names_of_file
            ]
            raise InputError(problem, hint="\n".join(file_list), kind="columns")


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
    for name, column in list_pairs(user_columns or {}):
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
        if role in column_of_role:
            if names is None and getattr(user_columns, "statements", None) is not None:
                continue  # a file may have one of the two
            raise OptionError(f"columns: {COLUMNS[role].public} is stated twice")
        for first_role, first_column in column_of_role.items():
            if first_column == column is not NO_COLUMN:
                raise two_roles_error(column, first_role, role)
        column_of_role[role] = column
    return column_of_role


def _is_swapped(name: str, column: object, side: Side, names: Sequence[str] | None) -> bool:
    """Tell whether {name: column} is swapped: the user gives the column as a role."""
    roles = _roles_by_name(side)
    if _is_public(name, side) or not isinstance(column, str) or plain_name(column) not in roles:
        return False
    if names is None:
        return plain_name(name) not in roles or _is_public(column, side)
    return name in names and column not in names


def select_side_columns(columns: ColumnsOfBoth | None, side: Side) -> SideColumns | None:
    """Return the columns stated for one side of a table that holds both sides.

    A column that is stated for one side alone has no role in the other side.
    """
    other_columns = select_columns(columns, side.other_side)
    side_columns = select_columns(columns, side) or SideColumns({})
    side_columns.other_side = other_columns or {}
    return side_columns


def select_columns(columns: ColumnsOfBoth | None, side: Side) -> SideColumns | None:
    """Return the columns stated for one side, from the columns stated for all sides.

    Raises OptionError for a name that no side has.
    """
    pairs = (pair for sides, *pair in _list_statements(columns or {}) if side in sides)
    statements = columns if isinstance(columns, Statements) else None
    side_columns = SideColumns(group_pairs(pairs), statements=statements)
    return side_columns if side_columns or statements is not None else None


def _list_statements(columns: ColumnsOfBoth) -> Iterator[tuple[Sequence[Side], str, Any]]:
    """Yield the sides, the name and the column of each statement.

    A name may begin with its side, "run.score"; {"run": {"score": ...}} has those of one side.
    """
    for name, column in columns.items():
        word, _, side_name = name.partition(".")
        is_of_side = word in SIDES and (side_name != "" or isinstance(column, Mapping))
        if isinstance(column, Mapping) and not is_of_side:
            raise OptionError(
                f"columns={columns!r:.80}: expected the columns of both, "
                "{'query_id': ..., 'doc_id': ...}, or {'qrels': {...}, 'run': {...}}"
            )
        sides = [SIDES[word]] if is_of_side else _sides_with_role(name, column)
        side_columns = column if isinstance(column, Mapping) else {side_name or name: column}
        for pair in list_pairs(side_columns):
            yield sides, *pair


def list_pairs(columns: ColumnsLike) -> Iterator[tuple[str, Any]]:
    """Yield each name with each column that is stated for it."""
    for name, column in columns.items():
        for single_column in column if isinstance(column, list | tuple) else [column]:
            yield name, single_column


def group_pairs(pairs: Iterable[Iterable[Any]]) -> dict[str, Any]:
    """Return {name: column} of pairs, a list of columns for a name that occurs more than once."""
    columns_of_name: dict[str, list[Any]] = {}
    for name, column in dict.fromkeys(map(tuple, pairs)):
        columns_of_name.setdefault(name, []).append(column)
    return {
        name: columns[0] if len(columns) == 1 else columns
        for name, columns in columns_of_name.items()
    }


def _sides_with_role(name: str, column: object) -> list[Side]:
    """Return the sides that {name: column} is stated for: by public name, swapped, by any name."""
    sides_by_name = [side for side in _ALL_SIDES if plain_name(name) in _roles_by_name(side)]
    swapped_sides = [
        side for side in SIDES.values() if side not in sides_by_name and _is_public(column, side)
    ]
    public_sides = [side for side in _ALL_SIDES if _is_public(name, side)]
    sides = public_sides or swapped_sides or sides_by_name
    if not sides:
        roles = dict.fromkeys(role for side in SIDES.values() for role in roles_of(side))
        list_names = [COLUMNS["doc"].list_names[side][0] for side in SIDES.values()]
        raise _unknown_name_error(name, [*(COLUMNS[role].public for role in roles), *list_names])
    return sides


def _unknown_name_error(name: str, public_names: Sequence[str]) -> OptionError:
    """Return the error that no column is called `name`, with the nearest name as a guess."""
    guess = _describe_guess(plain_name(name), public_names)
    choices = ", ".join(map(repr, public_names))
    return OptionError(f"columns: {name!r} is not known{guess}; choose one of {choices}")


def _describe_guess(name: str, names: Iterable[str]) -> str:
    """Return which of some names may be meant, in parentheses; "" if none is like `name`."""
    return "".join(f" (did you mean {word!r}?)" for word in nearest_words(name, names, 1))


def two_roles_error(column: str | int | None, *roles: Role) -> OptionError:
    """Return the error that the user states a column for two roles."""
    first, second = (COLUMNS[role].public for role in roles)
    hint = "; relevance=None if every row is relevant" if "grade" in roles else ""
    return OptionError(
        f"columns: {column!r:.40} is stated as {first} and as {second}, but can have one role "
        f"only{hint}"
    )


def find_stated_column(names: Sequence[str], column: str | int | None) -> int:
    """Return the position, from 0, of a column stated by name or number, from 1; or InputError."""
    if isinstance(column, int):
        if column > len(names):
            raise InputError(f"has {len(names)} columns, no column {column}", kind="columns")
        return column - 1
    if names.count(str(column)) != 1:
        raise missing_column_error(names, str(column))
    return names.index(str(column))


def missing_column_error(names: Sequence[str], column: str) -> InputError:
    """Return the error that a table with these names has a stated column twice, or not at all."""
    problem = f"has two columns {column!r}" if column in names else f"has no column {column!r}"
    guess = "" if column in names else _describe_guess(column, names)
    return InputError(f"{problem}{guess}; {describe_names(names)}", kind="columns")
