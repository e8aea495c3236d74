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
from cranfield.comparison.corrections import correct_p_values
from cranfield.comparison.edgeworth import flip_limits, limits_agree
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.randomization import invert_sign_flips, step_down_p_values
from cranfield.comparison.result import Method, find_verdicts
from cranfield.comparison.significance import (
    CombinedError,
    Moments,
    combine_errors,
    count_wins,
    t_interval,
    t_interval_ends,
    t_p_values,
    t_test,
)
from cranfield.extensions.collections.options import CollectionSettings


class Strata(NamedTuple):
    """Scores of several systems for the queries of several collections."""

    scores: Floats  # (n_queries, n_systems)
    code: Ints  # (n_queries,) the collection of each query, numbered from 0

    @property
    def group_sizes(self) -> Ints:
        """The number of queries of each collection: (n_collections,)."""
        group_sizes: Ints = np.bincount(self.code)
        return group_sizes

    @property
    def weights(self) -> Floats:
        """Each query's weight in the macro average, 1 on average: (n_queries,)."""
        group_sizes = self.group_sizes
        weights: Floats = len(self.code) / (len(group_sizes) * group_sizes[self.code])
        return weights

    @property
    def means(self) -> Floats:
        """The mean of each collection: (n_collections, n_systems)."""
        columns = [np.bincount(self.code, scores) / self.group_sizes for scores in self.scores.T]
        return np.stack(columns, axis=1)

    def pair_systems(self, left_column: Ints, right_column: Ints) -> PairedScores:
        """Return pairs of systems whose mean differences are macro averages."""
        weights = self.weights
        return PairedScores(self.scores * weights[:, None], left_column, right_column, weights)

    def welch_errors(self, left_column: Ints, right_column: Ints) -> CombinedError:
        """Return the standard errors of the pairs' macro averages, and their degrees of freedom."""
        n = len(self.group_sizes)
        tables = [self.scores[self.code == i] for i in range(n)]
        pairs = [PairedScores(scores, left_column, right_column) for scores in tables]
        return combine_errors([Moments.of(paired_scores) for paired_scores in pairs], 1 / n)


class FlipTests(NamedTuple):
    """The tests of pairs by flips: p and intervals (n_pairs,), and how they were found."""

    p: Floats
    low: Floats
    high: Floats
    method: Method


def flip_pairs(
    paired_scores: PairedScores, flips: Flips, alpha: float, large_n_units: int = MANY_UNITS
) -> FlipTests:
    """Test weighted mean differences against 0, and invert the test for intervals.

    With more than `large_n_units` units (queries, or collections), no more flips are drawn than p
    needs, and intervals come from the moments of all flips, not from drawn ones. Where these do not
    agree, as with a collection of a few queries, all flips that may be drawn are.
    """
    if paired_scores.n_units <= large_n_units:
        p, low, high = invert_sign_flips(paired_scores, flips, alpha)
        return FlipTests(p, low, high, "exact" if flips.is_exact else "drawn")
    weights = paired_scores.unit_size
    if weights is None:
        weights = np.ones(paired_scores.n_units)
    differences = paired_scores.differences
    low, high = flip_limits(differences, weights, alpha / 2)
    p = p_values(paired_scores, flips, large_n_units)
    far_index = np.flatnonzero(~limits_agree(differences, low, high, alpha / 2, weights))
    if len(far_index):
        far_pairs = replace(
            paired_scores,
            left_column=paired_scores.left_column[far_index],
            right_column=paired_scores.right_column[far_index],
        )
        p[far_index], low[far_index], high[far_index] = invert_sign_flips(far_pairs, flips, alpha)
    return FlipTests(p, low, high, "sequential")


def compare_by_queries(
    strata: Strata,
    left_column: Ints,
    right_column: Ints,
    settings: CollectionSettings,
    higher_is_better: bool,
) -> dict[str, Any]:
    """Return the test of whether systems differ on these collections: {field: (n_pairs,)}."""
    paired_scores = strata.pair_systems(left_column, right_column)
    flips = Flips(paired_scores.n_units, settings.flips, settings.seed)
    error, degrees = strata.welch_errors(left_column, right_column)
    by_t = t_p_values(paired_scores.means, error, degrees)
    method: Method | None = None
    if settings.test == "t":
        p, (low, high) = by_t, t_interval_ends(paired_scores.means, error, degrees, settings.alpha)
    else:
        p, low, high, method = flip_pairs(paired_scores, flips, settings.alpha)
    p_adjusted = _correct_p(p, paired_scores, flips, settings)
    differences = strata.scores[:, left_column] - strata.scores[:, right_column]
    return {
        "difference": paired_scores.means,
        "micro": differences.mean(axis=0),
        "low": low,
        "high": high,
        "p": p,
        "p_adjusted": p_adjusted,
        "p_t": by_t,
        "error": error,
        "df": np.where(np.isnan(by_t), np.nan, degrees),
        "method": [method] * len(left_column),
        "verdict": find_verdicts(
            p_adjusted <= settings.alpha, paired_scores.means, higher_is_better=higher_is_better
        ),
    }


def compare_by_collections(
    means: Floats,
    left_column: Ints,
    right_column: Ints,
    settings: CollectionSettings,
    higher_is_better: bool,
) -> dict[str, Any]:
    """Return the test of whether systems differ over other collections: {field: (n_pairs,)}.

    Each collection is one observation.
    """
    paired_scores = PairedScores(means, left_column, right_column)
    moments = Moments.of(paired_scores)
    flips = Flips(paired_scores.n_units, settings.flips, settings.seed)
    by_t = t_test(moments)
    if settings.test == "t":
        p, (low, high) = by_t, t_interval(moments, settings.alpha)
    else:
        p, low, high, _ = flip_pairs(paired_scores, flips, settings.alpha)
    p_adjusted = _correct_p(p, paired_scores, flips, settings)
    wins, ties, losses = count_wins(paired_scores, settings.tie)
    return {
        "wins": wins if higher_is_better else losses,
        "ties": ties,
        "losses": losses if higher_is_better else wins,
        "others_low": np.where(np.isfinite(low), low, np.nan),
        "others_high": np.where(np.isfinite(high), high, np.nan),
        "others_p": p,
        "others_p_adjusted": p_adjusted,
        "others_p_t": by_t,
        "others_verdict": find_verdicts(
            p_adjusted <= settings.alpha, paired_scores.means, higher_is_better=higher_is_better
        ),
    }


def _correct_p(
    p: Floats, paired_scores: PairedScores, flips: Flips, settings: CollectionSettings
) -> Floats:
    """Return p-values corrected for all pairs: (n_pairs,)."""
    if settings.correction == "maxt":
        return np.where(np.isnan(p), np.nan, step_down_p_values(paired_scores, flips))
    return correct_p_values(settings.correction, p)
