"""Non-inferiority and equivalence: verdicts, limits, p-values, exit status."""

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from vectors import CASE_A
from vectors import CASE_E as E

from cranfield import Gate, InputError, OptionError, demo, gate, topics
from cranfield.cli import cli
from cranfield.comparison.flips import Flips, one_sided
from cranfield.comparison.gate import _tested

A, B, C = CASE_A.values()
PAIRS = {"a-b": (A, B), "a-c": (A, C), "b-c": (B, C)}


def scores(hundredths: Sequence[float]) -> dict[str, float]:
    return {f"q{i:03}": value / 100 for i, value in enumerate(hundredths)}


def judged(left: Sequence[float], right: Sequence[float], margin: Any, **options: Any) -> Gate:
    data = {"left": scores(left), "right": scores(right)}
    return gate(data, baseline="right", margin=margin, **options)


def differing(hundredths: Sequence[float], margin: Any, **options: Any) -> Gate:
    return judged(hundredths, [0] * len(hundredths), margin, **options)


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
        one = judged(*PAIRS[pair], margin, test="t").verdicts[0]
        assert one.p == pytest.approx(p, abs=6e-13)
        assert one.lower == pytest.approx(lower, abs=6e-11)
        assert one.outcome == "PASS"
        assert one.better == (lower > 0)
        assert str(one) == ("PASS, better" if lower > 0 else "PASS")


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
        one = judged(*PAIRS[pair], margin, test="t", equivalence=True).verdicts[0]
        assert one.p == pytest.approx(p, abs=6e-13)
        assert one.outcome == ("PASS" if p <= 0.05 else "UNDECIDED")


@pytest.mark.parametrize(("margin", "p"), [(1, 0.00149287097), (2, 0.00020816736)])
def test_sign_flips_of_case_e(margin: int, p: float) -> None:
    exact = meet_in_the_middle([d + margin for d in E])
    assert exact == pytest.approx(p, abs=6e-12)
    one = differing(E, margin / 100).verdicts[0]
    assert one.p == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))
    t = differing(E, margin / 100, test="t").verdicts[0].p
    assert t == pytest.approx({1: 0.00144590859, 2: 0.00020066133}[margin], abs=6e-12)
    assert str(one) == "PASS, better"


def test_one_sided_sign_flips_of_case_e() -> None:
    exact = meet_in_the_middle(E)
    assert exact == pytest.approx(0.00945248082280159, abs=1e-17)
    one = differing([-d for d in E], 0.001).verdicts[0]
    assert one.p_worse == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))
    assert one.outcome == "FAIL"


def meet_in_the_middle(whole: list[int]) -> float:
    """Return the share of all sign flips of whole numbers with at least their sum."""

    def sums(some: list[int]) -> Any:
        found = np.zeros(1, np.int64)
        for one in some:
            found = np.concatenate((found + one, found - one))
        return np.sort(found)

    half = len(whole) // 2
    left, right = sums(whole[:half]), sums(whole[half:])
    below = np.searchsorted(right, sum(whole) - left)
    as_large = int((len(right) - below).sum())
    return as_large / float(2 ** len(whole))


def all_flips(differences: list[int], bound: Fraction) -> Fraction:
    """Return the one-sided p-value of a mean of at most the bound, by its definition."""
    shifted = [d - bound for d in differences]
    least, n = sum(shifted), len(shifted)
    as_large = [
        sum(s * d for s, d in zip(signs, shifted, strict=True)) >= least
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
            lower, upper, above, below = one_sided(
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
    on_the_limit, _, _, _ = one_sided(differences, bounds, Flips(n, 999), 0.05)
    bounds = np.concatenate((bounds, on_the_limit[None]))
    lower, upper, above, below = one_sided(differences, bounds, Flips(n, 999), 0.05)
    assert ((above <= 0.05) == (lower > bounds)).all()
    assert ((below <= 0.05) == (upper < bounds)).all()
    assert (above[-1] > 0.05).all()
    for b in range(5):  # a bound is but a shift
        shifted = one_sided(differences - bounds[b], 0 * bounds[:1], Flips(n, 999), 0.05)
        assert (above[b] == shifted[2][0]).all()


def test_verdicts_depend_on_no_other_system_and_no_chunk() -> None:
    chance = np.random.default_rng(3)
    differences = chance.normal(0, 0.1, (30, 40))
    bounds = np.zeros((1, 40))
    every = one_sided(differences, bounds, Flips(30, 120_000), 0.05)
    for i in (0, 39):
        alone = one_sided(differences[:, [i]], bounds[:, [i]], Flips(30, 120_000), 0.05)
        for ours, theirs in zip(every, alone, strict=True):
            assert ours[..., i] == pytest.approx(theirs[..., 0], rel=1e-12)


def test_how_often_systems_pass() -> None:
    """As good as the baseline: with the power that `topics` states; at the margin: alpha."""
    n, chance = topics(margin=0.3, sd=1), np.random.default_rng(11)
    for mean, rate in ((0.0, 0.8), (-0.3, 0.05)):
        passed = _tested(chance.normal(mean, 1, (n, 4_000)), 0.3, 0.05, None).above[0]
        assert passed.mean() == pytest.approx(
            rate, abs=4 * np.sqrt(rate * (1 - rate) / 4_000) + 0.004
        )
    n = topics(margin=0.3, sd=1, power=0.9)
    found = _tested(chance.normal(0, 1, (n, 4_000)), 0.3, 0.05, None)
    both = found.above[0] & found.below[2]
    assert both.mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_identical_runs_pass(test: Any) -> None:
    one = judged(A, A, 0.0001, test=test).verdicts[0]
    assert (one.outcome, one.difference, one.lower, one.upper, one.sd) == ("PASS", 0, 0, 0, 0)
    assert one.p == (2**-20 if test == "randomization" else None)
    assert (one.better, one.worse) == (False, False)


def test_few_queries() -> None:
    """All differences 0: the exact p-value is 1 / 2^n."""
    for n, outcome in ((1, "UNDECIDED"), (2, "UNDECIDED"), (4, "UNDECIDED"), (5, "PASS")):
        found = judged([50] * n, [50] * n, 0.1)
        one = found.verdicts[0]
        assert one.outcome == outcome
        assert one.p == (None if n == 1 else 2.0**-n)
        assert one.lower == (None if n < 5 else 0)
        assert one.queries_needed == (None if n in (1, 5) else 5)
        assert f"{n} {'query' if n == 1 else 'queries'}, one-sided" in str(found)
        assert "nan" not in str(found)
        assert "-0.0000" not in str(found)
    assert differing([3], 0.1, test="t").verdicts[0].outcome == "UNDECIDED"


def test_nothing_is_shown_where_every_score_is_0() -> None:
    found = differing([0] * 50, 0.1)
    assert found.outcome == "UNDECIDED"
    assert "Every score is 0, also the baseline's, which shows nothing: left (score)." in str(found)


def test_two_queries_without_variance_show_nothing_to_a_t_test() -> None:
    assert judged([49] * 2, [50] * 2, 0.1, test="t").outcome == "UNDECIDED"
    assert judged([49] * 5, [50] * 5, 0.1, test="t").outcome == "PASS"


def test_few_flips_give_no_limit() -> None:
    """Of 10 flips and the signs as they are, no p is below 1 / 11."""
    found = differing([30] * 25, 0.1, flips=10)
    one = found.verdicts[0]
    assert (one.outcome, one.lower, one.upper) == ("UNDECIDED", None, None)
    assert one.p == pytest.approx(1 / 11)
    rows = [list(row) for row in found.table().rows]
    assert rows[0][5:7] == ["-", "-"]
    assert "-: no limit: so few queries, or flips, cannot give a p of 0.05 or less" in str(found)


def test_a_measure_that_is_no_mean_is_said_to_be_compared_by_one() -> None:
    data = (QRELS, [BM25, DENSE])
    for measure in ("GMAP", "NumRelRet"):
        found = gate(data, measure, baseline="bm25", margin=0.02)
        remark = f"{measure}: compared is the mean of the queries' values, which is not its value"
        assert remark in str(found)
    assert "compared is" not in str(gate(data, "AP", baseline="bm25", margin=0.02))


def test_columns_may_be_systems(tmp_path: Path) -> None:
    rows = [f"q{i},{a / 100},{b / 100}" for i, (a, b) in enumerate(zip(A, B, strict=True))]
    path = tmp_path / "nDCG@10.csv"
    path.write_text("\n".join(["query_id,left,right", *rows]) + "\n")
    found = gate(str(path), baseline="right", margin=0.05, columns="systems")
    assert found.verdicts[0].p == judged(A, B, 0.05).verdicts[0].p


def test_constant_differences() -> None:
    for test in ("randomization", "t"):
        for constant, outcome in ((-9, "PASS"), (-10, "FAIL"), (-11, "FAIL"), (3, "PASS")):
            one = differing([constant] * 12, 0.1, test=test).verdicts[0]
            assert one.outcome == outcome
            assert one.lower == pytest.approx(constant / 100)
            assert one.lower is not None
            assert (one.lower > -0.1) == (outcome == "PASS")
            worse = "PASS, worse by less than the margin"
            assert str(one) == {-9: worse, 3: "PASS, better"}.get(constant, outcome)


def test_equivalence_fails_beyond_either_margin() -> None:
    for test in ("randomization", "t"):
        for shift, outcome in ((-30, "FAIL"), (30, "FAIL"), (0, "PASS"), (10, "UNDECIDED")):
            spread = [shift + d / 2 for d in (-8, -4, 0, 0, 4, 8)] * 4
            assert differing(spread, 0.1, test=test, equivalence=True).outcome == outcome
    better = differing([30, 31, 32] * 4, 0.1)
    assert str(better.verdicts[0]) == "PASS, better"


def test_undecided_says_how_many_queries_would_decide() -> None:
    spread = [-20, -10, 0, 10, 20] * 5
    one = differing(spread, 0.02).verdicts[0]
    sd = float(np.std(np.array(spread) / 100, ddof=1))
    assert (one.outcome, one.queries_needed) == ("UNDECIDED", topics(margin=0.02, sd=sd))
    one = differing(spread, 0.02, equivalence=True).verdicts[0]
    assert one.queries_needed == topics(margin=0.02, sd=sd, power=0.9)
    near = differing([d - 4 for d in spread[:10] * 3], 0.07)
    assert near.outcome == "UNDECIDED"
    assert (near.verdicts[0].queries_needed or 31) <= 30
    assert "left (score): has as many, and may differ by about the margin." in near.notes


def test_every_measure_must_pass() -> None:
    data = {
        "old": {"X": scores(A[:12]), "Y": scores(A[:12])},
        "new": {"X": scores([a + 5 + i % 2 for i, a in enumerate(A[:12])]), "Y": scores(A[:12])},
        "worse": {"X": scores(A[:12]), "Y": scores([a - 5 - i % 2 for i, a in enumerate(A[:12])])},
        "odd": {
            "X": scores(A[:12]),
            "Y": scores([a - 40 * (i % 2 - 0.5) for i, a in enumerate(A[:12])]),
        },
    }
    found = gate(data, baseline="old", margin=0.01)
    assert found.outcomes == {"new": "PASS", "worse": "FAIL", "odd": "UNDECIDED"}
    assert found.outcome == "FAIL"
    assert found["worse", "X"].outcome == "PASS"
    assert found["worse", "Y"].outcome == "FAIL"
    with pytest.raises(KeyError, match="was not judged"):
        found["worse", "Z"]
    assert "all" in str(found)
    alone = gate({k: data[k] for k in ("old", "worse")}, "Y", baseline="old", margin=0.01)
    assert alone.verdicts[0] == found["worse", "Y"]


def test_less_may_be_better() -> None:
    data = {"old": {"Unjudged@10": scores(A)}, "new": {"Unjudged@10": scores([a - 5 for a in A])}}
    found = gate(data, baseline="old", margin=0.01)
    assert str(found.verdicts[0]) == "PASS, better"
    assert found.verdicts[0].difference == pytest.approx(0.05)
    assert "less is better" in str(found)
    assert gate(data, baseline="new", margin=0.01).outcome == "FAIL"


def test_a_margin_may_be_a_share_of_the_mean_of_the_baseline() -> None:
    one = judged(A, B, "2%").verdicts[0]
    assert one.margin == pytest.approx(0.02 * 0.27)
    assert judged(A, B, "0.02").verdicts[0].margin == 0.02
    with pytest.raises(OptionError, match="is 0; state a number"):
        differing(A, "2%")


@pytest.mark.parametrize("margin", [0, -0.1, "x", "0%", float("nan"), float("inf"), True, None])
def test_a_margin_has_a_size(margin: Any) -> None:
    with pytest.raises(OptionError, match="by how much a system may be worse"):
        judged(A, B, margin)


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
        judged(A, B, 0.1, **option)


def test_systems_must_be_there() -> None:
    with pytest.raises(InputError, match="no system 'none' to be the baseline"):
        gate({"a": scores(A), "b": scores(B)}, baseline="none", margin=0.1)
    with pytest.raises(InputError, match="no system but"):
        gate({"a": scores(A)}, baseline="a", margin=0.1)


def test_the_result_holds_what_repeats_it() -> None:
    found = differing(E, 0.01)
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["recipe"]["flips"] == 100_000
    assert (held["recipe"]["seed"], held["recipe"]["exact"]) == (42, False)
    assert held["verdicts"][0]["outcome"] == held["outcome"] == "PASS"
    assert differing(E, 0.01).to_dict() == found.to_dict()
    assert differing(E, 0.01, seed=1).verdicts[0].p != found.verdicts[0].p
    assert "<table>" in found._repr_html_()
    assert repr(found) + "\n" == str(found), "at the prompt, and where an assertion fails"


def test_t_is_that_of_scipy() -> None:
    d = np.array(E) / 100
    for margin in (0.01, 0.05):
        one = differing(E, margin, test="t").verdicts[0]
        theirs = stats.ttest_1samp(d, -margin, alternative="greater")
        assert one.p == pytest.approx(theirs.pvalue, rel=1e-10)
        assert one.lower == pytest.approx(theirs.confidence_interval(0.95).low, rel=1e-10)


QRELS = str(demo.QRELS)
BM25, DENSE, FUSION, TFIDF = (
    str(path)
    for name in ("bm25", "dense", "fusion", "tfidf")
    for path in demo.RUNS
    if path.stem == name
)


@pytest.mark.parametrize(
    ("new", "old", "more", "status"),
    [
        ([DENSE], BM25, [], 0),
        ([TFIDF], DENSE, [], 1),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16"], 3),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16", "--undecided", "pass"], 0),
        ([FUSION], BM25, ["--equivalence", "--margin", "0.16", "--undecided", "fail"], 1),
        ([DENSE, TFIDF], BM25, ["--test", "t", "-m", "AP", "-m", "RR"], 1),
        ([DENSE], BM25, ["--margin", "none"], 2),
        ([DENSE], BM25, ["-m", "nonsense"], 2),
        ([DENSE], "no such file", [], 2),
        ([DENSE], BM25, ["--alpha", "0.7"], 2),
    ],
)
def test_exit_status(new: list[str], old: str, more: list[str], status: int) -> None:
    done = CliRunner().invoke(
        cli, ["gate", QRELS, *new, "--baseline", old, "--margin", "0.02", *more]
    )
    assert done.exit_code == status, done.output


def test_margin_and_baseline_must_be_given() -> None:
    for left_out in ("--margin", "--baseline"):
        given = {"--margin": "0.1", "--baseline": BM25}
        del given[left_out]
        done = CliRunner().invoke(cli, ["gate", QRELS, DENSE, *sum(given.items(), ())])
        assert done.exit_code == 2
        assert left_out in done.stderr


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "markdown", "latex", "html"])
def test_forms(form: str, tmp_path: Path) -> None:
    arguments = ["gate", QRELS, TFIDF, "--baseline", DENSE, "--margin", "0.02", "--format", form]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1
    assert "FAIL" in done.stdout
    if form == "json":
        assert json.loads(done.stdout)["outcomes"] == {"tfidf": "FAIL"}
    if form == "csv":
        assert done.stdout.splitlines()[1].startswith("tfidf,nDCG@10,FAIL,False,True,40,")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("--effect 0.3", {"queries": 90}),
        ("--difference 0.03 --sd 0.1", {"queries": 90}),
        ("--effect 0.3 --queries 50", {"power": pytest.approx(0.5476570390)}),
        ("--queries 50 --sd 0.15", {"difference": pytest.approx(0.15 * 0.4041830021)}),
        ("--queries 100", {"effect": pytest.approx(0.2829126328)}),
        ("--width 0.1 --sd 0.22360679774997896", {"queries": 79}),
        ("--margin 0.02 --sd 0.1", {"queries": 156}),
        ("--margin 0.02 --sd 0.1 --queries 156", {"power": pytest.approx(0.8, abs=0.002)}),
    ],
)
def test_power_on_the_command_line(arguments: str, answer: dict[str, Any]) -> None:
    done = CliRunner().invoke(cli, ["power", *arguments.split(), "--format", "json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert {name: found[name] for name in answer} == answer


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "say one of --effect, --difference, --width and --margin, or how many --queries"),
        ("--effect 0.3 --margin 0.1", "--width and --margin, not --effect and --margin"),
        ("--difference 0.1", "--difference needs --sd"),
        ("--width 1 --sd 1 --queries 9", "with --queries, say one of --effect"),
        ("--difference 1 --queries 9", "--difference needs --sd"),
        ("--difference 1 --sd 0 --queries 9", "--difference needs --sd"),
        ("--effect 0.3 --sd 1", "--effect goes without --sd"),
        ("--effect 0.3 --sd 1 --queries 9", "--effect goes without --sd"),
        ("--effect 0", "--effect=0: no number of queries is enough"),
        ("--effect nan", "--effect=nan: expected a number"),
        ("--effect 1 --power 0.05", "--power=0.05: expected more than --alpha=0.05"),
        ("--queries 9 --power 0.01", "--power=0.01: expected more than --alpha=0.05"),
        ("--queries 9 --alpha 1", "--alpha=1.0: expected a number above 0 and below 1"),
        ("--queries 1", "--queries=1: expected a whole number of at least 2"),
    ],
)
def test_questions_of_power_that_have_no_answer(arguments: str, said: str) -> None:
    done = CliRunner().invoke(cli, ["power", *arguments.split()])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
