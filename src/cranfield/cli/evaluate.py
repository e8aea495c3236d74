"""`cranfield evaluate QRELS RUN...`."""

from collections.abc import Iterator
from typing import Any

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
from cranfield.cli.report import measure_option, measures_of, rel_option
from cranfield.cli.terminal import (
    PAGES,
    Format,
    Reading,
    as_json,
    format_options,
    note,
    say,
    say_notes,
    show_tables,
)
from cranfield.evaluation import DEFAULT_MEASURES, evaluate
from cranfield.judging import Judging
from cranfield.scores import Scores, Systems

_FORMATS = ("table", "tsv", "csv", "json", "jsonl", "markdown", "latex", "html")


@click.command("evaluate")
@click.argument("qrels", required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, metavar="RUN...")
@measure_option(
    "What to compute (trec_eval's, ranx's and ir_measures' names work)", DEFAULT_MEASURES
)
@click.option("-q", "--per-query", is_flag=True, help="Show every query, too.")
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
@format_options(_FORMATS, None, "How to print.")
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
    if form.name == "table" or form.name in PAGES:
        show_tables([systems.table(per_query=per_query)], form.name)
        return
    if form.name == "json":
        say(as_json(_document(systems, per_query), indent=2) + "\n")
        return
    rows = _rows(systems, per_query)
    if form.name == "jsonl":
        say("".join(as_json(dict(zip(_COLUMNS, row, strict=True))) + "\n" for row in rows))
    else:
        say(form.separated([_COLUMNS, *rows]))
    say_notes(systems.notes)


_COLUMNS = ("run", "measure", "query_id", "value")


def _rows(systems: Systems, per_query: bool) -> Iterator[tuple[str, str, str, float | int | str]]:
    for run, scores in systems.items():
        if per_query:
            for query, values in scores.to_dict().items():
                for name, value in values.items():
                    yield run, name, query, _plain(scores, name, value)
        for name, value in scores.means().items():
            yield run, name, "all", _plain(scores, name, value)


def _document(systems: Systems, per_query: bool) -> dict[str, Any]:
    runs = []
    for name, scores in systems.items():
        run: dict[str, Any] = {
            "run": name,
            "read_as": scores.recipe["run"],
            "counts": vars(scores.counts),
            "notes": [one.to_dict() for one in scores.notes],
            "all": {key: _plain(scores, key, value) for key, value in scores.means().items()},
        }
        if scores.bounds is not None:
            proved = scores.bounds.proved.T.tolist()
            run["bounds"] = {
                "highest_grade": scores.bounds.top_grade,
                "retrieved": scores.bounds.n_retrieved,
                "judged": scores.bounds.n_judged,
                "proved": dict(zip(map(str, scores.measures), map(all, proved), strict=True)),
            }
        if per_query:
            run["queries"] = {
                query: {key: _plain(scores, key, value) for key, value in values.items()}
                for query, values in scores.to_dict().items()
            }
        runs.append(run)
    recipe = dict(next(iter(systems.values())).recipe)
    del recipe["run"]  # each run says its own
    return {"recipe": recipe, "runs": runs}


def _plain(scores: Scores, name: str, value: float | str) -> float | int | str:
    """Return every digit of a value; counts are whole."""
    return int(value) if scores.columns[name][0].definition.aggregation == "sum" else value
