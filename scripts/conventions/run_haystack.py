"""Haystack: its document evaluators on the first k of each list, for the judged queries.

The true documents are the relevant ones; with their grades as scores, for nDCG.
"""

from functools import partial
from typing import Any

from driver import Collection, Values, serve
from haystack import Document
from haystack.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)

EVALUATORS: dict[str, tuple[Any, bool]] = {
    "nDCG": (DocumentNDCGEvaluator(), True),
    "nDCG_binary": (DocumentNDCGEvaluator(), False),
    "AP": (DocumentMAPEvaluator(), False),
    "RR": (DocumentMRREvaluator(), False),
    "R": (DocumentRecallEvaluator(mode="multi_hit"), False),
    "Hit": (DocumentRecallEvaluator(mode="single_hit"), False),
}


def mean(collection: Collection, name: str, k: int) -> float:
    """Return the score of one evaluator."""
    evaluator, graded = EVALUATORS[name]
    true = [
        [
            Document(content=one, score=float(collection.qrels[query][one]) if graded else None)
            for one in collection.relevant(query)
        ]
        for query in collection.qrels
    ]
    given = [
        [Document(content=one) for one in collection.lists.get(query, [])[:k]]
        for query in collection.qrels
    ]
    score: float = evaluator.run(ground_truth_documents=true, retrieved_documents=given)["score"]
    return score


def haystack_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    return {
        f"{name}@{k}": partial(mean, collection, name, k)
        for name in EVALUATORS
        for k in collection.k
    }


if __name__ == "__main__":
    serve(["haystack-ai"], {"haystack": haystack_values})
