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
    """One coefficient of agreement, and the ends of its interval; None where there is no value."""

    name: str
    of: str  # "relevance" (relevant or not) or "grade"
    left_out: str  # what the jackknife leaves out: "query", or "document" if there is one query
    documents: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class GradeCounts:
    """How many assessors gave each grade to each document that one of them judges."""

    n_assessors: int
    query: Ints  # (n_documents,) numbered from 0
    counts: Ints  # (n_documents, n_grades)
    grades: Sequence[int]

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return int(self.query.max()) + 1

    def group_by_relevance(self, rel: int) -> "GradeCounts":
        """Return the same with two grades: 0, and 1 for grades from `rel` on."""
        relevant = np.array(self.grades) >= rel
        both = [self.counts[:, one].sum(axis=1) for one in (~relevant, relevant)]
        return GradeCounts(self.n_assessors, self.query, np.stack(both, axis=1), (0, 1))


def count_grades(qrels: Sequence[Qrels]) -> GradeCounts:
    """Count the grades of each document that one of several qrels judges.

    Raises what `matched` raises, and NothingSharedError if no document is judged in two of them.
    """
    every = match_judgments(qrels)
    grades, code = np.unique(every.grade, return_inverse=True)
    counts = np.zeros((len(every.query), len(grades)), np.int64)
    np.add.at(counts, (every.row, code), 1)
    if counts.sum(axis=1).max(initial=0) < 2:
        raise NothingSharedError("no document of a query is judged in two of the qrels")
    _, query = np.unique(every.query, return_inverse=True)
    return GradeCounts(len(qrels), query, counts, grades.tolist())


class AgreementSums(NamedTuple):
    """Sums over documents: of all, or of each query; the first axis is that of the queries."""

    documents: Floats  # judged by two or more: (n,)
    pair_agreement: Floats  # the share of their pairs of assessors that agree: (n,)
    judged: Floats  # by any: (n,)
    grade_shares: Floats  # of the assessors that gave each grade: (n, n_grades)
    full: Floats  # judged by all: (n,)
    pair_agreement_full: Floats
    grade_shares_full: Floats  # (n, n_grades)
    grade_pairs: (
        Floats  # pairs of grades of two assessors, by the number of the others: (n, grades, grades)
    )

    @property
    def overall(self) -> "AgreementSums":
        """The sums over all queries."""
        return AgreementSums(*(one.sum(axis=0, keepdims=True) for one in self))

    def leave_one_out(self) -> "AgreementSums":
        """Return the sums over all queries but one, for each."""
        return AgreementSums(*(one.sum(axis=0, keepdims=True) - one for one in self))


def sum_documents(judgments: GradeCounts, query: Ints) -> AgreementSums:
    """Return the sums of each query; `query` (n_documents,) says which documents are together."""
    n = int(query.max()) + 1
    counts = judgments.counts * 1.0
    each = counts.sum(axis=1)

    def total(values: Floats) -> Floats:
        return np.bincount(query, values, n)

    def totals(values: Floats) -> Floats:
        return np.stack([total(one) for one in values.T], axis=1)

    several = each > 1
    others = np.where(several, each - 1, 1.0)
    agreed = np.where(several, (counts * (counts - 1)).sum(axis=1) / (each * others), 0.0)
    shares, full = counts / each[:, None], (each == judgments.n_assessors) * 1.0
    same = np.eye(counts.shape[1])
    pairs = [
        totals(counts * (counts[:, [k]] - same[k]) * (several / others)[:, None])
        for k in range(counts.shape[1])
    ]
    return AgreementSums(
        total(several * 1.0),
        total(agreed),
        total(np.ones(len(each))),
        totals(shares),
        total(full),
        total(agreed * full),
        totals(shares * full[:, None]),
        np.stack(pairs, axis=2),
    )


def observed(sums: AgreementSums) -> Floats:
    """Return the mean share of pairs of assessors that agree on a document: (n,)."""
    return _divide(sums.pair_agreement, sums.documents)


def fleiss_kappa(sums: AgreementSums) -> Floats:
    """Return Fleiss' kappa of the documents that all judge: (n,).

    Chance is two draws from the grades of all assessors together (Fleiss, Psychological Bulletin
    1971).
    """
    seen = _divide(sums.pair_agreement_full, sums.full)
    by_chance = (_divide(sums.grade_shares_full, sums.full[:, None]) ** 2).sum(axis=1)
    return _divide(seen - by_chance, 1 - by_chance)


def gwet_ac1(sums: AgreementSums) -> Floats:
    """Return Gwet's AC1: (n,).

    Chance is a guess among the grades, as often as these are hard to distinguish: it does not grow
    where nearly all documents have one grade (Gwet, British Journal of Mathematical and Statistical
    Psychology 2008).
    """
    share = _divide(sums.grade_shares, sums.judged[:, None])
    by_chance = (share * (1 - share)).sum(axis=1) / max(share.shape[1] - 1, 1)
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
    each = sums.grade_pairs.sum(axis=2)
    rank = np.cumsum(each, axis=1) - each / 2
    return _krippendorff_alpha(sums, (rank[:, :, None] - rank[:, None, :]) ** 2)


def _krippendorff_alpha(sums: AgreementSums, difference: Floats) -> Floats:
    """Return 1 - (the mean difference seen) / (that of any two values): (n,)."""
    each = sums.grade_pairs.sum(axis=2)
    seen = (sums.grade_pairs * difference).sum(axis=(1, 2))
    by_chance = (each[:, :, None] * each[:, None, :] * difference).sum(axis=(1, 2))
    return 1 - _divide(seen * (each.sum(axis=1) - 1), by_chance)


def _divide(part: Floats, whole: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by, or where only rounding is left of it."""
    found: Floats = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=found, where=np.abs(whole) > 1e-12)
    return found


class Way(NamedTuple):
    """A coefficient, and the documents whose grades count in it."""

    compute: Callable[[AgreementSums], Floats]
    documents: Callable[[AgreementSums], Floats] = operator.attrgetter("documents")  # judged by two or more


FLEISS = "Fleiss' kappa"
COEFFICIENTS = {
    "agreement": Way(observed),
    FLEISS: Way(fleiss_kappa, operator.attrgetter("full")),
    "Gwet's AC1": Way(gwet_ac1, operator.attrgetter("judged")),
    "Krippendorff's alpha, nominal": Way(alpha_nominal),
    "Krippendorff's alpha, ordinal": Way(alpha_ordinal),
}


def estimate_coefficients(judgments: GradeCounts, rel: int, alpha: float) -> list[Coefficient]:
    """Return each coefficient of relevance, and of grades, with its 1 - alpha interval."""
    found = []
    for of, one in (("relevance", judgments.group_by_relevance(rel)), ("grade", judgments)):
        left_out = "query" if one.n_queries > 1 else "document"
        query = one.query if left_out == "query" else np.arange(len(one.query))
        each = sum_documents(one, query)
        for name, way in COEFFICIENTS.items():
            value, low, high = _jackknife_interval(way, each, alpha)
            n = each.overall.full if name == FLEISS else each.overall.documents
            found.append(Coefficient(name, of, left_out, int(n[0]), value, low, high))
    return found


def _jackknife_interval(
    way: Way, each: AgreementSums, alpha: float
) -> tuple[float | None, float | None, float | None]:
    """Return a coefficient, and the ends of its interval by the jackknife."""
    from scipy.special import stdtrit

    value = float(way.compute(each.overall)[0])
    left_out = way.compute(each.leave_one_out())[way.documents(each) > 0]  # others change nothing
    n = len(left_out)
    if n < 2 or np.isnan(left_out).any() or np.isnan(value):
        return finite_or_none(value), None, None
    error = float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))
    half = float(stdtrit(n - 1, 1 - alpha / 2)) * error
    return value, max(-1.0, value - half), min(1.0, value + half)
