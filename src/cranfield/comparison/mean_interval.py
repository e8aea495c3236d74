"""Mean intervals: the mean of each system's scores with its own interval, and notes on them."""

import math
from collections.abc import Iterator, Sequence

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.effects import FEW_UNITS, count_uncommon, find_doubt, skewness
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.scale import (
    clip_ends,
    compared_range,
    is_geometric,
    score_range,
    to_compared_unit,
)
from cranfield.comparison.significance import Moments, t_interval
from cranfield.comparison.units import EACH_QUERY, Units
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import finite_or_none


def note_intervals(
    scores: Floats, system_names: Sequence[str], units: Units = EACH_QUERY
) -> Iterator[Note]:
    """Yield a note on each system whose interval may be too narrow.

    `scores` are (n_queries, n_systems); `units` are queries, or clusters of them. Of fewer than 10
    units, no note: `note_few_queries` warns of these.
    """
    paired_scores = units.pair_units(PairedScores.from_differences(scores))
    n_units, n_uncommon_scores = paired_scores.n_units, count_uncommon(scores, units)
    if n_units < FEW_UNITS:
        return
    skews = skewness(paired_scores, Moments.of(paired_scores))
    for name, n_rare, skew in zip(
        system_names, n_uncommon_scores.tolist(), skews.tolist(), strict=True
    ):
        if n_rare < FEW_UNITS:
            same_phrase = "All" if n_rare == 0 else f"All but {n_rare}"
            text = (
                f"{same_phrase} of {n_units:,} {units.unit_words} have the same score: the "
                "interval is too narrow, and rare other scores are not ruled out."
            )
            yield Note("few-scores", "warning", text, n_rare, name)
        elif find_doubt(n_units, n_rare, skew) == "skewed":
            text = (
                f"Skewed scores ({skew:+.1f}): the interval misses the true mean more often than "
                f"it says; with {math.ceil(25 * skew**2):,} {units.unit_words} it would not."
            )
            yield Note("skewed", "warning", text, n_units, name)


# A mean, and the ends of its interval, None where there are none.
MeanInterval = tuple[float, float | None, float | None]


def mean_intervals(
    measure: Measure | None, scores: Floats, alpha: float, units: Units = EACH_QUERY
) -> list[MeanInterval]:
    """Return each system's mean and the ends of its 1 - alpha interval, by Student's t.

    `scores` are (n_queries, n_systems). Ends are cut to the range of scores, which is infinite for
    None, an unknown measure, and where scores are outside. With one unit (a query, or a cluster)
    there is no interval. For a measure with a geometric mean, the mean and the ends are computed
    from logarithms and transformed back.

    >>> import numpy as np
    >>> from cranfield.measures import parse
    >>> ((mean, low, high),) = mean_intervals(parse("AP"), np.array([[0.25], [0.75]]), 0.5)
    >>> mean, round(low, 6), round(high, 6)
    (0.5, 0.25, 0.75)
    >>> mean_intervals(parse("AP"), np.array([[0.25]]), 0.05)
    [(0.25, None, None)]
    """
    compared_scores = to_compared_unit(measure, scores)
    means = [mean(column) for column in compared_scores.T]
    moments = Moments.of(units.pair_units(PairedScores.from_differences(compared_scores)))
    low, high = t_interval(moments, alpha) if moments.n_units > 1 else (moments.sd, moments.sd)
    low, high = clip_ends(low, high, *compared_range(measure, *score_range(measure, scores)))
    mean_intervals = [*zip(means, low.tolist(), high.tolist(), strict=True)]
    if is_geometric(measure):
        mean_intervals = [
            (math.exp(mean), math.exp(low), math.exp(high)) for mean, low, high in mean_intervals
        ]
    return [(mean, finite_or_none(low), finite_or_none(high)) for mean, low, high in mean_intervals]
