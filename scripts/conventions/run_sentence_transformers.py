"""sentence-transformers: compute_metrics of InformationRetrievalEvaluator, given the hits.

The queries are those of the evaluator: it drops the ones without a relevant document.
"""

from driver import Collection, Values, entries, serve
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

NAMES = {"nDCG": "ndcg", "AP": "map", "P": "precision", "R": "recall", "RR": "mrr"}


def sentence_transformers_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    of = {f"{name}@{k}": (f"{its}@k", k) for name, its in NAMES.items() for k in collection.k}
    of |= {f"Hit@{k}": ("accuracy@k", k) for k in collection.k}
    documents = {document for scores in collection.run.values() for document in scores}

    def result() -> dict[str, float]:
        k = list(collection.k)
        evaluator = InformationRetrievalEvaluator(
            dict.fromkeys(collection.qrels, ""),
            dict.fromkeys(documents, ""),
            {query: set(collection.relevant(query)) for query in collection.qrels},
            mrr_at_k=k,
            ndcg_at_k=k,
            accuracy_at_k=k,
            precision_recall_at_k=k,
            map_at_k=k,
        )
        hits = [
            [
                {"corpus_id": document, "score": score}
                for document, score in collection.run.get(query, {}).items()
            ]
            for query in evaluator.queries_ids
        ]
        given = evaluator.compute_metrics(hits)
        return {name: given[its][k] for name, (its, k) in of.items()}

    return entries(of, result)


if __name__ == "__main__":
    serve(
        ["sentence-transformers", "torch"], {"sentence-transformers": sentence_transformers_values}
    )
