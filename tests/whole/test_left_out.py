"""Every verb and command that reads runs takes `without`, with the numbers of runs without that."""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

import cranfield
from cranfield import Qrels
from cranfield.cli import COMMANDS, load_command

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

Scores = dict[str, dict[str, float]]

QUERIES = [f"q{i}" for i in range(8)]
QRELS = {query: {f"d{(i + k) % 7}": k % 3 for k in range(5)} for i, query in enumerate(QUERIES)}
SECOND_QRELS = {
    query: {doc: (grade + 1) % 3 for doc, grade in docs.items()} for query, docs in QRELS.items()
}
RUNS: dict[str, Scores] = {
    name: {
        query: {f"d{k}": float((k * step + i) % 11) for k in range(9)}
        for i, query in enumerate(QUERIES)
    }
    for name, step in {"old": 3, "new": 5, "last": 4}.items()
}
EXCLUSIONS = {
    query: [f"d{(2 * i) % 9}", f"d{(i + 4) % 9}", "d99"] for i, query in enumerate(QUERIES)
}


def remove_seen(run: Scores) -> Scores:
    """Return a run without what was exclusions, document by document."""
    return {
        query: {doc: score for doc, score in docs.items() if doc not in EXCLUSIONS[query]}
        for query, docs in run.items()
    }


LEFT_RUNS = {name: remove_seen(run) for name, run in RUNS.items()}
PAIR, LEFT_PAIR = ({name: runs[name] for name in ("old", "new")} for runs in (RUNS, LEFT_RUNS))
Verb = Callable[..., Any]  # takes {name: run} and the options


def verbs() -> Mapping[str, Verb]:
    """Return each function that takes `columns`, called on {name: run}."""
    collections = {"first": Qrels(QRELS), "second": Qrels(SECOND_QRELS)}
    return {
        "evaluate": lambda runs, **options: cranfield.evaluate(QRELS, runs, "AP nDCG@3", **options),
        "compare": lambda runs, **options: cranfield.compare(QRELS, runs, "AP", **options),
        "gate": lambda runs, **options: cranfield.gate(
            QRELS, runs, "AP", baseline="old", margin=0.2, **options
        ),
        "explain": lambda runs, **options: cranfield.explain(
            QRELS, runs["old"], "AP", "q1", **options
        ),
        "check": lambda runs, **options: cranfield.check(QRELS, runs, **options),
        "holes": lambda runs, **options: cranfield.holes(QRELS, runs, "nDCG@3", **options),
        "pool": lambda runs, **options: cranfield.pool(QRELS, runs, k=3, **options),
        "fuse": lambda runs, **options: cranfield.fuse(runs, "rrf", **options),
        "tune": lambda runs, **options: cranfield.tune(QRELS, runs, "sum", "AP", **options).run,
        "agreement": lambda runs, **options: cranfield.agreement(
            QRELS, SECOND_QRELS, runs, measures="AP", **options
        ),
        "conventions": lambda runs, **options: cranfield.conventions(
            QRELS, runs["new"], "AP", **options
        ),
        "joint_bounds": lambda runs, **options: cranfield.joint_bounds(
            QRELS, {name: runs[name] for name in ("old", "new")}, "P@3", **options
        ),
        "compare_collections": lambda runs, **options: cranfield.compare_collections(
            {name: (qrels, runs) for name, qrels in collections.items()}, "AP", **options
        ),
        "correlate": lambda runs, **options: cranfield.correlate(
            collections, runs, "AP", **options
        ),
        "discriminative_power": lambda runs, **options: cranfield.discriminative_power(
            QRELS, runs, "AP nDCG@3", **options
        ),
        "swap_rate": lambda runs, **options: cranfield.swap_rate(
            QRELS, runs, "AP nDCG@3", **options
        ),
        "reproduce": lambda runs, **options: cranfield.reproduce(
            QRELS,
            {name: runs[name] for name in ("old", "new")},
            {"old": runs["last"], "new": runs["new"]},
            "AP",
            **options,
        ),
        "trend": lambda runs, **options: cranfield.trend(QRELS, runs, "AP", **options),
        "describe": lambda runs, **options: cranfield.describe(
            runs, "Filled@9 Entropy@5", **options
        ),
        "prediction_powered": lambda runs, **options: cranfield.prediction_powered(
            QRELS, runs, "AP", human=SECOND_QRELS, **options
        ),
        "trust": lambda runs, **options: cranfield.trust(
            QRELS, runs, "AP", human=SECOND_QRELS, **options
        ),
    }


VERBS = verbs()


def list_numbers(verb: str, result: Any) -> Any:
    """Return the numbers of a result, as far as `verb` gives them."""
    if verb in ("fuse", "tune"):
        return result.to_dict()
    results = result.values() if isinstance(result, dict) else [result]
    return [[row for row in part.rows() if row.get("code") != "without"] for part in results]


def test_each_function_with_columns_is_tried() -> None:
    functions = {name: getattr(cranfield, name) for name in cranfield.__all__}
    takes_columns = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and "columns" in inspect.signature(function).parameters
    }
    assert takes_columns - {"read_qrels", "read_run", "collect"} == {*VERBS}  # these read no runs


@pytest.mark.parametrize("verb", VERBS)
def test_numbers_are_those_of_runs_without_what_was_seen(verb: str) -> None:
    call = VERBS[verb]
    numbers = list_numbers(verb, call(RUNS, without=EXCLUSIONS))
    assert numbers == list_numbers(verb, call(LEFT_RUNS))
    if verb != "discriminative_power":  # no pair is significant
        assert numbers != list_numbers(verb, call(RUNS))


# The others have a run, a pool or shares as their result.
VERBS_WITH_NOTES = sorted(
    VERBS.keys() - {"discriminative_power", "fuse", "pool", "swap_rate", "tune"}
)


@pytest.mark.parametrize("verb", VERBS_WITH_NOTES)
def test_results_say_what_was_left_out(verb: str) -> None:
    result = VERBS[verb](RUNS, without=EXCLUSIONS)
    results = result.values() if isinstance(result, dict) else [result]
    for part in results:
        text = str(part) + str(getattr(part, "notes", ""))
        assert "15 of 72 rows removed, in 8 queries: 57 of 72 rows left." in text


# ---- commands ----------------------------------------------------------------------------------

LINES = [
    "evaluate qrels.json {runs} -m AP --format csv",
    "compare qrels.json {runs} -m AP --format csv",
    "gate qrels.json {runs} -m AP --baseline old --margin 0.2 --format csv",
    "explain qrels.json {run} -m AP --query q1 --format csv",
    "check qrels.json {runs} --format csv",
    "holes qrels.json {runs} -m nDCG@3 --format csv",
    "pool qrels.json {runs} -k 3 --format csv",
    "fuse {runs} -o out.run",
    "tune qrels.json {runs} --method sum -m AP --format csv",
    "agreement qrels.json second.json {runs} -m AP --format csv",
    "conventions qrels.json {run} -m AP --format csv",
    "correlate qrels.json {runs} -m AP -m RR --format csv",
    "reproduce qrels.json {run} {run} -m AP --format csv",
    "table qrels.json {runs} -m AP --format csv",
    "trend qrels.json {runs} -m AP --format csv",
    "describe {runs} -m Filled@9,5 -m Entropy@5 --format csv",
    "trust qrels.json {runs} -m AP --human second.json --format csv",
    "convert {run} out.run --run",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write judgments, runs and what was seen into a folder, and go there."""
    monkeypatch.chdir(tmp_path)
    left_runs = {f"left/{name}": run for name, run in LEFT_RUNS.items()}
    files = {"qrels": QRELS, "second": SECOND_QRELS, "seen": EXCLUSIONS, **RUNS, **left_runs}
    (tmp_path / "left").mkdir()
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def run_line(command_line: str, place: str, *options: str) -> tuple[str, str]:
    """Return the numbers that a command prints or writes, by names of runs, and all it says."""
    runs = {"runs": f"{place}old.json {place}new.json {place}last.json", "run": f"{place}new.json"}
    words = command_line.format(**runs).split()
    invocation = invoke(*words, *options)
    assert invocation.exit_code != 2, invocation.stderr
    output = Path("out.run").read_text() if "out.run" in words else invocation.stdout
    lines = [line for line in output.splitlines() if ",without," not in line]
    numbers = "\n".join(lines).replace("left/", "").replace(".json", "")
    return numbers, invocation.stdout + invocation.stderr


def test_each_command_with_columns_is_tried() -> None:
    options = {
        name: {opt for parameter in load_command(name).params for opt in parameter.opts}
        for name in COMMANDS
    }
    takes_columns = {name for name in COMMANDS if "--columns" in options[name]}
    takes_columns -= {"collect"}  # which reads no runs
    assert takes_columns == {line.split()[0] for line in LINES} | {"report"}
    assert all("--without" in options[name] for name in takes_columns)


@pytest.mark.parametrize("line", LINES)
def test_commands_leave_out_what_a_file_has(folder: Path, line: str) -> None:
    numbers, text = run_line(line, "", "--without", "seen.json")
    assert run_line(line, "left/")[0] == numbers
    assert run_line(line, "")[0] != numbers
    if "csv" not in line:
        assert "15 of 72 rows removed, in 8 queries: 57 of 72 rows left." in text
