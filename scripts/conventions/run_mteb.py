"""MTEB: calculate_retrieval_scores, and its functions of capped recall and holes.

"mteb": as in its tasks by default. "identical dropped": as in tasks with ignore_identical_ids, by
RetrievalEvaluator.evaluate: without documents whose id is the query's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from driver import Collection, Values, cache_outcome, mean_of_numbers, serve, split_scores
from mteb._evaluators import RetrievalEvaluator
from mteb._evaluators import retrieval_metrics as tool

FIELDS = {
    "nDCG": ("ndcg", "NDCG"),
    "AP": ("map", "MAP"),
    "P": ("precision", "P"),
    "R": ("recall", "Recall"),
    "RR": ("mrr", "MRR"),
    "Hit": ("hit_rate", "HitRate"),
}
CUSTOM = {"R_cap": tool.recall_cap, "Hole": tool.hole}


def read_field(compute_result: Callable[[], Any], name: str, k: int) -> float:
    """Return one of the values of a result."""
    field_name, tool_name = FIELDS[name]
    score: float = getattr(compute_result(), field_name)[f"{tool_name}@{k}"]
    return score


def mteb_values(drops_identical: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_result(collection: Collection) -> Any:
        arguments = collection.qrels, collection.run, list(collection.k)
        # the method does not use its evaluator
        return RetrievalEvaluator.evaluate(None, *arguments, ignore_identical_ids=drops_identical)

    def compute_custom(collection: Collection, name: str) -> dict[str, Any]:
        scores_of_name = CUSTOM[name](collection.qrels, collection.run, list(collection.k))
        return {
            f"{name}@{k}": mean_of_numbers(
                score for score in scores_of_name[f"{name}_at_{k}"] if score is not None
            )
            for k in collection.k
        }

    def make_values(collection: Collection) -> Values:
        cached_result = cache_outcome(partial(compute_result, collection))
        functions: Values = {
            f"{name}@{k}": partial(read_field, cached_result, name, k)
            for name in FIELDS
            for k in collection.k
        }
        for name in CUSTOM:
            names = [f"{name}@{k}" for k in collection.k]
            functions |= split_scores(names, partial(compute_custom, collection, name))
        return functions

    return make_values


if __name__ == "__main__":
    serve(
        ["mteb", "pytrec-eval-terrier"],
        {"mteb": mteb_values(False), "identical dropped": mteb_values(True)},
        crashes=True,
    )
