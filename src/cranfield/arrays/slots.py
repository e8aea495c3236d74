"""Slots: where pairs of a group and an identifier are, in a column of different ones."""

from typing import Any

import numpy as np

from cranfield.arrays.byte_strings import Words, pair_keys, spread_bits
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints


class PairIndex:
    """Finds pairs of a group, (rows,), and an identifier among different ones, by their keys.

    Every row leaves its number in a slot of a table that some bits of its key tell, and a pair
    looks into the one slot where its own can be. Rows that find their slot taken by another key go
    into a smaller table, and so on.

    >>> slots = Slots(np.array([0, 0, 1]), Ids.of([b"a", b"b", b"a"]))
    >>> others = Ids.of([b"b", b"b", b"a"])
    >>> groups = np.array([0, 1, 1])
    >>> slots.among(groups, others, keyed(others.hash(), groups))
    (array([0, 2]), array([1, 2]))
    """

    def __init__(self, groups: Ints, ids: Ids) -> None:
        self._groups, self._ids = groups, ids
        self._keys = keys = pair_keys(ids.hash(), groups)
        self._tables: list[tuple[np.uint64, Ints]] = []
        left = np.arange(len(keys), dtype=np.int32)
        while len(left):
            shift = np.uint64(64 - max(_MIN_BITS, len(left).bit_length() + 2))
            table = np.full(1 << (64 - int(shift)), -1, np.int32)
            slot = _leading_bits(spread_bits(keys[left]), shift)
            table[slot] = left
            self._tables.append((shift, table))
            left = left[keys[table[slot]] != keys[left]]

    def __reduce__(self) -> tuple[Any, ...]:
        return PairIndex, (self._groups, self._ids)  # the keys are other ones in another process

    def find(self, groups: Ints, ids: Ids, keys: Words) -> tuple[Ints, Ints]:
        """Return which of other pairs, ascending, are here, and in which row each of them is.

        `keys` are what `keyed` makes of them; all are (rows of the others,).
        """
        bits = spread_bits(keys)
        rows, found = np.arange(len(keys)), np.full(len(keys), -1)
        for shift, table in self._tables:
            at = table[_leading_bits(bits if len(rows) == len(bits) else bits[rows], shift)]
            taken = np.flatnonzero(at >= 0)
            rows, at = rows[taken], at[taken]
            equal = self._keys[at] == keys[rows]
            found[rows[equal]] = at[equal]
            rows = rows[~equal]
        rows = np.flatnonzero(found >= 0)
        at = found[rows]
        # Equal keys belong to the same pair, with rare exceptions.
        same = ids.equal(rows, self._ids, at) & (groups[rows] == self._groups[at])
        if not same.all():
            wrong = rows[~same]
            at[~same] = self._look_up(keys[wrong], groups[wrong], ids.take(wrong))
            rows, at = rows[at >= 0], at[at >= 0]
        return rows, at

    def _look_up(self, keys: Words, groups: Ints, ids: Ids) -> list[int]:
        """Return the row of each of the other pairs, -1 if it is in none, by groups and texts."""
        rows = np.flatnonzero(np.isin(self._keys, keys))
        here = zip(self._groups[rows].tolist(), self._ids.take(rows).to_list(), strict=True)
        place = dict(zip(here, rows.tolist(), strict=True))
        pairs = zip(groups.tolist(), ids.to_list(), strict=True)
        return [place.get(pair, -1) for pair in pairs]


_MIN_BITS = 14


def _leading_bits(bits: Words, shift: np.uint64) -> Ints:
    return (bits >> shift).view(np.int64)


def number_pairs(groups: Ints, ids: Ids) -> tuple[Ints, Ints]:
    """Return a row of each different pair, (n,), and which pair each row has, from 0: (rows,).

    Which of several rows stands for a pair, and so their numbers, is not certain.

    As in `Slots`; rows that find another pair in their slot look in the next table, of other bits.
    (`take` lets other threads run; `[]` does not.)

    >>> rows, pair = numbered(np.array([0, 0, 1, 0]), Ids.of([b"a", b"b", b"a", b"a"]))
    >>> len(rows), pair[0] == pair[3], sorted(pair[:3].tolist())
    (3, np.True_, [0, 1, 2])
    """
    n, hashes = len(ids), ids.hash()
    keys, n_bits = pair_keys(hashes, groups), max(n.bit_length() + 1, _MIN_BITS)
    table, shift = np.empty(1 << n_bits, np.int64), np.uint64(64 - n_bits)
    row_of = np.empty(n, np.int64)
    rows, its_hash, its_group = np.arange(n), hashes, groups  # those whose pair is not found yet
    while len(rows):
        keys = spread_bits(keys)
        slots = (keys >> shift).view(np.int64)
        table[slots] = rows
        row_of[rows] = found = table.take(slots)
        same = (hashes.take(found) == its_hash) & (groups.take(found) == its_group)
        if ids.n_words > 1:  # else a hash is that of one id
            same[same] = ids.equal(rows[same], ids, found[same])
        left = ~same
        rows, its_hash, its_group, keys = (one[left] for one in (rows, its_hash, its_group, keys))
    is_first = row_of == np.arange(n)
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1).take(row_of)
