"""Sketch: a bounded sample of the ids that some queries of a run retrieve and miss, for notes."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.order import GroupedBlock
from cranfield.data.qrels import Qrels
from cranfield.formats.objects import DocsOfQuery

_MAX_DOCS = 40  # documents of a query, on either side
_BUDGET = 2_000  # documents of a run
_LARGE_BLOCK = 50_000  # rows: there may be many such blocks
_LARGE_BLOCK_BUDGET = 400  # documents of a large block
_FIRST_ROWS = 20  # rows of a query of a large block, where its own id is looked for
_FIRST_BLOCKS, _BLOCK_STEP = 4, 16  # blocks that are looked at: the first, and every so many
_NO_ROWS = np.zeros(0, np.int64)

#: {position of a query in the qrels: the first unjudged documents that a run has for it}
UnjudgedDocs = dict[int, Sequence[Any]]


class QuerySketch(NamedTuple):
    """Some ids of a query; `unjudged` are in the order of the ranking, nearly always."""

    query_id: str
    missed: Sequence[str]  # relevant documents that were not retrieved
    hits: Sequence[str]  # judged documents that were retrieved
    unjudged: Sequence[str]  # retrieved documents without a judgment


def count_own_ids(block: GroupedBlock, code: Ints, hit_rows: Ints) -> int:
    """Count the judged queries of a block that retrieve an unjudged document of their own id.

    `code` (groups,) is -1 for a query without judgments; `hit_rows` are judged rows of the block.
    In a large block, the first rows of each query are looked at.
    """
    begins, counts = block.starts[:-1], np.diff(block.starts)
    if len(block.group) >= _LARGE_BLOCK:
        counts = np.minimum(counts, _FIRST_ROWS)
    rows = consecutive_numbers(begins, counts)
    own_keys = pair_keys(block.queries.hash(), np.arange(len(begins)))
    rows = rows[block.keys[rows] == np.repeat(own_keys, counts)]
    if not len(rows):
        return 0
    rows = rows[block.block.doc.equal(rows, block.queries, block.group[rows])]
    own_groups = block.group[np.setdiff1d(rows, hit_rows)]
    return len(np.unique(own_groups[code[own_groups] >= 0]))


def sample_unjudged(block: GroupedBlock, number: int, code: Ints, hit_rows: Ints) -> UnjudgedDocs:
    """Return the first unjudged documents of some judged queries of a block, as bytes.

    `number` is that of the block in the run, from 0: of many blocks, some are looked at. `code`
    (groups,) and `hit_rows` are those of `count_own_ids`.
    """
    if number >= _FIRST_BLOCKS and number % _BLOCK_STEP:
        return {}
    counts = np.diff(block.starts)
    budget = _BUDGET if len(block.group) < _LARGE_BLOCK else _LARGE_BLOCK_BUDGET
    groups = _choose_evenly(np.flatnonzero((code >= 0) & (counts > 0)), counts, budget)
    rows = consecutive_numbers(block.starts[groups], counts[groups])
    scores = None if block.sort_score is None else block.sort_score[rows]
    if scores is not None and (scores[1:] > scores[:-1])[np.diff(block.group[rows]) == 0].any():
        rows = rows[np.lexsort((-scores, block.group[rows]))]
    rows = rows[consecutive_numbers(0, counts[groups]) < _MAX_DOCS]
    rows = rows[~np.isin(rows, hit_rows)]
    docs, group = block.block.doc.take(rows).to_list(), block.group[rows]
    bounds = zip(group.searchsorted(groups), group.searchsorted(groups, "right"), strict=True)
    docs_of_groups = [docs[begin:end] for begin, end in bounds]
    return dict(zip(code[groups].tolist(), docs_of_groups, strict=True))


def _choose_evenly(positions: Ints, counts: Ints, budget: int) -> Ints:
    """Return some positions, evenly spread, of as many documents as `budget`; `counts` has all."""
    n_docs = int(np.minimum(counts[positions], _MAX_DOCS).sum())
    return positions[:: -(-n_docs // budget) or 1]


def sample_unjudged_dict(
    qrels: Qrels, docs_of_query: DocsOfQuery, n_retrieved: Ints
) -> UnjudgedDocs:
    """Return the first unjudged documents of some judged queries of a dict.

    `n_retrieved` (n_queries,) counts the documents of each query of the qrels.
    """
    codes = _choose_evenly(np.flatnonzero(n_retrieved), n_retrieved, _BUDGET)
    unjudged_docs: UnjudgedDocs = {}
    for code in codes.tolist():
        docs, judged = docs_of_query[qrels.query_ids[code]], set(qrels.doc_lists[code])
        ranking: Iterable[str] = docs  # of long rankings, the order of the dict will do
        if 1 < len(docs) <= _MAX_DOCS:
            ranking = sorted(docs, key=docs.__getitem__, reverse=True)
        unjudged_docs[code] = [doc for doc in islice(ranking, _MAX_DOCS) if doc not in judged]
    return unjudged_docs


def sketch_queries(qrels: Qrels, hit_rows: Ints, unjudged_docs: UnjudgedDocs) -> list[QuerySketch]:
    """Return the sketches of queries; `hit_rows` are the rows of the qrels that were retrieved."""
    codes = sorted(unjudged_docs)
    codes = codes[:: -(-sum(map(len, unjudged_docs.values())) // _BUDGET) or 1]
    is_hit = np.zeros(len(qrels), np.bool_)
    is_hit[hit_rows] = True
    starts, is_missed = qrels.starts.tolist(), ~is_hit & (qrels.grade > 0)
    bounds = [slice(starts[code], starts[code + 1]) for code in codes]
    doc_lists = (_list_docs(qrels, mask, codes, bounds) for mask in (is_missed, is_hit))
    unjudged = (
        [doc if isinstance(doc, str) else decode(doc) for doc in unjudged_docs[code]]
        for code in codes
    )
    query_ids = (qrels.query_ids[code] for code in codes)
    return [*map(QuerySketch, query_ids, *doc_lists, unjudged)]


def _list_docs(
    qrels: Qrels, is_selected: Bools, codes: Sequence[int], bounds: Sequence[slice]
) -> list[list[str]]:
    """Return the first documents of some queries in a mask of judgments, (rows,).

    `codes` are the positions of the queries, `bounds` the rows of each.
    """
    row_lists = [is_selected[rows].nonzero()[0][:_MAX_DOCS] for rows in bounds]
    if not isinstance(qrels.documents, Ids):
        lists = zip(map(qrels.documents.__getitem__, codes), row_lists, strict=True)
        return [[docs[row] for row in rows.tolist()] for docs, rows in lists]
    first_rows = zip(row_lists, bounds, strict=True)
    all_rows = np.concatenate([_NO_ROWS, *(rows + bound.start for rows, bound in first_rows)])
    docs = iter(qrels.documents.take(all_rows).to_texts())
    return [list(islice(docs, len(rows))) for rows in row_lists]
