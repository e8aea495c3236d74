"""An explanation lists what extensions know of it."""

import pytest

from cranfield import explain


def test_an_explanation_lists_what_extensions_know_of_it() -> None:
    explanation = explain({"q": {"d1": 1}}, {"q": ["d2", "d1"]}, "AP", "q")
    assert {"judgments", "swap", "ties", "value"} <= {*dir(explanation)}
    with pytest.raises(AttributeError) as error_info:
        getattr(explanation, "valeu")  # noqa: B009 - what type checkers refuse, too
    assert (error_info.value.name, error_info.value.obj) == ("valeu", explanation)
