"""How agreement reads judgments and runs: names of columns, documents that occur twice, faults."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import invoke
from helpers.notes import codes

from cranfield import Agreement, InputError, OptionError, Qrels, Run, agreement, collect
from cranfield.errors import DuplicateError

A = [("q1", "a", 1), ("q1", "b", 0), ("q1", "b", 1), ("q2", "a", 1), ("q2", "b", 0)]
B = [("q1", "a", 1), ("q1", "b", 1), ("q2", "a", 0), ("q2", "b", 1)]
RUN = [("q1", "b", 3.0), ("q1", "a", 2.0), ("q1", "b", 1.0), ("q2", "a", 2.0), ("q2", "b", 1.0)]
OTHER = [("q1", "a", 2.0), ("q1", "b", 1.0), ("q2", "a", 2.0), ("q2", "b", 1.0)]


def orderings(assessment_shown: Agreement) -> list[Any]:
    """Return what a result says of the systems, as plain values."""
    return [stability.to_dict() for stability in assessment_shown.orderings]


@pytest.mark.parametrize(("duplicates", "grade"), [("first", 0), ("best", 1)])
def test_of_a_document_twice_one_row_counts(duplicates: Any, grade: int) -> None:
    unique_grades: dict[str, dict[str, int]] = {"q1": {"a": 1, "b": grade}, "q2": {"a": 1, "b": 0}}
    runs = {"x": Run(RUN), "y": Run(OTHER)}
    unique_runs = {
        "x": {"q1": ["b", "a"], "q2": ["a", "b"]},
        "y": {"q1": ["a", "b"], "q2": ["a", "b"]},
    }
    assessment = agreement(A, B, runs, "RR", duplicates=duplicates, mixtures=20)
    expected = agreement(unique_grades, B, unique_runs, "RR", mixtures=20)
    assert assessment.pooled == expected.pooled
    assert orderings(assessment) == orderings(expected)
    assert assessment.recipe["duplicates"] == duplicates
    rates = {0: {0: 3, 1: 1}, 1: {1: 1}}
    rate_assessment = agreement(
        A, None, runs, "RR", confusion=rates, duplicates=duplicates, mixtures=20
    )
    expected = agreement(unique_grades, None, unique_runs, "RR", confusion=rates, mixtures=20)
    assert orderings(rate_assessment) == orderings(expected)
    for either_assessment in (assessment, rate_assessment):
        assert codes(either_assessment.on_judgments).count("duplicates") == 1
        assert codes(either_assessment.on_runs).count("duplicates") == 1


def test_duplicates_are_refused_unless_stated() -> None:
    with pytest.raises(DuplicateError, match="'b' occurs twice for query 'q1'"):
        agreement(A, B)
    with pytest.raises(DuplicateError, match="'b' occurs twice for query 'q1'"):
        agreement(B, A)
    with pytest.raises(DuplicateError, match="'b' occurs twice for query 'q1'"):
        agreement(B, B, [RUN])


def test_options_of_a_ranking_are_none_of_it() -> None:
    with pytest.raises(TypeError, match="'depth'"):
        agreement(B, B, depth=3)  # type: ignore[call-arg]


def test_names_of_columns() -> None:
    column_names = ["who", "what", "how good"]
    first, second = (pd.DataFrame(rows, columns=column_names) for rows in (A[:2] + A[3:], B))
    run = pd.DataFrame(OTHER, columns=["who", "what", "points"])
    columns = {"query_id": "who", "doc_id": "what"}
    columns_of_files: Any = {
        "qrels": {**columns, "relevance": "how good"},
        "run": {**columns, "score": "points"},
    }
    assessment = agreement(first, second, run, "RR", columns=columns_of_files, mixtures=20)
    expected = agreement(A[:2] + A[3:], B, OTHER, "RR", mixtures=20)
    assert assessment.to_dict() == expected.to_dict()
    assert agreement(first, second, columns=columns_of_files["qrels"]).pooled == expected.pooled
    with pytest.raises(InputError, match="no file has a column 'who'"):
        agreement(Qrels(B), {"q1": {"a": 1}}, columns=columns)


def test_what_is_left_out_is_said_without_runs_too(tmp_path: Path) -> None:
    lines = ["q1 0 a 1", "q1 0 b 0", "q1 0 b 1", "q2 0 a"]
    files = [tmp_path / "a.qrels", tmp_path / "b.qrels"]
    files[0].write_text("\n".join([*lines, ""]))
    files[1].write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in B))
    arguments = ["agreement", *map(str, files)]
    for options, text in (
        (["--errors", "skip"], "a.qrels:3"),
        (["--duplicates", "best"], "a.qrels:4"),
    ):
        outcome = invoke(*arguments, *options)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert text in outcome.output
    outcome = invoke(*arguments, "--duplicates", "best", "--errors", "skip", "--format", "json")
    notes = json.loads(outcome.stdout)["notes"]
    assert {(note["code"], note["source"]) for note in notes if "source" in note} == {
        ("left-out", "A"),
        ("duplicates", "A"),
        ("in-one", "B"),
    }
    output = invoke(*arguments, "--duplicates", "best", "--errors", "skip").stdout
    assert "errors='skip'" in output
    assert "duplicates='best'" in output


def test_exclusions_are_refused_where_no_run_is_read() -> None:
    qrels = {"q1": {"d1": 1, "d2": 0}}
    with pytest.raises(OptionError, match="leaves documents out of runs, and no run"):
        agreement(qrels, qrels, without=["d1"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'without'"):
        collect([("q1", "d1", 1)], without=["d1"])  # type: ignore[call-arg]
