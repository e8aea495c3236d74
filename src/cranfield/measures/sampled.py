"""Measures estimated from judgments of a sample of documents, drawn with known probabilities."""

from typing import Annotated, Any

import numpy as np

from cranfield.derivation import named
from cranfield.judged import Judged
from cranfield.measures.parameters import Parameter, Rel
from cranfield.measures.precision import SMOOTH
from cranfield.measures.registry import Traits, measure
from cranfield.ranked import Floats, Ranked, ratio


@measure(
    "xinfAP",
    names=("xinf_ap",),
    traits=Traits(bounds="refused"),
    perfect="the smoothing e holds it a little below",
)
def extended_inferred_ap(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Extended inferred average precision: AP estimated from a sample of each of several strata.

    Which stratum a document is of says the column `stratum` of the judgments; without it, all are
    of one, and this is infAP. Documents of a stratum that nobody judged carry a negative grade:
    they are taken to be relevant as often as the judged ones of their stratum above the same rank.
    Documents without any entry are of no stratum and count as not relevant. A stratum of which
    nothing was judged counts nothing. 0 for a query without relevant documents.

    Unjudged documents, which are in no stratum, count as not relevant.

    Formula: sum over strata of R_s / R times the mean, over the relevant documents judged in
        the stratum, of 1/i + (i-1)/i * sum over strata t of (documents of t above / (i-1)) *
        (relevant of t above + e) / (judged of t above + 2 e); i = its rank, R_s = relevant /
        judged * size of the stratum, R = sum of R_s, e = 0.00001
    Source: Yilmaz, Kanoulas & Aslam, SIGIR 2008; sample_eval.pl
    """
    pool, ideal = judged.hits, judged.ideal
    strata = range(int(ideal.stratum.max(initial=0)) + 1)
    is_relevant, above = pool.grade >= rel, named("ranks above", pool.rank - 1.0)
    precision_above = np.zeros(len(above))
    for stratum in strata:
        mine = pool.stratum == stratum
        there = f" in stratum {stratum}"
        relevant = named("relevant above" + there, _above(pool, mine & is_relevant))
        sampled = named("judged above" + there, _above(pool, mine & (pool.grade >= 0)))
        pooled = named("share above" + there, ratio(_above(pool, mine), above))
        precision = named("precision above" + there, (relevant + SMOOTH) / (sampled + 2 * SMOOTH))
        precision_above = precision_above + above / (above + 1) * pooled * precision
    expected = named("precision", 1 / (above + 1) + precision_above)
    parts = []  # of each stratum: the estimated number of relevant documents, their mean precision
    everywhere = np.zeros(judged.n_retrieved.shape)
    for stratum in strata:
        own = ideal.where(ideal.stratum == stratum)
        n_relevant = own.relevant(rel).count()
        estimated = named(
            f"relevant in stratum {stratum}",
            ratio(n_relevant, own.relevant(0).count()) * own.count(),
        )
        terms = np.where(is_relevant & (pool.stratum == stratum), expected, 0)
        parts.append((estimated, ratio(pool.total(terms), n_relevant)))
        everywhere = everywhere + estimated
    value = np.zeros(everywhere.shape)
    for estimated, mean in parts:
        value = value + ratio(estimated, everywhere) * mean
    return value


def _above(pool: Ranked, marked: Any) -> Any:
    """Count the marked rows above each row."""
    return pool.running(marked) - marked


def _itself(value: Any) -> str:
    if value in ("once", "weighted"):
        return str(value)
    raise ValueError("'once' or 'weighted'")


@measure("statAP", names=("stat_ap", "statMAP"), traits=Traits(bounds="refused"), range=(0, None))
def statistical_ap(
    judged: Judged,
    *,
    itself: Annotated[
        str,
        Parameter(
            "in the precision at its rank, a relevant document counts itself 'once', as it is "
            "known to be there, or 'weighted', as those above it",
            _itself,
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
    weight = named("weight", 1 / hits.probability)
    above = hits.running(weight) - weight
    found = named("found so far", above + (1 if itself == "once" else weight))
    return ratio(
        hits.total(weight * found / hits.rank),
        relevant.total(named("weight", 1 / relevant.probability)),
    )
