"""Identifiers: checks ids of queries, documents and subtopics that are objects, for all formats."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.errors import InputError

STATE_LISTS_HINT = (
    "If its cells hold several documents, state columns={'expected_ids': ...} or "
    "{'retrieved_ids': ...}: the numbers beside are then lists, too, or are not read."
)


def is_id(key: object) -> bool:
    """Tell whether a key may be an id: a string or a whole number."""
    return isinstance(key, str | int | np.integer) and not isinstance(key, bool)


def is_whole_decimal(key: Any) -> bool:
    """Tell whether a key is a Decimal without a fraction, as databases have for whole numbers."""
    return hasattr(key, "as_tuple") and key.is_finite() and bool(key == key // 1)


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
        raise InputError(problem, hint=STATE_LISTS_HINT if is_collection else None)
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


def with_text_ids(data: Mapping[Any, Any], location: str) -> dict[str, Any]:
    """Return the dict with text ids as keys; InputError if two are equal, or a key is no id."""
    texts = {to_id_text(key, location): value for key, value in data.items()}
    if len(texts) < len(data):
        raise InputError(f"{location}: two ids have the same text, as 1 and '1' do")
    return texts
