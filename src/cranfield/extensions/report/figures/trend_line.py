"""The picture of a trend: the mean of each entry, and its step from the entry before it."""

from typing import Any

from cranfield.errors import InputError, MeasureError
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    make_chart,
    number_channel,
    series_channel,
    shorten_names,
    tint,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import axis_title
from cranfield.extensions.report.figures.style import GREY, INK, A, B, Drawing, Style, StyleName
from cranfield.extensions.trend.trend_result import MeasureTrend, Trend, TrendEntry
from cranfield.measures import Measure
from cranfield.render.numbers import format_count, format_number, format_percent
from cranfield.render.typed_names import as_typed

_MAX_LABELS = 40  # entries that have room for a label each
_MAX_SHARES = 12  # entries that have room for their judged shares in digits
_KINDS = ("better", "not significant", "worse", "not compared")
_COLOURS = (A, GREY, B, INK)
_SHAPES = ("triangle-up", "circle", "triangle-down", "diamond")


def over_time(
    trend: Trend, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw the mean of each entry of a trend, and whether it differs from the entry before it.

    A line joins the means; it is broken where judgments, options or queries changed. A bar is the
    interval of the step, beginning at the mean before, which a tick marks: a bar that misses its
    tick is a significant step. Below is the share of the documents that is judged.

    Args:
        trend: what `trend` returns.
        measure: a measure of the trend. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point has "entry", "mean", "judged", "break_kind" (what changed, at a break),
        "previous" (the mean before, on the queries that both have), "low" and "high" (the interval
        of the step, added to it), "p" and "verdict". What does not exist is None.

    Raises:
        InputError: not what `trend` returns.
        MeasureError: a measure that is not in it.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import trend
    >>> week = {f"q{i}": 0.1 * i for i in range(10)}
    >>> points = over_time(trend({"w1": week, "w2": week})).points
    >>> [(point["entry"], round(point["mean"], 2), point["verdict"]) for point in points]
    [('w1', 0.45, None), ('w2', 0.45, None)]

    """
    if not isinstance(trend, Trend):
        raise InputError(
            f"over_time: expected what trend() returns, not a {type(trend).__name__}",
            hint="figures.over_time(trend(qrels, [run, next_run]))",
        )
    try:
        result = trend[trend.measures[0] if measure is None else measure]
    except KeyError:
        names = ", ".join(trend.measures)
        raise MeasureError(f"{measure} is not in the trend; there are {names}") from None
    points = [_make_point(entry) for entry in result.entries]
    level = format_percent(1 - trend.settings.alpha)
    return Figure(
        points,
        f"{as_typed(result.measure)} of {format_count(len(points), 'entry', 'entries')}",
        f"Each bar is the {level} interval of the step from the mean before, which the tick marks: "
        "a bar that misses its tick is a significant step",
        _draw_trend(points, result),
        style,
        tuple(note for note in trend.notes if note.is_grave),
    )


def _make_point(entry: TrendEntry) -> dict[str, Any]:
    """Return the point of an entry."""
    step = entry.step
    previous = low = high = None
    if step is not None and step.low is not None and step.high is not None:
        previous = step.other_mean
        low, high = previous + step.low, previous + step.high
        if step.ratio_low is not None and step.ratio_high is not None:
            low, high = previous * step.ratio_low, previous * step.ratio_high
    return {
        "entry": entry.name,
        "mean": entry.mean,
        "judged": entry.judged,
        "break_kind": entry.break_kind,
        "previous": previous,
        "low": low,
        "high": high,
        "p": step and step.p,
        "verdict": step and step.verdict,
    }


def _draw_trend(points: Points, result: MeasureTrend) -> Draw:
    def draw(style: Style) -> Drawing:
        names = shorten_names([point["entry"] for point in points], style)
        has_shares = any(point["judged"] is not None for point in points)
        strip_height = 1.5 * style.size * has_shares
        labels = [*names.values()]
        is_wide = sum(map(len, labels)) * style.size > style.width
        axis: dict[str, Any] = {"title": None, "labelAngle": -40 if is_wide else 0}
        axis["values"] = labels[:: -(-len(labels) // _MAX_LABELS)]
        x = word_channel("entry", sort=labels, axis=axis, scale={"type": "band"})
        scale = {"zero": False, "range": [{"expr": f"height - {1.5 * strip_height:g}"}, 0]}
        title = axis_title(result.results[0]) if result.results else as_typed(result.measure)
        y = number_channel("mean", title=title, scale=scale)
        rows: list[dict[str, Any]] = []
        for point in points:
            kind = point["verdict"] or _KINDS[1 if point["previous"] is not None else 3]
            stretch = len(rows) if point["break_kind"] or not rows else rows[-1]["stretch"]
            row = {**point, "entry": names[point["entry"]], "kind": kind, "stretch": stretch}
            row |= {"shade": tint(0.6 * (point["judged"] or 0.0), A)}
            rows.append({**row, "share": format_number(point["judged"], 2)})
        base = make_chart(rows, x=x, y=y)
        steps = make_chart([row for row in rows if row["previous"] is not None], x=x, y=y)
        breaks = make_chart([row for row in rows if row["break_kind"]], x=x, y=y)
        places = [i for i, kind in enumerate(_KINDS) if any(row["kind"] == kind for row in rows)]
        colour, shape = (
            series_channel("kind", [_KINDS[i] for i in places], [marks[i] for i in places], style)
            for marks in (_COLOURS, _SHAPES)
        )
        lines = base.mark_line(color=INK, strokeWidth=style.line, aria=False)
        ends = steps.mark_rule(strokeWidth=3 * style.line, opacity=0.5, aria=False)
        tick_width = min(style.size, 0.6 * style.width / len(rows))
        ticks = steps.mark_tick(color=INK, thickness=style.line, size=tick_width, aria=False)
        heads = base.mark_point(filled=True, opacity=1, size=1.3 * style.point)
        words = breaks.mark_text(dy=-style.size, aria=False)
        layers = [
            lines.encode(detail=word_channel("stretch")),
            ends.encode(y={**y, "field": "low"}, y2={"field": "high"}, color=colour),
            ticks.encode(y={**y, "field": "previous"}),
            heads.encode(color=colour, shape=shape),
            words.encode(text=word_channel("break_kind")),
        ]
        if not has_shares:
            return Drawing(layers, style.height)
        top, middle = (
            {"value": {"expr": f"height - {part * strip_height:g}"}} for part in (1, 0.5)
        )
        strip = make_chart(rows, x=x, y=top, y2={"value": {"expr": "height"}})
        layers.append(strip.mark_bar(aria=False).encode(color=word_channel("shade", scale=None)))
        if style.numbers and len(rows) <= _MAX_SHARES:
            shares = make_chart(rows, x=x, y=middle).mark_text(aria=False)
            layers.append(shares.encode(text=word_channel("share")))
        sentence = "Below, the share of the documents that is judged: the darker, the more"
        return Drawing(layers, style.height, [sentence])

    return draw
