"""Records: rows of two ids and numbers, each in one piece of memory, which `data` regroups.

Rows that are put into another order lie far apart in the memory: to fetch each as one piece takes a
fraction of the time that one column after the other takes. (In a file, columns are better: what
follows itself is alike, and is compressed to half the bytes.)
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.byte_strings import Words
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints

_MOST_WORDS = 8  # longer identifiers are held in columns beside the records


class Layout(NamedTuple):
    """What a record holds: the words of two ids, and numbers of 64 bits."""

    query_words: int  # words; 0: the ids are in a column beside the records
    doc_words: int
    number_types: Mapping[str, "np.dtype[Any]"]

    @classmethod
    def of(cls, query: Ids, doc: Ids, numbers: Mapping[str, NDArray[Any]]) -> "Layout":
        """Return the layout that records of these columns need."""
        query_words, doc_words = (
            ids.n_words if ids.n_words <= _MOST_WORDS else 0 for ids in (query, doc)
        )
        return cls(query_words, doc_words, {name: column.dtype for name, column in numbers.items()})

    def merge(self, second_layout: "Layout") -> "Layout":
        """Return the layout that has room for the records of either layout."""
        numbers = {
            name: np.result_type(number_type, second_layout.number_types[name])
            for name, number_type in self.number_types.items()
        }
        return Layout(
            max(self.query_words, second_layout.query_words)
            if self.query_words and second_layout.query_words
            else 0,
            max(self.doc_words, second_layout.doc_words)
            if self.doc_words and second_layout.doc_words
            else 0,
            numbers,
        )


class Records:
    """Rows of a query, a document and numbers: a matrix of words, (rows, width).

    Behind the words of the ids and the numbers, the last word of a row holds the row's position
    in its source, and the lengths of the two ids. `side_ids` are {role, "query" or "doc": ids
    beside the records}; their lengths are 0 in the last word.
    """

    def __init__(self, layout: Layout, words: Words, side_ids: Mapping[str, Ids]) -> None:
        self.layout, self._words, self._side_ids = layout, words, side_ids

    def __len__(self) -> int:
        return len(self._words)

    @classmethod
    def of(
        cls,
        layout: Layout,
        query: Ids,
        doc: Ids,
        numbers: Mapping[str, NDArray[Any]],
        position: Ints,
    ) -> "Records":
        """Make records of columns, (rows,) each; `position` is below 2^32."""
        n_query, n_doc = layout.query_words, layout.doc_words
        words = np.zeros((len(doc), n_query + n_doc + len(numbers) + 1), np.uint64)
        side_ids = {}
        for role, ids, first_word, n in (
            ("query", query, 0, n_query),
            ("doc", doc, n_query, n_doc),
        ):
            if n:
                ids.write_words(words[:, first_word : first_word + n])
            else:
                side_ids[role] = ids.compact()
        for word, (name, number_type) in enumerate(layout.number_types.items(), n_query + n_doc):
            words[:, word] = numbers[name].astype(number_type, copy=False).view(np.uint64)
        last_word = position.astype(np.uint64)
        for ids, n in ((query, n_query), (doc, n_doc)):
            last_word <<= np.uint64(16)
            if n:
                last_word |= ids.length.astype(np.uint64)
        words[:, -1] = last_word
        return cls(layout, words, side_ids)

    @classmethod
    def concatenate(cls, records_list: "Sequence[Records]") -> "Records":
        """Return the rows of several records of one layout, one after the other."""
        side_ids = {
            role: Ids.concatenate([records._side_ids[role] for records in records_list])
            for role in records_list[0]._side_ids
        }
        words = np.concatenate([records._words for records in records_list])
        return cls(records_list[0].layout, words, side_ids)

    def take(self, rows: Ints | slice) -> "Records":
        """Return the records at `rows`."""
        words = self._words[rows] if isinstance(rows, slice) else self._words.take(rows, axis=0)
        side_ids = {role: ids.take(rows) for role, ids in self._side_ids.items()}
        return Records(self.layout, words, side_ids)

    def change_layout(self, layout: Layout) -> "Records":
        """Return the same rows in another layout, which has room for them."""
        if layout == self.layout:
            return self
        return Records.of(layout, self.query, self.doc, self.numbers, self.position)

    @property
    def query(self) -> Ids:
        """The first id of each row: (rows,)."""
        return self._id_column("query", 0, self.layout.query_words, 16)

    @property
    def doc(self) -> Ids:
        """The second id of each row: (rows,)."""
        return self._id_column("doc", self.layout.query_words, self.layout.doc_words, 0)

    def _id_column(self, role: str, first_word: int, n_words: int, shift: int) -> Ids:
        """Return the ids of a role; their lengths are `shift` bits up in the last word."""
        if not n_words:
            return self._side_ids[role]
        length = (self._words[:, -1] >> np.uint64(shift)).astype(np.uint16).astype(np.int32)
        return Ids.of_matrix(self._words, first_word, length)

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """The numbers, {name: (rows,)}."""
        first_word = self.layout.query_words + self.layout.doc_words
        return {
            name: self._words[:, word].copy().view(number_type)
            for word, (name, number_type) in enumerate(self.layout.number_types.items(), first_word)
        }

    @property
    def position(self) -> Ints:
        """The position of each row in its source: (rows,)."""
        position: Ints = (self._words[:, -1] >> np.uint64(32)).astype(np.uint32)
        return position
