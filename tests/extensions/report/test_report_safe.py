"""The report in a browser: it is silent, it loads nothing, and nothing in it runs but its own."""

from collections.abc import Callable

import pytest
from helpers.browser import Browser, Page
from helpers.pages import KINDS, Pages, check_quiet

pytestmark = pytest.mark.more


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_silent_and_asks_for_nothing(browser: Browser, pages: Pages, kind: str) -> None:
    with browser.open(pages(kind).path) as page:
        check_quiet(page)
        drawn_counts = page.read_all(
            "main svg[role=img], main [role=slider] svg", "it.childNodes.length"
        )
        assert all(n > 2 for n in drawn_counts)
        assert (
            page.read_all("section > figure, .two > figure", "it.childNodes.length").count(0) == 0
        )
        assert page.read_all("section:not([hidden])", "it.getBoundingClientRect().height > 40")


def test_hostile_texts_stay_texts(browser: Browser, pages: Pages) -> None:
    report_file = pages("hostile")
    with browser.open(report_file.path) as page:
        check_quiet(page)
        for _ in range(len(report_file.comparison.aligned.query_ids)):
            _holds_no_code(page)
            page.focus("#queries")
            page.press("ArrowDown")
            page.click("#stage .ranking .doc")
        page.type("x")
        page.focus("#find")
        page.type("<script>")
        for measure in ("AP", "nDCG@10"):
            page.choose_option("#pick-measure", measure)
        page.click("#swap")
        page.hover("#matrix svg")
        page.hover("#differences svg")
        _holds_no_code(page)
        check_quiet(page)
        assert page.evaluate("document.title") == report_file.report_options["title"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _holds_no_code(page: Page) -> None:
    """Assert that the document has the page's own scripts, no listener, no link from data."""
    violations = page.evaluate(
        """[...document.querySelectorAll("*")].flatMap((it) => [...it.attributes].map((one) =>
        [it.localName, one.name, one.value.slice(0, 80)])).filter(([tag, name, value]) =>
        name.startsWith("on") || name === "src" || name === "srcdoc" || name === "xlink:href" ||
        (name === "href" && !value.startsWith("#") && value !== "data:,"))"""
    )
    assert violations == []
    assert len(page.read_all("script")) == 6
    assert page.read_all("img, iframe, object, embed, base, form:not(#choice)") == []
    unseen = page.evaluate(
        r"/[\u0000-\u0008\u000e-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)"
    )
    assert unseen is False


def test_the_policy_holds_from_within(browser: Browser, pages: Pages) -> None:
    """A script that somebody put into the page does not run, and what it could load is refused."""
    tries: list[Callable[[Page], None]] = [
        lambda page: page.evaluate(
            '(() => { try { document.body.append(Object.assign(document.createElement("script"),'
            ' {text: "globalThis.ran=1"})) } catch {} })()'
        ),
        lambda page: page.evaluate(
            '(() => { try { document.body.innerHTML += "<img src=x onerror=globalThis.ran=2>" }'
            " catch {} })()"
        ),
        lambda page: page.evaluate('fetch("https://example.org").catch(() => null).then(() => 0)'),
        lambda page: page.evaluate(
            '(() => { const it = document.createElement("img"); it.src = "https://example.org/x.png";'
            " document.body.append(it); })()"
        ),
    ]
    for attempt in tries:
        with browser.open(pages("one query").path) as page:
            attempt(page)
            page.settle()
            assert page.evaluate("globalThis.ran") is None
            assert page.list_refusals()
