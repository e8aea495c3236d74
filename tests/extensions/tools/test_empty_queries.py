"""The conventions of torchmetrics, against loops over its documentation's definitions.

The tool itself is compared in tests/oracles, where torch is installed.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
from helpers.profile import seeds
from helpers.tool_groups import assert_equal, make_groups, score, split_sides

Target = list[int]  # the grades of one query's documents, the highest score first


def precision(target: Target, k: int) -> float:
    return sum(grade > 0 for grade in target[:k]) / k


def recall(target: Target, k: int) -> float:
    return sum(grade > 0 for grade in target[:k]) / sum(grade > 0 for grade in target)


def reciprocal_rank(target: Target, k: int) -> float:
    return next((1 / (i + 1) for i, grade in enumerate(target[:k]) if grade > 0), 0)


def average_precision(target: Target, k: int) -> float:
    ranks = [i + 1 for i, grade in enumerate(target[:k]) if grade > 0]
    return sum((n + 1) / rank for n, rank in enumerate(ranks)) / (len(ranks) or 1)


def hit_rate(target: Target, k: int) -> float:
    return float(any(grade > 0 for grade in target[:k]))


def fall_out(target: Target, k: int) -> float:
    return sum(grade == 0 for grade in target[:k]) / sum(grade == 0 for grade in target)


def discounted_gain(target: Target, k: int) -> float:
    return sum(grade / math.log2(i + 2) for i, grade in enumerate(target[:k]))


def normalized_gain(target: Target, k: int) -> float:
    return discounted_gain(target, k) / discounted_gain(sorted(target, reverse=True), k)


def area(target: Target, k: int) -> float:
    """Pairs in order; 0 where the list has documents of one kind only."""
    is_relevant = [grade > 0 for grade in target[:k]]
    pairs = [
        (i, j)
        for i, above in enumerate(is_relevant)
        for j, below in enumerate(is_relevant)
        if above > below
    ]
    return sum(i < j for i, j in pairs) / (len(pairs) or 1)


MEASURES: dict[str, Callable[[Target, int], float]] = {
    "P": precision,
    "R": recall,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "Success": hit_rate,
    "FallOut": fall_out,
    "nDCG": normalized_gain,
    "AUC": area,
}
EMPTY = {"": 0.0, "-pos": 1.0, "-skip": None}


@pytest.mark.parametrize("suffix", EMPTY)
@pytest.mark.parametrize("name", ["torchmetrics", "torchmetrics-retrieved"])
def test_what_a_query_without_a_relevant_document_counts(name: str, suffix: str) -> None:
    """For fall-out it is a query without a document that is not relevant."""
    for seed in seeds(40):
        groups = make_groups(seed, ties=False)
        qrels, run = split_sides(groups)
        for k in (1, 3, 10):
            expected: dict[str, float] = {}
            for measure, compute in MEASURES.items():
                values: list[Any] = []
                for group in groups:
                    target = [grade for grade, _ in sorted(group, key=lambda row: -row[1])]
                    is_full = any(
                        grade == 0 if measure == "FallOut" else grade > 0 for grade in target
                    )
                    values.append(compute(target, k) if is_full else EMPTY[suffix])
                numbers = [value for value in values if value is not None]
                expected[f"{measure}@{k}"] = sum(numbers) / len(numbers)
            assert_equal(score(qrels, run, [*expected], name + suffix), expected, (seed, k), 1e-12)


def test_what_was_not_retrieved() -> None:
    """Of a, b, c the last two are relevant, and c was not retrieved: it is ranked below."""
    qrels, run = {"q": {"a": 0, "b": 1, "c": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    ideal, ranking = 2 + 1 / math.log2(3), 1 / math.log2(3)
    expected = {
        "torchmetrics": (ranking + 2 / math.log2(4)) / ideal,
        "torchmetrics-retrieved": ranking / 1,
    }
    for name, value in expected.items():
        assert score(qrels, run, ["nDCG"], name)["nDCG"] == pytest.approx(value)
    assert score(qrels, run, ["R@2"], "torchmetrics")["R@2"] == 1 / 2
    assert score(qrels, run, ["R@2"], "torchmetrics-retrieved")["R@2"] == 1 / 1


def test_a_query_is_empty_where_nothing_relevant_was_given() -> None:
    """What was retrieved has no relevant document, though there is one."""
    qrels, run = {"q": {"a": 0, "c": 2}, "r": {"a": 1}}, {"q": {"a": 2.0}, "r": {"a": 1.0}}
    for measure in ("nDCG", "RR", "Success@1", "P@1"):
        for suffix, value in (("", (0 + 1) / 2), ("-pos", (1 + 1) / 2), ("-skip", 1 / 1)):
            name = f"torchmetrics-retrieved{suffix}"
            assert score(qrels, run, [measure], name)[measure] == value, (measure, name)
