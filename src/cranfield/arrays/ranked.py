"""Ranked: some documents of many rankings in flat columns, and what measures do with them.

Sums run left to right in rank order (`remaining`: right to left), as trec_eval's C loops do, so
that the doubles are the same to the last bit. `np.bincount` and `np.cumsum` add in that order;
`np.sum` and `np.add.reduceat` add pairwise and differ in the last bits of most queries (tests pin
both).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.elementary import log
from cranfield.arrays.grades import grade_levels
from cranfield.arrays.trace import Recordable, step, step_method
from cranfield.lazy import cached_property

# What an array holds, for the reader: numpy's own types lose it in almost every operation.
Ints = NDArray[Any]  # whole numbers, 64-bit as a rule
Floats = NDArray[Any]  # doubles
Bools = NDArray[Any]
Texts = NDArray[Any]  # objects
Numbers = NDArray[Any]  # whole numbers or doubles


@step
def ratio(numerator: Numbers, denominator: Numbers) -> Floats:
    """Divide; what is divided by 0 is 0.

    The one place where cranfield decides what a measure is for a query that gives it nothing to
    divide by: no relevant document, or nothing retrieved. The value is 0 and the query counts in
    the mean, as in trec_eval.

    Args:
        numerator: numbers, in any shape.
        denominator: numbers, in a shape that broadcasts with it.

    >>> ratio(np.array([1, 0]), np.array([4, 0]))
    array([0.25, 0.  ])

    """
    if np.count_nonzero(denominator) == denominator.size:
        return numerator / denominator
    quotients = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=quotients, where=denominator != 0)


@step
def look_up(words: str, table: Numbers, index: Ints) -> Numbers:
    """Return the entries of a table (n,) at `index`, 0 to n - 1, in the shape of `index`.

    `words` describe an entry, with {} for its index, where a measure is explained.
    """
    return table.take(index)


_ZERO = np.zeros(1, np.int64)

Value = TypeVar("Value")


@dataclass(eq=False)
class Ranked(Recordable):
    """Some documents of many rankings, query after query, best rank first. Never changed.

    `query` (rows,) is non-decreasing, 0 to n_queries - 1; `rank` (rows,) is 1-based and increases
    within a query; `grade` (rows,) is the judged relevance, doubles if some judgment is a fraction.

    What a method returns per query is a column: shape (n_queries, 1), or (n_queries, n_cutoffs)
    after `top` with several cutoffs, so that results can always be divided by each other.

    >>> ranked = Ranked(1, np.array([0, 0]), np.array([1, 4]), np.array([2, 1]))
    >>> ranked.total(ranked.grade / ranked.rank), ranked.top(np.array([[1, 5]])).count()
    (array([[2.25]]), array([[1, 2]]))
    """

    level = "row"  # see `Recordable`

    n_queries: int
    query: Ints
    rank: Ints
    grade: Numbers
    cutoffs: Ints | None = None  # (1 or n_queries, n_cutoffs): marked by `top`, for values by query
    # Further columns (rows,), by name: "known", whether the row is judged (without it, all rows
    # are); "cost" of looking at the document; if ties="expected", "tie_first", the first rank of
    # its score, and "tie_size", how many documents of the query have that score; of judgments that
    # are a sample, "stratum", 0, 1, ... within the query, or "probability" of being judged.
    columns: Mapping[str, Numbers] = field(default_factory=dict)

    # ---- subsets -----------------------------------------------------------------------------

    @step_method()
    def where(self, keep: Bools) -> "Ranked":
        """Return the rows where `keep` (rows,) is true."""
        rows = keep.nonzero()[0]
        return Ranked(
            self.n_queries,
            self.query[rows],
            self.rank[rows],
            self.grade[rows],
            self.cutoffs,
            self.columns and {name: column[rows] for name, column in self.columns.items()},
        )

    def queries(self, begin: int, end: int) -> "Ranked":
        """Return the rows of queries `begin` to `end` - 1, or the last, renumbered; no cutoffs."""
        rows = slice(*self.query.searchsorted((begin, end)).tolist())
        columns = {name: column[rows] for name, column in self.columns.items()}
        n_queries = min(end, self.n_queries) - begin
        return Ranked(
            n_queries, self.query[rows] - begin, self.rank[rows], self.grade[rows], columns=columns
        )

    @step_method()
    def relevant(self, rel: float = 1) -> "Ranked":
        """Return the rows with grade >= rel."""
        cache = self._cache
        if rel not in cache:
            cache[rel] = self.where(self.grade >= rel)
        relevant_rows: Ranked = cache[rel]
        return relevant_rows

    @step_method()
    def top(self, k: Ints | None) -> "Ranked":
        """Return the rows with rank <= k.

        `k` is None (all rows), one cutoff for all queries (1, 1), one for each (n_queries, 1), or
        several at once (1 or n_queries, n_cutoffs). Several only mark: the rows stay, and what is
        returned per query then has a column for each cutoff, from the same pass over the rows.
        """
        if k is None:
            return self
        last: tuple[Ints, Ranked] | None = self.__dict__.get("_last_top")
        if last is None or last[0] is not k:
            if k.shape[1] > 1:
                rows = Ranked(self.n_queries, self.query, self.rank, self.grade, k, self.columns)
                rows.__dict__["starts"] = self.starts  # the same rows
            else:
                rows = self.where(self.rank <= (k[0, 0] if len(k) == 1 else k[self.query, 0]))
            last = k, rows
            self.__dict__["_last_top"] = last
        return last[1]

    # ---- a value for each row ----------------------------------------------------------------

    @cached_property
    def starts(self) -> Ints:
        """Return the row where each query begins; one more at the end: (n_queries + 1,)."""
        if self.n_queries == 1:
            return np.array([0, len(self.query)])
        starts = np.zeros(self.n_queries + 1, np.int64)
        np.cumsum(self._row_counts, out=starts[1:])
        return starts

    @cached_property
    def _row_counts(self) -> Ints:
        """Count the rows of each query: (n_queries,)."""
        return np.bincount(self.query, minlength=self.n_queries)

    @cached_property
    def ordinal(self) -> Ints:
        """Return 1, 2, ... within the query: (rows,)."""
        row_number = np.arange(1, len(self.query) + 1)
        return row_number if self.n_queries == 1 else row_number - self.starts[self.query]

    @cached_property
    def mean_rank(self) -> Floats:
        """The mean of the rank over all orders of ties, if ties="expected": (rows,)."""
        mean_rank: Floats = self.columns["tie_first"] + (self.columns["tie_size"] - 1) / 2
        return mean_rank

    @step_method()
    def spread(self, column: Numbers) -> Numbers:
        """Give every row its query's value: (n_queries, 1) -> (rows,)."""
        row_values: Numbers = column[self.query, 0]
        return row_values

    @step_method()
    def running(self, values: Numbers) -> Numbers:
        """Add up within the query, this row included: (rows,) -> (rows,).

        Whole numbers add exactly in any order, so one flat sum less an offset will do. Fractions
        must add from the first row of their own query on.
        """
        if values.dtype.kind in "biu":
            if self.n_queries == 1:
                return values.cumsum(dtype=np.int64)
            flat_sums = np.zeros(len(values) + 1, np.int64)
            np.cumsum(values, out=flat_sums[1:])
            return flat_sums[1:] - flat_sums[self.starts[self.query]]
        return _accumulate(self, np.add.accumulate, values)

    def so_far(self, values: Numbers) -> Numbers:
        """Add up the query's rows above, as `running` less the own value: (rows,) -> (rows,)."""
        return self.running(values) - values

    @step_method()
    def before(self, values: Numbers) -> Floats:
        """Multiply up the rows above, this one excluded: (rows,) -> (rows,); 1 in the first row."""
        return _accumulate(self, np.multiply.accumulate, self.above(values, 1.0))

    @step_method()
    def above(self, values: Numbers, first: float) -> Floats:
        """Return what is in the row above, `first` where a query begins: (rows,)."""
        value_above = np.concatenate(([first], values[:-1]))[: len(values)]
        return np.where(self.ordinal == 1, first, value_above)

    @step_method()
    def below(self, values: Numbers) -> Numbers:
        """Return what is in the row below, 0 where a query ends: (rows,) -> (rows,)."""
        value_below = np.append(values[1:], 0)[: len(values)]
        is_last = np.append(self.query[1:] != self.query[:-1], True)[: len(values)]
        return np.where(is_last, 0, value_below)

    @step_method()
    def remaining(self, values: Floats) -> Floats:
        """Add up this row and those below it, from the last row on: (rows,) -> (rows,)."""
        return _accumulate(self, _accumulate_backwards, values)

    @property
    def judged(self) -> Bools:
        """Which rows carry a judgment: (rows,). The grade of others means nothing."""
        return self._column_or_default("known", True)

    @property
    def stratum(self) -> Ints:
        """The stratum of each row's document, 0, 1, ... within its query: (rows,)."""
        return self._column_or_default("stratum", 0)

    @property
    def probability(self) -> Floats:
        """The probability with which each row's document was to be judged: (rows,)."""
        return self._column_or_default("probability", 1.0)

    @property
    def costs(self) -> Numbers:
        """What it costs to look at each document: (rows,), 1 where the run does not say."""
        return self._column_or_default("cost", 1)

    def _column_or_default(self, name: str, default: bool | float) -> Numbers:
        """Return a column of that name, (rows,), the default in every row if there is none."""
        return self.columns[name] if name in self.columns else np.full(len(self.query), default)

    @step_method()
    def steps(self, values: Numbers) -> Bools:
        """Mark the rows after which the value changes, each query's last one too: (rows,)."""
        is_change = np.append(values[1:] != values[:-1], True)[: len(values)]
        is_change[self.starts[1:][np.diff(self.starts) > 0] - 1] = True
        return is_change

    @step_method("other")
    def at(self, ranking: "Ranked", values: Numbers) -> Numbers:
        """Return the values (rows,) at the ranks of another `ranking`: (its rows,).

        That is, at the last row of the same query whose rank is not greater; 0 where there is none.
        """
        deepest = max(int(self.rank.max(initial=0)), int(ranking.rank.max(initial=0))) + 1
        keys = self.query * deepest + self.rank
        rows = np.searchsorted(keys, ranking.query * deepest + ranking.rank, side="right") - 1
        return np.where(rows >= self.starts[ranking.query], np.append(values, 0)[rows], 0)

    @step_method()
    def places(self, ideal: "Ranked") -> Ints:
        """Return where each row's document may be in the ideal, which goes by grade: (rows,).

        Behind all of a higher grade; of its own, the rows of this ranking come first, in its order.
        The ideal holds all of its documents, the highest grade first.
        """
        levels = grade_levels(self.grade, ideal.grade)
        highest, lowest = (int(end(np.append(*levels), initial=0)) for end in (np.max, np.min))
        pairs = zip((self, ideal), levels, strict=True)
        hit_keys, ideal_keys = (
            ranked.query * (highest - lowest + 1) + highest - level for ranked, level in pairs
        )
        order = hit_keys.argsort(kind="stable")
        sorted_keys = hit_keys[order]
        n_higher = ideal_keys.searchsorted(sorted_keys) - ideal.starts[self.query[order]]
        sorted_places = (
            n_higher + np.arange(1, len(order) + 1) - sorted_keys.searchsorted(sorted_keys)
        )
        ideal_places: Ints = sorted_places[order.argsort()]
        return ideal_places

    # ---- a value for each query --------------------------------------------------------------

    @step_method()
    def total(self, values: Numbers) -> Floats:
        """Add up (rows,) within each query, down to each cutoff: (n_queries, n_cutoffs)."""
        if self.cutoffs is None:
            return np.bincount(self.query, values, self.n_queries)[:, None]
        return self._take_at_cutoffs(self.running(values))

    @step_method()
    def count(self) -> Ints:
        """Count the rows of each query, down to each cutoff: (n_queries, n_cutoffs)."""
        if self.cutoffs is None:
            return self._row_counts[:, None]
        return self.once("count", lambda: self._end_rows - self.starts[:-1, None])

    def once(self, name: object, compute: Callable[[], Value]) -> Value:
        """Return what `compute` returns, which is called once for each name and kept."""
        cache = self._cache
        if name not in cache:
            cache[name] = compute()
        cached_value: Value = cache[name]
        return cached_value

    @cached_property
    def _cache(self) -> dict[object, Any]:
        """Return {name: what `once` computed under it, or a grade: its `relevant` rows}."""
        return {}

    @step_method()
    def first(self, values: Floats) -> Floats:
        """Return each query's first value, 0 if none counts: (rows,) -> (n_queries, n_cutoffs)."""
        if self.n_queries == 1 and self.cutoffs is None and len(values):
            return values[:1, None]
        return self._take_or_zero(values, self.starts[:-1, None])

    @step_method()
    def maximum(self, values: Floats) -> Floats:
        """Return the greatest value of each query: (rows,) -> (n_queries, n_cutoffs).

        The values are not negative; 0 where there is none down to the cutoff.
        """
        return self._take_at_cutoffs(_accumulate(self, np.maximum.accumulate, values))

    def _take_at_cutoffs(self, running: Numbers) -> Numbers:
        if self.n_queries == 1:
            return np.concatenate((running, _ZERO)).take(self._end_rows - 1)  # at -1 is the 0
        return self._take_or_zero(running, self._end_rows - 1)

    def _take_or_zero(self, values: Numbers, rows: Ints) -> Numbers:
        if len(values) == 0:
            return np.zeros(self._end_rows.shape)
        return np.where(self.count() > 0, values.take(rows, mode="clip"), 0)

    @step_method()
    def joined(self, characters: Texts) -> Texts:
        """Write the characters (rows,) of each query one after the other, down to each cutoff."""
        text = "".join(characters.tolist())
        texts = np.empty(self._end_rows.shape, object)
        for i, begin in enumerate(self.starts[:-1].tolist()):
            texts[i] = [text[begin:end] for end in self._end_rows[i].tolist()]
        return texts

    @cached_property
    def _end_rows(self) -> Ints:
        """Return the row after the last row down to the cutoff: (n_queries, n_cutoffs)."""
        if self.cutoffs is None:
            return self.starts[1:, None]
        if self.n_queries == 1:
            return self.rank.searchsorted(self.cutoffs, "right")
        deepest = int(self.rank.max(initial=0))
        keys = self.query * (deepest + 1) + self.rank
        cutoff_keys = np.arange(self.n_queries)[:, None] * (deepest + 1)
        cutoff_keys = cutoff_keys + np.minimum(self.cutoffs, deepest)
        return np.searchsorted(keys, cutoff_keys, side="right")

    def order(self, by: Floats) -> Ints:
        """Return the rows in the order of `by` (rows,) within each query, highest first."""
        return np.lexsort((-by, self.query))

    @step_method()
    def reordered(self, by: Floats) -> "Ranked":
        """Rank each query's rows again, highest `by` (rows,) first, ties as before; no cutoffs."""
        order = self.order(by)
        columns = {name: column[order] for name, column in self.columns.items()}
        return Ranked(self.n_queries, self.query, self.ordinal, self.grade[order], columns=columns)


def _accumulate(ranked: Ranked, accumulate: Callable[..., Floats], values: Floats) -> Floats:
    """Run `accumulate` along each query of a ranking alone: (rows,) -> (rows,).

    Queries of about the same length form a padded matrix, a row a query, so that the work and
    the memory stay within twice the number of rows however uneven the lengths are.
    """
    if ranked.n_queries == 1:
        return accumulate(values)
    row_values = np.empty(len(values))
    lengths = np.diff(ranked.starts)
    length_bits = np.frexp(lengths)[1]  # 1 -> 1, 2..3 -> 2, 4..7 -> 3, ...
    for n_bits in np.flatnonzero(np.bincount(length_bits[lengths > 0])).tolist():
        queries = np.flatnonzero(length_bits == n_bits)
        column = np.arange(int(lengths[queries].max()))
        is_filled = column < lengths[queries, None]
        rows = (ranked.starts[queries, None] + column)[is_filled]
        padded_rows = np.zeros(is_filled.shape)
        padded_rows[is_filled] = values[rows]
        row_values[rows] = accumulate(padded_rows, axis=1)[is_filled]
    return row_values


def _accumulate_backwards(values: Floats, axis: int = 0) -> Floats:
    return np.flip(np.add.accumulate(np.flip(values, axis), axis), axis)


def mean(column: Floats) -> float:
    """Return the arithmetic mean of (n,), added left to right as trec_eval adds.

    The sum() of Python 3.12 and numpy's differ from it in the last bits.
    """
    return total(column) / len(column)


def means(columns: Floats, axis: int = 0) -> Floats:
    """Return the `mean` of each column of a matrix, or along another axis."""
    column_means: Floats = np.cumsum(columns, axis=axis).take(-1, axis=axis) / columns.shape[axis]
    return column_means


def total(column: Floats) -> float:
    """Return the sum of (n,), added left to right."""
    return float(np.cumsum(column)[-1])


GEOMETRIC_FLOOR = 1e-5  # the least value in a geometric mean, as in trec_eval


def floored_log(column: Floats) -> Floats:
    """Return the logarithms of (n,); values below GEOMETRIC_FLOOR count as that."""
    return log(np.maximum(column, GEOMETRIC_FLOOR))


def geometric_mean(column: Floats) -> float:
    """Return the geometric mean of (n,); values below GEOMETRIC_FLOOR count as that."""
    return math.exp(mean(floored_log(column)))
