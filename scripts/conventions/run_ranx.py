"""ranx: evaluate with make_comparable=True."""

from driver import Collection, Values, entries, serve
from ranx import Qrels, Run, evaluate

NAMES = {
    "nDCG": "ndcg",
    "nDCG_burges": "ndcg_burges",
    "AP": "map",
    "P": "precision",
    "R": "recall",
    "RR": "mrr",
    "Hit": "hit_rate",
}
UNCUT = {"RR": "mrr", "AP": "map", "nDCG": "ndcg", "Rprec": "r-precision", "bpref": "bpref"}


def ranx_values(collection: Collection) -> Values:
    """Return the measures at every k, and those without a cutoff."""
    of = {f"{name}@{k}": f"{its}@{k}" for name, its in NAMES.items() for k in collection.k} | UNCUT

    def result() -> dict[str, float]:
        qrels, run = Qrels.from_dict(collection.qrels), Run.from_dict(collection.run)
        given = evaluate(qrels, run, list(of.values()), make_comparable=True)
        return {name: given[its] for name, its in of.items()}

    return entries(of, result)


if __name__ == "__main__":
    serve(["ranx", "numba"], {"ranx": ranx_values})
