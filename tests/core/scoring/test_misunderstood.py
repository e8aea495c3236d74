"""What newcomers type who have clicks in frames, or lists of lists: taken, or answered."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import cranfield
from cranfield import (
    AP,
    Explanation,
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    compare,
    evaluate,
    explain,
    nDCG,
)
from cranfield.cli import cli

CLICKS = pd.DataFrame({"user": ["u1", "u2"], "item": ["a", "b"]})
RECS = pd.DataFrame({"member": ["u1", "u2"], "sku": ["x", "b"], "guess": [0.4, 0.5]})
USUAL = RECS.rename(columns={"member": "user", "sku": "item", "guess": "score"})
COLUMNS = {"query_id": "member", "doc_id": "sku", "score": "guess"}
ACTUAL, RANKINGS = [[1, 3], [2]], [[3, 9, 1], [9, 2]]


# ---- columns ------------------------------------------------------------------------------------


def test_the_error_shows_columns_of_its_side_in_a_form_that_every_call_takes() -> None:
    with pytest.raises(InputError) as caught:
        evaluate(CLICKS, RECS, "RR")
    assert "columns={'query_id': ..., 'doc_id': ..., 'score': ...}" in str(caught.value)
    assert evaluate(CLICKS, RECS, "RR", columns={"run": COLUMNS})["RR"] == 1 / 2
    user_columns: Any = {"run": COLUMNS}
    assert evaluate(CLICKS, Run(RECS, columns=user_columns), "RR")["RR"] == 1 / 2
    mine: Any = {"qrels": {"query_id": "member", "doc_id": "sku", "relevance": None}}
    assert len(Qrels(RECS, columns=mine)) == 2


def test_columns_of_the_run_alone_are_taken_by_the_run() -> None:
    assert evaluate(CLICKS, RECS, "RR", columns=COLUMNS)["RR"] == (0 + 1) / 2


def test_a_run_with_columns_of_its_own_stands_beside_a_usual_one(tmp_path: Path) -> None:
    usual, own_names, clicks = (tmp_path / name for name in ("usual.csv", "own.csv", "clicks.csv"))
    for frame, path in ((USUAL, usual), (RECS, own_names), (CLICKS, clicks)):
        frame.to_csv(path, index=False)
    option = "query_id=member,doc_id=sku,score=guess"
    arguments = ["evaluate", str(clicks), str(usual), str(own_names), "-m", "RR"]
    process = CliRunner().invoke(cli, [*arguments, "--run-columns", option])
    assert process.exit_code == 0, process.stderr
    assert process.stdout.count(f"{(0 + 1) / 2:.4f}") == 2


def test_a_name_is_a_text() -> None:
    with pytest.raises(OptionError, match="columns="):
        Run(RECS, COLUMNS)  # type: ignore[arg-type]


def test_ids_that_became_fractions() -> None:
    with pytest.raises(InputError) as caught:
        evaluate(CLICKS.assign(user=[1.0, np.nan]), USUAL, "RR")
    assert "['user'].astype('Int64')" in str(caught.value.hint)


def test_labels_may_be_a_column_with_an_index() -> None:
    labels = pd.Series(["old", "new"], index=["u1", "u2"], name="kind")
    for labels_of_queries, label in ((labels, "kind"), (labels.rename(None), "slice")):
        scores = evaluate(CLICKS, USUAL, "RR", slices=labels_of_queries)
        assert [(kind, name) for kind, name, _ in scores.slices] == [(label, "old"), (label, "new")]
        assert scores.slice("new")["RR"] == 1


# ---- lists --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AP(ACTUAL, RANKINGS), "evaluate(actual, predicted, 'AP')"),
        (lambda: (AP @ 5)(ACTUAL, RANKINGS), "evaluate(actual, predicted, 'AP@5')"),
        (lambda: explain(ACTUAL[0], RANKINGS[0], "AP"), "explain([qrels], [run], ...)"),
        (lambda: evaluate(["a", "b"], ["b"], "AP"), "evaluate([qrels], [runs], ...)"),
        (lambda: evaluate([3, 2, 0, 1], "nDCG"), "evaluate(*grades([3, 2, 0, 1]), 'nDCG')"),
        (lambda: explain([3, 2, 0, 1], "nDCG"), "explain(*grades([3, 2, 0, 1]), 'nDCG')"),
    ],
)
def test_one_list_or_several(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value.hint)


def test_what_they_are_told_works() -> None:
    assert evaluate(ACTUAL, RANKINGS, "AP")["AP"] == ((1 + 2 / 3) / 2 + 1 / 2) / 2
    explanation = explain([ACTUAL[0]], [RANKINGS[0]], "AP")
    assert isinstance(explanation, Explanation)
    assert explanation.value == (1 + 2 / 3) / 2
    assert AP(ACTUAL[0], RANKINGS[0]) == (1 + 2 / 3) / 2


def test_a_query_in_the_place_of_the_measure() -> None:
    with pytest.raises(MeasureError, match="qrels, run, measure, query"):
        explain(ACTUAL, RANKINGS, "1", "AP")


@pytest.mark.parametrize("verb", [evaluate, compare, cranfield.gate])
def test_several_runs_are_one_argument(verb: Any) -> None:
    with pytest.raises(TypeError, match=rf"{verb.__name__}\(qrels, \[one, other\], \.\.\.\)"):
        verb(CLICKS, USUAL, USUAL, "RR")


@pytest.mark.parametrize("run", [USUAL, Run({"q": ["a"]}), {"q": ["a"]}])
def test_a_run_in_the_place_of_measures(run: Any) -> None:
    for verb in (evaluate, explain):
        with pytest.raises(MeasureError, match="several runs in one list"):
            verb(CLICKS, USUAL, run)


def test_a_list_of_ids_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[1, 3, 5]")
    with pytest.raises(InputError) as caught:
        evaluate(path, path, "AP")
    assert "[[1, 3, 5]]" in str(caught.value.hint)


@pytest.mark.parametrize("grade_text", ["[3, 2, 0, 1]", "[3,2,0,1]", "q1: [3 2 0 1]"])
def test_grades_with_brackets(grade_text: str) -> None:
    process = CliRunner().invoke(
        cli, ["evaluate", "--grades", grade_text, "-m", "nDCG", "--format", "json"]
    )
    assert process.exit_code == 0, process.stderr
    assert f"{nDCG([3, 2, 0, 1])!r}" in process.stdout


# ---- names --------------------------------------------------------------------------------------


def test_to_import_the_package_still_loads_no_measure() -> None:
    code = "import sys, cranfield; assert not any('measures' in name for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["apk", "mapk"])
def test_ml_metrics_names(name: str) -> None:
    with pytest.raises(AttributeError, match=r"AP\(over='reachable'\)@k"):
        getattr(cranfield, name)
    with pytest.raises(MeasureError, match=r"AP\(over='reachable'\)@k"):
        evaluate(ACTUAL, RANKINGS, f"{name}@2")


def test_help_says_how_a_measure_is_called() -> None:
    page = " ".join(str(AP.__doc__).split())
    assert "AP(['d1', 'd3'], ['d3', 'd2'])" in page
    assert "(AP@5)(truth, ranking)" in page
    assert AP(["d1", "d3"], ["d3", "d2"]) == 1 / 2
    assert "(P@5)(['d1', 'd3'], ['d3', 'd2'])" in " ".join(str(cranfield.P.__doc__).split())


# ---- families -----------------------------------------------------------------------------------


def _family(**options: Any) -> list[tuple[int | None, str]]:
    baseline_scores = {f"q{i}": 0.2 for i in range(12)}
    system_scores = {f"q{i}": 0.2 + 0.01 * (i + 1) * (1 if i < 10 else -1) for i in range(12)}
    scores_of_system = {
        name: {"AP": scores, "RR": scores, "P@1": scores}
        for name, scores in (("a", baseline_scores), ("b", system_scores))
    }
    comparison = compare(scores_of_system, **options)
    return [(note.count, note.text) for note in comparison.notes if note.code == "family"]


def test_corrections_are_within_a_measure_and_that_is_said() -> None:
    ((count, text),) = _family()
    assert count == 3
    notes = compare({"a": {"q": 1.0}, "b": {"q": 0.0}}).notes
    assert "family" not in {note.code for note in notes}  # one measure
    assert not _family(family="all")
    assert not _family(correction="none")
    assert "--family all" in text


def test_what_all_together_would_leave_is_what_it_leaves() -> None:
    old = {f"q{i}": 0.1 for i in range(8)}
    sure = {f"q{i}": 0.1 + 0.1 * (i + 1) for i in range(8)}  # p = 2 / 2^8
    less = {**sure, "q0": 0.0, "q1": 0.0}
    scores_of_system = {
        "a": {"AP": old, "RR": old, "P@1": old},
        "b": {"AP": sure, "RR": less, "P@1": less},
    }
    alone, together = compare(scores_of_system), compare(scores_of_system, family="all")
    n_alone, n_together = (
        sum(verdicts["b"].verdict is not None for verdicts in comparison.results)
        for comparison in (alone, together)
    )
    (note,) = [note for note in alone.notes if note.code == "family"]
    assert 0 < n_together < n_alone
    assert f"keeps {n_together} of {n_alone} marks" in note.text
