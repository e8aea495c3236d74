"""The gate by the bounded test: by betting on the differences."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.gates import (
    BM25,
    DENSE,
    QRELS,
    A,
    B,
    gate_differences,
    gate_scores,
    number_queries,
    run_gate,
    save_scores,
)
from helpers.notes import codes
from helpers.vectors import CASE_E as E

from cranfield import Gate, InputError, OptionError, Verdict, gate
from cranfield.comparison.settings import GateSettings
from cranfield.extensions.bounded.betting import DifferenceRange, bet_on_bounds

# What is reported of a verdict is asserted by its code, where it matters.
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def bounded_of(hundredths: Sequence[float], margin: float, **options: Any) -> Verdict:
    """Judge differences from 0.5, in hundredths, of scores that are from 0 to 1."""
    return differing_from_half(hundredths, margin, **options).verdicts[0]


def differing_from_half(hundredths: Sequence[float], margin: float, **options: Any) -> Gate:
    gate_options: dict[str, Any] = {"test": "bounded", "range": (0, 1), **options}
    return gate_scores([50 + d for d in hundredths], [50] * len(hundredths), margin, **gate_options)


@pytest.mark.parametrize(
    ("hundredths", "wealth_of_margin", "lower"),
    [
        ([0] * 50, {2: 1.7313385953, 5: 4.7239148954}, -0.0857303799),
        ([0] * 49 + [-40], {2: 1.3254951900, 5: 3.4004261198}, -0.0946335969),
        (E, {2: 2.4013109550, 5: 4.4624714462}, -0.1109921885),
        ([0] * 200, {2: 13.8988506567}, -0.0222770087),
        ([0] * 250, {2: 30.9027650016}, -0.0178681191),
    ],
)
def test_bounded_of_known_cases(
    hundredths: Sequence[float], wealth_of_margin: dict[int, float], lower: float
) -> None:
    for margin, wealth in wealth_of_margin.items():
        verdict = bounded_of(hundredths, margin / 100)
        assert verdict.p == pytest.approx(1 / wealth, rel=6e-11)
        assert verdict.lower == pytest.approx(lower, abs=6e-11)
        assert verdict.outcome == ("PASS" if wealth >= 20 else "UNDECIDED")
        reverse_verdict = bounded_of([-d for d in hundredths], margin / 100)
        assert reverse_verdict.upper == pytest.approx(-lower, abs=6e-11)


def wealth_of(differences: Any, threshold: float, size: float = 1.0) -> float:
    """Return what 100 gamblers have made on average, by multiplying query by query."""
    wealth = 0.0
    for g in range(1, 101):
        share, share_wealth = ((g - 0.5) / 100) / (threshold + size), 1.0
        for d in differences:
            share_wealth *= 1 + share * (d - threshold)
        wealth += share_wealth / 100
    return wealth


def test_bounded_by_multiplying() -> None:
    chance = np.random.default_rng(17)
    for n, size in ((3, 1.0), (40, 1.0), (40, 4.0)):
        d = chance.uniform(-0.3, 0.5, n) * size
        old = np.full(n, size / 2)
        data = {"old": number_queries(old), "new": number_queries(old + d)}
        result = gate(data, baseline="old", margin=0.05, test="bounded", range=(0, size))
        verdict = result.verdicts[0]
        assert verdict.p == pytest.approx(min(1, 1 / wealth_of(d, -0.05, size)), rel=1e-9)
        assert verdict.p_worse == pytest.approx(min(1, 1 / wealth_of(-d, 0, size)), rel=1e-9)
        assert verdict.lower is not None
        assert verdict.upper is not None
        assert wealth_of(d, verdict.lower, size) == pytest.approx(20, rel=1e-9)
        assert wealth_of(-d, -verdict.upper, size) == pytest.approx(20, rel=1e-9)
        assert result.recipe["ranges"] == {"score": [0, size]}


def test_bounded_limits_and_p_values_never_contradict_each_other() -> None:
    chance = np.random.default_rng(23)
    differences = chance.integers(-3, 4, (60, 30)) / 10
    bounds = np.array([-0.2, -0.1, 0, 0.1, 0.2])[:, None] + np.zeros(30)
    for weights, reach in (
        (None, DifferenceRange(0, 1)),
        (np.where(np.arange(60) % 2, 1.4, 0.6), DifferenceRange(0, 1, True, 0.5)),
        (np.where(np.arange(60) % 2, 1.4, 0.6), DifferenceRange(0, 1, False, 0.5)),
    ):
        lower, upper, above, below = bet_on_bounds(differences, bounds, reach, 0.05, weights)
        bounds_and_limits = np.concatenate((bounds, lower[None], upper[None]))
        lower, upper, above, below = bet_on_bounds(
            differences, bounds_and_limits, reach, 0.05, weights
        )
        assert ((above <= 0.05) == (lower > bounds_and_limits)).all()
        assert ((below <= 0.05) == (upper < bounds_and_limits)).all()
        assert (above[5] > 0.05).all()
        assert (below[6] > 0.05).all()


def test_bounded_fails_a_loss_and_knows_equivalence() -> None:
    assert bounded_of([-10] * 200, 0.02).outcome == "FAIL"
    assert bounded_of([10] * 200, 0.02).better
    assert bounded_of([1] * 300, 0.05, equivalence=True).outcome == "PASS"
    assert bounded_of([10] * 300, 0.05, equivalence=True).outcome == "FAIL"
    assert bounded_of([5] * 300, 0.05, equivalence=True).outcome == "UNDECIDED"


def test_bounded_needs_neither_many_changes_nor_a_seed() -> None:
    result = differing_from_half([0] * 499 + [-40], 0.02)
    assert (result.outcome, codes(result)) == ("PASS", [])
    assert (result.recipe["flips"], result.recipe["exact"]) == (None, None)
    verdict = differing_from_half([-40] + [0] * 499, 0.02).verdicts[0]
    assert verdict.lower == pytest.approx(result.verdicts[0].lower, rel=1e-12)
    # The least number of queries without any change that pass.
    assert [bounded_of([0] * n, 0.02).outcome for n in (223, 224)] == ["UNDECIDED", "PASS"]


def test_bounded_needs_a_range() -> None:
    with pytest.raises(OptionError, match=r"the least and the greatest score of a query are not"):
        gate_scores(A, B, 0.1, test="bounded")
    with pytest.raises(OptionError, match=r"the least and the greatest DCG@10 of a query are not"):
        gate(QRELS, [BM25, DENSE], "DCG@10", baseline="bm25", margin=0.1, test="bounded")
    assert gate(QRELS, [BM25, DENSE], baseline="bm25", margin=0.1, test="bounded").recipe[
        "ranges"
    ] == {"nDCG@10": [0, 1]}
    for bad in ((1, 0), (0, 0), (0,), 3, (0, math.inf), ("a", "b")):
        with pytest.raises(OptionError, match="range="):
            gate_scores(A, B, 0.1, range=bad)


def test_bounded_where_less_is_better() -> None:
    chance = np.random.default_rng(31)
    old, new = chance.uniform(0, 0.6, 80), chance.uniform(0, 0.6, 80)
    up = {"old": {"nDCG@10": number_queries(old)}, "new": {"nDCG@10": number_queries(new)}}
    down = {
        "old": {"Unjudged@10": number_queries(1 - old)},
        "new": {"Unjudged@10": number_queries(1 - new)},
    }
    verdict = gate(up, baseline="old", margin=0.1, test="bounded").verdicts[0]
    reverse_verdict = gate(down, baseline="old", margin=0.1, test="bounded").verdicts[0]
    for name in ("p", "p_worse", "lower", "upper", "difference"):
        assert getattr(reverse_verdict, name) == pytest.approx(getattr(verdict, name))
    assert (verdict.turned, reverse_verdict.turned) == (False, True)


def test_a_share_by_the_bounded_test_needs_scores_of_at_least_0() -> None:
    scores = {"old": {"q1": 1, "q2": 1}, "new": {"q1": 0.5, "q2": 0.1}}
    with pytest.raises(OptionError, match="as a share, it needs scores of at least 0"):
        gate(scores, baseline="old", margin="2%", test="bounded", range=(-1, 1))


@pytest.mark.parametrize("rising", [True, False])
def test_a_share_by_the_bounded_test_is_the_test_of_a_contrast(rising: bool) -> None:
    """That 10 % at most are lost: new - 0.9 * old is above 0 on average; else 1.1 * old - new."""
    chance = np.random.default_rng(41)
    measure = "nDCG@10" if rising else "Unjudged@10"
    for n in (12, 40):
        old = chance.uniform(0, 0.8, n)
        new = np.clip(old + chance.normal(0.02 if rising else -0.02, 0.1, n), 0, 1)
        systems = {"old": {measure: number_queries(old)}, "new": {measure: number_queries(new)}}
        verdict = gate(systems, baseline="old", margin="10%", test="bounded").verdicts[0]
        contrast = new - 0.9 * old if rising else 1.1 * old - new
        # The least that it may be: 0 - 0.9 x 1, or 1.1 x 0 - 1.
        wealths = [
            np.prod(1 + share * contrast / (0.9 if rising else 1.0))
            for share in (np.arange(100) + 0.5) / 100
        ]
        assert verdict.p == pytest.approx(min(1, 1 / np.mean(wealths)), rel=1e-9)
        assert verdict.margin == pytest.approx(0.1 * old.mean())
        assert verdict.lower is not None
        assert (verdict.p is not None and verdict.p <= 0.05) == (verdict.lower > -verdict.margin)


def test_bounded_shows_nothing_where_every_score_is_0() -> None:
    for n in (1, 50):
        result = gate_differences([0] * n, 0.1, test="bounded", range=(0, 1))
        assert (result.outcome, codes(result)) == ("UNDECIDED", ["nothing-shown"])


def test_the_range_of_a_geometric_mean_is_that_of_its_scores() -> None:
    verdict = gate(QRELS, [BM25, DENSE], "GMAP", baseline="bm25", margin="2%", test="bounded")
    assert verdict.recipe["ranges"] == {"GMAP": [0, 1]}


def test_the_least_p_value_of_the_bounded_test() -> None:
    """Every query wins as much as was put on it."""
    settings = GateSettings(test="bounded")
    for n in (1, 3, 20):
        wealth = sum((1 + (g - 0.5) / 100) ** n for g in range(1, 101)) / 100
        assert settings.gate_test.least_p(settings, n) == pytest.approx(1 / wealth)


def test_bounded_refuses_scores_out_of_the_range() -> None:
    with pytest.raises(InputError, match=r"left: score of query 'q001' is 1.5: expected a"):
        gate_scores([50, 150], [50, 50], 0.1, test="bounded", range=(0, 1))
    in_percent = {name: {"nDCG@10": {"q1": 40.0, "q2": 60.0}} for name in ("old", "new")}
    with pytest.raises(InputError, match=r"is 40: expected a score from 0 to 1"):
        gate(in_percent, baseline="old", margin=0.02, test="bounded")


def test_ranges_on_the_command_line(tmp_path: Path) -> None:
    old = save_scores(tmp_path, "old", [50.0] * 300, "rating")
    new = save_scores(tmp_path, "new", [50.0] * 298 + [49, 48], "rating")
    judged = ["--saved", new, "--baseline", old, "--margin", "5", "--test", "bounded"]
    assert run_gate(*judged)[0] == 2
    status, output, _ = run_gate(*judged, "--range", "0,100")
    assert status == 0
    assert "scores from 0 to 100" in output
    status, _, message = run_gate(*judged, "--range", "0-100")
    assert status == 2
    assert "expected LOW,HIGH" in message


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_bounded_knows_of_what_less_is_better() -> None:
    times = {f"q{i:02}": 100.0 + i % 7 for i in range(40)}
    slow = {query: time + 50 for query, time in times.items()}
    scores = {"old": {"latency_ms": times}, "slow": {"latency_ms": slow}}
    gate_options: Any = {"baseline": "old", "less_is_better": ["latency_ms"], "range": (0, 200)}
    assert gate(scores, margin=60, test="bounded", **gate_options)["slow", "latency_ms"].turned
