"""Grade lists: reads lists of grades as text, `5 2 4 0 1`, or `q1: 5 2 4 0 1`, a list on a line."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.small.text_lines import read_text
from cranfield.formats.source import Source

_HINT = (
    "Write a list as '5 2 4 - 1', best rank first, with - for an unjudged document, or with the "
    "query as 'q1: 5 2 4 - 1'. Several lines of such lists, or a file of them, also work."
)


def parse_grade_lists(
    texts: Iterable[str], title: str, names: Sequence[str] = ()
) -> dict[str, list[float | None]]:
    """Return {query: grades} from texts: each is a list, lines of lists, or the path of a file.

    `-` is the standard input. A list without a name gets the name at its position in `names`, or
    the number of its position, from 1. A name ends at the last colon; a name with a colon, as
    `q:9`, cannot contain a blank. In files and texts of several lines, blank lines, and those that
    begin with `#`, are left out. `title` is the texts' name in errors. Raises InputError for a line
    that is no list, with its number if there are several; DuplicateError for a query's second list.
    """
    grades_of_query: dict[str, list[float | None]] = {}
    for source, number, line in _read_lists(texts, title):
        name, colon, grade_text = line.rpartition(":")
        position = len(grades_of_query)
        query = names[position] if position < len(names) else str(position + 1)
        if colon:
            query = name.strip()
        try:
            if ":" in query and re.search(r"\s", query):
                raise InputError(
                    f"two colons: write one list on each line. {query!r:.80} cannot be the name "
                    "of a query here, as it has a colon and a blank",
                    hint=_HINT,
                )
            if query in grades_of_query:
                raise DuplicateError(f"a second list of query {query!r:.80}")
            if not query:
                raise InputError("expected a query before the colon")
            grades_of_query[query] = _parse_grades(grade_text, may_be_empty=bool(colon))
        except InputError as error:
            raise error.locate(source, number, line) from None
    return grades_of_query


def _read_lists(texts: Iterable[str], title: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield the source's name, the line's number (None for a text of one line) and the line."""
    for text in texts:
        if text != "-" and (not os.path.exists(text) or os.path.isdir(text)):
            if "\n" not in text.strip():
                yield title, None, text
                continue
            name, whole_text = title, text
        else:
            source = Source(text)
            name = source.name
            whole_text = read_text(source)
        numbered_lines = enumerate(whole_text.split("\n"), 1)
        lists = [(n, line) for n, line in numbered_lines if line.strip() and line[0] != "#"]
        if not lists:
            raise InputError("holds no list of grades", source=name, hint=_HINT)
        for number, line in lists:
            yield name, number, line.rstrip("\r")


def _parse_grades(text: str, *, may_be_empty: bool) -> list[float | None]:
    """Return the grades in a text, best rank first, None for unjudged; InputError for no grade."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    fields = re.split(r"\s*,\s*|\s+", text.strip()) if text.strip() else []
    if not fields and not may_be_empty:
        problem = "holds no grade; if nothing was retrieved, name the query, as in 'q1:'"
        raise InputError(problem, hint=_HINT)
    bad_field = next(
        (field for field in fields if field != "-" and not re.fullmatch(_GRADE_PATTERN, field)),
        None,
    )
    if bad_field is not None:
        raise InputError(f"expected numbers or -, got {bad_field!r:.80}", hint=_HINT)
    return [
        None if field == "-" else float(field) if "." in field else int(field) for field in fields
    ]


_GRADE_PATTERN = r"[+-]?([0-9]{1,15}(\.[0-9]*)?|\.[0-9]+)"
