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
from cranfield.comparison.randomization import invert_sign_flips, sign_flip_p_values, step_down_p_values
from cranfield.comparison.sequential import STOP

SEED = 20_261_122
QUERIES, SYSTEMS, FLIPS = 6_980, 10, 100_000
PEERS = 9  # pairs that the other tools are timed with


def scores(n_queries: int, n_systems: int) -> PairedScores:
    """Return scores from 0 to 1, many of them 0, and all pairs of systems."""
    chance = np.random.default_rng(SEED)
    easy = chance.normal(0, 1, (n_queries, 1))
    values = np.clip(easy + chance.normal(0, 0.5, (n_queries, n_systems)), 0, 2) / 2
    left, right = np.array(list(combinations(range(n_systems), 2))).T
    return PairedScores(values, left, right)


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
    """Time all pairs of 10 systems on 6,980 queries, compared with scipy and ranx."""
    paired = scores(QUERIES, SYSTEMS)
    n_pairs, columns = len(paired.left_column), paired.differences.T[:PEERS].copy()
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

    def fresh() -> PairedScores:
        return PairedScores(paired.scores, paired.left_column, paired.right_column)  # nothing is kept

    parts: dict[str, Callable[[], object]] = {
        f"cranfield, {n_pairs} pairs x {ours:,} flips": lambda: sign_flip_p_values(
            fresh(), Flips(QUERIES, ours)
        ),
        f"scipy permutation_test, {PEERS} pairs x {theirs:,} flips": loop,
    }
    n_flips = [n_pairs * ours, PEERS * theirs]
    if importlib.util.find_spec("ranx"):
        from ranx.statistical_tests import fisher_randomization_test

        systems, peer = paired.scores.T.copy(), 500
        pairs = list(zip(paired.left_column.tolist(), paired.right_column.tolist(), strict=True))

        def ranx() -> None:
            for i, j in pairs[:PEERS]:
                fisher_randomization_test(systems[i], systems[j], peer)

        fisher_randomization_test(systems[0], systems[1], 10)  # compiles it
        parts[f"ranx fisher_randomization_test, {PEERS} pairs x {peer:,} flips"] = ranx
        n_flips.append(PEERS * peer)
    print(f"{n_pairs} pairs, {QUERIES:,} queries, two-sided p-values:")
    taken = median_of(repeats, parts)
    each = [s / n * 1e6 for s, n in zip(taken.values(), n_flips, strict=True)]
    for (name, seconds), one in zip(taken.items(), each, strict=True):
        print(f"  {seconds:8.3f} s  {one:10.4f} us a pair and flip  {one / each[0]:8.1f} x  {name}")


def many_systems(repeats: int, shrink: int) -> None:
    """Time all pairs of 50 systems on 50 queries."""
    paired, flips = scores(50, 50), Flips(50, FLIPS // shrink)

    def fresh() -> PairedScores:
        return PairedScores(paired.scores, paired.left_column, paired.right_column)

    print(f"{len(paired.left_column):,} pairs, 50 queries, {flips.n_drawn:,} flips:")
    taken = median_of(
        repeats,
        {
            "two-sided p-values": lambda: sign_flip_p_values(fresh(), flips),
            "step-down maxT": lambda: step_down_p_values(fresh(), flips),
            "95 % intervals by inversion": lambda: invert_sign_flips(fresh(), flips, 0.05),
        },
    )
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {name}")


def everything(repeats: int, shrink: int) -> None:
    """Time compare(): all that a table shows, and the other values in its JSON."""

    def named(n_queries: int, n_systems: int) -> dict[str, dict[str, float]]:
        columns = scores(n_queries, n_systems).scores.T.tolist()
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


@contextmanager
def beside(n_busy: int) -> Iterator[None]:
    """Keep the cores busy with `n_busy` processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def beside_others(repeats: int, shrink: int, n_busy: int) -> None:
    """Time compare() of 20,000 queries alone, and while other processes keep the cores busy."""
    columns = scores(20_000, 2).scores.T.tolist()
    ids = [f"q{i}" for i in range(20_000)]
    given = {f"s{i}": dict(zip(ids, one, strict=True)) for i, one in enumerate(columns)}

    def alone() -> None:
        str(compare(given, flips=FLIPS // shrink))

    def among_others() -> None:
        with beside(n_busy):
            alone()

    alone()  # imports everything
    taken = median_of(repeats, {"alone": alone, f"beside {n_busy} busy processes": among_others})
    print(f"compare(), 2 systems, 20,000 queries, {FLIPS // shrink:,} flips:")
    for name, seconds in taken.items():
        print(f"  {seconds:8.3f} s  {seconds / taken['alone']:6.2f} x  {name}")


# ---- many queries, slices and measures ----------------------------------------------------------

MANY, SLICES, P = 200_000, 20, (0.06, 0.2, 0.4)  # approximate p of each measure over all queries


def two_systems() -> np.ndarray:
    """Return scores of two systems under three measures: (3, n_queries, 2)."""
    found = np.empty((len(P), MANY, 2))
    for m, p in enumerate(P):
        chance = np.random.default_rng(SEED + m)
        easy = chance.normal(0, 1, (MANY, 1))
        found[m] = np.clip(easy + chance.normal(0, 0.5, (MANY, 2)), 0, 2) / 2
        d = found[m, :, 0] - found[m, :, 1]
        wanted = scipy.special.ndtri(1 - p / 2) * d.std() / MANY**0.5
        changed = d != 0
        found[m, changed, 0] += (wanted - d.mean()) / changed.mean()
    return found


def one_side(side: str, flips: int) -> None:
    """Do one side's work in this process, and print its time and memory as JSON."""
    values = two_systems()
    taken: dict[str, Any] = {}
    if side == "cranfield":
        ids = [f"q{i:06d}" for i in range(MANY)]
        names = ("nDCG@10", "AP", "RR")
        given = {
            f"s{i}": {
                name: dict(zip(ids, column.tolist(), strict=True))
                for name, column in zip(names, values[:, :, i], strict=True)
            }
            for i in range(2)
        }
        of = np.random.default_rng(SEED).integers(0, SLICES, MANY).tolist()
        labels = {query: f"type {label}" for query, label in zip(ids, of, strict=True)}
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, cpu = time.perf_counter(), time.process_time()
        found = compare(given, slices=labels, flips=flips)
        str(found)
        pairs = [pair for one in found.results for pair in one.pairs]
        of_all = pairs[: len(P)]  # measures, on all queries
        taken["p"] = [one.p for one in of_all]
        taken["flips"] = max(
            flips if one.method == "drawn" else STOP / (one.p or 1) for one in of_all
        )
    else:
        d = np.ascontiguousarray((values[:, :, 0] - values[:, :, 1]).T)
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        source = np.random.PCG64(SEED)
        began, cpu = time.perf_counter(), time.process_time()
        making, step = 0.0, 32  # flips in a block: 51 MB of signs
        for _ in range(0, flips, step):
            start = time.perf_counter()
            octets = source.random_raw(step * MANY // 64).view(np.uint8)
            signs = np.unpackbits(octets).reshape(step, MANY).astype(np.float64)
            signs *= 2
            signs -= 1
            making += time.perf_counter() - start
            signs @ d
        taken["making"] = making
    taken["wall"] = time.perf_counter() - began
    taken["cpu"] = time.process_time() - cpu
    taken["before"] = held / 1024
    taken["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(taken))


def turn(side: str, flips: int) -> dict[str, Any]:
    """Run one side in a separate process."""
    command = [sys.executable, __file__, "--side", side, "--flips", str(flips)]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return found


def many_slices(repeats: int, shrink: int, n_busy: int) -> None:
    """Time compare() of 200,000 queries, and one product with as many signs."""
    flips = FLIPS // shrink
    first = turn("cranfield", flips)
    drawn = round(first["flips"])
    turns: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repeats):
        turns.setdefault("compare()", []).append(turn("cranfield", flips))
        turns.setdefault(f"product, all {flips:,} flips", []).append(turn("product", flips))
        if drawn < flips:
            some = turns.setdefault(f"product, the {drawn:,} flips that were drawn", [])
            some.append(turn("product", drawn))
        if n_busy:
            with beside(n_busy):
                among = turns.setdefault(f"compare(), beside {n_busy} busy processes", [])
                among.append(turn("cranfield", flips))
    p = ", ".join(f"{one:.3f}" for one in first["p"])
    print(f"2 systems, {MANY:,} queries, 3 measures (p {p}), {SLICES} slices; {repeats} turns:")
    for name, several in turns.items():
        # For a product, without the time to make its signs.
        wall = sorted(one["wall"] - one.get("making", 0) for one in several)
        ours = [one["wall"] for one in turns["compare()"]]
        ratio = statistics.median(ours) / statistics.median(wall)
        making = statistics.median(one.get("making", 0) for one in several)
        cpu = statistics.median(one["cpu"] for one in several)
        memory = max(one["memory"] for one in several)
        spread = f"{wall[0]:.2f} to {wall[-1]:.2f}"
        print(
            f"  {statistics.median(wall):8.2f} s ({spread})  CPU {cpu:7.2f} s  {memory:5.0f} MB  "
            f"compare() takes {ratio:.2f} x  {name}{f', made in {making:.1f} s' if making else ''}"
        )


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
    parser.add_argument("--side", choices=["cranfield", "product"], help=argparse.SUPPRESS)
    parser.add_argument("--flips", type=int, default=FLIPS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side is not None:
        one_side(arguments.side, arguments.flips)
        return
    shrink = 10 if arguments.quick else 1
    print(
        f"{os.cpu_count()} cores, CPython {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}; medians of {arguments.repeats}"
    )
    many_queries(arguments.repeats, shrink)
    many_systems(arguments.repeats, shrink)
    everything(arguments.repeats, shrink)
    many_slices(arguments.repeats, shrink, arguments.busy)
    if arguments.busy:
        beside_others(arguments.repeats, shrink, arguments.busy)
    imports(arguments.repeats)


if __name__ == "__main__":
    main()
