"""Units of scores of several collections: percentages, and of which measures less is better."""

from typing import Any

import pytest

from cranfield import InputError, compare_collections

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

N = 40
OLD = [0.50 + 0.01 * (i % 7) for i in range(N)]
NEW = [score - 0.05 - 0.01 * (i % 3) for i, score in enumerate(OLD)]  # each query is worse


def systems(measure: str, **values: list[float]) -> Any:
    return {
        name: {measure: {f"q{i:02}": value for i, value in enumerate(column)}}
        for name, column in values.items()
    }


def test_a_score_beyond_the_range_of_its_measure_is_refused() -> None:
    percent = systems("nDCG@10", old=OLD, new=[100 * score for score in NEW])
    with pytest.raises(InputError) as error:
        compare_collections({"a": percent, "b": systems("nDCG@10", old=OLD, new=NEW)})
    assert "new: nDCG@10 of query 'q00' is 45: expected a score from 0 to 1" in str(error.value)
    assert "Is it a percentage? --percent divides by 100" in str(error.value)
    assert error.value.query_id == "q00"


def test_of_a_measure_less_may_be_better() -> None:
    fast = [100.0 + i % 7 for i in range(N)]
    scores = systems("cost", old=fast, new=[time + 50 + i % 3 for i, time in enumerate(fast)])
    pair = compare_collections({"a": scores, "b": scores}, less_is_better=["cost"])["cost"]["new"]
    assert (pair.verdict, pair.losses) == ("worse", 2)
