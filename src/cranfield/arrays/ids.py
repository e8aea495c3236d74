"""Ids: a column of identifiers, which are compared as the bytes of their text.

IdList: the same as a sequence of texts. IdIndex: finds the row of an identifier in a column.
"""

from collections.abc import Iterator, Sequence
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.byte_strings import FEW_WORDS, ByteStrings, Words
from cranfield.arrays.ranked import Ints
from cranfield.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def encode(text: str) -> bytes:
    """Return the bytes by which an id is compared: UTF-8, or what the file had; else InputError."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(f"the id {text!r} is no text: it holds half of a surrogate pair") from None


def decode(id_bytes: bytes) -> str:
    """Return an identifier as text; bytes that are no UTF-8 survive the way back."""
    return id_bytes.decode("utf-8", "surrogateescape")


class Ids(ByteStrings):
    """A column of identifiers, made of lists, Arrow's arrays, packed ids or words."""

    @classmethod
    def of(cls, ids: Sequence[bytes]) -> "Ids":
        """Make a column of byte strings; long ids that occur often are held once."""
        length = np.fromiter(map(len, ids), np.int64, len(ids))
        distinct = deduplicate_texts(ids, int(length.sum()))
        if distinct is not None:
            return cls.of(distinct[0]).take(distinct[1])
        buffer = np.frombuffer(b"".join(ids) + bytes(8), np.uint8)
        return cls(buffer, np.cumsum(length) - length, length, is_adjacent=True)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "Ids":
        """Make a column of texts; long texts that occur often are held once."""
        length = np.fromiter(map(len, texts), np.int64, len(texts))
        distinct = deduplicate_texts(texts, int(length.sum()))
        if distinct is not None:
            return cls.of_texts(distinct[0]).take(distinct[1])
        text = "".join(texts)
        if not text.isascii():
            return cls.of([encode(text) for text in texts])
        buffer = np.frombuffer(text.encode() + bytes(8), np.uint8)
        return cls(buffer, np.cumsum(length) - length, length, is_adjacent=True)

    @classmethod
    def of_arrow(cls, column: "pa.Array") -> "Ids":
        """Make a column of an Arrow array of type binary or large_binary, without nulls."""
        _, offsets, byte_buffer = column.buffers()
        if len(column) == 0:
            return cls.of([])
        has_large_offsets = str(column.type).startswith("large")
        # Counted, since the buffer of a damaged file may end within an offset that is not needed.
        count = column.offset + len(column) + 1
        bounds = np.frombuffer(offsets, np.int64 if has_large_offsets else np.int32, count)[
            column.offset :
        ]
        first_byte, end_byte = int(bounds[0]), int(bounds[-1])
        buffer = np.frombuffer(byte_buffer or b"", np.uint8)[first_byte : end_byte + 8]
        if len(buffer) < end_byte - first_byte + 8:  # a word may be read at the last byte
            buffer = np.append(buffer[: end_byte - first_byte], np.zeros(8, np.uint8))
        return cls(buffer, bounds[:-1] - first_byte, np.diff(bounds), is_adjacent=True)

    @classmethod
    def of_views(cls, column: "pa.Array") -> "Ids | None":
        """Make a column of an Arrow array of views; None if a text is long, or for 2^27 rows.

        The view of a text of up to twelve bytes holds them itself, behind their number.
        """
        buffer = column.buffers()[1]
        first_byte, end_byte = 16 * column.offset, 16 * (column.offset + len(column))
        if len(column) == 0:
            return cls.of([])
        if len(column) >= 1 << 27:  # blocks are much shorter
            return None
        views = np.frombuffer(buffer, np.uint8)[first_byte : end_byte + 8]
        if len(views) < end_byte - first_byte + 8:
            views = np.append(views, np.zeros(8, np.uint8))
        length = views[: end_byte - first_byte].view(np.int32)[::4].copy()
        if int(length.max()) > 12:
            return None
        start = np.arange(4, 16 * len(column), 16, dtype=np.int32)
        ids = cls(views, start, length, is_ordered=True)
        # Behind a text there are zeros. Were one within it, too, there would be fewer others.
        n_nonzero = int(np.count_nonzero(views[: end_byte - first_byte]))
        ids._is_clean = int(length.min()) > 0 and n_nonzero == len(column) + int(length.sum())
        return ids

    @classmethod
    def concatenate(cls, columns: "Sequence[Ids]") -> "Ids":
        """Return the rows of several columns, one column after the other."""
        new_offset_of_buffer: dict[int, int] = {}  # of the buffers that several columns may share
        buffers: list[NDArray[np.uint8]] = []
        starts: list[Ints] = []
        n_bytes = 0
        columns = [column for column in columns if len(column)]
        start_type = _start_type(sum(len(column._buffer) for column in columns))
        for column in columns:
            first_byte, column_bytes = 0, column._buffer
            if column._is_ordered:
                first_byte, high = int(column._start[0]), int(column._start[-1] + column.length[-1])
                column_bytes = column_bytes[first_byte:high]
            new_offset = new_offset_of_buffer.get(id(column._buffer))
            if new_offset is None or column._is_ordered:
                new_offset, n_bytes = n_bytes - first_byte, n_bytes + len(column_bytes)
                buffers.append(column_bytes)
                if not column._is_ordered:
                    new_offset_of_buffer[id(column._buffer)] = new_offset
            starts.append(column._start.astype(start_type) + new_offset)
        is_adjacent = all(column._is_adjacent for column in columns)
        is_ordered = all(column._is_ordered for column in columns)
        return cls(
            np.concatenate([*buffers, np.zeros(8, np.uint8)]),
            np.concatenate([*starts, np.zeros(0, np.int32)]),
            np.concatenate([*(column.length for column in columns), np.zeros(0, np.int16)]),
            is_adjacent,
            is_ordered,
        )

    def to_arrow(self) -> "pa.Array":
        """Return an Arrow array of type large_binary."""
        import pyarrow as pa

        # Not by pa.array(), which imports pandas wherever it is installed.
        bounds = np.cumsum(np.append(0, self.length.astype(np.int64)))
        id_bytes: bytes | NDArray[np.uint8]
        if self._is_adjacent and len(self):
            id_bytes = self._buffer[int(self._start[0]) : int(self._start[-1] + self.length[-1])]
        else:
            id_bytes = b"".join(self.to_list())
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(id_bytes)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def pack(self) -> "PackedIds":
        """Return the identifiers in as few bytes as possible, to be kept: see `PackedIds`."""
        if self.n_words > FEW_WORDS:  # `compact` may hold equal ids once
            id_bytes = np.frombuffer(b"".join(self.to_list()), np.uint8)
        else:
            id_bytes = self.compact()._buffer[:-8]
        return PackedIds(id_bytes, self.length.astype(np.min_scalar_type(self.n_bytes)))

    @classmethod
    def of_packed(cls, packed_ids: "PackedIds") -> "Ids":
        """Make a column of packed ids, or of a part of them."""
        # With a sign, to compute with.
        id_bytes, length = packed_ids.text_bytes, packed_ids.length.astype(np.int32)
        start = np.cumsum(length, dtype=np.int64) - length
        return cls(np.append(id_bytes, np.zeros(8, np.uint8)), start, length, is_adjacent=True)

    def compact(self) -> "Ids":
        """Return the same identifiers in memory of their own, in the order of the rows as a rule.

        It takes their bytes, and six more for each identifier; long ids may be held once.
        """
        if self.n_words > FEW_WORDS:
            return Ids.of(self.to_list())
        ends = np.cumsum(self.length, dtype=np.int64)
        n_bytes = int(ends[-1]) if len(self) else 0
        length = self.length.astype(np.int16)
        starts = (ends - length).astype(_start_type(n_bytes))
        compact_ids = Ids(np.zeros(n_bytes + 8, np.uint8), starts, length, is_adjacent=True)
        if self._is_adjacent and len(self):
            compact_ids._buffer[:n_bytes] = self._buffer[int(self._start[0]) :][:n_bytes]
            return compact_ids
        for begin in range(0, len(self), _BATCH_SIZE):
            batch = slice(begin, begin + _BATCH_SIZE)
            old_start, new_start, batch_length = self._start[batch], starts[batch], length[batch]
            for n in np.flatnonzero(np.bincount(batch_length)).tolist():
                if n:  # all of one length are copied at once
                    rows = np.flatnonzero(batch_length == n)
                    compact_ids._windows(n)[new_start[rows]] = self._windows(n)[old_start[rows]]
        return compact_ids

    def _windows(self, n: int) -> NDArray[np.void]:
        """Return the n bytes that begin at each byte of the buffer but the last n, as elements."""
        return np.ndarray(len(self._buffer) - n, f"V{n}", self._buffer.data, strides=(1,))

    def to_texts(self) -> list[str]:
        """Return the identifiers as texts."""
        ids = self.to_list()
        # All at once, which is quicker, unless an id holds the separator.
        texts = decode(b"\0".join(ids)).split("\0") if ids else []
        return texts if len(texts) == len(ids) else [decode(id_bytes) for id_bytes in ids]

    def write_words(self, matrix: Words) -> None:
        """Write the words of the identifiers into a matrix of zeros, (rows, words)."""
        for j in range(self.n_words):
            matrix[:, j] = self._raw_word(j)

    @classmethod
    def of_matrix(cls, matrix: Words, first_word: int, length: Ints) -> "Ids":
        """Make a column of ids whose words are in a matrix (rows, width) from `first_word` on.

        `length` (rows,) is in bytes. Behind the last word of an id there must be another word. The
        memory is shared.
        """
        if len(length) == 0:
            return cls.of([])
        row_bytes = 8 * matrix.shape[1]
        start_type = np.int64 if matrix.size >> 28 else np.int32
        start = np.arange(len(length), dtype=start_type) * row_bytes + 8 * first_word
        return cls(matrix.reshape(-1).view(np.uint8), start, length, is_ordered=True)

    def are_digits(self) -> bool:
        """Tell whether the ids are digits, one or more; False without ids or if not adjacent."""
        if len(self) == 0 or not self.length.all():
            return False
        digit_bytes = self._buffer[int(self._start[0]) : int(self._start[-1] + self.length[-1])]
        return self._is_adjacent and bool(((digit_bytes >= 48) & (digit_bytes <= 57)).all())

    def to_numbers(self) -> Ints:
        """Return the identifiers, of up to eighteen digits each, as numbers: (rows,)."""
        numbers = np.zeros(len(self), np.int64)
        for j in range(int(self.length.max(initial=0))):
            has_digit = self.length > j
            digit = (
                self._buffer[np.where(has_digit, self._start + j, self._start)].astype(np.int64)
                - 48
            )
            numbers = np.where(has_digit, numbers * 10 + digit, numbers)
        return numbers

    def are_visible(self) -> bool:
        """Tell whether the ids have visible ASCII characters only, null bytes apart."""
        id_bytes = self.compact()._buffer
        return not (((id_bytes <= 32) & (id_bytes != 0)) | (id_bytes >= 127)).any()

    def any_begins_with(self, byte: int) -> bool:
        """Tell whether any of the identifiers, which are not empty, begins with this byte."""
        return bool((self._buffer[self._start] == byte).any())


def _start_type(n_bytes: int) -> type[np.signedinteger[Any]]:
    """Return the integer type of the starts in a buffer of `n_bytes` bytes."""
    return np.int64 if n_bytes >> 31 else np.int32


class IdList(Sequence[str]):
    """Identifiers as a sequence of texts, held as bytes: each is decoded when it is read.

    It equals, prints and is added to lists as the list of its texts does; Python's strings would
    take several times the memory. Never changed. Functions that take lists only, as `json.dumps`
    does, get `list(...)` of it.

    >>> ids = IdList(Ids.of_texts(["q1", "q2", "q3"]))
    >>> ids, ids[-1], "q2" in ids, ids[:2] == ["q1", "q2"], ids[2:] + ["q4"]
    (['q1', 'q2', 'q3'], 'q3', True, True, ['q3', 'q4'])
    """

    def __init__(self, ids: Ids) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "IdList": ...
    def __getitem__(self, index: int | slice) -> "str | IdList":
        if isinstance(index, slice):
            return IdList(self.ids.take(index).compact())
        return decode(self.ids[index])

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _BATCH_SIZE):
            yield from self.ids.take(slice(begin, begin + _BATCH_SIZE)).to_texts()

    def __contains__(self, text: object) -> bool:
        try:
            sought_ids = Ids.of_texts([text] if isinstance(text, str) else [])
        except InputError:  # half of a surrogate pair, which no identifier holds
            return False
        return bool((IdIndex(sought_ids).find_rows(self.ids) == 0).any())

    def __eq__(self, operand: object) -> bool:
        if isinstance(operand, IdList):
            rows = np.arange(len(self))
            return len(self) == len(operand) and not self.ids.compare(rows, operand.ids, rows).any()
        if isinstance(operand, list):
            return len(self) == len(operand) and all(map(eq, self, operand))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __add__(self, operand: "list[str] | IdList") -> list[str]:
        return [*self, *operand] if isinstance(operand, list | IdList) else NotImplemented

    def __radd__(self, operand: list[str]) -> list[str]:
        return [*operand, *self] if isinstance(operand, list) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


_BATCH_SIZE = 1 << 14  # texts that are decoded or copied at a time


def encode_ids(texts: Sequence[str]) -> Ids:
    """Return a sequence of texts as a column of identifiers."""
    return texts.ids if isinstance(texts, IdList) else Ids.of_texts(texts).compact()


def select_texts(texts: Sequence[str], rows: Ints) -> Sequence[str]:
    """Return the texts at `rows`: an IdList of an IdList, else a list."""
    if isinstance(texts, IdList):
        return IdList(texts.ids.take(rows).compact())
    return [texts[row] for row in rows.tolist()]


class IdIndex:
    """Finds the rows of identifiers in a column of distinct identifiers, by their hashes."""

    def __init__(self, ids: Ids) -> None:
        hashes = ids.hash()
        order = hashes.argsort()
        self.ids, self._order, self._hashes = ids, order.astype(np.int32), hashes[order]

    def __reduce__(self) -> tuple[Any, ...]:
        return IdIndex, (self.ids,)  # another process has other hashes

    def find_rows(self, ids: Ids) -> Ints:
        """Return the row of each of the `ids` in the column, -1 if it is not there: (ids,)."""
        row_of_id = np.full(len(ids), -1)
        hashes = ids.hash()
        position, rows = self._hashes.searchsorted(hashes), np.arange(len(ids))
        while len(rows):
            is_inside = position < len(self._hashes)
            rows, position = rows[is_inside], position[is_inside]
            has_hash = self._hashes[position] == hashes[rows]
            rows, position = rows[has_hash], position[has_hash]
            candidate = self._order[position]
            is_match = ids.compare(rows, self.ids, candidate) == 0
            row_of_id[rows[is_match]] = candidate[is_match]
            # The next may have the same hash.
            rows, position = rows[~is_match], position[~is_match] + 1
        return row_of_id


class PackedIds(NamedTuple):
    """Identifiers as plain arrays, to be kept for long: their bytes, without gaps, and lengths."""

    text_bytes: NDArray[np.uint8]
    length: NDArray[np.unsignedinteger[Any]]  # (rows,) in as few bits as hold the longest


_Text = TypeVar("_Text", str, bytes)


def deduplicate_texts(texts: Sequence[_Text], n_characters: int) -> tuple[list[_Text], Ints] | None:
    """Return the distinct texts, and each row's position among them; None for short or rare texts.

    Short texts have 128 characters on average, or fewer; of rare ones more than half are distinct.
    All others, of `n_characters` characters together, may be longer than the memory, where each
    distinct text is one object.
    """
    if n_characters <= 8 * FEW_WORDS * len(texts):
        return None
    distinct = dict.fromkeys(texts)
    if 2 * len(distinct) > len(texts):
        return None
    position_of_text = {text: i for i, text in enumerate(distinct)}
    return list(distinct), np.fromiter(
        map(position_of_text.__getitem__, texts), np.int64, len(texts)
    )
