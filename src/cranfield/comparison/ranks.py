"""Ranks: the places that each system may have under a measure, and which may be the best."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.comparison.flips import FlipRange, Flips, PairedScores
from cranfield.comparison.randomization import inverse_norms

_WORK = 20_000_000  # sums that may be computed; fewer flips are drawn where there are more
_FEWEST_FLIPS = 10_000  # but never fewer


@dataclass(frozen=True)
class Rank:
    """The places that a system may have, 1 the best, and whether it may have the best mean.

    `low` is 1 + the number of systems that are significantly better, `high` the number of systems
    minus the number of those that are significantly worse. The places of all systems are right at
    once with a chance of at least 1 - alpha, as far as the tests and their correction keep alpha.
    """

    low: int
    high: int
    p_best: float  # of the test that no other system has a better mean, for this system alone
    # p_best > alpha. With a chance of 1 - alpha the best is among such systems; with skewed
    # differences and few queries, in .91 to .94 of a simulation at alpha .05.
    may_be_best: bool

    def __str__(self) -> str:
        """Return the places, with a star if the system may be the best."""
        places = f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"
        return f"{places} {'*' if self.may_be_best else ' '}"


@dataclass(frozen=True, eq=False)
class BestTest:
    """The test of which systems may have the best mean, computed when it is asked for."""

    pairs: PairedScores  # all pairs of systems
    flips: Flips
    alpha: float
    higher_is_better: bool

    def best_p_values(self) -> Floats:
        """Return p of the test that no other system has a better mean, for each: (n_systems,).

        p is the share of flips, the same for all pairs, in which the greatest t by which another
        system is ahead is as large as observed: Gupta's subset of the best (Technometrics 7, 1965),
        by flips in place of the normal distribution. Of many systems or queries, fewer flips
        are drawn, 10,000 at least.
        """
        pairs, n_systems = self.pairs, self.pairs.scores.shape[1]
        n_sums = max(1, len(pairs.left_column) + pairs.n_columns * pairs.n_units // 8)
        n_drawn = min(self.flips.n_drawn, max(_FEWEST_FLIPS, _WORK // n_sums))
        flips = replace(self.flips, n_drawn=n_drawn)
        n_sides = 2 if flips.is_exact else 1  # with all flips, negatives count, too
        # A flip does not change the sum of squares: t is greater where sum / its root is.
        scale = inverse_norms(pairs)
        slack = (pairs.slack * scale).max(initial=0.0)
        scale *= 1 if self.higher_is_better else -1
        (threshold,) = _find_leads(pairs, scale, pairs.totals[:, None].copy(), 1, 1) - slack

        def count_part(flip_range: FlipRange) -> Ints:
            sums = pairs.sum_pairs(pairs.sum_columns(flips.sign_words(*flip_range)))
            n_flips = flip_range.end - flip_range.begin
            leads = _find_leads(pairs, scale, sums, n_flips, n_sides)
            counts: Ints = np.count_nonzero(leads >= threshold, axis=(0, 2))
            return counts

        part_counts = map_in_threads(count_part, flips.split(pairs.n_columns))
        return flips.p_values(sum(part_counts, np.zeros(n_systems, np.int64))) / n_sides


def _find_leads(
    pairs: PairedScores, scale: Floats, pair_sums: Iterable[Floats], n_flips: int, n_sides: int
) -> Floats:
    """Return by how much another system is ahead at most: (n_sides, n_systems, n_flips).

    `pair_sums` has the sums of each pair, (n_flips,), which are overwritten; times `scale`
    (n_pairs,), they are above 0 where the left system is ahead. The second of two sides has the
    flips of all other signs.
    """
    leads = np.full((n_sides, pairs.scores.shape[1], n_flips), -np.inf)
    columns = zip(pair_sums, scale, pairs.left_column, pairs.right_column, strict=True)
    for sums, factor, left_system, right_system in columns:
        sums *= factor
        sides = (right_system, left_system), (left_system, right_system)
        for side_leads, (behind, ahead) in zip(leads, sides, strict=False):
            np.maximum(side_leads[behind], sums, out=side_leads[behind])
            np.maximum(side_leads[ahead], -sums, out=side_leads[ahead])
    return leads
