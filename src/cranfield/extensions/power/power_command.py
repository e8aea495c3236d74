"""`cranfield power`: how many queries an experiment needs, or what a number of them can show."""

import math
from dataclasses import replace
from typing import Any, Literal

from cranfield.cli import flags
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.needed import MOST_QUERIES
from cranfield.errors import OptionError
from cranfield.extensions.power.power import (
    Conditions,
    Design,
    Experiment,
    detectable,
    power,
    queries_needed,
    seeds_needed,
)
from cranfield.options import list_options, whole_check

# They are read in `--help` alone.
_CONDITIONS: dict[str, Any] = {
    option.name: {"group": "Conditions"} for option in list_options(Conditions)
}


@flags.command("power")
def command(
    design: Design = flags.family_options(Design, **_CONDITIONS),
    n_queries: int | None = flags.checked_option(
        whole_check(2), type=int, help="How many queries there are."
    ),
    form: Format = format_option,
) -> None:
    """Tell how many queries an experiment needs, or what a given number can show.

    Without --n-queries, it says how many are needed; with them, how likely they are to find the
    difference, or, without one, the least that they find. Paired t tests, two-sided;
    for a margin, one-sided.

    \b
    cranfield power --difference 0.02 --sd 0.15
    cranfield power --difference 0.02 --sd 0.15 --n-queries 200
    cranfield power --margin 0.01 --sd 0.08 --changed 0.1
    cranfield power --width 0.05 --sd 0.15
    cranfield power --effect 0.3 --cluster-size 5 --icc 0.5
    cranfield power --difference 0.03 --sd 0.08 --seed-sd 0.015
    """  # noqa: D301 - click's mark for lines to keep
    sizes, sd, alpha = design.stated_goals, design.sd, design.alpha
    _check_question(sizes, sd, n_queries)
    design.check_sd()
    comparisons, design = design.comparisons, design.correct_alpha()
    goal = next(iter(sizes), "effect")
    if design.power <= alpha and (n_queries is None or not sizes) and goal != "width":
        raise OptionError(
            f"--power {design.power:g}: expected more than --alpha {alpha:g}, chance's power"
        )
    inputs: Row = {**sizes, "sd": sd, "changed": design.changed}
    inputs |= {"seed_sd": design.seed_sd, "seeds": design.seeds}
    inputs = {name: number for name, number in inputs.items() if number is not None}
    if design.seed_sd is not None and design.seeds is None:
        rows, meaning = _plan_seeds(design, inputs, goal, n_queries)
    elif n_queries is None:
        rows = [{**inputs, "queries": queries_needed(**design.changed_options())}]
        meaning = _MEANING_OF_GOAL[goal]
        if goal != "width":
            rows[0]["power"] = design.power
    else:
        rows, meaning = _show_power(design, inputs, n_queries)
    if any(row["queries"] is not None and row["queries"] < FEW_UNITS for row in rows):
        least_queries = math.ceil((goal != "margin") - math.log2(design.alpha))
        meaning += (
            " This holds for the t-test. The test by sign flips, the default elsewhere, shows "
            f"nothing with fewer than {least_queries} queries, and a gate is undecided where fewer "
            f"than {FEW_UNITS} differ."
        )
    for row in rows:
        row["alpha"] = alpha
        if comparisons > 1:
            row["comparisons"] = comparisons
        if design.cluster_size is not None:
            n = row["queries"]
            n_clusters = None if n is None else int(n) // design.queries_per_cluster
            row |= {"clusters": n_clusters, "deff": design.design_effect}
    if comparisons > 1:
        meaning += f" Each of the {comparisons:,} comparisons has the level {design.alpha:.4g}."
    for name, text in _MEANING_OF_OPTION.items():
        if getattr(design, name) is not None:
            meaning += text.format(design.cluster_size)
    show(Experiment(rows[0], meaning, rows[1:]), form)


Row = dict[str, float | None]  # {name of a number: number}


def _plan_seeds(
    design: Design, inputs: Row, goal: str, n_queries: int | None
) -> tuple[list[Row], str]:
    """Return how many runs of each system some queries need, or queries some runs; a sentence."""
    power_of_goal: Row = {} if goal == "width" else {"power": design.power}
    meaning = "seeds: how many runs of each system"
    if n_queries is not None:
        numbers = {"seeds": seeds_needed(n_queries, **design.changed_options())}
        numbers["queries"] = n_queries
        return [{**inputs, **numbers, **power_of_goal}], f"{meaning} so many queries need."
    rows = []
    for n_seeds in _SEED_COUNTS:
        n_queries_needed = replace(design, seeds=n_seeds).count_queries()
        n_needed = None if n_queries_needed > MOST_QUERIES else n_queries_needed
        rows.append({**inputs, "seeds": n_seeds, "queries": n_needed, **power_of_goal})
    meaning += " there are; queries: how many are then needed, - where no number is enough."
    return rows, meaning


def _show_power(design: Design, inputs: Row, n_queries: int) -> tuple[list[Row], str]:
    """Return the power of a number of queries, or the least effect that they find; a sentence."""
    unit = 1.0 if design.sd is None else design.sd  # a size may have been divided by it
    options: Any = {"alpha": design.alpha, "cluster_size": design.cluster_size, "icc": design.icc}
    if design.seeds is not None and design.seed_sd is not None:
        options |= {"seeds": design.seeds, "seed_sd": design.seed_sd / unit}
    row = {**inputs, "queries": n_queries}
    if not design.stated_goals:
        row["effect"] = least_effect = detectable(n_queries, power=design.power, **options)
        if design.sd is not None:
            row["difference"] = least_effect * design.sd
        row["power"] = design.power
        return [row], (
            "the least difference that this many queries detect with this power; effect: the "
            "difference divided by sd."
        )
    ((goal, size),) = design.stated_goals.items()
    sides: Literal[1, 2] = 1 if goal == "margin" else 2
    options["changed"] = design.changed
    row["power"] = power(abs(size) / unit, n_queries, sides=sides, **options)
    question = "let a run that is as good pass" if goal == "margin" else "find it"
    return [row], f"power: how likely so many queries are to {question}."


_SEED_COUNTS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50)  # runs of each system, to choose from


_MEANING_OF_OPTION = {
    "changed": " changed: the share of queries that change. Where fewer than "
    f"{FEW_UNITS} do, a gate passes half of such runs. It doubts skewed differences, too: changes "
    "of unequal size pass less often: normal ones in about 0.7 where this says 0.8.",
    "cluster_size": " deff: the design effect, by which clusters of {:,} queries multiply the "
    "variance of a mean.",
    "seed_sd": " seed_sd: the standard deviation of the means of a system's runs; the question is "
    "whether the systems differ when they are trained again, with other seeds.",
}
_MEANING_OF_GOAL = {
    "effect": "queries: how many are needed to detect the effect with this power.",
    "difference": "queries: so many find the difference with this power.",
    "width": "queries: so many are expected to give an interval that is no wider.",
    "margin": "queries: how many are needed for an equally good run to pass with this power.",
}


def _check_question(sizes: dict[str, float], sd: float | None, n_queries: int | None) -> None:
    """Raise OptionError for a question that has no answer, as the functions would, by options."""
    size_names = " and ".join(f"--{name}" for name in sizes)
    if n_queries is not None and ("width" in sizes or len(sizes) > 1):
        raise OptionError(
            "with --n-queries, say one of --effect, --difference and --margin, or none"
        )
    if n_queries is None and len(sizes) != 1:
        raise OptionError(
            "say one of --effect, --difference, --width and --margin"
            + (f", not {size_names}" if sizes else ", or how many --n-queries there are")
        )
    for name, size in sizes.items():
        if name == "effect" and sd is not None:
            raise OptionError("--effect goes without --sd: it has been divided by it")
        if name != "effect" and sd is None:
            raise OptionError(
                f"--{name} needs --sd, the standard deviation of the queries' differences, above 0"
            )
        if size == 0 and n_queries is None:
            raise OptionError(f"--{name}=0: no number of queries is enough for it")
