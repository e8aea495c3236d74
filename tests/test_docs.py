"""What the documents show is what happens."""

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import make_docs
import pytest
from test_cli import on_terminal, plain

import cranfield

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


SHARED = ("dl19/", "microblog2014/")  # folders of the shared data


def transcripts(page: Path) -> list[tuple[str, str]]:
    """Return (command, output) of every `$ cranfield ...` in a console block."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.S):
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def prints_what_is_shown(page: Path, folder: Path, *, shared: bool) -> int:
    """Run a page's commands in a folder: those on the shared data, or all others. Count them."""
    found = 0
    for command, output in transcripts(page):
        words = shlex.split(command)
        assert words[0] == "cranfield", f"{page.name}: {command} would not be tested"
        if any(word.startswith(SHARED) for word in words) != shared:
            continue
        arguments = [
            str(path.relative_to(folder)) if "*" in word else word
            for word in words[1:]
            for path in (sorted(folder.glob(word)) if "*" in word else [Path()])
        ]
        _, seen = on_terminal(*arguments, columns=100, cwd=folder)
        assert plain(seen).rstrip() == output.rstrip(), f"{page.name}: {command}"
        found += 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_prints_what_is_shown(page: Path, demo_folder: Path) -> None:
    prints_what_is_shown(page, demo_folder, shared=False)


def test_the_commands_on_shared_data_print_what_is_shown(data: Path) -> None:
    counts = {page.name: prints_what_is_shown(page, data, shared=True) for page in PAGES}
    assert {name: n for name, n in counts.items() if n} == {"comparing.md": 2, "examples.md": 2}


MODULES = [
    module.name
    for module in pkgutil.walk_packages(cranfield.__path__, "cranfield.")
    if not module.name.endswith("__main__")
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
    if not name.endswith(("Error", "__")) and not hasattr(getattr(cranfield, name), "__metadata__")
]  # annotations have no description of their own


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(cranfield, name).__doc__ or "")


def test_the_readme_shows_commands() -> None:
    assert len(transcripts(ROOT / "README.md")) >= 3


def test_the_two_commands_that_set_everything_up_stand_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^pip install .*$", text, re.M) == [
        "pip install . && cranfield demo",
        "pip install '.[test]' && pytest -n auto",
    ]


def test_generated_pages_are_up_to_date() -> None:
    """If not: python scripts/make_docs.py."""
    for path, content in make_docs.pages().items():
        assert path.read_text("utf-8") == content, path.name


def test_links_within_the_repository_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_path_of_a_machine_stands_in_the_repository() -> None:
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        read = path.suffix in {".py", ".md", ".ipynb", ".toml", ".txt"}
        if read and not parts[0].startswith("."):
            assert "/ho" + "me/" not in path.read_text("utf-8", "replace"), path
