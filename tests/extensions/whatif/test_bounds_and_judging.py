"""Bounds of runs judged in each way are those of all grades that unjudged documents may have."""

import itertools

import pytest
from helpers.judging_loop import (
    CHOICES,
    OPTION_CASES,
    Options,
    list_rankings,
    make_collection,
    nest_rows,
    select_docs,
)

from cranfield import evaluate, joint_bounds


@pytest.mark.parametrize(
    "options", [case for case in OPTION_CASES if len(case) < 3 and "ties" not in case]
)
def test_bounds_are_those_of_all_grades(options: Options) -> None:
    n_seen = 0
    for seed in range(40):
        qrels, rows, run = make_collection(seed, repeat_docs=False)
        run_dict, queries = nest_rows(rows, run), sorted(set(qrels) & run)
        top = max(grade for judged in qrels.values() for grade in judged.values())
        if not queries or top < 1:
            continue
        scores = evaluate(qrels, run_dict, "nDCG@3 AP R@2", bounds=True, **options)
        lowest, highest = scores.per_query("AP low"), scores.per_query("AP high")
        for query in queries:
            all_options = {name: choices[0] for name, choices in CHOICES.items()} | options
            docs = [
                doc
                for doc in dict(select_docs(rows, query, all_options))
                if doc not in qrels[query]
            ]
            ranked = next(
                list_rankings(select_docs(rows, query, all_options), qrels[query], all_options)
            )
            docs = [doc for doc in docs if doc in ranked]
            values = [
                evaluate(
                    {**qrels, query: qrels[query] | dict(zip(docs, grades, strict=True))},
                    run_dict,
                    "AP",
                    **options,
                ).per_query("AP")[query]
                for grades in itertools.product(range(top + 1), repeat=len(docs))
            ]
            assert lowest[query] == pytest.approx(min(values))
            assert highest[query] == pytest.approx(max(values))
            n_seen += 1
    assert n_seen > 20


@pytest.mark.parametrize("options", OPTION_CASES[:3], ids=str)
def test_joint_bounds_are_those_of_all_grades(options: Options) -> None:
    qrels = {"d1": {"d2": 1, "d3": 0}}
    runs = [
        {"d1": {"u": 1.0, "d2": 1.0, "d1": 3.0, "d3": 0.5}},
        {"d1": {"d3": 3.0, "w": 1.0, "u": 1.0, "d2": 1.0, "v": -1.0}},
    ]
    bounds = joint_bounds(qrels, runs, "P@3 nDCG@3", **options)
    for i, measure in enumerate(("P@3", "nDCG@3")):
        values = []
        for grades in itertools.product([0, 1], repeat=4):
            completion = dict(zip(["u", "v", "w", "d1"], grades, strict=True))
            first_scores, other = evaluate(
                {"d1": qrels["d1"] | completion}, runs, measure, **options
            ).values()
            values.append(first_scores[measure] - other[measure])
        assert (bounds.low[i], bounds.high[i]) == pytest.approx((min(values), max(values)))
    with pytest.raises(TypeError, match="unretrieved"):
        joint_bounds(qrels, runs, "P@3", unretrieved="below")
