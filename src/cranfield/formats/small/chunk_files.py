"""Which document each chunk belongs to: from files, tables, dicts and rows of two columns."""

from collections.abc import Iterable
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import TableForm, Table, read_table

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

    Columns are found by their names (`chunk_id`, `passage_id`, ...; `doc_id`, `parent_id`, ...);
    if there are two columns, with other names or without, the first is the chunk. Raises InputError
    for a table without such columns, DuplicateError for a chunk with two documents.
    """
    found = read_table(data, _FORM)
    rows: Iterable[tuple[int | None, Any, Any]]
    if isinstance(found, Table):
        chunk, doc = _find_positions(found)
        rows = ((row, values[chunk], values[doc]) for row, values in enumerate(found.rows()))
    else:
        rows = ((None, *pair) for pair in found.read_leaves(1))
    documents: dict[str, str] = {}
    for row, *pair in rows:
        chunk_id, doc_id = (found.read_id(row, one) for one in pair)
        before = documents.setdefault(chunk_id, doc_id)
        if before != doc_id:
            raise found.row_error(
                row,
                f"the chunk {chunk_id!r:.80} has the document {doc_id!r:.80} here, and "
                f"{before!r:.80} above",
                kind=DuplicateError,
            )
    if not documents:
        raise found.row_error(None, "holds no chunk")
    return documents


def _find_positions(table: Table) -> tuple[int, int]:
    """Return the numbers of the columns of chunks and of documents."""
    doc, chunk = table.find_column(_DOC), table.find_column(_CHUNK)
    if doc is not None and chunk is not None:
        return chunk, doc
    columns = [place for place, _ in table.other_columns(())]
    if len(columns) != 2:
        raise table.row_error(
            None,
            f"expected two columns, a chunk and its document; it has {', '.join(table.names):.200}",
            "Name them chunk_id and doc_id.",
        )
    if chunk is None and doc is None:
        return columns[0], columns[1]
    (other,) = (place for place in columns if place not in (chunk, doc))
    return (other, doc) if doc is not None else (columns[0] if chunk is None else chunk, other)
