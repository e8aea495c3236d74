"""What must hold of every measure in the registry, less what each declares itself exempt from."""

import random
from collections.abc import Callable

import oracle
import pytest
from test_measures import variants

from cranfield import Measure, definitions, evaluate

NAMES = [definition.name for definition in definitions()]
SEEDS = range(25)


def exempt(measure: Measure, what: str) -> bool:
    """Tell whether a measure declares a property not to hold (`... at k`: not when it is cut)."""
    reasons = measure.definition.exempt
    return what in reasons or (measure.cutoff is not None and f"{what} at k" in reasons)


def holding(name: str, what: str) -> list[Measure]:
    return [measure for measure in variants(name) if not exempt(measure, what)]


PROPERTIES = {
    "0 without relevant documents",
    "perfect is 1",
    "perfect is 1 at k",
    "cutoff beyond the depth",
    "unjudged documents at the end",
}


def test_exemptions_name_properties_that_are_tested() -> None:
    for definition in definitions():
        assert set(definition.exempt) <= PROPERTIES


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
        for measure in variants(name):
            low, high = measure.definition.range
            if "gain" in measure.parameters and isinstance(measure.parameters["gain"], dict):
                low = float("-inf")  # a gain of one's own may be negative
            values = evaluate(qrels, run, measure).per_query(measure).values()
            assert all(low <= value <= (high or float("inf")) for value in values), measure


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_ranking_has_the_maximum(name: str) -> None:
    """Every judged document, the best first; with the run's own gains where it has them."""
    for seed in SEEDS:
        qrels, _ = oracle.collection(seed, lowest=0)
        for measure in holding(name, "perfect is 1"):
            gain = measure.parameters.get("gain")
            rel = measure.parameters.get("rel", 1)

            def worth(grade: int, gain: object = gain) -> float:
                return oracle.gain_of(grade, gain)

            perfect = {
                query: sorted(docs, key=lambda doc: -worth(docs[doc]))
                for query, docs in qrels.items()
            }
            key: Callable[[int], bool] = (
                (lambda grade: worth(grade) > 0)
                if gain is not None
                else (lambda grade: grade >= rel)  # noqa: B023 - used at once
            )
            scores = evaluate(qrels, perfect, measure).per_query(measure)
            for query, docs in qrels.items():
                if isinstance(gain, dict) and min(gain.values()) < 0:
                    continue  # a perfect ranking would leave out what costs
                possible = any(key(grade) for grade in docs.values())
                assert scores[query] == pytest.approx(1 if possible else 0, abs=1e-15), measure


@pytest.mark.parametrize("name", NAMES)
def test_a_cutoff_beyond_the_depth_changes_nothing(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        for measure in holding(name, "cutoff beyond the depth"):
            if measure.cutoff is None or measure.definition.cutoff_kind == "recall":
                continue
            deep, deeper = measure @ 1000, measure @ 10**12
            a = list(evaluate(qrels, run, deep).per_query(deep).values())
            b = list(evaluate(qrels, run, deeper).per_query(deeper).values())
            assert a == b
            if measure.definition.cutoff == "optional":
                uncut = Measure(measure.name, None, measure.given)
                assert list(evaluate(qrels, run, uncut).per_query(uncut).values()) == a


@pytest.mark.parametrize("name", NAMES)
def test_unjudged_documents_at_the_end_change_nothing(name: str) -> None:
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        longer = {
            query: {**docs, **{f"unjudged{i}": -1e9 - i for i in range(3)}} if docs else docs
            for query, docs in run.items()
        }
        for measure in holding(name, "unjudged documents at the end"):
            first = evaluate(qrels, run, measure).to_dict()
            assert evaluate(qrels, longer, measure).to_dict() == first, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_without_relevant_documents_scores_zero(name: str) -> None:
    for measure in holding(name, "0 without relevant documents"):
        if measure.parameters.get("rel") == 0 or isinstance(measure.parameters.get("gain"), dict):
            continue  # then grade 0 may be relevant, or worth something
        if name == "Judged":
            continue  # it counts judgments of any grade
        assert measure({"a": 0, "b": -1}, ["a", "c", "b"]) == 0, measure


@pytest.mark.parametrize("name", NAMES)
def test_a_query_alone_gives_the_bits_of_the_batch(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        batch = evaluate(qrels, run, measures).to_dict()
        for query, docs in qrels.items():
            if query in run:
                alone = evaluate({query: docs}, {query: run[query]}, measures).to_dict()
                assert alone[query] == batch[query]


@pytest.mark.parametrize("name", NAMES)
def test_measures_asked_for_together_are_each_alone(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.collection(seed)
        together = evaluate(qrels, run, measures)
        for measure in measures:
            assert evaluate(qrels, run, measure).per_query(measure) == together.per_query(measure)
