"""Totals: means, intervals and comparisons of scores of queries that Spark holds.

Sums are exact, one whole number for each measure, and so are sums of squares. They are made in the
tasks and put together; no partition, order or retry changes a bit.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.arrays.exact import Sums, mean_of
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.regroup import bucket_of
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions.scale.tasks import ANSWERED, QUERY, Batches
from cranfield.measures import Measure, parse
from cranfield.measures.aggregation import Aggregation, of_exact_sum, summed
from cranfield.options import checked, share

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

MEASURE = "cranfield_measure"  # in the metadata of a column of scores: the measure's name
ROLE = "cranfield_role"  # of another column: "system"
_BASE = "__base_"
_ROWS = "__rows"  # how many rows of scores a system has for a query: one
_CLUSTERS = 1000  # groups of queries, whose sums say how much a ratio of means varies
_TIE = 1e-9  # two values of a query that are no farther apart are the same
Key = tuple[Any, ...]


def column(name: str) -> "Column":
    """Return a column by its name, which may have a dot."""
    from pyspark.sql import functions

    return functions.col(quoted(name))


def quoted(name: str) -> str:
    """Return a column's name as SQL has it, with any letters in it.

    >>> quoted("nDCG@10"), quoted("a`b")
    ('`nDCG@10`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


class Kind(NamedTuple):
    """A column of scores, its measure's name, and how its values become one."""

    column: str
    measure: str
    aggregation: Aggregation
    rising: bool


State = list[Sums]


# ---- what Spark is asked to do ------------------------------------------------------------------


def summarize(
    scores: "DataFrame",
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    *,
    ci: float = 0.95,
) -> "DataFrame":
    """Return the mean of each measure, with its standard error and interval, as a DataFrame.

    It has a row for each measure and each group of `by`: the columns of `by`, `measure`, `queries`
    (averaged), `answered` (of these, those that the run has), `value`, `std_error`, `low` and
    `high`; and of all groups of a system, `unjudged` (queries of the run without judgments, which
    count for nothing) and `left_out` (rows of both sides that `errors="skip"` left out). Sums are
    exact and rounded once: the same bits for any number of partitions, and those of
    `Scores.means(exact=True)`.

    `value` is the sum for a count such as NumRet, the geometric mean for GMAP (whose interval is
    that of the mean of the logarithms). The interval is Student's; None for one query.

    Args:
        scores: what `evaluate` returned, best from a table that it was written to.
        by: columns to group by, such as the system and what was kept of the judgments. None: the
            system, if `evaluate` was given one.
        measures: which columns, by the measures' names. None: all.
        ci: how often the interval is to hold the mean of all such queries, above 0 and below 1.

    Raises:
        InputError: a column is missing.
        MeasureError: a measure without a column of scores.

    """
    level_of_interval = checked("ci", ci, share())
    groups = _groups(scores, by)
    kinds = _kinds(scores, measures)
    answered = [ANSWERED] if ANSWERED in scores.columns else []
    used = dict.fromkeys([*groups, *answered, *(one.column for one in kinds)])
    data = scores.select(*map(column, used))
    states = _merged(data, groups, partial(_summed, groups, kinds, bool(answered)))
    fields = "measure string, queries bigint, answered bigint, value double, std_error double, "
    schema = _with_groups(scores, groups, f"{fields}low double, high double")
    means = states.mapInArrow(partial(_summary, groups, kinds, level_of_interval), schema)
    return _with_counts(scores, groups, means)


def _with_counts(scores: "DataFrame", groups: Sequence[str], means: "DataFrame") -> "DataFrame":
    """Return the means with the counts of the systems, which are in the metadata of `answered`."""
    from pyspark.sql import functions

    metadata = scores.schema[ANSWERED].metadata if ANSWERED in scores.columns else {}
    system = next((name for name in _groups(scores, None) if name in groups), None)
    for name in ("unjudged", "left_out"):
        counts = metadata.get(name, "{}")
        count = functions.lit(sum(json.loads(counts).values()) if name in metadata else None)
        if system is not None:
            by_system = functions.from_json(functions.lit(counts), "map<string, bigint>")
            count = by_system[column(system)]
        means = means.withColumn(name, count.cast("bigint"))
    return means


def compare(
    scores: "DataFrame",
    baseline: str,
    by: str | Sequence[str] = (),
    measures: str | Sequence[str] | None = None,
    *,
    system: str | None = None,
    ci: float = 0.95,
    relative: bool = False,
    cluster: str | None = None,
) -> "DataFrame":
    """Return how each system differs from a baseline, paired by query, as a DataFrame.

    It has a row for each system, measure and group of `by`: the columns of `by`, the system,
    `measure`, `queries` (that both have), `mean`, `baseline_mean`, `difference`, `std_error`, `low`
    and `high` (Student's interval of the mean difference), `p` (paired t-test, two-sided;
    uncorrected), `better`, `worse` and `same` (queries). For a geometric mean such as GMAP,
    `difference`, `low` and `high` are ratios: above 1 is better.

    With `relative`, also `relative`, `relative_low` and `relative_high`: by which share the mean is
    above the baseline's. That is no mean; its interval is by the jackknife over 1,000 groups of
    queries, by the hash of their ids (as Chamandy et al., "Estimating Uncertainty for Massive Data
    Streams", Google 2012, divide them).

    Args:
        scores: what `evaluate(..., by=...)` returned, best from a table that it was written to.
        baseline: the name of the system that the others are compared with.
        by: columns to group by, such as what was kept of the judgments.
        measures: which columns, by the measures' names. None: all.
        system: the column of the systems. None: the one that `evaluate` made.
        ci: how often the interval is to hold the true difference, above 0 and below 1.
        relative: whether to add the relative difference.
        cluster: with `relative`, the column whose values are grouped instead of query ids, where
            queries depend on one another, as those of one user.

    Raises:
        InputError: a column is missing, or there are no scores of the baseline, which a Spark job
            looks for; in a task, a system has several rows for one query.
        MeasureError: a measure without a column of scores.
        OptionError: an option with a value that is not one of its choices.

    """
    from pyspark.sql import Window, functions

    level_of_interval = checked("ci", ci, share())
    if cluster is not None and not relative:
        raise OptionError("cluster goes with relative=True")
    whose = _system(scores) if system is None else system
    groups = [one for one in _groups(scores, by) if one != whose]
    kinds = _kinds(scores, measures)
    hashed = QUERY if cluster is None else cluster
    _check_columns(scores, [whose, QUERY, hashed])
    values = [one.column for one in kinds]
    used = dict.fromkeys([whose, QUERY, hashed, *groups, *values])
    of_base = column(whose) == functions.lit(baseline)
    if scores.where(of_base).isEmpty():
        raise InputError(f"there are no scores of the baseline {baseline!r} in column {whose!r}")
    # Each system's rows of a query meet in one task, where a second one is found; the join needs
    # the rows of a query together, too.
    once = Window.partitionBy(column(QUERY), column(whose))
    data = scores.select(*map(column, used)).repartition(column(QUERY))
    data = data.withColumn(_ROWS, functions.count(functions.lit(1)).over(once))
    ours = data.where(~of_base)
    base = data.where(of_base).select(
        column(QUERY).alias(_BASE + QUERY),
        *(column(name).alias(_BASE + name) for name in [_ROWS, *values]),
    )
    paired = ours.join(base, column(QUERY) == column(_BASE + QUERY), "inner")
    keys = [*groups, whose]
    made = partial(_paired, keys, kinds, hashed if relative else None)
    states = _merged(paired, keys, partial(_once, whose, made))
    fields = (
        "measure string, queries bigint, mean double, baseline_mean double, difference double, "
        "std_error double, low double, high double, p double, better bigint, worse bigint, "
        "same bigint"
    )
    if relative:
        fields += ", relative double, relative_low double, relative_high double"
    schema = _with_groups(scores, keys, fields)
    return states.mapInArrow(
        partial(_differences, keys, kinds, level_of_interval, relative), schema
    )


def _check_columns(scores: "DataFrame", names: Sequence[str]) -> None:
    for name in names:
        if name not in scores.columns:
            raise InputError(
                f"the scores have no column {name!r}; they have {', '.join(scores.columns)}",
                kind="columns",
            )


def _system(scores: "DataFrame") -> str:
    """Return the column of the systems."""
    found = [one.name for one in scores.schema if one.metadata.get(ROLE) == "system"]
    if not found and "system" in scores.columns:
        return "system"
    if not found:
        raise OptionError("the scores do not say which column has the system: state it, system=...")
    return str(found[0])


def _groups(scores: "DataFrame", by: str | Sequence[str] | None) -> list[str]:
    if by is None:
        return [one.name for one in scores.schema if one.metadata.get(ROLE) == "system"]
    found = [by] if isinstance(by, str) else list(by)
    _check_columns(scores, found)
    return found


def _kinds(scores: "DataFrame", measures: str | Sequence[str] | None) -> list[Kind]:
    """Return the columns of scores; MeasureError for a measure that has none."""
    found: dict[str, Kind] = {}
    for one in scores.schema:
        name = one.metadata.get(MEASURE) or one.name
        known = _known(name)
        if known is None or one.dataType.typeName() != "double":
            continue
        rising = known.definition.higher_is_better is not False
        found[str(known)] = Kind(one.name, str(known), known.definition.aggregation, rising)
    if measures is None:
        wanted = list(found)
    else:
        texts = [measures] if isinstance(measures, str) else measures
        wanted = [str(parse(name)) for text in texts for name in text.split()]
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        has = f"they have {', '.join(found)}" if found else "they have no column of a measure"
        which = missing[0] if missing else "a measure"
        raise MeasureError(f"there are no scores of {which}; {has}")
    return [found[name] for name in dict.fromkeys(wanted)]


def _known(name: str) -> Measure | None:
    try:
        return parse(name, glued=False)
    except MeasureError:
        return None


def _with_groups(scores: "DataFrame", groups: Sequence[str], fields: str) -> str:
    """Return the columns of a result: those to group by, and others."""
    kinds = dict(scores.dtypes)
    return ", ".join([*(f"{quoted(name)} {kinds[name]}" for name in groups), fields])


def _merged(
    data: "DataFrame", groups: Sequence[str], made: Callable[[Batches], Batches]
) -> "DataFrame":
    """Return a row for each group with its state, from the states of the partitions."""
    schema = _with_groups(data, groups, "state string")
    states = data.mapInArrow(made, schema)
    states = states.repartition(*map(column, groups)) if groups else states.repartition(1)
    return states.mapInArrow(partial(_plus, groups), schema)


# ---- in the tasks: states -----------------------------------------------------------------------


@dataclass
class _States:
    """Sums by group, and the Arrow values of the columns that are grouped by."""

    sums: dict[Key, dict[int, State]]

    def add(self, key: Key, cluster: int, state: State) -> None:
        """Add a state to that of its group and cluster."""
        clusters = self.sums.setdefault(key, {})
        before = clusters.get(cluster)
        clusters[cluster] = (
            state
            if before is None
            else [one.plus(more) for one, more in zip(before, state, strict=True)]
        )

    def batches(self, groups: Sequence[str], types: Sequence[Any]) -> Batches:
        """Yield them as rows, a group each."""
        import pyarrow as pa

        if not self.sums:
            return
        keys = list(self.sums)
        arrays = [pa.array([key[i] for key in keys], kind) for i, kind in enumerate(types)]
        texts = [_text_of(self.sums[key]) for key in keys]
        arrays.append(pa.array(texts, pa.string()))
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, "state"])


def _text_of(clusters: Mapping[int, State]) -> str:
    """Return states as JSON."""
    return json.dumps(
        {cluster: [one.texts() for one in state] for cluster, state in clusters.items()}
    )


def _states_in(text: str) -> dict[int, State]:
    """Return the states that `_text_of` wrote."""
    return {
        int(cluster): [Sums.of_texts(one) for one in state]
        for cluster, state in json.loads(text).items()
    }


def _plus(groups: Sequence[str], batches: Batches) -> Batches:
    """Put the states of each group together, in a partition that has all of them."""
    states, types = _States({}), None
    for batch in batches:
        types = types or [batch.schema.field(name).type for name in groups]
        keys = zip(*(batch.column(name).to_pylist() for name in groups), strict=True)
        every = list(keys) if groups else [()] * batch.num_rows
        for key, text in zip(every, batch.column("state").to_pylist(), strict=True):
            for cluster, state in _states_in(text).items():
                states.add(key, cluster, state)
    yield from states.batches(groups, types or [])


def _by_key(batch: "pa.RecordBatch", groups: Sequence[str]) -> Iterator[tuple[Key, Ints]]:
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


def _values(batch: "pa.RecordBatch", name: str) -> Floats:
    """Return a column of scores; NaN where there is none."""
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.float64)


def _sums(values: Floats) -> Sums:
    """Return the sums of values, without those that are NaN."""
    return Sums.of(values[~np.isnan(values)])


def _summed(
    groups: Sequence[str], kinds: Sequence[Kind], has_answered: bool, batches: Batches
) -> Batches:
    """Yield the sums of each group of a partition: of each measure, and of those answered."""
    states, types = _States({}), None
    for batch in batches:
        if not batch.num_rows:
            continue
        types = types or [batch.schema.field(name).type for name in groups]
        columns = [summed(one.aggregation, _values(batch, one.column)) for one in kinds]
        answered = _values(batch, ANSWERED) if has_answered else np.full(batch.num_rows, np.nan)
        for key, rows in _by_key(batch, groups):
            state = [_sums(values[rows]) for values in (*columns, answered)]
            states.add(key, 0, state)
    yield from states.batches(groups, types or [])


def _once(system: str, then: Callable[[Batches], Batches], batches: Batches) -> Batches:
    """Return what `then` yields; InputError for a query of which a system has several rows."""

    def checked_rows() -> Batches:
        for batch in batches:
            for name in (_ROWS, _BASE + _ROWS):
                rows = _values(batch, name)
                if (rows > 1).any():
                    at = int(np.argmax(rows > 1))
                    query = batch.column(QUERY)[at].as_py()
                    ours = f"{batch.column(system)[at].as_py()!r:.80}"
                    who = ours if name == _ROWS else "the baseline"
                    raise InputError(
                        f"query {query!r:.80} has {int(rows[at])} rows of scores of {who}: a table "
                        "was appended twice, or holds several evaluations; keep one row for each "
                        "query and system"
                    )
            yield batch

    return then(checked_rows())


def _paired(
    groups: Sequence[str], kinds: Sequence[Kind], hashed: str | None, batches: Batches
) -> Batches:
    """Yield the sums of each group of a partition: of both systems, of differences, of wins."""
    import pyarrow as pa

    states, types = _States({}), None
    for batch in batches:
        if not batch.num_rows:
            continue
        types = types or [batch.schema.field(name).type for name in groups]
        columns = []
        for one in kinds:
            raw = [_values(batch, name) for name in (one.column, _BASE + one.column)]
            new, old = (summed(one.aggregation, values) for values in raw)
            gain = (raw[0] - raw[1]) * (1 if one.rising else -1)
            there = ~np.isnan(gain)
            new, old = (np.where(there, values, np.nan) for values in (new, old))
            wins = np.where(there, gain > _TIE, np.nan)
            losses = np.where(there, gain < -_TIE, np.nan)
            columns += [new, old, new - old, wins, losses]
        clusters = np.zeros(batch.num_rows, np.int64)
        if hashed is not None:
            texts = batch.column(hashed).cast(pa.string()).fill_null("").to_pylist()
            clusters = bucket_of(Ids.of_texts(texts), _CLUSTERS).astype(np.int64)
        for key, rows in _by_key(batch, groups):
            for cluster in np.unique(clusters[rows]).tolist():
                some = rows[clusters[rows] == cluster]
                states.add(key, cluster, [_sums(values[some]) for values in columns])
    yield from states.batches(groups, types or [])


# ---- in the tasks: results ----------------------------------------------------------------------


def _results(
    groups: Sequence[str],
    batches: Batches,
    names: Sequence[str],
    rows_of: Callable[[dict[int, State]], Iterator[Sequence[Any]]],
) -> Batches:
    """Yield the rows of a result: for each group, those that its states give."""
    import pyarrow as pa

    for batch in batches:
        keys: list[Key] = (
            list(zip(*(batch.column(name).to_pylist() for name in groups), strict=True))
            or [()] * batch.num_rows
        )
        found: list[tuple[Any, ...]] = []
        for key, text in zip(keys, batch.column("state").to_pylist(), strict=True):
            found += [(*key, *row) for row in rows_of(_states_in(text))]
        if not found:
            continue
        types = [batch.schema.field(name).type for name in groups]
        types += [_type_of(name) for name in names]
        columns = zip(*found, strict=True)
        arrays = [pa.array(list(one), kind) for one, kind in zip(columns, types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*groups, *names])


def _type_of(name: str) -> "pa.DataType":
    import pyarrow as pa

    counts = ("queries", "answered", "better", "worse", "same")
    return pa.string() if name == "measure" else pa.int64() if name in counts else pa.float64()


def _summary(groups: Sequence[str], kinds: Sequence[Kind], ci: float, batches: Batches) -> Batches:
    """Yield the means of each group, from its sums."""
    names = ["measure", "queries", "answered", "value", "std_error", "low", "high"]

    def rows(clusters: dict[int, State]) -> Iterator[Sequence[Any]]:
        (state,) = clusters.values()
        answered = state[-1]
        n_answered = int(answered.total) if answered.n else None
        for one, its in zip(kinds, state, strict=False):
            value = of_exact_sum(one.aggregation, its.units, its.n) if its.n else None
            error = its.std_error
            low, high = _interval(its.mean if its.n else 0.0, error, its.n - 1, ci)
            if one.aggregation == "sum":
                error, low, high = None, None, None
            elif one.aggregation == "geometric":
                low, high = _exp(low), _exp(high)
            yield one.measure, its.n, n_answered, value, error, low, high

    return _results(groups, batches, names, rows)


def _differences(
    groups: Sequence[str], kinds: Sequence[Kind], ci: float, relative: bool, batches: Batches
) -> Batches:
    """Yield the differences of each group, from its sums."""
    names = "measure queries mean baseline_mean difference std_error low high p better worse same"
    every = names.split()
    if relative:
        every += ["relative", "relative_low", "relative_high"]

    def rows(clusters: dict[int, State]) -> Iterator[Sequence[Any]]:
        states = [clusters[one] for one in sorted(clusters)]  # the same order in every job
        whole = [reduce(Sums.plus, sums) for sums in zip(*states, strict=True)]
        for i, one in enumerate(kinds):
            new, old, diff, wins, losses = whole[5 * i : 5 * i + 5]
            if not diff.n:
                continue
            means = [of_exact_sum(one.aggregation, its.units, its.n) for its in (new, old)]
            difference, error = diff.mean, diff.std_error
            low, high = _interval(difference, error, diff.n - 1, ci)
            p = _p(difference, error, diff.n - 1)
            n_better, n_worse = (int(its.total) for its in (wins, losses))
            if one.aggregation == "geometric":
                shown: list[float | None] = [_exp(difference), error, _exp(low), _exp(high)]
            elif one.aggregation == "sum":
                times = diff.n
                shown = [None if x is None else x * times for x in (difference, error, low, high)]
            else:
                shown = [difference, error, low, high]
            counts = [n_better, n_worse, diff.n - n_better - n_worse]
            row = [one.measure, diff.n, *means, *shown, p, *counts]
            if relative:
                pairs = [(state[5 * i], state[5 * i + 1]) for state in states]
                row += _relative(pairs, one.aggregation, ci)
            yield row

    return _results(groups, batches, every, rows)


def _interval(
    value: float, error: float | None, df: int, ci: float
) -> tuple[float | None, float | None]:
    """Return Student's interval; None without a standard error."""
    if error is None:
        return None, None
    from scipy.special import stdtrit

    far = float(stdtrit(df, (1 + ci) / 2)) * error
    return value - far, value + far


def _p(value: float, error: float | None, df: int) -> float | None:
    """Return the p-value of the t-test of a mean of 0, two-sided; None where nothing varies."""
    if not error:
        return None
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(value / error)))


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


def _relative(
    pairs: Sequence[tuple[Sums, Sums]], aggregation: Aggregation, ci: float
) -> list[float | None]:
    """Return the relative difference of two means, and its interval by the jackknife."""
    new, old = (reduce(Sums.plus, sums) for sums in zip(*pairs, strict=True))

    def without_one(without: tuple[Sums, Sums] | None = None) -> float | None:
        n = new.n - (0 if without is None else without[0].n)
        above = new.units - (0 if without is None else without[0].units)
        below = old.units - (0 if without is None else without[1].units)
        if not n:
            return None
        if aggregation == "geometric":
            return math.expm1(mean_of(above - below, n))
        return mean_of(above, n) / mean_of(below, n) - 1 if below else None

    value = without_one()
    left = [without_one(one) for one in pairs]
    if value is None or len(left) < 2 or None in left:
        return [value, None, None]
    each = np.array(left, np.float64)
    error = math.sqrt((len(each) - 1) / len(each) * float(((each - each.mean()) ** 2).sum()))
    return [value, *_interval(value, error, len(each) - 1, ci)]
