"""Ids: a column of identifiers as 64-bit words, so that numpy can compare, order and hash them.

Identifiers are compared as the bytes of their text. A word holds eight of them, the first byte
highest, filled up with zeros: words in order are then bytes in order. Almost every identifier of a
run is one or two words long, and no Python object is made for any of them. An identifier may be of
any length: what goes on behind so many words is taken as Python's bytes, row by row, and bytes that
several rows share are looked at once. So the time depends on the bytes that there are, not on the
longest identifier times the number of rows.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Ints
from cranfield.errors import InputError
from cranfield.lazy import cached_property

if TYPE_CHECKING:
    import pyarrow as pa

Words = NDArray[Any]  # 64-bit, without sign

# The first n bytes of a word, n = 0 to 8, as they lie in the memory.
_KEEP = np.array([b"\xff" * n for n in range(9)], "S8").view(np.uint64)
_MOST_WORDS = 64  # beyond 512 bytes, an identifier is taken as Python's bytes
_FEW_WORDS = 16  # beyond 128 bytes, ordering Python's bytes costs less than so many columns


def _splitmix(n: int) -> Words:
    """Return n numbers without a pattern, always the same: splitmix64 (Steele et al., 2014)."""
    x = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# By what a hash multiplies words: two numbers for each word but the first. FIXED is the same in
# every process, for what is given out in the order of the hashes; ids of one such hash can be made
# up. The others are drawn in every process, so that nobody can. No result depends on them.
FIXED = _splitmix(2 * _MOST_WORDS)
_SECRET = np.frombuffer(os.urandom(16 * _MOST_WORDS), np.uint64)
_ODD, _SPREAD = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)


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

    `start` and `length` are (rows,). `data` goes on for eight bytes behind the last identifier, so
    that a word may be read at every byte of one.
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        start: Ints,
        length: Ints,
        adjacent: bool = False,
        ordered: bool = False,
    ) -> None:
        self._data = data
        self._words_at = np.ndarray(len(data) - 7, np.uint64, data.data, strides=(1,))
        self._start = start
        self.length = length
        self._adjacent = adjacent  # each begins where the one above ends
        self._ordered = ordered or adjacent  # each lies behind the one above
        self._is_clean = False  # known to be neither empty nor to hold a null byte

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids, (self._data, self._start, self.length, self._adjacent, self._ordered)

    @classmethod
    def of(cls, ids: Sequence[bytes]) -> "Ids":
        """Make a column of identifiers; long ones that occur often are held once."""
        length = np.fromiter(map(len, ids), np.int64, len(ids))
        once = held_once(ids, int(length.sum()))
        if once is not None:
            return cls.of(once[0]).take(once[1])
        data = np.frombuffer(b"".join(ids) + bytes(8), np.uint8)
        return cls(data, np.cumsum(length) - length, length, adjacent=True)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "Ids":
        """Make a column of texts; long ones that occur often are held once."""
        length = np.fromiter(map(len, texts), np.int64, len(texts))
        once = held_once(texts, int(length.sum()))
        if once is not None:
            return cls.of_texts(once[0]).take(once[1])
        joined = "".join(texts)
        if not joined.isascii():
            return cls.of([encode(text) for text in texts])
        data = np.frombuffer(joined.encode() + bytes(8), np.uint8)
        return cls(data, np.cumsum(length) - length, length, adjacent=True)

    @classmethod
    def of_arrow(cls, column: "pa.Array") -> "Ids":
        """Make a column of an Arrow array of type binary or large_binary, without nulls."""
        _, offsets, data = column.buffers()
        if len(column) == 0:
            return cls.of([])
        wide = str(column.type).startswith("large")
        # Counted, since the buffer of a damaged file may end within an offset that is not needed.
        count = column.offset + len(column) + 1
        bounds = np.frombuffer(offsets, np.int64 if wide else np.int32, count)[column.offset :]
        low, high = int(bounds[0]), int(bounds[-1])
        if data is not None and data.size >= high + 8:  # a word may be read at its last byte
            shared = np.frombuffer(data, np.uint8)[low : high + 8]
            return cls(shared, bounds[:-1] - low, np.diff(bounds), adjacent=True)
        padded = np.empty(high - low + 8, np.uint8)
        padded[high - low :] = 0
        if data is not None:
            padded[: high - low] = np.frombuffer(data, np.uint8)[low:high]
        return cls(padded, bounds[:-1] - low, np.diff(bounds), adjacent=True)

    @classmethod
    def of_views(cls, column: "pa.Array") -> "Ids | None":
        """Make a column of an Arrow array of views, whose texts are short; None if one is long.

        A view of up to twelve bytes holds them itself, behind their number.
        """
        buffer = column.buffers()[1]
        low, high = 16 * column.offset, 16 * (column.offset + len(column))
        if len(column) == 0:
            return cls.of([])
        if len(column) >= 1 << 27:  # blocks are much shorter
            return None
        views = np.frombuffer(buffer, np.uint8)[low : high + 8]
        if len(views) < high - low + 8:
            views = np.append(views, np.zeros(8, np.uint8))
        length = views[: high - low].view(np.int32)[::4].copy()
        if int(length.max()) > 12:
            return None
        start = np.arange(4, 16 * len(column), 16, dtype=np.int32)
        ids = cls(views, start, length, ordered=True)
        # Behind a text there are zeros. Were one within it, too, there would be fewer others.
        others = int(np.count_nonzero(views[: high - low]))
        ids._is_clean = int(length.min()) > 0 and others == len(column) + int(length.sum())
        return ids

    @classmethod
    def joined(cls, columns: "Sequence[Ids]") -> "Ids":
        """Put columns one below the other."""
        places: dict[int, int] = {}  # where the bytes that several columns may share were put
        data: list[NDArray[np.uint8]] = []
        starts: list[Ints] = []
        n_bytes = 0
        columns = [column for column in columns if len(column)]
        for column in columns:
            low, ours = 0, column._data
            if column._ordered:
                low, high = int(column._start[0]), int(column._start[-1] + column.length[-1])
                ours = ours[low:high]
            place = places.get(id(column._data))
            if place is None or column._ordered:
                place, n_bytes = n_bytes - low, n_bytes + len(ours)
                data.append(ours)
                if not column._ordered:
                    places[id(column._data)] = place
            starts.append(column._start.astype(np.int64) + place)
        adjacent = all(column._adjacent for column in columns)
        ordered = all(column._ordered for column in columns)
        return cls(
            np.concatenate([*data, np.zeros(8, np.uint8)]),
            np.concatenate([*starts, np.zeros(0, np.int64)]),
            np.concatenate([*(column.length for column in columns), np.zeros(0, np.int32)]),
            adjacent,
            ordered,
        )

    def to_arrow(self) -> "pa.Array":
        """Return an Arrow array of type large_binary."""
        import pyarrow as pa

        # Not by pa.array(), which imports pandas wherever it is installed.
        bounds = np.cumsum(np.append(0, self.length.astype(np.int64)))
        data: bytes | NDArray[np.uint8]
        if self._adjacent and len(self):
            data = self._data[int(self._start[0]) : int(self._start[-1] + self.length[-1])]
        else:
            data = b"".join(self.to_list())
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def compact(self) -> "Ids":
        """Return the same identifiers in memory of their own, in the order of the rows."""
        n, w = len(self), self.n_words
        if w > _FEW_WORDS:
            return Ids.of(self.to_list())
        words = np.zeros((n + 1) * w + 1, np.uint64)
        for j in range(w):
            words[j : n * w : w] = self._raw_word(j)
        start = np.arange(n, dtype=np.int64 if n * w >> 28 else np.int32) * (8 * w)
        return Ids(words.view(np.uint8), start, self.length, ordered=True)

    def __len__(self) -> int:
        return len(self.length)

    def spoilt(self) -> Bools | None:
        """Tell which identifiers are empty or hold a null byte: (rows,); None if none is.

        Words could not tell a null byte from what they are filled up with.
        """
        if len(self) == 0 or self._is_clean:
            return None
        if self._adjacent and int(self.length.min()) > 0:
            low, high = int(self._start[0]), int(self._start[-1]) + int(self.length[-1])
            if b"\0" not in self._data[low:high].tobytes():
                return None
        spoilt: Bools = self.length == 0
        for j, rows in self._going_on():
            left = (self.length if rows is None else self.length[rows]) - 8 * j
            word = ~self._raw_word(j, rows)
            # A byte of ones, where the identifier has a zero; past its end there are only ones.
            word = _kept(word, left)
            found = ((~word - _LOW) & word & _HIGH) != 0
            if rows is None:
                spoilt |= found
            else:
                spoilt[rows[found]] = True
        known: dict[tuple[int, int], bool] = {}
        for row, place in self._long(np.arange(len(self))):
            if place not in known:
                known[place] = b"\0" in self._rest(place)
            spoilt[row] |= known[place]
        return spoilt if spoilt.any() else None

    def __getitem__(self, row: int) -> bytes:
        start = int(self._start[row])
        return self._data[start : start + int(self.length[row])].tobytes()

    def take(self, rows: "Ints | slice") -> "Ids":
        """Return the identifiers at `rows`, which share this column's bytes."""
        in_order = isinstance(rows, slice) and rows.step in (None, 1)
        adjacent, ordered = self._adjacent and in_order, self._ordered and in_order
        return Ids(self._data, self._start[rows], self.length[rows], adjacent, ordered)

    def are_digits(self) -> bool:
        """Tell whether there is nothing but decimal digits in any of them, and none is empty."""
        if len(self) == 0 or not self.length.all():
            return False
        ours = self._data[int(self._start[0]) : int(self._start[-1] + self.length[-1])]
        return self._adjacent and bool(((ours >= 48) & (ours <= 57)).all())

    def to_numbers(self) -> Ints:
        """Return the numbers that the identifiers are, all of them digits, eighteen at most."""
        numbers = np.zeros(len(self), np.int64)
        for j in range(int(self.length.max(initial=0))):
            there = self.length > j
            digit = self._data[np.where(there, self._start + j, self._start)].astype(np.int64) - 48
            numbers = np.where(there, numbers * 10 + digit, numbers)
        return numbers

    def are_visible(self) -> bool:
        """Tell whether there is nothing but visible ASCII characters in any of them."""
        data = self.compact()._data
        return not (((data <= 32) & (data != 0)) | (data >= 127)).any()

    def begin_with(self, byte: int) -> bool:
        """Tell whether any of the identifiers (none is empty) begins with this byte."""
        return bool((self._data[self._start] == byte).any())

    def to_list(self) -> list[bytes]:
        """Return the identifiers as bytes."""
        if len(self) == 0:
            return []
        low = int(self._start.min())
        end = self._start + self.length
        data = self._data[low : int(end.max())]
        if len(data) > 64 * len(self) and len(data) > 2 * int(self.length.sum()):
            return [self[row] for row in range(len(self))]  # they lie far apart
        begins, ends = (self._start - low).tolist(), (end - low).tolist()
        text = data.tobytes()
        if self.n_words > _FEW_WORDS and int(self.length.sum(dtype=np.int64)) > len(text):
            once = {place: text[slice(*place)] for place in zip(begins, ends, strict=True)}
            return [once[place] for place in zip(begins, ends, strict=True)]
        return [text[b:e] for b, e in zip(begins, ends, strict=True)]

    @cached_property
    def n_bytes(self) -> int:
        """How many bytes the longest identifier has."""
        return int(self.length.max(initial=0))

    @property
    def n_words(self) -> int:
        """How many words the longest identifier has."""
        return (self.n_bytes + 7) // 8

    def word(self, j: int, rows: Ints | None = None) -> Words:
        """Return word `j` of the identifiers at `rows`, or of all; zero past their ends."""
        return self._raw_word(j, rows).view(">u8").astype(np.uint64)

    def _raw_word(self, j: int, rows: Ints | None = None) -> Words:
        """Return word `j` as it lies in the memory: as good for all but order, and quicker."""
        start, left = self._start, self.length
        if rows is not None:
            start, left = start[rows], left[rows]
        words: Words
        if rows is None and self._adjacent and 8 * j < self.n_bytes and _all_same(left):
            # One is as far from the next as the other.
            begin, stride = int(start[0]) + 8 * j, int(left[0])
            words = self._words_at[begin : begin + stride * len(left) : stride].copy()
            return _kept(words, left[:1] - 8 * j)
        if j > 0:
            left = left - 8 * j
            words = self._words_at[np.where(left > 0, start + 8 * j, 0)]
        else:
            words = self._words_at[start]
        return _kept(words, left)

    def _going_on(self) -> Iterator[tuple[int, Ints | None]]:
        """Yield (j, the rows of which some have a word j), None for all rows."""
        rows: Ints | None = None
        for j in range(min(self.n_words, _MOST_WORDS)):
            if j > 0 and rows is None:
                goes_on = self.length > 8 * j
                if 2 * np.count_nonzero(goes_on) < len(self):  # of more, all cost less
                    rows = np.flatnonzero(goes_on)
            elif rows is not None:
                rows = rows[self.length[rows] > 8 * j]
            yield j, rows

    def _long(self, rows: Ints) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield those of `rows` that go on behind the words, and where the whole of each lies."""
        if self.n_words > _MOST_WORDS:
            length = self.length[rows]
            at = np.flatnonzero(length > 8 * _MOST_WORDS)
            places = zip(self._start[rows[at]].tolist(), length[at].tolist(), strict=True)
            yield from zip(rows[at].tolist(), places, strict=True)

    def _rest(self, place: tuple[int, int]) -> bytes:
        """Return what goes on behind the words of an identifier that lies at `place`."""
        start, length = place
        return self._data[start + 8 * _MOST_WORDS : start + length].tobytes()

    def hash(self, keys: Words = _SECRET) -> Words:
        """Return a 64-bit hash of each identifier: (rows,), by numbers to multiply words by.

        Equal identifiers have equal hashes. Identifiers of up to eight bytes have different ones.
        Of longer ones, whoever finds two equal hashes compares the identifiers. That happens for
        two different identifiers, whatever they are, with a probability of 2^-33 at most, as long
        as the numbers are drawn at random, and are not known to who makes the identifiers up.

        The hash is the first word, plus every half of 32 bits of the others times a number of its
        own, modulo 2^64: the multilinear family (Carter & Wegman, 1979; Lemire & Kaser, "Strongly
        universal string hashing is fast", 2014). Where two identifiers differ in a half, its number
        times the difference, which is below 2^32, would have to be one certain number: so it is for
        at most 2^31 of the 2^64 numbers. (With a = keys[2j - 2] and b = keys[2j - 1], a w + b
        (w >> 32) is a times the lower half plus (2^32 a + b) times the higher: the two are drawn
        as a and b are.) What goes on behind so many words is added as its BLAKE2b with a key
        (RFC 7693), which nobody tells from random numbers.

        >>> Ids.of([b"d1", b"a document's long id"]).hash(FIXED)[0] == int.from_bytes(b"1d")
        np.True_
        """
        result = self._raw_word(0)
        for j, rows in self._going_on():
            if j == 0:
                continue
            word = self._raw_word(j, rows)
            part = word * keys[2 * j - 2]
            word >>= _HALF
            word *= keys[2 * j - 1]
            part += word
            if rows is None:
                result += part  # past the end of an identifier, words are zero
            else:
                result[rows] += part
        known: dict[tuple[int, int], np.uint64] = {}
        for row, place in self._long(np.arange(len(self))):
            if place not in known:
                known[place] = _digest(self._rest(place), keys)
            result[row : row + 1] += known[place]  # numbers by themselves warn of what wraps around
        return result

    def begins(self) -> Ints:
        """Return the rows whose identifier is not that of the row above, the first among them."""
        if len(self) == 0:
            return np.zeros(0, np.int64)
        word = self._raw_word(0)
        different = (word[1:] != word[:-1]) | (self.length[1:] != self.length[:-1])
        if self.n_words > 1:
            rows = np.flatnonzero(~different & (self.length[1:] > 8))
            rows = rows[self._start[rows] != self._start[rows + 1]]  # else the bytes are the same
            for j in range(1, min(self.n_words, _MOST_WORDS)):
                other = self._raw_word(j, rows + 1) != self._raw_word(j, rows)
                different[rows[other]] = True
                rows = rows[~other & (self.length[rows] > 8 * j + 8)]
            below = self._long(rows + 1)
            for (row, place), (_, next_place) in zip(self._long(rows), below, strict=True):
                different[row] = self._rest(place) != self._rest(next_place)
        return np.flatnonzero(np.append(True, different))

    def compare(self, rows: Ints, other: "Ids", other_rows: Ints) -> NDArray[np.int8]:
        """Compare pairs of identifiers as bytes: -1, 0 or 1 for each pair."""
        result = np.zeros(len(rows), np.int8)
        undecided = np.arange(len(rows))
        for j in range(min(max(self.n_words, other.n_words), _MOST_WORDS)):
            mine, theirs = self.word(j, rows[undecided]), other.word(j, other_rows[undecided])
            result[undecided] = np.where(mine > theirs, 1, np.where(mine < theirs, -1, 0))
            undecided = undecided[
                (mine == theirs)
                & (self.length[rows[undecided]] > 8 * j + 8)
                & (other.length[other_rows[undecided]] > 8 * j + 8)
            ]
            if len(undecided) == 0:
                break
        else:
            self._compare_rest(undecided, rows, other, other_rows, result)
        even = np.flatnonzero(result == 0)
        longer = self.length[rows[even]] - other.length[other_rows[even]]
        result[even] = np.sign(longer).astype(np.int8)
        return result

    def _compare_rest(
        self, pairs: Ints, rows: Ints, other: "Ids", other_rows: Ints, result: NDArray[np.int8]
    ) -> None:
        """Compare those of the pairs of which both go on behind the words, and are alike so far."""
        n_bytes = 8 * _MOST_WORDS
        both = (self.length[rows[pairs]] > n_bytes) & (other.length[other_rows[pairs]] > n_bytes)
        pairs = pairs[both]
        mine, theirs = self._long(rows[pairs]), other._long(other_rows[pairs])
        known: dict[tuple[tuple[int, int], tuple[int, int]], int] = {}
        for pair, (_, a), (_, b) in zip(pairs.tolist(), mine, theirs, strict=True):
            if (a, b) not in known:
                same = a == b and self._data is other._data
                left, right = (b"", b"") if same else (self._rest(a), other._rest(b))
                known[a, b] = (left > right) - (left < right)
            result[pair] = known[a, b]

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


# Every byte 1, every byte 128: a byte of x is 0 if one of (x - 1...) & ~x has its highest bit set.
_LOW, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_HALF = np.uint64(32)


def _kept(words: Words, left: Ints) -> Words:
    """Return the first `left` bytes of each word as it lies in the memory, zeros behind them."""
    words &= _KEEP[min(int(left[0]), 8)] if _all_same(left) else _KEEP.take(left, mode="clip")
    return words


def _digest(rest: bytes, keys: Words) -> np.uint64:
    """Return 64 bits of the BLAKE2b of some bytes; the last of the numbers are its key."""
    from hashlib import blake2b

    digest = blake2b(rest, digest_size=8, key=keys[-2:].tobytes()).digest()
    return np.uint64(int.from_bytes(digest, "little"))


_Text = TypeVar("_Text", str, bytes)


def held_once(texts: Sequence[_Text], size: int) -> tuple[list[_Text], Ints] | None:
    """Return texts, each once, and each row's place among them; None if that is not worth it.

    It is worth it for long texts that occur often: together, which is `size` characters, they may
    be longer than the memory, when each of them is one object.
    """
    if size <= 8 * _FEW_WORDS * len(texts):
        return None
    once = dict.fromkeys(texts)
    if 2 * len(once) > len(texts):
        return None
    place = {text: i for i, text in enumerate(once)}
    return list(once), np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))


def _all_same(length: Ints) -> bool:
    return len(length) > 0 and bool(length[0] > 0 and (length == length[0]).all())


def keyed(hashes: Words, group: Ints) -> Words:
    """Return a key for (group, identifier): equal pairs have equal keys, others hardly ever.

    As `Ids.hash`, with the group times a number of its own: of fewer than 2^30 groups, two
    different pairs have the same key with a probability of 2^-33 at most.
    """
    keys: Words = hashes + group.astype(np.uint64) * _ODD
    return keys


def spread(words: Words, odd: np.uint64 = _SPREAD) -> Words:
    """Spread words over all 64 bits, so that the first n may stand for all.

    Of two different words these are the same with a probability of 2^(1 - n) at most, if the odd
    number is not known to who makes them up (Dietzfelbinger et al., 1997).
    """
    return words * odd
