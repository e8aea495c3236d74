"""LensKit: RunAnalysis, one metric at a time; list_summary's mean.

"lenskit": the lists of the queries with a relevant document. "all lists": all lists, and test data,
possibly empty, for every judged query.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from driver import Collection, Values, serve
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import NDCG, RBP, Hit, Precision, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking import AveragePrecision

METRICS: dict[str, Callable[..., Any]] = {
    "nDCG": NDCG,
    "nDCG_gain": partial(NDCG, gain="grade"),
    "AP": AveragePrecision,
    "P": Precision,
    "R": Recall,
    "RR": RecipRank,
    "Hit": Hit,
    "RBP": RBP,
}


def lenskit_values(includes_all: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k."""

    def compute_mean(collection: Collection, make: Callable[..., Any], k: int) -> float:
        output, test = (ItemListCollection.empty(["query"]) for _ in range(2))
        for query, documents in collection.lists.items():
            if includes_all or collection.relevant(query):
                output.add(ItemList(item_ids=np.array(documents, dtype=str), ordered=True), query)
        for query, grades in collection.qrels.items():
            relevant_documents = collection.relevant(query)
            if includes_all or relevant_documents:
                grade = np.array([grades[document] for document in relevant_documents], dtype=float)
                test.add(
                    ItemList(item_ids=np.array(relevant_documents, dtype=str), grade=grade), query
                )
        analysis = RunAnalysis(make(k))
        return float(analysis.measure(output, test).list_summary()["mean"].iloc[0])

    def make_values(collection: Collection) -> Values:
        return {
            f"{name}@{k}": partial(compute_mean, collection, make, k)
            for name, make in METRICS.items()
            for k in collection.k
        }

    return make_values


if __name__ == "__main__":
    serve(
        ["lenskit", "numpy"], {"lenskit": lenskit_values(False), "all lists": lenskit_values(True)}
    )
