"""Against statsmodels and scipy.stats: tests, intervals, corrections, power of paired scores."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.vectors import CASE_A, to_fractions
from scipy import stats
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from cranfield import compare, gate, power, queries_needed
from cranfield.arrays.ranked import Floats
from cranfield.comparison.anova import Anova, tukey
from cranfield.comparison.corrections import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    holm,
)
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.significance import Moments, sign_test, t_interval, t_test, wilcoxon

A, B = (to_fractions(CASE_A[name]) for name in "ab")


def make_scores(n: int, m: int, seed: int, *, digits: int = 12) -> Floats:
    """Return scores of m systems on n queries, some harder than others: (n, m)."""
    chance = np.random.default_rng(seed)
    unclipped_scores: Floats = chance.normal(0.5, 0.15, (n, 1)) + chance.normal(0, 0.1, (n, m))
    return np.clip(unclipped_scores + np.linspace(0, 0.05, m), 0, 1).round(digits)


def pair_all(scores: Floats) -> PairedScores:
    left, right = np.array(list(combinations(range(scores.shape[1]), 2))).T
    return PairedScores(scores, left, right)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("holm", holm),
        ("bonferroni", bonferroni),
        ("fdr_bh", benjamini_hochberg),
        ("fdr_by", benjamini_yekutieli),
    ],
)
@pytest.mark.parametrize("m", [1, 2, 15, 300])
def test_corrections(name: str, ours: Callable[[Floats], Floats], m: int) -> None:
    chance = np.random.default_rng(m)
    for power_of in (1, 3, 9):  # few small ones, and many
        p = chance.random(m) ** power_of
        for p_values in (p, p.round(1).clip(0.1), np.sort(p)):  # with equal ones, and in order
            np.testing.assert_allclose(
                ours(p_values), multipletests(p_values, method=name)[1], 1e-13
            )


def run_anova(scores: Floats) -> "pd.Series[float]":
    """Return F of the systems, and its degrees of freedom, by statsmodels."""
    query, system = np.indices(scores.shape)
    columns = {"query": query.ravel(), "system": system.ravel(), "score": scores.ravel()}
    anova = AnovaRM(pd.DataFrame(columns), "score", "query", within=["system"]).fit()
    systems_row: pd.Series[float] = anova.anova_table.loc["system"]
    return systems_row


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (43, 12), (500, 4)])
def test_analysis_of_variance(n: int, m: int) -> None:
    values = make_scores(n, m, n)
    ours, theirs = Anova.from_scores(values), run_anova(values)
    assert ours is not None
    assert (m - 1, ours.residual_degrees) == (theirs["Num DF"], theirs["Den DF"])
    assert ours.system_variance / ours.residual_variance == pytest.approx(
        theirs["F Value"], rel=1e-8
    )


@pytest.mark.parametrize(("n", "m"), [(20, 3), (43, 6)])
def test_tukey(n: int, m: int) -> None:
    """By the residual that is in F, the variance of the systems' means beside that of a mean."""
    values = make_scores(n, m, n)
    means = values.mean(axis=0)
    error = math.sqrt(means.var(ddof=1) / run_anova(values)["F Value"])  # of a mean
    expected = [
        stats.studentized_range.sf(abs(x - y) / error, m, (n - 1) * (m - 1))
        for x, y in combinations(means, 2)
    ]
    np.testing.assert_allclose(tukey(pair_all(values)), expected, 1e-6, 1e-9)


@pytest.mark.parametrize("n", [2, 3, 20, 43, 1_000])
def test_student(n: int) -> None:
    values = make_scores(n, 4, 100 + n)
    paired_scores = pair_all(values)
    moments = Moments.of(paired_scores)
    p, low, high = t_test(moments), *t_interval(moments, 0.1)
    for i, (x, y) in enumerate(combinations(values.T, 2)):
        theirs = stats.ttest_rel(x, y)
        assert moments.t[i] == pytest.approx(theirs.statistic, rel=1e-9)
        assert p[i] == pytest.approx(theirs.pvalue, rel=1e-9)
        interval = theirs.confidence_interval(0.9)
        assert (low[i], high[i]) == pytest.approx((interval.low, interval.high), rel=1e-9)


@pytest.mark.parametrize("digits", [1, 12], ids=["tied", "untied"])
@pytest.mark.parametrize("n", [5, 12, 43, 60, 1_000])
def test_ranks_and_signs(n: int, digits: int) -> None:
    values = make_scores(n, 4, 200 + n, digits=digits)
    paired_scores = pair_all(values)
    n_drawn = 20_000
    ours = zip(wilcoxon(paired_scores, Flips(n, n_drawn)), sign_test(paired_scores), strict=True)
    for (rank_p, sign_p), (x, y) in zip(ours, combinations(values.T, 2), strict=True):
        d = (x - y).round(9)
        d = d[d != 0]
        if n <= 20:  # all flips, with ties too
            all_flips = stats.PermutationMethod(n_resamples=2**n)
            assert rank_p == pytest.approx(stats.wilcoxon(d, method=all_flips).pvalue, rel=1e-12)
        else:
            p = stats.wilcoxon(d, method="asymptotic").pvalue  # good to 0.02 at 25 differences
            chance = 4 * np.sqrt(p * (1 - p) / n_drawn)
            assert rank_p == pytest.approx(p, abs=chance + 0.02)
        theirs = stats.binomtest(int((d > 0).sum()), len(d)).pvalue
        assert sign_p == pytest.approx(theirs, rel=1e-9)


def test_they_are_what_compare_shows() -> None:
    values = make_scores(43, 3, 7)
    scores_of_system = {
        f"s{j}": {str(i): x for i, x in enumerate(scores)} for j, scores in enumerate(values.T)
    }
    pairs = compare(scores_of_system, all_pairs=True, test="t")["score"].pairs
    theirs = [stats.ttest_rel(x, y).pvalue for x, y in combinations(values.T, 2)]
    assert [pair.p for pair in pairs] == pytest.approx(theirs, rel=1e-9)
    corrected_p = multipletests(theirs, method="holm")[1]
    assert [pair.p_adjusted for pair in pairs] == pytest.approx(corrected_p.tolist(), rel=1e-9)


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
    assert queries_needed(effect=effect) == math.ceil(theirs)
    theirs = TTestPower().solve_power(effect, power=0.9, alpha=0.01, alternative="larger")
    assert queries_needed(margin=effect, sd=1, power=0.9, alpha=0.01) == math.ceil(theirs)


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_equivalence(margin: float) -> None:
    a, b = np.array(A), np.array(B)
    theirs = ttost_paired(a, b, -margin, margin)
    scores = {
        name: {str(i): x for i, x in enumerate(scores_of_query)}
        for name, scores_of_query in (("a", a), ("b", b))
    }
    ours = gate(scores, baseline="b", margin=margin, equivalence=True, test="t").verdicts[0]
    assert ours.p == pytest.approx(theirs[0], rel=1e-10)
