"""Departures: what else may be behind a number that no convention gives for a measure as named."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import CranfieldError
from cranfield.extensions.tools.computations import Computation, Outcome, compute_values
from cranfield.extensions.tools.rule import Convention
from cranfield.measures import Measure
from cranfield.render.numbers import format_count

_CUTOFFS = (5, 10, 20, 100, 1000)
_MAX_LEVELS = 10  # of judgments by fractions, the lowest so many are tried


class Departure(NamedTuple):
    """Another relevance level, another cutoff, or judged documents only.

    `kind` is "rel", "cutoff" or "judged_only"; `text` is how it is written.
    """

    kind: str
    text: str
    number: float | None

    def change(self, measure: Measure, judging: Judging) -> tuple[Measure, Judging]:
        """Return the measure and the judging with this departure."""
        if self.kind == "rel":
            return measure.with_parameters({"rel": self.number}), judging
        if self.kind == "cutoff":
            bare_measure = replace(measure, cutoff=None)
            return bare_measure if self.number is None else bare_measure @ self.number, judging
        return measure, replace(judging, judged_only=True)


def list_departures(qrels: Qrels, measure: Measure) -> list[Departure]:
    """Return the departures that a measure allows."""
    departures = []
    if "rel" in measure.parameters:
        levels = np.unique(qrels.grade[qrels.grade > 0])[:_MAX_LEVELS].tolist()
        departures += [
            Departure("rel", f"rel={level:g}", level)
            for level in levels
            if level != measure.parameters["rel"]
        ]
    definition = measure.definition
    if definition.cutoff != "none" and definition.cutoff_kind != "recall":
        cutoffs = [*_CUTOFFS, *([None] if definition.cutoff == "optional" else [])]
        for cutoff in cutoffs:
            departure = Departure("cutoff", f"@{cutoff}" if cutoff else "no cutoff", cutoff)
            if departure.change(measure, Judging())[0] != measure:
                departures.append(departure)
    return [*departures, Departure("judged_only", "judged_only=True", None)]


class Trial(NamedTuple):
    """A measure with some departures, as a convention (None: the default) computes it.

    `name` is what was departed to, as in "AP(rel=2)@10, judged_only=True".
    """

    departures: tuple[Departure, ...]
    name: str
    convention: str | None
    computation: Computation
    decimals: int | None = None

    def read_value(self, outcomes: Mapping[Computation, Outcome]) -> float | None:
        """Return the number, as the tool rounds it; None for an error."""
        outcome = outcomes[self.computation]
        if isinstance(outcome, CranfieldError):
            return None
        return outcome if self.decimals is None else round(outcome, self.decimals)


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
    departures = list_departures(qrels, measure)
    pairs = itertools.combinations(departures, 2)
    combinations: list[tuple[Departure, ...]] = [(departure,) for departure in departures]
    combinations += [pair for pair in pairs if pair[0].kind != pair[1].kind]
    trials = [
        trial
        for combination in combinations
        for trial in _list_trials(measure, combination, conventions)
    ]
    outcomes = compute_values(qrels, run, dict.fromkeys(trial.computation for trial in trials))
    matches = []
    value_of_single: dict[tuple[Departure, str | None], float | None] = {}
    for trial in trials:
        value = trial.read_value(outcomes)
        keys = [(departure, trial.convention) for departure in trial.departures]
        is_new = len(keys) == 1 or value not in [value_of_single.get(key) for key in keys]
        if len(keys) == 1:
            value_of_single[keys[0]] = value
        if value is not None and is_target(value) and is_new:
            matches.append((trial, value))
    return matches, _describe_search(departures, len(outcomes))


def _describe_search(departures: Sequence[Departure], n_evaluations: int) -> str:
    """Return in a sentence what was tried, and how many evaluations that took."""
    *alternatives, _ = (departure.text for departure in departures)
    texts = ", ".join([*alternatives, "judged documents only (--judged-only)"])
    count = "one at a time and two" if alternatives else "alone"
    evaluations = format_count(n_evaluations, "evaluation")
    return f"Tried under each convention, {count}: {texts}; {evaluations}."


def _list_trials(
    measure: Measure, departures: tuple[Departure, ...], conventions: Sequence[Convention]
) -> Iterator[Trial]:
    """Yield a measure with some departures as it is computed by default and by each convention."""
    judging = Judging()
    for departure in departures:
        measure, judging = departure.change(measure, judging)
    name = f"{measure}, judged_only=True" if judging.judged_only else str(measure)
    yield Trial(departures, name, None, Computation(measure, judging))
    for convention in conventions:
        try:
            (group,) = convention.group_measures([measure], judging)
        except CranfieldError:  # no such measure, or not with these options
            continue
        yield Trial(departures, name, convention.name, Computation.of_group(group), group.decimals)
