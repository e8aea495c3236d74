"""Sides: reads tables that hold both judgments and a run, which are given instead of the two."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import InputError
from cranfield.formats import read_both_sides, split_systems
from cranfield.formats.block import Duplicates, Errors, Role, Rows
from cranfield.formats.columns import INDEX_PREFIX, ColumnsOfBoth, describe_names
from cranfield.formats.frames import hold_stream
from cranfield.formats.header import NO_IDS, find_columns
from cranfield.formats.objects import refuse_columns
from cranfield.formats.shapes import has_columns, is_stream, kind_of, list_tables
from cranfield.formats.source import Source, is_pipe
from cranfield.formats.stated_columns import (
    SIDES,
    ContainedTexts,
    Statements,
    expand_systems,
    select_side_columns,
    states_sides,
)
from cranfield.notes import Note


class TwoSidedTable(NamedTuple):
    """A table's rows as judgments, and as a run, by these columns; its name; notes on systems."""

    name: str | None
    qrels_rows: Rows
    run_rows: Rows
    columns: ColumnsOfBoth | None
    notes: tuple[Note, ...] = ()

    @property
    def has_shared_docs(self) -> bool:
        """Whether the documents of both sides are in one column, as a grade and a score are."""
        return self.qrels_rows.name_of_role["doc"] == self.run_rows.name_of_role["doc"]

    def open_qrels(self, errors: Errors, duplicates: Duplicates) -> QrelsReader:
        """Return a reader of the judgments, with notes on the table."""
        return QrelsReader(self.qrels_rows, errors, duplicates, notes=[*_list_notes(self)])

    def make_run(self, errors: Errors, make_unique_name: Callable[[str], str]) -> Run:
        """Return the run, under a name that no other run has."""
        run = Run(self.run_rows, self.name, errors=errors)
        run.name, run.notes = make_unique_name(run.name), self.notes
        sides = self.qrels_rows, self.run_rows
        if isinstance(self.columns, ContainedTexts) or any(rows.holds_texts for rows in sides):
            from cranfield.data.spans import Texts

            run.conversion = Texts.of_rows(*sides, self.columns)
        return run


@dataclass(frozen=True)
class TwoSidedTables:
    """Tables that hold both sides: as many systems over the same queries.

    `is_single_table`: the data were one table, not a list of tables.
    """

    tables: Sequence[TwoSidedTable]
    is_single_table: bool

    def open(
        self, errors: Errors, duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels | QrelsReader, Run | dict[str, Run]]:
        """Return the judgments, of a single table a reader of them, and the run, or runs by name.

        Raises InputError for a table that cannot be read, or with other judgments than the first.
        """
        runs: dict[str, Run] = {}
        judgments: dict[str, Qrels] = {}
        make_unique_name = make_unique_namer()
        for table in self.tables:
            run = table.make_run(errors, make_unique_name)
            reader = table.open_qrels(errors, duplicates)
            if self.is_single_table:
                return reader, run
            runs[run.name], judgments[run.name] = run, reader.read()
        first, *other_names = judgments
        qrels, first_table = judgments[first], self.tables[0]
        for other_name in other_names:
            # Of a table with a row for each document, a system has the judgments of its own alone.
            if first_table.run_rows.system and first_table.has_shared_docs:
                try:
                    merged_qrels = qrels.merge(judgments[other_name])
                except InputError as error:
                    hint = "The judgments are the same for all systems of a table: which grade is "
                    raise error.replace(hint=f"{hint}right?") from None
                qrels = merged_qrels.replace_fields(
                    notes=qrels.notes, description=qrels.description
                )
            else:
                _refuse_other_judgments(first, qrels, other_name, judgments[other_name])
        return qrels, runs

    def read(self, errors: Errors, duplicates: Duplicates) -> tuple[Qrels, Run | dict[str, Run]]:
        """Return what `open` returns, judgments in memory."""
        judgments, run_or_runs = self.open(errors, duplicates)
        return judgments.read() if isinstance(judgments, QrelsReader) else judgments, run_or_runs


def find_two_sided_tables(
    data: Any, columns: ColumnsOfBoth | None, errors: Errors
) -> TwoSidedTables | None:
    """Return both sides of a table, of a list of tables or files, or of a dict {name: table}.

    None if the data are no tables; InputError if a table does not hold both sides, or for a dict
    of columns.
    """
    named_tables = list_tables(data)
    is_single_table = named_tables is None
    if named_tables is None:
        if isinstance(data, dict):
            refuse_columns(data, "the first argument")
        if not has_columns(data):
            return None
        named_tables = [(None, data)]
    tables = _read_tables(named_tables, columns, errors)
    return TwoSidedTables(tables, is_single_table and tables[0].name is None)


def _read_tables(
    named_tables: Sequence[tuple[str | None, Any]], columns: ColumnsOfBoth | None, errors: Errors
) -> list[TwoSidedTable]:
    """Return both sides of each (name, table), and of each system of a table of several."""
    tables = []
    for name, table in named_tables:
        data = hold_stream(table, "the table")
        for column, own_columns in expand_systems(columns).items():
            sides = _read_both_sides(data, own_columns, errors)
            rows_of_system, notes = split_systems(*sides)
            for system, (qrels_rows, run_rows) in rows_of_system.items():
                system_name = " ".join(filter(None, (name, column, system))) or None
                tables.append(TwoSidedTable(system_name, qrels_rows, run_rows, own_columns, notes))
    return tables


def open_table_pair(
    qrels: Any, runs: Any, columns: ColumnsOfBoth | None, errors: Errors
) -> TwoSidedTables | None:
    """Return both sides of tables that are given as judgments and as runs, if all hold both sides.

    They are as many systems, as tables in one list are. None if they are no tables, if one holds
    one side or can be read only once, if `columns` are stated for each side, or if `runs` are the
    table that `qrels` are.
    """
    if not has_columns(qrels) or states_sides(columns):
        return None
    named_tables = list_tables(runs) or ([(None, runs)] if has_columns(runs) else [])
    if all(are_same_table(table, qrels) for _, table in named_tables):
        return None
    if not any(are_same_table(table, qrels) for _, table in named_tables):
        named_tables = [(None, qrels), *named_tables]
    if not hold_both_sides([table for _, table in named_tables], columns):
        return None
    return TwoSidedTables(_read_tables(named_tables, columns, errors), is_single_table=False)


def are_same_two_sided_table(qrels: Any, runs: Any, columns: ColumnsOfBoth | None) -> bool:
    """Tell whether judgments and runs are one table of both sides, no side's columns stated."""
    is_table = are_same_table(qrels, runs) and has_columns(qrels) and not states_sides(columns)
    return is_table and hold_both_sides([qrels, runs], columns)


def hold_both_sides(tables: Sequence[Any], columns: ColumnsOfBoth | None) -> bool:
    """Tell whether each of some tables or files holds both sides.

    Several tables may also be judgments and runs, a side each: they hold both sides only if each
    has a column of documents for each side. A table that can be read only once is taken for one
    side; of a table in memory, the first row is read.
    """
    if any(map(is_read_once, tables)):
        return False
    if isinstance(columns, Statements):
        columns = type(columns)(columns)  # what is read here is read again
    try:
        first_columns = next(iter(expand_systems(columns).values()))
        heads = [
            table[:1]
            if kind_of(table) in ("list", "records")
            else getattr(table, "head", lambda n, table=table: table)(1)
            for table in tables
        ]
        pairs = [_read_both_sides(head, first_columns) for head in heads]
    except (InputError, OSError):  # of a Dataset
        return False
    return len(pairs) == 1 or all(
        qrels_rows.name_of_role["doc"] != run_rows.name_of_role["doc"]
        for qrels_rows, run_rows in pairs
    )


def _read_both_sides(
    table: Any, columns: ColumnsOfBoth | None, errors: Errors = "strict"
) -> tuple[Rows, Rows]:
    """Return the rows of a table, or a file, as judgments and as a run."""
    is_path = kind_of(table) in ("path", "text", "file")
    try:
        return read_both_sides(table, columns=columns, errors=errors, is_path=is_path)
    except InputError as error:
        if error.kind != NO_IDS or is_read_once(table) or not has_columns(table):
            raise
        try:
            named_rows = _name_rows(table, columns)
            rows_of_sides = read_both_sides(named_rows, columns=columns, errors=errors)
        except (InputError, TypeError) as named_error:  # cells are lists
            is_clear = getattr(named_error, "kind", None) in ("id", "documents")
            raise (named_error if is_clear else error) from None
    for rows in rows_of_sides:
        rows.sources = (Source(table),) if is_path else ()
    text = "No column of documents: each row is one."
    rows_of_sides[0].notes = (Note("row-documents", "info", text),)
    return rows_of_sides


def _name_rows(data: Any, columns: ColumnsOfBoth | None) -> list[dict[str, Any]]:
    """Return the rows of a table with documents, which are called by their places in the query.

    Raises InputError where a column without a role may hold documents: it has no fractions.
    """
    from cranfield.formats.small.read import TableForm, parse_number, read_table
    from cranfield.formats.text import count_rows

    table: Any = read_table(data, TableForm("the table", ("query_id",)))
    position_of_role: dict[Role, int] = {}
    for side in SIDES.values():
        position_of_role |= find_columns(table.names, side, select_side_columns(columns, side))
    query, free_names = position_of_role.get("query", 0), []
    names, columns_of_cells = [*table.names, "doc_id"], [*table.columns]
    for i, name in enumerate(table.names):
        if i != query:
            columns_of_cells[i] = [*map(parse_number, table.columns[i])]
            are_fractions = any((number or 0) % 1 for number in columns_of_cells[i])
            is_used = i in position_of_role.values() or name.startswith(INDEX_PREFIX)
            free_names += [] if are_fractions or is_used else [name]
    if free_names:
        raise InputError(
            f"the table: has no column 'doc_id'; {describe_names(table.names)}",
            hint=f"If it is {free_names[0]}: --columns doc_id={free_names[0]}; if each row is one, "
            f"without features: frame.drop(columns={free_names}).",
            kind="documents" if {"query", "grade", "score"} <= position_of_role.keys() else NO_IDS,
        )
    docs = [f"#{i}" for i in count_rows(table.columns[query])]
    rows = zip(*columns_of_cells, docs, strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def are_same_table(table: Any, other_table: Any) -> bool:
    """Tell whether two tables are the same object, or the same path."""
    if isinstance(table, str | os.PathLike) and isinstance(other_table, str | os.PathLike):
        return os.fspath(table) == os.fspath(other_table)
    return table is other_table


def is_read_once(table: Any) -> bool:
    """Tell whether a table is a pipe, a URL or a stream, whose first rows would be lost."""
    is_url = isinstance(table, str | os.PathLike) and Source(table).is_url
    return is_stream(table) or is_pipe(table) or is_url


def _list_notes(table: TwoSidedTable) -> Iterator[Note]:
    """Yield notes on columns whose names begin with that of the run's lists, and on the judged."""
    run_rows, doc_name = table.run_rows, table.run_rows.name_of_role["doc"]
    names = [name for name in run_rows.column_names if name.startswith(doc_name)]
    unread = [name for name in names if name != doc_name]
    if run_rows.list_columns and unread:
        names = [doc_name, *unread]
        statements = ",".join(f"retrieved_ids={name}" for name in names)
        text = (
            f"Not read: {', '.join(unread)}, beside {doc_name}. A run of each: "
            f"columns={{'retrieved_ids': {names}}}, --columns {statements}."
        )
        yield Note("other-columns", "info", text, count=len(unread))
    if table.has_shared_docs:
        text = "Judged: the documents of the table alone, all of which were retrieved."
        yield Note("judged-retrieved", "info", text)


def _refuse_other_judgments(
    name: str, judgments: Qrels, other_name: str, other_judgments: Qrels
) -> None:
    """Raise InputError unless two tables hold the same judgments."""
    grades, other_grades = judgments.to_dict(), other_judgments.to_dict()
    if grades == other_grades:
        return
    queries = [*grades, *other_grades]
    query = next(query for query in queries if grades.get(query) != other_grades.get(query))
    descriptions = [
        f"{docs[query]!r:.80} in {table}" if query in docs else f"none in {table}"
        for table, docs in ((name, grades), (other_name, other_grades))
    ]
    raise InputError(
        f"the judgments of {name} and {other_name} differ: query {query!r:.80} has "
        f"{', '.join(descriptions)}",
        hint="Several tables that hold both sides are several systems over the same judgments. To "
        "take those of one alone, give Qrels(rows) or read_qrels(path) first, and then the runs; "
        "on the command line, say --columns qrels.query_id=...,qrels.doc_id=... of the first file.",
    )
