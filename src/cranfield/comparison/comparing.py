"""ComparingOptions: how options of an extension change what is compared."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from cranfield.options import Options

if TYPE_CHECKING:
    from cranfield.comparison.alignment import AlignedScores
    from cranfield.comparison.settings import GateSettings
    from cranfield.comparison.units import Units
    from cranfield.notes import Note


class ComparingOptions(Options):
    """Options of compare, gate or intervals that an extension adds: here they change nothing."""

    def run_names(self) -> list[str]:
        """Return the names, files and patterns by which options name runs."""
        return []

    def rename_runs(self, rename: Callable[[str, str], list[str]]) -> Self:
        """Return the options with other names of runs: of rename(name, option as it is typed)."""
        return self

    def join_runs(self, aligned_scores: "AlignedScores") -> "AlignedScores":
        """Return the scores of systems, given those of runs."""
        return aligned_scores

    def find_units(
        self, query_ids: Sequence[str], units: "Units"
    ) -> tuple["Units", Sequence["Note"]]:
        """Return the units of some queries, given those without this option, and notes on them."""
        return units, ()

    def gate_settings(self, settings: "GateSettings") -> "GateSettings":
        """Return a gate's settings; raise OptionError for a test that does not go with this."""
        return settings

    def prepare_gate(self, aligned_scores: "AlignedScores", *, has_limits: bool) -> "AlignedScores":
        """Return aligned scores as a gate judges them; `has_limits`: by limits of the means."""
        return aligned_scores

    def gate_recipe(self) -> dict[str, Any]:
        """Return what is needed to repeat a gate."""
        return {}
