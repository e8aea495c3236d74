"""What must hold of every measure in the registry, except the exemptions."""

import itertools
import random
import re
from functools import cache

import pytest
from helpers import oracle
from helpers.exemptions import EXEMPT, exempt_reasons, find_exemptions
from helpers.profile import sample_cases, seeds
from helpers.variants import variants

from cranfield import Measure, Qrels, definitions, evaluate
from cranfield.measures.parameters import Depth

pytestmark = pytest.mark.no_cover  # the oracles run the same lines

NAMES = [definition.name for definition in definitions()]
SEEDS = seeds(25, step=13)


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
def list_holding(name: str, property_name: str) -> list[Measure]:
    """Return the variants of a measure that must have a property."""
    measures = [
        measure for measure in variants(name) if not find_exemptions(measure, property_name)
    ]
    if property_name == "cutoff beyond the depth":
        kind = Measure(name).definition.cutoff_kind
        measures = [
            measure for measure in measures if measure.cutoff is not None and kind != "recall"
        ]
    return measures


def parametrize_measures(property_name: str) -> pytest.MarkDecorator:
    """Run a test once for each measure that has a property."""
    return pytest.mark.parametrize(
        "name", [name for name in NAMES if list_holding(name, property_name)]
    )


def test_every_property_is_held_against_as_many_measures_as_ever() -> None:
    for property_name, n in PROPERTIES.items():
        assert sum(bool(list_holding(name, property_name)) for name in NAMES) == n, property_name


def test_exemptions_name_measures_and_properties_that_are_tested() -> None:
    assert EXEMPT.keys() <= set(NAMES)
    for name in NAMES:
        parameters = Measure(name).definition.parameters
        for property_name, reason in exempt_reasons(Measure(name)).items():
            parameter_patterns = (
                f"with {parameter}(?: given|='[a-z0-9]+')" for parameter in parameters
            )
            parameter_pattern = "|".join(parameter_patterns) or "-"
            assert (
                re.sub(f" (at k|with own gains|{parameter_pattern})$", "", property_name)
                in PROPERTIES
            )
            assert reason


def test_every_exemption_exempts_something() -> None:
    """One that applies to no parameters that are tried is misspelt, or not needed."""
    for name in NAMES:
        applied_exemptions = {
            exemption
            for measure in variants(name)
            for property_name in PROPERTIES
            for exemption in find_exemptions(measure, property_name)
        }
        assert applied_exemptions == {
            exemption for measure in variants(name) for exemption in exempt_reasons(measure)
        }, name


def rank_perfectly(measure: Measure, grades: dict[str, int]) -> list[str]:
    """Return the ids of documents, the highest gain first, without negative gains."""
    gain = measure.parameters.get("gain", "linear")
    gain_of_doc = {doc: oracle.gain_of(grade, gain) for doc, grade in grades.items()}
    return sorted(
        (doc for doc in gain_of_doc if gain_of_doc[doc] >= 0), key=lambda doc: -gain_of_doc[doc]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        first = evaluate(qrels, run, list(variants(name))).to_dict()
        chance = random.Random(seed)

        def shuffle_mapping(data: dict, chance: random.Random = chance) -> dict:  # type: ignore[type-arg] # of any values
            key_values = list(data.items())
            chance.shuffle(key_values)
            return {
                key: shuffle_mapping(member) if isinstance(member, dict) else member
                for key, member in key_values
            }

        assert (
            evaluate(shuffle_mapping(qrels), shuffle_mapping(run), list(variants(name))).to_dict()
            == first
        )


@parametrize_measures("range")
def test_values_stay_in_the_range_declared(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        measures = list_holding(name, "range")
        scores = evaluate(qrels, run, measures)
        for measure in measures:
            low, high = measure.definition.range
            values = scores.per_query(measure).values()
            assert all(low <= value <= (high or float("inf")) for value in values), measure


@parametrize_measures("best first is best")
def test_no_order_is_better_than_the_perfect_one(name: str) -> None:
    """Of all orders of a few documents."""
    higher_is_better = Measure(name).definition.higher_is_better
    for seed in seeds(6):
        chance = random.Random(seed)
        grades = {f"d{i}": chance.choice([0, 0, 1, 2, 3]) for i in range(6)}
        measures_of_order: dict[tuple[str, ...], list[Measure]] = {}
        for measure in list_holding(name, "best first is best"):
            measures_of_order.setdefault(tuple(rank_perfectly(measure, grades)[:4]), []).append(
                measure
            )
        for docs, measures in measures_of_order.items():
            orders = list(map(list, itertools.permutations(docs)))  # the best is the first
            run = {f"{i:02}": order for i, order in enumerate(orders)}
            scores = evaluate(dict.fromkeys(run, grades), run, measures)
            for measure in measures:
                highest, *values = scores.per_query(measure).values()
                for value, order in zip(values, orders[1:], strict=True):
                    is_no_better = value <= highest if higher_is_better else value >= highest
                    assert is_no_better, (measure, grades, order)


@parametrize_measures("perfect is 1")
def test_a_perfect_ranking_of_all_judged_documents_has_the_value_1(name: str) -> None:
    for seed in SEEDS:
        qrels, _ = oracle.make_collection(seed, lowest=0)
        measures = list_holding(name, "perfect is 1")
        measures_of_gain: dict[str, list[Measure]] = {}
        for measure in measures:
            measures_of_gain.setdefault(repr(measure.parameters.get("gain")), []).append(measure)
        by_measure: dict[Measure, dict[str, float]] = {}
        for gain_measures in measures_of_gain.values():
            run = {query: rank_perfectly(gain_measures[0], docs) for query, docs in qrels.items()}
            scores_of_run = evaluate(qrels, run, gain_measures)
            by_measure |= {measure: scores_of_run.per_query(measure) for measure in gain_measures}
        for measure in measures:
            scores = by_measure[measure]
            gain, rel = measure.parameters.get("gain"), measure.parameters.get("rel", 1)
            for query, docs in qrels.items():
                has_relevant = any(
                    grade >= rel if gain is None else oracle.gain_of(grade, gain) > 0
                    for grade in docs.values()
                )
                if gain is not None and "rel" in measure.parameters:
                    has_relevant &= any(grade >= rel for grade in docs.values())
                if isinstance(measure.cutoff, Depth) and measure.cutoff.at_relevant:
                    has_relevant &= any(grade >= rel for grade in docs.values())
                assert scores[query] == (1 if has_relevant else 0), measure


@parametrize_measures("cutoff beyond the depth")
def test_a_cutoff_beyond_the_depth_changes_nothing(name: str) -> None:
    definition = Measure(name).definition
    deep_measures = list(
        dict.fromkeys(measure @ 1000 for measure in list_holding(name, "cutoff beyond the depth"))
    )
    other_measures = [[measure @ 10**12 for measure in deep_measures]]
    if definition.cutoff == "optional":
        other_measures.append([Measure(name, None, measure.given) for measure in deep_measures])
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        first = evaluate(qrels, run, deep_measures).values.tolist()
        for equivalent_measures in other_measures:
            assert evaluate(qrels, run, equivalent_measures).values.tolist() == first


@parametrize_measures("unjudged documents at the end")
def test_unjudged_documents_at_the_end_change_nothing(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        longer_run = {
            query: {**docs, **{f"unjudged{i}": -1e9 - i for i in range(3)}} if docs else docs
            for query, docs in run.items()
        }
        measures = list_holding(name, "unjudged documents at the end")
        first = evaluate(qrels, run, measures).to_dict()
        assert evaluate(qrels, longer_run, measures).to_dict() == first


@parametrize_measures("0 without relevant documents")
def test_a_query_without_relevant_documents_scores_zero(name: str) -> None:
    for measure in list_holding(name, "0 without relevant documents"):
        lower_grade = measure.parameters.get("rel", 1) - 1  # a grade that is not relevant
        assert measure({"a": lower_grade, "b": -1}, ["a", "c", "b"]) == 0, measure


@parametrize_measures("0 without results")
def test_a_query_without_results_scores_zero(name: str) -> None:
    for measure in list_holding(name, "0 without results"):
        assert measure({"a": 3, "b": 0}, []) == 0, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_alone_gives_the_bits_of_the_batch(name: str) -> None:
    measures = list(variants(name))
    for seed in seeds(8):
        qrels, run = oracle.make_collection(seed)
        batch = evaluate(qrels, run, measures).to_dict()
        for query in qrels:
            if query in run:
                query_qrels = Qrels(qrels).select_queries(
                    [query]
                )  # which knows the collection's top grade
                query_scores = evaluate(query_qrels, {query: run[query]}, measures).to_dict()
                assert query_scores[query] == batch[query]


@pytest.mark.parametrize("name", NAMES)
def test_measures_asked_for_together_are_each_alone(name: str) -> None:
    measures = list(variants(name))
    for seed in seeds(8):
        qrels, run = oracle.make_collection(seed)
        all_scores = evaluate(qrels, run, measures)
        for measure in sample_cases(measures):
            assert evaluate(qrels, run, measure).per_query(measure) == all_scores.per_query(measure)
