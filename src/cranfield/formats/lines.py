"""Lines of text with a row on each: read in blocks by Arrow, or line by line where that fails.

A file is read in blocks of a few megabytes, cut where the query changes. Arrow reads a block if it
is clean, or can be made clean. Otherwise, and for judgments in groups, the block is read line by
line, which finds the lines with faults. Each format defines what a line is, and a clean block.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
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
    FaultLog,
    FindLine,
    Load,
    Role,
    Rows,
)
from cranfield.formats.columns import COLUMNS, FRACTIONS, IDS, TEXTS, Side, select_extra_roles
from cranfield.formats.source import Source
from cranfield.formats.text import (
    Bytes,
    find_query_change,
    line_number_at,
    no_data_error,
    read_raw_blocks,
)
from cranfield.formats.values import NUMBER, parse_integer, to_grades, unify_grades

if TYPE_CHECKING:
    import pyarrow as pa

# In errors without another hint, of a line below a good line of its block: what to do about it.
_SKIP_HINT = "Mend the line; or errors='skip' (--errors skip) leaves such lines out."
_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+")
NTCIR_GRADE = re.compile(rb"L\d+")
NTCIR_HINT = (
    "NTCIR's grades? sed 's/L\\([0-9]*\\)[[:space:]]*$/\\1/' FILE > qrels.txt takes the L away."
)
_WHOLE_DECIMAL = re.compile(rb"([+-]?0{0,80}\d{1,10})\.0*")


@dataclass(frozen=True)
class DataLine:
    """A line of data: its number within the block, from 0, its text, and the fields of its columns.

    `fault` says why it cannot be a row; then the fields do not count.
    """

    index: int
    text: bytes
    fields: Sequence[bytes]
    fault: InputError | None = None


class Lines(Rows):
    """The rows of a text file, or of the copy of a pipe, with a row on each line.

    `first_byte` is the offset where reading begins, after a header; `position_of_role` is {role:
    position of its column}; `description` says in words what was recognised. A subclass says what
    the fields of a line are, which `side` they are of, and how Arrow may read a block.
    """

    #: Whether a whole number may have a decimal point, as 3.0, and white space around it.
    allows_decimals = False
    is_text = True

    def __init__(
        self,
        source: Source,
        side: Side,
        first_byte: int,
        position_of_role: Mapping[Role, int],
        description: str,
    ) -> None:
        self.source = source
        self.side = side
        self.first_byte = first_byte
        self.position_of_role = position_of_role
        self.description = description
        self.extra_roles = select_extra_roles(position_of_role)

    @abstractmethod
    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the lines of data in the bytes of a block, with their faults."""

    @abstractmethod
    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns, {position: type}, of a block as Arrow reads it, in several ways.

        Columns are in this order; None where the block is not clean. The first list whose numbers
        can be read is used.
        """

    def cells(self) -> Iterator[Cells]:
        """Yield the cells of `list_columns`, block by block."""
        with self.source.open() as stream:
            line_number = line_number_at(stream, self.first_byte)
        for _, raw in read_raw_blocks(self.source, self.find_cut, [], self.first_byte):
            text = raw.tobytes()
            yield self.read_cells(text, line_number)
            line_number += len(text.splitlines())

    def read_cells(self, raw: bytes, first_line: int) -> Cells:
        """Return the cells of `list_columns` in a block whose first line has this number."""
        raise NotImplementedError

    @abstractmethod
    def find_query(self, line: bytes) -> bytes | None:
        """Return bytes that identify a line's query; None for a line without data."""

    def find_cut(self, data: Bytes) -> int:
        """Return where to cut: see `find_query_change`; the end of the bytes is searched first."""
        if len(data) > SIZES.tail:  # look at the end first
            n_skipped = len(data) - SIZES.tail
            first_line_length = data[n_skipped:].tobytes().find(b"\n") + 1
            n_skipped += first_line_length
            tail = data[n_skipped:].tobytes() if first_line_length else b""
            if change := find_query_change(tail, self.find_query):
                return n_skipped + change
        return find_query_change(data.tobytes(), self.find_query)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield functions that load the blocks, in any thread; InputError for an empty file."""
        roles = tuple(roles)
        spare_buffers: list[Bytes] = []  # to use again: new memory costs more time than reading
        is_empty = True
        raw_blocks = read_raw_blocks(self.source, self.find_cut, spare_buffers, self.first_byte)
        for offset, raw in raw_blocks:
            is_empty = False
            yield partial(self._load, offset, raw, roles, errors, spare_buffers)
        if is_empty:
            raise no_data_error(self.source)

    def _load(
        self,
        offset: int,
        raw: Bytes,
        roles: tuple[Role, ...],
        errors: Errors,
        spare_buffers: list[Bytes],
    ) -> Block:
        """Return the rows in the bytes of a block, which begins at `offset` in the file."""
        import pyarrow as pa

        find_line = partial(self._find_line, offset, len(raw))
        if "group" in roles:  # judgments in groups are few
            return self._read_line_by_line(raw, roles, find_line, errors)
        # Whole numbers and grades are read as text first: Arrow would accept hexadecimal ones.
        types = {
            self.position_of_role[role]: pa.float64() if role in FRACTIONS else pa.binary()
            for role in ("query", "doc", *roles)
        }
        for arrays in self.read_tables(raw, types):
            block = None if arrays is None else self._build_arrow_block(arrays, roles, find_line)
            if block is not None:
                break
        else:
            block = self._read_line_by_line(raw, roles, find_line, errors)
        if isinstance(raw.base, np.ndarray):
            spare_buffers.append(raw.base)  # everything has been copied out of it
        return block

    def _build_arrow_block(
        self, arrays: "list[pa.Array]", roles: tuple[Role, ...], find_line: FindLine
    ) -> Block | None:
        """Return the block of the columns that Arrow read; None if a number cannot be read."""
        query, doc = (Ids.of_arrow(array) for array in arrays[:2])
        columns: dict[Role, Any] = {}
        for role, array in zip(roles, arrays[2:], strict=True):
            if role in IDS:
                columns[role] = Ids.of_arrow(array)
                if role not in TEXTS and columns[role].mark_invalid() is not None:
                    return None
                continue
            numbers: Numbers | None
            numbers = (
                _view_doubles(array) if role in FRACTIONS else self._parse_whole_numbers(array)
            )
            if numbers is None and COLUMNS[role].whole_if_possible:
                numbers = _parse_fractions(array)
            if numbers is None:
                return None
            columns[role] = numbers
        return Block(query, doc, columns, self.source.name, find_line)

    def _parse_whole_numbers(self, array: "pa.Array") -> Ints | None:
        """Return texts as whole numbers, (rows,); None if a text holds none, or too large a one."""
        texts = Ids.of_arrow(array)
        if texts.are_digits() and int(texts.length.max()) <= 9:
            return texts.to_numbers()
        integers = map(self.parse_integer, texts.to_list())
        numbers = list(takewhile(lambda number: number is not None, integers))
        return np.array(numbers, np.int64) if len(numbers) == len(texts) else None

    def parse_integer(self, field: bytes) -> int | None:
        """Return the whole number in a field; None if the field holds none, or too large a one."""
        match = _WHOLE_DECIMAL.fullmatch(field) if self.allows_decimals else None
        return parse_integer(match[1] if match else field)

    def _read_line_by_line(
        self, raw: Bytes, roles: tuple[Role, ...], find_line: Callable[..., Any], errors: Errors
    ) -> Block:
        """Return the block in these bytes without Arrow: see `build_block_of_lines`."""
        lines = self.parse_lines(raw.tobytes())
        return self.build_block_of_lines(lines, roles, find_line, errors)

    def build_block_of_lines(
        self,
        lines: Iterable[DataLine],
        roles: tuple[Role, ...],
        find_line: Callable[..., tuple[int | None, str | None]],
        errors: Errors,
    ) -> Block:
        """Return the block of these lines; lines with faults raise an error or are left out.

        `find_line` takes the position of a line among these; or among the lines that stay, with
        their positions among these as `good_rows`.
        """
        read_roles = sorted(("query", "doc", *roles), key=lambda role: role not in IDS)  # ids first
        values_of_role: dict[Role, list[Any]] = {role: [] for role in read_roles}
        good_rows: list[int] = []
        faults = FaultLog(errors)
        for row, line in enumerate(lines):
            fault = line.fault
            if fault is None:
                try:
                    row_values = [self._read_field(role, line) for role in read_roles]
                except InputError as error:
                    fault = error
            if fault is not None:
                if good_rows and fault.hint is None:
                    fault = fault.add_reason(_SKIP_HINT)
                make_error = partial(self._locate_fault, fault, partial(find_line, row))
                faults.add(fault.kind, make_error)
                continue
            good_rows.append(row)
            for role, value in zip(read_roles, row_values, strict=True):
                values_of_role[role].append(value)
        columns: dict[Role, Any] = {
            role: Ids.of(values)
            if role in IDS
            else to_grades(values)
            if COLUMNS[role].whole_if_possible
            else np.array(values, np.float64 if role in FRACTIONS else np.int64)
            for role, values in values_of_role.items()
        }
        query, doc = columns.pop("query"), columns.pop("doc")
        find_good_line = partial(find_line, good_rows=good_rows)
        return Block(query, doc, columns, self.source.name, find_good_line, faults.left_out)

    def _locate_fault(self, fault: InputError, find_line: Callable[[], Any]) -> InputError:
        return fault.locate(self.source.name, *find_line())

    def _read_field(self, role: Role, line: DataLine) -> bytes | float:
        """Return the id, or the number, of a role in a line; InputError for any other field."""
        field = line.fields[self.position_of_role[role]]
        if role in IDS:
            if not field and role not in TEXTS:
                name = COLUMNS[role].public
                raise InputError(f"the {name} is empty ({self.describe_column(role)})", kind="id")
            if b"\0" in field:
                raise InputError("holds a null byte: this is not text", kind="text")
            return field
        number: float | None
        if role in FRACTIONS:
            number = float(field) if NUMBER.fullmatch(field.strip()) else None
        else:
            stripped_field = field.strip() if self.allows_decimals else field
            number = self.parse_integer(stripped_field)
            may_be_fraction = number is None and COLUMNS[role].whole_if_possible
            if may_be_fraction and NUMBER.fullmatch(stripped_field):
                fraction = float(stripped_field)
                number = fraction if abs(fraction) <= LARGEST_GRADE else None
        if number is None:
            raise self._not_a_number_error(role, field)
        return number

    def describe_column(self, role: Role) -> str:
        """Return the column of a role, in words."""
        return f"column {self.position_of_role[role] + 1}"

    def _not_a_number_error(self, role: Role, field: bytes) -> InputError:
        """Return the error that a field holds no number of its role."""
        text = field[:80].decode("utf-8", "replace")
        kind = COLUMNS[role].kind
        hint = None
        if role == "grade" and NUMBER.fullmatch(field):
            hint = f"Grades must be from -{LARGEST_GRADE:,} to {LARGEST_GRADE:,}."
        elif role == "grade" and NTCIR_GRADE.fullmatch(field.strip()):
            hint = NTCIR_HINT
        elif _DECIMAL_COMMA.fullmatch(field.strip()):
            hint = f"A decimal comma? Write {text.strip().replace(',', '.')}."
        problem = f"expected a {kind} as the {role} ({self.describe_column(role)}), got {text!r}"
        return InputError(problem, hint=hint, kind="number")

    def _find_line(
        self, offset: int, length: int, row: int, good_rows: list[int] | None = None
    ) -> tuple[int | None, str | None]:
        """Return the number and the text of the line of a block's row; reads the file again.

        The block has `length` bytes from `offset` on. InputError if the file has changed.
        `good_rows` are the rows of the lines that were not left out, if some were.
        """
        if good_rows is not None:
            row = good_rows[row]
        with self.source.open() as stream:
            line_number = line_number_at(stream, offset)
            raw = b""
            while len(raw) < length and (chunk := stream.read(length - len(raw))):
                raw += chunk
        line = next(islice(self.parse_lines(raw), row, None), None)
        if line is None:
            raise self.source.changed_error()
        return line_number + line.index, line.text.decode("utf-8", "replace")


def _view_doubles(column: "pa.Array") -> Floats | None:
    """Return a column's memory as doubles, (rows,); None if a double is NaN."""
    doubles = np.frombuffer(column.buffers()[1], np.float64, len(column), 8 * column.offset)
    return None if np.isnan(doubles).any() else doubles


def _parse_fractions(column: "pa.Array") -> Numbers | None:
    """Return texts as grades, which may be fractions, (rows,); None if a text is not a grade."""
    import pyarrow as pa

    try:
        numbers = column.cast(pa.large_string()).cast(pa.float64())
    except pa.ArrowException:
        return None
    return unify_grades(np.frombuffer(numbers.buffers()[1], np.float64, len(numbers)))
