"""`--human FILE` of `evaluate` and `compare`: people's labels beside a model's."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.cli import flags
from cranfield.cli.data import refuse_two_stdin
from cranfield.cli.way import Way
from cranfield.errors import OptionError
from cranfield.extensions.labels.human.human_options import HumanOptions
from cranfield.options import list_options

if TYPE_CHECKING:
    from cranfield.cli.evaluate import Inputs
    from cranfield.cli.several import ComparisonOptions
    from cranfield.comparison.level import Level
    from cranfield.extensions.labels.human.powered_result import PredictionPowered


@dataclass(frozen=True, kw_only=True)
class HumanLabels(HumanOptions, Way):
    """People's labels, which take the place of what `compare` and `evaluate` do."""

    refusal: ClassVar = "does not go with --human"

    def compare(
        self, qrels: str | None, runs: tuple[str, ...], comparing: "ComparisonOptions"
    ) -> "PredictionPowered":
        """Return means and differences by people's labels and those of a model, the judgments."""
        from cranfield.comparison.alignment import DEFAULT_MEASURES
        from cranfield.comparison.settings import Settings
        from cranfield.extensions.labels.human.human_labels import prediction_powered

        refused_names = {option.name for option in list_options(Settings)} - {"alpha", "baseline"}
        refused_names |= flags.option_names(comparing.families) | {"slices"}
        flags.refuse_options(refused_names, self.refusal)
        inputs_of_runs = comparing.choose_files(str(qrels), runs)
        files = inputs_of_runs.files
        refuse_two_stdin(str(qrels), *runs, str(self.human))
        labels: Any = self.human  # a file of saved scores
        if not inputs_of_runs.are_scores:
            labels = self.open_files(comparing.data, comparing.judging.duplicates).human
        judgments, opened_runs = inputs_of_runs.read(files)
        options: Any = {
            "lam": self.lam,
            "alpha": comparing.settings.alpha,
            **inputs_of_runs.score_options,
        }
        if len(comparing.baselines) > 1:
            raise OptionError("--human compares with one baseline: state --baseline once")
        for name in comparing.baselines:
            options["baseline"] = inputs_of_runs.find_baseline(name, files, opened_runs)
        return prediction_powered(
            judgments,
            opened_runs,
            inputs_of_runs.measures(DEFAULT_MEASURES),
            human=labels,
            **options,
        )

    def evaluate(self, inputs: "Inputs", level: "Level") -> "PredictionPowered":
        """Return means by people's labels and those of a model, which are the judgments."""
        from cranfield.extensions.labels.human.human_labels import prediction_powered

        flags.refuse_options({"queries"}, self.refusal)
        refuse_two_stdin(*filter(None, [inputs.qrels]), *inputs.runs, str(self.human))
        inputs.check()
        labels = self.open_files(inputs.data, inputs.judging.duplicates).human
        judgments, runs = inputs.open()
        judgments = inputs.data.read(judgments)
        options: Any = {
            "lam": self.lam,
            **level.changed_options(),
            **inputs.judging.changed_options(),
        }
        estimates = prediction_powered(
            judgments, runs, inputs.measures(judgments), human=labels, **options
        )
        mean_notes = tuple(note for note in estimates.notes if note.code != "few-differ")
        return replace(estimates, differences={}, notes=mean_notes)
