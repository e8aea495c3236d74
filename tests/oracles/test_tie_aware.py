"""Ties against tie-aware-retrieval-metrics 0.1.1 and scikit-learn's ndcg_score.

What they do otherwise, and where that is kept out or held here:

- Both know only the documents passed in: what is relevant and was not retrieved counts neither in
  recall nor in the ideal. The collections here have all judged documents retrieved, and
  `test_what_was_not_retrieved` shows the difference.
- tie-aware-retrieval-metrics knows relevant or not, no grades; nDCG is of binary gains.
- Its highest and lowest precision, F1 and nDCG divide by the number of documents where that is
  less than k; its expected ones by k, so that the mean may lie outside its own extremes. P, F
  and nDCG here have one definition. Held in `test_extremes_beyond_the_end`.
- Its k is a number always; without a cutoff is k = number of documents.
- scikit-learn refuses a single document: there are two and more.
"""

import random
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import dcg_score, ndcg_score
from trm import evaluate as tie_aware

from cranfield import evaluate

SEED = 20_080_330
NAMES = {
    "ndcg": "nDCG(gain={1: 1, 2: 1, 3: 1})",
    "mrr": "RR",
    "map": "AP",
    "recall": "R",
    "precision": "P",
    "f1": "F",
}
CUTOFFS = [1, 2, 3, 5, 10, 20]


def make_collection(n_queries: int, shortest: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make queries of up to 40 documents with few scores; all judged ones are retrieved."""
    chance = random.Random(SEED)
    qrels, run = {}, {}
    for i in range(n_queries):
        docs = [f"d{j}" for j in range(chance.randint(shortest, 40))]
        scores = [chance.gauss(0, 1) for _ in range(chance.choice([1, 2, 5, 40]))]
        run[f"q{i:04}"] = {doc: chance.choice(scores) for doc in docs}
        judgments = {
            doc: chance.choice([0, 0, 0, 1, 2, 3]) for doc in docs if chance.random() < 0.7
        }
        qrels[f"q{i:04}"] = judgments or {"d0": 1}
    return qrels, run


def score_by_peer(qrels: dict[str, Any], run: dict[str, Any], cutoffs: list[int]) -> Any:
    scores = [list(docs.values()) for docs in run.values()]
    relevant = [[qrels[query].get(doc, 0) > 0 for doc in docs] for query, docs in run.items()]
    return tie_aware(scores, relevant, list(NAMES), cutoffs).per_query


@pytest.mark.parametrize("theirs", NAMES)
def test_mean_and_extremes(theirs: str) -> None:
    """600 queries of 20 documents and more, six cutoffs: 3,600 values of each kind."""
    qrels, run = make_collection(600, shortest=20)
    peer = score_by_peer(qrels, run, CUTOFFS)[theirs]
    kinds = {"expected": "expected", "maximum": "best", "minimum": "worst"}
    for kind, ties in kinds.items():
        measures = [f"{NAMES[theirs]}@{k}" for k in CUTOFFS]
        scores = evaluate(qrels, run, measures, ties=ties)  # type: ignore[call-overload] # of a Literal
        for measure, k in zip(measures, CUTOFFS, strict=True):
            own_values = list(scores.per_query(measure).values())
            assert own_values == pytest.approx(
                [getattr(extremes, kind) for extremes in peer[k]], rel=1e-14
            ), kind


def test_extremes_beyond_the_end() -> None:
    """Two tied documents, one relevant, P@4: 1/4 in both orders; the peer says 1/2."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate(qrels, run, "P@4", ties="best")["P@4"] == 1 / 4
    extremes = score_by_peer(qrels, run, [4])["precision"][4][0]
    assert (extremes.minimum, extremes.expected, extremes.maximum) == (1 / 2, 1 / 4, 1 / 2)


def test_what_was_not_retrieved() -> None:
    """Of two relevant documents, one was retrieved: recall 1/2 here, 1 there."""
    qrels, run = {"q": {"a": 1, "missed": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate(qrels, run, "R@2", ties="expected")["R@2"] == 1 / 2
    assert score_by_peer(qrels, run, [2])["recall"][2][0].expected == 1


@pytest.mark.parametrize("k", [None, *CUTOFFS, 100])
def test_scikit_learn_averages_over_ties(k: int | None) -> None:
    qrels, run = make_collection(600, shortest=2)
    cutoff_text = "" if k is None else f"@{k}"
    scores = evaluate(qrels, run, [f"nDCG{cutoff_text}", f"DCG{cutoff_text}"], ties="expected")
    for query, docs in run.items():
        grades = np.array([[qrels[query].get(doc, 0) for doc in docs]])
        values = np.array([list(docs.values())])
        ndcg, dcg = ndcg_score(grades, values, k=k), dcg_score(grades, values, k=k)
        assert scores.per_query(f"nDCG{cutoff_text}")[query] == pytest.approx(ndcg, rel=1e-13)
        assert scores.per_query(f"DCG{cutoff_text}")[query] == pytest.approx(dcg, rel=1e-13)
