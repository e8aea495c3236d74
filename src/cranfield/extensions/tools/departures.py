"""Departures: what else may be behind a number that no convention gives for a measure as named."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import CranfieldError
from cranfield.extensions.tools.computations import Computation, compute_values
from cranfield.extensions.tools.rule import Convention
from cranfield.measures import Measure
from cranfield.render.numbers import format_count

_CUTOFFS = (5, 10, 20, 100, 1000)
_MAX_LEVELS = 10  # of judgments by fractions, the lowest so many are tried


class Departure(NamedTuple):
    """Another value of "rel" or "cutoff" of a measure, or of the option "judged_only"."""

    name: str
    value: Any

    def __str__(self) -> str:
        if self.name == "cutoff":
            return "no cutoff" if self.value is None else f"@{self.value}"
        return f"{self.name}={self.value:g}" if self.name == "rel" else f"{self.name}=True"


class Trial(NamedTuple):
    """A measure with some departures, as a convention (None: the default) computes it.

    `name` is what was departed to, as in "AP(rel=2)@10, judged_only=True".
    """

    departures: tuple[Departure, ...]
    name: str
    convention: str | None
    computation: Computation


def list_departures(qrels: Qrels, measure: Measure) -> list[list[Departure]]:
    """Return the departures that a measure allows: of each kind the alternatives."""
    definition, levels, cutoffs = measure.definition, list[float](), list[int | None]()
    if "rel" in measure.parameters:
        levels = np.unique(qrels.grade[qrels.grade > 0])[:_MAX_LEVELS].tolist()
    if definition.cutoff != "none" and definition.cutoff_kind != "recall":
        cutoffs = [*_CUTOFFS, *([None] if definition.cutoff == "optional" else [])]
    return [
        [Departure("rel", level) for level in levels if level != measure.parameters["rel"]],
        [Departure("cutoff", cutoff) for cutoff in cutoffs if cutoff != measure.cutoff],
        [Departure("judged_only", True)],
    ]


def search_departures(
    qrels: Qrels,
    run: Run,
    measure: Measure,
    conventions: Sequence[Convention],
    is_target: Callable[[float], bool],
) -> tuple[list[tuple[Trial, float]], str]:
    """Return what gives a value with one departure or two, fewest first; and what was tried.

    Two that give no other number than one of them alone are left out.
    """
    kinds = list_departures(qrels, measure)
    departure_sets: list[tuple[Departure, ...]]
    departure_sets = [(departure,) for departures in kinds for departure in departures]
    departure_sets += [pair for kind_pair in combinations(kinds, 2) for pair in product(*kind_pair)]
    trials = [
        trial
        for departures in departure_sets
        for trial in _list_trials(measure, departures, conventions)
    ]
    outcomes = compute_values(qrels, run, dict.fromkeys(trial.computation for trial in trials))
    numbers = {
        (trial.departures, trial.convention): outcomes[trial.computation] for trial in trials
    }
    matches = []
    for trial in trials:
        number = numbers[trial.departures, trial.convention]
        if isinstance(number, CranfieldError) or not is_target(number):
            continue
        parts = [((departure,), trial.convention) for departure in trial.departures]
        if len(parts) == 1 or number not in map(numbers.get, parts):
            matches.append((trial, number))
    *alternatives, _ = (str(departure) for departures in kinds for departure in departures)
    texts = ", ".join([*alternatives, "judged documents only (--judged-only)"])
    count = "one at a time and two" if alternatives else "alone"
    evaluations = format_count(len(outcomes), "evaluation")
    return matches, f"Tried under each convention, {count}: {texts}; {evaluations}."


def _list_trials(
    measure: Measure, departures: tuple[Departure, ...], conventions: Sequence[Convention]
) -> Iterator[Trial]:
    """Yield a measure with some departures as it is computed by default and by each convention."""
    judging = Judging()
    for departure in departures:
        if departure.name == "rel":
            measure = measure.with_parameters({"rel": departure.value})
        elif departure.name == "cutoff":
            bare_measure = replace(measure, cutoff=None)
            measure = bare_measure if departure.value is None else bare_measure @ departure.value
        else:
            judging = replace(judging, judged_only=True)
    name = f"{measure}, judged_only=True" if judging.judged_only else f"{measure}"
    yield Trial(departures, name, None, Computation(measure, judging))
    for convention in conventions:
        try:
            computation = convention.find_computation(measure, judging)
        except CranfieldError:  # no such measure, or not with these options
            continue
        yield Trial(departures, name, convention.name, computation)
