"""Measures of diversity: of rankings for queries with several subtopics, judged one by one.

The judgments of a subtopic (an intent, an aspect) are a judgment group of its query. A subtopic
counts by its weight, Pr(subtopic | query); without weights, all that have a relevant document count
the same. Plain judgments are a single subtopic.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from cranfield.arrays.elementary import log2, powers
from cranfield.arrays.ranked import Floats, Ints, Ranked, look_up, ratio
from cranfield.data.judged import MAX_DEPTH, Groups, Judged
from cranfield.errors import MeasureError
from cranfield.measures.average_precision import average_precision
from cranfield.measures.parameters import Cutoff, Parameter, Persistence, Rel, between
from cranfield.measures.precision import precision
from cranfield.measures.registry import measure
from cranfield.measures.traits import Traits

Alpha = Annotated[
    float,
    Parameter(
        "how much less a subtopic is worth after each document that covers it: the probability "
        "that one is enough",
        between(0, 1),
    ),
]


SUBTOPIC_TRAITS = Traits(takes_groups="subtopics")
_NO_MAXIMUM = "its maximum is every document relevant to every subtopic, which no collection has"

Discount = Callable[[Ints], Ints | Floats]  # of ranks: what divides the worth
Worth = Callable[[Ranked], Floats]  # of relevant documents to their subtopics: (rows,)


def _log_discount(rank: Ints) -> Floats:
    discount = log2(rank + 1)
    return discount


def _rank_discount(rank: Ints) -> Ints:
    return rank


def _novelty(hits: Ranked, alpha: float) -> Floats:
    """Return how new each relevant document is to its subtopic, 0 to 1: (rows,)."""
    novelty = powers(1 - alpha, hits.ordinal - 1)
    return novelty


def _discounted_worth(alpha: float, discount: Discount) -> Worth:
    return lambda hits: _novelty(hits, alpha) / discount(hits.rank)


def _rank_biased_worth(alpha: float, beta: float) -> Worth:
    def worth(hits: Ranked) -> Floats:
        weight = powers(beta, hits.rank - 1)
        return _novelty(hits, alpha) * weight

    return worth


def _mean_worth(
    groups: Groups, ranked: Ranked, k: Cutoff | None, rel: float, worth: Worth
) -> Floats:
    """Return the weighted mean over subtopics of what documents of rank <= k are worth to them."""
    rows = ranked.top(groups.spread(k))
    return groups.weighted_mean(rows.total(worth(rows)), rel)


def _hits_worth(judged: Judged, k: Cutoff | None, rel: float, worth: Worth) -> Floats:
    """Return the mean worth of the relevant documents retrieved: (n_queries, n_cutoffs)."""
    groups = judged.subtopics
    return _mean_worth(groups, groups.judged.hits.relevant(rel), k, rel, worth)


def _worth_ratio(
    judged: Judged, k: Cutoff | None, alpha: float, rel: float, worth: Worth
) -> Floats:
    """Return what the ranking is worth, as a share of what the greedy ideal ranking is worth."""
    groups = judged.subtopics
    best = _mean_worth(groups, groups.novel_first(alpha, rel), k, rel, worth)
    return ratio(_hits_worth(judged, k, rel, worth), best)


def _maximum_worth(judged: Judged, k: Cutoff, alpha: float, discount: Discount) -> Floats:
    """Return what k documents relevant to every subtopic are worth: (n_queries, n_cutoffs)."""
    deepest = int(k.max())
    if deepest > MAX_DEPTH:
        raise MeasureError(f"@{deepest}: expected a cutoff of at most {MAX_DEPTH:,} ranks")
    rank = np.arange(1, deepest + 1)
    sums = np.cumsum(powers(1 - alpha, rank - 1) / discount(rank))
    divisor_text = "log2(i + 1)" if discount is _log_discount else "i"
    words = f"(sum of {1 - alpha:.10g}^(i - 1) / {divisor_text}, i = 1 to {{}})"
    return look_up(words, np.concatenate(([0.0], sums)), judged.effective_cutoffs(k))


@measure("alpha_nDCG", traits=SUBTOPIC_TRAITS, range=(0, None))
def alpha_ndcg(
    judged: Judged, k: Cutoff | None = None, *, alpha: Alpha = 0.5, rel: Rel = 1
) -> Floats:
    """Discounted gain of new information, as a share of what the ideal ranking has.

    A document gains, for each subtopic that it is relevant to (grade `rel` or more), the subtopic's
    weight times 1 - alpha for every document above it that is relevant to the same. The ideal
    ranking is greedy, as in ndeval: at each rank the judged document that gains most, retrieved or
    not; of equal ones, the one with the greater id. As that need not be the very best, a ranking
    may gain more, and be above 1. Unjudged documents gain nothing. 0 for a query without relevant
    documents.

    Formula: alpha_DCG@k / alpha_DCG@k of the greedy ideal ranking
    Source: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008;
        ndeval alpha-nDCG
    """
    return _worth_ratio(judged, k, alpha, rel, _discounted_worth(alpha, _log_discount))


@measure("alpha_DCG", traits=SUBTOPIC_TRAITS, perfect=_NO_MAXIMUM)
def alpha_dcg(judged: Judged, k: Cutoff, *, alpha: Alpha = 0.5, rel: Rel = 1) -> Floats:
    """Discounted gain of new information, as a share of what any k documents could have.

    That is k documents that are all relevant to every subtopic, even if the collection has none. It
    compares queries by how much can be found at all, see alpha_nDCG. Unjudged documents gain
    nothing. 0 for a query without relevant documents. At k = 1 ndeval leaves the division out.

    Formula: sum over ranks i <= k of sum over subtopics s of Pr(s) J(d_i, s) (1 -
        alpha)^(relevant to s above i) / log2(i + 1), divided by sum over ranks i <= k of (1 -
        alpha)^(i - 1) / log2(i + 1)
    Source: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008;
        Clarke, Craswell, Soboroff & Ashkan, WSDM 2011; ndeval alpha-DCG
    """
    gained = _hits_worth(judged, k, rel, _discounted_worth(alpha, _log_discount))
    return ratio(gained, _maximum_worth(judged, k, alpha, _log_discount))


@measure("nERR_IA", traits=SUBTOPIC_TRAITS, range=(0, None))
def n_err_ia(
    judged: Judged, k: Cutoff | None = None, *, alpha: Alpha = 0.5, rel: Rel = 1
) -> Floats:
    """Intent-aware expected reciprocal rank, as a share of what the ideal ranking has.

    The ideal ranking is that of alpha_nDCG, and so a ranking may be above 1. Unjudged documents
    gain nothing. 0 for a query without relevant documents.

    Formula: ERR_IA@k / ERR_IA@k of the greedy ideal ranking
    Source: Chapelle, Ji, Liao, Velipasaoglu, Lai & Wu, Inf. Retrieval 2011; Clarke, Craswell,
        Soboroff & Ashkan, WSDM 2011; ndeval nERR-IA
    """
    return _worth_ratio(judged, k, alpha, rel, _discounted_worth(alpha, _rank_discount))


@measure("ERR_IA", traits=SUBTOPIC_TRAITS, perfect=_NO_MAXIMUM)
def err_ia(judged: Judged, k: Cutoff, *, alpha: Alpha = 0.5, rel: Rel = 1) -> Floats:
    """Intent-aware expected reciprocal rank of binary judgments, as a share of k perfect documents.

    The user has one of the subtopics in mind, and is satisfied by each relevant document (grade
    `rel` or more) with probability alpha. As in ndeval, it is divided by the value of k documents
    that are all relevant to every subtopic. Unjudged documents gain nothing. 0 for a query without
    relevant documents. At k = 1 ndeval leaves the division out.

    Formula: sum over ranks i <= k of sum over subtopics s of Pr(s) J(d_i, s) (1 -
        alpha)^(relevant to s above i) / i, divided by sum over ranks i <= k of (1 - alpha)^(i
        - 1) / i
    Source: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009; Clarke, Craswell, Soboroff &
        Ashkan, WSDM 2011; ndeval ERR-IA
    """
    gained = _hits_worth(judged, k, rel, _discounted_worth(alpha, _rank_discount))
    return ratio(gained, _maximum_worth(judged, k, alpha, _rank_discount))


@measure("nNRBP", traits=SUBTOPIC_TRAITS, range=(0, None))
def n_nrbp(judged: Judged, *, alpha: Alpha = 0.5, beta: Persistence = 0.5, rel: Rel = 1) -> Floats:
    """Novelty- and rank-biased precision, as a share of what the ideal ranking has.

    The ideal ranking is that of alpha_nDCG, and so a ranking may be above 1. Unjudged documents
    gain nothing. 0 for a query without relevant documents, where ndeval has not-a-number.

    Formula: NRBP / NRBP of the greedy ideal ranking
    Source: Clarke, Kolla & Vechtomova, ICTIR 2009; ndeval nNRBP
    """
    return _worth_ratio(judged, None, alpha, rel, _rank_biased_worth(alpha, beta))


@measure("NRBP", traits=SUBTOPIC_TRAITS, perfect=_NO_MAXIMUM)
def nrbp(judged: Judged, *, alpha: Alpha = 0.5, beta: Persistence = 0.5, rel: Rel = 1) -> Floats:
    """Novelty- and rank-biased precision: what is new, to a user who goes on with probability beta.

    A document is worth what it is worth to alpha_DCG. 1 is the value of endlessly many documents
    that are all relevant to every subtopic. Unjudged documents gain nothing. 0 for a query without
    relevant documents.

    Formula: (1 - (1 - alpha) beta) sum over ranks i of beta^(i - 1) sum over subtopics s of
        Pr(s) J(d_i, s) (1 - alpha)^(relevant to s above i)
    Source: Clarke, Kolla & Vechtomova, ICTIR 2009; ndeval NRBP
    """
    gained = _hits_worth(judged, None, rel, _rank_biased_worth(alpha, beta))
    return gained * (1 - (1 - alpha) * beta)


@measure(
    "AP_IA",
    names=("MAP_IA",),
    traits=SUBTOPIC_TRAITS,
    perfect_cut="divided by all relevant documents, also where k is smaller",
)
def ap_ia(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Intent-aware average precision: AP for each subtopic alone, averaged over them.

    Unjudged documents count as not relevant. 0 for a query without relevant documents.

    Formula: sum over subtopics s of Pr(s) AP@k of s
    Source: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009; ndeval MAP-IA
    """
    groups = judged.subtopics
    AP = average_precision(groups.judged, groups.spread(k), rel=rel)  # noqa: N806 - its name
    return groups.weighted_mean(AP, rel)


@measure(
    "P_IA",
    traits=SUBTOPIC_TRAITS,
    perfect="with fewer than k documents relevant to all, even a perfect ranking has others",
)
def p_ia(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Intent-aware precision: P@k for each subtopic alone, averaged over them.

    Unjudged documents count as not relevant. 0 for a query without relevant documents.

    Formula: sum over subtopics s of Pr(s) P@k of s
    Source: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009; ndeval P-IA
    """
    groups = judged.subtopics
    precision_ = precision(groups.judged, groups.spread(k), rel=rel)
    return groups.weighted_mean(precision_, rel)


@measure("StRecall", names=("strec", "S_recall", "I_rec"), traits=SUBTOPIC_TRAITS)
def subtopic_recall(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Subtopic recall: the share of the subtopics that the documents down to rank k cover.

    A subtopic is covered by one document of grade `rel` or more. Weights do not matter. Subtopics
    without a relevant document do not count; 0 for a query that has only such. Unjudged documents
    cover nothing.

    Formula: subtopics with a relevant document of rank <= k / subtopics with a relevant
        document
    Source: Zhai, Cohen & Lafferty, SIGIR 2003; ndeval strec; NTCIREVAL I-rec (Sakai & Song,
        SIGIR 2011)
    """
    groups = judged.subtopics
    is_covered = groups.judged.hits.relevant(rel).top(groups.spread(k)).count() > 0
    return ratio(groups.total(is_covered), groups.total(groups.judged.n_relevant(rel) > 0))


def _discounted_gain(hits: Ranked) -> Floats:
    return hits.grade / _log_discount(hits.rank)


@measure("D_nDCG", traits=replace(SUBTOPIC_TRAITS, fractions="taken"))
def d_ndcg(judged: Judged, k: Cutoff | None = None) -> Floats:
    """D-nDCG: nDCG with the global gain: a document's grades for all subtopics, by their weights.

    The ideal ranking holds all judged documents, retrieved or not, the highest global gain first.
    Grades below 0 and unjudged documents gain nothing. 0 for a query without relevant documents.
    It does not reward diversity: see Dsharp_nDCG.

    Formula: nDCG@k with the gain of a document = sum over subtopics s of Pr(s) grade for s
    Source: Sakai & Song, SIGIR 2011; NTCIREVAL D-nDCG
    """
    groups, rel = judged.subtopics, judged.above_zero
    best = _mean_worth(groups, groups.most_first(), k, rel, _discounted_gain)
    return ratio(_hits_worth(judged, k, rel, _discounted_gain), best)


_WHICH_COVERS = "which document covers a subtopic is not said: use D_nDCG and StRecall(rel=0.5)"


@measure(
    "Dsharp_nDCG", names=("D#-nDCG",), traits=replace(SUBTOPIC_TRAITS, fractions=_WHICH_COVERS)
)
def dsharp_ndcg(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    gamma: Annotated[
        float, Parameter("how much subtopic recall counts beside D_nDCG", between(0, 1))
    ] = 0.5,
) -> Floats:
    """Subtopic recall and nDCG of the global gain together, the main measure of NTCIR's INTENT.

    Unjudged documents gain nothing and cover nothing. 0 for a query without relevant documents.

    Formula: gamma * StRecall@k + (1 - gamma) * D_nDCG@k
    Source: Sakai & Song, SIGIR 2011; NTCIREVAL D#-nDCG
    """
    return gamma * subtopic_recall(judged, k) + (1 - gamma) * d_ndcg(judged, k)
