"""Bounds of a part of the queries."""

from cranfield import evaluate

# The one relevant document is at rank 1 for q1 and q2, at 2 for q3 and not there for q4, q5.
QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(1, 6)}


TYPES = {"q1": "how to", "q2": "fact", "q3": "how to", "q5": "fact"}


def test_bounds_of_a_slice_are_those_of_its_queries() -> None:
    run = {"q1": ["x", "a"], "q2": ["a"], "q3": ["y", "z"]}
    scores = evaluate(QRELS, run, "P@2", bounds=True, slices=TYPES)
    alone = evaluate({q: QRELS[q] for q in ("q1", "q3")}, run, "P@2", bounds=True)
    assert scores.slice("how to").means() == alone.means()
