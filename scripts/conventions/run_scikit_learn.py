"""scikit-learn: a row for each query; the mean over the rows that do not raise.

"all judged": the columns are the returned documents and, one below the lowest score, the judged
ones that were not returned; the rows are the judged queries. "returned": the returned documents
only; the rows are the judged queries of the run.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from driver import Collection, Values, mean_of_defined, serve
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
)


def make_rows(collection: Collection, is_padded: bool) -> list[tuple[Any, Any]]:
    """Return the grades and the scores of each query."""
    rows = []
    for query, grades in collection.qrels.items():
        if not is_padded and query not in collection.run:
            continue
        scores = dict(collection.run.get(query, {}))
        if is_padded:
            lowest_score = min(scores.values(), default=0.0) - 1
            scores |= {document: lowest_score for document in grades if document not in scores}
        documents = list(scores)
        row = (
            [grades.get(document, 0) for document in documents],
            [scores[one] for one in documents],
        )
        rows.append((np.array([row[0]]), np.array([row[1]], dtype=float)))
    return rows


def compute_lrap(grades: Any, scores: Any) -> float:
    """Return the label ranking average precision of one row."""
    precision: float = label_ranking_average_precision_score(grades > 0, scores)
    return precision


def compute_average_precision(grades: Any, scores: Any) -> float:
    """Return the average precision of one row."""
    precision: float = average_precision_score(grades[0] > 0, scores[0])
    return precision


def scikit_learn_values(is_padded: bool) -> Callable[[Collection], Values]:
    """Return nDCG at every k and uncut, LRAP, and average_precision_score."""

    def compute_mean(collection: Collection, measure: Callable[[Any, Any], float]) -> float:
        return mean_of_defined(partial(measure, *row) for row in make_rows(collection, is_padded))

    def make_values(collection: Collection) -> Values:
        measure_of_name: dict[str, Callable[[Any, Any], float]] = {
            f"nDCG@{k}": partial(ndcg_score, k=k) for k in collection.k
        }
        measure_of_name |= {
            "nDCG": ndcg_score,
            "LRAP": compute_lrap,
            "AP": compute_average_precision,
        }
        return {
            name: partial(compute_mean, collection, measure)
            for name, measure in measure_of_name.items()
        }

    return make_values


if __name__ == "__main__":
    serve(
        ["scikit-learn"],
        {"all judged": scikit_learn_values(True), "returned": scikit_learn_values(False)},
    )
