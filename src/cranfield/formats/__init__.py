"""Formats: reads bytes, files and objects as rows of judgments or of a run; writes rows to files.

Here belong what a file or an object may look like, and nothing of what its rows mean: no queries
that are averaged, no ranking, no Qrels and no Run, which `data` makes of `Rows`. No other folder
reads or writes data; small tables, read whole, have a folder of their own.
"""

import contextlib
from collections.abc import Iterable, Sequence, Set
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import Errors, Rows, check_errors
from cranfield.formats.columns import (
    COLUMNS,
    ColumnsLike,
    ColumnsOfBoth,
    Side,
    describe_names,
    plain_name,
)
from cranfield.formats.dict_rows import ListDictRows, NestedRows
from cranfield.formats.frames import TableRows, array_rows, arrow_table, sparse_rows
from cranfield.formats.groups import read_group_dict
from cranfield.formats.header import NO_IDS
from cranfield.formats.json_text import DuplicatePairs
from cranfield.formats.list_cells import to_document_rows
from cranfield.formats.list_elements import strip_padding
from cranfield.formats.object_rows import list_rows
from cranfield.formats.objects import LIST_DESCRIPTIONS, to_nested
from cranfield.formats.rewrite import NumberedResponses, begin_rows, plain, query_row
from cranfield.formats.shapes import first_of, holds_objects, kind_of
from cranfield.formats.source import describe_sources
from cranfield.formats.stated_columns import (
    SideColumns,
    record_rows,
    select_side_columns,
    states_sides,
)
from cranfield.formats.systems import find_systems
from cranfield.notes import Note


def read_rows(
    data: Any,
    side: Side,
    *,
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
    format: str | None = None,  # noqa: A002 - the usual name
    is_path: bool = False,
) -> Rows:
    """Return the rows of a run or of judgments, given in any form: where all reading begins.

    `data` is Rows, a dict, a table of any kind, or, with `is_path`, a path or a list of paths.
    `columns` are stated by the user; `errors` is what to do with a row that has a fault. `format`
    applies to files; None if it is to be detected. Raises InputError for any other data, or without
    a stated column; OptionError for an unknown format, name in `columns`, or value of `errors`.
    """
    check_errors(errors)
    if states_sides(columns):
        columns = select_side_columns(columns, side)  # those of a dict for both
    if is_path or kind_of(data) == "file":
        from cranfield.formats.files import open_files  # slow, and not needed for a dict

        return record_rows(open_files(data, side, format, columns), side, columns)
    data = plain(begin_rows(data, side, columns), side)
    if kind_of(data) == "dict":
        groups = read_group_dict(data) if side is Side.QRELS else None
        if groups is not None:
            return groups
        has_repeats = DuplicatePairs in map(type, data.values())
        has_numbers = has_repeats or kind_of(next(iter(data.values()), {})) == "dict"
        if holds_objects(first_of(data)):
            query_rows = [query_row(query, documents, side) for query, documents in data.items()]
            table = to_document_rows(_table_rows(query_rows, side, columns, errors), side, columns)
            record_rows(table, side, columns)
            table.column_names = ()  # it is no table, whose columns can be stated
            table.is_numbered = isinstance(data, NumberedResponses)
            return table
        notes: tuple[Note, ...] = ()
        is_numbered = isinstance(data, NumberedResponses)
        if not has_numbers:
            data, notes = strip_padding(data, side)
        try:
            if has_repeats:
                raise DuplicateError("a document occurs twice")
            rows: Rows = NestedRows(to_nested(data, side), side, errors)
        except DuplicateError:
            rows = ListDictRows(data, side)
        rows.is_ranking, rows.notes, rows.is_numbered = not has_numbers, notes, is_numbered
        rows.has_grades = side is Side.RUN or has_numbers
        return record_rows(rows, side, columns)
    if isinstance(data, Rows):
        return data
    table_rows = to_document_rows(_table_rows(data, side, columns, errors), side, columns)
    return record_rows(table_rows, side, columns)


def split_systems(*tables: Rows) -> tuple[dict[str | None, list[Rows]], tuple[Note, ...]]:
    """Return {system: its rows} of a table's run, or its judgments and its run; and notes.

    {None: the same rows} where the table is not split.
    """
    names = find_systems(tables[-1])
    if names is None or not (names.is_stated or names.are_mixed):
        return {None: [*tables]}, () if names is None else names.notes
    rows_of_system: dict[str | None, list[Rows]] = {}
    for system in names.systems:
        for side, table in zip(_BOTH_SIDES[-len(tables) :], tables, strict=True):
            statements = {**(table.user_columns or {}), "system": f"{names.column}={system}"}
            columns = SideColumns(statements, table.user_columns)
            rows = table.read_side(side, columns)
            rows = rows if table.sources else to_document_rows(rows, side, columns)
            rows_of_system.setdefault(system, []).append(rows)
    return rows_of_system, names.notes


def _table_rows(data: Any, side: Side, user_columns: ColumnsLike | None, errors: Errors) -> Rows:
    """Return the rows of a table in memory, of any kind; InputError for any other data."""
    kind = kind_of(data)
    if kind == "table":
        library = type(data).__module__.partition(".")[0]
        table = arrow_table(data, side.name_in_errors)
        rows = TableRows(table, side, user_columns, f"{library} table")
        # Arrow turns sets into lists.
        name: Any = rows.list_columns.get("doc")
        is_pandas_run = side is Side.RUN and library == "pandas" and name in data
        if is_pandas_run and any(isinstance(cell, Set) for cell in data[name]):
            raise side.error(f"column {name!r} holds a set, which has no order: give lists")
        return rows
    if kind == "records":
        return array_rows(data, side, user_columns, errors)
    if kind == "sparse":
        return sparse_rows(data, side)
    if isinstance(data, Iterable) and kind not in ("text", "array", "scalar"):
        return list_rows(data, side, user_columns, errors)
    is_path = kind in ("text", "path")
    hint = f"A file is read by read_{side.word}({str(data)!r:.80})." if is_path else None
    if kind in ("array", "fraction", "scalar"):
        hint = "Labels and scores: evaluate(*grades(labels, scores=scores), ...), of several runs "
        hint += "scores={name: scores}. Ids of queries 0, 1, ...: dict(enumerate(ids)). Scores "
        hint += "beside an SVMlight file: numpy.savetxt('scores.txt', scores). Rows: rows.tolist()."
    raise InputError(
        f"expected {side.name_in_errors} as a dict of dicts, a table, a list of rows, a structured "
        f"array or a sparse matrix, got {type(data).__name__}",
        hint=hint,
    )


def open_exclusions(rows: Rows) -> Rows | None:
    """Return the rows of a column such as `excluded_ids` beside judgments; None without one."""
    names = {*rows.column_names}.difference(rows.name_of_role.values())
    if {*map(plain_name, names)}.isdisjoint(COLUMNS["doc"].list_names[Side.EXCLUDED]):
        return None
    with contextlib.suppress(InputError):
        table = rows.read_side(Side.EXCLUDED, {"query_id": rows.name_of_role["query"]})
        return table if rows.sources else to_document_rows(table, Side.EXCLUDED, None)
    return None


def read_id_lists(lists: Sequence[Any], side: Side) -> Rows:
    """Return the rows of lists of ids, one list for each query: the queries are "1", "2", ..."""
    rows = read_rows(dict(enumerate(lists, 1)), side)
    rows.list_kind, rows.description = "ids", LIST_DESCRIPTIONS["ids"]
    return rows


_BOTH_SIDES = (Side.QRELS, Side.RUN)
_BOTH_SIDES_HINT = (
    "One table holds both where a row has a query's expected and retrieved documents, in columns "
    "such as expected_ids and retrieved_ids, or a document's grade and score. To say which is "
    "which: columns={'query_id': ..., 'expected_ids': ..., 'retrieved_ids': ...}, "
    "--columns query_id=...,expected_ids=...,retrieved_ids=...; with a row for each document, "
    "query_id, doc_id, relevance and score. Or give both, judgments first."
)


def read_both_sides(
    data: Any,
    *,
    columns: ColumnsOfBoth | None = None,
    errors: Errors = "strict",
    is_path: bool = False,
) -> tuple[Rows, Rows]:
    """Return the judgments and the run in one table, each with its own columns.

    `data` is as for `read_rows`; a pipe is read only once. Raises InputError, which names the
    columns if it has any, if the table does not hold both sides.
    """
    columns_of_side = {side: select_side_columns(columns, side) for side in _BOTH_SIDES}
    rows_of_side: dict[Side, Rows] = {}
    error_of_side: dict[Side, InputError] = {}
    for side in _BOTH_SIDES:
        try:
            if is_path and rows_of_side:
                side_rows = rows_of_side[Side.QRELS].read_side(side, columns_of_side[side])
                record_rows(side_rows, side, columns_of_side[side])
            else:
                side_rows = read_rows(
                    data, side, columns=columns_of_side[side], errors=errors, is_path=is_path
                )
            if not side_rows.column_names:
                raise InputError(
                    f"was read as {side_rows.description}, which has no columns, and so holds "
                    "either judgments or a run",
                    source=describe_sources(side_rows.sources),
                    hint=_BOTH_SIDES_HINT,
                )
            rows_of_side[side] = side_rows
        except InputError as error:
            if error.kind != NO_IDS:
                raise
            error_of_side[side] = error
    qrels_rows, run_rows = map(rows_of_side.get, _BOTH_SIDES)
    if qrels_rows and run_rows and qrels_rows.name_of_role and run_rows.name_of_role:
        qrels_columns, run_columns = qrels_rows.name_of_role, run_rows.name_of_role
        number = next(filter(None, map(run_columns.get, ("score", "distance", "rank"))), None)
        has_number = number is not None and qrels_columns.get("grade", number) != number
        if qrels_columns["doc"] != run_columns["doc"] or has_number:
            return qrels_rows, run_rows
    rows = qrels_rows or run_rows
    if rows is None:
        raise error_of_side[Side.QRELS].replace(hint=_BOTH_SIDES_HINT)
    source = describe_sources(rows.sources) or "the table"
    problem, hint = "does not hold judgments and a run side by side", _BOTH_SIDES_HINT
    for side, word in ((Side.QRELS, "a run"), (Side.RUN, "judgments")):
        doc_name = rows_of_side[side].name_of_role.get("doc", "") if side in rows_of_side else ""
        is_side = plain_name(doc_name) in COLUMNS["doc"].list_names[side]
        if side.other_side in error_of_side or is_side:
            problem = f"lacks {word} beside {side.name_in_errors}"
    if qrels_rows and run_rows and "rank" in run_rows.name_of_role:
        number = qrels_rows.name_of_role["grade"]
        problem = f"has ranks, and {number!r} may be the grade or the score: which one is it?"
        hint = (
            f"If it is the grade: relevance={number}, as in --columns relevance={number}, "
            f"columns={{'relevance': {number!r}}}. If the score, give judgments, too."
        )
    raise InputError(f"{problem}; {describe_names(rows.column_names)}", source=source, hint=hint)
