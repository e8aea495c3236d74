"""A command with a list of grades."""

from typing import Any

from click.testing import CliRunner

from cranfield.cli import cli


def invoke_evaluate(*arguments: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(cli, ["evaluate", *arguments], input=stdin)
