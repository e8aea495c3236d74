"""Columns: what a run and judgments may have, and which name of a table's column means which."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Role
from cranfield.options import is_whole


@dataclass(frozen=True)
class What:
    """What some data are: What.RUN or What.QRELS."""

    word: str  # in options and errors
    role: Role  # of the number that says most of a document
    called: str  # data in memory, in errors

    RUN: ClassVar["What"]  # (an Enum takes as long to look up as the rest of what is done with it)
    QRELS: ClassVar["What"]

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (What, self.word.upper())  # there is one of each

    @property
    def number(self) -> str:
        """What users call the column of that number."""
        return COLUMNS[self.role].public

    @property
    def expected(self) -> str:
        """What that number is, in errors."""
        return f"{COLUMNS[self.role].kind} as the {self.role}"


What.RUN = What("run", "score", "the run")
What.QRELS = What("qrels", "grade", "the qrels")


@dataclass(frozen=True)
class Column:
    """A column that a run or judgments may have.

    `names` are those that tools give it: the first one present is taken. `several` is what errors
    call its values, if all files of one table need it or none. `beside` is the role of the column
    without which it means nothing. `stated_as` is what users call it, if not by its first name.
    """

    of: tuple[What, ...]
    kind: Literal["id", "number", "whole number"]
    names: Sequence[str]
    needed: bool = False
    several: str | None = None
    beside: Role | None = None
    stated_as: str | None = None
    meaning: str = ""  # for the documentation

    @property
    def public(self) -> str:
        """What users call it."""
        return self.stated_as or self.names[0]


_BOTH, _RUN, _QRELS = (What.RUN, What.QRELS), (What.RUN,), (What.QRELS,)

_QUERY = "query_id qid q_id queryid user_id userid topic_id query user topic"
_DOC = "doc_id docno docid corpus_id document_id item_id itemid passage_id pid doc document item"
_GRADE = "relevance label rel grade score rating"
_GROUP = "subtopic subtopic_id intent intent_id aspect group"
_WEIGHT = "weight subtopic_weight intent_weight"
_CHANCE = "inclusion_probability probability inclusion_prob iprob"
_SPANS = "of judgments by span: the first position, and that behind the last; both or none"
_COSTS = "what it costs to look at the document (seconds, or characters); optional, for CWL"
_STRATA = "of judgments that are a sample; whole numbers"

#: Every column, in the order in which they are looked for, and written.
COLUMNS: Mapping[Role, Column] = {
    "query": Column(_BOTH, "id", _QUERY.split(), needed=True),
    "doc": Column(_BOTH, "id", _DOC.split(), needed=True),
    "score": Column(_RUN, "number", ["score"], several="scores"),
    "rank": Column(_RUN, "whole number", ["rank"]),
    "cost": Column(_RUN, "number", ["cost"], several="costs", meaning=_COSTS),
    "grade": Column(_QRELS, "whole number", _GRADE.split(), needed=True),
    "group": Column(
        _QRELS, "id", _GROUP.split(), several="subtopics", meaning="of judgments by subtopic"
    ),
    "weight": Column(
        *(_QRELS, "number", _WEIGHT.split()),
        several="weights",
        beside="group",
        meaning="of a subtopic",
    ),
    "stratum": Column(
        _QRELS, "whole number", ["stratum", "stratum_id"], several="strata", meaning=_STRATA
    ),
    "probability": Column(
        *(_QRELS, "number", _CHANCE.split()),
        several="probabilities",
        stated_as="probability",
        meaning="of being judged, likewise",
    ),
    "start": Column(
        *(_BOTH, "whole number", ["start", "start_char", "start_index"]),
        several="spans",
        beside="end",
        meaning=_SPANS,
    ),
    "end": Column(
        *(_BOTH, "whole number", ["end", "end_char", "end_index"]),
        several="spans",
        beside="start",
        meaning="likewise",
    ),
    # Of trec_eval's files of preferences; no table has them.
    "subgroup": Column((), "id", ["subgroup"]),
    "level": Column((), "number", ["level"]),
}
NAMES: Mapping[Role, Sequence[str]] = {role: column.names for role, column in COLUMNS.items()}
IDS = tuple(role for role, column in COLUMNS.items() if column.kind == "id")
FRACTIONS = frozenset(role for role, column in COLUMNS.items() if column.kind == "number")
_MOST_COLUMNS = 10_000
ColumnsLike = Mapping[str, str | int]


def roles_of(what: What) -> list[Role]:
    """Return the columns that such data may have."""
    return [role for role, column in COLUMNS.items() if what in column.of]


def in_order(roles: Iterable[Role]) -> list[Role]:
    """Return some roles in the order in which columns are written."""
    some = set(roles)
    return [role for role in COLUMNS if role in some]


def plain_name(name: str) -> str:
    """Return a column's name as it is compared."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def find_columns(names: Sequence[str], what: What, stated: ColumnsLike | None) -> dict[Role, int]:
    """Return which of a table's columns has each role; roles may be missing.

    A column that is stated for one role is not taken for another by its name. Raises InputError
    if a stated column is not there, or two have the name that is looked for, OptionError if a
    column is stated for two roles.
    """
    given = stated_roles(stated, what)
    found: dict[Role, int] = {}
    for role, column in given.items():
        at = _stated_column(names, column)
        if at in found.values():
            raise _two_roles(names[at], next(one for one in found if found[one] == at), role)
        found[role] = at
    free: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if at not in found.values():
            free.setdefault(plain_name(name), []).append(at)
    for role in roles_of(what):
        usual = next((name for name in COLUMNS[role].names if name in free), None)
        if role in found or usual is None:
            continue
        if len(free[usual]) > 1:
            raise InputError(
                f"has {len(free[usual])} columns named {usual!r}",
                hint=state_columns(what),
                kind="columns",
            )
        found[role] = free[usual][0]
    for role in list(found):
        beside = COLUMNS[role].beside
        if beside is not None and beside not in found:
            if role in given:
                its = COLUMNS[beside].public
                raise OptionError(f"columns: a {role} is a {its}'s: state the column {its}, too")
            del found[role]  # of something else
    return {role: found[role] for role in in_order(found)}


def stated_roles(stated: ColumnsLike | None, what: What) -> dict[Role, str | int]:
    """Return {role: column} of what the user stated; OptionError for what is no role."""
    found: dict[Role, str | int] = {}
    roles = {COLUMNS[role].public: role for role in roles_of(what)}
    for name, column in (stated or {}).items():
        if name not in roles:
            known = ", ".join(map(repr, roles))
            raise OptionError(f"columns: {name!r} is not known; choose of {known}")
        number = operator.index(column) if is_whole(column) else 0  # type: ignore[arg-type] # it is
        if not isinstance(column, str) and not 0 < number <= _MOST_COLUMNS:
            raise OptionError(
                f"columns: {name}={column!r:.40}: expected a column's name, or its number, from 1"
            )
        for other, taken in found.items():
            if taken == column:
                raise _two_roles(column, other, roles[name])
        found[roles[name]] = column
    return found


def _two_roles(column: str | int, *roles: Role) -> OptionError:
    first, second = (COLUMNS[role].public for role in roles)
    shown = f"{column!r:.40}"
    return OptionError(f"columns: {shown} is stated as {first} and as {second}, and has one role")


def _stated_column(names: Sequence[str], column: str | int) -> int:
    if isinstance(column, int):
        if column > len(names):
            raise InputError(f"has {len(names)} columns, no column {column}", kind="columns")
        return column - 1
    if names.count(column) != 1:
        problem = "has two columns" if column in names else "has no column"
        raise InputError(f"{problem} {column!r}; {_listed(names)}", kind="columns")
    return names.index(column)


def take_columns(
    names: Sequence[str], what: What, stated: ColumnsLike | None, source: str
) -> dict[Role, int]:
    """Return which column has each role; InputError if a column is missing that there must be."""
    try:
        found = find_columns(names, what, stated)
    except InputError as error:
        raise error.at(source) from None
    for role, column in COLUMNS.items():
        if not column.needed or what not in column.of or role in found:
            continue
        missing = f"has no column {column.public!r}"
        for other, at in found.items():
            if plain_name(names[at]) in column.names:  # it would have been taken by its name
                as_other = f"{names[at]!r:.40} is stated as {COLUMNS[other].public}"
                missing = f"has no column for {column.public!r}: {as_other}"
        raise InputError(
            f"{missing}; {_listed(names)}",
            source=source,
            hint="A run has query_id, doc_id and score (or rank), qrels have query_id, doc_id "
            f"and relevance, or what other tools call them. {state_columns(what)}",
            kind="columns",
        )
    return found


def state_columns(what: What) -> str:
    """Return how to say which column is which."""
    return (
        f"To say which is which: columns={{'query_id': ..., 'doc_id': ..., {what.number!r}: ...}}, "
        f"--{what.word}-columns query_id=...,doc_id=...,{what.number}=..."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.60}" for name in names[:20])
    return f"its columns are {shown}" + (", ..." if len(names) > 20 else "")


def numbers_in(found: Iterable[Role]) -> frozenset[Role]:
    """Return which roles among these are not the ids of query and document."""
    return frozenset(found) - {"query", "doc"}


def understood(names: Sequence[str], found: Mapping[Role, int]) -> str:
    """Return which columns were taken, in words."""
    return ", ".join(names[at] for at in found.values())
