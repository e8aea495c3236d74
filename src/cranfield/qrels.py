"""Qrels: a checked table of relevance judgments."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Union, get_args

import numpy as np

from cranfield.cached import cached_property
from cranfield.errors import DuplicateError, InputError, OptionError, one_of
from cranfield.formats import QRELS_FORMATS, Files, Path, QrelsFormat, file_rows, table_rows
from cranfield.formats.block import (
    Block,
    Errors,
    Faults,
    LeftOut,
    Number,
    Progress,
    Rows,
    sampling_in,
)
from cranfield.formats.columns import ColumnsLike
from cranfield.formats.frames import ArrowTable, LazyTable, Sparse, is_sparse
from cranfield.formats.groups import GroupsFormat, Weights, group_lines, subtopic_rows
from cranfield.formats.objects import (
    Grouping,
    Nested,
    grades_of,
    judgment_groups,
    nested_qrels,
    without_faults,
)
from cranfield.formats.source import Source, named
from cranfield.formats.writing import form_of, write_groups, write_rows
from cranfield.ids import Ids, Words, decode, encode
from cranfield.notes import Note
from cranfield.preferences import Levels
from cranfield.ranked import Ints, Numbers, Ranked
from cranfield.ranking import grouped, joined, together
from cranfield.subtopics import most_first, novel_first

QrelsLike = Union[
    "Qrels",
    Path,
    ArrowTable,
    LazyTable,
    Mapping[Any, Mapping[Any, int]],
    Mapping[Any, Set[Any]],
    # in groups, and these in subgroups
    Mapping[Any, Mapping[Any, Mapping[Any, float]]],
    Mapping[Any, Mapping[Any, list[Any]]],
    Iterable[Any],  # rows, or a numpy or scipy array
]


class Qrels:
    """Relevance judgments: for each query, the judged documents and their grades.

    `data` is a dict `{query_id: {doc_id: grade}}` (or `{query_id: {doc_id, ...}}`, a set of
    relevant documents), or a table with the columns `query_id`, `doc_id`, `relevance`: anything
    that hands out Arrow data, as pandas, polars and pyarrow do. Grades are whole numbers; what is
    absent is unjudged. Ids are texts; whole numbers stand for their decimal text.

    Judgments of several users, or of anything else that may contradict each other, are groups:
    `{query_id: {group: {doc_id: level}}}`; in place of the last, a list of such dicts if a group
    only orders some of its documents among themselves. Measures of groups and preferences take
    them; levels may be fractions where only their order counts. The subtopics of a query are
    groups, too; a table has them in a column `subtopic`, and the weight of each, if any, in
    `weight`.

    >>> Qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}})
    Qrels(2 queries, 3 judgments, grades 0 to 2)
    >>> Qrels({"q1": {"ann": {"d1": 1, "d2": 0}, "bob": {"d1": 0, "d2": 1}}})
    Qrels(1 queries, 4 judgments in 2 groups)
    """

    query_ids: list[str]  # in the order of their bytes
    starts: Ints  # (n_queries + 1,) the row where each query's judgments begin
    grade: Ints  # (rows,) of judgments in groups, the best level, rounded away from 0
    left_out = LeftOut()  # by errors="skip"
    form = "dict of dicts"  # what the data were understood to be
    sources: Sequence[Source] = ()  # the files that they were read from
    is_text = False  # whether these are lines of text
    notes: tuple[Note, ...] = ()  # what every result of them says
    # Of judgments that are a sample: the columns "stratum" and "probability", as they came.
    columns: Mapping[Number, Any] = MappingProxyType({})
    _groups: Grouping | None = None
    _weights: Weights | None = None  # of these, as they were given
    _levels: Levels | None = None  # judgments in groups
    _best: dict[tuple[float, int] | None, Ints]  # the best rankings that were asked for
    # The documents, as they came; the other form is made when it is asked for.
    _lists: list[list[str]] | None = None
    _ids: Ids | None = None

    def __init__(
        self,
        data: Mapping[Any, Any] | ArrowTable | LazyTable | Iterable[Any] | Sparse,
        columns: ColumnsLike | None = None,
        errors: Errors = "strict",
    ) -> None:
        one_of("errors", errors, get_args(Errors))
        if not isinstance(data, Mapping) or is_sparse(data):  # one kind of these is a dict
            self._take_rows(table_rows(data, "qrels", columns, errors), errors)
            return
        groups = judgment_groups(data)
        if groups is not None:
            self._take_groups(groups)
            return
        nested = nested_qrels(data)
        if errors == "skip":
            nested, self.left_out = without_faults(nested, "qrels")
        self._take_dict(nested)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs; its hashes are other ones if it is in another process."""
        return {name: one for name, one in self.__dict__.items() if name != "doc_hashes"}

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

    def _take_groups(self, data: Grouping, weights: Weights | None = None) -> None:
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
            grades += [
                math.ceil(best[doc]) if best[doc] > 0 else math.floor(best[doc]) for doc in docs
            ]
        self.starts = np.cumsum([0, *map(len, self._lists)])
        self.grade = np.array(grades, np.int64)
        whole = np.array([numbers for *numbers, _ in rows]).T
        levels = np.array([level for *_, level in rows]) * 1.0
        of_query = np.array(groups)
        shares = None
        if weights is not None:
            of = zip(groups, names, strict=True)
            shares = np.array([weights[self.query_ids[code]][name] for code, name in of])
            shares = shares / np.bincount(of_query, shares)[of_query]
        self._levels = Levels(of_query, whole[0], whole[1], whole[2], levels, names, shares)
        self._groups, self._weights = data, weights

    def _take_rows(self, rows: Rows, errors: Errors, progress: Progress | None = None) -> None:
        sampled = sampling_in(dict.fromkeys(rows.numbers))
        if "group" in rows.numbers:
            if sampled:
                raise InputError(
                    f"the qrels have subtopics and a column {next(iter(sampled))}: judgments by "
                    "subtopic are not taken for a sample; leave one of the two columns out",
                    source=_file_of(rows),
                )
            try:
                groups, weights, self.left_out = subtopic_rows(rows, errors, progress)
            except InputError as error:
                if error.source is not None:
                    raise
                raise error.at(_file_of(rows)) from None
            if not groups:
                raise _no_judgment(_file_of(rows), self.left_out)
            self._take_groups(groups, weights)
            self.form = rows.form
            if isinstance(rows, Files):
                self.sources, self.is_text = rows.sources, rows.is_text
            return
        wanted: tuple[Number, ...] = ("grade", *sampled)
        loads = rows.blocks(wanted, errors, progress)
        blocks = [_with_chances(load(), errors) for load in loads]
        left_out = sum((block.left_out for block in blocks), LeftOut())
        empty = [query for block in blocks for query in block.empty]
        blocks = [block for block in blocks if len(block)]
        if not blocks:
            raise _no_judgment(_file_of(rows), left_out)
        try:
            by_query = grouped(replace(together(joined(blocks)), left_out=left_out), errors)
        except DuplicateError as twice:
            if not rows.form.startswith("TREC"):
                raise
            raise DuplicateError(
                twice.problem,
                source=twice.source,
                line=twice.line,
                text=twice.text,
                hint=f"{twice.hint} {_BY_SUBTOPIC}",
            ) from None
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
        self.columns = {role: column[at] for role, column in whole.sampling.items()}

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
            form = "qrels_jg" if format == "subtopics" else format
            write_groups(path, form, self._groups, self._weights)
            return
        if format in (*get_args(GroupsFormat), "subtopics"):
            raise OptionError(f"format={format!r} is for judgments in groups")
        kind = form_of(path, format)
        lost = sorted(self.columns.keys() - _HELD.get(kind, self.columns.keys()))
        if lost:
            raise OptionError(
                f"{os.fspath(path)}: {kind} has no place for the column {' and '.join(lost)}: "
                "write .tsv, .csv, .jsonl or .parquet"
            )
        queries = Ids.of_texts(self.query_ids).take(self.query)
        empty = [
            encode(query)
            for query, n in zip(self.query_ids, np.diff(self.starts).tolist(), strict=True)
            if n == 0
        ]
        block = Block(queries, self.docs, self.grade, empty=empty, sampling=self.columns)
        write_rows(path, kind, "qrels", lambda: [block], "")

    def __len__(self) -> int:
        return len(self.grade)

    @property
    def source(self) -> str | None:
        """What errors call the files that they were read from; None if they are in memory."""
        return named(self.sources)

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

    def novel_first(self, alpha: float, rel: int) -> Ints:
        """Return each document's rank in the greedy ranking: (rows,), 0 if not in it."""
        return self._best_ranking((alpha, rel))

    def most_first(self) -> Ints:
        """Return each document's rank by its worth to all subtopics: (rows,), 0 for nothing."""
        return self._best_ranking(None)

    def _best_ranking(self, greedy: tuple[float, int] | None) -> Ints:
        known = self.__dict__.setdefault("_best", {})
        if greedy not in known:
            levels, query = self.levels, self.query
            known[greedy] = (
                most_first(levels, query) if greedy is None else novel_first(levels, query, *greedy)
            )
        ranks: Ints = known[greedy]
        return ranks

    def __repr__(self) -> str:
        if self._levels is not None:
            rows, groups = len(self._levels.row), len(self._levels.query)
            return (
                f"Qrels({len(self.query_ids):,} queries, {rows:,} judgments in {groups:,} groups)"
            )
        grades = f", grades {self.grade.min()} to {self.grade.max()}" if len(self) else ""
        return f"Qrels({len(self.query_ids):,} queries, {len(self):,} judgments{grades})"

    def of(self, query_ids: Iterable[str]) -> "Qrels":
        """Return the judgments of some queries, all of which are judged."""
        codes = sorted(self.codes[encode(query)] for query in query_ids)
        some = Qrels.__new__(Qrels)
        some.form, some.sources = self.form, self.sources
        if self._groups is not None:
            ids = [self.query_ids[code] for code in codes]
            weights = self._weights and {query: self._weights[query] for query in ids}
            some._take_groups({query: self._groups[query] for query in ids}, weights)
            some.__dict__["top_grade"] = self.top_grade
            return some
        lists, starts = self.doc_lists, self.starts
        rows = [slice(int(starts[code]), int(starts[code + 1])) for code in codes]
        some.query_ids = [self.query_ids[code] for code in codes]
        some._lists = [lists[code] for code in codes]
        some.starts = np.cumsum([0, *(row.stop - row.start for row in rows)])
        some.grade = np.concatenate([self.grade[row] for row in rows])
        some.columns = {
            role: np.concatenate([column[row] for row in rows])
            for role, column in self.columns.items()
        }
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
        columns = {}
        if self.sampling:
            rows = (query * span + below).argsort(kind="stable")
            columns = {name: column[rows] for name, column in self.sampling.items()}
        return Ranked(len(self.query_ids), query, rank, grade, columns=columns)

    @cached_property
    def sampling(self) -> dict[str, Numbers]:
        """How the documents were sampled to be judged: see `Ranked.sampling`."""
        columns: dict[str, Numbers] = {str(role): column for role, column in self.columns.items()}
        if "stratum" in columns:
            rows = np.lexsort((columns["stratum"], self.query))
            stratum = columns["stratum"][rows]
            changes = np.append(False, stratum[1:] != stratum[:-1])[: len(rows)]
            # A query's first row has the number 0, whatever stood before.
            count = np.cumsum(changes)
            columns["stratum"] = np.empty(len(rows), np.int64)
            columns["stratum"][rows] = count - count[self.starts[self.query]]
        return columns


def _file_of(rows: Rows) -> str | None:
    return named(rows.sources) if isinstance(rows, Files) else None


def _no_judgment(source: str | None, left_out: LeftOut) -> InputError:
    hint = str(left_out.first()) if left_out.count else None
    return InputError("the qrels: hold no judgment", source=source, hint=hint)


_BY_SUBTOPIC = (
    "Judgments by subtopic (query, subtopic, document, grade) are read with format='subtopics', "
    "--qrels-format subtopics."
)
# Which of the further columns a format holds; what is not here holds all.
_HELD: Mapping[str, Set[Number]] = {
    **dict.fromkeys(("trec", "msmarco", "beir", "json"), frozenset[Number]()),
    "strata": frozenset[Number](("stratum",)),
    "prels": frozenset[Number](("probability",)),
}
_LEAST_CHANCE = 1e-9  # of being judged, so that its inverse can be added up


def _with_chances(block: Block, errors: Errors) -> Block:
    """Refuse, or leave out, rows whose probability of being judged is none."""
    chance = block.sampling.get("probability")
    if chance is None:
        return block
    good = (chance >= _LEAST_CHANCE) & (chance <= 1)
    if block.value is not None:
        good |= block.value < 0  # which nobody judged
    wrong = np.flatnonzero(~good)
    if len(wrong) == 0:
        return block
    row = int(wrong[0])
    problem = f"expected a probability above 0, up to 1, got {chance[row].item()!r}"
    faults = Faults(errors)
    faults.add("number", partial(block.error, row, problem), len(wrong))
    left_out = block.left_out + faults.left_out
    return replace(block.take(np.flatnonzero(good)), left_out=left_out, empty=block.empty)


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
    header), "json" (`{query: {document: grade}}`), "jsonl", "parquet", "arrow"; or one
    for judgments in groups: "subtopics" (trec_eval's "qrels_jg"), lines of `query_id group doc_id
    grade`;
    "qrels_prefs", the same with levels, of which the order counts; "prefs", lines of `query_id
    group subgroup doc_id level`. `-` is the standard input. Compressed files (gz, bz2, xz, zst,
    lz4) are recognised by their content.

    Columns are found by their names (`query_id`, `qid`, `user_id`, ...; `doc_id`, `docno`,
    `corpus-id`, `item_id`, ...; `relevance`, `label`, `score`, `rating`, ...), or as `columns`
    says: `{"query_id": "user", "relevance": 3}`, by name, or by number from 1. With a column of
    subtopics (`subtopic`, `subtopic_id`, `intent`, `aspect`, `group`), the judgments of each are a
    group; a column `weight` says what each subtopic counts among those of its query.

    Judgments that are a sample have a column `stratum` (whole numbers) or `probability` (of being
    judged), which xinfAP and statAP need; so do format="strata", lines of `query_id iteration
    doc_id stratum grade`, and format="prels", lines of `query_id doc_id grade method probability`.

    `errors="skip"` leaves out lines that cannot be used, and counts them in `left_out`. Otherwise
    the first raises InputError, which names it. `progress` hears of the bytes read.

    >>> read_qrels("demo/qrels.txt")
    Qrels(40 queries, 891 judgments, grades 0 to 3)
    """
    one_of("errors", errors, get_args(Errors))
    if format in (*get_args(GroupsFormat), "subtopics"):
        if columns or not isinstance(path, str | os.PathLike):
            raise OptionError(f"format={format!r} takes one file, and no columns")
        qrels = Qrels.__new__(Qrels)
        form: Any = "qrels_jg" if format == "subtopics" else format
        qrels.sources = [Source(path)]
        groups, qrels.left_out = group_lines(qrels.sources[0], form, errors)
        if not groups:
            raise _no_judgment(qrels.source, qrels.left_out)
        qrels._take_groups(groups)
        qrels.form = f"judgments in groups ({format})"
        return qrels
    return Qrels._read(file_rows(path, "qrels", format, columns), errors, progress)


def as_qrels(data: QrelsLike, errors: Errors = "strict") -> Qrels:
    """Return judgments from whatever holds them: Qrels, a path, a dict or a table."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | os.PathLike):
        return read_qrels(data, errors=errors)
    return Qrels(data, errors=errors)
