"""Measures of diversity: arithmetic, slow loops, weights; how judgments by subtopic are read."""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import diversity_oracle as oracle
import pytest
from test_measures import variants

from cranfield import (
    InputError,
    Measure,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    definitions,
    evaluate,
    parse,
    read_qrels,
)
from cranfield.judge import judge
from cranfield.measures.registry import Depth

Write = Callable[[str, str], str]
NAMES = [one.name for one in definitions() if one.takes_groups == "subtopics"]
SEEDS = range(40)

# Subtopic 1 wants a or b, subtopic 2 b or c; nothing was found for subtopic 3. The run has a first,
# then an unjudged document, then b. The greedy ideal is b, c, a: c before a, as its id is greater.
JUDGED = {"1": {"a": 1, "b": 3}, "2": {"b": 1, "c": 2, "a": 0}, "3": {"c": 0}}
FOUND = ["a", "x", "b"]
LOG = [math.inf, *(math.log2(rank + 1) for rank in range(1, 4))]  # by rank, from 1

ARITHMETIC = {
    "alpha_DCG@3": (1 / LOG[1] + (0.5 + 1) / LOG[3]) / (2 * (1 / LOG[1] + 0.5 / LOG[2] + 0.25 / 2)),
    "alpha_DCG@1": (1 / LOG[1]) / 2,
    "alpha_nDCG@3": (1 / LOG[1] + 1.5 / LOG[3]) / (2 / LOG[1] + 0.5 / LOG[2] + 0.5 / LOG[3]),
    "alpha_nDCG@1": 1 / 2,
    "alpha_nDCG(alpha=0)": (1 / LOG[1] + 2 / LOG[3]) / (2 / LOG[1] + 1 / LOG[2] + 1 / LOG[3]),
    "alpha_nDCG(rel=2)": (1 / LOG[3]) / (1 / LOG[1] + 1 / LOG[2]),  # b for 1 and c for 2: c, b
    "ERR_IA@3": (1 / 1 + 1.5 / 3) / (2 * (1 / 1 + 0.5 / 2 + 0.25 / 3)),
    "nERR_IA@3": (1 / 1 + 1.5 / 3) / (2 / 1 + 0.5 / 2 + 0.5 / 3),
    "NRBP": (1 + 1.5 / 4) / 2 * (1 - 0.5 * 0.5),
    "NRBP(beta=0.8)": (1 + 1.5 * 0.8 * 0.8) / 2 * (1 - 0.5 * 0.8),
    "nNRBP": (1 + 1.5 / 4) / (2 + 0.5 / 2 + 0.5 / 4),
    "AP_IA": ((1 / 1 + 2 / 3) / 2 + (1 / 3) / 2) / 2,
    "P_IA@3": (2 / 3 + 1 / 3) / 2,
    "StRecall@2": 1 / 2,
    "StRecall": 2 / 2,
    "StRecall(rel=2)@3": 1 / 2,
    "StRecall(rel=3)": 1 / 1,
    # Global gains: b 3 + 1, c 2, a 1.
    "D_nDCG": (1 / LOG[1] + 4 / LOG[3]) / (4 / LOG[1] + 2 / LOG[2] + 1 / LOG[3]),
    "D_nDCG@1": 1 / 4,
    "Dsharp_nDCG@1": 0.5 * (1 / 2) + 0.5 * (1 / 4),
    "Dsharp_nDCG(gamma=1)@2": 1 / 2,
    "alpha_nDCG@R": (1 / LOG[1] + 1.5 / LOG[3]) / (2 / LOG[1] + 0.5 / LOG[2] + 0.5 / LOG[3]),
}


@pytest.mark.parametrize(("name", "value"), ARITHMETIC.items(), ids=ARITHMETIC.keys())
def test_arithmetic(name: str, value: float) -> None:
    assert evaluate({"q": JUDGED}, {"q": FOUND}, name)[name] == pytest.approx(value, rel=1e-15)


def test_a_greedy_ideal_is_not_always_the_best() -> None:
    """It takes c, of three subtopics, first; a and b cover all four in two."""
    subtopics = {"1": {"a": 1, "c": 1}, "2": {"a": 1, "c": 1}, "3": {"b": 1, "c": 1}, "4": {"b": 1}}
    value = evaluate({"q": subtopics}, {"q": ["a", "b"]}, "alpha_nDCG(alpha=1)@2")
    greedy = 3 / math.log2(2) + 1 / math.log2(3)
    assert value["alpha_nDCG(alpha=1)@2"] == pytest.approx((2 + 2 / math.log2(3)) / greedy)
    run = {"q": ["b", "a"]}
    best = {"1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 1, "c": 1}, "4": {"b": 1}}
    assert evaluate({"q": best}, run, "alpha_nDCG@2")["alpha_nDCG@2"] == 1, "b has the greater id"


def by_oracle(
    measure: Measure, run: list[str], subtopics: oracle.Subtopics, weights: Any = None
) -> float:
    cutoff: tuple[int, ...] = ()
    if isinstance(measure.cutoff, Depth):
        rel = measure.parameters.get("rel", 1)
        relevant = {doc for name in subtopics for doc in oracle.relevant_to(subtopics, name, rel)}
        ranks = measure.cutoff.ranks if measure.cutoff.ranks is not None else len(relevant)
        cutoff = (min(ranks, len(relevant)) if measure.cutoff.at_relevant else ranks,)
    return oracle.DIVERSITY[measure.name](
        run, subtopics, *cutoff, **measure.parameters, weights=weights
    )


def test_every_measure_of_subtopics_has_an_oracle() -> None:
    assert set(NAMES) == set(oracle.DIVERSITY)


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_of_subtopics_equals_its_slow_loop_to_the_bit(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.subtopic_collection(seed)
        scores = evaluate(qrels, run, measures)
        for query, subtopics in qrels.items():
            for measure in measures:
                expected = by_oracle(measure, run.get(query, []), subtopics)
                assert scores.per_query(measure)[query] == expected, (measure, seed, query)


@pytest.mark.parametrize("name", NAMES)
def test_weights(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.subtopic_collection(seed)
        chance = random.Random(seed)
        weights = {
            query: {name: chance.choice([0.25, 1, 3]) for name in subtopics}
            for query, subtopics in qrels.items()
        }
        scores = evaluate(list(rows(qrels, weights)), run, measures)
        for query, subtopics in qrels.items():
            total = 0.0
            for one in oracle.by_name(subtopics):
                total += weights[query][one]
            shares = {one: weight / total for one, weight in weights[query].items()}
            for measure in measures:
                expected = by_oracle(measure, run.get(query, []), subtopics, shares)
                assert scores.per_query(measure)[query] == expected, (measure, seed, query)


def rows(qrels: Any, weights: Any = None) -> Iterator[dict[str, Any]]:
    for query, subtopics in qrels.items():
        for subtopic, docs in subtopics.items():
            for doc, grade in docs.items():
                row = {"query_id": query, "subtopic": subtopic, "doc_id": doc, "relevance": grade}
                yield row if weights is None else {**row, "weight": weights[query][subtopic]}


@pytest.mark.parametrize("name", NAMES)
def test_queries_in_both_and_a_depth_and_only_what_is_judged(name: str) -> None:
    measure = next(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.subtopic_collection(seed)
        both = evaluate(qrels, run, measure, queries="both", depth=4)
        assert both.query_ids == sorted(qrels.keys() & run.keys())
        for query in both.query_ids:
            expected = by_oracle(measure, run[query][:4], qrels[query])
            assert both.per_query(measure)[query] == expected


def test_the_best_ranking_is_reckoned_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield import qrels as module

    calls = []
    greedy = module.novel_first

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return greedy(*arguments)

    monkeypatch.setattr(module, "novel_first", counted)
    judged = Qrels({"q": JUDGED})
    runs = [Run({"q": FOUND}, name="a"), Run({"q": ["c"]}, name="b")]
    evaluate(judged, runs, "alpha_nDCG@1 alpha_nDCG@2 nERR_IA nNRBP alpha_nDCG(alpha=0.2)")
    assert len(calls) == 2


def test_plain_judgments_are_a_single_subtopic() -> None:
    run = {"q": FOUND}
    plain = evaluate({"q": JUDGED["2"]}, run, list(map(Measure, ["alpha_nDCG", "D_nDCG", "AP_IA"])))
    grouped = evaluate({"q": {"2": JUDGED["2"]}}, run, plain.measures)
    assert plain.to_dict() == grouped.to_dict()
    assert plain["D_nDCG"] == evaluate({"q": JUDGED["2"]}, run, "nDCG")["nDCG"]


def test_names_of_other_tools() -> None:
    assert str(parse("alpha-nDCG@20")) == "alpha_nDCG@20"
    assert str(parse("D#-nDCG@10")) == str(parse("d#-ndcg@10")) == "Dsharp_nDCG@10"
    assert str(parse("alpha_nDCG(alpha=.3,rel=2)@5")) == "alpha_nDCG(alpha=0.3, rel=2)@5"
    named = "ERR-IA@5 nERR-IA@5 MAP-IA P-IA@5 strec@5 I-rec@5 NRBP nNRBP alpha-DCG@5 D-nDCG"
    found = [str(parse(name)) for name in named.split()]
    assert found == [
        *("ERR_IA@5", "nERR_IA@5", "AP_IA", "P_IA@5", "StRecall@5", "StRecall@5"),
        *("NRBP", "nNRBP", "alpha_DCG@5", "D_nDCG"),
    ]


def test_a_cutoff_that_cannot_be_reckoned_is_refused() -> None:
    with pytest.raises(MeasureError, match="at most 10,000,000 ranks"):
        evaluate({"q": JUDGED}, {"q": FOUND}, "alpha_DCG@100000000")


def test_a_judged_run_holds_the_cutoffs_of_its_queries() -> None:
    """@R counts the documents relevant to any subtopic, and cuts all subtopics there."""
    judged = judge(Qrels({"q": JUDGED}), Run({"q": FOUND})).judged
    assert judged.n_relevant().tolist() == [[3]]
    assert judged.n_relevant(2).tolist() == [[2]]
