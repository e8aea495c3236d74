"""Down the rankings: a measure by its cutoff, precision by recall, the share judged at each rank.

The numbers are those of the figures, as rows of numbers for the page: a row for each system.
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
    """Return the first measure that has a cutoff, at several cutoffs; None if no measure has."""
    for measure in comparison.aligned.measures:
        try:
            points = by_cutoff(comparison, measure).points
        except MeasureError:
            continue
        compared_measure = find_measure(comparison, measure)
        base_name = (
            measure if compared_measure is None else str(replace(compared_measure, cutoff=None))
        )
        return {"measure": base_name, **_system_rows(points, "cutoff", ("mean", "low", "high"))}
    return None


def tabulate_recall(comparison: Comparison) -> dict[str, Any] | None:
    """Return mean interpolated precision at each level of recall; None where that has no meaning.

    It needs one grade for each document, and one order of the documents.
    """
    try:
        points = precision_recall(comparison).points
    except MeasureError:
        return None
    rows = _system_rows(points, "recall", ("precision", "low", "high"))
    return {"mean" if name == "precision" else name: row for name, row in rows.items()}


def tabulate_judged(comparison: Comparison, depth: int) -> dict[str, Any] | None:
    """Return the share of documents judged at each rank; None if runs or judgments cannot tell."""
    source = comparison.aligned.evaluated_runs
    if source is None or comparison.aligned.judged_share is None:
        return None
    rows = _system_rows(judged_by_rank(comparison, depth).points, "rank", ("judged",))
    return {"at": rows["at"], "share": rows["judged"]}


def _system_rows(points: Points, x_field: str, value_fields: Sequence[str]) -> dict[str, Any]:
    """Return points of several systems as rows: a list for each name, with a row for each system.

    >>> points = [{"s": "a", "k": 1, "mean": 0.5}, {"s": "a", "k": 2, "mean": 0.25}]
    >>> _system_rows([{"system": point.pop("s"), **point} for point in points], "k", ["mean"])
    {'at': [1, 2], 'mean': [[0.5, 0.25]]}
    """
    x_values = list(dict.fromkeys(point[x_field] for point in points))
    n_points = len(x_values)
    columns = {name: [point[name] for point in points] for name in value_fields}
    rows = {
        name: [column[i : i + n_points] for i in range(0, len(column), n_points)]
        for name, column in columns.items()
    }
    return {"at": x_values, **rows}
