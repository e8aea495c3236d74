"""Numbers: checks and conversions of scores and grades in texts, objects and columns."""

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
INTEGER = re.compile(rb"[+-]?0{0,80}\d{1,10}")


def parse_integer(field: bytes) -> int | None:
    """Return the whole number in a field; None if the field holds none, or too large a number."""
    if not INTEGER.fullmatch(field):
        return None
    number = int(field)
    return number if abs(number) <= LARGEST_GRADE else None


def is_number(value: Any) -> bool:
    """Tell whether the value is a number, not NaN, that fits a double."""
    try:
        struct.pack("d", value)
        return not math.isnan(value)
    except (struct.error, TypeError, OverflowError):
        return False


def is_list_cell(value: object) -> bool:
    """Tell whether a cell holds a list, tuple, set, array, or a string like a list: `['a']`."""
    if isinstance(value, str):
        text = value.strip()
        return text.startswith("[") and text.endswith("]")
    return isinstance(value, list | tuple | Set) or getattr(value, "ndim", 0) == 1


def pack_doubles(values: Iterable[Any], n: int) -> Floats | None:
    """Return n numbers as doubles, (n,); None if a value is not a number (NaN is allowed).

    It is twice as fast as numpy's conversion, and does not accept a text as a number.
    """
    try:
        return np.frombuffer(struct.pack(f"{n}d", *values))
    except (struct.error, TypeError, OverflowError):
        return None


def to_scores(query: str, ranking: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return the scores of {document: score} as doubles, (documents,), in its order, and sorted.

    The lowest is sorted first. `ranking` has documents. Raises InputError for a value that is not a
    number.
    """
    n = len(ranking)
    scores = pack_doubles(ranking.values(), n)
    if scores is not None:
        if n > _SORT_DIRECTLY and np.count_nonzero(scores[1:] <= scores[:-1]) == n - 1:
            return scores, scores[::-1]  # a long ranking is usually in order
        sorted_scores = scores.copy()
        sorted_scores.sort()
        if sorted_scores[-1] == sorted_scores[-1]:  # not-a-number sorts last
            return scores, sorted_scores
    doc, score = next((doc, score) for doc, score in ranking.items() if not is_number(score))
    raise InputError(
        f"query {query!r}, document {doc!r}: expected a number as the score, got {score!r:.80}"
    )


_SORT_DIRECTLY = 200  # sorting so few is as fast as checking their order


def to_grades(grades: Iterable[Any]) -> Numbers | None:
    """Return grades as `unify_grades` does, (n,); None if a value is not a grade."""
    grade_list = list(grades)
    try:  # fast, for whole numbers only
        packed_integers = struct.pack(f"{len(grade_list)}q", *grade_list)
        return unify_grades(np.frombuffer(packed_integers, np.int64))
    except (struct.error, TypeError, OverflowError):
        doubles = pack_doubles(grade_list, len(grade_list))
        return None if doubles is None else unify_grades(doubles)


def to_numbers(role: str, numbers: list[Any]) -> Numbers | None:
    """Return scores as doubles, others as `unify_grades` does, (n,); None if a value is bad."""
    if role != "score":
        return to_grades(numbers)
    scores = pack_doubles(numbers, len(numbers))
    return None if scores is None or np.isnan(scores).any() else scores


def unify_grades(grades: NDArray[Any]) -> Numbers | None:
    """Return grades as 64-bit integers if all are whole numbers, else as doubles: (n,), exact.

    None if a grade is no number, not-a-number, or too large.
    """
    whole_numbers = to_whole_numbers(grades)
    if whole_numbers is not None or grades.dtype.kind != "f" or grades.ndim != 1:
        return whole_numbers
    grades = grades.astype(np.float64, copy=False)
    return None if is_bad_number(grades, refuses_fractions=False).any() else grades


def to_whole_numbers(numbers: NDArray[Any]) -> Ints | None:
    """Return numbers as 64-bit integers if all are whole and not too large, else None."""
    if numbers.dtype.kind not in "biuf" or numbers.ndim != 1:
        return None
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize < 8:
        numbers = numbers.astype(np.float64)  # LARGEST_GRADE has no 16- or 32-bit float
    if numbers.dtype.kind == "f" and (numbers != np.floor(numbers)).any():
        return None
    if len(numbers):
        lowest, highest = np.minimum.reduce(numbers), np.maximum.reduce(numbers)
        if not -LARGEST_GRADE <= lowest <= highest <= LARGEST_GRADE:
            return None  # also for not-a-number, which compares as false
    return numbers.astype(np.int64, copy=False)


def is_bad_number(numbers: NDArray[Any], *, refuses_fractions: bool) -> NDArray[np.bool_]:
    """Return a mask, (n,), of numbers that are too large, not-a-number, or refused fractions."""
    is_bad: NDArray[np.bool_] = ~((numbers <= LARGEST_GRADE) & (numbers >= -LARGEST_GRADE))
    if refuses_fractions and numbers.dtype.kind == "f":
        is_bad |= numbers != np.floor(numbers)
    return is_bad
