"""Mean intervals: the mean of each system's scores with its own interval, and notes on them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, mean
from cranfield.comparison.binary import are_binary, normal_quantile, wilson_interval
from cranfield.comparison.effects import FEW_UNITS, count_uncommon, find_doubt, skewness
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.result import IntervalName
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
    measure: Measure | None,
    scores: Floats,
    system_names: Sequence[str],
    units: Units = EACH_QUERY,
) -> Iterator[Note]:
    """Yield a note on each system whose interval may be too narrow.

    `scores` are (n_queries, n_systems); `units` are queries, or clusters of them. Of fewer than 10
    units, no note: `note_few_queries` warns of these.
    """
    compared_scores = to_compared_unit(measure, scores)
    paired_scores = units.pair_units(PairedScores.from_differences(compared_scores))
    n_units, n_uncommon_scores = paired_scores.n_units, count_uncommon(compared_scores, units)
    if n_units < FEW_UNITS:
        return
    skews = skewness(paired_scores, Moments.of(paired_scores))
    is_binary = have_wilson(measure, scores, units)
    for name, n_rare, skew, has_wilson in zip(
        system_names, n_uncommon_scores.tolist(), skews.tolist(), is_binary.tolist(), strict=True
    ):
        if has_wilson:
            continue
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


def have_wilson(measure: Measure | None, scores: Floats, units: Units) -> Bools:
    """Tell whether the mean of each system has Wilson's interval: (n_systems,)."""
    has_own_units = units.n_groups is not None or is_geometric(measure)
    has_wilson: Bools = are_binary(scores) & (not has_own_units)
    return has_wilson


class MeanInterval(NamedTuple):
    """A mean, the ends of its interval, None where there are none, and how it was made."""

    mean: float
    low: float | None
    high: float | None
    interval: IntervalName = "t"


def describe_error(interval_names: Iterable[str], units: Units) -> str:
    """Return in words how the intervals of means were made."""
    names = {*interval_names}
    wilson = "Wilson's score, of zeros and ones"
    if names == {"wilson"}:
        return wilson
    return f"{units.error_method}; {wilson}" if "wilson" in names else units.error_method


def mean_intervals(
    measure: Measure | None, scores: Floats, alpha: float, units: Units = EACH_QUERY
) -> list[MeanInterval]:
    """Return each system's mean and the ends of its 1 - alpha interval, by Student's t.

    Where all scores of a system are zeros and ones, it is Wilson's score interval.

    `scores` are (n_queries, n_systems). Ends are cut to the range of scores, which is infinite for
    None, an unknown measure, and where scores are outside. With one unit (a query, or a cluster)
    there is no interval. For a measure with a geometric mean, the mean and the ends are computed
    from logarithms and transformed back.

    >>> import numpy as np
    >>> from cranfield.measures import parse
    >>> ((mean, low, high, _),) = mean_intervals(parse("AP"), np.array([[0.25], [0.75]]), 0.5)
    >>> mean, round(low, 6), round(high, 6)
    (0.5, 0.25, 0.75)
    >>> mean_intervals(parse("AP"), np.array([[0.25]]), 0.05)
    [MeanInterval(mean=0.25, low=None, high=None, interval='t')]
    """
    compared_scores = to_compared_unit(measure, scores)
    means = [mean(column) for column in compared_scores.T]
    moments = Moments.of(units.pair_units(PairedScores.from_differences(compared_scores)))
    low, high = t_interval(moments, alpha) if moments.n_units > 1 else (moments.sd, moments.sd)
    is_binary = have_wilson(measure, scores, units) & (moments.n_units > 1)
    if is_binary.any():
        n_hits = np.count_nonzero(scores, axis=0)
        ends = wilson_interval(len(scores), n_hits, normal_quantile(1 - alpha / 2))
        low, high = (
            np.where(is_binary, end, other_end)
            for end, other_end in zip(ends, (low, high), strict=True)
        )
    low, high = clip_ends(low, high, *compared_range(measure, *score_range(measure, scores)))
    columns = [means, low.tolist(), high.tolist()]
    if is_geometric(measure):
        columns = [list(map(math.exp, column)) for column in columns]
    return [
        MeanInterval(
            mean, finite_or_none(low), finite_or_none(high), "wilson" if has_wilson else "t"
        )
        for mean, low, high, has_wilson in zip(*columns, is_binary.tolist(), strict=True)
    ]
