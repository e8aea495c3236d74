"""Time of randomization tests beside scipy and ranx.

    pip install '.[bench]'
    python benchmarks/comparison.py [--quick] [--repeats 3] [--busy 2]

The scores are made here, from a stated seed: 10 systems on 6,980 queries, as MS MARCO's development
set has, and 50 systems on 50 queries. All sides take turns; what is printed are medians. scipy and
ranx take one pair after the other, and would take an hour for 100,000 flips of all: they are timed
over some pairs and fewer flips, as stated, and compared by time per pair and flip. scipy has all of
its flips in one batch, where it is quickest.

`--busy N`: also compare 20,000 queries beside N processes that do nothing but count, in turn with
none beside. What it takes then should be at most twice as long.
"""

import argparse
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import scipy
from scipy.stats import permutation_test

from cranfield import compare
from cranfield.comparison.flips import Flips, Paired
from cranfield.comparison.randomization import inverted, sign_flip, step_down

SEED = 20_261_122
QUERIES, SYSTEMS, FLIPS = 6_980, 10, 100_000
PEERS = 9  # pairs that the peers are timed over


def scores(n_queries: int, n_systems: int) -> Paired:
    """Return scores from 0 to 1, many of them 0, and all pairs of systems."""
    chance = np.random.default_rng(SEED)
    easy = chance.normal(0, 1, (n_queries, 1))
    values = np.clip(easy + chance.normal(0, 0.5, (n_queries, n_systems)), 0, 2) / 2
    left, right = np.array(list(combinations(range(n_systems), 2))).T
    return Paired(values, left, right)


def median_of(repeats: int, parts: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return each part's median time in seconds; the parts take turns."""
    times: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(repeats):
        for name, part in parts.items():
            began = time.perf_counter()
            part()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


def many_queries(repeats: int, shrink: int) -> None:
    """Time all pairs of 10 systems on 6,980 queries, beside scipy and ranx."""
    paired = scores(QUERIES, SYSTEMS)
    n_pairs, columns = len(paired.left), paired.differences.T[:PEERS].copy()
    ours, theirs = FLIPS // shrink, 1_000

    def mean(x: np.ndarray, axis: int) -> np.ndarray:
        found: np.ndarray = x.mean(axis=axis)
        return found

    def loop() -> None:
        for d in columns:
            permutation_test(
                (d,),
                mean,
                permutation_type="samples",
                vectorized=True,
                n_resamples=theirs,
                batch=theirs,
                rng=np.random.default_rng(SEED),
            )

    def fresh() -> Paired:
        return Paired(paired.values, paired.left, paired.right)  # nothing is kept

    parts: dict[str, Callable[[], object]] = {
        f"cranfield, {n_pairs} pairs x {ours:,} flips": lambda: sign_flip(
            fresh(), Flips(QUERIES, ours)
        ),
        f"scipy permutation_test, {PEERS} pairs x {theirs:,} flips": loop,
    }
    n_flips = [n_pairs * ours, PEERS * theirs]
    if importlib.util.find_spec("ranx"):
        from ranx.statistical_tests import fisher_randomization_test

        systems, peer = paired.values.T.copy(), 500
        pairs = list(zip(paired.left.tolist(), paired.right.tolist(), strict=True))

        def ranx() -> None:
            for i, j in pairs[:PEERS]:
                fisher_randomization_test(systems[i], systems[j], peer)

        fisher_randomization_test(systems[0], systems[1], 10)  # compiled now
        parts[f"ranx fisher_randomization_test, {PEERS} pairs x {peer:,} flips"] = ranx
        n_flips.append(PEERS * peer)
    print(f"{n_pairs} pairs, {QUERIES:,} queries, two-sided p-values:")
    taken = median_of(repeats, parts)
    each = [s / n * 1e6 for s, n in zip(taken.values(), n_flips, strict=True)]
    for (name, seconds), one in zip(taken.items(), each, strict=True):
        print(f"  {seconds:8.3f} s  {one:10.4f} us a pair and flip  {one / each[0]:8.1f} x  {name}")


def many_systems(repeats: int, shrink: int) -> None:
    """Time what all pairs of 50 systems take on 50 queries."""
    paired, flips = scores(50, 50), Flips(50, FLIPS // shrink)

    def fresh() -> Paired:
        return Paired(paired.values, paired.left, paired.right)

    print(f"{len(paired.left):,} pairs, 50 queries, {flips.drawn:,} flips:")
    taken = median_of(
        repeats,
        {
            "two-sided p-values": lambda: sign_flip(fresh(), flips),
            "step-down maxT": lambda: step_down(fresh(), flips),
            "95 % intervals by inversion": lambda: inverted(fresh(), flips, 0.05),
        },
    )
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {name}")


def everything(repeats: int, shrink: int) -> None:
    """Time compare(): all that a table shows, and what json holds beside it."""

    def named(n_queries: int, n_systems: int) -> dict[str, dict[str, float]]:
        columns = scores(n_queries, n_systems).values.T.tolist()
        ids = [f"q{i}" for i in range(n_queries)]
        return {f"s{i}": dict(zip(ids, one, strict=True)) for i, one in enumerate(columns)}

    def comparing(n_queries: int, n_systems: int, all_pairs: bool) -> Callable[[], object]:
        given = named(n_queries, n_systems)
        return lambda: str(compare(given, all_pairs=all_pairs, flips=FLIPS // shrink))

    print(f"compare(), {FLIPS // shrink:,} flips:")
    taken = median_of(
        repeats,
        {
            "12 systems, 43 queries, all 66 pairs": comparing(43, 12, True),
            "50 systems, 50 queries, all 1,225 pairs": comparing(50, 50, True),
            "2 systems, 6,980 queries": comparing(6_980, 2, False),
            "10 systems, 6,980 queries, all 45 pairs": comparing(6_980, 10, True),
        },
    )
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {name}")


def beside_others(repeats: int, shrink: int, n_busy: int) -> None:
    """Time compare() of 20,000 queries alone, and beside processes that keep the cores busy."""
    columns = scores(20_000, 2).values.T.tolist()
    ids = [f"q{i}" for i in range(20_000)]
    given = {f"s{i}": dict(zip(ids, one, strict=True)) for i, one in enumerate(columns)}

    def alone() -> None:
        str(compare(given, flips=FLIPS // shrink))

    def beside() -> None:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)]
        try:
            alone()
        finally:
            for process in busy:
                process.kill()
                process.wait()

    alone()  # all is imported now
    taken = median_of(repeats, {"alone": alone, f"beside {n_busy} busy processes": beside})
    print(f"compare(), 2 systems, 20,000 queries, {FLIPS // shrink:,} flips:")
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {seconds / taken['alone']:6.2f} x  {name}")


def imports(repeats: int) -> None:
    """Time new interpreters that import and do nothing else."""

    def started(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    names = ["cranfield", "numpy", "cranfield.comparison.flips", "scipy.special", "scipy.stats"]
    taken = median_of(
        2 * repeats + 1,
        {"nothing": started("pass"), **{name: started(f"import {name}") for name in names}},
    )
    print("A new interpreter, and to import:")
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {name}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the flips")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, help="processes that keep the cores busy")
    arguments = parser.parse_args()
    shrink = 10 if arguments.quick else 1
    print(
        f"{os.cpu_count()} cores, CPython {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}; medians of {arguments.repeats}"
    )
    many_queries(arguments.repeats, shrink)
    many_systems(arguments.repeats, shrink)
    everything(arguments.repeats, shrink)
    if arguments.busy:
        beside_others(arguments.repeats, shrink, arguments.busy)
    imports(arguments.repeats)


if __name__ == "__main__":
    main()
