"""Little judged: one rule on systems that cannot be placed, and what a comparison says of it."""

import pytest
from helpers.judged_runs import QRELS, make_runs

from cranfield import compare, evaluate


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
    note = f"Little judged, cannot be placed: ltr {percents[0]}% (most: cur {percents[1]}%)."
    assert (f"{note} --bounds may place them (bounds=True)." in str(comparison)) is is_little
    assert [n.code for n in comparison.notes].count("little-judged") == is_little


def test_without_a_grade_of_0_the_judged_share_is_a_precision() -> None:
    relevant_only = {query: {"r": 1} for query in QRELS}
    comparison = compare(relevant_only, make_runs(ltr=(1, 10), cur=(2, 100)), "RR@10")
    for system in comparison["RR@10"].systems:
        assert (system.judged, system.judged_lags, system.little_judged) == (None, False, False)
    assert "udged" not in str(comparison)


def test_queries_without_documents_have_no_share() -> None:
    """What part returned is judged, though it returned nothing for three queries of ten."""
    qrels = {f"q{i}": {"r": 1, "n": 0} for i in range(10)}
    full = {query: ["n", "r", "x"] for query in qrels}
    part = {f"q{i}": ["r"] for i in range(7)}
    comparison = compare(qrels, {"full": full, "part": part}, "RR@10")
    shares = {system.name: system.judged for system in comparison["RR@10"].systems}
    assert shares == pytest.approx({"full": 2 / 3, "part": 1})
    part["q0"] = ["x"]
    comparison = compare(qrels, {"full": full, "part": part}, "RR@10 Judged@10")
    system = comparison["RR@10"].systems[1]
    assert system.judged == pytest.approx(6 / 7)
    assert not system.little_judged
    assert comparison["Judged@10"].systems[1].mean == pytest.approx(6 / 10)
    scores = evaluate(qrels, part, "RR@10", fingerprints=True)
    assert scores.recipe["judged"] == pytest.approx({"RR@10": 6 / 7})


def test_ranks_are_not_told_where_a_system_cannot_be_placed() -> None:
    runs = make_runs(a=(1, 30), b=(2, 100), c=(3, 100))
    comparison = compare(QRELS, runs, "RR@10", all_pairs=True)
    assert comparison["RR@10"].ranks is None
    assert "may be best" not in str(comparison)
    assert "ranks" not in comparison.to_dict()["results"][0]
    placed_runs = make_runs(a=(1, 90), b=(2, 100), c=(3, 100))
    assert "* may be best" in str(compare(QRELS, placed_runs, "RR@10", all_pairs=True))


def test_bounds_are_named_only_where_a_measure_has_them() -> None:
    runs = make_runs(a=(1, 30), b=(2, 100))
    hint = "--bounds may place them"
    assert hint not in str(compare(QRELS, runs, "AP"))
    assert hint not in str(compare(QRELS, runs, "RR@10", bounds=True))
