"""Identifiers: what may be the id of a query, a document or a subtopic. The only check of ids."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.errors import InputError


def is_id(key: object) -> bool:
    """Tell whether it may be an id: a text or a whole number."""
    return isinstance(key, str | int | np.integer) and not isinstance(key, bool)


def id_bytes(text: object) -> bytes | None:
    """Return the bytes of a text that may be an id; None for anything else.

    Such a text is not empty, holds no null byte, and every surrogate in it stands for a byte. (Of
    ids that are bytes already, `Ids.spoilt` tells the same for all at once.)
    """
    if not isinstance(text, str) or not text or "\0" in text:
        return None
    try:
        return encode(text)
    except InputError:
        return None


def are_ids(keys: Iterable[Any]) -> bool:
    """Tell whether all of some keys, which can be looked through again, are texts that are ids."""
    try:
        texts = "".join(keys)  # the quickest way to look at them
    except TypeError:
        return False
    if "" in keys or "\0" in texts:
        return False
    return texts.isascii() or id_bytes(texts) is not None


def as_text(key: object, where: str) -> str:
    """Return an id as text; InputError, which says where, for what may be none."""
    if not is_id(key):
        raise InputError(f"{where}: an id is a text or a whole number, got {key!r:.80}")
    if not isinstance(key, str):
        return str(int(key))  # type: ignore[call-overload] # it is a whole number
    if id_bytes(key) is None:
        if not key or "\0" in key:
            raise InputError(f"{where}: the id {key!r} is empty or holds a null byte")
        raise InputError(f"{where}: the id {key!r} is no text: it holds half of a surrogate pair")
    return key


def with_text_ids(data: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """Return the dict with text ids; InputError if two are the same, or one may be none."""
    texts = {as_text(key, where): value for key, value in data.items()}
    if len(texts) < len(data):
        raise InputError(f"{where}: two ids have the same text, as 1 and '1' do")
    return texts
