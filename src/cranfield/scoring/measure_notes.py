"""Notes on what tied documents and the lengths of lists do to the measures that are printed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.data.judge import judge_match
from cranfield.data.judged import NO_CUTOFF, Judged
from cranfield.data.meeting import JudgedRun, MatchedRun
from cranfield.data.regroup import gather_queries
from cranfield.data.run import Run
from cranfield.errors import MeasureError, OptionError
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_count, format_names

_TIE_FAMILIES = ("nDCG", "AP", "RR", "P", "R")
_MIN_TIED_SHARE = 0.1  # of the documents that a measure looks at
_MIN_SHIFT = 0.005  # of a mean, by another order of ties
_MAX_SHARE = 0.9  # of the longest list's documents: no more, and lists end at different ranks
_MAX_ROWS = 100_000  # of the run, and of the judgments, whose documents are compared


def list_run_notes(run: JudgedRun, measures: Sequence[Measure], values: Floats) -> Iterator[Note]:
    """Yield the notes of a judged run, some of which depend on measures and their values.

    `values` are (n_queries, n_measures). Of a run that was judged in parts, ties are not weighed.
    """
    for note in run.notes:
        if note.code == "ties" and isinstance(run, MatchedRun):
            note = _weigh_ties(note, run, measures, values)
        yield note
    yield from find_short_lists(run, measures)


def _weigh_ties(note: Note, run: MatchedRun, measures: Sequence[Measure], values: Floats) -> Note:
    """Return the note on ties, as a warning where their order may move a mean."""
    ranges = list(_find_ranges(run, measures, values))
    if not ranges:
        return note
    averages_ties = all(measure.definition.traits.averages_ties for measure in measures)
    subject = note.text.partition(":")[0]  # how many documents are tied
    text = f"{subject}, ranked by document id; other orders give {format_names(ranges, 3)}"
    remedies = tie_remedies(run.run, averages_ties=averages_ties)
    return replace(note, severity="warning", text=f"{text}{remedies}.")


def tie_remedies(run: Run, *, averages_ties: bool = True) -> str:
    """Return the options for ties, behind a colon; with `averages_ties`, ties="expected", too."""
    remedies = ["order='rank' (--order rank) takes the rank column"] * _ranks_order_ties(run)
    remedies += ["ties='expected' (--ties expected) takes the mean of all orders"] * averages_ties
    return f": {', '.join(remedies)}" if remedies else ""


def _find_ranges(run: MatchedRun, measures: Sequence[Measure], values: Floats) -> Iterator[str]:
    """Yield each measure whose mean depends on the order of ties, with its lowest and highest."""
    extremes: list[Judged] = []
    is_by_id = run.judging.ties in ("document", "ascending") and not run.qrels.has_groups
    for i, measure in enumerate(measures if is_by_id and not run.n_appended else ()):
        cutoff = measure.cutoff.n_ranks if isinstance(measure.cutoff, Depth) else None
        k = min(cutoff or NO_CUTOFF, run.judging.depth or NO_CUTOFF)
        n_ranked = np.minimum(run.match.n_retrieved, k).sum()
        n_tied = np.count_nonzero(run.match.placement.tied_rank <= k)
        if measure.name not in _TIE_FAMILIES or n_tied < _MIN_TIED_SHARE * n_ranked:
            continue
        try:
            extremes = extremes or [
                judge_match(run.qrels, run.run, run.match, judging, run.all_queries).judged
                for judging in (replace(run.judging, ties=ties) for ties in ("worst", "best"))
            ]
            low, high = (measure.aggregate(measure.values(judged)[:, 0]) for judged in extremes)
        except (MeasureError, OptionError):  # then no order is known to be the best
            continue
        mean = measure.aggregate(values[:, i].astype(np.float64))
        if max(mean - low, high - mean) > _MIN_SHIFT:
            yield f"{measure} from {low:.4f} to {high:.4f}"


def _ranks_order_ties(run: Run) -> bool:
    """Tell whether, in the first block of a run, all ranks differ and agree with the scores."""
    if not run.extra_roles >= {"score", "rank"}:
        return False
    with hide_progress():  # it was read before
        block = gather_queries(next(run.skip_faults().read_columns(["score", "rank"]))())
    group = block.query.find_changes().searchsorted(np.arange(len(block)), "right")
    order = np.lexsort((block.columns["rank"], group))
    rank, score = (block.columns[role][order] for role in ("rank", "score"))
    is_in_order = (rank[1:] > rank[:-1]) & (score[1:] <= score[:-1])
    return bool((is_in_order | (group[1:] != group[:-1])).all())


def common_length(run: JudgedRun) -> int:
    """Return how many documents at least half of a run's lists have, and two; 0: no such number."""
    n_of_length = {length: n for length, n in run.facts.n_queries_of_length.items() if length}
    n_lists, length = sum(n_of_length.values()), max(n_of_length, key=n_of_length.get, default=0)
    is_common = length and n_of_length[length] >= max(n_lists / 2, min(n_lists, 2))
    return length if is_common and run.qrels.list_kind != "grades" else 0


def find_short_lists(run: JudgedRun, measures: Sequence[Measure]) -> Iterator[Note]:
    """Yield a note on measures that look at more documents than most lists of a run have.

    None where `depth` cuts the lists, or where they hold all documents of the collection.
    """
    n_docs = common_length(run)
    names = [str(measure) for measure in measures if 0 < n_docs < _find_cutoff(measure, 0)]
    if names and run.judging.depth is None and not _holds_all(run, n_docs):
        text = f"{format_names(names)}: most lists end at {format_count(n_docs, 'document')}."
        yield Note("depth", "info", text, count=n_docs)


def _find_cutoff(measure: Measure, default: float) -> float:
    """Return how many documents a measure looks at, `default` without a cutoff.

    0 for a measure by which no system is better, or of sets, or cut where the judgments say.
    """
    definition, cutoff = measure.definition, measure.cutoff
    if isinstance(cutoff, Depth) and definition.higher_is_better is not None:
        return 0 if cutoff.at_relevant else cutoff.n_ranks or 0
    return 0 if definition.higher_is_better is None or definition.traits.of_sets else default


def _holds_all(run: JudgedRun, length: int) -> bool:
    """Tell whether the first documents of a run and the judgments are at most `length` in all."""
    with hide_progress():  # it was read before
        block = next(run.run.skip_faults().read_columns(()))()
    ids = (ids.take(slice(0, _MAX_ROWS)).to_list() for ids in (block.doc, run.qrels.docs))
    return len(set().union(*ids)) <= length


def compare_lengths(measures: Sequence[Measure], length_of_run: Mapping[str, int]) -> list[Note]:
    """Return a warning on measures that look at more documents of some runs than of others.

    `length_of_run` has the documents in most lists of a run, 0 if there is no such number.
    """
    runs_of_length: dict[int, list[str]] = {}
    for run, length in sorted(length_of_run.items(), key=lambda pair: -pair[1]):
        runs_of_length.setdefault(length, []).append(run)
    runs_of_length.pop(0, None)
    longest, shortest = max(runs_of_length, default=0), min(runs_of_length, default=0)
    cutoffs = ((str(measure), _find_cutoff(measure, math.inf)) for measure in measures)
    names = [name for name, k in cutoffs if 0 < min(shortest, k) <= _MAX_SHARE * min(longest, k)]
    parts = [f"{length:,} in {format_names(runs, 3)}" for length, runs in runs_of_length.items()]
    text = f"{format_names(names)}: most lists end at {', '.join(parts)}; depth={shortest} "
    text += f"(--depth {shortest}) cuts all alike."
    return [Note("depths", "warning", text)] if names else []
