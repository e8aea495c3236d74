"""The frame of a page, filled: what stands in it, and the policy that holds it together."""

import base64
import hashlib
import re
from collections.abc import Mapping

from cranfield.page.assets import first, frame, script, style

_PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")


def filled(parts: Mapping[str, str]) -> str:
    """Return the page: the frame with its parts, each of them put in once and not looked at again.

    The content security policy lets nothing run, or style, but what comes with the package; and
    lets nothing be loaded, sent or embedded.
    """
    own = {"STYLE": style(), "THEME": first(), "SCRIPT": script()}
    whole = {**parts, **own, "CSP": _policy(own)}
    return _PLACE.sub(lambda found: whole[found[1]], frame())


def _policy(own: Mapping[str, str]) -> str:
    """Return the content security policy: hashes of the script and the style, nothing else."""
    sources = {name: f"'sha256-{_digest(text)}'" for name, text in own.items()}
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


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
