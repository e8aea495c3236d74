"""Peak memory of each measure over more and more queries: it should not grow with them.

    python benchmarks/growth.py [NAME ...] [--quick]

Every measure, or those named, scores a run of 10,000 and then of 40,000 queries, 100 documents
each, with ten judged, in a process of its own; printed is the peak of each, and their ratio.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cranfield.errors import MeasureError
from cranfield.measures import parse
from cranfield.measures.registry import definitions

DEPTH, JUDGED = 100, 10


def write_collection(folder: Path, n_queries: int) -> list[str]:
    """Write judgments and a run of `n_queries` queries, and return the paths of both."""
    generator = np.random.default_rng(1)
    paths = []
    for column, n_docs in (("relevance", JUDGED), ("score", DEPTH)):
        query = np.repeat(np.arange(10**7, 10**7 + n_queries), n_docs)
        doc = np.tile(np.arange(n_docs) * (DEPTH // n_docs), n_queries)
        number = generator.permuted(np.tile(np.arange(n_docs), (n_queries, 1)), axis=1).ravel()
        number = number % 4 if column == "relevance" else number / 8
        paths.append(str(folder / f"{n_queries}-{column}.parquet"))
        pq.write_table(pa.table({"query_id": query, "doc_id": doc, column: number}), paths[-1])
    return paths


def measure_peak(paths: list[str], name: str) -> float:
    """Return the peak memory, in MB, of a process that evaluates one measure."""
    command = [sys.executable, "-m", "cranfield", "evaluate", *paths, "-m", name, "--buckets", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss / 1024 if status == 0 else float("nan")


def list_names() -> list[str]:
    """Return the name of each measure, with a cutoff where it needs one."""
    names = []
    for definition in definitions():
        for name in (definition.name, f"{definition.name}@10", f"{definition.name}@0.1"):
            try:
                parse(name).check_complete()
            except MeasureError:
                continue
            names.append(name)
            break
    return names


def main() -> None:
    """Print a line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries")
    arguments = parser.parse_args()
    sizes = (1_000, 4_000) if arguments.quick else (10_000, 40_000)
    with tempfile.TemporaryDirectory() as folder:
        collections = [write_collection(Path(folder), n_queries) for n_queries in sizes]
        for name in arguments.names or list_names():
            small_peak, large_peak = (measure_peak(paths, name) for paths in collections)
            growth = large_peak / small_peak
            print(f"{name:24} {small_peak:6.0f} MB {large_peak:6.0f} MB {growth:5.2f}", flush=True)


if __name__ == "__main__":
    main()
