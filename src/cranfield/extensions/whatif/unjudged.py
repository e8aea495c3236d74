"""What runs retrieved and nobody judged: the same document has the same number in every run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import mark_changes
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judged import NO_CUTOFF
from cranfield.data.judging import Judging
from cranfield.data.order import register_queries, rank_documents
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import regroup_queries
from cranfield.data.run import Run
from cranfield.formats.block import Load


@dataclass(frozen=True, eq=False)
class UnjudgedDocuments:
    """A run's unjudged documents, query after query, best rank first.

    A document of a query has the same number in every run.
    """

    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    document: Ints  # (rows,)
    n_retrieved: Ints  # (n_queries,) of the whole run

    def cut_at(self, depth: int) -> "UnjudgedDocuments":
        """Return those of rank <= depth."""
        rows = np.flatnonzero(self.rank <= depth)
        return replace(
            self, query=self.query[rows], rank=self.rank[rows], document=self.document[rows]
        )


def find_unjudged(qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging) -> list[UnjudgedDocuments]:
    """Return each run's unjudged documents, of rank <= depth; each run is read once."""
    return find_unjudged_with_ids(qrels, runs, depth, judging)[0]


def find_unjudged_with_ids(
    qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging
) -> tuple[list[UnjudgedDocuments], Ids]:
    """Return what `unjudged_of` returns, and the id of each document, in the order of numbers."""
    runs = [run.resolve_spans(qrels.spans, judging.overlap) for run in runs]
    every = [_rank_run(qrels, run, depth, judging) for run in runs]
    query = np.concatenate([qrels.query, *(one.query for one in every)])
    ids = Ids.concatenate([qrels.docs, *(one.docs for one in every)])
    number = _number_documents(query, ids)
    judged = np.zeros(len(number), np.bool_)
    judged[number[: len(qrels)]] = True
    found, begin = [], len(qrels)
    for one in every:
        document = number[begin : begin + len(one.rank)]
        rows = np.flatnonzero(~judged[document])
        rows = rows[np.lexsort((one.rank[rows], one.query[rows]))]
        found.append(UnjudgedDocuments(one.query[rows], one.rank[rows], document[rows], one.n_retrieved))
        begin += len(one.rank)
    return found, ids.take(np.unique(number, return_index=True)[1])


def _number_documents(query: Ints, docs: Ids) -> Ints:
    """Return numbers (rows,), the same for the same query and document, query after query."""
    keys = pair_keys(docs.hash(), query)
    order = keys.argsort(kind="stable")
    new = mark_changes(keys[order])
    again = np.flatnonzero(~new)
    a, b = order[again], order[again - 1]
    if docs.compare(a, docs, b).any() or (query[a] != query[b]).any():  # two of the same hash
        exact = docs.sort_keys()
        order = np.lexsort((exact, query))
        new = mark_changes(exact[order], query[order])
    firsts = order[new]
    place = np.empty(len(firsts), np.int64)
    place[query[firsts].argsort(kind="stable")] = np.arange(len(firsts))
    number = np.empty(len(order), np.int64)
    number[order] = place[np.cumsum(new) - 1]
    return number


class _RankedDocuments(NamedTuple):
    """The documents of a block, or of a run, down to a depth, in no order."""

    block_queries: list[bytes]  # of the block
    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    docs: Ids
    n_retrieved: Ints  # (n_queries,) at any depth


def _rank_run(qrels: Qrels, run: Run, depth: int, judging: Judging) -> _RankedDocuments:
    part = partial(_rank_block, qrels, run, depth, judging)
    parts, seen = [], set[bytes]()
    for one in map_in_threads(part, run.blocks(judging.order)):
        if register_queries(one.block_queries, seen):
            parts = [*map_in_threads(part, regroup_queries(run.blocks(judging.order)))]
            break
        parts.append(one)
    none = np.zeros(0, np.int64)
    n_retrieved = sum((one.n_retrieved for one in parts), np.zeros(len(qrels.query_ids), np.int64))
    return _RankedDocuments(
        [],
        np.concatenate([none, *(one.query for one in parts)]),
        np.concatenate([none, *(one.rank for one in parts)]),
        Ids.concatenate([one.docs for one in parts]),
        np.minimum(n_retrieved, judging.depth or NO_CUTOFF),
    )


def _rank_block(qrels: Qrels, run: Run, depth: int, judging: Judging, load: Load) -> _RankedDocuments:
    """Return the documents of rank <= depth of a block's judged queries. In a thread of its own."""
    whole = run.group_block(load(), judging)
    code = qrels.find_codes(whole.queries)
    rows = np.flatnonzero(code[whole.group] >= 0)
    rank = rank_documents(whole, judging, rows).rank
    rows, rank = rows[rank <= depth], rank[rank <= depth]
    counts = np.diff(whole.starts)[code >= 0]
    n_retrieved = np.bincount(code[code >= 0], counts, len(qrels.query_ids))
    docs = whole.block.doc.take(rows).compact()
    return _RankedDocuments(
        *(whole.queries.to_list(), code[whole.group[rows]], rank, docs),
        n_retrieved.astype(np.int64),
    )
