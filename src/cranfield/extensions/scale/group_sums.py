"""Sums of each group of scores: made in Spark's tasks, put together, and turned into results.

A sum is exact, one whole number for each measure, and so is a sum of squares: no partition, order
or retry changes a bit.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.arrays.exact import Sums, mean_of_units
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.regroup import assign_buckets
from cranfield.errors import InputError
from cranfield.extensions.scale.tasks import ANSWERED, QUERY, Batches
from cranfield.measures.aggregation import Aggregation, aggregate_exact_sum, to_summands

if TYPE_CHECKING:
    import pyarrow as pa


BASELINE_PREFIX = "__base_"
ROW_COUNT = "__rows"  # how many rows of scores a system has for a query: one
_N_CLUSTERS = 1000  # groups of queries, whose sums say how much a ratio of means varies
_TIE_TOLERANCE = 1e-9  # two values of a query that are no farther apart are the same
GroupKey = tuple[Any, ...]


class ScoreColumn(NamedTuple):
    """A column of scores, its measure's name, and how its values become one."""

    name: str
    measure: str
    aggregation: Aggregation
    higher_is_better: bool


ColumnSums = list[Sums]


@dataclass
class GroupSums:
    """Sums by group, and the Arrow values of the columns that are grouped by."""

    sums_of_group: dict[GroupKey, dict[int, ColumnSums]]

    def add(self, key: GroupKey, cluster: int, column_sums: ColumnSums) -> None:
        """Add a state to that of its group and cluster."""
        clusters = self.sums_of_group.setdefault(key, {})
        before = clusters.get(cluster)
        clusters[cluster] = (
            column_sums
            if before is None
            else [one.plus(more) for one, more in zip(before, column_sums, strict=True)]
        )

    def to_batches(self, groups: Sequence[str], column_types: Sequence[Any]) -> Batches:
        """Yield them as rows, a group each."""
        import pyarrow as pa

        if not self.sums_of_group:
            return
        keys = list(self.sums_of_group)
        arrays = [pa.array([key[i] for key in keys], kind) for i, kind in enumerate(column_types)]
        texts = [_write_sums(self.sums_of_group[key]) for key in keys]
        arrays.append(pa.array(texts, pa.string()))
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, "state"])


def _write_sums(clusters: Mapping[int, ColumnSums]) -> str:
    """Return states as JSON."""
    return json.dumps(
        {cluster: [one.to_texts() for one in state] for cluster, state in clusters.items()}
    )


def _read_sums(
    batch: "pa.RecordBatch", groups: Sequence[str]
) -> Iterator[tuple[GroupKey, dict[int, ColumnSums]]]:
    """Yield the key of each group of a batch, and the states that `_write_state` wrote."""
    keys = list(zip(*(batch.column(name).to_pylist() for name in groups), strict=True))
    texts = batch.column("state").to_pylist()
    for key, text in zip(keys or [()] * batch.num_rows, texts, strict=True):
        yield (
            key,
            {
                int(cluster): [Sums.of_texts(sum_texts) for sum_texts in state]
                for cluster, state in json.loads(text).items()
            },
        )


def merge_sums(groups: Sequence[str], batches: Batches) -> Batches:
    """Put the states of each group together, in a partition that has all of them."""
    states, types = GroupSums({}), None
    for batch in batches:
        types = types or [batch.schema.field(name).type for name in groups]
        for key, state_of_cluster in _read_sums(batch, groups):
            for cluster, state in state_of_cluster.items():
                states.add(key, cluster, state)
    yield from states.to_batches(groups, types or [])


def _split_by_group(batch: "pa.RecordBatch", groups: Sequence[str]) -> Iterator[tuple[GroupKey, Ints]]:
    """Yield the rows of each group of a batch."""
    if not groups:
        yield (), np.arange(batch.num_rows)
        return
    codes = np.zeros(batch.num_rows, np.int64)
    for name in groups:
        coded = batch.column(name).dictionary_encode(null_encoding="encode")
        codes = codes * (len(coded.dictionary) + 1) + np.asarray(coded.indices)
        _, codes = np.unique(codes, return_inverse=True)  # small numbers again
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, ends):
        first = int(rows[0])
        yield tuple(batch.column(name)[first].as_py() for name in groups), rows


def _read_scores(batch: "pa.RecordBatch", name: str) -> Floats:
    """Return a column of scores; NaN where there is none."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.float64)


def _sum_numbers(values: Floats) -> Sums:
    """Return the sums of values, without those that are NaN."""
    return Sums.of(values[~np.isnan(values)])


def _sum_columns(
    groups: Sequence[str],
    read_columns: Callable[["pa.RecordBatch"], tuple[list[Floats], Ints]],
    batches: Batches,
) -> Batches:
    """Yield the sums of each group of a partition.

    `columns_of` returns the columns of values of a batch, and the cluster of each row: (rows,).
    """
    states, types = GroupSums({}), None
    for batch in batches:
        if not batch.num_rows:
            continue
        types = types or [batch.schema.field(name).type for name in groups]
        columns, cluster = read_columns(batch)
        for key, rows in _split_by_group(batch, groups):
            for code in np.unique(cluster[rows]).tolist():
                rows_of_cluster = rows[cluster[rows] == code]
                state = [_sum_numbers(values[rows_of_cluster]) for values in columns]
                states.add(key, code, state)
    yield from states.to_batches(groups, types or [])


def sum_scores(
    groups: Sequence[str], score_columns: Sequence[ScoreColumn], has_answered: bool, batches: Batches
) -> Batches:
    """Yield the sums of each group of a partition: of each measure, and of those answered."""

    def columns_of(batch: "pa.RecordBatch") -> tuple[list[Floats], Ints]:
        n = batch.num_rows
        columns = [to_summands(kind.aggregation, _read_scores(batch, kind.name)) for kind in score_columns]
        answered = _read_scores(batch, ANSWERED) if has_answered else np.full(n, np.nan)
        return [*columns, answered], np.zeros(n, np.int64)

    return _sum_columns(groups, columns_of, batches)


def _check_single_rows(batch: "pa.RecordBatch", system: str) -> None:
    """Raise InputError for a query of which a system, or the baseline, has several rows."""
    for name in (ROW_COUNT, BASELINE_PREFIX + ROW_COUNT):
        n_rows = _read_scores(batch, name)
        if (n_rows > 1).any():
            place = int(np.argmax(n_rows > 1))
            query = batch.column(QUERY)[place].as_py()
            ours = f"{batch.column(system)[place].as_py()!r:.80}"
            who = ours if name == ROW_COUNT else "the baseline"
            raise InputError(
                f"query {query!r:.80} has {int(n_rows[place])} rows of scores of {who}: a table "
                "was appended twice, or holds several evaluations; keep one row for each query "
                "and system"
            )


def sum_pairs(
    groups: Sequence[str], score_columns: Sequence[ScoreColumn], system: str, cluster_column: str | None, batches: Batches
) -> Batches:
    """Yield the sums of each group of a partition: of both systems, of differences, of wins.

    Raises InputError for a query of which a system has several rows.
    """
    import pyarrow as pa

    def columns_of(batch: "pa.RecordBatch") -> tuple[list[Floats], Ints]:
        _check_single_rows(batch, system)
        columns = []
        for kind in score_columns:
            raw = [_read_scores(batch, name) for name in (kind.name, BASELINE_PREFIX + kind.name)]
            new, old = (to_summands(kind.aggregation, values) for values in raw)
            gain = (raw[0] - raw[1]) * (1 if kind.higher_is_better else -1)
            is_known = ~np.isnan(gain)
            new, old = (np.where(is_known, values, np.nan) for values in (new, old))
            wins = np.where(is_known, gain > _TIE_TOLERANCE, np.nan)
            losses = np.where(is_known, gain < -_TIE_TOLERANCE, np.nan)
            columns += [new, old, new - old, wins, losses]
        cluster = np.zeros(batch.num_rows, np.int64)
        if cluster_column is not None:
            texts = batch.column(cluster_column).cast(pa.string()).fill_null("").to_pylist()
            cluster = assign_buckets(Ids.of_texts(texts), _N_CLUSTERS).astype(np.int64)
        return columns, cluster

    return _sum_columns(groups, columns_of, batches)


def _make_batches(
    groups: Sequence[str],
    batches: Batches,
    names: Sequence[str],
    make_rows: Callable[[dict[int, ColumnSums]], Iterator[Sequence[Any]]],
) -> Batches:
    """Yield the rows of a result: for each group, those that its states give."""
    import pyarrow as pa

    for batch in batches:
        rows = [
            (*key, *row) for key, states in _read_sums(batch, groups) for row in make_rows(states)
        ]
        if not rows:
            continue
        types = [batch.schema.field(name).type for name in groups]
        types += [_column_type(name) for name in names]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, *names])


def _column_type(name: str) -> "pa.DataType":
    import pyarrow as pa

    counts = ("queries", "answered", "better", "worse", "same")
    return pa.string() if name == "measure" else pa.int64() if name in counts else pa.float64()


def list_means(
    groups: Sequence[str], score_columns: Sequence[ScoreColumn], ci: float, batches: Batches
) -> Batches:
    """Yield the means of each group, from its sums."""
    names = ["measure", "queries", "answered", "value", "std_error", "low", "high"]

    def rows(clusters: dict[int, ColumnSums]) -> Iterator[Sequence[Any]]:
        (state,) = clusters.values()
        answered = state[-1]
        n_answered = int(answered.total) if answered.n else None
        for one, its in zip(score_columns, state, strict=False):
            value = aggregate_exact_sum(one.aggregation, its.n_units, its.n) if its.n else None
            error = its.std_error
            low, high = _t_interval(its.mean if its.n else 0.0, error, its.n - 1, ci)
            if one.aggregation == "sum":
                error, low, high = None, None, None
            elif one.aggregation == "geometric":
                low, high = _exp_or_none(low), _exp_or_none(high)
            yield one.measure, its.n, n_answered, value, error, low, high

    return _make_batches(groups, batches, names, rows)


def list_differences(
    groups: Sequence[str], score_columns: Sequence[ScoreColumn], ci: float, relative: bool, batches: Batches
) -> Batches:
    """Yield the differences of each group, from its sums."""
    names = "measure queries mean baseline_mean difference std_error low high p better worse same"
    every = names.split()
    if relative:
        every += ["relative", "relative_low", "relative_high"]

    def rows(clusters: dict[int, ColumnSums]) -> Iterator[Sequence[Any]]:
        states = [clusters[one] for one in sorted(clusters)]  # the same order in every job
        whole = [reduce(Sums.plus, sums) for sums in zip(*states, strict=True)]
        for i, one in enumerate(score_columns):
            new, old, diff, wins, losses = whole[5 * i : 5 * i + 5]
            if not diff.n:
                continue
            means = [aggregate_exact_sum(one.aggregation, its.n_units, its.n) for its in (new, old)]
            difference, error = diff.mean, diff.std_error
            low, high = _t_interval(difference, error, diff.n - 1, ci)
            p = _t_test_p(difference, error, diff.n - 1)
            n_better, n_worse = (int(its.total) for its in (wins, losses))
            if one.aggregation == "geometric":
                shown: list[float | None] = [
                    _exp_or_none(difference),
                    error,
                    _exp_or_none(low),
                    _exp_or_none(high),
                ]
            elif one.aggregation == "sum":
                times = diff.n
                shown = [None if x is None else x * times for x in (difference, error, low, high)]
            else:
                shown = [difference, error, low, high]
            counts = [n_better, n_worse, diff.n - n_better - n_worse]
            row = [one.measure, diff.n, *means, *shown, p, *counts]
            if relative:
                pairs = [(state[5 * i], state[5 * i + 1]) for state in states]
                row += _relative_difference(pairs, one.aggregation, ci)
            yield row

    return _make_batches(groups, batches, every, rows)


def _t_interval(
    value: float, error: float | None, df: int, ci: float
) -> tuple[float | None, float | None]:
    """Return Student's interval; None without a standard error."""
    if error is None:
        return None, None
    from scipy.special import stdtrit

    far = float(stdtrit(df, (1 + ci) / 2)) * error
    return value - far, value + far


def _t_test_p(value: float, error: float | None, df: int) -> float | None:
    """Return the p-value of the t-test of a mean of 0, two-sided; None where nothing varies."""
    if not error:
        return None
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(value / error)))


def _exp_or_none(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


def _relative_difference(
    pairs: Sequence[tuple[Sums, Sums]], aggregation: Aggregation, ci: float
) -> list[float | None]:
    """Return the relative difference of two means, and its interval by the jackknife."""
    new, old = (reduce(Sums.plus, sums) for sums in zip(*pairs, strict=True))

    def without_one(without: tuple[Sums, Sums] | None = None) -> float | None:
        n = new.n - (0 if without is None else without[0].n)
        above = new.n_units - (0 if without is None else without[0].n_units)
        below = old.n_units - (0 if without is None else without[1].n_units)
        if not n:
            return None
        if aggregation == "geometric":
            return math.expm1(mean_of_units(above - below, n))
        return mean_of_units(above, n) / mean_of_units(below, n) - 1 if below else None

    value = without_one()
    left = [without_one(one) for one in pairs]
    if value is None or len(left) < 2 or None in left:
        return [value, None, None]
    each = np.array(left, np.float64)
    error = math.sqrt((len(each) - 1) / len(each) * float(((each - each.mean()) ** 2).sum()))
    return [value, *_t_interval(value, error, len(each) - 1, ci)]
