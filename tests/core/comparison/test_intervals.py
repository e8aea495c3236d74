"""Means with their confidence intervals: `intervals`, and `evaluate --intervals`."""

import math

import numpy as np
import pytest
from scipy import stats

from cranfield import CranfieldWarning, InputError, OptionError, compare, evaluate, gate, intervals
from cranfield.comparison.mean_interval import note_intervals
from cranfield.measures import parse

QRELS = {f"q{i}": {"a": 1, "b": i % 2} for i in range(12)}
RUN = {f"q{i}": ["x", "b", "a"][i % 3 :] + ["a", "b"][: i % 2] for i in range(12)}
RUN = {query: list(dict.fromkeys(docs)) for query, docs in RUN.items()}


def test_an_interval_is_students_cut_to_the_range() -> None:
    scores = evaluate(QRELS, RUN, "nDCG@10 RR")
    mean_intervals = intervals(scores, alpha=0.1)
    for mean in mean_intervals.means:
        values = np.array(list(scores.per_query(mean.measure).values()))
        ends = stats.t.interval(0.9, 11, values.mean(), stats.sem(values))
        assert mean.mean == scores[mean.measure]
        assert (mean.low, mean.high) == pytest.approx((max(0, ends[0]), min(1, ends[1])), rel=1e-9)
    of_one = compare(QRELS, {"r": RUN}, "RR", alpha=0.1)["RR"].systems[0]
    assert (of_one.low, of_one.high) == (mean_intervals.means[1].low, mean_intervals.means[1].high)


def test_a_geometric_mean_has_the_interval_of_its_logarithms() -> None:
    scores = evaluate(QRELS, RUN, "GMAP")
    (mean,) = intervals(scores).means
    logs = np.log(np.maximum(list(scores.per_query("GMAP").values()), 1e-5))
    ends = stats.t.interval(0.95, 11, logs.mean(), stats.sem(logs))
    assert mean.low == pytest.approx(np.exp(ends[0]), rel=1e-9)
    assert mean.mean == pytest.approx(np.exp(logs.mean()), rel=1e-12)


def test_what_has_no_mean_is_named_or_refused() -> None:
    mean_intervals = intervals(evaluate(QRELS, RUN, "RR NumRet"))
    assert [mean.measure for mean in mean_intervals.means] == ["RR"]
    assert "no interval: NumRet" in str(mean_intervals)
    with pytest.raises(InputError, match="none of the measures has a mean"):
        intervals(evaluate(QRELS, RUN, "NumRet"))
    with pytest.raises(InputError, match="expected what evaluate"):
        intervals(RUN)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="alpha"):
        intervals(evaluate(QRELS, RUN, "RR"), alpha=2)
    (mean,) = intervals(evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR")).means
    assert (mean.mean, mean.low, mean.high) == (1.0, None, None)
    assert parse(mean.measure) == parse("RR")


@pytest.mark.parametrize(("n", "wrong"), [(30, 0), (30, 1), (50, 9)])
def test_nearly_equal_scores_have_intervals_that_are_too_narrow(n: int, wrong: int) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(n)}
    run = {q: ["b"] if i < wrong else ["b", "a"] for i, q in enumerate(qrels)}
    with pytest.warns(CranfieldWarning, match="the interval is too narrow"):
        of_one = compare(qrels, {"r": run}, "RR")
    same_phrase = "All" if wrong == 0 else f"All but {wrong}"
    text = f"{same_phrase} of {n} queries have the same score: the interval is too narrow"
    assert text in str(of_one)
    mean_intervals = intervals(evaluate(qrels, {"r": run}, "RR"))
    assert [note.code for note in mean_intervals.notes] == ["few-scores"]
    assert text in str(mean_intervals)


def test_skewed_scores_are_told() -> None:
    values = [*(i / 100 for i in range(27)), 0.9, 0.95, 1.0]
    scores = np.array(values)
    skew = float(stats.skew(scores))
    assert 25 * skew**2 > 30
    (note,) = note_intervals(None, scores[:, None], ["r"])
    assert note.code == "skewed"
    assert f"with {math.ceil(25 * skew**2):,} queries it would not" in note.text
    assert [*note_intervals(None, np.linspace(0, 1, 30)[:, None], ["r"])] == []


def test_one_difference_on_all_queries_is_told() -> None:
    old, new = ({f"q{i}": at for i in range(12)} for at in (0.5, 0.625))
    percent_unlike = 100 * (1 - 0.05 ** (1 / 12))
    text = f"of other queries, up to {percent_unlike:.2g} % may have another."
    with pytest.warns(CranfieldWarning, match="The same difference on all 12 queries"):
        comparison = compare({"old": old, "new": new})
    assert text in str(comparison).lower()
    with pytest.warns(CranfieldWarning, match="the limits have no width"):
        judged = gate({"old": old, "new": new}, baseline="old", margin=0.25)
    assert text.removesuffix(".") in str(judged)
    with pytest.warns(CranfieldWarning, match="The same difference"):
        pair = compare({"old": old, "new": new}, test="bayes")["score"]["new"]
    assert (pair.probability_better, pair.probability_worse, pair.verdict) == (None, None, None)


def test_zeros_and_ones_of_a_geometric_mean_have_no_interval_of_wilson_and_are_noted() -> None:
    n = 12
    qrels = {f"q{i}": {"a": 1} for i in range(n)}
    run = {query: ["a" if query != "q0" else "b"] for query in qrels}
    result = intervals(evaluate(qrels, run, "AP GMAP"))
    assert [mean.interval for mean in result.means] == ["wilson", "t"]
    (note,) = (note for note in result.notes if note.code == "few-scores")
    assert note.source == "run GMAP"
    assert f"All but 1 of {n} queries have the same score" in note.text


def test_the_skewness_of_a_geometric_mean_is_that_of_its_logarithms() -> None:
    n = 40
    qrels = {f"q{i}": {"a": 1} for i in range(n)}
    # AP is 1 / rank: its logarithms are at even distances, without an outlier.
    run = {f"q{i}": [*(f"x{j}" for j in range(2 ** (i % 8) - 1)), "a"] for i in range(n)}
    result = intervals(evaluate(qrels, run, "AP GMAP"))
    assert {note.source for note in result.notes if note.code == "skewed"} == {"run AP"}
