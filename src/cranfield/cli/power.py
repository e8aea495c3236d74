"""`cranfield power`."""

from typing import Any, Literal

from cranfield.cli import flags
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.power import Experiment, detectable, power, queries_needed
from cranfield.comparison.settings import Design
from cranfield.errors import OptionError
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
    """  # noqa: D301 - click's mark for lines to keep
    given, sd, alpha = design.sizes, design.sd, design.alpha
    _check(given, sd, n_queries)
    name = next(iter(given), "effect")
    if design.power <= alpha and (n_queries is None or not given) and name != "width":
        raise OptionError(
            f"--power {design.power:g}: expected more than --alpha {alpha:g}, chance's power"
        )
    clusters: Any = {"cluster_size": design.cluster_size, "icc": design.icc}
    row: dict[str, float] = dict(given)
    if sd is not None:
        row["sd"] = sd
    if n_queries is None:
        said = _NEEDED[name]
        row["queries"] = queries_needed(**design.unusual())
        if name != "width":
            row["power"] = design.power
    elif not given:
        said = "the least difference that so many queries find with this power; effect: over sd."
        row = {
            "queries": n_queries,
            "effect": detectable(n_queries, power=design.power, alpha=alpha, **clusters),
        }
        if sd is not None:
            row |= {"sd": sd, "difference": row["effect"] * sd}
        row["power"] = design.power
    else:
        what = "find it" if name != "margin" else "let a run that is as good pass"
        said = f"power: how likely so many queries are to {what}."
        row["queries"] = n_queries
        (size,) = given.values()
        effect = abs(size) / (1.0 if sd is None else sd)
        sides: Literal[1, 2] = 1 if name == "margin" else 2
        row["power"] = power(effect, n_queries, alpha=alpha, sides=sides, **clusters)
    row["alpha"] = alpha
    if design.cluster_size is not None:
        row |= {"clusters": int(row["queries"]) // design.each, "deff": design.design_effect}
        said += (
            f" deff: the design effect, by which clusters of {design.each:,} queries multiply the "
            "variance of a mean."
        )
    show(Experiment(row, said), form)


_NEEDED = {
    "effect": "queries: so many find the effect with this power.",
    "difference": "queries: so many find the difference with this power.",
    "width": "queries: so many are expected to give an interval that is no wider.",
    "margin": "queries: so many let a run that is as good pass with this power.",
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
        if name != "effect" and (sd is None or (sd == 0 and queries is not None)):
            raise OptionError(
                f"--{name} needs --sd, the standard deviation of the queries' differences, above 0"
            )
        if value == 0 and queries is None:
            raise OptionError(f"--{name}=0: no number of queries is enough for it")
