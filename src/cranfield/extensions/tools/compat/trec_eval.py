"""trec_eval: its measures, with its names, order and printed form.

This module only has the rules of trec_eval's command: the order and the digits of printed measures,
and which topics count. The numbers come from the same measures as in `evaluate`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, floored_log, mean, total
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.run import read_run
from cranfield.errors import NothingSharedError
from cranfield.extensions.tools.compat.names import (
    CALCULATION,
    FILE,
    FORMATS,
    NO_TOPICS,
    PREFERENCES,
    Column,
    RelInfo,
    TrecEvalError,
    columns_of,
    measure_names,
    requested,
)
from cranfield.extensions.tools.zscores import read_zscores
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.columns import Side
from cranfield.formats.files import open_files
from cranfield.formats.source import Source
from cranfield.formats.trec import run_tag
from cranfield.measures import Plan
from cranfield.options import Options, option, whole_check

__all__ = ["TrecEvalError", "TrecEvalOptions", "trec_eval"]


@dataclass(frozen=True, kw_only=True)
class TrecEvalOptions(Options):
    """trec_eval's options, and `version_9`."""

    per_query: bool = option(False, "Print every topic, too.")
    complete: bool = option(
        False, "Average over all topics of the judgments; one without results counts as 0."
    )
    no_summary: bool = option(False, "Print no values over all topics.")
    level: int = option(1, "The lowest grade that counts as relevant.", whole_check(0, LARGEST_GRADE))
    depth: int | None = option(None, "Keep only the best N documents of each topic.", whole_check(1))
    judged_only: bool = option(
        False, "Drop documents that are unjudged or of negative grade before measuring."
    )
    n_documents: int = option(
        0, "The number of documents in the collection (for utility).", whole_check(0, LARGEST_GRADE)
    )
    measures: Sequence[str] = option(
        ("official",),
        "What to compute: a measure of trec_eval, as in -m map -m P.5,10 -m ndcg.1=2,2=4, or "
        "official, set, all_trec, prefs, all_prefs or qrels_jg. May be repeated.",
    )
    qrels_format: RelInfo = option("qrels", "What the judgments are.")
    results_format: Literal["trec_results"] = option("trec_results", "What the run is.")
    zscores: str | None = option(
        None,
        "Print by how many standard deviations each value is above its mean; FILE holds lines of "
        "topic, measure, mean, standard deviation.",
    )
    topic: str | None = option(None, "Evaluate only that topic; the level itself has no effect.")
    version_9: bool = option(
        False,
        "Rules of trec_eval 9 (and pytrec_eval): scores as 32-bit floats, its recall points, and "
        "topics that both files have.",
    )


def trec_eval(qrels: str, run: str, options: TrecEvalOptions = TrecEvalOptions()) -> Iterator[str]:
    """Evaluate a run file as trec_eval does, and yield the lines that it prints.

    Everything is computed before the first line is yielded.
    Raises TrecEvalError where trec_eval would end with an error status, InputError for files that
    cannot be read.
    """
    wanted = requested(options.measures, 9 if options.version_9 else 10)
    columns = _list_columns(wanted, options)
    if qrels == run == "-":
        raise TrecEvalError(FILE, "the standard input, `-`, can be read only once")
    rows = open_files(qrels, Side.QRELS, options.qrels_format)
    rows.ignores_hash_rows = True
    judgments = Qrels(rows)
    if options.qrels_format not in PREFERENCES:
        judgments.check_whole_grades(
            "trec_eval would cut off the digits after the point, without a warning",
            "Rescale the judgments, for instance by 10 or 100; `cranfield evaluate` accepts them "
            "unchanged.",
        )
    zscores = None if options.zscores is None else read_zscores(Source(options.zscores))
    ranking = read_run(run, format="trec")
    ranking.rows.ignores_hash_rows = True
    judging = Judging(
        scores="single" if options.version_9 else "double",
        # trec_eval breaks ties the other way where it looks at preferences.
        ties="ascending" if options.qrels_format in PREFERENCES else "document",
        depth=options.depth,
        judged_only=options.judged_only,
    )
    try:
        meeting = judge(judgments, ranking, judging)
    except NothingSharedError as error:
        every_topic_missing = not options.version_9 and not options.complete
        status = CALCULATION if every_topic_missing else NO_TOPICS
        raise TrecEvalError(status, str(error)) from None
    averaged, printed = _choose_topics(meeting, options)
    values = _column_values(meeting, columns, zscores, options)
    tag = run_tag(ranking.sources[-1])  # always read: an error if it is missing
    first = [f"{'runid':<22}\tall\t{tag or ''}\n"] if "runid" in wanted else []
    return _format_lines(first, meeting, columns, values, averaged, printed, options)


def _list_columns(wanted: Mapping[str, str | None], options: TrecEvalOptions) -> list[Column]:
    """Return the wanted columns, in trec_eval's order."""
    settings = {
        "rel": options.level,
        "collection": options.n_documents,
        "version": 9 if options.version_9 else 10,
    }
    columns = []
    for name in measure_names():
        if name not in wanted:
            continue
        formats = FORMATS.get(name, ("qrels",))
        if options.qrels_format not in formats:
            needs = " or ".join(f"-R {form}" for form in formats)
            raise TrecEvalError(
                CALCULATION, f"-m {name} needs {needs}, these are -R {options.qrels_format}"
            )
        if name != "runid":
            columns += columns_of(name, wanted[name], settings)
    return columns


def _choose_topics(meeting: MatchedRun, options: TrecEvalOptions) -> tuple[Bools, Bools]:
    """Return which of the judged topics are averaged, and which are printed: (n_queries,) each."""
    answered = meeting.is_in_run
    counted = np.ones(len(answered), np.bool_)
    if options.topic is not None:
        counted = np.array([query == options.topic for query in meeting.query_ids])
        if not counted.any():
            raise TrecEvalError(NO_TOPICS, f"-D: the qrels hold no topic {options.topic!r}")
    shared = answered & counted
    if options.complete:
        # Version 9 also averages over topics without results, but does not print them.
        return counted, shared if options.version_9 else counted
    missing = [meeting.query_ids[i] for i in np.flatnonzero(counted & ~answered).tolist()]
    if missing and not options.version_9:
        others = f" and {len(missing) - 1:,} other topics" if len(missing) > 1 else ""
        raise TrecEvalError(
            CALCULATION,
            f"the run has no results for topic {missing[0]!r}{others} of the qrels: give -c to "
            "count such topics as 0, or --version-9 to leave them out",
        )
    if not shared.any():
        raise TrecEvalError(NO_TOPICS, f"the run has no results for topic {missing[0]!r}")
    return shared, shared


def _column_values(
    meeting: MatchedRun,
    columns: Sequence[Column],
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None,
    options: TrecEvalOptions,
) -> list[Any]:
    """Return each column's value for every judged topic: a list of (n_queries,)."""
    matrix = Plan([column.measure for column in columns]).values(meeting.judged)
    values = []
    for column, value in zip(columns, matrix.T, strict=True):
        if column.measure.definition.is_text:
            if column.name != column.root and not options.judged_only:
                # trec_eval replaces an empty ranking by one unjudged document, and counts it here.
                value = np.where(meeting.is_in_run, value, "-")
            values.append(value)
            continue
        value = value.astype(np.float64)
        # Version 9 counts a topic without results as 0 in all measures, version 10 in utility.
        # Otherwise a measure has its value for an empty ranking, which is also 0, except for yaap.
        if options.version_9 or column.root == "utility":
            value = np.where(meeting.is_in_run, value, 0.0)
        if column.measure.definition.aggregation == "geometric":
            value = floored_log(value)
        if zscores is not None:
            value = _standardize(column, value, meeting.query_ids, zscores)
        values.append(value)
    return values


def _standardize(
    column: Column,
    values: Floats,
    query_ids: Sequence[str],
    known: Mapping[tuple[str, str], tuple[float, float]],
) -> Floats:
    """Return how many standard deviations each topic's value is from its mean."""
    result = []
    for query, value in zip(query_ids, values.tolist(), strict=True):
        mean_value, deviation = known.get((query, column.name), (math.nan, 0.0))
        if deviation:
            result.append((value - mean_value) / deviation)
        else:
            result.append(0.0 if value == mean_value else MISSING_ZSCORE)
    return np.array(result)


MISSING_ZSCORE = -1000000.0


def _format_lines(
    first: Iterable[str],
    meeting: MatchedRun,
    columns: Sequence[Column],
    values: Sequence[Any],
    averaged: Bools,
    printed: Bools,
    options: TrecEvalOptions,
) -> Iterator[str]:
    """Yield what is printed: the topics in the order of their ids' bytes, then the summary."""
    standardized = options.zscores is not None

    def line(column: Column, topic: str, value: Any) -> str:
        definition = column.measure.definition
        if definition.is_text:
            return f"{column.name:<22}\t{topic}\t'{value}'\n"
        whole = definition.aggregation == "sum" and not standardized
        shown = str(int(value)) if whole else f"{value:6.4f}"
        return f"{'Z' * standardized}{column.name:<22}\t{topic}\t{shown}\n"

    of_columns = list(zip(columns, values, strict=True))
    if options.per_query:
        of_topics = [
            (column, value.tolist())
            for column, value in of_columns
            if column.name != "num_q" and column.measure.definition.aggregation != "geometric"
        ]
        for i in np.flatnonzero(printed).tolist():
            for column, value in of_topics:
                yield line(column, meeting.query_ids[i], value[i])
    if options.no_summary:
        return
    yield from first
    for column, value in of_columns:
        aggregation, counted = column.measure.definition.aggregation, value[averaged]
        if column.measure.definition.is_text:
            continue
        if column.name == "num_rel" and options.complete:
            # trec_eval counts again here, regardless of -l.
            counted = meeting.judged.n_relevant(1)[averaged, 0] * 1.0
        if column.name == "num_q":
            found = float(len(counted))
        else:
            found = (total if aggregation == "sum" else mean)(counted)
        yield line(column, "all", math.exp(found) if aggregation == "geometric" else found)
