"""The scores of every query as the page holds them: a block of numbers for each measure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.alignment import Aligned
from cranfield.extensions.report.blob import packed

EXACT = 300_000  # bytes: all scores stay doubles up to this size
MOST = 900_000  # characters that all blocks may have; the first is always included
_STEPS = 10_000  # of 1: the four decimals that are shown
_GREATEST = 65_535  # of 16 bits


@dataclass(frozen=True)
class ScoresBlock:
    """The scores of some measures, one block after the other.

    `place` has for each measure the number of its block, None if it has none. `unit` has into
    how many steps 1 is divided where scores are rounded to these; None where they are doubles.
    """

    data: str
    place: Sequence[int | None]
    unit: Sequence[int | None]


def scores_block(aligned: Aligned) -> ScoresBlock:
    """Return all scores; if there are many, those of the measures that fit, rounded as shown.

    A block is (n_systems, n_queries): float64, or uint16 of round(score * unit), little-endian.
    """
    exact = aligned.values.nbytes <= EXACT
    blocks: list[bytes] = []
    place: list[int | None] = []
    unit: list[int | None] = []
    n_characters = 0
    for values in aligned.values:
        steps = None if exact else _steps(values)
        if steps is None:
            block = values.T.astype("<f8").tobytes()
        else:
            block = np.rint(values.T * steps).astype("<u2").tobytes()
        size = 0 if exact else len(packed(block))
        fits = not blocks or n_characters + size <= MOST
        n_characters += size * fits
        place.append(len(blocks) if fits else None)
        unit.append(steps if fits else None)
        blocks += [block] * fits
    return ScoresBlock(packed(b"".join(blocks)), place, unit)


def _steps(values: Floats) -> int | None:
    """Return into how many steps 1 is divided so that 16 bits hold the scores, or None."""
    least, most = values.min(), values.max()
    if least < 0:
        return None
    digits = math.floor(math.log10(_GREATEST / most)) if most > 0 else 4
    return min(_STEPS, 10**digits) if digits >= 2 else None
