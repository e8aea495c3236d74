"""Time and memory of cranfield beside pytrec_eval and ir_measures.

    pip install '.[bench]'
    python benchmarks/speed.py [--quick] [--repeats 5]

The data is made here, from a stated seed: a run of MS MARCO's size (6,980 queries, 1,000
documents each), one of 43 queries, and dicts. All sides take turns, on two cores; what is printed
are medians.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20_260_601
MEASURES = ("AP", "nDCG@10", "RR")
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open(sys.argv[2]) as lines:
    run = pytrec_eval.parse_run(lines)
names = {"map", "ndcg_cut.10", "recip_rank"}
scores = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in ("map", "ndcg_cut_10", "recip_rank"):
    print(name, sum(values[name] for values in scores.values()) / len(scores))
"""


@dataclass
class Cost:
    """What one run of a command took."""

    wall: float  # seconds
    cpu: float  # seconds, of all threads
    memory: float  # MB, at most


def cost_of(command: list[str]) -> Cost:
    """Run a command to its end; return what it took. Its output is thrown away."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def in_turn(commands: dict[str, list[str]], repeats: int) -> dict[str, Cost]:
    """Run commands in turn; return the medians of each."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            costs[name].append(cost_of(command))
    return {
        name: Cost(
            statistics.median(c.wall for c in several),
            statistics.median(c.cpu for c in several),
            max(c.memory for c in several),
        )
        for name, several in costs.items()
    }


def write_collection(folder: Path, name: str, n_queries: int, depth: int, judged: int) -> list[str]:
    """Write qrels and a run in the order of its ranks; return their paths."""
    chance = np.random.default_rng(SEED)
    queries = np.sort(chance.choice(1_100_000, n_queries, replace=False)).tolist()
    qrels, run = folder / f"{name}.qrels", folder / f"{name}.run"
    with qrels.open("w") as of_qrels, run.open("w") as of_run:
        for query in queries:
            docs = chance.choice(8_841_823, depth, replace=False).tolist()
            scores = np.sort(chance.normal(20, 5, depth))[::-1].tolist()
            of_run.writelines(
                f"{query} Q0 {doc} {rank} {score:.6f} bm25\n"
                for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
            )
            found = chance.choice(docs, judged - judged // 2, replace=False).tolist()
            missed = chance.choice(8_841_823, judged // 2).tolist()
            of_qrels.writelines(
                f"{query} 0 {doc} {grade}\n"
                for doc, grade in zip(
                    dict.fromkeys([*found, *missed]),
                    chance.integers(0, 4, judged).tolist() if judged > 2 else [1, 1],
                    strict=False,
                )
            )
    return [str(qrels), str(run)]


def cranfield(*paths: str) -> list[str]:
    """Return the command that evaluates these files."""
    options = [word for measure in MEASURES for word in ("-m", measure)]
    return [tool("cranfield"), "evaluate", *paths, *options]


def tool(name: str) -> str:
    """Return the path of a command of this environment."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not installed: pip install '.[bench]'")
    return path


def show(
    title: str, costs: dict[str, Cost], times: float | None, memory: float | None = None
) -> None:
    """Print what each side took, and how many times what cranfield takes that is.

    The bars: the other side takes at least `times` as long, cranfield no more `memory` (MB).
    """
    print(f"\n{title}")
    mine = costs["cranfield"]
    for name, cost in costs.items():
        print(
            f"  {name:24} {cost.wall:8.3f} s wall {cost.cpu:8.3f} s cpu {cost.memory:8.0f} MB"
            f"   {cost.wall / mine.wall:6.2f} x the time of cranfield"
        )
        if times is not None and name != "cranfield":
            print(f"  bar: {times:.2f} x: {_met(cost.wall / mine.wall >= times)}")
    if memory is not None:
        print(f"  bar: {memory:.0f} MB: {_met(mine.memory <= memory)}")


def _met(bar: bool) -> str:
    return "met" if bar else "NOT MET"


def files(folder: Path, repeats: int, n_queries: int) -> None:
    """Measure whole processes, from files to scores."""
    rows = n_queries * 1000
    big = write_collection(folder, "big", n_queries, 1000, 2)
    costs = in_turn(
        {
            "cranfield": cranfield(*big),
            "pytrec_eval, its reader": [sys.executable, "-c", PYTREC_EVAL, *big],
        },
        repeats,
    )
    show(f"{rows:,} rows, whole process", costs, 8, memory=250)

    longer = write_collection(folder, "longer", 2 * n_queries, 1000, 2)
    costs = in_turn({"cranfield": cranfield(*longer)}, max(1, repeats // 2))
    show(f"{2 * rows:,} rows, whole process", costs, None, memory=250)

    small = write_collection(folder, "small", 43, 1000, 215)
    costs = in_turn(
        {
            "cranfield": cranfield(*small),
            "ir_measures": [tool("ir_measures"), *small, *MEASURES],
        },
        3 * repeats,
    )
    show("43,000 rows, whole process", costs, 1 / 1.15)


def dicts(
    share: float, tied: bool, seed: int = SEED, n_queries: int = 1000, depth: int = 1000
) -> tuple[Any, Any]:
    """Make qrels and a run of so many queries with so many documents each, in memory."""
    chance = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in range(n_queries):
        docs = [f"d{i}" for i in chance.choice(10**6, depth, replace=False).tolist()]
        scores = np.ones(depth) if tied else chance.permutation(depth) + 0.5
        run[f"q{query}"] = dict(zip(docs, scores.tolist(), strict=True))
        judged = docs if share == 1 else chance.choice(docs, int(depth * share), False).tolist()
        grades = chance.integers(0, 4, len(judged)).tolist()
        qrels[f"q{query}"] = dict(zip(judged, grades, strict=True))
    return qrels, run


def in_memory(repeats: int) -> None:
    """Measure one call on dicts, after the imports."""
    import pytrec_eval

    from cranfield import evaluate

    for title, share, tied, bar in [
        ("distinct scores, 15 % judged", 0.15, False, 3),
        ("all scores equal, 15 % judged", 0.15, True, 1),
        ("distinct scores, all judged", 1, False, 1),
        ("all scores equal, all judged", 1, True, 1),
    ]:
        qrels, run = dicts(share, tied)

        def mine(qrels: Any = qrels, run: Any = run) -> object:
            return evaluate(qrels, run, MEASURES)

        def theirs(qrels: Any = qrels, run: Any = run) -> object:
            names = {"map", "ndcg_cut.10", "recip_rank"}
            return pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)

        times: dict[str, list[Cost]] = {"cranfield": [], "pytrec_eval": []}
        calls: list[tuple[str, Callable[[], object]]] = [
            ("cranfield", mine),
            ("pytrec_eval", theirs),
        ]
        for _ in range(repeats + 1):
            for name, call in calls:
                wall, cpu = time.perf_counter(), time.process_time()
                call()
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                cost = Cost(time.perf_counter() - wall, time.process_time() - cpu, memory)
                times[name].append(cost)
        medians = {
            name: Cost(
                statistics.median(c.wall for c in several[1:]),
                statistics.median(c.cpu for c in several[1:]),
                several[-1].memory,
            )
            for name, several in times.items()
        }
        show(f"1,000 x 1,000 in dicts, {title}", medians, bar)


def evaluator(repeats: int) -> None:
    """Measure RelevanceEvaluator.evaluate beside pytrec_eval's, on dicts of several sizes."""
    import pytrec_eval

    from cranfield import pytrec_eval as ours

    names = {"map", "ndcg", "ndcg_cut", "recip_rank", "P", "recall"}
    print("\nRelevanceEvaluator.evaluate, 30 values a query, 15 % judged")
    for n_queries, depth, bar in (
        (1, 100, 1 / 3),
        (1, 1000, 1 / 3),
        (50, 1000, 2.5),
        (1000, 1000, 2.5),
    ):
        qrels, run = dicts(0.15, False, n_queries=n_queries, depth=depth)
        sides = [module.RelevanceEvaluator(qrels, names) for module in (pytrec_eval, ours)]
        results = [side.evaluate(run) for side in sides]
        assert results[0] == results[1]
        calls = max(1, 1_000_000 // (n_queries * depth))
        times: list[list[float]] = [[], []]
        for _ in range(repeats + 1):
            for taken, side in zip(times, sides, strict=True):
                began = time.perf_counter()
                for _ in range(calls):
                    side.evaluate(run)
                taken.append((time.perf_counter() - began) / calls)
        theirs, mine = (1e6 * statistics.median(taken[1:]) for taken in times)
        print(
            f"  {n_queries:5,} x {depth:5,}: cranfield {mine:10,.0f} us, pytrec_eval "
            f"{theirs:10,.0f} us   {theirs / mine:6.2f} x the time of cranfield"
            f"  bar: {bar:.2f} x: {_met(theirs / mine >= bar)}"
        )
    qrels, run = dicts(0.15, False, n_queries=50)
    side = ours.RelevanceEvaluator(qrels, names)
    for calls in (50, 1000):
        for _ in range(calls):
            side.evaluate(run)
        print(f"  after {calls:5,} calls of 50 x 1,000: {_resident():.1f} MB")


def _resident() -> float:
    """Return the memory that this process holds now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:2]
        os.sched_setaffinity(0, cores)
        print(f"on {len(cores)} cores; medians of {given.repeats} turns; seed {SEED}")
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder), given.repeats, 698 if given.quick else 6980)
    in_memory(given.repeats)
    evaluator(given.repeats)


if __name__ == "__main__":
    main()
