"""Compare the results of this tree with those of a commit: python scripts/same_results.py COMMIT.

Code that moves must leave every number, note and refusal as it was. This script makes some 2,700
calls of the functions that people use, and runs the command lines in same_results.txt, in this tree
and in a copy of the commit. Then it compares what came out, to the last bit: the JSON, the text and
the rows of a result; the message of a refusal; the output and the exit status of a command.

    python scripts/same_results.py COMMIT            exits with 1 if a result differs
    python scripts/same_results.py COMMIT --show 20  prints the first differences of 20 results
    python scripts/same_results.py --write FILE      writes the results of the cranfield in use
"""

import argparse
import hashlib
import importlib
import inspect
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from click.testing import CliRunner

import cranfield
from cranfield import compare, conventions, evaluate, explain, fuse, gate, intervals, pool, report

ROOT = Path(__file__).resolve().parent.parent
COMMAND_LINES = Path(__file__).with_suffix(".txt")

Results = dict[str, str]  # name of a call -> what it gave, as text


# ---- calls of functions -------------------------------------------------------------------------

QRELS = {f"q{i}": {f"d{i % 7}": 1, f"d{i % 5}": 2} for i in range(30)}
RUNS = {
    name: {f"q{i}": [f"d{(i * step + j) % 9}" for j in range(6)] for i in range(30)}
    for name, step in {"x": 3, "y": 5}.items()
}
SLICES = {f"q{i}": "ab"[i % 2] for i in range(30)}
SESSIONS = {f"q{i}": str(i // 4) for i in range(30)}
RUN_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "slices": {"slices": SLICES},
    "bounds": {"bounds": True},
    "clusters": {"clusters": SESSIONS},
    "all": {"slices": SLICES, "bounds": True, "clusters": SESSIONS},
}


def make_scores(n_queries: int, seed: int) -> dict[str, dict[str, float]]:
    """Return made-up scores in 0 to 1 of five systems that are alike: system -> query -> score."""
    random = np.random.default_rng(seed + n_queries)
    easiness = random.random(n_queries)
    return {
        system: {
            f"q{i}": float(round(min(1, max(0, score)), 2))
            for i, score in enumerate(easiness + random.normal(0, 0.2, n_queries))
        }
        for system in ("a-1", "a-2", "b-1", "b-2", "c")
    }


def options_of_units(n_queries: int) -> dict[str, dict[str, Any]]:
    """Return options that say what is independent: queries, clusters of them, groups of systems."""
    queries = range(n_queries)
    return {
        "none": {},
        "clusters": {"clusters": {f"q{i}": f"c{i // 3}" for i in queries}},
        "single": {"clusters": {f"q{i}": f"c{i}" for i in queries}},
        "uneven": {"clusters": {f"q{i}": f"c{int(i**0.5)}" for i in queries}},
        "groups": {"groups": ["a=a-1,a-2", "b=b-1,b-2"], "deterministic": ["c"]},
    }


COMPARE_TESTS: list[dict[str, Any]] = [
    {},
    {"test": "t"},
    {"test": "wilcoxon"},
    {"all_pairs": True, "correction": "maxt"},
    {"all_pairs": True, "correction": "tukey"},
    {"test": "bayes", "rope": 0.01},
]
GATE_TESTS: list[dict[str, Any]] = [
    {},
    {"test": "t"},
    {"test": "bounded", "range": (0, 1)},
    {"equivalence": True},
    {"trained_again": True},
]


class Call(NamedTuple):
    """A call of a function, which returns a result, or refuses."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def calls_on_scores() -> Iterator[Call]:
    """Yield calls of compare and gate on saved scores."""
    for n_queries, seed in itertools.product((1, 2, 9, 15, 40, 200), range(3)):
        scores = make_scores(n_queries, seed)
        for measure, (units, unit_options) in itertools.product(
            ("AP", "GMAP"), options_of_units(n_queries).items()
        ):
            systems = ({system: {measure: values} for system, values in scores.items()},)
            name = f"{n_queries} {seed} {measure} {units}"
            options = unit_options | {"flips": 2000}
            baseline = {"baseline": "a" if units == "groups" else "a-1", "margin": "20%"}
            limit = {"at_least": {measure: 0.4}, "limit": True}
            for test in COMPARE_TESTS:
                yield Call(f"compare {name} {test}", compare, systems, options | test)
            for test in GATE_TESTS:
                yield Call(f"gate {name} {test}", gate, systems, options | baseline | test)
            yield Call(f"gate at least {name}", gate, systems, options | limit)


def report_page(*arguments: Any, **options: Any) -> str:
    """Return the page of a comparison."""
    return report(compare(*arguments, **options)).html


def score_intervals(**options: Any) -> Any:
    """Return the intervals of the means of the runs."""
    return intervals(evaluate(QRELS, RUNS, "nDCG@10 AP RR GMAP"), **options)


def score_fused(**options: Any) -> Any:
    """Return the scores of the fused runs."""
    return evaluate(QRELS, fuse(RUNS, **options), "nDCG@10 AP")


def calls_on_runs() -> Iterator[Call]:
    """Yield calls of functions that take judgments and runs."""
    judged_runs = (QRELS, RUNS)
    for name, options in RUN_OPTIONS.items():
        yield Call(f"compare runs {name}", compare, (*judged_runs, "nDCG@10 AP P@5"), options)
        yield Call(f"report {name}", report_page, (*judged_runs, "nDCG@10 AP"), options)
    for name in ("plain", "clusters"):
        yield Call(f"intervals {name}", score_intervals, (), RUN_OPTIONS[name])
    more_output = {"slices": SLICES, "fingerprints": True}
    for convention, buckets in itertools.product((None, "beir", "ranx", "trec_eval"), (None, 1, 3)):
        options = {"convention": convention, "buckets": buckets}
        name = f"evaluate {convention} {buckets}"
        yield Call(name, evaluate, (*judged_runs, "nDCG@10 AP RR"), options | more_output)
        # the order of the wrappers: bounds, a convention and buckets in one call
        yield Call(
            f"{name} bounds", evaluate, (*judged_runs, "nDCG AP"), options | {"bounds": True}
        )
    for buckets in (1, 3):
        options = {"bounds": True, "buckets": buckets, "slices": SLICES}
        name = f"evaluate bounds slices {buckets}"
        yield Call(name, evaluate, (*judged_runs, "nDCG@10 AP RR Q ERR@5 bpref"), options)
    for options in ({}, {"by": "chance", "n": 5}, {"k": 3, "unjudged": True}):
        yield Call(f"pool {options}", pool, judged_runs, options)
    for method in ("rrf", "sum", "isr", "borda", "nonsense"):
        yield Call(f"fuse {method}", score_fused, (), {"method": method})
    for measure in ("nDCG@10", "AP", "RR", "P@3"):
        yield Call(f"conventions {measure}", conventions, (QRELS, RUNS["x"], measure), {})


def calls_of_explain() -> Iterator[Call]:
    """Yield calls of explain on a run, and on two."""
    for query, measure in itertools.product(
        ("q1", "q7", "q12"), ("nDCG@10", "AP", "RR", "P@3", "ERR@5", "RBP", "Q", "bpref")
    ):
        name = f"explain {query} {measure}"
        for options in ({}, {"ties": "expected"}, {"judged_only": True}):
            one_run = (QRELS, RUNS["x"], measure, query)
            yield Call(f"{name} {options}", explain, one_run, options)
        yield Call(f"{name} two runs", explain, (QRELS, RUNS, measure, query), {})


def text_of_call(call: Call) -> str:
    """Return all that can be seen of a call's result, or of its refusal, as JSON."""
    try:
        result = call.function(*call.arguments, **call.options)
    except Exception as error:  # noqa: BLE001 - a fault that was there before stays as it was, too
        return json.dumps([type(error).__name__, str(error)])
    if isinstance(result, str):
        return result
    views = {"dict": result.to_dict(), "text": str(result), "rows": result.rows()}
    return json.dumps(views, sort_keys=True, default=str)


# ---- command lines ------------------------------------------------------------------------------


def write_files(folder: Path) -> None:
    """Write the demonstration into a folder, and small files that the command lines name."""
    run_command(["demo", "--save", str(folder)])
    judgments = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    queries = sorted({query for query, *_ in judgments})
    (folder / "kinds.csv").write_text(
        "query_id,kind\n" + "".join(f"{query},{'ab'[int(query[1:]) % 2]}\n" for query in queries)
    )
    (folder / "sessions.csv").write_text(
        "query_id,session\n" + "".join(f"{query},s{int(query[1:]) // 3}\n" for query in queries)
    )
    (folder / "human.qrels").write_text(
        "".join(
            f"{query} 0 {document} {max(0, int(grade) - i % 2)}\n"
            for i, (query, _, document, grade) in enumerate(judgments)
            if int(query[1:]) % 3 == 0
        )
    )
    for half, parity in {"even": 0, "odd": 1}.items():
        (folder / f"{half}.qrels").write_text(
            "".join(
                f"{' '.join(judgment)}\n"
                for judgment in judgments
                if int(judgment[0][1:]) % 2 == parity
            )
        )
    (folder / "collections.csv").write_text(
        "collection,qrels,run\n"
        + "".join(
            f"{half},{half}.qrels,{system}.run\n"
            for half in ("even", "odd")
            for system in ("bm25", "dense")
        )
    )
    (folder / "nuggets.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "qid": f"q{i}",
                    "run_id": "a",
                    "nuggets": [
                        {
                            "text": f"n{j}",
                            "importance": "vital" if j else "okay",
                            "assignment": ("support", "partial_support", "not_support")[
                                (i + j) % 3
                            ],
                        }
                        for j in range(3)
                    ],
                }
            )
            + "\n"
            for i in range(3)
        )
    )
    for system in ("bm25", "dense"):
        scores = str(folder / f"{system}.json")
        files = [str(folder / "qrels.txt"), str(folder / f"{system}.run")]
        run_command(["evaluate", *files, "-m", "nDCG@10 AP", "-q", "-o", scores])


def expand_line(line: str) -> list[str]:
    """Return a line once for each of its alternatives, as in {-q|--bounds}."""
    alternatives = re.search(r"\{([^{}]*)\}", line)
    if alternatives is None:
        return [" ".join(line.split())]
    before, after = line[: alternatives.start()], line[alternatives.end() :]
    return [
        command_line
        for alternative in alternatives[1].split("|")
        for command_line in expand_line(before + alternative + after)
    ]


def read_command_lines() -> list[str]:
    """Return the command lines of same_results.txt, expanded."""
    lines = COMMAND_LINES.read_text("utf-8").splitlines()
    return [
        expanded for line in lines if not line.startswith("#") for expanded in expand_line(line)
    ]


def run_command(arguments: list[str]) -> str:
    """Run a command in this process; return its output and its exit status."""
    from cranfield.cli import cli

    outcome = CliRunner().invoke(cli, arguments)
    fault = outcome.exception
    failure = "" if fault is None or isinstance(fault, SystemExit) else repr(fault)
    return f"{outcome.output}{outcome.stderr}\nexit status {outcome.exit_code} {failure}"


def run_line(line: str) -> str:
    """Run a command line in the folder of its files; return its output and what it wrote."""
    names = {"Q": ["qrels.txt"], "ALL": ["bm25.run", "dense.run", "fusion.run", "tfidf.run"]}
    words = shlex.split(line)
    files_before = set(Path().iterdir())
    output = run_command([argument for word in words for argument in names.get(word, [word])])
    for path in sorted(set(Path().iterdir()) - files_before):
        output += f"\n{path}: {path.read_text('utf-8')}"
        path.unlink()
    return output


# ---- names --------------------------------------------------------------------------------------

# Modules of which the documentation imports names; adapters need packages that may not be there.
IMPORTED_NAMES = """\
compat.pytrec_eval RelevanceEvaluator compute_aggregated_measure parse_qrel parse_run
compat.trec_eval TrecEvalOptions trec_eval
demo modules queries rows save
figures by_collection by_cutoff by_relevant by_slice differences judged_by_rank leaderboard
figures pair_matrix precision_recall rank_weights reciprocal_rank scatter spread
pytrec_eval RelevanceEvaluator compute_aggregated_measure parse_qrel parse_run
spark compare evaluate summarize"""


def describe_names() -> Iterator[tuple[str, str]]:
    """Yield public names with their signatures or attributes, and commands with their options."""
    from cranfield.cli import COMMANDS, cli

    for name in cranfield.__all__:
        public = getattr(cranfield, name)
        if inspect.isfunction(public):
            parameters = inspect.signature(public).parameters.values()
            yield f"name {name}", " ".join(sorted(map(str, parameters)))
        else:
            attributes = [attribute for attribute in dir(public) if not attribute.startswith("_")]
            yield f"name {name}", " ".join(attributes)
    for line in IMPORTED_NAMES.splitlines():
        path, *names = line.split()
        module = importlib.import_module(f"cranfield.{path}")
        for name in names:
            yield f"name {path}.{name}", str(inspect.signature(getattr(module, name)))
    for command_name in COMMANDS:
        command = cli.get_command(None, command_name)  # type: ignore[arg-type]
        assert command is not None
        spellings = sorted(
            spelling
            for parameter in command.params
            for spelling in (*parameter.opts, *parameter.secondary_opts)
        )
        yield f"options of {command_name}", " ".join(spellings)


# ---- both trees ---------------------------------------------------------------------------------


def make_results() -> Results:
    """Make every call and run every command line, in a temporary folder."""
    warnings.simplefilter("ignore")
    results = dict(describe_names())
    for call in itertools.chain(calls_on_scores(), calls_on_runs(), calls_of_explain()):
        results[call.name] = text_of_call(call)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        for line in read_command_lines():
            results[f"cranfield {line}"] = run_line(line).replace(folder, "FOLDER")
        os.chdir(ROOT)
    return results


def results_of_tree(tree: Path) -> Results:
    """Return the results of the cranfield in a tree, made by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.json")
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "COLUMNS": "80"}
        command = [sys.executable, str(Path(__file__).resolve()), "--write", str(path)]
        subprocess.run(command, env=environment, cwd=tree, check=True)  # noqa: S603 - this file
        results: Results = json.loads(path.read_text("utf-8"))
        return results


def results_of_commit(commit: str) -> Results:
    """Return the results of the cranfield of a commit, in a copy of it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = ["git", "worktree", "add", "--quiet", "--detach", folder, commit]
        subprocess.run(copy, cwd=ROOT, check=True)  # noqa: S603 - a fixed command
        try:
            return results_of_tree(Path(folder))
        finally:
            remove = ["git", "worktree", "remove", "--force", folder]
            subprocess.run(remove, cwd=ROOT, check=True)  # noqa: S603 - a fixed command


def first_difference(before: str | None, after: str | None) -> str:
    """Return the first place where two results differ, with some characters around it."""
    if before is None or after is None:
        return "is new" if before is None else "is gone"
    characters = zip(before, after, strict=False)
    place = next((i for i, (old, new) in enumerate(characters) if old != new), 0)
    start = max(0, place - 60)
    return f"\n   < {before[start : place + 100]!r}\n   > {after[start : place + 100]!r}"


def main() -> int:
    """Compare, print how many results are equal, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--show", type=int, default=5, metavar="N")
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.write is not None:
        options.write.write_text(json.dumps(make_results()), "utf-8")
        return 0
    if options.commit is None:
        parser.error("which commit is this tree compared with?")
    before, after = results_of_commit(options.commit), results_of_tree(ROOT)
    different = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    n_results = len(before.keys() | after.keys())
    for name in different[: options.show]:
        print(f"{name}: {first_difference(before.get(name), after.get(name))}")
    digest = hashlib.sha256(json.dumps(after, sort_keys=True).encode()).hexdigest()[:16]
    print(f"{n_results - len(different)} equal, {len(different)} different ({digest})")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
