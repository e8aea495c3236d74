"""Ids: a column of identifiers as 64-bit words, so that numpy can compare, order and hash them.

Identifiers are compared as the bytes of their text. A word holds eight of them, the first byte
highest, filled up with zeros: words in order are then bytes in order. Almost every identifier of a
run is one or two words long, and no Python object is made for any of them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.ranked import Ints

if TYPE_CHECKING:
    import pyarrow as pa

Words = NDArray[Any]  # 64-bit, without sign

# The first n bytes of a word, n = 0 to 8, as they lie in the memory.
_KEEP = np.array([b"\xff" * n for n in range(9)], "S8").view(np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers


def encode(text: str) -> bytes:
    """Return the bytes by which an identifier is compared: UTF-8, or what the file had."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(f"the id {text!r} is no text: it holds half of a surrogate pair") from None


def decode(data: bytes) -> str:
    """Return an identifier as text; bytes that are no UTF-8 survive the way back."""
    return data.decode("utf-8", "surrogateescape")


class Ids:
    """A column of identifiers: `data` (bytes,), and where in it each starts and how long it is.

    `start` and `length` are (rows,). `data` ends in eight bytes that are no identifier's, so that
    a word may be read at every byte of one.
    """

    def __init__(
        self, data: NDArray[np.uint8], start: Ints, length: Ints, adjacent: bool = False
    ) -> None:
        self._data = data
        self._words_at = np.ndarray(len(data) - 7, np.uint64, data.data, strides=(1,))
        self._start = start
        self.length = length
        self._adjacent = adjacent  # each begins where the one above ends

    @classmethod
    def of(cls, ids: Sequence[bytes]) -> "Ids":
        """Make a column of identifiers."""
        length = np.fromiter(map(len, ids), np.int64, len(ids))
        data = np.frombuffer(b"".join(ids) + bytes(8), np.uint8)
        return cls(data, np.cumsum(length) - length, length, adjacent=True)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "Ids":
        """Make a column of texts."""
        joined = "".join(texts)
        if not joined.isascii():
            return cls.of([encode(text) for text in texts])
        length = np.fromiter(map(len, texts), np.int64, len(texts))
        data = np.frombuffer(joined.encode() + bytes(8), np.uint8)
        return cls(data, np.cumsum(length) - length, length, adjacent=True)

    @classmethod
    def of_arrow(cls, column: "pa.Array") -> "Ids":
        """Make a column of an Arrow array of type binary or large_binary, without nulls."""
        _, offsets, data = column.buffers()
        if len(column) == 0:
            return cls.of([])
        wide = str(column.type).startswith("large")
        bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)
        bounds = bounds[column.offset : column.offset + len(column) + 1]
        low, high = int(bounds[0]), int(bounds[-1])
        padded = np.empty(high - low + 8, np.uint8)
        padded[high - low :] = 0
        if data is not None:
            padded[: high - low] = np.frombuffer(data, np.uint8)[low:high]
        return cls(padded, bounds[:-1] - low, np.diff(bounds), adjacent=True)

    @classmethod
    def joined(cls, columns: "Sequence[Ids]") -> "Ids":
        """Put columns one below the other."""
        places: dict[int, int] = {}  # where the bytes that several columns may share were put
        data: list[NDArray[np.uint8]] = []
        for column in columns:
            if id(column._data) not in places:
                places[id(column._data)] = sum(map(len, data))
                data.append(column._data)
        return cls(
            np.concatenate(data),
            np.concatenate([c._start.astype(np.int64) + places[id(c._data)] for c in columns]),
            np.concatenate([c.length.astype(np.int64) for c in columns]),
        )

    def __len__(self) -> int:
        return len(self.length)

    def find_spoilt(self) -> int | None:
        """Return the first row whose identifier is empty or holds a null byte, None if none does.

        Words could not tell a null byte from what they are filled up with.
        """
        spoilt = self.length == 0
        zeros = np.flatnonzero(self._data == 0)
        # The first null byte from an identifier's start on lies behind its end.
        after = np.append(zeros, len(self._data))[np.searchsorted(zeros, self._start)]
        spoilt |= after < self._start + self.length
        return int(np.argmax(spoilt)) if spoilt.any() else None

    def __getitem__(self, row: int) -> bytes:
        start = int(self._start[row])
        return self._data[start : start + int(self.length[row])].tobytes()

    def take(self, rows: "Ints | slice") -> "Ids":
        """Return the identifiers at `rows`, which share this column's bytes."""
        adjacent = self._adjacent and isinstance(rows, slice) and rows.step in (None, 1)
        return Ids(self._data, self._start[rows], self.length[rows], adjacent)

    def begin_with(self, byte: int) -> bool:
        """Tell whether any of the identifiers (none is empty) begins with this byte."""
        return bool((self._data[self._start] == byte).any())

    def to_list(self) -> list[bytes]:
        """Return the identifiers as bytes."""
        data, end = self._data.tobytes(), self._start + self.length
        return [data[b:e] for b, e in zip(self._start.tolist(), end.tolist(), strict=True)]

    @cached_property
    def n_words(self) -> int:
        """How many words the longest identifier has."""
        return (int(self.length.max(initial=0)) + 7) // 8

    def word(self, j: int, rows: Ints | None = None) -> Words:
        """Return word `j` of the identifiers at `rows`, or of all; zero past their ends."""
        return self._raw_word(j, rows).view(">u8").astype(np.uint64)

    def _raw_word(self, j: int, rows: Ints | None = None) -> Words:
        """Return word `j` as it lies in the memory: as good for all but order, and quicker."""
        start, left = self._start, self.length
        if rows is not None:
            start, left = start[rows], left[rows]
        if j > 0:
            left = left - 8 * j
            words: Words = self._words_at[np.where(left > 0, start + 8 * j, 0)]
        elif rows is None and self._adjacent and _all_same(left):
            begin, stride = int(start[0]), int(left[0])  # one as far from the next as the other
            words = self._words_at[begin : begin + stride * len(left) : stride].copy()
        else:
            words = self._words_at[start]
        words &= _KEEP.take(left, mode="clip")
        return words

    def hash(self) -> Words:
        """Return a 64-bit hash of each identifier: (rows,).

        Equal identifiers have equal hashes. Identifiers of up to eight bytes have different ones;
        longer ones very probably: whoever finds two equal compares the identifiers.
        """
        result = self._raw_word(0)
        for j in range(1, self.n_words):
            rows = np.flatnonzero(self.length > 8 * j)
            mixed = result[rows]
            mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
            result[rows] = mixed ^ self._raw_word(j, rows)
        return result

    def begins(self) -> Ints:
        """Return the rows whose identifier is not that of the row above, the first among them."""
        if len(self) == 0:
            return np.zeros(0, np.int64)
        word = self._raw_word(0)
        different = (word[1:] != word[:-1]) | (self.length[1:] != self.length[:-1])
        for j in range(1, self.n_words):
            rows = np.flatnonzero(~different & (self.length[1:] > 8 * j))
            different[rows] = self._raw_word(j, rows + 1) != self._raw_word(j, rows)
        return np.flatnonzero(np.append(True, different))

    def compare(self, rows: Ints, other: "Ids", other_rows: Ints) -> NDArray[np.int8]:
        """Compare pairs of identifiers as bytes: -1, 0 or 1 for each pair."""
        result = np.zeros(len(rows), np.int8)
        undecided = np.arange(len(rows))
        for j in range(max(self.n_words, other.n_words)):
            mine, theirs = self.word(j, rows[undecided]), other.word(j, other_rows[undecided])
            result[undecided] = np.where(mine > theirs, 1, np.where(mine < theirs, -1, 0))
            undecided = undecided[
                (mine == theirs)
                & (self.length[rows[undecided]] > 8 * j + 8)
                & (other.length[other_rows[undecided]] > 8 * j + 8)
            ]
            if len(undecided) == 0:
                break
        even = np.flatnonzero(result == 0)
        longer = self.length[rows[even]] - other.length[other_rows[even]]
        result[even] = np.sign(longer).astype(np.int8)
        return result

    def numbers(self) -> Words:
        """Return a number for each identifier: (rows,), in the order of their bytes."""
        if self.n_words <= 1:
            return self.word(0)
        if self.n_words > _FEW_WORDS:
            ids = self.to_list()
            place = {text: i for i, text in enumerate(sorted(set(ids)))}
            return np.fromiter(map(place.__getitem__, ids), np.uint64, len(ids))
        words = [self.word(j) for j in range(self.n_words)]
        order = np.lexsort((self.length, *reversed(words)))
        result = np.zeros(len(self), np.uint64)
        result[order[self.take(order).begins()]] = 1
        result[order] = np.cumsum(result[order])
        return result


_FEW_WORDS = 16  # beyond 128 bytes, ordering Python's bytes costs less than so many columns


def _all_same(length: Ints) -> bool:
    return len(length) > 0 and bool(length[0] > 0 and (length == length[0]).all())


def keyed(hashes: Words, group: Ints) -> Words:
    """Return a key for (group, identifier): equal pairs have equal keys, others hardly ever."""
    keys: Words = hashes + group.astype(np.uint64) * _ODD
    return keys
