"""Groups of adjacent rows: where each group begins, how many rows it has, and their numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Ints


def mark_changes(*columns: NDArray[Any]) -> Bools:
    """Return a mask of the rows that differ from the row above in any column, (rows,); row 0 does.

    >>> mark_changes(np.array([1, 1, 2]), np.array([5, 6, 6]))
    array([ True,  True,  True])
    """
    is_change = np.zeros(len(columns[0]), np.bool_)
    is_change[:1] = True
    for column in columns:
        is_change[1:] |= column[1:] != column[:-1]
    return is_change


def group_sizes(begins_group: Bools) -> Ints:
    """Count the rows of each group, (groups,), from a mask of the groups' first rows, (rows,).

    >>> group_sizes(np.array([True, False, True]))
    array([2, 1])
    """
    return np.diff(np.append(np.flatnonzero(begins_group), len(begins_group)))


def consecutive_numbers(first: Ints | int, count: Ints) -> Ints:
    """Return first, first + 1, ..., `count` numbers, for each `first` and `count`, as one column.

    >>> consecutive_numbers(np.array([10, 20]), np.array([2, 3]))
    array([10, 11, 20, 21, 22])
    """
    end = np.cumsum(count)
    return np.repeat(first + count - end, count) + np.arange(end[-1] if len(end) else 0)
