"""scikit-learn: a row a query; the mean over the rows that do not raise.

"all judged": the columns are the returned documents and, one below the lowest score, the judged
ones that were not returned; the rows are the judged queries. "returned": the returned documents
only; the rows are the judged queries of the run.
"""

from collections.abc import Callable

import numpy as np
from driver import Collection, Values, defined, serve
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
)


def rows(collection: Collection, padded: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the grades and the scores of each query."""
    given = []
    for query, grades in collection.qrels.items():
        if not padded and query not in collection.run:
            continue
        scores = dict(collection.run.get(query, {}))
        if padded:
            below = min(scores.values(), default=0.0) - 1
            scores |= {document: below for document in grades if document not in scores}
        documents = list(scores)
        row = [grades.get(one, 0) for one in documents], [scores[one] for one in documents]
        given.append((np.array([row[0]]), np.array([row[1]], dtype=float)))
    return given


def scikit_learn_values(padded: bool) -> Callable[[Collection], Values]:
    """Return nDCG at every k and uncut, LRAP, and average_precision_score."""

    def values(collection: Collection) -> Values:
        given = rows(collection, padded)
        found: Values = {
            f"nDCG@{k}": lambda k=k: defined(
                lambda g=g, s=s: ndcg_score(g, s, k=k) for g, s in given
            )
            for k in collection.k
        }
        found["nDCG"] = lambda: defined(lambda g=g, s=s: ndcg_score(g, s) for g, s in given)
        found["LRAP"] = lambda: defined(
            lambda g=g, s=s: label_ranking_average_precision_score(g > 0, s) for g, s in given
        )
        found["AP"] = lambda: defined(
            lambda g=g, s=s: average_precision_score(g[0] > 0, s[0]) for g, s in given
        )
        return found

    return values


if __name__ == "__main__":
    serve(
        ["scikit-learn"],
        {"all judged": scikit_learn_values(True), "returned": scikit_learn_values(False)},
    )
