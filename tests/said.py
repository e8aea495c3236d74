"""What notes say: by their codes, which stay when a sentence is worded anew."""

from collections.abc import Iterable

from cranfield import Note

EVERYWHERE = {"queries"}  # of every result, how many queries were averaged


def codes(notes: Iterable[Note]) -> list[str]:
    """Return the codes of the notes, without those that every result has."""
    return [note.code for note in notes if note.code not in EVERYWHERE]


def sentence(notes: Iterable[Note], code: str) -> str:
    """Return the sentence of the one note with a code."""
    (found,) = [note.text for note in notes if note.code == code]
    return found
