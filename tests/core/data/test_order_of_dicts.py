"""Runs in dicts: the order of the entries does not matter, however long the ranking is."""

import math
from collections import Counter, OrderedDict
from typing import Any

import pytest

from cranfield import evaluate
from cranfield.errors import InputError

MEASURES = "AP nDCG@10 RR P@100 Bpref"


def scores_of(n: int, has_ties: bool) -> dict[str, float]:
    """Return falling scores, best first; if tied, three documents share each of them."""
    return {f"d{i:04}": float(-(i // 3) if has_ties else -i) for i in range(n)}


@pytest.mark.parametrize("kind", [dict, OrderedDict, Counter])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("n", [1, 2, 199, 200, 201, 1000])
def test_the_order_of_the_entries_does_not_matter(
    n: int, has_ties: bool, precision: Any, kind: type
) -> None:
    falling = scores_of(n, has_ties)
    docs = [*falling]
    # Equal scores rank by id, descending, for any order in the dict.
    ranked = sorted(docs, key=lambda doc: (falling[doc], doc), reverse=True)
    grades = {doc: i % 4 for i, doc in enumerate(docs[::7])}
    judged = {"q1": grades, "q2": grades}
    expected = evaluate(judged, {"q1": ranked, "q2": ranked}, MEASURES).to_dict()
    for order in (docs, docs[::-1], docs[1::2] + docs[::2]):
        run = {query: kind({doc: falling[doc] for doc in order}) for query in judged}
        assert evaluate(judged, run, MEASURES, scores=precision).to_dict() == expected


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_no_number_is_found_among_falling_scores(n: int, place: int) -> None:
    falling = scores_of(n, has_ties=False)
    wrong = [*falling][place]
    with pytest.raises(InputError, match=wrong):
        evaluate({"q": {"d0001": 1}}, {"q": {**falling, wrong: math.nan}}, "AP")
