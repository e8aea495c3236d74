"""Pieces of charts, for all pictures: data, axes, lines and points, their colours and shapes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cranfield.data.run_names import make_unique_namer
from cranfield.errors import escape_unprintable
from cranfield.extensions.report.figures.style import (
    COLOURS,
    DASHES,
    GREY,
    INK,
    INK2,
    SHAPES,
    A,
    B,
    Style,
)

if TYPE_CHECKING:
    import altair as alt

Rows = Sequence[Mapping[str, Any]]  # a dict for each point
Channel = dict[str, Any]  # what an axis, a colour or a shape shows, in Vega-Lite

_MAX_TICKS = 10  # on an axis of counts
_DASHED_WIDTH = 1.2  # of the lines that DASHES are made for
# {how a mean compares with that of another system, or entry: colour and shape}, and of any other
_MARK_OF_KIND = {
    "better": (A, "triangle-up"),
    "not significant": (GREY, "circle"),
    "worse": (B, "triangle-down"),
}
_OTHER_MARK = INK, "diamond"
_MIDDLE_LUMINANCE = 0.2  # luminance: on darker colours, white letters are clearer
SHARE_AXIS = {"tickCount": 5, "labelFlush": False}  # the axis of numbers from 0 to 1: few lines


def shorten_names(names: Iterable[str], style: Style) -> dict[str, str]:
    """Return {name: its text in a picture}: escaped, cut in its middle, and unique."""
    make_unique = make_unique_namer()
    return {name: make_unique(shorten_name(name, style.letters)) for name in names}


def shorten_name(name: str, max_letters: int) -> str:
    r"""Return a name escaped, cut in its middle where it is too long; "(no name)" for none.

    >>> shorten_name("a-very-long-name", 9), shorten_name("a\n", 9)
    ('a-ve…name', 'a\\n')
    """
    text = escape_unprintable(name)
    if len(text) <= max_letters:
        return text or "(no name)"
    half = (max_letters - 1) // 2
    return f"{text[: max_letters - 1 - half]}…{text[len(text) - half :]}"


def make_chart(rows: Rows, **channels: Channel) -> "alt.Chart":
    """Return a chart of rows without a mark."""
    import altair as alt

    base: alt.Chart = alt.Chart(alt.InlineData([*rows])).encode(**channels)
    return base


def number_channel(field: str, **options: Any) -> Channel:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", **options}


def word_channel(field: str, **options: Any) -> Channel:
    """Return a channel of words."""
    return {"field": field, "type": "nominal", **options}


def choose_colours(names: Sequence[str]) -> tuple[str, ...]:
    """Return the colours of some systems: for up to two systems, the colours of the report."""
    return (A, B) if len(names) <= len((A, B)) else COLOURS


def row_axis(field: str, labels: Sequence[str], **options: Any) -> Channel:
    """Return the axis of rows with a name each, from the top down."""
    axis = {"title": None, "ticks": False, "domain": False, "grid": False, "labelPadding": 6}
    return word_channel(field, sort=[*labels], axis=axis, **options)


def count_axis(field: str, title: str, lowest_count: int, highest_count: int) -> Channel:
    """Return an axis of counts, on which small counts are farther apart."""
    round_counts = (base * 10**power for power in range(9) for base in (1, 2, 5))
    ticks = [count for count in (0, *round_counts) if lowest_count <= count <= highest_count]
    ticks = (
        ticks if len(ticks) <= _MAX_TICKS else [count for count in ticks if str(count)[0] in "01"]
    )
    scale = {
        "type": "symlog",
        "nice": False,
        "domain": [0.94 * lowest_count, 1.06 * max(highest_count, 1)],
    }
    return number_channel(field, title=title, scale=scale, axis={"values": ticks, "format": ",d"})


def tint(share: float, colour: str) -> str:
    """Return a share of a colour, 0 to 1, mixed with white.

    >>> tint(0, "#1c62b9"), tint(1, "#1c62b9"), tint(0.5, "#000000")
    ('#ffffff', '#1c62b9', '#808080')
    """
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - channel)):02x}" for channel in channels)


def contrasting_ink(colour: str) -> str:
    """Return the colour of letters that can be read on a colour: dark, or white.

    >>> contrasting_ink("#ffffff"), contrasting_ink("#1c62b9")
    ('#171b20', '#ffffff')
    """
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    luminance = sum(
        w * channel for w, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
    return INK if luminance > _MIDDLE_LUMINANCE else "#ffffff"


def rank_axis(title: str, depth: int, max_ticks: int = 20) -> Channel:
    """Return the axis of `depth` ranks, with a mark at each rank, or at each fifth or tenth."""
    step = next(step for step in (1, 5, 10) if depth <= max_ticks * step)
    ticks = sorted({1, *range(step, depth + 1, step)})
    scale = {"domain": [0.5, depth + 0.5], "nice": False, "zero": False}
    axis = {"values": ticks, "grid": False, "format": "d"}
    return number_channel("rank", title=title, axis=axis, scale=scale)


def series_channel(
    field: str, names: Sequence[str], marks: Sequence[Any], style: Style, **legend: Any
) -> Channel:
    """Return the channel that distinguishes named series: by colours, shapes or dashes."""
    scale = {"domain": [*names], "range": [*marks[: len(names)]]}
    return word_channel(field, scale=scale, legend=make_legend(names, style, **legend))


def mark_kinds(rows: Rows, style: Style, **legend: Any) -> tuple[Channel, Channel]:
    """Return the channels of colour and shape that say how the means of rows compare."""
    row_kinds = [row["kind"] for row in rows]
    kinds = [kind for kind in dict.fromkeys([*_MARK_OF_KIND, *row_kinds]) if kind in row_kinds]
    marks = zip(*(_MARK_OF_KIND.get(kind, _OTHER_MARK) for kind in kinds), strict=True)
    colour, shape = (series_channel("kind", kinds, [*mark], style) | legend for mark in marks)
    return colour, shape


def make_legend(names: Sequence[str], style: Style, **options: Any) -> Channel:
    """Return a legend above the plot, in as many columns as these names leave room for."""
    widest = max(map(len, names), default=0) * 0.58 * style.size + 4 * style.size
    columns = max(1, min(len(names), int((style.width - 2 * style.size) / widest)))
    defaults = {"title": None, "orient": "top", "direction": "horizontal", "symbolOpacity": 1}
    return {**defaults, "columns": columns, **options}


def scale_dashes(style: Style) -> list[list[float]]:
    """Return the dashes of lines, scaled to the lines' width."""
    return [[length * style.line / _DASHED_WIDTH for length in dash] for dash in DASHES]


def draw_lines(
    base: "alt.Chart", field: str, names: Sequence[str], style: Style, **options: Any
) -> "alt.Chart":
    """Return the lines of some series, silent for screen readers, which read the points."""
    colour = series_channel(field, names, COLOURS, style)
    dash = series_channel(field, names, scale_dashes(style), style)
    line_chart: alt.Chart = base.mark_line(strokeWidth=style.line, aria=False, **options)
    return line_chart.encode(color=colour, strokeDash=dash)


def draw_dashed(
    base: "alt.Chart", style: Style, mark: Literal["rule", "line"] = "rule"
) -> "alt.Chart":
    """Return a thin dashed line, for comparison with points and other lines."""
    make = base.mark_rule if mark == "rule" else base.mark_line
    width = 0.75 * style.line
    rule_chart: alt.Chart = make(
        color=INK2, strokeWidth=width, strokeDash=[5 * width, 3 * width], aria=False
    )
    return rule_chart


def draw_points(
    base: "alt.Chart", field: str, names: Sequence[str], style: Style, size: float = 1
) -> "alt.Chart":
    """Return the points of some series, each with its colour and shape."""
    colour = series_channel(field, names, COLOURS, style)
    shape = series_channel(field, names, SHAPES, style)
    point_chart: alt.Chart = base.mark_point(filled=True, size=size * style.point, opacity=1)
    return point_chart.encode(color=colour, shape=shape)
