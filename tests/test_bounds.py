"""Bounds: held against every completion of small collections."""

import itertools
import math
import random
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pytest
from test_measures import variants

from cranfield import Measure, definitions
from cranfield.bounds import Bounds, bounds_of
from cranfield.judge import judge
from cranfield.judged import Judged
from cranfield.measures.registry import _DEFINITIONS, _EXACT, VARIANTS, Cutoff, Parameter, measure
from cranfield.qrels import Qrels
from cranfield.ranked import Floats, Ranked, ratio
from cranfield.runs import Run

Small = tuple[dict[str, int], list[str]]  # judgments, ranking


def small(seed: int, top: int) -> Small:
    """Return judgments and a ranking of which at most 5 documents (3 of many grades) are not judged."""
    chance = random.Random(seed)
    n_judged, n_unjudged = chance.randint(1, 6), chance.randint(0, {1: 5, 2: 4, 3: 3}[top])
    lowest = chance.choice([0, 0, -1])
    grades = {f"j{i}": chance.randint(lowest, chance.randint(0, top)) for i in range(n_judged)}
    found = [doc for doc in grades if chance.random() < 0.7]
    ranking = [*found, *(f"u{i}" for i in range(n_unjudged))]
    chance.shuffle(ranking)
    return grades, ranking


def collection(cases: list[Small], top: int) -> tuple[Qrels, Run]:
    """Return the cases as queries, and one more with the collection's top grade."""
    qrels = {f"q{i:04}": grades for i, (grades, _) in enumerate(cases)}
    run = {f"q{i:04}": ranking for i, (_, ranking) in enumerate(cases)}
    return Qrels({**qrels, "the top": {"d": top}}), Run({**run, "the top": ["d"]})


def completions(case: Small, top: int) -> Iterator[Small]:
    grades, ranking = case
    unjudged = [doc for doc in ranking if doc not in grades]
    for given in itertools.product(range(top + 1), repeat=len(unjudged)):
        yield {**grades, **dict(zip(unjudged, given, strict=True))}, ranking


SEEDS = range(200)
TOPS = (1, 2, 3)
_BRUTE: dict[int, tuple[Judged, np.ndarray, Judged]] = {}


def brute(top: int) -> tuple[Judged, np.ndarray, Judged]:
    """Return (all completions of all cases, the case of each, the cases themselves)."""
    if top not in _BRUTE:
        cases = [small(seed, top) for seed in SEEDS]
        every = [(i, one) for i, case in enumerate(cases) for one in completions(case, top)]
        owner = np.array([i for i, _ in every] + [len(cases)])
        completed = judge(*collection([one for _, one in every], top)).judged
        _BRUTE[top] = completed, owner, judge(*collection(cases, top)).judged
    return _BRUTE[top]


def of_all(measure: Measure, top: int) -> tuple[Floats, Floats, Bounds]:
    """Return the lowest and the highest value of each case, of all completions; and bounds()."""
    completed, owner, judged = brute(top)
    values = measure.values(completed)[:, 0]
    low, high = np.full(len(SEEDS) + 1, np.inf), np.full(len(SEEDS) + 1, -np.inf)
    np.minimum.at(low, owner, values)
    np.maximum.at(high, owner, values)
    return low, high, bounds_of([measure], judged)


def bounded() -> Iterator[Measure]:
    for definition in definitions():
        for one in variants(definition.name):
            if not definition.is_text and not definition.takes_groups and one.bounds != "none":
                yield one


@pytest.mark.parametrize("name", dict.fromkeys(one.name for one in bounded()))
@pytest.mark.parametrize("top", TOPS)
def test_no_completion_is_beyond_the_bounds(name: str, top: int) -> None:
    """Where they are proved; elsewhere they are attained, and so not beyond any completion."""
    for one in variants(name):
        if one.bounds == "none":
            continue
        low, high, found = of_all(one, top)
        proved = found.proved[:, 0]
        np.testing.assert_allclose(
            found.low[proved, 0], low[proved], rtol=1e-13, atol=0, err_msg=str(one)
        )
        np.testing.assert_allclose(
            found.high[proved, 0], high[proved], rtol=1e-13, atol=0, err_msg=str(one)
        )
        assert (found.low[:, 0] >= low * (1 - 1e-13) - 1e-15).all(), one
