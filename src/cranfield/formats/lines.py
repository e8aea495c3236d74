"""Text with a row on each line: read in blocks by Arrow, or line by line where that fails.

A file is read in blocks of a few megabytes, cut where the query changes. Arrow reads a block if it
is clean, or can be made clean. Otherwise the block is read line by line, which finds the lines with
faults. Each format defines what a line is, and what makes a block clean.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints, Numbers
from cranfield.errors import InputError
from cranfield.formats.block import (
    LARGEST_GRADE,
    SIZES,
    Block,
    Cells,
    Errors,
    Faults,
    Load,
    Role,
    Rows,
)
from cranfield.formats.columns import COLUMNS, FRACTIONS, IDS, What, numbers_in
from cranfield.formats.source import Source
from cranfield.formats.text import Bytes, line_at, no_data_error, query_change, raw_blocks
from cranfield.formats.values import NUMBER, graded, grades_of, whole

if TYPE_CHECKING:
    import pyarrow as pa

# What to do about a line with a fault, if those before it have none.
_SKIP = "Mend the line; or errors='skip' (--errors skip) leaves such lines out."
_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+")
_WHOLE_DECIMAL = re.compile(rb"([+-]?0{0,80}\d{1,10})\.0*")
Where = Callable[..., tuple[int | None, str | None]]


@dataclass(frozen=True)
class Record:
    """A line of data: its number within the block, from 0, its text, and its columns.

    `fault` says why it cannot be a row; then there are no columns.
    """

    line: int
    text: bytes
    columns: Sequence[bytes]
    fault: InputError | None = None


class Lines(Rows):
    """A text file, or the copy of a pipe, with a row on each line.

    `begin` is the offset of the first byte of data; `columns` has the column of each role.
    """

    #: Whether a whole number may have a decimal point, as 3.0.
    decimals = False
    is_text = True

    def __init__(
        self, source: Source, what: What, begin: int, columns: Mapping[Role, int], form: str
    ) -> None:
        self.source = source
        self.what = what
        self.begin = begin
        self.columns = columns
        self.form = form
        self.numbers = numbers_in(columns)

    @abstractmethod
    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, with the faults of their columns."""

    @abstractmethod
    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns (position: type) with Arrow, in several ways: None if not clean.

        The first value that is not None is used.
        """

    def cells(self) -> Iterator[Cells]:
        """Yield the columns of `lists`, block by block."""
        with self.source.open() as stream:
            number = line_at(stream, self.begin)
        for _, raw in raw_blocks(self.source, self.cut, [], self.begin):
            text = raw.tobytes()
            yield self.cells_of(text, number)
            number += len(text.splitlines())

    def cells_of(self, raw: bytes, first: int) -> Cells:
        """Return the columns of `lists` in a block; `first` is the number of its first line."""
        raise NotImplementedError

    @abstractmethod
    def query_of(self, line: bytes) -> bytes | None:
        """Return bytes that identify the line's query; None for a line without data."""

    def cut(self, data: Bytes) -> int:
        """Return where the rows of the last query begin, 0 if all rows have one query."""
        if len(data) > SIZES.tail:  # look at the end first
            skipped = len(data) - SIZES.tail
            whole_line = data[skipped:].tobytes().find(b"\n") + 1
            skipped += whole_line
            found = query_change(data[skipped:].tobytes(), self.query_of) if whole_line else 0
            if found:
                return skipped + found
        return query_change(data.tobytes(), self.query_of)

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks, to be loaded in any thread."""
        roles = tuple(wanted)
        spare: list[Bytes] = []  # buffers to use again: new memory costs more time than reading
        empty = True
        for offset, raw in raw_blocks(self.source, self.cut, spare, self.begin):
            empty = False
            yield partial(self._load, offset, raw, roles, errors, spare)
        if empty:
            raise no_data_error(self.source)

    def _load(
        self, offset: int, raw: Bytes, wanted: tuple[Role, ...], errors: Errors, spare: list[Bytes]
    ) -> Block:
        import pyarrow as pa

        where = partial(self._where, offset, len(raw))
        if "group" in wanted:  # judgments by subtopic are few
            return self._by_line(self.records(raw.tobytes()), wanted, where, errors)
        # Whole numbers are read as text first: Arrow would accept hexadecimal ones.
        types = {
            self.columns[role]: pa.float64() if role in FRACTIONS else pa.binary()
            for role in ("query", "doc", *wanted)
        }
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
        self, arrays: "list[pa.Array]", wanted: tuple[Role, ...], where: Where
    ) -> Block | None:
        """Return the block that Arrow read, None if a value is not a number after all."""
        query, doc = (Ids.of_arrow(array) for array in arrays[:2])
        found: dict[Role, Any] = {}
        for role, array in zip(wanted, arrays[2:], strict=True):
            values: Numbers | None
            values = _scores(array) if role in FRACTIONS else self._whole_numbers(array)
            if values is None and COLUMNS[role].or_whole:
                values = _fractions(array)
            if values is None:
                return None
            found[role] = values
        return Block(query, doc, found, self.source.name, where)

    def _whole_numbers(self, array: "pa.Array") -> Ints | None:
        ids = Ids.of_arrow(array)
        if ids.are_digits() and int(ids.length.max()) <= 9:
            return ids.to_numbers()
        numbers = list(takewhile(lambda one: one is not None, map(self.whole, ids.to_list())))
        return np.array(numbers, np.int64) if len(numbers) == len(ids) else None

    def whole(self, field: bytes) -> int | None:
        """Return the whole number in the field, None if there is none."""
        decimal = _WHOLE_DECIMAL.fullmatch(field) if self.decimals else None
        return whole(decimal[1] if decimal else field)

    def _by_line(
        self, records: Iterable[Record], wanted: tuple[Role, ...], where: Where, errors: Errors
    ) -> Block:
        """Read lines one at a time; lines with faults raise an error or are left out."""
        roles = sorted(("query", "doc", *wanted), key=lambda role: role not in IDS)  # these first
        values: dict[Role, list[Any]] = {role: [] for role in roles}
        kept: list[int] = []
        faults = Faults(errors)
        for row, record in enumerate(records):
            fault = record.fault
            if fault is None:
                try:
                    fields = [self._read_field(role, record) for role in roles]
                except InputError as error:
                    fault = error
            if fault is not None:
                if kept and fault.hint is None:
                    fault = fault.because(_SKIP)
                faults.add(
                    fault.kind, partial(_located, fault, self.source.name, partial(where, row))
                )
                continue
            kept.append(row)
            for role, field in zip(roles, fields, strict=True):
                values[role].append(field)
        found: dict[Role, Any] = {
            role: Ids.of(column)
            if role in IDS
            else grades_of(column)
            if COLUMNS[role].or_whole
            else np.array(column, np.float64 if role in FRACTIONS else np.int64)
            for role, column in values.items()
        }
        query, doc = found.pop("query"), found.pop("doc")
        place = partial(where, kept=kept)
        return Block(query, doc, found, self.source.name, place, faults.left_out)

    def _read_field(self, role: Role, record: Record) -> bytes | float:
        """Return the id, or the number, in a line; InputError for anything else."""
        field = record.columns[self.columns[role]]
        if role in IDS:
            if not field:
                name = COLUMNS[role].public
                raise InputError(f"the {name} is empty ({self.place(role)})", kind="id")
            if b"\0" in field:
                raise InputError("holds a null byte: this is not text", kind="text")
            return field
        number: float | None
        if role in FRACTIONS:
            number = float(field) if NUMBER.fullmatch(field.strip()) else None
        else:
            bare = field.strip() if self.decimals else field
            number = self.whole(bare)
            if number is None and COLUMNS[role].or_whole and NUMBER.fullmatch(bare):
                number = float(bare) if abs(float(bare)) <= LARGEST_GRADE else None
        if number is None:
            raise self._not_a_number(role, field)
        return number

    def place(self, role: Role) -> str:
        """Return the column of a role, in words."""
        return f"column {self.columns[role] + 1}"

    def _not_a_number(self, role: Role, field: bytes) -> InputError:
        shown = field[:80].decode("utf-8", "replace")
        kind = COLUMNS[role].kind
        hint = None
        if role == "grade" and NUMBER.fullmatch(field):
            hint = f"Grades must be from -{LARGEST_GRADE:,} to {LARGEST_GRADE:,}."
        elif _DECIMAL_COMMA.fullmatch(field.strip()):
            hint = f"A decimal comma? Write {shown.strip().replace(',', '.')}."
        problem = f"expected a {kind} as the {role} ({self.place(role)}), got {shown!r}"
        return InputError(problem, hint=hint, kind="number")

    def _where(
        self, offset: int, length: int, row: int, kept: list[int] | None = None
    ) -> tuple[int | None, str | None]:
        """Return the line number and the text of a block's row; reads the file again."""
        if kept is not None:
            row = kept[row]
        with self.source.open() as stream:
            line_number = line_at(stream, offset)
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


def _fractions(column: "pa.Array") -> Numbers | None:
    """Return texts as grades with fractions, None if one is not a grade."""
    import pyarrow as pa

    try:
        numbers = column.cast(pa.large_string()).cast(pa.float64())
    except pa.ArrowException:
        return None
    return graded(np.frombuffer(numbers.buffers()[1], np.float64, len(numbers)))


def _located(
    fault: InputError, name: str, where: Callable[[], tuple[int | None, str | None]]
) -> InputError:
    return fault.at(name, *where())
