"""Unjudged: how much unjudged documents may change the differences of a comparison."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Ints
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.cells import Cell
from cranfield.comparison.extra_columns import ExtraColumns, ValueColumns
from cranfield.comparison.judged_share import find_judged_shares
from cranfield.comparison.settings import Settings
from cranfield.extensions.whatif.joint_bounds import PairBounds, pair_bounds
from cranfield.measures.parameters import Depth
from cranfield.scoring.scores import Systems


class UnjudgedColumns(ExtraColumns):
    """The bounds of each pair's difference, for each measure, if they are known."""

    def __init__(
        self, bounds: Sequence[PairBounds | None] = (), positions: Sequence[Sequence[int]] = ()
    ) -> None:
        self.bounds = bounds
        self._positions = positions  # of each measure's pairs in the bounds; -1: has none

    def prepare(
        self,
        aligned_scores: AlignedScores,
        settings: Settings,
        left_column: Ints,
        right_column: Ints,
    ) -> "UnjudgedColumns":
        """Return the bounds of pairs of systems: of all with `bounds`, else of the little judged.

        A measure has None without bounds, runs or pairs; without `bounds` also where it has no
        cutoff, no system is little judged, or bounds take long.
        """
        source, measures = aligned_scores.evaluated_runs, aligned_scores.measures
        all_rows = np.ones(len(aligned_scores.query_ids), np.bool_)
        is_little = np.array(
            [
                [share.is_little and _has_cutoff(aligned_scores, measure) for share in shares]
                for measure in measures
                for shares in [find_judged_shares(aligned_scores, measure, all_rows)]
            ]
        )
        is_bounded = is_little[:, left_column] | is_little[:, right_column] | settings.bounds
        pairs, rows = (np.flatnonzero(is_bounded.any(axis=axis)) for axis in (0, 1))
        bounds_of_row: dict[int, PairBounds | None] = {}
        if source is not None and len(pairs):
            systems = Systems(
                replace(
                    scores,
                    measures=tuple(scores.measures[row] for row in rows),
                    values=scores.values[:, rows],
                )
                for scores in source.systems.values()
            )
            bounds = pair_bounds(
                source.qrels,
                source.runs,
                systems,
                left_column[pairs],
                right_column[pairs],
                aligned_scores.query_ids,
                separate=settings.bounds,
            )
            bounds_of_row = dict(zip(rows.tolist(), bounds, strict=True))
        position = np.where(is_bounded, np.cumsum(is_bounded.any(axis=0)) - 1, -1)
        return UnjudgedColumns([*map(bounds_of_row.get, range(len(measures)))], position.tolist())

    def pair_columns(self, cells: Sequence[Cell], settings: Settings) -> list[ValueColumns]:
        """Return bounds of the differences over all grades of the unjudged documents."""
        return [
            {}
            if bounds is None
            else _list_columns(bounds.select_queries(cell.queries.is_included), positions)
            for cell, bounds, positions in zip(cells, self.bounds, self._positions, strict=True)
        ]


def _list_columns(bounds: PairBounds, positions: Sequence[int]) -> ValueColumns:
    """Return the columns of all pairs, None for those that have no position in the bounds."""
    columns = {
        "unjudged_low": bounds.low.tolist(),  # some may be infinite
        "unjudged_high": bounds.high.tolist(),
        "unjudged_method": [bounds.method] * len(bounds.low),
        "unjudged_robust": bounds.robust.tolist(),
    }
    return {
        name: [None if i < 0 else column[i] for i in positions] for name, column in columns.items()
    }


def _has_cutoff(aligned_scores: AlignedScores, measure: str) -> bool:
    return isinstance(getattr(aligned_scores.find_measure(measure), "cutoff", None), Depth)
