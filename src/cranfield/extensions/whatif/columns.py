"""Unjudged: how much unjudged documents may change the differences of a comparison."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Ints
from cranfield.comparison.alignment import Aligned
from cranfield.comparison.cells import Cell
from cranfield.comparison.extra_columns import Columns, ExtraColumns
from cranfield.comparison.judged_share import judged_shares
from cranfield.comparison.settings import Settings
from cranfield.extensions.whatif.joint_bounds import PairBounds, pair_bounds
from cranfield.measures.parameters import Depth
from cranfield.scoring.scores import Systems


class Unjudged(ExtraColumns):
    """The bounds of each pair's difference, for each measure, if they are known."""

    def __init__(self, bounds: Sequence[PairBounds | None] = ()) -> None:
        self.bounds = bounds

    def for_pairs(
        self, aligned: Aligned, settings: Settings, left: Ints, right: Ints
    ) -> "Unjudged":
        """Return the bounds of pairs of systems."""
        return Unjudged(unjudged_bounds(aligned, left, right, asked=settings.bounds))

    def columns_of_pairs(self, cells: Sequence[Cell], settings: Settings) -> list[Columns]:
        """Return bounds of the differences over all grades of the unjudged documents."""
        return [
            {} if bounds is None else _columns(bounds.among(cell.queries.rows))
            for cell, bounds in zip(cells, self.bounds, strict=True)
        ]


def _columns(bounds: PairBounds) -> Columns:
    return {
        "unjudged_low": bounds.low.tolist(),  # some may be infinite
        "unjudged_high": bounds.high.tolist(),
        "unjudged_method": bounds.method,
        "unjudged_robust": bounds.robust,
    }


def unjudged_bounds(
    aligned: Aligned, left: Ints, right: Ints, *, asked: bool
) -> list[PairBounds | None]:
    """Return the bounds of each pair's difference, for each measure, with those of each query.

    Unless `asked` for, only where a system's judged share is low and bounds are quick to compute.
    """
    source = aligned.source
    everywhere = np.ones(len(aligned.query_ids), np.bool_)
    wanted = [
        i
        for i, name in enumerate(aligned.measures)
        if asked
        or (
            isinstance(getattr(aligned.known(name), "cutoff", None), Depth)
            and any(is_little for _, is_little in judged_shares(aligned, name, everywhere))
        )
    ]
    if source is None or not wanted or not len(left):
        return [None] * len(aligned.measures)
    systems = Systems(
        replace(one, measures=tuple(one.measures[i] for i in wanted), values=one.values[:, wanted])
        for one in source.systems.values()
    )
    bounds = pair_bounds(
        source.qrels, source.runs, systems, left, right, aligned.query_ids, separate=asked
    )
    by_measure = dict(zip(wanted, bounds, strict=True))
    return [by_measure.get(i) for i in range(len(aligned.measures))]
