"""How many queries a gate needs, in Python and as a command."""

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.gates import gate_differences
from helpers.notes import codes

from cranfield import power, queries_needed
from cranfield.cli import cli
from cranfield.comparison.noninferiority import GainSample, run_gain_tests
from cranfield.comparison.settings import GateSettings

# What is reported of a verdict is asserted by its code, where it matters.
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def test_how_often_systems_pass() -> None:
    """As good as the baseline: with the power stated; at the margin: alpha."""
    n, chance = queries_needed(margin=0.3, sd=1), np.random.default_rng(11)
    for mean, rate in ((0.0, 0.8), (-0.3, 0.05)):
        question = GainSample(chance.normal(mean, 1, (n, 4_000)), 0.3)
        is_passed = run_gain_tests(question, GateSettings(test="t")).is_above[0]
        assert is_passed.mean() == pytest.approx(
            rate, abs=4 * np.sqrt(rate * (1 - rate) / 4_000) + 0.004
        )
    n = queries_needed(margin=0.3, sd=1, power=0.9)
    equivalence_settings = GateSettings(test="t", equivalence=True)
    gain_tests = run_gain_tests(
        GainSample(chance.normal(0, 1, (n, 4_000)), 0.3), equivalence_settings
    )
    is_equivalent = gain_tests.is_above[0] & gain_tests.is_below[2]
    assert is_equivalent.mean() == pytest.approx(0.8, abs=0.03)


def test_undecided_says_how_many_queries_would_decide() -> None:
    spread = [-20, -10, 0, 10, 20] * 5
    verdict = gate_differences(spread, 0.02).verdicts[0]
    sd = float(np.std(np.array(spread) / 100, ddof=1))
    assert (verdict.outcome, verdict.queries_needed) == (
        "UNDECIDED",
        queries_needed(margin=0.02, sd=sd),
    )
    verdict = gate_differences(spread, 0.02, equivalence=True).verdicts[0]
    assert verdict.queries_needed == queries_needed(margin=0.02, sd=sd, power=0.9)
    near = gate_differences([d - 4 for d in spread[:10] * 3], 0.07)
    assert near.outcome == "UNDECIDED"
    assert (near.verdicts[0].queries_needed or 31) <= 30
    assert codes(near) == ["near-margin"]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("--effect 0.3", {"queries": 90}),
        ("--difference 0.03 --sd 0.1", {"queries": 90}),
        ("--effect 0.3 --n-queries 50", {"power": pytest.approx(0.5476570390)}),
        ("--n-queries 50 --sd 0.15", {"difference": pytest.approx(0.15 * 0.4041830021)}),
        ("--n-queries 100", {"effect": pytest.approx(0.2829126328)}),
        ("--width 0.1 --sd 0.22360679774997896", {"queries": 79}),
        ("--margin 0.02 --sd 0.1", {"queries": 156}),
        ("--margin 0.02 --sd 0.1 --n-queries 156", {"power": pytest.approx(0.8, abs=0.002)}),
    ],
)
def test_power_on_the_command_line(arguments: str, answer: dict[str, Any]) -> None:
    outcome = CliRunner().invoke(cli, ["power", *arguments.split(), "--format", "json"])
    assert outcome.exit_code == 0
    row = json.loads(outcome.stdout)
    assert {name: row[name] for name in answer} == answer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "say one of --effect, --difference, --width and --margin, or how many --n-queries"),
        ("--effect 0.3 --margin 0.1", "--width and --margin, not --effect and --margin"),
        ("--difference 0.1", "--difference needs --sd"),
        ("--width 1 --sd 1 --n-queries 9", "with --n-queries, say one of --effect"),
        ("--difference 1 --n-queries 9", "--difference needs --sd"),
        ("--difference 1 --sd 0 --n-queries 9", "--sd 0: expected a number above 0"),
        ("--effect 0.3 --sd 1", "--effect goes without --sd"),
        ("--effect 0.3 --sd 1 --n-queries 9", "--effect goes without --sd"),
        ("--effect 0", "--effect=0: no number of queries is enough"),
        ("--effect nan", "--effect nan: expected a number"),
        ("--effect 1 --power 0.05", "--power 0.05: expected more than --alpha 0.05"),
        ("--n-queries 9 --power 0.01", "--power 0.01: expected more than --alpha 0.05"),
        ("--n-queries 9 --alpha 1", "--alpha 1.0: expected a number above 0 and below 0.5"),
        ("--n-queries 1", "--n-queries 1: expected a whole number of at least 2"),
    ],
)
def test_questions_of_power_that_have_no_answer(arguments: str, message: str) -> None:
    outcome = CliRunner().invoke(cli, ["power", *arguments.split()])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert message in outcome.stderr


def test_fewer_than_ten_queries_pass_half_of_the_runs_that_are_as_good() -> None:
    """Fewer than ten queries can change, so that the rule on few changes decides alone."""
    for n in (2, 8, 9):
        assert power(0.25, n, sides=1, changed=0.1) == 1 / 2
    arguments = "power --margin .02 --sd .08 --n-queries 8 --changed .1 --format json"
    row = json.loads(CliRunner().invoke(cli, arguments.split()).stdout)
    assert row["power"] == 1 / 2
