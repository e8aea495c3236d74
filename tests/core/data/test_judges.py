"""Which judgments are a model's: read from any table, kept in parts of them, and remarked."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.model_judged import COUNTS, PERSON, REMARK, ROWS, RUNS
from helpers.notes import codes, sentence

from cranfield import (
    CranfieldWarning,
    InputError,
    Qrels,
    compare,
    evaluate,
    explain,
    gate,
    read_qrels,
)


def models_of(qrels: Qrels) -> dict[tuple[str, str], str]:
    """Return {(query, document): the model that gave its grade}."""
    assert qrels.judges.code is not None
    docs = [(query, doc) for query, docs in qrels.to_dict().items() for doc in docs]
    judges = [qrels.judges.judges[code].model for code in qrels.judges.code.tolist()]
    return dict(zip(docs, judges, strict=True))


MODELS = {(row["query_id"], row["doc_id"]): row["judge_model"] for row in ROWS}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_tables_keep_who_judged(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"qrels.{suffix}"
    assert Qrels(ROWS).write(path) == []
    assert models_of(read_qrels(path)) == MODELS
    assert evaluate(str(path), RUNS["a"], "P@1").recipe["judges"] == COUNTS


def test_rows_and_frames_keep_who_judged() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS).replace("", None)
    table = frame.assign(judge_model=frame["judge_model"].astype("category"))
    unsorted_rows = [ROWS[2], ROWS[0], ROWS[3], ROWS[1]]  # a query in several places
    without_prompts = frame.drop(columns="judge_prompt")
    for data in (ROWS, frame, table, frame.to_dict("records"), unsorted_rows, without_prompts):
        assert models_of(Qrels(data)) == MODELS


def test_people_alone_leave_no_trace(tmp_path: Path) -> None:
    rows = [{**row, **PERSON} for row in ROWS]
    scores = evaluate(Qrels(rows), RUNS["a"], "P@1")
    assert "judges" not in scores.recipe
    assert "model-labels" not in codes(scores)
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,relevance\nq1,d1,1\n")
    assert read_qrels(path).judges.code is None


def test_parts_of_judgments_keep_who_judged() -> None:
    qrels = Qrels(ROWS)
    second_query = {pair: model for pair, model in MODELS.items() if pair[0] == "q2"}
    assert models_of(qrels.select_queries(["q2"])) == second_query
    sample_models = models_of(qrels.sample(3, of="judgments"))
    assert sample_models.items() <= MODELS.items()
    assert len(sample_models) == 3
    assert models_of(qrels.with_top_grade(3)) == MODELS
    mapped = {("q1", "d"): "gpt-x", ("q2", "d"): "gpt-x"}  # those of the highest grades
    assert models_of(qrels.map_docs("(.)")) == mapped


@pytest.mark.parametrize(
    ("differing", "model"), [("latest", ""), ("highest", "gpt-x"), ("mean", "gpt-x")]
)
def test_a_merged_grade_is_a_models_if_no_person_gave_it(differing: Any, model: str) -> None:
    people = {"q2": {"d1": 0, "d3": 0}, "q3": {"d1": 1}}
    merged = Qrels(ROWS).merge(people, differing=differing)
    other = {"model-y": {"query_id": "q3", "doc_id": "d9", "relevance": 1, "judge_model": "y"}}
    grade = {"latest": 0, "highest": 2, "mean": 1}[differing]
    assert merged.to_dict()["q2"] == {"d1": grade, "d3": 0}
    models = {**MODELS, ("q2", "d1"): model, ("q2", "d3"): "", ("q3", "d1"): ""}
    assert models_of(merged) == models
    more = merged.merge(Qrels([*other.values()]))
    assert models_of(more) == {**models, ("q3", "d9"): "y"}


def test_results_say_it() -> None:
    qrels = Qrels(ROWS)
    assert sentence(evaluate(qrels, RUNS["a"], "P@1").notes, "model-labels") == REMARK
    assert REMARK in compare(qrels, RUNS, "P@1").to_text()
    assert REMARK in str(gate(qrels, RUNS, "P@1", at_least={"P@1": 0.1}).notes)
    text = explain(qrels, RUNS["a"], "P@1", query="q1").to_text()
    assert "1 of 2 judgments are a model's (gpt-x, prompt graded e66336a1)" in text


def test_what_a_format_cannot_hold_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "out.qrels has no place for judge_model: that 3 judgments are a model's is not known any"
    with pytest.warns(CranfieldWarning, match="has no place for judge_model"):
        (note,) = Qrels(ROWS).write("out.qrels")
    assert note.text == f"{text} more."
    assert read_qrels("out.qrels").judges.code is None
    Qrels(ROWS).write("in.csv")
    outcome = invoke("convert", "in.csv", "out.qrels")
    assert f"warning: {text}" in " ".join(outcome.stderr.split())
    outcome = invoke("convert", "in.csv", "out.tsv")
    assert "warning" not in outcome.stderr


def test_two_files_say_both_who_judged_or_neither(tmp_path: Path) -> None:
    paths = [tmp_path / "model.csv", tmp_path / "people.csv"]
    Qrels(ROWS).write(paths[0])
    paths[1].write_text("query_id,doc_id,relevance\nq9,d1,1\n")
    with pytest.raises(InputError, match="judges"):
        read_qrels(paths)
