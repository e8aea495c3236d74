"""The reference says each shared option once, and each page names all of its own."""

import re
from collections import Counter

import click
import pytest
from helpers.folders import DOCS

from cranfield import compare, evaluate, gate
from cranfield.cli import COMMANDS, load_command
from cranfield.cli.flags import GROUPS

REFERENCE = DOCS / "reference"
PAGE_OF_COMMAND = {
    name: (REFERENCE / "command-line" / f"{name}.md").read_text("utf-8") for name in COMMANDS
}
OPTIONS = (REFERENCE / "command-line" / "options.md").read_text("utf-8")
SHARED = {
    heading: set(re.findall(r"^- `.*?(--[\w-]+)", section, re.M))
    for heading, section in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", OPTIONS, re.M)
}


def find_linked_names(page: str) -> set[str]:
    """Return the names of shared options that a page links: of each group some, or the others."""
    names: set[str] = set()
    for heading, text in re.findall(r"^- \[(.*?)\]\(options.md#.*?\): (.*)$", page, re.M):
        group_names = set(re.findall(r"`(--[\w-]+)`", text))
        names |= SHARED[heading] - group_names if text.startswith("all") else group_names
    return names


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_describes_or_links_every_option_of_its_command(name: str) -> None:
    command, page = load_command(name), PAGE_OF_COMMAND[name]
    commands = [command, *getattr(command, "commands", {}).values()]
    spellings = {
        max(parameter.opts, key=lambda spelling: (spelling.startswith("--"), -len(spelling)))
        for command in commands
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    }
    linked_names = find_linked_names(page)
    assert linked_names <= {
        spelling for command in commands for p in command.params for spelling in p.opts
    }
    for spelling in spellings - linked_names:
        assert re.search(rf"(?<![-\w]){spelling}(?![-\w])", page), spelling


def test_the_groups_of_shared_options_stand_in_the_order_of_help() -> None:
    headings = [heading for heading in SHARED if heading in GROUPS]
    assert headings == [group for group in GROUPS if group in SHARED]
    assert [*SHARED][-1] == GROUPS[-1]


def test_no_option_of_a_group_is_described_on_two_pages() -> None:
    sentences = re.findall(r"^- `(.*?)`: (.*)$", OPTIONS, re.M)
    assert len(sentences) == len({*sentences}) >= 50
    for names, text in sentences:
        first_words = " ".join(text.split()[:15]).replace("\\", "")
        long_name = re.findall(r"--[\w-]+", names)[0]
        pattern = rf"{long_name}\b.{{0,60}}?\s{re.escape(first_words)}".replace(r"\ ", r"\s+")
        pages = [name for name, page in PAGE_OF_COMMAND.items() if re.search(pattern, page)]
        assert len(pages) <= 1, (names, pages)


@pytest.mark.parametrize(
    "function", [compare, evaluate, gate], ids=lambda function: function.__name__
)
def test_a_functions_options_are_all_named_and_each_described_once(function: object) -> None:
    name = str(getattr(function, "__name__", ""))
    page = (REFERENCE / "api" / f"{name}.md").read_text("utf-8")
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    options = (REFERENCE / "api" / "options.md").read_text("utf-8")
    families = {
        heading: set(re.findall(r"^- `(\w+)`", text, re.M))
        for heading, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", options, re.M)
    }
    parameters = function.__signature__.parameters  # type: ignore[attr-defined]
    counts = Counter(re.findall(r"^- `(\w+)`", section, re.M))
    for heading, text in re.findall(r"^- \[(\w+)\]\(options.md#\w+\): (.*)$", section, re.M):
        names = re.findall(r"`(\w+)`", text)
        assert set(names) <= families[heading]
        counts.update(names)
    assert {key for key in counts if key in parameters} == set(parameters)
    assert set(counts.values()) == {1}
    assert all(f"{key}:" in str(function.__doc__) for key in parameters)  # `help` has all
