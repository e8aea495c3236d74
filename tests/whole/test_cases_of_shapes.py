"""The cases of shapes of data: calls and command lines, with the values that were worked out."""

import contextlib
import json
import math
import shlex
import shutil
from collections import namedtuple
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from helpers.commands import run_command

from cranfield import InputError, OptionError, Scores, evaluate, grades, read_run
from cranfield.errors import CranfieldError

pytestmark = pytest.mark.more

# What is refused, as too few people hold it; the errors say what to do.
CASES_OF_FEW = {
    "RankLib's -score file as the run",
    "Weaviate, distance",
    "NTCIR's L grades",
    "both kinds in one file",
}
PACKAGES = ("torch", "jax", "datasets")


class Qrels:
    """Judgments as an object that iterates over its rows."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def qrels_iter(self) -> Iterator[Any]:
        """Return the rows."""
        return iter(self._rows)


def read_cases(data: Path) -> dict[str, Any]:
    """Return the measures and the cases."""
    return dict(json.loads((data / "shapes" / "cases.json").read_text()))


def names_of_calls(measures: list[str]) -> dict[str, Any]:
    """Return the names that occur in the calls."""

    def exhaust(rows: Iterator[Any]) -> Iterator[Any]:
        list(rows)
        return rows

    return {
        "np": np,
        "pd": pd,
        "pl": pl,
        "sp": scipy.sparse,
        "evaluate": evaluate,
        "grades": grades,
        "M": " ".join(measures),
        "Scored": namedtuple("Scored", "query_id doc_id score"),
        "Qrel": namedtuple("Qrel", "query_id doc_id relevance iteration"),
        "Doc": SimpleNamespace,
        "Data": Qrels,
        "used": exhaust,
    }


def differing_values(values: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """Return the first value that is not the expected, in words; an empty text if all are."""
    for name, value in expected.items():
        if not math.isclose(values.get(name, math.nan), value, abs_tol=1e-12):
            return f"{name}: {values.get(name)}, expected {value}"
    return ""


def missing_words(text: str, words: list[str]) -> str:
    """Return the words that a text lacks."""
    return ", ".join(word for word in words if word.lower() not in text.lower())


def find_fault(scores: Any, expected: Mapping[str, Any]) -> str:
    """Return what is wrong with what a call gave, in words; an empty text if nothing is."""
    if "result" in expected:
        value_of_place = {str(i): value for i, value in enumerate(expected["result"])}
        return differing_values(
            {str(i): float(value) for i, value in enumerate(scores)}, value_of_place
        )
    for system, values in expected.get("systems", {}).items():
        if fault := differing_values(scores[system].means(), values["mean"]):
            return f"{system}: {fault}"
    if "systems" in expected:
        return ""
    assert isinstance(scores, Scores)
    if fault := differing_values(scores.means(), expected["mean"]):
        return fault
    for query, values in expected.get("per_query", {}).items():
        if fault := differing_values(scores.to_dict().get(query, {}), values):
            return f"query {query}: {fault}"
    severity_of_note = {note.code: note.severity for note in scores.notes}
    if "note" in expected and expected["note"] not in severity_of_note:
        return f"no note {expected['note']} in {severity_of_note}"
    if "severity" in expected and severity_of_note[expected["note"]] != expected["severity"]:
        return f"{expected['note']} is {severity_of_note[expected['note']]}"
    return missing_words(str(scores), [expected["says"]] if "says" in expected else [])


def test_every_call_gives_its_values(data: Path) -> None:
    cases = read_cases(data)
    names = names_of_calls(cases["measures"])
    faults = {}
    with contextlib.chdir(data / "shapes"):
        for case in cases["cases"]:
            if not case["call"] or case.get("needs") in PACKAGES:
                continue
            title, expected = f"{case['kind']}: {case['id']}", case["expect"]
            try:
                scores = eval(case["call"], names)  # noqa: S307 - the calls are ours
            except CranfieldError as error:
                lacking = missing_words(str(error), expected.get("refused", [str(error)[:200]]))
                faults[title] = f"{error!s:.300}" if "refused" not in expected else lacking
                if case["id"] in CASES_OF_FEW:
                    faults[title] = ""
                continue
            is_refused = "refused" in expected or case["id"] in CASES_OF_FEW
            faults[title] = f"gave {scores!r}" if is_refused else find_fault(scores, expected)
    assert len(faults) > 80
    assert {title: fault for title, fault in faults.items() if fault} == {}


def find_fault_of_command(case: Mapping[str, Any], folder: Path) -> str:
    """Return what is wrong with what a command line does, in words."""
    expected = case["expect"]
    arguments = shlex.split(case["cli"])[1:]
    if arguments[0] != "convert":
        arguments += ["--format", "json"]
    process = run_command(*arguments, cwd=folder)
    if "refused" in expected or case["id"] in CASES_OF_FEW:
        if process.returncode != 2:
            return f"status {process.returncode}"
        return missing_words(process.stderr, expected.get("refused", []))
    if process.returncode:
        return f"{process.stderr:.300}"
    if arguments[0] == "convert":
        return find_fault_of_copy(process.stderr, folder / arguments[2], expected)
    output = json.loads(process.stdout)
    if arguments[0] == "compare":
        means_of_system = {
            system: {
                measure: math.fsum(values[system]) / len(values[system])
                for measure, values in output["scores"].items()
            }
            for system in output["systems"]
        }
    else:
        means_of_system = {scores["run"]: scores["all"] for scores in output["runs"]}
    expected_means = {name: values["mean"] for name, values in expected.get("systems", {}).items()}
    if not expected_means:
        expected_means = {next(iter(means_of_system)): expected["mean"]}
    for system, means in expected_means.items():
        if fault := differing_values(means_of_system.get(system, {}), {"AP": means["AP"]}):
            return f"{system}: {fault} in {means_of_system}"
    if "systems" in expected or "says" not in expected:
        return ""
    texts = " ".join(note["text"] for scores in output["runs"] for note in scores["notes"])
    return missing_words(texts, [expected["says"]])


def find_fault_of_copy(error_text: str, path: Path, expected: Mapping[str, Any]) -> str:
    """Return what is wrong with a file that `convert` wrote, in words."""
    words = [expected["reads"]] if "reads" in expected else []
    words += [f"wrote {expected['rows']} rows"] if "rows" in expected else []
    words += [str(expected["removed"])] if "removed" in expected else []
    if "run_left" in expected:
        docs_of_query = {query: [*docs] for query, docs in read_run(path).to_dict().items()}
        if docs_of_query != expected["run_left"]:
            return f"{docs_of_query}"
    lacking = missing_words(error_text, words)
    return f"lacks {lacking}: {error_text}" if lacking else ""


def test_every_command_line_gives_its_values(data: Path, tmp_path: Path) -> None:
    cases = [case for case in read_cases(data)["cases"] if case.get("cli")]
    shutil.copytree(data / "shapes" / "files", tmp_path / "files")
    faults = {
        f"{case['kind']}: {case['id']}": find_fault_of_command(case, tmp_path) for case in cases
    }
    assert len(faults) > 25
    assert {title: fault for title, fault in faults.items() if fault} == {}


def test_errors_of_what_is_refused_say_what_to_do(data: Path) -> None:
    with contextlib.chdir(data / "shapes"):
        for case in read_cases(data)["cases"]:
            if case["id"] in CASES_OF_FEW:
                with pytest.raises((InputError, OptionError)) as error_info:
                    eval(case["call"], names_of_calls(["AP"]))  # noqa: S307 - as above
                assert "\n" in str(error_info.value), "a hint is a line of its own"
