"""Labels that people gave to documents: tables, and the JSON of Label Studio and of Argilla."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS
from cranfield.formats.small.read import Document, Form, Origin, Table, read_table

QUERY, DOC, GRADE = (COLUMNS[role].public for role in ("query", "doc", "grade"))
# What tells how a document was drawn, and is kept beside its label.
DRAWING: Sequence[Role] = ("stratum", "probability", "query_probability")
ASSESSOR = ("assessor", "annotator", "assessor_id", "annotator_id", "rater", "labeler", "labeller")
_TEXT_FIELDS = {"query": ("query_text", QUERY), "document": ("document_text", DOC)}
_FORM = Form("the labels", (QUERY, DOC, GRADE), known=tuple(COLUMNS["query"].names))
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
    label: Any  # as it was given; None where it is missing
    assessor: str | None
    drawing: Mapping[Role, Any]
    discarded: bool = False  # the person left it out, and said so


def labels_in(data: Any) -> list[Label]:
    """Return the labels in a table, a file, or rows; see `Label`.

    Of what Label Studio exports as JSON, a task is a row for each of its annotations, of Argilla a
    record for each of its responses; without any, one row without a label. Of several questions,
    the one named `relevance` counts.

    Raises InputError for data of another form, and for a row without query or document.
    """
    found = read_table(data, _FORM)
    if isinstance(found, Document):
        raise found.error(None, "holds no labels of documents", _HINT)
    if {"annotations", "data"} <= {*found.names}:
        return list(_of_label_studio(found))
    if {"fields", "responses"} <= {*found.names}:
        return list(_of_argilla(found))
    return list(_of_table(found))


def _of_table(table: Table) -> Iterator[Label]:
    if not table.n_rows:
        return
    places = {
        name: table.place(COLUMNS[role].names)
        for name, role in ((QUERY, "query"), (DOC, "doc"), (GRADE, "grade"))
    }
    for name, place in places.items():
        if place is None:
            shown = ", ".join(table.names)
            raise table.error(None, f"has no column {name}; it has {shown:.200}", _HINT)
    drawing = {role: at for role in DRAWING if (at := table.place(COLUMNS[role].names)) is not None}
    who = table.place(ASSESSOR)
    for row, values in enumerate(table.rows()):
        query, doc, label = (values[at] for at in places.values() if at is not None)
        yield Label(
            table,
            row,
            table.id_of(row, query),
            table.id_of(row, doc),
            _one(table, row, label),
            None if who is None else _name(values[who]),
            {role: values[at] for role, at in drawing.items()},
        )


def _of_label_studio(table: Table) -> Iterator[Label]:
    places = [table.names.index(name) for name in ("data", "annotations")]
    for row, values in enumerate(table.rows()):
        about, annotations = (values[at] for at in places)
        first = _begun(table, row, about)
        annotations = annotations or []
        if not annotations:
            yield first
        for one in annotations:
            if not isinstance(one, Mapping):
                raise table.error(row, f"expected an annotation, got {one!r:.80}", _HINT)
            discarded = bool(one.get("was_cancelled"))
            results = {
                str(part.get("from_name")): part.get("value")
                for part in one.get("result") or []
                if isinstance(part, Mapping)
            }
            label = None if discarded else _one(table, row, _named(table, row, results))
            yield first._replace(
                label=label, assessor=_name(one.get("completed_by")), discarded=discarded
            )


def _of_argilla(table: Table) -> Iterator[Label]:
    of = {
        name: table.names.index(name) for name in ("metadata", "responses") if name in table.names
    }
    if "metadata" not in of:
        raise table.error(0, "a record has no metadata, which name its query and document", _HINT)
    for row, values in enumerate(table.rows()):
        first = _begun(table, row, values[of["metadata"]])
        responses = _named(table, row, values[of["responses"]] or {})
        for one in responses or [{}]:
            if not isinstance(one, Mapping):
                raise table.error(row, f"expected a response, got {one!r:.80}", _HINT)
            discarded = one.get("status") == "discarded"
            label = None if discarded else _one(table, row, one.get("value"))
            yield first._replace(
                label=label, assessor=_name(one.get("user_id")), discarded=discarded
            )


def _begun(table: Table, row: int, about: Any) -> Label:
    """Return the row of a task without a label."""
    if not isinstance(about, Mapping) or QUERY not in about or DOC not in about:
        raise table.error(row, f"a task does not name its {QUERY} and {DOC}, got {about!r:.80}")
    drawing = {
        role: about[COLUMNS[role].public] for role in DRAWING if COLUMNS[role].public in about
    }
    query, doc = (table.id_of(row, about[name]) for name in (QUERY, DOC))
    return Label(table, row, query, doc, None, None, drawing)


def _named(table: Table, row: int, answers: Any) -> Any:
    """Return the answer to the question `relevance`, or to the only one; None without any."""
    if not isinstance(answers, Mapping):
        raise table.error(row, f"expected answers by question, got {answers!r:.80}", _HINT)
    if GRADE in answers or not answers:
        return answers.get(GRADE)
    if len(answers) > 1:
        problem = f"several questions have an answer: {', '.join(map(str, answers)):.80}"
        raise table.error(row, problem, f"Name the one that counts {GRADE!r}.")
    return next(iter(answers.values()))


def _one(origin: Origin, row: int, value: Any) -> Any:
    """Return one label: a number or a text; None for an empty cell.

    Label Studio has a list, such as {"choices": ["2"]}, or {"rating": 2}.
    """
    found = value
    while isinstance(found, Mapping | list | tuple):
        inside = list(found.values()) if isinstance(found, Mapping) else list(found)
        if len(inside) > 1:
            raise origin.error(row, f"expected one label, got {value!r:.80}")
        found = inside[0] if inside else None
    if isinstance(found, str):
        found = found.strip() or None
    return None if isinstance(found, float) and math.isnan(found) else found


def _name(who: Any) -> str | None:
    """Return the name of a person: Label Studio has a number, or {"id": 1, "email": "..."}."""
    if isinstance(who, Mapping):
        who = next((who[name] for name in ("email", "username", "id") if who.get(name)), None)
    return None if who is None or who == "" else str(who)


# ---- tasks for labelling tools ------------------------------------------------------------------


def label_studio_tasks(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as tasks of Label Studio: all of a row but its label is data.

    >>> label_studio_tasks([{"query_id": "q1", "doc_id": "d1", "relevance": None}])
    [{'data': {'query_id': 'q1', 'doc_id': 'd1'}}]
    """
    return [{"data": {name: one for name, one in row.items() if name != GRADE}} for row in rows]


def argilla_records(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as records of Argilla 2: fields `query` and `document`, ids as metadata.

    A field is the text, or the id where there is none.

    >>> argilla_records([{"query_id": "q1", "doc_id": "d1", "relevance": None}])[0]["fields"]
    {'query': 'q1', 'document': 'd1'}
    """
    texts = [name for names in _TEXT_FIELDS.values() for name in names[:1]]
    return [
        {
            "id": json.dumps([row[QUERY], row[DOC]]),
            "fields": {
                field: next(filter(None, map(row.get, names)))
                for field, names in _TEXT_FIELDS.items()
            },
            "metadata": {name: one for name, one in row.items() if name not in (GRADE, *texts)},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }
        for row in rows
    ]
