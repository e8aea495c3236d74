"""Judgments: the flat columns of a Qrels, from a dict, from groups or from blocks of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words
from cranfield.arrays.grades import narrowed, widened
from cranfield.arrays.ids import IdList, Ids, encode, some_of
from cranfield.arrays.memory import give_back
from cranfield.arrays.ranked import Ints, Numbers
from cranfield.arrays.rows import spans
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, grouped, refused, without
from cranfield.data.preferences import Levels
from cranfield.errors import InputError
from cranfield.formats.block import (
    NONE_LEFT_OUT,
    Block,
    Duplicates,
    Errors,
    LeftOut,
    ListsOf,
    Load,
    Role,
    Rows,
)
from cranfield.formats.columns import in_order
from cranfield.formats.groups import Groups, groups_of_rows
from cranfield.formats.objects import NestedRows
from cranfield.formats.source import Source, named
from cranfield.formats.values import graded, grades_of
from cranfield.lazy import MOST_KEPT
from cranfield.notes import Note


@dataclass(eq=False, repr=False)
class Judgments:
    """Judged documents in flat columns, query after query, and what is known of them.

    Never changed. (A frozen dataclass takes 2 us more to make: small evaluations would notice.)
    """

    query_ids: Sequence[str]  # in the order of their bytes
    starts: Ints  # (n_queries + 1,) the row where each query's judgments begin
    documents: Ids | list[list[str]]  # as they came: of each row, or each query's
    # (rows,) in their one form (`graded`), maybe `narrowed`; of judgments in groups, the best level
    grade: Numbers
    # Of judgments that are a sample: the columns "stratum" and "probability", as they came. Of
    # spans, whose documents have their names (see `spans`): "start" and "end".
    columns: Mapping[Role, Any] = field(default_factory=dict)
    groups: Groups | None = None  # judgments in groups, as they were given
    by_group: Levels | None = None  # and in columns
    top_of_all: float | None = None  # the highest grade of the collection; None: that of these
    form: str = "dict of dicts"  # what the data were understood to be
    lists_of: ListsOf | None = None  # if they came as lists alone: see `Rows.lists_of`
    sources: Sequence[Source] = ()  # the files that they were read from
    is_text: bool = False  # whether these are lines of text
    left_out: LeftOut = NONE_LEFT_OUT  # by errors="skip"
    repeated: LeftOut = NONE_LEFT_OUT  # rows whose document another row has, too
    duplicates: Duplicates = "refuse"  # which of these were kept
    chunks: tuple[int, int] | None = None  # how many became how many documents, if any did
    notes: Sequence[Note] = ()  # what every result of them says
    listed: bool = False  # each query's relevant documents came as one list
    graded: bool = True  # False: documents came without grades, and all have grade 1

    def only(self, codes: Ints, top: float) -> "Judgments":
        """Return the judgments of some queries, of a collection with this top grade."""
        ids = some_of(self.query_ids, codes)
        if self.groups is not None:
            some = _from_groups(self.groups.of(ids))
            some.grade = some.grade.astype(widened(self.grade).dtype)  # of the collection
            some = replace(some, top_of_all=top, left_out=self.left_out, notes=self.notes)
            return replace(some, duplicates=self.duplicates)
        begins = self.starts[codes]
        lengths = self.starts[codes + 1] - begins
        starts = np.array([*accumulate(lengths.tolist(), initial=0)])
        rows = spans(begins, lengths)
        docs = self.documents
        return replace(
            self,
            query_ids=ids,
            starts=starts,
            documents=docs.take(rows) if isinstance(docs, Ids) else [docs[i] for i in codes],
            grade=self.grade[rows],
            columns={role: column[rows] for role, column in self.columns.items()},
            top_of_all=top,
        )


def judgments_of(rows: Rows, errors: Errors, duplicates: Duplicates = "refuse") -> Judgments:
    """Return the judgments that some rows hold; InputError if there are none.

    A document has one grade for a query: of several, `duplicates` says which one counts.
    """
    if isinstance(rows, NestedRows):
        return _from_dict(rows)
    if isinstance(rows, Groups):
        return _from_groups(rows)
    if "group" in rows.numbers:
        groups = _subtopics(rows, errors, duplicates)
        return replace(_from_groups(groups), duplicates=duplicates)
    return _from_blocks(rows, errors, duplicates)


def _from_dict(rows: NestedRows) -> Judgments:
    data = rows.data
    if not data:
        raise InputError("the qrels: hold no query")
    query_ids = sorted(data, key=encode)
    lists = [list(data[query]) for query in query_ids]
    grades = grades_of(chain.from_iterable(data[query].values() for query in query_ids))
    if grades is None:
        query, doc, grade = next(
            (query, doc, grade)
            for query in query_ids
            for doc, grade in data[query].items()
            if grades_of([grade]) is None
        )
        raise InputError(
            f"the qrels: query {query!r}, document {doc!r}: "
            f"expected a number as the grade, got {grade!r:.80}"
        )
    starts = np.array([*accumulate(map(len, lists), initial=0)])
    how: dict[str, Any] = {"form": rows.form, "left_out": rows.left_out, "graded": rows.graded}
    return Judgments(query_ids, starts, lists, grades, **how, lists_of=rows.lists_of)


def _from_groups(groups: Groups) -> Judgments:
    data, weights = groups.groups, groups.weights
    if not data:
        if not groups.sources:
            raise InputError("the qrels: hold no query")
        raise no_judgment(named(groups.sources), groups.left_out)
    query_ids = sorted(data, key=encode)
    lists: list[list[str]] = []
    grades: list[float] = []
    codes: list[int] = []  # the query of each group
    names: list[str] = []
    rows: list[tuple[int, int, int, float]] = []
    for code, query in enumerate(query_ids):
        best: dict[str, float] = {}
        for part in chain.from_iterable(data[query].values()):
            for doc, level in part.items():
                best[doc] = max(level, best.get(doc, level))
        docs = sorted(best, key=encode)
        number = {doc: len(grades) + i for i, doc in enumerate(docs)}
        for name in sorted(data[query], key=encode):
            for subgroup, part in enumerate(data[query][name]):
                group = len(codes)
                rows += [(group, subgroup, number[doc], level) for doc, level in part.items()]
            codes.append(code)
            names.append(name)
        lists.append(docs)
        grades += [best[doc] for doc in docs]
    whole = np.array([numbers for *numbers, _ in rows]).T
    levels = np.array([level for *_, level in rows]) * 1.0
    grade = graded(np.array(grades, np.float64))
    assert grade is not None  # noqa: S101 - levels were checked as they were read
    of_query = np.array(codes)
    shares = None
    if weights is not None:
        of = zip(codes, names, strict=True)
        shares = np.array([weights[query_ids[code]][name] for code, name in of])
        shares = shares / np.bincount(of_query, shares)[of_query]
    return Judgments(
        query_ids,
        np.cumsum([0, *map(len, lists)]),
        lists,
        grade,
        groups=groups,
        by_group=Levels(of_query, whole[0], whole[1], whole[2], levels, names, shares),
        form=groups.form,
        sources=groups.sources,
        is_text=groups.is_text,
        left_out=groups.left_out,
        repeated=groups.repeated,
    )


def _subtopics(rows: Rows, errors: Errors, duplicates: Duplicates) -> Groups:
    """Return the judgments by subtopic of a table."""
    sampled = in_order(rows.numbers & {"stratum", "probability", "start", "end"})
    if sampled:
        raise InputError(
            f"the qrels have subtopics and a column {sampled[0]}: judgments by subtopic are not "
            "taken for a sample, nor by span; leave one of the two columns out",
            source=named(rows.sources),
        )
    try:
        groups = groups_of_rows(rows, errors, duplicates)
    except InputError as error:
        if error.source is not None:
            raise
        raise error.at(named(rows.sources)) from None
    if not groups.groups:
        raise no_judgment(named(rows.sources), groups.left_out)
    return groups


def _from_blocks(rows: Rows, errors: Errors, duplicates: Duplicates) -> Judgments:
    has_grades = "grade" in rows.numbers
    read = partial(_whole_queries, rows, errors, duplicates)
    try:
        parts, left_out, repeated, empty = read(apart=False)
    except _ApartError:
        parts, left_out, repeated, empty = read(apart=True)
    if not parts:
        raise no_judgment(named(rows.sources), left_out)
    if repeated.count and duplicates not in ("first", "best"):
        raise refused_judgments(repeated, rows, duplicates)
    queries = _with_empty(Ids.joined([part.queries for part in parts]), empty)
    counts = np.concatenate([part.counts for part in parts])
    counts = np.append(counts, np.zeros(len(queries) - len(counts), np.int64))  # of the empty, too
    docs = Ids.joined([part.docs for part in parts])
    columns = {
        role: np.concatenate([part.columns[role] for part in parts]) for role in parts[0].columns
    }
    parts.clear()
    order = queries.numbers().argsort()
    if (np.diff(order) < 0).any():
        begins, counts = (np.cumsum(counts) - counts)[order], counts[order]
        at = spans(begins, counts)
        queries, docs = queries.take(order).compact(), docs.take(at).compact()
        columns = {role: column[at] for role, column in columns.items()}
    if len(docs) > MOST_KEPT:
        give_back()
    return Judgments(
        IdList(queries),
        np.append(0, np.cumsum(counts)),
        docs,
        narrowed(columns.pop("grade")),
        columns,
        form=rows.form,
        lists_of=rows.lists_of,
        sources=rows.sources,
        is_text=rows.is_text,
        left_out=left_out,
        repeated=repeated,
        duplicates=duplicates,
        graded=has_grades and rows.graded,
        listed=bool(rows.lists),
        notes=rows.notes,
    )


class _Part(NamedTuple):
    """The judgments of some queries, in little memory."""

    queries: Ids
    counts: Ints  # (queries,) how many rows each has
    docs: Ids
    columns: dict[Role, Numbers]


class _ApartError(Exception):
    """A query came back after others."""


def _whole_queries(
    rows: Rows, errors: Errors, duplicates: Duplicates, *, apart: bool
) -> tuple[list[_Part], LeftOut, LeftOut, list[bytes]]:
    """Return the rows by query, those left out, those that repeat a document, and empty queries.

    Raises _ApartError if the rows of a query are not in one piece; if they are `apart`, they are
    put together first.
    """
    kept = Judging(duplicates="best" if duplicates == "best" else "first")
    loads = rows.blocks(in_order(rows.numbers), errors)
    checked: Iterator[Load] = (partial(_named, load, errors) for load in loads)
    if apart:
        from cranfield.data.regroup import regrouped

        checked = regrouped(checked)
    parts: list[_Part] = []
    hashes: list[Words] = []
    left_out, repeated, empty = LeftOut(), LeftOut(), list[bytes]()
    for load in checked:
        block = load()
        left_out += block.left_out
        empty += block.empty
        if not len(block):
            continue
        by_query = grouped(block, kept)
        repeated += by_query.repeated
        if by_query.repeated.count and duplicates == "refuse":
            from cranfield.formats.systems import refuse_mixture

            refuse_mixture(rows)
        hashes.append(by_query.queries.hash())
        if not apart and _some_alike(hashes[-1:]):
            raise _ApartError
        parts.append(_part(by_query))
    if not apart and _some_alike(hashes):
        raise _ApartError
    return parts, left_out, repeated, empty


def usable(load: Load, errors: Errors) -> Block:
    """Return a block of which every row can be used."""
    block = _with_chances(load(), errors)
    if {"start", "end"} <= block.columns.keys():
        from cranfield.data.spans import checked_spans

        block = checked_spans(block, errors)
    return block


def _named(load: Load, errors: Errors) -> Block:
    """Return a block of which every row can be used; a span is a document of its own."""
    block = usable(load, errors)
    if {"start", "end"} <= block.columns.keys():
        from cranfield.data.spans import named_spans

        block = named_spans(block)
    return block


def _some_alike(hashes: Sequence[Words]) -> bool:
    ordered = np.sort(np.concatenate([np.zeros(0, np.uint64), *hashes]))
    return bool((ordered[1:] == ordered[:-1]).any())


def _part(by_query: Grouped) -> _Part:
    block = by_query.block
    columns = dict(block.columns)
    ones = np.ones(len(block), np.int8)
    grade = graded(columns["grade"]) if "grade" in columns else ones
    assert grade is not None  # noqa: S101 - each was checked as it was read
    columns["grade"] = narrowed(grade)
    counts = np.diff(by_query.starts)
    return _Part(by_query.queries.compact(), counts, block.doc.compact(), columns)


def _with_empty(queries: Ids, empty: Sequence[bytes]) -> Ids:
    """Return the queries, and of those that have no rows the ones that are not among them."""
    if not empty:
        return queries
    known = set(queries.to_list())
    return Ids.joined([queries, Ids.of([one for one in dict.fromkeys(empty) if one not in known])])


def refused_judgments(repeated: LeftOut, rows: Rows, duplicates: Duplicates) -> InputError:
    """Return the error of judgments whose document another row has: see `refused`."""
    alike = rows.numbers.isdisjoint({"grade", "start"})
    twice = refused(repeated)
    hints = twice.hint, _ONE_GRADE * (duplicates != "refuse"), _ALIKE * alike, rows.twice
    return twice.but(hint=" ".join(filter(None, hints)))


_ALIKE = "Without grades such rows are alike: 'first' and 'best' count the document once."
_ONE_GRADE = "'once', 'each' and 'joined' are for runs: a judged document has one grade."


NO_JUDGMENT = "no judgment"  # the kind of that error


def no_judgment(source: str | None, left_out: LeftOut) -> InputError:
    """Return the error of rows that hold no judgment, or none that could be used."""
    hint = str(left_out.first()) if left_out.count else None
    return InputError("the qrels: hold no judgment", source=source, hint=hint, kind=NO_JUDGMENT)


_LEAST_CHANCE = 1e-9  # of being judged, so that its inverse can be added up


def _with_chances(block: Block, errors: Errors) -> Block:
    """Refuse, or leave out, rows whose probability of being judged is none."""
    for role in ("probability", "query_probability"):
        chance = block.columns.get(role)
        if chance is None:
            continue
        good = (chance >= _LEAST_CHANCE) & (chance <= 1)
        if block.value is not None:
            good |= block.value < 0  # which nobody judged
        wrong = np.flatnonzero(~good)
        if len(wrong):
            block = _without_chance(block, wrong, chance, errors)
    return block


def _without_chance(block: Block, wrong: Ints, chance: Numbers, errors: Errors) -> Block:
    row = int(wrong[0])
    problem = f"expected a probability above 0, up to 1, got {chance[row].item()!r}"
    return without(block, wrong, errors, "number", partial(block.error, row, problem))
