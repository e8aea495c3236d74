"""BEIR: EvaluateRetrieval.evaluate and evaluate_custom.

"beir": each call gets its own copy of the results. "in turn": all calls get the same results,
evaluate first, which removes documents whose id is the query's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from beir.retrieval.evaluation import EvaluateRetrieval
from driver import Collection, Values, serve, split_scores

FOUR = {"nDCG": "NDCG", "AP": "MAP", "R": "Recall", "P": "P"}
CUSTOM = {"RR": ("mrr", "MRR"), "R_cap": ("r_cap", "R_cap"), "Hole": ("hole", "Hole")}
CUSTOM |= {"Hit": ("acc", "Accuracy")}


def beir_values(in_turn: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_four(collection: Collection) -> dict[str, float]:
        results = collection.run if in_turn else collection.copy().run
        measure_groups = EvaluateRetrieval.evaluate(collection.qrels, results, list(collection.k))
        value_of_name = {name: value for group in measure_groups for name, value in group.items()}
        return {
            f"{name}@{k}": value_of_name[f"{tool_name}@{k}"]
            for name, tool_name in FOUR.items()
            for k in collection.k
        }

    def compute_custom(collection: Collection, name: str) -> dict[str, Any]:
        metric, tool_name = CUSTOM[name]
        value_of_name = EvaluateRetrieval.evaluate_custom(
            collection.qrels, collection.run, list(collection.k), metric
        )
        return {f"{name}@{k}": value_of_name[f"{tool_name}@{k}"] for k in collection.k}

    def make_values(collection: Collection) -> Values:
        functions = split_scores(
            [f"{name}@{k}" for name in FOUR for k in collection.k],
            partial(compute_four, collection),
        )
        for name in CUSTOM:
            names = [f"{name}@{k}" for k in collection.k]
            functions |= split_scores(names, partial(compute_custom, collection, name))
        return functions

    return make_values


if __name__ == "__main__":
    serve(
        ["beir", "pytrec-eval-terrier"],
        {"beir": beir_values(False), "in turn": beir_values(True)},
        crashes=True,
    )
