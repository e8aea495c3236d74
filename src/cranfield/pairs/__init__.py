"""What needs the documents of two runs, or of two judgments: overlap, joint bounds, agreement."""

from cranfield.pairs.overlap import RBO, RunRBO, rbo

__all__ = ["RBO", "RunRBO", "rbo"]
