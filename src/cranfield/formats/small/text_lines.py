"""Text lines: reads the lines of a small text file, in UTF-8."""

import io
import re
from collections.abc import Iterator
from functools import partial

from cranfield.errors import InputError
from cranfield.formats.compression import Unclosable
from cranfield.formats.source import Source
from cranfield.formats.text import refuse_binary


def read_text(source: Source) -> str:
    """Return the text of a file; InputError for a line that is not UTF-8."""
    return "".join(line for _, line in read_utf8_lines(source))


def read_utf8_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines as `read_file_lines` does; InputError for a line that is not UTF-8."""
    return map(partial(require_utf8, source), read_file_lines(source))


def require_utf8(source: Source, line: tuple[int, str]) -> tuple[int, str]:
    """Return a line as it is, (number, text); InputError if it is not UTF-8."""
    number, text = line
    if not text.isascii() and re.search("[\udc80-\udcff]", text):
        raise InputError("is not text in UTF-8", source=source.name, line=number)
    return line


def read_file_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, with their ends, each with its number, from 1.

    Bytes that are not UTF-8 are halves of surrogate pairs. Raises InputError for a binary file, or
    one far larger than its compressed one.
    """
    n_bytes = 0

    def count_bytes(n: int) -> None:
        nonlocal n_bytes
        n_bytes += n
        source.refuse_expansion(n_bytes)

    refuse_binary(source, source.read_start(4096))
    with source.open(reports_progress=True) as stream:
        buffer = io.BufferedReader(Unclosable(stream, count_bytes))
        yield from enumerate(io.TextIOWrapper(buffer, "utf-8-sig", "surrogateescape", ""), 1)
