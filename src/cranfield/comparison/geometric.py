"""Geometric means: a measure that has one over the queries is compared by logarithms."""

from cranfield.arrays.ranked import Floats, floored_log
from cranfield.measures import Measure


def is_geometric(measure: Measure | None) -> bool:
    """Whether a measure's value over all queries is a geometric mean; not if it is unknown."""
    return measure is not None and measure.definition.aggregation == "geometric"


def logs(measure: Measure | None, values: Floats) -> Floats:
    """Return the queries' values, of any shape, as their value over all queries averages them.

    Natural logarithms if that is a geometric mean, where values below 0.00001 count as 0.00001
    (trec_eval's gm_map); else the values. The mean of the differences of logarithms is the
    logarithm of the ratio of the two geometric means.

    >>> import numpy as np
    >>> from cranfield.measures import parse
    >>> logs(parse("GMAP"), np.array([1.0, 0.0])).round(4).tolist()
    [0.0, -11.5129]
    >>> logs(parse("AP"), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    return floored_log(values) if is_geometric(measure) else values
