"""Queries that retrieve the document of their own id: said, with the option that leaves it out."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.profile import seeds

from cranfield import Qrels, Run, check, compare, evaluate, explain, gate
from cranfield.notes import Note

OPTION = "--identical-ids drop"


def self_notes(notes: Sequence[Note]) -> list[Note]:
    return [note for note in notes if note.code == "self-retrieval"]


def make_case(n: int, n_own: int, rank: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgments and a run of n queries, of which n_own retrieve themselves at a rank."""
    qrels = {f"arg{i}a": {f"arg{i}b": 1} for i in range(n)}
    run = {}
    for i in range(n):
        docs = [f"arg{i}b", *(f"other{i}{j}" for j in range(8))]
        own_ids = [f"arg{i}a"] if i < n_own else []
        run[f"arg{i}a"] = docs[: rank - 1] + own_ids + docs[rank - 1 :]
    return qrels, run


@pytest.mark.parametrize("rank", [1, 2, 9])
@pytest.mark.parametrize(
    ("n", "n_own", "is_said"),
    [(40, 40, True), (40, 5, True), (50, 5, True), (51, 5, False), (40, 4, False), (5, 5, True)],
)
def test_many_queries_that_retrieve_themselves_are_said(
    n: int, n_own: int, rank: int, is_said: bool
) -> None:
    qrels, run = make_case(n, n_own, rank)
    rows = [(query, doc, -i) for query, docs in run.items() for i, doc in enumerate(docs)]
    upside_down = [*reversed(rows)]
    for data in (run, Run(rows), upside_down):
        notes = self_notes(evaluate(qrels, data, "RR").notes)
        assert [note.count for note in notes] == [n_own] * is_said
        assert all(note.is_grave and OPTION in note.text for note in notes)
        assert all(f"{n_own} of {n} queries" in note.text for note in notes)
        assert len(self_notes(check(qrels, data).findings)) == is_said
        scores = evaluate(qrels, data, "RR", identical_ids="drop")
        assert scores["RR"] == 1
        assert not self_notes(scores.notes)


def test_a_judged_document_of_the_own_id_is_meant() -> None:
    qrels, run = make_case(20, 20)
    judged_qrels = {query: {**docs, query: i % 2} for i, (query, docs) in enumerate(qrels.items())}
    assert not self_notes(evaluate(judged_qrels, run, "RR").notes)
    assert not self_notes(evaluate(judged_qrels, Run(run).map_docs("(.*)"), "RR").notes)


def test_every_verb_says_so(tmp_path: Path) -> None:
    qrels, run = make_case(30, 30)
    clean_run = {query: [doc for doc in docs if doc != query] for query, docs in run.items()}
    runs = {"with": run, "without": clean_run}
    comparison = compare(qrels, runs, "RR")
    [note] = self_notes(comparison.notes)
    assert note.source == "with"
    assert len(self_notes(gate(qrels, run, at_least={"RR": 0.1}).notes)) == 1
    assert len(self_notes(gate(qrels, runs, "RR", baseline="without", margin=0.9).notes)) == 1
    explanation: Any = explain(qrels, run, "RR", "arg3a")
    assert [note.count for note in self_notes(explanation.notes)] == [30]
    explanation = explain(qrels, clean_run, "RR", "arg3a")
    assert not self_notes(explanation.notes)
    paths = [tmp_path / f"{name}.json" for name in ("qrels", "run", "clean")]
    for path, side in zip(paths, (qrels, run, clean_run), strict=True):
        path.write_text(json.dumps(side))
    names = [*map(str, paths)]
    verbs = (
        ["evaluate", *names, "-m", "RR"],
        ["compare", *names, "-m", "RR"],
        ["table", *names, "-m", "RR"],
        ["gate", *names[:2], "--at-least", "RR=0.1"],
        ["explain", *names[:2], "-m", "RR", "arg3a"],
        ["check", *names],
    )
    for verb in verbs:
        process = invoke(*verb)
        assert OPTION in " ".join((process.stdout + process.stderr).split()), verb
        if verb[0] in ("evaluate", "compare", "table", "gate", "explain"):
            process = invoke(*verb, *OPTION.split())
            assert OPTION not in process.stdout + process.stderr, verb
    page = tmp_path / "report.html"
    invoke("report", *names, "-m", "RR", "-o", str(page))
    assert OPTION in page.read_text()


def test_chunks_of_the_own_document_are_said_where_they_are_mapped() -> None:
    qrels, run = make_case(12, 12)
    chunks = {query: [f"{doc}#1" for doc in docs] for query, docs in run.items()}
    [note] = self_notes(evaluate(qrels, Run(chunks).map_docs("^([^#]*)"), "RR").notes)
    assert note.count == 12


def test_a_matrix_of_all_items_is_one_of_items_first() -> None:
    """Each item is compared with all, and is the most similar to itself."""
    draw, n = random.Random(1), 24
    items = [f"item{i}" for i in range(n)]
    qrels = {item: {items[i - 1]: 1} for i, item in enumerate(items)}
    run = {
        item: {other: 1.0 if other == item else draw.random() for other in items} for item in items
    }
    [note] = self_notes(evaluate(qrels, run, "RR").notes)
    assert note.count == n


@pytest.mark.parametrize("seed", seeds(120))
def test_numbers_that_queries_and_documents_share_are_chance(seed: int) -> None:
    """As in Cranfield: queries 1 to n, documents 1 to N, and a query retrieves its number."""
    draw = random.Random(seed)
    n, n_docs = draw.choice([(10, 30), (50, 60), (225, 1400), (100, 100), (20, 2000)])
    depth = round(draw.choice([0.15, 0.3, 0.7, 1]) * n_docs)
    qrels, run = {}, {}
    for query in range(1, n + 1):
        docs = draw.sample(range(1, n_docs + 1), depth)
        qrels[str(query)] = {str(doc): 1 for doc in docs[::7] if doc != query}
        run[str(query)] = [*map(str, docs)]
    assert not self_notes(evaluate(Qrels(qrels), Run(run), "RR").notes)


@pytest.mark.parametrize("seed", [34, 42, 88, 95, 98])
def test_a_few_own_ids_at_any_rank_are_chance(seed: int) -> None:
    """Queries and documents have numbers up to 900, of which a list of 100 has a tenth."""
    draw = random.Random(seed)
    qrels, run = {}, {}
    for _ in range(60):
        query = str(draw.randint(1, 900))
        qrels[query] = {str(draw.randint(1, 900)): 1}
        run[query] = {str(draw.randint(1, 900)): -rank for rank in range(100)}
    assert "self-retrieval" not in [note.code for note in evaluate(qrels, run, "R@10").notes]
