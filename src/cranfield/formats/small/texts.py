"""Texts: reads texts of queries or documents, by id: TREC topics, tables, JSON lines, dicts."""

import html
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from cranfield.errors import InputError
from cranfield.formats.columnar import detect_columnar_format
from cranfield.formats.columns import NAMES, plain_name
from cranfield.formats.identifiers import escape_surrogates, to_id_text
from cranfield.formats.objects import as_dict
from cranfield.formats.small.read import (
    NestedObject,
    ReadLines,
    Table,
    TableForm,
    first_character,
    read_table,
    read_text_rows,
)
from cranfield.formats.small.text_lines import read_file_lines, read_utf8_lines, require_utf8
from cranfield.formats.source import Source

# A file, files, a dict {id: text}, or a table, or rows, with a column of ids and one of texts.
TextsLike: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any] | Iterable[Any]

QUERY_TEXT, DOC_TEXT = "query_text", "document_text"  # columns of texts beside ids
_TITLES = ("title", "name", "topic")
_TEXTS = (  # the names of columns of texts, also of titles: the first that is not empty counts
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
    id_names = [name for name in NAMES[role] if name not in _TEXTS]  # `query` may be a text
    return [*dict.fromkeys([*id_names, "_id", "id", *NAMES[role], *NAMES["query"], *NAMES["doc"]])]


_ID_NAMES: Mapping[IdRole, Sequence[str]] = {role: _id_columns(role) for role in get_args(IdRole)}


class Texts(dict[str, str]):
    """{id: text}; `columns` says which columns of tables they were read from, "" where of none."""

    columns = ""

    def name_columns(self) -> str:
        """Return a sentence on the columns, after a blank, where no text was found; else ""."""
        return f" Read were {self.columns}." if self.columns and not self else ""


def read_texts(
    data: Any,
    ids: Collection[str],
    title: str = "the texts",
    *,
    role: IdRole = "query",
    with_titles: bool = False,
    mend: Callable[[str], str] = escape_surrogates,
) -> Texts:
    """Return {id: text} for the `ids` that have a text; white space becomes one blank.

    `role`: whose usual names of the column of ids are searched for first. `title` is the data's
    name in errors. `data` is a file, a table in memory, rows, or a dict {id: text}, or {id:
    {"title": ...}}, or a list of files. A file is TREC topics, a table with a column of ids and one
    of texts (or two columns without names), JSON lines, or a JSON object {id: text}. Of a row's
    texts, the first in `_TEXTS` that is not empty counts, `title` before others; `with_titles`: a
    title and another text, if there are both, joined by a colon. In JSON lines, and in
    tab-separated files that begin without quotation marks, lines of other ids are not checked. Of
    an id's rows, the first counts.
    `mend` changes texts, so that files can hold them.

    Raises InputError for data without texts, or with a fault.

    >>> read_texts({"q1": "read a  CSV file", "q2": "sort"}, ["q1"])
    {'q1': 'read a CSV file'}
    """
    requested_ids = {*ids}
    text_of_id, tables = Texts(), list[str]()
    for text_id, texts_of_fields in _read_pairs(data, requested_ids, title, role, tables):
        mended_texts = ((field, mend(text)) for field, text in texts_of_fields)
        text_of_field = {field: text for field, text in mended_texts if text}
        if text_id in requested_ids and text_of_field:
            titles = [text for field, text in text_of_field.items() if field in _TITLES]
            other_texts = [text for field, text in text_of_field.items() if field not in _TITLES]
            all_texts = [*text_of_field.values()]
            parts = [*titles[:1], *other_texts[:1]] if with_titles else all_texts[:1]
            text_of_id.setdefault(text_id, ": ".join(parts))
    text_of_id.columns = "; ".join(dict.fromkeys(tables))
    return text_of_id


_TextsOfFields = list[tuple[str, str]]  # the name of the field, the text, which may be empty


def _read_pairs(
    data: Any, requested_ids: Set[str], title: str, role: IdRole, tables: list[str]
) -> Iterator[tuple[str, _TextsOfFields]]:
    """Yield each id with its texts, ordered as `_TEXTS`; add to `tables` which columns are read."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | os.PathLike):
        for path in data:
            yield from _read_pairs(path, requested_ids, title, role, tables)
        return
    names, id_names = ("id", "text"), _ID_NAMES[role]
    form = TableForm(title, names, id_names, bare_description="an id and its text,", hint=_HINT)
    if isinstance(data, Mapping):
        for text_id, member in as_dict(data, title).items():
            yield to_id_text(text_id, title), _list_texts(member)
        return
    source = Source(data) if isinstance(data, str | os.PathLike) else None
    if source is None or detect_columnar_format(source, source.read_start(4096)) is not None:
        table = read_table(data, form)
    else:
        read_lines = _choose_lines(source, requested_ids, id_names)
        if first_character(read_lines) == "<":
            text = "".join(line for _, line in read_lines())
            for text_id, topic_title in _read_topics(text, source.name):
                yield text_id, [("title", topic_title)]
            return
        table = read_text_rows(source.name, read_lines, form)
    if isinstance(table, NestedObject):
        yield from (
            (str(text_id), _list_texts(member)) for text_id, member in table.members.items()
        )
    else:
        yield from _read_table_texts(table, requested_ids, role, tables)


def _read_table_texts(
    table: Table, requested_ids: Set[str], role: IdRole, tables: list[str]
) -> Iterator[tuple[str, _TextsOfFields]]:
    """Yield the id of each row of a table with the row's texts; InputError without such columns.

    In a run whose documents are called `url`, the first column with a requested id has the ids.
    """
    if not table.n_rows:
        return
    id_position = 0 if table.is_headless else table.find_query_column(_ID_NAMES[role])
    if plain_name(table.names[id_position]) in NAMES["query" if role == "doc" else "doc"]:
        for i, _ in table.other_columns([id_position]):
            if not requested_ids.isdisjoint(map(str, table.columns[i])):
                id_position = i
                break
    text_columns = table.other_columns([id_position])
    text_positions = [
        i for name in _TEXTS for i, column_name in text_columns if plain_name(column_name) == name
    ]
    if table.is_headless or (not text_positions and len(text_columns) == 1):
        text_positions = [i for i, _ in text_columns]
    if not text_positions:
        raise table.row_error(
            None,
            f"has no column of texts; it has {', '.join(table.names):.200}",
            f"Name it, for example, {', '.join(_TEXTS[:4])}.",
        )
    text_names = ", ".join(table.names[i] for i in text_positions)
    tables.append(f"ids from column {table.names[id_position]}, texts from {text_names}")
    for row, cells in enumerate(table.rows()):
        texts = [(plain_name(table.names[i]), _to_one_line(cells[i])) for i in text_positions]
        yield table.read_id(row, cells[id_position]), texts


def _list_texts(member: Any) -> _TextsOfFields:
    """Return (name, text) of a text, or of the text fields of an object; texts may be empty."""
    if not isinstance(member, Mapping):
        return [("text", _to_one_line(member))]
    return [(name, _to_one_line(member.get(name))) for name in _TEXTS]


def _to_one_line(cell: Any) -> str:
    """Return a text or a number as a text in one line; an empty text for any other cell."""
    return " ".join(str(cell).split()) if isinstance(cell, str | int | float) else ""


def clean_text(text: str) -> str:
    """Return a text in one line, without control characters, halves of surrogate pairs as U+FFFD.

    >>> clean_text("a" + chr(0) + " b")
    'a b'
    """
    return " ".join(_CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text)).split())


_CONTROLS, _SURROGATES = re.compile(r"[\x00-\x1f\x7f-\x9f]"), re.compile("[\ud800-\udfff]")


_LONG_REFERENCE = re.compile(r"&(?=#[0-9]{100})")  # no character's: read as the text that it is


def _read_topics(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield each topic's number and title, or else another of `_TEXTS`, in one line.

    Topics are `<top>` with `<num>`, `<topic number=...>`, or `<query id=...>`; without a number,
    they are left out. Raises InputError for a text without topics. `name` is the file's in errors.
    """
    parts = re.findall(r"<(top|topic|query)\b([^<>]*)>(.*?)(?=</\1>|<\1\b|\Z)", text, re.S | re.I)
    topics = [topic for topic in parts if topic[0].lower() != "query"] or parts
    n_topics = 0
    for _, attributes, inside in topics:
        match = re.search(r"\b(?:number|num|id|qid)\s*=\s*[\"']([^\"']+)", attributes)
        number_tag = r"<(?:num|number|id|qid)>\s*+(?:number:)?\s*+([^\s<]+)"
        match = match or re.search(number_tag, inside, re.I)
        if match is None:
            continue
        n_topics += 1
        matches = (re.search(rf"<{field}>(.*?)(?=<|\Z)", inside, re.S | re.I) for field in _TEXTS)
        title = next((match[1] for match in matches if match and match[1].strip()), "")
        title = html.unescape(_LONG_REFERENCE.sub("&amp;", title))
        title = re.sub(r"^\s*(?:topic|description):\s*", "", title, flags=re.I)
        yield match[1].strip(), _to_one_line(title)
    if not n_topics:
        raise InputError("holds no topic with a number", source=name, hint=_HINT)


def _choose_lines(source: Source, requested_ids: Set[str], id_names: Sequence[str]) -> ReadLines:
    """Return a function that reads a file's lines, without most other ids' if a line is a row."""
    lines = read_file_lines(source)
    first_line = next(lines, (1, ""))
    may_hold_id = _make_line_test(first_line[1], requested_ids, id_names)
    if may_hold_id is None:
        return partial(read_utf8_lines, source)
    requested_lines = [first_line, *(line for line in lines if may_hold_id(line[1]))]
    return lambda: (require_utf8(source, line) for line in requested_lines)


def _make_line_test(
    first: str, requested_ids: Iterable[str], id_names: Sequence[str]
) -> Callable[[str], bool] | None:
    """Return a test whether a line may have a requested id, from the first line of a file.

    None unless it shows JSON lines, or fields with tabs and without quotation marks.
    """
    id_set = set(requested_ids)
    if first.lstrip()[:1] == "{":
        try:
            own_names = {plain_name(name): name for name in json.loads(first)}
        except ValueError:  # an object that continues
            return None
        # The id at the beginning of a line, as in all lines of BEIR's files.
        key = re.escape(next((own_names[name] for name in id_names if name in own_names), "_id"))
        first_id = re.compile(r'\s*\{\s*"' + key + r'"\s*:\s*"([^"\\]*)"\s*[,}]')
        spellings = {*id_set, *(json.dumps(name)[1:-1] for name in id_set)}
        # An escaped character may be spelled in many ways.
        pattern = re.compile("|".join([*map(re.escape, sorted(spellings)), r"\\u|\\/"]))

        def may_hold_object(line: str) -> bool:
            match = first_id.match(line)
            return match[1] in id_set if match else pattern.search(line) is not None

        return may_hold_object
    if "\t" in first and '"' not in first and first.lstrip()[:1] not in ("[", "<"):
        names = [plain_name(name) for name in first.split("\t")]
        position = next((names.index(name) for name in id_names if name in names), 0)

        def may_hold_fields(line: str) -> bool:
            fields = line.split("\t", position + 1)
            if len(fields) <= position:
                return True
            return fields[position].strip(" \r\n\v\f").strip('"') in id_set

        return may_hold_fields
    return None
