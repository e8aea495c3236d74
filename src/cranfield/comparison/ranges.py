"""Intervals end where the range of a measure does."""

import math

import numpy as np

from cranfield.measures import Measure
from cranfield.ranked import Floats


def range_of(measure: Measure | None, values: Floats) -> tuple[float, float]:
    """Return the least and the greatest value that a query may have, infinite if not known.

    Of a name that is no measure here, of scores beyond the range (a file's may be percentages), and
    of a measure with a geometric mean, which is compared by logarithms, nothing is known.
    """
    if measure is None or measure.definition.aggregation == "geometric":
        return -math.inf, math.inf
    low, high = measure.definition.range
    most = math.inf if high is None else float(high)
    if values.size and not (low <= values.min() and values.max() <= most):
        return -math.inf, math.inf
    return float(low), most


def cut(low: Floats, high: Floats, least: float, most: float) -> tuple[Floats, Floats]:
    """Return intervals' ends, none of them beyond `least` or `most`.

    An end that is infinite or NaN is none at all and stays so.

    >>> import numpy as np
    >>> low, high = cut(np.array([-0.2, -np.inf]), np.array([1.1, np.inf]), 0, 1)
    >>> low.tolist(), high.tolist()
    ([0.0, -inf], [1.0, inf])
    """
    ends = (np.where(np.isfinite(end), np.clip(end, least, most), end) for end in (low, high))
    lower, upper = ends
    return lower, upper
