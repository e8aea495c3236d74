"""Averaging: the queries that a result is the mean of, where run and judgments have others.

Every query of the judgments counts, and one that the run does not answer has no hits and so scores
0 (`queries="judged"`, as `trec_eval -c`); or only the queries that meet a condition; or every query
for which the run retrieved a document (`queries="run"`). Queries that are left out are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cranfield.arrays.ids import IdList, Ids, encode, encode_ids, select_texts
from cranfield.arrays.ranked import Bools, Ints, Ranked
from cranfield.data.judging import Queries
from cranfield.data.match import Match
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError
from cranfield.render.numbers import format_query_count

#: {condition: why a query of the judgments that does not meet it is left out}
LEFT_OUT_REASONS = {
    "both": "not in the run",
    "retrieved": "nothing was retrieved for them",
    "relevant": "without a relevant document (no grade above 0)",
}


@dataclass(eq=False)
class Averaging:
    """The queries that a result is the mean of, in the order of the bytes of their ids."""

    query_ids: Sequence[str]
    is_in_run: Bools  # (n_queries,)
    n_retrieved: Ints  # (n_queries,)
    # (n_queries of the qrels,) position in `query_ids`, -1 if left out; None: the same queries.
    position: Ints | None = None
    n_unjudged: int = 0  # queries of the run without judgments, among `query_ids`
    left_out_counts: Mapping[str, int] = field(default_factory=dict)  # {condition: number}

    def select_counts(self, counts: Ints) -> Ints:
        """Return the counts of the averaged queries, of counts for all queries of the qrels.

        A query without judgments has 0.
        """
        if self.position is None:
            return counts
        selected_counts = np.zeros(len(self.query_ids), np.int64)
        selected_counts[self.position[self.position >= 0]] = counts[self.position >= 0]
        return selected_counts

    def select_rows(self, ranked: Ranked) -> Ranked:
        """Return the rows of the averaged queries, of a ranking for each query of the qrels."""
        assert self.position is not None  # noqa: S101 - else there is nothing to leave out
        rows = ranked.where(self.position[ranked.query] >= 0)
        return replace(rows, n_queries=len(self.query_ids), query=self.position[rows.query])


def choose_queries(qrels: Qrels, match: Match, queries: Queries) -> Averaging:
    """Return the queries that `Judging.queries` names; there may be none."""
    if queries == "judged":
        return Averaging(qrels.query_ids, match.is_in_run, match.n_retrieved)
    keep, left_out = np.ones(len(match.is_in_run), np.bool_), {}
    n_relevant = np.bincount(qrels.query[qrels.grade > 0], minlength=len(qrels.query_ids))
    masks = {"both": match.is_in_run, "retrieved": match.n_retrieved > 0}
    masks["relevant"] = n_relevant > 0
    for condition in ["retrieved"] if queries == "run" else reversed(queries.split("-and-")):
        meets_condition = masks[condition]
        left_out[condition] = int(np.count_nonzero(keep & ~meets_condition))
        keep &= meets_condition
    code = np.flatnonzero(keep)
    query_ids, n_retrieved = select_texts(qrels.query_ids, code), np.zeros_like(code)
    if queries == "run" and any(match.unjudged_queries.values()):
        query_ids, code, n_retrieved = _add_unjudged(query_ids, code, match.unjudged_queries)
    is_judged, position = code >= 0, np.full(len(keep), -1)
    position[code[is_judged]] = np.flatnonzero(is_judged)
    is_in_run = ~is_judged  # the run has each unjudged query
    is_in_run[is_judged] = match.is_in_run[code[is_judged]]
    n_retrieved[is_judged] = match.n_retrieved[code[is_judged]]
    return Averaging(
        query_ids, is_in_run, n_retrieved, position, int(np.count_nonzero(~is_judged)), left_out
    )


def _add_unjudged(
    query_ids: Sequence[str], code: Ints, unjudged_queries: Mapping[str | bytes, int]
) -> tuple[Sequence[str], Ints, Ints]:
    """Return judged and unjudged queries in the order of their bytes, with codes and n_retrieved.

    `unjudged_queries` is {query: number of documents}; those with none are left out. An unjudged
    query has the code -1; the number of documents is 0 for a judged query.
    """
    n_docs_of_query = {query: n for query, n in unjudged_queries.items() if n}
    names = [query if isinstance(query, bytes) else encode(query) for query in n_docs_of_query]
    ids = Ids.concatenate([encode_ids(query_ids), Ids.of(names)])
    order = ids.sort_keys().argsort()
    codes = np.append(code, np.full(len(names), -1))
    counts = np.append(np.zeros_like(code), np.array([*n_docs_of_query.values()], np.int64))
    return IdList(ids.take(order).compact()), codes[order], counts[order]


def none_averaged_error(
    queries: Queries, left_out_counts: Mapping[str, int], source: str | None
) -> InputError:
    """Return the error that no query is averaged; `source` is that of the run."""
    reasons = [
        f"{format_query_count(n)} left out: {LEFT_OUT_REASONS[condition]}"
        for condition, n in left_out_counts.items()
        if n
    ]
    return InputError(
        f"queries={queries!r} (--queries) leaves none to average: {'; '.join(reasons)}",
        source=source,
    )
