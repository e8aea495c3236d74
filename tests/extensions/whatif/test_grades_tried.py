"""One more judgment has a grade that there is."""

from typing import Any

from helpers.fractions import QRELS, RUN

from cranfield import evaluate, explain


def test_an_explanation_tries_the_grades_that_there_are() -> None:
    one: Any = explain(QRELS, RUN, "nDCG@3", query="q1")
    found = one.judgments
    assert found.grades == (0, 0.3, 0.9, 1.0)
    assert found.up is not None
    changed = {**QRELS, "q1": {**QRELS["q1"], found.up.doc: found.up.grade}}
    assert evaluate(changed, RUN, "nDCG@3").per_query("nDCG@3")["q1"] == found.up.value
