"""Interpolated precision: the best precision from a recall on, at one recall or over several."""

from typing import Annotated

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.arrays.trace import give_name
from cranfield.data.judged import Judged
from cranfield.measures.parameters import Parameter, RecallPoint, Rel, between, choice, tuple_of
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import BY_GRADE

RECALL_POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

Version = Annotated[
    int, Parameter("the version of trec_eval whose rule for recall points holds", choice(9, 10))
]


@measure(
    "IPrec",
    names=Names(
        ("interpolated_precision_at_recall",),
        families={"iprec_at_recall": RECALL_POINTS, "PR_curve": RECALL_POINTS},
    ),
    traits=BY_GRADE,
)
def interpolated_precision(
    judged: Judged, recall: RecallPoint, *, version: Version = 10, rel: Rel = 1
) -> Floats:
    """Interpolated precision at recall x: the best precision from that recall on.

    Recall x is reached with round(x R) relevant documents of R, halves rounded up, as in trec_eval
    10; in its version 9 (and pytrec_eval) it is floor(x R + 0.9). 0 if the run never gets there.
    Unjudged documents count as not relevant.

    Formula: highest precision at any rank that has recall x or more, that is round(x R) of the
        R relevant documents
    Source: Salton & McGill, Introduction to Modern Information Retrieval, 1983; trec_eval
        iprec_at_recall
    """
    hits = judged.hits.relevant(rel)
    needed = np.floor(recall * judged.n_relevant(rel) + (0.5 if version == 10 else 0.9))
    reached = hits.ordinal >= hits.spread(needed)
    precision_ = hits.ordinal / hits.rank
    from_there = np.where(reached, precision_, 0)
    return hits.maximum(give_name(f"from {recall:g}", from_there))


@measure(
    "IAP", names=Names(("11pt_avg", "11pt"), parameter={"11pt_avg": "points"}), traits=BY_GRADE
)
def interpolated_average_precision(
    judged: Judged,
    *,
    points: Annotated[
        tuple[float, ...],
        Parameter(
            "the recall points to average over",
            tuple_of(between(0, 1), "recall points from 0 to 1, as in (0.25, 0.5, 0.75)"),
        ),
    ] = RECALL_POINTS,
    version: Version = 10,
    rel: Rel = 1,
) -> Floats:
    """Interpolated average precision: the mean over eleven recall levels, 0 to 1 (or others).

    Unjudged documents count as not relevant.

    Formula: mean of IPrec@x over the recall points x
    Source: Salton & McGill, Introduction to Modern Information Retrieval, 1983; trec_eval
        11pt_avg
    """
    total = interpolated_precision(judged, points[-1], version=version, rel=rel)
    for point in points[-2::-1]:  # trec_eval adds from the last point to the first
        total = total + interpolated_precision(judged, point, version=version, rel=rel)
    return total / len(points)
