"""RunLists: the rows of several runs for some queries; DocumentValues: the same by document.

`fused_rows.py` makes the lists, and `methods.py` turns both into scores.
"""

from dataclasses import dataclass

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class RunLists:
    """Rows of some queries, list after list: a list is what a run returned for a query.

    Columns are (rows,), except `first_row`.
    """

    docs: Ids
    query: Ints  # numbered from 0
    run: Ints  # numbered from 0
    rank: Ints  # from 1
    score: Floats  # empty, if the method needs no scores
    first_row: Ints  # (lists,) the row where each list begins
    weight: Floats  # of the run

    @property
    def lengths(self) -> Ints:
        """How many rows each list has: (lists,)."""
        return np.diff(np.append(self.first_row, len(self.docs)))

    def repeat_per_row(self, list_column: Floats | Ints) -> Floats:
        """Return the value of each row's list: (lists,) to (rows,)."""
        row_values: Floats = np.repeat(list_column, self.lengths)
        return row_values

    @property
    def length(self) -> Floats:
        """How many documents a row's list has: (rows,)."""
        return self.repeat_per_row(self.lengths)

    @property
    def lowest(self) -> Floats:
        """The lowest score of a row's list: (rows,)."""
        return self.repeat_per_row(np.minimum.reduceat(self.score, self.first_row))

    @property
    def highest(self) -> Floats:
        """The highest score of a row's list: (rows,)."""
        return self.repeat_per_row(np.maximum.reduceat(self.score, self.first_row))

    def greatest_size(self, values: Floats) -> Floats:
        """Return the greatest absolute value in a row's list: (rows,) to (rows,)."""
        return self.repeat_per_row(np.maximum.reduceat(np.abs(values), self.first_row))

    def total(self, values: Floats) -> Floats:
        """Return the sum of a row's list, rounded once: (rows,) to (rows,)."""
        list_number = np.repeat(np.arange(len(self.first_row)), self.lengths)
        return sum_groups(list_number, values, len(self.first_row))[list_number]


@dataclass(frozen=True, eq=False)
class DocumentValues:
    """The documents of some queries, and the value that each list gives each of them.

    The columns are (rows,), except `query`: a row is a document and a run that gives it a value.
    """

    query: Ints  # (n,) the query of each document
    doc: Ints  # numbered from 0
    value: Floats
    weight: Floats  # of the run
    # Whether the run returned the document; True of absent ones with norm="borda", too.
    is_returned: Bools

    def total(self, values: Floats) -> Floats:
        """Return each document's sum, rounded once: (rows,) to (n,)."""
        return sum_groups(self.doc, values, len(self.query))

    @property
    def n_runs(self) -> Floats:
        """How many runs returned each document, as `is_returned` counts it: (n,)."""
        return np.bincount(self.doc, self.is_returned, len(self.query))

    @property
    def _sorted_values(self) -> tuple[Floats, Ints, Ints]:
        """Each document's values (rows,), the highest first; its first row and row count (n,)."""
        counts = np.bincount(self.doc, minlength=len(self.query))
        return self.value[np.lexsort((-self.value, self.doc))], np.cumsum(counts) - counts, counts

    @property
    def highest(self) -> Floats:
        """Each document's highest value: (n,)."""
        values, first_row, _ = self._sorted_values
        highest: Floats = values[first_row]
        return highest

    @property
    def lowest(self) -> Floats:
        """Each document's lowest value: (n,)."""
        values, first_row, counts = self._sorted_values
        lowest: Floats = values[first_row + counts - 1]
        return lowest

    @property
    def median(self) -> Floats:
        """Each document's median value: (n,); of an even number, the mean of the middle two."""
        values, first_row, counts = self._sorted_values
        median: Floats = (
            values[first_row + (counts - 1) // 2] + values[first_row + counts // 2]
        ) / 2
        return median


def sum_groups(group: Ints, values: Floats, n: int) -> Floats:
    """Return the sum of each of n groups, rounded once: `group` (rows,) has a row's group.

    A value is cut in two, 40 bits and the next 48 below the group's greatest value; the sums of
    these parts have no error, up to thousands of rows, so that their order changes no bit.
    """
    greatest_size = np.zeros(n)
    np.maximum.at(greatest_size, group, np.abs(values))
    exponent = np.maximum(np.frexp(greatest_size)[1], _LEAST_EXPONENT)
    scaled_values = values * np.ldexp(1.0, -exponent).take(group)  # at most 1
    high = np.rint(scaled_values * 2.0**40)
    low = np.rint((scaled_values * 2.0**40 - high) * 2.0**48)
    scaled_sums: Floats = np.bincount(group, high, n)
    scaled_sums += np.bincount(group, low, n) * 2.0**-48
    sums: Floats = np.ldexp(scaled_sums, exponent - 40)
    return sums


_LEAST_EXPONENT = -1000  # 2^1000 is a number; values this small have few bits, none of which is cut
