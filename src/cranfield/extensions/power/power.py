"""power: what a number of queries can show; how many queries, or seeds, an experiment needs.

Where queries come in clusters that depend on one another, the clusters' means are tested: as many
clusters are needed as queries would be that vary like these means.

Where systems are means of runs with several seeds, and are to be trained again, the seeds add to
the variance of a mean, and no number of queries makes up for too few runs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, Unpack

from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.needed import (
    MOST_QUERIES,
    AddedVariances,
    EstimatedMean,
    Goal,
    estimate_mean,
    find_least,
    find_least_effect,
    find_n_queries,
    make_goal_test,
    rejection_probability,
)
from cranfield.comparison.settings import count_check
from cranfield.errors import OptionError
from cranfield.extensions import keywords
from cranfield.notes import Note
from cranfield.options import (
    MIN_SHARE,
    Options,
    check_option,
    number_check,
    option,
    refuse_unknown_options,
    takes,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Table


@dataclass(frozen=True, kw_only=True)
class Conditions(Options):
    """How many queries change, comparisons are made, and clusters and runs there are."""

    changed: float | None = option(
        None,
        "The share of queries, or clusters, that change, for a margin (in Python, sides=1): where "
        "fewer than 10 do, a gate passes half of the runs that are as good. [default: all]",
        number_check(0, 1),
    )
    comparisons: int = option(
        1,
        "How many comparisons are corrected together: each has the level alpha / comparisons.",
        count_check(1),
    )
    cluster_size: int | None = option(
        None,
        "How many queries depend on one another, as those of one session: the size of a cluster. "
        "Needs icc.",
        count_check(1),
    )
    icc: float | None = option(
        None,
        "The intraclass correlation: how much the differences of a cluster's queries correlate, "
        "from 0 (independent) to 1 (the same). Needs cluster_size.",
        number_check(0, 1),
    )
    seeds: int | None = option(
        None, "How many runs each system has, with different seeds. Needs seed_sd.", count_check(2)
    )
    seed_sd: float | None = option(
        None,
        "The sd of the means of a system's runs, in the unit of sd (divided by it, if there is no "
        "sd). The question is then one of training the systems again, with other seeds.",
        number_check(0),
    )


@dataclass(frozen=True, kw_only=True)
class Design(Conditions, Goal):
    """An experiment with a goal, with queries in clusters or systems of several runs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seeds is not None and self.seed_sd is None:
            raise OptionError(
                f"seeds={self.seeds} needs seed_sd, the standard deviation of the means of a "
                "system's runs (--seed-sd)"
            )
        if (self.cluster_size is None) != (self.icc is None):
            raise OptionError("state cluster_size and icc together (--cluster-size, --icc)")
        if self.changed is not None and self.margin is None:
            raise OptionError(f"changed={self.changed:g} goes with a margin (--margin, sides=1)")

    def correct_alpha(self) -> Self:
        """Return the design with the level of one of the comparisons, by Bonferroni's rule."""
        return replace(self, alpha=max(self.alpha / self.comparisons, MIN_SHARE), comparisons=1)

    def allow_for_changes(self, power: float, n: int) -> float:
        """Return how likely a gate of `n` queries, or clusters, passes a run that is as good.

        If K of them differ, a binomial number, and K is at least 10, it passes as the t test does;
        else if its mean is no lower, in half of all cases.
        """
        from scipy.special import bdtr

        if self.changed is None:
            return power
        chance_below_ten = float(bdtr(min(FEW_UNITS - 1, n), n, self.changed))
        return (1 - chance_below_ten) * power + chance_below_ten / 2

    def check_sd(self) -> None:
        """Raise OptionError for differences of queries that do not vary."""
        if self.sd == 0:
            raise OptionError("sd=0: expected a number above 0: the differences of queries vary")

    @property
    def queries_per_cluster(self) -> int:
        """The number of queries of each cluster; 1 without clusters."""
        return self.cluster_size or 1

    @property
    def design_effect(self) -> float:
        """The variance of a mean, divided by the variance that independent queries would give.

        1 + (m - 1) icc for clusters of m queries (Kish, Survey Sampling, 1965).
        """
        return 1 + (self.queries_per_cluster - 1) * (self.icc or 0.0)

    @property
    def cluster_sd(self) -> float:
        """The standard deviation of a cluster's mean, divided by that of a query's difference."""
        return math.sqrt(self.design_effect / self.queries_per_cluster)

    @property
    def seed_variances(self) -> AddedVariances:
        """(variance, degrees of freedom) that each system's seeds add to a mean difference."""
        if self.seeds is None or not self.seed_sd:
            if self.seed_sd is not None and self.seeds is None:
                raise OptionError(
                    "seed_sd needs seeds, how many runs each system has; seeds_needed() tells how "
                    "many of them a number of queries needs"
                )
            return ()
        return ((self.seed_sd**2 / self.seeds, self.seeds - 1),) * 2

    def estimate_mean(self, n_queries: int) -> EstimatedMean:
        """Return how exactly `n_queries` queries estimate the mean difference."""
        n_clusters = self.count_clusters(n_queries)
        return estimate_mean(n_clusters, self.sd, self.cluster_sd, self.seed_variances)

    def count_queries(self) -> int:
        """Return the number of queries that reaches the goal; over a billion if none does."""
        n_clusters = find_n_queries(self, self.seed_variances, self.cluster_sd)
        return n_clusters * self.queries_per_cluster

    def count_clusters(self, n_queries: int) -> int:
        """Return how many clusters, or queries, `n_queries` are; OptionError for less than 2."""
        n_clusters = n_queries // self.queries_per_cluster
        if n_clusters < 2:
            raise OptionError(
                f"n_queries={n_queries}: expected at least two clusters of "
                f"{self.queries_per_cluster:,} queries"
            )
        return n_clusters


@dataclass(frozen=True, repr=False)
class Experiment(Shown):
    """The numbers of an experiment by name: those that were given, and the computed one.

    `meaning` is a sentence on the computed number.

    >>> print(Experiment({"effect": 0.3, "queries": 50, "power": 0.5477}, "power: ..."), end="")
     effect  queries   power
     ───────────────────────
        0.3       50  0.5477
    <BLANKLINE>
    power: ...
    """

    numbers: Mapping[str, float | None]
    meaning: str
    more_rows: Sequence[Mapping[str, float | None]] = ()  # of the same names

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
        rows = [list(map(_format, row.values())) for row in (self.numbers, *self.more_rows)]
        return [Table(self.header, rows, [self.meaning], 0)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the numbers as rows; None where there is none."""
        return [dict(self.numbers), *map(dict, self.more_rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; of several rows, in a list called `designs`."""
        return {"designs": self.rows()} if self.more_rows else dict(self.numbers)


def _format(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


@takes(Conditions, omit=("changed",))
def detectable(
    n_queries: int,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    **options: "Unpack[keywords.Conditions]",
) -> float:
    """Return the smallest effect that a two-sided paired t test of `n_queries` queries finds.

    It is found with probability `power`. Multiplied by the standard deviation of the differences,
    it is the smallest mean difference.

    Args:
        n_queries: the number of queries, at least 2.
        power: the probability of finding the effect, above 0 and below 1.
        alpha: the level of the test, above 0 and below 0.5.
        **options: each option of `Conditions` but `changed`.

    Raises:
        OptionError: a value out of its range, or without another that it needs; a power that is not
            above alpha.

    >>> round(detectable(50), 4)
    0.4042

    """
    refuse_unknown_options(detectable, options)
    n_queries = check_option("n_queries", n_queries, count_check(2))
    design = Design(power=power, alpha=alpha, **options).correct_alpha()
    return find_least_effect(design, design.estimate_mean(n_queries))


@takes(Conditions)
def power(
    effect: float,
    n_queries: int,
    *,
    alpha: float = 0.05,
    sides: Literal[1, 2] = 2,
    **options: "Unpack[keywords.Conditions]",
) -> float:
    """Return the probability that a paired t test of so many queries finds an effect.

    Args:
        effect: the true mean difference divided by the standard deviation of the differences.
        n_queries: how many queries there are, at least 2.
        alpha: the level of the test, above 0 and below 0.5.
        sides: 2 tests for any difference; 1 for one above 0, as non-inferiority does, with the
            margin divided by the standard deviation for an effect.
        **options: each option of `Conditions`.

    Raises:
        OptionError: a value out of its range, or without another that it needs.

    >>> round(power(0.3, 50), 4)
    0.5477
    >>> round(power(0.02 / 0.08, 101, sides=1, changed=0.05), 4)
    0.5091
    >>> round(power(0.3, 50, cluster_size=5, icc=0.5), 4)
    0.1953
    >>> round(power(0.3, 50, seeds=5, seed_sd=0.15), 4)
    0.4035

    """
    refuse_unknown_options(power, options)
    effect = check_option("effect", effect, number_check())
    n_queries = check_option("n_queries", n_queries, count_check(2))
    if sides not in (1, 2):
        raise OptionError(f"sides={sides!r} is not known; choose one of 1, 2")
    margin = effect if sides == 1 else None
    design = Design(margin=margin, alpha=alpha, **options).correct_alpha()
    mean = design.estimate_mean(n_queries)
    t_power = rejection_probability(mean, effect, design.alpha, sides)
    return design.allow_for_changes(t_power, design.count_clusters(n_queries))


@takes(Design)
def queries_needed(**options: "Unpack[keywords.Design]") -> int:
    """Return the smallest number of queries that reaches a goal, at least 2.

    State one goal: effect, difference, width or margin. The last three need `sd`.

    Args:
        **options: each option of `Design`.

    Raises:
        OptionError: no goal or several, a missing `sd` or `seeds`, a value out of its range, or one
            so small that a billion queries are not enough.

    >>> queries_needed(effect=0.3), queries_needed(difference=0.03, sd=0.1)
    (90, 90)
    >>> queries_needed(margin=0.02, sd=0.1)
    156
    >>> [queries_needed(margin=0.02, sd=0.08, changed=share) for share in (0.05, 0.1, 0.2)]
    [214, 125, 101]
    >>> queries_needed(width=0.1, sd=0.05**0.5)
    79
    >>> queries_needed(effect=0.3, cluster_size=5, icc=0.5)
    275

    """
    refuse_unknown_options(queries_needed, options)
    design = Design.of(options).correct_alpha()
    design.check_sd()
    n_queries = design.count_queries()
    if n_queries <= MOST_QUERIES:
        return n_queries
    [(name, size)] = design.stated_goals.items()
    without_seeds = replace(design, seeds=None, seed_sd=None)
    if design.seed_variances and without_seeds.count_queries() <= MOST_QUERIES:
        n_seeds = _find_n_seeds(design, MOST_QUERIES)
        raise OptionError(
            f"{name}={size!r}: with {design.seeds} runs of each system, no number of queries is "
            f"enough: it takes at least {n_seeds:,} runs"
        )
    raise OptionError(f"{name}={size!r} needs more than {MOST_QUERIES:,} queries")


@takes(Design, omit=("seeds",))
def seeds_needed(n_queries: int, **options: "Unpack[keywords.Design]") -> int:
    """Return the smallest number of runs of each system that reaches a goal, at least 2.

    The runs are trained with different seeds, and the question is whether the systems would differ
    if they were trained again. State one goal: effect, difference, width or margin.

    Args:
        n_queries: how many queries there are, at least 2.
        **options: each option of `Design` but `seeds`; `seed_sd` is needed.

    Raises:
        OptionError: no goal or several, a missing `sd` or `seed_sd`, a value out of its range, or
            a goal that so many queries do not reach with any number of runs.

    >>> seeds_needed(100, difference=0.03, sd=0.08, seed_sd=0.015)
    10

    """
    refuse_unknown_options(seeds_needed, options)
    n_queries = check_option("n_queries", n_queries, count_check(2))
    design = Design.of(options).correct_alpha()
    design.check_sd()
    if not design.seed_sd:
        raise OptionError(
            "state seed_sd, the standard deviation of the means of a system's runs, above 0"
        )
    n_seeds = _find_n_seeds(design, n_queries)
    if n_seeds is None:
        [(name, size)] = design.stated_goals.items()
        n_needed = replace(design, seed_sd=None).count_queries()
        raise OptionError(
            f"{name}={size!r}: with {n_queries:,} queries, no number of runs is enough: it takes "
            f"at least {n_needed:,} queries"
        )
    return n_seeds


def _find_n_seeds(design: Design, n_queries: int) -> int | None:
    """Return the least runs of each system with which `n_queries` reach a goal; None if none do."""
    reaches_goal = make_goal_test(design, design.cluster_sd)
    n_clusters = design.count_clusters(n_queries)
    if not reaches_goal(n_clusters, ()):
        return None
    return find_least(
        lambda seeds: reaches_goal(n_clusters, replace(design, seeds=seeds).seed_variances),
        1,
        lambda low, high: (low + high) // 2,
    )
