"""`cranfield check QRELS [RUN...]`."""

from dataclasses import replace
from typing import Literal

import click

from cranfield.checking import check, unreadable
from cranfield.cli.data import DataOptions, lenient_data_options, refuse_two_inputs, size_of
from cranfield.cli.terminal import Reading, as_json, say
from cranfield.errors import InputError


@click.command("check")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="The depth at which ties and unjudged documents are counted.",
)
@lenient_data_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.pass_context
def command(
    ctx: click.Context,
    qrels: str,
    runs: tuple[str, ...],
    k: int,
    data: DataOptions,
    form: Literal["text", "json"],
) -> None:
    """Find what silently ruins numbers, before scoring.

    Rows that cannot be used, duplicates, ids that do not match, ties, ranks against scores, queries
    on one side only, documents without judgments, and more: each with how often it is seen and an
    example with its line. Exit status: 0, or 1 if there is a finding of severity error, 2 if a file
    cannot be read at all.

    \b
    cranfield check qrels.txt
    cranfield check qrels.txt bm25.run dense.run
    cranfield check qrels.txt bm25.run --format json
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_inputs(qrels, *runs)
    data = replace(data, errors="skip")
    try:
        judgments = data.read_qrels(qrels)
    except InputError as error:
        if form == "json":
            say(as_json(unreadable(qrels, error).to_dict(), indent=2) + "\n")
        raise
    opened = data.read_runs(runs)
    with Reading(size_of(opened)) as progress:
        report = check(judgments, opened, k=k, progress=progress)
    if form == "json":
        say(as_json(report.to_dict(), indent=2) + "\n")
    else:
        say(f"{report}\n")
    ctx.exit(2 if report.unreadable else 0 if report.ok else 1)
