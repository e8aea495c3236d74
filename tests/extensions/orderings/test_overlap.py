"""Rank-biased overlap: published numbers, slow loops, and all orders of tied documents."""

import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest

import cranfield
from cranfield import RBO, InputError, OptionError, rbo
from cranfield.extensions.orderings.rbo import TiedRanks

VARIANTS: list[TiedRanks] = ["w", "a", "b"]
RED = ["red", {"blue", "green"}, "yellow", "pink"]
BLUE = [{"blue", "red"}, "white", {"yellow", "black", "purple"}, "green"]


@pytest.mark.parametrize(
    ("a", "b", "ext", "low", "high"),
    [
        ("abcde", "bcdae", 0.828, 0.4999889405522, 0.828),
        ("abcdefg", "bac", 0.9, 0.4225283643313, 0.9),
        ("abc", "xyz", 0, 0, 0.679428),
    ],
)
@pytest.mark.parametrize("ties", VARIANTS)
def test_lists_without_ties(
    a: str, b: str, ext: float, low: float, high: float, ties: TiedRanks
) -> None:
    for first, second in ((a, b), (b, a)):
        overlap = rbo(list(first), list(second), ties=ties)
        assert [overlap.ext, overlap.min, overlap.max] == pytest.approx([ext, low, high], abs=5e-14)


@pytest.mark.parametrize(
    ("ties", "ext", "low", "high"),
    [
        ("w", 0.7068257171, 0.3429683610, 0.9049856557),
        ("a", 0.6922853320, 0.3310519083, 0.8930692030),
        ("b", 0.7207131047, 0.3509162631, 0.9129335578),
    ],
)
def test_ties_as_published(ties: TiedRanks, ext: float, low: float, high: float) -> None:
    """Printed by the program of Corsi & Urbano (SIGIR 2024)."""
    overlap = rbo(RED, BLUE, 0.95, ties)
    assert [overlap.ext, overlap.min, overlap.max] == pytest.approx([ext, low, high], abs=5.1e-11)
    assert overlap.residual == overlap.max - overlap.min


# ---- from the definition --------------------------------------------------------------------


def count_shares(ranking: list[list[Any]], depth: int, ties: TiedRanks) -> dict[Any, float]:
    """Return how much of each document is there, down to a depth."""
    share_of_doc, n_above = {}, 0
    for tie in ranking:
        share = min(1.0, max(0.0, (depth - n_above) / len(tie)))
        if share > 0:
            share_of_doc.update(dict.fromkeys(tie, 1.0 if ties == "w" else share))
        n_above += len(tie)
    return share_of_doc


def agreement(a: list[list[Any]], b: list[list[Any]], depth: int, ties: TiedRanks) -> float:
    x, y = count_shares(a, depth, ties), count_shares(b, depth, ties)
    overlap = sum(share * y.get(doc, 0.0) for doc, share in x.items())
    if ties == "w":
        return 2 * overlap / (len(x) + len(y))
    if ties == "a":
        return overlap / depth
    return overlap / math.sqrt(
        sum(s * s for s in x.values()) * math.fsum(s * s for s in y.values())
    )


def weigh_agreements(agreements: list[float], p: float) -> float:
    return sum(
        (1 - p) * p**i * agreement_at_depth for i, agreement_at_depth in enumerate(agreements)
    )


DEEP = 60  # 0.5^60 is less than a rounding error


def slow(a: list[list[Any]], b: list[list[Any]], p: float, ties: TiedRanks) -> list[float]:
    """Write out what follows, document by document, for `min` and `max`."""
    if sum(map(len, a)) > sum(map(len, b)):
        a, b = b, a
    short_docs, long_docs = ([doc for tie in ranking for doc in tie] for ranking in (a, b))
    s, l = len(short_docs), len(long_docs)

    unknown_docs = [[[f"{side}{i}"] for i in range(DEEP)] for side in "ab"]
    low = [agreement(a + unknown_docs[0], b + unknown_docs[1], d, ties) for d in range(1, DEEP)]
    a_more = [[doc] for doc in long_docs if doc not in short_docs]
    b_more = [[doc] for doc in short_docs if doc not in long_docs]
    common_docs = [[i] for i in range(1000, 1000 + DEEP)]
    high = [
        agreement(a + a_more + common_docs, b + b_more + common_docs, d, ties)
        for d in range(1, DEEP)
    ]

    ext, at_end = [], agreement(a + unknown_docs[0], b, s, ties) if s else 0.0
    for d in range(1, l + 1):
        depth_agreement = agreement(a + unknown_docs[0], b, d, ties)
        if d > s:
            shares = [
                share for doc, share in count_shares(b, d, ties).items() if doc not in short_docs
            ]
            n = d - s
            # What one document more would add, no matter what it is divided by.
            x, y = count_shares(a + unknown_docs[0], d, ties), count_shares(b, d, ties)
            squares = [
                sum(share * share for share in shares_of_docs.values()) for shares_of_docs in (x, y)
            ]
            norm_of_variant = {
                "w": (len(x) + len(y)) / 2,
                "a": d,
                "b": math.sqrt(squares[0] * squares[1]),
            }
            depth_agreement += at_end * n * sum(shares) / len(shares) / norm_of_variant[ties]
        ext.append(depth_agreement)
    tail = ext[-1] * p**l
    return [weigh_agreements(ext, p) + tail, weigh_agreements(low, p), weigh_agreements(high, p)]


def random_ranking(chance: random.Random, tied: bool = True) -> list[list[int]]:
    docs = chance.sample(range(20), chance.randint(1, 12))
    ranking = []
    while docs:
        n = chance.choice([1, 1, 2, 4]) if tied else 1
        ranking.append(docs[:n])
        docs = docs[n:]
    return ranking


@pytest.mark.parametrize("ties", VARIANTS)
def test_equals_slow_loops(ties: TiedRanks) -> None:
    chance = random.Random(5)
    for _ in range(60):
        a, b = random_ranking(chance), random_ranking(chance)
        overlap = rbo(a, b, 0.5, ties)
        expected = slow(a, b, 0.5, ties)
        assert [overlap.ext, overlap.min, overlap.max] == pytest.approx(expected, abs=1e-13)


def test_a_is_the_mean_over_all_orders() -> None:
    """Of lists of the same length; what follows is of no order, so `min` is it of all."""
    chance = random.Random(2)
    for _ in range(40):
        a, b = ([tie[:2] for tie in random_ranking(chance)[:3]] for _ in range(2))
        orders = [
            [list(itertools.chain(*order)) for order in itertools.product(*tie_orders)]
            for tie_orders in ([list(itertools.permutations(g)) for g in r] for r in (a, b))
        ]
        pairs = [rbo(x, y, 0.8) for x in orders[0] for y in orders[1]]
        overlap = rbo(a, b, 0.8, "a")
        assert overlap.min == pytest.approx(
            sum(overlap_of_order.min for overlap_of_order in pairs) / len(pairs), abs=1e-14
        )
        if sum(map(len, a)) == sum(map(len, b)):
            assert overlap.ext == pytest.approx(
                sum(overlap_of_order.ext for overlap_of_order in pairs) / len(pairs), abs=1e-14
            )


@pytest.mark.parametrize("ties", VARIANTS)
def test_whatever_follows_stays_within_the_bounds(ties: TiedRanks) -> None:
    chance = random.Random(3)
    for _ in range(200):
        a, b = random_ranking(chance), random_ranking(chance)
        overlap = rbo(a, b, 0.8, ties)
        assert 0 <= overlap.min <= overlap.ext + 1e-15
        assert overlap.ext <= overlap.max + 1e-15
        assert overlap.max <= 1 + 1e-15
        for _ in range(5):
            longer_rankings = []
            for ranking in (a, b):
                other_docs = [doc for doc in range(25) if [doc] not in ranking]
                other_docs = [doc for doc in other_docs if not any(doc in tie for tie in ranking)]
                appended_docs = [
                    [doc] for doc in chance.sample(other_docs, chance.randint(0, len(other_docs)))
                ]
                longer_rankings.append(ranking + appended_docs)
            longer_overlap = rbo(longer_rankings[0], longer_rankings[1], 0.8, ties)
            assert overlap.min - 1e-14 <= longer_overlap.min
            assert longer_overlap.max <= overlap.max + 1e-14


@pytest.mark.parametrize("ties", VARIANTS)
def test_order_of_the_two_and_of_the_tied_does_not_matter(ties: TiedRanks) -> None:
    chance = random.Random(4)
    for _ in range(50):
        a, b = random_ranking(chance), random_ranking(chance)
        shuffled_ties = [chance.sample(tie, len(tie)) for tie in a]
        overlap, exchanged_overlap = rbo(a, b, 0.8, ties), rbo(b, shuffled_ties, 0.8, ties)
        expected = [exchanged_overlap.ext, exchanged_overlap.min, exchanged_overlap.max]
        assert [overlap.ext, overlap.min, overlap.max] == pytest.approx(expected, abs=1e-14)


def test_b_of_a_ranking_with_itself_is_1() -> None:
    chance = random.Random(6)
    for _ in range(20):
        a = random_ranking(chance)
        assert rbo(a, a, ties="b").ext == pytest.approx(1, abs=1e-15)
    assert rbo(RED, RED, ties="a").ext < 1


# ---- what is taken --------------------------------------------------------------------------


def test_scores_are_rankings_and_equal_ones_ties() -> None:
    scores = {"yellow": 2, "blue": 5, "green": 5, "red": 9, "pink": -1.5}
    for ties in VARIANTS:
        assert rbo(scores, BLUE, 0.95, ties) == rbo(RED, BLUE, 0.95, ties)


def test_empty_lists() -> None:
    assert rbo([], []) == RBO(0.0, 0.0, 1.0)
    overlap = rbo([], ["a", "b"])
    assert (overlap.ext, overlap.min) == (0, 0)
    assert overlap.max == pytest.approx(1, abs=1e-15)


def test_runs(tmp_path: Path) -> None:
    a = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 2.0}, "q2": {"d1": 1.0}, "q3": {"d1": 1.0}}
    b = {"q2": {"d2": 1.0, "d1": 0.5}, "q1": {"d2": 0.1, "d1": 0.1}, "q4": {"d1": 1.0}}
    overlap = rbo(a, b, ties="a")
    assert list(overlap.per_query) == ["q1", "q2"]
    assert overlap.per_query["q1"] == rbo(a["q1"], b["q1"], ties="a")
    assert overlap.left_out == 2
    for name in ("ext", "min", "max"):
        numbers = [getattr(query_overlap, name) for query_overlap in overlap.per_query.values()]
        assert getattr(overlap.mean, name) == (numbers[0] + numbers[1]) / 2
    cranfield.Run(b).write(tmp_path / "b.run")
    assert rbo(cranfield.Run(a), tmp_path / "b.run", ties="a") == overlap


@pytest.mark.parametrize("p", [0, 1, -1, True, "0.9", float("nan")])
def test_a_p_that_is_none_is_refused(p: Any) -> None:
    with pytest.raises(OptionError, match="a number between 0 and 1"):
        rbo(["a"], ["a"], p)


def test_errors() -> None:
    with pytest.raises(OptionError, match="ties"):
        rbo(["a"], ["a"], ties="c")  # type: ignore[call-overload] # wrong on purpose
    with pytest.raises(InputError, match="the second list: the document 'b' occurs twice"):
        rbo(["a"], ["b", {"a", "b"}])
    with pytest.raises(InputError, match="the first list: the document '1' occurs twice"):
        rbo({1: 3.0, "1": 2.0}, {1: 3.0, 2: 2.0})
    with pytest.raises(InputError, match="the first list: expected a list or a dict, got set"):
        rbo({"a", "b"}, ["a"])  # type: ignore[call-overload] # wrong on purpose
    with pytest.raises(InputError, match="document 'a': expected a number as the score"):
        rbo({"a": "x"}, ["a"])  # type: ignore[dict-item] # wrong on purpose
    with pytest.raises(InputError, match="share no query"):
        rbo({"q1": {"a": 1}}, {"q2": {"a": 1}})
