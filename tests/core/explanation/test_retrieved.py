"""What was retrieved is seen, whether it counts or not."""

from pathlib import Path

import pytest

from cranfield import Explanation, explain
from cranfield.explanation.entries import Sheet

UNJUDGED = {"q": [f"u{i}" for i in range(12)]}
JUDGED = {"q": {"a": 2, "b": 1, "c": 0}}


def one(qrels: object, run: object, measure: str) -> Explanation:
    found = explain(qrels, run, measure)  # type: ignore[arg-type] # what a test gives
    assert isinstance(found, Explanation)
    return found


@pytest.mark.parametrize(
    "measure", ["nDCG@10", "AP", "RR", "P@10", "RBP", "R@10", "ERR@10", "Bpref"]
)
def test_of_a_value_of_0_the_documents_retrieved_are_shown(measure: str) -> None:
    found = one(JUDGED, UNJUDGED, measure)
    assert found.value == 0
    rows = found.tables()[0].rows
    assert [list(row[:3]) for row in rows] == [
        [str(rank), doc, "-"] for rank, doc in enumerate(UNJUDGED["q"][:10], 1)
    ]


def test_unjudged_documents_are_rows_where_they_add_nothing() -> None:
    found = one(JUDGED, {"q": ["u1", "a", "u2", "c", "b"]}, "nDCG@5")
    sheet = found.worksheet.sections[0]
    assert isinstance(sheet, Sheet)
    assert sheet.labels == {
        "rank": [1, 2, 3, 4, 5],
        "document": ["u1", "a", "u2", "c", "b"],
        "grade": [None, 2, None, 0, 1],
    }
    gain = next(column for column in sheet.columns if column.header == "gain")
    assert list(gain.values) == [0, 2, 0, 0, 1]
    assert found.rows()[0]["grade"] is None


def test_where_they_are_no_rows_the_ranking_stands_before() -> None:
    found = one(JUDGED, {"q": ["u1", "a", "u2", "c", "b"]}, "AP")
    ranking, counted = found.tables()
    assert [row[1:] for row in ranking.rows] == [
        ["u1", "-"],
        ["a", "2"],
        ["u2", "-"],
        ["c", "0"],
        ["b", "1"],
    ]
    assert [row[1] for row in counted.rows] == ["a", "b"]
    assert len(one(JUDGED, {"q": ["a", "b"]}, "AP").tables()) == 1  # nothing else was retrieved


@pytest.mark.parametrize(
    ("measure", "n"), [("P@3", 3), ("AP", 10), ("AP@20", 20), ("AP@21", 10), ("P@50", 10)]
)
def test_how_many_are_shown(measure: str, n: int) -> None:
    docs = [f"u{i}" for i in range(60)]
    found = one(JUDGED, {"q": ["a", *docs]}, measure)
    assert len(found.tables()[0].rows) == n
    wide = one(JUDGED, {"q": [*docs, "a"]}, "nDCG")
    assert [row[0] for row in wide.tables()[0].rows] == [*map(str, range(1, 11)), "61"]


def test_what_counts_judged_documents_is_left_as_it_is() -> None:
    found = one(JUDGED, {"q": ["u1", "a", "u2", "c"]}, "Judged@4")
    assert found.value == 2 / 4
    grades = [
        one.labels["grade"]
        for one in found.worksheet.sections
        if isinstance(one, Sheet) and "judged documents" in one.title
    ]
    assert grades == [[2, 0]]


def test_dropped_documents_are_in_the_ranking_as_it_was() -> None:
    found = explain(JUDGED, {"q": ["u1", "a", "u2"]}, "nDCG@3", judged_only=True)
    ranking, counted, *_ = found.tables()
    assert [row[:2] for row in ranking.rows] == [["1", "u1"], ["2", "a"], ["3", "u2"]]
    assert [list(row[:2]) for row in counted.rows] == [["1", "a"]]


def test_on_the_page_of_a_whole_run(demo_folder: Path) -> None:
    """The first ten are all shown, judged or not."""
    from cranfield import Qrels, read_qrels, read_run

    qrels, run = read_qrels(demo_folder / "demo/qrels.txt"), read_run(demo_folder / "demo/bm25.run")
    some = {
        query: {doc: grade for i, (doc, grade) in enumerate(docs.items()) if i % 3}
        for query, docs in qrels.to_dict().items()
    }
    for query, docs in run.to_dict().items():
        found = explain(Qrels(some), run, "nDCG@10", query)
        best = sorted(docs, key=lambda doc: (-docs[doc], doc.encode()))[:10]
        shown = [row[1] for row in found.tables()[0].rows]
        assert len(shown) == len(best)
        assert {*best} == {*shown} or len({*docs.values()}) < len(docs)  # the tie is not ours
