"""The picture of a trend: the mean of each entry, and its step from the entry before it."""

from typing import Any

from cranfield.errors import InputError, MeasureError
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    make_chart,
    mark_kinds,
    number_channel,
    shorten_names,
    tint,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import axis_title
from cranfield.extensions.report.figures.style import INK, A, Drawing, Style, StyleName
from cranfield.extensions.trend.trend_result import Trend
from cranfield.measures import Measure
from cranfield.render.numbers import format_count, format_percent
from cranfield.render.typed_names import as_typed

_MAX_LABELS = 40  # entries that have room for a label each
_POINT_FIELDS = ("entry", "mean", "judged", "break_kind", "other_mean", "p", "verdict")


def over_time(
    trend: Trend, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw the mean of each entry of a trend, and whether it differs from the entry before it.

    A line joins the means; it is broken where judgments, options or queries changed. A bar is the
    interval of the step, beginning at the mean before, which a tick marks; the sign of an entry
    says whether its step is significant. Below is the share of the documents that is judged.

    Args:
        trend: what `trend` returns.
        measure: a measure of the trend. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point has "entry", "mean", "judged", "break_kind" (what changed, at a break),
        "other_mean" (the mean before, on the queries that both have), "low" and "high" (the
        interval of the step, added to it), "p" and "verdict". What does not exist is None.

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
        name = trend[trend.measures[0] if measure is None else measure].measure
    except KeyError as error:
        raise MeasureError(f"not in the trend: {error.args[0]}") from None
    titles = [*map(axis_title, trend[name].results), as_typed(name)]
    points = []
    for row in [row for row in trend.rows() if row["measure"] == name]:
        before, by_ratio = row["other_mean"], row["scale"] == "ratio"
        ends = {
            end: before * row[f"ratio_{end}"] if by_ratio else before + row[end]
            for end in ("low", "high")
            if row[end] is not None
        }
        point = {field: row[field] for field in _POINT_FIELDS}
        points.append({**point, "low": None, "high": None, **ends})
    return Figure(
        points,
        f"{as_typed(name)} of {format_count(len(points), 'entry', 'entries')}",
        f"Each bar is the {format_percent(1 - trend.settings.alpha)} interval of the step from the "
        "mean before (of the shared queries), which the tick marks",
        _draw_trend(points, titles[0]),
        style,
        tuple(note for note in trend.notes if note.is_grave),
    )


def _draw_trend(points: Points, title: str) -> Draw:
    def draw(style: Style) -> Drawing:
        names = shorten_names([point["entry"] for point in points], style)
        labels = [*names.values()]
        is_wide = sum(map(len, labels)) * style.size > style.width
        axis: dict[str, Any] = {"title": None, "labelAngle": -40 if is_wide else 0}
        axis["values"] = labels[:: -(-len(labels) // _MAX_LABELS)]
        rows: list[dict[str, Any]] = []
        for point in points:
            kind = "not compared" if point["low"] is None else "not significant"
            stretch = len(rows) if point["break_kind"] or not rows else rows[-1]["stretch"]
            row = {**point, "entry": names[point["entry"]], "stretch": stretch}
            row["shade"] = tint(0.6 * (point["judged"] or 0.0), A)
            rows.append({**row, "kind": point["verdict"] or kind})
        has_shares = any(point["judged"] is not None for point in points)
        strip_height = 1.5 * style.size * has_shares
        scale = {"zero": False, "range": [{"expr": f"height - {1.5 * strip_height:g}"}, 0]}
        x = word_channel("entry", sort=labels, axis=axis, scale={"type": "band"})
        y = number_channel("mean", title=title, scale=scale)
        base = make_chart(rows, x=x, y=y)
        steps = make_chart([row for row in rows if row["low"] is not None], x=x, y=y)
        breaks = make_chart([row for row in rows if row["break_kind"]], x=x, y=y)
        colour, shape = mark_kinds(rows, style)
        ends = steps.mark_rule(strokeWidth=3 * style.line, opacity=0.5, aria=False)
        tick_width = min(style.size, 0.6 * style.width / len(rows))
        ticks = steps.mark_tick(color=INK, thickness=style.line, size=tick_width, aria=False)
        heads = base.mark_point(filled=True, opacity=1, size=1.3 * style.point)
        words = breaks.mark_text(dy=-style.size, aria=False)
        lines = base.mark_line(color=INK, strokeWidth=style.line, aria=False)
        layers = [
            lines.encode(detail=word_channel("stretch")),
            ends.encode(y={**y, "field": "low"}, y2={"field": "high"}, color=colour),
            ticks.encode(y={**y, "field": "other_mean"}),
            heads.encode(color=colour, shape=shape),
            words.encode(text=word_channel("break_kind")),
        ]
        if not has_shares:
            return Drawing(layers, style.height)
        top, foot = ({"value": {"expr": f"height - {h:g}"}} for h in (strip_height, 0))
        strip = make_chart(rows, x=x, y=top, y2=foot).mark_bar(aria=False)
        layers.append(strip.encode(color=word_channel("shade", scale=None)))
        sentence = "Below, the share of the documents that is judged: the darker, the more"
        return Drawing(layers, style.height, [sentence])

    return draw
