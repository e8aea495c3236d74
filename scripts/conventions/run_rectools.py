"""RecTools: calc_metrics on the ranks in the lists; the truth is the relevant documents."""

import pandas as pd
from driver import Collection, Values, serve, split_scores
from rectools import Columns
from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall, calc_metrics


def rectools_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    metrics = {
        f"{name}@{k}": metric
        for k in collection.k
        for name, metric in {
            "nDCG": NDCG(k=k),
            "nDCG_achievable": NDCG(k=k, divide_by_achievable=True),
            "AP": MAP(k=k),
            "AP_div_k": MAP(k=k, divide_by_k=True),
            "P": Precision(k=k),
            "R": Recall(k=k),
            "RR": MRR(k=k),
            "Hit": HitRate(k=k),
        }.items()
    }

    def compute_scores() -> dict[str, float]:
        retrieved_rows = [
            (query, document, place)
            for query, documents in collection.lists.items()
            for place, document in enumerate(documents, 1)
        ]
        relevant_rows = [
            (query, document)
            for query in collection.qrels
            for document in collection.relevant(query)
        ]
        scores: dict[str, float] = calc_metrics(
            metrics,
            reco=pd.DataFrame(retrieved_rows, columns=[Columns.User, Columns.Item, Columns.Rank]),
            interactions=pd.DataFrame(relevant_rows, columns=[Columns.User, Columns.Item]),
        )
        return scores

    return split_scores(metrics, compute_scores)


if __name__ == "__main__":
    serve(["rectools", "pandas"], {"rectools": rectools_values})
