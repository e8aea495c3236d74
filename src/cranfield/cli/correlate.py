"""`cranfield correlate QRELS RUN RUN RUN...`."""

from pathlib import Path
from typing import Literal, get_args

import click

from cranfield.cli.data import DataOptions, data_options, refuse_two_inputs
from cranfield.cli.terminal import as_json, note, say, show
from cranfield.comparison.correlating import RESAMPLES, correlate
from cranfield.comparison.flips import SEED
from cranfield.errors import InputError
from cranfield.measures import parse_all
from cranfield.render import delimited, to_latex, to_markdown

Format = Literal["table", "tsv", "csv", "json", "markdown", "latex"]
_PAGES = {"markdown": to_markdown, "latex": to_latex}
_COLUMNS = ("reference", "ordering", "quantity", "value")


@click.command("correlate")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m",
    "--measure",
    "names",
    multiple=True,
    metavar="MEASURE",
    help="What to order the runs by. May be repeated.  [default: nDCG@10, and AP unless there "
    "are other judgments]",
)
@click.option(
    "--qrels",
    "others",
    multiple=True,
    metavar="OTHER",
    help="Other judgments for the same runs: each measure is compared with itself under these. "
    "May be repeated.",
)
@click.option(
    "--reference",
    metavar="NAME",
    help="Compare all others with this measure, or with these judgments (by the file's name).  "
    "[default: every two]",
)
@click.option(
    "--discrimination",
    is_flag=True,
    help="Add how many pairs of runs each measure tells apart, and how often two halves of the "
    "queries disagree.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The level of the test; the interval is 1 - alpha.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=RESAMPLES,
    show_default=True,
    help="How many resamples of the queries the interval comes from.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=SEED,
    show_default=True,
    help="Of all that is drawn by chance.",
)
@data_options
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(
    qrels: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    others: tuple[str, ...],
    reference: str | None,
    discrimination: bool,
    alpha: float,
    resamples: int,
    seed: int,
    data: DataOptions,
    form: Format,
) -> None:
    """Say how alike measures, or judgments, order the same systems.

    Kendall's tau, with an interval over the queries, of every two orderings of the runs; AP
    correlation, weighted tau and rank-biased overlap; and the pairs of runs that two orderings
    put the other way round although each of them is sure.

    \b
    cranfield correlate qrels.txt *.run -m nDCG@10 -m AP -m RR@10
    cranfield correlate qrels.txt *.run -m nDCG@10 --qrels other.txt --qrels third.txt
    cranfield correlate qrels.txt *.run -m nDCG@10 -m P@10 --reference nDCG@10 --discrimination
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_inputs(qrels, *others, *runs)
    if others and "-" in runs:
        raise InputError("the standard input, `-`, can be read only once: save the run in a file")
    defaults = ("nDCG@10",) if others else ("nDCG@10 AP",)
    measures = [one for name in names or defaults for one in parse_all(name)]
    paths = list(dict.fromkeys((qrels, *others)))
    names_of = [Path(path).name for path in paths]
    labels = [path if names_of.count(Path(path).name) > 1 else Path(path).name for path in paths]
    judgments = {label: data.read_qrels(path) for label, path in zip(labels, paths, strict=True)}
    found = correlate(
        (judgments, data.read_runs(runs)),
        measures,
        reference=reference,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        discrimination=discrimination,
    )
    if form == "json":
        say(as_json(found.to_dict(), indent=2) + "\n")
    elif form in ("csv", "tsv"):
        say(delimited([_COLUMNS, *found.rows()], "," if form == "csv" else "\t"))
        for line in found.notes:
            note(line)
    elif form in _PAGES:
        say("\n".join(map(_PAGES[form], found.tables())))
    else:
        for n, table in enumerate(found.tables()):
            if n:
                say("\n")
            show(table)
