"""Files that list ids: one to a line, of queries or of documents, as the first line says."""

import re
from typing import Literal

from cranfield.errors import InputError
from cranfield.formats.files import read_first_line
from cranfield.formats.small.text_lines import read_text
from cranfield.formats.source import Source

IdKind = Literal["query_id", "doc_id"]


def read_id_list(path: str) -> tuple[IdKind, list[str]] | None:
    """Return what a file lists, and the ids; None if its first line is not `query_id` or `doc_id`.

    Raises InputError for a file of that line alone, and for a list of something else.
    """
    source = Source(path)
    first = read_first_line(source).strip('"').lower()
    if first not in ("query_id", "doc_id"):
        if first.isprintable() and re.fullmatch(r"[^\s,;|{\[]+", first):
            raise InputError(
                "the first line has one field",
                source=source.name,
                hint="A list of ids begins with the line query_id or doc_id.",
            )
        return None
    lines = [one.strip(" \t\r") for one in read_text(source).split("\n")[1:]]
    ids = [
        one[1:-1] if one[:1] == one[-1:] == '"' and len(one) > 2 else one for one in lines if one
    ]
    if not ids:
        raise InputError("holds no id", source=source.name)
    return ("query_id" if first == "query_id" else "doc_id"), [*dict.fromkeys(ids)]
