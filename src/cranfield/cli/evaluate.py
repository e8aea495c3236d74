"""`cranfield evaluate QRELS RUN...`."""

import click

from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    data_options,
    grades_options,
    read_inputs,
    size_of,
)
from cranfield.cli.flags import measure_option, measures_of, per_query_option, rel_option
from cranfield.cli.terminal import Format, Reading, note, piped_format_option, show
from cranfield.data.judging import Judging
from cranfield.scoring.evaluate import DEFAULT_MEASURES, evaluate


@click.command("evaluate")
@click.argument("qrels", required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, metavar="RUN...")
@measure_option(
    "What to compute (trec_eval's, ranx's and ir_measures' names work)", DEFAULT_MEASURES
)
@per_query_option
@rel_option()
@click.option(
    "--bounds",
    is_flag=True,
    help="Show the lowest and highest value over every way to grade the unjudged documents that "
    "were retrieved.",
)
@grades_options
@all_judging_options
@data_options
@piped_format_option
def command(
    qrels: str | None,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    per_query: bool,
    rel: int | None,
    bounds: bool,
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
    measures = measures_of(names, DEFAULT_MEASURES, rel)
    judgments, named = read_inputs(qrels, runs, data, listed)
    with Reading(size_of(named)) as progress:
        systems = evaluate(
            judgments,
            named,
            measures,
            bounds=bounds,
            progress=progress,
            **judging.unusual(),
        )
    texts = [str(one) for one in measures if one.definition.is_text]
    if texts and not per_query:
        note(f"{', '.join(texts)}: a text for each query, and none over all: -q shows it.")
    show(systems, form, per_query=per_query)
