"""How many queries find an effect, and which effect a number of queries finds.

An effect is a mean difference divided by the standard deviation of the queries' differences. Power
is computed for paired t tests; that of the sign-flip test is nearly the same. For the number of
queries: Sakai, Information Retrieval Journal 19 (2016); for non-inferiority: Julious, Statistics in
Medicine 23 (2004).

Where queries come in clusters that depend on one another, the clusters' means are tested: as many
clusters are needed as queries would be that vary like these means.

Where systems are means of runs with several seeds, and are to be trained again, the seeds add to
the variance of a mean, and no number of queries makes up for too few runs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import count_check
from cranfield.errors import OptionError
from cranfield.options import Options, check_option, number_check, option, share_check

MOST_QUERIES = 1_000_000_000
_POINTS = 16  # of Gauss's rule, for each variance
_Size = TypeVar("_Size", int, float)


AddedVariances = Sequence[
    tuple[float, float]
]  # (a variance of a mean, its degrees of freedom) each


@dataclass(frozen=True, kw_only=True)
class Design(Options):
    """The goal of an experiment: one of effect, difference, width and margin."""

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
    cluster_size: int | None = option(
        None,
        "How many queries depend on one another, as those of one session: the size of a cluster. "
        "Needs icc.",
        count_check(1),
    )
    icc: float | None = option(
        None,
        "The intraclass correlation: how much the differences of a cluster's queries correlate, "
        "from 0 (independent) to 1 (the same). Needs cluster_size.",
        number_check(0, 1),
    )

    seeds: int | None = option(
        None, "How many runs each system has, with different seeds. Needs seed_sd.", count_check(2)
    )
    seed_sd: float | None = option(
        None,
        "The sd of the means of a system's runs. It is in the unit of sd; the question is then one "
        "of training the systems again, with other seeds.",
        number_check(0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seeds is not None and self.seed_sd is None:
            raise OptionError(
                f"seeds={self.seeds} needs seed_sd, the standard deviation of the means of a "
                "system's runs (--seed-sd)"
            )
        if (self.cluster_size is None) != (self.icc is None):
            raise OptionError("state cluster_size and icc together (--cluster-size, --icc)")

    @property
    def queries_per_cluster(self) -> int:
        """How many queries each cluster has; 1 without clusters."""
        return self.cluster_size or 1

    @property
    def design_effect(self) -> float:
        """The variance of a mean, divided by the variance that independent queries would give.

        1 + (m - 1) icc for clusters of m queries (Kish, Survey Sampling, 1965).
        """
        return 1 + (self.queries_per_cluster - 1) * (self.icc or 0.0)

    @property
    def cluster_sd(self) -> float:
        """The standard deviation of a cluster's mean, divided by that of a query's difference."""
        return math.sqrt(self.design_effect / self.queries_per_cluster)

    @property
    def seed_variances(self) -> AddedVariances:
        """What the seeds of two systems add to the variance of a mean difference."""
        if self.seeds is None or not self.seed_sd:
            return ()
        return ((self.seed_sd**2 / self.seeds, self.seeds - 1),) * 2

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

    def check_sd(self) -> None:
        """Raise OptionError for differences of queries that do not vary."""
        if self.sd == 0:
            raise OptionError("sd=0: expected a number above 0: the differences of queries vary")


def count_clusters(n_queries: int, design: Design) -> int:
    """Return the number of clusters in `n_queries`, at least 2; without clusters, of queries."""
    n = n_queries // design.queries_per_cluster
    if n < 2:
        raise OptionError(
            f"n_queries={n_queries}: expected at least two clusters of "
            f"{design.queries_per_cluster:,} queries"
        )
    return n


def detectable(
    n_queries: int,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    cluster_size: int | None = None,
    icc: float | None = None,
    seeds: int | None = None,
    seed_sd: float | None = None,
) -> float:
    """Return the smallest effect that a two-sided paired t test of `n_queries` queries finds.

    It is found with probability `power`. Multiplied by the standard deviation of the differences,
    it is the smallest mean difference.

    Args:
        n_queries: the number of queries, at least 2.
        power: the probability of finding the effect, above 0 and below 1.
        alpha: the level of the test, above 0 and below 1.
        cluster_size: how many queries depend on one another; needs `icc`.
        icc: how much the differences of such queries correlate, from 0 to 1.
        seeds: how many runs each system has, trained with different seeds; needs `seed_sd`.
        seed_sd: the standard deviation of the means of a system's runs, divided by that of the
            differences, as the effect is.

    Raises:
        OptionError: a value out of its range, or a power that is not above alpha.

    >>> round(detectable(50), 4)
    0.4042

    """
    n_queries = check_option("n_queries", n_queries, count_check(2))
    design = Design(
        power=power, alpha=alpha, cluster_size=cluster_size, icc=icc, seeds=seeds, seed_sd=seed_sd
    )
    design.check_power()
    mean = estimate_mean(count_clusters(n_queries, design), design)

    def suffices(effect: float) -> bool:
        return rejection_probability(mean, effect, design.alpha, 2) >= design.power

    return find_least(suffices, 0.0, lambda low, high: (low + high) / 2)


def find_n_queries(design: Design, added_variances: AddedVariances | None = None) -> int:
    """Return the smallest number of queries for a design; more than a billion if there is none.

    `added_variances` are what seeds add to the variance of a mean; None: what the design says.
    """
    added_variances = design.seed_variances if added_variances is None else added_variances
    reaches_goal = make_goal_test(design)
    if design.sd == 0 and not added_variances:
        return 2 * design.queries_per_cluster
    if added_variances and not reaches_goal(MOST_QUERIES + 1, added_variances):
        return MOST_QUERIES + 1
    n_clusters = find_least(
        lambda n_clusters: reaches_goal(n_clusters, added_variances),
        1,
        lambda low, high: (low + high) // 2,
    )
    return n_clusters * design.queries_per_cluster


def make_goal_test(design: Design) -> Callable[[int, AddedVariances], bool]:
    """Return a function that tells whether a number of clusters reaches the goal of a design.

    Without clusters, it takes a number of queries. Raises OptionError for no goal or several, or
    for a goal that no number reaches.
    """
    if len(design.stated_goals) != 1:
        goals_phrase = f", not {' and '.join(design.stated_goals)}" if design.stated_goals else ""
        raise OptionError(f"state one of effect, difference, width or margin{goals_phrase}")
    design.check_power()
    [(goal, goal_size)] = design.stated_goals.items()
    effect_size, alpha = abs(goal_size), design.alpha
    if effect_size == 0:
        raise OptionError(f"{goal}=0: no number of queries is enough for it")
    if goal == "effect" and design.sd is not None:
        raise OptionError("effect takes no sd: it is already divided by it")
    if goal != "effect":
        if design.sd is None:
            raise OptionError(f"{goal} needs sd, the standard deviation of the differences")
        effect_size /= design.sd or 1.0
    if not 1e-100 < effect_size / design.cluster_sd < 1e100:
        raise OptionError(f"{goal}={goal_size!r} is too small or too large for sd={design.sd!r}")
    sides: Literal[1, 2] = 1 if goal == "margin" else 2

    def reaches_goal(n_clusters: int, added_variances: AddedVariances) -> bool:
        mean = estimate_mean(n_clusters, design, added_variances)
        if goal == "width":
            return _expected_width(mean, alpha) <= effect_size
        return rejection_probability(mean, effect_size, alpha, sides) >= design.power

    return reaches_goal


class _EstimatedMean(NamedTuple):
    """A mean of the queries' differences, and cases of its estimated standard error: (n_cases,).

    A case is an estimated standard error, divided by the true standard error, with the degrees of
    freedom of the estimate; cases have weights, which sum to 1.
    """

    precision: float  # 1 / the true standard error, in standard deviations of the differences
    error_ratio: Floats
    degrees: int | Floats  # of freedom
    weights: Floats


def estimate_mean(
    n: int, design: Design, added_variances: AddedVariances | None = None
) -> _EstimatedMean:
    """Return the mean of n clusters, or queries, with what seeds add to its variance."""
    seed_variances = design.seed_variances if added_variances is None else added_variances
    if not seed_variances:
        return _EstimatedMean(math.sqrt(n) / design.cluster_sd, *_estimate_one_variance(n - 1))
    # Where queries do not vary, sizes are not divided by their standard deviation.
    unit, query_variance = (design.sd or 1.0) ** 2, 0.0 if design.sd == 0 else design.cluster_sd**2
    variances = [query_variance / n, *(variance / unit for variance, _ in seed_variances)]
    degrees = [n - 1.0, *(degrees_of_one for _, degrees_of_one in seed_variances)]
    return _EstimatedMean(
        1 / math.sqrt(math.fsum(variances)), *_estimate_variance_sum(variances, degrees)
    )


def _estimate_one_variance(df: int) -> tuple[Floats, int, Floats]:
    """Return cases of an estimated standard deviation: ratios to the true one, degrees, weights.

    The logarithm u of an estimate is integrated over by the trapezoid rule: its density,
    proportional to exp(df (u - exp(2 u) / 2)), is smooth and falls to 0 at both ends, so that every
    point adds digits.
    """
    half_width = math.sqrt(40 / df)  # beyond it, weights are below exp(-40)
    log_ratio = np.arange(-40 / df - half_width, min(half_width, 2.5), min(half_width / 50, 0.02))
    weights = np.exp(df * (log_ratio - np.expm1(2 * log_ratio) / 2))
    return np.exp(log_ratio), df, weights / weights.sum()


def _estimate_variance_sum(
    variances: Sequence[float], degrees: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """Return cases of the estimated root of a sum of variances, as `_estimate_one_variance` does.

    Each variance is estimated by its own chi-square variate, and the degrees of freedom by
    Satterthwaite's rule (Biometrics Bulletin 1946) from these estimates: Gauss's rule over the
    quantiles of each.
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
    """Return the least number above `low` that is enough, given that `low` is not."""
    high: _Size = low + 1
    while not suffices(high):
        low, high = high, 2 * high
    while low < (midpoint := find_middle(low, high)) < high:
        low, high = (low, midpoint) if suffices(midpoint) else (midpoint, high)
    return high


def rejection_probability(
    mean: _EstimatedMean, effect: float, alpha: float, sides: Literal[1, 2]
) -> float:
    """Return the probability that a t test of a mean with this true effect rejects.

    t is a normal variate around effect * precision, divided by the estimate of the standard
    deviation. (The noncentral t of scipy has 7 digits up to version 1.14, and later none at all for
    some large arguments.)
    """
    from scipy.special import ndtr, stdtrit

    center = effect * mean.precision
    critical_effect = stdtrit(mean.degrees, 1 - alpha / sides) * mean.error_ratio
    rejection = ndtr(center - critical_effect)
    if sides == 2:
        rejection += ndtr(-center - critical_effect)
    return float(mean.weights @ rejection)


def _expected_width(mean: _EstimatedMean, alpha: float) -> float:
    """Return the expected width of the t interval, in standard deviations of the differences."""
    from scipy.special import stdtrit

    return (
        2
        * float(mean.weights @ (stdtrit(mean.degrees, 1 - alpha / 2) * mean.error_ratio))
        / mean.precision
    )
