"""Which pairs have bounds for unjudged documents: unless asked for, little judged systems'."""

import pytest
from helpers.judged_runs import QRELS, make_runs

from cranfield import compare, joint_bounds
from cranfield.comparison.compare import compare_all_pairs

RUNS = make_runs(base=(3, 100), near=(2, 95), ltr=(1, 40))


def test_pairs_of_a_little_judged_system_have_bounds() -> None:
    comparison = compare(QRELS, RUNS, "P@10 nDCG@10 RR@10")
    for measure in ("P@10", "nDCG@10"):
        pairs = {(pair.system, pair.other): pair for pair in comparison[measure].pairs}
        pairs |= {
            (pair.system, pair.other): pair for pair in compare_all_pairs(comparison)[measure].pairs
        }
        assert pairs["base", "near"].unjudged_low is pairs["near", "base"].unjudged_low is None
        assert pairs["near", "base"].unjudged_robust is None
        for names in (("ltr", "base"), ("base", "ltr"), ("near", "ltr")):
            bounds = joint_bounds(QRELS, [RUNS[name] for name in names], measure)
            assert pairs[names].unjudged_low == pytest.approx(bounds.low.item())
            assert pairs[names].unjudged_high == pytest.approx(bounds.high.item())
            assert pairs[names].unjudged_robust == bounds.robust.item()
    assert comparison["RR@10"]["ltr"].unjudged_low is None  # it takes long


def test_a_pair_has_bounds_under_the_measures_that_judge_it_little() -> None:
    """Of ltr the last documents are unjudged, of top the first two."""
    top = {query: ["x", "y", "r", *(f"n{i}" for i in range(7))] for query in QRELS}
    comparison = compare(QRELS, {**RUNS, "top": top}, "P@10 P@3", baseline="base")
    for measure, name in (("P@10", "ltr"), ("P@3", "top")):
        pairs = {pair.system: pair for pair in comparison[measure].pairs}
        bounds = joint_bounds(QRELS, [{**RUNS, "top": top}[name], RUNS["base"]], measure)
        assert pairs[name].unjudged_low == pytest.approx(bounds.low.item())
        assert [pair.unjudged_robust for pair in pairs.values()].count(None) == 2


def test_bounds_that_are_asked_for_are_shown_beside_each_of_several_baselines() -> None:
    (table,) = compare(QRELS, RUNS, "P@10", baseline=["base", "near"], bounds=True).tables()
    assert "vs base unjudged" in table.headings
    assert "vs near unjudged" in table.headings


def test_all_pairs_have_bounds_that_are_asked_for() -> None:
    comparison = compare(QRELS, RUNS, "P@10 RR@10", bounds=True)
    pairs = [pair for result in comparison.results for pair in result.pairs]
    assert all(pair.unjudged_low is not None for pair in pairs)
    pair_comparison = compare_all_pairs(comparison)
    assert pair_comparison["P@10"]["base", "near"].unjudged_low is None


def test_a_verdict_holds_where_its_bounds_have_one_sign() -> None:
    """Of ltr, 21 places are unjudged: they can only better its P@10, as cur is all judged."""
    runs = make_runs(ltr=(1, 79), cur=(2, 100))
    runs["cur"].update(
        {query: [doc.replace("r", "n1") for doc in runs["cur"][query]] for query in QRELS}
    )
    pair = compare(QRELS, runs, "P@10", baseline="cur")["P@10"]["ltr"]
    assert pair.unjudged_low == pytest.approx(1 / 10)
    assert pair.unjudged_high == pytest.approx(1 / 10 + 21 / 100)
    assert "Little judged" not in str(compare(QRELS, runs, "P@10", baseline="cur"))
    assert "Little judged" in str(compare(QRELS, runs, "RR@10", baseline="cur"))
