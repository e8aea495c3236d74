"""Notes on data are those without buckets."""

from pathlib import Path
from typing import Any

import pytest
from helpers.notes import codes

from cranfield import CranfieldWarning, evaluate


def test_judged_only_counts_the_same_some_queries_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q 0 a 1\np 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 x 1 2 t\nq Q0 a 2 1 t\np Q0 z 1 1 t\n")
    paths = tmp_path / "a.qrels", tmp_path / "a.run"
    scores = evaluate(*paths, "RR", judged_only=True, buckets=2)
    assert [note.count for note in scores.notes if note.code == "judged-only"] == [2]


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_judgments_given_twice_are_warned_of(write: Any) -> None:
    """As rows of a run, or as documents that are those expected."""
    rows = [f"q{i},{doc},{grade}\n" for i in range(20) for doc, grade in (("a", 1), ("b", 2))]
    path = write("qrels.csv", "".join(["query_id,doc_id,score\n", *rows]))
    assert "qrels-as-run" in codes(evaluate(path, path, "RR", buckets=3))
    sides: Any = [
        {"query_id": f"q{i}", "expected_ids": ["a", "b"], "retrieved_ids": ["b", "a"]}
        for i in range(20)
    ]
    assert "qrels-as-run" in codes(evaluate(sides, "R@5", buckets=2))


def test_scores_that_rise_are_warned_of() -> None:
    run = {f"q{i}": [("a", 0.25), ("b", 0.5), ("c", 0.75)] for i in range(4)}
    rows: Any = [(query, doc, score) for query, docs in run.items() for doc, score in docs]
    with pytest.warns(CranfieldWarning, match="are they distances"):
        evaluate({query: {"a": 1, "b": 0, "c": 0} for query in run}, rows, "RR", buckets=2)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_ties_lengths_and_gaps_are_those_of_all_queries(tmp_path: Path) -> None:
    """Of parts of the queries, some without a tie, and some with ties alone."""
    rows = [
        f"q{q} Q0 d{d} {1 + d * (1 + q % 2)} {9 - d // (1 + q // 10)} t\n"
        for q in range(20)
        for d in range(4 + q % 3)
    ]
    (tmp_path / "a.run").write_text("".join(rows))
    (tmp_path / "b.run").write_text("".join(row for row in rows if " d0 " in row or " d1 " in row))
    judged = [f"q{q} 0 {doc} 1\n" for q in range(20) for doc in ("d1", "d2", "z")]
    (tmp_path / "a.qrels").write_text("".join(judged))
    paths = tmp_path / "a.qrels", [tmp_path / "a.run", tmp_path / "b.run"]
    for options in ({}, {"order": "rank"}, {"depth": 3}):
        in_memory, parts = (
            evaluate(*paths, "nDCG@3 AP R@10", buckets=n, **options) for n in (1, 7)
        )
        notes = [note for note in parts.notes if note.code != "buckets"]
        assert notes == [*in_memory.notes]
        assert {"ties", "rank-gaps"} & {*codes(notes)} == {
            "rank-gaps" if "order" in options else "ties"
        }
        assert "depth" in codes(notes)  # of 2 and of 4 documents
