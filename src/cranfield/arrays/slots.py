"""PairIndex: finds pairs of a group and an identifier in columns of distinct pairs."""

from typing import Any

import numpy as np

from cranfield.arrays.byte_strings import Words, pair_keys, spread_bits
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints


class PairIndex:
    """Finds the row of a pair of a group and an identifier, in columns (rows,) of distinct pairs.

    A table has a slot for some bits of a key. Each row writes its number into the slot of its key,
    and a pair that is looked up reads the slot of its own. Rows whose slot another key has taken
    go into another table, which is smaller unless it is the smallest, and so on.

    >>> pair_index = PairIndex(np.array([0, 0, 1]), Ids.of([b"a", b"b", b"a"]))
    >>> ids = Ids.of([b"b", b"b", b"a"])
    >>> groups = np.array([0, 1, 1])
    >>> pair_index.find(groups, ids, pair_keys(ids.hash(), groups))
    (array([0, 2]), array([1, 2]))
    """

    def __init__(self, groups: Ints, ids: Ids) -> None:
        self.groups, self.ids = groups, ids
        self._keys = keys = pair_keys(ids.hash(), groups)
        self._tables: list[tuple[np.uint64, Ints]] = []
        rows = np.arange(len(keys), dtype=np.int32)
        while len(rows):
            shift = np.uint64(64 - max(_MIN_BITS, len(rows).bit_length() + 2))
            table = np.full(1 << (64 - int(shift)), -1, np.int32)
            slot = _leading_bits(spread_bits(keys[rows]), shift)
            table[slot] = rows
            self._tables.append((shift, table))
            rows = rows[keys[table[slot]] != keys[rows]]

    def __reduce__(self) -> tuple[Any, ...]:
        return PairIndex, (self.groups, self.ids)  # another process has other keys

    def find(self, groups: Ints, ids: Ids, keys: Words) -> tuple[Ints, Ints]:
        """Return which of the pairs, ascending, are in the index, and the row of each of these.

        `groups`, `ids` and `keys`, as `pair_keys` makes them, are (pairs,).
        """
        bits = spread_bits(keys)
        rows, row_of_pair = np.arange(len(keys)), np.full(len(keys), -1)
        for shift, table in self._tables:
            candidate = table[_leading_bits(bits if len(rows) == len(bits) else bits[rows], shift)]
            positions = np.flatnonzero(candidate >= 0)  # an empty slot: the pair is in no table
            rows, candidate = rows[positions], candidate[positions]
            has_key = self._keys[candidate] == keys[rows]
            row_of_pair[rows[has_key]] = candidate[has_key]
            rows = rows[~has_key]
        rows = np.flatnonzero(row_of_pair >= 0)
        own_row = row_of_pair[rows]
        # Equal keys belong to the same pair, with rare exceptions.
        is_match = ids.equal(rows, self.ids, own_row) & (groups[rows] == self.groups[own_row])
        if not is_match.all():
            wrong_rows = rows[~is_match]
            own_row[~is_match] = self._look_up(
                keys[wrong_rows], groups[wrong_rows], ids.take(wrong_rows)
            )
            rows, own_row = rows[own_row >= 0], own_row[own_row >= 0]
        return rows, own_row

    def _look_up(self, keys: Words, groups: Ints, ids: Ids) -> list[int]:
        """Return the row of each pair, -1 if it is not in the index, by comparing texts."""
        rows = np.flatnonzero(np.isin(self._keys, keys))
        own_pairs = zip(self.groups[rows].tolist(), self.ids.take(rows).to_list(), strict=True)
        row_of_own_pair = dict(zip(own_pairs, rows.tolist(), strict=True))
        pairs = zip(groups.tolist(), ids.to_list(), strict=True)
        return [row_of_own_pair.get(pair, -1) for pair in pairs]


_MIN_BITS = 14  # the smallest table has 2^14 slots


def _leading_bits(bits: Words, shift: np.uint64) -> Ints:
    return (bits >> shift).view(np.int64)


def number_pairs(groups: Ints, ids: Ids) -> tuple[Ints, Ints]:
    """Return a row of each distinct pair of group and id, (n,), and the number of each row's pair.

    The numbers are (rows,), 0 to n - 1. Which of several rows stands for a pair, and so
    the numbering, is not certain.

    As in `PairIndex`; rows with another pair in their slot write into the table again, by other
    bits. (`take` lets other threads run; `[]` does not.)

    >>> rows, pair = number_pairs(np.array([0, 0, 1, 0]), Ids.of([b"a", b"b", b"a", b"a"]))
    >>> len(rows), pair[0] == pair[3], sorted(pair[:3].tolist())
    (3, np.True_, [0, 1, 2])
    """
    n_rows, hashes = len(ids), ids.hash()
    keys, n_bits = pair_keys(hashes, groups), max(n_rows.bit_length() + 1, _MIN_BITS)
    table, shift = np.empty(1 << n_bits, np.int64), np.uint64(64 - n_bits)
    row_of = np.empty(n_rows, np.int64)
    rows, row_hash, row_group = np.arange(n_rows), hashes, groups  # of pairs without a number yet
    while len(rows):
        keys = spread_bits(keys)
        slots = (keys >> shift).view(np.int64)
        table[slots] = rows
        row_of[rows] = candidate = table.take(slots)
        is_match = (hashes.take(candidate) == row_hash) & (groups.take(candidate) == row_group)
        if ids.n_words > 1:  # else two ids have two hashes
            is_match[is_match] = ids.equal(rows[is_match], ids, candidate[is_match])
        is_unsolved = ~is_match
        rows, row_hash, row_group, keys = (
            column[is_unsolved] for column in (rows, row_hash, row_group, keys)
        )
    is_first = row_of == np.arange(n_rows)
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1).take(row_of)
