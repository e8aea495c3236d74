"""Little judged: one rule on systems that cannot be placed, and what a comparison says of it."""

import pytest
from helpers.judged_runs import QRELS, make_runs

from cranfield import compare


@pytest.mark.parametrize(
    ("percents", "is_less", "is_little"),
    [
        ((94, 100), True, False),
        ((79, 100), True, True),
        ((80, 100), True, False),
        ((13, 13), False, False),
        ((82, 85), False, False),
    ],
)
def test_below_four_fifths_of_the_largest_share_is_little(
    percents: tuple[int, int], is_less: bool, is_little: bool
) -> None:
    comparison = compare(QRELS, make_runs(ltr=(1, percents[0]), cur=(2, percents[1])), "RR@10")
    ltr, cur = comparison["RR@10"].systems
    assert (ltr.judged, cur.judged) == pytest.approx((percents[0] / 100, percents[1] / 100))
    assert (ltr.judged_lags, ltr.little_judged) == (is_less, is_little)
    assert (cur.judged_lags, cur.little_judged) == (False, False)
    note = f"Little judged, cannot be placed: ltr {percents[0]}%; cur {percents[1]}%."
    assert (note in str(comparison)) is is_little
    assert [n.code for n in comparison.notes].count("little-judged") == is_little


def test_without_a_grade_of_0_the_judged_share_is_a_precision() -> None:
    relevant_only = {query: {"r": 1} for query in QRELS}
    comparison = compare(relevant_only, make_runs(ltr=(1, 10), cur=(2, 100)), "RR@10")
    for system in comparison["RR@10"].systems:
        assert (system.judged, system.judged_lags, system.little_judged) == (None, False, False)
    assert "udged" not in str(comparison)
