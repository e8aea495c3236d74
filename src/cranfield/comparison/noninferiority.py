"""Non-inferiority: tests of mean gains over a baseline against a margin, for a gate's verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.binary import (
    PairedCounts,
    normal_quantile,
    normal_tail,
    tango_interval,
    tango_statistic,
    wilson_interval,
    wilson_statistic,
)
from cranfield.comparison.edgeworth import limits_agree
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.gate_tests import Limits
from cranfield.comparison.randomization import one_sided_tests
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import (
    TIE,
    AddedVariance,
    Moments,
    fieller_interval,
    student_t,
)
from cranfield.comparison.units import EACH_QUERY, Units

# How the randomization test's limits and p-values were computed: by all possible flips, by all
# drawn flips, or by Student's t, which agrees.
GateMethod = Literal["exact", "drawn", "t", "tango", "wilson"]
SCORE_METHODS = ("tango", "wilson")  # of zeros and ones: they hold, however few are different


@dataclass(frozen=True, eq=False)
class GainSample:
    """Gains of systems over a baseline under one measure, and the margin to test them against."""

    gains: Floats  # (n_queries, n_systems); above 0 is better
    margin: float
    weights: Floats | None = None  # if the margin is a share: the baseline's scores, with mean 1
    # The baseline's mean, which the weights were divided by; if less is better, its negative.
    signed_baseline_mean: float = math.nan
    test_range: Any = None  # the range of differences that a gate test of an extension needs
    units: Units = EACH_QUERY
    # What is added to the variances of the systems' means and, if there is a baseline, of its mean;
    # empty: nothing.
    added_variances: Sequence[AddedVariance] = ()
    # (n_systems,) whether all scores are zeros and ones, so that score limits are used; None: no.
    is_binary: Bools | None = None
    goal: float | None = None  # of a threshold: the number that was subtracted from the scores

    def add_variances(self, moments: Moments, baseline_share: float | Floats = 1.0) -> Moments:
        """Return moments of the systems minus a share of the baseline, with added variances."""
        if not self.added_variances:
            return moments
        shares = (1.0, baseline_share)
        return moments.add_variances(
            [
                added_variance.variance * factor**2
                for added_variance, factor in zip(self.added_variances, shares, strict=False)
            ],
            [added_variance.degrees for added_variance in self.added_variances],
        )

    def pair_gains(self, gains: Floats) -> PairedScores:
        """Return gains of the queries, (n_queries, n), as pairs on the units that are tested."""
        return self.units.pair_units(PairedScores.from_differences(gains))

    def sum_units(self, query_values: Floats) -> Floats:
        """Return the units' sums, (n_units, n), scaled to the mean of the queries."""
        unit_sums = self.units.sum_queries(query_values)
        return unit_sums * (len(unit_sums) / len(query_values))

    @property
    def is_changed(self) -> Bools:
        """Whether a system differs from the baseline on a query: (n_queries, n_systems)."""
        is_changed: Bools = np.abs(self.gains) > TIE
        return is_changed

    @property
    def n_changed_units(self) -> Ints:
        """The number of units with a query on which a system differs: (n_systems,)."""
        n_changed_units: Ints = np.count_nonzero(
            self.units.sum_queries(self.is_changed * 1.0), axis=0
        )
        return n_changed_units


class GainTests(NamedTuple):
    """The tests of one measure's mean gains against -margin, 0 and margin."""

    moments: Moments  # of the queries
    unit_moments: Moments  # of the units that are tested
    n_changed: Ints  # units with a query that differs: (n_systems,)
    lower: Floats  # one-sided limits of the mean: (n_systems,)
    upper: Floats
    is_above: Bools  # whether the mean is shown to be above -margin, 0, margin: (3, n_systems)
    is_below: Bools
    p_above: Floats  # of a mean not above the bounds: (3, n_systems), NaN without a test
    p_below: Floats
    method: Sequence[GateMethod | None]  # (n_systems,)

    def p_of_failing(self, settings: GateSettings) -> Floats:
        """Return the p-values by which systems fail, (n_systems,): of being as good, or equal."""
        if settings.equivalence:
            smaller_p: Floats = np.fmin(self.p_below[0], self.p_above[2])
            return smaller_p
        p: Floats = self.p_below[1]
        return p


class BoundTests(NamedTuple):
    """The limits of mean gains, (n_systems,), and their tests against bounds, as in GainTests."""

    lower: Floats
    upper: Floats
    is_above: Bools
    is_below: Bools
    p_above: Floats
    p_below: Floats

    @classmethod
    def of(cls, limits: Limits, alpha: float) -> "BoundTests":
        """Return the tests that reject where p is at most alpha."""
        is_above, is_below = limits.p_above <= alpha, limits.p_below <= alpha
        lower, upper, p_above, p_below = limits
        return cls(lower, upper, is_above, is_below, p_above, p_below)


def run_gain_tests(sample: GainSample, settings: GateSettings) -> GainTests:
    """Return the tests of mean gains against -margin, 0 and margin.

    With more than 7,000 queries, Student's t replaces the sign flips where the limits agree.
    """
    gains, alpha, n_systems = sample.gains, settings.alpha, sample.gains.shape[1]
    bounds = np.repeat([[-sample.margin], [0.0], [sample.margin]], n_systems, axis=1)
    moments = unit_moments = Moments.of(PairedScores.from_differences(gains))
    if sample.units.n_groups is not None:
        unit_moments = Moments.of(sample.pair_gains(gains))
    n_units = unit_moments.n_units
    flips = settings.make_flips(n_units)
    methods: list[GateMethod | None] = [None] * n_systems
    limits = settings.gate_test.limits(gains, bounds, sample.test_range, alpha, sample.weights)
    if limits is not None:
        bound_tests = BoundTests.of(limits, alpha)
    elif n_units < 2:
        unknown = np.full((3, n_systems), np.nan)
        bound_tests = BoundTests.of(Limits(unknown[0], unknown[0], unknown, unknown), alpha)
    elif flips is None or sample.added_variances:
        bound_tests = _run_t_tests(sample, unit_moments, bounds, settings)
    elif n_units > MANY_UNITS and sample.units.n_groups is None:
        bound_tests, methods = _test_many_queries(sample, moments, bounds, settings, flips)
    else:
        weights = sample.weights
        if sample.units.n_groups is not None:  # a bound applies to a cluster as to its queries
            query_weight = np.ones(len(gains)) if weights is None else weights
            weights = sample.sum_units(query_weight[:, None])[:, 0]
        flip_limits = one_sided_tests(sample.sum_units(gains), bounds, flips, alpha, weights)
        bound_tests = BoundTests.of(flip_limits, alpha)
        methods = ["exact" if flips.is_exact else "drawn"] * n_systems
    if n_units > 1 and limits is None:
        methods = _set_score_limits(sample, bounds, bound_tests, methods, alpha)
    return GainTests(moments, unit_moments, sample.n_changed_units, *bound_tests, methods)


def _set_score_limits(
    sample: GainSample,
    bounds: Floats,
    bound_tests: BoundTests,
    methods: list[GateMethod | None],
    alpha: float,
) -> list[GateMethod | None]:
    """Change the limits and p-values of zeros and ones to those of scores; return the methods."""
    if sample.is_binary is None or not sample.is_binary.any():
        return methods
    columns = np.flatnonzero(sample.is_binary)
    gains, z = sample.gains[:, columns], normal_quantile(1 - alpha)
    if sample.goal is None:
        counts = PairedCounts.of(gains)
        lower, upper = tango_interval(counts, z)
        clipped_bounds = np.clip(bounds[:, columns], -1, 1)
        statistics = np.array([tango_statistic(counts, bound) for bound in clipped_bounds])
    else:
        n_hits = np.count_nonzero(gains + sample.goal > 0.5, axis=0)
        lower, upper = (end - sample.goal for end in wilson_interval(len(gains), n_hits, z))
        statistics = np.array([wilson_statistic(len(gains), n_hits, sample.goal)] * len(bounds))
    limits = Limits(lower, upper, normal_tail(statistics), normal_tail(-statistics))
    for column, score_column in zip(bound_tests, BoundTests.of(limits, alpha), strict=True):
        column[..., columns] = score_column
    name: GateMethod = "tango" if sample.goal is None else "wilson"
    return [
        name if is_binary else method
        for is_binary, method in zip(sample.is_binary.tolist(), methods, strict=True)
    ]


def _test_many_queries(
    sample: GainSample, moments: Moments, bounds: Floats, settings: GateSettings, flips: Flips
) -> tuple[BoundTests, list[GateMethod | None]]:
    """Return the tests of many queries, by Student's t where its limits agree with the flips'."""
    gains, alpha, weights = sample.gains, settings.alpha, sample.weights
    bound_tests = _run_t_tests(sample, moments, bounds, settings)
    agrees = limits_agree(gains, bound_tests.lower, bound_tests.upper, alpha, weights)
    far = np.flatnonzero(~agrees)  # systems
    if len(far):
        limits = one_sided_tests(gains[:, far], bounds[:, far], flips, alpha, weights)
        for column, flip_column in zip(bound_tests, BoundTests.of(limits, alpha), strict=True):
            column[..., far] = flip_column
    methods: list[GateMethod | None] = ["t" if is_near else "drawn" for is_near in agrees.tolist()]
    return bound_tests, methods


def _run_t_tests(
    sample: GainSample, moments: Moments, bounds: Floats, settings: GateSettings
) -> BoundTests:
    """Return the limits of the mean gains, and their tests against the bounds, by the t test.

    `moments` belong to the units that are tested. Where the bounds are shares, p tests the queries'
    differences minus the bound's share of the baseline. The limits are then Fieller's;
    where the baseline's scores vary so much that these do not exist, they are the limits of the
    differences that p tests. Without variance there is no p-value, and both limits are the mean,
    or there are none with fewer queries than the sign flips need for significance.
    """
    from scipy.special import stdtr, stdtrit

    n_units, weights = moments.n_units, sample.weights
    excess = moments.mean - bounds
    excess[np.abs(excess) <= 1e-12 * (np.abs(moments.mean) + np.abs(bounds))] = 0.0
    bound_moments = [sample.add_variances(moments)] * len(bounds)
    if weights is not None:
        bound_moments = [_share_moments(sample, weights, bound) for bound in bounds]
    error = np.array([part.error for part in bound_moments])
    df = np.array([np.broadcast_to(part.degrees, part.mean.shape) for part in bound_moments])
    critical_t = stdtrit(df, 1 - settings.alpha)
    t = student_t(excess, error)
    smallest_p = np.finfo(float).tiny  # no p-value is 0
    p_above, p_below = np.maximum(stdtr(df, -t), smallest_p), np.maximum(stdtr(df, t), smallest_p)
    # Otherwise, two queries that do not vary would be significant.
    is_testable = (error > 0) | (2.0**-n_units <= settings.alpha)
    is_above = (excess > critical_t * error) & is_testable
    is_below = (-excess > critical_t * error) & is_testable
    # Where the baseline's scores vary much, a bound may be rejected and one farther from the mean
    # not. The bound that the verdict depends on decides.
    deciding_bound = 2 if settings.equivalence else 1
    for farther, nearer in ((0, 1), (1, 2)):
        _make_consistent(p_above, is_above, farther, nearer)
    for farther, nearer in ((2, 1), (1, 0)) if settings.equivalence else ((1, 0),):
        _make_consistent(p_below, is_below, farther, nearer)
    is_below[2] |= is_below[deciding_bound]
    lower_end, upper_end = moments.mean - critical_t * error, moments.mean + critical_t * error
    share_limits = None
    if weights is not None and sample.added_variances:
        share_limits = _search_limits(sample, weights, moments, settings.alpha)
    elif weights is not None:
        share_limits = _fieller_limits(sample, weights, moments, float(critical_t[0, 0]))
    if weights is None:
        lower_end, upper_end = lower_end[0], upper_end[0]  # the same for all bounds
    elif share_limits is not None:
        lower_end, upper_end = share_limits
    else:
        highest = np.where(is_above, lower_end, -np.inf).max(axis=0)
        lowest = np.where(is_below, upper_end, np.inf).min(axis=0)
        lower_end = np.where(is_above.any(axis=0), highest, lower_end[0])
        upper_end = np.where(is_below.any(axis=0), lowest, upper_end[deciding_bound])
    # Rounding must not put a limit on the wrong side of a bound.
    lower = np.minimum(lower_end, np.where(is_above, np.inf, bounds).min(axis=0)) + 0.0
    upper = np.maximum(upper_end, np.where(is_below, -np.inf, bounds).max(axis=0)) + 0.0
    has_limits = is_testable.any(axis=0)
    lower, upper = np.where(has_limits, lower, -np.inf), np.where(has_limits, upper, np.inf)
    return BoundTests(lower, upper, is_above, is_below, p_above, p_below)


def _share_moments(sample: GainSample, weights: Floats, bound: Floats) -> Moments:
    """Return the moments of the queries' gains minus each bound's share of the baseline.

    These are the systems' scores minus a share of the baseline's, 1 + bound / its mean: the square
    of this multiplies what is added to the baseline's variance.
    """
    shifted_gains = sample.pair_gains(sample.gains - weights[:, None] * bound)
    return sample.add_variances(Moments.of(shifted_gains), 1 + bound / sample.signed_baseline_mean)


def _make_consistent(p: Floats, is_shown: Bools, farther: int, nearer: int) -> None:
    """Let a mean be beyond the nearer of two bounds only if it is beyond the farther bound."""
    p[nearer] = np.where(is_shown[farther], p[nearer], np.fmax(p[nearer], p[farther]))
    is_shown[nearer] &= is_shown[farther]


def _search_limits(
    sample: GainSample, weights: Floats, moments: Moments, alpha: float
) -> tuple[Floats, Floats]:
    """Return the limits (n_systems,) of a t test with added variances, infinite if none.

    Fieller's idea, where the error and the degrees of freedom depend on the bound: by bisection.
    """
    from scipy.special import stdtrit

    def is_rejected(bound: Floats, sign: int) -> Bools:
        bound_moments = _share_moments(sample, weights, bound)
        is_far: Bools = (
            sign * (moments.mean - bound)
            > stdtrit(bound_moments.degrees, 1 - alpha) * bound_moments.error
        )
        return is_far

    search_width = _SEARCH_ERRORS * _share_moments(sample, weights, moments.mean).error
    limits = []
    for sign in (1, -1):
        inner, outer = moments.mean.copy(), moments.mean - sign * search_width
        has_limit = is_rejected(outer, sign)
        for _ in range(60):
            center = (inner + outer) / 2
            is_center_rejected = is_rejected(center, sign)
            inner = np.where(is_center_rejected, inner, center)
            outer = np.where(is_center_rejected, center, outer)
        limits.append(np.where(has_limit, outer, -sign * np.inf))
    return limits[0], limits[1]


_SEARCH_ERRORS = 1_000  # standard errors from the mean: no limit is looked for beyond


def _fieller_limits(
    sample: GainSample, weights: Floats, moments: Moments, critical_t: float
) -> tuple[Floats, Floats] | None:
    """Return the bounds at which t is just `critical_t`: ends of the ratios of gains to weights.

    They exist where the weights' spread is less than sqrt(n) / critical_t; else return None.
    """
    n_units = moments.n_units
    weight_deviations = sample.pair_gains(weights[:, None]).deviations[:, 0]
    weight_variance = float((weight_deviations**2).sum()) / (n_units - 1)
    gain_deviations = sample.pair_gains(sample.gains).deviations
    covariance = (weight_deviations[:, None] * gain_deviations).sum(axis=0) / (n_units - 1)
    residual_variance = (
        Moments.of(
            PairedScores.from_differences(
                gain_deviations - np.outer(weight_deviations, moments.mean)
            )
        ).sd
        ** 2
    )
    mean_variances = moments.sd**2 / n_units, weight_variance / n_units, covariance / n_units
    low, high = fieller_interval(
        moments.mean, 1.0, mean_variances, residual_variance / n_units, critical_t
    )
    return None if np.isnan(low).all() else (low, high)
