"""Text whose lines are rows: cut into blocks, read by Arrow, and line by line where that fails.

A file is read in blocks of a few megabytes, cut where the query changes. Arrow takes a block if
it is clean, as it is or after a change that makes it so. If none does, the block is read line by
line, which finds the lines that are at fault. What a line is, and what makes a block clean, each
format says for itself.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.formats.block import (
    FRACTIONS,
    LARGEST_GRADE,
    Block,
    Errors,
    Faults,
    Load,
    Number,
    Progress,
    sampling_in,
)
from cranfield.formats.columns import PUBLIC, Role, What, numbers_in
from cranfield.formats.source import Source
from cranfield.ids import Ids
from cranfield.ranked import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]

BLOCK_BYTES = 2 << 20
LONGEST_LINE = 1 << 20  # bytes; a longer one may be refused
NEWLINE = 10
TAIL = 1 << 17  # where a block is cut is mostly found in so many bytes at its end

NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile(rb"[+-]?0{0,80}\d{1,10}")
_WHOLE_DECIMAL = re.compile(rb"([+-]?0{0,80}\d{1,10})\.0*")

NO_DATA = "holds no data: it is empty or has only comments and blank lines"


def whole(field: bytes) -> int | None:
    """Return the whole number that the field holds, None if it holds none or one too large."""
    if not WHOLE.fullmatch(field):
        return None
    number = int(field)
    return number if abs(number) <= LARGEST_GRADE else None


@dataclass(frozen=True)
class Record:
    """A line of data: its number within the block, from 0, its text, and its columns.

    `fault` says why it cannot be a row; then there are no columns.
    """

    line: int
    text: bytes
    columns: Sequence[bytes]
    fault: InputError | None = None


class Lines(ABC):
    """A text file, or what was copied from a pipe, of which each line is a row.

    `what` is "a run" or "qrels"; `begin` is the offset of the first byte of data; `columns` says
    where each role ("query", "doc", "score", "rank", "grade", "cost") stands in a line.
    """

    #: Whether a whole number may be written with a decimal point, as 3.0.
    decimals = False

    def __init__(
        self, source: Source, what: What, begin: int, columns: Mapping[Role, int], form: str
    ) -> None:
        self.source = source
        self.what = what
        self.begin = begin
        self.columns = columns
        self.form = form

    @property
    def numbers(self) -> frozenset[Number]:
        """Which columns of numbers there are."""
        return numbers_in(self.columns)

    @property
    def is_ranking(self) -> bool:
        """Whether the order of the lines is the ranking."""
        return False

    @abstractmethod
    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, and what is wrong with their columns."""

    @abstractmethod
    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns (position: type) with Arrow, in several ways: None if not clean.

        What is yielded first and is not None is taken.
        """

    @abstractmethod
    def query_of(self, line: bytes) -> bytes | None:
        """Return what tells the line's query from another's; None for a line that is no data."""

    def cut(self, data: Bytes) -> int:
        """Return where the rows of the last query begin, 0 if the whole is one query's."""
        if len(data) > TAIL:  # look at the end first
            skipped = len(data) - TAIL
            whole_line = data[skipped:].tobytes().find(b"\n") + 1
            skipped += whole_line
            found = query_change(data[skipped:].tobytes(), self.query_of) if whole_line else 0
            if found:
                return skipped + found
        return query_change(data.tobytes(), self.query_of)

    def blocks(
        self, wanted: Iterable[Number], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows in blocks, to be loaded in any thread."""
        roles = tuple(wanted)
        spare: list[Bytes] = []  # buffers free again: fresh memory costs more than reading
        empty = True
        for offset, raw in raw_blocks(self.source, self.cut, spare, self.begin, progress):
            empty = False
            yield partial(self._load, offset, raw, roles, errors, spare)
        if empty:
            raise InputError(NO_DATA, source=self.source.name)

    def _load(
        self,
        offset: int,
        raw: Bytes,
        wanted: tuple[Number, ...],
        errors: Errors,
        spare: list[Bytes],
    ) -> Block:
        import pyarrow as pa

        where = partial(self._where, offset, len(raw))
        if "group" in wanted:  # judgments by subtopic are few
            return self._by_line(self.records(raw.tobytes()), wanted, where, errors)
        # Whole numbers are read as text first: Arrow would take hexadecimal ones.
        types = {self.columns[role]: pa.binary() for role in ("query", "doc")}
        for role in wanted:
            types[self.columns[role]] = pa.float64() if role in FRACTIONS else pa.binary()
        for arrays in self.tables(raw, types):
            block = None if arrays is None else self._block(arrays, wanted, where)
            if block is not None:
                break
        else:
            block = self._by_line(self.records(raw.tobytes()), wanted, where, errors)
        if isinstance(raw.base, np.ndarray):
            spare.append(raw.base)  # everything has been copied out of it
        return block

    def _block(
        self,
        arrays: "list[pa.Array]",
        wanted: tuple[Number, ...],
        where: Callable[[int], tuple[int | None, str | None]],
    ) -> Block | None:
        """Return the block of what Arrow read, None if something is no number after all."""
        query, doc = (Ids.of_arrow(array) for array in arrays[:2])
        found: dict[str, Floats | Ints] = {}
        for role, array in zip(wanted, arrays[2:], strict=True):
            values = _scores(array) if role in FRACTIONS else self._whole_numbers(array)
            if values is None:
                return None
            found[role] = values
        return self._of(query, doc, found, where)

    def _of(self, query: Ids, doc: Ids, found: Mapping[str, Any], where: Any) -> Block:
        return Block(
            query,
            doc,
            found.get("score", found.get("grade")),
            self.source.name,
            where,
            found.get("rank"),
            group=found.get("group"),
            weight=found.get("weight"),
            sampling=sampling_in(found),
            cost=found.get("cost"),
        )

    def _whole_numbers(self, array: "pa.Array") -> Ints | None:
        ids = Ids.of_arrow(array)
        if ids.are_digits() and int(ids.length.max()) <= 9:
            return ids.to_numbers()
        numbers = list(map(self.whole, ids.to_list()))
        return None if None in numbers else np.array(numbers, np.int64)

    def whole(self, field: bytes) -> int | None:
        """Return the whole number that the field holds, None if it holds none."""
        decimal = _WHOLE_DECIMAL.fullmatch(field) if self.decimals else None
        return whole(decimal[1] if decimal else field)

    def _by_line(
        self,
        records: Iterable[Record],
        wanted: tuple[Number, ...],
        where: Callable[..., tuple[int | None, str | None]],
        errors: Errors,
    ) -> Block:
        """Read lines one at a time; refuse, or leave out, those that are wrong."""
        queries: list[bytes] = []
        docs: list[bytes] = []
        groups: list[bytes] = []
        numbered = [role for role in wanted if role != "group"]
        values: dict[str, list[float]] = {role: [] for role in numbered}
        kept: list[int] = []
        faults = Faults(errors)
        for row, record in enumerate(records):
            numbers: list[float] = []
            fault = record.fault or self._fault(record, wanted, numbers)
            if fault is not None:
                faults.add(fault.kind, partial(self._located, fault, partial(where, row)))
                continue
            kept.append(row)
            queries.append(record.columns[self.columns["query"]])
            docs.append(record.columns[self.columns["doc"]])
            if len(numbered) < len(wanted):
                groups.append(record.columns[self.columns["group"]])
            for role, number in zip(numbered, numbers, strict=True):
                values[role].append(number)
        found: dict[str, Any] = {
            role: np.array(column, np.float64 if role in FRACTIONS else np.int64)
            for role, column in values.items()
        }
        if len(numbered) < len(wanted):
            found["group"] = Ids.of(groups)
        block = self._of(Ids.of(queries), Ids.of(docs), found, partial(where, kept=kept))
        return replace(block, left_out=faults.left_out)

    def _located(
        self, fault: InputError, where: Callable[[], tuple[int | None, str | None]]
    ) -> InputError:
        return fault.at(self.source.name, *where())

    def _fault(
        self, record: Record, wanted: tuple[Number, ...], numbers: list[float]
    ) -> InputError | None:
        """Put the record's numbers into the list; return what is wrong with the record."""
        columns = record.columns
        ids: tuple[Role, ...] = ("query", "doc")
        for role in (*ids, "group") if "group" in wanted else ids:
            field = columns[self.columns[role]]
            if not field or b"\0" in field:
                name = PUBLIC[role]
                if field:
                    return InputError("holds a null byte: this is no text", kind="text")
                return InputError(f"the {name} is empty ({self.place(role)})", kind="id")
        for role in wanted:
            if role == "group":
                continue
            field = columns[self.columns[role]]
            number: float | None
            if role in FRACTIONS:
                number = float(field) if NUMBER.fullmatch(field.strip()) else None
            else:
                number = self.whole(field.strip() if self.decimals else field)
            if number is None:
                return self._not_a_number(role, field)
            numbers.append(number)
        return None

    def place(self, role: Role) -> str:
        """Return where a role stands, in words."""
        return f"column {self.columns[role] + 1}"

    def _not_a_number(self, role: Number, field: bytes) -> InputError:
        shown = field[:80].decode("utf-8", "replace")
        kind = "number" if role in FRACTIONS else "whole number"
        hint = None
        if role == "grade" and NUMBER.fullmatch(field) and not WHOLE.fullmatch(field):
            hint = (
                "Grades are whole numbers; trec_eval would cut this one off without a word. "
                "Rescale the judgments, for instance by 10 or 100."
            )
        elif role == "grade" and WHOLE.fullmatch(field):
            hint = f"Grades may be up to {LARGEST_GRADE:,}, and down to the same below 0."
        problem = f"expected a {kind} as the {role} ({self.place(role)}), got {shown!r}"
        return InputError(problem, hint=hint, kind="number")

    def _where(
        self, offset: int, length: int, row: int, kept: list[int] | None = None
    ) -> tuple[int | None, str | None]:
        """Return the line number and the text of a block's row, reading the file once more."""
        if kept is not None:
            row = kept[row]
        line_number, left, returned = 1, offset, False
        with self.source.open() as stream:
            while left > 0 and (chunk := stream.read(min(left, BLOCK_BYTES))):
                # A carriage return alone ends a line, too; one before a line feed may end a chunk.
                line_number += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
                line_number -= returned and chunk.startswith(b"\n")
                returned = chunk.endswith(b"\r")
                left -= len(chunk)
            raw = b""
            while len(raw) < length and (chunk := stream.read(length - len(raw))):
                raw += chunk
        record = next((one for i, one in enumerate(self.records(raw)) if i == row), None)
        if record is None:
            raise self.source.changed()
        return line_number + record.line, record.text.decode("utf-8", "replace")


def _scores(column: "pa.Array") -> Floats | None:
    scores = np.frombuffer(column.buffers()[1], np.float64, len(column), 8 * column.offset)
    return None if np.isnan(scores).any() else scores


_WIDEST = 10_000  # columns; of more, Arrow needs a multiple of the memory that their text takes


def read_csv(
    raw: Bytes, separator: str, n_columns: int, columns: "dict[int, pa.DataType]"
) -> "list[pa.Array] | None":
    """Read columns of text with Arrow, by position; None if the lines are not all alike."""
    import pyarrow as pa
    from pyarrow import csv

    # Arrow takes a byte order mark off. The file's own is off already: this one is an id's.
    if len(raw) == 0 or raw[:3].tobytes() == BYTE_ORDER_MARK:
        return None
    if n_columns > _WIDEST:
        return None
    names = [str(i) for i in range(n_columns)]
    types = {str(i): kind for i, kind in columns.items()}
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(raw)),
            csv.ReadOptions(use_threads=False, block_size=len(raw) + 1, column_names=names),
            csv.ParseOptions(delimiter=separator, quote_char=False, double_quote=False),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                null_values=[],
                include_columns=list(types),
            ),
        )
    except pa.ArrowInvalid:
        return None
    if len(table) == 0:
        return None
    return [table.column(i).chunk(0) for i in range(len(types))]


def raw_blocks(
    source: Source,
    cut: Callable[[Bytes], int],
    spare: list[Bytes],
    begin: int = 0,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Bytes]]:
    """Yield (offset, lines) from byte `begin` on: whole lines, cut where `cut` says."""
    with source.open(progress) as stream:
        # What stands before the first byte of data is in the first block, too.
        size = begin + len(BYTE_ORDER_MARK) + BLOCK_BYTES
        offset, rest = 0, np.zeros(0, np.uint8)
        while True:
            needed = len(rest) + size
            buffer = spare.pop() if spare else np.empty(needed + BLOCK_BYTES // 4, np.uint8)
            if len(buffer) < needed:
                buffer = np.empty(needed, np.uint8)
            buffer[: len(rest)] = rest
            filled = _fill(stream, buffer[:needed], len(rest))
            data = buffer[:filled]
            if offset == 0 and len(rest) == 0:
                start = data[:4096].tobytes()
                refuse_binary(source, start)
                # A byte order mark is no part of an id.
                offset = max(begin, 3 if start.startswith(BYTE_ORDER_MARK) else 0)
                data = data[offset:]
            if filled < needed:  # the end
                if not _only_line_ends(data):
                    yield offset, data
                return
            at = cut(data)
            rest = data[at:].copy()
            if at:
                if not _only_line_ends(data[:at]):
                    yield offset, data[:at]
                offset, size = offset + at, BLOCK_BYTES
            else:
                if len(data) > LONGEST_LINE and not (data == NEWLINE).any():
                    raise too_long(source, offset)
                size *= 2  # one query fills the block: take twice as much


def too_long(source: Source, begin: int) -> InputError:
    """Return an error about the line at byte `begin`, which is longer than what is read as one."""
    number, left = 1, begin
    with source.open() as stream:
        while left > 0 and (chunk := stream.read(min(left, BLOCK_BYTES))):
            number += chunk.count(b"\n")
            left -= len(chunk)
        text = stream.read(1000)
    return InputError(
        f"the line is longer than {LONGEST_LINE:,} bytes",
        source=source.name,
        line=number,
        text=text.decode("utf-8", "replace"),
        hint="Leave out the columns that are not needed, or write the table as Parquet or Arrow, "
        "where an id may be of any length. A file without line ends is no table of text.",
        kind="text",
    )


def _only_line_ends(data: Bytes) -> bool:
    return len(data) == 0 or (data[0] in b"\r\n" and not data.tobytes().strip(b"\r\n"))


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _fill(stream: IO[bytes], buffer: Bytes, filled: int) -> int:
    """Read into the buffer behind what it holds; return how much it then holds."""
    while filled < len(buffer):
        n = stream.readinto(buffer[filled:].data)  # type: ignore[attr-defined] # binary ones have it
        if not n:
            break
        filled += n
    return filled


def refuse_binary(source: Source, start: bytes) -> None:
    """Raise InputError if the first bytes of a file are no text."""
    if b"\0" not in start:
        return
    if _is_utf16(start):
        problem, hint = "is no text in UTF-8: it holds null bytes", "It looks like UTF-16"
        raise InputError(problem, source=source.name, hint=f"{hint}; save it as UTF-8.")
    raise InputError("is binary, no text: it holds null bytes", source=source.name)


def _is_utf16(start: bytes) -> bool:
    """Tell by a byte order mark, or by zeros in every other byte of the first line."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    line = start.partition(b"\n")[0]
    for zeros, texts in ((line[1::2], line[::2]), (line[::2], line[1::2])):
        # Below a tab there are only bytes that text has not.
        if len(texts) > 1 and not zeros.strip(b"\0") and min(texts) >= _TAB:
            return True
    return False


_TAB = 9


def at_lines(data: Bytes) -> int:
    """Cut at the end of the last whole line."""
    return data.tobytes().rfind(b"\n") + 1


_BLANKS = 4096  # bytes


def query_change(data: bytes, query_of: Callable[[bytes], bytes | None]) -> int:
    """Return where the last query's lines begin, 0 if the whole is one query's.

    Lines that are no data go with those below them; if there are only such, all are cut off.
    """
    begin = data.rfind(b"\n") + 1
    last: bytes | None = None
    while begin:
        above = data.rfind(b"\n", 0, begin - 1) + 1
        query = query_of(data[above:begin])
        if query is not None and last is not None and query != last:
            return begin
        last = query if last is None else last
        begin = above
        if query is None:  # there may be very many blank lines: pass over many at once
            window = data[max(0, above - _BLANKS) : above]
            text = above - len(window) + len(window.rstrip())
            begin = data.find(b"\n", text, above) + 1 or above
    return data.rfind(b"\n") + 1 if last is None else 0
