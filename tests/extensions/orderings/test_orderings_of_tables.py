"""correlate takes tables of both sides, and refuses scores as other verbs do."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

from cranfield import InputError, Qrels, Run, correlate

ROWS: list[dict[str, Any]] = [
    {"question": "How?", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a", "y"]},
    {"question": "Why so?", "expected_ids": ["c"], "retrieved_ids": ["c", "a"]},
]
TABLES = {
    "old": ROWS,
    "new": [{**row, "retrieved_ids": ["z", *row["expected_ids"]]} for row in ROWS],
}

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # few queries


def test_tables_of_both_sides_are_systems(tmp_path: Path) -> None:
    qrels, runs = Qrels(ROWS), {name: Run(rows) for name, rows in TABLES.items()}
    assert correlate(TABLES, "RR AP").pairs == correlate(qrels, runs, "RR AP").pairs
    paths = [str(tmp_path / f"{name}.json") for name in TABLES]
    for path, rows in zip(paths, TABLES.values(), strict=True):
        Path(path).write_text(json.dumps(rows))
    assert correlate(paths[0], paths[1], "RR AP").pairs == correlate(paths, "RR AP").pairs
    assert invoke("correlate", *paths, "-m", "RR", "-m", "AP").exit_code == 0


def test_columns_of_both_sides_are_said_once() -> None:
    names = {"question": "q", "expected_ids": "g", "retrieved_ids": "r"}
    tables: Any = {
        system: [{names[column]: cell for column, cell in row.items()} for row in rows]
        for system, rows in TABLES.items()
    }
    columns: Any = {"query_id": "q", "expected_ids": "g", "retrieved_ids": "r"}
    correlation = correlate(tables, measures="RR AP", columns=columns)
    assert correlation.pairs == correlate(TABLES, measures="RR AP").pairs


def test_a_score_beyond_the_range_of_its_measure_is_refused() -> None:
    shares = {f"q{i:02}": 0.5 + 0.01 * (i % 7) for i in range(40)}
    percent = {query: 100 * share for query, share in shares.items()}
    scores = {
        name: {"nDCG@10": system_scores, "AP": system_scores}
        for name, system_scores in (("old", shares), ("new", percent))
    }
    with pytest.raises(InputError, match="Is it a percentage") as error:
        correlate(scores)
    assert error.value.query_id == "q00"


def test_orders_of_fractional_grades() -> None:
    runs = {
        name: {f"q{i}": [f"d{(i * step + j) % 9}" for j in range(7)] for i in range(30)}
        for name, step in (("a", 1), ("b", 2), ("c", 4))
    }
    qrels = {f"q{i}": {f"d{j}": (i * j % 11) / 10 for j in range(9)} for i in range(30)}
    assert correlate(qrels, runs, "nDCG@5 DCG@5").rows()
