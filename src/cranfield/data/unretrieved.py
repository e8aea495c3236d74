"""Judged documents that were not retrieved, ranked below all that were, as if of one score."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.judged import NO_CUTOFF
from cranfield.data.judging import Judging
from cranfield.data.match import Match
from cranfield.data.order import tie_sort_keys
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Ranking
from cranfield.errors import OptionError


def append_unretrieved(qrels: Qrels, match: Match, judging: Judging) -> tuple[Match, Ints]:
    """Return a match that has all judged documents, and how many each query got: (n_queries,).

    `judging.depth` cuts what was retrieved before that. Raises OptionError for a run with costs.
    """
    if match.cost is not None:
        raise OptionError(
            "unretrieved='below' ranks documents that were not retrieved, and what it costs to "
            "look at them is not known: leave it out"
        )
    n_queries, depth, at = (
        len(qrels.query_ids),
        min(judging.depth or NO_CUTOFF, NO_CUTOFF),
        match.placement,
    )
    n_retrieved, ties = np.minimum(match.n_retrieved, depth), (at.tie_first, at.tie_size)
    kept = at.rank <= depth
    row, ranks = match.row[kept], at.rank[kept]  # where a depth is taken, no ties were told
    retrieved = np.zeros(len(qrels), np.bool_)
    retrieved[row] = True
    below = unretrieved_rows(qrels, retrieved, judging)
    query = qrels.query[below]
    added = np.bincount(query, minlength=n_queries)
    above = n_retrieved[query]
    if not judging.has_one_tie_order:
        first, size = ties
        ties = np.append(first, above + 1), np.append(size, added[query])
    placed = at._replace(
        rank=np.append(ranks, above + consecutive_numbers(1, added)), tie_first=ties[0], tie_size=ties[1]
    )
    return replace(match, row=np.append(row, below), placed=placed, in_order=False), added


def unretrieved_rows(qrels: Qrels, is_retrieved: Bools, judging: Judging) -> Ints:
    """Return the rows of the qrels that were not `retrieved`, (rows,), query after query.

    They are in the order of tied documents in `judging`; where that depends on grades, by id.
    """
    rows = np.flatnonzero(~is_retrieved)
    if judging.ties == "given":
        return rows
    found: Ints = rows[np.lexsort((tie_sort_keys(qrels.docs.take(rows), judging), qrels.query[rows]))]
    return found


def append_docs(ranking: Ranking, docs: Sequence[str]) -> Ranking:
    """Return a ranking with more documents at its end, which share one place and have no score."""
    n, more = len(ranking.docs), np.ones(len(docs), np.int64)
    # Of a score that is cut through, those that are left.
    size = np.minimum(ranking.tie_size, n + 1 - ranking.tie_first)
    return Ranking(
        [*ranking.docs, *docs],
        np.append(ranking.tie_first, (n + 1) * more),
        np.append(size, len(docs) * more),
        None if ranking.scores is None else np.append(ranking.scores, np.nan * more),
    )
