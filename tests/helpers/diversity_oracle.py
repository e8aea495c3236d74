"""Measures of diversity as slow loops, written from their definitions.

A run is a list of documents, best first; the judgments of a query are {subtopic: {document: grade}}
and perhaps {subtopic: weight}. Sums run left to right: the ranks of a subtopic, then the subtopics
in the order of their names.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Subtopics = Mapping[str, Mapping[str, int]]
Weights = Mapping[str, float] | None


def divide(a: float, b: float) -> float:
    return a / b if b else 0.0


def sort_names(subtopics: Subtopics) -> list[str]:
    return sorted(subtopics, key=str.encode)


def relevant_docs(subtopics: Subtopics, name: str, rel: int) -> set[str]:
    return {doc for doc, grade in subtopics[name].items() if grade >= rel}


def subtopic_weights(subtopics: Subtopics, rel: int, weights: Weights) -> dict[str, float]:
    if weights is not None:
        return dict(weights)
    return {name: float(bool(relevant_docs(subtopics, name, rel))) for name in subtopics}


def weighted_mean(
    subtopics: Subtopics, rel: int, weights: Weights, subtopic_value: Callable[[str], float]
) -> float:
    weight = subtopic_weights(subtopics, rel, weights)
    total, weight_sum = 0.0, 0.0
    for name in sort_names(subtopics):
        total += weight[name] * subtopic_value(name)
        weight_sum += weight[name]
    return divide(total, weight_sum)


def sum_novelty(
    run: Sequence[str],
    subtopics: Subtopics,
    alpha: float,
    rel: int,
    weights: Weights,
    doc_gain: Callable[[float, int], float],
) -> float:
    """Add up `doc_gain(novelty, rank)` of the relevant documents of each subtopic, and average."""

    def subtopic_value(name: str) -> float:
        relevant, total, novelty = relevant_docs(subtopics, name, rel), 0.0, 1.0
        for rank, doc in enumerate(run, 1):
            if doc in relevant:
                total += doc_gain(novelty, rank)
                novelty *= 1 - alpha
        return total

    return weighted_mean(subtopics, rel, weights, subtopic_value)


def rank_greedily(subtopics: Subtopics, alpha: float, rel: int, weights: Weights) -> list[str]:
    weight = subtopic_weights(subtopics, rel, weights)
    remaining_docs = {doc for name in subtopics for doc in relevant_docs(subtopics, name, rel)}
    novelty = dict.fromkeys(subtopics, 1.0)
    ranking: list[str] = []
    while remaining_docs:
        best_doc, largest_gain = "", -1.0
        for doc in sorted(remaining_docs, key=str.encode):
            gain = 0.0
            for name in sort_names(subtopics):
                if doc in relevant_docs(subtopics, name, rel):
                    gain += weight[name] * novelty[name]
            if gain >= largest_gain:
                best_doc, largest_gain = doc, gain
        ranking.append(best_doc)
        remaining_docs.remove(best_doc)
        for name in subtopics:
            if best_doc in relevant_docs(subtopics, name, rel):
                novelty[name] *= 1 - alpha
    return ranking


def logarithmic_gain(novelty: float, rank: int) -> float:
    return novelty / math.log2(rank + 1)


def linear_gain(novelty: float, rank: int) -> float:
    return novelty / rank


def normalize_by_ideal(doc_gain: Callable[[float, int], float]) -> Callable[..., float]:
    def normalized_measure(
        run: Sequence[str],
        subtopics: Subtopics,
        k: int | None = None,
        alpha: float = 0.5,
        rel: int = 1,
        weights: Weights = None,
    ) -> float:
        ideal = rank_greedily(subtopics, alpha, rel, weights)
        return divide(
            sum_novelty(run[:k], subtopics, alpha, rel, weights, doc_gain),
            sum_novelty(ideal[:k], subtopics, alpha, rel, weights, doc_gain),
        )

    return normalized_measure


def normalize_by_maximum(doc_gain: Callable[[float, int], float]) -> Callable[..., float]:
    def normalized_measure(
        run: Sequence[str],
        subtopics: Subtopics,
        k: int,
        alpha: float = 0.5,
        rel: int = 1,
        weights: Weights = None,
    ) -> float:
        maximum, novelty = 0.0, 1.0
        for rank in range(1, k + 1):
            maximum += doc_gain(novelty, rank)
            novelty *= 1 - alpha
        return divide(sum_novelty(run[:k], subtopics, alpha, rel, weights, doc_gain), maximum)

    return normalized_measure


def rank_biased_gain(beta: float) -> Callable[[float, int], float]:
    def doc_gain(novelty: float, rank: int) -> float:
        patience = 1.0
        for _ in range(1, rank):
            patience *= beta
        return novelty * patience

    return doc_gain


def nrbp(
    run: Sequence[str],
    subtopics: Subtopics,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: int = 1,
    weights: Weights = None,
) -> float:
    rank_biased_sum = sum_novelty(run, subtopics, alpha, rel, weights, rank_biased_gain(beta))
    return rank_biased_sum * (1 - (1 - alpha) * beta)


def n_nrbp(run: Sequence[str], subtopics: Subtopics, beta: float = 0.5, **parameters: Any) -> float:
    score: float = normalize_by_ideal(rank_biased_gain(beta))(run, subtopics, **parameters)
    return score


def ap_ia(
    run: Sequence[str],
    subtopics: Subtopics,
    k: int | None = None,
    rel: int = 1,
    weights: Weights = None,
) -> float:
    def subtopic_ap(name: str) -> float:
        relevant, n_hits, total = relevant_docs(subtopics, name, rel), 0, 0.0
        for rank, doc in enumerate(run[:k], 1):
            if doc in relevant:
                n_hits += 1
                total += n_hits / rank
        return divide(total, len(relevant))

    return weighted_mean(subtopics, rel, weights, subtopic_ap)


def p_ia(
    run: Sequence[str], subtopics: Subtopics, k: int, rel: int = 1, weights: Weights = None
) -> float:
    def subtopic_precision(name: str) -> float:
        return divide(len(relevant_docs(subtopics, name, rel) & set(run[:k])), k)

    return weighted_mean(subtopics, rel, weights, subtopic_precision)


def st_recall(
    run: Sequence[str],
    subtopics: Subtopics,
    k: int | None = None,
    rel: int = 1,
    weights: Weights = None,
) -> float:
    relevant = [relevant_docs(subtopics, name, rel) for name in subtopics]
    n_covered = sum(1 for docs in relevant if docs & set(run[:k]))
    return divide(n_covered, sum(1 for docs in relevant if docs))


def d_ndcg(
    run: Sequence[str], subtopics: Subtopics, k: int | None = None, weights: Weights = None
) -> float:
    weight = subtopic_weights(subtopics, 1, weights)
    doc_gain: dict[str, float] = {}
    for name in sort_names(subtopics):
        for doc, grade in subtopics[name].items():
            doc_gain[doc] = doc_gain.get(doc, 0.0) + weight[name] * max(grade, 0)
    ideal = sorted(sorted(doc_gain, key=str.encode, reverse=True), key=lambda doc: -doc_gain[doc])

    def discount_gains(ranking: Sequence[str]) -> float:
        def subtopic_dcg(name: str) -> float:
            total = 0.0
            for rank, doc in enumerate(ranking[:k], 1):
                total += max(subtopics[name].get(doc, 0), 0) / math.log2(rank + 1)
            return total

        return weighted_mean(subtopics, 1, weights, subtopic_dcg)

    return divide(discount_gains(run), discount_gains(ideal))


def dsharp_ndcg(
    run: Sequence[str],
    subtopics: Subtopics,
    k: int | None = None,
    gamma: float = 0.5,
    weights: Weights = None,
) -> float:
    return gamma * st_recall(run, subtopics, k) + (1 - gamma) * d_ndcg(run, subtopics, k, weights)


DIVERSITY: dict[str, Callable[..., float]] = {
    "alpha_nDCG": normalize_by_ideal(logarithmic_gain),
    "alpha_DCG": normalize_by_maximum(logarithmic_gain),
    "nERR_IA": normalize_by_ideal(linear_gain),
    "ERR_IA": normalize_by_maximum(linear_gain),
    "nNRBP": n_nrbp,
    "NRBP": nrbp,
    "AP_IA": ap_ia,
    "P_IA": p_ia,
    "StRecall": st_recall,
    "D_nDCG": d_ndcg,
    "Dsharp_nDCG": dsharp_ndcg,
}


def single_subtopic_measure(measure: Callable[..., float]) -> Callable[..., float]:
    """Return a measure of subtopics as one of plain judgments, which are a single subtopic."""

    def plain_measure(
        ranking: Sequence[int | None], grades: Sequence[int], *k: int, **parameters: Any
    ) -> float:
        missing_grades = list(grades)
        docs: dict[str, int] = {}
        for i, grade in enumerate(ranking):
            if grade is not None:
                docs[f"{i:06}"] = grade
                missing_grades.remove(grade)
        docs |= {f"missing {i}": grade for i, grade in enumerate(missing_grades)}
        return measure([f"{i:06}" for i in range(len(ranking))], {"all": docs}, *k, **parameters)

    return plain_measure


def make_subtopic_collection(
    seed: int, n_queries: int = 6, *, grades: Sequence[int] = (-1, 0, 1, 1, 2, 3)
) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, list[str]]]:
    """Make judgments by subtopic, in which documents recur, and a run of distinct ranks."""
    chance = random.Random(seed)
    qrels: dict[str, dict[str, dict[str, int]]] = {}
    run: dict[str, list[str]] = {}
    for i in range(n_queries):
        pool = [f"{chance.choice('dé')}{number}" for number in range(14)]
        qrels[f"q{i}"] = {
            name: {doc: chance.choice(grades) for doc in chance.sample(pool, chance.randint(1, 9))}
            for name in chance.sample(["1", "2", "10", "é"], chance.randint(1, 4))
        }
        if chance.random() < 0.9:
            run[f"q{i}"] = chance.sample([*pool, "x", "y"], chance.randint(1, 12))
    run.setdefault("q0", ["x"])
    return qrels, run
