"""A number that must be reached, by the bounded test."""

import math
from typing import Any

import numpy as np
import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.notes import codes

from cranfield import OptionError, gate
from cranfield.extensions.bounded.betting import log_wealth


def make_scores(values: Any, name: str = "new") -> dict[str, dict[str, dict[str, float]]]:
    return {name: {"R@5": {f"q{i:03}": float(score) for i, score in enumerate(values)}}}


def scores_of(n: int, seed: int = 11) -> Any:
    return np.random.default_rng(seed).choice([0.0, 1 / 3, 2 / 3, 1.0], n, p=[0.1, 0.1, 0.2, 0.6])


def test_the_limit_by_the_bounded_test_is_where_betting_makes_20() -> None:
    values = scores_of(60)
    (threshold,) = gate(
        make_scores(values), at_least={"R@5": 0.5}, limit=True, test="bounded"
    ).thresholds
    assert threshold.lower is not None
    assert threshold.upper is not None
    # All scores are from 0 to 1: against a mean of at most m they are at least -m from it.
    assert log_wealth(values - threshold.lower, -threshold.lower) == pytest.approx(-math.log(0.05))
    assert log_wealth(threshold.upper - values, threshold.upper - 1) == pytest.approx(
        -math.log(0.05)
    )
    assert threshold.p == pytest.approx(math.exp(-max(0, log_wealth(values - 0.5, -0.5))))


def test_equal_scores_show_something_to_the_bounded_test() -> None:
    values = [1.0] * 30
    result = gate(make_scores(values), at_least={"R@5": 0.95}, limit=True, test="bounded")
    assert (result.outcome, codes(result)) == ("UNDECIDED", [])
    assert gate(make_scores(values), at_least={"R@5": 0.8}, limit=True, test="bounded").passed


def test_a_measure_without_an_end_needs_a_range() -> None:
    with pytest.raises(OptionError, match=r"range=.0, 1."):
        gate(str(DEMO_QRELS), [DEMO_RUNS[0]], at_least={"DCG@5": 1}, limit=True, test="bounded")
