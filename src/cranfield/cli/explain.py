"""`cranfield explain QRELS RUN [RUN] [QUERY]`: how a number came about."""

import re
from collections.abc import Sequence
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    data_options,
    grades_options,
    is_file,
    is_measure,
    measures_hint,
    open_inputs,
)
from cranfield.cli.terminal import Format, doc_texts_option, format_option, query_texts_option, show
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.explanation.explain import explain
from cranfield.explanation.mean import MeanExplanation
from cranfield.explanation.queries import QueryDifferences
from cranfield.explanation.scene import known_queries_hint
from cranfield.scoring.job import ScoringOptions

_DEFAULT = "nDCG@10"


def _limit(value: str) -> int | str:
    """Read `--limit 30` or `--limit all`."""
    if value == "all":
        return value
    if not re.fullmatch("0*[1-9][0-9]{,8}", value):
        raise ValueError("a number of rows, 1 or more, or all")
    return int(value)


@flags.command("explain")
def command(
    qrels: str | None = flags.argument(required=False),
    runs: Sequence[str] = flags.argument(nargs=-1, metavar="RUN [RUN] [QUERY]"),
    names: tuple[str, ...] = flags.option(
        "-m",
        "--measure",
        multiple=True,
        metavar="MEASURE",
        help=f"The measure to explain, any that `evaluate` knows.  [default: {_DEFAULT}]",
    ),
    query: str | None = flags.option(
        metavar="QUERY",
        help="The query whose value is explained, as the last argument says it, too; without it, "
        "the value over all queries, or, of two runs, the queries that changed.",
    ),
    rel: float | None = flags.rel_option(),
    families: Sequence[ScoringOptions] = flags.added_options("explain"),
    limit: int | str | None = flags.checked_option(
        _limit,
        type=str,
        metavar="N|all",
        help="How many rows of a table to show.  [default: 20 documents, 10 queries]",
    ),
    query_texts: str | None = query_texts_option,
    doc_texts: tuple[str, ...] = doc_texts_option,
    grades: GradesOptions = grades_options,
    judging: Judging = all_judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Show how a number came about.

    With a QUERY, the measure's own computation on it, step by step: the documents that count, with
    grade, gain, discount, term and running sum; the ideal ranking; the last line is the value.
    Beside it what was not judged, which equal scores mattered, the swap of two ranks and the
    judgment of one document that would change the value most. Without a QUERY, which queries pull
    the mean down. With two RUNs, on which queries the second is worse than the first, the worst
    first; and with a QUERY, which documents make the difference.

    \b
    cranfield explain demo/qrels.txt demo/bm25.run q08 -m nDCG@10
    cranfield explain demo/qrels.txt demo/bm25.run -m AP
    cranfield explain demo/qrels.txt demo/bm25.run demo/dense.run -m nDCG@10
    cranfield explain demo/qrels.txt demo/bm25.run demo/dense.run q08
    cranfield explain --grades "5 2 4 0 1" -m DCG
    """  # noqa: D301 - click's mark for lines to keep
    runs, last_argument = _split_query(qrels, runs, query, data)
    judgments_or_reader, named_runs = open_inputs(qrels, runs, data, grades, judging)
    judgments = data.read(judgments_or_reader)
    if last_argument is not None and last_argument not in judgments.query_ids:
        hint = (
            measures_hint([last_argument])
            if is_measure(last_argument)
            else known_queries_hint(last_argument, judgments)
        )
        raise InputError("neither a file nor a query of the qrels", source=last_argument, hint=hint)
    measures = flags.parse_measures(names, _DEFAULT, rel)
    if len(measures) > 1:
        raise click.UsageError(f"explain takes one measure: name it alone, as in -m {measures[0]}")
    options: Any = judging.changed_options()
    for family in families:
        options |= family.changed_options()
    explanation = explain(
        judgments,
        named_runs,
        measures[0],
        query if query is not None else last_argument,
        errors=data.errors,
        **options,
    )
    if isinstance(explanation, MeanExplanation | QueryDifferences):
        flags.refuse_options({"doc_texts"}, "shows texts of documents: name a query, with --query")
    table_options = {} if limit is None else {"limit": None if isinstance(limit, str) else limit}
    show(explanation, form, of_tables=table_options, query_texts=query_texts, doc_texts=doc_texts)


def _split_query(
    qrels: str | None, runs: Sequence[str], query: str | None, data: DataOptions
) -> tuple[Sequence[str], str | None]:
    """Return the files of runs, and the last argument if it is a query, else None."""
    if not runs or is_file(runs[-1]):
        return runs, None
    if query is None:
        is_query = len(runs) > 1 or data.holds_both_sides([str(qrels)])
        return (runs[:-1], runs[-1]) if is_query else (runs, None)
    if len(runs) > 1:
        raise click.UsageError(
            f"{runs[-1]}: cannot be read: no such file; and if it is a query, --query {query} "
            "names one already: name it once"
        )
    return runs, None
