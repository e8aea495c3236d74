"""Header: finds the role of each column of a table, by its name or as the user states it."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Role
from cranfield.formats.columns import (
    COLUMNS,
    IDS,
    NO_COLUMN,
    ColumnsLike,
    ColumnsOfBoth,
    What,
    in_order,
    plain_name,
    roles_of,
)
from cranfield.formats.values import is_list_cell
from cranfield.options import is_whole

_MOST_COLUMNS = 10_000
_ID = ("id", "_id")  # of the query or the document: the one that no other column has
_TEXTS = {"query", "question", "topic", "user_input"}  # may be a text beside the query's id
_QUESTIONS = ("question", "query", "user_input")
_ASKED_BY = {"user_id", "userid", "user", "topic"}  # columns that may occur beside a question
# Columns beside pairs of a query and a document that never hold grades.
_NO_GRADES = frozenset(
    "timestamp ts date datetime time title text split language index".split()  # noqa: SIM905
) | {*_TEXTS, *_ID}
_INDEX = "__index_level_"  # Arrow's name of a column for a pandas index without a name


@cache
def _roles_by_name(what: What) -> Mapping[str, Role]:
    """Return {name: role} for every known name of a column in such data, users' names first."""
    roles = roles_of(what)
    found = {COLUMNS[role].public: role for role in roles}
    for role in roles:
        for name in COLUMNS[role].known(what):
            found.setdefault(name, role)
    return found


def _is_public(name: object, what: What) -> bool:
    return any(COLUMNS[role].public == name for role in roles_of(what))


# ---- columns that are found by name -------------------------------------------------------------


def find_columns(names: Sequence[str], what: What, stated: ColumnsLike | None) -> dict[Role, int]:
    """Return the column of each role in a table; roles may be missing.

    A column that is stated for one role is not taken for another by its name. Raises InputError if
    a stated column is missing, or if two columns may be meant; OptionError if a column is stated
    for two roles.
    """
    given = stated_roles(stated, what, names)
    found: dict[Role, int] = {}
    for role, column in given.items():
        if column is NO_COLUMN:
            continue
        at = _stated_column(names, column, what, stated)
        if at in found.values():
            raise _two_roles(names[at], next(one for one in found if found[one] == at), role)
        found[role] = at
    free: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if at not in found.values():
            free.setdefault(plain_name(name), []).append(at)
    for role in roles_of(what):
        known = COLUMNS[role].known(what)
        usual = next((name for name in known if name in free), None)
        if role in found or role in given or usual is None:
            continue
        if len(free[usual]) > 1:
            raise InputError(
                f"has {len(free[usual])} columns named {usual!r}",
                hint=state_columns(what),
                kind="columns",
            )
        _refuse_two_lists(usual, free, role, what)
        found[role] = free.pop(usual)[0]
    _take_id(free, found)
    if "query" not in given:
        _refuse_two_queries(names, free, found, what)
    for role in list(found):
        beside = COLUMNS[role].beside
        if beside is not None and beside not in found:
            if role in given:
                its = COLUMNS[beside].public
                raise OptionError(f"columns: a {role} needs a {its}: state the column {its}, too")
            del found[role]  # it belongs to something else
    return {role: found[role] for role in in_order(found)}


def _refuse_two_lists(usual: str, free: Mapping[str, Any], role: Role, what: What) -> None:
    """Raise InputError if another column may also be the list that is meant."""
    lists = COLUMNS[role].lists.get(what, ())
    if usual not in lists:
        return
    others = [name for name in lists if name in free and name != usual]
    if usual.endswith(("ids", "_id")):
        others = [name for name in others if name.endswith(("ids", "_id"))]
    if others:
        raise _which(usual, others[0], role, what)


def _take_id(free: dict[str, list[int]], found: dict[Role, int]) -> None:
    """Use a column `id` for the query or, if that has a column already, for the document."""
    usual = next((name for name in _ID if name in free), None)
    if usual is not None and not {"query", "doc"} <= found.keys():
        found["query" if "query" not in found else "doc"] = free.pop(usual)[0]


def _refuse_two_queries(
    names: Sequence[str], free: Mapping[str, list[int]], found: Mapping[Role, int], what: What
) -> None:
    """Raise InputError where each row is a query, and another column may also be its id.

    Examples: a text beside `id`, or a question beside its user or topic.
    """
    if not {"query", "doc"} <= found.keys():
        return
    query, doc = (plain_name(names[found[role]]) for role in ("query", "doc"))
    if doc not in COLUMNS["doc"].lists[what]:
        return
    others = [*(_ID if query in _TEXTS else ()), *(_QUESTIONS if query in _ASKED_BY else ())]
    other = next((free[name][0] for name in others if name in free), None)
    if other is not None:
        raise _which(names[other], names[found["query"]], "query", what)


NO_IDS = "no ids"  # kind of error: a table without a column of queries, or of documents
_OWN = {What.QRELS: "expected_ids", What.RUN: "retrieved_ids"}  # the documents of one side


_TEXTS_BESIDE = (
    " To print the questions next to the ids, use --query-texts, which takes the same file, or "
    "with_texts."
)


def _which(one: str, other: str, role: Role, what: What) -> InputError:
    public = _OWN[what] if role == "doc" else COLUMNS[role].public
    return InputError(
        f"the columns {one!r} and {other!r} may both be the {public}: which one is meant?",
        hint=f"State columns={{{public!r}: {one!r}}} or {{{public!r}: {other!r}}}; on the command "
        f"line --columns {public}={one}, or --{what.word}-columns where that file is one of two."
        + (_TEXTS_BESIDE if role == "query" and plain_name(one) in _ID else ""),
        kind="columns",
    )


def take_columns(
    names: Sequence[str], what: What, stated: ColumnsLike | None, source: str
) -> dict[Role, int]:
    """Return the column of each role; InputError if a required column is missing.

    Judgments may lack a column of grades: see `may_lack_grades`.
    """
    try:
        found = find_columns(names, what, stated)
    except InputError as error:
        raise error.at(source) from None
    for role, column in COLUMNS.items():
        if not column.needed or what not in column.of or role in found:
            continue
        if role == "grade" and may_lack_grades(names, found, stated):
            continue
        missing, kind = f"has no column {column.public!r}", NO_IDS if role in IDS else "columns"
        for other, at in found.items():
            if plain_name(names[at]) in column.names:  # it would have been used by its name
                as_other = f"{names[at]!r:.40} is stated as {COLUMNS[other].public}"
                missing, kind = f"has no column for {column.public!r}: {as_other}", "columns"
        raise InputError(
            f"{missing}; {listed_names(names)}",
            source=source,
            hint=_hint(names, role, what, found),
            kind=kind,
        )
    return found


def may_lack_grades(
    names: Sequence[str], found: Mapping[Role, int], stated: ColumnsLike | None
) -> bool:
    """Tell whether all rows of judgments are relevant, since there is no column of grades.

    This holds if it is stated, if the name of the documents' column says expected or relevant, or
    if no other column might be a grade, a score or a rank.
    """
    if "grade" in stated_roles(stated, What.QRELS, names):
        return True
    if found.keys() != {"query", "doc"}:
        return False
    lists = COLUMNS["doc"].lists[What.QRELS]
    if any(plain_name(name) in lists for name in (names[found["doc"]], *(stated or {}))):
        return True
    others = (plain_name(name) for at, name in enumerate(names) if at not in found.values())
    return all(name in _NO_GRADES or name.startswith(_INDEX) for name in others)


def _hint(names: Sequence[str], role: Role, what: What, found: Mapping[Role, int]) -> str:
    """Return a hint about a missing column."""
    if any(_NUMBER.fullmatch(name) for name in names):
        return (
            "Is the first line data? If a file has no header, state the columns by their "
            f"numbers: {by_number(what)}."
        )
    hint = (
        "A run has query_id, doc_id and score (or rank), qrels have query_id, doc_id and "
        f"relevance, or names that other tools use. {state_columns(what)}"
    )
    if role == "grade":
        ranks = {*COLUMNS["score"].names, *COLUMNS["rank"].names}
        if not ranks.isdisjoint(map(plain_name, names)):
            return (
                f"This looks like a run. The judgments come first: QRELS RUN. {hint}; {_NO_GRADE}"
            )
        others = [name for at, name in enumerate(names) if at not in found.values()]
        if {"query", "doc"} <= found.keys() and others:
            return (
                f"Is every row relevant, as purchases are? {_NO_GRADE}. Is one of the columns the "
                f"grade? columns={{'qrels': {{'relevance': {others[0]!r:.60}}}}}, --qrels-columns "
                f"relevance={others[0]:.60}."
            )
        hint += f"; if every row is relevant, {_NO_GRADE}"
    return hint


_NO_GRADE = "columns={'qrels': {'relevance': None}}, --qrels-columns relevance=-"
_NUMBER = re.compile(r"\s*[+-]?\d+(?:[.,]\d+)?\s*")


def by_number(what: What) -> str:
    """Return how to state the columns of a file without a header."""
    third = what.number
    return (
        f"--{what.word}-columns query_id=1,doc_id=2,{third}=3, "
        f"columns={{'query_id': 1, 'doc_id': 2, {third!r}: 3}}"
    )


def state_columns(what: What) -> str:
    """Return how to state the columns."""
    return (
        f"To state the columns: columns={{{what.word!r}: {{'query_id': ..., 'doc_id': ..., "
        f"{what.number!r}: ...}}}}, --{what.word}-columns query_id=...,doc_id=...,{what.number}=..."
    )


_MOST_NAMED = 100


def listed_names(names: Sequence[str]) -> str:
    """Return the names of a table's columns, in words."""
    own = [name for name in names if not name.startswith(_INDEX)]
    shown = ", ".join(f"{name!r:.60}" for name in own[:_MOST_NAMED])
    more = f", ... ({len(own):,} in all)" if len(own) > _MOST_NAMED else ""
    return f"its columns are {shown}{more}"


# ---- columns whose cells hold several -----------------------------------------------------------


def list_columns(
    names: Sequence[str],
    found: Mapping[Role, int],
    what: What,
    stated: ColumnsLike | None,
    first: Callable[[int], object],
) -> dict[Role, str]:
    """Return the columns to read from a table whose cells hold several documents; else {}.

    The cells do if the column's name says so, if such a name was stated for the column, or if its
    cell in the `first` row is a list. Numbers are only read from columns of lists: a single number
    belongs to the query.
    """
    if not {"query", "doc"} <= found.keys():
        return {}
    doc = found["doc"]
    if not (may_split(names[doc], names, stated) or is_list_cell(first(doc))):
        return {}
    taken = {role: names[found[role]] for role in ("query", "doc")}
    given = stated_roles(stated, what, names)
    plain = list(map(plain_name, names))
    for role in roles_of(what):
        if COLUMNS[role].kind == "id":
            continue
        lists = COLUMNS[role].lists.get(what, ())
        known = (plain.index(name) for name in [*lists, *COLUMNS[role].names] if name in plain)
        several = (at for at in known if plain[at] in lists or is_list_cell(first(at)))
        at = found.get(role) if role in given else next(several, None)
        if at is not None:
            taken[role] = names[at]
    return taken


def may_split(name: str, names: Sequence[str], stated: ColumnsLike | None) -> bool:
    """Tell whether a column may hold several ids, as `a;b`: by its name, or as stated.

    `names` are the names of all columns.
    """
    called = [name]
    for key, column in (stated or {}).items():
        at = names[column - 1] if isinstance(column, int) and column <= len(names) else column
        called += [key] if at == name else [str(column)] if key == name else []
    return any(_is_of_lists(one) for one in called)


def _is_of_lists(name: str) -> bool:
    plain = plain_name(name)
    lists = [several for column in COLUMNS.values() for several in column.lists.values()]
    return any(plain in several for several in lists) and not plain.endswith("_id")


# ---- columns that are stated --------------------------------------------------------------------


def stated_roles(
    stated: ColumnsLike | None, what: What, names: Sequence[str] | None = None
) -> dict[Role, str | int | None]:
    """Return {role: column} as the user stated it; OptionError for an unknown role.

    A role may have any known name of its column. With the `names` of the table's columns, a swapped
    statement, {"similarity": "score"}, is swapped back.
    """
    found: dict[Role, str | int | None] = {}
    roles = _roles_by_name(what)
    for name, column in (stated or {}).items():
        if _is_turned(name, column, what, names):
            name, column = str(column), name
        role = roles.get(name if _is_public(name, what) else plain_name(name))
        if role is None:
            raise _unknown(name, [COLUMNS[one].public for one in roles_of(what)])
        is_none = column is NO_COLUMN and (role == "grade" or not COLUMNS[role].needed)
        number = operator.index(column) if is_whole(column) else 0  # type: ignore[arg-type] # it is
        if not isinstance(column, str) and not is_none and not 0 < number <= _MOST_COLUMNS:
            raise OptionError(
                f"columns: {name}={column!r:.40}: expected a column's name, or its number, from 1"
            )
        if role in found:
            raise OptionError(f"columns: {COLUMNS[role].public} is stated twice")
        for other, taken in found.items():
            if taken == column is not NO_COLUMN:
                raise _two_roles(column, other, role)
        found[role] = column
    return found


def _is_turned(name: str, column: object, what: What, names: Sequence[str] | None) -> bool:
    """Tell whether {name: column} is swapped: the column is given as a role."""
    roles = _roles_by_name(what)
    if _is_public(name, what) or not isinstance(column, str) or plain_name(column) not in roles:
        return False
    if names is None:
        return plain_name(name) not in roles or _is_public(column, what)
    return name in names and column not in names


def columns_for(columns: ColumnsOfBoth | None, what: What) -> ColumnsLike | None:
    """Return the columns stated for one side, from those stated for both.

    `columns` is one mapping for both, or {"qrels": {...}, "run": {...}}. Raises OptionError for a
    column that neither side has.
    """
    if not columns:
        return None
    if any(isinstance(one, Mapping) for one in columns.values()):
        if not all(key in _SIDES and isinstance(one, Mapping) for key, one in columns.items()):
            raise OptionError(
                f"columns={columns!r:.80}: expected the columns of both, "
                "{'query_id': ..., 'doc_id': ...}, or {'qrels': {...}, 'run': {...}}"
            )
        own: Any = columns.get(what.word)
        return own or None
    found: dict[str, Any] = {}
    for name, column in columns.items():
        public = [side for side in _SIDES.values() if _is_public(name, side)]
        if not public and isinstance(column, str):
            public = [
                side
                for side in _SIDES.values()
                if _is_public(column, side) and plain_name(name) not in _roles_by_name(side)
            ]
        known = public or [
            side for side in _SIDES.values() if plain_name(name) in _roles_by_name(side)
        ]
        if not known:
            every = [COLUMNS[role].public for side in _OWN for role in roles_of(side)]
            raise _unknown(name, [*dict.fromkeys(every), *_OWN.values()])
        if what in known:
            found[name] = column
    return found or None


_SIDES = {What.QRELS.word: What.QRELS, What.RUN.word: What.RUN}


def _unknown(name: str, known: Sequence[str]) -> OptionError:
    from difflib import get_close_matches

    near = get_close_matches(plain_name(name), known, 1)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    choices = ", ".join(map(repr, known))
    return OptionError(f"columns: {name!r} is not known{guess}; choose one of {choices}")


def _of_another(what: What, stated: ColumnsLike) -> str:
    """Return how to state columns for some of several tables, where one lacks them."""
    typed = ",".join(f"{name}={'-' if its is None else its}" for name, its in stated.items())
    if what is What.QRELS:
        others, other = "the run alone has", What.RUN.word
    else:
        others, other = "the judgments alone have", What.QRELS.word
    shown = ", ".join(f"{name!r}: {its!r}" for name, its in stated.items())
    hint = (
        f"If {others} such columns: columns={{{other!r}: {{{shown}, ...}}}}, --{other}-columns "
        f"{typed},... "
    )
    apart = "To state each side separately: columns={'qrels': {...}, 'run': {...}}."
    if what is What.QRELS:
        return hint + apart
    of_runs = (
        f"If another run has them, Run(data, columns={{{shown}}}) reads that one alone, "
        f"and `cranfield convert IN OUT --columns {typed}` gives it the usual names. "
    )
    # Judgments have no score.
    return of_runs + apart if what.number in stated else hint + of_runs + apart


def _two_roles(column: str | int | None, *roles: Role) -> OptionError:
    first, second = (COLUMNS[role].public for role in roles)
    shown = f"{column!r:.40}"
    more = "; relevance=None if every row is relevant" if "grade" in roles else ""
    return OptionError(
        f"columns: {shown} is stated as {first} and as {second}, but can have one role only{more}"
    )


def _stated_column(
    names: Sequence[str], column: str | int | None, what: What, stated: ColumnsLike | None
) -> int:
    if isinstance(column, int):
        if column > len(names):
            raise InputError(f"has {len(names)} columns, no column {column}", kind="columns")
        return column - 1
    if names.count(str(column)) != 1:
        problem = "has two columns" if column in names else "has no column"
        raise InputError(
            f"{problem} {column!r}; {listed_names(names)}",
            hint=_of_another(what, stated or {}),
            kind="columns",
        )
    return names.index(str(column))
