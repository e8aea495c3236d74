"""How many queries an experiment needs, and what a number of queries can show.

An effect is a mean difference divided by the standard deviation of the queries' differences. Power
is computed for paired t tests; that of the sign-flip test is nearly the same. For the number of
queries: Sakai, Information Retrieval Journal 19 (2016); for non-inferiority: Julious, Statistics in
Medicine 23 (2004).

Where queries come in clusters that depend on one another, the test is one of the clusters' means:
so many clusters are needed as there would be queries, with the standard deviation of these means.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Unpack

import numpy as np

from cranfield.comparison.settings import Design, DesignOptions, count_from
from cranfield.errors import OptionError
from cranfield.notes import Note
from cranfield.options import checked, number, refuse_others, share, takes
from cranfield.render.shown import Shown
from cranfield.render.table import Table

_MOST_QUERIES = 1_000_000_000
_Size = TypeVar("_Size", int, float)


@dataclass(frozen=True, repr=False)
class Experiment(Shown):
    """The numbers of an experiment by name: those that were given, and the computed one.

    `meaning` is a sentence on the computed number.

    >>> print(Experiment({"effect": 0.3, "queries": 50, "power": 0.5477}, "power: ..."), end="")
     effect   queries    power
     ─────────────────────────
        0.3        50   0.5477
    <BLANKLINE>
    power: ...
    """

    numbers: Mapping[str, float]
    meaning: str

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the numbers."""
        return tuple(self.numbers)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The meaning, for formats that have only rows."""
        return (Note("power", "info", self.meaning),)

    def tables(self) -> list[Table]:
        """Return the numbers as a table, four digits each."""
        numbers = self.numbers.values()
        shown = [f"{one:,}" if isinstance(one, int) else f"{one:.4g}" for one in numbers]
        return [Table(self.header, [shown], [self.meaning], 0)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the numbers as one row."""
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return dict(self.numbers)


def power(
    effect: float,
    n_queries: int,
    *,
    alpha: float = 0.05,
    sides: Literal[1, 2] = 2,
    cluster_size: int | None = None,
    icc: float | None = None,
) -> float:
    """Return the probability that a paired t test of so many queries finds an effect.

    Args:
        effect: the true mean difference divided by the standard deviation of the differences.
        n_queries: how many queries there are, at least 2.
        alpha: the level of the test, below 0.5.
        sides: 2 tests for any difference; 1 for one above 0, as non-inferiority does, with the
            margin divided by the standard deviation for an effect.
        cluster_size: how many queries depend on one another; needs `icc`.
        icc: how much the differences of such queries correlate, from 0 to 1.

    Raises:
        OptionError: a value out of its range.

    >>> round(power(0.3, 50), 4)
    0.5477
    >>> round(power(0.3, 50, cluster_size=5, icc=0.5), 4)
    0.1953

    """
    effect = checked("effect", effect, number())
    n_queries = checked("n_queries", n_queries, count_from(2))
    alpha = checked("alpha", alpha, share(below=0.5))
    if sides not in (1, 2):
        raise OptionError(f"sides={sides!r} is not known; choose one of 1, 2")
    design = Design(cluster_size=cluster_size, icc=icc)
    return _chance(effect / design.spread, _clusters(n_queries, design), alpha, sides)


def _clusters(n_queries: int, design: Design) -> int:
    """Return how many clusters so many queries are, at least 2; without clusters, the queries."""
    n = n_queries // design.each
    if n < 2:
        raise OptionError(
            f"n_queries={n_queries}: expected at least two clusters of {design.each:,} queries"
        )
    return n


def detectable(
    n_queries: int,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    cluster_size: int | None = None,
    icc: float | None = None,
) -> float:
    """Return the smallest effect that a two-sided paired t test of `n_queries` queries finds.

    It is found with probability `power`. Multiplied by the standard deviation of the differences,
    it is the smallest mean difference.

    Args:
        n_queries: the number of queries, at least 2.
        power: the probability of finding the effect, above 0 and below 1.
        alpha: the level of the test, above 0 and below 1.
        cluster_size: how many queries depend on one another; needs `icc`.
        icc: how much the differences of such queries correlate, from 0 to 1.

    Raises:
        OptionError: a value out of its range, or a power that is not above alpha.

    >>> round(detectable(50), 4)
    0.4042

    """
    n_queries = checked("n_queries", n_queries, count_from(2))
    design = Design(power=power, alpha=alpha, cluster_size=cluster_size, icc=icc)
    design.check_power()
    n = _clusters(n_queries, design)

    def enough(effect: float) -> bool:
        return _chance(effect, n, design.alpha, 2) >= design.power

    return _least(enough, 0.0, lambda low, high: (low + high) / 2) * design.spread


@takes(Design)
def queries_needed(**options: Unpack[DesignOptions]) -> int:
    """Return the smallest number of queries that reaches a goal, at least 2.

    State one goal: effect, difference, width or margin. The last three need `sd`.

    Args:
        **options: each option of `Design`.

    Raises:
        OptionError: no goal or several, a missing `sd`, a value out of its range, or one so small
            that a billion queries are not enough.

    >>> queries_needed(effect=0.3), queries_needed(difference=0.03, sd=0.1)
    (90, 90)
    >>> queries_needed(margin=0.02, sd=0.1)
    156
    >>> queries_needed(width=0.1, sd=0.05**0.5)
    79
    >>> queries_needed(effect=0.3, cluster_size=5, icc=0.5)
    275

    """
    refuse_others(queries_needed, options)
    design = Design.of(options)
    found = queries_for(design)
    if found > _MOST_QUERIES:
        [(name, stated)] = design.sizes.items()
        raise OptionError(f"{name}={stated!r} needs more than {_MOST_QUERIES:,} queries")
    return found


def queries_for(design: Design) -> int:
    """Return the smallest number of queries for a design, without the limit of `queries_needed`."""
    if len(design.sizes) != 1:
        named = f", not {' and '.join(design.sizes)}" if design.sizes else ""
        raise OptionError(f"state one of effect, difference, width or margin{named}")
    design.check_power()
    [(name, stated)] = design.sizes.items()
    size, alpha = abs(stated), design.alpha
    if size == 0:
        raise OptionError(f"{name}=0: no number of queries is enough for it")
    if name == "effect" and design.sd is not None:
        raise OptionError("effect takes no sd: it is already divided by it")
    if name != "effect":
        if design.sd is None:
            raise OptionError(f"{name} needs sd, the standard deviation of the differences")
        if design.sd == 0:
            return 2 * design.each
        size /= design.sd
    size /= design.spread
    if not 1e-100 < size < 1e100:
        raise OptionError(f"{name}={stated!r} is too small or too large for sd={design.sd!r}")
    sides: Literal[1, 2] = 1 if name == "margin" else 2

    def enough(n: int) -> bool:
        if name == "width":
            return _width(n, alpha) <= size
        return _chance(size, n, alpha, sides) >= design.power

    return _least(enough, 1, lambda low, high: (low + high) // 2) * design.each


def _least(
    enough: Callable[[_Size], bool], low: _Size, middle: Callable[[_Size, _Size], _Size]
) -> _Size:
    """Return the least number that is enough, above `low`, which is not."""
    high: _Size = low + 1
    while not enough(high):
        low, high = high, 2 * high
    while low < (between := middle(low, high)) < high:
        low, high = (low, between) if enough(between) else (between, high)
    return high


def _chance(effect: float, n: int, alpha: float, sides: Literal[1, 2]) -> float:
    """Return the probability that a t test rejects.

    t is a normal variate around effect * sqrt(n), divided by the estimate of the standard
    deviation, whose logarithm u is integrated over by the trapezoid rule: its density, proportional
    to exp(df (u - exp(2 u) / 2)), is smooth and falls to 0 at both ends, so that every point adds
    digits. (The noncentral t of scipy has 7 digits up to version 1.14, and later none at all for
    some large arguments.)
    """
    from scipy.special import ndtr, stdtrit

    df = n - 1
    critical = float(stdtrit(df, 1 - alpha / sides))
    reach = math.sqrt(40 / df)  # beyond it, weights are below exp(-40)
    u = np.arange(-40 / df - reach, min(reach, 2.5), min(reach / 50, 0.02))
    weights = np.exp(df * (u - np.expm1(2 * u) / 2))
    center, far = effect * math.sqrt(n), critical * np.exp(u)
    beyond = ndtr(center - far)
    if sides == 2:
        beyond += ndtr(-center - far)
    return float(weights @ beyond / weights.sum())


def _width(n: int, alpha: float) -> float:
    """Return the expected width of the t interval, in standard deviations."""
    from scipy.special import poch, stdtrit

    c4 = math.sqrt(2 / (n - 1)) * float(poch((n - 1) / 2, 0.5))  # E[s] is c4 standard deviations
    return 2 * float(stdtrit(n - 1, 1 - alpha / 2)) * c4 / math.sqrt(n)
