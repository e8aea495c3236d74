"""What runs retrieved and nobody judged: the same document has the same number in every run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import keyed
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import changes
from cranfield.arrays.threads import in_threads
from cranfield.data.judged import ENDLESS
from cranfield.data.judging import Judging
from cranfield.data.order import come_back, placed
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import regrouped
from cranfield.data.run import Run
from cranfield.formats.block import Load


@dataclass(frozen=True, eq=False)
class Unjudged:
    """A run's unjudged documents, query after query, best rank first.

    A document of a query has the same number in every run.
    """

    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    document: Ints  # (rows,)
    n_retrieved: Ints  # (n_queries,) of the whole run

    def down_to(self, depth: int) -> "Unjudged":
        """Return those of rank <= depth."""
        rows = np.flatnonzero(self.rank <= depth)
        return replace(
            self, query=self.query[rows], rank=self.rank[rows], document=self.document[rows]
        )


def unjudged_of(qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging) -> list[Unjudged]:
    """Return each run's unjudged documents, of rank <= depth; each run is read once."""
    return unjudged_with_ids(qrels, runs, depth, judging)[0]


def unjudged_with_ids(
    qrels: Qrels, runs: Sequence[Run], depth: int, judging: Judging
) -> tuple[list[Unjudged], Ids]:
    """Return what `unjudged_of` returns, and the id of each document, in the order of numbers."""
    runs = [run.against(qrels.spans, judging.overlap) for run in runs]
    every = [_retrieved(qrels, run, depth, judging) for run in runs]
    query = np.concatenate([qrels.query, *(one.query for one in every)])
    ids = Ids.joined([qrels.docs, *(one.docs for one in every)])
    number = _numbered(query, ids)
    judged = np.zeros(len(number), np.bool_)
    judged[number[: len(qrels)]] = True
    found, begin = [], len(qrels)
    for one in every:
        document = number[begin : begin + len(one.rank)]
        rows = np.flatnonzero(~judged[document])
        rows = rows[np.lexsort((one.rank[rows], one.query[rows]))]
        found.append(Unjudged(one.query[rows], one.rank[rows], document[rows], one.n_retrieved))
        begin += len(one.rank)
    return found, ids.take(np.unique(number, return_index=True)[1])


def _numbered(query: Ints, docs: Ids) -> Ints:
    """Return numbers (rows,), the same for the same query and document, query after query."""
    keys = keyed(docs.hash(), query)
    order = keys.argsort(kind="stable")
    new = changes(keys[order])
    again = np.flatnonzero(~new)
    a, b = order[again], order[again - 1]
    if docs.compare(a, docs, b).any() or (query[a] != query[b]).any():  # two of the same hash
        exact = docs.numbers()
        order = np.lexsort((exact, query))
        new = changes(exact[order], query[order])
    firsts = order[new]
    place = np.empty(len(firsts), np.int64)
    place[query[firsts].argsort(kind="stable")] = np.arange(len(firsts))
    number = np.empty(len(order), np.int64)
    number[order] = place[np.cumsum(new) - 1]
    return number


class _Part(NamedTuple):
    """The documents of a block, or of a run, down to a depth, in no order."""

    queries: list[bytes]  # of the block
    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    docs: Ids
    n_retrieved: Ints  # (n_queries,) at any depth


def _retrieved(qrels: Qrels, run: Run, depth: int, judging: Judging) -> _Part:
    part = partial(_part, qrels, run, depth, judging)
    parts, seen = [], set[bytes]()
    for one in in_threads(part, run.blocks(judging.order)):
        if come_back(one.queries, seen):
            parts = [*in_threads(part, regrouped(run.blocks(judging.order)))]
            break
        parts.append(one)
    none = np.zeros(0, np.int64)
    n_retrieved = sum((one.n_retrieved for one in parts), np.zeros(len(qrels.query_ids), np.int64))
    return _Part(
        [],
        np.concatenate([none, *(one.query for one in parts)]),
        np.concatenate([none, *(one.rank for one in parts)]),
        Ids.joined([one.docs for one in parts]),
        np.minimum(n_retrieved, judging.depth or ENDLESS),
    )


def _part(qrels: Qrels, run: Run, depth: int, judging: Judging, load: Load) -> _Part:
    """Return the documents of rank <= depth of a block's judged queries. In a thread of its own."""
    whole = run.grouped(load(), judging)
    code = qrels.codes_of(whole.queries)
    rows = np.flatnonzero(code[whole.group] >= 0)
    rank = placed(whole, judging, rows).rank
    rows, rank = rows[rank <= depth], rank[rank <= depth]
    counts = np.diff(whole.starts)[code >= 0]
    n_retrieved = np.bincount(code[code >= 0], counts, len(qrels.query_ids))
    docs = whole.block.doc.take(rows).compact()
    return _Part(
        *(whole.queries.to_list(), code[whole.group[rows]], rank, docs),
        n_retrieved.astype(np.int64),
    )
