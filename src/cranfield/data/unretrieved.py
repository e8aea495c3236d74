"""Ranks judged documents that were not retrieved below the retrieved documents, as one tie."""

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
    """Return a match with all judged documents, and each query's number of appended ones.

    `judging.depth` cuts what was retrieved before that. Raises OptionError for a run with costs.
    """
    if match.cost is not None:
        raise OptionError(
            "unretrieved='below' ranks documents that were not retrieved, and what it costs to "
            "look at them is not known: leave it out"
        )
    placement, depth = match.placement, min(judging.depth or NO_CUTOFF, NO_CUTOFF)
    n_retrieved = np.minimum(match.n_retrieved, depth)
    is_within_depth = placement.rank <= depth
    row, rank = match.row[is_within_depth], placement.rank[is_within_depth]
    is_retrieved = np.zeros(len(qrels), np.bool_)
    is_retrieved[row] = True
    appended_row = unretrieved_rows(qrels, is_retrieved, judging)
    query = qrels.query[appended_row]
    n_appended, n_above = np.bincount(query, minlength=len(qrels.query_ids)), n_retrieved[query]
    appended_rank = n_above + consecutive_numbers(1, n_appended)
    tie_first, tie_size = placement.tie_first, placement.tie_size
    if not judging.has_one_tie_order:  # no depth is taken then
        tie_first = np.append(tie_first, n_above + 1)
        tie_size = np.append(tie_size, n_appended[query])
    placement = placement._replace(
        rank=np.append(rank, appended_rank), tie_first=tie_first, tie_size=tie_size
    )
    row = np.append(row, appended_row)
    return replace(match, row=row, placement=placement, is_in_order=False), n_appended


def unretrieved_rows(qrels: Qrels, is_retrieved: Bools, judging: Judging) -> Ints:
    """Return the rows of the qrels outside the mask `is_retrieved`, (rows,), query after query.

    They are in the order of tied documents in `judging`; where that depends on grades, by id.
    """
    rows = np.flatnonzero(~is_retrieved)
    if judging.ties == "given":
        return rows
    sorted_rows: Ints = rows[
        np.lexsort((tie_sort_keys(qrels.docs.take(rows), judging), qrels.query[rows]))
    ]
    return sorted_rows


def append_docs(ranking: Ranking, docs: Sequence[str]) -> Ranking:
    """Return a ranking with `docs` at its end, as one tie without a score; without costs."""
    n_docs, one_per_doc = len(ranking.docs), np.ones(len(docs), np.int64)
    # Of a tie that is cut through, the ranks that are left.
    size = np.minimum(ranking.tie_size, n_docs + 1 - ranking.tie_first)
    return Ranking(
        [*ranking.docs, *docs],
        np.append(ranking.tie_first, (n_docs + 1) * one_per_doc),
        np.append(size, len(docs) * one_per_doc),
        None if ranking.scores is None else np.append(ranking.scores, np.nan * one_per_doc),
    )
