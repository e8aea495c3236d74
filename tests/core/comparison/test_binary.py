"""Zeros and ones: Tango's and Wilson's score intervals, against definitions and calibration."""

import math
from typing import Any

import numpy as np
import pytest
from helpers.profile import repetitions
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, norm

from cranfield import Comparison, Gate, compare, gate, intervals
from cranfield.comparison.binary import PairedCounts, tango_interval, tango_statistic
from cranfield.comparison.settings import Test
from cranfield.scoring.scores import Scores

Z = norm.ppf(0.975)


def tango(difference: float, gains: int, losses: int, n: int) -> float:
    """Return Tango's statistic, as in the paper."""
    a, b = 2 * n, -gains - losses + (2 * n - gains + losses) * difference
    c = -losses * difference * (1 - difference)
    q = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    variance = n * (2 * q + difference * (1 - difference))
    return (gains - losses - n * difference) / math.sqrt(variance)


def make_pair(gains: int, losses: int, n: int, n_common: int = 0) -> dict[str, dict[str, float]]:
    """Return scores of two systems, 1 where both have it or the system that wins."""
    old = (
        [0.0] * gains + [1.0] * losses + [1.0] * n_common + [0.0] * (n - gains - losses - n_common)
    )
    new = (
        [1.0] * gains + [0.0] * losses + [1.0] * n_common + [0.0] * (n - gains - losses - n_common)
    )
    return {
        name: {f"q{i}": score for i, score in enumerate(scores)}
        for name, scores in (("old", old), ("new", new))
    }


# Tango's interval: the numbers of a page of cases, (gains, losses, n), low, high.
CASES = [
    ((8, 0, 40), 0.0948540786, 0.3475730635),
    ((2, 1, 40), -0.0874359805, 0.1450726398),
    ((0, 0, 50), -0.0713475991, 0.0713475991),
    ((9, 4, 100), -0.0233243173, 0.1294862799),
]


@pytest.mark.parametrize(("counts", "low", "high"), CASES)
def test_intervals_of_known_cases(counts: tuple[int, int, int], low: float, high: float) -> None:
    pair = compare(make_pair(*counts), baseline="old")["score"]["new"]
    assert [pair.low, pair.high] == pytest.approx([low, high], abs=6e-11)
    assert pair.interval == "tango"


def test_ends_are_where_the_statistic_is_as_large_as_the_quantile() -> None:
    chance = np.random.default_rng(11)
    for _ in range(repetitions(200)):
        n = int(chance.integers(2, 60))
        gains = int(chance.integers(0, n))
        losses = int(chance.integers(0, n - gains))
        paired_counts = PairedCounts(n, np.array([gains]), np.array([losses]))
        low, high = (float(end[0]) for end in tango_interval(paired_counts, Z))
        mean = (gains - losses) / n
        assert -1 <= low <= mean <= high <= 1
        for sign, end in ((1, low), (-1, high)):
            if abs(end) < 1 - 1e-9 and gains + losses:
                expected_end = brentq(
                    lambda d, sign=sign: sign * tango(d, gains, losses, n) - Z,  # noqa: B023
                    mean,
                    -sign * (1 - 1e-12),
                    xtol=1e-14,
                )
                assert end == pytest.approx(expected_end, abs=1e-9)
                statistic = float(tango_statistic(paired_counts, np.array([end]))[0])
                assert statistic == pytest.approx(tango(end, gains, losses, n), abs=1e-6)


def test_the_mean_of_zeros_and_ones_has_wilsons_interval() -> None:
    """As scipy's, for one system, for each mean, and for shares of 0 and 1."""
    for n_hits, n in ((36, 40), (0, 12), (12, 12), (1, 2), (77, 200)):
        scores = {f"q{i}": float(i < n_hits) for i in range(n)}
        system = compare({"new": scores})["score"].systems[0]
        expected_interval = binomtest(n_hits, n).proportion_ci(0.95, "wilson")
        assert system.low == pytest.approx(expected_interval.low, abs=1e-12)
        assert system.high == pytest.approx(expected_interval.high, abs=1e-12)
        assert system.interval == "wilson"
    assert "of zeros and ones" in str(compare({"new": scores}))


def test_success_of_a_run_has_wilsons_interval_and_no_warning() -> None:
    from cranfield import evaluate

    qrels = {f"q{i}": {"a": 1} for i in range(40)}
    run = {f"q{i}": ["a"] if i < 36 else ["b"] for i in range(40)}
    interval_result = intervals(evaluate(qrels, run, "Success@1"))
    (mean,) = interval_result.means
    assert [mean.low, mean.high] == pytest.approx([0.769, 0.960], abs=5e-4)
    assert not any(note.is_grave for note in interval_result.notes)
    assert "Wilson's score, of zeros and ones" in str(interval_result)
    assert isinstance(evaluate(qrels, run, "Success@1"), Scores)


def test_other_scores_and_other_tests_keep_their_intervals() -> None:
    scores_of = make_pair(8, 2, 40)
    tests: tuple[Test, ...] = ("bootstrap", "bayes")
    for test in tests:
        assert compare(scores_of, baseline="old", test=test)["score"]["new"].interval != "tango"
    scores_of["new"]["q0"] = 0.5
    assert compare(scores_of, baseline="old")["score"]["new"].interval == "randomization"


def codes(comparison: Comparison) -> set[str]:
    return {note.code for note in comparison.notes}


def test_few_changes_are_no_reason_to_warn_and_the_legend_names_the_interval() -> None:
    comparison = compare(make_pair(3, 1, 40), baseline="old")
    assert not codes(comparison) & {"few-changes", "identical", "skewed"}
    assert "of zeros and ones, Tango's score interval" in str(comparison)
    assert not codes(compare(make_pair(0, 0, 40), baseline="old")) & {"identical"}
    # The test is as before, by signs: 3 or more of 4, or 1 or fewer.
    assert comparison["score"]["new"].p == pytest.approx(2 * (1 + 4) / 2**4, abs=0.01)


# ---- gate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_limits_and_p_of_a_gate_are_tangos(test: Any) -> None:
    for gains, losses, n in ((9, 4, 100), (2, 1, 40), (1, 6, 300), (0, 12, 60)):
        gate_result = gate(make_pair(gains, losses, n), baseline="old", margin=0.02, test=test)
        verdict = gate_result.verdicts[0]
        assert verdict.method == "tango"
        assert verdict.p == pytest.approx(norm.sf(tango(-0.02, gains, losses, n)), rel=1e-9)
        assert verdict.lower is not None
        assert verdict.upper is not None
        z = norm.ppf(0.95)
        assert tango(verdict.lower, gains, losses, n) == pytest.approx(z, abs=1e-6)
        assert tango(verdict.upper, gains, losses, n) == pytest.approx(-z, abs=1e-6)
        passes, fails = verdict.lower > -0.02, verdict.upper < 0
        expected_outcome = "PASS" if passes else "FAIL" if fails else "UNDECIDED"
        assert verdict.outcome == expected_outcome
        assert not [note for note in gate_result.notes if note.is_grave]
        assert "score: zeros and ones; limits and p by Tango's score." in str(gate_result)


def test_the_limit_of_a_mean_is_wilsons() -> None:
    for n_hits, outcome in ((36, "PASS"), (33, "UNDECIDED"), (20, "FAIL")):
        scores = {f"q{i}": float(i < n_hits) for i in range(40)}
        gate_result = gate({"new": scores}, at_least={"score": 0.75}, limit=True)
        threshold = gate_result.thresholds[0]
        statistic = (n_hits - 40 * 0.75) / math.sqrt(40 * 0.75 * 0.25)
        assert threshold.p == pytest.approx(norm.sf(statistic), rel=1e-9)
        two_sided = binomtest(n_hits, 40).proportion_ci(0.9, "wilson")
        assert threshold.lower == pytest.approx(two_sided.low, abs=1e-12)
        assert threshold.upper == pytest.approx(two_sided.high, abs=1e-12)
        assert (threshold.outcome, threshold.method) == (outcome, "wilson")
        assert "score: zeros and ones; limits and p by Wilson's score." in str(gate_result)


def test_a_share_of_the_mean_keeps_the_test_of_shares() -> None:
    verdict = gate(make_pair(9, 4, 100, 50), baseline="old", margin="2%").verdicts[0]
    assert verdict.method == "drawn"


def test_the_rule_on_few_changes_is_not_said_of_zeros_and_ones() -> None:
    rule = "Where fewer than 10 queries differ, no system with a lower mean passes."
    binary_gate = gate(make_pair(0, 2, 100), baseline="old", margin=0.2)
    assert (binary_gate.outcome, binary_gate.verdicts[0].difference < 0) == ("PASS", True)
    assert rule not in str(binary_gate)


@pytest.mark.parametrize(("n", "goal"), [(3, 0.8), (10, 0.8), (5, 0.9), (30, 0.95)])
def test_all_ones_pass_with_as_many_queries_as_wilsons_limit_needs(n: int, goal: float) -> None:
    """The limit of n ones, n / (n + z^2), is the goal at n = z^2 goal / (1 - goal)."""
    n_needed = math.ceil(norm.ppf(0.95) ** 2 * goal / (1 - goal))

    def judge_hits(count: int) -> Gate:
        scores = {"new": {"Success@5": {f"q{i}": 1.0 for i in range(count)}}}
        return gate(scores, at_least={"Success@5": goal}, limit=True)

    result = judge_hits(n)
    assert (result.outcome, result.thresholds[0].queries_needed) == ("UNDECIDED", n_needed)
    assert f"{n_needed} queries would decide" in str(result)
    assert judge_hits(n_needed).passed
    assert not judge_hits(n_needed - 1).passed


@pytest.mark.parametrize(("n_hits", "goal"), [(36, 0.8), (28, 0.8)])
def test_the_queries_that_decide_on_zeros_and_ones_have_a_power_of_80_percent(
    n_hits: int, goal: float
) -> None:
    """By the binomial distribution, whose steps are coarse, of the test of 40 queries' share."""
    scores = {"new": {"Success@5": {f"q{i}": float(i < n_hits) for i in range(40)}}}
    (threshold,) = gate(scores, at_least={"Success@5": goal}, limit=True).thresholds
    n, share = threshold.queries_needed, n_hits / 40
    assert n is not None
    half_width = norm.ppf(0.95) * math.sqrt(n * goal * (1 - goal))
    power = binom.sf(math.ceil(n * goal + half_width) - 1, n, share)
    if share < goal:
        power = binom.cdf(math.floor(n * goal - half_width), n, share)
    assert power == pytest.approx(0.8, abs=0.05)
