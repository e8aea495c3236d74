"""TREC qrels and runs: text in columns, separated by any white space.

A run line is `query_id Q0 doc_id rank score tag`; what follows the sixth column is ignored. A run
of two columns, `query_id doc_id`, has no scores: its order is the ranking. A qrels line is
`query_id iteration doc_id grade`. Blank lines, and lines whose first character is `#`, are
comments.

A file is read in blocks of a few megabytes, cut where the query changes. Arrow's CSV reader
takes a block as it is if it is clean: one white space character between columns, the same number
of columns on every line, every number a number. Otherwise the white space is put in order and
Arrow tries again, and if it cannot, the block is read line by line, which finds the line that is
at fault.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import SEEK_END, FileIO
from typing import IO, TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import LARGEST_GRADE, Block, Load
from cranfield.formats.objects import Grouping
from cranfield.formats.source import Source
from cranfield.ids import Ids, decode
from cranfield.ranked import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]

BLOCK_BYTES = 2 << 20
_LONGEST_LINE = 1 << 20
_TAIL = 1 << 17  # where a block is cut is mostly found in so many bytes at its end
_WINDOW = 1 << 16
_NEWLINE, _HASH = 10, 35

_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
_WHOLE = re.compile(rb"[+-]?0{0,80}\d{1,10}")
_TO_SPACES = bytes.maketrans(b"\t\v\f", b"   ")

Order = Literal["score", "rank", "given"]
QrelsFormat = Literal["qrels", "qrels_jg", "qrels_prefs", "prefs"]


@dataclass(frozen=True)
class _Layout:
    """Which columns a file has: what to take, of what kind, and how to say what was expected."""

    what: str  # "a run" or "qrels"
    n_columns: int
    query: int
    doc: int
    value: int | None  # None: the order of the lines is all there is
    number: Literal["score", "rank", "grade"]
    expected: str
    more: bool  # more columns than n_columns are ignored

    @property
    def dtype(self) -> str:
        """The numbers' type in numpy."""
        return "f8" if self.number == "score" else "i8"

    def parse(self, field: bytes) -> float | int | None:
        """Return the number that the field holds, None if it holds none."""
        if self.number == "score":
            return float(field) if _NUMBER.fullmatch(field) else None
        return _whole(field)


def _whole(field: bytes) -> int | None:
    """Return the whole number that the field holds, None if it holds none or one too large."""
    if not _WHOLE.fullmatch(field):
        return None
    number = int(field)
    return number if abs(number) <= LARGEST_GRADE else None


_RUN = "6 columns: query_id Q0 doc_id rank score tag"
_QRELS = "4 columns: query_id iteration doc_id grade"


def run_blocks(
    source: Source,
    order: Order = "score",
    progress: Callable[[int], None] | None = None,
) -> Iterator[Load]:
    """Yield a run's blocks, to be loaded in any thread. `progress` hears of the bytes read."""

    def layout(columns: list[bytes]) -> _Layout:
        n = len(columns)
        if n == 2 and order != "rank":
            return _Layout("a run", 2, 0, 1, None, "score", "2 columns: query_id doc_id", False)
        value = {"score": 4, "rank": 3, "given": None}[order]
        number: Literal["score", "rank"] = "rank" if order == "rank" else "score"
        return _Layout("a run", 6, 0, 2, value, number, _RUN, True)

    return _blocks(source, layout, progress)


def qrels_blocks(source: Source) -> Iterator[Load]:
    """Yield the blocks of a qrels file."""
    layout = _Layout("qrels", 4, 0, 2, 3, "grade", _QRELS, False)
    return _blocks(source, lambda columns: layout, None)


_GROUPS = {
    "qrels_jg": "4 columns: query_id group doc_id grade",
    "qrels_prefs": "4 columns: query_id group doc_id level",
    "prefs": "5 columns: query_id group subgroup doc_id level",
}


def group_lines(source: Source, form: QrelsFormat) -> Grouping:
    """Read judgments in groups: {query: {group: [{document: level}, ...]}}.

    `form` is one of trec_eval's formats: "qrels_jg", "qrels_prefs" or "prefs". Raises InputError
    for the first line that is wrong, DuplicateError for a document twice in a subgroup.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for line in _lines(source, _GROUPS[form]):
        query, group, *subgroup, doc, field = map(decode, line.columns)
        level = _level(line.columns[-1])
        if level is None or (form == "qrels_jg" and _whole(line.columns[-1]) is None):
            kind = "whole number as the grade" if form == "qrels_jg" else "number as the level"
            raise line.error(f"expected a {kind} (column {len(line.columns)}), got {field!r}")
        parts = found.setdefault(query, {}).setdefault(group, {})
        levels = parts.setdefault("".join(subgroup), {})
        if doc in levels:
            where = ", ".join([f"group {group!r}", *(f"subgroup {name!r}" for name in subgroup)])
            raise line.error(
                f"the document {doc!r} stands twice for query {query!r}, {where}",
                hint="Remove one of the two; cranfield does not guess which one is meant.",
                kind=DuplicateError,
            )
        levels[doc] = level
    return {
        query: {group: list(parts.values()) for group, parts in groups.items()}
        for query, groups in found.items()
    }


def zscore_lines(source: Source) -> dict[tuple[str, str], tuple[float, float]]:
    """Read means and standard deviations: {(query, measure): (mean, standard deviation)}.

    Raises InputError for the first line that is wrong, DuplicateError for one that comes twice.
    """
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for line in _lines(source, "4 columns: query_id measure mean standard_deviation"):
        query, measure = decode(line.columns[0]), decode(line.columns[1])
        mean, deviation = map(_level, line.columns[2:])
        if mean is None or deviation is None or deviation < 0:
            raise line.error("expected a mean and a standard deviation in columns 3 and 4")
        if (query, measure) in found:
            problem = f"the measure {measure!r} stands twice for query {query!r}"
            raise line.error(problem, kind=DuplicateError)
        found[query, measure] = mean, deviation
    return found


def run_tag(source: Source) -> str:
    """Return the sixth column of the last line of a run, which names the system.

    Raises InputError if that line has no six columns.
    """
    last = b""
    with source.open() as stream:
        if isinstance(stream, FileIO):  # stored as it is
            last = _last_at_end(stream)
        else:
            for _, raw in _raw_blocks(source, []):
                last = _last_data(raw.tobytes().splitlines()) or last
    columns = last.split()
    if not columns:
        raise InputError(_NO_DATA, source=source.name)
    if len(columns) < 6:
        text = last.decode("utf-8", "replace")
        problem = f"expected {_RUN}; got {len(columns)}"
        raise InputError(problem, source=source.name, text=text)
    return decode(columns[5])


def _last_at_end(file: FileIO) -> bytes:
    """Return the last line of data, looking at no more of the file's end than it takes."""
    length, size = file.seek(0, SEEK_END), _TAIL
    while True:
        file.seek(max(0, length - size))
        lines = (file.readall() or b"").splitlines()
        last = _last_data(lines if size >= length else lines[1:])  # the first may be cut
        if last or size >= length:
            return last
        size *= 8


def _last_data(lines: list[bytes]) -> bytes:
    return next((line for line in reversed(lines) if _is_data(line)), b"")


@dataclass(frozen=True)
class _Line:
    """A line of data, of as many columns as it should have."""

    source: Source
    number: int
    text: bytes
    columns: list[bytes]

    def error(
        self, problem: str, hint: str | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        text = self.text.decode("utf-8", "replace")
        return kind(problem, source=self.source.name, line=self.number, text=text, hint=hint)


def _lines(source: Source, expected: str) -> Iterator[_Line]:
    """Yield the lines of data; InputError if there are none, or one has other columns."""
    number, any_data = 0, False
    for _, raw in _raw_blocks(source, []):
        for text in raw.tobytes().splitlines():
            number += 1
            if not _is_data(text):
                continue
            any_data = True
            line = _Line(source, number, text, text.split())
            if len(line.columns) != int(expected[0]):
                raise line.error(f"expected {expected}; got {len(line.columns)}")
            if b"\0" in text:
                raise line.error("holds a null byte: this is no text")
            yield line
    if not any_data:
        raise InputError(_NO_DATA, source=source.name)


def _level(field: bytes) -> float | None:
    """Return the number that the field holds, None if it holds none or one too large."""
    number = float(field) if _NUMBER.fullmatch(field) else math.inf
    return number if abs(number) <= LARGEST_GRADE else None


_NO_DATA = "holds no data: it is empty or has only comments and blank lines"


def _blocks(
    source: Source,
    layout_of: Callable[[list[bytes]], _Layout],
    progress: Callable[[int], None] | None,
) -> Iterator[Load]:
    layout = None
    spare: list[Bytes] = []  # buffers that are free again: fresh memory costs more than reading
    for offset, raw in _raw_blocks(source, spare, progress):
        if layout is None:
            first = _first_data(raw)
            if first is None:
                continue  # comments only, so far
            layout = layout_of(first.split())
        yield partial(_load, source, offset, raw, layout, spare)
    if layout is None:
        raise InputError(_NO_DATA, source=source.name)


def _raw_blocks(
    source: Source, spare: list[Bytes], progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Bytes]]:
    """Yield (offset, lines): whole lines, cut where the query changes."""
    with source.open(progress) as stream:
        offset, size, rest = 0, BLOCK_BYTES, np.zeros(0, np.uint8)
        while True:
            needed = len(rest) + size
            buffer = spare.pop() if spare else np.empty(needed + BLOCK_BYTES // 4, np.uint8)
            if len(buffer) < needed:
                buffer = np.empty(needed, np.uint8)
            buffer[: len(rest)] = rest
            filled = _fill(stream, buffer[:needed], len(rest))
            data = buffer[:filled]
            if offset == 0 and len(rest) == 0:
                _refuse_binary(source, data[:4096].tobytes())
                if data[:3].tobytes() == b"\xef\xbb\xbf":  # a byte order mark is no part of an id
                    data, offset = data[3:], 3
            if filled < needed:  # the end
                if filled:
                    yield offset, data
                return
            cut = 0
            if len(data) > _TAIL:  # look at the end first
                skipped = len(data) - _TAIL
                whole_line = data[skipped:].tobytes().find(b"\n") + 1
                skipped += whole_line
                cut = _query_change(data[skipped:].tobytes()) if whole_line else 0
                cut += skipped if cut else 0
            if not cut:
                cut = _query_change(data.tobytes())
            rest = data[cut:].copy()
            if cut:
                yield offset, data[:cut]
                offset, size = offset + cut, BLOCK_BYTES
            else:
                if len(data) > _LONGEST_LINE and not (data == _NEWLINE).any():
                    raise InputError(
                        f"has no line end in {len(data):,} bytes after byte {offset:,}: "
                        "this is no TREC file",
                        source=source.name,
                    )
                size *= 2  # one query fills the block: take twice as much


def _fill(stream: IO[bytes], buffer: Bytes, filled: int) -> int:
    """Read into the buffer behind what it holds; return how much it then holds."""
    while filled < len(buffer):
        n = stream.readinto(buffer[filled:].data)  # type: ignore[attr-defined] # binary ones have it
        if not n:
            break
        filled += n
    return filled


def _first_data(raw: Bytes) -> bytes | None:
    """Return the first line that is no comment."""
    for size in (1 << 14, len(raw)):
        lines = raw[:size].tobytes().splitlines()
        if size < len(raw):
            lines = lines[:-1]  # which may go on
        found = next((line for line in lines if _is_data(line)), None)
        if found is not None:
            return found
    return None


def _refuse_binary(source: Source, start: bytes) -> None:
    if b"\0" not in start:
        return
    hint = None
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4]:
        hint = "It looks like UTF-16; save it as UTF-8."
    raise InputError("is no text file: it holds null bytes", source=source.name, hint=hint)


def _query_change(data: bytes) -> int:
    """Return where the last query's lines begin, 0 if the whole is one query's."""
    end = data.rfind(b"\n") + 1
    begin = data.rfind(b"\n", 0, max(end - 1, 0)) + 1
    query = data[begin:end].split(None, 1)[:1]
    if not query:
        return begin
    same = query[0]
    while begin:
        above = data.rfind(b"\n", 0, begin - 1) + 1
        if not data.startswith(same, above) or data[above + len(same)] > 32:
            break
        begin = above
    return begin


def _is_data(line: bytes) -> bool:
    line = line.lstrip()
    return bool(line) and not line.startswith(b"#")


def _load(source: Source, offset: int, raw: Bytes, layout: _Layout, spare: list[Bytes]) -> Block:
    where = partial(_where, source, offset, len(raw))
    for prepare in (_as_it_is, _single_spaces, _respaced):
        block = _arrow(source, prepare(raw), layout, where)
        if block is not None:
            break
    else:
        block = _line_by_line(source, raw, layout, where)
    if isinstance(raw.base, np.ndarray):
        spare.append(raw.base)  # everything has been copied out of it
    return block


def _as_it_is(raw: Bytes) -> Bytes:
    return raw if raw[-1] == _NEWLINE else np.append(raw, np.uint8(_NEWLINE))


def _single_spaces(raw: Bytes) -> Bytes:
    text = raw.tobytes().replace(b"\r\n", b"\n").translate(_TO_SPACES)
    return _as_it_is(np.frombuffer(text, np.uint8))


def _respaced(raw: Bytes) -> Bytes:
    lines = [b" ".join(line.split()) for line in raw.tobytes().splitlines() if _is_data(line)]
    return np.frombuffer(b"\n".join([*lines, b""]), np.uint8)


def _is_clean(raw: Bytes, n_columns: int, n_rows: int) -> bool:
    """Tell whether one white space character follows each column, none stands beside another.

    Then nothing was read as a part of an identifier, or as an empty column, that the eye would
    not see there.
    """
    n_spaces = 0
    for begin in range(0, len(raw), _WINDOW):  # small pieces stay in the cache
        piece = raw[begin : begin + _WINDOW + 1]
        space = piece <= 32
        n_spaces += int(np.count_nonzero(space[:_WINDOW]))
        if (space[1:] & space[:-1]).any():
            return False
    return bool(n_spaces == n_columns * n_rows and raw[0] > 32)


def _first_line(raw: Bytes) -> bytes:
    start = raw[:4096].tobytes()
    return (start if b"\n" in start else raw.tobytes()).split(b"\n", 1)[0]


def _arrow(
    source: Source,
    raw: Bytes,
    layout: _Layout,
    where: Callable[[int], tuple[int | None, str | None]],
) -> Block | None:
    """Read lines with Arrow; None if they are not clean."""
    import pyarrow as pa
    from pyarrow import csv

    n_columns = _first_line(raw).count(b" ") + 1
    if n_columns < layout.n_columns or (n_columns > layout.n_columns and not layout.more):
        return None
    names = [str(i) for i in range(n_columns)]
    types = {str(layout.query): pa.binary(), str(layout.doc): pa.binary()}
    if layout.value is not None:
        # Whole numbers are read as text first: Arrow would take hexadecimal ones.
        types[str(layout.value)] = pa.float64() if layout.number == "score" else pa.binary()
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(raw)),
            csv.ReadOptions(use_threads=False, block_size=len(raw) + 1, column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                null_values=[],
                include_columns=list(types),
            ),
        )
    except pa.ArrowInvalid:
        return None
    if not _is_clean(raw, n_columns, len(table)):
        return None
    query, doc = (Ids.of_arrow(table.column(i).chunk(0)) for i in (0, 1))
    if query.begin_with(_HASH):  # a comment
        return None
    value: Floats | Ints | None = None
    if layout.value is not None:
        column = table.column(2).chunk(0)
        value = (_scores if layout.number == "score" else _whole_numbers)(column)
        if value is None:
            return None
    return Block(query, doc, value, source.name, where)


def _scores(column: "pa.Array") -> Floats | None:
    scores = np.frombuffer(column.buffers()[1], np.float64, len(column))
    return None if np.isnan(scores).any() else scores


def _whole_numbers(column: "pa.Array") -> Ints | None:
    numbers = [_whole(field) for field in Ids.of_arrow(column).to_list()]
    return None if None in numbers else np.array(numbers, np.int64)


def _line_by_line(
    source: Source,
    raw: Bytes,
    layout: _Layout,
    where: Callable[[int], tuple[int | None, str | None]],
) -> Block:
    """Read lines one at a time, and refuse the first that is wrong."""
    queries, docs, values = [], [], []
    for row, columns in enumerate(
        line.split() for line in raw.tobytes().splitlines() if _is_data(line)
    ):
        n = len(columns)
        if n < layout.n_columns or (n > layout.n_columns and not layout.more):
            problem, hint = f"expected {layout.expected}; got {n}", _other_file(layout, columns)
        elif any(b"\0" in column for column in columns):
            problem, hint = "holds a null byte: this is no text", None
        else:
            queries.append(columns[layout.query])
            docs.append(columns[layout.doc])
            if layout.value is None:
                continue
            field = columns[layout.value]
            value = layout.parse(field)
            if value is not None:
                values.append(value)
                continue
            problem, hint = _not_a_number(layout, field)
        line, text = where(row)
        raise InputError(problem, source=source.name, line=line, text=text, hint=hint)
    return Block(
        Ids.of(queries),
        Ids.of(docs),
        None if layout.value is None else np.array(values, layout.dtype),
        source.name,
        where,
    )


def _not_a_number(layout: _Layout, field: bytes) -> tuple[str, str | None]:
    shown = field.decode("utf-8", "replace")
    if layout.number == "score":
        return f"expected a number as the score (column 5), got {shown!r}", None
    if layout.number == "rank":
        return f"expected a whole number as the rank (column 4), got {shown!r}", None
    hint = None
    if _NUMBER.fullmatch(field):
        hint = (
            "Grades are whole numbers; trec_eval would cut this one off without a word. "
            "Rescale the judgments, for instance by 10 or 100."
        )
    return f"expected a whole number as the grade (column 4), got {shown!r}", hint


def _other_file(layout: _Layout, columns: list[bytes]) -> str | None:
    """Guess what was given in place of what was expected."""
    if layout.what == "qrels" and len(columns) >= 6 and _NUMBER.fullmatch(columns[4]):
        return "This looks like a run. The judgments come first: QRELS RUN."
    if layout.what == "a run" and len(columns) == 4 and _WHOLE.fullmatch(columns[3]):
        return "This looks like qrels. The judgments come first, once: QRELS RUN."
    return None


def _where(source: Source, offset: int, length: int, row: int) -> tuple[int | None, str | None]:
    """Return the line number and the text of a block's row, reading the file once more."""
    line_number, left, returned = 1, offset, False
    with source.open() as stream:
        while left > 0 and (chunk := stream.read(min(left, BLOCK_BYTES))):
            # A carriage return alone ends a line, too; one before a line feed may end a chunk.
            line_number += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
            line_number -= returned and chunk.startswith(b"\n")
            returned = chunk.endswith(b"\r")
            left -= len(chunk)
        raw = b""
        while len(raw) < length and (chunk := stream.read(length - len(raw))):
            raw += chunk
    data = [(i, line) for i, line in enumerate(raw.splitlines(), line_number) if _is_data(line)]
    number, line = data[row]
    return number, line.decode("utf-8", "replace")
