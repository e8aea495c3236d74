"""Separated values with a header: reads and writes CSV and TSV, as in RFC 4180, and BEIR's qrels.

Fields are separated by a comma, a tab, a semicolon or a bar. A field that begins with a quotation
mark must end with one, and may hold separators, line ends (but no id may) and doubled quotation
marks; elsewhere a quotation mark is a character like any other. In TSV a record is one line, and a
quotation mark that its own field does not close is a character, too. Empty lines are skipped; white
space around a field belongs to it, but not to a number. Columns stated by number need no header.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import IO, TYPE_CHECKING

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Cells, Role
from cranfield.formats.columns import IDS, NO_COLUMN, Side, describe_columns
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.header import (
    columns_hint,
    find_columns,
    find_side_lists,
    list_columns,
    take_columns,
)
from cranfield.formats.lines import DataLine, Lines
from cranfield.formats.quotation import (
    QUOTE,
    RETURN,
    SENTINEL,
    parse_records,
    remove_quotes,
    split_line,
)
from cranfield.formats.stated_columns import resolve_roles, take_statements
from cranfield.formats.text import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    NEWLINE,
    Bytes,
    find_query_change,
    read_columns,
)
from cranfield.formats.values import NUMBER, is_list_cell
from cranfield.formats.write import WHITE_SPACE, columns_by_name, find_special_ids, join_columns
from cranfield.notes import Note

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = (b"\t", b",", b";", b"|")
_ONE_LINE = "In TSV a row is one line: write fields with line breaks as CSV, JSON or Parquet."
_QUOTES_HINT = (
    "If all are: "
    r"""sed 's/"/""/g; s/[^\t]*""[^\t]*/"&"/g' FILE > NEW says so. If they only enclose ids, """
    'write the one that is part of an id as """x".'
)


class DelimitedLines(Lines):
    """Lines of fields with a separator between them; a header has the names of the columns."""

    allows_decimals = True

    def __init__(
        self, file: InputFile, separator: bytes, names: Sequence[str], first_byte: int
    ) -> None:
        side, source = file.side, file.source
        user_columns = take_statements(file.user_columns, names)
        first_row = _read_first_row(file.sample[first_byte:], separator, len(names))
        first_cell = dict(enumerate(first_row)).get
        try:
            positions = take_columns(names, side, user_columns, source.name, first_cell)
        except InputError as error:
            raise error.locate(source.name, 1, separator.decode().join(names)) from None
        format_name = {b",": "CSV", b"\t": "TSV"}.get(separator, f"{separator.decode()}-separated")
        description = f"{format_name} with columns {describe_columns(names, positions)}"
        super().__init__(source, side, first_byte, positions, description)
        self._separator = separator
        self._quoted_ids: dict[bool, str] = {}  # of TSV: {whether a mark closes it, too: the first}
        self.column_names = names
        self.name_of_role = {role: names[position] for role, position in positions.items()}
        self.list_columns = list_columns(names, positions, side, user_columns, first_cell)

    def describe_column(self, role: Role) -> str:
        """Return the column of a role, in words."""
        return f"column {self.column_names[self.position_of_role[role]]!r}"

    def find_query(self, line: bytes) -> bytes | None:
        """Return a line's query, of a line too short its first field; None for one without data."""
        position = self.position_of_role["query"]
        if b'"' in line:
            fields = split_line(line, self._separator, len(self.column_names))
        else:
            fields = line.rstrip(b"\r\n").split(self._separator, position + 1)
        if len(fields) <= position:
            return fields[0] if fields and fields[0] else None
        return fields[position]

    def find_cut(self, data: Bytes) -> int:
        """Return where the rows of the last query begin, 0 if all rows have one query.

        Raises InputError for a quotation mark that is not closed within LONGEST_LINE bytes.
        """
        if self._separator == b"\t" or not (data == QUOTE).any():
            return super().find_cut(data)
        raw = data.tobytes()
        end = raw.rfind(b"\n") + 1
        if remove_quotes(np.frombuffer(raw[:end], np.uint8), self._separator) is not None:
            return find_query_change(raw[:end], self.find_query)
        # A line end or a separator is quoted somewhere: only a full parse shows where rows end.
        lines = raw[:end].splitlines(keepends=True)
        offset = [0, *accumulate(map(len, lines))]
        query: bytes | None = None
        begin = change = 0
        n_columns = len(self.column_names)
        for n_lines, fields, _ in parse_records([*lines, SENTINEL], self._separator, n_columns):
            if n_lines > len(lines):
                break  # the sentinel, or a field that runs into it
            if fields:
                next_query = fields[min(self.position_of_role["query"], len(fields) - 1)]
                if query is not None and next_query != query:
                    change = offset[begin]
                query = next_query
            begin = n_lines
        if change == 0 and end - offset[begin] > LONGEST_LINE:
            raise InputError(
                f"a quotation mark that opens a field is not closed within {LONGEST_LINE:,} bytes",
                source=self.source.name,
                text=lines[begin].decode("utf-8", "replace"),
                kind="text",
            )
        return change

    def read_cells(self, raw: bytes, first_line: int) -> Cells:
        """Return the cells of `list_columns` in a block; its first line has number `first_line`."""
        positions = list(map(self.column_names.index, self.list_columns.values()))
        lines = list(self.parse_lines(raw))

        def find_line(row: int) -> tuple[int, str]:
            return first_line + lines[row].index, lines[row].text.decode("utf-8", "replace")

        rows = [
            line.fault or [decode(line.fields[position]) for position in positions]
            for line in lines
        ]
        return Cells.from_rows(self.list_columns, rows, find_line)

    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the records of data in the bytes of a block, with their faults."""
        lines, n_columns = raw.splitlines(keepends=True), len(self.column_names)
        records = parse_records([*lines, SENTINEL], self._separator, n_columns)
        begin = 0
        for n_lines, fields, problem in records:
            text = b"".join(lines[begin:n_lines]).rstrip(b"\r\n")
            fault = None
            if n_lines > len(lines):
                if begin >= len(lines):
                    return
                fault = InputError("a quotation mark opens a field and is not closed", kind="text")
            elif problem is not None:
                fault = InputError(
                    f"a field is malformed: {problem}",
                    hint="A field that begins with a quotation mark must end with one; a quotation "
                    "mark within such a field is written twice.",
                    kind="text",
                )
            elif not text:
                begin = n_lines
                continue
            elif len(fields) != n_columns:
                names = ", ".join(self.column_names)
                fault = InputError(
                    f"expected {n_columns} columns, as the header has: {names:.200}; "
                    f"got {len(fields)}",
                    hint=_ONE_LINE if self._separator == b"\t" and b'"' in raw else None,
                    kind="columns",
                )
            elif n_lines - begin > 1 and (name := self._find_broken_id(fields)) is not None:
                fault = InputError(
                    f"the id in column {name!r} holds a line break",
                    hint="A quotation mark that is part of an id is written twice, in quotation "
                    'marks: """ at its beginning. JSON and Parquet hold ids with line breaks.',
                    kind="id",
                )
            elif self._separator == b"\t" and b'"' in text:
                for field in (fields[self.position_of_role[role]] for role in ("query", "doc")):
                    quoted_field = b'\t"' + field.replace(b'"', b'""') + b'"\t'
                    is_closed = quoted_field in b"\t" + text + b"\t"
                    if is_closed or field.startswith(b'"'):
                        self._remember_quotes(field, is_closed)
            yield DataLine(begin, text, fields, fault)
            begin = n_lines

    def _remember_quotes(self, field: bytes, is_closed: bool) -> None:
        """Note an id that begins with a quotation mark, which another one closes or not.

        Raises InputError where the file has both: the marks may be parts of both ids, or of one.
        """
        self._quoted_ids.setdefault(is_closed, decode(field))
        if len(self._quoted_ids) == 2:
            raise InputError(
                f'the id "{self._quoted_ids[True]:.80}" is in quotation marks, and '
                f"{self._quoted_ids[False]:.80} only begins with one: are they parts of ids?",
                source=self.source.name,
                hint=_QUOTES_HINT,
                kind="text",
            )
        if not is_closed:
            ids = f"Ids of {self.side.name_in_errors}"
            text = f"{ids} begin with a quotation mark that is not closed: it is a part of them."
            self.notes = (Note("quotes", "info", text),)

    def _find_broken_id(self, fields: Sequence[bytes]) -> str | None:
        """Return the name of a column whose id, if no list of ids, holds a line break, or None."""
        for role in ("query", "doc"):
            field = fields[self.position_of_role[role]]
            is_list = bool(self.list_columns) and role == "doc" and is_list_cell(decode(field))
            if not is_list and re.search(rb"[\r\n]", field):
                return self.column_names[self.position_of_role[role]]
        return None

    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns as Arrow reads them, the block as it is, and cleaned if it can be."""
        yield self._read_table(raw, type_of_position)
        if (raw == RETURN).any():
            raw = np.frombuffer(raw.tobytes().replace(b"\r\n", b"\n"), np.uint8)
            yield self._read_table(raw, type_of_position)
        bare_text = remove_quotes(raw, self._separator)
        if bare_text is not None:
            for position in list(type_of_position)[:2] if self._separator == b"\t" else ():
                quoted_id = rb'(?m)^(?:[^\t\n]*\t){%d}"([^"]*)' % position
                if match := re.search(quoted_id, raw.tobytes()):
                    self._remember_quotes(match[1], is_closed=True)
            yield self._read_table(bare_text, type_of_position)

    def _read_table(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> "list[pa.Array] | None":
        """Return the columns as Arrow reads them; None if that cannot be relied on."""
        if len(raw) and raw[-1] != NEWLINE:
            raw = np.append(raw, np.uint8(NEWLINE))
        text = raw.tobytes()
        if b'"' in text or b"\r" in text or b"\0" in text:
            return None
        separator, n_columns = self._separator.decode(), len(self.column_names)
        arrays = read_columns(raw, separator, n_columns, type_of_position)
        if arrays is None:
            return None
        are_valid = all(Ids.of_arrow(array).mark_invalid() is None for array in arrays[:2])
        return arrays if are_valid else None


def _read(separator: bytes | None, file: InputFile) -> DelimitedLines:
    """Return the rows of a file with a header, or with numbered columns.

    If `separator` is None, it is the most frequent separator in the first line.
    """
    file.refuse_long_line()
    begin, line = _find_first_line(file.sample)
    if separator is None:
        separator = max((b",", b";", b"\t", b"|"), key=line.count)
    if separator not in line:
        raise InputError(
            "expected a header of several columns",
            source=file.source.name,
            text=line.decode("utf-8", "replace").rstrip("\r\n"),
            hint=columns_hint(file.side),
            kind="columns",
        )
    names, data_begin = _read_names(line, separator), begin + len(line)
    if file.has_numbered_columns:  # the first line may be a header or data
        column_of_role = resolve_roles(take_statements(file.user_columns, names), file.side, names)
        number_columns = [column for role, column in column_of_role.items() if role not in IDS]
        is_data = all(
            isinstance(column, int)
            and column <= len(names)
            and NUMBER.fullmatch(names[column - 1].strip().encode())
            for column in number_columns
        )
        # Of exclusions, which have ids only, a header would exclude nothing.
        if is_data and (number_columns or file.side is Side.EXCLUDED):
            names, data_begin = [f"column {i}" for i in range(1, len(names) + 1)], begin
    return DelimitedLines(file, separator, names, data_begin)


def _sniff(file: InputFile) -> DelimitedLines | None:
    """Return the rows of a file whose first line names queries and documents, or a stated column.

    Of exclusions, lists of other documents will do. None for any other file.
    """
    if file.has_numbered_columns:
        return None
    file.refuse_long_line()
    begin, line = _find_first_line(file.sample)
    for separator in SEPARATORS:
        if separator not in line:
            continue
        names, data_begin = _read_names(line, separator), begin + len(line)
        first_row = _read_first_row(file.sample[data_begin:], separator, len(names))
        user_columns = take_statements(file.user_columns, names)
        stated_columns = resolve_roles(user_columns, file.side, names).values()
        if not all(column is NO_COLUMN or column in names for column in stated_columns):
            continue
        first_cell = dict(enumerate(first_row)).get
        try:
            roles = find_columns(names, file.side, user_columns, first_cell).keys()
        except InputError as error:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            raise error.locate(file.source.name, text=text) from None
        is_stated = any(column in names for column in stated_columns)
        if is_stated or {"query", "doc"} <= roles or find_side_lists(names, file.side):
            return DelimitedLines(file, separator, names, data_begin)
    return None


def _find_first_line(sample: bytes) -> tuple[int, bytes]:
    """Return where the first line begins that is not blank, and the line."""
    body = sample.removeprefix(BYTE_ORDER_MARK)
    begin = len(sample) - len(body)
    line = b""
    for line in body.splitlines(keepends=True):
        if line.strip():
            break
        begin += len(line)
    return begin, line


def _read_first_row(sample: bytes, separator: bytes, n_columns: int) -> list[str]:
    """Return the fields of the first row; no fields unless there are `n_columns`."""
    records = parse_records(sample.splitlines(keepends=True), separator, n_columns)
    first_row = next((fields for _, fields, _ in records if fields), [])
    return list(map(decode, first_row)) if len(first_row) == n_columns else []


def _read_names(line: bytes, separator: bytes) -> list[str]:
    n_columns = line.count(separator) + 1
    return [field.decode("utf-8", "replace") for field in split_line(line, separator, n_columns)]


def _write(
    separator: bytes,
    header: Sequence[str] | None,
    stream: IO[bytes],
    blocks: Iterable[Block],
    target: OutputFile,
) -> None:
    """Write rows below the names of their columns, or below a stated `header`."""
    if header is not None and target.side is Side.RUN:
        raise OptionError("format='beir' is for judgments; a run is written as tsv or csv")
    for i, block in enumerate(blocks):
        column_of_name = columns_by_name(block)
        if i == 0:
            stream.write(separator.join(map(str.encode, header or column_of_name)) + b"\n")
        if len(block):
            columns = [
                _quote_ids(column, separator, block) if isinstance(column, Ids) else column
                for column in column_of_name.values()
            ]
            stream.write(join_columns(columns, separator))


def _quote_ids(ids: Ids, separator: bytes, block: Block) -> Ids:
    """Return ids, in quotation marks where they hold a separator, quotation mark or white space.

    Raises InputError for an id that holds a line break: see `DelimitedLines`.
    """
    special_bytes = (separator, b'"', *WHITE_SPACE)
    if not find_special_ids(ids, special_bytes):
        return ids
    fields = ids.to_list()
    for row, field in enumerate(fields):
        if b"\n" in field or b"\r" in field:
            raise InputError(
                f"the id {decode(field)!r} cannot be written as CSV or TSV: it holds a line break",
                hint="Write JSON, Parquet or Arrow instead.",
                kind="id",
            ).locate(*block.locate_row(row))
    return Ids.of(
        [
            b'"' + field.replace(b'"', b'""') + b'"'
            if any(character in field for character in special_bytes)
            else field
            for field in fields
        ]
    )


_ROW = "a header, columns found by name"
FORMATS = (
    Format(
        "beir",
        "BEIR, MTEB",
        partial(_write, b"\t", ("query-id", "corpus-id", "score")),
        read=partial(_read, b"\t"),
        qrels=Capacity(
            "a TSV with `query-id corpus-id score`, or the folder that holds `qrels/test.tsv`",
            ("grade",),
        ),
        runs=Capacity(""),
    ),
    Format(
        "csv",
        "CSV, also with semicolons or bars",
        partial(_write, b",", None),
        read=partial(_read, None),
        sniff=_sniff,
        suffixes=(".csv",),
        qrels=Capacity(_ROW),
        runs=Capacity(_ROW),
    ),
    Format(
        "tsv",
        "TSV",
        partial(_write, b"\t", None),
        read=partial(_read, b"\t"),
        suffixes=(".tsv",),
        is_decided_by_suffix=False,
        qrels=Capacity(_ROW),
        runs=Capacity(_ROW),
    ),
)
