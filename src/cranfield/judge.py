"""judge: a run meets the judgments. The only sort, the only tie rule, the only query rule.

**Ranking.** Score descending, compared as doubles; equal scores by document id descending,
compared as bytes (trec_eval's rule). Or the order given, or the rank column.

**Queries.** Every query of the qrels counts; one that the run does not answer has no hits and so
scores 0 (`queries="judged"`, as `trec_eval -c`). Or only those in both (`queries="both"`). Queries
that only the run has cannot be scored. All are counted.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, compress, repeat
from typing import Any, Literal

import numpy as np

from cranfield.errors import InputError, NothingSharedError, OptionError, one_of
from cranfield.formats.block import Block, Load
from cranfield.formats.objects import Nested, by_position, scores_of
from cranfield.formats.trec import Order
from cranfield.ids import Ids, Words, decode, keyed
from cranfield.judged import Judged, Parts
from cranfield.ranked import Bools, Floats, Ints, Ranked
from cranfield.tables import Grouped, Qrels, Run, grouped, together

Queries = Literal["judged", "both"]
Precision = Literal["double", "single"]
Ties = Literal["document", "ascending"]


@dataclass(frozen=True)
class Counts:
    """Which queries a result stands for, and what was left out of it."""

    queries: int  # averaged
    without_results: int  # of these: the run retrieved nothing for them, they score 0
    without_relevant: int  # of these: no judged document has a grade of 1 or more
    without_judgments: int  # in the run, but not in the qrels: not scored
    without_run: int = 0  # in the qrels, but left out because the run has none (queries="both")

    def notes(self) -> list[str]:
        """Return a sentence for every count that is not zero, beginning with the queries."""
        said = [f"{self.queries:,} {_plural(self.queries, 'query', 'queries')} averaged."]
        for count, text in (
            (self.without_results, "without results: counted as retrieving nothing."),
            (self.without_relevant, "without a relevant document (no grade of 1 or more)."),
            (self.without_judgments, "of the run left out: not in the qrels."),
            (self.without_run, "of the qrels left out: not in the run."),
        ):
            if count:
                said.append(f"{count:,} {_plural(count, 'query', 'queries')} {text}")
        return said


def _plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


@dataclass(eq=False, repr=False)
class Meeting:
    """What judge returns: the judged run, the queries by name, and how many there are."""

    judged: Judged
    query_ids: Sequence[str]
    in_run: Bools  # (n_queries,) which of them the run has
    n_answered: int  # queries for which the run retrieved something
    without_judgments: int
    without_run: int

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        return Counts(
            queries=len(self.query_ids),
            without_results=len(self.query_ids) - self.n_answered,
            without_relevant=int(np.count_nonzero(self.judged.n_relevant() == 0)),
            without_judgments=self.without_judgments,
            without_run=self.without_run,
        )


def judge(
    qrels: Qrels,
    run: Run,
    *,
    queries: Queries = "judged",
    order: Order = "score",
    scores: Precision = "double",
    ties: Ties = "document",
    depth: int | None = None,
    judged_only: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Meeting:
    """Match a run with the judgments and rank it.

    `queries`: "judged" scores every query of the qrels, "both" those that are in the run, too.
    `order`: rank by "score", by the run's "rank" column, or as "given". `scores`: "single" rounds
    to 32-bit floats before ranking, as trec_eval 9 and pytrec_eval do. `ties`: equal scores stand
    by "document" id, descending, or "ascending" (as trec_eval has it for preferences). `depth`:
    keep the best so many documents of each query (trec_eval -M). `judged_only`: then drop what is
    unjudged or has a negative grade, and close the ranks up (trec_eval -J). `progress` hears of
    the bytes read.

    Raises InputError if the run cannot be read, or shares no query with the qrels.
    """
    one_of("queries", queries, ("judged", "both"))
    one_of("order", order, ("score", "rank", "given"))
    one_of("scores", scores, ("double", "single"))
    one_of("ties", ties, ("document", "ascending"))
    if order == "given" and ties != "document":
        raise OptionError(f"ties={ties!r} has no effect with order='given': leave one of them out")
    whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if depth is not None and (not whole or depth < 1):
        raise OptionError(f"depth={depth!r:.40}: expected a whole number, 1 or more")
    if run.nested is not None:
        match = _match_dicts(qrels, run.nested, order, scores, ties)
    else:
        match = _match_blocks(qrels, run, order, scores, ties, progress)
    return _assemble(qrels, run, match, queries, depth, judged_only)


@dataclass(eq=False, repr=False)
class _Match:
    """The hits, in no order, as rows of the qrels with their ranks."""

    n_retrieved: Ints  # (n_queries of the qrels,)
    in_run: Bools  # (n_queries of the qrels,)
    unknown: set[Any] = field(default_factory=set)  # queries of the run without judgments
    row: list[Ints] = field(default_factory=list)
    rank: list[Ints] = field(default_factory=list)

    @classmethod
    def none(cls, qrels: Qrels) -> "_Match":
        n = len(qrels.query_ids)
        return cls(np.zeros(n, np.int64), np.zeros(n, np.bool_))


def _assemble(
    qrels: Qrels, run: Run, match: _Match, queries: Queries, depth: int | None, judged_only: bool
) -> Meeting:
    if not np.count_nonzero(match.in_run):
        raise _nothing_shared(qrels, run, match.unknown)
    n_queries = len(qrels.query_ids)
    row, rank = _joined(match.row), _joined(match.rank)
    query = qrels.query[row]
    keys = rank if n_queries == 1 else query * (int(rank.max(initial=0)) + 1) + rank
    order = keys.argsort()
    hits = Ranked(n_queries, query[order], rank[order], qrels.grade[row[order]])
    ideal, n_retrieved, query_ids = qrels.ideal, match.n_retrieved[:, None], qrels.query_ids
    left_out, n_answered = 0, int(np.count_nonzero(n_retrieved))
    kept = None
    if queries == "both" and not match.in_run.all():
        kept = match.in_run
        left_out = int(np.count_nonzero(~match.in_run))
        hits, ideal = _of_queries(hits, match.in_run), _of_queries(ideal, match.in_run)
        n_retrieved = n_retrieved[match.in_run]
        query_ids = [query_ids[i] for i in np.flatnonzero(match.in_run).tolist()]
    if depth is not None:
        depth = min(depth, 2**62)
        hits = hits.top(np.array([[depth]]))
        n_retrieved = np.minimum(n_retrieved, depth)

    def parts() -> Parts:
        rank_of = np.zeros(len(qrels), np.int64)
        rank_of[row] = rank if depth is None else np.where(rank <= depth, rank, 0)
        levels = qrels.levels if kept is None else qrels.levels.of_queries(kept)
        return Parts(len(query_ids), levels, rank_of[levels.row], judged_only, qrels)

    if judged_only:
        hits = hits.relevant(0)
        hits = replace(hits, rank=hits.ordinal)
        n_retrieved = hits.count()
    judged = Judged(hits, ideal, n_retrieved, qrels.top_grade, qrels.in_groups, parts)
    in_run = match.in_run if kept is None else kept[kept]
    return Meeting(judged, query_ids, in_run, n_answered, len(match.unknown), left_out)


def _joined(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, np.int64)])


def _of_queries(ranked: Ranked, keep: Bools) -> Ranked:
    number = np.cumsum(keep) - 1
    rows = keep[ranked.query]
    return Ranked(
        int(np.count_nonzero(keep)),
        number[ranked.query[rows]],
        ranked.rank[rows],
        ranked.grade[rows],
    )


def _nothing_shared(qrels: Qrels, run: Run, unknown: Iterable[Any]) -> InputError:
    theirs = next((q if isinstance(q, str) else decode(q) for q in sorted(unknown)), None)
    if theirs is None:
        return InputError(f"the run {run.name!r} holds no query")
    return NothingSharedError(
        f"the run {run.name!r} and the qrels share no query: "
        f"the run has for instance {theirs!r}, the qrels {qrels.query_ids[0]!r}",
        hint="Are they of the same collection, and written in the same way?",
    )


# ---- runs in blocks -------------------------------------------------------------------------


def _match_blocks(
    qrels: Qrels,
    run: Run,
    order: Order,
    scores: Precision,
    ties: Ties,
    progress: Callable[[int], None] | None,
) -> _Match:
    ranked = partial(_matched_block, qrels, order, scores, ties)
    match = _collect(qrels, _in_threads(ranked, run.blocks(order, progress)))
    if match is None:  # a query came back: its rows stand apart, so bring them together first
        whole = together(load() for load in run.blocks(order))
        match = _collect(qrels, [ranked(lambda: whole)])
        assert match is not None  # noqa: S101 - each query is in one place now
    return match


@dataclass(eq=False, repr=False)
class _BlockMatch:
    queries: list[int]  # codes of the judged queries in the block
    n_retrieved: Ints
    unknown: list[bytes]
    row: Ints
    rank: Ints


def _collect(qrels: Qrels, parts: Iterable[_BlockMatch]) -> _Match | None:
    """Gather the blocks' matches; None if a query stands in two places."""
    match = _Match.none(qrels)
    for part in parts:
        known = len(match.unknown)
        match.unknown.update(part.unknown)
        twice = len(match.unknown) < known + len(part.unknown)
        if twice or match.in_run[part.queries].any() or len(set(part.queries)) < len(part.queries):
            return None
        match.in_run[part.queries] = True
        match.n_retrieved[part.queries] = part.n_retrieved
        match.row.append(part.row)
        match.rank.append(part.rank)
    return match


def _in_threads(
    work: Callable[[Load], _BlockMatch], loads: Iterator[Load]
) -> Iterator[_BlockMatch]:
    """Apply `work` to blocks in several threads, in order, with only a few blocks in memory."""
    first, second = next(loads, None), next(loads, None)
    if first is None:
        return
    if second is None:
        yield work(first)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    n_threads = min(8, _n_cores()) + 1  # one more: a thread waits whenever Python itself is busy
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[_BlockMatch]] = deque()
        try:
            for load in chain((first, second), loads):
                waiting.append(pool.submit(work, load))
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


def _matched_block(
    qrels: Qrels, order: Order, scores: Precision, ties: Ties, load: Load
) -> _BlockMatch:
    """Find a block's judged documents and their ranks. Runs in a thread of its own."""
    block = grouped(load())
    codes = [qrels.codes.get(query, -1) for query in block.queries]
    code = np.array(codes, np.int64)
    rows, judgments = _hits(block, code, qrels)
    return _BlockMatch(
        [c for c in codes if c >= 0],
        np.diff(block.starts)[code >= 0],
        [query for query, c in zip(block.queries, codes, strict=True) if c < 0],
        judgments,
        _ranks(block, _sorting_scores(block.block, order, scores), ties, rows),
    )


def _hits(block: Grouped, code: Ints, qrels: Qrels) -> tuple[Ints, Ints]:
    """Return the block's rows that are judged, and the rows of their judgments."""
    groups = np.flatnonzero(code >= 0)
    counts = np.diff(qrels.starts)[code[groups]]
    begins = np.repeat(qrels.starts[code[groups]] - (np.cumsum(counts) - counts), counts)
    judgments = begins + np.arange(len(begins))
    keys = keyed(qrels.doc_hashes[judgments], np.repeat(groups, counts))
    by_key = np.argsort(keys)
    keys, judgments = keys[by_key], judgments[by_key]
    rows = np.flatnonzero(_marked(block.keys, keys))
    at = np.searchsorted(keys, block.keys[rows])
    rows_found, judgments_found = [], []
    while len(rows):
        # Keys that are equal belong to the same query and document, but for a rare coincidence:
        # look at the ids; where they differ, the next judgment may have the same key.
        inside = at < len(keys)
        rows, at = rows[inside], at[inside]
        equal_key = keys[at] == block.keys[rows]
        rows, at = rows[equal_key], at[equal_key]
        same = block.block.doc.compare(rows, qrels.docs, judgments[at]) == 0
        same &= qrels.query[judgments[at]] == code[block.group[rows]]
        rows_found.append(rows[same])
        judgments_found.append(judgments[at[same]])
        rows, at = rows[~same], at[~same] + 1
    none = np.zeros(0, np.int64)
    return np.concatenate([*rows_found, none]), np.concatenate([*judgments_found, none])


def _marked(keys: Words, wanted: Words) -> Bools:
    """Tell which keys may be among `wanted`: all that are, and hardly any other."""
    bits = np.uint64(64 - max(16, len(wanted).bit_length() + 3))
    mark = np.zeros(1 << (64 - int(bits)), np.bool_)
    mark[(_spread(wanted) >> bits).view(np.int64)] = True
    marked: Bools = mark[(_spread(keys) >> bits).view(np.int64)]
    return marked


def _spread(keys: Words) -> Words:
    return keys * np.uint64(0xD1342543DE82EF95)  # an odd multiplier of Steele & Vigna (2021)


def _sorting_scores(block: Block, order: Order, scores: Precision) -> Floats | None:
    """Return what to sort by, highest first; None if the rows stand in order."""
    if block.value is None or order == "given":
        return None
    if order == "rank":
        return -block.value.astype(np.float64)
    if scores == "single":
        return _single(block.value)
    return block.value.astype(np.float64, copy=False)


def _ranks(block: Grouped, scores: Floats | None, rule: Ties, rows: Ints) -> Ints:
    """Return the rank of `rows` in their groups: score falling, then document id by the rule."""
    if scores is not None:
        # Most runs stand in order: look for a row that is not below the one above it.
        suspect = np.flatnonzero(scores[1:] >= scores[:-1])
        suspect = suspect[block.group[suspect] == block.group[suspect + 1]]
        wrong = scores[suspect + 1] > scores[suspect]
        ties = suspect[~wrong]
        compared = block.block.doc.compare(ties, block.block.doc, ties + 1)
        tied_wrong = compared > 0 if rule == "ascending" else compared < 0
        unsorted = np.zeros(len(block.starts) - 1, np.bool_)
        unsorted[block.group[suspect[wrong]]] = True
        unsorted[block.group[ties[tied_wrong]]] = True
        if unsorted.any():
            astray = np.flatnonzero(unsorted[block.group])
            position = np.arange(len(block.group))
            position[_sorted_rows(block, scores, rule, astray)] = astray
            return position[rows] - block.starts[block.group[rows]] + 1
    return rows - block.starts[block.group[rows]] + 1


def _sorted_rows(block: Grouped, scores: Floats, rule: Ties, rows: Ints) -> Ints:
    """Return `rows`, group by group, in the order of the ranking."""
    ordered = rows[np.lexsort((-scores[rows], block.group[rows]))]
    equal = (scores[ordered[1:]] == scores[ordered[:-1]]) & (
        block.group[ordered[1:]] == block.group[ordered[:-1]]
    )
    if equal.any():
        new_tie = np.concatenate(([True], ~equal))
        tie = np.cumsum(new_tie)
        in_tie = np.flatnonzero(~new_tie | np.concatenate((equal, [False])))
        numbers = _tie_order(block.block.doc.take(ordered[in_tie]), rule)
        by_id = np.lexsort((numbers, tie[in_tie]))
        ordered[in_tie] = ordered[in_tie][by_id]
    return ordered


def _tie_order(docs: Ids, rule: Ties) -> Ints:
    """Return numbers by which documents of the same score are sorted, lowest first."""
    numbers = docs.numbers()
    return numbers if rule == "ascending" else ~numbers


# ---- dicts ----------------------------------------------------------------------------------


def _match_dicts(
    qrels: Qrels, nested: Nested, order: Order, scores: Precision, ties: Ties
) -> _Match:
    """Match a dict of dicts, which is turned round: look the judged documents up in the run.

    The scores alone are sorted; a document's rank is one more than the number of scores above its
    own. Only where a judged document's score is shared, the ids are looked at.
    """
    if order == "rank":
        raise OptionError("order='rank': a run in memory has no rank column")
    match = _Match.none(qrels)
    starts = qrels.starts.tolist()
    for code, (query, docs) in enumerate(zip(qrels.query_ids, qrels.doc_lists, strict=True)):
        ranking: Mapping[str, Any] | None = nested.get(query)
        if ranking is None:
            continue
        if order == "given":
            ranking = by_position(query, list(ranking))
        match.in_run[code] = True
        match.n_retrieved[code] = len(ranking)
        if not ranking:
            continue
        every, values = scores_of(query, ranking)
        found = np.fromiter(map(ranking.get, docs, repeat(np.nan)), np.float64, len(docs))
        rows = (found == found).nonzero()[0]
        if len(rows) == 0:
            continue
        found = found.take(rows)
        wide = bool(values[-1] > _LARGEST_SINGLE or values[0] < -_LARGEST_SINGLE)
        if scores == "single":
            values, found = _single(values, wide), _single(found, wide)
        above = len(values) - values.searchsorted(found, "right")
        if np.count_nonzero(values[1:] == values[:-1]):
            hits = [docs[i] for i in rows.tolist()]
            every = _single(every, wide) if scores == "single" else every
            above += _tied_above(ranking, every, values, hits, found, ties)
        match.row.append(rows + starts[code])
        match.rank.append(above + 1)
    if np.count_nonzero(match.in_run) < len(nested):
        match.unknown.update(nested.keys() - set(qrels.query_ids))
    return match


def _single(values: Floats, wide: bool = True) -> Floats:
    """Return scores as 32-bit floats have them; not `wide`: none is beyond their range."""
    if wide:
        values = np.where(np.abs(values) > _LARGEST_SINGLE, np.copysign(np.inf, values), values)
    return values.astype(np.float32).astype(np.float64)


# What is greater is infinite as a 32-bit float: the largest of them, and half the step beyond.
_LARGEST_SINGLE = float.fromhex("0x1.fffffefffffffp127")


def _tied_above(
    ranking: Iterable[str],
    every: Floats,
    values: Floats,
    docs: list[str],
    found: Floats,
    ties: Ties,
) -> Ints:
    """Count, for each hit, the documents of the same score that stand above it.

    `every` are the scores of the ranking, `values` the same in order; `docs` and `found` (hits,)
    are the hits and their scores.
    """
    first = np.searchsorted(values, found, side="left")
    beyond = np.searchsorted(values, found, side="right")
    shared = beyond - first > 1
    above = np.zeros(len(found), np.int64)
    if not shared.any():
        return above
    wanted = np.sort(found[shared])
    wanted = wanted[np.append(True, wanted[1:] != wanted[:-1])]  # np.unique takes 8 ms to import
    tied = wanted[np.minimum(np.searchsorted(wanted, every), len(wanted) - 1)] == every
    numbers = _tie_order(Ids.of_texts([*compress(ranking, tied), *compress(docs, shared)]), ties)
    n_tied = int(np.count_nonzero(tied))
    theirs, mine = numbers[:n_tied], numbers[n_tied:]
    if len(wanted) == 1:
        above[shared] = np.searchsorted(np.sort(theirs), mine)
        return above
    by_number = np.argsort(theirs)
    row = by_number[np.searchsorted(theirs[by_number], mine)]  # each hit among the tied
    order = np.lexsort((theirs, every[tied]))
    position = np.empty(n_tied, np.int64)
    position[order] = np.arange(n_tied)
    above[shared] = position[row] - np.searchsorted(every[tied][order], found[shared])
    return above
