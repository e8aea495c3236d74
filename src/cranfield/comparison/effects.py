"""Effect sizes: a difference relative to how much scores vary; and whether to trust it."""

import math
from typing import Literal

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.anova import Anova
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.significance import TIE, Moments
from cranfield.comparison.units import Units

FEW_UNITS = 10  # units, or units on which two systems differ: fewer are doubtful

Doubt = Literal["identical", "few-changes", "constant", "skewed"]


def effect_sizes(pairs: PairedScores, moments: Moments) -> dict[str, Floats]:
    """Return {effect size: (n_pairs,)} of each pair; NaN where scores do not vary.

    d_z: by the standard deviation of the differences (Sakai's of the paired t-test). Hedges: d_z
    without its bias for few queries. Glass: by the standard deviation of the right system's scores
    (Sakai, SIGIR 2017). d_av: by the root of the mean variance of the two systems' scores. es_e: by
    the root of the residual variance of all systems' scores (Sakai, SIGIR Forum 2014). The skewness
    of the differences is with them.
    """
    n, mean = moments.n_units, moments.mean
    absent = np.full(pairs.scores.shape[1], np.nan)
    variance = pairs.scores.var(axis=0, ddof=1) if n > 1 else absent
    variance[variance <= 1e-24 * np.abs(pairs.scores).max(axis=0, initial=0) ** 2] = 0.0
    left_variance = variance[pairs.left_column]
    right_variance = variance[pairs.right_column]
    anova = Anova.from_scores(pairs.scores)
    residual = np.full(len(mean), anova.residual_variance if anova else 0.0)
    d_z = _divide(mean, moments.sd)
    return {
        "skewness": skewness(pairs, moments),
        "d_z": d_z,
        "hedges": d_z * (1 - 3 / (4 * (n - 1) - 1)) if n > 1 else d_z,
        "glass": _divide(mean, np.sqrt(right_variance)),
        "d_av": _divide(mean, np.sqrt((left_variance + right_variance) / 2)),
        "es_e": _divide(mean, np.sqrt(residual)),
    }


def cliffs_delta(pairs: PairedScores, tie: float = TIE) -> Floats:
    """Return Cliff's delta of each pair: (n_pairs,), -1 to 1.

    Of all pairs of a score of the left system and a score of the right system: the share in which
    the left score is greater, less the share in which it is less (Cliff, Psychological Bulletin
    1993), each by more than `tie`. Scores are not paired by their queries: it is not an effect size
    of paired differences.
    """
    sorted_scores, n = np.sort(pairs.scores, axis=0), pairs.n_units
    deltas = []
    for left_scores, right_scores in zip(
        sorted_scores.T[pairs.left_column], sorted_scores.T[pairs.right_column], strict=True
    ):
        n_below = np.searchsorted(right_scores, left_scores - tie).sum()
        n_above = n * n - np.searchsorted(right_scores, left_scores + tie, side="right").sum()
        deltas.append((int(n_below) - int(n_above)) / n**2)
    return np.array(deltas)


def _divide(mean: Floats, spread: Floats) -> Floats:
    ratio: Floats = np.full(len(mean), np.nan)
    np.divide(mean, spread, out=ratio, where=spread > 0)
    return ratio


def skewness(pairs: PairedScores, moments: Moments) -> Floats:
    """Return the skewness of each pair's differences, (n_pairs,); NaN where they do not vary.

    The third central moment by the second to the power of 3/2, both without correction for bias;
    where units are clusters, these are moments of what each cluster adds to the variance.
    """
    deviations = pairs.deviations
    second, third = (deviations**2).mean(axis=0), (deviations**3).mean(axis=0)
    return _divide(third, np.where(moments.sd > 0, second, 0.0) ** 1.5)


def count_uncommon(scores: Floats, units: Units) -> Ints:
    """Return how many queries do not have a system's most common score: (n_systems,).

    `scores` are (n_queries, n_systems). Where units are clusters, return how many clusters have a
    query without the most common score.
    """
    rounded_scores = np.round(scores / TIE)
    value_counts = [np.unique(column, return_counts=True) for column in rounded_scores.T]
    most_common = np.array(
        [distinct_scores[counts.argmax()] for distinct_scores, counts in value_counts]
    )
    n_uncommon: Ints = np.count_nonzero(
        units.sum_queries((rounded_scores != most_common) * 1.0), axis=0
    )
    return n_uncommon


def find_doubt(n: int, n_changed: int, skewness: float | None) -> Doubt | None:
    """Return why the test and the interval of a mean difference may be wrong, or None.

    The two systems differ on `n_changed` of `n` queries. Where they differ on none, the interval
    has no width; on fewer than 10, the sample may lack the rare, large differences. Else the
    skewness G of the differences decides: both are doubtful if n < 25 G^2 (Cochran, Sampling
    Techniques, 3rd ed. 1977, p. 42). Where all differences are the same, there is no skewness (None
    or NaN), and the interval has no width.

    >>> find_doubt(50, 0, None), find_doubt(5_000, 9, 0.1)
    ('identical', 'few-changes')
    >>> find_doubt(50, 40, 2.0), find_doubt(100, 40, 2.0), find_doubt(50, 50, None)
    ('skewed', None, 'constant')
    """
    if n_changed == 0:
        return "identical"
    if n_changed < FEW_UNITS <= n:
        return "few-changes"
    if skewness is None or math.isnan(skewness):
        return "constant"
    return "skewed" if n < 25 * skewness**2 else None
