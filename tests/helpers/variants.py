"""Every measure with every kind of cutoff and other values of its parameters."""

import contextlib
from collections.abc import Iterator
from typing import Any

from cranfield import Measure, MeasureError


def variants(name: str) -> Iterator[Measure]:
    """Yield the measure with every kind of cutoff and other values of its parameters."""
    definition = Measure(name).definition
    bases = [Measure(name)]
    values_of_parameter: dict[str, list[Any]] = {
        "rel": [0, 2],
        "beta": [0.5, 2, 0.8],
        "alpha": [0, 0.9, 1],
        "gamma": [0, 0.3, 1],
        "x": [2],
        "points": [(0.25, 0.5, 0.75), (0.9, 0.1)],
        "gain": [
            "exp2",
            "binary",
            ("binary", 2),
            {1: 3, 2: 0.5},
            {0: 1, 1: 5, 2: 1, 3: -1},
            {1: 0.25, 2: 0.5, 3: 1},
            {0: -0.5, 1: 0.5},
            {0: -5, 1: -3, 2: -2, 3: -1},
        ],
        "multiple": [0.3, 1.7],
        "version": [9],
        "p": [0, 0.5, 0.95],
        "tail": ["if unjudged"],
        "discount": ["jk", ("jk", 3), "ln", "zipf", ("power", 0.5), "linear", "none"],
        "ideal": ["uncut", "returned", "retrieved", "top"],
        "stop": ["linear", {1: 0.25, 2: 0.5, 3: 1}],
        "top": [4],
        "share": [{1: 0.25, 3: 0.75}, {2: 1}],
        "users": ["rb", "uniform"],
        "stops": ["exp2", "binary", {1: 1, 2: 4, 3: 9}],
        "n": [3],
        "weights": [(2, -1, -0.5, 0.25)],
        "collection": [1000],
        "tie_rank": ["last"],
        "over": ["implied", "retrieved", "reachable", "returned", "cutoff", "hits"],
        "itself": ["weighted"],
        "normalize": [False],
        "depth": [1, 4, 20],
        "model": ["P", "INST(T=2)"],
        "value": ["ETU", "EC", "ETC", "ED"],
        "unjudged": [0.5],
    }
    # Looking at a thousand ranks each time would take long.
    shallow = {"depth": 20} if "depth" in definition.parameters else {}
    for parameter in definition.parameters:
        assert parameter in values_of_parameter, f"give {parameter} values to try here"
        n_before = len(bases)
        for value in values_of_parameter[parameter]:
            with contextlib.suppress(MeasureError):  # PrefsRnonrel knows fewer values of `over`
                bases.append(Measure(name)(**{**shallow, parameter: value}))
        assert len(bases) > n_before, parameter
    for base in bases:
        cut_measures = [base]
        if definition.cutoff_kind == "recall":
            cut_measures += [base @ point for point in (0, 0.1, 0.25, 0.5, 0.3, 1)]
        elif definition.cutoff != "none":
            cut_measures += [base @ cutoff for cutoff in (1, 2, 3, 5, 1000, "R", "min(4,R)")]
        for measure in cut_measures:
            with contextlib.suppress(MeasureError):  # it needs a cutoff, or takes none
                measure.check_complete()
                yield measure
