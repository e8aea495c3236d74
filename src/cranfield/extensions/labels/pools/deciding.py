"""Which unjudged documents decide between two runs: those that narrow the bounds most, in order.

The difference of two runs lies between bounds while documents are unjudged (see
`cranfield.extensions.whatif.joint_bounds`). Judging one narrows them by what it may add to the
one run less to the other. Once both bounds are on one side of 0, no other judgment can change which
run is better. The greedy order judges first what may add most.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, means
from cranfield.data.judged import NO_CUTOFF
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, MeasureError
from cranfield.extensions.whatif.extremes import ROUNDING, LinearExtremes, RatioExtremes
from cranfield.extensions.whatif.joint_bounds import pair_bounds
from cranfield.extensions.whatif.unjudged import find_unjudged_with_ids
from cranfield.measures import Measure
from cranfield.scoring.evaluate import score_runs


class DecidingDocuments(NamedTuple):
    """The unjudged documents of two runs, that which may change the difference most first."""

    documents: Sequence[tuple[str, str]]  # (query, document)
    difference: float  # of the means, the first run's minus the second's
    low: float  # of the difference, over every way to grade the unjudged
    high: float
    n_needed: int | None  # judged, in order and all with grade 0, so many make the sign certain

    @property
    def is_certain(self) -> bool:
        """Whether the sign of the difference is the same however the unjudged are graded."""
        return _is_certain(self.low, self.high)


def _is_certain(low: float, high: float) -> bool:
    return low > ROUNDING or high < -ROUNDING


def find_deciding(
    judgments: Qrels, runs: Mapping[str, Run], measure: Measure, judging: Judging
) -> DecidingDocuments:
    """Return the order in which to judge the unjudged documents of two runs.

    Raises MeasureError for a measure to which documents do not add one by one, and that is not
    nDCG; InputError for runs that share no judged query.
    """
    systems = score_runs(judgments, runs, [measure], judging)
    one, other = systems.values()
    there = set(other.query_ids)
    query_ids = [query for query in one.query_ids if query in there]
    if not query_ids:
        raise InputError("the two runs share no query of the judgments")
    every = np.array([0]), np.array([1])
    [bounds] = pair_bounds(judgments, runs, systems, *every, query_ids, separate=False)
    if bounds is None:
        raise MeasureError(
            f"{measure}: which documents decide is known for measures to which documents add one "
            "by one, such as P, DCG and RBP, and for nDCG"
        )
    some = judgments.select_queries(query_ids)
    query_ids = [*some.query_ids]
    is_sum = measure.linear == "exact"
    kind = LinearExtremes(measure, some) if is_sum else RatioExtremes(measure, some)
    if kind.zero_share:
        raise MeasureError(
            f"{measure}: grade 0 does not count as unjudged, so that no order of judging is known"
        )
    docs, at, moved = _find_moves(kind, some, list(runs.values()), judging)
    first, second = (its.per_query(measure) for its in (one, other))
    difference = np.array([first[query] - second[query] for query in query_ids])
    low, high = kind.ends(at, moved, difference)
    # Each document's part of the width of its query's bounds. What moves neither run may change
    # the ideal ranking, and comes last, from the query with the widest bounds.
    sums = np.bincount(at, np.abs(moved), len(query_ids))
    share = np.divide(np.abs(moved), sums[at], out=np.zeros(len(at)), where=sums[at] > 0)
    width = (high - low)[at]
    order = np.lexsort((-width, -share * width))
    order = order[(moved[order] != 0) if is_sum else (width[order] > ROUNDING)]
    at, moved = at[order], moved[order]

    def ends_after(n: int) -> tuple[float, float]:
        left = kind.ends(at[n:], moved[n:], difference)
        return float(means(left[0][:, None])[0]), float(means(left[1][:, None])[0])

    return DecidingDocuments(
        [(query_ids[query], docs[i]) for query, i in zip(at.tolist(), order.tolist(), strict=True)],
        float(means(difference[:, None])[0]),
        *ends_after(0),
        _count_needed(ends_after, len(order)),
    )


def _count_needed(ends_after: Callable[[int], tuple[float, float]], n: int) -> int | None:
    """Return how many judgments of grade 0 make the sign certain; None if it stays open."""
    if not _is_certain(*ends_after(n)):
        return None
    low, high = -1, n  # not enough, as far as is known; enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_certain(*ends_after(middle)) else (middle, high)
    return high


def _find_moves(
    kind: LinearExtremes | RatioExtremes, judgments: Qrels, runs: Sequence[Run], judging: Judging
) -> tuple[Sequence[str], Ints, Floats]:
    """Return the unjudged documents, each one's query, and what it adds to the difference."""
    depth = min(kind.max_rank, judging.depth or NO_CUTOFF)
    both, ids = find_unjudged_with_ids(judgments, runs, depth, judging)
    at, moved = np.full(len(ids), -1), np.zeros(len(ids))
    for sign, one in zip((1, -1), both, strict=True):
        at[one.document] = one.query
        moved[one.document] += sign * kind.weights(one)
    there = np.flatnonzero(at >= 0)
    # Numbers are others in each process: by query and id, sums and ties are always the same.
    there = there[np.lexsort((ids.take(there).sort_keys(), at[there]))]
    return ids.take(there).to_texts(), at[there], moved[there]
