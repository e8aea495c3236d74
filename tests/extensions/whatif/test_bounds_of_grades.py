"""Bounds of a list of grades."""

import json
import math
from typing import Any

import pytest
from helpers.list_grades import invoke_evaluate


def dcg(grades: list[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def document(*arguments: str, stdin: str | None = None) -> dict[str, Any]:
    outcome = invoke_evaluate(*arguments, "--format", "json", "-q", stdin=stdin)
    assert outcome.exit_code == 0, outcome.stderr
    run: dict[str, Any] = json.loads(outcome.stdout)["runs"][0]
    return run


def test_bounds_know_the_top_grade() -> None:
    run = document("--grades", "- 2 1 0", "--top-grade", "4", "-m", "DCG", "--bounds")
    assert run["bounds"]["highest_grade"] == 4
    assert run["all"]["DCG high"] == pytest.approx(dcg([4, 2, 1]))
