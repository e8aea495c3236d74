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
QUERIES, DOCUMENTS, SYSTEMS, JUDGED = 43, 1_000, 12, 215


def collection() -> tuple[dict[str, dict[str, int]], list[dict[str, dict[str, float]]]]:
    """Return judgments with grades 0 to 3, and the systems' runs."""
    chance = np.random.default_rng(SEED)
    qrels: dict[str, dict[str, int]] = {}
    runs: list[dict[str, dict[str, float]]] = [{} for _ in range(SYSTEMS)]
    for q in range(QUERIES):
        grades = chance.choice(4, JUDGED, p=[0.6, 0.2, 0.1, 0.1]).tolist()
        qrels[f"q{q}"] = {f"d{d}": grade for d, grade in enumerate(grades)}
        for run in runs:
            docs = chance.choice(2_000, DOCUMENTS, replace=False).tolist()
            run[f"q{q}"] = {f"d{d}": float(DOCUMENTS - i) for i, d in enumerate(docs)}
    return qrels, runs


def every_measure() -> list[Measure]:
    """Return all measures, with cutoff 10 (or recall 0.1) where they need one."""
    found = []
    for definition in definitions():
        one = Measure(definition.name)
        if definition.cutoff == "required":
            one = one @ (0.1 if definition.cutoff_kind == "recall" else 10)
        found.append(one)
    return found


def median_of(repeats: int, parts: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return each part's median time in seconds; the parts take turns."""
    times: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(repeats):
        for name, part in parts.items():
            began = time.perf_counter()
            part()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


def all_measures(repeats: int) -> None:
    """Time all measures on judged runs, and each alone; some from dicts, and in pytrec_eval."""
    qrels, runs = collection()
    judgments, measures = Qrels(qrels), every_measure()

    def judged() -> list[Judged]:
        found = judge_all(judgments, [Run(run) for run in runs])
        return [meeting.judged for meeting in found]

    def timed(wanted: list[Measure]) -> Callable[[], float]:
        def values() -> float:
            fresh = judged()  # without cached values
            began = time.perf_counter()
            plan = Plan(wanted)
            for one in fresh:
                plan.values(one)
            return time.perf_counter() - began

        return values

    def medians(wanted: list[Measure]) -> float:
        return statistics.median(timed(wanted)() for _ in range(repeats))

    print(f"{SYSTEMS} systems, {QUERIES} queries x {DOCUMENTS:,} documents, from Judged:")
    print(f"  all {len(measures)} measures together: {medians(measures):.3f} s")
    alone = {str(one): medians([one]) for one in measures}
    print(f"  each alone, added up: {sum(alone.values()):.3f} s; the slowest ones:")
    for name, seconds in sorted(alone.items(), key=lambda item: -item[1])[:8]:
        print(f"    {1000 * seconds:7.1f} ms  {name}")

    names = "AP nDCG@10 P@10 R@100 RR Bpref Rprec"
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "ndcg_cut.10", "P.10", "recall.100", "recip_rank", "bpref", "Rprec"}
    )
    sides = median_of(
        repeats,
        {
            "cranfield": lambda: evaluate(qrels, runs, names),
            "pytrec_eval": lambda: [evaluator.evaluate(run) for run in runs],
        },
    )
    print(f"  {names}, from dicts:")
    for name, seconds in sides.items():
        print(f"    {seconds:.3f} s  {name}  ({seconds / sides['cranfield']:.2f} x)")


def many_cutoffs(repeats: int) -> None:
    """Time an evaluation from files, with one cutoff of nDCG and with a hundred."""
    qrels, runs = collection()
    with tempfile.TemporaryDirectory() as folder:
        Qrels(qrels).write(Path(folder, "qrels"), format="trec")
        for i, run in enumerate(runs):
            Run(run).write(Path(folder, f"{i}.run"))
        files = [str(Path(folder, f"{i}.run")) for i in range(SYSTEMS)]
        truth = str(Path(folder, "qrels"))
        times = median_of(
            repeats,
            {
                "nDCG@10": lambda: evaluate(truth, files, "nDCG@10"),
                "nDCG@1..100": lambda: evaluate(truth, files, "nDCG@1..100"),
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
    all_measures(repeats)
    many_cutoffs(repeats)


if __name__ == "__main__":
    main()
