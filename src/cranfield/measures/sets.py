"""Measures of what was retrieved as a set, in any order; and counts."""

import math
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, ratio
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import (
    Parameter,
    Parameters,
    Rel,
    between,
    optional,
    positive_number,
    tuple_of,
    whole_between,
)
from cranfield.measures.precision import Beta, weighted_mean
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import (
    EXTREMES,
    EXTREMES_AVERAGED,
    LINEAR,
    NOT_OF_GRADES,
    Traits,
    depth_cut_reason,
)
from cranfield.options import finite_number

_LONG_RUN_REASON = "retrieving anything more lowers precision: unjudged counts as not relevant"
_ANY_JUDGMENTS = replace(NOT_OF_GRADES, takes_groups=True, of_sets=True, averages_ties=True)
_SETS, _LINEAR = (replace(traits, of_sets=True) for traits in (EXTREMES, LINEAR))


def n_relevant_retrieved(judged: Judged, rel: float) -> Ints:
    """Count the relevant documents retrieved: (n_queries, 1)."""
    return judged.hits.relevant(rel).count()


def _translate_relative(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Translate from ir_measures, which writes `SetP(relative=True)` for what is SetRelP here."""
    relative = parameters.get("relative", False)
    if not isinstance(relative, bool):
        raise MeasureError(f"{name}(relative={relative!r}): expected True or False")
    own_parameters = {key: value for key, value in parameters.items() if key != "relative"}
    return ("SetRelP" if relative else name), own_parameters


def _translate_beta(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Translate x to beta if beta has at most three decimals, and x is its square; else keep x."""
    x = parameters.get("x")
    if x is None:
        return name, {**parameters, "x": None} if "beta" in parameters else parameters
    if "beta" in parameters:
        raise MeasureError("SetF takes beta or x, which is beta^2, not both")
    beta = math.sqrt(x) if 0 < (finite_number(x) or 0) < 1e9 else 0.0
    if beta and beta * beta == x and beta == round(beta, 3):
        return name, {**parameters, "beta": beta, "x": None}
    return name, {**parameters, "beta": 1.0}


def _translate_level(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Translate from ir_measures, which writes `NumRet(rel=1)` for what is NumRelRet here."""
    return ("NumRelRet" if "rel" in parameters else name), parameters


@measure(
    "SetP",
    names=Names(("set_P",), translate=_translate_relative),
    traits=_LINEAR,
    perfect=_LONG_RUN_REASON,
)
def set_precision(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Precision of everything retrieved, however long. 0 if nothing was.

    Unjudged documents count as not relevant.

    Formula: relevant retrieved / retrieved
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval set_P
    """
    return ratio(n_relevant_retrieved(judged, rel), judged.n_retrieved)


@measure("SetR", names=("set_recall",), traits=_SETS)
def set_recall(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Recall of everything retrieved. 0 for a query without relevant documents.

    Unjudged documents count as not relevant.

    Formula: relevant retrieved / relevant
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966; trec_eval set_recall
    """
    return ratio(n_relevant_retrieved(judged, rel), judged.n_relevant(rel))


@measure(
    "SetF",
    names=Names(("set_F",), translate=_translate_beta, parameter={"set_f": "x"}),
    traits=_SETS,
    perfect=_LONG_RUN_REASON,
)
def set_f(
    judged: Judged,
    *,
    beta: Beta = 1.0,
    x: Annotated[
        float | None,
        Parameter(
            "beta^2, in place of beta: trec_eval's and ir_measures' parameter",
            optional(positive_number),
        ),
    ] = None,
    rel: Rel = 1,
) -> Floats:
    """F of everything retrieved: the weighted harmonic mean of SetP and SetR.

    Recall counts beta times as much as precision. trec_eval's set_F.2 and ir_measures' SetF(beta=2)
    mean beta^2 = 2: SetF(x=2) here. 0 where both are 0. Unjudged documents count as not relevant.

    Formula: (1 + x) P R / (x P + R), of SetP and SetR; x = beta^2
    Source: van Rijsbergen, Information Retrieval, 1979; trec_eval set_F
    """
    weight = beta * beta if x is None else x
    precision, recall = set_precision(judged, rel=rel), set_recall(judged, rel=rel)
    return weighted_mean(precision, recall, weight)


@measure("SetAP", names=("set_map",), traits=_SETS, perfect=_LONG_RUN_REASON)
def set_average_precision(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Average precision of a set: what AP would be if relevant documents were spread evenly.

    Unjudged documents count as not relevant.

    Formula: relevant retrieved^2 / (retrieved * relevant), that is SetP SetR
    Source: trec_eval set_map
    """
    found = n_relevant_retrieved(judged, rel)
    return ratio(found * found, judged.n_retrieved * judged.n_relevant(rel))


@measure("SetRelP", names=("set_relative_P",), traits=_SETS)
def set_relative_precision(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Relevant documents retrieved, of as many as a set of that size could hold.

    Unjudged documents count as not relevant.

    Formula: relevant retrieved / min(retrieved, relevant)
    Source: trec_eval set_relative_P
    """
    possible = np.minimum(judged.n_retrieved, judged.n_relevant(rel))
    return ratio(n_relevant_retrieved(judged, rel), possible)


def _weights_reason(judged: Judged, *, weights: tuple[float, ...], **_: Any) -> str:
    """Return why grades do not rank ties from best to worst (`Traits.by_grade`), or ""."""
    relevant_weight, nonrelevant_weight, missed_weight, nonrelevant_missed_weight = weights
    finding_pays = relevant_weight + nonrelevant_missed_weight >= nonrelevant_weight + missed_weight
    return "" if finding_pays else depth_cut_reason(judged)


@measure(
    "Utility",
    names=Names(("utility",), parameter={"utility": "weights"}),
    traits=Traits(of_sets=True, by_grade=_weights_reason),
    range=(-math.inf, None),
)
def utility(
    judged: Judged,
    *,
    weights: Annotated[
        tuple[float, float, float, float],
        Parameter(
            "what a document is worth that is relevant and retrieved, not relevant and retrieved, "
            "relevant and missed, not relevant and missed",
            tuple_of(between(-1e9, 1e9), "four numbers, as in (1, -1, 0, 0)", 4),
        ),
    ] = (1.0, -1.0, 0.0, 0.0),
    collection: Annotated[
        int, Parameter("the number of documents there are to retrieve from", whole_between(0))
    ] = 0,
    rel: Rel = 1,
) -> Floats:
    """Linear utility of a set: the documents retrieved and missed, each at its price.

    Unjudged documents count as not relevant. The last weight needs the size of the collection.

    Formula: a * relevant retrieved + b * others retrieved + c * relevant missed + d * others
        missed, (a, b, c, d) = weights
    Source: Lewis, SIGIR 1995; trec_eval utility
    """
    found, retrieved = n_relevant_retrieved(judged, rel), judged.n_retrieved
    relevant = judged.n_relevant(rel)
    return (
        weights[0] * found
        + weights[1] * (retrieved - found)
        + weights[2] * (relevant - found)
        + weights[3] * (collection + found - retrieved - relevant)
    )


count_measure = partial(measure, aggregation="sum", range=(0, None))


@count_measure("NumQ", names=("num_q",), traits=_ANY_JUDGMENTS, range=(1, 1), higher_is_better=None)
def n_queries(judged: Judged) -> Floats:
    """The number of queries that the means are taken over.

    Unjudged documents play no part.

    Formula: 1 for each query averaged
    Source: trec_eval num_q
    """
    return np.ones_like(judged.n_retrieved) * 1.0


@count_measure(
    "NumRet",
    names=Names(("num_ret",), translate=_translate_level),
    traits=_ANY_JUDGMENTS,
    higher_is_better=None,
)
def n_retrieved(judged: Judged) -> Floats:
    """The number of documents retrieved; the sum over queries.

    Unjudged documents count, too.

    Formula: documents retrieved
    Source: trec_eval num_ret
    """
    return judged.n_retrieved * 1.0


@count_measure(
    "NumRel",
    names=("num_rel",),
    traits=replace(EXTREMES_AVERAGED, of_sets=True),
    higher_is_better=None,
)
def n_relevant(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The number of relevant documents in the judgments, retrieved or not; the sum over queries.

    Unjudged documents are none of them.

    Formula: relevant documents in the judgments
    Source: trec_eval num_rel
    """
    return judged.n_relevant(rel) * 1.0


@count_measure("NumRelRet", names=("num_rel_ret",), traits=_LINEAR)
def n_relevant_and_retrieved(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The number of relevant documents retrieved; the sum over queries.

    Unjudged documents do not count.

    Formula: relevant documents retrieved
    Source: trec_eval num_rel_ret
    """
    return n_relevant_retrieved(judged, rel) * 1.0


@count_measure(
    "NumNonRelRet",
    names=("num_nonrel_judged_ret",),
    traits=Traits(of_sets=True, bounds="extremes", linear="exact", by_grade=depth_cut_reason),
    higher_is_better=False,
)
def n_nonrelevant_retrieved(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The number of documents retrieved that were judged not relevant; the sum over queries.

    Documents of a negative grade are not counted. Unjudged documents do not count.

    Formula: judged documents retrieved that are not relevant
    Source: trec_eval num_nonrel_judged_ret
    """
    pool = judged.hits.relevant(0)
    return pool.where(pool.grade < rel).count() * 1.0
