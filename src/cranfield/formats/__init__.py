"""Read bytes, files and objects as rows of judgments or of a run; write rows to files.

Nothing else reads or writes data. This folder does not depend on Qrels and Run.
"""

from collections.abc import Mapping, Sequence
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
from cranfield.formats.fields import query_row
from cranfield.formats.frames import arrow_table, is_sparse, is_stream, table_rows
from cranfield.formats.groups import read_group_dict
from cranfield.formats.header import NO_IDS
from cranfield.formats.list_cells import to_document_rows
from cranfield.formats.objects import LIST_DESCRIPTIONS, MAPPINGS, ListDictRows, NestedRows, to_nested
from cranfield.formats.source import describe_sources
from cranfield.formats.stated_columns import select_columns, select_side_columns


def read_rows(
    data: Any,
    side: Side,
    *,
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
    format: str | None = None,  # noqa: A002 - the usual name
    is_path: bool = False,
) -> Rows:
    """Return the rows of a run or of judgments, given in any form: the only entry point.

    `data` is Rows, a dict, a table of any kind, or, with `is_path`, a path or a list of paths.
    `format` applies to files; None: it is detected. Raises InputError for any other data,
    OptionError for a format or a column that does not exist.
    """
    check_errors(errors)
    if columns and isinstance(columns.get(side.word), Mapping):
        columns = select_columns(columns, side)
    if is_path:
        from cranfield.formats.files import open_files  # slow, and not needed for a dict

        return open_files(data, side, format, columns)
    if isinstance(data, MAPPINGS) and not is_sparse(data):  # some sparse matrices are dicts
        groups = read_group_dict(data) if side is Side.QRELS else None
        if groups is not None:
            return groups
        if side is Side.RUN and _are_objects(data):
            listed = [query_row(query, its) for query, its in data.items()]
            table = to_document_rows(table_rows(listed, side, columns, errors), side, columns)
            table.column_names = ()  # it is no table, whose columns can be stated
            return table
        has_numbers = isinstance(next(iter(data.values()), {}), MAPPINGS)
        graded = side is Side.RUN or has_numbers
        try:
            rows = NestedRows(to_nested(data, side), side, errors, has_grades=graded)
            rows.is_ranking = not has_numbers
            return rows
        except DuplicateError:
            of_lists = ListDictRows(data, side)
            of_lists.has_grades = graded
            return of_lists
    if isinstance(data, Rows):
        return data
    return to_document_rows(table_rows(data, side, columns, errors), side, columns)


def _are_objects(data: Mapping[Any, Any]) -> bool:
    """Tell whether a dict has lists of objects: by the first one that is not empty."""
    first = next((its for its in data.values() if not isinstance(its, list) or its), None)
    return isinstance(first, list) and isinstance(first[0], Mapping)


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
    "--columns query_id=...,expected_ids=...,retrieved_ids=... Or give both, judgments first."
)


def read_both_sides(
    data: Any,
    *,
    columns: ColumnsOfBoth | None = None,
    errors: Errors = "strict",
    is_path: bool = False,
) -> tuple[Rows, Rows]:
    """Return the judgments and the run in one table, each with its own columns.

    `data` is as for `rows_of`; a pipe is read only once. Raises InputError, which names the
    columns, if the table does not hold both.
    """
    stated = {what: select_side_columns(columns, what) for what in _BOTH_SIDES}
    if is_stream(data):
        data = arrow_table(data, "the table")
    found: dict[Side, Rows] = {}
    faults: dict[Side, InputError] = {}
    for what in _BOTH_SIDES:
        try:
            if is_path and found:
                made: Rows = found[Side.QRELS].read_side(what, stated[what])
            else:
                made = read_rows(data, what, columns=stated[what], errors=errors, is_path=is_path)
            if not made.column_names:
                raise InputError(
                    f"was read as {made.description}, which has no columns, and so holds "
                    "either judgments or a run",
                    source=describe_sources(made.sources),
                    hint=_BOTH_SIDES_HINT,
                )
            found[what] = made
        except InputError as error:
            if error.kind != NO_IDS:
                raise
            faults[what] = error
    if len(found) == len(_BOTH_SIDES) and _have_own_columns(found[Side.QRELS].name_of_role, found[Side.RUN].name_of_role):
        return found[Side.QRELS], found[Side.RUN]
    if not found:
        raise faults[Side.QRELS].replace(hint=_BOTH_SIDES_HINT)
    one = next(iter(found.values()))
    source = describe_sources(one.sources) or "the table"
    lacks = "does not hold judgments and a run side by side"
    sides = ((Side.QRELS, Side.RUN, "a run"), (Side.RUN, Side.QRELS, "judgments"))
    for what, other, word in sides:
        if other in faults or (what in found and _names_side(what, found[what].name_of_role)):
            lacks = f"lacks {word} beside the {what.name_in_errors.removeprefix('the ')}"
    raise InputError(f"{lacks}; {describe_names(one.column_names)}", source=source, hint=_BOTH_SIDES_HINT)


def _have_own_columns(judged: Mapping[str, str], ranked: Mapping[str, str]) -> bool:
    """Tell whether judgments and a run have different columns."""
    if not judged or not ranked:
        return False
    if judged["doc"] != ranked["doc"]:
        return True
    number = next((ranked[role] for role in ("score", "distance", "rank") if role in ranked), None)
    return number is not None and judged.get("grade", number) != number


def _names_side(what: Side, taken: Mapping[str, str]) -> bool:
    """Tell whether the documents' column has a name that only such data use."""
    return plain_name(taken.get("doc", "")) in COLUMNS["doc"].list_names[what]
