"""sentence-transformers: compute_metrics of InformationRetrievalEvaluator, given the hits.

The queries are those of the evaluator: it drops the ones without a relevant document.
"""

from driver import Collection, Values, serve, split_scores
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

NAMES = {"nDCG": "ndcg", "AP": "map", "P": "precision", "R": "recall", "RR": "mrr"}


def sentence_transformers_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    tool_names = {
        f"{name}@{k}": (f"{tool_name}@k", k)
        for name, tool_name in NAMES.items()
        for k in collection.k
    }
    tool_names |= {f"Hit@{k}": ("accuracy@k", k) for k in collection.k}
    documents = {document for scores in collection.run.values() for document in scores}

    def compute_scores() -> dict[str, float]:
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
        scores_of_name = evaluator.compute_metrics(hits)
        return {name: scores_of_name[tool_name][k] for name, (tool_name, k) in tool_names.items()}

    return split_scores(tool_names, compute_scores)


if __name__ == "__main__":
    serve(
        ["sentence-transformers", "torch"], {"sentence-transformers": sentence_transformers_values}
    )
