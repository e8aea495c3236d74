"""Systems: refuses a table of several systems that would be read as one run, or as judgments.

Where a column such as `retriever` tells two rows of a document apart, they belong to the rankings
of two systems: no choice among the rows, `duplicates`, makes one ranking of these.
"""

from cranfield.arrays.ids import decode
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import Rows, join_blocks
from cranfield.formats.columns import NO_COLUMN, Side, plain_name

# The usual names of a column of systems, as `plain_name` writes them.
SYSTEMS = ("system", "run", "run_name", "retriever", "model", "method")


def refuse_mixture(rows: Rows) -> None:
    """Raise DuplicateError if two systems of a table have the same document, or one query's list.

    The table is searched once, in columns without a role whose names are usual for systems.
    """
    table: Rows = getattr(rows, "source_rows", rows)  # of which these rows are a part
    if table.mixture_errors is None:
        names = [name for name in table.column_names if plain_name(name) in SYSTEMS]
        free_names = [name for name in names if name not in table.name_of_role.values()]
        errors = [_mixture_error(table, name) for name in free_names]
        table.mixture_errors = list(filter(None, errors))
    for error in table.mixture_errors:
        raise error


def _mixture_error(rows: Rows, column: str) -> InputError | None:
    """Return the error if a table's `column` has two systems for a document, or a list; or None."""
    columns = {"query_id": rows.name_of_role["query"], "doc_id": column, "relevance": NO_COLUMN}
    if not rows.list_columns:
        columns |= {"doc_id": rows.name_of_role["doc"], "subtopic": column}
    try:
        table = rows.read_side(Side.QRELS, columns)
        if table.list_columns:  # the column of systems holds lists, not ids
            return None
        loads = table.blocks(table.extra_roles & {"group"}, "skip")
        block = join_blocks([load() for load in loads])
    except InputError:  # two columns have that name, or no row of it can be read
        return None
    system = block.columns.get("group", block.doc)
    system_number = system.sort_keys().tolist()
    list_or_doc = block.query if rows.list_columns else block.doc  # a query has one list
    keys = zip(block.query.sort_keys().tolist(), list_or_doc.sort_keys().tolist(), strict=True)
    first_row_of_key: dict[tuple[int, int], int] = {}
    for row, key in enumerate(keys):
        first_row = first_row_of_key.setdefault(key, row)
        if system_number[first_row] != system_number[row]:
            break
    else:
        return None
    subject = f"query {decode(block.query[first_row])!r:.80}"
    if not rows.list_columns:
        subject = f"document {decode(block.doc[first_row])!r:.80} of {subject}"
    problem = (
        f"column {column!r} has {len({*system_number}):,} values, and {subject} occurs under "
        f"{decode(system[first_row])!r:.80} and under {decode(system[row])!r:.80}"
    )
    hint = (
        f"If these are systems, give a {'file' if rows.sources else 'table'} of each, or of one, "
        "in its place. If not, leave that column out."
    )
    if rows.description.startswith("Spark run"):
        hint = f"If these are systems, state their column: by={column!r}."
    error = block.row_error(row, problem, hint, DuplicateError)
    return error if rows.sources else error.locate(getattr(rows, "name", None))
