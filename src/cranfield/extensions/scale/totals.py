"""Totals: means, intervals and comparisons of scores of queries that Spark holds.

Spark's tasks make exact sums of the scores, and rows of the sums: see `group_sums.py`.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions.scale.group_sums import (
    BASELINE_PREFIX,
    ROW_COUNT,
    ScoreColumn,
    list_differences,
    list_means,
    sum_pairs,
    sum_scores,
)
from cranfield.extensions.scale.tasks import ANSWERED, QUERY, Batches
from cranfield.formats.block import Errors
from cranfield.measures import Measure, parse
from cranfield.options import check_option, share_check

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MEASURE = "cranfield_measure"  # in the metadata of a column of scores: the measure's name
ROLE = "cranfield_role"  # of another column: "system"


def column_of_name(name: str) -> "Column":
    """Return a column by its name, which may have a dot."""
    from pyspark.sql import functions

    return functions.col(quote_name(name))


def quote_name(name: str) -> str:
    """Return a column's name as SQL has it, with any letters in it.

    >>> quote_name("nDCG@10"), quote_name("a`b")
    ('`nDCG@10`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


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

    `value` is the sum for a count such as NumRet, which has no `std_error` or interval; the
    geometric mean for GMAP (its `std_error` is that of the mean of the logarithms, by which the
    interval is). The interval is Student's; None for one query.

    Args:
        scores: what `evaluate` returned, best from a table that it was written to.
        by: columns to group by, such as the system and what was kept of the judgments. None: the
            system, if `evaluate` was given one.
        measures: which columns, by the measures' names. None: all.
        ci: how often the interval is to hold the mean of all such queries, above 0 and below 1.

    Raises:
        InputError: a column is missing.
        MeasureError: a measure without a column of scores.
        OptionError: `ci` is not above 0 and below 1.

    """
    confidence = check_option("ci", ci, share_check())
    groups = _group_columns(scores, by)
    score_columns = _find_score_columns(scores, measures)
    answered_columns = [ANSWERED] if ANSWERED in scores.columns else []
    column_names = dict.fromkeys(
        [*groups, *answered_columns, *(column.name for column in score_columns)]
    )
    frame = scores.select(*map(column_of_name, column_names))
    group_sums = _sum_groups(
        frame, groups, partial(sum_scores, groups, score_columns, bool(answered_columns))
    )
    fields = "measure string, queries bigint, answered bigint, value double, std_error double, "
    schema = _result_schema(scores, groups, f"{fields}low double, high double")
    means = group_sums.mapInArrow(partial(list_means, groups, score_columns, confidence), schema)
    return _join_counts(scores, groups, means)


def attach_counts(
    scores: "DataFrame",
    qrels_rows: "DataFrame",
    run_rows: "DataFrame",
    systems: Sequence[str],
    errors: Errors,
    is_one_table: bool,
) -> "DataFrame":
    """Return the scores; the metadata of `answered` say what `summarize` counts of each system.

    `qrels_rows` and `run_rows` have the columns `system`, `query` and `is_lost`; `is_one_table`:
    they are the same rows. A Spark job counts, where there may be something to count.
    """
    from pyspark.sql import functions

    counted_rows = []
    if errors == "skip":
        each_system = functions.explode(functions.array(*map(functions.lit, systems)))
        lost_judgments = qrels_rows.where("is_lost").select(each_system.alias("system"))
        counted_rows += [("left_out", run_rows.where("is_lost")), ("left_out", lost_judgments)]
    if errors == "skip" or not is_one_table:
        queries = run_rows.where("NOT is_lost").select("system", "query").distinct()
        judged = qrels_rows.where("NOT is_lost")
        counted_rows.append(("unjudged", queries.join(judged, "query", "left_anti")))
    counts = {name: dict.fromkeys(systems, 0) for name in ("unjudged", "left_out")}
    if counted_rows:
        frames = [frame.selectExpr("system", f"'{name}' AS name") for name, frame in counted_rows]
        rows = reduce(lambda rows, more_rows: rows.unionAll(more_rows), frames)
        rows = rows.where(column_of_name("system").isin(*systems))
        for system, name, n in rows.groupBy("system", "name").count().collect():
            counts[name][system] = n
    texts = {name: json.dumps(count_of_system) for name, count_of_system in counts.items()}
    return scores.withMetadata(ANSWERED, texts)


def _join_counts(scores: "DataFrame", groups: Sequence[str], means: "DataFrame") -> "DataFrame":
    """Return the means with the counts that `attach_counts` put into the metadata of `answered`.

    They are those of the row's system, or the sum of all systems' if it is not in `groups`.
    """
    from pyspark.sql import functions

    metadata = scores.schema[ANSWERED].metadata if ANSWERED in scores.columns else {}
    system = next((name for name in _group_columns(scores, None) if name in groups), None)
    for name in ("unjudged", "left_out"):
        counts = metadata.get(name, "{}")
        count = functions.lit(sum(json.loads(counts).values()) if name in metadata else None)
        if system is not None:
            by_system = functions.from_json(functions.lit(counts), "map<string, bigint>")
            count = by_system[column_of_name(system)]
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

    It has a row for each other system, measure and group of `by`: the columns of `by`, the system,
    `measure`, `queries` (that both have), `mean`, `baseline_mean`, `difference`, `std_error`, `low`
    and `high` (Student's interval of the mean difference), `p` (paired t-test, two-sided;
    uncorrected), `better`, `worse` and `same` (queries). For a geometric mean such as GMAP,
    `difference`, `low` and `high` are ratios: above 1 is better. For a count such as NumRet, sums
    take the place of means.

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
        OptionError: `ci` out of its range, `cluster` without `relative`, or `system` not stated
            where the scores do not say it.

    """
    from pyspark.sql import Window, functions

    confidence = check_option("ci", ci, share_check())
    if cluster is not None and not relative:
        raise OptionError("cluster goes with relative=True")
    system_column = _system_column(scores) if system is None else system
    groups = [name for name in _group_columns(scores, by) if name != system_column]
    score_columns = _find_score_columns(scores, measures)
    cluster_column = QUERY if cluster is None else cluster
    _check_column_names(scores, [system_column, QUERY, cluster_column])
    score_names = [column.name for column in score_columns]
    column_names = dict.fromkeys([system_column, QUERY, cluster_column, *groups, *score_names])
    is_baseline = column_of_name(system_column) == functions.lit(baseline)
    if scores.where(is_baseline).isEmpty():
        raise InputError(
            f"there are no scores of the baseline {baseline!r} in column {system_column!r}"
        )
    # Each system's rows of a query meet in one task, where a second one is found; the join needs
    # the rows of a query together, too.
    window = Window.partitionBy(column_of_name(QUERY), column_of_name(system_column))
    frame = scores.select(*map(column_of_name, column_names)).repartition(column_of_name(QUERY))
    frame = frame.withColumn(ROW_COUNT, functions.count(functions.lit(1)).over(window))
    system_rows = frame.where(~is_baseline)
    baseline_rows = frame.where(is_baseline).select(
        column_of_name(QUERY).alias(BASELINE_PREFIX + QUERY),
        *(column_of_name(name).alias(BASELINE_PREFIX + name) for name in [ROW_COUNT, *score_names]),
    )
    pairs = system_rows.join(
        baseline_rows, column_of_name(QUERY) == column_of_name(BASELINE_PREFIX + QUERY), "inner"
    )
    key_columns = [*groups, system_column]
    sum_batches = partial(
        sum_pairs, key_columns, score_columns, system_column, cluster_column if relative else None
    )
    group_sums = _sum_groups(pairs, key_columns, sum_batches)
    fields = (
        "measure string, queries bigint, mean double, baseline_mean double, difference double, "
        "std_error double, low double, high double, p double, better bigint, worse bigint, "
        "same bigint"
    )
    if relative:
        fields += ", relative double, relative_low double, relative_high double"
    schema = _result_schema(scores, key_columns, fields)
    return group_sums.mapInArrow(
        partial(list_differences, key_columns, score_columns, confidence, relative), schema
    )


def _check_column_names(scores: "DataFrame", names: Sequence[str]) -> None:
    for name in names:
        if name not in scores.columns:
            raise InputError(
                f"the scores have no column {name!r}; they have {', '.join(scores.columns)}",
                kind="columns",
            )


def _system_column(scores: "DataFrame") -> str:
    """Return the column of the systems; OptionError if the scores do not say it."""
    system_columns = [field.name for field in scores.schema if field.metadata.get(ROLE) == "system"]
    if not system_columns and "system" in scores.columns:
        return "system"
    if not system_columns:
        raise OptionError("the scores do not say which column has the system: state it, system=...")
    return str(system_columns[0])


def _group_columns(scores: "DataFrame", by: str | Sequence[str] | None) -> list[str]:
    """Return the columns to group by; None: the column of the systems that `evaluate` made."""
    if by is None:
        return [field.name for field in scores.schema if field.metadata.get(ROLE) == "system"]
    column_names = [by] if isinstance(by, str) else list(by)
    _check_column_names(scores, column_names)
    return column_names


def _find_score_columns(
    scores: "DataFrame", measures: str | Sequence[str] | None
) -> list[ScoreColumn]:
    """Return the columns of scores; MeasureError for a measure that has none, or for no measure."""
    column_of_measure: dict[str, ScoreColumn] = {}
    for field in scores.schema:
        name = field.metadata.get(MEASURE) or field.name
        measure = _parse_measure(name)
        if measure is None or field.dataType.typeName() != "double":
            continue
        higher_is_better = measure.definition.higher_is_better is not False
        column_of_measure[str(measure)] = ScoreColumn(
            field.name, str(measure), measure.definition.aggregation, higher_is_better
        )
    if measures is None:
        measure_names = list(column_of_measure)
    else:
        texts = [measures] if isinstance(measures, str) else measures
        measure_names = [str(parse(name)) for text in texts for name in text.split()]
    missing_names = [name for name in measure_names if name not in column_of_measure]
    if missing_names or not measure_names:
        available = (
            f"they have {', '.join(column_of_measure)}"
            if column_of_measure
            else "they have no column of a measure"
        )
        missing_name = missing_names[0] if missing_names else "a measure"
        raise MeasureError(f"there are no scores of {missing_name}; {available}")
    return [column_of_measure[name] for name in dict.fromkeys(measure_names)]


def _parse_measure(name: str) -> Measure | None:
    try:
        return parse(name, glued=False)
    except MeasureError:
        return None


def _result_schema(scores: "DataFrame", groups: Sequence[str], fields: str) -> str:
    """Return the schema of a result: the columns to group by, then `fields`."""
    type_of_column = dict(scores.dtypes)
    return ", ".join([*(f"{quote_name(name)} {type_of_column[name]}" for name in groups), fields])


def _sum_groups(
    frame: "DataFrame", groups: Sequence[str], sum_batches: Callable[[Batches], Batches]
) -> "DataFrame":
    """Return rows of sums of each group, a row for each partition; all of a group in one task."""
    sums = frame.mapInArrow(sum_batches, _result_schema(frame, groups, "state string"))
    return sums.repartition(*map(column_of_name, groups)) if groups else sums.repartition(1)
