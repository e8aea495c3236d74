"""What the commands that read data share: the options that say what the files are."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import click
from click.core import ParameterSource

from cranfield.cli.terminal import Reading
from cranfield.errors import InputError, OptionError
from cranfield.evaluation import Judging
from cranfield.formats.block import Errors, Order
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.grades import grade_lists
from cranfield.formats.register import names_of
from cranfield.formats.source import Source
from cranfield.graded import grades
from cranfield.qrels import Qrels, read_qrels
from cranfield.ranking import Precision, Ties
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
        type=click.Choice(names_of(What.QRELS)),
        help="What the judgments are, if that is not to be found out; subtopics (qrels_jg), "
        "qrels_prefs and prefs are judgments or preferences by groups (trec_eval -R).",
    ),
    click.option(
        "--run-format",
        type=click.Choice(names_of(What.RUN)),
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


_JUDGING = (
    click.option(
        "--depth",
        type=click.IntRange(min=1),
        help="Keep only the best so many documents of each query (trec_eval -M).",
    ),
    click.option(
        "--judged-only",
        is_flag=True,
        help="Drop documents that are unjudged or of negative grade before measuring "
        "(trec_eval -J).",
    ),
    click.option(
        "--order",
        type=click.Choice(["score", "rank", "given"]),
        default="score",
        show_default=True,
        help="Rank by score (ties by document id), by the rank column, or as the lines stand.",
    ),
    click.option(
        "--scores",
        type=click.Choice(["double", "single"]),
        default="double",
        show_default=True,
        help="Compare scores as 64-bit floats, or as 32-bit ones (trec_eval 9, pytrec_eval).",
    ),
    click.option(
        "--ties",
        type=click.Choice(get_args(Ties)),
        default="document",
        show_default=True,
        help="Rank equal scores by document id, descending, or ascending; take the mean over all "
        "their orders (expected), or rank them by grade, the highest or lowest first (best, "
        "worst).",
    ),
)


def judging_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how runs are judged, as one argument `judging`."""

    @functools.wraps(command)
    def with_judging(
        *args: Any,
        depth: int | None,
        judged_only: bool,
        order: Order,
        scores: Precision,
        ties: Ties,
        **rest: Any,
    ) -> None:
        judging = Judging(
            depth=depth, judged_only=judged_only, order=order, scores=scores, ties=ties
        )
        command(*args, judging=judging, **rest)

    for option in reversed(_JUDGING):
        with_judging = option(with_judging)
    return with_judging


@dataclass(frozen=True)
class GradesOptions:
    """Lists of grades that stand for judgments and a run, and what was said of them."""

    lists: Sequence[str]
    collection: Sequence[str]
    top: int | None


_GRADES = (
    click.option(
        "--grades",
        "lists",
        multiple=True,
        metavar="LIST",
        help="In place of QRELS and RUN: the grades of what was retrieved, best rank first, as in "
        "'5 2 4 - 1', - being unjudged; of a named query, 'q1: 5 2 4'; or a file of such lines. "
        "May be repeated, for several queries.",
    ),
    click.option(
        "--collection",
        multiple=True,
        metavar="LIST",
        help="With --grades, written in the same way: the grades of all documents judged for the "
        "query, retrieved or not, of which the ideal ranking is then made.",
    ),
    click.option(
        "--top-grade",
        type=int,
        metavar="GRADE",
        help="With --grades: the highest grade of the scale, if no document has it.",
    ),
)


def grades_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of lists of grades, as one argument `listed`.

    Its arguments QRELS and RUN may be missing then: `read_inputs` sees to them.
    """

    @functools.wraps(command)
    def with_grades(
        *args: Any,
        lists: Sequence[str],
        collection: Sequence[str],
        top_grade: int | None,
        **rest: Any,
    ) -> None:
        command(*args, listed=GradesOptions(lists, collection, top_grade), **rest)

    for option in reversed(_GRADES):
        with_grades = option(with_grades)
    return with_grades


# What says how files are read, how scores rank, or what to do with a query that a run has not.
_NOT_OF_GRADES = {
    *("qrels_format", "run_format", "qrels_columns", "run_columns", "errors"),
    *("order", "scores", "ties", "queries"),
}


def read_inputs(
    qrels: str | None, runs: Sequence[str], data: DataOptions, listed: GradesOptions
) -> tuple[Qrels, list[Run]]:
    """Return judgments and runs: of the files QRELS and RUN, or of lists of grades.

    Raises click.UsageError if there is neither or both, OptionError for an option without effect,
    InputError for what cannot be read.
    """
    if not listed.lists:
        if listed.collection or listed.top is not None:
            option = "--collection" if listed.collection else "--top-grade"
            raise click.UsageError(f"{option} is said of lists of grades: add --grades.")
        if qrels is None or not runs:
            missing = "QRELS" if qrels is None else "RUN..."
            raise click.UsageError(
                f"Missing argument '{missing}'; for a list of grades alone, say --grades."
            )
        refuse_two_inputs(qrels, *runs)
        return data.read_qrels(qrels), data.read_runs(runs)
    if qrels is not None:
        raise click.UsageError(
            "--grades stands for judgments and a run: leave out QRELS and RUN, or --grades. (A "
            "list is one argument, as in --grades '5 2 4'.)"
        )
    context = click.get_current_context()
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if given and one.name in _NOT_OF_GRADES:
            raise OptionError(
                f"{one.opts[-1]} has no effect on --grades: a list of grades is ranked as it "
                "stands, and every list counts"
            )
    refuse_two_inputs(*listed.lists, *listed.collection)
    lists = grade_lists(listed.lists, "--grades")
    collection = grade_lists(listed.collection, "--collection", [*lists])
    judgments, run = grades(lists, collection=collection or None, top=listed.top)
    return judgments, [run]


def refuse_two_inputs(*paths: str) -> None:
    """Raise InputError if the standard input is to be read twice."""
    if paths.count("-") > 1:
        raise InputError("the standard input, `-`, can be read only once")


def size_of(runs: Sequence[Run]) -> int | None:
    """Return how many bytes are to be read, None where that is not known."""
    sizes = [source.size for run in runs for source in run.sources]
    return None if None in sizes else sum(size or 0 for size in sizes)
