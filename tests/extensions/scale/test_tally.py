"""Tally: exact sums of parts, held against fractions and against one evaluation of all."""

import math
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from helpers.profile import is_full
from hypothesis import given
from hypothesis import strategies as st

from cranfield import (
    CranfieldError,
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    Tally,
    definitions,
    evaluate,
    parse,
    parse_all,
)
from cranfield.arrays.exact import (
    count_square_units,
    count_units,
    fraction_of_units,
    mean_of_units,
    text_to_units,
    units_to_text,
    variance_of_units,
)
from cranfield.extensions.scale.tally import depends_on_top_grade
from cranfield.measures import Measure

Dicts = Any  # {query: {document: grade or score}}
DOUBLES = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20)
SCORES = st.lists(st.floats(0, 1).filter(lambda x: x == 0 or x > 1e-140), min_size=2, max_size=20)


@given(DOUBLES)
def test_a_sum_is_that_of_the_fractions(values: list[float]) -> None:
    n_units = count_units(np.array(values, float))
    assert fraction_of_units(n_units) == sum(map(Fraction, values))
    assert text_to_units(units_to_text(n_units)) == n_units
    assert n_units == count_units(np.array(values[::-1], float))
    assert n_units == count_units(np.array(values[:7], float)) + count_units(
        np.array(values[7:], float)
    )


@given(SCORES)
def test_a_mean_and_a_variance_are_those_of_the_fractions(values: list[float]) -> None:
    column, fractions = np.array(values), [*map(Fraction, values)]
    mean = sum(fractions) / len(values)
    variance = sum((fraction - mean) ** 2 for fraction in fractions) / (len(values) - 1)
    assert mean_of_units(count_units(column), len(values)) == float(mean)
    squares = count_square_units(column)
    assert fraction_of_units(squares) == sum(fraction**2 for fraction in fractions)
    assert variance_of_units(count_units(column), squares, len(values)) == float(variance)


def collection(n_queries: int, seed: int) -> tuple[Dicts, Dicts]:
    """Return judgments and a run, with ties, of queries some of which have one side only."""
    chance = random.Random(seed)
    qrels: Dicts = {}
    run: Dicts = {}
    for i in range(n_queries):
        docs = [f"d{j}" for j in range(12)]
        if i % 11:
            qrels[f"q{i}"] = {doc: chance.choice([0, 0, 1, 1, 2, 3]) for doc in docs[:9]}
        if i % 7:
            run[f"q{i}"] = {doc: chance.choice([0.5, 1.0, 1.5, 2.0]) for doc in docs[3:]}
    return qrels, run


def plain_measures() -> list[Measure]:
    """Return every measure that takes plain judgments, with and without a cutoff."""
    measures = []
    for definition in definitions():
        for text in (definition.name, f"{definition.name}@10", f"{definition.name}@0.5"):
            try:
                (measure,) = parse_all(text)
                evaluate({"q": {"a": 1, "b": 0}}, {"q": ["a", "b"]}, measure)
            except CranfieldError:
                continue
            if not definition.is_text:
                measures.append(measure)
    return list(dict.fromkeys(measures))


MEASURES = plain_measures()
LABELS = {f"q{i}": ("odd" if i % 2 else "even") for i in range(0, 600, 3)}


def parts_of(qrels: Dicts, run: Dicts, n_parts: int, seed: int) -> list[tuple[Dicts, Dicts]]:
    """Return judgments and run divided at random."""
    chance = random.Random(seed)
    parts: list[tuple[Dicts, Dicts]] = [({}, {}) for _ in range(n_parts)]
    for query in qrels.keys() | run.keys():
        part: Any = chance.choice(parts)
        for side, all_docs in zip(part, (qrels, run), strict=True):
            if query in all_docs:
                side[query] = all_docs[query]
    return parts


def merge_randomly(tallies: Sequence[Tally], seed: int) -> Tally:
    """Return tallies merged in a random tree; half of them come from JSON, half were pickled."""
    chance, trees = random.Random(seed), list(tallies)
    while len(trees) > 1:
        tally, merged_tally = (trees.pop(chance.randrange(len(trees))) for _ in range(2))
        copy = pickle.loads(pickle.dumps(merged_tally))  # noqa: S301 - our own
        trees.append(Tally.from_json(tally.to_json()).merge(copy))
    return trees[0]


def test_there_are_many_measures() -> None:
    assert len(MEASURES) > 90
    assert {measure.definition.aggregation for measure in MEASURES} == {"mean", "sum", "geometric"}


# 600 parts, each of a query, take their time.
@pytest.mark.parametrize("n_parts", [1, 3, 50, 600] if is_full() else [1, 20])
def test_parts_give_the_bits_of_one_evaluation(n_parts: int) -> None:
    qrels, run = collection(600, 1)
    scores = evaluate(qrels, run, MEASURES, slices=LABELS)
    tallies = []
    for of_qrels, of_run in parts_of(qrels, run, n_parts, 2):
        tally = Tally(MEASURES, top_grade=3)
        tally.update(of_qrels or None, of_run or None, LABELS)
        tallies.append(tally)
    totals = merge_randomly(tallies, 3).result()
    assert totals.means() == scores.means(exact=True)
    for name in ("odd", "even"):
        assert totals.means(name) == scores.slice(name).means(exact=True)
    assert totals.counts == scores.counts


def test_values_are_rounded_once() -> None:
    qrels, run = collection(600, 4)
    scores = evaluate(qrels, run, "RR GMAP NumRelRet")
    values = {name: [*scores.per_query(name).values()] for name in scores.means()}
    exactly = scores.means(exact=True)
    assert exactly["RR"] == float(sum(map(Fraction, values["RR"])) / len(values["RR"]))
    assert exactly["NumRelRet"] == sum(values["NumRelRet"])
    assert math.isclose(exactly["GMAP"], scores["GMAP"], rel_tol=1e-13)
    rows = {row["measure"]: row for row in tally_parts("RR NumRelRet", qrels, run).result().rows()}
    assert math.isclose(
        rows["RR"]["std_error"], np.std(values["RR"], ddof=1) / math.sqrt(len(values["RR"]))
    )
    assert rows["NumRelRet"]["std_error"] is None


def tally_parts(measures: str, qrels: Dicts, run: Dicts, n_parts: int = 5, **judging: Any) -> Tally:
    """Return the tally of several parts, one updated after the other."""
    tally = Tally(measures, **judging)
    for of_qrels, of_run in parts_of(qrels, run, n_parts, 5):
        tally.update(of_qrels or None, of_run or None)
    return tally


@pytest.mark.parametrize(
    "judging",
    [
        {"queries": "both"},
        {"queries": "retrieved"},
        {"queries": "run"},
        {"queries": "relevant"},
        {"ties": "expected"},
        {"depth": 3, "judged_only": True},
        {"scores": "single", "ties": "ascending"},
    ],
    ids=str,
)
def test_options_are_those_of_evaluate(judging: dict[str, Any]) -> None:
    qrels, run = collection(60, 6)
    scores = evaluate(qrels, run, "AP nDCG@5 P@3", **judging)
    totals = tally_parts("AP nDCG@5 P@3", qrels, run, 40, **judging).result()
    assert totals.means() == scores.means(exact=True)
    assert totals.counts == scores.counts


def test_the_highest_grade_of_another_part_counts() -> None:
    first, second = {"q1": {"a": 1, "b": 1}}, {"q2": {"c": 4}}
    run = {"q1": ["a", "x", "b"], "q2": ["x", "c"]}
    measures = "ERR nDCG(ideal='top')@5 AP"
    tally = Tally(measures, top_grade=4)
    tally.update(first, {"q1": run["q1"]})
    tally.update(second, {"q2": run["q2"]})
    assert tally.result().means() == evaluate(first | second, run, measures).means(exact=True)
    for measure in ("ERR", "nERR@5", "nDCG(ideal='top')@5", "IDCG(ideal='top')@5"):
        with pytest.raises(OptionError, match="depends on the highest grade"):
            Tally(f"AP {measure}")
    Tally("AP nDCG@10 ERR(top=4) RBP Q")
    with pytest.raises(InputError, match=r"grade 4 is above top_grade=3"):
        Tally("AP", top_grade=3).update(second, None)


def test_a_measure_that_depends_on_the_highest_grade_is_known_by_random_rankings() -> None:
    """If any of 300 random queries has another value under another grade, it depends on it."""
    chance = random.Random(20261125)
    docs = list("abcdefgh")
    judged = {
        f"q{i}": {doc: chance.randint(0, 2) for doc in chance.sample(docs, 5)} for i in range(300)
    }
    run = {query: chance.sample(docs, 6) for query in judged}
    depend = set()
    for definition in definitions():
        if (
            definition.is_user_defined
            or definition.traits.takes_groups
            or definition.traits.takes_cost
        ):
            continue
        if definition.cutoff_kind == "recall":
            continue
        for k in (1, 2, 5) if definition.cutoff != "none" else (None,):
            measure_name = definition.name if k is None else f"{definition.name}@{k}"
            scores = [
                repr(
                    evaluate(Qrels(judged, top_grade=top), run, measure_name).per_query(
                        measure_name
                    )
                )
                for top in (2, 3)
            ]
            if scores[0] != scores[1]:
                assert depends_on_top_grade(parse(measure_name)), measure_name
                depend.add(definition.name)
    assert {"ERR", "nERR"} <= depend
    assert not depends_on_top_grade(parse("nDCG@1"))
    with pytest.raises(OptionError, match="top_grade"):
        Tally("ERR@1")


def test_nothing_is_added_if_an_error_is_raised() -> None:
    tally = Tally("AP")
    tally.update({"q": {"a": 1}}, {"q": ["a"]}, {"q": "x"})
    before = tally.to_json()
    with pytest.raises(CranfieldError):
        tally.update({"r": {"a": "high"}}, {"r": ["a"]})
    with pytest.raises(CranfieldError):
        tally.update({"r": {"a": 1}}, {"r": ["a", "a"]})
    tally.update(None, None)
    assert tally.to_json() == before


def test_threads_have_a_tally_each() -> None:
    qrels, run = collection(200, 7)

    def tally_part(part: tuple[Dicts, Dicts]) -> Tally:
        tally = Tally("AP nDCG@10")
        tally.update(part[0] or None, part[1] or None)
        return tally

    with ThreadPoolExecutor(4) as pool:
        merged_tally = reduce(Tally.merge, pool.map(tally_part, parts_of(qrels, run, 20, 8)))
    assert merged_tally.result().means() == evaluate(qrels, run, "AP nDCG@10").means(exact=True)


def test_what_cannot_be_merged_or_read_is_refused() -> None:
    tally = Tally("AP", depth=5)
    for other, message in (
        (Tally("RR", depth=5), "different measures: AP and RR"),
        (Tally("AP"), "different options"),
        (Tally("AP", depth=5, top_grade=2), "different top_grade"),
        ("AP", "not with a str"),
    ):
        with pytest.raises(OptionError, match=message):
            tally.merge(other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no query"):
        tally.result()
    tally.update(None, {"q": ["a"]})
    with pytest.raises(InputError, match="has no query"):
        tally.result()
    tally.update({"r": {"a": 1}}, None)
    with pytest.raises(InputError, match="no query of a run has judgments"):
        tally.result()
    with pytest.raises(MeasureError, match="a string"):
        Tally("RelString")
    text = tally.to_json()
    for wrong in ("", "[]", "{}", text.replace('"shared"', '"other"'), text[:-5]):
        with pytest.raises(InputError, match="not the JSON of a tally"):
            Tally.from_json(wrong)
    for wrong in (
        text.replace('"tally": 1', '"tally": 2'),
        text.replace('field": "', 'field": "9'),
    ):
        with pytest.raises(InputError, match="made by cranfield"):
            Tally.from_json(wrong)


def test_a_slice_that_is_missing_is_named() -> None:
    tally = Tally("AP")
    tally.update({"q": {"a": 1}}, {"q": ["a"]})
    with pytest.raises(KeyError, match="short: there are none: update"):
        tally.result().means("short")
    tally.update({"r": {"a": 1}}, {"r": ["a"]}, slices={"r": "long"})
    with pytest.raises(KeyError, match="short: there are long"):
        tally.result().means("short")


def test_a_tally_is_small() -> None:
    qrels, run = collection(300, 9)
    tally = tally_parts("AP nDCG@10 P@5 RR", qrels, run)
    assert len(pickle.dumps(tally)) < 4 * 400 + 2000
    assert len(tally.to_json()) < 4 * 200 + 1000
    assert len(tally.result().rows()) == 4
    assert "queries averaged" in str(tally.result())
