"""Measures of graded relevance: the gain of a document, discounted by its rank."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.elementary import log, log2, power
from cranfield.arrays.grades import are_whole_grades, exp2
from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked, ratio
from cranfield.arrays.trace import give_name
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.measures.parameters import (
    Cutoff,
    Parameter,
    Parameters,
    Rel,
    between,
    choice,
    look_up_numbers,
    word_or_mapping,
)
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import (
    EXTREMES_AVERAGED,
    BoundsMethod,
    Linearity,
    Traits,
    depth_cut_reason,
)
from cranfield.options import finite_number

TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # trec_eval's


_DISCOUNTS = ("log2", "jk", "ln", "zipf", "linear", "none")
_DEFAULT_BASE = 2  # of Järvelin & Kekäläinen's logarithm
_MAX_DISCOUNT_NUMBER = 100
MAX_GAIN = 1e100  # so that no sum of gains overflows
_MAX_EXP2_GRADE = 1000  # the doubles end at 2^1024

GAIN_KINDS = ("linear", "exp2", "binary")
check_gain = word_or_mapping(
    GAIN_KINDS,
    between(-MAX_GAIN, MAX_GAIN),
    "'linear', 'exp2', 'binary', ('binary', lowest relevant grade) or a mapping as {1: 1, 2: 3}",
    lowest=-LARGEST_GRADE,
)

Gain = Annotated[
    str | tuple[str, float] | Mapping[float, float],
    Parameter(
        "what a grade is worth: 'linear', the grade; 'exp2', 2^grade - 1; 'binary', 1 from grade 1 "
        "on, and ('binary', g) from grade g on, else 0; or a mapping {grade: gain}, where a grade "
        "that it does not name keeps its own value",
        check_gain,
    ),
]


def _check_discount(value: Any) -> str | tuple[str, float]:
    """Return a discount in its one form; ValueError, with what is expected, for no discount."""
    if isinstance(value, str) and value.lower() in _DISCOUNTS:
        return value.lower()
    if isinstance(value, list | tuple) and len(value) == 2:
        name, number = value[0], finite_number(value[1])
        lower_bound = {"jk": 1, "power": 0}.get(name)
        if (
            lower_bound is not None
            and number is not None
            and lower_bound < number <= _MAX_DISCOUNT_NUMBER
        ):
            return "jk" if (name, number) == ("jk", _DEFAULT_BASE) else (name, float(number))
    raise ValueError(
        "'log2', 'jk', ('jk', base above 1), 'ln', 'zipf', ('power', exponent above 0), 'linear' "
        "or 'none'"
    )


Discount = Annotated[
    str | tuple[str, float],
    Parameter(
        "what a gain at rank i is divided by: 'log2', log2(i + 1); 'jk', log2(i) from rank 2 on, "
        "and ('jk', b), log_b(i) from rank b on (Järvelin & Kekäläinen; 1 above that); 'ln', ln(i) "
        "from rank 2 on; 'zipf', i; ('power', a), i^a; 'linear', k / (k + 1 - i), k being the "
        "number of documents retrieved if there is no cutoff; 'none', 1: cumulated gain",
        _check_discount,
    ),
]


Ideal = Annotated[
    str,
    Parameter(
        "what the ideal ranking is made of: all documents 'judged', cut at k as the ranking is, or "
        "'uncut', or, after as many as were 'returned' in the first k; only those that were "
        "'retrieved', put in order; the 'top' grade of the collection at every rank down to k, or "
        "as many as were retrieved",
        choice("judged", "uncut", "returned", "retrieved", "top"),
    ),
]


def gains(ranked: Ranked, gain: Gain, top_grade: float) -> Numbers:
    """Return the gain of each row, (rows,); negative grades have 0 unless in a mapping."""
    gain_ = gain_of_grades(ranked.grade, gain, top_grade)
    return gain_


def gain_of_grades(grades: Numbers, gain: Gain, top_grade: float) -> Numbers:
    """Return the gain of each grade, in the shape of `grades`."""
    if gain == "linear":
        return np.maximum(grades, 0)
    if gain == "exp2":
        if top_grade > _MAX_EXP2_GRADE:
            raise MeasureError(
                f"gain='exp2': 2^{top_grade:.10g} is no number that a computer can add up; "
                "rescale the grades or use gain='linear'"
            )
        if not are_whole_grades(grades):
            return exp2(np.maximum(grades, 0)) - 1
        return np.ldexp(1.0, np.maximum(grades, 0).astype(np.intc)) - 1
    if isinstance(gain, Mapping):
        gain_ = look_up_numbers(grades, gain, np.maximum(grades, 0) * 1.0)
        return gain_
    return (grades >= lowest_relevant_grade(gain)) * 1


def lowest_relevant_grade(gain: str | tuple[str, float]) -> float:
    """Return the lowest relevant grade of a binary gain."""
    return 1 if gain == "binary" else float(gain[1])


def _ranking_dcg(
    judged: Judged, ranked: Ranked, k: Cutoff | None, gain: Gain, discount: Discount
) -> Floats:
    """Return the DCG of a ranking, the run's or the ideal one: (n_queries, n_cutoffs)."""
    cutoff = judged.effective_cutoffs(k) if discount == "linear" else k
    ranked = ranked.top(cutoff)
    return _sum_gains(ranked, gains(ranked, gain, judged.top_grade), cutoff, discount)


def _sum_gains(
    ranked: Ranked, row_gain: Numbers, cutoff: Ints | None, discount: Discount
) -> Floats:
    """Return the sum of the rows' discounted gains; `cutoff` is needed by the discount 'linear'."""
    if discount == "linear" and cutoff is not None:
        return ratio(
            (cutoff + 1) * ranked.total(row_gain) - ranked.total(row_gain * ranked.rank), cutoff
        )
    return ranked.total(row_gain / _divisors(ranked.rank, discount))


def _divisors(rank: Ints, discount: Discount) -> Numbers:
    """Return what the gain at each rank is divided by, (rows,)."""
    name, number = discount if isinstance(discount, tuple) else (discount, _DEFAULT_BASE)
    if name == "jk":
        discount_ = np.where(rank < number, 1, log2(rank) / math.log2(number))
    elif name == "ln":
        discount_ = np.where(rank == 1, 1, log(rank))
    elif name == "zipf":
        discount_ = rank
    elif name == "power":
        discount_ = power(rank, number)
    else:
        discount_ = np.ones(len(rank)) if name == "none" else log2(rank + 1)
    return discount_


def _ideal_ranking(judged: Judged, k: Cutoff | None, gain: Gain, ideal: str) -> Ranked:
    """Return the ranking that the parameter `ideal` names, not cut."""
    if ideal == "top":
        return judged.fill_ranks(judged.effective_cutoffs(k))
    if ideal in ("judged", "uncut", "returned"):
        return rank_by_gain(judged, gain)
    if judged.is_cut and judged.ties == "expected":
        raise MeasureError(f"ties='expected', ideal='retrieved': {depth_cut_reason(judged)}")
    ranking = judged.hits.reordered(gains(judged.hits, gain, judged.top_grade))
    return ranking.where(gains(ranking, gain, judged.top_grade) > 0)


def rank_by_gain(judged: Judged, gain: Gain) -> Ranked:
    """Return the judged documents that gain something, the highest gain first."""
    if gain in ("linear", "exp2"):
        return judged.ideal.relevant(judged.above_zero)
    if not isinstance(gain, Mapping):
        return judged.ideal.relevant(lowest_relevant_grade(gain))
    # A mapping may turn the order of the grades round.
    ideal = judged.ideal.reordered(gains(judged.ideal, gain, judged.top_grade))
    return ideal.where(gains(ideal, gain, judged.top_grade) > 0)


def gain_order_reason(
    judged: Judged,
    *,
    gain: Gain | None,
    discount: Discount = "log2",
    ideal: str = "judged",
    **_: Any,
) -> str:
    """Return why documents by falling grade are not by falling gain; an empty text if they are."""
    if ideal == "retrieved" and judged.is_cut:
        return depth_cut_reason(judged)
    if discount == "ln":
        return "1 / ln 2 is more than 1: rank 2 counts more than rank 1"
    if not isinstance(gain, Mapping):
        return ""
    pairs = zip(judged.ideal.grade.tolist(), gains(judged.ideal, gain, 0).tolist(), strict=True)
    gains_by_grade = [grade_gain for _, grade_gain in sorted(set(pairs))]
    if gains_by_grade != sorted(gains_by_grade):
        return "a lower grade gains more than a higher one"
    return "a judged document costs something" if gains_by_grade and gains_by_grade[0] < 0 else ""


BY_GAIN = Traits(by_grade=gain_order_reason, fractions="taken")

_IR_MEASURES_DCG = {"log2": "linear", "exp-log2": "exp2"}


def _translate(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Translate from ir_measures, which writes `dcg='exp-log2'` and `gains={...}`."""
    if len(parameters.keys() & {"gain", "gains", "dcg"}) > 1:
        raise MeasureError(f"{name} takes one of gain, gains and dcg")
    own_parameters = dict(parameters)
    if str(own_parameters.get("dcg")).lower() in _IR_MEASURES_DCG:
        own_parameters["gain"] = _IR_MEASURES_DCG[own_parameters.pop("dcg").lower()]
    if "gains" in own_parameters:
        own_parameters["gain"] = own_parameters.pop("gains")
    return name, own_parameters


def _bounds_method(parameters: Parameters) -> BoundsMethod:
    """Return "ratio" for gains of 0 or more and falling weights, which its proof needs."""
    gain = parameters["gain"]
    has_cost = isinstance(gain, Mapping) and min(gain.values()) < 0
    falls = parameters["discount"] not in ("ln", "linear")
    return "ratio" if falls and not has_cost and parameters["ideal"] == "judged" else "attained"


def _linearity(parameters: Parameters) -> Linearity:
    """Return "exact" for the ideal of the top grade, "ratio" for the judged one, else "no"."""
    linearity_of_ideal: dict[str, Linearity] = {"judged": "ratio", "top": "exact"}
    return linearity_of_ideal.get(parameters["ideal"], "no")


def _check_cuts(measure: Any) -> None:
    """Raise MeasureError if a linear discount is to go beyond its cutoff."""
    parameters = measure.parameters
    if parameters["ideal"] == "uncut" and parameters["discount"] == "linear":
        raise MeasureError(
            f"{measure}: discount='linear' counts down to the cutoff, and ideal='uncut' beyond it: "
            "leave one of them out"
        )


def _perfect_cut_reason(parameters: Parameters) -> str:
    return "the ideal ranking is not cut" if parameters["ideal"] == "uncut" else ""


@measure(
    "nDCG",
    names=Names(
        ("ndcg", "normalized_dcg", "normalized_discounted_cumulative_gain"),
        variants={
            "ndcg_burges": {"gain": "exp2"},
            "nDCG_JK": {"discount": "jk"},
            "MSnDCG": {},
            "nCG": {"discount": "none"},
        },
        families={"ndcg_cut": TREC_CUTOFFS},
        translate=_translate,
    ),
    traits=Traits(
        bounds=_bounds_method,
        linear=_linearity,
        by_grade=gain_order_reason,
        averages_ties=True,
        fractions="taken",
        fits=_check_cuts,
    ),
    perfect_cut=_perfect_cut_reason,
)
def ndcg(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
) -> Floats:
    """Normalized discounted cumulated gain: the ranking's DCG as a share of the best possible.

    The ideal ranking holds all judged documents of the query, retrieved or not, highest gain
    first, cut at the same k. Gains are the grades themselves unless `gain` says otherwise.
    Unjudged documents gain nothing. 0 for a query whose judged documents gain nothing. A mapping
    may give a grade a negative gain; the ideal leaves such documents out, and a ranking that has
    them may be below 0.

    What other tools call nDCG is written with other parameters: `gain='exp2'` (gdeval, Burges),
    `discount='jk'` (Järvelin & Kekäläinen, NTCIREVAL), `ideal='retrieved'` (scikit-learn, of what
    it was given), `ideal='uncut'` (Haystack, LlamaIndex, Quepid: not cut at k, so that even a
    perfect first k may have less than 1), `ideal='returned'` (Elasticsearch: cut where the list
    ends, so that a short list misses nothing), `ideal='top'` (the scaled DCG of C/W/L),
    `discount='none'` (nCG). With `discount='ln'` rank 2 counts more than rank 1, where the ideal
    has its best document: a ranking may then be above 1.

    Formula: DCG@k / DCG@k of the ideal ranking
    Source: Järvelin & Kekäläinen, TOIS 2002; trec_eval ndcg, ndcg_cut
    """
    best = ideal_dcg(judged, k, gain=gain, discount=discount, ideal=ideal)
    return ratio(dcg(judged, k, gain=gain, discount=discount), best)


@measure(
    "DCG",
    names=Names(
        ("dcg", "discounted_cumulative_gain"),
        variants={
            "dcg_burges": {"gain": "exp2"},
            "DCG_JK": {"discount": "jk"},
            "CG": {"discount": "none"},
            "cumulative_gain": {"discount": "none"},
        },
        translate=_translate,
    ),
    traits=Traits(
        bounds="extremes",
        linear="exact",
        by_grade=gain_order_reason,
        averages_ties=True,
        fractions="taken",
    ),
    range=(0, None),
)
def dcg(
    judged: Judged, k: Cutoff | None = None, *, gain: Gain = "linear", discount: Discount = "log2"
) -> Floats:
    """Discounted cumulated gain: what the documents are worth, less the further down they are.

    Unjudged documents gain nothing. Not normalized, so not comparable between queries: see nDCG.
    A mapping may give a grade a negative gain, and then the value may be negative.

    Formula: sum over ranks i <= k of gain_i / log2(i + 1)
    Source: Järvelin & Kekäläinen, TOIS 2002; discount of Burges et al., ICML 2005; trec_eval
        dcg
    """
    if judged.ties != "expected":
        return _ranking_dcg(judged, judged.hits, k, gain, discount)
    # Each place holds its score's mean gain (McSherry & Najork, ECIR 2008).
    cutoff = judged.effective_cutoffs(k)
    row_gain = gains(judged.hits, gain, judged.top_grade)
    places = judged.tie_places(row_gain, cutoff if discount == "linear" else k)
    average_gain = places.worth / places.size
    return _sum_gains(places.ranked, average_gain, cutoff, discount)


@measure(
    "IDCG",
    names=Names(("ideal_dcg",), translate=_translate),
    traits=replace(EXTREMES_AVERAGED, fractions="taken", fits=_check_cuts),
    range=(0, None),
    higher_is_better=None,
)
def ideal_dcg(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
) -> Floats:
    """Ideal discounted cumulated gain: the DCG of the best possible ranking, cut at k.

    That ranking holds all judged documents that gain something, retrieved or not, the highest gain
    first. The same for every run: it says how much there was to gain. Unjudged documents play no
    part.

    Formula: DCG@k of the ideal ranking
    Source: Järvelin & Kekäläinen, TOIS 2002; trec_eval ideal_dcg
    """
    ideal_ranking = _ideal_ranking(judged, k, gain, ideal)
    if ideal == "returned":
        k = judged.n_retrieved if k is None else np.minimum(k, judged.n_retrieved)
    k = judged.effective_cutoffs(k) if ideal == "top" else None if ideal == "uncut" else k
    if discount == "linear":  # which depends on how much was retrieved
        return _ranking_dcg(judged, ideal_ranking, k, gain, discount)
    return ideal_ranking.top(k).once(  # the same for every run
        f"ideal DCG, {gain}, {discount}",
        lambda: _ranking_dcg(judged, ideal_ranking, k, gain, discount),
    )


@measure("nDCG_rel", names=Names(("ndcg_rel",), translate=_translate), traits=BY_GAIN)
def ndcg_at_relevant(judged: Judged, *, gain: Gain = "linear") -> Floats:
    """Mean nDCG of the documents that gain something, each at its rank.

    For documents that were not retrieved it is the DCG of the whole ranking as a share of the best
    possible. 0 for a query whose judged documents gain nothing. Unjudged documents gain nothing.

    Formula: mean over the documents that gain something of DCG@i / DCG@i of the ideal ranking,
        i = the document's rank; of nDCG where it was not retrieved
    Source: trec_eval ndcg_rel
    """
    hits, ideal = judged.hits, rank_by_gain(judged, gain)
    hit_gain, ideal_gain = (_discounted_gain(judged, ranked, gain) for ranked in (hits, ideal))
    dcg_so_far = give_name("DCG so far", hits.running(hit_gain))
    ideal_so_far = give_name("ideal DCG so far", ideal.at(hits, ideal.running(ideal_gain)))
    ndcg_here = give_name("nDCG here", ratio(dcg_so_far, ideal_so_far))
    is_gaining = gains(hits, gain, judged.top_grade) > 0
    n_missing = ideal.count() - hits.where(is_gaining).count()
    missing = ratio(n_missing * dcg(judged, gain=gain), ideal.total(ideal_gain))
    return ratio(hits.total(np.where(is_gaining, ndcg_here, 0)) + missing, ideal.count())


def _discounted_gain(judged: Judged, ranked: Ranked, gain: Gain) -> Floats:
    """Return the gain of each row, divided by log2(rank + 1): (rows,)."""
    discounted_gain = gains(ranked, gain, judged.top_grade) / _divisors(ranked.rank, "log2")
    return discounted_gain


@measure(
    "RnDCG",
    names=Names(("Rndcg",), translate=_translate),
    traits=Traits(by_grade=gain_order_reason),
)
def ndcg_at_levels(judged: Judged, *, gain: Gain = "linear", rel: Rel = 1) -> Floats:
    """Mean nDCG at the ranks after which the gain of the ideal ranking falls.

    With 5 documents of gain 3 and 8 of gain 1: after ranks 5 and 13. If two documents more than
    that were retrieved, nDCG of the whole ranking counts as one point more (trec_eval's rule). 0
    for a query without a document of grade `rel`. Unjudged documents gain nothing.

    Formula: mean of nDCG@p over the ranks p after which the gain of the ideal ranking falls
    Source: trec_eval Rndcg
    """
    hits, ideal = judged.hits, rank_by_gain(judged, gain)
    hit_gain, ideal_gain = (_discounted_gain(judged, ranked, gain) for ranked in (hits, ideal))
    dcg_so_far = give_name("the ranking's DCG so far", hits.at(ideal, hits.running(hit_gain)))
    ndcg_here = give_name(
        "nDCG here", ratio(dcg_so_far, give_name("DCG so far", ideal.running(ideal_gain)))
    )
    steps = ideal.steps(gains(ideal, gain, judged.top_grade))
    at_end = judged.n_retrieved >= ideal.count() + 2
    counted = np.where(steps, ndcg_here, 0)
    points = ideal.total(counted) + at_end * ndcg(judged, gain=gain)
    mean = ratio(points, ideal.total(steps) + at_end)
    return np.where(judged.n_relevant(rel) > 0, mean, 0)


@measure("G", names=Names(translate=_translate), traits=Traits(fractions="taken"))
def normalized_gain(judged: Judged, *, gain: Gain = "linear") -> Floats:
    """Normalized gain: gain, discounted by how much less was gained so far than could have been.

    Unlike DCG, what a document is worth depends on what is above it. 0 for a query whose judged
    documents gain nothing. Unjudged documents gain nothing, and take up a rank.

    Formula: sum of gain_i / log2(2 + cost_i - gain so far), divided by all there is to gain;
        cost_i = sum of max(1, gain) down to rank i of the ideal ranking
    Source: trec_eval G
    """
    hits, ideal = judged.hits, rank_by_gain(judged, gain)
    hit_gain, ideal_gain = (gains(ranked, gain, judged.top_grade) for ranked in (hits, ideal))
    # Beyond the ideal's end, each rank costs 1.
    cost_so_far = ideal.running(np.maximum(ideal_gain, 1))
    beyond = np.maximum(hits.rank - hits.spread(ideal.count()), 0)
    cost = ideal.at(hits, cost_so_far) + beyond
    # Never less than 2, except by the rounding of gains beyond 2^53.
    behind = np.maximum(2 + cost - hits.running(hit_gain), 2)
    discount = log2(behind)
    return ratio(hits.total(hit_gain / discount), ideal.total(ideal_gain))
