"""How much of what systems rank is judged, and what the rest may change in a comparison."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Bools, Ints, mean
from cranfield.comparison.alignment import Aligned
from cranfield.measures.parameters import Depth
from cranfield.scoring.joint_bounds import PairBounds, pair_bounds
from cranfield.scoring.scores import Systems

_APART = 0.05


def judged_shares(aligned: Aligned, measure: int, rows: Bools) -> list[float] | None:
    """Return the share of what each system ranks on these queries that is judged, if known."""
    if aligned.source is None or aligned.source.judged is None:
        return None
    return [mean(column) for column in aligned.source.judged[measure][rows].T]


def little_judged(shares: Sequence[float] | None) -> list[bool]:
    """Return which systems have a share of more than 0.05 less than another's."""
    if not shares:
        return []
    return [one < max(shares) - _APART for one in shares]


def unjudged_bounds(
    aligned: Aligned, left: Ints, right: Ints, *, asked: bool
) -> list[PairBounds | None]:
    """Return the bounds of each pair's difference, for each measure, with those of each query.

    Unless they were `asked` for, only where a system has little judged and they are found quickly.
    """
    source = aligned.source
    everywhere = np.ones(len(aligned.query_ids), np.bool_)
    wanted = [
        i
        for i, name in enumerate(aligned.measures)
        if asked
        or (
            isinstance(getattr(aligned.known(name), "cutoff", None), Depth)
            and any(little_judged(judged_shares(aligned, i, everywhere)))
        )
    ]
    if source is None or not wanted or not len(left):
        return [None] * len(aligned.measures)
    some = [
        replace(one, measures=tuple(one.measures[i] for i in wanted), values=one.values[:, wanted])
        for one in source.systems.values()
    ]
    bounds = pair_bounds(
        source.qrels,
        source.runs,
        Systems(some),
        left,
        right,
        aligned.query_ids,
        separate=asked,
    )
    by_measure = dict(zip(wanted, bounds, strict=True))
    return [by_measure.get(i) for i in range(len(aligned.measures))]
