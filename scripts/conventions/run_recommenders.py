"""recommenders: the truth is the relevant documents with their grades as ratings.

"recommenders": the prediction decreases with the rank in the list; "scores": it is the score.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from driver import Collection, Values, cache_outcome, serve
from recommenders.evaluation import python_evaluation as tool

MEASURES: dict[str, Callable[..., Any]] = {
    "nDCG": tool.ndcg_at_k,
    "nDCG_raw": partial(tool.ndcg_at_k, score_type="raw"),
    "nDCG_exp": partial(tool.ndcg_at_k, score_type="exp"),
    "AP": tool.map,
    "AP_at_k": tool.map_at_k,
    "P": tool.precision_at_k,
    "R": tool.recall_at_k,
    "Rprec": tool.r_precision_at_k,
}


def recommenders_values(by_score: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def make_frames(collection: Collection) -> tuple[pd.DataFrame, pd.DataFrame]:
        true_rows = [
            (query, document, float(collection.qrels[query][document]))
            for query in collection.qrels
            for document in collection.relevant(query)
        ]
        if by_score:
            predicted_rows = [
                (query, document, score)
                for query, scores in collection.run.items()
                for document, score in scores.items()
            ]
        else:
            predicted_rows = [
                (query, document, float(-place))
                for query, documents in collection.lists.items()
                for place, document in enumerate(documents)
            ]
        return (
            pd.DataFrame(true_rows, columns=["userID", "itemID", "rating"]),
            pd.DataFrame(predicted_rows, columns=["userID", "itemID", "prediction"]),
        )

    def compute_score(
        make_both_frames: Callable[[], Any], measure: Callable[..., Any], k: int
    ) -> Any:
        return measure(*make_both_frames(), k=k)

    def make_values(collection: Collection) -> Values:
        make_both_frames = cache_outcome(partial(make_frames, collection))
        return {
            f"{name}@{k}": partial(compute_score, make_both_frames, measure, k)
            for name, measure in MEASURES.items()
            for k in collection.k
        }

    return make_values


if __name__ == "__main__":
    serve(
        ["recommenders", "pandas"],
        {"recommenders": recommenders_values(False), "scores": recommenders_values(True)},
    )
