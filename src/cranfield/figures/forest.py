"""Means with their intervals, a row for each system: the leaderboard, and slices of the queries."""

from collections.abc import Iterable

from cranfield.comparison.comparison import Comparison
from cranfield.errors import InputError
from cranfield.figures.choice import coloured, compared, result_of
from cranfield.figures.figure import Figure
from cranfield.figures.style import StyleName
from cranfield.measures import Measure

_OF_PAIR = ("p", "p_adjusted", "verdict", "wins", "ties", "losses")
_OF_PAIR += ("ratio", "ratio_low", "ratio_high")


def leaderboard(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw each system's mean with its interval, the best first, and how it compares.

    Args:
        found: what `compare` returns.
        measure: one of those that were compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point has "system", "place" (from 1), "mean", "low" and "high" (its own interval,
        by Student's t), "judged" and "little_judged"; of a system that was compared with the
        baseline, "difference", "difference_low", "difference_high", "p", "p_adjusted", "verdict",
        "wins", "ties" and "losses", and, of a measure with a geometric mean, "ratio", "ratio_low"
        and "ratio_high". What does not exist is None.

    Raises:
        MeasureError: a measure that was not compared.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}}
    >>> points = leaderboard(compare(half)).points
    >>> [(one["system"], one["mean"], one["difference"]) for one in points]
    [('a', 0.75, None), ('b', 0.5, -0.25)]

    """
    result = result_of(compared(found, "leaderboard"), measure)
    base = found.settings.baseline
    points = []
    for place, one in enumerate(result.ordered, 1):
        pair = result.by_names.get((one.name, str(base)))
        points.append(
            {
                "system": one.name,
                "place": place,
                "mean": one.mean,
                "low": one.low,
                "high": one.high,
                "judged": one.judged,
                "little_judged": one.little_judged,
                "difference": pair and pair.difference,
                "difference_low": pair and pair.low,
                "difference_high": pair and pair.high,
                **{name: pair and getattr(pair, name) for name in _OF_PAIR},
            }
        )
    return Figure(points, f"{result.measure} of {len(points)} systems", "", None, style)


def by_slice(
    found: Comparison,
    measure: str | Measure | None = None,
    *,
    systems: Iterable[str] | None = None,
    style: StyleName = "screen",
) -> Figure:
    """Draw each system's mean, with its interval, on the queries of each slice.

    Args:
        found: what `compare` returns that was told `slices`.
        measure: one of those that were compared. [default: the first]
        systems: those to draw, 7 at most. [default: all of up to 4; else the best one on all
            queries and the baseline, or the best two]
        style: "screen", "paper" or "slides".

    Returns:
        Figure; a point, of every system on every slice, has "label" (what the queries are sliced
        by), "slice", "queries" (how many), "system", "mean", "low", "high"; of a system that was
        compared with the baseline, "difference", "difference_low", "difference_high",
        "p_adjusted" and "verdict". What does not exist is None.

    Raises:
        InputError: there are no slices.
        MeasureError: a measure that was not compared.
        OptionError: a system that there is not, or too many.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}}
    >>> sliced = compare(half, slices={"q1": "how", "q2": "what"})
    >>> [(one["slice"], one["system"], one["mean"]) for one in by_slice(sliced).points]
    [('how', 'a', 0.5), ('how', 'b', 0.0), ('what', 'a', 1.0), ('what', 'b', 1.0)]

    """
    whole = result_of(compared(found, "by_slice"), measure)
    results = [
        one for one in found.results if one.measure == whole.measure and one.slice is not None
    ]
    if not results:
        raise InputError(
            "there are no slices of the queries to draw",
            hint="Name labels: compare(..., slices={'q1': 'how to', ...}), or --slices FILE.",
        )
    chosen = coloured(found, whole, systems)
    base = found.settings.baseline
    points = []
    for result in results:
        for one in result.systems:
            pair = result.by_names.get((one.name, str(base)))
            points.append(
                {
                    "label": result.label,
                    "slice": result.slice,
                    "queries": len(result.query_ids),
                    "system": one.name,
                    "mean": one.mean,
                    "low": one.low,
                    "high": one.high,
                    "difference": pair and pair.difference,
                    "difference_low": pair and pair.low,
                    "difference_high": pair and pair.high,
                    "p_adjusted": pair and pair.p_adjusted,
                    "verdict": pair and pair.verdict,
                }
            )
    return Figure(points, "", "", None, style)
