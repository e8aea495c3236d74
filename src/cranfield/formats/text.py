"""Text: reads a file's bytes in blocks of whole lines, cut where the query changes."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.formats.block import SIZES
from cranfield.formats.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]

LONGEST_LINE = 1 << 20  # bytes; a longer one may be refused
NEWLINE = 10
HASH = 35
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HASH_HINT = (
    "Delete it, put a blank behind # (a comment), or number the columns, as --columns "
    "query_id=1,doc_id=3,relevance=4,score=5: every line is a row."
)


def no_data_error(source: Source, text: bytes = b"") -> InputError:
    """Return the error of a file without a line of data; a `#` in its `text` adds a hint."""
    problem = "holds no data: it is empty or has only comments and blank lines"
    return InputError(problem, source=source.name, hint=HASH_HINT if HASH in text else None)


def is_data_line(line: bytes) -> bool:
    """Tell whether a line is neither blank nor a comment."""
    line = line.lstrip()
    return bool(line) and not line.startswith(b"#")


def count_rows(
    queries: Iterable[Any], n_rows_of_query: dict[Any, int] | None = None
) -> Iterator[int]:
    """Yield the place of each row among those of its query, from 1, below rows counted above."""
    n_rows_of_query = {} if n_rows_of_query is None else n_rows_of_query
    for query in queries:
        n_rows_of_query[query] = place = n_rows_of_query.get(query, 0) + 1
        yield place


# The first character of the next line that is neither blank nor a comment.
_DATA_START = re.compile(rb"[\r\n][^\S\r\n]*+([^\s#])")


def find_data(text: bytes) -> int | None:
    """Return where the first line of data begins, after its blanks; None if there is none."""
    begin = len(text) - len(text.removeprefix(BYTE_ORDER_MARK).lstrip())
    if begin == len(text):
        return None
    if text[begin] != HASH:
        return begin
    match = _DATA_START.search(text, begin)
    return None if match is None else match.start(1)


def read_raw_blocks(
    source: Source, find_cut: Callable[[Bytes], int], spare_buffers: list[Bytes], begin: int = 0
) -> Iterator[tuple[int, Bytes]]:
    """Yield (offset, bytes of whole lines) from byte `begin` of a file on; no empty lines alone.

    `find_cut` takes the bytes that are read and returns where they are cut, 0 to read more.
    `spare_buffers` are used again, the last one first. A file that is little longer than a block is
    not cut: a second, small block would cost more. InputError for no text, or a line without end.
    """
    with source.open(reports_progress=True) as stream:
        n_stored = source.size or 0
        n_bytes = max(SIZES.bytes, n_stored if 2 * n_stored <= 3 * SIZES.bytes else 0)
        # The first block includes what is before the first byte of data.
        size = begin + len(BYTE_ORDER_MARK) + n_bytes
        offset, rest = 0, np.zeros(0, np.uint8)
        while True:
            n_needed = len(rest) + size
            n_reserved = n_needed + SIZES.bytes // 4
            buffer = spare_buffers.pop() if spare_buffers else np.empty(n_reserved, np.uint8)
            if len(buffer) < n_needed:
                buffer = np.empty(n_needed, np.uint8)
            buffer[: len(rest)] = rest
            n_filled = _fill_buffer(stream, buffer[:n_needed], len(rest))
            data = buffer[:n_filled]
            if offset == 0 and len(rest) == 0:
                start = data[:4096].tobytes()
                refuse_binary(source, start)
                # A byte order mark is not part of an id.
                offset = max(begin, 3 if start.startswith(BYTE_ORDER_MARK) else 0)
                data = data[offset:]
            if n_filled < n_needed:  # the end
                if not _only_line_ends(data):
                    yield offset, data
                return
            cut_position = find_cut(data)
            rest = data[cut_position:].copy()
            if cut_position:
                if not _only_line_ends(data[:cut_position]):
                    yield offset, data[:cut_position]
                offset, size = offset + cut_position, SIZES.bytes
            else:
                if len(data) > LONGEST_LINE and not (data == NEWLINE).any():
                    raise long_line_error(source, offset)
                size *= 2  # one query fills the block: double its size


def line_number_at(stream: IO[bytes], begin: int) -> int:
    """Return the number of the line at byte `begin`, from 1; reads the stream up to there."""
    number, ends_with_return, n_left = 1, False, begin
    while n_left > 0 and (chunk := stream.read(min(n_left, SIZES.bytes))):
        # A carriage return alone ends a line, too; one before a line feed may end a chunk.
        number += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
        number -= ends_with_return and chunk.startswith(b"\n")
        ends_with_return = chunk.endswith(b"\r")
        n_left -= len(chunk)
    return number


def long_line_error(source: Source, begin: int) -> InputError:
    """Return the error that the line at byte `begin` is longer than a line may be."""
    with source.open() as stream:
        number = line_number_at(stream, begin)
        text = stream.read(1000)
    return InputError(
        f"the line is longer than {LONGEST_LINE:,} bytes",
        source=source.name,
        line=number,
        text=text.decode("utf-8", "replace"),
        hint="Leave out the columns that are not needed, or write the table as Parquet or Arrow, "
        "where an id may have any length. A file without line ends is not a table of text.",
        kind="text",
    )


def _only_line_ends(data: Bytes) -> bool:
    return len(data) == 0 or (data[0] in b"\r\n" and not data.tobytes().strip(b"\r\n"))


def _fill_buffer(stream: IO[bytes], buffer: Bytes, n_filled: int) -> int:
    """Read into the buffer after its first `n_filled` bytes; return how many it then holds."""
    while n_filled < len(buffer):
        n = stream.readinto(buffer[n_filled:].data)  # type: ignore[attr-defined] # a file has it
        if not n:
            break
        n_filled += n
    return n_filled


def refuse_binary(source: Source, start: bytes) -> None:
    """Raise InputError if the first bytes of a file hold a null byte, and so are not text."""
    if b"\0" not in start:
        return
    if _is_utf16(start):
        problem, hint = "is not text in UTF-8: it holds null bytes", "It looks like UTF-16"
        raise InputError(problem, source=source.name, hint=f"{hint}; save it as UTF-8.")
    raise InputError("is binary, not text: it holds null bytes", source=source.name)


def _is_utf16(start: bytes) -> bool:
    """Recognise UTF-16 by a byte order mark, or by zeros in every other byte of the first line."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    line = start.partition(b"\n")[0]
    for zeros, texts in ((line[1::2], line[::2]), (line[::2], line[1::2])):
        # Bytes below a tab do not occur in text.
        if len(texts) > 1 and not zeros.strip(b"\0") and min(texts) >= _TAB:
            return True
    return False


_TAB = 9


def cut_lines(data: Bytes) -> int:
    """Return where the last whole line ends: a `find_cut` for lines that need no query."""
    return data.tobytes().rfind(b"\n") + 1


_BLANKS = 4096  # bytes of lines without data that are skipped at once


def find_query_change(data: bytes, find_query: Callable[[bytes], bytes | None]) -> int:
    """Return where the last query's lines begin, 0 if all lines have one query.

    `find_query` returns the query of a line, None for a line without data. If queries recur after
    other queries, the line may be any whose query differs from the query of the line above. Lines
    without data belong to the lines below them; if all are without data, all are cut off.
    """
    end = data.rfind(b"\n") + 1
    near_position = _find_change_nearby(data, end, find_query)
    change = _find_last_change(data, near_position, find_query)
    return change if change or near_position == end else _find_last_change(data, end, find_query)


def _find_change_nearby(data: bytes, end: int, find_query: Callable[[bytes], bytes | None]) -> int:
    """Return the end of a line of the last query, with another query's line close above it.

    The search is binary, as if all lines of other queries were above those of the last query. `end`
    if the last line of `data`, which ends there, has no query.
    """
    low, high = 0, end
    last_query = find_query(data[data.rfind(b"\n", 0, max(0, end - 1)) + 1 : end])
    while last_query is not None:
        begin = data.find(b"\n", (low + high) // 2, high) + 1
        line_end = data.find(b"\n", begin, high) + 1
        if begin == 0 or line_end in (0, high):
            return high
        if find_query(data[begin:line_end]) == last_query:
            high = line_end
        else:
            low = begin
    return end


def _find_last_change(data: bytes, end: int, find_query: Callable[[bytes], bytes | None]) -> int:
    """Return where the lines of the last query above byte `end` begin, as `find_query_change`."""
    last_query: bytes | None = None
    while end:
        line_begin = data.rfind(b"\n", 0, end - 1) + 1
        query = find_query(data[line_begin:end])
        if query is not None and last_query is not None and query != last_query:
            return end
        last_query = query if last_query is None else last_query
        end = line_begin
        if query is None:  # there may be very many blank lines: skip many at once
            window = data[max(0, line_begin - _BLANKS) : line_begin]
            text_end = line_begin - len(window) + len(window.rstrip())
            end = data.find(b"\n", text_end, line_begin) + 1 or line_begin
    return data.rfind(b"\n") + 1 if last_query is None else 0


_MOST_COLUMNS = 10_000  # columns; with more, Arrow needs several times the memory of their text


def read_columns(
    raw: Bytes, separator: str, n_columns: int, type_of_position: "dict[int, pa.DataType]"
) -> "list[pa.Array] | None":
    """Return columns, {position: type}, of lines of `n_columns` fields; None if Arrow cannot."""
    import pyarrow as pa
    from pyarrow import csv

    # Arrow removes a byte order mark. The file's own is removed already: this belongs to an id.
    if len(raw) == 0 or raw[:3].tobytes() == BYTE_ORDER_MARK:
        return None
    if n_columns > _MOST_COLUMNS:
        return None
    names = [str(i) for i in range(n_columns)]
    types = {str(i): kind for i, kind in type_of_position.items()}
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(raw)),
            csv.ReadOptions(use_threads=False, block_size=len(raw) + 1, column_names=names),
            csv.ParseOptions(delimiter=separator, quote_char=False, double_quote=False),
            csv.ConvertOptions(
                check_utf8=False, column_types=types, null_values=[], include_columns=list(types)
            ),
            # Arrow's default pool keeps much of the freed memory, for every thread.
            memory_pool=pa.system_memory_pool(),
        )
    except pa.ArrowInvalid:
        return None
    if len(table) == 0:
        return None
    return [table.column(i).chunk(0) for i in range(len(types))]
