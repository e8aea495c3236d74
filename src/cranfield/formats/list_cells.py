"""Cells that hold several documents: tables with a row for each query, taken apart.

This is the only place where lists become rows, wherever the table is from: list columns of Arrow,
pandas and polars; lists in dicts and in JSON; texts that hold a list, `["a", "b"]`, `['a', 'b']`
or `a;b`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import SIZES, Block, Cells, Errors, Faults, Load, Progress, Role, Rows
from cranfield.formats.columns import COLUMNS, FRACTIONS, ColumnsLike, What, numbers_in
from cranfield.formats.header import is_list_cell, may_split
from cranfield.formats.identifiers import id_bytes
from cranfield.formats.json_text import WrittenNumber
from cranfield.formats.values import NUMBER, is_number, values_of
from cranfield.options import is_whole

_INTEGER = re.compile(r"[+-]?\d+")
# An element of a list as Python writes it, and what follows.
_ELEMENT = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\['"\\])*)'|"((?:[^"\\]|\\['"\\])*)"|([\w.+-]+))\s*(,|$)"""
)


def apart(rows: Rows, what: What, stated: ColumnsLike | None) -> Rows:
    """Return the rows, taken apart if their cells hold several documents."""
    return ListRows(rows, what, stated) if rows.lists else rows


class ListRows(Rows):
    """The rows of a table whose cells hold several documents: one for each of these.

    The order of a run's list is its ranking, unless scores of the same length stand beside; the
    documents of judgments have grade 1, unless grades stand beside.
    """

    def __init__(self, rows: Rows, what: What, stated: ColumnsLike | None) -> None:
        self._rows, self._what = rows, what
        self.names, self.taken, self.lists = rows.names, rows.lists, rows.lists
        several = (name for name in rows.lists.values() if may_split(name, rows.names, stated))
        self._split = frozenset(several)  # the columns that may hold a;b
        self.numbers = numbers_in(rows.lists)
        self.is_ranking = what is What.RUN and not self.numbers & {"score", "rank"}
        self.form, _, _ = rows.form.partition(" with ")
        self.form += f" with lists in columns {', '.join(rows.lists.values())}"
        self.sources, self.is_text = rows.sources, rows.is_text
        self.name: str = getattr(rows, "name", "") or rows.source.name  # type: ignore[attr-defined]

    def blocks(
        self, wanted: Iterable[Role], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        roles = tuple(wanted)
        faults, held, n = Faults(errors), list[_Taken](), 0
        seen: set[bytes] = set()  # the queries of a run
        for cells in self._rows.cells(progress):
            try:
                if cells.fault is not None:
                    raise cells.fault
                one = self._apart(cells, roles)
                if self._what is What.RUN and one.query in seen:
                    raise DuplicateError(
                        f"the query {decode(one.query)!r} stands in two rows",
                        hint="A run has one list for each query: which of the two is its ranking?",
                    )
            except InputError as error:
                fault = partial(error.at, self.name, cells.line, cells.text)
                faults.add(error.kind, fault)
                continue
            seen.add(one.query)
            held.append(one)
            n += len(one.docs)
            if n >= SIZES.rows:
                yield partial(self._block, held, roles, faults)
                faults, held, n = Faults(errors), [], 0
        yield partial(self._block, held, roles, faults)

    def _block(self, held: "Sequence[_Taken]", roles: Sequence[Role], faults: Faults) -> Block:
        lengths = [len(one.docs) for one in held]
        of = np.repeat(np.arange(len(held)), lengths)

        def where(row: int) -> tuple[int | None, str]:
            cells = held[int(of[row])].cells
            return cells.line, cells.text

        return Block(
            Ids.of([one.query for one in held] or [b"?"]).take(of),
            Ids.of([doc for one in held for doc in one.docs]),
            {
                role: np.concatenate(
                    [one.numbers[role] for one in held if len(one.docs)]
                    or [np.zeros(0, np.float64 if role in FRACTIONS else np.int64)]
                )
                for role in roles
            },
            self.name,
            where,
            faults.left_out,
            [one.query for one in held if not one.docs],
        )

    def _apart(self, cells: Cells, roles: Sequence[Role]) -> "_Taken":
        """Return the documents of a row, with their numbers; InputError for what is none."""
        query = _id(cells.held.get("query"), self.lists["query"])
        name = self.lists["doc"]
        given = self._several(cells.held.get("doc"), name, is_ranked=self._what is What.RUN)
        if given is None and self._what is What.QRELS:
            raise InputError(
                f"column {name!r} is empty: has the query no relevant document, or has nobody "
                "looked for them?",
                hint="Write [] for a query without a relevant document, or leave the row out.",
                kind="id",
            )
        docs = [_id(one, name) for one in given or ()]
        return _Taken(cells, query, docs, {role: self._beside(role, cells, docs) for role in roles})

    def _beside(self, role: Role, cells: Cells, docs: Sequence[bytes]) -> Any:
        """Return the numbers of a row's documents: (documents,)."""
        name = self.lists[role]
        given = self._several(cells.held.get(role), name, is_ranked=True) or []
        if len(given) != len(docs):
            raise InputError(
                f"{len(docs):,} in column {self.lists['doc']!r}, and {len(given):,} in column "
                f"{name!r}",
                hint="Each document of a list has its number in the list beside.",
                kind="columns",
            )
        numbers = list(map(_number, given))
        values = values_of("score" if role in FRACTIONS else role, numbers)
        if values is None:
            kind = COLUMNS[role].kind
            as_score = "score" if role in FRACTIONS else role
            wrong = next(
                one
                for one, n in zip(given, numbers, strict=True)
                if values_of(as_score, [n]) is None
            )
            problem = f"expected a {kind} as the {role} in column {name!r}, got {wrong!r:.80}"
            raise InputError(problem, kind="number")
        return values

    def _several(self, cell: Any, name: str, *, is_ranked: bool) -> list[Any] | None:
        """Return what a cell holds, one after the other; None if it is empty.

        `is_ranked`: the order counts.
        """
        if is_ranked and isinstance(cell, Set):
            raise InputError(f"column {name!r} holds a set, which has no order", kind="columns")
        if isinstance(cell, list | tuple | Set):
            several = list(cell)
            return several if not several else [*_no_object(several[0], name), *several[1:]]
        if getattr(cell, "ndim", 0) == 1:
            found: list[Any] = cell.tolist()
            return found
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
        if ";" in text:
            return [one.strip() for one in text.split(";")]
        if "," in text:
            raise InputError(
                f"column {name!r} holds {text!r:.60}: is this one id, or several?",
                hint='Several are written a;b or ["a", "b"]; one that holds a comma is ["a,b"].',
                kind="columns",
            )
        return [text]


class _Taken:
    """A row that was taken apart: its query, its documents and their numbers."""

    def __init__(
        self, cells: Cells, query: bytes, docs: Sequence[bytes], numbers: Mapping[Role, Any]
    ) -> None:
        self.cells, self.query, self.docs, self.numbers = cells, query, docs, numbers


def _no_object(value: Any, name: str) -> list[Any]:
    """Return [value]; InputError for an object in the place of an id or a list of ids."""
    if isinstance(value, Mapping):
        raise InputError(
            f"column {name!r} holds objects, expected a list of ids: {dict(value)!r:.80}",
            hint="Write the ids as a list, and their scores or grades as a list in a column "
            "beside, `scores` or `grades`.",
            kind="columns",
        )
    return [value]


def _listed(text: str, name: str) -> list[Any]:
    """Return the list that a text holds, as JSON or as Python writes it."""
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
    """Return an id's bytes: a text's, or those of a whole number."""
    if is_whole(value):
        return encode(str(int(value)))
    is_text = not isinstance(value, WrittenNumber) or _INTEGER.fullmatch(value)
    found = id_bytes(value) if is_text else None
    if found is None:
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            problem = f"an id in column {name!r} is empty or missing"
        else:
            shown = str(value) if isinstance(value, WrittenNumber) else repr(value)
            problem = f"expected a text or a whole number in column {name!r}, got {shown:.80}"
        raise InputError(problem, kind="id")
    return found


def _number(value: Any) -> Any:
    """Return a number that is written in a text; what is none as it is."""
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text.encode("utf-8", "replace")) else value
    return value if is_number(value) and not isinstance(value, bool) else None
