"""comparison.scale: no interval goes beyond what a measure can be."""

import itertools
import math
from typing import get_args

import numpy as np
import pytest
from helpers.gate_limits import check_limits

from cranfield import compare, parse
from cranfield.comparison.scale import clip_ends, compared_range, score_range
from cranfield.comparison.settings import GateTestName, Test

FEW = {"low": [0.0, 0.0, 0.0, 1.0], "high": [1.0, 1.0, 1.0, 0.9], "mid": [0.1, 1.0, 0.2, 0.3]}


@pytest.mark.parametrize("test", get_args(Test))
def test_no_interval_of_ndcg_is_beyond_what_a_mean_can_be(test: Test) -> None:
    rows = [
        {"system": name, "query_id": f"q{i}", "nDCG@10": x}
        for name, column in FEW.items()
        for i, x in enumerate(column)
    ]
    result = compare(rows, test=test, all_pairs=True, alpha=0.01, flips=999)["nDCG@10"]
    for system in result.systems:
        assert system.low is not None
        assert system.high is not None
        assert 0 <= system.low <= system.mean <= system.high <= 1
    assert [system.high for system in result.systems if system.name == "high"] == [
        1.0
    ]  # t: 0.975 + 0.146
    for pair in result.pairs:
        if pair.low is not None and pair.high is not None:
            assert -1 <= pair.low <= pair.difference <= pair.high <= 1


def test_of_scores_beyond_the_range_and_of_names_that_are_no_measure_nothing_is_cut() -> None:
    percent = np.array([[10.0, 90.0]])
    infinite = -math.inf, math.inf
    assert score_range(parse("nDCG@10"), percent) == infinite
    assert score_range(parse("nDCG@10"), percent / 100) == (0, 1)
    assert score_range(parse("DCG"), percent) == (0, math.inf)
    assert score_range(parse("GMAP"), percent / 100) == (0, 1)
    assert score_range(parse("GMAP"), percent) == infinite
    assert score_range(None, percent) == infinite
    plain, cut_off = (
        compare(
            [
                {"system": s, "query_id": f"q{i}", name: x}
                for s, column in FEW.items()
                for i, x in enumerate(column)
            ],
            test="t",
            alpha=0.01,
        )[name]["high"]
        for name in ("rating", "P@10")
    )
    assert plain.high is not None
    assert plain.high > 1
    assert cut_off.high == 1


def test_what_is_no_end_stays_none() -> None:
    ends = [-np.inf, np.nan, -3.0, 0.5, 3.0, np.inf]
    for low, high in itertools.product(ends, repeat=2):
        clipped_ends = [end.item() for end in clip_ends(np.array([low]), np.array([high]), -1, 1)]
        for before, after in zip((low, high), clipped_ends, strict=True):
            if math.isfinite(before):
                assert after == min(max(before, -1), 1)
            else:
                assert np.array_equal(before, after, equal_nan=True)


def test_values_of_a_geometric_mean_differ_by_their_logarithms() -> None:
    """Values below 0.00001 count as 0.00001: log(1) - log(0.00001)."""

    def size(measure: str, lowest: float, highest: float) -> float:
        low, high = compared_range(parse(measure), lowest, highest)
        return high - low

    assert size("GMAP", 0, 1) == pytest.approx(5 * math.log(10))
    assert size("AP", 0, 1) == 1
    assert size("DCG", 0, math.inf) == math.inf


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@pytest.mark.parametrize("test", [name for name in get_args(GateTestName) if name != "bounded"])
@pytest.mark.parametrize("margin", [0.02, "2%"])
@pytest.mark.parametrize("measure", ["nDCG@10", "Unjudged@10", "GMAP"])
def test_no_limit_of_the_gate_is_beyond_what_a_difference_can_be(
    measure: str, margin: float | str, test: GateTestName
) -> None:
    check_limits(measure, margin, test)
