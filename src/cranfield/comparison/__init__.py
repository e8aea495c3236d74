"""Comparing systems: alignment, tests, corrections, effect sizes, correlation of orderings."""

from cranfield.comparison.alignment import Missing
from cranfield.comparison.compared import Comparison
from cranfield.comparison.comparing import compare
from cranfield.comparison.flips import FLIPS, SEED
from cranfield.comparison.result import Correction, Family, Pair, Result, Settings, System, Test
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
