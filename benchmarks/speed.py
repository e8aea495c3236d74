"""Time and memory of cranfield, pytrec_eval and ir_measures.

    pip install '.[bench]'
    python benchmarks/speed.py [--quick] [--repeats 5]

The data is made here, from a fixed seed: a run of MS MARCO's size (6,980 queries, 1,000 documents
each), a run of 43 queries, and dicts. All sides take turns, on two cores; the printed values are
medians, for dicts with the middle half of the ratios. `--in-memory` leaves the files out.
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
from functools import partial
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
    """The costs of one run of a command."""

    wall: float  # seconds
    cpu: float  # seconds, all threads
    memory: float  # MB, at most


def measure_cost(command: list[str]) -> Cost:
    """Run a command to its end; return its costs. Its output is thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def take_turns(commands: dict[str, list[str]], repeats: int) -> dict[str, Cost]:
    """Run commands in turn; return the medians of each."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            costs[name].append(measure_cost(command))
    return {
        name: Cost(
            statistics.median(c.wall for c in side_costs),
            statistics.median(c.cpu for c in side_costs),
            max(c.memory for c in side_costs),
        )
        for name, side_costs in costs.items()
    }


def write_collection(
    folder: Path, name: str, n_queries: int, depth: int, n_judged: int
) -> list[str]:
    """Write qrels and a run in the order of its ranks; return their paths."""
    random = np.random.default_rng(SEED)
    queries = np.sort(random.choice(1_100_000, n_queries, replace=False)).tolist()
    qrels, run = folder / f"{name}.qrels", folder / f"{name}.run"
    with qrels.open("w") as qrels_file, run.open("w") as run_file:
        for query in queries:
            docs = random.choice(8_841_823, depth, replace=False).tolist()
            scores = np.sort(random.normal(20, 5, depth))[::-1].tolist()
            run_file.writelines(
                f"{query} Q0 {doc} {rank} {score:.6f} bm25\n"
                for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
            )
            retrieved = random.choice(docs, n_judged - n_judged // 2, replace=False).tolist()
            unretrieved = random.choice(8_841_823, n_judged // 2).tolist()
            qrels_file.writelines(
                f"{query} 0 {doc} {grade}\n"
                for doc, grade in zip(
                    dict.fromkeys([*retrieved, *unretrieved]),
                    random.integers(0, 4, n_judged).tolist() if n_judged > 2 else [1, 1],
                    strict=False,
                )
            )
    return [str(qrels), str(run)]


def cranfield_command(*paths: str) -> list[str]:
    """Return the command that evaluates these files."""
    options = [word for measure in MEASURES for word in ("-m", measure)]
    return [find_tool("cranfield"), "evaluate", *paths, *options]


def find_tool(name: str) -> str:
    """Return the path of a command of this environment."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not installed: pip install '.[bench]'")
    return path


def print_costs(
    title: str, costs: dict[str, Cost], least_ratio: float | None, max_memory: float | None = None
) -> None:
    """Print the costs of each side, and their ratio to cranfield's.

    The bars: the other side takes at least `least_ratio` times as long, cranfield at most
    `max_memory` (MB).
    """
    print(f"\n{title}")
    cranfield_cost = costs["cranfield"]
    for name, cost in costs.items():
        print(
            f"  {name:24} {cost.wall:8.3f} s wall {cost.cpu:8.3f} s cpu {cost.memory:8.0f} MB"
            f"   {cost.wall / cranfield_cost.wall:6.2f} x the time of cranfield"
        )
        if least_ratio is not None and name != "cranfield":
            is_passed = cost.wall / cranfield_cost.wall >= least_ratio
            print(f"  bar: {least_ratio:.2f} x: {_verdict(is_passed)}")
    if max_memory is not None:
        print(f"  bar: {max_memory:.0f} MB: {_verdict(cranfield_cost.memory <= max_memory)}")


def _verdict(bar: bool) -> str:
    return "met" if bar else "NOT MET"


def time_files(folder: Path, repeats: int, n_queries: int) -> None:
    """Measure whole processes, from files to scores."""
    rows = n_queries * 1000
    large_paths = write_collection(folder, "big", n_queries, 1000, 2)
    costs = take_turns(
        {
            "cranfield": cranfield_command(*large_paths),
            "pytrec_eval, its reader": [sys.executable, "-c", PYTREC_EVAL, *large_paths],
        },
        repeats,
    )
    print_costs(f"{rows:,} rows, whole process", costs, 8, max_memory=250)

    longer_paths = write_collection(folder, "longer", 2 * n_queries, 1000, 2)
    costs = take_turns({"cranfield": cranfield_command(*longer_paths)}, max(1, repeats // 2))
    print_costs(f"{2 * rows:,} rows, whole process", costs, None, max_memory=250)

    small_paths = write_collection(folder, "small", 43, 1000, 215)
    costs = take_turns(
        {
            "cranfield": cranfield_command(*small_paths),
            "ir_measures": [find_tool("ir_measures"), *small_paths, *MEASURES],
        },
        3 * repeats,
    )
    print_costs("43,000 rows, whole process", costs, 1 / 1.15)


def make_dicts(
    share: float, has_ties: bool, seed: int = SEED, n_queries: int = 1000, depth: int = 1000
) -> tuple[Any, Any]:
    """Make qrels and a run in memory."""
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in range(n_queries):
        docs = [f"d{i}" for i in random.choice(10**6, depth, replace=False).tolist()]
        scores = np.ones(depth) if has_ties else random.permutation(depth) + 0.5
        run[f"q{query}"] = dict(zip(docs, scores.tolist(), strict=True))
        judged_docs = (
            docs if share == 1 else random.choice(docs, int(depth * share), False).tolist()
        )
        grades = random.integers(0, 4, len(judged_docs)).tolist()
        qrels[f"q{query}"] = dict(zip(judged_docs, grades, strict=True))
    return qrels, run


def time_in_memory(repeats: int) -> None:
    """Measure one call on dicts, after the imports."""
    import pytrec_eval

    from cranfield import evaluate

    def evaluate_here(qrels: Any, run: Any) -> object:
        return evaluate(qrels, run, MEASURES)

    def evaluate_there(qrels: Any, run: Any) -> object:
        return pytrec_eval.RelevanceEvaluator(qrels, THREE_MEASURES).evaluate(run)

    print("\n1,000 x 1,000 in dicts, three measures, CPU")
    for title, share, has_ties, bar in [
        ("distinct scores, 15 % judged", 0.15, False, 5),
        ("distinct scores, 1 % judged", 0.01, False, 5),
        ("all scores equal, 15 % judged", 0.15, True, 1),
        ("distinct scores, all judged", 1, False, 1),
        ("all scores equal, all judged", 1, True, 1),
    ]:
        qrels, *runs = make_several_dicts(share, has_ties, n_runs=2)
        sides: list[Callable[[Any], object]] = [
            partial(evaluate_here, qrels),
            partial(evaluate_there, qrels),
        ]
        compare_sides(f"1,000 x 1,000, {title}", sides, runs, repeats, bar)


THREE_MEASURES = {"map", "ndcg_cut.10", "recip_rank"}


def make_several_dicts(
    share: float, has_ties: bool = False, *, n_runs: int, n_queries: int = 1000, depth: int = 1000
) -> list[Any]:
    """Make qrels and several runs of the same documents, each with different scores.

    Every id is a separate object, as if judgments and runs were read from two files.
    """
    qrels, run = make_dicts(share, has_ties, n_queries=n_queries, depth=depth)
    random, collection = np.random.default_rng(SEED), [qrels]
    for _ in range(n_runs):
        scores_of_query = {}
        for query, docs in run.items():
            scores = np.ones(depth) if has_ties else random.permutation(depth) + 0.5
            ids = (doc.encode().decode() for doc in docs)
            scores_of_query[query] = dict(zip(ids, scores.tolist(), strict=True))
        collection.append(scores_of_query)
    return collection


def compare_sides(
    title: str,
    sides: list[Callable[[Any], object]],
    runs: list[Any],
    repeats: int,
    bar: float,
    names: tuple[str, str] = ("cranfield", "pytrec_eval"),
) -> None:
    """Give every run to two sides, in turn; print CPU time per call, and the ratio's spread.

    The bar: the second takes at least `bar` times as long as the first.
    """
    seconds_of_side: list[list[float]] = [[], []]
    for turn in range(repeats + 1):  # the first one warms up
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.process_time()
            for run in runs:
                sides[side](run)
            seconds_of_side[side].append((time.process_time() - start) / len(runs))
    first, second = (np.array(seconds[1:]) for seconds in seconds_of_side)
    low, middle, high = np.quantile(second / first, (0.25, 0.5, 0.75)).tolist()
    first_median, second_median = (1e6 * float(np.median(seconds)) for seconds in (first, second))
    print(
        f"  {title:44} {names[0]} {first_median:9,.1f} us, {names[1]} {second_median:9,.1f} us: "
        f"{middle:.2f} x ({low:.2f} to {high:.2f} in half of {repeats} turns, load "
        f"{os.getloadavg()[0]:.1f})  bar {bar:.2f}: {_verdict(middle >= bar)}"
    )


def time_small_calls(repeats: int) -> None:
    """Measure one query with 100 documents, and other scores in each call."""
    import pytrec_eval

    from cranfield import evaluate
    from cranfield import pytrec_eval as ours

    sets = {
        "1 measure": ({"map"}, "AP"),
        "3 measures": (THREE_MEASURES, "AP nDCG@10 RR"),
        "every measure": (pytrec_eval.supported_measures, ""),
    }
    print("\none query of 100 documents, another run each call, CPU")
    for title, (names, measures) in sets.items():
        for n_judged in (8, 30, 100):
            qrels, *runs = make_several_dicts(n_judged / 100, n_runs=200, n_queries=1, depth=100)
            evaluator, peer_evaluator = (
                module.RelevanceEvaluator(qrels, names) for module in (ours, pytrec_eval)
            )
            setting = f"{title}, {n_judged} judged"
            sides = [evaluator.evaluate, peer_evaluator.evaluate]
            compare_sides(f"RelevanceEvaluator, {setting}", sides, runs, 3 * repeats, 1 / 3)
            if measures:
                side_names = ("evaluate", "RelevanceEvaluator")
                evaluate_run = partial(evaluate, qrels, measures=measures)
                sides = [evaluate_run, evaluator.evaluate]
                compare_sides(f"evaluate, {setting}", sides, runs, 3 * repeats, 1 / 2.5, side_names)


def time_evaluator(repeats: int) -> None:
    """Measure RelevanceEvaluator.evaluate and pytrec_eval's, on dicts of several sizes."""
    import pytrec_eval

    from cranfield import pytrec_eval as ours

    names = {"map", "ndcg", "ndcg_cut", "recip_rank", "P", "recall"}
    print("\nRelevanceEvaluator.evaluate, 30 values a query, 15 % judged, CPU")
    for n_queries, depth, bar in (
        (1, 100, 1 / 3),
        (1, 1000, 1 / 3),
        (50, 1000, 2.5),
        (1000, 1000, 2.5),
    ):
        n_runs = min(200, max(2, 100_000 // (n_queries * depth)))
        qrels, *runs = make_several_dicts(0.15, n_runs=n_runs, n_queries=n_queries, depth=depth)
        sides = [module.RelevanceEvaluator(qrels, names) for module in (ours, pytrec_eval)]
        assert sides[0].evaluate(runs[0]) == sides[1].evaluate(runs[0])
        calls = [side.evaluate for side in sides]
        compare_sides(f"{n_queries:,} x {depth:,}", calls, runs, repeats, bar)
    qrels, run = make_dicts(0.15, False, n_queries=50)
    side = ours.RelevanceEvaluator(qrels, names)
    for n_calls in (50, 1000):
        for _ in range(n_calls):
            side.evaluate(run)
        print(f"  after {n_calls:5,} calls of 50 x 1,000: {_resident_memory():.1f} MB")


def _resident_memory() -> float:
    """Return the memory that this process holds now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--in-memory", action="store_true", help="no files: only dicts")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:2]
        os.sched_setaffinity(0, cores)
        print(f"on {len(cores)} cores; medians of {arguments.repeats} turns; seed {SEED}")
    if not arguments.in_memory:
        with tempfile.TemporaryDirectory() as folder:
            time_files(Path(folder), arguments.repeats, 698 if arguments.quick else 6980)
    time_in_memory(arguments.repeats)
    time_small_calls(arguments.repeats)
    time_evaluator(arguments.repeats)


if __name__ == "__main__":
    main()
