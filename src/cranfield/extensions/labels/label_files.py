"""Labels that people gave to documents: tables, and the JSON of Label Studio and of Argilla."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS
from cranfield.formats.identifiers import escape_surrogates
from cranfield.formats.small.read import NestedObject, TableForm, Origin, Table, read_table
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT

QUERY, DOC, GRADE = (COLUMNS[role].public for role in ("query", "doc", "grade"))
# What tells how a document was drawn, and is kept beside its label.
DRAWING: Sequence[Role] = ("stratum", "probability", "query_probability")
ASSESSOR = ("assessor", "annotator", "assessor_id", "annotator_id", "rater", "labeler", "labeller")
_FORM = TableForm("the labels", (QUERY, DOC, GRADE), header_names=tuple(COLUMNS["query"].names))
_HINT = (
    f"Labels are a table with the columns {QUERY}, {DOC} and {GRADE}, or the JSON that Label "
    "Studio or Argilla exports."
)


class Label(NamedTuple):
    """What one person said of one document, or that nobody said anything yet."""

    origin: Origin
    row: int
    query: str
    doc: str
    label: Any = None  # as it was given; None where it is missing
    assessor: str | None = None
    drawing: Mapping[Role, Any] = MappingProxyType({})
    is_discarded: bool = False  # the person left it out, and said so
    problem: str | None = None  # why it cannot be a label


def read_labels(source: Any) -> list[Label]:
    """Return the labels in a table, a file, or rows; see `Label`.

    Of what Label Studio exports as JSON, a task is a row for each of its annotations, the oldest
    first; of Argilla, a record for each of its responses; without any, one row without a label. If
    several questions have answers, the one named `relevance` counts.

    Raises InputError for data of another form, for a row without query or document, and for several
    questions of which none has that name.
    """
    found = read_table(source, _FORM)
    if isinstance(found, NestedObject):
        raise found.row_error(None, "holds no labels of documents", _HINT)
    if "data" in found.names and QUERY not in found.names:
        return list(_read_label_studio(found))
    if {"fields", "responses"} <= {*found.names}:
        return list(_read_argilla(found))
    return list(_read_table_rows(found))


def _read_table_rows(table: Table) -> Iterator[Label]:
    if not table.n_rows:
        return
    places = {
        name: table.find_column(COLUMNS[role].names)
        for name, role in ((QUERY, "query"), (DOC, "doc"), (GRADE, "grade"))
    }
    for name, place in places.items():
        if place is None:
            shown = ", ".join(table.names)
            raise table.row_error(None, f"has no column {name}; it has {shown:.200}", _HINT)
    drawing = {role: at for role in DRAWING if (at := table.find_column(COLUMNS[role].names)) is not None}
    who = table.find_column(ASSESSOR)
    for row, values in enumerate(table.rows()):
        query, doc, value = (values[at] for at in places.values() if at is not None)
        if all(_strip_cell(one) is None for one in (query, doc, value)):
            continue  # as a spreadsheet leaves below the last row
        label, problem = _read_label(value)
        yield Label(
            *(table, row, table.read_id(row, query), table.read_id(row, doc), label),
            None if who is None else _read_assessor(values[who]),
            {role: one for role, at in drawing.items() if (one := _strip_cell(values[at])) is not None},
            problem=problem,
        )


def _read_label_studio(table: Table) -> Iterator[Label]:
    data = table.columns[table.names.index("data")]
    at = table.find_column(["annotations"])
    annotated = [None] * table.n_rows if at is None else table.columns[at]
    tasks = [_unlabelled_row(table, row, about) for row, about in enumerate(data)]
    parts = [_list_annotations(table, row, several) for row, several in enumerate(annotated)]
    question = _find_question(table, (names for several in parts for _, names in several))
    for first, several in zip(tasks, parts, strict=True):
        if not several:
            yield first
        for one, answers in several:
            discarded = bool(one.get("was_cancelled"))
            label, problem = _read_label(None if discarded else answers.get(question))
            who = _read_assessor(one.get("completed_by"))
            yield first._replace(label=label, assessor=who, discarded=discarded, problem=problem)


_Answers = Mapping[str, list[Any]]  # by the name of the question


def _list_annotations(table: Table, row: int, several: Any) -> list[tuple[Mapping[str, Any], _Answers]]:
    """Return the annotations of a task, the oldest first, each with its answers."""
    found = []
    for one in _list_objects(table, row, several, "an annotation"):
        answers: dict[str, list[Any]] = {}
        for part in _list_objects(table, row, one.get("result"), "a result of an annotation"):
            answers.setdefault(str(part.get("from_name")), []).append(part.get("value"))
        found.append((one, answers))
    return sorted(found, key=lambda it: str(it[0].get("updated_at") or it[0].get("created_at")))


def _list_objects(table: Table, row: int, value: Any, what: str) -> Sequence[Mapping[str, Any]]:
    """Return a list of objects in JSON, empty where there is none; InputError for another value."""
    objects = [] if value is None else value
    if not isinstance(objects, list) or not all(isinstance(one, Mapping) for one in objects):
        raise table.row_error(row, f"expected {what}, an object in a list, got {value!r:.80}", _HINT)
    return objects


def _read_argilla(table: Table) -> Iterator[Label]:
    if "metadata" not in table.names:
        raise table.row_error(0, "a record has no metadata, which name its query and document", _HINT)
    metadata, responses = (table.columns[table.names.index(x)] for x in ("metadata", "responses"))
    for row, answers in enumerate(responses):
        if not isinstance(answers or {}, Mapping):
            raise table.row_error(row, f"expected answers by question, got {answers!r:.80}", _HINT)
    question = _find_question(table, (answers or {} for answers in responses))
    for row, (about, answers) in enumerate(zip(metadata, responses, strict=True)):
        first = _unlabelled_row(table, row, about)
        for one in _list_objects(table, row, (answers or {}).get(question), "a response") or [{}]:
            is_final = one.get("status") in (None, "submitted")
            label, problem = _read_label(one.get("value") if is_final else None)
            yield first._replace(
                label=label,
                assessor=_read_assessor(one.get("user_id")),
                discarded=one.get("status") == "discarded",
                problem=problem,
            )


def _unlabelled_row(table: Table, row: int, about: Any) -> Label:
    """Return the row of a task without a label."""
    if not isinstance(about, Mapping) or QUERY not in about or DOC not in about:
        raise table.row_error(row, f"a task does not name its {QUERY} and {DOC}, got {about!r:.80}")
    query, doc = (table.read_id(row, about[name]) for name in (QUERY, DOC))
    return Label(table, row, query, doc)


def _find_question(table: Table, answers: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the question whose answers are labels: `relevance`, or the only one."""
    names = [*dict.fromkeys(name for one in answers for name in one)]
    if GRADE in names or not names:
        return GRADE
    if len(names) > 1:
        problem = f"several questions have an answer: {', '.join(names):.80}"
        raise table.row_error(None, problem, f"Name the one that counts {GRADE!r}.")
    return names[0]


def _read_label(value: Any) -> tuple[Any, str | None]:
    """Return one label, a number or a text, None for an empty cell; or what is wrong with it.

    Label Studio has a list, such as {"choices": ["2"]}, or {"rating": 2}.
    """
    found = value
    while isinstance(found, Mapping | list | tuple):
        inside = list(found.values()) if isinstance(found, Mapping) else list(found)
        if len(inside) > 1:
            return None, f"expected one label, got {value!r:.80}"
        found = inside[0] if inside else None
    return _strip_cell(found), None


def _strip_cell(cell: Any) -> Any:
    """Return what a cell holds; None if it is empty."""
    if isinstance(cell, str):
        cell = cell.strip() or None
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _read_assessor(who: Any) -> str | None:
    """Return the name of a person: Label Studio has a number, or {"id": 1, "email": "..."}."""
    if isinstance(who, Mapping):
        who = next((who[name] for name in ("email", "username", "id") if who.get(name)), None)
    return None if _strip_cell(who) is None else escape_surrogates(str(who))


# ---- tasks for labelling tools ------------------------------------------------------------------


def label_studio_tasks(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as tasks of Label Studio: ids, and texts where rows have them.

    How a document was drawn is not there: it would show people what is ranked high.

    >>> label_studio_tasks([{"query_id": "q1", "doc_id": "d1", "relevance": None}])
    [{'data': {'query_id': 'q1', 'doc_id': 'd1'}}]
    """
    return [{"data": {**_row_ids(row), **_row_texts(row)}} for row in rows]


def argilla_records(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as records of Argilla 2: fields `query` and `document`, ids as metadata.

    A field is the text, or the id where there is no text.

    >>> argilla_records([{"query_id": "q1", "doc_id": "d1", "relevance": None}])[0]["fields"]
    {'query': 'q1', 'document': 'd1'}
    """
    nothing: dict[str, Any] = {"suggestions": {}, "responses": {}, "vectors": {}}
    return [
        {
            "id": json.dumps([row[QUERY], row[DOC]]),
            "fields": {
                "query": row.get(QUERY_TEXT) or row[QUERY],
                "document": row.get(DOC_TEXT) or row[DOC],
            },
            "metadata": _row_ids(row),
            **nothing,
        }
        for row in rows
    ]


def _row_ids(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: row[name] for name in (QUERY, DOC)}


def _row_texts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a row that has such columns, or the ids where there is no text."""
    beside = {QUERY_TEXT: QUERY, DOC_TEXT: DOC}
    return {text: row[text] or row[of] for text, of in beside.items() if text in row}
