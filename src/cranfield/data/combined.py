"""Makes judgments of judgments: merges several, or selects rows, as for a sample."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from cranfield.arrays.ids import IdIndex, IdList, Ids, decode, encode_ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import mark_changes
from cranfield.arrays.slots import number_pairs
from cranfield.data.judges import join_judges, merge_judges
from cranfield.data.relevance import Judgments
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.formats.block import FaultyRows
from cranfield.formats.source import describe_sources
from cranfield.formats.values import unify_grades
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_shortest

#: Which grade counts for a document with different grades in several judgments.
DifferingGrades = Literal["refuse", "latest", "highest", "majority", "mean"]
COUNTED_GRADE = {
    "latest": "the grade of the last",
    "highest": "the highest grade",
    "majority": "the most frequent grade, the higher of two as frequent",
    "mean": "the mean of the grades",
}


def merge_judgments(
    judgments_list: Sequence[Judgments],
    doc_columns: Sequence[Ids],
    query_columns: Sequence[Ints],
    differing: DifferingGrades,
) -> Judgments:
    """Return all judgments as one, with each document of a query once.

    For each of the judgments, `doc_columns` has the document of each row, and `query_columns` the
    position of its query in `query_ids`: (rows,). Raises OptionError for judgments in groups or
    with `columns`, InputError for different grades if `differing` refuses them.
    """
    for judgments in judgments_list:
        _refuse_unmergeable(judgments)
    queries, group = _unite_queries(judgments_list, query_columns)
    all_docs = Ids.concatenate(list(doc_columns))
    grade_columns = [np.asarray(judgments.grade, np.float64) for judgments in judgments_list]
    grade = np.concatenate(grade_columns)
    first, pair = number_pairs(group, all_docs)
    n_pairs = len(first)
    first = np.full(n_pairs, len(pair))
    np.minimum.at(first, pair, np.arange(len(pair)))
    lowest, highest = np.full(n_pairs, np.inf), np.full(n_pairs, -np.inf)
    np.minimum.at(lowest, pair, grade)
    np.maximum.at(highest, pair, grade)
    differing_pairs = np.flatnonzero(lowest != highest)
    if len(differing_pairs) and differing == "refuse":
        row = int(first[differing_pairs].min())
        query, doc = decode(queries[int(group[row])]), decode(all_docs[row])
        raise _differing_error(query, doc, grade[pair == pair[row]], len(differing_pairs))
    choose_grades = {
        "latest": _latest_grades,
        "majority": _majority_grades,
        "mean": _mean_grades,
    }.get(differing)
    chosen_grade = highest if choose_grades is None else choose_grades(pair, grade, n_pairs)
    order = np.lexsort((first, group[first]))
    rows = first[order]
    counts = np.bincount(group[rows], minlength=len(queries))
    grade_column = unify_grades(chosen_grade[order])
    assert grade_column is not None  # noqa: S101 - the grades of judgments
    judges = join_judges((judgments.judges, len(judgments.grade)) for judgments in judgments_list)
    judges = merge_judges(judges, pair, grade == chosen_grade[pair]).take(order)
    text = f"{format_count(len(judgments_list), 'qrels', 'qrels')} merged: "
    text += format_count(n_pairs, "judgment")
    if len(differing_pairs):
        text += f", of which {len(differing_pairs):,} had different grades: "
        text += f"{COUNTED_GRADE[differing]} counts"
    top_grades = [judgments.stated_top_grade for judgments in judgments_list]
    stated_grades = [top_grade for top_grade in top_grades if top_grade is not None]
    highest_grades = [float(np.max(judgments.grade, initial=0)) for judgments in judgments_list]
    note = Note("merged", "info", f"{text}.", count=len(differing_pairs))
    return Judgments(
        IdList(queries),
        np.append(0, np.cumsum(counts)),
        all_docs.take(rows).compact(),
        grade_column,
        stated_top_grade=max([*stated_grades, *highest_grades]) if stated_grades else None,
        description=text,
        sources=[source for judgments in judgments_list for source in judgments.sources],
        left_out=sum((judgments.left_out for judgments in judgments_list), FaultyRows()),
        repeats=sum((judgments.repeats for judgments in judgments_list), FaultyRows()),
        notes=(*(note for judgments in judgments_list for note in judgments.notes), note),
        graded=any(judgments.graded for judgments in judgments_list),
        judges=judges,
    )


def _unite_queries(
    judgments_list: Sequence[Judgments], query_columns: Sequence[Ints]
) -> tuple[Ids, Ints]:
    """Return the ids of all queries, by their bytes, and the position in them of each row: (rows,).

    `query_columns` are those of `merge_judgments`.
    """
    ids = [encode_ids(judgments.query_ids) for judgments in judgments_list]
    queries = Ids.concatenate(ids)
    queries = queries.take(queries.sort_keys().argsort(kind="stable"))
    queries = queries.take(queries.find_changes()).compact()
    query_index = IdIndex(queries)
    columns = zip(ids, query_columns, strict=True)
    return queries, np.concatenate(
        [query_index.find_rows(own_ids)[query] for own_ids, query in columns]
    )


def _differing_error(query: str, doc: str, grade: Floats, n_differing: int) -> InputError:
    """Return the error for a document with several grades, one of `n_differing` documents."""
    grades_text = ", ".join(map(format_shortest, grade.tolist()))
    return InputError(
        f"query {query!r:.80}, document {doc!r:.80}: has the grades {grades_text}, and so differ "
        f"the grades of {format_count(n_differing, 'document')}",
        hint="differing= (--differing) says which counts: 'latest', 'highest', 'majority', 'mean'.",
    )


def _latest_grades(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's last grade: (n,)."""
    last_row = np.zeros(n, np.int64)
    np.maximum.at(last_row, pair, np.arange(len(pair)))
    return grade[last_row]


def _mean_grades(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return the mean of each pair's grades: (n,)."""
    return np.bincount(pair, grade, n) / np.bincount(pair, minlength=n)


def _majority_grades(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's most frequent grade, the highest of equally frequent grades: (n,)."""
    order = np.lexsort((grade, pair))
    first_rows = np.flatnonzero(mark_changes(pair[order], grade[order]))
    counts = np.diff(np.append(first_rows, len(order)))
    pair_of_grade, distinct_grade = pair[order[first_rows]], grade[order[first_rows]]
    order_by_count = np.lexsort((distinct_grade, counts, pair_of_grade))
    majority_grade = np.empty(n)
    # The last of a pair is the most frequent.
    majority_grade[pair_of_grade[order_by_count]] = distinct_grade[order_by_count]
    return majority_grade


def select_judgments(
    judgments: Judgments, query: Ints, rows: Ints, *, keep_empty: bool = False
) -> Judgments:
    """Return the judgments at `rows`; queries without a row are left out, unless `keep_empty`.

    `query` (n_judgments,) has the position of each row's query in `query_ids`; `rows` are in the
    order of the queries.
    """
    _refuse_grouped_judgments(judgments)
    codes = np.arange(len(judgments.query_ids)) if keep_empty else np.unique(query[rows])
    counts = np.bincount(query[rows], minlength=len(judgments.query_ids))[codes]
    docs = judgments.documents
    if not isinstance(docs, Ids):
        docs = Ids.of_texts([doc for query_docs in docs for doc in query_docs])
    return replace(
        judgments,
        query_ids=[judgments.query_ids[code] for code in codes.tolist()],
        starts=np.append(0, np.cumsum(counts)),
        documents=docs.take(rows).compact(),
        grade=judgments.grade[rows],
        columns={role: column[rows] for role, column in judgments.columns.items()},
        judges=judgments.judges.take(rows),
    )


def _refuse_unmergeable(judgments: Judgments) -> None:
    """Raise OptionError for judgments in groups, or with a column that others do not have."""
    _refuse_grouped_judgments(judgments)
    if judgments.columns:
        raise OptionError(
            f"judgments with a column {escape_unprintable(sorted(judgments.columns)[0])}, of "
            f"{describe_sources(judgments.sources) or 'the qrels'}, are not merged: others do "
            "not have it"
        )


def _refuse_grouped_judgments(judgments: Judgments) -> None:
    """Raise OptionError for judgments in groups, whose documents may have several levels."""
    if judgments.groups is not None:
        raise OptionError("judgments in groups, as by subtopic, are not merged or drawn one by one")
