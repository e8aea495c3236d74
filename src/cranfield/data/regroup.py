"""Regroups rows of queries that come back after others, all in memory, by hashes of the queries."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import FIXED_KEYS, Words, spread_bits
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.records import Layout, Records
from cranfield.arrays.threads import map_in_threads
from cranfield.formats.block import SIZES, Block, FaultyRows, Load


def gather_queries(block: Block) -> Block:
    """Bring each query's rows together, and keep their order."""
    order = _sort_by_query(block.query)
    position = order if block.input_row is None else block.input_row[order]
    return replace(
        block.take(order),
        left_out=block.left_out,
        empty_queries=block.empty_queries,
        input_row=position,
    )


def fixed_hashes(queries: Ids) -> Words:
    """Return hashes of queries that are the same in every process, (rows,), to order rows by.

    Queries of equal hash can be made up. They are then sorted by their ids, or are in one bucket,
    which costs no more than sorting all rows.
    """
    return spread_bits(queries.hash(FIXED_KEYS), _FIXED_FACTOR)


_FIXED_FACTOR = np.uint64(0xD1342543DE82EF95)  # of Steele & Vigna (2021)


def assign_buckets(queries: Ids, n: int) -> Ints:
    """Return the bucket, 0 to n - 1 < 2^16, of each query: the same in every process."""
    bucket: Ints = ((fixed_hashes(queries) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return bucket.astype(np.uint16)


def sort_by_hash(hashes: Words, n_bits: int = 48) -> Ints:
    """Return the order of rows by `n_bits` first bits of their hashes, a multiple of 16; stable."""
    order = np.arange(len(hashes))
    for shift in range(64 - n_bits, 64, 16):  # sixteen bits at a time, which take one pass each
        digits = (hashes >> np.uint64(shift)).astype(np.uint16)
        order = order[digits[order].argsort(kind="stable")]
    return order


def _sort_by_query(queries: Ids) -> Ints:
    """Return an order of rows in which the rows of a query are adjacent, in their old order."""
    hashes = fixed_hashes(queries)
    if len(hashes) == 0:
        return np.arange(0)
    # Queries of one bucket share their first bits: stretched, 32 bits tell almost all apart.
    lowest, highest = int(hashes.min()), int(hashes.max())
    hashes = (hashes - np.uint64(lowest)) * np.uint64((2**64 - 1) // max(highest - lowest, 1))
    order = sort_by_hash(hashes, 32)
    sorted_hashes = hashes[order]
    if (sorted_hashes[1:] < sorted_hashes[:-1]).any():
        order = sort_by_hash(hashes, 64)
        sorted_hashes = hashes[order]
    if queries.n_words > 1:  # else distinct queries have distinct hashes
        n_hashes = 1 + int(np.count_nonzero(sorted_hashes[1:] != sorted_hashes[:-1]))
        if len(queries.take(order).find_changes()) > n_hashes:  # two ids of the same hash
            order = queries.sort_keys().argsort(kind="stable")
    return order


_N_BUCKETS = 1 << 14


class _BucketedBlock(NamedTuple):
    """A block's rows, sorted by the bucket of their query."""

    block: Block  # without its rows: their source, and what was left out
    records: Records
    bounds: Ints  # (buckets + 1,) the row where each bucket begins


def regroup_queries(loads: Iterable[Load]) -> Iterator[Load]:
    """Yield the rows of blocks, in which queries come back, in blocks of whole queries.

    All rows are held in memory, each block sorted into buckets by the hash of the query; a block
    that is yielded holds some buckets. All columns but the ids are numbers.
    """
    blocks = list(map_in_threads(_sort_into_buckets, loads))
    left_out = sum((block.block.left_out for block in blocks), FaultyRows())
    empty = [query for block in blocks for query in block.block.empty_queries]
    blocks = [block for block in blocks if len(block.records)]
    if not blocks:
        return
    layout = blocks[0].records.layout
    for block in blocks:
        layout = layout.merge(block.records.layout)
    blocks = [block._replace(records=block.records.change_layout(layout)) for block in blocks]
    joint_position = None  # the rows' numbers in the input, where blocks know them
    if blocks[0].block.input_row is not None:
        joint_position = np.concatenate([block.block.input_row for block in blocks])
    ends = np.cumsum(np.sum([np.diff(block.bounds) for block in blocks], axis=0))
    begin = 0
    while begin < _N_BUCKETS:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + SIZES.rows, side="right")))
        if ends[end - 1] > before:
            yield partial(_join_buckets, blocks, begin, end, joint_position, left_out, empty)
            left_out, empty = FaultyRows(), []  # the first block counts them
        begin = end


def _sort_into_buckets(load: Load) -> _BucketedBlock:
    """Return the rows of the block that `load` makes, by bucket, with their positions in it."""
    block = load()
    bucket = assign_buckets(block.query, _N_BUCKETS)
    order = bucket.argsort(kind="stable")
    layout = Layout.of(block.query, block.doc, block.columns)
    records = Records.of(layout, block.query, block.doc, block.columns, np.arange(len(block)))
    counts = np.bincount(bucket, minlength=_N_BUCKETS)
    bounds = np.append(0, np.cumsum(counts)).astype(np.int32)
    no_ids = Ids.of([])
    return _BucketedBlock(
        replace(block, query=no_ids, doc=no_ids, columns={}), records.take(order), bounds
    )


def _join_buckets(
    blocks: Sequence[_BucketedBlock],
    begin: int,
    end: int,
    joint_position: Ints | None,
    left_out: FaultyRows,
    empty: list[bytes],
) -> Block:
    """Return the rows of buckets `begin` to before `end`, each query's together, in their order."""
    block_rows = [slice(int(block.bounds[begin]), int(block.bounds[end])) for block in blocks]
    records = Records.concatenate(
        [block.records.take(rows) for block, rows in zip(blocks, block_rows, strict=True)]
    )
    # The first joint row of each block.
    firsts = np.cumsum([0, *(len(block.records) for block in blocks)])
    counts = [rows.stop - rows.start for rows in block_rows]
    position = records.position + np.repeat(firsts[:-1], counts)
    order = _sort_by_query(records.query)
    records, position = records.take(order), position[order]

    def locate_row(row: int) -> tuple[str | None, int | None, str | None]:
        block_number = int(np.searchsorted(firsts, position[row], side="right")) - 1
        return source_blocks[block_number].locate_row(int(position[row] - firsts[block_number]))

    source_blocks = [block.block for block in blocks]
    sources = {source_block.source for source_block in source_blocks}
    return Block(
        records.query,
        records.doc,
        records.numbers,
        sources.pop() if len(sources) == 1 else lambda row: locate_row(row)[0],
        lambda row: locate_row(row)[1:],
        left_out,
        empty,
        position if joint_position is None else joint_position[position],
    )
