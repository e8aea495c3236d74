"""Pictures of two systems, query by query: their differences, and a scatter plot."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ranked import GEOMETRIC_FLOOR, Floats
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Result
from cranfield.comparison.scale import possible_range, to_compared_unit
from cranfield.extensions.report.figures.choice import (
    OrderedPair,
    check_comparison,
    choose_two,
    find_measure,
    find_pair,
    find_result,
    list_doubts,
)
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    Channel,
    Rows,
    draw_dashed,
    make_chart,
    number_channel,
    series_channel,
    shorten_name,
    shorten_names,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import (
    axis_title,
    describe_counts,
    describe_difference,
    format_name,
    interval_name,
)
from cranfield.extensions.report.figures.style import GREY, LINE2, A, B, Drawing, Style, StyleName
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.render.numbers import format_count
from cranfield.render.typed_names import as_typed

if TYPE_CHECKING:
    import altair as alt

_MAX_LINES = 400  # queries side by side
_MAX_POINTS = 1_500  # queries, up to which each is a point
_N_SQUARES = 40  # to a side
_ID_LETTERS = 80  # of a query's id

_KINDS = ("better", "tied", "worse")
_COLOURS = (A, GREY, B)
_SHAPES = ("triangle-up", "circle", "triangle-down")


@dataclass(frozen=True)
class TwoSystems:
    """Two systems of a comparison under one measure."""

    comparison: Comparison
    result: Result
    system: str
    other: str

    @property
    def measure(self) -> Measure | None:
        """The measure; None if only its name is known."""
        return find_measure(self.comparison, self.result.measure)

    @property
    def scores(self) -> Floats:
        """The scores of both systems: (n_queries, 2)."""
        names = self.comparison.aligned.system_names
        columns = [names.index(self.system), names.index(self.other)]
        return self.comparison.aligned.measure_scores(self.result.measure)[:, columns]

    def list_points(self) -> list[dict[str, Any]]:
        """Return a point for each query, the largest difference, or ratio, first."""
        scores, by_ratio = self.scores, self.result.by_ratio
        compared_scores = to_compared_unit(self.measure, scores)
        gain = (compared_scores[:, 0] - compared_scores[:, 1]).tolist()
        points = []
        for i in sorted(range(len(gain)), key=lambda i: -gain[i]):
            score, other_score = scores[i].tolist()
            ratio = {"ratio": math.exp(gain[i])} if by_ratio else {}
            query = self.comparison.aligned.query_ids[i]
            point = {"query_id": query, "score": score, "other_score": other_score}
            points.append({**point, "difference": score - other_score, **ratio})
        return points

    def list_kinds(self, points: Rows) -> list[str]:
        """Return for each point whether the system is better there, tied or worse."""
        tie_limit = self.comparison.settings.tie
        direction = 1 if self.result.higher_is_better else -1
        by_ratio = self.result.by_ratio
        gains = (
            direction * (math.log(point["ratio"]) if by_ratio else point["difference"])
            for point in points
        )
        return [_KINDS[0 if gain > tie_limit else 2 if gain < -tie_limit else 1] for gain in gains]

    @cached_property
    def pair(self) -> OrderedPair:
        """How the two systems differ over all queries."""
        return find_pair(self.comparison, self.result, self.system, self.other)

    def make_figure(self, points: Points, draw: Draw, style: StyleName) -> Figure:
        """Return a picture of points, with how the two systems differ in words."""
        name = format_name(self.system)
        difference = describe_difference(self.pair, self.comparison.settings)
        doubts = list_doubts(self.comparison, self.result)
        title = f"{as_typed(self.result.measure)}: {name} and {format_name(self.other)}"
        text = f"{difference}; {name} is {describe_counts(self.pair)}"
        return Figure(points, title, text, draw, style, doubts)


def choose_two_systems(
    figure: str,
    comparison: Comparison,
    system: str | None,
    other: str | None,
    measure: str | Measure | None,
) -> TwoSystems:
    """Return the systems and the measure that a picture shows; errors name it as `figure`."""
    result = find_result(check_comparison(comparison, figure), measure)
    return TwoSystems(comparison, result, *choose_two(comparison, result, system, other))


def differences(
    found: Comparison,
    system: str | None = None,
    other: str | None = None,
    measure: str | Measure | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw by how much two systems differ on each query, the largest difference first.

    The band is the mean difference with its interval. If there are more than 400 queries, 400 are
    drawn.

    Args:
        found: what `compare` returns, of two systems or more.
        system: one of the systems. [default: the best that is not `other`]
        other: another system. [default: the baseline; if it is `system` or missing, the best other]
        measure: a measure that was compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each query has "query_id", "score" (of `system`), "other_score" and
        "difference"; for a measure with a geometric mean also "ratio", by which they are then
        ordered and drawn; scores below 0.00001 count as 0.00001.

    Raises:
        InputError: not what `compare` returns, or one system.
        MeasureError: a measure that was not compared.
        OptionError: an unknown system.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> comparison = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.75, "q2": 0.5}})
    >>> points = differences(comparison, "b", "a").points
    >>> [(point["query_id"], point["difference"]) for point in points]
    [('q1', 0.25), ('q2', -0.5)]

    """
    two = choose_two_systems("differences", found, system, other, measure)
    points = two.list_points()
    return two.make_figure(points, _draw_differences(two, points), style)


def _draw_differences(two: TwoSystems, points: Rows) -> Draw:
    pair, by_ratio = two.pair, two.result.by_ratio
    field = "ratio" if by_ratio else "difference"

    def draw(style: Style) -> Drawing:
        n = len(points)
        indices = np.unique(np.linspace(0, n - 1, min(n, _MAX_LINES)).round().astype(int)).tolist()
        kinds = two.list_kinds(points)
        plot_fields = ({"at": i + 1, "kind": kinds[i], "none": float(by_ratio)} for i in indices)
        rows = [
            {**shorten_point(points[i]), **fields}
            for i, fields in zip(indices, plot_fields, strict=True)
        ]
        present_kinds = [kind for kind in _KINDS if kind in kinds]
        x = number_channel(
            "at",
            title=f"{format_count(n, 'query', 'queries')}, by {field}",
            scale={"domain": [0.4, n + 0.6], "nice": False, "zero": False},
            axis={"grid": False, "tickCount": 5, "tickMinStep": 1, "format": ",d"},
        )
        quantity = "ratio of" if by_ratio else "difference in"
        scale: Channel = {"type": "log", "nice": False} if by_ratio else {"zero": True}
        y = number_channel(field, title=f"{quantity} {axis_title(two.result)}", scale=scale)
        base = make_chart(rows, x=x, y=y)
        colour = series_channel(
            "kind", present_kinds, _select_marks(_COLOURS, present_kinds), style
        )
        shape = series_channel("kind", present_kinds, _select_marks(_SHAPES, present_kinds), style)
        room = 0.8 * style.width / len(rows)  # of each query
        stems = base.mark_rule(strokeWidth=max(0.4, min(style.line, 0.7 * room)), aria=False)
        layers = [
            *_draw_band(pair, by_ratio, style),
            stems.encode(y2={"field": "none"}, color=colour),
        ]
        if n <= _MAX_LINES:
            size = min(style.point, max(2.0, 0.8 * room**2))
            heads = base.mark_point(filled=True, opacity=1, size=size)
            layers.append(heads.encode(color=colour, shape=shape, detail=word_channel("query_id")))
        band_text = f"Dashed: the mean {field}"
        if pair.low is not None:
            band_text += f", in the band of its {interval_name(two.comparison.settings)}"
        left_out = [f"{len(rows)} of {n:,} queries are drawn, at equal steps"] * (n > len(rows))
        return Drawing(layers, style.height, [band_text, *left_out])

    return draw


def shorten_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point as a picture shows it: its query's id escaped, and cut."""
    return {**point, "query_id": shorten_name(point["query_id"], _ID_LETTERS)}


def _select_marks(marks: Sequence[str], kinds: Sequence[str]) -> list[str]:
    return [marks[_KINDS.index(kind)] for kind in kinds]


def _draw_band(pair: OrderedPair, by_ratio: bool, style: Style) -> "Iterator[alt.Chart]":
    """Yield the mean with its interval, from one side to the other."""
    names = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", "low", "high")
    mean, low, high = (getattr(pair, name) for name in names)
    rows = [{"mean": mean, "low": low, "high": high}]
    if low is not None and high is not None:
        band = make_chart(rows, y=number_channel("low"), y2={"field": "high"})
        yield band.mark_rect(color=LINE2, opacity=0.45, aria=False)
    yield draw_dashed(make_chart(rows, y=number_channel("mean")), style)


def scatter(
    found: Comparison,
    system: str | None = None,
    other: str | None = None,
    measure: str | Measure | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw each query's score under one system against that under another.

    Above the line `system` scores higher. If there are more than 1,500 queries, their number in
    each of 40 x 40 squares is drawn.

    Args:
        found: what `compare` returns, of two systems or more.
        system: one of the systems. [default: the best that is not `other`]
        other: another system. [default: the baseline; if it is `system` or missing, the best other]
        measure: a measure that was compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; it has the points of `differences`.

    Raises:
        InputError: not what `compare` returns, or one system.
        MeasureError: a measure that was not compared.
        OptionError: an unknown system.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> comparison = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.75, "q2": 0.5}})
    >>> points = scatter(comparison, "b", "a").points
    >>> [(point["other_score"], point["score"]) for point in points]
    [(0.5, 0.75), (1.0, 0.5)]

    """
    two = choose_two_systems("scatter", found, system, other, measure)
    points = two.list_points()
    return two.make_figure(points, _draw_scatter(two, points), style)


def _draw_scatter(two: TwoSystems, points: Rows) -> Draw:
    floor = GEOMETRIC_FLOOR if two.result.by_ratio else -math.inf

    def draw(style: Style) -> Drawing:
        rows = [
            {
                **shorten_point(point),
                "score": max(point["score"], floor),
                "other_score": max(point["other_score"], floor),
            }
            for point in points
        ]
        axis_range = _axis_ends(two, rows)
        scale = {"domain": axis_range, "nice": False, "zero": False}
        scale |= {"type": "log"} if two.result.by_ratio else {}
        names = shorten_names((two.system, two.other), style)
        x, y = (
            number_channel(
                field,
                title=f"{as_typed(two.result.measure)}, {names[name]}",
                scale=scale,
                axis={"tickCount": 6},
            )
            for field, name in (("other_score", two.other), ("score", two.system))
        )
        corners = [{"other_score": end, "score": end} for end in axis_range]
        diagonal = draw_dashed(make_chart(corners, x=x, y=y), style, "line")
        height = 1.35 * style.height
        if len(rows) > _MAX_POINTS:
            squares = _draw_squares(rows, axis_range, two.result.by_ratio, x, y)
            size = f"{_N_SQUARES} x {_N_SQUARES}"
            text = f"{len(rows):,} queries: how many are in each of {size} squares"
            return Drawing([squares, diagonal], height, [text])
        kinds = two.list_kinds(points)
        present_kinds = [kind for kind in _KINDS if kind in kinds]
        base = make_chart(
            [{**row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)], x=x, y=y
        )
        marks = base.mark_point(filled=True, opacity=0.75, size=style.point)
        colour = series_channel(
            "kind", present_kinds, _select_marks(_COLOURS, present_kinds), style
        )
        shape = series_channel("kind", present_kinds, _select_marks(_SHAPES, present_kinds), style)
        layers = [
            diagonal,
            marks.encode(color=colour, shape=shape, detail=word_channel("query_id")),
        ]
        return Drawing(layers, height, ["On the dashed line both score the same"])

    return draw


def _axis_ends(two: TwoSystems, rows: Rows) -> list[float]:
    """Return both axes' ends: the measure's limits if they hold all scores, else the scores'."""
    all_scores = [row[field] for row in rows for field in ("score", "other_score")]
    low, high = possible_range(two.measure)
    if two.result.by_ratio:
        low = GEOMETRIC_FLOOR
    if not (math.isfinite(low) and low <= min(all_scores)):
        low = min(all_scores)
    if not (math.isfinite(high) and max(all_scores) <= high):
        high = max(all_scores)
    return [low, high if high > low else low + 1]


def _draw_squares(
    rows: Rows, ends: Sequence[float], by_ratio: bool, x: Channel, y: Channel
) -> "alt.Chart":
    """Return a chart of the squares with queries: their colours say how many."""
    transform: Callable[[Any], Floats]
    transform, inverse = (np.log, np.exp) if by_ratio else (np.asarray, np.asarray)
    low, high = transform(ends).tolist()
    edges = np.linspace(low, high, _N_SQUARES + 1)
    scores = transform([[row["other_score"], row["score"]] for row in rows])
    place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, _N_SQUARES - 1)
    cells, counts = np.unique(place, axis=0, return_counts=True)
    edges = inverse(edges)
    squares = [
        {
            "other_score": float(edges[i]),
            "to": float(edges[i + 1]),
            "score": float(edges[j]),
            "up_to": float(edges[j + 1]),
            "queries": n,
        }
        for (i, j), n in zip(cells.tolist(), counts.tolist(), strict=True)
    ]
    colour = number_channel(
        "queries",
        scale={"type": "log", "range": ["#d5dce5", "#0d2b52"]},
        legend={"title": "queries", "orient": "top", "format": ",d", "tickCount": 4},
    )
    base = make_chart(squares, x=x, y=y, x2={"field": "to"}, y2={"field": "up_to"}, color=colour)
    marks: alt.Chart = base.mark_rect()
    return marks
