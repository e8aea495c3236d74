"""Lists: what measures of lists receive, users' lists of items, and what is known of these."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from cranfield.arrays.elementary import log2, powers
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.trace import Recordable, step_method
from cranfield.lazy import cached_property

_Method = TypeVar("_Method", bound=Callable[..., Any])
MAX_ROWS = 1 << 17  # listed items that measures of users look at together, on average


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs of a user and an item, ascending by `key`, with a number each: (pairs,)."""

    key: Ints  # user * n_items + item
    number: Numbers
    n_items: int

    @classmethod
    def of(
        cls, user: Ints, item_code: Ints, n_items: int, number: Numbers | None = None
    ) -> "Pairs":
        """Return the distinct pairs; the number of a pair is how often it occurs, or is given."""
        key = user * np.int64(n_items) + item_code
        if number is None:
            return cls(*np.unique(key, return_counts=True), n_items)
        key, first_row = np.unique(key, return_index=True)
        return cls(key, number[first_row], n_items)

    @cached_property
    def item_code(self) -> Ints:
        """The item of each pair."""
        return self.key % max(self.n_items, 1)

    @cached_property
    def user(self) -> Ints:
        """The user of each pair."""
        return self.key // max(self.n_items, 1)

    def look_up(self, user: Ints, item_code: Ints) -> Floats:
        """Return the number of each pair of a user and an item, NaN of another pair: (rows,)."""
        key = user * np.int64(self.n_items) + item_code
        position = self.key.searchsorted(key)
        is_pair = np.append(self.key, -1)[position] == key
        return np.where(is_pair, np.append(self.number, 0)[position], np.nan)


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known beside the lists. Tables have a row for each item, by its code.

    `pairs` are those of "train" (how often), "qrels" (grades) and "base" (ranks), as far as given.
    `in_catalogue` is None for a catalogue that is a number.
    """

    items: Ids
    pairs: Mapping[str, Pairs]
    is_expected: Bools  # (n_users,) whether a user should have a list
    in_catalogue: Bools | None = None
    n_catalogue: int = 0
    categories: Any = None  # sparse (n_items, n_categories), of ones
    vectors: Floats | None = None  # (n_items, n), of length 1, or zeros
    cache: dict[Any, Any] = field(default_factory=dict)

    def table(self, name: str, *arguments: Any) -> Numbers:
        """Return the table of a name, (n_items,), or a number: it is computed once."""
        if (name, arguments) not in self.cache:
            self.cache[name, arguments] = TABLES[name](self, *arguments)
        table: Numbers = self.cache[name, arguments]
        return table

    @cached_property
    def history(self) -> Any:
        """The distinct items of each user of train as a sparse matrix of ones."""
        from scipy.sparse import csr_array

        train = self.pairs["train"]
        shape = len(self.is_expected), len(self.items)
        return csr_array((np.ones(len(train.key)), (train.user, train.item_code)), shape=shape)


def _find_tail(facts: Facts, by: str, share: float) -> Numbers:
    """Return 1 of items in the tail, 2 of those also that have as many as the last of the head."""
    count, ids = facts.table("rows" if by == "items" else "users"), facts.items
    order = np.lexsort((ids.sort_keys() if by == "interactions" else ~ids.sort_keys(), -count))
    order = order[: np.count_nonzero(count)]
    is_head = np.arange(len(order)) < len(order) - max(int(share * len(order)), 1)
    if by == "interactions":
        is_head = np.cumsum(count[order]) - count[order] < (1 - share) * count.sum()
    tail = np.ones(len(count))
    tail[(count == count[order[is_head]].min(initial=len(count))) & (count > 0)] = 2
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


def _count_pairs(facts: Facts, with_repeats: bool) -> Ints:
    train = facts.pairs["train"]
    weight = train.number if with_repeats else None
    return np.bincount(train.item_code, weight, len(facts.items)).astype(np.int64)


TABLES: Mapping[str, Callable[..., Numbers]] = {
    "rows": lambda facts: _count_pairs(facts, True),
    "users": lambda facts: _count_pairs(facts, False),
    "percentile": _share_below,
    "popularity": _rank_popularity,
    "tail": _find_tail,
    "n_categories": lambda facts: np.diff(facts.categories.indptr),
    "users of train": lambda facts: (np.diff(facts.pairs["train"].user, prepend=-1) > 0).sum(),
    "rows of train": lambda facts: facts.pairs["train"].number.sum(),
    "catalogue": lambda facts: np.array(facts.n_catalogue),
    "categories": lambda facts: np.array(facts.categories.shape[1]),
    "has_vector": lambda facts: facts.vectors.any(axis=1),
}


def words(text: str, rows_of: Any = "other") -> Callable[[_Method], _Method]:
    """Make a method a step that `text` describes, with {} for its arguments."""

    def mark(method: _Method) -> _Method:
        method.words = text  # type: ignore[attr-defined]
        return step_method(rows_of)(method)

    return mark


@dataclass(eq=False, repr=False)
class Lists(Recordable):
    """The lists of a run: what a measure of lists receives. It holds no identifier.

    The items of user `i` are `item[starts[i] : starts[i + 1]]`, best rank first; a user may have
    none. `user` (n_users,) are the codes of users, `item` (rows,) those of items.
    """

    user: Ints
    starts: Ints  # (n_users + 1,)
    item_code: Ints
    facts: Facts
    _counts: dict[Any, Numbers] = field(default_factory=dict, repr=False)
    ties = "document"  # these three as of a Judged
    has_groups = False
    has_whole_grades = True

    @cached_property
    def lengths(self) -> Ints:
        """The length of each list: (n_users,)."""
        return np.diff(self.starts)

    @cached_property
    def items(self) -> Ranked:
        """The listed items, with their grades."""
        query, rank = np.repeat(np.arange(len(self.user)), self.lengths), np.zeros(0, np.int64)
        rank = consecutive_numbers(1, self.lengths)
        columns: dict[str, Numbers] = {"item": self.item_code, "user": self.user[query]}
        grade = np.full(len(rank), np.nan)
        if "qrels" in self.facts.pairs:
            grade = self.facts.pairs["qrels"].look_up(columns["user"], self.item_code)
        columns["known"] = ~np.isnan(grade)
        return Ranked(len(self.user), query, rank, np.nan_to_num(grade), columns=columns)

    def take_users(self, rows: Ints | Bools) -> "Lists":
        """Return the lists of some users, by their rows or in a mask."""
        lengths = self.lengths[rows]
        item_code = self.item_code[consecutive_numbers(self.starts[:-1][rows], lengths)]
        return replace(
            self, user=self.user[rows], starts=count_up(lengths), item_code=item_code, _counts={}
        )

    def cut_lists(self, k: Ints | None) -> "Lists":
        """Return the first k items of each list; k is (1, 1), or None: all."""
        if k is None or int(self.lengths.max(initial=0)) <= k[0, 0]:
            return self
        lengths = np.minimum(self.lengths, k[0, 0])
        item_code = self.item_code[consecutive_numbers(self.starts[:-1], lengths)]
        return replace(self, starts=count_up(lengths), item_code=item_code, _counts={})

    def split_users(self) -> "Iterator[tuple[slice, Lists]]":
        """Yield (slice, lists) of some users at a time, whose columns then take little memory."""
        step = max(1, len(self.user) * MAX_ROWS // max(1, len(self.item_code)))
        for begin in range(0, len(self.user), step):
            users = slice(begin, begin + step)
            starts = self.starts[begin : begin + step + 1]
            item_code = self.item_code[starts[0] : starts[-1]]
            yield users, Lists(self.user[users], starts - starts[0], item_code, self.facts)

    def counts(self, k: Ints | None, exposure: str = "none", p: float = 0) -> Numbers:
        """Return the sum of each item's weights in the first k of all lists: (n_items,).

        Items are counted rank by rank, so that the order of users changes no bit.
        """
        key = (None if k is None else int(k[0, 0])), exposure, p
        if key not in self._counts:
            self._counts[key] = self.cut_lists(k)._count_items(exposure, p)
        return self._counts[key]

    def _count_items(self, exposure: str, p: float) -> Numbers:
        n_items = len(self.facts.items)
        if exposure == "none":
            return np.bincount(self.item_code, minlength=n_items)
        counts, ranks = np.zeros(n_items), np.arange(self.lengths.max(initial=0))
        for rank, weight in enumerate(weigh_ranks(ranks + 1, exposure, p).tolist()):
            item_code = self.item_code[self.starts[:-1][self.lengths > rank] + rank]
            counts += np.bincount(item_code, minlength=n_items) * weight
        return counts

    # ---- a value for each item of the lists, or for each list ------------------------------------

    @words("{2} of the item")
    def look_up_items(self, items: Ranked, name: str, *arguments: Any) -> Numbers:
        """Return what a table of the facts has for each item: (rows,)."""
        return self.facts.table(name, *arguments)[items.columns["item"]]

    @words("number in {2}")
    def look_up_pairs(self, items: Ranked, name: str) -> Numbers:
        """Return the number of each pair of user and item, 0 of others: (rows,)."""
        pairs = self.facts.pairs[name]
        return np.nan_to_num(pairs.look_up(items.columns["user"], items.columns["item"]))

    @words("{1}", "same")
    def size(self, name: str) -> Ints:
        """Return how many there are of something, for each list: (n_users, 1)."""
        return np.full((len(self.user), 1), self.facts.table(name))

    @words("whether {1} has the user", "same")
    def has_user(self, name: str) -> Bools:
        """Tell whether some pairs, or those who should have a list, have the user: (n_users, 1)."""
        facts = self.facts
        is_user = facts.is_expected
        if name != "users":
            is_user = np.zeros_like(is_user)
            is_user[facts.pairs[name].user] = True
        return is_user[self.user][:, None]

    def _add_categories(self, items: Ranked, weight: Floats) -> Floats:
        """Add up the weights (rows,) of each list by category: (n_users, n_categories)."""
        from scipy.sparse import csr_array

        shape = items.n_queries, self.facts.categories.shape[0]
        matrix = csr_array((weight, items.columns["item"], items.starts), shape=shape)
        sums: Floats = (matrix @ self.facts.categories).toarray()
        return sums

    def category_shares(self, items: Ranked, weight: Floats) -> Floats:
        """Return the share of each category, an item split equally over its own; or zeros."""
        n_categories = self.facts.table("n_categories")[items.columns["item"]]
        sums = self._add_categories(items, weight / np.maximum(n_categories, 1))
        totals = sums.sum(axis=1, keepdims=True)
        return sums / np.where(totals > 0, totals, 1)

    @words("distinct categories of the list", "same")
    def distinct_categories(self, items: Ranked) -> Ints:
        """Count the categories of each list: (n_users, 1)."""
        sums = self._add_categories(items, np.ones(len(items.query)))
        n_distinct: Ints = np.count_nonzero(sums, axis=1)
        return n_distinct[:, None]

    @words("entropy of the categories of the list", "same")
    def category_entropy(self, items: Ranked) -> Floats:
        """Return the entropy of the categories of each list in bits: (n_users, 1); NaN: none."""
        return bits(self.category_shares(items, np.ones(len(items.query))))

    @words("distance of the categories of the list from those of the history", "same")
    def miscalibration(self, items: Ranked, weight: Floats, distance: str, a: float) -> Floats:
        """Return the distance of the categories of each list from the history's: (n_users, 1).

        NaN where the list, or the history, has no categories.
        """
        history = self.facts.history[self.user]
        had = Lists(self.user, history.indptr, history.indices, self.facts).items
        p, q = self.category_shares(had, history.data), self.category_shares(items, weight)
        if distance == "js":
            return bits((p + q) / 2) - (bits(p) + bits(q)) / 2
        mixture = (1 - a) * q + a * p
        with np.errstate(divide="ignore"):
            terms = p * np.log2(np.where(p > 0, p, 1) / np.where(p > 0, mixture, 1))
        has_both = p.any(axis=1) & q.any(axis=1)
        return np.where(has_both, terms.sum(axis=1), np.nan)[:, None]

    @words("1 - mean cosine to the history")
    def strangeness(self, items: Ranked) -> Floats:
        """Return how unlike the user's history each item is: (rows,); NaN without vectors."""
        from scipy.sparse import csr_array

        history, vectors = self.facts.history[self.user], self.facts.vectors
        assert vectors is not None  # noqa: S101 - `describe` has asked for them
        has_vector, item_code = self.facts.table("has_vector"), items.columns["item"]
        had_items, position = np.unique(history.indices, return_inverse=True)
        shape = len(self.user), len(had_items)
        compact_history = csr_array((history.data, position, history.indptr), shape=shape)
        sums = compact_history @ vectors[had_items].astype(np.float64)
        n_had = compact_history @ has_vector[had_items].astype(np.float64)
        cosines = np.einsum("ij,ij->i", sums[items.query], vectors[item_code])
        has_vectors = has_vector[item_code] & (n_had[items.query] > 0)
        return np.where(has_vectors, 1 - cosines / np.maximum(n_had, 1)[items.query], np.nan)

    @words("mean distance of its pairs", "same")
    def pair_distance(self, items: Ranked, distance: str) -> Floats:
        """Return the mean distance of the pairs of each list that have features: (n_users, 1).

        NaN without such a pair. The cosines of all pairs are those of sums: |sum v|^2 - sum |v|^2.
        """
        user, item_code = items.query, items.columns["item"]
        has_features = self.facts.table("has_vector" if distance == "cosine" else "n_categories")
        n = np.bincount(user, has_features[item_code] > 0, items.n_queries)
        n_pairs = n * (n - 1) / 2
        if distance == "cosine" and self.facts.vectors is not None:
            from scipy.sparse import csr_array

            vectors, rows = (
                self.facts.vectors[item_code].astype(np.float64),
                np.arange(len(item_code)),
            )
            shape = items.n_queries, len(item_code)
            sums = csr_array((np.ones(len(item_code)), rows, items.starts), shape=shape) @ vectors
            squares = np.bincount(user, np.einsum("ij,ij->i", vectors, vectors), items.n_queries)
            total = n_pairs - ((sums**2).sum(axis=1) - squares) / 2
        elif distance == "hamming":
            n_with = self._add_categories(items, np.ones(len(item_code)))
            total = (n_with * (n[:, None] - n_with)).sum(axis=1)
        else:
            total = self._jaccard_distances(items)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(n_pairs > 0, total / n_pairs, np.nan)[:, None]

    def _jaccard_distances(self, items: Ranked) -> Floats:
        """Add up the Jaccard distances of the pairs of each list that have categories: (n_users,).

        The categories of an item are the bits of as many words as it takes.
        """
        own_items, position = np.unique(items.columns["item"], return_inverse=True)
        row, category = self.facts.categories[own_items].nonzero()
        masks = np.zeros((len(own_items), category.max(initial=0) // 64 + 1), np.uint64)
        bit = np.left_shift(np.uint64(1), (category % 64).astype(np.uint64))
        np.bitwise_or.at(masks, (row, category // 64), bit)
        longest, total = int(items.count().max(initial=0)), np.zeros(items.n_queries)
        item_masks = np.zeros((items.n_queries, longest, masks.shape[1]), np.uint64)
        item_masks[items.query, items.rank - 1] = masks[position]
        for offset in range(1, longest):
            above, below = item_masks[:, :-offset], item_masks[:, offset:]
            n_shared = np.bitwise_count(above & below).sum(axis=2)
            n_all = np.bitwise_count(above | below).sum(axis=2)
            is_pair = above.any(axis=2) & below.any(axis=2)
            total += ((1 - n_shared / np.maximum(n_all, 1)) * is_pair).sum(axis=1)
        return total


def count_up(lengths: Ints) -> Ints:
    """Return where each of some lists begins, and where the last ends: (n + 1,)."""
    return np.append(0, np.cumsum(lengths))


def weigh_ranks(rank: Ints, exposure: str, p: float = 0.85) -> Numbers:
    """Return what each rank, from 1, is worth by a kind of exposure, in the shape of `rank`."""
    if exposure == "none":
        return np.ones(rank.shape)
    if exposure == "rbp":
        return powers(p, rank - 1)
    return 1 / log2(rank + 1 if exposure == "log2" else np.maximum(rank, 2))


def bits(shares: Floats) -> Floats:
    """Return the entropy of each row of shares in bits: (rows, 1); NaN of a row without any."""
    positive = np.where(shares > 0, shares, 1)
    entropy = 0.0 - (positive * np.log2(positive)).sum(axis=1)
    return np.where(shares.any(axis=1), entropy, np.nan)[:, None]
