"""Facts: what is known beside the lists of runs. Users and items are numbered alike everywhere."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, encode_ids
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.slots import PairIndex, number_pairs
from cranfield.data.judging import Judging
from cranfield.data.meeting import describe_left_out
from cranfield.data.named_ids import read_named_queries
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.data.run import Run, make_run
from cranfield.errors import InputError, OptionError
from cranfield.extensions.lists.item_tables import (
    ItemCategories,
    read_catalogue,
    read_categories,
    read_vectors,
)
from cranfield.formats import read_rows
from cranfield.formats.block import Errors, FaultyRows
from cranfield.formats.columns import Side
from cranfield.notes import Note
from cranfield.options import Options, is_whole_number, option


def _check_catalogue(value: Any) -> Any:
    """Return a number of items as an int, ids unchanged."""
    is_number = is_whole_number(value) or (isinstance(value, str) and value.isdecimal())
    if is_number and int(value) < 1:
        raise ValueError("how many items there are, or their ids")
    return int(value) if is_number else value


@dataclass(frozen=True, kw_only=True)
class ListInputs(Options):
    """What measures of lists need beside the lists."""

    train: Any = option(None, "What users had before: a user and an item in a row.")
    items: Any = option(
        None, "The categories of items: a table of items and categories, or a dict {item: ...}."
    )
    category: str | None = option(None, "The column of categories in the table of items.")
    embeddings: Any = option(
        None, "A vector of each item: a table with a column of lists, a dict, or (ids, matrix)."
    )
    catalogue: Any = option(
        None,
        "All items there are: their number, or ids.  [default: the items of categories, else of "
        "train]",
        _check_catalogue,
    )
    users: Any = option(
        None, "All users there are, for UserCoverage.  [default: those of qrels, else of train]"
    )
    base: Any = option(None, "Another run, for Unexpectedness.")
    qrels: Any = option(None, "Judgments, for Serendipity and for measures of judged documents.")


class Numbering:
    """Numbers ids from 0 on, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._indices: list[PairIndex] = []  # each of so many ids that there are few

    @property
    def n_ids(self) -> int:
        """The number of ids."""
        return sum(len(index.ids) for index in self._indices)

    @property
    def ids(self) -> Ids:
        """The ids, in the order of their numbers."""
        return Ids.concatenate([index.ids for index in self._indices])

    def number(self, ids: Ids) -> Ints:
        """Return the number of each id, a new one for an id that is new: (ids,)."""
        number, hashes, first = np.full(len(ids), -1), ids.hash(), 0
        rows = np.arange(len(ids))  # without a number yet
        for index in self._indices:
            groups = np.zeros(len(rows), np.int64)
            keys = pair_keys(hashes[rows], groups)
            position, own_row = index.find(groups, ids.take(rows), keys)
            number[rows[position]] = first + own_row
            first, rows = first + len(index.ids), rows[number[rows] < 0]
        new_ids = ids.take(rows)
        first_rows, position = number_pairs(np.zeros(len(rows), np.int64), new_ids)
        number[rows] = first + position
        new_ids = new_ids.take(first_rows).compact()
        while self._indices and len(self._indices[-1].ids) < 2 * len(new_ids):
            new_ids = Ids.concatenate([self._indices.pop().ids, new_ids])
        if len(new_ids):
            self._indices.append(PairIndex(np.zeros(len(new_ids), np.int64), new_ids))
        return number


ITEM_BITS = 0xFFFFFFFF  # of the key of a pair


class Pairs(NamedTuple):
    """Distinct pairs of a user and an item, ascending by `key`, with a number each: (pairs,)."""

    key: Ints  # user << 32 | item
    number: Numbers

    @classmethod
    def of(cls, user: Ints, item_code: Ints, number: Numbers | None = None) -> "Pairs":
        """Return the distinct pairs; the number of a pair is how often it occurs, or its first."""
        key = user << 32 | item_code
        if number is None:
            return cls(*np.unique(key, return_counts=True))
        key, first_row = np.unique(key, return_index=True)
        return cls(key, number[first_row])

    @property
    def item_code(self) -> Ints:
        """The item of each pair."""
        return self.key & ITEM_BITS

    @property
    def user(self) -> Ints:
        """The user of each pair."""
        return self.key >> 32

    def find_users(self, user: Ints) -> tuple[Ints, Ints]:
        """Return the first row, and the number of rows, of each user: (users,), (users,)."""
        starts, ends = self.key.searchsorted(np.stack((user, user + 1)) << 32)
        return starts, ends - starts

    def look_up(self, user: Ints, item_code: Ints) -> Floats:
        """Return the number of each pair of a user and an item, NaN of another pair: (rows,)."""
        key = user << 32 | item_code
        position = self.key.searchsorted(key)
        is_pair = np.append(self.key, -1)[position] == key
        return np.where(is_pair, np.append(self.number, 0)[position], np.nan)


class RunRows(NamedTuple):
    """The lists of a run: users, where each list begins, (users + 1,), items, best rank first."""

    user: Ints
    starts: Ints
    item_code: Ints
    notes: Sequence[Note]


class Facts:
    """What is known beside the lists of runs. Tables have a row for each item, by its number.

    `pairs` are those of "train" (how often), "qrels" (grades) and "base" (ranks), `codes_of_input`
    the items of other inputs, as far as given; `rows_of_run` the lists of each run.
    """

    qrels: Qrels | None = None
    categories: Any = None  # sparse (n_items, n_categories), of ones
    in_catalogue: Bools | None = None  # (n_items,); None: the catalogue is a number
    _item_categories: ItemCategories
    _vectors: Floats  # (n_vectors, n), as they were given

    def __init__(
        self,
        runs: Mapping[str, Run],
        inputs: ListInputs,
        columns: Mapping[str, Any],
        judging: Judging,
        depth: int | None = None,
        errors: Errors = "strict",
    ) -> None:
        """Read the inputs, and the first `depth` items of each list, None: all.

        `columns` are those stated for an input. Raises OptionError for a catalogue that is a number
        smaller than the items of runs and train.
        """
        self._users, self._items, self._tables = Numbering(), Numbering(), dict[Any, Numbers]()
        self._judging, self._errors, self._category = judging, errors, inputs.category
        self.notes = list[Note]()
        self.pairs, self.codes_of_input = dict[str, Pairs](), dict[str, Ints]()
        n_stated = inputs.catalogue if isinstance(inputs.catalogue, int) else None
        if inputs.train is not None:
            self._read_train(inputs.train, columns.get("train"))
        self.rows_of_run = {
            name: self._read_lists(run, depth, numbers_all=n_stated is not None)
            for name, run in runs.items()
        }
        n_seen = self._items.n_ids
        if n_stated is not None and n_stated < n_seen:
            seen_text = "runs and train have" if "train" in self.pairs else "runs have"
            raise OptionError(f"the catalogue has {n_stated:,} items, {seen_text} {n_seen:,}")
        for name in ("qrels", "base", "items", "embeddings", "catalogue", "users"):
            data = getattr(inputs, name)
            if data is not None and not (name == "catalogue" and n_stated is not None):
                getattr(self, f"_read_{name}")(data, columns.get(name))
        self.user_ids, self.item_ids = self._users.ids, self._items.ids
        self._arrange_tables(n_stated)

    # ---- how inputs are read --------------------------------------------------------------------

    def _read_train(self, data: Any, columns: Any) -> None:
        """Read interactions: judgments, a run, or data of any other kind."""
        if isinstance(data, Qrels):
            self.pairs["train"] = Pairs.of(*self._number_judgments(data))
            return
        is_path = isinstance(data, str | os.PathLike)
        options: Any = {"columns": columns, "errors": self._errors, "is_path": is_path}
        codes, left_out = [], FaultyRows()
        try:
            rows = data.rows if isinstance(data, Run) else None
            rows = rows or read_rows(data, Side.EXCLUDED, **options)
            for block in (load() for load in rows.blocks((), self._errors)):
                codes.append((self._users.number(block.query), self._items.number(block.doc)))
                left_out += block.left_out
        except InputError as error:
            source = error.source and error.source.replace("the exclusions", "train")
            hint = error.hint
            if "excluded_ids" in (hint or ""):
                hint = "columns={'train': {'query_id': ..., 'doc_id': ...}} says which they are."
            raise error.replace(hint=hint, source=source) from None
        if not codes:
            raise InputError("holds no rows", source="train")
        users, items = (np.concatenate(column) for column in zip(*codes, strict=True))
        self.pairs["train"] = Pairs.of(users, items)
        self.notes += describe_left_out("train", left_out)

    def _number_judgments(self, qrels: Qrels) -> tuple[Ints, Ints]:
        """Return the users and the items of judgments: (rows,), (rows,)."""
        users = self._users.number(encode_ids(qrels.query_ids))
        return users[qrels.query], self._items.number(qrels.docs)

    def _read_qrels(self, data: Any, columns: Any) -> None:
        duplicates = self._judging.duplicates
        self.qrels = qrels = make_qrels(data, self._errors, columns, duplicates)
        self.pairs["qrels"] = Pairs.of(*self._number_judgments(qrels), qrels.grade)
        self.notes += describe_left_out("the qrels", qrels.left_out, qrels.repeats, duplicates)

    def _read_base(self, run: Run, _: Any) -> None:
        rows = self._read_lists(run, None)
        lengths = np.diff(rows.starts)
        rank = consecutive_numbers(1, lengths)
        self.pairs["base"] = Pairs.of(np.repeat(rows.user, lengths), rows.item_code, rank)
        self.notes += [note.add_source("base") for note in rows.notes]

    def _read_items(self, data: Any, columns: Any) -> None:
        self._item_categories = item_categories = read_categories(data, columns, self._category)
        self.codes_of_input["items"] = self._items.number(item_categories.ids)
        if item_categories.is_split:
            self.notes.append(Note("categories", "info", "Categories are split at |."))

    def _read_embeddings(self, data: Any, columns: Any) -> None:
        ids, self._vectors = read_vectors(data, columns)
        self.codes_of_input["embeddings"] = items = self._items.number(ids)
        first_rows = np.unique(items, return_index=True)[1]
        if len(first_rows) < len(items):
            row = np.setdiff1d(np.arange(len(items)), first_rows)[:1]
            text = f"the item {ids.take(row).to_texts()[0]!r:.80} has more than one vector"
            raise InputError(text, source="embeddings")

    def _read_catalogue(self, data: Any, columns: Any) -> None:
        self.codes_of_input["catalogue"] = self._items.number(read_catalogue(data, columns))

    def _read_users(self, data: Any, columns: Any) -> None:
        ids = read_named_queries(data, make_run, columns).ids
        self.codes_of_input["users"] = self._users.number(ids)

    def _read_lists(self, run: Run, depth: int | None, *, numbers_all: bool = False) -> RunRows:
        """Return the first `depth` items of each list; `numbers_all`: the others are numbered, too.

        Raises InputError for a run without users.
        """
        judging, left_out, repeats = self._judging, FaultyRows(), FaultyRows()

        def number_blocks(
            grouped_blocks: Callable[[], Iterable[GroupedBlock]],
        ) -> list[tuple[Ints, Ints, Ints]]:
            nonlocal left_out, repeats
            left_out, repeats, parts = FaultyRows(), FaultyRows(), []
            for grouped_block in grouped_blocks():
                left_out += grouped_block.block.left_out
                repeats += grouped_block.repeats
                parts.append(self._number_block(grouped_block, depth, numbers_all))
            return parts

        order = run.resolve_order(judging.order)
        parts = run.read_whole_queries(() if order == "given" else (order,), judging, number_blocks)
        notes = [*describe_left_out("the run", left_out, repeats, judging.duplicates)]
        if not any(len(users) for users, _, _ in parts):
            hint = notes[0].text if notes else None
            raise InputError(
                f"the run {run.name!r:.80} holds no user", source=run.source, hint=hint
            )
        users, lengths, items = (np.concatenate(column) for column in zip(*parts, strict=True))
        return RunRows(users, np.append(0, np.cumsum(lengths)), items, notes)

    def _number_block(
        self, grouped_block: GroupedBlock, depth: int | None, numbers_all: bool
    ) -> tuple[Ints, Ints, Ints]:
        """Return the users of a block, the lengths of their lists, and the items, best first."""
        rank, block = rank_documents(grouped_block, self._judging).rank, grouped_block.block
        rows = np.flatnonzero(rank <= (depth or len(rank)))
        if numbers_all:
            codes = self._items.number(block.doc)[rows]
        else:
            codes = self._items.number(block.doc.take(rows))
        rank, group = rank[rows], grouped_block.group[rows]
        lengths = np.bincount(group, minlength=len(grouped_block.queries))
        items = np.empty(len(rows), np.int32)
        items[(np.cumsum(lengths) - lengths)[group] + rank - 1] = codes
        empty_queries = Ids.of([*block.empty_queries])
        users = self._users.number(Ids.concatenate([grouped_block.queries, empty_queries]))
        return users, np.append(lengths, np.zeros(len(empty_queries), np.int64)), items

    # ---- what is known of users and items, by their numbers --------------------------------------

    def _arrange_tables(self, n_stated: int | None) -> None:
        """Make the tables of all users and items, once these have numbers."""
        n_items, codes = len(self.item_ids), self.codes_of_input
        users = codes.get("users")
        for name in ("qrels", "train"):
            users = self.pairs[name].user if users is None and name in self.pairs else users
        if users is None:
            users = np.concatenate([rows.user for rows in self.rows_of_run.values()])
        self.is_expected = np.zeros(len(self.user_ids), np.bool_)  # whether it should have a list
        self.is_expected[users] = True
        if n_stated is None:
            no_items = self.pairs["train"].item_code if "train" in self.pairs else []
            self.in_catalogue = np.zeros(n_items, np.bool_)
            self.in_catalogue[codes.get("catalogue", codes.get("items", no_items))] = True
        self.n_catalogue = n_stated or int(np.count_nonzero(self.in_catalogue))
        if "items" in codes:
            from scipy.sparse import csr_array

            item_row, category = self._item_categories.item_row, self._item_categories.category
            shape = n_items, int(category.max(initial=-1)) + 1
            pairs = codes["items"][item_row], category
            self.categories = csr_array((np.ones(len(category)), pairs), shape=shape)
            self.categories.data[:] = 1  # of an item that has a category twice
        if "embeddings" in codes:
            length = np.sqrt(np.einsum("ij,ij->i", *[self._vectors] * 2, dtype=np.float64))
            self._scale = np.append(
                np.divide(1, length, np.zeros_like(length), where=length > 0), 0
            )
            self._vector_row = np.full(n_items, -1, np.int32)  # -1: at the 0 of `_scale`
            self._vector_row[codes["embeddings"]] = np.arange(len(length))

    def unit_vectors(self, item_code: Ints) -> Floats:
        """Return the vectors of some items, of length 1, or zeros: (items, n)."""
        row = self._vector_row[item_code]
        unit_vectors: Floats = self._vectors[row] * self._scale[row][:, None]
        return unit_vectors

    def table(self, name: str, *arguments: Any) -> Numbers:
        """Return the table of a name, (n_items,), or a number: it is computed once."""
        if (name, arguments) not in self._tables:
            self._tables[name, arguments] = TABLES[name](self, *arguments)
        return self._tables[name, arguments]


def _find_tail(facts: Facts, by: str, share: float) -> Numbers:
    """Return 1 of items in the tail, 2 of those also that have as many as the last of the head."""
    count, sort_key = facts.table("rows" if by == "items" else "users"), facts.item_ids.sort_keys()
    order = np.lexsort((sort_key if by == "interactions" else ~sort_key, -count))
    order = order[: np.count_nonzero(count)]
    is_head = np.arange(len(order)) < len(order) - max(int(share * len(order)), 1)
    if by == "interactions":
        is_head = np.cumsum(count[order]) - count[order] < (1 - share) * count.sum()
    tail = np.ones(len(count))
    tail[(count > 0) & (count == count[order[is_head][-1:]].sum())] = 2
    tail[order[is_head]] = 0
    return tail


def _rank_popularity(facts: Facts) -> Floats:
    """Return (N + 1 - dense rank by rows) / N of each item, 0 of items that nobody had."""
    count, n = facts.table("rows"), facts.n_catalogue
    levels = np.unique(count[count > 0])
    return np.where(count > 0, (n + 1 - len(levels) + levels.searchsorted(count)) / n, 0)


def _share_below(facts: Facts) -> Floats:
    """Return the mean rank of each item by its users, as a share of the items of train."""
    count = facts.table("users")
    n_of_count = np.bincount(count)
    n_of_count[0] = 0
    mean_rank = np.cumsum(n_of_count) - (n_of_count - 1) / 2
    mean_rank[0] = 0
    return mean_rank[count] / max(int(n_of_count.sum()), 1)


def _count_pairs(facts: Facts, weight: Numbers | None = None) -> Ints:
    """Count the pairs of train of each item, or add up their weights: (n_items,)."""
    items = facts.pairs["train"].item_code
    return np.bincount(items, weight, len(facts.item_ids)).astype(np.int64)


TABLES: Mapping[str, Callable[..., Numbers]] = {
    "rows": lambda facts: _count_pairs(facts, facts.pairs["train"].number),
    "users": _count_pairs,
    "percentile": _share_below,
    "popularity": _rank_popularity,
    "tail": _find_tail,
    "n_categories": lambda facts: np.diff(facts.categories.indptr),
    "users of train": lambda facts: (np.diff(facts.pairs["train"].user, prepend=-1) > 0).sum(),
    "rows of train": lambda facts: facts.pairs["train"].number.sum(),
    "catalogue": lambda facts: np.array(facts.n_catalogue),
    "categories": lambda facts: np.array(facts.categories.shape[1]),
    "has_vector": lambda facts: facts._scale[facts._vector_row] > 0,
}
