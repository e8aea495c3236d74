"""What the commands share: printing that no id can break, tables that fit, progress."""

import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, get_args

import click

from cranfield.errors import OptionError, printable
from cranfield.notes import Note, gravest_first
from cranfield.render import Formulas, Table, delimited, text, to_html, to_latex, to_markdown

if TYPE_CHECKING:
    from rich.progress import Progress


def is_terminal() -> bool:
    """Tell whether the standard output is a terminal."""
    return sys.stdout.isatty()


def say(content: str) -> None:
    """Print text for machines. On a terminal, what could command it is escaped."""
    if is_terminal():
        content = re.sub(r"[^\n\t]+", lambda found: printable(found[0]), content)
    click.echo(content, nl=False, color=True)  # or echo would take escape sequences out of ids


def show(table: Table) -> None:
    """Print a table for people."""
    width = None
    if is_terminal():
        width = os.get_terminal_size(sys.stdout.fileno()).columns or None  # 0: it does not say
    content = text(table, width=width, color=is_terminal())
    if "utf" not in (sys.stdout.encoding or "").lower():
        content = content.replace("\N{BOX DRAWINGS LIGHT HORIZONTAL}", "-")
    click.echo(content, nl=False)


DELIMITERS = {"csv": ",", "tsv": "\t"}
PAGES = {"markdown": to_markdown, "latex": to_latex, "html": to_html}


def show_tables(tables: Sequence[Table], form: str) -> None:
    """Print tables for people, or as pages: markdown, latex, html."""
    for number, table in enumerate(tables):
        if number:
            click.echo()
        if form in PAGES:
            say(PAGES[form](table))
        else:
            show(table)


def note(content: str) -> None:
    """Say beside the output what one should know of it."""
    with contextlib.suppress(OSError):  # what was asked for has been printed
        click.echo(f"note: {printable(content)}", err=True)


def say_notes(notes: Iterable[Note]) -> None:
    """Say beside the output what one should know of it, the gravest first."""
    for one in gravest_first(notes):
        with contextlib.suppress(OSError):
            text = str(replace(one, severity="info"))
            kind = one.severity if one.is_grave else "note"
            click.echo(f"{kind}: {printable(text)}", err=True)


def refuse(error: click.ClickException) -> None:
    """Say what is refused, if that can be said: the exit status says so in any case."""
    with contextlib.suppress(OSError):
        error.show()


def as_json(content: Any, indent: int | None = None) -> str:
    """Return content as JSON; an id of bytes that are no UTF-8 is escaped."""
    import json

    shown = json.dumps(content, ensure_ascii=False, indent=indent)
    try:
        shown.encode()
    except UnicodeEncodeError:
        return json.dumps(content, indent=indent)
    return shown


@dataclass(frozen=True)
class Format:
    """How a result is to be printed."""

    name: str
    formulas: Formulas

    def separated(self, rows: Iterable[Sequence[object]]) -> str:
        """Return rows for programs, of csv or tsv."""
        return delimited(rows, DELIMITERS[self.name], self.formulas)


def format_options(
    names: Sequence[str], default: str | None, text: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--format` and `--formulas`, as one argument `form`.

    Without a default, it is a table on a terminal, else tsv.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_format(
            *args: Any, form: str | None, formulas: Formulas | None, **rest: Any
        ) -> None:
            name = form or ("table" if is_terminal() else "tsv")
            if formulas is not None and name not in DELIMITERS:
                raise OptionError(f"--formulas is for --format csv and tsv: this prints {name}")
            command(*args, form=Format(name, formulas or "plain"), **rest)

        with_formulas = click.option(
            "--formulas",
            type=click.Choice(get_args(Formulas)),
            help="In csv and tsv, cells that a spreadsheet may take for a formula, as an id =1+1: "
            "plain, as they are; or quoted, with an apostrophe before them.  [default: plain]",
        )
        with_name = click.option(
            "--format",
            "form",
            type=click.Choice(names),
            default=default,
            show_default=default is not None,
            help=text if default else f"{text}  [default: table on a terminal, else tsv]",
        )
        return with_name(with_formulas(with_format))

    return decorated


class Reading:
    """Shows how far a long reading is, on a terminal, after the first second."""

    def __init__(self, total: int | None, what: str = "reading runs") -> None:
        self._total = total
        self._what = what
        self._done = 0
        self._since = monotonic()
        self._bar: Progress | None = None

    def __call__(self, n_bytes: int) -> None:
        """Hear that some more bytes were read."""
        self._done += n_bytes
        if self._bar is None and sys.stderr.isatty() and monotonic() - self._since > 1:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

            self._bar = Progress(
                self._what,
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("reading", total=self._total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
