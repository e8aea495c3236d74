"""Nuggets: what an answer should say, and whether it does; from files and tables.

A row is (query, answer, nugget, importance, assignment). An object of JSON may hold a list
`nuggets` of objects with the last three, as AutoNuggetizer writes them.
"""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.frames import is_table
from cranfield.formats.lines import BYTE_ORDER_MARK
from cranfield.formats.objects import as_text
from cranfield.formats.source import Source

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


class _Place(NamedTuple):
    """Where a row stands."""

    source: str
    line: int | None
    text: str | None

    def error(
        self, problem: str, hint: str | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        return kind(problem, source=self.source, line=self.line, text=self.text, hint=hint)


_Row = tuple[_Place, Mapping[str, Any]]


def nugget_rows(data: Any) -> list[Nugget]:
    """Return the nuggets of a file (CSV, TSV, JSON lines, a JSON list), a table, or rows.

    Raises InputError for the first row that is wrong, DuplicateError for a nugget that comes twice
    for an answer.
    """
    found: dict[tuple[str, str, str], Nugget] = {}
    importance: dict[tuple[str, str], str] = {}
    for place, row in _rows(data):
        for one in _nuggets(place, row):
            if one[:3] in found:
                raise place.error(
                    f"the nugget {one.nugget!r:.80} stands twice for query {one.query!r}, "
                    f"answer {one.answer!r}",
                    kind=DuplicateError,
                )
            known = importance.setdefault((one.query, one.nugget), one.importance)
            if one.importance != known:
                raise place.error(
                    f"the nugget {one.nugget!r:.80} of query {one.query!r} is {one.importance} "
                    f"here, and {known} above",
                    "A nugget is as important to every answer of its query.",
                )
            found[one[:3]] = one
    if not found:
        raise InputError("the nuggets: hold no row")
    return list(found.values())


def _nuggets(place: _Place, row: Mapping[str, Any]) -> Iterator[Nugget]:
    inner = row.get("nuggets")
    if not isinstance(inner, list):
        yield _nugget(place, row)
        return
    for one in inner:
        if not isinstance(one, Mapping):
            raise place.error(f"expected a nugget as an object, got {one!r:.80}")
        yield _nugget(place, {**row, **one})


def _nugget(place: _Place, row: Mapping[str, Any]) -> Nugget:
    fields = []
    for column, names in NAMES.items():
        value = next((row[name] for name in names if row.get(name) is not None), None)
        if value is None:
            raise place.error(
                f"has no {column!r}",
                "A row has query, answer, nugget, importance and assignment, or what other tools "
                f"call them: {', '.join(names)}.",
            )
        fields.append(value)
    try:
        ids = [as_text(value, "") for value in fields[:3]]
    except InputError as error:
        raise place.error(error.problem.removeprefix(": ")) from None
    words = []
    for column, allowed, value in (
        ("importance", IMPORTANCE, fields[3]),
        ("assignment", ASSIGNMENT, fields[4]),
    ):
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in allowed:
            known = ", ".join(allowed)
            raise place.error(f"expected one of {known} as the {column}, got {value!r:.80}")
        words.append(word)
    return Nugget(ids[0], ids[1], ids[2], words[0], words[1])


def _rows(data: Any) -> Iterator[_Row]:
    if isinstance(data, str | os.PathLike):
        yield from _file_rows(Source(data))
        return
    if is_table(data):
        import pyarrow as pa

        data = pa.RecordBatchReader.from_stream(data).read_all().to_pylist()
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise InputError(
            f"expected nuggets as a file, a table or rows, got {type(data).__name__}",
        )
    for i, row in enumerate(data):
        place = _Place(f"the nuggets: row {i}", None, None)
        if isinstance(row, Mapping):
            yield place, row
        elif hasattr(row, "_asdict"):
            yield place, row._asdict()
        elif isinstance(row, tuple | list) and len(row) == len(NAMES):
            yield place, dict(zip(NAMES, row, strict=True))
        else:
            raise place.error(f"expected ({', '.join(NAMES)}), got {row!r:.80}")


def _file_rows(source: Source) -> Iterator[_Row]:
    with source.open() as stream:
        raw = stream.read().removeprefix(BYTE_ORDER_MARK)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8", source=source.name) from None
    lines = text.splitlines(keepends=True)
    start = text.lstrip()[:1]
    if start == "[":
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is no JSON: {error}", source=source.name) from None
        for i, row in enumerate(listed):
            place = _Place(source.name, None, f"element {i}: {row!r:.120}")
            if not isinstance(row, dict):
                raise place.error("expected a JSON object")
            yield place, row
    elif start == "{":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _json_row(_Place(source.name, number, line), line)
    else:
        yield from _delimited_rows(source, lines)


def _json_row(place: _Place, line: str) -> _Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise place.error(f"is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise place.error("expected a JSON object")
    return place, row


def _delimited_rows(source: Source, lines: list[str]) -> Iterator[_Row]:
    header = next((line for line in lines if line.strip()), "")
    reader = csv.reader(
        io.StringIO("".join(lines), newline=""),
        delimiter="\t" if "\t" in header else ",",
        strict=True,
    )
    names: list[str] | None = None
    while True:
        number = reader.line_num
        place = _Place(source.name, number + 1, lines[number].rstrip() if lines[number:] else None)
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise place.error(f"a field is not as it should be: {error}") from None
        if not fields:
            continue
        if names is None:
            names = [name.strip().lower() for name in fields]
            continue
        if len(fields) != len(names):
            shown = ", ".join(names)
            raise place.error(f"expected {len(names)} columns, {shown:.200}; got {len(fields)}")
        yield place, dict(zip(names, fields, strict=True))
