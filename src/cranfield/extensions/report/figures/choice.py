"""Choose what a picture of a comparison shows: which measure, which systems, which pair."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from cranfield.comparison.alignment import EvaluatedRuns
from cranfield.comparison.compare import compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome, Pair, Result
from cranfield.errors import InputError, MeasureError, OptionError, nearest_words
from cranfield.extensions.report.figures.marks import shorten_name
from cranfield.measures import Measure
from cranfield.notes import Note, sort_by_severity

MAX_DEFAULT_SYSTEMS = 4  # up to so many systems, each has its colour, if the caller names no systems
MAX_COLOURED_SYSTEMS = 7  # systems that colours and shapes can distinguish
NAME_LETTERS = 40  # of a name in a sentence
# What a point has for a pair of systems, besides the difference and its interval.
PAIR_FIELDS = (
    *("p", "p_adjusted", "verdict", "wins", "ties", "losses"),
    *("ratio", "ratio_low", "ratio_high"),
    *("probability_better", "probability_same", "probability_worse"),
)


def check_comparison(comparison: object, figure: str) -> Comparison:
    """Return what was compared; raise InputError for anything but a Comparison."""
    if not isinstance(comparison, Comparison):
        raise InputError(
            f"{figure}: expected what compare() returns, not a {type(comparison).__name__}",
            hint=f"figures.{figure}(compare(qrels, [run, other_run]))",
        )
    return comparison


def find_result(comparison: Comparison, measure: str | Measure | None) -> Result:
    """Return the result of a measure on all queries; of the first measure by default."""
    try:
        return comparison[comparison.aligned.measures[0] if measure is None else measure]
    except KeyError:
        known = ", ".join(comparison.aligned.measures)
        raise MeasureError(f"{measure} was not compared; these were: {known}") from None


def find_measure(comparison: Comparison, name: str) -> Measure | None:
    """Return a measure that was compared, with its stated parameters; None if unknown."""
    aligned = comparison.aligned
    if aligned.evaluated_runs is None:
        return aligned.find_measure(name)
    return next(iter(aligned.evaluated_runs.systems.values())).measures[aligned.measures.index(name)]


def find_source(comparison: Comparison, subject: str) -> EvaluatedRuns:
    """Return the judgments and runs; raise InputError for precomputed scores."""
    source = comparison.aligned.evaluated_runs
    if "groups" in comparison.aligned.recipe:
        raise InputError(
            f"{subject} is drawn from single rankings, and these systems are means of several runs",
            hint="Compare the runs as systems of their own: leave groups (--group) out.",
        )
    if source is None:
        raise InputError(
            f"{subject} is drawn from judgments and runs, and these are precomputed scores",
            hint="Compare the judgments and runs themselves: compare(qrels, runs); "
            "or leave --saved out.",
        )
    return source


def list_doubts(comparison: Comparison, *results: Result) -> tuple[Note, ...]:
    """Return the errors and warnings on the data, and on the comparisons of some results."""
    every = [*comparison.data_notes, *(note for one in results for note in one.notes)]
    return tuple(note for note in sort_by_severity(every) if note.is_grave)


def find_system(comparison: Comparison, name: str, option: str = "system") -> str:
    """Return the system with a name, or from a run's file; raise OptionError if there is none."""
    names, source = comparison.aligned.system_names, comparison.aligned.evaluated_runs
    if name in names:
        return name
    for system, run in () if source is None else source.runs.items():
        if os.path.realpath(str(name)) in [os.path.realpath(one.path) for one in run.sources]:
            return system
    near = nearest_words(str(name), names) or names[:5]
    shown = ", ".join(shorten_name(one, NAME_LETTERS) for one in near)
    raise OptionError(f"{option}={name!r:.80}: there is no such system; try {shown}")


@dataclass(frozen=True)
class OrderedPair:
    """One system compared with another, in this order, in which a Pair may not name them.

    `ratio` and its ends are None unless the measure has a geometric mean; then `difference` and
    its ends are in logarithms.
    """

    system: str
    other: str
    difference: float
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Outcome | None
    wins: int
    ties: int
    losses: int

    @classmethod
    def of(cls, pair: Pair) -> "OrderedPair":
        """Return what a pair says."""
        return cls(**{one.name: getattr(pair, one.name) for one in fields(cls)})

    @property
    def reversal(self) -> "OrderedPair":
        """The same two systems in the other order."""
        low, high = (None if one is None else 0.0 - one for one in (self.high, self.low))
        difference = 0.0 - self.difference
        by_ratio = self.ratio is not None
        ratio, ratio_low, ratio_high = (
            math.exp(one) if by_ratio and one is not None else None
            for one in (difference, low, high)
        )
        verdict: dict[Outcome | None, Outcome] = {"better": "worse", "worse": "better"}
        return replace(
            self,
            system=self.other,
            other=self.system,
            difference=difference,
            low=low,
            high=high,
            ratio=ratio,
            ratio_low=ratio_low,
            ratio_high=ratio_high,
            verdict=verdict.get(self.verdict),
            wins=self.losses,
            losses=self.wins,
        )


def choose_two(
    comparison: Comparison, result: Result, system: str | None, other: str | None
) -> tuple[str, str]:
    """Return two systems: the best one and the baseline, unless others are named.

    Without a baseline, or if that is the best one, the best two.
    """
    if len(result.systems) < 2:
        raise InputError("this picture compares two systems, and there is only one")
    best_first = [one.name for one in result.ranked_systems]
    system = None if system is None else find_system(comparison, system)
    other = None if other is None else find_system(comparison, other, "other")
    if other is None:
        base = comparison.settings.baseline
        usual = [one for one in (base, *best_first[:2]) if one is not None]
        if system is None and base is None:
            system = best_first[0]
        other = next(one for one in usual if one != system)
    if system is None:
        system = next(one for one in best_first if one != other)
    if system == other:
        raise OptionError(f"system={system!r:.80}: compared with itself; name another")
    return system, other


def find_pair(comparison: Comparison, result: Result, system: str, other: str) -> OrderedPair:
    """Return what was found for two systems.

    If they were not compared with each other, they are compared now, as by `every_pair`.
    """
    pairs = result.pair_of_names
    if (system, other) not in pairs and (other, system) not in pairs:
        pairs = compare_all_pairs(comparison)[result.measure].pair_of_names
    if (system, other) in pairs:
        return OrderedPair.of(pairs[system, other])
    return OrderedPair.of(pairs[other, system]).reversal


def select_best(
    best_first: Sequence[str], n_most: int, required_names: Iterable[str | None] = ()
) -> tuple[list[str], list[str]]:
    """Return `most` of the systems, the best and those in `kept`, and a sentence on the others."""
    if len(best_first) <= n_most:
        return [*best_first], []
    keep = {one for one in required_names if one in best_first}
    first = [one for one in best_first if one not in keep][: max(0, n_most - len(keep))]
    shown = [one for one in best_first if one in keep or one in first]
    named = f" and {', '.join(shorten_name(one, NAME_LETTERS) for one in shown if one in keep)}"
    text = f"{len(shown)} of {len(best_first)} systems are drawn: the best{named if keep else ''}"
    return shown, [text]


def read_stated_rel(measure: Measure) -> float | None:
    """Return the lowest grade that a measure counts as relevant, if it was stated."""
    return measure.parameters["rel"] if "rel" in measure.stated else None


def choose_systems(comparison: Comparison, result: Result, systems: Iterable[str] | None) -> list[str]:
    """Return the systems that have a colour each, the best first: those that are named.

    By default, all of up to four; else the best one and the baseline, or the next best.
    """
    best_first = [one.name for one in result.ranked_systems]
    if systems is not None:
        wanted: Sequence[str] = [systems] if isinstance(systems, str) else list(systems)
        known = [find_system(comparison, one, "systems") for one in wanted]
        chosen = [one for one in best_first if one in known]
        if not chosen or len(chosen) > MAX_COLOURED_SYSTEMS:
            raise OptionError(f"systems: {len(chosen)} are named; one picture can show 1 to {MAX_COLOURED_SYSTEMS}")
        return chosen
    if len(best_first) <= MAX_DEFAULT_SYSTEMS:
        return best_first
    base = comparison.settings.baseline
    return [best_first[0], best_first[1] if base in (None, best_first[0]) else str(base)]
