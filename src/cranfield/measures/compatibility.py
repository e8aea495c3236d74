"""Measures of how much the ranking agrees with an ideal ranking of the judged documents."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from cranfield.arrays.elementary import powers
from cranfield.arrays.ranked import Floats, Ints, Ranked, look_up, ratio
from cranfield.data.judged import MAX_DEPTH, Judged
from cranfield.measures.parameters import Parameter, Persistence, whole_between
from cranfield.measures.registry import measure
from cranfield.measures.traits import BY_GRADE
from cranfield.options import check_flag


@measure("Compat", names=("Compatibility",), traits=replace(BY_GRADE, fractions="taken"))
def compatibility(
    judged: Judged,
    *,
    p: Persistence = 0.95,
    normalize: Annotated[
        bool, Parameter("whether to divide by what the ideal ranking itself reaches", check_flag)
    ] = True,
    depth: Annotated[
        int, Parameter("the last rank that counts", whole_between(1, MAX_DEPTH))
    ] = 1000,
) -> Floats:
    """Compatibility: rank-biased overlap of the ranking with the ideal that is nearest to it.

    The ideal ranking holds the documents with a grade above 0, highest grade first; among equal
    grades those that the run retrieved come first, in its order, and then the others. Unjudged
    documents, and those of grade 0 or below, take up ranks and agree with nothing; a relevant
    document that was not retrieved is missing from every overlap. 0 for a query without relevant
    documents.

    Formula: sum over depths i <= depth of p^(i-1) n_i / i, n_i = documents that are both in
        the first i of the ranking and in the first i of the ideal; divided by that of the
        ideal itself (or, not normalized, by the sum of p^(i-1))
    Source: Clarke, Vtyurina & Smucker, ACM TOIS 2021; compatibility.py
    """
    hits, ideal = (ranked.relevant(judged.above_zero) for ranked in (judged.hits, judged.ideal))
    # A document in both counts at every depth from the later of its two ranks on.
    weight = _weights_from(p, depth)
    words = f"(sum of {p:.10g}^(i - 1) / i, i = {{}} to {depth})"

    def total(ranked: Ranked, later_rank: Ints) -> Floats:
        worth = look_up(words, weight, np.minimum(later_rank, depth + 1))
        return ranked.total(worth)

    best = total(ideal, ideal.rank)
    most = best if normalize else np.cumsum(powers(p, np.arange(depth)))[-1:, None]
    return ratio(total(hits, np.maximum(hits.rank, hits.places(ideal))), most)


def _weights_from(p: float, depth: int) -> Floats:
    """Return, for each rank, the sum of p^(i-1) / i from there to the depth; 0 beyond, and at 0."""
    ranks: Ints = np.arange(1, depth + 1)
    sums = np.cumsum((powers(p, ranks - 1) / ranks)[::-1])[::-1]
    return np.concatenate(([0.0], sums, [0.0]))
