"""Lists: what measures of lists receive: users' lists of items, and what is known of the items."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from cranfield.arrays.elementary import log2, powers
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.trace import Recordable, step_method
from cranfield.lazy import cached_property
from cranfield.measures.parameters import Parameter, choice

By = Literal["interactions", "users"]
RBP_P = 0.85
Exposure = Annotated[
    str,
    Parameter(
        "what a rank is worth: all 1, 1 / log2(rank + 1), 1 / log2(max(rank, 2)), p^(rank - 1)",
        choice("none", "log2", "jk", "rbp"),
    ),
]
MAX_ROWS = 1 << 17  # listed items that measures of users look at together, on average


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs of a user and an item, with a number each; codes count from 0."""

    user: Ints  # (pairs,) ascending
    item: Ints  # (pairs,) ascending for each user
    number: Numbers  # (pairs,) how often the pair occurs, or its grade
    n_items: int

    @cached_property
    def keys(self) -> Ints:
        """The pairs as one number each, ascending: (pairs,)."""
        keys: Ints = self.user * np.int64(self.n_items) + self.item
        return keys

    def find(self, user: Ints, item: Ints) -> tuple[Bools, Ints]:
        """Return which pairs (rows,) are among these, and the position of each that is."""
        sought_keys = user * np.int64(self.n_items) + item
        position = self.keys.searchsorted(sought_keys)
        is_inside = position < len(self.keys)
        is_inside[is_inside] = self.keys[position[is_inside]] == sought_keys[is_inside]
        return is_inside, position

    @cached_property
    def interactions(self) -> Ints:
        """How many rows each item has: (n_items,)."""
        return np.bincount(self.item, self.number, self.n_items).astype(np.int64)

    @cached_property
    def users(self) -> Ints:
        """How many users each item has: (n_items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def n_users(self) -> int:
        """The number of users."""
        return int(np.count_nonzero(np.diff(self.user, prepend=-1)))


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known beside the lists; None: not given. Tables have a row for each item, by code.

    `id_order` (n_items,) sorts items by the bytes of their ids. `in_catalogue` tells which items
    are in a catalogue of ids; of a catalogue that is a number, it is None. `categories` and
    `vectors` are sparse (n_items, n_categories) and dense (n_items, n); rows of 0: without.
    """

    id_order: Ints
    train: Pairs | None = None
    relevant: Pairs | None = None  # the judged pairs, with their grades
    base: Pairs | None = None  # the lists of another run, with their ranks
    n_catalogue: int | None = None
    in_catalogue: Bools | None = None
    categories: Any = None
    vectors: Floats | None = None
    is_expected: Bools | None = None  # (n_users,) the users who should have a list

    def popularity(self, by: By) -> Ints:
        """Return how often, or by how many users, each item was had: (n_items,)."""
        assert self.train is not None  # noqa: S101 - `describe` has asked for it
        return self.train.users if by == "users" else self.train.interactions

    def tail(self, by: Literal["interactions", "items"], share: float) -> tuple[Bools, bool]:
        """Return which items are in the tail, (n_items,), and if its border cuts equal counts."""
        assert self.train is not None  # noqa: S101
        train, place = self.train, np.argsort(self.id_order)
        had_items = np.flatnonzero(train.users)
        if by == "items":
            count = train.interactions[had_items]
            order = had_items[np.lexsort((place[had_items], count))]
            n_tail = max(int(share * len(had_items)), 1)
            order, n_head = order[::-1], len(order) - n_tail
            is_head = np.arange(len(order)) < n_head
            count = train.interactions[order]
        else:
            order = had_items[np.lexsort((place[had_items], -train.users[had_items]))]
            count = train.users[order]
            is_head = np.cumsum(count) - count < (1 - share) * count.sum()
            n_head = int(np.count_nonzero(is_head))
        is_tail = np.ones(train.n_items, np.bool_)
        is_tail[order[is_head]] = False
        return is_tail, bool(0 < n_head < len(order) and count[n_head - 1] == count[n_head])

    @cached_property
    def history(self) -> Any:
        """The distinct items of each user as a sparse matrix of ones: (n_users, n_items)."""
        from scipy.sparse import csr_array

        assert self.train is not None  # noqa: S101
        n_users = 0 if self.is_expected is None else len(self.is_expected)
        ones = np.ones(len(self.train.user))
        pairs = (ones, (self.train.user, self.train.item))
        return csr_array(pairs, shape=(n_users, self.train.n_items))


def words(text: str, rows_of: Literal["same", "other"] = "other") -> Callable[[Any], Any]:
    """Make a method a step that `text` describes where a value is explained."""

    def mark(method: Any) -> Any:
        method.words = text
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
    item: Ints
    facts: Facts
    ties: str = "document"  # as of a Judged
    has_groups: bool = False
    has_whole_grades: bool = True
    _cache: dict[object, Any] = field(default_factory=dict)

    @cached_property
    def items(self) -> Ranked:
        """The listed items, with their grades, 0 of what is not judged."""
        n_users, lengths = len(self.user), np.diff(self.starts)
        query, rank = np.repeat(np.arange(n_users), lengths), consecutive_numbers(1, lengths)
        grade, is_judged = np.zeros(len(query), np.int64), np.zeros(len(query), np.bool_)
        if self.facts.relevant is not None:
            is_judged, position = self.facts.relevant.find(self.user[query], self.item)
            grade = self.facts.relevant.number.take(position, mode="clip") * is_judged
        columns = {"known": is_judged, "item": self.item, "user": self.user[query]}
        return Ranked(n_users, query, rank, grade, columns=columns)

    def select_users(self, is_selected: Bools) -> "Lists":
        """Return the lists of the users in a mask, (n_users,)."""
        lengths = np.diff(self.starts)
        starts = np.append(0, np.cumsum(lengths[is_selected]))
        item = self.item[np.repeat(is_selected, lengths)]
        return Lists(self.user[is_selected], starts, item, self.facts)

    def cut(self, k: Ints | None) -> "Lists":
        """Return the first k items of each list; k is (1, 1), or None: all."""
        if k is None or int(np.diff(self.starts).max(initial=0)) <= k[0, 0]:
            return self
        lengths = np.diff(self.starts)
        n_cut = np.minimum(lengths, k[0, 0])
        item = self.item[consecutive_numbers(self.starts[:-1], n_cut)]
        return replace(self, starts=np.append(0, np.cumsum(n_cut)), item=item, _cache={})

    def split_users(self) -> "Iterator[tuple[slice, Lists]]":
        """Yield (slice, lists) of some users at a time, whose columns then take little memory."""
        step = max(1, len(self.user) * MAX_ROWS // max(1, len(self.item)))
        for begin in range(0, len(self.user), step):
            users = slice(begin, begin + step)
            starts = self.starts[begin : begin + step + 1]
            item = self.item[starts[0] : starts[-1]]
            yield users, Lists(self.user[users], starts - starts[0], item, self.facts)

    # ---- what a run has, by item -----------------------------------------------------------------

    def counts(self, k: Ints | None, exposure: str = "none", p: float = RBP_P) -> Numbers:
        """Return the sum of each item's weights in the first k of all lists: (n_items,).

        Items are counted rank by rank, so that the order of users changes no bit.
        """
        key = None if k is None else int(k[0, 0]), exposure, p
        if key not in self._cache:
            lists, n_items = self.cut(k), len(self.facts.id_order)
            lengths = np.diff(lists.starts)
            if exposure == "none":
                counts: Numbers = np.bincount(lists.item, minlength=n_items)
            else:
                ranks, counts = np.arange(1, lengths.max(initial=0) + 1), np.zeros(n_items)
                weights = weigh_ranks(ranks, exposure, p).tolist()
                for rank, weight in zip(ranks.tolist(), weights, strict=True):
                    item = lists.item[lists.starts[:-1][lengths >= rank] + rank - 1]
                    counts += np.bincount(item, minlength=n_items) * weight
            self._cache[key] = counts
        return self._cache[key]

    # ---- numbers of train and of the items, the same for each list: (n_users, 1) ---------------

    def _repeat(self, number: int) -> Ints:
        return np.full((len(self.user), 1), number)

    @property
    def n_interactions(self) -> Ints:
        """The number of rows of train."""
        return self._repeat(int(self.facts.popularity("interactions").sum()))

    @property
    def n_users(self) -> Ints:
        """The number of users of train."""
        return self._repeat(0 if self.facts.train is None else self.facts.train.n_users)

    @property
    def n_categories(self) -> Ints:
        """The number of all categories."""
        return self._repeat(self.facts.categories.shape[1])

    @property
    def is_expected(self) -> Bools:
        """Whether each user should have a list."""
        assert self.facts.is_expected is not None  # noqa: S101
        return self.facts.is_expected[self.user][:, None]

    @property
    def has_base(self) -> Bools:
        """Whether the user has a list of the base."""
        base = self.facts.base
        assert base is not None  # noqa: S101
        return np.isin(self.user, base.user)[:, None]

    # ---- what an item of a list is ---------------------------------------------------------------

    @words("interactions of the item")
    def interactions(self, items: Ranked) -> Ints:
        """Return how often each item was had: (rows,)."""
        return self.facts.popularity("interactions")[items.columns["item"]]

    @words("users of the item")
    def users(self, items: Ranked) -> Ints:
        """Return how many users had each item: (rows,)."""
        return self.facts.popularity("users")[items.columns["item"]]

    @words("mean rank of the item by users / items of train")
    def percentile(self, items: Ranked) -> Floats:
        """Return the mean rank by users among all items that were had, as a share: (rows,)."""
        users = self.facts.popularity("users")
        n_of_count = np.bincount(users[users > 0])
        n_below = np.cumsum(n_of_count) - n_of_count
        share = (n_below + (n_of_count + 1) / 2) / max(int(n_of_count.sum()), 1)
        share[:1] = 0
        return np.append(share, 0)[users[items.columns["item"]]]

    @words("in the tail")
    def in_tail(self, items: Ranked, by: Any, share: float) -> Bools:
        """Tell which items are in the tail: (rows,)."""
        return self.facts.tail(by, share)[0][items.columns["item"]]

    @words("known to the user")
    def known(self, items: Ranked) -> Bools:
        """Tell which items the user had: (rows,)."""
        assert self.facts.train is not None  # noqa: S101
        return self.facts.train.find(items.columns["user"], items.columns["item"])[0]

    @words("in the list of the base")
    def in_base(self, items: Ranked, k: Ints | None) -> Bools:
        """Tell which items are among the first k of the user's other list: (rows,)."""
        base = self.facts.base
        assert base is not None  # noqa: S101
        is_listed, position = base.find(items.columns["user"], items.columns["item"])
        return is_listed & (
            base.number.take(position, mode="clip") <= (np.inf if k is None else k[0, 0])
        )

    @words("surprise: how much more popular the items of train above its rank are than the item")
    def surprise(self, items: Ranked) -> Floats:
        """Return how far an item is below the popularity that its rank stands for: (rows,)."""
        n = self.facts.n_catalogue or 0
        interactions = self.facts.popularity("interactions")
        distinct_counts = np.unique(interactions[interactions > 0])
        dense_rank = len(distinct_counts) - distinct_counts.searchsorted(interactions)
        popularity = np.where(interactions > 0, (n + 1 - dense_rank) / n, 0)
        difference: Floats = (n + 1 - items.rank) / n - popularity[items.columns["item"]]
        return np.maximum(difference, 0)

    @words("has a vector, as has some of the user's history")
    def is_comparable(self, items: Ranked) -> Bools:
        """Tell for which items `strangeness` has a value: (rows,)."""
        return ~np.isnan(self.strangeness(items))

    @words("1 - mean cosine to the user's history")
    def strangeness(self, items: Ranked) -> Floats:
        """Return how unlike the user's history each item is: (rows,); NaN without vectors."""
        vectors, history = self.facts.vectors, self.facts.history[self.user]
        assert vectors is not None  # noqa: S101
        has_vector = vectors.any(axis=1)
        profile = np.zeros((len(self.user), vectors.shape[1]))
        had_items, position = np.unique(history.indices, return_inverse=True)
        if len(had_items):
            from scipy.sparse import csr_array

            parts = (history.data, position, history.indptr)
            shape = (len(self.user), len(had_items))
            profile = csr_array(parts, shape=shape) @ vectors[had_items].astype(np.float64)
        n_had = np.asarray(history @ has_vector.astype(np.float64))
        item, user = items.columns["item"], items.query
        cosine = np.einsum("ij,ij->i", profile[user], vectors[item])
        with np.errstate(invalid="ignore"):
            mean_cosine = cosine / np.where(n_had > 0, n_had, np.nan)[user]
        return np.where(has_vector[item], 1 - mean_cosine, np.nan)

    # ---- what a list is --------------------------------------------------------------------------

    def _by_category(self, items: Ranked, values: Floats) -> Floats:
        """Add up the values (rows,) of items, for each list and category: (n_users, n_categories).

        """
        from scipy.sparse import csr_array

        parts = (values, items.columns["item"], items.starts)
        matrix = csr_array(parts, shape=(items.n_queries, self.facts.categories.shape[0]))
        sums: Floats = (matrix @ self.facts.categories).toarray()
        return sums

    @cached_property
    def _n_categories(self) -> Ints:
        """How many categories each item has: (n_items,)."""
        return np.diff(self.facts.categories.indptr)

    def _shares(self, items: Ranked, weight: Floats) -> Floats:
        """Return the share of each category in a list, an item split equally over its own.

        (n_users, n_categories); zeros of a list without categories.
        """
        n_own = self._n_categories[items.columns["item"]]
        sums = self._by_category(items, weight / np.maximum(n_own, 1))
        return sums / np.where((total := sums.sum(axis=1, keepdims=True)) > 0, total, 1)

    @words("distinct categories of the list", "same")
    def distinct_categories(self, items: Ranked) -> Ints:
        """Count the categories of each list: (n_users, 1)."""
        sums = self._by_category(items, np.ones(len(items.query)))
        return np.count_nonzero(sums, axis=1)[:, None]

    @words("entropy of the categories of the list, in bits", "same")
    def category_entropy(self, items: Ranked) -> Floats:
        """Return the entropy of the categories of each list: (n_users, 1); NaN without any."""
        return bits(self._shares(items, np.ones(len(items.query))))

    @words("distance of the categories of the list from those of the history", "same")
    def miscalibration(self, items: Ranked, weight: Floats, distance: str, a: float) -> Floats:
        """Return how far the categories of each list are from those of the history: (n_users, 1).

        NaN where the list, or the history, has no categories.
        """
        history = self.facts.history[self.user]
        had_items = Ranked(
            len(self.user),
            np.repeat(np.arange(len(self.user)), np.diff(history.indptr)),
            consecutive_numbers(1, np.diff(history.indptr)),
            np.ones(len(history.indices)),
            columns={"item": history.indices},
        )
        p, q = self._shares(had_items, history.data), self._shares(items, weight)
        is_known = p.any(axis=1) & q.any(axis=1)
        if distance == "js":
            middle = (p + q) / 2
            value = bits(middle)[:, 0] - (bits(p)[:, 0] + bits(q)[:, 0]) / 2
        else:
            mixture = (1 - a) * q + a * p
            quotient = np.divide(p, mixture, out=np.ones_like(p), where=(p > 0) & (mixture > 0))
            value = (p * np.log2(quotient)).sum(axis=1)
            value[((p > 0) & (mixture == 0)).any(axis=1)] = math.inf
        return np.where(is_known, value, np.nan)[:, None]

    @words("mean distance of its pairs", "same")
    def pair_distance(self, items: Ranked, distance: str) -> Floats:
        """Return the mean distance of the pairs of each list that have features: (n_users, 1).

        NaN without such a pair.
        """
        n_users, user, item = items.n_queries, items.query, items.columns["item"]
        if distance == "cosine":
            assert self.facts.vectors is not None  # noqa: S101
            vectors = self.facts.vectors[item].astype(np.float64)
            n = np.bincount(user, vectors.any(axis=1), n_users)
            sums = np.zeros((n_users, vectors.shape[1]))
            has_rows = np.diff(items.starts) > 0
            if len(item):
                sums[has_rows] = np.add.reduceat(vectors, items.starts[:-1][has_rows], axis=0)
            own_squares = np.bincount(user, np.einsum("ij,ij->i", vectors, vectors), n_users)
            all_pairs = np.einsum("ij,ij->i", sums, sums) - own_squares
            total, n_pairs = n * (n - 1) - all_pairs, n * (n - 1)
        else:
            n = np.bincount(user, self._n_categories[item] > 0, n_users)
            n_pairs = n * (n - 1) / 2
            if distance == "hamming":
                c = self._by_category(items, np.ones(len(item)))
                total = (c * (n[:, None] - c)).sum(axis=1)
            else:
                total = self._jaccard_distances(items)
        quotient = np.divide(total, n_pairs, out=np.full(n_users, np.nan), where=n_pairs > 0)
        return quotient[:, None]

    def _jaccard_distances(self, items: Ranked) -> Floats:
        """Add up the Jaccard distances of the pairs of each list that have categories: (n_users,).

        The categories of an item are bits of as many words as it takes.
        """
        categories, item = self.facts.categories, items.columns["item"]
        own_items, own_position = np.unique(item, return_inverse=True)
        own_categories = categories[own_items]
        n_words = -(-categories.shape[1] // 64)
        masks = np.zeros((len(own_items), n_words), np.uint64)
        row, column = own_categories.nonzero()
        bit = np.left_shift(np.uint64(1), (column % 64).astype(np.uint64))
        np.bitwise_or.at(masks, (row, column // 64), bit)
        n_longest = int(np.diff(items.starts).max(initial=0))
        padded = np.zeros((items.n_queries, n_longest, n_words), np.uint64)
        padded[items.query, items.rank - 1] = masks[own_position]
        has_any, total = padded.any(axis=2), np.zeros(items.n_queries)
        for offset in range(1, n_longest):
            above, below = padded[:, :-offset], padded[:, offset:]
            n_shared = np.bitwise_count(above & below).sum(axis=2)
            n_all = np.bitwise_count(above | below).sum(axis=2)
            is_pair = has_any[:, :-offset] & has_any[:, offset:]
            distance = 1 - n_shared / np.maximum(n_all, 1)
            total += (distance * is_pair).sum(axis=1)
        return total


def weigh_ranks(rank: Ints, exposure: str, p: float = RBP_P) -> Numbers:
    """Return what each rank, from 1, is worth by a kind of exposure, in the shape of `rank`."""
    if exposure == "none":
        return np.ones(rank.shape)
    if exposure == "rbp":
        return powers(p, rank - 1)
    return 1 / log2(rank + 1 if exposure == "log2" else np.maximum(rank, 2))


def bits(shares: Floats) -> Floats:
    """Return the entropy of each row of shares in bits: (rows, 1); NaN of a row without any."""
    positive = np.where(shares > 0, shares, 1)
    entropy = -(positive * np.log2(positive)).sum(axis=1)
    return np.where(shares.any(axis=1), entropy, np.nan)[:, None] + 0.0
