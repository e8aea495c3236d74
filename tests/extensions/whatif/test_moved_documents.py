"""Differences of two runs by documents that are moved from one to the other."""

from pathlib import Path

import pytest
from helpers.explained import explain_pair, join_notes, rank_docs

from cranfield import Run, evaluate, read_qrels, read_run


def test_how_many_documents_were_moved_is_said() -> None:
    docs = [f"d{i}" for i in range(120)]
    explanation = explain_pair(
        {"q": {"a": 1, "b": 0}}, {"x": {"q": ["b", "a"]}, "y": {"q": docs}}, "RR"
    )
    assert "this one document of the first 100 ranks where y has it" in join_notes(explanation)


def test_what_it_costs_to_look_at_a_document_moves_with_it() -> None:
    cost = {"a": 1.0, "b": 2.0, "c": 5.0}

    def run(docs: str) -> Run:
        rows = enumerate(docs)
        return Run(
            [{"query_id": "q", "doc_id": d, "score": -float(i), "cost": cost[d]} for i, d in rows]
        )

    qrels, measure = {"q": {"a": 1, "b": 1}}, "CWL('TBG', value='EC', depth=20)"
    explanation = explain_pair(qrels, [run("ab"), run("cb")], measure)
    assert explanation.method == "moved"
    values = {
        doc: evaluate(qrels, run(docs), measure)[measure]
        for doc, docs in (("c", "cab"), ("a", "b"))
    }
    assert {part.document: part.value for part in explanation.parts} == values


def test_what_moved_is_said() -> None:
    judged = {"q": {"a": 3, "b": 1, "c": 2, "x": 0}}
    runs = {"left": {"q": [*"auvbxc"]}, "right": {"q": [*"bau"]}}
    out = "taken out, where right does not have it (-)"
    assert out in join_notes(explain_pair(judged, runs, "SetP"))
    assert "Only left is changed" in join_notes(explain_pair(judged, runs, "SetP"))
    text = join_notes(explain_pair(judged, runs, "RR"))  # only a, which both have
    assert out not in text
    assert "Only left is changed" in text


@pytest.mark.parametrize("name", ["RR", "F@5", "IPrec@0.1", "SetP"])
def test_documents_that_are_moved(name: str, demo_folder: Path) -> None:
    """One by one, in a run that is really changed."""
    qrels = read_qrels(demo_folder / "demo/qrels.txt")
    scores = [read_run(demo_folder / f"demo/{name}.run").to_dict() for name in ("bm25", "tfidf")]
    for query in ("q02", "q17"):
        judged = qrels.to_dict()[query]
        first_docs, second_docs = (rank_docs(run[query], judged) for run in scores)
        second_docs = second_docs[: 20 if name == "SetP" else None]  # no common denominator
        cut_runs = [{query: first_docs}, {query: second_docs}]
        explanation = explain_pair(qrels, cut_runs, name, query)
        assert explanation.method == "moved"
        changes = {}
        for doc in {*first_docs, *second_docs}:
            order = [doc_id for doc_id in first_docs if doc_id != doc]
            if doc in second_docs:
                order.insert(second_docs.index(doc), doc)
            value = evaluate(qrels, {query: order}, name).per_query(name)[query]
            if value != explanation.left:
                changes[doc] = value - explanation.left
        assert {part.document: part.change for part in explanation.parts} == changes
        assert ("By moving:" in join_notes(explanation)) == bool(changes)
