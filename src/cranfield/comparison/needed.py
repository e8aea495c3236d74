"""How many queries find an effect, and which effect n queries find: for pairs, gates and `power`.

An effect is a mean difference divided by the standard deviation of the queries' differences. Power
is computed for paired t tests; that of the sign-flip test is nearly the same. For the number of
queries: Sakai, Information Retrieval Journal 19 (2016); for non-inferiority: Julious, Statistics in
Medicine 23 (2004).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.level import ALPHA
from cranfield.errors import OptionError
from cranfield.options import Options, number_check, option, share_check

MOST_QUERIES = 1_000_000_000
_POINTS = 16  # of Gauss's rule, for each variance
_Size = TypeVar("_Size", int, float)
# (a variance of a mean, its degrees of freedom) each
AddedVariances = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Goal(Options):
    """The goal of an experiment: effect, difference, width or margin; its sd, power and alpha."""

    effect: float | None = option(
        None, "The effect to be found: a mean difference divided by its sd.", number_check()
    )
    difference: float | None = option(
        None, "The mean difference to be found; needs sd.", number_check()
    )
    width: float | None = option(
        None,
        "How wide the confidence interval of the mean difference may be expected to be, from end "
        "to end; needs sd (Sakai 2016).",
        number_check(),
    )
    margin: float | None = option(
        None,
        "The margin of a one-sided test that a system is not worse, for a system as good as the "
        "baseline; needs sd.",
        number_check(),
    )
    sd: float | None = option(
        None,
        "The standard deviation of the queries' differences, from earlier experiments (the square "
        "root of twice the residual variance of Sakai's two-way analysis).",
        number_check(0),
    )
    power: float = option(
        0.8, "How likely the difference is to be found, or the system to pass.", share_check()
    )
    alpha: float = option(*ALPHA)

    @property
    def stated_goals(self) -> dict[str, float]:
        """{name: number} of the goals that are stated: effect, difference, width, margin."""
        goal_names = ("effect", "difference", "width", "margin")
        return {name: vars(self)[name] for name in goal_names if vars(self)[name] is not None}

    def check_power(self) -> None:
        """Raise OptionError for a power that is not above alpha, the power of chance."""
        if self.power <= self.alpha:
            raise OptionError(
                f"power={self.power!r}: expected more than alpha={self.alpha!r}, chance's power"
            )

    def allow_for_changes(self, power: float, n: int) -> float:
        """Return the power that `n` queries, or clusters, keep where not all of them change."""
        return power


def find_least_effect(goal: Goal, mean: "EstimatedMean", sides: Literal[1, 2] = 2) -> float:
    """Return the smallest effect that a t test of a mean finds with the goal's power.

    Raises OptionError for a power that is not above alpha.
    """
    goal.check_power()

    def is_detected(effect: float) -> bool:
        return rejection_probability(mean, effect, goal.alpha, sides) >= goal.power

    return find_least(is_detected, 0.0, lambda low, high: (low + high) / 2)


def find_n_queries(
    goal: Goal, added_variances: AddedVariances = (), cluster_sd: float = 1.0
) -> int:
    """Return the smallest number of queries for a goal; above a billion if no other is enough.

    `added_variances` are added to the variance of a mean. With clusters, return the number of
    clusters; `cluster_sd` is the standard deviation of a cluster's mean, divided by that of a
    query's difference. Raises what `make_goal_test` raises.
    """
    reaches_goal = make_goal_test(goal, cluster_sd)
    if goal.sd == 0 and not added_variances:
        return 2
    if added_variances and not reaches_goal(MOST_QUERIES + 1, added_variances):
        return MOST_QUERIES + 1
    return find_least(
        lambda n: reaches_goal(n, added_variances), 1, lambda low, high: (low + high) // 2
    )


def make_goal_test(goal: Goal, cluster_sd: float = 1.0) -> Callable[[int, AddedVariances], bool]:
    """Return a function that tells whether a number of queries, or clusters, reaches a goal.

    Raises OptionError for no goal or several, for a goal that is 0 or extreme, for an `sd` that is
    missing or not needed, and for a power that is not above alpha.
    """
    if len(goal.stated_goals) != 1:
        goals_phrase = f", not {' and '.join(goal.stated_goals)}" if goal.stated_goals else ""
        raise OptionError(f"state one of effect, difference, width or margin{goals_phrase}")
    goal.check_power()
    [(name, size)] = goal.stated_goals.items()
    scaled_size, alpha = abs(size), goal.alpha
    if scaled_size == 0:
        raise OptionError(f"{name}=0: no number of queries is enough for it")
    if name == "effect" and goal.sd is not None:
        raise OptionError("effect takes no sd: it is already divided by it")
    if name != "effect":
        if goal.sd is None:
            raise OptionError(f"{name} needs sd, the standard deviation of the differences")
        scaled_size /= goal.sd or 1.0
    if not 1e-100 < scaled_size / cluster_sd < 1e100:
        raise OptionError(f"{name}={size!r} is too small or too large for sd={goal.sd!r}")
    sides: Literal[1, 2] = 1 if name == "margin" else 2

    def reaches_goal(n: int, added_variances: AddedVariances) -> bool:
        mean = estimate_mean(n, goal.sd, cluster_sd, added_variances)
        if name == "width":
            return _expected_width(mean, alpha) <= scaled_size
        power = rejection_probability(mean, scaled_size, alpha, sides)
        return min(power, goal.allow_for_changes(power, n)) >= goal.power

    return reaches_goal


class EstimatedMean(NamedTuple):
    """A mean of the queries' differences, and cases of its estimated standard error: (n_cases,).

    A case is an estimated standard error, divided by the true standard error, with the degrees of
    freedom of the estimate; cases have weights, which sum to 1.
    """

    precision: float  # 1 / the true standard error, in standard deviations of the differences
    error_ratio: Floats
    degrees: int | Floats  # of freedom
    weights: Floats


def estimate_mean(
    n: int, sd: float | None = None, cluster_sd: float = 1.0, added_variances: AddedVariances = ()
) -> EstimatedMean:
    """Return the mean of n queries, or clusters, with variances that are added to its variance.

    `sd` is the standard deviation of the queries' differences, in the unit whose square is that of
    the added variances; None: 1.
    """
    if not added_variances:
        return EstimatedMean(math.sqrt(n) / cluster_sd, *_estimate_one_variance(n - 1))
    # Where queries do not vary, sizes are not divided by their standard deviation.
    unit, query_variance = (sd or 1.0) ** 2, 0.0 if sd == 0 else cluster_sd**2
    variances = [query_variance / n, *(variance / unit for variance, _ in added_variances)]
    degrees = [n - 1.0, *(df for _, df in added_variances)]
    precision = 1 / math.sqrt(math.fsum(variances))
    return EstimatedMean(precision, *_estimate_variance_sum(variances, degrees))


def _estimate_one_variance(df: int) -> tuple[Floats, int, Floats]:
    """Return cases of an estimated standard deviation: ratios to the true one, degrees, weights.

    The logarithm u of an estimate is integrated over by the trapezoid rule: its density,
    proportional to exp(df (u - exp(2 u) / 2)), is smooth and falls to 0 at both ends, so that every
    point adds digits.
    """
    half_width = math.sqrt(40 / df)  # above it, weights are below exp(-40)
    log_ratio = np.arange(-40 / df - half_width, min(half_width, 2.5), min(half_width / 50, 0.02))
    weights = np.exp(df * (log_ratio - np.expm1(2 * log_ratio) / 2))
    return np.exp(log_ratio), df, weights / weights.sum()


def _estimate_variance_sum(
    variances: Sequence[float], degrees: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """Return cases of the estimated root of a sum of variances, as `_estimate_one_variance` does.

    Each variance is estimated by its own chi-square variate (or is known, if its degrees of freedom
    are infinite), and the degrees of freedom by Satterthwaite's rule (Biometrics Bulletin 1946)
    from these estimates: Gauss's rule over the quantiles of each.
    """
    from scipy.special import chdtri

    gauss_points, gauss_weights = np.polynomial.legendre.leggauss(_POINTS)
    quantiles, gauss_weights = (1 - gauss_points) / 2, gauss_weights / 2
    estimates = [
        np.full(_POINTS, variance) if df == math.inf else variance * chdtri(df, quantiles) / df
        for variance, df in zip(variances, degrees, strict=True)
    ]
    grid = [estimate.ravel() for estimate in np.meshgrid(*estimates, indexing="ij")]
    weights = np.prod(np.meshgrid(*[gauss_weights] * len(grid), indexing="ij"), axis=0).ravel()
    variance_sum = sum(grid)
    squares_by_degrees = sum(estimate**2 / df for estimate, df in zip(grid, degrees, strict=True))
    return (
        np.sqrt(variance_sum / math.fsum(variances)),
        variance_sum**2 / squares_by_degrees,
        weights,
    )


def find_least(
    suffices: Callable[[_Size], bool], low: _Size, find_middle: Callable[[_Size, _Size], _Size]
) -> _Size:
    """Return the least number above `low` that suffices, by doubling, then by `find_middle`."""
    high: _Size = low + 1
    while not suffices(high):
        low, high = high, 2 * high
    while low < (midpoint := find_middle(low, high)) < high:
        low, high = (low, midpoint) if suffices(midpoint) else (midpoint, high)
    return high


def rejection_probability(
    mean: EstimatedMean, effect: float, alpha: float, sides: Literal[1, 2]
) -> float:
    """Return the probability that a t test of a mean with this true effect rejects.

    t is a normal variate around effect * precision, divided by the error ratio. (The noncentral
    t of scipy has 7 digits up to version 1.14, and later none at all for some large arguments.)
    """
    from scipy.special import ndtr, stdtrit

    center = effect * mean.precision
    critical_effect = stdtrit(mean.degrees, 1 - alpha / sides) * mean.error_ratio
    rejection = ndtr(center - critical_effect)
    if sides == 2:
        rejection += ndtr(-center - critical_effect)
    return float(mean.weights @ rejection)


def _expected_width(mean: EstimatedMean, alpha: float) -> float:
    """Return the expected width of the t interval, in standard deviations of the differences."""
    from scipy.special import stdtrit

    return (
        2
        * float(mean.weights @ (stdtrit(mean.degrees, 1 - alpha / 2) * mean.error_ratio))
        / mean.precision
    )
