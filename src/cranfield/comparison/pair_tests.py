"""Pair tests: the p-value of each pair, uncorrected, and the interval of its mean difference.

With more than 7,000 queries, tests by sign flips draw no more flips than p needs (`sequential`),
and intervals are Student's where these agree with those of all flips (`edgeworth`).
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

# p-values, their standard errors, and how they were computed: (n_pairs,) each.
_PValues = tuple[Floats, Floats, list[Method | None]]


class PairSample(NamedTuple):
    """The pairs of systems to test under one measure, on some of the queries."""

    is_included: Bools  # (n_queries,) whether each of all queries is in the sample
    paired_scores: PairedScores
    moments: Moments
    flips: Flips

    @property
    def pairs(self) -> Bools:
        """True for each pair: (n_pairs,)."""
        return np.ones(len(self.paired_scores.left_column), np.bool_)


class PairTests(NamedTuple):
    """The tests of pairs, (n_pairs,) each, uncorrected; NaN where there is no test."""

    p: Floats
    low: Floats  # of the interval of the difference, infinite where it has no end
    high: Floats
    interval: Sequence[str]  # how each interval was computed
    p_error: Floats  # the standard error of p, from drawing flips
    method: Sequence[Method | None]


def run_pair_tests(
    slices: Sequence[Sequence[PairSample]], settings: Settings, units_limit: int = MANY_UNITS
) -> list[list[PairTests]]:
    """Return the tests of each slice's samples: (slices, measures).

    `slices` has a sample for each measure; the first slice has all queries. Slices of more than
    `many_units` queries share their flips.
    """
    test_with_flips = {"randomization": _test_differences, "wilcoxon": _test_ranks}.get(
        settings.test
    )
    is_large = [
        test_with_flips is not None
        and samples[0].paired_scores.n_units > units_limit
        and samples[0].paired_scores.unit_size is None
        for samples in slices
    ]
    tests_of_large: list[list[PairTests]] = []
    if test_with_flips is not None and any(is_large):
        tests_of_large = test_with_flips([*compress(slices, is_large)], settings)
    next_tests = iter(tests_of_large)
    return [
        next(next_tests)
        if is_large_slice
        else [_test_slice(sample, settings) for sample in watch_steps(samples, "comparing")]
        for samples, is_large_slice in watch_steps(
            zip(slices, is_large, strict=True), "comparing", len(slices)
        )
    ]


def _test_slice(sample: PairSample, settings: Settings) -> PairTests:
    """Return the tests of a sample that shares no flips with other slices."""
    _, paired_scores, moments, flips = sample
    n_pairs = len(paired_scores.left_column)
    no_numbers = np.full(n_pairs, np.nan)
    if paired_scores.n_units < 2:
        return PairTests(
            no_numbers, no_numbers, no_numbers, ["none"] * n_pairs, no_numbers, [None] * n_pairs
        )
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
            p = no_numbers
    error = np.sqrt(p * (1 - p) / n_drawn) if method == "drawn" else np.where(np.isnan(p), p, 0.0)
    methods = [method if has_p else None for has_p in ~np.isnan(p)]
    return PairTests(p, low, high, [interval] * n_pairs, error, methods)


def _test_differences(
    slices: Sequence[Sequence[PairSample]], settings: Settings
) -> list[list[PairTests]]:
    """Return the randomization tests of slices of many queries: (slices, measures)."""
    bounds, student_intervals, is_requested = [], [], []
    for samples in slices:
        bounds.append([bound_p_values(sample.paired_scores) for sample in samples])
        student_intervals.append([_student_intervals(sample, settings) for sample in samples])
        is_requested.append(
            [
                (bound >= CLEAR) & agrees
                for bound, (_, _, agrees) in zip(bounds[-1], student_intervals[-1], strict=True)
            ]
        )
    sequential_tests = _draw_flips(slices, is_requested, settings)
    return [
        [
            _add_intervals(sample, _choose_p_values(p, bound), student, settings)
            for sample, p, bound, student in zip(*slice_parts, strict=True)
        ]
        for slice_parts in zip(slices, sequential_tests, bounds, student_intervals, strict=True)
    ]


def _test_ranks(
    slices: Sequence[Sequence[PairSample]], settings: Settings
) -> list[list[PairTests]]:
    """Return Wilcoxon's tests of slices of many queries, whose ranks differ: (slices, measures)."""
    return [[_test_sample_ranks(sample, settings) for sample in of_slice] for of_slice in slices]


def _test_sample_ranks(sample: PairSample, settings: Settings) -> PairTests:
    paired_ranks = PairedScores.from_differences(signed_ranks(sample.paired_scores, settings.tie))
    low, high = t_interval(sample.moments, settings.alpha)
    p, error, method = _find_p_values(paired_ranks, sample.flips)
    return PairTests(p, low, high, ["t"] * len(p), error, method)


def p_values(paired_scores: PairedScores, flips: Flips, units_limit: int = MANY_UNITS) -> Floats:
    """Return the two-sided p-values of mean differences by sign flips: (n_pairs,).

    With more than `many_units` queries, no more flips are drawn than p needs.
    """
    return (
        _find_p_values(paired_scores, flips)[0]
        if paired_scores.n_units > units_limit
        else sign_flip_p_values(paired_scores, flips)
    )


def _find_p_values(paired_scores: PairedScores, flips: Flips) -> _PValues:
    bound = bound_p_values(paired_scores)
    is_every_unit = np.ones(paired_scores.n_units, np.bool_)
    [[tests]] = run_sequential_tests(
        [is_every_unit],
        [[paired_scores]],
        [[bound >= CLEAR]],
        n_drawn=flips.n_drawn,
        seed=flips.seed,
    )
    return _choose_p_values(tests, bound)


def _draw_flips(
    slices: Sequence[Sequence[PairSample]],
    is_requested: Sequence[Sequence[Bools]],
    settings: Settings,
) -> list[list[SequentialTests]]:
    return run_sequential_tests(
        [samples[0].is_included for samples in slices],
        [[sample.paired_scores for sample in of_slice] for of_slice in slices],
        is_requested,
        n_drawn=settings.flips,
        seed=settings.seed,
    )


def _student_intervals(sample: PairSample, settings: Settings) -> tuple[Floats, Floats, Bools]:
    """Return Student's intervals, and whether they agree with the intervals by all flips.

    Where they do not, the intervals have to come from all flips.
    """
    low, high = t_interval(sample.moments, settings.alpha)
    agrees = limits_agree(sample.paired_scores.differences, low, high, settings.alpha / 2)
    return low, high, agrees


def _choose_p_values(tests: SequentialTests, bound: Floats) -> _PValues:
    """Return p-values, errors and methods: the bound where it is clear, else by flips."""
    is_clear = bound < CLEAR
    p = np.where(is_clear, bound, tests.p)
    error = np.where(is_clear, 0.0, np.sqrt(p * (1 - p) / np.maximum(tests.n_flips, 1)))
    drawn_method = np.where(tests.is_stopped_early, "sequential", "drawn")
    return p, error, np.where(is_clear, "bound", drawn_method).tolist()


def _add_intervals(
    sample: PairSample,
    p_values: _PValues,
    student: tuple[Floats, Floats, Bools],
    settings: Settings,
) -> PairTests:
    """Return tests with intervals: both p and interval by all flips where Student's disagrees."""
    (p, error, method), (low, high, agrees) = p_values, student
    disagreeing = np.flatnonzero(~agrees)
    if len(disagreeing):
        disagreeing_pairs = replace(
            sample.paired_scores,
            left_column=sample.paired_scores.left_column[disagreeing],
            right_column=sample.paired_scores.right_column[disagreeing],
        )
        p_of_all_flips, low[disagreeing], high[disagreeing] = invert_sign_flips(
            disagreeing_pairs, sample.flips, settings.alpha
        )
        is_open = np.array([method[i] != "bound" for i in disagreeing])
        p[disagreeing] = np.where(is_open, p_of_all_flips, p[disagreeing])
        error[disagreeing] = np.where(
            is_open, np.sqrt(p_of_all_flips * (1 - p_of_all_flips) / sample.flips.n_drawn), 0.0
        )
    return PairTests(p, low, high, np.where(agrees, "t", "randomization").tolist(), error, method)
