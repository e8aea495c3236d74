"""The unjudged documents of runs; a query's document has one number in all runs that have it."""

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
from cranfield.data.order import rank_documents, register_queries
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import regroup_queries
from cranfield.data.run import Run
from cranfield.formats.block import Load
from cranfield.progress import watch_steps


@dataclass(frozen=True, eq=False)
class UnjudgedDocuments:
    """A run's unjudged documents, query after query, best rank first.

    A document of a query has the same number in every run.
    """

    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    document: Ints  # (rows,)
    n_retrieved: Ints  # (n_queries,) of the whole run, down to `Judging.depth`

    def cut_at(self, depth: int) -> "UnjudgedDocuments":
        """Return the documents of rank <= depth."""
        rows = np.flatnonzero(self.rank <= depth)
        return replace(
            self, query=self.query[rows], rank=self.rank[rows], document=self.document[rows]
        )


def find_unjudged(
    qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging
) -> list[UnjudgedDocuments]:
    """Return each run's unjudged documents, of rank <= depth; a run is read once, or twice."""
    return find_unjudged_with_ids(qrels, runs, depth, judging)[0]


def find_unjudged_with_ids(
    qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging
) -> tuple[list[UnjudgedDocuments], Ids]:
    """Return each run's unjudged documents, of rank <= depth, and the id of every number."""
    runs = [run.resolve_spans(qrels.spans, judging.overlap) for run in runs]
    watched_runs = watch_steps(runs, "unjudged documents")
    documents_of_run = [rank_run(qrels, run, depth, judging) for run in watched_runs]
    query = np.concatenate([qrels.query, *(documents.query for documents in documents_of_run)])
    ids = Ids.concatenate([qrels.docs, *(documents.docs for documents in documents_of_run)])
    number = number_documents(query, ids)
    is_judged = np.zeros(len(number), np.bool_)
    is_judged[number[: len(qrels)]] = True
    unjudged, first_row = [], len(qrels)
    for documents in documents_of_run:
        document = number[first_row : first_row + len(documents.rank)]
        rows = np.flatnonzero(~is_judged[document])
        rows = rows[np.lexsort((documents.rank[rows], documents.query[rows]))]
        unjudged.append(
            UnjudgedDocuments(
                documents.query[rows], documents.rank[rows], document[rows], documents.n_retrieved
            )
        )
        first_row += len(documents.rank)
    return unjudged, ids.take(find_first_rows(number))


def number_documents(query: Ints, docs: Ids) -> Ints:
    """Return each row's number, (rows,): one for each document of a query, query after query."""
    hash_key = pair_keys(docs.hash(), query)
    order = hash_key.argsort()
    is_new = mark_changes(hash_key[order])
    repeat = np.flatnonzero(~is_new)
    a, b = order[repeat], order[repeat - 1]
    # Two documents of the same hash.
    if not docs.equal(a, docs, b).all() or (query[a] != query[b]).any():
        doc_number = docs.sort_keys()
        order = np.lexsort((doc_number, query))
        is_new = mark_changes(doc_number[order], query[order])
    first_row = order[is_new]
    place = np.empty(len(first_row), np.int64)
    place[query[first_row].argsort(kind="stable")] = np.arange(len(first_row))
    number = np.empty(len(order), np.int64)
    number[order] = place[np.cumsum(is_new) - 1]
    return number


def find_first_rows(number: Ints) -> Ints:
    """Return the first row of each number, (n_numbers,), as `number_documents` gave them."""
    first_row = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    first_row[number[::-1]] = np.arange(len(number) - 1, -1, -1)  # of equal numbers, the last stays
    return first_row


class RankedDocuments(NamedTuple):
    """The documents of a block, or of a run, down to a depth, in no order."""

    block_queries: list[bytes]  # in the order of the block; of a run, none
    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    docs: Ids
    n_retrieved: Ints  # (n_queries,) below `depth`, too


def rank_run(qrels: Qrels, run: Run, depth: int, judging: Judging) -> RankedDocuments:
    """Return a run's documents of rank <= depth on judged queries."""
    rank_block = partial(_rank_block, qrels, run, depth, judging)
    blocks, seen_queries = [], set[bytes]()
    for documents in map_in_threads(rank_block, run.blocks(judging.order)):
        if register_queries(documents.block_queries, seen_queries):
            blocks = [*map_in_threads(rank_block, regroup_queries(run.blocks(judging.order)))]
            break
        blocks.append(documents)
    no_rows = np.zeros(0, np.int32)  # half of the memory
    n_retrieved = sum(
        (documents.n_retrieved for documents in blocks), np.zeros(len(qrels.query_ids), np.int64)
    )
    return RankedDocuments(
        [],
        np.concatenate([no_rows, *(documents.query for documents in blocks)]),
        np.concatenate([no_rows, *(documents.rank for documents in blocks)]),
        Ids.concatenate([documents.docs for documents in blocks]),
        np.minimum(n_retrieved, judging.depth or NO_CUTOFF),
    )


def _rank_block(
    qrels: Qrels, run: Run, depth: int, judging: Judging, load: Load
) -> RankedDocuments:
    """Return a block's documents of rank <= depth on judged queries. Runs in its own thread."""
    rankings = run.group_block(load(), judging)
    code = qrels.find_codes(rankings.queries)
    rows = np.flatnonzero(code[rankings.group] >= 0)
    rank = rank_documents(rankings, judging, rows).rank
    rows, rank = rows[rank <= depth], rank[rank <= depth]
    counts = np.diff(rankings.starts)[code >= 0]
    n_retrieved = np.bincount(code[code >= 0], counts, len(qrels.query_ids))
    docs = rankings.block.doc.take(rows).compact()
    return RankedDocuments(
        rankings.queries.to_list(),
        code[rankings.group[rows]].astype(np.int32),
        rank.astype(np.int32),
        docs,
        n_retrieved.astype(np.int64),
    )
