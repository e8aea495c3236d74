"""Non-inferiority and equivalence: verdicts, limits, p-values, exit status."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.gates import (
    BM25,
    DENSE,
    FUSION,
    QRELS,
    TFIDF,
    A,
    B,
    C,
    gate_differences,
    gate_scores,
    make_scores,
    number_queries,
    run_gate,
    save_scores,
)
from helpers.notes import codes
from helpers.profile import repetitions
from helpers.vectors import CASE_E as E
from scipy import stats

from cranfield import Gate, GateFailed, InputError, OptionError, evaluate, gate
from cranfield.cli import cli
from cranfield.comparison.flips import Flips
from cranfield.comparison.randomization import one_sided_tests
from cranfield.comparison.settings import GateSettings, GateTestName
from cranfield.errors import CranfieldWarning

# What is reported of a verdict is asserted by its code, where it matters.
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

PAIRS = {"a-b": (A, B), "a-c": (A, C), "b-c": (B, C)}


@pytest.mark.parametrize(
    ("pair", "at_05", "at_10", "lower"),
    [
        ("a-b", 0.001128344354, 0.000045785266, 0.0137052551),
        ("a-c", 0.012857003955, 0.002220548653, -0.0071798097),
        ("b-c", 0.032534518956, 0.002044023262, -0.0412306458),
    ],
)
def test_t_of_case_a(pair: str, at_05: float, at_10: float, lower: float) -> None:
    for margin, p in ((0.05, at_05), (0.1, at_10)):
        verdict = gate_scores(*PAIRS[pair], margin, test="t").verdicts[0]
        assert verdict.p == pytest.approx(p, abs=6e-13)
        assert verdict.lower == pytest.approx(lower, abs=6e-11)
        assert verdict.outcome == "PASS"
        assert verdict.better == (lower > 0)
        assert str(verdict) == ("PASS, better" if lower > 0 else "PASS")


@pytest.mark.parametrize(
    ("pair", "at_05", "at_10"),
    [
        ("a-b", 0.755395346336, 0.244604653664),
        ("a-c", 0.785075017588, 0.5),
        ("b-c", 0.260886724199, 0.032534518956),
    ],
)
def test_two_one_sided_t_tests_of_case_a(pair: str, at_05: float, at_10: float) -> None:
    for margin, p in ((0.05, at_05), (0.1, at_10)):
        verdict = gate_scores(*PAIRS[pair], margin, test="t", equivalence=True).verdicts[0]
        assert verdict.p == pytest.approx(p, abs=6e-13)
        # b - c has a skewness of -1.1 on 20 queries, fewer than 25 times its square.
        hides_losses = 25 * stats.skew(np.subtract(*PAIRS[pair])) ** 2 > 20
        assert hides_losses == (pair == "b-c")
        assert verdict.outcome == ("PASS" if p <= 0.05 and not hides_losses else "UNDECIDED")


@pytest.mark.parametrize(("margin", "p"), [(1, 0.00149287097), (2, 0.00020816736)])
def test_sign_flips_of_case_e(margin: int, p: float) -> None:
    exact = meet_in_the_middle([d + margin for d in E])
    assert exact == pytest.approx(p, abs=6e-12)
    verdict = gate_differences(E, margin / 100).verdicts[0]
    assert verdict.p == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))
    t = gate_differences(E, margin / 100, test="t").verdicts[0].p
    assert t == pytest.approx({1: 0.00144590859, 2: 0.00020066133}[margin], abs=6e-12)
    assert str(verdict) == "PASS, better"


def test_one_sided_sign_flips_of_case_e() -> None:
    exact = meet_in_the_middle(E)
    assert exact == pytest.approx(0.00945248082280159, abs=1e-17)
    verdict = gate_differences([-d for d in E], 0.001).verdicts[0]
    assert verdict.p_worse == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))
    assert verdict.outcome == "FAIL"


def meet_in_the_middle(integers: list[int]) -> float:
    """Return the share of all sign flips of whole numbers with at least their sum."""

    def sums(half_integers: list[int]) -> Any:
        sums_so_far = np.zeros(1, np.int64)
        for integer in half_integers:
            sums_so_far = np.concatenate((sums_so_far + integer, sums_so_far - integer))
        return np.sort(sums_so_far)

    half = len(integers) // 2
    left_sums, right = sums(integers[:half]), sums(integers[half:])
    below = np.searchsorted(right, sum(integers) - left_sums)
    as_large = int((len(right) - below).sum())
    return as_large / float(2 ** len(integers))


def all_flips(differences: list[int], bound: Fraction) -> Fraction:
    """Return the one-sided p-value of a mean of at most the bound, by its definition."""
    shifted_d = [d - bound for d in differences]
    total, n = sum(shifted_d), len(shifted_d)
    as_large = [
        sum(s * d for s, d in zip(signs, shifted_d, strict=True)) >= total
        for signs in product((1, -1), repeat=n)
    ]
    return Fraction(sum(as_large), 2**n)


@pytest.mark.parametrize("n", [2, 5, 7])
def test_limits_and_p_values_by_trying_all_flips(n: int) -> None:
    chance = np.random.default_rng(n)
    for alpha in (0.05, 0.2):
        for _ in range(6):
            tenths = [int(x) for x in chance.integers(-4, 6, n)]
            bounds = [Fraction(-2), Fraction(0), Fraction(1)]
            column = np.array(tenths)[:, None] / 10
            lower, upper, above, below = one_sided_tests(
                column, np.array([[-0.2], [0.0], [0.1]]), Flips(n), alpha
            )
            for b, bound in enumerate(bounds):
                assert above[b, 0] == all_flips(tenths, bound)
                assert below[b, 0] == all_flips([-d for d in tenths], -bound)
            limit, tiny = _exactly(lower[0] * 10, n), Fraction(1, 10**6)
            if limit is not None:
                assert all_flips(tenths, limit) > alpha >= all_flips(tenths, limit - tiny)
            else:
                assert 2.0**-n > alpha
            limit = _exactly(-upper[0] * 10, n)
            if limit is not None:
                other = [-d for d in tenths]
                assert all_flips(other, limit) > alpha >= all_flips(other, limit - tiny)


def _exactly(limit: float, n: int) -> Fraction | None:
    """Return a mean of at most n whole numbers exactly."""
    return None if np.isinf(limit) else Fraction(float(limit)).limit_denominator(n)


@pytest.mark.parametrize("n", [6, 13, 25, 60])
def test_limits_and_p_values_never_contradict_each_other(n: int) -> None:
    """Neither where differences are on a grid, and bounds are the very means of some."""
    chance = np.random.default_rng(n)
    differences = chance.integers(-3, 4, (n, 40)) / 10
    differences[:, 20:] = chance.normal(0.02, 0.1, (n, 20))
    bounds = np.array([-0.1, -0.05, 0, 0.05, 0.1])[:, None] + np.zeros(40)
    on_the_limit, _, _, _ = one_sided_tests(differences, bounds, Flips(n, 999), 0.05)
    bounds = np.concatenate((bounds, on_the_limit[None]))
    lower, upper, above, below = one_sided_tests(differences, bounds, Flips(n, 999), 0.05)
    assert ((above <= 0.05) == (lower > bounds)).all()
    assert ((below <= 0.05) == (upper < bounds)).all()
    assert (above[-1] > 0.05).all()
    for b in range(5):  # a bound is but a shift
        shifted_tests = one_sided_tests(
            differences - bounds[b], 0 * bounds[:1], Flips(n, 999), 0.05
        )
        assert (above[b] == shifted_tests[2][0]).all()


def test_verdicts_depend_on_no_other_system_and_no_chunk() -> None:
    chance = np.random.default_rng(3)
    differences = chance.normal(0, 0.1, (30, 40))
    bounds = np.zeros((1, 40))
    tests_of_all = one_sided_tests(differences, bounds, Flips(30, 120_000), 0.05)
    for i in (0, 39):
        alone = one_sided_tests(differences[:, [i]], bounds[:, [i]], Flips(30, 120_000), 0.05)
        for ours, theirs in zip(tests_of_all, alone, strict=True):
            assert ours[..., i] == pytest.approx(theirs[..., 0], rel=1e-12)


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("n", [1, 2, 20, 150])
def test_identical_runs_pass_and_it_is_said_apart(test: Any, n: int) -> None:
    """There is nothing to test, so that there is no limit, and no p-value, to be believed."""
    equal_scores = {"nDCG@10": {f"q{i}": 0.3 for i in range(n)}}
    gate_result = gate(
        {"old": equal_scores, "new": equal_scores}, baseline="old", margin=0.02, test=test
    )
    verdict = gate_result.verdicts[0]
    assert (verdict.outcome, verdict.changed, verdict.difference) == ("PASS", 0, 0)
    assert (verdict.p, verdict.p_worse, verdict.lower, verdict.upper) == (None, None, None, None)
    assert (verdict.better, verdict.worse) == (False, False)
    assert str(verdict) == f"PASS, identical on {'1 query' if n == 1 else f'all {n} queries'}"
    (note,) = gate_result.notes
    assert (note.code, note.severity, note.queries) == ("identical", "info", n)
    # The least n of which (1 - 0.02 / 1)^n is at most 0.05.
    assert 0.98**149 <= 0.05 < 0.98**148
    assert "it takes 149 queries without a change" in note.text
    assert note.text.endswith("these are that many." if n == 150 else f"these are {n}.")
    assert "nothing to test" in str(gate_result)
    assert "nan" not in str(gate_result)
    assert "-0.0000" not in str(gate_result)


def test_how_many_unchanged_queries_would_do_needs_a_range() -> None:
    equal_scores = {f"q{i}": 0.3 for i in range(30)}
    data = {"old": equal_scores, "new": equal_scores}
    assert "it takes" not in gate(data, baseline="old", margin=0.02).notes[0].text
    gate_result = gate(data, baseline="old", margin=0.02, range=(0, 0.4), alpha=0.1)
    n_needed = math.ceil(math.log(0.1) / math.log(1 - 0.02 / 0.4))
    assert f"it takes {n_needed} queries" in gate_result.notes[0].text


@pytest.mark.parametrize(("n", "p"), [(2, 2**-2), (4, 2**-4), (5, 2**-5)])
def test_few_queries(n: int, p: float) -> None:
    """All are better, evenly spread: the exact p-value is 1 / 2^n."""
    gate_result = gate_scores([51 + i for i in range(n)], [50] * n, 0.1)
    verdict = gate_result.verdicts[0]
    assert verdict.p == p
    assert verdict.outcome == ("PASS" if p <= 0.05 else "UNDECIDED")
    assert (verdict.lower is None) == (p > 0.05)
    assert verdict.queries_needed == (None if n == 5 else max(5, math.ceil(10 * n / n)))
    assert f"{n} queries, one-sided" in str(gate_result)
    assert codes(gate_result) == ["few-changes", *["unseen-loss"] * (p <= 0.05)]


def test_one_query_has_no_test() -> None:
    for test in ("randomization", "t"):
        verdict = gate_scores([51], [50], 0.1, test=test).verdicts[0]
        assert (verdict.outcome, verdict.p, verdict.lower, verdict.sd) == (
            "UNDECIDED",
            None,
            None,
            None,
        )
    assert "1 query, one-sided" in str(gate_scores([51], [50], 0.1))


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("n", [1, 50])
def test_nothing_is_shown_where_every_score_is_0(n: int, test: Any) -> None:
    for equivalence in (False, True):
        gate_result = gate_differences([0] * n, 0.1, test=test, equivalence=equivalence)
        assert (gate_result.outcome, codes(gate_result)) == ("UNDECIDED", ["nothing-shown"])
        assert gate_result.notes[0].severity == "warning"
        assert (gate_result.verdicts[0].queries_needed, gate_result.verdicts[0].p) == (None, None)


def test_the_worst_score_of_a_measure_that_falls_shows_nothing_either() -> None:
    data = {name: {"Unjudged@10": number_queries([1.0] * 30)} for name in ("old", "new")}
    assert gate(data, baseline="old", margin=0.02).outcome == "UNDECIDED"


def test_a_forgotten_pattern_of_chunks_does_not_pass(tmp_path: Path) -> None:
    """The run has ids of chunks, which no judgment has."""
    paths = []
    for name, run in (("old", BM25), ("new", DENSE)):
        lines = [line.split() for line in Path(run).read_text().splitlines()]
        rows = [" ".join([*fields[:2], f"{fields[2]}#0", *fields[3:]]) for fields in lines]
        paths.append(tmp_path / f"{name}.run")
        paths[-1].write_text("\n".join(rows) + "\n")
    old, new = map(str, paths)
    status, output, message = run_gate(QRELS, new, "--baseline", old, "--margin", "0.05")
    assert status == 3
    assert "UNDECIDED" in output
    assert "--map-docs-pattern" in output + message
    chunk_options = ["--map-docs-pattern", "^([^#]*)"]
    assert run_gate(QRELS, new, "--baseline", old, "--margin", "0.05", *chunk_options)[0] == 0


def test_a_baseline_without_a_margin_is_told_what_to_add() -> None:
    status, _, message = run_gate(QRELS, DENSE, "--baseline", BM25)
    assert status == 2
    assert "a baseline needs a margin" in message
    assert "the largest loss that does not matter: --margin 0.01, or '2%'" in message
    assert "None" not in message


def test_few_changes_say_why_it_passes_or_why_not() -> None:
    passes = gate_differences([10] * 6 + [0] * 44, 0.1)
    assert passes.outcome == "PASS"
    assert "it passes as its mean is not lower" in passes.notes[0].text
    undecided_gate = gate_differences([-1] * 6 + [0] * 44, 0.1)
    assert undecided_gate.outcome == "UNDECIDED"
    assert "too few for limits of a mean" in undecided_gate.notes[0].text
    assert "passes" not in undecided_gate.notes[0].text


def test_two_queries_without_variance_show_nothing_to_a_t_test() -> None:
    assert gate_scores([49] * 2, [50] * 2, 0.1, test="t").outcome == "UNDECIDED"
    assert gate_scores([51, 52, 53, 54, 55], [50] * 5, 0.1, test="t").outcome == "PASS"


@pytest.mark.parametrize("n", [5, 6, 9, 10, 12])
def test_one_difference_on_all_of_few_queries_does_not_pass(n: int) -> None:
    """As many as rule out a mean loss of the margin would, here ln(.05) / ln(1 - .01)."""
    old = {f"q{i}": 0.5 for i in range(n)}
    new = dict.fromkeys(old, 0.51)
    result = gate({"old": old, "new": new}, baseline="old", margin=0.01, range=(0, 1))
    assert result.outcome == "UNDECIDED"
    assert f"it takes {math.ceil(math.log(0.05) / math.log(0.99))} to pass" in str(result)


@pytest.mark.parametrize("n", [9, 10])
def test_few_queries_that_are_skewed_towards_losses_do_not_pass(n: int) -> None:
    losing, gaining = [52] * (n - 1) + [45], [49] * (n - 1) + [65]
    assert gate_scores(losing, [50] * n, 0.06).outcome == "UNDECIDED"
    assert gate_scores(gaining, [50] * n, 0.06).outcome == "PASS"


def test_few_flips_give_no_limit() -> None:
    """Of 10 flips and the signs as they are, no p is below 1 / 11."""
    gate_result = gate_differences([30] * 25, 0.1, flips=10)
    verdict = gate_result.verdicts[0]
    assert (verdict.outcome, verdict.lower, verdict.upper) == ("UNDECIDED", None, None)
    assert verdict.p == pytest.approx(1 / 11)
    rows = [list(row) for row in gate_result.tables()[0].rows]
    assert rows[0][6:8] == ["-", "-"]
    assert "-: no limit: too few queries, or flips, for a p of 0.05 or less" in str(gate_result)


def test_a_measure_that_is_a_sum_is_said_to_be_compared_by_its_mean() -> None:
    data = (QRELS, [BM25, DENSE])
    gate_result = gate(*data, "NumRelRet", baseline="bm25", margin=0.02)
    assert "NumRelRet: the means of the queries' values are compared, not the sums" in str(
        gate_result
    )
    assert "are compared" not in str(gate(*data, "AP", baseline="bm25", margin=0.02))


def test_constant_differences() -> None:
    for test in ("randomization", "t"):
        for constant, outcome in ((-9, "PASS"), (-10, "FAIL"), (-11, "FAIL"), (3, "PASS")):
            small_gate = gate_differences([constant] * 12, 0.1, test=test, range=(-1, 1))
            assert small_gate.outcome == ("UNDECIDED" if outcome == "PASS" else outcome)
            # A query may lose 2, so that a loss of .1 needs losses on a share of .05.
            n_unchanged = math.ceil(math.log(0.05) / math.log(1 - 0.1 / 2))
            large_gate = gate_differences([constant] * n_unchanged, 0.1, test=test, range=(-1, 1))
            verdict = large_gate.verdicts[0]
            assert verdict.outcome == outcome
            if outcome == "PASS":
                text = f"it takes {n_unchanged} to pass"
                assert (text in str(small_gate), text in str(large_gate)) == (True, False)
                unknown = gate_differences([constant] * n_unchanged, 0.1, test=test)
                assert "without the least and greatest score" in str(unknown)
                assert unknown.outcome == "UNDECIDED"
            assert verdict.lower == pytest.approx(constant / 100)
            assert verdict.lower is not None
            assert (verdict.lower > -0.1) == (outcome == "PASS")
            worse = "PASS, worse by less than the margin"
            assert str(verdict) == {-9: worse, 3: "PASS, better"}.get(constant, outcome)


def test_equivalence_fails_beyond_either_margin() -> None:
    for test in ("randomization", "t"):
        for shift, outcome in ((-30, "FAIL"), (30, "FAIL"), (0, "PASS"), (10, "UNDECIDED")):
            spread = [shift + d / 2 for d in (-8, -4, 0, 0, 4, 8)] * 4
            assert gate_differences(spread, 0.1, test=test, equivalence=True).outcome == outcome
    better = gate_differences([30, 31, 32] * 4, 0.1)
    assert str(better.verdicts[0]) == "PASS, better"


def test_every_measure_must_pass() -> None:
    data = {
        "old": {"X": make_scores(A[:12]), "Y": make_scores(A[:12])},
        "new": {
            "X": make_scores([a + 5 + i % 2 for i, a in enumerate(A[:12])]),
            "Y": make_scores(A[:12]),
        },
        "worse": {
            "X": make_scores(A[:12]),
            "Y": make_scores([a - 5 - i % 2 for i, a in enumerate(A[:12])]),
        },
        "odd": {
            "X": make_scores(A[:12]),
            "Y": make_scores([a - 40 * (i % 2 - 0.5) for i, a in enumerate(A[:12])]),
        },
    }
    gate_result = gate(data, baseline="old", margin=0.01)
    assert gate_result.outcomes == {"new": "PASS", "worse": "FAIL", "odd": "UNDECIDED"}
    assert gate_result.outcome == "FAIL"
    assert gate_result["worse", "X"].outcome == "PASS"
    assert gate_result["worse", "Y"].outcome == "FAIL"
    with pytest.raises(KeyError, match="was not judged"):
        gate_result["worse", "Z"]
    assert "all" in str(gate_result)
    alone = gate({k: data[k] for k in ("old", "worse")}, measures="Y", baseline="old", margin=0.01)
    verdict = gate_result["worse", "Y"]
    assert alone.verdicts[0] == replace(verdict, detectable=alone.verdicts[0].detectable)


def test_less_may_be_better() -> None:
    data = {
        "old": {"Unjudged@10": make_scores([a + 5 + i % 2 for i, a in enumerate(A)])},
        "new": {"Unjudged@10": make_scores(A)},
    }
    gate_result = gate(data, baseline="old", margin=0.01)
    assert str(gate_result.verdicts[0]) == "PASS, better"
    assert gate_result.verdicts[0].difference == pytest.approx(0.055)
    assert "less is better" in str(gate_result)
    assert gate(data, baseline="new", margin=0.01).outcome == "FAIL"


def test_a_margin_may_be_a_share_of_the_mean_of_the_baseline() -> None:
    verdict = gate_scores(A, B, "2%").verdicts[0]
    assert verdict.margin == pytest.approx(0.02 * 0.27)
    assert gate_scores(A, B, "0.02").verdicts[0].margin == 0.02
    with pytest.raises(OptionError, match="is 0; state a number"):
        gate_differences(A, "2%")


@pytest.mark.parametrize("margin", [0, -0.1, "x", "0%", float("nan"), float("inf"), True, None])
def test_a_margin_has_a_size(margin: Any) -> None:
    with pytest.raises(OptionError, match="the largest loss that does not matter"):
        gate_scores(A, B, margin)


@pytest.mark.parametrize(
    "option",
    [
        {"alpha": 0.5},
        {"alpha": 0},
        {"alpha": "x"},
        {"test": "wilcoxon"},
        {"flips": 0},
        {"flips": 2.5},
        {"seed": -1},
        {"equivalence": 1},
    ],
)
def test_options_out_of_their_range_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        gate_scores(A, B, 0.1, **option)


def test_systems_must_be_there() -> None:
    with pytest.raises(InputError, match="no system 'none' to be the baseline"):
        gate({"a": make_scores(A), "b": make_scores(B)}, baseline="none", margin=0.1)
    with pytest.raises(InputError, match="is the only system"):
        gate({"a": make_scores(A)}, baseline="a", margin=0.1)


def test_the_result_holds_what_repeats_it() -> None:
    gate_result = gate_differences(E, 0.01)
    document = json.loads(json.dumps(gate_result.to_dict(), allow_nan=False))
    assert document["recipe"]["flips"] == 100_000
    assert (document["recipe"]["seed"], document["recipe"]["exact"]) == (42, False)
    assert document["verdicts"][0]["outcome"] == document["outcome"] == "PASS"
    assert gate_differences(E, 0.01).to_dict() == gate_result.to_dict()
    assert gate_differences(E, 0.01, seed=1).verdicts[0].p != gate_result.verdicts[0].p
    assert "<table>" in gate_result._repr_html_()
    assert repr(gate_result) + "\n" == str(gate_result), (
        "at the prompt, and where an assertion fails"
    )


@pytest.mark.parametrize(
    ("new", "old", "more_arguments", "status"),
    [
        ([DENSE], BM25, [], 0),
        ([TFIDF], DENSE, [], 1),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16"], 3),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16", "--undecided", "pass"], 0),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16", "--undecided", "fail"], 1),
        ([TFIDF], BM25, ["--test", "t", "-m", "RR"], 1),
        ([DENSE, TFIDF], BM25, ["--test", "t", "-m", "AP", "-m", "RR"], 3),
        ([DENSE], BM25, ["--margin", "none"], 2),
        ([DENSE], BM25, ["-m", "nonsense"], 2),
        ([DENSE], "no such file", [], 2),
        ([DENSE], BM25, ["--alpha", "0.7"], 2),
    ],
)
def test_exit_status(new: list[str], old: str, more_arguments: list[str], status: int) -> None:
    margin = [] if "--margin" in more_arguments else ["--margin", "0.02"]
    outcome = CliRunner().invoke(
        cli, ["gate", QRELS, *new, "--baseline", old, *margin, *more_arguments]
    )
    assert outcome.exit_code == status, outcome.output


def test_margin_and_baseline_must_be_given() -> None:
    for left_out in ("--margin", "--baseline"):
        value_of_option = {"--margin": "0.1", "--baseline": BM25}
        del value_of_option[left_out]
        outcome = CliRunner().invoke(cli, ["gate", QRELS, DENSE, *sum(value_of_option.items(), ())])
        assert outcome.exit_code == 2
        assert left_out in outcome.stderr


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "markdown", "latex", "html"])
def test_forms(form: str, tmp_path: Path) -> None:
    arguments = ["gate", QRELS, TFIDF, "--baseline", DENSE, "--margin", "0.02", "--format", form]
    outcome = CliRunner().invoke(cli, arguments)
    assert outcome.exit_code == 1
    assert "FAIL" in outcome.stdout
    if form == "json":
        assert json.loads(outcome.stdout)["outcomes"] == {"tfidf": "FAIL"}
    if form == "csv":
        assert outcome.stdout.splitlines()[1].startswith("tfidf,nDCG@10,FAIL,False,True,40,")


# ---- few queries differ -------------------------------------------------------------------------


def changing(n: int, by: dict[int, float], margin: Any, **options: Any) -> Gate:
    """Judge a system that differs from 0.5 on some of n queries."""
    old = {f"q{i:03}": 0.5 for i in range(n)}
    new = {f"q{i:03}": 0.5 + by.get(i, 0.0) for i in range(n)}
    return gate({"old": old, "new": new}, baseline="old", margin=margin, **options)


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_a_rare_large_loss_is_not_ruled_out_by_queries_that_have_none(test: Any) -> None:
    """One of 50 queries loses 0.4: the limit, -0.019 of the flips, would let it pass."""
    gate_result = changing(50, {7: -0.4}, 0.02, test=test, flips=9_999)
    verdict = gate_result.verdicts[0]
    assert (verdict.outcome, verdict.changed) == ("UNDECIDED", 1)
    if test == "randomization":
        assert verdict.lower is not None
        assert verdict.p is not None
        assert verdict.lower > -0.02
        assert verdict.p <= 0.05
    assert codes(gate_result) == ["few-changes"]
    assert gate_result.notes[0].severity == "warning"
    assert (gate_result.notes[0].queries, gate_result.notes[0].source) == (1, "new (score)")
    # So that 10 differ, if one in 50 does.
    assert (verdict.queries_needed or 0) >= 10 * 50 / 1
    assert "1 of 50" in str(gate_result)


@pytest.mark.filterwarnings("error")
def test_a_warning_is_given_once() -> None:
    with pytest.warns(
        CranfieldWarning, match=r"^new \(score\): only 1 of 50 queries differs"
    ) as caught_warnings:
        changing(50, {7: -0.4}, 0.02, flips=999)
    assert len(caught_warnings) == 1
    assert caught_warnings[0].filename == __file__
    changing(50, {i: 0.01 * (i % 5 - 2) for i in range(50)}, 0.02, flips=999)  # which gives none


def test_few_changes_fail_as_before_and_gains_pass() -> None:
    losing_gate = gate_differences([-100] * 9 + [0] * 31, 0.02)
    assert (losing_gate.outcome, losing_gate.verdicts[0].changed) == ("FAIL", 9)
    assert changing(40, dict.fromkeys(range(9), 0.1), 0.02).outcome == "PASS"
    # Ten are not few: here a test decides, if they are not all on one side.
    ten = changing(400, {i: -0.1 if i % 4 else 0.1 for i in range(10)}, 0.02)
    assert (ten.outcome, "few-changes" in codes(ten)) == ("PASS", False)
    nine = changing(400, {i: -0.1 if i % 4 else 0.1 for i in range(9)}, 0.02)
    assert (nine.outcome, "few-changes" in codes(nine)) == ("UNDECIDED", True)


def test_losses_on_one_side_do_not_pass_and_gains_do() -> None:
    """Of k of n queries that change alike, the skewness is (1 - 2k/n) / sqrt(k/n (1 - k/n))."""
    skewness = (1 - 2 * 10 / 400) / math.sqrt(10 / 400 * (1 - 10 / 400))
    assert 25 * skewness**2 > 400
    losing_gate = changing(400, dict.fromkeys(range(10), -0.1), 0.02)
    assert (losing_gate.outcome, codes(losing_gate)[0]) == ("UNDECIDED", "skewed")
    assert f"(skewness {-skewness:+.1f})" in str(losing_gate)
    assert "by Holm" not in str(losing_gate)
    n_to_hold = math.ceil(25 * skewness**2)
    assert f"with {n_to_hold} queries they would hold, so that it could pass." in str(losing_gate)
    assert (losing_gate.verdicts[0].queries_needed or 0) >= n_to_hold
    gaining_gate = changing(400, dict.fromkeys(range(10), 0.1), 0.02)
    assert (str(gaining_gate.verdicts[0]), "skewed" in codes(gaining_gate)) == (
        "PASS, better",
        False,
    )
    for sign in (-1, 1):
        lopsided_gate = changing(400, dict.fromkeys(range(10), sign * 0.1), 0.02, equivalence=True)
        assert (lopsided_gate.outcome, codes(lopsided_gate)[0]) == ("UNDECIDED", "skewed")
    bounded_gate = changing(
        4_000, dict.fromkeys(range(10), -0.1), 0.02, test="bounded", range=(0, 1)
    )
    assert (bounded_gate.outcome, "skewed" in codes(bounded_gate)) == ("PASS", False)


def test_a_percent_margin_hides_no_doubt() -> None:
    """All are better by the same; the differences from a share of the baseline are not alike."""
    old = [0.3 + 0.05 * i for i in range(12)]
    data = {"old": number_queries(old), "new": number_queries([x + 0.01 for x in old])}
    for margin in ("2%", 0.01):
        gate_result = gate(data, baseline="old", margin=margin, range=(0, 1))
        assert (gate_result.outcome, codes(gate_result)[0]) == ("UNDECIDED", "constant")


def test_a_pass_says_which_losses_it_cannot_see() -> None:
    """With the share s of losers, n queries have none with a chance of (1 - s)^n."""
    share = 1 - 0.05 ** (1 / 25)
    passing_gate = changing(25, {i: 0.01 * (i % 5 - 2) for i in range(25)}, 0.02, range=(0, 1))
    assert passing_gate.outcome == "PASS"
    text = f"25 queries miss a loss, however large, on up to {100 * share:.2g} % of queries."
    assert text in str(passing_gate)
    n_unchanged = math.ceil(math.log(0.05) / math.log(1 - 0.02))
    for n, codes_of_gate in ((n_unchanged - 1, ["unseen-loss"]), (n_unchanged, [])):
        alternating = {i: 0.01 * (i % 5 - 2) for i in range(n)}
        assert codes(changing(n, alternating, 0.02, range=(0, 1))) == codes_of_gate


def test_the_best_of_many_candidates_is_judged_by_a_corrected_alpha() -> None:
    """Alpha of 20 is 1 - .95^(1/20) = .00256, and of 40 .00128; p of case E is .00149."""
    assert pytest.approx(0.0025613788, abs=5e-11) == 1 - 0.95 ** (1 / 20)
    assert pytest.approx(0.0012815, abs=5e-8) == 1 - 0.95 ** (1 / 40)
    for n_tried, outcome in ((1, "PASS"), (20, "PASS"), (40, "UNDECIDED")):
        gate_result = gate_differences(E, 0.01, tried=n_tried)
        assert gate_result.outcome == outcome
        assert (gate_result.recipe["alpha"], gate_result.recipe["tried"]) == (0.05, n_tried)
    assert "limits for the best of 40 candidates" in str(gate_result)
    for impossible_count in (0, 2.5, "x", 10**21):
        with pytest.raises(OptionError, match="tried"):
            gate_differences(E, 0.01, tried=impossible_count)


def test_several_candidates_in_a_gate_are_said_to_be_several() -> None:
    scores_of = {name: make_scores(A) for name in ("old", "new", "other")}
    text = f"with a chance of up to {1 - 0.95**2:.2g}; tried=2 (--tried 2) corrects for it."
    assert text in str(gate(scores_of, baseline="old", margin=0.02))
    corrected_gate = gate(scores_of, baseline="old", margin=0.02, tried=2)
    assert "several-candidates" not in codes(corrected_gate)
    del scores_of["other"]
    assert "several-candidates" not in codes(gate(scores_of, baseline="old", margin=0.02))


def test_candidates_count_where_a_mean_is_tested_and_only_there() -> None:
    scores_of = {name: make_scores(A) for name in ("new", "other")}
    goal = {"score": 0.1}
    assert "several-candidates" in codes(gate(scores_of, at_least=goal, limit=True))
    assert "several-candidates" not in codes(gate(scores_of, at_least=goal))
    assert "several-candidates" not in codes(gate(scores_of, at_least=goal, limit=True, tried=2))
    with pytest.raises(OptionError, match="tried=2: applies to a margin, or to at_least"):
        gate(scores_of, at_least=goal, tried=2)


def test_a_case_of_junit_has_the_rule_of_its_gate_and_its_own_notes() -> None:
    queries = [f"q{i}" for i in range(12)]
    old = dict.fromkeys(queries, 0.5)
    spread = {query: 0.4 + 0.02 * (i % 4) for i, query in enumerate(queries)}
    scores = {"old": {"A": old, "B": old}, "new": {"A": spread, "B": dict.fromkeys(old, 0.51)}}
    result = gate(scores, baseline="old", margin=0.02)
    assert result.outcomes == {"new": "FAIL"}
    cases = result.to_junit().split("<testcase ")[1:]
    assert ["by Holm's rule over 2 rows" in case for case in cases] == [True, True]
    assert ["the same difference on all 12" in case for case in cases] == [False, True]


def test_false_alarms_of_several_rows_are_corrected() -> None:
    """Holm: of two rows, the smaller p of a loss is compared with alpha / 2."""
    losses = [round(0.03 * (i % 5 - 2) - 0.012, 4) for i in range(40)]
    p = stats.ttest_1samp(losses, 0, alternative="less").pvalue
    assert 0.025 < p < 0.05
    scores = {"old": {f"q{i}": 0.5 for i in range(40)}}
    scores["new"] = {query: 0.5 + loss for query, loss in zip(scores["old"], losses, strict=True)}
    lone_gate = gate(scores, baseline="old", margin=0.001, test="t")
    assert (lone_gate.outcome, "Holm" in str(lone_gate)) == ("FAIL", False)
    gate_of_two = gate(scores | {"same": scores["old"]}, baseline="old", margin=0.001, test="t")
    assert gate_of_two.outcomes == {"new": "UNDECIDED", "same": "PASS"}
    assert "FAIL: upper < 0 by Holm's rule over 2 rows, and not PASS" in str(gate_of_two)
    assert "UNDECIDED where the limits alone say FAIL: not so by Holm's rule." in str(gate_of_two)
    assert gate_of_two.verdicts[0].worse


def test_all_of_few_queries_are_shown_and_a_few_of_many() -> None:
    gate_result = changing(50, {9: 0.2, 7: -0.4, 30: -0.1}, 0.02)
    change_pairs = [
        (change.query_id, round(change.difference, 9)) for change in gate_result.verdicts[0].changes
    ]
    assert change_pairs == [("q007", -0.4), ("q030", -0.1), ("q009", 0.2)]
    assert (
        gate_result.verdicts[0].changes[0].baseline,
        gate_result.verdicts[0].changes[0].score,
    ) == (
        0.5,
        0.5 - 0.4,
    )
    assert "q007      0.5000  0.1000     -0.4000" in str(gate_result)
    document = json.loads(json.dumps(gate_result.to_dict()))["verdicts"][0]
    assert document["changed"] == 3
    assert [change["query_id"] for change in document["changes"]] == ["q007", "q030", "q009"]
    losses = {i: -0.01 * (i + 1) for i in range(30)}
    failed_gate = changing(40, losses, 0.02)
    assert failed_gate.outcome == "FAIL"
    assert [change.query_id for change in failed_gate.verdicts[0].changes] == [
        f"q{i:03}" for i in (29, 28, 27, 26, 25)
    ]
    two = changing(40, losses, 0.02, changes=2).verdicts[0].changes
    assert [change.query_id for change in two] == ["q029", "q028"]
    all_changes = changing(40, losses, 0.02, changes=100).verdicts[0].changes
    assert len(all_changes) == 30  # without those that did not change
    changes_kept_by_option = (
        changing(40, {7: -0.4, 30: -0.1, 9: 0.2}, 0.02, changes=1).verdicts[0].changes
    )
    assert [change.query_id for change in changes_kept_by_option] == [
        "q007"
    ]  # as stated, not all of them
    passed_gate = changing(40, dict.fromkeys(range(30), 0.01), 0.02)
    assert (passed_gate.outcome, passed_gate.verdicts[0].changes) == ("PASS", ())
    assert len(passed_gate.tables()) == 1


def test_skewed_differences_are_warned_of_by_cochrans_rule() -> None:
    """Fewer than 25 G^2, with no cap: 20 of 400 lose 0.3, and G is about 4.1; 25 x 4.1^2 is 425."""
    d = np.array([-0.3] * 20 + [0.0] * 380)
    skew = float(stats.skew(d))
    assert 25 * skew**2 > 400
    assert codes(changing(400, dict.fromkeys(range(20), -0.3), 0.02)) == ["skewed"]
    d = np.array([-0.3] * 40 + [0.0] * 360)
    assert 25 * float(stats.skew(d)) ** 2 < 400
    assert codes(changing(400, dict.fromkeys(range(40), -0.3), 0.02)) == []


# ---- the bounded test ---------------------------------------------------------------------------


def test_scores_out_of_the_range_are_refused() -> None:
    test: Any
    with pytest.raises(InputError, match=r"left: score of query 'q001' is 1.5: expected a"):
        gate_scores([50, 150], [50, 50], 0.1, test="t", range=(0, 1))
    in_percent = {name: {"nDCG@10": {"q1": 40.0, "q2": 60.0}} for name in ("old", "new")}
    for test in ("randomization", "t"):
        with pytest.raises(InputError, match=r"is 40: expected a score from 0 to 1"):
            gate(in_percent, baseline="old", margin=0.02, test=test)
    with pytest.raises(InputError, match=r"is 0\.6: expected a score from 0 to 0\.5"):
        gate(in_percent, baseline="old", margin=0.02, range=(0, 0.5), percent=True)


def test_a_missing_limit_is_explained_by_what_is_missing() -> None:
    """A flip of two queries has all of the baseline's mean: its share has no upper limit."""
    old = [float(i < 2) for i in range(20)]
    data = {"old": number_queries(old), "new": number_queries([1.0] * 20)}
    limits_of: dict[GateTestName, tuple[bool, bool]]
    limits_of = {"randomization": (False, True), "t": (False, False)}
    for test, limits in limits_of.items():
        gate_result = gate(data, baseline="old", margin="2%", test=test)
        verdict = gate_result.verdicts[0]
        assert (verdict.lower is None, verdict.upper is None) == limits
        assert ("the baseline's scores vary so much" in str(gate_result)) == any(limits)
        assert "too few" not in str(gate_result)
    assert "too few queries, or flips, for" in str(gate_scores([51] * 3, [50] * 3, "2%"))
    assert "too few differences, all of them equal" in str(
        gate_scores([51] * 3, [50] * 3, "2%", test="t")
    )


def test_the_least_p_value_of_so_many_queries() -> None:
    for n in (1, 3, 20):
        assert GateSettings().gate_test.least_p(GateSettings(), n) == 2.0**-n
    assert GateSettings().gate_test.least_p(GateSettings(flips=99), 30) == 1 / 100


def test_equivalence_says_what_few_changes_mean_for_it() -> None:
    gains = dict.fromkeys(range(3), 0.2)
    noninferior_gate, equivalent_gate = (
        changing(30, gains, 0.1, equivalence=equivalent_gate) for equivalent_gate in (False, True)
    )
    assert "no system with a lower mean passes" in str(noninferior_gate)
    assert "a rare, large loss is not ruled out" in str(noninferior_gate)
    assert "no system with a different mean passes" in str(equivalent_gate)
    assert "a rare, large difference is not ruled out" in str(equivalent_gate)
    assert "lower mean" not in str(equivalent_gate)


# ---- a share of the baseline's mean -------------------------------------------------------------


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("rising", [True, False])
def test_a_share_is_the_test_of_a_contrast(test: Any, rising: bool) -> None:
    """That 10 % at most are lost: new - 0.9 * old is above 0 on average; else 1.1 * old - new."""
    chance = np.random.default_rng(41)
    measure = "nDCG@10" if rising else "Unjudged@10"
    for n in (12, 40):
        old = chance.uniform(0, 0.8, n)
        new = np.clip(old + chance.normal(0.02 if rising else -0.02, 0.1, n), 0, 1)
        data = {"old": {measure: number_queries(old)}, "new": {measure: number_queries(new)}}
        verdict = gate(data, baseline="old", margin="10%", test=test, flips=9_999).verdicts[0]
        z = new - 0.9 * old if rising else 1.1 * old - new
        if test == "t":
            expected = stats.ttest_1samp(z, 0, alternative="greater").pvalue
        else:
            expected = one_sided_tests(z[:, None], np.zeros((1, 1)), Flips(n, 9_999), 0.05)[2][0, 0]
        assert verdict.p == pytest.approx(expected, rel=1e-9)
        assert verdict.margin == pytest.approx(0.1 * old.mean())
        # The limit is where the test of new - kept * old just stops rejecting.
        assert verdict.lower is not None
        share_of_baseline = 1 + (verdict.lower if rising else -verdict.lower) / old.mean()
        z = new - share_of_baseline * old if rising else share_of_baseline * old - new
        if test == "t":
            at_limit = stats.ttest_1samp(z, 0, alternative="greater").pvalue
            assert at_limit == pytest.approx(0.05, rel=1e-9)
        else:
            flips = Flips(n, 9_999)
            for shift, is_rejected in ((1e-6, False), (-1e-6, True)):
                p = one_sided_tests((z - shift * old)[:, None], np.zeros((1, 1)), flips, 0.05)[2][
                    0, 0
                ]
                assert (p <= 0.05) == is_rejected
        assert (verdict.p is not None and verdict.p <= 0.05) == (verdict.lower > -verdict.margin)


def test_limits_of_shares_and_p_values_never_contradict_each_other() -> None:
    chance = np.random.default_rng(43)
    for n in (7, 30):
        gains = chance.integers(-3, 4, (n, 20)) / 10
        weights = chance.integers(0, 4, n).astype(float)  # also without any weight
        weights /= weights.mean()
        bounds = np.array([-0.2, -0.1, 0, 0.1, 0.2])[:, None] + np.zeros(20)
        for _ in range(2):  # the second time with the limits among the bounds
            lower, upper, above, below = one_sided_tests(
                gains, bounds, Flips(n, 999), 0.05, weights
            )
            assert ((above <= 0.05) == (lower > bounds)).all()
            assert ((below <= 0.05) == (upper < bounds)).all()
            finite = np.where(np.isfinite(lower), lower, 0)[None]
            bounds = np.concatenate((bounds, finite))


def test_what_is_plainly_better_passes_where_the_baseline_varies_much() -> None:
    """Fieller's limits do not exist, as t of the baseline's mean alone is 1.45."""
    old = [float(i < 2) for i in range(20)]
    new = [max(x, i % 3 / 2) for i, x in enumerate(old)]
    assert stats.ttest_1samp(old, 0).statistic < stats.t.ppf(0.95, 19)
    data = {"old": number_queries(old), "new": number_queries(new)}
    verdict = gate(data, baseline="old", margin="2%", test="t").verdicts[0]
    shares = [y - 0.98 * x for x, y in zip(old, new, strict=True)]
    theirs = stats.ttest_1samp(shares, 0, alternative="greater")
    assert str(verdict) == "PASS, better"
    assert verdict.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert verdict.lower is not None
    assert verdict.lower > 0


@pytest.mark.parametrize("equivalence", [False, True])
def test_t_of_shares_is_that_of_scipy_and_its_limits_do_not_contradict_it(
    equivalence: bool,
) -> None:
    chance = np.random.default_rng(47)
    without_fieller = 0
    for _ in range(repetitions(400)):
        n, share = int(chance.integers(3, 30)), float(chance.choice([0.02, 0.1, 0.5, 0.9]))
        old = chance.uniform(0, 1, n) ** chance.integers(1, 20)
        new = np.abs(old * chance.choice([0, 0.4, 0.9, 1]) + chance.normal(0, 0.2, n))
        old *= chance.random(n) < chance.choice([0.3, 1])
        if not old.any() or np.count_nonzero(np.abs(new - old) > 1e-9) < 3:
            continue
        data = {"old": number_queries(old), "new": number_queries(new)}
        options: dict[str, Any] = {"margin": f"{100 * share:g}%", "equivalence": equivalence}
        verdict = gate(data, baseline="old", test="t", **options).verdicts[0]
        assert verdict.lower is not None
        assert verdict.upper is not None
        assert verdict.p is not None
        assert verdict.p_worse is not None
        flat = stats.ttest_1samp(old, 0).statistic <= stats.t.ppf(0.95, n - 1)
        without_fieller += flat
        p = stats.ttest_1samp(new - (1 - share) * old, 0, alternative="greater").pvalue
        worse = stats.ttest_1samp(new - old, 0, alternative="less").pvalue
        if equivalence:
            within = stats.ttest_1samp(new - (1 + share) * old, 0, alternative="less").pvalue
            p = max(p, within)
            assert (p <= 0.05) == (
                -verdict.margin < verdict.lower and verdict.upper < verdict.margin
            )
            assert (verdict.outcome == "FAIL") == (
                verdict.upper < -verdict.margin or verdict.lower > verdict.margin
            )
            if not flat:
                assert verdict.p_worse == pytest.approx(worse, rel=1e-6)
        else:
            assert verdict.p_worse == pytest.approx(worse, rel=1e-6)
            assert (p <= 0.05) == (verdict.lower > -verdict.margin)
            is_failed = p > 0.05 and worse <= 0.05
            assert (verdict.outcome == "FAIL") == is_failed
        assert verdict.p == pytest.approx(p, rel=1e-6)
        assert (verdict.p_worse <= 0.05) == (verdict.upper < 0) == verdict.worse
        assert verdict.better == (verdict.lower > 0)
        if verdict.changed >= 10:
            skewness = stats.skew(new - old)
            hides_losses = n < 25 * skewness**2 and (equivalence or skewness < 0)
            assert (verdict.outcome == "PASS") == (p <= 0.05 and not hides_losses)
    assert without_fieller > repetitions(400) / 10


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("margin", [0.02, "2%"])
def test_few_differences_that_do_not_vary_show_nothing_whatever_the_margin(
    margin: Any, n: int
) -> None:
    old = np.linspace(0.3, 0.9, n)
    data = {"old": number_queries(old), "new": number_queries(old - 0.1)}
    verdict = gate(data, baseline="old", margin=margin, test="t").verdicts[0]
    assert (verdict.outcome, verdict.worse, verdict.p_worse) == ("UNDECIDED", False, None)
    assert verdict.upper is None or verdict.upper >= 0


def test_shares_need_scores_of_one_sign() -> None:
    data = {"old": {"q1": 0.5, "q2": -0.1}, "new": {"q1": 0.5, "q2": 0.1}}
    with pytest.raises(OptionError, match="a share is not defined; state a number"):
        gate(data, baseline="old", margin="2%")
    below = {"old": {"q1": -1.0, "q2": -2.0}, "new": {"q1": -1.0, "q2": -2.1}}
    assert gate(below, baseline="old", margin="2%").verdicts[0].margin == pytest.approx(0.02 * 1.5)


# ---- geometric means ----------------------------------------------------------------------------


def test_geometric_means_are_judged_by_their_ratio() -> None:
    """A query that falls from .02 to 0 outweighs gains that raise the mean of AP."""
    chance = np.random.default_rng(51)
    old = chance.uniform(0.2, 0.4, 40)
    new = old + chance.uniform(0.0, 0.1, 40)
    old[:15], new[:15] = 0.02, 0.0
    data = {"old": {"AP": number_queries(old), "GMAP": number_queries(old)}}
    data["new"] = {"AP": number_queries(new), "GMAP": number_queries(new)}
    gate_result = gate(data, baseline="old", margin="2%")
    assert gate_result.outcomes == {"new": "FAIL"}
    verdict = gate_result["new", "GMAP"]
    assert (verdict.outcome, verdict.scale, gate_result["new", "AP"].scale) == (
        "FAIL",
        "ratio",
        "difference",
    )
    assert gate_result["new", "AP"].difference > 0 > verdict.difference
    over_all = [math.exp(np.log(np.maximum(x, 1e-5)).mean()) for x in (new, old)]
    assert [verdict.mean, verdict.baseline_mean] == pytest.approx(over_all)
    assert math.exp(verdict.difference) == pytest.approx(over_all[0] / over_all[1])
    assert verdict.margin == pytest.approx(-math.log(0.98))
    assert f"x{over_all[0] / over_all[1]:.4f}" in str(gate_result)
    assert "margin a ratio of 0.98 (2%)" in str(gate_result)
    # The same test as that of the logarithms themselves.
    logs = {
        name: number_queries(np.log(np.maximum(x, 1e-5)))
        for name, x in (("old", old), ("new", new))
    }
    log_verdict = gate(logs, baseline="old", margin=-math.log(0.98)).verdicts[0]
    assert (verdict.p, verdict.outcome) == (log_verdict.p, log_verdict.outcome)
    assert verdict.lower == pytest.approx(log_verdict.lower)
    assert verdict.upper == pytest.approx(log_verdict.upper)


def test_geometric_means_show_what_evaluate_shows() -> None:
    data = (QRELS, [BM25, DENSE])
    verdict = gate(*data, "GMAP", baseline="bm25", margin="2%").verdicts[0]
    for path, value in ((DENSE, verdict.mean), (BM25, verdict.baseline_mean)):
        assert value == evaluate(QRELS, path, "GMAP")["GMAP"]


def test_queries_of_a_geometric_mean_are_shown_by_their_ratio() -> None:
    """From .02 to 0, which counts as .00001, is a larger fall than from .9 to .3."""
    old = [0.02, 0.9] + [0.5] * 20
    new = [0.0, 0.3] + [0.5] * 20
    data = {
        name: {"GMAP": number_queries(x), "AP": number_queries(x)}
        for name, x in (("old", old), ("new", new))
    }
    gate_result = gate(data, measures="GMAP", baseline="old", margin="2%")
    rows = [list(row) for row in gate_result.tables()[1].rows]
    assert [row[2] for row in rows] == ["q000", "q001"]
    assert [row[-1] for row in rows] == [f"x{0.00001 / 0.02:.2g}", f"x{0.3 / 0.9:.4f}"]
    text = str(gate_result)
    assert "PASS: lower > x0.98:" in text
    assert "upper < x1, and not PASS:" in text
    assert "if the true ratio is x0.98 or less" in text
    assert "-margin" not in text
    joint_gate = gate(data, measures="GMAP AP", baseline="old", margin="2%")
    assert "PASS: lower > -margin:" in str(joint_gate)
    assert "Their bounds are ratios, too" in str(joint_gate)
    assert [list(row)[2] for row in joint_gate.tables()[1].rows] == ["q000", "q001", "q001", "q000"]
    equivalent_gate = gate(data, measures="GMAP", baseline="old", margin="2%", equivalence=True)
    assert f"PASS: lower > x0.98 and upper < x{1 / 0.98:.6g}." in str(equivalent_gate)


def test_geometric_means_have_no_margin_in_units() -> None:
    with pytest.raises(OptionError, match=r"GMAP is a geometric mean.* as in '2%'"):
        gate(QRELS, [BM25, DENSE], "GMAP", baseline="bm25", margin=0.02)


# ---- margins that let everything pass -----------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "margin", "message"),
    [
        ("nDCG@10", 2, r"cannot fall by more than 0.4523.* did you mean '2%'"),
        ("nDCG@10", 0.46, r"nDCG@10 of bm25 is 0.4523"),
        ("nDCG@10", "100%", r"must be below 100%"),
        ("GMAP", "150%", r"must be below 100%"),
        ("Unjudged@10", 1.1, r"cannot rise by more than"),
    ],
)
def test_a_margin_that_lets_every_system_pass_is_refused(
    measure: str, margin: Any, message: str
) -> None:
    for data in ((QRELS, [BM25, DENSE]), (QRELS, [BM25, TFIDF])):
        with pytest.raises(OptionError, match=message):
            gate(*data, measure, baseline="bm25", margin=margin)


@pytest.mark.parametrize(
    ("measure", "value", "margin", "ends", "message"),
    [
        ("Unjudged@10", 0.8, "30%", None, "cannot rise by more than 0.2,"),  # .3 * .8 = .24
        ("rating", 1.2, "20%", (1, 5), "cannot fall by more than 0.2,"),  # .2 * 1.2 = .24
        ("GMAP", 1.1e-5, "20%", None, "cannot fall to less than 0.9091 of it,"),  # 1e-5 / 1.1e-5
    ],
)
def test_a_share_that_lets_every_system_pass_is_refused(
    measure: str, value: float, margin: str, ends: Any, message: str
) -> None:
    data = {name: {measure: number_queries([value] * 30)} for name in ("old", "new")}
    with pytest.raises(OptionError, match=message) as refusal:
        gate(data, baseline="old", margin=margin, range=ends)
    assert str(refusal.value).endswith("so that every system would pass")
    gate(data, baseline="old", margin="5%", range=ends)


@pytest.mark.parametrize(
    ("margin", "hint"), [(0.999, False), (0.6, False), (2, True), (200, False)]
)
def test_a_share_is_suggested_for_what_may_be_one(margin: float, hint: bool) -> None:
    data = {name: {"nDCG@10": number_queries([0.3] * 30)} for name in ("old", "new")}
    with pytest.raises(OptionError, match="every system would pass") as refusal:
        gate(data, baseline="old", margin=margin)
    assert ("did you mean" in str(refusal.value)) == hint
    unknown = {name: number_queries([0.3] * 30) for name in ("old", "new")}
    (note, *_) = [
        note for note in gate(unknown, baseline="old", margin=margin).notes if note.is_grave
    ]
    assert note.code == "wide-margin"
    assert ("did you mean" in note.text) == hint


def test_a_margin_of_all_that_can_be_lost_may_fail_a_system() -> None:
    """To lose just the margin is not to be above it."""
    for measure in ("nDCG@10", "score"):
        data = {
            "old": {measure: number_queries([0.0001] * 30)},
            "new": {measure: number_queries([0.0] * 30)},
        }
        gate_result = gate(data, baseline="old", margin=0.0001)
        assert (gate_result.outcome, codes(gate_result)) == ("FAIL", ["constant"])


def test_margins_below_that_are_taken() -> None:
    gate(QRELS, [BM25, DENSE], baseline="bm25", margin=0.45)
    gate(QRELS, [BM25, DENSE], "DCG@10", baseline="bm25", margin=2)  # of no known end


def test_a_margin_may_be_too_wide_for_scores_of_an_unknown_measure() -> None:
    assert codes(gate_scores(A, B, 2)) == ["wide-margin", "unseen-loss"]
    assert "did you mean '2%'?" in gate_scores(A, B, 2).notes[0].text
    assert codes(gate_scores(A, B, 0.05)) == ["unseen-loss"]
    with pytest.raises(OptionError, match="so that every system would pass"):
        gate_scores(A, B, 2, range=(0, 1))


def test_a_baseline_that_cannot_be_worse_is_warned_of() -> None:
    for measure, worst in (("nDCG@10", 0.0), ("Unjudged@10", 1.0)):
        old, new = [worst] * 30, [abs(worst - 0.01 * i) for i in range(30)]
        data = {"old": {measure: number_queries(old)}, "new": {measure: number_queries(new)}}
        gate_result = gate(data, baseline="old", margin=0.02)
        assert gate_result.outcome == "PASS"
        assert [note.code for note in gate_result.notes if note.is_grave] == ["baseline-at-worst"]


# ---- in a test ----------------------------------------------------------------------------------


def reaching(mean: float, **options: Any) -> Gate:
    """A gate of a system whose mean is 0.5."""
    scores_of = {"new": {"R@5": {"q1": 0.25, "q2": 0.75}}}
    return gate(scores_of, at_least={"R@5": mean}, **options)


def test_a_gate_is_true_if_it_passed() -> None:
    assert reaching(0.5)
    assert not reaching(0.51)
    limit_options = {"limit": True, "test": "t"}
    assert [
        bool(reaching(0.4, **limit_options, undecided=counted_as))
        for counted_as in (None, "pass", "fail")
    ] == [False, True, False]


def test_require_returns_a_gate_that_passed() -> None:
    passed_gate = reaching(0.5)
    assert passed_gate.require() is passed_gate


def test_require_raises_the_verdict_its_numbers_and_how_to_explain_them() -> None:
    with pytest.raises(GateFailed) as failure:
        reaching(0.6).require()
    first, *other_lines = str(failure.value).splitlines()
    assert isinstance(failure.value, AssertionError)
    assert first == "FAIL: new, R@5 0.5000, at least 0.6, 2 queries"
    assert any(line.split() == ["new", "R@5", "FAIL", "0.5000", "0.6"] for line in other_lines)
    assert other_lines[-1].startswith("Why: cranfield explain ... -m R@5 --query q1")
    with pytest.raises(GateFailed, match=r"^FAIL: left, .*\n(.*\n)*.* 0\.1000 +-0\.4000 "):
        gate_scores([10] * 10, [50] * 10, 0.02).require()


def test_a_failed_gate_can_be_pickled_and_copied() -> None:
    with pytest.raises(GateFailed) as failure:
        reaching(0.6).require()
    pickle_copy = pickle.loads(pickle.dumps(failure.value))  # noqa: S301 - its own
    for copied_failure in (pickle_copy, copy.deepcopy(failure.value)):
        assert type(copied_failure) is GateFailed
        assert str(copied_failure) == str(failure.value)


def test_pytest_fails_where_a_gate_does_and_shows_the_numbers(tmp_path: Path) -> None:
    gate_call = "gate({'new': {'R@5': {'q1': 0.25, 'q2': 0.75}}}, at_least={'R@5': 0.6})"
    test_file = tmp_path / "test_search.py"
    test_file.write_text(
        f"from cranfield import gate\ndef test_asserted():\n    assert {gate_call}\n"
        f"def test_required():\n    {gate_call}.require()\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    run = subprocess.run(
        [*command, str(test_file)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 1, run.stdout
    assert "2 failed" in run.stdout
    assert "GateFailed: FAIL: new, R@5 0.5000, at least 0.6, 2 queries" in run.stdout
    assert "R@5      FAIL     0.5000       0.6" in run.stdout
    assert "Why: cranfield explain" in run.stdout
    failure_text = run.stdout.partition("_ test_required _")[2]
    assert failure_text
    assert "verdict.py" not in failure_text  # the trace ends in the test


# ---- on the command line ------------------------------------------------------------------------


def test_a_run_beside_itself_passes(tmp_path: Path) -> None:
    old = save_scores(tmp_path, "baseline", [0.1, 0.5, 0.9])
    for arguments in (["--saved", old, "--baseline", old], [QRELS, BM25, "--baseline", BM25]):
        status, output, _ = run_gate(*arguments, "--margin", "2%")
        assert status == 0
        assert "PASS, identical on all" in output
    other = save_scores(tmp_path, "other", [0.2, 0.6, 0.9])
    _, output, _ = run_gate("--saved", old, other, "--baseline", old, "--margin", "2%")
    assert "identical" not in output  # among others it is left out


@pytest.mark.parametrize("name", ["nothere.csv", "none/there", "./scores.json"])
def test_a_baseline_that_is_no_file_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    new = save_scores(tmp_path, "new", [0.1, 0.5, 0.9])
    status, output, message = run_gate("--saved", new, "--baseline", name, "--margin", "2%")
    assert (status, output) == (2, "")
    assert f"{name}: cannot be read: no such file" in message
    assert "The systems are new." in message
    _, _, message = run_gate("--saved", new, "--baseline", "old", "--margin", "2%")
    assert "there is no system 'old' to be the baseline" in message


def test_saved_scores_may_come_through_a_pipe(tmp_path: Path) -> None:
    """A baseline that has a dot in its name, and no file, is a system of what is piped."""
    lines = [f"{name},q{i},0.{i}" for name in ("bm25.v2", "dense") for i in range(3)]
    csv_text = "\n".join(["system,query_id,nDCG@10", *lines]) + "\n"
    for name, status in (("bm25.v2", 0), ("bm25.v3", 2)):
        outcome = CliRunner().invoke(
            cli, ["gate", "-", "--saved", "--baseline", name, "--margin", ".01"], input=csv_text
        )
        assert outcome.exit_code == status, outcome.output
    assert "bm25.v3: cannot be read: no such file, and no system of this name" in outcome.stderr
    assert "The systems are bm25.v2, dense." in outcome.stderr


def test_queries_that_changed_are_listed_on_the_command_line() -> None:
    status, output, _ = run_gate(QRELS, TFIDF, "--baseline", DENSE, "--margin", "0.02")
    assert status == 1
    assert output.count("tfidf   nDCG@10  q") == 5
    _, output, _ = run_gate(QRELS, TFIDF, "--baseline", DENSE, "--margin", "0.02", "--changes", "7")
    assert output.count("tfidf   nDCG@10  q") == 7
    status, output, _ = run_gate(QRELS, DENSE, "--baseline", TFIDF, "--margin", "0.02")
    assert (status, output.count("dense   nDCG@10  q")) == (0, 0)


def test_a_margin_that_needs_more_queries_than_there_can_be_is_no_error() -> None:
    """Alone, such a number is refused; beside a verdict, it is one that nobody reaches."""
    old = {f"q{i}": 0.5 for i in range(20)}
    new = {f"q{i}": 0.5 + 0.1 * (-1) ** i for i in range(20)}
    verdict = gate({"old": old, "new": new}, baseline="old", margin=1e-12).verdicts[0]
    assert verdict.outcome == "UNDECIDED"
    assert verdict.queries_needed is not None
    assert verdict.queries_needed > 10**9
