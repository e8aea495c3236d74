"""reproduce: how near a second experiment came to a first one, query by query and as a whole."""

import math
from bisect import bisect
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import compress
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.alignment import AlignedScores, EvaluatedRuns, align
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.remarks import note_few_queries
from cranfield.comparison.scale import score_range
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import Moments, fieller_interval, combine_errors, t_interval_ends
from cranfield.data.judging import Judging
from cranfield.data.ranking import Rankings
from cranfield.errors import InputError, MeasureError, NothingSharedError, OptionError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.orderings.options import ReproductionSettings
from cranfield.extensions.orderings.rbo import rbo
from cranfield.extensions.orderings.reproduction import Estimate, ReproducedRun, Reproduction
from cranfield.notes import Note, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, watch_steps, add_progress
from cranfield.render.numbers import format_count, finite_or_none
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

_MIN_RELIABLE_QUERIES = 97  # queries: measured of so many, the interval of RMSE holds about as often as it says


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
            paired as they should be, or where `evaluate` warns.

    Raises:
        InputError: other numbers of runs, no shared query, a score that is missing or no number.
        MeasureError: a measure that does not exist, has no scores, or is no mean over the queries.
        OptionError: an option out of its range.

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
    how = Alignment.of(options), Judging.of(options), Reading.of(options)
    if qrels is None and other_qrels is not None:
        raise OptionError("other_qrels applies to judgments and runs, and these are scores")
    second = qrels if other_qrels is None else other_qrels
    ours, theirs = (
        align(runs, None, measures, *how) if given is None else align(given, runs, measures, *how)
        for given, runs in ((qrels, original), (second, reproduced))
    )
    if len(ours.system_names) != len(theirs.system_names):
        raise InputError(
            f"there are {format_count(len(ours.system_names), 'original run')} and "
            f"{format_count(len(theirs.system_names), 'reproduced run')}",
            hint="Each original run needs its reproduction, in the same order.",
        )
    if other_qrels is not None and len(ours.system_names) < 2:
        raise InputError(
            "one original run, and other judgments for its reproduction: between two collections "
            "only the gain over a baseline is compared",
            hint="Give the baseline before it, on both sides.",
        )
    sides = ("original", ours), ("reproduced", theirs)
    notes = merge_notes([(name, note) for name, one in sides for note in one.notes], n_sources=2)
    shared = other_qrels is None
    notes += _pairing_warnings(ours, theirs, shared=shared)
    orders: list[dict[str, Estimate]] = [{} for _ in ours.system_names]
    if shared:
        ours, theirs, left_out = _select_shared_queries(ours, theirs)
        orders, too_short = _compare_rankings(ours, theirs, settings)
        notes += [*left_out, *too_short]
    found = {
        measure: _compare_runs(measure, ours, theirs, settings, orders, shared=shared)
        for measure in ours.measures
    }
    n, other = len(ours.query_ids), len(theirs.query_ids)
    notes += [*note_few_queries(min(n, other), "queries"), *_list_remarks(found, n)]
    warn_about(notes)
    return Reproduction(
        found, n, None if shared else other, tuple(notes), settings, (ours.recipe, theirs.recipe)
    )


def _pairing_warnings(ours: AlignedScores, theirs: AlignedScores, *, shared: bool) -> Iterator[Note]:
    """Warn where names or queries say that runs are not paired as they should be."""
    if set(ours.system_names) == set(theirs.system_names) and ours.system_names != theirs.system_names:
        text = (
            "Both sides have the same names, in another order, and runs are paired by their "
            f"places: {escape_unprintable(ours.system_names[0])} with {escape_unprintable(theirs.system_names[0])}."
        )
        yield Note("other-order", "warning", text)
    if not shared and set(ours.query_ids) == set(theirs.query_ids):
        text = (
            "The two collections have the same queries. If they are one collection, leave "
            "other_qrels (--other-qrels) out: its queries are then compared one by one."
        )
        yield Note("same-queries", "warning", text, len(ours.query_ids))


def _select_shared_queries(ours: AlignedScores, theirs: AlignedScores) -> tuple[AlignedScores, AlignedScores, list[Note]]:
    """Return both for the queries that both have, and a note on the others."""
    shared = set(ours.query_ids) & set(theirs.query_ids)
    if not shared:
        raise NothingSharedError(
            "the original and the reproduced runs share no query",
            hint="Scores are paired by the query's id. Are they of two collections? Then state "
            "judgments and runs, with the judgments of the reproduced ones (other_qrels=, "
            "--other-qrels).",
        )
    n = len(set(ours.query_ids) ^ set(theirs.query_ids))
    notes = []
    if n:
        text = (
            f"{format_count(n, 'query is', 'queries are')} in one of the experiments only: left out."
        )
        notes.append(Note("in-one", "info", text, n))
    return _select_queries(ours, shared), _select_queries(theirs, shared), notes


def _select_queries(aligned: AlignedScores, kept: Set[str]) -> AlignedScores:
    rows = [one in kept for one in aligned.query_ids]
    ids = tuple(compress(aligned.query_ids, rows))
    return replace(aligned, query_ids=ids, values=aligned.scores[:, rows])


def _compare_runs(
    measure: str,
    ours: AlignedScores,
    theirs: AlignedScores,
    settings: ReproductionSettings,
    orders: Sequence[dict[str, Estimate]],
    *,
    shared: bool,
) -> dict[str, ReproducedRun]:
    """Return each run's numbers by a measure; `orders` are those that no measure changes.

    `shared`: whether both experiments have the same queries.
    """
    known = ours.find_measure(measure)
    if known is not None and known.definition.aggregation != "mean":
        raise MeasureError(f"{measure}: is no mean over the queries, so an effect is no difference")
    if measure not in theirs.measures:
        raise MeasureError(f"there are no reproduced scores of {measure}")
    x, y = ours.measure_scores(measure), theirs.measure_scores(measure)
    found, alpha = {}, settings.alpha
    for i, (run, other) in enumerate(zip(ours.system_names, theirs.system_names, strict=True)):
        one, again = x[:, i], y[:, i]
        its: dict[str, Any] = {}
        if shared:
            least, most = score_range(known, np.stack((x, y)))
            its |= {**_estimate_errors(one, again, least, most, alpha), **orders[i]}
        if i:
            its |= _estimate_effects((x[:, 0], one), (y[:, 0], again), alpha, shared=shared)
        found[run] = ReproducedRun(run, other, mean(one), mean(again), **its)
    return found


def _estimate_errors(x: Floats, y: Floats, least: float, most: float, alpha: float) -> dict[str, Estimate]:
    """Return RMSE, and nRMSE for scores that end at `least` and `most`."""
    squared = (x - y) ** 2
    farthest = np.maximum(x - least, most - x) ** 2  # infinite without a greatest score
    found = {"rmse": _estimate_root_ratio(squared, np.ones(len(x)), most - least, alpha)}
    if np.isfinite(farthest).all():
        found["nrmse"] = _estimate_root_ratio(squared, farthest, 1.0, alpha)
    return found


def _estimate_root_ratio(above: Floats, below: Floats, greatest: float, alpha: float) -> Estimate:
    """Return the root of a ratio of two means, with the interval of its logarithm."""
    ratio = mean(above) / mean(below)
    half = _half_width(alpha, (above - ratio * below) / mean(below))
    if half is None or not ratio:
        return Estimate(math.sqrt(ratio), None, None)
    times = math.exp(half / (2 * ratio))
    return Estimate(
        math.sqrt(ratio), math.sqrt(ratio) / times, min(math.sqrt(ratio) * times, greatest)
    )


_BaseAndRun = tuple[Floats, Floats]  # the baseline's scores, and the other run's: (n_queries,) each


def _estimate_effects(
    original: _BaseAndRun, reproduced: _BaseAndRun, alpha: float, *, shared: bool
) -> dict[str, Estimate | float]:
    """Return the effect ratio and the improvements, where they exist."""
    found: dict[str, Estimate | float] = {}
    gains = [
        PairedScores(np.stack((new, base), axis=1), np.array([0]), np.array([1]))
        for base, new in (original, reproduced)
    ]
    gain, again = (pair.differences[:, 0] for pair in gains)
    if gains[0].means[0]:  # not only rounding
        found["effect_ratio"] = Estimate(
            mean(again) / mean(gain), *_fieller_interval(again, gain, alpha, shared=shared)
        )
    if not (mean(original[0]) and mean(reproduced[0])):
        return found
    improvements, moves = [], []
    for base, new in original, reproduced:
        ratio = mean(new) / mean(base)
        improvements.append((mean(new) - mean(base)) / mean(base))
        moves.append((new - ratio * base) / mean(base))  # what each query adds to the ratio
    found["improvement"], found["reproduced_improvement"] = improvements
    half = _half_width(alpha, moves[0] - moves[1]) if shared else _half_width(alpha, *moves)
    delta = improvements[0] - improvements[1]
    ends = (None, None) if half is None else (delta - half, delta + half)
    found["delta_improvement"] = Estimate(delta, *ends)
    return found


def _half_width(alpha: float, *samples: Floats) -> float | None:
    """Return half the interval, by Student's t, of a sum of the means of independent samples.

    None for a sample of one.
    """
    if min(map(len, samples)) < 2:
        return None
    error, degrees = combine_errors([Moments.of(PairedScores.from_differences(one[:, None])) for one in samples])
    return float(t_interval_ends(np.zeros(1), error, degrees, alpha)[1][0])


def _fieller_interval(
    above: Floats, below: Floats, alpha: float, *, shared: bool
) -> tuple[float | None, float | None]:
    """Return the ends of the interval of mean(above) / mean(below); None where it has none.

    There are ends if the mean of `below` is itself clear of 0. `shared`: whether both have the same
    queries; else the smaller sample gives the degrees of freedom.
    """
    from scipy.special import stdtrit

    least = min(len(above), len(below))
    if least < 2:
        return None, None
    far = float(stdtrit(least - 1, 1 - alpha / 2))
    of_above, of_below = (one.var(ddof=1, keepdims=True) / len(one) for one in (above, below))
    a, b, both = mean(above), mean(below), np.zeros(1)
    apart = of_above + (a / b) ** 2 * of_below
    if shared:
        both[0] = float(np.cov(above, below)[0, 1]) / least
        apart = (above - a / b * below).var(ddof=1, keepdims=True) / least
    low, high = fieller_interval(np.array([a]), b, (of_above, of_below, both), apart, far)
    return finite_or_none(low[0]), finite_or_none(high[0])


def _compare_rankings(
    ours: AlignedScores, theirs: AlignedScores, settings: ReproductionSettings
) -> tuple[list[dict[str, Estimate]], list[Note]]:
    """Return Kendall's tau and RBO of each two runs' rankings, if there are rankings."""
    if ours.evaluated_runs is None or theirs.evaluated_runs is None:
        return [{} for _ in ours.system_names], []
    found, short, empty = [], 0, 0
    pairs, depth = zip(ours.system_names, theirs.system_names, strict=True), ours.evaluated_runs.judging.depth
    for run, other in watch_steps([*pairs], "rankings"):
        sides = [
            _read_rankings(source, name, ours.query_ids)
            for source, name in ((ours.evaluated_runs, run), (theirs.evaluated_runs, other))
        ]
        taus, overlaps = [], []
        for query in ours.query_ids:
            a, b = (side[query].select_query(query).docs[:depth] for side in sides)
            tau = kendall_union(a, b)
            short += tau is None
            taus += [] if tau is None else [tau]
            empty += not (a or b)
            overlaps += [rbo(a, b, settings.rbo_p).ext] if a or b else []
        its = {"kendall_union": (taus, -1.0), "rbo": (overlaps, 0.0)}
        alpha = settings.alpha
        found.append({name: _estimate_mean(*one, alpha) for name, one in its.items() if one[0]})
    notes = []
    if short:
        text = (
            f"Kendall's tau: {format_count(short, 'pair')} of rankings left out, in which one of the "
            "two has fewer than two documents."
        )
        notes.append(Note("short-rankings", "info", text, short))
    if empty:
        text = f"RBO: {format_count(empty, 'pair')} of rankings left out, of which both are empty."
        notes.append(Note("empty-rankings", "info", text, empty))
    return found, notes


def _read_rankings(source: EvaluatedRuns, run: str, query_ids: Sequence[str]) -> dict[str, Rankings]:
    """Return a run's rankings, as its measures see them."""
    judging = source.judging
    seen = source.runs[run].resolve_spans(source.qrels.select_queries(query_ids).spans, judging.overlap)
    return seen.read_rankings(query_ids, judging)


def kendall_union(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Return Kendall's tau of two rankings on the union of their documents.

    Both are cut to the length of the shorter one. The union is numbered: the documents of `a` in
    its order, then those that only `b` has, in its order. Tau is that of the numbers of `a`, which
    rise, and those of `b` (Breuer et al., SIGIR 2020). So two rankings that share no document have
    1, as equal ones have. None for rankings of fewer than two.

    >>> kendall_union(["d1", "d2", "d3"], ["d1", "d2", "d4"])
    1.0
    >>> round(kendall_union(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    n = min(len(a), len(b))
    if n < 2:
        return None
    place = {doc: i for i, doc in enumerate(a[:n])}
    above: list[int] = []  # the places so far, sorted
    swapped = 0
    for i, doc in enumerate(b[:n]):
        at = bisect(above, its := place.setdefault(doc, len(place)))
        swapped += i - at
        above.insert(at, its)
    return 1 - 4 * swapped / (n * (n - 1))


def _estimate_mean(values: Sequence[float], least: float, alpha: float) -> Estimate:
    """Return the mean of some queries' values, from `least` to 1, with its interval by t."""
    column = np.array(values)
    half, middle = _half_width(alpha, column), mean(column)
    if half is None:
        return Estimate(middle, None, None)
    return Estimate(middle, max(middle - half, least), min(middle + half, 1.0))


def _list_remarks(found: Mapping[str, Mapping[str, ReproducedRun]], n: int) -> Iterator[Note]:
    """Yield what to know of the numbers that are there, and of those that are not."""
    every = [one for runs in found.values() for one in runs.values()]
    if n < _MIN_RELIABLE_QUERIES and any(one.rmse is not None and one.rmse.low is not None for one in every):
        text = (
            "With few queries the intervals of RMSE and nRMSE hold less often than they say: in "
            "trials with TREC systems 95% intervals held in 90% of cases with 25 queries, in 92% "
            f"with 43, in 94% with {_MIN_RELIABLE_QUERIES}; with fewer than 25, still less often."
        )
        yield Note("rmse-interval", "info", text, n)
    for measure, runs in found.items():
        for one in [*runs.values()][1:]:
            if one.effect_ratio is None:
                text = f"{measure}: no effect ratio: the original runs have the same mean."
                yield Note("no-effect", "info", text, source=one.run)
            elif one.effect_ratio.low is None and n > 1:
                text = (
                    f"{measure}: the effect ratio has no interval: the original gain is not clear "
                    "of 0, so the ratio may be anything."
                )
                yield Note("effect-unclear", "info", text, source=one.run)
            elif one.effect_ratio.low == one.effect_ratio.high and n > 1:
                text = (
                    f"{measure}: the effect ratio is the same on every query, so that its interval "
                    "has no width; other queries may have another."
                )
                yield Note("constant", "warning", text, n, source=one.run)
            if one.delta_improvement is None:
                text = f"{measure}: no relative improvement: a baseline's mean is 0."
                yield Note("no-improvement", "info", text, source=one.run)
