"""No step of pytrec_eval's evaluator is taken document by document."""

from typing import Any

import pytest
from helpers.calls import count_calls, make_ranking

from cranfield import pytrec_eval


@pytest.mark.no_cover  # which has calls of its own
def test_there_are_no_more_calls_for_more_documents() -> None:
    judged = {"q": {f"d{i}": i % 4 for i in range(15)}}
    evaluator: Any = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut", "recip_rank"})
    evaluator.evaluate(make_ranking(300))
    assert count_calls(evaluator.evaluate, make_ranking(3000)) == count_calls(
        evaluator.evaluate, make_ranking(300)
    )
