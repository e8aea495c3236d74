"""The report in use: sorted, searched, by pointer and by keys; its state in the address."""

from urllib.parse import parse_qs, urlencode

import pytest
from helpers.browser import Browser, Page
from helpers.pages import Pages

from cranfield import demo, figures

pytestmark = pytest.mark.more

IN_VIEW = 'Math.abs(document.getElementById("query").getBoundingClientRect().top) < 200'


def state(page: Page) -> dict[str, str]:
    """Return what the address says."""
    fragment = page.evaluate("location.hash.slice(1)")
    return {key: values[0] for key, values in parse_qs(fragment).items()}


def names(page: Page) -> list[str]:
    return page.read_all("#board tbody tr:not([hidden]) th bdi")


def chosen_query(page: Page) -> str:
    """Return the chosen query: the stage, the list, the slider and the address agree on it."""
    query = state(page)["q"]
    title = page.read_first("#stage h3")
    assert title in (demo.queries().get(query), f"Query {query}")
    assert page.read_first('#rows [aria-selected="true"]', "it.textContent").startswith(title[:80])
    assert page.read_first(
        '#differences [role="slider"]', "it.getAttribute('aria-valuetext')"
    ).startswith(title)
    return query


def test_heads_sort_by_pointer_and_by_key(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.leaderboard(report_file.comparison).points
    with browser.open(report_file.path) as page:
        usual = names(page)
        assert usual == [point["system"] for point in points]
        assert page.read_all("#board [aria-sort]", "it.dataset.key") == ["mean"]
        page.click('#board th[data-key="mean"] button')
        assert names(page) == usual[::-1]
        assert page.read_all("#board [aria-sort]", "it.getAttribute('aria-sort')") == ["ascending"]
        page.click('#board th[data-key="name"] button')
        assert names(page) == sorted(usual)
        page.focus('#board th[data-key="name"] button')
        page.press("Enter")
        assert names(page) == sorted(usual, reverse=True)
        assert page.read_all("#board [aria-sort]", "it.dataset.key") == ["name"]
        page.click('#board th[data-key="wins"] button')
        wins = {point["system"]: point["wins"] for point in points}
        shown_wins = [wins[name] for name in names(page)]
        assert shown_wins[:-1] == sorted(shown_wins[:-1], reverse=True)
        assert shown_wins[-1] is None  # the baseline has none, and comes last
        page.click('#board th[data-key="wins"] button')
        shown_wins = [wins[name] for name in names(page)]
        assert shown_wins[:-1] == sorted(shown_wins[:-1])
        assert shown_wins[-1] is None
        page.click('#means th[data-key="1"] button')
        second = {system.name: system.mean for system in report_file.comparison["AP"].systems}
        assert page.read_all("#means tbody th bdi") == sorted(
            second, key=lambda name: -second[name]
        )


def test_long_tables_are_filtered(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("large").path) as page:
        assert len(names(page)) == 50
        page.focus("#which .filter")
        page.type("-3")
        assert sorted(names(page)) == [f"system-{i}" for i in range(30, 40)]
        assert "10 of 50" in page.read_first("#which .head [aria-live]")
    with browser.open(pages("demonstration").path) as page:
        assert page.read_all(".filter") == []


def test_the_search_finds_in_ids_and_texts(browser: Browser, pages: Pages) -> None:
    texts = demo.queries()
    word = "file"
    expected = {query for query, text in texts.items() if word in text.lower()}
    assert 0 < len(expected) < len(texts)
    with browser.open(pages("demonstration").path) as page:
        page.focus("#find")
        page.type(word.upper())
        shown_texts = page.read_all("#rows .q .text")
        assert set(shown_texts) == {texts[query] for query in expected}
        assert f"{len(expected)} of {len(texts)}" in page.read_first("#found")
        page.press("ArrowDown")
        first = chosen_query(page)
        assert first in expected
        page.press("ArrowDown")
        assert chosen_query(page) in expected - {first}
        page.type("no such words")
        assert page.read_all("#rows .q") == []


@pytest.mark.parametrize("kind", ["demonstration", "large"])
def test_keys_of_the_list_of_queries(browser: Browser, pages: Pages, kind: str) -> None:
    report_file = pages(kind)
    points = figures.differences(report_file.comparison).points
    ids = [point["query_id"] for point in points]
    with browser.open(report_file.path) as page:
        page.focus("#queries")
        for keys, place in (
            (["End"], len(ids) - 1),
            (["Home"], 0),
            (["ArrowDown", "ArrowDown"], 2),
            (["ArrowUp"], 1),
            (["PageDown"], 11),
            (["PageUp"], 1),
        ):
            page.press(*keys)
            assert (
                page.read_first("#rows [aria-selected=true]", "Number(it.ariaPosInSet)")
                == place + 1
            )
            if kind == "demonstration":
                assert chosen_query(page) == ids[place]
            active = page.read_first("#queries", "it.getAttribute('aria-activedescendant')")
            assert page.read_all(f"#{active}", "it.ariaSetSize") == [str(len(ids))]


def test_orders_of_the_list(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    texts = demo.queries()
    gain = {
        texts[point["query_id"]]: point["difference"]
        for point in figures.differences(report_file.comparison).points
    }
    with browser.open(report_file.path) as page:

        def list_texts(order: str) -> list[str]:
            page.choose_option("#order", order)
            return page.read_all("#rows .q .text")

        assert [gain[text] for text in list_texts("up")] == sorted(gain.values(), reverse=True)[
            : len(list_texts("up"))
        ]
        gains = [gain[text] for text in list_texts("down")]
        assert gains == sorted(gain.values())[: len(gains)]
        gains = [abs(gain[text]) for text in list_texts("size")]
        assert gains == sorted(map(abs, gain.values()), reverse=True)[: len(gains)]
        assert list_texts("name")[0] == texts[report_file.comparison.aligned.query_ids[0]]
        list_texts("unlike")
        overlaps = [float(text.split("RBO ")[1]) for text in page.read_all("#rows .q .more")]
        assert overlaps == sorted(overlaps)


def test_the_slider_moves_over_the_sorted_queries(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.differences(report_file.comparison).points
    with browser.open(report_file.path) as page:
        page.focus('#differences [role="slider"]')
        for keys, place in ((["End"], len(points) - 1), (["Home"], 0), (["ArrowRight"], 1)):
            page.press(*keys)
            point = points[place]
            assert chosen_query(page) == point["query_id"]
            value_text = page.read_first(
                '#differences [role="slider"]', "it.getAttribute('aria-valuetext')"
            )
            for value in (point["score"], point["other_score"], abs(point["difference"])):
                assert f"{value:.4f}" in value_text
            now = page.read_first('#differences [role="slider"]', "Number(it.ariaValueNow)")
            assert now == place + 1
        page.press("Enter")
        page.wait_for(IN_VIEW)


def test_a_dot_chooses_its_query_and_brings_the_stage(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.differences(report_file.comparison).points
    with browser.open(report_file.path) as page:
        page.hover("#differences circle[data-q]:nth-of-type(4)")
        hint = page.read_first("#hint", "it.hidden ? '' : it.textContent")
        assert demo.queries()[points[3]["query_id"]] in hint
        page.press("Escape")
        assert page.read_first("#hint", "it.hidden") is True
        page.click("#differences circle[data-q]:nth-of-type(4)")
        page.wait_for(IN_VIEW)
        assert chosen_query(page) == points[3]["query_id"]
        query = page.read_first("#scatter circle[data-q]", "Number(it.dataset.q)")
        page.click("#scatter circle[data-q]")
        assert chosen_query(page) == report_file.comparison.aligned.query_ids[query]


def test_systems_are_chosen_in_every_way(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        best = names(page)
        page.click("#swap")
        a, b = state(page)["a"], state(page)["b"]
        assert (a, b) == ("bm25", best[0])
        page.choose_option("#pick-a", best[0])  # the other side has it: they change places
        assert (state(page)["a"], state(page)["b"]) == (best[0], "bm25")
        line = f"#board tr:has(th bdi):nth-child({best.index('tfidf') + 1})"
        page.click(f'{line} input[name="side-b"]')
        assert state(page)["b"] == "tfidf"
        assert page.read_all("#board tr.is-b th bdi") == ["tfidf"]
        assert page.read_all("#board input:checked", "it.name").count("side-a") == 1
        assert page.read_all("#board input:checked", "it.name").count("side-b") == 1
        assert page.read_first("#where-said").startswith(f"{best[0]} against tfidf")
        page.choose_option("#pick-measure", "AP")
        assert state(page)["m"] == "AP"
        assert page.read_first('#board th[data-key="mean"]') == "AP"


def test_a_cell_of_the_matrix_chooses_its_pair(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        best = names(page)
        page.click("#matrix rect.cell")
        a, b = state(page)["a"], state(page)["b"]
        assert a == best[0]
        assert b in best[1:]


def test_documents_by_keys_and_their_card(browser: Browser, pages: Pages) -> None:
    focus_script = (
        "((it) => it.closest('.ranking') && [[...document.querySelectorAll('.ranking')]"
        ".indexOf(it.closest('.ranking')), [...it.parentElement.children].indexOf(it)])"
        "(document.activeElement)"
    )
    with browser.open(pages("demonstration").path) as page:
        page.focus("#stage .ranking .doc")
        for key, place in (
            ("ArrowDown", [0, 1]),
            ("ArrowRight", [1, 1]),
            ("End", [1, 9]),
            ("ArrowLeft", [0, 9]),
            ("Home", [0, 0]),
            ("ArrowUp", [0, 0]),
        ):
            page.press(key)
            assert page.evaluate(focus_script) == place
        doc = page.read_first("#stage .ranking .doc .id")
        page.press("Enter")
        assert page.evaluate(focus_script) == [0, 0]
        card = page.read_first("#stage .card[aria-label=Document]")
        assert doc in card
        assert f"What {doc} is for" in card
        assert len(page.read_all("#stage .places li")) == 4
        page.press("Enter")
        assert page.read_all("#stage .card[aria-label=Document]") == []


def test_more_rankings_and_ranks(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        assert len(page.read_all("#stage .ranking")) == 2
        assert len(page.read_all("#stage .ranking:first-child .doc")) == 10
        page.choose_option("#stage .tools label select", "20")
        assert len(page.read_all("#stage .ranking:first-child .doc")) == 20
        page.choose_option("#stage .tools > select", "tfidf")
        assert page.read_all("#stage .ranking h4 bdi") == ["dense", "bm25", "tfidf"]
        page.click("#stage .ranking h4 button")
        assert page.read_all("#stage .ranking h4 bdi") == ["dense", "bm25"]


def test_the_address_holds_the_state(browser: Browser, pages: Pages) -> None:
    state = {"q": "q22", "a": "fusion", "b": "tfidf", "m": "AP"}
    with browser.open(pages("demonstration").path, fragment=urlencode(state)) as page:
        assert chosen_query(page) == "q22"
        assert page.read_first("#pick-a", "it.selectedOptions[0].text") == "fusion"
        assert page.read_first("#pick-b", "it.selectedOptions[0].text") == "tfidf"
        assert page.read_first("#pick-measure", "it.selectedOptions[0].text") == "AP"
        page.wait_for(IN_VIEW)
        page.evaluate('location.hash = "#q=q12&a=bm25&b=dense&m=RR"')
        page.wait_for(
            f"document.querySelector('#stage h3').textContent == {demo.queries()['q12']!r}"
        )
        assert page.read_first("#where-said").startswith("bm25 against dense")
    hostile = urlencode({"q": "none", "a": "<script>", "b": "__proto__", "m": "constructor"})
    with browser.open(pages("demonstration").path, fragment=hostile) as page:
        assert page.messages == []
        assert page.read_first("#where-said").startswith("dense against bm25")


def test_the_theme_is_the_systems_until_one_is_chosen(browser: Browser, pages: Pages) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    path = pages("one query").path
    with browser.open(path) as page:
        light = page.evaluate(ground)
        page.emulate_media(scheme="dark")
        dark = page.evaluate(ground)
        assert dark != light
        page.click("#theme")
        assert page.evaluate(ground) == light
        page.load(path)
        page.wait_ready()
        assert page.evaluate(ground) == light  # it was kept


def test_a_narrow_window_has_no_sideways_scroll(browser: Browser, pages: Pages) -> None:
    for kind in ("demonstration", "hostile", "large", "one run"):
        with browser.open(pages(kind).path, size=(390, 800)) as page:
            page.settle()
            wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1]
            page.evaluate("scrollTo(1000, 0)")
            assert page.evaluate("scrollX") == 0


def test_charts_follow_the_width(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        wide = page.read_first("#spread svg", "it.viewBox.baseVal.width")
        page.resize(700, 900)
        page.wait_for(f'document.querySelector("#spread svg").viewBox.baseVal.width < {wide}')
        assert page.messages == []


def test_without_scripts_the_tables_are_there(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    with browser.open(report_file.path, script=False) as page:
        page.call("Emulation.setScriptExecutionDisabled", value=False)  # to read it
        text = page.evaluate("document.body.innerText")
        best = report_file.comparison.results[0].ranked_systems[0]
        assert best.name in page.read_first("h1")
        assert f"{best.mean:.3f}" in page.read_first("h1")
        for measure in ("nDCG@10", "AP", "RR"):
            for system in report_file.comparison[measure].systems:
                assert f"{system.mean:.4f}" in text
        assert "sha256" in text
        assert page.read_all(".js", "it.getClientRects().length") == [0] * len(page.read_all(".js"))
        assert page.messages == []


def test_print_shows_everything_on_white(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path, kind="print", scheme="dark") as page:
        page.settle()
        assert page.evaluate("getComputedStyle(document.body).color").startswith("rgb(")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
        rectangles_script = "it.getClientRects().length"
        assert page.read_all(".bar, #swap, #theme, #find", rectangles_script) == [0, 0, 0, 0]
        for chart in ("differences", "scatter", "cutoffs", "matrix", "spread", "judged"):
            assert page.read_first(f"#{chart} svg", "it.getBoundingClientRect().height") > 40
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1]
