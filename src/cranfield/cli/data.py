"""What the commands that read data share: the options that say what the files are."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from cranfield.cli.terminal import Reading
from cranfield.errors import InputError
from cranfield.formats import QRELS_FORMATS, RUN_FORMATS
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike
from cranfield.formats.source import Source
from cranfield.qrels import Qrels, read_qrels
from cranfield.runs import Run, read_run


def _columns(ctx: click.Context, option: click.Parameter, value: str | None) -> ColumnsLike | None:
    """Read `query_id=user,doc_id=2`."""
    if value is None:
        return None
    found: dict[str, str | int] = {}
    for part in value.split(","):
        role, equals, column = part.partition("=")
        if not equals or not role.strip() or not column.strip():
            raise click.BadParameter(
                f"{part!r}: expected NAME=COLUMN, as in query_id=user,doc_id=item,score=4", ctx
            )
        found[role.strip()] = (
            int(column) if re.fullmatch(r" *[0-9]{1,9} *", column) else column.strip()
        )
    return found


@dataclass(frozen=True)
class DataOptions:
    """What the files are, as far as it was said."""

    qrels_format: Any
    run_format: Any
    qrels_columns: ColumnsLike | None
    run_columns: ColumnsLike | None
    errors: Errors

    def read_qrels(self, path: str) -> Qrels:
        """Read judgments, showing how far that is."""
        with Reading(Source(path).size, "reading qrels") as progress:
            return read_qrels(
                path,
                self.qrels_format,
                columns=self.qrels_columns,
                errors=self.errors,
                progress=progress,
            )

    def read_runs(self, paths: Sequence[str]) -> list[Run]:
        """Open runs, each named by its file; by its whole path where two have one name."""
        runs = [
            read_run(path, format=self.run_format, columns=self.run_columns, errors=self.errors)
            for path in paths
        ]
        names = [run.name for run in runs]
        for run, path in zip(runs, paths, strict=True):
            if names.count(run.name) > 1:
                run.name = path
        return runs


_OPTIONS = (
    click.option(
        "--qrels-format",
        type=click.Choice(QRELS_FORMATS),
        help="What the judgments are, if that is not to be found out; subtopics (qrels_jg), "
        "qrels_prefs and prefs are judgments or preferences by groups (trec_eval -R).",
    ),
    click.option(
        "--run-format",
        type=click.Choice(RUN_FORMATS),
        help="What the runs are, if that is not to be found out.",
    ),
    click.option(
        "--qrels-columns",
        callback=_columns,
        metavar="NAME=COLUMN,...",
        help="Which column is which, by name or number, as in "
        "query_id=user,doc_id=item,relevance=3.",
    ),
    click.option(
        "--run-columns",
        callback=_columns,
        metavar="NAME=COLUMN,...",
        help="The same for runs, as in query_id=1,doc_id=3,score=4.",
    ),
    click.option(
        "--errors",
        type=click.Choice(["strict", "skip"]),
        default="strict",
        show_default=True,
        help="Refuse the first line that cannot be used, or leave such lines out and count them.",
    ),
)


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what the files are, as one argument `data`."""
    return _with_options(command, _OPTIONS)


def lenient_data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options but for `--errors`: what cannot be used is left out."""
    return _with_options(command, _OPTIONS[:-1])


def _with_options(
    command: Callable[..., None], options: Sequence[Callable[[Any], Any]]
) -> Callable[..., None]:

    @functools.wraps(command)
    def with_data(
        *args: Any,
        qrels_format: str | None,
        run_format: str | None,
        qrels_columns: ColumnsLike | None,
        run_columns: ColumnsLike | None,
        errors: Errors = "skip",
        **rest: Any,
    ) -> None:
        data = DataOptions(qrels_format, run_format, qrels_columns, run_columns, errors)
        command(*args, data=data, **rest)

    for option in reversed(options):
        with_data = option(with_data)
    return with_data


def refuse_two_inputs(*paths: str) -> None:
    """Raise InputError if the standard input is to be read twice."""
    if paths.count("-") > 1:
        raise InputError("the standard input, `-`, can be read only once")


def size_of(runs: Sequence[Run]) -> int | None:
    """Return how many bytes are to be read, None where that is not known."""
    sizes = [source.size for run in runs for source in run.sources]
    return None if None in sizes else sum(size or 0 for size in sizes)
