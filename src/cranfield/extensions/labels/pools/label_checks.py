"""Labels checked against what was asked for: which count, as which grade, and what is wrong."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cranfield.errors import OptionError, escape_unprintable
from cranfield.extensions.labels.label_files import QUERY, Label, read_labels
from cranfield.extensions.labels.pools.options import CollectSettings, read_grades
from cranfield.extensions.labels.pools.pool_result import NOT_DRAWN, Pool
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS
from cranfield.formats.small.read import Table as Rows
from cranfield.formats.small.read import parse_number
from cranfield.notes import Note
from cranfield.render.numbers import format_count as count_of

QueryDoc = tuple[str, str]  # (query, document)
N_SHOWN = 3  # documents that a note names
_WORDS_HINT = (
    "Say which grade a word is: grades_of={'no': 0, 'yes': 1} (--grades-of 'no=0,yes=1'); "
    "errors='skip' (--errors skip) leaves such labels out."
)
_STATE_POOL_HINT = "State the pool, which knows: pool=... (--pool FILE)."
_NO_GRADE_HINT = "Grades are 0 or more; errors='skip' (--errors skip) leaves other labels out."
_NOT_REQUESTED_HINT = "errors='skip' (--errors skip) leaves such labels out."


def list_requests(labels: Sequence[Label], pool: Any) -> dict[QueryDoc, Label]:
    """Return what was to be labelled: the pool's documents, or else all that the files name.

    Those with a label were not drawn.
    """
    if pool is None:
        found = {(one.query, one.doc): one._replace(label=None) for one in labels}
        undrawn = {(one.query, one.doc): one for one in labels if _is_not_drawn(one)}
        return {**found, **undrawn}
    found = {}
    for one in read_labels(pool.rows() if isinstance(pool, Pool) else pool):
        if one.label is not None and parse_number(one.label) != NOT_DRAWN:
            problem = f"query {one.query!r:.80}, document {one.doc!r:.80} has a label in the pool"
            hint = "The pool is the file before labelling; labels are the first argument."
            raise one.origin.row_error(one.row, problem, hint)
        found[one.query, one.doc] = one
    return found


def _is_not_drawn(label: Label) -> bool:
    """Tell whether a row is one of a sample by strata that nobody was to label."""
    return "stratum" in label.drawing and parse_number(label.label) == NOT_DRAWN


def is_task(label: Label) -> bool:
    """Tell whether a row is a task of a labelling tool."""
    return isinstance(label.origin, Rows) and QUERY not in label.origin.names


def check_drawing(labels: Iterable[Label]) -> None:
    """Raise InputError where rows tell in different ways how they were drawn, or not at all."""
    first: Label | None = None
    known: dict[QueryDoc, Mapping[Role, Any]] = {}
    for one in labels:
        first = first or one
        for role, value in one.drawing.items():
            number = parse_number(value)
            if number is None or not math.isfinite(number):
                problem = f"expected a number as {COLUMNS[role].public}, got {value!r:.80}"
                raise one.origin.row_error(one.row, problem)
        if {*one.drawing} != {*first.drawing}:
            problem = "some rows tell how their documents were drawn, and some do not"
            raise one.origin.row_error(one.row, problem, _STATE_POOL_HINT)
        drawn = {role: parse_number(value) for role, value in one.drawing.items()}
        if known.setdefault((one.query, one.doc), drawn) != drawn:
            problem = f"query {one.query!r:.80}, document {one.doc!r:.80} was drawn in another way"
            raise one.origin.row_error(one.row, f"{problem} above", _STATE_POOL_HINT)


def grade_labels(
    labels: Sequence[Label], requests: Mapping[QueryDoc, Label], settings: CollectSettings
) -> tuple[list[tuple[Label, float]], list[Note]]:
    """Return the labels that count, with their grades, and notes on those that do not."""
    found: list[tuple[Label, float]] = []
    left_out: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    words = read_grades(settings.grades_of) if settings.grades_of else {}
    words = {_label_word(word): grade for word, grade in words.items()}
    unused = {*words}
    people = dict.fromkeys(str(one.assessor) for one in labels if not _is_not_drawn(one))
    if settings.assessor is not None and settings.assessor not in people:
        raise OptionError(
            f"assessor={settings.assessor!r:.80}: the labels are by "
            f"{', '.join(map(escape_unprintable, people)):.200}"
        )
    for one in labels:
        there = requests.get((one.query, one.doc))
        undrawn = there is not None and there.label is not None
        if settings.assessor not in (None, str(one.assessor)):
            continue
        left_out["discarded by the person"] += one.is_discarded
        if (one.label is None and one.problem is None) or _is_not_drawn(one):
            continue
        word = _label_word(one.label)
        unused.discard(word)
        grade = words.get(word, parse_number(one.label))
        if undrawn and grade == NOT_DRAWN:
            continue
        if one.problem is not None or grade is None or not 0 <= grade < math.inf:
            problem = one.problem or f"expected a grade, got {one.label!r:.80}"
            hint, why = (_WORDS_HINT if grade is None else _NO_GRADE_HINT), "of no grade"
        elif there is None or undrawn:
            how = "is not in the pool" if there is None else "was not drawn (-1 in the pool)"
            problem = f"a label of a document that {how}"
            hint, why = _NOT_REQUESTED_HINT, "of a document that nobody asked for"
        else:
            found.append((one, float(grade)))
            continue
        if settings.errors == "strict":
            raise one.origin.row_error(one.row, f"{problem}{_describe_label(one)}", hint)
        left_out[why] += 1
        examples.setdefault(why, []).append(repr(one.label)[:40])
    notes = [
        Note(
            "left-out",
            "warning",
            f"{count_of(n, 'label')} left out, {why}{_list_examples(examples.get(why, []))}.",
            count=n,
        )
        for why, n in left_out.items()
        if n
    ]
    if unused:
        words_ = ", ".join(repr(escape_unprintable(one)) for one in sorted(unused))
        text = f"Words of grades_of (--grades-of) that are no label: {words_:.200}."
        notes.append(Note("unused-grades", "warning", text, count=len(unused)))
    return found, notes


def _describe_label(one: Label) -> str:
    """Return what a label is about, for an error."""
    who = "" if one.assessor is None else f", by {escape_unprintable(one.assessor)}"
    return f": query {one.query!r:.80}, document {one.doc!r:.80}{who}"


def _list_examples(shown: Sequence[str]) -> str:
    """Return some of what was left out."""
    some_of = dict.fromkeys(map(escape_unprintable, shown))
    return f": {', '.join([*some_of][:N_SHOWN])}" if some_of else ""


def _label_word(label: Any) -> str:
    """Return a label as a word: 1, 1.0 and "1.0" are the same one, and so are Yes and yes."""
    number = parse_number(label)
    return str(label).strip().casefold() if number is None else f"{number:g}"
