"""reproduce: how near a second experiment came to a first one, query by query and as a whole."""

from bisect import bisect
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import compress
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import mean
from cranfield.comparison.aligned_scores import AlignedScores, EvaluatedRuns
from cranfield.comparison.alignment import align
from cranfield.comparison.remarks import note_few_queries
from cranfield.comparison.scale import score_range
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.data.ranking import Rankings
from cranfield.errors import (
    InputError,
    MeasureError,
    NothingSharedError,
    OptionError,
    escape_unprintable,
)
from cranfield.extensions import keywords
from cranfield.extensions.orderings.estimates import (
    RunPair,
    estimate_effects,
    estimate_errors,
    estimate_mean,
)
from cranfield.extensions.orderings.options import ReproductionSettings
from cranfield.extensions.orderings.rbo import rbo
from cranfield.extensions.orderings.reproduction import Estimate, ReproducedRun, Reproduction
from cranfield.formats.stated_columns import take_together
from cranfield.notes import Note, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress, watch_steps
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

# In trials, intervals of RMSE held about as often as they say with so many.
_MIN_RELIABLE_QUERIES = 97


@add_progress
@takes(ReproductionSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def reproduce(
    qrels: Any,
    original: Any,
    reproduced: Any,
    measures: MeasuresLike | None = None,
    *,
    other_qrels: Any = None,
    **options: "Unpack[keywords.Reproduce]",
) -> Reproduction:
    """Say how near a second experiment came to a first one.

    The first of the original runs is the baseline, each other one is to be better than it; the
    reproduced runs are in the same order. One run and its reproduction do as well: then there is no
    effect to reproduce. Scores are paired by the query's id.

    Args:
        qrels: judgments, as `evaluate` takes them; None: the runs are scores, as `compare` takes.
        original: one run or several, as `evaluate` takes them.
        reproduced: as many runs, in the same order.
        measures: which to compute. [default: nDCG@10 for runs, else all that have scores]
        other_qrels: judgments of the reproduced runs, if these are of another collection. Queries
            are then others, and only the effect ratio and the improvements remain.
        **options: each option of `ReproductionSettings` and `Alignment`; for judgments and runs,
            also of `Reading` and `Judging`.

    Intervals are over the queries, 1 - alpha. RMSE and nRMSE: by Student's t of the mean squared
    difference, as a ratio (on the scale of logarithms). Effect ratio: Fieller's (Journal of the
    Royal Statistical Society B 1954); it has no ends where the original gain is not clear of 0.
    Delta of the relative improvement: by t, linearised. Kendall's tau and RBO: by t.

    Returns:
        A Reproduction, which prints as tables.

    Warns:
        CranfieldWarning: once, of fewer than 10 queries, of runs or collections that do not look
            paired as they should be, of an effect that is the same on every query, or where
            `evaluate` warns.

    Raises:
        InputError: other numbers of runs, one run on each of two collections, no shared query, a
            score that is missing or no number.
        MeasureError: a measure that does not exist, has no scores, or is no mean over the queries.
        OptionError: an option out of its range, or other_qrels for scores.

    Sources: Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer & Soboroff, How to Measure the
    Reproducibility of System-oriented IR Experiments, SIGIR 2020.

    >>> old = {"base": {"q1": 0.3, "q2": 0.5}, "new": {"q1": 0.4, "q2": 0.7}}
    >>> again = {"base": {"q1": 0.3, "q2": 0.4}, "new": {"q1": 0.4, "q2": 0.6}}
    >>> one = reproduce(None, old, again)["score"]["new"]
    >>> round(one.effect_ratio.value, 4), round(one.rmse.value, 4)
    (1.0, 0.0707)

    """
    refuse_unknown_options(reproduce, options)
    settings = ReproductionSettings.of(options)
    alignment, judging, reading = Alignment.of(options), Judging.of(options), Reading.of(options)
    if qrels is None and other_qrels is not None:
        raise OptionError("other_qrels applies to judgments and runs, and these are scores")
    replica_qrels = qrels if other_qrels is None else other_qrels
    with take_together(reading.columns):
        original_scores, replica_scores = (
            align(runs, None, measures, alignment, judging, reading)
            if judgments is None
            else align(judgments, runs, measures, alignment, judging, reading)
            for judgments, runs in ((qrels, original), (replica_qrels, reproduced))
        )
    same_queries = other_qrels is None
    _check_run_counts(original_scores, replica_scores, same_queries=same_queries)
    notes = [*_note_sides(original_scores, replica_scores, same_queries=same_queries)]
    ranking_estimates: list[dict[str, Estimate]] = [{} for _ in original_scores.system_names]
    if same_queries:
        original_scores, replica_scores, shared_notes = _select_shared_queries(
            original_scores, replica_scores
        )
        ranking_estimates, ranking_notes = _compare_rankings(
            original_scores, replica_scores, settings
        )
        notes += [*shared_notes, *ranking_notes]
    runs_of_measure = {
        measure: _compare_runs(
            measure,
            original_scores,
            replica_scores,
            settings,
            ranking_estimates,
            same_queries=same_queries,
        )
        for measure in original_scores.measures
    }
    n_queries, n_reproduced = len(original_scores.query_ids), len(replica_scores.query_ids)
    notes += [
        *note_few_queries(min(n_queries, n_reproduced), "queries"),
        *_list_remarks(runs_of_measure, n_queries),
    ]
    warn_about(notes)
    return Reproduction(
        runs_of_measure,
        n_queries,
        None if same_queries else n_reproduced,
        tuple(notes),
        settings,
        (original_scores.recipe, replica_scores.recipe),
    )


def _check_run_counts(
    original: AlignedScores, replica: AlignedScores, *, same_queries: bool
) -> None:
    """Raise InputError for too few runs, or other numbers of original and of reproduced runs."""
    n_runs, n_replicas = len(original.system_names), len(replica.system_names)
    if n_runs != n_replicas:
        raise InputError(
            f"there are {format_count(n_runs, 'original run')} and "
            f"{format_count(n_replicas, 'reproduced run')}",
            hint="Each original run needs its reproduction, in the same order.",
        )
    if not same_queries and n_runs < 2:
        raise InputError(
            "one original run, and other judgments for its reproduction: between two collections "
            "only the gain over a baseline is compared",
            hint="Give the baseline before it, on both sides.",
        )


def _note_sides(
    original: AlignedScores, replica: AlignedScores, *, same_queries: bool
) -> Iterator[Note]:
    """Yield the notes of both sides, and warnings where runs or collections seem mistaken."""
    sides = ("original", original), ("reproduced", replica)
    named_notes = [(name, note) for name, scores in sides for note in scores.notes]
    yield from merge_notes(named_notes, n_sources=2)
    if (
        set(original.system_names) == set(replica.system_names)
        and original.system_names != replica.system_names
    ):
        text = (
            "Both sides have the same names, in another order, and runs are paired by their "
            f"places: {escape_unprintable(original.system_names[0])} with "
            f"{escape_unprintable(replica.system_names[0])}."
        )
        yield Note("other-order", "warning", text)
    if not same_queries and set(original.query_ids) == set(replica.query_ids):
        text = (
            "The two collections have the same queries. If they are one collection, leave "
            "other_qrels (--other-qrels) out: its queries are then compared one by one."
        )
        yield Note("same-queries", "warning", text, len(original.query_ids))


def _select_shared_queries(
    original: AlignedScores, replica: AlignedScores
) -> tuple[AlignedScores, AlignedScores, list[Note]]:
    """Return the scores of both experiments on the queries of both, and a note on the others."""
    shared_ids = set(original.query_ids) & set(replica.query_ids)
    if not shared_ids:
        raise NothingSharedError(
            "the original and the reproduced runs share no query",
            hint="Scores are paired by the query's id. Are they of two collections? Then state "
            "judgments and runs, with the judgments of the reproduced ones (other_qrels=, "
            "--other-qrels).",
        )
    n_unshared = len(set(original.query_ids) ^ set(replica.query_ids))
    notes = []
    if n_unshared:
        n_queries = format_count(n_unshared, "query is", "queries are")
        text = f"{n_queries} in one of the experiments only: left out."
        notes.append(Note("in-one", "info", text, n_unshared))
    return _select_queries(original, shared_ids), _select_queries(replica, shared_ids), notes


def _select_queries(scores: AlignedScores, query_ids: Set[str]) -> AlignedScores:
    """Return the scores of some queries, in their order."""
    is_selected = [query_id in query_ids for query_id in scores.query_ids]
    selected_ids = tuple(compress(scores.query_ids, is_selected))
    return replace(scores, query_ids=selected_ids, scores=scores.scores[:, is_selected])


def _compare_runs(
    measure: str,
    original: AlignedScores,
    replica: AlignedScores,
    settings: ReproductionSettings,
    ranking_estimates: Sequence[dict[str, Estimate]],
    *,
    same_queries: bool,
) -> dict[str, ReproducedRun]:
    """Return {run: estimates by a measure}; `ranking_estimates` has the others of each run.

    `same_queries`: whether both experiments have the same queries.
    """
    parsed_measure = original.find_measure(measure)
    if parsed_measure is not None and parsed_measure.definition.aggregation != "mean":
        raise MeasureError(f"{measure}: is no mean over the queries, so an effect is no difference")
    if measure not in replica.measures:
        raise MeasureError(f"there are no reproduced scores of {measure}")
    x, y = original.measure_scores(measure), replica.measure_scores(measure)
    runs, alpha = {}, settings.alpha
    for i, (name, replica_name) in enumerate(
        zip(original.system_names, replica.system_names, strict=True)
    ):
        column, replica_column = x[:, i], y[:, i]
        estimates: dict[str, Any] = {}
        if same_queries:
            lowest, highest = score_range(parsed_measure, np.stack((x, y)))
            estimates |= {
                **estimate_errors(column, replica_column, lowest, highest, alpha),
                **ranking_estimates[i],
            }
        if i:
            original_pair = RunPair(x[:, 0], column)
            replica_pair = RunPair(y[:, 0], replica_column)
            estimates |= estimate_effects(
                original_pair, replica_pair, alpha, same_queries=same_queries
            )
        runs[name] = ReproducedRun(
            name, replica_name, mean(column), mean(replica_column), **estimates
        )
    return runs


def _compare_rankings(
    original: AlignedScores, replica: AlignedScores, settings: ReproductionSettings
) -> tuple[list[dict[str, Estimate]], list[Note]]:
    """Return Kendall's tau and RBO of each run's rankings and its reproduction's, and notes.

    Without rankings, as for scores that were saved, there are no estimates.
    """
    if original.evaluated_runs is None or replica.evaluated_runs is None:
        return [{} for _ in original.system_names], []
    estimates_of_runs, n_short, n_empty = [], 0, 0
    name_pairs = zip(original.system_names, replica.system_names, strict=True)
    depth = original.evaluated_runs.judging.depth
    for original_name, replica_name in watch_steps([*name_pairs], "rankings"):
        side_rankings = [
            _read_rankings(source, name, original.query_ids)
            for source, name in (
                (original.evaluated_runs, original_name),
                (replica.evaluated_runs, replica_name),
            )
        ]
        taus, overlaps = [], []
        for query in original.query_ids:
            a, b = (rankings[query].select_query(query).docs[:depth] for rankings in side_rankings)
            tau = kendall_union(a, b)
            n_short += tau is None
            taus += [] if tau is None else [tau]
            n_empty += not (a or b)
            overlaps += [rbo(a, b, settings.rbo_p).ext] if a or b else []
        estimates = {}
        if taus:
            estimates["kendall_union"] = estimate_mean(taus, -1.0, settings.alpha)
        if overlaps:
            estimates["rbo"] = estimate_mean(overlaps, 0.0, settings.alpha)
        estimates_of_runs.append(estimates)
    notes = []
    if n_short:
        text = (
            f"Kendall's tau: {format_count(n_short, 'pair')} of rankings left out, in which one of "
            "the two has fewer than two documents."
        )
        notes.append(Note("short-rankings", "info", text, n_short))
    if n_empty:
        text = (
            f"RBO: {format_count(n_empty, 'pair')} of rankings left out, of which both are empty."
        )
        notes.append(Note("empty-rankings", "info", text, n_empty))
    return estimates_of_runs, notes


def _read_rankings(
    source: EvaluatedRuns, name: str, query_ids: Sequence[str]
) -> dict[str, Rankings]:
    """Return {query: the rankings that hold the query} of a run, as measures see them."""
    judging = source.judging
    run = source.runs[name].resolve_spans(
        source.qrels.select_queries(query_ids).spans, judging.overlap
    )
    return run.read_rankings(query_ids, judging)


def kendall_union(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Return Kendall's tau of two rankings on the union of their documents.

    Both are cut to the length of the shorter one. The union is numbered: the documents of `a` in
    its order, then the documents that only `b` has, in its order. Tau compares the numbers in `a`,
    which rise, with the numbers in `b` (Breuer et al., SIGIR 2020). So two rankings that share no
    document have 1, as equal rankings have. None for rankings of fewer than two documents.

    >>> kendall_union(["d1", "d2", "d3"], ["d1", "d2", "d4"])
    1.0
    >>> round(kendall_union(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    n = min(len(a), len(b))
    if n < 2:
        return None
    place_of_doc = {doc: i for i, doc in enumerate(a[:n])}
    sorted_places: list[int] = []  # the places of the documents of `b` so far
    n_swapped = 0
    for i, doc in enumerate(b[:n]):
        position = bisect(sorted_places, place := place_of_doc.setdefault(doc, len(place_of_doc)))
        n_swapped += i - position
        sorted_places.insert(position, place)
    return 1 - 4 * n_swapped / (n * (n - 1))


def _list_remarks(
    runs_of_measure: Mapping[str, Mapping[str, ReproducedRun]], n_queries: int
) -> Iterator[Note]:
    """Yield notes on intervals that hold less often, say little or are missing."""
    all_runs = [run for runs in runs_of_measure.values() for run in runs.values()]
    if n_queries < _MIN_RELIABLE_QUERIES and any(
        run.rmse is not None and run.rmse.low is not None for run in all_runs
    ):
        text = (
            "With few queries the intervals of RMSE and nRMSE hold less often than they say: in "
            "trials with TREC systems 95% intervals held in 90% of cases with 25 queries, in 92% "
            f"with 43, in 94% with {_MIN_RELIABLE_QUERIES}; with fewer than 25, still less often."
        )
        yield Note("rmse-interval", "info", text, n_queries)
    for measure, runs in runs_of_measure.items():
        for run in [*runs.values()][1:]:
            if run.effect_ratio is None:
                text = f"{measure}: no effect ratio: the original runs have the same mean."
                yield Note("no-effect", "info", text, source=run.run)
            elif run.effect_ratio.low is None and n_queries > 1:
                text = (
                    f"{measure}: the effect ratio has no interval: the original gain is not clear "
                    "of 0, so the ratio may be anything."
                )
                yield Note("effect-unclear", "info", text, source=run.run)
            elif run.effect_ratio.low == run.effect_ratio.high and n_queries > 1:
                text = (
                    f"{measure}: the effect ratio is the same on every query, so that its interval "
                    "has no width; other queries may have another."
                )
                yield Note("constant", "warning", text, n_queries, source=run.run)
            if run.delta_improvement is None:
                text = f"{measure}: no relative improvement: a baseline's mean is 0."
                yield Note("no-improvement", "info", text, source=run.run)
