"""Lists: the rows of several runs for some queries; Found: the same by their documents."""

from dataclasses import dataclass

import numpy as np

from cranfield.arrays.byte_strings import keyed
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.rows import changes
from cranfield.data.order import by_document


@dataclass(frozen=True, eq=False)
class Lists:
    """Rows of some queries, list after list: a list is what a run returned for a query.

    Columns are (rows,), except `begins`.
    """

    docs: Ids
    query: Ints  # numbered from 0
    run: Ints  # numbered from 0
    rank: Ints  # from 1
    score: Floats  # NaN where nothing needs it
    begins: Ints  # (lists,) the row where each begins
    weight: Floats  # of the run

    @property
    def lengths(self) -> Ints:
        """How many rows each list has: (lists,)."""
        return np.diff(np.append(self.begins, len(self.docs)))

    def spread(self, of_list: Floats | Ints) -> Floats:
        """Return for each row the number of its list: (lists,) to (rows,)."""
        found: Floats = np.repeat(of_list, self.lengths)
        return found

    @property
    def length(self) -> Floats:
        """How many documents a row's list has: (rows,)."""
        return self.spread(self.lengths)

    @property
    def lowest(self) -> Floats:
        """The lowest score of a row's list: (rows,)."""
        return self.spread(np.minimum.reduceat(self.score, self.begins))

    @property
    def highest(self) -> Floats:
        """The highest score of a row's list: (rows,)."""
        return self.spread(np.maximum.reduceat(self.score, self.begins))

    def total(self, values: Floats) -> Floats:
        """Return the sum of a row's list, from its first row to its last: (rows,) to (rows,)."""
        which = np.repeat(np.arange(len(self.begins)), self.lengths)
        return np.bincount(which, values, len(self.begins))[which]


@dataclass(frozen=True, eq=False)
class Found:
    """The documents of some queries, and the value that each list gives each of them.

    The columns are (rows,), except `query_of`: a row is a document in a list.
    """

    query_of: Ints  # (n,) the query of each document
    doc: Ints  # numbered from 0
    value: Floats
    weight: Floats  # of the run
    returned: Bools  # whether the run returned it; else it is absent, and has a value nevertheless

    def total(self, values: Floats) -> Floats:
        """Return each document's sum, rounded once: (rows,) to (n,).

        The values are cut in two, of 40 bits and of the next 48 below the query's greatest, whose
        sums have no error: the order of the runs does not change the last bit.
        """
        n = len(self.query_of)
        query = self.query_of[self.doc]
        greatest = np.zeros(int(query.max(initial=-1)) + 1)
        np.maximum.at(greatest, query, np.abs(values))
        exponent = np.maximum(np.frexp(greatest)[1], _LEAST_EXPONENT)
        coarse = np.ldexp(1.0, exponent - 40)[query]
        high = np.rint(values / coarse) * coarse
        fine = coarse * 2.0**-48
        low = np.rint((values - high) / fine) * fine
        found: Floats = np.bincount(self.doc, high, n)
        found += np.bincount(self.doc, low, n)
        return found

    @property
    def runs(self) -> Floats:
        """How many runs returned each document: (n,)."""
        return np.bincount(self.doc, self.returned, len(self.query_of))

    @property
    def _falling(self) -> tuple[Floats, Ints, Ints]:
        """Each document's values, the highest first; where they begin, and how many they are."""
        counts = np.bincount(self.doc, minlength=len(self.query_of))
        return self.value[np.lexsort((-self.value, self.doc))], np.cumsum(counts) - counts, counts

    @property
    def highest(self) -> Floats:
        """Each document's highest value: (n,)."""
        values, begins, _ = self._falling
        found: Floats = values[begins]
        return found

    @property
    def lowest(self) -> Floats:
        """Each document's lowest value: (n,)."""
        values, begins, counts = self._falling
        found: Floats = values[begins + counts - 1]
        return found

    @property
    def median(self) -> Floats:
        """Each document's median value: (n,); of an even number, the mean of the middle two."""
        values, begins, counts = self._falling
        found: Floats = (values[begins + (counts - 1) // 2] + values[begins + counts // 2]) / 2
        return found


_LEAST_EXPONENT = -900  # so that no unit of what is cut is 0


def documents(docs: Ids, query: Ints) -> tuple[Ints, Bools]:
    """Return the rows by document, and which of these are the first of one.

    Rows are sorted by a part of a hash of query and document, with their places in the other bits.
    That this put all rows of a document together, and no others, is then checked.
    """
    n = len(docs)
    n_bits = max(n - 1, 1).bit_length()
    bits = np.uint64(n_bits)
    hashes = docs.hash()
    words = keyed(hashes, query)
    words *= _ODD  # so that the first bits depend on all
    words >>= bits
    words <<= bits
    words |= np.arange(n, dtype=np.uint64)
    words.sort()
    order = (words & np.uint64((1 << n_bits) - 1)).astype(np.int64)
    words >>= bits
    new = changes(words)
    if np.array_equal(changes(hashes[order], query[order]), new):
        again = np.flatnonzero(~new) if docs.n_words > 1 else order[:0]  # else hashes tell them all
        if docs.equal(order[again], docs, order[again - 1]).all():
            return order, new
    return by_document(docs, query, None)


_ODD = np.uint64(0x9E3779B97F4A7C15)
