"""The rows of a query that comes back later, put together again without sorting all rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import FIXED, Words, spread
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.records import Layout, Records
from cranfield.arrays.threads import in_threads
from cranfield.formats.block import SIZES, Block, LeftOut, Load


def together(block: Block) -> Block:
    """Bring each query's rows together, and keep their order."""
    order = _by_query(block.query)
    given = order if block.given is None else block.given[order]
    return replace(block.take(order), left_out=block.left_out, empty=block.empty, given=given)


def fixed_hashes(queries: Ids) -> Words:
    """Return hashes that are the same in every process, as the order of what is given out.

    Queries of one such hash can be made up. They are sorted by their ids then, or are in one
    bucket, which costs no more than sorting all rows.
    """
    return spread(queries.hash(FIXED), _FIXED_ODD)


_FIXED_ODD = np.uint64(0xD1342543DE82EF95)  # of Steele & Vigna (2021)


def bucket_of(queries: Ids, n: int) -> Ints:
    """Return the bucket, 0 to n - 1 < 2^16, of each query: the same in every process."""
    found: Ints = ((fixed_hashes(queries) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return found.astype(np.uint16)


def by_hash(hashes: Words, n_bits: int = 48) -> Ints:
    """Return the order of the hashes' first bits; where these are equal, rows keep their order."""
    order = np.arange(len(hashes))
    for shift in range(64 - n_bits, 64, 16):  # sixteen bits at a time, which take one pass each
        digits = (hashes >> np.uint64(shift)).astype(np.uint16)
        order = order[digits[order].argsort(kind="stable")]
    return order


def _by_query(queries: Ids) -> Ints:
    """Return the rows in an order in which those of a query are adjacent, and keep their order."""
    hashes = fixed_hashes(queries)
    if len(hashes) == 0:
        return np.arange(0)
    # Those of one bucket have the same first bits: stretched, 32 bits tell almost all apart.
    low, high = int(hashes.min()), int(hashes.max())
    hashes = (hashes - np.uint64(low)) * np.uint64((2**64 - 1) // max(high - low, 1))
    order = by_hash(hashes, 32)
    ordered = hashes[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = by_hash(hashes, 64)
        ordered = hashes[order]
    if queries.n_words > 1:  # else each has a hash of its own
        n_hashes = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        if len(queries.take(order).begins()) > n_hashes:  # two ids of the same hash
            order = queries.numbers().argsort(kind="stable")
    return order


_BUCKETS = 1 << 14


class _Sorted(NamedTuple):
    """A block's rows by the bucket of their query."""

    block: Block  # where its rows came from, and what was left out of them; not the rows
    records: Records
    bounds: Ints  # (buckets + 1,) the row where each bucket begins


def regrouped(loads: Iterable[Load]) -> Iterator[Load]:
    """Give out the rows of queries that come back after others in blocks of whole queries.

    All rows are held in memory, each block sorted into buckets by the hash of their query; what is
    given out is some buckets. Their columns, beside the ids, are of numbers.
    """
    parts = list(in_threads(_sorted, loads))
    left_out = sum((part.block.left_out for part in parts), LeftOut())
    empty = [query for part in parts for query in part.block.empty]
    parts = [part for part in parts if len(part.records)]
    if not parts:
        return
    layout = parts[0].records.layout
    for part in parts:
        layout = layout.common(part.records.layout)
    parts = [part._replace(records=part.records.laid(layout)) for part in parts]
    numbers = None  # the rows' places among those of all blocks, where they know these
    if parts[0].block.given is not None:
        numbers = np.concatenate([part.block.given for part in parts])
    ends = np.cumsum(np.sum([np.diff(part.bounds) for part in parts], axis=0))
    begin = 0
    while begin < _BUCKETS:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SIZES.rows, side="right")))
        if ends[end - 1] > before:
            yield partial(_piece, parts, begin, end, numbers, left_out, empty)
            left_out, empty = LeftOut(), []  # these are told with the first
        begin = end


def _sorted(load: Load) -> _Sorted:
    block = load()
    bucket = bucket_of(block.query, _BUCKETS)
    order = bucket.argsort(kind="stable")
    layout = Layout.of(block.query, block.doc, block.columns)
    records = Records.of(layout, block.query, block.doc, block.columns, np.arange(len(block)))
    counts = np.bincount(bucket, minlength=_BUCKETS)
    bounds = np.append(0, np.cumsum(counts)).astype(np.int32)
    none = Ids.of([])
    return _Sorted(replace(block, query=none, doc=none, columns={}), records.take(order), bounds)


def _piece(
    parts: Sequence[_Sorted],
    begin: int,
    end: int,
    numbers: Ints | None,
    left_out: LeftOut,
    empty: list[bytes],
) -> Block:
    places = [slice(int(part.bounds[begin]), int(part.bounds[end])) for part in parts]
    records = Records.joined(
        [part.records.take(place) for part, place in zip(parts, places, strict=True)]
    )
    firsts = np.cumsum([0, *(len(part.records) for part in parts)])  # of each part's rows among all
    counts = [place.stop - place.start for place in places]
    given = records.given + np.repeat(firsts[:-1], counts)
    order = _by_query(records.query)
    records, given = records.take(order), given[order]

    def place(row: int) -> tuple[str | None, int | None, str | None]:
        at = int(np.searchsorted(firsts, given[row], side="right")) - 1
        return blocks[at].place(int(given[row] - firsts[at]))

    blocks = [part.block for part in parts]
    sources = {block.source for block in blocks}
    return Block(
        records.query,
        records.doc,
        records.numbers,
        sources.pop() if len(sources) == 1 else lambda row: place(row)[0],
        lambda row: place(row)[1:],
        left_out,
        empty,
        given if numbers is None else numbers[given],
    )
