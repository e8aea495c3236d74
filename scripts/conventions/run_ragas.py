"""ragas: its measures of context ids, on the first k of each list, for the judged queries.

"ragas": the plain mean of each query's score, NaN where one is NaN. "evaluate": the mean that
ragas.evaluate reports.
"""

import math
from functools import partial
from typing import Any

from driver import Collection, Values, serve
from ragas import EvaluationDataset, evaluate
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

METRICS: dict[str, Any] = {"P": IDBasedContextPrecision, "R": IDBasedContextRecall}


def make_samples(collection: Collection, k: int) -> list[SingleTurnSample]:
    """Return a sample for each judged query."""
    return [
        SingleTurnSample(
            retrieved_context_ids=collection.lists.get(query, [])[:k],
            reference_context_ids=collection.relevant(query),
        )
        for query in collection.qrels
    ]


def compute_plain_mean(collection: Collection, name: str, k: int) -> float:
    """Return the mean of the queries' scores."""
    metric = METRICS[name]()
    scores = [metric.single_turn_score(sample) for sample in make_samples(collection, k)]
    return math.fsum(scores) / len(scores)


def compute_reported_mean(collection: Collection, name: str, k: int) -> float:
    """Return the mean that ragas itself reports."""
    metric = METRICS[name]()
    dataset = EvaluationDataset(samples=make_samples(collection, k))
    evaluation = evaluate(dataset, metrics=[metric], show_progress=False)
    return float(evaluation._repr_dict[metric.name])


def make_values(compute_mean: Any, collection: Collection) -> Values:
    """Return the measures at every k."""
    return {
        f"{name}@{k}": partial(compute_mean, collection, name, k)
        for name in METRICS
        for k in collection.k
    }


if __name__ == "__main__":
    serve(
        ["ragas"],
        {
            "ragas": partial(make_values, compute_plain_mean),
            "evaluate": partial(make_values, compute_reported_mean),
        },
    )
