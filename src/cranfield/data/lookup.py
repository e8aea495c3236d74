"""Looks the judged documents of a query up in a dict of its ranking, with their ranks and ties."""

from collections.abc import Iterable, Mapping
from itertools import compress, repeat
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.judging import Judging
from cranfield.data.order import (
    LARGEST_FINITE_AS_SINGLE,
    DroppedCounts,
    is_above_threshold,
    tie_sort_keys,
    to_single,
)
from cranfield.formats.objects import DocsOfQuery, score_by_position
from cranfield.formats.values import pack_doubles, to_scores

_NO_HITS = np.zeros(0, np.int64)


class QueryHits(NamedTuple):
    """The judged documents in one query's dict, best first, and counts of its ties."""

    tied_rank: Ints  # (tied documents,) the ranks of documents that share their score
    is_all_tied: bool  # whether there are several documents, all of the same score
    row: Ints = _NO_HITS  # (hits,) in the qrels
    rank: Ints = _NO_HITS  # (hits,)
    tie_first: Ints = _NO_HITS  # (hits,) as in `Placement`
    tie_size: Ints = _NO_HITS  # (hits,)
    has_tied_hit: bool = False  # whether a hit shares its score


def look_up_judged(
    query: str, docs: Mapping[str, Any], judged_docs: list[str], first_row: int, judging: Judging
) -> QueryHits:
    """Return the hits in `docs`, {doc: score}; the query's judgments begin at `first_row`."""
    if judging.order == "given":
        docs = score_by_position(query, list(docs))
    ranking = dict(docs)  # which reads the ids as they lie in memory, in half the time
    score, sorted_score = to_scores(query, ranking)
    hit_score = pack_doubles(map(ranking.get, judged_docs, repeat(np.nan)), len(judged_docs))
    assert hit_score is not None  # noqa: S101 - the scores are numbers, all of them
    row = (hit_score == hit_score).nonzero()[0]
    hit_score = hit_score[row]
    if judging.scores == "single":
        highest, lowest = sorted_score.item(-1), sorted_score.item(0)
        may_overflow = max(highest, -lowest) > LARGEST_FINITE_AS_SINGLE
        score, sorted_score, hit_score = (
            to_single(column, may_overflow) for column in (score, sorted_score, hit_score)
        )
    is_equal = sorted_score[1:] == sorted_score[:-1]
    n_equal_pairs, tied_rank = int(np.count_nonzero(is_equal)), _NO_HITS
    if n_equal_pairs:
        is_tied = np.append(is_equal, False) | np.append(False, is_equal)
        tied_rank = len(is_tied) - is_tied.nonzero()[0]
    is_all_tied = n_equal_pairs > 0 and n_equal_pairs == len(is_equal)
    if len(row) == 0:
        return QueryHits(tied_rank, is_all_tied)
    best_first = hit_score.argsort()[::-1]
    hit_score, row = hit_score[best_first], row[best_first]
    end = sorted_score.searchsorted(hit_score, "right")
    tie_first = len(sorted_score) + 1 - end
    if not n_equal_pairs:
        tie_size = np.ones_like(tie_first)
        return QueryHits(tied_rank, is_all_tied, row + first_row, tie_first, tie_first, tie_size)
    tie_size = end - sorted_score.searchsorted(hit_score, "left")
    rank, tied_hits = tie_first.copy(), (tie_size > 1).nonzero()[0]
    if len(tied_hits):
        tied_docs = [judged_docs[i] for i in row[tied_hits].tolist()]
        tied_score = hit_score[tied_hits]
        rank[tied_hits] += _count_tied_above(ranking, score, tied_docs, tied_score, judging)
    row = row + first_row
    return QueryHits(tied_rank, is_all_tied, row, rank, tie_first, tie_size, len(tied_hits) > 0)


def drop_documents(
    docs_of_query: DocsOfQuery, judging: Judging
) -> tuple[DocsOfQuery, DroppedCounts]:
    """Return the documents that `judging` keeps, and how many it drops: see `group_rows`."""
    remaining_docs_of_query: DocsOfQuery = {}
    n_identical = n_low = 0
    for query, docs in docs_of_query.items():
        remaining_docs = docs
        if judging.identical_ids == "drop" and query in docs:
            remaining_docs = {doc: score for doc, score in docs.items() if doc != query}
        n_same_id = len(docs) - len(remaining_docs)
        if judging.scores_above is not None and remaining_docs:
            is_above = is_above_threshold(to_scores(query, remaining_docs)[0], judging)
            remaining_docs = dict(compress(remaining_docs.items(), is_above.tolist()))
        remaining_docs_of_query[query] = remaining_docs
        n_identical += n_same_id
        n_low += len(docs) - n_same_id - len(remaining_docs)
    return remaining_docs_of_query, (n_identical, n_low)


def _count_tied_above(
    ranking: Iterable[str],
    all_scores: Floats,
    hit_docs: list[str],
    hit_scores: Floats,
    judging: Judging,
) -> Ints:
    """Count, for each hit, the documents of the same score that are ranked above it: (hits,).

    `all_scores` are the scores of `ranking`; `hit_docs` and `hit_scores` (hits,) are the hits and
    their scores; another document has the same score.
    """
    sorted_hit_scores = np.sort(hit_scores)
    position = np.minimum(sorted_hit_scores.searchsorted(all_scores), len(sorted_hit_scores) - 1)
    is_tied = sorted_hit_scores[position] == all_scores
    tied_docs = [*compress(ranking, is_tied)]
    if judging.ties == "given":
        position_of_doc = {doc: i for i, doc in enumerate(tied_docs)}
        sort_key = np.array([*range(len(tied_docs)), *map(position_of_doc.__getitem__, hit_docs)])
    else:
        sort_key = tie_sort_keys(Ids.of_texts([*tied_docs, *hit_docs]), judging)
    tied_key, hit_key = sort_key[: len(tied_docs)], sort_key[len(tied_docs) :]
    if sorted_hit_scores[0] == sorted_hit_scores[-1]:
        return np.sort(tied_key).searchsorted(hit_key)
    scores = np.concatenate((all_scores[is_tied], hit_scores))
    order = np.lexsort((sort_key, scores))  # each hit comes after the same document among the tied
    is_first = order < len(tied_docs)
    n_before = np.empty_like(order)
    n_before[order] = np.cumsum(is_first)
    return n_before[len(tied_docs) :] - 1 - scores[order[is_first]].searchsorted(hit_scores)
