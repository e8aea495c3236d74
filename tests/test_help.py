"""What `--help` shows: options by groups, and nothing wider than a terminal of 80 columns."""

import re

import click
import pytest
from helpers.commands import invoke

from cranfield.cli import _COMMANDS
from cranfield.cli.figure import command as figure

GROUPS = ["Options", "Reading files", "Ranking", "Statistics", "Output"]
PAGES = [[], *([name] for name in _COMMANDS)]
PAGES += [["figure", part] for part in figure.commands]


@pytest.mark.parametrize("names", PAGES, ids=" ".join)
def test_no_line_is_wider_than_80_columns(names: list[str]) -> None:
    shown = invoke(*names, "--help")
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_the_pictures_are_listed_with_their_whole_sentences() -> None:
    shown = invoke("figure", "--help").stdout.partition("Commands:")[2]
    assert "precision-recall" in shown
    assert not re.search(r"\.\.\.$", shown, re.M)


@pytest.mark.parametrize("name", ["evaluate", "compare", "gate", "correlate"])
def test_options_are_listed_in_groups(name: str) -> None:
    shown = invoke(name, "--help").stdout
    found = re.findall(r"^(\w[\w ]*):$", shown, re.M)
    expected = [one for one in GROUPS if one != "Statistics" or name != "evaluate"]
    assert found == expected
    section = dict(zip(found, re.split(r"^\w[\w ]*:$", shown, flags=re.M)[1:], strict=True))
    assert "--measure" in section["Options"]
    assert "--run-columns" in section["Reading files"]
    assert "--ties" in section["Ranking"]
    assert "--format" in section["Output"]
    if "Statistics" in section:
        assert "--seed" in section["Statistics"]


def test_every_option_of_a_command_is_listed_once() -> None:
    for name in _COMMANDS:
        shown = invoke(name, "--help").stdout
        command = __import__(
            f"cranfield.cli.{name.replace('-', '_')}", fromlist=["command"]
        ).command
        for one in command.params:
            if isinstance(one, click.Option) and not one.hidden:
                assert len(re.findall(rf"^  .*?{one.opts[0]}(?![-\w])", shown, re.M)) >= 1, one.name


def test_help_and_version_are_understood_as_commands() -> None:
    assert invoke("help").stdout == invoke("--help").stdout
    assert invoke("help", "gate").stdout == invoke("gate", "--help").stdout
    assert invoke("version").stdout == invoke("-V").stdout == invoke("--version").stdout
    assert invoke("help", "gat").exit_code == 2


def test_the_choices_of_formats_are_in_the_sentence() -> None:
    shown = " ".join(invoke("evaluate", "--help").stdout.split())
    assert "--qrels-format NAME" in shown
    assert "One of trec, msmarco," in shown
    done = invoke("evaluate", "a", "b", "--qrels-format", "no")
    assert done.exit_code == 2
    assert "'msmarco'" in done.output
