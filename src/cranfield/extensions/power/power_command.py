"""`cranfield power`."""

import math
from dataclasses import replace
from typing import Any, Literal

from cranfield.cli import flags
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.effects import FEW
from cranfield.comparison.needed import MOST_QUERIES, detectable, queries_for
from cranfield.comparison.settings import Design
from cranfield.errors import OptionError
from cranfield.extensions.power.power import Experiment, power, queries_needed, seeds_needed
from cranfield.options import whole


@flags.command("power")
def command(
    design: Design = flags.family(Design),
    n_queries: int | None = flags.checked(whole(2), type=int, help="How many queries there are."),
    form: Format = format_option,
) -> None:
    """Tell how many queries an experiment needs, or what a given number can show.

    Without --n-queries, it says how many are needed; with them, how likely they are to find the
    difference, or, without one, the least that they find. Paired t tests, two-sided;
    for a margin, one-sided.

    \b
    cranfield power --difference 0.02 --sd 0.15
    cranfield power --difference 0.02 --sd 0.15 --n-queries 200
    cranfield power --margin 0.01 --sd 0.08
    cranfield power --width 0.05 --sd 0.15
    cranfield power --effect 0.3 --cluster-size 5 --icc 0.5
    cranfield power --difference 0.03 --sd 0.08 --seed-sd 0.015
    """  # noqa: D301 - click's mark for lines to keep
    given, sd, alpha = design.sizes, design.sd, design.alpha
    _check(given, sd, n_queries)
    design.check_sd()
    name = next(iter(given), "effect")
    if design.power <= alpha and (n_queries is None or not given) and name != "width":
        raise OptionError(
            f"--power {design.power:g}: expected more than --alpha {alpha:g}, chance's power"
        )
    unit = 1.0 if sd is None else sd  # a size may have been divided by it
    more: Any = {"cluster_size": design.cluster_size, "icc": design.icc}
    if design.seeds is not None and design.seed_sd is not None:
        more |= {"seeds": design.seeds, "seed_sd": design.seed_sd / unit}
    row: dict[str, float | None] = dict(given)
    others: list[dict[str, float | None]] = []
    if sd is not None:
        row["sd"] = sd
    if design.seed_sd is not None:
        row["seed_sd"] = design.seed_sd
        if design.seeds is not None:
            row["seeds"] = design.seeds
    if design.seed_sd is not None and design.seeds is None:
        said = "seeds: how many runs of each system"
        wanted = {key: value for key, value in design.unusual().items() if key != "seeds"}
        if n_queries is not None:
            row |= {"seeds": seeds_needed(n_queries, **wanted), "queries": n_queries}
            said += " so many queries need."
        else:
            designs = [_queries_with(replace(design, seeds=one)) for one in _SEEDS]
            row, *others = [
                {**row, "seeds": seeds, "queries": n}
                for seeds, n in zip(_SEEDS, designs, strict=True)
            ]
            said += " there are; queries: how many are then needed, - where no number is enough."
        for one in (row, *others) if name != "width" else ():
            one["power"] = design.power
    elif n_queries is None:
        said = _NEEDED[name]
        row["queries"] = queries_needed(**design.unusual())
        if name != "width":
            row["power"] = design.power
    elif not given:
        said = (
            "the least difference that this many queries detect with this power; effect: over sd."
        )
        least = detectable(n_queries, power=design.power, alpha=alpha, **more)
        row |= {"queries": n_queries, "effect": least}
        if sd is not None:
            row["difference"] = least * sd
        row["power"] = design.power
    else:
        what = "find it" if name != "margin" else "let a run that is as good pass"
        said = f"power: how likely so many queries are to {what}."
        row["queries"] = n_queries
        (size,) = given.values()
        effect = abs(size) / (1.0 if sd is None else sd)
        sides: Literal[1, 2] = 1 if name == "margin" else 2
        row["power"] = power(effect, n_queries, alpha=alpha, sides=sides, **more)
    if any(one["queries"] is not None and one["queries"] < FEW for one in (row, *others)):
        said += _so_few(name, alpha)
    for one in (row, *others):
        one["alpha"] = alpha
    if design.cluster_size is not None:
        for one in (row, *others):
            n_units = None if one["queries"] is None else int(one["queries"]) // design.each
            one |= {"clusters": n_units, "deff": design.design_effect}
        said += (
            f" deff: the design effect, by which clusters of {design.each:,} queries multiply the "
            "variance of a mean."
        )
    if design.seed_sd is not None:
        said += (
            " seed_sd: the standard deviation of the means of a system's runs; the question is "
            "whether the systems differ when they are trained again, with other seeds."
        )
    show(Experiment(row, said, others), form)


def _so_few(name: str, alpha: float) -> str:
    """Return what so few queries cannot show by the tests that are the default elsewhere."""
    least = math.ceil((name != "margin") - math.log2(alpha))
    return (
        " This holds for the t-test. The test by sign flips, the default elsewhere, shows nothing "
        f"with fewer than {least} queries, and a gate is undecided where fewer than {FEW} differ."
    )


_SEEDS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50)  # runs of each system, to choose from


def _queries_with(design: Design) -> int | None:
    """Return how many queries a design needs, None if no number is enough."""
    found = queries_for(design)
    return None if found > MOST_QUERIES else found


_NEEDED = {
    "effect": "queries: how many are needed to detect the effect with this power.",
    "difference": "queries: so many find the difference with this power.",
    "width": "queries: so many are expected to give an interval that is no wider.",
    "margin": "queries: how many are needed for an equally good run to pass with this power.",
}


def _check(given: dict[str, float], sd: float | None, queries: int | None) -> None:
    """Raise OptionError for a question that has no answer, as the functions would, by options."""
    named = " and ".join(f"--{name}" for name in given)
    if queries is not None and ("width" in given or len(given) > 1):
        raise OptionError(
            "with --n-queries, say one of --effect, --difference and --margin, or none"
        )
    if queries is None and len(given) != 1:
        raise OptionError(
            "say one of --effect, --difference, --width and --margin"
            + (f", not {named}" if given else ", or how many --n-queries there are")
        )
    for name, value in given.items():
        if name == "effect" and sd is not None:
            raise OptionError("--effect goes without --sd: it has been divided by it")
        if name != "effect" and sd is None:
            raise OptionError(
                f"--{name} needs --sd, the standard deviation of the queries' differences, above 0"
            )
        if value == 0 and queries is None:
            raise OptionError(f"--{name}=0: no number of queries is enough for it")
