"""Tests of each pair alone: its p-value, and the interval of its mean difference.

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
from cranfield.comparison.sequential import CLEAR, SequentialTests, bound_p_values, run_sequential_tests
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
    """Pairs of systems, on some of the queries, under one measure."""

    is_included: Bools  # (n_queries,) which of all queries they are
    paired_scores: PairedScores
    moments: Moments
    flips: Flips

    @property
    def pairs(self) -> Bools:
        """True for each pair: (n_pairs,)."""
        return np.ones(len(self.paired_scores.left_column), np.bool_)


class PairTests(NamedTuple):
    """The test of each pair alone, (n_pairs,) each; NaN where there is none."""

    p: Floats
    low: Floats  # of the interval of the difference, infinite where it has no end
    high: Floats
    interval: Sequence[str]  # how it was made
    p_error: Floats  # the standard error of p, from drawing flips
    method: Sequence[Method | None]


def run_pair_tests(
    slices: Sequence[Sequence[PairSample]], settings: Settings, units_limit: int = MANY_UNITS
) -> list[list[PairTests]]:
    """Return the test of each pair: for each slice, those of each measure.

    `slices` has a sample for each measure; the first slice has all queries. Those of more than
    `many` queries share their flips.
    """
    by_signs = {"randomization": _test_differences, "wilcoxon": _test_ranks}.get(settings.test)
    large = [
        by_signs is not None and one[0].paired_scores.n_units > units_limit and one[0].paired_scores.unit_size is None
        for one in slices
    ]
    of_large: list[list[PairTests]] = []
    if by_signs is not None and any(large):
        of_large = by_signs([*compress(slices, large)], settings)
    found = iter(of_large)
    return [
        next(found) if shared else [_test_slice(sample, settings) for sample in watch_steps(one, "comparing")]
        for one, shared in watch_steps(zip(slices, large, strict=True), "comparing", len(slices))
    ]


def _test_slice(sample: PairSample, settings: Settings) -> PairTests:
    """Return the test of pairs that share no flips with other slices."""
    _, paired, moments, flips = sample
    m = len(paired.left_column)
    none = np.full(m, np.nan)
    if paired.n_units < 2:
        return PairTests(none, none, none, ["none"] * m, none, [None] * m)
    low, high = t_interval(moments, settings.alpha)
    interval, drawn = "t", flips.n_drawn
    method: Method | None = None
    match settings.test:
        case "randomization":
            p, low, high = invert_sign_flips(paired, flips, settings.alpha)
            interval, method = "randomization", "exact" if flips.is_exact else "drawn"
        case "bootstrap":
            p = bootstrap_test(paired, moments, resamples=drawn, seed=flips.seed)
            low, high = bca_interval(
                paired, moments, settings.alpha, resamples=drawn, seed=flips.seed
            )
            interval, method = "bca", "drawn"
        case "t":
            p = t_test(moments)
        case "wilcoxon":
            p, method = wilcoxon(paired, flips, settings.tie), "exact" if flips.is_exact else "drawn"
        case "sign":
            p = sign_test(paired, settings.tie)
        case _:
            p = none
    error = np.sqrt(p * (1 - p) / drawn) if method == "drawn" else np.where(np.isnan(p), p, 0.0)
    methods = [method if known else None for known in ~np.isnan(p)]
    return PairTests(p, low, high, [interval] * m, error, methods)


def _test_differences(slices: Sequence[Sequence[PairSample]], settings: Settings) -> list[list[PairTests]]:
    """Return the randomization tests of many queries."""
    bounds, students, wanted = [], [], []
    for of_slice in slices:
        bounds.append([bound_p_values(one.paired_scores) for one in of_slice])
        students.append([_student_intervals(one, settings) for one in of_slice])
        wanted.append(
            [
                (bound >= CLEAR) & near
                for bound, (_, _, near) in zip(bounds[-1], students[-1], strict=True)
            ]
        )
    drawn = _draw_flips(slices, wanted, settings)
    return [
        [
            _add_intervals(sample, _choose_p_values(p, bound), student, settings)
            for sample, p, bound, student in zip(*of_slice, strict=True)
        ]
        for of_slice in zip(slices, drawn, bounds, students, strict=True)
    ]


def _test_ranks(slices: Sequence[Sequence[PairSample]], settings: Settings) -> list[list[PairTests]]:
    """Return Wilcoxon's tests of many queries: of ranks, which differ between slices."""
    return [[_test_sample_ranks(one, settings) for one in of_slice] for of_slice in slices]


def _test_sample_ranks(sample: PairSample, settings: Settings) -> PairTests:
    paired = PairedScores.from_differences(signed_ranks(sample.paired_scores, settings.tie))
    low, high = t_interval(sample.moments, settings.alpha)
    p, error, method = _find_p_values(paired, sample.flips)
    return PairTests(p, low, high, ["t"] * len(p), error, method)


def p_values(paired_scores: PairedScores, flips: Flips, units_limit: int = MANY_UNITS) -> Floats:
    """Return the two-sided p-values of mean differences by sign flips: (n_pairs,).

    With more than `many` queries, by no more flips than p needs.
    """
    return _find_p_values(paired_scores, flips)[0] if paired_scores.n_units > units_limit else sign_flip_p_values(paired_scores, flips)


def _find_p_values(paired: PairedScores, flips: Flips) -> _PValues:
    bound = bound_p_values(paired)
    every = np.ones(paired.n_units, np.bool_)
    [[drawn]] = run_sequential_tests(
        [every], [[paired]], [[bound >= CLEAR]], n_drawn=flips.n_drawn, seed=flips.seed
    )
    return _choose_p_values(drawn, bound)


def _draw_flips(
    slices: Sequence[Sequence[PairSample]], wanted: Sequence[Sequence[Bools]], settings: Settings
) -> list[list[SequentialTests]]:
    return run_sequential_tests(
        [of_slice[0].is_included for of_slice in slices],
        [[one.paired_scores for one in of_slice] for of_slice in slices],
        wanted,
        n_drawn=settings.flips,
        seed=settings.seed,
    )


def _student_intervals(sample: PairSample, settings: Settings) -> tuple[Floats, Floats, Bools]:
    """Return the ends of Student's intervals, and whether they agree with those of all flips.

    Where they do not, the intervals have to come from all flips.
    """
    low, high = t_interval(sample.moments, settings.alpha)
    near = limits_agree(sample.paired_scores.differences, low, high, settings.alpha / 2)
    return low, high, near


def _choose_p_values(drawn: SequentialTests, bound: Floats) -> _PValues:
    """Return p-values, their errors and their methods; a bound where no flips are drawn."""
    clear = bound < CLEAR
    p = np.where(clear, bound, drawn.p)
    error = np.where(clear, 0.0, np.sqrt(p * (1 - p) / np.maximum(drawn.n_flips, 1)))
    stopped = np.where(drawn.is_stopped_early, "sequential", "drawn")
    return p, error, np.where(clear, "bound", stopped).tolist()


def _add_intervals(
    sample: PairSample, known: _PValues, student: tuple[Floats, Floats, Bools], settings: Settings
) -> PairTests:
    """Return tests with intervals: where Student's does not agree, both p and ends by all flips."""
    (p, error, method), (low, high, near) = known, student
    far = np.flatnonzero(~near)
    if len(far):
        paired = replace(
            sample.paired_scores, left=sample.paired_scores.left_column[far], right=sample.paired_scores.right_column[far]
        )
        of_all, low[far], high[far] = invert_sign_flips(paired, sample.flips, settings.alpha)
        open_ = np.array([method[i] != "bound" for i in far])
        p[far] = np.where(open_, of_all, p[far])
        error[far] = np.where(open_, np.sqrt(of_all * (1 - of_all) / sample.flips.n_drawn), 0.0)
    return PairTests(p, low, high, np.where(near, "t", "randomization").tolist(), error, method)
