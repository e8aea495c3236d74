"""LlamaIndex: its retrieval metrics on the first k of each list, for the judged queries.

The mean over the queries that do not raise; LlamaIndex has no mean of its own.
"""

from collections.abc import Callable
from functools import partial

from driver import Collection, Values, mean_of_defined, serve
from llama_index.core.evaluation.retrieval.metrics import (
    MRR,
    NDCG,
    AveragePrecision,
    HitRate,
    Precision,
    Recall,
)


def llamaindex_values(granular: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""
    metrics = {
        "nDCG": NDCG(),
        "AP": AveragePrecision(),
        "P": Precision(),
        "R": Recall(),
        "RR": MRR(use_granular_mrr=granular),
        "Hit": HitRate(use_granular_hit_rate=granular),
    }

    def compute_mean(collection: Collection, name: str, k: int) -> float:
        def score_query(query: str) -> float:
            retrieved_documents = collection.lists.get(query, [])[:k]
            score: float = (
                metrics[name]
                .compute(expected_ids=collection.relevant(query), retrieved_ids=retrieved_documents)
                .score
            )
            return score

        return mean_of_defined(partial(score_query, query) for query in collection.qrels)

    def make_values(collection: Collection) -> Values:
        return {
            f"{name}@{k}": partial(compute_mean, collection, name, k)
            for name in metrics
            for k in collection.k
        }

    return make_values


if __name__ == "__main__":
    serve(
        ["llama-index-core"],
        {"llamaindex": llamaindex_values(False), "granular": llamaindex_values(True)},
    )
