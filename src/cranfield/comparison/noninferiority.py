"""Non-inferiority: tests of mean differences against a margin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.edgeworth import limits_agree
from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.needed import MOST_QUERIES, AddedVariances, Design, find_n_queries
from cranfield.comparison.randomization import one_sided_tests
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import TIE, AddedVariance, Moments, fieller_interval, student_t
from cranfield.comparison.units import EACH_QUERY, Units

Outcome = Literal["PASS", "UNDECIDED", "FAIL"]
# How the randomization test's limits and p-values were computed: by all possible flips, by all that
# were drawn, or by Student's t, which agrees.
GateMethod = Literal["exact", "drawn", "t"]
_POWER = 0.8


@dataclass(frozen=True, eq=False)
class GainSample:
    """One measure's differences from the baseline, and the margin to test them against."""

    gains: Floats  # (n_queries, n_systems); above 0 is better
    margin: float
    weights: Floats | None = None  # if the margin is a share: the baseline's scores, with mean 1
    # The baseline's mean, by which these were divided; where less is better, with its sign turned.
    signed_baseline_mean: float = math.nan
    test_range: Any = None  # what the test has to know of the differences, if anything
    units: Units = EACH_QUERY
    # What is added to the variances of the systems' means, and to that of the baseline, if there is
    # one; empty: nothing.
    added_variances: Sequence[AddedVariance] = ()

    def add_variances(self, moments: Moments, baseline_share: float | Floats = 1.0) -> Moments:
        """Return moments of the systems minus a share of the baseline, with added variances."""
        if not self.added_variances:
            return moments
        shares = (1.0, baseline_share)
        return moments.add_variances(
            [part.variance * by**2 for part, by in zip(self.added_variances, shares, strict=False)],
            [part.degrees for part in self.added_variances],
        )

    def pair_gains(self, gains: Floats) -> PairedScores:
        """Return differences of the queries (n_queries, n) as what is tested, such as clusters."""
        return self.units.pair_units(PairedScores.from_differences(gains))

    def sum_units(self, query_values: Floats) -> Floats:
        """Return the values of what is tested, in the unit of a mean: (n_units, n)."""
        found = self.units.sum_queries(query_values)
        return found * (len(found) / len(query_values))

    @property
    def is_changed(self) -> Bools:
        """On which queries the systems differ from the baseline: (n_queries, n_systems)."""
        found: Bools = np.abs(self.gains) > TIE
        return found

    @property
    def n_changed_units(self) -> Ints:
        """How many queries, or clusters with a query, differ: (n_systems,)."""
        found: Ints = np.count_nonzero(self.units.sum_queries(self.is_changed * 1.0), axis=0)
        return found


class GainTests(NamedTuple):
    """One measure's differences, tested against -margin, 0 and margin."""

    moments: Moments  # of the queries
    unit_moments: Moments  # of what is tested: queries, or clusters
    n_changed: Ints  # of these units, those that differ: (n_systems,)
    lower: Floats  # one-sided limits of the mean: (n_systems,)
    upper: Floats
    is_above: Bools  # whether the mean is shown to be above -margin, 0, margin: (3, n_systems)
    is_below: Bools
    p_above: Floats  # of a mean that is not above them, NaN where there is no test
    p_below: Floats
    method: Sequence[GateMethod | None]  # (n_systems,)


def run_gain_tests(sample: GainSample, settings: GateSettings) -> GainTests:
    """Test the mean differences against -margin, 0 and margin.

    With more than 7,000 queries, Student's t replaces the sign flips where the limits agree.
    """
    gains, alpha, k = sample.gains, settings.alpha, sample.gains.shape[1]
    bounds = np.repeat([[-sample.margin], [0.0], [sample.margin]], k, axis=1)
    moments = of_units = Moments.of(PairedScores.from_differences(gains))
    if sample.units.n_groups is not None:
        of_units = Moments.of(sample.pair_gains(gains))
    n, changed = of_units.n_units, sample.n_changed_units
    drawn = settings.make_flips(n)
    method: GateMethod | None = None
    own_limits = settings.gate_test.limits(gains, bounds, sample.test_range, alpha, sample.weights)
    if own_limits is not None:
        shown = _compare_with_alpha(own_limits, alpha)
    elif n < 2:
        none = np.full((3, k), np.nan)
        shown = _compare_with_alpha((none[0], none[0], none, none), alpha)
    elif drawn is None or sample.added_variances:
        shown = _run_t_tests(sample, of_units, bounds, settings)
    elif n > MANY_UNITS and sample.units.n_groups is None:
        return _test_many_queries(sample, moments, changed, bounds, settings, drawn)
    else:
        weights = sample.weights
        if sample.units.n_groups is not None:  # a bound applies to each as to its queries
            each = np.ones(len(gains)) if weights is None else weights
            weights = sample.sum_units(each[:, None])[:, 0]
        shown = _compare_with_alpha(one_sided_tests(sample.sum_units(gains), bounds, drawn, alpha, weights), alpha)
        method = "exact" if drawn.is_exact else "drawn"
    return GainTests(moments, of_units, changed, *shown, [method] * k)


def _compare_with_alpha(
    shown: tuple[Floats, Floats, Floats, Floats], alpha: float
) -> tuple[Floats, Floats, Bools, Bools, Floats, Floats]:
    """Return limits, whether the mean is significantly above or below each bound, and p-values."""
    lower, upper, p_above, p_below = shown
    return lower, upper, p_above <= alpha, p_below <= alpha, p_above, p_below


def _test_many_queries(
    question: GainSample,
    moments: Moments,
    changed: Ints,
    bounds: Floats,
    settings: GateSettings,
    drawn: Flips,
) -> GainTests:
    """Test differences of many queries, by Student's t where its limits agree with the flips'."""
    gains, alpha, weights = question.gains, settings.alpha, question.weights
    shown = _run_t_tests(question, moments, bounds, settings)
    near = limits_agree(gains, shown[0], shown[1], alpha, weights)
    far = np.flatnonzero(~near)
    if len(far):
        flipped = one_sided_tests(gains[:, far], bounds[:, far], drawn, alpha, weights)
        for column, by_flips in zip(shown, _compare_with_alpha(flipped, alpha), strict=True):
            column[..., far] = by_flips
    return GainTests(
        moments, moments, changed, *shown, ["t" if one else "drawn" for one in near.tolist()]
    )


def decide_outcome(tests: GainTests, i: int, settings: GateSettings) -> Outcome:
    """Return the verdict on one system."""
    above, below = tests.is_above[:, i], tests.is_below[:, i]
    passed, failed = above[0], below[1]
    if settings.equivalence:
        passed, failed = passed and below[2], below[0] or above[2]
    if not settings.gate_test.is_valid_for_any_n:
        changed, difference = tests.n_changed[i], tests.moments.mean[i]
        if not changed:
            return "PASS"
        doubtful = difference != 0 if settings.equivalence else difference < 0
        if passed and changed < FEW_UNITS and doubtful:
            return "UNDECIDED"
    return "PASS" if passed else "FAIL" if failed else "UNDECIDED"


def find_n_to_pass(
    settings: GateSettings, margin: float, sd: float, added_variances: AddedVariances = ()
) -> int | None:
    """Return the number of queries with which a system as good as the baseline passes.

    The probability of passing is _POWER. `added` is what is added to the variance of the mean:
    None if no number of queries is enough with it.
    """
    # Both of two one-sided tests pass this often if each fails half as often as both may.
    chance = (1 + _POWER) / 2 if settings.equivalence else _POWER
    n = find_n_queries(Design(margin=margin, sd=sd, power=chance, alpha=settings.alpha), added_variances)
    if n > MOST_QUERIES and added_variances:
        return None
    # With fewer, even a single flip of all 2^n is more than alpha.
    return n if settings.test == "t" else max(n, math.ceil(-math.log2(settings.alpha)))


def find_n_unchanged(alpha: float, margin: float, largest_loss: float) -> int:
    """Return how many queries without a change rule out a mean loss of the margin.

    `most`, above the margin, is what one query may lose. A mean loss of the margin needs losses on
    a share of at least margin / most of all queries; n queries include none of these with a
    probability of (1 - margin / most)^n.
    """
    return math.ceil(math.log(alpha) / math.log1p(-margin / largest_loss))


def _run_t_tests(
    question: GainSample, moments: Moments, bounds: Floats, settings: GateSettings
) -> tuple[Floats, Floats, Bools, Bools, Floats, Floats]:
    """Return the limits of the mean, and whether it is above or below the bounds, by the t test.

    `moments` are those of what is tested, queries or clusters. Where the bounds are shares, p tests
    the queries' differences minus the bound's share of the baseline. The limits are Fieller's;
    where the baseline's scores vary so much that these do not exist, they are the limits of the
    differences that p tests. Without variance there is no p-value, and both limits are the mean;
    with fewer queries than the sign flips need for significance, there are no limits.
    """
    from scipy.special import stdtr, stdtrit

    n, weights = moments.n_units, question.weights
    over = moments.mean - bounds
    over[np.abs(over) <= 1e-12 * (np.abs(moments.mean) + np.abs(bounds))] = 0.0
    against = [question.add_variances(moments)] * len(bounds)
    if weights is not None:
        against = [_share_moments(question, weights, bound) for bound in bounds]
    error = np.array([one.error for one in against])
    df = np.array([np.broadcast_to(one.degrees, one.mean.shape) for one in against])
    far = stdtrit(df, 1 - settings.alpha)
    t = student_t(over, error)
    least = np.finfo(float).tiny  # no p-value is 0
    p_above, p_below = np.maximum(stdtr(df, -t), least), np.maximum(stdtr(df, t), least)
    # Otherwise, two queries that do not vary would be significant.
    enough = (error > 0) | (2.0**-n <= settings.alpha)
    above, below = (over > far * error) & enough, (-over > far * error) & enough
    # Where the baseline's scores vary much, a bound may be rejected and one farther from the mean
    # not. The bound that the verdict depends on decides.
    at = 2 if settings.equivalence else 1
    for farther, nearer in ((0, 1), (1, 2)):
        _make_consistent(p_above, above, farther, nearer)
    for farther, nearer in ((2, 1), (1, 0)) if settings.equivalence else ((1, 0),):
        _make_consistent(p_below, below, farther, nearer)
    below[2] |= below[at]
    low, high = moments.mean - far * error, moments.mean + far * error
    limits = None
    if weights is not None and question.added_variances:
        limits = _search_limits(question, weights, moments, settings.alpha)
    elif weights is not None:
        limits = _fieller_limits(question, weights, moments, float(far[0, 0]))
    if weights is None:
        low, high = low[0], high[0]  # the same for all bounds
    elif limits is not None:
        low, high = limits
    else:
        low = np.where(above.any(axis=0), np.where(above, low, -np.inf).max(axis=0), low[0])
        high = np.where(below.any(axis=0), np.where(below, high, np.inf).min(axis=0), high[at])
    # Rounding must not put a limit on the wrong side of a bound.
    lower = np.minimum(low, np.where(above, np.inf, bounds).min(axis=0)) + 0.0
    upper = np.maximum(high, np.where(below, -np.inf, bounds).max(axis=0)) + 0.0
    some = enough.any(axis=0)
    lower, upper = np.where(some, lower, -np.inf), np.where(some, upper, np.inf)
    return lower, upper, above, below, p_above, p_below


def _share_moments(question: GainSample, weights: Floats, bound: Floats) -> Moments:
    """Return the moments of the queries' differences minus each bound's share of the baseline.

    The baseline's mean plus the bound is that share of its mean: what is added to the baseline's
    variance counts by its square.
    """
    shifted = question.pair_gains(question.gains - weights[:, None] * bound)
    return question.add_variances(Moments.of(shifted), 1 + bound / question.signed_baseline_mean)


def _make_consistent(p: Floats, shown: Bools, farther: int, nearer: int) -> None:
    """Let a mean be beyond the nearer of two bounds only if it is beyond the farther one."""
    p[nearer] = np.where(shown[farther], p[nearer], np.fmax(p[nearer], p[farther]))
    shown[nearer] &= shown[farther]


def _search_limits(
    question: GainSample, weights: Floats, moments: Moments, alpha: float
) -> tuple[Floats, Floats]:
    """Return the bounds that a t test with added variances just rejects: (n_systems,), or infinity.

    Fieller's idea, where the error and the degrees of freedom depend on the bound: by bisection.
    """
    from scipy.special import stdtrit

    def rejected(bound: Floats, sign: int) -> Bools:
        at = _share_moments(question, weights, bound)
        found: Bools = sign * (moments.mean - bound) > stdtrit(at.degrees, 1 - alpha) * at.error
        return found

    reach = _SEARCH_ERRORS * _share_moments(question, weights, moments.mean).error
    ends = []
    for sign in (1, -1):
        near, far = moments.mean.copy(), moments.mean - sign * reach
        exists = rejected(far, sign)
        for _ in range(60):
            middle = (near + far) / 2
            beyond = rejected(middle, sign)
            near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
        ends.append(np.where(exists, far, -sign * np.inf))
    return ends[0], ends[1]


_SEARCH_ERRORS = 1_000  # standard errors from the mean: where a limit is looked for


def _fieller_limits(
    question: GainSample, weights: Floats, moments: Moments, far: float
) -> tuple[Floats, Floats] | None:
    """Return the bounds at which t is just `far`: ends of the ratios of gains to weights.

    They exist where the weights' spread is less than sqrt(n) / far; else None.
    """
    n, centred = moments.n_units, question.pair_gains(weights[:, None]).deviations[:, 0]
    variance = float((centred**2).sum()) / (n - 1)
    own = question.pair_gains(question.gains).deviations
    together = (centred[:, None] * own).sum(axis=0) / (n - 1)
    apart = Moments.of(PairedScores.from_differences(own - np.outer(centred, moments.mean))).sd ** 2
    of_means = moments.sd**2 / n, variance / n, together / n
    low, high = fieller_interval(moments.mean, 1.0, of_means, apart / n, far)
    return None if np.isnan(low).all() else (low, high)
