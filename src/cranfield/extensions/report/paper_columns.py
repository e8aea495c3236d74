"""Columns of the table of a paper: the numbers of one measure on one collection, or averages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome, Result, System
from cranfield.comparison.scale import score_range
from cranfield.extensions.collections.macro_result import MacroResult
from cranfield.lazy import cached_property
from cranfield.render.numbers import format_number

if TYPE_CHECKING:
    from cranfield.extensions.report.paper_result import Paper

ABSENT = "\N{EN DASH}"  # in place of the mean of a system that was not run


@dataclass(frozen=True, eq=False)
class MeasureColumn:
    """A column of numbers: one measure on one collection (None: there is only one)."""

    collection: str | None
    comparison: Comparison
    result: Result
    style: "Paper"
    pair_result: Result | None  # of all pairs, if the ranks are shown

    @cached_property
    def systems(self) -> Mapping[str, System]:
        """The systems, by name."""
        return {system.name: system for system in self.result.systems}

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.result.query_ids)

    @cached_property
    def is_percent(self) -> bool:
        """Whether the column is in percent: if asked for, and all it may hold is from 0 to 1."""
        scores = self.comparison.aligned.measure_scores(self.result.measure)
        measure = self.comparison.aligned.find_measure(self.result.measure)
        ends = score_range(measure, scores) if measure is not None else (scores.min(), scores.max())
        return self.style.percent and ends[0] >= 0 and ends[1] <= 1

    def verdict(self, system: str, rival: str) -> Outcome | None:
        """Return if a system is better or worse than a rival; None: neither, or not compared."""
        if rival not in self.systems or system not in self.systems or system == rival:
            return None
        if self.result.letters is None and rival not in self.comparison.settings.baselines:
            return None
        return self.result.between(system, rival)[1]

    def format_mean(self, system: str) -> str:
        """Return a system's mean as the table prints it, or a dash if the system was not run."""
        if system not in self.systems:
            return ABSENT
        digits, mean = self.style.digits, self.systems[system].mean
        if self.is_percent:
            return format_number(100 * mean, 1 if digits is None else digits)
        return format_number(mean, 3 if digits is None else digits)

    def format_ranks(self, system: str) -> str:
        """Return the ranks that a system may have by all pairs; empty without."""
        ranks = (self.pair_result and self.pair_result.ranks) or {}
        return str(ranks.get(system, "")).strip().replace("-", "\N{EN DASH}")

    @cached_property
    def place_of_system(self) -> Mapping[str, int]:
        """{system: its place by the printed digits}, the best 1; equal numbers share a place."""
        mean_of_system = {name: float(self.format_mean(name)) for name in self.systems}
        distinct_means = sorted({*mean_of_system.values()}, reverse=self.result.higher_is_better)
        return {name: distinct_means.index(mean) + 1 for name, mean in mean_of_system.items()}

    def systems_at_place(self, place: int) -> frozenset[str]:
        """Return the systems to mark at a place; the last, which all may share, has no mark.

        Of a measure of lists of which neither more nor less is better, none has.
        """
        measure = self.comparison.aligned.find_measure(self.result.measure)
        definition = measure and measure.definition
        if definition and definition.of == "lists" and definition.higher_is_better is None:
            return frozenset()
        last_place = max(self.place_of_system.values())
        return frozenset(
            name
            for name, system_place in self.place_of_system.items()
            if system_place == place < last_place
        )


@dataclass(frozen=True, eq=False)
class AverageColumn(MeasureColumn):
    """A column of averages over all collections; `comparison` and `result` are the first one's."""

    averages: MacroResult
    averaged_columns: Sequence[MeasureColumn]  # what is averaged

    @property
    def n_queries(self) -> int:
        """The number of queries of all collections."""
        return sum(column.n_queries for column in self.averaged_columns)

    @cached_property
    def systems(self) -> Mapping[str, System]:
        """The systems with their averages, by name."""
        return {
            system.name: System(system.name, system.mean, None, None, None, False)
            for system in self.averages.systems
        }

    @cached_property
    def is_percent(self) -> bool:
        """Whether all columns that are averaged are in percent."""
        return all(column.is_percent for column in self.averaged_columns)

    def verdict(self, system: str, other: str) -> Outcome | None:
        """Return if a system's average is better or worse; None: neither, or not compared."""
        if {(system, other), (other, system)}.isdisjoint(self.averages.pair_of_names):
            return None
        return self.averages.between(system, other)[1]
