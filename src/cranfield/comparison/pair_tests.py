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
from cranfield.comparison.flips import MANY, Flips, Paired
from cranfield.comparison.randomization import inverted, sign_flip
from cranfield.comparison.result import Method
from cranfield.comparison.sequential import CLEAR, Drawn, bound_of, sequential
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
from cranfield.progress import steps

# p-values, their standard errors, and how they were computed: (n_pairs,) each.
_Known = tuple[Floats, Floats, list[Method | None]]


class Sample(NamedTuple):
    """Pairs of systems, on some of the queries, under one measure."""

    rows: Bools  # (n_queries,) which of all queries they are
    paired: Paired
    moments: Moments
    flips: Flips

    @property
    def pairs(self) -> Bools:
        """True for each pair: (n_pairs,)."""
        return np.ones(len(self.paired.left), np.bool_)


class Tested(NamedTuple):
    """The test of each pair alone, (n_pairs,) each; NaN where there is none."""

    p: Floats
    low: Floats  # of the interval of the difference, infinite where it has no end
    high: Floats
    interval: Sequence[str]  # how it was made
    error: Floats  # the standard error of p, from drawing flips
    method: Sequence[Method | None]


def pairs_tested(
    slices: Sequence[Sequence[Sample]], settings: Settings, many: int = MANY
) -> list[list[Tested]]:
    """Return the test of each pair: for each slice, those of each measure.

    `slices` has a sample for each measure; the first slice has all queries. Those of more than
    `many` queries share their flips.
    """
    by_signs = {"randomization": _by_differences, "wilcoxon": _by_ranks}.get(settings.test)
    large = [
        by_signs is not None and one[0].paired.n_units > many and one[0].paired.sizes is None
        for one in slices
    ]
    of_large: list[list[Tested]] = []
    if by_signs is not None and any(large):
        of_large = by_signs([*compress(slices, large)], settings)
    found = iter(of_large)
    return [
        next(found) if shared else [_alone(sample, settings) for sample in steps(one, "comparing")]
        for one, shared in steps(zip(slices, large, strict=True), "comparing", len(slices))
    ]


def _alone(sample: Sample, settings: Settings) -> Tested:
    """Return the test of pairs that share no flips with other slices."""
    _, paired, moments, flips = sample
    m = len(paired.left)
    none = np.full(m, np.nan)
    if paired.n_units < 2:
        return Tested(none, none, none, ["none"] * m, none, [None] * m)
    low, high = t_interval(moments, settings.alpha)
    interval, drawn = "t", flips.drawn
    method: Method | None = None
    match settings.test:
        case "randomization":
            p, low, high = inverted(paired, flips, settings.alpha)
            interval, method = "randomization", "exact" if flips.exact else "drawn"
        case "bootstrap":
            p = bootstrap_test(paired, moments, resamples=drawn, seed=flips.seed)
            low, high = bca_interval(
                paired, moments, settings.alpha, resamples=drawn, seed=flips.seed
            )
            interval, method = "bca", "drawn"
        case "t":
            p = t_test(moments)
        case "wilcoxon":
            p, method = wilcoxon(paired, flips, settings.tie), "exact" if flips.exact else "drawn"
        case "sign":
            p = sign_test(paired, settings.tie)
        case _:
            p = none
    error = np.sqrt(p * (1 - p) / drawn) if method == "drawn" else np.where(np.isnan(p), p, 0.0)
    methods = [method if known else None for known in ~np.isnan(p)]
    return Tested(p, low, high, [interval] * m, error, methods)


def _by_differences(slices: Sequence[Sequence[Sample]], settings: Settings) -> list[list[Tested]]:
    """Return the randomization tests of many queries."""
    bounds, students, wanted = [], [], []
    for of_slice in slices:
        bounds.append([bound_of(one.paired) for one in of_slice])
        students.append([_student(one, settings) for one in of_slice])
        wanted.append(
            [
                (bound >= CLEAR) & near
                for bound, (_, _, near) in zip(bounds[-1], students[-1], strict=True)
            ]
        )
    drawn = _drawn(slices, wanted, settings)
    return [
        [
            _with_ends(sample, _known(p, bound), student, settings)
            for sample, p, bound, student in zip(*of_slice, strict=True)
        ]
        for of_slice in zip(slices, drawn, bounds, students, strict=True)
    ]


def _by_ranks(slices: Sequence[Sequence[Sample]], settings: Settings) -> list[list[Tested]]:
    """Return Wilcoxon's tests of many queries: of ranks, which differ between slices."""
    return [[_of_ranks(one, settings) for one in of_slice] for of_slice in slices]


def _of_ranks(sample: Sample, settings: Settings) -> Tested:
    paired = Paired.of(signed_ranks(sample.paired, settings.tie))
    low, high = t_interval(sample.moments, settings.alpha)
    p, error, method = _of_many(paired, sample.flips)
    return Tested(p, low, high, ["t"] * len(p), error, method)


def p_values(paired: Paired, flips: Flips, many: int = MANY) -> Floats:
    """Return the two-sided p-values of mean differences by sign flips: (n_pairs,).

    With more than `many` queries, by no more flips than p needs.
    """
    return _of_many(paired, flips)[0] if paired.n_units > many else sign_flip(paired, flips)


def _of_many(paired: Paired, flips: Flips) -> _Known:
    bound = bound_of(paired)
    every = np.ones(paired.n_units, np.bool_)
    [[drawn]] = sequential(
        [every], [[paired]], [[bound >= CLEAR]], drawn=flips.drawn, seed=flips.seed
    )
    return _known(drawn, bound)


def _drawn(
    slices: Sequence[Sequence[Sample]], wanted: Sequence[Sequence[Bools]], settings: Settings
) -> list[list[Drawn]]:
    return sequential(
        [of_slice[0].rows for of_slice in slices],
        [[one.paired for one in of_slice] for of_slice in slices],
        wanted,
        drawn=settings.flips,
        seed=settings.seed,
    )


def _student(sample: Sample, settings: Settings) -> tuple[Floats, Floats, Bools]:
    """Return the ends of Student's intervals, and whether they agree with those of all flips.

    Where they do not, the intervals have to come from all flips.
    """
    low, high = t_interval(sample.moments, settings.alpha)
    near = limits_agree(sample.paired.differences, low, high, settings.alpha / 2)
    return low, high, near


def _known(drawn: Drawn, bound: Floats) -> _Known:
    """Return p-values, their errors and their methods; a bound where no flips are drawn."""
    clear = bound < CLEAR
    p = np.where(clear, bound, drawn.p)
    error = np.where(clear, 0.0, np.sqrt(p * (1 - p) / np.maximum(drawn.flips, 1)))
    stopped = np.where(drawn.stopped, "sequential", "drawn")
    return p, error, np.where(clear, "bound", stopped).tolist()


def _with_ends(
    sample: Sample, known: _Known, student: tuple[Floats, Floats, Bools], settings: Settings
) -> Tested:
    """Return tests with intervals: where Student's does not agree, both p and ends by all flips."""
    (p, error, method), (low, high, near) = known, student
    far = np.flatnonzero(~near)
    if len(far):
        paired = replace(
            sample.paired, left=sample.paired.left[far], right=sample.paired.right[far]
        )
        of_all, low[far], high[far] = inverted(paired, sample.flips, settings.alpha)
        open_ = np.array([method[i] != "bound" for i in far])
        p[far] = np.where(open_, of_all, p[far])
        error[far] = np.where(open_, np.sqrt(of_all * (1 - of_all) / sample.flips.drawn), 0.0)
    return Tested(p, low, high, np.where(near, "t", "randomization").tolist(), error, method)
