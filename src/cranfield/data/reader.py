"""QrelsReader: opened judgments, which are read whole or some queries at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.data.qrels import Qrels, QrelsLike, check_duplicates
from cranfield.data.relevance import make_judgments, repeated_judgments_error
from cranfield.errors import DuplicateError
from cranfield.formats import read_rows
from cranfield.formats.block import Duplicates, Errors, FaultyRows, Rows
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.dict_rows import NestedRows
from cranfield.formats.groups import GroupRows
from cranfield.formats.shapes import are_files
from cranfield.notes import Note

if TYPE_CHECKING:
    from cranfield.data.chunks import Chunks


@dataclass(frozen=True)
class QrelsReader:
    """Rows of judgments, and the options with which they are read: see `read_qrels`."""

    rows: Rows
    errors: Errors = "strict"
    duplicates: Duplicates = "refuse"
    chunks: "Chunks | None" = None  # maps judged chunks to documents
    notes: Sequence[Note] = ()  # what every result of them says

    @property
    def is_in_memory(self) -> bool:
        """Whether the judgments are in memory already, as Python's objects."""
        return isinstance(self.rows, NestedRows | GroupRows)

    @property
    def graded(self) -> bool:
        """Whether documents come with grades, as all in groups do: see `Judgments.graded`."""
        roles = self.rows.extra_roles
        return "group" in roles or ("grade" in roles and self.rows.has_grades)

    def read(self) -> Qrels:
        """Return the judgments."""
        return self.read_part(self.rows)

    def read_part(self, rows: Rows, duplicates: Duplicates | None = None) -> Qrels:
        """Return the judgments of a part of the rows, by their own `duplicates` if stated."""
        judgments = make_judgments(rows, self.errors, duplicates or self.duplicates)
        if self.chunks is not None:
            from cranfield.data.chunks import map_judgments

            judgments = map_judgments(judgments, self.chunks, self.errors)
        return Qrels(
            replace(judgments, notes=(*judgments.notes, *self.notes)) if self.notes else judgments
        )

    def first_repeat_error(self, error: DuplicateError, row_parts: Sequence[Rows]) -> Exception:
        """Return the error of the first row of all parts that repeats a document.

        `error` is the error of any part. To find the first row, all parts are read once more,
        unless `duplicates` lets repeats pass: then `error` is returned.
        """
        if self.duplicates in ("first", "best"):
            return error
        repeats = sum((self.read_part(part, "first").repeats for part in row_parts), FaultyRows())
        if repeats.count:
            return repeated_judgments_error(repeats, self.rows, self.duplicates)
        return error


def open_qrels(
    qrels: QrelsLike | QrelsReader,
    errors: Errors = "strict",
    columns: ColumnsLike | None = None,
    duplicates: Duplicates = "refuse",
    format: str | None = None,  # noqa: A002 - the word for it
) -> Qrels | QrelsReader:
    """Return a reader of judgments, but Qrels of what is in memory as Python's objects.

    `qrels` is what `read_qrels` and `Qrels` take, or a reader, which is returned.
    """
    if isinstance(qrels, Qrels | QrelsReader):
        return qrels
    check_duplicates(duplicates)
    reads_files = are_files([qrels]) or are_files(qrels) or format is not None
    rows = read_rows(
        qrels, Side.QRELS, columns=columns, errors=errors, format=format, is_path=reads_files
    )
    reader = QrelsReader(rows, errors, duplicates)
    return reader.read() if reader.is_in_memory else reader
