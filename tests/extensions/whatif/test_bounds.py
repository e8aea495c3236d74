"""Bounds: held against every completion of small collections."""

import csv
import itertools
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import run_command as command
from helpers.notes import codes, sentence
from helpers.profile import seeds
from helpers.variants import variants

from cranfield import Measure, MeasureError, OptionError, definitions, evaluate, joint_bounds, parse
from cranfield.arrays.ranked import Floats
from cranfield.data.judge import judge
from cranfield.data.judged import Judged
from cranfield.data.judging import Queries
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.extensions.whatif.bounds import Bounds, find_bounds
from cranfield.measures import Plan

Small = tuple[dict[str, int], list[str]]  # judgments, ranking


def small(seed: int, top: int) -> Small:
    """Return judgments, and a ranking of which 5 documents at most are not judged."""
    chance = random.Random(seed)
    n_judged, n_unjudged = chance.randint(1, 6), chance.randint(0, {1: 5, 2: 4, 3: 4}[top])
    lowest = chance.choice([0, 0, -1])
    grades = {f"j{i}": chance.randint(lowest, chance.randint(0, top)) for i in range(n_judged)}
    retrieved_docs = [doc for doc in grades if chance.random() < 0.7]
    ranking = [*retrieved_docs, *(f"u{i}" for i in range(n_unjudged))]
    chance.shuffle(ranking)
    return grades, ranking


def collection(cases: list[Small], top: int) -> tuple[Qrels, Run]:
    """Return the cases as queries, and one more with the collection's top grade."""
    qrels = {f"q{i:06}": grades for i, (grades, _) in enumerate(cases)}
    run = {f"q{i:06}": ranking for i, (_, ranking) in enumerate(cases)}
    return Qrels({**qrels, "the top": {"d": top}}), Run({**run, "the top": ["d"]})


def completions(case: Small, top: int) -> Iterator[Small]:
    grades, ranking = case
    unjudged = [doc for doc in ranking if doc not in grades]
    for grades_of_unjudged in itertools.product(range(top + 1), repeat=len(unjudged)):
        yield {**grades, **dict(zip(unjudged, grades_of_unjudged, strict=True))}, ranking


SEEDS = seeds(170, step=8)
TOPS = (1, 2, 3)
_BRUTE: dict[int, tuple[Judged, np.ndarray, Judged]] = {}


def brute(top: int) -> tuple[Judged, np.ndarray, Judged]:
    """Return (all completions of all cases, the case of each, the cases themselves)."""
    if top not in _BRUTE:
        cases = [small(seed, top) for seed in SEEDS]
        completions_of_case = [
            (i, completion) for i, case in enumerate(cases) for completion in completions(case, top)
        ]
        owner = np.array([i for i, _ in completions_of_case] + [len(cases)])
        completed_judged = judge(
            *collection([completion for _, completion in completions_of_case], top)
        ).judged
        _BRUTE[top] = completed_judged, owner, judge(*collection(cases, top)).judged
    return _BRUTE[top]


def bound_by_completions(measures: list[Measure], top: int) -> tuple[Floats, Floats, Bounds]:
    """Return the lowest and highest values of each case, of all completions; and the bounds."""
    completed_judged, owner, judged = brute(top)
    values = Plan(measures).values(completed_judged)
    shape = len(SEEDS) + 1, len(measures)
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(low, owner, values)
    np.maximum.at(high, owner, values)
    return low, high, find_bounds(measures, judged)


def bounded_measures() -> Iterator[Measure]:
    for definition in definitions():
        for measure in variants(definition.name):
            refuses = definition.is_text or definition.traits.takes_groups
            if not refuses and measure.bounds != "none":
                yield measure


def hold(measures: list[Measure], top: int) -> Bounds:
    """Assert that no completion is beyond what is proved, and that the rest was attained."""
    low, high, bounds = bound_by_completions(measures, top)
    for i, measure in enumerate(measures):
        is_proved = bounds.proved[:, i]
        near_low = pytest.approx(low[is_proved, i], rel=1e-13, abs=1e-15)
        near_high = pytest.approx(high[is_proved, i], rel=1e-13, abs=1e-15)
        assert bounds.low[is_proved, i] == near_low, measure
        assert bounds.high[is_proved, i] == near_high, measure
        assert (bounds.low[:, i] >= low[:, i] - 1e-13 * (1 + np.abs(low[:, i]))).all(), measure
        assert (bounds.high[:, i] <= high[:, i] + 1e-13 * (1 + np.abs(high[:, i]))).all(), measure
    assert (bounds.low <= bounds.high).all()
    return bounds


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("name", dict.fromkeys(measure.name for measure in bounded_measures()))
@pytest.mark.parametrize("top", TOPS)
def test_no_completion_is_beyond_the_bounds(name: str, top: int) -> None:
    hold([measure for measure in variants(name) if measure.bounds != "none"], top)


EXACT = "P@10 R@10 F@10 Rprec Success@10 AP AP@10 RR Bpref RBP RBP(gain='linear') DCG DCG@10 nDCG"


@pytest.mark.parametrize("text", [*EXACT.split(), "nDCG@10", "nDCG(gain='exp2')", "P@R"])
def test_bounds_of_these_measures_are_proved(text: str) -> None:
    _, _, judged = brute(3)
    assert find_bounds([parse(text)], judged).proved.all()


def test_bounds_of_others_are_attained() -> None:
    """Unless every completion was tried: of few unjudged documents."""
    qrels = Qrels({"few": {"a": 3, "b": 1}, "many": {"a": 3, "b": 1}, "none": {"a": 2}})
    ranking = ["a", *(f"u{i}" for i in range(20)), "b"]
    judged = judge(qrels, Run({"few": ranking[:4], "many": ranking, "none": ["a"]})).judged
    for name in ("RnDCG", "infAP", "nDCG@R", "nDCG(gain={0: -1})", "DCG(gain={1: 5})@R"):
        assert find_bounds([parse(name)], judged).proved.tolist() == [[True], [False], [True]]


# ---- measures for which grades in order are tried ---------------------------------------------


@pytest.mark.parametrize("top", TOPS)
@pytest.mark.parametrize("at", ["", "@1", "@2", "@3", "@5", "@1000"])
def test_grades_in_order_are_enough_for_nerr_and_all_for_q(top: int, at: str) -> None:
    names = (
        "ERR ERR(stop='linear') nERR nERR(stop='linear') Q Q(beta=0.5) Q(beta=10) Q(gain='exp2')"
    )
    bounds = hold([parse(f"{name}{at}") for name in names.split()], top)
    assert bounds.proved.all()


def test_the_lowest_q_may_have_its_grades_in_no_order() -> None:
    """The four unjudged at 0, 1, 0 and 3; with 0, 0, 1, 3, in order, it is higher."""
    measure, ranking = parse("Q"), ["u", "v", "n", "r", "w", "x"]
    bounds = find_bounds(
        [measure], judge(Qrels({"q": {"n": 0, "r": 3}}), Run({"q": ranking})).judged
    )
    # At the ranks 2, 4 and 6; gains so far 1, 4, 7; the ideal's 6, 7, 7.
    lowest = ((1 + 1) / (2 + 6) + (2 + 4) / (4 + 7) + (3 + 7) / (6 + 7)) / 3
    assert bounds.low[0, 0] == pytest.approx(lowest, abs=1e-15)
    in_order = measure({"n": 0, "r": 3, "w": 1, "x": 3}, ranking)
    assert in_order > lowest


def test_where_orders_are_too_many_values_are_attained() -> None:
    qrels = Qrels({"q": {"a": 3, "b": 1}})
    run = Run({"q": ["a", *(f"u{i}" for i in range(150)), "b"]})
    measures = [parse(name) for name in ("Q", "Q@10", "nERR@10", "nERR")]
    bounds = find_bounds(measures, judge(qrels, run).judged)
    assert bounds.proved.tolist() == [[False, False, True, False]]
    notes = bounds.notes(measures)
    assert codes(notes) == ["bounds", "bounds-proved", "bounds-attained"]
    assert sentence(notes, "bounds-proved") == "Bounds: nERR@10."
    assert sentence(notes, "bounds-attained").endswith(": Q, Q@10, nERR.")
    binary = Qrels({"q": {"a": 1}})
    assert find_bounds(measures, judge(binary, run).judged).proved.all()


# ---- by eye -----------------------------------------------------------------------------------

JUDGED = {"q": {"a": 1, "b": 0, "c": 1, "d": 0}}
A, B = {"q": ["a", "u1", "c", "u2", "b"]}, {"q": ["u1", "b", "a", "u3", "d"]}
LOG3, LOG5 = math.log2(3), math.log2(5)
IDEAL3, IDEAL4 = 1 + 1 / LOG3 + 1 / 2, 1 + 1 / LOG3 + 1 / 2 + 1 / LOG5

# (run, measure, lowest, highest). In the comments, the documents that were graded 1.
BY_EYE: list[tuple[dict[str, list[str]], str, float, float]] = [
    (A, "P@3", 2 / 3, 3 / 3),  # none; u1
    (A, "RBP", 0.2 * (1 + 0.8**2), 0.2 * (1 + 0.8 + 0.8**2 + 0.8**3)),  # none; both
    (A, "DCG@5", 1 + 1 / 2, IDEAL4),  # none; both
    (A, "AP", (1 + 2 / 3 + 3 / 4) / 3, 1),  # u2: less than the 5/6 of none; both
    (A, "nDCG", (1 + 1 / 2 + 1 / LOG5) / IDEAL3, 1),  # u2; both
    (A, "Bpref", (1 + (1 - 1 / 2)) / 2, 1),  # none: u1 is above c, of R = 2; both
    (B, "P@3", 1 / 3, 2 / 3),
    (B, "RBP", 0.2 * 0.8**2, 0.2 * (1 + 0.8**2 + 0.8**3)),
    (B, "DCG@5", 1 / 2, 1 + 1 / 2 + 1 / LOG5),
    (B, "AP", (1 / 3) / 2, (1 + 2 / 3 + 3 / 4) / 4),
    (B, "nDCG", (1 / 2) / (1 + 1 / LOG3), (1 + 1 / 2 + 1 / LOG5) / IDEAL4),
    (B, "Bpref", 0, (1 + (1 - 1 / 3)) / 3),  # none; u1: then b is above a, of N = R = 3
    # Below the cutoff u2 only makes the ideal better, and so does u1 with grade 0.
    (A, "nDCG@3", (1 + 1 / 2) / IDEAL3, 1),  # u2; u1
    (A, "R@3", 2 / 3, 1),  # u2; u1 or none
    (A, "RR", 1, 1),
    (B, "RR", 1 / 3, 1),
    (A, "Rprec", 1 / 2, 3 / 4 + 1 / 4),  # none: c is third; both: ranks 1 to 4
    (A, "Success@1", 1, 1),
]


@pytest.mark.parametrize(("run", "name", "low", "high"), BY_EYE)
def test_bounds_by_eye(run: dict[str, list[str]], name: str, low: float, high: float) -> None:
    scores = evaluate(JUDGED, run, name, bounds=True)
    assert scores[f"{name} low"] == pytest.approx(low, abs=1e-15)
    assert scores[f"{name} high"] == pytest.approx(high, abs=1e-15)


def test_case_h_has_the_values_of_its_source() -> None:
    """To the digits that the design has."""
    a = evaluate(JUDGED, A, "RBP DCG@5 AP nDCG Bpref", bounds=True).means()
    b = evaluate(JUDGED, B, "RBP DCG@5 AP nDCG Bpref", bounds=True).means()
    digits = [round(a[f"{name} {end}"], 10) for name in ("AP", "nDCG") for end in ("low", "high")]
    assert digits == [0.8055555556, 1, 0.9060254355, 1]
    digits = [round(b[f"{name} {end}"], 10) for name in ("AP", "nDCG") for end in ("low", "high")]
    assert digits == [0.1666666667, 0.6041666667, 0.3065735964, 0.7536976113]
    assert round(a["DCG@5 high"], 10) == 2.5616063116
    assert round(b["DCG@5 high"], 10) == 1.9306765581
    assert (b["Bpref low"], round(b["Bpref high"], 10)) == (0, 0.5555555556)


def test_all_at_the_top_grade_is_not_the_highest_ndcg() -> None:
    """One document of grade 1 is known; two unjudged, the collection's top grade is 3."""
    qrels = {"q": {"a": 1}, "other": {"z": 3}}
    scores = evaluate(qrels, {"q": ["a", "u", "v"]}, "nDCG", bounds=True)
    all_at_3 = (1 + 3 / LOG3 + 3 / 2) / (3 + 3 / LOG3 + 1 / 2)
    assert scores.per_query("nDCG high")["q"] == 1 > all_at_3  # u at 1 or less, v too
    assert scores.per_query("nDCG low")["q"] == pytest.approx(
        (1 + 3 / 2) / (3 + 1 / LOG3)  # v at 3, u at 0
    )


# ---- which documents are graded ---------------------------------------------------------------


def test_a_collection_of_many_grades() -> None:
    qrels = {"q": {"a": 10**9, "b": 7, "c": 1}}
    scores = evaluate(qrels, {"q": ["u", "b", "v"]}, "nDCG@2 nDCG@1 G DCG@1", bounds=True)
    assert scores["DCG@1 high"] == 10**9
    assert (scores["nDCG@1 low"], scores["nDCG@1 high"]) == (0, 1)
    assert 0 < scores["nDCG@2 low"] < scores["nDCG@2 high"] < 1
    assert scores.bounds is not None
    assert scores.bounds.proved.tolist() == [[True, True, False, True]]


def test_what_was_cut_off_stays_unjudged() -> None:
    deep = evaluate(JUDGED, A, "P@5", bounds=True)
    cut_scores = evaluate(JUDGED, A, "P@5", bounds=True, depth=2)
    assert (deep["P@5 high"], cut_scores["P@5 high"]) == (4 / 5, 2 / 5)


def test_a_query_that_the_run_does_not_answer() -> None:
    qrels = {**JUDGED, "r": {"a": 1}}
    scores = evaluate(qrels, A, "P@3", bounds=True)
    assert scores.per_query("P@3 high") == {"q": 1, "r": 0}
    assert scores["P@3 high"] == 1 / 2
    shared_scores = evaluate(qrels, A, "P@3", bounds=True, queries="both")
    assert shared_scores.per_query("P@3 high") == {"q": 1}


def test_a_negative_grade_is_a_judgment() -> None:
    scores = evaluate({"q": {"a": 1, "n": -1}}, {"q": ["n", "a"]}, "P@2 AP", bounds=True)
    assert scores["AP low"] == scores["AP high"] == scores["AP"] == 1 / 2


def test_bpref_may_be_outside_of_its_bounds() -> None:
    """It passes over the unjudged; in every completion they count for or against."""
    scores = evaluate({"q": {"a": 1, "b": 1, "n": 0}}, {"q": ["u", "a", "b"]}, "Bpref", bounds=True)
    assert scores["Bpref"] == 1
    assert evaluate(JUDGED, B, "Bpref", bounds=True)["Bpref"] == (1 - 1 / 2) / 2


def test_completions_in_many_small_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, judged = brute(2)
    measures = [parse(name) for name in ("nDCG", "AP", "P@3", "R@2", "Bpref", "RnDCG")]
    once = find_bounds(measures, judged)
    monkeypatch.setattr("cranfield.extensions.whatif.variants.ROWS", 1)
    parts = find_bounds(measures, judged)
    assert np.array_equal(once.low, parts.low)
    assert np.array_equal(once.high, parts.high)


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("queries", ["relevant", "relevant-and-both", "relevant-and-retrieved"])
def test_queries_that_grades_decide_on_have_no_bounds(queries: Queries) -> None:
    """Where a is relevant, r is averaged, too: the mean rises from 1/2 to 3/4."""
    qrels, ranked = {"q": {"b": 1}, "r": {"c": 0}}, {"q": ["x", "b"], "r": ["a"]}
    judged = {**qrels, "r": {"c": 0, "a": 1}}
    means = [
        evaluate(judgments, ranked, "RR", queries=queries)["RR"] for judgments in (qrels, judged)
    ]
    assert means == [1 / 2, (1 / 2 + 1) / 2]
    with pytest.raises(OptionError, match=queries):
        evaluate(qrels, ranked, "RR", bounds=True, queries=queries)
    with pytest.raises(OptionError, match=queries):
        joint_bounds(qrels, {"a": ranked, "b": {"q": ["b"], "r": ["c"]}}, "P@1", queries=queries)


def test_bounds_of_judged_documents_only_are_refused() -> None:
    with pytest.raises(OptionError, match="judged_only=True leaves none"):
        evaluate(JUDGED, A, "AP", bounds=True, judged_only=True)


@pytest.mark.parametrize("name", ["RelString@10", "Prefs", "GroupAP", "NumPrefs"])
def test_measures_of_texts_and_groups_are_refused(name: str) -> None:
    with pytest.raises(MeasureError, match="has no bounds"):
        evaluate(JUDGED, A, name, bounds=True)


# ---- how they look ----------------------------------------------------------------------------


def test_bounds_stand_beside_the_value() -> None:
    scores = evaluate(JUDGED, A, "P@3 Judged@3 NumRelRet GMAP", bounds=True)
    assert list(scores.means()) == [
        "P@3",
        "P@3 low",
        "P@3 high",
        "Judged@3",
        "NumRelRet",
        "NumRelRet low",
        "NumRelRet high",
        "GMAP",
        "GMAP low",
        "GMAP high",
    ]
    assert list(scores.to_dict()["q"]) == list(scores.means())
    assert scores.to_arrow().column_names == ["run", "query_id", *scores.means()]
    assert scores["Precision@3 low"] == 2 / 3, "by other names, too"
    with pytest.raises(MeasureError, match="Judged@3 low was not evaluated"):
        scores["Judged@3 low"]
    lines = str(scores).splitlines()
    assert " ".join(lines[2].split()) == (
        "run 0.6667 [0.6667, 1.0000] 0.6667 2 [2, 4] 0.8333 [0.8056, 1.0000]"
    )
    assert lines[-2:] == [
        "[low, high]: over every way to grade the 2 unjudged of the 5 documents retrieved, "
        "from 0 to 1.",
        "Bounds: P@3, NumRelRet, GMAP.",
    ]
    assert scores.tables(per_query=True)[0].rows[0][2] == "0.6667 [0.6667, 1.0000]"
    assert scores.recipe["bounds"] is True


def test_without_bounds_nothing_is_said_of_them() -> None:
    scores = evaluate(JUDGED, A, "P@3")
    assert scores.bounds is None
    assert "bounds" not in scores.recipe
    with pytest.raises(MeasureError, match="P@3 low was not evaluated"):
        scores["P@3 low"]


def test_the_command_prints_them(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"q 0 {d} {g}\n" for d, g in JUDGED["q"].items()))
    rows = (f"q Q0 {doc} 1 {9 - i} t\n" for i, doc in enumerate(A["q"]))
    (tmp_path / "a.run").write_text("".join(rows))
    files = [str(tmp_path / "qrels"), str(tmp_path / "a.run"), "--bounds", "-m", "P@3"]
    assert "0.6667 [0.6667, 1.0000]" in command("evaluate", *files, "--format", "table").stdout
    outcome = command("evaluate", *files, "-q", "--format", "csv")
    csv_rows = list(csv.reader(outcome.stdout.splitlines()))
    assert csv_rows[1:4] == [
        ["a", "P@3", "q", str(2 / 3)],
        ["a", "P@3 low", "q", str(2 / 3)],
        ["a", "P@3 high", "q", "1.0"],
    ]
    assert "Bounds: P@3." in outcome.stderr
    document = json.loads(command("evaluate", *files, "--format", "json").stdout)
    assert document["runs"][0]["all"]["P@3 high"] == 1
    assert document["runs"][0]["bounds"] == {
        "highest_grade": 1,
        "retrieved": 5,
        "judged": 3,
        "proved": {"P@3": True},
    }
    refusal = command("evaluate", *files, "--judged-only")
    assert refusal.returncode == 2
    assert "leave one of them out" in refusal.stderr


def test_a_thousand_deep(data: Path) -> None:
    """DL 2019, 43 queries: AP of RepLLaMA, .535, lies between .26 and .91."""
    folder = data / "dl19"
    names = "nDCG@10 AP nDCG P@10"
    scores = evaluate(folder / "qrels.txt", folder / "repllama.run.gz", names, bounds=True)
    assert (round(scores["AP low"], 2), round(scores["AP high"], 2)) == (0.26, 0.91)
    assert scores.bounds is not None
    assert scores.bounds.proved.all()
    for name in names.split():
        value, low, high = (scores.columns[f"{name}{end}"][1] for end in ("", " low", " high"))
        assert (low <= value).all()
        assert (value <= high).all()
