"""Joint bounds of runs and judgments in every form are the bounds of plain dicts."""

from typing import Any

import pytest

from cranfield import OptionError, Qrels, Run, evaluate, joint_bounds

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUNS = {"old": {"q1": ["x", "a", "b"], "q2": ["c"]}, "new": {"q1": ["a", "y"], "q2": ["z", "c"]}}


def limits(*arguments: Any, **options: Any) -> tuple[list[float], list[float]]:
    bounds = joint_bounds(*arguments, **options)
    return bounds.low.tolist(), bounds.high.tolist()


def test_chunks() -> None:
    """Each document is followed by another chunk of it, with a lower score."""
    chunks = {
        query: [f"{doc}#{i}" for doc in docs for i in (1, 0)] for query, docs in RUNS["old"].items()
    }
    runs = [Run(chunks).map_docs("(.*)#"), RUNS["new"]]
    assert limits(QRELS, runs, "P@2") == limits(QRELS, [*RUNS.values()], "P@2")


def test_spans() -> None:
    """Document a[10:20] is judged; a chunk that is partly within it is taken for it."""
    columns = ("query_id", "doc_id", "start", "end", "relevance")
    spans = [("q1", "a", 10, 20, 1), ("q1", "b", 0, 9, 0), ("q2", "c", 5, 7, 1)]
    qrels = Qrels([dict(zip(columns, span, strict=True)) for span in spans])
    places = {"a": "12-22", "b": "0-9", "c": "5-7"}
    pattern = r"^(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)$"
    runs = [
        Run(
            {q: [f"{doc}:{places.get(doc, '0-9')}" for doc in docs] for q, docs in run.items()}
        ).spans(pattern)
        for run in RUNS.values()
    ]
    assert limits(qrels, runs, "P@2") == limits(QRELS, [*RUNS.values()], "P@2")


def test_lists_of_ids() -> None:
    lists = {name: [*run.values()] for name, run in RUNS.items()}
    relevant = [["a"], ["c"]]
    plain = {query: dict.fromkeys(docs, 1) for query, docs in zip(QRELS, relevant, strict=True)}
    assert limits(relevant, lists, "P@1") == limits(plain, RUNS, "P@1")


def test_tables_of_both_sides() -> None:
    tables = {
        name: [
            {"question": query, "expected_ids": expected, "retrieved_ids": run[query]}
            for query, expected in (("q1", ["a"]), ("q2", ["c"]))
        ]
        for name, run in RUNS.items()
    }
    qrels = Qrels(tables["old"])
    runs = [Run(rows) for rows in tables.values()]
    expected = limits(qrels, runs, "P@2")
    assert limits(tables, measures="P@2") == expected
    assert limits(tables["old"], {"new": tables["new"]}, "P@2") == expected


@pytest.mark.parametrize("duplicates", ["each", "once", "joined"])
def test_a_rank_for_every_row_has_no_bounds(duplicates: Any) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": ["a", "x", "a"]}
    with pytest.raises(OptionError, match="duplicates"):
        joint_bounds(qrels, [run, run], "P@2", duplicates=duplicates)
    with pytest.raises(OptionError, match="one grade"):
        evaluate(qrels, run, "P@2", bounds=True, duplicates=duplicates)
