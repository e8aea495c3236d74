"""Qrels and Run: checked tables of judgments and of a system's ranking."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Union, get_args

import numpy as np

from cranfield.errors import DuplicateError, InputError, one_of
from cranfield.formats.block import Block, Load
from cranfield.formats.objects import (
    ArrowTable,
    Grouping,
    Nested,
    TableRows,
    grades_of,
    is_table,
    judgment_groups,
    nested_qrels,
    nested_run,
)
from cranfield.formats.source import Source
from cranfield.formats.trec import (
    Order,
    QrelsFormat,
    group_lines,
    qrels_blocks,
    run_blocks,
    run_tag,
)
from cranfield.ids import Ids, Words, decode, encode, keyed
from cranfield.preferences import Levels
from cranfield.ranked import Ints, Ranked

Path = str | os.PathLike[str]
QrelsLike = Union[
    "Qrels",
    Path,
    ArrowTable,
    Mapping[Any, Mapping[Any, int]],
    Mapping[Any, Set[Any]],
    # in groups, and these in subgroups
    Mapping[Any, Mapping[Any, Mapping[Any, float]]],
    Mapping[Any, Mapping[Any, list[Any]]],
]
RunLike = Union["Run", Path, ArrowTable, Mapping[Any, Mapping[Any, float]], Mapping[Any, list[Any]]]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A block by its queries: adjacent rows of the same query are a group, without duplicates."""

    block: Block
    starts: Ints  # (groups + 1,) the row where each group begins
    group: Ints  # (rows,)
    queries: list[bytes]  # (groups,)
    keys: Words  # (rows,) of (group, document)


def grouped(block: Block) -> Grouped:
    """Group a block by query; a document twice in one group is an error that names it."""
    starts = np.append(block.query.begins(), len(block))
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = keyed(block.doc.hash(), group)
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        _refuse_duplicates(block, group, np.flatnonzero(np.isin(keys, repeated, kind="sort")))
    return Grouped(block, starts, group, block.query.take(starts[:-1]).to_list(), keys)


def _refuse_duplicates(block: Block, group: Ints, rows: Ints) -> None:
    """Raise for the first of `rows` whose query and document stood above."""
    seen: set[tuple[int, bytes]] = set()
    for row in rows.tolist():
        pair = int(group[row]), block.doc[row]
        if pair in seen:
            raise block.error(
                row,
                f"the document {decode(pair[1])!r} stands twice for query "
                f"{decode(block.query[row])!r}",
                hint="Remove one of the two; cranfield does not guess which one is meant.",
                kind=DuplicateError,
            )
        seen.add(pair)


def together(blocks: Iterable[Block]) -> Block:
    """Bring each query's rows together, in the order in which they stand; takes them all at once.

    For data whose queries come back after others, which cannot be read block by block.
    """
    parts = list(blocks)
    query, doc = Ids.joined([p.query for p in parts]), Ids.joined([p.doc for p in parts])
    starts = np.append(query.begins(), len(query))
    number: dict[bytes, int] = {}
    numbers = [number.setdefault(text, len(number)) for text in query.take(starts[:-1]).to_list()]
    order = np.argsort(np.repeat(numbers, np.diff(starts)), kind="stable")
    values = [part.value for part in parts if part.value is not None]
    begins = np.cumsum([0, *map(len, parts)])

    def where(row: int) -> tuple[int | None, str | None]:
        part = int(np.searchsorted(begins, order[row], side="right")) - 1
        return parts[part].where(int(order[row] - begins[part]))

    value = np.concatenate(values)[order] if values else None
    return Block(query.take(order), doc.take(order), value, parts[0].source, where)


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
    _groups: Grouping | None = None
    _levels: Levels | None = None  # judgments in groups; then `grade` is the best level's sign
    # The documents, as they came; the other form is made when it is asked for.
    _lists: list[list[str]] | None = None
    _ids: Ids | None = None

    def __init__(self, data: Mapping[Any, Any] | ArrowTable) -> None:
        if isinstance(data, Mapping):
            groups = judgment_groups(data)
            if groups is not None:
                self._take_groups(groups)
            else:
                self._take_dict(nested_qrels(data))
        elif is_table(data):
            rows = TableRows(data, "qrels")
            self._take_blocks(load() for load in rows.blocks("relevance"))
        else:
            raise InputError(
                f"expected the judgments as a dict of dicts or a table, got {type(data).__name__}"
            )

    @classmethod
    def _of_blocks(cls, blocks: Iterable[Block]) -> "Qrels":
        qrels = cls.__new__(cls)
        qrels._take_blocks(blocks)
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

    def _take_blocks(self, blocks: Iterable[Block]) -> None:
        whole = together(blocks)
        by_query = grouped(whole)
        self.query_ids = [decode(query) for query in sorted(by_query.queries)]
        order = sorted(range(len(by_query.queries)), key=by_query.queries.__getitem__)
        lengths = np.diff(by_query.starts)[order]
        self.starts = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.arange(len(whole)) + np.repeat(
            by_query.starts[:-1][order] - self.starts[:-1], lengths
        )
        assert whole.value is not None  # noqa: S101 - judgments have grades
        self.grade = whole.value[rows].astype(np.int64)
        self._ids = whole.doc.take(rows)

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


class Run:
    """One system's ranking: for each query, documents and the scores by which they are ranked.

    `data` is a dict `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}` (best first), or
    a table with the columns `query_id`, `doc_id`, `score` (and `rank`, for order="rank"): anything
    that hands out Arrow data, as pandas, polars and pyarrow do. `name` is what the system is called
    in results.

    >>> Run({"q1": {"d1": 12.3, "d2": 11.0}}, name="bm25")
    Run('bm25')
    """

    def __init__(self, data: Mapping[Any, Any] | ArrowTable, name: str = "run") -> None:
        self.name = name
        self.nested: Nested | None = None  # {query: {document: score}}, if it came as one
        self._rows: Source | TableRows | None = None
        if isinstance(data, Mapping):
            self.nested = nested_run(data)
        elif is_table(data):
            self._rows = TableRows(data, "run")
        else:
            raise InputError(
                f"expected the run as a dict of dicts or a table, got {type(data).__name__}"
            )

    @classmethod
    def _streamed(cls, source: Source, name: str | None) -> "Run":
        run = cls.__new__(cls)
        run.name = source.stem if name is None else name
        run.nested, run._rows = None, source
        return run

    def __repr__(self) -> str:
        return f"Run({self.name!r})"

    @property
    def tag(self) -> str | None:
        """What a run file calls the system, in the sixth column of its last line; else None."""
        return run_tag(self._rows) if isinstance(self._rows, Source) else None

    def blocks(
        self, order: Order = "score", progress: Callable[[int], None] | None = None
    ) -> Iterator[Load]:
        """Return the rows in blocks; there are none of a run that is `nested`."""
        if isinstance(self._rows, Source):
            return run_blocks(self._rows, order, progress)
        if self._rows is None:
            return iter(())
        return self._rows.blocks("rank" if order == "rank" else "score", required=order != "given")


def read_qrels(path: Path, format: QrelsFormat = "qrels") -> Qrels:  # noqa: A002 - the word for it
    """Read judgments from a TREC qrels file: lines of `query_id iteration doc_id grade`.

    `-` is the standard input. Compressed files (gz, bz2, xz, zst, lz4) are recognised by their
    content. `format` is one of trec_eval's: "qrels"; "qrels_jg", lines of `query_id group doc_id
    grade`; "qrels_prefs", the same with levels, of which the order counts; "prefs", lines of
    `query_id group subgroup doc_id level`. Raises InputError, which names the line, for whatever
    cannot be read.

    >>> read_qrels("demo/qrels.txt")
    Qrels(40 queries, 891 judgments, grades 0 to 3)
    """
    one_of("format", format, get_args(QrelsFormat))
    if format == "qrels":
        return Qrels._of_blocks(load() for load in qrels_blocks(Source(path)))
    qrels = Qrels.__new__(Qrels)
    qrels._take_groups(group_lines(Source(path), format))
    return qrels


def read_run(path: Path, name: str | None = None) -> Run:
    """Open a TREC run file: lines of `query_id Q0 doc_id rank score tag`, or `query_id doc_id`.

    The file is read, in blocks of a few megabytes, whenever the run is evaluated; it may be
    larger than the memory. `-` is the standard input. The run's name is the file's, without
    `.run`, `.txt`, `.gz` and the like, unless `name` says otherwise. What is wrong with the file
    is an InputError of the evaluation.

    >>> read_run("demo/bm25.run")
    Run('bm25')
    """
    return Run._streamed(Source(path), name)


def as_qrels(data: QrelsLike) -> Qrels:
    """Return judgments from whatever holds them: Qrels, a path, a dict or a table."""
    if isinstance(data, Qrels):
        return data
    return read_qrels(data) if isinstance(data, str | os.PathLike) else Qrels(data)


def as_run(data: RunLike) -> Run:
    """Return a run from whatever holds it: Run, a path, a dict or a table."""
    if isinstance(data, Run):
        return data
    return read_run(data) if isinstance(data, str | os.PathLike) else Run(data)
