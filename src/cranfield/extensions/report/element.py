"""Elements of HTML: the only place of the page where text becomes markup, escaped."""

import html
from collections.abc import Iterable

from cranfield.errors import printable

LONGEST = 300  # characters of a name in a table; the whole name is in the data


class Markup(str):
    """HTML, in which every text is escaped already."""

    __slots__ = ()


NOTHING = Markup("")
_EMPTY = {"circle", "line", "rect", "input"}  # no content: SVG needs the closing slash


def escaped(text: str) -> Markup:
    r"""Return text escaped for HTML, with invisible characters shown; markup is unchanged.

    >>> escaped("<b>\u202e")
    '&lt;b&gt;\\u202e'
    >>> escaped(Markup("<b>"))
    '<b>'
    """
    return text if isinstance(text, Markup) else Markup(html.escape(printable(text)))


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Return parts as one, each of them escaped unless it is markup."""
    return Markup(escaped(between).join(map(escaped, parts)))


def element(tag: str, *content: str, **attributes: str | float | bool | None) -> Markup:
    """Return an element. `_` in an attribute's name becomes `-`; at its end, it is left out.

    True is an attribute without a value; None and False leave the attribute out.

    >>> element("td", "a<b", class_="n", data_v=0.5, hidden=None)
    '<td class="n" data-v="0.5">a&lt;b</td>'
    >>> element("p", "A ", element("b", "B"))
    '<p>A <b>B</b></p>'
    """
    shown = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        called = name.rstrip("_").replace("_", "-")
        text = value if isinstance(value, str) else str(value)
        shown.append(called if value is True else f'{called}="{escaped(text)}"')
    opening = " ".join(shown)
    if tag in _EMPTY:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{joined(content)}</{tag}>")


def name_of(name: str, longest: int = LONGEST) -> Markup:
    """Return a name from a file, isolated from the direction of the text around it, and cut.

    >>> name_of("abcdef", 4)
    '<bdi>abc…</bdi>'
    """
    return element("bdi", name if len(name) <= longest else f"{name[: longest - 1]}…")
