"""Judgments of two or more assessors, matched by document, and how far two of them agree."""

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
    """Every document that either qrels judges for a query of both, or cells of a matrix: columns.

    A grade is 0 where `is_in_a` or `is_in_b` is false.

    >>> two = match_two(Qrels({"q": {"d1": 2, "d2": 0}}), Qrels({"q": {"d1": 1, "d9": 1}}))
    >>> two.is_shared, two.grade_a[two.is_shared], two.grade_b[two.is_shared]
    (array([ True, False, False]), array([2]), array([1]))
    """

    query_ids: Sequence[str]  # of both qrels, in the order of their bytes
    query: Ints  # (rows,) non-decreasing, the position in query_ids
    grade_a: Ints  # (rows,) grades
    grade_b: Ints  # (rows,)
    is_in_a: Bools  # (rows,) whether the document is judged there
    is_in_b: Bools  # (rows,)
    weight: Ints | Floats  # (rows,) how many documents a row stands for
    n_queries_only_a: int
    n_queries_only_b: int

    @property
    def is_shared(self) -> Bools:
        """Which documents are judged in both: (rows,)."""
        is_shared: Bools = self.is_in_a & self.is_in_b
        return is_shared


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
    for place, one_qrels in enumerate(qrels, 1):
        if one_qrels.has_groups:
            description = (
                f"the {_ORDINALS[place - 1]} qrels" if place <= len(_ORDINALS) else f"qrels {place}"
            )
            raise InputError(
                f"{description} are judgments in groups: agreement takes one grade for each "
                "document"
            )
        one_qrels.check_whole_grades(*WHOLE_GRADES)
    query_ids = sorted(set().union(*(one_qrels.query_ids for one_qrels in qrels)), key=encode)
    position_of_query = {query: i for i, query in enumerate(query_ids)}
    queries = [
        np.array([*map(position_of_query.get, source.query_ids)], np.int64)[source.query]
        for source in qrels
    ]
    query = np.concatenate(queries)
    doc = Ids.concatenate([source.docs for source in qrels]).sort_keys()
    order = np.lexsort((doc, query))
    query, doc = query[order], doc[order]
    begins_doc = np.append(True, (query[1:] != query[:-1]) | (doc[1:] != doc[:-1]))[: len(order)]
    assessor = np.repeat(np.arange(len(qrels)), list(map(len, qrels)))[order]
    grade = np.concatenate([source.grade for source in qrels])[order]
    return MatchedJudgments(
        query_ids, query[begins_doc], np.cumsum(begins_doc) - 1, assessor, grade
    )


def match_two(a: Qrels, b: Qrels) -> TwoJudgments:
    """Match two qrels by query and document.

    Raises what `match_judgments` raises, and NothingSharedError if no query, or no document of a
    query, is judged in both.
    """
    codes = b.find_codes(encode_ids(a.query_ids))
    shared_ids = select_texts(a.query_ids, np.flatnonzero(codes >= 0))
    if not len(shared_ids):
        raise NothingSharedError(
            f"the two qrels share no query: the first has {a.query_ids[0]!r}, the second "
            f"{b.query_ids[0]!r}",
            hint="Check that both name queries in the same way.",
        )
    pair = match_judgments([a.select_queries(shared_ids), b.select_queries(shared_ids)])
    (is_in_a, grade_a), (is_in_b, grade_b) = (
        _grade_column(pair.row[rows], pair.grade[rows], len(pair.query))
        for rows in (pair.assessor == 0, pair.assessor == 1)
    )
    if not (is_in_a & is_in_b).any():
        raise NothingSharedError(
            f"the two qrels share {len(shared_ids):,} of their queries, but judge no document of "
            "these both",
            hint="Check that both name documents in the same way.",
        )
    return TwoJudgments(
        pair.query_ids,
        pair.query,
        grade_a,
        grade_b,
        is_in_a,
        is_in_b,
        np.ones_like(pair.query),
        len(a.query_ids) - len(shared_ids),
        len(b.query_ids) - len(shared_ids),
    )


def _grade_column(rows: Ints, grade: Ints, n: int) -> tuple[Bools, Ints]:
    """Return which of n rows have a grade, and the grades, 0 elsewhere: (n,) each."""
    has_grade, grade_column = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    has_grade[rows], grade_column[rows] = True, grade
    return has_grade, grade_column


@dataclass(frozen=True)
class PairAgreement:
    """How far two qrels agree, on one query or on all together.

    Of the documents judged in both: `agreement` is the share on which A and B agree whether they
    are relevant, `kappa` Cohen's kappa of relevance, `same_grade` the share with the same grade,
    `weighted_kappa` kappa of grades with quadratic weights, and `overlap` the number that both call
    relevant by the number that either does. `overlap_all` is the overlap of all documents that
    either judges, where an unjudged document is not relevant. None: no value, as nothing is judged
    or relevant, or, of kappa, as chance alone would give the agreement.
    """

    both: int | float  # documents judged in both
    only_a: int  # documents judged in A only
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
    """Return judgments of two assessors with a row for each cell of a confusion matrix.

    `matrix` is (n_grades, n_grades): rows are A's grades, columns B's.

    >>> judgments = judgments_from_matrix([1, 0], np.array([[20, 5], [10, 15]]))
    >>> measure_agreement(judgments, 1, pooled=True)[0].kappa
    0.4
    """
    grade_a, grade_b = (grid.ravel() for grid in np.meshgrid(grades, grades, indexing="ij"))
    query, is_judged = np.zeros_like(grade_a), np.ones(len(grade_a), np.bool_)
    weight = matrix.ravel() * 1.0
    return TwoJudgments([""], query, grade_a, grade_b, is_judged, is_judged, weight, 0, 0)


def measure_agreement(judgments: TwoJudgments, rel: int, *, pooled: bool) -> list[PairAgreement]:
    """Return the agreement on each query, or on all documents of all queries together."""
    n, weight = 1 if pooled else len(judgments.query_ids), judgments.weight
    query = np.zeros_like(judgments.query) if pooled else judgments.query
    in_a, in_b, is_shared = judgments.is_in_a, judgments.is_in_b, judgments.is_shared
    grade_a, grade_b = judgments.grade_a, judgments.grade_b

    def count(rows: Bools) -> Ints | Floats:
        """Return how many documents some rows stand for: (n,)."""
        if pooled:
            return np.array([weight[rows].sum()])
        return np.bincount(query[rows], weight[rows], n).astype(weight.dtype)

    def kappa(a: Ints | Bools, b: Ints | Bools) -> list[float | None]:
        """Return the kappa of two columns (rows,) on the documents judged in both: (n,)."""
        shared_a, shared_b = a[is_shared] * 1.0, b[is_shared] * 1.0
        return _compute_kappa(query[is_shared], shared_a, shared_b, n, weight[is_shared])

    relevant_a, relevant_b = in_a & (grade_a >= rel), in_b & (grade_b >= rel)
    either = relevant_a | relevant_b
    n_shared = count(is_shared)
    columns = [
        n_shared.tolist(),
        *(count(rows).astype(np.int64).tolist() for rows in (in_a > in_b, in_b > in_a)),
        *(count(rows).tolist() for rows in (relevant_a, relevant_b)),
        _divide(count(is_shared & (relevant_a == relevant_b)), n_shared),
        kappa(relevant_a, relevant_b),
        _divide(count(is_shared & (grade_a == grade_b)), n_shared),
        kappa(grade_a, grade_b),
        _divide(count(is_shared & relevant_a & relevant_b), count(is_shared & either)),
        _divide(count(relevant_a & relevant_b), count(either)),
    ]
    return [PairAgreement(*row) for row in zip(*columns, strict=True)]


def count_confusion(judgments: TwoJudgments) -> tuple[list[int], Ints]:
    """Return the grades and the confusion matrix: (n_grades, n_grades), rows are A's grades."""
    is_shared = judgments.is_shared
    grade_a, grade_b = judgments.grade_a[is_shared], judgments.grade_b[is_shared]
    grades = np.unique(np.concatenate((grade_a, grade_b)))
    n = len(grades)
    cells = np.searchsorted(grades, grade_a) * n + np.searchsorted(grades, grade_b)
    return grades.tolist(), np.bincount(cells, minlength=n * n).reshape(n, n)


def _divide(numerators: Floats, denominators: Floats) -> list[float | None]:
    """Return the quotients as a list; None where the denominator is 0."""
    pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
    return [numerator / denominator if denominator else None for numerator, denominator in pairs]


def _compute_kappa(
    query: Ints, a: Floats, b: Floats, n: int, weight: Ints | Floats
) -> list[float | None]:
    """Return each query's kappa with quadratic weights; of grades 0 and 1, it is Cohen's kappa.

    1 - (the mean squared difference) / (that of each `a` with each `b`), as sums of whole numbers:
    Cohen, Educational and Psychological Measurement 1960; Psychological Bulletin 1968.
    """

    def total(values: Floats) -> Floats:
        return np.bincount(query, weight * values, n)

    count = total(np.ones(len(a)))
    by_chance = count * total(a * a) + count * total(b * b) - 2 * total(a) * total(b)
    return _divide(by_chance - count * total((a - b) ** 2), by_chance)
