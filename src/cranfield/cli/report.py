"""What the commands that compare and explain share: their options."""

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any, get_args

import click
from click.core import ParameterSource

from cranfield.cli.data import DATA_NAMES, JUDGING_NAMES
from cranfield.cli.terminal import (
    format_options,
)
from cranfield.comparison import options
from cranfield.comparison.alignment import Missing, align
from cranfield.comparison.flips import FLIPS, SEED
from cranfield.errors import OptionError
from cranfield.formats.small.scores import Layout
from cranfield.formats.source import Source
from cranfield.measures import Measure, parse_all

_Option = Callable[[Any], Any]


def number_option(
    *names: str, check: Callable[..., float], bounds: dict[str, float], **more: Any
) -> _Option:
    """Return an option of a number, checked as the functions check it, under its own name."""

    def checked(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
        return None if value is None else check(option.opts[-1], value, **bounds)

    kind = int if check is options.whole else float
    return click.option(*names, type=kind, callback=checked, **more)


format_option = format_options()
seed_option = number_option(
    "--seed",
    check=options.whole,
    bounds={"least": 0},
    default=SEED,
    show_default=True,
    help="The same seed draws the same by chance.",
)
flips_option = number_option(
    "--flips",
    check=options.whole,
    bounds={"least": 1},
    default=FLIPS,
    show_default=True,
    help="How many flips of signs to draw; up to 20 queries, all are tried.",
)
missing_option = click.option(
    "--missing",
    type=click.Choice(get_args(Missing)),
    help="What to do with a query that a system has no score for: refuse it, count it as 0, "
    "or drop it for all.  [default: zero; with --saved error]",
)


def alpha_option(below: float = 0.5) -> _Option:
    """Return the option of the level of tests."""
    return number_option(
        "--alpha",
        check=options.share,
        bounds={"below": below},
        default=0.05,
        show_default=True,
        help=f"The level of the tests, above 0 and below {below:g}; intervals are 1 - alpha.",
    )


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
        check=options.whole,
        bounds={"least": 0},
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {what}.",
    )


def saved_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--saved` and `--layout`; it is to call `check_inputs`."""
    layout = click.option(
        "--layout",
        type=click.Choice(get_args(Layout)),
        default="measures",
        show_default=True,
        help="What the columns of a table of saved scores are.",
    )
    saved = click.option(
        "--saved",
        is_flag=True,
        help="The files are saved scores of every query, of any tool: no judgments, no runs.",
    )
    return saved(layout(command))


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


def saved_system(path: str, measures: Sequence[str] | None, layout: Layout) -> str:
    """Return the name of the one system that a file has saved scores of.

    It has this name among others, too, if the file is the first of them.
    """
    names = align([path], None, measures, missing="zero", layout=layout).names
    if len(names) > 1:
        raise OptionError(
            f"--baseline {path}: holds the scores of several systems; name the one that is meant: "
            f"{', '.join(names)}"
        )
    return names[0]
