"""Nuggets: what an answer should say, and whether it does; from files and tables.

A row is (query, answer, nugget, importance, assignment). An object of JSON may hold a list
`nuggets` of objects with the last three, as AutoNuggetizer writes them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.identifiers import as_text
from cranfield.formats.records import Document, Records, Text, read_records

# What the columns are called: the first of these that a row has is taken.
NAMES: Mapping[str, Sequence[str]] = {
    "query": ("query_id", "qid", "topic_id", "query", "topic"),
    "answer": ("run_id", "answer_id", "answer", "run", "system"),
    "nugget": ("nugget", "nugget_id", "text"),
    "importance": ("importance",),
    "assignment": ("assignment",),
}
IMPORTANCE = ("vital", "okay")
ASSIGNMENT = ("support", "partial_support", "not_support")


class Nugget(NamedTuple):
    """Whether an answer to a query supports a nugget, and how important that is."""

    query: str
    answer: str
    nugget: str
    importance: str
    assignment: str


_Fault = Callable[..., InputError]


def nugget_rows(data: Any) -> list[Nugget]:
    """Return the nuggets of a file (CSV, TSV, JSON lines, a JSON list), a table, or rows.

    Raises InputError for the first row that is wrong, DuplicateError for a nugget that comes twice
    for an answer.
    """
    found: dict[tuple[str, str, str], Nugget] = {}
    importance: dict[tuple[str, str], str] = {}
    records = _rows(data)
    for at, names, values in records:
        refused = partial(records.error, at)
        row = dict(zip((name.strip().lower() for name in names), values, strict=True))
        for one in _nuggets(refused, row):
            if one[:3] in found:
                raise refused(
                    f"the nugget {one.nugget!r:.80} stands twice for query {one.query!r}, "
                    f"answer {one.answer!r}",
                    kind=DuplicateError,
                )
            known = importance.setdefault((one.query, one.nugget), one.importance)
            if one.importance != known:
                raise refused(
                    f"the nugget {one.nugget!r:.80} of query {one.query!r} is {one.importance} "
                    f"here, and {known} above",
                    "A nugget is as important to every answer of its query.",
                )
            found[one[:3]] = one
    if not found:
        raise InputError("the nuggets: hold no row")
    return list(found.values())


def _nuggets(refused: _Fault, row: Mapping[str, Any]) -> Iterator[Nugget]:
    inner = row.get("nuggets")
    if not isinstance(inner, list):
        yield _nugget(refused, row)
        return
    for one in inner:
        if not isinstance(one, Mapping):
            raise refused(f"expected a nugget as an object, got {one!r:.80}")
        yield _nugget(refused, {**row, **one})


def _nugget(refused: _Fault, row: Mapping[str, Any]) -> Nugget:
    fields = []
    for column, names in NAMES.items():
        value = next((row[name] for name in names if row.get(name) is not None), None)
        if value is None:
            raise refused(
                f"has no {column!r}",
                "A row has query, answer, nugget, importance and assignment, or what other tools "
                f"call them: {', '.join(names)}.",
            )
        fields.append(value)
    try:
        ids = [as_text(value, "") for value in fields[:3]]
    except InputError as error:
        raise refused(error.problem.removeprefix(": ")) from None
    words = []
    for column, allowed, value in (
        ("importance", IMPORTANCE, fields[3]),
        ("assignment", ASSIGNMENT, fields[4]),
    ):
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in allowed:
            known = ", ".join(allowed)
            raise refused(f"expected one of {known} as the {column}, got {value!r:.80}")
        words.append(word)
    return Nugget(ids[0], ids[1], ids[2], words[0], words[1])


def _rows(data: Any) -> Records:
    found = read_records(data, "the nuggets", tuple(NAMES))
    if isinstance(found, Text):
        return found.records()
    if isinstance(found, Document):
        if isinstance(data, Mapping) or not found.is_plain:
            raise found.error(None, "expected nuggets as a file, a table or rows, got dict")
        return found.records()
    return found
