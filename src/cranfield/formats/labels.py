"""Labels of queries, by which results are sliced: from files, tables, dicts and rows."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import NAMES, plain_name
from cranfield.formats.identifiers import as_text
from cranfield.formats.records import Document, Origin, Records, Text, read_records
from cranfield.notes import Note

QUERY = (*NAMES["query"], "_id", "id")
ONE = "slice"  # the name of labels that have none
MANY = 50  # more labels than these, and than half as many as queries, are no labels
FEW = 10  # more numbers than these are put into ranges
RANGES = 4

_Cell = tuple[int | None, Any, str, Any]  # the row's number, the query, the label's name, the label


@dataclass(frozen=True)
class LabelRows:
    """Labels of queries: {name: {query: label}}, and what was done to them, in words.

    Labels come in the order of the file; ranges of numbers, the lowest first.
    """

    labels: Mapping[str, Mapping[str, str]]
    notes: tuple[Note, ...] = ()


def label_rows(data: Any) -> LabelRows:
    """Return the labels of queries in a file, a table, a dict or rows.

    A table has a column of queries, and one for each kind of label. Lines of two fields without
    names, rows of two, and a dict {query: label} hold one kind, which is called `slice`; a dict
    {name: {query: label}} holds several. An empty cell is no label. A kind of more than ten
    different numbers is put into four ranges of about as many queries each.

    Raises InputError for what cannot be labels, such as each query's own text, and DuplicateError
    for a query with two labels of a kind.
    """
    found = read_records(data, "the labels", ("query_id", ONE))
    if isinstance(found, Text) and (
        _query_at(found.first()) is not None or len(found.first()) != 2
    ):
        found = found.records()
    if isinstance(found, Document) and found.is_plain and _query_at(found.names) is not None:
        found = found.records()
    if isinstance(found, Text):
        cells = _pairs(found)
    elif isinstance(found, Records):
        cells = _of_records(found)
    else:
        cells = _of_dict(found.value, found)
    return _checked(_gathered(cells, found), found)


def _query_at(names: Iterable[str]) -> int | None:
    """Return the number of the column of queries."""
    plain = [plain_name(name) for name in names]
    return next((plain.index(name) for name in QUERY if name in plain), None)


def _pairs(text: Text) -> Iterator[_Cell]:
    for number, fields in text.quoted():
        if len(fields) != 2:
            raise text.error(number, f"expected a query and its label, got {len(fields)} columns")
        yield number, fields[0], ONE, fields[1]


def _of_records(records: Records) -> Iterator[_Cell]:
    for at, names, values in records:
        query_at = _query_at(names)
        if query_at is None:
            raise records.error(
                at,
                f"has no column of queries; it has {', '.join(names):.200}",
                f"It is called {QUERY[0]!r}, or one of {', '.join(QUERY[1:])}.",
            )
        for i, name in enumerate(names):
            if i != query_at and name not in ("", "__index_level_0__"):
                yield at, values[query_at], name.strip(), values[i]


def _of_dict(data: Mapping[Any, Any], origin: Origin) -> Iterator[_Cell]:
    inner = [isinstance(value, Mapping) for value in data.values()]
    if any(inner) and not all(inner):
        raise origin.error(None, "expected {query: label} or {name: {query: label}}, got both")
    for name, labels in data.items() if any(inner) else [(ONE, data)]:
        for query, label in labels.items():
            yield None, query, str(name), label


def _gathered(cells: Iterable[_Cell], origin: Origin) -> dict[str, dict[str, str | float]]:
    found: dict[str, dict[str, str | float]] = {}
    for at, query, name, value in cells:
        try:
            query = as_text(query, "")
        except InputError as error:
            raise origin.error(at, error.problem.removeprefix(": ")) from None
        labels = found.setdefault(name, {})
        label = value.strip() if isinstance(value, str) else value
        if label is None or label == "" or (isinstance(label, float) and math.isnan(label)):
            continue
        if isinstance(label, Mapping | list | tuple | set | bytes):
            raise origin.error(at, f"expected a label of query {query!r:.80}, got {label!r:.80}")
        if isinstance(label, bool) or not isinstance(label, int | float):
            label = str(label)
        if labels.setdefault(query, label) != label:
            raise origin.error(
                at,
                f"query {query!r:.80} is {label!r:.80} as {name!r:.80} here, and "
                f"{labels[query]!r:.80} above",
                kind=DuplicateError,
            )
    return found


def _checked(found: Mapping[str, Mapping[str, str | float]], origin: Origin) -> LabelRows:
    """Return labels that are few enough to slice by."""
    labels: dict[str, dict[str, str]] = {}
    notes: list[tuple[str, str]] = []  # code, sentence
    unique: list[str] = []
    for name, of in found.items():
        numbers = {query: _number(label) for query, label in of.items()}
        distinct = set(of.values())
        if len(distinct) > FEW and None not in numbers.values():
            labels[name] = _ranges({query: n for query, n in numbers.items() if n is not None})
            text = (
                f"{name}: {len(distinct):,} different numbers, put into ranges at the quartiles of "
                f"{len(of):,} queries."
            )
            notes.append(("ranges", text))
        elif len(distinct) > MANY and len(distinct) > len(of) / 2:
            unique.append(name)
            text = f"{name}: left out, {len(distinct):,} labels of {len(of):,} queries."
            notes.append(("labels-left-out", text))
        elif of:
            labels[name] = {
                query: label if isinstance(label, str) else _shown(label)
                for query, label in of.items()
            }
    if not labels and unique:
        raise origin.error(
            None,
            f"no labels to slice by: {', '.join(text for _, text in notes)}",
            "A label is shared by many queries, such as a type or a language. Texts are none; "
            "numbers, such as their lengths, are put into ranges.",
        )
    if not labels:
        raise origin.error(None, "holds no label of a query")
    return LabelRows(labels, tuple(Note(code, "info", text) for code, text in notes))


def _number(label: str | float) -> float | None:
    if isinstance(label, str) and ("_" in label or not label.isascii()):
        return None
    try:
        number = float(label)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _shown(number: float) -> str:
    return f"{number:.0f}" if isinstance(number, float) and number.is_integer() else str(number)


def _ranges(numbers: Mapping[str, float]) -> dict[str, str]:
    """Return the range of each query's number, those of the lowest first.

    The i-th range ends with the number at place i n / 4, rounded up; equal numbers stay together.
    """
    queries = sorted(numbers, key=numbers.__getitem__)
    ends = [numbers[queries[-(-len(queries) * i // RANGES) - 1]] for i in range(1, RANGES + 1)]
    groups: list[list[str]] = [[] for _ in ends]
    for query in queries:
        groups[next(i for i, end in enumerate(ends) if numbers[query] <= end)].append(query)
    found: dict[str, str] = {}
    for group in groups:
        if group:
            low, high = numbers[group[0]], numbers[group[-1]]
            between = "-" if low >= 0 and low.is_integer() and high.is_integer() else " to "
            label = _shown(low) + (f"{between}{_shown(high)}" if low < high else "")
            found |= dict.fromkeys(group, label)
    return found
