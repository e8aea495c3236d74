"""`cranfield power`."""

from collections.abc import Callable

import click

from cranfield.cli.report import alpha_option, format_option, number_option
from cranfield.cli.terminal import Format, show
from cranfield.comparison import options
from cranfield.comparison.power import Experiment, detectable, power, queries_needed
from cranfield.errors import OptionError

_ASKED = {
    "effect": "The effect to be found: a difference divided by --sd.",
    "difference": "The mean difference to be found; needs --sd.",
    "width": "How wide the confidence interval may be, from end to end; needs --sd.",
    "margin": "The margin with which `cranfield gate` is to pass a run as good as the baseline; "
    "needs --sd.",
}


def _asked_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, said in reversed(_ASKED.items()):
        command = number_option(f"--{name}", check=options.number, bounds={}, help=said)(command)
    return command


@click.command("power")
@_asked_options
@number_option(
    "--sd",
    check=options.number,
    bounds={"least": 0},
    help="The standard deviation of the queries' differences.",
)
@number_option(
    "--n-queries", check=options.whole, bounds={"least": 2}, help="How many queries there are."
)
@number_option(
    "--power",
    "wanted",
    check=options.share,
    bounds={},
    default=0.8,
    show_default=True,
    help="How likely the difference is to be found, or the run to pass.",
)
@alpha_option(below=1)
@format_option
def command(
    effect: float | None,
    difference: float | None,
    width: float | None,
    margin: float | None,
    sd: float | None,
    n_queries: int | None,
    wanted: float,
    alpha: float,
    form: Format,
) -> None:
    """Tell how many queries an experiment needs, or what so many can show.

    Without --n-queries, it says how many are needed; with them, how likely they are to find the
    difference, or, if none is named, which is the least that they find. Paired t tests, two-sided;
    for a margin, one-sided.

    \b
    cranfield power --difference 0.02 --sd 0.15
    cranfield power --difference 0.02 --sd 0.15 --n-queries 200
    cranfield power --n-queries 50 --sd 0.15
    cranfield power --margin 0.01 --sd 0.08
    cranfield power --width 0.05 --sd 0.15
    """  # noqa: D301 - click's mark for lines to keep
    asked = {"effect": effect, "difference": difference, "width": width, "margin": margin}
    given = {name: value for name, value in asked.items() if value is not None}
    _check(given, sd, n_queries)
    if wanted <= alpha and (n_queries is None or not given) and width is None:
        raise OptionError(f"--power={wanted:g}: expected more than --alpha={alpha:g}, chance's own")
    row: dict[str, float] = dict(given)
    if sd is not None:
        row["sd"] = sd
    if n_queries is None:
        said = _NEEDED[next(iter(given))]
        row["queries"] = queries_needed(
            effect=effect,
            difference=difference,
            width=width,
            margin=margin,
            sd=sd,
            power=wanted,
            alpha=alpha,
        )
        if width is None:
            row["power"] = wanted
    elif not given:
        said = "the least difference that so many queries find with this power; effect: over sd."
        row = {"queries": n_queries, "effect": detectable(n_queries, power=wanted, alpha=alpha)}
        if sd is not None:
            row |= {"sd": sd, "difference": row["effect"] * sd}
        row["power"] = wanted
    else:
        what = "find it" if margin is None else "let a run that is as good pass"
        said = f"power: how likely so many queries are to {what}."
        row["queries"] = n_queries
        (size,) = given.values()
        effect = abs(size) / (1.0 if sd is None else sd)
        row["power"] = power(effect, n_queries, alpha=alpha, sides=1 if margin is not None else 2)
    row["alpha"] = alpha
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
