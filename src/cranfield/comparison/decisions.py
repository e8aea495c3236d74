"""Decisions: the outcome of a gate's test, what withholds a PASS, and how many queries decide."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.corrections import correct_p_values
from cranfield.comparison.effects import FEW_UNITS, Doubt, find_doubt, skewness
from cranfield.comparison.needed import (
    MOST_QUERIES,
    Goal,
    estimate_mean,
    find_least_effect,
    find_n_queries,
)
from cranfield.comparison.noninferiority import SCORE_METHODS, GainSample, GainTests
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import AddedVariance, Moments
from cranfield.options import MIN_SHARE
from cranfield.render.numbers import finite_or_none

Outcome = Literal["PASS", "UNDECIDED", "FAIL"]
POWER = 0.8  # the chance with which what is asked for is shown


class Shape(NamedTuple):
    """How the gains of one system are spread: why limits of their mean may be wrong, and skewness.

    Rare, large losses that the queries lack make a lower limit too high; so do too few of them.
    """

    doubt: Doubt | None
    skewness: float

    @property
    def n_to_hold(self) -> int:
        """The number of units with which limits of the mean hold in spite of the skewness."""
        return math.ceil(25 * self.skewness**2) if self.doubt == "skewed" else 0

    def hides_losses(self, settings: GateSettings, n_units: int, n_unchanged: float) -> bool:
        """Tell whether a system cannot pass because of its shape.

        Skewness towards gains is safe, unless these are to be limited, too. A difference that is
        the same on all units is safe for `n_unchanged` units or more: see `find_n_unchanged`.
        """
        if self.doubt == "skewed":
            return settings.equivalence or self.skewness < 0
        return self.doubt == "constant" and n_units < n_unchanged


def find_shapes(sample: GainSample, n_distinct_units: Ints) -> list[Shape]:
    """Return the shape of each system's gains; its doubt is by the units that are distinct."""
    unit_gains = sample.pair_gains(sample.gains)
    skews = skewness(unit_gains, Moments.of(unit_gains)).tolist()
    return [
        Shape(find_doubt(unit_gains.n_units, n_distinct, skew), skew)
        for n_distinct, skew in zip(n_distinct_units.tolist(), skews, strict=True)
    ]


def decide_outcome(
    tests: GainTests, i: int, settings: GateSettings, greatest_p: float, *, hides_losses: bool
) -> Outcome:
    """Return the verdict on the system in column i of the tests.

    It fails by a p-value of at most `greatest_p`: see `find_greatest_p`. If its shape hides losses,
    it does not pass.
    """
    is_above, is_below = tests.is_above[:, i], tests.is_below[:, i]
    passes, fails = is_above[0], is_below[1]
    if settings.equivalence:
        passes, fails = passes and is_below[2], is_below[0] or is_above[2]
    if not settings.gate_test.holds_always:
        n_changed, difference = tests.n_changed[i], tests.moments.mean[i]
        if not n_changed:
            return "PASS"
        is_other_mean = difference != 0 if settings.equivalence else difference < 0
        has_few_changes = n_changed < FEW_UNITS and is_other_mean
        if passes and tests.method[i] not in SCORE_METHODS and (hides_losses or has_few_changes):
            return "UNDECIDED"
    if passes:
        return "PASS"
    # Differences that are all equal have no p by t.
    is_significant = not tests.p_of_failing(settings)[i] > greatest_p
    return "FAIL" if fails and is_significant else "UNDECIDED"


def find_greatest_p(p_values: Sequence[Floats], alpha: float) -> float:
    """Return the greatest p-value of a family by which a row fails; -1 if none does.

    Holm's rule over all rows of a gate keeps the chance of any false FAIL at alpha.
    """
    family = np.concatenate([*p_values, np.zeros(0)])
    is_rejected = correct_p_values("holm", family) <= alpha
    return float(family[is_rejected].max(initial=-1.0))


def find_n_to_decide(
    tests: GainTests,
    i: int,
    settings: GateSettings,
    margin: float,
    added_variances: Sequence[AddedVariance] = (),
    least_n_units: float = 0,
) -> int | None:
    """Return the number of queries that decides on column i, None if it is not known.

    With it, and at least `least_n_units` units, a mean that is `margin` away from what is tested is
    told from it with a chance of POWER. It is not known where no query differs, for a test that
    holds for any number of differences, and where no number is enough, given the variances that are
    added to the variance of the mean.
    """
    n_units, n_changed = tests.unit_moments.n_units, int(tests.n_changed[i])
    is_unknown = finite_or_none(tests.moments.sd[i]) is None or settings.gate_test.holds_always
    if is_unknown or not n_changed or not margin:
        return None
    variances = [(float(part.variance[i]), float(part.degrees[i])) for part in added_variances]
    # Both of two one-sided tests pass this often if each fails half as often as both may.
    power = (1 + POWER) / 2 if settings.equivalence else POWER
    sd = float(tests.unit_moments.sd[i])
    goal = Goal(margin=margin, sd=sd, power=power, alpha=settings.alpha)
    n_needed = find_n_queries(goal, variances)
    if (n_needed > MOST_QUERIES and variances) or least_n_units == math.inf:
        return None
    # With fewer queries, even a single flip of all 2^n has a share above alpha.
    n_of_flips = 0 if settings.test == "t" else math.ceil(-math.log2(settings.alpha))
    n_needed = max(n_needed, n_of_flips, int(least_n_units))
    # With fewer queries, fewer than FEW_UNITS would differ.
    if n_changed < FEW_UNITS and tests.method[i] not in SCORE_METHODS:
        n_needed = max(n_needed, math.ceil(FEW_UNITS * n_units / n_changed))
    return math.ceil(n_needed * tests.moments.n_units / n_units)


def find_detectable_loss(
    tests: GainTests, i: int, settings: GateSettings, margin: float, n_rows: int
) -> float | None:
    """Return the least true loss of column i that is shown with a chance of POWER, if known.

    It is shown to be worse than nothing (with `equivalence`, than the margin) at the level of
    Holm's first step for `n_rows` rows, by a t test and the standard deviation of the gains.
    """
    n, alpha = tests.unit_moments.n_units, max(settings.alpha / n_rows, MIN_SHARE)
    sd = finite_or_none(tests.unit_moments.sd[i])
    if not sd or settings.gate_test.holds_always or settings.gate_test.least_p(settings, n) > alpha:
        return None
    return _find_detectable_effect(n, alpha) * sd + (margin if settings.equivalence else 0.0)


@cache
def _find_detectable_effect(n: int, alpha: float) -> float:
    """Return the least effect that a one-sided t test of n units finds with a chance of POWER."""
    return find_least_effect(Goal(power=POWER, alpha=alpha), estimate_mean(n), 1)


def find_n_unchanged(alpha: float, margin: float, largest_loss: float) -> float:
    """Return how many queries without a change rule out a mean loss of the margin.

    `largest_loss` is the most that one query may lose; if infinite, no number of queries does. A
    mean loss of the margin needs losses on a share of at least s = margin / largest_loss of all
    queries; n queries include no such query with a probability of (1 - s)^n.
    """
    if not margin < largest_loss < math.inf:
        return 0 if margin >= largest_loss else math.inf
    return math.ceil(math.log(alpha) / math.log1p(-margin / largest_loss))
