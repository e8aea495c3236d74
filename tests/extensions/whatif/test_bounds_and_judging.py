"""Bounds of runs judged in each way are those of all grades that unjudged documents may have."""

import itertools

import pytest
from helpers.judging_loop import CHOICES, SOME, Options, as_dict, collection, orders, own_rows

from cranfield import evaluate, joint_bounds


@pytest.mark.parametrize("chosen", [one for one in SOME if len(one) < 3 and "ties" not in one])
def test_bounds_are_those_of_all_grades(chosen: Options) -> None:
    n_seen = 0
    for seed in range(40):
        qrels, rows, run = collection(seed, twice=False)
        nested, queries = as_dict(rows, run), sorted(set(qrels) & run)
        top = max(grade for judged in qrels.values() for grade in judged.values())
        if not queries or top < 1:
            continue
        found = evaluate(qrels, nested, "nDCG@3 AP R@2", bounds=True, **chosen)
        lowest, highest = found.per_query("AP low"), found.per_query("AP high")
        for query in queries:
            how = {name: choices[0] for name, choices in CHOICES.items()} | chosen
            docs = [doc for doc in dict(own_rows(rows, query, how)) if doc not in qrels[query]]
            ranked = next(orders(own_rows(rows, query, how), qrels[query], how))
            docs = [doc for doc in docs if doc in ranked]
            values = [
                evaluate(
                    {**qrels, query: qrels[query] | dict(zip(docs, grades, strict=True))},
                    nested,
                    "AP",
                    **chosen,
                ).per_query("AP")[query]
                for grades in itertools.product(range(top + 1), repeat=len(docs))
            ]
            assert lowest[query] == pytest.approx(min(values))
            assert highest[query] == pytest.approx(max(values))
            n_seen += 1
    assert n_seen > 20


@pytest.mark.parametrize("chosen", SOME[:3], ids=str)
def test_joint_bounds_are_those_of_all_grades(chosen: Options) -> None:
    qrels = {"d1": {"d2": 1, "d3": 0}}
    runs = [
        {"d1": {"u": 1.0, "d2": 1.0, "d1": 3.0, "d3": 0.5}},
        {"d1": {"d3": 3.0, "w": 1.0, "u": 1.0, "d2": 1.0, "v": -1.0}},
    ]
    found = joint_bounds(qrels, runs, "P@3 nDCG@3", **chosen)
    for i, measure in enumerate(("P@3", "nDCG@3")):
        values = []
        for grades in itertools.product([0, 1], repeat=4):
            more = dict(zip(["u", "v", "w", "d1"], grades, strict=True))
            one, other = evaluate({"d1": qrels["d1"] | more}, runs, measure, **chosen).values()
            values.append(one[measure] - other[measure])
        assert (found.low[i], found.high[i]) == pytest.approx((min(values), max(values)))
    with pytest.raises(TypeError, match="unretrieved"):
        joint_bounds(qrels, runs, "P@3", unretrieved="below")
