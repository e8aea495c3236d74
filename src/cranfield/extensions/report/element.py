"""Elements of HTML: the only place where text of a page becomes markup, escaped."""

import html
from collections.abc import Iterable

from cranfield.errors import escape_unprintable

MAX_NAME_LETTERS = 300  # characters of a name in a table; the whole name is in the data


class Markup(str):
    """HTML, in which every text is escaped already."""

    __slots__ = ()


NO_MARKUP = Markup("")
_EMPTY_TAGS = {"circle", "line", "rect", "input"}  # no content: SVG needs the closing slash


def escape(text: str) -> Markup:
    r"""Return text escaped for HTML, with invisible characters shown; markup is unchanged.

    >>> escape("<b>\u202e")
    '&lt;b&gt;\\u202e'
    >>> escape(Markup("<b>"))
    '<b>'
    """
    return text if isinstance(text, Markup) else Markup(html.escape(escape_unprintable(text)))


def join_markup(parts: Iterable[str], separator: str = "") -> Markup:
    """Return parts as one markup, each part escaped unless it is markup."""
    return Markup(escape(separator).join(map(escape, parts)))


def element(tag: str, *children: str, **attributes: str | float | bool | None) -> Markup:
    """Return an element. `_` in an attribute's name becomes `-`; at the end, it is left out.

    True is an attribute without a value; None and False leave the attribute out.

    >>> element("td", "a<b", class_="n", data_v=0.5, hidden=None)
    '<td class="n" data-v="0.5">a&lt;b</td>'
    >>> element("p", "A ", element("b", "B"))
    '<p>A <b>B</b></p>'
    """
    parts = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        attribute_name = name.rstrip("_").replace("_", "-")
        text = value if isinstance(value, str) else str(value)
        parts.append(attribute_name if value is True else f'{attribute_name}="{escape(text)}"')
    opening = " ".join(parts)
    if tag in _EMPTY_TAGS:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{join_markup(children)}</{tag}>")


def name_element(name: str, max_letters: int = MAX_NAME_LETTERS) -> Markup:
    """Return a name from a file, isolated from the direction of the text around it, and cut.

    >>> name_element("abcdef", 4)
    '<bdi>abc…</bdi>'
    """
    return element("bdi", name if len(name) <= max_letters else f"{name[: max_letters - 1]}…")
