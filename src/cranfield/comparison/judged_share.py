"""How much of what systems rank is judged, and what the rest may change in a comparison."""

from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Bools, Ints, mean
from cranfield.comparison.alignment import Aligned
from cranfield.measures.parameters import Depth
from cranfield.scoring.joint_bounds import PairBounds, pair_bounds
from cranfield.scoring.scores import Systems

_APART = 0.05


def judged_shares(aligned: Aligned, measure: str, rows: Bools) -> list[tuple[float | None, bool]]:
    """Return the share of what each system ranks on these queries that is judged, if it is known.

    And whether it is little: more than 0.05 below that of another system.
    """
    if aligned.source is None or aligned.source.judged is None:
        return [(None, False)] * len(aligned.names)
    judged = aligned.source.judged[aligned.measures.index(measure)]
    shares = [mean(column) for column in judged[rows].T]
    return [(one, one < max(shares) - _APART) for one in shares]


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
