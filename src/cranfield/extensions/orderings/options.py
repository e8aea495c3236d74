"""The options of `correlate`, `reproduce`, `discriminative_power` and `swap_rate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import FLIPS_OPTION, SEED_OPTION, count_check
from cranfield.options import Options, option, share_check

SPLITS = 1_000  # of the queries into halves
BINS = (0.01, 0.02, 0.05, 0.1, 0.2)  # edges, differences of means
_RBO_P = (
    0.9,
    "The p of rank-biased overlap, between 0 and 1: the greater, the deeper it looks.",
    share_check(),
)


def read_bins(bins: Any) -> tuple[float, ...]:
    """Return the edges of bins, numbers above 0 that rise, as floats; else raise ValueError."""
    try:
        numbers = tuple(map(float, bins))
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if not numbers or not all(lower < upper for lower, upper in pairwise((0.0, *numbers))):
        raise ValueError("rising numbers above 0")
    return numbers


@dataclass(frozen=True, kw_only=True)
class SignFlips(Options):
    """The options of `discriminative_power`, which flips signs of differences; `correlate` too."""

    alpha: float = option(*ALPHA)
    flips: int = option(*FLIPS_OPTION)
    seed: int = option(*SEED_OPTION)


@dataclass(frozen=True, kw_only=True)
class CorrelationSettings(SignFlips):
    """The options of `correlate`."""

    resamples: int = option(
        1_000, "How many resamples of the queries the interval of tau-b comes from.", count_check(1)
    )
    rbo_p: float = option(*_RBO_P)
    discrimination: bool = option(
        False,
        "Add how many pairs of systems each ordering distinguishes, and how often two halves of "
        "the queries disagree.",
    )
    splits: int = option(
        SPLITS,
        "How many splits of the queries into halves the swap rate comes from.",
        count_check(1),
    )


@dataclass(frozen=True, kw_only=True)
class ReproductionSettings(Options):
    """The options of `reproduce`."""

    alpha: float = option(
        0.05, "Intervals are 1 - alpha; above 0 and below 0.5.", share_check(upper=0.5)
    )
    rbo_p: float = option(*_RBO_P)


@dataclass(frozen=True, kw_only=True)
class SwapSettings(Options):
    """The options of `swap_rate`: splits of the queries, their seed, and bins of differences."""

    splits: int = option(
        SPLITS, "How many splits of the queries into halves to draw.", count_check(1)
    )
    seed: int = option(*SEED_OPTION)
    bins: Sequence[float] = option(
        BINS, "Where sizes of differences are divided: rising numbers above 0.", read_bins
    )
