"""Tables of queries, grades and scores without documents, given alone: each row is a document."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.commands import invoke

from cranfield import InputError, compare, evaluate, grades

COLUMNS: dict[str, list[Any]] = {
    "qid": [7, 7, 7, 3, 3, 11],
    "label": [0, 2, 1, 1, 0, 2],
    "score": [0.4, 0.1, 0.9, 0.2, 0.3, 0.5],
}
# The ranks of the relevant rows are 1 and 3, 2, and 1.
EXPECTED = {"7": (1 / 1 + 2 / 3) / 2, "3": 1 / 2, "11": 1}
NOTE = "No column of documents: each row is one."


def to_csv(columns: dict[str, list[Any]], folder: Path, separator: str = ",") -> str:
    path = folder / "table.csv"
    pd.DataFrame(columns).to_csv(path, sep=separator, index=False)
    return str(path)


def to_json(columns: dict[str, list[Any]], folder: Path, suffix: str = ".json") -> str:
    path = folder / f"table{suffix}"
    rows = pd.DataFrame(columns).to_dict("records")
    text = (
        json.dumps(rows) if suffix == ".json" else "".join(f"{json.dumps(row)}\n" for row in rows)
    )
    path.write_text(text)
    return str(path)


def to_parquet(columns: dict[str, list[Any]], folder: Path) -> str:
    pd.DataFrame(columns).to_parquet(folder / "table.parquet")
    return str(folder / "table.parquet")


TABLES: dict[str, Any] = {
    "pandas": lambda columns, folder: pd.DataFrame(columns),
    "pandas, with an index": lambda columns, folder: pd.DataFrame(columns, range(9, 15)),
    "polars": lambda columns, folder: pl.DataFrame(columns),
    "polars, lazy": lambda columns, folder: pl.LazyFrame(columns),
    "arrow": lambda columns, folder: pa.table(columns),
    "rows": lambda columns, folder: pd.DataFrame(columns).to_dict("records"),
    "csv": to_csv,
    "tsv": lambda columns, folder: to_csv(columns, folder, "\t"),
    "json": to_json,
    "json lines": lambda columns, folder: to_json(columns, folder, ".jsonl"),
    "parquet": to_parquet,
}
EVERY_TABLE = pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)


@EVERY_TABLE
def test_rows_are_documents_where_there_is_no_column_of_them(make: Any, tmp_path: Path) -> None:
    scores = evaluate(make(COLUMNS, tmp_path), "AP")
    assert scores.per_query("AP") == EXPECTED
    assert [str(note) for note in scores.notes if note.code == "row-documents"] == [NOTE]


@EVERY_TABLE
def test_columns_of_other_names_are_stated(make: Any, tmp_path: Path) -> None:
    names = {"reader": "qid", "stars": "label", "guess": "score"}
    table = make({name: COLUMNS[usual] for name, usual in names.items()}, tmp_path)
    columns = {"query_id": "reader", "relevance": "stars", "score": "guess"}
    assert evaluate(table, "AP", columns=columns).per_query("AP") == EXPECTED


@EVERY_TABLE
def test_features_are_no_documents(make: Any, tmp_path: Path) -> None:
    table = make(COLUMNS | {"f1": [0.5, 1, 2, 3, 4, 5]}, tmp_path)
    assert evaluate(table, "AP").per_query("AP") == EXPECTED


@EVERY_TABLE
@pytest.mark.parametrize("cells", [[*"uvwxyz"], [5, 4, 3, 2, 1, 0]])
def test_a_column_that_may_hold_documents_is_asked_for(
    make: Any, cells: list[Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"has no column 'doc_id'; its columns are .*'url'"):
        evaluate(make(COLUMNS | {"url": cells}, tmp_path), "AP")


@EVERY_TABLE
@pytest.mark.parametrize("missing", ["label", "score", "qid"])
def test_tables_that_lack_more_are_refused_as_before(
    make: Any, missing: str, tmp_path: Path
) -> None:
    table = make({name: COLUMNS[name] for name in COLUMNS if name != missing}, tmp_path)
    with pytest.raises(InputError, match="has no column"):
        evaluate(table, "AP")


def test_texts_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        evaluate(to_csv(COLUMNS | {"score": [*"uvwxyz"]}, tmp_path), "AP")


def test_queries_keep_their_ids_and_may_lie_apart(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "qid": ["007", "3", "007"],
        "label": [0, 1, 1],
        "score": [0.5, 0.5, 0.25],
    }
    assert evaluate(to_csv(columns, tmp_path), "AP").per_query("AP") == {"007": 1 / 2, "3": 1}


def test_the_values_are_those_of_arrays() -> None:
    draw = np.random.default_rng(3)
    query, label, score = draw.integers(0, 40, 500), draw.integers(0, 4, 500), draw.random(500)
    frame = pd.DataFrame({"qid": query, "label": label, "score": score})
    arrays = evaluate(*grades(label, scores=score, groups=query), "nDCG@5 AP RR")
    assert evaluate(frame, "nDCG@5 AP RR").to_dict() == arrays.to_dict()


def test_the_command_reads_them(tmp_path: Path) -> None:
    path = to_csv(COLUMNS, tmp_path)
    process = invoke("evaluate", path, "-m", "AP")
    assert process.exit_code == 0
    assert NOTE in process.stdout
    assert " table  0.7" in process.stdout  # (5 / 6 + 1 / 2 + 1) / 3


def test_two_of_them_are_two_systems(tmp_path: Path) -> None:
    frames = {
        name: pd.DataFrame(COLUMNS | {"score": scores})
        for name, scores in (("a", COLUMNS["score"]), ("b", [0.9, 0.5, 0.4, 0.3, 0.2, 0.5]))
    }
    rows = compare(frames, "AP").rows()
    assert len(rows) == 1
    values: Any = evaluate(frames, "AP")
    assert values["a"].per_query("AP") == EXPECTED
    assert values["b"].per_query("AP") == {"7": (1 / 2 + 2 / 3) / 2, "3": 1, "11": 1}
