"""Slices of the queries: what `evaluate` says of those of each label."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.notes import codes, find_note

from cranfield import InputError, compare, evaluate
from cranfield.arrays.ranked import mean

# The one relevant document is at rank 1 for q1 and q2, at 2 for q3 and not there for q4, q5.
QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(1, 6)}
RUN = {"q1": ["a"], "q2": ["a", "b"], "q3": ["b", "a"], "q4": ["b"]}
OTHER = {"q1": ["b", "a"], "q3": ["a"], "q4": ["a"]}
TYPES = {"q1": "how to", "q2": "fact", "q3": "how to", "q5": "fact"}
RR = {"q1": 1.0, "q2": 1.0, "q3": 1 / 2, "q4": 0.0, "q5": 0.0}


def test_a_slice_is_evaluated_as_if_it_were_alone() -> None:
    scores = evaluate(QRELS, RUN, "RR P@1 GMAP num_rel_ret", slices=TYPES)
    for name in ("how to", "fact"):
        ids = [query for query, label in TYPES.items() if label == name]
        qrels = {query: QRELS[query] for query in ids}
        alone = evaluate(qrels, {query: RUN[query] for query in ids if query in RUN}, "RR P@1 GMAP")
        of_slice = scores.slice(name)
        assert list(of_slice.query_ids) == ids
        assert {m: of_slice[m] for m in ("RR", "P@1", "GMAP")} == alone.means()
        assert of_slice["RR"] == mean(np.array([RR[query] for query in ids]))
        assert of_slice.counts.without_results == alone.counts.without_results
    assert scores.slice("fact").counts.without_results == 1  # q5
    assert scores.slice("how to")["num_rel_ret"] == 1 + 1
    assert scores.means() == evaluate(QRELS, RUN, "RR P@1 GMAP num_rel_ret").means()


def test_queries_without_a_label_are_counted_and_said() -> None:
    scores = evaluate(QRELS, RUN, "RR", slices={"type": TYPES, "half": dict.fromkeys(QRELS, "x")})
    note = find_note(scores.notes, "without-label")
    assert note.queries == 1  # q4
    assert scores.slice("x", "half")["RR"] == scores["RR"]
    with pytest.raises(KeyError, match="how to"):
        scores.slice("why")
    with pytest.raises(KeyError):
        scores.slice("x", "type")


def test_labels_of_other_queries_are_refused_with_one_of_each() -> None:
    with pytest.raises(InputError, match="none of the 5 queries") as error:
        evaluate(QRELS, RUN, "RR", slices={"7": "how to"})
    assert "'q1'" in str(error.value)
    assert "'7'" in str(error.value)


def test_only_the_queries_that_are_averaged_have_a_slice() -> None:
    scores = evaluate(QRELS, OTHER, "RR", slices=TYPES, queries="both")  # q1, q3, q4
    assert [name for _, name, _ in scores.slices] == ["how to"]
    assert scores.slice("how to")["RR"] == (1 / 2 + 1) / 2
    assert scores.slice("how to").counts.without_results == 0


def test_several_runs_have_a_table_of_each_kind() -> None:
    systems = evaluate(QRELS, {"one": RUN, "two": OTHER}, "RR", slices=TYPES)
    table, of_type = systems.tables()
    assert of_type.header == ["slice", "queries", "run", "RR"]
    assert of_type.rows == [
        ["how to", "2", "one", "0.7500"],
        ["how to", "2", "two", "0.7500"],
        ["fact", "2", "one", "0.5000"],
        ["fact", "2", "two", "0.0000"],
    ]
    assert of_type.bold_cells == {(2, 3)}  # of "how to", neither is the best
    assert len(table.rows) == 2
    assert systems.slice("fact")["two"]["RR"] == 0
    assert codes(systems).count("without-label") == 1


def test_the_slices_are_those_of_a_comparison() -> None:
    runs = {"one": RUN, "two": OTHER}
    systems, comparison = (
        evaluate(QRELS, runs, "RR", slices=TYPES),
        compare(QRELS, runs, "RR", slices=TYPES, test="t"),
    )
    for name in ("how to", "fact"):
        means = {system.name: system.mean for system in comparison.slice("RR", name).systems}
        assert means == {run: of["RR"] for run, of in systems.slice(name).items()}


@pytest.fixture
def files(write: Any) -> list[str]:
    grades = ((q, d, g) for q, of in QRELS.items() for d, g in of.items())
    ranks = ((q, d, i) for q, docs in RUN.items() for i, d in enumerate(docs, 1))
    return [
        write("qrels.txt", "".join(f"{q} 0 {d} {g}\n" for q, d, g in grades)),
        write("new.run", "".join(f"{q} Q0 {d} {i} {-i} t\n" for q, d, i in ranks)),
        "--slices",
        write("types.csv", "query_id,type\n" + "".join(f"{q},{t}\n" for q, t in TYPES.items())),
    ]


def test_the_command_shows_slices_in_every_form(files: list[str], tmp_path: Path) -> None:
    outputs = [str(tmp_path / f"found.{end}") for end in ("csv", "md", "tex", "html", "jsonl")]
    process = invoke(
        "evaluate", *files, "-m", "RR", "-q", *[part for path in outputs for part in ("-o", path)]
    )
    assert process.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(Path(outputs[0]).read_text())))
    slice_rows = [row for row in rows if row["slice"]]
    assert [
        (r["label"], r["slice"], r["queries"], r["query_id"], r["value"]) for r in slice_rows
    ] == [
        ("type", "how to", "2", "all", "0.75"),
        ("type", "fact", "2", "all", "0.5"),
    ]
    assert [row["queries"] for row in rows if not row["slice"]] == ["1"] * 5 + ["5"]
    for path in outputs[1:]:
        assert "how to" in Path(path).read_text()
    document = json.loads(invoke("evaluate", *files, "-m", "RR", "--format", "json").stdout)
    (run,) = document["runs"]
    assert [
        (slice_document["slice"], slice_document["counts"]["queries"], slice_document["all"])
        for slice_document in run["slices"]
    ] == [
        ("how to", 2, {"RR": 0.75}),
        ("fact", 2, {"RR": 0.5}),
    ]


def test_scores_saved_with_slices_are_read_as_scores(files: list[str], tmp_path: Path) -> None:
    """The rows of slices are values over several queries, and no queries of their own."""
    for end in ("csv", "tsv", "jsonl", "json"):
        path = str(tmp_path / f"new.{end}")
        assert invoke("evaluate", *files, "-m", "RR", "-q", "-o", path).exit_code == 0
        assert list(compare(path).aligned.query_ids) == sorted(QRELS)


def test_a_file_of_labels_that_is_none_is_refused(files: list[str], write: Any) -> None:
    for content, problem in (("", "types"), ("query_id,type\nq9,a\n", "none of the 5 queries")):
        path = write("types2.csv", content)
        process = invoke("evaluate", *files[:2], "--slices", path)
        assert process.exit_code == 2
        assert problem in process.output
    process = invoke("evaluate", *files[:2], "--slices", "nowhere.csv")
    assert process.exit_code == 2
    assert "nowhere.csv" in process.output


def test_a_fraction_above_0_is_relevant_in_a_slice_as_in_all() -> None:
    qrels = {"q": {"a": 0.5}, "r": {"b": 0.0, "c": 0.3}, "s": {"d": 0.0}}
    labels = dict.fromkeys(qrels, "x")
    scores = evaluate(qrels, {query: ["a", "b"] for query in qrels}, "nDCG@2", slices=labels)
    assert scores.counts.without_relevant == 1  # s
    assert scores.slice("x").counts.without_relevant == 1


def test_a_label_that_is_not_there_is_named_with_those_that_are() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "P@1", slices={"q": "x"})
    with pytest.raises(KeyError, match="y: there are x"):
        scores.slice("y")
    with pytest.raises(KeyError, match="slices="):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, "P@1").slice("y")
