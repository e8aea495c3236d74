"""Levels of the intervals of zeros and ones: exact, by all outcomes of n queries.

The tables of docs/reference/error-rates.md and docs/background/error-rates-gates.md are made by the
functions here; the last test holds them against the pages.
"""

import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from helpers.folders import DOCS
from scipy.stats import binom, multinomial, norm, t

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.binary import (
    PairedCounts,
    tango_interval,
    tango_statistic,
    wilson_interval,
)

SIZES = (25, 50, 100, 200)
# How often a system has a 1 and the other a 0, and the reverse.
RATES = ((0.02, 0.0), (0.05, 0.0), (0.05, 0.02), (0.1, 0.05), (0.2, 0.2))
GAINS = (0.0, 0.02, 0.05, 0.1)  # how often a system gains that loses just the margin
MARGIN = 0.02


@cache
def list_outcomes(n: int) -> tuple[Ints, Ints]:
    """Return all numbers of gains and losses of n queries, (n_outcomes,) each."""
    gains, losses = np.indices((n + 1, n + 1)).reshape(2, -1)
    is_possible = gains + losses <= n
    return gains[is_possible], losses[is_possible]


def outcome_chances(n: int, gain_rate: float, loss_rate: float) -> Floats:
    """Return the probability of each outcome."""
    gains, losses = list_outcomes(n)
    outcomes = np.column_stack([gains, losses, n - gains - losses])
    rates = [gain_rate, loss_rate, 1 - gain_rate - loss_rate]
    chances: Floats = multinomial.pmf(outcomes, n, rates)
    return chances


def t_limits(n: int, level: float) -> tuple[Floats, Floats]:
    gains, losses = list_outcomes(n)
    mean = (gains - losses) / n
    variance = ((gains + losses) / n - mean**2) * n / (n - 1)
    half_width = t.ppf(level, n - 1) * np.sqrt(np.maximum(variance, 0) / n)
    return mean - half_width, mean + half_width


@cache
def tango_limits(n: int, level: float) -> tuple[Floats, Floats]:
    return tango_interval(PairedCounts(n, *list_outcomes(n)), float(norm.ppf(level)))


def miss_rates(n: int, gain_rate: float, loss_rate: float) -> tuple[float, float]:
    """Return how often the 95% intervals by t, and by Tango, miss the true difference."""
    chances, difference = outcome_chances(n, gain_rate, loss_rate), gain_rate - loss_rate
    t_misses, tango_misses = (
        float(chances[(low > difference) | (high < difference)].sum())
        for low, high in (t_limits(n, 0.975), tango_limits(n, 0.975))
    )
    return t_misses, tango_misses


def mean_miss_rates(n: int, rate: float) -> tuple[float, float]:
    """Return how often the 95% intervals of a mean by t, and by Wilson, miss it."""
    ones = np.arange(n + 1)
    chances, share = binom.pmf(ones, n, rate), ones / n
    half_width = t.ppf(0.975, n - 1) * np.sqrt(share * (1 - share) / (n - 1))
    t_misses, wilson_misses = (
        float(chances[(low > rate) | (high < rate)].sum())
        for low, high in (
            (share - half_width, share + half_width),
            wilson_interval(n, ones, float(norm.ppf(0.975))),
        )
    )
    return t_misses, wilson_misses


def pass_rates(n: int, gain_rate: float) -> tuple[float, float]:
    """Return how often a system passes that loses the margin: with a change, and identical."""
    chances = outcome_chances(n, gain_rate, gain_rate + MARGIN)
    gains, losses = list_outcomes(n)
    statistic = tango_statistic(PairedCounts(n, gains, losses), np.full(len(gains), -MARGIN))
    is_identical = gains + losses == 0
    passes = (statistic >= norm.ppf(0.95)) & ~is_identical
    return float(chances[passes].sum()), float(chances[is_identical].sum())


def test_all_outcomes_have_a_probability_of_1() -> None:
    assert math.fsum(outcome_chances(25, 0.1, 0.05)) == pytest.approx(1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rates", RATES)
def test_tangos_interval_misses_about_as_often_as_alpha(rates: tuple[float, float], n: int) -> None:
    t_misses, tango_misses = miss_rates(n, *rates)
    assert tango_misses <= 0.072
    assert tango_misses <= max(t_misses, 0.072)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.95])
def test_wilsons_interval_misses_about_as_often_as_alpha(rate: float, n: int) -> None:
    assert mean_miss_rates(n, rate)[1] <= 0.08


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("gain_rate", GAINS)
def test_a_loss_of_the_margin_passes_about_as_often_as_alpha(gain_rate: float, n: int) -> None:
    assert pass_rates(n, gain_rate)[0] <= 0.06


def _join_shares(*shares: float) -> str:
    texts = [f"{share:.2f}" for share in shares]
    return " / ".join("0" if text == "0.00" else text.removeprefix("0") for text in texts)


def make_interval_table() -> list[str]:
    rows = []
    for rates in RATES:
        cells = [_join_shares(*miss_rates(n, *rates)) for n in SIZES]
        rows.append(f"| gains {rates[0]:g}, losses {rates[1]:g} | {' | '.join(cells)} |")
    for rate in (0.5, 0.7, 0.9, 0.95):
        cells = [_join_shares(*mean_miss_rates(n, rate)) for n in SIZES]
        rows.append(f"| mean {rate:g} | {' | '.join(cells)} |")
    return rows


def make_gate_table() -> list[str]:
    rows = []
    for gain_rate in GAINS:
        cells = [_join_shares(*pass_rates(n, gain_rate)) for n in SIZES]
        rows.append(f"| gains {gain_rate:g}, losses {gain_rate + MARGIN:g} | {' | '.join(cells)} |")
    return rows


@pytest.mark.parametrize(
    ("table", "page"),
    [
        (make_interval_table, "reference/error-rates.md"),
        (make_gate_table, "background/error-rates-gates.md"),
    ],
)
def test_the_tables_of_the_pages_are_what_is_computed(
    table: Callable[[], list[str]], page: str
) -> None:
    text = (DOCS / page).read_text("utf-8")
    lines = [re.sub(" +", " ", line) for line in text.splitlines()]
    for row in table():
        assert row in lines
