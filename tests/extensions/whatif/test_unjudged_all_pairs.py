"""Which pairs have bounds for unjudged documents: unless asked for, little judged systems'."""

import random

import pytest
from helpers.judged_runs import QRELS, make_runs

from cranfield import JointBounds, compare, joint_bounds
from cranfield.comparison.compare import compare_all_pairs
from cranfield.extensions.whatif.extremes import RatioExtremes
from cranfield.extensions.whatif.unjudged import UnjudgedDocuments

RUNS = make_runs(base=(3, 100), near=(2, 95), ltr=(1, 40))


def read_ends(bounds: JointBounds) -> tuple[float, float]:
    """Return the lowest and the highest difference of one measure."""
    return bounds.low.item(), bounds.high.item()


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
            pair_ends = pairs[names].unjudged_low, pairs[names].unjudged_high
            assert pair_ends == pytest.approx(read_ends(bounds))
            assert pairs[names].unjudged_robust == bounds.robust.item()
    assert comparison["RR@10"]["ltr"].unjudged_low is None  # it takes long


def test_a_pair_has_bounds_under_the_measures_that_judge_it_little() -> None:
    """Of ltr the last documents are unjudged, of top the first two."""
    top = {query: ["x", "y", "r", *(f"n{i}" for i in range(7))] for query in QRELS}
    comparison = compare(QRELS, {**RUNS, "top": top}, "P@10 P@3", baseline="base")
    for measure, name in (("P@10", "ltr"), ("P@3", "top")):
        pairs = {pair.system: pair for pair in comparison[measure].pairs}
        bounds = joint_bounds(QRELS, [{**RUNS, "top": top}[name], RUNS["base"]], measure)
        assert pairs[name].unjudged_low == pytest.approx(read_ends(bounds)[0])
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


@pytest.mark.parametrize("measure", ["nDCG@3", "nDCG(gain='exp2')@5", "DCG@4", "P@3", "nDCG"])
def test_many_pairs_at_once_have_the_bounds_of_each(measure: str) -> None:
    """Most documents are unjudged, and far more of them than an ideal ranking has."""
    chance = random.Random(5)
    docs = [f"d{i:02}" for i in range(60)]
    qrels = {f"q{q}": {doc: chance.randint(0, 3) for doc in docs[:6]} for q in range(4)}
    runs = {
        f"run{i}": {query: chance.sample(docs, chance.randint(1, 50)) for query in qrels}
        for i in range(5)
    }
    result = compare(qrels, runs, measure, all_pairs=True, bounds=True)[measure]
    for pair in result.pairs:
        bounds = joint_bounds(qrels, [runs[pair.system], runs[pair.other]], measure)
        assert (pair.unjudged_low, pair.unjudged_high) == read_ends(bounds)


def test_an_ndcg_looks_at_no_more_documents_than_may_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first 3 k unjudged documents of each query; all have the same bounds."""
    qrels, docs = {"q1": {"a": 2}, "q2": {"b": 1}}, [f"d{i}" for i in range(80)]
    runs = [{query: ["a", "b", *docs[i:]] for query in qrels} for i in (0, 3)]
    bounds, n_documents = joint_bounds(qrels, runs, "nDCG@4"), []
    select_documents = RatioExtremes.select_documents

    def count_documents(extremes: RatioExtremes, unjudged: UnjudgedDocuments) -> UnjudgedDocuments:
        documents = select_documents(extremes, unjudged)
        n_documents.append((len(documents.rank), len(unjudged.rank)))
        return documents

    monkeypatch.setattr(RatioExtremes, "select_documents", count_documents)
    joint_bounds(qrels, runs, "nDCG@4")
    assert all(n == min(n_all, 2 * 3 * 4) for n, n_all in n_documents)
    monkeypatch.setattr(
        RatioExtremes, "select_documents", lambda extremes, unjudged: unjudged.cut_at(10_000)
    )
    all_bounds = joint_bounds(qrels, runs, "nDCG@4")
    assert read_ends(bounds) == read_ends(all_bounds)
