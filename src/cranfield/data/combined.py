"""Judgments made of judgments: several merged, and some drawn by chance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from cranfield.arrays.ids import IdList, Ids, IdIndex, decode, encode_ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import mark_changes
from cranfield.arrays.slots import number_pairs
from cranfield.data.relevance import Judgments
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.formats.block import FaultyRows
from cranfield.formats.source import describe_sources
from cranfield.formats.values import unify_grades
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_shortest

#: What becomes of a document that several judgments give different grades.
DifferingGrades = Literal["refuse", "latest", "highest", "majority"]
COUNTED_GRADE = {
    "latest": "the grade of the last",
    "highest": "the highest grade",
    "majority": "the most frequent grade, the higher of two as frequent",
}


def merge_judgments(
    judgments_list: Sequence[Judgments], doc_columns: Sequence[Ids], query_columns: Sequence[Ints], differing: DifferingGrades
) -> Judgments:
    """Return the judgments of all, each document of a query once; `docs` and `query` have rows."""
    for one in judgments_list:
        _refuse_grouped_judgments(one)
        if one.columns:
            raise OptionError(
                f"judgments with a column {escape_unprintable(sorted(one.columns)[0])}, of "
                f"{describe_sources(one.sources) or 'the qrels'}, are not merged: others do not have it"
            )
    ids = [encode_ids(one.query_ids) for one in judgments_list]
    every = Ids.concatenate(ids)
    queries = every.take(every.sort_keys().argsort(kind="stable"))
    queries = queries.take(queries.find_changes()).compact()
    places = IdIndex(queries)
    group = np.concatenate([places.find_rows(its)[rows] for its, rows in zip(ids, query_columns, strict=True)])
    all_docs = Ids.concatenate(list(doc_columns))
    grade = np.concatenate([np.asarray(one.grade, np.float64) for one in judgments_list])
    first, pair = number_pairs(group, all_docs)
    n = len(first)
    first = np.full(n, len(pair))
    np.minimum.at(first, pair, np.arange(len(pair)))
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, pair, grade)
    np.maximum.at(high, pair, grade)
    differ = np.flatnonzero(low != high)
    if len(differ) and differing == "refuse":
        row = int(first[differ].min())
        which = pair[row]
        given = ", ".join(map(format_shortest, grade[pair == which].tolist()))
        raise InputError(
            f"query {decode(queries[int(group[row])])!r:.80}, document "
            f"{decode(all_docs[row])!r:.80}: has the grades {given}, and so differ the grades of "
            f"{format_count(len(differ), 'document')}",
            hint="differing= says which counts: 'latest', 'highest' or 'majority' (--differing).",
        )
    chosen = {"latest": _latest_grades, "majority": _majority_grades}.get(differing)
    value = high if chosen is None else chosen(pair, grade, n)
    order = np.lexsort((first, group[first]))
    rows = first[order]
    counts = np.bincount(group[rows], minlength=len(queries))
    found = unify_grades(value[order])
    assert found is not None  # noqa: S101 - the grades of judgments
    text = f"{format_count(len(judgments_list), 'qrels', 'qrels')} merged: {format_count(n, 'judgment')}"
    if len(differ):
        text += f", of which {len(differ):,} had different grades: {COUNTED_GRADE[differing]} counts"
    note = Note("merged", "info", f"{text}.", count=len(differ))
    return Judgments(
        IdList(queries),
        np.append(0, np.cumsum(counts)),
        all_docs.take(rows).compact(),
        found,
        stated_top_grade=_stated_top_grade(judgments_list),
        description=text,
        sources=[source for one in judgments_list for source in one.sources],
        left_out=sum((one.left_out for one in judgments_list), FaultyRows()),
        repeats=sum((one.repeats for one in judgments_list), FaultyRows()),
        notes=(*(note for one in judgments_list for note in one.notes), note),
        graded=any(one.graded for one in judgments_list),
    )


def _stated_top_grade(several: Sequence[Judgments]) -> float | None:
    """Return the highest grade that was stated, if one was; None: that which occurs."""
    stated = [one.stated_top_grade for one in several if one.stated_top_grade is not None]
    highest = [float(np.max(one.grade, initial=0)) for one in several]
    return max([*stated, *highest]) if stated else None


def _latest_grades(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's last grade: (n,)."""
    last = np.zeros(n, np.int64)
    np.maximum.at(last, pair, np.arange(len(pair)))
    return grade[last]


def _majority_grades(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's most frequent grade, the highest of those: (n,)."""
    order = np.lexsort((grade, pair))
    new = np.flatnonzero(mark_changes(pair[order], grade[order]))
    counts = np.diff(np.append(new, len(order)))
    its_pair, its_grade = pair[order[new]], grade[order[new]]
    best = np.lexsort((its_grade, counts, its_pair))
    found = np.empty(n)
    found[its_pair[best]] = its_grade[best]  # the last of a pair is the most frequent
    return found


def select_judgments(
    judgments: Judgments, query: Ints, rows: Ints, *, keep_empty: bool = False
) -> Judgments:
    """Return some of the judgments; queries without any are not there, unless these are kept."""
    _refuse_grouped_judgments(judgments)
    codes = np.arange(len(judgments.query_ids)) if keep_empty else np.unique(query[rows])
    counts = np.bincount(query[rows], minlength=len(judgments.query_ids))[codes]
    docs = judgments.documents
    if not isinstance(docs, Ids):
        docs = Ids.of_texts([doc for its in docs for doc in its])
    return replace(
        judgments,
        query_ids=[judgments.query_ids[code] for code in codes.tolist()],
        starts=np.append(0, np.cumsum(counts)),
        documents=docs.take(rows).compact(),
        grade=judgments.grade[rows],
        columns={role: column[rows] for role, column in judgments.columns.items()},
    )


def _refuse_grouped_judgments(judged: Judgments) -> None:
    """Refuse judgments whose documents have more than one grade."""
    if judged.groups is not None:
        raise OptionError("judgments in groups, as by subtopic, are not merged or drawn one by one")
