"""Values of statistics that follow by arithmetic, where a changed operator once went unnoticed."""

import numpy as np

from cranfield import compare
from cranfield.comparison.anova import randomised_tukey
from cranfield.comparison.flips import PairedScores


def pair_up(values: np.ndarray) -> PairedScores:
    return PairedScores(values, np.array([0]), np.array([1]))


def test_the_observed_order_is_one_more_permutation() -> None:
    equal = np.full((12, 2), 0.5)  # each permutation is as far apart as the systems
    assert randomised_tukey(pair_up(equal), permutations=19).tolist() == [(19 + 1) / (19 + 1)]
    far = np.tile([1.0, 0.0], (40, 1))  # only two of 2^40 orders are as far apart
    assert randomised_tukey(pair_up(far), permutations=19).tolist() == [(0 + 1) / (19 + 1)]


def test_equal_systems_have_t_0() -> None:
    scores = {name: {f"q{i}": i / 8 for i in range(8)} for name in ("old", "new")}
    (pair,) = compare(scores, test="t")["score"].pairs
    assert (pair.difference, pair.p, pair.p_t) == (0, 1, 1)
