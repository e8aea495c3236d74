"""`human=` and `lam=`, options of several functions and commands; here what they do in a gate."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cranfield.comparison.comparing import ComparingOptions
from cranfield.errors import InputError, OptionError
from cranfield.extensions.labels.human.powered_settings import LAM
from cranfield.options import option

if TYPE_CHECKING:
    from cranfield.cli.data import DataOptions
    from cranfield.comparison.aligned_scores import AlignedScores
    from cranfield.comparison.settings import GateSettings
    from cranfield.comparison.verdict import Gate
    from cranfield.formats.block import Duplicates


@dataclass(frozen=True, kw_only=True)
class HumanOptions(ComparingOptions):
    """Where people's labels are, beside those of a model, and how much the model's count."""

    heading: ClassVar = "Human labels"
    flags: ClassVar = {"human": {"metavar": "FILE"}}

    human: Any | None = option(
        None,
        "Labels by people, of some queries or documents, where QRELS are a model's: both together "
        "make one estimate. `cranfield pool --by chance` draws what people should label.",
    )
    lam: float | None = option(*LAM)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lam is not None and self.human is None:
            raise OptionError("--lam applies to human labels beside a model's: add --human")

    def open_files(self, data: "DataOptions", duplicates: "Duplicates") -> Self:
        """Open the file of people's labels; options on the format of QRELS do not apply to it."""
        if self.human is None:
            return self
        label_data = replace(data, qrels_format=None, map_qrels=False)
        vars(label_data)["columns"] = data.columns  # of the same files
        try:
            return replace(self, human=label_data.read_qrels(str(self.human), duplicates))
        except InputError as error:
            named_error = error.add_reason("This is the file of --human: people's labels.")
            if error.kind != "number":
                raise named_error from None
            raise error.replace(
                hint="All that was drawn needs a label, and its probability: what is left out is "
                "not drawn by chance."
            ) from None

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

        return judge_by_people(gate, aligned_scores, self.human, self.lam, options)
