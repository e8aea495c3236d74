"""How long the documentation is: each part has a budget of words, each page a limit."""

import re
from pathlib import Path

import pytest
from helpers.folders import DOCS

# {part: (its pages, how many words they may have)}; docs/index.md is none of them.
BUDGETS = {
    "Commands": ("reference/command-line/*.md", 10_000),
    "Python": ("reference/api/*.md", 33_000),
    "Background": ("background/*.md", 20_000),
    # 4,500 of these are those of arrays.md, beyond-accuracy.md and model-labels.md.
    "How-to": ("how-to/*.md", 27_500),
    "Start": ("start/*.md", 8_500),
    "Measures, formats, conventions, terms": ("reference/[!ac]*/*.md reference/*.md", 31_000),
}
# Parts that are longer still, and what they may have until they are shortened.
NOT_YET = {"Python": 34_500, "Measures, formats, conventions, terms": 37_500}
PAGE_LIMIT = 2_600
GENERATED_FOLDERS = ("reference/command-line", "reference/api", "reference/measures")
GENERATED_SECTION = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.S)


def count_words(text: str) -> int:
    """Return how many words a text has: what has a letter or a digit, not the bars of a table."""
    return len(re.findall(r"\S*\w\S*", text))


def list_pages(patterns: str) -> list[Path]:
    return sorted(page for pattern in patterns.split() for page in DOCS.glob(pattern))


@pytest.mark.parametrize("part", BUDGETS)
def test_a_part_of_the_documentation_keeps_to_its_budget(part: str) -> None:
    patterns, budget = BUDGETS[part]
    n_words = sum(count_words(page.read_text("utf-8")) for page in list_pages(patterns))
    assert n_words > budget / 2, "the pages are elsewhere"
    assert n_words <= NOT_YET.get(part, budget)


def test_every_page_but_the_first_is_in_one_part() -> None:
    pages = [page for patterns, _ in BUDGETS.values() for page in list_pages(patterns)]
    assert len(pages) == len({*pages})
    assert {*DOCS.rglob("*.md")} - {*pages} == {DOCS / "index.md"}


def test_the_page_of_figures_is_a_table_of_kinds() -> None:
    assert count_words((DOCS / "reference/command-line/figure.md").read_text("utf-8")) <= 1_700


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not str(page.parent.relative_to(DOCS)).startswith(GENERATED_FOLDERS)
    ],
    ids=lambda page: page.name,
)
def test_a_page_written_by_hand_is_not_too_long_to_read(page: Path) -> None:
    assert count_words(GENERATED_SECTION.sub("", page.read_text("utf-8"))) <= PAGE_LIMIT


def test_bars_and_bullets_are_no_words() -> None:
    assert count_words("| a-b | 0.5 |\n|---|---|\n- `--ties`: x") == 4
