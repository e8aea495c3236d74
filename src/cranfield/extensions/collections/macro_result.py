"""Results over several collections: systems, and pairs of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranfield.comparison.result import Method, Outcome, Pairs


@dataclass(frozen=True)
class MacroPair:
    """One system compared with another over several collections. None: the value does not exist.

    `difference` is the mean of the collections' mean differences. `low` to `verdict` are about
    these collections; those that begin with `other_` about other collections like these.
    """

    system: str
    other: str
    mean: float  # macro averages
    other_mean: float
    difference: float
    micro: float  # the mean difference over all queries of all collections
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    p_t: float | None  # by Student's t, with any test
    error: float | None  # the standard error
    df: float | None  # degrees of freedom of t
    method: Method | None  # as of a Pair
    verdict: Outcome | None
    wins: int  # collections
    ties: int
    losses: int
    others_low: float | None
    others_high: float | None
    others_p: float | None
    others_p_adjusted: float | None
    others_p_t: float | None
    others_verdict: Outcome | None


@dataclass(frozen=True)
class MacroSystem:
    """One system's mean on each collection, and their mean."""

    name: str
    mean: float
    means: Mapping[str, float]  # by collection


@dataclass(frozen=True)
class MacroResult(Pairs[MacroPair]):
    """Systems compared under one measure over several collections."""

    measure: str  # of all collections, or their measures
    rising: bool  # whether higher is better
    systems: Sequence[MacroSystem]
    pairs: Sequence[MacroPair]

    @property
    def ordered(self) -> Sequence[MacroSystem]:
        """Return the systems, the best first."""
        return sorted(self.systems, key=lambda one: one.mean, reverse=self.rising)
