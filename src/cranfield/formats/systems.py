"""Systems: finds the systems whose rows one table holds, and reads the rows of each alone.

Where a column such as `retriever` tells two rows of a document apart, they belong to the rankings
of two systems: no choice among the rows, `duplicates`, makes one ranking of these.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words, spread_bits
from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Ints
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import DUPLICATE_HINT, Block, Errors, Load, Role, Rows
from cranfield.formats.columns import NO_COLUMN, Side, plain_name
from cranfield.formats.source import describe_sources
from cranfield.notes import Note, join_names

# The usual names of a column of systems, as `plain_name` writes them.
SYSTEMS = ("system", "run", "run_name", "retriever", "model", "method")
_MOST_SYSTEMS = 100  # values of a column with another name that may hold systems


class SystemRows(Rows):
    """The rows of one system, of a table with one document in each row."""

    def __init__(self, rows: Rows, system: str) -> None:
        vars(self).update(vars(rows))
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
    systems, row = block.columns["system"], np.arange(len(block))
    columns = {role: column for role, column in block.columns.items() if role != "system"}
    is_selected = systems.equal(row, system, np.zeros_like(row))
    selected_rows = replace(block, columns=columns).take(np.flatnonzero(is_selected))
    return replace(selected_rows, left_out=block.left_out, empty_queries=block.empty_queries)


class SystemNames(NamedTuple):
    """The values of a table's column that may name systems, in the order of the rows.

    `overlap` says which document, or list, occurs under two of them; None: none does.
    """

    column: str
    systems: Sequence[str]
    overlap: str | None

    @property
    def note(self) -> Note:
        """What a result says of a column that the user has not stated."""
        text = f"Column {self.column!r} has {len(self.systems):,} values, and "
        if self.overlap is None:
            remedy = f"columns={{'system': {self.column!r}}}, --columns system={self.column}"
            text += f"no document of a query occurs under two: not read. A run of each: {remedy}."
            return Note("one-system", "info", text, count=len(self.systems))
        return Note("several-systems", "info", f"{text}{self.overlap}: a run of each.")

    def make_error(self) -> InputError:
        """Return the error that one run is expected of a table of several."""
        name, system = self.column, self.systems[0]
        overlap = "" if self.overlap is None else f", and {self.overlap}"
        return DuplicateError(
            f"column {name!r} has {len(self.systems):,} values, "
            f"{join_names([*map(repr, self.systems)], 10)}{overlap}",
            hint=f"If these are systems, columns={{'system': {name!r}}} (--columns system={name}) "
            f"makes a run of each, and columns={{'system': '{name}={system}'}} (--columns "
            f"system={name}={system}) takes one.",
        )


def find_systems(rows: Rows) -> SystemNames | None:
    """Return the systems of a table, by the column that is stated, or else by one of a usual name.

    Of the columns with usual names, it is that under whose values a document occurs twice, else the
    first with two values. None without such a column, of a chosen system, and for what cannot be
    read. The table is read once for each such column. InputError if two may be that of systems.
    """
    table: Rows = getattr(rows, "source_rows", rows)  # of which these rows are a part
    if table.system_names is None:
        table.system_names = []
        with suppress(InputError):  # the error comes when the rows are read
            stated = table.name_of_role.get("system")
            names = [name for name in table.column_names if plain_name(name) in SYSTEMS]
            names = [name for name in names if name not in table.name_of_role.values()]
            names = [] if table.system is not None else names if stated is None else [stated]
            columns = [_read_system_names(table, name) for name in names]
            table.system_names = [
                column for column in columns if column and (stated or len(column.systems) > 1)
            ]
    overlaps = [column for column in table.system_names if column.overlap is not None]
    if len(overlaps) > 1:
        first, second = (column.column for column in overlaps[:2])
        raise InputError(
            f"documents occur under two values of column {first!r}, and of {second!r}: which one "
            "names the systems?",
            source=describe_sources(table.sources),
            hint=f"State it: columns={{'system': {first!r}}}, --columns system={first}.",
            kind="columns",
        )
    return next(iter([*overlaps, *table.system_names]), None)


def refuse_stated_systems(rows: Rows) -> None:
    """Raise DuplicateError if a column of systems is stated for what is read as one run."""
    is_stated = rows.user_columns is not None and "system" in rows.name_of_role
    if is_stated and rows.system is None and (names := find_systems(rows)) is not None:
        raise names.make_error().locate(describe_sources(rows.sources))


def refuse_mixture(rows: Rows, *, repeats_allowed: bool = True) -> None:
    """Raise DuplicateError if two systems of a table have the same document, or one query's list.

    Where no document may occur twice, columns of any name are searched, that of the fewest values
    first.
    """
    table: Rows = getattr(rows, "source_rows", rows)
    names = find_systems(table)
    overlaps = [names] if names and names.overlap else []
    if not overlaps and not repeats_allowed and table.system is None:
        free_names = {*table.column_names} - {*table.name_of_role.values()}
        columns = [_read_system_names(table, name) for name in sorted(free_names)]
        overlaps = [
            column
            for column in columns
            if column and column.overlap and len(column.systems) <= _MOST_SYSTEMS
        ]
    for column in sorted(overlaps, key=lambda column: len(column.systems)):
        error = column.make_error()
        if names is None:
            error = error.add_reason(f"If they are none: {DUPLICATE_HINT}")
        raise error.locate(describe_sources(table.sources) or getattr(rows, "name", None))


def _read_system_names(table: Rows, column: str) -> SystemNames | None:
    """Return the values of a column, and what occurs under two of them; None if it has no ids."""
    has_docs = "doc" in table.name_of_role and not table.list_columns
    columns = {"query_id": table.name_of_role["query"], "doc_id": column, "relevance": NO_COLUMN}
    if has_docs:
        columns |= {"doc_id": table.name_of_role["doc"], "system": column}
    number_of_system: dict[bytes, int] = {}
    search = _OverlapSearch()
    try:
        rows = table.read_side(Side.QRELS, columns)
        if rows.list_columns:  # the column holds lists
            return None
        for block in _load_blocks(rows, has_docs):
            system = block.columns["system"] if has_docs else block.doc
            starts = system.find_changes()
            numbers = [
                number_of_system.setdefault(name, len(number_of_system))
                for name in system.take(starts).to_list()
            ]
            if has_docs or table.list_columns:  # else each row is a document
                hashes = spread_bits(block.query.hash())
                hashes = hashes + block.doc.hash() if has_docs else hashes
                lengths = np.diff(np.append(starts, len(block)))
                search.add(hashes, np.repeat(np.array(numbers, np.int32), lengths))
        overlap = search.find()
    except InputError:  # two columns have that name, or no row of it can be read
        return None
    systems = [*map(decode, number_of_system)]
    if overlap is None:
        return SystemNames(column, systems, None)
    row, first, second = overlap
    for block in _load_blocks(rows, has_docs):
        if row < len(block):
            break
        row -= len(block)
    subject = f"document {decode(block.doc[row])!r:.80} of " if has_docs else ""
    subject += f"query {decode(block.query[row])!r:.80} occurs under "
    return SystemNames(
        column, systems, f"{subject}{systems[first]!r:.80} and under {systems[second]!r:.80}"
    )


def _load_blocks(rows: Rows, has_docs: bool) -> Iterator[Block]:
    """Yield the blocks of a table's rows that can be used, with their systems beside documents."""
    loads = rows.blocks(("system",) if has_docs else (), "skip")
    yield from filter(len, (load() for load in loads))


class _OverlapSearch:
    """Looks for a key that two systems have, as rows come: some hundred million in memory."""

    def __init__(self) -> None:
        self._keys: list[Words] = []
        self._systems: list[Ints] = []
        self._n_rows = self._n_searched = 0
        self._overlap: tuple[int, int, int] | None = None

    def add(self, keys: Words, systems: Ints) -> None:
        """Add rows, (rows,) each; all are searched when they are twice as many as last time."""
        if self._overlap is None:
            self._keys.append(keys)
            self._systems.append(systems)
            self._n_rows += len(keys)
            if self._n_rows >= 2 * self._n_searched:
                self.find()

    def find(self) -> tuple[int, int, int] | None:
        """Return the first row whose key another system has, that system and its own; or None."""
        if self._overlap is None and self._n_searched < self._n_rows:
            self._n_searched = self._n_rows
            keys, systems = np.concatenate(self._keys), np.concatenate(self._systems)
            self._keys, self._systems = [keys], [systems]
            order = keys.argsort(kind="stable")
            above, row = order[:-1], order[1:]
            is_overlap = (keys[above] == keys[row]) & (systems[above] != systems[row])
            if is_overlap.any():
                i = int(np.where(is_overlap, row, len(row) + 1).argmin())
                self._overlap = int(row[i]), int(systems[above[i]]), int(systems[row[i]])
                self._keys, self._systems = [], []
        return self._overlap
