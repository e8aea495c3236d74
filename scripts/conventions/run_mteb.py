"""MTEB: calculate_retrieval_scores, and the functions beside it of capped recall, holes, accuracy."""

from functools import partial
from typing import Any

from driving import Collection, Values, entries, kept, means, serve
from mteb._evaluators import retrieval_metrics as tool

FIELDS = {
    "nDCG": ("ndcg", "NDCG"),
    "AP": ("map", "MAP"),
    "P": ("precision", "P"),
    "R": ("recall", "Recall"),
    "RR": ("mrr", "MRR"),
    "Hit": ("hit_rate", "HitRate"),
}
CUSTOM = {"R_cap": tool.recall_cap, "Hole": tool.hole}


def mteb_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    whole = kept(
        lambda: tool.calculate_retrieval_scores(
            collection.run, collection.qrels, list(collection.k)
        )
    )

    def field(name: str, k: int) -> float:
        of, its = FIELDS[name]
        return float(getattr(whole(), of)[f"{its}@{k}"])

    def custom(name: str) -> dict[str, Any]:
        given = CUSTOM[name](collection.qrels, collection.run, list(collection.k))
        return {
            f"{name}@{k}": means(one for one in given[f"{name}_at_{k}"] if one is not None)
            for k in collection.k
        }

    found: Values = {
        f"{name}@{k}": partial(field, name, k) for name in FIELDS for k in collection.k
    }
    for name in CUSTOM:
        found |= entries([f"{name}@{k}" for k in collection.k], partial(custom, name))
    return found


if __name__ == "__main__":
    serve(["mteb", "pytrec-eval-terrier"], {"mteb": mteb_values})
