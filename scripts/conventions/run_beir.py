"""BEIR: EvaluateRetrieval.evaluate and evaluate_custom.

"beir": each call gets its own copy of the results. "in turn": all calls get the same results,
evaluate first, which removes documents whose id is the query's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from beir.retrieval.evaluation import EvaluateRetrieval
from driver import Collection, Values, entries, serve

FOUR = {"nDCG": "NDCG", "AP": "MAP", "R": "Recall", "P": "P"}
CUSTOM = {"RR": ("mrr", "MRR"), "R_cap": ("r_cap", "R_cap"), "Hole": ("hole", "Hole")}
CUSTOM |= {"Hit": ("acc", "Accuracy")}


def beir_values(in_turn: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def four(collection: Collection) -> dict[str, float]:
        results = collection.run if in_turn else collection.copied().run
        parts = EvaluateRetrieval.evaluate(collection.qrels, results, list(collection.k))
        given = {name: value for part in parts for name, value in part.items()}
        return {
            f"{our}@{k}": given[f"{its}@{k}"] for our, its in FOUR.items() for k in collection.k
        }

    def custom(collection: Collection, name: str) -> dict[str, Any]:
        metric, its = CUSTOM[name]
        given = EvaluateRetrieval.evaluate_custom(
            collection.qrels, collection.run, list(collection.k), metric
        )
        return {f"{name}@{k}": given[f"{its}@{k}"] for k in collection.k}

    def values(collection: Collection) -> Values:
        found = entries(
            [f"{name}@{k}" for name in FOUR for k in collection.k], partial(four, collection)
        )
        for name in CUSTOM:
            names = [f"{name}@{k}" for k in collection.k]
            found |= entries(names, partial(custom, collection, name))
        return found

    return values


if __name__ == "__main__":
    serve(
        ["beir", "pytrec-eval-terrier"],
        {"beir": beir_values(False), "in turn": beir_values(True)},
        crashes=True,
    )
