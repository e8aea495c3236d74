"""The command line: what it prints where, and what it answers to mistakes."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from helpers.command_files import (
    WITHOUT_EFFECT,
    check_formulas,
    comparison_arguments,
    write_score_files,
)
from helpers.commands import invoke, run_bytes, run_command
from helpers.terminal import run_on_terminal
from transcripts import remove_colours, run_on_pty

import cranfield
from cranfield import compare, definitions, evaluate, explain
from cranfield.measures.registry import Subject

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"


RUN = "q1 Q0 b 1 2.0 t\nq1 Q0 a 2 1.0 t\nq9 Q0 a 1 1 t\n"


@pytest.fixture
def files(write: Any) -> tuple[str, str]:
    return write("qrels.txt", QRELS), write("bm25.run", RUN)


def test_a_pipe_gets_the_table_that_a_terminal_gets(files: tuple[str, str]) -> None:
    arguments = ("evaluate", *files, "-m", "AP", "-m", "num_ret")
    outcome = run_command(*arguments)
    assert outcome.stdout.splitlines()[:4] == [
        " run       AP  num_ret",
        " ─────────────────────",
        " bm25  0.2500        2",
        "",
    ]
    assert outcome.stderr == ""
    assert run_command(*arguments, "--format", "table").stdout == outcome.stdout
    status, screen = run_on_terminal(*arguments)
    assert status == 0
    assert screen.replace("\x1b[1m", "").replace("\x1b[0m", "").split() == outcome.stdout.split()


def test_programs_ask_for_tsv(files: tuple[str, str]) -> None:
    outcome = run_command("evaluate", *files, "-m", "AP", "-m", "num_ret", "--format", "tsv")
    assert outcome.returncode == 0
    assert (
        outcome.stdout
        == "run\tmeasure\tquery_id\tvalue\nbm25\tAP\tall\t0.25\nbm25\tNumRet\tall\t2\n"
    )
    assert outcome.stderr == (
        "note: 2 queries averaged.\n"
        "note: 1 query without results: counted as retrieving nothing.\n"
        "note: 1 query of the run left out: not in the qrels.\n"
    )


def test_every_query(files: tuple[str, str]) -> None:
    outcome = run_command("evaluate", *files, "-m", "AP", "-q", "--format", "csv")
    assert list(csv.reader(io.StringIO(outcome.stdout))) == [
        ["run", "measure", "query_id", "value"],
        ["bm25", "AP", "q1", "0.5"],
        ["bm25", "AP", "q2", "0.0"],
        ["bm25", "AP", "all", "0.25"],
    ]


def test_machine_formats_carry_every_digit(data: Path) -> None:
    qrels, bm25 = str(data / "dl19/qrels.txt"), str(data / "dl19/bm25.run.gz")
    exact = evaluate(qrels, bm25, "nDCG@10 NumRel")
    lines = run_command("evaluate", qrels, bm25, "-m", "nDCG@10 NumRel", "--format", "jsonl").stdout
    assert [json.loads(line) for line in lines.splitlines()] == [
        {"run": "bm25", "measure": "nDCG@10", "query_id": "all", "value": exact["nDCG@10"]},
        {"run": "bm25", "measure": "NumRel", "query_id": "all", "value": int(exact["NumRel"])},
    ]
    arguments = ("evaluate", qrels, bm25, "-m", "nDCG@10", "--format", "tsv")
    tsv = run_command(*arguments).stdout.splitlines()[1]
    assert float(tsv.split("\t")[3]) == exact["nDCG@10"]


def test_tables_for_pages(files: tuple[str, str]) -> None:
    text_of_form = {
        "markdown": "| bm25 | 0.2500 |\n",
        "latex": "bm25 & 0.2500 \\\\\n",
        "html": "<table>\n<thead>",
    }
    for form, part in text_of_form.items():
        outcome = run_command("evaluate", *files, "-m", "AP", "--format", form)
        assert part in outcome.stdout
        assert outcome.stderr == ""  # what else to know is part of the table


def test_json_holds_the_recipe_and_the_counts(files: tuple[str, str]) -> None:
    outcome = run_command("evaluate", *files, "-m", "AP", "-q", "--format", "json", "--depth", "1")
    document = json.loads(outcome.stdout)
    assert document["recipe"]["depth"] == 1
    assert document["recipe"]["cranfield"] == cranfield.__version__
    (run_document,) = document["runs"]
    assert run_document["run"] == "bm25"
    assert run_document["all"] == {"AP": 0.0}
    assert run_document["queries"] == {"q1": {"AP": 0.0}, "q2": {"AP": 0.0}}
    assert run_document["counts"]["without_judgments"] == 1


def test_options_reach_the_evaluation(files: tuple[str, str], write: Any) -> None:
    def value(*options: str, name: str = "RR") -> float:
        outcome = run_command("evaluate", *files, "-m", name, "--format", "tsv", *options)
        assert outcome.returncode == 0, outcome.stderr
        return float(outcome.stdout.splitlines()[1].split("\t")[3])

    assert value() == (1 / 2 + 0) / 2
    assert value("--queries", "both") == 1 / 2
    assert value("-l", "2") == 0
    assert value("--rel", "0") == (1 + 0) / 2
    assert value("--depth", "1") == 0
    assert value("--judged-only", name="NumRet") == 2
    assert value("--order", "rank") == 1 / 4
    assert value("--order", "given") == 1 / 4
    assert value("--scores", "single") == 1 / 4


def test_the_level_shows_in_the_name(files: tuple[str, str]) -> None:
    measures = ("-l", "2", "-m", "P_5", "-m", "nDCG@10")
    outcome = run_command("evaluate", *files, *measures, "--format", "tsv")
    assert [line.split("\t")[1] for line in outcome.stdout.splitlines()[1:]] == [
        "P(rel=2)@5",
        "nDCG@10",
    ]


def test_the_default_measures(files: tuple[str, str]) -> None:
    outcome = run_command("evaluate", *files, "--format", "tsv")
    measures = [line.split("\t")[1] for line in outcome.stdout.splitlines()[1:]]
    assert measures == ["nDCG@10", "AP", "RR", "P@10", "R@100", "Judged@10"]


def test_several_runs_and_equal_names(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "bm25.run"
    other.write_text(RUN)
    all_files = (*files, str(other), files[1])
    outcome = run_command("evaluate", *all_files, "-m", "RR", "--format", "tsv")
    names = [line.split("\t")[0] for line in outcome.stdout.splitlines()[1:]]
    assert names == [files[1], str(other), f"{files[1]} (2)"]


def test_the_standard_input(files: tuple[str, str]) -> None:
    options = ("-m", "RR", "--format", "tsv")
    outcome = run_command("evaluate", files[0], "-", *options, input=RUN)
    assert outcome.stdout.splitlines()[1] == "stdin\tRR\tall\t0.25"
    outcome = run_command("evaluate", "-", files[1], *options, input=QRELS)
    assert outcome.stdout.splitlines()[1] == "bm25\tRR\tall\t0.25"
    outcome = run_command("evaluate", "-", "-", "-m", "RR", input=QRELS)
    assert outcome.returncode == 2
    assert "can be read only once" in outcome.stderr


MISTAKES = {
    ("evaluate", "{qrels}", "{run}", "-m", "nDGC@10"): "Did you mean nDCG",
    ("evaluate", "{qrels}", "{run}", "-m", "P"): "P needs a cutoff: P@10",
    ("evaluate", "{qrels}", "nowhere.run"): "nowhere.run: cannot be read: No such file",
    ("evaluate", "nowhere", "{run}"): "nowhere: cannot be read",
    ("evaluate", "{qrels}"): "Missing argument 'RUN...'",
    ("evaluate", "{run}", "{qrels}"): "bm25.run:1: expected 4 columns: query_id iteration doc_id "
    "grade; got 6\n    q1 Q0 b 1 2.0 t\nThis looks like a run.",
    ("evaluate", "{qrels}", "{qrels}"): "This looks like qrels",
    ("evaluate", "{qrels}", "{folder}"): "is a directory",
    (
        "evaluate",
        "{qrels}",
        "{run}",
        "--depth",
        "0",
    ): "--depth 0: expected a whole number",
    ("evaluate", "{qrels}", "{run}", "--format", "xml"): "'xml' is not one of",
    ("evaluate", "{qrels}", "{run}", "--perquery"): "--per-query",
    (
        "evaluate",
        "{qrels}",
        "{run}",
        *["--ties", "best", "--order", "given"],
    ): "Error: --ties best has no effect with --order given: leave one out",
    ("evalute", "{qrels}", "{run}"): "Did you mean 'evaluate'?",
    ("measures", "nDGC"): "Did you mean nDCG",
}


@pytest.mark.parametrize(
    ("arguments", "message"), MISTAKES.items(), ids=[" ".join(m) for m in MISTAKES]
)
def test_mistakes_are_answered_with_what_to_do(
    arguments: tuple[str, ...], message: str, files: tuple[str, str]
) -> None:
    paths = {"qrels": files[0], "run": files[1], "folder": os.path.dirname(files[0])}
    outcome = run_command(*(part.format(**paths) for part in arguments))
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_nothing_is_scored_if_one_run_is_bad(files: tuple[str, str], write: Any) -> None:
    bad = write("bad.run", RUN + "q2 Q0 a 1 x t\n")
    outcome = run_command("evaluate", *files, bad, "-m", "RR")
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert f"{bad}:4: expected a number as the score" in outcome.stderr


def test_a_table_on_a_terminal(files: tuple[str, str], write: Any) -> None:
    better = write("better.run", "q1 Q0 a 1 9 t\n")
    status, screen = run_on_pty("evaluate", *files, better, "-m", "RR", "-m", "NumRet")
    assert status == 0
    lines = remove_colours(screen).splitlines()
    assert lines[0].split() == ["run", "RR", "NumRet"]
    assert lines[2].split() == ["bm25", "0.2500", "2"]
    assert lines[3].split() == ["better", "0.5000", "1"]
    assert re.search(r"\x1b\[1m *0\.5000\x1b\[0m", screen), "the best is bold"
    assert "\x1b[1m0.2500" not in screen


def test_a_narrow_terminal_turns_the_table(files: tuple[str, str]) -> None:
    status, screen = run_on_terminal("evaluate", *files, columns=40)
    assert status == 0
    assert [line.split()[0] for line in remove_colours(screen).splitlines()[2:8]] == [
        "nDCG@10",
        "AP",
        "RR",
        "P@10",
        "R@100",
        "Judged@10",
    ]


@pytest.mark.parametrize(
    "form", ["table", "tsv", "csv", "json", "jsonl", "markdown", "latex", "html"]
)
def test_no_id_commands_the_terminal(form: str, write: Any) -> None:
    qrels = write("qrels", "q\x1b[31m\u202e 0 a 1\n")
    path = write("r\x1b[2J.run", "q\x1b[31m\u202e Q0 a 1 1 t\n")
    status, screen = run_on_terminal("evaluate", qrels, path, "-q", "-m", "RR", "--format", form)
    assert status == 0
    assert "\x1b[31m" not in screen
    assert "\x1b[2J" not in screen
    assert "\u202e" not in screen


def test_ids_that_are_no_utf8_pass_through(write: Any) -> None:
    qrels, path = write("q", b"caf\xe9 0 a 1\n"), write("r.run", b"caf\xe9 Q0 a 1 1 t\n")
    command = ("evaluate", qrels, path, "-q", "-m", "RR")
    assert b"\tcaf\xe9\t" in run_bytes(*command, "--format", "tsv").stdout
    outcome = run_bytes(*command, "--format", "json")
    assert json.loads(outcome.stdout)["runs"][0]["queries"] == {"caf\udce9": {"RR": 1.0}}


@pytest.mark.parametrize("form", ["tsv", "csv", "json", "jsonl"])
def test_ids_with_escape_sequences_are_whole_in_a_pipe(form: str, write: Any) -> None:
    query = "\x1b[1mq"
    qrels, path = write("q", f"{query} 0 a 1\nq 0 a 1\n"), write("r", f"{query} Q0 a 1 1 t\n")
    outcome = run_command("evaluate", qrels, path, "-q", "-m", "RR", "--format", form)
    assert (query if form in {"tsv", "csv"} else json.dumps(query)[1:-1]) in outcome.stdout


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_other_encodings_than_utf8(encoding: str, write: Any) -> None:
    qrels, bad = write("q", "日本 0 a 1\n"), write("r", "日本 Q0 a 1 x t\n")
    outcome = run_bytes("evaluate", qrels, bad, encoding=encoding)
    assert outcome.returncode == 2
    assert b"expected a number as the score" in outcome.stderr
    run = write("r", "日本 Q0 a 1 1 t\n")
    assert run_bytes("evaluate", qrels, run, "-q", encoding=encoding).returncode == 0


def test_the_environment_names_the_encoding() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "cranfield", "demo"]
    process = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert process.stdout.isascii()
    assert process.stderr == b""


def test_closed_streams(files: tuple[str, str]) -> None:
    python = f"{sys.executable} -m cranfield"
    for command, status in [
        (f"{python} demo >&-", 0),
        (f"{python} evaluate - {files[1]} <&-", 2),
        (f"{python} evaluate {files[0]} {files[1]} 2>&-", 0),
        (f"{python} evaluate {files[0]} {files[1]} 2>/dev/full", 0),
        (f"{python} --help >/dev/full", 2),
        (f"{python} measures >/dev/full", 2),
    ]:
        process = subprocess.run(command, shell=True, capture_output=True, text=True)  # noqa: S602 - redirections
        assert "Traceback" not in process.stderr
        assert process.returncode == status


def test_a_reader_that_leaves_early_is_no_error(files: tuple[str, str]) -> None:
    command = f"{sys.executable} -m cranfield evaluate {files[0]} {files[1]} -q | head -1"
    process = subprocess.run(command, shell=True, capture_output=True, text=True)  # noqa: S602 - a pipe
    assert process.stdout.split()[:2] == ["run", "query_id"]
    assert "Traceback" not in process.stderr


def test_a_full_disk_is_said(files: tuple[str, str]) -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "cranfield", "evaluate", *files],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert process.returncode != 0
    assert "No space left" in process.stderr
    assert "Traceback" not in process.stderr


def test_measures_lists_all_and_explains_each() -> None:
    list_text = run_command("measures").stdout
    for definition in definitions():
        assert f"\n{definition.pattern} " in "\n" + list_text.replace("\n", " \n")
    measure_text = run_command("measures", "ndcg_cut_10").stdout
    for part in (
        "nDCG(gain='linear', discount='log2'",
        "Formula",
        "Source",
        "gain='linear'",
        "ndcg_burges",
    ):
        assert part in measure_text


def test_measures_may_all_be_explained() -> None:
    full = run_command("measures", "--full").stdout
    n_definitions = sum(len(definitions(of)) for of in get_args(Subject))
    for definition in definitions():
        assert definition.pattern in " ".join(full.split())
    assert full.count("\nFormula ") == full.count("\nSource ") == n_definitions
    two = run_command("measures", "map", "P.5").stdout
    assert two.count("\nFormula ") == 2


def test_version_and_help() -> None:
    assert run_command("--version").stdout == f"cranfield, version {cranfield.__version__}\n"
    for command in ("evaluate", "measures", "compare"):
        assert f"\n  {command} " in run_command("--help").stdout
        assert run_command(command, "-h").returncode == 0


def test_check_prints_findings_and_exits_by_the_gravest(write: Any) -> None:
    qrels, good = write("qrels.txt", QRELS), write("good.run", "q1 Q0 a 1 2 t\nq2 Q0 a 1 1 t\n")
    bad = write("bad.run", RUN + "q2 Q0 a 1 high t\n")
    outcome = run_command("check", qrels, good)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert "0 errors, 0 warnings." in outcome.stdout
    outcome = run_command("check", qrels, good, bad)
    assert outcome.returncode == 1
    assert "error    expected a number as the score (column 5), got 'high'" in outcome.stdout
    assert "line 4: q2 Q0 a 1 high t" in outcome.stdout
    assert run_command("check", qrels, qrels).returncode == 2
    assert run_command("check", qrels, "nowhere").returncode == 2
    assert run_command("check", "nowhere").returncode == 2
    assert run_command("check", good).returncode == 2


def test_check_speaks_json(write: Any) -> None:
    bad = write("bad.run", RUN + "q2 Q0 a 1 high t\n")
    outcome = run_command("check", write("qrels.txt", QRELS), bad, "--format", "json")
    report = json.loads(outcome.stdout)
    assert (outcome.returncode, report["ok"]) == (1, False)
    finding = report["findings"][0]
    assert (finding["severity"], finding["code"], finding["line"]) == ("error", "number", 4)
    assert report["facts"][bad]["rows"] == 3


def test_convert_writes_what_the_suffix_names_and_back(write: Any, tmp_path: Path) -> None:
    source = write("a.run", "q1 Q0 b 1 2.0 t\nq1 Q0 a 2 1.5e-300 t\n")
    for suffix in ("tsv.gz", "json", "parquet"):
        outcome = run_command("convert", source, str(tmp_path / f"b.{suffix}"))
        assert (outcome.returncode, outcome.stdout) == (0, "")
        assert "wrote 2 rows" in outcome.stderr
        round_trip = tmp_path / f"{suffix}.run"
        assert (
            run_command(
                "convert", "--run", str(tmp_path / f"b.{suffix}"), str(round_trip)
            ).returncode
            == 0
        )
        assert round_trip.read_text() == "q1 Q0 b 1 2 b\nq1 Q0 a 2 1.5e-300 b\n"


def test_convert_to_the_standard_output_and_of_judgments(write: Any) -> None:
    outcome = run_command("convert", write("a.qrels", "q1 0 a 1\nq1 0 b 0\n"), "-", "--to", "beir")
    assert outcome.stdout == "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n"
    outcome = run_command("convert", "-", "-", "--run", "--to", "jsonl", input="q1 d2\nq1 d1\n")
    assert [json.loads(line) for line in outcome.stdout.splitlines()] == [
        {"query_id": "q1", "doc_id": "d2", "rank": 1},
        {"query_id": "q1", "doc_id": "d1", "rank": 2},
    ]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("convert {json} x.run", "Say --run or --qrels"),
        ("convert {run} x.xyz", "names no format"),
        ("convert {run} {run}/x.run", "cannot be written: Not a directory"),
        ("convert {run} x.run --run --qrels", "exclude each other"),
        ("evaluate {qrels} {run} --run-columns score", "expected NAME=COLUMN"),
        ("evaluate {qrels} {run} --run-columns scoer=4", "'scoer' is not known"),
        ("evaluate {qrels} {run} --run-format beir", "header"),
        ("evaluate {qrels} {run} --run-format parquet", "cannot be read as parquet"),
        ("evaluate {qrels} {folder}/*.nothing", "no file has such a name"),
        ("chekc {qrels}", "Did you mean 'check'?"),
    ],
)
def test_mistakes_with_formats_are_answered(
    arguments: str, answer: str, write: Any, tmp_path: Path
) -> None:
    names = {
        "qrels": write("qrels.txt", QRELS),
        "run": write("a.run", RUN),
        "json": write("a.json", '{"q1": {"a": 1}}'),
        "folder": str(tmp_path),
    }
    outcome = run_command(*(word.format(**names) for word in arguments.split()), cwd=tmp_path)
    assert outcome.returncode == 2
    assert answer in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (tmp_path / "x.run").exists()


def test_what_was_left_out_is_said(write: Any) -> None:
    outcome = run_command(
        *("evaluate", write("qrels.txt", QRELS), write("a.run", RUN + "q2 Q0\n"), "-m", "RR"),
        *("--errors", "skip", "--format", "tsv"),
    )
    assert outcome.returncode == 0
    assert "1 row of the run left out (errors='skip'); the first: " in outcome.stderr
    assert "a.run:4: expected 6 columns" in outcome.stderr


def test_measures_are_found_by_words() -> None:
    measures_text = run_command("measures", "novel").stdout
    assert "NRBP(" in measures_text
    assert "nDCG(gain" not in measures_text
    assert "ERR(" in run_command("measures", "expected", "reciprocal").stdout


# ---- compare ------------------------------------------------------------------------------------


def test_compare_prints_a_table_also_into_a_pipe(tmp_path: Path) -> None:
    result = run_command(*comparison_arguments(tmp_path), "-m", "RR")
    assert result.returncode == 0
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line[:1] == " "}
    assert rows["old"][1] == f"{2 / 8:.4f}"
    assert rows["new"][1:3] == [f"{7 / 8:.4f}", f"+{5 / 8:.4f}"]
    # Six wins, a tie and a loss: of 2^7 flips of the seven that differ, 2 x (1 + 7) are as large.
    assert f"{2 * (1 + 7) / 2**7:.4f}" in rows["new"]
    assert "new: 1 query without results: counted as retrieving nothing." in result.stdout


def test_compare_in_every_format(tmp_path: Path) -> None:
    arguments = [*comparison_arguments(tmp_path), "-m", "RR"]
    document = json.loads(run_command(*arguments, "--format", "json").stdout)
    (result,) = document["results"]
    assert result["pairs"][0]["difference"] == 5 / 8
    assert document["settings"]["baseline"] == "old"
    (row,) = csv.DictReader(io.StringIO(run_command(*arguments, "--format", "csv").stdout))
    assert (row["system"], row["wins"], row["p"]) == ("new", "6", str(16 / 2**7))
    tsv = run_command(*arguments, "--format", "tsv").stdout
    assert tsv.splitlines()[0].split("\t") == list(row)
    assert run_command(*arguments, "--format", "markdown").stdout.count("\n| new ") == 1
    assert "\\toprule" in run_command(*arguments, "--format", "latex").stdout
    assert "<table>" in run_command(*arguments, "--format", "html").stdout


def test_compare_takes_the_baseline_by_name_or_file(tmp_path: Path) -> None:
    arguments = [*comparison_arguments(tmp_path), "-m", "RR"]
    by_name = run_command(*arguments, "--baseline", "new").stdout
    assert "baseline new" in by_name
    assert run_command(*arguments, "--baseline", str(tmp_path / "new.run")).stdout == by_name
    refusal = run_command(*arguments, "--baseline", "nwe")
    assert refusal.returncode == 2
    assert "no system 'nwe' to be the baseline" in refusal.stderr
    assert "The systems are old, new." in refusal.stderr


def test_compare_takes_scores_that_were_saved(tmp_path: Path) -> None:
    arguments = comparison_arguments(tmp_path)
    saved_paths = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.tsv"
        path.write_text(
            run_command(
                *("evaluate", arguments[1], str(tmp_path / f"{name}.run"), "-q", "--format", "tsv")
            ).stdout
        )
        saved_paths.append(str(path))
    of_runs = json.loads(run_command(*arguments, "-m", "AP", "--format", "json").stdout)["results"]
    of_saved = json.loads(
        run_command("compare", "--saved", *saved_paths, "-m", "map", "--format", "json").stdout
    )["results"]
    for result in of_runs:
        for system in result["systems"]:
            system["judged"] = None  # which saved scores cannot know
            system["judged_lags"] = False
        for pair in result["pairs"]:
            pair.update(unjudged_low=None, unjudged_high=None, unjudged_method=None)
    assert of_saved == of_runs
    refusal = run_command("compare", "--saved", *saved_paths, "--depth", "3")
    assert refusal.returncode == 2
    assert "--depth says how judgments and runs are taken; saved scores" in refusal.stderr


def test_compare_needs_a_run(tmp_path: Path) -> None:
    refusal = run_command(*comparison_arguments(tmp_path)[:2])
    assert refusal.returncode == 2
    assert "Missing argument 'RUN...'" in refusal.stderr


# ---- what the commands that print reports share -------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_what_has_no_effect_on_saved_scores_is_refused(tmp_path: Path, command: str) -> None:
    old, new, _ = write_score_files(tmp_path)
    more_arguments = ["--baseline", old, "--margin", "0.1"] if command == "gate" else []
    for option, value in WITHOUT_EFFECT.items():
        outcome = invoke(command, "--saved", old, new, *more_arguments, option, *value)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert f"{option} says how judgments and runs are taken" in outcome.stderr
    outcome = invoke(command, old, new, *more_arguments, "--layout", "systems")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--layout applies to saved scores only" in outcome.stderr
    outcome = invoke(command, old, *more_arguments)
    assert outcome.exit_code == 2
    assert "Missing argument 'RUN...'; for saved scores, say --saved." in outcome.stderr


def test_the_baseline_of_saved_scores_is_a_name_or_a_file(tmp_path: Path) -> None:
    old, new, wide = write_score_files(tmp_path)
    compare_arguments = ["compare", "--saved", "-m", "map", "--format", "json", "--baseline"]
    by_name = json.loads(invoke(*compare_arguments, "new", old, new).stdout)["results"]
    for path in (new, str(tmp_path / "." / ".." / tmp_path.name / "new.txt")):
        document = json.loads(invoke(*compare_arguments, path, old, new).stdout)
        assert document["settings"]["baseline"] == "new"
        assert document["results"][0]["pairs"] == by_name[0]["pairs"]
    outcome = invoke("compare", "--saved", wide, "--layout", "systems", "--baseline", wide)
    assert outcome.exit_code == 2
    assert "several systems; name the one that is meant: old, new" in outcome.stderr
    outcome = invoke("compare", "--saved", old, "-", "--baseline", "-")
    assert outcome.exit_code == 2
    assert "can be read only once" in outcome.stderr


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries
def test_gate_takes_saved_scores(tmp_path: Path) -> None:
    old, new, wide = write_score_files(tmp_path)
    expected = cranfield.gate([old, new], measures="map", baseline="old", margin=0.1)
    judged = ["gate", "--saved", "-m", "map", "--margin", "0.1", "--baseline"]
    for arguments in ([old, new], [old, old, new]):
        outcome = invoke(*judged, *arguments)
        assert (outcome.exit_code, outcome.stdout) == (0, str(expected))
    as_systems = ["gate", "--saved", wide, "--layout", "systems", "--margin", "0.1"]
    outcome = invoke(*as_systems, "--baseline", "old", "--format", "json")
    assert json.loads(outcome.stdout)["outcomes"] == {"new": "PASS"}
    outcome = invoke(*as_systems, "--baseline", "elder")
    assert outcome.exit_code == 2
    assert "no system 'elder' to be the baseline" in outcome.stderr


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries
def test_gate_leaves_the_baseline_out_of_the_runs(tmp_path: Path) -> None:
    _, qrels, old, new = comparison_arguments(tmp_path)
    judged = ["gate", "-m", "RR", "--margin", "0.1", "--baseline"]
    other = str(tmp_path / ".." / tmp_path.name / "old.run")
    alone = invoke(*judged, old, qrels, new)
    assert invoke(*judged, old, qrels, old, new).stdout == alone.stdout
    # The last line, of `cranfield explain`, has the file as it was typed.
    output = invoke(*judged, other, qrels, new, old).stdout.replace(other, old)
    assert output == alone.stdout
    outcome = invoke(*judged, old, qrels, other)
    assert outcome.exit_code == 0
    assert "PASS, identical on all 8 queries" in outcome.stdout


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries
def test_missing_and_rel_are_the_same_everywhere(tmp_path: Path) -> None:
    _, qrels, old, new = comparison_arguments(tmp_path)
    for command in (["compare"], ["gate", "--baseline", old, "--margin", "0.1"]):
        files = [qrels, new] if command[0] == "gate" else [qrels, old, new]
        documents = [
            json.loads(
                invoke(*command, *files, *more_arguments, "-m", "RR AP", "--format", "json").stdout
            )
            for more_arguments in ([], ["--rel", "2"], ["--missing", "drop"])
        ]
        assert '"AP(rel=2)"' in json.dumps(documents[1])
        assert documents[2] != documents[0]
        outcome = invoke(*command, *files, "--missing", "error")
        assert outcome.exit_code == 2
        assert "new: 1 of 8 queries have no results" in outcome.stderr


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_numbers_are_checked_the_same_way(command: str) -> None:
    for option, value, message in (
        ("--alpha", "0.5", "--alpha 0.5: expected a number above 0 and below 0.5"),
        ("--alpha", "nan", "--alpha nan: expected a number above 0 and below 0.5"),
        ("--seed", "-1", "--seed -1: expected a whole number of at least 0"),
        ("--rel", "-1", "of at least 0"),
        ("--flips", "0", "--flips 0: expected a whole number of at least 1"),
    ):
        outcome = invoke(command, "a", "b", "c", option, value)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert message in outcome.stderr


@pytest.mark.parametrize(
    ("more_arguments", "message"),
    [
        ("--tie -1", "--tie -1.0: expected a number of at least 0"),
        ("--rope nan", "--rope nan: expected a number of at least 0"),
        ("--changes 0", "--changes 0: expected a whole number of at least 1"),
        ("--all-pairs --baseline new", "--all-pairs compares with no baseline"),
        ("--slices nowhere.csv", "nowhere.csv"),
        ("-m nonsense", "nonsense"),
        ("--baseline nobody", "The systems are old, new."),
        ("--test bayes --correction holm", "has no p-values to correct"),
    ],
)
def test_compare_says_what_is_wrong(tmp_path: Path, more_arguments: str, message: str) -> None:
    outcome = invoke(*comparison_arguments(tmp_path), *more_arguments.split())
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert message in outcome.stderr


def test_compare_says_notes_beside_rows(tmp_path: Path) -> None:
    outcome = invoke(
        *comparison_arguments(tmp_path), "-m", "RR", "--format", "csv", "--flips", "10"
    )
    assert len(outcome.stdout.splitlines()) == 2
    assert "note: new: 1 query without results" in outcome.stderr
    assert "RR: Only 8 queries: take any of this as a hint." in outcome.stderr


# ---- formulas in separated values -----------------------------------------------------------

COMMANDS_OF_ROWS = {
    "evaluate": "evaluate qrels @one.run -q -m RR",
    "compare": "compare qrels @one.run two.run -m RR",
    "gate": "gate qrels @one.run --baseline two.run --margin 0.1 -m RR",
    "explain a query": "explain qrels @one.run -m RR --query =1+1",
    "explain the mean": "explain qrels @one.run -m RR",
}


@pytest.mark.parametrize("arguments", COMMANDS_OF_ROWS.values(), ids=COMMANDS_OF_ROWS)
def test_rows_for_a_spreadsheet_hold_no_formula(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_formulas(arguments, tmp_path, monkeypatch)


def test_formulas_are_quoted_from_python_too() -> None:
    scores: Any = {"=a": {"q1": 1.0, "q2": 0.5}, "@b": {"q1": 0.5, "q2": 0.25}}
    comparison = compare(scores, test="sign")
    assert comparison.to_csv().splitlines()[1].split(",")[4:6] == ["@b", "=a"]
    assert comparison.to_csv(formulas="quoted").splitlines()[1].split(",")[4:6] == [
        '"\'@b"',
        '"\'=a"',
    ]
    explanation = explain({"=q": {"a": 1}}, {"=q": ["a"]}, "RR", "=q")
    assert "\n=q," in explanation.to_csv()
    assert '\n"\'=q",' in explanation.to_csv("quoted")
