"""Means with their intervals, a row for each system: the leaderboard, and slices of the queries."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Pair, Result, System
from cranfield.errors import InputError
from cranfield.extensions.report.figures.choice import (
    PAIR_FIELDS,
    check_comparison,
    choose_systems,
    find_result,
    list_doubts,
    select_best,
)
from cranfield.extensions.report.figures.figure import Draw, Figure
from cranfield.extensions.report.figures.marks import (
    choose_colours,
    draw_dashed,
    make_chart,
    mark_kinds,
    number_channel,
    row_axis,
    series_channel,
    shorten_names,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import axis_title, describe_marks, describe_means
from cranfield.extensions.report.figures.style import SHAPES, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.render.numbers import format_count
from cranfield.render.numbers import format_number as number_text
from cranfield.render.typed_names import as_typed


def _mean_point(system: System, pair: Pair | None) -> dict[str, Any]:
    """Return a point: a system's mean with its interval, and its pair with the baseline, if any."""
    return {
        "system": system.name,
        "mean": system.mean,
        "low": system.low,
        "high": system.high,
        "difference": pair and pair.difference,
        "difference_low": pair and pair.low,
        "difference_high": pair and pair.high,
        **{name: pair and getattr(pair, name) for name in PAIR_FIELDS},
    }


def leaderboard(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw each system's mean with its interval, the best first, and how it compares.

    Args:
        found: what `compare` returns.
        measure: a measure that was compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point has "system", "place" (from 1), "mean", "low" and "high" (its own interval,
        by Student's t), "judged", "judged_lags" and "little_judged"; of a system compared with the
        baseline, "difference", "difference_low", "difference_high", "p", "p_adjusted", "verdict",
        "wins", "ties" and "losses"; of a measure with a geometric mean, "ratio", "ratio_low" and
        "ratio_high"; with a rope, or test="bayes", "probability_better", "probability_same" and
        "probability_worse". What does not exist is None.

    Raises:
        InputError: not what `compare` returns.
        MeasureError: a measure that was not compared.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}}
    >>> points = leaderboard(compare(half)).points
    >>> [(point["system"], point["mean"], point["difference"]) for point in points]
    [('a', 0.75, None), ('b', 0.5, -0.25)]

    """
    comparison = check_comparison(found, "leaderboard")
    result = find_result(comparison, measure)
    baseline = comparison.settings.first_baseline
    points = [
        {
            **_mean_point(system, result.pair_of_names.get((system.name, str(baseline)))),
            "place": place,
            "judged": system.judged,
            "judged_lags": system.judged_lags,
            "little_judged": system.little_judged,
        }
        for place, system in enumerate(result.ranked_systems, 1)
    ]
    systems_text = format_count(len(points), "system")
    means_text = describe_means(result, comparison.settings)
    return Figure(
        points,
        f"{as_typed(result.measure)} of {systems_text}",
        means_text,
        _draw_leaderboard(comparison, result),
        style,
        list_doubts(comparison, result),
    )


def _draw_leaderboard(comparison: Comparison, result: Result) -> Draw:
    baseline = comparison.settings.first_baseline
    best_first = [system.name for system in result.ranked_systems]

    def find_kind(name: str, reference: str) -> str:
        """Return how a system compares with the baseline, or with the best system."""
        if name == reference:
            return "baseline" if name == baseline else "the best"
        return result.between(name, reference)[1] or "not significant"

    def draw(style: Style) -> Drawing:
        reference = baseline or best_first[0]
        drawn_systems, sentences = select_best(best_first, style.rows, [baseline])
        names = shorten_names(drawn_systems, style)
        rows = [
            {
                "system": names[system.name],
                "mean": system.mean,
                "low": system.mean if system.low is None else system.low,
                "high": system.mean if system.high is None else system.high,
                "kind": find_kind(system.name, reference),
                "shown": number_text(system.mean),
            }
            for system in result.ranked_systems
            if system.name in names
        ]
        has_rivals = len(best_first) > 1
        x = number_channel("mean", title=axis_title(result), scale=_mean_scale(style))
        y = row_axis("system", [*names.values()])
        board = make_chart(rows, x=x, y=y)
        legend = {} if has_rivals else {"legend": None}
        colour, shape = mark_kinds(rows, style, **legend)
        ends = board.mark_rule(strokeWidth=2 * style.line, opacity=0.55, aria=False)
        heads = board.mark_point(filled=True, opacity=1, size=1.3 * style.point)
        layers = [
            ends.encode(x={**x, "field": "low"}, x2={"field": "high"}, color=colour),
            heads.encode(color=colour, shape=shape),
        ]
        if has_rivals:
            line = make_chart([row for row in rows if row["system"] == names[reference]], x=x)
            layers.insert(0, draw_dashed(line, style))
            sentences = [describe_marks(result, comparison.settings, reference), *sentences]
        if style.numbers:
            texts = board.mark_text(align="right", aria=False)
            layers.append(texts.encode(x={"value": "width"}, text=word_channel("shown")))
        return Drawing(layers, style.rows_height(len(rows)), sentences)

    return draw


def _mean_scale(style: Style) -> dict[str, Any]:
    """Return a scale that leaves room for a number at the right, if the style has any."""
    scale: dict[str, Any] = {"zero": False}
    if style.numbers:
        scale["range"] = [0, {"expr": f"width - {5 * style.size:g}"}]
    return scale


def by_slice(
    found: Comparison,
    measure: str | Measure | None = None,
    *,
    systems: Iterable[str] | None = None,
    style: StyleName = "screen",
) -> Figure:
    """Draw each system's mean, with its interval, on the queries of each slice.

    Args:
        found: what `compare(..., slices=...)` returns.
        measure: a measure that was compared. [default: the first]
        systems: the systems to draw, 7 at most. [default: all of up to 4; else the best one on all
            queries and the baseline, or the best two]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each system and slice has "label" (what the queries are sliced
        by), "slice", "queries" (how many), and, on these queries, what a point of `leaderboard` has
        except "place" and those on how much is judged. What does not exist is None.

    Raises:
        InputError: not what `compare` returns, or without slices.
        MeasureError: a measure that was not compared.
        OptionError: an unknown system, or too many.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}}
    >>> sliced = compare(half, slices={"q1": "how", "q2": "what"})
    >>> [(point["slice"], point["system"], point["mean"]) for point in by_slice(sliced).points]
    [('how', 'a', 0.5), ('how', 'b', 0.0), ('what', 'a', 1.0), ('what', 'b', 1.0)]

    """
    comparison = check_comparison(found, "by_slice")
    overall = find_result(comparison, measure)
    results = [
        result
        for result in comparison.results
        if result.measure == overall.measure and result.slice is not None
    ]
    if not results:
        raise InputError(
            "there are no slices of the queries to draw",
            hint="Name labels: compare(..., slices={'q1': 'how to', ...}), or --slices FILE.",
        )
    chosen_systems = choose_systems(comparison, overall, systems)
    baseline = comparison.settings.first_baseline
    points = [
        {
            "label": result.label,
            "slice": result.slice,
            "queries": len(result.query_ids),
            **_mean_point(system, result.pair_of_names.get((system.name, str(baseline)))),
        }
        for result in results
        for system in result.systems
    ]
    slices_text = format_count(len(results), "slice")
    return Figure(
        points,
        f"{as_typed(overall.measure)} on {slices_text} of the queries",
        describe_means(overall, comparison.settings, "each slice's queries"),
        _draw_slices([overall, *results], chosen_systems, comparison),
        style,
        list_doubts(comparison),
    )


def _draw_slices(
    results: Sequence[Result], chosen_systems: Sequence[str], comparison: Comparison
) -> Draw:
    has_labels = len({result.label for result in results[1:]}) > 1

    def name_slice(result: Result) -> str:
        if result.slice is None:
            return "all queries"
        return f"{result.label}: {result.slice}" if has_labels else str(result.slice)

    def draw(style: Style) -> Drawing:
        names = shorten_names(chosen_systems, style)
        max_results = max(2, 2 * style.rows // (1 + len(chosen_systems)))
        largest_results = sorted(results, key=lambda result: -len(result.query_ids))[:max_results]
        drawn_results = [result for result in results if result in largest_results]
        n_left = len(results) - len(drawn_results)
        text = f"The {len(drawn_results) - 1} largest of {len(results) - 1} slices are drawn"
        sentences = [text] * (n_left > 0)
        labels = [*shorten_names(map(name_slice, drawn_results), style).values()]
        labels = [
            f"{text} ({len(result.query_ids):,})"
            for text, result in zip(labels, drawn_results, strict=True)
        ]
        rows = [
            {
                "slice": label,
                "system": names[system.name],
                "mean": system.mean,
                "low": system.mean if system.low is None else system.low,
                "high": system.mean if system.high is None else system.high,
            }
            for label, result in zip(labels, drawn_results, strict=True)
            for system in result.systems
            if system.name in names
        ]
        x = number_channel("mean", title=axis_title(results[0]), scale={"zero": False})
        drawing = draw_intervals(rows, x, "slice", labels, [*names.values()], style)
        sentences += count_undrawn(comparison.aligned.system_names, chosen_systems)
        return replace(drawing, sentences=sentences)

    return draw


def draw_intervals(
    rows: Sequence[dict[str, Any]],
    x: dict[str, Any],
    field: str,
    labels: Sequence[str],
    names: Sequence[str],
    style: Style,
) -> Drawing:
    """Return points with intervals, in rows labelled by `field`: a colour and shape by system."""
    y = row_axis(field, labels, scale={"paddingInner": 0.35, "paddingOuter": 0.1})
    base = make_chart(rows, x=x, y=y, yOffset=word_channel("system", sort=names))
    colour = series_channel("system", names, choose_colours(names), style)
    shape = series_channel("system", names, SHAPES, style)
    ends = base.mark_rule(strokeWidth=1.4 * style.line, aria=False)
    heads = base.mark_point(filled=True, opacity=1, size=style.point)
    layers = [
        ends.encode(x={**x, "field": "low"}, x2={"field": "high"}, color=colour),
        heads.encode(color=colour, shape=shape),
    ]
    return Drawing(layers, len(labels) * style.row * (0.6 + 0.45 * len(names)))


def count_undrawn(systems: Sequence[object], chosen_systems: Sequence[str]) -> list[str]:
    """Return a sentence on the systems that are not drawn, if there are any."""
    n_undrawn = len(systems) - len(chosen_systems)
    return [f"{format_count(n_undrawn, 'other system')} not drawn"] if n_undrawn else []
