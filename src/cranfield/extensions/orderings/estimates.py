"""Estimates with intervals over the queries, of how near scores came to others, for `reproduce`."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.significance import (
    Moments,
    combine_errors,
    fieller_interval,
    t_interval_ends,
)
from cranfield.extensions.orderings.reproduction import Estimate
from cranfield.render.numbers import finite_or_none


def estimate_errors(
    x: Floats, y: Floats, lowest: float, highest: float, alpha: float
) -> dict[str, Estimate]:
    """Return RMSE of scores `y` from the originals `x`, (n_queries,) each, and nRMSE.

    `lowest` and `highest` are the limits of scores; if they are infinite, there is no nRMSE.
    """
    error = (x - y) ** 2
    max_error = np.maximum(x - lowest, highest - x) ** 2  # infinite without a highest score
    estimates = {"rmse": _estimate_root_ratio(error, np.ones(len(x)), highest - lowest, alpha)}
    if np.isfinite(max_error).all():
        estimates["nrmse"] = _estimate_root_ratio(error, max_error, 1.0, alpha)
    return estimates


def _estimate_root_ratio(
    numerator: Floats, denominator: Floats, upper_limit: float, alpha: float
) -> Estimate:
    """Return the root of a ratio of two means, with an interval on the scale of logarithms.

    There is no interval for one query or a ratio of 0; it ends at `upper_limit` at most.
    """
    ratio = mean(numerator) / mean(denominator)
    half_width = _half_width(alpha, (numerator - ratio * denominator) / mean(denominator))
    if half_width is None or not ratio:
        return Estimate(math.sqrt(ratio), None, None)
    factor = math.exp(half_width / (2 * ratio))
    return Estimate(
        math.sqrt(ratio), math.sqrt(ratio) / factor, min(math.sqrt(ratio) * factor, upper_limit)
    )


class RunPair(NamedTuple):
    """The scores of the baseline and of another run of an experiment: (n_queries,) each."""

    base: Floats
    run: Floats


def estimate_effects(
    original_pair: RunPair, replica_pair: RunPair, alpha: float, *, same_queries: bool
) -> dict[str, Estimate | float]:
    """Return the effect ratio, both improvements and their difference, where they exist."""
    estimates: dict[str, Estimate | float] = {}
    gains = [
        PairedScores(np.stack((pair.run, pair.base), axis=1), np.array([0]), np.array([1]))
        for pair in (original_pair, replica_pair)
    ]
    gain, replica_gain = (paired_scores.differences[:, 0] for paired_scores in gains)
    if gains[0].means[0]:  # not only rounding
        estimates["effect_ratio"] = Estimate(
            mean(replica_gain) / mean(gain),
            *_fieller_interval(replica_gain, gain, alpha, same_queries=same_queries),
        )
    if not (mean(original_pair.base) and mean(replica_pair.base)):
        return estimates
    improvements, influences = [], []
    for base, run in original_pair, replica_pair:
        ratio = mean(run) / mean(base)
        improvements.append((mean(run) - mean(base)) / mean(base))
        influences.append((run - ratio * base) / mean(base))  # each query's influence on the ratio
    estimates["improvement"], estimates["reproduced_improvement"] = improvements
    samples = [influences[0] - influences[1]] if same_queries else influences
    half_width = _half_width(alpha, *samples)
    delta = improvements[0] - improvements[1]
    interval_ends = (None, None) if half_width is None else (delta - half_width, delta + half_width)
    estimates["delta_improvement"] = Estimate(delta, *interval_ends)
    return estimates


def _half_width(alpha: float, *samples: Floats) -> float | None:
    """Return half the width of the interval of a sum of means of independent samples.

    By Student's t; None if a sample has one value only.
    """
    if min(map(len, samples)) < 2:
        return None
    error, degrees = combine_errors(
        [Moments.of(PairedScores.from_differences(sample[:, None])) for sample in samples]
    )
    return float(t_interval_ends(np.zeros(1), error, degrees, alpha)[1][0])


def _fieller_interval(
    numerator: Floats, denominator: Floats, alpha: float, *, same_queries: bool
) -> tuple[float | None, float | None]:
    """Return the ends of the interval of mean(numerator) / mean(denominator); None: no end.

    There are ends if both have two values or more, and the mean of the denominator is itself clear
    of 0. `same_queries`: whether both have the same queries; else the smaller sample gives the
    degrees of freedom.
    """
    from scipy.special import stdtrit

    n_smaller = min(len(numerator), len(denominator))
    if n_smaller < 2:
        return None, None
    t_quantile = float(stdtrit(n_smaller - 1, 1 - alpha / 2))
    numerator_variance, denominator_variance = (
        sample.var(ddof=1, keepdims=True) / len(sample) for sample in (numerator, denominator)
    )
    a, b, covariance = mean(numerator), mean(denominator), np.zeros(1)
    error_variance = numerator_variance + (a / b) ** 2 * denominator_variance
    if same_queries:
        covariance[0] = float(np.cov(numerator, denominator)[0, 1]) / n_smaller
        error_variance = (numerator - a / b * denominator).var(ddof=1, keepdims=True) / n_smaller
    low, high = fieller_interval(
        np.array([a]),
        b,
        (numerator_variance, denominator_variance, covariance),
        error_variance,
        t_quantile,
    )
    return finite_or_none(low[0]), finite_or_none(high[0])


def estimate_mean(values: Sequence[float], lowest: float, alpha: float) -> Estimate:
    """Return the mean of numbers from `lowest` to 1, one of each query, with its interval by t."""
    column = np.array(values)
    half_width, average = _half_width(alpha, column), mean(column)
    if half_width is None:
        return Estimate(average, None, None)
    return Estimate(average, max(average - half_width, lowest), min(average + half_width, 1.0))
