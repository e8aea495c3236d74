"""gdeval.pl, as ir_measures ships it (it prints no means): needs perl.

The mean over the topics that it prints: those of the run with a relevant document. Topics must be
numbers, so the queries are numbered.
"""

import subprocess
import tempfile
from functools import partial
from pathlib import Path

import ir_measures
from driver import Collection, Values, mean_of_numbers, serve, split_scores

SCRIPT = Path(ir_measures.__file__).parent / "bin" / "gdeval.pl"


def run_gdeval(collection: Collection, k: int) -> dict[str, float]:
    """Return nDCG and ERR at k."""
    number_of_query = {
        query: number for number, query in enumerate([*collection.qrels, *collection.run], 1)
    }
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "qrels", Path(folder) / "run"
        qrels.write_text(
            "".join(
                f"{number_of_query[query]} 0 {document} {grade}\n"
                for query, grades in collection.qrels.items()
                for document, grade in grades.items()
            )
        )
        run.write_text(
            "".join(
                f"{number_of_query[query]} Q0 {document} 1 {score!r} tool\n"
                for query, scores in collection.run.items()
                for document, score in scores.items()
            )
        )
        command = ["perl", str(SCRIPT), str(qrels), str(run), str(k)]
        lines = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, check=True
        ).stdout.splitlines()[1:]
    rows = [line.split(",") for line in lines]
    return {
        f"nDCG@{k}": mean_of_numbers(float(row[2]) for row in rows),
        f"ERR@{k}": mean_of_numbers(float(row[3]) for row in rows),
    }


def gdeval_values(collection: Collection) -> Values:
    """Return the measures at every k."""
    functions: Values = {}
    for k in collection.k:
        functions |= split_scores([f"nDCG@{k}", f"ERR@{k}"], partial(run_gdeval, collection, k))
    return functions


if __name__ == "__main__":
    serve(["ir_measures"], {"gdeval": gdeval_values})
