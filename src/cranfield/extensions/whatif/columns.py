"""Unjudged: how much unjudged documents may change the differences of a comparison."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Ints
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.cells import Cell
from cranfield.comparison.extra_columns import ExtraColumns, ValueColumns
from cranfield.comparison.judged_share import judged_shares
from cranfield.comparison.settings import Settings
from cranfield.extensions.whatif.joint_bounds import PairBounds, pair_bounds
from cranfield.measures.parameters import Depth
from cranfield.scoring.scores import Systems


class UnjudgedColumns(ExtraColumns):
    """The bounds of each pair's difference, for each measure, if they are known."""

    def __init__(self, bounds: Sequence[PairBounds | None] = ()) -> None:
        self.bounds = bounds

    def prepare(
        self,
        aligned_scores: AlignedScores,
        settings: Settings,
        left_column: Ints,
        right_column: Ints,
    ) -> "UnjudgedColumns":
        """Return the bounds of pairs of systems."""
        return UnjudgedColumns(
            find_unjudged_bounds(
                aligned_scores, left_column, right_column, all_measures=settings.bounds
            )
        )

    def pair_columns(self, cells: Sequence[Cell], settings: Settings) -> list[ValueColumns]:
        """Return bounds of the differences over all grades of the unjudged documents."""
        return [
            {} if bounds is None else _list_columns(bounds.select_queries(cell.queries.is_included))
            for cell, bounds in zip(cells, self.bounds, strict=True)
        ]


def _list_columns(pair_bounds: PairBounds) -> ValueColumns:
    return {
        "unjudged_low": pair_bounds.low.tolist(),  # some may be infinite
        "unjudged_high": pair_bounds.high.tolist(),
        "unjudged_method": pair_bounds.method,
        "unjudged_robust": pair_bounds.robust,
    }


def find_unjudged_bounds(
    aligned_scores: AlignedScores, left_system: Ints, right_system: Ints, *, all_measures: bool
) -> list[PairBounds | None]:
    """Return the bounds of each pair's difference, for each measure, with those of each query.

    A measure has None without bounds, runs or pairs; unless `all_measures`, also without a cutoff,
    where no system's judged share is low, or where bounds take long.
    """
    source = aligned_scores.evaluated_runs
    all_rows = np.ones(len(aligned_scores.query_ids), np.bool_)
    measure_indices = [
        i
        for i, name in enumerate(aligned_scores.measures)
        if all_measures
        or (
            isinstance(getattr(aligned_scores.find_measure(name), "cutoff", None), Depth)
            and any(is_little for _, is_little in judged_shares(aligned_scores, name, all_rows))
        )
    ]
    if source is None or not measure_indices or not len(left_system):
        return [None] * len(aligned_scores.measures)
    systems = Systems(
        replace(
            scores,
            measures=tuple(scores.measures[i] for i in measure_indices),
            values=scores.values[:, measure_indices],
        )
        for scores in source.systems.values()
    )
    bounds = pair_bounds(
        source.qrels,
        source.runs,
        systems,
        left_system,
        right_system,
        aligned_scores.query_ids,
        separate=all_measures,
    )
    bounds_of_index = dict(zip(measure_indices, bounds, strict=True))
    return [bounds_of_index.get(i) for i in range(len(aligned_scores.measures))]
