"""Scale: the unit in which scores are compared, their range, and the ends of intervals.

A measure that has a geometric mean over the queries is compared by logarithms.
"""

import math

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, floored_log
from cranfield.measures import Measure

SLACK = 1e-6  # times the range (1 if infinite): a score this far outside is rounding


def is_geometric(measure: Measure | None) -> bool:
    """Tell whether a measure's value over all queries is a geometric mean; no if it is unknown."""
    return measure is not None and measure.definition.aggregation == "geometric"


def to_compared_unit(measure: Measure | None, scores: Floats) -> Floats:
    """Return the queries' scores, of any shape, in the unit in which they are averaged.

    Natural logarithms if the measure has a geometric mean, where scores below 0.00001 count as
    0.00001 (trec_eval's gm_map); else the scores. The mean of the differences of logarithms is the
    logarithm of the ratio of the two geometric means.

    >>> import numpy as np
    >>> from cranfield.measures import parse
    >>> to_compared_unit(parse("GMAP"), np.array([1.0, 0.0])).round(4).tolist()
    [0.0, -11.5129]
    >>> to_compared_unit(parse("AP"), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    return floored_log(scores) if is_geometric(measure) else scores


def possible_range(measure: Measure | None) -> tuple[float, float]:
    """Return the least and the greatest score that a query may have, infinite if there is none.

    None is a name that is not a measure of this library: its range is unknown, and so infinite.

    >>> from cranfield.measures import parse
    >>> possible_range(parse("nDCG@10")), possible_range(parse("DCG")), possible_range(None)
    ((0.0, 1.0), (0.0, inf), (-inf, inf))
    """
    if measure is None:
        return -math.inf, math.inf
    low, high = measure.definition.range
    return float(low), math.inf if high is None else float(high)


def find_outside(scores: Floats, lowest: float, highest: float) -> Ints:
    """Return the indices (n_outside, n_axes) of scores outside a range, by more than rounding."""
    slack = SLACK * (highest - lowest) if math.isfinite(highest - lowest) else SLACK
    return np.argwhere((scores < lowest - slack) | (scores > highest + slack))


def score_range(measure: Measure | None, scores: Floats) -> tuple[float, float]:
    """Return the `possible_range` of a measure, infinite if some of the scores are outside of it.

    Scores from a file may be outside, such as percentages.
    """
    lowest, highest = possible_range(measure)
    return (
        (-math.inf, math.inf) if len(find_outside(scores, lowest, highest)) else (lowest, highest)
    )


def compared_range(measure: Measure | None, lowest: float, highest: float) -> tuple[float, float]:
    """Return the ends of a range of scores in the unit in which scores are compared.

    Logarithms where the measure's mean over the queries is geometric.

    >>> from cranfield.measures import parse
    >>> compared_range(parse("AP"), 0, 1)
    (0.0, 1.0)
    >>> compared_range(parse("GMAP"), 0.5, 1) == (math.log(0.5), 0)
    True
    """
    low, high = to_compared_unit(measure, np.array([lowest, highest], np.float64)).tolist()
    return low, high


def clip_ends(low: Floats, high: Floats, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals, clipped to `lowest` and `highest`.

    An infinite or NaN end means that there is no end, and is kept.

    >>> import numpy as np
    >>> low, high = clip_ends(np.array([-0.2, -np.inf]), np.array([1.1, np.inf]), 0, 1)
    >>> low.tolist(), high.tolist()
    ([0.0, -inf], [1.0, inf])
    """
    ends = (np.where(np.isfinite(end), np.clip(end, lowest, highest), end) for end in (low, high))
    lower, upper = ends
    return lower, upper
