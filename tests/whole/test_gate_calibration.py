"""Simulations: how often a gate lets a system pass that is worse by just the margin.

As in test_calibration.py: how often something happened in R independent repetitions lies within the
limits that a binomial count with the stated chance passes once in a thousand times, on either side
once in two thousand. Repetitions are the systems of one call, in blocks of which each has a seed of
its own. The tables of docs/background/gate.md are made by the functions here, with these seeds: the
last test holds them against the page, and shows the row that is not there.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.folders import DOCS
from helpers.profile import repetitions, sample_cases
from scipy.stats import binom

from cranfield.arrays.ranked import Floats
from cranfield.comparison.noninferiority import GainSample, run_gain_tests, decide_outcome
from cranfield.comparison.settings import GateSettings, GateTestName
from cranfield.extensions.bounded.betting import DifferenceRange, log_wealth

pytestmark = pytest.mark.slow

ALPHA = 0.05
MARGIN = 0.02
BLOCKS = 4
N_SYSTEMS = 2_000
REPETITIONS = repetitions(N_SYSTEMS)
PAGE = DOCS / "background" / "gate.md"


def is_within_limits(events: int, repetitions: int, chance: float = ALPHA) -> bool:
    low, high = binom.ppf([0.0005, 0.9995], repetitions, chance)
    return bool(low <= events <= high)


def is_not_above(events: int, repetitions: int, chance: float = ALPHA) -> bool:
    return bool(events <= binom.ppf(0.999, repetitions, chance))


# What a change does to queries: [(share of the queries, by how much they differ)]; 0 for the rest.
# The mean is -0.02: -0.05 x 0.4, -0.02 x 1, -0.1 x 0.2, -0.2 / 3 x 0.4 + 0.1 / 3 x 0.2, and
# -0.08 x 0.4 + 0.6 x 0.02.
CHANGES = {
    "5 % lose .4": [(0.05, -0.4)],
    "2 % lose 1": [(0.02, -1.0)],
    "10 % lose .2": [(0.1, -0.2)],
    "6.7 % lose .4, 3.3 % gain .2": [(0.2 / 3, -0.4), (0.1 / 3, 0.2)],
    "8 % lose .4, 60 % gain .02": [(0.08, -0.4), (0.6, 0.02)],
}


def draw_differences(change: str, chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    parts = CHANGES[change]
    ends = np.cumsum([share for share, _ in parts])
    sizes = np.array([size for _, size in parts] + [0.0])
    found: Floats = sizes[np.searchsorted(ends, chance.random(shape), side="right")]
    return found


@cache
def count_passes(change: str, n: int, n_systems: int = REPETITIONS) -> Mapping[str, int]:
    """Count systems that pass: by the limit alone; by the verdict, with a change and without."""
    chance = np.random.default_rng(20_261_122 + n)
    found = {"limit": 0, "verdict": 0, "identical": 0}
    for seed in range(BLOCKS):
        d = draw_differences(change, chance, (n, n_systems // BLOCKS))
        settings = GateSettings(alpha=ALPHA, flips=999, seed=seed)
        held = run_gain_tests(GainSample(d, MARGIN), settings)
        passed = np.array([decide_outcome(held, i, settings) == "PASS" for i in range(d.shape[1])])
        identical = held.n_changed == 0
        found["limit"] += int(np.count_nonzero(held.is_above[0]))
        found["identical"] += int(np.count_nonzero(passed & identical))
        found["verdict"] += int(np.count_nonzero(passed & ~identical))
    return found


def count_bounded_passes(change: str, n: int) -> int:
    chance, found = np.random.default_rng(20_261_122 + n), 0
    for _ in range(BLOCKS):
        d = draw_differences(change, chance, (n, REPETITIONS // BLOCKS))
        found += sum(passes_bounded_test(column, MARGIN) for column in d.T)
    return found


def passes_bounded_test(differences: Floats, margin: float) -> bool:
    """Whether the bounded test of scores from 0 to 1 passes, without its limits."""
    values, counts = np.unique(differences, return_counts=True)
    return log_wealth(values + margin, margin - 1, counts) >= -math.log(ALPHA)


def test_the_mean_of_every_change_is_minus_the_margin() -> None:
    for parts in CHANGES.values():
        assert sum(share * size for share, size in parts) == pytest.approx(-MARGIN, abs=1e-15)


@pytest.mark.parametrize("n", [25, 50, 100, 200])
@pytest.mark.parametrize("change", [name for name, parts in CHANGES.items() if len(parts) == 1])
def test_rare_losses_do_not_pass_where_few_queries_differ(change: str, n: int) -> None:
    """By the limit alone they pass too often; by the verdict, the samples without a loss only."""
    found, share = count_passes(change, n), CHANGES[change][0][0]
    assert is_within_limits(found["identical"], REPETITIONS, (1 - share) ** n)
    assert found["verdict"] <= binom.ppf(0.999, REPETITIONS, 0.07)
    if share * n < 5:
        assert found["verdict"] == 0
    if n == 50:
        assert found["limit"] > binom.ppf(0.9995, REPETITIONS, ALPHA)


def test_the_verdict_in_samples_with_ten_changes() -> None:
    # 20 of 1,000 lose 1: as good as normal, except for the skewness, of which the gate warns.
    found = count_passes("2 % lose 1", 1_000, N_SYSTEMS)
    assert found["identical"] == 0
    assert ALPHA < found["verdict"] / N_SYSTEMS < 0.09


@pytest.mark.parametrize("n", [50, 200, 1_000])
@pytest.mark.parametrize("change", CHANGES)
def test_bounded_passes_no_more_often_than_alpha(change: str, n: int) -> None:
    passed = count_bounded_passes(change, n)
    assert is_not_above(passed, REPETITIONS)
    # Fewer than the 1 in 100 that docs/background/gate.md says: 20 of 2,000 are as many as a
    # chance of 0.005 gives once in a thousand times.
    assert is_not_above(passed, REPETITIONS, 0.005)


def test_bounded_may_be_looked_at_again_and_again() -> None:
    """Twenty looks, after 50, 100, ..., 1,000 queries: ever PASS in no more than alpha of cases."""
    chance, ever, times = np.random.default_rng(7_001), 0, repetitions(400)
    for _ in range(times):
        d = draw_differences("5 % lose .4", chance, (1_000, 1))[:, 0]
        ever += any(passes_bounded_test(d[:n], MARGIN) for n in range(50, 1_001, 50))
    assert is_not_above(ever, times)
    assert ever <= 0.03 * times  # measured .012 elsewhere


def test_bounded_by_itself_is_the_gates() -> None:
    chance = np.random.default_rng(7_002)
    d = draw_differences("8 % lose .4, 60 % gain .02", chance, (300, 20)) + 0.02
    settings = GateSettings(alpha=ALPHA, test="bounded")
    held = run_gain_tests(GainSample(d, MARGIN, test_range=DifferenceRange(0, 1)), settings)
    outcomes = [decide_outcome(held, i, settings) == "PASS" for i in range(20)]
    assert outcomes == [passes_bounded_test(column, MARGIN) for column in d.T]
    assert 0 < sum(outcomes) < 20


# ---- a share of the baseline's mean -------------------------------------------------------------


@pytest.mark.parametrize("proportional", [False, True])
def test_a_loss_of_just_the_share_passes_as_often_as_alpha(proportional: bool) -> None:
    """Of queries that vary more than the differences: 50, whose mean is 0.5."""
    share, n = 0.1, 50
    chance = np.random.default_rng(8_000)
    by_t = GateSettings(alpha=ALPHA, test="t")
    passed = {"t": 0, "randomization": 0, "as if known": 0}
    for seed in range(REPETITIONS):
        old = chance.beta(1.5, 1.5, n)
        gains = -share * (old if proportional else 0.5) + chance.normal(0, 0.02, n)
        known = GainSample(gains[:, None], share * old.mean())
        question = replace(known, weights=old / old.mean())
        flipped = GateSettings(alpha=ALPHA, flips=499, seed=seed)
        passed["t"] += int(run_gain_tests(question, by_t).is_above[0, 0])
        passed["randomization"] += int(run_gain_tests(question, flipped).is_above[0, 0])
        passed["as if known"] += int(run_gain_tests(known, by_t).is_above[0, 0])
    assert is_within_limits(passed["t"], REPETITIONS)
    assert is_within_limits(passed["randomization"], REPETITIONS)
    assert not is_within_limits(passed["as if known"], REPETITIONS)


# ---- the tables of the page ---------------------------------------------------------------------


def measure_power(test: GateTestName, n: int, margin: float, sd: float, n_systems: int) -> float:
    """Return how often a system as good as the baseline passes, of normal differences."""
    chance = np.random.default_rng(9_000 + n)
    d = np.clip(chance.normal(0, sd, (n, n_systems)), -1, 1)
    if test == "bounded":
        return sum(passes_bounded_test(column, margin) for column in d.T) / n_systems
    held = run_gain_tests(GainSample(d, margin), GateSettings(alpha=ALPHA, test="t"))
    return float(held.is_above[0].mean())


SIZES = (25, 50, 100, 200, 500, 1_000)


def make_level_table() -> list[str]:
    rows = []
    for change in sample_cases(CHANGES, step=len(CHANGES) - 1):
        cells = []
        for n in SIZES:
            found = count_passes(change, n, N_SYSTEMS)
            three = (found["limit"], found["verdict"], found["identical"])
            cells.append(" / ".join(_format_share(one / N_SYSTEMS) for one in three))
        rows.append(f"| {change} | {' | '.join(cells)} |")
    return rows


def make_power_table() -> list[str]:
    rows = []
    for margin, sd in ((0.02, 0.1), (0.05, 0.2)):
        cells = []
        for n in (100, 200, 500, 1_000):
            two = [measure_power(test, n, margin, sd, 1_000) for test in _TESTS]
            cells.append(" / ".join(map(_format_share, two)))
        rows.append(f"| {margin:g} | {sd:g} | {' | '.join(cells)} |")
    return rows


_TESTS: tuple[GateTestName, GateTestName] = ("t", "bounded")


def _format_share(value: float) -> str:
    shown = f"{value:.2f}"
    return {"0.00": "0", "1.00": "1"}.get(shown, shown.removeprefix("0"))


@pytest.mark.parametrize("table", [make_level_table, make_power_table])
def test_the_tables_of_the_page_are_what_is_measured(table: Callable[[], list[str]]) -> None:
    lines = [re.sub(" +", " ", line) for line in PAGE.read_text("utf-8").splitlines()]
    for row in table():
        assert row in lines
