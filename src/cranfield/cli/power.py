"""`cranfield power`."""

from typing import Literal, get_args

import click

from cranfield.cli.terminal import as_json, note, say, show_tables
from cranfield.comparison.power import detectable, power, topics
from cranfield.errors import OptionError
from cranfield.render import Table, delimited

Format = Literal["table", "markdown", "latex", "html", "csv", "tsv", "json"]


@click.command("power")
@click.option("--effect", type=float, help="A difference divided by --sd.")
@click.option("--difference", type=float, help="A mean difference; needs --sd.")
@click.option("--width", type=float, help="Of the confidence interval, end to end; needs --sd.")
@click.option(
    "--margin", type=float, help="Of `cranfield gate`, for a run that is as good; needs --sd."
)
@click.option("--sd", type=float, help="The standard deviation of the queries' differences.")
@click.option("--queries", type=click.IntRange(min=2), help="How many there are.")
@click.option(
    "--power",
    "wanted",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="How likely the difference is to be found, or the run to pass.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The level of the test, or what the interval leaves out.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(
    effect: float | None,
    difference: float | None,
    width: float | None,
    margin: float | None,
    sd: float | None,
    queries: int | None,
    wanted: float,
    alpha: float,
    form: Format,
) -> None:
    """Tell how many queries an experiment needs, or what so many can show.

    Without --queries, it says how many are needed; with them, how likely they are to find the
    difference, or, if none is named, which is the least that they find. Paired t tests, two-sided;
    for a margin, one-sided.

    \b
    cranfield power --difference 0.02 --sd 0.15
    cranfield power --difference 0.02 --sd 0.15 --queries 200
    cranfield power --queries 50 --sd 0.15
    cranfield power --margin 0.01 --sd 0.08
    cranfield power --width 0.05 --sd 0.15
    """  # noqa: D301 - click's mark for lines to keep
    asked = {"effect": effect, "difference": difference, "width": width, "margin": margin}
    given = {name: value for name, value in asked.items() if value is not None}
    row: dict[str, float] = dict(given)
    if sd is not None:
        row["sd"] = sd
    if queries is None:
        said = _NEEDED.get(next(iter(given), ""), "")
        row["queries"] = topics(
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
        row = {"queries": queries, "effect": detectable(queries, power=wanted, alpha=alpha)}
        if sd is not None:
            row |= {"sd": sd, "difference": row["effect"] * sd}
        row["power"] = wanted
    else:
        what = "find it" if margin is None else "let a run that is as good pass"
        said = f"power: how likely so many queries are to {what}."
        row["queries"] = queries
        size = _effect(given, sd)
        row["power"] = power(size, queries, alpha=alpha, sides=1 if margin is not None else 2)
    row["alpha"] = alpha
    _print(row, said, form)


_NEEDED = {
    "effect": "queries: so many find the effect with this power.",
    "difference": "queries: so many find the difference with this power.",
    "width": "queries: so many are expected to give an interval that is no wider.",
    "margin": "queries: so many let a run that is as good pass with this power.",
}


def _effect(given: dict[str, float], sd: float | None) -> float:
    """Return the one thing asked for in standard deviations."""
    (name, value), *more = given.items()
    if more or name == "width":
        raise OptionError("with --queries, say one of --effect, --difference and --margin, or none")
    if name == "effect":
        return value
    if sd is None or sd <= 0:
        raise OptionError(f"--{name} needs --sd, a number above 0")
    return value / sd


def _print(row: dict[str, float], said: str, form: Format) -> None:
    shown = [f"{value:,}" if isinstance(value, int) else f"{value:.4g}" for value in row.values()]
    if form == "json":
        say(as_json(row) + "\n")
    elif form in ("csv", "tsv"):
        say(delimited([list(row), list(row.values())], "," if form == "csv" else "\t"))
        note(said)
    else:
        show_tables([Table(list(row), [shown], [said], 0)], form)
