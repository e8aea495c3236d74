"""Arrays, groups, pairs and objects that people hold: read, or refused with the form that works."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from cranfield import CranfieldError, InputError, Run, Scores, compare, evaluate, grades

call_evaluate: Callable[..., Any] = evaluate  # also what its types refuse
call_grades: Callable[..., Any] = grades
GRADES = {"a": {"x": 1}, "b": {"z": 1}}
ROWS = [("a", "x", 0.2), ("a", "y", 0.9), ("b", "z", 0.5)]
EXPECTED_RR = (1 / 2 + 1 / 1) / 2  # x is second, z is first


def mean_rr(*arguments: Any, **options: Any) -> float:
    scores: Scores = call_evaluate(*arguments, "RR", **options)
    return scores["RR"]


# ---- responses that are filled up ---------------------------------------------------------------

FILLED_IDS = [[11, 12, 21], [21, 13, 11], [31, 9, 8], [-1, -1, -1]]
JUDGMENTS = {str(query): {str(10 * query + 1): 1} for query in range(1, 5)}
RR_OF_FILLED = (1 + 1 + 1 + 0) / 4


def chroma(form: str) -> Any:
    distances = [[0.1, 0.2, 0.3]] * len(FILLED_IDS)
    if form == "arrays":
        return {"ids": np.array(FILLED_IDS), "distances": np.array(distances)}
    if form == "responses":
        pairs = zip(FILLED_IDS, distances, strict=True)
        return [{"ids": ids, "distances": query_distances} for ids, query_distances in pairs]
    return {"ids": FILLED_IDS, "distances": distances}


@pytest.mark.parametrize("form", ["lists", "arrays", "responses", "file"])
def test_filled_responses_are_numbered_from_1(form: str, tmp_path: Path) -> None:
    run = chroma(form)
    if form == "file":
        (tmp_path / "run.json").write_text(json.dumps(run))
        run = tmp_path / "run.json"
    scores = call_evaluate(JUDGMENTS, run, "RR")
    assert scores["RR"] == RR_OF_FILLED
    notes = {note.code: note for note in scores.notes}
    assert (notes["padding"].count, notes["lists"].severity) == (3, "info")
    from_zero = {str(int(query) - 1): docs for query, docs in JUDGMENTS.items()}
    with pytest.raises(InputError, match="numbered from 1, and the judgments have no query '4'"):
        call_evaluate(from_zero, run, "RR")


@pytest.mark.parametrize("shape", [list, lambda lists: dict(enumerate(lists, 1))])
def test_lists_in_json_are_filled_up(shape: Callable[[Any], Any], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(shape(FILLED_IDS)))
    truths = tmp_path / "qrels.json"
    truths.write_text(json.dumps(shape([[11], [21], [31], [41]])))
    assert mean_rr(truths, path) == RR_OF_FILLED
    path.write_text(json.dumps(shape([[11, -1, 12], [21], [31], [41]])))
    with pytest.raises(InputError, match="-1 fills up some lists, and is between ids"):
        call_evaluate(truths, path, "RR")


def test_one_number_that_fills_up_between_ids_is_refused() -> None:
    with pytest.raises(InputError, match=r"is between ids in \[3, -1, 7\]"):
        call_evaluate({"q": {"7": 1}}, {"q": [3, -1, 7]}, "RR")
    assert mean_rr({"q": {"7": 1}}, {"q": ["-1", "7"]}) == 1 / 2  # a text is an id


# ---- groups of rows -----------------------------------------------------------------------------


class Scored(NamedTuple):
    """A row of a run."""

    query: str
    doc: str
    score: float


@dataclass
class ScoredRow:
    """A row of a run, with the usual names."""

    query_id: str
    doc_id: str
    score: float


@pytest.mark.parametrize("make_row", [Scored, ScoredRow, lambda *cells: cells])
def test_rows_in_groups_by_their_queries_are_one_run(make_row: Callable[..., Any]) -> None:
    groups: dict[str, list[Any]] = {"a": [], "b": []}
    for query, *cells in ROWS:
        groups[query].append(make_row(query, *cells))
    assert mean_rr(GRADES, groups) == EXPECTED_RR
    if make_row is ScoredRow:  # other names are those of systems
        systems = call_evaluate(GRADES, {"A": groups["a"], "B": groups["b"]}, "RR")
        assert (systems["A"]["RR"], systems["B"]["RR"]) == (1 / 2 / 2, 1 / 2)


def test_tables_in_groups_by_their_queries_are_asked_about() -> None:
    frame = pd.DataFrame(ROWS, columns=["query", "doc", "score"])
    tables = dict(list(frame.groupby("query")))
    polars_tables = pl.from_pandas(frame).partition_by("query", as_dict=True)
    records = {query: table.to_records(index=False) for query, table in tables.items()}
    for groups in (tables, polars_tables, records):
        with pytest.raises(InputError, match=r"is it one run\?\nOne: pandas.concat\(run"):
            call_evaluate(GRADES, groups, "RR")
    assert mean_rr(GRADES, pd.concat(tables.values())) == EXPECTED_RR
    assert mean_rr(GRADES, pl.concat(polars_tables.values())) == EXPECTED_RR
    assert call_evaluate(GRADES, {"a": frame, "b": frame}, "RR")["b"]["RR"] == EXPECTED_RR
    with pytest.raises(InputError, match=r"pandas.concat\(tables.values\(\)\)"):
        call_evaluate(
            {query: table[["query", "doc"]] for query, table in tables.items()}, frame, "RR"
        )


# ---- columns and numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [[2, 2], np.array([[2], [2]]), list("aabb")])
def test_columns_of_one_column_have_groups(groups: Any) -> None:
    labels, scores = np.array([[0], [1], [1], [0]]), np.array([[0.1], [0.2], [0.3], [0.4]])
    expected = (1 / 1 + 1 / 2) / 2
    assert mean_rr(*grades(labels, scores=scores, groups=groups)) == expected
    assert mean_rr(*grades(labels.ravel(), scores=scores, groups=groups)) == expected
    with pytest.raises(InputError, match="each query has one document, whose rank says nothing"):
        grades(labels, scores=scores)
    with pytest.raises(InputError, match="whose rank says nothing"):
        call_evaluate(labels, scores, "RR")


class Tensor:
    """A tensor without dimensions, as a library that has no numbers of its own returns it."""

    ndim = 0

    def __init__(self, number: float) -> None:
        self.number = number

    def __float__(self) -> float:
        return float(self.number)

    def __len__(self) -> int:
        raise TypeError("len() of a 0-d tensor")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self.number)

    def item(self) -> float:
        return self.number


@pytest.mark.parametrize("to_number", [np.array, Tensor, Decimal, np.float32])
def test_numbers_of_other_types_are_scores_and_grades(to_number: Callable[[Any], Any]) -> None:
    scores = {"a": {"x": to_number(0.25), "y": to_number(0.5)}, "b": {"z": to_number(0.75)}}
    triples = [(query, doc, number) for query in scores for doc, number in scores[query].items()]
    pairs = {query: [*docs.items()] for query, docs in scores.items()}
    for run in (scores, pairs, triples):
        assert mean_rr(GRADES, run) == EXPECTED_RR
    judgments = {query: {doc: to_number(1) for doc in docs} for query, docs in GRADES.items()}
    assert mean_rr(judgments, scores) == EXPECTED_RR


@pytest.mark.parametrize(
    "docs",
    [
        [np.array(3), np.array(7)],
        [Tensor(3), Tensor(7)],
        [(np.array(3), np.array(0.9)), (np.array(7), np.array(0.5))],
        np.array([3, 7, -1]),
    ],
)
def test_ids_in_arrays_without_dimensions(docs: Any) -> None:
    assert mean_rr({"q": {"7": 1}}, {"q": docs}) == 1 / 2


@pytest.mark.parametrize(
    "docs",
    [
        (np.array([7, 3]), np.array([0.9, 0.2])),
        [np.array([7, 3]), np.array([0.9, 0.2])],
        ([7, 3], [0.9, 0.2]),
        np.array([[7, 0.9], [3, 0.2]]),
    ],
)
def test_ids_beside_their_scores_are_refused_with_the_form_that_works(docs: Any) -> None:
    with pytest.raises(InputError, match=r"of two lists, dict\(zip\(ids, scores\)\)"):
        call_evaluate({"q": {"7": 1}}, {"q": docs}, "RR")
    ids, scores = [7, 3], [0.9, 0.2]
    assert mean_rr({"q": {"7": 1}}, {"q": dict(zip(ids, scores, strict=True))}) == 1


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices_of_numpy_beside_sparse_ones() -> None:
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])
    labels = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 0]]))
    assert mean_rr(labels, np.asmatrix(scores)) == (1 / 2 + 1 / 3) / 2


# ---- pairs and objects --------------------------------------------------------------------------


def document(name: str) -> Any:
    return SimpleNamespace(page_content="text", metadata={"source": name}, id=None)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_objects_with_scores_are_ranked_by_these(is_reversed: bool) -> None:
    pairs = [(document("y"), 0.2), (document("x"), 0.9), (document("z"), 0.5)]
    run = {"a": [pair[::-1] if is_reversed else pair for pair in pairs]}
    assert mean_rr({"a": {"x": 1}}, run) == 1
    assert mean_rr({"a": {"x": 1}}, run, columns={"distance": "scores"}) == 1 / 3
    with pytest.raises(InputError, match="objects with a score in pairs with another"):
        call_evaluate({"a": {"x": 1}}, {"a": [({"id": "x", "score": 0.9}, 0.2)]}, "RR")
    judged = {"a": [(document("y"), 2), (document("x"), 1)]}
    assert call_evaluate(judged, {"a": {"y": 1.0}}, "DCG")["DCG"] == 2


@pytest.mark.parametrize(
    "to_pairs",
    [
        lambda docs: [*docs.items()],
        lambda docs: docs.items(),
        lambda docs: zip(docs, docs.values(), strict=True),
        lambda docs: [*map(list, docs.items())],
    ],
)
def test_pairs_of_queries_and_documents_are_a_dict(to_pairs: Callable[[Any], Any]) -> None:
    for docs in ({"a": ["y", "x"], "b": ["z"]}, {"a": {"x": 0.2, "y": 0.9}, "b": {"z": 0.5}}):
        assert mean_rr(GRADES, to_pairs(docs)) == EXPECTED_RR
        assert mean_rr(to_pairs(GRADES), docs) == EXPECTED_RR
    with pytest.raises(InputError, match="a query occurs twice"):
        call_evaluate(GRADES, [("a", ["y"]), ("a", ["x"])], "RR")


class SlottedRow:
    """A row with names of its own, and no dict of them."""

    __slots__ = ("book", "reader", "stars")

    def __init__(self, *cells: Any) -> None:
        self.reader, self.book, self.stars = cells


@dataclass
class OwnRow:
    """A row with names of its own."""

    reader: str
    book: str
    stars: float


@pytest.mark.parametrize("make_row", [OwnRow, SlottedRow])
def test_objects_with_names_of_their_own(make_row: Callable[..., Any]) -> None:
    rows = [make_row(*row) for row in ROWS]
    columns = {"query_id": "reader", "doc_id": "book", "score": "stars"}
    assert mean_rr(GRADES, rows, columns=columns) == EXPECTED_RR
    assert call_evaluate(GRADES, {"A": rows}, "RR", columns=columns)["A"]["RR"] == EXPECTED_RR
    with pytest.raises(InputError, match=r"its columns are '(reader|book)', '(reader|book)', 'sta"):
        call_evaluate(GRADES, rows, "RR")


def test_expected_objects_without_grades_are_relevant() -> None:
    row = {"question": "q", "retrieved": ["y", "x"], "expected": [{"id": "x", "text": "t"}]}
    assert mean_rr([row]) == 1 / 2
    assert mean_rr({"q": [{"id": "x"}]}, {"q": ["y", "x"]}) == 1 / 2
    with pytest.raises(InputError, match="relevance=-"):  # stars may be the grade
        call_evaluate([row | {"expected": [{"id": "x", "stars": 3}]}], "RR")


# ---- what is refused ----------------------------------------------------------------------------

MATRIX = np.array([[0, 1], [1, 0]])
FLOAT_QUERIES = pd.DataFrame({"qid": [1.0, 1.0], "label": [0, 1], "score": [0.1, 0.2]})


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: Run(MATRIX / 2), r"evaluate\(\*grades\(labels, scores=scores\), \.\.\.\)"),
        (lambda: call_evaluate(GRADES, MATRIX, "RR"), r"dict\(enumerate\(ids\)\)"),
        (lambda: compare(MATRIX, [MATRIX / 2, -MATRIX / 2], "RR"), r"scores=\{name: scores\}"),
        (lambda: call_evaluate(None, {"q": ["a"]}, "RR"), "got NoneType"),
        (
            lambda: call_evaluate(FLOAT_QUERIES, "RR"),
            r"'qid'.*got 1\.0\nAs whole numbers: .*astype",
        ),
        (
            lambda: call_evaluate(FLOAT_QUERIES.astype({"qid": int}).assign(feature=[1, 2]), "RR"),
            r"--columns doc_id=feature; .* frame\.drop\(columns=\['feature'\]\)",
        ),
        (
            lambda: call_evaluate(
                {"a": {"x": 1}}, {"a": {"documents": [{"id": "x"}], "n": 1}}, "RR"
            ),
            r"'a' is a query there: \{query: response\[KEY\]",
        ),
        (
            lambda: call_evaluate(GRADES, {"a": ["x"]}, "RR", without=[["x"]]),
            r"enumerate\(lists, 1\)",
        ),
        (
            lambda: call_evaluate(GRADES, {"a": ["x"]}, "RR", without=sp.csr_matrix(MATRIX)),
            r"enumerate\(matrix\.tolil\(\)\.rows\)",
        ),
        (
            lambda: call_evaluate(GRADES, {"a": ["x"]}, "RR", without="x y"),
            "below doc_id in a file",
        ),
        (
            lambda: call_grades([[1, 0]], scores=[[0.1, 0.2]], mask=True),
            r"\[\[s != -1 for s in row\] for row in labels\]",
        ),
        (lambda: grades([[1]], scores=[[None]]), r"mask=\[\[.* s == s for s in row\]"),
        (
            lambda: grades([1, 0], scores=[0.1, 0.2], groups=[1.0, 2.0]),
            r"array\.astype\(int\)",
        ),
        (
            lambda: call_evaluate(
                [
                    {
                        "user_input": "A",
                        "retrieved_contexts": [{"text": "x"}],
                        "reference_contexts": "x",
                    }
                ],
                "RR",
            ),
            r"of objects, \[doc\['text'\] for doc in docs\]",
        ),
    ],
)
def test_the_form_that_works_is_named(call: Callable[[], Any], hint: str) -> None:
    with pytest.raises(CranfieldError, match=f"(?s){hint}"):
        call()


def test_series_of_lists_are_exclusions_of_queries() -> None:
    excluded = pd.Series({"a": ["y"]})
    assert mean_rr({"a": {"x": 1}}, {"a": ["y", "x"]}, without=excluded) == 1


def test_gold_documents_are_no_system() -> None:
    row = {"question": "q", "contexts": ["b", "a"], "ground_truths": ["a"]}
    with pytest.raises(InputError) as caught:
        call_evaluate([row], "RR")
    assert "retrieved_ids=ground_truths" not in str(caught.value)


def test_a_list_that_is_cut_off_is_no_id(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('query_id,retrieved_ids,expected_ids\nq,"[""8""","[""8""]"\n')
    with pytest.raises(InputError, match="holds a list that is cut off"):
        call_evaluate(path, "RR")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("0.1\n0.2\n0.3\n0.4\n\n", None),
        ("# scores\n0.1\n0.2\n0.3\n0.4", None),
        ("score\n0.1\n0.2\n0.3\n0.4\n", None),
        ("0.1\n0.2\nnan\n0.4\n", "expected a number as the score of row 3, got 'nan'"),
        ("nan\n0.2\n0.3\n0.4\n", "expected a number as the score of row 1, got 'nan'"),
    ],
)
def test_predictions_beside_svmlight(lines: str, problem: str | None, tmp_path: Path) -> None:
    judgments, predictions = tmp_path / "x.svm", tmp_path / "x.pred"
    judgments.write_text("0 qid:1 1:.2\n1 qid:1 1:.3\n1 qid:2 1:.1\n0 qid:2 1:.5\n")
    predictions.write_text(lines)
    if problem is None:
        assert mean_rr(judgments, predictions) == (1 / 1 + 1 / 2) / 2
        return
    with pytest.raises(InputError, match=problem):
        call_evaluate(judgments, predictions, "RR")
