"""What needs the documents of two runs, or of two judgments: overlap, joint bounds, agreement."""

from cranfield.pairs.overlap import RBO, RunRBO, rbo
from cranfield.pairs.unjudged import (
    JointBounds,
    PairBounds,
    joint_bounds,
    judged_measure,
    pair_bounds,
)

__all__ = [
    "RBO",
    "JointBounds",
    "PairBounds",
    "RunRBO",
    "joint_bounds",
    "judged_measure",
    "pair_bounds",
    "rbo",
]
