"""Two systems beside each other, query by query."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.grades import ABOVE_ZERO, are_whole
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.mean_interval import mean_intervals
from cranfield.comparison.result import Result
from cranfield.comparison.scale import logs, possible
from cranfield.figures.choice import (
    Between,
    between,
    compared,
    doubts_of,
    known_measure,
    result_of,
    source_of,
    stated_level,
    two_of,
)
from cranfield.figures.figure import Draw, Figure
from cranfield.figures.marks import (
    Channel,
    Rows,
    chart,
    count_axis,
    dashed,
    dashes,
    number,
    shown_name,
    shown_names,
    told_apart,
    word,
)
from cranfield.figures.phrases import counts_said, difference_said, level_of, measure_of, name_of
from cranfield.figures.style import LINE2, OTHER, A, B, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.render.numbers import number_of, plain

if TYPE_CHECKING:
    import altair as alt

_MOST_LINES = 400  # queries side by side
_MOST_POINTS = 1_500
_MOST_DOTS = 600  # of both systems, beside means
_SQUARES = 40  # to a side
_GROUPS = 6  # of queries with about as many relevant documents
_FEWEST = 5  # queries of a group
_LETTERS = 80  # of a query's id
_FLOOR = 1e-5  # of what has a logarithm, as in trec_eval

_KINDS = ("better", "tied", "worse")
_COLOURS = (A, OTHER, B)
_SHAPES = ("triangle-up", "circle", "triangle-down")


@dataclass(frozen=True)
class _Two:
    """Two systems of a comparison under one measure."""

    found: Comparison
    result: Result
    system: str
    other: str

    @property
    def known(self) -> Measure | None:
        return known_measure(self.found, self.result.measure)

    @property
    def scores(self) -> Floats:
        """The scores of both: (n_queries, 2)."""
        names = self.found.aligned.names
        both = [names.index(self.system), names.index(self.other)]
        return self.found.aligned.column(self.result.measure)[:, both]

    def points(self) -> list[dict[str, Any]]:
        """Return a point for each query, the largest difference first."""
        scores, by_ratio = self.scores, self.result.by_ratio
        of_logs = logs(self.known, scores)
        gain = (of_logs[:, 0] - of_logs[:, 1]).tolist()
        found = []
        for i in sorted(range(len(gain)), key=lambda i: -gain[i]):
            score, other = scores[i].tolist()
            ratio = {"ratio": math.exp(gain[i])} if by_ratio else {}
            query = self.found.aligned.query_ids[i]
            point = {"query_id": query, "score": score, "other_score": other}
            found.append({**point, "difference": score - other, **ratio})
        return found

    def kinds(self, points: Rows) -> list[str]:
        """Return for each point whether the system is better there, tied or worse."""
        tie, turn = self.found.settings.tie, 1 if self.result.rising else -1
        by_ratio = self.result.by_ratio
        gains = (
            turn * (math.log(one["ratio"]) if by_ratio else one["difference"]) for one in points
        )
        return [_KINDS[0 if gain > tie else 2 if gain < -tie else 1] for gain in gains]

    @property
    def title(self) -> str:
        return f"{self.result.measure}: {name_of(self.system)} beside {name_of(self.other)}"

    def said(self, pair: Between) -> str:
        """Return how the two differ over all queries."""
        first = name_of(self.system)
        return f"{difference_said(pair, self.found.settings)}; {first} is {counts_said(pair)}"


def _two(
    figure: str,
    found: Comparison,
    system: str | None,
    other: str | None,
    measure: str | Measure | None,
) -> _Two:
    result = result_of(compared(found, figure), measure)
    return _Two(found, result, *two_of(found, result, system, other))


def differences(
    found: Comparison,
    system: str | None = None,
    other: str | None = None,
    measure: str | Measure | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw by how much two systems differ on each query, the largest difference first.

    The band is the mean difference with its interval. Of more than 400 queries, 400 are drawn.

    Args:
        found: what `compare` returns, of two systems or more.
        system: one of them. [default: the best]
        other: another. [default: the baseline; without, or if that is the best, the next best]
        measure: one of those that were compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point, of each query, has "query_id", "score" (of `system`), "other_score" and
        "difference"; of a measure with a geometric mean "ratio", too, by which they are then
        ordered and drawn, scores below 0.00001 counting as 0.00001.

    Raises:
        InputError: there is one system.
        MeasureError: a measure that was not compared.
        OptionError: a system that there is not.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> found = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.75, "q2": 0.5}})
    >>> [(one["query_id"], one["difference"]) for one in differences(found, "b", "a").points]
    [('q1', 0.25), ('q2', -0.5)]

    """
    two = _two("differences", found, system, other, measure)
    points, pair = two.points(), between(found, two.result, two.system, two.other)
    draw = _differences(two, points, pair)
    return Figure(points, two.title, two.said(pair), draw, style, doubts_of(found, two.result))


def _differences(two: _Two, points: Rows, pair: Between) -> Draw:
    by_ratio = two.result.by_ratio
    field = "ratio" if by_ratio else "difference"

    def draw(style: Style) -> Drawing:
        n = len(points)
        some = np.unique(np.linspace(0, n - 1, min(n, _MOST_LINES)).round().astype(int)).tolist()
        kinds = two.kinds(points)
        more = ({"at": i + 1, "kind": kinds[i], "none": float(by_ratio)} for i in some)
        rows = [{**_shown(points[i]), **one} for i, one in zip(some, more, strict=True)]
        present = [kind for kind in _KINDS if kind in kinds]
        x = number(
            "at",
            title=f"{number_of(n, 'query', 'queries')}, by {field}",
            scale={"domain": [0.4, n + 0.6], "nice": False, "zero": False},
            axis={"grid": False, "tickCount": 5, "format": ",d"},
        )
        what = "ratio of" if by_ratio else "difference in"
        scale: Channel = {"type": "log", "nice": False} if by_ratio else {"zero": True}
        y = number(field, title=f"{what} {measure_of(two.result)}", scale=scale)
        base = chart(rows, x=x, y=y)
        colour = told_apart("kind", present, _of_kinds(_COLOURS, present), style)
        shape = told_apart("kind", present, _of_kinds(_SHAPES, present), style)
        room = 0.8 * style.width / len(rows)  # of each query
        stems = base.mark_rule(strokeWidth=max(0.4, min(style.line, 0.7 * room)), aria=False)
        layers = [*_band(pair, by_ratio, style), stems.encode(y2={"field": "none"}, color=colour)]
        if n <= _MOST_LINES:
            size = min(style.point, max(2.0, 0.8 * room**2))
            heads = base.mark_point(filled=True, opacity=1, size=size)
            layers.append(heads.encode(color=colour, shape=shape, detail=word("query_id")))
        band = f"The band is the mean {field}, dashed, with its {level_of(two.found.settings)}"
        left_out = [f"{len(rows)} of {n:,} queries are drawn, at equal steps"] * (n > len(rows))
        return Drawing(layers, style.height, [band, *left_out])

    return draw


def _shown(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point as a picture has it: its query's id escaped, and cut."""
    return {**point, "query_id": shown_name(point["query_id"], _LETTERS)}


def _of_kinds(marks: Sequence[str], present: Sequence[str]) -> list[str]:
    return [marks[_KINDS.index(kind)] for kind in present]


def _band(pair: Between, by_ratio: bool, style: Style) -> "Iterator[alt.Chart]":
    """Yield the mean with its interval, from one side to the other."""
    names = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", "low", "high")
    mean, low, high = (getattr(pair, name) for name in names)
    rows = [{"mean": mean, "low": low, "high": high}]
    if low is not None and high is not None:
        band = chart(rows, y=number("low"), y2={"field": "high"})
        yield band.mark_rect(color=LINE2, opacity=0.45, aria=False)
    yield dashed(chart(rows, y=number("mean")), style)


def scatter(
    found: Comparison,
    system: str | None = None,
    other: str | None = None,
    measure: str | Measure | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw each query's score under one system against that under another.

    Above the line `system` scores higher. Of more than 1,500 queries, their number in each of 40 x
    40 squares is drawn.

    Args:
        found: what `compare` returns, of two systems or more.
        system: one of them. [default: the best]
        other: another. [default: the baseline; without, or if that is the best, the next best]
        measure: one of those that were compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; its points are those of `differences`.

    Raises:
        InputError: there is one system.
        MeasureError: a measure that was not compared.
        OptionError: a system that there is not.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> found = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.75, "q2": 0.5}})
    >>> [(one["other_score"], one["score"]) for one in scatter(found, "b", "a").points]
    [(0.5, 0.75), (1.0, 0.5)]

    """
    two = _two("scatter", found, system, other, measure)
    points, pair = two.points(), between(found, two.result, two.system, two.other)
    draw = _scatter(two, points)
    return Figure(points, two.title, two.said(pair), draw, style, doubts_of(found, two.result))


def _scatter(two: _Two, points: Rows) -> Draw:
    floor = _FLOOR if two.result.by_ratio else -math.inf

    def draw(style: Style) -> Drawing:
        rows = [
            {
                **_shown(point),
                "score": max(point["score"], floor),
                "other_score": max(point["other_score"], floor),
            }
            for point in points
        ]
        ends = _ends(two, rows)
        scale = {"domain": ends, "nice": False, "zero": False}
        scale |= {"type": "log"} if two.result.by_ratio else {}
        names = shown_names((two.system, two.other), style)
        x, y = (
            number(
                field,
                title=f"{two.result.measure}, {names[name]}",
                scale=scale,
                axis={"tickCount": 6},
            )
            for field, name in (("other_score", two.other), ("score", two.system))
        )
        corners = [{"other_score": end, "score": end} for end in ends]
        diagonal = dashed(chart(corners, x=x, y=y), style, "line")
        height = 1.35 * style.height
        if len(rows) > _MOST_POINTS:
            squares = _squares(rows, ends, two.result.by_ratio, x, y)
            text = f"{len(rows):,} queries: how many are in each of {_SQUARES} x {_SQUARES} squares"
            return Drawing([squares, diagonal], height, [text])
        kinds = two.kinds(points)
        present = [kind for kind in _KINDS if kind in kinds]
        base = chart(
            [{**one, "kind": kind} for one, kind in zip(rows, kinds, strict=True)], x=x, y=y
        )
        marks = base.mark_point(filled=True, opacity=0.75, size=style.point)
        colour = told_apart("kind", present, _of_kinds(_COLOURS, present), style)
        shape = told_apart("kind", present, _of_kinds(_SHAPES, present), style)
        layers = [diagonal, marks.encode(color=colour, shape=shape, detail=word("query_id"))]
        return Drawing(layers, height, ["On the dashed line both score the same"])

    return draw


def _ends(two: _Two, rows: Rows) -> list[float]:
    """Return where both axes begin and end: at what the measure may be, if that is known."""
    every = [one[field] for one in rows for field in ("score", "other_score")]
    low, high = possible(two.known)
    if two.result.by_ratio:
        low = _FLOOR
    if not (math.isfinite(low) and low <= min(every)):
        low = min(every)
    if not (math.isfinite(high) and max(every) <= high):
        high = max(every)
    return [low, high if high > low else low + 1]


def _squares(
    rows: Rows, ends: Sequence[float], by_ratio: bool, x: Channel, y: Channel
) -> "alt.Chart":
    """Return how many queries there are in each square."""
    turn, back = (np.log, np.exp) if by_ratio else (np.asarray, np.asarray)
    edges = np.linspace(*turn(ends), _SQUARES + 1)
    scores = turn([[one["other_score"], one["score"]] for one in rows])
    places = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, _SQUARES - 1)
    cells, counts = np.unique(places, axis=0, return_counts=True)
    edges = back(edges)
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
    colour = number(
        "queries",
        scale={"type": "log", "range": ["#d5dce5", "#0d2b52"]},
        legend={"title": "queries", "orient": "top", "format": ",d", "tickCount": 4},
    )
    base = chart(squares, x=x, y=y, x2={"field": "to"}, y2={"field": "up_to"}, color=colour)
    return base.mark_rect()


def by_relevant(
    found: Comparison,
    measure: str | Measure | None = None,
    system: str | None = None,
    other: str | None = None,
    *,
    style: StyleName = "screen",
) -> Figure:
    """Draw two systems' scores by how many relevant documents a query has.

    Beside each query's scores it has the means, with their intervals, of up to six groups of
    queries with about as many relevant documents; of more than 600 scores, these alone.

    Args:
        found: what `compare` returns of judgments and runs.
        measure: one of those that were compared. [default: the first]
        system: one of the systems. [default: the best]
        other: another. [default: the baseline; without, or if that is the best, the next best]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point, of each query and either system, has "query_id", "relevant" (how many
        relevant documents are judged, of the grade from which the measure takes them, else 1),
        "system" and "score".

    Raises:
        InputError: scores that were made before, which come without judgments; one system.
        MeasureError: a measure that was not compared.
        OptionError: a system that there is not.

    >>> from cranfield import compare
    >>> judgments = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    >>> found = compare(judgments, {"x": {"q1": ["a"], "q2": ["b"]}, "y": judgments}, "RR")
    >>> [(one["relevant"], one["system"], one["score"]) for one in by_relevant(found).points]
    [(2, 'y', 1.0), (2, 'x', 1.0), (1, 'y', 1.0), (1, 'x', 0.0)]

    """
    two = _two("by_relevant", found, system, other, measure)
    source = source_of(found, "a score by the number of relevant documents")
    rel = stated_level(two.known) if two.known else None
    if rel is None:
        rel = 1 if are_whole(source.qrels.grade) else ABOVE_ZERO
    place = {query: i for i, query in enumerate(source.qrels.query_ids)}
    of_all = source.qrels.ideal.relevant(rel).count()[:, 0]
    counts = of_all[[place[query] for query in found.aligned.query_ids]]
    points = [
        {"query_id": query, "relevant": n, "system": name, "score": score}
        for query, n, scores in zip(
            found.aligned.query_ids, counts.tolist(), two.scores.tolist(), strict=True
        )
        for name, score in zip((two.system, two.other), scores, strict=True)
    ]
    level = "" if rel in (1, ABOVE_ZERO) else f" (grade {plain(rel)} or more)"
    return Figure(
        points,
        f"{two.result.measure} by the number of relevant documents",
        f"{name_of(two.system)} and {name_of(two.other)}",
        _by_relevant(two, points, counts, level),
        style,
        doubts_of(found),
    )


def _by_relevant(two: _Two, points: Rows, counts: Ints, level: str) -> Draw:
    def draw(style: Style) -> Drawing:
        names = shown_names((two.system, two.other), style)
        ends = int(counts.min()), int(counts.max())
        x = count_axis("relevant", f"relevant documents{level}", *ends)
        y = number("score", title=measure_of(two.result), scale={"zero": False})
        present = [*names.values()]
        colour = told_apart("system", present, (A, B), style)
        shape = told_apart("system", present, ("circle", "square"), style)
        dash = told_apart("system", present, dashes(style), style)
        layers = []
        if len(points) <= _MOST_DOTS:
            rows = [{**_shown(one), "system": names[one["system"]]} for one in points]
            dots = chart(rows, x=x, y=y).mark_point(opacity=0.45, size=0.5 * style.point)
            layers.append(dots.encode(color=colour, shape=shape, detail=word("query_id")))
        means = list(_group_means(two, counts, names))
        base = chart(means, x=x, y=y)
        bars = base.mark_rule(strokeWidth=1.3 * style.line).encode(
            y={**y, "field": "low"}, y2={"field": "high"}, color=colour
        )
        line = base.mark_line(strokeWidth=style.line).encode(color=colour, strokeDash=dash)
        heads = base.mark_point(filled=True, opacity=1, size=1.6 * style.point)
        layers += [bars, line, heads.encode(color=colour, shape=shape)]
        n = len(means) // 2
        means = "geometric means" if two.result.by_ratio else "means"
        groups = f"Filled: the {means} of {number_of(n, 'group')} of queries, with their "
        left_out = "" if len(points) <= _MOST_DOTS else f"; of {len(counts):,} queries, these alone"
        return Drawing(layers, style.height, [f"{groups}{level_of(two.found.settings)}s{left_out}"])

    return draw


def _group_means(two: _Two, counts: Ints, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the mean of each group of queries with about as many relevant documents."""
    n = max(1, min(_GROUPS, len(counts) // _FEWEST))
    edges = np.unique(np.quantile(counts, np.linspace(0, 1, n + 1)[1:-1], method="lower"))
    group = np.searchsorted(edges, counts)  # a count is in one group, however many queries have it
    for one in np.unique(group).tolist():
        rows = group == one
        means = mean_intervals(two.known, two.scores[rows], two.found.settings.alpha)
        for i, (name, (mean, low, high)) in enumerate(zip(names.values(), means, strict=True)):
            at = float(np.median(counts[rows])) * (1 + 0.02 * (2 * i - 1))  # side by side
            shown = {"low": mean if low is None else low, "high": mean if high is None else high}
            yield {"relevant": at, "system": name, "score": mean, **shown}
