"""Tables of items: their categories or vectors, and catalogues, read from data of any kind."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.named_ids import read_named_documents
from cranfield.data.run import make_run
from cranfield.errors import InputError
from cranfield.formats.columns import NAMES, Side, plain_name
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import kind_of, kinds_in, to_list
from cranfield.formats.small.read import INDEX, NestedObject, Table, TableForm, read_table
from cranfield.formats.stated_columns import list_pairs, record_names, take_statements
from cranfield.notes import Note

PAIR_SIDE = Side.EXCLUDED  # how columns of users and items, or of items alone, are called
_ITEM = (*NAMES["doc"], "id", "_id", *map(plain_name, INDEX))


def read_items(
    data: Any,
    name: str,
    role: str,
    columns: Mapping[str, Any] | None,
    notes: list[Note],
    role_column: str | None = None,
) -> tuple[Ids, Any, Table]:
    """Return the items of a table, the cells of a role as an array of Arrow, and the table.

    Of several columns of numbers, a cell is a list. An empty role: the items alone. `name` is that
    of the input, in `columns` and in errors; `notes` get what is not read. Raises InputError where
    it is unclear which column is meant.
    """
    import pyarrow as pa

    index_name = getattr(getattr(data, "index", None), "name", None)  # of pandas
    if kind_of(data) == "table" and index_name not in (None, *getattr(data, "columns", ())):
        data = data.reset_index()  # as Arrow gets no index of consecutive numbers
    roles = ("doc_id", role) if role else ("doc_id",)
    stated_names = [str(column) for _, column in (*list_pairs(columns or {}), (role, role_column))]
    header_names = (*_ITEM, *map(plain_name, stated_names))
    form = TableForm(f"the {name}", roles, header_names, bare_description=f"{' '.join(roles)},")
    table = read_table(data, form, keeps_arrow=True)
    if isinstance(table, NestedObject):  # {item: cell}
        cells = [[*table.members], [*table.members.values()]]
        table = Table(table.name, ("doc_id", role), cells)
    record_names(table.names, table.name, PAIR_SIDE, columns)
    own_columns = take_statements(columns, table.names) or {}
    doc_columns = [column for key, column in list_pairs(own_columns) if plain_name(key) in _ITEM]
    position = table.find_column([*map(plain_name, map(str, doc_columns)), *_ITEM])
    other_columns = table.other_columns([] if position is None else [position])
    role_name = role_column or own_columns.get(role)
    role_columns = [i for i, column in other_columns if role and role_name in (None, column)]
    first_cells = [cell for i in role_columns for cell in to_list(table.columns[i][:1])]
    may_be_wide = len(role_columns) > 1 and not kinds_in(first_cells) & {"list", "array"}
    arrays = {i: read_numbers(table.columns[i], role) for i in role_columns if may_be_wide}
    numbers = {i: array for i, array in arrays.items() if array is not None}
    if position is None or (role and len(role_columns) != 1 and len(numbers) < 2):
        names = ", ".join(column for _, column in table.other_columns(()))
        option = f"--columns doc_id=NAME{', --category NAME' * (role == 'category')}; in Python"
        hint = f"{option} columns={{{name!r}: {{'doc_id': ..., {role!r}: ...}}}}."
        raise table.row_error(None, f"which column is which: {names:.200}", hint)
    texts = [table.read_id(row, cell) for row, cell in enumerate(to_list(table.columns[position]))]
    column: Any = table.columns[role_columns[0]] if role else []
    if numbers:
        if unread_names := ", ".join(column for i, column in other_columns if i not in numbers):
            text = f"The {name} are {len(numbers)} columns, without {unread_names:.200}."
            notes.append(Note("columns", "info", text))
        values = pa.array(np.column_stack([*numbers.values()]).ravel())
        column = pa.chunked_array([pa.FixedSizeListArray.from_arrays(values, len(numbers))])
    if isinstance(column, pa.ChunkedArray):
        return Ids.of_texts(texts), column.combine_chunks(), table
    try:
        cells = pa.array(map(_to_list, column) if role == "category" else column)
    except (pa.ArrowException, TypeError) as error:
        raise table.row_error(None, f"{table.names[role_columns[0]]}: {error!s:.200}") from None
    return Ids.of_texts(texts), cells, table


def read_numbers(column: Any, role: str) -> Floats | None:
    """Return the numbers of a column, (rows,); of categories, whether 1, not 0; None of others."""
    import pyarrow as pa

    try:
        cells = column if hasattr(column, "cast") else pa.array(column)
        if role == "category":  # of texts, 0, 1, true and false alone are flags
            cells = cells.cast(pa.large_string()).cast(pa.bool_()).fill_null(False)
        return np.asarray(cells if pa.types.is_floating(cells.type) else cells.cast(pa.float64()))
    except (pa.ArrowException, TypeError):
        return None


def _to_list(cell: Any) -> list[str]:
    """Return the categories of a cell, a list or a text, as texts."""
    parts = [cell] if isinstance(cell, str) or not hasattr(cell, "__iter__") else cell
    return ["" if part is None or part != part else str(part) for part in parts]


def read_categories(
    data: Any, columns: Mapping[str, Any] | None, category_column: str | None, notes: list[Note]
) -> tuple[Ids, Ints, Ints]:
    """Return items, and the rows and categories of pairs of both, (pairs,); how goes into `notes`.

    A cell is a list or a text, or has 0 and 1 for each category. Categories are numbered from 0 on.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ids, lists, _ = read_items(data, "items", "category", columns, notes, category_column)
    has_lists = pa.types.is_nested(lists.type)
    lengths = lists.value_lengths().unique().to_pylist() if has_lists else [1]
    is_one = read_numbers(lists.flatten() if has_lists else lists, "category")
    if is_one is not None and len(lengths) == 1 and lengths[0]:
        notes.append(Note("categories", "info", "0 and 1 tell whether an item has a category."))
        item_row, category = is_one.reshape(-1, lengths[0]).nonzero()
        return ids, item_row, category
    if not has_lists:
        lists = pc.split_pattern(lists.cast(pa.large_string()), "\0")
    texts = lists.flatten().cast(pa.large_string()).fill_null("")
    parts = pc.split_pattern(texts, "|")
    names = pc.utf8_trim_whitespace(parts.flatten())
    item_row = pc.list_parent_indices(lists).take(pc.list_parent_indices(parts))
    has_text = pc.not_equal(names, "")
    category = names.filter(has_text).dictionary_encode().indices
    item_row = item_row.filter(has_text)
    if len(names) > len(texts):
        notes.append(Note("categories", "info", "Categories are split at |."))
    elif lengths == [1] and len(texts := texts.filter(pc.match_substring(texts, ","))):
        text = f"Categories are split at | alone: {texts[0].as_py()!r:.80} is one."
        notes.append(Note("categories", "info", text))
    return ids, item_row.to_numpy(), category.to_numpy()


def read_vectors(data: Any, columns: Any, notes: list[Note]) -> tuple[Ids, Floats]:
    """Return items and their vectors, (items, n), in the type given; others in doubles."""
    if kind_of(data) == "tuple" and len(data) == 2:
        ids = Ids.of_texts([to_id_text(key, "embeddings") for key in to_list(data[0])])
        matrix = np.asarray(data[1])
        if matrix.ndim != 2 or len(matrix) != len(ids):
            problem = f"{len(ids)} ids beside a matrix of shape {matrix.shape}"
            raise InputError(f"{problem}: expected a row for each id", source="embeddings")
    else:
        ids, cells, table = read_items(data, "embeddings", "vector", columns, notes)
        if not len(ids):
            raise InputError("holds no rows", source="embeddings")
        if not hasattr(cells, "value_lengths"):
            raise table.row_error(0, f"expected a list of numbers, got {cells[0].as_py()!r:.80}")
        lengths = np.nan_to_num(cells.value_lengths().to_numpy(zero_copy_only=False))
        if len(wrong := np.flatnonzero(lengths != lengths[0])):
            problem = f"expected {lengths[0]:.0f} numbers as in the first, got"
            raise table.row_error(int(wrong[0]), f"{problem} {lengths[wrong[0]]:.0f}")
        matrix = cells.flatten().to_numpy(zero_copy_only=False).reshape(len(ids), -1)
    if matrix.dtype.kind not in "fiub":
        raise InputError("expected lists of numbers", source="embeddings")
    matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    is_finite = np.isfinite(matrix.sum(axis=1))
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        text = ids.take(slice(row, row + 1)).to_texts()[0]
        problem = f"row {row}: the vector of {text!r:.80} has NaN or infinity"
        raise InputError(problem, source="embeddings")
    return ids, matrix


def read_catalogue(data: Any, columns: Mapping[str, Any] | None) -> Ids:
    """Return the ids of a catalogue, some more than once."""
    if kind_of(data) in ("table", "dict") or isinstance(data, str | os.PathLike):
        return read_items(data, "catalogue", "", columns, [])[0]
    named_docs = read_named_documents(data, make_run)
    index: Any = named_docs.doc_index or named_docs.pair_index
    ids: Ids = index.ids
    return ids
