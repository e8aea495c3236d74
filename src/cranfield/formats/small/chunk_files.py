"""Which document each chunk belongs to: from files, tables, dicts and rows of two columns."""

from collections.abc import Iterable
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import Form, Table, read_table

_CHUNK = ("chunk_id", "chunk", "passage_id", "passage", "pid", "node_id", "node", "id")
_DOC = ("doc_id", "docno", "document_id", "doc", "document", "parent_id", "parent", "file")
_FORM = Form(
    "the chunks",
    ("chunk_id", "doc_id"),
    known=(*_CHUNK, *_DOC),
    bare="2 columns: a chunk and its document;",
)


def chunk_rows(data: Any) -> dict[str, str]:
    """Return {chunk: document} from a file, a table, a dict or rows of two values.

    Columns are found by their names (`chunk_id`, `passage_id`, ...; `doc_id`, `parent_id`, ...);
    if there are two columns, with other names or without, the first is the chunk. Raises InputError
    for a table without such columns, DuplicateError for a chunk with two documents.
    """
    found = read_table(data, _FORM)
    rows: Iterable[tuple[int | None, Any, Any]]
    if isinstance(found, Table):
        chunk, doc = _places(found)
        rows = ((row, values[chunk], values[doc]) for row, values in enumerate(found.rows()))
    else:
        rows = ((None, *pair) for pair in found.leaves(1))
    documents: dict[str, str] = {}
    for row, *pair in rows:
        chunk_id, doc_id = (found.id_of(row, one) for one in pair)
        before = documents.setdefault(chunk_id, doc_id)
        if before != doc_id:
            raise found.error(
                row,
                f"the chunk {chunk_id!r:.80} has the document {doc_id!r:.80} here, and "
                f"{before!r:.80} above",
                kind=DuplicateError,
            )
    if not documents:
        raise found.error(None, "holds no chunk")
    return documents


def _places(table: Table) -> tuple[int, int]:
    """Return the numbers of the columns of chunks and of documents."""
    doc, chunk = table.place(_DOC), table.place(_CHUNK)
    if doc is not None and chunk is not None:
        return chunk, doc
    columns = [place for place, _ in table.others(())]
    if len(columns) != 2:
        raise table.error(
            None,
            f"expected two columns, a chunk and its document; it has {', '.join(table.names):.200}",
            "Name them chunk_id and doc_id.",
        )
    if chunk is None and doc is None:
        return columns[0], columns[1]
    (other,) = (place for place in columns if place not in (chunk, doc))
    return (other, doc) if doc is not None else (columns[0] if chunk is None else chunk, other)
