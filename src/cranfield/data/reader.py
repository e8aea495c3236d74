"""QrelsReader: judgments that were opened, to be read whole or some queries at a time."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.data.qrels import Qrels, QrelsLike, check_duplicates
from cranfield.data.relevance import judgments_of, refused_judgments
from cranfield.errors import DuplicateError
from cranfield.formats import rows_of
from cranfield.formats.block import Duplicates, Errors, LeftOut, Rows
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.groups import Groups
from cranfield.formats.objects import NestedRows
from cranfield.notes import Note

if TYPE_CHECKING:
    from cranfield.data.chunks import Chunks


@dataclass(frozen=True)
class QrelsReader:
    """Rows of judgments, and what becomes of them as they are read: see `read_qrels`."""

    rows: Rows
    errors: Errors = "strict"
    duplicates: Duplicates = "refuse"
    chunks: "Chunks | None" = None  # of which the documents are to be judged
    notes: Sequence[Note] = ()  # what every result of them says

    @property
    def is_held(self) -> bool:
        """Whether the judgments are in memory anyway, as objects of Python's."""
        return isinstance(self.rows, NestedRows | Groups)

    @property
    def graded(self) -> bool:
        """See `Judgments.graded`."""
        numbers = self.rows.numbers
        return "group" in numbers or ("grade" in numbers and self.rows.graded)

    def read(self) -> Qrels:
        """Return the judgments."""
        return self.of(self.rows)

    def of(self, rows: Rows, duplicates: Duplicates | None = None) -> Qrels:
        """Return the judgments of some of the rows."""
        found = judgments_of(rows, self.errors, duplicates or self.duplicates)
        if self.chunks is not None:
            from cranfield.data.chunks import merged_judgments

            found = merged_judgments(found, self.chunks, self.errors)
        return Qrels(replace(found, notes=(*found.notes, *self.notes)) if self.notes else found)

    def twice(self, error: DuplicateError, parts: Sequence[Rows]) -> Exception:
        """Return the error of the first row of all parts whose document another row has.

        `error` is that of one of the parts. To find it, all are read once more.
        """
        if self.duplicates in ("first", "best"):
            return error
        repeated = sum((self.of(one, "first").repeated for one in parts), LeftOut())
        return refused_judgments(repeated, self.rows, self.duplicates) if repeated.count else error


def open_qrels(
    data: QrelsLike | QrelsReader,
    errors: Errors = "strict",
    columns: ColumnsLike | None = None,
    duplicates: Duplicates = "refuse",
    format: str | None = None,  # noqa: A002 - the word for it
) -> Qrels | QrelsReader:
    """Return judgments to be read later; those that are in memory anyway as Qrels.

    `data` is what `read_qrels` and `Qrels` take.
    """
    if isinstance(data, Qrels | QrelsReader):
        return data
    check_duplicates(duplicates)
    is_path = isinstance(data, str | os.PathLike) or format is not None
    rows = rows_of(data, What.QRELS, columns=columns, errors=errors, format=format, is_path=is_path)
    found = QrelsReader(rows, errors, duplicates)
    return found.read() if found.is_held else found
