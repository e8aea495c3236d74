"""Ranking: rows by their queries, duplicates, the order of documents. The only sort, the only rule.

Score descending, compared as doubles; equal scores by document id, descending, compared as bytes
(trec_eval's rule) or ascending, or in the order of the rows. Or the order given, or the rank
column. The caller gets the places that each group of tied documents takes up.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import Words, find_repeated_keys, pair_keys
from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.rows import consecutive_numbers, mark_changes
from cranfield.data.judging import Judging
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import (
    DUPLICATE_HINT,
    LIST_DUPLICATE_HINT,
    Block,
    Errors,
    FaultLog,
    FaultyRows,
    duplicate_hint,
)

#: How many documents were dropped before ranking: with the query's own id; not scored above.
DroppedCounts = tuple[int, int]


class GroupedBlock(NamedTuple):
    """A block by its queries: adjacent rows of the same query are a group.

    A group has each document once, unless `Judging.keeps_repeated`.
    """

    block: Block
    starts: Ints  # (groups + 1,) the row where each group begins
    group: Ints  # (rows,)
    queries: Ids  # (groups,)
    keys: Words  # (rows,) of (group, document)
    sort_score: Floats | None  # (rows,) what ranks them, the highest first; None: they are in order
    repeats: FaultyRows = FaultyRows()  # rows whose document another row of the group has, too
    uncounted_row: Ints | None = None  # of these, those that have a rank and do not count
    conversion_counts: tuple[int, int] = (0, 0)  # what the `note` of `Chunks` or `Spans` says
    tie_ids: Ids | None = None  # (rows,) ids that order equal scores, if not those of the documents
    dropped_counts: "DroppedCounts" = (0, 0)


def group_rows(block: Block, judging: Judging = Judging()) -> GroupedBlock:
    """Group a block by query: the documents that are kept, and what ranks them.

    A document twice in one group is an error that names it, or `judging.duplicates` says which of
    its rows are kept. Then those are dropped that `judging` says; a query that has no others is
    one without rows. Every block of a run comes through here, for every way to rank it.
    """
    starts = np.append(block.query.find_changes(), len(block))
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = pair_keys(block.doc.hash(), group)
    suspect_rows = find_repeated_keys(
        keys
    )  # rows of one document, or, hardly ever, of others of the same key
    sort_score, repeats, uncounted_row = _ranking_scores(block, judging), FaultyRows(), None
    if len(suspect_rows):
        repeat_rows = _find_repeats(block, group, suspect_rows)
        if len(repeat_rows):
            repeats = _describe_repeats(block, repeat_rows)
            if judging.duplicates == "refuse":
                raise repeats.first_error()
            if judging.duplicates in ("best", "once") and sort_score is not None:
                repeat_rows = _find_repeats(block, group, suspect_rows, sort_score)
            if judging.duplicates == "once":
                uncounted_row = repeat_rows
            elif not judging.keeps_repeats:
                return group_rows(_drop_rows(block, repeat_rows), judging)._replace(repeats=repeats)
    if judging.drops_documents:
        reduced_block, dropped_counts = _drop_documents(block, starts, sort_score, judging)
        if len(reduced_block) < len(block):
            grouped_block = group_rows(reduced_block, judging)
            if not judging.keeps_repeats:  # these were told by the rows that are left, too
                repeats += grouped_block.repeats
            return grouped_block._replace(repeats=repeats, dropped_counts=dropped_counts)
    queries = block.query.take(starts[:-1])
    return GroupedBlock(block, starts, group, queries, keys, sort_score, repeats, uncounted_row)


def register_queries(queries: list[bytes], earlier_queries: set[bytes]) -> bool:
    """Add a block's queries to those seen; tell whether one is there already, or is there twice."""
    n_distinct = len(earlier_queries) + len(queries)
    earlier_queries.update(queries)
    return len(earlier_queries) < n_distinct


def has_split_query(block: Block) -> bool:
    """Tell by a block's first rows whether queries come back after others: it need not be sorted.

    Where they tell nothing, it may still be so.
    """
    first_rows = block.query.take(slice(0, _N_FIRST_ROWS))
    queries = first_rows.take(first_rows.find_changes()).to_list()
    return register_queries(queries, set())


_N_FIRST_ROWS = 4096  # of rows in any order, among ten million queries, two have one query


def _find_repeats(block: Block, group: Ints, rows: Ints, sort_score: Floats | None = None) -> Ints:
    """Return those of `rows`, ascending, whose query and document a row above has, too.

    With `by`, (rows of the block,): those of which another row has the highest number of all, or is
    the first of several that have it.
    """
    order, is_first = sort_by_document(
        block.doc.take(rows), group[rows], None if sort_score is None else sort_score[rows]
    )
    repeat_rows: Ints = np.sort(rows[order[~is_first]])
    return repeat_rows


def sort_by_document(docs: Ids, group: Ints, sort_score: Floats | None) -> tuple[Ints, Bools]:
    """Return the rows by group and document, and which of these are the first of a document.

    The rows of one document fall by `by`, (rows,); they keep their order where this is equal, or
    None.
    """
    doc_key = docs.sort_keys()
    order = np.lexsort((doc_key, group) if sort_score is None else (-sort_score, doc_key, group))
    return order, mark_changes(group[order], doc_key[order])


def _describe_repeats(block: Block, rows: Ints) -> FaultyRows:
    """Return these rows, ascending, as those whose document another one has."""
    row = int(rows[0] if block.input_row is None else rows[block.input_row[rows].argmin()])

    def error() -> InputError:
        doc, query = decode(block.doc[row]), decode(block.query[row])
        problem = f"the document {doc!r} occurs twice for query {query!r}"
        is_better = not {"score", "rank", "grade"}.isdisjoint(block.columns)
        hint = duplicate_hint(doc, DUPLICATE_HINT if is_better else LIST_DUPLICATE_HINT)
        return block.row_error(row, problem, hint, DuplicateError)

    return FaultyRows({"duplicate": (len(rows), error)}, block.find_input_row(row))


def repeats_error(repeats: FaultyRows) -> InputError:
    """Return the error of rows whose document another one has: the first, and how many there are.

    There must be one.
    """
    error = repeats.first_error()
    if repeats.count == 1:
        return error
    return error.replace(problem=f"{error.problem}; {repeats.count:,} rows repeat a document")


def _drop_rows(block: Block, rows: Ints | list[int]) -> Block:
    """Return the block without some rows; what was left out before stays so."""
    keep = np.ones(len(block), np.bool_)
    keep[rows] = False
    reduced_block = block.take(np.flatnonzero(keep))
    return replace(reduced_block, left_out=block.left_out, empty_queries=block.empty_queries)


def _drop_documents(
    block: Block, starts: Ints, sort_score: Floats | None, judging: Judging
) -> tuple[Block, DroppedCounts]:
    """Return the rows that `judging` does not drop, and how many it does."""
    rows = np.arange(len(block))
    is_identical, is_low = np.zeros((2, len(block)), np.bool_)
    if judging.identical_ids == "drop":
        is_identical = block.doc.compare(rows, block.query, rows) == 0
    if judging.scores_above is not None and sort_score is not None:
        is_low = ~is_identical & ~is_above_threshold(sort_score, judging)
    is_dropped = is_identical | is_low
    begins = starts[:-1]
    emptied_starts = begins[np.logical_and.reduceat(is_dropped, begins)] if len(begins) else begins
    reduced_block = _drop_rows(block, np.flatnonzero(is_dropped))
    dropped_counts = int(np.count_nonzero(is_identical)), int(np.count_nonzero(is_low))
    return replace(
        reduced_block,
        empty_queries=[*reduced_block.empty_queries, *block.query.take(emptied_starts).to_list()],
    ), dropped_counts


def is_above_threshold(scores: Floats, judging: Judging) -> Bools:
    """Tell which scores are above `judging.scores_above`, as 32-bit floats if it says so."""
    threshold = np.array([judging.scores_above], np.float64)
    if judging.scores == "single":
        scores, threshold = to_single(scores), to_single(threshold)
    return scores > threshold


def leave_out_rows(
    block: Block, rows: Ints | list[int], errors: Errors, kind: str, error: Callable[[], InputError]
) -> Block:
    """Return the block without rows that have a fault; raise it unless errors="skip"."""
    faults = FaultLog(errors)
    faults.add(kind, error, len(rows), block.find_input_row(int(rows[0])))
    reduced_block = _drop_rows(block, rows)
    return replace(reduced_block, left_out=reduced_block.left_out + faults.left_out)


def _ranking_scores(block: Block, judging: Judging) -> Floats | None:
    """Return the scores; of a run without, the ranks, if it has them."""
    if judging.order == "given":
        return None
    if judging.order == "rank" or block.score_or_grade is None:
        return None if block.rank is None else -block.rank.astype(np.float64)
    if judging.scores == "single":
        return to_single(block.score_or_grade)
    return block.score_or_grade.astype(np.float64, copy=False)


_NO_TIES = np.zeros(0, np.int64)


class Placement(NamedTuple):
    """Which ranks some rows have in their groups, and how many rows share their score."""

    rank: Ints  # (rows,)
    n_tied: int = 0  # of all rows of the groups that count
    n_all_tied: int = 0  # of these groups, of several rows: all of the same score
    n_unsorted: int = 0  # of these: whose rows do not fall by score
    tie_first: Ints = _NO_TIES  # (rows,) the rank of the first document of the same score
    tie_size: Ints = _NO_TIES  # (rows,) how many documents have that score


def rank_documents(
    grouped_block: GroupedBlock,
    judging: Judging = Judging(),
    rows: Ints | None = None,
    is_counted: Bools | None = None,
    *,
    with_ties: bool = False,
) -> Placement:
    """Rank `rows`, or all, in their groups: score falling, then document id as `judging` says.

    Rows that share their score are counted in the groups `counted`, (groups,), or in all.
    `with_ties`: the places of tied documents are returned, too.
    """
    starts, group, scores = grouped_block.starts, grouped_block.group, grouped_block.sort_score
    rows = np.arange(len(group)) if rows is None else rows
    begins = starts[group[rows]]
    if scores is None:
        rank = rows - begins + 1
        return Placement(rank, 0, 0, 0, rank, np.ones_like(rank)) if with_ties else Placement(rank)
    position, sorted_scores, n_level = rows, scores, 0
    # Most runs are in order: look for a row that is not below the one above it.
    suspect_rows = np.flatnonzero(scores[1:] >= scores[:-1])
    suspect_rows = suspect_rows[group[suspect_rows] == group[suspect_rows + 1]]
    rises = scores[suspect_rows + 1] > scores[suspect_rows]
    tied_rows = suspect_rows[~rises]
    is_unsorted = np.zeros(len(starts) - 1, np.bool_)
    is_unsorted[group[suspect_rows[rises]]] = True
    counts = np.diff(starts)
    is_counted = np.ones_like(is_unsorted) if is_counted is None else is_counted
    has_many_rows = is_counted & (counts > 1)
    n_unsorted = int(np.count_nonzero(is_unsorted & has_many_rows))
    if len(tied_rows):
        n_equal_pairs = np.bincount(group[tied_rows], minlength=len(counts))
        n_level = int(np.count_nonzero(has_many_rows & (n_equal_pairs == counts - 1)))
    if judging.ties != "given":  # then such rows are in order
        tie_ids = (
            grouped_block.block.doc if grouped_block.tie_ids is None else grouped_block.tie_ids
        )
        sign = tie_ids.compare(tied_rows, tie_ids, tied_rows + 1)
        is_unsorted[group[tied_rows[sign > 0 if judging.ties == "ascending" else sign < 0]]] = True
    n_tied = _count_paired_rows(tied_rows[(is_counted & ~is_unsorted)[group[tied_rows]]])
    if is_unsorted.any():
        unsorted_groups = np.flatnonzero(is_unsorted)
        unsorted_rows = consecutive_numbers(starts[unsorted_groups], counts[unsorted_groups])
        ranked_rows, tied_in_groups = _sort_rows(grouped_block, scores, unsorted_rows, judging)
        n_tied += int(np.count_nonzero(is_counted[group[tied_in_groups]]))
        position_of_row = np.arange(len(group))
        position_of_row[ranked_rows] = unsorted_rows
        position = position_of_row[rows]
        if with_ties:
            sorted_scores = scores.copy()
            sorted_scores[unsorted_rows] = scores[ranked_rows]
    placement = Placement(position - begins + 1, n_tied, n_level, n_unsorted)
    if not with_ties:
        return placement
    begins_tie = mark_changes(group, sorted_scores)
    first_of_tie = np.append(np.flatnonzero(begins_tie), len(begins_tie))
    tie_number = (np.cumsum(begins_tie) - 1)[position]
    return placement._replace(
        tie_first=first_of_tie[tie_number] - begins + 1, tie_size=np.diff(first_of_tie)[tie_number]
    )


def _count_paired_rows(upper: Ints) -> int:
    """Count the rows in pairs of adjacent ones, of each of which the upper is given."""
    return len(upper) + int(np.count_nonzero(np.diff(upper, prepend=-2) > 1))


def _sort_rows(
    grouped_block: GroupedBlock, scores: Floats, rows: Ints, judging: Judging
) -> tuple[Ints, Ints]:
    """Return `rows`, group by group, in the order of the ranking; and those that are tied."""
    ranked_rows = _sort_by_score(
        scores[rows], grouped_block.group[rows], rows
    )  # ties are sorted below
    begins_tie = mark_changes(grouped_block.group[ranked_rows], scores[ranked_rows])
    if begins_tie.all():
        return ranked_rows, ranked_rows[:0]
    tied_positions = np.flatnonzero(~(begins_tie & np.append(begins_tie[1:], True)))
    doc_key = ranked_rows[tied_positions]
    if judging.ties != "given":
        tie_ids = (
            grouped_block.block.doc if grouped_block.tie_ids is None else grouped_block.tie_ids
        )
        doc_key = tie_sort_keys(tie_ids.take(doc_key), judging)
    sort_keys: tuple[Ints, ...] = (doc_key, np.cumsum(begins_tie)[tied_positions])
    if (
        grouped_block.uncounted_row is not None
    ):  # of the rows of a document, the first counts, and comes first
        sort_keys = (ranked_rows[tied_positions], *sort_keys)
    order = np.lexsort(sort_keys)
    ranked_rows[tied_positions] = ranked_rows[tied_positions][order]
    return ranked_rows, ranked_rows[tied_positions]


def _sort_by_score(scores: Floats, group: Ints, rows: Ints) -> Ints:
    """Return `rows`, (rows,), group by group, the highest score first; equal ones in any order.

    Groups of about one size are the rows of a matrix: many short sorts take less than a long one.
    """
    begins = np.flatnonzero(mark_changes(group))
    group_sizes = np.diff(np.append(begins, len(group)))
    n_groups, longest = len(group_sizes), int(group_sizes.max(initial=0))
    if n_groups * longest <= 2 * len(rows):
        is_filled = np.arange(longest) < group_sizes[:, None]
        negative_scores = np.full(is_filled.shape, np.nan)  # which comes behind every number
        negative_scores[is_filled] = -scores
        order: Ints = negative_scores.argsort(axis=1) + begins[:, None]
        return rows[order[is_filled]]
    score_order: Ints = (-scores).argsort()
    return rows[score_order[_narrow_groups(group[score_order]).argsort(kind="stable")]]


def _narrow_groups(groups: Ints) -> Ints:
    """Return the groups' numbers in sixteen bits if they fit: these are sorted in one pass."""
    return groups.astype(np.uint16) if int(groups.max(initial=0)) < 1 << 16 else groups


def tie_sort_keys(docs: Ids, judging: Judging) -> Ints:
    """Return numbers by which documents of the same score are sorted by id, lowest first."""
    doc_key = docs.sort_keys()
    return doc_key if judging.ties == "ascending" else ~doc_key


def to_single(scores: Floats, may_overflow: bool = True) -> Floats:
    """Return scores as 32-bit floats; not `wide`: all are within their range."""
    if may_overflow:
        scores = np.where(np.abs(scores) > LARGEST_SINGLE, np.copysign(np.inf, scores), scores)
    return scores.astype(np.float32)


# What is greater is infinite as a 32-bit float: the largest of them, and half the step beyond.
LARGEST_SINGLE = float.fromhex("0x1.fffffefffffffp127")
