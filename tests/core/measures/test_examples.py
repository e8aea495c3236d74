"""The worked examples: through the public interface, against arithmetic written out.

Bits are compared where the sum runs from left to right, as it does in the package.
"""

import itertools
import math
from fractions import Fraction
from math import log, log2
from pathlib import Path

import pytest
from helpers import oracle

from cranfield import AP, DCG, RR, F, P, R, SetP, SetR, evaluate, grades, nDCG

A, B = [5, 2, 4, 0, 1], [2, 0, 5, 1, 4]
NINE = [3, 2, 1, 1, 3, 1, 1, 2, 1]
CG = DCG(discount="none")


def test_reciprocal_rank() -> None:
    qrels = {"q1": {"d3": 1}, "q2": {"d2": 1}}
    scores = evaluate(qrels, {"q1": ["d1", "d2", "d3"], "q2": ["d2", "d1", "d3"]}, RR)
    assert scores.per_query(RR) == {"q1": 1 / 3, "q2": 1 / 1}
    assert scores[RR] == (1 / 3 + 1 / 1) / 2
    assert f"{scores[RR]:.4f}" == "0.6667"


def test_average_precision() -> None:
    first, second = [1, 1] + 8 * [0], [0, 1, 0, 0, 1, 0, 0, 0, 0, 1]
    of_first = evaluate(*grades(first, collection=5 * [1] + 8 * [0]), AP)[AP]
    of_second = evaluate(*grades(second, collection=5 * [1] + 7 * [0]), AP)[AP]
    assert of_first == (1 / 1 + 2 / 2) / 5 == 0.4
    assert of_second == (1 / 2 + 2 / 5 + 3 / 10) / 5 == 0.24
    assert AP({"a", "b", "c", "d", "e"}, ["a", "b", *"tuvwxyz", "s"]) == 0.4
    assert AP(first) == 1.0  # of the two that were found: what the page warns of


def test_precision_does_not_see_the_order() -> None:
    early, late = [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]
    assert (P @ 5)(early) == (P @ 5)(late) == 3 / 5
    assert (RR(early), RR(late)) == (1, 1 / 3)
    assert (AP(early), AP(late)) == (1, (1 / 3 + 2 / 4 + 3 / 5) / 3)
    late_dcg = 1 / log2(4) + 1 / log2(5) + 1 / log2(6)
    assert (nDCG @ 5)(late) == late_dcg / (1 / log2(2) + 1 / log2(3) + 1 / log2(4))


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_f_weighs_recall_by_beta(beta: float) -> None:
    data = grades([1, 1, 0, 1, 0], collection=6 * [1] + 2 * [0])
    precision, recall, square = Fraction(3, 5), Fraction(3, 6), Fraction(beta) ** 2
    exact = (1 + square) * precision * recall / (square * precision + recall)
    scores = evaluate(*data, [P @ 5, R @ 5, F(beta=beta) @ 5])
    assert (scores[P @ 5], scores[R @ 5]) == (3 / 5, 3 / 6)
    assert scores[F(beta=beta) @ 5] == pytest.approx(float(exact), rel=1e-15)


def test_everything_has_a_recall_of_1() -> None:
    scores = evaluate(*grades(996 * [0] + 4 * [1]), [SetR, SetP, AP])
    assert (scores[SetR], scores[SetP]) == (4 / 4, 4 / 1000)
    assert scores[AP] == (1 / 997 + 2 / 998 + 3 / 999 + 4 / 1000) / 4


def test_cumulated_gain_does_not_see_the_order_and_dcg_does() -> None:
    assert (CG @ 5)(A) == (CG @ 5)(B) == 5 + 2 + 4 + 0 + 1 == 12
    for ranking, value in ((A, "8.65"), (B, "6.48")):
        total = 0.0
        for rank, grade in enumerate(ranking, 1):
            total += grade / log2(rank + 1)
        assert (DCG @ 5)(ranking) == DCG(ranking) == total
        assert f"{total:.2f}" == value


def dcg(gains: list[int]) -> float:
    total = 0.0
    for rank, gain in enumerate(gains, 1):
        total += gain / log2(rank + 1)
    return total


def test_ndcg_with_the_ideal_of_the_list_alone() -> None:
    assert nDCG([5, 2, 4]) == dcg([5, 2, 4]) / dcg([5, 4, 2])
    assert nDCG(A) == (nDCG @ 5)(A) == dcg(A) / dcg([5, 4, 2, 1, 0])
    assert (f"{nDCG([5, 2, 4]):.4f}", f"{nDCG(A):.4f}") == ("0.9693", "0.9659")


def test_the_ideal_of_what_was_retrieved_rewards_returning_less() -> None:
    lists = {"1": [5], "3": [5, 2, 4], "5": A}
    judged = [5, 5, 4, 4, 2, 1, 1, 0]
    ours, theirs = nDCG @ 5, nDCG(ideal="retrieved") @ 5
    scores = evaluate(*grades(lists, collection=dict.fromkeys(lists, judged)), [ours, theirs])
    ideal = dcg(judged[:5])
    assert scores.per_query(ours) == {name: dcg(ranking) / ideal for name, ranking in lists.items()}
    alone = {
        name: dcg(ranking) / dcg(sorted(ranking, reverse=True)) for name, ranking in lists.items()
    }
    assert scores.per_query(theirs) == alone
    assert alone["1"] == 1 > alone["3"] > alone["5"]
    assert scores.per_query(ours)["1"] < scores.per_query(ours)["3"] < scores.per_query(ours)["5"]


def test_one_of_five_relevant_documents_is_not_perfect() -> None:
    collection = 5 * [1] + 5 * [0]
    qrels, run = grades([[1], 5 * [0] + 5 * [1]], collection=[collection, collection])
    scores = evaluate(qrels, run, "nDCG@10 nDCG(ideal='retrieved')@10")
    ideal = dcg(5 * [1])
    late = dcg(5 * [0] + 5 * [1]) / ideal
    assert scores.per_query("nDCG@10") == {"1": 1 / ideal, "2": late}
    assert scores.per_query("nDCG(ideal='retrieved')@10") == {"1": 1.0, "2": late}
    assert (f"{1 / ideal:.2f}", f"{late:.2f}") == ("0.34", "0.54")


def test_gains_of_two_to_the_grade() -> None:
    value = (nDCG(gain="exp2") @ 5)([3, 2, 3, 0, 1])
    assert value == dcg([7, 3, 7, 0, 1]) / dcg([7, 7, 3, 1, 0])
    assert f"{value:.4f}" == "0.9575"


def test_the_natural_logarithm_and_a_top_grade_at_every_rank() -> None:
    total, ideal, classic = 0.0, 0.0, 0.0
    for rank, grade in enumerate(NINE, 1):
        divisor = log(rank) if rank > 1 else 1.0
        total += grade / divisor
        ideal += 3 / divisor
        classic += grade / (log(rank) if rank >= math.e else 1.0)
    assert DCG(discount="ln")(NINE) == total == 11.869906908688476
    assert nDCG(discount="ln", ideal="top")(NINE) == total / ideal == 0.5902216528493285
    jk = DCG(discount=("jk", 2.718281828459045))(NINE)
    assert jk == pytest.approx(classic, rel=1e-15)
    assert jk == 10.984516826910548


def test_rank_2_weighs_more_than_rank_1() -> None:
    ln = DCG(discount="ln")
    assert ln([0, 1]) / ln([1, 0]) == 1 / log(2)
    assert f"{1 / log(2):.2f}" == "1.44"
    assert ln([2, 3]) > ln([3, 2])
    assert nDCG(discount="ln")([2, 3]) == (2 + 3 / log(2)) / (3 + 2 / log(2)) > 1


def test_no_order_reaches_the_top_grade_at_every_rank() -> None:
    measure = nDCG(discount="ln", ideal="top")
    orders = {str(i): list(order) for i, order in enumerate(set(itertools.permutations(NINE)))}
    assert len(orders) == math.factorial(9) // (2 * 2 * math.factorial(5))
    values = evaluate(*grades(orders), measure).per_query(measure)
    assert max(values.values()) == measure(sorted(NINE, reverse=True))


def test_the_course_exercise_query_by_query(data: Path) -> None:
    folder = data / "microblog2014"
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, doc, grade = line.split()
        judged.setdefault(query, {})[doc] = int(grade)
    rankings: dict[str, list[int]] = {}
    for line in (folder / "result.txt").read_text().splitlines():
        query, doc = line.split()[:2]
        rankings.setdefault(query, []).append(judged[query][doc])  # all are judged
    assert {q: len(ranking) for q, ranking in rankings.items()} == {
        q: len(d) for q, d in judged.items()
    }
    names = ["AP@100", "RR@100", "nDCG(gain='exp2')@min(100,R)"]
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "result.txt"), names)
    assert len(rankings) == scores.counts.queries == 55
    for query, ranking in rankings.items():
        pool = list(judged[query].values())
        k = min(100, sum(grade >= 1 for grade in pool))
        assert [scores.per_query(name)[query] for name in names] == [
            oracle.ap(list(ranking), pool, 100),
            oracle.rr(list(ranking), pool, 100),
            oracle.ndcg(list(ranking), pool, k, "exp2"),
        ]
    assert scores.per_query("AP@100")["209"] == 100 / 608
