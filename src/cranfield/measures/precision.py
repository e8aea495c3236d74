"""Measures of binary relevance over a ranking: a document is relevant from a grade on (`rel`)."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, look_up, ratio
from cranfield.data.judged import MAX_DEPTH, Judged
from cranfield.errors import MeasureError
from cranfield.measures.gain import TREC_CUTOFFS
from cranfield.measures.parameters import (
    Cutoff,
    Parameter,
    Parameters,
    Rel,
    choice,
    positive_number,
)
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import (
    LINEAR,
    RETRIEVED_AVERAGED,
    SPLIT_AVERAGED,
    BoundsMethod,
    Traits,
    depth_cut_reason,
)

# trec_eval's multiples of R for Rprec_mult and, over groups, Rprec_mult_avgjg.
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

Multiple = Annotated[
    float, Parameter("how many times as many ranks as relevant documents", positive_number)
]
Beta = Annotated[
    float, Parameter("how many times as much recall counts as precision does", positive_number)
]


_FEW_RELEVANT = "with fewer than k relevant documents, even a perfect ranking has others"


def _n_relevant_in_top(judged: Judged, k: Cutoff, rel: float) -> Floats:
    """Return the number of relevant documents in the first k, (n_queries, n_cutoffs).

    With ties="expected" it is the mean over the orders of tied ones (McSherry & Najork, ECIR 2008):
    what is linear in this count can be computed from it.
    """
    if judged.ties == "expected":
        return judged.tie_places(judged.hits.grade >= rel, k).expected_worth()
    return judged.hits.relevant(rel).top(k).count()


OverRanks = Annotated[
    str,
    Parameter(
        "what is divided by: 'cutoff', k; 'returned', the documents in the first k ranks, min(k, n)"
        " of n retrieved",
        choice("cutoff", "returned"),
    ),
]


@measure(
    "P", names=("Precision",), traits=replace(LINEAR, averages_ties=True), perfect=_FEW_RELEVANT
)
def precision(judged: Judged, k: Cutoff, *, over: OverRanks = "cutoff", rel: Rel = 1) -> Floats:
    """Precision: the share of the first k ranks that hold a relevant document.

    Ranks that the run leaves empty, and unjudged documents, count as not relevant. Tools that
    divide by the documents returned do not count the ranks left empty: over='returned' (LensKit,
    LlamaIndex, ragas; torchmetrics with adaptive_k). 0 where nothing was retrieved.

    Formula: relevant documents in the first k / k
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval P
    """
    n = k if over == "cutoff" else np.minimum(k, judged.n_retrieved)
    return ratio(_n_relevant_in_top(judged, k, rel), n)


OverRelevant = Annotated[
    str,
    Parameter(
        "what is divided by: 'judged', all relevant documents; 'reachable', as many as k ranks "
        "hold, min(R, k) of R relevant; 'retrieved', those that were retrieved, at any rank",
        choice("judged", "reachable", "retrieved"),
    ),
]


def _recall_bounds(parameters: Parameters) -> BoundsMethod:
    # Of those retrieved, documents below the cutoff count, too: no split of the first k is enough.
    return "attained" if parameters["over"] == "retrieved" else "split"


def _recall_by_grade(judged: Judged, *, over: str, **_: Any) -> str:
    return depth_cut_reason(judged) if over == "retrieved" else ""


def _recall_perfect(parameters: Parameters) -> str:
    reason = "k ranks may be too few for all relevant documents"
    return "" if parameters["over"] == "reachable" else reason


@measure(
    "R",
    names=Names(("Recall",), families={"recall": TREC_CUTOFFS}),
    traits=Traits(bounds=_recall_bounds, by_grade=_recall_by_grade, averages_ties=True),
    perfect=_recall_perfect,
)
def recall(judged: Judged, k: Cutoff, *, over: OverRelevant = "judged", rel: Rel = 1) -> Floats:
    """Recall: the share of the relevant documents that the first k ranks hold.

    Relevant are those of the judgments, retrieved or not. 0 for a query without any. Unjudged
    documents count as not relevant.

    Other tools divide by less: over='reachable' by min(R, k), R = the relevant documents (RelP; in
    LensKit); over='retrieved' by the relevant documents retrieved, at any rank (torchmetrics,
    where it is given what was retrieved).

    Formula: relevant documents in the first k / relevant documents
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval recall
    """
    found = _n_relevant_in_top(judged, k, rel)
    if over != "retrieved":
        return ratio(found, n_reachable(judged, k, over, rel))
    if judged.is_cut and judged.ties == "expected":
        raise MeasureError(f"ties='expected', R(over='retrieved'): {depth_cut_reason(judged)}")
    return ratio(found, judged.hits.relevant(rel).count())


def n_reachable(judged: Judged, k: Cutoff | None, over: str, rel: float) -> Ints:
    """Return how many relevant documents `over` says could be there.

    The shape broadcasts to (n_queries, n_cutoffs). Without k, nothing is cut.
    """
    if over == "cutoff" and k is not None:
        return k
    n = judged.n_relevant(rel)
    if over == "returned":
        n = np.minimum(n, judged.n_retrieved)
    return n if over == "judged" or k is None else np.minimum(k, n)


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
    """Return the harmonic mean of precision and recall; recall counts `weight` times as much."""
    return ratio((1 + weight) * precision * recall, weight * precision + recall)


@measure(
    "RelP",
    names=Names(("R_cap", "capped_recall"), families={"relative_P": TREC_CUTOFFS}),
    traits=SPLIT_AVERAGED,
)
def relative_precision(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Relative precision: relevant documents in the first k, of as many as could be there.

    The same as R(over='reachable'), also known as capped recall. 0 for a query without relevant
    documents. Unjudged documents count as not relevant.

    Formula: relevant documents in the first k / min(k, relevant documents)
    Source: trec_eval relative_P; R_cap in BEIR (Thakur et al., NeurIPS 2021)
    """
    return recall(judged, k, over="reachable", rel=rel)


@measure(
    "MeanP", names=("mean_P",), traits=replace(LINEAR, averages_ties=True), perfect=_FEW_RELEVANT
)
def mean_precision(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Mean precision: the mean of the precision after each of the first k ranks.

    Of P@1, P@2, ... P@k, relevant or not; Elliot calls it MAP. AP is the mean over the
    relevant documents alone. A relevant document at rank r adds 1/r + ... + 1/k to their sum. Ranks
    that the run leaves empty, and unjudged documents, count as not relevant.

    Formula: sum of P@i over i = 1 to k / k
    Source: Elliot's MAP (Anelli et al., SIGIR 2021)
    """
    deepest = int(k.max(initial=0))
    if deepest > MAX_DEPTH:
        raise MeasureError(f"@{deepest}: expected a cutoff of at most {MAX_DEPTH:,} ranks")
    # 0, 1, 1 + 1/2, ...: what a document adds is the sum down to k less that above its rank.
    sums = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, deepest + 1))))
    words = "(sum of 1 / i, i = 1 to {})"
    if judged.ties == "expected":
        places = judged.tie_places(judged.hits.grade >= rel, k)
        relevant_here = places.worth / places.size
        above = look_up(words, sums, places.ranked.rank - 1)
        found, missed = (places.ranked.total(each * relevant_here) for each in (1, above))
    else:
        hits = judged.hits.relevant(rel).top(k)
        # Beside several cutoffs, `hits` go on below the deepest.
        rank = hits.rank if k.shape[1] == 1 else np.minimum(hits.rank, deepest)
        above = look_up(words, sums, rank - 1)
        found, missed = hits.count(), hits.total(above)
    return ratio(found * look_up(words, sums, k) - missed, k)


_SUCCESS_NAMES = ("hit_rate", "hitrate", "hit", "hit_ratio", "HR", "top_k_accuracy")


@measure("Success", names=_SUCCESS_NAMES, traits=replace(RETRIEVED_AVERAGED, of_sets=True))
def success(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Success, or hit rate: whether the first k ranks, or all, hold a relevant document at all.

    Unjudged documents count as not relevant.

    Formula: 1 if a relevant document is in the first k, else 0
    Source: trec_eval success; also known as hit rate, hit@k, and recall@k with one answer
    """
    if judged.ties != "expected":
        return np.minimum(judged.hits.relevant(rel).top(k).count(), 1)
    # Over the orders of ties it is 1 less the chance to miss all, place after place.
    places = judged.tie_places(judged.hits.grade >= rel, k)
    miss_chance, _ = places.miss_chances()
    found_so_far = 1 - places.ranked.before(miss_chance) * miss_chance
    return places.ranked.maximum(found_so_far)


@measure(
    "Rprec",
    names=Names(
        ("r_precision",), families={"Rprec_mult": MULTIPLES}, parameter={"rprec_mult": "multiple"}
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


OverHits = Annotated[
    str,
    Parameter(
        "of which relevant documents: the 'first'; 'hits', the mean of all in the first k",
        choice("first", "hits"),
    ),
]


def no_formula_error(name: str, over: str) -> MeasureError:
    """Return the error of a mean over the documents found: their number depends on tied orders."""
    return MeasureError(f"{name}(over={over!r}) has no formula for ties='expected'")


def _rr_bounds(parameters: Parameters) -> BoundsMethod:
    return "retrieved" if parameters["over"] == "first" else "attained"


def _rr_perfect(parameters: Parameters) -> str:
    only_first = "a second relevant document has 1 / 2 at most, and lowers the mean"
    return "" if parameters["over"] == "first" else only_first


def mean_over_found_reason(_: Judged, *, over: str, **__: Any) -> str:
    """Return why ties by grade are not best for a mean over the documents found; else ""."""
    return "one more that is found may lower it" if over in ("retrieved", "hits") else ""


@measure(
    "RR",
    names=Names(
        ("recip_rank", "MRR", "reciprocal_rank", "mean_reciprocal_rank"),
        variants={"granular_MRR": {"over": "hits"}},
    ),
    traits=Traits(bounds=_rr_bounds, by_grade=mean_over_found_reason, averages_ties=True),
    perfect=_rr_perfect,
)
def reciprocal_rank(
    judged: Judged, k: Cutoff | None = None, *, over: OverHits = "first", rel: Rel = 1
) -> Floats:
    """Reciprocal rank of the first relevant document; 0 if there is none (in the first k).

    Unjudged documents count as not relevant. over='hits' is the mean of 1 / rank over all relevant
    documents found, not only the first (LlamaIndex's granular MRR): one more may lower it.

    Formula: 1 / rank of the first relevant document
    Source: Kantor & Voorhees, Inf. Retr. 2000; trec_eval recip_rank
    """
    if judged.ties != "expected":
        hits = judged.hits.relevant(rel).top(k)
        if over == "hits":
            return ratio(hits.total(1 / hits.rank), hits.count())
        return hits.first(1 / hits.rank)
    if over == "hits":
        raise no_formula_error("RR", over)
    # Over the orders of ties: 1 / rank of each place times the chance that the first is there.
    places = judged.tie_places(judged.hits.grade >= rel, k)
    miss_chance, hit_chance = places.miss_chances()
    first_here = places.ranked.before(miss_chance) * hit_chance
    return places.ranked.total(first_here / places.ranked.rank)
