"""compare: the differences, tests, corrections and effect sizes of pairs of systems.

The vectors of cases A, B, D and E are the design's, to all digits that it prints. Not built, and so
not here, are these rows of its table: Pratt's zeros of Wilcoxon's test (it stays beside the t-test
for those who know it, in its usual form); maxT of unstudentised differences (a pair of which scores
vary more would hide the others); Holm-Sidak, Hommel and Hochberg (they gain little over Holm, and
need comparisons that do not depend on each other in all ways); one-way Tukey (it does not pair).
"""

import json
import math
import re
import warnings
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.notes import severities
from helpers.profile import examples
from helpers.vectors import CASE_A, CASE_B, CASE_D, CASE_E, to_fractions
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import fdtrc

from cranfield import Comparison, InputError, MeasureError, OptionError, compare, evaluate
from cranfield.comparison import cells
from cranfield.comparison.anova import Anova, randomised_tukey
from cranfield.comparison.corrections import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    holm,
)
from cranfield.comparison.effects import cliffs_delta
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.needed import Goal, estimate_mean, find_least_effect
from cranfield.comparison.result import Pair
from cranfield.comparison.significance import (
    Moments,
    accelerations,
    bca_interval,
    bootstrap_test,
    posterior_probabilities,
    t_interval,
)
from cranfield.errors import CranfieldWarning

DEMO = DEMO_QRELS, [str(path) for path in DEMO_RUNS]

A, B, C = (to_fractions(of_system) for of_system in CASE_A.values())
D, E = to_fractions(CASE_D), to_fractions(CASE_E)


def scores(**systems: list[float]) -> dict[str, dict[str, float]]:
    return {
        name: {f"q{i:04}": value for i, value in enumerate(values)}
        for name, values in systems.items()
    }


SAKAI = scores(a=A, b=B, c=C)
SAKAI_PAIRED = PairedScores(np.array([A, B, C]).T, np.array([0, 0, 1]), np.array([1, 2, 2]))


@cache  # all 2^19 flips take their time
def sakais(**options: Any) -> Comparison:
    return compare(SAKAI, all_pairs=True, **options)


@cache
def a_and_b() -> Comparison:
    return compare(scores(a=A, b=B))


def column(field: str, **options: Any) -> list[Any]:
    """Return one value of the pairs a-b, a-c, b-c."""
    result = sakais(**options)["score"]
    return [getattr(result[pair], field) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("difference", [0.075, 0.1, 0.025]),
        ("p", [69_120 / 2**20, 151_632 / 2**20, 653_824 / 2**20]),
        ("p_adjusted", [0.19775390625, 0.289215087890625, 0.62353515625]),
        ("p_t", [0.047796761845, 0.123165104581, 0.521773448398]),
        ("sd", [0.0251315789**0.5, 0.0768421053**0.5, 0.0293421053**0.5]),
        ("low", [0.0, -0.0285714, -0.05]),
        ("high", [0.15, 0.23, 0.1]),
        ("d_z", [0.4730982874, 0.3607450433, 0.1459467315]),
        ("hedges", [0.4541743559, 0.3463152416, 0.1401088622]),
        ("glass", [0.4360837524, 0.7170832516, 0.1792708129]),
        ("d_av", [0.3785658488, 0.5408629378, 0.1596762694]),
        ("es_e", [0.5069655097, 0.6759540130, 0.1689885032]),
        ("wins", [10, 11, 8]),
        ("ties", [5, 3, 4]),
        ("losses", [5, 6, 8]),
        ("dominance", [0.25, 0.25, 0]),
        ("superiority", [0.625, 0.625, 0.5]),
        ("mean", [0.345, 0.345, 0.27]),
        ("other_mean", [0.27, 0.245, 0.245]),
    ],
)
def test_sakais_systems_by_randomization(field: str, expected: list[float]) -> None:
    np.testing.assert_allclose(column(field), expected, atol=5e-8 if field == "low" else 5e-11)
    assert column("exact") == [True] * 3
    assert column("p_error") == [0.0] * 3


@pytest.mark.parametrize(
    ("test", "field", "expected"),
    [
        ("t", "p", [0.047796761845, 0.123165104581, 0.521773448398]),
        ("t", "low", [0.0008059447, -0.0297355057, -0.0551687029]),
        ("t", "high", [0.1491940553, 0.2297355057, 0.1051687029]),
        ("t", "p_adjusted", [0.143390285535, 0.246330209162, 0.521773448398]),
        ("sign", "p", [0.3017578125, 0.332305908203, 1]),
        ("wilcoxon", "p", [0.04034423828125, 0.184906005859375, 0.781097412109375]),
        ("wilcoxon", "rank_biserial", [0.6, 0.37254901960784, 0.08823529411765]),
    ],
)
def test_sakais_systems_by_other_tests(test: str, field: str, expected: list[float]) -> None:
    np.testing.assert_allclose(column(field, test=test), expected, atol=5e-11)


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("bh", [0.143390285535, 0.184747656871, 0.521773448398]),
        ("by", [0.262882190147, 0.338704037598, 0.956584655397]),
        ("bonferroni", [0.143390285535, 0.369495313743, 1]),
        ("none", [0.047796761845, 0.123165104581, 0.521773448398]),
        ("tukey", [0.256697746377, 0.095686847118, 0.854963181115]),
    ],
)
def test_sakais_systems_corrected(correction: str, expected: list[float]) -> None:
    adjusted_p = column("p_adjusted", test="t", correction=correction)
    np.testing.assert_allclose(adjusted_p, expected, atol=5e-11)


def test_sakais_systems_by_max_t() -> None:
    expected = [0.117156982422, 0.188018798828, 0.62353515625]
    np.testing.assert_allclose(column("p_adjusted", correction="maxt"), expected, atol=5e-13)


def test_sakais_systems_by_randomised_tukey() -> None:
    # Known to +-.0015 from a million permutations; ten thousand have a standard error of .005.
    adjusted_p = column("p_adjusted", correction="rtukey", test="t")
    np.testing.assert_allclose(adjusted_p, [0.3035, 0.1066, 0.8916], atol=0.02)
    p_values = randomised_tukey(SAKAI_PAIRED, permutations=200_000)
    np.testing.assert_allclose(p_values, [0.3035, 0.1066, 0.8916], atol=0.0015 + 4 * 0.00107)


def test_the_analysis_of_variance_of_sakais_systems() -> None:
    anova = Anova.from_scores(SAKAI_PAIRED.scores)
    assert anova is not None
    np.testing.assert_allclose(
        [anova.system_variance, anova.query_variance, anova.residual_variance],
        [0.0541666667, 0.0541754386, 0.0218859649],
        atol=5e-11,
    )
    assert anova.residual_degrees == (20 - 1) * (3 - 1)
    np.testing.assert_allclose(
        anova.system_variance / anova.residual_variance, 2.4749498998, atol=5e-10
    )
    np.testing.assert_allclose(
        anova.query_variance / anova.residual_variance, 2.4753507014, atol=5e-10
    )
    of_systems = fdtrc(2, anova.residual_degrees, anova.system_variance / anova.residual_variance)
    of_queries = fdtrc(19, anova.residual_degrees, anova.query_variance / anova.residual_variance)
    np.testing.assert_allclose([of_systems, of_queries], [0.0976354183, 0.0085586582], atol=5e-11)
    squares = [
        2 * anova.system_variance,
        19 * anova.query_variance,
        anova.residual_degrees * anova.residual_variance,
    ]
    np.testing.assert_allclose(squares, [0.10833333, 1.02933333, 0.83166667], atol=5e-9)


def test_moments_of_sakais_systems() -> None:
    moments = Moments.of(SAKAI_PAIRED)
    np.testing.assert_allclose(
        moments.sd**2, [0.0251315789, 0.0768421053, 0.0293421053], atol=5e-11
    )
    np.testing.assert_allclose(moments.t, [2.1157598613, 1.6133008790, 0.6526936254], atol=5e-11)
    np.testing.assert_allclose(np.mean([A, B, C], axis=1), [0.345, 0.27, 0.245], atol=1e-15)
    # Limits of Bland & Altman: 1.96 standard deviations from the mean difference.
    low, high = moments.mean - 1.96 * moments.sd, moments.mean + 1.96 * moments.sd
    np.testing.assert_allclose(low, [-0.2357176752, -0.4433200084, -0.3107389337], atol=6e-11)
    np.testing.assert_allclose(high, [0.3857176752, 0.6433200084, 0.3607389337], atol=6e-11)


def test_cliffs_delta_of_sakais_systems() -> None:
    np.testing.assert_allclose(cliffs_delta(SAKAI_PAIRED), [0.2, 0.2725, 0.0775], atol=1e-15)


@given(st.lists(st.tuples(*[st.integers(0, 6).map(lambda x: x / 10)] * 2), min_size=1, max_size=9))
def test_cliffs_delta_is_that_of_a_loop(values: list[tuple[float, float]]) -> None:
    ours, theirs = zip(*values, strict=True)
    signs = [(x > y) - (x < y) for x in ours for y in theirs]
    paired_scores = PairedScores(np.array(values), np.array([0, 1]), np.array([1, 0]))
    assert cliffs_delta(paired_scores).tolist() == [
        sum(signs) / len(signs),
        -sum(signs) / len(signs),
    ]


def test_cliffs_delta_sees_no_difference_in_rounding() -> None:
    values = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]])
    assert cliffs_delta(PairedScores(values, np.array([0]), np.array([1]))).tolist() == [0.0]


def test_how_probable_it_is_that_sakais_systems_are_better() -> None:
    result = sakais(test="t", rope=0.02)["score"]
    pair = result["a", "b"]
    assert pair.probability_worse == pytest.approx(0.007407702949, abs=5e-13)
    assert pair.probability_same == pytest.approx(0.061225314116, abs=5e-13)
    assert pair.probability_better == pytest.approx(0.931366982935, abs=5e-13)
    pair = result["a", "c"]
    assert pair.probability_worse == pytest.approx(0.033946808062, abs=5e-13)
    assert pair.probability_same == pytest.approx(0.072209913118, abs=5e-13)
    assert pair.probability_better == pytest.approx(0.893843278819, abs=5e-13)
    pair = result["b", "c"]
    assert pair.probability_worse == pytest.approx(0.127284832661, abs=5e-13)
    assert pair.probability_same == pytest.approx(0.321471379850, abs=5e-13)
    assert pair.probability_better == pytest.approx(0.551243787489, abs=5e-13)
    above, _, _ = posterior_probabilities(Moments.of(SAKAI_PAIRED), 0.0)
    np.testing.assert_allclose(above, [0.976101619078, 0.938417447710, 0.739113275801], atol=5e-13)


def test_the_bca_interval_of_sakais_systems() -> None:
    # Means of 20 differences of one decimal lie 0.005 apart, and the ends within one of these.
    low, high = bca_interval(SAKAI_PAIRED, Moments.of(SAKAI_PAIRED), 0.05)
    np.testing.assert_allclose(low, [0.010, -0.015, -0.040], atol=0.005 + 1e-9)
    np.testing.assert_allclose(high, [0.145, 0.225, 0.110], atol=0.005 + 1e-9)


def test_the_accelerations_of_sakais_systems() -> None:
    deviations = SAKAI_PAIRED.differences - SAKAI_PAIRED.differences.mean(axis=0)
    expected = [0.00662961025791, 0.01757245379909, 0.04038917569934]
    np.testing.assert_allclose(accelerations(deviations), expected, atol=5e-15)


# ---- cases D and E: one pair --------------------------------------------------------------------


def test_case_d() -> None:
    pair = compare(scores(d=D, none=[0.0] * 8), baseline="none")["score"]["d"]
    assert pair.p == 16 / 256
    assert pair.p_t == pytest.approx(0.046449467680, abs=5e-13)
    assert (pair.low, pair.high) == pytest.approx((-0.0066667, 0.2333333), abs=5e-8)
    (low,), (high,) = t_interval(
        Moments.of(PairedScores.from_differences(np.array(D)[:, None])), 0.05
    )
    assert (low, high) == pytest.approx((0.0024127071, 0.2300872929), abs=5e-11)


@cache
def case_e(**options: Any) -> Pair:
    scores_of_e = scores(e=E, none=[0.0] * 30)
    return compare(scores_of_e, baseline="none", **options)["score"]["e"]


def test_case_e() -> None:
    pair = case_e(test="t")
    assert pair.difference == pytest.approx(0.0336666667, abs=5e-11)
    assert pair.sd is not None
    assert pair.sd**2 == pytest.approx(0.0054033333, abs=5e-11)
    assert Moments.of(PairedScores.from_differences(np.array(E)[:, None])).t == pytest.approx(
        2.5085910377, abs=5e-11
    )
    assert pair.p == pair.p_t == pytest.approx(0.01796488225, abs=5e-12)
    assert (pair.low, pair.high) == pytest.approx((0.0062185639, 0.0611147694), abs=5e-11)
    assert pair.d_z == pytest.approx(0.4580039663, abs=5e-11)
    assert (pair.wins, pair.ties, pair.losses) == (22, 1, 7)
    of_ranks = case_e(test="wilcoxon").p
    exact = signed_rank_p(E)
    assert of_ranks == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000))


def signed_rank_p(differences: list[float]) -> float:
    """Return the exact two-sided p of Wilcoxon's signed ranks, by counting all sums of ranks."""
    sizes = [round(abs(difference), 9) for difference in differences]
    ranked = [
        (2 * sum(other < size for other in sizes if other) + sizes.count(size) + 1, difference > 0)
        for size, difference in zip(sizes, differences, strict=True)
        if size
    ]  # twice the mean rank
    counts = {0: 1}
    for rank, _ in ranked:
        rank_of_size: dict[int, int] = {}
        for total, count in counts.items():
            for end in (total - rank, total + rank):
                rank_of_size[end] = rank_of_size.get(end, 0) + count
        counts = rank_of_size
    rank_sum = abs(sum(rank if up else -rank for rank, up in ranked))
    as_far = sum(count for total, count in counts.items() if abs(total) >= rank_sum)
    return float(as_far / 2 ** len(ranked))


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=10))
@settings(max_examples=examples(60))
def test_wilcoxons_test_is_exact_with_ties(tenths: list[int]) -> None:
    system_scores = scores(old=[0.0] * len(tenths), new=[tenth / 10 for tenth in tenths])
    pair = compare(system_scores, test="wilcoxon")["score"]["new"]
    assert pair.p == pytest.approx(signed_rank_p([tenth / 10 for tenth in tenths]), rel=1e-12)
    assert (pair.exact, pair.p_error) == (True, 0.0)


def test_five_equal_wins_are_no_evidence_by_wilcoxons_test() -> None:
    comparison = compare(scores(old=[0.1] * 5, new=[0.2] * 5), test="wilcoxon")
    assert comparison["score"]["new"].p == 2 / 2**5
    assert comparison["score"]["new"].verdict is None
    assert "two-sided, exact: all flips" in str(comparison)
    assert severities(comparison["score"])["none-significant"] == "warning"


def test_case_e_by_randomization() -> None:
    pair = case_e()
    exact = 20_299_048 / 2**30
    assert pair.p is not None
    assert pair.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000))
    assert round(pair.p, 8) == 0.01874981
    assert (pair.low, pair.high) == pytest.approx((0.00625, 0.06100), abs=0.0005)


def test_case_e_by_the_bootstrap() -> None:
    pair = case_e(test="bootstrap")
    assert pair.interval == "bca"
    assert (pair.low, pair.high) == pytest.approx((0.0073, 0.0593), abs=0.0007)
    deviations = (np.array(E) - np.mean(E))[:, None]
    assert accelerations(deviations) == pytest.approx(0.000279060352, abs=5e-13)


def test_the_bca_interval_is_scipys() -> None:
    from scipy.stats import bootstrap

    difference = np.random.default_rng(3).gamma(0.7, size=60) - 0.5
    paired_scores = PairedScores.from_differences(difference[:, None])
    low, high = bca_interval(paired_scores, Moments.of(paired_scores), 0.05, resamples=50_000)
    theirs = bootstrap(
        (difference,), np.mean, n_resamples=50_000, method="BCa", rng=np.random.default_rng(4)
    ).confidence_interval
    error = (
        4 * float(np.std(difference)) / math.sqrt(60) * 0.02
    )  # of the 2.5 % point of 50,000 means
    np.testing.assert_allclose([low[0], high[0]], [theirs.low, theirs.high], atol=error)


def test_the_bootstrap_test_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(5)
    difference = rng.normal(0.3, 1, 15)
    n, mean, sd = 15, difference.mean(), difference.std(ddof=1)
    t = abs(mean) / (sd / math.sqrt(n))
    repetitions = 20_000
    resamples = (difference - mean)[rng.integers(0, n, (repetitions, n))]
    of_drawn = np.abs(resamples.mean(axis=1)) / (resamples.std(axis=1, ddof=1) / math.sqrt(n))
    count = int(np.count_nonzero(of_drawn >= t))
    paired_scores = PairedScores.from_differences(difference[:, None])
    p = bootstrap_test(paired_scores, Moments.of(paired_scores))[0]
    assert p == pytest.approx(count / repetitions, abs=4 * math.sqrt(p * (1 - p) / repetitions))


# ---- corrections --------------------------------------------------------------------------------

FIFTEEN = np.array(CASE_B)


def test_corrections_of_benjamini_and_hochbergs_values() -> None:
    p_of_1 = [1.0] * 6
    expected = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, *p_of_1]
    np.testing.assert_allclose(holm(FIFTEEN), expected, atol=5e-13)
    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857142857, 0.063857142857, 0.0645]
    expected += [0.0765, 0.486, 0.581181818182, 0.714875, 0.753230769231, 0.813214285714, 1]
    np.testing.assert_allclose(benjamini_hochberg(FIFTEEN), expected, atol=5e-13)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=15))
def test_corrections_follow_their_definitions(values: list[float]) -> None:
    p = np.array(values)
    m = len(p)
    for i, p_value in enumerate(values):
        rank = sorted(values).index(p_value)
        smaller = [x * (m - r) for r, x in enumerate(sorted(values)) if r <= rank or x == p_value]
        assert holm(p)[i] == pytest.approx(min(1, max(smaller)))
        above = [x * m / (r + 1) for r, x in enumerate(sorted(values)) if x >= p_value]
        assert benjamini_hochberg(p)[i] == pytest.approx(min(1, *above, 1))
        harmonic = sum(1 / k for k in range(1, m + 1))
        assert benjamini_yekutieli(p)[i] == pytest.approx(min(1, *(x * harmonic for x in above), 1))
        assert bonferroni(p)[i] == pytest.approx(min(1, p_value * m))


def test_tukey_of_two_systems_is_the_t_test() -> None:
    pair = compare(scores(a=A, b=B), test="t", correction="tukey")["score"]["b"]
    # One comparison, where the studentised range of two is t.
    assert pair.p_adjusted == pytest.approx(pair.p_t, abs=1e-9)


# ---- any data -----------------------------------------------------------------------------------


def list_leaves(document: Any) -> list[Any]:
    """Return all plain values in a document."""
    if isinstance(document, dict):
        return [value for part in document.values() for value in list_leaves(part)]
    if isinstance(document, list):
        return [value for part in document for value in list_leaves(part)]
    return [document]


TESTS = ["randomization", "t", "wilcoxon", "sign", "bootstrap", "bayes"]
DEGENERATE = {
    "identical": scores(a=A[:12], b=A[:12], c=B[:12]),
    "all equal": scores(a=[0.5] * 7, b=[0.5] * 7),
    "a constant difference": scores(a=[0.2, 0.4, 0.1, 0.8, 0.3], b=[0.1, 0.3, 0.0, 0.7, 0.2]),
    "one query": scores(a=[0.5], b=[0.25]),
    "one query, no difference": scores(a=[0.5], b=[0.5]),
    "two queries": scores(a=[0.5, 0.2], b=[0.25, 0.2], c=[0, 0]),
    "zeros": scores(a=[0.0] * 30, b=[0.0] * 30),
    "one system": scores(a=A[:12]),
    "one system, one query": scores(a=[0.5]),
    "tiny": scores(a=[1e-300, 0, 3e-300], b=[0, 2e-300, 0]),
    "huge": scores(a=[1e99, 2e98, 3e98], b=[0.0, 1e98, 1e99]),
    "one differs": scores(a=[0.0] * 24 + [1.0], b=[0.0] * 25),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("test", TESTS)
def test_nothing_is_ever_nan_or_a_p_of_0(name: str, test: Any) -> None:
    for all_pairs in (False, True):
        comparison = compare(DEGENERATE[name], test=test, all_pairs=all_pairs, flips=999, rope=0.01)
        document = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
        for value in list_leaves(document):
            assert not (isinstance(value, float) and value == 0 and math.copysign(1, value) < 0)
        for pair in comparison["score"].pairs:
            for p in (pair.p, pair.p_adjusted, pair.p_t):
                assert p is None or 0 < p <= 1
            assert pair.low is None or pair.low <= pair.difference <= pair.high  # type: ignore[operator]
        for page in (
            str(comparison),
            comparison.to_markdown(),
            comparison.to_latex(),
            comparison.to_csv(),
        ):
            assert not re.search(r"\bnan\b|\binf\b", page.lower())
            assert "-0.0000" not in page


@pytest.mark.parametrize("correction", ["holm", "maxt", "tukey", "rtukey", "bh", "by"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_corrected_p_values_are_in_range(name: str, correction: Any) -> None:
    for pair in compare(DEGENERATE[name], correction=correction, flips=999)["score"].pairs:
        assert pair.p_adjusted is None or 0 < pair.p_adjusted <= 1
        assert (pair.p_adjusted is None) == (pair.p is None) or correction == "tukey"


def test_identical_systems_do_not_differ_and_count() -> None:
    result = compare(DEGENERATE["identical"], baseline="a")["score"]
    pair = result["b"]
    assert (pair.difference, pair.p, pair.low, pair.high) == (0.0, 1.0, 0.0, 0.0)
    assert (pair.d_z, pair.p_t, pair.verdict) == (None, 1.0, None)
    assert result.comparisons == 2


def test_a_constant_difference_has_no_t() -> None:
    pair = compare(DEGENERATE["a constant difference"])["score"]["b"]
    assert pair.p == 2 / 2**5
    assert (pair.p_t, pair.d_z, pair.sd) == (None, None, 0)
    pair = compare(scores(a=[0.1] * 8, b=[0.2] * 8), test="t")["score"]["b"]
    assert (pair.p, pair.p_adjusted) == (None, None)
    assert (pair.low, pair.high) == pytest.approx((0.1, 0.1))


def test_one_query_has_a_difference_and_no_test() -> None:
    comparison = compare(DEGENERATE["one query"])
    pair = comparison["score"]["b"]
    assert pair.difference == 0.25 - 0.5
    assert (pair.p, pair.p_adjusted, pair.low, pair.high) == (None,) * 4
    row = next(line for line in str(comparison).splitlines() if line.startswith(" b "))
    assert row.split() == ["b", "0.2500", "-0.2500", "-", "-", "1", "0/0/1"]
    assert "there is no test" in str(comparison)
    assert severities(comparison["score"]) == {"few-queries": "warning"}


def test_one_system_has_a_mean_and_its_interval() -> None:
    comparison = compare(DEGENERATE["one system"])
    (system,) = comparison["score"].systems
    n, mean = 12, np.mean(A[:12])
    half = 2.200985160082949 * np.std(A[:12], ddof=1) / math.sqrt(n)  # t of 11 degrees, 97.5 %
    assert (system.low, system.high) == pytest.approx((mean - half, mean + half))
    assert "nothing to compare it with" in str(comparison)


def test_systems_of_one_name_are_both_there(tmp_path: Path) -> None:
    qrels = {"q1": {"d": 1}, "q2": {"e": 1}}
    scores = evaluate(qrels, {"q1": ["d"], "q2": ["e"]}, "RR")
    other = evaluate(qrels, {"q1": ["x", "d"], "q2": ["e"]}, "RR")
    assert scores.name == other.name
    comparison = compare([scores, other])
    assert comparison.aligned.system_names == (scores.name, f"{scores.name} (2)")
    assert comparison["RR"].pairs[0].difference == (0.5 + 1) / 2 - 1


def test_a_measure_of_which_less_is_better() -> None:
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}}
    runs = {
        "late": {"q1": ["x", "y", "d"], "q2": ["x", "y", "z", "d"]},
        "soon": {q: ["d"] for q in qrels},
    }
    comparison = compare(qrels, runs, "LastRel", rope=0.5)
    pair = comparison["LastRel"]["soon"]
    assert pair.difference == 1 - 3.5
    assert (pair.wins, pair.losses) == (2, 0)
    # The posterior is t around -2.5 with 1 degree of freedom, a Cauchy distribution of scale .5.
    assert pair.probability_better == pytest.approx(stats.cauchy.cdf((-0.5 + 2.5) / 0.5))
    assert pair.probability_worse == pytest.approx(stats.cauchy.sf((0.5 + 2.5) / 0.5))
    assert "LastRel: less is better." in str(comparison)
    rows = [line.split()[0] for line in str(comparison).splitlines() if line.startswith(" ")]
    assert rows[-2:] == ["late", "soon"]  # the baseline first


# ---- what is given ------------------------------------------------------------------------------


def test_it_takes_what_evaluate_gives_and_what_evaluate_takes() -> None:
    qrels = {"q1": {"d": 1}, "q2": {"e": 2}, "q3": {"f": 1}}
    runs = {"a": {"q1": ["d"], "q2": ["x", "e"]}, "b": {"q1": ["x", "d"], "q2": ["e"], "q3": ["f"]}}
    comparison = compare(qrels, runs, "nDCG@10 RR")
    systems = evaluate(qrels, runs, "nDCG@10 RR")
    second_comparison = compare(systems)
    assert [result.pairs[0].difference for result in comparison.results] == [
        result.pairs[0].difference for result in second_comparison.results
    ]
    for name, of_system in systems.items():
        for measure in ("nDCG@10", "RR"):
            means = {system.name: system.mean for system in comparison[measure].systems}
            assert means[name] == of_system[measure]  # to the last bit
    nested_scores = {
        name: {measure: scores.per_query(measure) for measure in ("nDCG@10", "RR")}
        for name, scores in systems.items()
    }
    for source in (list(systems.values()), dict(systems), nested_scores):
        assert compare(source).rows() == second_comparison.rows()
    assert "a: 1 query without results: counted as retrieving nothing." in str(comparison)
    with pytest.raises(InputError, match="no system 'c' to be the baseline"):
        compare(systems, baseline="c")


def test_queries_are_paired_by_their_names_and_never_by_their_places() -> None:
    a = {f"q{i}": value for i, value in enumerate(A)}
    b = {f"q{i}": value for i, value in reversed(list(enumerate(B)))}
    assert (
        compare({"a": a, "b": b}, test="t")["score"]["b"].wins == 5
    )  # b - a, the reverse of case A


def test_a_missing_score_is_an_error_unless_said_otherwise() -> None:
    system_scores = {"a": {"q1": 1.0, "q2": 0.5, "q3": 0.25}, "b": {"q1": 0.5, "q3": 0.75}}
    with pytest.raises(InputError, match="b: 1 of 3 queries have no score: 'q2'"):
        compare(system_scores)
    zero = compare(system_scores, missing="zero")["score"]
    assert [system.mean for system in zero.systems] == [1.75 / 3, 1.25 / 3]
    drop = compare(system_scores, missing="drop")
    assert [system.mean for system in drop["score"].systems] == [1.25 / 2, 1.25 / 2]
    assert drop["score"].query_ids == ["q1", "q3"]
    assert "1 of 3 queries left out" in str(drop)
    with pytest.raises(InputError, match="no query has a score for every system"):
        compare({"a": {"q1": 1.0}, "b": {"q2": 1.0}}, missing="drop")


def test_runs_that_lack_queries_are_dropped_or_refused_on_demand() -> None:
    qrels = {"q1": {"d": 1}, "q2": {"e": 2}, "q3": {"f": 1}}
    runs = {"a": {"q1": ["d"], "q2": ["e"]}, "b": {"q2": ["x", "e"], "q3": ["f"]}}
    assert compare(qrels, runs, "RR", missing="drop")["RR"].query_ids == ["q2"]
    assert compare(qrels, runs, "RR")["RR"].query_ids == ["q1", "q2", "q3"]
    with pytest.raises(InputError, match="a: 1 of 3 queries have no results"):
        compare(qrels, runs, "RR", missing="error")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
def test_a_score_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"b: score of query 'q2' is -?(nan|inf|1e\+200)"):
        compare({"a": {"q1": 1.0, "q2": 1.0}, "b": {"q1": 1.0, "q2": value}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "ttest"}, "test='ttest' is not known"),
        ({"correction": "sidak"}, "correction='sidak' is not known"),
        ({"alpha": 0}, "alpha=0"),
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"alpha": math.nan}, "alpha=nan"),
        ({"flips": 0}, "flips=0"),
        ({"flips": 1.5}, "flips=1.5"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": True}, "seed=True"),
        ({"tie": -1}, "tie=-1"),
        ({"rope": -0.1}, "rope=-0.1"),
        ({"correction": "maxt", "test": "t"}, "maxt"),
        ({"correction": "holm", "test": "bayes"}, "bayes"),
        ({"correction": "tukey", "family": "all"}, "family='all'"),
        ({"all_pairs": True, "baseline": "a"}, "all_pairs"),
        ({"depth": 3}, "depth"),
        ({"all_pairs": "no"}, "all_pairs='no': expected True or False"),
        ({"bounds": "x"}, "bounds='x': expected True or False"),
        ({"missing": "ignore"}, "missing='ignore' is not known"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compare(SAKAI, **options)


def test_a_measure_without_scores_is_refused() -> None:
    with pytest.raises(MeasureError, match=r"no scores of AP; there are score"):
        compare(SAKAI, measures="AP")
    with pytest.raises(MeasureError, match="no measure of numbers"):
        compare({"q": {"d": 1}}, {"a": {"q": ["d"]}}, "RelString")


# ---- families, slices, seeds --------------------------------------------------------------------


def make_systems(n: int, systems: int, seed: int) -> dict[str, dict[str, float]]:
    values = np.random.default_rng(seed).beta(2, 2, (systems, n)).round(3)
    return scores(**{f"s{i}": column.tolist() for i, column in enumerate(values)})


def test_more_systems_or_measures_change_no_p_value() -> None:
    system_scores = make_systems(60, 6, 1)
    all_pairs = compare(system_scores, all_pairs=True, flips=2000)["score"]
    two_systems = {name: system_scores[name] for name in ("s0", "s3")}
    assert compare(two_systems, flips=2000)["score"]["s3"].p == all_pairs["s0", "s3"].p
    two = {
        name: {"AP": system_values, "RR": system_scores["s5"]}
        for name, system_values in system_scores.items()
    }
    comparison = compare(two, all_pairs=True, flips=2000)
    assert [pair.p for pair in comparison["AP"].pairs] == [pair.p for pair in all_pairs.pairs]
    assert {pair.p for pair in comparison["RR"].pairs} == {1.0}
    assert compare(system_scores, flips=2000).rows() == compare(system_scores, flips=2000).rows()
    assert (
        compare(system_scores, flips=2000, seed=1).rows()
        != compare(system_scores, flips=2000).rows()
    )


def test_a_family_of_all_measures_is_corrected_together() -> None:
    system_scores = make_systems(60, 3, 2)
    two = {
        name: {"AP": system_values, "RR": system_scores[name]}
        for name, system_values in system_scores.items()
    }
    result_of_one = compare(two, flips=2000, correction="bonferroni")["AP"]
    joint_result = compare(two, flips=2000, correction="bonferroni", family="all")["AP"]
    assert (result_of_one.comparisons, joint_result.comparisons) == (2, 4)
    for of_one, joint_pair in zip(result_of_one.pairs, joint_result.pairs, strict=True):
        assert of_one.p is not None
        assert of_one.p_adjusted == min(1, 2 * of_one.p)
        assert joint_pair.p_adjusted == min(1, 4 * of_one.p)
    # Twice the same comparisons: their greatest t is the same.
    alone = compare(two, flips=2000, correction="maxt")
    together = compare(two, flips=2000, correction="maxt", family="all")
    for measure in ("AP", "RR"):
        assert [p.p_adjusted for p in alone[measure].pairs] == [
            p.p_adjusted for p in together[measure].pairs
        ]


def test_a_slice_is_compared_as_if_it_were_alone() -> None:
    system_scores = make_systems(50, 4, 3)
    kind = {f"q{i:04}": "long" if i % 3 else "short" for i in range(49)}  # one has none
    comparison = compare(system_scores, slices=kind, flips=3000)
    for name in ("long", "short"):
        part = {
            s: {q: v for q, v in values_of_query.items() if kind.get(q) == name}
            for s, values_of_query in system_scores.items()
        }
        alone = compare(part, flips=3000)["score"]
        of_slice = comparison.slice("score", name)
        assert of_slice.pairs == alone.pairs
        assert of_slice.query_ids == alone.query_ids
    assert "1 of 50 queries have no label" in str(comparison)
    assert comparison["score"].pairs == compare(system_scores, flips=3000)["score"].pairs
    with pytest.raises(InputError, match="none of the 50 queries here has a label"):
        compare(system_scores, slices={"other": "x"})


def test_too_few_flips_for_holm_are_said() -> None:
    system_scores = make_systems(40, 12, 4)
    text = str(compare(system_scores, all_pairs=True, flips=1000))
    assert "66 comparisons call for 26,400 flips; 1,000 were drawn" in text
    assert "no corrected p can be below 0.066, and nothing can be significant" in text
    assert "call for" not in str(compare(system_scores, all_pairs=True, flips=26_400))
    assert "call for" not in str(
        compare(system_scores, all_pairs=True, flips=1000, correction="maxt")
    )


def test_few_queries_are_said() -> None:
    comparison = compare(scores(a=A[:5], b=B[:5]))
    assert "5 queries: no p can be below 0.0625; nothing can be significant" in str(comparison)
    assert severities(comparison["score"])["few-queries"] == "warning"
    assert "few-queries" not in severities(compare(scores(a=A[:10], b=B[:10]))["score"])


def test_the_t_test_on_the_other_side_of_alpha_is_said() -> None:
    # Case A: the exact p is .066, that of t .048.
    assert "b (p 0.0659, t-test 0.0478)" in str(a_and_b())
    assert "t-test" not in str(compare(scores(a=A, b=B), alpha=0.01))


@pytest.mark.parametrize(("n", "is_skewed"), [(70, True), (100, True), (200, False)])
def test_skewed_differences_are_said(n: int, is_skewed: bool) -> None:
    # Ten gains of 0.5, and else 0.01 up and down: G^2 is nearly (1 - 2 s)^2 / (s (1 - s)) with
    # s = 10 / n: 25 G^2 is 104 of 70, 178 of 100, 426 of 200 queries: twice as many of the latter.
    n = 2 * n if not is_skewed else n
    gains = 10 if is_skewed else 40
    values = [0.5] * gains + [0.01, -0.01] * ((n - gains) // 2)
    result = compare(scores(a=[0.0] * n, b=values), flips=999)["score"]
    size = np.array(values) - np.mean(values)
    skewness = (size**3).mean() / (size**2).mean() ** 1.5
    assert (n < 25 * skewness**2) == is_skewed
    assert severities(result) == ({"skewed": "warning"} if is_skewed else {})


def changing(n: int, *gains: float) -> dict[str, dict[str, float]]:
    """Return two systems that differ on the first queries only."""
    return scores(old=[0.5] * n, new=[0.5 + gain for gain in gains] + [0.5] * (n - len(gains)))


def test_few_queries_that_differ_are_said_and_listed() -> None:
    gate_result = changing(50, -0.4, 0.1, 0.25)
    with pytest.warns(
        CranfieldWarning, match="new: differs from old on only 3 of 50 queries"
    ) as caught_warnings:
        comparison = compare(gate_result)
    assert len(caught_warnings) == 1
    assert caught_warnings[0].filename == __file__
    pair = comparison["score"]["new"]
    assert (pair.changed, pair.wins, pair.ties, pair.losses) == (3, 2, 47, 1)
    (note,) = comparison["score"].notes
    assert (note.code, note.severity, note.source, note.queries) == (
        *("few-changes", "warning", "new"),
        3,
    )
    assert "q0000 0.5000 to 0.1000, q0001 0.5000 to 0.6000, q0002 0.5000 to 0.7500." in note.text
    assert comparison.to_dict()["results"][0]["notes"] == [note.to_dict()]
    table = comparison.tables()[0]
    assert table.notes[0] == f"Warning: new: {note.text}"  # before the legend
    row = dict(zip(table.header, table.rows[1], strict=True))
    assert row["changed"] == "3"
    header, values = (line.split(",") for line in comparison.to_csv().splitlines())
    assert dict(zip(header, values, strict=True))["changed"] == "3"


@pytest.mark.parametrize(
    ("n", "gains", "expected"),
    [
        (50, [0.1] * 9, "few-changes"),
        (50, [0.1, -0.1] * 5, None),
        (5_000, [0.1, -0.1] * 4, "few-changes"),  # at any number of queries
        (50, [], "identical"),
        (8, [0.1, -0.1], "few-queries"),
        (8, [], "identical"),
    ],
)
def test_which_doubt_is_said(n: int, gains: list[float], expected: str | None) -> None:
    severity_of_code = severities(compare(changing(n, *gains), test="t")["score"])
    doubts = {"few-changes", "identical", "few-queries", "skewed"} & set(severity_of_code)
    assert expected is None or severity_of_code[expected] == "warning"
    assert doubts - {"few-queries"} == {expected} - {None, "few-queries"}


def test_identical_systems_are_said_apart() -> None:
    comparison = compare(changing(40))
    (note,) = comparison["score"].notes
    # Were a share x of all queries to differ, 40 without a difference have a chance of (1 - x)^40.
    share = 1 - 0.05 ** (1 / 40)
    assert "Identical on all 40 queries: new." in note.text
    assert f"up to {100 * share:.2g} % may differ." in note.text
    assert comparison["score"]["new"].changed == 0


@pytest.mark.parametrize(("n", "n_systems"), [(50, 1), (8, 1), (30, 4)])
def test_a_pair_has_the_queries_that_differ_where_these_are_few(n: int, n_systems: int) -> None:
    gate_result = changing(n, -0.4, 0.1, 0.25)
    systems = {"old": gate_result["old"], **{f"s{i}": gate_result["new"] for i in range(n_systems)}}
    comparison = compare(systems, test="t")
    expected = [
        {"query_id": "q0000", "other_score": 0.5, "score": 0.5 - 0.4},
        {"query_id": "q0001", "other_score": 0.5, "score": 0.5 + 0.1},
        {"query_id": "q0002", "other_score": 0.5, "score": 0.5 + 0.25},
    ]
    for pair in comparison["score"].pairs:
        assert [asdict(change) for change in pair.changes] == expected
    pair_documents = json.loads(json.dumps(comparison.to_dict()))["results"][0]["pairs"]
    assert [pair_document["changes"] for pair_document in pair_documents] == [expected] * n_systems
    assert "changes" not in comparison.to_csv().splitlines()[0].split(",")
    assert "changes" not in comparison.rows()[0]


@pytest.mark.parametrize("gains", [[], [0.1, -0.1] * 5])
def test_a_pair_lists_no_query_where_none_or_many_differ(gains: list[float]) -> None:
    assert compare(changing(50, *gains), test="t")["score"]["new"].changes == ()


def test_many_pairs_that_hardly_differ_are_not_listed_one_by_one() -> None:
    system_scores = {f"s{i}": changing(30, *[0.1] * (i + 1))["new"] for i in range(4)}
    comparison = compare({"old": changing(30)["old"], **system_scores})
    (note,) = [note for note in comparison["score"].notes if note.code == "few-changes"]
    assert note.count == 4
    assert "s0 (1), s1 (2), s2 (3), and 1 more" in note.text
    assert "q0000" not in note.text


def test_a_usual_comparison_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comparison = compare(*DEMO, "nDCG@10")
    assert not any(note.is_grave for note in comparison.notes)


def test_notes_have_their_place() -> None:
    system_scores = {
        name: {"AP": system_values, "RR": system_values}
        for name, system_values in changing(40, 0.1).items()
    }
    kind = {f"q{i:04}": "long" if i % 2 else "short" for i in range(39)}
    comparison = compare(system_scores, slices={"length": kind})
    text_of_code = {note.code: note.text for note in comparison.notes}
    assert text_of_code["without-label"] == "length: 1 of 40 queries have no label."
    assert text_of_code["identical"].startswith("Identical on all 19 queries")
    of = [(note.code, note.source) for note in comparison.notes if note.is_grave]
    assert sorted(of) == [
        ("few-changes", "AP of length=short, RR of length=short: new"),
        ("few-changes", "AP, RR: new"),
        ("identical", "AP of length=long, RR of length=long"),
    ]
    *first_tables, last_table = comparison.tables()
    assert [table.notes for table in first_tables] == [()] * 3
    lines = list(last_table.notes)
    warnings = [line for line in lines if line.startswith("Warning: ")]
    assert lines[: len(warnings)] == warnings  # then marks, columns and data, each once
    assert sum(line.startswith("Warning: AP of length=short, RR of length=") for line in lines) == 1
    assert lines[len(warnings)].startswith("No mark: not shown to differ from old")
    assert sum(line.startswith("W/T/L: ") for line in lines) == 1
    assert lines[-1] == "Baseline: old, the first of 2."
    assert lines.index("length: 1 of 40 queries have no label.") > len(lines) - 4


# ---- geometric means ----------------------------------------------------------------------------


def gmap_scores(**systems: list[float]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {"GMAP": system_values, "AP": system_values}
        for name, system_values in scores(**systems).items()
    }


HARD = [0.0, 0.02, 0.5, 0.3, 0.1, 0.6, 0.25, 0.4, 0.05, 0.35, 0.15, 0.45]
BETTER_BUT_FOR_ONE = [0.1, 0.0, 0.7, 0.45, 0.15, 0.8, 0.3, 0.5, 0.0, 0.5, 0.2, 0.6]


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap"])
def test_geometric_means_are_compared_by_their_ratio(test: Any) -> None:
    comparison = compare(gmap_scores(old=HARD, new=BETTER_BUT_FOR_ONE), test=test)
    logs = [
        [math.log(max(value, 1e-5)) for value in system] for system in (BETTER_BUT_FOR_ONE, HARD)
    ]
    pair = comparison["GMAP"]["new"]
    # The same as the means of differences of the logarithms, which no measure says to be so.
    of_logs = compare(scores(old=logs[1], new=logs[0]), test=test)["score"]["new"]
    fields = "difference low high p p_t sd d_z wins ties verdict changed skewness detectable"
    for field in fields.split():
        assert getattr(pair, field) == getattr(of_logs, field)
    assert (pair.scale, of_logs.scale, comparison["AP"]["new"].scale) == (
        *("ratio", "difference"),
        "difference",
    )
    assert of_logs.ratio is of_logs.ratio_low is of_logs.ratio_high is None
    new, old = (math.exp(sum(system_logs) / 12) for system_logs in logs)
    assert (pair.mean, pair.other_mean) == pytest.approx((new, old), rel=1e-12)
    assert pair.ratio == pytest.approx(new / old, rel=1e-12)
    assert pair.percent == pytest.approx(100 * (new / old - 1), rel=1e-9)
    assert pair.low is not None
    assert pair.high is not None
    assert (pair.ratio_low, pair.ratio_high) == (math.exp(pair.low), math.exp(pair.high))
    # By AP the new one is better, by GMAP it is worse.
    assert new < old
    assert comparison["AP"]["new"].difference > 0
    assert pair.difference < 0


def test_the_mean_of_gmap_is_the_one_that_evaluate_has() -> None:
    result = compare(*DEMO, "GMAP")["GMAP"]
    of_evaluate = evaluate(*DEMO, "GMAP")
    assert [scores.mean for scores in result.systems] == [
        scores["GMAP"] for scores in of_evaluate.values()
    ]
    for system in result.systems:
        assert system.low is not None
        assert system.high is not None
        assert 0 < system.low < system.mean < system.high


def test_a_table_of_ratios_says_so() -> None:
    comparison = compare(gmap_scores(old=HARD, new=BETTER_BUT_FOR_ONE), measures="GMAP", rope=0.05)
    table, pair = comparison.tables()[0], comparison["GMAP"]["new"]
    row = dict(zip(table.header, table.rows[1], strict=True))
    assert float(row["ratio"]) == round(pair.ratio or 0, 4)
    assert row["95% interval"] == f"[{pair.ratio_low:.4f}, {pair.ratio_high:.4f}]"
    assert "diff" not in row
    notes_text = "\n".join(table.notes)
    assert "ratio: of the geometric means; in brackets, the values that the test " in notes_text
    assert pair.detectable is not None
    least = f"{math.exp(pair.detectable):.4f}"
    assert f"new: on 12 queries a ratio nearer to 1 than {least} is often missed." in notes_text
    assert "its logarithm within 0.05 of 0" in notes_text
    comparison_of_all = compare(
        gmap_scores(a=HARD, b=BETTER_BUT_FOR_ONE, c=HARD[::-1]), measures="GMAP", all_pairs=True
    )
    means = sorted((system.mean for system in comparison_of_all["GMAP"].systems), reverse=True)
    ratios = comparison_of_all.tables()[1]
    assert ratios.title == ["GMAP   ratios"]
    assert float(ratios.rows[0][1]) == pytest.approx(means[1] / means[0], abs=5e-5)


def test_no_geometric_mean_is_where_none_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query's value counts as 1e-5 at least; where it is 1 at most, so are means and ratios."""
    system_scores = gmap_scores(old=[0.0, 0.9, 0.0, 1.0], new=[1.0, 0.0, 0.8, 1.0])
    for system in compare(system_scores, test="t")["GMAP"].systems:
        assert system.low == math.exp(math.log(1e-5))  # t's is far below: 4 queries
    monkeypatch.setattr(cells, "score_range", lambda measure, values: (0.0, 1.0))
    result = compare(system_scores, test="t")["GMAP"]
    assert [system.high for system in result.systems] == [1.0, 1.0]
    pair = result["new"]
    assert pair.ratio_low == pytest.approx(1e-5, rel=1e-12)
    assert pair.ratio_high == pytest.approx(1e5, rel=1e-12)


def test_sums_are_compared_by_their_means() -> None:
    comparison = compare(*DEMO, "NumRelRet AP")
    assert "mean-of-sum" in severities(comparison["NumRelRet"])
    assert "mean-of-sum" not in severities(comparison["AP"])


# ---- many queries -------------------------------------------------------------------------------


def test_of_however_many_queries_the_interval_goes_with_p() -> None:
    # Few of many queries changed: Student's interval goes another way than the flips.
    chance = np.random.default_rng(249)
    new = np.where(chance.random(1001) < 0.02, chance.normal(0.3, 0.5, 1001), 0).tolist()
    system_scores = scores(old=[0.0] * 1001, new=new)
    pair = compare(system_scores)["score"]["new"]
    t = compare(system_scores, test="t")["score"]["new"]
    assert pair.p is not None
    assert pair.low is not None
    assert t.low is not None
    assert (pair.interval, t.interval) == ("randomization", "t")
    assert pair.p <= 0.05
    assert pair.low > 0 > t.low
    assert "in brackets, the values that the test does not reject." in str(
        compare(system_scores, flips=1000)
    )


def test_the_queries_that_change_most() -> None:
    comparison = a_and_b()
    change = {f"q{i:04}": b - a for i, (a, b) in enumerate(zip(A, B, strict=True))}
    largest_changes = comparison.changes("b", n=3)
    assert (
        list(largest_changes.values()) == sorted(change.values(), key=lambda gain: -abs(gain))[:3]
    )
    assert all(change[query] == value for query, value in largest_changes.items())


def test_as_many_queries_that_get_worse_are_listed_as_of_those_that_get_better() -> None:
    # All losses are smaller than all gains, and there are fewer of them.
    comparison = compare(changing(20, 0.5, -0.1, 0.4, 0.3, -0.2, 0.2))
    table = comparison.tables(changes=3)[-1]
    assert [row[1] for row in table.rows] == ["q0004", "q0001", "q0000", "q0002", "q0003"]
    assert table.title == [
        "score   the queries that got worse most, then those that got better most"
    ]
    assert any("--query q0004" in note for note in table.notes)
    for text in (comparison.to_markdown(changes=1), comparison.to_latex(changes=1)):
        query_lines = text.split("then those that got better most")[1].partition("Warning")[0]
        assert [
            query for query in ("q0004", "q0001", "q0000", "q0002") if query in query_lines
        ] == [
            "q0004",
            "q0000",
        ]
    three = changing(20, 0.3, -0.1) | {"third": changing(20, -0.1, 0.3)["new"]}
    rows = compare(three, all_pairs=True).tables(changes=1)[-1].rows
    assert [row[1] for row in rows] == ["q0000", "q0001", "q0001", "q0000", "q0001", "q0000"]


def test_queries_that_do_not_change_are_left_out_and_worse_ones_come_first() -> None:
    comparison = compare(changing(20, 0.3, -0.1, 0.2, -0.4, 0.0))
    worse, better = ["q0003", "q0001"], ["q0000", "q0002"]
    assert list(comparison.changes("new")) == ["q0003", "q0000", "q0002", "q0001"]
    assert list(comparison.changes("new", only="worse")) == worse
    assert list(comparison.changes("new", only="better")) == better
    assert list(comparison.changes("new", only="worse", n=1)) == worse[:1]
    queries_of_n = {
        n: [row[1] for row in comparison.tables(changes=n)[-1].rows] for n in (1, 2, 20)
    }
    assert queries_of_n == {1: ["q0003", "q0000"], 2: [*worse, *better], 20: [*worse, *better]}
    with pytest.raises(OptionError, match="only='lost' is not known"):
        comparison.changes("new", only="lost")  # type: ignore[arg-type]
    title = compare(changing(12)).tables(changes=3)[-1].title
    assert title[1:] == ["new: none got worse", "new: none got better"]
    gains = changing(20, 0.3, 0.2) | {"third": changing(20, -0.1, 0.3)["new"]}
    tables = compare(gains).tables(changes=3)
    assert tables[-1].title[1:] == ["new: none got worse"]
    assert [row[:2] for row in tables[-1].rows] == [
        ["new", "q0000"],
        ["new", "q0001"],
        ["third", "q0000"],
        ["third", "q0001"],
    ]


def test_changes_of_all_pairs_need_the_other_system() -> None:
    scores = {name: {"q1": 0.5, "q2": score} for name, score in [("a", 0.25), ("b", 0.5)]}
    comparison = compare(scores, all_pairs=True)
    with pytest.raises(OptionError, match="state one of the systems a, b"):
        comparison.changes("b")
    assert comparison.changes("b", "a") == {"q2": 0.25}


def test_queries_that_change_go_by_what_is_better_and_by_what_is_compared() -> None:
    fewer = {
        name: {"LastRel": system_values} for name, system_values in changing(12, 0.3, -0.1).items()
    }
    assert list(compare(fewer).changes("new", only="worse")) == ["q0000"]
    table = compare(fewer).tables(changes=1)[-1]
    assert [(row[1], row[-1]) for row in table.rows] == [("q0000", "+0.3000"), ("q0001", "-0.1000")]
    assert table.title[0].startswith("LastRel   the queries that got worse")
    # From 0.01 to 0.03 is a larger ratio than from 0.5 to 0.8.
    of_gmap = gmap_scores(old=[0.5, 0.01, *[0.4] * 10], new=[0.8, 0.03, *[0.4] * 10])
    assert list(compare(of_gmap).changes("new", measure="AP")) == ["q0000", "q0001"]
    assert list(compare(of_gmap).changes("new", measure="GMAP")) == ["q0001", "q0000"]


def test_everything_is_in_the_json_document() -> None:
    document = compare(SAKAI).to_dict()
    settings = document["settings"]
    comparison = compare(
        SAKAI,
        baseline=settings["baseline"],
        **{key: settings[key] for key in ("test", "correction", "family", "alpha", "flips")},
        seed=settings["seed"],
        tie=settings["tie"],
        rope=settings["rope"],
    )
    assert comparison.to_dict() == document
    assert document["results"][0]["pairs"][0]["p"] == 69_120 / 2**20


def test_sixty_systems() -> None:
    names = [f"s{i}" for i in range(60)]
    spread = np.random.default_rng(6).normal(np.linspace(0, 1, 60), 0.4, (30, 60)).round(3)
    system_scores = scores(**dict(zip(names, spread.T.tolist(), strict=True)))
    comparison = compare(system_scores, all_pairs=True, test="t")
    result = comparison["score"]
    assert len(result.pairs) == 60 * 59 / 2
    text = str(comparison)
    assert all(re.search(rf"^ \d+ +{name} ", text, re.MULTILINE) for name in names)
    marks = {
        name: set(letters.split(","))
        for name, letters in zip(comparison.aligned.system_names, result.letters or (), strict=True)
    }
    n_marked = 0
    for pair in result.pairs:
        assert bool(marks[pair.system] & marks[pair.other]) == (pair.verdict is None)
        n_marked += pair.verdict is not None
    assert 0 < n_marked < len(result.pairs)


# ---- few flips, small alpha ---------------------------------------------------------------------


def clearly_better(n: int) -> dict[str, dict[str, float]]:
    old = np.random.default_rng(n).random(n).round(3)
    return scores(old=old.tolist(), new=(old + 0.2 + 0.01 * (np.arange(n) % 3)).tolist())


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "maxt", "none"])
@pytest.mark.parametrize("n", [15, 30])
@pytest.mark.parametrize(
    "options", [{"flips": 10}, {"flips": 1}, {"alpha": 1e-6}, {"flips": 99, "alpha": 0.001}]
)
def test_too_few_flips_for_any_p_are_said(options: dict[str, Any], n: int, correction: Any) -> None:
    alpha = options.get("alpha", 0.05)
    smallest_p = 2 / 2**n if n <= 20 else 1 / (options.get("flips", 100_000) + 1)
    comparison = compare(clearly_better(n), correction=correction, **options)
    pair = comparison["score"]["new"]
    assert pair.p == pair.p_adjusted == smallest_p
    json.dumps(comparison.to_dict(), allow_nan=False)
    if smallest_p <= alpha:
        assert pair.verdict == "better"
        assert pair.low is not None
        assert pair.low > 0
        assert "nothing can be significant" not in str(comparison)
    else:
        assert (pair.low, pair.high, pair.verdict) == (None, None, None)
        assert "nothing can be significant" in str(comparison)


@pytest.mark.parametrize("n", [7, 26])
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 19, 99, 999]),
    st.sampled_from([0.001, 0.01, 0.05, 0.2]),
)
@settings(max_examples=examples(15))
def test_an_interval_leaves_0_out_if_and_only_if_p_is_at_most_alpha(
    n: int, seed: int, flips: int, alpha: float
) -> None:
    values = np.random.default_rng(seed).integers(0, 5, (3, n)) / 4
    values[2] = np.clip(values[0] + 0.25, 0, 1)
    system_scores = scores(a=values[0].tolist(), b=values[1].tolist(), c=values[2].tolist())
    result = compare(system_scores, all_pairs=True, correction="none", flips=flips, alpha=alpha)[
        "score"
    ]
    for pair in result.pairs:
        assert pair.p is not None
        if pair.low is None or pair.high is None:
            assert pair.p > alpha
        else:
            assert (pair.low > 0 or pair.high < 0) == (pair.p <= alpha)
        assert (pair.verdict is None) == (pair.p > alpha)


# ---- marks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["holm", "maxt", "tukey", "rtukey", "bonferroni", "none"])
@pytest.mark.parametrize("systems", [2, 4])
def test_no_mark_contradicts_the_p_values_beside_it(systems: int, correction: Any) -> None:
    """The last column of p tells."""
    marks_seen = set()
    for seed in range(6):
        chance = np.random.default_rng(seed)
        of_query, rising = chance.random((12, 1)), np.linspace(0, 0.12 * seed, systems)
        values = of_query + chance.normal(0, 0.3, (12, systems)) + rising
        system_scores = scores(
            **{f"s{i}": column.round(3).tolist() for i, column in enumerate(values.T)}
        )
        table = compare(system_scores, correction=correction).tables()[0]
        column = max(i for i, name in enumerate(table.header) if re.match(r"p\b", name))
        for row in table.rows[1:]:
            is_marked = row[table.header.index("diff")].endswith(("^", "v"))
            assert is_marked == (float(row[column].lstrip("<")) <= 0.05)
            marks_seen.add(is_marked)
        legends = [note for note in table.notes if note.startswith("^ better")]
        assert all(f" ({table.header[column]} at most 0.05)." in legend for legend in legends)
    assert marks_seen == {False, True}


def test_tukeys_p_stands_where_the_plain_one_would_where_there_are_two_systems() -> None:
    """It goes by another test than p, of as many comparisons: one."""
    system_scores = clearly_better(5)
    comparison = compare(system_scores, correction="tukey")
    table = comparison.tables()[0]
    row = dict(zip(table.header, table.rows[1], strict=True))
    assert comparison.rows()[0]["p"] == 2 / 2**5  # no flips are fewer
    assert "p" not in row
    assert row["p Tukey"] == "<0.0001"
    assert row["diff"].endswith("^")


def test_a_probability_marks_as_many_as_a_test_does() -> None:
    chance = np.random.default_rng(11)
    values = chance.normal(0, 1, (15, 40)) + np.linspace(-1, 1, 40)
    system_scores = scores(
        none=[0.0] * 15, **{f"s{i}": column.tolist() for i, column in enumerate(values.T)}
    )
    result = compare(system_scores, test="bayes")["score"]
    # The posterior is t around the mean: it is beyond 1 - alpha / 2 where p is at most alpha.
    assert [pair.verdict is not None for pair in result.pairs] == [
        pair.p_t is not None and pair.p_t <= 0.05 for pair in result.pairs
    ]
    assert {pair.verdict for pair in result.pairs} == {"better", "worse", None}
    assert "(with a probability of at least 0.975)." in str(compare(system_scores, test="bayes"))
    assert severities(result)["correction"] == "info"
    with_rope = compare(system_scores, test="bayes", rope=0.1)
    for pair in with_rope["score"].pairs:
        largest_probability = max(pair.probability_better or 0, pair.probability_worse or 0)
        assert (pair.verdict is not None) == (largest_probability >= 0.95)
    assert "(with a probability of at least 0.95)." in str(with_rope)


def test_intervals_are_said_to_be_of_one_pair_by_itself() -> None:
    line = "Intervals are uncorrected, each of one pair: some exclude 0 without a mark."
    n_lines = 0
    for seed in range(20):
        comparison = compare(make_systems(30, 6, seed), flips=999)
        contradicts = any(
            pair.verdict is None and (pair.low or 0) * (pair.high or 0) > 0
            for pair in comparison["score"].pairs
        )
        assert (line in str(comparison)) == contradicts
        n_lines += contradicts
    assert 0 < n_lines < 20
    assert line not in str(compare(make_systems(30, 6, 2), correction="none"))


# ---- what so many queries find ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("correction", "level"),
    [
        ("none", 0.05),
        ("holm", 0.05 / 11),
        ("bonferroni", 0.05 / 11),
        ("maxt", 0.05),
        ("bh", 0.05),
    ],
)
def test_what_is_found_depends_on_the_correction(correction: Any, level: float) -> None:
    comparison = compare(make_systems(43, 12, 3), correction=correction, flips=9_999)
    pair = comparison["score"].pairs[0]
    assert pair.verdict is None
    assert pair.sd is not None
    assert pair.detectable == pytest.approx(
        find_least_effect(Goal(alpha=level), estimate_mean(43)) * pair.sd
    )
    is_before = correction in ("maxt", "bh")
    assert ("is often missed, before correction." in str(comparison)) == is_before
    assert ("is often missed." in str(comparison)) == (not is_before)


def test_what_is_found_depends_on_what_holm_has_told_already() -> None:
    system_scores = make_systems(43, 4, 3)
    system_scores["s1"] = {query: value + 1 for query, value in system_scores["s1"].items()}
    system_scores["s2"] = {query: value + 2 for query, value in system_scores["s2"].items()}
    result = compare(system_scores, flips=9_999)["score"]
    assert [pair.verdict for pair in result.pairs] == ["better", "better", None]
    # Two of three are told: to the third alpha is left whole; without one of the two, the half.
    for pair, level in zip(result.pairs, (0.05 / 2, 0.05 / 2, 0.05), strict=True):
        assert pair.sd is not None
        assert pair.detectable == pytest.approx(
            find_least_effect(Goal(alpha=level), estimate_mean(43)) * pair.sd
        )


# ---- what looks like something else -------------------------------------------------------------


def test_the_mark_goes_by_what_the_test_asks() -> None:
    old, new = [0.5] * 30, [0.51] * 29 + [0.0]  # wins 29 of 30, and loses more by one
    system_scores = scores(old=old, new=new)
    pair = compare(system_scores, test="sign")["score"]["new"]
    assert (pair.verdict, pair.wins, pair.losses) == ("better", 29, 1)
    assert pair.difference < 0
    assert "The mean difference has the opposite sign: new." in str(
        compare(system_scores, test="sign")
    )
    assert severities(compare(system_scores, test="sign")["score"])["mean-disagrees"] == "warning"
    even = scores(old=[0.0] * 8, new=[0.1] * 7 + [-0.7])
    assert compare(even, test="t", alpha=0.4)["score"]["new"].verdict is None


def test_dicts_of_one_system_are_not_taken_for_systems() -> None:
    by_measure = {"AP": {"q1": 0.1}, "RR": {"q1": 0.2}}
    for system_dict in ({"q1": {"map": 0.1}, "q2": {"map": 0.5}}, by_measure):
        with pytest.raises(InputError, match="these are scores of one system"):
            compare(system_dict)
    of_one = {"q1": {"map": 0.1}, "q2": {"map": 0.5}}
    comparison = compare({"a": of_one, "b": {"q1": {"map": 0.2}, "q2": {"map": 0.5}}})
    assert comparison["AP"]["b"].difference == pytest.approx(0.05)


def test_the_value_over_all_queries_is_no_query() -> None:
    system_scores = {
        "a": {"q1": 0.1, "q2": 0.5, "all": 0.3},
        "b": {"q1": 0.2, "q2": 0.5, "all": 0.35},
    }
    comparison = compare(system_scores)
    assert comparison["score"].query_ids == ["q1", "q2"]
    assert "a: 1 of 'all' left out: the value over all queries." in str(comparison)


def test_what_is_the_same_as_text_occurs_twice() -> None:
    with pytest.raises(InputError, match="the system '1' occurs twice"):
        compare({1: {"q": 1.0}, "1": {"q": 0.5}})
    with pytest.raises(InputError, match="the query '1' occurs twice"):
        compare({"a": {1: 1.0, "1": 0.5}, "b": {"1": 1.0}})


def test_numpys_numbers_are_numbers() -> None:
    options: Any = {"alpha": np.float64(0.05), "seed": np.int64(42), "flips": np.int64(100)}
    comparison = compare(SAKAI, measures="score", **options)
    assert comparison["score"].pairs == sakais_baseline().pairs


@cache
def sakais_baseline() -> Any:
    return compare(SAKAI)["score"]


@pytest.mark.parametrize("measures", [[], 5, [5]])
def test_measures_are_named(measures: Any) -> None:
    with pytest.raises(MeasureError):
        compare(SAKAI, measures=measures)
    with pytest.raises(MeasureError):
        compare({"q": {"d": 1}}, {"a": {"q": ["d"]}}, measures)


def test_measures_of_texts_are_said_to_be_left_out() -> None:
    system_scores = {"q": {"d": 1}}, {"a": {"q": ["d"]}, "b": {"q": ["x"]}}
    assert "Not compared, since they are texts: RelString." in str(
        compare(*system_scores, "RR RelString")
    )


@pytest.mark.parametrize("value", [3, None, [1.0]])
def test_what_is_no_dict_of_scores_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="expected the scores of a system"):
        compare({"AP": value, "RR": value})


def test_no_query_is_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="there is no query"):
        compare({"a": {"AP": {}}, "b": {"AP": {}}})


def test_judgments_in_groups_are_compared_too() -> None:
    qrels = {"q1": {"s1": {"d": 1}, "s2": {"e": 1}}, "q2": {"s1": {"d": 1}}}
    runs = {"old": {"q1": ["e"], "q2": ["x"]}, "new": {"q1": ["e", "d"], "q2": ["d"]}}
    comparison = compare(qrels, runs, "alpha_nDCG@5")
    (name,) = comparison.aligned.measures
    assert comparison[name]["new"].difference > 0
    assert comparison[name].systems[0].judged is None


def test_randomised_tukey_does_not_hang_on_the_order_of_systems() -> None:
    result = compare(SAKAI, correction="rtukey", baseline="a", flips=99)["score"]
    reversed_scores = {name: SAKAI[name] for name in "cba"}
    other = compare(reversed_scores, correction="rtukey", baseline="a", flips=99)["score"]
    assert result["b"].p_adjusted == other["b"].p_adjusted
