"""Limits of the bounded test stay within what differences can be."""

import pytest
from helpers.gate_limits import check_limits


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
@pytest.mark.parametrize("margin", [0.02, "2%"])
@pytest.mark.parametrize("measure", ["nDCG@10", "Unjudged@10", "GMAP"])
def test_no_limit_of_the_bounded_gate_is_beyond_what_a_difference_can_be(
    measure: str, margin: float | str
) -> None:
    check_limits(measure, margin, "bounded")
