"""Two or more assessors: what their qrels say of the same documents, and how far they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, encode, encode_ids, select_texts
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError, NothingSharedError


@dataclass(frozen=True, eq=False)
class TwoJudgments:
    """Every document that either qrels judges for a query of both: flat columns.

    A grade is 0 where `in_a` or `in_b` is false: such a document has none.

    >>> two = two_judgments(Qrels({"q": {"d1": 2, "d2": 0}}), Qrels({"q": {"d1": 1, "d9": 1}}))
    >>> two.both, two.a[two.both], two.b[two.both]
    (array([ True, False, False]), array([2]), array([1]))
    """

    query_ids: Sequence[str]  # of both qrels, in the order of their bytes
    query: Ints  # (rows,) non-decreasing, the position in query_ids
    grade_a: Ints  # (rows,) grades
    grade_b: Ints  # (rows,)
    is_in_a: Bools  # (rows,) whether the document is judged there
    is_in_b: Bools  # (rows,)
    weight: Ints | Floats  # (rows,) how many documents a row counts for
    n_queries_only_a: int
    n_queries_only_b: int

    @property
    def is_shared(self) -> Bools:
        """Which documents are judged in both: (rows,)."""
        found: Bools = self.is_in_a & self.is_in_b
        return found


#: Why agreement refuses fractions, and what to do.
WHOLE_GRADES = (
    "agreement counts how often each grade of one assessor met each of the other",
    "Make whole grades of them first, as in round(grade), or 1 if grade >= 0.5 else 0.",
)


_ORDINALS = ("first", "second", "third")


class MatchedJudgments(NamedTuple):
    """Several qrels' judgments, by the documents that they judge.

    A document of a query is a row, however many judge it: `query` (rows,) is its position in
    `query_ids`, non-decreasing. Each judgment has the `row` of its document, the `assessor`, from
    0, and the `grade`: (judgments,), in the order of the rows.
    """

    query_ids: Sequence[str]  # of all, in the order of their bytes
    query: Ints
    row: Ints
    assessor: Ints
    grade: Ints


def match_judgments(qrels: Sequence[Qrels]) -> MatchedJudgments:
    """Match several qrels by query and document.

    Raises InputError for judgments in groups, or grades that are not whole.
    """
    for place, one in enumerate(qrels, 1):
        if one.has_groups:
            which = f"the {_ORDINALS[place - 1]} qrels" if place <= len(_ORDINALS) else f"qrels {place}"
            raise InputError(
                f"{which} are judgments in groups: agreement takes one grade for each document"
            )
        one.check_whole_grades(*WHOLE_GRADES)
    query_ids = sorted(set().union(*(one.query_ids for one in qrels)), key=encode)
    place_of = {query: i for i, query in enumerate(query_ids)}
    queries = [np.array([*map(place_of.get, one.query_ids)], np.int64)[one.query] for one in qrels]
    doc, query = Ids.concatenate([one.docs for one in qrels]).sort_keys(), np.concatenate(queries)
    order = np.lexsort((doc, query))
    query, doc = query[order], doc[order]
    begins = np.append(True, (query[1:] != query[:-1]) | (doc[1:] != doc[:-1]))[: len(order)]
    assessor = np.repeat(np.arange(len(qrels)), list(map(len, qrels)))[order]
    grade = np.concatenate([one.grade for one in qrels])[order]
    return MatchedJudgments(query_ids, query[begins], np.cumsum(begins) - 1, assessor, grade)


def match_two(a: Qrels, b: Qrels) -> TwoJudgments:
    """Match two qrels by query and document.

    Raises what `matched` raises, and NothingSharedError if no query, or no document of a query, is
    judged in both.
    """
    codes = b.find_codes(encode_ids(a.query_ids))
    shared = select_texts(a.query_ids, np.flatnonzero(codes >= 0))
    if not len(shared):
        raise NothingSharedError(
            f"the two qrels share no query: the first has {a.query_ids[0]!r}, the second "
            f"{b.query_ids[0]!r}",
            hint="Check that both name queries in the same way.",
        )
    both = match_judgments([a.select_queries(shared), b.select_queries(shared)])
    (in_a, ours), (in_b, theirs) = (
        _grade_column(both.row[rows], both.grade[rows], len(both.query))
        for rows in (both.assessor == 0, both.assessor == 1)
    )
    if not (in_a & in_b).any():
        raise NothingSharedError(
            f"the two qrels share {len(shared):,} of their queries, but judge no document of these "
            "both",
            hint="Check that both name documents in the same way.",
        )
    return TwoJudgments(
        both.query_ids,
        both.query,
        ours,
        theirs,
        in_a,
        in_b,
        np.ones_like(both.query),
        len(a.query_ids) - len(shared),
        len(b.query_ids) - len(shared),
    )


def _grade_column(rows: Ints, grade: Ints, n: int) -> tuple[Bools, Ints]:
    """Return which of n rows have a grade, and it, 0 elsewhere."""
    there, column = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    there[rows], column[rows] = True, grade
    return there, column


@dataclass(frozen=True)
class PairAgreement:
    """How far two qrels agree, on one query or on all together.

    Of the documents judged in both: the share that both call relevant or both do not (`agreement`),
    Cohen's `kappa` of that, the share with the `same_grade`, kappa of grades with quadratic weights
    (`weighted_kappa`), and the `overlap` of the relevant ones, those that both call relevant by
    those that either does. `overlap_all` is that over all documents that either judges, one that is
    not judged being not relevant. None is what has no value: nothing judged or relevant, or, for
    kappa, an agreement that chance alone would give.
    """

    both: int | float  # documents judged in both
    only_a: int
    only_b: int
    relevant_a: int | float  # of those that a judges
    relevant_b: int | float
    agreement: float | None
    kappa: float | None
    same_grade: float | None
    weighted_kappa: float | None
    overlap: float | None
    overlap_all: float | None


def judgments_from_matrix(grades: Sequence[int], matrix: Floats) -> TwoJudgments:
    """Return what two assessors judge of whom a matrix says how often they give which grades.

    `matrix` is (n_grades, n_grades): rows are the first one's grades, columns the second's.

    >>> agreed(of_matrix([1, 0], np.array([[20, 5], [10, 15]])), 1, pooled=True)[0].kappa
    0.4
    """
    a, b = (one.ravel() for one in np.meshgrid(grades, grades, indexing="ij"))
    judged = np.ones(len(a), np.bool_)
    return TwoJudgments([""], np.zeros_like(a), a, b, judged, judged, matrix.ravel() * 1.0, 0, 0)


def measure_agreement(judgments: TwoJudgments, rel: int, *, pooled: bool) -> list[PairAgreement]:
    """Return the agreement on each query, or on all documents of all queries together."""
    n, both, weight = 1 if pooled else len(judgments.query_ids), judgments.is_shared, judgments.weight
    query = np.zeros_like(judgments.query) if pooled else judgments.query

    def count(rows: Bools) -> Ints | Floats:
        if pooled:
            return np.array([weight[rows].sum()])
        return np.bincount(query[rows], weight[rows], n).astype(weight.dtype)

    def kappa(a: Ints | Bools, b: Ints | Bools) -> list[float | None]:
        return _compute_kappa(query[both], a[both] * 1.0, b[both] * 1.0, n, weight[both])

    a, b = judgments.is_in_a & (judgments.grade_a >= rel), judgments.is_in_b & (judgments.grade_b >= rel)
    judged = count(both)
    columns = [
        judged.tolist(),
        *(
            count(one).astype(np.int64).tolist()
            for one in (judgments.is_in_a > judgments.is_in_b, judgments.is_in_b > judgments.is_in_a)
        ),
        *(count(one).tolist() for one in (a, b)),
        _divide(count(both & (a == b)), judged),
        kappa(a, b),
        _divide(count(both & (judgments.grade_a == judgments.grade_b)), judged),
        kappa(judgments.grade_a, judgments.grade_b),
        _divide(count(both & a & b), count(both & (a | b))),
        _divide(count(a & b), count(a | b)),
    ]
    return [PairAgreement(*row) for row in zip(*columns, strict=True)]


def count_confusion(judgments: TwoJudgments) -> tuple[list[int], Ints]:
    """Return the grades and how often they met: (n_grades, n_grades), rows of the first qrels."""
    a, b = judgments.grade_a[judgments.is_shared], judgments.grade_b[judgments.is_shared]
    grades = np.unique(np.concatenate((a, b)))
    n = len(grades)
    cells = np.searchsorted(grades, a) * n + np.searchsorted(grades, b)
    return grades.tolist(), np.bincount(cells, minlength=n * n).reshape(n, n)


def _divide(part: Floats, whole: Floats) -> list[float | None]:
    """Divide; None where there is nothing to divide by."""
    pairs = zip(part.tolist(), whole.tolist(), strict=True)
    return [numerator / denominator if denominator else None for numerator, denominator in pairs]


def _compute_kappa(query: Ints, a: Floats, b: Floats, n: int, weight: Ints | Floats) -> list[float | None]:
    """Return kappa with quadratic weights of each query's grades; of 0 and 1, Cohen's own.

    1 - (the mean squared difference) / (that of every a with every b), as sums of whole numbers:
    Cohen, Educational and Psychological Measurement 1960; Psychological Bulletin 1968.
    """

    def total(values: Floats) -> Floats:
        return np.bincount(query, weight * values, n)

    count = total(np.ones(len(a)))
    by_chance = count * total(a * a) + count * total(b * b) - 2 * total(a) * total(b)
    return _divide(by_chance - count * total((a - b) ** 2), by_chance)
