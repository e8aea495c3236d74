"""Comparing systems: alignment, tests, corrections, effect sizes, correlation of orderings."""

from cranfield.comparison.compared import Comparison
from cranfield.comparison.comparing import compare
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
