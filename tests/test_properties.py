"""What must hold of every measure in the registry, less what each declares itself exempt from."""

import itertools
import random
import re

import pytest
from helpers import oracle
from helpers.variants import variants

from cranfield import Measure, Qrels, definitions, evaluate
from cranfield.measures.parameters import Depth

NAMES = [definition.name for definition in definitions()]
SEEDS = range(25)


def exempt(measure: Measure, what: str) -> bool:
    """Tell whether a measure declares a property not to hold.

    `... at k`: not when it is cut; `... with own gains`: not when grades have gains of one's own;
    `... with p given`: not with another value of the parameter p; `... with p='x'`: not with 'x'.
    """
    reasons, defaults = measure.definition.exempt, measure.definition.defaults
    given = {k: value for k, value in measure.parameters.items() if value != defaults[k]}
    own_gains = isinstance(measure.parameters.get("gain"), dict)
    return (
        what in reasons
        or (measure.cutoff is not None and f"{what} at k" in reasons)
        or (own_gains and f"{what} with own gains" in reasons)
        or any(f"{what} with {name} given" in reasons for name in given)
        or any(f"{what} with {name}={value!r}" in reasons for name, value in given.items())
    )


def holding(name: str, what: str) -> list[Measure]:
    return [measure for measure in variants(name) if not exempt(measure, what)]


PROPERTIES = {
    "range",
    "perfect is 1",
    "best first is best",
    "cutoff beyond the depth",
    "unjudged documents at the end",
    "0 without relevant documents",
    "0 without results",
}


def test_exemptions_name_properties_that_are_tested() -> None:
    for definition in definitions():
        for what in definition.exempt:
            each = (f"with {name}(?: given|='[a-z0-9]+')" for name in definition.parameters)
            given = "|".join(each) or "-"
            assert re.sub(f" (at k|with own gains|{given})$", "", what) in PROPERTIES


def perfect(measure: Measure, grades: dict[str, int]) -> list[str]:
    """Return documents, what is worth most to the measure first; without what costs."""
    gain = measure.parameters.get("gain", "linear")
    worth = {doc: oracle.gain_of(grade, gain) for doc, grade in grades.items()}
    return sorted((doc for doc in worth if worth[doc] >= 0), key=lambda doc: -worth[doc])


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        first = evaluate(qrels, run, list(variants(name))).to_dict()
        chance = random.Random(seed)

        def shuffled(data: dict, chance: random.Random = chance) -> dict:  # type: ignore[type-arg] # of any values
            items = list(data.items())
            chance.shuffle(items)
            return {k: shuffled(v) if isinstance(v, dict) else v for k, v in items}

        assert evaluate(shuffled(qrels), shuffled(run), list(variants(name))).to_dict() == first


@pytest.mark.parametrize("name", NAMES)
def test_values_stay_in_the_range_declared(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        measures = holding(name, "range")
        scores = evaluate(qrels, run, measures) if measures else None
        for measure in measures:
            low, high = measure.definition.range
            values = scores.per_query(measure).values() if scores else ()
            assert all(low <= value <= (high or float("inf")) for value in values), measure


@pytest.mark.parametrize("name", NAMES)
def test_no_order_is_better_than_the_perfect_one(name: str) -> None:
    """Of all orders of a few documents."""
    higher = Measure(name).definition.higher_is_better
    for seed in range(6):
        chance = random.Random(seed)
        grades = {f"d{i}": chance.choice([0, 0, 1, 2, 3]) for i in range(6)}
        alike: dict[tuple[str, ...], list[Measure]] = {}
        for measure in holding(name, "best first is best"):
            alike.setdefault(tuple(perfect(measure, grades)[:4]), []).append(measure)
        for retrieved, measures in alike.items():
            orders = list(map(list, itertools.permutations(retrieved)))  # the best is the first
            run = {f"{i:02}": order for i, order in enumerate(orders)}
            scores = evaluate(dict.fromkeys(run, grades), run, measures)
            for measure in measures:
                highest, *values = scores.per_query(measure).values()
                for value, order in zip(values, orders[1:], strict=True):
                    no_better = value <= highest if higher else value >= highest
                    assert no_better, (measure, grades, order)


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_ranking_of_all_judged_documents_has_the_value_1(name: str) -> None:
    for seed in SEEDS:
        qrels, _ = oracle.collection(seed, lowest=0)
        measures = holding(name, "perfect is 1")
        alike: dict[str, list[Measure]] = {}
        for measure in measures:
            alike.setdefault(repr(measure.parameters.get("gain")), []).append(measure)
        by_measure: dict[Measure, dict[str, float]] = {}
        for some in alike.values():
            run = {query: perfect(some[0], docs) for query, docs in qrels.items()}
            scored = evaluate(qrels, run, some)
            by_measure |= {measure: scored.per_query(measure) for measure in some}
        for measure in measures:
            scores = by_measure[measure]
            gain, rel = measure.parameters.get("gain"), measure.parameters.get("rel", 1)
            for query, docs in qrels.items():
                possible = any(
                    grade >= rel if gain is None else oracle.gain_of(grade, gain) > 0
                    for grade in docs.values()
                )
                if gain is not None and "rel" in measure.parameters:
                    possible &= any(grade >= rel for grade in docs.values())
                if isinstance(measure.cutoff, Depth) and measure.cutoff.at_relevant:
                    possible &= any(grade >= rel for grade in docs.values())
                assert scores[query] == (1 if possible else 0), measure


@pytest.mark.parametrize("name", NAMES)
def test_a_cutoff_beyond_the_depth_changes_nothing(name: str) -> None:
    definition = Measure(name).definition
    cut = [
        measure
        for measure in holding(name, "cutoff beyond the depth")
        if measure.cutoff is not None and definition.cutoff_kind != "recall"
    ]
    deep = list(dict.fromkeys(measure @ 1000 for measure in cut))
    others = [[measure @ 10**12 for measure in deep]]
    if definition.cutoff == "optional":
        others.append([Measure(name, None, measure.given) for measure in deep])
    for seed in SEEDS if deep else ():
        qrels, run = oracle.collection(seed)
        first = evaluate(qrels, run, deep).values.tolist()
        for other in others:
            assert evaluate(qrels, run, other).values.tolist() == first


@pytest.mark.parametrize("name", NAMES)
def test_unjudged_documents_at_the_end_change_nothing(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        longer = {
            query: {**docs, **{f"unjudged{i}": -1e9 - i for i in range(3)}} if docs else docs
            for query, docs in run.items()
        }
        measures = holding(name, "unjudged documents at the end")
        if measures:
            first = evaluate(qrels, run, measures).to_dict()
            assert evaluate(qrels, longer, measures).to_dict() == first


@pytest.mark.parametrize("name", NAMES)
def test_a_query_without_relevant_documents_scores_zero(name: str) -> None:
    for measure in holding(name, "0 without relevant documents"):
        below = measure.parameters.get("rel", 1) - 1  # a grade that is not relevant
        assert measure({"a": below, "b": -1}, ["a", "c", "b"]) == 0, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_without_results_scores_zero(name: str) -> None:
    for measure in holding(name, "0 without results"):
        assert measure({"a": 3, "b": 0}, []) == 0, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_alone_gives_the_bits_of_the_batch(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        batch = evaluate(qrels, run, measures).to_dict()
        for query in qrels:
            if query in run:
                one = Qrels(qrels).of([query])  # which knows the collection's top grade
                alone = evaluate(one, {query: run[query]}, measures).to_dict()
                assert alone[query] == batch[query]


@pytest.mark.parametrize("name", NAMES)
def test_measures_asked_for_together_are_each_alone(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        together = evaluate(qrels, run, measures)
        for measure in measures:
            assert evaluate(qrels, run, measure).per_query(measure) == together.per_query(measure)
