"""Ranking: rows by their queries, duplicates, the order of documents. The only sort, the only rule.

Score descending, compared as doubles; equal scores by document id, descending, compared as bytes
(trec_eval's rule) or ascending. Or the order given, or the rank column. Whoever asks is told which
places a group of equal scores takes up.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from cranfield.errors import DuplicateError
from cranfield.formats.block import Block, Errors, Faults, LeftOut, Load
from cranfield.ids import FIXED, Ids, Words, decode, keyed, spread
from cranfield.judging import Judging
from cranfield.ranked import Bools, Floats, Ints

_PIECE_ROWS = 131_072


@dataclass(frozen=True, eq=False)
class Grouped:
    """A block by its queries: adjacent rows of the same query are a group, without duplicates."""

    block: Block
    starts: Ints  # (groups + 1,) the row where each group begins
    group: Ints  # (rows,)
    queries: list[bytes]  # (groups,)
    keys: Words  # (rows,) of (group, document)


def grouped(block: Block, errors: Errors = "strict") -> Grouped:
    """Group a block by query.

    A document twice in one group is an error that names it, or all but its first row are left
    out.
    """
    starts = np.append(block.query.begins(), len(block))
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = keyed(block.doc.hash(), group)
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        suspect = np.flatnonzero(np.isin(keys, repeated, kind="sort"))
        twice = _duplicates(block, group, suspect)
        if twice:
            return grouped(_without(block, twice, errors))
    return Grouped(block, starts, group, block.query.take(starts[:-1]).to_list(), keys)


def _duplicates(block: Block, group: Ints, rows: Ints) -> list[int]:
    """Return those of `rows` whose query and document stood above."""
    seen: set[tuple[int, bytes]] = set()
    twice = []
    for row in rows.tolist():
        pair = int(group[row]), block.doc[row]
        if pair in seen:
            twice.append(row)
        seen.add(pair)
    return twice


def _without(block: Block, twice: list[int], errors: Errors) -> Block:
    """Return the block without some rows, whose documents stood above."""
    faults = Faults(errors)
    row = twice[0]
    problem = (
        f"the document {decode(block.doc[row])!r} stands twice for query "
        f"{decode(block.query[row])!r}"
    )
    hint = "Remove one of the two; cranfield does not guess which one is meant."
    faults.add("duplicate", partial(block.error, row, problem, hint, DuplicateError), len(twice))
    keep = np.ones(len(block), np.bool_)
    keep[twice] = False
    rest = block.take(np.flatnonzero(keep))
    return replace(rest, left_out=block.left_out + faults.left_out, empty=block.empty)


# ---- queries whose rows stand apart ---------------------------------------------------------


def joined(parts: Sequence[Block]) -> Block:
    """Put blocks one below the other."""
    begins = np.cumsum([0, *map(len, parts)])

    def where(row: int) -> tuple[int | None, str | None]:
        part = int(np.searchsorted(begins, row, side="right")) - 1
        return wheres[part](row - int(begins[part]))

    def column(values: list[Ints | Floats | None]) -> Ints | Floats | None:
        held = [one for one in values if one is not None]
        return np.concatenate(held) if held else None

    def source(row: int) -> str | None:
        name = names[int(np.searchsorted(begins, row, side="right")) - 1]
        return None if callable(name) else name  # a part is of one file

    wheres = [part.where for part in parts]  # and no more of the parts
    names = [part.source for part in parts]
    return Block(
        Ids.joined([part.query for part in parts]),
        Ids.joined([part.doc for part in parts]),
        column([part.value for part in parts]),
        source if len(set(names)) > 1 else names[0],
        where,
        column([part.rank for part in parts]),
        sum((part.left_out for part in parts), LeftOut()),
        [query for part in parts for query in part.empty],
        sampling={
            role: np.concatenate([part.sampling[role] for part in parts])
            for role in parts[0].sampling
        },
        cost=column([part.cost for part in parts]),
    )


def together(block: Block) -> Block:
    """Bring each query's rows together, in the order in which they stand."""
    hashes = _fixed_hashes(block.query)
    order = _by_hash(hashes)
    ordered = hashes[order] >> np.uint64(16)  # what they are sorted by
    n_hashes = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    if len(block) and len(block.query.take(order).begins()) > n_hashes:  # two ids of the same hash
        order = block.query.numbers().argsort(kind="stable")
    return replace(block.take(order), left_out=block.left_out, empty=block.empty)


def _fixed_hashes(queries: Ids) -> Words:
    """Return hashes that are the same in every process, as the order of what is given out.

    Queries of one such hash can be made up. They are sorted by their ids then, or stand in one
    bucket, which costs no more than sorting all rows.
    """
    return spread(queries.hash(FIXED), _FIXED_ODD)


_FIXED_ODD = np.uint64(0xD1342543DE82EF95)  # of Steele & Vigna (2021)


def _by_hash(hashes: Words, n_bits: int = 48) -> Ints:
    """Return the order of the hashes' first bits; where these are equal, rows stand as before."""
    order = np.arange(len(hashes))
    for shift in range(64 - n_bits, 64, 16):  # sixteen bits at a time, which take one pass each
        digits = (hashes >> np.uint64(shift)).astype(np.uint16)
        order = order[digits[order].argsort(kind="stable")]
    return order


_BUCKETS = 1 << 14


@dataclass(frozen=True, eq=False)
class _Dealt:
    """A block's rows by the hash of their query; a run is adjacent rows of one query."""

    block: Block  # whose queries are left out
    queries: Ids  # (runs,)
    keys: Words  # (runs,) non-decreasing
    starts: Ints  # (runs + 1,) the row where each run begins
    bounds: Ints  # (buckets + 1,) the run where each bucket begins

    def part(self, begin: int, end: int) -> "_Dealt":
        """Return the rows of some buckets."""
        first, last = int(self.bounds[begin]), int(self.bounds[end])
        starts = self.starts[first : last + 1]
        block = self.block.slice(int(starts[0]), int(starts[-1]))
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
    parts = [part for part in parts if len(part.block)]
    if not parts:
        return
    ends = np.cumsum(np.sum([np.diff(part.starts[part.bounds]) for part in parts], axis=0))
    begin = 0
    while begin < _BUCKETS:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _PIECE_ROWS, side="right")))
        yield partial(_piece, parts, begin, end, left_out, empty)
        begin, left_out, empty = end, LeftOut(), []  # these are told with the first


def _dealt(load: Load) -> _Dealt:
    block = load()
    hashes = _fixed_hashes(block.query)
    order = _by_hash(hashes, 32).astype(np.int32)  # a mix-up makes more runs, and nothing else
    ordered = hashes[order]
    if block.query.n_words <= 1:  # such identifiers have each a hash of its own
        begins = np.flatnonzero(np.append(len(order) > 0, ordered[1:] != ordered[:-1]))
    else:
        begins = block.query.take(order).begins()
    keys = ordered[begins]
    rows = replace(block, query=Ids.of([])).take(order)  # each run's query is held once
    rows = replace(rows, doc=rows.doc.compact(), left_out=block.left_out)
    edges = np.arange(1, _BUCKETS, dtype=np.uint64) << np.uint64(64 - 14)
    bounds = np.concatenate(([0], np.searchsorted(keys, edges), [len(keys)]))
    queries = block.query.take(order[begins]).compact()
    return _Dealt(rows, queries, keys, np.append(begins, len(order)), bounds)


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
    counts_before = np.cumsum(counts) - counts
    lengths = counts[runs]
    rows = np.repeat(counts_before[runs] - (np.cumsum(lengths) - lengths), lengths)
    rows += np.arange(len(rows))
    query = queries.take(np.repeat(runs, lengths))
    return replace(whole.take(rows), query=query, left_out=left_out, empty=empty)


# ---- threads --------------------------------------------------------------------------------

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def in_threads(work: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
    """Apply `work` to items in several threads, in order, with only a few of them in memory."""
    items = iter(items)
    first, second = next(items, None), next(items, None)
    if first is None:
        return
    if second is None:
        yield work(first)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    n_threads = min(8, _n_cores()) + 1  # one more: a thread waits whenever Python itself is busy
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[_Out]] = deque()
        try:
            for item in chain((first, second), items):
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---- order ----------------------------------------------------------------------------------


def sorting_scores(block: Block, judging: Judging = Judging()) -> Floats | None:
    """Return what to sort by, highest first; None if the rows stand in order.

    A run without scores is ranked by its rank column, if it has one.
    """
    if judging.order == "given":
        return None
    if judging.order == "rank" or block.value is None:
        return None if block.rank is None else -block.rank.astype(np.float64)
    if judging.scores == "single":
        return single(block.value)
    return block.value.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Placed:
    """Where some rows stand in their groups, and how many rows share their score."""

    rank: Ints  # (rows,)
    n_tied: int  # of all rows of the groups asked for
    n_level: int = 0  # of these groups, of several rows: all of the same score
    n_unsorted: int = 0  # of these: whose rows do not fall by score
    tie_first: Ints | None = None  # (rows,) the rank of the first document of the same score
    tie_size: Ints | None = None  # (rows,) how many documents have that score


def ranks(block: Grouped, scores: Floats | None, rows: Ints, judging: Judging = Judging()) -> Ints:
    """Return the rank of `rows` in their groups: score falling, then document id by the rule."""
    return placed(block, scores, rows, judging).rank


def placed(
    block: Grouped,
    scores: Floats | None,
    rows: Ints,
    judging: Judging,
    asked: Bools | None = None,
) -> Placed:
    """Rank `rows` in their groups: score falling, then document id, ascending or descending.

    Rows that share their score are counted in the groups `asked` for, (groups,), or in all. The
    places of equal scores are told if the rule needs them.
    """
    begins = block.starts[block.group[rows]]
    position, in_order, n_tied = rows, scores, 0
    n_level = n_unsorted = 0
    if scores is not None:
        # Most runs stand in order: look for a row that is not below the one above it.
        suspect = np.flatnonzero(scores[1:] >= scores[:-1])
        suspect = suspect[block.group[suspect] == block.group[suspect + 1]]
        wrong = scores[suspect + 1] > scores[suspect]
        ties = suspect[~wrong]
        tied_wrong = astray_ties(block.block.doc, ties, judging)
        unsorted = np.zeros(len(block.starts) - 1, np.bool_)
        unsorted[block.group[suspect[wrong]]] = True
        counts = np.diff(block.starts)
        several = counts > 1 if asked is None else (counts > 1) & asked
        n_unsorted = int(np.count_nonzero(unsorted & several))
        if len(ties):
            n_equal = np.bincount(block.group[ties], minlength=len(counts))
            n_level = int(np.count_nonzero(several & (n_equal == counts - 1)))
        unsorted[block.group[ties[tied_wrong]]] = True
        counted = ~unsorted if asked is None else asked & ~unsorted
        n_tied = _in_pairs(ties[counted[block.group[ties]]])
        if unsorted.any():
            astray = np.flatnonzero(unsorted[block.group])
            ordered, tied = _sorted_rows(block, scores, astray, judging)
            n_tied += len(tied) if asked is None else int(asked[block.group[tied]].sum())
            every = np.arange(len(block.group))
            every[ordered] = astray
            position = every[rows]
            in_order = scores.copy()
            in_order[astray] = scores[ordered]
    rank = position - begins + 1
    found = Placed(rank, n_tied, n_level, n_unsorted)
    if judging.ties_by_id:
        return found
    if in_order is None:
        return replace(found, tie_first=rank, tie_size=np.ones_like(rank))
    new = np.append(True, in_order[1:] != in_order[:-1])[: len(in_order)]
    new[block.starts[:-1]] = True
    firsts = np.append(np.flatnonzero(new), len(new))
    tie = (np.cumsum(new) - 1)[position]
    return replace(found, tie_first=firsts[tie] - begins + 1, tie_size=np.diff(firsts)[tie])


def _in_pairs(upper: Ints) -> int:
    """Count the rows in pairs of adjacent ones, of each of which the upper is given."""
    return len(upper) + int(np.count_nonzero(np.diff(upper, prepend=-2) > 1))


def _sorted_rows(block: Grouped, scores: Floats, rows: Ints, judging: Judging) -> tuple[Ints, Ints]:
    """Return `rows`, group by group, in the order of the ranking; and those that are tied."""
    by_score = rows[(-scores[rows]).argsort()]  # ties are sorted below
    ordered = by_score[_narrow(block.group[by_score]).argsort(kind="stable")]
    equal = (scores[ordered[1:]] == scores[ordered[:-1]]) & (
        block.group[ordered[1:]] == block.group[ordered[:-1]]
    )
    if not equal.any():
        return ordered, ordered[:0]
    new_tie = np.concatenate(([True], ~equal))
    tie = np.cumsum(new_tie)
    in_tie = np.flatnonzero(~new_tie | np.concatenate((equal, [False])))
    numbers = tie_order(block.block.doc.take(ordered[in_tie]), judging)
    by_id = np.lexsort((numbers, tie[in_tie]))
    ordered[in_tie] = ordered[in_tie][by_id]
    return ordered, ordered[in_tie]


def _narrow(groups: Ints) -> Ints:
    """Return the groups' numbers in sixteen bits if they fit: these are sorted in one pass."""
    return groups.astype(np.uint16) if int(groups.max(initial=0)) < 1 << 16 else groups


def astray_ties(docs: Ids, upper: Ints, judging: Judging) -> Bools:
    """Tell which rows of the same score as the next one should be below it: see `tie_order`."""
    compared = docs.compare(upper, docs, upper + 1)
    return compared > 0 if judging.ties == "ascending" else compared < 0


def tie_order(docs: Ids, judging: Judging) -> Ints:
    """Return numbers by which documents of the same score are sorted, lowest first."""
    numbers = docs.numbers()
    return numbers if judging.ties == "ascending" else ~numbers


def single(values: Floats, wide: bool = True) -> Floats:
    """Return scores as 32-bit floats have them; not `wide`: none is beyond their range."""
    if wide:
        values = np.where(np.abs(values) > LARGEST_SINGLE, np.copysign(np.inf, values), values)
    return values.astype(np.float32).astype(np.float64)


# What is greater is infinite as a 32-bit float: the largest of them, and half the step beyond.
LARGEST_SINGLE = float.fromhex("0x1.fffffefffffffp127")
