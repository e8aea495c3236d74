"""Shapes that no reader takes, rewritten into plain ones: series, iterators, pairs, data sets."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cranfield import InputError, Qrels, Run, compare, evaluate, grades, read_qrels, read_run
from cranfield.errors import DuplicateError
from cranfield.formats.columns import Side
from cranfield.formats.rewrite import plain
from cranfield.formats.shapes import kind_of

GRADES = {"q1": {"d1": 2, "d9": 1}, "q2": {"d2": 1}}
SCORES = {"q1": {"d4": 0.9, "d1": 0.5}, "q2": {"d2": 0.8, "d7": 0.6}}
AP_OF_QUERY = {"q1": (1 / 2) / 2, "q2": 1 / 1}


class Scored(NamedTuple):
    """A row of a run, as ir_datasets has it."""

    query_id: str
    doc_id: str
    score: float


ROWS = [Scored(query, doc, score) for query, docs in SCORES.items() for doc, score in docs.items()]
FRAME = pd.DataFrame(ROWS)
DICTS = [{"qid": row.query_id, "docno": row.doc_id, "score": row.score} for row in ROWS]


class DataSet:
    """Both sides of a data set, as ir_datasets has them: methods that iterate over the rows."""

    def qrels_iter(self) -> Iterator[Any]:
        for query, docs in GRADES.items():
            for doc, grade in docs.items():
                yield SimpleNamespace(query_id=query, doc_id=doc, relevance=grade, iteration="0")

    def scoreddocs_iter(self) -> Iterator[Any]:
        yield from ROWS


def scores_of_queries(qrels: Any, run: Any) -> Any:
    return evaluate(qrels, run, "AP").per_query("AP")


RUNS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: {query: [*docs.items()] for query, docs in SCORES.items()},
    "tuples of lists": lambda: {
        query: (*map(list, docs.items()),) for query, docs in SCORES.items()
    },
    "items": lambda: {query: docs.items() for query, docs in SCORES.items()},
    "pairs of numpy": lambda: {
        query: [(np.str_(doc), np.float32(score)) for doc, score in docs.items()]
        for query, docs in SCORES.items()
    },
    "scores first": lambda: {
        query: [(score, doc) for doc, score in docs.items()] for query, docs in SCORES.items()
    },
    "iterators of pairs": lambda: {
        query: zip(docs, docs.values(), strict=True) for query, docs in SCORES.items()
    },
    "an iterator of rows": lambda: iter(ROWS),
    "an iterator of dicts": lambda: (dict(row) for row in DICTS),
    "a data set": DataSet,
    "a Series of lists": lambda: FRAME.groupby("query_id")["doc_id"].apply(list),
    "a Series of dicts": lambda: pd.Series(SCORES),
    "a Series of pairs": lambda: pd.Series(
        {query: [*docs.items()] for query, docs in SCORES.items()}
    ),
    "two levels": lambda: FRAME.set_index(["query_id", "doc_id"])["score"],
    "two levels without names": lambda: pd.Series({row[:2]: row.score for row in ROWS}),
    "two levels, the documents first": lambda: FRAME.set_index(["doc_id", "query_id"])["score"],
    "two levels of own names": lambda: (
        FRAME.set_index(["query_id", "doc_id"])["score"].rename_axis(["a", "b"]).rename("c")
    ),
    "two levels with ranks": lambda: FRAME.assign(rank=[1, 2, 1, 2]).set_index(
        ["query_id", "doc_id"]
    )["rank"],
}


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_a_run_of_another_shape_is_the_same_run(make: Callable[[], Any]) -> None:
    assert scores_of_queries(GRADES, make()) == AP_OF_QUERY
    assert evaluate(GRADES, Run(make()), "AP").per_query("AP") == AP_OF_QUERY
    by_name = evaluate(GRADES, {"a": make(), "b": SCORES}, "AP")
    assert [by_name[name].per_query("AP") for name in ("a", "b")] == [AP_OF_QUERY] * 2


QRELS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: {query: [*docs.items()] for query, docs in GRADES.items()},
    "grades first": lambda: {
        query: [(grade, doc) for doc, grade in docs.items()] for query, docs in GRADES.items()
    },
    "an iterator": lambda: iter(
        [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
    ),
    "a data set": DataSet,
    "a Series of dicts": lambda: pd.Series(GRADES),
    "two levels": lambda: pd.Series(
        {(query, doc): grade for query, docs in GRADES.items() for doc, grade in docs.items()}
    ),
}


@pytest.mark.parametrize("make", QRELS.values(), ids=QRELS)
def test_judgments_of_another_shape_are_the_same(make: Callable[[], Any]) -> None:
    assert Qrels(make()).to_dict() == GRADES
    assert scores_of_queries(make(), SCORES) == AP_OF_QUERY
    assert evaluate(make(), SCORES, "Judged@2")["Judged@2"] == (1 / 2 + 1 / 2) / 2  # has grades


@pytest.mark.parametrize(
    "rows",
    [ROWS, [tuple(row) for row in ROWS], [list(row) for row in ROWS], DICTS],
    ids=["named tuples", "tuples", "lists", "dicts"],
)
def test_rows_by_name_are_several_runs(rows: Any) -> None:
    systems: Any = evaluate(GRADES, {"a": rows, "b": rows}, "AP")
    assert {name: scores.per_query("AP") for name, scores in systems.items()} == {
        "a": AP_OF_QUERY,
        "b": AP_OF_QUERY,
    }
    iterators: Any = {"a": iter(rows), "b": iter(rows)}
    assert [row["system"] for row in compare(GRADES, iterators, "AP").rows()] == ["b"]


def test_dicts_of_one_query_by_name_are_a_run_only_if_they_name_another_query() -> None:
    row = {"query_id": "q2", "doc_id": "d2", "score": 0.5}
    systems: Any = evaluate(GRADES, {"a": [row]}, "RR")
    assert systems["a"].per_query("RR") == {"q1": 0, "q2": 1 / 1}
    for query_field in ({"query_id": "q2"}, {"query": "what is asked"}, {}):
        docs = [{**query_field, "doc_id": "d2", "score": 0.5}]
        assert scores_of_queries(GRADES, {"q2": docs}) == {"q1": 0, "q2": 1 / 1}


def test_rows_by_name_may_have_stated_columns() -> None:
    rows = [{"frage": "q1", "text": "d1", "wert": 0.5}, {"frage": "q2", "text": "d9", "wert": 0.5}]
    columns = {"query_id": "frage", "doc_id": "text", "score": "wert"}
    systems: Any = evaluate(GRADES, {"a": rows}, "RR", columns=columns)
    assert systems["a"].per_query("RR") == {"q1": 1 / 1, "q2": 0}


@pytest.mark.parametrize(
    "convert", [pl.Series, pa.array, lambda lists: pa.chunked_array([lists]), pd.Series]
)
def test_columns_of_lists_are_lists_of_ids(convert: Callable[[Any], Any]) -> None:
    truth, ranked = [["a", "b"], ["c"]], [["b", "x", "a"], ["y", "c"]]
    scores = evaluate(convert(truth), convert(ranked), "AP")
    assert [*scores.per_query("AP").values()] == [(1 / 1 + 2 / 3) / 2, 1 / 2]


@pytest.mark.parametrize("convert", [pl.Series, pa.array, pd.Series])
def test_flat_columns_are_asked_for_groups(convert: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"grades\(y, scores=s\); several: groups="):
        evaluate(convert([0, 1]), convert([0.5, 0.25]), "AP")


def test_a_query_of_pairs_may_be_empty() -> None:
    assert scores_of_queries(GRADES, {"q0": [], "q1": [("d1", 1)], "q2": []}) == {
        "q1": (1 / 1) / 2,
        "q2": 0,
    }
    assert Qrels({"q0": [], "q1": [("d1", 1)]}).to_dict() == {"q0": {}, "q1": {"d1": 1}}


def test_of_a_document_twice_in_pairs_one_is_chosen() -> None:
    pairs = {"q": [("a", 1), ("b", 2), ("a", 3)], "p": [("c", 1)]}
    for make in (Qrels, Run):
        assert make(pairs, duplicates="first").to_dict()["q"] == {"a": 1, "b": 2}
        assert make(pairs, duplicates="best").to_dict()["q"] == {"a": 3, "b": 2}
    with pytest.raises(DuplicateError, match="the document 'a' occurs twice for query 'q'"):
        Qrels(pairs)
    with pytest.raises(DuplicateError, match="the document 'a' occurs twice for query 'q'"):
        evaluate({"q": {"a": 1}}, pairs, "AP")


def test_pairs_in_json_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    for pairs in (
        {query: [*docs.items()] for query, docs in SCORES.items()},
        {query: [(score, doc) for doc, score in docs.items()] for query, docs in SCORES.items()},
    ):
        path.write_text(json.dumps(pairs))
        assert scores_of_queries(GRADES, path) == AP_OF_QUERY
    path.write_text(json.dumps({"q": [["a", 1], ["b", 2], ["a", 3]]}))
    assert read_qrels(path, duplicates="best").to_dict() == {"q": {"a": 3, "b": 2}}
    with pytest.raises(DuplicateError, match="the document 'a' occurs twice for query 'q'"):
        read_qrels(path)
    path.write_text(json.dumps({"q": [[5, 2]]}))
    with pytest.raises(InputError, match="which is the document, which the score"):
        read_run(path).to_dict()


def test_a_generator_of_runs_is_a_list_of_runs() -> None:
    runs: Any = (run for run in (SCORES, ROWS))
    systems: Any = evaluate(GRADES, runs, "AP")
    assert [scores.per_query("AP") for scores in systems.values()] == [AP_OF_QUERY] * 2


PAIRS_OF_LISTS = [([1, 2], [2]), ([5], [5])]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: evaluate({"1": {"5": 1}}, {"1": [(5, 2)]}), "which is the document, which the"),
        (lambda: evaluate({"1": {"5": 1}}, {"1": [[5, 2]]}), "which is the document, which the"),
        (lambda: Qrels({"1": [(5, 2)]}), r"which the grade\?\nWrite {query: {document: grade}}"),
        (
            lambda: evaluate(PAIRS_OF_LISTS, "AP"),
            r"which comes first\?\n.*\[labels for ranked, labels in pairs\], \[ranked for ranked, "
            r"labels in pairs\].*\[labels for labels, ranked in pairs\]",
        ),
        (lambda: evaluate({"1": {2: 1}}, PAIRS_OF_LISTS, "AP"), "the run: pairs of lists"),
        (lambda: evaluate(iter([]), SCORES, "AP"), r"holds no rows\nWas it read already\?.*list\("),
        (lambda: Run(iter([])), r"the run: holds no rows\nWas it read already\?"),
        (lambda: Run({"q": iter([]), "p": iter([])}), r"no documents\nWas it read already\?"),
        (lambda: Run(iter([FRAME])), "parts of one table, or several tables"),
        (lambda: Qrels(iter([FRAME])), r"the qrels: an iterator of tables.*\n.*pandas.concat"),
        (
            lambda: Run(pd.Series([["a"], ["b"]], index=["q1", "q1"])),
            "the run: the Series has 'q1' twice in its index",
        ),
        (lambda: Run({"q": [("a", None)]}).to_dict(), "expected a number as the score, got None"),
        (lambda: Run(SimpleNamespace(qrels_iter=list)), "expected the run as a dict of dicts"),
    ],
)
def test_what_has_two_readings_is_asked_back(call: Callable[[], Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        call()


def test_lists_of_two_ids_by_name_are_rankings() -> None:
    systems: Any = evaluate([[1], [3]], {"a": [[1, 2], [4, 3]]}, "RR")
    assert systems["a"].per_query("RR") == {"1": 1 / 1, "2": 1 / 2}


@pytest.mark.parametrize(
    "ids",
    [
        {"q": np.ma.array([5, 9, 7], mask=[True, False, False])},
        [np.ma.array([5, 9, 7], mask=[True, False, False])],
        np.ma.array([[5, 9, 7]], mask=[[True, False, False]]),
    ],
)
def test_masked_cells_are_no_ids(ids: Any) -> None:
    truths: Any = {"q": {9: 1}} if isinstance(ids, dict) else [[9]]
    assert evaluate(truths, ids, "RR NumRet").means() == {"RR": 1 / 1, "NumRet": 2}


@pytest.mark.parametrize("lists", [{"q": np.array([5, 9, -1])}, {"q": (5, 9, -1)}])
def test_arrays_and_tuples_are_filled_up_too(lists: Any) -> None:
    scores = evaluate({"q": {9: 1}}, lists, "AP NumRet")
    assert scores.means() == {"AP": 1 / 2, "NumRet": 2}
    assert [note.count for note in scores.notes if note.code == "padding"] == [1]


def test_a_plain_dict_is_returned_unchanged() -> None:
    for data in (SCORES, GRADES, {"q": ["a"]}, {"q": {"a"}}, {}, ROWS, FRAME, "a.run", None):
        assert plain(data, Side.RUN) is data


def test_a_file_is_no_iterator_of_rows(tmp_path: Any) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.5 tag\n")
    with (tmp_path / "a.run").open() as file:
        assert kind_of(file) == "file"
        assert plain(file, Side.RUN) is file


def test_groups_of_one_row_each_are_asked() -> None:
    with pytest.raises(InputError, match=r"sizes, or ids of queries\?\nFor ids, give texts"):
        grades([1, 0], scores=[0.5, 0.25], groups=[1, 1])


def test_a_series_of_numbers_is_read_by_its_index_or_asked_about() -> None:
    qrels = {"q1": {"b": 1}}
    counts: Any = {"q1": pd.Series([3, 2], index=["a", "b"])}
    assert evaluate(qrels, counts, "RR")["RR"] == 1 / 2
    scores: Any = {"q1": pd.Series([0.5, 0.75], index=["a", "b"])}
    assert evaluate(qrels, scores, "RR")["RR"] == 1
    ids: Any = {"q1": pd.Series(["a", "b"], index=[7, 3])}
    assert evaluate(qrels, ids, "RR")["RR"] == 1 / 2
    counts["q1"].index = [7, 8]
    with pytest.raises(InputError, match="which are the ids"):
        evaluate({"q1": {7: 1}}, counts, "RR")


def test_rows_of_sqlite_and_pairs_as_keys_are_rows() -> None:
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    query = "select 'q1' query_id, 'd1' doc_id, 0.5 score union select 'q1', 'd2', 0.7"
    numbers = {("q1", "d1"): 0.5, ("q1", "d2"): 0.7}  # of a Series with two levels
    runs: list[Any] = [database.execute(query).fetchall(), database.execute(query), numbers]
    for run in runs:
        assert evaluate({"q1": {"d1": 1}}, run, "RR")["RR"] == 1 / 2
    with pytest.raises(InputError):
        evaluate({"q1": {"d1": 1}}, {("q1", "d1"): ["d1"]}, "RR")


def test_lists_of_ids_beside_a_sparse_matrix_are_counted_from_0() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    labels = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0]]))
    assert evaluate(labels, [[2, 1], [0, 1, 2]], "RR").per_query("RR") == {"0": 1 / 2, "1": 1 / 1}


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: evaluate(pd.DataFrame([[0, 1]]), pd.DataFrame([[0.5, 0.7]])), "frame.to_numpy()"),
        (
            lambda: evaluate(pl.DataFrame(np.eye(2)), pl.DataFrame(np.eye(2))),
            "frame.to_numpy()",
        ),
        (lambda: Run(np.array([("q", "d", 0.5)], object)), "rows.tolist()"),
        (
            lambda: Run(pa.table({"query_id": ["q"], "doc_id": ["d"], "score": ["0.5"]})),
            "frame['score'].astype(float)",
        ),
        (
            lambda: Run(pa.table({"q": [{"id": 1}]}), columns={"query_id": "q.id"}),
            "pandas.json_normalize(frame.to_dict('records'))",
        ),
    ],
)
def test_the_remedy_for_a_frame_or_an_array_is_named(call: Callable[[], Any], remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert remedy in str(caught.value)
