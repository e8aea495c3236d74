"""What the commands that compare and explain share: their options."""

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from cranfield.cli.data import DATA_NAMES, JUDGING_NAMES
from cranfield.cli.flags import family_options, number_option
from cranfield.cli.terminal import (
    format_options,
)
from cranfield.comparison.alignment import align
from cranfield.comparison.settings import Alignment
from cranfield.errors import OptionError
from cranfield.formats.source import Source
from cranfield.measures import Measure, parse_all
from cranfield.options import whole

_Option = Callable[[Any], Any]


format_option = format_options()


def measure_option(what: str, default: str) -> _Option:
    """Return the option that names measures."""
    return click.option(
        "-m",
        "--measure",
        "names",
        multiple=True,
        metavar="MEASURE",
        help=f"{what}, as in -m nDCG@10 -m AP. May be repeated.  [default: {default}]",
    )


def rel_option(what: str = "for measures that state none", default: int | None = None) -> _Option:
    """Return the option that says from which grade a document is relevant."""
    return number_option(
        "-l",
        "--rel",
        kind=int,
        check=whole(0),
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {what}.",
    )


def saved_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--saved` and the options of `Alignment`; it is to call `check_inputs`."""
    saved = click.option(
        "--saved",
        is_flag=True,
        help="The files are saved scores of every query, of any tool: no judgments, no runs.",
    )
    return saved(family_options(Alignment, "alignment")(command))


_NOT_OF_SAVED = DATA_NAMES | JUDGING_NAMES | {"rel", "bounds", "others"}


def check_inputs(saved: bool, runs: Sequence[str]) -> None:
    """Raise OptionError for an option without effect: of runs with saved scores, or the reverse."""
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if saved and name in _NOT_OF_SAVED:
            raise OptionError(
                f"{option.opts[-1]} says how judgments and runs are taken; saved scores are as "
                "they are"
            )
        if not saved and name == "layout":
            raise OptionError("--layout applies to saved scores only: add --saved")
    if not saved and not runs:
        raise click.UsageError("Missing argument 'RUN...'; for saved scores, say --saved.")


def measures_of(names: Sequence[str], default: str, rel: int | None) -> list[Measure]:
    """Return the measures that were named with -m, or those of the default."""
    return [one for name in names or (default,) for one in parse_all(name, rel)]


def place_of(path: str, paths: Sequence[str]) -> int | None:
    """Return which of some files a path is, however it is written; None if it is none of them."""
    wanted = os.path.realpath(path)
    return next((i for i, one in enumerate(paths) if os.path.realpath(one) == wanted), None)


def is_file(path: str) -> bool:
    """Tell whether a text is something to read, rather than a name."""
    return path == "-" or os.path.exists(path) or Source(path).is_url or bool(glob.glob(path))


def saved_system(path: str, measures: Sequence[str] | None, alignment: Alignment) -> str:
    """Return the name of the one system that a file has saved scores of.

    It has this name among others, too, if the file is the first of them.
    """
    names = align([path], None, measures, replace(alignment, missing="zero")).names
    if len(names) > 1:
        raise OptionError(
            f"--baseline {path}: holds the scores of several systems; name the one that is meant: "
            f"{', '.join(names)}"
        )
    return names[0]
