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


def compute_mean(collection: Collection, name: str, k: int) -> float:
    """Return the score of one evaluator."""
    evaluator, uses_grades = EVALUATORS[name]
    true_documents = [
        [
            Document(
                content=document,
                score=float(collection.qrels[query][document]) if uses_grades else None,
            )
            for document in collection.relevant(query)
        ]
        for query in collection.qrels
    ]
    retrieved_documents = [
        [Document(content=document) for document in collection.lists.get(query, [])[:k]]
        for query in collection.qrels
    ]
    score: float = evaluator.run(
        ground_truth_documents=true_documents, retrieved_documents=retrieved_documents
    )["score"]
    return score


def haystack_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    return {
        f"{name}@{k}": partial(compute_mean, collection, name, k)
        for name in EVALUATORS
        for k in collection.k
    }


if __name__ == "__main__":
    serve(["haystack-ai"], {"haystack": haystack_values})
