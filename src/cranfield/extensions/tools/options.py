"""convention=: numbers as another tool computes them."""

from dataclasses import dataclass, replace
from typing import ClassVar

from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.measures import Measure
from cranfield.options import option
from cranfield.scoring.job import Job, JobScores, MeasureGroup, Scorer, ScoringOptions


@dataclass(frozen=True, kw_only=True)
class Convening(ScoringOptions):
    """Which tool's numbers to compute."""

    heading: ClassVar = "Numbers of other tools"
    flags: ClassVar = {
        "convention": {
            "metavar": "NAME",
            "help": "Compute the measures, and average the queries, as another tool does. "
            "`cranfield conventions` lists them: beir, ranx, sentence-transformers and others.",
        }
    }

    convention: str | None = option(
        None,
        'The name of a tool whose numbers are wanted, such as "beir", "ranx" or '
        '"sentence-transformers": measures are computed, and queries averaged, as it does. '
        "`cranfield conventions` lists them. Parameters that are stated, and options that are not "
        "at their defaults, stay as they are.",
    )

    def adjust_measure(self, measure: Measure, judging: Judging) -> tuple[Measure, Judging]:
        """Return how the tool computes a measure, and how it judges runs."""
        if self.convention is None:
            return measure, judging
        from cranfield.extensions.tools.conventions import find_convention

        computation = find_convention(self.convention).find_computation(measure, judging)
        for adjustment in computation.adjustments:
            reason = f"{self.convention} changes values ({adjustment.words})"
            raise OptionError(f"{reason}, which is not explained: leave convention out")
        return computation.measure, computation.judging

    def wrap(self, score: Scorer) -> Scorer:
        """Score by each rule of the convention, and join the scores."""
        name = self.convention
        return score if name is None else lambda job: _score_by_convention(name, job, score)


def _score_by_convention(name: str, job: Job, score: Scorer) -> JobScores:
    """Score a job by each rule of a convention, and join the scores."""
    from cranfield.extensions.tools.computations import group_alike, list_evaluated_measures
    from cranfield.extensions.tools.conventions import find_convention
    from cranfield.extensions.tools.join import join_systems

    convention = find_convention(name)
    if job.ends is not None:
        raise OptionError(
            "bounds are known only for this package's definitions: leave out convention"
        )
    ((measures, judging),) = job.measure_groups
    supported = convention.select_supported(measures) if job.uses_default_measures else measures
    computations = {measure: convention.find_computation(measure, judging) for measure in supported}
    groups = group_alike(computations.values())
    measure_groups = [
        MeasureGroup(list_evaluated_measures(group), group[0].judging) for group in groups
    ]
    job_scores = score(replace(job, measure_groups=measure_groups))
    systems = join_systems(convention, measures, computations, groups, job_scores.systems)
    return job_scores._replace(systems=[systems])
