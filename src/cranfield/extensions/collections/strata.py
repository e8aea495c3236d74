"""Strata: queries of several collections, each of which counts the same in the mean.

The macro average is the mean of the collections' means: one of n_k queries, of K collections, gives
each of its queries the weight 1 / (K n_k). Whether systems differ on these collections depends on
their queries: the signs of weighted differences are flipped. The t interval adds the collections'
variances, with Satterthwaite's degrees of freedom.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.corrections import corrected
from cranfield.comparison.edgeworth import flip_limits, limits_agree
from cranfield.comparison.flips import MANY, Flips, Paired
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.randomization import inverted, step_down
from cranfield.comparison.result import Method, verdicts
from cranfield.comparison.significance import (
    Moments,
    Summed,
    signs,
    summed,
    t_ends,
    t_interval,
    t_p,
    t_test,
)
from cranfield.extensions.collections.options import CollectionSettings


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


def compare_on_these(
    strata: Strata, left: Ints, right: Ints, settings: CollectionSettings, *, rising: bool
) -> dict[str, Any]:
    """Return whether the systems differ on these collections: columns of (n_pairs,)."""
    paired = strata.paired(left, right)
    flips = Flips(paired.n_units, settings.flips, settings.seed)
    error, degrees = strata.welch(left, right)
    by_t = t_p(paired.means, error, degrees)
    method: Method | None = None
    if settings.test == "t":
        p, (low, high) = by_t, t_ends(paired.means, error, degrees, settings.alpha)
    else:
        p, low, high, method = flipped(paired, flips, settings.alpha)
    p_adjusted = _corrected(p, paired, flips, settings)
    apart = strata.values[:, left] - strata.values[:, right]
    return {
        "difference": paired.means,
        "micro": apart.mean(axis=0),
        "low": low,
        "high": high,
        "p": p,
        "p_adjusted": p_adjusted,
        "p_t": by_t,
        "error": error,
        "df": np.where(np.isnan(by_t), np.nan, degrees),
        "method": [method] * len(left),
        "verdict": verdicts(p_adjusted <= settings.alpha, paired.means, rising=rising),
    }


def compare_on_others(
    means: Floats, left: Ints, right: Ints, settings: CollectionSettings, *, rising: bool
) -> dict[str, Any]:
    """Return whether the systems differ over collections, each one observation: (n_pairs,)."""
    paired = Paired(means, left, right)
    moments, flips = Moments.of(paired), Flips(paired.n_units, settings.flips, settings.seed)
    by_t = t_test(moments)
    if settings.test == "t":
        p, (low, high) = by_t, t_interval(moments, settings.alpha)
    else:
        p, low, high, _ = flipped(paired, flips, settings.alpha)
    p_adjusted = _corrected(p, paired, flips, settings)
    wins, ties, losses = signs(paired, settings.tie)
    return {
        "wins": wins if rising else losses,
        "ties": ties,
        "losses": losses if rising else wins,
        "others_low": np.where(np.isfinite(low), low, np.nan),
        "others_high": np.where(np.isfinite(high), high, np.nan),
        "others_p": p,
        "others_p_adjusted": p_adjusted,
        "others_p_t": by_t,
        "others_verdict": verdicts(p_adjusted <= settings.alpha, paired.means, rising=rising),
    }


def _corrected(p: Floats, paired: Paired, flips: Flips, settings: CollectionSettings) -> Floats:
    """Return p-values corrected for all pairs: (n_pairs,)."""
    if settings.correction == "maxt":
        return np.where(np.isnan(p), np.nan, step_down(paired, flips))
    return corrected(settings.correction, p)
