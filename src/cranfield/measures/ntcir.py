"""NTCIR's measures: graded relevance by the blended ratio of precision and cumulated gain."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import numpy as np

from cranfield.arrays.elementary import powers
from cranfield.arrays.ranked import Floats, Ranked, ratio
from cranfield.data.judged import Judged
from cranfield.formats.block import LARGEST_GRADE
from cranfield.measures.gain import (
    BY_GAIN,
    GAIN_KINDS,
    MAX_GAIN,
    Gain,
    gain_of_grades,
    gains,
    rank_by_gain,
)
from cranfield.measures.parameters import Cutoff, Parameter, between, choice, word_or_mapping
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Traits

Beta = Annotated[
    float,
    Parameter("how much gain counts beside the number of relevant documents", between(0, 1e6)),
]


_NOT_BY_GRADE = Traits(fractions="taken")  # ties by falling grade need not have the best value


def _relevant_hits(judged: Judged, gain: Gain) -> Ranked:
    """Return the hits that gain something: they are the relevant ones here."""
    return judged.hits.where(gains(judged.hits, gain, judged.top_grade) > 0)


def _compute_blended_ratio(judged: Judged, hits: Ranked, gain: Gain, beta: float) -> Floats:
    """Return the blended ratio at each of the hits that gain something: (rows,)."""
    ideal = rank_by_gain(judged, gain)
    hit_gain, ideal_gain = (gains(ranked, gain, judged.top_grade) for ranked in (hits, ideal))
    blended_ratio = (hits.ordinal + beta * hits.running(hit_gain)) / (
        hits.rank + beta * ideal.at(hits, ideal.running(ideal_gain))
    )
    return blended_ratio


@measure("Q", names=("Q_measure",), traits=replace(BY_GAIN, bounds="every"))
def q_measure(
    judged: Judged, k: Cutoff | None = None, *, beta: Beta = 1.0, gain: Gain = "linear"
) -> Floats:
    """Q-measure: AP for graded relevance, with the blended ratio in the place of precision.

    At each relevant document, precision and gain so far are taken together, as a share of what an
    ideal ranking has there; beta=0 leaves precision. Relevant is what gains something. Unjudged
    documents gain nothing; relevant ones that were not retrieved count as 0. Cut at k it is divided
    by k where that is less than the number of relevant documents, as NTCIREVAL has it (AP here is
    not). 0 for a query without relevant documents.

    Formula: sum over relevant ranks i <= k of (relevant so far + beta * gain so far) / (i +
        beta * ideal gain so far), divided by min(k, R)
    Source: Sakai, NTCIR-4 2004; Sakai, Inf. Process. Manage. 2007; NTCIREVAL Q-measure
    """
    hits = _relevant_hits(judged, gain).top(k)
    n_relevant = rank_by_gain(judged, gain).count()
    most = n_relevant if k is None else np.minimum(n_relevant, k)
    return ratio(hits.total(_compute_blended_ratio(judged, hits, gain, beta)), most)


@measure("O_measure", traits=BY_GAIN)
def o_measure(judged: Judged, *, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """O-measure: reciprocal rank for graded relevance: the blended ratio at the first relevant one.

    For a user who wants one document, the better the sooner. Unjudged documents gain nothing. 0
    where nothing relevant was retrieved.

    Formula: (1 + beta * gain) / (i + beta * ideal gain down to i), i = the first relevant rank
    Source: Sakai, IPSJ TOD 2007; NTCIREVAL O-measure
    """
    hits = _relevant_hits(judged, gain)
    return hits.first(_compute_blended_ratio(judged, hits, gain, beta))


def _preferred_rank(judged: Judged, hits: Ranked, gain: Gain) -> Floats:
    """Return the rank of the first hit of the highest gain, (n_queries, 1)."""
    row_gain = gains(hits, gain, judged.top_grade)
    best_hits = hits.where(row_gain == hits.spread(hits.maximum(row_gain)))
    return best_hits.first(best_hits.rank)


@measure("P_measure", traits=_NOT_BY_GRADE)
def p_measure(judged: Judged, *, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """P-measure: the blended ratio at the preferred rank, where the first of the best is.

    The best are those of the highest gain that was retrieved. For a user who looks for one highly
    relevant document and stops there. Unjudged documents gain nothing. 0 where nothing relevant
    was retrieved.

    Formula: blended ratio at the first of the best documents retrieved (see Q)
    Source: Sakai, AIRS 2006; Sakai, IPSJ TOD 2007; NTCIREVAL P-measure
    """
    hits = _relevant_hits(judged, gain)
    at_best = hits.rank == hits.spread(_preferred_rank(judged, hits, gain))
    counted = np.where(at_best, _compute_blended_ratio(judged, hits, gain, beta), 0)
    return hits.total(counted)


@measure("Pplus", names=("P_plus", "P+"), traits=_NOT_BY_GRADE)
def p_plus(judged: Judged, *, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """P-plus: the mean of the blended ratio over relevant documents down to the preferred rank.

    As P-measure, for a user who also uses what is above the first of the best documents.
    Unjudged documents gain nothing. 0 where nothing relevant was retrieved.

    Formula: mean of the blended ratio over the relevant documents down to the first of the
        best
    Source: Sakai, AIRS 2006; Sakai, IPSJ TOD 2007; NTCIREVAL P-plus
    """
    hits = _relevant_hits(judged, gain)
    is_counted = hits.rank <= hits.spread(_preferred_rank(judged, hits, gain))
    counted = np.where(is_counted, _compute_blended_ratio(judged, hits, gain, beta), 0)
    return ratio(hits.total(counted), hits.total(is_counted * 1))


_check_weights = word_or_mapping(
    GAIN_KINDS,
    between(0, MAX_GAIN),
    "'linear', 'exp2', 'binary', ('binary', lowest relevant grade) or a mapping as {1: 1, 2: 3}, "
    "of weights from 0 up",
    lowest=-LARGEST_GRADE,
)


@measure(
    "NCU",
    names=Names(
        variants={
            "NCUgu_P": {"beta": 0},
            "NCUgu_BR": {},
            "NCUrb_P": {"users": "rb", "beta": 0},
            "NCUrb_BR": {"users": "rb"},
        }
    ),
    traits=_NOT_BY_GRADE,
)
def normalized_cumulative_utility(
    judged: Judged,
    *,
    users: Annotated[
        str,
        Parameter(
            "where users stop: 'gu', at relevant documents, the more of them the higher `stops` of "
            "its grade (graded-uniform); 'rb', gamma times as many at each further relevant "
            "document (rank-biased); 'uniform', as many at each, which is Q",
            choice("gu", "rb", "uniform"),
        ),
    ] = "gu",
    beta: Beta = 1.0,
    gamma: Annotated[
        float, Parameter("of users='rb': how many go on from a relevant document", between(0, 1))
    ] = 0.95,
    gain: Gain = "linear",
    stops: Annotated[
        str | tuple[str, float] | Mapping[float, float],
        Parameter("of users='gu': the weight of each grade, written as `gain` is", _check_weights),
    ] = "linear",
) -> Floats:
    """Normalized cumulative utility: what users have who stop at different relevant documents.

    Each stops at a relevant document, some of them at those that were not retrieved, who have
    nothing. Their utility is the blended ratio; with beta=0 it is precision. Unjudged documents
    stop nobody. 0 for a query without relevant documents.

    Formula: sum over relevant ranks of the share of users who stop there * blended ratio (see
        Q)
    Source: Sakai & Robertson, EVIA 2008; NTCIREVAL NCUgu,P NCUgu,BR NCUrb,P NCUrb,BR
    """

    def weight_of(ranked: Ranked) -> Floats:
        """Return how many users stop at each relevant document: (rows,)."""
        if users == "gu":
            weight = gain_of_grades(ranked.grade, stops, judged.top_grade) * 1.0
        else:
            weight = powers(gamma if users == "rb" else 1.0, ranked.ordinal - 1)
        return weight

    hits, ideal = _relevant_hits(judged, gain), rank_by_gain(judged, gain)
    found = hits.total(weight_of(hits) * _compute_blended_ratio(judged, hits, gain, beta))
    return ratio(found, ideal.total(weight_of(ideal)))
