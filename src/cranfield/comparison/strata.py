"""Strata: queries of several collections, each of which counts the same in the mean.

The macro average is the mean of the collections' means: one of n_k queries, of K collections, gives
each of its queries the weight 1 / (K n_k). Whether systems differ on these collections depends on
their queries: the signs of weighted differences are flipped. The t interval adds the collections'
variances, with Satterthwaite's degrees of freedom, as Welch's does with two (Biometrika 1947).
"""

from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.edgeworth import flip_limits
from cranfield.comparison.flips import MANY, Flips, Paired
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.randomization import inverted
from cranfield.comparison.result import Method
from cranfield.comparison.significance import satterthwaite


class Welch(NamedTuple):
    """Means of independent groups of queries: (n_pairs,) each; NaN where a group has one query."""

    error: Floats
    degrees: Floats


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

    def welch(self, left: Ints, right: Ints) -> Welch:
        """Return the standard errors of the pairs' macro averages."""
        differences = self.values[:, left] - self.values[:, right]
        sizes = self.sizes.tolist()
        variances = [
            _variance(differences[self.code == i]) / (n * len(sizes) ** 2)
            for i, n in enumerate(sizes)
        ]
        degrees = [np.full(len(left), float(max(n - 1, 1))) for n in sizes]
        return Welch(np.sqrt(sum(variances)), satterthwaite(variances, degrees))


def _variance(values: Floats) -> Floats:
    """Return the variance of each column; NaN for one row."""
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    found: Floats = values.var(axis=0, ddof=1)
    return found


class Flipped(NamedTuple):
    """The tests of pairs by flips: (n_pairs,) each."""

    p: Floats
    low: Floats
    high: Floats
    method: Method


def flipped(paired: Paired, flips: Flips, alpha: float, many: int = MANY) -> Flipped:
    """Test weighted mean differences against 0, and invert the test for intervals.

    With more than `many` queries, no more flips are drawn than p needs, and intervals come from the
    moments of all flips, not from drawn ones.
    """
    if paired.n_units <= many:
        p, low, high = inverted(paired, flips, alpha)
        return Flipped(p, low, high, "exact" if flips.exact else "drawn")
    weights = np.ones(paired.n_units) if paired.sizes is None else paired.sizes
    low, high = flip_limits(paired.differences, weights, alpha / 2)
    return Flipped(p_values(paired, flips, many), low, high, "sequential")
