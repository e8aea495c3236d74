"""The rank-biased overlap that the report's script computes is that of `cranfield.rbo`."""

from pathlib import Path

import pytest
from helpers.browser import Browser

from cranfield import compare, rbo, report

pytestmark = pytest.mark.more

DEPTH = 5
JUDGMENTS = {query: {"a": 1} for query in ("same", "none", "uneven", "below", "empty", "turned")}
RUNS = {
    "x": {
        "same": "abc",
        "none": "abc",
        "uneven": "abcde",
        "below": "abcdefgh",
        "empty": "abc",
        "turned": "abcd",
    },
    "y": {
        "same": "abc",
        "none": "def",
        "uneven": "ca",
        "below": "hgfedcba",
        "turned": "dcba",
    },
}


def test_the_overlap_of_two_rankings(browser: Browser, tmp_path: Path) -> None:
    runs = {
        name: {
            query: {doc: -float(rank) for rank, doc in enumerate(docs)}
            for query, docs in ranked.items()
        }
        for name, ranked in RUNS.items()
    }
    path = tmp_path / "report.html"
    report(compare(JUDGMENTS, runs, "AP"), depth=DEPTH).save(path)
    expected = {
        query: rbo([*RUNS["x"][query][:DEPTH]], [*RUNS["y"].get(query, "")[:DEPTH]], p=0.9).ext
        for query in JUDGMENTS
    }
    assert len({*expected.values()}) > 3
    with browser.open(path) as page:
        page.choose("#order", "name")
        for query in JUDGMENTS:
            row = f"[aria-posinset='{sorted(JUDGMENTS).index(query) + 1}']"
            page.evaluate(f'document.querySelector("#rows {row}").click()')
            assert page.one("#stage h3") == f"Query {query}"
            shown = page.one("#stage .about p").split("RBO ")[1]
            assert shown == f"{expected[query]:.4f}", query
