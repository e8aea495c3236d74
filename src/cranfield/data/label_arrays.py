"""Labels and scores of the same documents, in arrays, as judgments and runs: for `grades`."""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.grades import narrow_grades
from cranfield.arrays.ids import Ids, encode
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.qrels import Qrels
from cranfield.data.relevance import Judgments
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.formats.block import LARGEST_GRADE, Errors, Role
from cranfield.formats.columns import COLUMNS, Side
from cranfield.formats.frames import make_table_rows
from cranfield.formats.identifiers import refuse_other_queries, to_id_text, with_text_ids
from cranfield.formats.matrices import Cells, read_cells
from cranfield.formats.shapes import is_sequence, kinds_in, to_list
from cranfield.formats.values import unify_grades
from cranfield.formats.write import number_column
from cranfield.notes import Note, join_names
from cranfield.render.numbers import format_count

if TYPE_CHECKING:
    import pyarrow as pa

_DESCRIPTION = "labels and scores of the same documents"


class _Places(NamedTuple):
    """Which query and which document each cell belongs to, query after query in byte order."""

    queries: list[str]
    order: Ints  # (n_cells,) of the cells as they came
    query: Ints  # (n_cells,) number of the query, from 0
    place: Ints  # (n_cells,) of the document in its query, from 0

    @property
    def docs(self) -> Ids:
        """The documents, "#1", "#2", ... by their places in the query."""
        n_places = int(self.place.max(initial=0)) + 1
        return Ids.of_texts([f"#{i}" for i in range(1, n_places + 1)]).compact()


def read_label_arrays(
    labels: Any, scores: Any, groups: Any = None, mask: Any = None
) -> tuple[Qrels, dict[str, Run] | Run, list[Note]]:
    """Return judgments, a run or {system: run}, and notes: see `grades`.

    `labels` and `scores` have two dimensions, a row for each query, or are flat, with `groups`;
    dicts have a row for each query. The documents are called "#1", "#2", ... by their places.
    """
    row_names: list[str] | None = None
    has_systems = isinstance(scores, Mapping)
    if isinstance(labels, Mapping):
        labels = with_text_ids(labels, "labels")
        row_names = [*labels]
        has_systems = has_systems and all(isinstance(rows, Mapping) for rows in scores.values())
    scores_of_system = scores if has_systems else {"run": scores}
    if has_systems and not scores_of_system:
        raise InputError("scores: hold no system")

    def read(data: Any, name: str) -> Cells:
        cells = read_cells(data if row_names is None else _list_rows(data, name, row_names), name)
        if groups is not None and cells.shape == (len(cells.values), 1):  # of reshape(-1, 1)
            cells = cells._replace(shape=cells.values.shape, lengths=np.array(cells.values.shape))
        return cells._replace(has_names=row_names is not None)

    label_cells = read(labels, "labels")
    cells_of_system = {
        str(system): read(system_scores, f"scores[{system!r}]" if has_systems else "scores")
        for system, system_scores in scores_of_system.items()
    }
    all_cells = [label_cells, *cells_of_system.values()]
    is_used = np.ones(len(label_cells.values), bool)
    if mask is not None:
        mask_cells = read(mask, "mask")
        all_cells.append(mask_cells)
        if not np.isin(mask_cells.values, (0, 1)).all():
            raise InputError("mask: expected truth values, True where a document counts")
        is_used = mask_cells.values.astype(bool)
    else:
        _refuse_padding(label_cells)
    for cells in all_cells[1:]:  # as many rows, of the same lengths
        has_same_rows = np.array_equal(label_cells.lengths, cells.lengths)
        if not has_same_rows or label_cells.is_flat != cells.is_flat:
            raise InputError(
                f"{label_cells.name} and {cells.name} do not belong together: "
                f"{label_cells.name} has {label_cells.size}, {cells.name} {cells.size}",
                hint="Each label has the score of the same document, in the same place.",
            )
    for cells in all_cells:
        is_used &= True if cells.is_masked is None else ~cells.is_masked
    for cells in cells_of_system.values():
        _refuse_nan(cells, is_used)
    places = _find_places(label_cells, groups, row_names)
    qrels = _make_qrels(places, label_cells, is_used & ~np.isnan(label_cells.values))
    runs = {
        system: _make_run(places, cells.values, is_used, system)
        for system, cells in cells_of_system.items()
    }
    notes = _note_empty_rows(places, is_used)
    return qrels, runs if has_systems else runs["run"], notes


def _list_rows(data: Any, name: str, queries: list[str]) -> list[Any]:
    """Return the rows of {query: row} in the order of the queries; InputError for other queries."""
    if not isinstance(data, Mapping):
        raise InputError(f"{name}: expected a dict, as the labels are, got {type(data).__name__}")
    row_of_query = with_text_ids(data, name)
    refuse_other_queries(queries, row_of_query, "labels", name)
    return [row_of_query[query] for query in queries]


def _refuse_nan(cells: Cells, is_used: Bools) -> None:
    """Raise InputError for a score that is not-a-number in a cell that counts."""
    bad_cells = np.flatnonzero(np.isnan(cells.values) & is_used)
    if len(bad_cells):
        raise InputError(
            f"{cells.locate(int(bad_cells[0]))}: the score is nan, as "
            f"{format_count(len(bad_cells), 'score')} of {len(cells.values):,}",
            hint="Where there is no document, say so: grades(..., mask="
            f"{cells.write_mask('s is not None and s == s')}). A document without a score ranks "
            "last with -inf.",
        )


def _refuse_padding(labels: Cells) -> None:
    """Raise InputError for rows of labels that seem to be filled up by a number below 0.

    It is at the ends of rows alone, and no other label is below 0.
    """
    filler = labels.values.min(initial=0)
    if not filler < 0 or labels.is_flat:
        return
    is_filler = labels.values == filler
    is_last = np.zeros(len(is_filler), bool)
    is_last[np.cumsum(labels.lengths[labels.lengths > 0]) - 1] = True
    if (labels.values[~is_filler] < 0).any() or (
        is_filler & ~is_last & ~np.append(is_filler[1:], True)
    ).any():
        return
    row_count = format_count(int(np.count_nonzero(is_filler & is_last)), "row")
    raise InputError(
        f"{labels.name}: {row_count} with {filler:g} at the end: does it fill up?",
        hint="If so: grades(labels, scores=scores, mask="
        f"{labels.write_mask(f's != {filler:g}')}); if it is a grade: "
        f"mask={labels.write_mask('True')}.",
    )


def _find_places(cells: Cells, groups: Any, row_names: list[str] | None) -> _Places:
    """Return where each cell belongs, by the rows of the labels, or by `groups`."""
    if groups is None:
        if row_names is None and len(cells.values) > 1 and {*cells.lengths} == {1}:
            raise InputError(
                f"{cells.name}: each query has one document, whose rank says nothing",
                hint="Several queries: grades(labels, scores=scores, groups=sizes), or groups=ids; "
                "one: grades(numpy.ravel(labels), scores=numpy.ravel(scores)). Both are given on "
                "with an asterisk: evaluate(*grades(...), ...).",
            )
        queries = row_names or [str(i) for i in range(1, len(cells.lengths) + 1)]
        return _place_rows(queries, cells.lengths)
    if not cells.is_flat or row_names is not None:
        raise InputError(
            f"groups: for flat columns; the labels have rows already ({cells.size})",
            hint="Leave groups out.",
        )
    if not is_sequence(groups):
        raise InputError(f"groups: expected sizes or ids of queries, got {groups!r:.80}")
    n_cells, group_cells = len(cells.values), to_list(groups)
    if kinds_in(group_cells) == {"list"}:  # of an array (n, 1)
        group_cells = [*chain.from_iterable(group_cells)]
    are_whole_numbers = kinds_in(group_cells) <= {"whole number"}
    total = sum(group_cells) if are_whole_numbers else None
    if are_whole_numbers and len(group_cells) == n_cells and {*group_cells} == {1}:
        raise InputError(
            "groups: all are 1: sizes, or ids of queries?",
            hint="For ids, give texts. Of sizes, each query has one document, whose rank says "
            "nothing.",
        )
    if total == n_cells and min(group_cells) >= 0 and len(group_cells) < n_cells:
        queries = [str(i) for i in range(1, len(group_cells) + 1)]
        return _place_rows(queries, np.array(group_cells))
    if len(group_cells) != n_cells:
        sum_phrase = f" that add up to {total:,}" if are_whole_numbers else ""
        raise InputError(
            f"groups: {len(group_cells):,} of them{sum_phrase}, and {n_cells:,} labels",
            hint="Sizes are whole numbers that add up to the labels; ids of queries are as many.",
        )
    names = [to_id_text(group, "groups") for group in group_cells]
    number_of_query = {query: i for i, query in enumerate(dict.fromkeys(names))}
    query_numbers = np.array([number_of_query[name] for name in names])
    places = _place_rows([*number_of_query], np.bincount(query_numbers))
    return places._replace(order=np.argsort(query_numbers, kind="stable")[places.order])


def _place_rows(queries: list[str], lengths: Ints) -> _Places:
    """Return the places of cells in rows of these lengths, a row for each query."""
    rows = np.array(sorted(range(len(queries)), key=lambda row: encode(queries[row])), np.int64)
    lengths_in_order, begins = lengths[rows], np.cumsum(lengths) - lengths
    number_type = np.int32 if lengths.sum() < 1 << 31 else np.int64  # in half the memory
    place = consecutive_numbers(0, lengths_in_order).astype(number_type)
    order = np.repeat(begins[rows].astype(number_type), lengths_in_order) + place
    query = np.repeat(np.arange(len(queries), dtype=number_type), lengths_in_order)
    return _Places([queries[row] for row in rows], order, query, place)


def _make_qrels(places: _Places, cells: Cells, is_judged: Bools) -> Qrels:
    """Return the judgments of the cells that are judged; InputError for what is no grade."""
    is_present = is_judged[places.order]
    grade = unify_grades(cells.values[places.order[is_present]])
    if grade is None:
        bad_cell = int(np.flatnonzero(is_judged & ~(np.abs(cells.values) <= LARGEST_GRADE))[0])
        raise InputError(
            f"{cells.locate(bad_cell)}: expected a number as the grade, "
            f"got {cells.values[bad_cell].item()!r}",
            hint=f"Grades must be from -{LARGEST_GRADE:,} to {LARGEST_GRADE:,}.",
        )
    counts = np.bincount(places.query[is_present], minlength=len(places.queries))
    if not counts.any():
        raise InputError(f"{cells.name}: hold no judgment")
    return Qrels(
        Judgments(
            [query for query, n in zip(places.queries, counts.tolist(), strict=True) if n],
            np.append(0, np.cumsum(counts[counts > 0])),
            places.docs.take(places.place[is_present]),
            narrow_grades(grade),
            description=_DESCRIPTION,
            list_kind="grades",
        )
    )


def _make_run(places: _Places, values: NDArray[Any], is_used: Bools, system: str) -> Run:
    """Return the scores of the cells that count as a run."""
    if not is_used.all():
        is_present = is_used[places.order]
        places = _Places(places.queries, *(column[is_present] for column in places[1:]))
    scores = values[places.order]
    columns = {"query": places.query, "doc": places.place, "score": scores}
    ids_of_role = {"query": Ids.of_texts(places.queries), "doc": places.docs}

    def convert_column(role: Role, position: int, errors: Errors) -> "pa.Array":
        import pyarrow as pa

        column = columns[role]
        if role not in ids_of_role:
            return number_column(column * 1 if column.dtype == bool else column)
        buffers = [None, pa.py_buffer(column.astype(np.int32))]
        number = pa.Array.from_buffers(pa.int32(), len(column), buffers)
        return pa.DictionaryArray.from_arrays(number, ids_of_role[role].to_arrow())

    names = [COLUMNS[role].public for role in columns]
    rows = make_table_rows(names, convert_column, Side.RUN, None, "strict", _DESCRIPTION)
    rows.list_kind = "grades"
    return Run(rows, system)


def _note_empty_rows(places: _Places, is_used: Bools) -> list[Note]:
    """Return a note on the rows in which no document counts: they are no queries."""
    n_used = np.bincount(places.query[is_used[places.order]], minlength=len(places.queries))
    empty_queries = [places.queries[i] for i in np.flatnonzero(n_used == 0)]
    if not empty_queries:
        return []
    count = format_count(len(empty_queries), "query", "queries")
    message = f"{count} without a document that counts, left out: {join_names(empty_queries)}."
    return [Note("no-documents", "warning", message, len(empty_queries))]
