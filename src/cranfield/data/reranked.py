"""A run's documents in the order of another run: by its scores, or within ties."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.judging import Judging
from cranfield.data.named_ids import NamedDocuments
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import Block, Role
from cranfield.formats.source import describe_sources

if TYPE_CHECKING:
    from cranfield.data.altered import RunOperations

UnscoredDocs = Literal["below", "drop"]
_Run = TypeVar("_Run", bound="RunOperations")


def rerank(run: _Run, scoring_run: _Run, unscored: UnscoredDocs) -> _Run:
    """Return a run's documents by the scores of another; see `Run.rerank`."""
    if not scoring_run.has_scores:
        raise InputError(f"the run {scoring_run.name!r:.80} has no scores to rerank by")
    scored_block = scoring_run._read_all({"score"}, Judging())
    score = np.asarray(scored_block.columns["score"], np.float64)
    if not np.isfinite(score).all():
        row = int(np.flatnonzero(~np.isfinite(score))[0])
        problem = f"the score {score[row]}: documents without one go below it"
        raise scored_block.row_error(row, problem)
    scored_docs = NamedDocuments.of_block(scored_block)
    judging, shares_doc = Judging(), list[bool]()

    def score_block(grouped_block: GroupedBlock) -> Block:
        scored_row = scored_docs.find_rows(grouped_block)
        shares_doc.append(bool((scored_row >= 0).any()))
        new_score = np.full(len(scored_row), np.nan)
        if len(score):
            new_score = np.where(scored_row >= 0, score[scored_row], np.nan)
        if unscored == "below":
            rank = rank_documents(grouped_block, judging).rank
            new_score = _fill_scores_below(new_score, grouped_block, rank)
        rows = np.flatnonzero(~np.isnan(new_score))
        return _replace_ranking_column(grouped_block.block, rows, "score", new_score[rows])

    recipe = {"rerank": scoring_run.origin, "unscored": unscored}
    description = f"by the scores of {scoring_run.name}:"
    derived_run = run._derive_run(score_block, description, judging, recipe, ranking_role="score")
    derived_run.rows.name_of_role = scoring_run.rows.name_of_role
    return _check_shared(run, scoring_run, shares_doc, derived_run)


def break_ties(run: _Run, ordering_run: _Run) -> _Run:
    """Return a run's ranking, where ties are in the order of another; see `Run.break_ties`."""
    judging = Judging()
    ordering_block = ordering_run._read_all(ordering_run._extra_roles, judging)
    ordering_docs, shares_doc = NamedDocuments.of_block(ordering_block), list[bool]()
    ordering_rank = rank_documents(ordering_run.group_block(ordering_block, judging), judging).rank

    def order_block(grouped_block: GroupedBlock) -> Block:
        placement = rank_documents(grouped_block, judging)
        ordering_row = ordering_docs.find_rows(grouped_block)
        shares_doc.append(bool((ordering_row >= 0).any()))
        tie_rank = np.full(len(ordering_row), len(ordering_rank) + 1)
        if len(ordering_rank):
            tie_rank = np.where(ordering_row >= 0, ordering_rank[ordering_row], tie_rank)
        rows = np.lexsort((placement.rank, tie_rank, placement.tie_first, grouped_block.group))
        rank = consecutive_numbers(1, np.diff(grouped_block.starts))
        return _replace_ranking_column(grouped_block.block, rows, "rank", rank)

    recipe = {"break_ties": ordering_run.origin}
    description = f"ties in the order of {ordering_run.name}:"
    derived_run = run._derive_run(order_block, description, judging, recipe, ranking_role="rank")
    return _check_shared(run, ordering_run, shares_doc, derived_run)


def _check_shared(
    run: _Run, ordering_run: _Run, shares_doc: Sequence[bool], derived_run: _Run
) -> _Run:
    """Return the derived run; NothingSharedError if the two runs share no document of a query."""
    if not any(shares_doc):
        raise NothingSharedError(
            f"the runs {run.name!r:.80} and {ordering_run.name!r:.80} share no document of a query",
            source=describe_sources(run.sources),
            hint="Do both name queries and documents in the same way?",
        )
    return derived_run


def _replace_ranking_column(block: Block, rows: Ints, role: Role, column: Floats | Ints) -> Block:
    """Return the block's `rows` with `column`, (rows,), to rank them, and with their costs."""
    row_block = block.take(rows)
    costs = {name: cost for name, cost in row_block.columns.items() if name == "cost"}
    columns, empty_queries = {role: column, **costs}, block.empty_queries
    return replace(row_block, columns=columns, empty_queries=empty_queries)


def _fill_scores_below(score: Floats, grouped_block: GroupedBlock, rank: Ints) -> Floats:
    """Fill missing scores, NaN, below the lowest of their query, in the order of `rank`: (rows,).

    A query without scores has 0 as its lowest.
    """
    group = grouped_block.group
    lowest = np.full(len(grouped_block.starts) - 1, np.inf)
    np.fmin.at(lowest, group, np.where(np.isnan(score), np.inf, score))
    lowest = np.where(np.isfinite(lowest), lowest, 0.0)
    # A step is large enough for single precision, in which trec_eval compares.
    size = np.minimum(np.abs(lowest), 1e38).astype(np.float32)
    steps = np.maximum(1.0, 2 * np.spacing(size).astype(np.float64))
    steps = np.where(np.abs(lowest) > 1e38, 2 * np.spacing(np.abs(lowest)), steps)
    missing_rows = np.flatnonzero(np.isnan(score))
    missing_rows = missing_rows[np.lexsort((rank[missing_rows], group[missing_rows]))]
    group = group[missing_rows]
    nth = np.arange(len(missing_rows)) - np.searchsorted(group, group) + 1
    filled_score = score.copy()
    filled_score[missing_rows] = lowest[group] - steps[group] * nth
    return filled_score
