"""Objects: judgments and runs as dicts and lists, checked, as {query: {document: number}}."""

import math
import sys
from collections.abc import Collection, Iterable, KeysView, Mapping, Set
from typing import Any

import numpy as np

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import LARGEST_GRADE, ListKind, duplicate_hint
from cranfield.formats.columns import NAMES, Side, plain_name
from cranfield.formats.identifiers import are_ids, with_text_ids
from cranfield.formats.shapes import is_sequence, kind_of, kinds_in, to_list
from cranfield.formats.values import to_grades
from cranfield.options import is_whole_number

DocsOfQuery = dict[str, dict[str, Any]]

#: The names of plain lists, for each `Rows.list_kind`.
LIST_DESCRIPTIONS: Mapping[ListKind, str] = {
    "ids": "lists of ids, one for each query",
    "grades": "lists of grades",
}


_TABLE_HINT = "pyarrow.table(...), pandas.DataFrame(...), polars.DataFrame(...)"


def refuse_columns(names: Collection[Any], source: str, hint: str = _TABLE_HINT) -> None:
    """Raise InputError if a dict's keys are names of columns, which could be read as queries.

    `source` is the dict's name in errors; `hint` says how to write columns.
    """
    if not 2 <= len(names) <= MOST_COLUMNS:
        return
    plain_names = _plain_names(names)
    if not plain_names.isdisjoint(NAMES["query"]) and not plain_names.isdisjoint(NAMES["doc"]):
        name_list = ", ".join(repr(name) for name in names)
        raise InputError(
            f"a dict with the keys {name_list:.200}: are they columns, or queries?",
            source=source,
            hint=f"Write columns as a table: {hint}. The keys of a dict must be queries.",
            kind="columns",
        )


def may_be_columns(names: Collection[Any]) -> bool:
    """Tell whether `names`, a dict's first keys, may be those of columns: few, with one of ids."""
    id_names = {*NAMES["query"], *NAMES["doc"]}
    return len(names) <= MOST_COLUMNS and not id_names.isdisjoint(_plain_names(names))


def _plain_names(names: Collection[Any]) -> set[str]:
    return {plain_name(name) for name in names if isinstance(name, str)}


MOST_COLUMNS = 50  # a dict with more keys has queries


def to_nested(data: Mapping[Any, Any], side: Side) -> DocsOfQuery:
    """Return {query: {document: number}} with text ids.

    In a run, a query may have a list of documents, best first; in judgments, a set or list of
    relevant documents. A dict of dicts with text ids is returned unchanged, not copied.
    """
    name = side.name_in_errors
    data = as_dict(data, name)
    refuse_columns(data, name)
    if {*map(type, data.values())} - {dict}:
        are_rankings = side is Side.RUN and kinds_in(data.values()) != {"dict"}
        data = {
            query: score_by_position(query, docs)
            if are_rankings
            else as_dict(docs, f"{name}: query {query!r}")
            if isinstance(docs, Mapping)
            else grade_by_one(docs, f"query {query!r}: ")
            for query, docs in data.items()
        }
    if are_ids(data) and all(map(are_ids, data.values())):
        return data  # type: ignore[return-value] # every key was checked
    return {
        query: with_text_ids(docs, f"{name}: query {query!r}")
        for query, docs in with_text_ids(data, name).items()
    }


def grade_by_one(docs: object, location: str = "") -> dict[Any, int]:
    """Return {document: 1} for a set or list of relevant documents; `location` begins errors."""
    return dict.fromkeys(_score_positions(docs, "grade", location), 1)


def score_by_position(query: object, ranking: object) -> dict[Any, float]:
    """Return {document: score} for a list, best first: scores that fall with the position."""
    return _score_positions(ranking, "score", f"query {query!r}: ")


def _score_positions(ids: object, number: str, location: str) -> dict[Any, float]:
    """Return {document: minus its position}; DuplicateError for an id that occurs twice.

    `number` is the word for a document's number in errors, "score" or "grade".
    """
    docs = list_docs(ids, number, location)
    score_of_doc = {doc: -float(i) for i, doc in enumerate(docs)}
    if len(score_of_doc) < len(docs):
        repeated_doc = next(doc for doc in score_of_doc if docs.count(doc) > 1)
        hints = [GRADES_HINT] if number == "grade" and all(map(is_whole_number, docs)) else []
        raise DuplicateError(
            f"{location}the document {repeated_doc!r} occurs twice in {ids!r:.80}",
            hint=duplicate_hint(repeated_doc, *hints),
        )
    return score_of_doc


GRADES_HINT = "For lists of grades, write cranfield.grades(...)."


def list_docs(ids: object, number: str, location: str) -> list[Any]:
    """Return a query's relevant documents ("grade"), or its ranking ("score"), as a list of ids.

    Raises InputError for a text, and for no iterable; of a ranking, for a set or a dict, too; for
    values that cannot be keys; and for a mixture of texts and whole numbers, which may be a
    document and its number, or a row.
    """
    is_ranking = number == "score"
    if is_ranking and isinstance(ids, Set) and not isinstance(ids, KeysView):
        raise InputError(
            f"{location}a set has no order, but a run is a ranking: {ids!r:.80}",
            hint="Give a list, best first. Measures of sets accept a set for one list at a time: "
            "SetP(truth, ranking).",
        )
    no_lists = ("text", "table", "records", "dict") if is_ranking else ("text", "table", "records")
    if kind_of(ids) in no_lists or not isinstance(ids, Iterable):
        expected = "{document: grade} or a set of relevant documents"
        expected = "a list of documents, best first" if is_ranking else expected
        hint = "All queries must have a dict {document: score}, or all a list."
        if kind_of(ids) in ("table", "records"):
            hint = "One table has the rows of all queries: pandas.concat(tables.values())."
        problem = f"{location}expected {expected}, got {ids!r:.80}"
        raise InputError(problem, hint=hint if is_ranking or "table" in hint else None)
    docs = list(ids)
    if {"text", "whole number"} <= kinds_in(docs):
        raise InputError(
            f"{location}{docs!r:.80} has texts and whole numbers: are they documents, or one with "
            f"its {number}?",
            hint="Ids in a list must be all texts or all whole numbers. Documents with numbers are "
            f"{{document: {number}}}.",
        )
    try:
        dict.fromkeys(docs)
    except TypeError:
        problem = f"{location}a document's id is a string or a whole number, in {ids!r:.80}"
        hint = "For a list per query on both sides, use evaluate(truths, rankings, measures)."
        if location:
            hint = f"Of pairs, which is the document, which the {number}? {{document: {number}}}; "
            hint += f"of two lists, dict(zip(ids, {number}s))."
        is_nested = kinds_in(docs) <= {"list", "tuple", "array"}
        raise InputError(problem, hint=hint if is_nested else None) from None
    return docs


#: For isinstance(): `dict` comes first, as it is recognised ten times as fast and nearly every
#: mapping is one.
MAPPINGS = (dict, Mapping)


def as_dict(data: Mapping[Any, Any], location: str) -> Mapping[Any, Any]:
    """Return any mapping as a dict; InputError for several tables, or for keys that vary."""
    if isinstance(data, dict) and type(data).__module__ in ("builtins", "collections"):
        return data
    if type(data).__module__.startswith("datasets."):  # Hugging Face's
        tables = ", ".join(repr(name) for name in data)
        raise InputError(
            f"{location}: a {type(data).__name__} of several tables: {tables}",
            hint=f"Give one: load_dataset(..., split={next(iter(data), 'test')!r}).",
        )
    plain_dict = dict(data.items())
    if [*plain_dict] != [*data] or len(plain_dict) != len([*data.values()]):
        raise InputError(
            f"{location}: {type(data).__name__} has other keys, or another number of them, in "
            "items() than in values() or when iterated over",
            hint="Convert it to a dict.",
        )
    return plain_dict


def is_null(grade: Any) -> bool:
    """Tell whether a grade is a null of tables: None, NaN or pandas' NA."""
    if isinstance(grade, float | np.floating):
        return math.isnan(grade)
    return grade is None or grade is getattr(sys.modules.get("pandas"), "NA", None)


def read_grade_list(grades: Any, location: str) -> tuple[dict[str, float], list[str]]:
    """Return {document: grade} and the ranking of documents for a list of grades, best rank first.

    The documents are named "#1", "#2", ... by their ranks; None, or a null of a table, is the grade
    of an unjudged document.
    """
    if not is_sequence(grades):
        raise InputError(
            f"{location}: expected a list of grades, best rank first, got {grades!r:.80}"
        )
    grade_list = to_list(grades)
    ranking = [f"#{i}" for i in range(1, len(grade_list) + 1)]
    pairs = zip(ranking, grade_list, strict=True)
    grade_of_doc = {doc: grade for doc, grade in pairs if not is_null(grade)}
    good_grades = to_grades(grade_of_doc.values())
    if good_grades is None:
        doc, grade = next(pair for pair in grade_of_doc.items() if to_grades([pair[1]]) is None)
        is_too_large = isinstance(grade, int | float) and abs(grade) > LARGEST_GRADE
        range_hint = f"Grades must be from -{LARGEST_GRADE:,} to {LARGEST_GRADE:,}."
        raise InputError(
            f"{location}, rank {doc[1:]}: expected a number as the grade, or None for an "
            f"unjudged document, got {grade!r:.80}",
            hint=range_hint if is_too_large else None,
        )
    return dict(zip(grade_of_doc, good_grades.tolist(), strict=True)), ranking
