"""Quotation: splits lines of separated values into fields, some of them in quotation marks."""

import csv
import re
from collections.abc import Iterable, Iterator

import numpy as np

from cranfield.formats.text import NEWLINE, Bytes

QUOTE, RETURN = 34, 13
_QUOTATION = re.compile(rb'"(?:[^"]|"")*+"')
_TSV_FIELD = re.compile(rb"(?:^|\t)(" + _QUOTATION.pattern + rb"(?=\t|$)|[^\t]*)")
SENTINEL = b'""\n'  # a separate record, unless a field is still open


def split_line(line: bytes, separator: bytes, n_columns: int) -> list[bytes]:
    """Return the fields of a line; no fields of a malformed line."""
    return next((fields for _, fields, _ in parse_records([line], separator, n_columns)), [])


def parse_records(
    lines: Iterable[bytes], separator: bytes, n_columns: int
) -> Iterator[tuple[int, list[bytes], str | None]]:
    """Yield (lines read so far, fields, problem) of each record; a malformed one has no fields."""
    if separator == b"\t":
        for n_lines, line in enumerate(lines, 1):
            yield n_lines, _split_tsv_line(line.rstrip(b"\r\n"), n_columns), None
        return
    texts = (line.decode("latin-1") for line in lines)
    reader = csv.reader(texts, delimiter=separator.decode(), strict=True)
    while True:
        fields: list[str] = []
        problem = None
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = str(error)
        yield reader.line_num, [field.encode("latin-1") for field in fields], problem


def _split_tsv_line(line: bytes, n_columns: int) -> list[bytes]:
    """Return the fields of a line of TSV.

    Tabs within quotation marks separate fields unless there are `n_columns` only if they do not. A
    quotation mark that its own field does not close is a character.
    """
    fields = line.split(b"\t") if line else []
    if b'"' in line:
        fields_with_tabs = _TSV_FIELD.findall(line)
        if len(fields) != n_columns == len(fields_with_tabs):
            fields = fields_with_tabs
        for i, field in enumerate(fields):
            if _QUOTATION.fullmatch(field):
                fields[i] = field[1:-1].replace(b'""', b'"')
    return fields


def remove_quotes(raw: Bytes, separator: bytes) -> Bytes | None:
    """Return the text without quotation marks, None if they are needed, or there are none.

    They are not needed if each mark that opens a field is followed by a mark that closes it,
    without a line end or separator in between.
    """
    quotes = np.flatnonzero(raw == QUOTE)
    if len(quotes) % 2 or len(quotes) == 0:
        return None
    opening, closing = quotes[::2], quotes[1::2]
    ends_field = (raw == separator[0]) | (raw == NEWLINE)
    begins_field = ends_field[opening - 1] | (opening == 0)
    is_closed = np.append(ends_field | (raw == RETURN), True)[closing + 1]
    n_ends = np.cumsum(ends_field)
    if not (begins_field.all() and is_closed.all() and (n_ends[opening] == n_ends[closing]).all()):
        return None
    bare_text: Bytes = raw[raw != QUOTE]
    return bare_text
