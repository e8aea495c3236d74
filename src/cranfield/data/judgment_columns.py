"""JudgmentColumns: columns computed from judgments, each when it is read."""

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.grades import are_whole_grades, widen_grades
from cranfield.arrays.ids import IdIndex, Ids, decode, encode_ids
from cranfield.arrays.ranked import Ints, Numbers, Ranked
from cranfield.arrays.rows import mark_changes
from cranfield.arrays.slots import PairIndex
from cranfield.data.preferences import Levels
from cranfield.data.relevance import Judgments
from cranfield.errors import InputError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.source import describe_sources
from cranfield.lazy import cached_if_small, cached_property
from cranfield.render.numbers import format_shortest

if TYPE_CHECKING:  # what most judgments do not need
    from cranfield.data.spans import JudgedSpans


class JudgmentColumns(Judgments):
    """Judgments with the columns that are computed from them: base class of `Qrels`."""

    _judgments: Judgments

    def __len__(self) -> int:
        return len(self._judgments.grade)

    @cached_if_small
    def grade(self) -> Numbers:
        """Return the grades: (rows,), whole numbers, or doubles if any is a fraction."""
        return widen_grades(self._judgments.grade)

    @property
    def source(self) -> str | None:
        """What errors call the files that they were read from; None if they are in memory."""
        return describe_sources(self.sources)

    @property
    def has_groups(self) -> bool:
        """Whether the judgments come in groups, which may contradict each other."""
        return self.group_levels is not None

    @property
    def levels(self) -> Levels:
        """The judgments by group; plain ones are one group for each query."""
        if self.group_levels is not None:
            return self.group_levels
        n = len(self.grade)
        return Levels(
            np.arange(len(self.query_ids)),
            self.query,
            np.zeros(n, np.int64),
            np.arange(n),
            self.grade * 1.0,
            ["all"] * len(self.query_ids),
        )

    def check_whole_grades(self, why: str, hint: str) -> None:
        """Raise InputError, which says why and what to do, if a grade is not a whole number."""
        wrong = np.flatnonzero(self.grade != np.floor(self.grade))
        if len(wrong):
            row = int(wrong[0])
            query, doc = self.query_ids[self.query[row]], decode(self.docs[row])
            raise InputError(
                f"query {query!r}, document {doc!r}: the grade {format_shortest(self.grade[row])} "
                "is not a "
                f"whole number: {why}",
                source=self.source or "the qrels",
                hint=hint,
                kind="number",
            )

    @property
    def grade_range(self) -> str:
        """The lowest and the highest grade, in words; there must be a grade."""
        return f"{format_shortest(self.grade.min())} to {format_shortest(self.grade.max())}"

    @cached_property
    def top_grade(self) -> float:
        """The highest grade of the collection, as stated, or of these documents; 0 at least."""
        stated_grade = self.stated_top_grade
        top_grade: float = (
            np.maximum.reduce(self.grade, initial=0).item()
            if stated_grade is None
            else stated_grade
        )
        return top_grade

    @cached_if_small
    def doc_lists(self) -> list[list[str]]:
        """Each query's judged documents, in the order of the rows."""
        if not isinstance(self.documents, Ids):
            return self.documents
        docs = self.docs.to_texts()
        return [docs[begin:end] for begin, end in zip(self.starts, self.starts[1:], strict=False)]

    @cached_property
    def docs(self) -> Ids:
        """The judged documents, row by row."""
        if isinstance(self.documents, Ids):
            return self.documents
        return Ids.of_texts(list(chain.from_iterable(self.doc_lists))).compact()

    def find_codes(self, queries: Ids) -> Ints:
        """Return the position of each query in `query_ids`, -1 if it is not judged."""
        return self._query_index.find_rows(queries)

    @cached_property
    def _code_of_query(self) -> dict[str, int]:
        return {query: code for code, query in enumerate(self.query_ids)}

    @cached_property
    def _query_index(self) -> IdIndex:
        return IdIndex(encode_ids(self.query_ids))

    @cached_property
    def spans(self) -> "JudgedSpans | None":
        """{query: {document: judged spans}}; None if the judgments are not of spans."""
        if "start" not in self.columns:
            return None
        from cranfield.data.spans import JudgedSpan, span_docs

        spans_of_doc: dict[bytes, dict[bytes, list[JudgedSpan]]] = {}
        names = self.docs.to_list()
        columns = (self.query, self.columns["start"], self.columns["end"], self.grade)
        numbers = (column.tolist() for column in columns)
        docs = span_docs(self.docs).to_list()
        queries = encode_ids(self.query_ids).to_list()
        for doc, name, code, *span_numbers in zip(docs, names, *numbers, strict=True):
            query_spans = spans_of_doc.setdefault(queries[code], {})
            query_spans.setdefault(doc, []).append(JudgedSpan(name, *span_numbers))
        return spans_of_doc

    @cached_if_small
    def query(self) -> Ints:
        """Return the position in `query_ids` of each row's query: (rows,)."""
        starts = self.starts
        return np.arange(len(self.query_ids)).repeat(starts[1:] - starts[:-1])

    @cached_if_small
    def pair_index(self) -> PairIndex:
        """Return the index of the rows by query position and document."""
        return PairIndex(self.query, self.docs)

    @cached_if_small
    def ideal(self) -> Ranked:
        """Every query's judged documents, highest grade first: the perfect ranking."""
        query = self.query
        columns: dict[str, Numbers] = {}
        if not are_whole_grades(self._judgments.grade):
            grades = self.grade
            rows = np.lexsort((-grades, query))
            columns = {name: column[rows] for name, column in self.sampling.items()}
            grade = grades[rows]
        else:
            # One key for query and grade sorts several times faster than two keys.
            keys = query * _QUERY_STEP - self.grade
            if self.sampling:
                rows = keys.argsort(kind="stable")
                columns = {name: column[rows] for name, column in self.sampling.items()}
            keys.sort()
            grade = np.subtract(query * _QUERY_STEP, keys, out=keys)  # in the memory of the keys
        rank = np.arange(1, len(query) + 1)
        rank -= self.starts[query]
        return Ranked(len(self.query_ids), query, rank, grade, columns=columns)

    @cached_property
    def sampling(self) -> dict[str, Numbers]:
        """How documents were sampled, strata numbered from 0 by query: see `Ranked.columns`."""
        columns: dict[str, Numbers] = {
            role: column
            for role, column in self.columns.items()
            if role not in ("start", "end", "query_probability")
        }
        if "stratum" in columns:
            rows = np.lexsort((columns["stratum"], self.query))
            number = np.cumsum(mark_changes(self.query[rows], columns["stratum"][rows]))
            columns["stratum"] = np.empty(len(rows), np.int64)
            columns["stratum"][rows] = number - number[self.starts[self.query]]
        return columns


_QUERY_STEP = 2 * LARGEST_GRADE + 1  # more than any two grades differ by
