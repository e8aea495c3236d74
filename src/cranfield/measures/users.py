"""Measures of a user who reads down the ranking and stops with some probability."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from cranfield.arrays.elementary import powers
from cranfield.arrays.ranked import Floats, Ints, Ranked, look_up, ratio
from cranfield.data.judged import Judged
from cranfield.measures.gain import Gain, check_gain, gain_order_reason, gains
from cranfield.measures.parameters import (
    Cutoff,
    Parameter,
    Parameters,
    Persistence,
    Rel,
    choice,
    optional,
)
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import BY_GRADE, NOT_OF_GRADES, BoundsMethod, Linearity, Traits


def _bounds_method(parameters: Parameters) -> BoundsMethod:
    """Return how bounds are found: scaled gains depend on the other grades of a query, too."""
    gain = parameters["gain"]
    return "extremes" if gain is None else "attained" if isinstance(gain, Mapping) else "split"


def _fractions(parameters: Parameters) -> str:
    gain = parameters["gain"]
    if isinstance(gain, Mapping):
        return "gains are scaled by all whole grades up to the query's highest: use gain='linear'"
    return "level" if gain is None else "taken"


def _linearity(parameters: Parameters) -> Linearity:
    return "exact" if parameters["gain"] is None else "no"


@measure(
    "RBP",
    names=Names(
        ("rank_biased_precision",), variants={"rbp": {"p": 0.9, "gain": "linear"}}, decimals="p"
    ),
    traits=Traits(
        bounds=_bounds_method, linear=_linearity, by_grade=gain_order_reason, fractions=_fractions
    ),
    perfect="its weights add up to 1 only over endlessly many relevant documents",
)
def rank_biased_precision(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    p: Persistence = 0.8,
    gain: Annotated[
        str | tuple[str, float] | Mapping[float, float] | None,
        Parameter(
            "None: 1 from grade rel on, else 0; otherwise what a grade is worth, as in nDCG, "
            "scaled to 0..1 by the query's lowest and highest if one is outside",
            optional(check_gain),
        ),
    ] = None,
    rel: Rel = 1,
) -> Floats:
    """Rank-biased precision: the gain of a user who goes on from each document with probability p.

    Binary unless `gain` says what a grade is worth (then `rel` plays no part). Gains below 0 or
    above 1 are scaled to 0..1 by the least and the greatest gain of the grades 0 to the query's
    highest (and of all that a mapping names), as trec_eval intends. Unjudged documents gain
    nothing. Written `rbp`, in lower case, it is trec_eval's: p = 0.9 and the grades as gains.
    Documents of a negative grade gain nothing.

    Formula: (1 - p) * sum over ranks i (i <= k) of gain_i * p^(i-1)
    Source: Moffat & Zobel, ACM TOIS 2008; trec_eval rbp (p = 0.9, graded)
    """
    hits = judged.hits.top(k)
    hits = hits.relevant(rel if gain is None else 0)
    weight = powers(p, hits.rank - 1)
    if gain is None:
        return hits.total(weight) * (1 - p)
    row_gain = _scale_gains(judged, hits, gain)
    return hits.total(row_gain * weight) * (1 - p)


def _scale_gains(judged: Judged, hits: Ranked, gain: Gain) -> Floats:
    """Return the gain of each hit, (rows,), scaled to 0..1 if an extreme gain is outside."""
    if isinstance(gain, Mapping):  # documents of a negative grade are not among the hits
        gain = {grade: grade_gain for grade, grade_gain in gain.items() if grade >= 0}
    low, high = _extreme_gains(judged.ideal.relevant(0), gain, judged.top_grade)
    lowest, highest = hits.spread(low), hits.spread(high)
    row_gain = gains(hits, gain, judged.top_grade)
    scaled = ratio(row_gain - lowest, highest - lowest)
    scaled_gain = np.where((lowest < 0) | (highest > 1), scaled, row_gain)
    return scaled_gain


def _extreme_gains(pool: Ranked, gain: Gain, top_grade: float) -> tuple[Floats, Floats]:
    """Return the lowest and highest gain of each query: (n_queries, 1).

    Over the grades from 0 to its highest, in use or not, and all from 0 that a mapping names.
    """
    if not isinstance(gain, Mapping) or not gain:
        highest = pool.maximum(gains(pool, gain, top_grade))
        return np.zeros(highest.shape), highest
    # A grade that the mapping does not name is worth itself: the lowest and the highest such grade.
    lowest_grade = next(grade for grade in range(len(gain) + 1) if grade not in gain)
    top = pool.first(pool.grade)
    greatest = top
    for grade in sorted(gain, reverse=True):
        greatest = np.where(greatest == grade, grade - 1, greatest)
    low, high = min(gain.values()), max(gain.values())
    lowest_gain = np.where(lowest_grade <= top, np.minimum(lowest_grade, low), low)
    highest_gain = np.where(greatest >= 0, np.maximum(greatest, high), high)
    return lowest_gain, highest_gain


@measure(
    "RBPResidual",
    names=Names(variants={"rbp_resid": {"p": 0.9, "tail": "if unjudged"}}),
    traits=NOT_OF_GRADES,
    higher_is_better=False,
)
def rbp_residual(
    judged: Judged,
    *,
    p: Persistence = 0.8,
    tail: Annotated[
        str,
        Parameter(
            "what lies beyond the last document 'counts', or counts 'if unjudged' documents "
            "are above it, as in trec_eval",
            choice("counts", "if unjudged"),
        ),
    ] = "counts",
) -> Floats:
    """Residual of RBP: how much higher it could be if every unjudged document were relevant.

    That is the uncertainty of RBP: what the unjudged documents weigh (a negative grade is no
    judgment), and all that lies beyond the end of the ranking.

    Formula: p^n + (1 - p) * sum over unjudged ranks i <= n of p^(i-1), n = documents retrieved
    Source: Moffat & Zobel, ACM TOIS 2008; trec_eval rbp_resid (p = 0.9)
    """
    ranked = judged.every()
    unjudged = ranked.where(~ranked.judged | (ranked.grade < 0))
    beyond = powers(p, judged.n_retrieved)
    if tail == "if unjudged":
        beyond = np.where(unjudged.count() > 0, beyond, 0)
    weight = powers(p, unjudged.rank - 1)
    return beyond + (1 - p) * unjudged.total(weight)


@measure("EEL", names=("EE_L",), traits=BY_GRADE, range=(0, None), higher_is_better=False)
def expected_exposure_loss(judged: Judged, *, p: Persistence = 0.5, rel: Rel = 1) -> Floats:
    """Expected exposure loss: how unfair the exposure of documents is, for users who go on with p.

    A fair system shows the relevant documents first, each of them as often as the others; a single
    ranking cannot, and so has a loss wherever two documents are relevant. Grades from `rel` on are
    alike. Unjudged documents and those of lower grades should not be seen at all (the collection
    is taken to be endless); relevant documents that were not retrieved lack their whole share.

    Formula: sum over documents of (exposure - target)^2; exposure = p^(rank - 1), target = the
        mean of p^(i - 1) over i <= R for each of the R relevant documents, 0 for others
    Source: Diaz, Mitra, Ekstrand, Biega & Carterette, CIKM 2020
    """
    hits, n_relevant = judged.hits.relevant(rel), judged.n_relevant(rel)
    target = ratio(_sum_of_powers(p, n_relevant), n_relevant)
    exposure = powers(p, hits.rank - 1)
    difference = (exposure - hits.spread(target)) ** 2 - exposure * exposure
    found = hits.total(difference)
    missed = (n_relevant - hits.count()) * target * target
    return _sum_of_powers(p * p, judged.n_retrieved) + found + missed


def _sum_of_powers(p: float, n: Ints) -> Floats:
    """Return the sum of p^(i - 1) over i = 1 to n, in the shape of `n`."""
    weights = powers(p, np.arange(int(n.max(initial=0))))
    words = f"(sum of {p:.10g}^(i - 1), i = 1 to {{}})"
    return look_up(words, np.concatenate(([0.0], np.cumsum(weights))), n)
