"""Precision-recall curves of grades that are fractions, and of runs judged in another way."""

import pytest
from helpers.fractions import QRELS, RUN

from cranfield import MeasureError
from cranfield.figures import precision_recall


def test_a_curve_needs_the_threshold() -> None:
    with pytest.raises(MeasureError, match=r"as in NumRel\(rel=0.5\)"):
        precision_recall(QRELS, RUN, "q1")
    figure = precision_recall(QRELS, RUN, "q1", rel=0.3)
    assert [point["recall"] for point in figure.points if "rank" in point] == [1 / 3, 2 / 3]


def test_a_curve_of_a_run_judged_in_another_way() -> None:
    qrels, run = {"q1": {"a": 1, "b": 1, "c": 0}}, {"q1": {"a": 2.0, "q1": 3.0}}
    figure = precision_recall(qrels, run, "q1", identical_ids="drop", unretrieved="below")
    ranked = [point["rank"] for point in figure.points if "rank" in point]
    assert ranked == [1, 3]  # of a and b; c is between them
