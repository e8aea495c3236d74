"""Systems: a table with a column of several is asked about if two of them have the same documents.

Where a column such as `retriever` tells two rows of a document apart, they belong to the rankings
of two systems: no choice among the rows, `duplicates`, makes one ranking of these.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.arrays.ids import decode
from cranfield.arrays.rows import changes
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import Block, Rows, joined
from cranfield.formats.columns import NO_COLUMN, What, plain_name

SYSTEMS = ("system", "run", "run_name", "retriever", "model", "method")
_MOST_NAMED = 10
_PLAIN = re.compile(r"[\w./+@=,: -]+")  # what needs no care in a shell, nor in quotation marks
# What splits a table by a column, by the first words of what it was read as (`Rows.form`).
_PARTS = {
    "pandas table": "dict(iter(frame.groupby({column!r})))",
    "polars table": "{{part[{column!r}][0]: part for part in "
    "frame.lazy().collect().partition_by({column!r})}}",
    "pyarrow table": "import pyarrow.compute; {{name: table.filter("
    "pyarrow.compute.equal(table[{column!r}], name)) for name in table[{column!r}].unique()}}",
    "rows": "{{name: {run}([row for row in rows if row[{column!r}] == name]) "
    "for name in {{row[{column!r}] for row in rows}}}}",
}
_FILES = (
    'python -c "import csv, json; rows = [row for row in open({path!r}) if row.strip()]; '
    "[open(name + {suffix!r}, 'w').writelines(rows[:{n_headers}] + "
    '[row for row in rows if CELL == name]) for name in {systems}]"'
)
_CELLS = {
    "JSON lines": "str(json.loads(row).get({column!r}))",
    "CSV": "next(csv.reader([row]))[{place}]",
    "TSV": "next(csv.reader([row], 'excel-tab'))[{place}]",
}


def refuse_mixture(rows: Rows) -> None:
    """Raise DuplicateError for a table in which a document, or a query's list, is of two systems.

    That is looked for once, in the columns that are called as those of systems are.
    """
    table: Rows = getattr(rows, "of", rows)  # of which these are a part
    if table.mixtures is None:
        others = {*table.names} - {*table.taken.values()}
        names = [name for name in table.names if plain_name(name) in SYSTEMS and name in others]
        table.mixtures = [error for name in names if (error := _mixture_error(table, name))]
    for error in table.mixtures:
        raise error


def _mixture_error(rows: Rows, column: str) -> InputError | None:
    """Return the error of a table whose `column` has two systems for a document, or for a list."""
    by_query = {"query_id": rows.taken["query"], "doc_id": column, "relevance": NO_COLUMN}
    try:
        block = _read(rows, by_query)
    except InputError:  # two columns have that name, or no row of it can be read
        return None
    systems = sorted({*block.doc.to_texts()})
    if len(systems) < 2:
        return None
    system, documents = block.doc, []
    if not rows.lists:
        by_document = {**by_query, "doc_id": rows.taken["doc"], "subtopic": column}
        block = _read(rows, by_document, "group")
        system, documents = block.columns["group"], [block.doc.numbers()]
    keys = [block.query.numbers(), *documents]
    number = system.numbers()
    order = np.lexsort((number, *keys))
    is_mixed = ~changes(*(key[order] for key in keys)) & changes(number[order])
    if not is_mixed.any():
        return None
    places = np.flatnonzero(is_mixed)
    place = places[order[places].argmin()]
    first, second = sorted(order[place - 1 : place + 1].tolist())
    subject = f"query {decode(block.query[first])!r:.80}"
    if not rows.lists:
        subject = f"document {decode(block.doc[first])!r:.80} of {subject}"
    names = [f"{decode(system[row])!r:.80}" for row in (first, second)]
    values = ", ".join(f"{name!r:.40}" for name in systems[:_MOST_NAMED])
    values += ", ..." if len(systems) > _MOST_NAMED else ""
    problem = (
        f"column {column!r} has {len(systems):,} values, {values}, and {subject} occurs under "
        f"{names[0]} and under {names[1]}"
    )
    error = block.error(second, problem, _split_hint(rows, column, systems), DuplicateError)
    source = error.source if rows.sources else getattr(rows, "name", None)
    return error if error.line is not None else error.at(source)


def _read(rows: Rows, columns: dict[str, str | None], *roles: str) -> Block:
    """Return all rows, as those of judgments with these columns, that can be used."""
    return joined([load() for load in rows.beside(What.QRELS, columns).blocks(roles, "skip")])


def _split_hint(rows: Rows, column: str, systems: Sequence[str]) -> str:
    """Return how to make a table of each system, of which all or one can be given in its place."""
    form, container = rows.form.partition(" with ")[0], "table"
    if form == "Spark table":
        return f"If these are systems, state their column: by={column!r}."
    is_run = getattr(rows, "name", "") == What.RUN.called
    insertions: dict[str, Any] = {"column": column, "run": "cranfield.Run" if is_run else "list"}
    split = _PARTS.get(form, "")
    if form in _CELLS and len(rows.sources) == 1:
        path, suffix = rows.sources[0].path, rows.sources[0].suffix
        is_plain = all(map(_PLAIN.fullmatch, (path, suffix, column, *systems)))
        if is_plain and os.path.isfile(path) and len(systems) <= _MOST_NAMED:
            split, container = _FILES.replace("CELL", _CELLS[form]), "file"
            insertions |= {"path": path, "suffix": suffix, "systems": systems}
            insertions |= {
                "place": list(rows.names).index(column),
                "n_headers": int(form != "JSON lines"),
            }
    ask = f"If these are systems, give a {container} of each, or of one, in its place"
    return f"{ask} (if not, leave that column out)" + (
        f": {split.format(**insertions)}" if split else "."
    )
