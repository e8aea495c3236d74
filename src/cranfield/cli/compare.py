"""`cranfield compare QRELS RUN RUN...`."""

from typing import Any, get_args

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
    place_of,
    rel_option,
    saved_options,
    saved_system,
    seed_option,
)
from cranfield.cli.terminal import Format, show
from cranfield.comparison import TIE, Correction, Family, Missing, Test, compare, options
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.errors import OptionError
from cranfield.formats.small.scores import Layout
from cranfield.judging import Judging


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
@click.option("--all-pairs", is_flag=True, help="Compare each system with each other, instead.")
@saved_options
@click.option(
    "--test",
    type=click.Choice(get_args(Test)),
    default="randomization",
    show_default=True,
    help="randomization flips the signs of the queries' differences. wilcoxon and sign do not test "
    "the mean; bayes says how probable it is that a system is better.",
)
@click.option(
    "--correction",
    type=click.Choice(get_args(Correction)),
    help="Of p-values, for the number of comparisons.  [default: holm]",
)
@click.option(
    "--family",
    type=click.Choice(get_args(Family)),
    default="measure",
    show_default=True,
    help="Correct over the comparisons of one measure, or of all.",
)
@alpha_option()
@flips_option
@seed_option
@number_option(
    "--tie",
    check=options.number,
    bounds={"least": 0},
    default=TIE,
    show_default=True,
    help="A query is tied where two scores differ by no more.",
)
@number_option(
    "--rope",
    check=options.number,
    bounds={"least": 0},
    help="A mean difference below this is practically none: shows how probable it is that a system "
    "is better, the same, worse.",
)
@click.option(
    "--slices",
    metavar="FILE",
    help="Labels of queries (a column of query ids, one or more of labels): compare on those of "
    "each label by themselves, too.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Show where each difference may lie, whatever the unjudged documents are.",
)
@missing_option
@click.option("--means", is_flag=True, help="Show each system's mean with its own interval, too.")
@number_option(
    "--changes",
    check=options.whole,
    bounds={"least": 1},
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
    all_pairs: bool,
    saved: bool,
    layout: Layout,
    slices: str | None,
    means: bool,
    changes: int | None,
    rel: int | None,
    missing: Missing | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
    **more: Any,
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
    if all_pairs and baseline is not None:
        raise OptionError("--all-pairs compares with no baseline: leave --baseline out")
    measures: Any
    content: Any
    if saved:
        measures, files = list(names) or None, [qrels, *runs]
        at = None if baseline is None else place_of(baseline, files)
        if at is not None:
            refuse_two_inputs(files[at], files[at])  # for its name, and for its scores
            files.insert(0, files.pop(at))
            baseline = saved_system(files[0], measures, layout)
        content, judging = (files, None), Judging()
    else:
        measures = measures_of(names, DEFAULT_MEASURES, rel)
        named = data.read_runs(runs)
        content = (data.read_qrels(qrels), named)
        if baseline is not None and baseline not in [one.name for one in named]:
            at = place_of(baseline, runs)
            baseline = baseline if at is None else named[at].name
    found = compare(
        *content,
        measures,
        baseline=baseline,
        all_pairs=all_pairs,
        layout=layout,
        slices=slices,
        missing=missing,
        **more,
        **judging.unusual(),
    )
    show(found, form, of_tables={"means": means, "changes": changes or 0})
