"""comparison.flips: against slow loops, scipy, and what is known by hand."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from helpers.profile import examples
from helpers.vectors import CASE_A, CASE_C, CASE_D, CASE_E
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.arrays.ranked import Floats
from cranfield.comparison import flips as module
from cranfield.comparison import randomization
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.randomization import (
    one_sided_tests,
    sign_flip_p_values,
    step_down_p_values,
)

A = np.array(list(CASE_A.values())).T / 100
C = np.array(CASE_C).T
D, E = np.array(CASE_D) / 100, np.array(CASE_E) / 100


def greater_than_0(pairs: PairedScores, flips: Flips) -> Floats:
    """Return the one-sided p-values of each pair: (n_pairs,)."""
    zero_bounds = np.zeros((1, len(pairs.left_column)))
    p: Floats = one_sided_tests(pairs.differences, zero_bounds, flips, 0.05)[2][0]
    return p


def invert_ends(pairs: PairedScores, flips: Flips, alpha: float) -> tuple[Floats, Floats]:
    """Return the intervals, if the p-values that come with them are `sign_flip_p_values`."""
    p, low, high = randomization.invert_sign_flips(pairs, flips, alpha)
    assert p.tolist() == sign_flip_p_values(pairs, flips).tolist()
    return low, high


def pair_all(values: Floats) -> PairedScores:
    left_column, right = np.array(list(combinations(range(values.shape[1]), 2))).T
    return PairedScores(values, left_column, right)


def single_pair(differences: Floats) -> PairedScores:
    return PairedScores.from_differences(np.asarray(differences, np.float64)[:, None])


def all_signs(n: int) -> Floats:
    return np.array(list(product([1.0, -1.0], repeat=n)))


def slow_p(d: Floats, shift: float = 0.0) -> float:
    """Return the exact p-value of a mean difference `shift`, by all flips."""
    shifted_d = d - shift
    threshold = abs(shifted_d.sum()) - 1e-9 * np.abs(d).sum()
    return float((np.abs(all_signs(len(d)) @ shifted_d) >= threshold).mean())


def test_case_a() -> None:
    paired_scores, flips = pair_all(A), Flips(20)
    assert flips.is_exact
    p = sign_flip_p_values(paired_scores, flips)
    assert p.tolist() == [0.06591796875, 0.1446075439453125, 0.62353515625]
    assert not np.signbit(invert_ends(paired_scores, flips, 0.05)[0][0])
    low, high = invert_ends(paired_scores, flips, 0.10)
    np.testing.assert_allclose(low, [0.0125, -0.0090909, -0.04], 0, 5e-8)
    np.testing.assert_allclose(high, [0.1363636, 0.2090909, 0.09], 0, 5e-8)


def test_case_c_differences_that_are_one_but_for_rounding() -> None:
    x, y = C.T
    assert len(set((x - y).tolist())) > 1
    values = np.stack((x, y, x), axis=1)
    paired_scores = pair_all(values)
    assert sign_flip_p_values(paired_scores, Flips(8)).tolist() == [2 / 256, 1.0, 2 / 256]
    assert step_down_p_values(paired_scores, Flips(8)).tolist() == [2 / 256, 1.0, 2 / 256]
    low, high = invert_ends(paired_scores, Flips(8), 0.05)
    np.testing.assert_allclose(low, [0.1, 0, -0.1], 1e-12)
    np.testing.assert_allclose(high, [0.1, 0, -0.1], 1e-12)


def test_other_seeds_agree_within_chance() -> None:
    exact = 20_299_048 / 2**30
    p = [sign_flip_p_values(single_pair(E), Flips(30, 20_000, seed))[0] for seed in range(10)]
    assert len(set(p)) > 5
    # The mean of ten has a tenth of the variance.
    assert abs(np.mean(p) - exact) <= 4 * (exact * (1 - exact) / 200_000) ** 0.5


differences = st.lists(st.integers(-4, 4), min_size=1, max_size=10) | st.lists(
    st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=10
)


@given(differences)
def test_exact_p_is_that_of_a_loop(drawn_values: list[float]) -> None:
    d = np.array(drawn_values, np.float64)
    n = len(d)
    assert sign_flip_p_values(single_pair(d), Flips(n)).tolist() == [slow_p(d)]
    threshold = d.sum() - 1e-9 * np.abs(d).sum()
    greater = float((all_signs(n) @ d >= threshold).mean())
    assert greater_than_0(single_pair(d), Flips(n)).tolist() == [greater]


def slow_step_down(values: Floats) -> list[float]:
    """Return step-down maxT p-values by Student's t of every flip."""
    paired_scores = pair_all(values)
    d, n = paired_scores.differences, paired_scores.n_units

    def t(x: Floats) -> Floats:
        spread = np.sqrt((x**2).sum(axis=0) - x.sum(axis=0) ** 2 / n)
        t_values: Floats = np.abs(x.sum(axis=0)) / spread
        return t_values

    observed_t = t(d)
    flipped_t = np.array([t(d * signs[:, None]) for signs in all_signs(n)])
    p, largest_p = np.empty(len(observed_t)), 0.0
    order = np.argsort(-observed_t)
    for i, pair in enumerate(order):
        greatest = flipped_t[:, order[i:]].max(axis=1)
        largest_p = p[pair] = max(
            largest_p, float((greatest >= observed_t[pair] * (1 - 1e-9)).mean())
        )
    return p.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_step_down_is_that_of_a_loop(seed: int) -> None:
    values = np.random.default_rng(seed).normal([0.8, 0, 0, 0.4], 1, (9, 4))
    assert step_down_p_values(pair_all(values), Flips(9)).tolist() == slow_step_down(values)


@settings(max_examples=examples(60))
@given(differences, st.sampled_from([0.05, 0.1, 0.3]))
def test_interval_holds_what_is_not_rejected(drawn_values: list[float], alpha: float) -> None:
    d = np.array(drawn_values, np.float64)
    n = len(d)
    low, high = (end[0] for end in invert_ends(single_pair(d), Flips(n), alpha))
    if np.isinf(low):
        assert 2 / 2**n > alpha  # no difference is ever rejected
        assert low == -high
        return
    assert low - 1e-12 <= d.mean() <= high + 1e-12
    reach = 1e-5 * (1 + np.abs(d).max())
    for end, outwards in (low, -reach), (high, reach):
        assert slow_p(d, end + outwards) <= alpha
        assert slow_p(d, end) > alpha  # the ends belong to it
        assert not (end == 0 and np.signbit(end))


@pytest.mark.parametrize("alpha", [1e-6, 0.001, 0.01, 0.05, 0.25])
@pytest.mark.parametrize("kind", ["tied", "untied"])
@settings(max_examples=examples(30))
@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([1, 10, 99, 199, 999]))
def test_zero_is_outside_if_and_only_if_significant(
    kind: str, alpha: float, seed: int, n: int, drawn_values: int
) -> None:
    flips = Flips(n if n > 20 else min(n, 12), drawn_values)
    chance, shape = np.random.default_rng(seed), (flips.n_units, 20)
    d = chance.integers(-3, 6, shape) / 10 if kind == "tied" else chance.normal(0.3, 1, shape)
    paired_scores = PairedScores.from_differences(d)
    low, high = invert_ends(paired_scores, flips, alpha)
    outside = (low > 0) | (high < 0)
    assert outside.tolist() == (sign_flip_p_values(paired_scores, flips) <= alpha).tolist()


@pytest.mark.parametrize("n", [12, 30, 70, 200])
@pytest.mark.parametrize(
    ("cells", "fewest", "tables"), [(97, 1, 256), (777, 50, 5_000), (997, 1, 10_000_000)]
)
def test_the_size_of_a_part_changes_no_bit(
    n: int, cells: int, fewest: int, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(n).random((n, 4)).round(2)
    paired_scores, flips = pair_all(values), Flips(n, 500)

    def answers() -> list[list[float]]:
        answers_of_tests = [
            test(paired_scores, flips)
            for test in (sign_flip_p_values, greater_than_0, step_down_p_values)
        ]
        bounds = np.full((1, 6), -0.01)
        answers_of_tests += [
            *invert_ends(paired_scores, flips, 0.05),
            *one_sided_tests(paired_scores.differences, bounds, flips, 0.1),
        ]
        return [p.tolist() for p in answers_of_tests]

    undivided_answers = answers()
    for name, number in ("_CELLS", cells), ("_FEWEST", fewest), ("_TABLES", tables):
        monkeypatch.setattr(module, name, number)
    assert len(list(flips.split(4))) > 1
    assert answers() == undivided_answers


@pytest.mark.parametrize("n_cores", [1, 2, 7])
def test_the_number_of_threads_changes_no_bit(
    n_cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEWEST", 100)
    monkeypatch.setattr(module, "_CELLS", 100)
    values = np.random.default_rng(5).random((80, 4))
    paired_scores, flips = pair_all(values), Flips(80, 5_000)
    alone = [
        x.tolist()
        for x in (
            *invert_ends(paired_scores, flips, 0.05),
            step_down_p_values(paired_scores, flips),
        )
    ]
    monkeypatch.setattr("cranfield.arrays.threads._count_cores", lambda: n_cores)
    assert [
        x.tolist()
        for x in (
            *invert_ends(paired_scores, flips, 0.05),
            step_down_p_values(paired_scores, flips),
        )
    ] == alone


def signs_of(flips: Flips, begin: int, end: int) -> Floats:
    """Return signs, 0 for minus and 1 for plus: (n_flips, n_queries)."""
    words = np.ascontiguousarray(flips.sign_words(begin, end).T)
    octets = words.view(np.uint8).reshape(end - begin, -1)
    return np.unpackbits(octets, axis=1, count=flips.n_units).astype(np.float64)


def test_signs_depend_on_the_seed_and_the_number_of_queries_alone() -> None:
    small_flips, large_flips = Flips(70, 100), Flips(70, 1_000)
    sign_arrays = [signs_of(flips, 0, flips.n_drawn) for flips in (small_flips, large_flips)]
    assert (sign_arrays[0] == sign_arrays[1][:100]).all()
    assert (signs_of(large_flips, 37, 90) == sign_arrays[1][37:90]).all()
    words = np.random.Generator(np.random.PCG64(42)).integers(0, 2**64, (100, 2), np.uint64)
    assert (sign_arrays[0] == np.unpackbits(words.view(np.uint8), axis=1, count=70)).all()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 17])
def test_of_few_queries_each_half_of_all_signs_is_there_once(n: int) -> None:
    flips = Flips(n)
    signs = signs_of(flips, 0, flips.n_flips)
    sign_rows = {tuple(row) for row in (2 * signs - 1).tolist()}
    assert len(sign_rows) == len(signs) == 2 ** (n - 1)
    assert sign_rows | {tuple(-x for x in row) for row in sign_rows} == set(
        map(tuple, all_signs(n))
    )


@pytest.mark.parametrize("n", [1, 3, 8, 9, 63, 64, 65, 127, 200])
@pytest.mark.parametrize("width", [0, 1, 2, 5])
def test_sums_that_are_looked_up_are_those_of_a_product(n: int, width: int) -> None:
    values = np.random.default_rng(n).normal(size=(n, width))
    flips = Flips(n if n > 20 else min(n, 12), 300)
    end = min(300, flips.n_flips)
    words, signs = flips.sign_words(0, end), 2 * signs_of(flips, 0, end) - 1
    assert flips.n_units == n
    np.testing.assert_allclose(module.sum_with_signs(values, words), (signs @ values).T, 0, 1e-12)
    assert module.count_kept_signs(words).tolist() == (signs > 0).sum(axis=1).tolist()


def p_of_first(values: Floats, flips: Flips) -> float:
    """Return the p-value of the first two systems, among all pairs."""
    return float(sign_flip_p_values(pair_all(values), flips)[0])


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 9, 15, 21, 65, 130]), st.booleans())
def test_more_systems_never_change_a_p(seed: int, n: int, has_ties: bool) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 5, (n, 2)) / 4 if has_ties else chance.random((n, 2))
    flips = Flips(n, 999)
    alone = p_of_first(values, flips)
    assert alone == sign_flip_p_values(single_pair(values[:, 0] - values[:, 1]), flips)[0]
    near = values[:, :1] + 1e-4 * chance.random((n, 1))
    other_systems = {
        "random": chance.random((n, 3)),
        "huge": 1e9 * chance.random((n, 1)),
        "constant": np.full((n, 1), 0.1),
        "twins": values,
        "nearly the same": near,
    }
    for columns in other_systems.values():
        assert p_of_first(np.concatenate((values, columns), axis=1), flips) == alone
    all_values = np.concatenate((values, *other_systems.values()), axis=1)
    assert p_of_first(all_values, flips) == alone


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32), st.sampled_from([3, 12, 40]))
def test_the_order_of_systems_changes_nothing(seed: int, n: int) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 9, (n, 5)) / 8
    flips = Flips(n, 999)
    paired_scores = pair_all(values)
    place = chance.permutation(5)
    permuted_pairs = PairedScores(
        values[:, np.argsort(place)],
        place[paired_scores.left_column],
        place[paired_scores.right_column],
    )
    reversed_pairs = PairedScores(values, paired_scores.right_column, paired_scores.left_column)
    for test in (sign_flip_p_values, step_down_p_values):
        p = test(paired_scores, flips).tolist()
        assert test(permuted_pairs, flips).tolist() == p
        assert test(reversed_pairs, flips).tolist() == p  # two-sided
    low, high = invert_ends(paired_scores, flips, 0.1)
    other_low, other_high = invert_ends(reversed_pairs, flips, 0.1)
    np.testing.assert_allclose(other_low, -high, 1e-9, 1e-12)
    np.testing.assert_allclose(other_high, -low, 1e-9, 1e-12)


def test_pairs_that_nearly_agree_among_others() -> None:
    # Two pairs of systems so close that each gets a column of its own, beside the systems': as
    # many columns as pairs, by chance.
    chance = np.random.default_rng(1)
    a, b = 1 + chance.random((2, 12))
    values = np.stack((a, a + 1e-3 * chance.random(12), b, b + 1e-3 * chance.random(12)), axis=1)
    paired_scores = pair_all(values)
    expected = [slow_p(d) for d in paired_scores.differences.T]
    assert sign_flip_p_values(paired_scores, Flips(12)).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 12, 21, 100])
def test_no_difference_at_all(n: int) -> None:
    values = np.tile(np.random.default_rng(n).random((n, 1)), 3)
    paired_scores, flips = pair_all(values), Flips(n, 999)
    for test in (sign_flip_p_values, greater_than_0, step_down_p_values):
        assert test(paired_scores, flips).tolist() == [1.0] * 3
    low, high = invert_ends(paired_scores, flips, 0.05)
    end = np.inf if 2 / 2**n > 0.05 else 0.0  # the p-value of anything else, at its least
    assert low.tolist() == [-end] * 3
    assert high.tolist() == [end] * 3
    assert not np.signbit(high).any()


@pytest.mark.parametrize("n", [12, 50])
def test_scores_that_differ_by_rounding_alone_are_the_same(n: int) -> None:
    a = np.random.default_rng(n).random(n)
    b = np.nextafter(a, 2)  # as from another tool, which adds in another order
    for values in np.stack((a, b), axis=1), np.stack((a, b, 1 - a, a, 1 - b), axis=1):
        paired_scores, flips = pair_all(values), Flips(n, 999)
        for test in (sign_flip_p_values, step_down_p_values):
            assert test(paired_scores, flips)[0] == 1.0
        assert [end[0] for end in invert_ends(paired_scores, flips, 0.05)] == [0.0, 0.0]


@pytest.mark.parametrize("n", [1, 2, 20, 21, 64, 65])
def test_the_least_p_there_is(n: int) -> None:
    d = np.random.default_rng(n).random(n) + 1
    flips = Flips(n, 999)
    smallest_p = 2 / 2**n if n <= 20 else 1 / 1000
    assert sign_flip_p_values(single_pair(d), flips).tolist() == [smallest_p]
    assert step_down_p_values(single_pair(d), flips).tolist() == [smallest_p]
    assert greater_than_0(single_pair(d), flips)[0] == (1 / 2**n if n <= 20 else smallest_p)


def test_a_mean_of_equal_differences_counts_its_ties() -> None:
    # Ten differences of 1, three of -1: as large a sum has every flip with at most 3 minus signs.
    d = np.array([1.0] * 10 + [-1.0] * 3)
    expected = 2 * sum(comb(13, k) for k in range(4)) / 2**13
    assert sign_flip_p_values(single_pair(d), Flips(13)).tolist() == [expected]
