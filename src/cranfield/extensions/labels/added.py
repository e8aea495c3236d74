"""Score contributions: what each hit adds to a score that is a sum, for labels drawn by chance."""

import numpy as np

from cranfield.arrays.ranked import Floats, Ranked
from cranfield.data.judged import MAX_ROWS, NO_CUTOFF, Judged
from cranfield.errors import MeasureError
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth

_SUM_TOLERANCE = 1e-9  # relative and absolute, for the rounding of sums


def score_contributions(measure: Measure, judged: Judged) -> Floats:
    """Return what each hit adds to its query's score: (hits,).

    Each hit is scored alone, as a query that has this hit at its rank and no other judged document.
    Raises MeasureError for a measure in which a document's value depends on others.

    >>> from cranfield.measures import parse
    >>> hits = Ranked(1, np.array([0, 0]), np.array([1, 3]), np.array([1, 1]))
    >>> ideal = Ranked(1, np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    >>> score_contributions(parse("DCG"), Judged(hits, ideal, np.array([[3]]), 1)).tolist()
    [1.0, 0.5]
    """
    if measure.linear != "exact":
        raise _not_additive_error(measure)
    hits = judged.hits
    contributions = np.zeros(len(hits.rank))
    rows = np.flatnonzero(hits.rank <= deepest_rank(measure))
    for begin in range(0, len(rows), MAX_ROWS):
        block_rows = rows[begin : begin + MAX_ROWS]
        n, grade = len(block_rows), hits.grade[block_rows]
        single_hits = Ranked(n, np.arange(n), hits.rank[block_rows], grade)
        single_ideal = Ranked(n, np.arange(n), np.ones(n, np.int64), grade)
        n_retrieved = judged.n_retrieved[hits.query[block_rows]]
        block_scores = measure.values(
            Judged(single_hits, single_ideal, n_retrieved, judged.top_grade)
        )
        contributions[block_rows] = block_scores[:, 0]
    query_sums = np.bincount(hits.query, contributions, hits.n_queries)
    if not np.allclose(
        query_sums, measure.values(judged)[:, 0], rtol=_SUM_TOLERANCE, atol=_SUM_TOLERANCE
    ):
        raise _not_additive_error(measure)  # as where gains are scaled by the query's highest
    return contributions


def deepest_rank(measure: Measure) -> int:
    """Return the last rank that a measure looks at.

    >>> from cranfield.measures import parse
    >>> deepest_rank(parse("P@5")), deepest_rank(parse("DCG")) > 10**9
    (5, True)
    """
    cutoff = measure.cutoff
    return cutoff.n_ranks if isinstance(cutoff, Depth) and cutoff.n_ranks is not None else NO_CUTOFF


def _not_additive_error(measure: Measure) -> MeasureError:
    return MeasureError(
        f"{measure}: documents that were labelled by chance need a measure that adds them up one "
        "by one, such as P@10, DCG@10 or RBP; for others, let people label whole queries"
    )
