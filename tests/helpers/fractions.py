"""Measures and judgments whose grades are fractions."""

from cranfield import Measure, definitions
from helpers.variants import variants

NAMES = [definition.name for definition in definitions()]


THRESHOLDS = (0.3, 0.6, 1)


QRELS = {"q1": {"a": 0.9, "b": 0.3, "c": 0.0, "d": 1.0}, "q2": {"e": 0.2, "f": 0.55}}


RUN = {"q1": ["b", "x", "a", "c"], "q2": ["y", "e"]}


def takes_fractions(measure: Measure) -> bool:
    """Tell whether a measure takes fractions, as far as its declaration says."""
    cut_at_relevant = str(measure.cutoff).endswith(("R", "R)"))
    if "binary" in measure.parameters.values():
        return False
    if measure.fractions == "level":
        return "rel" in measure.stated
    return measure.fractions == "taken" and (not cut_at_relevant or "rel" in measure.parameters)


def list_measures(name: str) -> list[Measure]:
    """Return the variants of a measure that take fractions, also with fractional `rel`."""
    measures = list(variants(name))
    if "rel" in Measure(name).definition.parameters:
        measures += [measure(rel=rel) for measure in list(measures) for rel in THRESHOLDS]
    return [measure for measure in dict.fromkeys(measures) if takes_fractions(measure)]
