"""Small files that would fill the memory."""

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cranfield import InputError


def check_bomb(
    name: str, read_file: Callable[[str], Any], begin: str, repeated: str, folder: Path
) -> None:
    """Assert that a small file that becomes large when it is unpacked is refused in time."""
    path = folder / f"{name}.gz"
    many = repeated.encode() * ((1 << 20) // len(repeated))
    with gzip.open(path, "wb", 9) as stream:
        stream.write(begin.encode())
        for _ in range(8):
            stream.write(many)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"times as large as .* stored\n.*decompress it"):
            list(read_file(str(path)))
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()
