"""`cranfield compare QRELS RUN RUN...`."""

from typing import Any, Literal, get_args

import click
from click.core import ParameterSource

from cranfield.cli.data import (
    DataOptions,
    data_options,
    judging_options,
    refuse_two_inputs,
)
from cranfield.cli.terminal import as_json, say, show_tables
from cranfield.comparison import (
    FLIPS,
    SEED,
    TIE,
    Correction,
    Family,
    Missing,
    Test,
    compare,
)
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.errors import OptionError
from cranfield.evaluation import Judging
from cranfield.formats.scores import WideColumns
from cranfield.measures import parse_all

Format = Literal["table", "markdown", "latex", "html", "csv", "tsv", "json"]


@click.command("compare")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "-m",
    "--measure",
    "names",
    multiple=True,
    metavar="MEASURE",
    help=f"What to compare, as in -m nDCG@10 -m AP. May be repeated.  "
    f"[default: {DEFAULT_MEASURES}, or all that were saved]",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="The system that the others are compared with, by its name or its file.  "
    "[default: the first]",
)
@click.option("--all-pairs", is_flag=True, help="Compare each system with each other, instead.")
@click.option(
    "--saved",
    is_flag=True,
    help="The files are saved scores of every query, of any tool: no judgments, no runs.",
)
@click.option(
    "--columns",
    type=click.Choice(get_args(WideColumns)),
    default="measures",
    show_default=True,
    help="Of a table of saved scores: what its columns are.",
)
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
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="The level of the test; intervals are 1 - alpha.",
)
@click.option(
    "--flips",
    type=int,
    default=FLIPS,
    show_default=True,
    help="How many to draw; up to 20 queries, all flips are tried.",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Of the flips.")
@click.option(
    "--tie",
    type=float,
    default=TIE,
    show_default=True,
    help="A query is tied where two scores differ by no more.",
)
@click.option(
    "--rope",
    type=float,
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
@click.option(
    "--missing",
    type=click.Choice(get_args(Missing)),
    help="What to do with a query that a system has no score for: refuse it, count it as 0, "
    "or drop it for all.  [default: zero; with --saved error]",
)
@click.option("--means", is_flag=True, help="Show each system's mean with its own interval, too.")
@click.option(
    "--changes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the N queries that change most, too.",
)
@click.option(
    "-l",
    "--rel",
    type=click.IntRange(min=0),
    help="The lowest grade that counts as relevant, for measures that state none.",
)
@judging_options
@data_options
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="How to print. csv and tsv have a row for each pair, json has everything.",
)
def command(
    qrels: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    baseline: str | None,
    saved: bool,
    slices: str | None,
    means: bool,
    changes: int | None,
    rel: int | None,
    missing: Missing | None,
    judging: Judging,
    data: DataOptions,
    form: Format,
    **options: Any,
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
    files = [qrels, *runs]
    refuse_two_inputs(*files)
    measures: Any = [one for name in names or (DEFAULT_MEASURES,) for one in parse_all(name, rel)]
    if saved:
        context = click.get_current_context()
        for name in (*judging, "rel"):
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                option = name.replace("_", "-")
                raise OptionError(
                    f"--{option} says how runs are judged; saved scores are as they are"
                )
        content: Any = files
        measures = list(names) or None
        judging = Judging()
    else:
        if not runs:
            raise click.UsageError("Missing argument 'RUN...'; for saved scores, say --saved.")
        judgments = data.read_qrels(qrels)
        named = data.read_runs(runs)
        content = (judgments, named)
        if baseline in runs and baseline not in [one.name for one in named]:
            baseline = named[runs.index(baseline)].name
    comparison = compare(
        content,
        measures,
        baseline=baseline,
        slices=slices,
        missing=missing,
        **options,
        **judging,
    )
    if form == "json":
        say(as_json(comparison.to_dict(), indent=2) + "\n")
    elif form in ("csv", "tsv"):
        say(comparison.to_csv("," if form == "csv" else "\t"))
    else:
        show_tables(comparison.tables(means=means, changes=changes or 0), form)
