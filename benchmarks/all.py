"""All benchmarks, in one table.

    pip install '.[bench]'  # and pyspark[connect]>=4 with Java, for Spark
    python benchmarks/all.py [--quick] [--only WORD...] [--turns 5] [--trec-eval PROGRAM]

The sides of a bar take turns, each in a process of its own, on two cores. What is printed: the
medians of the seconds (CPU, or wall where threads or whole commands are compared) and the greatest
peak of the memory, and the ratio of cranfield to the other in each turn: median, least, greatest.
The rows are put into `results.json`, from which the docs have their table (`scripts/make_docs.py`);
rows that are not measured stay as they are. `--quick` takes small data, and saves nothing.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bars import Bar, SideCall, list_bars
from sides import MARK

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from speed_table import RESULTS, make_speed_table, read_rows

Costs = dict[str, Any]  # of a turn, as `sides.measure_side` returns them
_QUICK_FACTOR = 50  # times fewer queries
_QUICK_RUNS = 10  # at most


class SideError(Exception):
    """A side cannot be measured."""


def shrink(data: dict[str, Any]) -> dict[str, Any]:
    """Return small data of the same shape."""
    small_data = {**data, "n_queries": max(10, data["n_queries"] // _QUICK_FACTOR)}
    if "n_runs" in data:
        small_data["n_runs"] = min(_QUICK_RUNS, data["n_runs"])
    return small_data


def measure_side(
    call: SideCall, folder: str, data: dict[str, Any], source: str | None = None
) -> Costs:
    """Measure a side in a new process; `source` is the src folder of another cranfield."""
    side, options = call
    task = {"side": side, "folder": folder, "data": data, "options": options}
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("sides.py")), json.dumps(task)],
        capture_output=True,
        text=True,
        env={**os.environ, **({} if source is None else {"PYTHONPATH": source})},
    )
    _, mark, line = process.stdout.rpartition(MARK)
    if process.returncode or not mark:
        lines = process.stderr.strip().splitlines() or ["no output"]
        raise SideError(f"{side} failed: {lines[-1]:.300}")
    costs: Costs = json.loads(line)
    if "missing" in costs:
        raise SideError(f"not installed: {costs['missing']}")
    return costs


def measure_bar(bar: Bar, folder: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the row of a bar; SideError if a side cannot be measured."""
    data, other_data = bar.data, {**bar.data, **bar.other_data}
    if arguments.quick:
        data, other_data = shrink(data), shrink(other_data)
    sides: dict[str, tuple[SideCall, dict[str, Any], str | None]] = {
        "ours": (bar.ours, data, None),
        "other": (bar.other, other_data, None),
    }
    if arguments.before:
        sides["before"] = (bar.ours, data, arguments.before)
    turns: dict[str, list[Costs]] = {name: [] for name in sides}
    for _ in range(arguments.turns):
        for name, (call, side_data, source) in sides.items():
            turns[name].append(measure_side(call, folder, side_data, source))
    digests = {costs.get("digest") for name in ("ours", "before") for costs in turns.get(name, ())}
    if len(digests) > 1:
        raise SideError("the values of two turns, or of the version before, differ")
    seconds_of = "cpu" if bar.quantity == "memory" else bar.quantity
    row: dict[str, Any] = {"title": bar.title, "peer": bar.peer}
    for name, side_turns in turns.items():
        factor = bar.other_factor if name == "other" else 1.0
        row[name] = {
            "seconds": factor * statistics.median(costs[seconds_of] for costs in side_turns),
            "memory": max(costs["memory"] for costs in side_turns),
        }
    for name in [name for name in turns if name != "ours"]:
        factor = bar.other_factor if name == "other" else 1.0
        ratios = [
            ours[bar.quantity] / max(1e-9, factor * other[bar.quantity])
            for ours, other in zip(turns["ours"], turns[name], strict=True)
        ]
        prefix = "" if name == "other" else "before_"
        row[f"{prefix}ratio"] = statistics.median(ratios)
        row[f"{prefix}least"], row[f"{prefix}most"] = min(ratios), max(ratios)
    row |= {"at_most": bar.at_most, "max_memory": bar.max_memory}
    row["date"] = datetime.now(UTC).date().isoformat()
    row["machine"] = describe_machine(arguments.turns)
    return row


def describe_machine(n_turns: int) -> str:
    """Return what was measured with, and how often."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("cranfield", "numpy", "pyarrow"))
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{n_turns} turns, {n_cores} cores, Python {platform.python_version()}, {versions}"


def merge_rows(
    bars: list[Bar], saved_rows: list[dict[str, Any]], new_rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows in the order of the bars: a new row in the place of a saved row."""
    row_of_title = {row["title"]: row for row in (*saved_rows, *new_rows)}
    return [row_of_title[bar.title] for bar in bars if bar.title in row_of_title]


def main() -> None:
    """Measure, print the table, and save the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the queries; not saved")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="bars with one of these words")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--before", metavar="SRC", help="the src folder of another version")
    parser.add_argument("--temp", help="the folder of the data, which are kept there")
    parser.add_argument(
        "--trec-eval", default=os.environ.get("TREC_EVAL"), help="the program; else $TREC_EVAL"
    )
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    bars = list_bars(arguments.trec_eval)
    words = [word.lower() for word in arguments.only or [""]]
    rows, left_out = [], []
    if arguments.trec_eval is None:
        left_out.append("trec_eval: no program is named (--trec-eval, or $TREC_EVAL)")
    with tempfile.TemporaryDirectory(prefix="cranfield-benchmarks-") as folder:
        for bar in bars:
            if not any(word in f"{bar.title} {bar.peer}".lower() for word in words):
                continue
            print(f"{bar.title}, beside {bar.peer}", file=sys.stderr, flush=True)
            try:
                rows.append(measure_bar(bar, arguments.temp or folder, arguments))
            except SideError as error:
                left_out.append(f"{bar.title}, beside {bar.peer}: {error}")
    print(make_speed_table(rows))
    for row in rows:
        if "before_ratio" in row:
            ratios = [f"{row[f'before_{name}']:.2f}" for name in ("ratio", "least", "most")]
            spread = "{} ({} to {})".format(*ratios)
            print(f"beside the version before: {row['title']}: {spread}")
    print(*(f"left out: {text}" for text in left_out), sep="\n")
    if not arguments.quick:
        merged_rows = merge_rows(bars, read_rows(), rows)
        RESULTS.write_text(json.dumps(merged_rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
