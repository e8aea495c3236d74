"""Texts of queries or documents, by id: TREC topics, tables, JSON lines, dicts."""

import html
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from cranfield.errors import InputError
from cranfield.formats.columnar import detect_columnar_format
from cranfield.formats.columns import NAMES, plain_name
from cranfield.formats.identifiers import to_id_text, escape_surrogates
from cranfield.formats.objects import as_dict
from cranfield.formats.small.read import (
    NestedObject,
    TableForm,
    ReadLines,
    Table,
    first_character,
    read_table,
    read_text_rows,
)
from cranfield.formats.small.text_lines import read_file_lines, require_utf8, read_utf8_lines
from cranfield.formats.source import Source

# A file, a dict {id: text}, or a table with a column of ids and one of texts.
TextsLike: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any] | Iterable[Any]

# The names of the column of ids, and of texts: the first that is not empty.
QUERY_TEXT, DOC_TEXT = "query_text", "document_text"  # columns of texts beside ids
_TITLES = ("title", "name", "topic")
_TEXTS = (
    *("title", "text", "query", "question", "body", "contents", "content", "passage"),
    *("description", "desc", "name", "topic"),
)
_HINT = (
    "Texts are TREC topics, a table of ids and texts (TSV, CSV), or JSON lines such as "
    '{"_id": "q1", "text": "..."}.'
)
IdRole = Literal["query", "doc"]


def _id_columns(role: IdRole) -> list[str]:
    """Return the names of the column of ids, in the order in which they are searched for."""
    own = [name for name in NAMES[role] if name not in _TEXTS]  # a query may be an id or a text
    return [*dict.fromkeys([*own, "_id", "id", *NAMES[role], *NAMES["query"], *NAMES["doc"]])]


_IDS: Mapping[IdRole, Sequence[str]] = {of: _id_columns(of) for of in get_args(IdRole)}


def read_texts(
    data: Any,
    ids: Collection[str],
    title: str = "the texts",
    *,
    role: IdRole = "query",
    with_titles: bool = False,
) -> dict[str, str]:
    """Return {id: text} for those of the ids that have a text; white space becomes blanks.

    The ids are those `of` queries or documents, whose names of columns are searched for first.

    `data` is a file, a table in memory, rows, or a dict {id: text}, or {id: {"title": ...}}. A
    file is TREC topics, a table with a column of ids and one of texts (or two columns without
    names), JSON lines, or a JSON object {id: text}. The title is the text if it is not empty; with
    `whole`, the title and the text, if there are both, joined by a colon. In
    JSON lines and tab-separated files, only the lines of these ids are read; others are not
    checked. If an id has several texts, the first counts.

    Raises InputError for data without texts, with the line.

    >>> texts_of({"q1": "read a  CSV file", "q2": "sort"}, ["q1"])
    {'q1': 'read a CSV file'}
    """
    wanted = {*ids}
    found: dict[str, str] = {}
    for name, texts in _read_pairs(data, wanted, title, _IDS[role]):
        several = {field: text for field, text in texts if text}
        if name in wanted and several:
            titles = [text for field, text in several.items() if field in _TITLES]
            others = [text for field, text in several.items() if field not in _TITLES]
            first = [*titles[:1], *others[:1]] if with_titles else [*several.values()][:1]
            found.setdefault(name, ": ".join(first))
    return found


_TextsOfFields = list[tuple[str, str]]  # the name of the field, the text, which may be empty


def _read_pairs(
    data: Any, wanted: Collection[str], what: str, ids: Sequence[str]
) -> Iterator[tuple[str, _TextsOfFields]]:
    """Yield each id with its texts, in the order of `_TEXTS`."""
    form = TableForm(what, ("id", "text"), header_names=ids, bare_description="an id and its text,", hint=_HINT)
    if isinstance(data, Mapping):
        yield from (
            (to_id_text(name, what), _list_texts(value)) for name, value in as_dict(data, what).items()
        )
        return
    source = Source(data) if isinstance(data, str | os.PathLike) else None
    if source is None or detect_columnar_format(source, source.read_start(4096)) is not None:
        found = read_table(data, form)
    else:
        read_lines = _choose_lines(source, wanted, ids)
        if first_character(read_lines) == "<":
            text = "".join(line for _, line in read_lines())
            yield from ((name, [("title", one)]) for name, one in _read_topics(text, source.name))
            return
        found = read_text_rows(source.name, read_lines, form)
    if isinstance(found, NestedObject):
        yield from ((str(name), _list_texts(value)) for name, value in found.value.items())
    else:
        yield from _read_table_texts(found, ids)


def _read_table_texts(table: Table, ids: Sequence[str]) -> Iterator[tuple[str, _TextsOfFields]]:
    if not table.n_rows:
        return
    place = 0 if table.bare else table.find_query_column(ids)
    others = table.other_columns([place])
    named = [i for name in _TEXTS for i, other in others if plain_name(other) == name]
    if table.bare or (not named and len(others) == 1):
        named = [i for i, _ in others]
    if not named:
        raise table.row_error(
            None,
            f"has no column of texts; it has {', '.join(table.names):.200}",
            f"Name it, for example, {', '.join(_TEXTS[:4])}.",
        )
    for row, values in enumerate(table.rows()):
        texts = [(plain_name(table.names[i]), _to_one_line(values[i])) for i in named]
        yield table.read_id(row, values[place]), texts


def _list_texts(value: Any) -> _TextsOfFields:
    """Return a text, or the text fields of an object; empty ones, too."""
    if not isinstance(value, Mapping):
        return [("text", _to_one_line(value))]
    return [(name, _to_one_line(value.get(name))) for name in _TEXTS]


def _to_one_line(value: Any) -> str:
    """Return a text in one line; empty for any other value."""
    return escape_surrogates(" ".join(str(value).split())) if isinstance(value, str | int | float) else ""


# ---- TREC topics --------------------------------------------------------------------------------


_LONG_REFERENCE = re.compile(r"&(?=#[0-9]{100})")  # no character's: read as the text that it is


def _read_topics(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the number and the title of each topic: `<top>` with `<num>`, or `<topic number=...>`.

    Raises InputError if there is none.
    """
    parts = re.findall(r"<(top|topic|query)\b([^<>]*)>(.*?)(?=</\1>|<\1\b|\Z)", text, re.S | re.I)
    topics = [one for one in parts if one[0].lower() != "query"] or parts
    found = 0
    for _, attributes, inside in topics:
        number = re.search(r"\b(?:number|num|id|qid)\s*=\s*[\"']([^\"']+)", attributes)
        number = number or re.search(
            r"<(?:num|number|id|qid)>\s*+(?:number:)?\s*+([^\s<]+)", inside, re.I
        )
        if number is None:
            continue
        found += 1
        texts = (re.search(rf"<{one}>(.*?)(?=<|\Z)", inside, re.S | re.I) for one in _TEXTS)
        title = next((one[1] for one in texts if one and one[1].strip()), "")
        title = html.unescape(_LONG_REFERENCE.sub("&amp;", title))
        yield (
            number[1].strip(),
            _to_one_line(re.sub(r"^\s*(?:topic|description):\s*", "", title, flags=re.I)),
        )
    if not found:
        raise InputError("holds no topic with a number", source=name, hint=_HINT)


# ---- only the wanted lines ----------------------------------------------------------------------


def _choose_lines(source: Source, wanted: Collection[str], ids: Sequence[str]) -> ReadLines:
    """Return what reads a file's lines, without those of other ids if each line is a row."""
    lines = read_file_lines(source)
    first_line = next(lines, (1, ""))
    is_wanted = _make_line_test(first_line[1], wanted, ids)
    if is_wanted is None:
        return partial(read_utf8_lines, source)
    wanted_lines = [first_line, *(line for line in lines if is_wanted(line[1]))]
    return lambda: (require_utf8(source, line) for line in wanted_lines)


def _make_line_test(first: str, wanted: Iterable[str], ids: Sequence[str]) -> Callable[[str], bool] | None:
    """Return a test whether a line may have a wanted id, from the first line of a file.

    None if an id's text may span several lines.
    """
    wanted_ids = set(wanted)
    if first.lstrip()[:1] == "{":
        try:
            plain = {plain_name(name): name for name in json.loads(first)}
        except ValueError:  # an object that continues
            return None
        # The id at the beginning of a line, as in all lines of BEIR's files.
        key = re.escape(next((plain[name] for name in ids if name in plain), "_id"))
        first_id = re.compile(r'\s*\{\s*"' + key + r'"\s*:\s*"([^"\\]*)"\s*[,}]')
        spelled = {*wanted_ids, *(json.dumps(name)[1:-1] for name in wanted_ids)}
        # An escaped character may be spelled in many ways.
        anywhere = re.compile("|".join([*map(re.escape, sorted(spelled)), r"\\u|\\/"]))

        def of_object(line: str) -> bool:
            at = first_id.match(line)
            return at[1] in wanted_ids if at else anywhere.search(line) is not None

        return of_object
    if "\t" in first and '"' not in first and first.lstrip()[:1] not in ("[", "<"):
        names = [plain_name(one) for one in first.split("\t")]
        at = next((names.index(one) for one in ids if one in names), 0)

        def of_fields(line: str) -> bool:
            fields = line.split("\t", at + 1)
            return len(fields) <= at or fields[at].strip(" \r\n\v\f").strip('"') in wanted_ids

        return of_fields
    return None
