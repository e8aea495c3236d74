"""Two runs over all queries: which got worse, which better, against a slow loop."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.explained import explain_pair, run_explain

from cranfield import (
    MeasureError,
    QueryDifferences,
    compare,
    evaluate,
    explain,
    gate,
    read_qrels,
    read_run,
)

TWO = {"q1": {"a": 1, "b": 0}, "query two": {"a": 1}}


def explain_all(*arguments: Any, **options: Any) -> QueryDifferences:
    differences = explain(*arguments, **options)
    assert isinstance(differences, QueryDifferences)
    return differences


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "GMAP", "NumRet", "Judged@10"])
def test_the_queries_by_difference(measure: str, demo_folder: Any) -> None:
    qrels = read_qrels(demo_folder / "demo/qrels.txt")
    runs = {name: read_run(demo_folder / f"demo/{name}.run") for name in ("bm25", "tfidf")}
    values = {name: evaluate(qrels, run, measure).per_query(measure) for name, run in runs.items()}
    old, new = values["bm25"], values["tfidf"]

    def gain(query: str) -> float:
        if measure == "GMAP":
            return math.log(max(new[query], 1e-5)) - math.log(max(old[query], 1e-5))
        return float(new[query] - old[query])

    differences = explain_all(qrels, runs, measure)
    worse = sorted((query for query in old if gain(query) < -1e-9), key=lambda q: (gain(q), q))
    better = sorted((query for query in old if gain(query) > 1e-9), key=lambda q: (-gain(q), q))
    same_queries = sorted({*old} - {*worse, *better})
    queries_of_direction = {
        direction: [
            difference.query_id
            for difference in differences.queries
            if difference.direction == direction
        ]
        for direction in ("worse", "better", "same")
    }
    for direction, expected in (("worse", worse), ("better", better), ("same", same_queries)):
        sizes = [round(abs(gain(query)), 9) for query in queries_of_direction[direction]]
        assert sizes == sorted(sizes, reverse=True)
        assert sorted(queries_of_direction[direction]) == sorted(expected)
    assert [difference.query_id for difference in differences.queries] == [
        query for queries in queries_of_direction.values() for query in queries
    ]
    assert differences.counts == {
        direction: len(queries) for direction, queries in queries_of_direction.items()
    }
    for difference in differences.queries:
        assert (difference.left, difference.right) == (
            old[difference.query_id],
            new[difference.query_id],
        )
        assert difference.difference == new[difference.query_id] - old[difference.query_id]
        assert (difference.ratio is not None) == (measure == "GMAP")
        if difference.ratio is not None:
            assert difference.ratio == pytest.approx(math.exp(gain(difference.query_id)), rel=1e-12)
    assert differences.left == evaluate(qrels, runs["bm25"], measure)[measure]
    assert differences.right == evaluate(qrels, runs["tfidf"], measure)[measure]


def test_where_less_is_better_more_is_worse() -> None:
    runs = {"x": {"q1": ["a"], "query two": ["a"]}, "y": {"q1": ["b", "a"], "query two": ["a"]}}
    differences = explain_all(TWO, runs, "LastRel")
    assert [
        (difference.query_id, difference.difference, difference.direction)
        for difference in differences.queries
    ] == [
        ("q1", 2 - 1, "worse"),
        ("query two", 0, "same"),
    ]
    assert "LastRel: less is better." in differences.tables()[0].notes


def test_equal_differences_are_in_the_order_of_their_ids() -> None:
    qrels = {query: {"a": 1} for query in ("q3", "q1", "q2")}
    runs = [{query: ["a"] for query in qrels}, {query: ["b", "a"] for query in qrels}]
    assert [difference.query_id for difference in explain_all(qrels, runs, "AP").queries] == [
        "q1",
        "q2",
        "q3",
    ]


def test_what_changed_is_shown_and_how_to_explain_it() -> None:
    runs = {"x": {"q1": ["a"], "query two": ["b", "a"]}, "y": {"q1": ["b"], "query two": ["a"]}}
    differences = explain_all(TWO, runs, "AP")
    (table,) = differences.tables()
    assert table.rows == [
        ["q1", "1.0000", "0.0000", "-1.0000", "worse"],
        ["query two", "0.5000", "1.0000", "+0.5000", "better"],
    ]
    assert table.ruled_rows == {1}
    assert table.title[1] == "y is worse on 1 query, better on 1, the same on 0"
    assert any("-m AP --query q1" in note for note in table.notes)
    (table,) = differences.tables(1)
    assert (len(table.rows), table.ruled_rows) == (1, frozenset())
    assert "Not shown: 1 better." in table.notes
    far = [[f"d{i}" for i in range(n)] + ["a"] for n in (999, 1000)]
    tiny = explain_all(TWO, [{"q1": docs} for docs in far], "RR").tables()[0]
    assert tiny.rows[0][3] == f"{1 / 1001 - 1 / 1000:+.2g}"

    none = explain_all(TWO, [runs["x"], runs["x"]], "AP")
    assert none.counts == {"worse": 0, "better": 0, "same": 2}
    assert none.tables()[0].rows == []
    assert "No query changed." in none.tables()[0].notes


def test_a_query_alone_or_named_is_explained_by_its_documents() -> None:
    runs = {"x": {"q1": ["a"]}, "y": {"q1": ["b"]}}
    assert explain_pair({"q1": {"a": 1}}, runs, "AP").query == "q1"
    assert explain_pair(TWO, runs, "AP", "query two").difference == 0
    with pytest.raises(MeasureError):
        explain(TWO, runs, "RelString")


def test_only_queries_that_both_are_scored_on_are_compared() -> None:
    runs = {"x": {"q1": ["a"], "query two": ["a"]}, "y": {"q1": ["a"]}}
    differences = explain_all(TWO, runs, "AP", queries="both")
    assert [difference.query_id for difference in differences.queries] == ["q1"]
    assert [difference.query_id for difference in explain_all(TWO, runs, "AP").queries] == [
        "query two",
        "q1",
    ]
    assert differences.options == {"queries": "both"}


def test_rows_and_dict_have_every_query() -> None:
    runs = {"x": {"q1": ["a"], "query two": ["b", "a"]}, "y": {"q1": ["a"], "query two": ["a"]}}
    differences = explain_all(TWO, runs, "AP")
    assert [row["direction"] for row in differences.rows()] == ["better", "same"]
    assert differences.to_dict()["queries"] == differences.rows()
    assert differences.to_dict()["counts"] == dict(
        Counter(row["direction"] for row in differences.rows())
    ) | {"worse": 0}


def test_the_command_answers_with_the_list(
    demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    files = ["demo/qrels.txt", "demo/bm25.run", "demo/tfidf.run"]
    outcome = run_explain(*files)
    assert outcome.exit_code == 0
    assert "worse on 16 queries, better on 10, the same on 14" in outcome.stdout
    outcome = run_explain(*files, "--limit", "3", "--format", "csv")
    assert len(outcome.stdout.splitlines()) == 1 + 40


def test_a_gate_and_a_comparison_say_how_to_explain_the_worst() -> None:
    old = {f"q {i}": 0.5 for i in range(20)}
    new = {query: 0.1 + i / 100 for i, query in enumerate(old)}
    failed = gate({"old": {"AP": old}, "new": {"AP": new}}, baseline="old", margin=0.01)
    assert failed.outcome == "FAIL"
    _, worst = failed.tables()
    assert [row[2] for row in worst.rows] == [f"q {i}" for i in range(5)]
    assert any("-m AP --query 'q 0'" in note for note in worst.notes)
    passed = gate({"old": old, "new": old}, baseline="old", margin=0.01)
    assert len(passed.tables()) == 1
    table = compare({"old": old, "new": new}).tables(changes=3)[-1]
    assert any("explain ... --query 'q 0'" in note for note in table.notes)
