"""The runs of a comparison, judged once more for a picture: with other cutoffs or measures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.aligned_scores import EvaluatedRuns
from cranfield.comparison.comparison import Comparison
from cranfield.data.judged import Judged
from cranfield.measures import Measure, find_plan


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """Scores and counts of a comparison's runs, judged once more.

    `scores` (n_measures, n_queries, n_systems) are the scores of some measures. `n_judged` is the
    number of documents at each rank, 1, 2, ..., that are judged (expected, for expected ties),
    `n_retrieved` the number of queries that have the rank: both (depth, n_systems), empty without
    a depth.
    """

    scores: Floats
    n_judged: Floats
    n_retrieved: Ints


def rejudge_runs(
    comparison: Comparison, source: EvaluatedRuns, measures: Sequence[Measure], depth: int = 0
) -> RunStatistics:
    """Return the scores and counts of the runs, judged as they were for the comparison.

    Raises InputError for a run that cannot be read any more, MeasureError for a measure that has no
    meaning for these judgments.
    """
    plan = find_plan(measures)
    scores, n_judged, n_retrieved = [], [], []
    for query_ids, judged_run in source.judged_runs:
        rows = _locate_queries(comparison.aligned.query_ids, query_ids)
        scores.append(plan.values(judged_run)[rows])
        if depth:
            ranks = np.arange(1, depth + 1)
            n_judged_to_rank = _count_judged(judged_run, ranks)[rows].sum(axis=0)
            n_judged.append(np.diff(n_judged_to_rank, prepend=0.0))
            n_retrieved.append((judged_run.n_retrieved[rows] >= ranks).sum(axis=0))
    return RunStatistics(
        np.stack(scores, axis=2).transpose(1, 0, 2), np.array(n_judged).T, np.array(n_retrieved).T
    )


def _count_judged(judged: Judged, ranks: Ints) -> Floats:
    """Return how many documents down to each rank are judged: (n_queries, n_ranks).

    With ties="expected", the average over all orders of tied documents.
    """
    k = ranks[None, :]
    if judged.ties == "expected":
        return judged.tie_places(np.ones(len(judged.hits.rank)), k).expected_worth()
    return judged.hits.top(k).count()


def _locate_queries(query_ids: Sequence[str], run_query_ids: Sequence[str]) -> Ints | slice:
    """Return the row of each query of a comparison among a run's, which are usually the same."""
    # Both are in the order of their bytes, and the run has all.
    if len(query_ids) == len(run_query_ids):
        return slice(None)
    index_of_query = {query: i for i, query in enumerate(run_query_ids)}
    return np.array([index_of_query[query] for query in query_ids])
