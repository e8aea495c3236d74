"""Qrels: a checked table of relevance judgments, which `judge` matches with runs."""

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Union, get_args

import numpy as np

from cranfield.arrays.ids import IdList, Ids, encode, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.data.combined import DifferingGrades, merge_judgments, select_judgments
from cranfield.data.judgment_columns import JudgmentColumns
from cranfield.data.relevance import Judgments, make_judgments
from cranfield.errors import InputError, OptionError, check_choice
from cranfield.formats import read_rows
from cranfield.formats.block import Block, Duplicates, Errors, Rows
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.shapes import ArrowTable, LazyTable, Sparse
from cranfield.formats.source import File, Path, describe_sources
from cranfield.notes import Note, warn_about
from cranfield.options import check_option, level_check, whole_check
from cranfield.progress import ProgressLike, watch_calls
from cranfield.render.numbers import format_query_count, format_shortest

if TYPE_CHECKING:  # what most judgments do not need
    from cranfield.data.chunks import DocsOfChunks

SampleUnit = Literal["queries", "judgments"]

QrelsLike = Union[
    "Qrels",
    File,
    ArrowTable,
    LazyTable,
    Mapping[Any, Mapping[Any, float]],
    Mapping[Any, Set[Any]],
    # in groups, and these in subgroups
    Mapping[Any, Mapping[Any, Mapping[Any, float]]],
    Mapping[Any, Mapping[Any, list[Any]]],
    Iterable[Any],  # rows, or a numpy or scipy array
]


class Qrels(JudgmentColumns):
    """Relevance judgments: for each query, the judged documents and their grades.

    `data` is a dict `{query_id: {doc_id: grade}}` (or `{query_id: {doc_id, ...}}`, a set of
    relevant documents), or a table with the columns `query_id`, `doc_id`, `relevance`: anything
    that hands out Arrow data, as pandas, polars and pyarrow do. Grades are numbers, whole ones as a
    rule; what is absent is unjudged. Ids are texts; whole numbers become their decimal text. Pairs
    without a grade are relevant, of grade 1 (`graded` is False then); a cell may hold a list of
    expected documents.

    Judgments of several users, or of anything else that may contradict each other, are groups:
    `{query_id: {group: {doc_id: level}}}`; in place of the last, a list of such dicts if a group
    only orders some of its documents among themselves. Measures of groups and preferences take
    them; levels may be fractions where only their order counts. The subtopics of a query are
    groups, too; a table has them in a column `subtopic`, and the weight of each, if any, in
    `weight`.

    Judgments by span have columns `start` and `end`: from the position `start` of the document to
    before `end`. docs/how-to/chunks.md says what becomes of them.

    A document that occurs more than once for a query is refused (DuplicateError), unless
    `duplicates` keeps its "first" row or the one of the highest grade ("best").

    `top_grade` is the highest grade of the scale, or of the collection that these are a part of;
    some measures, such as ERR, depend on it. Without it, it is the highest grade that occurs.

    >>> Qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}})
    Qrels(2 queries, 3 judgments, grades 0 to 2)
    >>> Qrels({"q1": {"ann": {"d1": 1, "d2": 0}, "bob": {"d1": 0, "d2": 1}}})
    Qrels(1 queries, 4 judgments in 2 groups)
    """

    def __init__(
        self,
        data: (
            "Mapping[Any, Any] | ArrowTable | LazyTable | Iterable[Any] | Sparse | Judgments | Rows"
        ),
        columns: ColumnsLike | None = None,
        errors: Errors = "strict",
        duplicates: Duplicates = "refuse",
        *,
        top_grade: float | None = None,
    ) -> None:
        if isinstance(data, Qrels) or not isinstance(data, Judgments):
            check_duplicates(duplicates)
            rows = read_rows(data, Side.QRELS, columns=columns, errors=errors)
            data = make_judgments(rows, errors, duplicates)
        if top_grade is not None:
            data = _state_top_grade(data, top_grade)
        vars(self).update(vars(data))
        self._judgments = data
        del self.__dict__["grade"]  # `_judgments` holds it, as a rule in few bytes

    def write(
        self,
        path: Path,
        format: str | None = None,  # noqa: A002 - the word for it
    ) -> list[Note]:
        """Write the judgments to a file, in the format that its suffix names, or `format`.

        docs/reference/formats.md lists both; .gz, .bz2, .xz, .zst or .lz4 behind the suffix
        compresses. Read back, they are the same judgments, without a stated top grade. Raises
        InputError for an id that the format cannot hold, OptionError for a suffix that names no
        format, or one without a place for them; what was there before is then left as it is.
        Which judgments are a model's, only tables can say: else a warning, and a note that is
        returned, count those of which it is not known any more.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     notes = Qrels({"q1": {"d1": 2}}).write(path := pathlib.Path(folder, "qrels.csv"))
        ...     print(path.read_text(), end="")
        query_id,doc_id,relevance
        q1,d1,2
        """
        from cranfield.formats.files import choose_format, format_names, write_groups, write_rows
        from cranfield.formats.format import OutputFile

        if format is not None:
            check_choice("format", format, format_names(Side.QRELS))
        if self.groups is not None:
            write_groups(path, format, self.groups)
            return []
        form = choose_format(path, format)
        if form.is_for_groups or form.qrels is None:
            content_kind = "judgments in groups" if form.is_for_groups else "runs"
            raise OptionError(f"format={format or form.name!r} is for {content_kind}")
        lost_roles = sorted(self.columns.keys() - form.qrels.select_roles(self.columns))
        if lost_roles:
            raise OptionError(
                f"{os.fspath(path)}: {form.name} has no place for the column "
                f"{' and '.join(lost_roles)}: "
                "write .tsv, .csv, .jsonl or .parquet"
            )
        judge_columns = self.judges.columns()
        notes = []
        if not judge_columns.keys() <= form.qrels.select_roles(judge_columns):
            judge_columns = {}
            for note in self.judges.notes():
                text = f"{os.fspath(path)} has no place for judge_model: that {note.count:,} "
                text += "judgments are a model's is not known any more."
                notes.append(Note("judges-lost", "warning", text, count=note.count))
            warn_about(notes)
        queries, docs = encode_ids(self.query_ids).take(self.query), self.docs
        if self.spans is not None:
            from cranfield.data.spans import span_docs

            docs = span_docs(docs)
        empty = np.flatnonzero(np.diff(self.starts) == 0).tolist()
        block = Block(
            queries,
            docs,
            {"grade": self.grade, **self.columns, **judge_columns},
            empty_queries=[encode(self.query_ids[code]) for code in empty],
        )
        write_rows(form, OutputFile(os.fspath(path), Side.QRELS), lambda: [block])
        return notes

    def __repr__(self) -> str:
        if self.group_levels is not None:
            rows, groups = len(self.group_levels.row), len(self.group_levels.query)
            return (
                f"Qrels({len(self.query_ids):,} queries, {rows:,} judgments in {groups:,} groups)"
            )
        grades = f", grades {self.grade_range}" if len(self) else ""
        return f"Qrels({len(self.query_ids):,} queries, {len(self):,} judgments{grades})"

    def select_queries(self, query_ids: Iterable[str]) -> "Qrels":
        """Return the judgments of some queries, all of which are judged."""
        if isinstance(self.query_ids, IdList):
            codes = np.sort(self.find_codes(Ids.of_texts([*query_ids])))
        else:  # texts that are in memory anyway: a dict of them finds a few at once
            codes = np.array(sorted(map(self._code_of_query.__getitem__, query_ids)), np.int64)
        return Qrels(self._judgments.select_codes(codes, self.top_grade))

    def replace_fields(self, **changes: Any) -> "Qrels":
        """Return the judgments with other fields of `Judgments`, such as notes or a top grade."""
        return Qrels(replace(self._judgments, **changes))

    def with_top_grade(self, top_grade: float) -> "Qrels":
        """Return the same as a part of a collection with this highest grade.

        Raises InputError for a grade above it.
        """
        return Qrels(_state_top_grade(self._judgments, top_grade))

    def map_docs(self, mapping: "DocsOfChunks", errors: Errors = "strict") -> "Qrels":
        """Return the judgments of documents, of judgments of their chunks.

        `mapping` is as in `Run.map_docs`. A document has the highest grade of its judged chunks;
        results say how many chunks became how many documents. A chunk without a document raises
        InputError, or is left out and counted with `errors="skip"`; judgments that are a sample, or
        of spans, raise OptionError.

        >>> Qrels({"q1": {"d1#0": 1, "d1#1": 3, "d2#0": 0}}).map_docs("(.*)#").to_dict()
        {'q1': {'d1': 3, 'd2': 0}}
        """
        from cranfield.data.chunks import Chunks, map_judgments

        return Qrels(map_judgments(self._judgments, Chunks.of(mapping), errors))

    def merge(self, *others: "QrelsLike", differing: DifferingGrades = "refuse") -> "Qrels":
        """Return the judgments of several: each document of a query once.

        Where they give a document different grades, `differing` says which counts: "refuse" raises
        InputError, "latest" takes that of the last, "highest" the highest, "majority" the most
        frequent, and of two as frequent the higher. A note, in every result, says how many
        differed.

        >>> judged, rejudged = Qrels({"q1": {"d1": 1, "d2": 0}}), {"q1": {"d1": 2}, "q2": {"d3": 1}}
        >>> judged.merge(rejudged, differing="highest").to_dict()
        {'q1': {'d1': 2, 'd2': 0}, 'q2': {'d3': 1}}
        """
        check_choice("differing", differing, get_args(DifferingGrades))
        if any(isinstance(addend, list | tuple) for addend in others):
            raise OptionError("merge takes judgments one by one: merge(second, third)")
        all_qrels = [self, *(make_qrels(addend) for addend in others)]
        docs, query = [member.docs for member in all_qrels], [member.query for member in all_qrels]
        return Qrels(
            merge_judgments([member._judgments for member in all_qrels], docs, query, differing)
        )

    def sample(self, n: int, *, of: SampleUnit = "queries", seed: int = 42) -> "Qrels":
        """Return n queries, or n judgments, drawn by chance, each as likely as another.

        Of judgments, queries without a drawn one are left out. The same seed draws the same.
        Raises OptionError for more than there are, and for judgments drawn from groups.

        >>> Qrels({f"q{i}": {"d": 1} for i in range(9)}).sample(2).query_ids
        ['q0', 'q3']
        """
        check_choice("of", of, get_args(SampleUnit))
        n, seed = check_option("n", n, whole_check(1)), check_option("seed", seed, whole_check(0))
        n_available = len(self.query_ids) if of == "queries" else len(self)
        if n > n_available:
            raise OptionError(f"n={n}: there are {n_available:,} {of}")
        drawn_rows = np.sort(np.random.default_rng(seed).permutation(n_available)[:n])
        if of == "queries":
            return self.select_queries([self.query_ids[code] for code in drawn_rows.tolist()])
        judgments = replace(self._judgments, documents=self.docs, stated_top_grade=self.top_grade)
        order = np.lexsort((self.docs.sort_keys(), self.query))  # the order of rows changes nothing
        return Qrels(select_judgments(judgments, self.query, np.sort(order[drawn_rows])))

    def select_rows(self, rows: Ints) -> "Qrels":
        """Return the judgments at `rows`, ascending; every query is still there."""
        judgments = replace(self._judgments, documents=self.docs, stated_top_grade=self.top_grade)
        return Qrels(select_judgments(judgments, self.query, rows, keep_empty=True))

    def split(self, k: int, *, seed: int = 42) -> "list[Qrels]":
        """Return k parts, of different queries drawn by chance, as for cross-validation.

        Their sizes differ by one query at most. Raises OptionError for more parts than queries.

        >>> parts = Qrels({f"q{i}": {"d": 1} for i in range(5)}).split(2)
        >>> [part.query_ids for part in parts]
        [['q0', 'q3', 'q4'], ['q1', 'q2']]
        """
        k, seed = check_option("k", k, whole_check(2)), check_option("seed", seed, whole_check(0))
        n = len(self.query_ids)
        if k > n:
            raise OptionError(f"k={k}: there are {format_query_count(n)}")
        order = np.random.default_rng(seed).permutation(n)
        return [
            self.select_queries(
                [self.query_ids[code] for code in np.sort(order[part_number::k]).tolist()]
            )
            for part_number in range(k)
        ]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return `{query_id: {doc_id: grade}}`, queries in the order of their bytes.

        Judgments in groups are `{query_id: {group: [{doc_id: level}, ...]}}`.
        """
        if self.groups is not None:
            return {query: dict(self.groups.groups[query]) for query in self.query_ids}
        grades = self.grade  # which may not be kept
        return {
            query: dict(zip(docs, grades[begin:end].tolist(), strict=True))
            for query, docs, begin, end in zip(
                self.query_ids, self.doc_lists, self.starts, self.starts[1:], strict=False
            )
        }


def _state_top_grade(judgments: Judgments, top_grade: float) -> Judgments:
    """Return judgments with a stated highest grade; InputError for a grade above it."""
    top_number = check_option("top_grade", top_grade, level_check())
    highest = np.maximum.reduce(judgments.grade, initial=0).item()
    if highest > top_number:
        raise InputError(
            f"grade {format_shortest(highest)} is above top_grade={format_shortest(top_number)}, "
            "which was stated as the "
            "highest of the collection",
            source=describe_sources(judgments.sources),
        )
    return replace(judgments, stated_top_grade=top_number)


def check_duplicates(duplicates: Duplicates) -> None:
    """Raise OptionError unless `duplicates` says which rows of a document are kept."""
    if duplicates != "refuse":  # as most often
        check_choice("duplicates", duplicates, get_args(Duplicates))


def read_qrels(
    path: File | Sequence[File],
    format: str | None = None,  # noqa: A002 - the word for it
    *,
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
    duplicates: Duplicates = "refuse",
    top_grade: float | None = None,
    progress: ProgressLike = None,
) -> Qrels:
    """Read judgments from a file, a BEIR folder, a URL, or several files as one table.

    The format is found from content and name, unless `format` says it: one of those that
    docs/reference/formats.md lists, among them those for judgments in groups and for samples. `-`
    is the standard input. Compressed files (gz, bz2, xz, zst, lz4) are recognised by their content.

    Columns are found by their names (`query_id`, `qid`, `user_id`, ...; `doc_id`, `docno`,
    `corpus-id`, `item_id`, ...; `relevance`, `label`, `score`, `rating`, ...), or as `columns`
    says: `{"query_id": "user", "relevance": 3}`, by name, or by number from 1. With a column of
    subtopics (`subtopic`, `subtopic_id`, `intent`, `aspect`, `group`), the judgments of each are a
    group; a column `weight` says what each subtopic counts among those of its query.

    Judgments that are a sample have a column `stratum` (whole numbers) or `probability` (of being
    judged), which xinfAP and statAP need.

    `errors="skip"` leaves out lines that cannot be used, and counts them in `left_out`. Otherwise
    the first raises InputError, which names it. A document that occurs more than once for a query
    is refused, too, or `duplicates` keeps its "first" row or the one of the highest grade ("best").
    `progress`: True shows how far it is, a function hears of the bytes read, as in `evaluate`.

    Args:
        path: the path of a file or folder, a URL, an open file, or several of them.
        format: the name of the format; None: it is found.
        columns: which column is which, where that cannot be told by their names.
        errors: "strict" refuses what cannot be used; "skip" leaves it out.
        duplicates: what to do with a document that a query has twice, as in `evaluate`.
        top_grade: the highest grade of the scale; None: the highest that occurs.
        progress: whether to show how far it is, or a function to call.

    >>> read_qrels("demo/qrels.txt")
    Qrels(40 queries, 891 judgments, grades 0 to 3)

    """
    rows = read_rows(path, Side.QRELS, columns=columns, errors=errors, format=format, is_path=True)
    check_duplicates(duplicates)
    with watch_calls(progress):
        return Qrels(make_judgments(rows, errors, duplicates), top_grade=top_grade)


def make_qrels(
    qrels: QrelsLike,
    errors: Errors = "strict",
    columns: ColumnsLike | None = None,
    duplicates: Duplicates = "refuse",
) -> Qrels:
    """Return judgments from data of any kind: Qrels, a path, a dict or a table."""
    if isinstance(qrels, str | os.PathLike):
        return read_qrels(qrels, errors=errors, columns=columns, duplicates=duplicates)
    return qrels if isinstance(qrels, Qrels) else Qrels(qrels, columns, errors, duplicates)
