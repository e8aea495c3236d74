"""The report for everyone: axe-core finds no fault; text on colours can be read; headings."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.axe import axe_source, find_faults
from helpers.browser import Browser, Page
from helpers.pages import Pages

pytestmark = pytest.mark.more

# The contrast of each text of a chart against what is painted below it: the ground of the page, and
# every shape of the same drawing that holds the middle of the text and was drawn before it.
CONTRASTS = """
(() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (text) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = text;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], ground, opacity) =>
    [r, g, b].map((c, i) => c * a * opacity + ground[i] * (1 - a * opacity));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = (it) => {
    for (; it; it = it.parentElement) {
      const colour = rgba(getComputedStyle(it).backgroundColor);
      if (colour[3] > 0.99) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const opacityOf = (it, top) => {
    let opacity = 1;
    for (; it && it !== top; it = it.parentElement) opacity *= Number(getComputedStyle(it).opacity);
    return opacity;
  };
  const found = [];
  for (const svg of document.querySelectorAll("main svg")) {
    const parts = [...svg.querySelectorAll("rect, circle, path, text")];
    const boxes = parts.map((it) => it.getBoundingClientRect());
    const ground = groundOf(svg.parentElement);
    parts.forEach((text, i) => {
      if (text.localName !== "text" || !text.textContent.trim()) return;
      const style = getComputedStyle(text);
      const [x, y] = [boxes[i].x + boxes[i].width / 2, boxes[i].y + boxes[i].height / 2];
      let below = ground;
      parts.slice(0, i).forEach((it, j) => {
        const box = boxes[j];
        if (it.localName === "text" || it.localName === "path") return;
        if (x < box.left || x > box.right || y < box.top || y > box.bottom) return;
        const its = getComputedStyle(it);
        if (its.fill === "none") return;
        below = over(rgba(its.fill), below, Number(its.fillOpacity) * opacityOf(it, svg));
      });
      const front = over(rgba(style.fill), below, Number(style.fillOpacity) * opacityOf(text, svg));
      const [one, other] = [luminance(front), luminance(below)].sort((p, q) => q - p);
      found.push([text.textContent, svg.closest("[id]").id, (one + 0.05) / (other + 0.05)]);
    });
  }
  return found;
})()
"""


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        *(("demonstration", "light"), ("demonstration", "dark"), ("one run", "dark")),
        *(("large", "light"), ("hostile", "dark")),
    ],
)
def test_axe_finds_no_fault(browser: Browser, pages: Pages, kind: str, scheme: str) -> None:
    with browser.open(pages(kind).path, scheme=scheme) as page:
        if kind == "demonstration":
            page.click("#stage .ranking .doc")
            page.evaluate('document.querySelectorAll("details").forEach((it) => (it.open = true))')
            page.settle()
        assert find_faults(page) == []


def test_axe_finds_no_fault_in_a_narrow_window(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path, size=(390, 800)) as page:
        assert find_faults(page) == []


def test_axe_finds_no_fault_without_scripts(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path, script=False) as page:
        page.call("Emulation.setScriptExecutionDisabled", value=False)  # so that axe runs
        assert find_faults(page) == []


def test_axe_finds_faults_where_there_are_some(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "faulty.html"
    path.write_text("<!doctype html><title>x</title><button></button><img src='data:,'>", "utf-8")
    with browser.open(path, ready=False) as page:
        page.evaluate(f"{axe_source()}; 0")
        violations = page.evaluate("axe.run().then((it) => it.violations.map((one) => one.id))")
    assert {"button-name", "image-alt", "html-has-lang"} <= set(violations)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["demonstration", "odd grades", "saved"])
def test_texts_of_charts_can_be_read(
    browser: Browser, pages: Pages, kind: str, scheme: str
) -> None:
    with browser.open(pages(kind).path, scheme=scheme) as page:
        contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    low = [(text, place, round(value, 2)) for text, place, value in contrasts if value < 4.5]
    assert low == []


def test_texts_of_the_real_charts_can_be_read(browser: Browser, pages: Pages, data: Path) -> None:
    report_file = pages("deep learning", data)
    for scheme in ("light", "dark"):
        with browser.open(report_file.path, scheme=scheme) as page:
            low = [contrast for contrast in page.evaluate(CONTRASTS) if contrast[2] < 4.5]
            assert low == []


def test_headings_are_in_order(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        levels = page.read_all("h1, h2, h3, h4, h5, h6", "Number(it.localName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def nodes(page: Page) -> Iterator[tuple[str, str]]:
    """Give (role, name) of everything that a screen reader is told of."""
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        if not node["ignored"]:
            yield node["role"]["value"], node.get("name", {}).get("value", "")


def test_what_a_screen_reader_is_told(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    with browser.open(report_file.path) as page:
        node_list = list(nodes(page))
    roles = [role for role, _ in node_list]
    assert {"main", "banner", "navigation", "table", "slider", "listbox", "option"} <= set(roles)
    controls = {"button", "combobox", "slider", "listbox", "radio", "searchbox", "link", "image"}
    assert [role for role, name in node_list if role in controls and not name.strip()] == []
    pictures = [name for role, name in node_list if role == "image"]
    numbers = [name for name in pictures if any(digit.isdigit() for digit in name)]
    assert len(numbers) >= 8  # each chart says what it shows, in numbers
    best = report_file.comparison.results[0].ranked_systems[0].name
    assert any(best in name for name in pictures)


def test_less_motion_and_forced_colours(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path, motion="reduce", forced="active") as page:
        moving = page.read_all("*", "parseFloat(getComputedStyle(it).transitionDuration) > 0.05")
        assert not any(moving)
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
        assert page.messages == []


def test_keys_alone_reach_every_control(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        control_names = {
            "pick-a",
            "pick-b",
            "pick-measure",
            "swap",
            "theme",
            "find",
            "order",
            "queries",
        }
        focused_names = set()
        for _ in range(90):
            page.press("Tab")
            focused_names.add(
                page.evaluate("document.activeElement.id || document.activeElement.localName")
            )
            ring = page.evaluate(
                "((style) => style.outlineStyle !== 'none' || style.boxShadow !== 'none' ||"
                " document.activeElement === document.body)"
                "(getComputedStyle(document.activeElement))"
            )
            assert ring, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        assert control_names <= focused_names
