"""What the documents show is what happens."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import make_docs
import pytest
from helpers.folders import ROOT
from helpers.terminal import run_on_terminal
from transcripts import find_commands, rewrite_page

import cranfield

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def _commands_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcripts.run_on_pty", run_on_terminal)


def run_commands_of_page(page: Path, folder: Path, *, shared: bool) -> int:
    """Run a page's commands in a folder: those on the shared data, or all others. Count them."""
    page_transcripts = [
        transcript
        for transcript in find_commands(page.read_text("utf-8"))
        if transcript.reads_shared_data == shared
    ]
    for transcript in page_transcripts:
        assert transcript.run(folder) == transcript.output.rstrip(), (
            f"{page.name}: {transcript.command}"
        )
    return len(page_transcripts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_prints_what_is_shown(page: Path, demo_folder: Path) -> None:
    run_commands_of_page(page, demo_folder, shared=False)


def test_the_commands_on_shared_data_print_what_is_shown(data: Path) -> None:
    counts = {page.name: run_commands_of_page(page, data, shared=True) for page in PAGES}
    assert {name: n for name, n in counts.items() if n} == {
        "comparing.md": 1,
        "examples-conventions.md": 1,
    }


MODULES = [
    module.name
    for module in pkgutil.walk_packages(cranfield.__path__, "cranfield.")
    if not module.name.endswith("__main__")
    and "adapters." not in module.name  # of packages: see test_adapters.py
]


@pytest.mark.parametrize("name", ["cranfield", *MODULES])
def test_the_examples_of_the_code_run(
    name: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


PUBLIC = [
    name
    for name in cranfield.__all__
    if not name.endswith(("Error", "__"))
    and not isinstance(getattr(cranfield, name), cranfield.Measure)  # which has a page
    and not hasattr(getattr(cranfield, name), "__metadata__")
]  # annotations have no description of their own


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(cranfield, name).__doc__ or "")


def test_the_readme_shows_commands() -> None:
    assert len(find_commands((ROOT / "README.md").read_text("utf-8"))) >= 2


def test_what_commands_print_can_be_written_anew(demo_folder: Path) -> None:
    page = "A page.\n\n```console\n$ cranfield evaluate demo/qrels.txt demo/bm25.run -m AP\n{}```\n"
    page_with_output = rewrite_page(page.format("old\n"), demo_folder, None)
    assert "old" not in page_with_output
    assert "0.3388" in page_with_output
    assert rewrite_page(page_with_output, demo_folder, None) == page_with_output
    shortened_page = rewrite_page(page.format("old\nold\n...\n"), demo_folder, None)
    assert shortened_page == page.format("\n".join([*page_with_output.split("\n")[4:6], "...", ""]))
    first_line, line, last_line = (
        page_with_output.split("\n")[4:6] + page_with_output.split("\n")[-3:-2]
    )
    abridged_page = page.format("\n".join([first_line, "...", line, "...", last_line, ""]))
    assert rewrite_page(abridged_page, demo_folder, None) == abridged_page
    assert (
        rewrite_page(abridged_page.replace(line, "not printed"), demo_folder, None) != abridged_page
    )
    assert "not printed" not in rewrite_page(
        abridged_page.replace(line, "not printed"), demo_folder, None
    )
    page_on_shared_data = page.replace("demo/qrels", "dl19/qrels").format("kept\n")
    assert (
        rewrite_page(page_on_shared_data, demo_folder, None) == page_on_shared_data
    )  # there is no shared data to run it on


def test_the_two_commands_that_set_everything_up_stand_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^pip install .*$", text, re.M) == [
        "pip install . && cranfield demo",
        "pip install '.[test]' && pytest -n auto",
    ]


def test_generated_pages_are_up_to_date() -> None:
    """If not: python scripts/make_docs.py."""
    for path, content in make_docs.make_pages().items():
        assert path.read_text("utf-8") == content, path.name


def test_links_within_the_repository_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_path_of_a_machine_stands_in_the_repository() -> None:
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        is_read = path.suffix in {".py", ".md", ".ipynb", ".toml", ".txt"}
        if is_read and not parts[0].startswith("."):
            assert "/ho" + "me/" not in path.read_text("utf-8", "replace"), path
