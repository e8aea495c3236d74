"""`cranfield explain QRELS RUN [RUN] [QUERY]`."""

import re
from collections.abc import Sequence

import click

from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    data_options,
    grades_options,
    is_file,
    read_inputs,
    size_of,
)
from cranfield.cli.terminal import Format, Reading, format_option, show
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.explanation.explain import explain

_DEFAULT = "nDCG@10"


def _limit(value: str) -> int | str:
    """Read `--limit 30` or `--limit all`."""
    if value == "all":
        return value
    if not re.fullmatch("0*[1-9][0-9]{,8}", value):
        raise ValueError("a number of rows, 1 or more, or all")
    return int(value)


@flags.command("explain")
def command(
    qrels: str | None = flags.argument(required=False),
    runs: Sequence[str] = flags.argument(nargs=-1, metavar="RUN [RUN] [QUERY]"),
    names: tuple[str, ...] = flags.option(
        "-m",
        "--measure",
        multiple=True,
        metavar="MEASURE",
        help=f"The measure to explain, any that `evaluate` knows.  [default: {_DEFAULT}]",
    ),
    query: str | None = flags.option(
        metavar="QUERY",
        help="The query whose value is explained, as the last argument says it, too; without it, "
        "the value over all queries.",
    ),
    rel: int | None = flags.rel(),
    limit: int | str | None = flags.checked(
        _limit,
        type=str,
        metavar="N|all",
        help="How many rows of a table to show.  [default: 20 documents, 10 queries]",
    ),
    listed: GradesOptions = grades_options,
    judging: Judging = all_judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Show how a number came about.

    With a QUERY, the measure's own computation on it, step by step: the documents that count, with
    grade, gain, discount, term and running sum; the ideal ranking; the last line is the value.
    Beside it what was not judged, which equal scores mattered, the swap of two ranks and the
    judgment of one document that would change the value most. Without a QUERY, which queries pull
    the mean down. With two RUNs and a QUERY, which documents make the difference.

    \b
    cranfield explain qrels.txt bm25.run 19335 -m nDCG@10
    cranfield explain qrels.txt bm25.run -m AP
    cranfield explain qrels.txt bm25.run dense.run 19335 -m nDCG@10
    cranfield explain --grades "5 2 4 0 1" -m DCG
    """  # noqa: D301 - click's mark for lines to keep
    last = None
    if query is None and len(runs) > 1 and not is_file(runs[-1]):
        *runs, last = runs
    judgments, named = read_inputs(qrels, runs, data, listed, judging)
    if last is not None and last not in judgments.query_ids:
        raise InputError("neither a file nor a query of the qrels", source=last)
    measures = flags.measures_of(names, _DEFAULT, rel)
    if len(measures) > 1:
        raise click.UsageError(f"One measure is explained at a time: -m {measures[0]}, say.")
    with Reading(size_of(named)) as progress:
        found = explain(
            judgments,
            named,
            measures[0],
            query if query is not None else last,
            errors=data.errors,
            progress=progress,
            **judging.unusual(),
        )
    shown = {} if limit is None else {"limit": None if isinstance(limit, str) else limit}
    show(found, form, of_tables=shown)
