"""trec_eval: its measures, with its names, order and printed form.

This module has only the rules of trec_eval's command: the order and the digits of printed measures,
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
    level: int = option(
        1, "The lowest grade that counts as relevant.", whole_check(0, LARGEST_GRADE)
    )
    depth: int | None = option(
        None, "Keep only the best N documents of each topic.", whole_check(1)
    )
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
    requests = requested(options.measures, 9 if options.version_9 else 10)
    columns = _list_columns(requests, options)
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
        matched_run = judge(judgments, ranking, judging)
    except NothingSharedError as error:
        refuses_missing = not options.version_9 and not options.complete
        status = CALCULATION if refuses_missing else NO_TOPICS
        raise TrecEvalError(status, str(error)) from None
    is_averaged, is_printed = _choose_topics(matched_run, options)
    values = _column_values(matched_run, columns, zscores, options)
    tag = run_tag(ranking.sources[-1])  # always read: an error if it is missing
    run_lines = [f"{'runid':<22}\tall\t{tag or ''}\n"] if "runid" in requests else []
    return _format_lines(run_lines, matched_run, columns, values, is_averaged, is_printed, options)


def _list_columns(requests: Mapping[str, str | None], options: TrecEvalOptions) -> list[Column]:
    """Return the columns of the requested measures, in trec_eval's order."""
    settings = {
        "rel": options.level,
        "collection": options.n_documents,
        "version": 9 if options.version_9 else 10,
    }
    columns = []
    for name in measure_names():
        if name not in requests:
            continue
        formats = FORMATS.get(name, ("qrels",))
        if options.qrels_format not in formats:
            needs = " or ".join(f"-R {form}" for form in formats)
            raise TrecEvalError(
                CALCULATION, f"-m {name} needs {needs}, these are -R {options.qrels_format}"
            )
        if name != "runid":
            columns += columns_of(name, requests[name], settings)
    return columns


def _choose_topics(matched_run: MatchedRun, options: TrecEvalOptions) -> tuple[Bools, Bools]:
    """Return which judged topics are averaged, and which are printed: a mask (n_queries,) each."""
    is_answered = matched_run.is_in_run
    is_counted = np.ones(len(is_answered), np.bool_)
    if options.topic is not None:
        is_counted = np.array([query == options.topic for query in matched_run.query_ids])
        if not is_counted.any():
            raise TrecEvalError(NO_TOPICS, f"-D: the qrels hold no topic {options.topic!r}")
    is_shared = is_answered & is_counted
    if options.complete:
        # Version 9 also averages over topics without results, but does not print them.
        return is_counted, is_shared if options.version_9 else is_counted
    missing_topics = [
        matched_run.query_ids[i] for i in np.flatnonzero(is_counted & ~is_answered).tolist()
    ]
    if missing_topics and not options.version_9:
        rest_text = (
            f" and {len(missing_topics) - 1:,} other topics" if len(missing_topics) > 1 else ""
        )
        raise TrecEvalError(
            CALCULATION,
            f"the run has no results for topic {missing_topics[0]!r}{rest_text} of the qrels: give "
            "-c to count such topics as 0, or --version-9 to leave them out",
        )
    if not is_shared.any():
        raise TrecEvalError(NO_TOPICS, f"the run has no results for topic {missing_topics[0]!r}")
    return is_shared, is_shared


def _column_values(
    matched_run: MatchedRun,
    columns: Sequence[Column],
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None,
    options: TrecEvalOptions,
) -> list[Any]:
    """Return each column's value for every judged topic: a list of (n_queries,)."""
    matrix = Plan([column.measure for column in columns]).values(matched_run.judged)
    values = []
    for column, value in zip(columns, matrix.T, strict=True):
        if column.measure.definition.is_text:
            if column.name != column.root and not options.judged_only:
                # trec_eval replaces an empty ranking by one unjudged document, and counts it here.
                value = np.where(matched_run.is_in_run, value, "-")
            values.append(value)
            continue
        value = value.astype(np.float64)
        # Version 9 counts a topic without results as 0 in all measures, version 10 in utility.
        # Otherwise a measure has its value for an empty ranking, which is also 0, except for yaap.
        if options.version_9 or column.root == "utility":
            value = np.where(matched_run.is_in_run, value, 0.0)
        if column.measure.definition.aggregation == "geometric":
            value = floored_log(value)
        if zscores is not None:
            value = _standardize(column, value, matched_run.query_ids, zscores)
        values.append(value)
    return values


def _standardize(
    column: Column,
    values: Floats,
    query_ids: Sequence[str],
    zscores: Mapping[tuple[str, str], tuple[float, float]],
) -> Floats:
    """Return how many standard deviations each topic's value is from its mean."""
    standard_scores = []
    for query, value in zip(query_ids, values.tolist(), strict=True):
        mean_value, deviation = zscores.get((query, column.name), (math.nan, 0.0))
        if deviation:
            standard_scores.append((value - mean_value) / deviation)
        else:
            standard_scores.append(0.0 if value == mean_value else MISSING_ZSCORE)
    return np.array(standard_scores)


MISSING_ZSCORE = -1000000.0


def _format_lines(
    run_lines: Iterable[str],
    matched_run: MatchedRun,
    columns: Sequence[Column],
    values: Sequence[Any],
    is_averaged: Bools,
    is_printed: Bools,
    options: TrecEvalOptions,
) -> Iterator[str]:
    """Yield the printed lines: of topics in the order of their ids' bytes, then of the summary."""
    has_zscores = options.zscores is not None

    def format_line(column: Column, topic: str, value: Any) -> str:
        definition = column.measure.definition
        if definition.is_text:
            return f"{column.name:<22}\t{topic}\t'{value}'\n"
        is_count = definition.aggregation == "sum" and not has_zscores
        number_text = str(int(value)) if is_count else f"{value:6.4f}"
        return f"{'Z' * has_zscores}{column.name:<22}\t{topic}\t{number_text}\n"

    column_values = list(zip(columns, values, strict=True))
    if options.per_query:
        topic_values = [
            (column, value.tolist())
            for column, value in column_values
            if column.name != "num_q" and column.measure.definition.aggregation != "geometric"
        ]
        for i in np.flatnonzero(is_printed).tolist():
            for column, value in topic_values:
                yield format_line(column, matched_run.query_ids[i], value[i])
    if options.no_summary:
        return
    yield from run_lines
    for column, value in column_values:
        aggregation, averaged_value = column.measure.definition.aggregation, value[is_averaged]
        if column.measure.definition.is_text:
            continue
        if column.name == "num_rel" and options.complete:
            # trec_eval counts again here, regardless of -l.
            averaged_value = matched_run.judged.n_relevant(1)[is_averaged, 0] * 1.0
        if column.name == "num_q":
            summary = float(len(averaged_value))
        else:
            summary = (total if aggregation == "sum" else mean)(averaged_value)
        yield format_line(
            column, "all", math.exp(summary) if aggregation == "geometric" else summary
        )
