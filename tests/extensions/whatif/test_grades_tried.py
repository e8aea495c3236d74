"""One more judgment has a grade that there is."""

from typing import Any

from helpers.fractions import QRELS, RUN

from cranfield import evaluate, explain


def test_an_explanation_tries_the_grades_that_there_are() -> None:
    explanation: Any = explain(QRELS, RUN, "nDCG@3", query="q1")
    judgments = explanation.judgments
    assert judgments.grades == (0, 0.3, 0.9, 1.0)
    assert judgments.up is not None
    changed_qrels = {**QRELS, "q1": {**QRELS["q1"], judgments.up.doc: judgments.up.grade}}
    assert evaluate(changed_qrels, RUN, "nDCG@3").per_query("nDCG@3")["q1"] == judgments.up.value
