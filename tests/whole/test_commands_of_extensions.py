"""Commands of extensions share options and refusals with those of the core."""

import json
from pathlib import Path

import pytest
from helpers.command_files import (
    WITHOUT_EFFECT,
    check_formulas,
    comparison_arguments,
    write_score_files,
)
from helpers.commands import invoke

import cranfield


def test_correlate_takes_saved_scores(tmp_path: Path) -> None:
    old, new, _ = write_score_files(tmp_path)
    invocation = invoke("correlate", "--saved", old, new, "-m", "map", "-m", "P_10")
    expected_order = cranfield.correlate([old, new], measures="map P_10")
    assert (invocation.exit_code, invocation.stdout) == (0, str(expected_order))


def test_what_has_no_effect_on_saved_scores_is_refused_by_extensions(tmp_path: Path) -> None:
    old, new, _ = write_score_files(tmp_path)
    for option, value in {**WITHOUT_EFFECT, "--qrels": [old]}.items():
        invocation = invoke("correlate", "--saved", old, new, option, *value)
        assert (invocation.exit_code, invocation.stdout) == (2, "")
        assert f"{option} says how judgments and runs are taken" in invocation.stderr
    invocation = invoke("correlate", old, new, "--layout", "systems")
    assert (invocation.exit_code, invocation.stdout) == (2, "")
    assert "--layout applies to saved scores only" in invocation.stderr
    invocation = invoke("correlate", old)
    assert invocation.exit_code == 2
    assert "Missing argument 'RUN...'; for saved scores, say --saved." in invocation.stderr
    invocation = invoke("compare", "--saved", old, new, "--bounds")
    assert (invocation.exit_code, invocation.stdout) == (2, "")
    assert "--bounds says how judgments and runs are taken" in invocation.stderr


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries
def test_missing_and_rel_of_correlate(tmp_path: Path) -> None:
    _, *files = comparison_arguments(tmp_path)
    outputs = [
        json.loads(invoke("correlate", *files, *options, "-m", "RR AP", "--format", "json").stdout)
        for options in ([], ["--rel", "2"], ["--missing", "drop"])
    ]
    assert '"AP(rel=2)"' in json.dumps(outputs[1])
    assert outputs[2] != outputs[0]
    invocation = invoke("correlate", *files, "--missing", "error")
    assert invocation.exit_code == 2
    assert "new: 1 of 8 queries have no results" in invocation.stderr


@pytest.mark.parametrize("command", ["correlate", "agreement"])
def test_numbers_are_checked_by_extensions(command: str) -> None:
    for option, value, message in (
        ("--alpha", "0.5", "--alpha 0.5: expected a number above 0 and below 0.5"),
        ("--alpha", "nan", "--alpha nan: expected a number above 0 and below 0.5"),
        ("--seed", "-1", "--seed -1: expected a whole number of at least 0"),
        ("--rel", "-1", "of at least 0"),
        ("--flips", "0", "--flips 0: expected a whole number of at least 1"),
    ):
        if (command, option) != ("agreement", "--flips"):
            invocation = invoke(command, "a", "b", "c", option, value)
            assert (invocation.exit_code, invocation.stdout) == (2, "")
            assert message in invocation.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "correlate qrels --qrels @one @one.run two.run three.run -m RR",
        "reproduce qrels @one.run two.run -m RR",
        "agreement qrels other.qrels @one.run two.run -q",
        "explain qrels @one.run two.run -m RR --query q2",  # by documents that are moved
        "nuggets nuggets.csv -q",
    ],
)
def test_rows_of_extensions_hold_no_formula(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_formulas(arguments, tmp_path, monkeypatch)


def test_an_option_of_one_value_is_refused_twice(demo_folder: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    for command, option, values in (
        ("tune", "-m", ("AP", "RR")),
        ("holes", "--measure", ("AP", "AP")),
        ("compare", "--alpha", ("0.1", "0.05")),
    ):
        invocation = invoke(command, *files, option, values[0], option, values[1])
        assert invocation.exit_code == 2
        assert "is given 2 times, and takes one value" in invocation.stderr
    assert invoke("compare", *files, "-m", "AP", "-m", "RR").exit_code == 0
