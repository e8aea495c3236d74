"""The value over all queries explained, against slow loops of the definition."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers import oracle
from helpers.notes import codes
from helpers.profile import seeds

from cranfield import (
    Measure,
    MeasureError,
    OptionError,
    definitions,
    evaluate,
    grades,
    measure,
    parse,
)
from cranfield.data.judging import Judging
from cranfield.data.qrels import make_qrels
from cranfield.data.run import make_run
from cranfield.explanation.mean import MeanExplanation, QueryPart
from cranfield.measures import make_example

NUMBERS = [make_example(definition)[0] for definition in definitions() if not definition.is_text]
SEEDS = seeds(4)


def explain_mean(qrels: Any, run: Any, name: str | Measure, **options: Any) -> MeanExplanation:
    measure = name if isinstance(name, Measure) else parse(name)
    judging = Judging.of(options)
    return MeanExplanation.of_run(
        make_qrels(qrels, "strict"), make_run(run, "strict"), measure, judging
    )


@cache  # three tests look at each
def explain_seed(seed: int, measure: Measure) -> MeanExplanation:
    return explain_mean(*oracle.make_collection(seed), measure)


def left_to_right(values: list[float]) -> float:
    value_sum = 0.0
    for value in values:
        value_sum += value
    return value_sum


def sort_by_bytes(values: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda pair: pair[0].encode())


@pytest.mark.parametrize("measure", NUMBERS, ids=str)
def test_the_value_is_that_of_evaluate_to_the_last_bit(measure: Measure) -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        scores = evaluate(qrels, run, measure)
        explanation = explain_seed(seed, measure)
        values = sort_by_bytes(scores.per_query(measure))
        logs = [math.log(max(value, 1e-5)) for _, value in values]
        geometric = measure.definition.aggregation == "geometric"
        terms = logs if geometric else [value for _, value in values]
        total = left_to_right(terms)
        if geometric:
            assert explanation.total == pytest.approx(total, rel=1e-14)
            assert explanation.total == left_to_right(list(explanation.terms))
            assert (
                explanation.value == math.exp(explanation.total / explanation.n) == scores[measure]
            )
        else:
            assert explanation.total == total
            expected = total if explanation.kind == "sum" else total / len(values)
            assert explanation.value == scores[measure] == expected
        assert explanation.formula.endswith(f" = {scores[measure]!r}")
        assert repr(explanation.total) in explanation.formula
        assert {part.query_id: part.value for part in explanation.queries} == dict(values)
        assert sorted(explanation.terms) == sorted(part.term for part in explanation.queries)


@pytest.mark.parametrize("measure", NUMBERS, ids=str)
def test_the_parts_are_those_of_the_definition(measure: Measure) -> None:
    definition = measure.definition
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        values = evaluate(qrels, run, measure).per_query(measure)
        explanation = explain_seed(seed, measure)
        if definition.aggregation == "sum":
            assert explanation.kind == "sum"
            parts = values
        elif definition.aggregation == "geometric":
            assert explanation.kind == "logarithm"
            logs = {query: math.log(max(value, 1e-5)) for query, value in values.items()}
            parts = {query: ln - sum(logs.values()) / len(logs) for query, ln in logs.items()}
        elif definition.range[1] == 1 and definition.higher_is_better:
            assert explanation.kind == "missing"
            parts = {query: 1 - value for query, value in values.items()}
        else:
            assert explanation.kind == "difference"
            mean = sum(values.values()) / len(values)
            parts = {query: value - mean for query, value in values.items()}
        assert {part.query_id: part.part for part in explanation.queries} == pytest.approx(
            parts, rel=1e-12, abs=1e-12
        )
        if explanation.kind in ("missing", "sum") and sum(parts.values()):
            parts_sum, share_sum = sum(parts.values()), 0.0
            for part in explanation.queries:
                share_sum += parts[part.query_id] / parts_sum
                assert part.share == pytest.approx(parts[part.query_id] / parts_sum, rel=1e-12)
                assert part.so_far == pytest.approx(share_sum, rel=1e-12)
            assert explanation.queries[-1].so_far == 1
        else:
            assert all(part.share is part.so_far is None for part in explanation.queries)
            scale = max(map(abs, values.values()), default=1.0) + 12
            if explanation.kind != "sum":
                assert abs(sum(part.part for part in explanation.queries)) < 1e-12 * scale


@pytest.mark.parametrize("measure", NUMBERS, ids=str)
def test_the_most_harmful_query_stands_first(measure: Measure) -> None:
    definition = measure.definition
    for seed in SEEDS:
        explanation = explain_seed(seed, measure)
        if definition.aggregation == "sum":
            key = [-part.value for part in explanation.queries]
        elif definition.higher_is_better is None:
            key = [-abs(part.part) for part in explanation.queries]
        else:
            key = [
                part.term if definition.higher_is_better else -part.term
                for part in explanation.queries
            ]
        order = [
            (_is_hopeless(part, explanation.kind), k, part.query_id.encode())
            for k, part in zip(key, explanation.queries, strict=True)
        ]
        assert order == sorted(order)


def _is_hopeless(part: QueryPart, kind: str) -> bool:
    """Tell whether no ranking has more than 0 for want of a relevant document: these come last."""
    return kind in ("missing", "logarithm") and (part.relevant, part.value) == (0, 0)


def test_counts_and_marks_say_why() -> None:
    marks = set()
    for seed in seeds(8):
        qrels, run = oracle.make_collection(seed)
        explanation = explain_mean(qrels, run, "P(rel=2)@5")
        assert explanation.level == 2
        for part in explanation.queries:
            grades = qrels[part.query_id]
            docs = run.get(part.query_id, {})
            relevant = {doc for doc, grade in grades.items() if grade >= 2}
            counts = len(docs), len(relevant), len(relevant & set(docs))
            assert (part.retrieved, part.relevant, part.relevant_retrieved) == counts
            expected = []
            if not docs:
                expected.append("no results")
            if not relevant:
                expected.append("no relevant document")
            first = sorted(sorted(docs, reverse=True), key=lambda d: -docs[d])[:5]
            if docs and relevant and not relevant & set(docs):
                expected.append("nothing relevant retrieved")
            elif docs and relevant and not relevant & set(first):
                expected.append("nothing relevant in the first 5")
            assert list(part.marks) == expected
            marks |= set(expected)
    assert len(marks) == 4  # all of them were seen


def test_the_options_are_those_of_evaluate() -> None:
    qrels, run = oracle.make_collection(3)
    options: list[dict[str, Any]] = [
        {"queries": "both"},
        {"ties": "expected"},
        {"ties": "best", "depth": 3},
        {"judged_only": True},
        {"scores": "single"},
    ]
    for case_options in options:
        explanation = explain_mean(qrels, run, "nDCG@5", **case_options)
        scores = evaluate(qrels, run, "nDCG@5", **case_options)
        assert explanation.value == scores["nDCG@5"]
        assert {q.query_id: q.value for q in explanation.queries} == scores.per_query("nDCG@5")
        assert {key: explanation.recipe[key] for key in case_options} == case_options
    expected = explain_mean(qrels, run, "nDCG@5", ties="expected").queries[0]
    assert (expected.relevant_retrieved, expected.retrieved is None) == (None, False)


def test_scores_without_counts_will_do() -> None:
    explanation = MeanExplanation.of(evaluate({"q": {"a": 1}}, {"q": ["b", "a"]}, "RR AP"), "mrr")
    assert (explanation.value, explanation.queries[0].marks, explanation.queries[0].relevant) == (
        0.5,
        (),
        None,
    )
    assert tuple(explanation.tables()[0].header) == (
        "query_id",
        "RR",
        "1 - value",
        "share",
        "so far",
    )
    with pytest.raises(MeasureError, match=r"P@5 was not evaluated; these were: RR, AP"):
        MeanExplanation.of(evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR AP"), "P@5")


def test_a_mark_at_one_rank_and_at_none() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": ["b", "a"]}
    for name, marks in (
        ("P@1", ("nothing relevant at rank 1",)),
        ("nDCG@1", ("nothing relevant at rank 1",)),
        ("P@R", ()),
        ("AP", ()),
    ):
        assert explain_mean(qrels, run, name).queries[0].marks == marks
        assert explain_mean(qrels, run, name, ties="expected").queries[0].marks == ()


def test_of_a_sum_nothing_is_averaged() -> None:
    explanation = explain_mean({"q": {"a": 1, "c": 2}, "r": {"b": 1}}, {"q": ["a"]}, "NumRel")
    notes = explanation.tables()[0].notes
    assert "2 queries added up." in notes
    assert "share: value / 3, the sum." in notes
    assert not any("averaged" in note for note in notes)
    assert (
        "2 queries averaged."
        in explain_mean({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, "AP").tables()[0].notes
    )


def test_the_ideal_is_that_of_the_measure_that_is_explained() -> None:
    pair = grades([[5, 0], [3, 2]])
    assert codes(explain_mean(*pair, "nDCG@1").notes) == ["grades", "ideal-sorted"]
    assert codes(explain_mean(*pair, "nDCG(ideal='top')@1").notes) == ["grades", "ideal-top"]


def test_judgments_in_groups_are_not_counted() -> None:
    qrels, run = oracle.make_grouped_collection(1, whole_grades=True)
    for name in ("Prefs", "NumPrefs", "GroupAP"):
        explanation = explain_mean(qrels, run, name)
        assert explanation.value == evaluate(qrels, run, name)[name]
        assert explanation.queries[0].relevant is None
        assert "relevant" not in explanation.tables()[0].header


def test_nothing_is_missing() -> None:
    explanation = explain_mean({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["b"]}, "RR")
    assert [part.share for part in explanation.queries] == [None, None]
    assert "Nothing is missing: every query has 1." in str(explanation)
    assert "mean = (1.0000 + 1.0000) / 2 = 2.0 / 2 = 1.0\n" in str(explanation)


def test_a_value_above_the_declared_range_is_not_called_missing() -> None:
    @measure("Twice")
    def twice(judged: Any) -> Any:
        """Two, no matter what was retrieved.

        Formula: 2
        Source: this test
        """
        return judged.n_retrieved * 0.0 + 2

    explanation = explain_mean({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, "Twice")
    assert (explanation.kind, [part.part for part in explanation.queries]) == ("difference", [0, 0])


def test_on_the_demonstration(demo_folder: Path) -> None:
    qrels, run = str(demo_folder / "demo/qrels.txt"), str(demo_folder / "demo/bm25.run")
    explanation = explain_mean(qrels, run, "nDCG@10")
    scores = evaluate(qrels, run, "nDCG@10")
    table = explanation.tables()[0]
    assert len(table.rows) == 10
    assert len(explanation.tables(limit=3)[0].rows) == 3
    assert (
        len(explanation.tables(limit=1000)[0].rows) == len(explanation.tables(None)[0].rows) == 40
    )
    for rows in (3, None):
        assert explanation.tables(rows)[0].rows == explanation.tables(rows)[0].rows
    values = sorted(scores.per_query("nDCG@10").values())
    assert [row[1] for row in table.rows] == [f"{value:.4f}" for value in values[:10]]
    missing = sum(1 - value for value in values)
    worst = sum(1 - value for value in values[:10]) / missing
    assert f"The first 10 of 40: {100 * worst:.0f} % of what is missing." in table.notes
    assert "Not shown: 30 queries." in table.notes
    assert "2 documents are tied: ranked by document id, descending." in table.notes
    assert table.notes[-1] == explanation.formula
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert (plain["value"], plain["total"] / plain["n"]) == (scores["nDCG@10"],) * 2
    assert len(plain["queries"]) == 40
    assert plain["queries"][0] == {
        "query_id": explanation.queries[0].query_id,
        "value": 0.0,
        "term": 0.0,
        "part": 1.0,
        "share": 1 / missing,
        "so_far": 1 / missing,
        "retrieved": 30,
        "relevant": 7,
        "relevant_retrieved": 1,
        "marks": ["nothing relevant in the first 10"],
    }


def test_why_a_perfect_ranking_may_have_less_than_1() -> None:
    qrels, run = oracle.make_collection(0)
    for name, has_reason in (("P@5", True), ("AP@5", True), ("AP", False), ("nDCG@5", False)):
        notes = " ".join(explain_mean(qrels, run, name).tables()[0].notes)
        assert ("A perfect ranking may have less than 1, too: " in notes) is has_reason


def test_what_cannot_be_explained_is_refused() -> None:
    with pytest.raises(MeasureError, match="RelString is a string for each query: there is no"):
        explain_mean({"q": {"a": 1}}, {"q": ["a"]}, "RelString")
    with pytest.raises(MeasureError, match="needs a cutoff"):
        explain_mean({"q": {"a": 1}}, {"q": ["a"]}, "P")
    explanation = explain_mean({"q": {"a": 1}}, {"q": ["a"]}, "AP")
    for rows in (0, -1, True, 2.5, "3"):
        with pytest.raises(OptionError, match="expected a number of rows, 1 or more"):
            explanation.tables(rows)[0]  # type: ignore[arg-type] # what it refuses
