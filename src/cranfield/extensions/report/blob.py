"""Data inside a page: JSON that no HTML parser takes for markup, and bytes as text."""

import base64
import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

# What an HTML parser, or an older parser of scripts, may see in JSON; and lone surrogates,
# which UTF-8 does not have.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def safe_json(payload: Any) -> str:
    r"""Return compact JSON that is safe between the tags of a script; NaN becomes null.

    >>> safe_json({"a": "</script>", "n": [0.1, float("nan")]})
    '{"a":"\\u003c/script\\u003e","n":[0.1,null]}'
    """
    try:
        text = _dump_compact(payload)
    except ValueError:
        text = _dump_compact(_replace_non_finite(payload))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _dump_compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _replace_non_finite(content: Any) -> Any:
    """Return content with None for each number that is not finite."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _replace_non_finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [*map(_replace_non_finite, content)]
    return content


def pack_bytes(payload: bytes) -> str:
    """Return bytes as base64 of gzip, the same text for the same bytes.

    >>> gzip.decompress(base64.b64decode(packed(b"abc")))
    b'abc'
    """
    return base64.b64encode(gzip.compress(payload, 6, mtime=0)).decode()


def pack_members(members: Iterable[str], budget: int) -> tuple[str, int]:
    """Return base64 of gzip of as many members of a JSON object as fit, and how many these are.

    >>> text, n = members_within(['"0":1', '"1":2'], 1_000)
    >>> zlib.decompress(base64.b64decode(text), 31), n
    (b'{"0":1,"1":2}', 2)
    """
    room, pack, found, n = budget * 3 // 4 - _END_BYTES, zlib.compressobj(wbits=31), [b""], 0
    for some in _batch_members(members):
        before = pack.copy()
        more = pack.compress(f"{'{,'[n > 0]}{','.join(some)}".encode())
        more += pack.flush(zlib.Z_SYNC_FLUSH)
        if sum(map(len, found)) + len(more) > room:
            pack = before
            break
        found.append(more)
        n += len(some)
    if not n:
        return "", 0
    found += pack.compress(b"}"), pack.flush()
    return base64.b64encode(b"".join(found)).decode(), n


def _batch_members(pieces: Iterable[str]) -> Iterator[list[str]]:
    """Yield the pieces in batches, each large enough to be worth compressing and measuring."""
    some: list[str] = []
    for piece in pieces:
        some.append(piece)
        if sum(map(len, some)) >= _BATCH_CHARACTERS:
            yield some
            some = []
    if some:
        yield some


_BATCH_CHARACTERS = 1 << 14  # characters
_END_BYTES = 64  # bytes that gzip and the object's braces add, at most
