"""Significance: tests other than of mean differences by sign flips, and intervals by them.

Each test takes PairedScores or their Moments and returns p-values (n_pairs,). A number that does
not exist, such as t of one query, is NaN; a comparison has None in its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.products import block_slices, matrix_product
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.flips import DEFAULT_FLIPS, DEFAULT_SEED, Flips, PairedScores
from cranfield.comparison.randomization import sign_flip_p_values
from cranfield.progress import watch_slices
from cranfield.scoring.scores import TIE as TIE


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and standard deviations of the differences: (n_pairs,).

    Where units are clusters of queries, `sd` is such that the error is cluster-robust: CR2 with the
    degrees of freedom of Bell & McCaffrey (Survey Methodology 28, 2002).
    """

    n_units: int  # queries, or clusters
    mean: Floats
    sd: Floats  # with n - 1; 0 if only rounding is left; NaN for one unit
    added_variance: Floats | None = None  # added to the variances of the means; None: nothing
    satterthwaite_degrees: Floats | None = None  # degrees of freedom; None: n_units - 1

    @classmethod
    def of(cls, pairs: PairedScores) -> "Moments":
        """Return the moments of each pair's differences."""
        n, mean = pairs.n_units, pairs.means
        if n < 2:
            return cls(n, mean, np.full(len(mean), np.nan))
        degrees = None
        if pairs.unit_size is None:
            sd = pairs.differences.std(axis=0, ddof=1)
        else:
            share = pairs.unit_size / pairs.n_queries  # (n_units,) of all queries
            # A large cluster draws the mean towards itself, and deviates from it too little.
            squares = pairs.deviations**2 * ((1 - 1 / n) / (1 - share))[:, None]
            sd = np.sqrt(squares.sum(axis=0) / (n - 1))
            if np.ptp(share) > 0:
                ratio = share**2 / (1 - share)
                divisor = (share**2).sum() + ratio.sum() ** 2 - (ratio**2).sum()
                degrees = np.full(len(mean), 1 / divisor)
        sd[sd <= 1e-12 * np.abs(pairs.differences).max(axis=0, initial=0)] = 0.0
        return cls(n, mean, sd, satterthwaite_degrees=degrees)

    def add_variances(self, variances: Sequence[Floats], degrees: Sequence[Floats]) -> "Moments":
        """Return the moments of means with added variances, each with its degrees of freedom.

        `variances` and `degrees` have (n_pairs,) each; NaN is kept. The degrees of freedom of the
        sum are Satterthwaite's (Biometrics Bulletin 1946).
        """
        unit_variance = self.sd**2 / self.n_units
        degrees = [np.full(unit_variance.shape, self.degrees * 1.0), *degrees]
        sum_degrees = combine_degrees([unit_variance, *variances], degrees)
        added_variance = sum(variances, np.zeros_like(unit_variance))
        return replace(self, added_variance=added_variance, satterthwaite_degrees=sum_degrees)

    @property
    def error(self) -> Floats:
        """The standard error of the mean difference: (n_pairs,)."""
        if self.added_variance is not None:
            error_of_sum: Floats = np.sqrt(self.sd**2 / self.n_units + self.added_variance)
            return error_of_sum
        error: Floats = self.sd / np.sqrt(self.n_units)
        return error

    @property
    def degrees(self) -> int | Floats:
        """The degrees of freedom of t: (n_pairs,) where they differ."""
        degrees = self.satterthwaite_degrees
        return self.n_units - 1 if degrees is None else degrees

    @property
    def t(self) -> Floats:
        """Student's t: (n_pairs,); NaN where only the error is 0, and of one unit."""
        return student_t(self.mean, self.error)


class AddedVariance(NamedTuple):
    """What an extension adds to the variance of each system's mean: (n_systems,) each.

    NaN if it is not known; 0 for a system to which it adds nothing.
    """

    variance: Floats
    degrees: Floats  # of freedom; infinite where nothing is added

    def select_systems(self, systems: Sequence[int]) -> "AddedVariance":
        """Return what is added to some systems, given their columns."""
        columns = list(systems)
        return AddedVariance(self.variance[columns], self.degrees[columns])


def combine_degrees(variances: Sequence[Floats], degrees: Sequence[Floats]) -> Floats:
    """Return the degrees of freedom (n_pairs,) of a sum of variances that have their own degrees.

    `variances` and `degrees` have (n_pairs,) each. Where all variances are 0, or one variance is
    not known, the degrees of the first are returned (Satterthwaite, Biometrics Bulletin 1946).
    """
    squares = (variance**2 / df for variance, df in zip(variances, degrees, strict=True))
    divisor = sum(squares, 0.0 * degrees[0])
    sum_degrees: Floats = degrees[0].copy()
    np.divide(sum(variances) ** 2, divisor, out=sum_degrees, where=divisor > 0)
    return sum_degrees


def student_t(mean: Floats, error: Floats) -> Floats:
    """Return Student's t of means; NaN where only the standard error is 0, or it is not known."""
    t: Floats = np.full(mean.shape, np.nan)
    np.divide(mean, error, out=t, where=error > 0)
    t[(mean == 0) & (error == 0)] = 0.0
    return t


def t_p_values(mean: Floats, error: Floats, degrees: int | Floats) -> Floats:
    """Return the two-sided p-values of means with these standard errors."""
    from scipy.special import stdtr

    p: Floats = 2 * stdtr(degrees, -np.abs(student_t(mean, error)))
    return np.maximum(p, np.finfo(np.float64).tiny)


def t_test(moments: Moments) -> Floats:
    """Return the two-sided p-values of the paired t-test (Student, Biometrika 1908)."""
    return t_p_values(moments.mean, moments.error, moments.degrees)


def t_interval(moments: Moments, alpha: float) -> tuple[Floats, Floats]:
    """Return the ends of 1 - alpha intervals by Student's t: (n_pairs,) each; NaN of one unit."""
    if moments.n_units < 2:
        return moments.sd, moments.sd
    return t_interval_ends(moments.mean, moments.error, moments.degrees, alpha)


def t_interval_ends(
    mean: Floats, error: Floats, degrees: int | Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Return the ends of the 1 - alpha intervals of means with these standard errors."""
    from scipy.special import stdtrit

    half_width = stdtrit(degrees, 1 - alpha / 2) * error
    return mean - half_width, mean + half_width


class CombinedError(NamedTuple):
    """The error of a sum of independent means: (n_pairs,) each."""

    error: Floats  # the standard error; NaN where a mean has one unit
    degrees: Floats  # of freedom


def combine_errors(moments: Sequence[Moments], factor: float = 1.0) -> CombinedError:
    """Return the error of a sum of independent means, multiplied by `factor`.

    For two means, Satterthwaite's degrees of freedom are Welch's (Biometrika 1947).
    """
    variances = [moment.error**2 for moment in moments]
    degrees = [np.full(moment.mean.shape, float(max(moment.n_units - 1, 1))) for moment in moments]
    return CombinedError(factor * np.sqrt(sum(variances)), combine_degrees(variances, degrees))


def fieller_interval(
    numerator: Floats,
    denominator: Floats | float,
    variances: tuple[Floats, Floats | float, Floats],
    residual_variance: Floats,
    critical_t: float,
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of each ratio numerator / denominator of means; NaN without.

    The interval has all ratios r for which t of numerator - r denominator is at most `critical_t`:
    they are between the roots of a quadratic equation (Fieller, Journal of the Royal Statistical
    Society B 1954). It has ends if t of the denominator is above `critical_t`. `variances` are
    (variance of the numerator, of the denominator, covariance); `residual_variance` is the variance
    of numerator - r denominator at the ratio of the two means.
    """
    numerator_variance, denominator_variance, covariance = variances
    curvature = np.asarray(denominator**2 - critical_t**2 * denominator_variance, np.float64)
    discriminant = critical_t**2 * denominator**2 * residual_variance - critical_t**4 * (
        numerator_variance * denominator_variance - covariance**2
    )
    root = np.sqrt(np.maximum(0, discriminant))
    center = numerator * denominator - critical_t**2 * covariance
    curvature = np.where(curvature > 0, curvature, np.nan)
    return (center - root) / curvature, (center + root) / curvature


def count_wins(pairs: PairedScores, tie: float = TIE) -> tuple[Ints, Ints, Ints]:
    """Return on how many units the left score is greater, tied, and less: (n_pairs,) each."""
    wins = np.count_nonzero(pairs.differences > tie, axis=0)
    losses = np.count_nonzero(pairs.differences < -tie, axis=0)
    return wins, pairs.n_units - wins - losses, losses


def sign_test(pairs: PairedScores, tie: float = TIE) -> Floats:
    """Return the two-sided p-values of the sign test, ties left out.

    It tests how often a system is better, not by how much on average.
    """
    from scipy.special import bdtr

    wins, _, losses = count_wins(pairs, tie)
    p: Floats = 2 * bdtr(np.minimum(wins, losses).astype(np.float64), wins + losses, 0.5)
    return np.clip(p, np.finfo(np.float64).tiny, 1.0)


def wilcoxon(pairs: PairedScores, flips: Flips, tie: float = TIE) -> Floats:
    """Return the two-sided p-values of Wilcoxon's signed ranks (Biometrics Bulletin 1945).

    Ties with 0 are left out; absolute differences that are equal share the mean of their ranks. The
    signs of the ranks are flipped: all of them up to 20 queries, so that p is exact with ties, too.
    It tests whether the differences are symmetric about 0, not their mean.
    """
    return sign_flip_p_values(PairedScores.from_differences(signed_ranks(pairs, tie)), flips)


def rank_biserial(pairs: PairedScores, tie: float = TIE) -> Floats:
    """Return the positive share of the ranks of absolute differences, less the negative share."""
    ranks = signed_ranks(pairs, tie)
    rank_sum = np.abs(ranks).sum(axis=0)
    rank_biserial: Floats = ranks.sum(axis=0) / np.where(rank_sum > 0, rank_sum, 1.0)
    return rank_biserial


def signed_ranks(pairs: PairedScores, tie: float) -> Floats:
    """Return the ranks of absolute differences, with the differences' signs: (n_units, n_pairs).

    A tie has 0. Differences are in units of TIE, so that rounding noise breaks no tie between
    sizes.
    """
    signed_ranks = np.zeros(pairs.differences.shape)
    for ranks, difference in zip(signed_ranks.T, pairs.differences.T, strict=True):
        rounded_difference = np.round(np.where(np.abs(difference) > tie, difference, 0.0) / TIE)
        is_nonzero = rounded_difference != 0
        _, size_index, counts = np.unique(
            np.abs(rounded_difference[is_nonzero]), return_inverse=True, return_counts=True
        )
        mean_ranks = np.cumsum(counts) - (counts - 1) / 2
        ranks[is_nonzero] = mean_ranks[size_index] * np.sign(rounded_difference[is_nonzero])
    return signed_ranks


def bootstrap_test(
    pairs: PairedScores,
    moments: Moments,
    *,
    resamples: int = DEFAULT_FLIPS,
    seed: int = DEFAULT_SEED,
) -> Floats:
    """Return the two-sided p-values of the studentised bootstrap, shifted to no difference.

    Queries are drawn with replacement from the differences less their mean; t of a resample is
    compared with the observed t (Sakai, SIGIR 2006; Efron & Tibshirani, An Introduction to the
    Bootstrap, 1993).
    """
    n_queries, n_pairs = pairs.differences.shape
    deviations = pairs.differences - moments.mean
    scale = np.where(moments.sd > 0, moments.sd, 1.0)
    deviations = np.where(moments.sd > 0, deviations / scale, 0.0)
    threshold = np.abs(moments.t) * (1 - 1e-12)
    counts = np.zeros(n_pairs, np.int64)
    for query_counts in draw_resamples(n_queries, resamples, seed, 3 * n_pairs):
        means = matrix_product(query_counts, deviations) / n_queries
        variances = matrix_product(query_counts, deviations**2) / n_queries - means**2
        variances = np.maximum(variances, 0.0) * n_queries / (n_queries - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            absolute_t = np.abs(means) * np.sqrt(n_queries) / np.sqrt(variances)
        absolute_t[np.abs(means) < 1e-12] = 0.0
        counts += np.count_nonzero(absolute_t >= threshold, axis=0)
    p = (counts + 1) / (resamples + 1)
    p[np.isnan(moments.t)] = np.nan
    return p


def bca_interval(
    pairs: PairedScores,
    moments: Moments,
    alpha: float,
    *,
    resamples: int = DEFAULT_FLIPS,
    seed: int = DEFAULT_SEED,
) -> tuple[Floats, Floats]:
    """Return the ends of the bias-corrected and accelerated bootstrap interval of each difference.

    Efron, JASA 1987. Where all differences are the same, both ends are their mean.
    """
    from scipy.special import ndtr, ndtri

    n_units = pairs.n_units
    low, high = moments.mean.copy(), moments.mean.copy()
    varying = np.flatnonzero(moments.sd > 0)
    for block in block_slices(len(varying), resamples, n_blocks=8):
        pair_columns = varying[block]
        deviations = pairs.differences[:, pair_columns] - moments.mean[pair_columns]
        means = np.concatenate(
            [
                matrix_product(query_counts, deviations) / n_units
                for query_counts in draw_resamples(n_units, resamples, seed, len(pair_columns))
            ]
        )
        means[np.abs(means) <= 1e-12 * np.abs(deviations).max(axis=0)] = 0.0
        n_below = np.count_nonzero(means < 0, axis=0) + np.count_nonzero(means == 0, axis=0) / 2
        bias = ndtri(np.clip(n_below, 0.5, resamples - 0.5) / resamples)
        acceleration = accelerations(deviations)
        for end, z in (low, ndtri(alpha / 2)), (high, ndtri(1 - alpha / 2)):
            share = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
            for i, column in enumerate(pair_columns.tolist()):
                end[column] += np.quantile(means[:, i], share[i])
    return low + 0.0, high + 0.0


def accelerations(deviations: Floats) -> Floats:
    """Return how fast the standard error of each mean changes with the mean: (n_pairs,).

    `deviations` (n_queries, n_pairs) are differences minus their mean, in no column all 0. This is
    the jackknife's estimate, which needs no resamples for a mean (Efron, JASA 1987).
    """
    # So that powers do not underflow.
    scaled_deviations = deviations / np.abs(deviations).max(axis=0)
    acceleration: Floats = (scaled_deviations**3).sum(axis=0) / (
        6 * (scaled_deviations**2).sum(axis=0) ** 1.5
    )
    return acceleration


def draw_resamples(n_queries: int, resamples: int, seed: int, n_results: int) -> Iterator[Floats]:
    """Yield blocks of resamples: how often each query is drawn, (n_resamples, n_queries).

    `n_results`: the numbers that the caller holds for each resample.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    for block in watch_slices(
        block_slices(resamples, n_queries + n_results), "resamples", resamples
    ):
        n_rows = block.stop - block.start
        drawn_queries = generator.integers(0, n_queries, (n_rows, n_queries))
        drawn_queries += np.arange(n_rows)[:, None] * n_queries
        yield (
            np.bincount(drawn_queries.ravel(), minlength=n_rows * n_queries)
            .reshape(n_rows, n_queries)
            .astype(np.float64)
        )


def posterior_probabilities(moments: Moments, rope: float) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities that the left system's true mean is greater, the same and less.

    The same: its true mean is less than `rope` from the other's. By the posterior of the mean under
    the reference prior, t around the observed mean difference, which is the correlated t-test of
    Benavoli, Corani, Demsar & Zaffalon (JMLR 2017) without correlation. NaN for one unit, and where
    all differences are the same, and not 0: nothing is then known of their variance.
    """
    from scipy.special import stdtr

    mean, error = moments.mean, np.where(moments.sd > 0, moments.error, 1.0)
    worse = stdtr(moments.degrees, (-rope - mean) / error)
    better = stdtr(moments.degrees, (mean - rope) / error)
    is_unknown = ~(moments.sd > 0) & ~((moments.sd == 0) & (mean == 0))
    worse, better = (np.where(moments.sd > 0, probability, 0.0) for probability in (worse, better))
    worse[is_unknown] = better[is_unknown] = np.nan
    return better, np.clip(1 - better - worse, 0.0, 1.0), worse
