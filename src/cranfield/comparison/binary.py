"""Zeros and ones: score intervals of their means and of their differences, as of hit rates.

Such scores have few values, so that intervals by flips or Student's t miss the truth too often:
Newcombe, Statistics in Medicine 17 (1998). Score intervals are the values that a test with the
variance under that very value does not reject.
"""

import math
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints

_HALVINGS = 60  # of a range of 2: more than a double has digits


def normal_quantile(probability: float) -> float:
    """Return the number below which a standard normal variate is with this probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def normal_tail(z: Floats) -> Floats:
    """Return the probabilities that a standard normal variate is above these numbers."""
    from scipy.special import ndtr

    tail: Floats = ndtr(-z)
    return tail


def are_binary(scores: Floats) -> Bools:
    """Tell of each column of scores, (n_queries, n), whether it holds zeros and ones only."""
    is_binary: Bools = ((scores == 0) | (scores == 1)).all(axis=0)
    return is_binary


class PairedCounts(NamedTuple):
    """On how many of n queries one of two systems has a 1 and the other a 0: (n_pairs,) each."""

    n: int
    gains: Ints  # queries on which the first has the 1
    losses: Ints

    @classmethod
    def of(cls, differences: Floats) -> "PairedCounts":
        """Return the counts of differences of zeros and ones, (n_queries, n_pairs)."""
        return cls(
            len(differences),
            np.count_nonzero(differences > 0.5, axis=0),
            np.count_nonzero(differences < -0.5, axis=0),
        )


def tango_statistic(counts: PairedCounts, difference: Floats) -> Floats:
    """Return how far pairs' mean differences are above a true difference, in errors: (n_pairs,).

    `difference` is (n_pairs,) or a number for all, from -1 to 1. Where no query differs, the error
    under a true difference of 0 is 0, and so is the statistic (Tango, Statistics in Medicine 17,
    1998).

    >>> bound = np.array([-0.02])
    >>> round(float(tango_statistic(PairedCounts(100, np.array([9]), np.array([4])), bound)[0]), 4)
    1.8822
    """
    n, gains, losses = counts
    a = 2 * n
    b = -gains - losses + (2 * n - gains + losses) * difference
    c = -losses * difference * (1 - difference)
    loss_share = (np.sqrt(np.maximum(b**2 - 4 * a * c, 0)) - b) / (2 * a)
    variance = n * (2 * loss_share + difference * (1 - difference))
    distance = gains - losses - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic: Floats = distance / np.sqrt(np.maximum(variance, 0))
    return np.where(distance == 0, 0.0, statistic)


def tango_interval(counts: PairedCounts, z: float) -> tuple[Floats, Floats]:
    """Return the differences at which Tango's statistic is z, and -z: (n_pairs,) each.

    >>> counts = PairedCounts(40, np.array([8, 2]), np.array([0, 1]))
    >>> low, high = tango_interval(counts, 1.959963984540054)
    >>> np.round(low, 6).tolist(), np.round(high, 6).tolist()
    ([0.094854, -0.087436], [0.347573, 0.145073])
    """
    mean = (counts.gains - counts.losses) / counts.n
    ends = []
    for sign in (1, -1):
        inner, outer = mean + 0.0, np.full(len(mean), -float(sign))
        for _ in range(_HALVINGS):
            center = (inner + outer) / 2
            is_far = sign * tango_statistic(counts, center) > z
            inner, outer = np.where(is_far, inner, center), np.where(is_far, center, outer)
        ends.append(outer)
    return ends[0], ends[1]


def wilson_interval(n: float, n_hits: Ints | Floats, z: float) -> tuple[Floats, Floats]:
    """Return the interval of each share of ones among n: (n_systems,) each.

    Wilson, Journal of the American Statistical Association 22 (1927).

    >>> low, high = wilson_interval(40, np.array([36]), 1.959963984540054)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.769, 0.96)
    """
    share = n_hits / n
    center = share + z**2 / (2 * n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (center - half_width) / (1 + z**2 / n), (center + half_width) / (1 + z**2 / n)


def find_n_of_wilson(share: float, goal: float, alpha: float, power: float) -> int | None:
    """Return how many zeros and ones of a true share Wilson's limit tells from a goal, if any.

    It does so with probability `power` (Fleiss, Statistical Methods for Rates and Proportions).
    """
    spread, goal_spread = (math.sqrt(mean * (1 - mean)) for mean in (share, goal))
    width = normal_quantile(1 - alpha) * goal_spread + normal_quantile(power) * spread
    return None if share == goal else math.ceil((width / (share - goal)) ** 2)


def wilson_statistic(n: int, n_hits: Ints, share: float) -> Floats:
    """Return how far each share of ones is above a true share, in its errors: (n_systems,)."""
    statistic: Floats = (n_hits - n * share) / math.sqrt(n * share * (1 - share))
    return statistic
