"""Computations: a measure as a tool computes it, and its mean over queries."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import CranfieldError, MeasureError
from cranfield.extensions.tools.rule import NO_ADJUSTMENT, Adjustment, Group
from cranfield.measures import Measure
from cranfield.progress import watch_steps
from cranfield.scoring.evaluate import score_runs
from cranfield.scoring.scores import Scores

Outcome = float | CranfieldError


class Computation(NamedTuple):
    """How a number is computed: the measure, how runs are judged, what becomes of its values."""

    measure: Measure
    judging: Judging
    adjustment: Adjustment = NO_ADJUSTMENT

    @classmethod
    def of_group(cls, group: Group) -> "Computation":
        """Return how the one measure of a group is computed."""
        (measure,) = group.measures
        return cls(measure, group.judging, group.adjustment)

    @property
    def evaluated_measures(self) -> list[Measure]:
        """The measure, and those that the adjustment reads."""
        return [self.measure, *self.adjustment.list_helpers(self.measure)]

    def average(self, scores: Scores) -> float:
        """Return the value over all queries; `scores` has the evaluated measures."""
        columns = dict(zip(scores.measures, scores.values.T, strict=True))
        values, *helpers = (columns[measure] for measure in self.evaluated_measures)
        values = self.adjustment.apply(values, helpers)
        values = values[~np.isnan(values)]
        if not len(values):
            raise MeasureError(f"{self.measure}: every query is left out of the mean")
        return self.measure.aggregate(values)


def compute_values(
    qrels: Qrels, run: Run, computations: Iterable[Computation]
) -> dict[Computation, Outcome]:
    """Return the number of each computation, or its error; measures judged alike go together."""
    outcomes: dict[Computation, Outcome] = {}
    computations_of_judging: dict[Judging, list[Computation]] = {}
    for computation in computations:
        computations_of_judging.setdefault(computation.judging, []).append(computation)
    for alike in watch_steps(computations_of_judging.values(), "conventions"):
        try:
            outcomes |= _average_alike(qrels, run, alike)
        except CranfieldError:
            for computation in alike:
                try:
                    outcomes |= _average_alike(qrels, run, [computation])
                except CranfieldError as error:
                    outcomes[computation] = error
    return outcomes


def _average_alike(
    qrels: Qrels, run: Run, computations: list[Computation]
) -> dict[Computation, float]:
    """Return the number of each computation; all of them judge runs alike."""
    measures = dict.fromkeys(
        measure for computation in computations for measure in computation.evaluated_measures
    )
    scores = score_runs(qrels, {run.name: run}, measures, computations[0].judging)[run.name]
    return {computation: computation.average(scores) for computation in computations}
