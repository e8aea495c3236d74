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
        rows = np.arange(len(keys), dtype=np.int32)
        while len(rows):
            shift = np.uint64(64 - max(_MIN_BITS, len(rows).bit_length() + 2))
            table = np.full(1 << (64 - int(shift)), -1, np.int32)
            slot = _leading_bits(spread_bits(keys[rows]), shift)
            table[slot] = rows
            self._tables.append((shift, table))
            rows = rows[keys[table[slot]] != keys[rows]]

    def __reduce__(self) -> tuple[Any, ...]:
        return PairIndex, (self._groups, self._ids)  # the keys are other ones in another process

    def find(self, groups: Ints, ids: Ids, keys: Words) -> tuple[Ints, Ints]:
        """Return which of other pairs, ascending, are here, and in which row each of them is.

        `keys` are what `keyed` makes of them; all are (rows of the others,).
        """
        bits = spread_bits(keys)
        rows, row_of_pair = np.arange(len(keys)), np.full(len(keys), -1)
        for shift, table in self._tables:
            candidate = table[_leading_bits(bits if len(rows) == len(bits) else bits[rows], shift)]
            filled_slots = np.flatnonzero(candidate >= 0)
            rows, candidate = rows[filled_slots], candidate[filled_slots]
            has_key = self._keys[candidate] == keys[rows]
            row_of_pair[rows[has_key]] = candidate[has_key]
            rows = rows[~has_key]
        rows = np.flatnonzero(row_of_pair >= 0)
        own_row = row_of_pair[rows]
        # Equal keys belong to the same pair, with rare exceptions.
        is_match = ids.equal(rows, self._ids, own_row) & (groups[rows] == self._groups[own_row])
        if not is_match.all():
            wrong_rows = rows[~is_match]
            own_row[~is_match] = self._look_up(
                keys[wrong_rows], groups[wrong_rows], ids.take(wrong_rows)
            )
            rows, own_row = rows[own_row >= 0], own_row[own_row >= 0]
        return rows, own_row

    def _look_up(self, keys: Words, groups: Ints, ids: Ids) -> list[int]:
        """Return the row of each of the other pairs, -1 if it is in none, by groups and texts."""
        rows = np.flatnonzero(np.isin(self._keys, keys))
        own_pairs = zip(self._groups[rows].tolist(), self._ids.take(rows).to_list(), strict=True)
        row_of_own_pair = dict(zip(own_pairs, rows.tolist(), strict=True))
        pairs = zip(groups.tolist(), ids.to_list(), strict=True)
        return [row_of_own_pair.get(pair, -1) for pair in pairs]


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
    rows, row_hash, row_group = np.arange(n), hashes, groups  # those whose pair is not found yet
    while len(rows):
        keys = spread_bits(keys)
        slots = (keys >> shift).view(np.int64)
        table[slots] = rows
        row_of[rows] = candidate = table.take(slots)
        is_match = (hashes.take(candidate) == row_hash) & (groups.take(candidate) == row_group)
        if ids.n_words > 1:  # else a hash is that of one id
            is_match[is_match] = ids.equal(rows[is_match], ids, candidate[is_match])
        is_unsolved = ~is_match
        rows, row_hash, row_group, keys = (
            column[is_unsolved] for column in (rows, row_hash, row_group, keys)
        )
    is_first = row_of == np.arange(n)
    return np.flatnonzero(is_first), (np.cumsum(is_first) - 1).take(row_of)
