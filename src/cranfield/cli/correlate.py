"""`cranfield correlate QRELS RUN RUN RUN...`."""

from pathlib import Path
from typing import Any

import click

from cranfield.cli.data import data_options, judging_options, refuse_two_inputs
from cranfield.cli.flags import family_options, measure_option, rel_option
from cranfield.cli.several import Several, saved_options, several
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.settings import CorrelationSettings
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
@several
def command(
    several: Several,
    others: tuple[str, ...],
    reference: str | None,
    settings: CorrelationSettings,
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
    refuse_two_inputs(several.qrels, *others, *several.runs)
    if others and "-" in several.runs:
        raise InputError("the standard input, `-`, can be read only once: save the run in a file")
    measures = several.measures("nDCG@10" if others else "nDCG@10 AP")
    judgments, runs = several.read(several.files)
    if not several.saved:
        paths = list(dict.fromkeys((several.qrels, *others)))
        names = [Path(path).name for path in paths]
        every = [judgments, *map(several.data.read_qrels, paths[1:])]
        judgments = {
            path if names.count(name) > 1 else name: one
            for path, name, one in zip(paths, names, every, strict=True)
        }
    chosen: Any = {**settings.unusual(), **several.options, "reference": reference}
    show(correlate(judgments, runs, measures, **chosen), form)
