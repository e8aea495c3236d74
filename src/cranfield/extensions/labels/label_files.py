"""Label files: reads labels of documents from tables and the JSON of Label Studio and Argilla.

Also writes documents to label as tasks for these two tools.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from cranfield.data.judges import PERSON, Judge
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, ColumnsLike, Side
from cranfield.formats.identifiers import escape_surrogates
from cranfield.formats.small.read import NestedObject, Origin, Table, TableForm, read_table
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT
from cranfield.formats.stated_columns import record_names, rename_columns

QUERY, DOC, GRADE = (COLUMNS[role].public for role in ("query", "doc", "grade"))
# Columns that say how a document was drawn; they go with its label.
DRAWING: Sequence[Role] = ("stratum", "probability", "query_probability")
# Names of the column that says who labelled a document.
ASSESSOR = ("assessor", "annotator", "assessor_id", "annotator_id", "rater", "labeler", "labeller")
_FORM = TableForm("the labels", (QUERY, DOC, GRADE), header_names=tuple(COLUMNS["query"].names))
_HINT = (
    f"Labels are a table with the columns {QUERY}, {DOC} and {GRADE}, or the JSON that Label "
    "Studio or Argilla exports."
)


class Label(NamedTuple):
    """One person's label of a document, or a document that has no label yet."""

    origin: Origin  # what it was read from
    row: int  # from 0
    query: str
    doc: str
    label: Any = None  # as it was given; None where it is missing
    assessor: str | None = None
    drawing: Mapping[Role, Any] = MappingProxyType({})
    is_discarded: bool = False  # whether the person refused to label it
    problem: str | None = None  # why it cannot be a label
    judge: Judge = PERSON  # who gave it
    reason: str = ""  # of a model


def read_labels(source: Any, columns: ColumnsLike | None = None) -> list[Label]:
    """Read labels from a file, a table, or rows, with stated columns; see `Label`.

    Of what Label Studio exports as JSON, a task is a row for each of its annotations, the oldest
    first; of Argilla, a record for each of its responses; without any, one row without a label. If
    several questions have answers, the one named `relevance` counts.

    Raises InputError for data of another form, for a row without query or document, and for several
    questions of which none has that name.
    """
    table = read_table(source, _FORM)
    if isinstance(table, NestedObject):
        raise table.row_error(None, "holds no labels of documents", _HINT)
    if "data" in table.names and QUERY not in table.names:
        return list(_read_label_studio(table))
    if {"fields", "responses"} <= {*table.names}:
        return list(_read_argilla(table))
    record_names(table.names, table.name, Side.QRELS, columns)
    table.names = rename_columns(table.names, Side.QRELS, columns)
    return list(_read_table_rows(table))


def _read_table_rows(table: Table) -> Iterator[Label]:
    """Yield the labels of a table; a row without query, document and label is left out."""
    if not table.n_rows:
        return
    columns: list[int] = []
    for name, role in ((QUERY, "query"), (DOC, "doc"), (GRADE, "grade")):
        column = table.find_column(COLUMNS[role].names)
        if column is None:
            names = ", ".join(filter(None, table.names))
            raise table.row_error(None, f"has no column {name}; it has {names:.200}", _HINT)
        columns.append(column)
    column_of_role = {role: table.find_column(COLUMNS[role].names) for role in DRAWING}
    assessor_column = table.find_column(ASSESSOR)
    for row, cells in enumerate(table.rows()):
        query, doc, grade = (cells[column] for column in columns)
        if all(_strip_cell(cell) is None for cell in (query, doc, grade)):
            continue  # as a spreadsheet leaves below the last row
        label, problem = _read_label(grade)
        drawing = {
            role: None if column is None else _strip_cell(cells[column])
            for role, column in column_of_role.items()
        }
        yield Label(
            table,
            row,
            table.read_id(row, query),
            table.read_id(row, doc),
            label,
            None if assessor_column is None else _read_assessor(cells[assessor_column]),
            {role: cell for role, cell in drawing.items() if cell is not None},
            problem=problem,
        )


class _Annotation(NamedTuple):
    """An annotation of Label Studio, and its answers: {name of the question: answers}."""

    fields: Mapping[str, Any]
    answers: Mapping[str, list[Any]]

    def sort_key(self) -> str:
        """Return when the annotation was made or changed."""
        return str(self.fields.get("updated_at") or self.fields.get("created_at"))


def _read_label_studio(table: Table) -> Iterator[Label]:
    """Yield a label for each annotation of a task, or the task without a label."""
    column = table.find_column(["annotations"])
    cells = [None] * table.n_rows if column is None else table.columns[column]
    data_column = table.columns[table.names.index("data")]
    tasks = [_unlabelled_row(table, row, data) for row, data in enumerate(data_column)]
    annotation_lists = [_list_annotations(table, row, cell) for row, cell in enumerate(cells)]
    answers = (annotation.answers for annotations in annotation_lists for annotation in annotations)
    question = _find_question(table, answers)
    for task, annotations in zip(tasks, annotation_lists, strict=True):
        if not annotations:
            yield task
        for fields, answers_of_question in annotations:
            is_discarded = bool(fields.get("was_cancelled"))
            answer = None if is_discarded else answers_of_question.get(question)
            label, problem = _read_label(answer)
            assessor = _read_assessor(fields.get("completed_by"))
            yield task._replace(
                label=label, assessor=assessor, is_discarded=is_discarded, problem=problem
            )


def _list_annotations(table: Table, row: int, cell: Any) -> list[_Annotation]:
    """Return the annotations of a task, the oldest first."""
    annotations = []
    for fields in _list_objects(table, row, cell, "an annotation"):
        answers: dict[str, list[Any]] = {}
        results = _list_objects(table, row, fields.get("result"), "a result of an annotation")
        for answer in results:
            answers.setdefault(str(answer.get("from_name")), []).append(answer.get("value"))
        annotations.append(_Annotation(fields, answers))
    return sorted(annotations, key=_Annotation.sort_key)


def _list_objects(
    table: Table, row: int, cell: Any, description: str
) -> Sequence[Mapping[str, Any]]:
    """Return a list of JSON objects, empty for None; InputError for anything else.

    `description` says what an object is, for the error.
    """
    objects = [] if cell is None else cell
    if not isinstance(objects, list) or not all(isinstance(member, Mapping) for member in objects):
        problem = f"expected {description}, an object in a list, got {cell!r:.80}"
        raise table.row_error(row, problem, _HINT)
    return objects


def _read_argilla(table: Table) -> Iterator[Label]:
    """Yield a label for each response to a record, None unless submitted; or the record alone."""
    if "metadata" not in table.names:
        fault = "a record has no metadata, which name its query and document"
        raise table.row_error(0, fault, _HINT)
    metadata, responses = (
        table.columns[table.names.index(name)] for name in ("metadata", "responses")
    )
    for row, answers in enumerate(responses):
        if not isinstance(answers or {}, Mapping):
            raise table.row_error(row, f"expected answers by question, got {answers!r:.80}", _HINT)
    question = _find_question(table, (answers or {} for answers in responses))
    for row, (metadata_of_row, answers) in enumerate(zip(metadata, responses, strict=True)):
        task = _unlabelled_row(table, row, metadata_of_row)
        cell = (answers or {}).get(question)
        for response in _list_objects(table, row, cell, "a response") or [{}]:
            is_final = response.get("status") in (None, "submitted")
            label, problem = _read_label(response.get("value") if is_final else None)
            yield task._replace(
                label=label,
                assessor=_read_assessor(response.get("user_id")),
                is_discarded=response.get("status") == "discarded",
                problem=problem,
            )


def _unlabelled_row(table: Table, row: int, data: Any) -> Label:
    """Return the document of a task or record, without a label."""
    if not isinstance(data, Mapping) or QUERY not in data or DOC not in data:
        raise table.row_error(row, f"a task does not name its {QUERY} and {DOC}, got {data!r:.80}")
    query, doc = (table.read_id(row, data[name]) for name in (QUERY, DOC))
    return Label(table, row, query, doc)


def _find_question(table: Table, answers: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the question whose answers are labels: `relevance`, or the only one."""
    names = [*dict.fromkeys(name for question_answers in answers for name in question_answers)]
    if GRADE in names or not names:
        return GRADE
    if len(names) > 1:
        problem = f"several questions have an answer: {', '.join(names):.80}"
        raise table.row_error(None, problem, f"Name the one that counts {GRADE!r}.")
    return names[0]


def _read_label(raw_label: Any) -> tuple[Any, str | None]:
    """Return a label (number, text or None: missing) and None; or None and what is wrong with it.

    Label Studio has a list, such as {"choices": ["2"]}, or {"rating": 2}.
    """
    cell = raw_label
    while isinstance(cell, Mapping | list | tuple):
        cells = list(cell.values()) if isinstance(cell, Mapping) else list(cell)
        if len(cells) > 1:
            return None, f"expected one label, got {raw_label!r:.80}"
        cell = cells[0] if cells else None
    return _strip_cell(cell), None


def _strip_cell(cell: Any) -> Any:
    """Return a cell without white space around; None if it is empty or NaN."""
    if isinstance(cell, str):
        cell = cell.strip() or None
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _read_assessor(person: Any) -> str | None:
    """Return the name of a person: Label Studio has a number, or {"id": 1, "email": "..."}."""
    if isinstance(person, Mapping):
        person = next(
            (person[name] for name in ("email", "username", "id") if person.get(name)), None
        )
    return None if _strip_cell(person) is None else escape_surrogates(str(person))


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
    empty_parts: dict[str, Any] = {"suggestions": {}, "responses": {}, "vectors": {}}
    return [
        {
            "id": json.dumps([row[QUERY], row[DOC]]),
            "fields": {
                "query": row.get(QUERY_TEXT) or row[QUERY],
                "document": row.get(DOC_TEXT) or row[DOC],
            },
            "metadata": _row_ids(row),
            **empty_parts,
        }
        for row in rows
    ]


def _row_ids(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: row[name] for name in (QUERY, DOC)}


def _row_texts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a row that has columns of texts; its ids where a text is empty."""
    id_column_of_text = {QUERY_TEXT: QUERY, DOC_TEXT: DOC}
    return {
        text_column: row[text_column] or row[id_column]
        for text_column, id_column in id_column_of_text.items()
        if text_column in row
    }
