"""Inputs of the commands that compare systems: judgments and runs, or saved scores."""

import fnmatch
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from glob import glob
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import (
    READING_OPTIONS,
    DataOptions,
    data_options,
    judging_options,
    refuse_two_stdin,
)
from cranfield.comparison.alignment import DEFAULT_MEASURES, align
from cranfield.comparison.compare import compare
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.settings import Alignment, Settings
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.errors import InputError, OptionError
from cranfield.explanation.pointer import CommandLine, use_command_line
from cranfield.formats.files import stem_of
from cranfield.formats.source import Source
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.scoring.sides import is_read_once


@dataclass(frozen=True)
class SystemFiles:
    """Files of judgments and runs, or of saved scores, and the options on how to read them."""

    qrels: str
    runs: tuple[str, ...]
    names: tuple[str, ...]  # of the measures
    are_scores: bool
    alignment: Alignment
    rel: float | None
    judging: Judging
    data: DataOptions
    judgment_options: tuple[str, ...] = ()  # the command's other options that need judgments

    def __post_init__(self) -> None:
        if self.are_scores:
            flags.refuse_options(
                READING_OPTIONS | {"rel", "bounds", *self.judgment_options},
                "says how judgments and runs are taken; saved scores are as they are",
            )
            return
        score_option_names = self.alignment.changed_options().keys() - {"missing"}
        flags.refuse_options(score_option_names, "applies to saved scores only: add --saved")
        if not self.runs and not self.holds_both_sides:
            raise self.data.lone_file_error(self.qrels, "for saved scores, say --saved")

    @property
    def files(self) -> list[str]:
        """The files of systems: scores if these were saved, else runs, or files of both sides."""
        if self.are_scores or self.holds_both_sides:
            return [self.qrels, *self.runs]
        return list(self.runs)

    @cached_property
    def holds_both_sides(self) -> bool:
        """Whether each file holds both judgments and a run, as a pipe alone has to."""
        is_pipe_alone = not self.runs and is_read_once(self.qrels)
        is_two_sided = is_pipe_alone or self.data.holds_both_sides([self.qrels, *self.runs])
        return is_two_sided and not self.are_scores

    def measures(self, default: str) -> Any:
        """Return the measures of -m, else the default; None for all measures that were saved."""
        if self.are_scores:
            return list(self.names) or None
        return flags.parse_measures(self.names, default, self.rel)

    def read(self, files: list[str]) -> tuple[Any, list[Run] | None]:
        """Return judgments and runs, or the files of scores and None, as `compare` takes them."""
        if self.are_scores:
            return files, None
        duplicates = self.judging.duplicates
        if self.holds_both_sides:
            judgments_and_runs = self.data.read_both_sides(files, duplicates)
            self._point_to_files(None, judgments_and_runs[1], files)
            return judgments_and_runs
        try:
            judgments = self.data.read_qrels(self.qrels, duplicates)
            runs = self.data.read_runs(files)
        except InputError as error:
            if error.kind not in ("columns", "no ids"):
                raise
            raise error.add_reason("For saved scores of queries, add --saved.") from None
        self._point_to_files(self.qrels, runs, files)
        return judgments, runs

    def _point_to_files(self, qrels: str | None, runs: list[Run], files: list[str]) -> None:
        """Make the output name these files in the command that explains a query."""
        from cranfield.cli.explain import command

        paths = [*files, *([] if qrels is None else [qrels])]
        # No pipe, which was read, and no address; and each file has one run.
        if len(runs) == len(files) and all(os.path.isfile(path) for path in paths):
            file_of_system = {run.name: file for run, file in zip(runs, files, strict=True)}
            typed_inputs = CommandLine(qrels, file_of_system, flags.typed_options(command))
            click.get_current_context().with_resource(use_command_line(typed_inputs))

    def find_baseline(
        self, baseline: str, files: list[str], opened_runs: Sequence[Run] | None
    ) -> str:
        """Return the name of the baseline, given it or its file; a file of scores moves first."""
        run_names = [run.name for run in opened_runs or ()]
        if (
            baseline in run_names
            or (position := find_position(baseline, files)) is None
            or len(run_names) not in (0, len(files))  # a file has several systems
        ):
            return baseline
        if opened_runs is not None:
            return run_names[position]
        refuse_two_stdin(files[position], files[position])  # for its name, and for its scores
        files.insert(0, files.pop(position))
        return self.read_system_name(files[0])

    def extension_options(self, families: Iterable[ComparingOptions]) -> dict[str, Any]:
        """Return the options of extensions that are not at their defaults.

        An option that names a file of saved scores gets the names of its systems; files of other
        judgments are opened.
        """
        if self.are_scores:
            families = [family.rename_runs(self._find_system_names) for family in families]
        else:
            duplicates = self.judging.duplicates
            families = [family.open_files(self.data, duplicates) for family in families]
        return {
            name: value for family in families for name, value in family.changed_options().items()
        }

    def _find_system_names(self, run: str, option: str) -> list[str]:
        """Return the systems in files of a path or pattern; the text if `files` has none."""
        paths = _find_files(run)
        if all(find_position(path, self.files) is None for path in paths):
            return [run]
        return [self.read_system_name(path, option) for path in paths]

    @property
    def score_options(self) -> dict[str, Any]:
        """The options on scores and on runs that are not at their defaults."""
        return {**self.alignment.changed_options(), **self.judging.changed_options()}

    def read_system_name(self, path: str, option: str = "--baseline") -> str:
        """Return the name of the one system that a file has saved scores of.

        The system has this name among other files, too, if the file comes first.
        """
        alignment = replace(self.alignment, missing="zero")
        system_names = align([path], None, list(self.names) or None, alignment).system_names
        if len(system_names) > 1:
            raise OptionError(
                f"{option} {path}: holds the scores of several systems; name the one that is "
                f"meant: {', '.join(system_names)}"
            )
        return system_names[0]


saved_option = flags.option(
    group="Files",
    is_flag=True,
    help="The files are saved scores of every query, of any tool: no judgments, no runs.",
)

alignment_options = flags.family_options(
    Alignment, group="Files", less_is_better={"multiple": True, "metavar": "NAME"}
)


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared: the options of every command that compares them."""

    names: tuple[str, ...]  # of the measures
    baselines: tuple[str, ...]
    settings: Settings
    families: Sequence[ComparingOptions]
    saved: bool
    alignment: Alignment
    slices: str | None
    rel: float | None
    judging: Judging
    data: DataOptions

    def compare_files(self, qrels: str, runs: tuple[str, ...]) -> Comparison:
        """Return the comparison of some runs, or of saved scores."""
        system_files = self.choose_files(qrels, runs)
        files, measures = system_files.files, system_files.measures(DEFAULT_MEASURES)
        refuse_two_stdin(system_files.qrels, *system_files.runs)
        self.refuse_two_kinds()
        judgments, opened_runs = system_files.read(files)
        options: Any = {
            **self.settings.changed_options(),
            **system_files.score_options,
            **system_files.extension_options(self.families),
        }
        if self.baselines:
            names = [
                system_files.find_baseline(name, files, opened_runs) for name in self.baselines
            ]
            if opened_runs is None and len({*names}) < len({*self.baselines}):
                raise OptionError(
                    f"--baseline: of {', '.join(self.baselines)}, two have one name: state a "
                    "system once, or give a file another name"
                )
            options["baseline"] = names
        return compare(judgments, opened_runs, measures, slices=self.slices, **options)

    def choose_files(self, qrels: str, runs: tuple[str, ...]) -> SystemFiles:
        """Return the judgments and runs, or the saved scores, that were named."""
        return SystemFiles(
            qrels,
            add_group_members(qrels, runs, self.families),
            self.names,
            self.saved,
            self.alignment,
            self.rel,
            self.judging,
            self.data,
        )

    def measures(self, default: str) -> list[Measure]:
        """Return the measures of -m, else the default."""
        return flags.parse_measures(self.names, default, self.rel)

    def refuse_two_kinds(self) -> None:
        """Raise OptionError where both a baseline and all pairs are asked for."""
        if self.settings.all_pairs and self.baselines:
            raise OptionError("--all-pairs compares with no baseline: leave --baseline out")


comparison_options = flags.combined_options(
    ComparisonOptions,
    {
        "names": flags.measure_option(
            "What to compare", f"{DEFAULT_MEASURES}, or all that were saved"
        ),
        "baselines": flags.option(
            "--baseline",
            multiple=True,
            metavar="NAME",
            help="The system that the others are compared with, by its name or its file. May be "
            "repeated: each other system is compared with each, and they once with each other.  "
            "[default: the first]",
        ),
        "settings": flags.family_options(Settings, without=("baseline",), group="Statistics"),
        "families": flags.added_options("compare"),
        "saved": saved_option,
        "alignment": alignment_options,
        "slices": flags.slices_option("compare on those of each label separately, too"),
        "rel": flags.rel_option(),
        "judging": judging_options,
        "data": data_options,
    },
)


def add_group_members(
    qrels: str, runs: tuple[str, ...], families: Iterable[ComparingOptions]
) -> tuple[str, ...]:
    """Return the files of runs, with the files that only options of extensions name."""
    patterns = [name for family in families for name in family.run_names()]
    # A pattern of names looks for no other files.
    run_names = [stem_of(Source(run)) for run in runs]
    patterns = [pattern for pattern in patterns if not fnmatch.filter(run_names, pattern)]
    extra_files = dict.fromkeys(path for pattern in patterns for path in _find_files(pattern))
    return (*runs, *(path for path in extra_files if find_position(path, [qrels, *runs]) is None))


def _find_files(path_or_pattern: str) -> list[str]:
    """Return the files that a path or a pattern matches."""
    if os.path.isfile(path_or_pattern):
        return [path_or_pattern]
    return sorted(filter(os.path.isfile, glob(path_or_pattern)))


def find_position(path: str, paths: Sequence[str]) -> int | None:
    """Return the position of a file among paths, however they are written; None without."""
    real_path = os.path.realpath(path)
    return next((i for i, file in enumerate(paths) if os.path.realpath(file) == real_path), None)
