"""Judgments: the flat columns of a Qrels, made of a dict, of groups or of blocks of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words
from cranfield.arrays.grades import narrow_grades, widen_grades
from cranfield.arrays.ids import IdList, Ids, encode, select_texts
from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.ranked import Ints, Numbers
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.judges import PEOPLE, PERSON, Judge, Judges
from cranfield.data.judging import Judging
from cranfield.data.order import group_rows, leave_out_rows, repeats_error
from cranfield.data.preferences import Levels
from cranfield.errors import InputError
from cranfield.formats import open_exclusions
from cranfield.formats.block import (
    NO_FAULTY_ROWS,
    Block,
    Duplicates,
    Errors,
    FaultyRows,
    ListKind,
    Load,
    Role,
    Rows,
)
from cranfield.formats.columns import Side, sort_roles
from cranfield.formats.dict_rows import NestedRows
from cranfield.formats.groups import GroupRows, read_group_rows
from cranfield.formats.source import Source, describe_sources
from cranfield.formats.systems import refuse_stated_systems
from cranfield.formats.values import to_grades, unify_grades
from cranfield.lazy import MAX_CACHED_ROWS
from cranfield.notes import Note


@dataclass(eq=False, repr=False)
class Judgments:
    """Judged documents in flat columns, query after query, and where they came from.

    Never changed. (A frozen dataclass takes 2 us more to make: small evaluations would notice.)
    """

    query_ids: Sequence[str]  # in the order of their bytes
    starts: Ints  # (n_queries + 1,) the row where each query's judgments begin
    documents: Ids | list[list[str]]  # of each row, or a list for each query
    # (rows,) as `unify_grades` has them, maybe narrowed; of judgments in groups, the best level
    grade: Numbers
    # Of judgments that are a sample: "stratum", "probability", "query_probability", as they came.
    # Of spans, whose names are the documents (see `spans.py`): "start" and "end".
    columns: Mapping[Role, Any] = field(default_factory=dict)
    groups: GroupRows | None = None  # judgments in groups, as they were given
    group_levels: Levels | None = None  # the groups in columns
    # The highest grade of the collection; None: the highest here.
    stated_top_grade: float | None = None
    description: str = "dict of dicts"  # what the data were understood to be
    list_kind: ListKind | None = None  # if they came as lists alone: see `Rows.list_kind`
    sources: Sequence[Source] = ()  # the files that they were read from
    is_text: bool = False  # whether these are lines of text
    left_out: FaultyRows = NO_FAULTY_ROWS  # by errors="skip"
    repeats: FaultyRows = NO_FAULTY_ROWS  # rows that repeat a document of their query
    duplicates: Duplicates = "refuse"  # which rows of a document were kept
    chunk_counts: tuple[int, int] | None = None  # numbers of mapped chunks and of documents
    notes: Sequence[Note] = ()  # what every result of them says
    is_listed: bool = False  # each query's relevant documents came as one list
    graded: bool = True  # False: documents came without grades, and all have grade 1
    judges: Judges = PEOPLE  # who gave the grades
    exclusions: Rows | None = None  # beside them in a table, and applied by nothing

    def select_codes(self, codes: Ints, top_grade: float) -> "Judgments":
        """Return the judgments of the queries at `codes`, of a collection with this top grade."""
        ids = select_texts(self.query_ids, codes)
        if self.groups is not None:
            selection = _convert_groups(self.groups.select_queries(ids))
            return replace(
                selection,
                grade=selection.grade.astype(widen_grades(self.grade).dtype),  # the collection's
                stated_top_grade=top_grade,
                left_out=self.left_out,
                notes=self.notes,
                duplicates=self.duplicates,
            )
        begins = self.starts[codes]
        lengths = self.starts[codes + 1] - begins
        starts = np.array([*accumulate(lengths.tolist(), initial=0)])
        rows = consecutive_numbers(begins, lengths)
        docs = self.documents
        return replace(
            self,
            query_ids=ids,
            starts=starts,
            documents=docs.take(rows) if isinstance(docs, Ids) else [docs[i] for i in codes],
            grade=self.grade[rows],
            columns={role: column[rows] for role, column in self.columns.items()},
            judges=self.judges.take(rows),
            stated_top_grade=top_grade,
        )


def make_judgments(rows: Rows, errors: Errors, duplicates: Duplicates = "refuse") -> Judgments:
    """Return the judgments in `rows`; InputError if there is none, or, of a dict, no query.

    A document has one grade for a query, or for each of its groups: of several, `duplicates` says
    which one counts.
    """
    if isinstance(rows, NestedRows):
        return _convert_dict(rows)
    if isinstance(rows, GroupRows):
        return _convert_groups(rows)
    refuse_stated_systems(rows, Side.QRELS)
    if "group" in rows.extra_roles:
        groups = _read_subtopics(rows, errors, duplicates)
        return replace(_convert_groups(groups), duplicates=duplicates)
    return _read_blocks(rows, errors, duplicates)


def _convert_dict(rows: NestedRows) -> Judgments:
    grades_of_query = rows.data
    if not grades_of_query:
        raise InputError("the qrels: hold no query")
    query_ids = sorted(grades_of_query, key=encode)
    lists = [list(grades_of_query[query]) for query in query_ids]
    grades = to_grades(chain.from_iterable(grades_of_query[query].values() for query in query_ids))
    if grades is None:
        query, doc, grade = next(
            (query, doc, grade)
            for query in query_ids
            for doc, grade in grades_of_query[query].items()
            if to_grades([grade]) is None
        )
        raise InputError(
            f"the qrels: query {query!r}, document {doc!r}: "
            f"expected a number as the grade, got {grade!r:.80}"
        )
    starts = np.array([*accumulate(map(len, lists), initial=0)])
    return Judgments(
        query_ids,
        starts,
        lists,
        grades,
        description=rows.description,
        list_kind=rows.list_kind,
        left_out=rows.left_out,
        notes=rows.notes,
        graded=rows.has_grades,
    )


def _convert_groups(groups: GroupRows) -> Judgments:
    groups_of_query, weights = groups.groups, groups.weights
    if not groups_of_query:
        if not groups.sources:
            raise InputError("the qrels: hold no query")
        raise no_judgment_error(describe_sources(groups.sources), groups.left_out)
    query_ids = sorted(groups_of_query, key=encode)
    lists: list[list[str]] = []
    grades: list[float] = []
    codes: list[int] = []  # the query of each group
    names: list[str] = []
    rows: list[tuple[int, int, int, float]] = []
    for code, query in enumerate(query_ids):
        best_level: dict[str, float] = {}
        for subgroup_levels in chain.from_iterable(groups_of_query[query].values()):
            for doc, level in subgroup_levels.items():
                best_level[doc] = max(level, best_level.get(doc, level))
        docs = sorted(best_level, key=encode)
        row_of_doc = {doc: len(grades) + i for i, doc in enumerate(docs)}
        for group_name in sorted(groups_of_query[query], key=encode):
            for subgroup, subgroup_levels in enumerate(groups_of_query[query][group_name]):
                group = len(codes)
                rows += [
                    (group, subgroup, row_of_doc[doc], level)
                    for doc, level in subgroup_levels.items()
                ]
            codes.append(code)
            names.append(group_name)
        lists.append(docs)
        grades += [best_level[doc] for doc in docs]
    numbers = np.array([numbers for *numbers, _ in rows]).T  # groups, subgroups, documents
    level_column = np.array([level for *_, level in rows]) * 1.0
    grade = unify_grades(np.array(grades, np.float64))
    assert grade is not None  # noqa: S101 - levels were checked as they were read
    query_of_group = np.array(codes)
    weight = None
    if weights is not None:
        group_keys = zip(codes, names, strict=True)
        weight = np.array([weights[query_ids[code]][name] for code, name in group_keys])
        weight = weight / np.bincount(query_of_group, weight)[query_of_group]
    return Judgments(
        query_ids,
        np.cumsum([0, *map(len, lists)]),
        lists,
        grade,
        groups=groups,
        group_levels=Levels(
            query_of_group, numbers[0], numbers[1], numbers[2], level_column, names, weight
        ),
        description=groups.description,
        sources=groups.sources,
        is_text=groups.is_text,
        left_out=groups.left_out,
        repeats=groups.duplicate_rows,
    )


def _read_subtopics(rows: Rows, errors: Errors, duplicates: Duplicates) -> GroupRows:
    """Return the judgments by subtopic of a table."""
    sampling_roles = sort_roles(rows.extra_roles & {"stratum", "probability", "start", "end"})
    if sampling_roles:
        raise InputError(
            f"the qrels have subtopics and a column {sampling_roles[0]}: judgments by subtopic are "
            "not taken for a sample, nor by span; leave one of the two columns out",
            source=describe_sources(rows.sources),
        )
    try:
        groups = read_group_rows(rows, errors, duplicates)
    except InputError as error:
        if error.source is not None:
            raise
        raise error.locate(describe_sources(rows.sources)) from None
    if not groups.groups:
        raise no_judgment_error(describe_sources(rows.sources), groups.left_out)
    return groups


def _read_blocks(rows: Rows, errors: Errors, duplicates: Duplicates) -> Judgments:
    has_grades = "grade" in rows.extra_roles
    read_queries = partial(_read_whole_queries, rows, errors, duplicates)
    try:
        judges = {PERSON: 0}  # {judge: its code}
        parts, left_out, repeats, empty_queries = read_queries(judges, apart=False)
    except _SplitQueryError:
        parts, left_out, repeats, empty_queries = read_queries(judges, apart=True)
    if not parts:
        raise no_judgment_error(describe_sources(rows.sources), left_out)
    if repeats.count and duplicates not in ("first", "best"):
        raise repeated_judgments_error(repeats, rows, duplicates)
    queries = Ids.concatenate([part.queries for part in parts])
    new_queries = (
        dict.fromkeys(empty_queries).keys() - {*queries.to_list()} if empty_queries else ()
    )
    queries = Ids.concatenate([queries, Ids.of([*new_queries])]) if new_queries else queries
    counts = np.concatenate([part.counts for part in parts])
    counts = np.append(counts, np.zeros(len(queries) - len(counts), np.int64))  # of the empty, too
    docs = Ids.concatenate([part.docs for part in parts])
    columns = {
        role: np.concatenate([part.columns[role] for part in parts]) for role in parts[0].columns
    }
    parts.clear()
    order = queries.sort_keys().argsort()
    if (np.diff(order) < 0).any():
        begins, counts = (np.cumsum(counts) - counts)[order], counts[order]
        rows_in_order = consecutive_numbers(begins, counts)
        queries, docs = queries.take(order).compact(), docs.take(rows_in_order).compact()
        columns = {role: column[rows_in_order] for role, column in columns.items()}
    if len(docs) > MAX_CACHED_ROWS:
        release_free_memory()
    return Judgments(
        IdList(queries),
        np.append(0, np.cumsum(counts)),
        docs,
        narrow_grades(columns.pop("grade")),
        judges=Judges(columns.pop("judge").astype(np.uint16), [*judges])
        if "judge" in columns
        else PEOPLE,
        columns=columns,
        description=rows.description,
        list_kind=rows.list_kind,
        sources=rows.sources,
        is_text=rows.is_text,
        left_out=left_out,
        repeats=repeats,
        duplicates=duplicates,
        graded=has_grades and rows.has_grades,
        is_listed=bool(rows.list_columns),
        notes=(*rows.statement_notes, *rows.notes),
        exclusions=open_exclusions(rows),
    )


class _QueryJudgments(NamedTuple):
    """The judgments of some queries, in little memory."""

    queries: Ids
    counts: Ints  # (queries,) how many rows each has
    docs: Ids
    columns: dict[Role, Numbers]


_JUDGES_LOCK = Lock()  # blocks are read in several threads


class _SplitQueryError(Exception):
    """A query came back after others."""


def _read_whole_queries(
    rows: Rows, errors: Errors, duplicates: Duplicates, judges: dict[Judge, int], *, apart: bool
) -> tuple[list[_QueryJudgments], FaultyRows, FaultyRows, list[bytes]]:
    """Return judgments by query, counts of rows left out and of repeats, and queries without rows.

    Raises _SplitQueryError if the rows of a query are in several places; if `apart`, rows are
    regrouped first. `judges` are as in `_read_named_block`.
    """
    judging = Judging(duplicates="best" if duplicates == "best" else "first")
    loads = rows.blocks(sort_roles(rows.extra_roles), errors)
    valid_loads: Iterator[Load] = (
        partial(_read_named_block, load, errors, judges) for load in loads
    )
    if apart:
        from cranfield.data.regroup import regroup_queries

        valid_loads = regroup_queries(valid_loads)
    parts: list[_QueryJudgments] = []
    hashes: list[Words] = []
    left_out, repeats, empty_queries = FaultyRows(), FaultyRows(), list[bytes]()
    for load in valid_loads:
        block = load()
        left_out += block.left_out
        empty_queries += block.empty_queries
        if not len(block):
            continue
        grouped_block = group_rows(block, judging)
        repeats += grouped_block.repeats
        if grouped_block.repeats.count and duplicates == "refuse":
            from cranfield.formats.systems import refuse_mixture

            refuse_mixture(rows, grouped_block.repeats.first_error)
        hashes.append(grouped_block.queries.hash())
        if not apart and _has_duplicates(hashes[-1:]):
            raise _SplitQueryError
        block, columns = grouped_block.block, dict(grouped_block.block.columns)
        grade = unify_grades(columns.get("grade", np.ones(len(block), np.int8)))
        assert grade is not None  # noqa: S101 - each was checked as it was read
        columns["grade"], docs = narrow_grades(grade), block.doc.compact()
        counts = np.diff(grouped_block.starts)
        parts.append(_QueryJudgments(grouped_block.queries.compact(), counts, docs, columns))
    if not apart and _has_duplicates(hashes):
        raise _SplitQueryError
    return parts, left_out, repeats, empty_queries


def read_valid_block(load: Load, errors: Errors) -> Block:
    """Return a block whose rows are all valid; raise the fault of a row, or leave it out."""
    block = _check_probabilities(load(), errors)
    if {"start", "end"} <= block.columns.keys():
        from cranfield.data.spans import check_spans

        block = check_spans(block, errors)
    return block


def _read_named_block(load: Load, errors: Errors, judges: dict[Judge, int]) -> Block:
    """Return a block of valid rows: the name of a span is its document, a judge is a number.

    `judges` are these numbers; those that it lacks are added to it.
    """
    block = read_valid_block(load, errors)
    columns = dict(block.columns)
    cells = [columns.pop(role, None) for role in ("judge_model", "judge_prompt")]
    if any(column is not None for column in cells):
        texts = ([""] * len(block) if column is None else column.to_texts() for column in cells)
        with _JUDGES_LOCK:
            pairs = map(Judge, *texts)
            codes = [judges.setdefault(pair, len(judges)) for pair in pairs]
        block = replace(block, columns={**columns, "judge": np.array(codes, np.int64)})
    if {"start", "end"} <= block.columns.keys():
        from cranfield.data.spans import name_spans

        block = name_spans(block)
    return block


def _has_duplicates(hashes: Sequence[Words]) -> bool:
    sorted_hashes = np.sort(np.concatenate([np.zeros(0, np.uint64), *hashes]))
    return bool((sorted_hashes[1:] == sorted_hashes[:-1]).any())


def repeated_judgments_error(repeats: FaultyRows, rows: Rows, duplicates: Duplicates) -> InputError:
    """Return the error of judgments that repeat a document: see `repeats_error`."""
    error = repeats_error(repeats, rows)
    one_grade = "" if duplicates == "refuse" else _ONE_GRADE_HINT
    alike = _ALIKE_HINT if rows.extra_roles.isdisjoint({"grade", "start"}) else ""
    hints = error.hint, one_grade, alike, rows.duplicate_reason
    return error.replace(hint=" ".join(filter(None, hints)))


_ALIKE_HINT = "Without grades such rows are alike: 'first' and 'best' count the document once."
_ONE_GRADE_HINT = "'once', 'each' and 'joined' are for runs: a judged document has one grade."


NO_JUDGMENT = "no judgment"  # the kind of `no_judgment_error`


def no_judgment_error(source: str | None, left_out: FaultyRows) -> InputError:
    """Return the error of rows that hold no valid judgment."""
    hint = str(left_out.first_error()) if left_out.count else None
    return InputError("the qrels: hold no judgment", source=source, hint=hint, kind=NO_JUDGMENT)


_MIN_PROBABILITY = 1e-9  # of being judged, so that its inverse is finite in sums


def _check_probabilities(block: Block, errors: Errors) -> Block:
    """Refuse, or leave out, judged rows with a probability that is not above 0, up to 1."""
    for role in ("probability", "query_probability"):
        probability = block.columns.get(role)
        if probability is None:
            continue
        is_valid = (probability >= _MIN_PROBABILITY) & (probability <= 1)
        if block.score_or_grade is not None:
            is_valid |= block.score_or_grade < 0  # unjudged
        bad_rows = np.flatnonzero(~is_valid)
        if len(bad_rows):
            row = int(bad_rows[0])
            problem = f"expected a probability above 0, up to 1, got {probability[row].item()!r}"
            error = partial(block.row_error, row, problem)
            block = leave_out_rows(block, bad_rows, errors, "number", error)
    return block
