"""ComparingOptions: options by which an extension changes the scores that are compared."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from cranfield.options import Options

if TYPE_CHECKING:
    from cranfield.comparison.aligned_scores import AlignedScores
    from cranfield.comparison.settings import GateSettings
    from cranfield.comparison.units import Units
    from cranfield.comparison.verdict import Gate
    from cranfield.formats.block import Duplicates
    from cranfield.notes import Note


class ComparingOptions(Options):
    """Options of compare, gate or intervals that an extension adds: here they change nothing."""

    def run_names(self) -> list[str]:
        """Return the names, files and patterns by which options name runs."""
        return []

    def rename_runs(self, rename: Callable[[str, str], list[str]]) -> Self:
        """Return the options with each name of a run replaced by rename(name, option as typed)."""
        return self

    def open_files(self, data: Any, duplicates: "Duplicates") -> Self:
        """Return the options with files of judgments opened as `data`, DataOptions, says."""
        return self

    def join_runs(self, aligned_scores: "AlignedScores") -> "AlignedScores":
        """Return the scores of systems, each made of the scores of one or several runs."""
        return aligned_scores

    def find_units(
        self, query_ids: Sequence[str], units: "Units"
    ) -> tuple["Units", Sequence["Note"]]:
        """Return the units of the queries, given those without these options, and notes on them."""
        return units, ()

    def gate_settings(self, settings: "GateSettings") -> "GateSettings":
        """Return a gate's settings; raise OptionError for a test that these options exclude."""
        return settings

    def prepare_gate(self, aligned_scores: "AlignedScores", *, has_limits: bool) -> "AlignedScores":
        """Return the scores as a gate judges them; `has_limits`: the gate needs limits of means."""
        return aligned_scores

    def gate_recipe(self) -> dict[str, Any]:
        """Return {option: value} that a gate's recipe needs of these options."""
        return {}

    def review_gate(
        self, gate: "Gate", aligned_scores: "AlignedScores", options: Mapping[str, Any]
    ) -> "Gate":
        """Return the gate as these options change its verdicts; `options` are all of the gate."""
        return gate
