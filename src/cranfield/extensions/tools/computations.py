"""Computations: a measure as a tool computes it, and what becomes of its values."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import CranfieldError, MeasureError
from cranfield.measures import Measure, parse
from cranfield.progress import watch_steps
from cranfield.scoring.evaluate import score_runs
from cranfield.scoring.scores import Scores

Outcome = float | CranfieldError


class Adjustment(NamedTuple):
    """How a tool changes the values of queries before it averages them; `words` say so.

    `change` returns the values, given them and those of another measure, `helper`, (n_queries,)
    each. The text of the helper takes {rel}, {gain} and {k} from the measure that is adjusted.
    """

    words: str
    helper: str
    change: Callable[[Floats, Floats], Floats]


def adjust_level(level: float, number: float, helper: str, words: str) -> Adjustment:
    """Return what counts `number` (NaN: leaves the query out) where the helper is `level`."""
    text = f"{'left out' if math.isnan(number) else f'{number:g}'} {words}"
    return Adjustment(
        text, helper, lambda values, levels: np.where(levels == level, number, values)
    )


class Computation(NamedTuple):
    """How a number is computed: the measure, how runs are judged, what becomes of its values."""

    measure: Measure
    judging: Judging
    adjustments: tuple[Adjustment, ...] = ()
    decimals: int | None = None

    @property
    def evaluated_measures(self) -> list[Measure]:
        """The measure, and those that the adjustments read."""
        parameters = {**self.measure.parameters, "k": self.measure.cutoff or 1_000_000}
        helpers = [adjustment.helper.format(**parameters) for adjustment in self.adjustments]
        return [self.measure, *map(parse, helpers)]

    def adjust_values(self, scores: Scores) -> Floats:
        """Return the values of the queries; `scores` has the evaluated measures."""
        values, *helpers = (scores.columns[str(measure)][1] for measure in self.evaluated_measures)
        for adjustment, helper in zip(self.adjustments, helpers, strict=True):
            values = adjustment.change(values, helper)
        return values


def list_evaluated_measures(computations: Iterable[Computation]) -> tuple[Measure, ...]:
    """Return the measures of computations, and those that their adjustments read, once each."""
    measures = (computation.evaluated_measures for computation in computations)
    return (*dict.fromkeys(chain.from_iterable(measures)),)


def group_alike(computations: Iterable[Computation]) -> list[list[Computation]]:
    """Return computations, once each, in groups that judge runs alike."""
    groups: dict[Judging, list[Computation]] = {}
    for computation in dict.fromkeys(computations):
        groups.setdefault(computation.judging, []).append(computation)
    return [*groups.values()]


def compute_values(
    qrels: Qrels, run: Run, computations: Iterable[Computation]
) -> dict[Computation, Outcome]:
    """Return the number of each computation, or its error; measures judged alike go together."""
    groups = watch_steps(group_alike(computations), "conventions")
    return dict(chain.from_iterable(_average_alike(qrels, run, group).items() for group in groups))


def _average_alike(
    qrels: Qrels, run: Run, computations: list[Computation]
) -> dict[Computation, Outcome]:
    """Return the number of each computation, or its error; all of them judge runs alike."""
    measures, outcomes = list_evaluated_measures(computations), dict[Computation, Outcome]()
    try:
        scores = score_runs(qrels, {run.name: run}, measures, computations[0].judging)[run.name]
    except CranfieldError as error:
        if len(computations) == 1:
            return {computations[0]: error}
        for computation in computations:
            outcomes |= _average_alike(qrels, run, [computation])
        return outcomes
    for computation in computations:
        values, decimals = computation.adjust_values(scores)[:, None], (computation.decimals,)
        measure = computation.measure
        number = replace(scores, measures=(measure,), values=values, decimals=decimals)[measure]
        left_out_error = MeasureError(f"{measure}: every query is left out of the mean")
        outcomes[computation] = left_out_error if math.isnan(number) else number
    return outcomes
