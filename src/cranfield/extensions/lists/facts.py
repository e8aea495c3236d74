"""Facts: what is known beside the lists of runs. Users and items are numbered alike everywhere."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    PAIR_SIDE,
    read_catalogue,
    read_categories,
    read_vectors,
)
from cranfield.extensions.lists.user_lists import Lists, count_up
from cranfield.formats import read_rows
from cranfield.formats.block import Errors, FaultyRows
from cranfield.formats.identifiers import is_whole_float
from cranfield.notes import Note
from cranfield.options import Options, is_whole_number, option


def _check_catalogue(value: Any) -> Any:
    """Return a number of items as an int, ids unchanged."""
    is_number = is_whole_number(value) or is_whole_float(value)
    is_number |= isinstance(value, str) and value.isdecimal()
    if (is_number and int(value) < 1) or (isinstance(value, float) and not is_number):
        raise ValueError("how many items there are, or their ids")
    return int(value) if is_number else value


@dataclass(frozen=True, kw_only=True)
class ListInputs(Options):
    """What measures of lists need beside the lists."""

    train: Any = option(None, "What users had before: a user and an item in a row.")
    items: Any = option(
        None, "The categories of items: a table of these, or of 0 and 1 for each; or a dict."
    )
    category: str | None = option(None, "The column of categories in the table of items.")
    embeddings: Any = option(
        None, "A vector of each item: a table of lists, or of numbers; a dict, or (ids, matrix)."
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
    def ids(self) -> Ids:
        """The ids, in the order of their numbers."""
        return Ids.concatenate([index.ids for index in self._indices])

    def number(self, ids: Ids) -> Ints:
        """Return the number of each id, a new one for an id that is new: (ids,)."""
        number, hashes, first = np.full(len(ids), -1), ids.hash(), 0
        rows = np.arange(len(ids))  # without a number yet
        for index in self._indices:
            groups = np.zeros_like(rows)
            position, own_row = index.find(groups, ids.take(rows), pair_keys(hashes[rows], groups))
            number[rows[position]] = first + own_row
            first, rows = first + len(index.ids), rows[number[rows] < 0]
        first_rows, position = number_pairs(np.zeros_like(rows), ids.take(rows))
        number[rows] = first + position
        new_ids = ids.take(rows[first_rows]).compact()
        while self._indices and len(self._indices[-1].ids) < 2 * len(new_ids):
            new_ids = Ids.concatenate([self._indices.pop().ids, new_ids])
        if len(new_ids):
            self._indices.append(PairIndex(np.zeros(len(new_ids), np.int64), new_ids))
        return number


class Pairs(NamedTuple):
    """Distinct pairs of a user and an item, ascending by `key`, with a number each: (pairs,)."""

    key: Ints  # user << 32 | item
    number: Numbers  # how often the pair occurs, or what is stated for it

    @classmethod
    def of(cls, user: Ints, item_code: Ints, number: Numbers | None = None) -> "Pairs":
        """Return the distinct pairs of some rows; `number` is stated for each row: (rows,)."""
        key, first_row, count = np.unique(
            user << 32 | item_code, return_index=True, return_counts=True
        )
        return cls(key, count if number is None else number[first_row])

    @property
    def item_code(self) -> Ints:
        """The item of each pair."""
        return self.key & 0xFFFFFFFF

    @property
    def user(self) -> Ints:
        """The user of each pair."""
        return self.key >> 32

    def take_users(self, user: Ints) -> tuple[Ints, Ints]:
        """Return how many items each user has, (users,), and these items, user after user."""
        starts, ends = self.key.searchsorted(np.stack((user, user + 1)) << 32)
        rows = consecutive_numbers(starts, ends - starts)
        return ends - starts, Pairs(self.key[rows], self.number).item_code

    def look_up(self, user: Ints, item_code: Ints) -> Floats:
        """Return the number of each pair of a user and an item, NaN of another pair: (rows,)."""
        key = user << 32 | item_code
        position = self.key.searchsorted(key)
        is_pair = np.append(self.key, -1)[position] == key
        return np.where(is_pair, np.append(self.number, 0)[position], np.nan)


class Facts:
    """What is known beside the lists of runs. Tables have a row for each item, by its number.

    `lists` are those of each run; `pairs` those of "train" (how often), "qrels" (grades) and "base"
    (ranks), `codes` the items, or users, of other inputs, as far as given.
    """

    qrels: Qrels | None = None
    categories: Any = None  # sparse (n_items, n_categories), of ones
    in_catalogue: Bools | None = None  # (n_items,); None: the catalogue is a number

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
        self._judging, self._errors, self.notes = judging, errors, list[Note]()
        self.pairs, self.codes = dict[str, Pairs](), dict[str, Ints]()
        n_stated = inputs.catalogue if isinstance(inputs.catalogue, int) else 0
        vectors = None  # read first, as that takes much memory
        if inputs.embeddings is not None:
            vectors = read_vectors(inputs.embeddings, columns.get("embeddings"), self.notes)
        if inputs.train is not None:
            self._read_train(inputs.train, columns.get("train"))
        self.lists, self.notes_of_run = dict[str, Lists](), dict[str, Sequence[Note]]()
        for name, run in runs.items():
            self.lists[name], self.notes_of_run[name] = self._read_lists(run, depth)
        if 0 < n_stated < (n_seen := len(self._items.ids)):
            seen_text = "runs and train have" if "train" in self.pairs else "runs have"
            raise OptionError(f"the catalogue has {n_stated:,} items, {seen_text} {n_seen:,}")
        if inputs.qrels is not None:
            self.qrels = make_qrels(inputs.qrels, errors, columns.get("qrels"), judging.duplicates)
            self._read_judgments("qrels", self.qrels, self.qrels.grade)
        if inputs.base is not None:
            base, notes = self._read_lists(inputs.base, None)
            users, rank = np.repeat(base.user, base.lengths), consecutive_numbers(1, base.lengths)
            self.pairs["base"] = Pairs.of(users, base.item_code, rank)
            self.notes += [note.add_source("base") for note in notes]
        if inputs.users is not None:
            ids = read_named_queries(inputs.users, make_run, columns.get("users")).ids
            self.codes["users"] = self._users.number(ids)
        if inputs.catalogue is not None and not n_stated:
            ids = read_catalogue(inputs.catalogue, columns.get("catalogue"))
            self.codes["catalogue"] = self._items.number(ids)
        if vectors is not None:
            self.codes["embeddings"] = self._items.number(vectors[0])
        if inputs.items is not None:
            item_columns, stated_column = columns.get("items"), inputs.category
            categories = read_categories(inputs.items, item_columns, stated_column, self.notes)
            self.codes["items"] = self._items.number(categories[0])
        self.user_ids, self.item_ids = self._users.ids, self._items.ids
        if vectors is not None:
            self._take_vectors(*vectors)
        if inputs.items is not None:
            self._take_categories(*categories[1:])
        self._complete_lists()
        self.n_catalogue = n_stated
        if not n_stated:
            codes: Any = self.pairs["train"].item_code if "train" in self.pairs else []
            codes = self.codes.get("catalogue", self.codes.get("items", codes))
            self.in_catalogue = np.zeros(len(self.item_ids), np.bool_)
            self.in_catalogue[codes] = True
            self.n_catalogue = int(np.count_nonzero(self.in_catalogue))

    # ---- how inputs are read ---------------------------------------------------------------------

    def _read_train(self, data: Any, columns: Any) -> None:
        """Read interactions: judgments, a run, or data of any other kind."""
        if isinstance(data, Qrels):
            self._read_judgments("train", data, None)
            return
        is_path = isinstance(data, str | os.PathLike)
        options: Any = {"columns": columns, "errors": self._errors, "is_path": is_path}
        codes, left_out = [], FaultyRows()
        try:
            rows = data.rows if isinstance(data, Run) else None
            rows = rows or read_rows(data, PAIR_SIDE, **options)
            for block in (load() for load in rows.blocks((), self._errors)):
                codes.append((self._users.number(block.query), self._items.number(block.doc)))
                left_out += block.left_out
        except InputError as error:
            hint, source = (
                error.hint,
                error.source and error.source.replace(PAIR_SIDE.name_in_errors, "train"),
            )
            if "excluded_ids" in (hint or ""):
                hint = "columns={'train': {'query_id': ..., 'doc_id': ...}} says which they are."
            raise error.replace(hint=hint, source=source) from None
        if not codes:
            raise InputError("holds no rows", source="train")
        users, items = (np.concatenate(column) for column in zip(*codes, strict=True))
        self.pairs["train"] = Pairs.of(users, items)
        self.notes += describe_left_out("train", left_out)

    def _read_judgments(self, name: str, qrels: Qrels, number: Numbers | None) -> None:
        """Read the pairs of judgments."""
        users = self._users.number(encode_ids(qrels.query_ids))[qrels.query]
        self.pairs[name] = Pairs.of(users, self._items.number(qrels.docs), number)
        side = "the qrels" if name == "qrels" else name
        self.notes += describe_left_out(side, qrels.left_out, qrels.repeats, qrels.duplicates)

    def _take_categories(self, row: Ints, category: Ints) -> None:
        """Take the categories of items: pairs of a row of their table and a category."""
        from scipy.sparse import csr_array

        shape = len(self.item_ids), int(category.max(initial=-1)) + 1
        pairs = self.codes["items"][row], category
        self.categories = csr_array((np.ones(len(row)), pairs), shape=shape)
        self.categories.data[:] = 1  # of an item that has a category twice

    def _take_vectors(self, ids: Ids, vectors: Floats) -> None:
        """Take the vectors of items, as they are, and the factors that scale them."""
        items, self._vectors = self.codes["embeddings"], vectors
        self._vector_row = np.full(len(self.item_ids), -1, np.int32)  # -1: where the scale is 0
        self._vector_row[items] = np.arange(len(items))
        if (repeated_rows := np.flatnonzero(self._vector_row[items] != np.arange(len(items)))).size:
            text = ids.take(repeated_rows[:1]).to_texts()[0]
            problem = f"the item {text!r:.80} has more than one vector"
            raise InputError(problem, source="embeddings")
        length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        scale = np.divide(1, length, np.zeros_like(length), where=length > 0)
        self._scale = np.append(scale, 0)

    def _read_lists(self, run: Run, depth: int | None) -> tuple[Lists, Sequence[Note]]:
        """Return the first `depth` items of each list, and notes on rows that were left out.

        The items below have numbers, too. Raises InputError for a run without users.
        """

        def number_blocks(
            grouped_blocks: Callable[[], Iterable[GroupedBlock]],
        ) -> list[tuple[Ints, Ints, Ints, FaultyRows, FaultyRows]]:
            return [
                (*self._number_block(group, depth), group.block.left_out, group.repeats)
                for group in grouped_blocks()
            ]

        judging, order = self._judging, run.resolve_order(self._judging.order)
        parts = run.read_whole_queries(() if order == "given" else (order,), judging, number_blocks)
        left_out = sum((part[3] for part in parts), FaultyRows())
        repeats = sum((part[4] for part in parts), FaultyRows())
        if not any(len(users) for users, *_ in parts):
            hint = f"{left_out.describe('the run')}." if left_out.count else None
            problem = f"the run {run.name!r:.80} holds no user"
            raise InputError(problem, source=run.source, hint=hint)
        notes = [*describe_left_out("the run", left_out, repeats, judging.duplicates)]
        users, lengths, items = (np.concatenate([part[i] for part in parts]) for i in range(3))
        return Lists(users, count_up(lengths), items, self), notes

    def _number_block(
        self, grouped_block: GroupedBlock, depth: int | None
    ) -> tuple[Ints, Ints, Ints]:
        """Return the users of a block, the lengths of their lists, and the items, best first."""
        block, rank = grouped_block.block, rank_documents(grouped_block, self._judging).rank
        rows = np.flatnonzero(rank <= (depth or len(rank)))
        group, empty_queries = grouped_block.group[rows], Ids.of([*block.empty_queries])
        users = self._users.number(Ids.concatenate([grouped_block.queries, empty_queries]))
        lengths = np.bincount(group, minlength=len(users))
        items = np.empty(len(rows), np.int32)
        items[count_up(lengths)[group] + rank[rows] - 1] = self._items.number(block.doc)[rows]
        return users, lengths, items

    # ---- what is known of users and items, by their numbers --------------------------------------

    def _complete_lists(self) -> None:
        """Give each run an empty list of each user who should have a list and has none.

        `users` should, else the users of qrels, of train or of all runs. The users of qrels have
        values of judged measures in any case.
        """
        codes = [self.codes["users"]] if "users" in self.codes else []
        codes += [self.pairs[name].user for name in ("qrels", "train") if name in self.pairs]
        codes += [np.concatenate([lists.user for lists in self.lists.values()])]
        self.is_expected = np.zeros(len(self.user_ids), np.bool_)
        self.is_expected[codes[0]] = True
        judged_users = self.pairs["qrels"].user if "qrels" in self.pairs else codes[0][:0]
        users = np.union1d(np.flatnonzero(self.is_expected), judged_users)
        for name, lists in self.lists.items():
            all_users = np.append(lists.user, np.setdiff1d(users, lists.user))
            lengths = np.zeros_like(all_users)
            lengths[: len(lists.user)] = lists.lengths
            all_lists = replace(lists, user=all_users, starts=count_up(lengths))
            order = self.user_ids.take(all_users).sort_keys().argsort()
            self.lists[name] = all_lists.take_users(order)

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
