"""Values: checks and conversions of scores and grades in text, objects and columns of numbers."""

import math
import re
import struct
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Floats, Ints, Numbers
from cranfield.errors import InputError
from cranfield.formats.block import LARGEST_GRADE

NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile(rb"[+-]?0{0,80}\d{1,10}")


def whole(field: bytes) -> int | None:
    """Return the whole number that the field holds, None if it holds none or one too large."""
    if not WHOLE.fullmatch(field):
        return None
    number = int(field)
    return number if abs(number) <= LARGEST_GRADE else None


def is_number(value: Any) -> bool:
    """Tell whether the value is a number that a score may be."""
    try:
        struct.pack("d", value)
        return not math.isnan(value)
    except (struct.error, TypeError, OverflowError):
        return False


def is_list_cell(value: object) -> bool:
    """Tell whether a cell holds a list, or a string that is one: `["a"]`, `['a']`."""
    if isinstance(value, str):
        text = value.strip()
        return text.startswith("[") and text.endswith("]")
    return isinstance(value, list | tuple | Set) or getattr(value, "ndim", 0) == 1


def packed(values: Iterable[Any], n: int) -> Floats | None:
    """Return n numbers as doubles, (n,); None if one is not a number (NaN is allowed).

    Twice as fast as numpy's conversion, and does not accept a text as a number.
    """
    try:
        return np.frombuffer(struct.pack(f"{n}d", *values))
    except (struct.error, TypeError, OverflowError):
        return None


def scores_of(query: str, ranking: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return one query's scores as doubles, in the dict's order and lowest first: (documents,)."""
    n = len(ranking)
    scores = packed(ranking.values(), n)
    if scores is not None:
        if n > _SORTED_AT_ONCE and np.count_nonzero(scores[1:] <= scores[:-1]) == n - 1:
            return scores, scores[::-1]  # a long ranking is usually in order
        in_order = scores.copy()
        in_order.sort()
        if in_order[-1] == in_order[-1]:  # not-a-number sorts last
            return scores, in_order
    doc, score = next((d, s) for d, s in ranking.items() if not is_number(s))
    raise InputError(
        f"query {query!r}, document {doc!r}: expected a number as the score, got {score!r:.80}"
    )


_SORTED_AT_ONCE = 200  # sorting so few is as fast as checking their order


def grades_of(values: Iterable[Any]) -> Numbers | None:
    """Return grades in their one form, see `graded`; None if a value is not a grade."""
    listed = list(values)
    try:
        whole = struct.pack(f"{len(listed)}q", *listed)  # fast; whole numbers only
        return graded(np.frombuffer(whole, np.int64))
    except (struct.error, TypeError, OverflowError):
        try:
            return graded(np.array(listed))
        except (ValueError, OverflowError):
            return None


def values_of(role: str, numbers: list[Any]) -> Numbers | None:
    """Return scores as doubles, or grades in their one form: (n,); None if a value is neither."""
    if role != "score":
        return grades_of(numbers)
    scores = packed(numbers, len(numbers))
    return None if scores is None or np.isnan(scores).any() else scores


def graded(values: NDArray[Any]) -> Numbers | None:
    """Return grades in their one form, (n,); None if one is not-a-number, or too large.

    They are 64-bit integers if all are whole numbers, else doubles. Both are exact.
    """
    whole = whole_numbers(values)
    if whole is not None or values.dtype.kind != "f" or values.ndim != 1:
        return whole
    values = values.astype(np.float64, copy=False)
    return None if spoilt(values, whole=False).any() else values


def whole_numbers(values: NDArray[Any]) -> Ints | None:
    """Return numbers as 64-bit integers if all are whole and not too large, else None."""
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        return None
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        values = values.astype(np.float64)  # LARGEST_GRADE has no 16- or 32-bit float
    if values.dtype.kind == "f" and (values != np.floor(values)).any():
        return None
    if len(values):
        lowest, highest = np.minimum.reduce(values), np.maximum.reduce(values)
        if not -LARGEST_GRADE <= lowest <= highest <= LARGEST_GRADE:
            return None  # or not-a-number, which is neither
    return values.astype(np.int64, copy=False)


def spoilt(values: NDArray[Any], *, whole: bool) -> NDArray[np.bool_]:
    """Tell which of some numbers are not-a-number, too large, or, where `whole`, fractions."""
    bad: NDArray[np.bool_] = ~((values <= LARGEST_GRADE) & (values >= -LARGEST_GRADE))
    if whole and values.dtype.kind == "f":
        bad |= values != np.floor(values)
    return bad
