"""Compare cranfield's conventions with the tools: python scripts/conventions.py --environments DIR.

Each tool is installed into an environment of its own in DIR (made where it is missing, several GB
in all) and runs there, by its driver in scripts/conventions, on generated collections. What the
tool says is compared with `cranfield.evaluate(..., convention=NAME)`, and a table is printed: for
each tool, variant and measure how many values there are, how many are equal within the tool's
precision, how many are not (and the first of them), and for how many the tool raises or says NaN.

    --tools ranx beir        only these
    --seeds 0 30             the collections: from the first seed up to, not including, the second
    --values FILE            write what the tools say to FILE, as JSON, tool after tool
    --stored FILE            compare the tools with what FILE holds of an earlier run of them,
                             on its collections: do the drivers still call the tools alike?
    --show SEED              print the collection of a seed

Nothing is installed where a tool's environment is there already. No test runs this: it needs
packages of gigabytes. The tests compare the conventions with values that were stored.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DRIVERS = Path(__file__).parent / "conventions"
CUTOFFS = (1, 3, 5, 10)
Value = float | dict[str, str]  # a number, or {"error": "ValueError: ..."}
Values = dict[str, dict[str, Value]]  # of each collection, each measure


@dataclass(frozen=True)
class Variant:
    """One way to call a tool, and what corresponds to it in cranfield."""

    convention: str | None = None  # None: no convention claims these numbers
    lists: bool = False  # the tool is given lists of documents, which may repeat one
    stored: str | None = None  # its name among the stored values
    names: dict[str, str] = field(default_factory=dict)  # stored name of a measure -> the driver's
    measures: dict[str, str] = field(default_factory=dict)  # the driver's name -> cranfield's


@dataclass(frozen=True)
class Tool:
    """A tool: what to install, how exact its numbers are, and its variants."""

    requirements: tuple[str, ...]
    variants: dict[str, Variant]
    tolerance: float = 1e-9


TORCH = "torch"
BITS32 = 2e-7
DIGITS5 = 1e-5
TOOLS = {
    "pytrec_eval": Tool(
        ("pytrec_eval-terrier==0.5.11",),
        {
            "pytrec_eval": Variant(
                "pytrec_eval",
                stored="pytrec_eval_mean_of_returned (RR uncut)",
                names={"RR@5": "RR"},
            )
        },
    ),
    "ir_measures": Tool(
        ("ir_measures==0.4.3",), {"ir_measures": Variant("ir_measures", stored="ir_measures")}
    ),
    "ranx": Tool(
        ("ranx==0.3.21",), {"ranx": Variant("ranx", stored="ranx make_comparable")}
    ),
    "scikit_learn": Tool(
        ("scikit-learn==1.9.1",),
        {
            "all judged": Variant("scikit-learn", stored="sklearn_dense_all_judged"),
            "returned": Variant(),
        },
    ),
    "trectools": Tool(
        ("trectools==0.0.50",),
        {
            "trectools": Variant(
                "trectools",
                stored="trectools",
                names={
                    "nDCG_te@5": "nDCG_plain@5",
                    "AP_notte@5": "AP_plain@5",
                    "P_notte@5": "P_plain@5",
                    "RR_notte": "RR_plain@5",
                },
            ),
            "file": Variant(),
        },
    ),
    "llamaindex": Tool(
        ("llama-index-core==0.14.25",),
        {
            "llamaindex": Variant(
                "llamaindex", lists=True, stored="llamaindex (top5, mean of non-errors)"
            ),
            "granular": Variant(lists=True, stored="llamaindex granular"),
        },
    ),
    "recommenders": Tool(
        ("recommenders==1.2.1",),
        {
            "recommenders": Variant(
                "recommenders", lists=True, stored="recommenders", names={"Rprec": "Rprec@5"}
            ),
            "scores": Variant("recommenders"),
        },
    ),
    "torchmetrics": Tool(
        (TORCH, "torchmetrics==1.9.0"),
        {
            "all judged, neg": Variant("torchmetrics", stored="torchmetrics all_judged neg"),
            "all judged, skip": Variant(stored="torchmetrics all_judged skip"),
            "returned, neg": Variant(stored="torchmetrics returned neg"),
        },
        BITS32,
    ),
    "sentence_transformers": Tool(
        (TORCH, "sentence-transformers==6.2.0"),
        {
            "sentence-transformers": Variant(
                "sentence-transformers", stored="sentence-transformers"
            )
        },
    ),
    "rectools": Tool(
        ("rectools==0.19.0",), {"rectools": Variant("rectools", lists=True, stored="rectools")}
    ),
    "replay": Tool(
        ("replay-rec==0.22.0",),
        {
            "replay": Variant("replay", lists=True, stored="replay"),
            "scores": Variant("replay"),
            "dict": Variant(),
        },
    ),
    "lenskit": Tool(
        (TORCH, "lenskit==2025.8.1"),
        {"lenskit": Variant("lenskit", lists=True, stored="lenskit"), "all lists": Variant()},
    ),
    "ragas": Tool(
        ("ragas==0.4.3", "langchain-community<0.4"),
        {
            "ragas": Variant(lists=True, stored="ragas id-based"),
            "evaluate": Variant("ragas", lists=True),
        },
    ),
    "beir": Tool(
        (TORCH, "beir==2.2.0"), {"beir": Variant("beir", stored="beir"), "in turn": Variant()}, DIGITS5
    ),
    "ir_evaluation": Tool(
        ("ir-evaluation==1.1.0",),
        {"ir_evaluation": Variant("ir_eval", lists=True), "defined": Variant(lists=True)},
    ),
    "gdeval": Tool(("ir_measures==0.4.3",), {"gdeval": Variant("gdeval")}, DIGITS5),
    "mteb": Tool(
        (TORCH, "mteb==2.26.24"),
        {
            "mteb": Variant(
                "mteb",
                stored="mteb",
                names={
                    "ndcg:NDCG@5": "nDCG@5",
                    "map:MAP@5": "AP@5",
                    "precision:P@5": "P@5",
                    "recall:Recall@5": "R@5",
                    "mrr:MRR@5": "RR@5",
                    "hit_rate:HitRate@5": "Hit@5",
                },
            )
        },
        DIGITS5,
    ),
    "haystack": Tool(
        ("haystack-ai==3.4.0",),
        {"haystack": Variant("haystack", lists=True, stored="haystack (top5)")},
    ),
}


def chosen(draw: random.Random, chance: float) -> bool:
    """Return whether a trait is there."""
    return draw.random() < chance


def grades_of(draw: random.Random, traits: set[str], pool: list[str]) -> dict[str, int]:
    """Return the judgments of one query."""
    judged = draw.sample(pool, 1 if "one" in traits else draw.randint(2, 8))
    highest = 3 if "graded" in traits else 1
    if "no relevant" in traits and chosen(draw, 0.35):
        highest = 0
    lowest = -2 if "negative" in traits else 0
    grades = {one: draw.randint(lowest, highest) for one in judged}
    if highest and not any(grade > 0 for grade in grades.values()):
        grades[draw.choice(judged)] = highest
    if "many relevant" in traits and highest:
        for one in draw.sample(pool, min(len(pool), draw.randint(6, 12))):
            grades[one] = draw.randint(1, highest)
    return grades


def scores_of(
    draw: random.Random, traits: set[str], pool: list[str], judged: dict[str, int]
) -> dict[str, float]:
    """Return the scores of one query's documents, in an order that says nothing."""
    size = draw.randint(1, 4) if "short" in traits and chosen(draw, 0.6) else draw.randint(4, 12)
    if "long" in traits:
        size = draw.randint(17, 40)
    if "one" in traits and chosen(draw, 0.5):
        size = 1
    found = [one for one in judged if chosen(draw, 0.7)]
    others = [one for one in pool if one not in judged]
    draw.shuffle(others)
    documents = (found + others)[:size]
    draw.shuffle(documents)
    levels: list[float] = [draw.uniform(0.1, 9.9) for _ in documents]
    if "ties" in traits:
        levels = [float(draw.randint(1, 3)) for _ in documents]
    if "all tied" in traits and chosen(draw, 0.5):
        levels = [1.0 for _ in documents]
    if "near ties" in traits:  # different in 64 bits, equal in 32
        levels = [1.0 + draw.randint(0, 3) * 1e-9 for _ in documents]
    if "not positive" in traits:
        levels = [level - 3.0 for level in levels]
    return dict(zip(documents, levels, strict=True))


def repeated(draw: random.Random, documents: list[str]) -> list[str]:
    """Return a list with one to three of its documents a second time, below the first."""
    documents = list(documents)
    for _ in range(draw.randint(1, 3) if documents else 0):
        first = draw.randrange(len(documents))
        documents.insert(draw.randint(first + 1, len(documents)), documents[first])
    return documents


TRAITS = {
    "graded": 0.5,
    "negative": 0.2,
    "no relevant": 0.3,
    "many relevant": 0.3,
    "one": 0.12,
    "missing": 0.3,
    "empty": 0.25,
    "unjudged": 0.2,
    "ties": 0.4,
    "all tied": 0.15,
    "near ties": 0.1,
    "not positive": 0.2,
    "short": 0.4,
    "long": 0.15,
    "duplicates": 0.3,
    "identical": 0.25,
}


def generated(seed: int) -> dict[str, Any]:
    """Return a collection: the same for the same seed, whatever is drawn for another."""
    draw = random.Random(f"conventions {seed}")  # noqa: S311 - no secret
    traits = {trait for trait, chance in TRAITS.items() if chosen(draw, chance)}
    pool = [f"d{number}" for number in range(1, 31)] + [f"D{number}" for number in range(1, 21)]
    queries = [f"q{number}" for number in draw.sample(range(1, 13), draw.randint(2, 7))]
    qrels = {query: grades_of(draw, traits, pool) for query in queries}
    run = {query: scores_of(draw, traits, pool, qrels[query]) for query in queries}
    if "identical" in traits:
        for query in draw.sample(queries, 2):
            run[query] = {query: draw.uniform(1, 10)} | run[query]
            if chosen(draw, 0.5):
                qrels[query][query] = 1
    if "empty" in traits:
        run[draw.choice(queries)] = {}
    if "missing" in traits:
        for query in draw.sample(queries, draw.randint(1, len(queries) - 1)):
            del run[query]
    if "unjudged" in traits:
        run["q99"] = scores_of(draw, traits, pool, {})
    order = list(run)
    draw.shuffle(order)
    run = {query: run[query] for query in order}
    lists = {query: sorted(run[query], key=lambda one: -run[query][one]) for query in run}
    if "duplicates" in traits:
        lists = {
            query: repeated(draw, documents) if chosen(draw, 0.7) else documents
            for query, documents in lists.items()
        }
    about = ", ".join(trait for trait in TRAITS if trait in traits)
    return {"about": about, "qrels": qrels, "run": run, "lists": lists, "k": list(CUTOFFS)}


def environment(folder: Path, name: str, requirements: tuple[str, ...]) -> Path:
    """Return the interpreter of a tool's environment, made where it is missing."""
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
    """Return what a tool says of collections: versions, and the values of each variant."""
    needed = ("qrels", "run", "lists", "k")
    given = {one: {key: what[key] for key in needed} for one, what in collections.items()}
    process = subprocess.run(  # noqa: S603 - this file's drivers
        [str(python), str(DRIVERS / f"run_{name}.py")],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"},
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
            asked = variant.measures.get(measure, measure)
            try:
                scores = cranfield.evaluate(
                    one["qrels"], rankings, asked, convention=variant.convention
                )
                found[name][measure] = float(scores.mean(asked))
            except Exception as error:  # noqa: BLE001 - shown in the table
                found[name][measure] = {"error": f"{type(error).__name__}: {error}"}
    return found


@dataclass
class Row:
    """A row of the table: how one measure compares over all collections."""

    collections: int = 0
    values: int = 0
    equal: int = 0
    raised: int = 0
    different: int = 0
    first: str = ""

    def add(self, name: str, measure: str, theirs: Value, others: Value, tolerance: float) -> None:
        """Count one value of the tool, and what is compared with it."""
        self.values += 1
        if isinstance(theirs, dict) and (isinstance(others, dict) or math.isnan(others)):
            self.raised += 1
        elif (
            not isinstance(theirs, dict)
            and not isinstance(others, dict)
            and math.isclose(theirs, others, rel_tol=0, abs_tol=tolerance)
        ):
            self.equal += 1
        else:
            self.different += 1
            self.first = self.first or f"{name} {measure}: {shown(theirs)}, here {shown(others)}"


def shown(value: Value) -> str:
    """Return a value as text."""
    return value["error"][:60] if isinstance(value, dict) else f"{value:.10g}"


def compared(said: Values, others: Values, tolerance: float) -> dict[str, Row]:
    """Return a row for each measure, its cutoffs together."""
    rows: dict[str, Row] = {}
    for name, values in said.items():
        seen = set()
        for measure, value in values.items():
            if measure not in others[name]:
                continue
            base = measure.split("@")[0] + ("@k" if "@" in measure else "")
            row = rows.setdefault(base, Row())
            row.add(name, measure, value, others[name][measure], tolerance)
            seen.add(base)
        for base in seen:
            rows[base].collections += 1
    return rows


HEADER = ("tool", "variant", "measure", "collections", "values", "equal", "different", "raised")


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
    """Yield, of each variant that was stored, its values by the driver's names of measures."""
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


def written(path: Path, content: dict[str, Any]) -> None:
    """Write JSON at once: a reader sees the old file or the new one, whole."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content, indent=1), "utf-8")
    draft.replace(path)


def arguments() -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=Path, help="folder of the tools' environments")
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 30), metavar=("FIRST", "END"))
    parser.add_argument("--values", type=Path, metavar="FILE")
    parser.add_argument("--stored", type=Path, metavar="FILE")
    parser.add_argument("--show", type=int, metavar="SEED")
    typed = parser.parse_args()
    if typed.show is None and typed.environments is None:
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
    else:
        collections = {f"seed {seed}": generated(seed) for seed in range(*typed.seeds)}
    kept: dict[str, Any] = {"about": __doc__, "collections": collections, "tools": {}}
    if typed.values and typed.values.exists():
        before = json.loads(typed.values.read_text("utf-8"))
        if before["collections"] == collections:
            kept["tools"] = before["tools"]
    table: list[tuple[str, ...]] = []
    firsts: list[str] = []
    for name in typed.tools:
        tool = TOOLS[name]
        python = environment(typed.environments, name, tool.requirements)
        said = said_by(python, name, collections)
        version = " ".join(said["versions"].values())
        if typed.values:
            kept["tools"][name] = said
            written(typed.values, kept)
        if stored:
            others = dict(stored_values(tool, stored))
        elif typed.values:
            others = {}
        else:
            others = {
                variant: ours(collections, one, said["variants"][variant])
                for variant, one in tool.variants.items()
                if one.convention
            }
        for variant, values in others.items():
            rows = compared(said["variants"][variant], values, tool.tolerance)
            for measure, row in rows.items():
                counts = (row.collections, row.values, row.equal, row.different, row.raised)
                table.append((f"{name} {version}", variant, measure, *map(str, counts)))
                firsts.append(row.first)
    if table:
        print_table(table, firsts)


if __name__ == "__main__":
    main()
