"""Sides: tables that hold both judgments and a run, given instead of both."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import InputError
from cranfield.formats import read_both_sides
from cranfield.formats.block import Duplicates, Errors, Rows
from cranfield.formats.columns import ColumnsOfBoth
from cranfield.formats.frames import is_row, is_stream, is_table
from cranfield.formats.objects import refuse_columns
from cranfield.formats.source import Source
from cranfield.notes import Note


@dataclass(frozen=True)
class TwoSidedTables:
    """The judgments and the run of each of some tables: (name, judgments, run).

    Several tables are as many systems over the same queries; `is_one`: it was no list of tables.
    """

    tables: Sequence[tuple[str | None, Rows, Rows]]
    is_single_table: bool

    def open(
        self, errors: Errors, duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels | QrelsReader, Run | dict[str, Run]]:
        """Return the same as `read`; the judgments of one table may still be to be read."""
        if not self.is_single_table:
            return self.read(errors, duplicates)
        ((name, qrels_rows, run_rows),) = self.tables
        reader = QrelsReader(
            qrels_rows, errors, duplicates, notes=tuple(_list_notes(qrels_rows, run_rows))
        )
        return reader, _make_run(run_rows, name, errors, make_unique_namer())

    def read(
        self, errors: Errors, duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels, Run | dict[str, Run]]:
        """Return the judgments, and the run, or the runs by name.

        Raises InputError for what cannot be read, and for tables with other judgments.
        """
        runs: dict[str, Run] = {}
        judgments: dict[str, Qrels] = {}
        make_unique_name = make_unique_namer()
        for stated_name, qrels_rows, run_rows in self.tables:
            run = _make_run(run_rows, stated_name, errors, make_unique_name)
            runs[run.name] = run
            reader = QrelsReader(
                qrels_rows, errors, duplicates, notes=tuple(_list_notes(qrels_rows, run_rows))
            )
            judgments[run.name] = reader.read()
        first, *other_names = judgments
        for other_name in other_names:
            _refuse_other_judgments(first, judgments[first], other_name, judgments[other_name])
        return judgments[first], runs[first] if self.is_single_table else runs


def find_two_sided_tables(
    data: Any, columns: ColumnsOfBoth | None, errors: Errors
) -> TwoSidedTables | None:
    """Return what a table holds, or several: a list of tables or files, or a dict {name: table}.

    None if the data are no tables; InputError if one of them does not hold both.
    """
    named_tables = _list_tables(data)
    is_single_table = named_tables is None
    if named_tables is None:
        if isinstance(data, dict):
            refuse_columns(data, "the first argument")
        if not _is_table(data):
            return None
        named_tables = [(None, data)]
    return TwoSidedTables(
        [(name, *_read_both_sides(table, columns, errors)) for name, table in named_tables],
        is_single_table,
    )


def open_table_pair(
    qrels: Any, runs: Any, columns: ColumnsOfBoth | None, errors: Errors
) -> TwoSidedTables | None:
    """Return what tables hold that were given as judgments and as runs, where all hold both sides.

    They are as many systems, as tables in one list are. None if one of them holds one side, if
    `columns` say which is which, or if `runs` are the table that `qrels` are.
    """
    if not _is_table(qrels) or any(
        isinstance(side_columns, Mapping) for side_columns in (columns or {}).values()
    ):
        return None
    named_tables = _list_tables(runs) or ([(None, runs)] if _is_table(runs) else [])
    if all(are_same_table(table, qrels) for _, table in named_tables):
        return None
    if not any(are_same_table(table, qrels) for _, table in named_tables):
        named_tables = [(None, qrels), *named_tables]
    if not hold_both_sides([table for _, table in named_tables], columns):
        return None
    return TwoSidedTables(
        [(name, *_read_both_sides(table, columns, errors)) for name, table in named_tables],
        is_single_table=False,
    )


def are_same_two_sided_table(qrels: Any, runs: Any, columns: ColumnsOfBoth | None) -> bool:
    """Tell whether judgments and runs are the same table, which holds both sides."""
    states_sides = any(
        isinstance(side_columns, Mapping) for side_columns in (columns or {}).values()
    )
    is_table = are_same_table(qrels, runs) and _is_table(qrels) and not states_sides
    return is_table and hold_both_sides([qrels, runs], columns)


def hold_both_sides(tables: Sequence[Any], columns: ColumnsOfBoth | None) -> bool:
    """Tell whether each of some tables or files holds both sides; those of one side come in pairs.

    Of several, only such do as have a column of documents of their own for each side. What can be
    read only once is not looked at; of a table in memory, its first row is.
    """
    if any(map(is_read_once, tables)):
        return False
    try:
        sides_of_tables = [_read_both_sides(_first_row(table), columns) for table in tables]
    except InputError:
        return False
    return len(sides_of_tables) == 1 or all(
        qrels_rows.name_of_role["doc"] != run_rows.name_of_role["doc"]
        for qrels_rows, run_rows in sides_of_tables
    )


def _read_both_sides(
    table: Any, columns: ColumnsOfBoth | None, errors: Errors = "strict"
) -> tuple[Rows, Rows]:
    is_path = isinstance(table, str | os.PathLike)
    return read_both_sides(table, columns=columns, errors=errors, is_path=is_path)


def are_same_table(table: Any, other_table: Any) -> bool:
    """Tell whether two tables are one: the same object, or the same path."""
    paths = isinstance(table, str | os.PathLike) and isinstance(other_table, str | os.PathLike)
    return table is other_table or (paths and os.fspath(table) == os.fspath(other_table))


def is_read_once(table: Any) -> bool:
    """Tell whether it is a pipe, a URL or a stream: what was looked at would have to come again."""
    if not isinstance(table, str | os.PathLike):
        return is_stream(table)
    path = os.fspath(table)
    is_stored = os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)
    return path == "-" or Source(path).is_url or not is_stored


def _first_row(table: Any) -> Any:
    """Return a table with the first row alone, where the table has a quick way to say so."""
    if isinstance(table, list | np.ndarray):
        return table[:1]
    head = getattr(table, "head", None)
    return head(1) if callable(head) else table


def _make_run(
    rows: Rows, stated_name: str | None, errors: Errors, make_unique_name: Callable[[str], str]
) -> Run:
    run = Run(rows, stated_name, errors=errors)
    run.name = make_unique_name(run.name)
    return run


def _list_notes(qrels_rows: Rows, run_rows: Rows) -> Iterator[Note]:
    yield from _list_unread_columns(run_rows)
    if qrels_rows.name_of_role["doc"] == run_rows.name_of_role["doc"]:
        text = "Judged: the documents of the table alone, all of which were retrieved."
        yield Note("judged-retrieved", "info", text)


def _list_unread_columns(run_rows: Rows) -> Iterator[Note]:
    """Say which columns are not read that have the name of the retrieved documents, and more."""
    doc_column = run_rows.name_of_role["doc"]
    similar_names = [
        name for name in run_rows.column_names if name.startswith(doc_column) and name != doc_column
    ]
    if run_rows.list_columns and similar_names:
        text = (
            f"Not read: {', '.join(similar_names)}, beside {doc_column}. A table has one run; another is read "
            f"with columns={{'retrieved_ids': {similar_names[0]!r}}} (--columns retrieved_ids={similar_names[0]})."
        )
        yield Note("other-columns", "info", text, count=len(similar_names))


def _refuse_other_judgments(
    name: str, judgments: Qrels, other_name: str, other_judgments: Qrels
) -> None:
    """Raise InputError unless two tables hold the same judgments."""
    docs_of_query, other_docs_of_query = judgments.to_dict(), other_judgments.to_dict()
    if docs_of_query == other_docs_of_query:
        return
    query = next(
        q
        for q in [*docs_of_query, *other_docs_of_query]
        if docs_of_query.get(q) != other_docs_of_query.get(q)
    )
    descriptions = [
        f"{_format_judgments(judged_docs[query])} in {table_name}"
        if query in judged_docs
        else f"none in {table_name}"
        for table_name, judged_docs in ((name, docs_of_query), (other_name, other_docs_of_query))
    ]
    raise InputError(
        f"the judgments of {name} and {other_name} differ: query {query!r:.80} has {', '.join(descriptions)}",
        hint="Several tables that hold both sides are several systems over the same judgments. To "
        "take those of one alone, give Qrels(rows) or read_qrels(path) first, and then the runs; "
        "on the command line, say --qrels-columns query_id=...,doc_id=... of the first file.",
    )


def _format_judgments(judged_docs: Mapping[str, Any]) -> str:
    grade_list = ", ".join(f"{doc!r}: {grade}" for doc, grade in [*judged_docs.items()][:3])
    return f"{{{grade_list}{', ...' if len(judged_docs) > 3 else ''}}}"


def _list_tables(data: Any) -> list[tuple[str | None, Any]] | None:
    """Return (name, table) of each of several tables; None for anything else."""
    if isinstance(data, dict) and data and all(map(_is_table, data.values())):
        return [(str(name), table) for name, table in data.items()]
    if isinstance(data, list | tuple) and data and all(map(_is_table, data)):
        return [(None, table) for table in data]
    return None


def _is_table(data: Any) -> bool:
    """Tell whether the data may be a table of named columns: a file, a frame, a list of dicts."""
    if isinstance(data, str | os.PathLike) or is_table(data):
        return True
    if isinstance(data, list):
        has_names = len(data) > 0 and (isinstance(data[0], Mapping) or hasattr(data[0], "_fields"))
        return has_names and is_row(data[0])
    return getattr(getattr(data, "dtype", None), "names", None) is not None
