"""Data inside a page: JSON that no HTML parser takes for markup, and bytes as text."""

import base64
import gzip
import json
import math
import re
from typing import Any

# What an HTML parser, or an older parser of scripts, may see in JSON; and halves of a character,
# which UTF-8 does not have.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def safe_json(content: Any) -> str:
    r"""Return compact JSON that can stand between the tags of a script; no number is NaN.

    >>> safe_json({"a": "</script>", "n": [0.1, float("nan")]})
    '{"a":"\\u003c/script\\u003e","n":[0.1,null]}'
    """
    try:
        text = _json(content)
    except ValueError:
        text = _json(_finite(content))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(content: Any) -> Any:
    """Return content with None for each number that is none."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [*map(_finite, content)]
    return content


def packed(content: bytes) -> str:
    """Return bytes as base64 of gzip, the same text for the same bytes.

    >>> gzip.decompress(base64.b64decode(packed(b"abc")))
    b'abc'
    """
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
