"""pytrec_eval: the mean over the queries that it returns.

Bpref is computed in a separate call: together with map it crashes (signal 11) where the first
query of the run has no results, or only negative judgments.
"""

from functools import partial

import pytrec_eval
from driver import Collection, Values, entries, means, serve

NAMES = {"nDCG": "ndcg_cut", "AP": "map_cut", "P": "P", "R": "recall", "Hit": "success"}
UNCUT = {"RR": "recip_rank", "AP": "map", "nDCG": "ndcg", "Rprec": "Rprec"}


def pytrec_eval_values(collection: Collection) -> Values:
    """Return the measures at every k, and those without a cutoff."""
    of = {f"{name}@{k}": f"{its}_{k}" for name, its in NAMES.items() for k in collection.k} | UNCUT
    cutoffs = ",".join(map(str, collection.k))
    measures = {f"{its}.{cutoffs}" for its in NAMES.values()} | set(UNCUT.values())

    def result(measures: set[str], of: dict[str, str]) -> dict[str, float]:
        evaluator = pytrec_eval.RelevanceEvaluator(collection.qrels, measures)
        by_query = evaluator.evaluate(collection.run).values()
        return {ours: means(one[its] for one in by_query) for ours, its in of.items()}

    alone = {"bpref": "bpref"}
    return entries(of, partial(result, measures, of)) | entries(
        alone, partial(result, {"bpref"}, alone)
    )


if __name__ == "__main__":
    serve(["pytrec_eval-terrier"], {"pytrec_eval": pytrec_eval_values}, crashes=True)
