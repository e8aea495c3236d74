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
    r"""Return compact JSON that is safe between the tags of a script; infinity and NaN become null.

    >>> safe_json({"a": "</script>", "n": [0.1, float("nan")]})
    '{"a":"\\u003c/script\\u003e","n":[0.1,null]}'
    """
    try:
        text = _dump_compact(payload)
    except ValueError:
        text = _dump_compact(_replace_non_finite(payload))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _dump_compact(payload: Any) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _replace_non_finite(payload: Any) -> Any:
    """Return a JSON value with None for each number that is not finite."""
    if isinstance(payload, float):
        return payload if math.isfinite(payload) else None
    if isinstance(payload, dict):
        return {name: _replace_non_finite(value) for name, value in payload.items()}
    if isinstance(payload, list | tuple):
        return [*map(_replace_non_finite, payload)]
    return payload


def pack_bytes(payload: bytes) -> str:
    """Return bytes as base64 of gzip, the same text for the same bytes.

    >>> gzip.decompress(base64.b64decode(pack_bytes(b"abc")))
    b'abc'
    """
    return base64.b64encode(gzip.compress(payload, 6, mtime=0)).decode()


def pack_members(members: Iterable[str], budget: int) -> tuple[str, int]:
    """Return base64 of gzip of the first members of a JSON object, and their number; "" for none.

    Batches are added while the text has at most `budget` characters.

    >>> text, n = pack_members(['"0":1', '"1":2'], 1_000)
    >>> zlib.decompress(base64.b64decode(text), 31), n
    (b'{"0":1,"1":2}', 2)
    """
    room, compressor, chunks, n = budget * 3 // 4 - _END_BYTES, zlib.compressobj(wbits=31), [b""], 0
    for batch in _batch_members(members):
        previous = compressor.copy()
        chunk = compressor.compress(f"{'{,'[n > 0]}{','.join(batch)}".encode())
        chunk += compressor.flush(zlib.Z_SYNC_FLUSH)
        if sum(map(len, chunks)) + len(chunk) > room:
            compressor = previous
            break
        chunks.append(chunk)
        n += len(batch)
    if not n:
        return "", 0
    chunks += compressor.compress(b"}"), compressor.flush()
    return base64.b64encode(b"".join(chunks)).decode(), n


def _batch_members(members: Iterable[str]) -> Iterator[list[str]]:
    """Yield the members in batches, each large enough to be worth compressing and measuring."""
    batch: list[str] = []
    for member in members:
        batch.append(member)
        if sum(map(len, batch)) >= _BATCH_CHARACTERS:
            yield batch
            batch = []
    if batch:
        yield batch


_BATCH_CHARACTERS = 1 << 14  # of the members of a batch, at least; the last may have fewer
_END_BYTES = 64  # bytes that the end of gzip and the object's closing brace add, at most
