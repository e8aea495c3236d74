"""Evidence: all numbers of a page, computed once; the page's parts only put them into words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Pair, System, is_placed
from cranfield.extensions.report.rankings import EmbeddedRankings
from cranfield.extensions.report.sheets import Sheets
from cranfield.formats.source import Source
from cranfield.lazy import cached_property
from cranfield.notes import Note


@dataclass(frozen=True)
class Provenance:
    """How a page was made: the command, and the files that scores come from, as far as stated."""

    command: str | None
    inputs: Sequence[Source]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The systems compared, with a baseline and in all pairs, and what the page shows beside.

    Without a baseline, `comparison` and `pair_comparison` are the same.
    """

    comparison: Comparison
    pair_comparison: Comparison
    title: str
    provenance: Provenance
    query_texts: Mapping[str, str] | None
    depth: int  # how many ranks of each ranking the page has
    rankings: EmbeddedRankings | None
    cutoffs: Mapping[str, Any] | None  # of `tabulate_cutoffs`
    recall: Mapping[str, Any] | None  # of `tabulate_recall`
    judged: Mapping[str, Any] | None  # of `tabulate_judged`
    sheets: Sheets | None
    notes: Sequence[Note]

    @property
    def systems(self) -> Sequence[str]:
        """The names of the systems, in the order in which they were given."""
        return self.comparison.aligned.system_names

    @property
    def measures(self) -> Sequence[str]:
        """The measures, in the order in which the page shows them."""
        return self.comparison.aligned.measures

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries, in the order of their ids' bytes."""
        return self.comparison.aligned.query_ids

    @property
    def baseline(self) -> str | None:
        """The first baseline; None where all pairs are compared, or there is only one system."""
        return self.comparison.settings.first_baseline if len(self.systems) > 1 else None

    @property
    def more_baselines(self) -> Sequence[str]:
        """The names of the baselines behind the first; the leaderboard has a column for each."""
        return self.comparison.settings.baselines[1:]

    def baseline_pairs(self, measure: str) -> Mapping[str, Pair]:
        """Return {system: its pair with the first baseline}; empty without."""
        pairs = self.comparison[measure].pairs
        return {pair.system: pair for pair in pairs if pair.other == self.baseline}

    @cached_property
    def unplaced_pairs(self) -> Mapping[str, set[frozenset[str]]]:
        """{measure: pairs of systems whose verdict does not hold: one of them is little judged}.

        A verdict holds where bounds say so: of all pairs, or of those with the baseline.
        """
        pairs_of_measure = {}
        for measure in self.measures:
            results = self.pair_comparison[measure], self.comparison[measure]
            pairs = [(pair, result.systems) for result in results for pair in result.pairs]
            has_verdict = [is_placed(pair, systems) for pair, systems in pairs]
            names = [frozenset((pair.system, pair.other)) for pair, _ in pairs]
            pairs_of_measure[measure] = {*names} - {*compress(names, has_verdict)}
        return pairs_of_measure

    def unplaced_systems(self, measure: str) -> list[System]:
        """Return the systems that cannot be placed beside the best: they, or it, little judged."""
        first, *other_systems = self.comparison[measure].ranked_systems
        unplaced_pairs = self.unplaced_pairs[measure]
        return [system for system in other_systems if {system.name, first.name} in unplaced_pairs]

    def indistinct_systems(self, measure: str) -> list[str]:
        """Return the others that do not differ significantly from a best system, by all pairs.

        Those that cannot be placed are not among them.
        """
        result = self.pair_comparison[measure]
        first, *other_systems = result.ranked_systems
        unplaced_names = [system.name for system in self.unplaced_systems(measure)]
        best_names = {s.name for s in result.systems if s.mean == first.mean} - {*unplaced_names}
        return [
            system.name
            for system in other_systems
            if system.name not in unplaced_names
            for rivals in [best_names - {system.name}]
            if any(result.between(system.name, rival)[1] is None for rival in rivals)
        ]
