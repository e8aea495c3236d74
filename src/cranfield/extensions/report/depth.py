"""Down the rankings: a measure by its cutoff, precision by recall, what is judged at each rank.

The numbers are those of the figures; here they are put into rows of numbers, a row for each system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.comparison.comparison import Comparison
from cranfield.errors import MeasureError
from cranfield.extensions.report.figures.choice import find_measure
from cranfield.extensions.report.figures.curves import by_cutoff, precision_recall
from cranfield.extensions.report.figures.matrix import judged_by_rank

Points = Sequence[Mapping[str, Any]]


def tabulate_cutoffs(comparison: Comparison) -> dict[str, Any] | None:
    """Return the first measure that has a cutoff, at several cutoffs; None if there is none."""
    for measure in comparison.aligned.measures:
        try:
            points = by_cutoff(comparison, measure).points
        except MeasureError:
            continue
        known = find_measure(comparison, measure)
        named = measure if known is None else str(replace(known, cutoff=None))
        return {"measure": named, **_system_rows(points, "cutoff", ("mean", "low", "high"))}
    return None


def tabulate_recall(comparison: Comparison) -> dict[str, Any] | None:
    """Return mean interpolated precision at each level of recall; None where that has no meaning.

    It needs one grade for each document, and one order.
    """
    try:
        points = precision_recall(comparison).points
    except MeasureError:
        return None
    rows = _system_rows(points, "recall", ("precision", "low", "high"))
    return {"mean" if name == "precision" else name: row for name, row in rows.items()}


def tabulate_judged(comparison: Comparison, depth: int) -> dict[str, Any] | None:
    """Return which share is judged at each rank; None if the judgments do not tell."""
    source = comparison.aligned.evaluated_runs
    if source is None or comparison.aligned.judged_share is None:
        return None
    rows = _system_rows(judged_by_rank(comparison, depth).points, "rank", ("judged",))
    return {"at": rows["at"], "share": rows["judged"]}


def _system_rows(points: Points, at: str, names: Sequence[str]) -> dict[str, Any]:
    """Return points of several systems as rows: a list for each name, with a row for each system.

    >>> points = [{"s": "a", "k": 1, "mean": 0.5}, {"s": "a", "k": 2, "mean": 0.25}]
    >>> _rows([{"system": one.pop("s"), **one} for one in points], "k", ["mean"])
    {'at': [1, 2], 'mean': [[0.5, 0.25]]}
    """
    places = list(dict.fromkeys(one[at] for one in points))
    width = len(places)
    columns = {name: [one[name] for one in points] for name in names}
    rows = {
        name: [column[i : i + width] for i in range(0, len(column), width)]
        for name, column in columns.items()
    }
    return {"at": places, **rows}
