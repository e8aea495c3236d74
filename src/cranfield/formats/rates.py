"""Rates: how often an assessor gives which grade to a document of a true grade, from a file."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import plain_name
from cranfield.formats.records import Document, Records, Text, read_records

_COLUMNS = ("grade", "given", "rate")
_EXPECTED = "expected the columns grade, given and rate"

_Cell = tuple[int | None, Any, Any, Any]  # the row's number, grade, given, rate


def rate_rows(data: Any) -> dict[int, dict[int, float]]:
    """Return {true grade: {given grade: rate}} of a file, a table, a dict or rows.

    A table has the columns grade, given and rate; JSON may be an object of objects. Raises
    InputError for what are no rates, and DuplicateError for a rate that comes twice.
    """
    found = read_records(data, "the rates", _COLUMNS)
    if isinstance(found, Document) and found.is_plain:
        found = found.records()
    if isinstance(found, Text):
        if not {*_COLUMNS} <= {*map(plain_name, found.first())}:
            first = next((number for number, _ in found.plain()), None)
            raise found.error(first, f"{_EXPECTED} in its first line")
        found = found.records()
    cells = _of_records(found) if isinstance(found, Records) else _of_dict(found)
    rates: dict[int, dict[int, float]] = {}
    for at, *cell in cells:
        true, given, rate = map(_number, cell)
        if not (true.is_integer() and given.is_integer() and 0 <= rate < math.inf):
            shown = ", ".join(map(repr, cell))
            raise found.error(
                at, f"expected two whole grades and a rate from 0 up, got {shown:.80}"
            )
        row = rates.setdefault(int(true), {})
        if int(given) in row:
            raise found.error(
                at, f"a second rate of grade {given:g} for grade {true:g}", kind=DuplicateError
            )
        row[int(given)] = rate
    if not rates:
        raise InputError("holds no rates", source=found.name)
    return rates


def _of_records(records: Records) -> Iterator[_Cell]:
    for at, names, values in records:
        plain = [plain_name(name) for name in names]
        if not {*_COLUMNS} <= {*plain}:
            raise records.error(at, f"{_EXPECTED}, got {', '.join(names):.200}")
        grade, given, rate = (values[plain.index(name)] for name in _COLUMNS)
        yield at, grade, given, rate


def _of_dict(found: Document) -> Iterator[_Cell]:
    for true, row in found.value.items():
        if not isinstance(row, Mapping):
            raise found.error(
                None, f"grade {true!r:.40}: expected {{given: rate}}, got {row!r:.40}"
            )
        for given, rate in row.items():
            yield None, true, given, rate


def _number(value: Any) -> float:
    """Return a number, NaN if it is none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
