"""A table of two systems is asked about where both have rows of a document, or of a query."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cranfield import Qrels, Run, evaluate
from cranfield.errors import DuplicateError

JUDGED = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}}
RUN: list[dict[str, Any]] = [
    {"query_id": query, "doc_id": doc, "score": score, "retriever": retriever}
    for retriever, query, doc, score in (
        ("bm25", "q1", "d2", 0.9),
        ("bm25", "q1", "d1", 0.8),
        ("bm25", "q2", "d3", 0.2),
        ("hybrid", "q1", "d1", 0.7),
        ("hybrid", "q1", "d2", 0.1),
        ("hybrid", "q2", "d3", 0.1),
    )
]
LISTS: list[dict[str, Any]] = [
    {"question": "q1", "gold_ids": ["d1"], "retriever": "bm25", "retrieved_ids": ["d2", "d1"]},
    {"question": "q1", "gold_ids": ["d1"], "retriever": "hybrid", "retrieved_ids": ["d1", "d2"]},
]
TABLES: dict[str, list[dict[str, Any]]] = {
    "run": RUN,
    "run of lists": [{name: row[name] for name in row if name != "gold_ids"} for row in LISTS],
    "both sides": [{**row, "relevance": JUDGED[row["query_id"]][row["doc_id"]]} for row in RUN],
    "both sides as lists": LISTS,
}
MEAN = {"bm25": (1 / 2 + 1) / 2, "hybrid": 1.0}  # of RR, in the flat tables


def write_lines(rows: list[dict[str, Any]], folder: Path) -> str:
    path = folder / "long.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def write_list(rows: list[dict[str, Any]], folder: Path) -> str:
    (folder / "long.json").write_text(json.dumps(rows))
    return str(folder / "long.json")


def write_fields(sign: str, suffix: str) -> Callable[[list[dict[str, Any]], Path], str]:
    def write(rows: list[dict[str, Any]], folder: Path) -> str:
        path = folder / f"long{suffix}"
        pd.DataFrame(rows).to_csv(path, sep=sign, index=False)
        return str(path)

    return write


def write_parquet(rows: list[dict[str, Any]], folder: Path) -> str:
    pd.DataFrame(rows).to_parquet(folder / "long.parquet")
    return str(folder / "long.parquet")


FORMS: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    "rows": lambda rows, folder: rows,
    "pandas": lambda rows, folder: pd.DataFrame(rows),
    "polars": lambda rows, folder: pl.DataFrame(rows),
    "lazy": lambda rows, folder: pl.DataFrame(rows).lazy(),
    "arrow": lambda rows, folder: pa.Table.from_pylist(rows),
    "stream": lambda rows, folder: pa.Table.from_pylist(rows).to_reader(),
    "csv": write_fields(",", ".csv"),
    "tsv": write_fields("\t", ".tsv"),
    "json lines": write_lines,
    "json list": write_list,
    "parquet": write_parquet,
}


def evaluate_table(kind: str, table: Any, **options: Any) -> Any:
    if kind.startswith("both"):
        return evaluate(table, "RR", **options)
    return evaluate(JUDGED, table, "RR", **options)


@pytest.mark.parametrize("options", [{}, {"duplicates": "first"}, {"errors": "skip"}])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_two_systems_in_one_table_are_asked_about(
    form: str, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    message = r"column 'retriever' has 2 values, and .*'q1' occurs under 'bm25' and under 'hybrid'"
    with pytest.raises(DuplicateError, match=message) as caught:
        evaluate_table(kind, FORMS[form](TABLES[kind], tmp_path), **options)
    assert "duplicates" not in str(caught.value)
    assert "skip" not in str(caught.value)


def test_a_file_or_a_table_of_each_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DuplicateError, match="give a file of each, or of one, in its place"):
        evaluate(JUDGED, write_lines(RUN, tmp_path), "RR")
    with pytest.raises(DuplicateError, match="give a table of each, or of one, in its place"):
        evaluate(JUDGED, RUN, "RR")


@pytest.mark.parametrize("column", ["system", "run", "Run Name", "model", "method"])
def test_every_such_column_is_looked_at(column: str) -> None:
    rows = [
        {"run": "monday", "retriever": "x", column: row.pop("retriever"), **row}
        for row in map(dict, RUN)
    ]
    with pytest.raises(DuplicateError, match=f"column {column!r} has 2 values"):
        evaluate(JUDGED, rows, "RR")


def test_one_system_or_none_in_common_is_not_asked_about() -> None:
    twice = [RUN[0], *RUN[:3]]
    with pytest.raises(DuplicateError, match="choose which one counts"):
        evaluate(JUDGED, pd.DataFrame(twice), "RR")
    assert evaluate(JUDGED, Run(twice, duplicates="first"), "RR")["RR"] == MEAN["bm25"]
    apart = [RUN[0], *RUN[:3], {**RUN[3], "doc_id": "d9"}]
    assert evaluate(JUDGED, Run(apart, duplicates="first"), "RR")["RR"] == MEAN["bm25"]
    lists = TABLES["run of lists"]
    with pytest.raises(DuplicateError, match="occurs in two rows"):
        evaluate(JUDGED, [lists[0], lists[0]], "RR")


def test_a_column_that_has_another_role_is_not_asked_about() -> None:
    rows = [{"query_id": "q1", "model": doc, "score": 1} for doc in ("d1", "d2", "d1")]
    run = Run(rows, columns={"doc_id": "model"})
    assert evaluate(JUDGED, run, "RR", duplicates="first")["RR"] == 1 / 2 / 2


def test_whoever_reads_a_run_asks(tmp_path: Path) -> None:
    path, message = write_lines(RUN, tmp_path), "column 'retriever' has 2 values"
    with pytest.raises(DuplicateError, match=message):
        evaluate(JUDGED, path, "RR")
    for duplicates in ("refuse", "best"):
        with pytest.raises(DuplicateError, match=message):
            Run(RUN).write(tmp_path / "out.run", duplicates=duplicates)


def test_judgments_of_two_are_asked_about() -> None:
    rows = [
        {"query_id": "q1", "doc_id": "d1", "relevance": grade, "model": model}
        for model, grade in (("a", 1), ("b", 0))
    ]
    with pytest.raises(DuplicateError, match="occurs under 'a' and under 'b'"):
        Qrels(rows)
    assert Qrels(rows, duplicates="best").to_dict() == {"q1": {"d1": 1}}  # two judges


def test_the_tags_of_a_trec_run_are_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "two.run"
    path.write_text("q1 Q0 d1 1 2 bm25\nq1 Q0 d1 2 1 hybrid\n")
    with pytest.raises(DuplicateError, match="choose which one counts"):
        evaluate(JUDGED, str(path), "RR")
    assert evaluate(JUDGED, str(path), "RR", duplicates="first")["RR"] == 1 / 2


def test_a_structured_array_is_asked_about() -> None:
    kinds = [("query_id", "U9"), ("doc_id", "U9"), ("score", "f8"), ("retriever", "U9")]
    array = np.array([tuple(row.values()) for row in RUN], kinds)
    with pytest.raises(DuplicateError, match="column 'retriever' has 2 values"):
        evaluate(JUDGED, array, "RR")


@pytest.mark.parametrize("cell", [["a"], ("a",), None, 0.5, {"name": "a"}])
def test_cells_that_are_no_names_are_no_systems(cell: Any) -> None:
    rows = [
        {"model": cell, "query_id": "q1", "doc_id": "d1", "score": 1.0},
        {"model": [cell], "query_id": "q1", "doc_id": "d1", "score": 0.5},
    ]
    assert evaluate(JUDGED, Run(rows, duplicates="best"), "RR", queries="both")["RR"] == 1


def test_two_systems_in_a_table_of_distances_are_asked_about() -> None:
    rows = [{**row, "distance": -row["score"]} for row in RUN]
    for row in rows:
        del row["score"]
    with pytest.raises(DuplicateError, match="column 'retriever' has 2 values"):
        evaluate(JUDGED, Run(rows), "RR")


@pytest.mark.parametrize(
    "rows",
    [
        [("q1", "d1", 1.0)],
        RUN[:1],
        pd.DataFrame(RUN[:1]),
        [{"query_id": "q1", "retrieved_ids": ["d1"]}],
        [{"query_id": "q1", "doc_id": "d1", "distance": 0.5}],
    ],
    ids=["tuples", "dicts", "pandas", "lists", "distances"],
)
def test_a_run_in_memory_is_sent_to_another_process(rows: Any) -> None:
    import pickle

    run = Run(rows)
    assert pickle.loads(pickle.dumps(run)).to_dict() == run.to_dict()  # noqa: S301 - our own
