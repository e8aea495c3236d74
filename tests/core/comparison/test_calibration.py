"""Simulations: tests and intervals keep their promise, as often as they say.

How often something happened in R independent repetitions has to lie within the limits that a
binomial count with the stated chance passes once in a thousand times, on either side once in two
thousand. Repetitions are the pairs of one call, in blocks: within a block they share the flips, but
no data; each block has a seed of its own. These are the slow part of the suite: `-m 'not slow'`
leaves them out.
"""

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from helpers.profile import repetitions
from scipy.stats import binom

from cranfield.arrays.ranked import Bools, Floats
from cranfield.comparison.corrections import holm
from cranfield.comparison.effects import effect_sizes, find_doubt
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.randomization import (
    invert_sign_flips,
    one_sided_tests,
    sign_flip_p_values,
    step_down_p_values,
)
from cranfield.comparison.sequential import run_sequential_tests
from cranfield.comparison.significance import TIE, Moments, t_interval

pytestmark = pytest.mark.slow

ALPHA = 0.05
BLOCKS = 8


def greater_than_0(pairs: PairedScores, flips: Flips) -> Floats:
    """Return the one-sided p-values of each pair: (n_pairs,)."""
    zero_bounds = np.zeros((1, len(pairs.left_column)))
    p: Floats = one_sided_tests(pairs.differences, zero_bounds, flips, 0.05)[2][0]
    return p


def within(events: int, repetitions: int, chance: float = ALPHA) -> bool:
    low, high = binom.ppf([0.0005, 0.9995], repetitions, chance)
    return bool(low <= events <= high)


def greatest_share(events: int, repetitions: int, chance: float = ALPHA) -> bool:
    return bool(events <= binom.ppf(0.999, repetitions, chance))


def test_the_limits_themselves() -> None:
    # 2,000 x 0.05 = 100, give or take 3.3 times (2,000 x 0.05 x 0.95)^0.5 = 9.7.
    assert [n for n in range(201) if within(n, 2_000)] == list(range(69, 134))
    assert greatest_share(131, 2_000)
    assert not greatest_share(132, 2_000)


def symmetric(kind: str, chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return differences that are symmetric about 0; each query has a spread of its own."""
    spread = chance.uniform(0.1, 1, (shape[0], 1))
    if kind == "tied":
        differences: Floats = chance.integers(-3, 4, shape) / 10
        return differences
    random_differences: Floats = (
        chance.laplace(size=shape) if kind == "laplace" else chance.normal(size=shape)
    )
    return random_differences * spread


@pytest.mark.parametrize(
    ("n", "n_drawn", "times"), [(20, 1, 800), (50, 9_999, 4_000), (500, 9_999, 2_000)]
)
@pytest.mark.parametrize("kind", ["laplace", "tied"])
def test_false_alarms_of_the_default_test(n: int, n_drawn: int, times: int, kind: str) -> None:
    if n == 20:
        times //= 1 if kind == "laplace" else 4  # all 2^19 flips take their time
    times = repetitions(times)
    chance = np.random.default_rng(20_261_122 + n)
    alarms = 0
    for seed in range(BLOCKS):
        d = symmetric(kind, chance, (n, times // BLOCKS))
        alarms += int(
            np.count_nonzero(
                sign_flip_p_values(PairedScores.from_differences(d), Flips(n, n_drawn, seed))
                <= ALPHA
            )
        )
    # Without ties the chance is 500 / 10,000, or floor(0.05 x 2^19) / 2^19 where all are tried.
    assert (within if kind == "laplace" else greatest_share)(alarms, times // BLOCKS * BLOCKS)


@pytest.mark.parametrize(("n", "n_drawn"), [(14, 1), (50, 1_999)])
def test_false_alarms_of_the_one_sided_test(n: int, n_drawn: int) -> None:
    chance = np.random.default_rng(1_000 + n)
    alarms = 0
    for seed in range(BLOCKS):
        d = symmetric("normal", chance, (n, repetitions(500)))
        alarms += int(
            np.count_nonzero(
                greater_than_0(PairedScores.from_differences(d), Flips(n, n_drawn, seed)) <= ALPHA
            )
        )
    assert within(alarms, repetitions(500) * BLOCKS)


@pytest.mark.parametrize(
    ("n", "n_drawn", "times", "alpha"),
    [
        (12, 1, 4_000, 0.05),
        (20, 1, 400, 0.05),  # all 2^19 flips take their time
        (50, 1_999, 4_000, 0.05),
        (50, 1_999, 4_000, 0.2),
        (500, 1_999, 2_000, 0.05),
        (1_000, 999, 2_000, 0.05),
    ],
)
def test_intervals_hold_the_true_difference(n: int, n_drawn: int, times: int, alpha: float) -> None:
    times = repetitions(times) // BLOCKS
    chance = np.random.default_rng(2_000 + n)
    n_held = 0
    for seed in range(BLOCKS):
        d = 0.3 + symmetric("laplace", chance, (n, times))
        _, low, high = invert_sign_flips(
            PairedScores.from_differences(d), Flips(n, n_drawn, seed), alpha
        )
        n_held += int(np.count_nonzero((low <= 0.3) & (high >= 0.3)))
    # Of 2^11 flips, floor(0.05 x 2^11) = 102 may be as far away: 0.0498; as good as 0.05.
    assert within(n_held, times * BLOCKS, 1 - alpha)


@pytest.mark.parametrize("n", [30, 500])
def test_intervals_of_tied_data_hold_the_true_difference(n: int) -> None:
    chance = np.random.default_rng(3_000 + n)
    n_missed = 0
    for seed in range(BLOCKS):
        d = 0.3 + symmetric("tied", chance, (n, repetitions(250)))
        _, low, high = invert_sign_flips(
            PairedScores.from_differences(d), Flips(n, 1_999, seed), ALPHA
        )
        n_missed += int(np.count_nonzero((low > 0.3 + 1e-12) | (high < 0.3 - 1e-12)))
    assert greatest_share(n_missed, repetitions(250) * BLOCKS)


@pytest.mark.parametrize(("n", "n_drawn", "stop"), [(40, 999, 20), (200, 1_999, 100)])
@pytest.mark.parametrize("kind", ["laplace", "tied"])
def test_false_alarms_of_flips_until_p_is_known(n: int, n_drawn: int, stop: int, kind: str) -> None:
    chance = np.random.default_rng(7_000 + n)
    is_every_query, times = np.ones(n, np.bool_), repetitions(8_000)
    tests_of_blocks = []
    for seed in range(BLOCKS):
        paired_scores = PairedScores.from_differences(symmetric(kind, chance, (n, times // BLOCKS)))
        is_requested = np.ones(len(paired_scores.left_column), np.bool_)
        [[tests]] = run_sequential_tests(
            [is_every_query],
            [[paired_scores]],
            [[is_requested]],
            n_drawn=n_drawn,
            seed=seed,
            n_large_to_stop=stop,
        )
        tests_of_blocks.append(tests)
    p = np.concatenate([tests.p for tests in tests_of_blocks])
    is_stopped_early = np.concatenate([tests.is_stopped_early for tests in tests_of_blocks])
    assert 0.5 < is_stopped_early.mean() < 1
    for alpha in (0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8):
        assert greatest_share(int(np.count_nonzero(p <= alpha)), times, alpha)
    if kind == "laplace":  # where p may be just 0.05, nothing of it is lost
        assert within(int(np.count_nonzero(p <= 0.05)), times, 0.05)


def test_the_t_interval_of_many_queries() -> None:
    # Skewed, and most of it 0: 0 with chance 0.6, else of mean 0.1. The mean is 0.4 x 0.1 = 0.04.
    chance = np.random.default_rng(4_000)
    shape = 2_000, repetitions(2_000)
    d = chance.exponential(0.1, shape) * (chance.random(shape) < 0.4)
    low, high = t_interval(Moments.of(PairedScores.from_differences(d)), ALPHA)
    assert within(int(np.count_nonzero((low <= 0.04) & (high >= 0.04))), shape[1], 0.95)


@pytest.mark.parametrize("better", [False, True], ids=["none differs", "one is better"])
def test_families_of_comparisons(better: bool) -> None:
    # Six systems, 15 pairs, 50 queries. If one is better, 10 pairs are between the others.
    times, n = repetitions(1_000), 50
    chance = np.random.default_rng(5_000)
    left_system, right = np.array(list(combinations(range(6), 2))).T
    assert len(left_system) == comb(6, 2)
    is_true_null: Bools = left_system > 0 if better else left_system >= 0
    alarms = {"holm": 0, "step_down_p_values": 0}
    n_false_alarms = {"holm": 0, "step_down_p_values": 0}
    for seed in range(times):
        values = chance.normal(size=(n, 1)) + chance.normal(size=(n, 6))
        values[:, 0] += better
        paired_scores, flips = PairedScores(values, left_system, right), Flips(n, 999, seed)
        p_of_method = {
            "holm": holm(sign_flip_p_values(paired_scores, flips)),
            "step_down_p_values": step_down_p_values(paired_scores, flips),
        }
        for name, p in p_of_method.items():
            alarms[name] += bool((p[is_true_null] <= ALPHA).any())
            n_false_alarms[name] += int(np.count_nonzero(p[~is_true_null] <= ALPHA))
    assert greatest_share(alarms["holm"], times)
    assert greatest_share(alarms["step_down_p_values"], times)
    if better:  # the others are seen: 5 pairs whose mean is 50^0.5 / 2^0.5 = 5 standard errors
        assert min(n_false_alarms.values()) > 0.9 * 5 * times
    else:  # the greatest t is one test, whose chance is 50 / 1,000
        assert within(alarms["step_down_p_values"], times)


# Differences that most queries do not have, as of Success@k, of RR and of a small change to an
# engine: {size: chance}; all other queries are the same.
RARE = {
    "4 % change by 1": {1.0: 0.03, -1.0: 0.01},
    "10 % change by 0.5": {0.5: 0.07, -0.5: 0.03},
    "5 % lose 0.4": {-0.4: 0.05},
}
# Rare losses that a sample may hold none of, beside small gains of most queries.
HIDDEN_CHANGES = {"65 % change": {0.02: 0.6, -0.4: 0.05}}
USUAL = {"40 % change": {0.3: 0.05, 0.2: 0.1, 0.1: 0.1, -0.1: 0.1, -0.2: 0.05}}


@cache
def missed_and_doubted(kind: str, n: int) -> tuple[Bools, Bools]:
    """Return which of many intervals miss the true mean, and which of them a note doubts."""
    population = (RARE | HIDDEN_CHANGES | USUAL)[kind]
    sizes, chances = np.array([*population, 0.0]), [*population.values()]
    chances.append(1 - sum(chances))
    mean = float(sizes @ np.array(chances))
    chance = np.random.default_rng(6_000 + n)
    misses, doubts = [], []
    for seed in range(BLOCKS):
        paired_scores = PairedScores.from_differences(
            chance.choice(sizes, (n, repetitions(250)), p=chances)
        )
        _, low, high = invert_sign_flips(paired_scores, Flips(n, 1_999, seed), ALPHA)
        misses.append((low > mean + 1e-12) | (high < mean - 1e-12))
        n_changed = np.count_nonzero(np.abs(paired_scores.differences) > TIE, axis=0)
        skewness = effect_sizes(paired_scores, Moments.of(paired_scores))["skewness"]
        pairs = zip(n_changed.tolist(), skewness.tolist(), strict=True)
        doubts.append([find_doubt(n, k, None if g != g else g) is not None for k, g in pairs])
    return np.concatenate(misses), np.concatenate(doubts)


@pytest.mark.parametrize("kind", RARE)
def test_few_intervals_of_rare_changes_hold_and_all_are_doubted(kind: str) -> None:
    is_missed, is_doubted = missed_and_doubted(kind, 25)
    assert not greatest_share(int(np.count_nonzero(is_missed)), len(is_missed))
    assert is_doubted.all()


def test_intervals_of_rare_changes_that_are_not_doubted_hold() -> None:
    outcomes = [missed_and_doubted(kind, n) for kind in RARE for n in (25, 50, 100, 200)]
    is_missed, is_doubted = map(np.concatenate, zip(*outcomes, strict=True))
    is_missed_without_doubt = is_missed[~is_doubted]
    assert len(is_missed_without_doubt) > len(is_missed) / 8
    assert greatest_share(
        int(np.count_nonzero(is_missed_without_doubt)), len(is_missed_without_doubt)
    )


def test_losses_that_no_query_shows_are_missed_without_a_warning() -> None:
    """What the page says of them: without one of the losses, nothing can be seen of them."""
    for n, misses in ((25, 0.30), (50, 0.15), (100, 0.13), (200, 0.07)):
        is_missed, is_doubted = missed_and_doubted("65 % change", n)
        assert within(int(np.count_nonzero(is_missed)), len(is_missed), misses)
        assert np.count_nonzero(is_missed[~is_doubted]) > 0.7 * np.count_nonzero(~is_doubted)


def test_usual_changes_are_not_doubted() -> None:
    is_missed, is_doubted = missed_and_doubted("40 % change", 100)
    assert not is_doubted.any()
    assert within(int(np.count_nonzero(is_missed)), len(is_missed))
