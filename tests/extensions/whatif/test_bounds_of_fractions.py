"""Bounds where grades are fractions."""

import itertools
import random
from typing import Any

import pytest
from helpers.fractions import NAMES, QRELS, RUN, list_measures
from helpers.notes import codes
from helpers.profile import seeds

from cranfield import MeasureError, evaluate, joint_bounds

GRID = (0, 0.2, 0.35, 0.5, 0.75, 1.25)


def small(seed: int) -> tuple[dict[str, float], list[str]]:
    chance = random.Random(seed)
    judged = {f"j{i}": chance.choice((-0.5, *GRID[:5])) for i in range(chance.randint(1, 5))}
    retrieved_docs = [doc for doc in judged if chance.random() < 0.7]
    ranking = [*retrieved_docs, *(f"u{i}" for i in range(chance.randint(1, 3)))]
    chance.shuffle(ranking)
    return judged, ranking


BOUNDED_MEASURES = [
    measure
    for name in NAMES
    for measure in list_measures(name)
    if measure.bounds not in ("none", "refused") and not measure.definition.traits.takes_groups
    if measure.parameters.get("rel", 0.5) in (0, 0.5, 2)
    and measure.parameters.get("depth") in (None, 20)
]


def test_no_completion_is_beyond_the_bounds() -> None:
    """Against every completion by a grid of grades, those of other documents among them."""
    cases = [small(seed) for seed in range(8)]
    qrels: Any = {f"q{i:03}": judged for i, (judged, _) in enumerate(cases)} | {"top": {"d": 1.25}}
    run = {f"q{i:03}": ranking for i, (_, ranking) in enumerate(cases)}
    bounds = evaluate(qrels, run, BOUNDED_MEASURES, bounds=True).bounds
    assert bounds is not None
    assert bounds.proved.any(axis=0).sum() > 100
    for i, (judged, ranking) in enumerate(cases):
        unjudged = [doc for doc in ranking if doc not in judged]
        completions = [*itertools.product(GRID, repeat=len(unjudged))]
        completed_qrels: Any = {
            f"{n:05}": {**judged, **dict(zip(unjudged, completion, strict=True))}
            for n, completion in enumerate(completions)
        }
        values = evaluate(
            {**completed_qrels, "top": {"d": 1.25}},
            dict.fromkeys(completed_qrels, ranking),
            BOUNDED_MEASURES,
        ).values[: len(completions)]
        for column, measure in enumerate(BOUNDED_MEASURES):
            low, high = values[:, column].min(), values[:, column].max()
            if bounds.proved[i, column]:
                assert bounds.low[i, column] <= low + 1e-13 * (1 + abs(low)), (measure, i)
                assert bounds.high[i, column] >= high - 1e-13 * (1 + abs(high)), (measure, i)


def test_what_is_proved_is_the_value_of_some_grades() -> None:
    """The bounds of nDCG are reached: by grades at an end, or another document's."""
    for seed in range(14):
        judged, ranking = small(seed)
        qrels: Any = {"q": judged, "top": {"d": 1.25}}
        unjudged = [doc for doc in ranking if doc not in judged]
        ends = sorted({0, 1.25, *(grade for grade in judged.values() if grade > 0)})
        values = [
            evaluate(
                {**qrels, "q": judged | dict(zip(unjudged, completion, strict=True))},
                {"q": ranking},
                "nDCG@3",
            ).per_query("nDCG@3")["q"]
            for completion in itertools.product(ends, repeat=len(unjudged))
        ]
        scores = evaluate(qrels, {"q": ranking}, "nDCG@3", bounds=True)
        low, high = scores["nDCG@3 low"], scores["nDCG@3 high"]
        assert scores.bounds is not None
        assert scores.bounds.proved.all()
        assert scores.bounds.low[0, 0] == pytest.approx(min(values), rel=1e-13)
        assert scores.bounds.high[0, 0] == pytest.approx(max(values), rel=1e-13)
        assert low <= high


def test_where_nothing_is_proved_values_are_attained() -> None:
    scores = evaluate(QRELS, RUN, "Q nERR RBP(gain='linear') nDCG(gain={1: 5})", bounds=True)
    assert scores.bounds is not None
    assert not scores.bounds.proved[0].any()
    assert "bounds-attained" in codes(scores)


@pytest.mark.parametrize("text", ["DCG@3", "nDCG@3", "P(rel=0.5)@2", "RBP(rel=0.3)", "RR(rel=0.5)"])
def test_differences_stay_within_joint_bounds(text: str) -> None:
    for seed in seeds(8):
        judged, ranking = small(seed)
        other = [*reversed(ranking)]
        qrels: Any = {"q": judged, "top": {"d": 1.25}}
        runs = {"a": {"q": ranking}, "b": {"q": other}}
        bounds = joint_bounds(qrels, runs, text)
        unjudged = [doc for doc in ranking if doc not in judged]
        for completion in itertools.product(GRID, repeat=len(unjudged)):
            completed_qrels = {**qrels, "q": judged | dict(zip(unjudged, completion, strict=True))}
            a, b = (
                evaluate(completed_qrels, run, text).per_query(text)["q"] for run in runs.values()
            )
            assert bounds.query_low[0, 0] - 1e-12 <= a - b <= bounds.query_high[0, 0] + 1e-12


def test_a_mapping_of_gains_has_no_joint_bounds() -> None:
    runs = {"a": RUN, "b": {query: docs[::-1] for query, docs in RUN.items()}}
    with pytest.raises(MeasureError, match="there are no bounds of the difference"):
        joint_bounds(QRELS, runs, "DCG(gain={1: 5})@2")
