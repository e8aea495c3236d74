"""ranx: evaluate with make_comparable=True."""

from driver import Collection, Values, serve, split_scores
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
    tool_names = {
        f"{name}@{k}": f"{tool_name}@{k}" for name, tool_name in NAMES.items() for k in collection.k
    } | UNCUT

    def compute_scores() -> dict[str, float]:
        qrels, run = Qrels.from_dict(collection.qrels), Run.from_dict(collection.run)
        score_of_name = evaluate(qrels, run, list(tool_names.values()), make_comparable=True)
        return {name: score_of_name[tool_name] for name, tool_name in tool_names.items()}

    return split_scores(tool_names, compute_scores)


if __name__ == "__main__":
    serve(["ranx", "numba"], {"ranx": ranx_values})
