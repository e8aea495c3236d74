"""The picture of how each system's scores are spread over the queries."""

import numpy as np

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Result
from cranfield.comparison.scale import possible_range
from cranfield.extensions.report.figures.choice import (
    check_comparison,
    find_measure,
    find_result,
    list_doubts,
    select_best,
)
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    make_chart,
    number_channel,
    row_axis,
    shorten_names,
)
from cranfield.extensions.report.figures.phrases import axis_title
from cranfield.extensions.report.figures.style import GREY, INK, A, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.render.numbers import format_query_count
from cranfield.render.typed_names import as_typed

_QUANTILES = {"least": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
_QUANTILES |= {"greatest": 1.0}
_MAX_DOTS = 6_000  # of all systems
_MAX_QUERIES = 300  # up to which there is room for dots


def spread(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw how each system's scores are spread over the queries, the best system first.

    A dot for each query where there is room; a box with the middle half of the queries, a line at
    the median, and whiskers to the 5th and the 95th percentile.

    Args:
        found: what `compare` returns.
        measure: a measure that was compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point has "system", "least", "q05", "q25", "median", "q75", "q95", "greatest"
        (quantiles, linearly interpolated between two scores) and "scores", in the order of the
        queries' ids.

    Raises:
        InputError: not what `compare` returns.
        MeasureError: a measure that was not compared.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> (point,) = spread(compare({"a": {"q1": 0.5, "q2": 1.0}})).points
    >>> point["median"], point["q25"], point["scores"]
    (0.75, 0.625, [0.5, 1.0])

    """
    comparison = check_comparison(found, "spread")
    result = find_result(comparison, measure)
    names = comparison.aligned.system_names
    scores = comparison.aligned.measure_scores(result.measure)
    quantiles = np.quantile(scores, [*_QUANTILES.values()], axis=0)
    points = []
    for system in result.ranked_systems:
        column = names.index(system.name)
        quantile_of_name = dict(zip(_QUANTILES, quantiles[:, column].tolist(), strict=True))
        points.append(
            {"system": system.name, **quantile_of_name, "scores": scores[:, column].tolist()}
        )
    return Figure(
        points,
        f"{as_typed(result.measure)} of each query",
        f"{format_query_count(len(scores))}. The box holds the middle half of them, its line is "
        "the median, the whiskers end at the 5th and the 95th percentile",
        _draw_boxes(comparison, result, points),
        style,
        list_doubts(comparison),
    )


def _draw_boxes(comparison: Comparison, result: Result, points: Points) -> Draw:
    def draw(style: Style) -> Drawing:
        best_first = [str(point["system"]) for point in points]
        drawn_systems, sentences = select_best(
            best_first, style.rows, [comparison.settings.first_baseline]
        )
        names = shorten_names(drawn_systems, style)
        rows = [
            {**point, "system": names[point["system"]], "scores": None}
            for point in points
            if point["system"] in names
        ]
        x = number_channel(
            "least", title=axis_title(result), scale=_score_scale(comparison, result)
        )
        y = row_axis("system", [*names.values()])
        n_queries = len(comparison.aligned.query_ids)
        has_dots = n_queries <= _MAX_QUERIES and n_queries * len(rows) <= _MAX_DOTS
        base = make_chart(rows, x=x, y=y)
        layers = [
            base.mark_rule(color=GREY, strokeWidth=style.line, aria=False).encode(
                x={**x, "field": "q05"}, x2={"field": "q95"}
            ),
            base.mark_bar(color=A, opacity=0.28, height={"band": 0.5}, aria=False).encode(
                x={**x, "field": "q25"}, x2={"field": "q75"}
            ),
            base.mark_tick(
                color=INK,
                thickness=1.6 * style.line,
                size=0.55 * style.rows_height(len(rows)) / len(rows),
            ).encode(x={**x, "field": "median"}),
        ]
        if has_dots:
            scores = [
                {"system": names[point["system"]], "least": score}
                for point in points
                if point["system"] in names
                for score in point["scores"]
            ]
            strip = make_chart(scores, x=x, y=y)
            layers.append(
                strip.mark_point(
                    filled=True, color=A, opacity=0.5, size=0.3 * style.point, aria=False
                )
            )
            sentences = [*sentences, "A dot for each query"]
        return Drawing(layers, style.rows_height(len(rows)), sentences)

    return draw


def _score_scale(comparison: Comparison, result: Result) -> dict[str, object]:
    """Return the scale of the scores, to round numbers unless the measure's limits are known."""
    low, high = possible_range(find_measure(comparison, result.measure))
    return {"zero": False, "nice": not np.isfinite(low + high)}
