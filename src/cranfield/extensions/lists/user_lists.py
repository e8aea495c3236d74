"""Lists: what measures of lists receive: users' lists of items, and what is known of these."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.elementary import log2, powers
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.trace import Recordable, step_method
from cranfield.data.counts import Counts
from cranfield.lazy import cached_property

if TYPE_CHECKING:
    from cranfield.extensions.lists.facts import Facts

MAX_ROWS = 1 << 16  # listed items that measures of users look at together, on average


@dataclass(eq=False, repr=False)
class Lists(Recordable):
    """The lists of a run: what a measure of lists receives. It holds no identifier.

    The items of user `i` are `item_code[starts[i] : starts[i + 1]]`, best rank first; a user may
    have none. `user` (n_users,) are the numbers of users, `item_code` (rows,) those of items.
    """

    user: Ints
    starts: Ints  # (n_users + 1,)
    item_code: Ints
    facts: "Facts"
    ties = "document"  # these three as of a Judged
    has_groups = False
    has_whole_grades = True

    @cached_property
    def lengths(self) -> Ints:
        """The length of each list: (n_users,)."""
        return np.diff(self.starts)

    def count_users(self) -> Counts:
        """Count the users who have a list."""
        return Counts(int(np.count_nonzero(self.lengths)), 0, 0, 0)

    @cached_property
    def items(self) -> Ranked:
        """The listed items, with their grades."""
        query = np.repeat(np.arange(len(self.user)), self.lengths)
        rank = consecutive_numbers(1, self.lengths)
        columns: dict[str, Numbers] = {"item": self.item_code, "user": self.user[query]}
        grade = np.full(len(rank), np.nan)
        if "qrels" in self.facts.pairs:
            grade = self.facts.pairs["qrels"].look_up(columns["user"], self.item_code)
        columns["known"] = ~np.isnan(grade)
        return Ranked(len(self.user), query, rank, np.nan_to_num(grade), columns=columns)

    @property
    def history(self) -> "Lists":
        """What each user had before, each item once, as lists."""
        lengths, item_code = self.facts.pairs["train"].take_users(self.user)
        return replace(self, starts=count_up(lengths), item_code=item_code)

    def take_users(self, rows: Any, k: int | None = None) -> "Lists":
        """Return the lists of some users, by their rows or in a mask, or the first k of each."""
        lengths = self.lengths[rows] if k is None else np.minimum(self.lengths[rows], k)
        item_code = self.item_code[consecutive_numbers(self.starts[:-1][rows], lengths)]
        return replace(self, user=self.user[rows], starts=count_up(lengths), item_code=item_code)

    def cut_lists(self, k: Ints | None) -> "Lists":
        """Return the first k items of each list; k is (1, 1), or None: all."""
        is_cut = k is not None and int(self.lengths.max(initial=0)) > k[0, 0]
        return self.take_users(slice(None), k[0, 0]) if is_cut and k is not None else self

    def split_users(self) -> "Iterator[tuple[Ints, Lists]]":
        """Yield rows and lists of some users at a time, whose columns then take little memory."""
        step = max(1, len(self.user) * MAX_ROWS // max(1, len(self.item_code)))
        for begin in range(0, len(self.user), step):
            rows = np.arange(begin, min(begin + step, len(self.user)))
            yield rows, self.take_users(rows)

    def counts(self, k: Ints | None = None, exposure: str = "none", p: float = 0) -> Numbers:
        """Return the sum of each item's weights in the first k of all lists: (n_items,).

        Items are counted rank by rank, so that the order of users changes no bit.
        """
        key = (None if k is None else int(k[0, 0])), exposure, p
        if key not in self._counts:
            self._counts[key] = self.cut_lists(k)._count_items(exposure, p)
        return self._counts[key]

    @cached_property
    def _counts(self) -> dict[Any, Numbers]:
        """Return {(cutoff, exposure, persistence): what `counts` returns}."""
        return {}

    def _count_items(self, exposure: str, p: float) -> Numbers:
        n_items = len(self.facts.item_ids)
        if exposure == "none":
            return np.bincount(self.item_code, minlength=n_items)
        counts, ranks = np.zeros(n_items), np.arange(self.lengths.max(initial=0))
        for rank, weight in enumerate(weigh_ranks(ranks + 1, exposure, p).tolist()):
            item_code = self.item_code[self.starts[:-1][self.lengths > rank] + rank]
            counts += np.bincount(item_code, minlength=n_items) * weight
        return counts

    # ---- a value for each item of the lists, or for each list ------------------------------------

    @step_method("other", "{2} of the item")
    def look_up_items(self, items: Ranked, name: str, *arguments: Any) -> Numbers:
        """Return what a table of the facts has for each item: (rows,)."""
        return self.facts.table(name, *arguments)[items.columns["item"]]

    @step_method("other", "number in {2}")
    def look_up_pairs(self, items: Ranked, name: str) -> Numbers:
        """Return the number of each pair of user and item, 0 of others: (rows,)."""
        pairs = self.facts.pairs[name]
        return np.nan_to_num(pairs.look_up(items.columns["user"], items.columns["item"]))

    @step_method(words="{1}")
    def size(self, name: str) -> Ints:
        """Return how many there are of something, for each list: (n_users, 1)."""
        return np.full((len(self.user), 1), self.facts.table(name))

    @step_method(words="whether {1} has the user")
    def has_user(self, name: str) -> Bools:
        """Tell whether some pairs, or those who should have a list, have the user: (n_users, 1)."""
        if name == "users":
            return self.facts.is_expected[self.user][:, None]
        return self.facts.pairs[name].take_users(self.user)[0][:, None] > 0

    def _add_categories(self, items: Ranked, weight: Floats) -> Floats:
        """Add up the weights (rows,) of each list by category: (n_users, n_categories)."""
        categories = self.facts.categories
        weights = _arrange_by_list(items, weight, items.columns["item"], categories.shape[0])
        sums: Floats = (weights @ categories).toarray()
        return sums

    def _add_vectors(self, items: Ranked) -> Floats:
        """Add up the vectors, of length 1, of each list: (n_users, n)."""
        own_items, position = np.unique(items.columns["item"], return_inverse=True)
        weights = _arrange_by_list(items, np.ones(len(position)), position, len(own_items))
        sums: Floats = weights @ self.facts.unit_vectors(own_items)
        return sums

    def category_shares(self, items: Ranked, weight: Floats) -> Floats:
        """Return the share of each category, an item split equally over its own; or zeros."""
        n_categories = self.facts.table("n_categories")[items.columns["item"]]
        sums = self._add_categories(items, weight / np.maximum(n_categories, 1))
        totals = sums.sum(axis=1, keepdims=True)
        return sums / np.where(totals > 0, totals, 1)

    @step_method(words="distinct categories of the list")
    def distinct_categories(self, items: Ranked) -> Ints:
        """Count the categories of each list: (n_users, 1)."""
        sums = self._add_categories(items, np.ones(len(items.query)))
        return np.count_nonzero(sums, axis=1, keepdims=True)

    @step_method(words="entropy of the categories of the list")
    def category_entropy(self, items: Ranked) -> Floats:
        """Return the entropy of the categories of each list in bits: (n_users, 1); NaN: none."""
        return bits(self.category_shares(items, np.ones(len(items.query))))

    @step_method(words="distance of the categories of the list from those of the history")
    def miscalibration(self, items: Ranked, weight: Floats, distance: str, a: float) -> Floats:
        """Return the distance of the categories of each list from the history's: (n_users, 1).

        NaN where the list, or the history, has no categories.
        """
        history = self.history.items
        p = self.category_shares(history, np.ones(len(history.query)))
        q = self.category_shares(items, weight)
        if distance == "js":
            return bits((p + q) / 2) - (bits(p) + bits(q)) / 2
        is_positive, mixture = p > 0, (1 - a) * q + a * p
        with np.errstate(divide="ignore"):
            terms = p * np.log2(np.where(is_positive, p, 1) / np.where(is_positive, mixture, 1))
        has_categories = p.any(axis=1) & q.any(axis=1)
        return np.where(has_categories, terms.sum(axis=1), np.nan)[:, None]

    @step_method("other", "1 - mean cosine to the history")
    def strangeness(self, items: Ranked) -> Floats:
        """Return how unlike the user's history each item is: (rows,); NaN without vectors."""
        history, has_vector = self.history.items, self.facts.table("has_vector")
        sums, n_had = self._add_vectors(history), history.total(has_vector[history.columns["item"]])
        item_code, query = items.columns["item"], items.query
        cosines = np.einsum("ij,ij->i", sums[query], self.facts.unit_vectors(item_code))
        n = np.where(has_vector[item_code], n_had[query, 0], 0)
        return np.where(n > 0, 1 - cosines / np.maximum(n, 1), np.nan)

    @step_method(words="mean distance of its pairs")
    def pair_distance(self, items: Ranked, distance: str) -> Floats:
        """Return the mean distance of the pairs of each list that have features: (n_users, 1).

        NaN without such a pair. The cosines of all pairs are those of sums: |sum v|^2 - sum |v|^2.
        """
        has_features = self.facts.table("has_vector" if distance == "cosine" else "n_categories")
        n = items.total(has_features[items.columns["item"]] > 0)[:, 0]
        n_pairs = n * (n - 1) / 2
        if distance == "cosine":
            total = n_pairs - ((self._add_vectors(items) ** 2).sum(axis=1) - n) / 2
        elif distance == "hamming":
            n_with = self._add_categories(items, np.ones(len(items.query)))
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


def _arrange_by_list(items: Ranked, weight: Floats, column: Ints, n_columns: int) -> Any:
    """Return a sparse matrix (n_users, n_columns) of the weight of each listed item."""
    from scipy.sparse import csr_array

    return csr_array((weight, column, items.starts), shape=(items.n_queries, n_columns))


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
