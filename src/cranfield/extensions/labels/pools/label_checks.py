"""Label checks, for `collect`: labels beside what was to be labelled, and as grades."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.extensions.labels.label_files import DRAWING, Label, read_labels
from cranfield.extensions.labels.pools.draw import NOT_DRAWN
from cranfield.extensions.labels.pools.options import (
    CollectSettings,
    PoolSettings,
    label_word,
    read_grades,
)
from cranfield.extensions.labels.pools.pool_result import Pool
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, ColumnsLike
from cranfield.formats.small.read import Table as Rows
from cranfield.formats.small.read import parse_number
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT
from cranfield.notes import Note
from cranfield.render.numbers import format_count as count_of
from cranfield.version import __version__

QueryDoc = tuple[str, str]  # (query, document)
N_SHOWN = 3  # examples that a note names
_WORDS_HINT = (
    "Say which grade a word is: grades_of={'no': 0, 'yes': 1} (--grades-of 'no=0,yes=1'); "
    "errors='skip' (--errors skip) leaves such labels out."
)
_STATE_POOL_HINT = "State the pool, which knows: pool=... (--pool FILE)."
_NO_GRADE_HINT = "Grades are 0 or more; errors='skip' (--errors skip) leaves other labels out."
_NOT_REQUESTED_HINT = "errors='skip' (--errors skip) leaves such labels out."


class GradedLabel(NamedTuple):
    """A label that counts, and its grade."""

    label: Label
    grade: float


def list_requests(
    labels: Sequence[Label], pool: Any, columns: ColumnsLike | None
) -> dict[QueryDoc, Label]:
    """Return {(query, document): request} of the pool, or else of all documents of `labels`.

    A request with a label was not drawn, and needs none. Raises InputError for a pool with labels.
    """
    if pool is None:
        requests = {(label.query, label.doc): label._replace(label=None) for label in labels}
        not_drawn = {(label.query, label.doc): label for label in labels if _is_not_drawn(label)}
        return {**requests, **not_drawn}
    requests = {}
    for label in read_labels(pool.rows() if isinstance(pool, Pool) else pool, columns):
        if label.label is not None and parse_number(label.label) != NOT_DRAWN:
            problem = (
                f"query {label.query!r:.80}, document {label.doc!r:.80} has a label in the pool"
            )
            hint = "The pool is the file before labelling; labels are the first argument."
            raise label.origin.row_error(label.row, problem, hint)
        requests[label.query, label.doc] = label
    return requests


def _is_not_drawn(label: Label) -> bool:
    """Tell whether a row is a document of a sample by strata that was not drawn."""
    return "stratum" in label.drawing and parse_number(label.label) == NOT_DRAWN


def is_task(label: Label) -> bool:
    """Tell whether a row is a task of a labelling tool."""
    return (
        isinstance(label.origin, Rows) and label.origin.find_column(COLUMNS["query"].names) is None
    )


def check_drawing(labels: Iterable[Label]) -> None:
    """Raise InputError where rows differ in what they say of drawing, or a cell is no number."""
    first_label: Label | None = None
    drawing_of_document: dict[QueryDoc, Mapping[Role, Any]] = {}
    for label in labels:
        first_label = first_label or label
        for role, cell in label.drawing.items():
            number = parse_number(cell)
            if number is None or not math.isfinite(number):
                problem = f"expected a number as {COLUMNS[role].public}, got {cell!r:.80}"
                raise label.origin.row_error(label.row, problem)
        if {*label.drawing} != {*first_label.drawing}:
            problem = "some rows tell how their documents were drawn, and some do not"
            raise label.origin.row_error(label.row, problem, _STATE_POOL_HINT)
        drawing = {role: parse_number(cell) for role, cell in label.drawing.items()}
        if drawing_of_document.setdefault((label.query, label.doc), drawing) != drawing:
            problem = (
                f"query {label.query!r:.80}, document {label.doc!r:.80} was drawn in another way"
            )
            raise label.origin.row_error(label.row, f"{problem} above", _STATE_POOL_HINT)


def read_pool(source: Any) -> Pool:
    """Return the pool that was written to a file, its rows in the order of the file.

    Raises InputError for a pool with labels, or without rows.
    """
    requests = list_requests((), source, None)
    check_drawing(requests.values())
    if not requests:
        raise InputError("the pool names no document", source=str(source))
    queries, docs = zip(*requests, strict=True)
    texts: dict[str, dict[str, str]] = {}
    table: Any = next(iter(requests.values())).origin
    for name, ids in ((QUERY_TEXT, queries), (DOC_TEXT, docs)):
        column = table.find_column([name])
        if column is not None:
            cells = (table.columns[column][label.row] for label in requests.values())
            texts[name] = {text_id: str(c) for text_id, c in zip(ids, cells, strict=True) if c}
    return Pool(
        queries,
        docs,
        PoolSettings(),
        len({*queries}),
        len(docs),
        {"cranfield": __version__, "pool": str(source)},
        drawing=collect_drawing(requests, requests),
        grades=[None if label.label is None else NOT_DRAWN for label in requests.values()],
        texts=texts,
    )


def collect_drawing(
    pairs: Collection[QueryDoc], requests: Mapping[QueryDoc, Label]
) -> dict[Role, Sequence[Any]]:
    """Return {role: cells (documents,)} of the columns that say how documents were drawn."""
    roles = [role for role in DRAWING if any(role in requests[pair].drawing for pair in pairs)]
    return {
        role: [simplify_grade(parse_number(requests[pair].drawing[role]) or 0) for pair in pairs]
        if role == "stratum"
        else [parse_number(requests[pair].drawing[role]) for pair in pairs]
        for role in roles
    }


def simplify_grade(grade: float) -> float:
    """Return a grade as a whole number where it is one."""
    return int(grade) if grade == int(grade) else grade


def grade_labels(
    labels: Sequence[Label], requests: Mapping[QueryDoc, Label], settings: CollectSettings
) -> tuple[list[GradedLabel], list[Note]]:
    """Return the labels that count with their grades, and notes on labels, or words, that do not.

    Raises InputError for a label that cannot be used, unless `errors` is "skip", and OptionError
    for an assessor who gave no label.
    """
    graded_labels: list[GradedLabel] = []
    left_out: Counter[str] = Counter()
    examples_of_reason: dict[str, list[str]] = {}
    words = read_grades(settings.grades_of) if settings.grades_of else {}
    words = {label_word(word): grade for word, grade in words.items()}
    unused_words = {*words}
    assessors = dict.fromkeys(str(label.assessor) for label in labels if not _is_not_drawn(label))
    if settings.assessor is not None and settings.assessor not in assessors:
        raise OptionError(
            f"assessor={settings.assessor!r:.80}: the labels are by "
            f"{', '.join(map(escape_unprintable, assessors)):.200}"
        )
    for label in labels:
        request = requests.get((label.query, label.doc))
        is_undrawn = request is not None and request.label is not None
        if settings.assessor not in (None, str(label.assessor)):
            continue
        left_out["discarded by the person"] += label.is_discarded
        if (label.label is None and label.problem is None) or _is_not_drawn(label):
            continue
        word = label_word(label.label)
        unused_words.discard(word)
        grade = words.get(word, parse_number(label.label))
        if is_undrawn and grade == NOT_DRAWN:
            continue
        if label.problem is not None or grade is None or not 0 <= grade < math.inf:
            problem = label.problem or f"expected a grade, got {label.label!r:.80}"
            hint, reason = (_WORDS_HINT if grade is None else _NO_GRADE_HINT), "of no grade"
        elif request is None or is_undrawn:
            location = "is not in the pool" if request is None else "was not drawn (-1 in the pool)"
            problem = f"a label of a document that {location}"
            hint, reason = _NOT_REQUESTED_HINT, "of a document that nobody asked for"
        elif not label.drawing.keys() <= request.drawing.keys():
            problem = f"the pool does not say how it was drawn ({', '.join(label.drawing)})"
            hint, reason = "State the sample: pool=... (--pool sample.csv).", "of another pool"
        else:
            graded_labels.append(GradedLabel(label, float(grade)))
            continue
        if settings.errors == "strict":
            raise label.origin.row_error(label.row, f"{problem}{_describe_label(label)}", hint)
        left_out[reason] += 1
        examples_of_reason.setdefault(reason, []).append(repr(label.label)[:40])
    notes = [
        Note(
            "left-out",
            "warning",
            f"{count_of(n, 'label')} left out, "
            f"{reason}{_list_examples(examples_of_reason.get(reason, []))}.",
            count=n,
        )
        for reason, n in left_out.items()
        if n
    ]
    if unused_words:
        word_list = ", ".join(repr(escape_unprintable(word)) for word in sorted(unused_words))
        text = f"Words of grades_of (--grades-of) that are no label: {word_list:.200}."
        notes.append(Note("unused-grades", "warning", text, count=len(unused_words)))
    return graded_labels, notes


def _describe_label(label: Label) -> str:
    """Return the query, the document and the assessor of a label, for an error."""
    assessor = "" if label.assessor is None else f", by {escape_unprintable(label.assessor)}"
    return f": query {label.query!r:.80}, document {label.doc!r:.80}{assessor}"


def _list_examples(label_texts: Sequence[str]) -> str:
    """Return a phrase with the first of some labels that were left out."""
    distinct_texts = dict.fromkeys(map(escape_unprintable, label_texts))
    return f": {', '.join([*distinct_texts][:N_SHOWN])}" if distinct_texts else ""
