"""Ids: a column of identifiers, which are compared as the bytes of their text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.byte_strings import FEW_WORDS, ByteStrings
from cranfield.arrays.ranked import Ints
from cranfield.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def encode(text: str) -> bytes:
    """Return the bytes by which an identifier is compared: UTF-8, or what the file had."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(f"the id {text!r} is no text: it holds half of a surrogate pair") from None


def decode(data: bytes) -> str:
    """Return an identifier as text; bytes that are no UTF-8 survive the way back."""
    return data.decode("utf-8", "surrogateescape")


class Ids(ByteStrings):
    """A column of identifiers, made of lists of them or of Arrow's arrays."""

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
        ours = np.frombuffer(data or b"", np.uint8)[low : high + 8]
        if len(ours) < high - low + 8:  # a word may be read at the last byte
            ours = np.append(ours[: high - low], np.zeros(8, np.uint8))
        return cls(ours, bounds[:-1] - low, np.diff(bounds), adjacent=True)

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

    def packed(self) -> "Packed":
        """Return the bytes of the identifiers one behind the other: see `Packed`."""
        if self.n_words > FEW_WORDS:
            data = np.frombuffer(b"".join(self.to_list()), np.uint8)
            return Packed(data, self.length, 0)
        return Packed(self.compact()._data, self.length, 8 * self.n_words)

    @classmethod
    def of_packed(cls, packed: "Packed") -> "Ids":
        """Make a column of what `packed` returned, or of a part of that."""
        data, length, width = packed
        if width:
            start = np.arange(len(length), dtype=np.int64) * width
        else:
            start = np.cumsum(length, dtype=np.int64) - length
        return cls(np.append(data, np.zeros(8, np.uint8)), start, length, not width, ordered=True)

    def compact(self) -> "Ids":
        """Return the same identifiers in memory of their own, in the order of the rows."""
        n, w = len(self), self.n_words
        if w > FEW_WORDS:
            return Ids.of(self.to_list())
        words = np.zeros((n + 1) * w + 1, np.uint64)
        for j in range(w):
            words[j : n * w : w] = self._raw_word(j)
        start = np.arange(n, dtype=np.int64 if n * w >> 28 else np.int32) * (8 * w)
        return Ids(words.view(np.uint8), start, self.length, ordered=True)

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


class Packed(NamedTuple):
    """Identifiers as plain arrays, to be kept in a file.

    Each takes `width` bytes of `data`, filled up with zeros; 0: as many as it has.
    """

    data: NDArray[np.uint8]
    length: Ints  # (rows,)
    width: int


_Text = TypeVar("_Text", str, bytes)


def held_once(texts: Sequence[_Text], size: int) -> tuple[list[_Text], Ints] | None:
    """Return texts, each once, and each row's place among them; None if that is not worth it.

    It is worth it for long texts that occur often: together, which is `size` characters, they may
    be longer than the memory, when each of them is one object.
    """
    if size <= 8 * FEW_WORDS * len(texts):
        return None
    once = dict.fromkeys(texts)
    if 2 * len(once) > len(texts):
        return None
    place = {text: i for i, text in enumerate(once)}
    return list(once), np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))
