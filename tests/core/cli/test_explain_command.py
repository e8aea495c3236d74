"""`cranfield explain`: its options, formats and messages."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.explained import Write, last_line, run_explain

from cranfield.cli import cli


@pytest.fixture
def files(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(demo_folder)
    return ["demo/qrels.txt", "demo/bm25.run"]


def test_the_default_is_the_mean_of_ndcg(files: list[str]) -> None:
    assert run_explain(*files).stdout.startswith("nDCG@10 of bm25: ")
    assert run_explain(*files, "--query", "q03").stdout.startswith("nDCG@10 = ")


@pytest.mark.parametrize(
    "extra_arguments",
    [
        ["--query", "q03"],
        [],
        ["demo/dense.run", "--query", "q03"],
        ["q03"],
        ["demo/dense.run", "q03"],
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html", "csv", "tsv", "json"])
def test_every_form(form: str, extra_arguments: list[str], files: list[str]) -> None:
    outcome = run_explain(*files, *extra_arguments, "-m", "AP", "--format", form)
    assert outcome.exit_code == 0
    of_rows = (
        form in ("csv", "tsv") and not extra_arguments
    )  # notes are beside these, else among the output
    assert all(line.startswith("note: ") for line in outcome.stderr.splitlines())
    assert bool(outcome.stderr) == of_rows
    assert ("q03" if "q03" in extra_arguments else "q25") in outcome.stdout


MISTAKES = [
    (["demo/qrels.txt"], "Missing argument 'RUN...'; for a list of grades alone, say --grades."),
    ([], "Missing argument 'QRELS'"),
    (["{}", "demo/dense.run", "demo/dense.run", "--query", "q01"], "3 runs: one is explained"),
    (["{}", "-m", "AP RR"], "explain takes one measure: name it alone, as in -m AP"),
    (["{}", "-m", "NDGC@10"], "Did you mean"),
    (["{}", "--limit", "0"], "--limit 0: expected a number of rows, 1 or more, or all"),
    (["{}", "--limit", "x"], "--limit x: expected a number of rows, 1 or more, or all"),
    (["{}", "--query", "q1"], "the qrels have no query 'q1'\nDid you mean 'q01'?"),
    (["{}", "q1"], "q1: neither a file nor a query of the qrels\nDid you mean 'q01'?"),
    (["{}", "demo/dense.run", "nowhere.run"], "nowhere.run: neither a file nor a query of the"),
    (["{}", "nowhere.run", "--query", "q01"], "nowhere.run: cannot be read"),
    (["{}", "--query", "q01", "--queries", "both"], "has no effect where one query is explained"),
    (["{}", "demo/dense.run", "-m", "RelString"], "two of them have no difference"),
    (["demo/qrels.txt", "nowhere.run"], "nowhere.run: cannot be read"),
    (["nowhere.txt", "demo/bm25.run"], "nowhere.txt: cannot be read"),
    (["{}", "--grades", "1 0"], "--grades is in the place of judgments and a run"),
    (["--grades", "1 x"], "expected numbers or -, got 'x'"),
    (["--grades", "1 0", "--query", "2"], "the qrels have no query '2'"),
    (["{}", "--collection", "1 0"], "--collection applies to lists of grades: add --grades."),
    (["--grades", "1 0", "--ties", "best"], "--ties has no effect on --grades"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES, ids=str)
def test_mistakes(arguments: list[str], sentence: str, files: list[str]) -> None:
    all_arguments = files + arguments[1:] if arguments[:1] == ["{}"] else arguments
    outcome = run_explain(*all_arguments)
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    assert " ".join(sentence.split()) in " ".join(outcome.stderr.split())


BROKEN_FILES = {
    "a short line": "q01 Q0 a 1 2.0 t\nq01 Q0 b\n",
    "no number": "q01 Q0 a 1 nan t\n",
    "a document twice": "q01 Q0 a 1 2.0 t\nq01 Q0 a 2 1.0 t\n",
    "of another query": "q01 Q0 a 1 2.0 t\nq02 Q0 a 2 x t\n",
    "nothing": "",
}


@pytest.mark.parametrize("content", BROKEN_FILES.values(), ids=BROKEN_FILES.keys())
def test_a_broken_file_is_refused_as_by_evaluate(
    content: str, write: Write, files: list[str]
) -> None:
    broken_run = write("broken.run", content)
    other = CliRunner().invoke(cli, ["evaluate", files[0], broken_run])
    outcome = run_explain(files[0], broken_run, "--query", "q01")
    assert (outcome.exit_code, outcome.stdout) == (other.exit_code, "") == (2, "")
    assert outcome.stderr == other.stderr


def test_lists_of_grades_in_every_spelling(write: Write) -> None:
    path = write("lists", "q1: 5 2 4\nq2: 1 0 -\n")
    assert last_line(run_explain("--grades", "5 2 4", "-m", "DCG").stdout).endswith(
        f" = {5 + 2 / math.log2(3) + 4 / 2!r}"
    )
    assert last_line(run_explain("--grades", "q1: 5, 2, 4", "-m", "DCG").stdout).startswith(
        "DCG = A"
    )
    named_lists = ["--grades", "q1: 5 2 4", "--grades", "q2: 1 0 -"]
    for grade_arguments in (named_lists, ["--grades", path]):
        assert run_explain(*grade_arguments, "-m", "DCG").stdout.startswith("DCG of grades: ")
        assert run_explain(*grade_arguments, "-m", "DCG", "--query", "q2").stdout.startswith(
            "DCG = 1.0000: query q2"
        )
    output = run_explain("--grades", "5 2", "--collection", "5 2 4", "-m", "nDCG@2").stdout
    assert "Judged: the grades stated for the collection." in output
    output = run_explain("--grades", "3 2", "--top-grade", "4", "-m", "nDCG(ideal='top')").stdout
    assert "The highest grade of the scale: 4, as stated." in output


def test_it_is_light(demo_folder: Path) -> None:
    code = (
        "import sys; from cranfield.cli import cli\n"
        "try: cli(['explain', 'demo/qrels.txt', 'demo/bm25.run', '--query', 'q01'])\n"
        "except SystemExit: print({'pandas', 'scipy', 'altair'} & sys.modules.keys())"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=demo_folder, check=True
    )
    assert last_line(process.stdout) == "set()"


def test_measures_that_are_named_twice_are_refused(demo_folder: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run")]
    outcome = CliRunner().invoke(cli, ["explain", *files, "-m", "AP", "-m", "RR"])
    assert outcome.exit_code == 2
    assert "explain takes one measure" in outcome.stderr
