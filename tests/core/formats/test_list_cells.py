"""Cells that hold lists, many rows at a time: as rows of one document each, for any table."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.notes import codes

from cranfield import InputError, Run, evaluate
from cranfield.errors import DuplicateError
from cranfield.formats.block import SIZES

Table = list[dict[str, Any]]

RANDOM = np.random.default_rng(7)
# Lists of different lengths, among them empty ones; ids that are texts, and not only ASCII.
ROWS: Table = [
    {
        "query_id": f"q{i}",
        "expected_ids": [f"d{j}" for j in RANDOM.permutation(9)[: i % 4].tolist()],
        "retrieved_ids": [f"d{j}" for j in RANDOM.permutation(9)[: i % 6].tolist()] + ["é"],
        "scores": [float(s) for s in RANDOM.permutation(40)[: i % 6 + 1]],
    }
    for i in range(23)
]


def _csv(rows: Table, folder: Path, cell: Callable[[list[Any]], str]) -> str:
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(
            [cell(field) if isinstance(field, list) else field for field in row.values()]
        )
    path = folder / "a.csv"
    path.write_text(page.getvalue())
    return str(path)


def _write_text(name: str, text: str, folder: Path) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def _cut_chunks(rows: Table) -> pa.Table:
    """Return an Arrow table whose arrays begin in the middle of others, in several chunks."""
    longer_table = pa.Table.from_pylist([*rows[-2:], *rows, rows[0]])
    return pa.concat_tables([longer_table.slice(2, 4), longer_table.slice(6, len(rows) - 4)])


FORMS: dict[str, Callable[[Table, Path], Any]] = {
    "dicts": lambda rows, folder: rows,
    "Arrow": lambda rows, folder: pa.Table.from_pylist(rows),
    "cut Arrow": lambda rows, folder: _cut_chunks(rows),
    "large lists": lambda rows, folder: pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("query_id", pa.large_string()),
                ("expected_ids", pa.large_list(pa.large_string())),
                ("retrieved_ids", pa.large_list(pa.string())),
                ("scores", pa.large_list(pa.float32())),
            ]
        )
    ),
    "pandas": lambda rows, folder: pd.DataFrame(rows),
    "polars": lambda rows, folder: pl.DataFrame(rows),
    "JSON": lambda rows, folder: _write_text("a.json", json.dumps(rows, indent=1), folder),
    "JSON lines": lambda rows, folder: _write_text(
        "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows), folder
    ),
    "CSV with JSON": lambda rows, folder: _csv(rows, folder, json.dumps),
}


@pytest.fixture(params=[1, 2, 5, SIZES.lists])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(SIZES, "lists", request.param)
    monkeypatch.setattr(SIZES, "bytes", 64 * request.param)
    return int(request.param)


def _evaluate_rows(rows: Table) -> dict[str, Any]:
    """Return what evaluate says of the same as dicts of dicts."""
    qrels: Any = {row["query_id"]: dict.fromkeys(row["expected_ids"], 1) for row in rows}
    run: Any = {
        row["query_id"]: dict(zip(row["retrieved_ids"], row["scores"], strict=True)) for row in rows
    }
    scores: dict[str, Any] = evaluate(qrels, run, "AP RR NumRet NumRel").to_dict()
    return scores


@pytest.mark.parametrize("form", FORMS)
def test_every_table_of_lists_is_read_as_its_rows(form: str, size: int, tmp_path: Path) -> None:
    scores = evaluate(FORMS[form](ROWS, tmp_path), "AP RR NumRet NumRel")
    assert scores.to_dict() == _evaluate_rows(ROWS)


@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_as_ids_are_their_texts(form: str, size: int, tmp_path: Path) -> None:
    rows: Table = [
        {"query_id": 7 + i, "expected_ids": [i, 100], "retrieved_ids": [i, 5], "scores": [2, i]}
        for i in range(6, 11)
    ]
    texts = [
        {**row, "query_id": str(row["query_id"])}
        | {name: list(map(str, row[name])) for name in ("expected_ids", "retrieved_ids")}
        for row in rows
    ]
    scores = evaluate(FORMS[form](rows, tmp_path), "AP RR NumRet NumRel")
    assert scores.to_dict() == _evaluate_rows(texts)


BROKEN_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "an empty id": ({"retrieved_ids": ["a", ""]}, "empty"),
    "a null byte": ({"retrieved_ids": ["a", "b\0"]}, "column 'retrieved_ids'"),
    "a null in a list": ({"retrieved_ids": ["a", None]}, "empty or missing"),
    "too few scores": ({"scores": [1.0]}, "2 in column 'retrieved_ids', and 1"),
    "no score": ({"scores": [1.0, None]}, "column 'scores'"),
    "no list of judgments": ({"expected_ids": None}, "column 'expected_ids' is empty"),
    "no query": ({"query_id": None}, "column 'query_id' is empty or missing"),
}


@pytest.mark.parametrize("form", ["dicts", "Arrow", "cut Arrow", "pandas", "JSON lines"])
@pytest.mark.parametrize(("cells", "message"), BROKEN_ROWS.values(), ids=BROKEN_ROWS)
def test_a_broken_row_is_named_by_its_own_number(
    form: str, cells: dict[str, Any], message: str, size: int, tmp_path: Path
) -> None:
    good = {"expected_ids": ["a"], "retrieved_ids": ["a", "b"], "scores": [2.0, 1.0]}
    rows: Table = [{"query_id": f"q{i}", **good} for i in range(12)]
    rows[9] |= cells
    row_pattern = r"a.jsonl:10\b" if form == "JSON lines" else r"row 9\b"
    with pytest.raises(InputError, match=message) as caught:
        evaluate(FORMS[form](rows, tmp_path), "RR")
    caught.match(row_pattern)
    scores = evaluate(FORMS[form](rows, tmp_path), "RR", errors="skip")
    is_judged = not {"expected_ids", "query_id"} & cells.keys()
    assert scores["RR"] == 11 / (12 if is_judged else 11)
    assert "left-out" in codes(scores.notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [0, 8])
def test_a_query_has_one_list_however_far_apart(
    form: str, first: int, size: int, tmp_path: Path
) -> None:
    rows = [*ROWS[:9], ROWS[first], *ROWS[9:12]]
    with pytest.raises(DuplicateError, match=f"the query 'q{first}' occurs in two rows"):
        evaluate(FORMS[form](rows, tmp_path), "RR")


def test_a_list_that_is_missing_is_a_query_without_results() -> None:
    table = pa.table(
        {"query_id": ["a", "b"], "retrieved_ids": pa.array([None, ["x"]], pa.list_(pa.string()))}
    )
    scores = evaluate({"a": {"x"}, "b": {"x"}}, Run(table), "RR")
    assert scores.per_query("RR") == {"a": 0, "b": 1}
    assert scores.counts.without_results == 1


def test_lists_of_one_length_are_lists_as_well() -> None:
    pairs = pa.array([["x", "y"], ["y", "x"]], pa.list_(pa.string(), 2))
    run = Run(pa.table({"query_id": ["a", "b"], "retrieved_ids": pairs}))
    assert evaluate({"a": {"x"}, "b": {"x"}}, run, "RR").per_query("RR") == {"a": 1, "b": 1 / 2}


def test_a_frame_of_several_kinds_says_which_column_and_what_to_do() -> None:
    good = {"query_id": "q", "expected_ids": ["a"], "retrieved_ids": ["a"]}
    for ids in ([{"id": "a"}], [1.5, "a"], "a"):
        with pytest.raises(InputError, match="column retrieved_ids") as caught:
            evaluate(pd.DataFrame([good, {**good, "query_id": "r", "retrieved_ids": ids}]), "RR")
        assert "several types" in (caught.value.hint or "")
        assert "('" not in caught.value.problem
