"""Departures: what else may be behind a number that no convention gives for a measure as named."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
        cutoffs: list[int | None] = [*_CUTOFFS]
        if definition.cutoff == "optional":
            cutoffs.append(None)
        departures += [
            departure
            for cutoff in cutoffs
            if (departure := Departure("cutoff", f"@{cutoff}" if cutoff else "no cutoff", cutoff))
            and departure.change(measure, Judging())[0] != measure
        ]
    return [*departures, Departure("judged_only", "judged_only=True", None)]


@dataclass(frozen=True)
class Trial:
    """A measure as named with some departures, and how a convention (None: the default) has it."""

    departures: tuple[Departure, ...]
    name: str  # of what was departed to, as in "AP(rel=2)@10, judged_only=True"
    convention: str | None
    computation: Computation
    decimals: int | None = None


@dataclass(frozen=True)
class Search:
    """What a search over departures tried: the departures, the number of evaluations, matches."""

    departures: Sequence[Departure]
    n_evaluations: int
    matches: Sequence[tuple[Trial, float]]

    def describe(self) -> str:
        """Return in a sentence what was tried, and how many evaluations that took."""
        texts_of_kind: dict[str, list[str]] = {}
        for kind, text, _ in self.departures:
            texts_of_kind.setdefault(kind, []).append(text)
        texts_of_kind["judged_only"] = ["judged documents alone (--judged-only)"]
        texts = "; ".join(", ".join(texts) for texts in texts_of_kind.values())
        alone = "" if len(texts_of_kind) == 1 else ", one at a time and two"
        n_text = format_count(self.n_evaluations, "evaluation")
        return f"Tried under each convention: {texts}{alone}: {n_text}."


def search_departures(
    qrels: Qrels,
    run: Run,
    measure: Measure,
    conventions: Sequence[Convention],
    is_value: Callable[[float], bool],
) -> Search:
    """Return what gives a value, with one departure or two, by default or under a convention.

    Two that give no other number than one of them alone are not named. Fewest departures first.
    """
    departures = list_departures(qrels, measure)
    trials = [
        trial
        for departure_set in _combine(departures)
        for trial in _list_trials(measure, departure_set, conventions)
    ]
    outcomes = compute_values(qrels, run, dict.fromkeys(trial.computation for trial in trials))
    values = {trial: _round(outcomes[trial.computation], trial.decimals) for trial in trials}
    value_of_single = {
        (trial.departures[0], trial.convention): value
        for trial, value in values.items()
        if len(trial.departures) == 1
    }
    matches = [
        (trial, value)
        for trial, value in values.items()
        if value is not None
        and is_value(value)
        and (
            len(trial.departures) == 1
            or value
            not in [
                value_of_single.get((departure, trial.convention)) for departure in trial.departures
            ]
        )
    ]
    return Search(departures, len(outcomes), matches)


def _combine(departures: Sequence[Departure]) -> Iterator[tuple[Departure, ...]]:
    """Yield each departure alone, then each pair of two kinds."""
    yield from ((departure,) for departure in departures)
    for pair in itertools.combinations(departures, 2):
        if pair[0].kind != pair[1].kind:
            yield pair


def _list_trials(
    measure: Measure, departures: tuple[Departure, ...], conventions: Sequence[Convention]
) -> Iterator[Trial]:
    """Yield the computation of a measure with some departures: the default, each convention's."""
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


def _round(outcome: Outcome, decimals: int | None) -> float | None:
    """Return a number as a tool rounds it; None for an error."""
    if isinstance(outcome, CranfieldError):
        return None
    return outcome if decimals is None else round(outcome, decimals)
