"""Compat from its definition: the overlap with the ideal ranking, depth by depth."""

import random

import pytest
from helpers import oracle
from helpers.profile import seeds

import cranfield
from cranfield import evaluate


def overlap(a: list[str], b: list[str], p: float, depth: int) -> tuple[float, float]:
    """Return the weighted sum of the overlaps, and of the weights."""
    score, weights, weight = 0.0, 0.0, 1.0
    for i in range(1, depth + 1):
        score += weight * len(set(a[:i]) & set(b[:i])) / i
        weights += weight
        weight *= p
    return score, weights


def by_definition(
    grades: dict[str, int], ranking: list[str], p: float, normalize: bool, depth: int
) -> float:
    place = {doc: i for i, doc in enumerate(ranking)}
    ideal = [doc for doc in grades if grades[doc] > 0]
    ideal.sort(key=lambda doc: (-grades[doc], place.get(doc, len(ranking))))
    score, weights = overlap(ranking, ideal, p, depth)
    return oracle.divide(score, overlap(ideal, ideal, p, depth)[0] if normalize else weights)


@pytest.mark.parametrize("p", [0.5, 0.95, 1])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("depth", [1, 7, 60])
def test_compat_is_the_overlap_depth_by_depth(p: float, normalize: bool, depth: int) -> None:
    measure = cranfield.Compat(p=p, normalize=normalize, depth=depth)
    for seed in seeds(30):
        qrels, run = oracle.make_collection(seed)
        scores_of_query = evaluate(qrels, run, measure).per_query(measure)
        for query, grades in qrels.items():
            ranking = oracle.rank_docs(run.get(query, {}))
            expected = by_definition(grades, ranking, p, normalize, depth)
            # The sums are the same, added in another order.
            assert scores_of_query[query] == pytest.approx(expected, rel=1e-14, abs=0)


def test_compat_of_a_run_that_orders_equal_grades_is_1() -> None:
    chance = random.Random(1)
    grades = {f"d{i}": i % 3 for i in range(12)}
    for _ in range(20):
        docs = chance.sample(list(grades), len(grades))
        assert cranfield.Compat(grades, sorted(docs, key=lambda doc: -grades[doc])) == 1
