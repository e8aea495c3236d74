"""Alignment: brings the scores of several systems to the same queries, in the same order.

Scores are paired by the query's id, never by its position. Every system and every measure has the
same queries. `compare` and `gate` take AlignedScores from here.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.aligned_scores import AlignedScores, EvaluatedRuns
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.scale import possible_range
from cranfield.comparison.score_columns import (
    Columns,
    GivenScores,
    canonical_names,
    drop_query_counts,
    find_measure,
    read_columns,
    system_columns,
)
from cranfield.comparison.settings import Alignment, Missing
from cranfield.comparison.units import find_units
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import (
    InputError,
    MeasureError,
    NothingSharedError,
    OptionError,
    escape_unprintable,
)
from cranfield.formats.header import WIDE
from cranfield.formats.small.score_files import GREATEST_SCORE, not_a_score_error
from cranfield.measures.refusals import no_user_error
from cranfield.notes import Note
from cranfield.render.numbers import format_names
from cranfield.scoring.arguments import Reading, arrange_arguments, check_scores, could_be_measures
from cranfield.scoring.assembly import option_notes
from cranfield.scoring.evaluate import (
    RETRIEVED_COUNT,
    MeasuresLike,
    has_judged_shares,
    judged_share_measure,
    list_measures,
    refuse_mapping,
    score_runs,
)
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.sides import (
    TwoSidedTables,
    are_same_two_sided_table,
    find_two_sided_tables,
    is_read_once,
)
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10"


def align(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    alignment: Alignment = Alignment(),
    judging: Judging = Judging(),
    reading: Reading = Reading(),
    families: Sequence[ComparingOptions] = (),
) -> AlignedScores:
    """Return the scores of several systems for the same queries.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, Scores, a
            list of these, a dict `{name: Scores}`, `{name: {query_id: value}}` or `{name: {measure:
            {query_id: value}}}`; or saved per-query scores of any tool: a path, a list of paths, a
            table; or tables that hold both sides, as `evaluate` takes them.
        runs: as `evaluate` takes them. None: the first argument holds scores, or both sides.
        measures: which to compare. [default: nDCG@10 for qrels and runs, else all that have scores]
        alignment: what to do with missing scores, and what the columns of saved scores are.
        judging: how runs are judged, except which queries count: that depends on `alignment`.
        reading: how judgments and runs are read.
        families: options of extensions.

    Raises:
        InputError: a score is missing, not a number, or not in the range of its measure; there is
            no system, or no query.
        MeasureError: a measure without scores; no measure, or only such as have texts as values.
        OptionError: options of reading or judging, with scores that exist already; options of
            scores, with judgments and runs; less_is_better for no unknown measure of the scores.

    """
    scores = _align_scores(qrels, runs, measures, alignment, judging, reading)
    for family in families:
        scores = family.join_runs(scores)
    units, notes = find_units(families, scores.query_ids)
    return replace(scores, units=units, notes=(*scores.notes, *notes))


def _align_scores(
    qrels: Any,
    runs: Any,
    measures: MeasuresLike | None,
    alignment: Alignment,
    judging: Judging,
    reading: Reading,
) -> AlignedScores:
    """Return the scores as they are before the options of extensions change them."""
    missing = alignment.missing
    refuse_mapping(measures)
    qrels_and_runs: tuple[Qrels, Run | dict[str, Run]] | None = None
    if isinstance(qrels, Scores | Systems) and measures is None and could_be_measures(runs):
        runs, measures = None, runs  # compare(scores, "AP")
    if runs is not None and are_same_two_sided_table(qrels, runs, reading.columns):
        qrels, runs = [qrels, runs], None  # two systems, as a table and its copy are
    if runs is not None:
        judgments, named_runs, measures = arrange_arguments(
            qrels, runs, measures, None, reading=reading, duplicates=judging.duplicates
        )
        qrels_and_runs = judgments, named_runs
    elif (table_sides := _find_sides(qrels, reading)) is not None:
        judgments, named_runs = table_sides.read("strict", judging.duplicates)
        qrels_and_runs = judgments, reading.leave_out(named_runs)
    if qrels_and_runs is not None:
        if score_options := alignment.changed_options().keys() - {"missing"}:
            raise OptionError(f"{min(score_options)}: applies to scores, not to judgments and runs")
        run_measures = DEFAULT_MEASURES if measures is None else measures
        return _evaluate_runs(*qrels_and_runs, run_measures, missing or "zero", judging)
    check_scores(qrels)
    if data_options := {**judging.changed_options(), **reading.changed_options()}:
        names = ", ".join(data_options)
        raise OptionError(f"{names}: applies to judgments and runs, not to scores")
    try:
        given_scores = read_columns(qrels, alignment)
    except InputError as error:
        if error.line is None:
            raise
        raise error.add_reason("Scores are expected, since no runs are given.") from None
    measure_names = None if measures is None else canonical_names(measures)
    check_directions(given_scores.columns, alignment)
    default: Missing = "error"
    for name in dict.fromkeys(measure_names or (name for name, _ in given_scores.columns)):
        measure = find_measure(name)
        if measure is not None and measure.definition.of == "lists":
            default = "drop"
            if missing == "zero":
                raise OptionError(f"missing='zero': a user without a list has no {measure}")
    return align_saved_scores(given_scores, measure_names, alignment, missing or default)


def check_directions(columns: Columns, alignment: Alignment) -> None:
    """Raise OptionError for a name in `less_is_better` that is no unknown measure of the scores."""
    scored_names = {measure for measure, _ in columns}
    for name in alignment.less_is_better:
        if find_measure(name) or name not in scored_names:
            raise OptionError(
                f"less_is_better={name!r:.80}: expected a name in the scores that is no measure of "
                "cranfield"
            )


def _find_sides(data: Any, reading: Reading) -> TwoSidedTables | None:
    """Return both sides of a table; None for scores."""
    tables = data.values() if isinstance(data, dict) else data
    for table in tables if isinstance(data, dict | list | tuple) else [data]:
        if isinstance(table, str | os.PathLike) and is_read_once(table):
            return None
    try:
        return find_two_sided_tables(data, reading.columns, "strict")
    except InputError as error:  # then they are scores
        if error.kind == WIDE:
            raise
        return None


def align_saved_scores(
    given_scores: GivenScores,
    measures: Sequence[str] | None,
    alignment: Alignment,
    missing: Missing,
) -> AlignedScores:
    """Return scores on the same queries; InputError for one out of the range of its measure."""
    columns, notes, recipe, files, _ = given_scores
    recipe = recipe | alignment.changed_options()
    aligned_scores = align_columns(columns, measures, missing, notes, recipe)
    for measure in aligned_scores.measures if files is not None else ():
        score_range = possible_range(find_measure(measure))
        is_share = score_range[1] == 1 and not alignment.percent
        hint = "Is it a percentage? --percent divides by 100 (percent=True)." if is_share else None
        aligned_scores.check_range(measure, score_range, hint, files or {})
    return replace(aligned_scores, notes=(*aligned_scores.notes, *_note_unknown(aligned_scores)))


def _note_unknown(aligned_scores: AlignedScores) -> Iterator[Note]:
    """Yield notes on unknown measures: more is taken as better; two systems differ in their unit.

    The name `score` is no name of a measure, and goes without the first one.
    """
    unknown = [measure for measure in aligned_scores.measures if find_measure(measure) is None]
    unknown_names = [
        name for name in unknown if name != "score" and aligned_scores.is_higher_better(name)
    ]
    if unknown_names:
        text = (
            f"{format_names([*map(escape_unprintable, unknown_names)])}: no measure of cranfield; "
            "more is taken as better. --less-is-better NAME turns that (less_is_better=)."
        )
        yield Note("direction", "info", text, count=len(unknown_names))
    for measure in unknown:
        system_names = map(escape_unprintable, aligned_scores.system_names)
        columns = [*zip(system_names, aligned_scores.measure_scores(measure).T, strict=True)]
        fraction_systems = [name for name, x in columns if x.min() >= 0 and x.max() <= 1]
        systems_above_1 = [name for name, x in columns if x.mean() > 1]
        if fraction_systems and systems_above_1:
            text = (
                f"{escape_unprintable(measure)}: all scores of {format_names(fraction_systems)} "
                f"are between 0 and 1, and the mean is above 1 of {format_names(systems_above_1)}: "
                "are they in the same unit?"
            )
            yield Note("unit", "warning", text)


def _evaluate_runs(
    judgments: Qrels,
    runs: Run | Mapping[str, Run],
    measures: MeasuresLike,
    missing: Missing,
    judging: Judging,
) -> AlignedScores:
    """Return the scores of runs under the measures of numbers, with the runs' judged shares."""
    set_judging = replace(judging, queries="both" if missing == "drop" else "judged")
    named_runs = {runs.name: runs} if isinstance(runs, Run) else runs
    all_measures = list_measures(measures)
    numeric_measures = [measure for measure in all_measures if not measure.definition.is_text]
    if not numeric_measures:
        raise MeasureError("there is no measure of numbers to compare")
    has_shares = has_judged_shares(judgments)
    share_measures = list(map(judged_share_measure, numeric_measures)) if has_shares else []
    share_measures += [RETRIEVED_COUNT] * has_shares  # without documents there is no share
    scored_measures = list(dict.fromkeys([*numeric_measures, *share_measures]))
    systems = score_runs(judgments, named_runs, scored_measures, set_judging)
    for name, scores in systems.items():
        if missing == "error" and scores.counts.without_results:
            raise InputError(
                f"{name}: {scores.counts.without_results:,} of {scores.counts.queries:,} queries "
                "have no results",
                hint=_MISSING_HINT,
            )
    recipe = {**next(iter(systems.values())).recipe}
    recipe["run"] = {name: run.description for name, run in named_runs.items()}
    notes = [note for note in drop_query_counts(systems.notes) if note.code not in _RUN_NOTE_CODES]
    notes += option_notes(judging)
    text_measures = [str(measure) for measure in all_measures if measure.definition.is_text]
    if text_measures:
        message = f"Not compared, since they are texts: {', '.join(text_measures)}."
        notes.append(Note("texts", "info", message))
    all_scores = align_columns(
        system_columns(systems), list(map(str, scored_measures)), missing, notes, recipe
    )
    shares = [all_scores.measure_scores(str(share)) for share in share_measures]
    n_measures = len(dict.fromkeys(numeric_measures))  # without the shares
    return replace(
        all_scores,
        measures=all_scores.measures[:n_measures],
        scores=all_scores.scores[:n_measures],
        evaluated_runs=EvaluatedRuns(judgments, named_runs, systems),
        judged_share=np.where(shares[-1] > 0, shares[:-1], np.nan) if shares else None,
    )


# Codes of notes on the queries of each run, which are the same for all runs here, and its options.
_RUN_NOTE_CODES = ("options", "without-run")
_MISSING_HINT = (
    "missing='zero' counts such a query as 0, missing='drop' leaves it out for every system"
)


def align_columns(
    columns: Columns,
    requested_measures: Sequence[str] | None,
    missing: Missing,
    notes: Iterable[Note],
    recipe: Mapping[str, Any],
) -> AlignedScores:
    """Return columns of scores on the same queries, under the requested measures, or all."""
    names = tuple(dict.fromkeys(system for _, system in columns))
    scored_measures = dict.fromkeys(measure for measure, _ in columns)
    if not names:
        raise InputError("there are no scores")
    candidates = scored_measures if requested_measures is None else requested_measures
    measures = tuple(dict.fromkeys(candidates))
    for measure, name in product(measures, names):
        known_measure = find_measure(measure)
        if known_measure is not None and known_measure.definition.of == "run":
            raise no_user_error(known_measure)
        if measure not in scored_measures:
            names_text = ", ".join(scored_measures)
            raise MeasureError(f"there are no scores of {measure}; there are {names_text}")
        if (measure, name) not in columns:
            raise InputError(
                f"{name}: there are no scores of {measure}",
                hint="Every system needs a score for every measure; name those to compare.",
            )
    if not measures:
        raise MeasureError("no measure is named")
    chosen_columns = {key: columns[key] for key in product(measures, names)}
    ids_of_column = _share_id_tuples(chosen_columns)
    query_ids, query_notes = _choose_queries(chosen_columns, ids_of_column, missing)
    different_ids = dict.fromkeys(ids_of_column.values())
    positions = {ids: _find_positions(query_ids, ids) for ids in different_ids}

    def align_column(measure: str, name: str) -> Floats:
        scores, position = chosen_columns[measure, name][1], positions[ids_of_column[measure, name]]
        return scores if position is None else np.where(position < 0, 0.0, scores[position])

    scores = np.stack(
        [np.stack([align_column(measure, name) for name in names], axis=1) for measure in measures]
    )
    for m, q, s in np.argwhere(~(np.abs(scores) <= GREATEST_SCORE))[:1].tolist():
        raise not_a_score_error(names[s], measures[m], query_ids[q], float(scores[m, q, s]))
    recipe = {"cranfield": __version__, "missing": missing, **recipe}
    return AlignedScores(names, measures, query_ids, scores, (*notes, *query_notes), recipe)


def _share_id_tuples(columns: Columns) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return {column: query ids}; columns with equal ids share one tuple."""
    shared_tuples: dict[tuple[str, ...], tuple[str, ...]] = {}
    tuple_of_object: dict[int, tuple[str, ...]] = {}  # by the id() of the column's own sequence
    for ids, _ in columns.values():
        if id(ids) not in tuple_of_object:
            id_tuple = tuple(ids)
            tuple_of_object[id(ids)] = shared_tuples.setdefault(id_tuple, id_tuple)
    return {key: tuple_of_object[id(ids)] for key, (ids, _) in columns.items()}


def _find_positions(query_ids: tuple[str, ...], own_ids: tuple[str, ...]) -> Ints | None:
    """Return the position of each query in `own_ids`, -1 without; None if both are equal."""
    if own_ids == query_ids:
        return None
    position_of_id = dict(zip(own_ids, range(len(own_ids)), strict=True))
    positions = (position_of_id.get(query, -1) for query in query_ids)
    return np.fromiter(positions, np.int64, len(query_ids))


def _choose_queries(
    columns: Columns, ids_of_column: Mapping[tuple[str, str], tuple[str, ...]], missing: Missing
) -> tuple[tuple[str, ...], list[Note]]:
    """Return the ids of the queries to compare on, and notes on queries that lack a score."""
    id_sets = {ids: frozenset(ids) for ids in dict.fromkeys(ids_of_column.values())}
    first, *other_sets = id_sets.values()
    all_ids, shared_ids = first.union(*other_sets), first.intersection(*other_sets)
    if not all_ids:
        raise InputError("there is no query")
    if all_ids == shared_ids:
        return tuple(sorted(all_ids, key=encode)), []
    if missing == "drop":
        if not shared_ids:
            raise NothingSharedError("no query has a score for every system", hint=_MISSING_HINT)
        n = len(all_ids - shared_ids)
        text = f"{n:,} of {len(all_ids):,} queries left out: not every system has a score."
        return tuple(sorted(shared_ids, key=encode)), [Note("dropped", "info", text, n)]
    n_missing: dict[str, int] = {}
    for measure, name in columns:
        missing_ids = all_ids - id_sets[ids_of_column[measure, name]]
        if missing_ids and missing == "error":
            examples = ", ".join(map(repr, sorted(missing_ids, key=encode)[:5]))
            raise InputError(
                f"{name}: {len(missing_ids):,} of {len(all_ids):,} queries have no {measure}: "
                f"{examples}{', ...' if len(missing_ids) > 5 else ''}",
                hint=_MISSING_HINT,
            )
        n_missing[name] = max(n_missing.get(name, 0), len(missing_ids))
    notes = []
    for name, n in n_missing.items():
        if n:
            text = f"{n:,} of {len(all_ids):,} queries without a score: counted as 0."
            notes.append(Note("without-score", "info", text, n, name))
    return tuple(sorted(all_ids, key=encode)), notes
