"""Labels and scores of the same documents in arrays: beside dicts of the same numbers."""

import math
import tracemalloc
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.notes import codes

from cranfield import (
    GradedSystems,
    InputError,
    OptionError,
    Qrels,
    Run,
    Scores,
    compare,
    evaluate,
    grades,
)

MEASURES = "nDCG@3 AP RR P@2 R@2"
LABELS: Any = [[0, 1, 2, 0], [1, 0, 0, 3], [0, 0, 1, 0], [2, 0, 1, 1]]
SCORES = [
    [0.3, 0.9, 0.1, 0.2],
    [0.15, 0.25, 0.35, 0.05],
    [-0.1, -0.2, -0.3, -0.4],
    [0, -1, -2, 0.5],
]
MASK = [[False, True, True, True], [True] * 4, [True, True, True, False], [False] * 3 + [True]]


def evaluate_dicts(
    labels: Sequence[Sequence[float | None]],
    scores: Sequence[Sequence[float]],
    mask: Sequence[Sequence[bool]] | None = None,
    queries: Sequence[str] | None = None,
) -> Scores:
    """Return the scores of rows of labels and scores by way of dicts, cell after cell."""
    qrels: dict[str, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, (label_row, score_row) in enumerate(zip(labels, scores, strict=True)):
        query = str(i + 1) if queries is None else queries[i]
        for j, (label, score) in enumerate(zip(label_row, score_row, strict=True)):
            if mask is not None and not mask[i][j]:
                continue
            run.setdefault(query, {})[f"#{j + 1}"] = score
            if label is not None:
                qrels.setdefault(query, {})[f"#{j + 1}"] = label
    return evaluate(qrels, run, MEASURES)


def evaluate_labels(labels: Any, measures: str = MEASURES, **options: Any) -> Any:
    """Return the scores of labels by `grades` with these options."""
    qrels, run_or_runs = grades(labels, **options)
    return evaluate(qrels, run_or_runs, measures)


EXPECTED = evaluate_dicts(LABELS, SCORES).to_dict()


@pytest.mark.parametrize("label_type", [int, float, bool, np.int8, np.uint16, np.float32])
@pytest.mark.parametrize("score_type", [np.float64, np.float32])
def test_arrays_are_the_same_as_dicts(label_type: Any, score_type: Any) -> None:
    labels, scores = np.array(LABELS).astype(label_type), np.array(SCORES).astype(score_type)
    expected = evaluate_dicts(labels.astype(float).tolist(), scores.tolist())
    assert evaluate(labels, scores, MEASURES).to_dict() == expected.to_dict()
    assert evaluate_labels(labels, scores=scores).to_dict() == expected.to_dict()


@pytest.mark.parametrize("label_type", [int, float])
def test_matrices_take_few_bytes_a_pair(label_type: type) -> None:
    """The hits of blocks are not held beside the match: else it is 155 bytes."""
    n_queries, n_docs = 600, 1000
    chance = np.random.default_rng(1)
    is_relevant = chance.random((n_queries, n_docs)) < 0.01
    labels: Any = (is_relevant * chance.integers(1, 4, is_relevant.shape)).astype(label_type)
    scores = chance.random(labels.shape)
    evaluate(labels[:2], scores[:2], "nDCG@10")  # what is imported, or kept, is not counted
    tracemalloc.start()
    try:
        evaluate(labels, scores, "nDCG@10", threads=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 125 * labels.size


def test_lists_of_equally_long_lists_are_as_arrays() -> None:
    assert evaluate(LABELS, SCORES, MEASURES).to_dict() == EXPECTED
    assert evaluate(LABELS, np.array(SCORES), MEASURES).to_dict() == EXPECTED
    ragged = [[0, 1], [2, 1, 0]], [[0.5, 0.25], [0.1, 0.2, 0.3]]
    assert evaluate(*ragged, MEASURES).to_dict() == evaluate_dicts(*ragged).to_dict()


def test_random_arrays_are_the_same_as_dicts() -> None:
    rng = np.random.default_rng(20261129)
    labels, scores = rng.integers(0, 4, (13, 12)), rng.integers(0, 6, (13, 12)) / 8  # with ties
    mask = rng.random((13, 12)) < 0.8
    result = evaluate_labels(labels, scores=scores, mask=mask)
    expected = evaluate_dicts(labels.tolist(), scores.tolist(), mask.tolist())
    assert result.to_dict() == expected.to_dict()


class Tensor:
    """A tensor as those of PyTorch: with a gradient and in bfloat16, which numpy cannot take."""

    def __init__(
        self, values: Any, dtype: str = "torch.bfloat16", is_detached: bool = False
    ) -> None:
        self.values, self.dtype, self.is_detached = np.asarray(values), dtype, is_detached
        self.ndim = self.values.ndim

    def __dlpack__(self) -> None:
        """Tell that it is a tensor."""

    def detach(self) -> "Tensor":
        return Tensor(self.values, self.dtype, is_detached=True)

    def cpu(self) -> "Tensor":
        return self

    def float(self) -> "Tensor":
        return Tensor(self.values, "torch.float32", self.is_detached)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.is_detached
        assert self.dtype != "torch.bfloat16"
        return self.values


def test_tensors_are_arrays() -> None:
    labels: Any = Tensor(LABELS, "torch.int64")
    scores: Any = Tensor(SCORES, "torch.bfloat16")
    assert evaluate(labels, scores, MEASURES).to_dict() == EXPECTED
    assert evaluate(LABELS, scores, MEASURES).to_dict() == EXPECTED


def test_several_systems_have_the_same_labels() -> None:
    graded = grades(LABELS, scores={"old": SCORES, "new": -np.array(SCORES)})
    assert isinstance(graded, GradedSystems)
    systems = evaluate(*graded, MEASURES)
    assert systems["old"].to_dict() == EXPECTED
    negative_scores = (-np.array(SCORES)).tolist()
    assert systems["new"].to_dict() == evaluate_dicts(LABELS, negative_scores).to_dict()
    assert [row["system"] for row in compare(*graded, "AP").rows()] == ["new"]


def test_rows_of_a_dict_are_queries() -> None:
    names = ["a", "b", "c", "d"]
    labels, scores = dict(zip(names, LABELS, strict=True)), dict(zip(names, SCORES, strict=True))
    expected = evaluate_dicts(LABELS, SCORES, queries=names)
    reversed_scores = dict(reversed(scores.items()))
    assert evaluate_labels(labels, scores=reversed_scores).to_dict() == expected.to_dict()
    graded = grades(labels, scores={"old": scores, "new": reversed_scores})
    assert isinstance(graded, GradedSystems)
    assert evaluate(*graded, "AP")["new"].to_dict() == evaluate(*graded, "AP")["old"].to_dict()
    with pytest.raises(InputError, match="query 'd' is in labels, and not in scores"):
        grades(labels, scores={name: scores[name] for name in "abc"})


GROUPED = [[0, 2, 1], [1, 0], [0, 0, 3, 1]], [[0.4, 0.1, 0.9], [0.2, 0.3], [0.9, 0.8, 0.7, 0.6]]
FLAT_LABELS, FLAT_SCORES = (
    [0, 2, 1, 1, 0, 0, 0, 3, 1],
    [0.4, 0.1, 0.9, 0.2, 0.3, 0.9, 0.8, 0.7, 0.6],
)


@pytest.mark.parametrize("convert", [list, np.array, tuple])
def test_groups_are_sizes_or_ids(convert: Any) -> None:
    labels, scores = convert(FLAT_LABELS), convert(FLAT_SCORES)
    sizes = evaluate_labels(labels, scores=scores, groups=convert([3, 2, 4]))
    assert sizes.to_dict() == evaluate_dicts(*GROUPED).to_dict()
    ids = [7, 7, 7, 3, 3, 11, 11, 11, 11]
    result = evaluate_labels(labels, scores=scores, groups=convert(ids))
    expected = evaluate_dicts(*GROUPED, queries=["7", "3", "11"])
    assert result.to_dict() == expected.to_dict()


def test_the_rows_of_a_group_need_not_be_adjacent() -> None:
    rows = [*zip("aaabbcccc", FLAT_LABELS, FLAT_SCORES, strict=True)]
    mixed_rows = rows[::2] + rows[1::2]
    query_ids, labels, scores = zip(*mixed_rows, strict=True)
    by_query: dict[str, tuple[list[int], list[float]]] = {}
    for query, label, score in mixed_rows:
        by_query.setdefault(query, ([], []))[0].append(label)
        by_query[query][1].append(score)
    label_rows, score_rows = zip(*by_query.values(), strict=True)
    expected = evaluate_dicts(label_rows, score_rows, queries=[*by_query])
    result = evaluate_labels(labels, scores=scores, groups=query_ids)
    assert result.to_dict() == expected.to_dict()


def test_flat_columns_without_groups_are_one_query() -> None:
    result = evaluate_labels(LABELS[0], scores=SCORES[0])
    assert result.to_dict() == evaluate_dicts(LABELS[:1], SCORES[:1]).to_dict()


def test_masked_arrays_bring_their_mask() -> None:
    expected = evaluate_dicts(LABELS, SCORES, MASK).to_dict()
    masked_scores: Any = np.ma.array(SCORES, mask=~np.array(MASK))
    assert evaluate_labels(LABELS, scores=masked_scores).to_dict() == expected
    assert evaluate_labels(LABELS, scores=SCORES, mask=MASK).to_dict() == expected
    nan_scores = np.where(MASK, SCORES, np.nan)
    assert evaluate_labels(LABELS, scores=nan_scores, mask=MASK).to_dict() == expected


def test_a_label_that_is_missing_is_unjudged() -> None:
    labels: Any = [[None, 1, 2, 0], [1, None, 0, 3], [0, 0, 1, 0], [2, 0, 1, 1]]
    expected = evaluate_dicts(labels, SCORES).to_dict()
    assert evaluate_labels(labels, scores=SCORES).to_dict() == expected
    nan_labels = np.array(labels, float)
    assert evaluate(nan_labels, np.array(SCORES), MEASURES).to_dict() == expected


def test_the_lowest_score_may_be_infinite() -> None:
    scores = [[-np.inf, 0.9, 0.1, 0.2], *SCORES[1:]]
    assert evaluate(LABELS, scores, MEASURES).to_dict() == evaluate_dicts(LABELS, scores).to_dict()


def test_a_query_whose_documents_do_not_count_is_told() -> None:
    mask = [[False] * 4, *([True] * 4 for _ in range(3))]
    result = evaluate_labels(LABELS, scores=SCORES, mask=mask, measures="AP")
    assert [*result.per_query("AP")] == ["2", "3", "4"]
    assert "1 query without a document that counts, left out: 1." in str(result)


def test_judged_are_these_labels_or_what_the_collection_has() -> None:
    labels, scores = [1, 0, 1], [0.5, 0.25, 0.1]
    assert evaluate_labels(labels, scores=scores, measures="R@1")["R@1"] == 1 / 2
    assert evaluate_labels(labels, scores=scores, n_relevant=4, measures="R@1")["R@1"] == 1 / 4
    collection = [1, 1, 1, 0]
    result = evaluate_labels(labels, scores=scores, collection=collection, measures="R@1")
    assert result["R@1"] == 1 / 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, 0]], [[0.5, np.nan]]), "row 1, column 2: the score is nan"),
        (
            (np.array(LABELS), np.array(SCORES)[:, :2]),
            "has shape (4, 4), scores shape (4, 2)",
        ),
        (([[1, 0], [1]], [[0.5, 0.1], [0.5, 0.1]]), "labels has 2 rows of 1 to 2 cells"),
        ((np.array(LABELS), np.array(LABELS)), "grades(y_true, scores=y_score)"),
        ((np.array([1, 0]), np.array([0.5, 0.1])), "groups="),
        (([1, 0], [0.5, 0.1]), "groups="),
        (([[1, 10, 1]], [[1, 10, 0.5]]), "is each one a row"),
        ((np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), "got ndarray"),
    ],
)
def test_what_may_be_something_else_is_asked(arguments: tuple[Any, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        evaluate(*arguments, "AP")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": [3, 2]}, "2 of them that add up to 5, and 9 labels"),
        ({"groups": [1] * 9}, "sizes, or ids of queries?"),
        ({"groups": ["a"] * 4}, "4 of them, and 9 labels"),
        ({"groups": "aaabbcccc"}, "expected sizes or ids"),
        ({"groups": [0.5] * 9}, "an id is a string or a whole number"),
        ({"mask": [True] * 8}, "labels has shape (9,), mask shape (8,)"),
        ({"mask": [2] * 9}, "expected truth values"),
        ({"scores": ["a"] * 9}, "scores, row 1: expected a number, got 'a'"),
        ({"scores": np.zeros((9, 1, 1))}, "one or two dimensions"),
        ({"scores": 0.5}, "expected an array or lists of numbers, got 0.5"),
        ({"scores": {}}, "hold no system"),
    ],
)
def test_what_does_not_fit_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        grades(FLAT_LABELS, **{"scores": FLAT_SCORES, **options})
    assert words in str(error.value)


def test_groups_of_rows_and_labels_that_are_no_grades_are_refused() -> None:
    with pytest.raises(InputError, match="the labels have rows already"):
        grades(LABELS, scores=SCORES, groups=[2, 2])
    with pytest.raises(InputError, match=r"labels, row 1, column 2: .* got inf"):
        grades([[0, np.inf]], scores=[[0.5, 0.1]])
    with pytest.raises(InputError, match="hold no judgment"):
        grades([[None]], scores=[[0.5]])
    with pytest.raises(OptionError, match="groups and mask belong to scores"):
        evaluate_labels([1, 0], groups=[2])
    with pytest.raises(OptionError, match="systems"):
        evaluate_labels({"a": [1]}, scores=[[0.5]], systems=True)


# ---- a sparse matrix on one side ----------------------------------------------------------------


def dense_dicts(matrix: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return {row: {column: number}} of a matrix, counted from 0."""
    return {
        str(i): {str(j): number for j, number in enumerate(row)} for i, row in enumerate(matrix)
    }


@pytest.mark.parametrize("make_id", [int, str])
def test_queries_from_1_beside_the_rows_of_a_sparse_matrix_are_asked_about(make_id: Any) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[0.5, 0.25, 0], [0, 0.5, 0.25], [0.25, 0, 0.5]]))
    qrels: Any = {make_id(i): {make_id(i - 1): 1} for i in (1, 2, 3)}
    ranking: Any = {make_id(i): [make_id(i - 1)] for i in (1, 2, 3)}
    words = r"'s are 1 to 3: are they counted from 1\?"
    both_sides = [(qrels, matrix), (qrels, Run(matrix)), (matrix, ranking), (Qrels(qrels), matrix)]
    for judged, run in both_sides:
        with pytest.raises(InputError, match=words):
            evaluate(judged, run, "RR")
    moved = {int(query) - 1: docs for query, docs in qrels.items()}
    assert evaluate(moved, matrix, "RR")["RR"] == 1
    # The row 1 has 0.5 for the column 1, and the row 2 for the column 2: none of 0 or 1 first.
    as_ids = evaluate(qrels, Run(matrix).to_dict(), "RR")
    assert list(as_ids.per_query("RR").values()) == [0, 0, 0]
    assert evaluate({make_id(2): {make_id(2): 1}}, matrix, "RR")["RR"] == 1  # of rows it has
    assert evaluate({"1": {"1": 1}, "q4": {"1": 1}}, matrix, "RR")["RR"] == 1 / 2  # no numbers
    later = sparse.csr_array(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 1]]))
    assert evaluate(later, matrix, "RR")["RR"] == 1


def test_an_array_beside_a_sparse_matrix_is_read_with_it() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    labels = sparse.csr_array(np.array(LABELS))
    judged = {
        query: {doc: grade for doc, grade in grades_of_doc.items() if grade}
        for query, grades_of_doc in dense_dicts(LABELS).items()
    }
    expected = evaluate(judged, dense_dicts(SCORES), MEASURES)
    for scores in (np.array(SCORES), SCORES):
        assert evaluate(labels, scores, MEASURES).to_dict() == expected.to_dict()
    ids = [[1, 0, 3], [2, 1, 0], [0, 1, 2], [3, 0, -1]]
    expected = evaluate(judged, {"0": [1, 0, 3], "1": [2, 1, 0], "2": [0, 1, 2], "3": [3, 0]}, "AP")
    result = evaluate(labels, np.array(ids), "AP")
    assert result.to_dict() == expected.to_dict()
    assert "padding" in codes(result.notes)
    with pytest.raises(InputError, match="grades, or ids"):
        evaluate(np.array(LABELS), sparse.csr_array(np.array(SCORES)), "AP")


def test_scores_of_0_that_are_not_stored_are_told() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    labels = sparse.csr_array(np.array([[1, 0], [0, 1]]))
    hole = sparse.csr_array(np.array([[0.0, -0.5], [-0.25, 0.5]]))
    result = evaluate(labels, hole, "AP")
    (note,) = (note for note in result.notes if note.code == "sparse-zeros")
    assert (note.severity, note.count) == ("warning", 1)
    assert "1 row has scores below 0" in note.text
    for scores in ([[0.25, -0.5], [-0.25, 0.5]], [[0.0, 0.5], [0.0, 0.5]]):  # whole; none below 0
        result = evaluate(labels, sparse.csr_array(np.array(scores)), "AP")
        assert "sparse-zeros" not in codes(result.notes)


# ---- numbers that fill up lists -----------------------------------------------------------------


def test_minus_1_that_fills_up_lists_is_left_out_and_told() -> None:
    truths, rankings = [[5, 9, -1], [7, -1, -1]], [[9, 4, -1], [3, 7, 1]]
    result = evaluate(truths, rankings, MEASURES)
    expected = evaluate([[5, 9], [7]], [[9, 4], [3, 7, 1]], MEASURES)
    assert result.to_dict() == expected.to_dict()
    assert sum(note.count or 0 for note in result.notes if note.code == "padding") == 4
    of_dicts = evaluate({"1": {5, 9}, "2": {7}}, {"1": [9, 4, -1], "2": [3, 7, 1]}, MEASURES)
    assert of_dicts.to_dict() == expected.to_dict()
    assert "padding" in codes(of_dicts.notes)


def test_minus_1_between_ids_is_refused_and_beside_other_numbers_below_0_is_an_id() -> None:
    with pytest.raises(InputError, match="is between ids in"):
        evaluate([[5, 9]], [[9, -1, 4, -1]], "AP")
    assert evaluate([[-7, -1]], [[-5, -1]], "RR")["RR"] == 1 / 2
    assert evaluate([["-1"]], [["5", "-1"]], "RR")["RR"] == 1 / 2


def test_0_that_may_fill_up_lists_is_asked() -> None:
    with pytest.raises(InputError, match=r"\[\[i for i in row if i != 0\] for row in ids\]"):
        evaluate([[5, 9, 0], [7, 0, 0]], [[9, 4, 0], [3, 7, 1]], "AP")


@pytest.mark.parametrize(
    ("labels", "scores", "expected_rr"),
    [
        ([[1, 0, -1], [0, 1, -1]], [[0.1, 0.2, 0.3], [0.5, 0.4, 0.1]], (1 / 2 + 1 / 2) / 2),
        ({"a": [1, 0, -1], "b": [1]}, {"a": [0.1, 0.2, 0.3], "b": [0.5]}, (1 / 2 + 1) / 2),
        ({"a": [1, 0], "b": [1]}, {"a": [0.1, None], "b": [0.5]}, (1 + 1) / 2),
        ({"a": [1, 0], "b": [1]}, {"s": {"a": [0.1, math.nan], "b": [0.5]}}, (1 + 1) / 2),
        ([1, 0, 1], [0.1, 0.2, math.nan], 1 / 2),
    ],
)
def test_the_mask_that_an_error_names_works(labels: Any, scores: Any, expected_rr: float) -> None:
    with pytest.raises(InputError, match=r"mask=") as caught:
        grades(labels, scores=scores)
    expression = str(caught.value).split("mask=")[1].partition("; if it is")[0].split("). A")[0]
    mask = eval(expression.removesuffix(")"), {"labels": labels, "scores": scores})  # noqa: S307
    judgments, run = grades(labels, scores=scores, mask=mask)
    result: Any = evaluate(judgments, run, "RR")
    assert (result["s"] if "s" in scores else result)["RR"] == expected_rr


def test_lists_of_masked_rows_bring_their_masks() -> None:
    masked_labels = [np.ma.array([1, 0, 1], mask=[False, False, True]), np.ma.array([0, 1])]
    scores = [[0.1, 0.2, 0.3], [0.5, 0.4]]
    assert evaluate(*grades(masked_labels, scores=scores), "RR")["RR"] == (1 / 2 + 1 / 2) / 2
    masked_scores: list[Any] = [
        np.ma.array(scores[0], mask=[False, False, True]),
        np.ma.array(scores[1], mask=[True, False]),
    ]
    labels = [[1, 0, 1], [0, 1]]
    assert evaluate(*grades(labels, scores=masked_scores), "RR")["RR"] == (1 / 2 + 1) / 2


def test_the_remedy_of_a_column_works_for_the_verb_that_was_called() -> None:
    labels, scores = np.array([[0], [1], [1], [0]]), np.array([[0.1], [0.2], [0.3], [0.4]])
    with pytest.raises(InputError, match=r"evaluate\(\*grades\(") as caught:
        evaluate(labels, scores, "RR")
    assert "grades(labels, scores=scores, groups=sizes)" in str(caught.value)
    assert evaluate(*grades(labels, scores=scores, groups=[2, 2]), "RR")["RR"] == (1 + 1 / 2) / 2
    assert "grades(numpy.ravel(labels), scores=numpy.ravel(scores))" in str(caught.value)
    one_query = grades(np.ravel(labels), scores=np.ravel(scores))
    assert evaluate(*one_query, "RR")["RR"] == 1 / 2


def test_objects_without_numbers_are_no_arrays() -> None:
    with pytest.raises(InputError):
        evaluate(SimpleNamespace(ndim=2, __array__=None), np.array(SCORES), "AP")


def test_labels_that_seem_to_be_filled_up_are_asked_about() -> None:
    labels, scores = np.array([[1, 0, 2, -1], [0, 1, -1, -1]]), np.array([[0.1, 0.2, 0.3, 0.9]] * 2)
    with pytest.raises(InputError, match="2 rows with -1 at the end: does it fill up") as error:
        evaluate(labels, scores, "AP")
    assert "mask=[[s != -1 for s in row] for row in labels]" in str(error.value)
    filled = evaluate(*grades(labels, scores=scores, mask=labels != -1), "AP")
    # The rankings are 2, 0, 1 and 1, 0: (1 + 2/3) / 2 and 1.
    assert filled["AP"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    negative_grade = evaluate(
        *grades(labels, scores=scores, mask=np.ones(labels.shape, bool)), "P@1"
    )
    assert negative_grade["P@1"] == 0
    labels[0, 1] = -1  # between others: a grade
    assert evaluate(labels, scores, "P@1")["P@1"] == 0
