"""Systems: finds the systems whose rows one table holds, and reads the rows of each alone.

Where a column such as `retriever` tells two rows of a document apart, they belong to the rankings
of two systems: no choice among the rows, `duplicates`, makes one ranking of these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words, spread_bits
from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Ints
from cranfield.errors import InputError
from cranfield.formats.block import Block, Cells, Errors, Load, Role, Rows
from cranfield.formats.columns import NO_COLUMN, Side, plain_name
from cranfield.formats.source import describe_sources
from cranfield.notes import Note, join_names

# The usual names of a column of systems, as `plain_name` writes them.
SYSTEMS = ("system", "run", "run_name", "retriever", "model", "method")
_MOST_SYSTEMS = 100  # values of a column with another name that may hold systems


class SystemRows(Rows):
    """The rows of one system, of a table with one document in each row."""

    def __init__(self, rows: Rows, system: str) -> None:
        self.take_facts(rows)
        self._rows, self._system_id = rows, Ids.of_texts([system])
        self.system, self.n_rows = system, None

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the blocks of the table with the rows of the system alone."""
        for load in self._rows.blocks((*roles, "system"), errors):
            yield partial(_select_system, load, self._system_id)


def _select_system(load: Load, system: Ids) -> Block:
    """Return a block with the rows of one system, without the column of systems."""
    block = load()
    row = np.arange(len(block))
    is_selected = block.columns["system"].equal(row, system, np.zeros_like(row))
    columns = {role: column for role, column in block.columns.items() if role != "system"}
    selected_rows = replace(block, columns=columns).take(np.flatnonzero(is_selected))
    return replace(selected_rows, left_out=block.left_out)


def select_cells(cells: Cells, system: str) -> Cells:
    """Return the rows of one system, as lists; a row without a system has a fault."""
    columns = {
        role: column if isinstance(column, list) else column.to_pylist()
        for role, column in cells.columns.items()
    }
    names = ["" if name in (None, "") or name != name else str(name) for name in columns["system"]]
    rows = [i for i, name in enumerate(names) if name in (system, "")]
    no_system = InputError("the row has no system", kind="id")
    return Cells(
        {role: [column[i] for i in rows] for role, column in columns.items()},
        lambda row: cells.find_line(rows[row]),
        {row: cells.faults.get(i, no_system) for row, i in enumerate(rows) if not names[i]},
    )


class SystemNames(NamedTuple):
    """The values of a column that may name systems, in the order of a table's rows.

    `are_mixed`: a document of a query, or a query's list, occurs under two of them.
    """

    column: str
    systems: Sequence[str]
    are_mixed: bool
    is_stated: bool

    @property
    def hint(self) -> str:
        """How the table is split, or one system is taken."""
        name, system = self.column, self.systems[0]
        return (
            f"Column {name!r} has {len(self.systems):,} values, "
            f"{join_names([*map(repr, self.systems)])}. If these are systems, columns={{'system': "
            f"{name!r}}} (--columns system={name}) makes a run of each; {name}={system} in its "
            "place takes one."
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """What results say of a column that is not stated."""
        code, text = "one-system", f"{self.hint} No document occurs under two: it is one run."
        if self.are_mixed:
            code = "split-systems"
            text = f"Split by column {self.column!r}: documents occur under two of its values."
        return () if self.is_stated else (Note(code, "info", text, count=len(self.systems)),)


def find_systems(rows: Rows) -> SystemNames | None:
    """Return the systems of a table, by the column that is stated, or else by one of a usual name.

    Of the columns with usual names and two values, it is one under whose values documents are
    mixed, else the first. None without such a column, for rows of a chosen system, and for what
    cannot be read. Raises InputError if two columns are such that documents are mixed, or for a
    stated column that cannot be read.
    """
    table = _find_table(rows)
    if table.system_names is None:
        columns, column_name = list[SystemNames | None](), None
        try:
            names = [name for name in table.column_names if plain_name(name) in SYSTEMS]
            column_name = table.name_of_role.get("system")
            names = _list_free(table, names) if column_name is None else [column_name]
            columns = [] if table.system else [_read_system_names(table, name) for name in names]
        except InputError:  # which comes when the rows are read, if that is possible again
            is_pipe = any(source.is_url or source.path == "-" for source in table.sources)
            if is_pipe or column_name is not None:
                raise
        table.system_names = [
            column for column in columns if column and (column.is_stated or len(column.systems) > 1)
        ]
    mixed_columns = [column for column in table.system_names if column.are_mixed]
    if len(mixed_columns) > 1:
        raise InputError(
            "two columns tell rows of a document apart: which one names the systems?",
            hint=" ".join(column.hint for column in mixed_columns),
            kind="columns",
        )
    return next(iter([*mixed_columns, *table.system_names]), None)


def refuse_mixture(rows: Rows, make_error: Callable[[], InputError]) -> None:
    """Raise the error of a document, or list, that occurs twice, if it does so for two systems."""
    names = find_systems(rows)
    if names is not None and names.are_mixed:
        raise make_error().replace(hint=names.hint)


def add_mixed_column(error: InputError, rows: Rows) -> InputError:
    """Return the error of a document, or list, that occurs twice, with a column of two systems.

    The column has any name; of several, that with the fewest values is named.
    """
    table = _find_table(rows)
    names = () if table.system else _list_free(table, table.column_names)
    columns = filter(None, (_read_system_names(table, name) for name in names))
    mixed_columns = [column for column in columns if column.are_mixed]
    column = min(mixed_columns, key=lambda column: len(column.systems), default=None)
    if column is None or len(column.systems) > _MOST_SYSTEMS:
        return error
    return error.add_reason(column.hint)


def refuse_stated_systems(rows: Rows, side: Side) -> None:
    """Raise InputError if a column of systems is stated for what is read as one run, or qrels."""
    if "system" in rows.name_of_role and (names := find_systems(rows)) is not None:
        data = "one run is read" if side is Side.RUN else "judgments are the same for all systems"
        raise InputError(
            f"the column {names.column!r} of systems is stated, and {data}",
            source=describe_sources(rows.sources) or side.name_in_errors,
            hint=f"columns={{'system': '{names.column}={names.systems[0]}'}} takes one system. The "
            "verbs make a run of each: evaluate(qrels, runs, columns={'system': ...}).",
        )


def _find_table(rows: Rows) -> Rows:
    """Return the rows of the whole table of which rows are a part, or of its system."""
    while (source_rows := getattr(rows, "source_rows", None)) is not None:
        rows = source_rows
    return rows


def _list_free(table: Rows, names: Iterable[str]) -> list[str]:
    """Return the names of columns that have no role."""
    return [name for name in names if name not in table.name_of_role.values()]


def _read_system_names(table: Rows, column: str) -> SystemNames | None:
    """Return the values of a column; if it has no readable ids, None, InputError if stated."""
    has_docs = "doc" in table.name_of_role and not table.list_columns
    columns: dict[str, Any] = {"query_id": table.name_of_role["query"], "doc_id": column}
    if has_docs:
        columns |= {"doc_id": table.name_of_role["doc"], "system": column}
    grade = NO_COLUMN
    if "column 1" in table.column_names:  # without a header, columns have numbers
        columns = {name: int(path.removeprefix("column ")) for name, path in columns.items()}
        roles = {"score", "distance", "rank", "grade"} & table.name_of_role.keys()
        grade = int(table.name_of_role[min(roles)].removeprefix("column ")) if roles else NO_COLUMN
    columns["relevance"] = grade
    number_of_system: dict[bytes, int] = {}
    keys, systems = [np.zeros(0, np.uint64)], [np.zeros(0, np.int32)]  # of rows
    n_rows, n_searched, are_mixed = 0, 0, False
    with suppress(InputError):  # two columns have that name, or no row of it can be read
        rows = table.read_side(Side.QRELS, columns)
        for load in () if rows.list_columns else rows.blocks(("system",) * has_docs, "skip"):
            block = load()
            names = block.columns["system"] if has_docs else block.doc
            starts = names.find_changes() if len(block) else np.zeros(0, np.int64)
            numbers = [
                number_of_system.setdefault(name, len(number_of_system))
                for name in names.take(starts).to_list()
            ]
            n_rows += len(block)
            if are_mixed or not (has_docs or table.list_columns):
                continue
            lengths = np.diff(np.append(starts, len(block)))
            systems.append(np.repeat(np.array(numbers, np.int32), lengths))
            hashes = spread_bits(block.query.hash())
            keys.append(hashes + block.doc.hash() if has_docs else hashes)
            if n_rows >= 2 * n_searched:  # so that no more rows are held than necessary
                are_mixed, n_searched = _are_mixed(keys, systems), n_rows
        are_mixed = are_mixed or _are_mixed(keys, systems)
    names = [*map(decode, number_of_system)]
    is_stated = column == table.name_of_role.get("system")
    if is_stated and not names:
        raise InputError(
            f"the systems in column {column!r} cannot be read",
            source=describe_sources(table.sources),
            hint="Each row needs ids of its query and its system: --columns query_id=...,system="
            f"{column}; system={column}=... takes one.",
        )
    return SystemNames(column, names, are_mixed, is_stated) if names else None


def _are_mixed(keys: list[Words], systems: list[Ints]) -> bool:
    """Tell whether rows of several blocks have the same key, and different systems; join them."""
    keys[:], systems[:] = [np.concatenate(keys)], [np.concatenate(systems)]
    (key,), (system,) = keys, systems
    for part in range(16):  # so that a sixteenth is sorted at a time
        rows = np.flatnonzero(key >> np.uint64(60) == part)
        rows = rows[key[rows].argsort()]
        is_same_key = key[rows[1:]] == key[rows[:-1]]
        if (is_same_key & (system[rows[1:]] != system[rows[:-1]])).any():
            return True
    return False
