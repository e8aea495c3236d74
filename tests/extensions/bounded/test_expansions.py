"""Numbers behind comparisons that are easily off by a little: each against its definition."""

import itertools
import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from scipy.stats import norm

from cranfield import compare
from cranfield.arrays.ranked import Floats
from cranfield.comparison.edgeworth import upper_tail
from cranfield.comparison.flips import Flips
from cranfield.comparison.sequential import STOP
from cranfield.extensions.bounded.betting import N_BETS, DifferenceRange, bet_on_bounds, log_wealth


def cumulants(values: Floats) -> tuple[float, float, float]:
    """Return the second, fourth and sixth cumulant of the sum of values with random signs."""
    signs = np.array(list(itertools.product((-1, 1), repeat=len(values))))
    sums = signs @ values
    m2, m4, m6 = (float((sums**power).mean()) for power in (2, 4, 6))
    return m2, m4 - 3 * m2**2, m6 - 15 * m4 * m2 + 30 * m2**3


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3, 0.6, 1.2])
def test_the_upper_tail_is_edgeworths_expansion(shift: float) -> None:
    values = np.random.default_rng(5).normal(shift, 1, 12)
    second, fourth, sixth = cumulants(values)
    of_4, of_6 = fourth / second**2, sixth / second**3
    z = values.sum() / math.sqrt(second)
    # He3, He5, He7: the polynomials of Hermite that the expansion of the distribution has.
    he3, he5, he7 = (hermeval(z, [0] * degree + [1]) for degree in (3, 5, 7))
    p, off = upper_tail(values[:, None])
    assert p[0] == pytest.approx(norm.sf(z) + norm.pdf(z) * of_4 / 24 * he3, rel=1e-9)
    expected = abs(of_6 / 720 * he5) + abs(of_4**2 / 1152 * he7)
    assert off[0] == pytest.approx(2 * norm.pdf(z) * expected, rel=1e-6)


def test_the_wealth_is_the_mean_of_what_every_share_makes() -> None:
    values = np.random.default_rng(6).uniform(-0.4, 0.6, 30)
    wealths = []
    for i in range(N_BETS):
        share, wealth = (i + 0.5) / N_BETS / 0.4, 1.0
        for value in values.tolist():
            wealth *= 1 + share * value
        wealths.append(wealth)
    assert log_wealth(values, -0.4) == pytest.approx(math.log(sum(wealths) / N_BETS))
    assert log_wealth(values, 0.0) == math.inf  # no value is below 0: the claim is impossible
    counts = np.arange(30) % 3 + 1
    assert log_wealth(values, -0.4, counts) == pytest.approx(
        log_wealth(np.repeat(values, counts), -0.4)
    )


REACHES = [
    DifferenceRange(0, 1),
    DifferenceRange(-1, 2),
    DifferenceRange(0, 1, higher_is_better=False),
    DifferenceRange(0, 1, baseline_mean=0.5),
    DifferenceRange(0, 3, higher_is_better=False, baseline_mean=0.5),
    DifferenceRange(0, 2, target=0.75),
]


@pytest.mark.parametrize("reach", REACHES, ids=str)
@pytest.mark.parametrize("threshold", [-0.3, 0.0, 0.2])
def test_the_ends_are_those_of_all_scores_that_are_possible(
    reach: DifferenceRange, threshold: float
) -> None:
    """A difference less its bound is linear in both scores: the corners are enough."""
    possible = []
    for old, new in itertools.product((reach.low, reach.high), repeat=2):
        if reach.target is not None:
            possible.append(new - reach.target - threshold)
            continue
        difference = new - old if reach.higher_is_better else old - new
        weight = 1.0 if reach.baseline_mean is None else old / reach.baseline_mean
        possible.append(difference - threshold * weight)
    assert reach.find_ends(threshold) == pytest.approx((min(possible), max(possible)))


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_limits_by_betting_are_where_the_wealth_is_one_over_alpha(alpha: float) -> None:
    differences = np.random.default_rng(7).uniform(-0.3, 0.7, (40, 1))
    low, high, _, _ = bet_on_bounds(differences, np.array([[0.0]]), DifferenceRange(0, 1), alpha)
    for sign, limit in ((1, float(low[0])), (-1, float(high[0]))):
        relative_gains = sign * (differences[:, 0] - limit)
        assert log_wealth(relative_gains, -1 - sign * limit) == pytest.approx(
            -math.log(alpha), abs=1e-6
        )
    assert low[0] < differences.mean() < high[0]


def test_a_p_by_betting_is_one_over_the_wealth_and_never_above_1_or_0() -> None:
    differences = np.random.default_rng(8).uniform(-0.2, 0.8, (25, 1))
    bounds = np.array([[-0.1], [0.9]])
    _, _, above, below = bet_on_bounds(differences, bounds, DifferenceRange(0, 1), 0.05)
    against = [
        log_wealth(differences[:, 0] - threshold, -1 - threshold) for threshold in (-0.1, 0.9)
    ]
    assert above[:, 0].tolist() == pytest.approx([math.exp(-against[0]), 1.0])
    from_above = [
        log_wealth(threshold - differences[:, 0], threshold - 1) for threshold in (-0.1, 0.9)
    ]
    assert from_above[0] < 0 < from_above[1]
    assert below[:, 0].tolist() == pytest.approx([1.0, math.exp(-from_above[1])])
    certain = np.ones((2_000, 1))
    _, _, above, _ = bet_on_bounds(certain, np.array([[-0.5]]), DifferenceRange(0, 1), 0.05)
    assert 0 < above[0, 0] < 1e-300


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.99])
@pytest.mark.parametrize("flips", [Flips(5), Flips(11), Flips(30, 99), Flips(30, 1000)], ids=str)
def test_the_least_count_is_that_of_which_the_share_is_above_alpha(
    flips: Flips, alpha: float
) -> None:
    total = flips.n_flips if flips.is_exact else flips.n_drawn + 1
    n_extra = 0 if flips.is_exact else 1
    # Shares are compared as doubles are: count / total.
    (first, *_) = (count for count in range(total + 1) if (count + n_extra) / total > alpha)
    assert flips.least_count(alpha) == first


def name_queries(old: Floats, new: Floats) -> dict[str, dict[str, float]]:
    return {
        name: {f"q{i}": value for i, value in enumerate(values.tolist())}
        for name, values in (("old", old), ("new", new))
    }


def test_the_error_of_a_p_value_is_that_of_a_share_of_flips() -> None:
    draw = np.random.default_rng(9)
    old = draw.uniform(0.2, 0.8, 50)
    new = old + draw.normal(0.02, 0.1, 50)
    (pair,) = compare(name_queries(old, new), flips=2_000)["score"].pairs
    assert pair.p is not None
    assert pair.method == "drawn"
    assert pair.p_error == pytest.approx(math.sqrt(pair.p * (1 - pair.p) / 2_000))


def test_the_error_of_a_p_value_drawn_until_it_is_known_depends_on_what_was_drawn() -> None:
    draw = np.random.default_rng(10)
    n = 7_100
    old = draw.uniform(0.2, 0.8, n)
    new = old + draw.normal(0.0005, 0.1, n)
    (pair,) = compare(name_queries(old, new))["score"].pairs
    assert pair.p is not None
    assert pair.method == "sequential"
    n_drawn = STOP / pair.p
    assert n_drawn == pytest.approx(round(n_drawn))
    assert pair.p_error == pytest.approx(math.sqrt(pair.p * (1 - pair.p) / n_drawn))
