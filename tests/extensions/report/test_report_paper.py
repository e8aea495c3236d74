"""The report on paper and on a phone, in Chromium and Firefox: nothing that matters is hidden."""

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.axe import find_faults
from helpers.browser import Browser
from helpers.judged_runs import QRELS, make_runs
from helpers.pages import Pages, ReportFile

from cranfield import compare, report

pytestmark = pytest.mark.more

VISIBLE_HEADLINES = "h1 > [data-m]:not([hidden])"
SCORES = {"a": 0.1, "b": 0.3}
A4_WIDTH, A4_HEIGHT = 595, 842  # points


@pytest.fixture(params=["browser", "firefox"])
def any_browser(request: pytest.FixtureRequest) -> Any:
    """Chromium, then Firefox."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def judged_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose first measure has a best system, and whose second cannot have one."""
    runs = make_runs(cur=(2, 100), old=(5, 100), ltr=(1, 10))
    runs["cur"]["q0"], runs["old"]["q0"] = runs["old"]["q0"], runs["cur"]["q0"]
    comparison = compare(QRELS, runs, "Judged@10 RR@10", baseline="old")
    path = tmp_path_factory.mktemp("judged") / "judged.html"
    report(comparison, worksheets=0).save(path)
    return path


def print_words(page: Any, folder: Path) -> Iterator[tuple[int, str, list[float]]]:
    """Print a page, and yield (number of the sheet, word, [x, y, x, y] in points) of each word."""
    page.print_pdf(folder / "page.pdf")
    command = ["pdftotext", "-bbox", str(folder / "page.pdf"), "-"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for number, sheet in enumerate(listing.split("<page ")[1:]):
        assert re.search(r'width="59\d\.\d+" height="84\d\.\d+"', sheet)
        for *corners, word in re.findall(
            r'xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)<', sheet
        ):
            yield number, word, list(map(float, corners))


def test_the_headline_follows_the_measure(any_browser: Any, judged_path: Path) -> None:
    with any_browser.open(judged_path) as page:
        (text,) = page.read_all(VISIBLE_HEADLINES)
        assert text.startswith("cur and old score highest: Judged@10 1.000")
        assert text.endswith(" ltr cannot be placed: 10% of its first 10 are judged.")
        page.choose_option("#pick-measure", "RR@10")
        (text,) = page.read_all(VISIBLE_HEADLINES)
        assert text.startswith("No system can be called best. ltr has the highest RR@10, 1.000")


def test_a_row_that_cannot_be_placed(any_browser: Any, judged_path: Path) -> None:
    with any_browser.open(judged_path) as page:
        page.choose_option("#pick-measure", "RR@10")
        rows = page.read_all(
            "#board tbody tr", "[it.querySelector('th bdi').textContent, it.cells[5].textContent]"
        )
        assert {name: text.split()[-1] for name, text in rows} == {
            "ltr": "?",
            "cur": "▲",
            "old": "baseline",
        }
        assert page.read_all("#board .eq") == []
        page.choose_option("#pick-a", "ltr")
        (sentence,) = page.read_all("#where-said")
        assert "They cannot be placed: too little is judged." in sentence


def test_paper_has_judged_p_and_interval(any_browser: Any, pages: Pages, tmp_path: Path) -> None:
    with any_browser.open(pages("demonstration").path) as page:
        words = [*print_words(page, tmp_path)]
    for _, word, (x, y, right, bottom) in words:
        assert 0 <= x < right <= A4_WIDTH + 1, word
        assert 0 <= y < bottom <= A4_HEIGHT + 1, word
    first_sheet = [word for number, word, _ in words if number == 0]
    for heading in ("Judged", "interval", "Holm", "T"):
        assert heading in first_sheet
    margin = 14 / 25.4 * 72  # points
    (x, _, right, _) = next(box for _, word, box in words if word == "Judged")
    assert margin <= x < right <= A4_WIDTH - margin + 1


def test_no_heading_is_alone_at_the_foot(
    any_browser: Any, pages: Pages, data: Path, tmp_path: Path
) -> None:
    with any_browser.open(pages("deep learning", data).path) as page:
        headings = page.read_all("main > section h2")
        words = [*print_words(page, tmp_path)]
    lines = " ".join(word for _, word, _ in words)
    assert all(heading in lines for heading in headings)
    texts = [word for _, word, _ in words]
    for heading in headings:
        first_words = heading.split()
        place = next(i for i in range(len(texts)) if texts[i : i + len(first_words)] == first_words)
        sheet = words[place][0]
        below = [box for number, _, box in words if number == sheet and box[1] > words[place][2][3]]
        assert max(box[3] for box in below) - words[place][2][3] > 90, heading


def changed_rows(report_file: ReportFile, system: str) -> list[str]:
    """Return what the table for paper has: ten queries that got worse, then ten that got better."""
    comparison = report_file.comparison
    lines = []
    for only in ("worse", "better"):
        changes = comparison.changes(system, n=10, only=only)
        lines.append(f"Got {only}, most first" if changes else f"None got {only}")
        lines += [f"{change:+.4f}".replace("-", "\N{MINUS SIGN}") for change in changes.values()]
    return lines


def test_paper_says_which_queries_got_worse(any_browser: Any, pages: Pages) -> None:
    report_file = pages("demonstration")
    with any_browser.open(report_file.path) as page:
        assert page.read_all("#changed", "getComputedStyle(it).display") == ["none"]  # on a screen
        rows = page.read_all("#changed tbody tr", "it.lastElementChild.textContent")
        assert rows == changed_rows(report_file, "dense")
        page.choose_option("#pick-a", "tfidf")
        rows = page.read_all("#changed tbody tr", "it.lastElementChild.textContent")
        assert sorted(rows) == sorted(changed_rows(report_file, "tfidf"))
        heads = page.read_all("#changed thead th")
        assert heads == ["nDCG@10", "bm25", "tfidf", "change"]


def test_a_phone_shows_judged_shares_and_marks(any_browser: Any, pages: Pages) -> None:
    with any_browser.open(pages("demonstration").path, size=(390, 800)) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        contents = page.read_all("#board .v", "getComputedStyle(it, '::after').content")
        assert len(contents) == 4
        assert all("judged" in content for content in contents)
        ends = page.read_all("#board .vs", "it.getBoundingClientRect().right")
        assert max(ends) <= 390
    hidden_counts = []
    for width in (1200, 1000, 900, 800, 700, 390):
        with any_browser.open(pages("demonstration").path, size=(width, 800)) as page:
            are_visible = [
                any(page.read_all(f"#board .{name}", "it.offsetWidth > 0"))
                for name in ("pick", "wtl", "p", "of-mean")  # the first goes first
            ]
            assert are_visible == sorted(are_visible)
            hidden_counts.append(are_visible.count(False))
            assert any(page.read_all("#board .share", "it.offsetWidth > 0")) == (width > 640)
    assert hidden_counts[0] == 0
    assert hidden_counts[-1] == 4
    assert all(before <= after for before, after in pairwise(hidden_counts))


def test_axe_finds_no_fault(any_browser: Any, judged_path: Path) -> None:
    with any_browser.open(judged_path, size=(390, 800)) as page:
        page.choose_option("#pick-measure", "RR@10")
        assert find_faults(page) == []


def test_names_stand_for_letters(browser: Browser, pages: Pages) -> None:
    with browser.open(pages("demonstration").path) as page:
        assert page.read_first("#h-where") == "On which queries do dense and bm25 differ?"
        options = page.read_all("#order option")
        assert options[:2] == ["dense better, most first", "bm25 better, most first"]
        page.click("#swap")
        assert page.read_all("#order option")[0] == "bm25 better, most first"


def test_the_baseline_is_b_where_it_is_best(browser: Browser, tmp_path: Path) -> None:
    comparison = compare(QRELS, make_runs(base=(1, 100), second=(2, 100), third=(3, 100)), "RR@10")
    report(comparison).save(tmp_path / "best.html")
    with browser.open(tmp_path / "best.html") as page:
        assert page.read_first("#pick-a", "it.selectedOptions[0].text") == "second"
        assert page.read_first("#pick-b", "it.selectedOptions[0].text") == "base"
        assert len(page.read_all("#stage .sheet")) == 2


def test_the_rest(browser: Browser, pages: Pages, tmp_path: Path) -> None:
    with browser.open(pages("one run").path) as page:
        assert page.read_all("#stage .key") == []
    scores = {name: {"all pairs of a list": score, "q2": 0.5} for name, score in SCORES.items()}
    report(compare(scores)).save(tmp_path / "spaced.html")
    with browser.open(tmp_path / "spaced.html") as page:
        page.choose_option("#order", "name")
        assert page.read_first("#stage h3") == "all pairs of a list"
    with browser.open(pages("demonstration").path, kind="print") as page:
        hash_texts = page.read_all(".hash", "it.innerText")
        assert hash_texts
        assert all(re.fullmatch(r"sha256 [0-9a-f]{12}", text) for text in hash_texts)
        assert "cranfield pool " in page.read_first("#holes-said")
