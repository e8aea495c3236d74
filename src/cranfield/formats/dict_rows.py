"""NestedRows and ListDictRows: the rows of judgments and runs that are dicts, query by query."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, encode
from cranfield.errors import InputError
from cranfield.formats.block import SIZES, Block, Errors, FaultLog, Load, Role, Rows
from cranfield.formats.columns import Side
from cranfield.formats.identifiers import to_id_text, with_text_ids
from cranfield.formats.json_text import DuplicatePairs
from cranfield.formats.objects import GRADES_HINT, DocsOfQuery, list_docs
from cranfield.formats.values import to_numbers, to_scores, unify_grades
from cranfield.options import is_whole_number


class NestedRows(Rows):
    """The rows of a dict of dicts {query: {document: number}} with text ids.

    With errors="skip", documents whose number is no score, or no grade, are left out.
    """

    description = "dict of dicts"

    def __init__(
        self, data: DocsOfQuery, side: Side, errors: Errors = "strict", has_grades: bool = True
    ) -> None:
        self._side, self.has_grades = side, has_grades
        self.extra_roles = frozenset([side.role])
        self.data = self._drop_faults(data) if errors == "skip" else data

    def with_data(self, data: DocsOfQuery, errors: Errors = "strict") -> "NestedRows":
        """Return the rows of other data in the same form."""
        rows = NestedRows(data, self._side, errors, self.has_grades)
        rows.description, rows.list_kind = self.description, self.list_kind
        rows.is_ranking = self.is_ranking
        return rows

    def _drop_faults(self, data: DocsOfQuery) -> DocsOfQuery:
        """Return the documents whose number is a score, or a grade; count the others."""
        faults, side = FaultLog("skip"), self._side
        good_docs: DocsOfQuery = {query: {} for query in data}
        for query, docs in data.items():
            for doc, number in docs.items():
                if to_numbers(side.role, [number]) is not None:
                    good_docs[query][doc] = number
                    continue
                subject = f"query {query!r}, document {doc!r}"
                problem = f"{subject}: expected a {side.expected_number}, got {number!r:.80}"
                make_error = partial(InputError, problem, source=side.name_in_errors, kind="number")
                faults.add("number", make_error)
        self.left_out = faults.left_out
        return good_docs

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks of whole queries."""
        queries: list[str] = []
        n_rows = 0
        for query, docs in self.data.items():
            queries.append(query)
            n_rows += len(docs)
            if n_rows >= SIZES.rows:
                yield partial(self._build_block, queries)
                queries, n_rows = [], 0
        if queries:
            yield partial(self._build_block, queries)

    def _build_block(self, queries: list[str]) -> Block:
        """Return the block of the documents of some queries."""
        lengths = [len(self.data[query]) for query in queries]
        docs = [doc for query in queries for doc in self.data[query]]
        numbers = [to_scores(query, self.data[query])[0] for query in queries if self.data[query]]
        position = np.repeat(np.arange(len(queries)), lengths)  # (rows,) of each row's query

        def find_line(row: int) -> tuple[None, str]:
            return None, f"query {queries[position[row]]!r}, document {docs[row]!r}"

        column = np.concatenate([*numbers, np.zeros(0)])
        grades = unify_grades(column) if self._side is Side.QRELS else None
        return Block(
            Ids.of_texts(queries).take(position),
            Ids.of_texts(docs),
            {self._side.role: column if grades is None else grades},
            self._side.name_in_errors,
            find_line,
            empty_queries=[encode(query) for query in queries if not self.data[query]],
        )


class ListDictRows(Rows):
    """The rows of a dict of lists, {query: [document, ...]}, where a list has a document twice.

    A dict of dicts cannot hold such a list; `duplicates` is applied where the rows are used. In
    judgments, some queries may have {document: grade}; or all have pairs (document, number).
    """

    description = "dict of lists"

    def __init__(self, data: Mapping[Any, Any], side: Side) -> None:
        has_pairs = DuplicatePairs in map(type, data.values())
        self.is_ranking = side is Side.RUN and not has_pairs
        self.extra_roles = frozenset(() if self.is_ranking else (side.role,))
        queries: list[str] = []  # of each row
        docs: list[str] = []
        numbers: list[Any] = []
        empty_queries: list[bytes] = []
        for query, query_docs in with_text_ids(data, side.name_in_errors).items():
            location = f"{side.name_in_errors}: query {query!r}"
            if isinstance(query_docs, Mapping | DuplicatePairs) and not self.is_ranking:
                pairs = getattr(query_docs, "items", lambda pairs=query_docs: pairs)()
                ids = [doc for doc, _ in pairs]
                numbers += [number for _, number in pairs]
            else:
                ids = list_docs(query_docs, side.role, f"{location}: ")
                numbers += [1] * len(ids)
                if not self.is_ranking and all(map(is_whole_number, ids)):
                    self.duplicate_reason = GRADES_HINT
            docs += [to_id_text(doc, location) for doc in ids]
            queries += [query] * len(ids)
            empty_queries += [] if ids else [encode(query)]

        def find_line(row: int) -> tuple[None, str]:
            return None, f"query {queries[row]!r}, document {docs[row]!r}"

        self._block = Block(
            Ids.of_texts(queries),
            Ids.of_texts(docs),
            {} if self.is_ranking else {side.role: _check_numbers(numbers, side)},
            side.name_in_errors,
            find_line,
            empty_queries=empty_queries,
        )
        self.n_rows = len(docs)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows as one block."""
        columns = {role: self._block.columns[role] for role in roles}
        yield partial(replace, self._block, columns=columns)


def _check_numbers(numbers: list[Any], side: Side) -> Any:
    """Return scores or grades as an array, (rows,); InputError for a value that is neither."""
    good_numbers = to_numbers(side.role, numbers)
    if good_numbers is None:
        bad_number = next(number for number in numbers if to_numbers(side.role, [number]) is None)
        raise side.error(f"expected a {side.expected_number}, got {bad_number!r:.80}")
    return good_numbers
