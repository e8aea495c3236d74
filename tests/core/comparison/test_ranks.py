"""Ranks: the places that systems may have, and the subset that holds the best, by flips."""

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.vectors import CASE_A, to_fractions

from cranfield import compare
from cranfield.arrays.ranked import Floats
from cranfield.comparison import ranks as module
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.ranks import BestTest
from cranfield.comparison.system_pairs import SystemPairs

DEMO = DEMO_QRELS, [str(path) for path in DEMO_RUNS]
CASE_A_SCORES = {
    name: {f"q{i:02}": score for i, score in enumerate(to_fractions(hundredths))}
    for name, hundredths in CASE_A.items()
}


def student_t(differences: Floats) -> float:
    """Return t by its definition; 0 where all differences are 0."""
    if not differences.any():
        return 0.0
    sd = differences.std(ddof=1)
    return float(np.inf if sd == 0 else differences.mean() / sd * len(differences) ** 0.5)


def greatest_lead(scores: Floats, signs: Floats, system: int) -> float:
    """Return the greatest t of another system over one, the differences with these signs."""
    rivals = [j for j in range(scores.shape[1]) if j != system]
    return max(student_t(signs * (scores[:, j] - scores[:, system])) for j in rivals)


def best_p_by_loop(scores: Floats, all_signs: list[Floats]) -> list[float]:
    """Return the share of flips in which another system is as far ahead as observed."""
    p = []
    for system in range(scores.shape[1]):
        observed_lead = greatest_lead(scores, np.ones(len(scores)), system)
        leads = np.array([greatest_lead(scores, signs, system) for signs in all_signs])
        p.append(float((leads >= observed_lead - 1e-9).mean()))
    return p


def make_best_test(scores: Floats, *, higher_is_better: bool = True) -> BestTest:
    """Return the test of the best system, all pairs of the columns compared."""
    pairs = PairedScores(scores, *SystemPairs.choose(scores.shape[1]))
    return BestTest(pairs, Flips(len(scores)), 0.05, higher_is_better)


# ---- the subset of the best ----------------------------------------------------------------------


def test_case_a_has_the_counts_of_all_flips() -> None:
    ranks = compare(CASE_A_SCORES, all_pairs=True)["score"].ranks
    assert ranks is not None
    assert {name: rank.p_best * 2**20 for name, rank in ranks.items()} == {
        "a": 1_014_710,
        "b": 63_792,
        "c": 98_576,
    }


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_all_flips_give_what_a_loop_over_them_gives(higher_is_better: bool) -> None:
    source = np.random.default_rng(11)
    all_signs = [np.array(signs) for signs in product((-1.0, 1.0), repeat=7)]
    scores = source.integers(0, 4, (7, 4)) / 4
    scores[:, 3] = scores[:, 0]  # the same system twice
    p = make_best_test(scores, higher_is_better=higher_is_better).best_p_values()
    expected_p = best_p_by_loop(scores if higher_is_better else -scores, all_signs)
    assert p.tolist() == pytest.approx(expected_p, abs=1e-12)
    assert p[3] == p[0]


def test_drawn_flips_agree_with_flips_of_another_generator() -> None:
    source = np.random.default_rng(5)
    scores = source.random((25, 3)) + np.array([0.0, 0.1, 0.2])
    p = make_best_test(scores).best_p_values()
    n_drawn = 400
    expected_p = best_p_by_loop(scores, list(source.choice((-1.0, 1.0), (n_drawn, 25))))
    for share, expected_share in zip(p.tolist(), expected_p, strict=True):
        assert abs(share - expected_share) <= 4 * (0.25 / n_drawn) ** 0.5
    assert (p * 100_001).round(6).tolist() == (p * 100_001).round().tolist()  # (count + 1)/(n + 1)


def test_where_there_are_many_sums_fewer_flips_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORK", 1_000)
    scores = np.random.default_rng(4).random((30, 3))
    p = make_best_test(scores).best_p_values()
    assert (p * 10_001).round(6).tolist() == (p * 10_001).round().tolist()


def test_nothing_is_tested_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: BestTest) -> Floats:
        raise AssertionError("ranks were computed")

    monkeypatch.setattr(BestTest, "best_p_values", fail)
    comparison = compare(CASE_A_SCORES, all_pairs=True)
    assert comparison["score"].pairs
    assert str(compare(CASE_A_SCORES))
    with pytest.raises(AssertionError, match="ranks were computed"):
        str(comparison)


# ---- the places ----------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["holm", "maxt", "bonferroni"])
def test_places_count_the_systems_that_differ(correction: Any) -> None:
    result = compare(*DEMO, "nDCG@10", all_pairs=True, correction=correction)["nDCG@10"]
    assert result.ranks is not None
    for system in result.systems:
        rivals = [other.name for other in result.systems if other is not system]
        verdicts = [result.between(system.name, other)[1] for other in rivals]
        rank = result.ranks[system.name]
        assert rank.low == 1 + verdicts.count("worse")
        assert rank.high == len(result.systems) - verdicts.count("better")


def test_the_demonstration_has_the_places_of_the_specification() -> None:
    ranks = compare(*DEMO, "nDCG@10", all_pairs=True)["nDCG@10"].ranks
    assert ranks is not None
    places = {name: (rank.low, rank.high) for name, rank in ranks.items()}
    assert places == {"dense": (1, 1), "fusion": (2, 2), "bm25": (3, 4), "tfidf": (3, 4)}


@pytest.mark.filterwarnings("ignore")
def test_twelve_systems_of_trec_are_two_groups(data: Path) -> None:
    runs = sorted(map(str, (data / "dl19").glob("*.run.gz")))
    comparison = compare(
        str(data / "dl19" / "qrels.txt"), runs, "nDCG@10", all_pairs=True, correction="maxt"
    )
    ranks = comparison["nDCG@10"].ranks
    assert ranks is not None
    places = sorted((rank.low, rank.high) for rank in ranks.values())
    assert places == [(1, 10)] * 10 + [(11, 12)] * 2
    text = comparison.to_text(85)
    assert max(map(len, text.split("\n"))) <= 85


def test_less_is_better_turns_the_places() -> None:
    slow = {f"q{i}": 100.0 + i for i in range(12)}
    systems = {"slow": slow, "fast": {query: value - 50 for query, value in slow.items()}}
    result = compare(
        {name: {"ms": scores} for name, scores in systems.items()},
        all_pairs=True,
        less_is_better="ms",
    )["ms"]
    assert result.ranks is not None
    assert [str(result.ranks[name]) for name in ("fast", "slow")] == ["1 *", "2  "]
    assert result.ranks["slow"].p_best == 1 / 2**12  # only with all signs as they are


# ---- where they are shown ------------------------------------------------------------------------


def test_a_column_and_a_sentence_show_them() -> None:
    table = compare(*DEMO, "nDCG@10", all_pairs=True).tables()[0]
    column = list(table.header).index("ranks")
    assert [row[column] for row in table.rows] == ["1 *", "2  ", "3-4  ", "3-4  "]
    lines = compare(*DEMO, "nDCG@10", all_pairs=True, alpha=0.1).tables()[-1].notes
    (line,) = [line for line in lines if line.startswith("ranks: ")]
    assert "all right at once in 90% of samples; * may be best" in line
    assert len(line) <= 80


def test_skewed_differences_make_the_star_less_sure() -> None:
    flat = {f"q{i:02}": 0.5 for i in range(40)}
    lucky = {query: 0.51 if i < 39 else 0.0 for i, query in enumerate(flat)}
    comparison = compare({"flat": flat, "lucky": lucky}, all_pairs=True)
    assert [note.code for note in comparison.notes].count("skewed") == 1
    assert "* misses the best more often, at alpha 0.05 in up to 9%." in str(comparison)
    even = {query: 0.45 + 0.1 * (i % 2) for i, query in enumerate(flat)}
    assert "misses the best" not in str(compare({"flat": flat, "even": even}, all_pairs=True))


@pytest.mark.parametrize(
    "options", [{"correction": "bh"}, {"correction": "none"}, {"test": "bayes"}]
)
def test_without_a_correction_for_any_false_alarm_there_are_none(options: Any) -> None:
    comparison = compare(*DEMO, "nDCG@10", all_pairs=True, **options)
    assert comparison["nDCG@10"].ranks is None
    assert "ranks" not in comparison.tables()[0].header
    (note,) = [note.text for note in comparison.notes if note.code == "correction"]
    assert note.endswith("So there are no ranks, which are right at once with holm or maxt.")
    assert comparison.rows()[0]["rank_low"] is None
    assert "ranks" not in json.loads(comparison.to_json())["results"][0]
    with_baseline = compare(*DEMO, "nDCG@10", **options)
    assert "ranks" not in str([note.text for note in with_baseline.notes])


def test_one_comparison_needs_no_correction() -> None:
    two_systems = {name: CASE_A_SCORES[name] for name in "ab"}
    ranks = compare(two_systems, all_pairs=True, correction="none")["score"].ranks
    assert ranks is not None
    assert ranks["a"].may_be_best


def test_json_and_rows_have_every_digit() -> None:
    comparison = compare(CASE_A_SCORES, all_pairs=True)
    result = json.loads(comparison.to_json())["results"][0]
    p_of_system = {"a": 1_014_710 / 2**20, "b": 63_792 / 2**20, "c": 98_576 / 2**20}
    assert result["ranks"] == {
        name: {"low": 1, "high": 3, "p_best": p, "may_be_best": True}
        for name, p in p_of_system.items()
    }
    row = comparison.rows()[-1]
    assert (row["system"], row["other"]) == ("b", "c")
    assert [row[name] for name in ("rank_low", "rank_high", "p_best")] == [1, 3, p_of_system["b"]]
    assert row["other_p_best"] == p_of_system["c"]
    assert (row["other_rank_low"], row["other_rank_high"]) == (1, 3)
    assert compare(CASE_A_SCORES).rows()[0]["p_best"] is None


def test_the_order_of_systems_changes_nothing() -> None:
    scores = np.array([CASE_A[name] for name in "abc"], float).T[:12]
    expected_p = make_best_test(scores).best_p_values()
    for order in permutations(range(3)):
        p = make_best_test(scores[:, list(order)]).best_p_values()
        assert p.tolist() == expected_p[list(order)].tolist()
