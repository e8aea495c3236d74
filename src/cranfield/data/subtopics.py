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
    """Rank documents greedily: each rank has the document of the highest gain: (n_documents,).

    The gain of a document is the sum of the weights of its subtopics (grade >= rel), each times
    1 - alpha for every document of that subtopic that is above. Of documents of equal gain, the
    document with the greater id comes first, as in ndeval. `query` (n_documents,) is the query of
    each document; documents are numbered in the order of their queries and ids. There is one step
    for each rank, of all queries together.
    """
    is_relevant = levels.level >= rel
    group = levels.group[is_relevant]
    docs, doc_index = np.unique(levels.row[is_relevant], return_inverse=True)
    is_first = mark_changes(query[docs])
    first_doc, query_number = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    weight = _group_weights(levels)
    n_above = np.zeros(len(weight), np.int64)  # documents of the group that are above
    ranks = np.zeros(len(query), np.int64)
    is_unranked = np.ones(len(docs), np.bool_)
    rank = 0
    while is_unranked.any():
        rank += 1
        gain = np.bincount(doc_index, (weight * powers(1 - alpha, n_above))[group], len(docs))
        gain = np.where(is_unranked, gain, -1.0)
        is_best = is_unranked & (gain == np.maximum.reduceat(gain, first_doc)[query_number])
        last_best = np.maximum.reduceat(np.where(is_best, np.arange(len(docs)), -1), first_doc)
        is_taken = np.zeros(len(docs), np.bool_)
        is_taken[last_best[last_best >= 0]] = True
        ranks[docs[is_taken]] = rank
        is_unranked &= ~is_taken
        n_above += np.bincount(group[is_taken[doc_index]], minlength=len(weight))
    return ranks


def most_first(levels: Levels, query: Ints) -> Ints:
    """Rank documents by gain in all subtopics: the sum of weights times grades above 0.

    Documents without gain are left out. Arguments, ties and shape as for `novel_first`.
    """
    weight = _group_weights(levels)
    worth = weight[levels.group] * np.maximum(levels.level, 0)
    gain = np.bincount(levels.row, worth, len(query))
    order = np.lexsort((-np.arange(len(query)), -gain, query))
    order = order[gain[order] > 0]
    first_position = np.searchsorted(query[order], query[order])
    ranks = np.zeros(len(query), np.int64)
    ranks[order] = np.arange(len(order)) - first_position + 1
    return ranks


def _group_weights(levels: Levels) -> Floats:
    return np.ones(len(levels.query)) if levels.weight is None else levels.weight
