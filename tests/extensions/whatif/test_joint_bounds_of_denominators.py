"""Joint bounds of measures with another denominator."""

import pytest

from cranfield import MeasureError, joint_bounds


def test_joint_bounds_where_documents_add_one_by_one() -> None:
    """What is relevant at rank 1 adds (1 + 1/2) / 2 to MeanP@2, at rank 2 (1/2) / 2."""
    qrels, runs = {"q": {"a": 1}}, [{"q": ["a", "u"]}, {"q": ["u", "v", "w"]}]
    bounds = joint_bounds(qrels, runs, "P(over='returned')@2 MeanP@2")
    assert bounds.methods == ("exact", "exact")
    assert bounds.difference.tolist() == pytest.approx([1 / 2, (1 + 1 / 2) / 2])
    assert bounds.low.tolist() == pytest.approx(
        [1 / 2 - 1 / 2, (3 / 2 + 1 / 2 - 3 / 2 - 1 / 2) / 2]
    )
    assert bounds.high.tolist() == pytest.approx([1 / 2, (3 / 2) / 2])
    assert joint_bounds(qrels, runs, "AP(over='cutoff')@2").methods == ("separate",)
    with pytest.raises(MeasureError, match="no bounds of the difference"):
        joint_bounds(qrels, runs, "AP(over='returned')@2")
