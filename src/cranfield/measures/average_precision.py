"""Means over relevant documents, found or not: average precision and its relatives."""

import math
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.elementary import log, log2
from cranfield.arrays.ranked import Floats, Ints, ratio
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.gain import TREC_CUTOFFS
from cranfield.measures.parameters import Cutoff, Parameter, Parameters, Rel, choice
from cranfield.measures.precision import mean_over_found_reason, n_reachable, no_formula_error
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import BY_GRADE, SPLIT, BoundsMethod, Traits

ALL_RELEVANT_REASON = "divided by all relevant documents, also where k is smaller"


OverPrecisions = Annotated[
    str,
    Parameter(
        "what the sum is divided by: 'judged', all relevant documents; 'retrieved', those found in "
        "the first k; 'reachable', as many as could be there, min(R, k) of R relevant; 'returned', "
        "as many as the documents there could be, min(R, n, k) of n retrieved; 'cutoff', k",
        choice("judged", "retrieved", "reachable", "returned", "cutoff"),
    ),
]


TieRank = Annotated[
    str,
    Parameter(
        "with ties='expected', where a tied document counts: at its 'own' or the tie's 'last' rank",
        choice("own", "last"),
    ),
]


def _ap_bounds(parameters: Parameters) -> BoundsMethod:
    method_of_over: dict[str, BoundsMethod] = {"retrieved": "attained", "cutoff": "retrieved"}
    return method_of_over.get(parameters["over"], "split")


def _ap_perfect_cut(parameters: Parameters) -> str:
    cutoff_text = "divided by k, also where fewer documents are relevant"
    return {"judged": ALL_RELEVANT_REASON, "cutoff": cutoff_text}.get(parameters["over"], "")


def _check_cutoff(measure: Any) -> None:
    """Raise MeasureError if the sum is to be divided by a cutoff that there is not."""
    if measure.cutoff is None and measure.parameters["over"] == "cutoff":
        raise MeasureError(f"{measure} needs a cutoff: {measure @ 10}")


_LONG_NAMES = ("average_precision", "mean_average_precision", "label_ranking_average_precision")


@measure(
    "AP",
    names=Names(("map", *_LONG_NAMES, "LRAP"), families={"map_cut": TREC_CUTOFFS}),
    traits=Traits(
        bounds=_ap_bounds, by_grade=mean_over_found_reason, averages_ties=True, fits=_check_cutoff
    ),
    perfect_cut=_ap_perfect_cut,
)
def average_precision(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    over: OverPrecisions = "judged",
    tie_rank: TieRank = "own",
    rel: Rel = 1,
) -> Floats:
    """Average precision: the mean of the precision at the rank of each relevant document.

    A relevant document that was not retrieved (in the first k) has precision 0. The mean over
    queries is MAP. 0 for a query without relevant documents. Where every document is ranked it is
    label ranking average precision, too (LRAP; scikit-learn's is tie_rank='last' with the option
    ties='expected'). Unjudged documents count as not relevant.

    Other tools divide by something else. over='reachable': min(R, k), R = the relevant documents,
    so that a perfect first k has 1 (sentence-transformers, RePlay). over='returned': min(R, n, k),
    n = the documents retrieved (LensKit). over='retrieved': those found in the first k, so that
    what was missed does not count (torchmetrics). over='cutoff': k (RecTools' divide_by_k).

    Formula: sum of the precision at each relevant document (of rank <= k) / relevant documents
    Source: Buckley & Voorhees, SIGIR 2000; trec_eval map, map_cut
    """
    if judged.ties != "expected":
        hits = judged.hits.relevant(rel).top(k)
        precision_ = hits.ordinal / hits.rank
        n = hits.count() if over == "retrieved" else n_reachable(judged, k, over, rel)
        return ratio(hits.total(precision_), n)
    if over == "retrieved":
        raise no_formula_error("AP", over)
    # Over the orders of ties (McSherry & Najork, ECIR 2008), a place is as likely to hold a
    # relevant document as any other of its score. If it does, the remaining ones are spread evenly
    # over the remaining places.
    places = judged.tie_places(judged.hits.grade >= rel, k)
    relevant_here = places.worth / places.size
    nth = places.size if tie_rank == "last" else places.nth
    tied_above = ratio((places.worth - 1) * (nth - 1), places.size - 1)
    precision_ = (places.worth_above + 1 + tied_above) / (places.ranked.rank - places.nth + nth)
    found = places.ranked.total(relevant_here * precision_)
    return ratio(found, n_reachable(judged, k, over, rel))


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
    """Binary preference: how rarely judged nonrelevant documents are above relevant ones.

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
    # At a relevant row, the others so far are above it; no other row is added up.
    others_so_far = hits.running((hits.grade >= 0) & ~relevant)
    unjudged_so_far = hits.running(hits.grade < 0)
    judged_above = relevant_above + others_so_far
    pooled_above = judged_above + unjudged_so_far
    ranks_above = hits.rank - 1.0
    precision_ = inferred_precision(ranks_above, pooled_above, relevant_above, judged_above)
    return ratio(hits.total(np.where(relevant, precision_, 0)), judged.n_relevant(rel))


SMOOTHING = 1e-5


def inferred_precision(
    ranks_above: Floats, pooled_above: Ints, relevant_above: Ints, judged_above: Ints
) -> Floats:
    """Return the precision expected at a relevant document: Yilmaz & Aslam 2006, equation 2.

    All arguments are (rows,): the ranks above a row, how many of these were pooled, how many of the
    pooled are relevant, and how many were judged.
    """
    share = ratio(pooled_above, ranks_above)
    precision_above = (relevant_above + SMOOTHING) / (judged_above + 2 * SMOOTHING)
    return 1 / (ranks_above + 1) + ranks_above / (ranks_above + 1) * share * precision_above


@measure("binG", traits=BY_GRADE)
def binary_gain(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary G: each relevant document counts less the more nonrelevant ones are above it.

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
