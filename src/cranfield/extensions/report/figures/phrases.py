"""The sentences with pictures of a comparison: on means, intervals and tests."""

from cranfield.comparison.method import tested_by
from cranfield.comparison.result import Result
from cranfield.comparison.settings import Settings
from cranfield.extensions.report.figures.choice import LETTERS, Between
from cranfield.extensions.report.figures.marks import shown_name
from cranfield.render.numbers import number, number_of, percent, queries_of, signed


def name_of(system: str) -> str:
    """Return a system's name as a sentence shows it."""
    return shown_name(system, LETTERS)


def measure_of(result: Result) -> str:
    """Return the title of an axis: the measure, and whether less is better."""
    return result.measure if result.rising else f"{result.measure} (less is better)"


def means_said(result: Result, settings: Settings, of: str | None = None) -> str:
    """Return what each mean is computed from, and its interval."""
    mean = "geometric mean" if result.by_ratio else "mean"
    said = f"The {mean} of {of or queries_of(len(result.query_ids))}"
    if all(one.low is None for one in result.systems):
        return f"{said}, which has no interval"
    return f"{said}, and its {level_of(settings)} (Student's t)"


def level_of(settings: Settings) -> str:
    """Return what an interval is called, such as 95% interval."""
    return f"{percent(1 - settings.alpha)} interval"


def marks_said(result: Result, settings: Settings, than: str) -> str:
    """Return what the marks of better and worse mean: than which system, by which test."""
    return f"Better or worse than {name_of(than)}: {tested_by(result, settings)}"


def difference_said(pair: Between, settings: Settings) -> str:
    """Return the mean difference of two systems, with its interval, or the ratio."""
    what, show = "Mean difference", signed
    shown = pair.difference, pair.low, pair.high
    if pair.ratio is not None:
        what, show, shown = (
            "Ratio of the geometric means",
            number,
            (pair.ratio, pair.ratio_low, pair.ratio_high),
        )
    mean, low, high = map(show, shown)
    ends = "" if shown[1] is None else f" ({level_of(settings)} {low} to {high})"
    return f"{what} {mean}{ends}"


def counts_said(pair: Between) -> str:
    """Return on how many queries a system is better, tied and worse."""
    n = number_of(pair.wins, "query", "queries")
    return f"better on {n}, equal on {pair.ties:,}, worse on {pair.losses:,}"
