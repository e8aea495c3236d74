"""Rows of both sides as a newcomer gives them: two tables, and messages where one stumbles."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.commands import invoke
from helpers.notes import codes

from cranfield import (
    CranfieldWarning,
    InputError,
    Qrels,
    Run,
    Systems,
    compare,
    evaluate,
    explain,
    gate,
    read_qrels,
)
from cranfield.data.sketch import QuerySketch
from cranfield.data.spelling import find_lookalikes

OLD: list[dict[str, Any]] = [
    {"question": "How?", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a"]},
    {"question": "Why?", "expected_ids": ["c"], "retrieved_ids": ["c", "a"]},
]
NEW = [{**row, "retrieved_ids": [*row["expected_ids"], "z"]} for row in OLD]
MEANS = {"old": (1 / 2 + 1) / 2, "new": (2 / 2 + 1) / 2}  # of recall


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return the paths of two tables, old.json and new.json."""
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, rows in zip(paths, (OLD, NEW), strict=True):
        path.write_text(json.dumps(rows))
    return str(paths[0]), str(paths[1])


def means(systems: Any) -> dict[str, float]:
    assert isinstance(systems, Systems)
    return {name: scores["R@5"] for name, scores in systems.items()}


# ---- two tables of both sides are two systems ----------------------------------------


def test_two_files_are_two_systems_as_on_the_command_line(files: tuple[str, str]) -> None:
    old, new = files
    assert means(evaluate(old, new, "R@5")) == MEANS
    assert means(evaluate(Path(old), [new], "R@5")) == MEANS
    assert means(evaluate(old, [old, new], "R@5")) == MEANS
    assert means(evaluate(old, {"new": new}, "R@5")) == MEANS
    process = invoke("evaluate", old, new, "-m", "R@5", "--format", "json")
    runs = json.loads(process.stdout)["runs"]
    assert {run["run"]: run["all"]["R@5"] for run in runs} == MEANS


@pytest.mark.parametrize("make", [list, pd.DataFrame, pl.DataFrame])
def test_two_tables_in_memory_are_two_systems(make: Callable[..., Any]) -> None:
    scores: Any = evaluate(make(OLD), make(NEW), "R@5")
    assert list(means(scores).values()) == list(MEANS.values())
    scores = evaluate(OLD, {"new": make(NEW)}, "R@5")
    assert list(means(scores).values()) == list(MEANS.values())


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries differ
def test_the_verbs_take_two_tables_as_two_systems(files: tuple[str, str]) -> None:
    paths_by_name = dict(zip(("old", "new"), files, strict=True))
    assert compare(*files, "RR R@5").rows() == compare(paths_by_name, "RR R@5").rows()
    options: Any = {"baseline": "old", "margin": 0.1}
    assert gate(*files, "RR", **options).verdicts == gate(paths_by_name, "RR", **options).verdicts
    assert explain(*files, "RR").rows() == explain(paths_by_name, "RR").rows()
    assert explain(*files, "RR", "How?").rows() == explain(paths_by_name, "RR", "How?").rows()


def test_other_expected_ids_are_refused_where_they_were_dropped_once(
    files: tuple[str, str], tmp_path: Path
) -> None:
    old, _ = files
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{**row, "expected_ids": ["z"]} for row in NEW]))
    with pytest.raises(InputError, match="differ: query 'How") as caught:
        evaluate(old, str(other), "R@5")
    assert "read_qrels(path)" in str(caught.value.hint)
    # So the hint's own words are the way out.
    assert evaluate(read_qrels(old), str(other), "R@5")["R@5"] == (2 / 2 + 1 / 1) / 2
    assert evaluate(Qrels(OLD), Run(NEW), "R@5")["R@5"] == MEANS["new"]
    columns = ["--qrels-columns", "query_id=question,doc_id=expected_ids"]
    process = invoke("evaluate", old, str(other), "-m", "R@5", *columns, "--format", "json")
    [run] = json.loads(process.stdout)["runs"]
    assert run["all"]["R@5"] == (2 / 2 + 1 / 1) / 2


def test_one_table_in_both_places_and_tables_of_one_side_stay_what_they_are(
    files: tuple[str, str],
) -> None:
    old, _ = files
    systems: Any = evaluate(old, Path(old), "R@5")
    assert systems["R@5"] == MEANS["old"]
    old_rows: Any = OLD
    new_rows: Any = NEW
    assert evaluate(old_rows, old_rows, "R@5")["R@5"] == MEANS["old"]
    sides: Any = {"qrels": {"query_id": "question"}, "run": {"query_id": "question"}}
    assert evaluate(old_rows, new_rows, "R@5", columns=sides)["R@5"] == MEANS["new"]
    # A grade and a score are beside each other: a file like this may be either side.
    long: list[Any] = [{"qid": "q", "doc": "a", "label": 1, "score": 1.0}]
    other: Any = [{**long[0], "score": 2.0}]
    assert evaluate(long, other, "RR")["RR"] == 1
    fields = [("query_id", "U9"), ("doc_id", "U9"), ("relevance", "i8")]
    judged = np.array([("q", "a", 1)], fields)
    run = np.array([("q", "a", 1)], [*fields[:2], ("score", "f8")])
    assert evaluate(judged, run, "RR")["RR"] == 1


# ---- messages where one stumbles --------------------------------------------

EMPTY: list[dict[str, Any]] = [
    *OLD,
    {"question": "Nobody knows?", "expected_ids": [], "retrieved_ids": ["a"]},
]


def test_questions_that_expect_nothing_are_said_to_count(tmp_path: Path) -> None:
    [note] = [note for note in evaluate(EMPTY, "R@5").notes if note.code == "without-relevant"]
    assert "queries='relevant' (--queries relevant)" in note.text
    assert evaluate(EMPTY, "R@5")["R@5"] == (1 / 2 + 1 + 0) / 3
    assert evaluate(EMPTY, "R@5", queries="relevant")["R@5"] == (1 / 2 + 1) / 2
    path = tmp_path / "rag.csv"
    rows = (f"{r['question']},{';'.join(r['expected_ids'])},{r['retrieved_ids'][0]}" for r in EMPTY)
    path.write_text("question,expected_ids,retrieved_ids\n" + "\n".join(rows))
    with pytest.raises(InputError, match="'expected_ids' is empty") as caught:
        evaluate(path, "R@5")
    assert caught.value.line == 4
    scores = evaluate(path, "R@5", errors="skip")
    [note] = [note for note in scores.notes if note.code == "without-judgments"]
    assert "2 of 3 queries" in note.text


def test_queries_without_a_relevant_document_come_last() -> None:
    worse = [*EMPTY, {"question": "Zero?", "expected_ids": ["a"], "retrieved_ids": ["z"]}]
    explanations: Any = explain(worse, measure="R@5")
    assert [explanation.query_id for explanation in explanations.queries] == [
        "Zero?",
        "How?",
        "Why?",
        "Nobody knows?",
    ]
    assert explanations.queries[-1].share == 1 / (1 + 1 + 1 / 2)
    assert "1 of them without a relevant document" in str(explanations.tables(1)[0].notes)


def test_a_baseline_is_a_system_by_its_name_or_its_file(files: tuple[str, str]) -> None:
    old, new = files
    options: Any = {"margin": 0.1, "measures": "RR"}
    by_name = gate([old, new], baseline="old", **options)
    assert gate([old, new], baseline=old, **options).verdicts == by_name.verdicts
    with pytest.raises(InputError, match="this file is not"):
        gate(new, baseline=old, **options)
    with pytest.raises(InputError, match="not a list"):
        gate(NEW, baseline=OLD, **options)  # type: ignore[arg-type] # which is refused
    with pytest.raises(InputError, match="no such file, and no system"):
        gate(new, baseline="none.json", **options)


def test_at_least_is_written_with_an_equals_sign_or_as_one_reads_it(
    files: tuple[str, str],
) -> None:
    forms: list[Any] = ["recall@5=0.75", "recall@5>=0.75", "recall@5 >= 0.75"]
    for mapping in forms:
        assert gate(files[0], at_least=mapping).passed, mapping
        assert invoke("gate", files[0], "--at-least", mapping).exit_code == 0
        assert not gate(files[0], at_least=mapping.replace("75", "76")).passed


CHUNKS = [{**row, "retrieved_ids": [f"{doc}#3" for doc in row["retrieved_ids"]]} for row in NEW]


def test_chunks_beside_documents_are_answered_with_the_pattern(tmp_path: Path) -> None:
    with pytest.warns(CranfieldWarning) as caught:
        evaluate(CHUNKS, "R@5")
    pattern = "^([^#]*)"
    assert f"Run.map_docs({pattern!r}) (--map-docs-pattern '{pattern}')" in str(caught[0].message)
    assert evaluate(Qrels(CHUNKS), Run(CHUNKS).map_docs(pattern), "R@5")["R@5"] == MEANS["new"]
    [kind] = find_lookalikes([QuerySketch("q", ["d_1", "d_2"], [], ["d_1_7", "d_2_8"])])
    assert r"'^(.*?(?:_\d+){0,1})(?:_\d+)?$'" in kind.remedy, (
        "the sign is part of the documents' ids, too"
    )
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps([CHUNKS[0], OLD[1]]))
    process = invoke("evaluate", str(path), "-m", "R@5", "--map-docs-pattern", "^(.*)#")
    assert process.exit_code == 2
    assert f"'{pattern}' takes such an id as it is" in process.stderr
    process = invoke("evaluate", str(path), "-m", "R@5", "--map-docs-pattern", pattern)
    assert process.exit_code == 0
    options = ["--map-docs-pattern", "^(.*)/", "--errors", "skip"]
    assert "rows of the run left out" in invoke("evaluate", str(path), *options).stderr
    evaluate_any: Any = evaluate
    with pytest.raises(TypeError, match=r"Run\(rows\).map_docs"):
        evaluate_any(CHUNKS, "R@5", map_docs=pattern)


def test_a_path_in_the_place_of_data_is_answered_with_what_reads_it() -> None:
    for make, reader in ((Run, "read_run"), (Qrels, "read_qrels")):
        with pytest.raises(InputError) as caught:
            make("old.json")
        assert f"{reader}('old.json')" in str(caught.value.hint)


def test_options_for_the_worst_queries_point_to_explain(files: tuple[str, str]) -> None:
    for words in (("evaluate", "--worst"), ("evaluate", "--sort"), ("compare", "-q")):
        process = invoke(words[0], *files, words[1])
        assert process.exit_code == 2
        assert "`cranfield explain`" in process.stderr
    assert "cranfield explain" in invoke("evaluate", *files, "-q", "--format", "table").stdout


def test_words_of_a_question_name_it(files: tuple[str, str], tmp_path: Path) -> None:
    questions = ["Who pays for it?", "Who may log in?", "Where does it log?"]
    path = tmp_path / "asked.json"
    path.write_text(json.dumps([{**OLD[0], "question": question} for question in questions]))
    for words, expected in (
        ("who log", questions[1:2]),
        ("log", questions[1:]),
        ("pays", questions[:1]),
    ):
        hint = invoke("explain", str(path), words).stderr
        assert [
            question for question in questions if repr(question) in hint.split("They have")[0]
        ] == expected


def test_a_second_column_of_retrieved_ids_is_named() -> None:
    rows = [{**row, "retrieved_ids_2": NEW[i]["retrieved_ids"]} for i, row in enumerate(OLD)]
    for table in (rows, pd.DataFrame(rows)):
        assert codes(evaluate(table, "R@2")) == ["other-columns"]
        scores = evaluate(table, "R@5", columns={"retrieved_ids": "retrieved_ids_2"})
        assert scores["R@5"] == MEANS["new"]


def test_two_runs_on_one_question_show_what_each_retrieved() -> None:
    [table] = explain(OLD, NEW, "R@5", "How?").tables()
    assert [row[:4] for row in table.rows] == [
        ["b", "1", "-", "2"],
        ["x", "-", "1", "-"],
        ["a", "1", "2", "1"],
        ["z", "-", "-", "3"],
    ]
    assert table.ruled_rows == {1}
    assert all(cell == "" for row in table.rows[1:] for cell in row[4:])


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    for command in ("evaluate", "compare", "gate"):
        process = invoke(command, str(tmp_path / "none.json"), "-m", "R@5")
        assert "No such file" in process.stderr.splitlines()[0], command


def test_an_id_twice_in_a_list_is_not_to_be_ranked_by_its_score() -> None:
    with pytest.raises(InputError) as caught:
        evaluate([{**OLD[0], "retrieved_ids": ["a", "a"]}], "R@5")
    assert "'best'" not in str(caught.value.hint)
    rows_of_system = [("q", "a", 1.0), ("q", "a", 2.0)]
    with pytest.raises(InputError) as caught:
        evaluate({"q": {"a": 1}}, rows_of_system, "R@5")
    assert "'best'" in str(caught.value.hint)
