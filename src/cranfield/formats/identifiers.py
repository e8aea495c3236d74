"""Identifiers: checks ids of queries, documents and subtopics that are objects, for all formats."""

import contextlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.errors import InputError

STATE_LISTS_HINT = (
    "If its cells hold several documents, state columns={'expected_ids': ...} or "
    "{'retrieved_ids': ...}: the numbers beside are then lists, too, or are not read."
)
EXACT_DOUBLES = 1 << 53  # below it, a double that holds a whole number stands for no other


def is_id(key: object) -> bool:
    """Tell whether a key may be an id: a string or a whole number."""
    return isinstance(key, str | int | np.integer) and not isinstance(key, bool)


def is_whole_decimal(key: Any) -> bool:
    """Tell whether a key is a Decimal without a fraction, as databases have for whole numbers."""
    return hasattr(key, "as_tuple") and key.is_finite() and bool(key == key // 1)


def is_whole_float(key: Any) -> bool:
    """Tell whether a key is a double that holds one whole number, as no other beside is rounded."""
    return isinstance(key, float) and key.is_integer() and abs(key) < EXACT_DOUBLES


def encode_id(text: object) -> bytes | None:
    """Return the bytes of a string that may be an id; None for any other value.

    An id is not empty, holds no null byte, and every surrogate in it stands for a byte.
    (`Ids.mark_invalid` makes the same check for ids that are bytes already, all at once.)
    """
    if not isinstance(text, str) or not text or "\0" in text:
        return None
    try:
        return encode(text)
    except InputError:
        return None


def are_ids(keys: Iterable[Any]) -> bool:
    """Tell whether all keys are texts that may be ids; iterates over the keys twice."""
    try:
        texts = "".join(keys)  # the fastest check
    except TypeError:
        return False
    if "" in keys or "\0" in texts:
        return False
    return texts.isascii() or encode_id(texts) is not None


def to_id_text(key: object, location: str) -> str:
    """Return an id as text; InputError, which names `location`, for a key that cannot be an id."""
    if not isinstance(key, str):
        if is_id(key) or is_whole_decimal(key):
            return str(int(key))  # type: ignore[call-overload] # it is a whole number
        problem = f"{location}: an id is a string or a whole number, got {key!r:.80}"
        is_collection = isinstance(key, list | set | np.ndarray)
        hint = STATE_LISTS_HINT if is_collection else None
        if isinstance(key, float | np.floating):
            hint = (
                "As whole numbers: frame[column].astype('Int64'), array.astype(int). If these are "
            )
            hint += "scores in the order of labels: evaluate(*grades(labels, scores=scores), ...)."
        raise InputError(problem, hint=hint, kind="id")
    if encode_id(key) is None:
        if not key or "\0" in key:
            raise InputError(f"{location}: the id {key!r} is empty or holds a null byte")
        raise InputError(
            f"{location}: the id {key!r} is no text: it holds half of a surrogate pair"
        )
    return key


def escape_surrogates(text: str) -> str:
    """Return a text with halves of surrogate pairs, which no file can hold, as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def normalize_id(text: str) -> str:
    r"""Return an id without capitals, leading zeros, a decimal point and blanks that are too many.

    Its Unicode is in one form; UTF-8 that was read as Latin-1, or Latin-1 read as UTF-8, is mended.

    >>> [normalize_id(text) for text in (" 007.0", "Doc_07", "M\xc3\xbcller", "Mu\u0308ller")]
    ['7', 'doc_7', 'müller', 'müller']
    """
    if not text.isascii():
        if any("\udc80" <= letter <= "\udcff" for letter in text):
            text = encode(text).decode("latin-1")
        for misread_as in ("cp1252", "latin-1"):
            with contextlib.suppress(UnicodeError):
                text = text.encode(misread_as).decode()
        text = unicodedata.normalize("NFC", text)
    return _normalize_lines(" ".join(text.split()))


def normalize_text(text: Any) -> Any:
    """Return a text in one form of Unicode, with single blanks; any other value unchanged."""
    return " ".join(unicodedata.normalize("NFC", text).split()) if type(text) is str else text


def normalize_ids(ids: Sequence[str]) -> list[str]:
    """Return ids as `normalize_id` does; all at once, if they are plain ASCII."""
    text = "\n".join(ids)
    if text.isascii() and len(ids) == text.count("\n") + 1 and not re.search(r"[^\S\n]", text):
        return _normalize_lines(text).split("\n")
    return [*map(normalize_id, ids)]


def _normalize_lines(text: str) -> str:
    """Return lines, each an id, without capitals, leading zeros and a decimal point."""
    text = re.sub(r"0(?<![\d.]0)0*(?=\d)", "", text.casefold())
    return re.sub(r"^(\d+)\.0*$", r"\1", text, flags=re.M) if "." in text else text


def refuse_other_queries(
    queries: Iterable[str], other_queries: Iterable[str], *owners: str
) -> None:
    """Raise InputError for a query that only one of two collections, of two owners, has."""
    for query in sorted({*queries} ^ {*other_queries}):
        owner, other = owners if query in queries else owners[::-1]
        raise InputError(f"query {query!r} is in {owner}, and not in {other}")


def with_text_ids(data: Mapping[Any, Any], location: str) -> dict[str, Any]:
    """Return the dict with text ids as keys; InputError if two are equal, or a key is no id."""
    texts = {to_id_text(key, location): value for key, value in data.items()}
    if len(texts) < len(data):
        raise InputError(f"{location}: two ids have the same text, as 1 and '1' do")
    return texts
