"""Judgments made of judgments: several merged, and some drawn by chance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from cranfield.arrays.ids import IdList, Ids, Places, decode, ids_of
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import changes
from cranfield.arrays.slots import numbered
from cranfield.data.relevance import Judgments
from cranfield.errors import InputError, OptionError, printable
from cranfield.formats.block import LeftOut
from cranfield.formats.source import named
from cranfield.formats.values import graded
from cranfield.notes import Note
from cranfield.render.numbers import number_of, plain

#: What becomes of a document that several judgments give different grades.
DifferingGrades = Literal["refuse", "latest", "highest", "majority"]
WHICH_COUNTS = {
    "latest": "the grade of the last",
    "highest": "the highest grade",
    "majority": "the most frequent grade, the higher of two as frequent",
}


def merged_grades(
    several: Sequence[Judgments], docs: Sequence[Ids], query: Sequence[Ints], how: DifferingGrades
) -> Judgments:
    """Return the judgments of all, each document of a query once; `docs` and `query` have rows."""
    for one in several:
        _refuse_groups(one)
        if one.columns:
            raise OptionError(
                f"judgments with a column {printable(sorted(one.columns)[0])}, of "
                f"{named(one.sources) or 'the qrels'}, are not merged: others do not have it"
            )
    ids = [ids_of(one.query_ids) for one in several]
    every = Ids.joined(ids)
    queries = every.take(every.numbers().argsort(kind="stable"))
    queries = queries.take(queries.begins()).compact()
    places = Places(queries)
    group = np.concatenate([places.of(its)[rows] for its, rows in zip(ids, query, strict=True)])
    all_docs = Ids.joined(list(docs))
    grade = np.concatenate([np.asarray(one.grade, np.float64) for one in several])
    first, pair = numbered(group, all_docs)
    n = len(first)
    first = np.full(n, len(pair))
    np.minimum.at(first, pair, np.arange(len(pair)))
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, pair, grade)
    np.maximum.at(high, pair, grade)
    differ = np.flatnonzero(low != high)
    if len(differ) and how == "refuse":
        row = int(first[differ].min())
        which = pair[row]
        given = ", ".join(map(plain, grade[pair == which].tolist()))
        raise InputError(
            f"query {decode(queries[int(group[row])])!r:.80}, document "
            f"{decode(all_docs[row])!r:.80}: has the grades {given}, and so differ the grades of "
            f"{number_of(len(differ), 'document')}",
            hint="differing= says which counts: 'latest', 'highest' or 'majority' (--differing).",
        )
    chosen = {"latest": _latest, "majority": _majority}.get(how)
    value = high if chosen is None else chosen(pair, grade, n)
    order = np.lexsort((first, group[first]))
    rows = first[order]
    counts = np.bincount(group[rows], minlength=len(queries))
    found = graded(value[order])
    assert found is not None  # noqa: S101 - the grades of judgments
    text = f"{number_of(len(several), 'qrels', 'qrels')} merged: {number_of(n, 'judgment')}"
    if len(differ):
        text += f", of which {len(differ):,} had different grades: {WHICH_COUNTS[how]} counts"
    note = Note("merged", "info", f"{text}.", count=len(differ))
    return Judgments(
        IdList(queries),
        np.append(0, np.cumsum(counts)),
        all_docs.take(rows).compact(),
        found,
        top_of_all=_top(several),
        form=text,
        sources=[source for one in several for source in one.sources],
        left_out=sum((one.left_out for one in several), LeftOut()),
        repeated=sum((one.repeated for one in several), LeftOut()),
        notes=(*(note for one in several for note in one.notes), note),
        graded=any(one.graded for one in several),
    )


def _top(several: Sequence[Judgments]) -> float | None:
    """Return the highest grade that was stated, if one was; None: that which occurs."""
    stated = [one.top_of_all for one in several if one.top_of_all is not None]
    highest = [float(np.max(one.grade, initial=0)) for one in several]
    return max([*stated, *highest]) if stated else None


def _latest(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's last grade: (n,)."""
    last = np.zeros(n, np.int64)
    np.maximum.at(last, pair, np.arange(len(pair)))
    return grade[last]


def _majority(pair: Ints, grade: Floats, n: int) -> Floats:
    """Return each pair's most frequent grade, the highest of those: (n,)."""
    order = np.lexsort((grade, pair))
    new = np.flatnonzero(changes(pair[order], grade[order]))
    counts = np.diff(np.append(new, len(order)))
    its_pair, its_grade = pair[order[new]], grade[order[new]]
    best = np.lexsort((its_grade, counts, its_pair))
    found = np.empty(n)
    found[its_pair[best]] = its_grade[best]  # the last of a pair is the most frequent
    return found


def drawn_rows(
    judged: Judgments, query: Ints, rows: Ints, *, keep_empty: bool = False
) -> Judgments:
    """Return some of the judgments; queries without any are not there, unless these are kept."""
    _refuse_groups(judged)
    codes = np.arange(len(judged.query_ids)) if keep_empty else np.unique(query[rows])
    counts = np.bincount(query[rows], minlength=len(judged.query_ids))[codes]
    docs = judged.documents
    if not isinstance(docs, Ids):
        docs = Ids.of_texts([doc for its in docs for doc in its])
    return replace(
        judged,
        query_ids=[judged.query_ids[code] for code in codes.tolist()],
        starts=np.append(0, np.cumsum(counts)),
        documents=docs.take(rows).compact(),
        grade=judged.grade[rows],
        columns={role: column[rows] for role, column in judged.columns.items()},
    )


def _refuse_groups(judged: Judgments) -> None:
    """Refuse judgments whose documents have more than one grade."""
    if judged.groups is not None:
        raise OptionError("judgments in groups, as by subtopic, are not merged or drawn one by one")
