"""The options of `trend`: those of `compare` that have a meaning from one entry to the next."""

from dataclasses import dataclass

from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import FLIPS_OPTION, SEED_OPTION, Correction, Settings
from cranfield.comparison.significance import TIE
from cranfield.options import Options, number_check, option

OMITTED_OPTIONS = (
    "missing",
    "differing",
    "queries",
)  # options of alignment and judging without a meaning


@dataclass(frozen=True, kw_only=True)
class TrendSettings(Options):
    """How each entry is compared with the one before it, by the randomization test."""

    alpha: float = option(*ALPHA)
    flips: int = option(*FLIPS_OPTION)
    seed: int = option(*SEED_OPTION)
    tie: float = option(TIE, "Scores that differ by at most this are tied.", number_check(0))

    def correct_by(self, correction: Correction) -> Settings:
        """Return the settings of a comparison, with a correction."""
        return Settings(**vars(self), correction=correction)
