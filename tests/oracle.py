"""Each measure as a slow loop, written from its definition; and collections to try them on.

A ranking is a list of grades in rank order, None where the document is unjudged; the judgments of
a query are the list of all its grades. Sums run left to right.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Ranking = Sequence[int | None]
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


# ---- measures -------------------------------------------------------------------------------


def hits(ranking: Ranking, rel: int, k: int | None = None) -> int:
    return sum(1 for grade in ranking[:k] if grade is not None and grade >= rel)


def n_relevant(grades: Sequence[int], rel: int) -> int:
    return sum(1 for grade in grades if grade >= rel)


def divide(a: float, b: float) -> float:
    return a / b if b else 0.0


def p(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    return divide(hits(ranking, rel, k), k)


def r(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    return divide(hits(ranking, rel, k), n_relevant(grades, rel))


def f(ranking: Ranking, grades: Sequence[int], k: int, beta: float = 1.0, rel: int = 1) -> float:
    a, b = p(ranking, grades, k, rel), r(ranking, grades, k, rel)
    return divide((1 + beta * beta) * a * b, beta * beta * a + b)


def rel_p(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    return divide(hits(ranking, rel, k), min(k, n_relevant(grades, rel)))


def success(ranking: Ranking, grades: Sequence[int], k: int, rel: int = 1) -> float:
    return 1.0 if hits(ranking, rel, k) else 0.0


def rprec(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    count = n_relevant(grades, rel)
    return divide(hits(ranking, rel, count), count)


def rr(ranking: Ranking, grades: Sequence[int], k: int | None = None, rel: int = 1) -> float:
    for rank, grade in enumerate(ranking[:k], 1):
        if grade is not None and grade >= rel:
            return 1 / rank
    return 0.0


def ap(ranking: Ranking, grades: Sequence[int], k: int | None = None, rel: int = 1) -> float:
    found, total = 0, 0.0
    for rank, grade in enumerate(ranking[:k], 1):
        if grade is not None and grade >= rel:
            found += 1
            total += found / rank
    return divide(total, n_relevant(grades, rel))


def bpref(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    relevant = n_relevant(grades, rel)
    nonrelevant = sum(1 for grade in grades if 0 <= grade < rel)
    above, total = 0, 0.0
    for grade in ranking:
        if grade is None or grade < 0:
            continue
        if grade < rel:
            above += 1
        elif above:
            total += 1.0 - min(above, relevant) / min(nonrelevant, relevant)
        else:
            total += 1.0
    return divide(total, relevant)


def iprec(ranking: Ranking, grades: Sequence[int], recall: float, rel: int = 1) -> float:
    wanted = recall * n_relevant(grades, rel)
    needed = math.floor(wanted) + (1 if wanted - math.floor(wanted) >= 0.5 else 0)
    best, found = 0.0, 0
    for rank, grade in enumerate(ranking, 1):
        found += grade is not None and grade >= rel
        if found >= needed:
            best = max(best, found / rank)
    return best


def iap(
    ranking: Ranking,
    grades: Sequence[int],
    points: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    rel: int = 1,
) -> float:
    total = 0.0
    for point in reversed(points):
        total += iprec(ranking, grades, point, rel)
    return total / len(points)


def judged(ranking: Ranking, grades: Sequence[int], k: int | None = None) -> float:
    top = ranking[:k]
    return divide(sum(1 for grade in top if grade is not None), len(top))


def gain_of(grade: int | None, gain: Any) -> float:
    if grade is None:
        return 0.0
    if gain == "exp2":
        return float(2**grade - 1) if grade > 0 else 0.0
    if isinstance(gain, Mapping) and grade in gain:
        return float(gain[grade])
    return float(max(grade, 0))


def dcg(
    ranking: Ranking, grades: Sequence[int], k: int | None = None, gain: Any = "linear"
) -> float:
    total = 0.0
    for rank, grade in enumerate(ranking[:k], 1):
        total += gain_of(grade, gain) / math.log2(rank + 1)
    return total


def ndcg(
    ranking: Ranking, grades: Sequence[int], k: int | None = None, gain: Any = "linear"
) -> float:
    best = sorted((gain_of(grade, gain) for grade in grades), reverse=True)
    ideal = 0.0
    for rank, value in enumerate(best[:k], 1):
        if value > 0:
            ideal += value / math.log2(rank + 1)
    return divide(dcg(ranking, grades, k, gain), ideal)


def set_p(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return divide(hits(ranking, rel), len(ranking))


def set_r(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return divide(hits(ranking, rel), n_relevant(grades, rel))


def set_f(
    ranking: Ranking,
    grades: Sequence[int],
    beta: float = 1.0,
    x: float | None = None,
    rel: int = 1,
) -> float:
    a, b = set_p(ranking, grades, rel), set_r(ranking, grades, rel)
    x = beta * beta if x is None else x
    return divide((1 + x) * a * b, x * a + b)


def set_ap(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    found = hits(ranking, rel)
    return divide(found * found, len(ranking) * n_relevant(grades, rel))


def set_rel_p(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return divide(hits(ranking, rel), min(len(ranking), n_relevant(grades, rel)))


def num_q(ranking: Ranking, grades: Sequence[int]) -> float:
    return 1.0


def num_ret(ranking: Ranking, grades: Sequence[int]) -> float:
    return float(len(ranking))


def num_rel(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return float(n_relevant(grades, rel))


def num_rel_ret(ranking: Ranking, grades: Sequence[int], rel: int = 1) -> float:
    return float(hits(ranking, rel))


ORACLES: dict[str, Callable[..., float]] = {
    "nDCG": ndcg,
    "DCG": dcg,
    "P": p,
    "R": r,
    "F": f,
    "RelP": rel_p,
    "Success": success,
    "Rprec": rprec,
    "RR": rr,
    "AP": ap,
    "GMAP": lambda ranking, grades, rel=1: ap(ranking, grades, None, rel),
    "Bpref": bpref,
    "IPrec": iprec,
    "IAP": iap,
    "Judged": judged,
    "SetP": set_p,
    "SetR": set_r,
    "SetF": set_f,
    "SetAP": set_ap,
    "SetRelP": set_rel_p,
    "NumQ": num_q,
    "NumRet": num_ret,
    "NumRel": num_rel,
    "NumRelRet": num_rel_ret,
}


# ---- rankings -------------------------------------------------------------------------------


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Rank documents: score falling, then the bytes of the id falling."""
    by_id = sorted(scores, key=lambda doc: doc.encode(), reverse=True)
    return sorted(by_id, key=lambda doc: -scores[doc])


def rankings(qrels: Qrels, run: Run) -> dict[str, tuple[list[int | None], list[int]]]:
    """Return, for each query of the qrels, the grades by rank and the grades of the judgments."""
    return {
        query: ([docs.get(doc) for doc in ranked(run.get(query, {}))], list(docs.values()))
        for query, docs in qrels.items()
    }


# ---- collections ----------------------------------------------------------------------------


def collection(
    seed: int, n_queries: int = 12, *, lowest: int = -2, depth: int = 15, tied: float = 0.4
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
            judged = chance.sample(pool, chance.randint(1, depth))
            qrels[query] = {doc: chance.randint(lowest, 3) for doc in judged}
        if chance.random() < 0.9:
            found = chance.sample(pool, chance.randint(0 if chance.random() < 0.2 else 1, depth))
            few = [0.0, 1.5, -2.25]
            run[query] = {
                doc: chance.choice(few) if chance.random() < tied else chance.gauss(0, 5)
                for doc in found
            }
    if not qrels.keys() & run.keys():
        qrels["q"], run["q"] = {"d1": 1, "d2": 0}, {"d2": 1.0, "d1": 0.5}
    return qrels, run
