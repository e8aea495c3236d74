"""Measures of users whom a grade stops, or to whom it is relevant, with a probability."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.grades import SMALLEST_POSITIVE, are_whole_grades, exp2
from cranfield.arrays.ranked import Floats, Numbers, Ranked, ratio
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import (
    Cutoff,
    Gains,
    Parameter,
    Parameters,
    between,
    look_up_numbers,
    optional,
    whole_between,
    word_or_mapping,
)
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import BY_GRADE, BoundsMethod, Traits

_MAX_GRADES = 1000  # of share='uniform'
_MAX_TOP = 1000  # the doubles end at 2^1024

Top = Annotated[
    int | None,
    Parameter(
        "the highest grade of the scale; None: the highest in the judgments",
        optional(whole_between(1)),
    ),
]
Stop = Annotated[
    str | Mapping[float, float],
    Parameter(
        "the probability that a document of a grade g makes the user stop: 'exp2', "
        "(2^g - 1) / 2^top; 'linear', g / (top + 1); or a mapping {grade: probability}, where a "
        "grade that it does not name has 0",
        word_or_mapping(
            ("exp2", "linear"), between(0, 1), "'exp2', 'linear' or a mapping as {1: 0.25, 2: 0.75}"
        ),
    ),
]


def _make_chance(
    judged: Judged, stop: str | Mapping[float, float], top: float | None
) -> Callable[[Ranked], Numbers]:
    """Return a function that gives each row of a ranking the probability to stop there.

    Raises MeasureError, also from the function, where `top` is too low or too high for `stop`.
    """
    top = judged.top_grade or 1 if top is None else top
    if isinstance(stop, str) and judged.top_grade > top:
        raise MeasureError(
            f"top={top}: the judgments have grade {judged.top_grade:.10g}; say the scale's highest "
            "grade"
        )

    def stop_probability(ranked: Ranked) -> Numbers:
        if isinstance(stop, Mapping):
            stops = look_up_numbers(ranked.grade, stop, np.zeros(len(ranked.grade)))
        elif stop == "linear":
            stops = np.maximum(ranked.grade, 0) / (top + 1)
        elif top > _MAX_TOP:
            raise MeasureError(
                f"stop='exp2': 2^{top:.10g} is no number that a computer can divide by; rescale "
                "the grades or use stop='linear'"
            )
        elif not are_whole_grades(ranked.grade) or top != int(top):
            stops = (exp2(np.maximum(ranked.grade, 0)) - 1) / math.pow(2, top)
        else:
            stops = np.ldexp(np.ldexp(1.0, np.maximum(ranked.grade, 0).astype(np.intc)) - 1, -top)
        return stops

    return stop_probability


def _bounds_unless_stated(method: BoundsMethod) -> Callable[[Parameters], BoundsMethod]:
    """Return how bounds are found: by `method` unless a mapping states the probabilities."""
    return lambda parameters: "attained" if isinstance(parameters["stop"], Mapping) else method


def _mapping_reason(judged: Judged, *, stop: str | Mapping[float, float], **_: Any) -> str:
    """Return why grades do not rank ties from best to worst, for a mapping; else ""."""
    return "what is stated need not rise with the grade" if isinstance(stop, Mapping) else ""


def _expected_rr(ranked: Ranked, k: Cutoff | None, chance: Callable[[Ranked], Numbers]) -> Floats:
    """Return the mean of 1 / rank where users stop, by the `chance` of each row."""
    ranked = ranked.top(k)
    stops = chance(ranked)
    reached = ranked.before(1 - stops)
    return ranked.total(reached * stops / ranked.rank)


@measure(
    "ERR",
    names=Names(
        ("expected_reciprocal_rank",),
        variants={"gdeval_err": {"top": 4}, "NTCIR_ERR": {"stop": "linear"}},
    ),
    traits=Traits(
        bounds=_bounds_unless_stated("retrieved"), by_grade=_mapping_reason, fractions="taken"
    ),
    perfect="its maximum depends on the judgments: see nERR",
)
def expected_reciprocal_rank(
    judged: Judged, k: Cutoff | None = None, *, stop: Stop = "exp2", top: Top = None
) -> Floats:
    """Expected reciprocal rank: 1 / rank where a user stops who is satisfied by good documents.

    The user reads down and stops at a document with a probability that its grade gives: the more
    has been found above, the less a document further down counts. Unjudged documents and negative
    grades satisfy nobody; relevant documents that were not retrieved are not missed (see nERR). 0
    where nothing relevant was retrieved.

    The scale's highest grade is the collection's, unless `top` says it: gdeval (and ir_measures)
    has top=4 for all judgments, NTCIREVAL `stop='linear'`.

    Formula: sum over ranks i <= k of 1/i * p_i * product over j < i of (1 - p_j), p_i =
        (2^grade - 1) / 2^top
    Source: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009
    """
    return _expected_rr(judged.hits, k, _make_chance(judged, stop, top))


@measure(
    "nERR",
    names=Names(variants={"NTCIR_nERR": {"stop": "linear"}}),
    traits=Traits(
        bounds=_bounds_unless_stated("sorted"), by_grade=_mapping_reason, fractions="taken"
    ),
)
def normalized_err(
    judged: Judged, k: Cutoff | None = None, *, stop: Stop = "exp2", top: Top = None
) -> Floats:
    """Normalized expected reciprocal rank: ERR as a share of the best possible.

    The ideal ranking holds all judged documents of the query, retrieved or not, the most
    satisfying first, cut at the same k. Unjudged documents satisfy nobody. 0 for a query without
    relevant documents.

    Formula: ERR@k / ERR@k of the ideal ranking
    Source: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011; NTCIREVAL nERR
    """
    chance = _make_chance(judged, stop, top)
    ideal = judged.ideal.reordered(chance(judged.ideal))
    return ratio(_expected_rr(judged.hits, k, chance), _expected_rr(ideal, k, chance))


def _check_thresholds(value: Any) -> str | Gains:
    """Return the shares of users in their one form; ValueError for what are none."""
    expected = "'uniform' or a mapping as {1: 0.5, 3: 0.5}, of grades above 0, one share above 0"
    check = word_or_mapping(("uniform",), between(0, 1), expected, lowest=SMALLEST_POSITIVE)
    shares: str | Gains = check(value)
    if isinstance(shares, Gains) and not any(share for _, share in shares):
        raise ValueError(expected)
    return shares


def _fractions(parameters: Parameters) -> str:
    """Return "taken" for a mapping, else why grades that are not whole are refused."""
    if isinstance(parameters["share"], Mapping):
        return "taken"
    return (
        "share='uniform' goes from one whole grade to the next: name the grades that matter, as in "
        "GAP(share={0.25: 0.5, 0.75: 0.5})"
    )


@measure(
    "GAP",
    names=("graded_AP",),
    traits=replace(BY_GRADE, fractions=_fractions),
    perfect_cut="divided by all relevant documents, also where k is smaller",
)
def graded_average_precision(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    share: Annotated[
        str | Mapping[float, float],
        Parameter(
            "the share of users to whom a grade is the lowest that is relevant: a mapping {grade: "
            "share}; 'uniform', every grade from 1 to the collection's highest alike",
            _check_thresholds,
        ),
    ] = "uniform",
) -> Floats:
    """Graded average precision: AP for users who differ in which grade is relevant to them.

    The numerator and the denominator of AP are each averaged over the users. With one threshold it
    is AP with that `rel`. Unjudged documents are relevant to nobody. 0 for a query without
    relevant documents.

    Formula: sum over grades s of share_s * (sum of the precision at each document of grade >=
        s) / sum over s of share_s * (documents of grade >= s)
    Source: Robertson, Kanoulas & Yilmaz, SIGIR 2010
    """

    def sum_precision(grade: float) -> Floats:
        hits = judged.hits.relevant(grade).top(k)
        precision = hits.ordinal / hits.rank
        return hits.total(precision)

    user_shares, zeros = _user_shares(judged, share), np.zeros((1, 1))
    return ratio(
        sum((user_share * sum_precision(grade) for grade, user_share in user_shares), zeros),
        sum((user_share * judged.n_relevant(grade) for grade, user_share in user_shares), zeros),
    )


def _user_shares(judged: Judged, share: str | Mapping[float, float]) -> list[tuple[float, float]]:
    """Return (lowest relevant grade, share of the users, up to a factor) of each group of users."""
    if isinstance(share, Mapping):
        return list(share.items())
    if judged.top_grade > _MAX_GRADES:
        raise MeasureError(
            f"share='uniform' over {judged.top_grade:,} grades: name those that matter, as in "
            "GAP(share={1: 0.5, 3: 0.5})"
        )
    return [(grade, 1.0) for grade in range(1, int(judged.top_grade) + 1)]  # their sum cancels out
