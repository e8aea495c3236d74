"""What charts are made of: rows of data with axes, lines and points, and what tells them apart."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.data.run_names import numbering
from cranfield.errors import printable
from cranfield.figures.style import COLOURS, DASHES, SHAPES, Style

if TYPE_CHECKING:
    import altair as alt

Rows = Sequence[Mapping[str, Any]]  # a dict for each point
Channel = dict[str, Any]  # what an axis, a colour or a shape shows, in Vega-Lite

SHARES = {"tickCount": 5, "labelFlush": False}  # the axis of numbers from 0 to 1: few lines


def shown_names(names: Iterable[str], style: Style) -> dict[str, str]:
    """Return each name as a picture shows it: escaped, cut in its middle, and unlike any other."""
    numbered = numbering()
    return {name: numbered(shown_name(name, style.letters)) for name in names}


def shown_name(name: str, letters: int) -> str:
    r"""Return a name escaped, cut in its middle where it is longer: both ends tell names apart.

    >>> shown_name("a-very-long-name", 9), shown_name("a\n", 9)
    ('a-ve…name', 'a\\n')
    """
    text = printable(name)
    if len(text) <= letters:
        return text or "(no name)"
    half = (letters - 1) // 2
    return f"{text[: letters - 1 - half]}…{text[len(text) - half :]}"


def chart(rows: Rows, **channels: Channel) -> "alt.Chart":
    """Return a chart of rows without a mark."""
    import altair as alt

    found: alt.Chart = alt.Chart(alt.InlineData([*rows])).encode(**channels)
    return found


def number(field: str, **how: Any) -> Channel:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", **how}


def word(field: str, **how: Any) -> Channel:
    """Return a channel of words."""
    return {"field": field, "type": "nominal", **how}


def ranks(title: str, depth: int, few: int = 20) -> Channel:
    """Return the axis of ranks, with a tick at each that has room."""
    step = next(step for step in (1, 5, 10) if depth <= few * step)
    ticks = [1, *range(step, depth + 1, step)]
    scale = {"domain": [0.5, depth + 0.5], "nice": False, "zero": False}
    axis = {"values": ticks, "grid": False, "format": "d"}
    return number("rank", title=title, axis=axis, scale=scale)


def told_apart(
    field: str, names: Sequence[str], marks: Sequence[Any], style: Style, **legend: Any
) -> Channel:
    """Return how the series of these names are told apart: by colours, shapes or dashes."""
    scale = {"domain": [*names], "range": [*marks[: len(names)]]}
    return word(field, scale=scale, legend=legend_of(names, style, **legend))


def legend_of(names: Sequence[str], style: Style, **more: Any) -> Channel:
    """Return a legend above the plot, in as many columns as these names leave room for."""
    widest = max(map(len, names), default=0) * 0.58 * style.size + 4 * style.size
    columns = max(1, min(len(names), int((style.width - 2 * style.size) / widest)))
    return {"title": None, "orient": "top", "direction": "horizontal", "columns": columns, **more}


def lines(
    one: "alt.Chart", field: str, names: Sequence[str], style: Style, **how: Any
) -> "alt.Chart":
    """Return the lines of some series, which say nothing that their points do not."""
    colour = told_apart(field, names, COLOURS, style)
    dash = told_apart(field, names, DASHES, style)
    found: alt.Chart = one.mark_line(strokeWidth=style.line, aria=False, **how)
    return found.encode(color=colour, strokeDash=dash)


def points_of(
    one: "alt.Chart", field: str, names: Sequence[str], style: Style, size: float = 1
) -> "alt.Chart":
    """Return the points of some series, each of its own colour and shape."""
    colour = told_apart(field, names, COLOURS, style)
    shape = told_apart(field, names, SHAPES, style)
    found: alt.Chart = one.mark_point(filled=True, size=size * style.point, opacity=1)
    return found.encode(color=colour, shape=shape)
