"""Each measure as a slow loop, written from its definition; and collections to try them on.

A ranking is a list of grades in rank order, None where the document is unjudged; the judgments of
a query are the list of all its grades. Sums run left to right.
"""

import inspect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import pytest

from cranfield import Measure
from cranfield.measures.parameters import Depth
from helpers import diversity_oracle
from helpers.diversity_oracle import divide as divide

Ranking = Sequence[int | None]
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


# ---- measures -------------------------------------------------------------------------------


def count_hits(ranking: Ranking, rel: int, k: int | None = None) -> int:
    return sum(1 for grade in ranking[:k] if grade is not None and grade >= rel)


def n_relevant(grades: Sequence[int], rel: int) -> int:
    return sum(1 for grade in grades if grade >= rel)


def sum_in_order(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def p(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1, over: str = "cutoff") -> float:
    return divide(count_hits(ranking, rel, k), len(ranking[:k]) if over == "returned" else k)


def r(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1, over: str = "judged") -> float:
    denominators = {
        "judged": n_relevant(grades, rel),
        "reachable": min(k, n_relevant(grades, rel)),
        "retrieved": count_hits(ranking, rel),
    }
    return divide(count_hits(ranking, rel, k), denominators[over])


def mean_p(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    """Add up the share of each hit in P@1, ..., P@k; test_denominators.py has their mean."""
    ranks = relevant_ranks(ranking, rel, k)
    sums = list(accumulate((1 / i for i in range(1, k + 1)), initial=0.0))
    return divide(len(ranks) * sums[k] - sum_in_order([sums[rank - 1] for rank in ranks]), k)


def f(
    ranking: Ranking,
    grades: Sequence[int],
    k: int,
    beta: float = 1.0,
    x: float | None = None,
    rel: int = 1,
) -> float:
    precision, recall = p(ranking, grades, k, rel), r(ranking, grades, k, rel)
    x = beta * beta if x is None else x
    return divide((1 + x) * precision * recall, x * precision + recall)


def rel_p(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    return divide(count_hits(ranking, rel, k), min(k, n_relevant(grades, rel)))


def success(ranking: Ranking, grades: Sequence[int], k: int | None = None, rel: int = 1) -> float:
    return 1.0 if count_hits(ranking, rel, k) else 0.0


def rprec(ranking: Ranking, grades: Sequence[int], multiple: float = 1.0, rel: int = 1) -> float:
    ranks = int(multiple * n_relevant(grades, rel) + 0.9)
    return divide(count_hits(ranking, rel, ranks), ranks)


def relevant_ranks(ranking: Ranking, rel: int, k: int | None = None) -> list[int]:
    """Return the ranks of the relevant documents."""
    return [rank for rank, g in enumerate(ranking[:k], 1) if g is not None and g >= rel]


def rr(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    rel: int = 1,
    over: str = "first",
) -> float:
    reciprocal_ranks = [1 / rank for rank in relevant_ranks(ranking, rel, k)]
    terms = reciprocal_ranks[:1] if over == "first" else reciprocal_ranks
    return divide(sum_in_order(terms), len(terms))


def sum_precisions(ranking: Ranking, rel: int, k: int | None = None) -> float:
    """Add up the precision at the rank of each relevant document."""
    return sum_in_order([n / rank for n, rank in enumerate(relevant_ranks(ranking, rel, k), 1)])


def ap(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    rel: int = 1,
    over: str = "judged",
    tie_rank: str = "own",  # nothing is tied here
) -> float:
    denominator = n_relevant(grades, rel)
    if over == "reachable" and k is not None:
        denominator = min(k, denominator)
    if over == "retrieved":
        denominator = sum(1 for grade in ranking[:k] if grade is not None and grade >= rel)
    if over == "returned":
        denominator = min(denominator, len(ranking[:k]))
    if over == "cutoff" and k is not None:
        denominator = k
    return divide(sum_precisions(ranking, rel, k), denominator)


def bpref(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    n_rel = n_relevant(grades, rel)
    n_nonrelevant = sum(1 for grade in grades if 0 <= grade < rel)
    n_above, total = 0, 0.0
    for grade in ranking:
        if grade is None or grade < 0:
            continue
        if grade < rel:
            n_above += 1
        elif n_above:
            total += 1.0 - min(n_above, n_rel) / min(n_nonrelevant, n_rel)
        else:
            total += 1.0
    return divide(total, n_rel)


def iprec(
    ranking: Ranking, grades: Sequence[int], recall: float, version: int = 10, rel: int = 1
) -> float:
    exact_count = recall * n_relevant(grades, rel)
    n_needed = math.floor(exact_count) + (1 if exact_count - math.floor(exact_count) >= 0.5 else 0)
    if version == 9:
        n_needed = int(exact_count + 0.9)
    best_precision, n_hits = 0.0, 0
    for rank, grade in enumerate(ranking, 1):
        n_hits += grade is not None and grade >= rel
        if n_hits >= n_needed:
            best_precision = max(best_precision, n_hits / rank)
    return best_precision


def iap(
    ranking: Ranking,
    grades: Sequence[int],
    points: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    version: int = 10,
    rel: int = 1,
) -> float:
    interpolated_precisions = [
        iprec(ranking, grades, point, version, rel) for point in reversed(points)
    ]
    return sum_in_order(interpolated_precisions) / len(points)


def infap(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    total, n_rel, n_nonrelevant, n_unjudged = 0.0, 0, 0, 0
    for rank, grade in enumerate(ranking, 1):
        if grade is None:
            continue
        if grade >= rel:
            if rank == 1:
                total += 1
            else:
                n_above = rank - 1.0
                share = (n_rel + n_nonrelevant + n_unjudged) / n_above
                precision = (n_rel + 1e-5) / (n_rel + n_nonrelevant + 2 * 1e-5)
                total += 1 / (n_above + 1) + n_above / (n_above + 1) * share * precision
            n_rel += 1
        elif grade >= 0:
            n_nonrelevant += 1
        else:
            n_unjudged += 1
    return divide(total, n_relevant(grades, rel))


def bing(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    ranks = relevant_ranks(ranking, rel)
    total = sum_in_order([1 / math.log2(2 + rank - n) for n, rank in enumerate(ranks, 1)])
    return divide(total, n_relevant(grades, rel))


def yaap(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    total = sum_precisions(ranking, rel)
    return math.log((1 + total) / (1 + n_relevant(grades, rel) - total))


def unjudged_share(ranking: Ranking, grades: Sequence[int], k: int) -> float:
    return sum(1 for grade in ranking[:k] if grade is None or grade < 0) / k if k else 0.0


def relstring(ranking: Ranking, grades: Sequence[int], k: int | None = None) -> str:
    return "".join(
        "-" if grade is None else "." if grade < 0 else ">" if grade > 9 else str(grade)
        for grade in ranking[:k]
    )


def rbp(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    p: float = 0.8,
    gain: Any = None,
    rel: int = 1,
) -> float:
    top = max([0, *grades])
    gains = [gain_of(0, gain), gain_of(top, gain)]
    if isinstance(gain, Mapping):
        gains = [*(gain_of(level, gain) for level in range(int(top) + 1)), *gain.values()]
    lowest_gain, highest_gain = min(gains), max(gains)
    total, weight = 0.0, 1.0
    for grade in ranking[:k]:
        if gain is None and grade is not None and grade >= rel:
            total += weight
        elif gain is not None and grade is not None and grade >= 0:
            doc_gain = gain_of(grade, gain)
            if lowest_gain < 0 or highest_gain > 1:
                doc_gain = divide(doc_gain - lowest_gain, highest_gain - lowest_gain)
            total += doc_gain * weight
        weight *= p
    return (1 - p) * total


def rbp_residual(
    ranking: Ranking, grades: Sequence[int], p: float = 0.8, tail: str = "counts"
) -> float:
    total, weight, has_unjudged = 0.0, 1.0, False
    for grade in ranking:
        if grade is None or grade < 0:
            total += weight
            has_unjudged = True
        weight *= p
    return (weight if has_unjudged or tail == "counts" else 0.0) + (1 - p) * total


def compat(
    ranking: Ranking,
    grades: Sequence[int],
    p: float = 0.95,
    normalize: bool = True,
    depth: int = 1000,
) -> float:
    """Add up each document's share of the overlaps; test_agreement.py has them depth by depth."""
    weights, weight = [], 1.0
    for i in range(1, depth + 1):
        weights.append(weight / i)
        weight *= p

    def sum_weights(first_depth: int) -> float:
        return sum_in_order(weights[first_depth - 1 :][::-1])

    n_found_of_grade: dict[int, int] = {}
    score = ideal_score = maximum = 0.0
    for rank, grade in enumerate(ranking, 1):
        if grade is not None and grade > 0:
            n_found_of_grade[grade] = n_found_of_grade.get(grade, 0) + 1
            score += sum_weights(
                max(rank, sum(g > grade for g in grades) + n_found_of_grade[grade])
            )
    for ideal_rank in range(1, sum(g > 0 for g in grades) + 1):
        ideal_score += sum_weights(ideal_rank)
    weight = 1.0
    for _ in range(depth):
        maximum += weight
        weight *= p
    return divide(score, ideal_score if normalize else maximum)


def judged_share(ranking: Ranking, grades: Sequence[int], k: int | None = None) -> float:
    ranking_top = ranking[:k]
    return divide(sum(1 for grade in ranking_top if grade is not None), len(ranking_top))


def gain_of(grade: int | None, gain: Any) -> float:
    if grade is None:
        return 0.0
    if gain == "exp2":
        return float(2**grade - 1) if grade > 0 else 0.0
    if gain == "binary" or isinstance(gain, tuple):
        return float(grade >= (1 if gain == "binary" else gain[1]))
    if isinstance(gain, Mapping) and grade in gain:
        return float(gain[grade])
    return float(max(grade, 0))


def divisor(rank: int, discount: Any) -> float:
    if discount == "none":
        return 1.0
    if discount == "zipf":
        return float(rank)
    if discount == "ln":
        return math.log(rank) if rank > 1 else 1.0
    if discount == "jk" or discount[0] == "jk":
        base = 2.0 if discount == "jk" else discount[1]
        return 1.0 if rank < base else math.log2(rank) / math.log2(base)
    if discount[0] == "power":
        return float(math.pow(rank, discount[1]))
    return math.log2(rank + 1)


def sum_discounted(values: Sequence[float], discount: Any, k: int) -> float:
    """Add up the values, rank by rank; `k` is the cutoff or the number of documents retrieved."""
    if discount == "linear":  # (k + 1 - i) / k, with one division
        value_sum, rank_weighted_sum = 0.0, 0.0
        for rank, value in enumerate(values[:k], 1):
            value_sum += value
            rank_weighted_sum += value * rank
        return divide((k + 1) * value_sum - rank_weighted_sum, k)
    return sum_in_order([value / divisor(rank, discount) for rank, value in enumerate(values, 1)])


def ideal_gains(grades: Sequence[int], gain: Any) -> list[float]:
    """Return the gains above 0, the highest first."""
    return sorted((value for g in grades if (value := gain_of(g, gain)) > 0), reverse=True)


def dcg(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    gain: Any = "linear",
    discount: Any = "log2",
) -> float:
    end = len(ranking) if k is None else k
    return sum_discounted([gain_of(grade, gain) for grade in ranking[:k]], discount, end)


def idcg(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    gain: Any = "linear",
    discount: Any = "log2",
    ideal: str = "judged",
    top_grade: int = 0,
) -> float:
    if ideal == "returned":
        k = len(ranking[:k])
    depth = len(ranking) if k is None else k
    if ideal == "top":
        best = [gain_of(top_grade, gain)] * depth
    else:
        grade_pool = [g for g in ranking if g is not None] if ideal == "retrieved" else grades
        best = ideal_gains(grade_pool, gain)
    if ideal == "uncut":
        return sum_discounted(best, discount, len(best))
    return sum_discounted(best[:k], discount, depth)


def ndcg(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    gain: Any = "linear",
    discount: Any = "log2",
    ideal: str = "judged",
    top_grade: int = 0,
) -> float:
    ideal_dcg = idcg(ranking, grades, k, gain, discount, ideal, top_grade)
    return divide(dcg(ranking, grades, k, gain, discount), ideal_dcg)


def ndcg_rel(ranking: Ranking, grades: Sequence[int], gain: Any = "linear") -> float:
    n_gaining = len(ideal_gains(grades, gain))
    total, n_hits = 0.0, 0
    for rank, grade in enumerate(ranking, 1):
        if gain_of(grade, gain) > 0:
            total += divide(
                dcg(ranking, grades, rank, gain),
                idcg(ranking, grades, min(rank, n_gaining), gain),
            )
            n_hits += 1
    missing_sum = (n_gaining - n_hits) * dcg(ranking, grades, None, gain)
    total += divide(missing_sum, idcg(ranking, grades, None, gain))
    return divide(total, n_gaining)


def rndcg(ranking: Ranking, grades: Sequence[int], gain: Any = "linear", rel: int = 1) -> float:
    ideal = ideal_gains(grades, gain)
    total, n_points = 0.0, 0
    for rank, value in enumerate(ideal, 1):
        if rank == len(ideal) or ideal[rank] != value:
            total += divide(dcg(ranking, grades, rank, gain), idcg(ranking, grades, rank, gain))
            n_points += 1
    if len(ranking) >= len(ideal) + 2:
        total += divide(dcg(ranking, grades, None, gain), idcg(ranking, grades, None, gain))
        n_points += 1
    return divide(total, n_points) if n_relevant(grades, rel) else 0.0


def g(ranking: Ranking, grades: Sequence[int], gain: Any = "linear") -> float:
    ideal = ideal_gains(grades, gain)
    cost, gain_sum, total = 0.0, 0.0, 0.0
    for i, grade in enumerate(ranking):
        cost += max(ideal[i], 1) if i < len(ideal) else 1
        gain_sum += gain_of(grade, gain)
        total += gain_of(grade, gain) / math.log2(2 + cost - gain_sum)
    return divide(total, sum_in_order(ideal))


def set_measure(measure: Callable[..., float]) -> Callable[..., float]:
    """Return a measure of the set retrieved: `measure` cut at the number of documents retrieved."""
    return lambda ranking, grades, **parameters: measure(
        ranking, grades, len(ranking), **parameters
    )


def set_ap(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    n_hits = count_hits(ranking, rel)
    return divide(n_hits * n_hits, len(ranking) * n_relevant(grades, rel))


def num_nonrel_ret(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return float(sum(1 for grade in ranking if grade is not None and 0 <= grade < rel))


def utility(
    ranking: Ranking,
    grades: Sequence[int],
    weights: Sequence[float] = (1, -1, 0, 0),
    collection: int = 0,
    rel: int = 1,
) -> float:
    n_hits, n_retrieved, n_rel = count_hits(ranking, rel), len(ranking), n_relevant(grades, rel)
    hit_weight, nonrelevant_weight, missed_weight, rejected_weight = weights
    total = (
        hit_weight * n_hits
        + nonrelevant_weight * (n_retrieved - n_hits)
        + missed_weight * (n_rel - n_hits)
    )
    return total + rejected_weight * (collection + n_hits - n_retrieved - n_rel)


# ---- C/W/L ----------------------------------------------------------------------------------


def cwl_gain(grade: int | None, gain: Any, top: int, unjudged: float) -> float:
    if grade is None:
        return unjudged
    if isinstance(gain, Mapping) and grade in gain:
        return float(gain[grade])
    if gain == "binary" or isinstance(gain, tuple):
        return gain_of(grade, gain)
    grade = min(max(grade, 0), top)
    if gain == "exp2":
        return divide(2**grade - 1, 2**top - 1)
    return divide(grade, top)


def cwl_continuation(
    name: str,
    rank: int,
    k: float,
    total_gain: float,
    total_cost: float,
    g: Sequence[float],
    *,
    T: float,
    p: float = 0.9,
    b1: float = 0.9,
    R1: float = 1.0,
    A: float = 0.2,
    b2: float = 0.9,
    R2: float = 1.0,
    hb: float = 1.0,
    hc: float = 1.0,
    med: float = 0.5,
) -> float:
    """Return the probability that a user goes on from a rank to the next."""
    if name == "P":
        return 1.0 if rank < k else 0.0
    if name == "RBP":
        return p
    if name == "RR":
        return 0.0 if total_gain else 1.0
    if name == "SDCG":
        return math.log2(rank + 1) / math.log2(rank + 2) if rank < k else 0.0
    if name == "INSQ":
        return square((rank + 2 * T - 1) / (rank + 2 * T))
    if name == "INST":
        return square((rank + T + (T - total_gain) - 1) / (rank + T + (T - total_gain)))
    if name.startswith("IFT"):
        goal_probability = 1 - 1 / (1 + b1 * math.exp(min(600.0, R1 * (T - total_gain))))
        rate_probability = 1 / (1 + b2 * math.exp(min(600.0, R2 * (A - total_gain / total_cost))))
        return {
            "IFT_C1": goal_probability,
            "IFT_C2": rate_probability,
            "IFT": goal_probability * rate_probability,
        }[name]
    if name == "BPM":
        return 1.0 if total_gain < T and total_cost < k else 0.0
    if name == "BPM_dynamic":
        for value in g[: rank - 1]:
            T += hb * (value - med)
            k += hc * (value - med)
        return 1.0 if total_gain < T and total_cost < k else 0.0
    if name == "NERR8":
        return 1 - g[rank - 1] if rank < k else 0.0
    if name == "NERR9":
        return rank / (rank + 1) * (1 - g[rank - 1]) if rank < k else 0.0
    if name == "NERR10":
        return p * (1 - g[rank - 1])
    if name == "NERR11":
        return square((rank + 2 * T - 1) / (rank + 2 * T)) * (1 - g[rank - 1])
    raise KeyError(name)


def cwl_weights(
    name: str,
    g: Sequence[float],
    c: Sequence[float],
    n_gaining: int,
    *,
    h: float = 224.0,
    L: float = 1000.0,
) -> list[float]:
    n = len(g)
    gain_sums, cost_sums = list(accumulate(g)), list(accumulate(c))
    if name == "TrAP":
        return [
            (gain_sum or 1.0) / (cost_sum * max(n_gaining, 1))
            for gain_sum, cost_sum in zip(gain_sums, cost_sums, strict=True)
        ]
    if name == "AP":
        weights = list(accumulate(g[i] / (i + 1) for i in range(n - 1, -1, -1)))[::-1]
    elif name == "TBG":
        weights = [
            math.exp(cost_above * -(math.log(2) / h)) for cost_above in [0.0, *cost_sums[:-1]]
        ]
    else:
        weights = [max(0.0, 1 - cost_above / L) for cost_above in [0.0, *cost_sums[:-1]]]
    total = sum_in_order(weights)
    return [weight / total for weight in weights] if total else [1.0] + [0.0] * (n - 1)


def parse_model(text: str) -> tuple[str, dict[str, float]]:
    name, _, parameter_text = text.rstrip(")").partition("(")
    pairs = [pair.split("=") for pair in parameter_text.split(", ") if pair]
    return name, {key: float(value) for key, value in pairs}


def cwl(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    model: str = "RBP",
    value: str = "EU",
    gain: Any = "linear",
    top: int | None = None,
    depth: int = 1000,
    unjudged: float = 0.0,
    top_grade: int | None = None,
    costs: Sequence[float] = (),
) -> float:
    top = top or top_grade or max([0, *grades])
    padded_ranking = [*ranking[:depth], *[None] * (depth - len(ranking))]
    gains = [cwl_gain(grade, gain, top, unjudged) for grade in padded_ranking]
    costs_by_rank = [*costs[:depth], *[1.0] * (depth - len(costs))]
    name, parameters = parse_model(model)
    budget = parameters.pop("K", k or 0)
    if name in ("AP", "TrAP", "TBG", "U"):
        n_gaining = sum(1 for grade in grades if cwl_gain(grade, gain, top, 0) > 0)
        if unjudged:
            n_gaining = max(n_gaining, sum(1 for doc_gain in gains if doc_gain > 0))
        weights = cwl_weights(name, gains, costs_by_rank, n_gaining, **parameters)
        reach = [weight / weights[0] for weight in weights]
        stop = [a - b for a, b in zip(reach, [*reach[1:], 0.0], strict=True)]
    else:
        parameters = {"T": 2.0 if name.startswith("IFT") else 1.0, **parameters}
        reach, stop, chance, total_gain, total_cost = [], [], 1.0, 0.0, 0.0
        for rank in range(1, depth + 1):
            total_gain += gains[rank - 1]
            total_cost += costs_by_rank[rank - 1]
            continuation = 0.0
            if chance:  # where nobody comes, nobody goes on
                continuation = cwl_continuation(
                    name, rank, budget, total_gain, total_cost, gains, **parameters
                )
            reach.append(chance)
            stop.append(chance * (1 - continuation))
            chance *= continuation
        total = sum_in_order(reach)
        weights = [probability / total for probability in reach]
    if value == "EU":
        return sum_in_order([a * b for a, b in zip(weights, gains, strict=True)])
    if value == "EC":
        return sum_in_order([a * b for a, b in zip(weights, costs_by_rank, strict=True)])
    if value == "ETU":
        return sum_in_order([a * b for a, b in zip(stop, accumulate(gains), strict=True)])
    if value == "ETC":
        return sum_in_order([a * b for a, b in zip(stop, accumulate(costs_by_rank), strict=True)])
    return 1 / weights[0]


def square(x: float) -> float:
    return x * x


# ---- grades as probabilities, NTCIR, review ---------------------------------------------------


def stop_probability(grade: int | None, stop: Any, top: int) -> float:
    if grade is None:
        return 0.0
    if isinstance(stop, Mapping):
        return float(stop.get(grade, 0))
    positive_grade = max(grade, 0)
    return (
        positive_grade / (top + 1) if stop == "linear" else float((2**positive_grade - 1) / 2**top)
    )


def expected_reciprocal_rank(chances: Sequence[float]) -> float:
    total, continuation = 0.0, 1.0
    for rank, p in enumerate(chances, 1):
        total += continuation * p / rank
        continuation *= 1 - p
    return total


def err(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    stop: Any = "exp2",
    top: int | None = None,
    top_grade: int = 0,
) -> float:
    scale = (top_grade if top_grade > 0 else 1) if top is None else top
    return expected_reciprocal_rank([stop_probability(grade, stop, scale) for grade in ranking[:k]])


def nerr(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    stop: Any = "exp2",
    top: int | None = None,
    top_grade: int = 0,
) -> float:
    scale = (top_grade if top_grade > 0 else 1) if top is None else top
    ideal_chances = sorted((stop_probability(grade, stop, scale) for grade in grades), reverse=True)
    return divide(
        err(ranking, grades, k, stop, top, top_grade), expected_reciprocal_rank(ideal_chances[:k])
    )


def gap(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    share: Any = "uniform",
    top_grade: int = 0,
) -> float:
    shares = dict.fromkeys(range(1, top_grade + 1), 1.0) if share == "uniform" else share
    gap_sum, maximum = 0.0, 0.0
    for rel, share_of_level in shares.items():
        gap_sum += share_of_level * sum_precisions(ranking, rel, k)
        maximum += share_of_level * n_relevant(grades, rel)
    return divide(gap_sum, maximum)


def blended_ratios(
    ranking: Ranking, grades: Sequence[int], gain: Any, beta: float
) -> list[tuple[int, float, float]]:
    """Return (rank, gain, blended ratio) of each document whose gain is above 0."""
    ideal = ideal_gains(grades, gain)
    ratios: list[tuple[int, float, float]] = []
    gain_sum, ideal_sum = 0.0, 0.0
    for rank, grade in enumerate(ranking, 1):
        ideal_sum += ideal[rank - 1] if rank <= len(ideal) else 0.0
        doc_gain = gain_of(grade, gain)
        if doc_gain > 0:
            gain_sum += doc_gain
            n = len(ratios) + 1
            ratios.append((rank, doc_gain, (n + beta * gain_sum) / (rank + beta * ideal_sum)))
    return ratios


def q(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    beta: float = 1.0,
    gain: Any = "linear",
) -> float:
    total = sum_in_order([ratio for _, _, ratio in blended_ratios(ranking[:k], grades, gain, beta)])
    n_gaining = len(ideal_gains(grades, gain))
    return divide(total, n_gaining if k is None else min(k, n_gaining))


def o_measure(
    ranking: Ranking, grades: Sequence[int], beta: float = 1.0, gain: Any = "linear"
) -> float:
    ratios = blended_ratios(ranking, grades, gain, beta)
    return ratios[0][2] if ratios else 0.0


def p_measure(
    ranking: Ranking, grades: Sequence[int], beta: float = 1.0, gain: Any = "linear"
) -> float:
    ratios = blended_ratios(ranking, grades, gain, beta)
    best_gain = max((doc_gain for _, doc_gain, _ in ratios), default=0.0)
    return next((ratio for _, doc_gain, ratio in ratios if doc_gain == best_gain), 0.0)


def p_plus(
    ranking: Ranking, grades: Sequence[int], beta: float = 1.0, gain: Any = "linear"
) -> float:
    ratios = blended_ratios(ranking, grades, gain, beta)
    best_gain = max((doc_gain for _, doc_gain, _ in ratios), default=0.0)
    total = 0.0
    for n, (_, doc_gain, ratio) in enumerate(ratios, 1):
        total += ratio
        if doc_gain == best_gain:
            return total / n
    return 0.0


def ncu(
    ranking: Ranking,
    grades: Sequence[int],
    users: str = "gu",
    beta: float = 1.0,
    gamma: float = 0.95,
    gain: Any = "linear",
    stops: Any = "linear",
) -> float:
    base = gamma if users == "rb" else 1.0
    ideal_grades = sorted((grade for grade in grades if gain_of(grade, gain) > 0), reverse=True)
    ideal_grades.sort(key=lambda grade: -gain_of(grade, gain))
    weight_sum, weight = 0.0, 1.0
    for ideal_grade in ideal_grades:
        weight_sum += gain_of(ideal_grade, stops) if users == "gu" else weight
        weight *= base
    gaining_grades = [grade for grade in ranking if gain_of(grade, gain) > 0]
    total, weight = 0.0, 1.0
    for grade, (_, _, ratio) in zip(
        gaining_grades, blended_ratios(ranking, grades, gain, beta), strict=True
    ):
        total += (gain_of(grade, stops) if users == "gu" else weight) * ratio
        weight *= base
    return divide(total, weight_sum)


def eel(ranking: Ranking, grades: Sequence[int], p: float = 0.5, rel: int = 1) -> float:
    n_rel = n_relevant(grades, rel)
    target = divide(sum_in_order([p**i for i in range(n_rel)]), n_rel)
    total, n_hits = 0.0, 0
    for rank, grade in enumerate(ranking, 1):
        is_relevant = grade is not None and grade >= rel
        total += (p ** (rank - 1) - (target if is_relevant else 0)) ** 2
        n_hits += is_relevant
    return total + (n_rel - n_hits) * target**2


def auc(ranking: Ranking, grades: Sequence[int], k: int | None = None, rel: int = 1) -> float:
    is_relevant = [grade is not None and grade >= rel for grade in ranking[:k]]
    n_discordant = sum(b and not a for i, a in enumerate(is_relevant) for b in is_relevant[i + 1 :])
    return (
        1 - divide(n_discordant, sum(is_relevant) * (len(is_relevant) - sum(is_relevant)))
        if any(is_relevant)
        else 0.0
    )


def fall_out(
    ranking: Ranking,
    grades: Sequence[int],
    k: int | None = None,
    collection: int = 0,
    rel: int = 1,
) -> float:
    n_nonrelevant_hits = len(ranking[:k]) - count_hits(ranking, rel, k)
    n_nonrelevant = len(ranking) - count_hits(ranking, rel)
    if collection:
        n_nonrelevant = max(
            max(collection, len(ranking)) - n_relevant(grades, rel), n_nonrelevant_hits
        )
    return divide(n_nonrelevant_hits, n_nonrelevant)


def wss(
    ranking: Ranking, grades: Sequence[int], recall: float, collection: int = 0, rel: int = 1
) -> float:
    size = max(collection, len(ranking))
    n_rel, n_read = n_relevant(grades, rel), 0
    if n_rel:
        while n_read < len(ranking) and count_hits(ranking, rel, n_read) / n_rel < recall:
            n_read += 1
        if count_hits(ranking, rel, n_read) / n_rel < recall:
            n_read = size
    return divide(size - n_read, size) - (1 - recall)


def search_length(ranking: Ranking, grades: Sequence[int], n: int = 1, rel: int = 1) -> float:
    ranks = relevant_ranks(ranking, rel)
    return float(ranks[n - 1] - n if len(ranks) >= n else len(ranking) - len(ranks))


# ---- preferences ----------------------------------------------------------------------------

Subgroup = Mapping[str, float]
Groups = Sequence[Sequence[Subgroup]]  # of one query: groups of subgroups


def preferred_pairs(group: Sequence[Subgroup]) -> set[tuple[str, str]]:
    """Return the pairs (better, worse) of a group, and the pairs that follow from them."""
    pairs = {
        (a, b)
        for subgroup in group
        for a in subgroup
        for b in subgroup
        if subgroup[a] > subgroup[b] >= 0
    }
    while True:
        implied_pairs = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not implied_pairs:
            return pairs
        pairs |= implied_pairs


def preference_kind(run: Sequence[str], a: str, b: str) -> tuple[str, bool]:
    """Return the kind of a preference of a to b, and whether the run fulfils it."""
    if a in run and b in run:
        return "retrieved", run.index(a) < run.index(b)
    return ("implied", a in run) if a in run or b in run else ("all", False)


COUNTED_KINDS = {
    "retrieved": {"retrieved"},
    "implied": {"retrieved", "implied"},
    "all": {"retrieved", "implied", "all"},
}


def count_preferences(
    run: Sequence[str], pairs: set[tuple[str, str]], over: str
) -> tuple[int, int]:
    kinds = [preference_kind(run, a, b) for a, b in pairs]
    is_fulfilled = [fulfils for kind, fulfils in kinds if kind in COUNTED_KINDS[over]]
    return sum(is_fulfilled), len(is_fulfilled)


def num_prefs(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    return float(sum(count_preferences(run, preferred_pairs(group), over)[1] for group in groups))


def num_prefs_ful(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    return float(sum(count_preferences(run, preferred_pairs(group), over)[0] for group in groups))


def prefs(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    return divide(num_prefs_ful(run, groups, over), num_prefs(run, groups, over))


def prefs_by_group(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    return sum_in_order(
        [divide(*count_preferences(run, preferred_pairs(group), over)) for group in groups]
    ) / len(groups)


def prefs_by_pair(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    pairs_of_groups = [preferred_pairs(group) for group in groups]
    ids = {doc for group in groups for subgroup in group for doc in subgroup}
    docs = [doc for doc in run if doc in ids]
    n_retrieved = len(docs)
    docs += sorted(ids - set(docs), key=str.encode)
    retrieved_shares: list[float] = []
    implied_shares: list[float] = []
    n_pairs = 0
    for i, a in enumerate(docs):
        for j in range(i + 1, len(docs)):
            n_agreeing = sum((a, docs[j]) in pairs for pairs in pairs_of_groups)
            n_contradicting = sum((docs[j], a) in pairs for pairs in pairs_of_groups)
            pair_kind = "retrieved" if j < n_retrieved else "implied" if i < n_retrieved else "all"
            if n_agreeing + n_contradicting and pair_kind in COUNTED_KINDS[over]:
                n_pairs += 1
                if pair_kind != "all":
                    (retrieved_shares if pair_kind == "retrieved" else implied_shares).append(
                        n_agreeing / (n_agreeing + n_contradicting)
                    )
    return divide(sum_in_order(retrieved_shares + implied_shares), n_pairs)


def prefs_rnonrel(run: Sequence[str], groups: Groups, over: str = "all") -> float:
    """R nonrelevant documents, with trec_eval's extra pairs; from the reading of its source."""
    total = 0.0
    for group in groups:
        level = {doc: grade for subgroup in group for doc, grade in subgroup.items() if grade >= 0}
        docs = [doc for doc in run if doc in level]
        retrieved_docs = set(docs)
        docs += sorted(level.keys() - retrieved_docs, key=str.encode)
        relevant = [doc for doc in docs if level[doc] > 0]
        nonrelevant_docs = [doc for doc in docs if level[doc] == 0]
        n_relevant_retrieved = len([doc for doc in relevant if doc in retrieved_docs])
        n_rel, n_nonrelevant = len(relevant), len(nonrelevant_docs)
        if over == "retrieved":
            docs = [doc for doc in docs if doc in retrieved_docs]
            n_rel, n_nonrelevant = (
                n_relevant_retrieved,
                len([doc for doc in nonrelevant_docs if doc in retrieved_docs]),
            )
        limit = len(relevant) if over == "retrieved" and len(group) > 1 else n_rel
        pairs = {(a, b) for a, b in preferred_pairs(group) if a in docs and b in docs}
        if n_rel < n_nonrelevant:
            left_out_docs = set([doc for doc in docs if level[doc] == 0][limit:])
            pairs = {(a, b) for a, b in pairs if a not in left_out_docs and b not in left_out_docs}
        n_fulfilled, n_possible = count_preferences(run, pairs, over)
        if n_rel >= n_nonrelevant:
            n_fulfilled += n_relevant_retrieved * (n_rel - n_nonrelevant)
            n_possible += len(relevant) * (n_rel - n_nonrelevant)
        elif len(group) == 1:
            nonrelevant_docs = [doc for doc in docs if level[doc] == 0]
            for a in nonrelevant_docs:
                for b in nonrelevant_docs[:n_rel]:
                    n_fulfilled += (
                        nonrelevant_docs.index(a) < nonrelevant_docs.index(b)
                        and a in retrieved_docs
                    )
                    n_possible += 1
        total += divide(n_fulfilled, n_possible)
    return total / len(groups)


def single_group_measure(measure: Callable[..., float]) -> Callable[..., float]:
    """Return a measure of groups as one of plain judgments: a single group of grades from 0 up."""

    def plain_measure(ranking: Ranking, grades: Sequence[int], **parameters: Any) -> float:
        judged_grades = [grade for grade in ranking if grade is not None and grade >= 0]
        missing_grades = [grade for grade in grades if grade >= 0]
        for grade in judged_grades:
            missing_grades.remove(grade)
        subgroup = {
            f"{i:06}": float(grade) for i, grade in enumerate(judged_grades + missing_grades)
        }
        return measure(list(subgroup)[: len(judged_grades)], [[subgroup]], **parameters)

    return plain_measure


PREFERENCES: dict[str, Callable[..., float]] = {
    "NumPrefs": num_prefs,
    "NumPrefsFul": num_prefs_ful,
    "Prefs": prefs,
    "PrefsByPair": prefs_by_pair,
    "PrefsByGroup": prefs_by_group,
    "PrefsRnonrel": prefs_rnonrel,
}

ORACLES: dict[str, Callable[..., Any]] = {
    "IDCG": idcg,
    "nDCG_rel": ndcg_rel,
    "RnDCG": rndcg,
    "G": g,
    "GMBpref": bpref,
    "infAP": infap,
    "binG": bing,
    "YAAP": yaap,
    "Unjudged": unjudged_share,
    "RelString": relstring,
    "RBP": rbp,
    "RBPResidual": rbp_residual,
    "CWL": cwl,
    "Utility": utility,
    "NumNonRelRet": num_nonrel_ret,
    "GroupAP": ap,
    "GroupP": p,
    "GroupRprec": rprec,
    **{name: single_group_measure(measure) for name, measure in PREFERENCES.items()},
    **{
        name: diversity_oracle.single_subtopic_measure(measure)
        for name, measure in diversity_oracle.DIVERSITY.items()
    },
    "nDCG": ndcg,
    "DCG": dcg,
    "P": p,
    "R": r,
    "F": f,
    "RelP": rel_p,
    "MeanP": mean_p,
    "Success": success,
    "Rprec": rprec,
    "RR": rr,
    "AP": ap,
    "GMAP": lambda ranking, grades, rel=1: ap(ranking, grades, None, rel),
    "Bpref": bpref,
    "IPrec": iprec,
    "IAP": iap,
    "Judged": judged_share,
    "ERR": err,
    "nERR": nerr,
    "GAP": gap,
    "Q": q,
    "O_measure": o_measure,
    "P_measure": p_measure,
    "Pplus": p_plus,
    "NCU": ncu,
    "AUC": auc,
    "EEL": eel,
    "FallOut": fall_out,
    "WSS": wss,
    "LastRel": lambda ranking, grades, rel=1: float(max(relevant_ranks(ranking, rel), default=0)),
    "SearchLength": search_length,
    "SetP": set_measure(p),
    "SetR": set_measure(r),
    "SetF": set_measure(f),
    "Compat": compat,
    # Without strata and probabilities; test_sampled.py has them with these.
    "xinfAP": infap,
    "statAP": lambda ranking, grades, itself="once", rel=1: ap(ranking, grades, None, rel),
    "SetAP": set_ap,
    "SetRelP": set_measure(rel_p),
    "NumQ": lambda ranking, grades: 1.0,
    "NumRet": lambda ranking, grades: float(len(ranking)),
    "NumRel": lambda ranking, grades, rel=1: float(n_relevant(grades, rel)),
    "NumRelRet": lambda ranking, grades, rel=1: float(count_hits(ranking, rel)),
}


def compute_value(
    measure: Measure, ranking: Sequence[Any], grades: Sequence[Any], top_grade: Any
) -> Any:
    """Return a measure's value by its slow loop; `top_grade` is the collection's highest grade."""
    slow_measure, parameters = ORACLES[measure.name], measure.parameters
    if "top_grade" in inspect.signature(slow_measure).parameters:
        parameters["top_grade"] = top_grade
    cutoff = measure.cutoff
    if cutoff is None:
        return slow_measure(ranking, grades, **parameters)
    if isinstance(cutoff, Depth):
        n_rel = n_relevant(grades, parameters.get("rel", 1))
        depth = cutoff.n_ranks if cutoff.n_ranks is not None else n_rel
        return slow_measure(
            ranking, grades, min(depth, n_rel) if cutoff.at_relevant else depth, **parameters
        )
    return slow_measure(ranking, grades, cutoff, **parameters)


# ---- rankings -------------------------------------------------------------------------------


def rank_docs(scores: Mapping[str, float]) -> list[str]:
    """Rank documents: score falling, then the bytes of the id falling."""
    by_id = sorted(scores, key=lambda doc: doc.encode(), reverse=True)
    return sorted(by_id, key=lambda doc: -scores[doc])


def grade_rankings(qrels: Qrels, run: Run) -> dict[str, tuple[list[int | None], list[int]]]:
    """Return, for each query of the qrels, the grades by rank and the grades of the judgments."""
    return {
        query: ([docs.get(doc) for doc in rank_docs(run.get(query, {}))], list(docs.values()))
        for query, docs in qrels.items()
    }


def make_grouped_collection(
    seed: int, n_queries: int = 6, *, whole_grades: bool
) -> tuple[Any, Run]:
    """Make judgments in groups, some with subgroups, and a run; `whole_grades`: no subgroups."""
    chance = random.Random(seed)
    qrels: dict[str, dict[str, list[dict[str, float]]]] = {}
    run: Run = {}
    for i in range(n_queries):
        pool = [f"{chance.choice('dé')}{number}" for number in range(12)]
        groups: dict[str, list[dict[str, float]]] = {}
        for name in chance.sample(["ann", "bob", "cy", "é"], chance.randint(1, 3)):
            docs = chance.sample(pool, chance.randint(1, 9))
            levels = [-1, 0, 0, 1, 2, 3] if whole_grades else [0, 0, 0.5, 1, 2.5]
            grade_of_doc = {doc: chance.choice(levels) for doc in docs}
            if whole_grades or chance.random() < 0.5:
                groups[name] = [grade_of_doc]
            else:  # the same order, told in parts
                subgroup_docs = [
                    chance.sample(docs, chance.randint(1, len(docs))) for _ in range(3)
                ]
                groups[name] = [
                    {doc: grade_of_doc[doc] for doc in subgroup} for subgroup in subgroup_docs
                ]
        qrels[f"q{i}"] = groups
        if chance.random() < 0.9:
            retrieved_docs = chance.sample([*pool, "x", "y"], chance.randint(1, 10))
            run[f"q{i}"] = {
                doc: chance.choice([0.0, 1.0, chance.gauss(0, 2)]) for doc in retrieved_docs
            }
    run.setdefault("q0", {"x": 1.0})
    return qrels, run


def allow_rounding(measure: Measure, expected: Any) -> Any:
    """Return the value to compare with: the slow loop's, to the bit.

    But EEL adds squares and products, which a loop rounds otherwise.
    """
    if measure.name == "EEL":
        return pytest.approx(expected, rel=1e-12, abs=1e-15)
    return expected


# ---- collections ----------------------------------------------------------------------------


def make_collection(
    seed: int, n_queries: int = 12, *, lowest: int = -2, depth: int = 15, tie_share: float = 0.4
) -> tuple[Qrels, Run]:
    """Make odd judgments and an odd run: ties, missing and unknown queries, empty lists."""
    chance = random.Random(seed)
    qrels: Qrels = {}
    run: Run = {}
    for i in range(n_queries):
        query = chance.choice(["q", "tópico", "x" * 9]) + str(i)
        pool = [
            chance.choice(["d", "doc-", "long-document-id-", "é"]) + str(number)
            for number in chance.sample(range(400), 2 * depth)
        ]
        if chance.random() < 0.95:
            judged_docs = chance.sample(pool, chance.randint(1, depth))
            qrels[query] = {doc: chance.randint(lowest, 3) for doc in judged_docs}
        if chance.random() < 0.9:
            retrieved_docs = chance.sample(
                pool, chance.randint(0 if chance.random() < 0.2 else 1, depth)
            )
            tied_scores = [0.0, 1.5, 1.5 + 1e-8, -2.25]  # two of them are equal as 32-bit floats
            run[query] = {
                doc: chance.choice(tied_scores)
                if chance.random() < tie_share
                else chance.gauss(0, 5)
                for doc in retrieved_docs
            }
    if not qrels.keys() & run.keys():
        qrels["q"], run["q"] = {"d1": 1, "d2": 0}, {"d2": 1.0, "d1": 0.5}
    return qrels, run
