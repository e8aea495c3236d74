"""Options that say how files are read, which all commands that read data share."""

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.terminal import print_notes
from cranfield.data.judging import RANKING_OPTIONS, Judging
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader, open_qrels
from cranfield.data.run import Run
from cranfield.data.run_names import list_runs, make_unique_namer, open_run
from cranfield.data.run_notes import list_order_notes
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.formats import read_both_sides
from cranfield.formats.block import Duplicates, Errors, Keep
from cranfield.formats.columns import ColumnsOfBoth, Side
from cranfield.formats.files import format_names, stem_of
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import (
    SIDES,
    ContainedTexts,
    Statements,
    expand_systems,
    group_pairs,
    select_columns,
    states_sides,
)
from cranfield.lazy import cached_property
from cranfield.measures import find_measure, parse_all
from cranfield.notes import join_names
from cranfield.options import Options, level_check, list_options, option
from cranfield.scoring.arguments import Reading, Threads
from cranfield.scoring.sides import find_two_sided_tables, hold_both_sides, is_read_once


def _read_columns(texts: Any) -> ColumnsOfBoth | None:
    """Return the columns of `query_id=user,doc_id=2,relevance=-`; other values are unchanged."""
    if isinstance(texts, Mapping) or not texts:
        return texts or None
    pairs: list[tuple[str, str | int | None]] = []
    for statement in ",".join([texts] if isinstance(texts, str) else texts).split(","):
        name, equals, column = map(str.strip, statement.partition("="))
        if not equals or not name or not column:
            raise ValueError("NAME=COLUMN, as in query_id=user,doc_id=item,score=4")
        is_number = re.fullmatch("[0-9]{1,9}", column)
        pairs.append((name, None if column == "-" else int(column) if is_number else column))
    return group_pairs(pairs)


@dataclass(frozen=True, kw_only=True)
class DataOptions(Reading):
    """What the files are, as far as options say."""

    flags = {"without": {"metavar": "FILE", "multiple": True}}  # noqa: RUF012 - as of `Options`
    qrels_format: Any = option(
        None,
        "The format of the judgments, if it should not be detected. Subtopics (qrels_jg), "
        "qrels_prefs and prefs are judgments or preferences by groups (trec_eval -R).",
        tuple(format_names(Side.QRELS)),
    )
    run_format: Any = option(
        None, "The format of the runs, if it should not be detected.", tuple(format_names(Side.RUN))
    )
    columns: ColumnsOfBoth | None = option(
        None,
        "Which column is which, by name or number. As in query_id=user,doc_id=item,relevance=3,"
        "score=4, or expected_ids=gold,retrieved_ids=found. Each file takes what it has; "
        "qrels.doc_id=url is for judgments alone, run.doc_id=url for runs. relevance=-: every row "
        "is relevant. May be repeated.",
        _read_columns,
    )
    qrels_columns: ColumnsOfBoth | None = option(
        None, "As --columns, for judgments alone.", _read_columns
    )
    run_columns: ColumnsOfBoth | None = option(None, "As --columns, for runs alone.", _read_columns)
    errors: Errors = option(
        "strict",
        "Refuse a line that cannot be used, or leave such lines out and count them.",
    )

    map_docs: str | None = option(
        None, "A table of two columns, chunk and document: the chunks of a run become documents."
    )
    map_docs_pattern: str | None = option(
        None,
        "The same by a regular expression that is found in a chunk's id. Its group 1 is the "
        "document, as in '^([^#]*)': all before the first #. Or the word plain: the id without "
        "capitals, leading zeros and needless blanks, in one form of Unicode.",
    )
    map_docs_keep: Keep | None = option(
        None,
        "Which chunk ranks a document: the first, the best-scored, or the sum of all scores.  "
        "[default: first]",
    )
    map_qrels: bool = option(
        False, "The judgments are of chunks, too: a document has the highest grade of its chunks."
    )

    span_pattern: str | None = option(
        None,
        "For judgments by span: a regular expression that finds doc, start and end in a run's ids. "
        "They are its groups: for d1:100-250, '^(?P<doc>.*):(?P<start>[0-9]+)-(?P<end>[0-9]+)$'.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        sides = {"qrels": self.qrels_columns, "run": self.run_columns}
        side_columns: Any = {word: columns for word, columns in sides.items() if columns}
        if type(self.columns) is dict or side_columns:
            kind = ContainedTexts if self.texts == "contain" else Statements
            vars(self)["columns"] = kind({**(self.columns or {}), **side_columns})
        if self.map_docs is not None and self.map_docs_pattern is not None:
            raise OptionError("--map-docs and --map-docs-pattern say the same: leave one out")
        is_mapped = self.map_docs is not None or self.map_docs_pattern is not None
        if not is_mapped and (self.map_qrels or self.map_docs_keep is not None):
            option_name = "--map-qrels" if self.map_qrels else "--map-docs-keep"
            raise OptionError(
                f"{option_name} has no effect without --map-docs or --map-docs-pattern"
            )

    @cached_property
    def _doc_of_chunk(self) -> Mapping[str, str] | str | None:
        """The document of each chunk, as a mapping or a pattern; None without such an option."""
        if self.map_docs is None:
            return self.map_docs_pattern
        from cranfield.formats.small.chunk_files import read_chunks

        return read_chunks(self.map_docs)

    def read_qrels(self, path: str, duplicates: Duplicates = "refuse") -> Qrels:
        """Read judgments."""
        return self.read(self.open_qrels(path, duplicates))

    def open_qrels(self, path: str, duplicates: Duplicates = "refuse") -> Qrels | QrelsReader:
        """Open judgments."""
        _refuse_measures(os.fspath(path))
        columns = select_columns(self.columns, Side.QRELS)
        judgments = open_qrels(path, self.errors, columns, duplicates, self.qrels_format)
        return self._map_judgments(judgments)

    def read(self, judgments: Qrels | QrelsReader) -> Qrels:
        """Read judgments that were opened."""
        return judgments if isinstance(judgments, Qrels) else judgments.read()

    def read_runs(
        self, paths: Sequence[str], *, says_order: bool = False, more_follow: bool = False
    ) -> list[Run]:
        """Open runs, each named by its file; by its whole path where two have one name.

        `says_order`: print notes on a doubtful order of the scores, where no result has them.
        Unless `more_follow`, these are the last files: refuse columns that none of the files has.
        """
        _refuse_measures(*paths)
        columns = select_columns(self.columns, Side.RUN)
        opened_runs = [open_run(path, self.errors, columns, self.run_format) for path in paths]
        runs = list_runs(opened_runs)
        _rename_alike(runs, paths)
        runs = self._map_runs(runs, more_follow=more_follow)
        if says_order:
            print_notes(list_order_notes(runs))
        return runs

    def read_run(self, path: str, *, says_order: bool = False, more_follow: bool = False) -> Run:
        """Open the one run of a file; InputError for a file of several systems."""
        runs = self.read_runs([path], says_order=says_order, more_follow=more_follow)
        if len(runs) > 1:
            raise InputError(
                f"holds {len(runs)} systems, and one run is taken: "
                f"{join_names([run.name for run in runs], 10)}",
                source=path,
                hint="One of them: --columns "
                f"system={runs[0].rows.name_of_role.get('system')}={runs[0].name}.",
            )
        return runs[0]

    def holds_both_sides(self, paths: Sequence[str]) -> bool:
        """Tell whether each file holds both sides, and no option names one side."""
        has_format = self.qrels_format or self.run_format
        states_side = len(paths) > 1 and states_sides(self.columns)
        return not (has_format or states_side) and hold_both_sides(paths, self.columns)

    def lone_file_error(self, path: str, otherwise: str) -> Exception:
        """Return the error for judgments without a run, or for a table without columns of a side.

        `otherwise` says which other options need no run.
        """
        _refuse_measures(path)
        try:
            columns = next(iter(expand_systems(dict(self.columns or {})).values()))
            read_both_sides(path, columns=columns, is_path=True)
        except InputError as error:
            if not error.problem.startswith("was read as"):
                return error
        return click.UsageError(
            f"Missing argument 'RUN...'; {otherwise}. A file of both, with columns such as "
            "question, expected_ids and retrieved_ids, needs no RUN."
        )

    def read_both_sides(
        self, paths: Sequence[str], duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels, list[Run]]:
        """Read files of which each holds both sides: see `open_both_sides`."""
        judgments, runs = self.open_both_sides(paths, duplicates)
        return self.read(judgments), runs

    def open_both_sides(
        self, paths: Sequence[str], duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels | QrelsReader, list[Run]]:
        """Open files of which each holds both sides: the judgments of all, and a run of each.

        Raises InputError for a file with one side alone, or with other judgments.
        """
        sides = find_two_sided_tables(list(paths), self.columns, self.errors)
        assert sides is not None  # noqa: S101 - of paths
        judgments, named_runs = sides.open(self.errors, duplicates)
        runs = [named_runs] if isinstance(named_runs, Run) else list(named_runs.values())
        for run in runs if len(runs) == len(paths) else ():
            run.name = run.rows.run_name or stem_of(run.sources[0])
        _rename_alike(runs, paths)
        return self._map_judgments(judgments), self._map_runs(runs)

    def _map_judgments(self, judgments: Qrels | QrelsReader) -> Qrels | QrelsReader:
        """Return judgments of documents, given judgments of chunks if an option says so."""
        docs = self._doc_of_chunk if self.map_qrels else None
        if docs is None:
            return judgments
        if isinstance(judgments, Qrels):
            return judgments.map_docs(docs, self.errors)
        from cranfield.data.chunks import Chunks

        return replace(judgments, chunks=Chunks.of(docs))

    def _map_runs(self, runs: list[Run], *, more_follow: bool = False) -> list[Run]:
        """Return runs of documents or of spans, of chunks if options say so; some left out."""
        if self._doc_of_chunk is not None:
            runs = [run.map_docs(self._doc_of_chunk, self.map_docs_keep or "first") for run in runs]
        run_of_number = self.leave_out(dict(enumerate(runs)), more_follow=more_follow)
        runs = [*run_of_number.values()]
        if self.span_pattern is not None:
            runs = [run.spans(self.span_pattern) for run in runs]
        return runs


def _rename_alike(runs: Sequence[Run], paths: Sequence[str]) -> None:
    """Name runs by their whole paths where two have one name; by numbers, if they are systems."""
    run_names = [run.name for run in runs]
    name_uniquely = make_unique_namer()
    for i, run in enumerate(runs):
        if run_names.count(run.name) > 1:
            run.name = paths[i] if len(runs) == len(paths) else name_uniquely(run.name)


_COLUMNS_FLAGS = {"metavar": "NAME=COLUMN", "multiple": True}
_METAVARS: dict[str, dict[str, Any]] = {"columns": _COLUMNS_FLAGS}
_METAVARS |= {f"{word}_columns": {**_COLUMNS_FLAGS, "hidden": True} for word in SIDES}
_METAVARS |= {"map_docs": {"metavar": "FILE"}, "map_docs_pattern": {"metavar": "REGEX"}}
_METAVARS |= {"span_pattern": {"metavar": "REGEX"}}
data_options = flags.family_options(DataOptions, group="Files", **_METAVARS)
lenient_data_options = flags.family_options(
    DataOptions, without=("errors",), group="Files", **_METAVARS
)
columns_option = flags.family_options(
    DataOptions,
    without={data_option.name for data_option in list_options(DataOptions)} - {"columns"},
    group="Files",
    **_METAVARS,
)
# For commands that choose the queries themselves: those of all systems, or a named query.
judging_options = flags.family_options(Judging, without=("queries",), group="Ranking")
all_judging_options = flags.family_options(Judging, group="Ranking")
threads_options = flags.family_options(Threads, group="Files", threads={"metavar": "N"})
duplicates_option = flags.family_options(Judging, without=RANKING_OPTIONS, group="Files")


@dataclass(frozen=True, kw_only=True)
class GradesOptions(Options):
    """Lists of grades that take the place of judgments and a run, and their options."""

    grades: tuple[str, ...] = option(
        (),
        "In place of QRELS and RUN: the grades of what was retrieved, best rank first. In "
        "'5 2 4 - 1', - is unjudged. A query may be named, 'q1: 5 2 4'; a file may have such "
        "lines. May be repeated, for several queries.",
    )
    collection: tuple[str, ...] = option(
        (),
        "With --grades: the grades of all judged documents. They may be retrieved or not; the "
        "ideal ranking is then made of them.",
    )
    n_relevant: int | None = option(
        None,
        "With --grades: how many documents are relevant. Retrieved or not, where that is all one "
        "knows.",
    )
    systems: bool = option(
        False, "With --grades: names are of systems, as in 'A: 5 2 4'. Else they are of queries."
    )
    top_grade: float | None = option(
        None, "With --grades: the highest grade of the scale, if no document has it.", level_check()
    )


# Arguments QRELS and RUN may be missing then: `open_inputs` sees to them.
_LIST_FLAGS = {"metavar": "LIST", "multiple": True}
grades_options = flags.family_options(
    GradesOptions,
    group="Lists of grades",
    grades=_LIST_FLAGS,
    collection=_LIST_FLAGS,
    n_relevant={"metavar": "N"},
    top_grade={"metavar": "GRADE"},
)

# The names of the options that say how files are read, and how a run is judged.
READING_OPTIONS = {
    data_option.name for family in (DataOptions, Judging) for data_option in list_options(family)
}


def open_inputs(
    qrels: str | None,
    runs: Sequence[str],
    data: DataOptions,
    grade_options: GradesOptions,
    judging: Judging,
) -> tuple[Qrels | QrelsReader, list[Run]]:
    """Return judgments and runs, of the files QRELS and RUN or of lists of grades.

    Raises click.UsageError for neither, both or judgments alone, or for options of lists without
    lists; OptionError for an option without effect on lists; InputError for what cannot be read.
    """
    if not grade_options.grades:
        typed_options = [f"--{name.replace('_', '-')}" for name in grade_options.changed_options()]
        if typed_options:
            raise click.UsageError(f"{typed_options[0]} applies to lists of grades: add --grades.")
        if qrels is None:
            raise click.UsageError(
                "Missing argument 'QRELS'; for a list of grades alone, say --grades."
            )
        if (not runs and is_read_once(qrels)) or data.holds_both_sides([qrels, *runs]):
            return data.open_both_sides([qrels, *runs], judging.duplicates)
        if not runs:
            raise data.lone_file_error(qrels, "for a list of grades alone, say --grades")
        refuse_two_stdin(qrels, *runs)
        judgments = data.open_qrels(qrels, judging.duplicates)
        return judgments, data.read_runs(runs)
    if qrels is not None:
        raise click.UsageError(
            "--grades is in the place of judgments and a run: leave out QRELS and RUN, or "
            "--grades. (A list is one argument, as in --grades '5 2 4'.)"
        )
    # How files are read, how scores rank, what to do with a query that a run has not.
    flags.refuse_options(
        READING_OPTIONS - {"depth", "judged_only"},
        "has no effect on --grades: a list of grades is ranked as it is, and every list counts",
    )
    refuse_two_stdin(*grade_options.grades, *grade_options.collection)
    from cranfield.data.lists import grades
    from cranfield.formats.small.grade_lists import parse_grade_lists

    lists = parse_grade_lists(grade_options.grades, "--grades")
    collection = parse_grade_lists(grade_options.collection, "--collection", [*lists])
    options: Any = {"systems": grade_options.systems, "n_relevant": grade_options.n_relevant}
    judgments_and_runs: Any = grades(
        lists, collection=collection or None, top=grade_options.top_grade, **options
    )
    judgments, graded_runs = judgments_and_runs
    return judgments, [*graded_runs.values()] if grade_options.systems else [graded_runs]


def refuse_two_stdin(*paths: str) -> None:
    """Raise InputError if the standard input is to be read twice."""
    if paths.count("-") > 1:
        raise InputError("the standard input, `-`, can be read only once")


def _refuse_measures(*paths: str) -> None:
    """Raise InputError for a measure where a file is expected, and there is no such file."""
    measure_names = [
        path
        for path in paths
        if not is_file(path) and not path.startswith("-") and is_measure(path)
    ]
    if measure_names:
        raise InputError(
            f"no such file; {measure_names[0]} is a measure",
            source=measure_names[0],
            hint=measures_hint(measure_names),
        )


def is_measure(text: str) -> bool:
    """Tell whether a string names a measure or several, also without the cutoff that it needs."""
    try:
        return bool(parse_all(text, glued=False))
    except MeasureError:
        return find_measure(text) is not None


def measures_hint(measure_names: Sequence[str]) -> str:
    """Return the hint how these measures are typed."""
    return (
        "Measures are typed with -m before each: "
        f"{' '.join(f'-m {name}' for name in measure_names)}."
    )


def is_file(path: str) -> bool:
    """Tell whether a string is something to read, rather than a name."""
    return path == "-" or os.path.exists(path) or Source(path).is_url or bool(glob.glob(path))
