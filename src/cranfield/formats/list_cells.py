"""Cells that hold several documents: turns a table's row per query into a row per document.

This is the only place where lists become rows, for tables of every kind: list columns of Arrow,
pandas and polars; lists in dicts and in JSON; texts that hold a list, `["a", "b"]`, `['a', 'b']`
or `a;b`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode
from cranfield.arrays.ranked import Ints
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.arrow_lists import listed
from cranfield.formats.batches import ID_TYPE, NUMBER_TYPE, ids_of, numbers_of, refuse_bytes
from cranfield.formats.block import Block, Cells, DistanceRows, Errors, Faults, Load, Role, Rows
from cranfield.formats.columns import COLUMNS, FRACTIONS, ColumnsLike, What, numbers_in
from cranfield.formats.header import is_if_lists, may_split
from cranfield.formats.identifiers import are_ids, id_bytes, is_whole_decimal
from cranfield.formats.json_text import WrittenNumber
from cranfield.formats.systems import refuse_mixture
from cranfield.formats.values import NUMBER, is_list_cell, is_number, values_of
from cranfield.notes import Note
from cranfield.options import is_whole
from cranfield.render.numbers import number_of

_INTEGER = re.compile(r"[+-]?\d+")
# An element of a list as Python writes it, and the text after it.
_ELEMENT = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\['"\\])*)'|"((?:[^"\\]|\\['"\\])*)"|([\w.+-]+))\s*(,|$)"""
)


def apart(rows: Rows, what: What, stated: ColumnsLike | None) -> Rows:
    """Return the rows: split if their cells hold several documents, with scores for distances."""
    if rows.lists and holds_lists(rows, stated):
        rows = ListRows(rows, what, stated)
    else:
        rows.lists = {}
    return DistanceRows(rows) if "distance" in rows.numbers else rows


def holds_lists(rows: Rows, stated: ColumnsLike | None) -> bool:
    """Tell whether the documents' column holds lists by its name, or by each of its texts.

    Texts in a column of single ids are ids unless all of them are lists, `['d1']`: the rows are
    read until one is not, or is a list of another kind.
    """
    if may_split(rows.lists["doc"], rows.names, stated):
        return True
    for cells in rows.cells():
        column = cells.columns["doc"]
        if not isinstance(column, list):
            return True
        for cell in column:
            if isinstance(cell, list | tuple):
                return True
            if isinstance(cell, str) and cell.strip() and not _is_list(cell):
                return False
    return True


def _is_list(text: str) -> bool:
    """Tell whether a text is a list as JSON or Python write it."""
    try:
        return is_list_cell(text) and isinstance(_listed(text.strip(), ""), list)
    except InputError:
        return False


class ListRows(Rows):
    """The rows of a table whose cells hold several documents: one row for each document.

    The order of a run's list is its ranking, unless another column has a list of scores; the
    documents of judgments have grade 1, unless another column has their grades.
    """

    def __init__(self, rows: Rows, what: What, stated: ColumnsLike | None) -> None:
        self._rows, self._what = rows, what
        self.beside = rows.beside  # type: ignore[method-assign] # of the same table
        self.names, self.taken, self.lists = rows.names, rows.lists, rows.lists
        several = (name for name in rows.lists.values() if may_split(name, rows.names, stated))
        self._split = frozenset(several)  # the columns that may hold texts such as a;b
        self.numbers = numbers_in(rows.lists)
        self.is_ranking = what is What.RUN and not self.numbers & {"score", "distance", "rank"}
        self.form, _, _ = rows.form.partition(" with ")
        self.form += f" with lists in columns {', '.join(rows.lists.values())}"
        self.sources, self.is_text, self.length = rows.sources, rows.is_text, rows.length
        self.name: str = getattr(rows, "name", "") or rows.source.name  # type: ignore[attr-defined]
        doc = rows.lists["doc"]  # its name says that it holds lists, or it is a field of objects
        is_field = doc.rpartition(".")[0] in rows.names
        self._is_named = doc in self._split or is_if_lists(doc, what) or is_field

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        roles = tuple(wanted)
        seen: set[bytes] = set()  # the queries of a run
        n_rows = n_documents = 0
        for cells in self._rows.cells():
            faults = Faults(errors)
            taken = self._quickly(cells, roles, seen) or self._carefully(cells, roles, seen, faults)
            if self._what is What.RUN:
                seen.update(taken.queries)
            n_rows, n_documents = n_rows + len(taken.rows), n_documents + len(taken.docs)
            yield partial(self._block, cells, taken, faults)
        if not self._is_named:
            text = (
                f"Column {self.lists['doc']!r:.80} of {self._what.called} holds lists: "
                f"{number_of(n_rows, 'row')} became {number_of(n_documents, 'document')}."
            )
            self.notes = (Note("list-cells", "info", text, count=n_rows),)

    def _block(self, cells: Cells, taken: "_Taken", faults: Faults) -> Block:
        of = np.repeat(np.arange(len(taken.rows)), taken.lengths)

        def where(row: int) -> tuple[int | None, str]:
            return cells.where(int(taken.rows[of[row]]))

        return Block(
            Ids.of(taken.queries or [b"?"]).take(of),
            taken.docs,
            taken.numbers,
            self.name,
            where,
            faults.left_out,
            [taken.queries[i] for i in np.flatnonzero(taken.lengths == 0).tolist()],
        )

    def _quickly(self, cells: Cells, roles: Sequence[Role], seen: Set[bytes]) -> "_Taken | None":
        """Return the documents of some rows, and their numbers; None for any fault."""
        query = None if cells.faults else _ids_in(cells.columns["query"])
        held = self._lists_in(cells, "doc")
        docs = None if held is None else _ids_in(held[0])
        if query is None or held is None or docs is None:
            return None
        queries, numbers = query.to_list(), {}
        for role in roles:
            beside = self._lists_in(cells, role)
            if beside is None or not np.array_equal(beside[1], held[1]):
                return None
            numbers[role] = _numbers_in(beside[0], role)
            if numbers[role] is None:
                return None
        again = len({*queries}) < len(queries) or not seen.isdisjoint(queries)
        if self._what is What.RUN and again:
            return None
        return _Taken(np.arange(len(queries)), queries, held[1], docs, numbers)

    def _lists_in(self, cells: Cells, role: Role) -> tuple[Any, Ints] | None:
        """Return the elements of all cells of a column, and the number of elements in each cell.

        None if a cell is empty, or does not hold a list.
        """
        column, name = cells.columns[role], self.lists[role]
        if not isinstance(column, list):
            found = listed(column)
            is_empty = role == "doc" and self._what is What.QRELS  # for judgments, that is a fault
            if found is None or (is_empty and found[2] is not None):
                return None
            return found[:2]
        is_ranked = role != "doc" or self._what is What.RUN
        try:
            lists = [
                one if type(one) is list else self._several(one, name, is_ranked=is_ranked)
                for one in column
            ]
        except InputError:
            return None
        if None in lists:
            return None
        lengths = np.array([len(cells) for cells in lists if cells is not None], np.int64)
        return list(chain.from_iterable(filter(None, lists))), lengths

    def _carefully(
        self, cells: Cells, roles: Sequence[Role], seen: Set[bytes], faults: Faults
    ) -> "_Taken":
        """Return the same for the rows without a fault; others raise an error or are left out."""
        columns = {
            role: column if isinstance(column, list) else column.to_pylist()
            for role, column in cells.columns.items()
        }
        rows: list[int] = []
        queries: list[bytes] = []
        above = {*seen}
        docs: list[list[bytes]] = []
        numbers = {
            role: [np.zeros(0, np.float64 if role in FRACTIONS else np.int64)] for role in roles
        }
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            held = dict(zip(columns, values, strict=True))
            try:
                if row in cells.faults:
                    raise cells.faults[row]
                query, its, beside = self._apart(held, roles)
                if query in above:
                    raise DuplicateError(
                        f"the query {decode(query)!r} occurs in two rows",
                        hint="A run has one list for each query: which of the two is its ranking?",
                    )
            except InputError as error:
                if isinstance(error, DuplicateError):
                    refuse_mixture(self)
                line, text = cells.where(row)
                faults.add(error.kind, partial(error.at, self.name, line, text))
                continue
            if self._what is What.RUN:
                above.add(query)
            rows.append(row)
            queries.append(query)
            docs.append(its)
            for role in roles:
                numbers[role].append(beside[role])
        return _Taken(
            np.array(rows, np.int64),
            queries,
            np.array(list(map(len, docs)), np.int64),
            Ids.of(list(chain.from_iterable(docs))),
            {role: np.concatenate(numbers[role]) for role in roles},
        )

    def _apart(
        self, held: Mapping[Role, Any], roles: Sequence[Role]
    ) -> tuple[bytes, list[bytes], dict[Role, Any]]:
        """Return a row's query, documents and their numbers; InputError for a fault."""
        query = _id(held["query"], self.lists["query"])
        name = self.lists["doc"]
        given = self._several(held["doc"], name, is_ranked=self._what is What.RUN)
        if given is None and self._what is What.QRELS:
            raise InputError(
                f"column {name!r} is empty: does the query have no relevant document, or was "
                "it not judged?",
                hint="Write [] for a query without a relevant document: it counts, with 0. Or "
                "leave the row out, as errors='skip' (--errors skip) does with all such rows; then "
                "the mean is over fewer queries.",
                kind="id",
            )
        docs = [_id(one, name) for one in given or ()]
        return query, docs, {role: self._beside(role, held[role], docs) for role in roles}

    def _beside(self, role: Role, cell: Any, docs: Sequence[bytes]) -> Any:
        """Return the numbers of a row's documents: (documents,)."""
        name = self.lists[role]
        given = self._several(cell, name, is_ranked=True) or []
        if len(given) != len(docs):
            raise InputError(
                f"{len(docs):,} in column {self.lists['doc']!r}, and {len(given):,} in column "
                f"{name!r}",
                hint="Both lists of a row must have the same length.",
                kind="columns",
            )
        values = _numbers_in(given, role)
        if values is None:
            wrong = next(cell for cell in given if _numbers_in([cell], role) is None)
            expected = f"expected a {COLUMNS[role].kind} as the {role} in column {name!r}"
            raise InputError(f"{expected}, got {wrong!r:.80}", kind="number")
        return values

    def _several(self, cell: Any, name: str, *, is_ranked: bool) -> list[Any] | None:
        """Return the elements of a cell; None if it is empty.

        `is_ranked`: the order matters.
        """
        if is_ranked and isinstance(cell, Set):
            raise InputError(f"column {name!r} holds a set, which has no order", kind="columns")
        if isinstance(cell, list | tuple | Set):
            several = list(cell)
            return [*_no_object(several[0], name), *several[1:]] if several else []
        if getattr(cell, "ndim", 0) == 1:
            return list(cell.tolist())
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return None
        if not isinstance(cell, str) or isinstance(cell, WrittenNumber):
            return _no_object(cell, name)
        text = cell.strip()
        if not text:
            return None
        if is_list_cell(text):
            return _listed(text, name)
        if name not in self._split:
            return [cell]
        if "," in text and ";" not in text:
            raise InputError(
                f"column {name!r} holds {text!r:.60}: is this one id or several?",
                hint='Write several ids as a;b or ["a", "b"], and one id with a comma as ["a,b"].',
                kind="columns",
            )
        return [part.strip() for part in text.split(";")]


class _Taken(NamedTuple):
    """Rows that were split: their numbers, queries and documents."""

    rows: Ints
    queries: list[bytes]  # (rows,)
    lengths: Ints  # (rows,) the number of documents of each
    docs: Ids  # (documents,) row after row
    numbers: Mapping[Role, Any]  # (documents,) each


# ---- columns at once ----------------------------------------------------------------------------


def _ids_in(values: Any) -> Ids | None:
    """Return the ids in a list or an Arrow array; None if one is not an id."""
    if not isinstance(values, list):
        entries = values.dictionary if hasattr(values, "dictionary") else values
        if not ID_TYPE.fullmatch(str(entries.type)) or values.null_count:
            return None
        try:
            refuse_bytes(values, "", "")
        except InputError:
            return None
        ids, missing = ids_of(values)
        return ids if missing is None and ids.spoilt() is None else None
    kinds = {*map(type, values)}
    if kinds <= {str, WrittenNumber}:
        numbers = (one for one in values if type(one) is WrittenNumber)
        if WrittenNumber in kinds and not all(map(_INTEGER.fullmatch, numbers)):
            return None
        return Ids.of_texts(values) if are_ids(values) else None
    return Ids.of_texts(list(map(str, values))) if kinds == {int} else None


def _numbers_in(values: Any, role: Role) -> Any:
    """Return the numbers in a list or an Arrow array, (values,); None if one is not a number."""
    if isinstance(values, list):
        return values_of("score" if role in FRACTIONS else role, list(map(_number, values)))
    if not NUMBER_TYPE.fullmatch(str(values.type)) or str(values.type) == "bool":
        return None
    numbers, wrong = numbers_of(values, role)
    return numbers if wrong is None else None


# ---- cell by cell -------------------------------------------------------------------------------


def _no_object(value: Any, name: str) -> list[Any]:
    """Return [value]; InputError for an object instead of an id or a list of ids."""
    if isinstance(value, Mapping):
        raise InputError(
            f"column {name!r} holds objects, expected a list of ids: {dict(value)!r:.80}",
            hint="Write the ids as a list, and their scores or grades as a list in another column, "
            "`scores` or `grades`. Or state which field of the objects has the ids: "
            "columns={'doc_id': ...}.",
            kind="columns",
        )
    return [value]


def _listed(text: str, name: str) -> list[Any]:
    """Return the list in a text, written as in JSON or Python."""
    try:
        found = json.loads(text, parse_float=WrittenNumber, parse_int=WrittenNumber)
        return list(found)
    except (ValueError, RecursionError):
        pass
    found, at, inner = [], 0, text[1:-1]
    while inner[at:].strip():
        part = _ELEMENT.match(inner, at)
        if part is None:
            raise InputError(
                f"column {name!r} holds no list that can be read: {text!r:.80}",
                hint="""Lists are written ["a", "b"], ['a', 'b'] or a;b.""",
                kind="text",
            )
        at = part.end()
        single, double, bare = part.groups()[:3]
        quoted = single if single is not None else double
        if quoted is not None:
            found.append(re.sub(r"\\(.)", r"\1", quoted))
        else:
            found.append(None if bare in ("None", "nan") else WrittenNumber(bare))
    return found


def _id(value: Any, name: str) -> bytes:
    """Return an id's bytes, from a string or a whole number, which may be a Decimal."""
    if is_whole(value) or is_whole_decimal(value):
        return encode(str(int(value)))
    is_text = not isinstance(value, WrittenNumber) or _INTEGER.fullmatch(value)
    found = id_bytes(value) if is_text else None
    if found is None:
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            problem = f"an id in column {name!r} is empty or missing"
        else:
            shown = str(value) if isinstance(value, WrittenNumber) else repr(value)
            problem = f"expected a string or a whole number in column {name!r}, got {shown:.80}"
        raise InputError(problem, kind="id")
    return found


def _number(value: Any) -> Any:
    """Return the number in a text; any other value unchanged."""
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text.encode("utf-8", "replace")) else value
    return value if is_number(value) and not isinstance(value, bool) else None
