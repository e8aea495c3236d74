"""Ranking: the documents of one query in their order; Rankings: those of several queries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ids import select_texts
from cranfield.arrays.ranked import Floats, Ints


class Ranking(NamedTuple):
    """The documents of one query, best rank first, with their ties and scores."""

    docs: Sequence[str]
    tie_first: Ints  # (documents,) the first rank of its score
    tie_size: Ints  # (documents,) how many documents have that score
    scores: Floats | None  # (documents,) what the run says; None: it is ranked by no score
    costs: Floats | None = None  # (documents,) of looking at each, if they were asked for

    def take(self, rows: Ints | slice) -> "Ranking":
        """Return the documents at `rows`, in this order."""
        docs = self.docs[rows] if isinstance(rows, slice) else select_texts(self.docs, rows)
        scores, costs = (
            None if column is None else column[rows] for column in (self.scores, self.costs)
        )
        return Ranking(docs, self.tie_first[rows], self.tie_size[rows], scores, costs)


class Rankings(NamedTuple):
    """The rankings of some queries, one after the other, without scores and costs."""

    joint_ranking: Ranking
    rows_of_query: Mapping[str, slice]  # {query: its rows in the joint ranking}

    @classmethod
    def empty(cls, query_ids: Iterable[str]) -> "Rankings":
        """Return the rankings of queries for which nothing was retrieved."""
        no_ranks = np.zeros(0, np.int32)
        return cls(Ranking([], no_ranks, no_ranks, None), dict.fromkeys(query_ids, slice(0, 0)))

    def select_query(self, query: str) -> Ranking:
        """Return the ranking of a query."""
        return self.joint_ranking.take(self.rows_of_query[query])
