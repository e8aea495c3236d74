"""Match: which rows of a run are judged, and at which ranks; of blocks, and of dicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.slots import PairIndex
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judging import Judging
from cranfield.data.order import (
    LARGEST_SINGLE,
    DroppedCounts,
    GroupedBlock,
    Placement,
    is_above_threshold,
    has_split_query,
    rank_documents,
    to_single,
    tie_sort_keys,
)
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import DuplicateError, OptionError
from cranfield.formats.block import NO_FAULTY_ROWS, FaultyRows, Load
from cranfield.formats.objects import Nested, score_by_position
from cranfield.formats.values import pack_doubles, to_scores
from cranfield.progress import watch_files, watch_steps


@dataclass(eq=False, repr=False)
class Match:
    """The hits, as rows of the qrels with their ranks."""

    n_retrieved: Ints  # (n_queries of the qrels,)
    is_in_run: Bools  # (n_queries of the qrels,)
    unjudged_queries: dict[Any, int]  # queries of the run without judgments: how many documents each has
    left_out: FaultyRows
    repeats: FaultyRows  # rows whose document another row of the query has, too
    row: Ints  # (hits,)
    placement: Placement  # of the hits
    cost: Floats | None = None  # of every retrieved document, query after query, best rank first
    conversion_counts: tuple[int, int] = (0, 0)  # see `Grouped`
    is_regrouped: bool = False  # whether its queries came back after others
    dropped_counts: DroppedCounts = (0, 0)
    is_in_order: bool = False  # whether the hits are in the order of query and rank


def _concatenate(columns: Iterable[Ints]) -> Ints:
    """Return one column of several, or of none."""
    columns = list(columns)
    return columns[0] if len(columns) == 1 else np.concatenate([*columns, np.zeros(0, np.int64)])


# ---- runs in blocks -------------------------------------------------------------------------


def match_runs(qrels: Qrels, runs: Sequence[Run], judging: Judging, costs: bool) -> Iterator[Match]:
    """Yield each run's match. The blocks of all runs go through the same threads, in order."""
    if None not in [run.docs_of_query for run in runs]:  # no threads: Python does not let go of them
        for run in watch_steps(runs, "scoring"):
            yield _match_dicts(qrels, run, judging)
        return
    try:
        yield from _match_blocks(qrels, runs, judging, costs)
    except _RepeatError as found:
        i, error = found.args
        raise runs[i].twice(error, judging) from None


class _RepeatError(Exception):
    """A block of a run has a document twice: the number of the run, and the error."""


def _match_blocks(qrels: Qrels, runs: Sequence[Run], judging: Judging, costs: bool) -> Iterator[Match]:
    apart: set[int] = set()  # runs of which a query came back: the rest need not be read

    def tasks() -> Iterator[tuple[int, Load]]:
        with watch_files([one for run in runs for one in run.sources]):
            for i, run in enumerate(runs):
                if run.docs_of_query is None:
                    for load in run.blocks(judging.order, costs=costs):
                        if i in apart:
                            break
                        yield i, load

    def matched(task: tuple[int, Load]) -> tuple[int, _BlockMatch | None]:
        i, load = task
        try:
            return i, _match_block(qrels, runs[i], judging, load)
        except DuplicateError as error:
            raise _RepeatError(i, error) from None

    done = groupby(map_in_threads(matched, tasks()), key=itemgetter(0))
    ready = None
    for i, run in enumerate(runs):
        if run.docs_of_query is not None:
            yield _match_dicts(qrels, run, judging)
            continue
        parts: list[_BlockMatch] = []
        seen = np.zeros(len(qrels.query_ids), np.bool_), set[bytes]()
        ready = ready or next(done, None)
        if ready is not None and ready[0] == i:
            for _, part in ready[1]:
                if part is None or i in apart or _add_queries(part, *seen):
                    apart.add(i)
                else:
                    parts.append(part)
            ready = None
        if i in apart:
            from cranfield.data.regroup import regroup_queries

            whole = ((i, load) for load in regroup_queries(run.blocks(judging.order, costs=costs)))
            parts = [part for _, part in map_in_threads(matched, whole) if part is not None]
        yield _join_matches(qrels, parts, i in apart)


class _BlockMatch(NamedTuple):
    """A block, matched."""

    code: Ints  # (queries,) in the qrels; -1: not judged
    unjudged_queries: list[bytes]  # of these, those that are not judged
    comes_back: bool  # whether one of the queries is there twice
    n_retrieved: Ints  # (queries,)
    row: Ints  # (hits,) in the qrels
    placement: Placement
    left_out: FaultyRows
    repeats: FaultyRows
    conversion_counts: tuple[int, int]
    cost: Floats | None  # of the judged queries' documents, best rank first
    dropped_counts: DroppedCounts


def _match_block(qrels: Qrels, run: Run, judging: Judging, load: Load) -> _BlockMatch | None:
    """Find a block's judged documents and their ranks; None if its queries are plainly apart.

    Runs in a thread of its own.
    """
    block = load()
    if has_split_query(block):
        return None
    whole = run.group_block(block, judging)
    block, queries = whole.block, whole.queries
    if block.empty_queries:
        queries = Ids.concatenate([queries, Ids.of(block.empty_queries)])
    codes = qrels.find_codes(queries)
    code = codes[: len(whole.queries)]
    judged, unknown = np.sort(codes[codes >= 0]), queries.take(np.flatnonzero(codes < 0)).to_list()
    # Where a query comes back in the block, it is read once more, in whole queries: to match its
    # rows now would take as many steps as all judgments of a query, for each of its pieces.
    comes_back = bool((judged[1:] == judged[:-1]).any()) or len(set(unknown)) < len(unknown)
    rows, judgments = np.zeros((2, 0), np.int64) if comes_back else _find_hits(whole, code, qrels)
    if whole.uncounted_row is not None:
        counts = ~np.isin(rows, whole.uncounted_row)
        rows, judgments = rows[counts], judgments[counts]
    with_ties = not judging.has_one_tie_order
    return _BlockMatch(
        codes,
        unknown,
        comes_back,
        np.append(np.diff(whole.starts), np.zeros(len(block.empty_queries), np.int64)),
        judgments,
        rank_documents(whole, judging, rows, code >= 0, with_ties=with_ties),
        block.left_out,
        whole.repeats,
        whole.conversion_counts,
        _rank_costs(whole, code, judging),
        whole.dropped_counts,
    )


def _add_queries(part: _BlockMatch, judged: Bools, unknown: set[bytes]) -> bool:
    """Add a block's queries to those seen; tell whether one is there already, or is there twice."""
    code = part.code[part.code >= 0]
    again = part.comes_back or bool(judged[code].any()) or not unknown.isdisjoint(part.unjudged_queries)
    judged[code] = True
    unknown.update(part.unjudged_queries)
    return again


def _join_matches(qrels: Qrels, parts: Sequence[_BlockMatch], regrouped: bool) -> Match:
    """Put the blocks of a run together."""
    n = len(qrels.query_ids)
    n_retrieved, in_run = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    unknown: dict[bytes, int] = {}
    for part in parts:
        judged = part.code >= 0
        in_run[part.code[judged]] = True
        n_retrieved[part.code[judged]] = part.n_retrieved[judged]
        if not judged.all():
            unknown.update(zip(part.unjudged_queries, part.n_retrieved[~judged].tolist(), strict=True))
    rank, n_tied, n_level, n_unsorted, first, size = (
        zip(*(part.placement for part in parts), strict=True) if parts else ([],) * 6
    )
    cost, begins = None, np.cumsum(n_retrieved) - n_retrieved
    for part in parts:
        if part.cost is not None:
            cost = np.ones(int(n_retrieved.sum())) if cost is None else cost
            code = part.code[part.code >= 0]
            cost[consecutive_numbers(begins[code], n_retrieved[code])] = part.cost
    return Match(
        *(n_retrieved, in_run, unknown),
        sum((part.left_out for part in parts), FaultyRows()),
        sum((part.repeats for part in parts), FaultyRows()),
        _concatenate(part.row for part in parts),
        Placement(
            _concatenate(rank),
            *(sum(n_tied), sum(n_level), sum(n_unsorted)),
            *(_concatenate(first), _concatenate(size)),
        ),
        cost,
        (sum(part.conversion_counts[0] for part in parts), sum(part.conversion_counts[1] for part in parts)),
        regrouped,
        (sum(part.dropped_counts[0] for part in parts), sum(part.dropped_counts[1] for part in parts)),
    )


def _rank_costs(whole: GroupedBlock, code: Ints, judging: Judging) -> Floats | None:
    """Return the costs of the judged queries' documents, in the order of the ranking."""
    cost = whole.block.columns.get("cost")
    if cost is None:
        return None
    wrong = np.flatnonzero(~((cost >= _MIN_COST) & (cost <= _MAX_COST)))
    if len(wrong):
        row, expected = int(wrong[0]), f"a cost from {_MIN_COST:g} to {_MAX_COST:g}"
        raise whole.block.row_error(row, f"expected {expected}, got {cost[row].item()!r}")
    rows = np.flatnonzero(code[whole.group] >= 0)
    found: Floats = cost[rows[np.lexsort((rank_documents(whole, judging, rows).rank, whole.group[rows]))]]
    return found


_MIN_COST, _MAX_COST = 1e-9, 1e15  # so that they can be added up, and divided by


def _find_hits(block: GroupedBlock, code: Ints, qrels: Qrels) -> tuple[Ints, Ints]:
    """Return the block's rows that are judged, and the rows of their judgments.

    They are looked up among the judgments of the block's queries; or, where these are most of
    them, among all: what these are looked up by is made once, for all runs.
    """
    its = code[code >= 0]
    counts = qrels.starts[its + 1] - qrels.starts[its]
    if 2 * counts.sum() > len(qrels):
        slots: PairIndex = qrels.pair_index
        codes = code[block.group]  # in place of the groups, in the keys, too
        return slots.find(codes, block.block.doc, pair_keys(block.keys, codes - block.group))
    judgments = consecutive_numbers(qrels.starts[its], counts)
    groups = np.repeat(np.flatnonzero(code >= 0), counts)
    slots = PairIndex(groups, qrels.docs.take(judgments))
    rows, at = slots.find(block.group, block.block.doc, block.keys)
    return rows, judgments[at]


# ---- dicts ----------------------------------------------------------------------------------


def _match_dicts(qrels: Qrels, run: Run, judging: Judging) -> Match:
    """Match a dict of dicts, with the sides swapped: look the judged documents up in the run.

    The scores alone are sorted; a document's rank is one more than the number of scores above its
    own. Only where a judged document's score is shared, the ids are looked at.
    """
    if judging.order == "rank":
        raise OptionError("order='rank': a run in memory has no rank column")
    with_ties, is_single = not judging.has_one_tie_order, judging.scores == "single"
    every_one: Nested = run.docs_of_query or {}
    nested, dropped = _drop_documents(every_one, judging) if judging.drops_documents else (every_one, (0, 0))
    n_queries, starts = len(qrels.query_ids), qrels.starts.tolist()
    n_retrieved, in_run = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.bool_)
    columns: list[list[Ints]] = [[], [], [], []]
    row, rank, first, size = columns
    n_all_tied = n_level = 0
    in_order = True
    for code, (query, docs) in enumerate(zip(qrels.query_ids, qrels.doc_lists, strict=True)):
        ranking: Mapping[str, Any] | None = nested.get(query)
        if ranking is None:
            continue
        if judging.order == "given":
            ranking = score_by_position(query, list(ranking))
        in_run[code] = True
        n_retrieved[code] = len(ranking)
        if not ranking:
            continue
        ranking = dict(ranking)  # which reads the ids as they lie in memory: half the time of many
        every, values = to_scores(query, ranking)
        found = pack_doubles(map(ranking.get, docs, repeat(np.nan)), len(docs))
        assert found is not None  # noqa: S101 - the scores are numbers, all of them
        rows = (found == found).nonzero()[0]
        if is_single:
            wide = values.item(-1) > LARGEST_SINGLE or values.item(0) < -LARGEST_SINGLE
            values = to_single(values, wide)
        equal = values[1:] == values[:-1]
        any_tied = np.count_nonzero(equal)
        if any_tied:  # of n equal scores in a row, n - 1 have an equal one before them
            n_all_tied += int(any_tied + equal[0] + np.count_nonzero(equal[1:] > equal[:-1]))
            n_level += int(any_tied == len(equal))
        if len(rows) == 0:
            continue
        found = to_single(found[rows], wide) if is_single else found[rows]
        best_first = found.argsort()[::-1]
        found, rows = found[best_first], rows[best_first]
        end = values.searchsorted(found, "right")
        ranks = len(values) + 1 - end
        row.append(rows + starts[code])
        rank.append(ranks)
        if any_tied or with_ties:
            n_equal = end - values.searchsorted(found, "left")
            if with_ties:
                first.append(ranks.copy())
                size.append(n_equal)
            shared = (n_equal > 1).nonzero()[0]
            if len(shared):
                in_order = False
                every = to_single(every, wide) if is_single else every
                hits = [docs[i] for i in rows.take(shared).tolist()]
                ranks[shared] += _count_tied_above(ranking, every, hits, found.take(shared), judging)
    unknown = _count_unjudged(nested, qrels) if np.count_nonzero(in_run) < len(nested) else {}
    ties = (_concatenate(first), _concatenate(size)) if with_ties else ()
    at = Placement(_concatenate(rank), n_all_tied, n_level, 0, *ties)
    counted = n_retrieved, in_run, unknown, run.left_out, NO_FAULTY_ROWS
    return Match(*counted, _concatenate(row), at, dropped_counts=dropped, is_in_order=in_order)


def _count_unjudged(nested: Nested, qrels: Qrels) -> dict[Any, int]:
    """Return how many documents each query has that has no judgments."""
    return {query: len(nested[query]) for query in nested.keys() - set(qrels.query_ids)}


def _drop_documents(nested: Nested, judging: Judging) -> tuple[Nested, DroppedCounts]:
    """Return the documents that `judging` does not drop, and how many it does: see `grouped`."""
    found: Nested = {}
    n_own = n_low = 0
    for query, docs in nested.items():
        kept = docs
        if judging.identical_ids == "drop" and query in docs:
            kept = {doc: score for doc, score in docs.items() if doc != query}
        own = len(docs) - len(kept)
        if judging.scores_above is not None and kept:
            above = is_above_threshold(to_scores(query, kept)[0], judging)
            kept = dict(compress(kept.items(), above.tolist()))
        found[query] = kept
        n_own, n_low = n_own + own, n_low + len(docs) - own - len(kept)
    return found, (n_own, n_low)


def _count_tied_above(
    ranking: Iterable[str], every: Floats, docs: list[str], found: Floats, judging: Judging
) -> Ints:
    """Count, for each hit, the documents of the same score that are above it.

    `every` are the scores of the ranking; `docs` and `found` (hits,) are the hits and their scores,
    each of which another document has, too.
    """
    wanted = np.sort(found)
    is_tied = wanted[np.minimum(wanted.searchsorted(every), len(wanted) - 1)] == every
    tied = [*compress(ranking, is_tied)]
    if judging.ties == "given":
        place = {doc: i for i, doc in enumerate(tied)}
        numbers = np.array([*range(len(tied)), *map(place.__getitem__, docs)])
    else:
        numbers = tie_sort_keys(Ids.of_texts([*tied, *docs]), judging)
    theirs, mine = numbers[: len(tied)], numbers[len(tied) :]
    if wanted[0] == wanted[-1]:
        return np.sort(theirs).searchsorted(mine)
    scores = np.concatenate((every[is_tied], found))
    order = np.lexsort((numbers, scores))  # each hit comes after the same document among the tied
    is_first = order < len(tied)
    n_before = np.empty_like(order)
    n_before[order] = np.cumsum(is_first)
    return n_before[len(tied) :] - 1 - scores[order[is_first]].searchsorted(found)
