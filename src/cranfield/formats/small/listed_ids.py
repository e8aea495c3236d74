"""Id lists: reads files of ids, one on a line, of queries or of documents, as line 1 says."""

import re
from typing import Any, Literal

from cranfield.errors import InputError
from cranfield.formats.files import read_first_line
from cranfield.formats.small.text_lines import read_text
from cranfield.formats.source import Source

IdKind = Literal["query_id", "doc_id"]


def read_id_list(path: Any) -> tuple[IdKind, list[str]] | None:
    """Return the kind of ids in a file, and each id once; None if no `query_id` or `doc_id` leads.

    The file is a path, or open. Raises InputError for a file of that line alone, and for another
    first line of one field.
    """
    source = Source(path)
    first_text = read_first_line(source).strip('"').lower()
    if first_text not in ("query_id", "doc_id"):
        if first_text.isprintable() and re.fullmatch(r"[^\s,;|{\[]+", first_text):
            raise InputError(
                "the first line has one field",
                source=source.name,
                hint="A list of ids begins with the line query_id or doc_id.",
            )
        return None
    lines = [line.strip(" \t\r") for line in read_text(source).split("\n")[1:]]
    ids = [
        line[1:-1] if line[:1] == line[-1:] == '"' and len(line) > 2 else line
        for line in lines
        if line
    ]
    if not ids:
        raise InputError("holds no id", source=source.name)
    return ("query_id" if first_text == "query_id" else "doc_id"), [*dict.fromkeys(ids)]
