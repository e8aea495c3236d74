"""Rank correlation: published values, scipy, slow loops, all orders of the tied."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from helpers.profile import seeds
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cranfield import InputError, kendall, tau_ap, tau_ap_a, tau_ap_b, weighted_tau
from cranfield.extensions.orderings.coefficients import spearman

# The two sets published with the R package ircor (Urbano & Marrero, ICTIR 2017).
X1 = [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992]
Y1 = [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988]
X1T = [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1]
Y1T = [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1]
X2 = [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38]
Y2 = [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644]
X2T = [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4]
Y2T = [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6]


@pytest.mark.parametrize(
    ("x", "y", "xt", "yt", "expected"),
    [
        (X1, Y1, X1T, Y1T, [0.911111111111, 0.939827250788, 0.851851851852, 0.745370370370,
                            0.833333333333, 0.732142857143, 0.889355552545, 0.963636363636]),
        (X2, Y2, X2T, Y2T, [0.288888888889, 0.376496644268, 0.250352733686, 0.269179894180,
                            0.288007054674, 0.296957671958, 0.414743560794, 0.369696969697]),
    ],
)  # fmt: skip
def test_published_sets(
    x: list[float], y: list[float], xt: list[float], yt: list[float], expected: list[float]
) -> None:
    coefficients = [
        kendall(x, y).tau_a,
        kendall(xt, yt).tau_b,
        tau_ap(x, y),
        tau_ap_a(x, yt),
        tau_ap_b(x, y),
        tau_ap_b(xt, yt),
        weighted_tau(x, y),
        spearman(x, y),
    ]
    assert coefficients == pytest.approx(expected, abs=5.1e-13)
    assert kendall(x, y).tau_b == kendall(x, y).tau_a


# ---- oracles --------------------------------------------------------------------------------


def draw_scores(seed: int, tied: bool) -> tuple[list[float], list[float]]:
    chance = random.Random(seed)
    n = chance.randint(2, 12)
    if tied:
        return [chance.randint(0, 4) / 10 for _ in range(n)], [
            chance.randint(0, 4) / 10 for _ in range(n)
        ]
    return chance.sample([i / 100 for i in range(100)], n), [chance.random() for _ in range(n)]


@pytest.mark.parametrize("tied", [False, True])
def test_as_scipy_has_it(tied: bool) -> None:
    for seed in seeds(150):
        x, y = draw_scores(seed, tied)
        coefficients = [kendall(x, y).tau_b, weighted_tau(x, y), spearman(x, y)]
        if len(set(x)) == 1 or len(set(y)) == 1:
            assert coefficients == [None, None, None]
            continue
        expected = [
            stats.kendalltau(x, y).statistic,
            stats.weightedtau(x, y).statistic,
            stats.spearmanr(x, y).statistic,
        ]
        assert coefficients == pytest.approx(expected, abs=1e-12)


def slow_tau_ap(truth: Sequence[float], order: Sequence[int]) -> float:
    """From the definition: `order` are the systems, best first."""
    shares = [
        sum(truth[other] > truth[system] for other in order[:rank]) / rank
        for rank, system in enumerate(order)
        if rank
    ]
    return 2 * math.fsum(shares) / len(shares) - 1


def test_tau_ap_is_its_definition() -> None:
    for seed in seeds(100):
        x, y = draw_scores(seed, False)
        order = sorted(range(len(y)), key=lambda i: -y[i])
        assert tau_ap(x, y) == pytest.approx(slow_tau_ap(x, order), abs=1e-12)
        assert tau_ap_a(x, y) == tau_ap(x, y)
        x_order = sorted(range(len(x)), key=lambda i: -x[i])
        halves = slow_tau_ap(x, order), slow_tau_ap(y, x_order)
        assert tau_ap_b(x, y) == pytest.approx(sum(halves) / 2, abs=1e-12)


def test_tau_ap_a_is_the_mean_over_all_orders_of_the_tied() -> None:
    for seed in seeds(60):
        chance = random.Random(seed)
        n = chance.randint(2, 6)
        x, y = chance.sample(range(50), n), [chance.randint(0, 2) for _ in range(n)]
        orders = [
            order
            for order in itertools.permutations(range(n))
            if all(y[a] >= y[b] for a, b in itertools.pairwise(order))
        ]
        mean = math.fsum(slow_tau_ap(x, order) for order in orders) / len(orders)
        assert tau_ap_a(x, y) == pytest.approx(mean, abs=1e-12)


def slow_half(truth: Sequence[float], y: Sequence[float]) -> float:
    shares = []
    for i in range(len(y)):
        above = [j for j in range(len(y)) if y[j] > y[i]]
        if above:
            shares.append(sum(truth[j] > truth[i] for j in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1


def test_tau_ap_b_with_ties_is_its_definition() -> None:
    for seed in seeds(100):
        x, y = draw_scores(seed, True)
        if len(set(x)) > 1 < len(set(y)):
            expected = (slow_half(x, y) + slow_half(y, x)) / 2
            assert tau_ap_b(x, y) == pytest.approx(expected, abs=1e-12)
        else:
            assert tau_ap_b(x, y) is None


# ---- properties -----------------------------------------------------------------------------

SCORES = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n)] * 2)
)


@given(SCORES)
def test_turned_and_exchanged(scores: tuple[list[int], list[int]]) -> None:
    x, y = scores
    counts, exchanged_counts = kendall(x, y), kendall(y, x)
    reversed_counts = kendall(x, [-score for score in y])
    assert (counts.concordant, counts.discordant) == (
        exchanged_counts.concordant,
        exchanged_counts.discordant,
    )
    assert (counts.ties_x, counts.ties_y) == (exchanged_counts.ties_y, exchanged_counts.ties_x)
    assert (counts.concordant, counts.discordant) == (
        reversed_counts.discordant,
        reversed_counts.concordant,
    )
    pairs = [counts.concordant, counts.discordant, counts.ties_x, counts.ties_y, counts.ties_both]
    assert sum(pairs) == len(x) * (len(x) - 1) // 2
    for coefficient_of in (weighted_tau, tau_ap_b, spearman, lambda a, b: kendall(a, b).tau_b):
        assert coefficient_of(x, y) == pytest.approx(coefficient_of(y, x), abs=1e-12)
        coefficient = coefficient_of(x, y)
        assert coefficient is None or -1 <= coefficient <= 1
        if len(set(x)) > 1:
            assert coefficient_of(x, x) == 1
    if counts.tau_b is not None:
        assert reversed_counts.tau_b == -counts.tau_b


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_without_ties(x: list[int], y: list[int]) -> None:
    assert tau_ap(x, x) == pytest.approx(1)
    assert tau_ap(x, [-score for score in x]) == pytest.approx(-1)
    coefficient, reversed_coefficient = tau_ap(x, y), tau_ap([-score for score in x], y)
    assert coefficient is not None
    assert reversed_coefficient == pytest.approx(-coefficient)
    assert tau_ap(x, [2**score for score in y]) == coefficient


# ---- what has no value, and what is refused --------------------------------------------------

ALL: list[Callable[[Any, Any], Any]] = [
    kendall,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    weighted_tau,
    spearman,
]


@pytest.mark.parametrize("scores", [[], [0.5]])
def test_fewer_than_two_systems(scores: list[float]) -> None:
    assert kendall(scores, scores).tau_a is None
    assert kendall(scores, scores).tau_b is None
    assert [coefficient_of(scores, scores) for coefficient_of in ALL[1:]] == [None] * 5


def test_two_systems() -> None:
    assert [coefficient_of([1, 2], [3, 4]) for coefficient_of in ALL[1:]] == [1, 1, 1, 1, 1]
    assert [coefficient_of([1, 2], [4, 3]) for coefficient_of in ALL[1:]] == [-1, -1, -1, -1, -1]


def test_all_tied() -> None:
    equal_scores, rising_scores = [0.5, 0.5, 0.5], [1, 2, 3]
    assert kendall(equal_scores, rising_scores).tau_a == 0
    assert kendall(equal_scores, rising_scores).ties_x == 3
    assert kendall(equal_scores, equal_scores).ties_both == 3
    for x, y in (
        (equal_scores, rising_scores),
        (rising_scores, equal_scores),
        (equal_scores, equal_scores),
    ):
        coefficients = [kendall(x, y).tau_b, tau_ap_b(x, y), weighted_tau(x, y), spearman(x, y)]
        assert coefficients == [None] * 4
    assert tau_ap_a(rising_scores, equal_scores) == pytest.approx(0)


def test_what_differs_by_rounding_alone_is_tied() -> None:
    x, y = [0.1 + 0.2, 0.3, 0.1], [3, 2, 1]
    assert x[0] != x[1]
    assert kendall(x, y).ties_x == 1


@pytest.mark.parametrize("of", ALL)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1, 2, 3], "2 scores and 3"),
        ([1, math.nan], [1, 2], "score 2 of the first sequence is nan"),
        ([1, 2], [math.inf, 2], "score 1 of the second sequence is inf"),
        ([[1, 2]], [1, 2], "flat"),
        (["a", "b"], [1, 2], "no number"),
    ],
)
def test_what_is_no_score_is_refused(
    of: Callable[[Any, Any], Any], x: Any, y: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        of(x, y)


def test_ties_that_have_no_answer_are_refused() -> None:
    with pytest.raises(InputError, match="tau_ap_a gives"):
        tau_ap([1, 2, 3], [1, 1, 2])
    for coefficient_of in (tau_ap, tau_ap_a):
        with pytest.raises(InputError, match="tau_ap_b takes ties"):
            coefficient_of([1, 1, 3], [1, 2, 3])
