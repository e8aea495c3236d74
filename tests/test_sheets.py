"""Worksheets in a page: to the character what `explain` says, within a budget."""

import base64
import gzip
import json
from typing import Any

import pytest

from cranfield import compare, demo, explain
from cranfield.page.rankings import by_spread
from cranfield.page.sheets import EmbeddedSheets, sheets

DEMO = demo.QRELS, [str(path) for path in demo.RUNS]


def read(found: EmbeddedSheets | None) -> dict[str, str]:
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found.data))) if found.n else {}


@pytest.mark.parametrize("options", [{}, {"depth": 5, "judged_only": True}, {"ties": "best"}])
def test_they_are_what_explain_says(options: dict[str, Any]) -> None:
    aligned = compare(*DEMO, "nDCG@10 AP", test="t", **options).aligned
    found = read(sheets(aligned, ["dense", "bm25"], most=10))
    places = by_spread(aligned)[: 10 // 2]
    assert [*found] == [f"{place},{i}" for place in places for i in (2, 0)]
    for key, text in found.items():
        query, system = map(int, key.split(","))
        run, measure = DEMO[1][system], "nDCG@10"
        assert text == str(explain(DEMO[0], run, measure, aligned.query_ids[query], **options))


def test_no_more_than_fit() -> None:
    aligned = compare(*DEMO, "AP", test="t").aligned
    every = read(sheets(aligned, ["bm25"]))
    assert len(every) == 40
    some = sheets(aligned, ["bm25"], budget=5_000)
    assert some is not None
    assert len(some.data) <= 5_000
    assert 0 < some.n < 40
    assert [*read(some)] == [*every][: some.n]
    none = sheets(aligned, ["bm25"], budget=100)
    assert none is not None
    assert (none.data, none.n) == ("", 0)
    nobody = sheets(aligned, [])
    assert nobody is not None
    assert nobody.n == 0


def test_the_queries_that_systems_differ_on_most_come_first() -> None:
    aligned = compare(*DEMO, "AP", test="t").aligned
    spread = [max(row) - min(row) for row in aligned.values[0].tolist()]
    assert by_spread(aligned) == sorted(range(40), key=lambda place: -spread[place])


def test_saved_scores_have_none() -> None:
    assert sheets(compare({"a": {"q1": 0.5}, "b": {"q1": 0.25}}).aligned, ["a"]) is None
