"""`human=` and `--human` of `gate`: the options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cranfield.comparison.comparing import ComparingOptions
from cranfield.errors import OptionError
from cranfield.extensions.labels.human.powered_settings import HumanOptions

if TYPE_CHECKING:
    from cranfield.comparison.aligned_scores import AlignedScores
    from cranfield.comparison.settings import GateSettings
    from cranfield.comparison.verdict import Gate


@dataclass(frozen=True, kw_only=True)
class HumanGating(HumanOptions, ComparingOptions):
    """People's labels, which correct a model's in a gate."""

    def gate_settings(self, settings: "GateSettings") -> "GateSettings":
        """Return the settings of the t test; OptionError for options that human labels exclude."""
        if self.human is None:
            return settings
        for name in settings.changed_options().keys() - {"alpha", "tried", "undecided"}:
            raise OptionError(f"{name} does not go with human labels (human=, --human)")
        return replace(settings, test="t")

    def review_gate(
        self, gate: "Gate", aligned_scores: "AlignedScores", options: Mapping[str, Any]
    ) -> "Gate":
        """Return the gate as people's labels correct it."""
        if self.human is None:
            return gate
        from cranfield.extensions.labels.human.human_gate import judge_by_people

        return judge_by_people(gate, aligned_scores, self, options)
