"""Nugget files: reads which nuggets an answer should contain, and whether it does.

A row is (query, answer, nugget, importance, assignment). A JSON object may have a list `nuggets` of
objects with the last three fields, as AutoNuggetizer writes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import plain_name
from cranfield.formats.small.read import Table, TableForm, not_a_table_error, read_table

# The names of the columns: the first one that a row has is used.
NAMES: Mapping[str, Sequence[str]] = {
    "query": ("query_id", "qid", "topic_id", "query", "topic"),
    "answer": ("run_id", "answer_id", "answer", "run", "system"),
    "nugget": ("nugget", "nugget_id", "text"),
    "importance": ("importance",),
    "assignment": ("assignment",),
}
# What a column may say, apart from FAILED.
WORDS: Mapping[str, Sequence[str]] = {
    "importance": ("vital", "okay"),
    "assignment": ("support", "partial_support", "not_support"),
}
FAILED = "failed"  # AutoNuggetizer writes it after an error of its model


_FORM = TableForm("the nuggets", tuple(NAMES), header_names=NAMES["query"])


class Nugget(NamedTuple):
    """Whether an answer to a query supports a nugget, and how important that is."""

    query: str
    answer: str
    nugget: str
    importance: str
    assignment: str


def read_nuggets(source: Any) -> tuple[list[Nugget], list[tuple[str, str]]]:
    """Read the nuggets of a file (CSV, TSV, JSON lines, a JSON list), a table, or rows.

    Returns the nuggets, and (query, answer) of each JSON object whose list `nuggets` is empty.

    Raises InputError for the first row that is wrong, DuplicateError for a nugget that occurs twice
    for an answer.
    """
    table = read_table(source, _FORM)
    if not isinstance(table, Table):
        raise not_a_table_error(_FORM, table.members)
    nugget_of_key: dict[tuple[str, str, str], Nugget] = {}
    importance_of_nugget: dict[tuple[str, str], str] = {}
    without_nuggets: list[tuple[str, str]] = []
    names = list(map(plain_name, table.names))
    for row_number, cells in enumerate(table.rows()):
        row = dict(zip(names, cells, strict=True))
        if row.get("nuggets") == []:
            query, answer = (
                _read_column(table, row_number, row, name) for name in ("query", "answer")
            )
            without_nuggets.append(
                (table.read_id(row_number, query), table.read_id(row_number, answer))
            )
        for nugget in _list_nuggets(table, row_number, row):
            if nugget[:3] in nugget_of_key:
                raise table.row_error(
                    row_number,
                    f"the nugget {nugget.nugget!r:.80} occurs twice for query {nugget.query!r}, "
                    f"answer {nugget.answer!r}",
                    kind=DuplicateError,
                )
            first_importance = importance_of_nugget.setdefault(
                (nugget.query, nugget.nugget), nugget.importance
            )
            if nugget.importance != first_importance:
                raise table.row_error(
                    row_number,
                    f"the nugget {nugget.nugget!r:.80} of query {nugget.query!r} is "
                    f"{nugget.importance} here, and {first_importance} above",
                    "A nugget must have the same importance for all answers of its query.",
                )
            nugget_of_key[nugget[:3]] = nugget
    if not nugget_of_key and not without_nuggets:
        raise InputError("the nuggets: hold no row")
    return list(nugget_of_key.values()), without_nuggets


def _list_nuggets(table: Table, row_number: int, row: Mapping[str, Any]) -> Iterator[Nugget]:
    inner_rows = row.get("nuggets")
    for inner_row in inner_rows if isinstance(inner_rows, list) else [{}]:
        if not isinstance(inner_row, Mapping):
            raise table.row_error(
                row_number, f"expected a nugget as an object, got {inner_row!r:.80}"
            )
        yield _read_nugget(table, row_number, {**row, **inner_row})


def _read_nugget(table: Table, row_number: int, row: Mapping[str, Any]) -> Nugget:
    cells = {column: _read_column(table, row_number, row, column) for column in NAMES}
    for column, words in WORDS.items():
        cell = cells[column]
        cells[column] = cell.strip().lower() if isinstance(cell, str) else cell
        if cells[column] not in (*words, FAILED):
            allowed_words = ", ".join(words)
            raise table.row_error(
                row_number, f"expected one of {allowed_words} as the {column}, got {cell!r:.80}"
            )
    ids = {
        column: table.read_id(row_number, cells[column]) for column in ("query", "answer", "nugget")
    }
    return Nugget(**{**cells, **ids})


def _read_column(table: Table, row_number: int, row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a row in a column of `NAMES`; InputError if it has none."""
    for name in NAMES[column]:
        if row.get(name) is not None:
            return row[name]
    raise table.row_error(
        row_number,
        f"has no {column!r}",
        "A row has query, answer, nugget, importance and assignment, or other names of these: "
        f"{', '.join(NAMES[column])}.",
    )
