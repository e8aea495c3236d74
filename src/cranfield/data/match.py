"""Match: the rows of a run that are judged, and their ranks, for runs in blocks and in dicts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids
from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.slots import PairIndex
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judging import Judging
from cranfield.data.lookup import QueryHits, drop_documents, look_up_judged
from cranfield.data.order import (
    DroppedCounts,
    GroupedBlock,
    Placement,
    has_split_query,
    rank_documents,
)
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import count_rank_gaps
from cranfield.data.sketch import UnjudgedDocs, count_own_ids, sample_unjudged, sample_unjudged_dict
from cranfield.errors import DuplicateError, OptionError
from cranfield.formats.block import NO_FAULTY_ROWS, FaultyRows, Load
from cranfield.lazy import MAX_CACHED_ROWS
from cranfield.progress import watch_files, watch_steps


class RowCounts(NamedTuple):
    """What was counted in the rows of a run; counts of parts can be added up."""

    left_out: FaultyRows = NO_FAULTY_ROWS
    repeats: FaultyRows = NO_FAULTY_ROWS  # rows that repeat a document of their query
    conversion_counts: tuple[int, int] = (0, 0)  # see `GroupedBlock`
    dropped_counts: DroppedCounts = (0, 0)
    n_rank_gaps: int = 0  # see `count_rank_gaps`
    n_own_ids: int = 0  # queries that retrieve an unjudged document of their own id
    is_regrouped: bool = False  # whether its queries came back after others


def add_facts(fact: Any, second_fact: Any) -> Any:
    """Return the sum of two counts; of flags, whether one is true; of tuples, the sums of each."""
    if isinstance(fact, tuple):
        sums = [*map(add_facts, fact, second_fact)]
        return type(fact)(*sums) if hasattr(fact, "_fields") else tuple(sums)
    return fact or second_fact if isinstance(fact, bool) else fact + second_fact


@dataclass(eq=False, repr=False)
class Match:
    """The hits of a run, as rows of the qrels, with ranks, and counts of the run's queries."""

    n_retrieved: Ints  # (n_queries of the qrels,)
    is_in_run: Bools  # (n_queries of the qrels,)
    unjudged_queries: dict[Any, int]  # {query of the run without judgments: number of documents}
    row: Ints  # (hits,)
    placement: Placement  # of the hits
    counts: RowCounts
    cost: Floats | None = None  # of every retrieved document, query after query, best rank first
    is_in_order: bool = False  # whether the hits are in the order of query and rank
    unjudged_docs: UnjudgedDocs = field(default_factory=dict)


def _concatenate(column_list: Iterable[Ints]) -> Ints:
    """Return several columns, or none, as one column."""
    column_list = list(column_list)
    if len(column_list) == 1:
        return column_list[0]
    return np.concatenate(column_list or [np.zeros(0, np.int64)])


def match_runs(qrels: Qrels, runs: Sequence[Run], judging: Judging, costs: bool) -> Iterator[Match]:
    """Yield the match of each run. The blocks of all runs go through the same threads, in order."""
    # No threads: Python does not let go of them.
    if None not in [run.docs_of_query for run in runs]:
        for run in watch_steps(runs, "scoring"):
            yield _match_dicts(qrels, run, judging)
        return
    try:
        yield from _match_blocks(qrels, runs, judging, costs)
    except _RepeatError as repeat_error:
        i, error = repeat_error.args
        raise runs[i].first_repeat_error(error, judging) from None


class _RepeatError(Exception):
    """A block of a run has a document twice: the number of the run, and the error."""


def _match_blocks(
    qrels: Qrels, runs: Sequence[Run], judging: Judging, costs: bool
) -> Iterator[Match]:
    # Runs with a query in several places: their other blocks need not be read.
    apart: set[int] = set()

    def tasks() -> Iterator[_Task]:
        with watch_files([source for run in runs for source in run.sources]):
            for i, run in enumerate(runs):
                if run.docs_of_query is None:
                    for number, load in enumerate(run.blocks(judging.order, costs=costs)):
                        if i in apart:
                            break
                        yield i, number, load

    def match_task(task: _Task) -> tuple[int, _BlockMatch | None]:
        i, number, load = task
        try:
            return i, _match_block(qrels, runs[i], judging, number, load)
        except DuplicateError as error:
            raise _RepeatError(i, error) from None

    matches_by_run = groupby(map_in_threads(match_task, tasks()), key=itemgetter(0))
    next_matches = None
    for i, run in enumerate(runs):
        if run.docs_of_query is not None:
            yield _match_dicts(qrels, run, judging)
            continue
        block_matches: list[_BlockMatch] = []
        earlier_queries = np.zeros(len(qrels.query_ids), np.bool_), set[bytes]()
        next_matches = next_matches or next(matches_by_run, None)
        if next_matches is not None and next_matches[0] == i:
            for _, block_match in next_matches[1]:
                if block_match is None or i in apart or _add_queries(block_match, *earlier_queries):
                    apart.add(i)
                else:
                    block_matches.append(block_match)
            next_matches = None
        if i in apart:
            from cranfield.data.regroup import regroup_queries

            whole_loads = regroup_queries(run.blocks(judging.order, costs=costs))
            whole_tasks = ((i, number, load) for number, load in enumerate(whole_loads))
            block_matches = [
                block_match
                for _, block_match in map_in_threads(match_task, whole_tasks)
                if block_match is not None
            ]
        match = _join_matches(qrels, block_matches, i in apart)
        block_matches.clear()  # each hit was there, too
        if len(match.row) > MAX_CACHED_ROWS:
            release_free_memory()
        yield match


class _BlockMatch(NamedTuple):
    """The match of one block."""

    code: Ints  # (queries,) in the qrels; -1: not judged
    unjudged_queries: list[bytes]  # the queries with the code -1
    comes_back: bool  # whether a query is in two places of the block
    n_retrieved: Ints  # (queries,)
    row: Ints  # (hits,) in the qrels
    placement: Placement  # with ranks in 32 bits
    counts: RowCounts
    cost: Floats | None  # of the judged queries' documents, best rank first
    unjudged_docs: UnjudgedDocs  # as in `Match`


_Task = tuple[int, int, Load]  # the number of a run, and that of its block, from 0


def _match_block(
    qrels: Qrels, run: Run, judging: Judging, number: int, load: Load
) -> _BlockMatch | None:
    """Return the match of a block; None if the block's first rows show a query in two places.

    Runs in a thread of its own.
    """
    block = load()
    if has_split_query(block):
        return None
    n_rank_gaps = count_rank_gaps(block) if run.resolve_order(judging.order) == "rank" else 0
    grouped_block = run.group_block(block, judging)
    block, queries = grouped_block.block, grouped_block.queries
    if block.empty_queries:
        queries = Ids.concatenate([queries, Ids.of(block.empty_queries)])
    codes = qrels.find_codes(queries)
    code = codes[: len(grouped_block.queries)]
    judged_codes = np.sort(codes[codes >= 0])
    unknown = queries.take(np.flatnonzero(codes < 0)).to_list()
    # Where a query comes back in the block, it is read once more, in whole queries: to match its
    # rows now would take as many steps as all judgments of a query, for each of its pieces.
    comes_back = bool((judged_codes[1:] == judged_codes[:-1]).any()) or len(set(unknown)) < len(
        unknown
    )
    rows, judgments = (
        np.zeros((2, 0), np.int64) if comes_back else _find_hits(grouped_block, code, qrels)
    )
    n_own_ids = count_own_ids(grouped_block, code, rows)
    unjudged_docs = sample_unjudged(grouped_block, number, code, rows, n_own_ids)
    if grouped_block.uncounted_row is not None:
        is_counted = ~np.isin(rows, grouped_block.uncounted_row)
        rows, judgments = rows[is_counted], judgments[is_counted]
    repeats, conversion_counts = grouped_block.repeats, grouped_block.conversion_counts
    dropped_counts = grouped_block.dropped_counts
    return _BlockMatch(
        codes,
        unknown,
        comes_back,
        np.append(np.diff(grouped_block.starts), np.zeros(len(block.empty_queries), np.int64)),
        judgments,
        rank_documents(grouped_block, judging, rows, code >= 0).narrow(),
        RowCounts(
            block.left_out, repeats, conversion_counts, dropped_counts, n_rank_gaps, n_own_ids
        ),
        _rank_costs(grouped_block, code, judging),
        unjudged_docs,
    )


def _add_queries(block_match: _BlockMatch, is_seen: Bools, seen_unjudged: set[bytes]) -> bool:
    """Add a block's queries to the known queries; tell whether one was known, or comes twice."""
    code = block_match.code[block_match.code >= 0]
    comes_back = (
        block_match.comes_back
        or bool(is_seen[code].any())
        or not seen_unjudged.isdisjoint(block_match.unjudged_queries)
    )
    is_seen[code] = True
    seen_unjudged.update(block_match.unjudged_queries)
    return comes_back


def _join_matches(qrels: Qrels, block_matches: Sequence[_BlockMatch], is_regrouped: bool) -> Match:
    """Join the matches of a run's blocks to one match."""
    n_queries = len(qrels.query_ids)
    n_retrieved, is_in_run = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.bool_)
    unjudged_queries: dict[bytes, int] = {}
    for block_match in block_matches:
        is_judged = block_match.code >= 0
        is_in_run[block_match.code[is_judged]] = True
        n_retrieved[block_match.code[is_judged]] = block_match.n_retrieved[is_judged]
        if not is_judged.all():
            n_docs = block_match.n_retrieved[~is_judged].tolist()
            unjudged_queries.update(zip(block_match.unjudged_queries, n_docs, strict=True))
    cost, first_row = None, np.cumsum(n_retrieved) - n_retrieved
    for block_match in block_matches:
        if block_match.cost is not None:
            cost = np.ones(int(n_retrieved.sum())) if cost is None else cost
            code = block_match.code[block_match.code >= 0]
            cost[consecutive_numbers(first_row[code], n_retrieved[code])] = block_match.cost
    return Match(
        n_retrieved,
        is_in_run,
        unjudged_queries,
        _concatenate(block_match.row for block_match in block_matches),
        _join_placements([block_match.placement for block_match in block_matches]),
        reduce(
            add_facts,
            [block_match.counts for block_match in block_matches],
            RowCounts(is_regrouped=is_regrouped),
        ),
        cost,
        unjudged_docs={
            code: docs
            for block_match in block_matches
            for code, docs in block_match.unjudged_docs.items()
        },
    )


def _join_placements(placements: Sequence[Placement]) -> Placement:
    """Return the placements of several blocks as one."""
    tied_counts = [placement.n_tied_of_rank for placement in placements]
    ranks = _concatenate(np.arange(len(counts)) for counts in tied_counts)
    return Placement(
        _concatenate(placement.rank for placement in placements),
        _concatenate(placement.tie_first for placement in placements),
        _concatenate(placement.tie_size for placement in placements),
        np.bincount(ranks, _concatenate(tied_counts)).astype(np.int64),
        sum(placement.n_all_tied for placement in placements),
        sum(placement.n_unsorted for placement in placements),
    )


def _rank_costs(grouped_block: GroupedBlock, code: Ints, judging: Judging) -> Floats | None:
    """Return the costs of judged queries' documents by query and rank: (documents,), or None."""
    cost = grouped_block.block.columns.get("cost")
    if cost is None:
        return None
    bad_rows = np.flatnonzero(~((cost >= _MIN_COST) & (cost <= _MAX_COST)))
    if len(bad_rows):
        row, expected = int(bad_rows[0]), f"a cost from {_MIN_COST:g} to {_MAX_COST:g}"
        raise grouped_block.block.row_error(row, f"expected {expected}, got {cost[row].item()!r}")
    rows = np.flatnonzero(code[grouped_block.group] >= 0)
    ranked_cost: Floats = cost[
        rows[
            np.lexsort(
                (rank_documents(grouped_block, judging, rows).rank, grouped_block.group[rows])
            )
        ]
    ]
    return ranked_cost


_MIN_COST, _MAX_COST = 1e-9, 1e15  # so that they can be added up, and divided by


def _find_hits(grouped_block: GroupedBlock, code: Ints, qrels: Qrels) -> tuple[Ints, Ints]:
    """Return the block's rows that are judged, (hits,), and the rows of their judgments, (hits,).

    Documents are looked up among the judgments of the block's queries; or, where these are most
    judgments, among all: the index of all judgments is made once, for all runs.
    """
    docs, group, query_codes = grouped_block.block.doc, grouped_block.group, code[code >= 0]
    counts = qrels.starts[query_codes + 1] - qrels.starts[query_codes]
    if 2 * counts.sum() > len(qrels):
        slots: PairIndex = qrels.pair_index
        codes = code[group]  # in place of the groups, in the keys, too
        return slots.find(codes, docs, pair_keys(grouped_block.keys, codes - group))
    judgments = consecutive_numbers(qrels.starts[query_codes], counts)
    groups = np.repeat(np.flatnonzero(code >= 0), counts)
    slots = PairIndex(groups, qrels.docs.take(judgments))
    rows, position = slots.find(group, docs, grouped_block.keys)
    return rows, judgments[position]


def _match_dicts(qrels: Qrels, run: Run, judging: Judging) -> Match:
    """Match a dict of dicts, with the sides swapped: look the judged documents up in the run.

    The scores alone are sorted; a document's rank is one more than the number of scores above its
    own. Only where a judged document's score is shared, the ids are looked at.
    """
    if judging.order == "rank":
        raise OptionError("order='rank': a run in memory has no rank column")
    docs_of_query, dropped_counts = run.docs_of_query or {}, (0, 0)
    if judging.drops_documents:
        docs_of_query, dropped_counts = drop_documents(docs_of_query, judging)
    n_queries = len(qrels.query_ids)
    n_retrieved, is_in_run = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.bool_)
    query_hits: list[QueryHits] = []
    n_own_ids = 0
    judged = zip(qrels.query_ids, qrels.doc_lists, qrels.starts.tolist(), strict=False)
    for code, (query, judged_docs, first_row) in enumerate(judged):
        ranking = docs_of_query.get(query)
        if ranking is not None:
            is_in_run[code], n_retrieved[code] = True, len(ranking)
            n_own_ids += query in ranking and query not in judged_docs
        if ranking:
            query_hits.append(look_up_judged(query, ranking, judged_docs, first_row, judging))
    unjudged_queries = {}
    if np.count_nonzero(is_in_run) < len(docs_of_query):
        queries = docs_of_query.keys() - set(qrels.query_ids)
        unjudged_queries = {query: len(docs_of_query[query]) for query in queries}
    rows = _concatenate(hits.row for hits in query_hits)
    placement = Placement(
        _concatenate(hits.rank for hits in query_hits),
        _concatenate(hits.tie_first for hits in query_hits),
        _concatenate(hits.tie_size for hits in query_hits),
        np.bincount(_concatenate(hits.tied_rank for hits in query_hits)),
        sum(hits.is_all_tied for hits in query_hits),
    )
    return Match(
        n_retrieved,
        is_in_run,
        unjudged_queries,
        rows,
        placement,
        RowCounts(run.left_out, dropped_counts=dropped_counts, n_own_ids=n_own_ids),
        unjudged_docs=sample_unjudged_dict(qrels, docs_of_query, n_retrieved, len(rows), n_own_ids),
        is_in_order=not any(hits.has_tied_hit for hits in query_hits),
    )
