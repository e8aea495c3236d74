"""`cranfield gate QRELS RUN... --baseline RUN --margin NUMBER`: an exit status on new runs."""

from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, is_file, judging_options, refuse_two_stdin
from cranfield.cli.several import (
    SystemFiles,
    add_group_members,
    alignment_options,
    find_position,
    saved_option,
)
from cranfield.cli.terminal import Format, format_options, print_note, query_texts_option, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.gate import gate
from cranfield.comparison.settings import Alignment, GateSettings
from cranfield.comparison.thresholds import resolve_at_least
from cranfield.comparison.verdict import Gate
from cranfield.data.judging import Judging

# {outcome: exit status}
_STATUS = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3}

_AT_LEAST = {
    "group": "Options",
    "multiple": True,
    "metavar": "MEASURE=NUMBER",
    "help": "The mean of each run must reach this number, as in --at-least recall@5=0.8. With a "
    "baseline, both must hold. May be repeated.",
}
_LIMIT = {
    "group": "Options",
    "help": "With --at-least: the mean's lower limit by the test must reach the number, too.",
}
_UNDECIDED_FLAGS = {
    "group": "Options",
    "help": "Let UNDECIDED exit with the status of a pass or a fail.  [default: 3]",
}


def _read_range(value: str) -> tuple[float, float]:
    """Return the two numbers of `0,1`."""
    try:
        low, high = map(float, value.split(","))
    except ValueError:
        raise ValueError("LOW,HIGH, as in 0,1") from None
    return low, high


def _find_baseline_file(baseline: str, system_files: SystemFiles) -> str | None:
    """Return the file of the baseline, named by its path or its run; None if no file is named."""
    files = system_files.files
    if find_position(baseline, files) is not None or is_file(baseline):
        return baseline
    if system_files.are_scores:
        return None
    runs = system_files.data.read_runs(files, more_follow=True)  # opened, and not read yet
    run_names = [run.name for run in runs]
    has_own_file = baseline in run_names and len(run_names) == len(files)  # is no system of several
    return files[run_names.index(baseline)] if has_own_file else None


def _files_to_read(baseline: str | None, system_files: SystemFiles) -> list[str]:
    """Return the files to read: the baseline's file first, twice if it is the only file."""
    files = [*system_files.files]
    if baseline is None:
        return files
    other_files = [file for file in files if find_position(file, [baseline]) is None]
    if not other_files:  # it is judged against itself, which shows whether the gate works at all
        print_note(
            "the only run is the baseline itself: is the file of the new run missing?", "warning"
        )
    files = [baseline, *(other_files or [baseline])]
    # Saved scores of the baseline are read for its name, too.
    refuse_two_stdin(*files, baseline if system_files.are_scores else system_files.qrels)
    return files


_RANGE = flags.checked_option(
    _read_range,
    group="More",
    type=str,
    metavar="LOW,HIGH",
    help="The least and the greatest score that a query may have.  [default: the measure's own]",
)


@flags.command("gate")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    baseline: str | None = flags.option(
        metavar="FILE|NAME",
        help="The run that the others are judged against: a file, or the name of one of the RUNs. "
        "With --saved, its file of scores, or the name of a system.",
    ),
    margin: str | None = flags.option(
        metavar="NUMBER",
        help="By how much a run may be worse, as 0.01 or 2%. A number is in the unit of the "
        "measures, 2% a share of the baseline's mean.",
    ),
    names: tuple[str, ...] = flags.measure_option(
        "What to judge by the margin; every one must pass",
        f"{DEFAULT_MEASURES}, or all that were saved",
    ),
    saved: bool = saved_option,
    alignment: Alignment = alignment_options,
    settings: GateSettings = flags.family_options(
        GateSettings,
        without=("range",),
        group="More",
        changes={"metavar": "N"},
        at_least=_AT_LEAST,
        limit=_LIMIT,
        undecided=_UNDECIDED_FLAGS,
    ),
    families: list[ComparingOptions] = flags.added_options("gate"),
    range: tuple[float, float] | None = _RANGE,  # noqa: A002 - the option's name
    rel: float | None = flags.rel_option(),
    query_texts: str | None = query_texts_option,
    judging: Judging = judging_options,
    data: DataOptions = data_options,
    form: Format = format_options(Gate.forms),
) -> None:
    """Fail if a run is worse than the baseline by a margin, or not good enough.

    A run passes if its mean difference from the baseline is shown to be above -margin, fails if it
    is shown to be worse than the baseline and not within the margin, and is undecided otherwise. If
    fewer than 10 queries differ, a run with a lower mean is undecided at best. If none differs, it
    passes as identical; but where every score is 0 on both sides, it is undecided. With --at-least,
    its mean must reach a number, with or without a baseline.

    The exit status is that of the worst run: 0 passed, 1 failed, 3 undecided; 2 is a wrong usage,
    or input that cannot be scored.

    \b
    cranfield gate demo/qrels.txt demo/*.run --baseline tfidf --margin 2%
    cranfield gate demo/qrels.txt demo/dense.run --at-least recall@5=0.5
    cranfield gate demo/rag-new.json --at-least recall@5=0.4
    """  # noqa: D301 - click's mark for lines to keep
    for family in families:  # what does not go together is refused before files are read
        family.gate_settings(settings)
    runs = add_group_members(qrels, runs, families)
    system_files = SystemFiles(qrels, runs, names, saved, alignment, rel, judging, data)
    baseline_file = None if baseline is None else _find_baseline_file(baseline, system_files)
    files = _files_to_read(baseline_file, system_files)
    options: Any = {**settings.changed_options(), **system_files.score_options, "range": range}
    options |= system_files.extension_options(families)
    # Without margins, at_least names the measures.
    measures = system_files.measures(DEFAULT_MEASURES) if names or baseline is not None else None
    if settings.at_least is not None and rel is not None and not saved:  # it is for these, too
        options["at_least"] = resolve_at_least(
            settings.at_least,
            lambda text: map(str, flags.parse_measures([text], DEFAULT_MEASURES, rel)),
        )
    judgments, opened_runs = system_files.read(files)
    if baseline_file is not None:
        baseline = (
            system_files.read_system_name(baseline_file)
            if opened_runs is None
            else opened_runs[0].name
        )
    gate_result = gate(
        judgments, opened_runs, measures, baseline=baseline, margin=margin, **options
    )
    show(gate_result, form, query_texts=query_texts)
    click.get_current_context().exit(_STATUS[gate_result.takes(gate_result.outcome)])
