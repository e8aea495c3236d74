"""Notes: remarks beside numbers, each with a code and a severity."""

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from cranfield.errors import CranfieldWarning, escape_unprintable

Severity = Literal["error", "warning", "info"]
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Note:
    """A remark on a number, or on the data that it was computed from.

    `code` is a word for what sort of note it is, which stays the same when the sentence `text` is
    changed. `severity` is "error" (the number is useless), "warning" (it may not mean what
    it seems to) or "info". `queries` is the number of queries that it applies to. `source` names
    the run, the file or the system; `count` says how often it was seen, `line` (from 1) and `row`
    where, and what is written there; `query_id` the query of that, or of another example that
    the sentence names. What is not known is None.

    >>> str(Note("few-queries", "warning", "Only 3 queries.", 3))
    'Warning: Only 3 queries.'
    """

    code: str
    severity: Severity
    text: str
    queries: int | None = None
    source: str | None = None
    count: int | None = None
    line: int | None = None
    row: str | None = None
    query_id: str | None = None

    @property
    def is_grave(self) -> bool:
        """Whether the number cannot be trusted as it is: an error or a warning."""
        return self.severity != "info"

    def __str__(self) -> str:
        sentence = self.text if self.source is None else f"{self.source:.500}: {self.text}"
        return f"{self.severity.capitalize()}: {sentence}" if self.is_grave else sentence

    def add_source(self, source: str) -> "Note":
        """Return the note with a source, before the source that it has already.

        >>> str(Note("ties", "info", "2 documents are tied.", source="bm25").add_source("Under A"))
        'Under A: bm25: 2 documents are tied.'
        """
        return replace(self, source=source if self.source is None else f"{source}: {self.source}")

    def to_dict(self) -> dict[str, Any]:
        """Return {field: value} of the fields that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def read_note(document: Any) -> Note | None:
    """Return a Note with the code, severity, text and queries of a dict from `to_dict`; else None.

    >>> read_note(Note("ties", "info", "2 documents are tied.").to_dict()).code
    'ties'
    """
    type_of_field: dict[str, type] = {"code": str, "severity": str, "text": str}
    if not isinstance(document, dict) or not all(
        isinstance(document.get(name), kind) for name, kind in type_of_field.items()
    ):
        return None
    if document["severity"] not in _SEVERITIES:
        return None
    count = document.get("queries")
    queries = count if isinstance(count, int) else None
    return Note(document["code"], document["severity"], document["text"], queries)


def sort_by_severity(notes: Iterable[Note]) -> list[Note]:
    """Return the distinct notes, errors before warnings before the others, else in their order."""
    return sorted(dict.fromkeys(notes), key=lambda note: _SEVERITIES.index(note.severity))


def format_notes(notes: Iterable[Note]) -> list[str]:
    """Return the lines that are printed of notes: a line each, the gravest first."""
    return list(map(str, sort_by_severity(notes)))


def lines_below_table(legend: Iterable[str], notes: Iterable[Note]) -> list[str]:
    """Return the lines below a table: errors and warnings, the legend of columns, other notes."""
    all_notes = list(notes)
    grave_notes = [note for note in all_notes if note.is_grave]
    return [
        *format_notes(grave_notes),
        *legend,
        *format_notes(note for note in all_notes if not note.is_grave),
    ]


def join_names(names: Sequence[str], max_names: int = 3) -> str:
    """Return the first `max_names` names, and how many more there are.

    >>> join_names(["a", "b", "c"], 2)
    'a, b, and 1 more'
    """
    ending = f", and {len(names) - max_names:,} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + ending


def merge_notes(
    notes_with_source: Iterable[tuple[str, Note]], n_sources: int | None = None
) -> list[Note]:
    """Return each note once, with the sources that it applies to.

    `notes_with_source` has (source, note); sources are not mentioned if none has a name (all ""),
    nor if a note applies to all `n_sources`. Of more than three, the others are counted. Several
    notes on ties become one for each rule, last; where one is a warning, the others are left out.

    >>> note = Note("ties", "info", "2 documents are tied.")
    >>> [str(merged) for merged in merge_notes([("a", note), ("b", note)])]
    ['a, b: 2 documents are tied.']
    >>> [str(merged) for merged in merge_notes([("a", note), ("b", note)], n_sources=2)]
    ['2 documents are tied.']
    """
    sources: dict[Note, list[str]] = {}
    for source, note in notes_with_source:
        sources.setdefault(note, []).append(source)
    ties = [note for note in sources if not note.is_grave and re.fullmatch(_TIES, note.text)]
    is_warned = any(note.code == "ties" and note.is_grave for note in sources)
    is_joint = is_warned or sum(len(sources[note]) for note in ties) > 1
    joint_ties = dict.fromkeys(ties if is_joint else ())
    merged_notes = [
        note.add_source(join_names(names)) if any(names) and len(names) != n_sources else note
        for note, names in sources.items()
        if note not in joint_ties
    ]
    shown_ties = () if is_warned else joint_ties
    return [*merged_notes, *_join_ties((sources[note], note) for note in shown_ties)]


RANK_ORDERS_TIES = "--order rank takes the rank column."
# The text of a note on ties: its groups are the place, the rule and the remedy.
_TIES = r"[\d,]+ documents are tied(.*?): (.*?)(?:, descending)?\.( --.*)?"
MAX_WIDTH = 80  # characters of a line, where possible


def _join_ties(names_and_notes: Iterable[tuple[Sequence[str], Note]]) -> Iterator[Note]:
    """Yield one note for all notes on ties of the same place and rule, most ties first."""
    counts_of_rule: dict[str, dict[str, int]] = {}
    remedy_of_rule: dict[str, str] = {}
    for names, note in names_and_notes:
        place, rule, remedy = re.sub(_TIES, r"\1\n\2\n\3", note.text).split("\n")
        lead = f"Ties{place}, {rule}"
        counts_of_rule.setdefault(lead, {}).update(dict.fromkeys(names, note.count or 0))
        remedy_of_rule[lead] = remedy_of_rule.get(lead) or remedy
    for lead, count_of_name in counts_of_rule.items():
        counts = sorted(count_of_name.items(), key=lambda pair: (-pair[1], pair[0]))
        (name, n), *other_counts = counts
        parts = [f"{name} {n:,} documents", *(f"{name} {n:,}" for name, n in other_counts)]
        lines = [f"{lead}: {join_names(parts, n_names)}." for n_names in (3, 2, 1)]
        line = next((line for line in lines if len(line) <= MAX_WIDTH), lines[-1])
        total = sum(count_of_name.values())
        yield Note("ties", "info", line + remedy_of_rule[lead], count=total)


def warn_about(notes: Iterable[Note]) -> None:
    """Give one CranfieldWarning of all errors and warnings among the notes, if there are any.

    The warning points at the line outside of the package that called it.
    """
    grave_notes = [note for note in notes if note.is_grave]
    if grave_notes:
        lines = (str(note).partition(": ")[2] for note in sort_by_severity(grave_notes))
        text = "\n".join(escape_unprintable(line, 2000) for line in lines)
        warnings.warn(text, CranfieldWarning, stacklevel=_caller_level())


def _caller_level() -> int:
    """Return the level (1: `warn_about`, 2: its caller) of the first frame outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


_PACKAGE = os.path.dirname(__file__) + os.sep
