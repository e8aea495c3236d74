"""Stated columns: which column has which role, as the user states it, for one side or for both."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from types import MappingProxyType
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
TEXTS_HINT = (
    "Texts need one table of both, in lists (of objects, [doc['text'] for doc in docs]): --columns "
    "reference_contexts=...,retrieved_contexts=..."
)
SIDES = {side.word: side for side in (Side.QRELS, Side.RUN)}
_ALL_SIDES = (*SIDES.values(), Side.EXCLUDED)
OpenedFile = tuple[Side, str, Sequence[str] | None]


class Statements(dict[str, Any]):
    """The columns that a user states for several files, each of which takes those that it has.

    `files` are those opened so far: side, name, and names of columns, None for one with a fault.
    `more_follow`: whether others are opened later; until then no column is refused.
    """

    more_follow = False

    def __init__(self, columns: ColumnsOfBoth, files: list[OpenedFile] | None = None) -> None:
        super().__init__(columns)
        self.files = [] if files is None else files


class ContainedTexts(Statements):
    """The columns stated for a table of texts that are the same where one contains the other."""


class SideColumns(dict[str, Any]):
    """The columns stated for one side, and for the `other_side` of a table that holds both.

    `statements` are those of several files, `unread` those of them that the file does not have.
    """

    statements: Statements | None = None
    other_side: ColumnsLike = MappingProxyType({})
    unread: ColumnsLike = MappingProxyType({})

    def __init__(self, columns: ColumnsLike, origin: object = None, **facts: Any) -> None:
        """Take columns, and these facts; the others of the SideColumns that they come from."""
        super().__init__(columns)
        vars(self).update({**(vars(origin) if isinstance(origin, SideColumns) else {}), **facts})


def take_statements(columns: ColumnsLike | None, names: Sequence[str]) -> ColumnsLike | None:
    """Return the stated columns that a table with these names has, if stated for several files."""
    if not isinstance(columns, SideColumns) or columns.statements is None:
        return columns
    has_column = {pair: _has_column(names, *pair) for pair in list_pairs(columns)}
    other_pairs = (pair for pair in list_pairs(columns.other_side) if _has_column(names, *pair))
    read = group_pairs(pair for pair in has_column if has_column[pair])
    unread = group_pairs(pair for pair in has_column if not has_column[pair])
    return SideColumns(read, columns, other_side=group_pairs(other_pairs), unread=unread)


def _has_column(names: Sequence[str], name: str, column: object) -> bool:
    """Tell whether a table has a stated column: a name, the last step of one, a path, a number."""
    if name == "system" and isinstance(column, str):
        column, _, _ = column.partition("=")  # a system of the column
    return (
        not isinstance(column, str)
        or name == "rows"
        or column.partition(".")[0] in names
        or any(column == table_name or table_name.endswith(f".{column}") for table_name in names)
        or any(_is_swapped(name, column, side, names) for side in SIDES.values())
    )


def record_rows(rows: Rows, side: Side, columns: ColumnsLike | None) -> Rows:
    """Return rows, opened and with a note on what they lack if columns are for several files."""
    if getattr(columns, "statements", None) is not None:
        source, names = describe_sources(rows.sources) or side.name_in_errors, None
        with suppress(InputError):  # which is raised again where the rows are read
            names = rows.column_names or [*map(str, rows.name_of_role.values())]
        rows.statement_notes = record_names(names, source, side, columns)
    return rows


def record_names(
    names: Sequence[str] | None, source: str, side: Side, columns: ColumnsLike | None
) -> tuple[Note, ...]:
    """Record the names of a file's columns, None for a fault; return a note on what it lacks."""
    if not isinstance(columns, SideColumns) or columns.statements is None:
        return ()
    columns.statements.files.append((side, source, names))
    pairs = list_pairs(columns) if names and not columns.other_side else ()
    gaps = [f"no {pair[1]}: {pair[0]}" for pair in pairs if not _has_column(names or (), *pair)]
    text = f"{source} has {', '.join(gaps)}."
    return (Note("columns", "info", text, count=len(gaps)),) if gaps else ()


def refuse_unread(columns: ColumnsOfBoth | None) -> None:
    """Raise InputError for a stated column that no file has, once all files are opened.

    OptionError without a file of any of their sides; nothing if a file has a fault, which is raised
    where it is read, or for a side without a file.
    """
    if not columns or not isinstance(columns, Statements) or columns.more_follow:
        return
    opened_sides = {Side.EXCLUDED, *(side for side, *_ in columns.files)}
    statements = [*_list_statements(columns)]
    if not columns.files or all(opened_sides.isdisjoint(sides) for sides, *_ in statements):
        raise OptionError("columns applies only to tables and files not read yet: leave it out")
    for sides, name, column in statements:
        sides, kind = ([Side.RUN], "run") if name == "system" else (sides, "file")
        if opened_sides.isdisjoint(sides) or any(
            names is None or (side in sides and _has_column(names, name, column))
            for side, _, names in columns.files
        ):
            continue
        names_of_files = (names or () for side, _, names in columns.files if side in sides)
        guess = _describe_guess(column, chain.from_iterable(names_of_files))
        problem = f"{name}={column}: no {kind} has a column {column!r}{guess}"
        file_lines = [f"{file}: {describe_names(names or ())}." for _, file, names in columns.files]
        raise InputError(problem, hint="\n".join(dict.fromkeys(file_lines)), kind="columns")


@contextmanager
def take_together(columns: ColumnsOfBoth | None) -> Iterator[None]:
    """Take all files that are opened within the context for those of one call: `refuse_unread`."""
    statements = columns if isinstance(columns, Statements) else Statements({})
    statements.more_follow = True
    yield
    statements.more_follow = False
    refuse_unread(statements)


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
    for name, column in list_pairs(user_columns or {}):
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
        number = operator.index(column) if is_whole_number(column) else 0
        if not isinstance(column, str) and not is_none and not 0 < number <= _MOST_COLUMNS:
            problem = "expected a column's name, or its number, from 1"
            if column is NO_COLUMN:
                problem = "None says that a table has no such column, as relevance=None that "
                problem += (
                    f"every row is relevant. Leave {name} out; of query, relevance and score "
                )
                problem += "alone, each row is a document; order='given' ranks rows as they come"
            raise OptionError(f"columns: {name}={column!r:.40}: {problem}")
        if role == "system" and isinstance(column, str):
            column, _, _ = column.partition("=")  # the system itself counts where rows are read
        if role in column_of_role:
            if names is None and getattr(user_columns, "statements", None) is not None:
                continue  # a file may have one of the two
            has_list = isinstance((user_columns or {}).get(name), list | tuple)
            stated_name = name if has_list else COLUMNS[role].public
            raise OptionError(f"columns: {stated_name} is stated twice")
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


def select_side_columns(columns: ColumnsOfBoth | None, side: Side) -> SideColumns:
    """Return the columns stated for one side of a table that holds both sides.

    A column that is stated for one side alone has no role in the other side.
    """
    side_columns, other_columns = (
        group_pairs(pair for sides, *pair in _list_statements(columns or {}) if table_side in sides)
        for table_side in (side, side.other_side)
    )
    statements = columns if isinstance(columns, Statements) else None
    return SideColumns(side_columns, other_side=other_columns, statements=statements)


def select_columns(columns: ColumnsOfBoth | None, side: Side) -> SideColumns | None:
    """Return the columns stated for one side, from the columns stated for all sides.

    Raises OptionError for a name that no side has.
    """
    if isinstance(columns, ContainedTexts) and side is not Side.EXCLUDED:
        raise OptionError(f"texts='contain' compares the texts of one table. {TEXTS_HINT}")
    side_columns = select_side_columns(columns, side)
    side_columns.other_side = {}
    if side is Side.QRELS:  # which have no column of systems, but in a table of both sides
        side_columns.pop("system", None)
    return side_columns if side_columns or side_columns.statements is not None else None


def _list_statements(columns: ColumnsOfBoth) -> Iterator[tuple[Sequence[Side], str, Any]]:
    """Yield the sides, the name and the column of each statement.

    A name may begin with its side, "run.score"; {"run": {"score": ...}} has those of one side.
    """
    for name, column in columns.items():
        if not isinstance(name, str):
            raise OptionError(f"columns: {name!r:.40}: expected a name, as query_id")
        word, _, side_name = name.partition(".")
        is_of_side = word in SIDES and (side_name != "" or isinstance(column, Mapping))
        if isinstance(column, Mapping) and not is_of_side:
            raise OptionError(
                f"columns={columns!r:.80}: expected the columns of both, "
                "{'query_id': ..., 'doc_id': ...}, or {'qrels': {...}, 'run': {...}}"
            )
        sides = [SIDES[word]] if is_of_side else _sides_with_role(name, column)
        named_column: Any = {side_name if is_of_side else name: column}
        for pair in list_pairs(column if isinstance(column, Mapping) else named_column):
            yield sides, *pair


def states_numbers(columns: ColumnsLike | None) -> bool:
    """Tell whether a column is stated by its number."""
    return any(isinstance(column, int) for _, column in list_pairs(columns or {}))


def states_sides(columns: ColumnsOfBoth | None) -> bool:
    """Tell whether columns are stated for one side: {"qrels": {...}}, or "qrels.doc_id"."""
    return any(name.partition(".")[0] in SIDES for name in columns or {})


def find_stated_side(columns: ColumnsOfBoth | None) -> Side | None:
    """Return the side that alone has some of the stated names; None if that is not just one."""
    lone_sides = {sides[0] for sides, *_ in _list_statements(columns or {}) if len(sides) == 1}
    lone_sides.discard(Side.EXCLUDED)
    return lone_sides.pop() if len(lone_sides) == 1 else None


def list_pairs(columns: ColumnsLike) -> Iterator[tuple[str, Any]]:
    """Yield each name with each column that is stated for it."""
    for name, column in columns.items():
        for single_column in column if isinstance(column, list | tuple) else [column]:
            yield name, single_column


def group_pairs(pairs: Iterable[Iterable[Any]]) -> dict[str, Any]:
    """Return {name: column} of pairs, a list of columns for a name that occurs more than once."""
    lists: dict[str, list[Any]] = {}
    for name, column in dict.fromkeys(map(tuple, pairs)):
        lists.setdefault(name, []).append(column)
    return {name: lists[name][0] if len(lists[name]) == 1 else lists[name] for name in lists}


def expand_systems(columns: Any) -> dict[str | None, Any]:
    """Return {system: columns} where a NAME of a run has a list of columns, a system each.

    {None: columns} without such lists. The first such NAME's columns name the systems. A file takes
    those that it has. Raises OptionError for lists of several lengths.
    """
    pairs = [*(columns or {}).items()]
    for _, side_columns in [*pairs]:
        pairs += side_columns.items() if isinstance(side_columns, Mapping) else []
    lists = [
        column for name, column in pairs if isinstance(column, list | tuple) and _names_system(name)
    ]
    if not lists:
        return {None: columns}
    if not lists[0] or any(len({*own_columns}) < len(lists[0]) for own_columns in lists):
        raise OptionError(f"columns={columns!r:.80}: each system has one column of each NAME")
    return {str(system): _take_columns(columns, i) for i, system in enumerate(lists[0])}


def _names_system(name: str) -> bool:
    """Tell whether a NAME may have a column for each of several systems: a ranking, or a score."""
    plain = plain_name(name.rpartition(".")[2])
    is_list = plain in COLUMNS["doc"].list_names[Side.RUN]
    return is_list or _roles_by_name(Side.RUN).get(plain) in ("score", "distance", "rank")


def _take_columns(columns: Any, system_number: int) -> Any:
    """Return the columns of a system: of each list, that at its number."""
    columns_of_system: Any = {
        name: _take_columns(column, system_number)
        if isinstance(column, Mapping)
        else column[system_number]
        if isinstance(column, list | tuple) and _names_system(name)
        else column
        for name, column in columns.items()
    }
    if isinstance(columns, SideColumns):
        other_columns = _take_columns(columns.other_side, system_number)
        return SideColumns(columns_of_system, columns, other_side=other_columns)
    is_shared = isinstance(columns, Statements)
    return type(columns)(columns_of_system, columns.files) if is_shared else columns_of_system


def _sides_with_role(name: str, column: object) -> list[Side]:
    """Return the sides that {name: column} is stated for: by public name, swapped, by any name."""
    if name == "rows":
        return [*SIDES.values()]
    sides_by_name = [side for side in _ALL_SIDES if plain_name(name) in _roles_by_name(side)]
    swapped_sides = [
        side for side in SIDES.values() if side not in sides_by_name and _is_public(column, side)
    ]
    list_names = COLUMNS["doc"].list_names
    public_sides = [
        side
        for side in _ALL_SIDES
        if _is_public(name, side) or plain_name(name) in list_names.get(side, ())
    ]
    sides = public_sides or swapped_sides or sides_by_name
    if not sides:
        roles = dict.fromkeys(role for side in SIDES.values() for role in roles_of(side))
        first_names = [list_names[side][0] for side in SIDES.values()]
        raise _unknown_name_error(name, [*(COLUMNS[role].public for role in roles), *first_names])
    return sides


def _unknown_name_error(name: str, public_names: Sequence[str]) -> OptionError:
    """Return the error that no column is called `name`, with the nearest name as a guess."""
    guess = _describe_guess(plain_name(name), public_names)
    choices = ", ".join(map(repr, public_names))
    return OptionError(f"columns: {name!r} is not known{guess}; choose one of {choices}")


def _describe_guess(name: str, names: Iterable[str]) -> str:
    """Return which of some names may be meant, in parentheses; "" if they are all unlike `name`."""
    return "".join(f" (did you mean {word!r}?)" for word in nearest_words(name, names, 1))


def rename_columns(names: Sequence[str], side: Side, user_columns: ColumnsLike | None) -> list[str]:
    """Return the names of a table's columns, stated columns under the names of their roles."""
    column_of_role = resolve_roles(take_statements(user_columns, names), side, names)
    public_name = {column: COLUMNS[role].public for role, column in column_of_role.items()}
    stated_names = {*public_name.values()}
    return [
        public_name.get(name, public_name.get(number, "" if name in stated_names else name))
        for number, name in enumerate(names, 1)
    ]


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


def missing_column_error(names: Sequence[str], column: Any) -> InputError:
    """Return the error that a table with these names has a stated column twice, or not at all."""
    problem = f"has two columns {column!r}" if column in names else f"has no column {column!r}"
    guess = "" if column in names else _describe_guess(column, names)
    hint = None
    if str(column).partition(".")[0] in names:  # of structs
        hint = (
            "Paths in a table: pandas.json_normalize(frame.to_dict('records')) has columns of them."
        )
    return InputError(f"{problem}{guess}; {describe_names(names)}", hint=hint, kind="columns")
