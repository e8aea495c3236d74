"""Prediction-powered means: few labels by people and many by a model make one estimate.

The model's labels alone are off by an unknown amount; people's alone are too few. The estimate adds
to the model's mean what people's labels say it is off by, on the queries or documents that people
labelled, which were drawn by chance. `lam` says how much the model counts: with 0 it is people's
labels alone, with 1 the model's mean, corrected.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, mean, total
from cranfield.comparison.significance import TIE, Moments
from cranfield.notes import Note

# With fewer labelled queries, intervals held less often than they say in trials.
MIN_RELIABLE_QUERIES = 20
_ROUNDING = 1e-12  # a standard deviation of at most this share of the greatest value is rounding


class PoweredEstimate(NamedTuple):
    """A mean, or a difference, by both kinds of labels, and by each kind alone."""

    estimate: float
    error: float  # its standard error
    lam: float  # how much the model's labels count, from 0 to 1
    human: float  # by people's labels alone
    human_error: float
    model: float  # by the model's labels alone
    # How many queries or documents people alone would have to label for this (label) error.
    worth: float | None
    label_error: float | None = None  # the part of the error that labelling all would remove
    n_changed: int = 0  # queries whose score, or difference, is not 0
    # The standard error of model - estimate, and its degrees of freedom; None: not known.
    excess_error: float | None = None
    excess_degrees: int = 0


class Sample(NamedTuple):
    """What people labelled, and what can be estimated from it."""

    unit: Literal["query", "document"]
    n_labelled: int  # queries, or documents
    n_queries: int  # with the model's labels
    degrees: int  # of freedom
    lam: float | None  # as stated
    # (measure, system, other system or None), by their numbers -> the scores, or the differences.
    select: "Callable[[int, int, int | None], QueryScores | DocumentScores]"
    notes: Sequence[Note]
    n_pooled: float  # documents, or queries, that could be drawn: the sum of 1 / probability
    # About so many labelled ones make intervals hold as often as they say.
    n_reliable: float = MIN_RELIABLE_QUERIES
    human_scores: Floats | None = None  # (n_measures, n_labelled, n_systems), of whole queries

    @property
    def is_little(self) -> bool:
        """Whether so few are labelled that intervals hold less often than they say."""
        return self.n_labelled < self.n_reliable

    def estimate(self, m: int, i: int, base: int | None = None) -> PoweredEstimate:
        """Estimate the mean of system i by measure m, or its difference from system `base`."""
        return self.select(m, i, base).estimate(self.lam)


class QueryScores(NamedTuple):
    """Scores of a system, or their differences, where people labelled some queries, by chance."""

    y: Floats  # (n,) of the labelled queries, two at least, by people's labels
    f: Floats  # (n,) of the same by the model's labels
    other_scores: Floats  # (N,) of all other queries by the model's labels
    chance: Floats | None = None  # (n,) of being drawn; None, or all equal: simple random sampling

    def estimate(self, lam: float | None = None) -> PoweredEstimate:
        """Estimate the mean score.

        `lam` None: the value with the least variance (PPI++; Angelopoulos, Duchi & Zrnic, arXiv
        2311.01453, 2023), cut to 0..1. It is 0 if there is no other query.

        >>> y, f = np.array([1.0, 0.0]), np.array([0.5, 0.0])
        >>> found = QueryScores(y, f, np.array([0.5, 0.5, 0.5])).estimate()
        >>> found.human, found.model, found.lam, found.estimate
        (0.5, 0.4, 1.0, 0.75)
        """
        y, f, other_scores, chance = self
        n, n_rest = len(y), len(other_scores)
        all_scores = np.concatenate((f, other_scores))
        model = mean(all_scores)
        if chance is not None and np.ptp(chance) > 0:
            return _estimate_weighted(y, f, all_scores, 1 / chance, lam)
        covariance = _covariance(y, f) / n
        spread = _variance(all_scores) * (1 / n + (1 / n_rest if n_rest else 0.0))
        lam = _choose_lam(covariance, spread, lam) if n_rest else 0.0
        estimate = mean(y) + (lam * (mean(other_scores) - mean(f)) if n_rest else 0.0)

        def find_error(f_factor: float, rest_factor: float) -> float:
            """Return the error of mean(y) - f_factor * mean(f) + rest_factor * the others' mean."""
            rest_variance = rest_factor**2 * _variance(other_scores) / max(n_rest, 1)
            return math.sqrt(_variance(y - f_factor * f) / n + rest_variance)

        share, error = n / (n + n_rest), find_error(lam, lam)
        human_error = np.sqrt(_variance(y) / n).item()
        worth = _worth(n, human_error, error)
        return PoweredEstimate(
            estimate,
            error,
            lam,
            mean(y),
            human_error,
            model,
            worth,
            n_changed=int(np.count_nonzero(y)),
            excess_error=find_error(lam + share, lam - 1 + share),
            excess_degrees=n - 1,
        )

    def count_labels(self, lam: float | None, width: float, levels: Sequence[float]) -> int | None:
        """Return how many labelled queries make an interval of `estimate` this wide, if any.

        The width is the error times the sum of Student's t at `levels`. None, too, where queries
        have different probabilities.
        """
        from scipy.special import stdtrit

        if self.estimate(lam).excess_error is None:
            return None
        n_all = len(self.y) + len(self.other_scores)
        all_scores = np.concatenate((self.f, self.other_scores))
        n = np.arange(len(self.y), n_all + 1)
        covariance, model_variance = _covariance(self.y, self.f), _variance(all_scores)
        best_lam = np.clip(_slope(covariance, model_variance) * (n_all - n) / n_all, 0, 1)
        lams = best_lam if lam is None else lam * (n < n_all)
        variance = _variance(self.y) - 2 * lams * covariance + lams**2 * _variance(self.f)
        rest_variance = lams**2 * model_variance / np.maximum(n_all - n, 1)
        error = np.sqrt(np.maximum(variance, 0) / n + rest_variance)
        widths = sum(stdtrit(n - 1, level) for level in levels) * error
        return next(iter(n[widths <= width].tolist()), None)


def _estimate_weighted(
    y: Floats, f: Floats, all_scores: Floats, weight: Floats, lam: float | None
) -> PoweredEstimate:
    """Estimate the mean where queries were drawn with different probabilities, 1 / weight.

    The model's mean over all queries, corrected by the weighted mean of what it is off by (Hájek's
    ratio; Särndal, Swensson & Wretman, Model Assisted Survey Sampling, 1992, chapters 5 and 6). The
    variance is that of each query's share in the estimate, where queries are a sample, too.
    """
    n, n_all = len(y), len(all_scores)
    weight_share = weight / total(weight)
    deviations = all_scores - mean(all_scores)

    def weighted_mean(values: Floats) -> tuple[float, Floats]:
        """Return a weighted mean, and what each labelled query adds to its error: (n,)."""
        average = total(weight_share * values)
        return average, weight_share * (values - average) * np.sqrt(n / (n - 1))

    (human, human_shares), (_, model_shares) = weighted_mean(y), weighted_mean(f)
    # Labelled queries are among all queries.
    shared_covariance = total(model_shares * (f - mean(all_scores))) / n_all
    spread = (
        total(model_shares * model_shares) - 2 * shared_covariance + _variance(all_scores) / n_all
    )
    covariance = (
        total(human_shares * model_shares) - total(human_shares * (f - mean(all_scores))) / n_all
    )
    lam = _choose_lam(covariance, spread, lam)
    corrected_mean, shares = weighted_mean(y - lam * f)
    variance = total(shares * shares) + lam**2 * total(deviations * deviations) / (
        n_all * (n_all - 1)
    )
    variance += 2 * lam * total(shares * (f - mean(all_scores))) / n_all
    human_error = np.sqrt(total(human_shares * human_shares)).item()
    error = np.sqrt(max(variance, 0.0)).item()
    return PoweredEstimate(
        corrected_mean + lam * mean(all_scores),
        error,
        lam,
        human,
        human_error,
        mean(all_scores),
        _worth(n, human_error, error),
        n_changed=int(np.count_nonzero(y)),
    )


class DocumentScores(NamedTuple):
    """What documents that people labelled, drawn by chance, add to scores or to their differences.

    The measure adds up its documents. A row is a document that people labelled.
    """

    query: Ints  # (rows,) the number of its query
    y: Floats  # (rows,) what it adds to the score by people's label
    f: Floats  # (rows,) by the model's label
    chance: Floats  # (rows,) of being drawn
    model_scores: Floats  # (n_queries,) the queries' scores by the model's labels

    def estimate(self, lam: float | None = None) -> PoweredEstimate:
        """Estimate the mean score.

        Each score is estimated without bias for a given `lam` (difference estimator: Särndal,
        Swensson & Wretman 1992, chapter 6). None: the value with the least variance from labelling,
        cut to 0..1. What the model is off by has the error of labelling alone, widened where few
        documents add something by either label.

        >>> y = np.array([1.0])
        >>> scores = DocumentScores(np.array([0]), y, y, y / 2, np.array([2.0, 0.5]))
        >>> found = scores.estimate(1.0)
        >>> found.human, found.model, found.estimate
        (1.0, 1.25, 1.25)
        """
        query, y, f, chance, model_scores = self
        n_queries, weight = len(model_scores), (1 - chance) / chance**2
        lam = _choose_lam(total(weight * y * f), total(weight * f * f), lam)
        human = np.bincount(query, y / chance, n_queries)
        scores = human + lam * (model_scores - np.bincount(query, f / chance, n_queries))
        label_variances = [
            total(weight * (y - lam_or_0 * f) ** 2) / n_queries**2 for lam_or_0 in (0.0, lam)
        ]
        human_error, label_error = np.sqrt(label_variances).tolist()
        z = int(np.count_nonzero((y != 0) | (f != 0)))
        return PoweredEstimate(
            mean(scores),
            np.sqrt(_variance(scores) / n_queries).item(),
            lam,
            mean(human),
            np.sqrt(_variance(human) / n_queries).item(),
            mean(model_scores),
            _worth(len(query), human_error, label_error),
            label_error,
            int(np.count_nonzero(np.abs(scores) > TIE)),
            label_error * math.sqrt(z / (z - 2)) if z > 2 else None,
            z - 2,
        )

    def count_labels(self, lam: float | None, width: float, levels: Sequence[float]) -> int | None:
        """Return how many labelled documents make an interval of `estimate` this wide, if any.

        The width is the error times the sum of Student's t at `levels`.
        """
        from scipy.special import stdtrit

        estimate, n, share = self.estimate(lam), len(self.query), 1 / total(1 / self.chance)
        t = sum(float(stdtrit(len(self.model_scores) - 1, level)) for level in levels)
        label_variance = (estimate.label_error or 0.0) ** 2
        allowed_variance = (width / t) ** 2 - (estimate.error**2 - label_variance)
        if allowed_variance <= 0 or not label_variance:
            return n if allowed_variance > 0 else None
        return max(n, math.ceil(1 / (allowed_variance / label_variance * (1 / n - share) + share)))


def find_moments(mean: float, error: float, degrees: int) -> Moments:
    """Return the moments of a sample of `degrees` + 1 that has this mean and this error."""
    return Moments(degrees + 1, np.array([mean]), np.array([error * np.sqrt(degrees + 1)]))


def deviation_from_chance(
    f: Floats, all_scores: Floats, chance: Floats | None = None
) -> tuple[float, float] | None:
    """Return how far the model's mean on the labelled queries is from its mean, and a p-value.

    The distance is in standard errors, as if the labelled queries were drawn by chance. The error
    is known where all were as likely (`chance` is None), since the model labels every query: p is
    by the normal distribution, else by Student's. None if scores do not differ (with `chance`,
    those of the labelled queries), or all queries are labelled. `f` and `chance` (n,) belong to the
    labelled queries, `all_scores` (N,) are the model's of all queries.

    >>> all_scores = np.array([0.9, 1.0, 0.1, 0.2, 0.0, 0.1])
    >>> n_errors, p = deviation_from_chance(np.array([0.9, 1.0]), all_scores)
    >>> round(n_errors, 3), round(p, 3)
    (2.208, 0.027)
    """
    from scipy.special import ndtr, stdtr

    n, n_all = len(f), len(all_scores)
    if n == n_all or not _variance(all_scores):
        return None
    degrees = math.inf
    if chance is None:
        average, variance = mean(f), _variance(all_scores) / n
    else:
        weight = 1 / chance / total(1 / chance)
        average, degrees = total(weight * f), n - 1.0
        variance = total((weight * (f - average)) ** 2) * n / (n - 1)
    variance *= 1 - n / n_all
    if not variance:
        return None
    n_errors = (average - mean(all_scores)) / math.sqrt(variance)
    tail = ndtr(-abs(n_errors)) if degrees == math.inf else stdtr(degrees, -abs(n_errors))
    return n_errors, float(2 * tail)


def _choose_lam(covariance: float, variance: float, stated_lam: float | None) -> float:
    """Return how much the model counts: the stated lam, else the lam with the least variance."""
    if stated_lam is not None:
        return stated_lam
    return min(max(_slope(covariance, variance), 0.0), 1.0)


def _slope(covariance: float, variance: float) -> float:
    return covariance / variance if variance > 0 else 0.0


def _worth(n: int, error_alone: float, error_together: float) -> float | None:
    """Return how many labels by people alone equal n with the model's; None without an error."""
    return n * (error_alone / error_together) ** 2 if error_together > 0 else None


def _variance(values: Floats) -> float:
    """Return the variance with n - 1; 0 for one value, and where it is only rounding."""
    if len(values) < 2:
        return 0.0
    variance = values.var(ddof=1).item()
    greatest_size = np.abs(values).max().item()
    return variance if variance > (_ROUNDING * greatest_size) ** 2 else 0.0


def _covariance(a: Floats, b: Floats) -> float:
    return total((a - mean(a)) * (b - mean(b))) / (len(a) - 1)
