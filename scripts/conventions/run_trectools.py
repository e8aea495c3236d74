"""trectools: TrecEval of a run from a frame, whose rows are in the order of the run given.

"file": the run from a file, which trectools sorts by score, then by ascending id. The names with
"_plain" are with trec_eval=False: ranks are the order of the rows.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from driver import Collection, Values, kept, serve
from trectools import TrecEval, TrecQrel, TrecRun


def evaluator(collection: Collection, from_file: bool) -> TrecEval:
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
    judged = [
        (query, "0", document, grade)
        for query, grades in collection.qrels.items()
        for document, grade in grades.items()
    ]
    qrels.qrels_data = pd.DataFrame(judged, columns=["query", "q0", "docid", "rel"])
    return TrecEval(run, qrels)


def trectools_values(from_file: bool) -> Callable[[Collection], Values]:
    """Return the measures at every k, as trec_eval computes them and as trectools does."""

    def values(collection: Collection) -> Values:
        it = kept(lambda: evaluator(collection, from_file))
        found: Values = {
            "RR": lambda: it().get_reciprocal_rank(),
            "AP": lambda: it().get_map(),
            "Rprec": lambda: it().get_rprec(),
            "bpref": lambda: it().get_bpref(),
        }
        for k in collection.k:
            for ending, te in (("", True), ("_plain", False)):
                found |= {
                    f"nDCG{ending}@{k}": lambda k=k, te=te: it().get_ndcg(depth=k, trec_eval=te),
                    f"AP{ending}@{k}": lambda k=k, te=te: it().get_map(depth=k, trec_eval=te),
                    f"P{ending}@{k}": lambda k=k, te=te: it().get_precision(depth=k, trec_eval=te),
                    f"R{ending}@{k}": lambda k=k, te=te: it().get_recall(depth=k, trec_eval=te),
                    f"RR{ending}@{k}": lambda k=k, te=te: it().get_reciprocal_rank(
                        depth=k, trec_eval=te
                    ),
                }
        return found

    return values


if __name__ == "__main__":
    serve(
        ["trectools", "pandas"],
        {"trectools": trectools_values(False), "file": trectools_values(True)},
    )
