"""Files that list ids: one to a line, of queries or of documents, as the first line says."""

from typing import Literal

from cranfield.errors import InputError
from cranfield.formats.files import first_line
from cranfield.formats.small.read import text_of
from cranfield.formats.source import Source

Listed = Literal["query_id", "doc_id"]


def listed_ids(path: str) -> tuple[Listed, list[str]] | None:
    """Return what a file lists, and the ids; None if its first line is not `query_id` or `doc_id`.

    Raises InputError for a file of that name alone.
    """
    source = Source(path)
    first = first_line(source)
    if first not in ("query_id", "doc_id"):
        return None
    ids = [line for one in text_of(source).splitlines()[1:] if (line := one.strip())]
    if not ids:
        raise InputError("holds no id", source=source.name)
    return ("query_id" if first == "query_id" else "doc_id"), [*dict.fromkeys(ids)]
