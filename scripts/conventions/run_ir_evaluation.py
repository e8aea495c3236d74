"""ir-evaluation: its functions on each list of a judged query, the mean over them.

The functions of one query raise where it has no relevant document, where no document within k is
relevant (average_precision), and where the list is shorter than k. "ir_evaluation": the mean over
all judged queries, so that it raises if one raises; "defined": over those that do not raise.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from driver import Collection, Values, mean_of_defined, mean_of_numbers, serve
from ir_evaluation import metrics

METRICS: dict[str, Callable[..., Any]] = {
    "nDCG": metrics.ndcg,
    "AP": metrics.average_precision,
    "P": metrics.precision,
    "R": metrics.recall,
    "RR": metrics.reciprocal_rank,
    "F1": metrics.f1_score,
}


def ir_evaluation_values(is_strict: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_mean(collection: Collection, name: str, k: int) -> float:
        query_scores = [
            partial(METRICS[name], collection.relevant(query), collection.lists.get(query, []), k)
            for query in collection.qrels
        ]
        return (
            mean_of_numbers(score() for score in query_scores)
            if is_strict
            else mean_of_defined(query_scores)
        )

    def make_values(collection: Collection) -> Values:
        return {
            f"{name}@{k}": partial(compute_mean, collection, name, k)
            for name in METRICS
            for k in collection.k
        }

    return make_values


if __name__ == "__main__":
    serve(
        ["ir-evaluation"],
        {"ir_evaluation": ir_evaluation_values(True), "defined": ir_evaluation_values(False)},
    )
