"""How unlike two rankings are, as the report's page draws it: held against `rbo` of the runs."""

import pytest
from helpers.browser import Browser
from helpers.pages import Pages

from cranfield import rbo
from cranfield.data.judging import Judging
from cranfield.explanation.scene import Scene

pytestmark = pytest.mark.more


@pytest.mark.parametrize("kind", ["demonstration", "odd grades", "one query"])
def test_the_overlap_is_that_of_the_runs(browser: Browser, pages: Pages, kind: str) -> None:
    """Of rankings down to rank 20: as long, shorter, and those of a query that is not answered."""
    made = pages(kind)
    aligned = made.found.aligned
    assert aligned.source is not None
    qrels, runs = aligned.source.qrels, aligned.source.runs
    seen = set()
    with browser.open(made.path) as page:
        for a, b in ((0, 1), (len(runs) - 1, 0)):
            page.choose("#pick-a", str(a))
            page.choose("#pick-b", str(b))
            page.choose("#order", "name")
            drawn = page.each("#rows .q", "it.textContent.match(/RBO ([0-9.]+)/)[1]")
            assert drawn
            for query, shown in zip(aligned.query_ids, drawn, strict=False):
                mine, theirs = (
                    Scene.of(qrels, runs[aligned.names[one]], query, Judging()).docs[:20]
                    for one in (a, b)
                )
                seen.add((len(mine) == len(theirs), 0 in (len(mine), len(theirs))))
                assert shown == f"{rbo(mine, theirs).ext:.2f}"
    assert (True, False) in seen
