"""Matrices: numbers in rows of cells; labels and scores; sparse matrices; lists filled up."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ranked import Bools, Ints
from cranfield.errors import InputError
from cranfield.formats.columns import Side
from cranfield.formats.objects import is_null
from cranfield.formats.shapes import (
    as_array,
    find_form,
    is_sequence,
    is_sparse,
    kind_of,
    kinds_in,
    to_list,
)
from cranfield.formats.values import is_number
from cranfield.notes import Note


class Cells(NamedTuple):
    """Numbers in rows of cells: a matrix, lists, or a flat column.

    `name` is what errors call them; `shape` is that of an array, or of lists of one length, None
    for lists of several lengths. A flat column is one row.
    """

    name: str
    shape: tuple[int, ...] | None
    values: NDArray[Any]  # (n_cells,), row after row
    lengths: Ints  # (n_rows,)
    is_masked: Bools | None  # (n_cells,), if the array brought a mask of its own
    has_names: bool = False  # whether the rows are those of {query: row}

    @property
    def is_flat(self) -> bool:
        """Whether it is one column without rows."""
        return self.shape is not None and len(self.shape) == 1

    @property
    def size(self) -> str:
        """The shape in words."""
        if self.shape is not None:
            return f"shape {self.shape}"
        return f"{len(self.lengths)} rows of {self.lengths.min()} to {self.lengths.max()} cells"

    def write_mask(self, condition: str) -> str:
        """Return the Python expression of a mask of this form: True by a condition on `s`."""
        if self.is_flat:
            return f"[{condition} for s in {self.name}]"
        if self.has_names:
            return f"{{q: [{condition} for s in row] for q, row in {self.name}.items()}}"
        return f"[[{condition} for s in row] for row in {self.name}]"

    def locate(self, cell: int) -> str:
        """Return the place of a cell in words, counted from 1."""
        if self.is_flat:
            return f"{self.name}, row {cell + 1}"
        row = int(np.searchsorted(np.cumsum(self.lengths), cell, "right"))
        column = cell - int(self.lengths[:row].sum())
        return f"{self.name}, row {row + 1}, column {column + 1}"


def read_cells(data: Any, name: str) -> Cells:
    """Return the numbers of an array, a tensor, a column, or lists of numbers, as cells.

    A null of tables is NaN. Raises InputError for what is no number, and other shapes.
    """
    array = data.to_numpy() if kind_of(data) == "table" else as_array(data)
    if array is not None and array.dtype != object:
        if array.ndim not in (1, 2):
            raise InputError(f"{name} has shape {array.shape}: one or two dimensions are expected")
        n_rows, n_columns = array.shape if array.ndim == 2 else (1, len(array))
        is_masked = np.ma.getmaskarray(array).ravel() if hasattr(array, "mask") else None
        lengths = np.full(n_rows, n_columns)
        flat_values = np.asarray(array).ravel()
        return _check_numbers(Cells(name, array.shape, flat_values, lengths, is_masked))
    if not is_sequence(data):
        problem = f"{name}: expected an array or lists of numbers, got {data!r:.80}"
        raise InputError(problem, hint="A mask: [[s != -1 for s in row] for row in labels].")
    members = to_list(data if array is None else array)
    if not any(map(is_sequence, members)):
        rows = [_read_row(members, name)]
        shape: tuple[int, ...] | None = (len(members),)
    else:
        rows = [_read_row(row, f"{name}, row {i}") for i, row in enumerate(members, 1)]
        shape = (len(rows), len(rows[0])) if len({*map(len, rows)}) == 1 else None
    lengths = np.array([*map(len, rows)])
    values: Any = np.ma.concatenate(rows)  # type: ignore[no-untyped-call] # of numpy
    is_masked = None if values.mask is np.ma.nomask else values.mask
    return _check_numbers(Cells(name, shape, np.asarray(values), lengths, is_masked))


def _read_row(numbers: Any, location: str) -> NDArray[Any]:
    """Return numbers in a list as an array, (n,), of objects if some are none; or InputError."""
    if not is_sequence(numbers):
        raise InputError(f"{location}: expected a list of numbers, got {numbers!r:.80}")
    array = as_array(numbers)
    members = to_list(numbers) if array is None else array
    array = np.asanyarray(members) if len(members) else np.zeros(0)
    if array.dtype.kind not in "biuf" and array.ndim == 1:
        array = np.empty(len(members), object)
        array[:] = members
    return array


def _check_numbers(cells: Cells) -> Cells:
    """Return the cells with nulls as NaN; InputError for the first that is no number."""
    values = cells.values
    if values.dtype.kind in "biuf" and values.ndim == 1:
        return cells
    numbers = np.full(len(values), np.nan)
    for i, value in enumerate(values.tolist()):
        if is_number(value):
            numbers[i] = value
        elif not is_null(value):
            raise InputError(f"{cells.locate(i)}: expected a number, got {value!r:.80}")
    return cells._replace(values=numbers)


def hold_labels_and_scores(labels: Any, scores: Any) -> bool:
    """Tell whether two arguments are the labels and the scores of the same documents.

    They are two arrays of two dimensions, or lists of lists, with scores that are not whole
    numbers. Raises InputError where they may be something else, or one query alone.
    """
    label_form = find_form(labels)
    score_form = None if label_form is None else find_form(scores)
    if label_form is None or score_form is None:
        return False
    (label_dimensions, _), (score_dimensions, score_kind) = label_form, score_form
    if label_dimensions != score_dimensions or score_kind == "b":
        return False
    if score_kind != "f":
        shapes = {getattr(as_array(data), "shape", None) for data in (labels, scores)}
        if label_dimensions == 1 or len(shapes) > 1 or None in shapes:
            return False
        raise InputError(
            f"two arrays of shape {shapes.pop()}, the second of whole numbers: scores, or ids?",
            hint="Grades and scores of the same documents: grades(y_true, scores=y_score); "
            "ids: y_true.tolist(), y_score.tolist().",
        )
    if label_dimensions == 1:
        raise InputError(
            "y_true and y_score are one list each",
            hint="One query: grades(y, scores=s); several: groups=, sizes or ids of queries. Both "
            "are given on with an asterisk: evaluate(*grades(...), ...).",
        )
    if isinstance(scores, list) and all(
        len(row) == 3 and kinds_in(row[:2]) == {"whole number"} for row in scores
    ):
        raise InputError(
            f"lists of numbers, as {scores[0]!r:.60}: is each one a row, or the scores of a query?",
            hint="Scores: numpy.array(y_score), or grades(y_true, scores=y_score). Rows are "
            "tuples: (query_id, doc_id, score).",
        )
    return True


def match_sparse(qrels: Any, runs: Any) -> tuple[Any, Any]:
    """Return an array beside a sparse matrix in the same form; all other data unchanged.

    Fractions are numbers of every column, and become a sparse matrix that stores each cell; whole
    numbers are ids: those of the columns, by row. Rows are counted from 0, as in the matrix.
    Raises InputError for whole numbers beside a sparse run that may be grades of every column.
    """
    sides = (qrels, Side.QRELS), (runs, Side.RUN)
    if sum(is_sparse(data) for data, _ in sides) != 1:
        return qrels, runs
    (matrix,) = (data for data, _ in sides if is_sparse(data))
    return tuple(
        data if data is matrix else _follow_sparse(data, matrix, side) for data, side in sides
    )  # type: ignore[return-value] # there are two


def _follow_sparse(data: Any, matrix: Any, side: Side) -> Any:
    """Return the data of one side as those of a sparse matrix on the other: see `match_sparse`."""
    array, form = as_array(data), find_form(data)
    if array is None and (form is None or len({*map(np.size, data)}) > 1):
        return dict(enumerate(data)) if form == (2, "i") else data
    array = np.asarray(data if array is None else array)  # numpy's matrices never become flat
    if array.ndim != 2:
        return data
    if array.dtype.kind not in "f":
        if side is Side.QRELS and array.shape == matrix.shape:
            raise InputError(
                f"whole numbers of shape {array.shape} beside a sparse run: grades, or ids?",
                hint="Grades of every column: scipy.sparse.csr_array(y_true); ids: "
                "dict(enumerate(y_true.tolist())).",
            )
        return dict(enumerate(array.tolist()))
    from scipy.sparse import coo_array

    row, column = np.indices(array.shape)
    return coo_array((array.ravel(), (row.ravel(), column.ravel())), array.shape)


def note_unstored_zeros(qrels: Any, run: Any) -> tuple[Note, ...]:
    """Return a warning where a sparse run seems to lack scores of 0, as they are not stored.

    In such a row it has scores below 0, and none of a column that is judged.
    """
    if not (is_sparse(qrels) and is_sparse(run)):
        return ()
    labels, scores = qrels.tocoo(), run.tocoo()
    if labels.shape != scores.shape:
        return ()
    label_cells, score_cells = (
        entries.row.astype(np.int64) * entries.shape[1] + entries.col
        for entries in (labels, scores)
    )
    lacks_score = labels.row[~np.isin(label_cells, score_cells)]
    n_rows = len(np.intersect1d(lacks_score, scores.row[scores.data < 0]))
    if not n_rows:
        return ()
    verb = "row has" if n_rows == 1 else "rows have"
    text = (
        f"{n_rows:,} {verb} scores below 0, and none of a judged column: a score of 0 that is not "
        "stored is not retrieved."
    )
    return (Note("sparse-zeros", "warning", text, count=n_rows),)
