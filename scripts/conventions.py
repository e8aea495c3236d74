"""Compare cranfield's conventions with the tools: python scripts/conventions.py --environments DIR.

Each tool is installed into a separate environment in DIR (created if it is missing, several GB in
all) and runs there, with its driver in scripts/conventions, on generated collections. Its values
are compared with `cranfield.evaluate(..., convention=NAME)`, and a table is printed: for each tool,
variant and measure, the number of values, how many are equal within the tool's precision, how many
are not (and the first of them), for how many the tool raises or returns NaN, and how many are not
compared, since no rule is known for them (tools.py says why).

    --tools ranx beir        only these
    --seeds 0 30             the collections: from the first seed up to, not including, the second
    --values FILE            only write the tools' values to FILE, as JSON, tool after tool
    --said FILE              read the tools' values from a FILE that --values wrote
    --stored FILE            compare the tools with the values in FILE of an earlier run,
                             on its collections: do the drivers still call the tools in the same
                                 way?
    --show SEED              print the collection of a seed

Nothing is installed if a tool's environment exists. No test runs this: it needs gigabytes of
packages. The tests compare the conventions with values that were stored.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import venv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from small_collections import generated
from tools import TOOLS, Tool, Variant

DRIVERS = Path(__file__).parent / "conventions"
SETTINGS = {"PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "RAGAS_DO_NOT_TRACK": "true"}
Value = float | dict[str, str]  # a number, or {"error": "ValueError: ..."}
Values = dict[str, dict[str, Value]]  # of each collection, each measure


def environment(folder: Path, name: str, requirements: tuple[str, ...]) -> Path:
    """Return the interpreter of a tool's environment, created if it is missing."""
    python = folder / name.replace("_", "-") / "bin" / "python"
    for made in (folder / name / "bin" / "python", python):
        if made.exists():
            return made
    print(f"{name}: installing {' '.join(requirements)}", file=sys.stderr)
    venv.create(python.parent.parent, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    subprocess.run(command, check=True)  # noqa: S603 - a fixed command
    return python


def said_by(python: Path, name: str, collections: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's versions, and its values of each variant for the collections."""
    needed = ("qrels", "run", "lists", "k")
    given = {one: {key: what[key] for key in needed} for one, what in collections.items()}
    process = subprocess.run(  # noqa: S603 - this file's drivers
        [str(python), str(DRIVERS / f"run_{name}.py")],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env=os.environ | SETTINGS,
    )
    if process.returncode:
        raise SystemExit(f"{name}: {process.stderr}")
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def ours(collections: dict[str, Any], variant: Variant, said: Values) -> Values:
    """Return cranfield's values for the measures that a tool gave, by its convention."""
    import cranfield

    found: Values = {}
    for name, one in collections.items():
        rankings = one["lists"] if variant.lists else one["run"]
        found[name] = {}
        for measure in said[name]:
            counterpart = variant.counterpart(measure)
            if counterpart is None:
                continue
            convention, its = counterpart
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", cranfield.CranfieldWarning)
                    scores = cranfield.evaluate(one["qrels"], rankings, its, convention=convention)
                found[name][measure] = float(scores[its])
            except Exception as error:  # noqa: BLE001 - shown in the table
                found[name][measure] = {"error": f"{type(error).__name__}: {error}"}
    return found


@dataclass
class Row:
    """A row of the table: how one measure compares over all collections."""

    collections: int = 0
    values: int = 0
    equal: int = 0
    different: int = 0
    raised: int = 0
    apart: int = 0
    first: str = ""

    def add(self, name: str, measure: str, theirs: Value, others: Value, tolerance: float) -> None:
        """Count one value of the tool, compared with another."""
        self.values += 1
        if isinstance(theirs, dict):
            self.raised += 1
        elif not isinstance(others, dict) and abs(theirs - others) <= tolerance:
            self.equal += 1
        else:
            self.different += 1
            self.first = self.first or f"{name}, {measure}: {shown(theirs)}, not {shown(others)}"


def shown(value: Value) -> str:
    """Return a value as text."""
    return " ".join(value["error"].split())[:100] if isinstance(value, dict) else f"{value:.10g}"


def compared(
    collections: dict[str, Any], variant: Variant, said: Values, others: Values, tolerance: float
) -> dict[str, Row]:
    """Return a row for each measure, its cutoffs together."""
    rows: dict[str, Row] = {}
    for name, values in said.items():
        seen = set()
        for measure, value in values.items():
            if measure not in others[name]:
                continue
            base, _, k = measure.partition("@")
            row = rows.setdefault(base + ("@k" if k else ""), Row())
            seen.add(base + ("@k" if k else ""))
            if variant.apart(collections[name], base, int(k) if k else None):
                row.apart += 1
            else:
                row.add(name, measure, value, others[name][measure], tolerance)
        for base in seen:
            rows[base].collections += 1
    return rows


HEADER = ("tool", "variant", "measure", "collections", "values", "equal")
HEADER += ("different", "raised", "apart")


def print_table(table: list[tuple[str, ...]], firsts: list[str]) -> None:
    """Print rows of text in columns, and the first difference of each row below it."""
    widths = [max(len(row[at]) for row in [HEADER, *table]) for at in range(len(HEADER))]
    lines = [HEADER, *table]
    for row, first in zip(lines, ["", *firsts], strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
        if first:
            print(f"    {first}")


def stored_values(tool: Tool, stored: dict[str, Any]) -> Iterator[tuple[str, Values]]:
    """Yield each stored variant, with its values by the driver's names of measures."""
    for name, variant in tool.variants.items():
        if variant.stored is None:
            continue
        found: Values = {}
        for collection, values in stored["tools"][variant.stored].items():
            found[collection] = {}
            for measure, value in values.items():
                ours_of_it = variant.names.get(measure, measure)
                if isinstance(value, str):
                    found[collection][ours_of_it] = {"error": value}
                elif isinstance(value, float | int):
                    nan = math.isnan(value)
                    found[collection][ours_of_it] = {"error": "NaN"} if nan else float(value)
        yield name, found


def others_of(
    tool: Tool, collections: dict[str, Any], said: dict[str, Any], stored: dict[str, Any] | None
) -> Iterator[tuple[str, Values]]:
    """Yield each variant, with the values to compare it with: stored ones, or cranfield's."""
    if stored:
        yield from stored_values(tool, stored)
        return
    for name, variant in tool.variants.items():
        values = ours(collections, variant, said["variants"][name])
        if any(values.values()):
            yield name, values


def written(path: Path, content: dict[str, Any]) -> None:
    """Write JSON atomically: a reader sees the whole old file or the whole new one."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content, indent=1), "utf-8")
    draft.replace(path)


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=Path, help="folder of the tools' environments")
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 30), metavar=("FIRST", "END"))
    parser.add_argument("--values", type=Path, metavar="FILE")
    parser.add_argument("--stored", type=Path, metavar="FILE")
    parser.add_argument("--said", type=Path, metavar="FILE")
    parser.add_argument("--show", type=int, metavar="SEED")
    typed = parser.parse_args()
    if typed.show is None and typed.said is None and typed.environments is None:
        parser.error("--environments DIR is needed: the folder of the tools' environments")
    return typed


def main() -> None:
    """Run the tools, compare, print."""
    typed = arguments()
    if typed.show is not None:
        print(json.dumps(generated(typed.show), indent=1))
        return
    stored = json.loads(typed.stored.read_text("utf-8")) if typed.stored else None
    if stored:
        collections = {
            name: one | {"k": [stored["k"]]} for name, one in stored["collections"].items()
        }
    elif typed.said:
        collections = json.loads(typed.said.read_text("utf-8"))["collections"]
    else:
        collections = {f"seed {seed}": generated(seed) for seed in range(*typed.seeds)}
    kept: dict[str, Any] = {"about": __doc__, "collections": collections, "tools": {}}
    if typed.values and typed.values.exists():
        before = json.loads(typed.values.read_text("utf-8"))
        if before["collections"] == collections:
            kept["tools"] = before["tools"]
    said_before = json.loads(typed.said.read_text("utf-8"))["tools"] if typed.said else {}
    table: list[tuple[str, ...]] = []
    firsts: list[str] = []
    for name in typed.tools:
        tool = TOOLS[name]
        if typed.said:
            said = said_before[name]
        else:
            said = said_by(
                environment(typed.environments, name, tool.requirements), name, collections
            )
        version = next(iter(said["versions"].values()))
        if typed.values:
            kept["tools"][name] = said
            written(typed.values, kept)
            continue
        for variant, values in others_of(tool, collections, said, stored):
            found = tool.variants[variant]
            rows = compared(collections, found, said["variants"][variant], values, tool.tolerance)
            for measure, row in rows.items():
                counts = (row.collections, row.values, row.equal, row.different, row.raised)
                cells = (f"{name} {version}", variant, measure, *map(str, (*counts, row.apart)))
                table.append(cells)
                firsts.append(row.first)
    if table:
        print_table(table, firsts)


if __name__ == "__main__":
    main()
