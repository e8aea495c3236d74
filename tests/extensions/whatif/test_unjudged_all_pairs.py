"""What unjudged documents may change is not looked for in all pairs."""

from cranfield import compare
from cranfield.comparison.compare import compare_all_pairs, compare_scores


def test_what_unjudged_documents_may_change_is_not_looked_for() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "c": 0}}
    runs = {"x": {"q1": ["a", "b"], "q2": ["c", "a"]}, "y": {"q1": ["b", "u"], "q2": ["u", "v"]}}
    comparison = compare(qrels, runs, "P@2", baseline="y")
    assert comparison["P@2"]["x"].unjudged_low is not None
    assert compare_all_pairs(comparison)["P@2"]["x"].unjudged_low is None
    assert (
        compare_scores(comparison.aligned, comparison.settings)["P@2"]["x"].unjudged_low is not None
    )
