"""Grades as they are held: whole numbers, or doubles if one of the collection is a fraction."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.trace import step

#: The lowest grade above 0, where grades are fractions: the least double.
SMALLEST_POSITIVE = 5e-324


def are_whole_grades(grades: NDArray[Any]) -> bool:
    """Tell whether these are grades of judgments that are whole numbers, all of them."""
    return grades.dtype.kind != "f"


def narrow_grades(grades: NDArray[Any]) -> NDArray[Any]:
    """Return whole grades in as few bytes as hold them: to be kept, not to compute with."""
    if not (are_whole_grades(grades) and len(grades)):
        return grades
    lowest, highest = int(grades.min()), int(grades.max())
    for int_type in (np.int8, np.int16, np.int32):
        if np.iinfo(int_type).min <= lowest and highest <= np.iinfo(int_type).max:
            return grades.astype(int_type)
    return grades


def widen_grades(grades: NDArray[Any]) -> NDArray[Any]:
    """Return grades as measures compute with them: whole ones in 64 bits.

    >>> widened(narrowed(np.array([3, 0]))).dtype, widened(np.array([0.5])).dtype
    (dtype('int64'), dtype('float64'))
    """
    return grades.astype(np.int64, copy=False) if are_whole_grades(grades) else grades


def grade_levels(*columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return whole numbers that are in the order of the grades in some columns, each as it is.

    Whole grades are such numbers themselves; of fractions it is the place of each among all that
    differ.

    >>> levels_of(np.array([0.5, 0.1]), np.array([0.9]))
    [array([1, 0]), array([2])]
    """
    if all(map(are_whole_grades, columns)):
        return list(columns)
    all_grades = np.concatenate([column.ravel() for column in columns])
    level = np.unique(all_grades, return_inverse=True)[1].ravel()
    ends = np.cumsum([column.size for column in columns])[:-1]
    column_levels = zip(np.split(level, ends), columns, strict=True)
    return [levels.reshape(column.shape) for levels, column in column_levels]


@step
def exp2(x: NDArray[Any]) -> NDArray[Any]:
    """Return 2 ** x, x < 1024, as the C library has it: see `elementary.log2`."""
    powers = (math.pow(2.0, number) for number in x.ravel().tolist())
    return np.fromiter(powers, float, x.size).reshape(x.shape)
