"""ir_measures: calc_aggregate, all measures in one call."""

import ir_measures
from driver import Collection, Values, entries, serve
from ir_measures import AP, RR, Bpref, P, R, Rprec, Success, nDCG

MEASURES = {"nDCG": nDCG, "AP": AP, "P": P, "R": R, "RR": RR, "Hit": Success}
UNCUT = {"RR": RR, "AP": AP, "nDCG": nDCG, "Rprec": Rprec, "bpref": Bpref}


def ir_measures_values(collection: Collection) -> Values:
    """Return the measures at every k, and those without a cutoff."""
    of = {f"{name}@{k}": one @ k for name, one in MEASURES.items() for k in collection.k} | UNCUT

    def result() -> dict[str, float]:
        given = ir_measures.calc_aggregate(list(of.values()), collection.qrels, collection.run)
        return {name: given[measure] for name, measure in of.items()}

    return entries(of, result)


if __name__ == "__main__":
    serve(["ir_measures", "pytrec_eval-terrier"], {"ir_measures": ir_measures_values})
