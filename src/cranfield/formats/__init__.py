"""What is this? Bytes, files and objects to rows of judgments or of a run; and rows to files.

Nothing else reads or writes data. It knows no Qrels and no Run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import Errors, Rows, check_errors
from cranfield.formats.columns import COLUMNS, ColumnsLike, ColumnsOfBoth, What, plain_name
from cranfield.formats.frames import arrow_table, is_sparse, is_stream, table_rows
from cranfield.formats.groups import groups_of_dict
from cranfield.formats.header import NO_IDS, columns_for, listed_names
from cranfield.formats.list_cells import apart
from cranfield.formats.objects import LISTS, MAPPINGS, DictOfLists, NestedRows, nested
from cranfield.formats.source import named


def rows_of(
    data: Any,
    what: What,
    *,
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
    format: str | None = None,  # noqa: A002 - the word for it
    is_path: bool = False,
) -> Rows:
    """Return the rows of whatever holds a run or judgments: the one way in.

    `data` is rows already, a dict, a table of any kind, or, with `is_path`, a path or a list of
    paths; `format`, of files, is None if it is to be found out. Raises InputError for what is none
    of these, OptionError for a format or a column that does not exist.
    """
    check_errors(errors)
    if columns and isinstance(columns.get(what.word), Mapping):
        columns = columns_for(columns, what)
    if is_path:
        from cranfield.formats.files import file_rows  # and all formats, which a dict does not need

        return file_rows(data, what, format, columns)
    if isinstance(data, MAPPINGS) and not is_sparse(data):  # one kind of these is a dict
        groups = groups_of_dict(data) if what is What.QRELS else None
        if groups is not None:
            return groups
        has_numbers = isinstance(next(iter(data.values()), {}), MAPPINGS)
        graded = what is What.RUN or has_numbers
        try:
            rows = NestedRows(nested(data, what), what, errors, graded=graded)
            rows.is_ranking = not has_numbers
            return rows
        except DuplicateError:
            listed = DictOfLists(data, what)
            listed.graded = graded
            return listed
    if isinstance(data, Rows):
        return data
    return apart(table_rows(data, what, columns, errors), what, columns)


def rows_of_lists(lists: Sequence[Any], what: What) -> Rows:
    """Return the rows of lists of ids, one for each query: the queries are "1", "2", ..."""
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
    """Return the judgments and the run that one table holds, each with the columns of its own.

    `data` is as for `rows_of`; what can be read only once is read once. Raises InputError
    for what does not hold both, which says what columns there are.
    """
    stated = {what: columns_for(columns, what) for what in _BOTH}
    if is_stream(data):
        data = arrow_table(data, "the table")
    found: dict[What, Rows] = {}
    faults: dict[What, InputError] = {}
    for what in _BOTH:
        try:
            if is_path and found:
                made: Rows = found[What.QRELS].beside(what, stated[what])  # type: ignore[attr-defined] # files
            else:
                made = rows_of(data, what, columns=stated[what], errors=errors, is_path=is_path)
            if not made.names:
                raise InputError(
                    f"was read as {made.form}, which has no columns, and so is one side: "
                    "judgments, or a run",
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
    """Tell whether judgments and a run have columns of their own."""
    if not judged or not ranked:
        return False
    if judged["doc"] != ranked["doc"]:
        return True
    number = ranked.get("score", ranked.get("rank"))
    return number is not None and judged.get("grade", number) != number


def _is_of(what: What, taken: Mapping[str, str]) -> bool:
    """Tell whether the documents' column is one that only such data have."""
    return plain_name(taken.get("doc", "")) in COLUMNS["doc"].lists[what]
