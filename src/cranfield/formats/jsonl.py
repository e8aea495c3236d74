"""JSON rows: reads JSON lines, and lists of objects, whose names are columns; writes JSON lines."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Cells, Errors, Load, Role
from cranfield.formats.columns import FRACTIONS, IDS, TEXTS, ColumnsLike, Side, describe_columns
from cranfield.formats.fields import choose_row_fields, read_cells
from cranfield.formats.format import InputFile, OutputFile
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.identifiers import STATE_LISTS_HINT, encode_id
from cranfield.formats.json_text import RECORD_DECODER, DuplicatePairs, NumberText, Window
from cranfield.formats.lines import DataLine, Lines
from cranfield.formats.rewrite import query_row
from cranfield.formats.shapes import read_path
from cranfield.formats.source import Source
from cranfield.formats.text import BYTE_ORDER_MARK, Bytes
from cranfield.formats.write import columns_by_name

if TYPE_CHECKING:
    import pyarrow as pa


class JsonLines(Lines):
    """Lines that are JSON objects, whose names are the columns."""

    allows_decimals = True
    kind = "JSON lines"

    def __init__(
        self, source: Source, side: Side, sample: bytes, user_columns: ColumnsLike | None
    ) -> None:
        begin = 3 if sample.startswith(BYTE_ORDER_MARK) else 0
        line_number, text, first_row = self.read_first_row(source, sample[begin:])

        def read_rows() -> Iterator[dict[str, Any]]:
            return chain([first_row], self.read_sample_rows(source, sample[begin:]))

        try:
            self._fields, user_columns, self.notes = choose_row_fields(
                list(first_row), read_rows, side, user_columns
            )
            names, fields = list(self._fields), self._fields.values()
            first_cell = [
                [] if field.name else field.read_row(first_row) for field in fields
            ].__getitem__
            positions = take_columns(names, side, user_columns, source.name, first_cell)
        except InputError as error:
            raise error.locate(source.name, line_number, text) from None
        self.name_of_role = {role: names[position] for role, position in positions.items()}
        self.list_columns = list_columns(names, positions, side, user_columns, first_cell)
        self.column_names = names
        # Ids that are numbers in the first line are expected to be numbers in all.
        self._whole_number_columns = {
            name for name, value in first_row.items() if isinstance(value, NumberText)
        }
        position_of_role = {role: i for i, role in enumerate(self.name_of_role)}  # in a DataLine
        description = f"{self.kind} with {describe_columns(names, positions)}"
        super().__init__(source, side, begin, position_of_role, description)

    def read_first_row(self, source: Source, sample: bytes) -> tuple[int, str, dict[str, Any]]:
        """Return the number of the first row's line, its text, and the row."""
        lines = sample.split(b"\n")
        line_number, line = next((i, line) for i, line in enumerate(lines, 1) if line.strip())
        text = line.decode("utf-8", "replace")
        try:
            return line_number, text, dict(_parse_pairs(line))
        except InputError as error:
            raise error.locate(source.name, line_number, text) from None

    def read_sample_rows(self, source: Source, sample: bytes) -> Iterator[dict[str, Any]]:
        """Yield the rows of the sample, as far as they can be read."""
        for line in sample.split(b"\n")[:-1]:
            with contextlib.suppress(InputError):
                if line.strip():
                    yield dict(_parse_pairs(line))

    def describe_column(self, role: Role) -> str:
        """Return the column of a role, in words."""
        return repr(self.name_of_role[role])

    def find_query(self, line: bytes) -> bytes | None:
        """Return a line's query, or the line if that has a fault; None for a line without data."""
        if not line.strip():
            return None
        try:
            return _parse_id(read_path(dict(_parse_pairs(line)), self.name_of_role["query"]), "")
        except InputError:
            return line

    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the lines of data in the bytes of a block, with their faults."""
        for i, line in enumerate(raw.split(b"\n")):
            text = line.rstrip(b"\r")
            if text.strip():
                try:
                    yield self.parse_object(i, text, _parse_pairs(text))
                except InputError as error:
                    yield DataLine(i, text, (), error)

    def parse_object(
        self, line_number: int, text: bytes, pairs: Iterable[tuple[str, Any]]
    ) -> DataLine:
        """Return an object, as pairs (name, value), as a line of this number, with its fields."""
        fields: list[bytes] = []
        try:
            for role, column_name in self.name_of_role.items():
                values = [value for name, value in pairs if name == column_name]
                if not values and "." in column_name:
                    values = [read_path(dict(pairs), column_name)]
                if len(values) != 1:
                    count = "no" if not values else "more than one"
                    raise InputError(f"has {count} {column_name!r}", kind="columns")
                read_field = _parse_id if role in IDS else _number_text
                is_empty = role in TEXTS and values[0] in (None, "")
                fields.append(b"" if is_empty else read_field(values[0], column_name))
        except InputError as error:
            return DataLine(line_number, text, (), error)
        return DataLine(line_number, text, fields)

    def read_cells(self, raw: bytes, first_line: int) -> Cells:
        """Return the cells of `list_columns` in a block; its first line has number `first_line`."""
        lines = [(i, line) for i, line in enumerate(raw.split(b"\n"), first_line) if line.strip()]

        def find_line(row: int) -> tuple[int, str]:
            line_number, line = lines[row]
            return line_number, line.rstrip(b"\r").decode("utf-8", "replace")

        rows: list[Sequence[Any] | InputError] = []
        for _, line in lines:
            try:
                rows.append(self.read_cells_of_object(_parse_object(line.rstrip(b"\r"))))
            except InputError as error:
                rows.append(error)
        return Cells.from_rows(self.list_columns, rows, find_line)

    def read_cells_of_object(self, row: Any) -> Sequence[Any] | InputError:
        """Return an object's cells of `list_columns`, None for a missing cell; or its error."""
        if isinstance(row, dict):
            return read_cells(map(self._fields.__getitem__, self.list_columns.values()), row)
        if not isinstance(row, DuplicatePairs):
            return InputError("expected a JSON object", kind="columns")
        names = [name for name, _ in row]
        for name in self.list_columns.values():
            column_name = self._fields[name].column
            if names.count(column_name) > 1:
                return InputError(f"has more than one {column_name!r}", kind="columns")
        return self.read_cells_of_object(dict(row))

    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns as Arrow reads them, if the block is clean."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        columns = list(self.name_of_role.items())
        fields = []
        for role, name in map(columns.__getitem__, type_of_position):
            kind = pa.float64() if role in FRACTIONS else pa.int64()
            if role in IDS and name not in self._whole_number_columns:
                kind = pa.string()
            fields.append((name, kind))
        if len(raw) == 0 or (raw == 0).any() or any("." in name for _, name in columns):
            return
        try:
            table = arrow_json.read_json(
                pa.BufferReader(pa.py_buffer(raw)),
                arrow_json.ReadOptions(use_threads=False, block_size=len(raw) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
                ),
            )
        except (pa.ArrowException, ValueError):
            return
        n_lines = sum(map(bool, map(bytes.strip, raw.tobytes().split(b"\n"))))
        if len(table) != n_lines:  # Arrow accepts several objects on one line
            return
        arrays = []
        for i, (name, kind) in enumerate(fields):
            column = table.column(name)
            if column.num_chunks != 1 or column.null_count:
                return
            array = column.chunk(0)
            if kind == pa.int64():
                array = array.cast(pa.string())  # ids, or whole numbers, which are checked later
            elif i < 2 and Ids.of_arrow(array).mark_invalid() is not None:
                return
            arrays.append(array)
        yield arrays


class JsonList(JsonLines):
    """A JSON list of objects, whose names are the columns; or {query: [document, ...]}, of objects.

    Such an object of lists is no table, which might hold both sides.
    """

    is_text = False  # how its lines end does not matter

    def __init__(
        self, source: Source, side: Side, sample: bytes, user_columns: ColumnsLike | None
    ) -> None:
        self.side = side  # to read the first row
        self._has_queries = sample.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")
        self.kind = "JSON object of lists" if self._has_queries else "JSON list with objects"
        super().__init__(source, side, sample, user_columns)
        self.column_names = () if self._has_queries else self.column_names

    def read_first_row(self, source: Source, sample: bytes) -> tuple[int, str, dict[str, Any]]:
        """Return the number of the first row's line, its text, and the row."""
        for line, row in self._read_elements(source, reports_progress=False):
            if isinstance(row, dict):
                return line, _excerpt(row), row
            problem, hint = "expected a JSON object", None
            if not isinstance(row, DuplicatePairs | list):
                hint = "Put a single query's list of ids into a list: [[1, 3, 5]]."
            if isinstance(row, DuplicatePairs):
                names = [name for name, _ in row]
                repeated_name = next(name for name in names if names.count(name) > 1)
                problem = f"has more than one {repeated_name!r}"
            raise InputError(problem, hint=hint).locate(source.name, line, _excerpt(row))
        raise InputError("holds no rows", source=source.name)

    def read_sample_rows(self, source: Source, sample: bytes) -> Iterator[dict[str, Any]]:
        """Yield the rows, as far as they can be read."""
        with contextlib.suppress(InputError):
            for _, row in self._read_elements(source, reports_progress=False):
                if isinstance(row, dict):
                    yield row

    def _read_elements(
        self, source: Source, *, reports_progress: bool = True
    ) -> Iterator[tuple[int, Any]]:
        """Yield (number of the line, row) for the elements of the list, or the members."""
        with source.open(reports_progress=reports_progress) as stream:
            text = Window(stream, source, RECORD_DECODER)
            for line in text.read_members("{}" if self._has_queries else "[]"):
                row = text.read_value()
                if self._has_queries:
                    text.skip(":")
                    row = query_row(row, text.read_value(), self.side)
                yield line, row

    def cells(self) -> Iterator[Cells]:
        """Yield the cells of `list_columns`, some rows at a time."""

        def find_line(batch: list[tuple[int, Any]], position: int) -> tuple[int, str]:
            line, row = batch[position]
            return line, _excerpt(row)

        numbered_rows = self._read_elements(self.source)
        while batch := list(islice(numbered_rows, SIZES.lists)):
            cells = [self.read_cells_of_object(row) for _, row in batch]
            yield Cells.from_rows(self.list_columns, cells, partial(find_line, batch))

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks."""
        roles = tuple(roles)
        position = self.position_of_role["query"]
        query = slice(position, position + 1)  # a faulty line has no fields
        lines: list[DataLine] = []
        for line_number, row in self._read_elements(self.source):
            text = _excerpt(row).encode("utf-8", "replace")
            if not isinstance(row, dict | DuplicatePairs):
                fault = InputError("expected a JSON object", kind="columns")
                line = DataLine(line_number, text, (), fault)
            else:
                pairs = list(row.items()) if isinstance(row, dict) else row
                line = self.parse_object(line_number, text, pairs)
            is_full = len(lines) >= SIZES.rows and line.fields
            if is_full and lines[-1].fields[query] != line.fields[query]:
                find_line = _make_line_finder(lines)
                yield partial(self.build_block_of_lines, lines, roles, find_line, errors)
                lines = []
            lines.append(line)
        yield partial(self.build_block_of_lines, lines, roles, _make_line_finder(lines), errors)


def _make_line_finder(lines: list[DataLine]) -> Callable[..., tuple[int | None, str | None]]:
    """Return a function that finds the number and the text of a row among these lines."""

    def find_line(row: int, good_rows: list[int] | None = None) -> tuple[int, str]:
        line = lines[row if good_rows is None else good_rows[row]]
        return line.index, line.text.decode("utf-8", "replace")

    return find_line


def _excerpt(row: Any) -> str:
    """Return an element of a JSON list as text for errors."""
    return f"{dict(row) if isinstance(row, dict) else row!r:.200}"


def _parse_pairs(line: bytes) -> list[tuple[str, Any]]:
    """Return the pairs (name, value) of a JSON object; InputError for anything else."""
    row = _parse_object(line)
    return list(row.items()) if isinstance(row, dict) else row


def _parse_object(line: bytes) -> dict[str, Any] | DuplicatePairs:
    """Return the JSON object in a line; InputError for anything else."""
    try:
        row = RECORD_DECODER.decode(line.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(problem, kind="text") from None
    except (RecursionError, ValueError):
        raise InputError("is not valid JSON: nested too deeply", kind="text") from None
    if not isinstance(row, dict | DuplicatePairs):
        raise InputError("expected a JSON object", kind="text")
    return row


def _parse_id(cell: Any, name: str) -> bytes:
    """Return an id's bytes, from a string or the digits of a whole number; else InputError."""
    is_text = not isinstance(cell, NumberText) or _INTEGER.fullmatch(cell)
    encoded_id = encode_id(cell) if is_text else None
    if encoded_id is None:
        text = str(cell) if isinstance(cell, NumberText) else repr(cell)
        raise InputError(
            f"expected a string or a whole number as {name!r}, got {text:.80}",
            hint=STATE_LISTS_HINT if isinstance(cell, list) else None,
            kind="id",
        )
    return encoded_id


_INTEGER = re.compile(r"-?\d+")


def _number_text(cell: Any, name: str) -> bytes:
    """Return the text of a number; for any other cell, a text that is not a number."""
    if isinstance(cell, NumberText):
        return cell.encode()
    return f"{cell!r:.80}".encode("utf-8", "replace")


def looks_like_lines(sample: bytes) -> bool:
    """Tell whether a sample is JSON lines: its first line is an object that has a plain value."""
    text = sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if not text.startswith(b"{"):
        return False
    try:  # a line that the sample cuts off is not JSON
        first_object = json.loads(text.split(b"\n", 1)[0].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return any(not isinstance(value, dict | list) for value in first_object.values())


def write_lines(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    """Write each row as an object on a line."""
    for block in blocks:
        column_of_name = columns_by_name(block)
        names = list(map(json.dumps, column_of_name))
        columns = [
            [json.dumps(decode(encoded_id)) for encoded_id in column.to_list()]
            if isinstance(column, Ids)
            else list(map(json.dumps, column.tolist()))
            for column in column_of_name.values()
        ]
        lines = (
            ", ".join([f"{name}: {field}" for name, field in zip(names, row, strict=True)])
            for row in zip(*columns, strict=True)
        )
        stream.write("".join([f"{{{line}}}\n" for line in lines]).encode())


def read_lines(file: InputFile) -> JsonLines:
    """Return the rows of a file in which each line is an object."""
    file.refuse_long_line()
    return JsonLines(file.source, file.side, file.sample, file.user_columns)
