"""Time of randomization tests, compared with scipy and ranx.

    pip install '.[bench]'
    python benchmarks/comparison.py [--quick] [--repeats 3] [--busy 2]

The scores are made here, from a fixed seed: 10 systems on 6,980 queries, as in MS MARCO's
development set, and 50 systems on 50 queries. All sides take turns; the printed times are medians.
scipy and ranx compute one pair after the other, and would take an hour for 100,000 flips of all
pairs: they are timed with some pairs and fewer flips, as stated, and compared by time per pair and
flip. scipy gets all of its flips in one batch, where it is fastest.

Then 200,000 queries, 2 systems, 3 measures and 20 slices, without a clear difference, compared with
one numpy product of signs, 100,000 flips x 200,000 queries, with the same differences; a separate
process for each side and turn, with its time and memory. Once with all flips, and once with as many
as were drawn for all queries (a slice with a smaller p may take more). The time to make the
product's signs, which is longer, is not counted, but printed. The time of compare() includes
reading dicts and making tables.

`--busy N`: also compare 20,000 queries, and 200,000, while N other processes keep the cores busy,
in turn with no other process. This should take at most twice as long.
"""

import argparse
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import scipy
import scipy.special
from scipy.stats import permutation_test

from cranfield import compare
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.randomization import (
    invert_sign_flips,
    sign_flip_p_values,
    step_down_p_values,
)
from cranfield.comparison.sequential import STOP

SEED = 20_261_122
N_QUERIES, N_SYSTEMS, N_FLIPS = 6_980, 10, 100_000
N_PEER_PAIRS = 9  # pairs that the other tools are timed with


def make_scores(n_queries: int, n_systems: int) -> PairedScores:
    """Return scores from 0 to 1, many of them 0, and all pairs of systems."""
    random = np.random.default_rng(SEED)
    easiness = random.normal(0, 1, (n_queries, 1))
    scores = np.clip(easiness + random.normal(0, 0.5, (n_queries, n_systems)), 0, 2) / 2
    left_column, right_column = np.array(list(combinations(range(n_systems), 2))).T
    return PairedScores(scores, left_column, right_column)


def measure_medians(repeats: int, calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return each part's median time in seconds; the parts take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def time_many_queries(repeats: int, shrink: int) -> None:
    """Time all pairs of 10 systems on 6,980 queries, compared with scipy and ranx."""
    paired_scores = make_scores(N_QUERIES, N_SYSTEMS)
    n_pairs, columns = (
        len(paired_scores.left_column),
        paired_scores.differences.T[:N_PEER_PAIRS].copy(),
    )
    n_own_flips, n_peer_flips = N_FLIPS // shrink, 1_000

    def mean(x: np.ndarray, axis: int) -> np.ndarray:
        means: np.ndarray = x.mean(axis=axis)
        return means

    def test_by_scipy() -> None:
        for d in columns:
            permutation_test(
                (d,),
                mean,
                permutation_type="samples",
                vectorized=True,
                n_resamples=n_peer_flips,
                batch=n_peer_flips,
                rng=np.random.default_rng(SEED),
            )

    def make_fresh() -> PairedScores:
        return PairedScores(
            paired_scores.scores, paired_scores.left_column, paired_scores.right_column
        )  # nothing is kept

    calls: dict[str, Callable[[], object]] = {
        f"cranfield, {n_pairs} pairs x {n_own_flips:,} flips": lambda: sign_flip_p_values(
            make_fresh(), Flips(N_QUERIES, n_own_flips)
        ),
        f"scipy permutation_test, {N_PEER_PAIRS} pairs x {n_peer_flips:,} flips": test_by_scipy,
    }
    n_flips = [n_pairs * n_own_flips, N_PEER_PAIRS * n_peer_flips]
    if importlib.util.find_spec("ranx"):
        from ranx.statistical_tests import fisher_randomization_test

        systems, n_ranx_flips = paired_scores.scores.T.copy(), 500
        pairs = list(
            zip(
                paired_scores.left_column.tolist(), paired_scores.right_column.tolist(), strict=True
            )
        )

        def test_by_ranx() -> None:
            for i, j in pairs[:N_PEER_PAIRS]:
                fisher_randomization_test(systems[i], systems[j], n_ranx_flips)

        fisher_randomization_test(systems[0], systems[1], 10)  # compiles it
        calls[f"ranx fisher_randomization_test, {N_PEER_PAIRS} pairs x {n_ranx_flips:,} flips"] = (
            test_by_ranx
        )
        n_flips.append(N_PEER_PAIRS * n_ranx_flips)
    print(f"{n_pairs} pairs, {N_QUERIES:,} queries, two-sided p-values:")
    time_of_call = measure_medians(repeats, calls)
    time_per_flip = [s / n * 1e6 for s, n in zip(time_of_call.values(), n_flips, strict=True)]
    for (name, seconds), microseconds in zip(time_of_call.items(), time_per_flip, strict=True):
        print(
            f"  {seconds:8.3f} s  {microseconds:10.4f} us a pair and flip  "
            f"{microseconds / time_per_flip[0]:8.1f} x  {name}"
        )


def time_many_systems(repeats: int, shrink: int) -> None:
    """Time all pairs of 50 systems on 50 queries."""
    paired_scores, flips = make_scores(50, 50), Flips(50, N_FLIPS // shrink)

    def make_fresh() -> PairedScores:
        return PairedScores(
            paired_scores.scores, paired_scores.left_column, paired_scores.right_column
        )

    print(f"{len(paired_scores.left_column):,} pairs, 50 queries, {flips.n_drawn:,} flips:")
    time_of_call = measure_medians(
        repeats,
        {
            "two-sided p-values": lambda: sign_flip_p_values(make_fresh(), flips),
            "step-down maxT": lambda: step_down_p_values(make_fresh(), flips),
            "95 % intervals by inversion": lambda: invert_sign_flips(make_fresh(), flips, 0.05),
        },
    )
    for name, seconds in time_of_call.items():
        print(f"  {seconds:8.3f} s  {name}")


def time_compare(repeats: int, shrink: int) -> None:
    """Time compare(): all that a table shows, and the other values in its JSON."""

    def make_named_scores(n_queries: int, n_systems: int) -> dict[str, dict[str, float]]:
        columns = make_scores(n_queries, n_systems).scores.T.tolist()
        ids = [f"q{i}" for i in range(n_queries)]
        return {f"s{i}": dict(zip(ids, column, strict=True)) for i, column in enumerate(columns)}

    def make_call(n_queries: int, n_systems: int, all_pairs: bool) -> Callable[[], object]:
        scores_of_system = make_named_scores(n_queries, n_systems)
        return lambda: str(compare(scores_of_system, all_pairs=all_pairs, flips=N_FLIPS // shrink))

    print(f"compare(), {N_FLIPS // shrink:,} flips:")
    time_of_call = measure_medians(
        repeats,
        {
            "12 systems, 43 queries, all 66 pairs": make_call(43, 12, True),
            "50 systems, 50 queries, all 1,225 pairs": make_call(50, 50, True),
            "2 systems, 6,980 queries": make_call(6_980, 2, False),
            "10 systems, 6,980 queries, all 45 pairs": make_call(6_980, 10, True),
        },
    )
    for name, seconds in time_of_call.items():
        print(f"  {seconds:8.3f} s  {name}")


@contextmanager
def keep_cores_busy(n_busy: int) -> Iterator[None]:
    """Keep the cores busy with `n_busy` processes."""
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def time_beside_others(repeats: int, shrink: int, n_busy: int) -> None:
    """Time compare() of 20,000 queries alone, and while other processes keep the cores busy."""
    columns = make_scores(20_000, 2).scores.T.tolist()
    ids = [f"q{i}" for i in range(20_000)]
    scores_of_system = {
        f"s{i}": dict(zip(ids, column, strict=True)) for i, column in enumerate(columns)
    }

    def compare_alone() -> None:
        str(compare(scores_of_system, flips=N_FLIPS // shrink))

    def compare_among_others() -> None:
        with keep_cores_busy(n_busy):
            compare_alone()

    compare_alone()  # imports everything
    time_of_call = measure_medians(
        repeats, {"alone": compare_alone, f"beside {n_busy} busy processes": compare_among_others}
    )
    print(f"compare(), 2 systems, 20,000 queries, {N_FLIPS // shrink:,} flips:")
    for name, seconds in time_of_call.items():
        print(f"  {seconds:8.3f} s  {seconds / time_of_call['alone']:6.2f} x  {name}")


# ---- many queries, slices and measures ----------------------------------------------------------

N_MANY_QUERIES, N_SLICES, P_OF_MEASURE = (
    200_000,
    20,
    (0.06, 0.2, 0.4),
)  # approximate p of each measure over all queries


def make_two_systems() -> np.ndarray:
    """Return scores of two systems under three measures: (3, n_queries, 2)."""
    scores = np.empty((len(P_OF_MEASURE), N_MANY_QUERIES, 2))
    for m, p in enumerate(P_OF_MEASURE):
        random = np.random.default_rng(SEED + m)
        easiness = random.normal(0, 1, (N_MANY_QUERIES, 1))
        scores[m] = np.clip(easiness + random.normal(0, 0.5, (N_MANY_QUERIES, 2)), 0, 2) / 2
        d = scores[m, :, 0] - scores[m, :, 1]
        mean_difference = scipy.special.ndtri(1 - p / 2) * d.std() / N_MANY_QUERIES**0.5
        is_changed = d != 0
        scores[m, is_changed, 0] += (mean_difference - d.mean()) / is_changed.mean()
    return scores


def run_side(side: str, flips: int) -> None:
    """Do one side's work in this process, and print its time and memory as JSON."""
    scores = make_two_systems()
    measurements: dict[str, Any] = {}
    if side == "cranfield":
        ids = [f"q{i:06d}" for i in range(N_MANY_QUERIES)]
        names = ("nDCG@10", "AP", "RR")
        scores_of_system = {
            f"s{i}": {
                name: dict(zip(ids, column.tolist(), strict=True))
                for name, column in zip(names, scores[:, :, i], strict=True)
            }
            for i in range(2)
        }
        slice_of_query = np.random.default_rng(SEED).integers(0, N_SLICES, N_MANY_QUERIES).tolist()
        labels = {query: f"type {label}" for query, label in zip(ids, slice_of_query, strict=True)}
        memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, cpu = time.perf_counter(), time.process_time()
        comparison = compare(scores_of_system, slices=labels, flips=flips)
        str(comparison)
        pairs = [pair for result in comparison.results for pair in result.pairs]
        overall_pairs = pairs[: len(P_OF_MEASURE)]  # measures, on all queries
        measurements["p"] = [pair.p for pair in overall_pairs]
        measurements["flips"] = max(
            flips if pair.method == "drawn" else STOP / (pair.p or 1) for pair in overall_pairs
        )
    else:
        d = np.ascontiguousarray((scores[:, :, 0] - scores[:, :, 1]).T)
        memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        source = np.random.PCG64(SEED)
        start, cpu = time.perf_counter(), time.process_time()
        signs_seconds, step = 0.0, 32  # flips in a block: 51 MB of signs
        for _ in range(0, flips, step):
            signs_start = time.perf_counter()
            octets = source.random_raw(step * N_MANY_QUERIES // 64).view(np.uint8)
            signs = np.unpackbits(octets).reshape(step, N_MANY_QUERIES).astype(np.float64)
            signs *= 2
            signs -= 1
            signs_seconds += time.perf_counter() - signs_start
            signs @ d
        measurements["making"] = signs_seconds
    measurements["wall"] = time.perf_counter() - start
    measurements["cpu"] = time.process_time() - cpu
    measurements["before"] = memory_before / 1024
    measurements["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(measurements))


def take_turn(side: str, flips: int) -> dict[str, Any]:
    """Run one side in a separate process."""
    command = [sys.executable, __file__, "--side", side, "--flips", str(flips)]
    measurements: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return measurements


def time_many_slices(repeats: int, shrink: int, n_busy: int) -> None:
    """Time compare() of 200,000 queries, and one product with as many signs."""
    flips = N_FLIPS // shrink
    first_turn = take_turn("cranfield", flips)
    n_drawn = round(first_turn["flips"])
    turns_of_side: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repeats):
        turns_of_side.setdefault("compare()", []).append(take_turn("cranfield", flips))
        turns_of_side.setdefault(f"product, all {flips:,} flips", []).append(
            take_turn("product", flips)
        )
        if n_drawn < flips:
            product_turns = turns_of_side.setdefault(
                f"product, the {n_drawn:,} flips that were drawn", []
            )
            product_turns.append(take_turn("product", n_drawn))
        if n_busy:
            with keep_cores_busy(n_busy):
                busy_turns = turns_of_side.setdefault(
                    f"compare(), beside {n_busy} busy processes", []
                )
                busy_turns.append(take_turn("cranfield", flips))
    p = ", ".join(f"{p_value:.3f}" for p_value in first_turn["p"])
    print(
        f"2 systems, {N_MANY_QUERIES:,} queries, 3 measures (p {p}), {N_SLICES} slices; "
        f"{repeats} turns:"
    )
    for name, side_turns in turns_of_side.items():
        # For a product, without the time to make its signs.
        wall = sorted(side_turn["wall"] - side_turn.get("making", 0) for side_turn in side_turns)
        compare_times = [compare_turn["wall"] for compare_turn in turns_of_side["compare()"]]
        ratio = statistics.median(compare_times) / statistics.median(wall)
        signs_seconds = statistics.median(side_turn.get("making", 0) for side_turn in side_turns)
        cpu = statistics.median(side_turn["cpu"] for side_turn in side_turns)
        memory = max(side_turn["memory"] for side_turn in side_turns)
        spread = f"{wall[0]:.2f} to {wall[-1]:.2f}"
        print(
            f"  {statistics.median(wall):8.2f} s ({spread})  CPU {cpu:7.2f} s  {memory:5.0f} MB  "
            f"compare() takes {ratio:.2f} x  {name}"
            f"{f', made in {signs_seconds:.1f} s' if signs_seconds else ''}"
        )


def time_imports(repeats: int) -> None:
    """Time new interpreters that import and do nothing else."""

    def start_interpreter(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    names = ["cranfield", "numpy", "cranfield.comparison.flips", "scipy.special", "scipy.stats"]
    time_of_call = measure_medians(
        2 * repeats + 1,
        {
            "nothing": start_interpreter("pass"),
            **{name: start_interpreter(f"import {name}") for name in names},
        },
    )
    print("A new interpreter, and to import:")
    for name, seconds in time_of_call.items():
        print(f"  {seconds:8.3f} s  {name}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the flips")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, help="processes that keep the cores busy")
    parser.add_argument("--side", choices=["cranfield", "product"], help=argparse.SUPPRESS)
    parser.add_argument("--flips", type=int, default=N_FLIPS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side is not None:
        run_side(arguments.side, arguments.flips)
        return
    shrink = 10 if arguments.quick else 1
    print(
        f"{os.cpu_count()} cores, CPython {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}; medians of {arguments.repeats}"
    )
    time_many_queries(arguments.repeats, shrink)
    time_many_systems(arguments.repeats, shrink)
    time_compare(arguments.repeats, shrink)
    time_many_slices(arguments.repeats, shrink, arguments.busy)
    if arguments.busy:
        time_beside_others(arguments.repeats, shrink, arguments.busy)
    time_imports(arguments.repeats)


if __name__ == "__main__":
    main()
