"""Styles: how large a picture and its letters are, and how the layers of a picture are joined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, get_args

from cranfield.errors import check_choice

if TYPE_CHECKING:
    import altair as alt

StyleName = Literal["screen", "paper", "slides"]
STYLES: tuple[StyleName, ...] = get_args(StyleName)

INK, INK2 = "#171b20", "#565f69"  # letters; subtitles, axes and dashed lines
LINE, LINE2 = "#e2e5e9", "#c6ccd3"  # grids and cells; bands
A, B, GREY = "#1c62b9", "#b4530a", "#87919b"  # better, worse; others and ties
# Okabe & Ito's colours, which the colour-blind can distinguish, without the yellow, too light here.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
# Letters of the same widths, so that what fits where it is drawn fits where it is shown.
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
_MAX_SPACED_ROWS = 20  # rows, up to which each has its full height
# Pixels drawn and left out, of each series.
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3], [10, 3])


@dataclass(frozen=True)
class Drawing:
    """A picture before its layers are joined: these, the height of its plot, and its sentences."""

    layers: "Sequence[alt.Chart]"
    height: float
    sentences: Sequence[str] = ()  # on what was put together or left out
    resolve: Mapping[str, Any] = field(default_factory=dict)  # Vega-Lite's, of scales and axes


@dataclass(frozen=True, kw_only=True)
class Style:
    """Sizes in pixels; in a paper's picture, a pixel is a point, 1/72 inch."""

    width: int  # of the whole picture, margins included
    height: int  # of the plot, where rows do not decide it
    size: float  # of letters
    title: float | None  # the size of the title's letters; None: the caption of a paper says it
    line: float  # its width
    point: float  # its area
    row: float  # the height of a row with a name
    rows: int  # the number of rows that have room
    ticks: int  # about the number of ticks on an axis of numbers
    letters: int  # the number of letters of a name that have room
    scale: float  # of a PNG
    unit: str = ""  # of an SVG's width and height; none: pixels
    numbers: bool  # whether numbers are written beside what is drawn

    def rows_height(self, n_rows: int) -> float:
        """Return how tall rows with a name are together; many rows are closer to one another."""
        return n_rows * (self.row if n_rows <= _MAX_SPACED_ROWS else 1.25 * self.size)

    def chart(self, drawing: Drawing, *sentences: str) -> "alt.LayerChart":
        """Put the layers of a drawing together, under the sentences if the style has a title.

        The first of the sentences is the title; all are the description for screen readers.
        """
        import altair as alt

        layer_chart = alt.layer(*drawing.layers).properties(
            width=self.width,
            height=drawing.height,
            autosize={"type": "fit-x", "contains": "padding"},
            description="; ".join(sentences),
        )
        if drawing.resolve:
            layer_chart = layer_chart.resolve_scale(**drawing.resolve)
        if self.title is not None:
            heading, *subtitles = sentences
            size = self.size
            room = self.width - 2 * size
            subtitle_lines = [
                line
                for subtitle in subtitles
                for line in _wrap_lines(subtitle, room / (0.52 * size))
            ]
            heading_lines = _wrap_lines(heading, room / (0.58 * self.title))
            title = alt.Title(
                heading_lines, subtitle=subtitle_lines, anchor="start", offset=14, frame="bounds"
            )
            layer_chart = layer_chart.properties(title=title)
        styled_chart: alt.LayerChart = layer_chart.configure(**self._chart_config)
        return styled_chart

    @property
    def _chart_config(self) -> dict[str, Any]:
        size = self.size
        title_config = {
            "fontSize": self.title,
            "fontWeight": 600,
            "subtitleFontSize": size,
            "subtitlePadding": 6,
            "lineHeight": (self.title or 0) * 1.25,
            "subtitleLineHeight": size * 1.35,
            "color": INK,
            "subtitleColor": INK2,
        }
        return {
            "background": "white",
            "font": _FONT,
            "padding": 2 if self.title is None else size,
            "view": {"stroke": None},
            **({} if self.title is None else {"title": title_config}),
            "axis": {
                "labelFontSize": size,
                "titleFontSize": size,
                "titleFontWeight": "normal",
                "titlePadding": 0.6 * size,
                "labelColor": INK,
                "titleColor": INK,
                "gridColor": LINE,
                "gridWidth": 0.5 * self.line,
                "domainColor": INK2,
                "domainWidth": 0.5 * self.line,
                "tickColor": INK2,
                "tickWidth": 0.5 * self.line,
                "tickSize": 0.35 * size,
                "labelLimit": 0,
                "labelOverlap": True,
            },
            "axisQuantitative": {"tickCount": self.ticks},
            "legend": {
                "labelFontSize": size,
                "titleFontSize": size,
                "titleFontWeight": "normal",
                "labelColor": INK,
                "titleColor": INK,
                "symbolSize": 1.3 * self.point,
                "symbolStrokeWidth": self.line,
                "labelLimit": 0.75 * self.width,
                "offset": 0.8 * size,
                "columnPadding": 1.2 * size,
            },
            "text": {"fontSize": 0.92 * size, "color": INK},
        }


def _wrap_lines(text: str, letters: float) -> list[str]:
    """Return a text in lines of at most `letters` letters, or ten if `letters` is less."""
    return wrap(text, max(10, int(letters)), break_on_hyphens=False) or [""]


_STYLES = {
    "screen": Style(
        width=640,
        height=300,
        size=12,
        title=16,
        line=1.5,
        point=50,
        row=24,
        rows=60,
        ticks=6,
        letters=36,
        scale=2,
        numbers=True,
    ),
    "paper": Style(  # 3.33 inches
        width=240,
        height=140,
        size=8,
        title=None,
        line=0.8,
        point=16,
        row=11,
        rows=40,
        ticks=5,
        letters=22,
        scale=5,
        unit="pt",
        numbers=False,
    ),
    "slides": Style(  # 16 : 9, as far as rows allow it
        width=1120,
        height=430,
        size=20,
        title=30,
        line=3,
        point=170,
        row=34,
        rows=14,
        ticks=6,
        letters=32,
        scale=2,
        numbers=True,
    ),
}


def find_style(name: str) -> Style:
    """Return a style by its name; raise OptionError if there is none."""
    check_choice("style", name, STYLES)
    return _STYLES[name]
