"""Time of all measures on judged runs, and of many cutoffs at once.

    pip install '.[bench]'
    python benchmarks/measures.py [--repeats 5]

The data is made here, from a fixed seed: 12 systems, 43 queries, 1,000 documents each, about 215
judgments per query, as in TREC's Deep Learning track 2019. Each part is timed several times, in
turns; the printed times are medians.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytrec_eval

from cranfield import Measure, Qrels, Run, definitions, evaluate
from cranfield.data.judge import judge_all
from cranfield.data.judged import Judged
from cranfield.measures import Plan

SEED = 20_261_121
QUERIES, DOCUMENTS, SYSTEMS, N_JUDGED = 43, 1_000, 12, 215


def make_collection() -> tuple[dict[str, dict[str, int]], list[dict[str, dict[str, float]]]]:
    """Return judgments with grades 0 to 3, and the systems' runs."""
    random = np.random.default_rng(SEED)
    qrels: dict[str, dict[str, int]] = {}
    runs: list[dict[str, dict[str, float]]] = [{} for _ in range(SYSTEMS)]
    for q in range(QUERIES):
        grades = random.choice(4, N_JUDGED, p=[0.6, 0.2, 0.1, 0.1]).tolist()
        qrels[f"q{q}"] = {f"d{d}": grade for d, grade in enumerate(grades)}
        for run in runs:
            docs = random.choice(2_000, DOCUMENTS, replace=False).tolist()
            run[f"q{q}"] = {f"d{d}": float(DOCUMENTS - i) for i, d in enumerate(docs)}
    return qrels, runs


def list_measures() -> list[Measure]:
    """Return all measures, with cutoff 10 (or recall 0.1) where they need one."""
    measures = []
    for definition in definitions():
        measure = Measure(definition.name)
        if definition.cutoff == "required":
            measure = measure @ (0.1 if definition.cutoff_kind == "recall" else 10)
        measures.append(measure)
    return measures


def measure_medians(repeats: int, calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return each part's median time in seconds; the parts take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def time_all_measures(repeats: int) -> None:
    """Time all measures on judged runs, and each alone; some from dicts, and in pytrec_eval."""
    qrels, runs = make_collection()
    judgments, measures = Qrels(qrels), list_measures()

    def judge_runs() -> list[Judged]:
        matched_runs = judge_all(judgments, [Run(run) for run in runs])
        return [matched_run.judged for matched_run in matched_runs]

    def time_plan(plan_measures: list[Measure]) -> Callable[[], float]:
        def time_values() -> float:
            judged_runs = judge_runs()  # without cached values
            start = time.perf_counter()
            plan = Plan(plan_measures)
            for judged in judged_runs:
                plan.values(judged)
            return time.perf_counter() - start

        return time_values

    def median_time(plan_measures: list[Measure]) -> float:
        return statistics.median(time_plan(plan_measures)() for _ in range(repeats))

    print(f"{SYSTEMS} systems, {QUERIES} queries x {DOCUMENTS:,} documents, from Judged:")
    print(f"  all {len(measures)} measures together: {median_time(measures):.3f} s")
    time_alone = {str(measure): median_time([measure]) for measure in measures}
    print(f"  each alone, added up: {sum(time_alone.values()):.3f} s; the slowest ones:")
    for name, seconds in sorted(time_alone.items(), key=lambda pair: -pair[1])[:8]:
        print(f"    {1000 * seconds:7.1f} ms  {name}")

    names = "AP nDCG@10 P@10 R@100 RR Bpref Rprec"
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "ndcg_cut.10", "P.10", "recall.100", "recip_rank", "bpref", "Rprec"}
    )
    time_of_side = measure_medians(
        repeats,
        {
            "cranfield": lambda: evaluate(qrels, runs, names),
            "pytrec_eval": lambda: [evaluator.evaluate(run) for run in runs],
        },
    )
    print(f"  {names}, from dicts:")
    for name, seconds in time_of_side.items():
        print(f"    {seconds:.3f} s  {name}  ({seconds / time_of_side['cranfield']:.2f} x)")


def time_many_cutoffs(repeats: int) -> None:
    """Time an evaluation from files, with one cutoff of nDCG and with a hundred."""
    qrels, runs = make_collection()
    with tempfile.TemporaryDirectory() as folder:
        Qrels(qrels).write(Path(folder, "qrels"), format="trec")
        for i, run in enumerate(runs):
            Run(run).write(Path(folder, f"{i}.run"))
        files = [str(Path(folder, f"{i}.run")) for i in range(SYSTEMS)]
        qrels_path = str(Path(folder, "qrels"))
        times = measure_medians(
            repeats,
            {
                "nDCG@10": lambda: evaluate(qrels_path, files, "nDCG@10"),
                "nDCG@1..100": lambda: evaluate(qrels_path, files, "nDCG@1..100"),
            },
        )
    print(f"{SYSTEMS} runs from files:")
    for name, seconds in times.items():
        print(f"  {seconds:.3f} s  {name}  ({seconds / times['nDCG@10']:.2f} x)")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    time_all_measures(repeats)
    time_many_cutoffs(repeats)


if __name__ == "__main__":
    main()
