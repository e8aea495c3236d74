"""`cranfield evaluate QRELS RUN...`."""

import click

from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    data_options,
    grades_options,
    judging_options,
    read_inputs,
    size_of,
)
from cranfield.cli.terminal import Format, Reading, format_options, note, show
from cranfield.evaluation import DEFAULT_MEASURES, Judging, evaluate
from cranfield.judge import Queries
from cranfield.measures import parse_all


@click.command("evaluate")
@click.argument("qrels", required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "-m",
    "--measure",
    "names",
    multiple=True,
    metavar="MEASURE",
    help=f"What to compute, as in -m nDCG@10 -m 'P(rel=2)@5'; trec_eval's, ranx's and "
    f"ir_measures' names work. May be repeated.  [default: {DEFAULT_MEASURES}]",
)
@click.option("-q", "--per-query", is_flag=True, help="Show every query, too.")
@click.option(
    "-l",
    "--rel",
    type=click.IntRange(min=0),
    help="The lowest grade that counts as relevant, for measures that state none.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Show the lowest and highest value over every way to grade the unjudged documents that "
    "were retrieved.",
)
@click.option(
    "--queries",
    type=click.Choice(["judged", "both"]),
    default="judged",
    show_default=True,
    help="Average over all queries with judgments, or over those that the run has, too.",
)
@grades_options
@judging_options
@data_options
@format_options(None)
def command(
    qrels: str | None,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    per_query: bool,
    rel: int | None,
    bounds: bool,
    queries: Queries,
    listed: GradesOptions,
    judging: Judging,
    data: DataOptions,
    form: Format,
) -> None:
    """Score runs against judgments.

    QRELS holds judgments (TREC: query_id iteration doc_id grade), RUN what a system returned (TREC:
    query_id Q0 doc_id rank score tag). BEIR, MS MARCO, CSV, TSV, JSON, JSON lines, Parquet and
    Arrow are recognised, too, compressed or not; a folder or a quoted glob is one table; `-` reads
    the standard input. Several runs make one table. Or grades alone stand for both: --grades.

    \b
    cranfield evaluate qrels.txt bm25.run
    cranfield evaluate qrels.tsv *.parquet -m nDCG@10 -m AP -m 'P(rel=2)@5'
    cranfield evaluate qrels.csv run.csv --run-columns query_id=user,doc_id=item,score=pred
    cranfield evaluate qrels.txt bm25.run -m ndcg_cut_10 -q --format csv
    cranfield evaluate --grades "5 2 4 0 1" -m nDCG@5
    """  # noqa: D301 - click's mark for lines to keep
    measures = [one for name in names or (DEFAULT_MEASURES,) for one in parse_all(name, rel)]
    judgments, named = read_inputs(qrels, runs, data, listed)
    with Reading(size_of(named)) as progress:
        systems = evaluate(
            judgments,
            named,
            measures,
            queries=queries,
            **judging,
            bounds=bounds,
            progress=progress,
        )
    texts = [str(one) for one in measures if one.definition.is_text]
    if texts and not per_query:
        note(f"{', '.join(texts)}: a text for each query, and none over all: -q shows it.")
    show(systems, form, per_query=per_query)
