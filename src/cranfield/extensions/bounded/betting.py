"""Bounded: a test of mean differences that holds for any number of queries, and at every look.

It assumes only that a query's score has a least and a greatest value. Against the claim that the
mean difference is at most some bound, a gambler who owns 1 puts a share of it on every query's
difference to be above the bound. If the claim is true, the game is fair or worse, so that the
wealth reaches 1 / alpha with a chance of at most alpha, however many queries there are and however
often one looks (Ville 1939). Which share is best is not known beforehand: the wealth is split
evenly among N_BETS shares (Waudby-Smith & Ramdas, JRSS-B 2024; Orabona & Jun, IEEE Transactions on
Information Theory 2024; the mixture is Cover's universal portfolio, Mathematical Finance 1991).
"""

import math
from dataclasses import dataclass

import numpy as np

from cranfield.arrays.products import block_slices, matrix_product
from cranfield.arrays.ranked import Floats, Ints

N_BETS = 100
_SHARES = (np.arange(N_BETS) + 0.5) / N_BETS  # of the most that cannot lose everything
_MAX_DISTANCE = 1e9  # times the range: beyond it, there is no limit
_PRECISION = 1e-12  # times the range: how near a limit is found


@dataclass(frozen=True)
class DifferenceRange:
    """The least and the greatest difference that a query may have, by the range of its scores.

    Scores are from `low` to `high`. If `target` is stated, every score is compared with that
    number. Otherwise, differences are the system's score minus the baseline's, with the sign
    reversed where less is better. If `baseline_mean` is None, a bound is the same for every query.
    Otherwise it is a share of the baseline's score, whose mean is above 0; scores are then 0 at
    least.
    """

    low: float
    high: float
    higher_is_better: bool = True
    baseline_mean: float | None = None
    target: float | None = None

    def find_ends(self, threshold: float) -> tuple[float, float]:
        """Return the least and greatest difference minus its bound, on average `threshold`."""
        if self.target is not None:
            return self.low - self.target - threshold, self.high - self.target - threshold
        if self.baseline_mean is None:
            size = self.high - self.low
            return -size - threshold, size - threshold
        if self.higher_is_better:  # score - share * baseline
            share = 1 + threshold / self.baseline_mean
            return self.low - share * self.high, self.high - share * self.low
        share = 1 - threshold / self.baseline_mean  # share * baseline - score
        return share * self.low - self.high, share * self.high - self.low


def log_wealth(differences: Floats, lowest: float, counts: Ints | None = None) -> float:
    """Return the logarithm of the wealth that betting on a mean above 0 has made of 1.

    `differences` (n,) are each at least `lowest`, and occur `counts` (n,) times, or once. The
    wealth is the mean of prod(1 + share * differences) over shares of 1 / -lowest; infinite if
    `lowest` is not below 0.

    >>> import numpy as np
    >>> round(float(np.exp(log_wealth(np.full(50, 0.02), -0.98))), 10)
    1.7313385953
    """
    if lowest >= 0:  # the claim is impossible
        return math.inf
    weight = np.ones(len(differences)) if counts is None else counts.astype(np.float64)
    relative = differences / -lowest
    log_wealth_of_bet = np.concatenate(
        [
            matrix_product(np.log1p(_SHARES[bets, None] * relative), weight[:, None])[:, 0]
            for bets in block_slices(N_BETS, len(differences))
        ]
    )
    largest = float(log_wealth_of_bet.max())
    return largest + math.log(float(np.exp(log_wealth_of_bet - largest).mean()))


def bet_on_bounds(
    differences: Floats,
    bounds: Floats,
    difference_range: DifferenceRange,
    alpha: float,
    weights: Floats | None = None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Test mean differences against bounds from either side, as `one_sided_tests` does by flips.

    `differences` is (n_queries, n_pairs), `bounds` (n_bounds, n_pairs), `weights` (n_queries,) as
    `one_sided_tests` takes them, where the range has a `baseline_mean`. Returns the lower and the
    upper limits (n_pairs,), each at level 1 - alpha, and the p-values of means of at most, and of
    at least, the bounds: (n_bounds, n_pairs). A bound is below the lower limit, or above the upper
    one, if and only if its p-value is at most alpha.
    """
    limits, p_values = [], []  # of each pair, from below and from above
    for column, pair_bounds in zip(differences.T, bounds.T, strict=True):
        pair = _CountedDifferences.from_queries(column, weights, difference_range)
        for sign in (1, -1):
            log_wealths = [pair.log_wealth(sign, threshold) for threshold in pair_bounds.tolist()]
            p = np.array([math.exp(-max(0.0, log_wealth)) for log_wealth in log_wealths])
            p = np.maximum(p, np.finfo(np.float64).tiny)  # no p-value is 0
            # Rounding must not put a bound that is not rejected beyond the limit.
            possible = np.where(p > alpha, sign * pair_bounds, np.inf)
            limit = min(sign * pair.find_limit(sign, alpha), possible.min(initial=np.inf))
            limits.append(sign * limit + 0.0)
            p_values.append(p)
    lower, upper = np.array(limits).reshape(-1, 2).T
    above, below = np.array(p_values).reshape(-1, 2, len(bounds)).transpose(1, 2, 0)
    return lower, upper, above, below


@dataclass(frozen=True, eq=False)
class _CountedDifferences:
    """The distinct pairs of a difference and its weight, and how often each occurs."""

    differences: Floats  # (n_distinct,)
    weights: Floats  # (n_distinct,) what a threshold is multiplied by
    counts: Ints  # (n_distinct,)
    difference_range: DifferenceRange

    @classmethod
    def from_queries(
        cls, differences: Floats, weights: Floats | None, difference_range: DifferenceRange
    ) -> "_CountedDifferences":
        """Count the distinct of (n_queries,) differences and weights; no weights are ones."""
        rows = differences, np.ones(len(differences)) if weights is None else weights
        distinct, counts = np.unique(np.stack(rows), axis=1, return_counts=True)
        return cls(distinct[0], distinct[1], counts, difference_range)

    def log_wealth(self, sign: int, threshold: float) -> float:
        """Return the log of the wealth against a mean up to, or from (sign -1), a threshold."""
        ends = self.difference_range.find_ends(threshold)
        lowest = ends[0] if sign > 0 else -ends[1]
        return log_wealth(sign * (self.differences - threshold * self.weights), lowest, self.counts)

    def find_limit(self, sign: int, alpha: float) -> float:
        """Bisect to the lowest threshold (sign -1: highest) not rejected; infinite if too far."""
        log_threshold = -math.log(alpha)
        score_range = self.difference_range.high - self.difference_range.low
        # At the mean, no bet wins: a product of factors with mean 1 is at most 1.
        inner_limit = float((self.differences * self.counts).sum()) / int(self.counts.sum())
        step = score_range
        outer_limit = inner_limit - sign * step
        while self.log_wealth(sign, outer_limit) < log_threshold:
            step *= 2
            if step > _MAX_DISTANCE * score_range:
                return -sign * math.inf
            inner_limit, outer_limit = outer_limit, outer_limit - sign * step
        while abs(inner_limit - outer_limit) > _PRECISION * score_range:
            middle = (inner_limit + outer_limit) / 2
            is_inner = self.log_wealth(sign, middle) < log_threshold
            inner_limit, outer_limit = (middle, outer_limit) if is_inner else (inner_limit, middle)
        return inner_limit
