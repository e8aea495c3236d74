"""`cranfield evaluate QRELS RUN...`."""

from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    data_options,
    grades_options,
    read_inputs,
    size_of,
)
from cranfield.cli.terminal import Format, Reading, note, piped_format_option, show
from cranfield.data.judging import Judging
from cranfield.scoring.evaluate import DEFAULT_MEASURES, evaluate


@flags.command("evaluate")
def command(
    qrels: str | None = flags.argument(required=False, metavar="QRELS"),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    names: tuple[str, ...] = flags.measures(
        "What to compute (trec_eval's, ranx's and ir_measures' names work)", DEFAULT_MEASURES
    ),
    per_query: bool = flags.per_query(),
    rel: int | None = flags.rel(),
    bounds: bool = flags.option(
        is_flag=True,
        help="Show the lowest and highest value over every way to grade the unjudged documents "
        "that were retrieved.",
    ),
    listed: GradesOptions = grades_options,
    judging: Judging = all_judging_options,
    data: DataOptions = data_options,
    form: Format = piped_format_option,
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
    measures = flags.measures_of(names, DEFAULT_MEASURES, rel)
    judgments, named = read_inputs(qrels, runs, data, listed, judging)
    with Reading(size_of(named)) as progress:
        options = judging.unusual()
        systems = evaluate(judgments, named, measures, bounds=bounds, progress=progress, **options)
    texts = [str(one) for one in measures if one.definition.is_text]
    if texts and not per_query:
        note(f"{', '.join(texts)}: a text for each query, and none over all: -q shows it.")
    show(systems, form, per_query=per_query)
