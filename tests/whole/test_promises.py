"""What docs/background/promises.md promises is so, where a program can tell."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.folders import DOCS

import cranfield
from cranfield import compare, evaluate, gate

PAGE = (DOCS / "background" / "promises.md").read_text("utf-8")
QRELS, RUN, BASELINE = "demo/qrels.txt", "demo/tfidf.run", "demo/bm25.run"
JUDGED_GATE = ("gate", QRELS, RUN, "--baseline", BASELINE, "-m", "R@100", "--margin", "0.02")
COMMANDS: dict[
    tuple[str, str, str], list[tuple[str, ...]]
] = {  # {(status, of, when it begins with): commands}
    ("0", "all commands", "done"): [
        ("evaluate", QRELS, RUN),
        ("gate", QRELS, RUN, "--at-least", "AP=0.1"),
        (*JUDGED_GATE, "--undecided", "pass"),
        ("check", QRELS, RUN),
    ],
    ("1", "`gate`", "FAIL"): [("gate", QRELS, RUN, "--at-least", "AP=0.9")],
    ("1", "`check`", "a finding"): [("check", QRELS, "ranks.run")],
    ("2", "all commands", "a wrong option"): [
        ("evaluate", QRELS, RUN, "--no-such-option"),
        ("gate", QRELS, "no such file", "--at-least", "AP=0.9"),
        ("gate", QRELS, "ranks.run", "--at-least", "AP=0.9"),
        ("evaluate", QRELS, RUN, "-o", "no folder/scores.json"),
    ],
    ("3", "`gate`", "UNDECIDED"): [JUDGED_GATE],
}


def read_rows(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the first table below a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+) \|$", section, re.M)
    return [row.split(" | ") for row in rows[1:]]


def test_every_exit_status_is_tried() -> None:
    rows = read_rows("Exit statuses")
    assert len(rows) == len(COMMANDS)
    for (status, command, start), row in zip(COMMANDS, rows, strict=True):
        assert row[:2] == [status, command]
        assert row[2].startswith(start)


@pytest.mark.parametrize("promise", COMMANDS)
def test_exit_statuses_are_those_that_are_promised(
    promise: tuple[str, str, str],
    demo_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "demo").symlink_to(demo_folder / "demo", target_is_directory=True)
    (tmp_path / "ranks.run").write_text("q01 Q0 csv 1 high mine\n")
    monkeypatch.chdir(tmp_path)
    for words in COMMANDS[promise]:
        assert invoke(*words).exit_code == int(promise[0]), words


def test_the_json_of_results_has_the_keys_that_are_promised(
    demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    runs = [BASELINE, RUN]
    result_of_name: dict[str, Any] = {
        "`evaluate`": evaluate(QRELS, runs, "AP"),
        "`compare`": compare(QRELS, runs, "AP"),
        "`gate`": gate(QRELS, runs, "AP", baseline="bm25", margin=0.1),
    }
    rows = read_rows("What programs read")
    assert [name for name, _ in rows] == [*result_of_name]
    for name, keys in rows:
        document = json.loads(result_of_name[name].to_json())
        assert re.findall("`([^`]+)`", keys) == [*document], name


def test_errors_are_of_the_kinds_that_are_promised() -> None:
    names = re.findall(r"`(\w+(?:Error|Failed))`", PAGE.split("## Exit statuses")[1])
    assert {"InputError", "MeasureError", "OptionError", "GateFailed"} <= {*names}
    for name in ("InputError", "MeasureError", "OptionError"):
        assert issubclass(getattr(cranfield, name), ValueError)
    assert issubclass(cranfield.GateFailed, AssertionError)
    assert not issubclass(cranfield.GateFailed, ValueError)
