"""Turns the note on tied documents into a warning where their order may move a mean."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.arrays.rows import mark_changes
from cranfield.data.judge import judge_by_grade
from cranfield.data.judged import NO_CUTOFF, Judged
from cranfield.data.meeting import JudgedRun, MatchedRun
from cranfield.data.regroup import gather_queries
from cranfield.data.run import Run
from cranfield.data.run_notes import find_contradictions
from cranfield.errors import MeasureError, OptionError
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_names

_FAMILIES = ("nDCG", "AP", "RR", "P", "R")
_MIN_TIED_SHARE = 0.1  # of the documents that a measure looks at
_MIN_SHIFT = 0.005  # of a mean


def weigh_ties(
    note: Note, judged_run: JudgedRun, measures: Sequence[Measure], values: Floats
) -> Note:
    """Return the note on ties, as a warning where their order may move a mean that is printed.

    `values` are (n_queries, n_measures). A run that was judged in parts is not looked at.
    """
    if not isinstance(judged_run, MatchedRun) or not _is_order_arbitrary(judged_run):
        return note
    try:
        ranges = list(_find_ranges(judged_run, measures, values))
    except OptionError:  # the options leave no best order
        return note
    if not ranges:
        return note
    remedies = []
    if _ranks_order_ties(judged_run.run):
        remedies.append("order='rank' (--order rank) takes the rank column")
    if all(measure.definition.traits.averages_ties for measure in measures):
        remedies.append("ties='expected' (--ties expected) takes the mean of all orders")
    subject = note.text.partition(":")[0]  # how many documents are tied
    text = f"{subject}, ranked by document id; other orders give {format_names(ranges, 3)}"
    hint = f": {', '.join(remedies)}" if remedies else ""
    return replace(note, severity="warning", text=f"{text}{hint}.")


def _is_order_arbitrary(run: MatchedRun) -> bool:
    """Tell whether nothing but the ids of documents says how tied ones are ranked."""
    judging = run.judging
    is_by_id = judging.ties in ("document", "ascending") and judging.order == "score"
    return is_by_id and judging.unretrieved == "leave-out" and not run.qrels.has_groups


def _find_ranges(run: MatchedRun, measures: Sequence[Measure], values: Floats) -> Iterator[str]:
    """Yield each measure whose mean depends on the order of ties, with its lowest and highest."""
    extremes: list[Judged] = []
    for i, measure in enumerate(measures):
        cutoff = measure.cutoff.n_ranks if isinstance(measure.cutoff, Depth) else None
        k = min(cutoff or NO_CUTOFF, run.judging.depth or NO_CUTOFF)
        n_tied = run.match.placement.n_tied_at_rank[: k + 1].sum()
        n_ranked = np.minimum(run.match.n_retrieved, k).sum()
        if measure.name not in _FAMILIES or n_tied < _MIN_TIED_SHARE * n_ranked:
            continue
        extremes = extremes or [judge_by_grade(run, "worst"), judge_by_grade(run, "best")]
        try:
            low, high = (measure.aggregate(measure.values(judged)[:, 0]) for judged in extremes)
        except MeasureError:  # with these parameters, grades do not say which order is the best
            continue
        mean = measure.aggregate(values[:, i].astype(np.float64))
        if max(mean - low, high - mean) > _MIN_SHIFT:
            yield f"{measure} from {low:.4f} to {high:.4f}"


def _ranks_order_ties(run: Run) -> bool:
    """Tell whether a run has a rank column that agrees with its scores and orders equal ones.

    Its first block is read.
    """
    if not run.extra_roles >= {"score", "rank"}:
        return False
    with hide_progress():  # it was read before
        block = gather_queries(next(run.skip_faults().read_columns(["score", "rank"]))())
    score, rank = block.score_or_grade, block.rank
    if score is None or rank is None:
        return False
    group = block.query.find_changes().searchsorted(np.arange(len(block)), "right")
    order = np.lexsort((rank, group))
    is_in_order = mark_changes(group[order], rank[order])
    return bool(is_in_order.all()) and not len(find_contradictions(group, rank, score))
