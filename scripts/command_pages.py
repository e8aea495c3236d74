"""The pages of the command line: one a command, made from its help."""

from typing import Any

import click

from cranfield.cli import COMMANDS, cli, load_command

CONTEXT_OPTIONS: dict[str, Any] = {
    "terminal_width": 80,
    "max_content_width": 80,
    "help_option_names": ["-h", "--help"],
}
INTRODUCTION = """# Commands

`cranfield COMMAND --help` shows what these pages show, `-h` the usual options. A command's files
come first, the judgments before the runs; options may be anywhere. The pages are made from the
commands' help by `scripts/make_docs.py`.

"""
COMPLETION = """
## Completion

A shell can complete commands, options, choices, files and names of measures with the tab key. Put
a line into its start file:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_CRANFIELD_COMPLETE=bash_source cranfield)"` |
| zsh | `~/.zshrc` | `eval "$(_CRANFIELD_COMPLETE=zsh_source cranfield)"` |
| fish | `~/.config/fish/config.fish` | `_CRANFIELD_COMPLETE=fish_source cranfield \\| source` |

## Exit status

0: done, or passed. 1: `gate` failed, or `check` found an error. 2: a file or an option is wrong;
the message says which. 3: `gate` is undecided. `cranfield trec-eval` has
[those of trec_eval](../../how-to/trec-eval.md).
"""


def make_command_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    top = click.Context(cli, info_name="cranfield", **CONTEXT_OPTIONS)
    rows = ["| command | what it does |", "|---|---|"]
    pages = {}
    for name in cli.list_commands(top):
        command = load_command(name)
        rows.append(f"| [{name}]({name}.md) | {COMMANDS[name]} |")
        pages[f"{name}.md"] = _make_page(name, command, top)
    pages["index.md"] = INTRODUCTION + "\n".join(rows) + "\n" + COMPLETION
    return pages


def _make_page(name: str, command: click.Command, top: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=top, **CONTEXT_OPTIONS)
    parts = [f"# cranfield {name}\n\n```text\n{command.get_help(context)}\n```\n"]
    for subcommand_name, subcommand in getattr(command, "commands", {}).items():
        help_text = subcommand.get_help(
            click.Context(subcommand, info_name=subcommand_name, parent=context, **CONTEXT_OPTIONS)
        )
        parts.append(f"## cranfield {name} {subcommand_name}\n\n```text\n{help_text}\n```\n")
    return "\n".join(parts)
