"""`cranfield gate QRELS RUN... --baseline RUN --margin NUMBER`."""

from typing import Any, Literal

import click

from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    data_options,
    is_file,
    judging_options,
    refuse_two_inputs,
)
from cranfield.cli.several import Several, place_of, saved_option
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.gate import gate
from cranfield.comparison.settings import Alignment, GateSettings
from cranfield.data.judging import Judging

_STATUS = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3}


def _ends(value: str) -> tuple[float, float]:
    """Read `0,1`."""
    try:
        low, high = map(float, value.split(","))
    except ValueError:
        raise ValueError("LOW,HIGH, as in 0,1") from None
    return low, high


@flags.command("gate")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    baseline: str = flags.option(
        required=True,
        metavar="FILE",
        help="The run to hold the others to; among these, it is left out, unless it is the only "
        "one. With --saved, its scores, or the name of a system in the other files.",
    ),
    margin: str = flags.option(
        required=True,
        metavar="NUMBER",
        help="By how much a run may be worse: a number in the unit of the measures, as 0.01, or a "
        "share of the baseline's mean, as 2%.",
    ),
    names: tuple[str, ...] = flags.measures(
        "What to judge by; every one must pass", f"{DEFAULT_MEASURES}, or all that were saved"
    ),
    saved: bool = saved_option,
    alignment: Alignment = flags.family(Alignment, group="Reading files"),
    settings: GateSettings = flags.family(
        GateSettings, without=("range",), group="Statistics", changes={"metavar": "N"}
    ),
    range: tuple[float, float] | None = flags.checked(  # noqa: A002 - the option's name
        _ends,
        group="Statistics",
        type=str,
        metavar="LOW,HIGH",
        help="The least and the greatest score that a query may have.  "
        "[default: the measure's own]",
    ),
    rel: int | None = flags.rel(),
    undecided: Literal["pass", "fail"] | None = flags.option(
        type=click.Choice(["pass", "fail"]),
        help="Let UNDECIDED exit with the status of a pass or a fail.  [default: 3]",
    ),
    judging: Judging = judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Fail if a run is worse than the baseline by a margin.

    A run passes if its mean difference from the baseline is shown to be above -margin, fails if it
    is shown to be worse than the baseline and not within the margin, and is undecided otherwise. If
    fewer than 10 queries differ, a run with a lower mean is undecided at best; if none does, it
    passes, and the report says so.

    The exit status is that of the worst run: 0 passed, 1 failed, 3 undecided; 2 is a wrong usage,
    or input that cannot be scored.

    \b
    cranfield gate qrels.txt new.run --baseline old.run --margin 0.01
    cranfield gate qrels.txt *.run --baseline old.run --margin 2% -m nDCG@10
    cranfield gate --saved new.txt --baseline old.txt --margin 0.01 -m map
    """  # noqa: D301 - click's mark for lines to keep
    several = Several(qrels, runs, names, saved, alignment, rel, judging, data)
    files = several.files
    named = saved and place_of(baseline, files) is None and not is_file(baseline)
    if not named:
        files = [baseline, *(one for one in files if place_of(one, [baseline]) is None)]
        if len(files) == 1:  # a run beside itself: whether the gate works at all
            files = [baseline, baseline]
        # Saved scores of the baseline are read for its name, too.
        refuse_two_inputs(*files, baseline if saved else qrels)
    measures = several.measures(DEFAULT_MEASURES)
    judgments, opened = several.read(files)
    if opened is not None:
        baseline = opened[0].name
    elif not named:
        baseline = several.saved_name(baseline)
    chosen: Any = {**settings.unusual(), **several.options, "range": range}
    found = gate(judgments, opened, measures, baseline=baseline, margin=margin, **chosen)
    show(found, form)
    outcome = found.outcome
    status = _STATUS[undecided.upper() if undecided and outcome == "UNDECIDED" else outcome]
    click.get_current_context().exit(status)
