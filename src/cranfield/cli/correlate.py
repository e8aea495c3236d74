"""`cranfield correlate QRELS RUN RUN RUN...`."""

from pathlib import Path
from typing import Any

import click

from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.flags import family_options
from cranfield.cli.report import (
    check_inputs,
    format_option,
    measure_option,
    measures_of,
    rel_option,
    saved_options,
)
from cranfield.cli.terminal import Format, show
from cranfield.comparison.settings import Alignment, CorrelationSettings
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.orderings.correlate import correlate


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
@family_options(CorrelationSettings, "settings")
@rel_option()
@judging_options
@data_options
@format_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    saved: bool,
    alignment: Alignment,
    others: tuple[str, ...],
    reference: str | None,
    settings: CorrelationSettings,
    rel: int | None,
    judging: Judging,
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
    cranfield correlate --saved old.txt new.txt other.txt -m map -m recip_rank
    """  # noqa: D301 - click's mark for lines to keep
    check_inputs(saved, runs)
    refuse_two_inputs(qrels, *others, *runs)
    judgments: Any = [qrels, *runs]
    opened: Any = None
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
        opened = data.read_runs(runs)
    chosen: Any = {
        **settings.unusual(),
        **alignment.unusual(),
        **judging.unusual(),
        "reference": reference,
    }
    show(correlate(judgments, opened, measures, **chosen), form)
