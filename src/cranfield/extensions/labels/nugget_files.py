"""Nuggets: what an answer should say, and whether it does; from files and tables.

A row is (query, answer, nugget, importance, assignment). A JSON object may have a list `nuggets` of
objects with the last three fields, as AutoNuggetizer writes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import plain_name
from cranfield.formats.small.read import TableForm, Table, not_a_table_error, read_table

# The names of the columns: the first one that a row has is used.
NAMES: Mapping[str, Sequence[str]] = {
    "query": ("query_id", "qid", "topic_id", "query", "topic"),
    "answer": ("run_id", "answer_id", "answer", "run", "system"),
    "nugget": ("nugget", "nugget_id", "text"),
    "importance": ("importance",),
    "assignment": ("assignment",),
}
WORDS: Mapping[str, Sequence[str]] = {
    "importance": ("vital", "okay"),
    "assignment": ("support", "partial_support", "not_support"),
}
FAILED = "failed"  # what AutoNuggetizer writes in place of these after an error of its model


_FORM = TableForm("the nuggets", tuple(NAMES), header_names=NAMES["query"])


class Nugget(NamedTuple):
    """Whether an answer to a query supports a nugget, and how important that is."""

    query: str
    answer: str
    nugget: str
    importance: str
    assignment: str


def read_nuggets(source: Any) -> tuple[list[Nugget], list[tuple[str, str]]]:
    """Return the nuggets of a file (CSV, TSV, JSON lines, a JSON list), a table, or rows.

    And the (query, answer) of each JSON object whose list `nuggets` is empty.

    Raises InputError for the first row that is wrong, DuplicateError for a nugget that occurs twice
    for an answer.
    """
    table = read_table(source, _FORM)
    if not isinstance(table, Table):
        raise not_a_table_error(_FORM, table.value)
    found: dict[tuple[str, str, str], Nugget] = {}
    importance: dict[tuple[str, str], str] = {}
    without_nuggets: list[tuple[str, str]] = []
    names = list(map(plain_name, table.names))
    for at, values in enumerate(table.rows()):
        row = dict(zip(names, values, strict=True))
        if row.get("nuggets") == []:
            query, answer = (_read_column(table, at, row, name) for name in ("query", "answer"))
            without_nuggets.append((table.read_id(at, query), table.read_id(at, answer)))
        for one in _list_nuggets(table, at, row):
            if one[:3] in found:
                raise table.row_error(
                    at,
                    f"the nugget {one.nugget!r:.80} occurs twice for query {one.query!r}, "
                    f"answer {one.answer!r}",
                    kind=DuplicateError,
                )
            known = importance.setdefault((one.query, one.nugget), one.importance)
            if one.importance != known:
                raise table.row_error(
                    at,
                    f"the nugget {one.nugget!r:.80} of query {one.query!r} is {one.importance} "
                    f"here, and {known} above",
                    "A nugget must have the same importance for all answers of its query.",
                )
            found[one[:3]] = one
    if not found and not without_nuggets:
        raise InputError("the nuggets: hold no row")
    return list(found.values()), without_nuggets


def _list_nuggets(table: Table, at: int, row: Mapping[str, Any]) -> Iterator[Nugget]:
    inner = row.get("nuggets")
    for one in inner if isinstance(inner, list) else [{}]:
        if not isinstance(one, Mapping):
            raise table.row_error(at, f"expected a nugget as an object, got {one!r:.80}")
        yield _read_nugget(table, at, {**row, **one})


def _read_nugget(table: Table, at: int, row: Mapping[str, Any]) -> Nugget:
    values = {column: _read_column(table, at, row, column) for column in NAMES}
    for column, allowed in WORDS.items():
        value = values[column]
        values[column] = value.strip().lower() if isinstance(value, str) else value
        if values[column] not in (*allowed, FAILED):
            known = ", ".join(allowed)
            raise table.row_error(at, f"expected one of {known} as the {column}, got {value!r:.80}")
    ids = {column: table.read_id(at, values[column]) for column in ("query", "answer", "nugget")}
    return Nugget(**{**values, **ids})


def _read_column(table: Table, at: int, row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a row in a column of `NAMES`; InputError if it has none."""
    for name in NAMES[column]:
        if row.get(name) is not None:
            return row[name]
    raise table.row_error(
        at,
        f"has no {column!r}",
        "A row has query, answer, nugget, importance and assignment, or other names of these: "
        f"{', '.join(NAMES[column])}.",
    )
