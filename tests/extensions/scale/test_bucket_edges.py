"""Buckets at their edges: those without a judgment, faults on both sides, pieces of fractions."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cranfield import Scores, evaluate
from cranfield.data import judged
from cranfield.errors import CranfieldError, DuplicateError, InputError, MeasureError, OptionError

BUCKETS = [2, 16, 64]


def failing(kind: type[CranfieldError], *data: Any, **options: Any) -> str:
    """Return what the error of an evaluation says."""
    with pytest.raises(kind) as excinfo:
        evaluate(*data, **options)
    return str(excinfo.value)


@pytest.mark.parametrize("n", BUCKETS)
def test_a_bucket_of_queries_without_documents(tmp_path: Path, n: int) -> None:
    judgments = {f"q{i}": {"d1": 1} if i % 3 else {} for i in range(30)}
    (tmp_path / "qrels.json").write_text(json.dumps(judgments))
    (tmp_path / "a.run").write_text("".join(f"q{i} Q0 d{i % 2} 1 1 t\n" for i in range(20)))
    files = str(tmp_path / "qrels.json"), str(tmp_path / "a.run")
    in_memory = evaluate(*files, "AP P@1", buckets=1)
    parts = evaluate(*files, "AP P@1", buckets=n)
    assert isinstance(in_memory, Scores)
    assert isinstance(parts, Scores)
    assert (parts.to_dict(), parts.counts) == (in_memory.to_dict(), in_memory.counts)
    assert parts.counts.queries == 30
    (tmp_path / "qrels.json").write_text(json.dumps({"q1": {}, "q2": {}}))
    assert failing(InputError, *files, buckets=n) == failing(InputError, *files, buckets=1)


SAMPLE_COLUMNS = {"stratum": [1, 1], "probability": [0.5, 0.0]}
SPANS = {"start": [1, 5], "end": [3, 3]}


@pytest.mark.parametrize("n", BUCKETS)
@pytest.mark.parametrize(("columns", "measure"), [(SAMPLE_COLUMNS, "xinfAP"), (SPANS, "P@3")])
def test_queries_of_which_all_rows_have_a_fault(
    columns: dict[str, list[float]], measure: str, n: int
) -> None:
    rows = [
        {"query_id": f"q{i}", "doc_id": f"d{j}", "relevance": 1}
        | {name: values[i in (3, 7)] for name, values in columns.items()}
        for i in range(10)
        for j in range(3)
    ]
    ranked = [
        {"query_id": f"q{i}", "doc_id": f"d{j}", "score": 9 - j**2, "start": 1, "end": 4}
        for i in range(10)
        for j in range(5)
    ]
    tables = pd.DataFrame(rows), pd.DataFrame(ranked)
    in_memory = evaluate(*tables, measure, errors="skip", buckets=1)
    parts = evaluate(*tables, measure, errors="skip", buckets=n)
    assert isinstance(in_memory, Scores)
    assert isinstance(parts, Scores)
    assert (parts.to_dict(), parts.counts) == (in_memory.to_dict(), in_memory.counts)
    assert parts.counts.rows_left_out == 2 * 3
    assert [note for note in parts.notes if note.code != "buckets"] == [*in_memory.notes]
    assert parts.recipe == in_memory.recipe
    # The fault that comes first is named, no matter which bucket it is in.
    assert failing(InputError, *tables, buckets=n) == failing(InputError, *tables, buckets=1)


@pytest.mark.parametrize("n", BUCKETS)
def test_duplicates_on_both_sides(tmp_path: Path, n: int) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    for path, row in ((qrels, "{q} 0 {d} 1\n"), (run, "{q} Q0 {d} 1 1 t\n")):
        twice = 9 if path == qrels else 15  # which is in the first of 16 buckets
        pairs = [(f"q{i}", f"d{j % (4 if i == twice else 5)}") for i in range(20) for j in range(5)]
        path.write_text("".join(row.format(q=q, d=d) for q, d in pairs))
    files = str(qrels), str(run)
    text = failing(DuplicateError, *files, buckets=n)
    assert text == failing(DuplicateError, *files, buckets=1)
    assert f"qrels.txt:{9 * 5 + 5}:" in text


def test_an_error_says_what_all_grades_are(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels = {f"q{i}": {"d1": 1 + i % 2 / 2, "d2": i} for i in range(8)}
    run = {f"q{i}": {"d1": 1.0} for i in range(8)}
    text = failing(MeasureError, qrels, run, measures="AP")
    assert "all at most 7" in text
    monkeypatch.setattr(judged, "MAX_ROWS", 2)
    assert failing(MeasureError, qrels, run, measures="AP") == text


def test_ids_that_are_no_text_under_a_convention(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes(b"\xff 0 d 1\n\xfe 0 d 1\n")
    (tmp_path / "a.run").write_bytes(b"\xff Q0 d 1 1 t\n\xfe Q0 d 1 1 t\n")
    files = str(tmp_path / "qrels.txt"), str(tmp_path / "a.run")
    scores = evaluate(*files, "AP RR", convention="beir")
    assert isinstance(scores, Scores)
    assert [*scores.query_ids] == ["\udcfe", "\udcff"]


@pytest.mark.parametrize("n", BUCKETS)
def test_judgments_of_which_no_row_can_be_used(tmp_path: Path, n: int) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 x\nq2 0 d1 y\n")
    inputs = str(tmp_path / "qrels.txt"), {"q1": ["d1"]}
    message = failing(InputError, *inputs, errors="skip", buckets=n)
    assert message == failing(InputError, *inputs, errors="skip", buckets=1)
    assert "qrels.txt:1: " in message


@pytest.mark.parametrize("n", BUCKETS)
def test_fractions_are_said_of_the_whole_collection(tmp_path: Path, n: int) -> None:
    grades = {f"q{i}": 0.25 if i == 7 else 3 if i == 8 else 0 for i in range(20)}
    lines = [f"{query} 0 d1 {grade}\n" for query, grade in grades.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    message = failing(MeasureError, tmp_path / "qrels.txt", {"q1": ["d1"]}, "AP", buckets=n)
    assert "all at most 3" in message


def test_the_folder_is_looked_at_before_anything_is_read(tmp_path: Path) -> None:
    inputs = {"q1": {"d1": 1}}, {"q1": ["d1"]}
    (tmp_path / "file").write_text("")
    for wrong in (str(tmp_path / "nowhere"), str(tmp_path / "file"), ""):
        assert "temp=" in failing(OptionError, *inputs, "AP", temp=wrong)
    evaluate(*inputs, "AP", temp=str(tmp_path))
