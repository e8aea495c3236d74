"""Sketch: a bounded sample of the ids that some queries of a run retrieve and miss, for notes."""

from collections.abc import Sequence
from itertools import chain, islice
from string import digits
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, decode, encode
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.order import GroupedBlock
from cranfield.data.qrels import Qrels
from cranfield.formats.objects import DocsOfQuery

_MAX_DOCS = 40  # documents of a query, on either side
_BUDGET = 2_000  # documents of a run at most; of one of its later blocks, a quarter
_SHARE = 40  # as a rule, one document of so many is looked at,
_LEAST_BUDGET = 200  # but at least so many
_LARGE_BLOCK = 50_000  # rows: there may be many such blocks
_FIRST_ROWS = 10  # rows of a query of a large block, where its own id is looked for
_DIGITS = digits.encode()
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
    counts = np.diff(block.starts)
    if len(block.group) >= _LARGE_BLOCK:
        counts = np.minimum(counts, _FIRST_ROWS)
    rows = consecutive_numbers(block.starts[:-1], counts)
    own_keys = pair_keys(block.queries.hash(), np.arange(len(counts)))
    rows = rows[block.keys[rows] == np.repeat(own_keys, counts)]
    if not len(rows):
        return 0
    rows = rows[block.block.doc.equal(rows, block.queries, block.group[rows])]
    has_own_id = np.zeros(len(code), np.bool_)
    has_own_id[block.group[rows[~_mark_rows(hit_rows, len(block.group))[rows]]]] = True
    return int(np.count_nonzero(has_own_id & (code >= 0)))


def _mark_rows(rows: Ints, n: int) -> Bools:
    """Return a mask, (n,), of these rows; without `isin`, which loads numpy's masked arrays."""
    mask = np.zeros(n, np.bool_)
    mask[rows] = True
    return mask


def sample_unjudged(
    block: GroupedBlock, number: int, code: Ints, hit_rows: Ints, n_own_ids: int
) -> UnjudgedDocs:
    """Return the first unjudged documents of some judged queries of a block, as bytes.

    Of the blocks of a run, numbered from 0, those of the numbers 0, 1, 2, 4, 8, ... are looked at.
    `code` (groups,) and `hit_rows` are those of `count_own_ids`, `n_own_ids` is its count.
    """
    if number & (number - 1):
        return {}
    counts = np.diff(block.starts)
    budget = _BUDGET // 4 if number else _choose_budget(counts, n_own_ids)
    groups = _choose_evenly(np.flatnonzero((code >= 0) & (counts > 0)), counts, budget)
    rows = consecutive_numbers(block.starts[groups], counts[groups])
    if block.sort_score is not None:
        rows = rows[np.lexsort((-block.sort_score[rows], block.group[rows]))]
    rows = rows[consecutive_numbers(0, counts[groups]) < _MAX_DOCS]
    rows = rows[~_mark_rows(hit_rows, len(block.group))[rows]]
    docs = block.block.doc.take(rows).to_list()
    bounds = np.searchsorted(block.group[rows], [groups, groups + 1]).T.tolist()
    return {
        group_code: docs[begin:end]
        for group_code, (begin, end) in zip(code[groups].tolist(), bounds, strict=True)
    }


def _choose_budget(counts: Ints, n_own_ids: int) -> int:
    """Return how many documents are looked at, of queries with `counts` of them.

    Where many queries retrieve their own id, they are more, to tell whether that is chance.
    """
    share = 1 if 10 * n_own_ids >= np.count_nonzero(counts) else _SHARE
    return max(_LEAST_BUDGET, min(_BUDGET, int(counts.sum()) // share))


def _choose_evenly(positions: Ints, counts: Ints, budget: int) -> Ints:
    """Return some positions, evenly spread, of as many documents as `budget`; `counts` has all."""
    n_docs = int(np.minimum(counts[positions], _MAX_DOCS).sum())
    return positions[:: -(-n_docs // budget) or 1]


def sample_unjudged_dict(
    qrels: Qrels, docs_of_query: DocsOfQuery, counts: Ints, n_hits: int, n_own_ids: int
) -> UnjudgedDocs:
    """Return the first unjudged documents of some judged queries of a dict.

    `counts` (n_queries,) are the numbers of documents of the queries of the qrels. There are none
    where documents were hit and no note can come of others: their ids are numbers of one form.
    """
    unjudged_docs: UnjudgedDocs = {}
    if n_hits == len(qrels) and not n_own_ids:
        return {}  # none was missed
    positions = counts.nonzero()[0]
    if len(positions) > 1:
        positions = _choose_evenly(positions, counts, _choose_budget(counts, n_own_ids))
    codes = positions.tolist()
    if n_hits and not n_own_ids:
        judged_docs = [*chain.from_iterable([qrels.doc_lists[code] for code in codes])]
        rankings = [docs_of_query[qrels.query_ids[code]] for code in codes]
        if _are_alike(judged_docs, [*chain.from_iterable(rankings)]):
            return {}
    for code in codes:
        docs, judged = docs_of_query[qrels.query_ids[code]], set(qrels.doc_lists[code])
        ranking = sorted(docs, key=docs.__getitem__, reverse=True)[:_MAX_DOCS]
        unjudged_docs[code] = [doc for doc in ranking if doc not in judged]
    return unjudged_docs


def _are_alike(judged_ids: list[str], run_ids: list[str]) -> bool:
    """Tell whether all ids are one beginning and a number, and both sides have as long numbers.

    Then no id is another with an affix, cut off, or written in another way.
    """
    ids, line_start = judged_ids + run_ids, b"\n" + encode(judged_ids[0].rstrip(digits))
    lines = b"\n%b\n" % encode("\n".join(ids))
    return (
        lines.translate(None, _DIGITS) == line_start.translate(None, _DIGITS) * len(ids) + b"\n"
        and lines.count(line_start, 0, -1) == len(ids)
        and lines.count(line_start + b"0") == lines.count(line_start + b"0\n")  # none begins with 0
        and max(map(len, judged_ids)) == max(map(len, run_ids))
    )


def sketch_queries(qrels: Qrels, hit_rows: Ints, unjudged_docs: UnjudgedDocs) -> list[QuerySketch]:
    """Return the sketches of queries; `hit_rows` are the rows of the qrels that were retrieved.

    There are none where ids are made up: of spans, and of lists of grades.
    """
    if not unjudged_docs or qrels.spans is not None or qrels.list_kind == "grades":
        return []
    codes = sorted(unjudged_docs)
    codes = codes[:: -(-sum(map(len, unjudged_docs.values())) // _BUDGET) or 1]
    is_hit = _mark_rows(hit_rows, len(qrels))
    doc_lists = (_list_docs(qrels, mask, codes) for mask in (~is_hit & (qrels.grade > 0), is_hit))
    query_ids = (qrels.query_ids[code] for code in codes)
    unjudged = (
        [doc if isinstance(doc, str) else decode(doc) for doc in unjudged_docs[code]]
        for code in codes
    )
    return [*map(QuerySketch, query_ids, *doc_lists, unjudged)]


def _list_docs(qrels: Qrels, is_selected: Bools, codes: Sequence[int]) -> list[list[str]]:
    """Return the first documents in a mask of judgments, (rows,), of each query in `codes`."""
    docs, begins = qrels.documents, [int(qrels.starts[code]) for code in codes]
    ends = [int(qrels.starts[code + 1]) for code in codes]
    rows_of_queries = [
        begin + is_selected[begin:end].nonzero()[0][:_MAX_DOCS]
        for begin, end in zip(begins, ends, strict=True)
    ]
    if isinstance(docs, Ids):
        texts = iter(docs.take(np.concatenate([_NO_ROWS, *rows_of_queries])).to_texts())
        return [list(islice(texts, len(rows))) for rows in rows_of_queries]
    return [
        [docs[code][row] for row in (rows - begin).tolist()]
        for code, begin, rows in zip(codes, begins, rows_of_queries, strict=True)
    ]
