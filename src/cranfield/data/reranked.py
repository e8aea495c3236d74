"""A run's documents in the order of another run: by its scores, or within ties."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
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
    scored = scoring_run._read_all({"score"}, Judging())
    score = np.asarray(scored.columns["score"], np.float64)
    if not np.isfinite(score).all():
        row = int(np.flatnonzero(~np.isfinite(score))[0])
        raise scored.row_error(row, f"the score {score[row]}: documents without one go below it")
    there = NamedDocuments.of_block(scored)
    judging, shared = Judging(), list[bool]()

    def ranked(group: GroupedBlock) -> Block:
        at = there.find_rows(group)
        shared.append(bool((at >= 0).any()))
        new = np.where(at >= 0, score[at], np.nan) if len(score) else np.full(len(at), np.nan)
        if unscored == "below":
            new = _fill_scores_below(new, group, rank_documents(group, judging).rank)
        kept = np.flatnonzero(~np.isnan(new))
        return _replace_ranking_column(group.block.take(kept), "score", new[kept], group.block.empty_queries)

    made = {"rerank": scoring_run.origin, "rest": unscored}
    said = f"by the scores of {scoring_run.name}:"
    reranked = run._derive_run(ranked, said, judging, made, ranking_role="score")
    reranked.rows.name_of_role = scoring_run.rows.name_of_role
    return _check_shared(run, scoring_run, shared, reranked)


def break_ties(run: _Run, ordering_run: _Run) -> _Run:
    """Return a run's ranking, where ties are in the order of another; see `Run.break_ties`."""
    judging = Judging()
    whole_of = ordering_run._read_all(ordering_run._extra_roles, judging)
    there, shared = NamedDocuments.of_block(whole_of), list[bool]()
    rank_there = rank_documents(ordering_run.group_block(whole_of, judging), judging).rank

    def ordered(group: GroupedBlock) -> Block:
        place, at = rank_documents(group, judging, with_ties=True), there.find_rows(group)
        shared.append(bool((at >= 0).any()))
        last = len(rank_there) + 1
        second = np.where(at >= 0, rank_there[at], last) if len(rank_there) else at
        rows = np.lexsort((place.rank, second, place.tie_first, group.group))
        rank = np.arange(len(rows)) - np.repeat(group.starts[:-1], np.diff(group.starts)) + 1
        return _replace_ranking_column(group.block.take(rows), "rank", rank, group.block.empty_queries)

    made = {"break_ties": ordering_run.origin}
    said = f"ties in the order of {ordering_run.name}:"
    return _check_shared(run, ordering_run, shared, run._derive_run(ordered, said, judging, made, ranking_role="rank"))


def _check_shared(run: _Run, other: _Run, shared: Sequence[bool], made: _Run) -> _Run:
    """Return what was made of two runs; InputError if no part of one has a document of both."""
    if not any(shared):
        raise NothingSharedError(
            f"the runs {run.name!r:.80} and {other.name!r:.80} share no document of a query",
            source=describe_sources(run.sources),
            hint="Do both name queries and documents in the same way?",
        )
    return made


def _replace_ranking_column(block: Block, role: Role, column: Floats | Ints, empty: Sequence[bytes]) -> Block:
    """Return rows with a column that ranks them in place of others, and with their costs."""
    costs = {name: one for name, one in block.columns.items() if name == "cost"}
    return replace(block, columns={role: column, **costs}, empty=empty)


def _fill_scores_below(new: Floats, found: GroupedBlock, rank: Ints) -> Floats:
    """Return scores with those that are missing, NaN, below the lowest of their query."""
    n = len(found.starts) - 1
    lowest = np.full(n, np.inf)
    np.fmin.at(lowest, found.group, np.where(np.isnan(new), np.inf, new))
    lowest = np.where(np.isfinite(lowest), lowest, 0.0)
    # A step is one that single precision shows, in which trec_eval compares.
    within = np.minimum(np.abs(lowest), 1e38).astype(np.float32)
    steps = np.maximum(1.0, 2 * np.spacing(within).astype(np.float64))
    steps = np.where(np.abs(lowest) > 1e38, 2 * np.spacing(np.abs(lowest)), steps)
    missing = np.flatnonzero(np.isnan(new))
    missing = missing[np.lexsort((rank[missing], found.group[missing]))]
    group = found.group[missing]
    nth = np.arange(len(missing)) - np.searchsorted(group, group) + 1
    result = new.copy()
    result[missing] = lowest[group] - steps[group] * nth
    return result
