"""`cranfield evaluate QRELS RUN...`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from cranfield.arrays.threads import limit_threads
from cranfield.cli import flags
from cranfield.cli.data import (
    DataOptions,
    GradesOptions,
    all_judging_options,
    data_options,
    grades_options,
    is_file,
    is_measure,
    open_inputs,
    threads_options,
)
from cranfield.cli.terminal import Format, format_option, print_note, query_texts_option, show
from cranfield.cli.way import Way, choose_alternative
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.level import Level
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.measures import Measure
from cranfield.scoring.arguments import Threads
from cranfield.scoring.ends import EndsOptions
from cranfield.scoring.evaluate import DEFAULT_MEASURES, choose_default_measures, evaluate
from cranfield.scoring.job import ScoringOptions
from cranfield.scoring.scores import Systems


@dataclass(frozen=True)
class Inputs:
    """The judgments and runs, or lists of grades, to score, and the measures."""

    qrels: str | None
    runs: tuple[str, ...]
    names: tuple[str, ...]  # of the measures
    rel: float | None
    grades: GradesOptions
    judging: Judging
    data: DataOptions

    def check(self) -> None:
        """Raise MeasureError for an unknown measure, before files are read."""
        flags.parse_measures(self.names, DEFAULT_MEASURES, self.rel)

    def refuse_query_argument(self) -> None:
        """Raise InputError if the last argument is no file: it may be a query, as for `explain`."""
        last_argument = self.runs[-1] if self.runs else ""
        if last_argument and not (is_file(last_argument) or is_measure(last_argument)):
            raise InputError(
                "no such file",
                source=last_argument,
                hint="-q shows every query, and takes none; one is `cranfield explain ... --query "
                "QUERY`.",
            )

    def open(self) -> tuple[Qrels | QrelsReader, list[Run]]:
        """Open the judgments and the runs."""
        return open_inputs(self.qrels, self.runs, self.data, self.grades, self.judging)

    def measures(self, judgments: Qrels | QrelsReader) -> list[Measure]:
        """Return the measures that were named, or those that suit the judgments."""
        return flags.parse_measures(self.names, choose_default_measures(judgments), self.rel)

    def score(
        self,
        judgments: Qrels | QrelsReader,
        runs: list[Run],
        families: Sequence[ScoringOptions],
        **options: Any,
    ) -> Systems:
        """Return the scores of the runs."""
        is_stated = self.names or self.rel is not None
        options |= self.judging.changed_options()
        for family in families:
            options |= family.changed_options()
        judgments_or_reader: Any = judgments  # read by `evaluate`, if they are still to be read
        measures = self.measures(judgments) if is_stated else DEFAULT_MEASURES
        return evaluate(judgments_or_reader, runs, measures, **options)


inputs_options = flags.combined_options(
    Inputs,
    {
        "qrels": flags.argument(required=False, metavar="QRELS"),
        "runs": flags.argument(nargs=-1, metavar="RUN..."),
        "names": flags.measure_option(
            "What to compute (trec_eval's, ranx's and ir_measures' names work)", DEFAULT_MEASURES
        ),
        "rel": flags.rel_option(),
        "grades": grades_options,
        "judging": all_judging_options,
        "data": data_options,
    },
)


@flags.command("evaluate")
def command(
    inputs: Inputs = inputs_options,
    per_query: bool = flags.per_query_option(),
    query_texts: str | None = query_texts_option,
    families: Sequence[ScoringOptions] = flags.added_options("evaluate"),
    slices: str | None = flags.slices_option("average over those of each label, too"),
    with_intervals: bool = flags.option(
        "--intervals",
        group="Statistics",
        is_flag=True,
        help="Show each mean with its confidence interval.",
    ),
    alternatives: Sequence[Way] = flags.added_options("evaluate", alternatives=True),
    level: Level = flags.family_options(Level, group="Statistics"),
    of_intervals: Sequence[ComparingOptions] = flags.added_options("intervals"),
    threads: Threads = threads_options,
    form: Format = format_option,
) -> None:
    """Score runs against judgments.

    QRELS holds judgments (TREC: query_id iteration doc_id grade), RUN what a system returned (TREC:
    query_id Q0 doc_id rank score tag). BEIR, MS MARCO, CSV, TSV, JSON, JSON lines, Parquet and
    Arrow are recognised, too, compressed or not; a folder or a quoted glob is one table; `-` reads
    the standard input. Several runs make one table. A file that holds both sides, the expected and
    the retrieved documents of each query, needs no RUN.

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
    alternative = choose_alternative(alternatives)
    _refuse_options(alternative, with_intervals, families, of_intervals)
    click.get_current_context().with_resource(limit_threads(threads.threads))
    if alternative is not None:
        show(alternative.evaluate(inputs, level), form)
        return
    inputs.check()
    if per_query:
        inputs.refuse_query_argument()
    judgments, runs = inputs.open()
    if not any(family.reads_in_parts(judgments, runs) for family in families):
        judgments = inputs.data.read(judgments)
    if sys.stderr.isatty():
        for announcement in filter(None, (family.announce(judgments, runs) for family in families)):
            print_note(announcement)
    systems = inputs.score(
        judgments,
        runs,
        families,
        slices=slices,
        threads=threads.threads,
        # Scores that are saved with every query may be compared with others one day.
        fingerprints=per_query and "json" in form.names,
    )
    if with_intervals:
        from cranfield.comparison.intervals import intervals

        options: Any = level.changed_options()
        for family in of_intervals:
            options |= family.changed_options()
        show(intervals(systems, **options), form)
        return
    text_measures = [
        str(measure) for measure in inputs.measures(judgments) if measure.definition.is_text
    ]
    if text_measures and not per_query:
        print_note(
            f"{', '.join(text_measures)}: a string for each query, and none over all: -q shows it."
        )
    show(systems, form, query_texts=query_texts, per_query=per_query)


def _refuse_options(
    alternative: Way | None,
    with_intervals: bool,
    families: Sequence[ScoringOptions],
    of_intervals: Sequence[ComparingOptions],
) -> None:
    """Raise OptionError for options that an extension's alternative, or --intervals, excludes."""
    end_options = flags.option_names(
        family for family in families if isinstance(family, EndsOptions)
    )
    means_exclude = {"per_query", "slices", *end_options}
    if alternative is not None:
        flags.refuse_options(means_exclude, f"{alternative.refusal}, which shows means")
        flags.refuse_options(flags.option_names([*families, *of_intervals]), alternative.refusal)
    elif with_intervals:
        flags.refuse_options(means_exclude, "does not go with --intervals, which shows means")
    else:
        interval_options = {"alpha", *flags.option_names(of_intervals)}
        flags.refuse_options(interval_options, "applies to intervals: add --intervals")
