"""Subtopics: the best ranking of documents that are judged for several subtopics of a query.

The judgments of a subtopic are a judgment group; a document may be in several groups of its
query. The best ranking belongs to the judgments, not to a run. It is returned as the rank of each
document: (n_documents,), 0 for a document that it leaves out.
"""

import numpy as np

from cranfield.arrays.elementary import powers
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import mark_changes
from cranfield.data.preferences import Levels


def novel_first(levels: Levels, query: Ints, alpha: float, rel: float) -> Ints:
    """Rank greedily: at each rank the document that adds most; (n_documents,).

    A document adds the weights of its subtopics (grade >= rel), each times 1 - alpha for every
    document of that subtopic that is above. Of documents that add the same, the one with the
    greater id comes first, as in ndeval. `query` (n_documents,) is the query of each document;
    documents are numbered in the order of their queries and ids. One step for each rank, of all
    queries together.
    """
    relevant = levels.level >= rel
    group = levels.group[relevant]
    docs, row = np.unique(levels.row[relevant], return_inverse=True)
    is_first = mark_changes(query[docs])
    begins, of = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    weight = _group_weights(levels)
    above = np.zeros(len(weight), np.int64)  # documents of the group that are above
    ranks = np.zeros(len(query), np.int64)
    left = np.ones(len(docs), np.bool_)
    rank = 0
    while left.any():
        rank += 1
        adds = np.bincount(row, (weight * powers(1 - alpha, above))[group], len(docs))
        adds = np.where(left, adds, -1.0)
        best = left & (adds == np.maximum.reduceat(adds, begins)[of])
        last = np.maximum.reduceat(np.where(best, np.arange(len(docs)), -1), begins)
        taken = np.zeros(len(docs), np.bool_)
        taken[last[last >= 0]] = True
        ranks[docs[taken]] = rank
        left &= ~taken
        above += np.bincount(group[taken[row]], minlength=len(weight))
    return ranks


def most_first(levels: Levels, query: Ints) -> Ints:
    """Rank by what a document is worth to all subtopics together, their weights times its grades.

    (n_documents,); documents worth nothing are left out. Arguments and ties as for `novel_first`.
    """
    weight = _group_weights(levels)
    worth = weight[levels.group] * np.maximum(levels.level, 0)
    worth = np.bincount(levels.row, worth, len(query))
    order = np.lexsort((-np.arange(len(query)), -worth, query))
    order = order[worth[order] > 0]
    first = np.searchsorted(query[order], query[order])
    ranks = np.zeros(len(query), np.int64)
    ranks[order] = np.arange(len(order)) - first + 1
    return ranks


def _group_weights(levels: Levels) -> Floats:
    return np.ones(len(levels.query)) if levels.weight is None else levels.weight
