"""Coefficients of agreement between two or more assessors, beyond chance, with intervals.

Each is a function of sums over documents, so that a query can be left out by subtraction. The
documents of a query are judged alike by more than chance, so that the interval comes from leaving
out one query after the other (the jackknife: Tukey 1958; Efron & Stein, Annals of Statistics 1981),
by Student's t. With one query, its documents are left out instead.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.qrels import Qrels
from cranfield.errors import NothingSharedError
from cranfield.extensions.labels.assessors.judgments import match_judgments
from cranfield.render.numbers import finite_or_none


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of agreement, and the ends of its interval; None where there are none.

    There is no interval where it has the same value whichever query is left out.
    """

    name: str
    of: str  # "relevance" (relevant or not) or "grade"
    left_out: str  # what the jackknife leaves out: "query", or "document" if there is one query
    documents: int  # judged by two or more assessors; of Fleiss' kappa, by all
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class GradeCounts:
    """How many assessors gave each grade to each document that an assessor judges."""

    n_assessors: int
    query: Ints  # (n_documents,) numbered from 0
    counts: Ints  # (n_documents, n_grades)
    grades: Sequence[int]

    @property
    def n_queries(self) -> int:
        """The number of queries with a document that two assessors or more judge."""
        return len(np.unique(self.query[self.counts.sum(axis=1) > 1]))

    def group_by_relevance(self, rel: int) -> "GradeCounts":
        """Return the counts of two grades: 0, and 1 for grades from `rel` on."""
        is_relevant = np.array(self.grades) >= rel
        count_columns = [
            self.counts[:, is_group].sum(axis=1) for is_group in (~is_relevant, is_relevant)
        ]
        return GradeCounts(self.n_assessors, self.query, np.stack(count_columns, axis=1), (0, 1))


def count_grades(qrels: Sequence[Qrels]) -> GradeCounts:
    """Count the grades of each document that one of several qrels judges.

    Raises what `match_judgments` raises, and NothingSharedError if no document is judged twice.
    """
    judgments = match_judgments(qrels)
    grades, code = np.unique(judgments.grade, return_inverse=True)
    counts = np.zeros((len(judgments.query), len(grades)), np.int64)
    np.add.at(counts, (judgments.row, code), 1)
    if counts.sum(axis=1).max(initial=0) < 2:
        raise NothingSharedError("no document of a query is judged in two of the qrels")
    _, query = np.unique(judgments.query, return_inverse=True)
    return GradeCounts(len(qrels), query, counts, grades.tolist())


class AgreementSums(NamedTuple):
    """Sums over each group of documents, or over all: the first axis is n groups or 1."""

    documents: Floats  # (n,) documents judged by two or more assessors
    pair_agreement: Floats  # (n,) of these, the share of pairs of assessors that agree
    judged: Floats  # (n,) documents judged by any assessor
    grade_shares: Floats  # (n, n_grades) the share of assessors that gave each grade
    full: Floats  # (n,) documents judged by all assessors
    pair_agreement_full: Floats
    grade_shares_full: Floats  # (n, n_grades)
    # Pairs of grades of two assessors, each by the number of other assessors: (n, grades, grades).
    grade_pairs: Floats

    @property
    def overall(self) -> "AgreementSums":
        """The sums over all groups."""
        return AgreementSums(*(sums.sum(axis=0, keepdims=True) for sums in self))

    def leave_one_out(self) -> "AgreementSums":
        """Return the sums over all groups but the group of each row."""
        return AgreementSums(*(sums.sum(axis=0, keepdims=True) - sums for sums in self))


def sum_documents(judgments: GradeCounts, query: Ints) -> AgreementSums:
    """Return the sums of each group of documents; `query` (n_documents,) numbers the groups."""
    n = int(query.max()) + 1
    counts = judgments.counts * 1.0
    n_judges = counts.sum(axis=1)

    def total(values: Floats) -> Floats:
        return np.bincount(query, values, n)

    def total_columns(values: Floats) -> Floats:
        return np.stack([total(column) for column in values.T], axis=1)

    is_paired = n_judges > 1
    n_partners = np.where(is_paired, n_judges - 1, 1.0)
    pair_agreement = np.where(
        is_paired, (counts * (counts - 1)).sum(axis=1) / (n_judges * n_partners), 0.0
    )
    grade_shares, is_full = counts / n_judges[:, None], (n_judges == judgments.n_assessors) * 1.0
    is_same_grade = np.eye(counts.shape[1])
    grade_pairs = [
        total_columns(
            counts * (counts[:, [k]] - is_same_grade[k]) * (is_paired / n_partners)[:, None]
        )
        for k in range(counts.shape[1])
    ]
    return AgreementSums(
        total(is_paired * 1.0),
        total(pair_agreement),
        total(np.ones(len(n_judges))),
        total_columns(grade_shares),
        total(is_full),
        total(pair_agreement * is_full),
        total_columns(grade_shares * is_full[:, None]),
        np.stack(grade_pairs, axis=2),
    )


def observed(sums: AgreementSums) -> Floats:
    """Return the mean share of pairs of assessors that agree on a document: (n,)."""
    return _divide(sums.pair_agreement, sums.documents)


def fleiss_kappa(sums: AgreementSums) -> Floats:
    """Return Fleiss' kappa of the documents that all judge: (n,).

    Chance is two draws from the grades of all assessors together (Fleiss, Psychological Bulletin
    1971).
    """
    observed_share = _divide(sums.pair_agreement_full, sums.full)
    by_chance = (_divide(sums.grade_shares_full, sums.full[:, None]) ** 2).sum(axis=1)
    return _divide(observed_share - by_chance, 1 - by_chance)


def gwet_ac1(sums: AgreementSums) -> Floats:
    """Return Gwet's AC1: (n,).

    Chance is a guess among the grades, as often as these are hard to distinguish: it does not grow
    where nearly all documents have one grade (Gwet, British Journal of Mathematical and Statistical
    Psychology 2008).
    """
    grade_share = _divide(sums.grade_shares, sums.judged[:, None])
    by_chance = (grade_share * (1 - grade_share)).sum(axis=1) / max(grade_share.shape[1] - 1, 1)
    return _divide(observed(sums) - by_chance, 1 - by_chance)


def alpha_nominal(sums: AgreementSums) -> Floats:
    """Return Krippendorff's alpha, where any two grades differ as much: (n,).

    Krippendorff, Content Analysis; Computing Krippendorff's Alpha-Reliability, 2011.
    """
    n_grades = sums.grade_pairs.shape[1]
    return _krippendorff_alpha(sums, np.broadcast_to(1 - np.eye(n_grades), sums.grade_pairs.shape))


def alpha_ordinal(sums: AgreementSums) -> Floats:
    """Return Krippendorff's alpha, where grades differ by how many values lie between: (n,).

    The difference of two grades is that of their mean ranks among all values, squared.
    """
    grade_totals = sums.grade_pairs.sum(axis=2)
    rank = np.cumsum(grade_totals, axis=1) - grade_totals / 2
    return _krippendorff_alpha(sums, (rank[:, :, None] - rank[:, None, :]) ** 2)


def _krippendorff_alpha(sums: AgreementSums, difference: Floats) -> Floats:
    """Return 1 - (mean difference in a document) / (mean difference of any two grades): (n,)."""
    grade_totals = sums.grade_pairs.sum(axis=2)
    observed_difference = (sums.grade_pairs * difference).sum(axis=(1, 2))
    by_chance = (grade_totals[:, :, None] * grade_totals[:, None, :] * difference).sum(axis=(1, 2))
    return 1 - _divide(observed_difference * (grade_totals.sum(axis=1) - 1), by_chance)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return numerator / denominator; NaN where the denominator is 0 within rounding."""
    quotient: Floats = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=np.abs(denominator) > 1e-12)
    return quotient


class AgreementStatistic(NamedTuple):
    """A coefficient, and the documents whose grades count in it."""

    compute: Callable[[AgreementSums], Floats]
    # Judged by two or more.
    documents: Callable[[AgreementSums], Floats] = operator.attrgetter("documents")
    lowest: float = -1.0  # the least value that it may have


FLEISS = "Fleiss' kappa"
COEFFICIENTS = {
    "agreement": AgreementStatistic(observed, lowest=0.0),
    FLEISS: AgreementStatistic(fleiss_kappa, operator.attrgetter("full")),
    "Gwet's AC1": AgreementStatistic(gwet_ac1, operator.attrgetter("judged")),
    "Krippendorff's alpha, nominal": AgreementStatistic(alpha_nominal),
    "Krippendorff's alpha, ordinal": AgreementStatistic(alpha_ordinal),
}


def estimate_coefficients(judgments: GradeCounts, rel: int, alpha: float) -> list[Coefficient]:
    """Return each coefficient of relevance, and of grades, with its 1 - alpha interval."""
    coefficients = []
    for scale, counts in (("relevance", judgments.group_by_relevance(rel)), ("grade", judgments)):
        left_out = "query" if counts.n_queries > 1 else "document"
        query = counts.query if left_out == "query" else np.arange(len(counts.query))
        query_sums = sum_documents(counts, query)
        for name, statistic in COEFFICIENTS.items():
            estimate, low, high = _jackknife_interval(statistic, query_sums, alpha)
            n = query_sums.overall.full if name == FLEISS else query_sums.overall.documents
            coefficients.append(Coefficient(name, scale, left_out, int(n[0]), estimate, low, high))
    return coefficients


def _jackknife_interval(
    statistic: AgreementStatistic, query_sums: AgreementSums, alpha: float
) -> tuple[float | None, float | None, float | None]:
    """Return a coefficient and the ends of its interval by the jackknife; None: no value."""
    from scipy.special import stdtrit

    estimate = float(statistic.compute(query_sums.overall)[0])
    # Queries without such documents change nothing.
    leave_one_out_estimates = statistic.compute(query_sums.leave_one_out())[
        statistic.documents(query_sums) > 0
    ]
    n = len(leave_one_out_estimates)
    if n < 2 or np.isnan(leave_one_out_estimates).any() or np.isnan(estimate):
        return finite_or_none(estimate), None, None
    error = jackknife_error(leave_one_out_estimates)
    if not error:
        return estimate, None, None
    half_width = float(stdtrit(n - 1, 1 - alpha / 2)) * error
    return estimate, max(statistic.lowest, estimate - half_width), min(1.0, estimate + half_width)


def jackknife_error(estimates: Floats) -> float:
    """Return the standard error of a statistic, given it without each unit in turn: (n,).

    It is 0 where only rounding is left, and where it is not known without a unit.
    """
    n = len(estimates)
    error = float(np.sqrt((n - 1) / n * ((estimates - estimates.mean()) ** 2).sum()))
    return error if error > 1e-12 else 0.0
