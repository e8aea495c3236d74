"""Deciding documents, for `pool`: the unjudged ones that narrow the bounds of two runs most.

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
    """The unjudged documents of two runs, in the order in which they narrow the bounds most."""

    documents: Sequence[tuple[str, str]]  # (query, document)
    difference: float  # of the means, the first run's minus the second's
    low: float  # the bounds of the difference, over all grades of the unjudged documents
    high: float
    n_needed: int | None  # how many of the first, if of grade 0, make the sign certain

    @property
    def is_certain(self) -> bool:
        """Whether the sign of the difference is the same however the unjudged are graded."""
        return _is_certain(self.low, self.high)


def _is_certain(low: float, high: float) -> bool:
    """Tell whether bounds of a difference are on one side of 0."""
    return low > ROUNDING or high < -ROUNDING


def find_deciding(
    judgments: Qrels, runs: Mapping[str, Run], measure: Measure, judging: Judging
) -> DecidingDocuments:
    """Return the order in which to judge the unjudged documents of two runs.

    Raises MeasureError for a measure to which documents do not add one by one, and that is not
    nDCG, or in which grade 0 is not as unjudged; InputError for runs that share no judged query.
    """
    systems = score_runs(judgments, runs, [measure], judging)
    first_scores, second_scores = systems.values()
    second_query_ids = set(second_scores.query_ids)
    query_ids = [query for query in first_scores.query_ids if query in second_query_ids]
    if not query_ids:
        raise InputError("the two runs share no query of the judgments")
    left, right = np.array([0]), np.array([1])
    [bounds] = pair_bounds(judgments, runs, systems, left, right, query_ids, separate=False)
    if bounds is None:
        raise MeasureError(
            f"{measure}: which documents decide is known for measures to which documents add one "
            "by one, such as P, DCG and RBP, and for nDCG"
        )
    judgments = judgments.select_queries(query_ids)
    query_ids = [*judgments.query_ids]
    is_sum = measure.linear == "exact"
    extremes = LinearExtremes(measure, judgments) if is_sum else RatioExtremes(measure, judgments)
    if extremes.zero_share:
        raise MeasureError(
            f"{measure}: grade 0 does not count as unjudged, so that no order of judging is known"
        )
    docs, query, move = _find_moves(extremes, judgments, list(runs.values()), judging)
    first, second = first_scores.per_query(measure), second_scores.per_query(measure)
    difference = np.array([first[query_id] - second[query_id] for query_id in query_ids])
    low, high = extremes.ends(query, move, difference)
    # `share` is a document's part in the width of its query's bounds. A document that moves neither
    # run may change the ideal ranking: it comes last, from the query with the widest bounds.
    sums = np.bincount(query, np.abs(move), len(query_ids))
    share = np.divide(np.abs(move), sums[query], out=np.zeros(len(query)), where=sums[query] > 0)
    width = (high - low)[query]
    order = np.lexsort((-width, -share * width))
    order = order[(move[order] != 0) if is_sum else (width[order] > ROUNDING)]
    query, move = query[order], move[order]

    def ends_after(n: int) -> tuple[float, float]:
        """Return the bounds of the difference when the first n documents have grade 0."""
        low, high = extremes.ends(query[n:], move[n:], difference)
        return float(means(low[:, None])[0]), float(means(high[:, None])[0])

    rows = zip(query.tolist(), order.tolist(), strict=True)
    documents = [(query_ids[query_row], docs[i]) for query_row, i in rows]
    mean_difference, (low_end, high_end) = float(means(difference[:, None])[0]), ends_after(0)
    n_needed = _count_needed(ends_after, len(order))
    return DecidingDocuments(documents, mean_difference, low_end, high_end, n_needed)


def _count_needed(ends_after: Callable[[int], tuple[float, float]], n: int) -> int | None:
    """Return how many judgments of grade 0 make the sign certain; None if it stays open."""
    if not _is_certain(*ends_after(n)):
        return None
    low, high = -1, n  # `low` judgments are too few (or -1), `high` are enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_certain(*ends_after(middle)) else (middle, high)
    return high


def _find_moves(
    extremes: LinearExtremes | RatioExtremes,
    judgments: Qrels,
    runs: Sequence[Run],
    judging: Judging,
) -> tuple[Sequence[str], Ints, Floats]:
    """Return the unjudged documents, their queries, and what each adds to the difference."""
    depth = min(extremes.max_rank, judging.depth or NO_CUTOFF)
    unjudged_of_run, ids = find_unjudged_with_ids(judgments, runs, depth, judging)
    query, move = np.full(len(ids), -1), np.zeros(len(ids))
    for sign, unjudged in zip((1, -1), unjudged_of_run, strict=True):
        query[unjudged.document] = unjudged.query
        move[unjudged.document] += sign * extremes.weights(unjudged)
    rows = np.flatnonzero(query >= 0)
    # Document numbers differ from process to process; sorted by query and id, sums and ties do not.
    rows = rows[np.lexsort((ids.take(rows).sort_keys(), query[rows]))]
    return ids.take(rows).to_texts(), query[rows], move[rows]
