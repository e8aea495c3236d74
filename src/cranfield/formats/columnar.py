"""Columnar files, Parquet and Arrow: reads only the needed columns, batch by batch; writes both."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote

from cranfield.arrays.ids import Ids
from cranfield.errors import InputError, escape_unprintable
from cranfield.formats.batches import BYTES_METADATA, ArrowRows
from cranfield.formats.block import SIZES, Block
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.source import Source
from cranfield.formats.write import NotTextError, columns_by_name, number_column
from cranfield.progress import watch_reading

if TYPE_CHECKING:
    import pyarrow as pa

ColumnarFormat = Literal["parquet", "arrow"]
MAGIC: dict[bytes, ColumnarFormat] = {
    b"PAR1\x15": "parquet",  # with the start of its first structure: text may begin with PAR1
    b"ARROW1\0\0": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
}
FEATHER_1_MAGIC = b"FEA1"
#: What other tables begin with: (their name, how to write them as Parquet).
FOREIGN_MAGIC = {
    b"ORC": ("an ORC file", "pandas.read_orc({!r}).to_parquet({!r})"),
    b"Obj\x01": ("an Avro file", "polars.read_avro({!r}).write_parquet({!r})"),
    b"DUCK": ("a DuckDB database", "duckdb.connect({!r}).table('TABLE').write_parquet({!r})"),
}


class OpenTable(NamedTuple):
    """An open Parquet or Arrow file: `read_columns` yields batches of the columns of some names."""

    schema: "pa.Schema"
    n_rows: int | None  # if it is known
    read_columns: "Callable[[list[str]], Iterator[pa.RecordBatch]]"


class ColumnarRows(ArrowRows):
    """The rows of a Parquet or Arrow file; folders named `column=value` above it are columns."""

    def __init__(
        self, source: Source, side: Side, form: ColumnarFormat, user_columns: ColumnsLike | None
    ) -> None:
        self.source = source
        self._form = form
        import pyarrow as pa

        title = "Parquet" if form == "parquet" else "Arrow"
        with _open_table(source, form) as table:
            if table.n_rows == 0:
                raise InputError("holds no rows", source=source.name)
            self._partitions = dict(re.findall(r"([^/\\=]+)=([^/\\]*)[/\\]", source.path))
            schema = table.schema
            for name in sorted(self._partitions.keys() - {*schema.names}):
                schema = schema.append(pa.field(name, pa.string()))
            super().__init__(schema, side, user_columns, source.name, title)

    def read_batches(self, positions: Sequence[int]) -> "Iterator[pa.RecordBatch]":
        """Yield the columns at these positions, and report progress, in bytes of file or memory."""
        import pyarrow as pa

        with (
            watch_reading(self.source) as report_bytes,
            _open_table(self.source, self._form) as table,
        ):
            size, n_rows = self.source.size, table.n_rows
            names = [self.column_names[position] for position in positions]
            stored_names = [name for name in names if name in table.schema.names]
            for batch in table.read_columns(stored_names):
                n_bytes = int(size * len(batch) / n_rows) if size and n_rows else batch.nbytes
                if report_bytes is not None:
                    report_bytes(n_bytes)
                for position, name in enumerate(names):
                    if name not in stored_names:
                        column = pa.repeat(unquote(self._partitions[name]), len(batch))
                        batch = batch.add_column(position, name, column)
                yield batch


def detect_columnar_format(source: Source, start: bytes) -> ColumnarFormat | None:
    """Return the format of a file by its first bytes; InputError for a table of another format."""
    for magic, (title, template) in FOREIGN_MAGIC.items():
        if b"\0" in start and magic in (start[: len(magic)], start[8:12]):  # text may begin so
            call = template.format(source.name, f"{source.name_parts[0]}.parquet")
            hint = f'Write it as Parquet: python -c "import {call.partition(".")[0]}; {call}"'
            raise InputError(f"is {title}, which is not read", source=source.name, hint=hint)
    if start.startswith(FEATHER_1_MAGIC):
        raise InputError(
            "is a Feather file of version 1, which is no longer read",
            source=source.name,
            hint="Write it again as Feather version 2 or Parquet.",
        )
    return next((form for magic, form in MAGIC.items() if start.startswith(magic)), None)


def read_columnar_file(source: Source, form: ColumnarFormat) -> "pa.Table":
    """Return the table in a Parquet or Arrow file, with all its columns, no two of one name."""
    import pyarrow as pa

    with _open_table(source, form) as table:
        names = table.schema.names
        if len(set(names)) < len(names):
            raise InputError("has two columns with the same name", source=source.name)
        return pa.Table.from_batches(table.read_columns(names), table.schema)


@contextmanager
def _open_table(source: Source, form: ColumnarFormat) -> Iterator[OpenTable]:
    """Open a Parquet or Arrow file; InputError if it is not one, or corrupt."""
    import pyarrow as pa

    with source.open_seekable() as file:
        try:
            with (_open_parquet if form == "parquet" else _open_arrow)(file, source) as table:
                yield table
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            reason = escape_unprintable(str(error), 300) or "it needs more memory than there is"
            raise InputError(
                f"cannot be read as {form}: {reason}", source=source.name, kind="text"
            ) from None


@contextmanager
def _open_parquet(file: Any, source: Source) -> Iterator[OpenTable]:
    from pyarrow import parquet

    # Reading ahead is faster where each read is a request to a server; it takes more memory.
    with parquet.ParquetFile(file, pre_buffer=source.is_url) as parquet_file:

        def read_columns(names: list[str]) -> "Iterator[pa.RecordBatch]":
            for batch in parquet_file.iter_batches(SIZES.rows, columns=names):
                yield batch.select(names)

        yield OpenTable(parquet_file.schema_arrow, parquet_file.metadata.num_rows, read_columns)


@contextmanager
def _open_arrow(file: Any, source: Source) -> Iterator[OpenTable]:
    import pyarrow as pa

    start = file.read(8)
    file.seek(0)
    if MAGIC.get(start) != "arrow" and MAGIC.get(start[:4]) != "arrow":
        # Arrow would read the first bytes of any file as a length, and allocate that much.
        raise InputError("is neither an Arrow file nor a stream", source=source.name, kind="text")
    if start in MAGIC:
        with pa.ipc.open_file(file) as arrow_file:

            def read_columns(names: list[str]) -> "Iterator[pa.RecordBatch]":
                positions = [i for i, name in enumerate(arrow_file.schema.names) if name in names]
                options = pa.ipc.IpcReadOptions(included_fields=positions)
                with pa.ipc.open_file(file, options=options) as column_file:
                    batches = map(column_file.get_batch, range(column_file.num_record_batches))
                    yield from _validate_batches(batch.select(names) for batch in batches)

            yield OpenTable(arrow_file.schema, None, read_columns)
        return
    with pa.ipc.open_stream(file) as stream:

        def read_stream(names: list[str]) -> "Iterator[pa.RecordBatch]":
            return _validate_batches(batch.select(names) for batch in stream)

        yield OpenTable(stream.schema, None, read_stream)


def _validate_batches(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Yield batches after a check that no offset leads outside of them: files may be corrupt.

    A dictionary that a batch shares with the batch before is not checked again.
    """
    import pyarrow as pa

    dictionaries: dict[int, pa.Array] = {}  # the last dictionary of each column
    for batch in batches:
        batch.validate()  # checks the lengths of its buffers
        for position, column in enumerate(batch.columns):
            if not pa.types.is_dictionary(column.type):
                column.validate(full=True)
                continue
            entries = column.dictionary
            if position not in dictionaries or not _share_memory(entries, dictionaries[position]):
                entries.validate(full=True)
                dictionaries[position] = entries
            # To check the indices, any entries will do.
            indices = pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(entries)))
            indices.validate(full=True)
        yield batch


def _share_memory(array: "pa.Array", other: "pa.Array") -> bool:
    """Tell whether two arrays of one type share the same memory."""

    def memory(array: "pa.Array") -> Any:
        buffers = [buffer and (buffer.address, buffer.size) for buffer in array.buffers()]
        return buffers, len(array), array.offset

    return bool(memory(array) == memory(other))


def _write(
    form: ColumnarFormat, stream: IO[bytes], blocks: Iterable[Block], target: OutputFile
) -> None:
    import pyarrow as pa

    tables = (_to_arrow_table(block, target.is_text) for block in blocks if len(block))
    first_table = next(tables, None)
    if first_table is None:
        raise InputError("there are no rows to write")
    sink = pa.PythonFile(stream, "w")
    if form == "parquet":
        from pyarrow import parquet

        with parquet.ParquetWriter(sink, first_table.schema, compression="zstd") as writer:
            for table in _combine_tables(chain([first_table], tables)):
                writer.write_table(table, SIZES.stored_rows)
        return
    create = pa.ipc.new_stream if target.suffix == ".arrows" else pa.ipc.new_file
    with create(sink, first_table.schema) as writer:
        for table in chain([first_table], tables):
            writer.write_table(table)


def _combine_tables(tables: "Iterator[pa.Table]") -> "Iterator[pa.Table]":
    """Yield tables combined until they, except the last, are as large as a row group should be."""
    import pyarrow as pa

    pending: list[pa.Table] = []
    for table in tables:
        pending.append(table)
        if sum(map(len, pending)) >= SIZES.stored_rows:
            yield pa.concat_tables(pending)
            pending = []
    if pending:
        yield pa.concat_tables(pending)


def _to_arrow_table(block: Block, is_text: bool) -> "pa.Table":
    """Return a block as a table; NotTextError for ids that are not text although `is_text`."""
    import pyarrow as pa

    column_of_name = columns_by_name(block)
    arrays = []
    for column in column_of_name.values():
        if isinstance(column, Ids):
            array = column.to_arrow()
            if is_text:
                array = array.view(pa.large_string())
                try:
                    array.validate(full=True)
                except pa.ArrowInvalid:
                    raise NotTextError from None
        else:
            array = number_column(column)
        arrays.append(array)
    metadata = None if is_text else BYTES_METADATA
    return pa.Table.from_arrays(arrays, list(column_of_name), metadata=metadata)


def _read(form: ColumnarFormat, file: InputFile) -> ColumnarRows:
    return ColumnarRows(file.source, file.side, form, file.user_columns)


def _sniff(form: ColumnarFormat, file: InputFile) -> ColumnarRows | None:
    return _read(form, file) if detect_columnar_format(file.source, file.sample) == form else None


def _make_format(form: ColumnarFormat, title: str, suffixes: Sequence[str]) -> Format:
    return Format(
        form,
        title,
        partial(_write, form),
        read=partial(_read, form),
        sniff=partial(_sniff, form),
        magic=[magic for magic, magic_form in MAGIC.items() if magic_form == form],
        suffixes=suffixes,
        qrels=Capacity("columns found by name"),
        runs=Capacity("columns found by name"),
    )


FORMATS = (
    _make_format("parquet", "Parquet", (".parquet", ".pq")),
    _make_format(
        "arrow", "Arrow: IPC file or stream, Feather 2", (".arrow", ".arrows", ".feather", ".ipc")
    ),
)
