"""Aggregation: makes one value of the queries' values: mean, sum or geometric mean."""

import math
from collections.abc import Callable
from typing import Literal

from cranfield.arrays.exact import mean_of_units
from cranfield.arrays.ranked import Floats, floored_log, geometric_mean, mean, total

Aggregation = Literal["mean", "sum", "geometric", "none"]

AGGREGATIONS: dict[Aggregation, Callable[[Floats], float]] = {
    "mean": mean,
    "sum": total,
    "geometric": geometric_mean,
}


def to_summands(aggregation: Aggregation, values: Floats) -> Floats:
    """Return the numbers that are added up, (n_queries,): values, or logarithms of them."""
    return floored_log(values) if aggregation == "geometric" else values


def aggregate_exact_sum(aggregation: Aggregation, sum_units: int, n: int) -> float:
    """Return the value over n queries, from the exact sum of `to_summands` in units."""
    value = mean_of_units(sum_units, 1 if aggregation == "sum" else n)
    return math.exp(value) if aggregation == "geometric" else value
