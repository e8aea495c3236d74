"""What notes say: by their codes, which stay when a sentence is changed."""

from collections.abc import Iterable
from typing import Any

from cranfield import Note

EVERYWHERE = {"queries"}  # of every result, how many queries were averaged


def codes(source: Any) -> list[str]:
    """Return the codes of notes, or of the notes of a result, but the codes of EVERYWHERE."""
    notes: Iterable[Note] = getattr(source, "notes", source)
    return [note.code for note in notes if note.code not in EVERYWHERE]


def severities(comparison: Any) -> dict[str, str]:
    """Return {code: severity} of the notes of a measure's comparison."""
    return {note.code: note.severity for note in comparison.notes}


def find_note(notes: Iterable[Note], code: str) -> Note:
    """Return the one note with a code."""
    (matching_note,) = [note for note in notes if note.code == code]
    return matching_note


def sentence(notes: Iterable[Note], code: str) -> str:
    """Return the sentence of the one note with a code."""
    return find_note(notes, code).text
