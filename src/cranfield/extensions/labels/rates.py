"""Rates: how often an assessor gives each grade to documents of a true grade, from a file."""

import math
from collections.abc import Iterable
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import TableForm, Table, parse_number, read_table

_COLUMNS = ("grade", "given", "rate")
_FORM = TableForm("the rates", _COLUMNS, required_names=_COLUMNS)


def read_rates(source: Any) -> dict[int, dict[int, float]]:
    """Return {true grade: {given grade: rate}} from a file, a table, a dict or rows.

    A table has the columns grade, given and rate; JSON may be an object of objects. Raises
    InputError for values that are not rates, and DuplicateError for a rate that occurs twice.
    """
    found = read_table(source, _FORM)
    cells = _table_cells(found) if isinstance(found, Table) else found.read_leaves(2)
    rates: dict[int, dict[int, float]] = {}
    for row, cell in enumerate(cells):
        at = row if isinstance(found, Table) else None
        true, given, rate = (math.nan if n is None else n for n in map(parse_number, cell))
        if not (true.is_integer() and given.is_integer() and 0 <= rate < math.inf):
            shown = ", ".join(map(repr, cell))
            problem = f"expected two whole grades and a rate of at least 0, got {shown:.80}"
            raise found.row_error(at, problem)
        of_grade = rates.setdefault(int(true), {})
        if int(given) in of_grade:
            problem = f"a second rate of grade {given:g} for grade {true:g}"
            raise found.row_error(at, problem, kind=DuplicateError)
        of_grade[int(given)] = rate
    if not rates:
        raise found.row_error(None, "holds no rates")
    return rates


def _table_cells(table: Table) -> Iterable[tuple[Any, ...]]:
    problem = _FORM.find_missing_names(table.names)
    if problem and table.names:
        shown = ", ".join(table.names)
        raise table.row_error(0 if table.n_rows else None, f"{problem}, got {shown:.200}")
    places = [place for name in _COLUMNS if (place := table.find_column([name])) is not None]
    return zip(*(table.columns[place] for place in places), strict=True)
