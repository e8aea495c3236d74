"""Tests of many queries: against all flips, slow loops, and exact distributions."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from cranfield import compare, gate
from cranfield.arrays.ranked import Bools, Floats
from cranfield.comparison.edgeworth import NEAR, limits_agree, upper_tail
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores, draw_sign_words
from cranfield.comparison.noninferiority import GainSample, run_gain_tests
from cranfield.comparison.pair_tests import PairSample, run_pair_tests
from cranfield.comparison.randomization import (
    invert_sign_flips,
    one_sided_tests,
    step_down_p_values,
)
from cranfield.comparison.sequential import (
    CLEAR,
    STOP,
    SequentialTests,
    bound_p_values,
    run_sequential_tests,
)
from cranfield.comparison.settings import GateSettings, Settings
from cranfield.comparison.significance import Moments, t_interval, wilcoxon

ALPHA = 0.05


def exact_p(d: Floats) -> float:
    """Return the two-sided p-value of differences (n,) by all flips."""
    signs = np.array(list(product([1.0, -1.0], repeat=len(d))))
    return float((np.abs(signs @ d) >= abs(d.sum()) - 1e-9 * np.abs(d).sum()).mean())


def exact_tail(values: Floats) -> float:
    """Return how likely a sum of values (n,) with random signs is at least their sum.

    By the characteristic function, the product of cosines (Gil-Pelaez, Biometrika 1951). The
    integral is a sum over a grid that is fine enough for sums up to ten standard deviations; it
    ends where the product is below exp(-32), which takes values that are on no grid.
    """
    total, sd = float(values.sum()), float(np.sqrt((values**2).sum()))
    step = np.pi / (abs(total) + 10 * sd)
    at = (np.arange(int(8 / sd / step)) + 0.5) * step
    of = np.array([float(np.prod(np.cos(frequency * values))) for frequency in at])
    return float(0.5 - (np.sin(at * total) / at * of).sum() * step / np.pi)


def one_slice(pairs: PairedScores, **options: Any) -> SequentialTests:
    is_every_query = np.ones(pairs.n_units, np.bool_)
    is_requested = np.ones(len(pairs.left_column), np.bool_)
    [[tests]] = run_sequential_tests([is_every_query], [[pairs]], [[is_requested]], **options)
    return tests


# ---- bounds -------------------------------------------------------------------------------------


@given(
    st.lists(
        st.integers(-4, 4) | st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=10
    )
)
def test_a_bound_is_no_less_than_p(n_drawn: list[float]) -> None:
    d = np.array(n_drawn, np.float64)
    assert 1 >= bound_p_values(PairedScores.from_differences(d[:, None]))[0] >= exact_p(d)


def test_a_bound_by_hand() -> None:
    # T = 3 x 1 + 2 = 5, and the sum of squares is 3 x 1 + 4 = 7.
    p_bound = bound_p_values(PairedScores.from_differences(np.array([[1.0], [1], [1], [2]])))
    assert p_bound.tolist() == [2 * np.exp(-(5**2) / (2 * 7))]


# ---- flips until p is known ---------------------------------------------------------------------


def signs_of(n: int, flips: int, seed: int, stream: int) -> Floats:
    """Return the signs of n queries under flips: (flips, n)."""
    words = draw_sign_words(n, 0, flips, seed, stream)
    octets = np.ascontiguousarray(words.T).view(np.uint8)
    return np.unpackbits(octets, axis=1)[:, :n] * 2.0 - 1


@pytest.mark.parametrize("stop", [1, 7, 300, 5_001])
@pytest.mark.parametrize("n", [3, 64, 300])
def test_sequential_p_is_that_of_a_loop(n: int, stop: int) -> None:
    d = np.random.default_rng(n).integers(-4, 5, (n, 4)) / 8
    tests = one_slice(PairedScores.from_differences(d), n_drawn=5_000, seed=7, n_large_to_stop=stop)
    signs = signs_of(n, 5_000, 7, 0)
    for pair, column in enumerate(d.T):
        large, p = 0, None
        for flip, flip_sum in enumerate(np.abs(signs @ column), 1):
            large += bool(flip_sum >= abs(column.sum()))  # eighths have no rounding
            if large == stop:
                p = stop / flip
                break
        assert tests.p[pair] == ((large + 1) / 5_001 if p is None else p)
        assert tests.is_stopped_early[pair] == (p is not None)
        assert tests.n_flips[pair] == (5_000 if p is None else flip)


@pytest.mark.parametrize("all_pairs", [False, True])
def test_slices_and_measures_share_their_flips(all_pairs: bool) -> None:
    n = 120
    chance = np.random.default_rng(5)
    measures = [chance.integers(0, 9, (n, 4)) / 8 for _ in range(2)]
    left_system, right = (
        np.triu_indices(4, 1) if all_pairs else (np.array([1, 2]), np.array([0, 0]))
    )
    is_every_query, half = np.ones(n, np.bool_), np.arange(n) % 2 == 0
    third = chance.random(n) < 0.3
    slices = [is_every_query, half, third]
    paired_scores = [
        [PairedScores(values[rows], left_system, right) for values in measures] for rows in slices
    ]
    is_requested = [[np.ones(len(left_system), np.bool_)] * 2] * 3
    tests_of_slices = run_sequential_tests(
        slices, paired_scores, is_requested, n_drawn=3_000, seed=3, n_large_to_stop=10_000
    )
    # Groups are in the order of the slices that they are in: 0 for not, 1 for in.
    signs = np.empty((3_000, n))
    kinds = [(False, False), (False, True), (True, False), (True, True)]
    for stream, (in_half, in_third) in enumerate(kinds):
        rows = np.flatnonzero((half == in_half) & (third == in_third))
        signs[:, rows] = signs_of(len(rows), 3_000, 3, stream)
    for rows, of_slice in zip(slices, tests_of_slices, strict=True):
        for values, measure_tests in zip(measures, of_slice, strict=True):
            d = (values[:, left_system] - values[:, right])[rows]
            large = np.abs(signs[:, rows] @ d) >= np.abs(d.sum(axis=0))
            assert measure_tests.p.tolist() == ((large.sum(axis=0) + 1) / 3_001).tolist()
            assert not measure_tests.is_stopped_early.any()


def test_slices_that_would_leave_small_groups_have_signs_of_their_own() -> None:
    n, n_slices = 640, 9  # 2^6 groups are shared; six of the halves make as many
    chance = np.random.default_rng(17)
    slices = [np.ones(n, np.bool_), *(chance.random((n_slices, n)) < 0.5)]
    d = chance.normal(0.05, 1, n)
    paired_scores = [[PairedScores.from_differences(d[rows, None])] for rows in slices]
    tests_of_slices = run_sequential_tests(
        slices, paired_scores, [[np.ones(1, np.bool_)]] * len(slices), n_drawn=20_000
    )
    for rows, [slice_tests] in zip(slices, tests_of_slices, strict=True):
        slice_differences = d[rows]
        exact = 2 * exact_tail(
            slice_differences if slice_differences.sum() > 0 else -slice_differences
        )
        assert abs(slice_tests.p[0] - exact) <= 5 * np.sqrt(
            exact * (1 - exact) / slice_tests.n_flips[0]
        )
    # The last slice alone is a group: its signs are those of as many queries of one stream.
    last = d[slices[-1]]
    large = [
        np.abs(signs_of(len(last), 20_000, 42, stream) @ last) >= abs(last.sum()) * (1 - 1e-12)
        for stream in range(64 + n_slices)
    ]
    flips = [
        int(np.flatnonzero(is_large)[STOP - 1]) + 1 for is_large in large if is_large.sum() >= STOP
    ]
    assert tests_of_slices[-1][0].n_flips[0] in flips


def test_what_is_not_wanted_is_not_tested() -> None:
    d = np.random.default_rng(1).normal(size=(40, 3))
    is_every_query, is_requested = np.ones(40, np.bool_), np.array([True, False, True])
    [[tests]] = run_sequential_tests(
        [is_every_query], [[PairedScores.from_differences(d)]], [[is_requested]], n_drawn=500
    )
    assert np.isnan(tests.p).tolist() == [False, True, False]
    assert tests.p[2] == one_slice(PairedScores.from_differences(d), n_drawn=500).p[2]


def test_sequential_p_is_near_the_exact_one() -> None:
    d = np.random.default_rng(11).normal(0.2, 1, (12, 30))
    tests = one_slice(PairedScores.from_differences(d), n_drawn=20_000, n_large_to_stop=400)
    exact = np.array([exact_p(column) for column in d.T])
    error = np.sqrt(exact * (1 - exact) / tests.n_flips)
    assert tests.is_stopped_early.any()
    assert not tests.is_stopped_early.all()
    assert (np.abs(tests.p - exact) <= 5 * error).all()


# ---- intervals ----------------------------------------------------------------------------------


def differences(kind: str, n: int) -> Floats:
    """Return differences of two systems: (n,)."""
    chance = np.random.default_rng(n)
    if kind == "normal":
        return chance.normal(0.002, 0.2, n)
    if kind == "skewed":  # a few large ones to one side
        return chance.exponential(0.5, n) ** 2 * (chance.random(n) < 0.2) - 0.09
    if kind == "zeros":  # most queries do not change
        return chance.normal(0.01, 0.3, n) * (chance.random(n) < 0.1)
    if kind == "tenths":  # as of P@10
        return chance.integers(-3, 4, n) / 10
    if kind == "ones":  # as of Success
        return chance.choice([-1.0, 0, 1], n, p=[0.1, 0.8, 0.1])
    assert kind == "rare"
    d = np.zeros(n)
    d[:60] = chance.normal(size=60)
    return d


def exact_ends(d: Floats, low: float, high: float) -> list[float]:
    """Return the ends of the interval of the mean by all sign flips, which are near these."""
    width = high - low

    def above(bound: float) -> float:
        return exact_tail(d - bound) - ALPHA / 2

    def below(bound: float) -> float:
        return exact_tail(bound - d) - ALPHA / 2

    reach = 0.1 * width
    return [
        float(brentq(above, low - reach, low + reach, xtol=1e-5 * width)),
        float(brentq(below, high - reach, high + reach, xtol=1e-5 * width)),
    ]


def test_the_expansion_of_a_tail() -> None:
    for kind in ("normal", "skewed", "zeros"):
        d = differences(kind, 8_000)
        for far in (0.0, 1.0, 2.0, 4.0):
            values = d - d.mean() + far * d.std() / len(d) ** 0.5
            p, off = upper_tail(values[:, None])
            assert abs(p[0] - exact_tail(values)) <= off[0] + 1e-9


@pytest.mark.parametrize("kind", ["normal", "skewed", "zeros"])
def test_student_is_taken_where_all_flips_agree(kind: str) -> None:
    d = differences(kind, 8_000)
    low, high = t_interval(Moments.of(PairedScores.from_differences(d[:, None])), ALPHA)
    assert limits_agree(d[:, None], low, high, ALPHA / 2).all()
    near = min(NEAR * min(1, np.abs(d).max()), 0.01 * (high - low)[0])
    ends = exact_ends(d, float(low[0]), float(high[0]))
    np.testing.assert_allclose(ends, [low[0], high[0]], 0, near)


@pytest.mark.parametrize("kind", ["tenths", "ones"])
def test_student_is_taken_of_values_on_a_grid(kind: str) -> None:
    n = 20_000
    d = differences(kind, n)[:, None]
    low, high = t_interval(Moments.of(PairedScores.from_differences(d)), ALPHA)
    assert limits_agree(d, low, high, ALPHA / 2).all()
    flips = 40_000
    _, *ends = invert_sign_flips(PairedScores.from_differences(d), Flips(n, flips), ALPHA)
    # An end is a quantile of so many flips; 0.0585 is the normal density at 1.96.
    chance = (0.025 * 0.975 / flips) ** 0.5 / 0.0585 * d.std() / n**0.5
    np.testing.assert_allclose(ends, [low, high], 0, NEAR * np.abs(d).max() + 4 * chance)


def test_student_is_not_taken_where_it_may_differ() -> None:
    for kind, n in (("rare", 8_000), ("ones", 7_500)):
        d = differences(kind, n)[:, None]
        low, high = t_interval(Moments.of(PairedScores.from_differences(d)), ALPHA)
        assert not limits_agree(d, low, high, ALPHA / 2).any()
        # Nor limits that are off.
        d = differences("normal", n)[:, None]
        low, high = t_interval(Moments.of(PairedScores.from_differences(d)), ALPHA)
        assert limits_agree(d, low, high, ALPHA / 2).all()
        assert not limits_agree(d, low - 0.02 * (high - low), high, ALPHA / 2).any()
        assert not limits_agree(d, low, high + 0.02 * (high - low), ALPHA / 2).any()
        assert not limits_agree(d, low, high - 0.02 * (high - low), ALPHA / 2).any()
    assert not limits_agree(np.zeros((8_000, 1)), np.zeros(1), np.zeros(1), ALPHA / 2).any()


# ---- compare ------------------------------------------------------------------------------------


def scores(n: int, *gains: float, measures: int = 1) -> dict[str, dict[str, dict[str, float]]]:
    """Return {system: {measure: {query: score}}}; each system but the first has a gain."""
    chance = np.random.default_rng(n)
    easy = chance.normal(0, 1, n)
    scores_of_system: dict[str, dict[str, dict[str, float]]] = {}
    for i, gain in enumerate((0.0, *gains)):
        scores_of_system[f"s{i}"] = {}
        for measure in ("nDCG@10", "AP")[:measures]:
            values = np.clip(easy + gain + chance.normal(0, 0.5, n), 0, 2) / 2
            scores_of_system[f"s{i}"][measure] = {
                f"q{q:05d}": v for q, v in enumerate(values.tolist())
            }
    return scores_of_system


def sample(d: Floats, n_drawn: int) -> PairSample:
    paired_scores, n = PairedScores.from_differences(d), len(d)
    return PairSample(
        np.ones(n, np.bool_), paired_scores, Moments.of(paired_scores), Flips(n, n_drawn)
    )


def test_up_to_7_000_queries_all_flips_are_drawn() -> None:
    system_scores = scores(MANY_UNITS, 0.3, 0.0)
    comparison = compare(system_scores, flips=2_000)
    columns = [np.array([*of["nDCG@10"].values()]) for of in system_scores.values()]
    paired_scores = PairedScores(np.stack(columns, axis=1), np.array([1, 2]), np.array([0, 0]))
    p, low, high = invert_sign_flips(paired_scores, Flips(MANY_UNITS, 2_000), ALPHA)
    for i, pair in enumerate(comparison["nDCG@10"].pairs):
        assert (pair.p, pair.low, pair.high) == (p[i], low[i], high[i])
        assert (pair.method, pair.interval, pair.exact) == ("drawn", "randomization", False)
    assert {"sequential", "t-interval"}.isdisjoint(note.code for note in comparison.notes)
    assert "up to" not in str(comparison)
    assert "<1e-6" not in str(comparison)


def test_more_than_7_000_queries() -> None:
    n = MANY_UNITS + 1
    comparison = compare(scores(n, 0.3, 0.0), seed=5)
    clear, equal_pair = comparison["nDCG@10"].pairs
    assert (clear.method, equal_pair.method) == ("bound", "sequential")
    assert (clear.interval, equal_pair.interval) == ("t", "t")
    assert clear.p is not None
    assert 0 < clear.p < CLEAR
    assert (clear.p_error, clear.verdict) == (0, "better")
    assert clear.p_adjusted == 2 * clear.p
    assert equal_pair.p is not None
    assert equal_pair.p_t is not None
    assert equal_pair.p_error == pytest.approx(
        (equal_pair.p * (1 - equal_pair.p) / (STOP / equal_pair.p)) ** 0.5
    )
    assert abs(equal_pair.p - equal_pair.p_t) <= 5 * (equal_pair.p_error or 0)
    assert {"sequential", "t-interval"} <= {note.code for note in comparison.notes}
    text = str(comparison)
    assert "up to 100,000 flips" in text
    assert text.count("<1e-6") == 1
    assert json.loads(comparison.to_json())["results"][0]["pairs"][0]["method"] == "bound"
    assert [row["method"] for row in comparison.rows()] == ["bound", "sequential"]
    assert str(compare(scores(n, 0.3, 0.0), seed=5)) == text


def test_a_slice_of_at_most_7_000_queries_keeps_its_flips() -> None:
    system_scores = scores(MANY_UNITS + 500, 0.01, measures=2)
    ids = [*system_scores["s0"]["AP"]]
    labels = {query: "few" if i % 3 == 0 else "many" for i, query in enumerate(ids)}
    comparison = compare(system_scores, slices=labels, flips=2_000)
    short_queries = [query for query, label in labels.items() if label == "few"]
    alone = compare(
        {
            name: {m: {query: column[query] for query in short_queries} for m, column in of.items()}
            for name, of in system_scores.items()
        },
        flips=2_000,
    )
    for measure in ("nDCG@10", "AP"):
        ours, theirs = comparison.slice(measure, "few").pairs[0], alone[measure].pairs[0]
        assert ours == theirs
        assert ours.method == "drawn"
        assert comparison[measure].pairs[0].method in ("sequential", "drawn")


def test_a_large_slice_is_compared_as_if_it_were_alone_but_for_chance() -> None:
    n, half = 2 * MANY_UNITS + 200, MANY_UNITS + 100
    system_scores = scores(n, 0.0, measures=2)
    labels = dict.fromkeys([*system_scores["s0"]["AP"]][:half], "first")
    comparison = compare(system_scores, slices=labels)
    alone = compare(
        {
            name: {m: dict([*column.items()][:half]) for m, column in of.items()}
            for name, of in system_scores.items()
        }
    )
    for measure in ("nDCG@10", "AP"):
        ours, theirs = comparison.slice(measure, "first").pairs[0], alone[measure].pairs[0]
        assert (ours.low, ours.high, ours.difference) == (
            theirs.low,
            theirs.high,
            theirs.difference,
        )
        assert None not in (ours.p, theirs.p, ours.p_error, theirs.p_error)
        apart = (ours.p or 0) - (theirs.p or 0)
        assert abs(apart) <= 5 * ((ours.p_error or 0) ** 2 + (theirs.p_error or 0) ** 2) ** 0.5


def test_maxt_looks_at_all_flips() -> None:
    n = MANY_UNITS + 1
    system_scores = scores(n, 0.3, 0.0)
    comparison = compare(system_scores, correction="maxt", flips=1_500)
    columns = [np.array([*of["nDCG@10"].values()]) for of in system_scores.values()]
    paired_scores = PairedScores(np.stack(columns, axis=1), np.array([1, 2]), np.array([0, 0]))
    expected = step_down_p_values(paired_scores, Flips(n, 1_500)).tolist()
    assert [pair.p_adjusted for pair in comparison["nDCG@10"].pairs] == expected


def test_wilcoxon_of_many_queries() -> None:
    chance = np.random.default_rng(8)
    d = np.stack((chance.normal(0, 1, 300), chance.normal(1.5, 1, 300)), axis=1)
    pair_sample = sample(d, 20_000)
    settings = Settings(test="wilcoxon", flips=20_000)
    [[pair_tests]] = run_pair_tests([[pair_sample]], settings, units_limit=100)
    assert pair_tests.method == ["sequential", "bound"]
    of_all = wilcoxon(pair_sample.paired_scores, pair_sample.flips)
    assert (
        abs(pair_tests.p[0] - of_all[0])
        <= 5 * (pair_tests.p_error[0] ** 2 + 0.5**2 / 20_000) ** 0.5
    )
    assert of_all[1] == 1 / 20_001 > pair_tests.p[1]
    low, high = t_interval(pair_sample.moments, ALPHA)
    assert (pair_tests.low.tolist(), pair_tests.high.tolist()) == (low.tolist(), high.tolist())


def test_where_student_is_not_as_good_all_flips_are_drawn() -> None:
    chance = np.random.default_rng(9)
    d = np.stack((chance.normal(0, 1, 400), np.zeros(400)), axis=1)
    d[:12, 1] = [1, 1, 1, 1, 1, 1, 1, -1, 1, 1, 1, -1]
    pair_sample = sample(d, 3_000)
    [[pair_tests]] = run_pair_tests([[pair_sample]], Settings(flips=3_000), units_limit=100)
    p, low, high = invert_sign_flips(pair_sample.paired_scores, pair_sample.flips, ALPHA)
    assert pair_tests.interval == ["randomization", "randomization"]  # of so few, no limits agree
    assert pair_tests.method == ["drawn", "drawn"]
    assert (pair_tests.p.tolist(), pair_tests.low.tolist()) == (p.tolist(), low.tolist())
    assert pair_tests.high.tolist() == high.tolist()
    np.testing.assert_array_equal(pair_tests.p_error, np.sqrt(p * (1 - p) / 3_000))


# ---- gate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_weights", [False, True])
def test_limits_of_many_queries_are_those_of_the_flips(has_weights: bool) -> None:
    n, flips = 8_000, 20_000
    chance = np.random.default_rng(4)
    base = chance.random(n)
    weights = base / base.mean() if has_weights else None
    gains = chance.normal(0.001, 0.2, (n, 2))
    gains[50:, 1] = 0
    question = GainSample(gains, 0.004, weights)
    gain_tests = run_gain_tests(question, GateSettings(flips=flips))
    assert gain_tests.method == ["t", "drawn"]
    bounds = np.repeat([[-0.004], [0.0], [0.004]], 2, axis=1)
    lower, upper, above, below = one_sided_tests(gains, bounds, Flips(n, flips), ALPHA, weights)
    assert (gain_tests.lower[1], gain_tests.upper[1]) == (lower[1], upper[1])
    assert gain_tests.p_above[:, 1].tolist() == above[:, 1].tolist()
    # A limit is a quantile; 0.103 is the normal density at 1.645.
    error = (0.05 * 0.95 / flips) ** 0.5 / 0.103 * 0.2 / n**0.5
    assert abs(gain_tests.lower[0] - lower[0]) <= 5 * error
    assert abs(gain_tests.upper[0] - upper[0]) <= 5 * error
    assert (np.abs(gain_tests.p_above[:, 0] - above[:, 0]) <= 5 * 0.5 / flips**0.5).all()
    assert (np.abs(gain_tests.p_below[:, 0] - below[:, 0]) <= 5 * 0.5 / flips**0.5).all()


def significances(verdict: Any) -> Bools:
    return np.array([verdict.lower > -verdict.margin, verdict.p <= ALPHA])


def test_gate_says_that_it_goes_by_student() -> None:
    gate_result = gate(
        scores(MANY_UNITS + 1, 0.0),
        baseline="s0",
        margin=0.02,
        at_least={"nDCG@10": 0.1},
        limit=True,
    )
    assert {verdict.method for verdict in gate_result.verdicts} == {"t"}
    assert {threshold.method for threshold in gate_result.thresholds} == {"t"}
    assert "t-interval" in {note.code for note in gate_result.notes}
    assert "100,000 flips" not in str(gate_result)
    assert significances(gate_result.verdicts[0]).all()
    small_gate = gate(scores(MANY_UNITS, 0.0), baseline="s0", margin=0.02, flips=1_000)
    assert small_gate.verdicts[0].method == "drawn"
    assert "t-interval" not in {note.code for note in small_gate.notes}
