"""What runs retrieved and nobody judged: the same document has the same number in every run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cranfield.arrays.byte_strings import keyed
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.threads import in_threads
from cranfield.data.judged import ENDLESS
from cranfield.data.judging import Judging
from cranfield.data.order import grouped, placed, sorting_scores
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import regrouped
from cranfield.data.run import Run
from cranfield.formats.block import Errors, Load


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
    every = [_retrieved(qrels, run, depth, judging) for run in runs]
    query = np.concatenate([qrels.query, *(query for query, *_ in every)])
    number = _numbered(query, Ids.joined([qrels.docs, *(docs for _, _, docs, _ in every)]))
    judged = np.zeros(len(number), np.bool_)
    judged[number[: len(qrels)]] = True
    found, begin = [], len(qrels)
    for query, rank, _, n_retrieved in every:
        document = number[begin : begin + len(rank)]
        rows = np.flatnonzero(~judged[document])
        rows = rows[np.lexsort((rank[rows], query[rows]))]
        found.append(Unjudged(query[rows], rank[rows], document[rows], n_retrieved))
        begin += len(rank)
    return found


def _numbered(query: Ints, docs: Ids) -> Ints:
    """Return numbers (rows,), the same for the same query and document, query after query."""
    keys = keyed(docs.hash(), query)
    order = keys.argsort(kind="stable")
    new = np.append(True, keys[order[1:]] != keys[order[:-1]])[: len(order)]
    again = np.flatnonzero(~new)
    a, b = order[again], order[again - 1]
    if docs.compare(a, docs, b).any() or (query[a] != query[b]).any():  # two of the same hash
        exact = docs.numbers()
        order = np.lexsort((exact, query))
        a, b = order[1:], order[:-1]
        new = np.append(True, (exact[a] != exact[b]) | (query[a] != query[b]))
    firsts = order[new]
    place = np.empty(len(firsts), np.int64)
    place[query[firsts].argsort(kind="stable")] = np.arange(len(firsts))
    number = np.empty(len(order), np.int64)
    number[order] = place[np.cumsum(new) - 1]
    return number


# Documents of a run down to a depth, in no order: queries (rows,), ranks (rows,), ids (rows,), and
# how many documents of each query there are in all, (n_queries,).
_Retrieved = tuple[Ints, Ints, Ids, Ints]


def _retrieved(qrels: Qrels, run: Run, depth: int, judging: Judging) -> _Retrieved:
    part = partial(_part, qrels.codes, run.errors, depth, judging)
    n_queries = len(qrels.query_ids)

    def read(loads: Iterator[Load]) -> _Retrieved | None:
        """Return what the blocks hold; None if a query is in two places."""
        n_retrieved, met = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.bool_)
        none = np.zeros(0, np.int64)
        query, rank, docs = [none], [none], []
        for queries, found in in_threads(part, loads):
            if met[queries].any() or len(set(queries.tolist())) < len(queries):
                return None
            met[queries] = True
            query.append(found[0])
            rank.append(found[1])
            docs.append(found[2])
            n_retrieved += found[3]
        n_retrieved = np.minimum(n_retrieved, judging.depth or ENDLESS)
        return np.concatenate(query), np.concatenate(rank), Ids.joined(docs), n_retrieved

    whole = read(run.blocks(judging.order)) or read(regrouped(run.blocks(judging.order)))
    assert whole is not None  # noqa: S101 - each query's rows were brought together
    return whole


def _part(
    codes: Mapping[bytes, int], errors: Errors, depth: int, judging: Judging, load: Load
) -> tuple[Ints, _Retrieved]:
    """Return the queries of a block, and its documents of rank <= depth. In a thread of its own."""
    block = grouped(load(), errors)
    code = np.array([codes.get(query, -1) for query in block.queries], np.int64)
    rows = np.flatnonzero(code[block.group] >= 0)
    by = sorting_scores(block.block, judging)
    rank = placed(block, by, rows, judging).rank
    rows, rank = rows[rank <= depth], rank[rank <= depth]
    queries = code[code >= 0]
    n_retrieved = np.bincount(queries, np.diff(block.starts)[code >= 0], len(codes))
    docs = block.block.doc.take(rows).compact()
    return queries, (code[block.group[rows]], rank, docs, n_retrieved.astype(np.int64))
