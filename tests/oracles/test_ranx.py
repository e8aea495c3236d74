"""Against ranx, for what it does rightly: the paired t-test, and Fisher's randomization test.

Not held against it (version 0.3.21): its Tukey test, which takes paired queries for independent
samples; the seed of its randomization test, which does nothing; its p-value of 0, for which ours is
at least 1 / (flips + 1); and that of systems that are the same, which is none.
"""

import math

import numpy as np
import pytest
from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test
from ranx.statistical_tests.paired_student_t_test import paired_student_t_test

from cranfield import compare
from cranfield.arrays.ranked import Floats

PERMUTATIONS = 20_000


def make_scores(seed: int, n: int = 43) -> Floats:
    """Return scores of six systems on as many queries as of TREC DL 2019: (6, n), 0 to 1."""
    chance = np.random.default_rng(seed)
    query_mean = chance.beta(3, 2, n)
    noise = chance.normal(0, 0.12, (6, n)) + np.linspace(-0.15, 0.05, 6)[:, None]
    return np.clip(query_mean + noise, 0, 1).round(4)


def compare_with_first(scores: Floats, flips: int) -> list[tuple[float, float]]:
    """Return (p, p of the t test) of each system beside the first."""
    scores_of_system = {
        f"s{j}": {f"q{i}": x for i, x in enumerate(scores)} for j, scores in enumerate(scores)
    }
    pairs = compare(scores_of_system, flips=flips)["score"].pairs
    return [(pair.p or 1.0, pair.p_t or 1.0) for pair in pairs]


@pytest.mark.parametrize("seed", range(4))
def test_student(seed: int) -> None:
    values = make_scores(seed)
    theirs = [paired_student_t_test(values[0], system_scores)[0] for system_scores in values[1:]]
    ours = [p_t for _, p_t in compare_with_first(values, 99)]
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_randomization(seed: int) -> None:
    """Within 5 standard errors of two draws, theirs of 20,000 and ours of 100,000 flips.

    As their seed does nothing, theirs are others each time: 20 of them pass once in 10^5 times.
    """
    values = make_scores(seed)
    for system_scores, (p, _) in zip(values[1:], compare_with_first(values, 100_000), strict=True):
        theirs, _ = fisher_randomization_test(values[0], system_scores, PERMUTATIONS)
        error = math.sqrt(p * (1 - p) * (1 / PERMUTATIONS + 1 / 100_000))
        assert theirs == pytest.approx(p, abs=5 * error + 1 / 100_000)
