"""List cells: turns a table with a row for each query into rows, each with one document.

This is the only place where lists become rows, for tables of every kind: list columns of Arrow,
pandas and polars; lists in dicts and in JSON; texts that hold a list, `["a", "b"]`, `['a', 'b']`
or `a;b` (`list_elements`).
"""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Ints
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.arrow_lists import flatten_lists
from cranfield.formats.block import Block, Cells, DistanceRows, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import (
    COLUMNS,
    FRACTIONS,
    NAMES,
    ColumnsLike,
    Side,
    select_extra_roles,
)
from cranfield.formats.header import TEXT_LISTS, is_name_if_lists, list_aliases
from cranfield.formats.identifiers import normalize_text
from cranfield.formats.json_text import NumberText
from cranfield.formats.list_elements import (
    INTEGER_TEXT,
    ONE_OR_SEVERAL,
    is_list_text,
    padding_note,
    parse_id,
    parse_list_text,
    read_column,
    read_padded_ids,
    refuse_object,
    strip_fillers,
    to_ids,
)
from cranfield.formats.stated_columns import resolve_roles
from cranfield.formats.systems import SystemRows, add_mixed_column, refuse_mixture, select_cells
from cranfield.formats.values import is_list_cell
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import format_count

_FILLER = Ids.of([b"-1"])
_ORDER_HINT = "Give all a score, or none; order='given' (--order given) takes all in their order."


def to_document_rows(rows: Rows, side: Side, user_columns: ColumnsLike | None) -> Rows:
    """Return rows with one document each: split where cells hold several, scores for distances."""
    _, _, system = str((user_columns or {}).get("system")).partition("=")
    if rows.list_columns and holds_lists(rows, side, user_columns):
        rows = ListRows(rows, side, user_columns)
        rows.system = system
    else:
        rows.list_columns = {}
        rows = SystemRows(rows, system) if system else rows
    return DistanceRows(rows) if "distance" in rows.extra_roles else rows


def holds_lists(rows: Rows, side: Side, user_columns: ColumnsLike | None) -> bool:
    """Tell whether the documents' column holds lists by its name, its type or its cells.

    Texts in a column of single ids are ids unless all of them are lists, `['d1']`: rows are read
    until a text is not a list, or a cell is a list and no text; other cells do not count. Raises
    InputError if all are, unless the column is stated: they may be lists or ids.
    """
    name, list_text = rows.list_columns["doc"], ""
    if list_aliases(name, rows.column_names, user_columns):
        return True
    for cells in rows.cells():
        column = cells.columns["doc"]
        if not isinstance(column, list):
            if "string" not in str(column.type):
                return True
            column = column.to_pylist()
        for cell in column:
            if isinstance(cell, list | tuple):
                return True
            if isinstance(cell, str) and cell.strip():
                if not is_list_text(cell):
                    return False
                list_text = list_text or cell
    is_stated = "doc" in resolve_roles(user_columns, side, rows.column_names)
    if list_text and not is_stated and not is_name_if_lists(name, side):
        public = COLUMNS["doc"].list_names[side][0]
        raise InputError(
            f"column {name!r:.80} holds texts such as {list_text:.60}: are they lists, or ids?",
            source=getattr(rows, "name", "") or rows.source.name,  # type: ignore[attr-defined]
            hint=f"Lists: --columns {public}={name}; ids: doc_id={name}.",
            kind="columns",
        )
    return True


class ListRows(Rows):
    """The rows of a table whose cells hold several documents: a row for each document.

    The order of a run's list is its ranking, unless another column has scores, distances or
    ranks; the documents of judgments have grade 1, unless another column has their grades.
    """

    def __init__(self, rows: Rows, side: Side, user_columns: ColumnsLike | None) -> None:
        self.take_facts(rows)
        self._rows, self._side, self.name_of_role = rows, side, rows.list_columns
        self._split_columns = frozenset(  # the columns that may hold texts such as a;b
            name
            for name in rows.list_columns.values()
            if list_aliases(name, rows.column_names, user_columns)
        )
        self._is_row_a_query = rows.list_columns["query"] == rows.list_columns["doc"]
        self.extra_roles = select_extra_roles(rows.list_columns)
        self.is_ranking = side is Side.RUN and not self.extra_roles & {"score", "distance", "rank"}
        self.description, _, _ = rows.description.partition(" with ")
        column_list = ", ".join(dict.fromkeys(rows.list_columns.values()))
        self.description += f" with lists in columns {column_list}"
        self.name: str = getattr(rows, "name", "") or rows.source.name  # type: ignore[attr-defined]
        # Whether the documents' column is a list by its name, as stated, or as a field of objects.
        name = rows.list_columns["doc"]
        is_field = any(name.startswith(f"{column}.") for column in rows.column_names)
        aliases = list_aliases(name, rows.column_names, user_columns)
        self.holds_texts = not TEXT_LISTS.isdisjoint(aliases[-1:])
        self._is_known_list = (
            name in self._split_columns or is_name_if_lists(name, side) or is_field
        )

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield functions that load blocks, each of whole rows of the table; then set `notes`."""
        roles = tuple(roles)
        queries_above: set[bytes] = set()  # of a run
        n_rows, n_documents, n_rows_above, self._n_fillers = 0, 0, self.n_rows_above, 0
        for cells in self._rows.cells():
            if self._is_row_a_query:
                numbers = range(n_rows_above + 1, n_rows_above + 1 + len(cells.columns["doc"]))
                cells = cells._replace(columns={**cells.columns, "query": [*map(str, numbers)]})
                n_rows_above = numbers.stop - 1
            if self.system:
                cells = select_cells(cells, self.system)
            faults = FaultLog(errors)
            split_rows = self._split_at_once(cells, roles, queries_above)
            if split_rows is None:
                split_rows = self._split_one_by_one(cells, roles, queries_above, faults)
            if self._side is Side.RUN:
                queries_above.update(split_rows.queries)
            n_rows, n_documents = n_rows + len(split_rows.rows), n_documents + len(split_rows.docs)
            yield partial(self._build_block, cells, split_rows, faults)
        self.n_rows_below = n_rows_above
        if self._is_row_a_query and self._side is Side.RUN:
            text = "No column of queries: each row is a query, numbered from 1."
            self.notes = (Note("row-queries", "info", text),)
        elif not self._is_known_list and not self._rows.notes:
            text = (
                f"Column {self.list_columns['doc']!r:.80} of {self._side.name_in_errors} holds "
                f"lists: {format_count(n_rows, 'row')} became "
                f"{format_count(n_documents, 'document')}."
            )
            self.notes = (Note("list-cells", "info", text, count=n_rows),)
        if self._n_fillers:
            old_notes = (note for note in self.notes if note.code != "padding")  # of another pass
            self.notes = (*old_notes, padding_note(self._side, self._n_fillers))

    @cached_property
    def _ids_hold_blanks(self) -> bool:
        """Whether ids hold blanks: other cells are lists, or the other side's ids hold blanks."""
        rows, doc_name = copy(self._rows), self.list_columns["doc"]
        other_columns = getattr(self.user_columns, "other_side", None)
        for name in (doc_name, *rows.column_names):
            aliases = list_aliases(name, rows.column_names, other_columns)
            if name != doc_name and {*aliases}.isdisjoint(NAMES["doc"]):
                continue
            rows.list_columns = {**self.list_columns, "doc": name}
            for cells in rows.cells():
                column = cells.columns["doc"]
                for cell in column if isinstance(column, list) else column.to_pylist():
                    if isinstance(cell, str) and ";" not in cell and not is_list_cell(cell):
                        continue
                    docs: Sequence[Any] = ()
                    with contextlib.suppress(InputError):  # a fault, as above
                        docs = self._list_elements(cell, name, is_ranked=False) or ()
                    has_blank = any(len(str(doc).split()) > 1 for doc in docs)
                    if has_blank or (docs and name == doc_name):
                        return True
        return False

    def _build_block(self, cells: Cells, split_rows: "_SplitRows", faults: FaultLog) -> Block:
        """Return the block of the documents of rows that were split."""
        row_of_doc = np.repeat(np.arange(len(split_rows.rows)), split_rows.n_docs)

        def find_line(row: int) -> tuple[int | None, str]:
            return cells.find_line(int(split_rows.rows[row_of_doc[row]]))

        return Block(
            Ids.of(split_rows.queries or [b"?"]).take(row_of_doc),
            split_rows.docs,
            split_rows.columns,
            self.name,
            find_line,
            faults.left_out,
            [split_rows.queries[i] for i in np.flatnonzero(split_rows.n_docs == 0).tolist()],
        )

    def _split_at_once(
        self, cells: Cells, roles: Sequence[Role], queries_above: Set[bytes]
    ) -> "_SplitRows | None":
        """Return the split rows, column by column; None if they must be read one by one."""
        query_ids = None if cells.faults or self.holds_texts else to_ids(cells.columns["query"])
        doc_lists = self._flatten_column(cells, "doc")
        docs = None if doc_lists is None else to_ids(doc_lists[0])
        if query_ids is None or doc_lists is None or docs is None:
            return None
        queries, n_docs, columns = query_ids.to_list(), doc_lists[1], {}
        for role in roles:
            number_lists = self._flatten_column(cells, role)
            if number_lists is None or not np.array_equal(number_lists[1], n_docs):
                return None
            columns[role] = read_column(number_lists[0], role)
            if columns[role] is None:
                return None
        has_repeats = len({*queries}) < len(queries) or not queries_above.isdisjoint(queries)
        if self._side is Side.RUN and has_repeats:
            return None
        row_of_doc = np.repeat(np.arange(len(queries)), n_docs)
        is_filler = docs.equal(np.arange(len(docs)), _FILLER, np.zeros(len(docs), np.int64))
        is_last = np.append(row_of_doc[1:] != row_of_doc[:-1], True)[: len(docs)]
        if is_filler.any():
            if (
                read_padded_ids(doc_lists[0]) is None
                or (is_filler & ~is_last & ~np.append(is_filler[1:], True)).any()
            ):
                return None  # which tells where -1 is an id
            self._n_fillers += int(np.count_nonzero(is_filler))
            good_docs = np.flatnonzero(~is_filler)
            docs = docs.take(good_docs)
            columns = {role: column[good_docs] for role, column in columns.items()}
            n_docs = np.bincount(row_of_doc[good_docs], minlength=len(queries))
        return _SplitRows(np.arange(len(queries)), queries, n_docs, docs, columns)

    def _flatten_column(self, cells: Cells, role: Role) -> tuple[Any, Ints] | None:
        """Return the elements of all cells of a column, (elements,), and how many each cell has.

        None if the cells must be read one by one, as some are faulty, or empty where that counts.
        """
        column, name = cells.columns[role], self.list_columns[role]
        if not isinstance(column, list):
            flat_lists = flatten_lists(column)
            refuses_null = role == "doc" and self._side is Side.QRELS  # an empty cell is a fault
            if flat_lists is None or (refuses_null and flat_lists.is_null is not None):
                return None
            return flat_lists.elements, flat_lists.n_elements
        is_ranked = role != "doc" or self._side is Side.RUN
        try:
            lists = [
                cell if type(cell) is list else self._list_elements(cell, name, is_ranked=is_ranked)
                for cell in column
            ]
        except InputError:
            return None
        if None in lists:
            return None
        n_elements = [len(elements) for elements in lists if elements is not None]
        return list(chain.from_iterable(filter(None, lists))), np.array(n_elements, np.int64)

    def _split_one_by_one(
        self, cells: Cells, roles: Sequence[Role], queries_above: Set[bytes], faults: FaultLog
    ) -> "_SplitRows":
        """Return the rows without a fault; a row with a fault raises an error or is left out."""
        columns = {
            role: column if isinstance(column, list) else column.to_pylist()
            for role, column in cells.columns.items()
        }
        rows: list[int] = []
        queries: list[bytes] = []
        all_queries_above = {*queries_above}
        docs: list[list[bytes]] = []
        numbers = {
            role: [np.zeros(0, np.float64 if role in FRACTIONS else np.int64)] for role in roles
        }
        for row, row_cells in enumerate(zip(*columns.values(), strict=True)):
            cell_of_role = dict(zip(columns, row_cells, strict=True))
            try:
                if row in cells.faults:
                    raise cells.faults[row]
                query, row_docs, row_numbers = self._split_row(cell_of_role, roles)
                if query in all_queries_above:
                    raise DuplicateError(
                        f"the query {decode(query)!r} occurs in two rows",
                        hint="A run has one list for each query: which of the two is its ranking?",
                    )
            except InputError as error:
                line, text = cells.find_line(row)
                make_error = partial(error.locate, self.name, line, text)
                if isinstance(error, DuplicateError):
                    refuse_mixture(self, make_error)
                    make_error = partial(add_mixed_column, make_error(), self)
                faults.add(error.kind, make_error)
                continue
            if self._side is Side.RUN:
                all_queries_above.add(query)
            rows.append(row)
            queries.append(query)
            docs.append(row_docs)
            for role in roles:
                numbers[role].append(row_numbers[role])
        return _SplitRows(
            np.array(rows, np.int64),
            queries,
            np.array(list(map(len, docs)), np.int64),
            Ids.of(list(chain.from_iterable(docs))),
            {role: np.concatenate(numbers[role]) for role in roles},
        )

    def _split_row(
        self, cell_of_role: Mapping[Role, Any], roles: Sequence[Role]
    ) -> tuple[bytes, list[bytes], dict[Role, Any]]:
        """Return a row's query, documents and their numbers; InputError for a fault."""
        query = parse_id(cell_of_role["query"], self.list_columns["query"])
        name = self.list_columns["doc"]
        elements = self._list_elements(cell_of_role["doc"], name, is_ranked=self._side is Side.RUN)
        if elements is None and self._side is Side.QRELS:
            raise InputError(
                f"column {name!r} is empty: does the query have no relevant document, or was "
                "it not judged?",
                hint="Write [] for a query without a relevant document: it counts, with 0. Or "
                "leave the row out, as errors='skip' (--errors skip) does with all such rows; then "
                "the mean is over fewer queries.",
                kind="id",
            )
        elements = [*map(normalize_text, elements or ())] if self.holds_texts else elements or []
        docs = [parse_id(doc_id, name) for doc_id in elements]
        n = len(strip_fillers(elements))
        numbers = {role: self._read_numbers(role, cell_of_role[role], docs, n) for role in roles}
        self._n_fillers += len(docs) - n
        return query, docs[:n], numbers

    def _read_numbers(self, role: Role, cell: Any, docs: Sequence[bytes], n: int) -> Any:
        """Return the numbers of the first n documents of a row, (n,); InputError for a fault."""
        name = self.list_columns[role]
        elements = self._list_elements(cell, name, is_ranked=True) or []
        if len(elements) != len(docs):
            raise InputError(
                f"{len(docs):,} in column {self.list_columns['doc']!r}, and {len(elements):,} in "
                f"column {name!r}",
                hint="Both lists of a row must have the same length.",
                kind="columns",
            )
        elements = elements[:n]
        numbers = read_column(elements, role)
        if numbers is None:
            i = next(i for i, number in enumerate(elements) if read_column([number], role) is None)
            expected = f"expected a {COLUMNS[role].kind} as the {role} in column {name!r}"
            problem = f"document {decode(docs[i])!r}: {expected}, got {elements[i]!r:.80}"
            hint = _ORDER_HINT if role == "score" and elements[i] is None else None
            raise InputError(problem, hint=hint, kind="number")
        return numbers

    def _list_elements(self, cell: Any, name: str, *, is_ranked: bool) -> list[Any] | None:
        """Return the elements of a cell, itself if it is no list; None for a null or blank text.

        `name` is the column's. `is_ranked`: the order matters. InputError for a fault.
        """
        if is_ranked and isinstance(cell, Set):
            raise InputError(f"column {name!r} holds a set, which has no order", kind="columns")
        if isinstance(cell, list | tuple | Set):
            elements = list(cell)
            return [*refuse_object(elements[0], name), *elements[1:]] if elements else []
        if getattr(cell, "ndim", 0) == 1:
            return list(cell.tolist())
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return None
        if not isinstance(cell, str) or isinstance(cell, NumberText):
            return refuse_object(cell, name)
        text = cell.strip()
        if not text:
            return None
        if is_list_cell(text):
            return parse_list_text(text, name)
        if is_list_cell(f"{text}]"):
            raise InputError(f"column {name!r} holds a list that is cut off: {text!r:.80}")
        if name not in self._split_columns or self.holds_texts:
            return [cell]
        is_clear = ";" in text or len(text.split()) == 1 or self._ids_hold_blanks
        if not is_clear or (";" not in text and ONE_OR_SEVERAL.fullmatch(text)):
            raise InputError(
                f"column {name!r} holds {text!r:.60}: is this one id or several?",
                hint='Write several ids as a;b or ["a", "b"], and one id as ["a,b"].',
                kind="columns",
            )
        parts = [part.strip() for part in text.split(";")]
        return [NumberText(part) if INTEGER_TEXT.fullmatch(part) else part for part in parts]


class _SplitRows(NamedTuple):
    """Rows of a table that were split: their queries and documents, and the documents' numbers."""

    rows: Ints  # (rows,) the rows' positions in the `Cells`
    queries: list[bytes]  # (rows,)
    n_docs: Ints  # (rows,) the number of each row's documents
    docs: Ids  # (documents,) row after row
    columns: Mapping[Role, Any]  # {role: (documents,) numbers}
