"""Each system's own mean over the queries, with its interval."""

import math

from cranfield.arrays.ranked import Floats, Ints, mean
from cranfield.comparison.flips import Paired
from cranfield.comparison.scale import cut, ends_of, is_geometric, logs, range_of
from cranfield.comparison.significance import Moments, t_interval
from cranfield.measures import Measure
from cranfield.render.numbers import or_none

MeanInterval = tuple[float, float | None, float | None]  # a mean, and the ends of its interval


def mean_intervals(
    measure: Measure | None, scores: Floats, alpha: float, cluster: Ints | None = None
) -> list[MeanInterval]:
    """Return each system's mean and the ends of its 1 - alpha interval, by Student's t.

    `scores` are (n_queries, n_systems). `cluster` (n_queries,) numbers the clusters of queries that
    depend on one another from 0: the error is then cluster-robust. Ends are cut to the range of
    scores. With one query there is no interval. For a measure with a geometric mean, the mean and
    the ends are computed from logarithms and transformed back.

    >>> import numpy as np
    >>> from cranfield.measures import parse
    >>> ((mean, low, high),) = mean_intervals(parse("AP"), np.array([[0.25], [0.75]]), 0.5)
    >>> mean, round(low, 6), round(high, 6)
    (0.5, 0.25, 0.75)
    >>> mean_intervals(parse("AP"), np.array([[0.25]]), 0.05)
    [(0.25, None, None)]
    """
    compared = logs(measure, scores)
    means = [mean(column) for column in compared.T]
    paired = Paired.of(compared)
    own = Moments.of(paired if cluster is None else paired.summed(cluster))
    low, high = t_interval(own, alpha) if own.n > 1 else (own.sd, own.sd)
    low, high = cut(low, high, *ends_of(measure, *range_of(measure, scores)))
    found = [*zip(means, low.tolist(), high.tolist(), strict=True)]
    if is_geometric(measure):
        found = [(math.exp(one), math.exp(low), math.exp(high)) for one, low, high in found]
    return [(one, or_none(low), or_none(high)) for one, low, high in found]
