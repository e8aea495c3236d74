"""Inputs of `describe`: runs, interactions, items, vectors; users and items are numbered alike."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

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
from cranfield.extensions.lists.user_lists import Facts, Pairs
from cranfield.formats import read_rows
from cranfield.formats.columnar import detect_columnar_format, read_columnar_file
from cranfield.formats.columns import NAMES, Side
from cranfield.formats.frames import arrow_table
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import is_table, kind_of, to_list
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
        is_path = isinstance(data, str | os.PathLike)
        try:
            rows = data.rows if isinstance(data, Run) else None
            rows = rows or read_rows(data, Side.EXCLUDED, columns=columns, is_path=is_path)
            blocks = (load() for load in rows.blocks((), "strict"))
            codes = [
                (self.users.number(part.query), self.items.number(part.doc)) for part in blocks
            ]
        except InputError as error:
            if "excluded_ids" not in (error.hint or ""):
                raise
            hint = f"columns={{{name!r}: {{'query_id': ..., 'doc_id': ...}}}} says which they are."
            raise error.replace(hint=hint) from None
        if not codes:
            raise InputError(f"{name}: there are no rows")
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
        columns_of_input = {name: columns.get(name) or {} for name in inputs}
        if "train" in inputs:
            pairs = self.codes.read_pairs(inputs["train"], "train", columns.get("train"))
            self._pairs["train"] = (*pairs, None)
        if "qrels" in inputs:
            duplicates = judging.duplicates
            self.qrels = make_qrels(inputs["qrels"], "strict", columns.get("qrels"), duplicates)
            pairs = self.codes.read_pairs(self.qrels, "qrels", None)
            self._pairs["qrels"] = (*pairs, self.qrels.grade)
        if "items" in inputs:
            ids, self._categories, is_split = read_categories(
                inputs["items"], columns_of_input["items"]
            )
            self._items["items"] = self.codes.items.number(ids)
            self.notes += [Note("categories", "info", "Categories are split at |.")] * is_split
        if "embeddings" in inputs:
            ids, self._vectors = read_vectors(inputs["embeddings"], columns_of_input["embeddings"])
            self._items["embeddings"] = self.codes.items.number(ids)
        if "catalogue" in inputs:
            catalogue = read_catalogue(inputs["catalogue"], columns_of_input["catalogue"])
            if isinstance(catalogue, int):
                self.catalogue = catalogue
            else:
                self._items["catalogue"] = self.codes.items.number(catalogue)
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

    def make_facts(self, runs: Collection[tuple[Ints, Ints, Ints]]) -> Facts:
        """Return what is known beside the lists of runs, which `Codes.read_lists` returned.

        Raises OptionError for a catalogue that is a number smaller than the items seen.
        """
        from scipy.sparse import csr_array

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
        categories = vectors = None
        if "items" in self._items:
            rows = self._items["items"]
            shape = len(ids), len(rows)
            categories = csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=shape)
            categories = categories @ self._categories
            categories.data[:] = 1  # of an item that has two rows
        if "embeddings" in self._items:
            vectors = np.zeros((len(ids), self._vectors.shape[1]), self._vectors.dtype)
            items, counts = np.unique(self._items["embeddings"], return_counts=True)
            if len(items) < len(self._vectors):
                text = ids.take(items[[np.argmax(counts)]]).to_texts()[0]
                raise InputError(f"embeddings: the item {text!r:.80} has more than one vector")
            vectors[self._items["embeddings"]] = self._vectors
            del self._vectors  # they may be large
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
            vectors /= np.where(lengths > 0, lengths, 1)[:, None].astype(vectors.dtype)
        numbers = None if self.catalogue else in_catalogue, self.catalogue or n_items
        return Facts(ids, pairs, is_expected, *numbers, categories, vectors)


# ---- small tables: a row for each item ----------------------------------------------------------

_ITEM = (*NAMES["doc"], "id", "_id")


class ItemColumn(NamedTuple):
    """The items of a table, and the cells of another column as an array of Arrow."""

    ids: Ids
    cells: Any  # pa.Array
    name: str

    @property
    def lengths(self) -> Ints:
        """The lengths of the lists in the cells, 0 of a missing list: (items,)."""
        lengths: Ints = self.cells.value_lengths().to_numpy(zero_copy_only=False)
        return np.nan_to_num(lengths).astype(np.int64)


def read_items(data: Any, name: str, role: str, columns: Mapping[str, Any]) -> ItemColumn:
    """Return the items of a table, and the column of a role; an empty role: the items alone.

    `name` is that of the input, in `columns` and in errors. Raises InputError where it is unclear
    which column is meant.
    """
    import pyarrow as pa

    source = Source(data) if isinstance(data, str | os.PathLike) else None
    format_name = source and detect_columnar_format(source, source.read_start(4096))
    data = read_columnar_file(source, format_name) if source and format_name else data
    form = TableForm(
        f"the {name}", ("doc_id", role), _ITEM, bare_description=f"an item and {role},"
    )
    if is_table(data):
        arrow = arrow_table(data, form.title)
        head = Table(form.title, arrow.column_names, [])
        position, role_column = _choose_columns(head, name, role, columns)
        ids, cells = arrow.column(position), arrow.column(role_column).combine_chunks()
        if pa.types.is_integer(ids.type) or not (pa.types.is_primitive(ids.type) or ids.null_count):
            texts = ids.cast(pa.large_string()).combine_chunks()
            return ItemColumn(
                Ids.of_arrow(texts.view(pa.large_binary())), cells, head.names[role_column]
            )
    table: Any = read_table(data, form)
    if not isinstance(table, Table):  # {item: cell}
        members = [[*table.members], [*table.members.values()]]
        table = Table(table.name, ("doc_id", role), members)
    position, role_column = _choose_columns(table, name, role, columns)
    texts = [table.read_id(row, cell) for row, cell in enumerate(table.columns[position])]
    lists = [_to_list(cell) if role == "category" else cell for cell in table.columns[role_column]]
    try:
        cells = pa.array(lists) if role else pa.nulls(len(lists))
    except (pa.ArrowException, TypeError) as error:
        raise table.row_error(None, f"{table.names[role_column]}: {error!s:.200}") from None
    return ItemColumn(Ids.of_texts(texts), cells, table.names[role_column])


def _choose_columns(
    table: Table, name: str, role: str, columns: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the positions of the column of items, and of that of a role, if it is not empty."""
    doc_column = columns.get("doc_id")
    position = (
        table.names.index(doc_column) if doc_column in table.names else table.find_column(_ITEM)
    )
    column_pairs = table.other_columns([] if position is None else [position])
    role_column = [i for i, column in column_pairs if columns.get(role, column) == column]
    if position is None or (role and len(role_column) != 1):
        option = ", --category NAME" * (role == "category")
        problem = f"which column is which: {', '.join(table.names):.200}"
        hint = f"columns={{{name!r}: {{'doc_id': ..., {role!r}: ...}}}}{option}."
        raise table.row_error(None, problem, hint)
    return position, role_column[0] if role else position


def _to_list(cell: Any) -> list[str]:
    """Return the categories of a cell, a list or a text, as texts."""
    parts = [cell] if isinstance(cell, str) or not hasattr(cell, "__iter__") else cell
    return ["" if part is None or part != part else str(part) for part in parts]


def read_categories(data: Any, columns: Mapping[str, Any]) -> tuple[Ids, Any, bool]:
    """Return items, a sparse matrix of their categories, of ones, and whether | parted texts."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy.sparse import csr_array

    column = read_items(data, "items", "category", columns)
    if not pa.types.is_nested(column.cells.type):
        lists = pc.split_pattern(pc.cast(column.cells, pa.large_string()), "\0")
        column = column._replace(cells=lists)
    texts = column.cells.flatten().cast(pa.large_string())
    parts = pc.split_pattern(texts.fill_null(""), "|")
    n_parts = parts.value_lengths().to_numpy(zero_copy_only=False)
    names = pc.utf8_trim_whitespace(parts.flatten()).dictionary_encode()
    item_code = np.repeat(np.repeat(np.arange(len(column.ids)), column.lengths), n_parts)
    code, labels = names.indices.to_numpy(zero_copy_only=False), names.dictionary.to_pylist()
    shape = len(column.ids), len(labels)
    matrix = csr_array((np.ones(len(item_code)), (item_code, code)), shape=shape)
    matrix = matrix[:, [i for i, label in enumerate(labels) if label]]
    matrix.data[:] = 1  # of a category that a cell has twice
    return column.ids, matrix, bool((n_parts > 1).any())


def read_vectors(data: Any, columns: Mapping[str, Any]) -> tuple[Ids, Floats]:
    """Return items and their vectors, (items, n), in the type given; others in doubles."""
    if kind_of(data) == "tuple" and len(data) == 2:
        ids = Ids.of_texts([to_id_text(key, "embeddings") for key in to_list(data[0])])
        matrix = np.asarray(data[1])
        if matrix.ndim != 2 or len(matrix) != len(ids):
            problem = f"{len(ids)} ids beside a matrix of shape {matrix.shape}"
            raise InputError(f"embeddings: {problem}: expected a row for each id")
    else:
        ids, cells, name = column = read_items(data, "embeddings", "vector", columns)
        lengths = column.lengths
        if len(wrong := np.flatnonzero(lengths != lengths[0])):
            row = int(wrong[0])
            problem = (
                f"row {row}: expected {lengths[0]} numbers as in the first, got {lengths[row]}"
            )
            raise InputError(f"embeddings: {name}: {problem}")
        matrix = cells.flatten().to_numpy(zero_copy_only=False).reshape(len(ids), -1)
    matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    is_finite = np.isfinite(matrix.sum(axis=1))
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        text = ids.take(slice(row, row + 1)).to_texts()[0]
        raise InputError(f"embeddings: row {row}: the vector of {text!r:.80} has NaN or infinity")
    return ids, matrix


def read_catalogue(data: Any, columns: Mapping[str, Any]) -> int | Ids:
    """Return the number of items, or their ids."""
    if is_whole_number(data) or (isinstance(data, str) and data.isdecimal()):
        if int(data) < 1:
            raise OptionError(f"catalogue={data}: expected how many items there are, or their ids")
        return int(data)
    is_path = isinstance(data, str | os.PathLike)
    if not is_path and kind_of(data) not in ("table", "dict"):
        return Ids.of_texts([to_id_text(key, "catalogue") for key in to_list(data)])
    role_and_ids = read_id_list(data) if is_path else None
    if role_and_ids is not None:
        return Ids.of_texts(role_and_ids[1])
    return read_items(data, "catalogue", "", columns).ids
