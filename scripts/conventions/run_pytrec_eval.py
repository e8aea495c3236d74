"""pytrec_eval: the mean over the queries that it returns.

Bpref is computed in a separate call: together with map it crashes (signal 11) where the first
query of the run has no results, or only negative judgments.
"""

from functools import partial

import pytrec_eval
from driver import Collection, Values, mean_of_numbers, serve, split_scores

NAMES = {"nDCG": "ndcg_cut", "AP": "map_cut", "P": "P", "R": "recall", "Hit": "success"}
UNCUT = {"RR": "recip_rank", "AP": "map", "nDCG": "ndcg", "Rprec": "Rprec"}


def pytrec_eval_values(collection: Collection) -> Values:
    """Return the measures at every k, and those without a cutoff."""
    tool_names = {
        f"{name}@{k}": f"{tool_name}_{k}" for name, tool_name in NAMES.items() for k in collection.k
    } | UNCUT
    cutoffs = ",".join(map(str, collection.k))
    measures = {f"{tool_name}.{cutoffs}" for tool_name in NAMES.values()} | set(UNCUT.values())

    def compute_means(measures: set[str], tool_names: dict[str, str]) -> dict[str, float]:
        evaluator = pytrec_eval.RelevanceEvaluator(collection.qrels, measures)
        score_maps = evaluator.evaluate(collection.run).values()
        return {
            name: mean_of_numbers(scores[tool_name] for scores in score_maps)
            for name, tool_name in tool_names.items()
        }

    crashing_names = {"bpref": "bpref"}
    return split_scores(tool_names, partial(compute_means, measures, tool_names)) | split_scores(
        crashing_names, partial(compute_means, {"bpref"}, crashing_names)
    )


if __name__ == "__main__":
    serve(["pytrec_eval-terrier"], {"pytrec_eval": pytrec_eval_values}, crashes=True)
