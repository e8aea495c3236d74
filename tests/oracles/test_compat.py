"""Compat against ir_measures (0.4.3), whose provider `compat` is made after Clarke's script."""

import random

import ir_measures
import pytest
from helpers import oracle

import cranfield
from cranfield import evaluate


def score_by_ir_measures(
    qrels: oracle.Qrels, run: oracle.Run, p: float, normalize: bool
) -> dict[str, float]:
    measure = ir_measures.Compat(p=p, normalize=normalize)
    return {metric.query_id: metric.value for metric in measure.iter_calc(qrels, run)}


def score_by_cranfield(
    qrels: oracle.Qrels, run: oracle.Run, p: float, normalize: bool
) -> dict[str, float]:
    """Return cranfield's values at the depth that ir_measures takes; Clarke's is always 1,000."""
    values = {}
    for query, grades in qrels.items():
        n_ideal = sum(grade > 0 for grade in grades.values())
        if query in run and max(len(run[query]), n_ideal) > 0:
            depth = max(len(run[query]), n_ideal)
            measure = cranfield.Compat(p=p, normalize=normalize, depth=depth)
            scores = evaluate({query: grades}, {query: run[query]}, measure, ties="ascending")
            values[query] = scores[measure]
    return values


def may_differ_in_ideal(grades: dict[str, int], scores: dict[str, float]) -> bool:
    """Tell whether the ideal of ir_measures may differ from cranfield's.

    It orders equal grades by the run's *score*, with 0.0 for what was not retrieved: then a
    document with a score below 0 ranks below those that were not retrieved, and of tied scores
    those first that come first in the qrels, and not in the ranking.
    """
    shared_docs = [doc for doc in grades if grades[doc] > 0 and doc in scores]
    values = [(grades[doc], scores[doc]) for doc in shared_docs]
    return any(scores[doc] <= 0 for doc in shared_docs) or len(set(values)) < len(values)


@pytest.mark.parametrize("p", [0.5, 0.95])
@pytest.mark.parametrize("normalize", [True, False])
def test_compat(p: float, normalize: bool) -> None:
    n_compared = n_different = 0
    for seed in range(40):
        qrels, run = oracle.make_collection(seed)
        run = {query: docs for query, docs in run.items() if query in qrels and docs}
        qrels = {query: docs for query, docs in qrels.items() if query in run}
        ours_of_query, theirs_of_query = (
            score_by_cranfield(qrels, run, p, normalize),
            score_by_ir_measures(qrels, run, p, normalize),
        )
        assert ours_of_query.keys() == theirs_of_query.keys()
        for query, value in ours_of_query.items():
            n_compared += 1
            if value != pytest.approx(theirs_of_query[query], rel=1e-13, abs=0):
                assert may_differ_in_ideal(qrels[query], run[query])
                assert value > theirs_of_query[query], "its ideal is not the nearest one"
                n_different += 1
    assert (n_compared, n_different) == (409, 20)


def test_scores_above_0_and_no_ties() -> None:
    chance = random.Random(1)
    for seed in range(30):
        qrels, run = oracle.make_collection(seed)
        for docs in run.values():
            for doc in docs:
                docs[doc] = chance.uniform(1, 2)
        run = {query: docs for query, docs in run.items() if query in qrels and docs}
        ours_of_query, theirs_of_query = (
            score_by_cranfield(qrels, run, 0.95, True),
            score_by_ir_measures(qrels, run, 0.95, True),
        )
        for query, value in ours_of_query.items():
            assert value == pytest.approx(theirs_of_query[query], rel=1e-13, abs=0)
