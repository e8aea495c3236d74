"""The frame of a page, and how it is filled: with its parts, and the content security policy."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_PLACEHOLDER = re.compile(r"\{\{([A-Z_]+)\}\}")
_FOLDER = Path(__file__).parent
# The script that runs before anything is painted: it sets the theme that the reader chose before,
# and marks that scripts run.
_THEME_SCRIPT = (
    'try{const t=localStorage.getItem("cranfield-theme");'
    'if(t==="dark"||t==="light")document.documentElement.dataset.theme=t}catch{}'
    'document.documentElement.classList.add("js")'
)


@cache
def read_frame() -> str:
    """Return the HTML of the page, with a `{{NAME}}` for each part that is put in."""
    return (_FOLDER / "frame.html").read_text("utf-8")


@cache
def read_style() -> str:
    """Return the style sheet."""
    return (_FOLDER / "style.css").read_text("utf-8")


@cache
def read_script() -> str:
    """Return the script: its files in the order of the numbers that they begin with, in a function.

    A file uses what the files before it define; what later files define, only once the page runs.

    >>> read_script().startswith('"use strict";')
    True
    """
    files = sorted((_FOLDER / "script").glob("*.js"))
    parts = "\n".join(path.read_text("utf-8") for path in files)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def fill_frame(parts: Mapping[str, str]) -> str:
    """Return the page: the frame with `parts`, {NAME: HTML}, each put in and not scanned again.

    The content security policy allows only the scripts and the style of this package, and images
    that the page itself holds; nothing else can be loaded, sent or embedded.
    """
    resources = {"STYLE": read_style(), "THEME": _THEME_SCRIPT, "SCRIPT": read_script()}
    texts = {**parts, **resources, "CSP": _make_policy(resources)}
    return _PLACEHOLDER.sub(lambda match: texts[match[1]], read_frame())


def _make_policy(resources: Mapping[str, str]) -> str:
    """Return the content security policy: the scripts and the style by hash, images as data."""
    sources = {name: f"'sha256-{_hash_text(text)}'" for name, text in resources.items()}
    rules = (
        "default-src 'none'",
        f"script-src {sources['THEME']} {sources['SCRIPT']}",
        f"style-src {sources['STYLE']}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _hash_text(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
