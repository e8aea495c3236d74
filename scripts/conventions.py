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

from small_collections import make_collection
from tools import TOOLS, Tool, Variant

DRIVERS = Path(__file__).parent / "conventions"
SETTINGS = {"PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "RAGAS_DO_NOT_TRACK": "true"}
Value = float | dict[str, str]  # a number, or {"error": "ValueError: ..."}
Values = dict[str, dict[str, Value]]  # of each collection, each measure


def make_environment(folder: Path, name: str, requirements: tuple[str, ...]) -> Path:
    """Return the interpreter of a tool's environment, created if it is missing."""
    python = folder / name.replace("_", "-") / "bin" / "python"
    for interpreter in (folder / name / "bin" / "python", python):
        if interpreter.exists():
            return interpreter
    print(f"{name}: installing {' '.join(requirements)}", file=sys.stderr)
    venv.create(python.parent.parent, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    subprocess.run(command, check=True)  # noqa: S603 - a fixed command
    return python


def run_tool(python: Path, name: str, collections: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's versions, and its values of each variant for the collections."""
    fields = ("qrels", "run", "lists", "k")
    inputs = {
        name: {key: collection[key] for key in fields} for name, collection in collections.items()
    }
    process = subprocess.run(  # noqa: S603 - this file's drivers
        [str(python), str(DRIVERS / f"run_{name}.py")],
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        env=os.environ | SETTINGS,
    )
    if process.returncode:
        raise SystemExit(f"{name}: {process.stderr}")
    tool_output: dict[str, Any] = json.loads(process.stdout)
    return tool_output


def evaluate_convention(
    collections: dict[str, Any], variant: Variant, tool_values: Values
) -> Values:
    """Return cranfield's values for the measures that a tool gave, by its convention."""
    import cranfield

    scores_of_collection: Values = {}
    for name, collection in collections.items():
        rankings = collection["lists"] if variant.takes_lists else collection["run"]
        scores_of_collection[name] = {}
        for measure in tool_values[name]:
            counterpart = variant.find_counterpart(measure)
            if counterpart is None:
                continue
            convention, counterpart_measure = counterpart
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", cranfield.CranfieldWarning)
                    scores = cranfield.evaluate(
                        collection["qrels"], rankings, counterpart_measure, convention=convention
                    )
                scores_of_collection[name][measure] = float(scores[counterpart_measure])
            except Exception as error:  # noqa: BLE001 - shown in the table
                scores_of_collection[name][measure] = {"error": f"{type(error).__name__}: {error}"}
    return scores_of_collection


@dataclass
class MeasureCounts:
    """A row of the table: how one measure compares over all collections."""

    n_collections: int = 0
    n_values: int = 0
    n_equal: int = 0
    n_different: int = 0
    n_raised: int = 0
    n_without_rule: int = 0
    first_difference: str = ""

    def add(
        self, name: str, measure: str, tool_value: Value, expected_value: Value, tolerance: float
    ) -> None:
        """Count one value of the tool, compared with another."""
        self.n_values += 1
        if isinstance(tool_value, dict):
            self.n_raised += 1
        elif not isinstance(expected_value, dict) and abs(tool_value - expected_value) <= tolerance:
            self.n_equal += 1
        else:
            self.n_different += 1
            values = f"{format_value(tool_value)}, not {format_value(expected_value)}"
            self.first_difference = self.first_difference or f"{name}, {measure}: {values}"


def format_value(value: Value) -> str:
    """Return a value as text."""
    return " ".join(value["error"].split())[:100] if isinstance(value, dict) else f"{value:.10g}"


def count_values(
    collections: dict[str, Any],
    variant: Variant,
    tool_values: Values,
    expected_values: Values,
    tolerance: float,
) -> dict[str, MeasureCounts]:
    """Return a row for each measure, its cutoffs together."""
    rows: dict[str, MeasureCounts] = {}
    for name, value_of_measure in tool_values.items():
        seen_measures = set()
        for measure, tool_value in value_of_measure.items():
            if measure not in expected_values[name]:
                continue
            base, _, k = measure.partition("@")
            row = rows.setdefault(base + ("@k" if k else ""), MeasureCounts())
            seen_measures.add(base + ("@k" if k else ""))
            if variant.has_no_rule(collections[name], base, int(k) if k else None):
                row.n_without_rule += 1
            else:
                row.add(name, measure, tool_value, expected_values[name][measure], tolerance)
        for base in seen_measures:
            rows[base].n_collections += 1
    return rows


HEADER = ("tool", "variant", "measure", "collections", "values", "equal")
HEADER += ("different", "raised", "apart")


def print_table(table: list[tuple[str, ...]], first_differences: list[str]) -> None:
    """Print rows of text in columns, and the first difference of each row below it."""
    widths = [
        max(len(row[column_index]) for row in [HEADER, *table])
        for column_index in range(len(HEADER))
    ]
    lines = [HEADER, *table]
    for row, first_difference in zip(lines, ["", *first_differences], strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
        if first_difference:
            print(f"    {first_difference}")


def read_stored_values(tool: Tool, stored_document: dict[str, Any]) -> Iterator[tuple[str, Values]]:
    """Yield each stored variant, with its values by the driver's names of measures."""
    for variant_name, variant in tool.variants.items():
        if variant.stored_name is None:
            continue
        values_of_collection: Values = {}
        for collection, stored_measures in stored_document["tools"][variant.stored_name].items():
            values_of_collection[collection] = {}
            for measure, stored_value in stored_measures.items():
                driver_measure = variant.driver_names.get(measure, measure)
                if isinstance(stored_value, str):
                    values_of_collection[collection][driver_measure] = {"error": stored_value}
                elif isinstance(stored_value, float | int):
                    is_nan = math.isnan(stored_value)
                    values_of_collection[collection][driver_measure] = (
                        {"error": "NaN"} if is_nan else float(stored_value)
                    )
        yield variant_name, values_of_collection


def find_expected_values(
    tool: Tool,
    collections: dict[str, Any],
    tool_output: dict[str, Any],
    stored_document: dict[str, Any] | None,
) -> Iterator[tuple[str, Values]]:
    """Yield each variant, with the values to compare it with: stored ones, or cranfield's."""
    if stored_document:
        yield from read_stored_values(tool, stored_document)
        return
    for name, variant in tool.variants.items():
        expected_values = evaluate_convention(collections, variant, tool_output["variants"][name])
        if any(expected_values.values()):
            yield name, expected_values


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write JSON atomically: a reader sees the whole old file or the whole new one."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(document, indent=1), "utf-8")
    draft.replace(path)


def parse_arguments() -> argparse.Namespace:
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
    arguments = parser.parse_args()
    if arguments.show is None and arguments.said is None and arguments.environments is None:
        parser.error("--environments DIR is needed: the folder of the tools' environments")
    return arguments


def main() -> None:
    """Run the tools, compare, print."""
    arguments = parse_arguments()
    if arguments.show is not None:
        print(json.dumps(make_collection(arguments.show), indent=1))
        return
    stored_document = json.loads(arguments.stored.read_text("utf-8")) if arguments.stored else None
    if stored_document:
        collections = {
            name: collection | {"k": [stored_document["k"]]}
            for name, collection in stored_document["collections"].items()
        }
    elif arguments.said:
        collections = json.loads(arguments.said.read_text("utf-8"))["collections"]
    else:
        collections = {f"seed {seed}": make_collection(seed) for seed in range(*arguments.seeds)}
    document: dict[str, Any] = {"about": __doc__, "collections": collections, "tools": {}}
    if arguments.values and arguments.values.exists():
        earlier_document = json.loads(arguments.values.read_text("utf-8"))
        if earlier_document["collections"] == collections:
            document["tools"] = earlier_document["tools"]
    outputs_before = (
        json.loads(arguments.said.read_text("utf-8"))["tools"] if arguments.said else {}
    )
    table: list[tuple[str, ...]] = []
    first_differences: list[str] = []
    for name in arguments.tools:
        tool = TOOLS[name]
        if arguments.said:
            tool_output = outputs_before[name]
        else:
            tool_output = run_tool(
                make_environment(arguments.environments, name, tool.requirements), name, collections
            )
        version = next(iter(tool_output["versions"].values()))
        if arguments.values:
            document["tools"][name] = tool_output
            write_json(arguments.values, document)
            continue
        for variant_name, expected_values in find_expected_values(
            tool, collections, tool_output, stored_document
        ):
            variant = tool.variants[variant_name]
            rows = count_values(
                collections,
                variant,
                tool_output["variants"][variant_name],
                expected_values,
                tool.tolerance,
            )
            for measure, row in rows.items():
                counts = (
                    row.n_collections,
                    row.n_values,
                    row.n_equal,
                    row.n_different,
                    row.n_raised,
                )
                cells = (
                    f"{name} {version}",
                    variant_name,
                    measure,
                    *map(str, (*counts, row.n_without_rule)),
                )
                table.append(cells)
                first_differences.append(row.first_difference)
    if table:
        print_table(table, first_differences)


if __name__ == "__main__":
    main()
