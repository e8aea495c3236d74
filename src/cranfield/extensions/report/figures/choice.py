"""Choose what a picture of a comparison shows: which measure, which systems, which pair."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from cranfield.comparison.alignment import Evaluated
from cranfield.comparison.compare import every_pair
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome, Pair, Result
from cranfield.errors import InputError, MeasureError, OptionError, nearest
from cranfield.extensions.report.figures.marks import shown_name
from cranfield.measures import Measure
from cranfield.notes import Note, gravest_first

FEW = 4  # up to so many systems, each has its colour, if the caller names no systems
MOST = 7  # systems that colours and shapes can distinguish
LETTERS = 40  # of a name in a sentence
# What a point has for a pair of systems, besides the difference and its interval.
OF_PAIR = (
    *("p", "p_adjusted", "verdict", "wins", "ties", "losses"),
    *("ratio", "ratio_low", "ratio_high"),
    *("probability_better", "probability_same", "probability_worse"),
)


def compared(found: object, figure: str) -> Comparison:
    """Return what was compared; raise InputError for anything but a Comparison."""
    if not isinstance(found, Comparison):
        raise InputError(
            f"{figure}: expected what compare() returns, not a {type(found).__name__}",
            hint=f"figures.{figure}(compare(qrels, [run, other_run]))",
        )
    return found


def result_of(found: Comparison, measure: str | Measure | None) -> Result:
    """Return the result of a measure on all queries; of the first measure by default."""
    try:
        return found[found.aligned.measures[0] if measure is None else measure]
    except KeyError:
        known = ", ".join(found.aligned.measures)
        raise MeasureError(f"{measure} was not compared; these were: {known}") from None


def known_measure(found: Comparison, text: str) -> Measure | None:
    """Return a measure that was compared, with its stated parameters; None if unknown."""
    aligned = found.aligned
    if aligned.source is None:
        return aligned.known(text)
    return next(iter(aligned.source.systems.values())).measures[aligned.measures.index(text)]


def source_of(found: Comparison, what: str) -> Evaluated:
    """Return the judgments and runs; raise InputError for precomputed scores."""
    source = found.aligned.source
    if "groups" in found.aligned.recipe:
        raise InputError(
            f"{what} is drawn from single rankings, and these systems are means of several runs",
            hint="Compare the runs as systems of their own: leave groups (--group) out.",
        )
    if source is None:
        raise InputError(
            f"{what} is drawn from judgments and runs, and these are precomputed scores",
            hint="Compare the judgments and runs themselves: compare(qrels, runs); "
            "or leave --saved out.",
        )
    return source


def doubts_of(found: Comparison, *results: Result) -> tuple[Note, ...]:
    """Return the errors and warnings on the data, and on the comparisons of some results."""
    every = [*found.data_notes, *(note for one in results for note in one.notes)]
    return tuple(note for note in gravest_first(every) if note.is_grave)


def named(found: Comparison, name: str, option: str = "system") -> str:
    """Return the system with a name, or from a run's file; raise OptionError if there is none."""
    names, source = found.aligned.names, found.aligned.source
    if name in names:
        return name
    for system, run in () if source is None else source.runs.items():
        if os.path.realpath(str(name)) in [os.path.realpath(one.path) for one in run.sources]:
            return system
    near = nearest(str(name), names) or names[:5]
    shown = ", ".join(shown_name(one, LETTERS) for one in near)
    raise OptionError(f"{option}={name!r:.80}: there is no such system; try {shown}")


@dataclass(frozen=True)
class Between:
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
    def of(cls, pair: Pair) -> "Between":
        """Return what a pair says."""
        return cls(**{one.name: getattr(pair, one.name) for one in fields(cls)})

    @property
    def turned(self) -> "Between":
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


def two_of(
    found: Comparison, result: Result, system: str | None, other: str | None
) -> tuple[str, str]:
    """Return two systems: the best one and the baseline, unless others are named.

    Without a baseline, or if that is the best one, the best two.
    """
    if len(result.systems) < 2:
        raise InputError("this picture compares two systems, and there is only one")
    best_first = [one.name for one in result.ordered]
    system = None if system is None else named(found, system)
    other = None if other is None else named(found, other, "other")
    if other is None:
        base = found.settings.baseline
        usual = [one for one in (base, *best_first[:2]) if one is not None]
        if system is None and base is None:
            system = best_first[0]
        other = next(one for one in usual if one != system)
    if system is None:
        system = next(one for one in best_first if one != other)
    if system == other:
        raise OptionError(f"system={system!r:.80}: compared with itself; name another")
    return system, other


def between(found: Comparison, result: Result, system: str, other: str) -> Between:
    """Return what was found for two systems.

    If they were not compared with each other, they are compared now, as by `every_pair`.
    """
    pairs = result.by_names
    if (system, other) not in pairs and (other, system) not in pairs:
        pairs = every_pair(found)[result.measure].by_names
    if (system, other) in pairs:
        return Between.of(pairs[system, other])
    return Between.of(pairs[other, system]).turned


def with_room(
    best_first: Sequence[str], most: int, kept: Iterable[str | None] = ()
) -> tuple[list[str], list[str]]:
    """Return `most` of the systems, the best and those in `kept`, and a sentence on the others."""
    if len(best_first) <= most:
        return [*best_first], []
    keep = {one for one in kept if one in best_first}
    first = [one for one in best_first if one not in keep][: max(0, most - len(keep))]
    shown = [one for one in best_first if one in keep or one in first]
    named = f" and {', '.join(shown_name(one, LETTERS) for one in shown if one in keep)}"
    text = f"{len(shown)} of {len(best_first)} systems are drawn: the best{named if keep else ''}"
    return shown, [text]


def stated_level(measure: Measure) -> float | None:
    """Return the lowest grade that a measure counts as relevant, if it was stated."""
    return measure.parameters["rel"] if "rel" in measure.stated else None


def coloured(found: Comparison, result: Result, systems: Iterable[str] | None) -> list[str]:
    """Return the systems that have a colour each, the best first: those that are named.

    By default, all of up to four; else the best one and the baseline, or the next best.
    """
    best_first = [one.name for one in result.ordered]
    if systems is not None:
        wanted: Sequence[str] = [systems] if isinstance(systems, str) else list(systems)
        known = [named(found, one, "systems") for one in wanted]
        chosen = [one for one in best_first if one in known]
        if not chosen or len(chosen) > MOST:
            raise OptionError(f"systems: {len(chosen)} are named; one picture can show 1 to {MOST}")
        return chosen
    if len(best_first) <= FEW:
        return best_first
    base = found.settings.baseline
    return [best_first[0], best_first[1] if base in (None, best_first[0]) else str(base)]
