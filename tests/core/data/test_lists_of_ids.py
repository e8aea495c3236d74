"""Parallel lists of lists of ids: a list of relevant documents and a ranking for each query."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.notes import codes, sentence

from cranfield import (
    Explanation,
    InputError,
    Qrels,
    Run,
    check,
    compare,
    evaluate,
    explain,
    read_run,
)

TRUTH = [[1, 3, 5], [2, 4, 6], [7, 8, 9]]
RANKED = [[3, 2, 1], [9, 2, 4], [1, 2, 3]]
EXPECTED = ((1 / 1 + 2 / 3) / 3 + (1 / 2 + 2 / 3) / 3 + 0) / 3


def test_three_against_three_are_lists_and_not_rows() -> None:
    scores = evaluate(TRUTH, RANKED, "AP@3 RR")
    assert scores["AP@3"] == pytest.approx(EXPECTED, rel=1e-15)
    assert scores.per_query("RR") == {"1": 1 / 1, "2": 1 / 2, "3": 0}
    assert "lists" in codes(scores.notes)


def test_two_against_two() -> None:
    scores = evaluate([[1, 3], [2, 4]], [[1, 2], [9, 2]], "AP")
    assert scores.per_query("AP") == {"1": (1 / 1) / 2, "2": (1 / 2) / 2}


def test_lists_of_different_lengths_and_texts() -> None:
    scores = evaluate([["a", "b"], ["c"]], [["b", "x", "a"], ["y", "c"]], "AP")
    assert scores.per_query("AP") == {"1": (1 / 1 + 2 / 3) / 2, "2": 1 / 2}


def test_empty_lists() -> None:
    none: list[list[int]] = [[]]
    value_of_query = evaluate(none, none, "AP NumRel NumRet").per_query("AP")
    assert value_of_query == {"1": 0}
    scores = evaluate([[], [1], [2]], [[5], [], [2]], "AP NumRel NumRet")
    assert scores.to_dict() == {
        "1": {"AP": 0, "NumRel": 0, "NumRet": 1},
        "2": {"AP": 0, "NumRel": 1, "NumRet": 0},
        "3": {"AP": 1, "NumRel": 1, "NumRet": 1},
    }
    assert {"without-results", "without-relevant", "lists"} <= {*codes(scores.notes)}


@pytest.mark.parametrize(
    ("qrels", "run", "problem"),
    [
        (TRUTH, RANKED[:2], "3 lists of relevant documents and 2 rankings"),
        (TRUTH[:1], RANKED, "1 list of relevant documents and 3 rankings"),
        (TRUTH, [], "3 lists of relevant documents and 0 rankings"),
        ([], RANKED, "0 lists of relevant documents and 3 rankings"),
        (TRUTH, {"a": RANKED, "b": RANKED[:1]}, "3 lists of relevant documents and 1 ranking"),
        (TRUTH, [("1", "3", 0.5)], "the qrels: lists with only whole numbers"),
        ([("1", "3", 1)], RANKED, "the run: lists with only whole numbers"),
        (TRUTH, {"1": [3]}, "the qrels: lists with only whole numbers"),
        ({"1": {3}}, RANKED, "the run: lists with only whole numbers"),
        ([[1, 1]], [[1]], "the document '1' occurs twice"),
        ([[1]], [[2, 2]], "the document '2' occurs twice"),
        ([[1]], [[-5, -1, -1]], "Does -1 only fill up"),
        ([[1]], [[2, 0, 0]], "Does 0 only fill up"),
        ([[1]], [{1, 2}], "a set has no order"),
    ],
)
def test_both_sides_are_lists_and_as_many(qrels: Any, run: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        evaluate(qrels, run, "AP")


def test_lists_of_two_kinds_are_rows_as_before() -> None:
    rows: Any = [["q", "a", 1], ["q", "b", 0]]
    ranked: Any = [["q", "b", 2.5], ["q", "a", 1.5]]
    scores = evaluate(rows, ranked, "RR")
    assert scores["RR"] == 1 / 2
    assert "lists" not in codes(scores.notes)


def test_arrays_of_two_dimensions() -> None:
    qrels, run = np.array(TRUTH), np.array(RANKED, np.uint8)
    with pytest.raises(InputError, match="scores, or ids"):
        evaluate(qrels, run, "AP@3")
    assert evaluate(qrels, RANKED, "AP@3")["AP@3"] == evaluate(TRUTH, RANKED, "AP@3")["AP@3"]
    assert evaluate(TRUTH, run, "RR")["RR"] == (1 + 1 / 2 + 0) / 3
    arrays: Any = [np.array(list_of_ids) for list_of_ids in TRUTH]
    assert evaluate(arrays, run, "RR")["RR"] == (1 + 1 / 2 + 0) / 3
    ragged_array = np.array([[1], [2, 3]], object)
    assert evaluate(ragged_array, [[1], [3]], "RR")["RR"] == 1
    with pytest.raises(InputError, match="scores, or ids"):
        evaluate(np.array(TRUTH) * 0.5, run, "AP")
    with pytest.raises(InputError, match="got ndarray"):
        evaluate(np.array(TRUTH) * 0.5, run[:, :1], "AP")


def test_relevant_documents_may_be_sets() -> None:
    sets: Any = [{1, 3, 5}, {2, 4, 6}, frozenset({7})]
    assert evaluate(sets, RANKED, "RR").per_query("RR") == {"1": 1, "2": 1 / 2, "3": 0}


def test_several_runs_and_every_verb() -> None:
    runs: dict[str, Any] = {"x": RANKED, "y": [[1], [2], [7]]}
    systems = evaluate(TRUTH, runs, "RR")
    assert systems.means() == {"x": {"RR": (1 + 1 / 2 + 0) / 3}, "y": {"RR": 1}}
    assert list(evaluate(TRUTH, [*runs.values()], "RR")) == ["run", "run (2)"]
    explanation = explain(TRUTH, RANKED, "RR", 2)
    assert isinstance(explanation, Explanation)
    assert explanation.value == 1 / 2
    [row] = compare(TRUTH, runs, "RR").rows()
    assert row["difference"] == pytest.approx(1 - (1 + 1 / 2 + 0) / 3)
    assert check(TRUTH, RANKED).ok


def test_one_side_alone_is_not_guessed() -> None:
    for side_type in (Qrels, Run):
        with pytest.raises(InputError, match="is each one a row"):
            side_type(TRUTH)


# ---- two JSON files -----------------------------------------------------------------------------


def _files(folder: Path, *contents: Any) -> tuple[str, str]:
    paths = folder / "a.json", folder / "b.json"
    for path, lists in zip(paths, contents, strict=True):
        path.write_text(json.dumps(lists).replace("],", "],\n"))
    return str(paths[0]), str(paths[1])


def test_two_files(tmp_path: Path) -> None:
    qrels, run = _files(tmp_path, TRUTH, RANKED)
    scores = evaluate(qrels, run, "AP@3")
    assert scores.to_dict() == evaluate(TRUTH, RANKED, "AP@3").to_dict()
    assert "tuples" not in sentence(scores.notes, "lists")  # which a file cannot hold
    assert "tuples" in sentence(evaluate(TRUTH, RANKED, "AP").notes, "lists")
    invocation = invoke("evaluate", qrels, run, "-m", "RR", "--format", "json")
    assert json.loads(invocation.stdout)["runs"][0]["all"] == {"RR": (1 + 1 / 2 + 0) / 3}
    texts = _files(tmp_path, [["a"], []], [["b", "a"], ["c"]])
    assert evaluate(*texts, "RR").per_query("RR") == {"1": 1 / 2, "2": 0}


@pytest.mark.parametrize(
    ("qrels", "run", "problem"),
    [
        (TRUTH, RANKED[:2], "b.json: 3 lists of relevant documents and 2 rankings"),
        (TRUTH, {"1": [3]}, "the qrels: lists of ids, whose queries have no names; the run 'b'"),
        ({"1": [3]}, RANKED, "the run 'b': lists of ids, whose queries have no names; the qrels"),
        ([["q", "a", 1]], RANKED, r"a.json:1: list 1: expected the ids of its documents"),
        (TRUTH, [[1], [0.5], [2]], r"b.json:2: list 2: expected the ids of its documents"),
        (TRUTH, [[1], 5, [2]], r"b.json:2: list 2: expected the ids of its documents"),
        (TRUTH, [[1], [4, 4], [2]], r"b.json:2: the document '4' occurs twice for query '2'"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, qrels: Any, run: Any, problem: str) -> None:
    files = _files(tmp_path, qrels, run)
    with pytest.raises(InputError, match=problem):
        evaluate(*files, "AP")


def test_lists_of_ids_whose_chunks_become_documents_are_paired_as_well(tmp_path: Path) -> None:
    qrels, run = _files(tmp_path, [["a"], ["b"]], [["a#1", "x#0"], ["x#2", "b#7"], ["a#1"]])
    with pytest.raises(InputError, match="2 lists of relevant documents and 3 rankings"):
        evaluate(qrels, read_run(run).map_docs("(.*)#"), "RR")
    two = read_run(_files(tmp_path, [["a"], ["b"]], [["a#1", "x#0"], ["x#2", "b#7"]])[1])
    scores = evaluate(qrels, two.map_docs("(.*)#"), "RR")
    assert scores.per_query("RR") == {"1": 1, "2": 1 / 2}
    assert {"lists", "map-docs"} <= {*codes(scores.notes)}


def test_lists_of_ids_in_several_files_are_not_one_run(tmp_path: Path) -> None:
    paths = _files(tmp_path, [["a"]], [["b"]])
    with pytest.raises(InputError, match="numbered in one file"):
        evaluate(paths[0], read_run(paths), "RR")


@pytest.mark.parametrize("form", [{"1": ["x"]}, {"1": {"x": 1.0}}])
def test_dicts_whose_form_is_spelt_like_that_of_lists_are_no_lists(form: Any) -> None:
    """It is a field that decides, and not the text that says what the data are."""
    qrels = Qrels({"1": {"x"}}).replace_fields(description="lists of grades")
    scores = evaluate(qrels, Run(form), "nDCG")
    assert scores["nDCG"] == 1
    assert not {"lists", "ideal-sorted"} & {*codes(scores.notes)}


@pytest.mark.parametrize("is_longer", [True, False])
def test_one_query_of_files_that_are_not_as_long_is_refused(
    tmp_path: Path, is_longer: bool
) -> None:
    """Its number says which it is only if both sides count alike."""
    sides = (TRUTH, RANKED[:2]) if is_longer else (TRUTH[:2], RANKED)
    qrels, run = _files(tmp_path, *sides)
    with pytest.raises(InputError, match=r"lists? of relevant documents and"):
        explain(qrels, run, "AP", 1)
    invocation = invoke("explain", qrels, run, "1", "-m", "AP")
    assert (invocation.exit_code, invocation.stdout) == (2, "")
    alike = explain(*_files(tmp_path, TRUTH, RANKED), "AP@3", 2)
    assert isinstance(alike, Explanation)
    assert alike.value == (1 / 2 + 2 / 3) / 3
