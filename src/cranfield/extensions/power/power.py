"""power: what a number of queries can show; how many queries, or seeds, an experiment needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from cranfield.comparison.needed import (
    MOST_QUERIES,
    Design,
    count_clusters,
    estimate_mean,
    find_least,
    find_n_queries,
    make_goal_test,
    rejection_probability,
)
from cranfield.comparison.settings import count_check
from cranfield.errors import OptionError
from cranfield.notes import Note
from cranfield.options import (
    check_option,
    keywords,
    number_check,
    refuse_unknown_options,
    share_check,
    takes,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Table


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

    numbers: Mapping[str, float | None]
    meaning: str
    others: Sequence[Mapping[str, float | None]] = ()  # more rows, of the same names

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
        rows = [list(map(_shown, one.values())) for one in (self.numbers, *self.others)]
        return [Table(self.header, rows, [self.meaning], 0)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the numbers as rows; None where there is none."""
        return [dict(self.numbers), *map(dict, self.others)]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; of several rows, in a list called `designs`."""
        return {"designs": self.rows()} if self.others else dict(self.numbers)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def power(
    effect: float,
    n_queries: int,
    *,
    alpha: float = 0.05,
    sides: Literal[1, 2] = 2,
    cluster_size: int | None = None,
    icc: float | None = None,
    seeds: int | None = None,
    seed_sd: float | None = None,
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
        seeds: how many runs each system has, trained with different seeds; needs `seed_sd`.
        seed_sd: the standard deviation of the means of a system's runs, divided by that of the
            differences, as the effect is.

    Raises:
        OptionError: a value out of its range.

    >>> round(power(0.3, 50), 4)
    0.5477
    >>> round(power(0.3, 50, cluster_size=5, icc=0.5), 4)
    0.1953
    >>> round(power(0.3, 50, seeds=5, seed_sd=0.15), 4)
    0.4035

    """
    effect = check_option("effect", effect, number_check())
    n_queries = check_option("n_queries", n_queries, count_check(2))
    alpha = check_option("alpha", alpha, share_check(upper=0.5))
    if sides not in (1, 2):
        raise OptionError(f"sides={sides!r} is not known; choose one of 1, 2")
    design = Design(cluster_size=cluster_size, icc=icc, seeds=seeds, seed_sd=seed_sd)
    return rejection_probability(
        estimate_mean(count_clusters(n_queries, design), design), effect, alpha, sides
    )


@takes(Design)
def queries_needed(**options: "Unpack[keywords.Design]") -> int:
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
    refuse_unknown_options(queries_needed, options)
    design = Design.of(options)
    design.check_sd()
    if design.seed_sd is not None and design.seeds is None:
        raise OptionError(
            "seed_sd needs seeds, how many runs each system has; seeds_needed() tells how many of "
            "them a number of queries needs"
        )
    found = find_n_queries(design)
    if found <= MOST_QUERIES:
        return found
    [(name, stated)] = design.stated_goals.items()
    if (
        design.seed_variances
        and find_n_queries(replace(design, seeds=None, seed_sd=None)) <= MOST_QUERIES
    ):
        seeds = _seeds_for(design, MOST_QUERIES)
        raise OptionError(
            f"{name}={stated!r}: with {design.seeds} runs of each system, no number of queries is "
            f"enough: it takes at least {seeds:,} runs"
        )
    raise OptionError(f"{name}={stated!r} needs more than {MOST_QUERIES:,} queries")


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
    design = Design.of(options)
    design.check_sd()
    if not design.seed_sd:
        raise OptionError(
            "state seed_sd, the standard deviation of the means of a system's runs, above 0"
        )
    found = _seeds_for(design, n_queries)
    if found is None:
        [(name, stated)] = design.stated_goals.items()
        needed = find_n_queries(replace(design, seed_sd=None))
        raise OptionError(
            f"{name}={stated!r}: with {n_queries:,} queries, no number of runs is enough: it takes "
            f"at least {needed:,} queries"
        )
    return found


def _seeds_for(design: Design, n_queries: int) -> int | None:
    """Return the smallest number of runs of each system for a design; None if there is none."""
    reaches, n = make_goal_test(design), count_clusters(n_queries, design)
    if not reaches(n, ()):
        return None
    return find_least(
        lambda seeds: reaches(n, replace(design, seeds=seeds).seed_variances),
        1,
        lambda low, high: (low + high) // 2,
    )
