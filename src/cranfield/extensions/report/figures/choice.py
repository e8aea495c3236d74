"""Choose the measure, the systems and the pair that a picture of a comparison shows."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from cranfield.comparison.aligned_scores import EvaluatedRuns
from cranfield.comparison.compare import compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome, Pair, Result
from cranfield.errors import InputError, MeasureError, OptionError, nearest_words
from cranfield.extensions.report.figures.marks import shorten_name
from cranfield.measures import Measure
from cranfield.notes import Note, sort_by_severity

MAX_DEFAULT_SYSTEMS = 4  # of no more systems, each has its colour, if the caller names no systems
MAX_COLOURED_SYSTEMS = 7  # systems that colours and shapes can distinguish
NAME_LETTERS = 40  # of a name in a sentence
# Fields of a pair of systems that a point has besides the difference and its interval.
PAIR_FIELDS = (
    *("p", "p_adjusted", "verdict", "wins", "ties", "losses"),
    *("ratio", "ratio_low", "ratio_high"),
    *("probability_better", "probability_same", "probability_worse"),
)


def check_comparison(comparison: object, figure: str) -> Comparison:
    """Return the comparison; raise InputError, with the figure's name, for what is none."""
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
        measure_names = ", ".join(comparison.aligned.measures)
        raise MeasureError(f"{measure} was not compared; these were: {measure_names}") from None


def find_measure(comparison: Comparison, name: str) -> Measure | None:
    """Return a compared measure, with its stated parameters; None if only its name is known."""
    aligned_scores = comparison.aligned
    if aligned_scores.evaluated_runs is None:
        return aligned_scores.find_measure(name)
    return next(iter(aligned_scores.evaluated_runs.systems.values())).measures[
        aligned_scores.measures.index(name)
    ]


def find_source(comparison: Comparison, subject: str) -> EvaluatedRuns:
    """Return the judgments and runs; InputError, on `subject`, for scores or means of runs."""
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
    """Return the errors and warnings on the data, and on the pairs of some results."""
    notes = [*comparison.data_notes, *(note for result in results for note in result.notes)]
    return tuple(note for note in sort_by_severity(notes) if note.is_grave)


def find_system(comparison: Comparison, name: str, option: str = "system") -> str:
    """Return the system with a name, or from a run's file; else raise OptionError on `option`."""
    names, source = comparison.aligned.system_names, comparison.aligned.evaluated_runs
    if name in names:
        return name
    for system, run in () if source is None else source.runs.items():
        if os.path.realpath(str(name)) in [
            os.path.realpath(run_source.path) for run_source in run.sources
        ]:
            return system
    nearest_names = nearest_words(str(name), names) or names[:5]
    names_text = ", ".join(shorten_name(system, NAME_LETTERS) for system in nearest_names)
    raise OptionError(f"{option}={name!r:.80}: there is no such system; try {names_text}")


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
        """Return the fields of a Pair."""
        return cls(**{field.name: getattr(pair, field.name) for field in fields(cls)})

    @property
    def reversal(self) -> "OrderedPair":
        """The same two systems in the other order."""
        low, high = (None if end is None else 0.0 - end for end in (self.high, self.low))
        difference = 0.0 - self.difference
        by_ratio = self.ratio is not None
        ratio, ratio_low, ratio_high = (
            math.exp(logarithm) if by_ratio and logarithm is not None else None
            for logarithm in (difference, low, high)
        )
        opposite: dict[Outcome | None, Outcome] = {"better": "worse", "worse": "better"}
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
            verdict=opposite.get(self.verdict),
            wins=self.losses,
            losses=self.wins,
        )


def choose_two(
    comparison: Comparison, result: Result, system: str | None, other: str | None
) -> tuple[str, str]:
    """Return two systems: the best system and the baseline, unless others are named.

    Without a baseline, or if the baseline is the best system, the best two. Beside one that is
    named: the default, or the best of the rest if these are the same.
    """
    if len(result.systems) < 2:
        raise InputError("this picture compares two systems, and there is only one")
    best_first = [candidate.name for candidate in result.ranked_systems]
    system = None if system is None else find_system(comparison, system)
    other = None if other is None else find_system(comparison, other, "other")
    if other is None:
        baseline = comparison.settings.first_baseline
        defaults = [name for name in (baseline, *best_first[:2]) if name is not None]
        if system is None and baseline is None:
            system = best_first[0]
        other = next(name for name in defaults if name != system)
    if system is None:
        system = next(name for name in best_first if name != other)
    if system == other:
        raise OptionError(f"system={system!r:.80}: compared with itself; name another")
    return system, other


def find_pair(comparison: Comparison, result: Result, system: str, other: str) -> OrderedPair:
    """Return the pair of two systems, in this order.

    If they were not compared with each other, they are compared now, with all pairs.
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
    """Return the best systems, `n_most` with the required ones, and a sentence if others are left.

    If more than `n_most` are required, all of these are returned.
    """
    if len(best_first) <= n_most:
        return [*best_first], []
    required_systems = {system for system in required_names if system in best_first}
    best_systems = [system for system in best_first if system not in required_systems][
        : max(0, n_most - len(required_systems))
    ]
    drawn_systems = [
        system for system in best_first if system in required_systems or system in best_systems
    ]
    names = [shorten_name(name, NAME_LETTERS) for name in drawn_systems if name in required_systems]
    text = f"{len(drawn_systems)} of {len(best_first)} systems are drawn: the best"
    return drawn_systems, [f"{text} and {', '.join(names)}" if names else text]


def read_stated_rel(measure: Measure) -> float | None:
    """Return the lowest grade that a measure counts as relevant, if its text states one."""
    return measure.parameters["rel"] if "rel" in measure.stated else None


def choose_systems(
    comparison: Comparison, result: Result, systems: Iterable[str] | None
) -> list[str]:
    """Return the systems to draw in colours, the best first: the named `systems`.

    By default, all of up to four; else the best system and the baseline, or the best two.
    """
    best_first = [system.name for system in result.ranked_systems]
    if systems is not None:
        names: Sequence[str] = [systems] if isinstance(systems, str) else list(systems)
        named_systems = [find_system(comparison, name, "systems") for name in names]
        ordered_systems = [system for system in best_first if system in named_systems]
        if not ordered_systems or len(ordered_systems) > MAX_COLOURED_SYSTEMS:
            raise OptionError(
                f"systems: {len(ordered_systems)} are named; one picture can show 1 to "
                f"{MAX_COLOURED_SYSTEMS}"
            )
        return ordered_systems
    if len(best_first) <= MAX_DEFAULT_SYSTEMS:
        return best_first
    baseline = comparison.settings.first_baseline
    return [best_first[0], best_first[1] if baseline in (None, best_first[0]) else str(baseline)]
