"""torchmetrics: rows of (query, score, grade), all of a collection in one update.

"all judged": for each judged query the returned documents and, one below the lowest score, the
judged ones that were not returned. "returned": the returned documents of the judged queries only.
The second word is empty_target_action.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from driver import Collection, Values, serve
from torchmetrics import retrieval

METRICS: dict[str, Callable[..., Any]] = {
    "nDCG": retrieval.RetrievalNormalizedDCG,
    "AP": retrieval.RetrievalMAP,
    "P": retrieval.RetrievalPrecision,
    "P_adaptive": partial(retrieval.RetrievalPrecision, adaptive_k=True),
    "R": retrieval.RetrievalRecall,
    "RR": retrieval.RetrievalMRR,
    "Hit": retrieval.RetrievalHitRate,
}


def make_columns(
    collection: Collection, is_padded: bool
) -> tuple[list[int], list[float], list[int]]:
    """Return the columns that torchmetrics gets."""
    queries, levels, targets = [], [], []
    for number, (query, grades) in enumerate(collection.qrels.items()):
        scores = dict(collection.run.get(query, {}))
        if is_padded:
            lowest_score = min(scores.values(), default=0.0) - 1
            scores |= {document: lowest_score for document in grades if document not in scores}
        for document, score in scores.items():
            queries.append(number)
            levels.append(score)
            targets.append(grades.get(document, 0))
    return queries, levels, targets


def torchmetrics_values(is_padded: bool, empty: str) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_score(collection: Collection, name: str, k: int) -> Any:
        queries, levels, targets = make_columns(collection, is_padded)
        relevance = torch.tensor(targets, dtype=torch.long)
        metric = METRICS[name](top_k=k, empty_target_action=empty)
        metric.update(
            torch.tensor(levels, dtype=torch.float32),
            relevance if name == "nDCG" else (relevance > 0).long(),
            indexes=torch.tensor(queries, dtype=torch.long),
        )
        return metric.compute()

    def values(collection: Collection) -> Values:
        return {
            f"{name}@{k}": partial(compute_score, collection, name, k)
            for name in METRICS
            for k in collection.k
        }

    return values


if __name__ == "__main__":
    serve(
        ["torchmetrics", "torch"],
        {
            "all judged, neg": torchmetrics_values(True, "neg"),
            "all judged, skip": torchmetrics_values(True, "skip"),
            "returned, neg": torchmetrics_values(False, "neg"),
        },
    )
