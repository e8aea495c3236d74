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
    for one, other in ((a, b), (b, a)):
        found = rbo(list(one), list(other), ties=ties)
        assert [found.ext, found.min, found.max] == pytest.approx([ext, low, high], abs=5e-14)


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
    found = rbo(RED, BLUE, 0.95, ties)
    assert [found.ext, found.min, found.max] == pytest.approx([ext, low, high], abs=5.1e-11)
    assert found.residual == found.max - found.min


# ---- from the definition --------------------------------------------------------------------


def there(ranking: list[list[Any]], depth: int, ties: TiedRanks) -> dict[Any, float]:
    """Return how much of each document is there, down to a depth."""
    found, above = {}, 0
    for group in ranking:
        share = min(1.0, max(0.0, (depth - above) / len(group)))
        if share > 0:
            found.update(dict.fromkeys(group, 1.0 if ties == "w" else share))
        above += len(group)
    return found


def agreement(a: list[list[Any]], b: list[list[Any]], depth: int, ties: TiedRanks) -> float:
    x, y = there(a, depth, ties), there(b, depth, ties)
    overlap = sum(share * y.get(doc, 0.0) for doc, share in x.items())
    if ties == "w":
        return 2 * overlap / (len(x) + len(y))
    if ties == "a":
        return overlap / depth
    return overlap / math.sqrt(
        sum(s * s for s in x.values()) * math.fsum(s * s for s in y.values())
    )


def weighted(agreements: list[float], p: float) -> float:
    return sum((1 - p) * p**i * one for i, one in enumerate(agreements))


DEEP = 60  # 0.5^60 is less than a rounding error


def slow(a: list[list[Any]], b: list[list[Any]], p: float, ties: TiedRanks) -> list[float]:
    """Write out what follows, document by document, for `min` and `max`."""
    if sum(map(len, a)) > sum(map(len, b)):
        a, b = b, a
    one, other = ([doc for group in ranking for doc in group] for ranking in (a, b))
    s, l = len(one), len(other)

    strange = [[[f"{side}{i}"] for i in range(DEEP)] for side in "ab"]
    low = [agreement(a + strange[0], b + strange[1], d, ties) for d in range(1, DEEP)]
    a_more = [[doc] for doc in other if doc not in one]
    b_more = [[doc] for doc in one if doc not in other]
    same = [[i] for i in range(1000, 1000 + DEEP)]
    high = [agreement(a + a_more + same, b + b_more + same, d, ties) for d in range(1, DEEP)]

    ext, at_end = [], agreement(a + strange[0], b, s, ties) if s else 0.0
    for d in range(1, l + 1):
        known = agreement(a + strange[0], b, d, ties)
        if d > s:
            rest = [share for doc, share in there(b, d, ties).items() if doc not in one]
            n = d - s
            # What one document more would add, no matter what it is divided by.
            x, y = there(a + strange[0], d, ties), there(b, d, ties)
            squares = [sum(v * v for v in z.values()) for z in (x, y)]
            by = {"w": (len(x) + len(y)) / 2, "a": d, "b": math.sqrt(squares[0] * squares[1])}
            known += at_end * n * sum(rest) / len(rest) / by[ties]
        ext.append(known)
    below = ext[-1] * p**l
    return [weighted(ext, p) + below, weighted(low, p), weighted(high, p)]


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
        found = rbo(a, b, 0.5, ties)
        expected = slow(a, b, 0.5, ties)
        assert [found.ext, found.min, found.max] == pytest.approx(expected, abs=1e-13)


def test_a_is_the_mean_over_all_orders() -> None:
    """Of lists of the same length; what follows is of no order, so `min` is it of all."""
    chance = random.Random(2)
    for _ in range(40):
        a, b = ([group[:2] for group in random_ranking(chance)[:3]] for _ in range(2))
        orders = [
            [list(itertools.chain(*order)) for order in itertools.product(*permuted)]
            for permuted in ([list(itertools.permutations(g)) for g in r] for r in (a, b))
        ]
        pairs = [rbo(x, y, 0.8) for x in orders[0] for y in orders[1]]
        found = rbo(a, b, 0.8, "a")
        assert found.min == pytest.approx(sum(one.min for one in pairs) / len(pairs), abs=1e-14)
        if sum(map(len, a)) == sum(map(len, b)):
            assert found.ext == pytest.approx(sum(one.ext for one in pairs) / len(pairs), abs=1e-14)


@pytest.mark.parametrize("ties", VARIANTS)
def test_whatever_follows_stays_within_the_bounds(ties: TiedRanks) -> None:
    chance = random.Random(3)
    for _ in range(200):
        a, b = random_ranking(chance), random_ranking(chance)
        found = rbo(a, b, 0.8, ties)
        assert 0 <= found.min <= found.ext + 1e-15
        assert found.ext <= found.max + 1e-15
        assert found.max <= 1 + 1e-15
        for _ in range(5):
            longer = []
            for ranking in (a, b):
                rest = [doc for doc in range(25) if [doc] not in ranking]
                rest = [doc for doc in rest if not any(doc in group for group in ranking)]
                more = [[doc] for doc in chance.sample(rest, chance.randint(0, len(rest)))]
                longer.append(ranking + more)
            then = rbo(longer[0], longer[1], 0.8, ties)
            assert found.min - 1e-14 <= then.min
            assert then.max <= found.max + 1e-14


@pytest.mark.parametrize("ties", VARIANTS)
def test_order_of_the_two_and_of_the_tied_does_not_matter(ties: TiedRanks) -> None:
    chance = random.Random(4)
    for _ in range(50):
        a, b = random_ranking(chance), random_ranking(chance)
        shuffled = [chance.sample(group, len(group)) for group in a]
        found, other = rbo(a, b, 0.8, ties), rbo(b, shuffled, 0.8, ties)
        expected = [other.ext, other.min, other.max]
        assert [found.ext, found.min, found.max] == pytest.approx(expected, abs=1e-14)


def test_b_of_a_ranking_with_itself_is_1() -> None:
    chance = random.Random(6)
    for _ in range(20):
        a = random_ranking(chance)
        assert rbo(a, a, ties="b").ext == pytest.approx(1, abs=1e-15)
    assert rbo(RED, RED, ties="a").ext < 1


# ---- what is taken --------------------------------------------------------------------------


def test_scores_are_rankings_and_equal_ones_ties() -> None:
    scored = {"yellow": 2, "blue": 5, "green": 5, "red": 9, "pink": -1.5}
    for ties in VARIANTS:
        assert rbo(scored, BLUE, 0.95, ties) == rbo(RED, BLUE, 0.95, ties)


def test_empty_lists() -> None:
    assert rbo([], []) == RBO(0.0, 0.0, 1.0)
    found = rbo([], ["a", "b"])
    assert (found.ext, found.min) == (0, 0)
    assert found.max == pytest.approx(1, abs=1e-15)


def test_runs(tmp_path: Path) -> None:
    a = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 2.0}, "q2": {"d1": 1.0}, "q3": {"d1": 1.0}}
    b = {"q2": {"d2": 1.0, "d1": 0.5}, "q1": {"d2": 0.1, "d1": 0.1}, "q4": {"d1": 1.0}}
    found = rbo(a, b, ties="a")
    assert list(found.per_query) == ["q1", "q2"]
    assert found.per_query["q1"] == rbo(a["q1"], b["q1"], ties="a")
    assert found.left_out == 2
    for name in ("ext", "min", "max"):
        values = [getattr(one, name) for one in found.per_query.values()]
        assert getattr(found.mean, name) == (values[0] + values[1]) / 2
    cranfield.Run(b).write(tmp_path / "b.run")
    assert rbo(cranfield.Run(a), tmp_path / "b.run", ties="a") == found


@pytest.mark.parametrize("p", [0, 1, -1, True, "0.9", float("nan")])
def test_a_p_that_is_none_is_refused(p: Any) -> None:
    with pytest.raises(OptionError, match="a number between 0 and 1"):
        rbo(["a"], ["a"], p)


def test_errors() -> None:
    with pytest.raises(OptionError, match="ties"):
        rbo(["a"], ["a"], ties="c")  # type: ignore[call-overload] # wrong on purpose
    with pytest.raises(InputError, match="the second list: the document 'b' occurs twice"):
        rbo(["a"], ["b", {"a", "b"}])
    with pytest.raises(InputError, match="the first list: expected a list or a dict, got set"):
        rbo({"a", "b"}, ["a"])  # type: ignore[call-overload] # wrong on purpose
    with pytest.raises(InputError, match="document 'a': expected a number as the score"):
        rbo({"a": "x"}, ["a"])  # type: ignore[dict-item] # wrong on purpose
    with pytest.raises(InputError, match="share no query"):
        rbo({"q1": {"a": 1}}, {"q2": {"a": 1}})
