"""Rates: how often an assessor gives which grade to a document of a true grade, from a file."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import plain_name
from cranfield.formats.small.read import Document, Table, number_of, read_table

_COLUMNS = ("grade", "given", "rate")
_EXPECTED = "expected the columns grade, given and rate"

_Cell = tuple[int | None, Any, Any, Any]  # the row, grade, given, rate


def rate_rows(data: Any) -> dict[int, dict[int, float]]:
    """Return {true grade: {given grade: rate}} of a file, a table, a dict or rows.

    A table has the columns grade, given and rate; JSON may be an object of objects. Raises
    InputError for what are no rates, and DuplicateError for a rate that comes twice.
    """
    found = read_table(data, "the rates", _COLUMNS, is_header=_is_header)
    if isinstance(found, Document):
        found = found.as_row() or found
    cells = _of_table(found) if isinstance(found, Table) else _of_dict(found)
    rates: dict[int, dict[int, float]] = {}
    for at, *cell in cells:
        true, given, rate = (
            math.nan if number is None else number for number in map(number_of, cell)
        )
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


def _is_header(first: Sequence[str]) -> bool:
    if not {*_COLUMNS} <= {*map(plain_name, first)}:
        raise InputError(f"{_EXPECTED} in its first line")
    return True


def _of_table(table: Table) -> Iterator[_Cell]:
    places = [place for name in _COLUMNS if (place := table.place([name])) is not None]
    if len(places) == len(_COLUMNS):
        columns = [table.columns[place] for place in places]
        yield from zip(range(table.n_rows), *columns, strict=True)
    elif table.names:
        shown = ", ".join(table.names)
        raise table.error(0 if table.n_rows else None, f"{_EXPECTED}, got {shown:.200}")


def _of_dict(found: Document) -> Iterator[_Cell]:
    for true, row in found.value.items():
        if not isinstance(row, Mapping):
            raise found.error(
                None, f"grade {true!r:.40}: expected {{given: rate}}, got {row!r:.40}"
            )
        for given, rate in row.items():
            yield None, true, given, rate
