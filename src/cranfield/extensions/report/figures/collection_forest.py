"""The picture of differences from the baseline with their intervals, by collection."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cranfield.comparison.result import Pair
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions.collections.macro import CollectionComparison
from cranfield.extensions.collections.macro_result import MacroPair, MacroResult
from cranfield.extensions.report.figures.figure import Draw, Figure
from cranfield.extensions.report.figures.forest import count_undrawn, draw_intervals
from cranfield.extensions.report.figures.marks import (
    draw_dashed,
    make_chart,
    number_channel,
    shorten_names,
)
from cranfield.extensions.report.figures.phrases import format_name
from cranfield.extensions.report.figures.style import SHAPES, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.render.numbers import finite_or_none, format_count, format_percent
from cranfield.render.typed_names import as_typed

_MAX_DEFAULT_SYSTEMS = 4  # systems to draw unless some are named


def by_collection(
    found: CollectionComparison,
    measure: str | Measure | None = None,
    *,
    systems: Iterable[str] | None = None,
    style: StyleName = "screen",
) -> Figure:
    """Draw the difference of systems to the baseline on each collection, and their average.

    Args:
        found: what `compare_collections` returns, with a baseline.
        measure: a measure that was compared. [default: the first]
        systems: the systems to draw, 7 at most. [default: all of up to 4, else the best 4]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each system and collection has "collection" (None: the average),
        "queries", "system", "difference", "low", "high", "p_adjusted" and "verdict". What does not
        exist is None.

    Raises:
        InputError: not what `compare_collections` returns, or no baseline.
        MeasureError: a measure that was not compared.
        OptionError: an unknown system, or too many.

    >>> from cranfield import compare_collections
    >>> low, high = {"q1": 0.25, "q2": 0.5}, {"q1": 0.5, "q2": 0.5}
    >>> comparison = compare_collections({name: {"old": low, "new": high} for name in "AB"})
    >>> [(point["collection"], point["difference"]) for point in by_collection(comparison).points]
    [('A', 0.125), ('B', 0.125), (None, 0.125)]

    """
    if not isinstance(found, CollectionComparison):
        raise InputError(
            "by_collection: expected what compare_collections() returns, not a "
            f"{type(found).__name__}",
            hint="figures.by_collection(compare_collections({'A': (qrels, runs), ...}))",
        )
    if found.settings.all_pairs:
        raise InputError(
            "by_collection: draws differences to a baseline, and all pairs were compared",
            hint="Leave all_pairs (--all-pairs) out.",
        )
    measure_index = _find_measure_index(found, measure)
    averages = found.results[measure_index]
    chosen_systems = _choose_compared(averages, systems)
    baseline = averages.pairs[0].other  # the first, if there are several
    points: list[dict[str, Any]] = []
    for name, comparison in (*found.comparisons.items(), (None, None)):
        collection_result = (
            averages
            if comparison is None
            else comparison[comparison.aligned.measures[measure_index]]
        )
        n_queries = (
            found.n_queries
            if isinstance(collection_result, MacroResult)
            else len(collection_result.query_ids)
        )
        pairs: dict[str, Pair | MacroPair] = {
            pair.system: pair for pair in collection_result.pairs if pair.other == baseline
        }
        points += [
            {
                "collection": name,
                "queries": n_queries,
                "system": pair.system,
                "difference": pair.difference,
                "low": None if pair.low is None else finite_or_none(pair.low),
                "high": None if pair.high is None else finite_or_none(pair.high),
                "p_adjusted": pair.p_adjusted,
                "verdict": pair.verdict,
            }
            for pair in map(pairs.__getitem__, chosen_systems)
        ]
    interval_text = f"{format_percent(1 - found.settings.alpha)} interval"
    return Figure(
        points,
        f"{as_typed(averages.measure)} on {format_count(len(found.comparisons), 'collection')}",
        f"Mean difference from {format_name(baseline)}, and its {interval_text}; below, the mean "
        "of the collections",
        _draw_collections(points, averages, chosen_systems),
        style,
        tuple(note for note in found.notes if note.is_grave),
    )


def _find_measure_index(comparison: CollectionComparison, measure: str | Measure | None) -> int:
    """Return the position of a measure among the compared measures."""
    names = [averages.measure for averages in comparison.results]
    if measure is not None and str(measure) not in names:
        raise MeasureError(f"{measure} was not compared; these were: {', '.join(names)}")
    return 0 if measure is None else names.index(str(measure))


def _choose_compared(averages: MacroResult, systems: Iterable[str] | None) -> list[str]:
    """Return the systems to draw; raise OptionError for an unknown one or too many."""
    candidates = [
        system.name
        for system in averages.ranked_systems
        if (system.name, averages.pairs[0].other) in averages.pair_of_names
    ]
    if systems is None:
        return candidates[:_MAX_DEFAULT_SYSTEMS]
    named_systems = list(dict.fromkeys([systems] if isinstance(systems, str) else systems))
    for system in named_systems:
        if system not in candidates:
            raise OptionError(
                f"systems={system!r:.80}: there is no such system beside the baseline, with an "
                f"average; these are {', '.join(candidates)}"
            )
    if len(named_systems) > len(SHAPES):
        raise OptionError(
            f"systems: {len(named_systems)} are named, and {len(SHAPES)} can be drawn"
        )
    return named_systems


def _draw_collections(
    points: Sequence[dict[str, Any]], averages: MacroResult, chosen_systems: Sequence[str]
) -> Draw:
    def draw(style: Style) -> Drawing:
        names = shorten_names(chosen_systems, style)
        collections = list(dict.fromkeys(point["collection"] for point in points))
        label_of_name = shorten_names([name or "average" for name in collections], style)
        query_counts = {point["collection"]: point["queries"] for point in points}
        labels = {
            name: f"{label_of_name[name or 'average']} ({query_counts[name]:,})"
            for name in collections
        }
        rows = [
            {
                **point,
                "collection": labels[point["collection"]],
                "system": names[point["system"]],
                "low": point["difference"] if point["low"] is None else point["low"],
                "high": point["difference"] if point["high"] is None else point["high"],
            }
            for point in points
        ]
        direction = "" if averages.higher_is_better else " (less is better)"
        x = number_channel(
            "difference", title=f"{as_typed(averages.measure)}, difference{direction}"
        )
        zero = draw_dashed(make_chart([{"difference": 0.0}], x=x), style)
        row_labels, system_labels = [*labels.values()], [*names.values()]
        drawing = draw_intervals(rows, x, "collection", row_labels, system_labels, style)
        sentences = count_undrawn(averages.pairs, chosen_systems)
        return replace(drawing, layers=[zero, *drawing.layers], sentences=sentences)

    return draw
