"""The sentences with pictures of a comparison: on means, intervals and tests."""

from cranfield.comparison.mean_interval import describe_error
from cranfield.comparison.method import describe_marking_test
from cranfield.comparison.result import Result
from cranfield.comparison.settings import Settings
from cranfield.comparison.units import EACH_QUERY
from cranfield.extensions.report.figures.choice import NAME_LETTERS, OrderedPair
from cranfield.extensions.report.figures.marks import shorten_name
from cranfield.render.numbers import (
    format_count,
    format_number,
    format_percent,
    format_query_count,
    format_signed,
)
from cranfield.render.typed_names import as_typed


def format_name(system: str) -> str:
    """Return a system's name as a sentence shows it."""
    return shorten_name(system, NAME_LETTERS)


def axis_title(result: Result) -> str:
    """Return the title of an axis: the measure, and whether less is better."""
    measure = as_typed(result.measure)
    return measure if result.higher_is_better else f"{measure} (less is better)"


def describe_means(result: Result, settings: Settings, queries: str | None = None) -> str:
    """Return in words what each mean is computed from, `queries` or a number, and its interval."""
    mean = "geometric mean" if result.by_ratio else "mean"
    sentence = f"The {mean} of {queries or format_query_count(len(result.query_ids))}"
    if all(system.low is None for system in result.systems):
        return f"{sentence}, which has no interval"
    error = describe_error((system.interval for system in result.systems), EACH_QUERY)
    return f"{sentence}, and its {interval_name(settings)} ({error})"


def interval_name(settings: Settings) -> str:
    """Return what an interval is called, such as 95% interval."""
    return f"{format_percent(1 - settings.alpha)} interval"


def describe_marks(result: Result, settings: Settings, reference: str) -> str:
    """Return in words what the marks of better and worse mean: than which system, by which test."""
    return (
        f"Better or worse than {format_name(reference)}: {describe_marking_test(result, settings)}"
    )


def describe_difference(pair: OrderedPair, settings: Settings) -> str:
    """Return in words the mean difference of two systems, with its interval, or their ratio."""
    subject, format_end = "Mean difference", format_signed
    numbers = pair.difference, pair.low, pair.high
    if pair.ratio is not None:
        subject = "Ratio of the geometric means"
        format_end = format_number
        numbers = (pair.ratio, pair.ratio_low, pair.ratio_high)
    mean, low, high = map(format_end, numbers)
    has_width = numbers[1] != numbers[2]  # identical scores, and one query, have none
    ends = f" ({interval_name(settings)} {low} to {high})" if has_width else ""
    return f"{subject} {mean}{ends}"


def describe_counts(pair: OrderedPair) -> str:
    """Return in words on how many queries a system is better, equal and worse."""
    wins_text = format_count(pair.wins, "query", "queries")
    return f"better on {wins_text}, equal on {pair.ties:,}, worse on {pair.losses:,}"
