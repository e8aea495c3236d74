"""What the commands that read data share: the options that say what the files are."""

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.terminal import Reading
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, read_qrels
from cranfield.data.run import Run, read_run
from cranfield.errors import InputError, MeasureError
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.files import names_of
from cranfield.formats.source import Source
from cranfield.measures import known_as, parse_all
from cranfield.options import Options, option, options_of


def _columns(text: Any) -> ColumnsLike:
    """Read `query_id=user,doc_id=2`; columns that were read already stay so."""
    if not isinstance(text, str):
        return text  # type: ignore[no-any-return] # columns
    found: dict[str, str | int] = {}
    for part in text.split(","):
        role, equals, column = map(str.strip, part.partition("="))
        if not equals or not role or not column:
            raise ValueError("NAME=COLUMN, as in query_id=user,doc_id=item,score=4")
        found[role] = int(column) if re.fullmatch("[0-9]{1,9}", column) else column
    return found


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """What the files are, as far as it was said."""

    qrels_format: Any = option(
        None,
        "What the judgments are, if that is not to be found out; subtopics (qrels_jg), "
        "qrels_prefs and prefs are judgments or preferences by groups (trec_eval -R).",
        tuple(names_of(What.QRELS)),
    )
    run_format: Any = option(
        None, "What the runs are, if that is not to be found out.", tuple(names_of(What.RUN))
    )
    qrels_columns: ColumnsLike | None = option(
        None,
        "Which column is which, by name or number, as in query_id=user,doc_id=item,relevance=3.",
        _columns,
    )
    run_columns: ColumnsLike | None = option(
        None, "The same for runs, as in query_id=1,doc_id=3,score=4.", _columns
    )
    errors: Errors = option(
        "strict",
        "Refuse the first line that cannot be used, or leave such lines out and count them.",
    )

    def read_qrels(self, path: str) -> Qrels:
        """Read judgments, showing how far that is."""
        _refuse_measures(path)
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
        _refuse_measures(*paths)
        runs = [
            read_run(path, format=self.run_format, columns=self.run_columns, errors=self.errors)
            for path in paths
        ]
        names = [run.name for run in runs]
        for run, path in zip(runs, paths, strict=True):
            if names.count(run.name) > 1:
                run.name = path
        return runs


_SHOWN = {name: {"metavar": "NAME=COLUMN,..."} for name in ("qrels_columns", "run_columns")}
data_options = flags.family(DataOptions, **_SHOWN)
lenient_data_options = flags.family(DataOptions, without=("errors",), **_SHOWN)
# Where queries are those that all systems have, or the one that is named.
judging_options = flags.family(Judging, without=("queries",))
all_judging_options = flags.family(Judging)


@dataclass(frozen=True, kw_only=True)
class GradesOptions(Options):
    """Lists of grades in the place of judgments and a run, and what was said of them."""

    grades: tuple[str, ...] = option(
        (),
        "In place of QRELS and RUN: the grades of what was retrieved, best rank first, as in "
        "'5 2 4 - 1', - being unjudged; of a named query, 'q1: 5 2 4'; or a file of such lines. "
        "May be repeated, for several queries.",
    )
    collection: tuple[str, ...] = option(
        (),
        "With --grades, written in the same way: the grades of all documents judged for the "
        "query, retrieved or not, of which the ideal ranking is then made.",
    )
    n_relevant: int | None = option(
        None,
        "With --grades: how many documents are relevant to the query, retrieved or not, where that "
        "is all one knows.",
    )
    systems: bool = option(
        False, "With --grades: the names are those of systems, as in 'A: 5 2 4', not of queries."
    )
    top_grade: int | None = option(
        None, "With --grades: the highest grade of the scale, if no document has it."
    )


# Arguments QRELS and RUN may be missing then: `read_inputs` sees to them.
_LISTS = {"metavar": "LIST", "multiple": True}
grades_options = flags.family(
    GradesOptions,
    grades=_LISTS,
    collection=_LISTS,
    n_relevant={"metavar": "N"},
    top_grade={"metavar": "GRADE"},
)

# What says how files are read, and how a run is judged.
READING = {one.name for family in (DataOptions, Judging) for one in options_of(family)}


def read_inputs(
    qrels: str | None, runs: Sequence[str], data: DataOptions, listed: GradesOptions
) -> tuple[Qrels, list[Run]]:
    """Return judgments and runs: of the files QRELS and RUN, or of lists of grades.

    Raises click.UsageError if there is neither or both, OptionError for an option without effect,
    InputError for what cannot be read.
    """
    if not listed.grades:
        stated = [f"--{name.replace('_', '-')}" for name in listed.unusual()]
        if stated:
            raise click.UsageError(f"{stated[0]} is said of lists of grades: add --grades.")
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
    # How files are read, how scores rank, what to do with a query that a run has not.
    flags.refuse_options(
        READING - {"depth", "judged_only"},
        "has no effect on --grades: a list of grades is ranked as it stands, and every list counts",
    )
    refuse_two_inputs(*listed.grades, *listed.collection)
    from cranfield.data.lists import grades
    from cranfield.formats.small.grade_lists import grade_lists

    lists = grade_lists(listed.grades, "--grades")
    collection = grade_lists(listed.collection, "--collection", [*lists])
    known: dict[str, Any] = {"collection": collection or None, "n_relevant": listed.n_relevant}
    if listed.systems:
        systems = grades(lists, systems=True, top=listed.top_grade, **known)
        return systems.qrels, [*systems.runs.values()]
    judgments, run = grades(lists, top=listed.top_grade, **known)
    return judgments, [run]


def refuse_two_inputs(*paths: str) -> None:
    """Raise InputError if the standard input is to be read twice."""
    if paths.count("-") > 1:
        raise InputError("the standard input, `-`, can be read only once")


def _refuse_measures(*paths: str) -> None:
    """Raise InputError for a measure where a file is expected, and there is no such file."""
    found = [path for path in paths if not is_file(path) and is_measure(path)]
    if found:
        raise InputError(
            f"no such file; {found[0]} is a measure", source=found[0], hint=say_measures(found)
        )


def is_measure(text: str) -> bool:
    """Tell whether a text names a measure, or several, if only for want of a cutoff."""
    try:
        return bool(parse_all(text, glued=False))
    except MeasureError:
        return known_as(text) is not None


def say_measures(names: Sequence[str]) -> str:
    """Return how measures are typed."""
    return f"Measures are typed with -m before each: {' '.join(f'-m {name}' for name in names)}."


def size_of(runs: Sequence[Run]) -> int | None:
    """Return how many bytes are to be read, None where that is not known."""
    sizes = [source.size for run in runs for source in run.sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def is_file(path: str) -> bool:
    """Tell whether a text is something to read, rather than a name."""
    return path == "-" or os.path.exists(path) or Source(path).is_url or bool(glob.glob(path))
