"""Two runs on a query: which documents make the difference, against slow loops."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.explained import (
    Judgments,
    Write,
    explain_pair,
    join_notes,
    last_line,
    rank_docs,
    run_explain,
    same_bits,
)
from helpers.profile import sample_cases

from cranfield import Measure, MeasureError, Qrels, definitions, evaluate, read_qrels, read_run
from cranfield import measure as measure_of
from cranfield.data.judged import Judged
from cranfield.measures import make_example


def terms(name: str, docs: Sequence[str], judged: Judgments) -> dict[str, float]:
    """Return what each document adds to the value."""
    relevant = sum(grade >= 1 for grade in judged.values())
    ideal = sum(
        grade / math.log2(rank + 1)
        for rank, grade in enumerate(sorted(judged.values(), reverse=True)[:10], 1)
        if grade > 0
    )
    term_of_doc: dict[str, float] = {}
    nth = 0
    for rank, doc in enumerate(docs, 1):
        grade = judged.get(doc, 0)
        nth += grade >= 1
        term_of_doc[doc] = {
            "P@5": (grade >= 1) * (rank <= 5) / 5,
            "DCG@10": max(grade, 0) * (rank <= 10) / math.log2(rank + 1),
            "nDCG@10": max(grade, 0) * (rank <= 10) / math.log2(rank + 1) / (ideal or 1),
            "AP": (grade >= 1) * nth / rank / (relevant or 1),
            "RBP": (grade >= 1) * 0.8 ** (rank - 1) * (1 - 0.8),
        }[name]
    return term_of_doc


@pytest.mark.parametrize("name", ["P@5", "DCG@10", "nDCG@10", "AP", "RBP"])
def test_documents_that_add_up(name: str, demo_folder: Path) -> None:
    qrels = read_qrels(demo_folder / "demo/qrels.txt")
    files = [demo_folder / f"demo/{run_name}.run" for run_name in ("bm25", "dense")]
    runs = {path.stem: read_run(path) for path in files}
    judgments = qrels.to_dict()
    scores = {run: ranking.to_dict() for run, ranking in runs.items()}
    values = evaluate(qrels, runs, name)
    for query, judged in sample_cases(judgments.items()):
        difference = explain_pair(qrels, runs, name, query)
        docs = [rank_docs(scores[run][query], judged) for run in runs]
        mine, theirs = (terms(name, ranking, judged) for ranking in docs)
        ours, other = (values[run].per_query(name)[query] for run in runs)
        assert difference.method == "terms"
        assert (same_bits(difference.left, ours), same_bits(difference.right, other)) == (
            True,
            True,
        )
        parts = {part.document: part for part in difference.parts}
        for doc in mine.keys() | theirs.keys():
            left, right = mine.get(doc, 0.0), theirs.get(doc, 0.0)
            if doc not in parts:
                assert left == pytest.approx(right, abs=1e-15)
                continue
            part = parts[doc]
            assert (part.left, part.right) == pytest.approx((left, right), rel=1e-12)
            assert part.change == part.right - part.left  # type: ignore[operator] # not None
            assert part.grade == judged.get(doc)
            for ranking, rank in zip(docs, (part.left_rank, part.right_rank), strict=True):
                assert rank == (ranking.index(doc) + 1 if doc in ranking else None)
        total = math.fsum(part.change for part in difference.parts)
        assert math.isclose(total, other - ours, rel_tol=1e-12, abs_tol=1e-12)
        sizes = [abs(part.change) for part in difference.parts]
        assert sizes == sorted(sizes, reverse=True)
        text = f"dense - bm25 = {other!r} - {ours!r} = {other - ours!r}"
        assert last_line(str(difference)) == text

        back = explain_pair(qrels, {"dense": runs["dense"], "bm25": runs["bm25"]}, name, query)
        assert back.difference == -difference.difference
        assert {part.document: -part.change for part in back.parts} == {
            part.document: part.change for part in difference.parts
        }


DATA: list[tuple[Any, Any]] = [
    ({"q": {"a": 3, "b": 1, "c": 0, "d": 2, "e": -1, "f": 1}}, "acexbd"),
    ({"q": {"1": {"a": 1, "b": 2, "c": 0, "d": 1}, "2": {"b": 1, "c": 1, "f": 3}}}, "acxbd"),
]


@pytest.mark.parametrize(
    "measure",
    [make_example(definition)[0] for definition in definitions() if not definition.is_text],
    ids=str,
)
def test_every_measure_says_which_documents_make_the_difference(measure: Measure) -> None:
    n_differences = 0
    for qrels, docs in DATA:
        for other in (docs[::-1], docs[1:3] + "yfz", "z", docs):
            runs = {"left": {"q": list(docs)}, "right": {"q": list(other)}}
            try:
                difference = explain_pair(Qrels(qrels), runs, measure, "q")
            except MeasureError:  # of other judgments
                continue
            n_differences += 1
            values = evaluate(Qrels(qrels), runs, measure)
            left, right = (values[run].per_query(measure)["q"] for run in runs)
            assert same_bits(difference.left, left)
            assert same_bits(difference.right, right)
            assert difference.method in ("terms", "moved")
            if difference.method == "terms":
                total = math.fsum(part.change for part in difference.parts)
                assert math.isclose(total, right - left, rel_tol=1e-12, abs_tol=1e-12)
            assert last_line(str(difference)).endswith(f" = {right - left!r}")
    assert n_differences >= 4


def test_two_runs_of_one_name(write: Write) -> None:
    run = {"q": ["a", "b"]}
    difference = explain_pair({"q": {"b": 1}}, [run, {"q": ["b", "a"]}], "RR")
    assert len(set(difference.names)) == 2
    qrels = write("qrels", "q 0 b 1\n")
    first = write("x.run", "q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    text = run_explain(qrels, first, first, "-m", "RR").stdout
    assert len(set(re.findall(r"rank in (\S+(?: \(2\))?)", text))) == 2
    assert "Not by terms" in text
    assert "No document, put alone where" in text


def test_what_else_is_said_of_two_runs() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    runs = {"x": {"q": {"a": 1.0, "b": 1.0}}, "y": {"q": {"z": 2.0}}}
    difference = explain_pair(qrels, runs, "P@1")
    assert [(note.code, note.source) for note in difference.notes] == [
        ("level-scores", "x"),
        ("ties", "x"),
        ("nothing-judged", "y"),
    ]
    assert "Every document adds the same to both runs." in join_notes(
        explain_pair(qrels, [runs["x"]] * 2, "P@1")
    )
    difference = explain_pair(qrels, runs, "RR", ties="expected")
    assert "With ties=expected no document has a rank to move to." in join_notes(difference)
    difference = explain_pair(qrels, runs, "RR", judged_only=True)
    assert "Ranks are those after unjudged documents were dropped." in join_notes(difference)


def test_what_is_taken_off_is_taken_off_the_difference() -> None:
    @measure_of("Lesser")
    def lesser(judged: Judged) -> Any:
        """Count what is good, and punish what is too good.

        Formula: of grade 1 or more - 2 * of grade 2 or more
        Source: this test
        """
        return judged.hits.relevant(1).count() - judged.hits.relevant(2).count() * 2.0

    assert lesser is not None
    qrels = {"q": {"a": 1, "b": 2, "c": 1}}
    difference = explain_pair(qrels, [{"q": ["a", "b"]}, {"q": ["c"]}], "Lesser")
    assert difference.method == "terms"
    assert {part.document: part.change for part in difference.parts} == {
        "a": -1,
        "b": 2 - 1,
        "c": 1,
    }


def test_why_documents_do_not_add_to_a_value() -> None:
    judged = {"q": {"a": 3, "b": 1, "c": 2, "x": 0}}
    runs = {"left": {"q": [*"auvbxc"]}, "right": {"q": [*"bau"]}}
    for name, reason in (
        ("IDCG", "the value is added up over the ideal ranking"),
        ("RR", "only the first of some documents counts"),
        ("F@5", "the value is divided by a number that also depends on the ranking"),
        ("SetP", "what documents add is divided by 6 in left, and 3 in right"),
        ("nDCG", ""),
    ):
        difference = explain_pair(judged, runs, name)
        assert difference.reason == difference.to_dict()["reason"] == reason
        assert (f"Not by terms: {reason}." in join_notes(difference)) == bool(reason)
        assert ("Both values are the same." in join_notes(difference)) == (
            difference.left == difference.right
        )
    runs_with_ties = {
        "left": {"q": dict.fromkeys("aub", 1)},
        "right": {"q": {"b": 1, "a": 1, "c": 2}},
    }
    difference = explain_pair(judged, runs_with_ties, "nDCG@2", ties="expected")
    assert difference.reason == "the value is added up over places among equal scores"


def test_no_table_is_without_rows() -> None:
    judged = {"q": {"x": 0, "a": 3, "b": 1}, "r": {}}
    runs = {"left": {"q": [*"xa"], "r": ["n"]}, "right": {"q": [*"xab"], "r": ["n"]}}
    rows = [["a", "3", "2", "2"], ["b", "1", "-", "3"], ["x", "0", "1", "1"]]
    assert explain_pair(judged, runs, "RR", "q").tables()[0].rows == rows
    assert explain_pair(judged, runs, "P@1", "q").tables(1)[0].rows == rows[:1]
    assert "2 more judged documents." in join_notes(explain_pair(judged, runs, "P@1", "q"), 1)
    assert explain_pair(judged, runs, "RR", "r").tables()[0].rows == [["n", "-", "1", "1"]]
    none = explain_pair(judged, [{"q": ["u"]}, {"q": ["v"]}], "RR", "q").tables()[0]
    assert [row[0] for row in none.rows] == ["a", "b", "x", "u", "v"]
    assert none.ruled_rows == {3}  # above what is judged, below what was retrieved
