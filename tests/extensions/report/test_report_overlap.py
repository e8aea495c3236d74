"""The rank-biased overlap that the report's script computes is that of `cranfield.rbo`."""

from pathlib import Path

import pytest
from helpers.browser import Browser
from helpers.pages import Pages

from cranfield import compare, rbo, report
from cranfield.data.judging import Judging
from cranfield.explanation.scene import Scene

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
        page.choose_option("#order", "name")
        for query in JUDGMENTS:
            row = f"[aria-posinset='{sorted(JUDGMENTS).index(query) + 1}']"
            page.evaluate(f'document.querySelector("#rows {row}").click()')
            assert page.read_first("#stage h3") == f"Query {query}"
            overlap_text = page.read_first("#stage .about p").split("RBO ")[1]
            assert overlap_text == f"{expected[query]:.4f}", query


@pytest.mark.parametrize("kind", ["demonstration", "odd grades", "one query"])
def test_the_overlap_is_that_of_the_runs(browser: Browser, pages: Pages, kind: str) -> None:
    """Of rankings down to rank 20: as long, shorter, and those of a query that is not answered."""
    report_file = pages(kind)
    aligned_scores = report_file.comparison.aligned
    assert aligned_scores.evaluated_runs is not None
    qrels, runs = aligned_scores.evaluated_runs.qrels, aligned_scores.evaluated_runs.runs
    seen_overlaps = set()
    with browser.open(report_file.path) as page:
        for a, b in ((0, 1), (len(runs) - 1, 0)):
            page.choose_option("#pick-a", str(a))
            page.choose_option("#pick-b", str(b))
            page.choose_option("#order", "name")
            drawn_overlaps = page.read_all("#rows .q", "it.textContent.match(/RBO ([0-9.]+)/)[1]")
            n = min(
                len(drawn_overlaps), len(aligned_scores.query_ids)
            )  # no more is painted than is seen
            assert n == len(drawn_overlaps) >= min(10, len(aligned_scores.query_ids))
            for query, drawn_overlap in zip(
                aligned_scores.query_ids[:n], drawn_overlaps, strict=True
            ):
                mine, theirs = (
                    Scene.of(
                        qrels, runs[aligned_scores.system_names[system]], query, Judging()
                    ).docs[:20]
                    for system in (a, b)
                )
                seen_overlaps.add((len(mine) == len(theirs), 0 in (len(mine), len(theirs))))
                assert drawn_overlap == f"{rbo(mine, theirs).ext:.2f}"
    assert (True, False) in seen_overlaps
