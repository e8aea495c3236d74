"""Which role a column has, where its name or its cells might mean several."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from helpers.commands import invoke

from cranfield import InputError, OptionError, Qrels, Run, evaluate, read_qrels, read_run

# ---- a column has one role ----------------------------------------------------------------------

# The third document is the first of the ranking, and has neither the highest nor the lowest id.
COLUMNS_OF_LISTS = {"user": [1], "NAME": [[3, 9, 7]], "wanted": [[3]]}


def rename_column(name: str) -> dict[str, Any]:
    return {name if key == "NAME" else key: cells for key, cells in COLUMNS_OF_LISTS.items()}


def as_json_lines(columns: dict[str, Any], tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def as_csv(columns: dict[str, Any], tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return str(path)


def as_parquet(columns: dict[str, Any], tmp_path: Path) -> str:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return str(path)


def as_rows(columns: dict[str, Any], tmp_path: Path) -> Any:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


TABLES_OF_COLUMNS: dict[str, Any] = {
    "rows": as_rows,
    "pandas": lambda columns, tmp_path: pd.DataFrame(columns),
    "polars": lambda columns, tmp_path: pl.DataFrame(columns),
    "json lines": as_json_lines,
    "csv": as_csv,
    "parquet": as_parquet,
}
EVERY_TABLE = pytest.mark.parametrize("make", TABLES_OF_COLUMNS.values(), ids=TABLES_OF_COLUMNS)


@EVERY_TABLE
@pytest.mark.parametrize("name", ["prediction", "score", "similarity", "rank", "shown"])
def test_a_list_of_ids_is_not_its_own_scores(make: Any, name: str, tmp_path: Path) -> None:
    table = make(rename_column(name), tmp_path)
    columns = {"query_id": "user", "expected_ids": "wanted", "retrieved_ids": name}
    assert evaluate(table, "RR", columns=columns)["RR"] == 1
    of_sides = {
        "qrels": {"query_id": "user", "doc_id": "wanted"},
        "run": {"query_id": "user", "retrieved_ids": name},
    }
    assert evaluate(table, "RR", columns=of_sides)["RR"] == 1


@EVERY_TABLE
def test_lists_called_prediction_and_label_are_ids(make: Any, tmp_path: Path) -> None:
    columns = {"user": [1, 2], "prediction": [[3, 9, 7], [4, 8]], "label": [[3], [8]]}
    for extra_columns in ({}, {"score": [0.5, 0.7]}):  # a single number is none of a document's
        scores = evaluate(make(columns | extra_columns, tmp_path), "RR")
        assert scores.per_query("RR") == {"1": 1, "2": 1 / 2}
        assert "list-cells" not in [note.code for note in scores.notes]


def test_scores_called_prediction_beside_ids_are_scores() -> None:
    rows = [{"user": 1, "retrieved_ids": [3, 9, 7], "prediction": [0.1, 0.2, 0.3], "label": [7]}]
    assert evaluate(rows, "RR")["RR"] == 1


def test_a_list_stated_for_the_run_has_no_grades() -> None:
    rows = [{"user": 1, "ratings": [3, 9, 7], "expected_ids": [3, 5, 9]}]
    columns = {"query_id": "user", "retrieved_ids": "ratings"}
    assert evaluate(rows, "nDCG@3", columns=columns)["nDCG@3"] == pytest.approx(
        (1 + 1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2)
    )


@EVERY_TABLE
def test_a_grade_called_score_does_not_rank(make: Any, tmp_path: Path) -> None:
    columns = {"span": ["q", "q", "q"], "doc": ["a", "b", "c"], "place": [1, 2, 3]}
    table = make(columns | {"score": [0, 0, 1]}, tmp_path)
    user_columns = {"query_id": "span", "doc_id": "doc", "relevance": "score", "rank": "place"}
    assert evaluate(table, "RR", columns=user_columns)["RR"] == 1 / 3
    ids = {"query_id": "span", "doc_id": "doc"}
    of_sides = {"qrels": ids | {"relevance": "score"}, "run": ids | {"rank": "place"}}
    assert evaluate(table, table, "RR", columns=of_sides)["RR"] == 1 / 3


# ---- ids that look like lists -------------------------------------------------------------------

TEXTS = ["[1]", "['d1']", '["d1", "d2"]', "a;b", "[]", "{'d1'}"]


@EVERY_TABLE
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("number", ["relevance", "label", "score"])
def test_a_text_beside_a_grade_is_one_id(make: Any, text: str, number: str, tmp_path: Path) -> None:
    columns = {"query_id": ["q1", "q2"], "doc_id": [text, "[2]"], number: [0, 1]}
    assert as_qrels_of(make(columns, tmp_path)) == {"q1": {text: 0}, "q2": {"[2]": 1}}


@EVERY_TABLE
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("number", ["score", "rank"])
def test_a_text_beside_a_score_or_rank_is_one_id(
    make: Any, text: str, number: str, tmp_path: Path
) -> None:
    columns = {"query_id": ["q1", "q1"], "doc_id": [text, "[2]"], number: [2, 1]}
    table = make(columns, tmp_path)
    run = read_run(table) if isinstance(table, str) else Run(table)
    assert set(run.to_dict()["q1"]) == {text, "[2]"}


@pytest.mark.parametrize("make", [as_rows, as_json_lines], ids=["rows", "jsonl"])
@pytest.mark.parametrize("docs", [[["a", "b"], "c"], ["c", ["a", "b"]]], ids=["first", "later"])
def test_a_list_beside_a_score_is_a_fault_of_its_row(make: Any, docs: Any, tmp_path: Path) -> None:
    table = make({"query_id": ["q1", "q1"], "doc_id": docs, "score": [2, 1]}, tmp_path)
    read = read_run if isinstance(table, str) else Run
    with pytest.raises(InputError, match=r"got \['a', 'b'\]") as caught:
        read(table).to_dict()
    assert "state columns={'expected_ids': ...} or {'retrieved_ids'" in str(caught.value)
    assert list(read(table, errors="skip").to_dict()["q1"]) == ["c"]


def as_qrels_of(table: Any) -> Any:
    return (read_qrels(table) if isinstance(table, str) else Qrels(table)).to_dict()


@EVERY_TABLE
@pytest.mark.parametrize("name", ["doc_id", "item"])
def test_texts_without_a_number_that_are_lists_are_asked_about(
    make: Any, name: str, tmp_path: Path
) -> None:
    table = make({"query_id": ["q1", "q2"], name: ["['d1', 'd2']", "[3]"]}, tmp_path)
    run = {"q1": ["d2"], "q2": ["3"]}
    with pytest.raises(InputError, match=r"holds texts such as \['d1', 'd2'\]: are") as caught:
        evaluate(table, run, "SetR")
    assert caught.value.hint == f"Lists: --columns expected_ids={name}; ids: doc_id={name}."
    with pytest.raises(InputError, match=f"Lists: --columns retrieved_ids={name}; ids: doc_id="):
        evaluate({"q1": ["d2"]}, table, "SetR")
    scores = evaluate(table, run, "SetR", columns={"qrels": {"expected_ids": name}})
    assert scores.per_query("SetR") == {"q1": 1 / 2, "q2": 1}
    judged = evaluate(table, {"q1": ["['d1', 'd2']"]}, "AP", columns={"qrels": {"doc_id": name}})
    assert judged["AP"] == 1 / 2


@EVERY_TABLE
def test_texts_beside_a_number_are_ids(make: Any, tmp_path: Path) -> None:
    columns = {"query_id": ["q1", "q2"], "doc_id": ["['d1', 'd2']", "[3]"], "score": [1, 2]}
    expected = {"q1": {"['d1', 'd2']": 1}, "q2": {"[3]": 2}}
    assert as_qrels_of(make(columns, tmp_path)) == expected


@EVERY_TABLE
def test_texts_without_a_number_are_ids_where_one_is_no_list(make: Any, tmp_path: Path) -> None:
    mixture = {"query_id": ["q1", "q2"], "doc_id": ["['d1', 'd2']", "d3"]}
    assert as_qrels_of(make(mixture, tmp_path)) == {"q1": {"['d1', 'd2']": 1}, "q2": {"d3": 1}}
    for word in ("true", "null", "NaN", "5"):  # each is JSON, and no list
        mixture = {"query_id": ["q1", "q2"], "doc_id": ["[1]", word]}
        assert as_qrels_of(make(mixture, tmp_path)) == {"q1": {"[1]": 1}, "q2": {word: 1}}
    markers = {"query_id": ["q1", "q2"], "doc_id": ["[1] [2]", "[3]"]}
    assert as_qrels_of(make(markers, tmp_path)) == {"q1": {"[1] [2]": 1}, "q2": {"[3]": 1}}


def test_texts_stated_as_single_ids_are_ids() -> None:
    rows = [{"query_id": "q1", "doc_id": "['d1', 'd2']"}, {"query_id": "q2", "doc_id": "[3]"}]
    judged = Qrels(rows, columns={"doc_id": "doc_id"})
    assert judged.to_dict() == {"q1": {"['d1', 'd2']": 1}, "q2": {"[3]": 1}}


def test_the_run_says_that_its_cells_were_lists() -> None:
    scores = evaluate({"q1": ["d2"]}, Run([{"query_id": "q1", "doc_id": ["d1", "d2"]}]), "RR")
    assert scores["RR"] == 1 / 2
    (note,) = [note for note in scores.notes if note.code == "list-cells"]
    assert "1 row became 2 documents" in note.text


@pytest.mark.parametrize("kind", ["rows", "pandas", "polars", "json lines", "parquet"])
def test_a_list_of_single_ids_beside_a_grade_is_refused(kind: str, tmp_path: Path) -> None:
    columns = {"query_id": ["q1"], "doc_id": [["d1", "d2"]], "relevance": [0]}
    table = TABLES_OF_COLUMNS[kind](columns, tmp_path)
    with pytest.raises(InputError, match=r"'expected_ids': \.\.\.") as caught:
        as_qrels_of(table)
    assert "doc_id" in caught.value.problem


def test_a_name_is_stated_once(write: Any) -> None:
    path = write("a.jsonl", '{"question": "q", "gold": ["a"], "bm25": ["a"], "dense": ["b"]}\n')
    columns = "query_id=question,query_id=gold,retrieved_ids=bm25"
    answer = invoke("evaluate", path, "-m", "RR", "--columns", columns)
    assert answer.exit_code == 2
    assert "query_id is stated twice" in answer.output


@pytest.mark.parametrize(
    ("name", "remedy"), [("doc_id", "each row is a document"), ("score", "order='given'")]
)
def test_none_as_a_column_is_told_what_it_means(name: str, remedy: str) -> None:
    rows = [{"qid": "1", "doc": "a", "label": 1, "score": 0.5}]
    with pytest.raises(OptionError, match=f"as relevance=None.*Leave {name} out; .*{remedy}"):
        evaluate(rows, "RR", columns={name: None})
    assert Qrels(rows, columns={"relevance": None}).to_dict() == {"1": {"a": 1}}
