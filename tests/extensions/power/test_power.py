"""How many queries are needed, and what so many can show."""

import json
import math
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import OptionError, detectable, power, queries_needed, seeds_needed
from cranfield.comparison.needed import MOST_QUERIES, Goal, find_n_queries


@pytest.mark.parametrize(
    ("n", "effect"),
    [(25, 0.5840266716), (50, 0.4041830021), (100, 0.2829126328), (6980, 0.0335378612)],
)
def test_least_detectable_effect_of_case_i(n: int, effect: float) -> None:
    assert detectable(n) == pytest.approx(effect, abs=5e-11)
    assert power(detectable(n), n) == pytest.approx(0.8, abs=1e-12)


def test_power_of_case_i() -> None:
    assert power(0.3, 50) == pytest.approx(0.5476570390, abs=5e-11)


@pytest.mark.parametrize(
    ("effect", "n"), [(0.1, 787), (0.2, 199), (0.3, 90), (0.4, 52), (0.5, 34), (0.8, 15), (1, 10)]
)
def test_queries_for_power(effect: float, n: int) -> None:
    assert queries_needed(effect=effect) == queries_needed(effect=-effect) == n
    assert queries_needed(difference=effect * 0.15, sd=0.15) == n
    assert power(effect, n) >= 0.8 > power(effect, n - 1)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 198.1508), (0.3, 89.1494), (0.5, 33.3671)])
def test_queries_of_case_i_are_rounded_up(effect: float, n: float) -> None:
    assert queries_needed(effect=effect) == math.ceil(n)


@pytest.mark.parametrize(
    ("variance", "width", "n"), [(0.05, 0.1, 79), (0.05, 0.05, 310), (0.1, 0.05, 617)]
)
def test_queries_for_the_width_of_an_interval(variance: float, width: float, n: int) -> None:
    def expected(n: int) -> float:
        """Return the expected width: twice t E[s] / sqrt(n)."""
        c4 = math.sqrt(2 / (n - 1)) * math.exp(math.lgamma(n / 2) - math.lgamma((n - 1) / 2))
        return 2 * float(stats.t.ppf(0.975, n - 1)) * c4 * math.sqrt(variance / n)

    assert queries_needed(width=width, sd=math.sqrt(variance)) == n
    assert expected(n) <= width < expected(n - 1)


@pytest.mark.parametrize(("margin", "n"), [(0.1, 620), (0.2, 156), (0.3, 71), (0.5, 27)])
def test_queries_for_non_inferiority(margin: float, n: int) -> None:
    assert queries_needed(margin=margin, sd=1) == n
    assert power(margin, n, sides=1) >= 0.8 > power(margin, n - 1, sides=1)


DEGREES = [1, 2, 3, 9, 49, 199, 999, 6_979, 100_000, 1_000_000]


@pytest.mark.parametrize("df", DEGREES)
def test_power_is_that_of_the_noncentral_t(df: int) -> None:
    """At alpha .05: further out, scipy's is no number at some points."""
    for center in (1e-6, 0.1, 1, 2.8, 5, 10, 20, 30):
        two_sided_t, one_sided_t = stats.t.isf([0.025, 0.05], df)
        effect = center / math.sqrt(df + 1)
        down = np.nan_to_num(
            stats.nct.cdf(-two_sided_t, df, center)
        )  # no number where there is no chance
        theirs = stats.nct.sf(two_sided_t, df, center) + down
        assert power(effect, df + 1) == pytest.approx(theirs, abs=2e-10)
        theirs = stats.nct.sf(one_sided_t, df, center)
        assert power(effect, df + 1, sides=1) == pytest.approx(theirs, abs=2e-10)


def test_a_spread_of_seeds_needs_their_number() -> None:
    calls: list[Any] = [
        lambda **seeds: power(0.2, 50, **seeds),
        lambda **seeds: detectable(50, **seeds),
        lambda **seeds: queries_needed(effect=0.3, **seeds),
    ]
    for call in calls:
        with pytest.raises(OptionError, match="seed_sd needs seeds, how many runs"):
            call(seed_sd=0.1)
        assert call(seed_sd=0.1, seeds=5) != call()
    assert power(0.2, 50, seed_sd=0, seeds=3) == power(0.2, 50)


def test_power_where_the_noncentral_t_of_scipy_fails() -> None:
    """The distribution at 10^6 degrees of freedom is all but normal."""
    assert power(38 / 1000, 1_000_000) == pytest.approx(1, abs=1e-12)
    assert power(2.8 / 1e5, 10**10) == pytest.approx(
        stats.norm.sf(1.959963984540054 - 2.8) + stats.norm.sf(1.959963984540054 + 2.8), abs=1e-9
    )


def test_no_effect_is_found_as_often_as_alpha() -> None:
    for n in (2, 3, 50, 7_000):
        for alpha in (0.001, 0.05, 0.3):
            assert power(0, n, alpha=alpha) == pytest.approx(alpha, rel=1e-9)
            assert power(0, n, alpha=alpha, sides=1) == pytest.approx(alpha, rel=1e-9)


def test_the_least_number_is_found_from_any_start() -> None:
    for effect in (0.001, 0.02, 0.15, 0.7, 1.5, 3, 6, 50, 1e6):
        for stated_power in (0.06, 0.5, 0.95, 0.999):
            n = queries_needed(effect=effect, power=stated_power)
            assert power(effect, n) >= stated_power
            assert n == 2 or power(effect, n - 1) < stated_power


def test_extremes_have_an_answer() -> None:
    # By the normal distribution, without the small chance of the wrong side.
    normal = (1.959963984540054 + 0.8416212335729143) ** 2
    assert queries_needed(effect=1e-4) == pytest.approx(normal * 1e8, rel=1e-5)
    assert queries_needed(margin=1.0001e-4, sd=1, power=0.9, alpha=0.05) < 10**9
    assert detectable(2) > detectable(3) > detectable(10**6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "state one of"),
        ({"effect": 0.1, "margin": 0.1, "sd": 1}, "not effect and margin"),
        ({"difference": 0.1}, "needs sd"),
        ({"effect": 0.1, "sd": 1}, "takes no sd"),
        ({"effect": 0}, "no number of queries"),
        ({"effect": 1e-9}, "more than 1,000,000,000 queries"),
        ({"width": 1e-9, "sd": 1}, "more than 1,000,000,000 queries"),
        ({"margin": 1e-9, "sd": 1}, "more than 1,000,000,000 queries"),
        ({"effect": math.nan}, "expected a number"),
        ({"effect": "0.1"}, "expected a number"),
        ({"margin": 0.1, "sd": -1}, "a number of at least 0"),
        ({"margin": 1e-200, "sd": 1}, "too small or too large"),
        ({"difference": 0.1, "sd": 0}, "sd=0: expected a number above 0"),
        ({"width": 0.1, "sd": 0}, "sd=0: expected a number above 0"),
        ({"margin": 0.1, "sd": 0, "seeds": 3, "seed_sd": 0.1}, "sd=0: expected a number above 0"),
        ({"effect": 0.1, "power": 0.04}, "more than alpha"),
        ({"effect": 0.1, "power": 1}, "above 0 and below 1"),
        ({"effect": 0.1, "alpha": 0}, "above 0 and below 0.5"),
    ],
)
def test_what_cannot_be_answered_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        queries_needed(**options)


def test_other_refusals() -> None:
    for n in (1, 2.0, True, "5"):
        with pytest.raises(OptionError, match="at least 2"):
            detectable(n)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="more than alpha"):
        detectable(10, power=0.05)
    with pytest.raises(OptionError, match="sides=3"):
        power(0.1, 10, sides=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("share", "n"), [(0.05, 214), (0.1, 125), (0.2, 101), (1, 101)])
def test_few_changed_queries_need_more(share: float, n: int) -> None:
    """P(K >= 10) power + P(K < 10) / 2, where K queries of n change."""

    def pass_probability(n: int) -> float:
        chance_below_ten = sum(
            math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(10)
        )
        return (1 - chance_below_ten) * power(0.02 / 0.08, n, sides=1) + chance_below_ten / 2

    assert queries_needed(margin=0.02, sd=0.08, changed=share) == n
    assert pass_probability(n) >= 0.8 > pass_probability(n - 1)
    for n_queries in (10, 50, n):
        share_passed = power(0.02 / 0.08, n_queries, sides=1, changed=share)
        assert share_passed == pytest.approx(pass_probability(n_queries), abs=1e-12)


def test_half_of_the_systems_pass_and_that_is_no_power() -> None:
    n = queries_needed(margin=0.02, sd=0.08, power=0.4, changed=0.01)
    assert n == queries_needed(margin=0.02, sd=0.08, power=0.4)


def test_changed_clusters_count_as_changed_queries_do() -> None:
    design = {"cluster_size": 4, "icc": 1.0}
    clusters = power(0.25, 400, sides=1, changed=0.08, **design)  # type: ignore[arg-type]
    assert clusters == pytest.approx(power(0.25, 100, sides=1, changed=0.08))


def test_comparisons_divide_alpha() -> None:
    assert detectable(43, comparisons=11) == pytest.approx(0.590, abs=5e-4)
    assert detectable(43, comparisons=66) == detectable(43, alpha=0.05 / 66)
    assert power(0.3, 90, comparisons=3) == power(0.3, 90, alpha=0.05 / 3)
    assert queries_needed(effect=0.3, comparisons=3) == queries_needed(effect=0.3, alpha=0.05 / 3)
    options: Any = {"difference": 0.03, "sd": 0.08, "seed_sd": 0.015}
    assert seeds_needed(200, **options, comparisons=3) == seeds_needed(
        200, **options, alpha=0.05 / 3
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--margin 0.02 --sd 0.08 --changed 0.05", {"queries": 214, "changed": 0.05}),
        ("--effect 0.3 --comparisons 11", {"queries": 155, "alpha": 0.05, "comparisons": 11}),
    ],
)
def test_the_command_takes_both(arguments: str, expected: dict[str, Any]) -> None:
    row = json.loads(invoke("power", *arguments.split(), "--format", "json").stdout)
    assert expected.items() <= row.items()


@pytest.mark.parametrize("arguments", ["--effect 0.3", "--n-queries 40", "--width 1 --sd 1"])
def test_changed_is_about_a_margin(arguments: str) -> None:
    outcome = invoke("power", *arguments.split(), "--changed", "0.1")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--changed 0.1 goes with a margin" in outcome.stderr
    with pytest.raises(OptionError, match=r"changed=0\.1 goes with a margin"):
        power(0.3, 40, changed=0.1)
    with pytest.raises(TypeError, match="changed"):
        detectable(40, changed=0.1)


def test_queries_that_do_not_vary_add_nothing_to_what_seeds_do() -> None:
    """As with a standard deviation of next to nothing."""
    for excess, suffices in ((1e-4, True), (4e-4, False)):
        of_seeds = [(excess, 2.0), (excess, 3.0)]
        none, little = (find_n_queries(Goal(margin=0.05, sd=sd), of_seeds) for sd in (0.0, 1e-9))
        assert none == little
        assert (none <= MOST_QUERIES) == suffices


@pytest.mark.parametrize(
    "question",
    [
        "--difference 0.02",
        "--margin 0.1 --n-queries 50",
        "--n-queries 50",
        "--difference 0.02 --seeds 3 --seed-sd 0.01",
        "--n-queries 50 --seeds 3 --seed-sd 0.01",
        "--difference 0.02 --seed-sd 0.01 --n-queries 50",
        "--width 0.1 --seed-sd 0.01",
    ],
)
def test_the_command_refuses_differences_that_do_not_vary(question: str) -> None:
    refusal = invoke("power", *question.split(), "--sd", "0")
    assert refusal.exit_code == 2
    assert "Error: --sd 0: expected a number above 0" in refusal.stderr


def test_so_few_queries_that_flips_show_nothing_are_told() -> None:
    small_plan_text = invoke("power", "--margin", "0.1", "--sd", "0.02", "--format", "table").stdout
    assert "shows nothing with fewer than 5 queries" in " ".join(small_plan_text.split())
    assert 2**-5 <= 0.05 < 2**-4
    small_plan_text = invoke(
        "power", "--difference", "0.1", "--sd", "0.02", "--format", "table"
    ).stdout
    assert "shows nothing with fewer than 6 queries" in " ".join(small_plan_text.split())
    assert 2 * 2**-6 <= 0.05 < 2 * 2**-5
    large_plan_text = invoke(
        "power", "--difference", "0.1", "--sd", "0.2", "--format", "table"
    ).stdout
    assert "flips" not in large_plan_text
