"""Chunk files: reads which document each chunk belongs to, from files, tables, dicts and rows."""

from collections.abc import Iterable
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import Table, TableForm, read_table

_CHUNK = ("chunk_id", "chunk", "passage_id", "passage", "pid", "node_id", "node", "id")
_DOC = ("doc_id", "docno", "document_id", "doc", "document", "parent_id", "parent", "file")
_FORM = TableForm(
    "the chunks",
    ("chunk_id", "doc_id"),
    header_names=(*_CHUNK, *_DOC),
    bare_description="2 columns: a chunk and its document;",
)


def read_chunks(data: Any) -> dict[str, str]:
    """Return {chunk: document} from a file, a table, a dict or rows of two values.

    Columns are found by their names (`chunk_id`, `passage_id`, ...; `doc_id`, `parent_id`, ...); of
    two columns, one may have another name; with two other names, or none, the first is the chunk.
    Raises InputError for data without such columns, or without a chunk, and for what is no id;
    DuplicateError for a chunk with two documents.
    """
    source = read_table(data, _FORM)
    rows: Iterable[tuple[int | None, Any, Any]]
    if isinstance(source, Table):
        chunk_position, doc_position = _find_positions(source)
        rows = (
            (row, cells[chunk_position], cells[doc_position])
            for row, cells in enumerate(source.rows())
        )
    else:
        rows = ((None, *pair) for pair in source.read_leaves(1))
    documents: dict[str, str] = {}
    for row, *pair in rows:
        chunk_id, doc_id = (source.read_id(row, cell) for cell in pair)
        first_doc = documents.setdefault(chunk_id, doc_id)
        if first_doc != doc_id:
            raise source.row_error(
                row,
                f"the chunk {chunk_id!r:.80} has the document {doc_id!r:.80} here, and "
                f"{first_doc!r:.80} above",
                kind=DuplicateError,
            )
    if not documents:
        raise source.row_error(None, "holds no chunk")
    return documents


def _find_positions(table: Table) -> tuple[int, int]:
    """Return the positions of the columns of chunks and of documents; or raise InputError."""
    doc_position, chunk_position = table.find_column(_DOC), table.find_column(_CHUNK)
    if doc_position is not None and chunk_position is not None:
        return chunk_position, doc_position
    positions = [position for position, _ in table.other_columns(())]
    if len(positions) != 2:
        raise table.row_error(
            None,
            f"expected two columns, a chunk and its document; it has {', '.join(table.names):.200}",
            "Name them chunk_id and doc_id.",
        )
    if chunk_position is None and doc_position is None:
        return positions[0], positions[1]
    (other_position,) = (
        position for position in positions if position not in (chunk_position, doc_position)
    )
    if doc_position is not None:
        return other_position, doc_position
    return positions[0] if chunk_position is None else chunk_position, other_position
