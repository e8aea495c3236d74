"""Measures of binary relevance over a ranking: a document is relevant from a grade on (`rel`)."""

import math
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, log, log2, ratio
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.gain import CUTOFFS
from cranfield.measures.parameters import Cutoff, Parameter, Parameters, Rel, above_zero, choice
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import (
    BY_GRADE,
    LINEAR,
    RETRIEVED_AVERAGED,
    SPLIT,
    SPLIT_AVERAGED,
    Bounded,
    Traits,
)

MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

Multiple = Annotated[
    float, Parameter("how many times as many ranks as relevant documents", above_zero)
]
Beta = Annotated[
    float, Parameter("how many times as much recall counts as precision does", above_zero)
]


Over = Annotated[
    str,
    Parameter(
        "what the sum is divided by: 'judged', all relevant documents; 'retrieved', those found in "
        "the first k; 'reachable', as many as could be there, min(k, relevant)",
        choice("judged", "retrieved", "reachable"),
    ),
]


def _n_found(judged: Judged, k: Cutoff, rel: float) -> Floats:
    """Count the relevant documents in the first k: of tied ones, as many as there are on average.

    That is McSherry & Najork, ECIR 2008: whatever is linear in this count may be computed from it.
    """
    if judged.ties == "expected":
        return judged.places(judged.hits.grade >= rel, k).so_far()
    return judged.hits.relevant(rel).top(k).count()


@measure(
    "P",
    names=("Precision",),
    traits=replace(LINEAR, averages_ties=True),
    perfect="with fewer than k relevant documents, even a perfect ranking has others",
)
def precision(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Precision: the share of the first k ranks that hold a relevant document.

    Ranks that the run leaves empty, and unjudged documents, count as not relevant.

    Formula: relevant documents in the first k / k
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval P
    """
    return ratio(_n_found(judged, k, rel), k)


@measure(
    "R",
    names=Names(("Recall",), families={"recall": CUTOFFS}),
    traits=SPLIT_AVERAGED,
    perfect="k ranks may be too few for all relevant documents",
)
def recall(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Recall: the share of the relevant documents that the first k ranks hold.

    Relevant are those of the judgments, retrieved or not. 0 for a query without any. Unjudged
    documents count as not relevant.

    Formula: relevant documents in the first k / relevant documents
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval recall
    """
    return ratio(_n_found(judged, k, rel), judged.n_relevant(rel))


@measure(
    "F",
    names=Names(
        ("f1", "f_measure", "f_score"), variants={"F2": {"beta": 2.0}, "F0.5": {"beta": 0.5}}
    ),
    traits=SPLIT_AVERAGED,
    perfect="where P@k or R@k cannot be 1, neither can this",
)
def f_measure(judged: Judged, k: Cutoff, *, beta: Beta = 1.0, rel: Rel = 1) -> Floats:
    """F: the weighted harmonic mean of precision and recall in the first k ranks.

    Recall counts beta times as much as precision. 0 where both are 0. Unjudged documents count as
    not relevant.

    Formula: (1 + beta^2) P R / (beta^2 P + R), of P@k and R@k
    Source: van Rijsbergen, Information Retrieval, 1979
    """
    precision_, recall_ = precision(judged, k, rel=rel), recall(judged, k, rel=rel)
    return weighted_mean(precision_, recall_, beta * beta)


def weighted_mean(precision: Floats, recall: Floats, weight: float) -> Floats:
    """Return the harmonic mean of precision and recall, which counts `weight` times as much."""
    return ratio((1 + weight) * precision * recall, weight * precision + recall)


@measure(
    "RelP",
    names=Names(("R_cap", "capped_recall"), families={"relative_P": CUTOFFS}),
    traits=SPLIT_AVERAGED,
)
def relative_precision(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Relative precision: relevant documents in the first k, of as many as could be there.

    Also known as capped recall. 0 for a query without relevant documents. Unjudged documents count
    as not relevant.

    Formula: relevant documents in the first k / min(k, relevant documents)
    Source: trec_eval relative_P; R_cap in BEIR (Thakur et al., NeurIPS 2021)
    """
    return ratio(_n_found(judged, k, rel), np.minimum(k, judged.n_relevant(rel)))


_SUCCESS = ("hit_rate", "hitrate", "hit", "hit_ratio", "HR", "top_k_accuracy")


@measure("Success", names=_SUCCESS, traits=RETRIEVED_AVERAGED)
def success(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Success, or hit rate: whether the first k ranks hold a relevant document at all.

    Unjudged documents count as not relevant.

    Formula: 1 if a relevant document is in the first k, else 0
    Source: trec_eval success; also known as hit rate, hit@k, and recall@k with one answer
    """
    if judged.ties != "expected":
        return np.minimum(judged.hits.relevant(rel).top(k).count(), 1)
    # Over the orders of ties it is 1 less the chance to miss all, place after place.
    places = judged.places(judged.hits.grade >= rel, k)
    missed, _ = places.missed()
    found_so_far = 1 - places.ranked.before(missed) * missed
    return places.ranked.maximum(found_so_far)


@measure(
    "Rprec",
    names=Names(
        ("R-prec", "r-precision", "r_precision", "RPrecision"),
        families={"Rprec_mult": MULTIPLES},
        parameter={"rprec_mult": "multiple"},
    ),
    traits=SPLIT_AVERAGED,
)
def r_precision(judged: Judged, *, multiple: Multiple = 1.0, rel: Rel = 1) -> Floats:
    """R-precision: precision at the rank where a perfect ranking has all relevant documents.

    The same as P@R. With a multiple, precision after multiple * R ranks, rounded up unless less
    than a tenth of a rank is over. 0 for a query without relevant documents. Unjudged documents
    count as not relevant.

    Formula: relevant documents in the first R / R, R = the number of relevant documents (or
        multiple R, where it is not 1)
    Source: Buckley & Voorhees, in TREC: Experiment and Evaluation, 2005; trec_eval Rprec,
        Rprec_mult
    """
    ranks = np.floor(multiple * judged.n_relevant(rel) + 0.9)
    return precision(judged, ranks, rel=rel)


@measure(
    "RR",
    names=("recip_rank", "MRR", "reciprocal_rank", "mean_reciprocal_rank"),
    traits=RETRIEVED_AVERAGED,
)
def reciprocal_rank(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Reciprocal rank of the first relevant document; 0 if there is none (in the first k).

    Unjudged documents count as not relevant.

    Formula: 1 / rank of the first relevant document
    Source: Kantor & Voorhees, Inf. Retr. 2000; trec_eval recip_rank
    """
    if judged.ties != "expected":
        hits = judged.hits.relevant(rel).top(k)
        return hits.first(1 / hits.rank)
    # Over the orders of ties it is 1 / rank of each place, if the first relevant one is there.
    places = judged.places(judged.hits.grade >= rel, k)
    missed, met = places.missed()
    first_here = places.ranked.before(missed) * met
    return places.ranked.total(first_here / places.ranked.rank)


def _ap_bounded(parameters: Parameters) -> Bounded:
    return "split" if parameters["over"] == "judged" else "attained"


def _ap_by_grade(_: Judged, *, over: str, **__: Any) -> str:
    return "one more that is found may lower it" if over == "retrieved" else ""


_AP = ("map", "average_precision", "mean_average_precision", "label_ranking_average_precision")


@measure(
    "AP",
    names=Names((*_AP, "LRAP"), families={"map_cut": CUTOFFS}),
    traits=Traits(bounds=_ap_bounded, by_grade=_ap_by_grade, averages_ties=True),
    perfect_cut="divided by all relevant documents, also where k is smaller",
)
def average_precision(
    judged: Judged, k: Cutoff | None = None, *, over: Over = "judged", rel: Rel = 1
) -> Floats:
    """Average precision: the mean, over all relevant documents, of the precision where each stands.

    A relevant document that was not retrieved (in the first k) has precision 0. The mean over
    queries is MAP. 0 for a query without relevant documents. Where every document is ranked it is
    label ranking average precision, too (LRAP; there, equal scores have the lowest of their ranks).
    Unjudged documents count as not relevant.

    Other tools divide by less: over='reachable' by min(k, relevant documents), so that a perfect
    first k has 1; over='retrieved' by those found in the first k, so that what was missed does not
    count.

    Formula: sum of the precision at each relevant document (of rank <= k) / relevant documents
    Source: Buckley & Voorhees, SIGIR 2000; trec_eval map, map_cut
    """
    if judged.ties != "expected":
        hits = judged.hits.relevant(rel).top(k)
        precision_ = hits.ordinal / hits.rank
        n_relevant = hits.count() if over == "retrieved" else _reachable(judged, k, over, rel)
        return ratio(hits.total(precision_), n_relevant)
    if over == "retrieved":
        raise MeasureError("AP(over='retrieved') has no formula for ties='expected'")
    # Over the orders of ties (McSherry & Najork, ECIR 2008), a place is as likely to hold a
    # relevant document as any other of its score. If it does, the remaining ones are spread evenly
    # over the remaining places.
    places = judged.places(judged.hits.grade >= rel, k)
    relevant_here = places.held / places.size
    tied_above = ratio((places.held - 1) * (places.nth - 1), places.size - 1)
    precision_ = (places.above + 1 + tied_above) / places.ranked.rank
    found = places.ranked.total(relevant_here * precision_)
    return ratio(found, _reachable(judged, k, over, rel))


def _reachable(judged: Judged, k: Cutoff | None, over: str, rel: float) -> Ints:
    n_relevant = judged.n_relevant(rel)
    return np.minimum(k, n_relevant) if over == "reachable" and k is not None else n_relevant


@measure("GMAP", names=("gm_map", "geometric_map"), traits=SPLIT, aggregation="geometric")
def geometric_map(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Geometric mean average precision: a query's value is its AP, the mean is geometric.

    It rewards improving the worst queries. Values below 0.00001 count as 0.00001 in the mean.
    Unjudged documents count as not relevant.

    Formula: exp(mean over queries of ln max(AP, 0.00001))
    Source: Robertson, CIKM 2006; trec_eval gm_map
    """
    return average_precision(judged, rel=rel)


@measure("Bpref", names=("bpref",), traits=SPLIT)
def bpref(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary preference: how rarely judged nonrelevant documents stand above relevant ones.

    Unjudged documents, and those judged with a negative grade, are passed over. 0 for a query
    without relevant documents.

    Formula: sum over relevant retrieved of 1 - min(n, R) / min(N, R), divided by R; n = judged
        nonrelevant above it, N = judged nonrelevant, R = relevant
    Source: Buckley & Voorhees, SIGIR 2004; trec_eval bpref
    """
    pool = judged.hits.relevant(0)
    n_relevant = judged.n_relevant(rel)
    n_others = judged.n_relevant(0) - n_relevant
    nonrelevant_so_far = pool.running(pool.grade < rel)
    above = np.minimum(nonrelevant_so_far, pool.spread(n_relevant))
    most = pool.spread(np.minimum(n_others, n_relevant))
    preferred = np.where(pool.grade >= rel, 1 - ratio(above, most), 0)
    return ratio(pool.total(preferred), n_relevant)


@measure("GMBpref", names=("gm_bpref",), traits=SPLIT, aggregation="geometric")
def geometric_bpref(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Geometric mean of binary preference: a query's value is its Bpref, the mean is geometric.

    Values below 0.00001 count as 0.00001 in the mean. Unjudged documents are passed over, as in
    Bpref.

    Formula: exp(mean over queries of ln max(Bpref, 0.00001))
    Source: trec_eval gm_bpref; after Robertson, CIKM 2006
    """
    return bpref(judged, rel=rel)


@measure("infAP", names=("inf_ap",), perfect="the smoothing e holds it a little below")
def inferred_ap(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Inferred average precision: AP estimated where only a sample of the pool was judged.

    Documents of the pool that nobody judged carry a negative grade in the judgments; they are taken
    to be relevant as often as the judged ones above the same rank. Documents without any entry were
    not pooled and count as not relevant. 0 for a query without relevant documents. Unjudged
    documents are those without an entry.

    Formula: mean over relevant documents of 1/i + (i-1)/i * (pool above / (i-1)) * (relevant
        above + e) / (judged above + 2 e), i = its rank, e = 0.00001
    Source: Yilmaz & Aslam, CIKM 2006; trec_eval infAP
    """
    hits = judged.hits
    relevant = hits.grade >= rel
    relevant_above = hits.so_far(relevant)
    # Above, too: only relevant rows are added up.
    others_so_far = hits.running((hits.grade >= 0) & ~relevant)
    unjudged_so_far = hits.running(hits.grade < 0)
    judged_above = relevant_above + others_so_far
    pooled_above = judged_above + unjudged_so_far
    ranks_above = hits.rank - 1.0
    precision_ = inferred_precision(ranks_above, pooled_above, relevant_above, judged_above)
    return ratio(hits.total(np.where(relevant, precision_, 0)), judged.n_relevant(rel))


SMOOTH = 1e-5


def inferred_precision(above: Floats, pooled: Ints, relevant: Ints, judged: Ints) -> Floats:
    """Return the precision expected at a relevant document: Yilmaz & Aslam 2006, equation 2.

    Of the ranks above it, so many were pooled; of these so many were judged, so many relevant.
    """
    share = ratio(pooled, above)
    precision_above = (relevant + SMOOTH) / (judged + 2 * SMOOTH)
    return 1 / (above + 1) + above / (above + 1) * share * precision_above


@measure("binG", traits=BY_GRADE)
def binary_gain(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary G: each relevant document counts less the more nonrelevant ones stand above it.

    0 for a query without relevant documents. Unjudged documents count as not relevant.

    Formula: sum over relevant retrieved of 1 / log2(2 + nonrelevant above it), divided by R
    Source: trec_eval binG
    """
    hits = judged.hits.relevant(rel)
    discount = log2(2 + hits.rank - hits.ordinal)
    return ratio(hits.total(1 / discount), judged.n_relevant(rel))


@measure("YAAP", names=("yaap",), traits=BY_GRADE, range=(-math.inf, None))
def yet_another_ap(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Yet another average precision: the log odds of AP, smoothed, so that it averages better.

    It orders rankings of one query as AP does, but extremes count more. It may be negative: where
    nothing relevant was retrieved, it is ln(1 / (1 + R)). Unjudged documents count as not relevant.

    Formula: ln((1 + S) / (1 + R - S)), S = sum of the precision at each relevant document
    Source: Robertson, ECIR 2012; trec_eval yaap
    """
    hits = judged.hits.relevant(rel)
    precision_ = hits.ordinal / hits.rank
    found = hits.total(precision_)
    return log((1 + found) / (1 + judged.n_relevant(rel) - found))
