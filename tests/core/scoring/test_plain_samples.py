"""Judgments of a sample by chance, read as plain ones: measures not made for it are warned of."""

from typing import Any

import pytest
from helpers.notes import codes

from cranfield import CranfieldWarning, Qrels, compare, evaluate, gate

RUNS = {"a": {"q1": ["d1", "d2", "d3", "d4"], "q2": ["d1"]}, "b": {"q1": ["d2"], "q2": ["d2"]}}


def make_rows(*left_out: str, chance: float = 0.5, undrawn: int = -1) -> list[dict[str, Any]]:
    """Return a sample of which d2 and d3 of q1 were not drawn, and d4 is in no pool."""
    grades = {("q1", "d1"): 1, ("q1", "d2"): undrawn, ("q1", "d3"): undrawn, ("q2", "d1"): 1}
    rows = [
        {"query_id": q, "doc_id": d, "relevance": grade, "stratum": 1, "probability": chance}
        for (q, d), grade in grades.items()
    ]
    return [{name: row[name] for name in row if name not in left_out} for row in rows]


def find_warned(rows: Any, measures: Any, **options: Any) -> list[str]:
    notes = evaluate(Qrels(rows), RUNS["a"], measures, **options).notes
    return [note.text for note in notes if note.code == "plain-sample"]


@pytest.mark.parametrize("left_out", [(), ("stratum",), ("probability",)])
@pytest.mark.parametrize("buckets", [None, 2])
def test_a_plain_measure_of_a_sample_is_warned_of(left_out: Any, buckets: int | None) -> None:
    (text,) = find_warned(make_rows(*left_out), ["P@2", "xinfAP", "statAP", "AP"], buckets=buckets)
    assert "by P@2, AP what was not drawn counts as not relevant" in text
    assert "--human FILE" in text


def test_measures_for_samples_and_judgments_that_are_none_are_not() -> None:
    assert (
        find_warned(make_rows(), ["xinfAP", "statAP", "infAP", "Bpref", "GMBpref", "Judged@2"])
        == []
    )
    assert find_warned(make_rows("stratum", "probability"), "P@2") == []
    assert find_warned(make_rows(chance=1, undrawn=0), "P@2") == []


def test_comparisons_and_gates_say_it_once() -> None:
    qrels = Qrels(make_rows())
    with pytest.warns(CranfieldWarning, match="The judgments are a sample"):
        comparison = compare(qrels, RUNS, "P@1")
    assert codes(comparison).count("plain-sample") == 1
    with pytest.warns(CranfieldWarning, match="The judgments are a sample"):
        result = gate(qrels, RUNS, "P@1", baseline="a", margin=0.1)
    assert str(result).count("The judgments are a sample") == 1


@pytest.mark.parametrize("ties", ["document", "expected"])
def test_what_was_not_drawn_is_not_judged(ties: Any) -> None:
    run = {"q1": {"d1": 4, "d2": 3, "d3": 2, "d4": 1}, "q2": {"d1": 1}}
    scores = evaluate(Qrels(make_rows()), run, ["Judged@2", "Judged"], ties=ties)
    assert scores.per_query("Judged@2") == {"q1": 1 / 2, "q2": 1}
    assert scores.per_query("Judged") == {"q1": 1 / 4, "q2": 1}
    plain = evaluate(Qrels(make_rows("stratum", "probability")), run, "Judged", ties=ties)
    assert plain.per_query("Judged") == {"q1": 3 / 4, "q2": 1}
