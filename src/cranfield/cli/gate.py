"""`cranfield gate QRELS RUN... --baseline RUN --margin NUMBER`."""

from typing import Any, Literal, get_args

import click

from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.report import (
    alpha_option,
    check_inputs,
    flips_option,
    format_option,
    is_file,
    measure_option,
    measures_of,
    missing_option,
    number_option,
    place_of,
    rel_option,
    saved_options,
    saved_system,
    seed_option,
)
from cranfield.cli.terminal import Format, show
from cranfield.comparison import Missing, options
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.gate import gate
from cranfield.comparison.noninferiority import GateTest
from cranfield.formats.small.scores import Layout
from cranfield.judging import Judging

_STATUS = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3}


def _ends(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> tuple[float, float] | None:
    """Read `0,1`."""
    if value is None:
        return None
    try:
        low, high = map(float, value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected LOW,HIGH, as in 0,1", ctx) from None
    return low, high


@click.command("gate")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--baseline",
    required=True,
    metavar="FILE",
    help="The run to hold the others to; among these, it is left out, unless it is the only one. "
    "With --saved, its scores, or the name of a system in the other files.",
)
@click.option(
    "--margin",
    required=True,
    metavar="NUMBER",
    help="By how much a run may be worse: a number in the unit of the measures, as 0.01, or a "
    "share of the baseline's mean, as 2%.",
)
@measure_option(
    "What to judge by; every one must pass", f"{DEFAULT_MEASURES}, or all that were saved"
)
@saved_options
@click.option("--equivalence", is_flag=True, help="A run may not be better by the margin, either.")
@alpha_option()
@click.option(
    "--test",
    type=click.Choice(get_args(GateTest)),
    default="randomization",
    show_default=True,
    help="Flip the signs of the queries' differences; the paired t test; or bounded, which holds "
    "for any number of queries, however rare a loss is, and as often as one looks, but needs two "
    "to three times as many.",
)
@click.option(
    "--range",
    callback=_ends,
    metavar="LOW,HIGH",
    help="The least and the greatest score that a query may have.  [default: the measure's own]",
)
@number_option(
    "--changes",
    check=options.whole,
    bounds={"least": 0},
    metavar="N",
    help="Show the N queries that changed for the worse most.  [default: 5 where it is no PASS; "
    "all where fewer than 10 changed]",
)
@flips_option
@seed_option
@missing_option
@rel_option()
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    help="Let UNDECIDED exit with the status of a pass or a fail.  [default: 3]",
)
@judging_options
@data_options
@format_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    baseline: str,
    margin: str,
    names: tuple[str, ...],
    saved: bool,
    layout: Layout,
    missing: Missing | None,
    rel: int | None,
    undecided: Literal["pass", "fail"] | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
    **more: Any,
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
    cranfield gate qrels.txt *.run --baseline old.run --margin 2% -m nDCG@10 -m R@100
    cranfield gate --saved new.txt --baseline old.txt --margin 0.01 -m map
    """  # noqa: D301 - click's mark for lines to keep
    check_inputs(saved, runs)
    files = [qrels, *runs] if saved else list(runs)
    named = saved and place_of(baseline, files) is None and not is_file(baseline)
    if not named:
        files = [baseline, *(one for one in files if place_of(one, [baseline]) is None)]
        if len(files) == 1:  # a run beside itself: whether the gate works at all
            files = [baseline, baseline]
    measures: Any
    content: Any
    options: dict[str, Any]
    if saved:
        measures, content, options = list(names) or None, (files, None), {"layout": layout}
        if not named:
            refuse_two_inputs(*files, baseline)  # for its name, and for its scores
            baseline = saved_system(baseline, measures, layout)
    else:
        refuse_two_inputs(qrels, *files)
        measures, options = measures_of(names, DEFAULT_MEASURES, rel), judging.unusual()
        opened = data.read_runs(files)
        content, baseline = (data.read_qrels(qrels), opened), opened[0].name
    found = gate(
        *content, measures, baseline=baseline, margin=margin, missing=missing, **more, **options
    )
    show(found, form)
    outcome = found.outcome
    status = _STATUS[undecided.upper() if undecided and outcome == "UNDECIDED" else outcome]
    click.get_current_context().exit(status)
