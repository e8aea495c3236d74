"""Simulations of ranks: all places are right at once, and the best system is in the subset.

The table of docs/reference/error-rates.md has these figures of 1,000 repetitions, with the same
seeds: `python tests/core/comparison/test_ranks_calibration.py`.
"""

from collections import Counter
from typing import Literal, NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from cranfield.arrays.ranked import Floats
from cranfield.comparison.corrections import holm
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.randomization import sign_flip_p_values
from cranfield.comparison.ranks import BestTest
from cranfield.comparison.system_pairs import SystemPairs

Shape = Literal["discrete", "skewed"]
N_SYSTEMS, ALPHA = 6, 0.05
SEEDS = {"discrete": 1, "skewed": 2}
# Of six systems, by how much each is ahead: all equal, or pairs of equal systems.
LEADS = {"equal": (0, 0, 0, 0, 0, 0), "apart": (0, 0, 1, 1, 2, 3)}


class Counts(NamedTuple):
    """What happened in some repetitions."""

    n_right: int  # all systems' places were right
    n_in_subset: int  # the best system, the last one, was in the subset
    n_systems: int  # the sizes of the subsets, added up


def draw_scores(
    shape: Shape, leads: tuple[int, ...], n_queries: int, source: np.random.Generator
) -> Floats:
    """Return scores, (n_queries, n_systems); a system that is ahead has the greater mean.

    Discrete: reciprocal ranks of 1, 2, 4 or none. Skewed: each second system loses 0.27 on a tenth
    of the queries and gains 0.03 on the others, so that its mean is that of the systems between.
    """
    lead = np.array(leads)
    shared = source.normal(0, 1, (n_queries, 1))
    if shape == "discrete":
        latent = shared + source.normal(0, 1, (n_queries, N_SYSTEMS)) + 0.5 * lead
        return np.array([0.0, 0.25, 0.5, 1.0])[np.digitize(latent, [0.0, 0.7, 1.4])]
    loses = source.random((n_queries, N_SYSTEMS)) < 0.1
    skewed_noise = np.where(loses, -0.27, 0.03)
    normal_noise = source.normal(0, 0.09, (n_queries, N_SYSTEMS))
    is_skewed = np.arange(N_SYSTEMS) % 2 == 0
    return 0.5 + 0.1 * shared + np.where(is_skewed, skewed_noise, normal_noise) + 0.05 * lead


def count_right(shape: Shape, pattern: str, n_queries: int, n_repetitions: int) -> Counts:
    """Return what happened when samples of queries were drawn as often as that."""
    source = np.random.default_rng([SEEDS[shape], len(pattern), n_queries])
    leads = LEADS[pattern]
    pairs = SystemPairs.choose(N_SYSTEMS)
    n_right = n_in_subset = n_systems = 0
    for repetition in range(n_repetitions):
        scores = PairedScores(draw_scores(shape, leads, n_queries, source), *pairs)
        flips = Flips(n_queries, 2_000, repetition)
        is_marked = holm(sign_flip_p_values(scores, flips)) <= ALPHA
        significant_pairs = zip(
            *(column[is_marked] for column in (*pairs, scores.totals)), strict=True
        )
        n_better, n_worse = Counter[int](), Counter[int]()
        for first, second, total in significant_pairs:
            n_worse[int(first if total > 0 else second)] += 1
            n_better[int(second if total > 0 else first)] += 1
        n_right += all(
            n_better[i] <= sum(other > lead for other in leads)
            and n_worse[i] <= sum(other < lead for other in leads)
            for i, lead in enumerate(leads)
        )
        may_be_best = BestTest(scores, flips, ALPHA, True).best_p_values() > ALPHA
        n_in_subset += bool(may_be_best[-1])
        n_systems += int(may_be_best.sum())
    return Counts(n_right, n_in_subset, n_systems)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["discrete", "skewed"])
def test_places_are_right_and_the_best_is_kept(shape: Shape) -> None:
    # The skewed systems have more false alarms with few queries, as the page says.
    n_repetitions, lenient_alpha = 40, {"discrete": ALPHA, "skewed": 0.2}[shape]
    for n_queries, alpha in ((10, lenient_alpha), (50, lenient_alpha), (200, ALPHA)):
        for pattern in LEADS:
            counts = count_right(shape, pattern, n_queries, n_repetitions)
            least_count = binom.ppf(0.0005, n_repetitions, 1 - alpha)
            assert counts.n_right >= least_count
            assert counts.n_in_subset >= least_count


if __name__ == "__main__":
    for pattern in LEADS:
        for shape in ("discrete", "skewed"):
            for n_queries in (10, 25, 50, 200):
                counts = count_right(shape, pattern, n_queries, 1_000)
                print(pattern, shape, n_queries, *(count / 1_000 for count in counts))  # noqa: T201
