"""Labels that come back: from tables, Label Studio and Argilla, checked and merged."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.notes import codes
from helpers.profile import repetitions

from cranfield import InputError, OptionError, Qrels, collect, evaluate, pool, read_qrels
from cranfield.extensions.labels.label_files import read_labels

JUDGED = {"q1": {"x": 1}, "q2": {"x": 1}}
RUNS = {"a": {"q1": ["d1", "d2", "d3"], "q2": ["d1", "d4"]}, "b": {"q1": ["d5", "d1"]}}
POOL_PAIRS = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q1", "d5"), ("q2", "d1"), ("q2", "d4")]


def make_pool(**options: Any) -> Any:
    return pool(JUDGED, RUNS, **options)


def tasks(**options: Any) -> list[dict[str, Any]]:
    return json.loads(make_pool(**options).to_label_studio())  # type: ignore[no-any-return]


def annotate(task: dict[str, Any], label: Any, person: Any = 1, **fields: Any) -> dict[str, Any]:
    answer = {"choices": [label]} if isinstance(label, str) else {"rating": label}
    annotation_result = {
        "from_name": "relevance",
        "to_name": "text",
        "type": "choices",
        "value": answer,
    }
    annotation = {
        "completed_by": person,
        "was_cancelled": False,
        "result": [annotation_result],
        **fields,
    }
    return {**task, "id": 3, "annotations": [*task.get("annotations", []), annotation]}


def test_a_csv_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "ann.csv"
    rows = make_pool().rows()
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "relevance": len(row["doc_id"]) % 3} for row in rows)
    labels = collect(path, pool=make_pool())
    assert labels.pairs == POOL_PAIRS
    assert {row["assessor"] for row in labels.rows()} == {"ann"}
    assert (labels.missing, labels.notes) == ([], ())
    assert labels.qrels().to_dict() == read_qrels(path).to_dict()
    (assessor,) = labels.assessors
    assert (assessor.labels, assessor.relevant, assessor.shared) == (6, 6, 0)


def test_label_studio_comes_back_with_who_labelled() -> None:
    first, second, third, *other_tasks = tasks()
    assert {*first["data"]} == {"query_id", "doc_id"}
    export = [
        annotate(annotate(first, "2", {"id": 4, "email": "ann@example.org"}), 1, 5),
        annotate(second, "0", 5),
        annotate(third, "1", 5, was_cancelled=True),
        *({**task, "annotations": []} for task in other_tasks),
    ]
    labels = collect(export, pool=make_pool(), differing="highest")
    pair = (first["data"]["query_id"], first["data"]["doc_id"])
    assert dict(zip(labels.pairs, labels.grades, strict=True))[pair] == 2
    assert {assessor.assessor: assessor.labels for assessor in labels.assessors} == {
        "ann@example.org": 1,
        "5": 2,
    }
    note_text = " ".join(str(note) for note in labels.notes)
    assert "1 label left out, discarded by the person" in note_text
    assert "1 document labelled by several assessors" in note_text
    assert "1 document with different labels: the highest grade counts" in note_text
    assert "4 of 6 documents have no label" in note_text
    labels_of_person = collect(export, assessor="5")
    assert {assessor.assessor for assessor in labels_of_person.assessors} == {"5"}
    with pytest.raises(OptionError, match=r"the labels are by ann@example\.org, 5"):
        collect(export, assessor="bob")


IDS = {"query_id": "q1", "doc_id": "d1"}
NO_LISTS: tuple[Any, ...] = (5, True, "abc", {"a": 1}, [5], ["abc"], [[]], [None])


@pytest.mark.parametrize("value", NO_LISTS)
@pytest.mark.parametrize("part", ["an annotation", "a result of an annotation", "a response"])
def test_json_that_is_no_list_of_objects_is_refused(part: str, value: Any, tmp_path: Path) -> None:
    records = {
        "an annotation": {"data": IDS, "annotations": value},
        "a result of an annotation": {"data": IDS, "annotations": [{"result": value}]},
        "a response": {"fields": {}, "metadata": IDS, "responses": {"relevance": value}},
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps([records[part]]))
    for labels in (path, [records[part]]):
        with pytest.raises(InputError, match=f"row 0: expected {part}, an object in a list, got"):
            collect(labels)


@pytest.mark.parametrize("value", [None, []])
def test_a_task_without_annotations_has_no_label(value: Any) -> None:
    for record in (
        {"data": IDS, "annotations": value},
        {"data": IDS, "annotations": [{"result": value}]},
        {"fields": {}, "metadata": IDS, "responses": {"relevance": value}},
    ):
        assert [label.label for label in read_labels([record])] == [None]


def test_label_studio_as_short_json() -> None:
    rows = [{**task["data"], "relevance": "1", "annotator": 7} for task in tasks()]
    rows[0]["relevance"] = {"choices": ["2"]}
    labels = collect(rows)
    assert sorted(labels.grades) == [1, 1, 1, 1, 1, 2]
    assert [assessor.assessor for assessor in labels.assessors] == ["7"]


def test_argilla_comes_back() -> None:
    records = json.loads(make_pool().to_argilla())
    assert {*records[0]} == {"id", "fields", "metadata", "suggestions", "responses", "vectors"}
    assert len({record["id"] for record in records}) == 6
    for i, record in enumerate(records):
        record["responses"] = {"relevance": [{"value": str(i % 3), "user_id": "u1"}]}
    records[0]["responses"]["relevance"].append({"value": 0, "user_id": "u2"})
    records[1]["responses"]["comment"] = [{"value": "what a text", "user_id": "u1"}]
    records[2]["responses"] = {"comment": [{"value": "5", "user_id": "u1"}]}
    records[3]["responses"] = {}
    labels = collect(records, pool=make_pool(), differing="highest")
    assert {assessor.assessor: assessor.labels for assessor in labels.assessors} == {
        "u1": 4,
        "u2": 1,
    }
    assert len(labels.missing) == 2
    for record in records:
        record["responses"] = {"a": [{"value": 1}], "b": [{"value": 1}]}
    with pytest.raises(InputError, match="several questions have an answer: a, b"):
        collect(records)


def test_texts_are_for_the_people_and_ids_for_the_way_back() -> None:
    texts = {"q1": "what\nis it", "q2": "why"}
    docs = [{"_id": f"d{i}", "title": f"T{i}", "text": f"body {i}"} for i in range(1, 5)]
    sample = pool(JUDGED, RUNS, query_texts=texts, doc_texts=docs)
    assert sample.header == ("query_id", "query_text", "doc_id", "document_text", "relevance")
    row_of_pair = {(row["query_id"], row["doc_id"]): row for row in sample.rows()}
    assert row_of_pair["q1", "d2"]["query_text"] == "what is it"
    assert row_of_pair["q1", "d2"]["document_text"] == "T2: body 2"
    assert row_of_pair["q1", "d5"]["document_text"] is None
    assert "1 of 5 documents have no text" in str(sample)
    for task in json.loads(sample.to_label_studio()):
        task_data = task["data"]
        text = row_of_pair[task_data["query_id"], task_data["doc_id"]]["document_text"]
        assert task_data["document_text"] == (
            text or task_data["doc_id"]
        )  # the tool takes texts alone
    fields = {record["fields"]["document"] for record in json.loads(sample.to_argilla())}
    assert fields == {*(f"T{i}: body {i}" for i in range(1, 5)), "d5"}


def test_words_become_grades() -> None:
    labels = [("q1", "d1", "yes"), ("q1", "d2", "no"), ("q1", "d3", 2)]
    labels_read = collect({"ann": labels}, grades_of="no=0, yes=1")
    assert dict(zip(labels_read.pairs, labels_read.grades, strict=True)) == {
        ("q1", "d1"): 1,
        ("q1", "d2"): 0,
        ("q1", "d3"): 2,
    }
    with pytest.raises(InputError, match="expected a grade, got 'yes'"):
        collect({"ann": labels})
    collected_grades = collect({"ann": labels}, errors="skip")
    assert "2 labels left out, of no grade: 'yes', 'no'." in str(collected_grades)
    assert collect({"ann": [("q1", "d1", "YES ")]}, grades_of={"yes": 1}).grades == [1]
    for bad_grades in ("no", "=1", {}, {"no": "x"}, 3):
        with pytest.raises(OptionError, match="grades of labels"):
            collect({"ann": labels}, grades_of=bad_grades)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("differing", "expected"), [("latest", 0), ("highest", 2), ("majority", 1)]
)
def test_different_labels_of_one_document(differing: Any, expected: int) -> None:
    grades_of_names = (("a", 1), ("b", 2), ("c", 1), ("d", 0))
    labels = {name: [("q", "d", grade)] for name, grade in grades_of_names}
    assert collect(labels, differing=differing).grades == [expected]
    with pytest.raises(InputError, match="different labels: 1 by a, 2 by b, 1 by c, 0 by d"):
        collect(labels)
    assert collect(labels, assessor="b").grades == [2]


def test_a_grade_below_0_is_no_label() -> None:
    labels = {"a": [("q1", "d1", -1), ("q1", "d2", 1)]}
    for options in ({}, {"pool": make_pool()}):
        with pytest.raises(InputError, match="expected a grade, got -1"):
            collect(labels, **options)
        labels_read = collect(labels, errors="skip", **options)
        assert (labels_read.pairs, labels_read.grades) == ([("q1", "d2")], [1])
        counts = {note.code: note.count for note in labels_read.notes}
        assert counts["left-out"] == 1
    with pytest.raises(OptionError, match="grades of labels"):
        collect(labels, grades_of={"junk": -1})


def test_one_question_counts_in_all_of_a_file() -> None:
    first, second, *_ = tasks()
    comment = {"from_name": "comment", "value": {"text": ["5"]}}
    with_comment = annotate(first, "1")
    with_comment["annotations"][0]["result"].append(comment)
    comment_alone = {**second, "annotations": [{"completed_by": 1, "result": [comment]}]}
    labels_read = collect([with_comment, comment_alone])
    assert (labels_read.grades, len(labels_read.missing)) == ([1], 1)
    collected_comment = collect([comment_alone])
    assert collected_comment.grades == [5]
    repeated_task = annotate(first, "1")
    repeated_task["annotations"][0]["result"] *= 2
    with pytest.raises(InputError, match="expected one label"):
        collect([repeated_task])
    collected_labels = collect([repeated_task, annotate(second, "1")], errors="skip")
    assert (collected_labels.grades, collected_labels.notes[0].count) == ([1], 1)


def test_the_newest_annotation_is_the_latest() -> None:
    task = annotate(tasks()[0], "2", 1, updated_at="2026-02-01T00:00:00Z")
    task = annotate(task, "0", 2, updated_at="2026-01-01T00:00:00Z")
    assert collect([task], differing="latest").grades == [2]


def test_files_of_one_name_and_one_file_twice(tmp_path: Path) -> None:
    paths = []
    for i, folder in enumerate(("x", "y")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "ann.csv")
        paths[-1].write_text(f"query_id,doc_id,relevance\nq,d{i},1\n")
    assert {assessor.assessor for assessor in collect(paths).assessors} == {*map(str, paths)}
    with pytest.raises(InputError, match="a file is named twice"):
        collect([paths[0], paths[0]])


def test_who_labelled_nothing_is_shown() -> None:
    rows = [{"query_id": "q", "doc_id": "d", "relevance": None}]
    labels_read = collect({"ann": [("q", "d", 1)], "ben": rows, "cy": []})
    assert {assessor.assessor: assessor.labels for assessor in labels_read.assessors} == {
        "ann": 1,
        "ben": 0,
        "cy": 0,
    }


def test_of_one_person_the_last_label_counts_once() -> None:
    ann = [("q", "d", 0), ("q", "d", 0), ("q", "d", 0)]
    labels = {"ann": ann, "ben": [("q", "d", 2)], "cy": [("q", "d", 2)]}
    assert collect(labels, differing="majority").grades == [2]


def test_a_number_is_a_word_too() -> None:
    labels_read = collect({"a": [("q", "d", 1.0), ("q", "e", "2.0")]}, grades_of="1=0,2=1,3=2")
    assert labels_read.grades == [0, 1]
    assert "Words of grades_of (--grades-of) that are no label: '3'." in str(labels_read)


def test_a_word_may_hold_a_comma() -> None:
    labels_read = collect(
        {"a": [("q", "d", "no, off topic"), ("q", "e", "yes")]}, grades_of="no, off topic=0, yes=1"
    )
    assert labels_read.grades == [0, 1]


def test_how_documents_were_drawn_is_told_by_all_rows_or_none() -> None:
    rows = [{"query_id": "q", "doc_id": doc, "relevance": 1} for doc in "ab"]
    partial_rows = [{**rows[0], "probability": 0.5}, {**rows[1], "probability": None}]
    with pytest.raises(InputError, match="some rows tell how their documents were drawn"):
        collect(partial_rows)
    differing_rows = [{**rows[0], "probability": 0.5}, {**rows[0], "probability": 0.9}]
    with pytest.raises(InputError, match="drawn in another way above"):
        collect(differing_rows)
    with pytest.raises(InputError, match="expected a number as probability, got 'half'"):
        collect([{**rows[0], "probability": "half"}])
    assert "No pool is stated" in str(collect(rows))


def test_tasks_are_a_pool_and_show_no_rank() -> None:
    sample = make_pool(by="chance", n=4, likely="rank")
    label_tasks = json.loads(sample.to_label_studio())
    assert {name for task in label_tasks for name in task["data"]} == {"query_id", "doc_id"}
    assert {name for record in json.loads(sample.to_argilla()) for name in record["metadata"]} == {
        *("query_id", "doc_id"),
    }
    labels = [(task["data"]["query_id"], task["data"]["doc_id"], 1) for task in label_tasks]
    labels_of_tasks = collect({"a": labels[:3]}, pool=label_tasks)
    assert labels_of_tasks.missing == [labels[3][:2]]
    assert "tasks" in codes(labels_of_tasks)
    table = [{"qid": query, "docid": doc, "rel": None} for query, doc, _ in labels]
    assert "tasks" not in codes(collect({"a": labels}, pool=table))
    labels_read = collect({"a": labels}, pool=sample)
    expected = {(row["query_id"], row["doc_id"]): row["probability"] for row in sample.rows()}
    probability_of_pair = {
        (row["query_id"], row["doc_id"]): row["probability"] for row in labels_read.rows()
    }
    assert probability_of_pair == expected


def test_labels_twice_by_one_person_are_counted() -> None:
    labels_read = collect({"a": [("q", "d", 1), ("q", "d", 1), ("q", "e", 0)]})
    assert "1 document labelled twice by one assessor" in str(labels_read)
    assert labels_read.assessors[0].labels == 2


def test_what_nobody_asked_for_is_refused_or_counted() -> None:
    labels = [(*pair, 1) for pair in POOL_PAIRS] + [("q9", "d1", 1)]
    with pytest.raises(
        InputError, match="a document that is not in the pool: query 'q9', document 'd1', by a"
    ):
        collect({"a": labels}, pool=make_pool())
    labels_read = collect({"a": labels}, pool=make_pool(), errors="skip")
    assert "1 label left out, of a document that nobody asked for" in str(labels_read)
    assert labels_read.pairs == POOL_PAIRS
    with pytest.raises(InputError, match="has a label in the pool"):
        collect({"a": labels}, pool=labels)


def test_how_documents_were_drawn_comes_back() -> None:
    sample = make_pool(by="chance", strata={1: 1, 9: 0.5})
    undrawn_rows = [row for row in sample.rows() if row["relevance"] == -1]
    export = [annotate(task, "1") for task in json.loads(sample.to_label_studio())]
    assert len(undrawn_rows) + len(export) == 6
    labels_read = collect(export, pool=sample)
    assert labels_read.header == (
        *("query_id", "doc_id", "relevance", "stratum", "probability", "assessor"),
    )
    row_of_pair = {(row["query_id"], row["doc_id"]): row for row in labels_read.rows()}
    for row in sample.rows():
        collected_row = row_of_pair[row["query_id"], row["doc_id"]]
        assert (collected_row["stratum"], collected_row["probability"]) == (
            row["stratum"],
            row["probability"],
        )
        assert collected_row["relevance"] == (-1 if row["relevance"] == -1 else 1)
    direct_rows = [
        {**row, "relevance": 1 if row["relevance"] is None else -1} for row in sample.rows()
    ]
    for measure in ("xinfAP", "statAP"):
        for run in RUNS.values():
            collected_scores = evaluate(labels_read.qrels(), run, measure, queries="both")
            direct_scores = evaluate(Qrels(direct_rows), run, measure, queries="both")
            assert collected_scores.per_query(measure) == direct_scores.per_query(measure)
    pair = (undrawn_rows[0]["query_id"], undrawn_rows[0]["doc_id"])
    with pytest.raises(InputError, match="was not drawn"):
        collect({"a": [(*pair, 1)]}, pool=sample)


def test_a_pool_that_is_not_that_of_the_sample_is_refused() -> None:
    sample = make_pool(by="chance", strata={1: 1, 9: 0.5})
    rows = [{**row, "relevance": row["relevance"] or 0} for row in sample.rows()]
    with pytest.raises(InputError, match=r"how it was drawn \(stratum, probability\)") as raised:
        collect(rows, pool=make_pool())
    assert "--pool sample.csv" in str(raised.value)
    assert "probability" in collect(rows, pool=sample).header
    assert "probability" in collect(rows).header


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query_id,doc_id\nq,d\n", "has no column relevance"),
        ("query_id,doc_id,relevance\nq,d,\n", "no document has a label"),
        ("query_id,doc_id,relevance\nq,d,nan\n", "expected a grade, got 'nan'"),
        ('{"q": {"d": 1}}', "holds no labels of documents"),
        ('[{"data": {"text": "x"}, "annotations": []}]', "does not name its query_id and doc_id"),
        ('[{"data": {"query_id": 1, "doc_id": 2}, "annotations": [3]}]', "expected an annotation"),
        (
            '[{"data": {"query_id": 1, "doc_id": 2}, "annotations": [{"result": ['
            '{"from_name": "relevance", "value": {"choices": ["1", "2"]}}]}]}]',
            "expected one label",
        ),
        ('[{"fields": {}, "responses": {}}]', "has no metadata"),
        ('[{"fields": {}, "metadata": {"query_id": 1, "doc_id": 1}, "responses": 3}]', "expected"),
        ("\x00\x01", "binary"),
    ],
)
def test_broken_files_are_refused_in_words(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        collect(path)
    outcome = invoke("collect", str(path))
    assert outcome.exit_code == 2
    assert "labels.json" in outcome.output


def test_the_command(tmp_path: Path, demo_folder: Path) -> None:
    demo = demo_folder / "demo"
    files = [str(demo / "qrels.txt"), str(demo / "bm25.run")]
    sample, export = tmp_path / "pool.csv", tmp_path / "tasks.label-studio.json"
    drawing = [
        "--by",
        "chance",
        "--strata",
        "10=100%,20=50%",
        "--topics",
        str(demo / "queries.tsv"),
    ]
    outcome = invoke("pool", *files, *drawing, "-o", str(sample), "-o", str(export))
    assert outcome.exit_code == 0, outcome.output
    assert "best rank 11 to 20" in outcome.output
    label_tasks = json.loads(export.read_text())
    assert label_tasks[0]["data"]["query_text"]
    truth = read_qrels(files[0]).to_dict()
    for task in label_tasks:
        task_data = task["data"]
        grade = truth[task_data["query_id"]].get(task_data["doc_id"], 0)
        task["annotations"] = annotate({}, str(grade))["annotations"]
    export.write_text(json.dumps(label_tasks))
    labels = tmp_path / "labels.csv"
    outcome = invoke("collect", str(export), "--pool", str(sample), "-o", str(labels))
    assert outcome.exit_code == 0, outcome.output
    n = len(label_tasks)
    assert f"{n:,} documents with a label" in outcome.output
    outcome_of_scores = invoke(
        "evaluate", str(labels), files[1], "-m", "xinfAP", "--format", "json"
    )
    assert outcome_of_scores.exit_code == 0, outcome_of_scores.output
    for form in ("x.json", "x.md"):
        outcome_of_form = invoke("collect", str(export), "-o", str(tmp_path / form))
        assert outcome_of_form.exit_code == 2
        assert "labels are read back from" in outcome_of_form.output


def test_a_share_of_each_stratum_is_drawn() -> None:
    """Each document is drawn as often as its probability says; one of each stratum at least."""
    runs = {"a": {"q1": [f"d{i}" for i in range(20)], "q2": ["e1", "e2"]}}
    n_trials, counts = repetitions(400), dict[str, int]()
    options: Any = {"by": "chance", "strata": "5=100%,20=20%"}
    for seed in range(n_trials):
        sample = pool({"q1": {}, "q2": {"e9": 1}}, runs, seed=seed, **options)
        rows = {(row["query_id"], row["doc_id"]): row for row in sample.rows()}
        drawn_rows = {key: row for key, row in rows.items() if row["relevance"] is None}
        assert len(rows) == 22
        assert sum(row["stratum"] == 2 for row in drawn_rows.values()) == 3  # .2 of 15
        assert {row["probability"] for row in rows.values() if row["stratum"] == 2} == {3 / 15}
        for _, doc in drawn_rows:
            counts[doc] = counts.get(doc, 0) + 1
    assert all(counts[doc] == n_trials for doc in ("d0", "d4", "e1", "e2"))
    error = np.sqrt(n_trials * 0.2 * 0.8)
    assert all(abs(counts[f"d{i}"] - n_trials * 0.2) < 4.5 * error for i in range(5, 20))


def test_statistical_ap_of_strata_is_right_on_average() -> None:
    """The sums of statAP, over all seeds tried, are near those of all judgments."""
    n_trials = repetitions(300)
    chance = np.random.default_rng(5)
    docs = [f"d{i:02}" for i in range(40)]
    truth = {"q": {doc: int(chance.random() < 0.4) for doc in docs}}
    run = {"q": docs}
    true_score = evaluate(truth, run, "AP")["AP"]
    # Of 300 samples the mean is within 0.03; the error of fewer is greater by the root.
    max_error = 0.03 * (300 / n_trials) ** 0.5
    for measure in ("statAP", "xinfAP"):
        estimates = []
        for seed in range(n_trials):
            sample = pool({"q": {}}, run, by="chance", strata={10: 1, 40: 0.3}, seed=seed).rows()
            label_rows = [
                {**row, "relevance": truth["q"][row["doc_id"]] if row["relevance"] is None else -1}
                for row in sample
            ]
            estimates.append(evaluate(Qrels(label_rows), run, measure)[measure])
        assert true_score is not None
        assert abs(np.mean(estimates) - true_score) < max_error, measure
