"""Inputs of `describe` beside the runs: interactions, items, vectors, ids; all numbered alike."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, encode_ids
from cranfield.arrays.ranked import Floats, Ints, Numbers
from cranfield.arrays.slots import PairIndex, number_pairs
from cranfield.data.judging import Judging
from cranfield.data.named_ids import read_named_queries
from cranfield.data.order import rank_documents
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run, make_run
from cranfield.errors import InputError, OptionError
from cranfield.extensions.lists.lists import Facts, Lists, Pairs
from cranfield.formats import read_rows
from cranfield.formats.columnar import detect_columnar_format, read_columnar_file
from cranfield.formats.columns import NAMES, Side
from cranfield.formats.frames import arrow_table, is_table
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import kind_of, to_list
from cranfield.formats.small.listed_ids import read_id_list
from cranfield.formats.small.read import NestedObject, Table, TableForm, read_table
from cranfield.formats.source import Source
from cranfield.notes import Note
from cranfield.options import is_whole_number


class Numbering:
    """Numbers ids from 0 on, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._indices: list[tuple[int, PairIndex]] = []  # the first number of each, and its ids
        self.n_ids = 0

    def number(self, ids: Ids) -> Ints:
        """Return the number of each id, a new one for an id that is new: (ids,)."""
        number, hashes = np.full(len(ids), -1), ids.hash()
        rows, no_groups = np.arange(len(ids)), np.zeros(len(ids), np.int64)
        for first, index in self._indices:
            row_ids = ids if len(rows) == len(ids) else ids.take(rows)
            groups = no_groups[: len(rows)]
            positions, own_rows = index.find(groups, row_ids, pair_keys(hashes[rows], groups))
            number[rows[positions]] = first + own_rows
            rows = rows[number[rows] < 0]
            if not len(rows):
                return number
        new_ids = ids.take(rows)
        first_rows, position = number_pairs(no_groups[: len(rows)], new_ids)
        number[rows] = self.n_ids + position
        self._add(new_ids.take(first_rows).compact())
        return number

    def _add(self, ids: Ids) -> None:
        """Add new ids; an index that is not much larger takes them, so that there are few."""
        first = self.n_ids
        self.n_ids += len(ids)
        while self._indices and len(self._indices[-1][1].ids) < 2 * len(ids):
            first, index = self._indices.pop()
            ids = Ids.concatenate([index.ids, ids])
        if len(ids):
            self._indices.append((first, PairIndex(np.zeros(len(ids), np.int64), ids)))

    @property
    def ids(self) -> Ids:
        """The ids, in the order of their numbers."""
        return Ids.concatenate([index.ids for _, index in self._indices] or [Ids.of([])])


@dataclass(eq=False)
class Codes:
    """The numbers of users and items, and what inputs say of these."""

    users: Numbering = field(default_factory=Numbering)
    items: Numbering = field(default_factory=Numbering)
    notes: list[Note] = field(default_factory=list)

    def read_pairs(self, data: Any, name: str, columns: Any = None) -> tuple[Ints, Ints]:
        """Return the users and the items of the rows of interactions: (rows,), (rows,)."""
        if isinstance(data, Qrels):
            users = self.users.number(encode_ids(data.query_ids))[data.query]
            return users, self.items.number(data.docs)
        rows, is_path = None, isinstance(data, str | os.PathLike)
        try:
            rows = data.rows if isinstance(data, Run) else None
            rows = rows or read_rows(data, Side.EXCLUDED, columns=columns, is_path=is_path)
        except InputError as error:
            hint = f"columns={{{name!r}: {{'query_id': ..., 'doc_id': ...}}}}."
            raise error.replace(hint=hint) if error.kind == "columns" else error from None
        codes = [
            (self.users.number(block.query), self.items.number(block.doc))
            for block in (load() for load in rows.blocks((), "strict"))
        ]
        user, item = zip(*codes, strict=True) if codes else ((), ())
        return _join(user), _join(item)

    def read_lists(self, run: Run, judging: Judging, depth: int | None) -> tuple[Ints, Ints, Ints]:
        """Return the users, where their lists begin, (users + 1,), and the items: a run's lists.

        `depth`: the deepest rank that is kept; None: all are.
        """

        def code_blocks(grouped_blocks: Any) -> list[tuple[Ints, Ints, Ints]]:
            parts = []
            for grouped_block in grouped_blocks():
                rank, block = rank_documents(grouped_block, judging).rank, grouped_block.block
                rows = np.arange(len(rank)) if depth is None else np.flatnonzero(rank <= depth)
                lengths = np.bincount(grouped_block.group[rows], minlength=len(grouped_block.queries))
                starts = np.cumsum(lengths) - lengths
                item = np.empty(len(rows), np.int32)
                docs = block.doc if len(rows) == len(rank) else block.doc.take(rows)
                item[starts[grouped_block.group[rows]] + rank[rows] - 1] = self.items.number(docs)
                empty = self.users.number(Ids.of([*block.empty_queries]))
                user = np.append(self.users.number(grouped_block.queries), empty)
                parts.append((user, np.append(lengths, np.zeros(len(empty), np.int64)), item))
            return parts

        order = run.resolve_order(judging.order)
        roles = () if order == "given" else (order,)
        parts = run.read_whole_queries(roles, judging, code_blocks)
        user, lengths, item = (_join(column) for column in zip(*parts, strict=True)) if parts else (
            np.zeros((3, 0), np.int64)
        )
        return user, np.append(0, np.cumsum(lengths)), item

    def make_pairs(self, user: Ints, item: Ints, number: Numbers | None = None) -> Pairs:
        """Return distinct pairs; without a number of each, how often it occurs."""
        n_items = self.items.n_ids
        keys, first, counts = np.unique(
            user * np.int64(n_items) + item, return_index=True, return_counts=True
        )
        number = counts if number is None else number[first]
        return Pairs(keys // max(n_items, 1), keys % max(n_items, 1), number, n_items)

    def number_texts(self, texts: Sequence[str]) -> Ints:
        """Return the numbers of items that are texts: (texts,)."""
        return self.items.number(Ids.of_texts(texts))


def _join(columns: Sequence[Ints]) -> Ints:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


_ITEM = (*NAMES["doc"], "id", "_id")
_HINT = "columns={{'{0}': {{'doc_id': ..., '{1}': ...}}}}"


def _read_item_table(data: Any, title: str, columns: Mapping[str, Any]) -> tuple[Table, int]:
    """Return a table that has a column of items, and its position."""
    form = TableForm(title, ("doc_id", "value"), _ITEM, bare_description="an item and its value,")
    table = read_table(data, form)
    if isinstance(table, NestedObject):
        names = ["doc_id", "value"]
        return Table(table.name, names, [[*table.members], [*table.members.values()]]), 0
    stated = columns.get("doc_id")
    position = table.names.index(stated) if stated in table.names else table.find_column(_ITEM)
    if position is None:
        problem = f"has no column of items; it has {', '.join(table.names):.200}"
        raise table.row_error(None, problem, f"{_HINT.format('items', 'category')}.")
    return table, position


def read_categories(
    data: Any, columns: Mapping[str, Any]
) -> tuple[list[str], list[list[str]], list[Note]]:
    """Return the items, the categories of each, and a note if texts were split at |."""
    table, position = _read_item_table(data, "the items", columns)
    names = dict(table.other_columns([position]))
    stated = columns.get("category")
    chosen = [i for i, name in names.items() if stated in (None, name)]
    if len(chosen) != 1:
        raise table.row_error(
            None,
            f"which column holds categories: {', '.join(names.values()) or 'there is none'}",
            "Name it: --category NAME, columns={'items': {'category': NAME}}.",
        )
    items = [table.read_id(row, cell) for row, cell in enumerate(table.columns[position])]
    cells, is_split, categories = table.columns[chosen[0]], False, []
    for cell in cells:
        if isinstance(cell, str) and "|" in cell:
            cell, is_split = cell.split("|"), True
        parts = [cell] if isinstance(cell, str) or not hasattr(cell, "__iter__") else [*cell]
        texts = ("" if part is None or part != part else str(part).strip() for part in parts)
        categories.append([*dict.fromkeys(filter(None, texts))])
    text = f"Categories are split at |: {names[chosen[0]]}."
    return items, categories, [Note("categories", "info", text)] * is_split


def read_vectors(data: Any, columns: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Return items and their vectors, (items, n), scaled to length 1 in the type given."""
    if kind_of(data) == "tuple" and len(data) == 2:
        ids, matrix = data
        items, matrix = [to_id_text(key, "embeddings") for key in to_list(ids)], np.asarray(matrix)
    else:
        items, matrix = _read_vector_table(data, columns)
    if matrix.ndim != 2 or len(matrix) != len(items):
        raise InputError(f"embeddings: {len(items):,} items, and a matrix {matrix.shape}")
    matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    is_finite = np.isfinite(matrix).all(axis=1)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        raise InputError(f"embeddings: row {row}: {items[row]!r:.80} has NaN or infinity")
    length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return items, matrix / np.where(length > 0, length, 1)[:, None].astype(matrix.dtype)


def _read_vector_table(data: Any, columns: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Return the items and the vectors of a table, a file or a dict, with rows of Arrow at once."""
    source = Source(data) if isinstance(data, str | os.PathLike) else None
    form = source and detect_columnar_format(source, source.read_start(4096))
    if source is not None and form is not None:
        data = read_columnar_file(source, form)
    if is_table(data):
        import pyarrow as pa

        table = arrow_table(data, "the embeddings")
        lists = [name for name in table.column_names if pa.types.is_nested(table[name].type)]
        name = columns.get("vector") or (lists[0] if len(lists) == 1 else None)
        rest = table if name is None else table.drop_columns([name])
        ids, position = _read_item_table(rest, "the embeddings", columns)
        if name is not None:
            column = table[name].combine_chunks()
            lengths = {*column.value_lengths().to_pylist()}
            items = [ids.read_id(row, cell) for row, cell in enumerate(ids.columns[position])]
            if len(lengths) == 1 and None not in lengths:
                vectors = column.flatten().to_numpy(zero_copy_only=False)
                return items, vectors.reshape(len(items), -1)
            cells: Sequence[Any] = column.to_pylist()
            return items, _stack_vectors(items, cells)
    ids, position = _read_item_table(data, "the embeddings", columns)
    others = [i for i, name in ids.other_columns([position]) if columns.get("vector", name) == name]
    cells = ids.columns[others[0]] if len(others) == 1 else []
    if not cells:
        raise ids.row_error(None, "has no column of lists", f"{_HINT.format('embeddings', 'vector')}.")
    items = [ids.read_id(row, cell) for row, cell in enumerate(ids.columns[position])]
    return items, _stack_vectors(items, cells)


def _stack_vectors(items: Sequence[str], cells: Sequence[Any]) -> Floats:
    """Return vectors as a matrix; InputError for the first of another length."""
    vectors = [np.asarray(() if cell is None else cell) for cell in cells]
    for row, vector in enumerate(vectors):
        if vector.shape != vectors[0].shape or vector.dtype.kind not in "biuf":
            text = f"embeddings: row {row}: {items[row]!r:.80} has {vector.size} numbers, the first"
            raise InputError(f"{text} row has {vectors[0].size}")
    return np.stack(vectors)


def read_catalogue(data: Any, columns: Mapping[str, Any]) -> int | list[str]:
    """Return the number of items, or their ids."""
    if is_whole_number(data) or (isinstance(data, str) and data.isdecimal()):
        return int(data)
    if isinstance(data, str | os.PathLike):
        role_and_ids = read_id_list(data)
        if role_and_ids is not None:
            if role_and_ids[0] != "doc_id":
                raise OptionError(f"catalogue={data!r:.80}: the file lists ids below query_id")
            return role_and_ids[1]
    elif not is_table(data) and not isinstance(data, Mapping):
        return [to_id_text(key, "catalogue") for key in dict.fromkeys(data)]
    table, position = _read_item_table(data, "the catalogue", columns)
    return [table.read_id(row, cell) for row, cell in enumerate(table.columns[position])]
