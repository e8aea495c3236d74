"""The rows of a query that comes back later, put together again without sorting all rows."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import FIXED, Words, spread
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import changes, spans
from cranfield.arrays.threads import in_threads
from cranfield.formats.block import SIZES, Block, LeftOut, Load, joined


def together(block: Block) -> Block:
    """Bring each query's rows together, and keep their order."""
    hashes = fixed_hashes(block.query)
    order = by_hash(hashes)
    ordered = hashes[order] >> np.uint64(16)  # what they are sorted by
    n_hashes = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    if len(block) and len(block.query.take(order).begins()) > n_hashes:  # two ids of the same hash
        order = block.query.numbers().argsort(kind="stable")
    given = order if block.given is None else block.given[order]
    return replace(block.take(order), left_out=block.left_out, empty=block.empty, given=given)


def fixed_hashes(queries: Ids) -> Words:
    """Return hashes that are the same in every process, as the order of what is given out.

    Queries of one such hash can be made up. They are sorted by their ids then, or are in one
    bucket, which costs no more than sorting all rows.
    """
    return spread(queries.hash(FIXED), _FIXED_ODD)


_FIXED_ODD = np.uint64(0xD1342543DE82EF95)  # of Steele & Vigna (2021)


def by_hash(hashes: Words, n_bits: int = 48) -> Ints:
    """Return the order of the hashes' first bits; where these are equal, rows keep their order."""
    order = np.arange(len(hashes))
    for shift in range(64 - n_bits, 64, 16):  # sixteen bits at a time, which take one pass each
        digits = (hashes >> np.uint64(shift)).astype(np.uint16)
        order = order[digits[order].argsort(kind="stable")]
    return order


_BUCKETS = 1 << 14


class _Dealt(NamedTuple):
    """A block's rows by the hash of their query; a run is adjacent rows of one query."""

    block: Block  # whose queries are left out
    queries: Ids  # (runs,)
    keys: Words  # (runs,) non-decreasing
    starts: Ints  # (runs + 1,) the row where each run begins
    bounds: Ints  # (buckets + 1,) the run where each bucket begins
    is_numbered: bool = False  # whether rows know their places among those of all blocks

    def part(self, begin: int, end: int) -> "_Dealt":
        """Return the rows of some buckets."""
        first, last = int(self.bounds[begin]), int(self.bounds[end])
        starts = self.starts[first : last + 1]
        block = self.block.take(slice(int(starts[0]), int(starts[-1])))
        queries = self.queries.take(slice(first, last))
        return _Dealt(block, queries, self.keys[first:last], starts - starts[0], self.bounds)


def regrouped(loads: Iterable[Load]) -> Iterator[Load]:
    """Give out the rows of queries that come back after others in blocks of whole queries.

    All rows are held in memory, dealt to buckets by the hash of their query; a block is some
    buckets.
    """
    parts = list(in_threads(_dealt, loads))
    left_out = sum((part.block.left_out for part in parts), LeftOut())
    empty = [query for part in parts for query in part.block.empty]
    parts = [part for part in _numbered(parts) if len(part.block)]
    if not parts:
        return
    ends = np.cumsum(np.sum([np.diff(part.starts[part.bounds]) for part in parts], axis=0))
    begin = 0
    while begin < _BUCKETS:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SIZES.rows, side="right")))
        yield partial(_piece, parts, begin, end, left_out, empty)
        begin, left_out, empty = end, LeftOut(), []  # these are told with the first


def _numbered(parts: Iterable[_Dealt]) -> Iterator[_Dealt]:
    """Yield the blocks with the places that their rows had among all, in four bytes each."""
    before = 0
    for part in parts:
        given = part.block.given
        assert given is not None  # noqa: S101 - `_dealt` has put the rows in another order
        if not part.is_numbered:
            given = given + np.uint32(before)
        yield part._replace(block=replace(part.block, given=given))
        before += len(part.block)


def _dealt(load: Load) -> _Dealt:
    block = load()
    hashes = fixed_hashes(block.query)
    order = by_hash(hashes, 32).astype(np.int32)  # a mix-up makes more runs, and nothing else
    ordered = hashes[order]
    if block.query.n_words <= 1:  # such identifiers have each a hash of its own
        begins = np.flatnonzero(changes(ordered))
    else:
        begins = block.query.take(order).begins()
    keys = ordered[begins]
    rows = replace(block, query=Ids.of([])).take(order)  # each run's query is held once
    rows = replace(rows, doc=rows.doc.compact(), left_out=block.left_out)
    is_numbered = block.given is not None
    if not is_numbered:
        rows = replace(rows, given=order.astype(np.uint32))
    edges = np.arange(1, _BUCKETS, dtype=np.uint64) << np.uint64(64 - 14)
    bounds = np.concatenate(([0], np.searchsorted(keys, edges), [len(keys)]))
    queries = block.query.take(order[begins]).compact()
    return _Dealt(rows, queries, keys, np.append(begins, len(order)), bounds, is_numbered)


def _piece(
    parts: list[_Dealt], begin: int, end: int, left_out: LeftOut, empty: list[bytes]
) -> Block:
    parts = [part.part(begin, end) for part in parts]
    whole = joined([part.block for part in parts])
    queries = Ids.joined([part.queries for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    runs = keys.argsort(kind="stable")
    same_key = np.flatnonzero(keys[runs[1:]] == keys[runs[:-1]])
    if queries.compare(runs[same_key], queries, runs[same_key + 1]).any():  # a chance in 2^64
        runs = queries.numbers().argsort(kind="stable")
    rows = spans((np.cumsum(counts) - counts)[runs], counts[runs])
    query = queries.take(np.repeat(runs, counts[runs]))
    return replace(whole.take(rows), query=query, left_out=left_out, empty=empty)
