"""Measures estimated from judgments of a sample of documents, drawn with known probabilities."""

from typing import Annotated

import numpy as np

from cranfield.arrays.ranked import Floats, Ranked, ratio
from cranfield.arrays.trace import give_name
from cranfield.data.judged import Judged
from cranfield.measures.average_precision import SMOOTHING
from cranfield.measures.parameters import Parameter, Rel, choice
from cranfield.measures.registry import measure
from cranfield.measures.traits import Traits


@measure(
    "xinfAP",
    names=("xinf_ap",),
    traits=Traits(bounds="refused"),
    perfect="the smoothing e holds it a little below",
)
def extended_inferred_ap(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Extended inferred average precision: AP estimated from a sample of each of several strata.

    The column `stratum` of the judgments gives the stratum of a document; without it, all are in
    one, and this is infAP. Documents of a stratum that nobody judged carry a negative grade:
    they are taken to be relevant as often as the judged ones of their stratum above the same rank.
    Documents without any entry are in no stratum and count as not relevant. A stratum of which
    nothing was judged counts nothing. 0 for a query without relevant documents. Unjudged documents,
    which are in no stratum, count as not relevant.

    Formula: sum over strata of R_s / R times the mean, over the relevant documents judged in
        the stratum, of 1/i + (i-1)/i * sum over strata t of (documents of t above / (i-1)) *
        (relevant of t above + e) / (judged of t above + 2 e); i = its rank, R_s = relevant /
        judged * size of the stratum, R = sum of R_s, e = 0.00001
    Source: Yilmaz, Kanoulas & Aslam, SIGIR 2008; sample_eval.pl
    """
    hits, ideal = judged.hits, judged.ideal
    relevant, ranks_above = hits.grade >= rel, hits.rank - 1.0
    strata = range(int(ideal.stratum.max(initial=0)) + 1)

    def precision_above(s: int) -> Floats:
        """Return what a stratum adds to the precision of each row, (rows,)."""
        is_in_stratum, place = hits.stratum == s, f"above in stratum {s}"
        n_relevant = give_name(f"relevant {place}", hits.so_far(is_in_stratum & relevant))
        n_judged = give_name(f"judged {place}", hits.so_far(is_in_stratum & (hits.grade >= 0)))
        share = give_name(f"share {place}", ratio(hits.so_far(is_in_stratum), ranks_above))
        return (ranks_above / (ranks_above + 1) * share) * (
            (n_relevant + SMOOTHING) / (n_judged + 2 * SMOOTHING)
        )

    def estimate_stratum(s: int) -> tuple[Floats, Floats]:
        """Return a stratum's estimated number of relevant documents, and their mean precision."""
        pool, is_counted = ideal.where(ideal.stratum == s), relevant & (hits.stratum == s)
        n_relevant = pool.relevant(rel).count()
        size = ratio(n_relevant, pool.relevant(0).count()) * pool.count()
        counted = give_name(f"counted in stratum {s}", np.where(is_counted, precision, 0))
        mean = ratio(hits.total(counted), n_relevant)
        return give_name(f"relevant in stratum {s}", size), mean

    precision = 1 / (ranks_above + 1) + sum(
        map(precision_above, strata), np.zeros(len(ranks_above))
    )
    estimates, zeros = list(map(estimate_stratum, strata)), np.zeros(judged.n_retrieved.shape)
    n_relevant = sum((size for size, _ in estimates), zeros)
    return sum((ratio(size, n_relevant) * mean for size, mean in estimates), zeros)


@measure("statAP", names=("stat_ap", "statMAP"), traits=Traits(bounds="refused"), range=(0, None))
def statistical_ap(
    judged: Judged,
    *,
    itself: Annotated[
        str,
        Parameter(
            "in the precision at its rank, a relevant document counts itself 'once', as it is "
            "known to be there, or 'weighted', as those above it",
            choice("once", "weighted"),
        ),
    ] = "once",
    rel: Rel = 1,
) -> Floats:
    """Statistical average precision: AP estimated from judgments that are a random sample.

    Each judged document stands for as many as the inverse of its probability of being judged (the
    column `probability` of the judgments; 1 without it, and then this is AP). If documents were
    drawn independently, the sum of precisions and the number of relevant documents are right on
    average; their ratio may be above 1. Unjudged documents, and those of a negative grade, only
    take up ranks. A relevant document that was not retrieved has precision 0. 0 for a query
    without relevant documents.

    Formula: sum over relevant documents of 1/p * (1 + sum over those above it of 1/p) / rank,
        divided by the sum over all relevant judged documents of 1/p; p = probability of being
        judged
    Source: Pavlu & Aslam, A practical sampling strategy for efficient retrieval evaluation,
        2007; Million Query tracks of TREC
    """
    hits, relevant = judged.hits.relevant(rel), judged.ideal.relevant(rel)
    weight = _weight(hits)
    found_so_far = hits.so_far(weight) + (1 if itself == "once" else weight)
    return ratio(hits.total(weight * found_so_far / hits.rank), relevant.total(_weight(relevant)))


def _weight(ranked: Ranked) -> Floats:
    """Return 1 / probability of being judged, (rows,): the weight of a document in the sums."""
    weight = 1 / ranked.probability
    return weight
