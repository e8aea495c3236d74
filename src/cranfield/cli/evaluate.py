"""`cranfield evaluate QRELS RUN...`."""

from dataclasses import replace
from typing import Any

import click

from cranfield.arrays.threads import at_most
from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    convention_option,
    data_options,
    dealing_options,
    grades_options,
    human_option,
    is_file,
    is_measure,
    open_inputs,
    powered_options,
    refuse_same,
    refuse_two_inputs,
    threads_options,
)
from cranfield.cli.terminal import (
    Format,
    note,
    piped_format_option,
    query_texts_option,
    say_dealing,
    show,
)
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.level import Level
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.extensions.scale.options import Dealing
from cranfield.scoring.arguments import Threads
from cranfield.scoring.evaluate import DEFAULT_MEASURES, evaluate, usual_measures


@flags.command("evaluate")
def command(
    qrels: str | None = flags.argument(required=False, metavar="QRELS"),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    names: tuple[str, ...] = flags.measures(
        "What to compute (trec_eval's, ranx's and ir_measures' names work)", DEFAULT_MEASURES
    ),
    per_query: bool = flags.per_query(),
    rel: float | None = flags.rel(),
    query_texts: str | None = query_texts_option,
    convention: str | None = convention_option,
    bounds: bool = flags.option(
        is_flag=True,
        help="Show the lowest and highest value over every way to grade the unjudged documents "
        "that were retrieved.",
    ),
    slices: str | None = flags.slices("average over those of each label, too"),
    with_intervals: bool = flags.option(
        "--intervals",
        group="Statistics",
        is_flag=True,
        help="Show each mean with its confidence interval.",
    ),
    human: str | None = human_option,
    powered: PoweredSettings = powered_options,
    level: Level = flags.family(Level, group="Statistics"),
    of_intervals: list[ComparingOptions] = flags.families("intervals"),
    listed: GradesOptions = grades_options,
    judging: Judging = all_judging_options,
    data: DataOptions = data_options,
    dealing: Dealing = dealing_options,
    threads: Threads = threads_options,
    form: Format = piped_format_option,
) -> None:
    """Score runs against judgments.

    QRELS holds judgments (TREC: query_id iteration doc_id grade), RUN what a system returned (TREC:
    query_id Q0 doc_id rank score tag). BEIR, MS MARCO, CSV, TSV, JSON, JSON lines, Parquet and
    Arrow are recognised, too, compressed or not; a folder or a quoted glob is one table; `-` reads
    the standard input. Several runs make one table. A file that holds both sides, the expected and
    the retrieved documents of each query, needs no RUN. Nor do grades: --grades.

    \b
    cranfield evaluate demo/qrels.txt demo/bm25.run
    cranfield evaluate demo/qrels.txt demo/*.run -m nDCG@10 -m 'P(rel=2)@5'
    cranfield evaluate demo/qrels.txt demo/bm25.run -m map -q --format csv
    cranfield evaluate demo/rag.json -m recall@5
    cranfield evaluate demo/qrels.txt demo/bm25.run --intervals
    cranfield evaluate demo/qrels.txt demo/bm25.run -m P@10 --human second.qrels
    cranfield evaluate --grades "5 2 4 0 1" -m nDCG@5
    """  # noqa: D301 - click's mark for lines to keep
    if not per_query:
        flags.refuse_options({"query_texts"}, "(--topics) has no effect without -q")
    if with_intervals or human is not None:
        option = "--intervals" if human is None else "--human"
        flags.refuse_options(
            {"per_query", "slices", "bounds"}, f"does not go with {option}, which shows means"
        )
    else:
        flags.refuse_options({"alpha"}, "applies to intervals: add --intervals")
    if not with_intervals or human is not None:
        why = "applies to intervals: add --intervals"
        why = why if human is None else "does not go with --human"
        flags.refuse_options(flags.names_of(of_intervals), why)
    if human is None:
        flags.refuse_options({"lam"}, "applies to human labels beside a model's: add --human")
    else:
        flags.refuse_options({"convention", "buckets", "queries"}, "does not go with --human")
        files = [*filter(None, [qrels]), *runs]
        refuse_two_inputs(*files, human)
        refuse_same(human, files)
    flags.measures_of(names, DEFAULT_MEASURES, rel)  # what is wrong with them comes first
    if per_query and runs and not (is_file(runs[-1]) or is_measure(runs[-1])):
        hint = "-q shows every query, and takes none; one is `cranfield explain ... --query QUERY`."
        raise InputError("no such file", source=runs[-1], hint=hint)
    click.get_current_context().with_resource(at_most(threads.threads))
    judgments, named = open_inputs(qrels, runs, data, listed, judging)
    n_buckets = dealing.n_buckets(judgments, named)
    if n_buckets == 1:
        judgments = data.read(judgments)
    else:
        say_dealing(n_buckets, dealing.temp)
    measures = flags.measures_of(names, usual_measures(judgments), rel)
    if human is not None:
        from cranfield.extensions.labels.human.human_labels import prediction_powered

        labels = data.read_human(human, judging.duplicates)
        settings: Any = {**powered.unusual(), **level.unusual(), **judging.unusual()}
        found = prediction_powered(judgments, named, measures, human=labels, **settings)
        of_means = tuple(one for one in found.notes if one.code != "few-differ")
        show(replace(found, differences={}, notes=of_means), form)
        return
    options = {**judging.unusual(), "bounds": bounds, "slices": slices}
    options |= {"convention": convention, "buckets": n_buckets, "temp": dealing.temp}
    options |= {"threads": threads.threads}
    # Scores that are saved with every query may be compared with others one day.
    options["fingerprints"] = per_query and "json" in form.names
    wanted = measures if names or rel is not None else DEFAULT_MEASURES
    opened: Any = judgments  # read by `evaluate`, if they are still to be read
    systems = evaluate(opened, named, wanted, **options)
    if with_intervals:
        from cranfield.comparison.intervals import intervals

        chosen: Any = level.unusual()
        for family in of_intervals:
            chosen |= family.unusual()
        show(intervals(systems, **chosen), form)
        return
    texts = [str(one) for one in measures if one.definition.is_text]
    if texts and not per_query:
        note(f"{', '.join(texts)}: a string for each query, and none over all: -q shows it.")
    show(systems, form, query_texts=query_texts, per_query=per_query)
