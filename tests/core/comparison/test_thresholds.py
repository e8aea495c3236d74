"""Numbers that a mean must reach, with or without a baseline: `gate(..., at_least=)`."""

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.folders import DEMO
from helpers.notes import codes
from scipy.stats import t as student

from cranfield import CranfieldWarning, InputError, MeasureError, OptionError, compare, gate
from cranfield.arrays.ranked import mean

QRELS, BM25, DENSE = (str(DEMO / name) for name in ("qrels.txt", "bm25.run", "dense.run"))


def score_dict(values: Any, name: str = "new") -> dict[str, dict[str, dict[str, float]]]:
    return {name: {"R@5": {f"q{i:03}": float(score) for i, score in enumerate(values)}}}


def test_the_mean_reaches_it_or_does_not() -> None:
    values = [1.0, 0.5, 0.6, 0.8, 1.0]
    for number_to_reach, outcome in ((0.78, "PASS"), (3.9 / 5, "PASS"), (0.781, "FAIL")):
        gate_result = gate(score_dict(values), at_least={"recall@5": number_to_reach})
        (threshold,) = gate_result.thresholds
        assert (threshold.outcome, threshold.measure, threshold.at_least, threshold.n) == (
            outcome,
            "R@5",
            number_to_reach,
            5,
        )
        assert threshold.mean == mean(np.array(values))
        assert (threshold.lower, threshold.upper, threshold.p) == (None, None, None)
        assert gate_result.outcome == gate_result.outcomes["new"] == outcome
        assert gate_result.passed == (outcome == "PASS")
        assert (gate_result.verdicts, gate_result.baseline) == ((), None)


def test_a_mean_that_is_lower_by_rounding_alone_reaches_it() -> None:
    values = [0.1] * 10
    assert sum(values) / 10 < 0.1  # added one after the other
    assert gate(score_dict(values), at_least={"R@5": 0.1}).passed


def test_runs_need_no_baseline_and_are_evaluated_by_these_measures_alone() -> None:
    gate_result = gate(QRELS, [BM25, DENSE], at_least={"R@5": 0.5, "success@1": 0.5})
    assert [
        (threshold.system, threshold.measure, threshold.outcome)
        for threshold in gate_result.thresholds
    ] == [
        ("bm25", "R@5", "FAIL"),
        ("bm25", "Success@1", "PASS"),
        ("dense", "R@5", "PASS"),
        ("dense", "Success@1", "PASS"),
    ]
    assert gate_result.outcomes == {"bm25": "FAIL", "dense": "PASS"}
    assert gate(QRELS, DENSE, at_least={"R@5": 0.5}).passed  # one run, no list
    means = compare(QRELS, [BM25, DENSE], "R@5", test="t")["R@5"].systems
    assert {system.name: system.mean for system in means} == {
        threshold.system: threshold.mean
        for threshold in gate_result.thresholds
        if threshold.measure == "R@5"
    }


def test_with_a_baseline_both_must_hold() -> None:
    """A number to reach changes nothing of what is judged by the margin."""
    alone = gate(QRELS, [BM25, DENSE], baseline="bm25", margin=0.02, test="t")
    for number_to_reach, outcome in ((0.5, "PASS"), (0.6, "FAIL")):
        gate_result = gate(
            QRELS,
            [BM25, DENSE],
            baseline="bm25",
            margin=0.02,
            test="t",
            at_least={"R@5": number_to_reach},
        )
        assert gate_result.verdicts == alone.verdicts
        assert alone.outcomes == {"dense": "PASS"}
        assert gate_result.outcomes == {"dense": outcome}
    worse = gate(QRELS, [DENSE, BM25], baseline="dense", margin=0.02, at_least={"R@5": 0.3})
    assert (worse.thresholds[0].outcome, worse.outcome) == ("PASS", "FAIL")


def test_saved_scores_with_a_baseline_are_all_judged_by_the_margin() -> None:
    scores = {
        name: {"R@5": {"q1": 0.5, "q2": value}, "RR": {"q1": 1.0, "q2": value}}
        for name, value in (("old", 0.5), ("new", 1.0))
    }
    gate_result = gate(scores, baseline="old", margin=0.1, at_least={"RR": 0.9})
    assert [verdict.measure for verdict in gate_result.verdicts] == ["R@5", "RR"]
    assert [threshold.measure for threshold in gate_result.thresholds] == ["RR"]


# ---- limits -------------------------------------------------------------------------------------


def scores_of(n: int, seed: int = 11) -> Any:
    return np.random.default_rng(seed).choice([0.0, 1 / 3, 2 / 3, 1.0], n, p=[0.1, 0.1, 0.2, 0.6])


def test_the_legend_names_the_rule_over_several_rows() -> None:
    """Holm: of two rows, the smaller p of a mean too low is compared with alpha / 2."""
    values = np.array([0.5 + 0.03 * (i % 5 - 2) for i in range(40)])
    sem = values.std(ddof=1) / math.sqrt(40)
    at_least = {"R@5": values.mean() + student.ppf(0.96, 39) * sem}  # p of failing is 0.04
    scores = {"new": {"R@5": {f"q{i}": value for i, value in enumerate(values.tolist())}}}
    options: dict[str, Any] = {"at_least": at_least, "limit": True, "test": "t"}
    lone_gate = gate(scores, **options)
    assert (lone_gate.outcome, "Holm" in str(lone_gate)) == ("FAIL", False)
    better = {query: value + 0.2 for query, value in scores["new"]["R@5"].items()}
    gate_of_two = gate({**scores, "better": {"R@5": better}}, **options)
    assert gate_of_two.outcomes == {"new": "UNDECIDED", "better": "PASS"}
    assert "FAIL: upper < at least by Holm's rule over 2 rows: a mean that" in str(gate_of_two)


def test_the_limit_by_the_t_test_is_students() -> None:
    values = scores_of(80)
    far = student.ppf(0.95, 79) * values.std(ddof=1) / math.sqrt(80)
    for shift, outcome in ((1.01, "PASS"), (0.5, "UNDECIDED"), (-1.01, "FAIL")):
        number_to_reach = values.mean() - shift * far
        (threshold,) = gate(
            score_dict(values), at_least={"R@5": number_to_reach}, limit=True, test="t"
        ).thresholds
        assert threshold.lower == pytest.approx(values.mean() - far)
        assert threshold.upper == pytest.approx(values.mean() + far)
        assert threshold.p == pytest.approx(
            student.sf(shift * far / (far / student.ppf(0.95, 79)), 79)
        )
        assert threshold.outcome == outcome


def test_the_limit_by_flips_is_where_the_test_just_stops_rejecting() -> None:
    values = scores_of(14)  # so few that all flips are tried
    (threshold,) = gate(score_dict(values), at_least={"R@5": 0.3}, limit=True).thresholds
    assert threshold.lower is not None
    signs = np.array([[1 - 2 * (i >> j & 1) for j in range(14)] for i in range(2**14)])
    for number_to_reach, is_rejected in (
        (threshold.lower - 1e-6, True),
        (threshold.lower + 1e-6, False),
    ):
        shifted_values = values - number_to_reach
        p = np.mean(signs @ shifted_values >= shifted_values.sum() - 1e-9)
        assert (p <= 0.05) == is_rejected


def test_equal_scores_show_nothing_but_to_the_bounded_test() -> None:
    """Of 30 queries, all with .9: a true mean of .855, .9 x .95, gives that in 21 % of cases."""
    values = [0.9] * 30
    assert 0.95**30 > 0.2
    for test in ("randomization", "t"):
        with pytest.warns(CranfieldWarning):
            gate_result = gate(score_dict(values), at_least={"R@5": 0.855}, limit=True, test=test)
        assert (gate_result.outcome, codes(gate_result)) == ("UNDECIDED", ["few-scores"])


def test_few_low_scores_are_no_pass_and_skewed_ones_neither() -> None:
    with pytest.warns(CranfieldWarning):
        gate_result = gate(
            score_dict([0.0] * 9 + [0.9] * 91), at_least={"R@5": 0.72}, limit=True, test="t"
        )
    assert (gate_result.outcome, codes(gate_result)) == ("UNDECIDED", ["few-scores"])
    with pytest.warns(CranfieldWarning):
        gate_result = gate(
            score_dict([0.0] * 10 + [0.9] * 90), at_least={"R@5": 0.72}, limit=True, test="t"
        )
    assert (gate_result.outcome, codes(gate_result)) == ("UNDECIDED", ["skewed"])
    # Few high scores make the lower limit too low, if anything.
    gate_result = gate(
        score_dict([0.9] * 10 + [0.0] * 90), at_least={"R@5": 0.009}, limit=True, test="t"
    )
    assert (gate_result.outcome, codes(gate_result)) == ("PASS", [])


def test_a_geometric_mean_has_the_limit_of_its_logarithms() -> None:
    values = np.random.default_rng(3).uniform(0.2, 1.0, 60)
    scores = {"new": {"GMAP": {f"q{i:02}": float(score) for i, score in enumerate(values)}}}
    (threshold,) = gate(scores, at_least={"GMAP": 0.4}, limit=True, test="t").thresholds
    logs = np.log(values)
    far = student.ppf(0.95, 59) * logs.std(ddof=1) / math.sqrt(60)
    assert threshold.mean == pytest.approx(math.exp(logs.mean()))
    assert threshold.lower == pytest.approx(math.exp(logs.mean() - far))


def test_a_limit_is_no_score_that_cannot_be() -> None:
    with pytest.warns(CranfieldWarning):
        gate_result = gate(
            score_dict([1.0] * 8 + [0.1]), at_least={"R@5": 0.5}, limit=True, test="t"
        )
    assert gate_result.thresholds[0].upper == 1


def test_one_query_has_no_limit() -> None:
    with pytest.warns(CranfieldWarning):
        gate_result = gate(score_dict([0.9]), at_least={"R@5": 0.5}, limit=True)
    (threshold,) = gate_result.thresholds
    assert (threshold.outcome, threshold.lower, threshold.p) == ("UNDECIDED", None, None)
    assert "UNDECIDED" in str(gate_result)


# ---- what is refused ----------------------------------------------------------------------------

REFUSED_OPTIONS: list[tuple[Mapping[str, Any], str]] = [
    ({}, "nothing to judge by"),
    ({"margin": 0.01}, "a margin needs a baseline"),
    ({"baseline": "bm25"}, "a baseline needs a margin"),
    ({"limit": True}, "goes with at_least"),
    ({"at_least": {"R@5": 0.3}, "measures": "AP"}, "at_least names the measures"),
    ({"at_least": {"R@5": 80}}, "Did you mean 0.8"),
    ({"at_least": {"R@5": 0}}, "every system reaches it"),
    ({"at_least": {"FallOut@5": 0.5}}, "less is better"),
    ({"at_least": {"R@5": 0.3, "recall@5": 0.4}}, "two numbers"),
    ({"at_least": {"R@5": "much"}}, "one number for each"),
    ({"at_least": {"R@5": True}}, "one number for each"),
    ({"at_least": {"R@5": float("nan")}}, "one number for each"),
    ({"at_least": 0.8}, "one number for each"),
    ({"at_least": {0.8: "R@5"}}, "one number for each"),
    ({"at_least": ["R@5=0.3", "R@5=0.4"]}, "one number for R@5, not 0.3 and 0.4"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED_OPTIONS)
def test_what_says_nothing_is_refused(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        gate(QRELS, [BM25], **options)


def test_a_measure_that_is_none_or_was_not_saved_is_named() -> None:
    with pytest.raises(MeasureError, match="recal@5"):
        gate(QRELS, BM25, at_least={"recal@5": 0.5})
    with pytest.raises(MeasureError, match="there are R@5"):
        gate(score_dict([0.5]), at_least={"RR": 0.5})
    with pytest.raises(InputError, match="no system"):
        gate(score_dict([0.5]), baseline="old", margin=0.1, at_least={"R@5": 0.5})


def test_a_measure_of_texts_reaches_nothing() -> None:
    with pytest.raises(MeasureError, match="RelString has texts as values"):
        gate(QRELS, BM25, at_least={"RelString": 0.5, "RR": 0.5})
    gate_result = gate(QRELS, [BM25, DENSE], "RR RelString", baseline="bm25", margin=0.1)
    assert (
        [verdict.measure for verdict in gate_result.verdicts],
        "texts" in codes(gate_result),
    ) == (["RR"], True)


def test_scores_in_percent_have_their_own_numbers() -> None:
    assert gate(score_dict([80.0, 90.0]), at_least={"R@5": 0.85}, percent=True).passed
    with pytest.raises(
        InputError, match=r"R@5 of query 'q000' is 80: expected a score from 0 to 1"
    ):
        gate(score_dict([80.0, 90.0]), at_least={"R@5": 0.85})
    mine = {"new": {"mine": {"q1": 80.0, "q2": 90.0}}}
    assert not gate(mine, at_least={"mine": 86}).passed


def test_undecided_counts_as_it_is_said() -> None:
    values = scores_of(40)
    for counted_as, is_passed in ((None, False), ("fail", False), ("pass", True)):
        limit_options: Any = {"limit": True, "undecided": counted_as}
        gate_result = gate(score_dict(values), at_least={"R@5": values.mean()}, **limit_options)
        assert (gate_result.outcome, gate_result.passed) == ("UNDECIDED", is_passed)


# ---- the command, and what goes out -------------------------------------------------------------


def test_the_exit_status_is_that_of_the_worst() -> None:
    arguments = ["gate", QRELS, DENSE]
    for more_arguments, status in (
        (["--at-least", "recall@5=0.5"], 0),
        (["--at-least", "recall@5=0.9"], 1),
        (["--at-least", "recall@5=0.5", "--at-least=RR=0.99"], 1),
        (["--at-least", "recall@5=0.5", "--limit"], 3),
        (["--at-least", "recall@5=0.5", "--limit", "--undecided", "pass"], 0),
        (["--at-least", "recall@5=0.5", "--limit", "--undecided", "fail"], 1),
        (["--at-least", "P(rel=2)@5=0.05"], 0),
        (["--at-least", "recall@5=0.5", "--baseline", BM25, "--margin", "2%"], 0),
        (["--at-least", "recall@5=0.9", "--baseline", BM25, "--margin", "2%"], 1),
        (["--at-least", "recall@5"], 2),
        (["--at-least", "recall@5=0.1", "--at-least", "R@5=0.2"], 2),
    ):
        assert invoke(*arguments, *more_arguments).exit_code == status, more_arguments
    for slip in (["--min", "recall@5=0.8"], ["--threshold=recall@5=0.8"]):
        outcome = invoke(*arguments, *slip)
        assert outcome.exit_code == 2
        assert "Did you mean '--at-least'?" in outcome.output
    for wrong in ("recall@5", "=0.5", "recall@5=", "recall@5=80%"):
        outcome = invoke(*arguments, "--at-least", "P@5=0.1", "--at-least", wrong)
        assert f"--at-least {wrong}: expected one number" in " ".join(outcome.output.split())


def test_rel_applies_to_these_measures_too() -> None:
    outcome = invoke("gate", QRELS, DENSE, "--at-least", "P@5=0.1", "-l", "2", "--format", "json")
    assert json.loads(outcome.stdout)["thresholds"][0]["measure"] == "P(rel=2)@5"


def test_rows_and_document_have_thresholds_beside_verdicts() -> None:
    arguments = [
        "gate",
        QRELS,
        DENSE,
        "--baseline",
        BM25,
        "--margin",
        "0.02",
        "--at-least",
        "RR=0.5",
    ]
    rows = list(csv.DictReader(io.StringIO(invoke(*arguments, "--format", "csv").stdout)))
    assert [(r["measure"], r["outcome"], r["margin"], r["at_least"]) for r in rows] == [
        ("nDCG@10", "PASS", "0.02", ""),
        ("RR", "PASS", "", "0.5"),
    ]
    document = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert [threshold["at_least"] for threshold in document["thresholds"]] == [0.5]
    assert document["recipe"]["at_least"] == {"RR": 0.5}
    assert document["recipe"]["limit"] is False
    for form in ("table", "markdown", "latex", "html"):
        assert "at least" in invoke(*arguments, "--format", form).stdout


def test_of_several_things_to_pass_there_is_a_row_for_all() -> None:
    gate_result = gate(QRELS, [BM25, DENSE], baseline="bm25", margin=0.02, at_least={"RR": 0.9})
    verdicts, thresholds = gate_result.tables()[:2]
    assert [row[1:3] for row in verdicts.rows] == [["nDCG@10", "PASS, better"]]
    assert [row[1:3] for row in thresholds.rows] == [["RR", "FAIL"], ["all", "FAIL"]]
    alone, _ = gate(QRELS, BM25, at_least={"RR": 0.9}).tables()
    assert [row[1] for row in alone.rows] == ["RR"]


def test_the_lowest_scores_of_what_did_not_pass_are_named() -> None:
    values = [0.5, 0.0, 1.0, 0.25, 0.5, 0.75, 0.125, 0.5]
    below = [("q1", 0.0), ("q6", 0.125), ("q3", 0.25), ("q0", 0.5), ("q4", 0.5), ("q7", 0.5)]
    scores = {"new": {"R@5": {f"q{i}": value for i, value in enumerate(values)}}}
    failed_gate = gate(scores, at_least={"R@5": 0.6})
    assert failed_gate.outcome == "FAIL"
    assert failed_gate.thresholds[0].lowest == tuple(below[:5])
    worst = failed_gate.tables()[-1]
    assert [row[2] for row in worst.rows] == [query for query, _ in below[:5]]
    assert any("-m R@5 --query q1" in note for note in worst.notes)
    assert json.loads(failed_gate.to_json())["thresholds"][0]["lowest"][0] == {
        "query_id": "q1",
        "score": 0.0,
    }
    for n in (0, 2, 99):
        assert gate(scores, at_least={"R@5": 0.6}, changes=n).thresholds[0].lowest == tuple(
            below[:n]
        )
    passed_gate = gate(scores, at_least={"R@5": 0.4})
    assert (passed_gate.outcome, passed_gate.thresholds[0].lowest, len(passed_gate.tables())) == (
        "PASS",
        (),
        1,
    )
    assert gate(scores, at_least={"R@5": 0.4}, changes=9).thresholds[0].lowest == tuple(below[:3])
