"""Lines of columns with white space between them, any number of blanks and tabs, for `trec`."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.errors import InputError
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, Side
from cranfield.formats.header import column_numbers_hint
from cranfield.formats.lines import NTCIR_GRADE, NTCIR_HINT, DataLine, Lines
from cranfield.formats.source import Source
from cranfield.formats.text import HASH, HASH_HINT, NEWLINE, Bytes, is_data_line, read_columns
from cranfield.formats.values import INTEGER, NUMBER
from cranfield.notes import Note

if TYPE_CHECKING:
    import pyarrow as pa

_WINDOW = 1 << 19  # bytes
_BLANK_LINES = re.compile(rb"[\r\n]\s*+")
_HASH_WORD = re.compile(rb"\s*#\S")
_TO_SPACES = bytes.maketrans(b"\t\v\f", b"   ")
# {name: role}: the names of the columns for users, and those of the roles.
ROLE_OF_NAME: Mapping[str, Role] = {
    **{column.public: role for role, column in COLUMNS.items()},
    **{role: role for role in COLUMNS if role not in ("query", "doc")},
}


class WhiteSpaceLines(Lines):
    """Lines of fields with white space between them, as TREC's.

    `names` lists the columns: "query_id doc_id". Columns that have no role are skipped. `title` is
    the format's name, for `description`. `allows_more`: further columns may follow the last.
    """

    allows_decimals = True
    #: Whether the user numbers the columns: then a line that has them is a row, even one with a #.
    reads_hash_rows = False

    def __init__(
        self, source: Source, side: Side, names: str, title: str, *, allows_more: bool = False
    ) -> None:
        column_names = names.split()
        position_of_role = {
            ROLE_OF_NAME[name]: i for i, name in enumerate(column_names) if name in ROLE_OF_NAME
        }
        first_byte = 0
        super().__init__(source, side, first_byte, position_of_role, f"{title}: {names}")
        self._n_columns = len(column_names)
        self._expected = f"{len(column_names)} columns: {names}"
        self._allows_more = allows_more
        self.is_ranking = len(column_names) == 2  # there are no numbers

    def find_query(self, line: bytes) -> bytes | None:
        """Return a line's query (its last field if that is missing), None for one without data."""
        position = self.position_of_role["query"]
        fields = line.split(None, position + 1)
        if not fields or (fields[0].startswith(b"#") and not self.reads_hash_rows):
            return None
        return fields[min(position, len(fields) - 1)]

    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the lines of data in the bytes of a block, with their faults."""
        has_good_line = False
        for i, line in enumerate(raw.splitlines()):
            if not is_data_line(line) and not (self.reads_hash_rows and self.is_row(line)):
                is_comment = self.ignores_hash_rows or not _HASH_WORD.match(line)
                if not is_comment and self.is_row(line):
                    problem = "a line that begins with # has the columns of a row"
                    yield DataLine(i, line, (), InputError(problem, hint=HASH_HINT, kind="columns"))
                continue
            tab_fields = self._split_by_tabs(line)
            if tab_fields:
                text = f"Ids of {self.side.name_in_errors} hold blanks: tabs separate columns."
                self.notes = (Note("tabs", "info", text),)
            fields = tab_fields or line.split(None, self._n_columns)  # one more may hold several
            n = len(fields)
            fault = None
            if n < self._n_columns or (n > self._n_columns and not self._allows_more):
                remark = ""
                hint = None if has_good_line else self._other_file_hint(line.split(None, 6))
                may_be_row = NUMBER.fullmatch(line.rsplit(None, 1)[-1])
                if hint is None and n > self._n_columns and may_be_row:
                    remark, hint = ": do ids hold blanks?", _BLANKS_HINT
                fault = self._columns_error(line, remark, hint)
            elif n > self._n_columns and "rank" in self.position_of_role:
                position = self.position_of_role["rank"]
                if not INTEGER.fullmatch(fields[position]):
                    remark = f", and column {position + 1} is not a rank: do ids hold blanks?"
                    fault = self._columns_error(line, remark, _BLANKS_HINT)
            has_good_line |= fault is None
            yield DataLine(i, line, fields, fault)

    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns, or None, as Arrow reads a block as it is, and cleaned in two ways."""
        lines = raw[:4096].tobytes().splitlines()
        if self._split_by_tabs(next(filter(is_data_line, lines), b"")):
            return
        for prepare in (_end_with_newline, _replace_blanks, _collapse_blanks):
            yield self._read_table(prepare(raw), type_of_position)

    def _read_table(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> "list[pa.Array] | None":
        """Return the columns as Arrow reads them; None if that cannot be relied on."""
        if len(raw) == 0:
            return None
        start = raw[:4096].tobytes()
        first_line = (start if b"\n" in start else raw.tobytes()).split(b"\n", 1)[0]
        if first_line != b" ".join(first_line.split()):  # then Arrow need not read the others
            return None
        n_columns = first_line.count(b" ") + 1
        if n_columns < self._n_columns or (n_columns > self._n_columns and not self._allows_more):
            return None
        arrays = read_columns(raw, " ", n_columns, type_of_position)
        if arrays is None or not _is_clean(raw, n_columns, len(arrays[0])):
            return None
        if n_columns > self._n_columns and "rank" in self.position_of_role:
            import pyarrow as pa

            ranks = read_columns(raw, " ", n_columns, {self.position_of_role["rank"]: pa.binary()})
            if ranks is None or not Ids.of_arrow(ranks[0]).are_digits():
                return None
        return None if self._has_comments(raw, arrays[0]) else arrays

    def _has_comments(self, raw: Bytes, query: "pa.Array") -> bool:
        """Tell whether a line, and so its first column (usually the query), begins with `#`."""
        if self.position_of_role["query"] > 0:
            return raw[0] == HASH or b"\n#" in bytes(raw)
        text = np.frombuffer(query.buffers()[2], np.uint8)
        return bool((text == HASH).any()) and Ids.of_arrow(query).any_begins_with(HASH)

    def _split_by_tabs(self, line: bytes) -> list[bytes]:
        """Return the fields between tabs if these are the expected columns, and words are not."""
        has_rank, n = "rank" in self.position_of_role, self._n_columns
        fields = line.split(b"\t") if has_rank or not self._allows_more else []
        words, fields = line.split(None, n), [*map(bytes.strip, fields)]
        if len(fields) != n or len(words) == n or words[: n - 1] == fields[: n - 1]:
            return []
        is_row = not has_rank or INTEGER.fullmatch(fields[self.position_of_role["rank"]])
        return fields if is_row else []

    def is_row(self, line: bytes) -> bool:
        """Tell whether a line has a row's columns, and a number where it should."""
        fields = self._split_by_tabs(line) or line.split(None, self._n_columns)
        if not 0 <= len(fields) - self._n_columns <= self._allows_more:
            return False
        last_field = fields[max(self.position_of_role.values())]
        return self.is_ranking or bool(NUMBER.fullmatch(last_field))

    def _columns_error(self, line: bytes, remark: str, hint: str | None) -> InputError:
        """Return the error that a line does not have the expected columns."""
        n = sum(1 for _ in _FIELD.finditer(line))
        problem = f"expected {self._expected}; got {n}{remark}"
        return InputError(problem, hint=hint, kind="columns")

    def _other_file_hint(self, fields: list[bytes]) -> str | None:
        """Return a guess at what the file is instead, from a line's first fields, or None."""
        if self.side is Side.QRELS and NTCIR_GRADE.fullmatch(fields[-1]):
            return f"{NTCIR_HINT} Then state {column_numbers_hint(Side.QRELS)}."
        if self.side is Side.QRELS and len(fields) == 3 and INTEGER.fullmatch(fields[2]):
            hint = column_numbers_hint(Side.QRELS)
            return f"If these are query, document and grade, state it: {hint}."
        if self.side is Side.QRELS and len(fields) >= 6:
            is_run = INTEGER.fullmatch(fields[3]) and NUMBER.fullmatch(fields[4])
            return "This looks like a run. The judgments come first: QRELS RUN." if is_run else None
        if self.side is Side.RUN and len(fields) == 4 and INTEGER.fullmatch(fields[3]):
            return "This looks like qrels. The judgments come first, once: QRELS RUN."
        return None


_FIELD = re.compile(rb"\S+")
_BLANKS_HINT = "Separate columns by tabs, or write CSV, JSON, Parquet or Arrow."


def _end_with_newline(raw: Bytes) -> Bytes:
    return raw if raw[-1] == NEWLINE else np.append(raw, np.uint8(NEWLINE))


def _replace_blanks(raw: Bytes) -> Bytes:
    """Return a block with a line feed for CR LF, and spaces for other blanks."""
    text = raw.tobytes().replace(b"\r\n", b"\n").translate(_TO_SPACES)
    return _end_with_newline(np.frombuffer(text, np.uint8))


def _collapse_blanks(raw: Bytes) -> Bytes:
    """Return the rows of a block, and what may be a row, with one space between fields."""
    text = _BLANK_LINES.sub(b"\n", raw.tobytes()).translate(_TO_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    lines = map(bytes.strip, text.splitlines())
    data_lines = [line for line in lines if is_data_line(line) or _HASH_WORD.match(line)]
    return np.frombuffer(b"\n".join([*data_lines, b""]), np.uint8)


def _is_clean(raw: Bytes, n_columns: int, n_rows: int) -> bool:
    """Tell whether exactly one byte up to 32, white space or a control, follows each column.

    Then no invisible character was read as part of an identifier or as an empty column.
    """
    n_spaces = 0
    for begin in range(0, len(raw), _WINDOW):  # pieces take little memory
        piece = raw[begin : begin + _WINDOW + 1]
        is_space = piece <= 32
        n_spaces += int(np.count_nonzero(is_space[:_WINDOW]))
        if (is_space[1:] & is_space[:-1]).any():
            return False
    return bool(n_spaces == n_columns * n_rows and raw[0] > 32)
