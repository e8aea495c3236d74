"""RePlay: its metrics on pandas frames; the truth is the relevant documents.

"replay": the rating decreases with the rank in the list; "scores": it is the score; "dict": the
scores in dicts in the order of the run, and a truth, possibly empty, for every judged query.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from driver import Collection, Values, serve, split_scores
from replay.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall, RocAuc

METRICS: dict[str, Callable[..., Any]] = {
    "nDCG": NDCG,
    "AP": MAP,
    "P": Precision,
    "R": Recall,
    "RR": MRR,
    "Hit": HitRate,
    "RocAuc": RocAuc,
}


def make_frames(collection: Collection, form: str) -> tuple[Any, Any]:
    """Return the recommendations and the truth in the tool's form."""
    if form == "dict":
        relevant_of_query = {query: collection.relevant(query) for query in collection.qrels}
        return {
            query: list(scores.items()) for query, scores in collection.run.items()
        }, relevant_of_query
    if form == "scores":
        rows = [
            (query, document, score)
            for query, scores in collection.run.items()
            for document, score in scores.items()
        ]
    else:
        rows = [
            (query, document, float(-place))
            for query, documents in collection.lists.items()
            for place, document in enumerate(documents)
        ]
    true_rows = [
        (query, document) for query in collection.qrels for document in collection.relevant(query)
    ]
    return (
        pd.DataFrame(rows, columns=["query_id", "item_id", "rating"]),
        pd.DataFrame(true_rows, columns=["query_id", "item_id"]),
    )


def replay_values(form: str) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_scores(collection: Collection, name: str) -> dict[str, float]:
        recommendations, truth = make_frames(collection, form)
        score_of_name = METRICS[name](list(collection.k))(recommendations, truth)
        return {f"{name}@{key.split('@')[1]}": score for key, score in score_of_name.items()}

    def make_values(collection: Collection) -> Values:
        functions: Values = {}
        for name in METRICS:
            names = [f"{name}@{k}" for k in collection.k]
            functions |= split_scores(names, partial(compute_scores, collection, name))
        return functions

    return make_values


if __name__ == "__main__":
    serve(
        ["replay-rec", "pandas"],
        {
            "replay": replay_values("lists"),
            "scores": replay_values("scores"),
            "dict": replay_values("dict"),
        },
    )
