"""Match: which rows of a run are judged, and at which ranks; of blocks, and of dicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words, keyed, spread
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.threads import in_threads
from cranfield.data.judging import Judging
from cranfield.data.order import (
    LARGEST_SINGLE,
    Grouped,
    Placed,
    grouped,
    placed,
    single,
    sorting_scores,
    tie_order,
)
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import OptionError
from cranfield.formats.block import Errors, LeftOut, Load, Progress
from cranfield.formats.objects import Nested, by_position
from cranfield.formats.values import scores_of


@dataclass(eq=False, repr=False)
class Match:
    """The hits, in no order, as rows of the qrels with their ranks."""

    n_retrieved: Ints  # (n_queries of the qrels,)
    in_run: Bools  # (n_queries of the qrels,)
    unknown: set[Any] = field(default_factory=set)  # queries of the run without judgments
    row: list[Ints] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)  # of these rows
    n_tied: int = 0
    n_level: int = 0  # of the queries of several documents: all of the same score
    n_unsorted: int = 0  # of these: whose rows do not fall by score
    left_out: LeftOut = field(default_factory=LeftOut)
    regrouped: bool = False  # whether its queries came back after others
    costs: list["_BlockMatch"] = field(default_factory=list)  # the blocks that have some

    @classmethod
    def none(cls, qrels: Qrels) -> "Match":
        """Return the match of a run that has no query yet."""
        n = len(qrels.query_ids)
        return cls(np.zeros(n, np.int64), np.zeros(n, np.bool_))

    def takes(self, part: "_BlockMatch") -> bool:
        """Take the match of one more block; False if a query was in two places."""
        known = len(self.unknown)
        self.unknown.update(part.unknown)
        twice = len(self.unknown) < known + len(part.unknown)
        if twice or self.in_run[part.queries].any() or len(set(part.queries)) < len(part.queries):
            return False
        self.in_run[part.queries] = True
        self.n_retrieved[part.queries] = part.n_retrieved
        self.row.append(part.row)
        self.placed.append(part.placed)
        self.n_tied += part.placed.n_tied
        self.n_level += part.placed.n_level
        self.n_unsorted += part.placed.n_unsorted
        self.left_out += part.left_out
        if part.cost is not None:
            self.costs.append(part)
        return True

    def cost(self) -> Floats | None:
        """Return the cost of every retrieved document, query after query, if the run has any."""
        if not self.costs:
            return None
        begins = np.cumsum(self.n_retrieved) - self.n_retrieved
        cost = np.ones(int(self.n_retrieved.sum()))
        for part in self.costs:
            counts = self.n_retrieved[part.queries]
            shift = begins[part.queries] - (np.cumsum(counts) - counts)
            cost[np.repeat(shift, counts) + np.arange(counts.sum())] = part.cost
        return cost

    def joined(self, name: str) -> Ints:
        """Return a column of all hits: `rank`, `tie_first` or `tie_size`."""
        return stacked([getattr(placed, name) for placed in self.placed])


def stacked(columns: Sequence[Ints]) -> Ints:
    """Return one column of several, or of none."""
    return columns[0] if len(columns) == 1 else np.concatenate([*columns, np.zeros(0, np.int64)])


# ---- runs in blocks -------------------------------------------------------------------------


def matches(
    qrels: Qrels, runs: Sequence[Run], judging: Judging, progress: Progress | None, costs: bool
) -> Iterator[Match]:
    """Yield each run's match. The blocks of all runs go through the same threads, in order."""
    if all(run.nested is not None for run in runs):  # no threads: Python does not let go of them
        yield from (_match_dicts(qrels, run, judging) for run in runs)
        return
    apart: set[int] = set()  # runs of which a query came back: the rest need not be read

    def tasks() -> Iterator[tuple[int, Load]]:
        for i, run in enumerate(runs):
            if run.nested is None:
                for load in run.blocks(judging.order, progress, costs=costs):
                    if i in apart:
                        break
                    yield i, load

    def matched(task: tuple[int, Load]) -> tuple[int, _BlockMatch]:
        i, load = task
        return i, _matched_block(qrels, judging, runs[i].errors, load)

    done = groupby(in_threads(matched, tasks()), key=itemgetter(0))
    ready = None
    for i, run in enumerate(runs):
        if run.nested is not None:
            yield _match_dicts(qrels, run, judging)
            continue
        match, ready = Match.none(qrels), ready or next(done, None)
        if ready is not None and ready[0] == i:
            for _, part in ready[1]:
                if i not in apart and not match.takes(part):
                    apart.add(i)
            ready = None
        if i in apart:
            from cranfield.data.regroup import regrouped

            match = Match.none(qrels)
            match.regrouped = True
            whole = ((i, load) for load in regrouped(run.blocks(judging.order, costs=costs)))
            for _, part in in_threads(matched, whole):
                match.takes(part)
        yield match


class _BlockMatch(NamedTuple):
    queries: list[int]  # codes of the judged queries in the block
    n_retrieved: Ints
    unknown: list[bytes]
    row: Ints
    placed: Placed
    left_out: LeftOut
    cost: Floats | None  # of these queries' documents, best rank first


def _matched_block(qrels: Qrels, judging: Judging, errors: Errors, load: Load) -> _BlockMatch:
    """Find a block's judged documents and their ranks. Runs in a thread of its own."""
    block = grouped(load(), errors)
    codes = [qrels.codes.get(query, -1) for query in block.queries]
    code = np.array(codes, np.int64)
    # Where a query comes back in the block, it is read once more, in whole queries: to match its
    # rows now would take as many steps as all judgments of a query, for each of its pieces.
    comes_back = len(set(block.queries)) < len(block.queries)
    rows, judgments = (np.zeros((2, 0), np.int64)) if comes_back else _hits(block, code, qrels)
    empty = [qrels.codes.get(query, -1) for query in block.block.empty]
    queries = [*zip(block.queries, codes, strict=True), *zip(block.block.empty, empty, strict=True)]
    by = sorting_scores(block.block, judging)
    return _BlockMatch(
        [c for _, c in queries if c >= 0],
        np.append(np.diff(block.starts)[code >= 0], [0 for c in empty if c >= 0]),
        [query for query, c in queries if c < 0],
        judgments,
        placed(block, by, rows, judging, code >= 0),
        block.block.left_out,
        _costs(block, block.block.columns.get("cost"), code, by, judging),
    )


def _costs(
    block: Grouped, cost: Floats | None, code: Ints, by: Floats | None, judging: Judging
) -> Floats | None:
    """Return the costs of the judged queries' documents, in the order of the ranking."""
    if cost is None:
        return None
    wrong = np.flatnonzero(~((cost >= _LEAST_COST) & (cost <= _MOST_COST)))
    if len(wrong):
        value = cost[wrong[0]].item()
        raise block.block.error(
            int(wrong[0]), f"expected a cost from {_LEAST_COST:g} to {_MOST_COST:g}, got {value!r}"
        )
    rows = np.flatnonzero(code[block.group] >= 0)
    return cost[rows[np.lexsort((placed(block, by, rows, judging).rank, block.group[rows]))]]


_LEAST_COST, _MOST_COST = 1e-9, 1e15  # so that they can be added up, and divided by


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
    for _ in range(_MOST_STEPS):
        if len(rows) == 0:
            break
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
    else:
        left = judgments[np.isin(keys, block.keys[rows], kind="sort")]
        rows, left = _looked_up(block, code, qrels, rows, left)
        rows_found.append(rows)
        judgments_found.append(left)
    return stacked(rows_found), stacked(judgments_found)


_MOST_STEPS = 8  # so many different documents hardly ever have one key


def _looked_up(
    block: Grouped, code: Ints, qrels: Qrels, rows: Ints, judgments: Ints
) -> tuple[Ints, Ints]:
    """Return those of the block's `rows` that are among `judgments`, and the rows of these."""
    query, docs = qrels.query[judgments].tolist(), qrels.docs.take(judgments).to_list()
    place = dict(zip(zip(query, docs, strict=True), judgments.tolist(), strict=True))
    codes, docs = code[block.group[rows]].tolist(), block.block.doc.take(rows).to_list()
    at = np.array([place.get(pair, -1) for pair in zip(codes, docs, strict=True)], np.int64)
    return rows[at >= 0], at[at >= 0]


def _marked(keys: Words, wanted: Words) -> Bools:
    """Tell which keys may be among `wanted`: all that are, and hardly any other."""
    bits = np.uint64(64 - max(16, len(wanted).bit_length() + 3))
    mark = np.zeros(1 << (64 - int(bits)), np.bool_)
    mark[(spread(wanted) >> bits).view(np.int64)] = True
    marked: Bools = mark[(spread(keys) >> bits).view(np.int64)]
    return marked


# ---- dicts ----------------------------------------------------------------------------------


def _match_dicts(qrels: Qrels, run: Run, judging: Judging) -> Match:
    """Match a dict of dicts, which is turned round: look the judged documents up in the run.

    The scores alone are sorted; a document's rank is one more than the number of scores above its
    own. Only where a judged document's score is shared, the ids are looked at.
    """
    if judging.order == "rank":
        raise OptionError("order='rank': a run in memory has no rank column")
    match = Match.none(qrels)
    match.left_out = run.left_out
    by_id, is_single = judging.ties_by_id, judging.scores == "single"
    nested: Nested = run.nested or {}
    starts = qrels.starts.tolist()
    for code, (query, docs) in enumerate(zip(qrels.query_ids, qrels.doc_lists, strict=True)):
        ranking: Mapping[str, Any] | None = nested.get(query)
        if ranking is None:
            continue
        if judging.order == "given":
            ranking = by_position(query, list(ranking))
        match.in_run[code] = True
        match.n_retrieved[code] = len(ranking)
        if not ranking:
            continue
        every, values = scores_of(query, ranking)
        found = np.fromiter(map(ranking.get, docs, repeat(np.nan)), np.float64, len(docs))
        rows = (found == found).nonzero()[0]
        wide = bool(values[-1] > LARGEST_SINGLE or values[0] < -LARGEST_SINGLE)
        if is_single:
            values = single(values, wide)
        equal = values[1:] == values[:-1]
        any_tied = np.count_nonzero(equal)
        if any_tied:  # of n equal scores in a row, n - 1 have an equal one before them
            n_ties = int(equal[0]) + np.count_nonzero(equal[1:] > equal[:-1])
            match.n_tied += int(any_tied + n_ties)
            match.n_level += int(any_tied == len(equal))
        if len(rows) == 0:
            continue
        found = found.take(rows)
        if is_single:
            found = single(found, wide)
        above = beyond = len(values) - values.searchsorted(found, "right")
        if any_tied:
            hits = [docs[i] for i in rows.tolist()]
            every = single(every, wide) if is_single else every
            above = above + _tied_above(ranking, every, values, hits, found, judging)
        match.row.append(rows + starts[code])
        at = Placed(above + 1)
        if not by_id:
            size = len(values) - beyond - values.searchsorted(found, "left")
            at = Placed(above + 1, tie_first=beyond + 1, tie_size=size)
        match.placed.append(at)
    if np.count_nonzero(match.in_run) < len(nested):
        match.unknown.update(nested.keys() - set(qrels.query_ids))
    return match


def _tied_above(
    ranking: Iterable[str],
    every: Floats,
    values: Floats,
    docs: list[str],
    found: Floats,
    judging: Judging,
) -> Ints:
    """Count, for each hit, the documents of the same score that are above it.

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
    numbers = tie_order(Ids.of_texts([*compress(ranking, tied), *compress(docs, shared)]), judging)
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
