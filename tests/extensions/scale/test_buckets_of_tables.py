"""Buckets, and tasks of engines, read tables as evaluate does: distances, several systems."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.notes import codes

from cranfield import Run, evaluate, parse, read_run
from cranfield.data.judging import Judging
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.tasks import Task, score_bucket
from cranfield.version import __version__

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

JUDGED = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(4)}
ROWS: list[dict[str, Any]] = [
    {"query_id": query, "doc_id": doc, "distance": distance}
    for query in JUDGED
    for doc, distance in (("a", 0.25), ("b", 0.5), ("c", 0.75))
]


def test_distances_rank_the_nearest_first() -> None:
    scores = evaluate(JUDGED, Run(ROWS), "RR", buckets=2)
    assert scores["RR"] == 1
    assert "distance" in codes(scores)
    task = Task(
        (parse("RR"),), Judging(), "strict", __version__, query_columns=("query_id", "query_id")
    )
    judgments = [
        {"query_id": query, "doc_id": doc, "relevance": grade}
        for query, docs in JUDGED.items()
        for doc, grade in docs.items()
    ]
    table = score_bucket(task, pa.Table.from_pylist(judgments), pa.Table.from_pylist(ROWS))
    assert table["RR"].to_pylist() == [1.0] * len(JUDGED)


def test_a_table_of_two_systems_is_a_run_of_each(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "doc_id": doc, "score": score, "retriever": retriever}
        for retriever, doc, score in (
            ("bm25", "d2", 0.9),
            ("bm25", "d1", 0.8),
            ("hybrid", "d1", 0.7),
            ("hybrid", "d2", 0.1),
        )
    ]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    systems: Any = evaluate({"q1": {"d1": 1}}, str(path), "RR", buckets=3)
    assert {name: scores["RR"] for name, scores in systems.items()} == {"bm25": 1 / 2, "hybrid": 1}
    with pytest.raises(DuplicateError, match="Column 'retriever' has 2 values"):
        evaluate({"q1": {"d1": 1}}, read_run(str(path)), "RR", buckets=3)
