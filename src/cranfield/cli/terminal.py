"""Terminal: how all commands print results and notes, and write files; no id can break it."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import click

from cranfield.cli import flags
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.formats.source import Source, open_to_write
from cranfield.formats.url import local_path, real_path
from cranfield.notes import Note, sort_by_severity
from cranfield.render.plain import fold_line
from cranfield.render.shown import FORMS, ROW_FORMS, Shown
from cranfield.render.table import Formulas


def is_terminal() -> bool:
    """Tell whether the standard output is a terminal."""
    return sys.stdout.isatty()


def print_text(text: str) -> None:
    """Print text for machines. On a terminal, control characters are escaped."""
    if is_terminal():
        text = re.sub(r"[^\n\t]+", lambda match: escape_unprintable(match[0]), text)
    click.echo(text, nl=False, color=True)  # or echo would take escape sequences out of ids


def show(
    result: Shown,
    form: "Format",
    *,
    of_tables: Mapping[str, Any] | None = None,
    query_texts: str | None = None,
    doc_texts: Sequence[str] = (),
    **arguments: Any,
) -> None:
    """Print a result, and write it to the files that were asked for.

    `arguments` go to its tables and its rows, `of_tables` to the tables alone; `query_texts` and
    `doc_texts` are files of texts to show beside ids. If a file cannot be written, the others are,
    and the result is printed, before InputError is raised.
    """
    errors = []
    if query_texts or doc_texts:
        from cranfield.captions import with_texts

        if "-" in (query_texts, *doc_texts) and _argument_values().count("-") > 1:
            raise InputError("the standard input, `-`, can be read only once")
        result = with_texts(
            result, query_texts=query_texts, doc_texts=doc_texts or None, **arguments
        )
    for path in form.outputs:
        form_text = result.in_form(
            form_of(path, result.forms), form.formulas, of_tables, **arguments
        )
        try:
            with open_to_write(path) as stream:
                stream.write(form_text.encode("utf-8", "surrogateescape"))
        except InputError as error:
            errors.append(error)
    if form.name == "table":
        width = _width_of(sys.stdout)
        table_text = result.to_text(width, color=is_terminal(), **arguments, **(of_tables or {}))
        if "utf" not in (sys.stdout.encoding or "").lower():
            table_text = table_text.replace("\N{BOX DRAWINGS LIGHT HORIZONTAL}", "-")
        click.echo(table_text, nl=False)
    else:
        print_text(result.in_form(form.name, form.formulas, of_tables, **arguments))
    if form.name in ROW_FORMS:
        print_notes(result.notes)
    if errors:
        raise errors[0]


def _width_of(stream: Any) -> int | None:
    """Return the number of characters of a terminal's line; None if a stream has no such number."""
    return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None


def echo(text: str, *, err: bool = False) -> None:
    """Print lines to the standard output, or error, folded at blanks if it is a terminal."""
    width = _width_of(sys.stderr if err else sys.stdout)
    lines = [
        folded_line for line in text.split("\n") for folded_line in fold_line(line, width, "  ")
    ]
    click.echo("\n".join(lines), err=err, nl=False)


def print_note(text: str, kind: str = "note") -> None:
    """Print a note on the standard error."""
    with contextlib.suppress(OSError):  # the result has been printed already
        echo(f"{kind}: {escape_unprintable(text)}\n", err=True)


def print_notes(notes: Iterable[Note]) -> None:
    """Print the notes on the output, the gravest first, on the standard error."""
    for note in sort_by_severity(notes):
        print_note(str(replace(note, severity="info")), note.severity if note.is_grave else "note")


def print_refusal(error: click.ClickException) -> None:
    """Print the error that ends the command, if possible; the exit status says it in any case."""
    page = io.StringIO()
    error.show(page)
    with contextlib.suppress(OSError):
        echo(page.getvalue(), err=True)


@dataclass(frozen=True)
class Format:
    """How a result is printed, and the files that it is also written to."""

    name: str = "table"
    formulas: Formulas = "plain"
    outputs: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """The forms in which the result is printed or written, among those of every result."""
        return {self.name, *(form_of(path, FORMS) for path in self.outputs)}


def form_of(path: str, forms: Mapping[str, str]) -> str:
    """Return the form that the suffix of a file's name asks for; OptionError if there is none."""
    root, suffix = Source(path).name_parts
    name = f"{root}{suffix}".lower()
    for form, suffix_of_form in sorted(forms.items(), key=lambda form: -len(form[1])):
        # Of .label-studio.json and .json, the longer one.
        if name.endswith(suffix_of_form) and name != suffix_of_form:
            return form
    raise OptionError(
        f"-o {escape_unprintable(path)}: the suffix says how a result is written; choose one of "
        f"{', '.join(forms.values())}"
    )


def _argument_values() -> list[Any]:
    """Return the values of all arguments of the command, except the files to write."""
    arguments = {**click.get_current_context().params, "outputs": (), "output": ()}.values()
    return [
        single_argument
        for argument in arguments
        for single_argument in (argument if isinstance(argument, tuple) else [argument])
    ]


def refuse_outputs(outputs: Sequence[str]) -> None:
    """Raise OptionError for a file that the command reads, too, or whose folder does not exist."""
    inputs = {real_path(argument) for argument in _argument_values() if isinstance(argument, str)}
    for path in outputs:
        if real_path(path) in inputs and os.path.exists(real_path(path)):
            raise OptionError(
                f"-o {escape_unprintable(path)}: is read by this command; name another file"
            )
        folder = os.path.dirname(local_path(path))
        if folder and not os.path.isdir(folder):  # refused before data is read and scored
            raise OptionError(
                f"-o {escape_unprintable(path)}: there is no folder {escape_unprintable(folder)}"
            )


def format_options(forms: Mapping[str, str] = FORMS, forms_of_files: Mapping[str, str] = {}) -> Any:
    """Declare `--format`, `--formulas` and `-o` as one parameter, a Format among `forms`.

    `forms_of_files` are forms of -o alone.
    """
    all_forms = {**forms, **forms_of_files}

    def check_paths(
        _: click.Context, __: click.Parameter, paths: tuple[str, ...]
    ) -> tuple[str, ...]:
        for path in paths:
            form_of(path, all_forms)  # raises OptionError before data is read
        return paths

    def make_format(form: str, formulas: Formulas | None, outputs: tuple[str, ...]) -> Format:
        if formulas is not None and not {"csv", "tsv"} & {
            form,
            *(form_of(path, forms) for path in outputs),
        }:
            raise OptionError(f"--formulas is for --format csv and tsv: this prints {form}")
        refuse_outputs(outputs)
        return Format(form, formulas or "plain", outputs)

    options = {
        "form": flags.option(
            "--format",
            group="Output",
            type=click.Choice(list(forms)),
            default="table",
            show_default=True,
            help="How to print. csv, tsv and jsonl are rows for programs, with notes on the "
            "standard error; json has everything.",
        ),
        "formulas": flags.option(
            group="Output",
            type=click.Choice(get_args(Formulas)),
            help="In csv and tsv, cells that look like formulas, =1+1. Plain, as they are; or "
            "quoted, with an apostrophe before them, for spreadsheets.  [default: plain]",
        ),
        "outputs": flags.option(
            "-o",
            "--output",
            group="Output",
            multiple=True,
            metavar="FILE",
            callback=check_paths,
            help="Write this file, too, by its suffix: "
            f"{', '.join(all_forms.values())}. May be repeated.",
        ),
    }
    return flags.combined_options(make_format, options)


format_option = format_options()


query_texts_option = flags.option(
    "--topics",
    "--query-texts",
    metavar="FILE",
    help="Show what the queries ask beside their ids. FILE has TREC topics, a table of ids and "
    "texts, or JSON lines, as BEIR's queries.jsonl.",
)
doc_texts_option = flags.option(
    "--doc-texts",
    multiple=True,
    metavar="FILE",
    help="Show titles, or texts, of documents beside their ids. FILE has a table of ids and texts, "
    "as a run with titles, or JSON lines, as BEIR's corpus.jsonl. May be repeated.",
)
