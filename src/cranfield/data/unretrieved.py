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
    n_queries, depth, placement = (
        len(qrels.query_ids),
        min(judging.depth or NO_CUTOFF, NO_CUTOFF),
        match.placement,
    )
    n_retrieved, tie_columns = (
        np.minimum(match.n_retrieved, depth),
        (placement.tie_first, placement.tie_size),
    )
    is_within_depth = placement.rank <= depth
    row, ranks = (
        match.row[is_within_depth],
        placement.rank[is_within_depth],
    )  # where a depth is taken, no ties were told
    is_retrieved = np.zeros(len(qrels), np.bool_)
    is_retrieved[row] = True
    below_rows = unretrieved_rows(qrels, is_retrieved, judging)
    query = qrels.query[below_rows]
    n_added = np.bincount(query, minlength=n_queries)
    n_above = n_retrieved[query]
    if not judging.has_one_tie_order:
        tie_first, tie_size = tie_columns
        tie_columns = np.append(tie_first, n_above + 1), np.append(tie_size, n_added[query])
    new_placement = placement._replace(
        rank=np.append(ranks, n_above + consecutive_numbers(1, n_added)),
        tie_first=tie_columns[0],
        tie_size=tie_columns[1],
    )
    return replace(
        match, row=np.append(row, below_rows), placement=new_placement, is_in_order=False
    ), n_added


def unretrieved_rows(qrels: Qrels, is_retrieved: Bools, judging: Judging) -> Ints:
    """Return the rows of the qrels that were not `retrieved`, (rows,), query after query.

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
    """Return a ranking with more documents at its end, which share one place and have no score."""
    n_docs, one_per_doc = len(ranking.docs), np.ones(len(docs), np.int64)
    # Of a score that is cut through, those that are left.
    size = np.minimum(ranking.tie_size, n_docs + 1 - ranking.tie_first)
    return Ranking(
        [*ranking.docs, *docs],
        np.append(ranking.tie_first, (n_docs + 1) * one_per_doc),
        np.append(size, len(docs) * one_per_doc),
        None if ranking.scores is None else np.append(ranking.scores, np.nan * one_per_doc),
    )
