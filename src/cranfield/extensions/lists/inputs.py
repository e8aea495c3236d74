"""Inputs of `describe`: runs, interactions, items, vectors; users and items are numbered alike."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, encode_ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.slots import PairIndex, number_pairs
from cranfield.data.judging import Judging
from cranfield.data.named_ids import read_named_queries
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.data.run import Run, make_run
from cranfield.errors import InputError, OptionError
from cranfield.extensions.lists.lists import Facts, Pairs
from cranfield.formats import read_rows
from cranfield.formats.columnar import detect_columnar_format, read_columnar_file
from cranfield.formats.columns import NAMES, Side
from cranfield.formats.frames import arrow_table, is_table
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import kind_of, to_list
from cranfield.formats.small.listed_ids import read_id_list
from cranfield.formats.small.read import Table, TableForm, read_table
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
        number, hashes, rows = np.full(len(ids), -1), ids.hash(), np.arange(len(ids))
        for first, index in self._indices:
            row_ids = ids if len(rows) == len(ids) else ids.take(rows)
            groups = np.zeros(len(rows), np.int64)
            positions, own_rows = index.find(groups, row_ids, pair_keys(hashes[rows], groups))
            number[rows[positions]] = first + own_rows
            rows = rows[number[rows] < 0]
            if not len(rows):
                return number
        new_ids = ids.take(rows)
        first_rows, position = number_pairs(np.zeros(len(rows), np.int64), new_ids)
        number[rows] = self.n_ids + position
        self._add(new_ids.take(first_rows).compact())
        return number

    def _add(self, ids: Ids) -> None:
        """Add new ids; an index that is not much larger takes them, so that there are few."""
        first, self.n_ids = self.n_ids, self.n_ids + len(ids)
        while self._indices and len(self._indices[-1][1].ids) < 2 * len(ids):
            first, index = self._indices.pop()
            ids = Ids.concatenate([index.ids, ids])
        if len(ids):
            self._indices.append((first, PairIndex(np.zeros(len(ids), np.int64), ids)))

    @property
    def ids(self) -> Ids:
        """The ids, in the order of their numbers."""
        return Ids.concatenate([index.ids for _, index in self._indices])


class Codes:
    """The numbers of users and items, and how data are read as these."""

    def __init__(self) -> None:
        self.users, self.items = Numbering(), Numbering()

    def read_pairs(self, data: Any, name: str, columns: Any) -> tuple[Ints, Ints]:
        """Return the users and the items of the rows of interactions: (rows,), (rows,)."""
        if isinstance(data, Qrels):
            users = self.users.number(encode_ids(data.query_ids))[data.query]
            return users, self.items.number(data.docs)
        try:
            is_path = isinstance(data, str | os.PathLike)
            is_run = isinstance(data, Run)
            rows = read_rows(data, Side.EXCLUDED, columns=columns, is_path=is_path)
        except InputError as error:
            hint = f"columns={{{name!r}: {{'query_id': ..., 'doc_id': ...}}}} says which they are."
            raise error.replace(hint=hint) if error.kind == "columns" else error from None
        blocks = (load() for load in (data.rows if is_run else rows).blocks((), "strict"))
        codes = [(self.users.number(block.query), self.items.number(block.doc)) for block in blocks]
        users, items = (np.concatenate(column) for column in zip(*codes, strict=True))
        return users, items

    def read_lists(self, run: Run, judging: Judging, depth: int | None) -> tuple[Ints, Ints, Ints]:
        """Return the users of a run, where their lists begin, (users + 1,), and the items.

        `depth`: the deepest rank that is kept; None: all are.
        """

        def code_blocks(
            grouped_blocks: Callable[[], Iterator[GroupedBlock]],
        ) -> list[tuple[Ints, Ints, Ints]]:
            return [self._code_block(block, judging, depth) for block in grouped_blocks()]

        order = run.resolve_order(judging.order)
        parts = run.read_whole_queries(() if order == "given" else (order,), judging, code_blocks)
        users, lengths, items = (np.concatenate(column) for column in zip(*parts, strict=True))
        return users, np.append(0, np.cumsum(lengths)), items

    def _code_block(
        self, grouped_block: GroupedBlock, judging: Judging, depth: int | None
    ) -> tuple[Ints, Ints, Ints]:
        """Return the users of a block, the lengths of their lists, and the items, best first."""
        rank, docs = rank_documents(grouped_block, judging).rank, grouped_block.block.doc
        group, queries = grouped_block.group, grouped_block.queries
        if depth is not None:
            rows = np.flatnonzero(rank <= depth)
            rank, docs, group = rank[rows], docs.take(rows), group[rows]
        lengths = np.bincount(group, minlength=len(queries))
        items = np.empty(len(rank), np.int32)
        items[(np.cumsum(lengths) - lengths)[group] + rank - 1] = self.items.number(docs)
        empty_queries = Ids.of([*grouped_block.block.empty_queries])
        users = self.users.number(Ids.concatenate([queries, empty_queries]))
        return users, np.append(lengths, np.zeros(len(empty_queries), np.int64)), items


class Inputs:
    """What is given beside the runs, by name, read before these; `make_facts` comes after."""

    def __init__(
        self, inputs: Mapping[str, Any], columns: Mapping[str, Any], judging: Judging
    ) -> None:
        self.codes, self.notes, self.catalogue = Codes(), list[Note](), 0
        self.qrels: Qrels | None = None
        self._pairs: dict[str, tuple[Ints, Ints, Ints | None]] = {}  # users, items, numbers
        self._items: dict[str, Ints] = {}  # {input: the items that it has}
        own = {name: columns.get(name) or {} for name in inputs}
        if "train" in inputs:
            pairs = self.codes.read_pairs(inputs["train"], "train", columns.get("train"))
            self._pairs["train"] = (*pairs, None)
        if "qrels" in inputs:
            duplicates = judging.duplicates
            self.qrels = make_qrels(inputs["qrels"], "strict", columns.get("qrels"), duplicates)
            pairs = self.codes.read_pairs(self.qrels, "qrels", None)
            self._pairs["qrels"] = (*pairs, self.qrels.grade)
        if "items" in inputs:
            ids, cells, column = read_items(inputs["items"], "items", "category", own["items"])
            self._categories, is_split = split_categories(cells)
            self.notes += [Note("categories", "info", f"{column}: split at |.")] * is_split
            self._number_items("items", ids)
        if "embeddings" in inputs:
            ids, self._vectors = read_vectors(inputs["embeddings"], own["embeddings"])
            self._number_items("embeddings", ids)
        if "catalogue" in inputs:
            catalogue = read_catalogue(inputs["catalogue"], own["catalogue"])
            if isinstance(catalogue, int):
                self.catalogue = catalogue
            else:
                self._number_items("catalogue", catalogue)
        if "base" in inputs:
            run = make_run(inputs["base"], columns=columns.get("base"))
            users, starts, items = self.codes.read_lists(run, judging, None)
            lengths = np.diff(starts)
            ranks = consecutive_numbers(1, lengths)
            self._pairs["base"] = np.repeat(users, lengths), items, ranks
        self._users: Ints | None = None
        if "users" in inputs:
            ids = read_named_queries(inputs["users"], make_run).ids
            self._users = self.codes.users.number(ids)

    def _number_items(self, name: str, ids: Sequence[str]) -> None:
        self._items[name] = self.codes.items.number(Ids.of_texts(ids))

    def make_facts(self, runs: Collection[tuple[Ints, Ints, Ints]]) -> Facts:
        """Return what is known beside the lists of runs, which `Codes.read_lists` returned.

        Raises OptionError for a catalogue that is a number smaller than the items seen.
        """
        ids, is_expected = self.codes.items.ids, np.zeros(self.codes.users.n_ids, np.bool_)
        pairs = {
            name: Pairs.of(users, items, len(ids), numbers)
            for name, (users, items, numbers) in self._pairs.items()
        }
        all_users = np.concatenate([users for users, _, _ in runs])
        default = self._pairs.get("qrels", self._pairs.get("train", (all_users,)))[0]
        is_expected[default if self._users is None else self._users] = True
        train_items = self._pairs["train"][1] if "train" in pairs else np.zeros(0, np.int64)
        in_catalogue, is_seen = np.zeros((2, len(ids)), np.bool_)
        in_catalogue[self._items.get("catalogue", self._items.get("items", train_items))] = True
        for items in (train_items, *(items for _, _, items in runs)):
            is_seen[items] = True
        n_items, n_seen = int(np.count_nonzero(in_catalogue)), int(np.count_nonzero(is_seen))
        if 0 < self.catalogue < n_seen:
            seen_text = "runs and train have" if "train" in pairs else "runs have"
            text = f"the catalogue has {self.catalogue:,} items, {seen_text} {n_seen:,}"
            raise OptionError(text)
        return Facts(
            ids,
            pairs,
            is_expected,
            None if self.catalogue else in_catalogue,
            self.catalogue or n_items,
            self._stack_categories(len(ids)) if "items" in self._items else None,
            self._stack_vectors(len(ids)) if "embeddings" in self._items else None,
        )

    def _stack_categories(self, n_items: int) -> Any:
        """Return the categories as a sparse matrix of ones: (n_items, n_categories)."""
        from scipy.sparse import csr_array

        names = [*chain.from_iterable(self._categories)]
        number_of_name = {name: number for number, name in enumerate(dict.fromkeys(names))}
        item = np.repeat(self._items["items"], [*map(len, self._categories)])
        cells = item, np.fromiter(map(number_of_name.__getitem__, names), np.int64, len(names))
        matrix = csr_array((np.ones(len(names)), cells), shape=(n_items, len(number_of_name)))
        matrix.sum_duplicates()
        matrix.data[:] = 1  # of an item that has a category in two rows
        return matrix

    def _stack_vectors(self, n_items: int) -> Floats:
        """Return the vectors of all items, zeros of an item without: (n_items, n)."""
        vectors = np.zeros((n_items, self._vectors.shape[1]), self._vectors.dtype)
        vectors[self._items["embeddings"]] = self._vectors
        return vectors


# ---- small tables: a row for each item ----------------------------------------------------------

_ITEM = (*NAMES["doc"], "id", "_id")


def read_items(
    data: Any, name: str, role: str, columns: Mapping[str, Any]
) -> tuple[list[str], Sequence[Any], str]:
    """Return the items of a table, the cells of its one other column, and the column's name.

    `name` is that of the input, `role` of the column in `columns`; with an empty role there are no
    cells. Raises InputError where it is unclear which column is meant.
    """
    form = TableForm(
        f"the {name}", ("doc_id", role), _ITEM, bare_description=f"an item and {role},"
    )
    table: Any = read_table(data, form)
    if not isinstance(table, Table):  # {item: cell}
        cells = [[*table.members], [*table.members.values()]]
        table = Table(table.name, ("doc_id", role), cells)
    stated = columns.get("doc_id")
    position = table.names.index(stated) if stated in table.names else table.find_column(_ITEM)
    other_columns = table.other_columns([] if position is None else [position])
    chosen = [i for i, column in other_columns if columns.get(role, column) == column]
    if position is None or (role and len(chosen) != 1):
        option = " (--category NAME)" if role == "category" else ""
        raise table.row_error(
            None,
            f"which column is which: {', '.join(table.names):.200}",
            f"columns={{{name!r}: {{'doc_id': ..., {role!r}: ...}}}} says it{option}.",
        )
    items = [table.read_id(row, cell) for row, cell in enumerate(table.columns[position])]
    return items, table.columns[chosen[0]] if role else (), table.names[chosen[0] if role else 0]


def split_categories(cells: Sequence[Any]) -> tuple[list[list[str]], bool]:
    """Return the categories of each cell, a list or a text, and whether a text was split at |."""
    categories, is_split = [], False
    for cell in cells:
        is_split |= isinstance(cell, str) and "|" in cell
        parts = cell.split("|") if isinstance(cell, str) else cell
        parts = parts if hasattr(parts, "__iter__") else [parts]
        texts = (str(part).strip() for part in parts if part is not None and part == part)
        categories.append([*dict.fromkeys(filter(None, texts))])
    return categories, is_split


def read_vectors(data: Any, columns: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Return items and their vectors, (items, n), scaled to length 1 in the type given."""
    if kind_of(data) == "tuple" and len(data) == 2:
        items, cells = [to_id_text(key, "embeddings") for key in to_list(data[0])], data[1]
    else:
        source = Source(data) if isinstance(data, str | os.PathLike) else None
        form = source and detect_columnar_format(source, source.read_start(4096))
        data = read_columnar_file(source, form) if source and form else data
        items, cells, _ = read_items(_split_lists(data), "embeddings", "vector", columns)
    for row, (item, cell) in enumerate(zip(items, cells, strict=True)):
        if np.shape(cell) != np.shape(cells[0]) or not np.isfinite(cell).all():
            problem = f"embeddings: row {row}, {item!r:.80}: expected a vector of finite numbers"
            raise InputError(f"{problem}, as long as that of {items[0]!r:.80}, got {cell!r:.80}")
    matrix = np.array(cells) if isinstance(cells, np.ndarray) else np.stack([*map(np.array, cells)])
    matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return items, matrix / np.where(length > 0, length, 1)[:, None].astype(matrix.dtype)


def _split_lists(data: Any) -> Any:
    """Return a table of Arrow as {column: cells}, lists as arrays; any other data unchanged."""
    if not is_table(data):
        return data
    import pyarrow as pa

    table, columns = arrow_table(data, "the embeddings"), {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        columns[name] = (
            column.to_pylist()
            if not pa.types.is_nested(column.type)
            else np.split(
                column.flatten().to_numpy(zero_copy_only=False),
                np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False))[:-1],
            )
        )
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def read_catalogue(data: Any, columns: Mapping[str, Any]) -> int | list[str]:
    """Return the number of items, or their ids."""
    if is_whole_number(data) or (isinstance(data, str) and data.isdecimal()):
        return int(data)
    is_path = isinstance(data, str | os.PathLike)
    if not (is_path or is_table(data) or kind_of(data) == "dict"):
        return [to_id_text(key, "catalogue") for key in dict.fromkeys(data)]
    role_and_ids = read_id_list(data) if is_path else None
    return role_and_ids[1] if role_and_ids else read_items(data, "catalogue", "", columns)[0]
