"""Rates, for `assess`: how often an assessor gives each grade to documents of a true grade."""

import math
from collections.abc import Iterable
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import Table, TableForm, parse_number, read_table

_COLUMNS = ("grade", "given", "rate")
_FORM = TableForm("the rates", _COLUMNS, required_names=_COLUMNS)


def read_rates(source: Any) -> dict[int, dict[int, float]]:
    """Read {true grade: {given grade: rate}} from a file, a table, a dict or rows.

    A table has the columns grade, given and rate; JSON may be an object of objects. Raises
    InputError for a missing column, no rates, a grade that is no whole number or a rate that is no
    finite number of at least 0, and DuplicateError for a rate that occurs twice.
    """
    document = read_table(source, _FORM)
    cells = _table_cells(document) if isinstance(document, Table) else document.read_leaves(2)
    rates: dict[int, dict[int, float]] = {}
    for row, cell in enumerate(cells):
        row_number = row if isinstance(document, Table) else None
        true_grade, given_grade, rate = (
            math.nan if number is None else number for number in map(parse_number, cell)
        )
        if not (true_grade.is_integer() and given_grade.is_integer() and 0 <= rate < math.inf):
            cell_texts = ", ".join(map(repr, cell))
            problem = f"expected two whole grades and a rate of at least 0, got {cell_texts:.80}"
            raise document.row_error(row_number, problem)
        rates_of_grade = rates.setdefault(int(true_grade), {})
        if int(given_grade) in rates_of_grade:
            problem = f"a second rate of grade {given_grade:g} for grade {true_grade:g}"
            raise document.row_error(row_number, problem, kind=DuplicateError)
        rates_of_grade[int(given_grade)] = rate
    if not rates:
        raise document.row_error(None, "holds no rates")
    return rates


def _table_cells(table: Table) -> Iterable[tuple[Any, ...]]:
    """Return (grade, given, rate) of each row; InputError if a table with names lacks any."""
    problem = _FORM.find_missing_names(table.names)
    if problem and table.names:
        column_names = ", ".join(table.names)
        raise table.row_error(0 if table.n_rows else None, f"{problem}, got {column_names:.200}")
    columns = [column for name in _COLUMNS if (column := table.find_column([name])) is not None]
    return zip(*(table.columns[column] for column in columns), strict=True)
