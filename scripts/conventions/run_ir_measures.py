"""ir_measures: calc_aggregate, all measures in one call.

Except Bpref, which crashes together with AP where the first query of the run has no results.
"""

from functools import partial
from typing import Any

import ir_measures
from driver import Collection, Values, serve, split_scores
from ir_measures import AP, RR, Bpref, P, R, Rprec, Success, nDCG

MEASURES = {"nDCG": nDCG, "AP": AP, "P": P, "R": R, "RR": RR, "Hit": Success}
UNCUT = {"RR": RR, "AP": AP, "nDCG": nDCG, "Rprec": Rprec}


def ir_measures_values(collection: Collection) -> Values:
    """Return the measures at every k, and those without a cutoff."""
    measures = {
        f"{name}@{k}": measure @ k for name, measure in MEASURES.items() for k in collection.k
    } | UNCUT

    def compute_scores(measures: dict[str, Any]) -> dict[str, float]:
        score_of_measure = ir_measures.calc_aggregate(
            list(measures.values()), collection.qrels, collection.run
        )
        return {name: score_of_measure[measure] for name, measure in measures.items()}

    crashing_measures = {"bpref": Bpref}
    return split_scores(measures, partial(compute_scores, measures)) | split_scores(
        crashing_measures, partial(compute_scores, crashing_measures)
    )


if __name__ == "__main__":
    serve(["ir_measures", "pytrec_eval-terrier"], {"ir_measures": ir_measures_values}, crashes=True)
