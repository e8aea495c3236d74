"""Notes on what tied documents and the lengths of lists do to the measures that are printed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.data.judge import judge_match
from cranfield.data.judged import NO_CUTOFF, Judged
from cranfield.data.meeting import JudgedRun, MatchedRun
from cranfield.data.run import Run
from cranfield.errors import MeasureError, OptionError
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import RANK_ORDERS_TIES, Note
from cranfield.render.numbers import format_names

_TIE_FAMILIES = ("nDCG", "AP", "RR", "P", "R")
# Names and `bounds` of measures that do not take a negative grade for not relevant.
_SAFE_IN_SAMPLES = {"infAP", "Bpref", "GMBpref", "none", "refused"}
_MIN_TIED_SHARE = 0.1  # of the documents that a measure looks at
_MIN_SHIFT = 0.005  # of a mean, by another order of ties
_MAX_LENGTHS = 3  # of lists, that a note names
_MAX_SHARE = 0.9  # of the longest list's documents: no more, and lists end at different ranks


def list_run_notes(run: JudgedRun, measures: Sequence[Measure], values: Floats) -> Iterator[Note]:
    """Yield the notes of a judged run; `values` are (n_queries, n_measures)."""
    is_level = any(note.code == "level-scores" for note in run.notes)  # which warns of all ties
    for note in run.notes:
        yield note if note.code != "ties" or is_level else _add_ranges(note, run, measures, values)
    yield from _find_short_lists(run, measures)
    plain = [str(m) for m in measures if _SAFE_IN_SAMPLES.isdisjoint((m.bounds, m.name))]
    columns, grade = run.qrels.columns, run.qrels.grade
    has_undrawn = "stratum" in columns and np.min(grade, initial=0) < 0
    if plain and (has_undrawn or np.min(columns.get("probability", 1), initial=1) < 1):
        text = (
            f"The judgments are a sample: by {format_names(plain)} what was not drawn counts as "
            "not relevant. State them beside a model's labels (--human FILE), or take xinfAP or "
            "statAP, which are for samples."
        )
        yield Note("plain-sample", "warning", text)


def _add_ranges(note: Note, run: JudgedRun, measures: Sequence[Measure], values: Floats) -> Note:
    """Return the note on ties, as a warning with the lowest and highest means if these differ."""
    effects, ranges = run.facts.tie_effects, []
    if isinstance(run, MatchedRun):
        effects = weigh_ties(run, measures, values, _MIN_TIED_SHARE)
    for measure, column, (n_docs, n_tied, *sums) in zip(measures, values.T, effects, strict=True):
        fall, rise = (effect / len(column) for effect in sums)
        if n_tied >= _MIN_TIED_SHARE * n_docs and max(-fall, rise) > _MIN_SHIFT:
            ranges.append(f"{measure} {column.mean() + fall:.4f} to {column.mean() + rise:.4f}")
    averages_ties = all(measure.definition.traits.averages_ties for measure in measures)
    subject, remedies = note.text.partition(":")[0], tie_remedies(run.run, averages_ties)
    text = f"{subject} and allow {format_names(ranges)}.{remedies}"
    return replace(note, severity="warning", text=text) if ranges else note


def tie_remedies(run: Run, averages_ties: bool = True) -> str:
    """Return a sentence on the options for ties; `averages_ties`: whether "expected" is one."""
    remedies = [RANK_ORDERS_TIES[:-1]] if run.extra_roles >= {"score", "rank"} else []
    remedies += ["--ties expected averages"] if averages_ties else []
    return f" {', '.join(remedies)}." if remedies else ""


def weigh_ties(
    run: MatchedRun, measures: Sequence[Measure], values: Floats, min_share: float
) -> Floats:
    """Return what the order of ties does to measures: (n_measures, 4), sums over queries.

    The documents that a measure looks at; the tied ones of these; and what the worst and the best
    order of ties add to its values: 0 where less than `min_share` are tied, NaN where the orders
    are not known. The sums of the parts of a run add up.
    """
    effects, judging, extremes = np.zeros((len(measures), 4)), run.judging, list[Judged]()
    is_by_id = judging.ties in ("document", "ascending") and not run.n_appended
    if not is_by_id or run.qrels.has_groups or not len(values):
        return effects
    for effect, measure, column in zip(effects, measures, values.T, strict=True):
        k = min(_find_cutoff(measure) or NO_CUTOFF, judging.depth or NO_CUTOFF)
        n_tied = run.match.placement.n_tied_of_rank[: k + 1].sum()
        effect[:2] = np.minimum(run.match.n_retrieved, k).sum(), n_tied
        if measure.name in _TIE_FAMILIES and n_tied >= max(1, min_share * effect[0]):
            effect[2:] = np.nan
            with suppress(MeasureError, OptionError):
                extremes = extremes or [
                    judge_match(run.qrels, run.run, run.match, tie_judging, run.all_queries).judged
                    for tie_judging in (replace(judging, ties=ties) for ties in ("worst", "best"))
                ]
                effect[2:] = [(measure.values(end)[:, 0] - column).sum() for end in extremes]
    return effects


def find_common_length(run: JudgedRun) -> int:
    """Return how many documents at least half of a run's lists have, and two of them; or 0."""
    n_of_length = run.facts.n_queries_of_length
    n, length = max(((n, -length) for length, n in n_of_length.items()), default=(0, 0))
    is_common = n > 1 and 2 * n >= n_of_length.total() and run.qrels.list_kind != "grades"
    return -length if is_common else 0


def _find_short_lists(run: JudgedRun, measures: Sequence[Measure]) -> Iterator[Note]:
    """Yield a note on measures that look at more documents than half of a run's lists have.

    None where `depth` cuts the lists, or all judged documents are in them.
    """
    length = find_common_length(run)
    names = [str(measure) for measure in measures if 0 < length < _find_cutoff(measure)]
    if names and run.judging.depth is None and run.facts.n_missed:
        text = f"{format_names(names)}: at least half of the lists end at rank {length:,}."
        yield Note("depth", "info", text)


def _find_cutoff(measure: Measure) -> int:
    """Return a measure's cutoff in ranks; 0 if it has none, or no system is better by it."""
    cutoff = None if measure.definition.higher_is_better is None else measure.cutoff
    return (isinstance(cutoff, Depth) and cutoff.n_ranks) or 0


def compare_lengths(measures: Sequence[Measure], length_of_run: Mapping[str, int]) -> list[Note]:
    """Return a warning on measures that look at more documents of some runs than of others.

    `length_of_run` has the documents in most lists of a run, 0 if there is no such number.
    """
    runs_of_length: dict[int, list[str]] = {}
    for run, length in sorted(length_of_run.items(), key=lambda pair: -pair[1]):
        runs_of_length.setdefault(length, []).append(run)
    runs_of_length.pop(0, None)
    shortest, longest = min(runs_of_length, default=0), max(runs_of_length, default=0)
    cutoffs = ((str(measure), _find_cutoff(measure)) for measure in measures)
    names = [name for name, k in cutoffs if 0 < min(shortest, k) <= _MAX_SHARE * min(longest, k)]
    verbs = ("has" if len(runs) == 1 else "have" for runs in runs_of_length.values())
    pairs = zip(runs_of_length.items(), verbs, strict=True)
    parts = [f"{format_names(runs)} {verb} {length:,}" for (length, runs), verb in pairs]
    if len(parts) > _MAX_LENGTHS:
        n_between = sum(map(len, [*runs_of_length.values()][1:-1]))
        parts[1:-1] = [f"{n_between:,} have a number between"]
    text = f"{'; '.join(parts)} documents a query. --depth {shortest} cuts all alike."
    return [Note("depth", "warning", f"{format_names(names)}: {text}")] if names else []
