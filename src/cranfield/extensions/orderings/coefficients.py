"""Rank correlation: how alike two orderings of the same systems are.

Each coefficient takes two sequences of scores, one of each system, greater for better ones. Scores
are rounded to 9 decimals first, so that what differs by rounding alone is a tie. What is not
defined, as for one system, is None. Each raises InputError if the scores are not as many, or not
all finite numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, ratio, total
from cranfield.errors import InputError

ScoreSequence = Sequence[float] | Floats
DECIMALS = 9


@dataclass(frozen=True)
class Kendall:
    """Kendall's tau of two orderings, and the pairs of systems that it counts.

    Every pair of the `n` systems is one of five: ordered alike (`concordant`), ordered the other
    way round (`discordant`), tied in the first only (`ties_x`), in the second only (`ties_y`), or
    in both (`ties_both`).

    >>> kendall([0.4, 0.3, 0.2], [0.5, 0.7, 0.1]).discordant
    1
    """

    n: int
    concordant: int
    discordant: int
    ties_x: int
    ties_y: int
    ties_both: int

    @property
    def tau_a(self) -> float | None:
        """(concordant - discordant) / all pairs: no ordering with a tie has 1 with itself."""
        pairs = self.n * (self.n - 1) // 2
        return (self.concordant - self.discordant) / pairs if pairs else None

    @property
    def tau_b(self) -> float | None:
        """(concordant - discordant) / geometric mean of the pairs untied in x and those in y."""
        n_untied = self.concordant + self.discordant
        squared_norm = (n_untied + self.ties_y) * (n_untied + self.ties_x)
        return (
            (self.concordant - self.discordant) / math.sqrt(squared_norm) if squared_norm else None
        )


def kendall(x: ScoreSequence, y: ScoreSequence) -> Kendall:
    """Count how pairs of systems are ordered (Kendall, Biometrika 1938; ties: 1945).

    Args:
        x: a score for each system.
        y: another score for each of the same systems, in the same order.

    Raises InputError if the scores are not as many, or not all finite numbers.

    >>> found = kendall([0.4, 0.3, 0.2, 0.2], [0.5, 0.7, 0.1, 0.3])
    >>> found.concordant, found.discordant, found.ties_x
    (4, 1, 1)
    >>> found.tau_a
    0.5

    """
    x, y = _check_scores(x, y)
    upper = np.triu_indices(len(x), 1)
    sign_x, sign_y = _pair_signs(x)[upper], _pair_signs(y)[upper]
    sign_product = sign_x * sign_y

    def count(is_counted: Floats) -> int:
        return int(np.count_nonzero(is_counted))

    return Kendall(
        len(x),
        count(sign_product > 0),
        count(sign_product < 0),
        count((sign_x == 0) & (sign_y != 0)),
        count((sign_x != 0) & (sign_y == 0)),
        count((sign_x == 0) & (sign_y == 0)),
    )


def tau_ap(truth: ScoreSequence, y: ScoreSequence) -> float | None:
    """Return the AP rank correlation of an ordering with the true one, both without ties.

    For each system of `y` but the first, the share of those above it that are truly better: twice
    the mean of these, less 1. Differences at the top count most (Yilmaz, Aslam & Robertson,
    SIGIR 2008). It matters which of the two is the truth.

    Args:
        truth: the true score of each system.
        y: another score for each of the same systems, in the same order.

    Raises InputError if there is a tie: `tau_ap_b` has an answer for these, `tau_ap_a` for ties of
    `y`.

    >>> tau_ap([0.4, 0.3, 0.2], [0.5, 0.7, 0.1])
    0.0

    """
    truth, y = _check_scores(truth, y)
    if _has_ties(y):
        raise InputError(
            "the second sequence of scores has a tie, for which tau_ap has no answer",
            hint="tau_ap_a gives the mean over all orders of the tied, tau_ap_b treats ties as "
            "the data's own",
        )
    return tau_ap_a(truth, y)


def tau_ap_a(truth: ScoreSequence, y: ScoreSequence) -> float | None:
    """Return the mean of `tau_ap` over all orders of the systems that `y` ties.

    For where the ties are an accident (Urbano & Marrero, ICTIR 2017). Without ties it is `tau_ap`.
    Raises InputError if the truth has a tie.

    Args:
        truth: the true score of each system.
        y: another score for each of the same systems, in the same order.

    >>> tau_ap_a([0.4, 0.3, 0.2], [0.5, 0.5, 0.1])
    0.5

    """
    truth, y = _check_scores(truth, y)
    if _has_ties(truth):
        raise InputError(
            "the true scores have a tie, and tau_ap and tau_ap_a need a truth without any",
            hint="tau_ap_b takes ties in both",
        )
    n = len(y)
    if n < 2:
        return None
    order = np.argsort(-y, kind="stable")
    first = (-y[order]).searchsorted(-y[order])  # (n,) how many systems are strictly above
    # Truly better than the system at a position of a tie are, on average over all orders: of the
    # systems above the tie, the mean number over the tied; and half of the tied above the position.
    mean_better_above = ratio(
        np.bincount(first, _count_better_above(truth, y)[order], n), np.bincount(first, minlength=n)
    )
    position = np.arange(n)
    n_better_above = mean_better_above[first] + (position - first) / 2
    return 2 * total(n_better_above[1:] / position[1:]) / (n - 1) - 1


def tau_ap_b(x: ScoreSequence, y: ScoreSequence) -> float | None:
    """Return the AP rank correlation with ties of both, neither of which is the truth.

    For where ties are what the data say (Urbano & Marrero, ICTIR 2017): the mean of two values,
    each with one of the two for the truth. None if either ties all systems.

    Args:
        x: a score for each system.
        y: another score for each of the same systems, in the same order.

    >>> tau_ap_b([0.4, 0.3, 0.3], [0.5, 0.1, 0.1])
    1.0

    """
    x, y = _check_scores(x, y)
    taus = [_tau_ap_of_truth(x, y), _tau_ap_of_truth(y, x)]
    return None if None in taus else sum(tau or 0.0 for tau in taus) / 2


def _tau_ap_of_truth(truth: Floats, y: Floats) -> float | None:
    """Return tau-AP where ties of `y` stay ties: of -1 to 1, None if `y` ties all systems.

    Twice the mean, over all systems but the top tie of `y`, of the share of the systems above that
    are truly better, less 1.
    """
    n_above = np.count_nonzero(y > y[:, None], axis=1)
    has_above = n_above > 0
    if not has_above.any():
        return None
    shares = _count_better_above(truth, y)[has_above] / n_above[has_above]
    return 2 * total(shares) / len(shares) - 1


def _count_better_above(truth: Floats, y: Floats) -> Ints:
    """Return, for each system, how many systems are above it in `y` and truly better: (n,)."""
    n_better: Ints = np.count_nonzero((y > y[:, None]) & (truth > truth[:, None]), axis=1)
    return n_better


def weighted_tau(x: ScoreSequence, y: ScoreSequence) -> float | None:
    """Return the weighted tau: pairs count by the ranks of their systems, 1/rank + 1/rank.

    The additive hyperbolic one of Vigna (WWW 2015): the mean of two, weighted by the ranks in `x`
    (ties broken by `y`), and the other way round. The same as scipy.stats.weightedtau, with its
    defaults. None if either ties all systems.

    >>> weighted_tau([0.4, 0.3, 0.2], [0.4, 0.3, 0.2])
    1.0
    """
    x, y = _check_scores(x, y)
    sign_x, sign_y = _pair_signs(x), _pair_signs(y)
    row_sums = (sign_x * sign_y).sum(axis=1), np.abs(sign_x).sum(axis=1), np.abs(sign_y).sum(axis=1)
    if not (row_sums[1].any() and row_sums[2].any()):
        return None
    tau = 0.0
    for keys in ((y, x), (x, y)):
        order = np.lexsort([-key for key in keys])
        weight = np.empty(len(order))
        weight[order] = 1 / np.arange(1, len(order) + 1)
        covariance, variance_x, variance_y = (total(weight * row) for row in row_sums)
        tau += covariance / math.sqrt(variance_x * variance_y) / 2
    return tau


def spearman(x: ScoreSequence, y: ScoreSequence) -> float | None:
    """Return Spearman's rho: the correlation of the ranks, of which ties share the mean.

    None if either ties all systems.

    >>> spearman([0.4, 0.3, 0.2], [0.5, 0.7, 0.1])
    0.5
    """
    x, y = _check_scores(x, y)
    # Twice the distances of the ranks from their mean.
    a, b = _pair_signs(x).sum(axis=1), _pair_signs(y).sum(axis=1)
    squared_norm = float((a * a).sum()) * float((b * b).sum())
    return float((a * b).sum()) / math.sqrt(squared_norm) if squared_norm else None


def round_scores(scores: Floats) -> Floats:
    """Return scores rounded to `DECIMALS`: those that differ by rounding alone become equal."""
    rounded_scores: Floats = np.round(scores, DECIMALS) + 0.0
    return rounded_scores


def _pair_signs(x: Floats) -> Ints:
    """Return, for each two systems, 1, 0 or -1: the first has the greater score, or not: (n, n)."""
    signs: Ints = np.sign(x[:, None] - x).astype(np.int64)
    return signs


def _has_ties(x: Floats) -> bool:
    return len(np.unique(x)) < len(x)


def _check_scores(x: ScoreSequence, y: ScoreSequence) -> tuple[Floats, Floats]:
    """Return both as arrays of rounded scores; raise InputError where they do not fit."""
    score_arrays = []
    for name, scores in (("first", x), ("second", y)):
        try:
            score_array = np.asarray(scores, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"the {name} sequence of scores holds what is no number") from None
        if score_array.ndim != 1:
            raise InputError(f"the {name} sequence of scores is no flat one: {score_array.shape}")
        if not np.isfinite(score_array).all():
            position = int(np.flatnonzero(~np.isfinite(score_array))[0])
            raise InputError(
                f"score {position + 1} of the {name} sequence is {score_array[position]}, and no "
                "number"
            )
        score_arrays.append(round_scores(score_array))
    if len(score_arrays[0]) != len(score_arrays[1]):
        raise InputError(
            f"there are {len(score_arrays[0])} scores and {len(score_arrays[1])}: both are to be "
            "of the same systems, in the same order"
        )
    return score_arrays[0], score_arrays[1]
