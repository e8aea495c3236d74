"""Edgeworth: p-values of sign flips by their moments, and whether Student's limits are as good.

With many queries, the sum of values with signs drawn by chance is nearly normal. How nearly depends
on its fourth and sixth cumulants, which are known without any flip (Edgeworth's expansion: Hall,
The Bootstrap and Edgeworth Expansion, 1992, chapter 2), and on the size of its steps: values that
are all multiples of a span have sums that are multiples of twice the span (Esseen, Acta Mathematica
77, 1945).
"""

import math

import numpy as np

from cranfield.arrays.ranked import Bools, Floats

NEAR = 1e-4  # times the largest difference of a query, which counts as 1 at most
_NEAR_BY_WIDTH = 0.01  # times the distance of the two limits
_STRAY = 40  # queries: if more are off a grid, sums are not on one


def upper_tail(differences: Floats) -> tuple[Floats, Floats]:
    """Return the probability of a sum with random signs that is at least the sum: (n_pairs,).

    `differences` is (n_queries, n_pairs), in no column all 0. The second array estimates the error
    of the probability: twice the absolute values of the terms of the second order.

    >>> import numpy as np
    >>> p, off = upper_tail(np.linspace(-0.99, 1, 8_000)[:, None])
    >>> round(float(p[0]), 4), bool(off[0] < 1e-6)
    (0.2182, True)
    """
    from scipy.special import ndtr

    squares = differences * differences
    second = squares.sum(axis=0)
    fourth, sixth = (squares**2).sum(axis=0), (squares**3).sum(axis=0)
    z = differences.sum(axis=0) / np.sqrt(second)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    cumulant_4, cumulant_6 = -2 * fourth / second**2, 16 * sixth / second**3  # cumulants
    first_order = cumulant_4 / 24 * (z**3 - 3 * z)
    second_order = np.abs(cumulant_6 / 720 * (z**5 - 10 * z**3 + 15 * z))
    second_order += np.abs(cumulant_4**2 / 1152 * (z**7 - 21 * z**5 + 105 * z**3 - 105 * z))
    return ndtr(-z) + density * first_order, 2 * density * second_order


def limits_agree(
    differences: Floats, low: Floats, high: Floats, level: float, weights: Floats | None = None
) -> Bools:
    """Tell whether limits are close enough to the limits by all sign flips: (n_pairs,).

    `differences` is (n_queries, n_pairs); `low` and `high` (n_pairs,) are limits of their means. A
    test by all sign flips rejects what is beyond its own limits at `level`, on one side. With
    `weights` (n_queries,), a limit applies to each query in proportion to its weight.

    Close enough is: within 0.0001 of the largest difference of a query, or of 1 if the difference
    is larger, and within a hundredth of the distance of the limits (the ends that 100,000 flips
    find vary by a five-hundredth of it), both less a step of the sums. A limit is close enough if
    the flips reject what lies that much farther outside, and do not reject what lies that much
    farther inside.
    """
    tolerance = _find_tolerances(differences, high - low)
    agrees = tolerance > 0
    candidates = np.flatnonzero(agrees)
    if not len(candidates):
        return agrees
    query_weight = np.ones(len(differences)) if weights is None else weights
    for sign, limits in ((1, low), (-1, high)):
        for inwards in (False, True):
            step = tolerance[candidates] if inwards else -tolerance[candidates]
            bounds = limits[candidates] + sign * step
            p, p_error = upper_tail(
                sign * (differences[:, candidates] - query_weight[:, None] * bounds)
            )
            agrees[candidates] &= p - p_error > level if inwards else p + p_error <= level
    return agrees


def flip_limits(
    weighted_differences: Floats, weights: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the limits beyond which a test by all sign flips rejects weighted means: (n_pairs,).

    `weighted_differences` is (n_queries, n_pairs), each query's difference times its weight; a
    limit applies to each query in proportion to its weight (n_queries,). The flips reject what is
    beyond a limit at `level`, on one side. The limits of the normal distribution are corrected by
    Edgeworth's expansion (Hall 1992).

    >>> import numpy as np
    >>> d = np.linspace(-0.5, 0.7, 9_001)[:, None]
    >>> low, high = flip_limits(d, np.ones(len(d)), 0.025)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.0928, 0.1072)
    """
    from scipy.special import ndtri

    query_weight = weights[:, None]
    difference_sum = weighted_differences.sum(axis=0)
    squares = (weighted_differences**2).sum(axis=0)
    cross_sum = (weighted_differences * query_weight).sum(axis=0)
    weight_squares = float((weights**2).sum())
    weight_sum = weights.sum()
    limits = []
    for sign in (1, -1):
        z = np.full(len(difference_sum), -float(ndtri(level)))
        for _ in range(3):
            # With limit b: (difference_sum - weight_sum b)^2 = z^2 sum (differences - b weights)^2.
            denominator = weight_sum**2 - z**2 * weight_squares
            center = (weight_sum * difference_sum - z**2 * cross_sum) / denominator
            root = np.sqrt(
                np.maximum(0, center**2 - (difference_sum**2 - z**2 * squares) / denominator)
            )
            limit = center - sign * root
            p, _ = upper_tail(sign * (weighted_differences - query_weight * limit))
            z = z - ndtri(np.clip(level, 1e-300, None)) + ndtri(np.clip(p, 1e-300, 0.5))
        limits.append(limit)
    return limits[0], limits[1]


def _find_tolerances(differences: Floats, width: Floats) -> Floats:
    """Return how far limits may be from the flips' limits, less a step of the sums: (n_pairs,).

    It is at most 0 where no limit is close enough, as where only a few queries differ.
    """
    n = len(differences)
    tolerance = np.zeros(len(width))
    for i, column in enumerate(differences.T):
        nonzero_sizes = np.abs(column)
        nonzero_sizes = nonzero_sizes[nonzero_sizes > 0]
        if len(nonzero_sizes) > _STRAY and math.isfinite(width[i]):
            # If nearly all differences lie on a grid, no difference on it is below its span.
            span = float(np.partition(nonzero_sizes, _STRAY)[_STRAY])
            largest_size = min(1.0, float(nonzero_sizes.max()))
            tolerance[i] = min(NEAR * largest_size, _NEAR_BY_WIDTH * float(width[i])) - span / n
    return tolerance
