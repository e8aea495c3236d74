"""Queries that differ only in how they are written: said, by evaluate and by check."""

import unicodedata
from collections.abc import Callable

import pytest

from cranfield import InputError, Run, check, evaluate
from cranfield.notes import Note

QRELS = {f"{i}": {"a": 1} for i in range(1, 13)}


def spelling_notes(notes: tuple[Note, ...]) -> list[Note]:
    return [note for note in notes if note.code == "query-spelling"]


@pytest.mark.parametrize(
    ("write", "n", "n_answered"),
    [
        (lambda i: f"{i:02d}", 9, 3),  # 10, 11 and 12 are the same
        (lambda i: f"{i}.0" if i > 2 else str(i), 10, 2),
        (lambda i: f" {i}" if i > 1 else str(i), 11, 1),
        (str, 0, 12),
        (lambda i: f"user {i}" if i > 2 else str(i), 10, 2),
        (lambda i: f"{i}.txt" if i > 2 else str(i), 10, 2),
        (lambda i: f"u{i}" if i % 2 else str(i), 6, 6),
        (lambda i: str(i) if i % 2 else str(100 + i), 0, 6),
    ],
)
def test_queries_written_otherwise_are_said(
    write: Callable[[int], str], n: int, n_answered: int
) -> None:
    pairs = {write(i): ["a"] for i in range(1, 13)}
    rows = [(query, doc, 1.0) for query, docs in pairs.items() for doc in docs]
    for run in (pairs, Run(rows)):
        scores = evaluate(QRELS, run, "RR")
        assert sum(note.count or 0 for note in spelling_notes(scores.notes)) == n
        assert all(note.is_grave for note in spelling_notes(scores.notes))
        assert scores["RR"] == pytest.approx(n_answered / 12)
        findings = spelling_notes(tuple(check(QRELS, run).findings))
        assert sum(note.count or 0 for note in findings) == n


def test_both_ids_are_named() -> None:
    (note,) = spelling_notes(
        evaluate({"1": ["a"], "2": ["a"]}, {"01": ["a"], "2": ["a"]}, "RR").notes
    )
    assert "the run has '01', the qrels '1'" in note.text
    assert note.query_id == "1"


def test_queries_of_other_unicode_and_cut_ones_are_said() -> None:
    names = [f"Café number {i} of the {i * i} towns" for i in range(10, 22)]
    qrels = {name: {"a": 1} for name in names}
    for write in (lambda name: unicodedata.normalize("NFD", name), lambda name: name[:16]):
        run = {(write(name) if i < 6 else name): ["a"] for i, name in enumerate(names)}
        (note,) = spelling_notes(evaluate(qrels, run, "RR").notes)
        assert note.count == 6
        assert note.text.startswith("6 of 6 queries that the run lacks may have other ids: ")


def test_where_no_query_is_shared_the_difference_is_said() -> None:
    qrels, run = {f"{i}": ["a"] for i in range(3)}, {f"topic-{i}": ["a"] for i in range(3)}
    with pytest.raises(InputError) as caught:
        evaluate(qrels, run, "RR")
    assert "'topic-0'" in str(caught.value)
    assert "ids match except for 'topic-' before those of the run" in str(caught.value.hint)


def test_capitals() -> None:
    (note,) = spelling_notes(
        evaluate({"Q1": ["a"], "q2": ["a"]}, {"q1": ["a"], "q2": ["a"]}, "RR").notes
    )
    assert note.count == 1


def test_queries_that_are_left_out_are_said_to_count_0() -> None:
    qrels, run = {"1": ["a"], "2": ["a"]}, {"2": ["a"]}
    notes = evaluate(qrels, run, "RR", queries="both").notes
    (note,) = [candidate for candidate in notes if candidate.code == "without-run"]
    assert note.queries == 1
    assert "would score 0" in note.text
