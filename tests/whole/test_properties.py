"""What must hold of every measure in the registry, except the exemptions."""

import itertools
import random
import re
from functools import cache

import pytest
from helpers import oracle
from helpers.exemptions import EXEMPT, exempting, reasons
from helpers.profile import seeds, some_of
from helpers.variants import variants

from cranfield import Measure, Qrels, definitions, evaluate
from cranfield.measures.parameters import Depth

pytestmark = pytest.mark.no_cover  # the oracles run the same lines

NAMES = [definition.name for definition in definitions()]
SEEDS = seeds(25, every=13)


PROPERTIES = {  # of how many of the measures each holds, for some of their parameters
    "range": 73,
    "perfect is 1": 37,
    "best first is best": 76,
    "cutoff beyond the depth": 24,
    "unjudged documents at the end": 61,
    "0 without relevant documents": 65,
    "0 without results": 68,
}


@cache
def holding(name: str, what: str) -> list[Measure]:
    """Return the measure with all parameters and cutoffs of which a property has to hold."""
    found = [one for one in variants(name) if not exempting(one, what)]
    if what == "cutoff beyond the depth":
        kind = Measure(name).definition.cutoff_kind
        found = [one for one in found if one.cutoff is not None and kind != "recall"]
    return found


def of_measures(what: str) -> pytest.MarkDecorator:
    """Run a test once for each measure of which a property holds."""
    return pytest.mark.parametrize("name", [name for name in NAMES if holding(name, what)])


def test_every_property_is_held_against_as_many_measures_as_ever() -> None:
    for what, n in PROPERTIES.items():
        assert sum(bool(holding(name, what)) for name in NAMES) == n, what


def test_exemptions_name_measures_and_properties_that_are_tested() -> None:
    assert EXEMPT.keys() <= set(NAMES)
    for name in NAMES:
        parameters = Measure(name).definition.parameters
        for what, reason in reasons(Measure(name)).items():
            each = (f"with {parameter}(?: given|='[a-z0-9]+')" for parameter in parameters)
            given = "|".join(each) or "-"
            assert re.sub(f" (at k|with own gains|{given})$", "", what) in PROPERTIES
            assert reason


def test_every_exemption_exempts_something() -> None:
    """One that applies to no parameters that are tried is misspelt, or not needed."""
    for name in NAMES:
        met = {why for one in variants(name) for what in PROPERTIES for why in exempting(one, what)}
        assert met == {what for one in variants(name) for what in reasons(one)}, name


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


@of_measures("range")
def test_values_stay_in_the_range_declared(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        measures = holding(name, "range")
        scores = evaluate(qrels, run, measures)
        for measure in measures:
            low, high = measure.definition.range
            values = scores.per_query(measure).values()
            assert all(low <= value <= (high or float("inf")) for value in values), measure


@of_measures("best first is best")
def test_no_order_is_better_than_the_perfect_one(name: str) -> None:
    """Of all orders of a few documents."""
    higher = Measure(name).definition.higher_is_better
    for seed in seeds(6):
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


@of_measures("perfect is 1")
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


@of_measures("cutoff beyond the depth")
def test_a_cutoff_beyond_the_depth_changes_nothing(name: str) -> None:
    definition = Measure(name).definition
    deep = list(dict.fromkeys(one @ 1000 for one in holding(name, "cutoff beyond the depth")))
    others = [[measure @ 10**12 for measure in deep]]
    if definition.cutoff == "optional":
        others.append([Measure(name, None, measure.given) for measure in deep])
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        first = evaluate(qrels, run, deep).values.tolist()
        for other in others:
            assert evaluate(qrels, run, other).values.tolist() == first


@of_measures("unjudged documents at the end")
def test_unjudged_documents_at_the_end_change_nothing(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        longer = {
            query: {**docs, **{f"unjudged{i}": -1e9 - i for i in range(3)}} if docs else docs
            for query, docs in run.items()
        }
        measures = holding(name, "unjudged documents at the end")
        first = evaluate(qrels, run, measures).to_dict()
        assert evaluate(qrels, longer, measures).to_dict() == first


@of_measures("0 without relevant documents")
def test_a_query_without_relevant_documents_scores_zero(name: str) -> None:
    for measure in holding(name, "0 without relevant documents"):
        below = measure.parameters.get("rel", 1) - 1  # a grade that is not relevant
        assert measure({"a": below, "b": -1}, ["a", "c", "b"]) == 0, measure


@of_measures("0 without results")
def test_a_query_without_results_scores_zero(name: str) -> None:
    for measure in holding(name, "0 without results"):
        assert measure({"a": 3, "b": 0}, []) == 0, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_alone_gives_the_bits_of_the_batch(name: str) -> None:
    measures = list(variants(name))
    for seed in seeds(8):
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
    for seed in seeds(8):
        qrels, run = oracle.collection(seed)
        together = evaluate(qrels, run, measures)
        for measure in some_of(measures):
            assert evaluate(qrels, run, measure).per_query(measure) == together.per_query(measure)
