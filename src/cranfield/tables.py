"""Qrels and Run: checked tables of judgments and of a system's ranking."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Union, get_args

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError, OptionError, one_of
from cranfield.formats import (
    QRELS_FORMATS,
    RUN_FORMATS,
    Files,
    Path,
    QrelsFormat,
    RunFormat,
    file_rows,
)
from cranfield.formats.block import Block, Errors, LeftOut, Load, Number, Order, Progress, Rows
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.frames import (
    ArrowTable,
    Sparse,
    array_rows,
    arrow_rows,
    is_row,
    is_sparse,
    is_table,
    listed_rows,
    sparse_rows,
)
from cranfield.formats.groups import GroupsFormat, group_lines
from cranfield.formats.objects import (
    Grouping,
    Nested,
    NestedRows,
    grades_of,
    judgment_groups,
    nested_qrels,
    nested_run,
    without_faults,
)
from cranfield.formats.source import Source
from cranfield.formats.trec import TREC_RUN, run_tag
from cranfield.formats.writing import form_of, write_groups, write_rows
from cranfield.ids import Ids, Words, decode, encode
from cranfield.preferences import Levels
from cranfield.ranked import Ints, Ranked
from cranfield.ranking import grouped, joined, ranks, regrouped, sorting_scores, together

QrelsLike = Union[
    "Qrels",
    Path,
    ArrowTable,
    Mapping[Any, Mapping[Any, int]],
    Mapping[Any, Set[Any]],
    # in groups, and these in subgroups
    Mapping[Any, Mapping[Any, Mapping[Any, float]]],
    Mapping[Any, Mapping[Any, list[Any]]],
    Iterable[Any],  # rows, or a numpy or scipy array
]
RunLike = Union[
    "Run",
    Path,
    ArrowTable,
    Mapping[Any, Mapping[Any, float]],
    Mapping[Any, list[Any]],
    NDArray[Any],
    Sparse,
]


SeveralRuns = Union[  # noqa: UP007 - a class that is defined below has a name only
    list[Any],  # of RunLike; a list of one kind only would not be a list[RunLike]
    tuple[RunLike, ...],
    Mapping[str, Union["Run", str, os.PathLike[str], ArrowTable]],
    Mapping[str, Mapping[Any, Mapping[Any, float]]],
    Mapping[str, Mapping[Any, list[Any]]],
]


def _rows_of(data: Any, what: What, columns: ColumnsLike | None, errors: Errors) -> Rows:
    """Return the rows of a table in memory, of any kind."""
    if type(data).__module__.startswith("datasets.") and hasattr(data, "with_format"):
        data = data.with_format("arrow")[:]  # Hugging Face's: its own Arrow table, select()ed
    if is_table(data):
        return arrow_rows(data, what, columns)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return array_rows(data, what, columns, errors)
    if is_sparse(data):
        return sparse_rows(data, what)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray):
        return listed_rows(data, what, columns, errors)
    name = "the run" if what == "a run" else "the judgments"
    raise InputError(
        f"expected {name} as a dict of dicts, a table, a list of rows, a structured array or a "
        f"sparse matrix, got {type(data).__name__}"
    )


class Qrels:
    """Relevance judgments: for each query, the judged documents and their grades.

    `data` is a dict `{query_id: {doc_id: grade}}` (or `{query_id: {doc_id, ...}}`, a set of
    relevant documents), or a table with the columns `query_id`, `doc_id`, `relevance`: anything
    that hands out Arrow data, as pandas, polars and pyarrow do. Grades are whole numbers; what is
    absent is unjudged. Ids are texts; whole numbers stand for their decimal text.

    Judgments of several users, or of anything else that may contradict each other, are groups:
    `{query_id: {group: {doc_id: level}}}`; in place of the last, a list of such dicts if a group
    only orders some of its documents among themselves. Measures of groups and preferences take
    them; levels may be fractions where only their order counts.

    >>> Qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}})
    Qrels(2 queries, 3 judgments, grades 0 to 2)
    >>> Qrels({"q1": {"ann": {"d1": 1, "d2": 0}, "bob": {"d1": 0, "d2": 1}}})
    Qrels(1 queries, 4 judgments in 2 groups)
    """

    query_ids: list[str]  # in the order of their bytes
    starts: Ints  # (n_queries + 1,) the row where each query's judgments begin
    grade: Ints  # (rows,)
    left_out = LeftOut()  # by errors="skip"
    form = "dict of dicts"  # what the data were understood to be
    sources: Sequence[Source] = ()  # the files that they were read from
    is_text = False  # whether these are lines of text
    _groups: Grouping | None = None
    _levels: Levels | None = None  # judgments in groups; then `grade` is the best level's sign
    # The documents, as they came; the other form is made when it is asked for.
    _lists: list[list[str]] | None = None
    _ids: Ids | None = None

    def __init__(
        self,
        data: Mapping[Any, Any] | ArrowTable | Iterable[Any] | Sparse,
        columns: ColumnsLike | None = None,
        errors: Errors = "strict",
    ) -> None:
        one_of("errors", errors, get_args(Errors))
        if not isinstance(data, Mapping) or is_sparse(data):  # one kind of these is a dict
            self._take_rows(_rows_of(data, "qrels", columns, errors), errors)
            return
        groups = judgment_groups(data)
        if groups is not None:
            self._take_groups(groups)
            return
        nested = nested_qrels(data)
        if errors == "skip":
            nested, self.left_out = without_faults(nested, "qrels")
        self._take_dict(nested)

    @classmethod
    def _read(cls, rows: Rows, errors: Errors, progress: Progress | None) -> "Qrels":
        qrels = cls.__new__(cls)
        qrels._take_rows(rows, errors, progress)
        return qrels

    def _take_dict(self, data: Nested) -> None:
        if not data:
            raise InputError("the qrels: hold no query")
        self.query_ids = sorted(data, key=encode)
        self._lists = [list(data[query]) for query in self.query_ids]
        self.starts = np.cumsum([0, *map(len, self._lists)])
        grades = grades_of(chain.from_iterable(data[q].values() for q in self.query_ids))
        if grades is None:
            query, doc, grade = next(
                (query, doc, grade)
                for query in self.query_ids
                for doc, grade in data[query].items()
                if grades_of([grade]) is None
            )
            raise InputError(
                f"the qrels: query {query!r}, document {doc!r}: "
                f"expected a whole number as the grade, got {grade!r:.80}"
            )
        self.grade = grades

    def _take_groups(self, data: Grouping) -> None:
        """Take {query: {group: [{document: level}, ...]}}, a dict for each subgroup."""
        if not data:
            raise InputError("the qrels: hold no query")
        self.query_ids = sorted(data, key=encode)
        self._lists = []
        grades: list[int] = []
        groups: list[int] = []  # the query of each
        names: list[str] = []
        rows: list[tuple[int, int, int, float]] = []
        for code, query in enumerate(self.query_ids):
            parts = [part for group in data[query].values() for part in group]
            best: dict[str, float] = {}
            for doc, level in chain.from_iterable(part.items() for part in parts):
                best[doc] = max(level, best.get(doc, level))
            docs = sorted(best, key=encode)
            number = {doc: len(grades) + i for i, doc in enumerate(docs)}
            for name in sorted(data[query], key=encode):
                for subgroup, part in enumerate(data[query][name]):
                    group = len(groups)
                    rows += [(group, subgroup, number[doc], level) for doc, level in part.items()]
                groups.append(code)
                names.append(name)
            self._lists.append(docs)
            grades += [(best[doc] > 0) - (best[doc] < 0) for doc in docs]
        self.starts = np.cumsum([0, *map(len, self._lists)])
        self.grade = np.array(grades, np.int64)
        whole = np.array([numbers for *numbers, _ in rows]).T
        levels = np.array([level for *_, level in rows]) * 1.0
        self._levels = Levels(np.array(groups), whole[0], whole[1], whole[2], levels, names)
        self._groups = data

    def _take_rows(self, rows: Rows, errors: Errors, progress: Progress | None = None) -> None:
        blocks = [load() for load in rows.blocks(("grade",), errors, progress)]
        left_out = sum((block.left_out for block in blocks), LeftOut())
        empty = [query for block in blocks for query in block.empty]
        blocks = [block for block in blocks if len(block)]
        if not blocks:
            hint = str(left_out.first()) if left_out.count else None
            raise InputError("the qrels: hold no judgment", hint=hint)
        by_query = grouped(replace(together(joined(blocks)), left_out=left_out), errors)
        whole = by_query.block
        self.form, self.left_out = rows.form, whole.left_out
        if isinstance(rows, Files):
            self.sources, self.is_text = rows.sources, rows.is_text
        queries = list(dict.fromkeys([*by_query.queries, *empty]))
        begins = np.append(by_query.starts, np.full(len(queries), len(whole)))  # of the empty, too
        order = sorted(range(len(queries)), key=queries.__getitem__)
        self.query_ids = [decode(queries[i]) for i in order]
        lengths = np.diff(begins)[order]
        self.starts = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(len(whole)) + np.repeat(begins[order] - self.starts[:-1], lengths)
        assert whole.value is not None  # noqa: S101 - judgments have grades
        self.grade = whole.value[at].astype(np.int64)
        self._ids = whole.doc.take(at)

    def write(
        self,
        path: Path,
        format: QrelsFormat | None = None,  # noqa: A002 - the word for it
    ) -> None:
        """Write the judgments to a file, in the format that its suffix names, or `format`.

        The suffixes: .qrels, .txt, .trec (TREC), .tsv, .csv, .json, .jsonl, .parquet, .arrow,
        .feather; and .gz, .bz2, .xz, .zst, .lz4 behind them, to compress. format="beir" writes a
        TSV with BEIR's header. Read back, they are the same judgments. Raises InputError for an id
        that the format cannot hold, OptionError for a suffix that names no format; what stood there
        before is then left as it is.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Qrels({"q1": {"d1": 2}}).write(path := pathlib.Path(folder, "qrels.csv"))
        ...     print(path.read_text(), end="")
        query_id,doc_id,relevance
        q1,d1,2
        """
        if format is not None:
            one_of("format", format, QRELS_FORMATS)
        if self._groups is not None:
            write_groups(path, format, self._groups)
            return
        if format in get_args(GroupsFormat):
            raise OptionError(f"format={format!r} is for judgments in groups")
        queries = Ids.of_texts(self.query_ids).take(self.query)
        empty = [
            encode(query)
            for query, n in zip(self.query_ids, np.diff(self.starts).tolist(), strict=True)
            if n == 0
        ]
        block = Block(queries, self.docs, self.grade, empty=empty)
        write_rows(path, form_of(path, format), "qrels", lambda: [block], "")

    def __len__(self) -> int:
        return len(self.grade)

    @property
    def in_groups(self) -> bool:
        """Whether the judgments come in groups, each of a mind of its own."""
        return self._levels is not None

    @property
    def levels(self) -> Levels:
        """The judgments by group; plain ones are one group for each query."""
        if self._levels is not None:
            return self._levels
        n = len(self.grade)
        return Levels(
            np.arange(len(self.query_ids)),
            self.query,
            np.zeros(n, np.int64),
            np.arange(n),
            self.grade * 1.0,
            ["all"] * len(self.query_ids),
        )

    def __repr__(self) -> str:
        if self._levels is not None:
            rows, groups = len(self._levels.row), len(self._levels.query)
            return (
                f"Qrels({len(self.query_ids):,} queries, {rows:,} judgments in {groups:,} groups)"
            )
        grades = f", grades {self.grade.min()} to {self.grade.max()}" if len(self) else ""
        return f"Qrels({len(self.query_ids):,} queries, {len(self):,} judgments{grades})"

    def of(self, query_ids: Iterable[str]) -> "Qrels":
        """Return the judgments of some queries, all of which are judged; plain judgments only."""
        codes = sorted(self.codes[encode(query)] for query in query_ids)
        lists, starts = self.doc_lists, self.starts
        rows = [slice(int(starts[code]), int(starts[code + 1])) for code in codes]
        some = Qrels.__new__(Qrels)
        some.query_ids = [self.query_ids[code] for code in codes]
        some._lists = [lists[code] for code in codes]
        some.starts = np.cumsum([0, *(row.stop - row.start for row in rows)])
        some.grade = np.concatenate([self.grade[row] for row in rows])
        some.__dict__["top_grade"] = self.top_grade  # of the collection
        return some

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return `{query_id: {doc_id: grade}}`, queries in the order of their bytes.

        Judgments in groups are `{query_id: {group: [{doc_id: level}, ...]}}`.
        """
        if self._groups is not None:
            return {query: dict(self._groups[query]) for query in self.query_ids}
        return {
            query: dict(zip(docs, self.grade[begin:end].tolist(), strict=True))
            for query, docs, begin, end in zip(
                self.query_ids, self.doc_lists, self.starts, self.starts[1:], strict=False
            )
        }

    @cached_property
    def top_grade(self) -> int:
        """The highest grade that any document of the collection has."""
        return int(self.grade.max(initial=0))

    @cached_property
    def doc_lists(self) -> list[list[str]]:
        """Each query's judged documents, as they stand in the rows."""
        if self._lists is not None:
            return self._lists
        docs = [decode(doc) for doc in self.docs.to_list()]
        return [docs[b:e] for b, e in zip(self.starts, self.starts[1:], strict=False)]

    @cached_property
    def docs(self) -> Ids:
        """The judged documents, row by row."""
        if self._ids is not None:
            return self._ids
        return Ids.of_texts(list(chain.from_iterable(self.doc_lists)))

    @cached_property
    def doc_hashes(self) -> Words:
        """`docs.hash()`."""
        return self.docs.hash()

    @cached_property
    def codes(self) -> dict[bytes, int]:
        """The position of each query in `query_ids`."""
        return {encode(query): i for i, query in enumerate(self.query_ids)}

    @cached_property
    def query(self) -> Ints:
        """The position in `query_ids` of each row's query: (rows,)."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))

    @cached_property
    def ideal(self) -> Ranked:
        """Every query's judged documents, highest grade first: the perfect ranking."""
        query = self.query
        rank = np.arange(1, len(query) + 1) - self.starts[query]
        below = self.top_grade - self.grade
        span = int(below.max(initial=0)) + 1
        # One number for query and grade, which sorts several times faster than a pair.
        grade = self.top_grade - np.sort(query * span + below) % span
        return Ranked(len(self.query_ids), query, rank, grade)


@dataclass(frozen=True)
class Written:
    """What was written: the number of rows, and what was left out."""

    rows: int
    left_out: LeftOut
    without_rank: bool  # whether the run has a rank column that the format has no place for


class _ApartError(Exception):
    """The rows of a query stand apart."""


class Run:
    """One system's ranking: for each query, documents and the scores by which they are ranked.

    `data` is a dict `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}` (best first), or
    a table with the columns `query_id`, `doc_id` and `score` or `rank`, under these or the other
    names that are usual: anything that hands out Arrow data (pandas, polars, pyarrow, DuckDB, ...),
    a numpy structured array, a list of rows (tuples, named tuples, dicts), or a scipy sparse matrix
    (queries x documents, numbered from 0). `columns` says which column is which, where that cannot
    be guessed: `{"query_id": "user", "score": "prediction"}`. `errors="skip"` leaves out rows that
    cannot be scored, and counts them. `name` is what the system is called in results.

    >>> Run({"q1": {"d1": 12.3, "d2": 11.0}}, name="bm25")
    Run('bm25')
    >>> Run([("q1", "d1", 12.3), ("q1", "d2", 11.0)]).to_dict()
    {'q1': {'d1': 12.3, 'd2': 11.0}}
    """

    def __init__(
        self,
        data: Mapping[Any, Any] | ArrowTable | Iterable[Any] | Sparse,
        name: str = "run",
        columns: ColumnsLike | None = None,
        errors: Errors = "strict",
    ) -> None:
        one_of("errors", errors, get_args(Errors))
        self.name = name
        self.errors: Errors = errors
        self.nested: Nested | None = None  # {query: {document: score}}, if it came as one
        self.left_out = LeftOut()  # of a dict; what was of others is known when they are read
        self._rows: Rows
        if isinstance(data, Mapping) and not is_sparse(data):  # one kind of these is a dict
            self._take_nested(nested_run(data))
        else:
            self._rows = _rows_of(data, "a run", columns, errors)

    def _take_nested(self, nested: Nested) -> None:
        if self.errors == "skip":
            nested, self.left_out = without_faults(nested, "a run")
        self.nested, self._rows = nested, NestedRows(nested, "a run")

    @classmethod
    def _streamed(cls, rows: Files, name: str | None, errors: Errors) -> "Run":
        run = cls.__new__(cls)
        run.name = rows.sources[0].stem if name is None else name
        run.nested, run._rows, run.errors, run.left_out = None, rows, errors, LeftOut()
        return run

    def __repr__(self) -> str:
        return f"Run({self.name!r})"

    @property
    def form(self) -> str:
        """What the data were understood to be, in words."""
        return self._rows.form

    @property
    def sources(self) -> list[Source]:
        """The files that it is read from, none if it is in memory."""
        return list(self._rows.sources) if isinstance(self._rows, Files) else []

    @property
    def tag(self) -> str | None:
        """What a TREC run calls the system, in the sixth column of its last line; else None."""
        return run_tag(self.sources[-1]) if self.form == TREC_RUN else None

    @property
    def numbers(self) -> frozenset[Number]:
        """Which columns of numbers the run has: "score", "rank", both or none."""
        return self._rows.numbers

    def ranked_by(self, order: Order) -> Order:
        """Return by what the run is ranked if `order` is asked for: a run may have no scores."""
        if order == "rank" and "rank" not in self.numbers:
            if self.nested is not None:
                raise OptionError("order='rank': a run in memory has no rank column")
            raise self._no_column("rank")
        if order == "score" and "score" not in self.numbers:
            if "rank" in self.numbers:
                return "rank"
            if not self._rows.is_ranking:
                raise self._no_column("score")
            return "given"
        return order

    def _no_column(self, name: str) -> InputError:
        return InputError(
            f"the run {self.name!r} has no column {name!r}: it was read as {self.form}",
            hint=f"To say which is which: columns={{{name!r}: ...}}, --run-columns {name}=...; "
            "order='given' (--order given) takes the rows in the order in which they stand.",
            kind="columns",
        )

    def blocks(self, order: Order = "score", progress: Progress | None = None) -> Iterator[Load]:
        """Return the rows in blocks, with what they are ranked by."""
        by = self.ranked_by(order)
        return self.every_row(() if by == "given" else (by,), progress)

    def every_row(
        self, wanted: Iterable[Number], progress: Progress | None = None
    ) -> Iterator[Load]:
        """Return the rows in blocks, with some of the columns of numbers that there are."""
        return self._rows.blocks(tuple(wanted), self.errors, progress)

    @property
    def is_text(self) -> bool:
        """Whether it is read from lines of text."""
        return isinstance(self._rows, Files) and self._rows.is_text

    def skipping(self) -> "Run":
        """Return the same run, of which rows with a fault are left out and counted."""
        run = Run.__new__(Run)
        run.__dict__.update(self.__dict__)
        run.errors = "skip"
        if self.nested is not None and self.errors == "strict":
            run._take_nested(self.nested)
        return run

    def write(
        self,
        path: Path,
        format: RunFormat | None = None,  # noqa: A002 - the word for it
        progress: Progress | None = None,
    ) -> Written:
        """Write the run to a file, in the format that its suffix names, or `format`.

        The suffixes: .run, .trec, .txt (TREC), .tsv, .csv, .json, .jsonl, .parquet, .arrow,
        .feather; and .gz, .bz2, .xz, .zst, .lz4 behind them, to compress. format="msmarco" writes
        query, document and rank. Read back, it is the same run: the rows stand in the same order,
        scores are the same doubles. A TREC file has a rank column, too: the run's own, or the ranks
        by score; and a score, where the run has but an order. JSON keeps scores, or, of a run
        without, the order.

        A file is read and written block by block; a run whose queries come back after others is
        held whole, and each query's rows are brought together. Raises InputError for what cannot be
        read, or an id that the format cannot hold, OptionError for a suffix that names no format;
        what stood there before is then left as it is.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = Run({"q1": {"d1": 0.5, "d2": 2.0}}, "mine")
        ...     written = run.write(path := pathlib.Path(folder, "mine.run"))
        ...     print(path.read_text(), end="")
        q1 Q0 d1 2 0.5 mine
        q1 Q0 d2 1 2 mine
        """
        if format is not None:
            one_of("format", format, RUN_FORMATS)
        form = form_of(path, format)
        wanted = sorted(self.numbers)
        if form == "json" and "score" in wanted:
            wanted = ["score"]  # JSON has no place for a rank beside it
        by = self.ranked_by("score")
        needs_rank = form in ("trec", "msmarco") or "score" not in self.numbers

        parts: list[tuple[int, LeftOut]] = []

        def blocks(loads: Iterable[Load]) -> Iterator[Block]:
            seen: set[bytes] = set()
            parts.clear()
            for load in loads:
                whole = grouped(load(), self.errors)
                block = whole.block
                if len(seen) + len(whole.queries) > len(seen | set(whole.queries)):
                    raise _ApartError
                seen.update(whole.queries)
                if needs_rank and block.rank is None:
                    scores = sorting_scores(block, by, "double")
                    every = np.arange(len(block))
                    block = replace(block, rank=ranks(whole, scores, "document", every))
                parts.append((len(block), block.left_out))
                yield block

        tag = (self.tag if form == "trec" else None) or self.name
        try:
            write_rows(path, form, "a run", lambda: blocks(self.every_row(wanted, progress)), tag)
        except _ApartError:
            write_rows(path, form, "a run", lambda: blocks(regrouped(self.every_row(wanted))), tag)
        left_out = sum((one for _, one in parts), LeftOut())
        return Written(sum(n for n, _ in parts), left_out, self.numbers - set(wanted) == {"rank"})

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return `{query_id: {doc_id: score}}`; a run without scores has minus the rank as one.

        Raises InputError for a document that stands twice, unless such rows are left out.
        """
        found: dict[str, dict[str, float]] = {}
        by = self.ranked_by("score")
        for load in self.blocks():
            block = load()
            queries = list(map(decode, block.query.to_list()))
            docs = list(map(decode, block.doc.to_list()))
            values = block.value if block.rank is None else -1.0 * block.rank
            numbers = [None] * len(docs) if values is None else values.tolist()
            for row, (query, doc, number) in enumerate(zip(queries, docs, numbers, strict=True)):
                ranking = found.setdefault(query, {})
                if doc in ranking and self.errors == "skip":
                    continue
                if doc in ranking:
                    raise block.error(row, f"the document {doc!r} stands twice for query {query!r}")
                ranking[doc] = -1.0 * (len(ranking) + 1) if by == "given" else number
        return found


def read_qrels(
    path: Path | Sequence[Path],
    format: QrelsFormat | None = None,  # noqa: A002 - the word for it
    *,
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
    progress: Progress | None = None,
) -> Qrels:
    """Read judgments from a file, a BEIR folder, a URL, or several files as one table.

    The format is found from content and name, unless `format` says it: "trec" (or "qrels": lines
    of `query_id iteration doc_id grade`), "msmarco" (the same), "beir", "csv", "tsv" (with a
    header), "json" (`{query: {document: grade}}`), "jsonl", "parquet", "arrow"; or one of
    trec_eval's for judgments in groups: "qrels_jg", lines of `query_id group doc_id grade`;
    "qrels_prefs", the same with levels, of which the order counts; "prefs", lines of `query_id
    group subgroup doc_id level`. `-` is the standard input. Compressed files (gz, bz2, xz, zst,
    lz4) are recognised by their content.

    Columns are found by their names (`query_id`, `qid`, `user_id`, ...; `doc_id`, `docno`,
    `corpus-id`, `item_id`, ...; `relevance`, `label`, `score`, `rating`, ...), or as `columns`
    says: `{"query_id": "user", "relevance": 3}`, by name, or by number from 1.

    `errors="skip"` leaves out lines that cannot be used, and counts them in `left_out`. Otherwise
    the first raises InputError, which names it. `progress` hears of the bytes read.

    >>> read_qrels("demo/qrels.txt")
    Qrels(40 queries, 891 judgments, grades 0 to 3)
    """
    one_of("errors", errors, get_args(Errors))
    if format in get_args(GroupsFormat):
        if columns or not isinstance(path, str | os.PathLike):
            raise OptionError(f"format={format!r} takes one file, and no columns")
        qrels = Qrels.__new__(Qrels)
        groups, qrels.left_out = group_lines(Source(path), format, errors)  # type: ignore[arg-type] # one of them
        qrels._take_groups(groups)
        qrels.form = f"judgments in groups ({format})"
        return qrels
    return Qrels._read(file_rows(path, "qrels", format, columns), errors, progress)


def read_run(
    path: Path | Sequence[Path],
    name: str | None = None,
    *,
    format: RunFormat | None = None,  # noqa: A002 - the word for it
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
) -> Run:
    """Open a run: a file, a URL, or several files (a list, a glob, a folder) as one table.

    The format is found from content and name, unless `format` says it: "trec" (lines of `query_id
    Q0 doc_id rank score tag`, or of two to five of these columns), "msmarco" (`query_id doc_id
    rank`), "csv", "tsv" (with a header), "json" (`{query: {document: score}}`), "jsonl", "parquet",
    "arrow".
    Columns are found by name, or as `columns` says, as in `read_qrels`.

    A file is read, in blocks of a few megabytes, whenever the run is evaluated; it may be larger
    than the memory (a run whose queries come back after others has to be held whole). `-` is the
    standard input. The run's name is the file's, without `.run`, `.txt`, `.gz` and the like, unless
    `name` says otherwise. What is wrong with the file is an InputError of the evaluation, or, with
    `errors="skip"`, left out and counted.

    >>> read_run("demo/bm25.run")
    Run('bm25')
    """
    one_of("errors", errors, get_args(Errors))
    return Run._streamed(file_rows(path, "a run", format, columns), name, errors)


def as_qrels(data: QrelsLike, errors: Errors = "strict") -> Qrels:
    """Return judgments from whatever holds them: Qrels, a path, a dict or a table."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | os.PathLike):
        return read_qrels(data, errors=errors)
    return Qrels(data, errors=errors)


def as_run(data: RunLike, errors: Errors = "strict") -> Run:
    """Return a run from whatever holds it: Run, a path, a dict or a table."""
    if isinstance(data, Run):
        return data
    if isinstance(data, str | os.PathLike):
        return read_run(data, errors=errors)
    return Run(data, errors=errors)


def several_runs(run: Any, errors: Errors) -> dict[str, Run] | None:
    """Return the runs of a list, or of a dict {name: run}, by name; None if it is one run."""
    if isinstance(run, list | tuple) and not (len(run) > 0 and is_row(run[0])):
        runs: dict[str, Run] = {}
        for one in [as_run(one, errors) for one in run]:
            name, n = one.name, 1
            while name in runs:  # a number is added where two have the same name
                n += 1
                name = f"{one.name} ({n})"
            runs[name] = one
        return runs
    if isinstance(run, Mapping) and not is_sparse(run):
        first = next((one for one in run.values() if is_sparse(one) or not _is_empty(one)), None)
        nested = isinstance(first, Mapping) and any(
            isinstance(docs, Mapping | list | tuple) for docs in first.values()
        )
        if (
            nested
            or isinstance(first, Run | str | os.PathLike)
            or is_table(first)
            or is_sparse(first)
        ):
            return {str(name): as_run(one, errors) for name, one in run.items()}
    return None


def _is_empty(data: object) -> bool:
    return hasattr(data, "__len__") and len(data) == 0
