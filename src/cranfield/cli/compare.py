"""`cranfield compare QRELS RUN RUN...`."""

from typing import Any

import click

from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.flags import family_options, number_option
from cranfield.cli.report import (
    check_inputs,
    format_option,
    measure_option,
    measures_of,
    place_of,
    rel_option,
    saved_options,
    saved_system,
)
from cranfield.cli.terminal import Format, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.compare import compare
from cranfield.comparison.settings import Alignment, Settings
from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.options import whole


@click.command("compare")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="RUN...")
@measure_option("What to compare", f"{DEFAULT_MEASURES}, or all that were saved")
@click.option(
    "--baseline",
    metavar="NAME",
    help="The system that the others are compared with, by its name or its file.  "
    "[default: the first]",
)
@family_options(Settings, "settings", without=("baseline",))
@saved_options
@click.option(
    "--slices",
    metavar="FILE",
    help="Labels of queries (a column of query ids, one or more of labels): compare on those of "
    "each label by themselves, too.",
)
@click.option("--means", is_flag=True, help="Show each system's mean with its own interval, too.")
@number_option(
    "--changes",
    kind=int,
    check=whole(1),
    metavar="N",
    help="Show the N queries that change most, too, those that get worse first.",
)
@rel_option()
@judging_options
@data_options
@format_option
def command(
    qrels: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    baseline: str | None,
    settings: Settings,
    saved: bool,
    alignment: Alignment,
    slices: str | None,
    means: bool,
    changes: int | None,
    rel: int | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
) -> None:
    """Compare systems: is one better, by how much, how sure is that, and where.

    Each RUN is compared with the first, or with --baseline, over the queries of QRELS. Files are as
    `cranfield evaluate` takes them. With --saved, all files are scores of single queries that were
    saved before, as `cranfield evaluate -q`, `trec_eval -q` or ir_measures write them.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m nDCG@10
    cranfield compare qrels.txt *.run -m nDCG@10 -m AP --all-pairs --correction maxt
    cranfield compare qrels.txt old.run new.run --slices types.csv --changes 5
    cranfield compare --saved old.txt new.txt -m map --format latex
    """  # noqa: D301 - click's mark for lines to keep
    check_inputs(saved, runs)
    refuse_two_inputs(qrels, *runs)
    if settings.all_pairs and baseline is not None:
        raise OptionError("--all-pairs compares with no baseline: leave --baseline out")
    measures: Any
    judgments: Any
    named: Any
    if saved:
        measures, files = list(names) or None, [qrels, *runs]
        at = None if baseline is None else place_of(baseline, files)
        if at is not None:
            refuse_two_inputs(files[at], files[at])  # for its name, and for its scores
            files.insert(0, files.pop(at))
            baseline = saved_system(files[0], measures, alignment)
        judgments, named, judging = files, None, Judging()
    else:
        measures = measures_of(names, DEFAULT_MEASURES, rel)
        judgments, named = data.read_qrels(qrels), data.read_runs(runs)
        if baseline is not None and baseline not in [one.name for one in named]:
            at = place_of(baseline, runs)
            baseline = baseline if at is None else named[at].name
    chosen: Any = {
        **settings.unusual(),
        **alignment.unusual(),
        **judging.unusual(),
        "slices": slices,
        "baseline": baseline,
    }
    found = compare(judgments, named, measures, **chosen)
    show(found, form, of_tables={"means": means, "changes": changes or 0})
