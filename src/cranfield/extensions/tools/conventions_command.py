"""`cranfield conventions [QRELS RUN | FILE | NAME]`."""

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, is_file
from cranfield.cli.terminal import Format, format_option, show
from cranfield.errors import OptionError
from cranfield.extensions.tools.conventions import CONVENTIONS, find_convention
from cranfield.extensions.tools.rule import Convention, Conventions
from cranfield.extensions.tools.side_by_side import conventions

_DEFAULT = "nDCG@10"


@flags.command("conventions")
def command(
    paths: tuple[str, ...] = flags.argument(nargs=-1, metavar="[QRELS RUN | FILE | NAME]"),
    names: tuple[str, ...] = flags.measure_option("What to compute", _DEFAULT),
    value: str | None = flags.option(
        metavar="NUMBER",
        help="A number that some tool gave: which conventions give it, to its digits?",
    ),
    rel: float | None = flags.rel_option(),
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Compute a number as other tools do, side by side.

    Why does another tool say 0.82? Each row is a tool's convention: the value, in which choices it
    differs from the default, and which of these, alone, moves it most. Without files, the
    conventions that there are; with the name of one, what it chooses. `evaluate --convention NAME`
    follows one.

    \b
    cranfield conventions demo/qrels.txt demo/bm25.run -m nDCG@10
    cranfield conventions demo/qrels.txt demo/bm25.run -m nDCG@10 --value 0.45
    cranfield conventions demo/rag.json -m AP@5
    cranfield conventions
    cranfield conventions beir
    """  # noqa: D301 - click's mark for lines to keep
    if not any(map(is_file, paths)) and len(paths) < 2:
        flags.refuse_options({"value", "names", "rel"}, "has no effect without files")
        convention_list = (
            [*CONVENTIONS.values()] if not paths else [_find_named_convention(paths[0])]
        )
        show(Conventions(convention_list), form)
        return
    measures = flags.parse_measures(names, _DEFAULT, rel)
    if len(measures) > 1:
        raise click.UsageError(f"One measure is compared at a time: -m {measures[0]}, say.")
    if data.holds_both_sides(list(paths)):
        judgments, runs = data.read_both_sides(list(dict.fromkeys(paths)), "refuse")
    elif len(paths) == 1:
        raise data.lone_file_error(paths[0], "the conventions are compared on judgments and a run")
    else:
        judgments, runs = data.read_qrels(paths[0]), data.read_runs(paths[1:])
    if len(runs) > 1:
        raise click.UsageError(f"{len(runs)} runs: the conventions are compared on one.")
    show(conventions(judgments, runs[0], measures[0], value=value), form)


def _find_named_convention(name: str) -> Convention:
    try:
        return find_convention(name)
    except OptionError as error:
        raise OptionError(f"{name:.80}: no such file, and no convention. {error}") from None
