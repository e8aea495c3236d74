"""`cranfield check QRELS [RUN...]`: what makes numbers wrong without an error."""

from dataclasses import replace
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, lenient_data_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, query_texts_option, show
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.formats.frames import hold_stream
from cranfield.scoring.check import check, unreadable_check


@flags.command("check")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="[RUN]..."),
    k: int = flags.option(
        "-k",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="The depth at which ties and unjudged documents are counted.",
    ),
    data: DataOptions = lenient_data_options,
    query_texts: str | None = query_texts_option,
    form: Format = format_option,
) -> None:
    """Find what makes numbers wrong without an error, before scoring.

    Rows that cannot be used, duplicates, ids that do not match, ties, ranks against scores, queries
    on one side only, documents without judgments, and more: each with how often it is seen and an
    example with its line. Exit status: 0, or 1 if there is a finding of severity error, 2 if a file
    cannot be read at all.

    \b
    cranfield check demo/qrels.txt
    cranfield check demo/qrels.txt demo/*.run
    cranfield check demo/qrels.txt demo/bm25.run --format json
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_stdin(qrels, *runs)
    data = replace(data, errors="skip")
    opened_runs: list[Run] | None = None
    table: Any = qrels if runs else hold_stream(qrels, "the judgments")
    try:
        if data.holds_both_sides([table, *runs]):
            judgments, opened_runs = data.read_both_sides([table, *runs], "first")
        else:
            judgments = data.read_qrels(table, "first")
    except InputError as error:
        if form.name == "json":
            show(unreadable_check(qrels, error), form, query_texts=query_texts)
        raise
    opened_runs = data.read_runs(runs) if opened_runs is None else opened_runs
    findings = check(judgments, opened_runs, k=k)
    show(findings, form, query_texts=query_texts)
    click.get_current_context().exit(2 if findings.unreadable else 0 if findings.ok else 1)
