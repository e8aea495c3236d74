"""What needs the documents of two runs, or of two judgments: overlap, joint bounds, agreement."""

from cranfield.pairs.overlap import RBO, RunRBO, rbo
from cranfield.pairs.unjudged import JointBounds, joint_bounds

__all__ = ["RBO", "JointBounds", "RunRBO", "joint_bounds", "rbo"]
