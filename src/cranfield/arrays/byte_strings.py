"""ByteStrings: a column of byte strings as 64-bit words, which numpy compares, orders and hashes.

A word holds eight bytes, filled up with zeros. With the first byte highest, as in `word`, words in
order are bytes in order; `_raw_word` leaves them as they lie. Almost every identifier of a run is
one or two words long, and no Python object is made for any of them. The tail of an identifier of
more than _MAX_WORDS words is taken as Python's bytes, and bytes that several rows share are looked
at once. So the time depends on the number of bytes, not on the longest byte string times the number
of rows.
"""

import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Ints
from cranfield.lazy import cached_property

Words = NDArray[Any]  # 64-bit, without sign

# Masks of the first n bytes of a word, n = 0 to 8, as they lie in the memory.
_BYTE_MASKS = np.array([b"\xff" * n for n in range(9)], "S8").view(np.uint64)
_MAX_WORDS = 64  # an identifier's tail, behind 512 bytes, is taken as Python's bytes
FEW_WORDS = 16  # beyond 128 bytes, Python's bytes are quicker to order, and equal ids may share


def mix_words(words: Words) -> Words:
    """Return words mixed to show no pattern; distinct words stay distinct (splitmix64)."""
    x = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed_words: Words = x ^ (x >> np.uint64(31))
    return mixed_words


# A hash multiplies each word but the first by two numbers. FIXED_KEYS are the same in every
# process, for rows that are given out in the order of their hashes; ids of equal hash can be made
# up. Secret keys are drawn in every process, so that nobody can. No result depends on them.
# FIXED_KEYS are numbers without a pattern: splitmix64 (Steele et al., 2014).
_COUNTS = np.arange(1, 2 * _MAX_WORDS + 1, dtype=np.uint64)
FIXED_KEYS = mix_words(_COUNTS * np.uint64(0x9E3779B97F4A7C15))
_SECRET_KEYS = np.frombuffer(os.urandom(16 * _MAX_WORDS), np.uint64)
_GROUP_FACTOR, _SPREAD_FACTOR = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)


class ByteStrings:
    """A column of byte strings: a buffer (bytes,), and the start and the length of each in it.

    `start` and `length` are (rows,). The buffer goes on for eight bytes behind the last byte
    string, or more, so that a word may be read at every byte of a string.
    """

    def __init__(
        self,
        buffer: NDArray[np.uint8],
        start: Ints,
        length: Ints,
        is_adjacent: bool = False,
        is_ordered: bool = False,
    ) -> None:
        self._buffer = buffer
        self._word_at_byte = np.ndarray(len(buffer) - 7, np.uint64, buffer.data, strides=(1,))
        self._start = start
        self.length = length
        self._is_adjacent = is_adjacent  # each begins where the string above ends
        self._is_ordered = is_ordered or is_adjacent  # each lies behind the string above
        self._is_clean = False  # each is known not to be empty, nor to hold a null byte

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self._buffer,
            self._start,
            self.length,
            self._is_adjacent,
            self._is_ordered,
        )

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, row: int) -> bytes:
        start = int(self._start[row])
        return self._buffer[start : start + int(self.length[row])].tobytes()

    def take(self, rows: Ints | slice) -> Self:
        """Return the identifiers at `rows`, which share this column's bytes."""
        keeps_order = isinstance(rows, slice) and rows.step in (None, 1)
        column = type(self)(
            self._buffer,
            self._start[rows],
            self.length[rows],
            is_adjacent=self._is_adjacent and keeps_order,
            is_ordered=self._is_ordered and keeps_order,
        )
        column._is_clean = self._is_clean
        return column

    def to_list(self) -> list[bytes]:
        """Return the identifiers as bytes."""
        if len(self) == 0:
            return []
        first_byte, end = int(self._start.min()), self._start + self.length
        id_bytes = self._buffer[first_byte : int(end.max())]
        if len(id_bytes) > 64 * len(self) and len(id_bytes) > 2 * int(self.length.sum()):
            return [self[row] for row in range(len(self))]  # they lie far apart
        begins, ends = (self._start - first_byte).tolist(), (end - first_byte).tolist()
        shared_bytes, bounds = id_bytes.tobytes(), zip(begins, ends, strict=True)
        if self.n_words > FEW_WORDS and int(self.length.sum(dtype=np.int64)) > len(shared_bytes):
            pairs = [*bounds]  # some share their bytes, and then an object
            id_of_pair = {(begin, end): shared_bytes[begin:end] for begin, end in pairs}
            return [id_of_pair[pair] for pair in pairs]
        return [shared_bytes[begin:end] for begin, end in bounds]

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
        start, n_left = self._start, self.length
        if rows is not None:
            start, n_left = start[rows], n_left[rows]
        words: Words
        if rows is None and self._is_adjacent and 8 * j < self.n_bytes and _has_one_length(n_left):
            # Each identifier is as far from the next.
            begin, stride = int(start[0]) + 8 * j, int(n_left[0])
            words = self._word_at_byte[begin : begin + stride * len(n_left) : stride].copy()
            return _mask_ends(words, n_left[:1] - 8 * j)
        if j > 0:
            n_left = n_left - 8 * j
            words = self._word_at_byte[np.where(n_left > 0, start + 8 * j, 0)]
        else:
            words = self._word_at_byte[start]
        return _mask_ends(words, n_left)

    def _rows_with_word(self) -> Iterator[tuple[int, Ints | None]]:
        """Yield (j, rows), j < _MAX_WORDS: the rows that have a word j, or None for all rows."""
        rows: Ints | None = None
        for j in range(min(self.n_words, _MAX_WORDS)):
            if j > 0 and rows is None:
                goes_on = self.length > 8 * j
                if 2 * np.count_nonzero(goes_on) < len(self):  # else all rows cost less
                    rows = np.flatnonzero(goes_on)
            elif rows is not None:
                rows = rows[self.length[rows] > 8 * j]
            yield j, rows

    def _long_rows(self) -> Ints:
        """Return the rows whose identifiers are longer than _MAX_WORDS words."""
        if self.n_words <= _MAX_WORDS:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.length > 8 * _MAX_WORDS)

    def _tails(self, rows: Ints) -> tuple[list[bytes], Ints]:
        """Return the tails, behind the words, at `rows`, and each row's tail number.

        Rows that share their bytes share a tail; two tails may still be equal.
        """
        number_of_span: dict[tuple[int, int], int] = {}  # {(start, length): tail number}
        spans = zip(self._start[rows].tolist(), self.length[rows].tolist(), strict=True)
        tail_number = [number_of_span.setdefault(span, len(number_of_span)) for span in spans]
        skip = 8 * _MAX_WORDS
        tails = [self._buffer[start + skip : start + n].tobytes() for start, n in number_of_span]
        return tails, np.array(tail_number, np.int64)

    def mark_invalid(self) -> Bools | None:
        """Return a mask of ids that are empty or hold a null byte, (rows,); None without such ids.

        Words could not tell a null byte from the zeros behind an identifier.
        """
        if len(self) == 0 or self._is_clean:
            return None
        if self._is_adjacent and int(self.length.min()) > 0:
            low, high = int(self._start[0]), int(self._start[-1]) + int(self.length[-1])
            if b"\0" not in self._buffer[low:high].tobytes():
                self._is_clean = True
                return None
        is_invalid: Bools = self.length == 0
        for j, rows in self._rows_with_word():
            n_left = (self.length if rows is None else self.length[rows]) - 8 * j
            word = ~self._raw_word(j, rows)
            # A byte of ones where the identifier has a zero; zeros past its end.
            word = _mask_ends(word, n_left)
            has_zero = ((~word - _LOW) & word & _HIGH) != 0
            if rows is None:
                is_invalid |= has_zero
            else:
                is_invalid[rows[has_zero]] = True
        long_rows = self._long_rows()
        tails, tail_number = self._tails(long_rows)
        is_invalid[long_rows] |= np.array([b"\0" in tail for tail in tails], np.bool_)[tail_number]
        return is_invalid if is_invalid.any() else None

    def hash(self, keys: Words = _SECRET_KEYS) -> Words:
        """Return a 64-bit hash of each identifier, (rows,), by `keys`, (2 * _MAX_WORDS,).

        Equal identifiers have equal hashes. Different identifiers of up to eight bytes have
        different hashes, if none holds a null byte. Longer identifiers of equal hash are still to
        be compared: different identifiers have equal hashes with a probability of 2^-33 at most, as
        long as the keys are drawn at random, and the author of the identifiers does not know them.

        The hash is the first word, plus every half of 32 bits of the other words times its own key,
        modulo 2^64: the multilinear family (Carter & Wegman, 1979; Lemire & Kaser, "Strongly
        universal string hashing is fast", 2014). Where two identifiers differ in a half, its key
        times the difference, which is below 2^32, would have to be one certain number: so it is for
        at most 2^31 of the 2^64 keys. (With a = keys[2j - 2] and b = keys[2j - 1], a w + b
        (w >> 32) is a times the lower half plus (2^32 a + b) times the higher: the two are drawn
        as a and b are.) The tail behind the words is added as its BLAKE2b with a key (RFC 7693),
        which nobody tells from random numbers.

        >>> from cranfield.arrays.ids import Ids
        >>> Ids.of([b"d1", b"a document's long id"]).hash(FIXED_KEYS)[0] == int.from_bytes(b"1d")
        np.True_
        """
        hash_words = self._raw_word(0)
        for j, rows in self._rows_with_word():
            if j == 0:
                continue
            word = self._raw_word(j, rows)
            product = word * keys[2 * j - 2]
            word >>= _HALF
            word *= keys[2 * j - 1]
            product += word
            if rows is None:
                hash_words += product  # past the end of an identifier, words are zero
            else:
                hash_words[rows] += product
        long_rows = self._long_rows()
        tails, tail_number = self._tails(long_rows)
        digests = np.array([_digest(tail, keys) for tail in tails], np.uint64)
        hash_words[long_rows] += digests[tail_number]
        return hash_words

    def find_changes(self) -> Ints:
        """Return the rows whose identifier differs from the row above's; row 0 among them."""
        if len(self) == 0:
            return np.zeros(0, np.int64)
        word = self._raw_word(0)
        differs = (word[1:] != word[:-1]) | (self.length[1:] != self.length[:-1])
        if self.n_words > 1:
            rows = np.flatnonzero(~differs & (self.length[1:] > 8))
            rows = rows[self._start[rows] != self._start[rows + 1]]  # else the bytes are the same
            for j in range(1, min(self.n_words, _MAX_WORDS)):
                word_differs = self._raw_word(j, rows + 1) != self._raw_word(j, rows)
                differs[rows[word_differs]] = True
                rows = rows[~word_differs & (self.length[rows] > 8 * j + 8)]
            if self.n_words > _MAX_WORDS:
                differs[rows] = self._compare_tails(rows, self, rows + 1) != 0
        return np.flatnonzero(np.append(True, differs))

    def equal(self, rows: Ints, second_ids: Self, second_rows: Ints) -> Bools:
        """Tell whether each of `rows` equals its row of `second_ids`, `second_rows`: (pairs,)."""
        length = self.length[rows]
        start = self._start[rows]
        second_start = second_ids._start[second_rows]
        differs = length != second_ids.length[second_rows]
        words, second_words = self._word_at_byte, second_ids._word_at_byte
        last, second_last = len(words) - 1, len(second_words) - 1
        for j in range(min(self.n_words, second_ids.n_words, _MAX_WORDS)):
            # Not min(start + 8 j, last), which may be too large a number for 32 bits.
            word = words[np.minimum(start, last - 8 * j) + 8 * j]
            word ^= second_words[np.minimum(second_start, second_last - 8 * j) + 8 * j]
            word &= _BYTE_MASKS.take(length - 8 * j, mode="clip")  # no byte past the end
            differs |= word != 0
        is_match: Bools = ~differs
        long_pairs = np.flatnonzero(is_match & (length > 8 * _MAX_WORDS))
        if len(long_pairs):
            sign = self._compare_tails(rows[long_pairs], second_ids, second_rows[long_pairs])
            is_match[long_pairs] = sign == 0
        return is_match

    def compare(self, rows: Ints, second_ids: Self, second_rows: Ints) -> NDArray[np.int8]:
        """Compare pairs of ids, the second of `second_ids`, as bytes: -1, 0 or 1, (pairs,)."""
        sign = np.zeros(len(rows), np.int8)
        open_pairs = np.arange(len(rows))  # equal so far, with no end seen
        for j in range(min(max(self.n_words, second_ids.n_words), _MAX_WORDS)):
            row, second_row = rows[open_pairs], second_rows[open_pairs]
            word, second_word = self.word(j, row), second_ids.word(j, second_row)
            sign[open_pairs] = np.where(word > second_word, 1, np.where(word < second_word, -1, 0))
            goes_on = (self.length[row] > 8 * j + 8) & (second_ids.length[second_row] > 8 * j + 8)
            open_pairs = open_pairs[(word == second_word) & goes_on]
            if len(open_pairs) == 0:
                break
        else:
            row, second_row = rows[open_pairs], second_rows[open_pairs]
            sign[open_pairs] = self._compare_tails(row, second_ids, second_row)
        even = np.flatnonzero(sign == 0)
        length_difference = self.length[rows[even]] - second_ids.length[second_rows[even]]
        sign[even] = np.sign(length_difference).astype(np.int8)
        return sign

    def _compare_tails(self, rows: Ints, second_ids: Self, second_rows: Ints) -> Ints:
        """Compare the tails behind the words, as in `compare`: -1, 0 or 1, (pairs,)."""
        tails, number = self._tails(rows)
        second_tails, second_number = second_ids._tails(second_rows)
        rank_of_tail = {tail: i for i, tail in enumerate(sorted({*tails, *second_tails}))}
        rank = np.array([rank_of_tail[tail] for tail in tails], np.int64)
        second_rank = np.array([rank_of_tail[tail] for tail in second_tails], np.int64)
        sign: Ints = np.sign(rank[number] - second_rank[second_number])
        return sign

    def sort_keys(self) -> Words:
        """Return numbers, (rows,), that compare as the column's ids, without null bytes, do."""
        if self.n_words <= 1:
            return self.word(0)
        if self.n_words > FEW_WORDS:
            ids = self.to_list()
            rank_of_id = {id_bytes: i for i, id_bytes in enumerate(sorted(set(ids)))}
            return np.fromiter(map(rank_of_id.__getitem__, ids), np.uint64, len(ids))
        words = [self.word(j) for j in range(self.n_words)]
        order = np.lexsort((self.length, *reversed(words)))
        sort_key = np.zeros(len(self), np.uint64)
        sort_key[order[self.take(order).find_changes()]] = 1
        sort_key[order] = np.cumsum(sort_key[order])
        return sort_key


# Every byte 1, every byte 128: a byte of x is 0 if one of (x - 1...) & ~x has its highest bit set.
_LOW, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_HALF = np.uint64(32)  # bits of half a word


def _mask_ends(words: Words, n_bytes: Ints) -> Words:
    """Zero, in place, what is behind the first `n_bytes` bytes of each word as it lies in memory.

    `n_bytes` is (rows,), or (1,) for all words; below 0 it counts as 0, above 8 as 8.
    """
    if _has_one_length(n_bytes):
        words &= _BYTE_MASKS[min(int(n_bytes[0]), 8)]
    else:
        words &= _BYTE_MASKS.take(n_bytes, mode="clip")
    return words


def _digest(tail: bytes, keys: Words) -> np.uint64:
    """Return 64 bits of the BLAKE2b of `tail`; the last two of `keys` are its key."""
    from hashlib import blake2b

    digest = blake2b(tail, digest_size=8, key=keys[-2:].tobytes()).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _has_one_length(length: Ints) -> bool:
    """Tell whether there are lengths, all equal and above 0."""
    return len(length) > 0 and bool(length[0] > 0 and (length == length[0]).all())


def pair_keys(hashes: Words, group: Ints) -> Words:
    """Return a key for each (group, identifier): equal pairs have equal keys, others hardly ever.

    `hashes`, by secret keys, are the identifiers'; a group times a secret factor is added: of fewer
    than 2^30 groups, two different pairs have the same key with a probability of 2^-33 at most.
    """
    keys: Words = hashes + group.astype(np.uint64) * _GROUP_FACTOR
    return keys


def spread_bits(words: Words, factor: np.uint64 = _SPREAD_FACTOR) -> Words:
    """Spread words over all 64 bits, so that the first n may do for all.

    The first n bits of two different words are equal with a probability of 2^(1 - n) at most, if
    the author of the words does not know the odd factor (Dietzfelbinger et al., 1997).
    """
    return words * factor


_MAX_SLOT_BITS = 22  # slots of at most 16 MB: more rows share slots more often, and are sorted


def find_repeated_keys(keys: Words) -> Ints:
    """Return the rows, ascending, whose key another row has, too.

    Every row writes its number into the slot of its key: where another number is read back, two
    rows share the slot. Only these few rows are sorted; most of them have different keys.

    >>> find_repeated_keys(np.array([7, 5, 7], np.uint64))
    array([0, 2])
    """
    # One row in sixteen or fewer shares its slot, unless there are very many.
    bits = min(len(keys).bit_length() + 4, _MAX_SLOT_BITS)
    slot = (spread_bits(keys) >> np.uint64(64 - bits)).view(np.int64)
    row = np.arange(len(keys), dtype=np.uint16 if len(keys) <= 1 << 16 else np.int32)
    last_row = np.empty(1 << bits, row.dtype)
    last_row[slot] = row
    slot_row = last_row.take(slot)
    shares_slot = slot_row != row
    shares_slot[slot_row[shares_slot]] = True
    rows = np.flatnonzero(shares_slot)
    sorted_keys = np.sort(keys[rows])
    repeated_keys = sorted_keys[1:][sorted_keys[1:] == sorted_keys[:-1]]
    # As most often; of no rows, np.isin imports numpy.ma, which takes long.
    if len(repeated_keys) == 0:
        return rows[:0]
    repeated_rows: Ints = rows[np.isin(keys[rows], repeated_keys, kind="sort")]
    return repeated_rows
