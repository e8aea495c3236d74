"""Pair tests: the p-value of each pair, uncorrected, and the interval of its mean difference.

With more than 7,000 queries, tests by sign flips draw no more flips than p needs (`sequential`),
and intervals of the randomization test are Student's where these agree with those of all flips
(`edgeworth`). Intervals of the other tests but the bootstrap are always Student's.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats
from cranfield.comparison.edgeworth import limits_agree
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.randomization import invert_sign_flips, sign_flip_p_values
from cranfield.comparison.result import Method
from cranfield.comparison.sequential import (
    CLEAR,
    SequentialTests,
    bound_p_values,
    run_sequential_tests,
)
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import (
    Moments,
    bca_interval,
    bootstrap_test,
    sign_test,
    signed_ranks,
    t_interval,
    t_test,
    wilcoxon,
)
from cranfield.progress import watch_steps


class _PValues(NamedTuple):
    """p-values, their standard errors, and how they were computed: (n_pairs,) each."""

    p: Floats
    error: Floats
    method: list[Method | None]


class _StudentIntervals(NamedTuple):
    """Student's intervals, and whether they agree with the intervals by all flips: (n_pairs,)."""

    low: Floats
    high: Floats
    agrees: Bools


class PairSample(NamedTuple):
    """The pairs of systems to test under one measure, on some of the queries."""

    is_included: Bools  # (n_queries,) whether each of all queries is in the sample
    paired_scores: PairedScores
    moments: Moments
    flips: Flips


class PairTests(NamedTuple):
    """The tests of pairs, (n_pairs,) each, uncorrected; NaN where there is no test."""

    p: Floats
    low: Floats  # of the interval of the difference, infinite where it has no end, NaN of one unit
    high: Floats
    interval: Sequence[str]  # how each interval was computed
    p_error: Floats  # the standard error of p, from drawing flips or resamples; else 0
    method: Sequence[Method | None]  # None: neither flips nor resamples, or no p


def run_pair_tests(
    slices: Sequence[Sequence[PairSample]], settings: Settings, units_limit: int = MANY_UNITS
) -> list[list[PairTests]]:
    """Return the tests of each slice's samples: (slices, measures).

    `slices` has a sample for each measure; the first slice has all queries. In slices of more than
    `units_limit` queries (not clusters), a test by sign flips draws no more than p needs, and
    randomization tests share their flips.
    """
    flip_tests = {"randomization": _test_differences, "wilcoxon": _test_ranks}
    test_with_flips = flip_tests.get(settings.test)
    is_large = [
        test_with_flips is not None
        and samples[0].paired_scores.n_units > units_limit
        and samples[0].paired_scores.unit_size is None
        for samples in slices
    ]
    tests_of_large: list[list[PairTests]] = []
    if test_with_flips is not None and any(is_large):
        tests_of_large = test_with_flips([*compress(slices, is_large)], settings)
    next_tests, steps = iter(tests_of_large), zip(slices, is_large, strict=True)
    return [
        next(next_tests)
        if is_large_slice
        else [_test_sample(sample, settings) for sample in watch_steps(samples, "comparing")]
        for samples, is_large_slice in watch_steps(steps, "comparing", len(slices))
    ]


def _test_sample(sample: PairSample, settings: Settings) -> PairTests:
    """Return the tests of a sample; by sign flips, by all its flips, shared with no other slice."""
    _, paired_scores, moments, flips = sample
    n_pairs = len(paired_scores.left_column)
    nan = np.full(n_pairs, np.nan)
    if paired_scores.n_units < 2:
        return PairTests(nan, nan, nan, ["none"] * n_pairs, nan, [None] * n_pairs)
    low, high = t_interval(moments, settings.alpha)
    interval, n_drawn = "t", flips.n_drawn
    method: Method | None = None
    match settings.test:
        case "randomization":
            p, low, high = invert_sign_flips(paired_scores, flips, settings.alpha)
            interval, method = "randomization", "exact" if flips.is_exact else "drawn"
        case "bootstrap":
            p = bootstrap_test(paired_scores, moments, resamples=n_drawn, seed=flips.seed)
            low, high = bca_interval(
                paired_scores, moments, settings.alpha, resamples=n_drawn, seed=flips.seed
            )
            interval, method = "bca", "drawn"
        case "t":
            p = t_test(moments)
        case "wilcoxon":
            p = wilcoxon(paired_scores, flips, settings.tie)
            method = "exact" if flips.is_exact else "drawn"
        case "sign":
            p = sign_test(paired_scores, settings.tie)
        case _:
            p = nan
    error = np.sqrt(p * (1 - p) / n_drawn) if method == "drawn" else np.where(np.isnan(p), p, 0.0)
    methods = [method if has_p else None for has_p in ~np.isnan(p)]
    return PairTests(p, low, high, [interval] * n_pairs, error, methods)


def _test_differences(
    slices: Sequence[Sequence[PairSample]], settings: Settings
) -> list[list[PairTests]]:
    """Return the randomization tests of slices of many queries: (slices, measures)."""
    bounds, students, is_requested = [], [], []
    for samples in slices:
        bounds.append([bound_p_values(sample.paired_scores) for sample in samples])
        students.append([_student_intervals(sample, settings) for sample in samples])
        rows = zip(bounds[-1], students[-1], strict=True)
        is_requested.append([(bound >= CLEAR) & student.agrees for bound, student in rows])
    sequential_tests = _draw_flips(slices, is_requested, settings)
    return [
        [
            _add_intervals(sample, _choose_p_values(tests, bound), student, settings)
            for sample, tests, bound, student in zip(*slice_parts, strict=True)
        ]
        for slice_parts in zip(slices, sequential_tests, bounds, students, strict=True)
    ]


def _test_ranks(
    slices: Sequence[Sequence[PairSample]], settings: Settings
) -> list[list[PairTests]]:
    """Return Wilcoxon's tests of slices of many queries, no flips shared: (slices, measures)."""
    return [[_test_sample_ranks(sample, settings) for sample in samples] for samples in slices]


def _test_sample_ranks(sample: PairSample, settings: Settings) -> PairTests:
    paired_ranks = PairedScores.from_differences(signed_ranks(sample.paired_scores, settings.tie))
    low, high = t_interval(sample.moments, settings.alpha)
    p, error, method = _find_p_values(paired_ranks, sample.flips)
    return PairTests(p, low, high, ["t"] * len(p), error, method)


def p_values(pairs: PairedScores, flips: Flips, units_limit: int = MANY_UNITS) -> Floats:
    """Return the two-sided p-values of mean differences by sign flips: (n_pairs,).

    With more than `units_limit` units, no more flips are drawn than p needs.
    """
    if pairs.n_units > units_limit:
        return _find_p_values(pairs, flips).p
    return sign_flip_p_values(pairs, flips)


def _find_p_values(pairs: PairedScores, flips: Flips) -> _PValues:
    bound = bound_p_values(pairs)
    is_every_unit = np.ones(pairs.n_units, np.bool_)
    [[tests]] = run_sequential_tests(
        [is_every_unit], [[pairs]], [[bound >= CLEAR]], n_drawn=flips.n_drawn, seed=flips.seed
    )
    return _choose_p_values(tests, bound)


def _draw_flips(
    slices: Sequence[Sequence[PairSample]],
    is_requested: Sequence[Sequence[Bools]],
    settings: Settings,
) -> list[list[SequentialTests]]:
    """Return the tests, by shared flips, of the pairs that are requested: (n_pairs,) masks."""
    return run_sequential_tests(
        [samples[0].is_included for samples in slices],
        [[sample.paired_scores for sample in samples] for samples in slices],
        is_requested,
        n_drawn=settings.flips,
        seed=settings.seed,
    )


def _student_intervals(sample: PairSample, settings: Settings) -> _StudentIntervals:
    """Return Student's intervals, and whether they agree with what all flips would give."""
    low, high = t_interval(sample.moments, settings.alpha)
    agrees = limits_agree(sample.paired_scores.differences, low, high, settings.alpha / 2)
    return _StudentIntervals(low, high, agrees)


def _choose_p_values(tests: SequentialTests, bound: Floats) -> _PValues:
    """Return p-values, errors and methods: the bound where it is clear, else by flips."""
    is_clear = bound < CLEAR
    p = np.where(is_clear, bound, tests.p)
    error = np.where(is_clear, 0.0, np.sqrt(p * (1 - p) / np.maximum(tests.n_flips, 1)))
    drawn_method = np.where(tests.is_stopped_early, "sequential", "drawn")
    return _PValues(p, error, np.where(is_clear, "bound", drawn_method).tolist())


def _add_intervals(
    sample: PairSample, p_values: _PValues, student: _StudentIntervals, settings: Settings
) -> PairTests:
    """Return tests; where Student's interval disagrees, all flips make it, and p if not clear."""
    (p, error, method), (low, high, agrees) = p_values, student
    far = np.flatnonzero(~agrees)  # pairs
    if len(far):
        scores, n_drawn = sample.paired_scores, sample.flips.n_drawn
        left_column, right_column = scores.left_column[far], scores.right_column[far]
        far_pairs = replace(scores, left_column=left_column, right_column=right_column)
        flip_p, low[far], high[far] = invert_sign_flips(far_pairs, sample.flips, settings.alpha)
        is_open = np.array([method[i] != "bound" for i in far])
        p[far] = np.where(is_open, flip_p, p[far])
        error[far] = np.where(is_open, np.sqrt(flip_p * (1 - flip_p) / n_drawn), 0.0)
    return PairTests(p, low, high, np.where(agrees, "t", "randomization").tolist(), error, method)
