"""The pages of the command line: one a command, and one of the options of several commands.

An option is shared if several commands have it in the same words: two, if it is in a group of
`--help` that is not a command's own; else five.
"""

import inspect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import click
from api_pages import escape_prose

from cranfield.cli import COMMANDS, cli, load_command
from cranfield.cli.flags import GROUPS, OWN_GROUPS

CONTEXT_OPTIONS: dict[str, Any] = {
    "terminal_width": 80,
    "max_content_width": 80,
    "help_option_names": ["-h", "--help"],
}
INTRODUCTION = """# Commands

`cranfield COMMAND --help` shows what these pages show, `-h` the usual options, `--help --ties` one
option in full. A command's files come first, the judgments before the runs; options may be
anywhere. [Options of several commands](options.md) have a page of their own.

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
OPTIONS_INTRODUCTION = """# Options of several commands

What files are, how rankings are made of them, and how results are computed and printed: these
options are the same in every command that has them.
"""


@dataclass(frozen=True)
class OptionHelp:
    """An option as help describes it: its names with the form of its value, and its sentences."""

    names: str
    sentences: str
    group: str = field(compare=False)

    @property
    def code(self) -> str:
        """Its long name, if it has one, as code."""
        long_names = [name for name in self.names.split(", ") if name.startswith("--")]
        return f"`{(long_names or [self.names])[0].split()[0]}`"

    @property
    def line(self) -> str:
        """A line of a list."""
        return f"- `{self.names}`: {escape_prose(self.sentences)}"


def make_command_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    top = click.Context(cli, info_name="cranfield", **CONTEXT_OPTIONS)
    context_of_name = {name: _open_context(name, load_command(name), top) for name in COMMANDS}
    kinds_of_name = {
        name: [
            _open_context(kind, command, context)
            for kind, command in getattr(context.command, "commands", {}).items()
        ]
        for name, context in context_of_name.items()
    }
    n_pages = Counter[OptionHelp]()
    for name, context in context_of_name.items():
        n_pages.update(dict.fromkeys(_describe_options(context, *kinds_of_name[name]), 1))
    shared = [
        option for option, n in n_pages.items() if n >= (5 if option.group in OWN_GROUPS else 2)
    ]
    pages = {
        f"{name}.md": _make_page(context, kinds_of_name[name], shared)
        for name, context in context_of_name.items()
    }
    rows = [f"| [{name}]({name}.md) | {line} |" for name, line in COMMANDS.items()]
    rows = ["| command | what it does |", "|---|---|", *rows]
    pages["index.md"] = INTRODUCTION + "\n".join(rows) + "\n" + COMPLETION
    pages["options.md"] = OPTIONS_INTRODUCTION + "".join(
        f"\n## {group}\n\n" + "".join(f"{option.line}\n" for option in options)
        for group, options in _group_options(shared).items()
    )
    names = ["index", "options", *context_of_name]
    pages[".nav.yml"] = "nav:\n" + "".join(f"  - {name}.md\n" for name in names)
    return pages


def _open_context(name: str, command: click.Command, parent: click.Context) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, **CONTEXT_OPTIONS)


def _describe_options(*contexts: click.Context) -> list[OptionHelp]:
    """Return the options of commands, each once, without -h, which the index names."""
    return [
        *dict.fromkeys(
            OptionHelp(*record, getattr(parameter, "group", GROUPS[0]))
            for context in contexts
            for parameter in context.command.params
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(context))
        )
    ]


def _group_options(options: Iterable[OptionHelp]) -> dict[str, list[OptionHelp]]:
    """Return {group: its options}, the groups in the order of help."""
    options_of_group: dict[str, list[OptionHelp]] = {}
    for option in options:
        options_of_group.setdefault(option.group, []).append(option)
    extension_groups = sorted(options_of_group.keys() - {*GROUPS})
    order = [*GROUPS[:-1], *extension_groups, GROUPS[-1]]
    return {group: options_of_group[group] for group in order if group in options_of_group}


def _make_page(context: click.Context, kinds: list[click.Context], shared: list[OptionHelp]) -> str:
    """Return the page of a command: its own options, and links to those of several commands."""
    own_options = [option for option in _describe_options(context) if option not in shared]
    parts = [f"# {context.command_path}", _write_help(context, own_options)]
    options = _describe_options(context, *kinds)
    if kinds:
        parts += [_make_table(kinds, shared), "## Options of its kinds"]
        parts.append("\n".join(option.line for option in options if option not in shared))
    links = [
        _link_group(group, group_options, options)
        for group, group_options in _group_options(shared).items()
        if not set(options).isdisjoint(group_options)
    ]
    if links:
        parts += ["## Shared options" if kinds else "Shared options:", "\n".join(links)]
    for kind in kinds:
        parts.append(f"## {kind.info_name}")
        for paragraph in inspect.cleandoc(kind.command.help or "").split("\n\n")[1:]:
            is_example = paragraph.startswith("\b\n")
            example = f"```text\n{paragraph[2:]}\n```"
            parts.append(example if is_example else escape_prose(paragraph))
    return "\n\n".join(parts) + "\n"


def _write_help(context: click.Context, options: list[OptionHelp]) -> str:
    """Return a block of the usage, the description and some options, group after group."""
    formatter = context.make_formatter()
    context.command.format_usage(context, formatter)
    context.command.format_help_text(context, formatter)
    for group, group_options in _group_options(options).items():
        with formatter.section(group):
            formatter.write_dl([(option.names, option.sentences) for option in group_options])
    return f"```text\n{formatter.getvalue().rstrip()}\n```"


def _link_group(group: str, group_options: list[OptionHelp], options: list[OptionHelp]) -> str:
    """Return a link to a group, with the names of its options among `options`, or of the others."""
    link = f"- [{group}](options.md#{group.lower().replace(' ', '-')}): "
    names = [option.code for option in group_options if option in options]
    other_names = [option.code for option in group_options if option not in options]
    if len(names) <= len(other_names):
        return link + ", ".join(names)
    return f"{link}all" + (f" but {', '.join(other_names)}" if other_names else "")


def _make_table(kinds: list[click.Context], shared: list[OptionHelp]) -> str:
    """Return a table of the kinds of a command, with the options that only few of them have."""
    n_kinds = Counter(option for kind in kinds for option in _describe_options(kind))
    rows = ["| kind | what it does | its own options |", "|---|---|---|"]
    for kind in kinds:
        own_options = [
            option.code
            for option in _describe_options(kind)
            if option not in shared and n_kinds[option] < len(kinds) / 2
        ]
        purpose = kind.command.get_short_help_str(100)
        name = kind.info_name
        rows.append(f"| [{name}](#{name}) | {purpose} | {', '.join(own_options) or '-'} |")
    return "\n".join(rows)
