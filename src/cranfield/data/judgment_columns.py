"""Columns that follow from judgments, each computed when it is first asked for."""

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.grades import are_whole, widened
from cranfield.arrays.ids import Ids, Places, decode, ids_of
from cranfield.arrays.ranked import Ints, Numbers, Ranked
from cranfield.arrays.rows import changes
from cranfield.arrays.slots import Slots
from cranfield.data.preferences import Levels
from cranfield.data.relevance import Judgments
from cranfield.errors import InputError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.source import named
from cranfield.lazy import cached_property, kept_while_small
from cranfield.render.numbers import plain

if TYPE_CHECKING:  # what most judgments do not need
    from cranfield.data.spans import JudgedSpans


class JudgmentColumns(Judgments):
    """Judgments with the columns that follow from them: base class of `Qrels`."""

    _judgments: Judgments

    def __len__(self) -> int:
        return len(self._judgments.grade)

    @kept_while_small
    def grade(self) -> Numbers:
        """Return the grades: (rows,), whole numbers, or doubles if any is a fraction."""
        return widened(self._judgments.grade)

    @property
    def source(self) -> str | None:
        """What errors call the files that they were read from; None if they are in memory."""
        return named(self.sources)

    @property
    def in_groups(self) -> bool:
        """Whether the judgments come in groups, which may contradict each other."""
        return self.by_group is not None

    @property
    def levels(self) -> Levels:
        """The judgments by group; plain ones are one group for each query."""
        if self.by_group is not None:
            return self.by_group
        n = len(self.grade)
        return Levels(
            np.arange(len(self.query_ids)),
            self.query,
            np.zeros(n, np.int64),
            np.arange(n),
            self.grade * 1.0,
            ["all"] * len(self.query_ids),
        )

    def check_whole(self, why: str, hint: str) -> None:
        """Raise InputError, which says why and what to do, if a grade is not a whole number."""
        wrong = np.flatnonzero(self.grade != np.floor(self.grade))
        if len(wrong):
            row = int(wrong[0])
            query, doc = self.query_ids[self.query[row]], decode(self.docs[row])
            raise InputError(
                f"query {query!r}, document {doc!r}: the grade {plain(self.grade[row])} is not a "
                f"whole number: {why}",
                source=self.source or "the qrels",
                hint=hint,
                kind="number",
            )

    @property
    def range_of_grades(self) -> str:
        """The lowest and the highest grade, in words; there must be one."""
        return f"{plain(self.grade.min())} to {plain(self.grade.max())}"

    @cached_property
    def top_grade(self) -> float:
        """The highest grade that any document of the collection has."""
        stated = self.top_of_all
        top: float = np.maximum.reduce(self.grade, initial=0).item() if stated is None else stated
        return top

    @kept_while_small
    def doc_lists(self) -> list[list[str]]:
        """Each query's judged documents, in the order of the rows."""
        if not isinstance(self.documents, Ids):
            return self.documents
        docs = self.docs.to_texts()
        return [docs[b:e] for b, e in zip(self.starts, self.starts[1:], strict=False)]

    @cached_property
    def docs(self) -> Ids:
        """The judged documents, row by row."""
        if isinstance(self.documents, Ids):
            return self.documents
        return Ids.of_texts(list(chain.from_iterable(self.doc_lists))).compact()

    def codes_of(self, queries: Ids) -> Ints:
        """Return the position of each query in `query_ids`, -1 if it is not judged."""
        return self._places.of(queries)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {query: code for code, query in enumerate(self.query_ids)}

    @cached_property
    def _places(self) -> Places:
        return Places(ids_of(self.query_ids))

    @cached_property
    def spans(self) -> "JudgedSpans | None":
        """The judged spans, if the judgments are of spans."""
        if "start" not in self.columns:
            return None
        from cranfield.data.spans import JudgedSpan, docs_of_spans

        found: dict[bytes, dict[bytes, list[JudgedSpan]]] = {}
        names = self.docs.to_list()
        columns = (self.query, self.columns["start"], self.columns["end"], self.grade)
        numbers = (column.tolist() for column in columns)
        docs = docs_of_spans(self.docs).to_list()
        queries = ids_of(self.query_ids).to_list()
        for doc, name, code, *of in zip(docs, names, *numbers, strict=True):
            its = found.setdefault(queries[code], {})
            its.setdefault(doc, []).append(JudgedSpan(name, *of))
        return found

    @kept_while_small
    def query(self) -> Ints:
        """Return the position in `query_ids` of each row's query: (rows,)."""
        starts = self.starts
        return np.arange(len(self.query_ids)).repeat(starts[1:] - starts[:-1])

    @kept_while_small
    def slots(self) -> Slots:
        """Where (the position of a query, a document) is, row by row."""
        return Slots(self.query, self.docs)

    @kept_while_small
    def ideal(self) -> Ranked:
        """Every query's judged documents, highest grade first: the perfect ranking."""
        query, grades = self.query, self.grade
        rank = np.arange(1, len(query) + 1) - self.starts[query]
        if not are_whole(grades):
            rows = np.lexsort((-grades, query))
            columns = {name: column[rows] for name, column in self.sampling.items()}
            return Ranked(len(self.query_ids), query, rank, grades[rows], columns=columns)
        # One number for query and grade, which sorts several times faster than a pair.
        begins = query * (2 * LARGEST_GRADE + 1)
        keys = begins - grades
        columns = {}
        if self.sampling:
            rows = keys.argsort(kind="stable")
            columns = {name: column[rows] for name, column in self.sampling.items()}
        keys.sort()
        grade = begins - keys
        return Ranked(len(self.query_ids), query, rank, grade, columns=columns)

    @cached_property
    def sampling(self) -> dict[str, Numbers]:
        """How the documents were sampled to be judged: see `Ranked.columns`."""
        columns: dict[str, Numbers] = {
            role: column
            for role, column in self.columns.items()
            if role not in ("start", "end", "query_probability")
        }
        if "stratum" in columns:
            rows = np.lexsort((columns["stratum"], self.query))
            number = np.cumsum(changes(self.query[rows], columns["stratum"][rows]))
            columns["stratum"] = np.empty(len(rows), np.int64)
            columns["stratum"][rows] = number - number[self.starts[self.query]]
        return columns
