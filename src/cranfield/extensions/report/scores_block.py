"""Each query's scores as the page holds them: a block of numbers for each measure, if it fits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.extensions.report.blob import pack_bytes

MAX_EXACT_BYTES = 300_000  # bytes: all scores stay doubles up to this size
MAX_CHARACTERS = 900_000  # characters that all blocks may have; the first is always included
_DECIMAL_STEPS = 10_000  # of 1: the four decimals that are shown
_MAX_STEP = 65_535  # of 16 bits


@dataclass(frozen=True)
class ScoresBlock:
    """The scores of some measures, one block after the other, in `archive`: base64 of gzip.

    `block_index` has the number of each measure's block, None for a measure without. `unit_steps`
    has the number of steps that 1 is divided into, to which a measure's scores are rounded; None
    where they are doubles, or have no block.
    """

    archive: str
    block_index: Sequence[int | None]
    unit_steps: Sequence[int | None]


def make_scores_block(aligned_scores: AlignedScores) -> ScoresBlock:
    """Return all scores; if there are many, of the measures that fit, rounded if 16 bits hold them.

    A block is (n_systems, n_queries): float64, or uint16 of round(score * steps), little-endian.
    """
    is_exact = aligned_scores.scores.nbytes <= MAX_EXACT_BYTES
    blocks: list[bytes] = []
    block_index: list[int | None] = []
    unit_steps: list[int | None] = []
    n_characters = 0
    for scores in aligned_scores.scores:
        steps = None if is_exact else _choose_steps(scores)
        if steps is None:
            block = scores.T.astype("<f8").tobytes()
        else:
            block = np.rint(scores.T * steps).astype("<u2").tobytes()
        size = 0 if is_exact else len(pack_bytes(block))
        fits = not blocks or n_characters + size <= MAX_CHARACTERS
        n_characters += size * fits
        block_index.append(len(blocks) if fits else None)
        unit_steps.append(steps if fits else None)
        blocks += [block] * fits
    return ScoresBlock(pack_bytes(b"".join(blocks)), block_index, unit_steps)


def _choose_steps(scores: Floats) -> int | None:
    """Return into how many steps, 100 to 10,000, 1 is divided to fit scores in 16 bits, or None."""
    lowest, highest = scores.min(), scores.max()
    if lowest < 0:
        return None
    n_digits = math.floor(math.log10(_MAX_STEP / highest)) if highest > 0 else 4
    return min(_DECIMAL_STEPS, 10**n_digits) if n_digits >= 2 else None
