"""Group sums: Spark's tasks add up the scores of each group, merge the sums, and make rows of them.

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


BASELINE_PREFIX = "__base_"  # of the columns of the baseline's scores
ROW_COUNT = "__rows"  # how many rows of scores a system has for a query: only one is allowed
_N_CLUSTERS = 1000  # groups of queries, whose sums say how much a ratio of means varies
_TIE_TOLERANCE = 1e-9  # two values of a query that are no farther apart are the same
GroupKey = tuple[Any, ...]  # the values of the columns to group by


class ScoreColumn(NamedTuple):
    """A column of scores, its measure, and how the scores are aggregated."""

    name: str
    measure: str
    aggregation: Aggregation
    higher_is_better: bool


ColumnSums = list[Sums]


@dataclass
class GroupSums:
    """Sums by group and cluster: a `Sums` for each column of numbers."""

    sums_of_group: dict[GroupKey, dict[int, ColumnSums]]

    def add(self, key: GroupKey, cluster: int, column_sums: ColumnSums) -> None:
        """Add the sums of some rows to those of their group and cluster."""
        clusters = self.sums_of_group.setdefault(key, {})
        previous_sums = clusters.get(cluster)
        clusters[cluster] = (
            column_sums
            if previous_sums is None
            else [
                total.plus(addend) for total, addend in zip(previous_sums, column_sums, strict=True)
            ]
        )

    def to_batches(self, groups: Sequence[str], column_types: Sequence[Any]) -> Batches:
        """Yield the sums as a batch with a row for each group: its key, and its sums as JSON."""
        import pyarrow as pa

        if not self.sums_of_group:
            return
        keys = list(self.sums_of_group)
        arrays = [
            pa.array([key[i] for key in keys], column_type)
            for i, column_type in enumerate(column_types)
        ]
        texts = [_write_sums(self.sums_of_group[key]) for key in keys]
        arrays.append(pa.array(texts, pa.string()))
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, "state"])


def _write_sums(sums_of_cluster: Mapping[int, ColumnSums]) -> str:
    """Return the sums of a group's clusters as JSON."""
    return json.dumps(
        {
            cluster: [total.to_texts() for total in column_sums]
            for cluster, column_sums in sums_of_cluster.items()
        }
    )


def _read_sums(
    batch: "pa.RecordBatch", groups: Sequence[str]
) -> Iterator[tuple[GroupKey, dict[int, ColumnSums]]]:
    """Yield the key of each group of a batch, and the sums that `_write_sums` wrote."""
    keys = list(zip(*(batch.column(name).to_pylist() for name in groups), strict=True))
    texts = batch.column("state").to_pylist()
    for key, text in zip(keys or [()] * batch.num_rows, texts, strict=True):
        yield (
            key,
            {
                int(cluster): [Sums.of_texts(sum_texts) for sum_texts in column_sums]
                for cluster, column_sums in json.loads(text).items()
            },
        )


def merge_sums(groups: Sequence[str], batches: Batches) -> Batches:
    """Yield the merged sums of each group, of a partition that has all of them."""
    group_sums, column_types = GroupSums({}), None
    for batch in batches:
        column_types = column_types or [batch.schema.field(name).type for name in groups]
        for key, sums_of_cluster in _read_sums(batch, groups):
            for cluster, column_sums in sums_of_cluster.items():
                group_sums.add(key, cluster, column_sums)
    yield from group_sums.to_batches(groups, column_types or [])


def _split_by_group(
    batch: "pa.RecordBatch", groups: Sequence[str]
) -> Iterator[tuple[GroupKey, Ints]]:
    """Yield the key of each group of a batch, and its rows."""
    if not groups:
        yield (), np.arange(batch.num_rows)
        return
    codes = np.zeros(batch.num_rows, np.int64)
    for name in groups:
        encoded_column = batch.column(name).dictionary_encode(null_encoding="encode")
        codes = codes * (len(encoded_column.dictionary) + 1) + np.asarray(encoded_column.indices)
        _, codes = np.unique(codes, return_inverse=True)  # small numbers again
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, ends):
        first = int(rows[0])
        yield tuple(batch.column(name)[first].as_py() for name in groups), rows


def _read_scores(batch: "pa.RecordBatch", name: str) -> Floats:
    """Return a column of scores; NaN where there is none."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.float64)


def _sum_numbers(numbers: Floats) -> Sums:
    """Return the sums of an array of numbers, without NaN."""
    return Sums.of(numbers[~np.isnan(numbers)])


def _sum_columns(
    groups: Sequence[str],
    read_columns: Callable[["pa.RecordBatch"], tuple[list[Floats], Ints]],
    batches: Batches,
) -> Batches:
    """Yield the sums of each group of a partition.

    `read_columns` returns columns of numbers of a batch, and the cluster of each row: (n_rows,).
    """
    group_sums, column_types = GroupSums({}), None
    for batch in batches:
        if not batch.num_rows:
            continue
        column_types = column_types or [batch.schema.field(name).type for name in groups]
        columns, cluster = read_columns(batch)
        for key, rows in _split_by_group(batch, groups):
            for code in np.unique(cluster[rows]).tolist():
                cluster_rows = rows[cluster[rows] == code]
                column_sums = [_sum_numbers(column[cluster_rows]) for column in columns]
                group_sums.add(key, code, column_sums)
    yield from group_sums.to_batches(groups, column_types or [])


def sum_scores(
    groups: Sequence[str],
    score_columns: Sequence[ScoreColumn],
    has_answered: bool,
    batches: Batches,
) -> Batches:
    """Yield the sums of each group of a partition: of each measure, and of answered queries."""

    def read_columns(batch: "pa.RecordBatch") -> tuple[list[Floats], Ints]:
        n = batch.num_rows
        columns = [
            to_summands(column.aggregation, _read_scores(batch, column.name))
            for column in score_columns
        ]
        is_answered = _read_scores(batch, ANSWERED) if has_answered else np.full(n, np.nan)
        return [*columns, is_answered], np.zeros(n, np.int64)

    return _sum_columns(groups, read_columns, batches)


def _check_single_rows(batch: "pa.RecordBatch", system_column: str) -> None:
    """Raise InputError for a query of which a system, or the baseline, has several rows."""
    for name in (ROW_COUNT, BASELINE_PREFIX + ROW_COUNT):
        n_rows = _read_scores(batch, name)
        if (n_rows > 1).any():
            row = int(np.argmax(n_rows > 1))
            query = batch.column(QUERY)[row].as_py()
            system_name = f"{batch.column(system_column)[row].as_py()!r:.80}"
            owner = system_name if name == ROW_COUNT else "the baseline"
            raise InputError(
                f"query {query!r:.80} has {int(n_rows[row])} rows of scores of {owner}: a table "
                "was appended twice, or holds several evaluations; keep one row for each query "
                "and system"
            )


def sum_pairs(
    groups: Sequence[str],
    score_columns: Sequence[ScoreColumn],
    system_column: str,
    cluster_column: str | None,
    batches: Batches,
) -> Batches:
    """Yield the sums of each group of a partition: both systems', of differences, wins and losses.

    `cluster_column` divides a group's rows into clusters by its hash; None: they are one cluster.
    Raises InputError for a query of which a system, or the baseline, has several rows.
    """
    import pyarrow as pa

    def read_columns(batch: "pa.RecordBatch") -> tuple[list[Floats], Ints]:
        _check_single_rows(batch, system_column)
        columns = []
        for column in score_columns:
            score = _read_scores(batch, column.name)
            baseline_score = _read_scores(batch, BASELINE_PREFIX + column.name)
            gain = (score - baseline_score) * (1 if column.higher_is_better else -1)
            has_gain = ~np.isnan(gain)
            summand, baseline_summand = (
                np.where(has_gain, to_summands(column.aggregation, values), np.nan)
                for values in (score, baseline_score)
            )
            wins = np.where(has_gain, gain > _TIE_TOLERANCE, np.nan)
            losses = np.where(has_gain, gain < -_TIE_TOLERANCE, np.nan)
            columns += [summand, baseline_summand, summand - baseline_summand, wins, losses]
        cluster = np.zeros(batch.num_rows, np.int64)
        if cluster_column is not None:
            texts = batch.column(cluster_column).cast(pa.string()).fill_null("").to_pylist()
            cluster = assign_buckets(Ids.of_texts(texts), _N_CLUSTERS).astype(np.int64)
        return columns, cluster

    return _sum_columns(groups, read_columns, batches)


def _make_batches(
    groups: Sequence[str],
    batches: Batches,
    names: Sequence[str],
    make_rows: Callable[[dict[int, ColumnSums]], Iterator[Sequence[Any]]],
) -> Batches:
    """Yield batches of the rows that `make_rows` makes of the merged sums of each group."""
    import pyarrow as pa

    for batch in merge_sums(groups, batches):
        rows = [
            (*key, *row)
            for key, sums_of_cluster in _read_sums(batch, groups)
            for row in make_rows(sums_of_cluster)
        ]
        if not rows:
            continue
        types = [batch.schema.field(name).type for name in groups]
        types += [_column_type(name) for name in names]
        columns = zip(*rows, strict=True)
        arrays = [
            pa.array(list(column), column_type)
            for column, column_type in zip(columns, types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, *names])


def _column_type(name: str) -> "pa.DataType":
    import pyarrow as pa

    counts = ("queries", "answered", "better", "worse", "same")
    return pa.string() if name == "measure" else pa.int64() if name in counts else pa.float64()


def list_means(
    groups: Sequence[str], score_columns: Sequence[ScoreColumn], ci: float, batches: Batches
) -> Batches:
    """Yield the means, or sums, of each group with intervals of confidence `ci`, from its sums."""
    names = ["measure", "queries", "answered", "value", "std_error", "low", "high"]

    def make_rows(sums_of_cluster: dict[int, ColumnSums]) -> Iterator[Sequence[Any]]:
        (column_sums,) = sums_of_cluster.values()
        answered_sum = column_sums[-1]
        n_answered = int(answered_sum.total) if answered_sum.n else None
        for column, sums in zip(score_columns, column_sums, strict=False):
            n, aggregation, std_error = sums.n, column.aggregation, sums.std_error
            aggregate = aggregate_exact_sum(aggregation, sums.n_units, n) if n else None
            low, high = _t_interval(sums.mean if n else 0.0, std_error, n - 1, ci)
            if aggregation == "sum":
                std_error, low, high = None, None, None
            elif aggregation == "geometric":
                low, high = _exp_or_none(low), _exp_or_none(high)
            yield column.measure, n, n_answered, aggregate, std_error, low, high

    return _make_batches(groups, batches, names, make_rows)


def list_differences(
    groups: Sequence[str],
    score_columns: Sequence[ScoreColumn],
    ci: float,
    relative: bool,
    batches: Batches,
) -> Batches:
    """Yield the differences of each group with intervals of confidence `ci`, from its sums."""
    names = "measure queries mean baseline_mean difference std_error low high p better worse same"
    column_names = names.split()
    if relative:
        column_names += ["relative", "relative_low", "relative_high"]

    def make_rows(sums_of_cluster: dict[int, ColumnSums]) -> Iterator[Sequence[Any]]:
        # In the same order in every job.
        clusters = [sums_of_cluster[cluster] for cluster in sorted(sums_of_cluster)]
        totals = [reduce(Sums.plus, sums) for sums in zip(*clusters, strict=True)]
        for i, column in enumerate(score_columns):
            scores, baseline_scores, differences, wins, losses = totals[5 * i : 5 * i + 5]
            n, aggregation = differences.n, column.aggregation
            if not n:
                continue
            means = [
                aggregate_exact_sum(aggregation, sums.n_units, sums.n)
                for sums in (scores, baseline_scores)
            ]
            difference, std_error = differences.mean, differences.std_error
            low, high = _t_interval(difference, std_error, n - 1, ci)
            estimates: list[float | None] = [difference, std_error, low, high]
            if aggregation == "geometric":
                estimates = [math.exp(difference), std_error, _exp_or_none(low), _exp_or_none(high)]
            elif aggregation == "sum":
                estimates = [None if x is None else x * n for x in estimates]
            n_better, n_worse = int(wins.total), int(losses.total)
            p = _t_test_p(difference, std_error, n - 1)
            counts = [n_better, n_worse, n - n_better - n_worse]
            row = [column.measure, n, *means, *estimates, p, *counts]
            if relative:
                pairs = [(sums[5 * i], sums[5 * i + 1]) for sums in clusters]
                row += _relative_difference(pairs, aggregation, ci)
            yield row

    return _make_batches(groups, batches, column_names, make_rows)


def _t_interval(
    mean: float, error: float | None, df: int, ci: float
) -> tuple[float | None, float | None]:
    """Return the ends of Student's interval, None without a standard error."""
    if error is None:
        return None, None
    from scipy.special import stdtrit

    half_width = float(stdtrit(df, (1 + ci) / 2)) * error
    return mean - half_width, mean + half_width


def _t_test_p(mean: float, error: float | None, df: int) -> float | None:
    """Return the p-value of the t-test of a mean of 0, two-sided; None without an error above 0."""
    if not error:
        return None
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(mean / error)))


def _exp_or_none(log_mean: float | None) -> float | None:
    return None if log_mean is None else math.exp(log_mean)


def _relative_difference(
    pairs: Sequence[tuple[Sums, Sums]], aggregation: Aggregation, ci: float
) -> list[float | None]:
    """Return the relative difference of two means, and its interval by the jackknife.

    `pairs` are the sums of both in each cluster. None where the mean of the baseline is 0; no
    interval for fewer than two clusters, or where it is 0 without one of them.
    """
    system_sum, baseline_sum = (reduce(Sums.plus, sums) for sums in zip(*pairs, strict=True))

    def gain_without(left_out_pair: tuple[Sums, Sums] | None = None) -> float | None:
        n = system_sum.n - (0 if left_out_pair is None else left_out_pair[0].n)
        numerator = system_sum.n_units - (0 if left_out_pair is None else left_out_pair[0].n_units)
        denominator = baseline_sum.n_units - (
            0 if left_out_pair is None else left_out_pair[1].n_units
        )
        if not n:
            return None
        if aggregation == "geometric":
            return math.expm1(mean_of_units(numerator - denominator, n))
        return (
            mean_of_units(numerator, n) / mean_of_units(denominator, n) - 1 if denominator else None
        )

    gain = gain_without()
    jackknife_gains = [gain_without(pair) for pair in pairs]
    if gain is None or len(jackknife_gains) < 2 or None in jackknife_gains:
        return [gain, None, None]
    gains = np.array(jackknife_gains, np.float64)
    error = math.sqrt((len(gains) - 1) / len(gains) * float(((gains - gains.mean()) ** 2).sum()))
    return [gain, *_t_interval(gain, error, len(gains) - 1, ci)]
