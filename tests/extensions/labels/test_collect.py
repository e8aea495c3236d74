"""Labels that come back: from tables, Label Studio and Argilla, checked and merged."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions

from cranfield import InputError, OptionError, Qrels, collect, evaluate, pool, read_qrels
from cranfield.extensions.labels.label_files import read_labels

JUDGED = {"q1": {"x": 1}, "q2": {"x": 1}}
RUNS = {"a": {"q1": ["d1", "d2", "d3"], "q2": ["d1", "d4"]}, "b": {"q1": ["d5", "d1"]}}
ASKED = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q1", "d5"), ("q2", "d1"), ("q2", "d4")]


def asked(**options: Any) -> Any:
    return pool(JUDGED, RUNS, **options)


def tasks(**options: Any) -> list[dict[str, Any]]:
    return json.loads(asked(**options).to_label_studio())  # type: ignore[no-any-return]


def annotated(task: dict[str, Any], label: Any, who: Any = 1, **more: Any) -> dict[str, Any]:
    value = {"choices": [label]} if isinstance(label, str) else {"rating": label}
    result = {"from_name": "relevance", "to_name": "text", "type": "choices", "value": value}
    annotation = {"completed_by": who, "was_cancelled": False, "result": [result], **more}
    return {**task, "id": 3, "annotations": [*task.get("annotations", []), annotation]}


def test_a_csv_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "ann.csv"
    rows = asked().rows()
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "relevance": len(row["doc_id"]) % 3} for row in rows)
    found = collect(path, pool=asked())
    assert found.pairs == ASKED
    assert {row["assessor"] for row in found.rows()} == {"ann"}
    assert (found.missing, found.notes) == ([], ())
    assert found.qrels().to_dict() == read_qrels(path).to_dict()
    (one,) = found.assessors
    assert (one.labels, one.relevant, one.shared) == (6, 6, 0)


def test_label_studio_comes_back_with_who_labelled() -> None:
    first, second, third, *rest = tasks()
    assert {*first["data"]} == {"query_id", "doc_id"}
    export = [
        annotated(annotated(first, "2", {"id": 4, "email": "ann@example.org"}), 1, 5),
        annotated(second, "0", 5),
        annotated(third, "1", 5, was_cancelled=True),
        *({**one, "annotations": []} for one in rest),
    ]
    found = collect(export, pool=asked(), differing="highest")
    pair = (first["data"]["query_id"], first["data"]["doc_id"])
    assert dict(zip(found.pairs, found.grades, strict=True))[pair] == 2
    assert {one.assessor: one.labels for one in found.assessors} == {"ann@example.org": 1, "5": 2}
    said = " ".join(str(one) for one in found.notes)
    assert "1 label left out, discarded by the person" in said
    assert "1 document labelled by several people" in said
    assert "1 document with different labels: the highest grade counts" in said
    assert "4 of 6 documents have no label" in said
    alone = collect(export, assessor="5")
    assert {one.assessor for one in alone.assessors} == {"5"}
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
    rows = [{**one["data"], "relevance": "1", "annotator": 7} for one in tasks()]
    rows[0]["relevance"] = {"choices": ["2"]}
    found = collect(rows)
    assert sorted(found.grades) == [1, 1, 1, 1, 1, 2]
    assert [one.assessor for one in found.assessors] == ["7"]


def test_argilla_comes_back() -> None:
    records = json.loads(asked().to_argilla())
    assert {*records[0]} == {"id", "fields", "metadata", "suggestions", "responses", "vectors"}
    assert len({one["id"] for one in records}) == 6
    for i, one in enumerate(records):
        one["responses"] = {"relevance": [{"value": str(i % 3), "user_id": "u1"}]}
    records[0]["responses"]["relevance"].append({"value": 0, "user_id": "u2"})
    records[1]["responses"]["comment"] = [{"value": "what a text", "user_id": "u1"}]
    records[2]["responses"] = {"comment": [{"value": "5", "user_id": "u1"}]}
    records[3]["responses"] = {}
    found = collect(records, pool=asked(), differing="highest")
    assert {one.assessor: one.labels for one in found.assessors} == {"u1": 4, "u2": 1}
    assert len(found.missing) == 2
    for one in records:
        one["responses"] = {"a": [{"value": 1}], "b": [{"value": 1}]}
    with pytest.raises(InputError, match="several questions have an answer: a, b"):
        collect(records)


def test_texts_are_for_the_people_and_ids_for_the_way_back() -> None:
    texts = {"q1": "what\nis it", "q2": "why"}
    docs = [{"_id": f"d{i}", "title": f"T{i}", "text": f"body {i}"} for i in range(1, 5)]
    found = pool(JUDGED, RUNS, query_texts=texts, doc_texts=docs)
    assert found.header == ("query_id", "query_text", "doc_id", "document_text", "relevance")
    by_pair = {(row["query_id"], row["doc_id"]): row for row in found.rows()}
    assert by_pair["q1", "d2"]["query_text"] == "what is it"
    assert by_pair["q1", "d2"]["document_text"] == "T2: body 2"
    assert by_pair["q1", "d5"]["document_text"] is None
    assert "1 of 5 documents have no text" in str(found)
    for one in json.loads(found.to_label_studio()):
        data = one["data"]
        text = by_pair[data["query_id"], data["doc_id"]]["document_text"]
        assert data["document_text"] == (text or data["doc_id"])  # the tool takes texts alone
    fields = {one["fields"]["document"] for one in json.loads(found.to_argilla())}
    assert fields == {*(f"T{i}: body {i}" for i in range(1, 5)), "d5"}


def test_words_become_grades() -> None:
    given = [("q1", "d1", "yes"), ("q1", "d2", "no"), ("q1", "d3", 2)]
    found = collect({"ann": given}, grades_of="no=0, yes=1")
    assert dict(zip(found.pairs, found.grades, strict=True)) == {
        ("q1", "d1"): 1,
        ("q1", "d2"): 0,
        ("q1", "d3"): 2,
    }
    with pytest.raises(InputError, match="expected a grade, got 'yes'"):
        collect({"ann": given})
    left = collect({"ann": given}, errors="skip")
    assert "2 labels left out, of no grade: 'yes', 'no'." in str(left)
    assert collect({"ann": [("q1", "d1", "YES ")]}, grades_of={"yes": 1}).grades == [1]
    for wrong in ("no", "=1", {}, {"no": "x"}, 3):
        with pytest.raises(OptionError, match="grades of labels"):
            collect({"ann": given}, grades_of=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("differing", "expected"), [("latest", 0), ("highest", 2), ("majority", 1)]
)
def test_different_labels_of_one_document(differing: Any, expected: int) -> None:
    graded = (("a", 1), ("b", 2), ("c", 1), ("d", 0))
    given = {name: [("q", "d", grade)] for name, grade in graded}
    assert collect(given, differing=differing).grades == [expected]
    with pytest.raises(InputError, match="different labels: 1 by a, 2 by b, 1 by c, 0 by d"):
        collect(given)
    assert collect(given, assessor="b").grades == [2]


def test_a_grade_below_0_is_no_label() -> None:
    given = {"a": [("q1", "d1", -1), ("q1", "d2", 1)]}
    for options in ({}, {"pool": asked()}):
        with pytest.raises(InputError, match="expected a grade, got -1"):
            collect(given, **options)
        found = collect(given, errors="skip", **options)
        assert (found.pairs, found.grades) == ([("q1", "d2")], [1])
        counts = {note.code: note.count for note in found.notes}
        assert counts["left-out"] == 1
    with pytest.raises(OptionError, match="grades of labels"):
        collect(given, grades_of={"junk": -1})


def test_one_question_counts_in_all_of_a_file() -> None:
    first, second, *_ = tasks()
    comment = {"from_name": "comment", "value": {"text": ["5"]}}
    with_comment = annotated(first, "1")
    with_comment["annotations"][0]["result"].append(comment)
    alone = {**second, "annotations": [{"completed_by": 1, "result": [comment]}]}
    found = collect([with_comment, alone])
    assert (found.grades, len(found.missing)) == ([1], 1)
    only = collect([alone])
    assert only.grades == [5]
    twice = annotated(first, "1")
    twice["annotations"][0]["result"] *= 2
    with pytest.raises(InputError, match="expected one label"):
        collect([twice])
    left = collect([twice, annotated(second, "1")], errors="skip")
    assert (left.grades, left.notes[0].count) == ([1], 1)


def test_the_newest_annotation_is_the_latest() -> None:
    task = annotated(tasks()[0], "2", 1, updated_at="2026-02-01T00:00:00Z")
    task = annotated(task, "0", 2, updated_at="2026-01-01T00:00:00Z")
    assert collect([task], differing="latest").grades == [2]


def test_files_of_one_name_and_one_file_twice(tmp_path: Path) -> None:
    paths = []
    for i, folder in enumerate(("x", "y")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "ann.csv")
        paths[-1].write_text(f"query_id,doc_id,relevance\nq,d{i},1\n")
    assert {one.assessor for one in collect(paths).assessors} == {*map(str, paths)}
    with pytest.raises(InputError, match="a file is named twice"):
        collect([paths[0], paths[0]])


def test_who_labelled_nothing_is_shown() -> None:
    rows = [{"query_id": "q", "doc_id": "d", "relevance": None}]
    found = collect({"ann": [("q", "d", 1)], "ben": rows, "cy": []})
    assert {one.assessor: one.labels for one in found.assessors} == {"ann": 1, "ben": 0, "cy": 0}


def test_of_one_person_the_last_label_counts_once() -> None:
    ann = [("q", "d", 0), ("q", "d", 0), ("q", "d", 0)]
    given = {"ann": ann, "ben": [("q", "d", 2)], "cy": [("q", "d", 2)]}
    assert collect(given, differing="majority").grades == [2]


def test_a_number_is_a_word_too() -> None:
    found = collect({"a": [("q", "d", 1.0), ("q", "e", "2.0")]}, grades_of="1=0,2=1,3=2")
    assert found.grades == [0, 1]
    assert "Words of grades_of (--grades-of) that are no label: '3'." in str(found)


def test_a_word_may_hold_a_comma() -> None:
    found = collect(
        {"a": [("q", "d", "no, off topic"), ("q", "e", "yes")]}, grades_of="no, off topic=0, yes=1"
    )
    assert found.grades == [0, 1]


def test_how_documents_were_drawn_is_told_by_all_rows_or_none() -> None:
    rows = [{"query_id": "q", "doc_id": doc, "relevance": 1} for doc in "ab"]
    some = [{**rows[0], "probability": 0.5}, {**rows[1], "probability": None}]
    with pytest.raises(InputError, match="some rows tell how their documents were drawn"):
        collect(some)
    other = [{**rows[0], "probability": 0.5}, {**rows[0], "probability": 0.9}]
    with pytest.raises(InputError, match="drawn in another way above"):
        collect(other)
    with pytest.raises(InputError, match="expected a number as probability, got 'half'"):
        collect([{**rows[0], "probability": "half"}])
    assert "No pool is stated" in str(collect(rows))


def test_tasks_are_a_pool_and_show_no_rank() -> None:
    sample = asked(by="chance", n=4, likely="rank")
    written = json.loads(sample.to_label_studio())
    assert {name for one in written for name in one["data"]} == {"query_id", "doc_id"}
    assert {name for one in json.loads(sample.to_argilla()) for name in one["metadata"]} == {
        *("query_id", "doc_id"),
    }
    given = [(one["data"]["query_id"], one["data"]["doc_id"], 1) for one in written]
    assert collect({"a": given[:3]}, pool=written).missing == [given[3][:2]]
    with_probability = collect({"a": given}, pool=sample)
    expected = {(row["query_id"], row["doc_id"]): row["probability"] for row in sample.rows()}
    found = {
        (row["query_id"], row["doc_id"]): row["probability"] for row in with_probability.rows()
    }
    assert found == expected


def test_labels_twice_by_one_person_are_counted() -> None:
    found = collect({"a": [("q", "d", 1), ("q", "d", 1), ("q", "e", 0)]})
    assert "1 document labelled twice by one person" in str(found)
    assert found.assessors[0].labels == 2


def test_what_nobody_asked_for_is_refused_or_counted() -> None:
    given = [(*pair, 1) for pair in ASKED] + [("q9", "d1", 1)]
    with pytest.raises(
        InputError, match="a document that is not in the pool: query 'q9', document 'd1', by a"
    ):
        collect({"a": given}, pool=asked())
    found = collect({"a": given}, pool=asked(), errors="skip")
    assert "1 label left out, of a document that nobody asked for" in str(found)
    assert found.pairs == ASKED
    with pytest.raises(InputError, match="has a label in the pool"):
        collect({"a": given}, pool=given)


def test_how_documents_were_drawn_comes_back() -> None:
    sample = asked(by="chance", strata={1: 1, 9: 0.5})
    undrawn = [row for row in sample.rows() if row["relevance"] == -1]
    export = [annotated(one, "1") for one in json.loads(sample.to_label_studio())]
    assert len(undrawn) + len(export) == 6
    found = collect(export, pool=sample)
    assert found.header == (
        *("query_id", "doc_id", "relevance", "stratum", "probability", "assessor"),
    )
    by_pair = {(row["query_id"], row["doc_id"]): row for row in found.rows()}
    for row in sample.rows():
        one = by_pair[row["query_id"], row["doc_id"]]
        assert (one["stratum"], one["probability"]) == (row["stratum"], row["probability"])
        assert one["relevance"] == (-1 if row["relevance"] == -1 else 1)
    direct = [{**row, "relevance": 1 if row["relevance"] is None else -1} for row in sample.rows()]
    for measure in ("xinfAP", "statAP"):
        for run in RUNS.values():
            ours = evaluate(found.qrels(), run, measure, queries="both")
            theirs = evaluate(Qrels(direct), run, measure, queries="both")
            assert ours.per_query(measure) == theirs.per_query(measure)
    pair = (undrawn[0]["query_id"], undrawn[0]["doc_id"])
    with pytest.raises(InputError, match="was not drawn"):
        collect({"a": [(*pair, 1)]}, pool=sample)


@pytest.mark.parametrize(
    ("content", "said"),
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
def test_broken_files_are_refused_in_words(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        collect(path)
    done = invoke("collect", str(path))
    assert done.exit_code == 2
    assert "labels.json" in done.output


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
    done = invoke("pool", *files, *drawing, "-o", str(sample), "-o", str(export))
    assert done.exit_code == 0, done.output
    assert "best rank 11 to 20" in done.output
    written = json.loads(export.read_text())
    assert written[0]["data"]["query_text"]
    truth = read_qrels(files[0]).to_dict()
    for one in written:
        data = one["data"]
        grade = truth[data["query_id"]].get(data["doc_id"], 0)
        one["annotations"] = annotated({}, str(grade))["annotations"]
    export.write_text(json.dumps(written))
    labels = tmp_path / "labels.csv"
    done = invoke("collect", str(export), "--pool", str(sample), "-o", str(labels))
    assert done.exit_code == 0, done.output
    n = len(written)
    assert f"{n:,} documents with a label" in done.output
    scored = invoke("evaluate", str(labels), files[1], "-m", "xinfAP", "--format", "json")
    assert scored.exit_code == 0, scored.output
    for form in ("x.json", "x.md"):
        refused = invoke("collect", str(export), "-o", str(tmp_path / form))
        assert refused.exit_code == 2
        assert "labels are read back from" in refused.output


def test_a_share_of_each_stratum_is_drawn() -> None:
    """Each document is drawn as often as its probability says; one of each stratum at least."""
    runs = {"a": {"q1": [f"d{i}" for i in range(20)], "q2": ["e1", "e2"]}}
    times, counts = repetitions(400), dict[str, int]()
    how: Any = {"by": "chance", "strata": "5=100%,20=20%"}
    for seed in range(times):
        found = pool({"q1": {}, "q2": {"e9": 1}}, runs, seed=seed, **how)
        rows = {(row["query_id"], row["doc_id"]): row for row in found.rows()}
        drawn = {key: row for key, row in rows.items() if row["relevance"] is None}
        assert len(rows) == 22
        assert sum(row["stratum"] == 2 for row in drawn.values()) == 3  # .2 of 15
        assert {row["probability"] for row in rows.values() if row["stratum"] == 2} == {3 / 15}
        for _, doc in drawn:
            counts[doc] = counts.get(doc, 0) + 1
    assert all(counts[doc] == times for doc in ("d0", "d4", "e1", "e2"))
    error = np.sqrt(times * 0.2 * 0.8)
    assert all(abs(counts[f"d{i}"] - times * 0.2) < 4.5 * error for i in range(5, 20))


def test_statistical_ap_of_strata_is_right_on_average() -> None:
    """The sums of statAP, over all seeds tried, are near those of all judgments."""
    times = repetitions(300)
    chance = np.random.default_rng(5)
    docs = [f"d{i:02}" for i in range(40)]
    truth = {"q": {doc: int(chance.random() < 0.4) for doc in docs}}
    run = {"q": docs}
    whole = evaluate(truth, run, "AP")["AP"]
    # Of 300 samples the mean is within 0.03; the error of fewer is greater by the root.
    most = 0.03 * (300 / times) ** 0.5
    for measure in ("statAP", "xinfAP"):
        values = []
        for seed in range(times):
            sample = pool({"q": {}}, run, by="chance", strata={10: 1, 40: 0.3}, seed=seed).rows()
            labelled = [
                {**row, "relevance": truth["q"][row["doc_id"]] if row["relevance"] is None else -1}
                for row in sample
            ]
            values.append(evaluate(Qrels(labelled), run, measure)[measure])
        assert whole is not None
        assert abs(np.mean(values) - whole) < most, measure
