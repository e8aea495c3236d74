"""Departures: what else may be behind a number that no convention gives for a measure as named."""

from dataclasses import replace
from itertools import product

import numpy as np

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.extensions.tools.computations import Computation
from cranfield.measures import Measure

_CUTOFFS = (5, 10, 20, 100, 1000)
_MAX_LEVELS = 10  # of judgments by fractions, the lowest so many are tried


def list_departures(qrels: Qrels, measure: Measure) -> dict[Computation, tuple[str, ...]]:
    """Return {measure with one departure or two: the departures as text}, fewest first."""
    definition, levels, cutoffs = measure.definition, list[float](), list[int]()
    if "rel" in measure.parameters:
        levels = np.unique(qrels.grade[qrels.grade > 0])[:_MAX_LEVELS].tolist()
    if definition.cutoff != "none" and definition.cutoff_kind != "recall":
        cutoffs = [*_CUTOFFS, *([0] if definition.cutoff == "optional" else [])]
    departures_of_variant = {}
    for judged_only, cutoff, level in product((False, True), [None, *cutoffs], [None, *levels]):
        variant, departures = measure, ["judged_only=True"] * judged_only
        if cutoff is not None:
            bare_measure = replace(measure, cutoff=None)
            variant = bare_measure @ cutoff if cutoff else bare_measure
            if variant.cutoff == measure.cutoff:
                continue
            departures.insert(0, f"@{cutoff}" if cutoff else "no cutoff")
        if level is not None and level != measure.parameters["rel"]:
            variant = variant.with_parameters({"rel": level})
            departures.insert(0, f"rel={level:g}")
        if 1 <= len(departures) <= 2:
            computation = Computation(variant, Judging(judged_only=judged_only))
            departures_of_variant[computation] = (*departures,)
    return dict(sorted(departures_of_variant.items(), key=lambda entry: len(entry[1])))
