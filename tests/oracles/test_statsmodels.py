"""Against statsmodels: power of the paired t test, two one-sided tests."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from cranfield import gate, power, topics

A = [14, 6, 4, 12, 8, 8, 0, 14, 2, 6, 10, 8, 0, 12, 10, 6, 2, 10, 4, 2]
B = [10, 2, 0, 4, 8, 6, 0, 10, 6, 6, 8, 8, 2, 8, 4, 2, 2, 12, 6, 4]


@pytest.mark.parametrize("n", [2, 5, 20, 50, 200, 6_980])
def test_power(n: int) -> None:
    for effect in (0.01, 0.05, 0.2, 0.5, 1):
        if effect * math.sqrt(n) > 15:  # theirs is no number at some such points
            continue
        for alpha in (0.01, 0.05):
            theirs = TTestPower().power(effect, n, alpha)
            assert power(effect, n, alpha=alpha) == pytest.approx(theirs, abs=1e-9)
            theirs = TTestPower().power(effect, n, alpha, alternative="larger")
            assert power(effect, n, alpha=alpha, sides=1) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("effect", [0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
def test_numbers_of_queries(effect: float) -> None:
    theirs = TTestPower().solve_power(effect, power=0.8, alpha=0.05)
    assert topics(effect=effect) == math.ceil(theirs)
    theirs = TTestPower().solve_power(effect, power=0.9, alpha=0.01, alternative="larger")
    assert topics(margin=effect, sd=1, power=0.9, alpha=0.01) == math.ceil(theirs)


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_equivalence(margin: float) -> None:
    a, b = np.array(A) / 20, np.array(B) / 20
    theirs = ttost_paired(a, b, -margin, margin)
    scores = {name: {str(i): x for i, x in enumerate(of)} for name, of in (("a", a), ("b", b))}
    ours = gate(scores, baseline="b", margin=margin, equivalence=True, test="t").verdicts[0]
    assert ours.p == pytest.approx(theirs[0], rel=1e-10)
