"""Rows of both sides as a newcomer gives them: two tables, and what is said where one stumbles."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.commands import invoke

from cranfield import (
    InputError,
    Qrels,
    Run,
    Systems,
    compare,
    correlate,
    evaluate,
    explain,
    gate,
    joint_bounds,
    read_qrels,
)

OLD: list[dict[str, Any]] = [
    {"question": "How?", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a"]},
    {"question": "Why?", "expected_ids": ["c"], "retrieved_ids": ["c", "a"]},
]
NEW = [{**row, "retrieved_ids": [*row["expected_ids"], "z"]} for row in OLD]
MEANS = {"old": (1 / 2 + 1) / 2, "new": (2 / 2 + 1) / 2}  # of recall


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return the paths of two tables, old.json and new.json."""
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, rows in zip(paths, (OLD, NEW), strict=True):
        path.write_text(json.dumps(rows))
    return str(paths[0]), str(paths[1])


def means(systems: Any) -> dict[str, float]:
    assert isinstance(systems, Systems)
    return {name: scores["R@5"] for name, scores in systems.items()}


# ---- two tables of both sides are two systems ----------------------------------------


def test_two_files_are_two_systems_as_on_the_command_line(files: tuple[str, str]) -> None:
    old, new = files
    assert means(evaluate(old, new, "R@5")) == MEANS
    assert means(evaluate(Path(old), [new], "R@5")) == MEANS
    assert means(evaluate(old, [old, new], "R@5")) == MEANS
    assert means(evaluate(old, {"new": new}, "R@5")) == MEANS
    done = invoke("evaluate", old, new, "-m", "R@5", "--format", "json")
    runs = json.loads(done.stdout)["runs"]
    assert {one["run"]: one["all"]["R@5"] for one in runs} == MEANS


@pytest.mark.parametrize("make", [list, pd.DataFrame, pl.DataFrame])
def test_two_tables_in_memory_are_two_systems(make: Callable[..., Any]) -> None:
    found: Any = evaluate(make(OLD), make(NEW), "R@5")
    assert list(means(found).values()) == list(MEANS.values())
    found = evaluate(OLD, {"new": make(NEW)}, "R@5")
    assert list(means(found).values()) == list(MEANS.values())


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries differ
def test_the_verbs_take_two_tables_as_two_systems(files: tuple[str, str]) -> None:
    both = dict(zip(("old", "new"), files, strict=True))
    assert compare(*files, "RR R@5").rows() == compare(both, "RR R@5").rows()
    options: Any = {"baseline": "old", "margin": 0.1}
    assert gate(*files, "RR", **options).verdicts == gate(both, "RR", **options).verdicts
    assert correlate(*files, "RR AP").pairs == correlate([*files], "RR AP").pairs
    assert joint_bounds(*files, "P@2").low.tolist() == joint_bounds(both, "P@2").low.tolist()
    assert explain(*files, "RR").rows() == explain(both, "RR").rows()
    assert explain(*files, "RR", "How?").rows() == explain(both, "RR", "How?").rows()


def test_other_expected_ids_are_refused_where_they_were_dropped_once(
    files: tuple[str, str], tmp_path: Path
) -> None:
    old, _ = files
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{**row, "expected_ids": ["z"]} for row in NEW]))
    with pytest.raises(InputError, match="differ: query 'How") as caught:
        evaluate(old, str(other), "R@5")
    assert "read_qrels(path)" in str(caught.value.hint)
    # So the hint's own words are the way out.
    assert evaluate(read_qrels(old), str(other), "R@5")["R@5"] == (2 / 2 + 1 / 1) / 2
    assert evaluate(Qrels(OLD), Run(NEW), "R@5")["R@5"] == MEANS["new"]
    columns = ["--qrels-columns", "query_id=question,doc_id=expected_ids"]
    done = invoke("evaluate", old, str(other), "-m", "R@5", *columns, "--format", "json")
    [one] = json.loads(done.stdout)["runs"]
    assert one["all"]["R@5"] == (2 / 2 + 1 / 1) / 2


def test_one_table_in_both_places_and_tables_of_one_side_stay_what_they_are(
    files: tuple[str, str],
) -> None:
    old, _ = files
    assert evaluate(old, Path(old), "R@5")["R@5"] == MEANS["old"]
    assert evaluate(OLD, OLD, "R@5")["R@5"] == MEANS["old"]
    sides: Any = {"qrels": {"query_id": "question"}, "run": {"query_id": "question"}}
    assert evaluate(OLD, NEW, "R@5", columns=sides)["R@5"] == MEANS["new"]
    # A grade and a score stand beside each other: a file like this may be either side.
    long = [{"qid": "q", "doc": "a", "label": 1, "score": 1.0}]
    assert evaluate(long, [{**long[0], "score": 2.0}], "RR")["RR"] == 1
    fields = [("query_id", "U9"), ("doc_id", "U9"), ("relevance", "i8")]
    judged = np.array([("q", "a", 1)], fields)
    assert (
        evaluate(judged, np.array([("q", "a", 1)], fields[:2] + [("score", "f8")]), "RR")["RR"] == 1
    )
