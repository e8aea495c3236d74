"""Lines of columns with white space between them: any number of blanks and tabs."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.errors import InputError
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, What
from cranfield.formats.header import by_number
from cranfield.formats.lines import Lines, Record
from cranfield.formats.source import Source
from cranfield.formats.text import HASH, HASH_HINT, NEWLINE, Bytes, is_data, read_csv
from cranfield.formats.values import NUMBER, WHOLE

if TYPE_CHECKING:
    import pyarrow as pa

_WINDOW = 1 << 19
_BLANK_LINES = re.compile(rb"[\r\n]\s*+")
_HASH_WORD = re.compile(rb"\s*#\S")
_TO_SPACES = bytes.maketrans(b"\t\v\f", b"   ")
# The names of the columns for users, and in errors.
ROLES: Mapping[str, Role] = {
    **{column.public: role for role, column in COLUMNS.items()},
    **{role: role for role in COLUMNS if role not in ("query", "doc")},
}


class WhiteSpace(Lines):
    """Lines of columns with white space between them; `more` columns may follow the last.

    `names` lists the columns: "query_id doc_id". Columns that have no role are skipped.
    """

    decimals = True

    def __init__(
        self, source: Source, what: What, names: str, form: str, *, more: bool = False
    ) -> None:
        places = names.split()
        columns = {ROLES[name]: i for i, name in enumerate(places) if name in ROLES}
        super().__init__(source, what, 0, columns, f"{form}: {names}")
        self._n_columns = len(places)
        self._expected = f"{len(places)} columns: {names}"
        self._more = more
        self.is_ranking = len(places) == 2  # there are no numbers

    def query_of(self, line: bytes) -> bytes | None:
        """Return the line's query, None for a line without data."""
        columns = line.split(None, self.columns["query"] + 1)
        if not columns or columns[0].startswith(b"#"):
            return None
        return columns[min(self.columns["query"], len(columns) - 1)]

    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, with the faults of their columns."""
        any_read = False
        for i, line in enumerate(raw.splitlines()):
            if not is_data(line):
                if self._is_hash_row(line):
                    problem = "a line that begins with # has the columns of a row"
                    yield Record(i, line, (), InputError(problem, hint=HASH_HINT, kind="columns"))
                continue
            columns = line.split(None, self._n_columns)  # the last has the rest, if there are more
            n = len(columns)
            fault = None
            if n < self._n_columns or (n > self._n_columns and not self._more):
                more, hint = "", None if any_read else self._other_file(line.split(None, 6))
                may_be_row = NUMBER.fullmatch(line.rsplit(None, 1)[-1])
                if hint is None and n > self._n_columns and may_be_row:
                    more, hint = ": does an id hold white space?", _BLANKS_HINT
                fault = self._fault(line, more, hint)
            elif n > self._n_columns and "rank" in self.columns:
                rank = self.columns["rank"]
                if not WHOLE.fullmatch(columns[rank]):
                    more = f", and column {rank + 1} is not a rank: does an id hold white space?"
                    fault = self._fault(line, more, _BLANKS_HINT)
            any_read |= fault is None
            yield Record(i, line, columns, fault)

    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns with Arrow; None if the block is not clean."""
        for prepare in (_as_it_is, _single_spaces, _respaced):
            yield self._read(prepare(raw), columns)

    def _read(self, raw: Bytes, columns: "dict[int, pa.DataType]") -> "list[pa.Array] | None":
        if len(raw) == 0:
            return None
        first = _first_line(raw)
        if first != b" ".join(first.split()):  # then the other lines are not clean either
            return None
        n_columns = first.count(b" ") + 1
        if n_columns < self._n_columns or (n_columns > self._n_columns and not self._more):
            return None
        arrays = read_csv(raw, " ", n_columns, columns)
        if arrays is None or not _is_clean(raw, n_columns, len(arrays[0])):
            return None
        if n_columns > self._n_columns and "rank" in self.columns:
            import pyarrow as pa

            ranks = read_csv(raw, " ", n_columns, {self.columns["rank"]: pa.binary()})
            if ranks is None or not Ids.of_arrow(ranks[0]).are_digits():
                return None
        return None if self._has_comments(raw, arrays[0]) else arrays

    def _has_comments(self, raw: Bytes, query: "pa.Array") -> bool:
        """Tell whether a line, and so its first column (usually the query), begins with `#`."""
        if self.columns["query"] > 0:
            return raw[0] == HASH or b"\n#" in bytes(raw)
        text = np.frombuffer(query.buffers()[2], np.uint8)
        return bool((text == HASH).any()) and Ids.of_arrow(query).begin_with(HASH)

    def _is_hash_row(self, line: bytes) -> bool:
        """Tell whether a line begins with # and no blank, and has the columns of a row."""
        columns = line.split(None, self._n_columns)
        n_more = len(columns) - self._n_columns
        if self.ignores_hash_rows or not _HASH_WORD.match(line) or not 0 <= n_more <= self._more:
            return False
        return self.is_ranking or bool(NUMBER.fullmatch(columns[max(self.columns.values())]))

    def _fault(self, line: bytes, more: str, hint: str | None) -> InputError:
        n = sum(1 for _ in _COLUMN.finditer(line))
        problem = f"expected {self._expected}; got {n}{more}"
        return InputError(problem, hint=hint, kind="columns")

    def _other_file(self, columns: list[bytes]) -> str | None:
        """Return a guess at what the file is instead."""
        if self.what is What.QRELS and len(columns) == 3 and WHOLE.fullmatch(columns[2]):
            return f"If these are query, document and grade, state it: {by_number(What.QRELS)}."
        if self.what is What.QRELS and len(columns) >= 6:
            is_run = WHOLE.fullmatch(columns[3]) and NUMBER.fullmatch(columns[4])
            return "This looks like a run. The judgments come first: QRELS RUN." if is_run else None
        if self.what is What.RUN and len(columns) == 4 and WHOLE.fullmatch(columns[3]):
            return "This looks like qrels. The judgments come first, once: QRELS RUN."
        return None


_COLUMN = re.compile(rb"\S+")
_BLANKS_HINT = "Write such ids in CSV, JSON, Parquet or Arrow."


def _as_it_is(raw: Bytes) -> Bytes:
    return raw if raw[-1] == NEWLINE else np.append(raw, np.uint8(NEWLINE))


def _single_spaces(raw: Bytes) -> Bytes:
    text = raw.tobytes().replace(b"\r\n", b"\n").translate(_TO_SPACES)
    return _as_it_is(np.frombuffer(text, np.uint8))


def _respaced(raw: Bytes) -> Bytes:
    text = _BLANK_LINES.sub(b"\n", raw.tobytes()).translate(_TO_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    lines = map(bytes.strip, text.splitlines())
    rows = [line for line in lines if is_data(line) or _HASH_WORD.match(line)]  # maybe rows
    return np.frombuffer(b"\n".join([*rows, b""]), np.uint8)


def _is_clean(raw: Bytes, n_columns: int, n_rows: int) -> bool:
    """Tell whether exactly one white space character follows each column.

    Then no invisible character was read as part of an identifier or as an empty column.
    """
    n_spaces = 0
    for begin in range(0, len(raw), _WINDOW):  # pieces take little memory
        piece = raw[begin : begin + _WINDOW + 1]
        space = piece <= 32
        n_spaces += int(np.count_nonzero(space[:_WINDOW]))
        if (space[1:] & space[:-1]).any():
            return False
    return bool(n_spaces == n_columns * n_rows and raw[0] > 32)


def _first_line(raw: Bytes) -> bytes:
    start = raw[:4096].tobytes()
    return (start if b"\n" in start else raw.tobytes()).split(b"\n", 1)[0]
