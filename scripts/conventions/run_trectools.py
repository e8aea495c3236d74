"""trectools: TrecEval on a run from a frame, with its rows in the order of the given run.

"file": the run from a file, which trectools sorts by score, then by ascending id. Names with
"_plain" mean trec_eval=False: ranks are the order of the rows.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from driver import Collection, Values, cache_outcome, serve
from trectools import TrecEval, TrecQrel, TrecRun

METHODS = {
    "nDCG": "ndcg",
    "AP": "map",
    "P": "precision",
    "R": "recall",
    "RR": "reciprocal_rank",
}
UNCUT = {"RR": "reciprocal_rank", "AP": "map", "Rprec": "rprec", "bpref": "bpref"}


def make_evaluator(collection: Collection, from_file: bool) -> TrecEval:
    """Return trectools' evaluator of a collection."""
    rows = [
        (query, "Q0", document, rank, scores[document], "tool")
        for query, scores in collection.run.items()
        for rank, document in enumerate(scores)
    ]
    header = ["query", "q0", "docid", "rank", "score", "system"]
    frame = pd.DataFrame(rows, columns=header)
    if from_file:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.txt"
            frame.to_csv(path, sep=" ", header=False, index=False)
            run = TrecRun(str(path))
    else:
        run = TrecRun()
        run.load_run_from_dataframe(frame)
    qrels = TrecQrel()
    judgment_rows = [
        (query, "0", document, grade)
        for query, grades in collection.qrels.items()
        for document, grade in grades.items()
    ]
    qrels.qrels_data = pd.DataFrame(judgment_rows, columns=["query", "q0", "docid", "rel"])
    return TrecEval(run, qrels)


def trectools_values(from_file: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k, as trec_eval computes them and as trectools does."""

    def compute_score(
        make_cached_evaluator: Callable[[], TrecEval], method: str, **options: Any
    ) -> float:
        score: float = getattr(make_cached_evaluator(), f"get_{method}")(**options)
        return score

    def make_values(collection: Collection) -> Values:
        make_cached_evaluator = cache_outcome(partial(make_evaluator, collection, from_file))
        functions: Values = {
            name: partial(compute_score, make_cached_evaluator, method)
            for name, method in UNCUT.items()
        }
        for name, method in METHODS.items():
            for k in collection.k:
                functions[f"{name}@{k}"] = partial(
                    compute_score, make_cached_evaluator, method, depth=k
                )
                functions[f"{name}_plain@{k}"] = partial(
                    compute_score, make_cached_evaluator, method, depth=k, trec_eval=False
                )
        return functions

    return make_values


if __name__ == "__main__":
    serve(
        ["trectools", "pandas"],
        {"trectools": trectools_values(False), "file": trectools_values(True)},
    )
