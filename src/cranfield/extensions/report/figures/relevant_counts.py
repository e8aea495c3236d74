"""The picture of scores by how many relevant documents a query has; these, for the report."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.arrays.grades import SMALLEST_POSITIVE, are_whole_grades
from cranfield.arrays.ranked import Ints
from cranfield.comparison.aligned_scores import EvaluatedRuns
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.mean_interval import mean_intervals
from cranfield.extensions.report.figures.choice import find_source, list_doubts, read_stated_rel
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    count_axis,
    make_chart,
    number_channel,
    scale_dashes,
    series_channel,
    shorten_names,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import axis_title, format_name, interval_name
from cranfield.extensions.report.figures.style import A, B, Drawing, Style, StyleName
from cranfield.extensions.report.figures.two_systems import (
    TwoSystems,
    choose_two_systems,
    shorten_point,
)
from cranfield.measures import Measure
from cranfield.render.numbers import format_count, format_shortest
from cranfield.render.typed_names import as_typed

_MAX_DOTS = 600  # of both systems, drawn with the means
_MAX_GROUPS = 6  # of queries with about as many relevant documents
_MIN_GROUP_QUERIES = 5  # queries of a group, on average, where there are several


def by_relevant(
    found: Comparison,
    measure: str | Measure | None = None,
    system: str | None = None,
    other: str | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw two systems' scores against the number of relevant documents of a query.

    With each query's scores it shows the means, with their intervals, of up to six groups of
    queries with about as many relevant documents; with more than 600 scores, only the means.

    Args:
        found: what `compare` returns of judgments and runs.
        measure: a measure that was compared. [default: the first]
        system: one of the systems. [default: the best that is not `other`]
        other: another system. [default: the baseline; if it is `system` or missing, the best other]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each query and system has "query_id", "relevant" (how many
        documents have at least the lowest grade that the measure counts as relevant, by default 1,
        or any grade above 0 if grades are fractions),
        "system" and "score".

    Raises:
        InputError: precomputed scores, which come without judgments; means of several runs; one
            system.
        MeasureError: a measure that was not compared.
        OptionError: an unknown system.

    >>> from cranfield import compare
    >>> judgments = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    >>> comparison = compare(judgments, {"x": {"q1": ["a"], "q2": ["b"]}, "y": judgments}, "RR")
    >>> points = by_relevant(comparison).points
    >>> [(point["relevant"], point["system"], point["score"]) for point in points]
    [(2, 'y', 1.0), (2, 'x', 1.0), (1, 'y', 1.0), (1, 'x', 0.0)]

    """
    two = choose_two_systems("by_relevant", found, system, other, measure)
    source = find_source(two.comparison, "a score by the number of relevant documents")
    rel = lowest_relevant_grade(source, two.measure)
    counts = count_relevant(two.comparison, source, rel)
    points = [
        {"query_id": query, "relevant": n, "system": name, "score": score}
        for query, n, scores in zip(
            two.comparison.aligned.query_ids, counts.tolist(), two.scores.tolist(), strict=True
        )
        for name, score in zip((two.system, two.other), scores, strict=True)
    ]
    grade_text = "" if rel in (1, SMALLEST_POSITIVE) else f" (grade {format_shortest(rel)} or more)"
    return Figure(
        points,
        f"{as_typed(two.result.measure)} by the number of relevant documents",
        f"{format_name(two.system)} and {format_name(two.other)}",
        _draw_relevant(two, points, counts, grade_text),
        style,
        list_doubts(two.comparison),
    )


def lowest_relevant_grade(source: EvaluatedRuns, measure: Measure | None) -> float:
    """Return the lowest grade that a measure counts as relevant.

    If it states none, this is 1, or, where grades are fractions, the smallest number above 0.
    """
    rel = None if measure is None else read_stated_rel(measure)
    if rel is None:
        rel = 1 if are_whole_grades(source.qrels.grade) else SMALLEST_POSITIVE
    return rel


def count_relevant(comparison: Comparison, source: EvaluatedRuns, rel: float) -> Ints:
    """Return how many documents of each query have at least the grade `rel`: (n_queries,)."""
    index_of_query = {query: i for i, query in enumerate(source.qrels.query_ids)}
    n_relevant = source.qrels.ideal.relevant(rel).count()[:, 0]
    counts: Ints = n_relevant[[index_of_query[query] for query in comparison.aligned.query_ids]]
    return counts


def _draw_relevant(two: TwoSystems, points: Points, counts: Ints, grade_text: str) -> Draw:
    def draw(style: Style) -> Drawing:
        names = shorten_names((two.system, two.other), style)
        count_range = int(counts.min()), int(counts.max())
        x = count_axis("relevant", f"relevant documents{grade_text}", *count_range)
        y = number_channel("score", title=axis_title(two.result), scale={"zero": False})
        labels = [*names.values()]
        colour = series_channel("system", labels, (A, B), style)
        shape = series_channel("system", labels, ("circle", "square"), style)
        dash = series_channel("system", labels, scale_dashes(style), style)
        layers = []
        if len(points) <= _MAX_DOTS:
            rows = [{**shorten_point(point), "system": names[point["system"]]} for point in points]
            dots = make_chart(rows, x=x, y=y).mark_point(opacity=0.45, size=0.5 * style.point)
            layers.append(dots.encode(color=colour, shape=shape, detail=word_channel("query_id")))
        means = list(_group_means(two, counts, names))
        base = make_chart(means, x=x, y=y)
        bars = base.mark_rule(strokeWidth=1.3 * style.line).encode(
            y={**y, "field": "low"}, y2={"field": "high"}, color=colour
        )
        line = base.mark_line(strokeWidth=style.line).encode(color=colour, strokeDash=dash)
        heads = base.mark_point(filled=True, opacity=1, size=1.6 * style.point)
        layers += [bars, line, heads.encode(color=colour, shape=shape)]
        n_groups = len(means) // 2
        kind = "geometric means" if two.result.by_ratio else "means"
        groups = f"Filled: the {kind} of {format_count(n_groups, 'group')} of queries, with their "
        text = f"{groups}{interval_name(two.comparison.settings)}s"
        if len(points) > _MAX_DOTS:
            text += f"; single queries are not drawn: there are {len(counts):,}"
        return Drawing(layers, style.height, [text])

    return draw


def _group_means(two: TwoSystems, counts: Ints, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield each system's mean on each group of queries with about as many relevant documents."""
    n = max(1, min(_MAX_GROUPS, len(counts) // _MIN_GROUP_QUERIES))
    edges = np.unique(np.quantile(counts, np.linspace(0, 1, n + 1)[1:-1], method="lower"))
    group = np.searchsorted(edges, counts)  # a count is in one group, however many queries have it
    for group_index in np.unique(group).tolist():
        rows = group == group_index
        units = two.comparison.aligned.units.select_queries(rows)
        means = mean_intervals(two.measure, two.scores[rows], two.comparison.settings.alpha, units)
        for i, (name, (mean, low, high, _)) in enumerate(zip(names.values(), means, strict=True)):
            x = float(np.median(counts[rows])) * (1 + 0.02 * (2 * i - 1))  # side by side
            ends = {"low": mean if low is None else low, "high": mean if high is None else high}
            yield {"relevant": x, "system": name, "score": mean, **ends}
