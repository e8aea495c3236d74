"""Against the package rbo (0.1.3)."""

import random

import pytest
from rbo import RankingSimilarity

from cranfield import rbo


def make_lists(seed: int, *, same_length: bool) -> tuple[list[int], list[int]]:
    chance = random.Random(seed)
    n = chance.randint(1, 30)
    m = n if same_length else chance.randint(1, 30)
    return chance.sample(range(40), n), chance.sample(range(40), m)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("even", [True, False])
def test_extrapolated(p: float, even: bool) -> None:
    for seed in range(200):
        a, b = make_lists(seed, same_length=even)
        theirs = RankingSimilarity(a, b).rbo_ext(p=p)
        assert rbo(a, b, p).ext == pytest.approx(theirs, rel=1e-13, abs=1e-15)


def test_its_rbo_is_cut_off_and_not_normalized() -> None:
    """`rbo(p)` adds up the known depths of the shorter list only: between 0 and 1 - p^k.

    With `ext`, it goes on from there with the agreement at that depth, without a look at what the
    longer list holds below: of uneven lists, that is another number than `rbo_ext`.
    """
    letters = list("abcde")
    assert RankingSimilarity(letters, letters).rbo(p=0.9) == pytest.approx(1 - 0.9**5)
    assert rbo(letters, letters).ext == pytest.approx(1)
    n_different = 0
    for seed in range(200):
        a, b = make_lists(seed, same_length=False)
        k = min(len(a), len(b))
        theirs = RankingSimilarity(a, b).rbo(p=0.9, ext=True)
        assert theirs == pytest.approx(rbo(a[:k], b[:k]).ext, rel=1e-13, abs=1e-15)
        n_different += theirs != pytest.approx(rbo(a, b).ext, rel=1e-9)
    assert n_different == 148


def test_two_empty_lists() -> None:
    """It calls nothing known at all a perfect agreement."""
    assert RankingSimilarity([], []).rbo_ext(p=0.9) == 1
    assert rbo([], []).ext == 0
