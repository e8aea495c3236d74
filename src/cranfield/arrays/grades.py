"""Types of grade columns: whole numbers, or doubles if any grade is a fraction; 2^grade."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.trace import step

#: The lowest grade above 0 where grades are fractions: the smallest positive double.
SMALLEST_POSITIVE = 5e-324


def are_whole_grades(grades: NDArray[Any]) -> bool:
    """Tell whether a column of grades holds whole numbers only, by its type."""
    return grades.dtype.kind != "f"


def narrow_grades(grades: NDArray[Any]) -> NDArray[Any]:
    """Return whole grades in the smallest signed type, to be stored; others as they are."""
    if not (are_whole_grades(grades) and len(grades)):
        return grades
    lowest, highest = int(grades.min()), int(grades.max())
    for int_type in (np.int8, np.int16, np.int32):
        if np.iinfo(int_type).min <= lowest and highest <= np.iinfo(int_type).max:
            return grades.astype(int_type)
    return grades


def widen_grades(grades: NDArray[Any]) -> NDArray[Any]:
    """Return grades in the types that measures compute with: whole grades in 64 bits.

    >>> widen_grades(narrow_grades(np.array([3, 0]))).dtype, widen_grades(np.array([0.5])).dtype
    (dtype('int64'), dtype('float64'))
    """
    return grades.astype(np.int64, copy=False) if are_whole_grades(grades) else grades


def grade_levels(*columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return columns of whole numbers that compare as the grades of all columns do.

    If all columns have whole grades, they are returned; else each grade becomes its position among
    the distinct grades of all columns.

    >>> grade_levels(np.array([0.5, 0.1]), np.array([0.9]))
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
