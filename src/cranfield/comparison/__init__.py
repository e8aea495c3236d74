"""Comparing systems: alignment, tests, corrections, effect sizes, correlation of orderings."""

from cranfield.comparison.compare import compare
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.flips import FLIPS, SEED
from cranfield.comparison.result import Pair, Result, System
from cranfield.comparison.settings import Correction, Family, Missing, Settings, Test
from cranfield.comparison.significance import TIE

__all__ = [
    "FLIPS",
    "SEED",
    "TIE",
    "Comparison",
    "Correction",
    "Family",
    "Missing",
    "Pair",
    "Result",
    "Settings",
    "System",
    "Test",
    "compare",
]
