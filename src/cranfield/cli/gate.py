"""`cranfield gate QRELS RUN... --baseline RUN --margin NUMBER`."""

from typing import Literal, get_args

import click

from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.terminal import as_json, note, say, show_tables
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.flips import FLIPS, SEED
from cranfield.comparison.gate import GateTest, gate
from cranfield.evaluation import Judging
from cranfield.render import delimited

Format = Literal["table", "markdown", "latex", "html", "csv", "tsv", "json"]
_STATUS = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3}


@click.command("gate")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--baseline", required=True, metavar="RUN", help="The run to hold the others to.")
@click.option(
    "--margin",
    required=True,
    metavar="NUMBER",
    help="By how much a run may be worse: a number in the unit of the measures, as 0.01, or a "
    "share of the baseline's mean, as 2%.",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help=f"What to judge by; every one must pass. May be repeated.  [default: {DEFAULT_MEASURES}]",
)
@click.option("--equivalence", is_flag=True, help="A run may not be better by the margin, either.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="How likely a run that is worse by just the margin may be to pass.",
)
@click.option(
    "--test",
    type=click.Choice(get_args(GateTest)),
    default="randomization",
    show_default=True,
    help="Flip the signs of the queries' differences, or the paired t test.",
)
@click.option(
    "--flips",
    type=click.IntRange(min=1),
    default=FLIPS,
    show_default=True,
    help="How many flips to draw; up to 20 queries, all are tried.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="Of the flips."
)
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    help="Let UNDECIDED exit with the status of a pass or a fail.  [default: 3]",
)
@judging_options
@data_options
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.pass_context
def command(
    ctx: click.Context,
    qrels: str,
    runs: tuple[str, ...],
    baseline: str,
    margin: str,
    measures: tuple[str, ...],
    equivalence: bool,
    alpha: float,
    test: GateTest,
    flips: int,
    seed: int,
    undecided: Literal["pass", "fail"] | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
) -> None:
    """Fail if a run is worse than the baseline by a margin.

    A run passes if its mean difference from the baseline is shown to be above -margin, fails if it
    is shown to be worse than the baseline and not within the margin, and is undecided otherwise.
    The exit status is that of the worst run: 0 passed, 1 failed, 3 undecided; 2 is a wrong usage,
    or input that cannot be scored.

    \b
    cranfield gate qrels.txt new.run --baseline old.run --margin 0.01
    cranfield gate qrels.txt new.run --baseline old.run --margin 2% -m nDCG@10 -m R@100
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_inputs(qrels, baseline, *runs)
    old, *new = data.read_runs([baseline, *runs])
    found = gate(
        (data.read_qrels(qrels), [old, *new]),
        measures or None,
        baseline=old.name,
        margin=margin,
        equivalence=equivalence,
        alpha=alpha,
        test=test,
        flips=flips,
        seed=seed,
        **judging,
    )
    if form == "json":
        say(as_json(found.to_dict(), indent=2) + "\n")
    elif form not in ("csv", "tsv"):
        show_tables([found.table()], form)
    else:
        rows = [vars(one) for one in found.verdicts]
        lines = [list(rows[0]), *(list(row.values()) for row in rows)]
        say(delimited(lines, "," if form == "csv" else "\t"))
        for line in found.notes:
            note(line)
    outcome = found.outcome
    ctx.exit(_STATUS[undecided.upper() if undecided and outcome == "UNDECIDED" else outcome])
