"""`cranfield correlate QRELS RUN RUN RUN...`."""

from pathlib import Path
from typing import Any

import click

from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.report import (
    alpha_option,
    check_inputs,
    flips_option,
    format_option,
    measure_option,
    measures_of,
    missing_option,
    number_option,
    rel_option,
    saved_options,
    seed_option,
)
from cranfield.cli.terminal import Format, show
from cranfield.comparison import Missing, options
from cranfield.comparison.correlating import RESAMPLES, correlate
from cranfield.errors import InputError
from cranfield.formats.small.scores import Layout
from cranfield.judging import Judging


@click.command("correlate")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="RUN...")
@measure_option(
    "What to order the runs by",
    "nDCG@10, and AP unless there are other judgments; with --saved all",
)
@saved_options
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
@alpha_option()
@flips_option
@number_option(
    "--resamples",
    check=options.whole,
    bounds={"least": 1},
    default=RESAMPLES,
    show_default=True,
    help="How many resamples of the queries the interval comes from.",
)
@seed_option
@missing_option
@rel_option()
@judging_options
@data_options
@format_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    saved: bool,
    layout: Layout,
    others: tuple[str, ...],
    reference: str | None,
    discrimination: bool,
    missing: Missing | None,
    rel: int | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
    **more: Any,
) -> None:
    """Say how alike measures, or judgments, order the same systems.

    Kendall's tau, with an interval over the queries, of every two orderings of the runs; AP
    correlation, weighted tau and rank-biased overlap; and the pairs of runs that two orderings
    put the other way round although each of them is sure.

    \b
    cranfield correlate qrels.txt *.run -m nDCG@10 -m AP -m RR@10
    cranfield correlate qrels.txt *.run -m nDCG@10 --qrels other.txt --qrels third.txt
    cranfield correlate qrels.txt *.run -m nDCG@10 -m P@10 --reference nDCG@10 --discrimination
    cranfield correlate --saved old.txt new.txt other.txt -m map -m recip_rank
    """  # noqa: D301 - click's mark for lines to keep
    check_inputs(saved, runs)
    refuse_two_inputs(qrels, *others, *runs)
    content: Any = ([qrels, *runs], None)
    measures: Any = list(names) or None
    if not saved:
        if others and "-" in runs:
            raise InputError(
                "the standard input, `-`, can be read only once: save the run in a file"
            )
        measures = measures_of(names, "nDCG@10" if others else "nDCG@10 AP", rel)
        paths = list(dict.fromkeys((qrels, *others)))
        files = [Path(path).name for path in paths]
        judgments = {
            path if files.count(file) > 1 else file: data.read_qrels(path)
            for path, file in zip(paths, files, strict=True)
        }
        content = (judgments, data.read_runs(runs))
    options_of_data: dict[str, Any] = {"layout": layout} if saved else judging.unusual()
    found = correlate(
        *content,
        measures,
        reference=reference,
        discrimination=discrimination,
        missing=missing,
        **more,
        **options_of_data,
    )
    show(found, form)
