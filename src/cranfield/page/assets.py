"""What every page has beside its data: the frame, the style, the script."""

from functools import cache
from pathlib import Path

HERE = Path(__file__).parent

# The files of the script in the order in which they are joined. They are the body of one function:
# a file uses what those before it define; what comes later it uses only when the page has started.
SCRIPTS = ("start",)


@cache
def frame() -> str:
    """Return the HTML of the page, with a `{{NAME}}` for each part that depends on the data."""
    return _text("frame.html")


@cache
def style() -> str:
    """Return the style sheet."""
    return _text("style.css")


@cache
def first() -> str:
    """Return the script that runs before anything is painted: it takes the reader's theme."""
    return _text("first.js")


@cache
def script() -> str:
    """Return the script: all its files, as the body of one function.

    >>> script().startswith('"use strict";')
    True
    """
    parts = "\n".join(_text(f"script/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _text(name: str) -> str:
    return (HERE / name).read_text("utf-8")
