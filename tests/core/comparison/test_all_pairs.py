"""All pairs of the systems of a comparison: the same scores, compared once more."""

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from scipy.stats import ttest_rel

from cranfield import Comparison, compare
from cranfield.arrays.ranked import Floats
from cranfield.comparison import compare as module
from cranfield.comparison.alignment import align
from cranfield.comparison.compare import compare_all_pairs, compare_scores
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.settings import Settings
from cranfield.lazy import MAX_CACHED_ROWS

DEMO = DEMO_QRELS, [str(path) for path in DEMO_RUNS]
LABELS = {f"q{i:02}": "even" if i % 2 == 0 else "odd" for i in range(1, 41)}


def is_same_comparison(comparison: Comparison, other: Comparison) -> bool:
    """Tell whether two comparisons have the same numbers, to the last bit, and the same words."""
    return comparison.to_json() == other.to_json() and str(comparison) == str(other)


def make_scores(n_systems: int, n_queries: int) -> tuple[Floats, dict[str, dict[str, float]]]:
    """Return scores by chance: (n_queries, n_systems), and as a dict."""
    source = np.random.default_rng(7)
    hard = source.random((n_queries, 1))
    values = (hard + source.normal(0, 0.2, (n_queries, n_systems))).clip(0, 1).round(3)
    ids = [f"q{i:05}" for i in range(n_queries)]
    columns = {
        f"s{i:02}": dict(zip(ids, system_scores.tolist(), strict=True))
        for i, system_scores in enumerate(values.T)
    }
    return values, columns


# ---- aligned scores, compared -------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"baseline": "dense"},
        {"all_pairs": True},
        {"test": "t", "family": "all"},
        {"all_pairs": True, "correction": "maxt", "family": "all"},
        {"all_pairs": True, "test": "bayes", "rope": 0.01},
        {"test": "wilcoxon", "correction": "bh"},
        {"bounds": True},
    ],
)
def test_aligned_scores_give_what_compare_finds(options: dict[str, Any]) -> None:
    expected_comparison = compare(*DEMO, "nDCG@10 AP GMAP", **options)
    comparison = compare_scores(align(*DEMO, "nDCG@10 AP GMAP"), Settings.of(options))
    assert is_same_comparison(comparison, expected_comparison)


def test_aligned_scores_are_compared_on_labelled_queries() -> None:
    comparison = compare(*DEMO, "AP", baseline="bm25", slices=LABELS)
    assert is_same_comparison(
        compare_scores(comparison.aligned, comparison.settings, LABELS), comparison
    )
    assert [result.slice for result in comparison.results] == [None, "odd", "even"]


# ---- every pair ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"test": "sign"}, {"correction": "rtukey"}])
def test_every_pair_is_what_all_pairs_finds(options: dict[str, Any]) -> None:
    comparison = compare_all_pairs(compare(*DEMO, "nDCG@10 AP", baseline="dense", **options))
    assert is_same_comparison(comparison, compare(*DEMO, "nDCG@10 AP", all_pairs=True, **options))


def test_a_comparison_of_all_pairs_is_left_as_it_is() -> None:
    comparison = compare(*DEMO, all_pairs=True)
    assert compare_all_pairs(comparison) is comparison


@pytest.mark.parametrize(
    ("options", "test", "correction"),
    [
        ({"flips": 100}, "t", "holm"),
        ({"flips": 100, "correction": "maxt"}, "t", "holm"),
        ({"flips": 100, "correction": "rtukey"}, "t", "tukey"),
        ({"flips": 10, "test": "bootstrap", "correction": "by"}, "t", "by"),
        ({"test": "sign", "correction": "bonferroni"}, "sign", "bonferroni"),
    ],
)
def test_many_pairs_of_many_queries_draw_no_flips(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], test: str, correction: str
) -> None:
    monkeypatch.setattr(module, "MANY_DIFFERENCES", 66 * 200)
    values, columns = make_scores(12, 201)
    base = compare(columns, **options)
    comparison = compare_all_pairs(base)
    assert (comparison.settings.test, comparison.settings.correction) == (test, correction)
    assert comparison.settings.baseline is None
    codes = [note.code for note in comparison.notes]
    assert ("pairs-by-t" in codes) == (test == "t")
    assert "pairs-by-t" not in [note.code for note in base.notes]
    assert len(comparison["score"].pairs) == comparison["score"].comparisons == 66
    if correction in ("holm", "by"):
        assert_by_loop(comparison, values, correction)


def assert_by_loop(comparison: Comparison, values: Floats, correction: str) -> None:
    """Hold the pairs against scipy's t-test, counts by hand, and the correction's definition."""
    pairs = comparison["score"].pairs
    p = []
    for pair, (a, b) in zip(pairs, combinations(range(values.shape[1]), 2), strict=True):
        differences = values[:, a] - values[:, b]
        assert (pair.system, pair.other) == (f"s{a:02}", f"s{b:02}")
        assert pair.wins == sum(difference > 1e-9 for difference in differences.tolist())
        assert pair.losses == sum(difference < -1e-9 for difference in differences.tolist())
        assert pair.wins + pair.ties + pair.losses == len(values)
        p.append(float(ttest_rel(values[:, a], values[:, b]).pvalue))
        assert pair.p == pytest.approx(p[-1], rel=1e-6, abs=1e-300)
    rising, m = sorted(p), len(p)
    if correction == "holm":
        steps = {
            p_value: max((m - i) * rising[i] for i in range(rising.index(p_value) + 1))
            for p_value in p
        }
    else:
        harmonic = sum(1 / i for i in range(1, m + 1))
        steps = {
            p_value: min(
                harmonic * m * rising[i] / (i + 1) for i in range(rising.index(p_value), m)
            )
            for p_value in p
        }
    for pair, p_value in zip(pairs, p, strict=True):
        assert pair.p_adjusted == pytest.approx(min(steps[p_value], 1), rel=1e-6, abs=1e-300)
        assert (pair.verdict is not None) == (min(steps[p_value], 1) <= 0.05)


def test_differences_of_many_pairs_are_not_kept() -> None:
    values, _ = make_scores(3, 100)
    two_pairs = PairedScores(values, np.array([0, 1]), np.array([1, 2]))
    assert two_pairs.differences is two_pairs.differences
    all_pairs = np.triu_indices(100, 1)
    source = np.random.default_rng(1)
    large = PairedScores(source.integers(0, 9, (60, 100)) / 8, *all_pairs)
    assert len(large) == 60 * 100 * 99 / 2 > MAX_CACHED_ROWS
    assert large.differences is not large.differences
    expected = [
        [row[a] - row[b] for a, b in zip(*all_pairs, strict=True)] for row in large.scores.tolist()
    ]
    assert large.differences.tolist() == expected
    assert large.totals.tolist() == pytest.approx(np.sum(expected, axis=0).tolist())


# ---- one system ---------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
@pytest.mark.parametrize("all_pairs", [False, True])
def test_one_system_has_no_pairs(measure: str, all_pairs: bool) -> None:
    comparison = compare(DEMO[0], DEMO[1][0], measure, all_pairs=all_pairs)
    (result,) = comparison.results
    assert result.by_ratio == (measure == "GMAP")
    assert (len(result.systems), len(result.pairs), result.comparisons) == (1, 0, 0)
    assert compare_all_pairs(comparison)[measure].pairs == []
    for form in comparison.forms:
        assert comparison.in_form(form) or form == "jsonl"  # which has a line for each pair
    assert json.loads(comparison.to_json())["results"][0]["pairs"] == []
    assert len(comparison.tables(means=True, changes=3)) == 1


# ---- a pair as an object ------------------------------------------------------------------------


def test_a_pair_is_hashable_and_names_its_values_once() -> None:
    pair, same_pair = (compare(*DEMO, "AP", bounds=True)["AP"]["dense"] for _ in range(2))
    assert len({pair, same_pair}) == 1
    assert len(dir(pair)) == len({*dir(pair)})
    assert {"d_z", "clusters", "probability_better"} <= {*dir(pair)}
    with pytest.raises(AttributeError, match="'Pair' object has no attribute 'nonsense'"):
        getattr(pair, "nonsense")  # noqa: B009 - what type checkers refuse, too


def test_a_baseline_that_may_have_been_chosen_for_its_mean_is_noted() -> None:
    chance = np.random.default_rng(7)
    queries = [f"q{i}" for i in range(20)]
    scores_of = {
        name: dict(zip(queries, (chance.random(20) / 2 + shift).tolist(), strict=True))
        for name, shift in (("a", 0.1), ("b", 0.4), ("c", 0.0), ("d", 0.05))
    }
    text = "b has the best mean score of 4: if it was chosen for that, the family is all pairs"
    assert text in str(compare(scores_of, baseline="b"))
    for options in (
        {"baseline": "a"},
        {"all_pairs": True},
        {"baseline": "b", "correction": "tukey"},
        {"baseline": "b", "correction": "none"},
    ):
        assert "chosen for that" not in str(compare(scores_of, **options))
    reversed_comparison = compare(scores_of, baseline="c", less_is_better="score")
    assert "c has the best mean score of 4" in str(reversed_comparison)
    assert "chosen for that" not in str(compare({k: scores_of[k] for k in "abc"}, baseline="b"))
