"""The site made of docs/: every page is in it, every link leads somewhere, and it opens well.

It is built once, read from a server on loopback, and opened in the distribution's Chromium.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from helpers.axe import find_faults
from helpers.browser import Browser
from helpers.folders import ROOT
from helpers.profile import sample_cases
from markdown_it import MarkdownIt

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ROOT_PAGES = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def list_nav_paths(entries: list[Any]) -> Iterator[str]:
    """Yield the paths below docs/ that navigation names: files and folders."""
    for nav_entry in entries:
        for path_or_entries in nav_entry.values() if isinstance(nav_entry, dict) else [nav_entry]:
            if isinstance(path_or_entries, list):
                yield from list_nav_paths(path_or_entries)
            else:
                yield path_or_entries


def make_anchor(heading: str) -> str:
    """Return the anchor of a heading: as code hosts and the site make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", text))


@cache
def find_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    headings = [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"
    ]
    return {make_anchor(heading) for heading in headings}


def test_every_page_is_in_the_navigation_and_every_entry_exists() -> None:
    nav = yaml.safe_load((DOCS / ".nav.yml").read_text("utf-8"))["nav"]
    nav_paths = list(list_nav_paths(nav))
    files: set[str] = set()
    folders: set[str] = set()
    for nav_path in nav_paths:
        assert (DOCS / nav_path).exists(), f"{nav_path} is in docs/.nav.yml and not in docs/"
        (folders if (DOCS / nav_path).is_dir() else files).add(nav_path)
    for page in PAGES:
        path = page.relative_to(DOCS)
        is_in_navigation = path.as_posix() in files or path.parent.as_posix() in folders
        assert is_in_navigation, f"{path} is in docs/ and not in docs/.nav.yml"


def test_the_first_page_lists_all_pages_in_the_order_of_the_navigation() -> None:
    nav = yaml.safe_load((DOCS / ".nav.yml").read_text("utf-8"))["nav"]
    text = (DOCS / "index.md").read_text("utf-8")
    for tab in nav[1:]:
        ((name, entries),) = tab.items()
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        targets = [target.removesuffix("/index.md") for target in LINK.findall(section)]
        assert targets == list(list_nav_paths(entries)), name


@pytest.mark.parametrize("page", [*ROOT_PAGES, *PAGES], ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        path, _, fragment = target.partition("#")
        if not path.startswith(("http", "mailto:")):
            linked_page = page if not path else page.parent / path
            assert linked_page.exists(), f"{page.name}: {target}"
            assert not fragment or fragment in find_anchors(linked_page), f"{page.name}: {target}"


def test_a_folder_of_the_navigation_has_an_order() -> None:
    """Pages of a folder are listed by its own navigation, else by name."""
    for nav_file in DOCS.rglob(".nav.yml"):
        if nav_file.parent == DOCS:
            continue
        nav_pages = set(list_nav_paths(yaml.safe_load(nav_file.read_text("utf-8"))["nav"]))
        folder_pages = {page.name for page in nav_file.parent.glob("*.md")}
        assert nav_pages == folder_pages, nav_file


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built without a warning."""
    if find_spec("zensical") is None:
        pytest.skip("zensical is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("built")
    for name in ("docs", "scripts"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "No issues found" in process.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a server on loopback that shows the site."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def list_addresses(site: Path) -> list[str]:
    """Return the addresses of all pages, relative to the site's address."""
    pages = (page.parent.relative_to(site).as_posix() for page in site.rglob("index.html"))
    return ["" if page == "." else f"{page}/" for page in sorted(pages)]


@pytest.mark.more
def test_the_site_has_every_page(site: Path) -> None:
    site_addresses = list_addresses(site)
    for page in PAGES:
        path = page.relative_to(DOCS).with_suffix("").as_posix()
        name = "" if path == "index" else f"{path.removesuffix('/index')}/"
        assert name in site_addresses, path


@pytest.mark.more
def test_every_page_fits_a_telephone_and_asks_no_other_host(
    site: Path, address: str, browser: Browser
) -> None:
    with browser.open(address, size=(390, 800), ready=False) as page:
        for page_address in sample_cases(list_addresses(site), step=6):
            page.load(address + page_address)
            page.wait_for("document.querySelector('article')")
            width = page.evaluate("document.scrollingElement.scrollWidth")
            assert width <= 390, f"{page_address} is {width} pixels wide"
        assert [url for url in page.requests if not url.startswith((address, "blob:"))] == []
        assert page.messages == []


# Of the theme: each code block has a landmark without a name, and its code scrolls without a
# place in the order of the Tab key; Chromium and Firefox give it one.
THEME_RULES = ("landmark-unique", "scrollable-region-focusable")


@pytest.mark.more
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(address: str, browser: Browser, scheme: str) -> None:
    """On a page of each kind."""
    pages = ["", "start/quickstart/", "background/comparing/", "reference/measures/gain/"]
    pages += ["reference/api/evaluate/", "reference/command-line/compare/"]
    for page_address in sample_cases(pages, step=3):
        with browser.open(address + page_address, scheme=scheme, ready=False) as page:
            page.wait_for("document.querySelector('article')")
            assert find_faults(page, skipped_rules=THEME_RULES) == [], page_address


@pytest.mark.more
def test_the_search_finds_a_measure(address: str, browser: Browser) -> None:
    with browser.open(address, ready=False) as page:
        page.wait_for("document.querySelector('.md-search__button')")
        page.click(".md-search__button")
        page.settle()
        page.type("reciprocal rank")
        search_root = (
            "[...document.querySelectorAll('div')].find((it) => it.shadowRoot)?.shadowRoot"
        )
        page.wait_for(f"{search_root}?.querySelectorAll('a').length > 5")
        links = page.evaluate(
            f"[...{search_root}.querySelectorAll('a')].map((it) => it.href).join(' ')"
        )
        assert "average-precision" in links
        assert page.messages == []
        assert [url for url in page.requests if not url.startswith((address, "blob:"))] == []


@pytest.mark.more
def test_it_is_dark_where_the_system_is(address: str, browser: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    for scheme, is_dark in (("light", False), ("dark", True)):
        with browser.open(address, ready=False, scheme=scheme) as page:
            page.wait_for("document.body.dataset.mdColorScheme")
            levels = [int(level) for level in re.findall(r"\d+", page.evaluate(ground))[:3]]
            assert (sum(levels) < 3 * 128) == is_dark, levels
