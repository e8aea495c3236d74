"""What is this? Bytes, files and objects to rows of judgments or of a run; and rows to files.

Nothing else reads or writes data. It knows no Qrels and no Run.
"""

from collections.abc import Mapping
from typing import Any, get_args

from cranfield.errors import DuplicateError, one_of
from cranfield.formats.block import Errors, Rows
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.frames import is_sparse, table_rows
from cranfield.formats.groups import groups_of_dict
from cranfield.formats.objects import ListRows, NestedRows, nested


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
    one_of("errors", errors, get_args(Errors))
    if is_path:
        from cranfield.formats.files import file_rows  # and all formats, which a dict does not need

        return file_rows(data, what, format, columns)
    if isinstance(data, Mapping) and not is_sparse(data):  # one kind of these is a dict
        groups = groups_of_dict(data) if what is What.QRELS else None
        if groups is not None:
            return groups
        try:
            rows = NestedRows(nested(data, what), what, errors)
            rows.is_ranking = not isinstance(next(iter(data.values()), {}), Mapping)
            return rows
        except DuplicateError:
            return ListRows(data, what)
    if isinstance(data, Rows):
        return data
    return table_rows(data, what, columns, errors)
