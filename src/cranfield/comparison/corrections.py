"""Many comparisons: p-values adjusted for a whole family of them.

Each function takes p-values (n_pairs,) and returns adjusted p-values in the same order, at most 1:
a pair is significant if its adjusted p-value is at most alpha.
"""

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, total


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down rule (Holm, Scandinavian Journal of Statistics 1979).

    The smallest p-value is multiplied by their number m, the next by m - 1, and so on; no adjusted
    p-value is below the one before it. Keeps the chance of any false alarm at alpha, for any test
    and any dependence between the comparisons.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    return _restore_order(order, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))


def bonferroni(p: Floats) -> Floats:
    """Multiply by the number of comparisons.

    >>> bonferroni(np.array([0.01, 0.04, 0.75]))
    array([0.03, 0.12, 1.  ])
    """
    adjusted_p: Floats = np.minimum(p * len(p), 1.0)
    return adjusted_p


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust for the share of false alarms among all that are called significant.

    For exploring: single false alarms are to be expected (Benjamini & Hochberg, JRSS-B 1995).

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    return _step_up(p, float(len(p)))


def benjamini_yekutieli(p: Floats) -> Floats:
    """Adjust as Benjamini & Hochberg do, for any dependence between the comparisons.

    Benjamini & Yekutieli, Annals of Statistics 2001.

    >>> benjamini_yekutieli(np.array([0.01, 0.5])).tolist() == [0.01 * 2 * (1 + 1 / 2), 0.75]
    True
    """
    return _step_up(p, len(p) * total(1 / np.arange(1, len(p) + 1)))


def _step_up(p: Floats, factor: float) -> Floats:
    """Return p * factor / rank, at least p, and at most the adjusted p of greater p-values."""
    order = np.argsort(p, kind="stable")
    scaled_p = np.maximum(p[order] * factor / np.arange(1, len(p) + 1), p[order])
    return _restore_order(order, np.minimum.accumulate(scaled_p[::-1])[::-1])


def _restore_order(order: Ints, sorted_p: Floats) -> Floats:
    adjusted_p = np.empty(len(sorted_p))
    adjusted_p[order] = np.minimum(sorted_p, 1.0)
    return adjusted_p


def correct_p_values(name: str, p: Floats) -> Floats:
    """Adjust by one of CORRECTIONS, or not at all for "none"; NaN counts as a comparison.

    >>> correct_p_values("holm", np.array([0.01, np.nan]))
    array([0.02,  nan])
    """
    if name == "none":
        return p
    is_absent = np.isnan(p)
    return np.where(is_absent, np.nan, CORRECTIONS[name](np.where(is_absent, 1.0, p)))


CORRECTIONS = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
}
