"""Ranking: groups rows by query, finds duplicates, ranks documents. The only sort and rule.

Score descending, compared as doubles or as 32-bit floats; equal scores by document id, descending,
compared as bytes (trec_eval's rule) or ascending, or in the order of the rows. Or the order given,
or the rank column. The caller gets a `Placement`: the ranks of documents and of their ties.
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
    Rows,
    duplicate_hint,
)
from cranfield.formats.stated_columns import states_numbers
from cranfield.formats.systems import add_mixed_column

#: Numbers of documents dropped before ranking: with the query's own id; with too low a score.
DroppedCounts = tuple[int, int]


class GroupedBlock(NamedTuple):
    """A block with its groups: adjacent rows of the same query are a group.

    A group has each document once, unless `Judging.keeps_repeats`.
    """

    block: Block
    starts: Ints  # (groups + 1,) the row where each group begins
    group: Ints  # (rows,)
    queries: Ids  # (groups,)
    keys: Words  # (rows,) of (group, document)
    sort_score: Floats | None  # (rows,) ranks rows, highest first; None: rows are in order
    repeats: FaultyRows = FaultyRows()  # rows that repeat a document of their group
    # Rows that repeat a document and have a rank, but do not count.
    uncounted_row: Ints | None = None
    # Of `Chunks`: chunks, documents; of `Spans`: spans that met a judged one, those too late.
    conversion_counts: tuple[int, int] = (0, 0)
    tie_ids: Ids | None = None  # (rows,) ids that order equal scores; None: the documents'
    dropped_counts: "DroppedCounts" = (0, 0)

    @property
    def ids_for_ties(self) -> Ids:
        """The ids that order equal scores: (rows,)."""
        return self.block.doc if self.tie_ids is None else self.tie_ids


def group_rows(block: Block, judging: Judging = Judging()) -> GroupedBlock:
    """Group the rows of a block by query, and drop the rows that `judging` does not keep.

    A document twice in one group is an error that names it, or `judging.duplicates` says which of
    its rows are kept. Then the documents are dropped that `judging` drops; a query that has no
    other documents has no rows. Every block of a run passes here, for every way to rank it.
    """
    starts = np.append(block.query.find_changes(), len(block))
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = pair_keys(block.doc.hash(), group)
    # Rows of one document, or, hardly ever, of two documents with the same key.
    suspect_rows = find_repeated_keys(keys)
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
            if not judging.keeps_repeats:  # the kept rows repeat them, too
                repeats += grouped_block.repeats
            return grouped_block._replace(repeats=repeats, dropped_counts=dropped_counts)
    queries = block.query.take(starts[:-1])
    return GroupedBlock(block, starts, group, queries, keys, sort_score, repeats, uncounted_row)


def register_queries(queries: list[bytes], earlier_queries: set[bytes]) -> bool:
    """Add a block's queries to the known queries; tell whether one was known, or comes twice."""
    n_distinct = len(earlier_queries) + len(queries)
    earlier_queries.update(queries)
    return len(earlier_queries) < n_distinct


def has_split_query(block: Block) -> bool:
    """Tell by a block's first rows whether a query comes back after others.

    False: the rows below may still show it.
    """
    first_rows = block.query.take(slice(0, _N_FIRST_ROWS))
    queries = first_rows.take(first_rows.find_changes()).to_list()
    return register_queries(queries, set())


_N_FIRST_ROWS = 4096  # of rows in any order, two have the same query, even of a million queries


def _find_repeats(block: Block, group: Ints, rows: Ints, sort_score: Floats | None = None) -> Ints:
    """Return the rows, ascending, of `rows` that repeat the query and document of a row above.

    With `sort_score`, (rows of the block,): all rows of a document but the first row with its
    highest score.
    """
    sort_score = None if sort_score is None else sort_score[rows]
    order, is_first = sort_by_document(block.doc.take(rows), group[rows], sort_score)
    repeat_rows: Ints = np.sort(rows[order[~is_first]])
    return repeat_rows


def sort_by_document(docs: Ids, group: Ints, sort_score: Floats | None) -> tuple[Ints, Bools]:
    """Return the order of rows by group and document, and a mask of each document's first: (rows,).

    The rows of one document fall by `sort_score`, (rows,); rows with equal scores, or without, keep
    their order.
    """
    doc_key = docs.sort_keys()
    order = np.lexsort((doc_key, group) if sort_score is None else (-sort_score, doc_key, group))
    return order, mark_changes(group[order], doc_key[order])


def _describe_repeats(block: Block, rows: Ints) -> FaultyRows:
    """Return the count of `rows`, ascending, which repeat a document, and the first row's error."""
    row = int(rows[0] if block.input_row is None else rows[block.input_row[rows].argmin()])

    def error() -> InputError:
        doc, query = decode(block.doc[row]), decode(block.query[row])
        problem = f"the document {doc!r} occurs twice for query {query!r}"
        is_better = not {"score", "rank", "grade"}.isdisjoint(block.columns)
        hint = duplicate_hint(doc, DUPLICATE_HINT if is_better else LIST_DUPLICATE_HINT)
        return block.row_error(row, problem, hint, DuplicateError)

    return FaultyRows({"duplicate": (len(rows), error)}, block.find_input_row(row))


def repeats_error(repeats: FaultyRows, rows: Rows) -> InputError:
    """Return the error of the first of `rows` that repeats a document, with the number of repeats.

    There must be such a row. A column that tells these rows apart is named, as it may be that of
    systems.
    """
    error = repeats.first_error()
    if states_numbers(rows.user_columns):
        read_hint = f"Are these the columns? It was read as {rows.description}."
        error = error.replace(hint=f"{DUPLICATE_HINT}\n{read_hint}")
    if repeats.count > 1:
        error = error.replace(problem=f"{error.problem}; {repeats.count:,} rows repeat a document")
    return add_mixed_column(error, rows)


def _drop_rows(block: Block, rows: Ints | list[int]) -> Block:
    """Return the block without `rows`; its counts of rows left out before stay."""
    keeps_row = np.ones(len(block), np.bool_)
    keeps_row[rows] = False
    reduced_block = block.take(np.flatnonzero(keeps_row))
    return replace(reduced_block, left_out=block.left_out, empty_queries=block.empty_queries)


def _drop_documents(
    block: Block, starts: Ints, sort_score: Floats | None, judging: Judging
) -> tuple[Block, DroppedCounts]:
    """Return the rows that `judging` keeps, and how many it drops, for either reason."""
    rows = np.arange(len(block))
    is_identical, is_low = np.zeros((2, len(block)), np.bool_)
    if judging.identical_ids == "drop":
        is_identical = block.doc.compare(rows, block.query, rows) == 0
    if judging.scores_above is not None and sort_score is not None:
        is_low = ~is_identical & ~is_above_threshold(sort_score, judging)
    is_dropped = is_identical | is_low
    begins = starts[:-1]
    emptied_starts = begins[np.logical_and.reduceat(is_dropped, begins)] if len(begins) else begins
    empty_queries = [*block.empty_queries, *block.query.take(emptied_starts).to_list()]
    reduced_block = _drop_rows(block, np.flatnonzero(is_dropped))
    dropped_counts = int(np.count_nonzero(is_identical)), int(np.count_nonzero(is_low))
    return replace(reduced_block, empty_queries=empty_queries), dropped_counts


def is_above_threshold(scores: Floats, judging: Judging) -> Bools:
    """Tell which scores are above `judging.scores_above`, in the precision of `judging.scores`."""
    threshold = np.array([judging.scores_above], np.float64)
    if judging.scores == "single":
        scores, threshold = to_single(scores), to_single(threshold)
    return scores > threshold


def leave_out_rows(
    block: Block, rows: Ints | list[int], errors: Errors, kind: str, error: Callable[[], InputError]
) -> Block:
    """Return the block without rows that have a fault; raise the fault unless errors="skip"."""
    faults = FaultLog(errors)
    faults.add(kind, error, len(rows), block.find_input_row(int(rows[0])))
    reduced_block = _drop_rows(block, rows)
    return replace(reduced_block, left_out=reduced_block.left_out + faults.left_out)


def _ranking_scores(block: Block, judging: Judging) -> Floats | None:
    """Return what ranks the rows, highest first: scores, or negative ranks; None: their order."""
    if judging.order == "given":
        return None
    if judging.order == "rank" or block.score_or_grade is None:
        return None if block.rank is None else -block.rank.astype(np.float64)
    if judging.scores == "single":
        return to_single(block.score_or_grade)
    return block.score_or_grade.astype(np.float64, copy=False)


_NO_ROWS = np.zeros(0, np.int64)


class Placement(NamedTuple):
    """The ranks of some rows in their groups, and counts of the rows that share a score."""

    rank: Ints  # (rows,)
    tie_first: Ints = _NO_ROWS  # (rows,) the rank of the first document of the same score
    tie_size: Ints = _NO_ROWS  # (rows,) how many documents have that score
    n_tied_of_rank: Ints = _NO_ROWS  # [rank]: rows of counted groups that share a score
    n_all_tied: int = 0  # counted groups of several rows, all of the same score
    n_unsorted: int = 0  # counted groups of several rows that do not fall by score

    def narrow(self) -> "Placement":
        """Return the placement with its ranks and sizes of ties in 32 bits, to hold many rows."""
        rank, tie_first, tie_size = (column.astype(np.int32) for column in self[:3])
        return self._replace(rank=rank, tie_first=tie_first, tie_size=tie_size)


def rank_documents(
    grouped_block: GroupedBlock,
    judging: Judging = Judging(),
    rows: Ints | None = None,
    is_counted: Bools | None = None,
) -> Placement:
    """Rank `rows`, or all rows, in their groups: score falling, then document id as `judging` says.

    Tied rows are counted in the groups of the mask `is_counted`, (groups,), or in all groups.
    """
    starts, group, scores = grouped_block.starts, grouped_block.group, grouped_block.sort_score
    rows = np.arange(len(group)) if rows is None else rows
    begins = starts[group[rows]]
    if scores is None:
        rank = rows - begins + 1
        return Placement(rank, rank, np.ones_like(rank))
    position, n_all_tied = rows, 0
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
        n_all_tied = int(np.count_nonzero(has_many_rows & (n_equal_pairs == counts - 1)))
    if judging.ties != "given":  # with "given", tied rows are in order
        tie_ids = grouped_block.ids_for_ties
        sign = tie_ids.compare(tied_rows, tie_ids, tied_rows + 1)
        is_unsorted[group[tied_rows[sign > 0 if judging.ties == "ascending" else sign < 0]]] = True
    continues_tie = np.zeros(len(group) + 1, np.bool_)  # at each position of the ranked rows
    continues_tie[tied_rows[~is_unsorted[group[tied_rows]]] + 1] = True
    if is_unsorted.any():
        unsorted_groups = np.flatnonzero(is_unsorted)
        unsorted_rows = consecutive_numbers(starts[unsorted_groups], counts[unsorted_groups])
        ranked_rows, begins_tie = _sort_rows(grouped_block, scores, unsorted_rows, judging)
        continues_tie[unsorted_rows] = ~begins_tie
        position_of_row = np.arange(len(group))
        position_of_row[ranked_rows] = unsorted_rows
        position = position_of_row[rows]
    edges = np.flatnonzero(continues_tie[1:] != continues_tie[:-1])  # first and last positions
    tie_begin, tie_last = np.append(edges, [len(group)] * 2).reshape(-1, 2).T  # (ties + 1,)
    tie_group, n_docs = group[tie_begin[:-1]], tie_last - tie_begin + 1
    first_rank = tie_begin[:-1] - starts[tie_group] + 1
    tied_rank = consecutive_numbers(first_rank, n_docs[:-1] * is_counted[tie_group])
    tie, rank = tie_last.searchsorted(position), position - begins + 1
    tie_first = np.minimum(tie_begin[tie], position) - begins + 1
    tie_size = np.where(tie_begin[tie] <= position, n_docs[tie], 1)
    return Placement(rank, tie_first, tie_size, np.bincount(tied_rank), n_all_tied, n_unsorted)


def _sort_rows(
    grouped_block: GroupedBlock, scores: Floats, rows: Ints, judging: Judging
) -> tuple[Ints, Bools]:
    """Return `rows`, group by group, as they are ranked, and a mask of those that begin a tie."""
    group = grouped_block.group
    ranked_rows = _sort_by_score(scores[rows], group[rows], rows)  # ties are sorted below
    begins_tie = mark_changes(group[ranked_rows], scores[ranked_rows])
    if begins_tie.all():
        return ranked_rows, begins_tie
    tied_positions = np.flatnonzero(~(begins_tie & np.append(begins_tie[1:], True)))
    tied_rows = ranked_rows[tied_positions]
    tie_key = tied_rows
    if judging.ties != "given":
        tie_key = tie_sort_keys(grouped_block.ids_for_ties.take(tied_rows), judging)
    sort_keys: tuple[Ints, ...] = (tie_key, np.cumsum(begins_tie)[tied_positions])
    if grouped_block.uncounted_row is not None:  # a document's first row counts, and comes first
        sort_keys = (tied_rows, *sort_keys)
    ranked_rows[tied_positions] = tied_rows[np.lexsort(sort_keys)]
    return ranked_rows, begins_tie


def _sort_by_score(scores: Floats, group: Ints, rows: Ints) -> Ints:
    """Return `rows`, (rows,), group by group, the highest score first; equal scores in any order.

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
    groups = group[score_order]
    if int(groups.max(initial=0)) < 1 << 16:
        groups = groups.astype(np.uint16)  # which are sorted in one pass
    return rows[score_order[groups.argsort(kind="stable")]]


def tie_sort_keys(docs: Ids, judging: Judging) -> Ints:
    """Return keys, (documents,), that sort documents of the same score, the lowest key first."""
    doc_key = docs.sort_keys()
    return doc_key if judging.ties == "ascending" else ~doc_key


def to_single(scores: Floats, may_overflow: bool = True) -> Floats:
    """Return scores as 32-bit floats; False for `may_overflow`: all are within the range."""
    if may_overflow:
        is_infinite = np.abs(scores) > LARGEST_FINITE_AS_SINGLE
        scores = np.where(is_infinite, np.copysign(np.inf, scores), scores)
    return scores.astype(np.float32)


# The largest double that is finite as a 32-bit float, rounded to the nearest of them.
LARGEST_FINITE_AS_SINGLE = float.fromhex("0x1.fffffefffffffp127")
