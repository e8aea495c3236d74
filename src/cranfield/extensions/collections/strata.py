"""Strata: queries of several collections, each of which counts the same in the mean.

The macro average is the mean of the collections' means: one of n_k queries, of K collections, gives
each of its queries the weight 1 / (K n_k). Whether systems differ on these collections depends on
their queries: the signs of weighted differences are flipped. The t interval adds the collections'
variances, with Satterthwaite's degrees of freedom.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.edgeworth import flip_limits, limits_agree
from cranfield.comparison.flips import MANY, Flips, Paired
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.randomization import inverted
from cranfield.comparison.result import Method
from cranfield.comparison.significance import Moments, Summed, summed


class Strata(NamedTuple):
    """Scores of several systems for the queries of several collections."""

    values: Floats  # (n_queries, n_systems)
    code: Ints  # (n_queries,) the collection of each query, numbered from 0

    @property
    def sizes(self) -> Ints:
        """The number of queries of each collection: (n_collections,)."""
        found: Ints = np.bincount(self.code)
        return found

    @property
    def weights(self) -> Floats:
        """Each query's weight in the macro average, 1 on average: (n_queries,)."""
        sizes = self.sizes
        found: Floats = len(self.code) / (len(sizes) * sizes[self.code])
        return found

    @property
    def means(self) -> Floats:
        """The mean of each collection: (n_collections, n_systems)."""
        columns = [np.bincount(self.code, one) / self.sizes for one in self.values.T]
        return np.stack(columns, axis=1)

    def paired(self, left: Ints, right: Ints) -> Paired:
        """Return pairs of systems whose mean differences are macro averages."""
        weights = self.weights
        return Paired(self.values * weights[:, None], left, right, weights)

    def welch(self, left: Ints, right: Ints) -> Summed:
        """Return the standard errors of the pairs' macro averages, by Student's t."""
        n = len(self.sizes)
        of_each = [Moments.of(Paired(self.values[self.code == i], left, right)) for i in range(n)]
        return summed(of_each, 1 / n)


class Flipped(NamedTuple):
    """The tests of pairs by flips: (n_pairs,) each."""

    p: Floats
    low: Floats
    high: Floats
    method: Method


def flipped(paired: Paired, flips: Flips, alpha: float, many: int = MANY) -> Flipped:
    """Test weighted mean differences against 0, and invert the test for intervals.

    With more than `many` queries, no more flips are drawn than p needs, and intervals come from the
    moments of all flips, not from drawn ones. Where these do not agree, as with a collection of a
    few queries, all flips that may be drawn are.
    """
    if paired.n_units <= many:
        p, low, high = inverted(paired, flips, alpha)
        return Flipped(p, low, high, "exact" if flips.exact else "drawn")
    weights = np.ones(paired.n_units) if paired.sizes is None else paired.sizes
    low, high = flip_limits(paired.differences, weights, alpha / 2)
    p = p_values(paired, flips, many)
    far = np.flatnonzero(~limits_agree(paired.differences, low, high, alpha / 2, weights))
    if len(far):
        some = replace(paired, left=paired.left[far], right=paired.right[far])
        p[far], low[far], high[far] = inverted(some, flips, alpha)
    return Flipped(p, low, high, "sequential")
