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
    What,
    listed_names,
    plain_name,
)
from cranfield.formats.fields import as_row
from cranfield.formats.frames import arrow_table, is_sparse, is_stream, table_rows
from cranfield.formats.groups import groups_of_dict
from cranfield.formats.header import NO_IDS
from cranfield.formats.list_cells import apart
from cranfield.formats.objects import LISTS, MAPPINGS, DictOfLists, NestedRows, nested
from cranfield.formats.source import named
from cranfield.formats.stated_columns import columns_for, columns_for_side


def rows_of(
    data: Any,
    what: What,
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
    if columns and isinstance(columns.get(what.word), Mapping):
        columns = columns_for(columns, what)
    if is_path:
        from cranfield.formats.files import file_rows  # slow, and not needed for a dict

        return file_rows(data, what, format, columns)
    if isinstance(data, MAPPINGS) and not is_sparse(data):  # some sparse matrices are dicts
        groups = groups_of_dict(data) if what is What.QRELS else None
        if groups is not None:
            return groups
        if what is What.RUN and _are_objects(data):
            listed = [as_row(query, its) for query, its in data.items()]
            table = apart(table_rows(listed, what, columns, errors), what, columns)
            table.names = ()  # it is no table, whose columns can be stated
            return table
        has_numbers = isinstance(next(iter(data.values()), {}), MAPPINGS)
        graded = what is What.RUN or has_numbers
        try:
            rows = NestedRows(nested(data, what), what, errors, graded=graded)
            rows.is_ranking = not has_numbers
            return rows
        except DuplicateError:
            of_lists = DictOfLists(data, what)
            of_lists.graded = graded
            return of_lists
    if isinstance(data, Rows):
        return data
    return apart(table_rows(data, what, columns, errors), what, columns)


def _are_objects(data: Mapping[Any, Any]) -> bool:
    """Tell whether a dict has lists of objects: by the first one that is not empty."""
    first = next((its for its in data.values() if not isinstance(its, list) or its), None)
    return isinstance(first, list) and isinstance(first[0], Mapping)


def rows_of_lists(lists: Sequence[Any], what: What) -> Rows:
    """Return the rows of lists of ids, one list for each query: the queries are "1", "2", ..."""
    rows = rows_of(dict(enumerate(lists, 1)), what)
    rows.lists_of, rows.form = "ids", LISTS["ids"]
    return rows


_BOTH = (What.QRELS, What.RUN)
_SIDES = (
    "One table holds both where a row has a query's expected and retrieved documents, in columns "
    "such as expected_ids and retrieved_ids, or a document's grade and score. To say which is "
    "which: columns={'query_id': ..., 'expected_ids': ..., 'retrieved_ids': ...}, "
    "--columns query_id=...,expected_ids=...,retrieved_ids=... Or give both, judgments first."
)


def both_rows_of(
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
    stated = {what: columns_for_side(columns, what) for what in _BOTH}
    if is_stream(data):
        data = arrow_table(data, "the table")
    found: dict[What, Rows] = {}
    faults: dict[What, InputError] = {}
    for what in _BOTH:
        try:
            if is_path and found:
                made: Rows = found[What.QRELS].beside(what, stated[what])
            else:
                made = rows_of(data, what, columns=stated[what], errors=errors, is_path=is_path)
            if not made.names:
                raise InputError(
                    f"was read as {made.form}, which has no columns, and so holds "
                    "either judgments or a run",
                    source=named(made.sources),
                    hint=_SIDES,
                )
            found[what] = made
        except InputError as error:
            if error.kind != NO_IDS:
                raise
            faults[what] = error
    if len(found) == len(_BOTH) and _are_apart(found[What.QRELS].taken, found[What.RUN].taken):
        return found[What.QRELS], found[What.RUN]
    if not found:
        raise faults[What.QRELS].but(hint=_SIDES)
    one = next(iter(found.values()))
    source = named(one.sources) or "the table"
    lacks = "does not hold judgments and a run side by side"
    sides = ((What.QRELS, What.RUN, "a run"), (What.RUN, What.QRELS, "judgments"))
    for what, other, word in sides:
        if other in faults or (what in found and _is_of(what, found[what].taken)):
            lacks = f"lacks {word} beside the {what.called.removeprefix('the ')}"
    raise InputError(f"{lacks}; {listed_names(one.names)}", source=source, hint=_SIDES)


def _are_apart(judged: Mapping[str, str], ranked: Mapping[str, str]) -> bool:
    """Tell whether judgments and a run have different columns."""
    if not judged or not ranked:
        return False
    if judged["doc"] != ranked["doc"]:
        return True
    number = next((ranked[role] for role in ("score", "distance", "rank") if role in ranked), None)
    return number is not None and judged.get("grade", number) != number


def _is_of(what: What, taken: Mapping[str, str]) -> bool:
    """Tell whether the documents' column has a name that only such data use."""
    return plain_name(taken.get("doc", "")) in COLUMNS["doc"].lists[what]
